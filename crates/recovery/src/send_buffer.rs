//! The send buffer of a socket (`sk_sndbuf`, `sk_wmem_queued`): how much may be written that nobody has acknowledged.
//!
//! An application that writes more waits. It goes on when the free room is at least half of what is used
//! (`sk_stream_write_space`), and then writes until the buffer is full. The buffer grows with the congestion window
//! while somebody waits for it (autotuning), and never shrinks: a window that has fallen leaves room for 2 to 2.5
//! windows of what was sent after it.
//!
//! What waits to be sent lies in buffers of its own (`sk_write_queue`), each as large as half of the receiver's largest
//! window when it was begun. Where one ends matters to bursts: only the last one, which may become larger, is deferred
//! although it fits into the window.
//!
//! Room is asked for when a buffer is begun, not when it is filled. So it matters when what is written leaves, too: a
//! burst of a full buffer makes room in it that is filled at once, whatever is in use, and where everything leaves
//! another buffer has to be begun. `tcp_sendmsg_locked` sends one burst where the buffer that it has filled is the
//! first one, and everything behind half of the largest window, at the end of a call, and before it waits.

use dumbbell_units::claimed;
use std::collections::VecDeque;

/// What a full segment is taken to need besides its payload when the buffer grows: headers (`MAX_TCP_HEADER`) and
/// `struct skb_shared_info`.
const SEGMENT_HEADERS: u64 = 256 + 320;
/// And `struct sk_buff`.
const SEGMENT_DESCRIPTION: u64 = 256;
/// Memory that a buffer (`skb`) takes besides its payload, in bytes: all of these.
pub(crate) const BUFFER_OVERHEAD: u64 = SEGMENT_HEADERS + SEGMENT_DESCRIPTION;
/// What an application hands over with one call that has more to write than that: as iperf3 does.
const CALL_BYTES: u64 = 128 << 10;
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
    /// By how many buffers selective acknowledgements have made those that were sent more ([`SendBuffer::split_by`]).
    pub split: isize,
    /// Bytes that segments lack of full ones.
    pub lacking: u32,
    /// Most segments of a buffer that is being filled (`tcp_xmit_size_goal`).
    pub goal: u32,
    /// Segments in half of the receiver's largest window (`max_window`): a buffer that ends farther above the last one
    /// with PSH has it, too (`forced_push`).
    pub half_window: u32,
}

/// A buffer of which something is unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unsent {
    /// One above its last segment.
    end: u32,
    /// Whether the last segment has PSH.
    is_pushed: bool,
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
    unsent: VecDeque<Unsent>,
    /// One above the last segment that has or had PSH (`pushed_seq`).
    pushed: u32,
    /// Where what the application is at begins, and one above its last segment.
    calls: (u32, u32),
    /// Segments that the application hands over with a call, unless that is more than it does at once.
    call: u32,
    /// Most bytes of a call.
    largest_call: u64,
    /// Bytes of a segment that the last call has written a part of: they lie in the last buffer, and the next call adds
    /// to them.
    rest: u16,
    progress: Progress,
    writer: Writer,
    push: Push,
}

/// What may leave before the application that is at work writes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Push {
    /// Nothing: it goes on at once.
    Nothing,
    /// One burst, however small (`tcp_push_one`).
    One,
    /// Everything that the window allows (`__tcp_push_pending_frames`).
    All,
}

/// How far the application is with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It is over.
    Over,
    /// The call has begun, and there was no room for any of it.
    Begun,
    /// A part of it is written.
    Within,
    /// All of it is written but the part of a segment with which it ends.
    LacksRest,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// It has nothing to write, or was not stopped by the buffer.
    Content,
    /// It is at work, and goes on when what may [leave](Push) has left.
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
        SendBuffer {
            size: first,
            max,
            mss: u64::from(mss),
            sent: VecDeque::new(),
            unsent: VecDeque::new(),
            pushed: 0,
            calls: (0, 0),
            call: u32::MAX,
            largest_call: CALL_BYTES,
            rest: 0,
            progress: Progress::Over,
            writer: Writer::Content,
            push: Push::All,
        }
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

    /// Makes room for `factor` times `segments` of full size that may be in flight, of which `largest_segment` bytes
    /// are payload, options included; it never shrinks (`tcp_sndbuf_expand`).
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
        if self.unsent.front().is_some_and(|first| first.end <= end) {
            self.unsent.pop_front();
        }
    }

    /// A segment of the next buffer is cut where the receive window ends, and so what is written after it is so many
    /// segments `more`, up to `end`, and all that the application has to write so many `more_offered`. Each buffer ends
    /// where it did: with the segment in which that is now. So does what the application hands over with a call.
    pub fn note_cut(&mut self, end: u32, more: u32, more_offered: u32) {
        for buffer in &mut self.unsent {
            buffer.end = (buffer.end + more).min(end);
        }
        self.pushed = (self.pushed + more).min(end);
        self.calls = (self.calls.0 + more, self.calls.1.saturating_add(more_offered));
    }

    /// The application has `segments` more to write, and so many with each call as long as it cannot write them.
    pub fn note_call(&mut self, segments: u32) {
        self.call = segments.max(1);
    }

    /// What the application hands over with one call is at most so many bytes, 128 KiB if nobody says so.
    pub fn set_largest_call(&mut self, bytes: u64) {
        self.largest_call = bytes;
    }

    /// Whether the next buffer ends at `end`, and with PSH.
    pub fn pushes_at(&self, end: u32) -> bool {
        self.unsent.front() == Some(&Unsent { end, is_pushed: true })
    }

    /// How many segments the buffer holds that begins at `nxt`, with a [rest](SendBuffer::rest) as the last one, and
    /// whether it is the last buffer, to which the application may add. What it lacks of the `quota` that may leave as
    /// one burst it takes from the next one (`tcp_grow_skb`).
    pub fn next_buffer(&mut self, nxt: u32, quota: u32) -> (u32, bool) {
        let wanted = nxt + quota;
        match self.unsent.get(1).copied() {
            Some(second) if self.unsent[0].end < wanted && second.end <= wanted => {
                let is_pushed = self.unsent[0].is_pushed || second.is_pushed;
                self.unsent.pop_front();
                self.unsent[0].is_pushed = is_pushed;
            }
            Some(_) => self.unsent[0].end = self.unsent[0].end.max(wanted),
            None => {}
        }
        let is_last = self.unsent.len() <= 1;
        let has_rest = is_last && self.rest() > 0;
        (self.unsent.front().map_or(0, |first| first.end - nxt) + u32::from(has_rest), is_last)
    }

    /// Bytes of a part of a segment that may be sent: at the end of a call everything may.
    #[inline]
    pub fn rest(&self) -> u16 {
        if self.is_written() && self.push == Push::All { self.rest } else { 0 }
    }

    /// They have left as the segment below `end`, and the next call begins with a new one.
    pub fn note_rest_sent(&mut self, end: u32) {
        self.rest = 0;
        self.calls.0 = end;
        self.unsent.pop_back();
        self.unsent.push_back(Unsent { end, is_pushed: true });
        self.pushed = end;
    }

    /// By how many the buffers that were sent become more where these runs of segments are selectively acknowledged,
    /// each from its first one to one above its last. A run becomes a buffer of its own, which takes in all those that
    /// lie within it (`tcp_shift_skb_data`).
    pub fn split_by(&self, runs: impl Iterator<Item = (u32, u32)>) -> isize {
        let within = |(first, end): (u32, u32)| {
            let before = self.sent.partition_point(|&buffer| buffer < first) + 1;
            self.sent.partition_point(|&buffer| buffer <= end).saturating_sub(before)
        };
        runs.map(|run| 1 - within(run).cast_signed()).sum()
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

    /// The application has segments up to `offered` to write; returns one above those that the socket takes now: what
    /// fills the last buffer, whatever is used, or one more buffer as long as there is room, but no more than a call
    /// hands over. It is asked again when what it wrote has left as far as that [goes](Push), and waits when nothing
    /// more is taken (`tcp_sendmsg_locked`).
    pub fn write(&mut self, held: Held, offered: u32) -> u32 {
        let mut end = held.end;
        while self.writer != Writer::Waiting {
            end = self.write_once(Held { end, ..held }, offered);
            if self.push != Push::Nothing {
                break;
            }
        }
        end
    }

    fn write_once(&mut self, held: Held, offered: u32) -> u32 {
        let begun = self.unsent.len().checked_sub(2).map_or(held.nxt, |before| self.unsent[before].end);
        let room_in_last = held.goal.saturating_sub(held.end - begun);
        let fills = (!self.unsent.is_empty() || self.rest > 0) && room_in_last > 0;
        let taken = if fills {
            room_in_last
        } else if self.rest > 0 || self.used(held) < self.size {
            // A part of a segment behind a full buffer lies in another one already.
            held.goal
        } else {
            0
        };
        let (call_end, rest) = self.end_of_call(held.end, offered);
        let end = offered.min(call_end).min(held.end.saturating_add(taken));
        self.writer = match taken {
            _ if end == offered => Writer::Content,
            0 => Writer::Waiting,
            _ => Writer::Writing,
        };
        let last = if fills { self.unsent.pop_back() } else { None };
        if taken > 0 && end > held.nxt {
            let is_same_call = matches!(self.progress, Progress::Within | Progress::LacksRest);
            let keeps_push = is_same_call && last.is_some_and(|last| last.is_pushed);
            self.unsent.push_back(Unsent { end, is_pushed: keeps_push });
        }
        if taken > 0 {
            self.rest = 0;
            // What a call has left of a segment needs another buffer behind a full one, for which there may be no room.
            let first = if fills { begun } else { held.end };
            let takes_rest = rest == 0 || end - first < held.goal || self.used(Held { end, ..held }) < self.size;
            self.progress = if end < call_end {
                Progress::Within
            } else if takes_rest {
                Progress::Over
            } else {
                Progress::LacksRest
            };
        } else if self.progress == Progress::Over {
            self.progress = Progress::Begun;
        }
        let ends_call = self.progress == Progress::Over;
        if ends_call {
            self.rest = rest;
        }
        self.push = if ends_call || !self.is_written() || end.saturating_sub(self.pushed) > held.half_window {
            self.push(end);
            Push::All
        } else if self.unsent.len() <= 1 {
            Push::One
        } else {
            Push::Nothing
        };
        end
    }

    /// Where the call ends of which what follows `begun` is a part, if all that is written ends at `offered`, and how
    /// many bytes of the next segment belong to it: those of an endless stream seldom end with one.
    fn end_of_call(&mut self, begun: u32, offered: u32) -> (u32, u16) {
        if self.calls.1 != offered {
            self.calls = (begun, offered);
        }
        let is_endless = offered == u32::MAX;
        let whole = (self.largest_call / self.mss).clamp(1, u64::from(self.call));
        let call = if is_endless { self.largest_call } else { whole * self.mss };
        // In whole segments it is beyond what is written.
        let written = u64::from(begun - self.calls.0 + 1) * self.mss;
        let end = written.div_ceil(call) * call;
        let segments = u32::try_from(end / self.mss).unwrap_or(u32::MAX);
        (self.calls.0.saturating_add(segments), u16::try_from(end % self.mss).unwrap_or(0))
    }

    /// The last buffer, which ends at `end`, ends with PSH (`tcp_mark_push`), unless a part of a segment follows, which
    /// has it then. It stays where the same call adds to the buffer, and the next one takes it away with the first
    /// bytes that it adds.
    fn push(&mut self, end: u32) {
        self.pushed = end;
        if let Some(last) = self.unsent.back_mut().filter(|_| self.rest == 0) {
            last.is_pushed = true;
        }
    }

    /// Whether the application is at work.
    #[inline]
    fn is_written(&self) -> bool {
        self.writer == Writer::Writing
    }

    /// Whether an application at work has filled the buffer that is to be sent next: then a burst of it leaves at once,
    /// however small, and the application writes more (`tcp_push_one`).
    #[inline]
    pub fn pushes_one(&self) -> bool {
        self.is_written() && self.push == Push::One
    }

    /// Whether what the application [writes](SendBuffer::write) next begins a call, but for the end of the one before.
    #[inline]
    pub fn begins_call(&self) -> bool {
        matches!(self.progress, Progress::Over | Progress::LacksRest)
    }

    /// Whether the application is to be asked what it [writes](SendBuffer::write).
    #[inline]
    pub fn has_writer(&self) -> bool {
        matches!(self.writer, Writer::Writing | Writer::Woken)
    }

    /// The application has nothing more to write. A part of a segment is left out.
    pub fn close(&mut self) {
        self.rest = 0;
        self.progress = Progress::Over;
        self.calls = (0, 0);
        self.writer = Writer::Content;
    }

    /// Bytes in use (`sk_wmem_queued`).
    fn used(&mut self, held: Held) -> u64 {
        while self.sent.front().is_some_and(|&end| end <= held.una) {
            self.sent.pop_front();
        }
        let sent = self.sent.len().saturating_add_signed(held.split) as u64;
        let unsent = self.unsent.len().max(usize::from(self.rest > 0)) as u64;
        let payload = (u64::from(held.end - held.una) * self.mss).saturating_sub(u64::from(held.lacking));
        payload + u64::from(self.rest) + (sent + unsent) * BUFFER_OVERHEAD
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<u32>(self.sent.len(), self.sent.capacity())
            + claimed::<Unsent>(self.unsent.len(), self.unsent.capacity())
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
        Held { una, nxt, end, split: 0, lacking: 0, goal: 40, half_window: 40 }
    }

    #[test]
    fn who_writes_after_an_end_fills_the_last_buffer() {
        let mut socket = SendBuffer::autotuned(buffer(60), buffer(60), 1_000);
        assert_eq!(socket.write(held(0, 0, 0), 200), 40);
        socket.note_sent(5);
        socket.close();
        assert!(!socket.has_writer() && !socket.is_awaited());
        assert_eq!(socket.write(held(0, 5, 40), 50), 45);
        assert_eq!(socket.write(held(0, 5, 45), 50), 50, "the second one");
    }

    #[test]
    fn only_the_last_buffer_may_become_larger_and_others_take_from_the_next_one_what_a_burst_lacks() {
        let mut socket = SendBuffer::autotuned(1 << 20, 1 << 20, 1_000);
        assert_eq!(socket.write(held(0, 0, 0), 100), 40);
        assert_eq!(socket.write(held(0, 0, 40), 100), 80);
        assert_eq!(socket.write(held(0, 0, 80), 100), 100);
        assert_eq!(socket.next_buffer(0, 10), (40, false));
        socket.note_sent(36);
        assert_eq!(socket.next_buffer(36, 3), (4, false), "more than may leave");
        assert_eq!(socket.next_buffer(36, 10), (10, false), "six segments of the second one");
        socket.note_sent(46);
        assert_eq!(socket.next_buffer(46, 10), (34, false));
        socket.note_sent(76);
        assert_eq!(socket.next_buffer(76, 30), (24, true), "all of the third one, which is the last");
        socket.note_sent(100);
        assert_eq!(socket.next_buffer(100, 30), (0, true));
    }

    #[test]
    fn buffers_behind_a_cut_segment_end_one_segment_later() {
        let mut socket = SendBuffer::autotuned(1 << 20, 1 << 20, 1_000);
        assert_eq!(socket.write(held(0, 0, 0), 100), 40);
        assert_eq!(socket.write(held(0, 0, 40), 100), 80);
        assert_eq!(socket.write(held(0, 0, 80), 100), 100);
        socket.note_cut(101, 1, 1);
        socket.note_sent(11);
        assert_eq!(socket.next_buffer(11, 10), (30, false));
        socket.note_sent(41);
        assert_eq!(socket.next_buffer(41, 10), (40, false));
        socket.note_sent(81);
        assert_eq!(socket.next_buffer(81, 10), (20, true), "up to what is written");
    }

    #[test]
    fn a_call_that_holds_a_cut_segment_ends_one_segment_later() {
        let mut socket = SendBuffer::autotuned(1 << 20, 1 << 20, 1_000);
        assert_eq!(socket.end_of_call(0, 300), (131, 0));
        socket.note_cut(101, 1, 1);
        assert_eq!(socket.end_of_call(101, 301), (132, 0), "131 segments, of which one is in two pieces");
    }

    #[test]
    fn buffers_far_above_the_last_psh_and_the_last_one_end_with_psh() {
        let mut socket = SendBuffer::autotuned(buffer(200), buffer(200), 1_000);
        let mut end = 0;
        while socket.has_writer() || end == 0 {
            end = socket.write(held(0, 0, end), 1_000);
        }
        let pushed = |socket: &SendBuffer| socket.unsent.iter().map(|one| (one.end, one.is_pushed)).collect::<Vec<_>>();
        // The first call has 131 segments; of what it pushed the second one made more.
        assert_eq!(pushed(&socket), [(40, false), (80, true), (120, false), (160, false), (200, true)]);
        assert_eq!(socket.next_buffer(0, 50), (50, false));
        assert_eq!(socket.next_buffer(0, 90), (80, false), "all of the second one");
        assert!(socket.pushes_at(80) && !socket.pushes_at(70), "with its PSH");
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
        // 80 - una segments, (60 - una)/2 buffers that were sent and one that was not: 54,816 bytes at 36, 51,984 at
        // 38.
        assert_eq!([30, 36, 38].map(wakes), [false, false, true]);
        assert_eq!(socket.write(held(38, 60, 80), 500), 80, "it has not been woken");
        let wakes_with = |lacking| {
            let mut socket = socket.clone();
            socket.wake_writer(Held { lacking, ..held(36, 60, 80) });
            socket.has_writer()
        };
        assert_eq!([372, 373].map(wakes_with), [false, true], "of short segments only what they have takes room");
        socket.wake_writer(held(38, 60, 80));
        assert_eq!(socket.write(held(38, 60, 80), 500), 100, "the last buffer has room for what has left of it");
        assert_eq!(socket.write(held(38, 60, 100), 120), 120, "the end of what there is to write");
        assert!(!socket.has_writer() && !socket.is_awaited());
    }

    #[test]
    fn a_filled_buffer_that_is_sent_next_is_pushed_without_waiting_for_more() {
        let mut socket = SendBuffer::autotuned(1 << 20, 1 << 20, 1_000);
        assert_eq!(socket.write(held(0, 0, 0), 500), 40);
        assert!(socket.pushes_one(), "it is the first one, and full");
        assert_eq!(socket.write(held(0, 0, 40), 500), 80);
        assert!(!socket.pushes_one(), "the one before it is sent next");
        socket.note_sent(40);
        assert!(!socket.pushes_one(), "it ends with PSH: everything is pushed");
        socket.note_sent(80);
        assert_eq!(socket.write(held(40, 80, 80), 100), 100);
        assert!(!socket.pushes_one(), "the application has written all");
    }

    /// What Linux 7.2 wrote in the first round trips of a flow with 64,000 bytes (instrumented `tcp_sendmsg_locked`).
    #[test]
    fn everything_leaves_behind_half_a_window_and_at_the_end_of_a_call_but_one_burst_otherwise() {
        let mut socket = SendBuffer::fixed(32_000, 1_448);
        let mut write = |una, nxt, end, half_window: u32| {
            socket.wake_writer(held(una, nxt, end));
            for sent in (una + 2..=nxt).step_by(2) {
                if socket.sent.back().is_none_or(|&last| last < sent) {
                    socket.note_sent(sent);
                }
            }
            let end = socket.write(Held { goal: half_window.min(45), half_window, ..held(una, nxt, end) }, u32::MAX);
            (end, socket.push, socket.rest)
        };
        assert_eq!(write(0, 0, 0, 22), (22, Push::One, 0));
        assert_eq!(write(0, 2, 22, 22), (24, Push::All, 0), "24 segments without PSH");
        assert_eq!(write(0, 10, 24, 22), (32, Push::One, 0), "what the window has left of the buffer");
        assert_eq!(write(0, 10, 32, 22), (54, Push::All, 0), "30 segments without PSH");
        assert_eq!(write(0, 10, 54, 22), (54, Push::All, 0), "no room");
        assert_eq!(write(32, 54, 54, 28), (82, Push::One, 0));
        assert_eq!(write(32, 56, 82, 28), (84, Push::All, 0));
        assert_eq!(write(32, 74, 84, 28), (90, Push::All, 752), "the end of the first call");
        assert_eq!(write(32, 74, 90, 28), (102, Push::One, 0), "the second one fills the buffer");
        assert_eq!(write(32, 74, 102, 28), (102, Push::All, 0));
        assert!(socket.is_awaited());
    }

    #[test]
    fn a_buffer_keeps_its_psh_when_the_same_call_goes_on() {
        let mut socket = SendBuffer::fixed(buffer(20), 1_000);
        assert_eq!(socket.write(held(0, 0, 0), u32::MAX), 40);
        socket.note_sent(20);
        assert_eq!(socket.write(held(0, 20, 40), u32::MAX), 60, "40 segments behind the last PSH, but not more");
        assert_eq!(socket.write(held(0, 20, 60), u32::MAX), 60);
        assert!(socket.is_awaited() && socket.pushes_at(60), "before it waits");
        socket.note_sent(34);
        socket.wake_writer(held(34, 34, 60));
        assert_eq!(socket.write(held(34, 34, 60), u32::MAX), 74);
        assert!(socket.pushes_at(74), "the first call has 131 segments");
    }

    #[test]
    fn a_part_of_a_segment_leaves_at_the_end_of_a_call_or_is_filled_by_the_next_one() {
        let mut socket = SendBuffer::autotuned(1 << 20, 1 << 20, 1_000);
        let at = |nxt, end| Held { goal: 100, half_window: 200, ..held(0, nxt, end) };
        assert_eq!(socket.write(at(0, 0), u32::MAX), 100);
        socket.note_sent(40);
        assert_eq!(socket.write(at(40, 100), u32::MAX), 131, "131,072 bytes");
        assert_eq!((socket.next_buffer(40, 10), socket.rest()), ((92, true), 72));
        let mut filled = socket.clone();
        assert_eq!(filled.write(at(131, 131), u32::MAX), 231, "whatever is used");
        assert_eq!(filled.next_buffer(131, 10), (100, true));
        socket.note_rest_sent(132);
        assert!(socket.pushes_at(132));
        socket.note_sent(132);
        assert_eq!(socket.write(at(132, 132), u32::MAX), 232);
        assert_eq!(socket.end_of_call(232, u32::MAX), (263, 72), "131,072 bytes behind the short segment");
    }

    #[test]
    fn a_call_that_ends_behind_a_full_buffer_needs_room_for_another_one() {
        // The call ends 72 bytes behind the buffer that ends with its 131st segment.
        let full_at_the_end = |size| {
            let mut socket = SendBuffer::autotuned(size, size, 1_000);
            let at = |end| Held { goal: 131, half_window: 200, ..held(0, 0, end) };
            let end = socket.write(at(0), u32::MAX);
            assert_eq!(end, 131);
            let again = socket.write(at(end), u32::MAX);
            (socket, again)
        };
        let (waits, end) = full_at_the_end(buffer(131));
        assert_eq!((end, waits.rest(), waits.is_awaited()), (131, 0, true));
        assert!(waits.pushes_at(131), "before it waits");
        assert!(waits.begins_call(), "with the 72 bytes its call ends");
        let (goes_on, end) = full_at_the_end(buffer(131) + 1);
        assert_eq!(
            (end, goes_on.rest()),
            (262, 0),
            "in a buffer of its own, which the next call fills, whatever is used"
        );
    }

    #[test]
    fn a_call_begins_where_the_one_before_it_ends_and_may_wait_at_once() {
        let mut socket = SendBuffer::autotuned(buffer(130), buffer(130), 1_000);
        socket.set_largest_call(80_000);
        let mut end = 0;
        let mut beginnings = Vec::new();
        while !socket.is_awaited() {
            if socket.begins_call() {
                beginnings.push(end);
            }
            end = socket.write(held(0, 0, end), u32::MAX);
        }
        assert_eq!((beginnings, end), (vec![0, 80, 160], 160));
        assert!(!socket.begins_call(), "the third call has begun, without room");
    }

    #[test]
    fn what_could_not_be_written_follows_in_calls_of_the_size_that_the_application_has() {
        let mut socket = SendBuffer::autotuned(buffer(40), buffer(40), 1_000);
        socket.note_call(2);
        assert_eq!(socket.write(held(0, 0, 0), 100), 2, "all may leave before the next call");
        assert!(socket.has_writer() && socket.pushes_at(2));
        socket.note_sent(2);
        assert_eq!(socket.write(held(0, 2, 2), 100), 4);
        socket.note_call(50);
        socket.note_sent(4);
        assert_eq!(socket.write(held(0, 4, 4), 100), 44, "as much as a buffer holds");
    }

    #[test]
    fn a_call_is_as_large_as_the_application_says() {
        let ends_of_calls = |largest: Option<u64>| {
            let mut socket = SendBuffer::autotuned(1 << 30, 1 << 30, 1_000);
            if let Some(bytes) = largest {
                socket.set_largest_call(bytes);
            }
            socket.end_of_call(0, 400).0
        };
        assert_eq!(ends_of_calls(None), 131, "whole segments of 128 KiB");
        assert_eq!(ends_of_calls(Some(300_000)), 300);
    }

    #[test]
    fn what_is_selectively_acknowledged_is_merged() {
        let mut socket = SendBuffer::autotuned(100_000, 100_000, 1_000);
        for end in 1..=40 {
            socket.note_sent(end);
        }
        assert_eq!(socket.used(held(0, 40, 40)), 40 * buffer(1));
        let mut used = |runs: &[(u32, u32)]| {
            let split = socket.split_by(runs.iter().copied());
            socket.used(Held { split, ..held(0, 40, 40) })
        };
        let buffers = |count| 40 * 1_000 + count * BUFFER_OVERHEAD;
        assert_eq!(used(&[(10, 40)]), buffers(11));
        assert_eq!(used(&[(1, 11), (20, 25), (35, 40)]), buffers(40 - 20 + 3));
        assert_eq!(used(&[(7, 8)]), buffers(40), "alone");
        assert_eq!(used(&[]), buffers(40));
        socket.unsent.extend([80, 100].map(|end| Unsent { end, is_pushed: false }));
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
