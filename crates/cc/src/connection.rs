//! What a controller sees of the connection it governs, and the sample it gets with every ACK.

use dumbbell_units::{Duration, Time};

/// The congestion-avoidance states of a Linux sender, in their order of severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaState {
    /// Nothing suspicious.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs seen, nothing declared lost.
    Disorder,
    /// The window is being reduced without loss (ECN, local drop).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// The shared state of a connection: the sender keeps it true, a controller reads it and writes the fields marked
/// *(controller)*. Counts are in packets (MSS-sized segments) unless the name says otherwise; the names are those of
/// Linux's `struct tcp_sock`.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The instant of the current event (`tcp_clock_cache`).
    pub now: Time,
    /// The same instant in whole microseconds (`tcp_mstamp`).
    pub mstamp_us: u64,
    /// The same instant in ticks of the kernel's coarse clock (`tcp_jiffies32`).
    pub jiffies: u32,
    /// Ticks of the coarse clock per second (`HZ`).
    pub hz: u32,
    /// Payload bytes of a full segment (`mss_cache`).
    pub mss: u32,

    /// Congestion window *(controller)*.
    pub cwnd: u32,
    /// Fractional credit towards the next increment of `cwnd` *(controller)*.
    pub cwnd_cnt: u32,
    /// Slow-start threshold *(controller)*; [`Connection::INFINITE_SSTHRESH`] until the first reduction.
    pub ssthresh: u32,
    /// Window before the current reduction.
    pub prior_cwnd: u32,
    /// Upper bound of `cwnd`.
    pub cwnd_clamp: u32,
    /// Payload bytes per second at which the sender may transmit *(controller, when it paces)*.
    pub pacing_rate: u64,
    /// Upper bound of `pacing_rate` (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: u64,
    /// The sender counts `2^-pacing_shift` seconds of the pacing rate as one burst (`sk_pacing_shift`).
    pub pacing_shift: u32,
    /// Largest payload of one burst in bytes (`sk_gso_max_size` less the largest header).
    pub gso_max_bytes: u32,
    /// Whether transmissions are shaped by `pacing_rate`.
    pub paced: bool,
    /// When the next packet may leave under pacing (`tcp_wstamp_ns`).
    pub next_departure: Time,

    /// Sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Selectively acknowledged.
    pub sacked_out: u32,
    /// Marked lost and not repaired.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Most packets out in the last window (`max_packets_out`).
    pub max_packets_out: u32,
    /// Whether the window, and nothing else, held the sender back in the last window (`is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// The application has handed over no data that is not sent (`tcp_send_head` is empty).
    pub no_unsent_data: bool,
    /// The receive window, and nothing else, keeps the next segment back.
    pub receive_window_full: bool,
    /// First unacknowledged position of the sequence space.
    pub snd_una: u64,
    /// Next position of the sequence space to be sent.
    pub snd_nxt: u64,
    /// Congestion-avoidance state.
    pub ca_state: CaState,

    /// Packets delivered so far, each counted once.
    pub delivered: u64,
    /// Packets whose delivery was reported with a congestion-experienced mark.
    pub delivered_ce: u64,
    /// Packets ever marked lost.
    pub lost: u64,
    /// When `delivered` last grew, in microseconds (`delivered_mstamp`).
    pub delivered_mstamp_us: u64,
    /// When the last burst left, for idle detection (`lsndtime`).
    pub last_sent: Time,
    /// 0, or the value `delivered` must exceed before the application-limited bubble has left the pipe *(controller)*.
    pub app_limited: u64,

    /// Eight times the smoothed round-trip time in microseconds (`srtt_us`); 0 before the first sample.
    pub srtt_us_x8: u32,
    /// Windowed minimum of the round-trip time in microseconds; [`Connection::UNKNOWN_RTT`] before the first sample.
    pub min_rtt_us: u32,
}

impl Connection {
    /// `ssthresh` before the first reduction (`TCP_INFINITE_SSTHRESH`).
    pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
    /// `min_rtt_us` before the first sample.
    pub const UNKNOWN_RTT: u32 = u32::MAX;
    /// Window after the handshake (`TCP_INIT_CWND`).
    pub const INITIAL_CWND: u32 = 10;

    /// A connection before its first event: initial window, nothing sent, everything else zero or unknown.
    pub fn new(mss: u32) -> Connection {
        Connection {
            now: Time::ZERO,
            mstamp_us: 0,
            jiffies: 0,
            hz: 1000,
            mss,
            cwnd: Connection::INITIAL_CWND,
            cwnd_cnt: 0,
            ssthresh: Connection::INFINITE_SSTHRESH,
            prior_cwnd: 0,
            cwnd_clamp: u32::MAX,
            pacing_rate: 0,
            max_pacing_rate: u64::MAX,
            pacing_shift: 10,
            gso_max_bytes: 65_215,
            paced: false,
            next_departure: Time::ZERO,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            max_packets_out: 0,
            cwnd_limited: false,
            no_unsent_data: false,
            receive_window_full: false,
            snd_una: 0,
            snd_nxt: 0,
            ca_state: CaState::Open,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            delivered_mstamp_us: 0,
            last_sent: Time::ZERO,
            app_limited: 0,
            srtt_us_x8: 0,
            min_rtt_us: Connection::UNKNOWN_RTT,
        }
    }

    /// Packets in flight: sent, neither acknowledged nor marked lost, retransmissions included.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.packets_out + self.retrans_out - self.sacked_out - self.lost_out
    }

    /// Ticks of the coarse clock that cover `span`: rounded up, as the kernel's `msecs_to_jiffies` does.
    #[inline]
    pub fn ticks(&self, span: Duration) -> u32 {
        let ticks = span.as_micros().saturating_mul(u64::from(self.hz)).div_ceil(1_000_000);
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// Below the slow-start threshold (`tcp_in_slow_start`).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window held the sender back; in slow start a window used by half counts
    /// (`tcp_is_cwnd_limited`).
    #[inline]
    pub fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }

    /// Slow start for `acked` packets; returns those left over when the threshold is reached (`tcp_slow_start`).
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// One packet more for every `per_increment` packets acknowledged (`tcp_cong_avoid_ai`).
    #[inline]
    pub fn additive_increase(&mut self, per_increment: u32, acked: u32) {
        if self.cwnd_cnt >= per_increment {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= per_increment {
            let increments = self.cwnd_cnt / per_increment;
            self.cwnd_cnt -= increments * per_increment;
            self.cwnd += increments;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}

/// What one ACK taught the sender (`struct rate_sample`); see `docs/specs/delivery-rate.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// `delivered` when the sampled packet was sent; drives round counting.
    pub prior_delivered: u64,
    /// `delivered_mstamp_us` when the sampled packet was sent; 0 when there is no sampled packet.
    pub prior_mstamp_us: u64,
    /// Packets delivered over the sampling interval; -1 when invalid.
    pub delivered: i32,
    /// Length of the sampling interval in microseconds; -1 when invalid.
    pub interval_us: i64,
    /// Round-trip time of this ACK in microseconds; -1 when it gives none.
    pub rtt_us: i64,
    /// Packets newly marked lost while this ACK was processed.
    pub losses: u32,
    /// Packets newly acknowledged, cumulatively or selectively, by this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// The sampled packet was sent while the application was the limit.
    pub is_app_limited: bool,
    /// The sampled packet was a retransmission.
    pub is_retrans: bool,
    /// `rtt_us` probably contains the receiver's wait for a second segment.
    pub is_ack_delayed: bool,
    /// Packets in flight when the sampled packet was sent, itself included.
    pub tx_in_flight: u32,
    /// Packets marked lost since the sampled packet was sent.
    pub lost_since_sent: i32,
    /// Packets delivered with a congestion mark since the sampled packet was sent.
    pub delivered_ce: i32,
    /// This ACK echoes congestion.
    pub is_ece: bool,
    /// This ACK covers a tail-loss probe that was a retransmission.
    pub is_acking_tlp: bool,
}

impl RateSample {
    /// The sample of an ACK that delivered nothing.
    pub fn invalid() -> RateSample {
        RateSample { delivered: -1, interval_us: -1, rtt_us: -1, ..RateSample::default() }
    }
}
