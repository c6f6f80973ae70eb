//! Round-trip times that a receiver has probably lengthened by waiting for a second segment, as CDG and TCP-LP tell
//! them.

/// ACKs of one segment that count as delayed, because ACKs of several came before (`delack`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayedAcks(u32);

impl DelayedAcks {
    const MAX: u32 = 5;

    /// Whether an ACK of `acked` segments was probably delayed: one of a single segment among ACKs of several.
    #[inline]
    pub(super) fn take(&mut self, acked: u32) -> bool {
        if acked > 1 {
            self.0 = (self.0 + 1).min(DelayedAcks::MAX);
        }
        let is_delayed = acked == 1 && self.0 > 0;
        self.0 -= u32::from(is_delayed);
        is_delayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_single_segments_count_as_delayed_as_acks_of_several_came_before_but_at_most_five() {
        let mut delayed = DelayedAcks::default();
        assert!(!delayed.take(1));
        for _ in 0..7 {
            assert!(!delayed.take(2));
        }
        assert_eq!((0..7).filter(|_| delayed.take(1)).count(), 5);
    }
}
