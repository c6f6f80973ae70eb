//! Reductions that prove spurious.
//!
//! A packet that was declared lost and is acknowledged later was only delayed. When that is true of all packets whose
//! loss made a reduction, the reduction was needless, and is taken back. RFC 9002 leaves the question open; this is
//! what an undo by DSACK is over TCP, and what QUIC stacks do (`on_spurious_congestion_event` of quinn and noq).

/// The reduction that may be taken back.
#[derive(Clone, Debug, Default)]
pub struct SpuriousLosses {
    /// Packets of the reduction that have not been acknowledged; 0 when there is nothing to take back.
    missing: u32,
    /// Lowest packet number among those whose loss made the reduction.
    first: u32,
}

impl SpuriousLosses {
    /// The loss of `count` packets, the lowest of which is `first`, makes a reduction.
    pub fn begin(&mut self, first: u32, count: u32) {
        *self = SpuriousLosses { missing: count, first };
    }

    /// A reduction begins that no loss has made, or the present one is taken back.
    pub fn end(&mut self) {
        self.missing = 0;
    }

    /// `count` more packets are lost that were sent before the reduction began.
    pub fn add(&mut self, count: u32) {
        if self.missing > 0 {
            self.missing = self.missing.saturating_add(count);
        }
    }

    /// Packet `number`, whose loss had been told to the controller, is acknowledged; returns whether it was the last
    /// one.
    pub fn acked(&mut self, number: u32) -> bool {
        if self.missing == 0 || number < self.first {
            return false;
        }
        self.missing -= 1;
        self.missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_is_spurious_once_all_its_losses_are_acknowledged() {
        let mut losses = SpuriousLosses::default();
        assert!(!losses.acked(4), "there is no reduction");
        losses.begin(5, 2);
        losses.add(1);
        assert!(!losses.acked(4), "lost in an earlier one");
        assert_eq!([5, 6, 8].map(|number| losses.acked(number)), [false, false, true]);
        assert!(!losses.acked(9), "it is taken back once");
        losses.add(1);
        assert!(!losses.acked(9), "nothing is left to add to");
    }

    #[test]
    fn a_reduction_that_a_mark_makes_is_never_spurious() {
        let mut losses = SpuriousLosses::default();
        losses.begin(5, 1);
        losses.end();
        assert!(!losses.acked(5));
    }
}
