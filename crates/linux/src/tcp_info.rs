//! What the kernel tells of a connection (`struct tcp_info`, `union tcp_cc_info`).
//!
//! Fields are found by their place. An older kernel gives fewer bytes: what it does not tell is zero.

use crate::sys::socket_option;
use rustix::fd::AsFd;
use std::io;

/// Longer than the structure of any kernel so far.
const ROOM: usize = 512;

/// The state of a connection at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    pub ca_state: u8,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// Since data was sent.
    pub last_data_sent_ms: u32,
    /// Since an ACK came.
    pub last_ack_ms: u32,
    pub rtt_us: u32,
    pub ssthresh: u32,
    pub cwnd: u32,
    pub total_retrans: u32,
    /// Bytes per second.
    pub pacing_rate: u64,
    /// Written, and not sent once.
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_out: u32,
    /// Bytes per second.
    pub delivery_rate: u64,
    pub busy_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub dsack_dups: u32,
    /// `None` where the kernel does not count them (before 6.7).
    pub total_rto: Option<u16>,
}

impl TcpInfo {
    /// Asks the kernel.
    pub fn of(socket: impl AsFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; ROOM];
        let length = socket_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        Ok(TcpInfo::read(&bytes[..length.min(ROOM)]))
    }

    fn read(bytes: &[u8]) -> TcpInfo {
        let long = |at| field(bytes, at).map_or(0, u64::from_ne_bytes);
        let word = |at| field(bytes, at).map_or(0, u32::from_ne_bytes);
        TcpInfo {
            ca_state: bytes.get(1).copied().unwrap_or(0),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retrans: word(36),
            last_data_sent_ms: word(44),
            last_ack_ms: word(56),
            rtt_us: word(68),
            ssthresh: word(76),
            cwnd: word(80),
            total_retrans: word(100),
            pacing_rate: long(104),
            notsent_bytes: word(144),
            min_rtt_us: word(148),
            data_segs_out: word(156),
            delivery_rate: long(160),
            busy_us: long(168),
            rwnd_limited_us: long(176),
            sndbuf_limited_us: long(184),
            delivered: word(192),
            dsack_dups: word(216),
            total_rto: field(bytes, 240).map(u16::from_ne_bytes),
        }
    }

    /// Packets in flight (`tcp_packets_in_flight`).
    pub fn inflight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

/// What BBR tells of itself (`struct tcp_bbr_info`).
#[derive(Clone, Copy, Debug, Default)]
pub struct BbrInfo {
    /// Bytes per second.
    pub bw: u64,
    pub min_rtt_us: u32,
    /// In 1/256.
    pub pacing_gain: u32,
    /// In 1/256.
    pub cwnd_gain: u32,
}

impl BbrInfo {
    /// One, in the unit of the gains.
    pub const UNIT: u32 = 256;

    /// Asks the kernel; the connection must be governed by BBR.
    pub fn of(socket: impl AsFd) -> io::Result<BbrInfo> {
        let mut bytes = [0; ROOM];
        let length = socket_option(socket, libc::IPPROTO_TCP, libc::TCP_CC_INFO, &mut bytes)?;
        Ok(BbrInfo::read(&bytes[..length.min(ROOM)]))
    }

    fn read(bytes: &[u8]) -> BbrInfo {
        let word = |at| field(bytes, at).map_or(0, u32::from_ne_bytes);
        BbrInfo {
            bw: u64::from(word(0)) | u64::from(word(4)) << 32,
            min_rtt_us: word(8),
            pacing_gain: word(12),
            cwnd_gain: word(16),
        }
    }

    /// The phase, which the gains give away (`tcp_bbr.c`): STARTUP has both high, DRAIN only that of the window,
    /// PROBE_RTT none, and PROBE_BW has a window of two.
    pub fn mode(&self) -> &'static str {
        match (self.pacing_gain, self.cwnd_gain) {
            (_, gain) if gain == 2 * BbrInfo::UNIT => "probe_bw",
            (_, gain) if gain <= BbrInfo::UNIT => "probe_rtt",
            (pacing, _) if pacing < BbrInfo::UNIT => "drain",
            _ => "startup",
        }
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_tells_less() {
        let mut bytes = [0u8; 192];
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        let info = TcpInfo::read(&bytes);
        assert_eq!((info.cwnd, info.delivered, info.total_rto), (10, 0, None));
    }

    #[test]
    fn a_bandwidth_has_a_low_and_a_high_word() {
        let words = [7u32, 3, 40_000, 739, 512];
        let info = BbrInfo::read(&words.map(u32::to_ne_bytes).concat());
        assert_eq!((info.bw, info.min_rtt_us), ((3 << 32) + 7, 40_000));
        assert_eq!((info.pacing_gain, info.cwnd_gain), (739, 512));
    }

    #[test]
    fn the_gains_of_bbr_tell_its_phase() {
        let mode = |pacing_gain, cwnd_gain| BbrInfo { pacing_gain, cwnd_gain, ..BbrInfo::default() }.mode();
        assert_eq!([mode(739, 739), mode(88, 739)], ["startup", "drain"]);
        assert_eq!([mode(320, 512), mode(192, 512), mode(256, 256)], ["probe_bw", "probe_bw", "probe_rtt"]);
    }
}
