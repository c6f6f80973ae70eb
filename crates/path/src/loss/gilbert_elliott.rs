//! Losses in bursts: the chain of Gilbert and Elliott.
//!
//! The channel is good or bad, and loses independently in each state. What moves it is one of two things.
//!
//! * Packets (`p`, `r`): netem's `gemodel`, a Markov chain that may move once a packet. Both draws of a packet are made
//!   in the state before the move. The stationary loss ratio is (p·loss_bad + r·loss_good)/(p + r), and the chain stays
//!   in the bad state for 1/r packets on average. It stands still while no packet comes.
//! * Time (`good_for`, `bad_for`): a Markov chain in continuous time, which stays in each state for an exponential
//!   time. The loss ratio that is seen at random instants is (bad_for·loss_bad + good_for·loss_good)/(good_for +
//!   bad_for). Sojourns have a generator of their own, so that the state at an instant does not depend on the packets.
//!
//! Both begin in the good state.

use super::process::{Model, Process};
use crate::catalog::{Described, LinkContext};
use crate::chance::Chance;
use dumbbell_parameters::Problem;
use dumbbell_units::{Duration, Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses in bursts: a channel that is good or bad (Gilbert and Elliott). With `p` and `r` it moves with the packets,
/// as netem's does: while a sender waits, a bad state lasts. With `good_for` and `bad_for` it moves with time, as a
/// radio channel does, whatever is sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability of the transition from good to bad, for each packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unless" = "good_for", "x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel p"))]
    pub p: Option<Ratio>,
    /// Probability of the transition from bad to good, for each packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "1 - `p`",
        "x-with" = "p",
        "x-at-most" = "100%",
        "x-source" = "tc-netem: loss gemodel r"
    ))]
    pub r: Option<Ratio>,
    /// Mean time in the good state, exponentially distributed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-at-least" = "10us",
        "x-at-most" = "24h",
        "x-source" = "Gilbert 1960 and Elliott 1963, in continuous time"
    ))]
    pub good_for: Option<Duration>,
    /// Mean time in the bad state, exponentially distributed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "required with `good_for`",
        "x-with" = "good_for",
        "x-at-least" = "10us",
        "x-at-most" = "24h",
        "x-source" = "like `good_for`"
    ))]
    pub bad_for: Option<Duration>,
    /// Loss probability in the bad state.
    #[serde(default = "always")]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel 1-h"))]
    pub loss_bad: Ratio,
    /// Loss probability in the good state.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel 1-k"))]
    pub loss_good: Ratio,
}

fn always() -> Ratio {
    Ratio::new(1.0).unwrap_or_default()
}

impl Described<LinkContext> for GilbertElliott {
    const NAME: &'static str = "gilbert-elliott";
    const ALIASES: &'static [&'static str] = &["gemodel"];
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_netem.c: loss_gilb_ell";

    fn resolve(self, _: &LinkContext) -> Result<GilbertElliott, Problem> {
        const EITHER: &str = "write `p` and `r` for a chain that moves with the packets, as netem's does, or `good_for` and \
            `bad_for` for a channel that moves with time";
        match (self.p, self.r, self.good_for, self.bad_for) {
            (Some(p), r, None, None) => {
                let rest = Ratio::new((1.0 - p.as_f64()).max(0.0));
                Ok(GilbertElliott { r: r.or(rest), ..self })
            }
            (None, None, Some(_), Some(_)) => Ok(self),
            (None, Some(_), None, None) => Err(Problem::value("r", "`r` is given without `p`", EITHER)),
            (None, None, Some(_), None) => {
                Err(Problem::value("good_for", "`good_for` is given without `bad_for`", "give both"))
            }
            (None, None, None, Some(_)) => {
                Err(Problem::value("bad_for", "`bad_for` is given without `good_for`", "give both"))
            }
            (None, None, None, None) => {
                Err(Problem::missing("p", "this loss needs its `p`, or `good_for` and `bad_for`", EITHER))
            }
            (p, _, good_for, _) => {
                let packets = if p.is_some() { "p" } else { "r" };
                let time = if good_for.is_some() { "good_for" } else { "bad_for" };
                let message = format!("`{time}` and `{packets}` exclude each other");
                Err(Problem::value(time, message, EITHER))
            }
        }
    }

    fn in_words(&self) -> String {
        let GilbertElliott { p, r, good_for, bad_for, loss_bad, loss_good } = self;
        let moves = match (good_for, bad_for) {
            (Some(good), Some(bad)) => format!("good for {}, bad for {} on average", good.in_words(), bad.in_words()),
            _ => format!("p {}, r {}", p.unwrap_or_default(), r.unwrap_or_default()),
        };
        format!("Gilbert-Elliott loss ({moves}, {loss_bad} when bad, {loss_good} when good)")
    }
}

impl Model for GilbertElliott {
    fn process(&self, mut rng: Rng) -> Box<dyn Process> {
        let chance = |ratio: Ratio| Chance::new(ratio.as_f64());
        let [loss_good, loss_bad] = [self.loss_good, self.loss_bad].map(chance);
        match (self.good_for, self.bad_for) {
            (Some(good_for), Some(bad_for)) => {
                let sojourns = Rng::new(rng.next_u64());
                Box::new(InTime::new([good_for, bad_for], [loss_good, loss_bad], sojourns, rng))
            }
            _ => Box::new(PerPacket {
                to_bad: chance(self.p.unwrap_or_default()),
                to_good: chance(self.r.unwrap_or_default()),
                loss_bad,
                loss_good,
                is_bad: false,
                rng,
            }),
        }
    }
}

/// netem's chain.
#[derive(Clone, Debug)]
struct PerPacket {
    to_bad: Chance,
    to_good: Chance,
    loss_bad: Chance,
    loss_good: Chance,
    is_bad: bool,
    rng: Rng,
}

impl Process for PerPacket {
    fn strikes(&mut self, _: Time) -> bool {
        let (leave, loss) = if self.is_bad { (self.to_good, self.loss_bad) } else { (self.to_bad, self.loss_good) };
        if leave.happens(&mut self.rng) {
            self.is_bad = !self.is_bad;
        }
        loss.happens(&mut self.rng)
    }
}

/// A channel that moves with time. Arrays have the good state first.
#[derive(Clone, Debug)]
struct InTime {
    mean: [Duration; 2],
    loss: [Chance; 2],
    is_bad: bool,
    /// When the channel leaves its state.
    until: Time,
    sojourns: Rng,
    rng: Rng,
}

impl InTime {
    fn new(mean: [Duration; 2], loss: [Chance; 2], sojourns: Rng, rng: Rng) -> InTime {
        let mut channel = InTime { mean, loss, is_bad: false, until: Time::ZERO, sojourns, rng };
        channel.until = Time::ZERO + channel.sojourn();
        channel
    }

    fn sojourn(&mut self) -> Duration {
        let mean = self.mean[usize::from(self.is_bad)].as_nanos() as f64;
        // A uniform number is below 1, so that the logarithm is finite.
        let nanos = -mean * libm::log(1.0 - self.sojourns.uniform());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is not negative, and at most 37 means, which are a day at most"
        )]
        Duration::from_nanos((nanos.round() as u64).max(1))
    }
}

impl Process for InTime {
    fn strikes(&mut self, now: Time) -> bool {
        // What never leaves has no instant.
        while self.until <= now && now < Time::NEVER {
            self.is_bad = !self.is_bad;
            let sojourn = self.sojourn();
            self.until += sojourn;
        }
        self.loss[usize::from(self.is_bad)].happens(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{PACKETS, losses, mean_run, ratio};

    fn bursts(p: f64, r: f64, loss_bad: f64, loss_good: f64) -> Vec<bool> {
        let ratio = |value| Ratio::new(value).unwrap();
        let (loss_bad, loss_good) = (ratio(loss_bad), ratio(loss_good));
        let (p, r) = (Some(ratio(p)), Some(ratio(r)));
        losses(&GilbertElliott { p, r, good_for: None, bad_for: None, loss_bad, loss_good })
    }

    fn in_time(good_us: u64, bad_us: u64) -> Box<dyn Process> {
        let table = serde_json::json!({ "good_for": format!("{good_us}us"), "bad_for": format!("{bad_us}us") });
        let link = LinkContext::default();
        let recipe = crate::loss::catalog().resolve("gilbert-elliott", table.as_object().unwrap(), &link).unwrap();
        recipe.make(Rng::new(7))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn gilbert_elliott_loses_the_stationary_ratio_in_runs_of_one_over_r() {
        let (p, r) = (0.01, 0.25);
        let simple = bursts(p, r, 1.0, 0.0);
        let expected = p / (p + r);
        // The variance of the mean of a two-state chain is (1 + λ)/(1 − λ) times that of independent draws.
        let lambda = 1.0 - p - r;
        let sigma = (expected * (1.0 - expected) * (1.0 + lambda) / (1.0 - lambda) / PACKETS as f64).sqrt();
        assert!((ratio(&simple) - expected).abs() < 3.0 * sigma);
        let runs = expected * r * PACKETS as f64;
        let sigma = ((1.0 - r) / (r * r) / runs).sqrt();
        assert!((mean_run(&simple) - 1.0 / r).abs() < 3.0 * sigma);
    }

    #[test]
    fn gilbert_elliott_mixes_the_losses_of_both_states() {
        let (p, r, loss_bad, loss_good) = (0.02, 0.2, 0.6, 0.05);
        let mixed = bursts(p, r, loss_bad, loss_good);
        let expected = (p * loss_bad + r * loss_good) / (p + r);
        assert!((ratio(&mixed) - expected).abs() < 0.002, "{} for {expected}", ratio(&mixed));
    }

    #[test]
    fn gilbert_elliott_has_netems_defaults() {
        let written = serde_json::json!({ "p": "25%" });
        let link = LinkContext::default();
        let recipe = crate::loss::catalog().resolve("gemodel", written.as_object().unwrap(), &link).unwrap();
        let expected = serde_json::json!({ "p": "25%", "r": "75%", "loss_bad": "100%", "loss_good": "0%" });
        assert_eq!(serde_json::Value::from(recipe.parameters().clone()), expected);
    }

    #[test]
    fn a_channel_in_time_is_bad_for_its_share_and_in_runs_of_its_mean() {
        let (good, bad) = (6_360, 1_670);
        let mut channel = in_time(good, bad);
        let every = 20;
        let seen: Vec<bool> = (0..4_000_000).map(|i| channel.strikes(at(i * every))).collect();
        // About 10 000 bad times: the share and the mean of exponential times have standard errors of 1 %.
        let expected = bad as f64 / (good + bad) as f64;
        assert!((ratio(&seen) / expected - 1.0).abs() < 0.03, "{} for {expected}", ratio(&seen));
        let mean_us = mean_run(&seen) * every as f64;
        assert!((mean_us / bad as f64 - 1.0).abs() < 0.03, "{mean_us} us for {bad}");
    }

    #[test]
    fn the_states_of_a_channel_in_time_do_not_depend_on_the_packets() {
        let [mut often, mut seldom] = [in_time(5_000, 2_000), in_time(5_000, 2_000)];
        let often: Vec<bool> = (0..400_000).map(|i| often.strikes(at(i * 10))).collect();
        for (i, strikes) in (0..).zip(often).step_by(997) {
            assert_eq!(seldom.strikes(at(i * 10)), strikes, "at {i}0 us");
        }
    }

    #[test]
    fn a_bad_time_ends_while_nothing_is_sent() {
        let mut channel = in_time(500_000, 10_000);
        let first = (0..).find(|&i| channel.strikes(at(i * 1_000))).unwrap();
        let later = (1..100).filter(|&i| channel.strikes(at(first * 1_000 + i * 200_000))).count();
        assert!(later < 15, "{later} of 99 probes, a fifth of a second apart, met a bad time of 2 %");
    }

    #[test]
    fn what_moves_the_channel_is_either_packets_or_time() {
        let link = LinkContext::default();
        for (table, key, said) in [
            (serde_json::json!({ "p": "1%", "good_for": "1s", "bad_for": "10ms" }), "good_for", "exclude each other"),
            (serde_json::json!({ "p": "1%", "bad_for": "10ms" }), "bad_for", "exclude each other"),
            (serde_json::json!({ "r": "1%", "good_for": "1s" }), "good_for", "exclude each other"),
            (serde_json::json!({ "r": "1%" }), "r", "without `p`"),
            (serde_json::json!({ "good_for": "1s" }), "good_for", "without `bad_for`"),
            (serde_json::json!({ "bad_for": "1s" }), "bad_for", "without `good_for`"),
            (serde_json::json!({ "good_for": "1s", "bad_for": "1us" }), "bad_for", "1us"),
            (serde_json::json!({ "loss_bad": "50%" }), "p", "needs its `p`"),
        ] {
            let refused = crate::loss::catalog().resolve("gilbert-elliott", table.as_object().unwrap(), &link);
            let problems = refused.unwrap_err();
            assert!(problems[0].key == key && problems[0].message.contains(said), "{table}: {problems:?}");
        }
    }
}
