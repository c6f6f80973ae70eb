//! Without selective acknowledgements (NewReno, RFC 6582): duplicate ACKs are counted in their place.
//!
//! Each duplicate ACK tells that one more segment arrived, but not which. `sacked_out` counts them, bounded so that at
//! least the head, or as many segments as are marked lost, remain missing. The head is marked lost on the third
//! duplicate ACK and, during fast recovery, on every partial ACK.

/// Segments that count as received because of duplicate ACKs, and whether there were more duplicate ACKs than that
/// allows, which is a sign of reordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedSacks {
    /// `sacked_out`.
    pub sacked_out: u32,
    /// There were more duplicate ACKs (`tcp_limit_reno_sacked` returned true).
    pub exceeded: bool,
}

/// Bounds `sacked_out`: of the `packets_out` segments in the queue the `lost_out` ones marked lost, and at least one,
/// have not arrived (`tcp_limit_reno_sacked`).
pub fn limit(sacked_out: u32, packets_out: u32, lost_out: u32) -> EmulatedSacks {
    let holes = lost_out.max(1).min(packets_out);
    if sacked_out + holes > packets_out {
        EmulatedSacks { sacked_out: packets_out - holes, exceeded: true }
    } else {
        EmulatedSacks { sacked_out, exceeded: false }
    }
}

/// An ACK removed `acked` segments from the queue: the first one was missing, for the others duplicate ACKs have been
/// counted. Returns how many are newly delivered, and `sacked_out` before [`limit`] (`tcp_remove_reno_sacks`).
pub fn remove(sacked_out: u32, acked: u32) -> (u32, u32) {
    if acked == 0 {
        return (0, sacked_out);
    }
    (acked.saturating_sub(sacked_out).max(1), sacked_out.saturating_sub(acked - 1))
}

/// Whether the head is to be marked lost (`tcp_newreno_mark_lost`): on enough duplicate ACKs, and on every partial ACK
/// of a fast recovery.
pub fn head_is_lost(in_recovery: bool, has_timed_out: bool, enough_duplicates: bool, advanced: bool) -> bool {
    (!in_recovery && !has_timed_out && enough_duplicates) || (in_recovery && advanced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_never_report_the_head_or_what_is_lost() {
        assert_eq!(limit(3, 10, 1), EmulatedSacks { sacked_out: 3, exceeded: false });
        assert_eq!(limit(9, 10, 0), EmulatedSacks { sacked_out: 9, exceeded: false });
        assert_eq!(limit(10, 10, 0), EmulatedSacks { sacked_out: 9, exceeded: true });
        assert_eq!(limit(8, 10, 4), EmulatedSacks { sacked_out: 6, exceeded: true });
        assert_eq!(limit(1, 0, 0), EmulatedSacks { sacked_out: 0, exceeded: true });
    }

    #[test]
    fn a_repaired_gap_uncovers_what_duplicates_had_reported() {
        // Ten segments, of which duplicates had reported six: the repair and three unreported ones are new.
        assert_eq!(remove(6, 10), (4, 0));
        assert_eq!(remove(6, 4), (1, 3), "some of the six lie above the next gap");
        assert_eq!(remove(6, 0), (0, 6));
    }

    #[test]
    fn the_head_is_lost_on_the_third_duplicate_and_on_partial_acks_of_a_recovery() {
        assert!(head_is_lost(false, false, true, false));
        assert!(!head_is_lost(false, true, true, false), "after a timeout everything was marked");
        assert!(head_is_lost(true, false, false, true));
        assert!(!head_is_lost(true, false, true, false));
    }
}
