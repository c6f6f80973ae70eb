//! The token-bucket filter (tc's `tbf`): a shaper. Packets wait until the bucket holds tokens for them.
//!
//! Tokens come in at `rate` up to `burst`; a packet leaves when there are enough for all of its bytes, and takes them.
//! So the rate is `rate` in the long run, and after a pause `burst` bytes leave as fast as the link behind takes them.
//! With a `peak_rate` a second, small bucket limits that. Packets leave in their order: the first that has to wait
//! holds up all.

use super::discipline::{Discipline, FULL_PACKET, Held, Queue};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use crate::level::Level;
use crate::policer::{Policer, TokenBucket};
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token bucket that shapes: a packet that finds too few tokens waits for them, and those behind it wait, too.
/// `buffer` is what may wait. It is for a link whose own rate is higher.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tbf {
    /// Rate at which tokens come in.
    #[schemars(extend(
        "examples" = ["5mbit"],
        "x-above" = "0bit",
        "x-at-most" = "100tbit",
        "x-source" = "tc-tbf: rate"
    ))]
    pub rate: Rate,
    /// What the bucket holds, in packets of 1500 bytes, bytes, or time at `rate`, at least the largest packet.
    #[schemars(extend("examples" = ["20packets"], "x-source" = "tc-tbf: burst"))]
    pub burst: Level,
    /// What the bucket holds at the start, written like `burst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "`burst`: a full bucket", "x-source" = "none: tc-tbf starts full"))]
    pub initial: Option<Level>,
    /// The most that leaves at a time: the rate of a second bucket, which holds `mtu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "that of the link",
        "x-at-least" = "rate",
        "x-at-most" = "100tbit",
        "x-source" = "tc-tbf: peakrate"
    ))]
    pub peak_rate: Option<Rate>,
    /// What the second bucket holds, at least the largest packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the largest packet", "x-at-most" = "1MB", "x-source" = "tc-tbf: mtu"))]
    pub mtu: Option<Bytes>,
    /// The longest that a packet may have to wait: no more waits than `rate` sends in this time, and a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "as long as `buffer` lets it", "x-at-most" = "1h", "x-source" = "tc-tbf: latency"))]
    pub latency: Option<Duration>,
    /// Bytes that each packet takes besides its IP length: the framing of the line whose rate is meant.
    #[serde(default)]
    #[schemars(range(max = 1000), extend("x-unit" = "bytes", "x-source" = "tc-tbf: overhead"))]
    pub overhead: u32,
}

impl Described<LinkContext> for Tbf {
    const NAME: &'static str = "tbf";
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_tbf.c";

    fn resolve(self, link: &LinkContext) -> Result<Tbf, Problem> {
        let Policer { burst, initial, .. } =
            Policer { rate: self.rate, burst: self.burst, initial: self.initial }.resolve(link)?;
        let Some(peak) = self.peak_rate else {
            if self.mtu.is_some() {
                let help = "give `peak_rate`, or leave `mtu` out";
                return Err(Problem::key("mtu", "`mtu` belongs to `peak_rate`, which is not given", help));
            }
            return Ok(Tbf { burst, initial, ..self });
        };
        if peak < self.rate {
            let message = format!("the peak rate of {peak} is below the rate, which is {}", self.rate);
            return Err(Problem::value("peak_rate", message, "allowed: at least `rate`"));
        }
        let least =
            if link.largest_packet > Bytes::ZERO { link.largest_packet } else { Bytes::new(FULL_PACKET.into()) };
        let mtu = self.mtu.unwrap_or(least);
        if mtu < link.largest_packet {
            let message = format!("a bucket of {mtu} lets no full packet pass");
            return Err(Problem::value("mtu", message, format!("allowed: at least {least}")));
        }
        Ok(Tbf { burst, initial, mtu: Some(mtu), ..self })
    }

    fn in_words(&self) -> String {
        let peak = self.peak_rate.map_or_else(String::new, |peak| format!(", at most {}", peak.in_words()));
        let latency = self.latency.map_or_else(String::new, |latency| format!(", waits {}", latency.in_words()));
        format!("shaped to {} with bursts of {}{peak}{latency}", self.rate.in_words(), self.burst.in_words())
    }
}

impl Discipline for Tbf {
    fn queue(&self, _: Rng) -> Queue {
        Queue::held(State::new(self))
    }
}

/// State of a token-bucket filter.
#[derive(Clone, Debug)]
struct State {
    line: Line,
    /// The bucket of the rate, and that of the peak rate.
    buckets: Vec<TokenBucket>,
    /// The most bytes that may wait besides what `buffer` says.
    most: u64,
}

impl State {
    fn new(parameters: &Tbf) -> State {
        let Tbf { rate, burst, initial, peak_rate, mtu, latency, overhead } = *parameters;
        let mut buckets = vec![TokenBucket::new(&Policer { rate, burst, initial }, overhead)];
        if let (Some(rate), Some(mtu)) = (peak_rate, mtu) {
            buckets.push(TokenBucket::new(&Policer { rate, burst: Level::Bytes(mtu), initial: None }, overhead));
        }
        let waits = |latency| rate.bytes_in(latency).as_u64().saturating_add(burst.as_bytes());
        State { line: Line::default(), buckets, most: latency.map_or(u64::MAX, waits) }
    }

    /// From when on there are tokens for a packet of `size` bytes that comes at `now`, if nothing else takes them.
    fn ready(&self, now: Time, size: u32) -> Time {
        self.buckets.iter().map(|bucket| bucket.ready(now, size)).max().unwrap_or(now)
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        let size = packet.size;
        let ready = self.ready(now, size);
        let fits = if ready <= now && self.line.front().is_none() {
            buffer.fits(now, size)
        } else {
            buffer.backlog().bytes + u64::from(size) <= self.most && buffer.fits_waiting(now, size)
        };
        if ready == Time::NEVER || !fits {
            return Err(DropCause::QueueFull);
        }
        self.line.push(packet, buffer);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        self.line.front().map_or(Time::NEVER, |packet| self.ready(packet.arrived, packet.size))
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let packet = self.line.pop(now, buffer)?;
        for bucket in &mut self.buckets {
            bucket.passes(now, packet.size);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests;
