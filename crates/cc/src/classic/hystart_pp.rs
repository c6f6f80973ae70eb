//! HyStart++ (RFC 9406): leaves slow start by delay, after a trial.
//!
//! When a round's smallest round-trip time exceeds that of the round before by an eighth, the window grows at a quarter
//! of the speed (conservative slow start). If the delay falls again, that was noise, and slow start goes on; after five
//! rounds it is over.

use dumbbell_cc_contract::{Control, View};

const MIN_THRESHOLD_US: u32 = 4_000;
const MAX_THRESHOLD_US: u32 = 16_000;
const DIVISOR: u32 = 8;
const SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// Most packets that an ACK adds where the sender does not pace (`L`).
const BURST_LIMIT: u32 = 8;
const NONE: u32 = u32::MAX;

/// The state of HyStart++: one round at a time.
#[derive(Clone, Debug)]
pub(super) struct HystartPlusPlus {
    is_over: bool,
    round_end: u64,
    current_us: u32,
    last_us: u32,
    samples: u32,
    /// In conservative slow start: the round-trip time that began it, and rounds so far.
    conservative: Option<(u32, u32)>,
    /// Packets acknowledged that conservative slow start has not counted yet.
    credit: u32,
}

impl Default for HystartPlusPlus {
    fn default() -> HystartPlusPlus {
        HystartPlusPlus {
            is_over: false,
            round_end: 0,
            current_us: NONE,
            last_us: NONE,
            samples: 0,
            conservative: None,
            credit: 0,
        }
    }
}

impl HystartPlusPlus {
    /// A loss or a mark: only the first slow start is watched.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether conservative slow start runs.
    pub(super) fn is_conservative(&self) -> bool {
        !self.is_over && self.conservative.is_some()
    }

    /// A round-trip time of slow start; sets the threshold to the window when slow start is over.
    pub(super) fn sample(&mut self, view: &View, control: &mut Control, rtt_us: u32) {
        if self.is_over {
            return;
        }
        if view.snd_una > self.round_end {
            self.begin_round(view, control);
        }
        self.current_us = self.current_us.min(rtt_us);
        self.samples += 1;
        if self.samples < SAMPLES || self.is_over {
            return;
        }
        match self.conservative {
            None if self.last_us != NONE => {
                let threshold = (self.last_us / DIVISOR).clamp(MIN_THRESHOLD_US, MAX_THRESHOLD_US);
                if self.current_us >= self.last_us.saturating_add(threshold) {
                    self.conservative = Some((self.current_us, 0));
                }
            }
            Some((baseline, _)) if self.current_us < baseline => self.conservative = None,
            _ => {}
        }
    }

    fn begin_round(&mut self, view: &View, control: &mut Control) {
        self.round_end = view.snd_nxt;
        self.last_us = self.current_us;
        self.current_us = NONE;
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                control.ssthresh = control.cwnd;
                self.is_over = true;
            }
        }
    }

    /// Slow start for `acked` packets; returns those left for congestion avoidance.
    pub(super) fn slow_start(&mut self, view: &View, control: &mut Control, acked: u32) -> u32 {
        if self.is_over {
            return control.slow_start(view, acked);
        }
        let acked = if view.paced { acked } else { acked.min(BURST_LIMIT) };
        if self.conservative.is_none() {
            return control.slow_start(view, acked);
        }
        self.credit += acked;
        let grown = self.credit / CSS_GROWTH_DIVISOR;
        self.credit %= CSS_GROWTH_DIVISOR;
        control.slow_start(view, grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;

    /// Rounds of ten samples with these smallest times; the windows at their ends.
    fn rounds(rtts_ms: &[u32]) -> (HystartPlusPlus, Vec<u32>, Side) {
        let mut c = Side::limited(10, Control::INFINITE_SSTHRESH);
        let mut hystart = HystartPlusPlus::default();
        let mut windows = Vec::new();
        for rtt_ms in rtts_ms {
            let (first, cwnd) = (c.view.snd_nxt, c.control.cwnd);
            c.view.snd_nxt += u64::from(cwnd);
            for n in 1..=u64::from(cwnd) {
                c.view.snd_una = first + n;
                hystart.sample(&c.view, &mut c.control, rtt_ms * 1_000);
                if c.control.in_slow_start() {
                    hystart.slow_start(&c.view, &mut c.control, 1);
                }
            }
            windows.push(c.control.cwnd);
        }
        (hystart, windows, c)
    }

    #[test]
    fn a_delay_that_grew_by_an_eighth_slows_the_growth_to_a_quarter_and_ends_it_after_five_rounds() {
        let (_, windows, c) = rounds(&[80, 80, 95, 95, 95, 95, 95, 95, 95]);
        assert_eq!(windows[..2], [20, 40]);
        assert!((50..=56).contains(&windows[2]), "{windows:?}");
        assert_eq!(c.control.ssthresh, c.control.cwnd);
        // The round in which the delay is seen is the first of the five.
        assert!(windows[..7].is_sorted_by(|one, next| one < next), "{windows:?}");
        assert_eq!(windows[6..], [windows[6]; 3], "slow start is over");
    }

    #[test]
    fn a_delay_that_falls_again_lets_slow_start_go_on() {
        let (hystart, windows, c) = rounds(&[80, 80, 95, 85, 85]);
        assert!(!hystart.is_conservative());
        assert_eq!(c.control.ssthresh, Control::INFINITE_SSTHRESH);
        assert!(f64::from(windows[4]) > 1.9 * f64::from(windows[3]), "{windows:?}");
    }

    #[test]
    fn a_sender_that_does_not_pace_grows_by_eight_packets_an_ack_at_most() {
        let mut c = Side::limited(100, Control::INFINITE_SSTHRESH);
        HystartPlusPlus::default().slow_start(&c.view, &mut c.control, 20);
        assert_eq!(c.control.cwnd, 108);
        c.view.paced = true;
        HystartPlusPlus::default().slow_start(&c.view, &mut c.control, 20);
        assert_eq!(c.control.cwnd, 128);
    }
}
