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

/// [`prefetch`] for each cache line of `places`.
#[inline]
pub fn prefetch_all<T>(places: &[T]) {
    const LINE: usize = 64;
    let each = const { if size_of::<T>() < LINE { LINE / size_of::<T>() } else { 1 } };
    places.iter().step_by(each).for_each(prefetch);
}
