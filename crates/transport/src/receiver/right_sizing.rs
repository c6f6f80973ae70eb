//! How a Linux receiver sizes its window (dynamic right-sizing).
//!
//! Two quantities grow, both counted in bytes. The *clamp* (`window_clamp`) is what the receive buffer can hold: once
//! per round trip the bytes that the application read are compared with the most it read in any round so far, and if
//! they are more the buffer is made large enough for a sender that doubles its window again. The *limit*
//! (`rcv_ssthresh`) bounds what is advertised: it follows the clamp by two segments for every segment that arrives, so
//! that the window does not jump and cause a burst.
//!
//! A *queued* segment takes room until it is read, whether it lies above a hole or waits for the application: the
//! payload's share of the memory that it occupies, which is a little less than its payload.
//!
//! While the limit grows, Linux acknowledges every segment instead of every second one. That decides the ACK pattern of
//! slow start, so this model runs even when the advertised window is constant. `docs/specs/tcp.md` section 15.4.

use crate::config::RightSizingRule;
use dumbbell_units::{Duration, Time};

/// Initial receive buffer (`tcp_rmem[1]`), and the half of it that holds payload before a segment shows its share.
const INITIAL_BUFFER_BYTES: u64 = 131_072;
const INITIAL_WINDOW_BYTES: u64 = INITIAL_BUFFER_BYTES / 2;
/// Segments that are not larger than this leave the payload's share at a half (`TCP_MSS_DEFAULT`).
const SMALLEST_MEASURED_MSS: u32 = 537;
/// Bytes of a packet besides its payload: IP, TCP and the timestamps.
const HEADERS: u64 = 52;
/// What a network device leaves free before a packet (`NET_SKB_PAD`), and the cache line that its memory ends with.
const HEADROOM: u64 = 64;
const CACHE_LINE: u64 = 64;
/// Behind a packet (`struct skb_shared_info`), and beside it (`struct sk_buff`).
const SHARED_INFO: u64 = 320;
const DESCRIPTION: u64 = 256;
/// The smallest buffer (`SKB_SMALL_HEAD_SIZE`). What is larger than a page lies in whole pages.
const SMALLEST_BUFFER: u64 = 576;
const PAGE: u64 = 4_096;
/// Segments the first round is compared with, if the limit allows so many (`TCP_INIT_CWND`).
const INITIAL_BEST_SEGMENTS: u64 = 10;
/// Segments that Linux gave to a window besides what was read (`tcp_rcv_space_adjust` before 6.16).
const CUSHION_SEGMENTS: u128 = 16;
/// Segments smaller than this do not let the limit grow.
const SMALLEST_GROWING_SEGMENT: u16 = 128;

/// A window: whole segments, and the bytes beyond them, which are less than a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Window {
    pub segments: u32,
    pub excess: u16,
}

/// Window and buffer of one receiver.
#[derive(Clone, Debug)]
pub(super) struct RightSizing {
    /// `rcv_ssthresh` in bytes.
    limit: u64,
    /// `window_clamp` in bytes.
    clamp: u64,
    /// Segments of the largest window.
    largest: u32,
    mss: u32,
    /// Bytes of the clamp that a queued segment takes.
    taken: u32,
    /// log2 of the bytes of the unit in which the window is told (`rcv_wscale`).
    scale: u8,
    rule: RightSizingRule,
    /// The window beside one segment, once it is known for this limit and clamp; no segments before.
    open: Window,
    /// Most bytes read by the application in one round trip (`rcvq_space.space`).
    best: u64,
    /// Bytes delivered when the current round began.
    round_start_bytes: u64,
    /// `NEVER` before the end of the handshake.
    round_start: Time,
    /// When the round has lasted a round trip; `NEVER` while the read that ends it is known.
    round_ends_at: Time,
}

impl RightSizing {
    /// A buffer of Linux's initial size that may grow to a window of `largest` segments of `mss` bytes, told in units
    /// of 2^`scale` bytes (`tcp_init_buffer_space`).
    pub(super) fn new(mss: u32, largest: u32, scale: u8, rule: RightSizingRule) -> RightSizing {
        let occupied = occupied_bytes(u64::from(mss));
        let share = payload_share_256(mss, occupied);
        let bytes = u64::from(mss);
        // A segment is reserved, where there are more than two.
        let reserve = if INITIAL_WINDOW_BYTES > 2 * bytes { bytes } else { 0 };
        let largest_bytes = u64::from(largest) * bytes;
        let limit = (INITIAL_WINDOW_BYTES / bytes * bytes).min(INITIAL_WINDOW_BYTES - reserve).min(largest_bytes);
        RightSizing {
            limit,
            clamp: (INITIAL_BUFFER_BYTES * share / 256).min(largest_bytes),
            largest,
            mss,
            taken: u32::try_from(occupied * share / 256).unwrap_or(u32::MAX),
            scale,
            rule,
            open: Window::default(),
            // Ten jumbo frames are more than may be sent at first.
            best: limit.min(INITIAL_BEST_SEGMENTS * bytes),
            round_start_bytes: 0,
            round_start: Time::NEVER,
            round_ends_at: Time::NEVER,
        }
    }

    /// The window in the SYN-ACK: whole segments of 65,536 bytes (`tcp_select_initial_window`).
    pub(super) fn first_window(&self) -> Window {
        let segments = u32::try_from(INITIAL_WINDOW_BYTES).unwrap_or(u32::MAX) / self.mss;
        Window { segments: segments.clamp(1, self.largest), excess: 0 }
    }

    /// Bytes of the clamp beside `queued` segments (`tcp_space`).
    #[inline]
    fn free(&self, queued: u32) -> u64 {
        self.clamp.saturating_sub(u64::from(queued) * u64::from(self.taken))
    }

    /// The window to advertise beside `queued` segments in bytes: whole units, rounded up, unless the room itself is
    /// scarce and bounds it (`__tcp_select_window`).
    #[inline]
    fn offer(&self, queued: u32) -> u64 {
        let mut free = self.free(queued);
        if free < self.clamp / 2 {
            free = self.round_down(free);
            if free < self.clamp / 16 || free < u64::from(self.mss) {
                return 0;
            }
        }
        self.round_up(free.min(self.limit))
    }

    #[inline]
    fn round_down(&self, bytes: u64) -> u64 {
        bytes >> self.scale << self.scale
    }

    #[inline]
    fn round_up(&self, bytes: u64) -> u64 {
        self.round_down(bytes + (1 << self.scale) - 1)
    }

    /// The window to advertise when nothing is queued but the segment that has just arrived, which takes room until it
    /// is read. Where it alone is half the buffer it is taken for read: no window would be left.
    #[inline]
    pub(super) fn open(&mut self) -> Window {
        if self.open.segments == 0 {
            self.open = self.find_open();
        }
        self.open
    }

    #[inline(never)]
    fn find_open(&self) -> Window {
        self.in_segments(self.offer(self.arrived()))
    }

    /// Segments for which the one that has just arrived counts until it is read: where it alone is half the buffer it
    /// is taken for read, because no window would be left.
    #[inline]
    pub(super) fn arrived(&self) -> u32 {
        u32::from(!self.is_scarce(1))
    }

    /// The window to advertise beside `queued` segments, unless it is smaller than what is `left` of the last one.
    #[inline]
    pub(super) fn window_from(&mut self, left: Window, queued: u32) -> Option<Window> {
        // Nearly always the limit leaves room for that segment.
        if queued == 0 && self.limit <= self.free(1) {
            return Some(self.open());
        }
        let offer = self.offer(queued);
        (offer >= self.in_bytes(left)).then(|| self.in_segments(offer))
    }

    /// What of a window is left when its left edge has moved, as it is told: in whole units, rounded up
    /// (`tcp_select_window`).
    pub(super) fn told(&self, left: Window) -> Window {
        self.in_segments(self.round_up(self.in_bytes(left)))
    }

    /// Whether the window that would be told is not below the last one told, although `unread` segments take room,
    /// because both are the same number of units (`__tcp_select_window`). The last one was told when at most one
    /// segment took room: the limit does not grow beyond that.
    pub(super) fn hides(&self, unread: u32, held: u32) -> bool {
        self.offer(held.saturating_add(unread)) >= self.offer(held.saturating_add(1))
    }

    /// Whether the window is at least twice what is `left` of the last one told once no more than `queued` segments
    /// take room, so that the application's read is announced (`__tcp_cleanup_rbuf`).
    pub(super) fn doubles(&self, left: Window, queued: u32) -> bool {
        let left = 2 * self.in_bytes(left);
        left <= self.clamp && self.offer(queued) >= left.max(1)
    }

    /// Whether a segment of `len` bytes is shorter than a full one.
    #[inline]
    pub(super) fn is_short(&self, len: u16) -> bool {
        u32::from(len) < self.mss
    }

    /// By how many bytes `segments` with so many are shorter than full ones.
    pub(super) fn lacking(&self, segments: u32, bytes: u64) -> u64 {
        self.in_bytes_of(segments).saturating_sub(bytes)
    }

    /// Where a window ends, a segment and some bytes of it, so many bytes further on.
    pub(super) fn moved(&self, (edge, excess): (u32, u16), bytes: u64) -> (u32, u16) {
        let beyond = self.in_segments(u64::from(excess) + bytes);
        (edge.saturating_add(beyond.segments), beyond.excess)
    }

    /// Whether `queued` segments fill more than half the buffer.
    #[inline]
    pub(super) fn is_scarce(&self, queued: u32) -> bool {
        self.free(queued) < self.clamp / 2
    }

    /// Whether the limit may grow beside `queued` segments.
    #[inline]
    pub(super) fn can_grow(&self, queued: u32) -> bool {
        self.limit < self.free(queued)
    }

    /// Whether the limit may grow while up to `count` segments join `held` ones, which reach `span` segments beyond the
    /// first hole, each of which moves their end by one.
    #[inline]
    pub(super) fn can_grow_within(&self, count: u32, held: u32, span: u32) -> bool {
        // Nearly always the limit is above the room that the last clamp would have beside the first segment.
        let last_clamp = self.clamp.max(self.clamp_beside(span.saturating_add(count)));
        let taken = u64::from(held) * u64::from(self.taken);
        self.limit + taken < last_clamp && self.grows_within(count, held, span)
    }

    /// [`RightSizing::can_grow_within`], exactly.
    #[cold]
    #[inline(never)]
    fn grows_within(&self, count: u32, held: u32, span: u32) -> bool {
        // With each the clamp may grow by a segment, and its room shrinks by a little less, until it is the largest
        // window. So the room is largest before the first of them, beside the last, or where the clamp becomes the
        // largest window.
        let last = count.saturating_sub(1);
        let most = u64::from(self.largest - self.largest.min(span)).saturating_sub(2 * self.best / u64::from(self.mss));
        let nth = u32::try_from(most).map_or(last, |most| last.min(most));
        let grows_beside = |nth: u32| {
            let taken = u64::from(held.saturating_add(nth)) * u64::from(self.taken);
            self.limit + taken < self.clamp_beside(span.saturating_add(nth))
        };
        self.can_grow(held) || grows_beside(nth) || grows_beside(nth.saturating_sub(1)) || grows_beside(last)
    }

    /// A segment of `len` bytes arrived, beside which `queued` take room; true when the limit grew (`tcp_grow_window`).
    #[inline(always)]
    pub(super) fn grow(&mut self, len: u16, queued: u32) -> bool {
        let grows = self.can_grow(queued) && len >= SMALLEST_GROWING_SEGMENT;
        if grows {
            self.limit = (self.limit + 2 * u64::from(self.mss)).min(self.free(queued));
            self.open = Window::default();
        }
        grows
    }

    /// The first round begins at `now`.
    pub(super) fn start(&mut self, now: Time) {
        self.round_start = now;
    }

    /// The round lasts `rtt` from its beginning on, if that is known.
    pub(super) fn set_round_end(&mut self, rtt: Option<Duration>) {
        self.round_ends_at = rtt.map_or(Time::NEVER, |rtt| self.round_start + rtt);
    }

    /// When the round has lasted a round trip; [`Time::NEVER`] before it has begun, or while that is not known.
    #[inline(always)]
    pub(super) fn round_ends_at(&self) -> Time {
        self.round_ends_at
    }

    /// Payload bytes of a full segment.
    pub(super) fn mss(&self) -> u32 {
        self.mss
    }

    /// Ends the round (`tcp_rcv_space_adjust`). `read` counts all bytes the application has read, `queued` those that
    /// wait to be read, and `span` the segments from the first hole to the end of the out-of-order queue.
    pub(super) fn end_round(&mut self, now: Time, rtt: Duration, read: u64, queued: u64, span: u32) {
        let round_start_bytes = std::mem::replace(&mut self.round_start_bytes, read);
        let read = (read - round_start_bytes).saturating_sub(queued);
        if read > self.best {
            let target = u64::try_from(self.target(read, rtt)).unwrap_or(u64::MAX);
            let held = match self.rule {
                RightSizingRule::Linux => self.in_bytes_of(span),
                RightSizingRule::Linux612 => 0,
            };
            self.best = read;
            self.enlarge(self.bounded(target.saturating_add(held)));
        }
        self.round_start = now;
    }

    /// The clamp after a round in which more bytes were read than in the best one before.
    fn target(&self, read: u64, rtt: Duration) -> u128 {
        let (read, best) = (u128::from(read), u128::from(self.best));
        match self.rule {
            RightSizingRule::Linux if rtt >= Duration::from_millis(1) => 2 * read + 4 * read * (read - best) / best,
            RightSizingRule::Linux => 2 * read + 2 * read * u128::from(rtt.as_micros()) / 1_000,
            RightSizingRule::Linux612 => {
                let window = 2 * read + CUSHION_SEGMENTS * u128::from(self.mss);
                window + 2 * (window * (read - best) / best)
            }
        }
    }

    /// The out-of-order queue ends `span` segments above the first hole: it needs room besides two of the best rounds
    /// (`tcp_rcvbuf_grow`).
    #[inline]
    pub(super) fn make_room(&mut self, span: u32) {
        self.enlarge(self.clamp_beside(span));
    }

    #[inline]
    fn enlarge(&mut self, clamp: u64) {
        if clamp > self.clamp {
            self.clamp = clamp;
            self.open = Window::default();
        }
    }

    /// What the clamp is at least while held data spans so many segments.
    #[inline]
    fn clamp_beside(&self, span: u32) -> u64 {
        match self.rule {
            RightSizingRule::Linux => self.bounded(2 * self.best + self.in_bytes_of(span)),
            RightSizingRule::Linux612 => self.clamp,
        }
    }

    /// At most the largest window.
    #[inline]
    fn bounded(&self, bytes: u64) -> u64 {
        bytes.min(self.in_bytes_of(self.largest))
    }

    #[inline]
    fn in_bytes_of(&self, segments: u32) -> u64 {
        u64::from(segments) * u64::from(self.mss)
    }

    #[inline]
    fn in_bytes(&self, window: Window) -> u64 {
        self.in_bytes_of(window.segments) + u64::from(window.excess)
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the largest window has 32 bits, and the excess is below `mss`"
    )]
    fn in_segments(&self, bytes: u64) -> Window {
        let mss = u64::from(self.mss);
        let segments = bytes / mss;
        if segments >= u64::from(self.largest) {
            return Window { segments: self.largest, excess: 0 };
        }
        Window { segments: segments as u32, excess: (bytes % mss) as u16 }
    }
}

/// Memory that a segment of `mss` bytes from a virtual device occupies (`truesize`): 2304 bytes for 1448.
fn occupied_bytes(mss: u64) -> u64 {
    let packet = mss + HEADERS;
    let buffer = (packet + HEADROOM).next_multiple_of(CACHE_LINE) + SHARED_INFO;
    let occupied = if buffer <= SMALLEST_BUFFER {
        SMALLEST_BUFFER
    } else if buffer <= PAGE {
        buffer.next_power_of_two()
    } else {
        buffer.next_multiple_of(PAGE)
    };
    occupied + DESCRIPTION
}

/// Which share of the receive buffer is payload, in 1/256, where segments of `mss` bytes occupy so many
/// (`scaling_ratio`, `tcp_measure_rcv_mss`): 160 for 1448 bytes.
fn payload_share_256(mss: u32, occupied: u64) -> u64 {
    if mss < SMALLEST_MEASURED_MSS { 128 } else { (u64::from(mss) * 256 / occupied).max(1) }
}

/// The receive buffer whose payload is at most `window` bytes where segments have `mss` bytes.
pub(crate) fn buffer_for(window: u64, mss: u32) -> u64 {
    let share = payload_share_256(mss, occupied_bytes(u64::from(mss)));
    window.saturating_mul(256) / share
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Rng;

    fn window(sizing: &RightSizing, queued: u32) -> Window {
        sizing.clone().window_from(Window::default(), queued).unwrap()
    }

    #[test]
    fn the_initial_buffer_holds_what_segments_of_a_size_leave_room_for() {
        // The first windows that Linux 7.2 tells, and the largest before a round has ended, in units of 4096 bytes.
        for (mss, first, units) in [
            (536, 65_392, 16),
            (1_000, 65_000, 16),
            (1_200, 64_800, 17),
            (1_400, 64_400, 20),
            (1_448, 65_160, 20),
            (2_000, 64_000, 16),
            (3_000, 63_000, 22),
            (4_000, 64_000, 15),
            (6_000, 60_000, 22),
            (8_948, 62_636, 21),
            (16_000, 64_000, 21),
        ] {
            let mut sizing = RightSizing::new(mss, 20_000, 12, RightSizingRule::Linux);
            let told = sizing.first_window();
            assert_eq!((told.segments * mss, told.excess), (first, 0), "{mss}");
            while sizing.grow(u16::try_from(mss).unwrap(), 1) {}
            let kept = sizing.told(Window { segments: told.segments - 1, excess: 0 });
            assert_eq!(sizing.in_bytes(window(&sizing, 1).max(kept)), units * 4_096, "{mss}");
        }
    }

    #[test]
    fn a_buffer_is_larger_than_its_window_by_what_segments_occupy_besides_payload() {
        for (window, mss, buffer) in [(64_000, 1_448, 102_400), (64_000, 500, 128_000), (100_000, 8_948, 140_659)] {
            assert_eq!(buffer_for(window, mss), buffer, "{mss}");
        }
    }

    #[test]
    fn a_segment_occupies_a_power_of_two_or_pages() {
        // `SO_MEMINFO` of Linux 7.2, one segment waiting to be read.
        for (mss, occupied) in [
            (100, 832),
            (300, 1_280),
            (536, 1_280),
            (1_000, 2_304),
            (1_448, 2_304),
            (3_600, 4_352),
            (3_670, 8_448),
            (7_500, 8_448),
            (8_100, 12_544),
            (8_948, 12_544),
            (16_000, 20_736),
            (60_000, 61_696),
        ] {
            assert_eq!(occupied_bytes(mss), occupied, "{mss}");
        }
    }

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn the_first_round_is_compared_with_ten_segments_or_with_the_limit() {
        // What Linux 7.2 begins with (`rcvq_space.space`).
        for (mss, best) in [(1_448, 14_480), (4_000, 40_000), (8_948, 56_588)] {
            let mut sizing = RightSizing::new(mss, 20_000, 12, RightSizingRule::Linux);
            let clamp = sizing.clamp;
            sizing.start(Time::ZERO);
            sizing.end_round(Time::ZERO + RTT, RTT, best, 0, 0);
            assert_eq!(sizing.clamp, clamp, "{mss}");
            sizing.end_round(Time::ZERO + RTT * 2, RTT, 3 * best, 0, 0);
            assert!(sizing.clamp > clamp, "{mss}");
        }
    }

    #[test]
    fn the_limit_starts_a_segment_below_65536_bytes_and_takes_six_segments_to_reach_the_initial_buffer() {
        let mut sizing = RightSizing::new(1448, 20_000, 10, RightSizingRule::Linux);
        assert_eq!(sizing.limit, 65_536 - 1_448);
        assert_eq!((0..100).filter(|_| sizing.grow(1448, 1)).count(), 6);
        assert_eq!(sizing.limit, 81_920 - 1_440, "the segment that has just arrived takes room");
        let told = window(&sizing, 0);
        assert_eq!((told.segments, sizing.in_bytes(told)), (55, 79 * 1_024));
        assert_eq!(window(&sizing, 0), sizing.in_segments(sizing.offer(0)));
    }

    #[test]
    fn a_round_that_doubles_makes_room_for_two_more_doublings() {
        let mut sizing = RightSizing::new(1000, 20_000, 10, RightSizingRule::Linux);
        sizing.start(Time::ZERO);
        sizing.end_round(Time::ZERO + RTT, RTT, 20_000, 0, 0);
        // 2·20 kB + 4·20 kB·(20 − 10)/10 = 120 kB
        while sizing.grow(1000, 0) {}
        assert_eq!((sizing.limit, window(&sizing, 0).segments, sizing.open().segments), (120_000, 120, 119));
        // A round that is no better changes nothing.
        sizing.end_round(Time::ZERO + RTT * 2, RTT, 40_000, 0, 0);
        assert!(!sizing.grow(1000, 0));
    }

    #[test]
    fn linux_6_12_gives_a_cushion_of_16_segments_and_no_room_to_data_above_a_gap() {
        let mut sizing = RightSizing::new(1000, 20_000, 10, RightSizingRule::Linux612);
        sizing.start(Time::ZERO);
        let clamp = sizing.clamp;
        sizing.make_room(500);
        assert_eq!(sizing.clamp, clamp);
        // (40 kB + 16 kB)(1 + 2·(20 − 10)/10) = 168 kB, whatever is held.
        sizing.end_round(Time::ZERO + RTT, RTT, 20_000, 0, 500);
        assert_eq!(sizing.clamp, 168_000);
        assert!(!sizing.can_grow_within(1_000, 200, 500));
        // What waits to be read is not read.
        sizing.end_round(Time::ZERO + RTT * 2, RTT, 50_000, 10_000, 0);
        assert_eq!(sizing.clamp, 168_000);
    }

    #[test]
    fn a_round_lasts_as_long_as_the_round_trip_at_its_end() {
        let mut sizing = RightSizing::new(1000, 20_000, 10, RightSizingRule::Linux);
        sizing.start(Time::ZERO);
        sizing.set_round_end(Some(RTT));
        assert_eq!(sizing.round_ends_at(), Time::ZERO + RTT);
        sizing.set_round_end(Some(RTT * 2));
        assert_eq!(sizing.round_ends_at(), Time::ZERO + RTT * 2, "the queue has grown");
        sizing.end_round(Time::ZERO + RTT * 2, RTT * 2, 50_000, 0, 0);
        sizing.set_round_end(Some(RTT));
        assert_eq!(sizing.round_ends_at(), Time::ZERO + RTT * 3, "the queue has drained");
    }

    #[test]
    fn what_is_still_queued_counts_in_the_next_round() {
        let mut sizing = RightSizing::new(1000, 20_000, 10, RightSizingRule::Linux);
        sizing.start(Time::ZERO);
        // A gap is filled: the application has read 12 segments and 20 more wait for it.
        sizing.end_round(Time::ZERO + RTT, RTT, 12_000, 20_000, 0);
        assert_eq!(sizing.clamp, 131_072 / 256 * 111);
        sizing.end_round(Time::ZERO + RTT * 2, RTT, 32_000, 0, 0);
        assert_eq!(sizing.clamp, 120_000);
    }

    #[test]
    fn below_a_millisecond_growth_is_proportional_to_the_round_trip() {
        let rtt = Duration::from_micros(500);
        let mut sizing = RightSizing::new(1000, 20_000, 10, RightSizingRule::Linux);
        sizing.start(Time::ZERO);
        sizing.end_round(Time::ZERO + rtt, rtt, 100_000, 0, 0);
        while sizing.grow(1000, 0) {}
        assert_eq!(window(&sizing, 0).segments, 300);
    }

    #[test]
    fn held_data_takes_window_and_the_buffer_follows_its_span_up_to_the_largest_window() {
        let mut sizing = RightSizing::new(1448, 100, 10, RightSizingRule::Linux);
        while sizing.grow(1448, 1) {}
        // 81,920 − 20·1,440 = 53,120 bytes
        assert_eq!(sizing.in_bytes(window(&sizing, 20)), 52 * 1_024);
        assert!(!sizing.is_scarce(28) && sizing.is_scarce(29));
        // 81,920 − 29·1,440 = 40,160 bytes are less than half: they are not rounded up. Less than a 16th counts as
        // nothing.
        assert_eq!(sizing.in_bytes(window(&sizing, 29)), 39 * 1_024);
        assert_eq!([53, 54].map(|queued| sizing.in_bytes(window(&sizing, queued))), [5 * 1_024, 0]);
        sizing.make_room(60);
        assert_eq!(sizing.clamp, 20 * 1_448 + 60 * 1_448);
        assert_eq!(window(&sizing, 20), sizing.open(), "the limit bounds it now");
        sizing.make_room(1_000_000);
        while sizing.grow(1448, 0) {}
        assert_eq!(window(&sizing, 0), Window { segments: 100, excess: 0 });
    }

    #[test]
    fn a_limit_that_cannot_grow_beside_any_segment_of_a_run_cannot_grow_within_it() {
        let mut rng = Rng::new(3);
        let mut verdicts = [0; 2];
        for _ in 0..20_000 {
            let mss = [300, 1_000, 1_448, 8_948][rng.below(4) as usize];
            let mut sizing = RightSizing::new(mss, 60 + rng.below(600), 10, RightSizingRule::Linux);
            sizing.best += u64::from(rng.below(100 * mss));
            let (held, count) = (rng.below(300), 1 + rng.below(44));
            let span = held + rng.below(200);
            sizing.make_room(span);
            // At the limit, or a few bytes short of it.
            sizing.limit = (sizing.free(held) + u64::from(rng.below(400))).saturating_sub(u64::from(rng.below(20)));
            let foretold = sizing.can_grow_within(count, held, span);
            let grows = (0..count).any(|n| {
                let can_grow = sizing.can_grow(held + n);
                sizing.make_room(span + n + 1);
                can_grow
            });
            assert!(foretold || !grows, "{count} of {mss} bytes beside {held} of {span}: {sizing:?}");
            verdicts[usize::from(foretold)] += 1;
        }
        assert!(verdicts.iter().all(|&count| count > 2_000), "{verdicts:?}");
    }

    #[test]
    fn a_window_is_told_in_whole_units() {
        let sizing = RightSizing::new(1448, 20_000, 12, RightSizingRule::Linux);
        // 190 units of 4096 bytes are 537 segments and 664 bytes, 189 are 534 and 912.
        let left_by = |moved: u32| sizing.told(Window { segments: 537 - moved, excess: 664 });
        let told = [(537, 664), (537, 664), (537, 664), (534, 912)];
        assert_eq!([0, 1, 2, 3].map(left_by), told.map(|(segments, excess)| Window { segments, excess }));
    }

    #[test]
    fn a_read_is_announced_if_it_doubles_a_window_of_less_than_half_the_buffer() {
        let sizing = RightSizing::new(1448, 20_000, 10, RightSizingRule::Linux);
        let segments = |segments| Window { segments, excess: 0 };
        // 64,088 bytes are 63 units of 1024: 22 segments are less than half of them, 23 are more.
        assert_eq!([0, 22, 23].map(|left| sizing.doubles(segments(left), 0)), [true, true, false]);
        assert!(!sizing.doubles(segments(20), 40), "too much waits above the next hole");
    }

    #[test]
    fn unread_segments_do_not_show_in_a_window_whose_units_are_larger() {
        // As told by Linux 6.18 with units of 4096 bytes: 136 segments of 1440 bytes and 118 hide a second one, 134 and
        // 106 do not.
        let hides = |segments: u32, scale| {
            let mut sizing = RightSizing::new(1440, 20_000, scale, RightSizingRule::Linux);
            sizing.clamp = u64::from(1440 * (segments + 1));
            while sizing.grow(1440, 1) {}
            [2, 3, 4].map(|unread| sizing.hides(unread, 0))
        };
        assert_eq!(hides(136, 12), [true, true, false]);
        assert_eq!(hides(118, 12), [true, false, false]);
        assert_eq!([hides(134, 12), hides(106, 12)], [[false; 3]; 2]);
        assert_eq!([136, 118, 134, 106].map(|segments| hides(segments, 10)), [[false; 3]; 4]);
    }
}
