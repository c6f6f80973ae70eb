//! The receiving endpoint (rx): Linux 6.18's rules for when to acknowledge and what to say.
//!
//! The stream is counted in segments. `rcv_nxt` is the first one missing; everything above it waits in the out-of-order
//! queue ([`Reassembly`]) and is never dropped. A segment that arrives falls into one of three classes
//! (`tcp_data_queue`):
//!
//! * **next**: it and the segments queued right behind it are delivered. The ACK leaves now when `ack_every` segments
//!   wait for one, when quick ACKs are left, when it waits alone and carries PSH, or when something urgent happened (the
//!   last hole was filled, CWR, a change of CE); otherwise after the delayed-ACK time, which adapts to the times between
//!   segments. An ACK for `ack_every` segments waits for the application where that has not read them yet
//!   (`read_delay`).
//! * **old**: a duplicate. It is reported at once (DSACK, RFC 2883), and quick ACKs begin, because the sender is
//!   recovering.
//! * **ahead**: a duplicate ACK with SACK blocks. The first three for one `rcv_nxt` leave at once; the sender counts
//!   them. Later ones may be *compressed*: up to 44 or a millisecond's worth of them become one. So may those of copies of
//!   what is held already.
//!
//! *Quick ACKs* acknowledge every segment: the first 16 of a connection, after duplicates, CE marks and pauses, and
//! while the receive window grows ([`RightSizing`]).
//!
//! A segment whose timestamp is older than the one to be echoed is dropped and answered (PAWS).
//!
//! Timers of two kinds exist: the delayed ACK runs on the coarse clock, compression and the reader on an exact one.
//! See `docs/specs/tcp.md` section 15 and 16; RFC 5681, 2018, 2883, 3168, 7323, 8257, 9768.

mod acknowledgement;
mod arrival;
mod horizon;
mod marks;
mod predicted;
mod reader;
mod reassembly;
pub(crate) mod right_sizing;
mod rtt;
mod sack_list;
mod steady;

use crate::{Ack, CumulativeAck, Segment, TransportConfig};
use dumbbell_recovery::jiffies::Ticks;
use dumbbell_units::{Duration, Time, prefetch};
pub use horizon::Horizon;
use marks::MarkCounters;
use predicted::Expected;
use reader::Reader;
pub(crate) use reassembly::Reassembly;
use right_sizing::{RightSizing, Window};
use rtt::ReceiverRtt;
use sack_list::SackList;
use std::num::NonZeroU32;
pub use steady::{EvenRun, SteadyAcks};

/// Duplicate ACKs per `rcv_nxt` that are never compressed (the sender's first duplicate-ACK threshold).
const UNCOMPRESSED_DUP_ACKS: u8 = 3;
/// Most ACKs held back by compression (`tcp_comp_sack_nr`).
const COMPRESSED_ACKS_MAX: u8 = 44;
/// Longest time an ACK is held back by compression (`tcp_comp_sack_delay_ns`).
const COMPRESSION_DELAY_MAX: Duration = Duration::from_millis(1);
/// The same in percent of the round trip (`tcp_comp_sack_rtt_percent`).
const COMPRESSION_RTT_PERCENT: u64 = 33;
/// SACK blocks that earlier ACKs have repeated often enough (`TCP_SACK_BLOCKS_EXPECTED`). Before a block further down
/// the list changes, a compressed ACK leaves, so that the sender hears of the blocks at the end.
const REPEATED_SACK_BLOCKS: usize = 2;
/// Quick ACKs after congestion marks and lost ECN capability.
const QUICK_ACKS_ECN: u32 = 2;
/// Ticks of the timestamp clock by which a segment may be older than the timestamp to be echoed (`TCP_PAWS_WINDOW`).
const PAWS_WINDOW_TICKS: i32 = 1;
/// Fewest quick ACKs that a tiny window allows.
const QUICK_ACKS_MIN: u32 = 2;
/// The delayed-ACK time before the first data, which begins the quick ACKs of a connection.
const NO_ATO: Duration = Duration::from_nanos(u64::MAX);

/// Receives segments and decides when to acknowledge them.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// First segment that has not arrived.
    rcv_nxt: u32,
    /// `rcv_nxt` of the last ACK sent (`rcv_wup`).
    last_acked: u32,
    /// First segment beyond the advertised window; never moves back. The window has `window_excess` bytes of that segment.
    window_edge: u32,
    window_excess: u16,
    /// Constant window, or `None` when it is sized by [`RightSizing`].
    constant_window: Option<NonZeroU32>,
    held_data_takes_window: bool,

    /// Quick ACKs left (`icsk_ack.quick`).
    quick: u32,
    /// The next ACK must leave at once (`ICSK_ACK_NOW`).
    ack_now: bool,
    /// New data arrived since the last ACK (`ICSK_ACK_SCHED`).
    unacked_news: bool,
    /// ECE is being sent: until CWR (classic) or until an unmarked segment (DCTCP).
    echo_congestion: bool,
    /// An ECN-capable segment has arrived.
    ecn_seen: bool,
    ecn_echo: EcnEcho,
    timestamps: bool,
    sack_permitted: bool,
    reports_duplicates: bool,
    compress_sacks: bool,
    /// Expected segments take a [fast path](predicted).
    predicts: bool,

    /// Delayed-ACK time before bounds (`icsk_ack.ato`); [`NO_ATO`] before the first.
    ato: Duration,
    /// Deadline of the delayed ACK.
    delayed_ack_at: Time,
    /// Deadline on the exact clock: of the compressed ACK (`compressed_ack_timer`), or of the reader, who sends the ACK
    /// that waits for it (`tcp_cleanup_rbuf`).
    exact_ack_at: Time,
    /// ACKs held back by compression.
    compressed_acks: u8,
    /// Duplicate ACKs considered for `dup_acks_of` (`dup_ack_counter`).
    dup_acks: u8,
    /// The `rcv_nxt` that `dup_acks` belongs to (`compressed_ack_rcv_nxt`).
    dup_acks_of: u32,

    /// Arrival of the last segment in order, at first of the ACK that ended the handshake (`icsk_ack.lrcvtime`); `NEVER`
    /// before that.
    last_data_at: Time,
    /// Send time that the next ACK echoes (TS.Recent, `ts_recent`).
    recent_timestamp: Time,
    rtt: ReceiverRtt,
    /// When the round of [`RightSizing`] has lasted a round trip; `NEVER` while the read that ends it is known.
    round_ends_at: Time,

    mss: u32,
    sizing: RightSizing,
    sacks: SackList,
    held: Reassembly,
    delivered_bytes: u64,
    /// Segments that arrived and were not delivered: duplicates, and those above a hole until it is filled.
    undelivered: Count,
    duplicate_segments: u64,
    ce_segments: u64,
    acks_sent: u64,

    ack_every: u32,
    ack_pushes: bool,
    quick_acks_max: u32,
    delayed_ack_min: Duration,
    delayed_ack_max: Duration,
    read_delay: Duration,
    rto_min: Duration,
    expected: Expected,
    waiting: Waiting,
    /// What is needed at few moments.
    rare: Option<Box<Rare>>,
    ticks: Ticks,
    /// When the wheel fired the latest timer whose slot was a single tick.
    latest_slot: Time,
    timer_wheel: bool,
}

/// What waits for [`Receiver::poll_transmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// An ACK of everything so far.
    Latest,
    /// The same; the segment to expect next is determined when it has left.
    LatestBeforePrediction,
    /// An ACK that was built before the latest segment was taken.
    HeldBack,
}

/// What a receiver keeps of ACKs that are not as usual, and of a read for as long as it takes.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// What an accurate echo needs, where that is agreed on.
    marks: Option<MarkCounters>,
    /// A segment that had arrived before, which no ACK has reported yet (`duplicate_sack`).
    duplicate: Option<u32>,
    /// The latest ACK that was [held back](Waiting::HeldBack).
    held_back: Option<Ack>,
    /// The latest ACK that left before its segments were read.
    early: Option<EarlyAck>,
    /// What the filling of a hole has delivered, until the application has read it.
    unread: Option<Unread>,
    /// The read that ends the round of [`RightSizing`], if it is known and has not come.
    last_read: Option<LastRead>,
    /// The application, where it reads at a rate.
    reader: Option<Reader>,
}

/// The application's read that ends a round of [`RightSizing`].
#[derive(Clone, Copy, Debug)]
struct LastRead {
    at: Time,
    /// Bytes that have been read then since the connection began.
    read: u64,
}

/// Segments that have become readable together, and take room until the application reads them.
#[derive(Clone, Copy, Debug)]
struct Unread {
    segments: u32,
    read_at: Time,
}

/// An ACK that left before the application had read its segments.
#[derive(Clone, Copy, Debug)]
struct EarlyAck {
    /// The first segment that was not read.
    unread_from: u32,
    /// When the application reads.
    reads_at: Time,
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
    /// No ACK yet, and the timer that will send one is armed already.
    Silence,
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
    /// ECE means nothing by itself: it is a bit of the count of marked segments (RFC 9768).
    Accurate,
}

impl Receiver {
    /// A receiver with nothing received.
    pub fn new(config: &TransportConfig) -> Receiver {
        let mss = config.mss.max(1);
        let receive_window = u32::try_from(config.receive_window / u64::from(mss)).unwrap_or(u32::MAX);
        let largest_window = receive_window.clamp(1, u32::MAX / 2);
        let sizing = RightSizing::new(mss, largest_window, config.window_scale);
        let constant_window = NonZeroU32::new(largest_window).filter(|_| !config.receive_autotuning);
        let first_window = constant_window.map_or_else(|| sizing.first_window().segments, NonZeroU32::get);
        Receiver {
            rcv_nxt: 0,
            last_acked: 0,
            window_edge: first_window,
            window_excess: 0,
            constant_window,
            held_data_takes_window: config.held_data_takes_window,
            quick: 0,
            ack_now: false,
            unacked_news: false,
            echo_congestion: false,
            ecn_seen: false,
            ecn_echo: EcnEcho::Classic,
            timestamps: config.timestamps,
            sack_permitted: config.sack,
            reports_duplicates: config.sack && config.dsack,
            compress_sacks: config.compress_sacks,
            predicts: true,
            ato: NO_ATO,
            delayed_ack_at: Time::NEVER,
            exact_ack_at: Time::NEVER,
            compressed_acks: 0,
            dup_acks: 0,
            dup_acks_of: 0,
            last_data_at: Time::NEVER,
            recent_timestamp: Time::ZERO,
            rtt: ReceiverRtt::new(config.mss),
            round_ends_at: Time::NEVER,
            mss,
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
            read_delay: config.read_delay,
            rto_min: config.rto_min,
            expected: if config.timestamps { Expected::Next } else { Expected::Nothing },
            waiting: Waiting::Nothing,
            rare: None,
            ticks: Ticks::new(config.hz),
            latest_slot: Time::ZERO,
            timer_wheel: config.timer_wheel,
        }
    }

    /// Sets the round-trip time that the receiver's side of the handshake measured. Without it the receiver assumes a symmetric
    /// path: twice the shortest travel time of a segment. The value matters on paths below 3 ms for ACK compression, and on
    /// paths above 40 ms for the delayed ACK.
    pub fn set_handshake(&mut self, rtt: Duration) {
        self.rtt.set_handshake(rtt);
    }

    /// The ACK that ends the handshake arrives (`tcp_init_buffer_space`): the first round of [`RightSizing`] begins. The first
    /// data ends a handshake whose ACK was lost or is late.
    pub fn accept(&mut self, now: Time) {
        if self.last_data_at == Time::NEVER {
            self.last_data_at = now;
            self.sizing.start(now);
            self.set_round_end();
        }
    }

    /// Chooses the meaning of ECE. Both ends must agree, and before the first segment.
    pub fn set_ecn_echo(&mut self, ecn_echo: EcnEcho) {
        self.ecn_echo = ecn_echo;
        if ecn_echo == EcnEcho::Accurate {
            // Every ACK carries the counters, so no segment takes a short way.
            self.rare.get_or_insert_default().marks = Some(MarkCounters::default());
            self.ecn_seen = true;
            self.expected = Expected::Nothing;
        }
    }

    /// A segment arrives; the acknowledgement it causes at once, if any. Rarely it causes two: one that was held back
    /// has to leave before the state it describes changes. Then the second is due at once: [`Receiver::next_timer`] is
    /// `now`.
    pub fn on_segment(&mut self, now: Time, segment: Segment) -> Option<Ack> {
        match self.on_run(now, segment, Horizon::NOW, |_, _| 0) {
            Answer::Delayed | Answer::Silence => None,
            Answer::Ack(ack) => Some(ack.into()),
            Answer::Waiting => self.poll_transmit(now),
        }
    }

    /// [`Receiver::on_segment`] for the first segment of a run: segments that left together, arrive one after the
    /// other, and differ only in their numbers and flags.
    ///
    /// In steady state several may be [answered at once](Receiver::take_steady).
    ///
    /// While the receiver holds back its ACK it takes the other segments of the run before they arrive: nobody can notice
    /// before that ACK leaves, and nobody looks before the `horizon`. It calls `take_followers` with how many of them it
    /// can take at most and the instant before which they have to arrive; the caller removes those from the network and
    /// returns how many there were.
    #[inline(always)]
    pub fn on_run(
        &mut self,
        now: Time,
        first: Segment,
        horizon: Horizon,
        take_followers: impl FnOnce(u32, Time) -> u32,
    ) -> Answer {
        if self.expects_next(&first) {
            return self.on_expected_next(now, &first).map_or(Answer::Delayed, Answer::Ack);
        }
        if !self.expects_ahead(&first) {
            return if self.on_unexpected(now, first) { Answer::Waiting } else { Answer::Delayed };
        }
        let unread = self.unread(now);
        let room = if unread == 0 { self.room_in_silence() } else { 0 };
        if room > 0 {
            let followers = take_followers(room - 1, horizon.within(self.exact_ack_at));
            self.take_in_silence(now, &first, 1 + followers);
            return Answer::Silence;
        }
        if self.on_expected_ahead(now, &first, unread) {
            self.waiting = Waiting::Latest;
            Answer::Waiting
        } else {
            Answer::Delayed
        }
    }

    /// The ACK that waits since the arrival at `now`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Ack> {
        match std::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::Nothing => None,
            Waiting::Latest => Some(self.acknowledge(now)),
            Waiting::LatestBeforePrediction => {
                let ack = self.acknowledge(now);
                self.predict();
                Some(ack)
            }
            Waiting::HeldBack => self.rare.as_ref().and_then(|rare| rare.held_back),
        }
    }

    /// A segment arrives that the fast paths do not take (the slow path of `tcp_rcv_established`). Returns whether an
    /// ACK waits.
    #[inline(never)]
    fn on_unexpected(&mut self, now: Time, segment: Segment) -> bool {
        let must_leave = self.classify(now, segment);
        let is_held_back = self.waiting == Waiting::HeldBack;
        if is_held_back && must_leave {
            // The ACK of this segment is due right after the one that was held back.
            self.ack_now = true;
            self.delayed_ack_at = now;
        }
        if must_leave && !is_held_back {
            self.waiting = Waiting::LatestBeforePrediction;
        } else {
            self.predict();
        }
        must_leave || is_held_back
    }

    /// The timer of [`Receiver::next_timer`] is due; the acknowledgement it causes. Calls before it is due do nothing.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if now < self.next_timer() {
            return None;
        }
        self.note_reads(|read_at| now >= read_at);
        if self.has_reader() && now < self.delayed_ack_at {
            return self.on_read(now);
        }
        if now >= self.delayed_ack_at && !self.ack_now {
            // The sender paused for longer than expected: wait for longer the next time (`tcp_delack_timer_handler`).
            self.ato = (self.ato * 2).min(self.rto());
        }
        Some(self.acknowledge(now))
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] when no timer is armed.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.delayed_ack_at.min(self.exact_ack_at)
    }

    /// Has the processor fetch what a segment needs: fields about a cache line apart, as the compiler lays them out.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.held);
        prefetch(&self.rtt);
        prefetch(&self.delayed_ack_at);
        prefetch(&self.sizing);
        prefetch(&self.undelivered);
        prefetch(&self.delayed_ack_max);
        prefetch(&self.sacks);
        prefetch(&self.waiting);
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
}

#[cfg(test)]
mod tests;
