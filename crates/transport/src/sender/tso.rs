//! How large a burst is, and whether it waits to become larger.
//!
//! A burst holds about a millisecond of the pacing rate, more on paths with a short RTT, and never less than the
//! controller says. ACKs open the window by a few segments each. A sender does not use these at once: unless a third of
//! the window is free, or the next ACK is far away, it waits until more segments can leave as one burst.

use super::{CaState, Sender};
use dumbbell_units::Duration;

/// Free window in segments from which on nothing is deferred where `tso_win_divisor` is 0 (`tcp_max_tso_deferred_mss`).
const NEVER_DEFERRED: u32 = 4;

impl Sender {
    /// The burst size that the pacing rate suggests, in segments (`tcp_tso_autosize`).
    #[inline(always)]
    fn tso_autosize(&self) -> u32 {
        let (view, control) = (&self.view, &self.control);
        let gso_max = u64::from(view.gso_max_bytes);
        let mut bytes = control.pacing_rate >> control.pacing_shift;
        if self.config.tso_rtt_log > 0 {
            let halvings = view.min_rtt_us >> self.config.tso_rtt_log;
            if halvings < 32 {
                bytes += gso_max >> halvings;
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is at most `gso_max_bytes`, which has 32 bits")]
        let bytes = bytes.min(gso_max) as u32;
        bytes / u32::from(self.stream.mss)
    }

    /// Largest burst in segments: at most what the host takes as one (`sk_gso_max_segs`), however small.
    #[inline(always)]
    pub(super) fn max_burst(&self) -> u32 {
        let least = match self.hooks.min_tso_segs {
            true => self.controller.min_tso_segs(&self.view, &self.control),
            false => self.smallest_burst,
        };
        let suggested = self.tso_autosize();
        let (mss, most) = (u32::from(self.stream.mss), self.view.gso_max_bytes);
        if suggested >= least || least.saturating_mul(mss) <= most { suggested.max(least) } else { (most / mss).max(1) }
    }

    /// Whether the burst is deferred, because the next ACK will make it larger (`tcp_tso_should_defer`). It comes from
    /// a buffer of so many segments, to which the application may or may not add.
    #[inline(always)]
    pub(super) fn tso_should_defer(
        &self,
        max_burst: u32,
        (buffer, may_grow): (u32, bool),
        room: u32,
        window: u32,
    ) -> bool {
        const MILLISECOND: Duration = Duration::from_millis(1);
        let (view, control) = (&self.view, &self.control);
        let limit = window.min(room);
        if (limit >= buffer && !may_grow) || view.ca_state >= CaState::Recovery {
            return false;
        }
        if limit >= max_burst {
            return false;
        }
        if view.now.since(view.next_departure) > MILLISECOND {
            return false;
        }
        // The share of the window counts in bytes.
        let receive_window = self.stream.window_end - self.board.una();
        let mut whole_window = u64::from(control.cwnd.min(receive_window)) * u64::from(view.mss);
        let mut free = u64::from(limit) * u64::from(view.mss);
        if self.stream.is_exact {
            let excess = u64::from(self.stream.window_excess);
            whole_window += if receive_window < control.cwnd { excess } else { 0 };
            free += if window < room { excess } else { 0 };
        }
        let is_enough = match u64::from(self.config.tso_win_divisor) {
            0 => limit >= NEVER_DEFERRED,
            // The share is a whole number of bytes, so this says `free >= whole_window / divisor`.
            divisor => (free + 1) * divisor > whole_window,
        };
        if is_enough {
            return false;
        }
        if self.board.is_empty() {
            return false;
        }
        let srtt_us = u64::from(view.srtt_us_x8 >> 3);
        let head_acked = (self.board.get(self.board.una()).sent.us() + srtt_us) * 1_000;
        head_acked.saturating_sub(view.now.as_nanos()) <= MILLISECOND.as_nanos().min(srtt_us * 500)
    }
}
