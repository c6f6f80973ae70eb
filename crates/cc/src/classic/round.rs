//! The round-trip times of Vegas, which YeAH uses as well: the smallest one ever, and the smallest one of a round.

use super::arithmetic::sample_us;
use dumbbell_cc_contract::{CaState, Event, View};

/// No round-trip time yet (the kernel's 0x7fffffff).
const NONE: u32 = 0x7fff_ffff;
/// Fewest round-trip times that a round must have to be judged, less one: a delayed ACK may spoil two.
const MIN_SAMPLES: u32 = 2;

/// Round-trip times in microseconds, each 1 µs longer than measured, so that none is 0.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// The connection is in Open, where the delays mean something.
    pub(super) is_enabled: bool,
    /// The smallest one since the last idle time (`baseRTT`).
    pub(super) base_us: u32,
    /// The smallest one of the round (`minRTT`).
    pub(super) min_us: u32,
    /// Samples of the round (`cntRTT`).
    count: u32,
    /// The round ends when more than this is acknowledged (`beg_snd_nxt`).
    end: u64,
}

impl Default for Round {
    fn default() -> Round {
        Round { is_enabled: true, base_us: NONE, min_us: NONE, count: 0, end: 0 }
    }
}

impl Round {
    /// Forgets everything and starts a round (`tcp_vegas_init`).
    pub(super) fn restart(&mut self, view: &View) {
        *self = Round { end: view.snd_nxt, ..Round::default() };
    }

    /// An ACK gave this round-trip time (`tcp_vegas_pkts_acked`).
    #[inline]
    pub(super) fn sample(&mut self, rtt_us: i64) {
        let Some(rtt_us) = sample_us(rtt_us) else { return };
        let rtt_us = rtt_us.saturating_add(1);
        self.base_us = self.base_us.min(rtt_us);
        self.min_us = self.min_us.min(rtt_us);
        self.count += 1;
    }

    /// Enabled in Open alone; a return to it starts a round (`tcp_vegas_state`).
    pub(super) fn set_state(&mut self, view: &View, next: CaState) {
        self.is_enabled = next == CaState::Open;
        if self.is_enabled {
            self.begin(view);
        }
    }

    /// After idle time the path may be another one (`tcp_vegas_cwnd_event`).
    pub(super) fn event(&mut self, view: &View, event: Event) {
        if matches!(event, Event::CwndRestart | Event::TxStart) {
            self.restart(view);
        }
    }

    /// Everything that was sent when the round began is acknowledged.
    #[inline]
    pub(super) fn is_over(&self, view: &View) -> bool {
        view.snd_una > self.end
    }

    /// Whether it had enough round-trip times to be judged.
    pub(super) fn has_enough_samples(&self) -> bool {
        self.count > MIN_SAMPLES
    }

    /// Starts the next round.
    pub(super) fn begin(&mut self, view: &View) {
        self.end = view.snd_nxt;
        self.min_us = NONE;
        self.count = 0;
    }

    /// The smallest round-trip time ever in milliseconds, for reports.
    pub(super) fn base_ms(&self) -> f64 {
        if self.base_us == NONE { f64::NAN } else { f64::from(self.base_us) * 1e-3 }
    }

    /// How long packets of this round waited at least, in microseconds.
    pub(super) fn queueing_us(&self) -> u32 {
        self.min_us.saturating_sub(self.base_us)
    }
}
