//! Whole-number arithmetic of windows and times, in 64 bits where the kernel's 32 would wrap.

use dumbbell_cc_contract::View;
use dumbbell_units::Duration;

/// `value * factor / divisor`, cut off; a divisor of 0 counts as 1.
#[inline]
pub(super) fn scaled(value: u32, factor: u32, divisor: u32) -> u32 {
    let quotient = u64::from(value) * u64::from(factor) / u64::from(divisor.max(1));
    u32::try_from(quotient).unwrap_or(u32::MAX)
}

/// A round-trip time of a hook in 32 bits; absent when the ACK gives none.
#[inline]
pub(super) fn sample_us(rtt_us: i64) -> Option<u32> {
    (rtt_us >= 0).then(|| u32::try_from(rtt_us).unwrap_or(u32::MAX))
}

/// A round-trip time of a hook in ticks, rounded up; absent when the ACK gives none, or 0.
#[inline]
pub(super) fn sample_ticks(view: &View, rtt_us: i64) -> Option<u32> {
    let rtt_us = u64::try_from(rtt_us).ok().filter(|&rtt_us| rtt_us > 0)?;
    Some(view.ticks(Duration::from_micros(rtt_us)))
}

/// The smoothed round-trip time in microseconds, at least 1.
#[inline]
pub(super) fn smoothed_us(view: &View) -> u64 {
    u64::from(view.srtt_us_x8 / 8).max(1)
}

/// The mean of `old` and `new` in which `new` weighs one in `divisor`, cut off.
#[inline]
pub(super) fn filtered(old: u32, new: u32, divisor: u32) -> u32 {
    let divisor = u64::from(divisor);
    u32::try_from(((divisor - 1) * u64::from(old) + u64::from(new)) / divisor).unwrap_or(u32::MAX)
}
