//! The data to send: lost data first, then new data.

use dumbbell_units::claimed;
use std::collections::VecDeque;

/// A part of the stream, which fills one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Its place among the parts.
    pub seq: u32,
    /// Payload bytes.
    pub len: u16,
}

/// A stream, cut into parts that fit into one packet each.
#[derive(Debug)]
pub(super) struct Stream {
    /// The first part that has not been sent.
    next_seq: u32,
    /// Bytes written and not sent once.
    unsent: u64,
    mss: u16,
    /// Lengths of the parts, one after the other, again and again.
    sizes: Vec<u16>,
    /// Which of them is the next part's.
    next_size: usize,
    /// Lost parts, to be sent again.
    resend: VecDeque<Part>,
}

impl Stream {
    /// An empty stream. Its parts have these `sizes` in turn, or all of them `mss` bytes where there are none.
    pub fn new(mss: u16, sizes: &[u16]) -> Stream {
        let sizes = if sizes.is_empty() { vec![mss] } else { sizes.to_vec() };
        Stream { next_seq: 0, unsent: 0, mss, sizes, next_size: 0, resend: VecDeque::new() }
    }

    /// The application hands over `segments` times `mss` bytes more; the last segment has only `last_len`.
    pub fn write(&mut self, segments: u32, last_len: u16) {
        if segments > 0 {
            self.unsent += u64::from(segments - 1) * u64::from(self.mss) + u64::from(last_len);
        }
    }

    /// Drops what has not been sent.
    pub fn close(&mut self) {
        self.unsent = 0;
    }

    /// Bytes that were written and have not been sent.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether there is nothing to send, neither new nor lost.
    #[inline]
    pub fn has_sent_all(&self) -> bool {
        self.resend.is_empty() && self.unsent == 0
    }

    /// A part was lost and is to be sent again.
    pub fn send_again(&mut self, part: Part) {
        self.resend.push_back(part);
    }

    /// Part `seq` has arrived after all; it need not be sent again if that has not happened yet.
    pub fn arrived(&mut self, seq: u32) {
        self.resend.retain(|waiting| waiting.seq != seq);
    }

    /// The part to send next, and whether it was sent before.
    #[inline]
    pub fn take(&mut self) -> Option<(Part, bool)> {
        if let Some(part) = self.resend.pop_front() {
            return Some((part, true));
        }
        if self.unsent == 0 {
            return None;
        }
        let size = self.sizes[self.next_size];
        let len = u16::try_from(self.unsent).map_or(size, |unsent| unsent.min(size));
        self.next_size = if self.next_size + 1 == self.sizes.len() { 0 } else { self.next_size + 1 };
        self.unsent -= u64::from(len);
        self.next_seq += 1;
        Some((Part { seq: self.next_seq - 1, len }, false))
    }

    /// Bytes of memory that the parts to send again [claim](claimed).
    pub fn memory(&self) -> u64 {
        claimed::<Part>(self.resend.len(), self.resend.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(seq: u32, len: u16) -> Part {
        Part { seq, len }
    }

    #[test]
    fn what_was_lost_goes_before_what_is_new() {
        let mut stream = Stream::new(1350, &[]);
        stream.write(3, 700);
        assert_eq!([(); 2].map(|()| stream.take()), [Some((part(0, 1350), false)), Some((part(1, 1350), false))]);
        stream.send_again(part(0, 1350));
        assert_eq!([(); 3].map(|()| stream.take()), [Some((part(0, 1350), true)), Some((part(2, 700), false)), None]);
        stream.send_again(part(1, 1350));
        stream.arrived(1);
        assert!(stream.has_sent_all());
    }

    #[test]
    fn what_is_not_sent_when_the_stream_closes_never_will_be() {
        let mut stream = Stream::new(1350, &[]);
        stream.write(3, 700);
        stream.take();
        stream.close();
        assert_eq!((stream.unsent(), stream.take()), (0, None));
    }

    #[test]
    fn parts_of_several_sizes_follow_each_other_until_all_bytes_are_sent() {
        let mut stream = Stream::new(1000, &[1400, 1400, 200]);
        stream.write(5, 700);
        let lengths: Vec<u16> = std::iter::from_fn(|| stream.take()).map(|(part, _)| part.len).collect();
        assert_eq!(lengths, [1400, 1400, 200, 1400, 300]);
    }
}
