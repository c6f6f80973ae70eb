//! What our programs report of every connection with every ACK, through a ring buffer of the kernel.

use crate::clock::Clock;
use crate::host::FIRST_PORT;
use aya::maps::{Map, MapData, MapError, RingBuf};
use aya_obj::generated::bpf_map_type;
use dumbbell_units::Time;
use rustix::fd::{AsRawFd, RawFd};
use std::io;

/// Room for what is reported while nobody collects it.
const BYTES: u32 = 1 << 20;
/// Of `struct report` in `crates/linux/bpf/tcp.h`.
const REPORT_BYTES: usize = 56;
/// One, in the unit of gains.
const GAIN_ONE: f64 = 256.0;
/// One packet per microsecond, in the unit of bandwidths.
const BW_UNIT: f64 = 16_777_216.0;
/// No round-trip time yet.
const UNKNOWN_RTT: u32 = u32::MAX;
const PROBE_BW: u8 = 2;
const PROBE_RTT: u8 = 3;
/// What a BBR goes through, in the order of the bits that count it: its modes, and PROBE_BW by its gain.
const PHASES: [&str; 7] =
    ["startup", "drain", "probe_bw", "probe_rtt", "probe_bw_up", "probe_bw_down", "probe_bw_cruise"];

/// What a BBR reports, by the names that the simulator's has.
pub const VALUES: [&str; 11] = [
    "bw_mbps",
    "max_bw_mbps",
    "min_rtt_ms",
    "pacing_gain",
    "cwnd_gain",
    "cycle_index",
    "round",
    "full_bw_reached",
    "extra_acked_packets",
    "lt_bw_mbps",
    "prior_cwnd_packets",
];

/// The state of a connection after an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    time_ns: u64,
    port: u16,
    mode: u8,
    passed: u8,
    /// The values of [`VALUES`].
    pub values: [f64; VALUES.len()],
}

impl Report {
    fn read(bytes: &[u8]) -> Option<Report> {
        let bytes: &[u8; REPORT_BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let time_ns = u64::from_ne_bytes(bytes[..8].try_into().ok()?);
        let [bw, max_bw, policed_bw, min_rtt_us] = [8, 12, 16, 20].map(word);
        let [round, extra_acked, prior_cwnd, mss] = [24, 28, 32, 36].map(word);
        let [pacing_gain, cwnd_gain, port] = [40, 42, 44].map(half);
        let [mode, phase, full_pipe, passed] = [46, 47, 48, 49].map(|at: usize| bytes[at]);
        let mbps = |bw: u32| f64::from(bw) / BW_UNIT * f64::from(mss) * 8.0;
        let values = [
            mbps(bw),
            mbps(max_bw),
            if min_rtt_us == UNKNOWN_RTT { f64::NAN } else { f64::from(min_rtt_us) / 1e3 },
            f64::from(pacing_gain) / GAIN_ONE,
            f64::from(cwnd_gain) / GAIN_ONE,
            if mode == PROBE_BW { f64::from(phase) } else { f64::NAN },
            f64::from(round),
            f64::from(full_pipe),
            f64::from(extra_acked),
            if policed_bw == 0 { f64::NAN } else { mbps(policed_bw) },
            f64::from(prior_cwnd),
        ];
        Some(Report { time_ns, port, mode, passed, values })
    }

    /// The name of the mode.
    pub fn mode(&self) -> &'static str {
        PHASES[usize::from(self.mode.min(PROBE_RTT))]
    }

    /// What the connection has gone through so far.
    pub fn passed(&self) -> Vec<&'static str> {
        (0..).zip(PHASES).filter(|(bit, _)| self.passed >> bit & 1 == 1).map(|(_, name)| name).collect()
    }
}

/// The reports of a run's flows.
pub struct Reports {
    ring: RingBuf<MapData>,
    /// Each flow's last one.
    latest: Vec<Option<Report>>,
    /// One that was collected before its time.
    early: Option<Report>,
}

impl Reports {
    /// For so many flows, of which there is nothing yet.
    pub fn new(flows: usize) -> io::Result<Reports> {
        let cause = |error| match error {
            MapError::SyscallError(error) => error.io_error,
            MapError::CreateError { io_error, .. } => io_error,
            other => io::Error::other(other),
        };
        let kind = bpf_map_type::BPF_MAP_TYPE_RINGBUF as u32;
        let map =
            MapData::create(aya_obj::Map::new_from_params(kind, 0, 0, BYTES, 0), "reports", None).map_err(cause)?;
        let ring = RingBuf::try_from(Map::RingBuf(map)).map_err(cause)?;
        Ok(Reports { ring, latest: vec![None; flows], early: None })
    }

    /// Collects what was reported up to `instant`.
    pub fn collect(&mut self, clock: Clock, instant: Time) {
        loop {
            let next = self.early.take().or_else(|| Report::read(&self.ring.next()?));
            let Some(report) = next else { return };
            if clock.at(report.time_ns) > instant {
                self.early = Some(report);
                return;
            }
            let flow = usize::from(report.port.wrapping_sub(FIRST_PORT));
            if let Some(latest) = self.latest.get_mut(flow) {
                *latest = Some(report);
            }
        }
    }

    /// The last one that was collected of a flow.
    pub fn of(&self, flow: usize) -> Option<&Report> {
        self.latest[flow].as_ref()
    }
}

impl AsRawFd for Reports {
    fn as_raw_fd(&self) -> RawFd {
        self.ring.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_in_the_units_of_the_series() {
        let mut bytes = [0; REPORT_BYTES];
        bytes[..8].copy_from_slice(&7u64.to_ne_bytes());
        let words: [u32; 8] = [1 << 20, 1 << 21, 0, 20_500, 9, 3, 77, 1_000];
        for (to, word) in bytes[8..40].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        for (to, half) in bytes[40..46].chunks_exact_mut(2).zip([320u16, 512, 10_003]) {
            to.copy_from_slice(&half.to_ne_bytes());
        }
        bytes[46..50].copy_from_slice(&[PROBE_BW, 4, 1, 0b100_0111]);
        let report = Report::read(&bytes).unwrap();
        assert_eq!((report.time_ns, report.port, report.mode()), (7, 10_003, "probe_bw"));
        assert_eq!(report.passed(), ["startup", "drain", "probe_bw", "probe_bw_cruise"]);
        assert_eq!(report.values[..9], [500.0, 1_000.0, 20.5, 1.25, 2.0, 4.0, 9.0, 1.0, 3.0]);
        assert!(report.values[9].is_nan(), "there is no policer");
        assert_eq!(report.values[10], 77.0);
        assert_eq!(Report::read(&bytes[1..]), None);
    }
}
