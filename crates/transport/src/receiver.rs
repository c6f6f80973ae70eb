//! The receiving endpoint: Linux 6.18's rules for when to acknowledge and what to say.
//!
//! The stream is counted in segments. `rcv_nxt` is the first one missing; everything beyond it waits in
//! [`Reassembly`] and is never given up. A segment that arrives falls into one of three classes:
//!
//! * **next**: it and whatever it connects to are delivered (the application reads at once). The ACK goes out now when
//!   `ack_every` segments wait for one, when quick ACKs are left, when it waits alone and carries PSH, or when something
//!   urgent happened (the last gap was filled, CWR, a change of CE); otherwise after the delayed-ACK time, which follows
//!   the gaps between segments.
//! * **old**: a duplicate. It is reported at once (DSACK, RFC 2883), and quick ACKs begin: the sender is in trouble.
//! * **ahead**: a duplicate ACK with SACK blocks. The first three for one `rcv_nxt` leave at once; the sender counts
//!   them. Later ones may be *compressed*: up to 44 or a millisecond's worth of them become one.
//!
//! *Quick ACKs* acknowledge every segment: the first 16 of a connection, after duplicates, CE marks and pauses, and
//! while the receive window grows ([`RightSizing`]).
//!
//! Timers of two kinds exist: the delayed ACK runs on the coarse clock, compression on an exact one.
//! See `docs/specs/tcp.md` section 15 and 16; RFC 5681, 2018, 2883, 3168, 7323, 8257.

mod horizon;
mod jiffies;
mod predicted;
mod reassembly;
mod right_sizing;
mod rtt;
mod sack_list;

use crate::{Ack, CumulativeAck, Flags, SackBlock, Segment, TransportConfig};
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Time};
pub use horizon::Horizon;
use jiffies::Jiffies;
use predicted::Expected;
pub(crate) use reassembly::Reassembly;
use right_sizing::RightSizing;
use rtt::ReceiverRtt;
use sack_list::SackList;

/// Duplicate ACKs per `rcv_nxt` that are never compressed (the sender's first duplicate-ACK threshold).
const UNCOMPRESSED_DUP_ACKS: u32 = 3;
/// Most ACKs held back by compression (`tcp_comp_sack_nr`).
const COMPRESSED_ACKS_MAX: u32 = 44;
/// Longest time an ACK is held back by compression (`tcp_comp_sack_delay_ns`).
const COMPRESSION_DELAY_MAX: Duration = Duration::from_millis(1);
/// The same in percent of the round trip (`tcp_comp_sack_rtt_percent`).
const COMPRESSION_RTT_PERCENT: u64 = 33;
/// SACK blocks that ACKs of the near past are expected to have repeated: a change further down the list must not wait
/// behind a compressed ACK.
const REPEATED_SACK_BLOCKS: usize = 2;
/// Quick ACKs after congestion marks and lost ECN capability.
const QUICK_ACKS_ECN: u32 = 2;
/// Fewest quick ACKs that a tiny window allows.
const QUICK_ACKS_MIN: u32 = 2;

/// Receives segments and decides when to acknowledge them.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// First segment that has not arrived.
    rcv_nxt: u32,
    /// `rcv_nxt` of the last ACK sent.
    last_acked: u32,
    /// First segment beyond the advertised window; never moves back.
    window_edge: u32,
    /// Constant window, or `None` when it is sized by [`RightSizing`].
    constant_window: Option<u32>,
    held_data_takes_window: bool,

    /// Quick ACKs left.
    quick: u32,
    /// Something happened that the sender must hear of at once.
    ack_now: bool,
    /// A duplicate that no ACK has reported yet.
    duplicate: Option<SackBlock>,
    /// New data arrived since the last ACK.
    unacked_news: bool,
    /// ECE is being sent: until CWR (classic) or until an unmarked segment (DCTCP).
    echo_congestion: bool,
    /// An ECN-capable segment has arrived.
    ecn_seen: bool,
    ecn_echo: EcnEcho,
    sack_permitted: bool,
    reports_duplicates: bool,
    compress_sacks: bool,

    /// Delayed-ACK time before bounds.
    ato: Duration,
    /// Deadline of the delayed ACK.
    delayed_ack_at: Time,
    /// Deadline of the compressed ACK.
    compressed_ack_at: Time,
    /// ACKs held back by compression.
    compressed_acks: u32,
    /// Duplicate ACKs considered for `dup_acks_of`.
    dup_acks: u32,
    /// The `rcv_nxt` that `dup_acks` belongs to.
    dup_acks_of: u32,

    /// Arrival of the last segment in order; `NEVER` before the first.
    last_data_at: Time,
    /// Send time that the next ACK echoes (TS.Recent).
    recent_timestamp: Time,
    rtt: ReceiverRtt,
    /// When the round of [`RightSizing`] has lasted a round trip.
    round_ends_at: Time,

    sizing: RightSizing,
    sacks: SackList,
    held: Reassembly,
    delivered_bytes: u64,
    /// Segments that arrived and were not delivered: duplicates, and those beyond a gap until it is filled.
    undelivered: Count,
    duplicate_segments: u64,
    ce_segments: u64,
    acks_sent: u64,

    ack_every: u32,
    ack_pushes: bool,
    quick_acks_max: u32,
    delayed_ack_min: Duration,
    delayed_ack_max: Duration,
    rto_min: Duration,
    expected: Expected,
    /// An ACK of everything so far waits for [`Receiver::poll_transmit`].
    ack_waits: bool,
    /// An ACK that was built before the latest segment was taken, which waits for it.
    held_back: Option<Box<Ack>>,
    jiffies: Jiffies,
}

/// What a receiver does about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The usual ACK, which tells the next segment expected and nothing else. No timer is armed then.
    Ack(CumulativeAck),
    /// [`Receiver::poll_transmit`] has an ACK.
    Waiting,
    /// No ACK yet: [`Receiver::next_timer`] tells when.
    Delayed,
    /// No ACK yet, and none for what follows: up to `most` segments of the same run that arrive before `before` may be given
    /// to it at once, with [`Receiver::on_followers`].
    Silence {
        /// How many at most.
        most: u32,
        /// The instant before which they have to arrive.
        before: Time,
    },
}

/// Segments and their payload bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    segments: u64,
    bytes: u64,
}

/// Counters of a [`Receiver`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Payload bytes delivered in order to the application.
    pub delivered_bytes: u64,
    /// Segments delivered in order to the application.
    pub delivered_segments: u64,
    /// Payload bytes that arrived, duplicates included.
    pub arrived_bytes: u64,
    /// Segments that arrived, duplicates included.
    pub arrived_segments: u64,
    /// Segments that had arrived before.
    pub duplicate_segments: u64,
    /// Segments that arrived with the CE mark.
    pub ce_segments: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
}

/// What the ECE bit of an ACK means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnEcho {
    /// A mark arrived and the sender has not answered with CWR yet (RFC 3168).
    #[default]
    Classic,
    /// The segments this ACK covers were marked (DCTCP, RFC 8257).
    Dctcp,
}

impl Receiver {
    /// A receiver with nothing received.
    pub fn new(config: &TransportConfig) -> Receiver {
        let mss = config.mss.max(1);
        let largest_window = (config.receive_window / u64::from(mss)).clamp(1, u64::from(u32::MAX / 2)) as u32;
        let sizing = RightSizing::new(mss, largest_window);
        let constant_window = (!config.receive_autotuning).then_some(largest_window);
        Receiver {
            rcv_nxt: 0,
            last_acked: 0,
            window_edge: constant_window.unwrap_or(sizing.window(0)),
            constant_window,
            held_data_takes_window: config.held_data_takes_window,
            quick: 0,
            ack_now: false,
            duplicate: None,
            unacked_news: false,
            echo_congestion: false,
            ecn_seen: false,
            ecn_echo: EcnEcho::Classic,
            sack_permitted: config.sack,
            reports_duplicates: config.sack && config.dsack,
            compress_sacks: config.compress_sacks,
            ato: config.delayed_ack_min,
            delayed_ack_at: Time::NEVER,
            compressed_ack_at: Time::NEVER,
            compressed_acks: 0,
            dup_acks: 0,
            dup_acks_of: 0,
            last_data_at: Time::NEVER,
            recent_timestamp: Time::ZERO,
            rtt: ReceiverRtt::new(),
            round_ends_at: Time::NEVER,
            sizing,
            sacks: SackList::default(),
            held: Reassembly::default(),
            delivered_bytes: 0,
            undelivered: Count::default(),
            duplicate_segments: 0,
            ce_segments: 0,
            acks_sent: 0,
            ack_every: config.ack_every,
            ack_pushes: config.ack_pushes,
            quick_acks_max: config.quick_acks,
            delayed_ack_min: config.delayed_ack_min,
            delayed_ack_max: config.delayed_ack_max,
            rto_min: config.rto_min,
            expected: Expected::Next,
            ack_waits: false,
            held_back: None,
            jiffies: Jiffies::new(config.hz),
        }
    }

    /// Tells the receiver the round-trip time that its side of the handshake measured, and how much of it its answer was
    /// under way. Without it the receiver takes the path for symmetric, twice the shortest travel time of a segment. It
    /// matters for the growth of the window, on paths below 3 ms for ACK compression, and on paths above 40 ms for the
    /// delayed ACK.
    pub fn set_handshake(&mut self, rtt: Duration, way_back: Duration) {
        self.rtt.set_handshake(rtt, way_back);
    }

    /// Chooses the meaning of ECE. Both ends must agree, and before the first segment.
    pub fn set_ecn_echo(&mut self, ecn_echo: EcnEcho) {
        self.ecn_echo = ecn_echo;
    }

    /// A segment arrives; the acknowledgement it causes at once, if any. Rarely it causes two: one that was held back
    /// has to leave before the state it describes changes. Then the second is due at once: [`Receiver::next_timer`] is
    /// `now`.
    pub fn on_segment(&mut self, now: Time, segment: Segment) -> Option<Ack> {
        match self.on_run(now, segment, Horizon::NOW) {
            Answer::Delayed | Answer::Silence { .. } => None,
            Answer::Ack(ack) => Some(ack.into()),
            Answer::Waiting => self.poll_transmit(),
        }
    }

    /// [`Receiver::on_segment`] for the first segment of a run: of segments that follow one another on their way, left
    /// together and differ only in their numbers and flags.
    ///
    /// Where the receiver holds back its ACK it can be given those behind the first one ahead of their time
    /// ([`Receiver::on_followers`]): before that ACK leaves nobody notices, and up to the `horizon` nobody looks.
    #[inline(always)]
    pub fn on_run(&mut self, now: Time, first: Segment, horizon: Horizon) -> Answer {
        if self.expects_next(&first) {
            return self.on_expected_next(now, &first).map_or(Answer::Delayed, Answer::Ack);
        }
        if !self.expects_ahead(&first) {
            return if self.on_unexpected(now, first) { Answer::Waiting } else { Answer::Delayed };
        }
        let room = self.room_in_silence();
        if room > 0 {
            self.take_in_silence(now, &first);
            return Answer::Silence { most: room - 1, before: horizon.within(self.compressed_ack_at) };
        }
        if self.on_expected_ahead(now, &first) {
            self.ack_waits = true;
            Answer::Waiting
        } else {
            Answer::Delayed
        }
    }

    /// The ACK that waits.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Ack> {
        if self.held_back.is_some() {
            return self.held_back.take().map(|ack| *ack);
        }
        if !std::mem::take(&mut self.ack_waits) {
            return None;
        }
        let ack = self.acknowledge();
        self.predict();
        Some(ack)
    }

    /// A segment arrives that was not expected, or any other; whether an ACK waits then.
    #[inline(never)]
    fn on_unexpected(&mut self, now: Time, segment: Segment) -> bool {
        self.ack_waits = self.classify(now, segment);
        if self.held_back.is_some() {
            if self.ack_waits {
                // The other one becomes due at once.
                self.ack_waits = false;
                self.ack_now = true;
                self.delayed_ack_at = now;
            }
            self.predict();
            return true;
        }
        if !self.ack_waits {
            self.predict();
        }
        self.ack_waits
    }

    /// Takes a segment; whether an ACK leaves.
    fn classify(&mut self, now: Time, segment: Segment) -> bool {
        self.note_timestamp(now, &segment);
        if segment.ecn == Ecn::Ce {
            self.ce_segments += 1;
        }
        if segment.seq == self.rcv_nxt {
            return self.on_next(now, segment);
        }
        self.undelivered.segments += 1;
        self.undelivered.bytes += u64::from(segment.len);
        if segment.seq < self.rcv_nxt {
            self.on_duplicate(segment.seq, segment.flags.has(Flags::CWR))
        } else {
            self.on_ahead(now, segment)
        }
    }

    /// The timer of [`Receiver::next_timer`] is due; the acknowledgement it causes. Calls before it is due do nothing.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if now < self.next_timer() {
            return None;
        }
        if now >= self.delayed_ack_at && !self.ack_now {
            // The sender paused longer than expected: wait longer the next time.
            self.ato = (self.ato * 2).min(self.rto());
        }
        Some(self.acknowledge())
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] when no timer is armed.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.delayed_ack_at.min(self.compressed_ack_at)
    }

    /// Counters.
    pub fn stats(&self) -> ReceiverStats {
        let delivered_segments = u64::from(self.rcv_nxt);
        ReceiverStats {
            delivered_bytes: self.delivered_bytes,
            delivered_segments,
            arrived_bytes: self.delivered_bytes + self.undelivered.bytes,
            arrived_segments: delivered_segments + self.undelivered.segments,
            duplicate_segments: self.duplicate_segments,
            ce_segments: self.ce_segments,
            acks_sent: self.acks_sent,
        }
    }

    /// Takes the round-trip time from a segment's timestamp, and keeps what the next ACK echoes.
    #[inline(always)]
    fn note_timestamp(&mut self, now: Time, segment: &Segment) {
        if self.rtt.measure(now, segment.sent_at) {
            self.set_round_end();
        }
        if segment.seq <= self.last_acked && segment.sent_at >= self.recent_timestamp {
            self.recent_timestamp = segment.sent_at;
        }
    }

    /// The segment that was missing first.
    fn on_next(&mut self, now: Time, segment: Segment) -> bool {
        self.observe_ecn(&segment);
        self.rcv_nxt += 1;
        self.delivered_bytes += u64::from(segment.len);
        let read = self.delivered_bytes;
        if !self.held.is_empty() {
            self.deliver_held();
        }
        self.unacked_news = true;
        self.adapt_to_gap(now);
        self.grow_window(segment.len, self.held.segments());
        let mut must_leave =
            self.is_urgent() || if self.held.is_empty() { self.delay_ack(now) } else { self.compress_ack(now) };
        must_leave |= self.held.is_empty() && self.is_pushed(&segment);
        if now >= self.round_ends_at {
            // It reads piece by piece, and the first piece ends the round.
            self.end_round(now, read);
        }
        must_leave
    }

    /// Whether a segment waits alone and is pushed: the application reads after the ACK decision, and its read answers
    /// (`tcp_cleanup_rbuf`).
    #[inline]
    fn is_pushed(&self, segment: &Segment) -> bool {
        self.rcv_nxt - self.last_acked == 1 && segment.flags.has(Flags::PSH) && self.ack_pushes
    }

    /// The application has read for a round trip.
    #[cold]
    fn end_round(&mut self, now: Time, read: u64) {
        if let Some(rtt) = self.rtt.smoothed() {
            let queued = self.delivered_bytes - read;
            self.sizing.end_round(now, rtt, read, queued, self.held_span());
        }
        self.set_round_end();
    }

    #[inline(never)]
    fn set_round_end(&mut self) {
        self.round_ends_at = self.rtt.smoothed().map_or(Time::NEVER, |rtt| self.sizing.round_end(rtt));
    }

    /// A segment that was delivered before.
    #[inline(never)]
    fn on_duplicate(&mut self, seq: u32, cwr: bool) -> bool {
        self.accept_cwr(cwr);
        self.note_duplicate(seq);
        true
    }

    /// A segment beyond a gap.
    #[inline(always)]
    fn on_ahead(&mut self, now: Time, segment: Segment) -> bool {
        if segment.seq >= self.window_edge {
            // Refused; the sender learns the window it overran.
            self.start_quick_acks(self.quick_acks_max);
            return true;
        }
        self.observe_ecn(&segment);
        if self.sacks.position(segment.seq) >= REPEATED_SACK_BLOCKS && self.compressed_acks > 0 {
            self.hold_back();
        }
        let is_new = self.held.insert(segment.seq, u64::from(segment.len));
        if self.sack_permitted {
            self.sacks.add(segment.seq);
        }
        if !is_new {
            self.note_duplicate(segment.seq);
            return true;
        }
        self.unacked_news = true;
        if self.sack_permitted {
            // Without SACK every ACK must look like a duplicate, so the window stays.
            self.grow_window(segment.len, self.held.segments());
            self.sizing.make_room(self.held_span());
        }
        self.is_urgent() || self.compress_ack(now)
    }

    /// An ACK of everything before the segment that is being taken has to leave before the one that it causes.
    #[cold]
    fn hold_back(&mut self) {
        self.held_back = Some(Box::new(self.acknowledge()));
    }

    /// Delivers the run that the segment before `rcv_nxt` connected to.
    fn deliver_held(&mut self) {
        if let Some(run) = self.held.take(self.rcv_nxt) {
            self.undelivered.segments -= u64::from(run.end - run.start);
            self.undelivered.bytes -= run.bytes;
            self.delivered_bytes += run.bytes;
            self.rcv_nxt = run.end;
            self.sacks.forget_below(self.rcv_nxt);
            self.ack_now |= self.held.is_empty();
        }
    }

    /// Segment `seq` had arrived before: the next ACK reports it.
    fn note_duplicate(&mut self, seq: u32) {
        self.duplicate_segments += 1;
        self.start_quick_acks(self.quick_acks_max);
        self.duplicate = self.reports_duplicates.then_some(SackBlock { start: seq, end: seq + 1 });
    }

    /// Reads the ECN bits of new data. A delayed ACK of differently marked segments must leave first.
    #[inline]
    fn observe_ecn(&mut self, segment: &Segment) {
        if segment.ecn != Ecn::NotEct || self.ecn_seen {
            self.observe_ecn_codepoint(segment);
        }
    }

    #[inline(never)]
    fn observe_ecn_codepoint(&mut self, segment: &Segment) {
        self.accept_cwr(segment.flags.has(Flags::CWR));
        let is_marked = segment.ecn == Ecn::Ce;
        if segment.ecn == Ecn::NotEct {
            // A retransmission, most likely.
            self.start_quick_acks(QUICK_ACKS_ECN);
            return;
        }
        self.ecn_seen = true;
        match self.ecn_echo {
            EcnEcho::Classic => {
                if is_marked && !self.echo_congestion {
                    self.echo_congestion = true;
                    self.start_quick_acks(QUICK_ACKS_ECN);
                }
            }
            EcnEcho::Dctcp => {
                let changed = is_marked != self.echo_congestion;
                if changed && self.delayed_ack_at != Time::NEVER {
                    self.hold_back();
                }
                self.echo_congestion = is_marked;
                self.ack_now |= changed;
            }
        }
    }

    /// The sender has answered the congestion echo. Its window may be down to one segment, so it is told at once.
    #[inline]
    fn accept_cwr(&mut self, cwr: bool) {
        if cwr {
            self.ack_now = true;
            if self.ecn_echo == EcnEcho::Classic {
                self.echo_congestion = false;
            }
        }
    }

    /// Lets the delayed-ACK time follow the gaps between segments in order.
    #[inline(always)]
    fn adapt_to_gap(&mut self, now: Time) {
        if self.last_data_at == Time::NEVER {
            self.ato = self.delayed_ack_min;
            self.allow_quick_acks(self.quick_acks_max);
            self.sizing.start(now);
            self.set_round_end();
        } else {
            let gap = now.since(self.last_data_at);
            let half_min = Duration::from_nanos(self.delayed_ack_min.as_nanos() / 2);
            let half_ato = Duration::from_nanos(self.ato.as_nanos() / 2);
            if gap <= half_min {
                self.ato = half_ato + half_min;
            } else if gap < self.ato {
                self.ato = (half_ato + gap).min(self.rto());
            } else if gap > self.rto() {
                // The sender paused and may restart with a small window.
                self.allow_quick_acks(self.quick_acks_max);
            }
        }
        self.last_data_at = now;
    }

    #[inline]
    fn grow_window(&mut self, len: u16, held: u32) {
        if self.sizing.grow(len, held) && self.quick_acks_max > 0 {
            self.quick |= 1;
        }
    }

    /// Allows up to `most` quick ACKs from now on.
    fn allow_quick_acks(&mut self, most: u32) {
        let window = self.window_edge - self.last_acked;
        let quick = (window / 2).max(QUICK_ACKS_MIN).min(most).min(self.quick_acks_max);
        self.quick = self.quick.max(quick);
    }

    fn start_quick_acks(&mut self, most: u32) {
        self.allow_quick_acks(most);
        self.ato = self.delayed_ack_min;
    }

    /// Whether new data is acknowledged without delay.
    #[inline]
    fn is_urgent(&self) -> bool {
        self.rcv_nxt - self.last_acked >= self.ack_every || self.quick > 0 || self.ack_now
    }

    /// Arms the delayed-ACK timer; true when it is about to expire anyway and the ACK may as well leave.
    #[inline(always)]
    fn delay_ack(&mut self, now: Time) -> bool {
        let mut ato = self.ato;
        if ato > self.delayed_ack_min {
            ato = ato.min(self.rtt.base().max(self.delayed_ack_min));
        }
        ato = ato.min(self.delayed_ack_max);
        if self.delayed_ack_at <= now + Duration::from_nanos(ato.as_nanos() / 4) {
            return true;
        }
        self.delayed_ack_at = self.delayed_ack_at.min(self.jiffies.at_or_after(now + ato));
        false
    }

    /// Whether a duplicate ACK leaves; otherwise it is held back for a moment.
    #[inline]
    fn compress_ack(&mut self, now: Time) -> bool {
        if !self.sack_permitted || !self.compress_sacks || self.compressed_acks >= COMPRESSED_ACKS_MAX {
            return true;
        }
        if self.dup_acks_of != self.rcv_nxt {
            self.dup_acks_of = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < UNCOMPRESSED_DUP_ACKS {
            self.dup_acks += 1;
            return true;
        }
        if self.compressed_acks == 0 {
            let share_of_rtt = Duration::from_nanos(self.rtt.base().as_nanos() / 100 * COMPRESSION_RTT_PERCENT);
            self.compressed_ack_at = now + share_of_rtt.min(COMPRESSION_DELAY_MAX);
        }
        self.compressed_acks += 1;
        false
    }

    /// Builds an ACK of everything so far. No other ACK is pending afterwards.
    fn acknowledge(&mut self) -> Ack {
        let held = self.held.segments();
        let window = match self.constant_window {
            Some(window) if self.held_data_takes_window => window.saturating_sub(held),
            Some(window) => window,
            None => self.sizing.window(held),
        };
        if self.sizing.is_scarce(held) {
            self.quick = 0;
        }
        let mut ack = Ack::from(self.cumulative_ack(window));
        if self.duplicate.is_some() || !self.held.is_empty() {
            self.sacks.write(self.duplicate.take(), &mut ack);
        }
        ack
    }

    /// Builds an ACK that tells nothing but the next segment expected and a window of `window` segments beyond it.
    #[inline(always)]
    fn cumulative_ack(&mut self, window: u32) -> CumulativeAck {
        self.window_edge = self.window_edge.max(self.rcv_nxt.saturating_add(window));
        if self.unacked_news && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delayed_ack_min;
            }
        }
        self.unacked_news = false;
        self.ack_now = false;
        self.delayed_ack_at = Time::NEVER;
        self.compressed_ack_at = Time::NEVER;
        self.compressed_acks = 0;
        self.last_acked = self.rcv_nxt;
        self.acks_sent += 1;
        CumulativeAck {
            ack: self.rcv_nxt,
            ece: self.echo_congestion,
            window: self.window_edge - self.rcv_nxt,
            echo: self.recent_timestamp,
        }
    }

    /// The retransmission timeout this end would use for its own data.
    fn rto(&self) -> Duration {
        let rtt = self.rtt.base();
        rtt + (rtt * 2).max(self.rto_min)
    }

    /// Segments from the first gap to the end of what is held.
    #[inline]
    fn held_span(&self) -> u32 {
        self.held.end().map_or(0, |end| end - self.rcv_nxt)
    }
}

#[cfg(test)]
mod tests;
