//! BLUE (Feng, Shin, Kandlur and Saha, 2002): the probability of a drop follows from overflow and idleness.
//!
//! RED and its kin infer the load from the length of the queue. BLUE keeps one probability for all packets and looks at
//! what the load leads to: a queue that overflows asks for more drops, a link that idles for fewer. The probability
//! rises by `increment` when a packet does not fit, or finds more than `threshold` waiting, and sinks by `decrement`
//! when the link becomes idle. Two changes are at least `freeze_time` apart, so that senders can react to one before
//! the next.
//!
//! The authors leave open what happens while a link stays idle. Here the probability goes on sinking, by `decrement`
//! each `freeze_time`: with one of 100 % no packet would ever come through, and no other idleness ever begin.

use super::discipline::{Arrival, Discipline, FULL_PACKET, Gate, Queue, Verdict};
use crate::catalog::{Described, LinkContext};
use crate::level::Level;
use crate::packet::Ecn;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BLUE: packets are dropped or marked on their arrival, at random, with a probability that rises when the queue
/// overflows and sinks when the link is idle.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Blue {
    /// By how much the probability rises.
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "Feng et al., 2002, section III: d1"))]
    pub increment: Ratio,
    /// By how much the probability sinks.
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "Feng et al., 2002, section III: d2"))]
    pub decrement: Ratio,
    /// Least time between two changes of the probability.
    #[schemars(extend("x-at-least" = "1us", "x-at-most" = "1h", "x-source" = "Feng et al., 2002, section III: freeze_time"))]
    pub freeze_time: Duration,
    /// A backlog above this raises the probability as an overflow does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "only an overflow does", "x-source" = "Feng et al., 2002, section III: L"))]
    pub threshold: Option<Level>,
    /// Mark ECN-capable packets instead of dropping them.
    #[schemars(extend("x-source" = "Feng et al., 2002, section III"))]
    pub ecn: bool,
}

impl Default for Blue {
    fn default() -> Blue {
        Blue {
            increment: Ratio::new(0.02).unwrap_or_default(),
            decrement: Ratio::new(0.002).unwrap_or_default(),
            freeze_time: Duration::from_millis(100),
            threshold: None,
            ecn: false,
        }
    }
}

impl Described<LinkContext> for Blue {
    const NAME: &'static str = "blue";
    const SOURCE: &'static str = "Feng, Shin, Kandlur and Saha, The BLUE active queue management algorithms, 2002";

    fn resolve(self, link: &LinkContext) -> Result<Blue, Problem> {
        let Some(level) = self.threshold else { return Ok(self) };
        let bytes = link.bytes("threshold", level, Bytes::new(FULL_PACKET.into()))?;
        let limits = [
            link.limit.bytes,
            link.limit.packets.map(|packets| packets.saturating_mul(FULL_PACKET.into())),
            link.limit.time.zip(link.rate).map(|(time, rate)| rate.bytes_in(time).as_u64()),
        ];
        let is_never_passed = limits.into_iter().flatten().any(|limit| limit > 0 && bytes.as_u64() >= limit);
        if bytes == Bytes::ZERO || is_never_passed {
            let wrong = if is_never_passed { "as much as the buffer holds, which never waits" } else { "nothing" };
            let help = "allowed: at least a byte, and less than `buffer`; leave it out for overflow alone";
            return Err(Problem::value("threshold", format!("a threshold of {level} is {wrong}"), help));
        }
        Ok(Blue { threshold: Some(Level::Bytes(bytes)), ..self })
    }

    fn in_words(&self) -> String {
        let Blue { increment, decrement, freeze_time, .. } = self;
        let marks = if self.ecn { ", marks" } else { "" };
        format!("BLUE (+{increment} and −{decrement}, at most every {}{marks})", freeze_time.in_words())
    }
}

impl Discipline for Blue {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::gated(State::new(self, rng))
    }
}

/// State of a BLUE queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Blue,
    /// Probability of a drop.
    probability: f64,
    /// From when on it may change again.
    frozen_until: Time,
    rng: Rng,
}

impl State {
    fn new(parameters: &Blue, rng: Rng) -> State {
        State { parameters: parameters.clone(), probability: 0.0, frozen_until: Time::ZERO, rng }
    }

    /// There is too much at `now`.
    fn rise(&mut self, now: Time) {
        if now >= self.frozen_until {
            self.probability = (self.probability + self.parameters.increment.as_f64()).min(1.0);
            self.frozen_until = now + self.parameters.freeze_time;
        }
    }

    /// The link has been idle from `since` until `now`.
    fn sink(&mut self, since: Time, now: Time) {
        let first = since.max(self.frozen_until);
        if since == now || first > now {
            return;
        }
        let freeze = self.parameters.freeze_time;
        let further = now.since(first).as_nanos() / freeze.as_nanos().max(1);
        let steps = (further + 1) as f64;
        self.probability = (self.probability - self.parameters.decrement.as_f64() * steps).max(0.0);
        self.frozen_until = first + freeze * (further + 1);
    }
}

impl Gate for State {
    fn judge(&mut self, now: Time, packet: &Arrival) -> Verdict {
        if let Some(since) = packet.idle_since {
            self.sink(since, now);
        }
        if self.parameters.threshold.is_some_and(|level| packet.backlog.bytes > level.as_bytes()) {
            self.rise(now);
        }
        if self.probability == 0.0 || self.rng.uniform() >= self.probability {
            return Verdict::Pass;
        }
        if self.parameters.ecn && packet.ecn != Ecn::NotEct { Verdict::Mark } else { Verdict::Drop }
    }

    fn overflowed(&mut self, now: Time, _: &Arrival) {
        self.rise(now);
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        vec![("probability", self.probability)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::ledger::DropCause;
    use crate::testing::{Bottleneck, TestPacket};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn probability(link: &Bottleneck) -> f64 {
        link.link.observe()[0].1
    }

    fn ten_packets() -> QueueLimit {
        QueueLimit { packets: Some(10), ..QueueLimit::default() }
    }

    /// Steps of a tenth up and of a twentieth down.
    fn coarse() -> Blue {
        let ratio = |share| Ratio::new(share).unwrap();
        Blue { increment: ratio(0.1), decrement: ratio(0.05), ..Blue::default() }
    }

    #[test]
    fn an_overflow_raises_the_probability_once_in_a_freeze_time() {
        let mut link = Bottleneck::new(coarse(), ten_packets());
        link.offer_burst(at(0), [0], 40, Ecn::NotEct);
        assert_eq!(probability(&link), 0.1, "many packets at one instant are one reason");
        let full = TestPacket::of(0, Ecn::NotEct);
        // Two packets a millisecond, of which the link carries one.
        let mut seen = Vec::new();
        for half in 2..=502 {
            link.offer(Time::from_nanos(half * 500_000), full);
            seen.push(probability(&link));
        }
        assert!((seen[seen.len() - 1] - 0.3).abs() < 1e-12, "at 0, 100 and 200 ms");
        assert!(link.counters().drops[DropCause::Aqm].packets > 30);
    }

    #[test]
    fn a_link_that_is_idle_lowers_the_probability_and_goes_on_as_long_as_it_is() {
        let idle = |ms: u64| {
            let mut link = Bottleneck::new(coarse(), ten_packets());
            link.offer_burst(at(0), [0], 40, Ecn::NotEct);
            link.run_until(at(20));
            // Until the end of 11 packets the link is busy; frozen it is until 100 ms.
            link.offer(at(ms), TestPacket::of(0, Ecn::NotEct));
            probability(&link)
        };
        assert_eq!(idle(99), 0.1);
        assert_eq!(idle(100), 0.05);
        assert_eq!(idle(199), 0.05);
        assert_eq!([idle(200), idle(5_000)], [0.0, 0.0]);
    }

    #[test]
    fn a_probability_of_one_is_not_for_ever() {
        let mut blue = State { probability: 1.0, ..State::new(&coarse(), Rng::new(1)) };
        let backlog = crate::stats::Backlog::default();
        let arrival = Arrival { size: 1_500, flow: 0, ecn: Ecn::NotEct, backlog, idle_since: Some(at(0)) };
        let passed = (1..=40).find(|i| blue.judge(at(100 * i), &arrival) == Verdict::Pass);
        assert!(passed.is_some_and(|steps| steps > 1), "{passed:?}");
    }

    #[test]
    fn a_backlog_above_the_threshold_is_as_good_as_an_overflow() {
        let after = |threshold| {
            let mut link = Bottleneck::new(Blue { threshold, ..coarse() }, QueueLimit::default());
            // The first goes at once, the last finds ten waiting.
            link.offer_burst(at(0), [0], 12, Ecn::NotEct);
            probability(&link)
        };
        assert_eq!(after(Some(Level::Packets(9))), 0.1);
        assert_eq!([after(Some(Level::Packets(10))), after(None)], [0.0, 0.0]);
    }

    #[test]
    fn ecn_capable_packets_are_marked_with_that_probability_and_others_dropped() {
        for (ecn, marks) in [(Ecn::Ect0, true), (Ecn::NotEct, false)] {
            let mut blue = State { probability: 0.3, ..State::new(&Blue { ecn: true, ..coarse() }, Rng::new(1)) };
            let backlog = crate::stats::Backlog { packets: 1, bytes: 1_500 };
            let arrival = Arrival { size: 1_500, flow: 0, ecn, backlog, idle_since: None };
            let verdict = if marks { Verdict::Mark } else { Verdict::Drop };
            let struck = (0..10_000).filter(|_| blue.judge(at(1), &arrival) == verdict).count();
            assert!((2_850..3_150).contains(&struck), "{struck}");
        }
    }

    #[test]
    fn a_threshold_has_to_be_within_the_buffer() {
        let link = LinkContext {
            limit: QueueLimit { bytes: Some(15_000), ..QueueLimit::default() },
            ..LinkContext::default()
        };
        let refused =
            |threshold| Blue { threshold: Some(threshold), ..Blue::default() }.resolve(&link).unwrap_err().key;
        assert_eq!([refused(Level::Packets(0)), refused(Level::Packets(10))], ["threshold", "threshold"]);
        let in_packets = LinkContext { limit: ten_packets(), ..LinkContext::default() };
        assert!(Blue { threshold: Some(Level::Packets(10)), ..Blue::default() }.resolve(&in_packets).is_err());
        let nine = Blue { threshold: Some(Level::Packets(9)), ..Blue::default() }.resolve(&link).unwrap();
        assert_eq!(nine.threshold, Some(Level::Bytes(Bytes::new(13_500))));
    }
}
