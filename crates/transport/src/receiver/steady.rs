//! A receiver in steady state: every ACK covers as many segments as the one before it.
//!
//! Nothing is missing, the window does not grow, and segments come at even intervals. Then an ACK leaves with every
//! `ack_every`th segment, or, where these come faster than the application reads, whenever that has read. So many
//! segments of a run can be taken at once, with the ACKs that they lead to.

use super::Receiver;
use crate::{AdvertisedWindow, CumulativeAck, Segment};
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::{Duration, Time};

/// Segments of a run that arrive at even intervals.
#[derive(Clone, Copy, Debug)]
pub struct EvenRun {
    /// The time between two of them.
    pub interval: Duration,
    /// How many there are, with the first one.
    pub count: u32,
    /// ACKs that leave from here on have to wait for their time.
    pub until: Time,
}

/// ACKs that leave at even intervals, each of which covers as many segments as the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadyAcks {
    /// The next one.
    pub ack: CumulativeAck,
    /// When it leaves.
    pub at: Time,
    /// The time between two of them.
    pub interval: Duration,
    /// How many there are.
    pub count: u32,
    /// Segments that each covers.
    pub covers: u32,
    /// They leave when the application has read, and not when a segment arrives.
    pub are_of_reader: bool,
}

impl SteadyAcks {
    /// Segments that they cover.
    #[inline(always)]
    pub fn segments(&self) -> u32 {
        self.count * self.covers
    }
}

impl Iterator for SteadyAcks {
    type Item = (Time, CumulativeAck);

    #[inline(always)]
    fn next(&mut self) -> Option<(Time, CumulativeAck)> {
        if self.count == 0 {
            return None;
        }
        let next = (self.at, self.ack);
        self.count -= 1;
        self.at += self.interval;
        self.ack.ack += self.covers;
        self.ack.sent_at = Timestamp::at(self.at);
        Some(next)
    }
}

/// What leads to an ACK.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// So many segments.
    segments: u32,
    /// The ACK leaves this long after the first of them.
    after: Duration,
    is_of_reader: bool,
}

impl Receiver {
    /// Takes segments of a `run` whose `first` one arrives at `now`, before they arrive: all that lead to ACKs in time,
    /// if this receiver is in steady state and everything so far is acknowledged. Returns these ACKs. No timer is armed
    /// then.
    #[inline]
    pub fn take_steady(&mut self, now: Time, first: &Segment, run: &EvenRun) -> Option<SteadyAcks> {
        let longest_gap = now.since(self.acks.last_data_at()).max(run.interval);
        let is_steady = self.is_settled()
            && self.expects_next(first)
            && !self.acks.is_due()
            && self.acks.is_short(longest_gap)
            && self.rtt.has_taken(first)
            && !self.sizing.can_grow(1)
            && !self.sizing.is_short(first.len);
        if is_steady { self.take_steps(now, first, run) } else { None }
    }

    /// How segments lead to ACKs in steady state, as far as that is simple.
    #[inline(always)]
    fn step(&self, now: Time, run: &EvenRun) -> Option<Step> {
        let step = match self.acks.every() {
            1 => Step { segments: 1, after: Duration::ZERO, is_of_reader: false },
            2 if run.interval >= self.reading.delay() => Step { segments: 2, after: run.interval, is_of_reader: false },
            2 if self.waits_until_read(now) => {
                // What arrives at the instant of reading is read.
                let others = u32::try_from(self.reading.delay().as_nanos() / run.interval.as_nanos().max(1)).ok()?;
                Step { segments: others + 1, after: self.reading.delay(), is_of_reader: true }
            }
            _ => return None,
        };
        // Long before the delayed ACK.
        self.acks.is_long_before_delayed(step.after).then_some(step)
    }

    #[inline(always)]
    fn take_steps(&mut self, now: Time, first: &Segment, run: &EvenRun) -> Option<SteadyAcks> {
        let step = self.step(now, run)?;
        let until = run.until.min(self.sizing.round_ends_at());
        if now >= until {
            return None;
        }
        let known = ((until.since(now).as_nanos() - 1) / run.interval.as_nanos()).min(u64::from(run.count - 1));
        #[expect(clippy::cast_possible_truncation, reason = "it is at most the number of segments")]
        let known = known as u32 + 1;
        // Nothing comes before the reader if it is known what comes next.
        let count = (known - u32::from(step.is_of_reader)) / step.segments;
        if count == 0 {
            return None;
        }
        let segments = count * step.segments;
        let window = self.window.open(&mut self.sizing);
        let first_ack = self.rcv_nxt + step.segments;
        if !self.window.is_reached_by(first_ack, window) {
            return None;
        }
        self.rcv_nxt += segments;
        self.counts.deliver(u64::from(segments) * u64::from(first.len));
        self.timestamps.replace_recent(first, first.seq);
        self.acks.note_quick_segments(segments, now + run.interval * u64::from(segments - 1));
        self.last_acked = self.rcv_nxt;
        self.window.set(self.rcv_nxt, window);
        self.counts.note_acks(count);
        let at = now + step.after;
        Some(SteadyAcks {
            ack: CumulativeAck {
                ack: first_ack,
                ece: self.ecn.echoes(),
                window: AdvertisedWindow::new(window.segments, window.excess),
                sent_at: Timestamp::at(at),
                echo: Timestamp::at(first.sent_at),
            },
            at,
            interval: run.interval * u64::from(step.segments),
            count,
            covers: step.segments,
            are_of_reader: step.is_of_reader,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RightSizingRule;
    use crate::{Ack, TransportConfig};
    use dumbbell_units::Ecn;
    use proptest::prelude::*;

    fn us(micros: u64) -> Time {
        Time::from_nanos(1_000 * micros)
    }

    fn segment(seq: u32, sent_at: Time) -> Segment {
        Segment { seq, len: 1448, ecn: Ecn::NotEct, flags: crate::Flags::NONE, sent_at, echo: Timestamp::default() }
    }

    /// All ACKs that runs lead to, with their times, how many segments were taken in steady state, and the receiver
    /// afterwards. A run is when its first segment arrives, in microseconds, and how many it has.
    fn answers(
        config: &TransportConfig,
        runs: &[(u64, u32)],
        interval: Duration,
        is_steady: bool,
        until: impl Fn(Time) -> Time,
    ) -> (Vec<(Time, Ack)>, u32, Receiver) {
        let mut receiver = Receiver::new(config);
        receiver.set_handshake(Duration::from_millis(40));
        let (mut acks, mut seq, mut taken) = (Vec::new(), 0, 0);
        for &(begins, count) in runs {
            let sent_at = us(begins - 20_000);
            let mut left = count;
            while left > 0 {
                let now = us(begins) + interval * u64::from(count - left);
                while receiver.next_timer() < now {
                    let due = receiver.next_timer();
                    acks.extend(receiver.on_timer(due).map(|ack| (due, ack)));
                }
                let run = EvenRun { interval, count: left, until: until(now) };
                let first = segment(seq, sent_at);
                let answered = if is_steady { receiver.take_steady(now, &first, &run) } else { None };
                let covered = match answered {
                    Some(steady) => {
                        acks.extend(steady.map(|(at, ack)| (at, ack.into())));
                        taken += steady.segments();
                        steady.segments()
                    }
                    None => {
                        acks.extend(receiver.on_segment(now, first).map(|ack| (now, ack)));
                        1
                    }
                };
                seq += covered;
                left -= covered;
            }
        }
        let due = receiver.next_timer();
        acks.extend(receiver.on_timer(due).map(|ack| (due, ack)));
        (acks, taken, receiver)
    }

    /// Runs that begin so many microseconds after the end of the one before.
    fn runs(interval: Duration, pauses: &[(u64, u32)]) -> Vec<(u64, u32)> {
        let mut begins = 100_000;
        let mut runs = Vec::new();
        for &(pause, count) in pauses {
            begins += pause;
            runs.push((begins, count));
            begins += (interval * u64::from(count)).as_micros() + 1;
        }
        runs
    }

    proptest! {
        #[test]
        fn segments_taken_in_steady_state_lead_to_what_they_lead_to_one_by_one(
            pauses in proptest::collection::vec((0u64..3_000, 1u32..20), 10..60),
            interval in prop_oneof![1u64..40_000, Just(12_000), Just(20_000), Just(120_000), 1_000_000u64..30_000_000],
            ack_every in 1u32..4,
            (receive_autotuning, is_linux_6_12) in any::<(bool, bool)>(),
            (quick_acks, window_scale) in (0u32..20, 0u8..14),
            looks_every_us in prop_oneof![Just(u64::MAX / 4_000), 50u64..5_000],
        ) {
            let right_sizing = if is_linux_6_12 { RightSizingRule::Linux612 } else { RightSizingRule::Linux };
            let config = TransportConfig {
                ack_every,
                receive_autotuning,
                right_sizing,
                quick_acks,
                window_scale,
                ..TransportConfig::default()
            };
            let interval = Duration::from_nanos(interval);
            let runs = runs(interval, &pauses);
            let until = |now: Time| us((now.as_micros() / looks_every_us + 1) * looks_every_us);
            let (acks, _, receiver) = answers(&config, &runs, interval, true, until);
            let (same, _, one_by_one) = answers(&config, &runs, interval, false, until);
            prop_assert_eq!(acks, same);
            prop_assert_eq!(receiver.stats(), one_by_one.stats());
            let later =
                |receiver: &Receiver| (receiver.acks.last_data_at(), receiver.acks.state(), receiver.window.left_from(0));
            prop_assert_eq!(later(&receiver), later(&one_by_one), "what comes later finds the same");
        }
    }

    #[test]
    fn at_least_half_of_a_long_transfer_is_taken_in_steady_state() {
        for interval_us in [12, 120] {
            let config = TransportConfig { receive_window: 45 * 1448, ..TransportConfig::default() };
            let interval = Duration::from_micros(interval_us);
            let (acks, taken, _) = answers(&config, &runs(interval, &[(500, 8); 100]), interval, true, |_| Time::NEVER);
            assert!((400..800).contains(&taken), "{taken} of 800, {interval_us} us apart");
            assert!(acks.is_sorted_by_key(|(at, ack)| (*at, ack.ack)));
        }
    }
}
