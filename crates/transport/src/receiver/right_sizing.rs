//! How a Linux receiver sizes its window (dynamic right-sizing).
//!
//! Two quantities grow. The *clamp* (`window_clamp`) is what the receive buffer can hold: once per round trip the bytes
//! that the application read are compared with the most it read in any round so far, and if they are more the buffer is
//! made large enough for a sender that doubles its window again. The *limit* (`rcv_ssthresh`) bounds what is
//! advertised: it follows the clamp by two segments for every segment that arrives, so that the window does not jump
//! and cause a burst.
//!
//! While the limit grows, Linux acknowledges every segment instead of every second one. That decides the ACK pattern of
//! slow start, so this model runs even when the advertised window is constant. `docs/specs/tcp.md` section 15.4.

use dumbbell_units::{Duration, Time};

/// Window of the first ACK, of which whole segments count (45 of 1448 bytes).
const INITIAL_WINDOW_BYTES: u64 = 65_536;
/// Initial receive buffer (`tcp_rmem[1]`).
const INITIAL_BUFFER_BYTES: u64 = 131_072;
/// Bytes of a packet besides its payload: IP, TCP and the timestamps.
const HEADERS: u64 = 52;
/// What a network device leaves free before a packet (`NET_SKB_PAD`), and the cache line that its memory ends with.
const HEADROOM: u64 = 64;
const CACHE_LINE: u64 = 64;
/// Behind a packet (`struct skb_shared_info`), and beside it (`struct sk_buff`).
const SHARED_INFO: u64 = 320;
const DESCRIPTION: u64 = 256;
/// What is larger lies in pages, beside a small buffer.
const LARGEST_BUFFER: u64 = 8_192;
const SMALL_BUFFER: u64 = 1_024;
const PAGE: u64 = 4_096;
/// Segments the first round is compared with (`TCP_INIT_CWND`).
const INITIAL_BEST_SEGMENTS: u32 = 10;
/// Segments smaller than this do not let the limit grow.
const SMALLEST_GROWING_SEGMENT: u16 = 128;

/// Window and buffer of one receiver, in segments.
#[derive(Clone, Debug)]
pub(super) struct RightSizing {
    /// `rcv_ssthresh`.
    limit: u32,
    /// `window_clamp`.
    clamp: u32,
    largest: u32,
    mss: u32,
    /// log2 of the bytes of the unit in which the window is told (`rcv_wscale`).
    scale: u8,
    /// Most bytes read by the application in one round trip (`rcvq_space.space`).
    best: u64,
    /// Segments of two such round trips.
    two_rounds: u32,
    /// Bytes delivered when the current round began.
    round_start_bytes: u64,
    /// `NEVER` before the end of the handshake.
    round_start: Time,
}

impl RightSizing {
    /// A buffer of Linux's initial size that may grow to a window of `largest` segments of `mss` bytes, told in units of
    /// 2^`scale` bytes.
    pub(super) fn new(mss: u32, largest: u32, scale: u8) -> RightSizing {
        let segments = |bytes: u64| u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).clamp(1, largest);
        let limit = segments(INITIAL_WINDOW_BYTES);
        RightSizing {
            limit,
            clamp: segments(INITIAL_BUFFER_BYTES * payload_share_256(u64::from(mss)) / 256).max(limit),
            largest,
            mss,
            scale,
            best: u64::from(INITIAL_BEST_SEGMENTS) * u64::from(mss),
            two_rounds: (2 * INITIAL_BEST_SEGMENTS).min(largest),
            round_start_bytes: 0,
            round_start: Time::NEVER,
        }
    }

    /// The window to advertise with `held` segments in the out-of-order queue (`__tcp_select_window`).
    #[inline]
    pub(super) fn window(&self, held: u32) -> u32 {
        self.limit.min(self.clamp.saturating_sub(held))
    }

    /// `segments` and `excess` bytes, which are less than a segment, as a window is told: in whole units, rounded up. Again in
    /// segments and the bytes beyond.
    pub(super) fn told(&self, segments: u32, excess: u32) -> (u32, u32) {
        let unit = 1 << self.scale;
        // Units are powers of two: arithmetic modulo 2^32 does.
        let bytes = segments.wrapping_mul(self.mss).wrapping_add(excess);
        let excess = excess + (bytes.wrapping_neg() & (unit - 1));
        (segments + excess / self.mss, excess % self.mss)
    }

    /// Whether the window that would be told is not below the last one told, although `unread` segments take room, because
    /// both are the same number of units (`__tcp_select_window`). The last one was told when at most one segment took room:
    /// the limit does not grow beyond that.
    pub(super) fn hides(&self, unread: u32, held: u32) -> bool {
        let free = self.clamp.saturating_sub(held);
        let whole_but_one = (1 << self.scale) - 1;
        let units = |taken: u32| {
            let segments = self.limit.min(free.saturating_sub(taken));
            (u64::from(segments) * u64::from(self.mss) + whole_but_one) >> self.scale
        };
        units(unread) >= units(1)
    }

    /// Whether a segment of `len` bytes is shorter than a full one.
    #[inline]
    pub(super) fn is_short(&self, len: u16) -> bool {
        u32::from(len) < self.mss
    }

    /// Whether `held` segments fill more than half the buffer.
    #[inline]
    pub(super) fn is_scarce(&self, held: u32) -> bool {
        2 * u64::from(held) > u64::from(self.clamp)
    }

    /// Whether the limit may grow beside `held` segments.
    #[inline]
    pub(super) fn can_grow(&self, held: u32) -> bool {
        u64::from(self.limit) + u64::from(held) < u64::from(self.clamp)
    }

    /// A segment of `len` bytes arrived; true when the limit grew (`__tcp_grow_window`).
    #[inline]
    pub(super) fn grow(&mut self, len: u16, held: u32) -> bool {
        if !self.can_grow(held) || len < SMALLEST_GROWING_SEGMENT {
            return false;
        }
        self.limit = (self.limit + 2).min(self.clamp - held);
        true
    }

    /// The first round begins at `now`, unless it has begun.
    pub(super) fn start(&mut self, now: Time) {
        self.round_start = self.round_start.min(now);
    }

    /// When the round has lasted `rtt`; [`Time::NEVER`] before it has begun.
    pub(super) fn round_end(&self, rtt: Duration) -> Time {
        self.round_start + rtt
    }

    /// Ends the round (`tcp_rcv_space_adjust`). `read` counts all bytes the application has read, `queued` those that
    /// wait to be read, and `span` the segments from the first hole to the end of the out-of-order queue.
    pub(super) fn end_round(&mut self, now: Time, rtt: Duration, read: u64, queued: u64, span: u32) {
        let round_start_bytes = std::mem::replace(&mut self.round_start_bytes, read);
        let read = (read - round_start_bytes).saturating_sub(queued);
        if read > self.best {
            let (bytes, best) = (u128::from(read), u128::from(self.best));
            let growth = if rtt >= Duration::from_millis(1) {
                4 * bytes * (bytes - best) / best
            } else {
                2 * bytes * u128::from(rtt.as_micros()) / 1_000
            };
            let target = self.segments(2 * bytes + growth);
            self.clamp = self.clamp.max(target.saturating_add(span).min(self.largest));
            self.two_rounds = self.segments(2 * bytes);
            self.best = read;
        }
        self.round_start = now;
    }

    /// The out-of-order queue ends `span` segments above the first hole: it needs room besides two of the best rounds
    /// (`tcp_rcvbuf_grow`).
    #[inline]
    pub(super) fn make_room(&mut self, span: u32) {
        self.clamp = self.clamp.max(self.two_rounds.saturating_add(span).min(self.largest));
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is at most `largest`, which has 32 bits")]
    fn segments(&self, bytes: u128) -> u32 {
        (bytes / u128::from(self.mss)).min(u128::from(self.largest)) as u32
    }
}

/// Which share of the receive buffer is payload, in 1/256, where segments of `mss` bytes come from a virtual device
/// (`scaling_ratio`): 160 for 1448 bytes, which occupy 2304.
fn payload_share_256(mss: u64) -> u64 {
    let packet = mss + HEADERS;
    let buffer = (packet + HEADROOM).next_multiple_of(CACHE_LINE) + SHARED_INFO;
    let occupied = if buffer <= LARGEST_BUFFER {
        buffer.next_power_of_two()
    } else {
        SMALL_BUFFER + packet.next_multiple_of(PAGE)
    };
    (mss * 256 / (occupied + DESCRIPTION)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_buffer_holds_what_segments_of_a_size_leave_room_for() {
        // The first windows that Linux 7.2 tells, and the largest before a round has ended, in units of 4096 bytes (21 at an
        // MSS of 8948: here windows are whole segments).
        for (mss, first, units) in [
            (536, 65_392, 16),
            (1_000, 65_000, 16),
            (1_200, 64_800, 17),
            (1_400, 64_400, 20),
            (1_448, 65_160, 20),
            (2_000, 64_000, 16),
            (3_000, 63_000, 22),
            (8_948, 62_636, 20),
        ] {
            let mut sizing = RightSizing::new(mss, 20_000, 12);
            assert_eq!(sizing.window(0) * mss, first, "{mss}");
            while sizing.grow(u16::try_from(mss).unwrap(), 0) {}
            assert_eq!((sizing.window(0) * mss).div_ceil(4_096), units, "{mss}");
        }
    }

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn the_limit_starts_at_65160_bytes_and_takes_six_segments_to_reach_the_initial_buffer() {
        let mut sizing = RightSizing::new(1448, 20_000, 10);
        assert_eq!(sizing.window(0), 45);
        assert_eq!((0..100).filter(|_| sizing.grow(1448, 0)).count(), 6);
        assert_eq!(sizing.window(0), 56);
    }

    #[test]
    fn a_round_that_doubles_makes_room_for_two_more_doublings() {
        let mut sizing = RightSizing::new(1000, 20_000, 10);
        sizing.start(Time::ZERO);
        sizing.end_round(Time::ZERO + RTT, RTT, 20_000, 0, 0);
        // 2·20 kB + 4·20 kB·(20 − 10)/10 = 120 kB
        while sizing.grow(1000, 0) {}
        assert_eq!(sizing.window(0), 120);
        // A round that is no better changes nothing.
        sizing.end_round(Time::ZERO + RTT * 2, RTT, 40_000, 0, 0);
        assert!(!sizing.grow(1000, 0));
    }

    #[test]
    fn a_round_lasts_as_long_as_the_round_trip_at_its_end() {
        let mut sizing = RightSizing::new(1000, 20_000, 10);
        sizing.start(Time::ZERO);
        assert_eq!(sizing.round_end(RTT), Time::ZERO + RTT);
        assert_eq!(sizing.round_end(RTT * 2), Time::ZERO + RTT * 2, "the queue has grown");
        sizing.end_round(Time::ZERO + RTT * 2, RTT * 2, 50_000, 0, 0);
        assert_eq!(sizing.round_end(RTT), Time::ZERO + RTT * 3, "the queue has drained");
    }

    #[test]
    fn what_is_still_queued_counts_in_the_next_round() {
        let mut sizing = RightSizing::new(1000, 20_000, 10);
        sizing.start(Time::ZERO);
        // A gap is filled: the application has read 12 segments and 20 more wait for it.
        sizing.end_round(Time::ZERO + RTT, RTT, 12_000, 20_000, 0);
        assert_eq!(sizing.clamp, 65);
        sizing.end_round(Time::ZERO + RTT * 2, RTT, 32_000, 0, 0);
        assert_eq!(sizing.clamp, 120);
    }

    #[test]
    fn below_a_millisecond_growth_is_proportional_to_the_round_trip() {
        let rtt = Duration::from_micros(500);
        let mut sizing = RightSizing::new(1000, 20_000, 10);
        sizing.start(Time::ZERO);
        sizing.end_round(Time::ZERO + rtt, rtt, 100_000, 0, 0);
        while sizing.grow(1000, 0) {}
        assert_eq!(sizing.window(0), 300);
    }

    #[test]
    fn held_data_takes_window_and_the_buffer_follows_its_span_up_to_the_largest_window() {
        let mut sizing = RightSizing::new(1448, 100, 10);
        while sizing.grow(1448, 0) {}
        assert_eq!(sizing.window(20), 36);
        assert!(!sizing.is_scarce(28) && sizing.is_scarce(29));
        sizing.make_room(60);
        assert_eq!(sizing.window(20), 56);
        sizing.make_room(1_000_000);
        while sizing.grow(1448, 0) {}
        assert_eq!(sizing.window(0), 100);
    }

    #[test]
    fn a_window_is_told_in_whole_units() {
        let sizing = RightSizing::new(1448, 20_000, 12);
        // 190 units of 4096 bytes are 537 segments and 664 bytes, 189 are 534 and 912.
        let left_by = |moved: u32| sizing.told(537 - moved, 664);
        assert_eq!([0, 1, 2, 3].map(left_by), [(537, 664), (537, 664), (537, 664), (534, 912)]);
    }

    #[test]
    fn unread_segments_do_not_show_in_a_window_whose_units_are_larger() {
        // As told by Linux 6.18 with units of 4096 bytes: 136 segments of 1440 bytes and 118 hide a second one, 134 and 106
        // do not.
        let hides = |segments: u32, scale| {
            let mut sizing = RightSizing::new(1440, 20_000, scale);
            sizing.clamp = segments + 1;
            while sizing.grow(1440, 0) {}
            [2, 3, 4].map(|unread| sizing.hides(unread, 0))
        };
        assert_eq!(hides(136, 12), [true, true, false]);
        assert_eq!(hides(118, 12), [true, false, false]);
        assert_eq!([hides(134, 12), hides(106, 12)], [[false; 3]; 2]);
        assert_eq!([136, 118, 134, 106].map(|segments| hides(segments, 10)), [[false; 3]; 4]);
    }
}
