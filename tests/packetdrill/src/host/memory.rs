//! The receive buffer of an application that has asked for one (`SO_RCVBUF`), or that may shrink (`tcp_shrink_window`):
//! memory that packets occupy until they are read, the window that follows from what is free, and what arrives beyond
//! either.
//!
//! The endpoints count their windows in segments. Such a buffer is counted in bytes, and in the bytes that a packet
//! occupies with everything around it, so it is the host's (`__tcp_select_window`, `tcp_sequence`, `tcp_data_queue`).

use super::Emitted;
use super::connection::Connection;
use crate::script::{Flags, Packet};
use dumbbell_transport::Ack;
use dumbbell_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// The kernel takes twice what was asked for: as much again for what is around the data.
const OVERHEAD: u64 = 2;
/// The least buffer (`SOCK_MIN_RCVBUF`).
const SMALLEST: u64 = 2304;
/// The window field of a packet, and how far it is scaled at most.
const LARGEST_FIELD: u64 = 65_535;
const MOST_SCALE: u32 = 14;
/// Shares are counted in this.
const WHOLE: u64 = 256;
/// The share of payload before a packet has shown one.
const FIRST_SHARE: u64 = WHOLE / 2;
const PAGE: u64 = 4096;
/// Headers of a packet, and the room before and behind it.
const HEADERS: u64 = 40;
const BEFORE: u64 = 64;
const BEHIND: u64 = 320;
/// Shorter packets let no window grow.
const LEAST_GROWING: u64 = 128;
/// What describes a packet.
const DESCRIPTION: u64 = 256;

/// What happens to a packet with data, or with a FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is taken.
    Taken,
    /// It is taken although there is no room, and answered at once.
    TakenAndTold,
    /// It begins beyond every window that was told, or ends there while something waits: nothing of it counts.
    Unacceptable,
    /// Its data begins beyond the present window.
    Beyond,
    /// The window is closed.
    Closed,
    /// The window is open, and there is no memory.
    NoMemory,
}

/// How many packets were dropped, in the order of [`COUNTERS`](crate::judge::COUNTERS).
pub(super) type Dropped = [u64; 3];
const BEYOND: usize = 0;
const CLOSED: usize = 1;
const NO_MEMORY: usize = 2;

/// What a receive buffer begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    /// Bytes of memory.
    size: u64,
    /// Bytes that a window has to be able to tell.
    largest: u64,
    /// A window that was told may be taken back (`tcp_shrink_window`).
    may_shrink: bool,
}

impl Buffer {
    /// What an application gets that asks for so many bytes (`SO_RCVBUF`).
    pub fn asked(bytes: u64, may_shrink: bool) -> Buffer {
        let size = size_of(bytes);
        Buffer { size, largest: size * FIRST_SHARE / WHOLE, may_shrink }
    }

    /// What one gets that does not ask, before it has read anything (`tcp_rmem`).
    pub fn initial([_, size, largest]: [u64; 3], may_shrink: bool) -> Buffer {
        Buffer { size, largest, may_shrink }
    }
}

/// A receive buffer.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    size: u64,
    /// Which part of it is payload.
    share: u64,
    /// Where packets that wait end, and what they occupy.
    held: Vec<(u64, u64)>,
    used: u64,
    /// A window grows no further (`rcv_ssthresh`).
    threshold: u64,
    /// How far windows are shifted when they are told.
    scale: u32,
    may_shrink: bool,
    /// The window told last.
    told: Range<u64>,
    /// The end of the farthest window told (`rcv_mwnd_seq`).
    farthest: u64,
    dropped: Dropped,
}

impl Memory {
    /// An empty buffer, where segments of `mss` bytes are told of, and windows perhaps scaled.
    pub fn new(buffer: Buffer, mss: u64, is_scaled: bool) -> Memory {
        let Buffer { size, largest, may_shrink } = buffer;
        let payload = size * FIRST_SHARE / WHOLE;
        let window = if payload > mss { payload / mss * mss } else { payload }.min(LARGEST_FIELD);
        let is_enough = |scale: &u32| largest >> scale <= LARGEST_FIELD;
        let scale = if is_scaled { (0..MOST_SCALE).find(is_enough).unwrap_or(MOST_SCALE) } else { 0 };
        Memory {
            size,
            share: FIRST_SHARE,
            held: Vec::new(),
            used: 0,
            threshold: window,
            scale,
            may_shrink: may_shrink && scale > 0,
            told: 0..window,
            farthest: window,
            dropped: [0; 3],
        }
    }

    /// The application asks for another size.
    pub fn resize(&mut self, asked: u64) {
        self.size = size_of(asked);
    }

    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    fn payload(&self, bytes: u64) -> u64 {
        bytes * self.share / WHOLE
    }

    fn free(&self) -> u64 {
        self.payload(self.size.saturating_sub(self.used))
    }

    /// What is left of the told window where everything below `next` has come.
    fn left(&self, next: u64) -> u64 {
        self.told.end.saturating_sub(next)
    }

    /// A packet with the bytes `data` arrives, perhaps with a FIN behind them, where everything below `next` has come.
    pub fn judge(&mut self, data: &Range<u64>, has_fin: bool, next: u64, mss: u64) -> Fate {
        let farthest = self.farthest.max(next);
        let is_waiting = self.held.iter().any(|&(end, _)| end <= next);
        if data.end > farthest && (data.start > farthest || is_waiting) {
            self.dropped[BEYOND] += 1;
            return Fate::Unacceptable;
        }
        // What has come before takes no room.
        if data.end <= next && !(has_fin && data.end == next) {
            return Fate::Taken;
        }
        let left = self.left(next);
        if data.start > next && data.start >= next + left {
            self.dropped[BEYOND] += 1;
            return Fate::Beyond;
        }
        let is_bare_fin = data.is_empty() && has_fin;
        if left == 0 && !is_bare_fin {
            self.dropped[CLOSED] += 1;
            return Fate::Closed;
        }
        if self.used <= self.size {
            return Fate::Taken;
        }
        self.threshold = self.threshold.min(2 * mss);
        if is_waiting && !is_bare_fin {
            self.dropped[NO_MEMORY] += 1;
            self.told = next..next;
            return Fate::NoMemory;
        }
        Fate::TakenAndTold
    }

    /// A packet with the bytes `data` is taken, which perhaps has the longest segments so far. Returns whether windows
    /// may be larger from now on.
    pub fn take(&mut self, data: &Range<u64>, is_longest: bool) -> bool {
        let len = data.end - data.start;
        if len == 0 || self.held.iter().any(|&(end, _)| end == data.end) {
            return false;
        }
        let occupied = occupied(len);
        self.held.push((data.end, occupied));
        self.used += occupied;
        if is_longest {
            self.share = (len * WHOLE / occupied).max(1);
        }
        let room = self.payload(self.size).min(self.free()).saturating_sub(self.threshold);
        let growth = if len >= LEAST_GROWING { room.min(2 * len) } else { 0 };
        self.threshold += growth;
        growth > 0
    }

    /// The application has read everything below `read`.
    pub fn read(&mut self, read: u64) {
        self.held.retain(|&(end, _)| end > read);
        self.used = self.held.iter().map(|&(_, occupied)| occupied).sum();
    }

    /// The window that there is room for.
    fn window(&self, mss: u64) -> u64 {
        let full = self.payload(self.size);
        let (mut free, mss) = (self.free(), mss.min(full));
        if self.is_half_full() || self.may_shrink {
            free -= free % self.unit();
        }
        if self.is_half_full() && (free < full / 16 || free < mss) {
            return 0;
        }
        free = free.min(self.threshold);
        if self.scale > 0 {
            return free.next_multiple_of(self.unit());
        }
        let told = self.told.end - self.told.start;
        if told + mss <= free || told > free { free / mss.max(1) * mss } else { told }
    }

    /// Whether less than half of it is free: segments are not acknowledged quickly then.
    fn is_half_full(&self) -> bool {
        self.free() < self.payload(self.size) / 2
    }

    /// Whether an ACK of data in order waits for the timer: it would not move the end of the window.
    pub fn holds_back(&self, mss: u64) -> bool {
        self.is_half_full() && self.window(mss) < self.told.end - self.told.start
    }

    /// Everything below `next` is acknowledged: the window that is told, as a packet has it.
    pub fn tell(&mut self, next: u64, mss: u64) -> u64 {
        let left = self.left(next);
        let least = if self.may_shrink { 0 } else { left.next_multiple_of(self.unit()) };
        let window = self.window(mss).max(least);
        self.told = next..next + window;
        self.farthest = self.farthest.max(self.told.end);
        window.min(LARGEST_FIELD << self.scale) >> self.scale
    }

    fn unit(&self) -> u64 {
        1 << self.scale
    }

    /// Whether what the application has read opens the window so far that the other end is told at once.
    pub fn has_opened(&self, next: u64, mss: u64) -> bool {
        let left = self.left(next);
        let window = if 2 * left <= self.payload(self.size) { self.window(mss) } else { 0 };
        window > 0 && window >= 2 * left
    }
}

fn size_of(asked: u64) -> u64 {
    asked.saturating_mul(OVERHEAD).clamp(SMALLEST, u64::from(u32::MAX))
}

/// Memory that a packet with so many bytes occupies which comes from a virtual device (`truesize`, `tun_alloc_skb`): a
/// buffer of a power of two, or a page for the head and pages for the rest.
fn occupied(len: u64) -> u64 {
    let packet = len + HEADERS;
    let around = BEFORE + BEHIND;
    let buffer = if packet + BEFORE < PAGE {
        (packet + around).next_power_of_two()
    } else {
        PAGE + (packet + around).saturating_sub(PAGE).next_multiple_of(PAGE)
    };
    buffer + DESCRIPTION
}

impl Connection {
    /// `SO_RCVBUF` during the connection.
    pub(super) fn resize_memory(&mut self, asked: u64) {
        if let Some(memory) = &mut self.memory {
            memory.resize(asked);
            return;
        }
        let (next, unread) = (self.next_byte(), self.unread());
        let buffer = Buffer::asked(asked, false);
        let mut memory = Memory::new(buffer, u64::from(self.own_mss), self.peer.wscale.is_some());
        memory.take(&(next - unread..next), false);
        memory.tell(next, u64::from(self.rcv_mss));
        self.memory = Some(memory);
    }

    /// The first byte that has not come.
    fn next_byte(&self) -> u64 {
        self.incoming.byte(self.last_delivered())
    }

    fn data_of(&self, packet: &Packet) -> Range<u64> {
        let start = self.start_of(packet);
        start..start + u64::from(packet.len)
    }

    /// What happens to a packet with data or a FIN.
    pub(super) fn fate(&mut self, packet: &Packet) -> Fate {
        let (data, next, mss) = (self.data_of(packet), self.next_byte(), u64::from(self.rcv_mss));
        let is_old = data.end >= u64::from(u32::MAX / 2);
        match &mut self.memory {
            Some(memory) if packet.space() > 0 && !is_old => {
                memory.judge(&data, packet.flags.has(Flags::FIN), next, mss)
            }
            _ => Fate::Taken,
        }
    }

    /// Answers a packet that is dropped: what of it had come before is reported.
    pub(super) fn answer_dropped(&mut self, now: Time, packet: &Packet, sent: &mut VecDeque<Emitted>) {
        let (data, next) = (self.data_of(packet), self.next_byte());
        self.acknowledge_all(now, sent);
        let number = |byte: u64| self.peer.isn.wrapping_add(1).wrapping_add(byte as u32);
        let reports = self.dsack && self.peer.sack && data.start < next;
        if let Some(options) = sent.back_mut().filter(|_| reports).and_then(|answer| answer.packet.options.as_mut()) {
            options.sack.insert(0, (number(data.start), number(data.end.min(next))));
        }
    }

    /// A packet is taken, which perhaps has the longest segments so far.
    pub(super) fn keep(&mut self, packet: &Packet, is_longest: bool) {
        let data = self.data_of(packet);
        let Some(memory) = &mut self.memory else { return };
        if memory.take(&data, is_longest) {
            self.receiver.note_growth();
        }
        if memory.is_half_full() {
            self.receiver.note_scarcity();
        }
    }

    /// The receiver would answer a packet with `acks`: where the window cannot move, that of data in order waits.
    pub(super) fn hold_back(&mut self, now: Time, packet: &Packet, acks: &mut Vec<Ack>) {
        let (data, next, mss) = (self.data_of(packet), self.next_byte(), u64::from(self.rcv_mss));
        let has_gap = self.arrived.len() > self.last_delivered() as usize;
        let Some(memory) = &self.memory else { return };
        let is_plain = next == data.end && !has_gap && acks.iter().all(|ack| ack.sack_count == 0);
        if packet.len > 0 && is_plain && memory.holds_back(mss) {
            acks.clear();
            self.closing.delay_ack(now);
        }
    }

    /// The application has read: the other end is told where that opens the window far, or where ACKs have waited.
    pub(super) fn note_read(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        let (next, mss) = (self.next_byte(), u64::from(self.rcv_mss));
        let unacknowledged = next - self.incoming.byte(self.last_ack);
        let Some(memory) = &mut self.memory else { return };
        memory.read(self.read);
        let has_waited = self.closing.ack_due() != Time::NEVER && unacknowledged > mss;
        if !self.has_ended() && self.memory.as_ref().is_some_and(|memory| has_waited || memory.has_opened(next, mss)) {
            self.acknowledge_all(now, sent);
        }
    }

    /// A packet that leaves, with the window that it tells.
    pub(super) fn telling_window(&mut self, packet: Packet) -> Packet {
        let mss = u64::from(self.rcv_mss);
        let acknowledged = self.incoming.byte(self.last_ack.max(self.last_delivered()));
        let window = self.memory.as_mut().map(|memory| memory.tell(acknowledged, mss) as u32);
        Packet { window: window.or(packet.window), ..packet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 bytes, segments of 1000, windows to the byte.
    fn memory() -> Memory {
        Memory::new(Buffer::asked(20_000, false), 1000, false)
    }

    #[test]
    fn a_packet_alone_may_be_larger_than_the_buffer_and_closes_the_window() {
        let mut memory = memory();
        assert_eq!(memory.judge(&(0..60_000), false, 0, 1000), Fate::Taken);
        memory.take(&(0..60_000), true);
        assert!(memory.holds_back(1000), "the window cannot move");
        assert_eq!(memory.tell(60_000, 1000), 0);
        assert_eq!(memory.judge(&(60_000..61_000), false, 60_000, 1000), Fate::Unacceptable);
        assert_eq!(memory.judge(&(60_000..60_000), true, 60_000, 1000), Fate::TakenAndTold, "a FIN alone is taken");
        memory.read(60_000);
        assert!(memory.has_opened(60_000, 1000));
        assert_eq!(memory.dropped(), [1, 0, 0]);
    }

    #[test]
    fn what_ends_beyond_every_window_is_dropped_where_something_waits() {
        let mut memory = memory();
        memory.take(&(0..4000), true);
        memory.tell(4000, 1000);
        assert_eq!(memory.judge(&(4000..54_000), false, 4000, 1000), Fate::Unacceptable);
        assert_eq!(memory.judge(&(70_000..71_000), false, 4000, 1000), Fate::Unacceptable);
        memory.read(4000);
        assert_eq!(memory.judge(&(4000..54_000), false, 4000, 1000), Fate::Taken);
        assert_eq!(memory.judge(&(70_000..71_000), false, 4000, 1000), Fate::Unacceptable);
        assert_eq!(memory.dropped(), [3, 0, 0]);
    }

    #[test]
    fn a_buffer_that_shrinks_below_what_it_holds_has_no_memory() {
        let mut memory = memory();
        memory.take(&(0..10_000), true);
        memory.tell(10_000, 1000);
        memory.resize(2000);
        assert_eq!(memory.judge(&(10_000..11_000), false, 10_000, 1000), Fate::NoMemory);
        assert_eq!(memory.judge(&(10_000..11_000), false, 10_000, 1000), Fate::Closed, "the window is closed now");
    }

    #[test]
    fn a_window_is_taken_back_where_that_is_allowed() {
        let tell = |may_shrink| {
            let buffer = Buffer::initial([4096, 32_768, 32 << 20], may_shrink);
            let mut memory = Memory::new(buffer, 1460, true);
            memory.take(&(0..10_000), true);
            let first = memory.tell(10_000, 1000);
            memory.take(&(10_000..11_000), false);
            (first, memory.tell(11_000, 1000))
        };
        // 204 of 256 bytes are payload: 16,116 and then 14,280 bytes are free, in units of 1024.
        assert_eq!(tell(true), (15, 13));
        assert_eq!(tell(false), (16, 16), "what is told ends no earlier");
    }

    #[test]
    fn packets_occupy_buffers_of_a_power_of_two_or_pages() {
        assert_eq!([1, 1000, 1460, 4000, 20_000].map(occupied), [512 + 256, 2304, 2304, 8448, 20_736]);
    }

    #[test]
    fn the_window_is_half_the_memory_before_a_packet_has_shown_its_share() {
        let mut memory = Memory::new(Buffer::asked(10_000, false), 1460, false);
        assert_eq!(memory.told, 0..8760);
        memory.take(&(0..4000), true);
        // 4000 of 8448 bytes are payload, 11,552 are free: five segments.
        assert_eq!(memory.tell(4000, 1000), 5000);
    }
}
