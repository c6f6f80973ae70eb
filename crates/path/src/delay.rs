//! How long packets travel: a delay that is constant or follows a schedule, per-packet variation of it, and deliberate
//! reordering.
//!
//! Variation follows netem. The uniform number behind each packet's delay is x ← (1 − ρ)·u + ρ·x, in 32-bit fixed
//! point; it shrinks the variance as netem does. Uniform jitter is base − jitter + x·2·jitter, normal jitter is base +
//! jitter·z(x) with the normal quantile z; a negative delay is zero. Reordering lets a packet skip the pipe when at
//! least `gap` − 1 packets have gone the normal way since the last that did, and a draw succeeds. netem's packets that
//! overtake take no time; here they may take a delay of their own. A late packet takes an additional delay and is
//! overtaken by those behind it.

use crate::chance::Chance;
use crate::correlated::{CorrelatedChance, CorrelatedUniform, is_zero};
use crate::event::{Action, PacketEvent, Watch};
use crate::normal::{QUANTILE_BITS, quantile};
use crate::packet::Packet;
use dumbbell_parameters::Schedule;
use dumbbell_units::{Duration, Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Propagation.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    /// Constant part; with a schedule its first value.
    pub base: Duration,
    /// What the constant part is from time to time, if it changes: that of the instant at which a packet leaves the
    /// transmitter. Packets do not overtake each other when it falls, unless jitter may reorder them.
    pub schedule: Option<Schedule<Duration>>,
    /// Variation from packet to packet.
    pub jitter: Jitter,
    /// Packets that overtake.
    pub reorder: Reorder,
    /// Packets that are late.
    pub late: Option<Late>,
}

impl Delay {
    /// The shortest value of the constant part.
    pub fn shortest_base(&self) -> Duration {
        let values = self.schedule.iter().flat_map(Schedule::values);
        values.min().unwrap_or(self.base)
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        let Some(schedule) = &self.schedule else { return format!("{} one way", self.base.in_words()) };
        let (least, most) = (self.shortest_base(), schedule.values().max().unwrap_or_default());
        let again = schedule.repeat_after.map_or_else(String::new, |span| format!(", again every {}", span.in_words()));
        format!("{} to {} one way in {} steps{again}", least.in_words(), most.in_words(), schedule.steps.len())
    }

    /// A sinusoid in steps of `step`: it begins at `mean`, rises, and repeats after `period`. The amplitude is at most
    /// the mean.
    pub fn sinusoid(mean: Duration, amplitude: Duration, period: Duration, step: Duration) -> Schedule<Duration> {
        let steps = period.as_nanos().div_ceil(step.as_nanos().max(1)).max(1);
        let value = |number: u64| {
            let start = Duration::from_nanos(number.saturating_mul(step.as_nanos()));
            let turns = start.as_nanos() as f64 / period.as_nanos() as f64;
            let deviation = libm::round(libm::sin(2.0 * std::f64::consts::PI * turns) * amplitude.as_nanos() as f64);
            let nanos = (mean.as_nanos() as f64 + deviation).max(0.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a delay of at most twice the mean"
            )]
            let delay = Duration::from_nanos(nanos as u64);
            (Time::ZERO + start, delay)
        };
        Schedule { steps: (0..steps).map(value).collect(), repeat_after: Some(period) }
    }
}

/// Random variation of the propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Half width (uniform) or standard deviation (normal).
    #[schemars(extend("x-at-most" = "1h", "x-source" = "tc-netem: delay JITTER"))]
    pub amount: Duration,
    /// Shape.
    #[serde(default)]
    #[schemars(extend("x-source" = "tc-netem: distribution"))]
    pub distribution: JitterDistribution,
    /// Correlation of successive variations.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: delay CORRELATION"))]
    pub correlation: Ratio,
    /// Whether packets may overtake each other. Without it a packet waits for those before it.
    #[serde(default)]
    #[schemars(extend("x-source" = "netem reorders; behind a rate or a pfifo it does not"))]
    pub reorders: bool,
}

impl Jitter {
    /// For a report; nothing when there is none.
    pub fn in_words(&self) -> Option<String> {
        let order = if self.reorders { ", may reorder" } else { "" };
        (self.amount > Duration::ZERO).then(|| format!("jitter {}{order}", self.amount.in_words()))
    }
}

/// Shape of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JitterDistribution {
    /// Delay plus or minus the amount.
    #[default]
    Uniform,
    /// Standard deviation of the amount, cut at zero delay.
    Normal,
}

/// Packets that take no delay, or a shorter one, and so overtake others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability for each candidate.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: reorder"))]
    pub probability: Ratio,
    /// Only every so many packets is a candidate.
    #[serde(default = "every_packet")]
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "tc-netem: gap"))]
    pub gap: u32,
    /// Correlation of successive draws.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: reorder CORRELATION"))]
    pub correlation: Ratio,
    /// Delay of the packets that overtake.
    #[serde(default, skip_serializing_if = "is_none")]
    #[schemars(extend("x-at-most" = "1h", "x-source" = "netem: they are sent immediately"))]
    pub delay: Duration,
}

impl Reorder {
    /// For a report; nothing when there is none.
    pub fn in_words(&self) -> Option<String> {
        let delay = if is_none(&self.delay) { String::new() } else { format!(" after {}", self.delay.in_words()) };
        (self.probability > Ratio::ZERO).then(|| format!("{} of packets overtake{delay}", self.probability))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_none(delay: &Duration) -> bool {
    *delay == Duration::ZERO
}

/// A share of packets takes longer. The others do not wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// Probability that a packet is late.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "none: netem has no such packets"))]
    pub probability: Ratio,
    /// The least additional delay.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "max", "x-source" = "none"))]
    pub min: Duration,
    /// The most additional delay; in between it is uniform.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "none"))]
    pub max: Duration,
}

impl Late {
    /// For a report.
    pub fn in_words(&self) -> String {
        let Late { probability, min, max } = self;
        format!("{probability} of packets late by {} to {}", min.in_words(), max.in_words())
    }
}

fn every_packet() -> u32 {
    1
}

impl Default for Reorder {
    fn default() -> Reorder {
        Reorder { probability: Ratio::ZERO, gap: every_packet(), correlation: Ratio::ZERO, delay: Duration::ZERO }
    }
}

/// How a packet passes the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It takes this many nanoseconds more than the constant delay, or less.
    Delayed(i64),
    /// It takes this many nanoseconds more than the constant delay, but the packets behind it do not wait for it.
    Late(i64),
    /// It takes this many nanoseconds, whatever the delay is, and overtakes.
    Overtakes(u64),
}

impl Passage {
    /// How long it takes where the constant delay is `base`.
    #[inline]
    pub(crate) fn delay(self, base: Duration) -> Duration {
        match self {
            Passage::Overtakes(nanos) => Duration::from_nanos(nanos),
            Passage::Delayed(more) | Passage::Late(more) => {
                Duration::from_nanos(base.as_nanos().saturating_add_signed(more))
            }
        }
    }
}

/// Everything about a delay that differs from packet to packet.
#[derive(Clone, Debug)]
pub(crate) struct Variation {
    jitter: u64,
    distribution: JitterDistribution,
    uniform: CorrelatedUniform,
    reorder: Option<CorrelatedChance>,
    /// Nanoseconds that packets which overtake take.
    overtaking: u64,
    gap: u32,
    normal_ones: u32,
    late: Option<Lateness>,
    /// Events that delay packets.
    events: Vec<Watch>,
    rng: Rng,
}

/// How many packets are late, and by how many nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Lateness {
    chance: Chance,
    least: u64,
    most: u64,
}

impl Lateness {
    fn new(late: &Late) -> Lateness {
        let [least, most] = [late.min, late.max].map(Duration::as_nanos);
        Lateness { chance: Chance::new(late.probability.as_f64()), least, most: most.max(least) }
    }

    /// By how much the next packet is late.
    fn draw(&self, rng: &mut Rng) -> Option<i64> {
        if !self.chance.happens(rng) {
            return None;
        }
        let share = (u128::from(self.most - self.least) * u128::from(rng.next_u64() >> 32)) >> 32;
        let nanos = self.least.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        Some(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl Variation {
    pub(crate) fn new(delay: &Delay, events: &[PacketEvent], rng: Rng) -> Variation {
        let Jitter { amount, distribution, correlation, .. } = delay.jitter;
        let Reorder { probability, gap, correlation: reordering, delay: overtaking } = delay.reorder;
        Variation {
            jitter: amount.as_nanos(),
            distribution,
            uniform: CorrelatedUniform::new(correlation.as_f64()),
            reorder: (probability > Ratio::ZERO).then(|| CorrelatedChance::new(probability, reordering)),
            overtaking: overtaking.as_nanos(),
            gap: gap.max(1),
            normal_ones: 0,
            late: delay.late.as_ref().map(Lateness::new),
            events: Watch::all(events, |event| event.action == Action::Delay),
            rng,
        }
    }

    /// How the next packet passes, which leaves the transmitter at `departs`.
    #[inline(always)]
    pub(crate) fn pass<P: Packet>(&mut self, departs: Time, packet: &P) -> Passage {
        let passage = self.draw();
        if self.events.is_empty() { passage } else { self.pass_watched(departs, packet, passage) }
    }

    /// How the next packet passes for which `passage` was drawn, where events may delay it.
    #[inline(never)]
    fn pass_watched<P: Packet>(&mut self, departs: Time, packet: &P, passage: Passage) -> Passage {
        let by = self.events.iter_mut().filter_map(|watch| watch.passes(departs, packet)?.by).max();
        match (by, passage) {
            (None, _) => passage,
            (Some(by), Passage::Delayed(more) | Passage::Late(more)) => {
                Passage::Late(more.saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX)))
            }
            (Some(by), Passage::Overtakes(nanos)) => Passage::Overtakes(nanos.saturating_add(by.as_nanos())),
        }
    }

    /// Draws how the next packet passes.
    #[inline(always)]
    fn draw(&mut self) -> Passage {
        if let Some(reorder) = &mut self.reorder {
            if self.normal_ones >= self.gap - 1 && reorder.happens(&mut self.rng) {
                self.normal_ones = 0;
                return Passage::Overtakes(self.overtaking);
            }
            self.normal_ones = self.normal_ones.saturating_add(1);
        }
        let jitter = if self.jitter == 0 { 0 } else { self.jitter() };
        match self.late.and_then(|late| late.draw(&mut self.rng)) {
            Some(more) => Passage::Late(jitter.saturating_add(more)),
            None => Passage::Delayed(jitter),
        }
    }

    /// By how many nanoseconds the delay differs, where there is jitter.
    #[inline(never)]
    fn jitter(&mut self) -> i64 {
        let x = self.uniform.next(&mut self.rng);
        let variation = match self.distribution {
            JitterDistribution::Uniform => {
                ((i128::from(x) * 2 * i128::from(self.jitter)) >> 32) - i128::from(self.jitter)
            }
            JitterDistribution::Normal => (i128::from(self.jitter) * i128::from(quantile(x))) >> QUANTILE_BITS,
        };
        i64::try_from(variation).unwrap_or(if variation < 0 { i64::MIN } else { i64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn delays(delay: &Delay, packets: usize) -> Vec<f64> {
        let mut variation = Variation::new(delay, &[], Rng::new(11));
        (0..packets).map(|_| variation.draw().delay(delay.base).as_nanos() as f64 / MS as f64).collect()
    }

    fn mean_sd(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
    }

    fn autocorrelation(values: &[f64]) -> f64 {
        let (mean, sd) = mean_sd(values);
        values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / (values.len() as f64 * sd * sd)
    }

    fn jittery(distribution: JitterDistribution, correlation: f64) -> Delay {
        let (amount, correlation) = (Duration::from_millis(5), Ratio::new(correlation).unwrap());
        let jitter = Jitter { amount, distribution, correlation, reorders: false };
        Delay { base: Duration::from_millis(50), jitter, ..Delay::default() }
    }

    #[test]
    fn uniform_jitter_fills_base_plus_minus_jitter() {
        let delays = delays(&jittery(JitterDistribution::Uniform, 0.0), 200_000);
        let (mean, sd) = mean_sd(&delays);
        assert!((mean - 50.0).abs() < 0.03 && (sd - 5.0 / 3f64.sqrt()).abs() < 0.02);
        assert!(delays.iter().all(|d| (45.0..=55.0).contains(d)));
        assert!(delays.iter().any(|&d| d < 45.1) && delays.iter().any(|&d| d > 54.9));
    }

    #[test]
    fn normal_jitter_has_the_asked_standard_deviation_and_is_never_negative() {
        let (mean, sd) = mean_sd(&delays(&jittery(JitterDistribution::Normal, 0.0), 200_000));
        assert!((mean - 50.0).abs() < 0.05 && (sd - 5.0).abs() < 0.05);
        let wide = Delay { base: Duration::from_millis(1), ..jittery(JitterDistribution::Normal, 0.0) };
        let cut = delays(&wide, 10_000).iter().filter(|&&d| d == 0.0).count();
        assert!((3_800..4_600).contains(&cut), "P(z < -0.2) is 42 %, {cut} of 10 000 were cut");
    }

    #[test]
    fn correlation_of_successive_delays_is_the_parameter_and_shrinks_their_spread() {
        for rho in [0.25, 0.8] {
            let delays = delays(&jittery(JitterDistribution::Uniform, rho), 400_000);
            assert!((autocorrelation(&delays) - rho).abs() < 0.01);
            let shrunk = 5.0 / 3f64.sqrt() * ((1.0 - rho) / (1.0 + rho)).sqrt();
            assert!((mean_sd(&delays).1 - shrunk).abs() < 0.03);
        }
    }

    #[test]
    fn a_sinusoid_begins_at_its_mean_rises_and_comes_back() {
        let ms = Duration::from_millis;
        let wave = Delay::sinusoid(ms(20), ms(10), ms(1_000), ms(10));
        let at = |t: u64| wave.at(Time::ZERO + ms(t)).as_nanos();
        assert_eq!((wave.steps.len(), at(0), at(250), at(750)), (100, 20 * MS, 30 * MS, 10 * MS));
        assert_eq!((at(125), at(5_125)), (at(120), at(120)), "a staircase that repeats");
        assert!(wave.values().all(|delay| (ms(10)..=ms(30)).contains(&delay)));
    }

    #[test]
    fn a_share_of_packets_is_late_by_the_span_that_was_asked_for() {
        let ms = Duration::from_millis;
        let late = Late { probability: Ratio::new(0.2).unwrap(), min: ms(30), max: ms(50) };
        let delays = delays(&Delay { base: ms(10), late: Some(late), ..Delay::default() }, 100_000);
        let (late, usual): (Vec<f64>, Vec<f64>) = delays.iter().partition(|&&delay| delay > 10.0);
        assert!((late.len() as f64 / 1e5 - 0.2).abs() < 0.005 && usual.iter().all(|&delay| delay == 10.0));
        assert!(late.iter().all(|delay| (40.0..=60.0).contains(delay)));
        assert!((mean_sd(&late).0 - 50.0).abs() < 0.2 && late.iter().any(|&delay| delay < 40.5));
    }

    #[test]
    fn after_a_gap_each_packet_has_the_same_chance_to_skip_the_delay() {
        let overtakers = |gap, packets: usize| {
            let mut variation = Variation::new(
                &Delay {
                    reorder: Reorder { probability: Ratio::new(0.25).unwrap(), gap, ..Reorder::default() },
                    ..Delay::default()
                },
                &[],
                Rng::new(9),
            );
            (0..packets).filter(|_| variation.draw() == Passage::Overtakes(0)).count() as f64
        };
        // Four ordinary packets, then a trial with success 1/4 for each further one: one in 4 + 4.
        assert!((overtakers(5, 400_000) / 400_000.0 - 1.0 / 8.0).abs() < 0.003);
        assert!((overtakers(1, 400_000) / 400_000.0 - 0.25).abs() < 0.003);
    }
}
