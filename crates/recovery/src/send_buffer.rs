//! The send buffer of a socket (`sk_sndbuf`, `sk_wmem_queued`): how much may be written that nobody has acknowledged.
//!
//! An application that writes more waits. It goes on when the free room is at least half of what is used
//! (`sk_stream_write_space`), and then writes until the buffer is full. The buffer grows with the congestion window while
//! somebody waits for it (autotuning), and never shrinks: a window that has fallen leaves room for 2 to 2.5 windows of what
//! was sent after it.

use dumbbell_units::claimed;
use std::collections::VecDeque;

/// What a full segment is taken to need besides its payload when the buffer grows: headers (`MAX_TCP_HEADER`) and
/// `struct skb_shared_info`.
const SEGMENT_HEADERS: u64 = 256 + 320;
/// And `struct sk_buff`.
const SEGMENT_DESCRIPTION: u64 = 256;
/// Memory that a buffer (`skb`) takes besides its payload, in bytes: all of these.
pub(crate) const BUFFER_OVERHEAD: u64 = SEGMENT_HEADERS + SEGMENT_DESCRIPTION;
/// Fewest segments that autotuning makes room for (`TCP_INIT_CWND`).
const FEWEST_SEGMENTS: u32 = 10;

/// What the socket holds, in segments: sent and not acknowledged up to `nxt`, then unsent.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Lowest segment that is not acknowledged (`snd_una`).
    pub una: u32,
    /// One above the highest segment sent (`snd_nxt`).
    pub nxt: u32,
    /// One above the highest segment written (`write_seq`).
    pub end: u32,
    /// Segments that are selectively acknowledged; the kernel merges their buffers.
    pub sacked: u32,
    /// Most segments of a buffer that is being filled (`tcp_xmit_size_goal`).
    pub goal: u32,
}

/// The send buffer of a connection.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    /// Bytes (`sk_sndbuf`).
    size: u64,
    /// Largest size that autotuning gives it (`tcp_wmem[2]`); the size itself where the application has set it.
    max: u64,
    mss: u64,
    /// One above the last segment of each buffer that was sent and is not acknowledged.
    sent: VecDeque<u32>,
    /// First segment of the last unsent buffer, as it was when it was begun.
    tail: u32,
    writer: Writer,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// It has nothing to write, or was not stopped by the buffer.
    Content,
    /// It is at work: what leaves of the last buffer makes room in it at once.
    Writing,
    /// It waits for room (`SOCK_NOSPACE`).
    Waiting,
    /// There was enough room for it.
    Woken,
}

impl SendBuffer {
    /// A buffer for segments of `mss` bytes that has `first` bytes and is made larger by autotuning, up to `max`
    /// (`tcp_wmem`).
    pub fn autotuned(first: u64, max: u64, mss: u32) -> SendBuffer {
        SendBuffer { size: first, max, mss: u64::from(mss), sent: VecDeque::new(), tail: 0, writer: Writer::Content }
    }

    /// A buffer whose size the application has set: twice what it asked for (`SO_SNDBUF`).
    pub fn fixed(asked: u64, mss: u32) -> SendBuffer {
        let size = asked.saturating_mul(2);
        SendBuffer::autotuned(size, size, mss)
    }

    /// Bytes of it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Makes room for `factor` times `segments` of full size that may be in flight, of which `largest_segment` bytes are
    /// payload, options included; it never shrinks (`tcp_sndbuf_expand`).
    pub fn expand(&mut self, segments: u32, largest_segment: u32, factor: u32) {
        let segment = (u64::from(largest_segment) + SEGMENT_HEADERS).next_power_of_two() + SEGMENT_DESCRIPTION;
        let wanted = u64::from(factor) * u64::from(segments.max(FEWEST_SEGMENTS)) * segment;
        if self.size < wanted {
            self.size = wanted.min(self.max).max(self.size);
        }
    }

    /// The segments below `end` that were not sent before leave as one buffer (`tcp_event_new_data_sent`).
    pub fn note_sent(&mut self, end: u32) {
        self.sent.push_back(end);
    }

    /// Whether the application waits for room.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.writer == Writer::Waiting
    }

    /// Wakes the application if it waits and there is room enough (`tcp_new_space`, `sk_stream_write_space`).
    pub fn wake_writer(&mut self, held: Held) {
        let used = self.used(held);
        if self.is_awaited() && used < self.size && self.size - used >= used / 2 {
            self.writer = Writer::Woken;
        }
    }

    /// The application has segments up to `offered` to write; returns one above those that the socket takes now: what fills
    /// the last buffer, whatever is used, or one more buffer as long as there is room. It is asked again after every burst
    /// and when nothing may leave, and waits when nothing more is taken (`tcp_sendmsg_locked`).
    pub fn write(&mut self, held: Held, offered: u32) -> u32 {
        if self.writer == Writer::Waiting {
            return held.end;
        }
        // Nothing is left of a last buffer whose data the application has taken back.
        let in_last = held.end.checked_sub(self.tail.max(held.nxt));
        let room_in_last = in_last.map_or(0, |in_last| held.goal.saturating_sub(in_last));
        let taken = if held.nxt < held.end && room_in_last > 0 {
            room_in_last
        } else if self.used(held) < self.size {
            self.tail = held.end;
            held.goal
        } else {
            0
        };
        let end = offered.min(held.end.saturating_add(taken));
        self.writer = match taken {
            _ if end == offered => Writer::Content,
            0 => Writer::Waiting,
            _ => Writer::Writing,
        };
        end
    }

    /// Whether the application is at work.
    #[inline]
    pub fn is_written(&self) -> bool {
        self.writer == Writer::Writing
    }

    /// Whether the application is to be asked what it [writes](SendBuffer::write).
    #[inline]
    pub fn has_writer(&self) -> bool {
        matches!(self.writer, Writer::Writing | Writer::Woken)
    }

    /// The application has nothing more to write.
    pub fn close(&mut self) {
        self.writer = Writer::Content;
    }

    /// Bytes in use (`sk_wmem_queued`). A short last segment counts as a full one.
    fn used(&mut self, held: Held) -> u64 {
        while self.sent.front().is_some_and(|&end| end <= held.una) {
            self.sent.pop_front();
        }
        let outstanding = u64::from(held.nxt - held.una);
        let single = outstanding - u64::from(held.sacked).min(outstanding);
        let sent = (self.sent.len() as u64 * single).checked_div(outstanding).unwrap_or(0);
        let tail = self.tail.clamp(held.nxt, held.end);
        let unsent = (tail - held.nxt).div_ceil(held.goal) + u32::from(tail < held.end);
        u64::from(held.end - held.una) * self.mss + (sent + u64::from(unsent)) * BUFFER_OVERHEAD
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<u32>(self.sent.len(), self.sent.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of a buffer of `segments`.
    const fn buffer(segments: u64) -> u64 {
        1_000 * segments + BUFFER_OVERHEAD
    }

    fn held(una: u32, nxt: u32, end: u32) -> Held {
        Held { una, nxt, end, sacked: 0, goal: 40 }
    }

    #[test]
    fn data_that_was_taken_back_leaves_no_last_buffer_to_fill() {
        let mut send_buffer = SendBuffer::autotuned(buffer(60), buffer(60), 1_000);
        assert_eq!(send_buffer.write(held(0, 0, 0), 200), 40);
        assert_eq!(send_buffer.write(held(0, 0, 40), 200), 80, "a second buffer, from segment 40 on");
        // The application takes back everything from segment 10 on, and writes again: a buffer of its own.
        assert_eq!(send_buffer.write(held(0, 5, 10), 200), 50);
        assert_eq!(send_buffer.write(held(0, 5, 30), 200), 50, "which is filled before another one is begun");
    }

    #[test]
    fn autotuning_makes_room_for_two_windows_of_full_segments_and_takes_none_back() {
        let mut buffer = SendBuffer::autotuned(16_384, 1 << 20, 1_448);
        buffer.expand(3, 1_460, 2);
        assert_eq!(buffer.size(), 20 * 2_304, "ten segments at least");
        buffer.expand(100, 1_460, 3);
        assert_eq!(buffer.size(), 300 * 2_304);
        buffer.expand(10, 1_460, 2);
        assert_eq!(buffer.size(), 300 * 2_304);
        buffer.expand(1_000, 1_460, 2);
        assert_eq!(buffer.size(), 1 << 20);
        let mut larger = SendBuffer::autotuned(1 << 20, 4 << 20, 8_948);
        larger.expand(100, 8_960, 2);
        assert_eq!(larger.size(), 200 * (16_384 + 256));
    }

    #[test]
    fn an_application_fills_whole_buffers_and_waits_until_a_third_is_free() {
        let mut socket = SendBuffer::fixed(buffer(40), 1_000);
        // Twice what was asked for: two buffers are less than that only before the second one is filled.
        assert_eq!(socket.write(held(0, 0, 0), 500), 40);
        assert_eq!(socket.write(held(0, 0, 40), 500), 80);
        assert!(socket.is_written());
        assert_eq!(socket.write(held(0, 0, 80), 500), 80);
        assert!(socket.is_awaited() && !socket.has_writer());
        for end in (2..=60).step_by(2) {
            socket.note_sent(end);
        }
        let wakes = |una| {
            let mut socket = socket.clone();
            socket.wake_writer(held(una, 60, 80));
            socket.has_writer()
        };
        // 80 - una segments, (60 - una)/2 buffers that were sent and one that was not: 54,816 bytes at 36, 51,984 at 38.
        assert_eq!([30, 36, 38].map(wakes), [false, false, true]);
        assert_eq!(socket.write(held(38, 60, 80), 500), 80, "it has not been woken");
        socket.wake_writer(held(38, 60, 80));
        assert_eq!(socket.write(held(38, 60, 80), 500), 100, "the last buffer has room for what has left of it");
        assert_eq!(socket.write(held(38, 60, 100), 120), 120, "the end of what there is to write");
        assert!(!socket.has_writer() && !socket.is_awaited());
    }

    #[test]
    fn what_is_selectively_acknowledged_is_merged() {
        let mut socket = SendBuffer::autotuned(100_000, 100_000, 1_000);
        for end in 1..=40 {
            socket.note_sent(end);
        }
        assert_eq!(socket.used(held(0, 40, 40)), 40 * buffer(1));
        assert_eq!(socket.used(Held { sacked: 30, ..held(0, 40, 40) }), 40 * 1_000 + 10 * BUFFER_OVERHEAD);
        socket.tail = 80;
        assert_eq!(socket.used(held(20, 40, 100)), 20 * buffer(1) + 60 * 1_000 + 2 * BUFFER_OVERHEAD);
    }

    #[test]
    fn a_buffer_that_holds_what_is_written_stops_nobody() {
        let mut socket = SendBuffer::autotuned(1 << 20, 1 << 20, 1_000);
        assert_eq!(socket.write(held(0, 0, 0), 30), 30);
        assert!(!socket.is_awaited() && !socket.has_writer());
        socket.wake_writer(held(0, 10, 30));
        assert!(!socket.has_writer());
    }
}
