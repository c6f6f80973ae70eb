//! Compressed ACKs: behind a hole some duplicate ACKs become one (the second half of `__tcp_ack_snd_check`).

use crate::TransportConfig;
use crate::config::CompressionDelay;
use dumbbell_units::Duration;

/// Duplicate ACKs per `rcv_nxt` that are never compressed (the sender's first duplicate-ACK threshold).
const UNCOMPRESSED_DUP_ACKS: u8 = 3;
/// Most ACKs held back by compression (`tcp_comp_sack_nr`).
const COMPRESSED_ACKS_MAX: u8 = 44;
/// Longest time an ACK is held back by compression (`tcp_comp_sack_delay_ns`).
const COMPRESSION_DELAY_MAX: Duration = Duration::from_millis(1);
/// The longest time in percent of the round trip (`tcp_comp_sack_rtt_percent`), and before Linux 6.19.
const COMPRESSION_RTT_PERCENT: u64 = 33;
const COMPRESSION_RTT_PERCENT_618: u64 = 5;
/// How much later the timer fired then: at the end of its slack (`tcp_comp_sack_slack_ns`).
const SLACK_618: Duration = Duration::from_micros(100);

/// What becomes of a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DuplicateAck {
    Leaves,
    /// It is the first one that is held back.
    BeginsToWait,
    /// It joins those that are held back.
    Waits,
}

/// ACKs that are held back, and how many were not.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    is_on: bool,
    delay: CompressionDelay,
    /// ACKs held back.
    held_back: u8,
    /// Duplicate ACKs considered for `rcv_nxt` (`dup_ack_counter`).
    considered: u8,
    /// The `rcv_nxt` that these belong to (`compressed_ack_rcv_nxt`).
    rcv_nxt: u32,
}

impl Compression {
    pub fn new(config: &TransportConfig) -> Compression {
        let is_on = config.sack && config.compress_sacks;
        Compression { is_on, delay: config.compress_sacks_delay, held_back: 0, considered: 0, rcv_nxt: 0 }
    }

    /// Decides about a duplicate ACK of everything below `rcv_nxt`.
    #[inline]
    pub fn judge(&mut self, rcv_nxt: u32) -> DuplicateAck {
        if !self.is_on || self.held_back >= COMPRESSED_ACKS_MAX {
            return DuplicateAck::Leaves;
        }
        if self.rcv_nxt != rcv_nxt {
            self.rcv_nxt = rcv_nxt;
            self.considered = 0;
        }
        if self.considered < UNCOMPRESSED_DUP_ACKS {
            self.considered += 1;
            return DuplicateAck::Leaves;
        }
        self.held_back += 1;
        if self.held_back == 1 { DuplicateAck::BeginsToWait } else { DuplicateAck::Waits }
    }

    /// How long an ACK is held back that begins to wait, on a path with this round-trip time.
    #[inline]
    pub fn delay(&self, rtt: Duration) -> Duration {
        let (percent, slack) = match self.delay {
            CompressionDelay::Linux => (COMPRESSION_RTT_PERCENT, Duration::ZERO),
            CompressionDelay::Linux618 => (COMPRESSION_RTT_PERCENT_618, SLACK_618),
        };
        Duration::from_nanos(rtt.as_nanos() / 100 * percent).min(COMPRESSION_DELAY_MAX) + slack
    }

    /// Whether an ACK is held back.
    #[inline(always)]
    pub fn holds_back(&self) -> bool {
        self.held_back > 0
    }

    /// How many more can join those that are held back.
    #[inline(always)]
    pub fn room(&self) -> u32 {
        u32::from(COMPRESSED_ACKS_MAX - self.held_back)
    }

    /// `count` ACKs, for which there is [room](Self::room), join those that are held back.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there is room for 44 at most")]
    pub fn join(&mut self, count: u32) {
        self.held_back += count as u8;
    }

    /// An ACK leaves, which tells what those held back would have told.
    #[inline(always)]
    pub fn note_sent(&mut self) {
        self.held_back = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_duplicates_for_one_number_three_leave_and_44_become_one() {
        let mut compression = Compression::new(&TransportConfig::default());
        let mut fates = Vec::from_iter((0..50).map(|_| compression.judge(7)));
        assert_eq!(fates.drain(..3).collect::<Vec<_>>(), [DuplicateAck::Leaves; 3]);
        assert_eq!(fates.remove(0), DuplicateAck::BeginsToWait);
        assert!(fates[..43].iter().all(|&fate| fate == DuplicateAck::Waits) && compression.room() == 0);
        assert_eq!(fates[43..], [DuplicateAck::Leaves; 3], "the receiver sends then what was held back");
        compression.note_sent();
        assert_eq!(compression.judge(7), DuplicateAck::BeginsToWait);
        compression.note_sent();
        assert_eq!(compression.judge(8), DuplicateAck::Leaves, "another hole");
        let without = TransportConfig { sack: false, ..TransportConfig::default() };
        assert!((0..9).all(|_| Compression::new(&without).judge(7) == DuplicateAck::Leaves));
    }

    #[test]
    fn they_wait_for_a_share_of_the_round_trip_and_at_most_a_millisecond() {
        let delays = |compress_sacks_delay, rtts: [u64; 4]| {
            let config = TransportConfig { compress_sacks_delay, ..TransportConfig::default() };
            rtts.map(|us| Compression::new(&config).delay(Duration::from_micros(us)).as_micros())
        };
        assert_eq!(delays(CompressionDelay::Linux, [100, 1_000, 3_100, 40_000]), [33, 330, 1_000, 1_000]);
        // What Linux 6.12.117 does in virtual time, and 6.18.44.
        assert_eq!(delays(CompressionDelay::Linux618, [2_000, 8_000, 12_000, 40_000]), [200, 500, 700, 1_100]);
    }
}
