//! Time in integer nanoseconds.

use crate::quantity::{ParseError, Scaled, Unit, as_text, print_decimal, split};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event of every run.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `nanos` nanoseconds after the start of the run.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the start of the run (Linux's `tcp_mstamp`).
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds since the start of the run, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span since `earlier`; zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }

    /// A span of `micros` microseconds; the longest there is if that is longer.
    #[inline]
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    #[inline]
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    #[inline]
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs * 1_000_000_000)
    }

    /// The span less `other`; zero when `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// The span in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in whole microseconds.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// Panics in debug builds when `earlier` is later; use [`Time::since`] where that can happen.
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Duration) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    /// The longest span there is when the product is longer.
    #[inline]
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

const PRINTED: [Unit; 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const ALLOWED: &str = "allowed units are ns, us, ms, s, min, h";

/// Reads `"20ms"`, `"5us"`, `"1.5s"`, `"2min"`; what is finer than a nanosecond is rounded.
impl FromStr for Duration {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Duration, ParseError> {
        parse("a duration", text).map(Duration)
    }
}

/// Reads the span since the start of the run, spelt like a [`Duration`].
impl FromStr for Time {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Time, ParseError> {
        parse("a time", text).map(Time)
    }
}

fn parse(what: &'static str, text: &str) -> Result<u64, ParseError> {
    let fail = |reason: String| ParseError { what, read: text.to_owned(), reason };
    let (number, unit) = split(what, text, "20ms")?;
    let factor = match unit {
        "" if number.is_zero() => 1,
        "" => return Err(fail(format!("the unit is missing; {ALLOWED}, as in \"20ms\""))),
        "ns" | "nsec" => 1,
        "us" | "usec" | "µs" | "μs" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "min" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "m" => return Err(fail(format!("\"m\" could be minutes or milliseconds; write \"min\" or \"ms\"; {ALLOWED}"))),
        _ => return Err(fail(format!("unknown unit \"{unit}\"; {ALLOWED}"))),
    };
    match number.scale(factor) {
        Scaled::Exact(nanos) | Scaled::Rounded(nanos) => Ok(nanos),
        Scaled::TooLarge => Err(fail("it is too long; the longest is about 584 years".to_owned())),
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.pad("0s") } else { print_decimal(f, self.0, &PRINTED) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

as_text!(
    Duration,
    "time",
    "string",
    "a duration with its unit, for example \"20ms\" or \"1.5s\"",
    r"^\s*(0+(\.0*)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*(nsec|ns|usec|us|µs|μs|msec|ms|seconds?|sec|s|minutes?|min|hours?|h))\s*$",
    ["20ms", "5us", "1.5s", "2min"],
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Duration, E> {
        n.to_string().parse().map_err(E::custom)
    },
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Duration, E> {
        n.to_string().parse().map_err(E::custom)
    },
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Duration, E> {
        n.to_string().parse().map_err(E::custom)
    }
);

as_text!(
    Time,
    "time",
    "string",
    "a time since the start with its unit, for example \"10s\"",
    r"^\s*(0+(\.0*)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*(nsec|ns|usec|us|µs|μs|msec|ms|seconds?|sec|s|minutes?|min|hours?|h))\s*$",
    ["10s", "500ms"],
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Time, E> {
        n.to_string().parse().map_err(E::custom)
    },
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Time, E> {
        n.to_string().parse().map_err(E::custom)
    },
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Time, E> {
        n.to_string().parse().map_err(E::custom)
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nanos(text: &str) -> u64 {
        text.parse::<Duration>().unwrap().as_nanos()
    }

    #[test]
    fn durations_read_with_every_unit() {
        assert_eq!(nanos("20ms"), 20_000_000);
        assert_eq!(nanos("5us"), 5_000);
        assert_eq!(nanos("1.5s"), 1_500_000_000);
        assert_eq!(nanos("2min"), 120_000_000_000);
        assert_eq!(nanos("0"), 0);
        assert_eq!(nanos("0.30000000000000004 s"), 300_000_000);
        assert_eq!("10s".parse::<Time>().unwrap(), Time::from_nanos(10_000_000_000));
    }

    #[test]
    fn wrong_durations_say_what_is_allowed() {
        let reason = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert_eq!(
            reason("20sm"),
            "cannot read \"20sm\" as a duration: unknown unit \"sm\"; allowed units are ns, us, ms, s, min, h"
        );
        assert!(reason("20").contains("the unit is missing"));
        assert!(reason("5m").contains("minutes or milliseconds"));
        assert!(reason("-5ms").contains("cannot be negative"));
        assert!(reason("600000000h").contains("too long"));
    }

    #[test]
    fn the_canonical_spelling_uses_the_largest_unit_up_to_seconds() {
        for text in ["20ms", "1.5s", "90s", "1.234567ms", "7ns", "0s"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn multiples_end_at_the_longest_span_and_instants_at_never() {
        let long = Duration::from_secs(18_000_000_000);
        let longest = Duration::from_nanos(u64::MAX);
        assert_eq!((long * 2, Duration::from_micros(u64::MAX)), (longest, longest));
        assert_eq!(Time::ZERO + long + long, Time::NEVER);
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(nanos: u64) {
            let span = Duration::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse::<Duration>().unwrap(), span);
            prop_assert_eq!(span.to_string().parse::<Time>().unwrap(), Time::from_nanos(nanos));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Duration>();
        }
    }

    #[test]
    fn spans_are_added_and_taken_away_in_place() {
        let ms = Duration::from_millis;
        let mut left = ms(5);
        left -= ms(2);
        assert_eq!(left, ms(3));
        left += ms(4);
        assert_eq!(left, ms(7));
    }
}
