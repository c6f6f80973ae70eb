//! Stamps of transmissions: when a segment left, and in which order (`skb_mstamp_ns`, `tcp_skb_sent_after`).
//!
//! A segment is stamped with the time at which it leaves, so that no round-trip time measured from a stamp is shorter
//! than the path's. Linux stamps the departure time that pacing allows. An `fq` queue holds the segment until then;
//! without one, what a timeout or a probe sends in spite of pacing leaves before its stamp, and gives a round-trip time
//! that is too short.
//!
//! A real host needs time to process an ACK, so what one ACK releases has later stamps than what the ACK before it
//! released. Here several events may share one instant. RACK compares segments of equal stamps by their sequence
//! numbers, which would put a retransmission before new data that left earlier. So a stamp also counts the events of
//! its microsecond.

/// When a segment was last sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

impl Stamp {
    /// Bits for the number of the event within its microsecond. The others last for half a year.
    const ORDER_BITS: u32 = 20;

    /// The first event of a microsecond.
    #[inline]
    pub fn at_us(micros: u64) -> Stamp {
        Stamp(micros << Stamp::ORDER_BITS)
    }

    /// Microseconds since the start of the run.
    #[inline]
    pub fn us(self) -> u64 {
        self.0 >> Stamp::ORDER_BITS
    }
}

/// Gives the stamps, in the order of transmission. What one event sends has one stamp, and retransmissions and the new
/// data that follows them are two events.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendClock {
    /// No stamp from here on is earlier.
    earliest: Stamp,
}

impl SendClock {
    /// A new event: what is sent from here on has a later stamp than what was sent before, even at the same instant.
    #[inline]
    pub fn begin_event(&mut self) {
        self.earliest.0 += 1;
    }

    /// The stamp of what leaves now.
    #[inline]
    pub fn next(&mut self, now_us: u64) -> Stamp {
        self.earliest = self.earliest.max(Stamp::at_us(now_us));
        self.earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_tell_the_order_of_events_and_never_run_ahead_of_the_clock() {
        let mut clock = SendClock::default();
        let mut stamps = Vec::new();
        for (event, now_us) in [(true, 5), (false, 5), (true, 5), (true, 5), (true, 9), (false, 10)] {
            if event {
                clock.begin_event();
            }
            stamps.push(clock.next(now_us));
        }
        assert_eq!(stamps.iter().map(|stamp| stamp.us()).collect::<Vec<_>>(), [5, 5, 5, 5, 9, 10]);
        assert_eq!(stamps[0], stamps[1], "one event");
        assert!(stamps[1..].windows(2).all(|pair| pair[0] < pair[1]));
    }
}
