//! Whole-number arithmetic of windows and microseconds, in 64 bits where the kernel's 32 would wrap.

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
