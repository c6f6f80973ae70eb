//! Microsecond stamps of transmissions, in the order of transmission (`skb_mstamp_ns`).
//!
//! A real host needs time to process an ACK. Without it, what two ACKs of the same instant release would carry the same
//! stamp, and RACK would tell the order of a retransmission and of new data by their sequence numbers: wrongly. So what
//! one event sends is stamped at least a microsecond after what the event before sent, and new data after retransmissions.

/// The stamp given last.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendStamp {
    last_us: u64,
    is_new_event: bool,
}

impl SendStamp {
    /// What is sent from here on is sent after what was sent before, even at the same instant.
    #[inline]
    pub fn begin_event(&mut self) {
        self.is_new_event = true;
    }

    /// The stamp of a transmission at `now_us`.
    #[inline]
    pub fn next(&mut self, now_us: u64) -> u64 {
        let earliest_us = self.last_us + u64::from(std::mem::take(&mut self.is_new_event));
        self.last_us = now_us.max(earliest_us);
        self.last_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_of_one_instant_are_stamped_in_the_order_of_events() {
        let mut stamp = SendStamp::default();
        let mut stamps = Vec::new();
        for (event, now_us) in [(true, 5), (false, 5), (true, 5), (true, 5), (true, 9), (false, 10)] {
            if event {
                stamp.begin_event();
            }
            stamps.push(stamp.next(now_us));
        }
        assert_eq!(stamps, [5, 5, 6, 7, 9, 10]);
    }
}
