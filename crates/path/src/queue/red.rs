//! Random early detection (Floyd and Jacobson, 1993) and its adaptive form (Floyd, Gummadi and Shenker, 2001).
//!
//! RED keeps an exponential average of the backlog that arriving packets find. Below `min` nothing happens; between
//! `min` and `max` packets are dropped (or marked) with a probability that rises linearly to `max_probability`; from
//! `max` on all are. Drops are spread out: with probability p the number of packets from one drop to the next is
//! uniform over 1..1/p, not geometric. While the link is idle no packet updates the average; on the next arrival it
//! decays as if typical packets had found an empty queue all that time. With `gentle` the probability rises on from
//! `max` to twice `max` instead of jumping to 1.
//!
//! The adaptive form changes `max_probability` every half second, up by at most a quarter and down by a tenth, to keep
//! the average in the middle fifth between the thresholds.

use super::discipline::{Arrival, Discipline, Gate, Queue, Verdict};
use crate::catalog::{Described, LinkContext};
use crate::level::Level;
use crate::packet::Ecn;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Rng, Time, grouped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

const ADAPT_EVERY: Duration = Duration::from_millis(500);
/// After a pause of this many adaptations the probability has come to its end.
const ADAPTATIONS_AT_MOST: u64 = 100;
/// Bounds between which the probability is adapted, and the largest step up.
const ADAPT_BELOW: f64 = 0.5;
const ADAPT_ABOVE: f64 = 0.01;
const STEP_UP_AT_MOST: f64 = 0.01;
/// The least weight of a packet in the average is 1/2 to this power.
const MAX_WEIGHT_LOG: i32 = 31;

/// Random early detection: packets are dropped or marked on their arrival, at random, with a probability that rises
/// with the average backlog.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Red {
    /// Average backlog from which packets are dropped at random.
    #[schemars(extend("x-default" = "a third of `max`", "x-source" = "tc-red: min"))]
    pub min: Option<Level>,
    /// Average backlog from which every packet is dropped.
    #[schemars(extend(
        "x-default" = "a quarter of `buffer`, at least three packets",
        "x-source" = "tc-red: max; Linux's tc: limit / 4"
    ))]
    pub max: Option<Level>,
    /// Drop probability just below `max`; it rises linearly from 0 at `min`.
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "tc-red: probability"))]
    pub max_probability: Ratio,
    /// Weight of a packet in the average.
    #[schemars(extend(
        "x-default" = "the largest power of 1/2 that lets a burst of (2 `min` + `max`)/3 pass an empty queue",
        "x-above" = "0%",
        "x-at-most" = "100%",
        "x-source" = "tc-red: burst; Linux's tc: tc_red_eval_ewma"
    ))]
    pub weight: Option<Ratio>,
    /// Size of a typical packet: what a packet is in `min` and `max`, and what would have arrived in a pause.
    #[schemars(extend("x-at-least" = "1B", "x-at-most" = "65535B", "x-source" = "tc-red: avpkt"))]
    pub average_packet: Bytes,
    /// Rate at which the average decays in a pause.
    #[schemars(extend(
        "x-default" = "mean `rate`",
        "x-above" = "0bit",
        "x-at-most" = "100tbit",
        "x-source" = "tc-red: bandwidth"
    ))]
    pub bandwidth: Option<Rate>,
    /// The bandwidth is that of the link, and follows when the link's rate is changed from outside.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) follows_link: bool,
    /// Mark ECN-capable packets instead of dropping them.
    #[schemars(extend("x-source" = "tc-red: ecn"))]
    pub ecn: bool,
    /// With `ecn`: drop all the same where the average is at the upper end.
    #[schemars(extend("x-source" = "tc-red: harddrop"))]
    pub hard_drop: bool,
    /// With `ecn`: let packets pass that cannot be marked instead of dropping them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("x-source" = "tc-red: nodrop"))]
    pub no_drop: bool,
    /// The probability rises on from `max` to 1 at twice `max` instead of jumping to it.
    #[schemars(extend("x-source" = "Floyd, Recommendation on using the gentle variant of RED, 2000; not in Linux"))]
    pub gentle: bool,
    /// Adapt `max_probability` every half second so that the average stays in the middle.
    #[schemars(extend("x-source" = "tc-red: adaptive; Floyd, Gummadi and Shenker, Adaptive RED, 2001"))]
    pub adaptive: bool,
}

impl Default for Red {
    fn default() -> Red {
        Red {
            min: None,
            max: None,
            max_probability: Ratio::new(0.02).unwrap_or_default(),
            weight: None,
            average_packet: Bytes::new(super::discipline::FULL_PACKET.into()),
            bandwidth: None,
            follows_link: false,
            ecn: false,
            hard_drop: false,
            no_drop: false,
            gentle: false,
            adaptive: false,
        }
    }
}

impl Described<LinkContext> for Red {
    const NAME: &'static str = "red";
    const SOURCE: &'static str = "Floyd and Jacobson, Random Early Detection, 1993; Linux 6.18, net/sched/sch_red.c";

    fn resolve(self, link: &LinkContext) -> Result<Red, Problem> {
        let Some(mean) = link.rate else {
            return Err(Problem::whole("a link of unlimited rate has no queue", "leave `queue` out"));
        };
        let marking = [("hard_drop", self.hard_drop), ("no_drop", self.no_drop)];
        if let Some((key, _)) = marking.into_iter().find(|(_, is_on)| *is_on && !self.ecn) {
            let message = format!("`{key}` belongs to `ecn`, which is off");
            return Err(Problem::key(key, message, "add `ecn = true`"));
        }
        let (min, max) = self.thresholds(link)?;
        let weight = match self.weight {
            Some(weight) => weight,
            None => weight(min, max, self.average_packet)?,
        };
        Ok(Red {
            min: Some(Level::Bytes(min)),
            max: Some(Level::Bytes(max)),
            weight: Some(weight),
            bandwidth: Some(self.bandwidth.unwrap_or(mean)),
            follows_link: self.bandwidth.is_none_or(|bandwidth| bandwidth == mean),
            ..self
        })
    }

    fn in_words(&self) -> String {
        let [min, max] = [self.min, self.max].map(|level| grouped(level.map_or(0, Level::as_bytes)));
        let mut text = format!("RED ({min} to {max} bytes, up to {}", self.max_probability);
        for (on, word) in [(self.adaptive, "adaptive"), (self.gentle, "gentle"), (self.ecn, "marks")] {
            if on {
                let _ = write!(text, ", {word}");
            }
        }
        text + ")"
    }
}

impl Red {
    /// The thresholds in bytes. By default, as with `tc`, `max` is a quarter of what the queue holds and `min` a third
    /// of `max`; here at least one packet.
    fn thresholds(&self, link: &LinkContext) -> Result<(Bytes, Bytes), Problem> {
        let packet = self.average_packet;
        let max = match self.max {
            Some(max) => link.bytes("max", max, packet)?,
            None => {
                let limits = [
                    link.limit.bytes,
                    link.limit.packets.map(|packets| packets.saturating_mul(packet.as_u64())),
                    link.limit.time.zip(link.rate).map(|(time, rate)| rate.bytes_in(time).as_u64()),
                ];
                let Some(held) = limits.into_iter().flatten().min() else {
                    let help = "give `max`, or `buffer` a limit, of which `max` is a quarter by default";
                    return Err(Problem::whole("the thresholds of this queue are unknown", help));
                };
                Bytes::new((held / 4).max(3 * packet.as_u64()))
            }
        };
        let min = match self.min {
            Some(min) => link.bytes("min", min, packet)?,
            None => Bytes::new(max.as_u64() / 3),
        };
        if min == Bytes::ZERO || min >= max {
            let key = if self.min.is_some() { "min" } else { "max" };
            let help = "allowed: `min` of at least a byte, and less than `max`";
            return Err(Problem::value(key, format!("the thresholds are {min} and {max}"), help));
        }
        Ok((min, max))
    }
}

/// The weight that `tc` computes: the largest power of 1/2 for which a burst of (2 min + max) / 3 into an empty queue
/// leaves the average below `min`.
fn weight(min: Bytes, max: Bytes, packet: Bytes) -> Result<Ratio, Problem> {
    let [min, max, packet] = [min, max, packet].map(Bytes::as_u64);
    let burst = (2 * min + max).div_ceil(3 * packet);
    let needed = burst as f64 + 1.0 - min as f64 / packet as f64;
    let suits = |weight: &f64| {
        // The sum of the first `burst` powers of 1 - weight.
        let (mut power, mut base, mut exponent) = (1.0, 1.0 - weight, burst);
        while exponent > 0 {
            if exponent % 2 == 1 {
                power *= base;
            }
            base *= base;
            exponent /= 2;
        }
        needed <= (1.0 - power) / weight
    };
    let found = (1..=MAX_WEIGHT_LOG).map(|log| 0.5f64.powi(log)).find(suits).and_then(Ratio::new);
    let help = "give `weight`, or a `min` of at least one packet";
    found.ok_or_else(|| Problem::whole("no weight of the average suits these thresholds", help))
}

impl Discipline for Red {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::gated(State::new(self, rng))
    }
}

/// State of a RED queue.
#[derive(Clone, Debug)]
pub(super) struct State {
    parameters: Red,
    /// Thresholds in bytes.
    min: f64,
    max: f64,
    weight: f64,
    /// Bits per second.
    bandwidth: f64,
    max_probability: f64,
    /// Average backlog in bytes.
    average: f64,
    /// Packets since the last drop, or since the average rose above `min`; `None` while it is outside the range.
    count: Option<u64>,
    /// Uniform number that decides about the next drop.
    draw: f64,
    next_adaptation: Time,
    rng: Rng,
}

impl State {
    /// An empty queue; the parameters are complete.
    pub(super) fn new(parameters: &Red, rng: Rng) -> State {
        let bytes = |level: Option<Level>| level.map_or(0, Level::as_bytes) as f64;
        State {
            parameters: parameters.clone(),
            min: bytes(parameters.min),
            max: bytes(parameters.max),
            weight: parameters.weight.map_or(1.0, Ratio::as_f64),
            bandwidth: parameters.bandwidth.map_or(0, Rate::as_bits_per_sec) as f64,
            max_probability: parameters.max_probability.as_f64(),
            average: 0.0,
            count: None,
            draw: 0.0,
            next_adaptation: Time::ZERO + ADAPT_EVERY,
            rng,
        }
    }

    /// About a packet that arrives at a backlog of `bytes`; `idle_since` is known when the link is idle.
    fn verdict(&mut self, now: Time, bytes: u64, idle_since: Option<Time>, ecn: Ecn) -> Verdict {
        if self.parameters.adaptive {
            self.adapt(now, idle_since);
        }
        self.average = match idle_since {
            Some(since) => self.decayed(now, since),
            None => self.average + self.weight * (bytes as f64 - self.average),
        };
        let (min, max) = (self.min, self.max);
        let probability = if self.average < min {
            self.count = None;
            return Verdict::Pass;
        } else if self.average < max {
            self.max_probability * (self.average - min) / (max - min)
        } else if self.parameters.gentle && self.average < 2.0 * max {
            self.max_probability + (1.0 - self.max_probability) * (self.average - max) / max
        } else {
            self.count = None;
            return if self.parameters.ecn && !self.parameters.hard_drop { self.strike(ecn) } else { Verdict::Drop };
        };
        let Some(count) = self.count else {
            self.restart();
            return Verdict::Pass;
        };
        if (count + 1) as f64 * probability < self.draw {
            self.count = Some(count + 1);
            return Verdict::Pass;
        }
        self.restart();
        self.strike(ecn)
    }

    fn restart(&mut self) {
        self.count = Some(0);
        self.draw = self.rng.uniform();
    }

    fn strike(&self, ecn: Ecn) -> Verdict {
        match self.parameters.ecn {
            true if ecn != Ecn::NotEct => Verdict::Mark,
            true if self.parameters.no_drop => Verdict::Pass,
            _ => Verdict::Drop,
        }
    }

    /// The average at `now` when the link has been idle since `since`.
    fn decayed(&self, now: Time, since: Time) -> f64 {
        let idle = now.since(since).as_nanos() as f64 * 1e-9;
        let missed = idle * self.bandwidth / (8.0 * self.parameters.average_packet.as_u64() as f64);
        self.average * libm::pow(1.0 - self.weight, missed)
    }

    /// Makes the adaptations that are due; the average has not changed since the last arrival but for idleness.
    fn adapt(&mut self, now: Time, idle_since: Option<Time>) {
        let due = now.since(self.next_adaptation).as_nanos() / ADAPT_EVERY.as_nanos();
        self.next_adaptation += ADAPT_EVERY * due.saturating_sub(ADAPTATIONS_AT_MOST);
        let (min, max) = (self.min, self.max);
        let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        while self.next_adaptation <= now {
            let average = match idle_since {
                Some(since) if since < self.next_adaptation => self.decayed(self.next_adaptation, since),
                _ => self.average,
            };
            let p = self.max_probability;
            if average > high && p <= ADAPT_BELOW {
                self.max_probability = p + f64::min(STEP_UP_AT_MOST, p / 4.0);
            } else if average < low && p >= ADAPT_ABOVE {
                self.max_probability = p * 0.9;
            }
            self.next_adaptation += ADAPT_EVERY;
        }
    }
}

impl Gate for State {
    fn judge(&mut self, now: Time, packet: &Arrival) -> Verdict {
        self.verdict(now, packet.backlog.bytes, packet.idle_since, packet.ecn)
    }

    fn set_rate(&mut self, rate: Rate) {
        if self.parameters.follows_link {
            self.bandwidth = rate.as_bits_per_sec() as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Thresholds of 30 and 90 kB on a link of 12 Mb/s: a packet of 1500 bytes a millisecond.
    fn plain() -> Red {
        Red {
            min: Some(Level::Bytes(Bytes::new(30_000))),
            max: Some(Level::Bytes(Bytes::new(90_000))),
            max_probability: Ratio::new(0.1).unwrap(),
            weight: Ratio::new(1.0 / 512.0),
            bandwidth: Some(Rate::from_bits_per_sec(12_000_000)),
            ..Red::default()
        }
    }

    fn red(parameters: &Red, average: f64) -> State {
        State { average, ..State::new(parameters, Rng::new(3)) }
    }

    #[test]
    fn the_bandwidth_of_the_link_follows_its_rate_and_one_that_was_given_stays() {
        let decay = |bandwidth: Option<u64>, rate_now: Option<u64>| {
            let link = LinkContext { rate: Some(Rate::from_bits_per_sec(12_000_000)), ..LinkContext::default() };
            let bandwidth = bandwidth.map(Rate::from_bits_per_sec);
            let mut red = red(&Red { bandwidth, ..plain() }.resolve(&link).unwrap(), 60_000.0);
            if let Some(rate) = rate_now {
                Gate::set_rate(&mut red, Rate::from_bits_per_sec(rate));
            }
            red.decayed(Time::from_nanos(100 * MS), Time::ZERO)
        };
        // 100 ms of idleness at 12 Mb/s decay the average as 25 ms do at 48 Mb/s.
        assert_eq!(decay(None, None), decay(Some(12_000_000), None));
        assert!(decay(None, Some(48_000_000)) < decay(None, None));
        assert_eq!(decay(None, Some(48_000_000)), decay(Some(48_000_000), None));
        assert_eq!(decay(Some(6_000_000), Some(48_000_000)), decay(Some(6_000_000), None));
    }

    /// Verdicts on packets, one a millisecond, that all find the same backlog.
    fn verdicts(red: &mut State, packets: u64, bytes: u64, ecn: Ecn) -> Vec<Verdict> {
        (0..packets).map(|i| red.verdict(Time::from_nanos(i * MS), bytes, None, ecn)).collect()
    }

    fn drop_ratio(config: &Red, bytes: u64) -> f64 {
        let verdicts = verdicts(&mut red(config, bytes as f64), 20_000, bytes, Ecn::NotEct);
        verdicts.iter().filter(|&&v| v == Verdict::Drop).count() as f64 / verdicts.len() as f64
    }

    #[test]
    fn at_a_constant_average_the_gaps_between_drops_are_uniform_over_one_to_one_over_p() {
        // Half way between the thresholds: p = 0.05.
        let verdicts = verdicts(&mut red(&plain(), 60_000.0), 200_000, 60_000, Ecn::NotEct);
        let drops: Vec<usize> = (0..verdicts.len()).filter(|&i| verdicts[i] == Verdict::Drop).collect();
        let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|&gap| (1..=20).contains(&gap)));
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        // The standard deviation of one gap is √((20² − 1)/12).
        assert!((mean - 10.5).abs() < 3.0 * 5.77 / (gaps.len() as f64).sqrt(), "{mean}");
        let expected = gaps.len() as f64 / 20.0;
        for gap in 1..=20 {
            let seen = gaps.iter().filter(|&&g| g == gap).count() as f64;
            assert!(
                (seen - expected).abs() < 4.0 * expected.sqrt(),
                "a gap of {gap} came {seen} times, not {expected}"
            );
        }
    }

    #[test]
    fn nothing_is_dropped_below_the_range_and_everything_above_it() {
        assert_eq!(drop_ratio(&plain(), 29_999), 0.0);
        assert_eq!(drop_ratio(&plain(), 90_000), 1.0);
        let p = 0.1 * (75_000.0 - 30_000.0) / 60_000.0;
        assert!((drop_ratio(&plain(), 75_000) - 2.0 * p / (1.0 + p)).abs() < 0.01);
    }

    #[test]
    fn the_gentle_form_goes_on_rising_to_twice_the_upper_threshold() {
        let gentle = Red { gentle: true, ..plain() };
        let p = 0.1 + 0.9 * 0.5;
        // 1/p is not whole, so gaps are 1 or 2: 1 with probability p.
        assert!((drop_ratio(&gentle, 135_000) - 1.0 / (2.0 - p)).abs() < 0.01);
        assert_eq!(drop_ratio(&gentle, 180_000), 1.0);
        assert_eq!(drop_ratio(&gentle, 60_000), drop_ratio(&plain(), 60_000));
    }

    #[test]
    fn the_average_follows_a_step_with_a_time_constant_of_one_over_the_weight() {
        let mut red = red(&plain(), 0.0);
        verdicts(&mut red, 512, 20_000, Ecn::NotEct);
        assert!((red.average / 20_000.0 - (1.0 - (-1.0f64).exp())).abs() < 0.001, "{}", red.average);
    }

    #[test]
    fn an_idle_link_forgets_as_if_packets_had_found_it_empty() {
        let mut idle = red(&plain(), 20_000.0);
        idle.verdict(Time::from_nanos(600 * MS), 0, Some(Time::from_nanos(100 * MS)), Ecn::NotEct);
        let mut busy = red(&plain(), 20_000.0);
        verdicts(&mut busy, 500, 0, Ecn::NotEct);
        assert!((idle.average - busy.average).abs() < 1e-6, "{} and {}", idle.average, busy.average);
    }

    #[test]
    fn ecn_capable_packets_are_marked_even_above_the_range_unless_dropping_is_asked_for() {
        let marking = Red { ecn: true, ..plain() };
        let all = |config: &Red, bytes, ecn, verdict| {
            verdicts(&mut red(config, bytes as f64), 1000, bytes, ecn).iter().all(|&v| v == verdict)
        };
        assert!(all(&marking, 100_000, Ecn::Ect0, Verdict::Mark));
        assert!(all(&marking, 100_000, Ecn::NotEct, Verdict::Drop));
        assert!(all(&Red { hard_drop: true, ..marking.clone() }, 100_000, Ecn::Ect0, Verdict::Drop));
        assert!(all(&Red { no_drop: true, ..marking.clone() }, 100_000, Ecn::NotEct, Verdict::Pass));
        let inside = verdicts(&mut red(&marking, 60_000.0), 1000, 60_000, Ecn::Ect0);
        assert!(inside.contains(&Verdict::Mark) && !inside.contains(&Verdict::Drop));
    }

    #[test]
    fn the_adaptive_form_steers_the_probability_towards_the_middle_of_the_range() {
        let adaptive = Red { adaptive: true, ..plain() };
        let after_ten_seconds = |bytes: u64| {
            let mut red = red(&adaptive, bytes as f64);
            verdicts(&mut red, 10_001, bytes, Ecn::NotEct);
            red.max_probability
        };
        assert!((after_ten_seconds(80_000) - (0.1 + 20.0 * 0.01)).abs() < 1e-9, "twenty steps up");
        assert!((after_ten_seconds(40_000) - 0.1 * 0.9f64.powi(20)).abs() < 1e-9, "twenty steps down");
        assert_eq!(after_ten_seconds(60_000), 0.1);
    }

    #[test]
    fn a_long_pause_ends_where_the_adaptation_would() {
        let mut red = red(&Red { adaptive: true, ..plain() }, 80_000.0);
        let month = Time::ZERO + Duration::from_secs(30 * 86_400);
        red.verdict(month, 0, Some(Time::ZERO), Ecn::NotEct);
        assert!(red.max_probability < 0.01 && red.max_probability > 0.008);
        assert!(red.next_adaptation > month && red.next_adaptation <= month + ADAPT_EVERY);
    }
}
