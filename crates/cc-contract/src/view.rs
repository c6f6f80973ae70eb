//! What a controller may see of the connection it governs.

use crate::control::Control;
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

impl CaState {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }
}

/// The state of a connection: the transport owns it and keeps it true, a controller reads it. Counts are in packets
/// (MSS-sized segments) unless the name says otherwise; the names are those of Linux's `struct tcp_sock`. What a
/// controller may change is its [`Control`].
#[derive(Clone, Debug)]
pub struct View {
    /// The instant of the current event (`tcp_clock_cache`).
    pub now: Time,
    /// `now` in whole microseconds (`tcp_mstamp`).
    pub mstamp_us: u64,
    /// `now` in ticks of the kernel's coarse clock (`tcp_jiffies32`).
    pub jiffies: u32,
    /// Ticks of the coarse clock per second (`HZ`).
    pub hz: u32,
    /// Payload bytes of a full segment (`mss_cache`).
    pub mss: u32,

    /// Window before the current reduction.
    pub prior_cwnd: u32,
    /// Upper bound of [`Control::cwnd`].
    pub cwnd_clamp: u32,
    /// Upper bound of [`Control::pacing_rate`] (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: u64,
    /// Largest payload of one burst in bytes (`sk_gso_max_size` less the largest header).
    pub gso_max_bytes: u32,
    /// Whether transmissions are shaped by [`Control::pacing_rate`].
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
    /// Congestion marks alone, and no loss, are the reason for the reduction whose threshold is asked for: true only
    /// while [`Controller::ssthresh`](crate::Controller::ssthresh) is called for such a one.
    pub marked: bool,

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

    /// Eight times the smoothed round-trip time in microseconds (`srtt_us`); 0 before the first sample.
    pub srtt_us_x8: u32,
    /// Windowed minimum of the round-trip time in microseconds; [`View::UNKNOWN_RTT`] before the first sample.
    pub min_rtt_us: u32,
}

impl View {
    /// `min_rtt_us` before the first sample.
    pub const UNKNOWN_RTT: u32 = u32::MAX;

    /// A connection before its first event: nothing sent, everything zero or unknown.
    pub fn new(mss: u32) -> View {
        View {
            now: Time::ZERO,
            mstamp_us: 0,
            jiffies: 0,
            hz: 1000,
            mss,
            prior_cwnd: 0,
            cwnd_clamp: u32::MAX,
            max_pacing_rate: u64::MAX,
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
            marked: false,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            delivered_mstamp_us: 0,
            last_sent: Time::ZERO,
            srtt_us_x8: 0,
            min_rtt_us: View::UNKNOWN_RTT,
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

    /// Whole ticks of the coarse clock within `span`.
    #[inline]
    pub fn whole_ticks(&self, span: Duration) -> u32 {
        let ticks = span.as_micros().saturating_mul(u64::from(self.hz)) / 1_000_000;
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// Whether a window reduction is under way (`tcp_in_cwnd_reduction`).
    #[inline]
    pub fn in_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// Whether the window held the sender back; in slow start a window used by half counts
    /// (`tcp_is_cwnd_limited`).
    #[inline]
    pub fn is_cwnd_limited(&self, control: &Control) -> bool {
        self.cwnd_limited || (control.in_slow_start() && control.cwnd < 2 * self.max_packets_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_slow_start_a_window_used_by_more_than_half_counts_as_limiting() {
        let seen = |max_packets_out, cwnd_limited| View { max_packets_out, cwnd_limited, ..View::new(1448) };
        let window = |cwnd, ssthresh| Control { cwnd, ssthresh, ..Control::default() };
        assert!(!seen(10, false).is_cwnd_limited(&window(20, 100)), "half of it is not more than half");
        assert!(seen(10, false).is_cwnd_limited(&window(19, 100)));
        assert!(seen(10, false).is_cwnd_limited(&window(13, 100)));
        assert!(!seen(10, false).is_cwnd_limited(&window(13, 13)), "the threshold itself is above slow start");
        assert!(seen(0, true).is_cwnd_limited(&window(13, 13)), "what the sender has seen counts everywhere");
    }

    #[test]
    fn in_flight_is_what_is_neither_acknowledged_nor_lost_with_retransmissions() {
        let view = View { packets_out: 20, sacked_out: 7, lost_out: 5, retrans_out: 2, ..View::new(1448) };
        assert_eq!(view.in_flight(), 10);
    }

    #[test]
    fn ticks_cover_a_span_and_whole_ticks_lie_within_it() {
        let view = View { hz: 250, ..View::new(1448) };
        for (micros, cover, within) in [(0, 0, 0), (1, 1, 0), (3_999, 1, 0), (4_000, 1, 1), (4_001, 2, 1)] {
            let span = Duration::from_micros(micros);
            assert_eq!((view.ticks(span), view.whole_ticks(span)), (cover, within), "{micros} us");
        }
        let ages = Duration::from_secs(1 << 32);
        assert_eq!((view.ticks(ages), view.whole_ticks(ages)), (u32::MAX, u32::MAX));
    }

    #[test]
    fn a_window_is_reduced_in_recovery_and_after_congestion_marks_only() {
        use CaState::{Cwr, Disorder, Loss, Open, Recovery};
        let reducing =
            [Open, Disorder, Cwr, Recovery, Loss].map(|ca_state| View { ca_state, ..View::new(1448) }.in_reduction());
        assert_eq!(reducing, [false, false, true, true, false]);
    }
}
