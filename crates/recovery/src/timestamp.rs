//! The timestamp option (RFC 7323): whole milliseconds of a host's clock, in 32 bits (`tcp_time_stamp_ms`).

use dumbbell_units::Time;

/// A time of the timestamp option. Its 32 bits last for 49 days: of two times the later one is ahead by less than half
/// of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp(u32);

impl Timestamp {
    /// The option's clock at `time`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "TCP's clock of 32 bits, which wraps")]
    pub fn at(time: Time) -> Timestamp {
        Timestamp((time.as_nanos() / 1_000_000) as u32)
    }

    /// The option's clock so many microseconds after the start of the run.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "TCP's clock of 32 bits, which wraps")]
    pub fn at_us(micros: u64) -> Timestamp {
        Timestamp((micros / 1_000) as u32)
    }

    /// Milliseconds from `earlier` to this; negative where it is not earlier.
    #[inline]
    pub fn ms_since(self, earlier: Timestamp) -> i32 {
        self.0.wrapping_sub(earlier.0).cast_signed()
    }

    /// Whether it is earlier than `other`.
    #[inline]
    pub fn is_before(self, other: Timestamp) -> bool {
        self.ms_since(other) < 0
    }

    /// As the option has it.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`Timestamp::bits`].
    #[inline]
    pub const fn from_bits(bits: u32) -> Timestamp {
        Timestamp(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_milliseconds_and_stay_in_order_where_their_clock_wraps() {
        let last = Time::from_nanos((1 << 32) * 1_000_000 - 1);
        let [before, after] = [last, Time::from_nanos(last.as_nanos() + 5_000_000)].map(Timestamp::at);
        assert_eq!((before.bits(), after.bits()), (u32::MAX, 4));
        assert!(before.is_before(after) && !after.is_before(before) && !before.is_before(before));
        assert_eq!((after.ms_since(before), before.ms_since(after)), (5, -5));
        assert_eq!(Timestamp::at_us(7_999), Timestamp::from_bits(7));
    }
}
