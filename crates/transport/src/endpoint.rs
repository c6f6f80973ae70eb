//! What every end of a flow is, whatever it speaks.
//!
//! An end is driven by four calls and by nothing else: a packet arrives ([`Endpoint::on_packet`]), a timer is due
//! ([`Endpoint::on_timer`], asked for by [`Endpoint::next_timer`]), and it may transmit ([`Endpoint::poll_transmit`],
//! until that returns `None`). Its application acts through [`Endpoint::on_application`], and who looks at it reads one
//! [`Endpoint::report`]. Whoever drives it calls `poll_transmit` after each call that may change something. It knows no
//! clock and no network: it runs in virtual time, in real time and under a fuzzer alike.
//!
//! Its packets are bytes that only the other end understands, and a length on the wire, which may be more than those:
//! payload that means nothing need not be there. So a real QUIC library, a source that sends at a constant rate or a
//! probe is one file that implements [`Endpoint`].
//!
//! TCP's two ends ([`Sender`](crate::Sender), [`Receiver`](crate::Receiver)) have the four calls with types of
//! their own instead of bytes, because most packets of most experiments are theirs.

use crate::{Held, ReceiverStats, SenderStats};
use dumbbell_cc_contract::{Control, Controller, Fault, RateSample, View};
use dumbbell_units::{Duration, Ecn, Time};

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
    pub stats: &'e SenderStats,
    /// The sender, which is asked what [holds it back](Sending::limit).
    pub sender: &'e dyn Held,
}

/// What a packet told the end at which it arrived. It fits two registers, because there is one for every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    time: Duration,
    told: Told,
    is_idle: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Told {
    #[default]
    Nothing,
    RoundTrip,
    Frame,
}

impl News {
    /// An answer told the round-trip time, if it did, and the other end has everything that was written, if that
    /// `is_idle`.
    #[inline]
    pub fn of_answer(rtt: Option<Duration>, is_idle: bool) -> News {
        let told = if rtt.is_some() { Told::RoundTrip } else { Told::Nothing };
        News { time: rtt.unwrap_or_default(), told, is_idle }
    }

    /// A packet has completed the frame of a picture, which took so long from the camera to the arrival of its last
    /// packet.
    #[inline]
    pub fn of_frame(took: Duration) -> News {
        News { time: took, told: Told::Frame, is_idle: false }
    }

    /// The round-trip time, if the packet told one.
    #[inline]
    pub fn rtt(self) -> Option<Duration> {
        (self.told == Told::RoundTrip).then_some(self.time)
    }

    /// How long the frame took that the packet has completed.
    #[inline]
    pub fn frame(self) -> Option<Duration> {
        (self.told == Told::Frame).then_some(self.time)
    }

    /// Whether the other end has everything that was written.
    #[inline]
    pub fn is_idle(self) -> bool {
        self.is_idle
    }
}

/// What an end shows to those who look at it. What it has nothing to say about is left as it is by default.
#[derive(Clone, Copy, Default)]
pub struct Report<'e> {
    /// Its sending, where a controller governs it.
    pub sending: Option<Sending<'e>>,
    /// What it has sent, if it sends data, whatever governs it.
    pub sent: Option<&'e SenderStats>,
    /// What it has received, if it receives data.
    pub received: Option<&'e ReceiverStats>,
    /// The frames whose packets it has received.
    pub frames: FrameCounts,
    /// Packets that it knows or takes to be lost; `None` where nobody tells it, or a controller's [view](Sending::view)
    /// does.
    pub lost: Option<u64>,
    /// Bytes that were written and have not been sent once.
    pub unsent: u64,
    /// The other end has everything that was written.
    pub is_idle: bool,
    /// It needs no answer of the other end before it sends. An end that does is preceded by an exchange of two
    /// packets, as TCP's is, and [established](Act::Establish) by it.
    pub is_connectionless: bool,
    /// Bytes of memory that packets in flight [claim](dumbbell_units::claimed).
    pub memory: u64,
    /// Nobody hears of expiries of its timers, of probes, and of what arrives twice: these counts are unknown, not zero.
    pub hides_timers: bool,
    /// Why it cannot go on.
    pub fault: Option<&'e Fault>,
    /// Whether there may ever be such a fault. It is asked for once.
    pub may_fail: bool,
}

/// What somebody outside of a run says to a controller at an instant: it reads the connection, and may change what the
/// controller has, and its levers.
pub type Steer<'s> = dyn FnMut(&mut dyn Controller, &View, &mut Control) + 's;

/// What an application, or somebody outside, does with an end.
pub enum Act<'a> {
    /// The end may send from now on.
    Establish(Handshake),
    /// The application hands over `segments` more packets' worth of data; the last one carries `last_len` bytes.
    Write {
        /// So many packets' worth.
        segments: u32,
        /// Bytes of the last one.
        last_len: u16,
    },
    /// The application closes: what is not yet sent never will be.
    Close,
    /// Somebody outside speaks to the controller, and what that changes holds at once.
    Steer(&'a mut Steer<'a>),
}

/// One end of a flow.
pub trait Endpoint: Send {
    /// A packet of the other end arrives; returns what it told.
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News;

    /// The time of [`next_timer`](Self::next_timer) has come. A call before that does nothing.
    fn on_timer(&mut self, now: Time);

    /// When [`on_timer`](Self::on_timer) wants to be called; [`Time::NEVER`] when nothing is pending.
    fn next_timer(&self) -> Time;

    /// The next packet to put on the wire now, whose payload is appended to `payload`, which is empty; `None` when
    /// nothing may leave before the next packet, timer or act of the application.
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram>;

    /// Its application acts. Returns whether that may make a packet leave. An end that only answers need not implement
    /// it.
    fn on_application(&mut self, _now: Time, _act: Act<'_>) -> bool {
        false
    }

    /// What it shows of itself.
    fn report(&self) -> Report<'_>;

    /// A packet arrives soon: has the processor fetch what it needs of the end itself. Reads nothing of it.
    #[inline]
    fn prefetch(&self) {}

    /// Has the processor fetch what such a packet needs and the end only points to.
    #[inline]
    fn prefetch_rest(&self) {}
}
