//! Policers: a token bucket that drops what exceeds it.
//!
//! Tokens come in at a rate up to the size of the bucket. A packet that finds tokens for all of its bytes takes them
//! and passes; any other is dropped and takes none. There is no queue and so no delay: in the long run the rate passes,
//! and from a pause on at most the bucket and what comes in meanwhile. Tokens are counted in 10⁻⁹ bits, of which a rate
//! of R bit/s brings exactly R in a nanosecond.

use crate::catalog::LinkContext;
use crate::level::Level;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NANOS: u128 = 1_000_000_000;

/// A token bucket in front of a queue: a packet that finds too few tokens is dropped and takes none; nothing is
/// delayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which tokens come in. A packet takes its IP length and the link's `overhead`.
    #[schemars(extend("x-above" = "0bit", "x-at-most" = "100tbit", "x-source" = "tc-police: rate"))]
    pub rate: Rate,
    /// What the bucket holds, in packets of 1500 bytes, bytes, or time at the policer's `rate`, at least the largest
    /// packet.
    #[schemars(extend("x-source" = "tc-police: burst"))]
    pub burst: Level,
    /// What the bucket holds at the start, written like `burst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "`burst`: a full bucket", "x-source" = "none: tc-police starts full"))]
    pub initial: Option<Level>,
}

impl Policer {
    /// The policer with its bucket in bytes.
    ///
    /// # Errors
    /// No packet would ever pass, or the bucket refers to something that a policer does not have.
    pub fn resolve(self, link: &LinkContext) -> Result<Policer, Problem> {
        let burst = self.tokens("burst", self.burst)?;
        let least = link.largest_packet.max(Bytes::new(1));
        if burst < least {
            let message = format!("a burst of {burst} lets no full packet pass");
            return Err(Problem::value("burst", message, format!("allowed: at least {least}")));
        }
        let initial = self.initial.map(|initial| self.tokens("initial", initial)).transpose()?;
        if let Some(initial) = initial.filter(|initial| *initial > burst) {
            let message = format!("the bucket starts with {initial}, but holds {burst}");
            return Err(Problem::value("initial", message, format!("allowed: at most `burst`, which is {burst}")));
        }
        let initial = initial.filter(|initial| *initial < burst).map(Level::Bytes);
        Ok(Policer { burst: Level::Bytes(burst), initial, ..self })
    }

    /// The value of `key` in bytes.
    fn tokens(&self, key: &str, level: Level) -> Result<Bytes, Problem> {
        if matches!(level, Level::Bdp(_)) {
            let help = "write it in packets, bytes, or time at the bucket's rate";
            return Err(Problem::value(key, "a token bucket has no bandwidth-delay product", help));
        }
        let own = LinkContext { rate: Some(self.rate), ..LinkContext::default() };
        own.bytes(key, level, Bytes::new(crate::queue::discipline::FULL_PACKET.into()))
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        let initial = self.initial.map_or_else(String::new, |initial| format!(", at first {}", initial.in_words()));
        format!("policed to {} with bursts of {}{initial}", self.rate.in_words(), self.burst.in_words())
    }
}

/// A token bucket.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: u64,
    overhead: u64,
    full: u128,
    tokens: u128,
    filled: Time,
}

impl TokenBucket {
    /// A bucket as it is at the start; packets take `overhead_bytes` besides their IP length.
    pub(crate) fn new(policer: &Policer, overhead_bytes: u32) -> TokenBucket {
        let tokens = |level: Level| u128::from(level.as_bytes()) * 8 * NANOS;
        let full = tokens(policer.burst);
        let rate = policer.rate.as_bits_per_sec();
        let initial = policer.initial.map_or(full, tokens);
        TokenBucket { rate, overhead: overhead_bytes.into(), full, tokens: initial, filled: Time::ZERO }
    }

    /// The tokens that a packet of `size` bytes takes.
    fn needed(&self, size: u32) -> u128 {
        (u128::from(size) + u128::from(self.overhead)) * 8 * NANOS
    }

    /// From when on there are tokens for a packet of `size` bytes that comes at `now`, if no other takes any;
    /// [`Time::NEVER`] for one that is larger than the bucket.
    pub(crate) fn ready(&self, now: Time, size: u32) -> Time {
        let needed = self.needed(size);
        if needed > self.full {
            return Time::NEVER;
        }
        let wait = needed.saturating_sub(self.tokens).div_ceil(u128::from(self.rate));
        let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        now.max(self.filled + wait)
    }

    /// Whether a packet of `size` bytes passes at `now`.
    pub(crate) fn passes(&mut self, now: Time, size: u32) -> bool {
        let added = u128::from(self.rate) * u128::from(now.since(self.filled).as_nanos());
        self.tokens = self.full.min(self.tokens + added);
        self.filled = now;
        match self.tokens.checked_sub(self.needed(size)) {
            Some(rest) => {
                self.tokens = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(rate: u64, burst_bytes: u64, overhead_bytes: u32) -> TokenBucket {
        let burst = Level::Bytes(Bytes::new(burst_bytes));
        TokenBucket::new(&Policer { rate: Rate::from_bits_per_sec(rate), burst, initial: None }, overhead_bytes)
    }

    /// Packets of 1500 bytes that pass when they come at `rate` for `seconds`, through 2 Mb/s and 20 packets.
    fn passed(rate: u64, seconds: u64) -> u64 {
        let mut policer = bucket(2_000_000, 30_000, 0);
        let (packets, spacing) = (rate * seconds / 12_000, 12_000_000_000_000 / rate);
        (0..packets).filter(|i| policer.passes(Time::from_nanos(i * spacing), 1500)).count() as u64
    }

    #[test]
    fn in_the_long_run_the_rate_passes_and_the_bucket_besides() {
        for offered in [2_500_000, 4_000_000, 10_000_000, 1_000_000_000] {
            let expected = 20 + 2_000_000 * 60 / 12_000;
            assert!(passed(offered, 60).abs_diff(expected) <= 1, "{} of {expected}", passed(offered, 60));
        }
        assert_eq!(passed(2_000_000, 60), 10_000, "nothing is dropped at the rate itself");
    }

    #[test]
    fn a_burst_at_line_speed_is_the_bucket_and_what_comes_in_meanwhile() {
        // Back to back at 10 Mb/s, every packet brings 300 bytes for the next: 30 000 + 300·(n − 1) ≥ 1500·n.
        let mut policer = bucket(2_000_000, 30_000, 0);
        let first_drop = (0..).find(|i| !policer.passes(Time::from_nanos(i * 1_200_000), 1500));
        assert_eq!(first_drop, Some(24));
    }

    #[test]
    fn a_bucket_that_starts_empty_lets_a_packet_pass_when_its_tokens_have_come_in() {
        let rate = Rate::from_bits_per_sec(12_000_000);
        let policer = |initial: &str| {
            let initial = Some(Level::parse(initial, "a level", "").unwrap());
            let written = Policer { rate, burst: Level::Packets(10), initial };
            TokenBucket::new(&written.resolve(&LinkContext::default()).unwrap(), 0)
        };
        let mut empty = policer("0packets");
        assert!(!empty.passes(Time::from_nanos(999_999), 1500));
        assert!(empty.passes(Time::from_nanos(1_000_000), 1500), "12 Mb/s brings a packet a millisecond");
        let mut half = policer("5packets");
        assert_eq!((0..10).filter(|_| half.passes(Time::ZERO, 1500)).count(), 5);
        let mut later = policer("0packets");
        let pause = Time::from_nanos(1_000_000_000);
        assert_eq!((0..20).filter(|_| later.passes(pause, 1500)).count(), 10, "it fills up to the burst");
    }

    #[test]
    fn a_dropped_packet_takes_no_tokens() {
        let mut policer = bucket(8_000, 1500, 0);
        assert!(policer.passes(Time::ZERO, 1000));
        for _ in 0..100 {
            assert!(!policer.passes(Time::ZERO, 501));
        }
        assert!(policer.passes(Time::ZERO, 500));
        assert!(!policer.passes(Time::from_nanos(999_999), 1), "8 bits take a millisecond");
        assert!(policer.passes(Time::from_nanos(1_000_000), 1));
    }

    #[test]
    fn framing_takes_tokens_and_a_packet_larger_than_the_bucket_never_passes() {
        let mut policer = bucket(1_000_000, 1500, 38);
        assert!(!policer.passes(Time::ZERO + dumbbell_units::Duration::from_secs(1000), 1463));
        assert!(policer.passes(Time::ZERO + dumbbell_units::Duration::from_secs(1000), 1462));
    }
}
