//! What a receiver counts.

/// Segments and their payload bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    segments: u64,
    bytes: u64,
}

/// Counters of a [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Payload bytes delivered in order to the application.
    pub delivered_bytes: u64,
    /// Segments delivered in order to the application.
    pub delivered_segments: u64,
    /// Payload bytes that arrived, duplicates included.
    pub arrived_bytes: u64,
    /// Segments that arrived, duplicates included.
    pub arrived_segments: u64,
    /// Segments that had arrived before.
    pub duplicate_segments: u64,
    /// Segments that arrived with the CE mark.
    pub ce_segments: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
}

/// What no component counts by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    delivered_bytes: u64,
    /// Segments that arrived and were not delivered: duplicates, and those above a hole until it is filled.
    undelivered: Count,
    duplicate_segments: u64,
    acks_sent: u64,
}

impl Counts {
    /// Payload bytes delivered in order to the application.
    #[inline(always)]
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Segments in order arrived, with so many bytes.
    #[inline(always)]
    pub fn deliver(&mut self, bytes: u64) {
        self.delivered_bytes += bytes;
    }

    /// `segments` arrived, with so many bytes, which are not delivered.
    #[inline(always)]
    pub fn keep(&mut self, segments: u32, bytes: u64) {
        self.undelivered.segments += u64::from(segments);
        self.undelivered.bytes += bytes;
    }

    /// `segments` of those, with so many bytes, are delivered.
    pub fn release(&mut self, segments: u32, bytes: u64) {
        self.undelivered.segments -= u64::from(segments);
        self.undelivered.bytes -= bytes;
        self.delivered_bytes += bytes;
    }

    /// A segment had arrived before.
    pub fn note_duplicate(&mut self) {
        self.duplicate_segments += 1;
    }

    /// ACKs leave.
    #[inline(always)]
    pub fn note_acks(&mut self, acks: u32) {
        self.acks_sent += u64::from(acks);
    }

    /// All counters, where everything below `rcv_nxt` is delivered.
    #[inline]
    pub fn stats(&self, rcv_nxt: u32, ce_segments: u64) -> ReceiverStats {
        let delivered_segments = u64::from(rcv_nxt);
        ReceiverStats {
            delivered_bytes: self.delivered_bytes,
            delivered_segments,
            arrived_bytes: self.delivered_bytes + self.undelivered.bytes,
            arrived_segments: delivered_segments + self.undelivered.segments,
            duplicate_segments: self.duplicate_segments,
            ce_segments,
            acks_sent: self.acks_sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_above_a_hole_is_delivered_when_that_is_filled() {
        let mut counts = Counts::default();
        counts.deliver(1_000);
        counts.keep(3, 2_500);
        let before = counts.stats(1, 0);
        assert_eq!((before.arrived_segments, before.arrived_bytes, before.delivered_bytes), (4, 3_500, 1_000));
        counts.release(3, 2_500);
        let after = counts.stats(4, 0);
        assert_eq!(after, ReceiverStats { delivered_segments: 4, delivered_bytes: 3_500, ..before });
    }
}
