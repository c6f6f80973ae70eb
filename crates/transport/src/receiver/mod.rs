//! The receiving endpoint (rx): Linux 6.18's rules for when to acknowledge and what to say.
//!
//! The stream is counted in segments. `rcv_nxt` is the first one missing; everything above it waits in the out-of-order
//! queue ([`Reassembly`]) and is never dropped. A segment that arrives falls into one of three classes
//! (`tcp_data_queue`):
//!
//! * **next**: it and the segments queued right behind it are delivered. The ACK leaves now when `ack_every` segments
//!   wait for one, when quick ACKs are left, when it waits alone and carries PSH, or when something urgent happened
//!   (the last hole was filled, CWR, a change of CE); otherwise after the delayed-ACK time, which adapts to the times
//!   between segments. An ACK for `ack_every` segments waits for the application where that has not read them yet
//!   (`read_delay`).
//! * **old**: a duplicate. It is reported at once (DSACK, RFC 2883), and quick ACKs begin, because the sender is
//!   recovering.
//! * **ahead**: a duplicate ACK with SACK blocks. The first three for one `rcv_nxt` leave at once; the sender counts
//!   them. Later ones may be *compressed*: up to 44 or a millisecond's worth of them become one. So may those of copies
//!   of what is held already.
//!
//! *Quick ACKs* acknowledge every segment: the first 16 of a connection, after duplicates, CE marks and pauses, and
//! while the receive window grows ([`RightSizing`]).
//!
//! A segment whose timestamp is older than the one to be echoed is dropped and answered (PAWS).
//!
//! Timers of two kinds exist: the delayed ACK runs on the coarse clock, compression and the reader on an exact one.
//! See `docs/specs/tcp.md` section 15 and 16; RFC 5681, 2018, 2883, 3168, 7323, 8257, 9768.
//!
//! What a receiver knows is kept by components, each of which owns its state:
//!
//! | file | component |
//! |---|---|
//! | `ack_timing.rs` | quick and delayed ACKs (`icsk_ack`) |
//! | `compression.rs` | ACKs that are held back behind a hole |
//! | `window.rs`, `right_sizing.rs` | the window that was told, and the one that there is room for |
//! | `rtt.rs`, `timestamps.rs` | its round-trip time, and what ACKs echo |
//! | `ecn_feedback.rs`, `marks.rs` | marks, and what ACKs tell of them |
//! | `reassembly.rs`, `sack_list.rs` | the out-of-order queue, and what ACKs report of it |
//! | `reading.rs`, `reader.rs` | the application that reads |
//! | `stats.rs` | what is counted |
//!
//! The order in which the kernel asks them is that of these files:
//!
//! | file | steps of the kernel |
//! |---|---|
//! | `arrival.rs` | `tcp_data_queue`, `tcp_data_queue_ofo`, `__tcp_ack_snd_check` |
//! | `predicted.rs` | those steps that an expected segment takes |
//! | `steady.rs` | what many expected segments lead to at once |
//! | `reads.rs` | `tcp_rcv_space_adjust`, `tcp_cleanup_rbuf` |
//! | `acknowledgement.rs` | `tcp_send_ack` |

mod ack_timing;
mod acknowledgement;
mod arrival;
mod compression;
mod ecn_feedback;
mod horizon;
mod marks;
mod predicted;
mod reader;
mod reading;
mod reads;
mod reassembly;
pub(crate) mod right_sizing;
mod rtt;
mod sack_list;
mod stats;
mod steady;
#[cfg(test)]
mod tests;
mod timestamps;
mod window;

use crate::{Ack, CumulativeAck, Segment, TransportConfig};
use ack_timing::AckTiming;
use compression::Compression;
use dumbbell_units::{Duration, Time, prefetch};
pub use ecn_feedback::EcnEcho;
use ecn_feedback::EcnFeedback;
pub use horizon::Horizon;
use predicted::Expected;
use reading::Reading;
pub(crate) use reassembly::Reassembly;
use right_sizing::{RightSizing, Window};
use rtt::ReceiverRtt;
use sack_list::SackList;
use stats::Counts;
pub use stats::ReceiverStats;
pub use steady::{EvenRun, SteadyAcks};
use timestamps::Timestamps;
use window::ToldWindow;

/// SACK blocks that earlier ACKs have repeated often enough (`TCP_SACK_BLOCKS_EXPECTED`). Before a block further down
/// the list changes, a compressed ACK leaves, so that the sender hears of the blocks at the end.
const REPEATED_SACK_BLOCKS: usize = 2;
/// Quick ACKs after congestion marks and lost ECN capability.
const QUICK_ACKS_ECN: u32 = 2;

/// Receives segments and decides when to acknowledge them.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// First segment that has not arrived.
    rcv_nxt: u32,
    /// `rcv_nxt` of the last ACK sent (`rcv_wup`).
    last_acked: u32,
    acks: AckTiming,
    compression: Compression,
    window: ToldWindow,
    sizing: RightSizing,
    rtt: ReceiverRtt,
    timestamps: Timestamps,
    ecn: EcnFeedback,
    sack: SackList,
    held: Reassembly,
    reading: Reading,
    counts: Counts,
    expected: Expected,
    waiting: Waiting,
    /// The latest ACK that was [held back](Waiting::HeldBack).
    held_back: Option<Box<Ack>>,
}

/// What waits for [`Receiver::poll_transmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// An ACK of everything so far.
    Latest,
    /// An ACK of everything so far; the segment to expect next is determined when it has left.
    LatestBeforePrediction,
    /// An ACK that was built before the latest segment was taken.
    HeldBack,
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

impl Receiver {
    /// A receiver with nothing received.
    pub fn new(config: &TransportConfig) -> Receiver {
        let mss = config.mss.max(1);
        let receive_window = u32::try_from(config.receive_window / u64::from(mss)).unwrap_or(u32::MAX);
        let largest_window = receive_window.clamp(1, u32::MAX / 2);
        let sizing = RightSizing::new(mss, largest_window, config.window_scale, config.right_sizing);
        Receiver {
            rcv_nxt: 0,
            last_acked: 0,
            acks: AckTiming::new(config),
            compression: Compression::new(config),
            window: ToldWindow::new(config, largest_window, &sizing),
            sizing,
            rtt: ReceiverRtt::new(config.mss, config.right_sizing),
            timestamps: Timestamps::new(config),
            ecn: EcnFeedback::new(EcnEcho::Classic),
            sack: SackList::new(config),
            held: Reassembly::default(),
            reading: Reading::new(config),
            counts: Counts::default(),
            expected: if config.timestamps { Expected::Next } else { Expected::NothingEver },
            waiting: Waiting::Nothing,
            held_back: None,
        }
    }

    /// Sets the round-trip time that the receiver's side of the handshake measured. Without it the receiver assumes a
    /// symmetric path: twice the shortest travel time of a segment. The value matters on paths below 3 ms for ACK
    /// compression, and on paths above 40 ms for the delayed ACK.
    pub fn set_handshake(&mut self, rtt: Duration) {
        self.rtt.set_handshake(rtt);
    }

    /// The ACK that ends the handshake arrives (`tcp_init_buffer_space`): the first round of [`RightSizing`] begins.
    /// The first data ends a handshake whose ACK was lost or is late.
    pub fn accept(&mut self, now: Time) {
        if self.acks.accept(now) {
            self.sizing.start(now);
            self.set_round_end();
        }
    }

    /// Who counts the memory of the connection himself says that its window grows: the next ACK is a quick one
    /// (`tcp_grow_window`).
    pub fn note_growth(&mut self) {
        self.acks.note_growth();
    }

    /// Who counts the memory of the connection himself says that less than half of it is free: no quick ACKs are left
    /// (`__tcp_select_window`).
    pub fn note_scarcity(&mut self) {
        self.acks.end_quick();
    }

    /// Chooses the meaning of ECE. Both ends must agree, and before the first segment.
    pub fn set_ecn_echo(&mut self, ecn_echo: EcnEcho) {
        self.ecn = EcnFeedback::new(ecn_echo);
        if ecn_echo == EcnEcho::Accurate {
            // Every ACK carries the counters, so no segment takes a short way.
            self.expected = Expected::NothingEver;
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
    /// While the receiver holds back its ACK it takes the other segments of the run before they arrive: nobody can
    /// notice before that ACK leaves, and nobody looks before the `horizon`. It calls `take_followers` with how many of
    /// them it can take at most and the instant before which they have to arrive; the caller removes those from the
    /// network and returns how many there were.
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
            return if self.on_unexpected(now, &first) { Answer::Waiting } else { Answer::Delayed };
        }
        let unread = self.unread(now);
        let room = if unread == 0 { self.room_in_silence() } else { 0 };
        if room > 0 {
            let followers = take_followers(room - 1, horizon.within(self.acks.exact_at()));
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
        let waiting = std::mem::replace(&mut self.waiting, Waiting::Nothing);
        match waiting {
            Waiting::Nothing => return None,
            Waiting::HeldBack => return self.held_back.as_deref().copied(),
            Waiting::Latest | Waiting::LatestBeforePrediction => {}
        }
        let ack = self.build_ack(now);
        if waiting == Waiting::LatestBeforePrediction {
            self.predict();
        }
        Some(ack)
    }

    /// The timer of [`Receiver::next_timer`] is due; the acknowledgement it causes. Calls before it is due do nothing.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if now < self.next_timer() {
            return None;
        }
        self.note_reads(|read_at| now >= read_at);
        let is_delayed_over = self.acks.is_delayed_over(now);
        if self.reading.has_reader() && !is_delayed_over {
            return self.on_read(now);
        }
        if is_delayed_over && !self.acks.is_due() {
            self.acks.lengthen(&self.rtt);
        }
        Some(self.acknowledge(now))
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] when no timer is armed.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.acks.next_timer()
    }

    /// Has the processor fetch what a segment needs: fields about a cache line apart, as the compiler lays them out.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.held);
        prefetch(&self.rtt);
        prefetch(&self.acks);
        prefetch(&self.sizing);
        prefetch(&self.counts);
        prefetch(&self.window);
        prefetch(&self.sack);
        prefetch(&self.waiting);
    }

    /// Counters.
    #[inline]
    pub fn stats(&self) -> ReceiverStats {
        self.counts.stats(self.rcv_nxt, self.ecn.ce_segments())
    }
}
