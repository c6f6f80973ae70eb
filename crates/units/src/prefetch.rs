//! A word to the processor about memory that is needed soon.

/// Has the processor fetch the cache line that `place` begins in while it does something else. It changes nothing;
/// where the processor cannot be told, nothing happens.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(place);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
