//! COBALT: CoDel without its memory of the last episode, and BLUE against flows that do not listen.
//!
//! CoDel's part marks, or drops what cannot be marked, at a rising rate while the delay is above target; afterwards its
//! count falls again at the rate at which it would have risen. BLUE's part drops at random, whatever the ECN bits: its
//! probability rises each time that the queue was full, and falls when it was empty.

use crate::queue::Verdict;
use crate::queue::codel::control_law;
use dumbbell_units::{Duration, Rng, Time};

const BLUE_UP: f64 = 1.0 / 256.0;
const BLUE_DOWN: f64 = 1.0 / 4096.0;

/// The constants of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    /// How long a full packet takes.
    pub(super) packet_time: Duration,
}

/// The state of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Cobalt {
    count: u64,
    drop_next: Time,
    dropping: bool,
    blue: f64,
    blue_timer: Time,
}

impl Cobalt {
    /// About a packet that has waited for so long; `can_mark` if it is ECN-capable. A delay counts only above `least`,
    /// too.
    pub(super) fn judge(
        &mut self,
        rules: &Rules,
        now: Time,
        (waited, least): (Duration, Duration),
        can_mark: bool,
        rng: &mut Rng,
    ) -> Verdict {
        let mut is_due = self.is_due(now);
        if waited > rules.target && waited > least && waited > rules.packet_time * 4 {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, rules);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Pass;
        if is_due && self.dropping {
            verdict = if can_mark { Verdict::Mark } else { Verdict::Drop };
            self.count += 1;
            self.drop_next = self.after(self.drop_next, rules);
        }
        while is_due && !self.dropping {
            self.calm_down(rules);
            is_due = self.is_due(now);
        }
        if self.blue > 0.0 && rng.uniform() < self.blue {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + rules.interval;
        }
        verdict
    }

    /// The buffer was full, and the flow lost a packet.
    pub(super) fn was_full(&mut self, rules: &Rules, now: Time) {
        if now.since(self.blue_timer) > rules.target {
            self.blue = (self.blue + BLUE_UP).min(1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// It was the flow's turn, and nothing waited.
    pub(super) fn was_empty(&mut self, rules: &Rules, now: Time) {
        if self.blue > 0.0 && now.since(self.blue_timer) > rules.target {
            self.blue = (self.blue - BLUE_DOWN).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.calm_down(rules);
        }
    }

    /// Nothing of the past is left.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.blue == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// The probability with which packets are dropped at random.
    pub(super) fn blue(&self) -> f64 {
        self.blue
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn calm_down(&mut self, rules: &Rules) {
        self.count -= 1;
        self.drop_next = self.after(self.drop_next, rules);
    }

    /// When the next drop is due after one at `t`.
    fn after(&self, t: Time, rules: &Rules) -> Time {
        control_law(t, rules.interval, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules =
        Rules { target: Duration::from_millis(5), interval: Duration::from_millis(100), packet_time: Duration::ZERO };

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Verdicts about packets, one a millisecond, that have all waited for so long.
    fn fates(cobalt: &mut Cobalt, ms: std::ops::Range<u64>, waited_ms: u64, can_mark: bool) -> Vec<(u64, Verdict)> {
        let waited = Duration::from_millis(waited_ms);
        let mut rng = Rng::new(1);
        let judged = ms.map(|ms| (ms, cobalt.judge(&RULES, at(ms), (waited, Duration::ZERO), can_mark, &mut rng)));
        judged.filter(|(_, fate)| *fate != Verdict::Pass).collect()
    }

    #[test]
    fn a_standing_queue_is_struck_after_an_interval_and_then_more_and_more_often() {
        for (can_mark, expected) in [(true, Verdict::Mark), (false, Verdict::Drop)] {
            let mut cobalt = Cobalt::default();
            let struck = fates(&mut cobalt, 0..400, 10, can_mark);
            assert!(struck.iter().all(|(_, fate)| *fate == expected));
            let gaps: Vec<f64> = struck.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64).take(3).collect();
            for (gap, n) in gaps.iter().zip([2.0f64, 3.0, 4.0]) {
                assert!((gap - 100.0 / n.sqrt()).abs() <= 1.0, "{gaps:?}");
            }
            assert_eq!(struck[0].0, 100);
        }
    }

    #[test]
    fn afterwards_the_count_falls_at_the_rate_at_which_it_rose() {
        let mut cobalt = Cobalt::default();
        fates(&mut cobalt, 0..1_000, 10, true);
        let high = cobalt.count;
        assert!(high > 10);
        fates(&mut cobalt, 1_000..1_100, 1, true);
        assert!(cobalt.count < high && cobalt.count > 0, "{} of {high}", cobalt.count);
        fates(&mut cobalt, 1_100..4_000, 1, true);
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn a_delay_of_four_packets_or_less_is_no_reason() {
        let slow = Rules { packet_time: Duration::from_millis(12), ..RULES };
        let mut cobalt = Cobalt::default();
        let mut rng = Rng::new(1);
        let mut judge = |ms, waited_ms| {
            let waited = (Duration::from_millis(waited_ms), Duration::ZERO);
            cobalt.judge(&slow, at(ms), waited, false, &mut rng)
        };
        assert!((0..1_000).all(|ms| judge(ms, 48) == Verdict::Pass));
        assert!((1_000..2_000).any(|ms| judge(ms, 49) == Verdict::Drop));
    }

    #[test]
    fn a_full_buffer_raises_blue_at_most_once_in_a_target_and_an_empty_queue_lowers_it() {
        let mut cobalt = Cobalt::default();
        for ms in 0..600 {
            cobalt.was_full(&RULES, at(10 + ms));
        }
        assert!((cobalt.blue() - 100.0 / 256.0).abs() < 1e-9, "{}", cobalt.blue());
        let dropped = fates(&mut cobalt, 1_000..11_000, 0, true).len() as f64 / 10_000.0;
        assert!((dropped - 100.0 / 256.0).abs() < 0.02, "{dropped}, ECN-capable or not");
        for ms in 0..60 {
            cobalt.was_empty(&RULES, at(11_000 + ms));
        }
        assert!((cobalt.blue() - 100.0 / 256.0 + 10.0 / 4_096.0).abs() < 1e-9, "{}", cobalt.blue());
    }
}
