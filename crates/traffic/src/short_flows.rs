//! Flows that arrive at random, transfer something, and leave.

use crate::pause::{exponential_seconds, from_seconds};
use crate::{Capacity, Listed, Size, Source};
use dumbbell_parameters::{Described, Problem};
use dumbbell_units::{Duration, Ratio, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most flows of a source in a second.
const MAX_PER_SECOND: f64 = 1e7;

/// Flows arrive, transfer their size, and leave. Each is a connection of its own, made when it arrives and forgotten
/// when everything is acknowledged.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShortFlows {
    /// Payload of a flow: a size, or a table with the `kind` of a distribution and its parameters.
    pub size: Size,
    /// Offered load: what the payload of all flows with its headers takes of the slowest link on their way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "this or `per_second` is required", "x-above" = "0%", "x-at-most" = "1000%"))]
    pub load: Option<Ratio>,
    /// Arrivals in a second, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        range(max = 10_000_000),
        extend("x-default" = "this or `load` is required", "x-above" = 0, "x-unit" = "flows/s")
    )]
    pub per_second: Option<f64>,
    /// How the times between arrivals are distributed.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Flows in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-default" = "no limit", "x-unit" = "flows"))]
    pub count: Option<u64>,
}

/// How the times between arrivals are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// A Poisson process: the times between arrivals are exponential and independent.
    #[default]
    Poisson,
    /// All times between arrivals are equal.
    Periodic,
}

impl Described<Capacity> for ShortFlows {
    const NAME: &'static str = "short-flows";
    const SOURCE: &'static str =
        "RFC 9743, section 5.1.5; the common TCP evaluation suite (draft-irtf-iccrg-tcpeval-01)";

    /// The load becomes a rate of arrivals. `rate` is what the slowest link carries of payload.
    fn resolve(self, way: &Capacity) -> Result<ShortFlows, Problem> {
        if let Err((message, help)) = self.size.check() {
            return Err(Problem::value("size", message, help));
        }
        let per_second = match (self.load, self.per_second) {
            (Some(_), Some(_)) => {
                let help = "remove one of them: the one follows from the other and the mean size";
                return Err(Problem::key("per_second", "both `load` and `per_second` are given", help));
            }
            (None, None) => {
                let help = "add `load`, a share of the slowest link such as \"50%\", or `per_second`";
                return Err(Problem::whole("nothing says how many flows arrive", help));
            }
            (None, Some(per_second)) => per_second,
            (Some(load), None) => {
                let Some(rate) = way.rate else {
                    let help = "give `per_second`, or a link on the way a rate";
                    return Err(Problem::value("load", "`load` is unknown here: the links have no rate", help));
                };
                load.as_f64() * rate.as_bits_per_sec() as f64 / 8.0 / self.size.mean()
            }
        };
        if !(per_second > 0.0 && per_second <= MAX_PER_SECOND) {
            let key = if self.load.is_some() { "load" } else { "per_second" };
            let message = format!("{per_second} flows in a second");
            return Err(Problem::value(key, message, "allowed: more than 0, at most 10 million in a second"));
        }
        Ok(ShortFlows { load: None, per_second: Some(per_second), ..self })
    }

    fn in_words(&self) -> String {
        let process = match self.arrivals {
            Arrivals::Poisson => "Poisson",
            Arrivals::Periodic => "periodic",
        };
        let rate = self.per_second.unwrap_or_default();
        let count = self.count.map_or_else(String::new, |count| format!("up to {count} "));
        format!("{count}short flows, {rate:.1} a second ({process}), sizes {}", self.size.in_words())
    }
}

impl ShortFlows {
    pub(crate) fn source(&self, rng: Rng) -> Source {
        let mean_gap_s = 1.0 / self.per_second.unwrap_or(f64::MIN_POSITIVE);
        let ShortFlows { size, arrivals, count, .. } = self.clone();
        Source::Flows(FlowArrivals::Drawn(DrawnFlows { size, arrivals, mean_gap_s, left: count, rng }))
    }
}

/// The arrivals of a source.
#[derive(Clone, Debug)]
pub enum FlowArrivals {
    /// They are random, or follow a rule.
    Drawn(DrawnFlows),
    /// They are listed.
    Listed(Listed),
}

/// Flows whose times and sizes are drawn.
#[derive(Clone, Debug)]
pub struct DrawnFlows {
    size: Size,
    arrivals: Arrivals,
    mean_gap_s: f64,
    /// Flows to come; `None` without a limit.
    left: Option<u64>,
    rng: Rng,
}

/// A flow that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time since the one before, or since the source began.
    pub after: Duration,
    /// Payload to transfer, at least one byte.
    pub bytes: u64,
}

impl FlowArrivals {
    /// The next flow; `None` after the last.
    #[expect(clippy::should_implement_trait, reason = "the name is the usual one, and nobody needs an iterator")]
    pub fn next(&mut self) -> Option<Arrival> {
        match self {
            FlowArrivals::Drawn(flows) => flows.next(),
            FlowArrivals::Listed(flows) => flows.next(),
        }
    }
}

impl DrawnFlows {
    fn next(&mut self) -> Option<Arrival> {
        self.left = match self.left {
            None => None,
            Some(left) => Some(left.checked_sub(1)?),
        };
        let gap_s = match self.arrivals {
            Arrivals::Poisson => exponential_seconds(self.mean_gap_s, &mut self.rng),
            Arrivals::Periodic => self.mean_gap_s,
        };
        Some(Arrival { after: from_seconds(gap_s), bytes: self.size.draw(&mut self.rng) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::{Bytes, Rate};

    fn flows(arrivals: Arrivals, count: Option<u64>) -> ShortFlows {
        let size = Size::Fixed { bytes: Bytes::new(1_000) };
        ShortFlows { size, load: None, per_second: Some(100.0), arrivals, count }
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_variance_of_an_exponential_gap() {
        let Source::Flows(mut source) = flows(Arrivals::Poisson, None).source(Rng::new(5)) else { panic!("flows") };
        let gaps: Vec<f64> = (0..100_000).map(|_| source.next().unwrap().after.as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean / 0.01 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn periodic_arrivals_are_equally_spaced_and_end_with_the_count() {
        let Source::Flows(mut source) = flows(Arrivals::Periodic, Some(3)).source(Rng::new(5)) else { panic!("flows") };
        let arrival = Arrival { after: Duration::from_millis(10), bytes: 1_000 };
        let all: Vec<_> = std::iter::from_fn(|| source.next()).collect();
        assert_eq!(all, [arrival; 3]);
    }

    #[test]
    fn a_load_is_a_share_of_what_the_link_carries() {
        let link = Capacity { rate: Some(Rate::from_bits_per_sec(8_000_000)) };
        let load =
            ShortFlows { load: Some("50%".parse().unwrap()), per_second: None, ..flows(Arrivals::Poisson, None) };
        assert_eq!(load.clone().resolve(&link).unwrap().per_second, Some(500.0));
        assert_eq!(load.resolve(&Capacity::default()).unwrap_err().key, "load");
    }
}
