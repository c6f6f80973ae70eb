//! The receiver's half of NADA: from delay, loss and marks to one congestion signal (RFC 8698, sections 4.2 and 5.1).

use dumbbell_units::{Duration, Time, claimed};
use std::collections::VecDeque;

/// `LOGWIN`: the time over which rates, losses and delays are looked at.
const WINDOW: Duration = Duration::from_millis(500);
/// Packets whose smallest queueing delay counts (RFC 8698, section 5.1.1).
const DELAY_TAPS: usize = 15;
/// `QEPS`: a queueing delay above this is a queue that grows.
const GROWING: Duration = Duration::from_millis(10);
/// `QTH` and `LAMBDA`: above this delay losses speak, and the delay speaks less the longer it is.
const WARPED_FROM_MS: f64 = 50.0;
const WARPING: f64 = 0.5;
/// `DLOSS` at `PLRREF`, `DMARK` at `PMRREF`: penalties in milliseconds for that share of packets.
const LOSS_PENALTY_MS: f64 = 10.0;
const LOSS_REFERENCE: f64 = 0.01;
const MARK_PENALTY_MS: f64 = 2.0;
const MARK_REFERENCE: f64 = 0.01;
/// `ALPHA`: smoothing of both shares.
const SMOOTHING: f64 = 0.1;
/// `MULTILOSS`: after so many average intervals between losses the last one is forgotten.
const LOSS_MEMORY: f64 = 7.0;
/// Weights of the latest intervals between losses (RFC 5348, section 5.4).
const INTERVAL_WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A packet that arrived.
struct Sample {
    at: Time,
    bytes: u32,
    /// Packets found missing before it; negative where it is one of those.
    missing: i32,
    is_marked: bool,
    is_queued: bool,
}

/// What has been seen of a call.
#[derive(Default)]
pub(super) struct CongestionSignal {
    window: VecDeque<Sample>,
    /// The latest one-way delays, and the smallest ever.
    delays: VecDeque<Duration>,
    base_delay: Option<Duration>,
    /// The number that comes next if nothing is missing.
    next_number: u64,
    missing: u64,
    loss: f64,
    mark: f64,
    /// Packets between losses, the latest interval first, and since the last loss.
    intervals: VecDeque<u64>,
    since_loss: u64,
}

impl CongestionSignal {
    /// Packet `number` with so much payload arrives at `now`, `delay` after it left.
    pub(super) fn on_packet(&mut self, now: Time, number: u64, delay: Duration, bytes: u32, is_marked: bool) {
        let base = self.base_delay.map_or(delay, |base| base.min(delay));
        self.base_delay = Some(base);
        self.delays.push_back(delay);
        if self.delays.len() > DELAY_TAPS {
            self.delays.pop_front();
        }
        let missing = self.count_missing(number);
        let is_queued = delay.saturating_sub(base) >= GROWING;
        self.window.push_back(Sample { at: now, bytes, missing, is_marked, is_queued });
        self.forget_before(now);
    }

    /// Packets found missing by the arrival of this one; -1 if it was missing itself.
    fn count_missing(&mut self, number: u64) -> i32 {
        let Some(gap) = number.checked_sub(self.next_number) else {
            self.missing = self.missing.saturating_sub(1);
            return -1;
        };
        self.next_number = number + 1;
        if gap > 0 {
            self.missing += gap;
            self.intervals.push_front(self.since_loss + 1);
            self.intervals.truncate(INTERVAL_WEIGHTS.len());
            self.since_loss = 0;
        } else {
            self.since_loss += 1;
        }
        i32::try_from(gap).unwrap_or(i32::MAX)
    }

    fn forget_before(&mut self, now: Time) {
        while self.window.front().is_some_and(|sample| sample.at + WINDOW <= now) {
            self.window.pop_front();
        }
    }

    /// Packets that never came, so far.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// Takes the state at the time of a report into the averages.
    pub(super) fn update(&mut self, now: Time) {
        self.forget_before(now);
        let arrived = self.window.len() as f64;
        let missing = self.window.iter().map(|sample| f64::from(sample.missing)).sum::<f64>().max(0.0);
        let marked = self.window.iter().filter(|sample| sample.is_marked).count() as f64;
        let share = |count: f64, all: f64| if all > 0.0 { count / all } else { 0.0 };
        self.loss += SMOOTHING * (share(missing, arrived + missing) - self.loss);
        self.mark += SMOOTHING * (share(marked, arrived) - self.mark);
    }

    /// Whether nothing was lost and no queue grew in the window.
    pub(super) fn may_ramp_up(&self) -> bool {
        self.window.iter().all(|sample| sample.missing <= 0 && !sample.is_queued)
    }

    /// Payload in bits per second over the window.
    pub(super) fn receive_rate(&self) -> f64 {
        let bytes: u64 = self.window.iter().map(|sample| u64::from(sample.bytes)).sum();
        bytes as f64 * 8.0 / WINDOW.as_secs_f64()
    }

    /// The aggregated signal in milliseconds (`x_curr`).
    pub(super) fn value_ms(&self) -> f64 {
        let loss = self.loss / LOSS_REFERENCE;
        let mark = self.mark / MARK_REFERENCE;
        self.warped_delay_ms() + LOSS_PENALTY_MS * loss * loss + MARK_PENALTY_MS * mark * mark
    }

    /// The queueing delay; a long one counts less where losses tell of others that fill the queue (`d_tilde`).
    fn warped_delay_ms(&self) -> f64 {
        let base = self.base_delay.unwrap_or_default();
        let queueing = self.delays.iter().min().map_or(Duration::ZERO, |delay| delay.saturating_sub(base));
        let queueing_ms = queueing.as_secs_f64() * 1e3;
        if queueing_ms < WARPED_FROM_MS || !self.remembers_loss() {
            return queueing_ms;
        }
        WARPED_FROM_MS * libm::exp(-WARPING * (queueing_ms - WARPED_FROM_MS) / WARPED_FROM_MS)
    }

    /// Whether the last loss is recent in terms of the average interval between losses.
    fn remembers_loss(&self) -> bool {
        let weights = INTERVAL_WEIGHTS.iter().take(self.intervals.len()).sum::<f64>();
        let sum: f64 =
            self.intervals.iter().zip(INTERVAL_WEIGHTS).map(|(&packets, weight)| packets as f64 * weight).sum();
        weights > 0.0 && (self.since_loss as f64) < LOSS_MEMORY * sum / weights
    }

    /// Bytes of memory [claimed].
    pub(super) fn memory(&self) -> u64 {
        claimed::<Sample>(self.window.len(), self.window.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Packets of 1000 bytes every 10 ms, all of which but those that `lost` names arrive after `delay`.
    fn signal(packets: u64, delay: impl Fn(u64) -> Duration, lost: impl Fn(u64) -> bool) -> CongestionSignal {
        let mut signal = CongestionSignal::default();
        for number in (0..packets).filter(|&number| !lost(number)) {
            let delay = delay(number);
            let now = Time::ZERO + MS * (10 * number) + delay;
            signal.on_packet(now, number, delay, 1_000, number % 4 == 3);
            if number % 10 == 9 {
                signal.update(now);
            }
        }
        signal
    }

    #[test]
    fn a_queue_is_what_the_delay_exceeds_its_smallest_by_and_spikes_do_not_count() {
        let steady = signal(200, |number| if number < 100 { MS * 20 } else { MS * 53 }, |_| false);
        assert!((steady.warped_delay_ms() - 33.0).abs() < 1e-9);
        assert!(!steady.may_ramp_up());
        let spikes = signal(200, |number| if number % 10 == 0 { MS * 90 } else { MS * 20 }, |_| false);
        assert_eq!(spikes.warped_delay_ms(), 0.0);
        assert!((signal(200, |_| MS * 20, |_| false).receive_rate() - 800_000.0).abs() < 1.0);
    }

    #[test]
    fn losses_have_a_penalty_that_is_square_and_end_a_ramp_up() {
        let lossy = signal(4_000, |_| MS * 20, |number| number % 50 == 49);
        assert_eq!(lossy.missing(), 79, "the last one is not known to be missing");
        assert!((lossy.loss - 0.02).abs() < 0.002, "{}", lossy.loss);
        let marks = MARK_PENALTY_MS * (lossy.mark / MARK_REFERENCE).powi(2);
        assert!((lossy.value_ms() - marks - 10.0 * (lossy.loss / 0.01).powi(2)).abs() < 1e-9);
        assert!((lossy.mark - 0.25).abs() < 0.01 && !lossy.may_ramp_up());
        assert!(signal(4_000, |_| MS * 20, |_| false).may_ramp_up());
    }

    #[test]
    fn a_long_delay_counts_less_where_there_is_loss() {
        let long = |number| if number < 100 { MS * 20 } else { MS * 170 };
        assert!((signal(400, long, |_| false).warped_delay_ms() - 150.0).abs() < 1e-9);
        let expected = 50.0 * f64::exp(-1.0);
        assert!((signal(400, long, |number| number % 50 == 20).warped_delay_ms() - expected).abs() < 1e-9);
        let forgotten = signal(4_000, long, |number| number < 400 && number % 50 == 20);
        assert!((forgotten.warped_delay_ms() - 150.0).abs() < 1e-9, "the last loss was 3630 packets ago");
    }

    #[test]
    fn a_packet_that_comes_late_was_not_lost() {
        let mut signal = CongestionSignal::default();
        for number in [0, 1, 3, 4, 2, 5] {
            signal.on_packet(Time::ZERO + MS * 10, number, MS * 20, 1_000, false);
        }
        signal.update(Time::ZERO + MS * 10);
        assert_eq!((signal.missing(), signal.loss), (0, 0.0));
    }
}
