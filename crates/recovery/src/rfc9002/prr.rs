//! Proportional rate reduction in bytes (Chromium's `PrrSender`; RFC 6937). RFC 9002, section 7.3.2, allows it.
//!
//! Without it a sender whose window was reduced is silent until so much has left the network that the window is not
//! full any more. With it a packet leaves at once, and then as many as the reduced window is of what was in flight. The
//! recovery period, which the ACK for a packet sent in it ends, is so much the shorter.

/// What was sent and delivered since a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProportionalReduction {
    /// Bytes in flight before the loss.
    before: u64,
    /// Bytes sent since.
    sent: u64,
    /// Bytes delivered since, and the packets that they were.
    delivered: u64,
    packets: u64,
    /// The present event, an ACK or a timer, which may turn out to show losses.
    event: Event,
}

#[derive(Clone, Copy, Debug, Default)]
struct Event {
    before: u64,
    delivered: u64,
    packets: u64,
}

impl ProportionalReduction {
    /// An ACK arrives or a timer expires with so many bytes in flight.
    #[inline]
    pub fn begin_event(&mut self, in_flight: u64) {
        self.event = Event { before: in_flight, ..Event::default() };
    }

    /// Losses are found, and the window is reduced. What the same ACK has delivered counts.
    pub fn begin(&mut self) {
        let Event { before, delivered, packets } = self.event;
        *self = ProportionalReduction { before, sent: 0, delivered, packets, event: self.event };
    }

    /// A packet is sent.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Packets are delivered.
    #[inline]
    pub fn delivered(&mut self, packets: u32, bytes: u64) {
        self.event.packets += u64::from(packets);
        self.event.delivered += bytes;
        self.packets += u64::from(packets);
        self.delivered += bytes;
    }

    /// Whether a packet may leave with `in_flight` bytes in flight and a window of `window` bytes; `packet` is what one
    /// counts at most.
    pub fn allows(&self, in_flight: u64, window: u64, packet: u64) -> bool {
        if self.sent == 0 || in_flight < packet {
            return true;
        }
        if in_flight < window {
            // Slow-start reduction bound: one packet more than is delivered.
            return self.sent < self.delivered + self.packets * packet;
        }
        u128::from(self.delivered) * u128::from(window) > u128::from(self.sent) * u128::from(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_leaves_at_once_and_the_others_in_proportion() {
        let mut prr = ProportionalReduction::default();
        prr.begin_event(20_000);
        prr.begin();
        // 20 packets were in flight, one of them is lost, the window is 15 packets.
        let mut in_flight = 19_000;
        let mut sent_after = Vec::new();
        for ack in 1..=19 {
            prr.delivered(1, 1_000);
            in_flight -= 1_000;
            while prr.allows(in_flight, 15_000, 1_460) {
                prr.sent(1_000);
                in_flight += 1_000;
                sent_after.push(ack);
            }
        }
        assert_eq!(sent_after, [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19]);
        assert_eq!(in_flight, 15_000);
    }

    #[test]
    fn below_the_window_two_packets_leave_for_one_that_is_delivered() {
        let mut prr = ProportionalReduction::default();
        prr.begin_event(20_000);
        prr.begin();
        prr.sent(1_460);
        prr.delivered(1, 1_460);
        assert!(prr.allows(6_000, 15_000, 1_460));
        prr.sent(1_460);
        assert!(!prr.allows(7_460, 15_000, 1_460));
        assert!(prr.allows(1_459, 15_000, 1_460), "nothing would be in flight");
    }

    #[test]
    fn what_the_ack_that_shows_the_loss_delivers_counts() {
        let mut prr = ProportionalReduction::default();
        prr.begin_event(20_000);
        prr.delivered(3, 3_000);
        prr.begin();
        // 3000 bytes and one packet for each of the three may be sent for them.
        prr.sent(3_000 + 3 * 1_460 - 1);
        assert!(prr.allows(10_000, 15_000, 1_460));
        prr.sent(1);
        assert!(!prr.allows(10_000, 15_000, 1_460));
    }
}
