//! The degree of reordering on the path (`tp->reordering`, `tp->reord_seen`; `tcp_check_sack_reordering`).
//!
//! It begins with the three duplicate ACKs of RFC 5681. When a segment that was sent once is delivered after higher
//! ones, the degree rises to its distance from the highest. It is the duplicate threshold where losses are found by
//! counting, and tells RACK whether the path reorders at all.

/// Degree of reordering, in segments.
#[derive(Clone, Debug)]
pub struct Reordering {
    degree: u32,
    initial: u32,
    max: u32,
    seen: u32,
}

impl Reordering {
    /// `initial` before any reordering was seen (`tcp_reordering`), never more than `max` after (`tcp_max_reordering`).
    pub fn new(initial: u32, max: u32) -> Reordering {
        Reordering { degree: initial, initial, max, seen: 0 }
    }

    /// The degree: the number of segments received above a missing one at which it counts as lost.
    #[inline]
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Whether reordering was ever seen (`reord_seen`).
    #[inline]
    pub fn was_seen(&self) -> bool {
        self.seen > 0
    }

    /// How often (`tcpi_reord_seen`).
    pub fn times_seen(&self) -> u32 {
        self.seen
    }

    /// Whether the degree is above what it began with.
    #[inline]
    pub fn has_grown(&self) -> bool {
        self.degree > self.initial
    }

    /// `low_seq` was delivered after higher segments; `highest_sacked` is one above the highest of them
    /// (`tcp_check_sack_reordering`).
    #[inline]
    pub fn check_sack(&mut self, low_seq: u32, highest_sacked: u32) {
        if low_seq >= highest_sacked {
            return;
        }
        let distance = highest_sacked - low_seq;
        if distance > self.degree {
            self.degree = distance.min(self.max);
        }
        self.seen += 1;
    }

    /// Without SACK: there were more duplicate ACKs than segments that can have arrived, so all of `packets_out`, which
    /// were outstanding before the ACK, may have been reordered. The degree is set to that, also downwards
    /// (`tcp_check_reno_reordering`).
    pub fn check_reno(&mut self, packets_out: u32) {
        self.degree = packets_out.min(self.max);
        self.seen += 1;
    }

    /// A timeout although enough segments were selectively acknowledged: the degree was too high (`tcp_enter_loss`).
    pub fn on_timeout(&mut self, sacked_out: u32) {
        if sacked_out >= self.initial {
            self.degree = self.degree.min(self.initial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_degree_is_how_many_overtook_a_segment_within_bounds() {
        let mut reordering = Reordering::new(3, 300);
        reordering.check_sack(10, 10);
        assert_eq!((reordering.degree(), reordering.was_seen()), (3, false));
        reordering.check_sack(10, 12);
        assert_eq!((reordering.degree(), reordering.was_seen(), reordering.has_grown()), (3, true, false));
        assert_eq!(reordering.times_seen(), 1);
        reordering.check_sack(10, 17);
        reordering.check_sack(20, 25);
        assert_eq!((reordering.degree(), reordering.has_grown()), (7, true));
        reordering.check_sack(0, 1_000);
        assert_eq!(reordering.degree(), 300);
    }

    #[test]
    fn a_timeout_after_enough_duplicates_takes_the_degree_back() {
        let mut reordering = Reordering::new(3, 300);
        reordering.check_sack(0, 20);
        reordering.on_timeout(2);
        assert_eq!(reordering.degree(), 20);
        reordering.on_timeout(3);
        assert_eq!((reordering.degree(), reordering.was_seen()), (3, true));
    }

    #[test]
    fn without_sack_the_whole_flight_may_have_been_overtaken() {
        let mut reordering = Reordering::new(3, 300);
        reordering.check_reno(12);
        assert_eq!((reordering.degree(), reordering.was_seen()), (12, true));
        reordering.check_reno(2);
        assert_eq!(reordering.degree(), 2, "also downwards");
        reordering.check_reno(400);
        assert_eq!(reordering.degree(), 300);
    }
}
