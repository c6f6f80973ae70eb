//! Congestion marks: how many an ACK tells of, and whether the path carries ECN bits at all (RFC 9000, section 13.4.2).

use super::super::EcnCounts;
use dumbbell_units::Ecn;

/// Validation of the counts that come back. Packets are ECN-capable until it fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnValidation {
    /// ECN bits of data.
    codepoint: Ecn,
    /// Packets sent with them.
    sent: u32,
    /// Counts of the ACK before.
    counts: EcnCounts,
    /// Largest number of an ACK whose counts were looked at.
    largest: Option<u32>,
}

impl EcnValidation {
    /// Data is sent with these bits.
    pub fn new(codepoint: Ecn) -> EcnValidation {
        EcnValidation { codepoint, sent: 0, counts: EcnCounts::default(), largest: None }
    }

    /// The bits of a packet that is sent now.
    #[inline]
    pub fn on_sent(&mut self) -> Ecn {
        self.sent += u32::from(self.codepoint != Ecn::NotEct);
        self.codepoint
    }

    /// An ACK acknowledges `packets` new packets that were sent with the bits, the largest number it tells of is
    /// `largest`. Returns how many marks it adds. Counts that cannot be true end the use of ECN; an ACK that was
    /// overtaken is not looked at.
    #[inline]
    pub fn on_ack(&mut self, counts: EcnCounts, largest: u32, packets: u32) -> u32 {
        if self.codepoint == Ecn::NotEct || self.largest.is_some_and(|before| largest <= before) {
            return 0;
        }
        self.largest = Some(largest);
        self.validate(counts, packets)
    }

    fn validate(&mut self, counts: EcnCounts, packets: u32) -> u32 {
        let before = std::mem::replace(&mut self.counts, counts);
        let marks = counts.ce.checked_sub(before.ce);
        let (capable, foreign) = match self.codepoint {
            Ecn::Ect1 => (counts.ect1.checked_sub(before.ect1), counts.ect0),
            _ => (counts.ect0.checked_sub(before.ect0), counts.ect1),
        };
        let (Some(marks), Some(capable)) = (marks, capable) else { return self.fail() };
        let total = u64::from(counts.ect0) + u64::from(counts.ect1) + u64::from(counts.ce);
        if marks + capable < packets || foreign > 0 || total > u64::from(self.sent) {
            return self.fail();
        }
        marks
    }

    /// Bits are erased or changed on the way.
    #[cold]
    fn fail(&mut self) -> u32 {
        self.codepoint = Ecn::NotEct;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(codepoint: Ecn, packets: u32) -> EcnValidation {
        let mut ecn = EcnValidation::new(codepoint);
        for _ in 0..packets {
            ecn.on_sent();
        }
        ecn
    }

    fn counts(ect0: u32, ect1: u32, ce: u32) -> EcnCounts {
        EcnCounts { ect0, ect1, ce }
    }

    #[test]
    fn marks_are_the_growth_of_their_count() {
        let mut ecn = sent(Ecn::Ect0, 20);
        assert_eq!(ecn.on_ack(counts(3, 0, 1), 3, 4), 1);
        assert_eq!(ecn.on_ack(counts(4, 0, 5), 8, 5), 4);
        assert_eq!(ecn.on_ack(counts(3, 0, 4), 6, 0), 0, "an ACK that was overtaken");
        assert_eq!(ecn.on_sent(), Ecn::Ect0);
    }

    #[test]
    fn counts_that_cannot_be_true_end_the_use_of_ecn() {
        // Erased, changed to the other codepoint, more than was sent, falling.
        for (codepoint, told) in [
            (Ecn::Ect0, counts(2, 0, 1)),
            (Ecn::Ect0, counts(0, 4, 0)),
            (Ecn::Ect1, counts(2, 0, 2)),
            (Ecn::Ect1, counts(0, 20, 1)),
        ] {
            let mut ecn = sent(codepoint, 20);
            assert_eq!(ecn.on_ack(told, 3, 4), 0);
            assert_eq!(ecn.on_sent(), Ecn::NotEct, "{told:?}");
        }
        let mut ecn = sent(Ecn::Ect1, 20);
        assert_eq!(ecn.on_ack(counts(0, 2, 2), 3, 4), 2);
        assert_eq!(ecn.on_ack(counts(0, 5, 1), 6, 3), 0);
        assert_eq!(ecn.on_sent(), Ecn::NotEct);
    }
}
