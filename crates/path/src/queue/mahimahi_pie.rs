//! Mahimahi's PIE, which differs from the RFC's and from Linux's (`pie.rs`).
//!
//! Its clock and its delays have milliseconds, and `alpha` and `beta` multiply delays in these: its steps are a
//! thousand times as large as the RFC's before they are divided, by 128 up to a probability of 1 %, by 32 up to 10 %
//! and by 16 above. The delay is the backlog over the rate at which packets leave, always; both are whole numbers. A
//! burst may pass only after the queue has been calm, not at the start. Every packet is at risk: there is no minimal
//! distance between drops and no certain drop. It knows no ECN.

use super::discipline::{Discipline, Held, Queue};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NANOS_PER_MS: u64 = 1_000_000;
/// Milliseconds between two corrections.
const UPDATE_MS: u64 = 30;
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Bytes over which the departure rate is measured, and the backlog that is needed for it.
const MEASURED_BYTES: u64 = 16_384;
/// Two of its packets of 1504 bytes. A packet counts four bytes more there than its IP length.
const SHORT_QUEUE: u64 = 3_008;
const DEVICE_HEADER: u64 = 4;
const SMALL_PROBABILITY: f64 = 0.2;
const FORGETS: f64 = 0.98;

/// PIE as mm-link has it: in whole milliseconds, with larger steps.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MahimahiPie {
    /// Queueing delay to keep; whole milliseconds count.
    #[schemars(extend("x-at-least" = "1ms", "x-at-most" = "1h", "x-source" = "mm-link: pie qdelay_ref, without default"))]
    pub qdelay_ref: Duration,
    /// Length of a burst that passes after a calm time; whole milliseconds count.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "mm-link: pie max_burst, without default"))]
    pub max_burst: Duration,
}

impl Default for MahimahiPie {
    fn default() -> MahimahiPie {
        MahimahiPie { qdelay_ref: Duration::from_millis(15), max_burst: Duration::from_millis(150) }
    }
}

impl Described<LinkContext> for MahimahiPie {
    const NAME: &'static str = "mahimahi-pie";
    const SOURCE: &'static str = "Mahimahi, mm-link: PIEPacketQueue";

    fn in_words(&self) -> String {
        format!("Mahimahi's PIE ({}, bursts of {})", self.qdelay_ref.in_words(), self.max_burst.in_words())
    }
}

impl Discipline for MahimahiPie {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of the queue; all times are in milliseconds.
#[derive(Clone, Debug)]
struct State {
    reference: u64,
    max_burst: u64,
    line: Line,
    probability: f64,
    /// Delay now, and at the last correction.
    delay: u64,
    delay_before: u64,
    burst: u64,
    /// Bytes since the measurement of the departure rate began, and when that was; `None` when there is none.
    measurement: Option<(u64, u64)>,
    /// Average bytes a millisecond; 0 while it is unknown.
    departure_rate: u64,
    last_update: u64,
    rng: Rng,
}

impl State {
    fn new(parameters: &MahimahiPie, rng: Rng) -> State {
        State {
            reference: parameters.qdelay_ref.as_nanos() / NANOS_PER_MS,
            max_burst: parameters.max_burst.as_nanos() / NANOS_PER_MS,
            line: Line::default(),
            probability: 0.0,
            delay: 0,
            delay_before: 0,
            burst: 0,
            measurement: None,
            departure_rate: 0,
            last_update: 0,
            rng,
        }
    }

    /// What waits, as Mahimahi counts it.
    fn bytes(&self) -> u64 {
        let waiting = self.line.backlog();
        waiting.bytes + waiting.packets * DEVICE_HEADER
    }

    fn strikes(&mut self) -> bool {
        let is_calm = is_below_half(self.delay_before, self.reference) && self.probability < SMALL_PROBABILITY;
        if self.burst > 0 || is_calm || self.bytes() < SHORT_QUEUE {
            return false;
        }
        self.rng.uniform() < self.probability
    }

    /// Counts a packet that leaves.
    fn measure(&mut self, now: u64, size: u64) {
        let can_measure = self.bytes() >= MEASURED_BYTES;
        if self.measurement.is_none() && can_measure {
            self.measurement = Some((0, now));
        }
        let Some((counted, since)) = &mut self.measurement else { return };
        *counted += size;
        let elapsed = now - *since;
        if *counted <= MEASURED_BYTES || elapsed == 0 {
            return;
        }
        let rate = *counted / elapsed;
        let average = self.departure_rate;
        self.departure_rate = if average == 0 { rate } else { average - average / 8 + rate / 8 };
        self.measurement = can_measure.then_some((0, now));
        self.burst = self.burst.saturating_sub(elapsed);
    }

    /// Makes the corrections that have been due.
    fn update_until(&mut self, now: u64) {
        while now - self.last_update > UPDATE_MS {
            let before = (self.probability, self.delay, self.delay_before, self.burst);
            self.update();
            self.last_update += UPDATE_MS;
            // In a pause nothing changes any more from some correction on.
            if before == (self.probability, self.delay, self.delay_before, self.burst) {
                let missed = (now - self.last_update).saturating_sub(1) / UPDATE_MS;
                self.last_update += missed * UPDATE_MS;
            }
        }
    }

    fn update(&mut self) {
        self.delay_before = self.delay;
        self.delay = self.bytes().checked_div(self.departure_rate).unwrap_or(0);
        let (delay, before) = (self.delay as f64, self.delay_before as f64);
        let step = ALPHA * (delay - self.reference as f64) + BETA * (delay - before);
        let scale = match self.probability {
            p if p < 0.01 => 128.0,
            p if p < 0.1 => 32.0,
            _ => 16.0,
        };
        self.probability = (self.probability + step / scale).clamp(0.0, 1.0);
        // The queue is not empty, but no delay is known: that is no reason to forget.
        if self.delay == 0 && self.delay_before == 0 && self.line.front().is_none() {
            self.probability *= FORGETS;
        }
        self.burst = self.burst.saturating_sub(UPDATE_MS);
        let is_calm = is_below_half(self.delay, self.reference) && is_below_half(self.delay_before, self.reference);
        if self.probability == 0.0 && is_calm && self.departure_rate > 0 {
            self.measurement = None;
            self.departure_rate = 0;
            self.burst = self.max_burst;
        }
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.update_until(now.as_nanos() / NANOS_PER_MS);
        if !buffer.fits(now, packet.size) {
            return Err(DropCause::QueueFull);
        }
        if self.strikes() {
            return Err(DropCause::Aqm);
        }
        self.line.push(packet, buffer);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let packet = self.line.pop(now, buffer)?;
        let now = now.as_nanos() / NANOS_PER_MS;
        self.measure(now, u64::from(packet.size) + DEVICE_HEADER);
        self.update_until(now);
        Some(packet)
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        vec![("probability", self.probability), ("delay_ms", self.delay as f64)]
    }
}

fn is_below_half(delay: u64, reference: u64) -> bool {
    2 * delay < reference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::held::testing::{buffer, waiting};

    /// A queue of so many packets that has been measured at so many bytes a millisecond.
    fn measured(packets: u64, rate: u64) -> (State, Buffer) {
        let mut buffer = buffer();
        let mut pie = State::new(&MahimahiPie::default(), Rng::new(3));
        for _ in 0..packets {
            pie.line.push(waiting(Time::ZERO, Ecn::NotEct), &mut buffer);
        }
        pie.departure_rate = rate;
        (pie, buffer)
    }

    #[test]
    fn corrections_multiply_whole_milliseconds() {
        // 30 packets of 1504 bytes at 1504 bytes a millisecond are 30 ms; the reference is 15 ms.
        for (probability, scale) in [(0.0, 128.0), (0.05, 32.0), (0.3, 16.0)] {
            let (mut pie, _) = measured(30, 1_504);
            pie.probability = probability;
            pie.update();
            let expected = probability + (0.125 * 15.0 + 1.25 * 30.0) / scale;
            assert!((pie.probability - expected.min(1.0)).abs() < 1e-12, "{}", pie.probability);
            assert_eq!((pie.delay, pie.delay_before), (30, 0));
        }
    }

    #[test]
    fn the_controller_runs_each_thirty_milliseconds() {
        let (mut pie, _) = measured(30, 1_504);
        pie.update_until(30);
        assert_eq!(pie.last_update, 0, "more than thirty must have passed");
        pie.update_until(31);
        assert_eq!(pie.last_update, 30);
        pie.update_until(1_000_000);
        assert!(pie.last_update < 1_000_000 && pie.last_update >= 1_000_000 - UPDATE_MS);
    }

    #[test]
    fn a_burst_passes_after_a_calm_time_and_not_at_the_start() {
        let (mut pie, mut buffer) = measured(30, 0);
        pie.probability = 1.0;
        pie.delay_before = 15;
        assert!(pie.push(Time::ZERO, waiting(Time::ZERO, Ecn::Ect0), &mut buffer).is_err(), "no burst at the start");
        let (mut pie, _) = measured(0, 1_504);
        pie.update();
        assert_eq!((pie.burst, pie.departure_rate), (150, 0), "all anew");
        pie.update();
        assert_eq!(pie.burst, 120);
    }

    #[test]
    fn a_time_is_calm_when_two_delays_in_a_row_were_short() {
        let (mut pie, _) = measured(0, 1_504);
        pie.delay = 10;
        pie.update();
        assert_eq!((pie.delay_before, pie.departure_rate), (10, 1_504), "more than half of 15 ms");
        pie.update();
        assert_eq!((pie.delay_before, pie.departure_rate), (0, 0));
    }

    #[test]
    fn an_empty_queue_forgets_by_two_percent() {
        let (mut pie, _) = measured(0, 0);
        pie.probability = 0.5;
        pie.update();
        let stepped = 0.5 - 0.125 * 15.0 / 16.0;
        assert!((pie.probability - 0.98 * stepped).abs() < 1e-12);
    }

    #[test]
    fn a_queue_forgets_only_while_it_is_empty_and_was_without_delay_twice() {
        // Nothing waits now, but at the last correction the delay was a millisecond.
        let (mut pie, _) = measured(0, 1_504);
        (pie.probability, pie.delay) = (0.9, 1);
        pie.update();
        assert!((pie.probability - (0.9 - (0.125 * 15.0 + 1.25) / 16.0)).abs() < 1e-12, "{}", pie.probability);
        // A packet waits, for less than a millisecond.
        let (mut pie, _) = measured(1, 10_000);
        pie.probability = 0.9;
        pie.update();
        assert_eq!(pie.delay, 0);
        assert!((pie.probability - (0.9 - 0.125 * 15.0 / 16.0)).abs() < 1e-12, "{}", pie.probability);
    }

    #[test]
    fn the_departure_rate_is_measured_over_sixteen_kilobytes() {
        let (mut pie, mut buffer) = measured(60, 0);
        for ms in 0..12 {
            assert!(pie.take(Time::from_nanos(ms * NANOS_PER_MS), &mut buffer).is_some());
        }
        // Eleven packets are 16,544 bytes, in 10 ms.
        assert_eq!(pie.departure_rate, 1_654);
    }
}
