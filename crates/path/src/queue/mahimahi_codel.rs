//! Mahimahi's CoDel, which differs from the RFC's and from Linux's (`codel.rs`).
//!
//! Its clock has milliseconds. The delay counts as too long from the instant on at which an interval is over, not only
//! after it. A packet that leaves the queue empty never is a reason to drop. And where CoDel would drop the packet that
//! it has taken and send the next, Mahimahi's sends the one that it has taken and drops those behind it. It knows no
//! ECN.

use super::discipline::{Discipline, FULL_PACKET, Held, Queue};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NANOS_PER_MS: u64 = 1_000_000;
/// A new episode resumes the old drop rate when it begins within this many intervals after the last drop was due.
const MEMORY_INTERVALS: u64 = 16;

/// CoDel as mm-link has it: in whole milliseconds, and what it drops are the packets behind the one that it sends.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MahimahiCodel {
    /// Acceptable standing delay; whole milliseconds count.
    #[schemars(extend("x-at-least" = "1ms", "x-at-most" = "1h", "x-source" = "mm-link: codel target, without default"))]
    pub target: Duration,
    /// Time the delay must exceed the target before the first drop; whole milliseconds count.
    #[schemars(extend(
        "x-at-least" = "1ms",
        "x-at-most" = "1h",
        "x-source" = "mm-link: codel interval, without default"
    ))]
    pub interval: Duration,
}

impl Default for MahimahiCodel {
    fn default() -> MahimahiCodel {
        MahimahiCodel { target: Duration::from_millis(5), interval: Duration::from_millis(100) }
    }
}

impl Described<LinkContext> for MahimahiCodel {
    const NAME: &'static str = "mahimahi-codel";
    const SOURCE: &'static str = "Mahimahi, mm-link: CODELPacketQueue";

    fn in_words(&self) -> String {
        format!("Mahimahi's CoDel ({}, {})", self.target.in_words(), self.interval.in_words())
    }
}

impl Discipline for MahimahiCodel {
    fn queue(&self, _: Rng) -> Queue {
        Queue::held(State::new(self))
    }
}

/// State of the queue; all times are in milliseconds.
#[derive(Clone, Debug)]
struct State {
    target: u64,
    interval: u64,
    line: Line,
    count: u64,
    last_count: u64,
    dropping: bool,
    /// When the delay will have been above target for an interval; 0 where it is not.
    first_above: u64,
    drop_next: u64,
}

impl State {
    fn new(parameters: &MahimahiCodel) -> State {
        State {
            target: millis(parameters.target),
            interval: millis(parameters.interval),
            line: Line::default(),
            count: 0,
            last_count: 0,
            dropping: false,
            first_above: 0,
            drop_next: 0,
        }
    }

    /// Takes the oldest packet out, and says whether the delay has been too long for an interval.
    fn pop(&mut self, now: Time, buffer: &mut Buffer) -> (Option<Waiting>, bool) {
        let packet = self.line.pop(now, buffer);
        let now_ms = whole_millis(now);
        let waited = packet.as_ref().map_or(0, |packet| now_ms - whole_millis(packet.arrived));
        let left = buffer.backlog().bytes;
        if waited < self.target || left <= u64::from(FULL_PACKET) {
            self.first_above = 0;
            return (packet, false);
        }
        if self.first_above == 0 {
            self.first_above = now_ms + self.interval;
            return (packet, false);
        }
        (packet, now_ms >= self.first_above)
    }

    /// Drops the packet behind the one that was taken; whether another one may be dropped.
    fn drop_follower(&mut self, now: Time, buffer: &mut Buffer) -> bool {
        let (follower, stands) = self.pop(now, buffer);
        if let Some(packet) = follower {
            buffer.drop(packet, DropCause::Aqm);
        }
        stands
    }

    /// `t` + interval/√count, in whole milliseconds.
    fn after(&self, t: u64) -> u64 {
        t + (self.interval * self.interval / self.count.max(1)).isqrt()
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.line.push_if_it_fits(now, packet, buffer)
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let (head, stands) = self.pop(now, buffer);
        let now_ms = whole_millis(now);
        if self.dropping {
            self.dropping = stands;
            while self.dropping && now_ms >= self.drop_next {
                self.dropping = self.drop_follower(now, buffer);
                self.count += 1;
                if self.dropping {
                    self.drop_next = self.after(self.drop_next);
                }
            }
        } else if stands {
            self.drop_follower(now, buffer);
            self.dropping = true;
            let added = self.count.saturating_sub(self.last_count);
            let recent = now_ms < self.drop_next + MEMORY_INTERVALS * self.interval;
            self.count = if added > 1 && recent { added } else { 1 };
            self.drop_next = self.after(now_ms);
            self.last_count = self.count;
        }
        head
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        vec![("count", self.count as f64), ("dropping", f64::from(u8::from(self.dropping)))]
    }
}

fn millis(span: Duration) -> u64 {
    span.as_nanos() / NANOS_PER_MS
}

fn whole_millis(time: Time) -> u64 {
    time.as_nanos() / NANOS_PER_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::held::testing::{buffer, waiting};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * NANOS_PER_MS)
    }

    /// A queue to which a packet comes each half millisecond and from which one is taken each millisecond. Returns when
    /// packets were dropped, and by how much the numbers of those sent rise there.
    fn overloaded(ms: u64) -> (Vec<u64>, usize) {
        let mut state = State::new(&MahimahiCodel::default());
        let mut buffer = buffer();
        let (mut drops, mut sent) = (Vec::new(), 0);
        for now in 0..ms {
            for half in 0..2 {
                let arrived = Time::from_nanos(at(now).as_nanos() + half * NANOS_PER_MS / 2);
                state.push(arrived, waiting(arrived, Ecn::Ect0), &mut buffer).unwrap();
            }
            let now = Time::from_nanos(at(now).as_nanos() + NANOS_PER_MS / 2);
            sent += usize::from(state.take(now, &mut buffer).is_some());
            let (dropped, marked) = buffer.settled();
            assert_eq!(marked, 0, "it knows no ECN");
            drops.extend((0..dropped).map(|_| whole_millis(now)));
        }
        (drops, sent)
    }

    #[test]
    fn the_first_drop_comes_when_the_interval_is_over_and_the_packet_taken_is_sent() {
        let (drops, sent) = overloaded(1_000);
        // Packet n comes at n/2 and leaves at n: from 9 ms on they have waited 5 ms. The end of the interval counts.
        assert_eq!(drops[0], 109);
        assert_eq!(sent, 1_000, "every packet that is taken is sent");
    }

    #[test]
    fn the_spacing_shrinks_in_whole_milliseconds() {
        let (drops, _) = overloaded(2_000);
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).take(4).collect();
        assert_eq!(gaps, [100, 70, 57, 50]);
    }

    #[test]
    fn the_head_survives_and_the_packet_behind_it_is_dropped() {
        let mut state = State { first_above: 1, ..State::new(&MahimahiCodel::default()) };
        let mut buffer = buffer();
        for number in 0..10 {
            let mut packet = waiting(at(0), Ecn::NotEct);
            packet.size = 1_000 + number;
            state.push(at(0), packet, &mut buffer).unwrap();
        }
        assert_eq!(state.take(at(50), &mut buffer).map(|packet| packet.size), Some(1_000));
        assert_eq!(buffer.settled(), (1, 0));
        assert_eq!(state.take(at(50), &mut buffer).map(|packet| packet.size), Some(1_002));
    }

    #[test]
    fn the_last_packet_of_a_queue_is_never_a_reason_to_drop() {
        let mut state = State { first_above: 1, ..State::new(&MahimahiCodel::default()) };
        let mut buffer = buffer();
        state.push(at(0), waiting(at(0), Ecn::NotEct), &mut buffer).unwrap();
        assert!(state.take(at(500), &mut buffer).is_some());
        assert_eq!((state.first_above, state.dropping), (0, false));
    }
}
