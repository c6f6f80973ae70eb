//! What every end of a flow is, whatever it speaks.
//!
//! An end is driven by four calls and by nothing else: a packet arrives ([`Endpoint::on_packet`]), a timer is due
//! ([`Endpoint::on_timer`], asked for by [`Endpoint::next_timer`]), and it may transmit ([`Endpoint::poll_transmit`],
//! until that returns `None`). Whoever drives it calls `poll_transmit` after each of the others, and after the
//! application's. It knows no clock and no network: the same end runs in virtual time, in real time and under a fuzzer.
//!
//! Its packets are bytes that only the other end understands, and a length on the wire, which may be more than those:
//! payload that means nothing need not be there. So a real QUIC library, a source that sends at a constant rate or a
//! probe is one file that implements [`Endpoint`].
//!
//! TCP's two ends ([`Sender`](crate::Sender), [`Receiver`](crate::Receiver)) have the same four calls with types of
//! their own instead of bytes, because most packets of most experiments are theirs.

use crate::{ReceiverStats, SenderStats};
use dumbbell_cc::{Control, Controller, RateSample, View};
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Time};

/// A packet that an end puts on the wire, besides its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Length on the wire in bytes, IP header included.
    pub size: u16,
    /// ECN bits.
    pub ecn: Ecn,
}

/// A packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'p> {
    /// Length on the wire in bytes, IP header included.
    pub size: u16,
    /// ECN bits, as the network left them.
    pub ecn: Ecn,
    /// What the other end wrote.
    pub payload: &'p [u8],
}

impl Arrival<'_> {
    /// The number of a datagram, with which its payload begins.
    pub(crate) fn number(&self) -> Option<u64> {
        self.payload.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// What the sender learnt from the handshake: its first packet and the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// From the packet that the answer echoes to the answer. Where an answer was lost, that is longer than the two were
    /// under way.
    pub rtt: Duration,
    /// How long the first packet was under way that arrived.
    pub way_there: Duration,
    /// How long the answer was under way.
    pub way_back: Duration,
    /// How often the first packet was sent again; at most once where the answer proves that needless.
    pub retries: u32,
}

impl Handshake {
    /// One that took `rtt`, half of it there and half of it back.
    pub fn symmetric(rtt: Duration) -> Handshake {
        let half = Duration::from_nanos(rtt.as_nanos() / 2);
        Handshake { rtt, way_there: half, way_back: rtt - half, retries: 0 }
    }

    /// Of ends that need none.
    pub const NONE: Handshake =
        Handshake { rtt: Duration::ZERO, way_there: Duration::ZERO, way_back: Duration::ZERO, retries: 0 };
}

impl ReceiverStats {
    /// Counts a datagram with `header` bytes of headers, which is delivered if it is new.
    pub(crate) fn count(&mut self, packet: Arrival<'_>, header: u16, is_new: bool) {
        let bytes = u64::from(packet.size.saturating_sub(header));
        self.arrived_segments += 1;
        self.arrived_bytes += bytes;
        self.ce_segments += u64::from(packet.ecn == Ecn::Ce);
        if is_new {
            self.delivered_segments += 1;
            self.delivered_bytes += bytes;
        } else {
            self.duplicate_segments += 1;
        }
    }
}

/// What has become of the frames of a picture in motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames of which everything arrived.
    pub complete: u64,
    /// Those of them that came too late to be shown.
    pub late: u64,
    /// Frames of which something never came.
    pub lost: u64,
}

/// What an end shows of its sending, where a congestion controller governs it.
#[derive(Clone, Copy)]
pub struct Sending<'e> {
    /// The connection as its controller sees it.
    pub view: &'e View,
    /// What the controller may change: window, threshold, pacing rate.
    pub control: &'e Control,
    /// The controller.
    pub controller: &'e dyn Controller,
    /// The rate sample of the latest acknowledgement.
    pub sample: &'e RateSample,
    /// Counters.
    pub stats: SenderStats,
}

/// What somebody outside of a run says to a controller at an instant: it reads the connection, and may change what the
/// controller has, and its levers.
pub type Steer<'s> = dyn FnMut(&mut dyn Controller, &View, &mut Control) + 's;

/// One end of a flow. An end that only answers, or only measures, need not implement what follows `poll_transmit`.
pub trait Endpoint: Send {
    /// A packet of the other end arrives.
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>);

    /// The time of [`next_timer`](Self::next_timer) has come. A call before that does nothing.
    fn on_timer(&mut self, now: Time);

    /// When [`on_timer`](Self::on_timer) wants to be called; [`Time::NEVER`] when nothing is pending.
    fn next_timer(&self) -> Time;

    /// The next packet to put on the wire now, whose payload is appended to `payload`, which is empty; `None` when
    /// nothing may leave before the next packet, timer or call of the application.
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram>;

    /// Whether it needs no answer of the other end before it sends. One that does is preceded by an exchange of two
    /// packets, as TCP's is, and [established](Self::establish) by it.
    fn is_connectionless(&self) -> bool {
        false
    }

    /// It may send from now on.
    fn establish(&mut self, _now: Time, _handshake: Handshake) {}

    /// The application hands over `segments` more packets' worth of data; the last one carries `last_len` bytes.
    fn write(&mut self, _now: Time, _segments: u32, _last_len: u16) {}

    /// The application closes: what is not yet sent never will be.
    fn close(&mut self) {}

    /// Whether the other end has everything that was written.
    fn is_idle(&self) -> bool {
        false
    }

    /// Bytes that were written and have not been sent once.
    fn unsent(&self) -> u64 {
        0
    }

    /// The round-trip time that the latest packet to arrive told, if it told one.
    fn rtt(&self) -> Option<Duration> {
        None
    }

    /// Packets that it knows or takes to be lost; `None` where nobody tells it, or a controller's [view](Sending::view) does.
    fn lost(&self) -> Option<u64> {
        None
    }

    /// How long the frame of a picture took, from the camera to the arrival of its last packet, that the latest packet to
    /// arrive has completed; `None` if it has completed none.
    fn completed_frame(&self) -> Option<Duration> {
        None
    }

    /// The frames whose packets it has received.
    fn frames(&self) -> FrameCounts {
        FrameCounts::default()
    }

    /// Its sending; `None` where no controller governs it.
    fn sending(&self) -> Option<Sending<'_>> {
        None
    }

    /// Somebody outside speaks to its controller at `now`, and what that changes holds at once. Returns whether a lever has
    /// changed; `None` where it has no controller.
    fn steer(&mut self, _now: Time, _steer: &mut Steer<'_>) -> Option<bool> {
        None
    }

    /// What it has sent; where there is a controller the counters of [`sending`](Self::sending).
    fn sent(&self) -> SenderStats {
        self.sending().map_or_else(SenderStats::default, |sending| sending.stats)
    }

    /// What it has received.
    fn received(&self) -> ReceiverStats {
        ReceiverStats::default()
    }

    /// Bytes of memory that packets in flight [claim](dumbbell_units::claimed).
    fn memory(&self) -> u64 {
        0
    }
}
