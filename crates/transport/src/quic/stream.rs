//! The data to send: lost data first, then new data.

use dumbbell_units::claimed;
use std::collections::VecDeque;

/// A stream, cut into parts that fit into one packet each.
#[derive(Debug)]
pub(super) struct Stream {
    /// The first part that has not been sent.
    next_seq: u32,
    /// One above the last part written.
    write_seq: u32,
    last_len: u16,
    mss: u16,
    /// Lost parts, to be sent again.
    resend: VecDeque<u32>,
}

impl Stream {
    pub fn new(mss: u16) -> Stream {
        Stream { next_seq: 0, write_seq: 0, last_len: mss, mss, resend: VecDeque::new() }
    }

    /// The application hands over `segments` more; the last one carries `last_len` bytes.
    pub fn write(&mut self, segments: u32, last_len: u16) {
        self.write_seq = self.write_seq.saturating_add(segments);
        self.last_len = last_len;
    }

    /// Drops the parts that have not been sent.
    pub fn close(&mut self) {
        self.write_seq = self.next_seq;
    }

    /// Number of parts that were written and have not been sent.
    pub fn unsent(&self) -> u32 {
        self.write_seq - self.next_seq
    }

    /// Whether there is nothing to send, neither new nor lost.
    pub fn has_sent_all(&self) -> bool {
        self.resend.is_empty() && self.unsent() == 0
    }

    /// Part `seq` was lost and is to be sent again.
    pub fn send_again(&mut self, seq: u32) {
        self.resend.push_back(seq);
    }

    /// Part `seq` has arrived after all; it need not be sent again if that has not happened yet.
    pub fn arrived(&mut self, seq: u32) {
        self.resend.retain(|&waiting| waiting != seq);
    }

    /// The part to send next, and whether it was sent before.
    pub fn take(&mut self) -> Option<(u32, bool)> {
        if let Some(seq) = self.resend.pop_front() {
            return Some((seq, true));
        }
        (self.unsent() > 0).then(|| {
            self.next_seq += 1;
            (self.next_seq - 1, false)
        })
    }

    /// Payload bytes of part `seq`.
    pub fn len(&self, seq: u32) -> u16 {
        if seq + 1 == self.write_seq { self.last_len } else { self.mss }
    }

    /// Bytes of memory that the parts to send again [claim](claimed).
    pub fn memory(&self) -> u64 {
        claimed::<u32>(self.resend.len(), self.resend.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_goes_before_what_is_new() {
        let mut stream = Stream::new(1350);
        stream.write(3, 700);
        assert_eq!((stream.take(), stream.take()), (Some((0, false)), Some((1, false))));
        stream.send_again(0);
        assert_eq!((stream.take(), stream.take(), stream.take()), (Some((0, true)), Some((2, false)), None));
        assert_eq!((stream.len(1), stream.len(2)), (1350, 700));
        assert!(stream.has_sent_all());
        stream.send_again(1);
        stream.arrived(1);
        assert!(stream.has_sent_all());
    }

    #[test]
    fn what_is_not_sent_when_the_stream_closes_never_will_be() {
        let mut stream = Stream::new(1350);
        stream.write(3, 700);
        stream.take();
        stream.close();
        assert_eq!((stream.unsent(), stream.take()), (0, None));
    }
}
