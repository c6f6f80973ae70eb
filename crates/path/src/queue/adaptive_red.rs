//! Adaptive RED (Floyd, Gummadi and Shenker, 2001): RED whose parameters follow from the link and a target delay.
//!
//! RED (`red.rs`) has to be tuned for a link and its load. Adaptive RED needs a target for the average delay alone. The
//! thresholds follow from the rate: `min` is half of what the link sends in the target time, at least five packets, and
//! `max` three times as much. The weight is 1 - exp(-1/C) with C packets a second, a time constant of one second. The
//! probability is adapted every half second so that the average stays in the middle of the thresholds, between 1 % and
//! 50 %, and rises on from `max` to twice `max` (the gentle form).

use super::discipline::{Discipline, FULL_PACKET, Queue};
use super::red::{Red, State};
use crate::catalog::{Described, LinkContext};
use crate::level::Level;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Rng, grouped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `min` is at least this many packets.
const LEAST_PACKETS: u64 = 5;

/// Adaptive RED: random early detection that sets itself to a target delay.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveRed {
    /// Average queueing delay to aim at.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "Adaptive RED, 2001, section 5.2: 5 ms"))]
    pub target: Duration,
    /// Size of a typical packet.
    #[schemars(extend("x-at-least" = "1B", "x-at-most" = "65535B", "x-source" = "tc-red: avpkt"))]
    pub average_packet: Bytes,
    /// Drop probability just below `max` at the start.
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "ns-2: the initial max_p"))]
    pub max_probability: Ratio,
    /// Average backlog from which packets are dropped at random.
    #[schemars(extend(
        "x-default" = "half of `target` at the mean `rate`, at least five packets",
        "x-source" = "Adaptive RED, 2001, section 5.2: min_th"
    ))]
    pub min: Option<Level>,
    /// Upper end of the range in which the average is kept.
    #[schemars(extend("x-default" = "three times `min`", "x-source" = "Adaptive RED, 2001, section 5.2: max_th"))]
    pub max: Option<Level>,
    /// Weight of a packet in the average.
    #[schemars(extend(
        "x-default" = "1 - exp(-1/C) with C packets a second",
        "x-above" = "0%",
        "x-at-most" = "100%",
        "x-source" = "Adaptive RED, 2001, section 5.1: w_q"
    ))]
    pub weight: Option<Ratio>,
    /// Mean rate of the link.
    #[schemars(extend(
        "x-default" = "mean `rate`",
        "x-above" = "0bit",
        "x-at-most" = "100tbit",
        "x-source" = "tc-red: bandwidth"
    ))]
    pub bandwidth: Option<Rate>,
    /// As for RED.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) follows_link: bool,
    /// Mark ECN-capable packets instead of dropping them.
    #[schemars(extend("x-source" = "tc-red: ecn"))]
    pub ecn: bool,
}

impl Default for AdaptiveRed {
    fn default() -> AdaptiveRed {
        AdaptiveRed {
            target: Duration::from_millis(5),
            average_packet: Bytes::new(FULL_PACKET.into()),
            max_probability: Ratio::new(0.1).unwrap_or_default(),
            min: None,
            max: None,
            weight: None,
            bandwidth: None,
            follows_link: false,
            ecn: false,
        }
    }
}

impl AdaptiveRed {
    /// The RED that this is.
    fn red(&self) -> Red {
        Red {
            min: self.min,
            max: self.max,
            weight: self.weight,
            max_probability: self.max_probability,
            average_packet: self.average_packet,
            bandwidth: self.bandwidth,
            follows_link: self.follows_link,
            ecn: self.ecn,
            gentle: true,
            adaptive: true,
            ..Red::default()
        }
    }
}

impl Described<LinkContext> for AdaptiveRed {
    const NAME: &'static str = "adaptive-red";
    const ALIASES: &'static [&'static str] = &["ared"];
    const SOURCE: &'static str = "Floyd, Gummadi and Shenker, Adaptive RED, 2001";

    fn resolve(self, link: &LinkContext) -> Result<AdaptiveRed, Problem> {
        let Some(rate) = self.bandwidth.or(link.rate) else {
            return Err(Problem::whole("a link of unlimited rate has no queue", "leave `queue` out"));
        };
        let packet = self.average_packet.as_u64();
        let half_target = Duration::from_nanos(self.target.as_nanos() / 2);
        let least = rate.bytes_in(half_target).as_u64().max(LEAST_PACKETS * packet);
        let min = match self.min {
            Some(min) => link.bytes("min", min, self.average_packet)?,
            None => Bytes::new(least),
        };
        let max = self.max.unwrap_or(Level::Bytes(Bytes::new(min.as_u64().saturating_mul(3))));
        let packets_a_second = rate.as_bits_per_sec() as f64 / (8.0 * packet as f64);
        let weight = self.weight.or_else(|| Ratio::new(-libm::expm1(-1.0 / packets_a_second)));
        let red = Red { min: Some(Level::Bytes(min)), max: Some(max), weight, ..self.red() }.resolve(link)?;
        let Red { min, max, weight, bandwidth, follows_link, .. } = red;
        Ok(AdaptiveRed { min, max, weight, bandwidth, follows_link, ..self })
    }

    fn in_words(&self) -> String {
        let [min, max] = [self.min, self.max].map(|level| grouped(level.map_or(0, Level::as_bytes)));
        let marks = if self.ecn { ", marks" } else { "" };
        format!("adaptive RED ({min} to {max} bytes{marks})")
    }
}

impl Discipline for AdaptiveRed {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::gated(State::new(&self.red(), rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(mbit: u64, rules: AdaptiveRed) -> AdaptiveRed {
        let rate = Some(Rate::from_bits_per_sec(mbit * 1_000_000));
        rules.resolve(&LinkContext { rate, ..LinkContext::default() }).unwrap()
    }

    fn thresholds(rules: &AdaptiveRed) -> [u64; 2] {
        [rules.min, rules.max].map(|level| level.map_or(0, Level::as_bytes))
    }

    #[test]
    fn thresholds_and_weight_follow_from_the_rate_and_the_target() {
        // 100 Mbit/s send 31,250 bytes in 2.5 ms; at 1 Mbit/s five packets are more.
        assert_eq!(thresholds(&resolved(100, AdaptiveRed::default())), [31_250, 93_750]);
        assert_eq!(thresholds(&resolved(1, AdaptiveRed::default())), [7_500, 22_500]);
        let weight = resolved(12, AdaptiveRed::default()).weight.unwrap().as_f64();
        assert!((weight - (1.0 - (-1.0f64 / 1_000.0).exp())).abs() < 1e-12, "a thousand packets a second: {weight}");
        let slow = AdaptiveRed { target: Duration::from_millis(20), ..AdaptiveRed::default() };
        assert_eq!(thresholds(&resolved(100, slow)), [125_000, 375_000]);
    }

    #[test]
    fn red_gets_what_was_resolved_and_adapts() {
        let told = AdaptiveRed { ecn: true, max_probability: Ratio::new(0.3).unwrap(), ..AdaptiveRed::default() };
        let rules = resolved(100, told);
        let red = rules.red();
        assert_eq!([red.min, red.max].map(|level| level.map_or(0, Level::as_bytes)), [31_250, 93_750]);
        assert_eq!((red.weight, red.bandwidth), (rules.weight, Some(Rate::from_bits_per_sec(100_000_000))));
        assert_eq!((red.max_probability, red.average_packet), (rules.max_probability, rules.average_packet));
        assert!(red.ecn && red.gentle && red.adaptive);
    }

    #[test]
    fn what_is_complete_stays_as_it_is() {
        let once = resolved(100, AdaptiveRed::default());
        let twice = resolved(100, once.clone());
        assert_eq!(serde_json::to_value(&once).unwrap(), serde_json::to_value(&twice).unwrap());
    }
}
