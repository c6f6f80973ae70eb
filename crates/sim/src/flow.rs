//! One flow of a run: its two endpoints, its application, and what is measured of it.

use crate::endpoints::Endpoints;
use crate::packet::{Kind, Packet};
use crate::production::Production;
use crate::streams::Deliveries;
use dumbbell_cc::Controller;
use dumbbell_network::{Entry, sender_counts};
use dumbbell_path::{Port, Schedule, Train};
use dumbbell_results::{FlowCounts, Histogram, UNKNOWN};
use dumbbell_scenario::Flow as Spec;
use dumbbell_transport::SetUp;
use dumbbell_units::{Duration, Time};

/// What the application does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waits for its start.
    Waiting,
    /// The SYN has left.
    Connecting,
    /// Data flows.
    Established,
    /// The application has stopped.
    Stopped,
}

/// What the network did with the packets of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// Bytes (IP length) that left the bottleneck link's transmitter in the measured interval.
    pub wire_bytes: u64,
    /// Bytes (IP length) that left the bottleneck link's transmitter in the whole run.
    pub wire_bytes_total: u64,
    /// Data packets the network dropped, by whatever cause.
    pub drops: u64,
    /// Copies of data packets that the network made.
    pub copies: u64,
}

impl Traffic {
    /// A packet leaves the bottleneck's transmitter; `measured` is the interval that counts.
    #[inline]
    pub fn count_departure(&mut self, bytes: u16, departs: Time, measured: (Time, Time)) {
        self.wire_bytes_total += u64::from(bytes);
        if departs >= measured.0 && departs < measured.1 {
            self.wire_bytes += u64::from(bytes);
        }
    }

    /// A packet leaves at another time than was counted; [`Time::NEVER`] for one that does not leave.
    pub fn correct_departure(&mut self, bytes: u16, (counted, departs): (Time, Time), measured: (Time, Time)) {
        if counted < Time::NEVER {
            self.wire_bytes_total -= u64::from(bytes);
            if counted >= measured.0 && counted < measured.1 {
                self.wire_bytes -= u64::from(bytes);
            }
        }
        if departs < Time::NEVER {
            self.count_departure(bytes, departs, measured);
        }
    }

    /// Packets of `bytes` each leave it one after the other.
    #[inline]
    pub fn count_departures(&mut self, bytes: u16, mut departures: Train, measured: (Time, Time)) {
        if departures.next() >= measured.0 && departures.over_by() < measured.1 {
            let total = u64::from(departures.count()) * u64::from(bytes);
            self.wire_bytes_total += total;
            self.wire_bytes += total;
        } else {
            while departures.count() > 0 {
                self.count_departure(bytes, departures.next(), measured);
                departures.advance();
            }
        }
    }
}

/// One flow. It begins with a cache line, so that what is [prefetched](dumbbell_units::prefetch) of it is what is
/// needed.
#[repr(align(64))]
pub(crate) struct Flow {
    pub ends: Endpoints,
    pub phase: Phase,
    /// Both ends of the handshake, as long as one of them waits for the other.
    pub set_up: Option<Box<SetUp>>,
    pub start: Time,
    pub stop: Time,
    /// Segments of the application's data that are not yet written.
    unwritten: Source,
    /// Where throughput is measured: at the slowest link of the forward route.
    pub bottleneck: Entry,
    /// The host's own device, where its small queues are told late of what has left it.
    pub device: Option<Entry>,
    /// Round-trip times of the measured interval, microseconds.
    pub rtt: Histogram,
    /// Sum of the one-way delays of data packets of the measured interval.
    pub one_way_delays: Duration,
    pub traffic: Traffic,
    /// [`Kind::Data`], or [`Kind::Awaited`] where the receiving application waits for what arrives.
    pub data: Kind,
    /// Bytes that the receiving application waits for; [`u64::MAX`] if for none.
    pub awaited: u64,
    /// When everything was acknowledged; [`Time::NEVER`] before.
    finished_at: Time,
    /// Counts of the measured interval; while it lasts, those at its start.
    pub measured: FlowCounts,
    /// Bytes of headers of a data packet, IP included.
    pub header: u16,
    /// Totals at the latest sample of the recorder: bytes delivered, IP bytes received.
    pub last_sample: (u64, u64),
    /// What is measured of a flow of datagrams besides.
    pub datagrams: Option<Box<Datagrams>>,
    /// The messages of its application, where that has several streams.
    pub streams: Option<Box<Deliveries>>,
}

/// What is measured of a flow of datagrams.
#[derive(Default)]
pub(crate) struct Datagrams {
    /// One-way delays of the measured interval, microseconds.
    pub one_way: Histogram,
    /// Times of whole frames of the measured interval, microseconds.
    pub frames: Histogram,
    /// The latest round-trip time since the latest sample of the recorder.
    pub rtt: Option<Duration>,
}

/// Where data comes from.
#[derive(Clone, Debug)]
enum Source {
    /// Everything at once: this many segments, the last of this length.
    AtOnce {
        segments: u32,
        last_len: u16,
    },
    /// At a constant rate.
    Paced(Box<Paced>),
    /// At a rate that changes.
    Scheduled(Box<Production>),
    /// So many segments at an instant to come, the last of this length.
    Later {
        at: Time,
        segments: u32,
        last_len: u16,
    },
    Empty,
    /// The application stopped before it had written, or the sender had sent, everything.
    Cut,
}

/// A write of `write` bytes every interval, in segments of `mss` bytes.
#[derive(Clone, Debug)]
struct Paced {
    mss: u16,
    /// Bytes of earlier writes that did not fill a segment.
    rest: u16,
    write: u32,
    /// Bytes that the application has still to write.
    left: u64,
    interval: Duration,
    next: Time,
}

impl Flow {
    /// A flow that waits for its `start`; what its endpoints draw by chance comes from `seed`.
    pub fn new(
        spec: &Spec,
        controller: Box<dyn Controller>,
        start: Time,
        bottleneck: Entry,
        seed: impl FnOnce() -> u64,
    ) -> Flow {
        let mss = u16::try_from(spec.transport.mss).unwrap_or(u16::MAX);
        let unwritten = match (&spec.app_schedule, spec.app_rate) {
            (Some(schedule), _) => {
                Source::Scheduled(Box::new(Production::new(Schedule::clone(schedule), mss, spec.bytes)))
            }
            (None, None) => {
                let (segments, last_len) = spec.bytes.map_or((u32::MAX, mss), |bytes| in_segments(bytes, mss));
                Source::AtOnce { segments, last_len }
            }
            (None, Some(rate)) => {
                let write = u32::try_from(spec.app_write.unwrap_or(u64::from(mss))).unwrap_or(u32::MAX);
                Source::Paced(Box::new(Paced {
                    mss,
                    rest: 0,
                    write,
                    left: spec.bytes.unwrap_or(u64::MAX),
                    interval: Duration::from_nanos(u64::from(write) * 8 * 1_000_000_000 / rate.max(1)),
                    next: Time::NEVER,
                }))
            }
        };
        let mut ends = Endpoints::new(&spec.transport, controller, seed);
        if let Some(schedule) = &spec.read_schedule {
            ends.set_reader(schedule);
        }
        let shares = spec.transport.protocol.shares_order();
        let streams = spec.streams.map(|own| Box::new(Deliveries::new(own.layout(spec.transport.mss), shares)));
        Flow {
            ends,
            // Somebody looks at each packet of several streams.
            data: if streams.is_some() { Kind::Awaited } else { Kind::Data },
            streams,
            awaited: u64::MAX,
            phase: Phase::Waiting,
            set_up: None,
            start,
            stop: spec.stop.unwrap_or(Time::NEVER),
            unwritten,
            bottleneck,
            device: None,
            rtt: Histogram::default(),
            one_way_delays: Duration::ZERO,
            traffic: Traffic::default(),
            finished_at: Time::NEVER,
            measured: FlowCounts::default(),
            header: u16::try_from(spec.transport.header_bytes()).unwrap_or(u16::MAX),
            last_sample: (0, 0),
            datagrams: (!spec.transport.protocol.is_controlled()).then(Box::default),
        }
    }

    /// What has been counted so far.
    pub fn counts(&self) -> FlowCounts {
        let receiver = self.ends.received();
        let frames = self.ends.frames();
        let hides_timers = self.ends.hides_timers();
        FlowCounts {
            lost: self.ends.lost(),
            network_drops: self.traffic.drops,
            duplicates: if hides_timers { UNKNOWN } else { receiver.duplicate_segments },
            acks: receiver.acks_sent,
            arrived: receiver.arrived_segments,
            delivered_bytes: receiver.delivered_bytes,
            frames: frames.complete,
            late_frames: frames.late,
            lost_frames: frames.lost,
            ..sender_counts(&self.ends.sent(), hides_timers)
        }
    }

    /// Packets of this flow, of which `packet` is the first, leave the transmitter of a port, which is known only now
    /// that they do.
    #[inline]
    pub fn count_late_departures(
        &mut self,
        (medium, port): (usize, Port),
        packet: &Packet,
        departures: Train,
        measured: (Time, Time),
    ) {
        let bottleneck = self.bottleneck;
        if (bottleneck.medium as usize, bottleneck.port) == (medium, port) && packet.kind.is_forward() {
            self.traffic.count_departures(packet.size, departures, measured);
        }
    }

    /// A port is, or will be, done with a packet of this flow at `at`. Returns when the sender may send on, if that is
    /// its host's own device and the sender waits for it.
    #[inline]
    pub fn complete(&mut self, (medium, port): (usize, Port), packet: &Packet, at: Time) -> Option<Time> {
        let device = self.device?;
        if (device.medium as usize, device.port) != (medium, port) || !packet.kind.is_data() {
            return None;
        }
        let Endpoints::Tcp { sender, .. } = &mut self.ends else { return None };
        sender.completed(at);
        Some(sender.next_timer())
    }

    /// The handshake is complete: the application begins to write.
    pub fn begin_writing(&mut self, now: Time) {
        match &mut self.unwritten {
            Source::AtOnce { segments, last_len } => {
                self.ends.write(now, *segments, *last_len);
                self.unwritten = Source::Empty;
            }
            Source::Paced(paced) => paced.next = now,
            Source::Scheduled(production) => production.begin(now),
            Source::Later { .. } | Source::Empty | Source::Cut => {}
        }
    }

    /// Writes what the application has produced by `now`. What does not fill a segment waits for the next write, unless
    /// it is the last one.
    pub fn write_due(&mut self, now: Time) {
        if let Source::Scheduled(production) = &mut self.unwritten {
            return production.write_due(now, &mut self.ends);
        }
        if let Source::Later { at, segments, last_len } = self.unwritten
            && at <= now
        {
            self.unwritten = Source::Empty;
            return self.ends.write(now, segments, last_len);
        }
        if let Source::Paced(paced) = &mut self.unwritten {
            let Paced { mss, rest, write, left, interval, next } = &mut **paced;
            while *left > 0 && *next <= now {
                let written = left.saturating_sub(u64::from(*write));
                let bytes = u64::from(*rest) + *left - written;
                *left = written;
                *next += *interval;
                let (segments, last_len) = in_segments(bytes, *mss);
                let is_short = last_len < *mss && *left > 0;
                *rest = if is_short { last_len } else { 0 };
                let (segments, last_len) = if is_short { (segments - 1, *mss) } else { (segments, last_len) };
                if segments > 0 {
                    self.ends.write(now, segments, last_len);
                }
            }
            if *left == 0 {
                self.unwritten = Source::Empty;
            }
        }
    }

    /// When the application acts next: start, write or stop, or something of the handshake is sent again.
    pub fn next_action(&self) -> Time {
        let set_up = self.set_up.as_ref().map_or(Time::NEVER, |set_up| set_up.next_timer());
        match self.phase {
            Phase::Waiting => self.start,
            Phase::Connecting => set_up.min(self.stop),
            Phase::Established => match &self.unwritten {
                Source::Paced(paced) => paced.next.min(self.stop).min(set_up),
                Source::Scheduled(production) => production.next().min(self.stop).min(set_up),
                Source::Later { at, .. } => (*at).min(set_up),
                _ => self.stop.min(set_up),
            },
            Phase::Stopped => Time::NEVER,
        }
    }

    /// Has it transfer `bytes` at once, for which its receiver waits.
    pub fn transfer(&mut self, bytes: u64, mss: u16) {
        let (segments, last_len) = in_segments(bytes, mss);
        self.unwritten = Source::AtOnce { segments, last_len };
        (self.data, self.awaited, self.stop) = (Kind::Awaited, bytes, Time::NEVER);
    }

    /// Has it transfer `bytes` more, which somebody asks for at `asked` and which are written at `at`.
    pub fn transfer_again(&mut self, asked: Time, at: Time, bytes: u64, mss: u16) {
        let (segments, last_len) = in_segments(bytes, mss);
        self.unwritten = Source::Later { at, segments, last_len };
        self.awaited = self.ends.received().delivered_bytes + bytes;
        self.start = asked;
    }

    /// What it transferred has arrived, and it waits until it hears what comes next.
    pub fn hold(&mut self) {
        self.unwritten = Source::Later { at: Time::NEVER, segments: 0, last_len: 0 };
    }

    /// Nothing comes next.
    pub fn release(&mut self) {
        self.unwritten = Source::Empty;
    }

    /// All that was written is acknowledged: if that is all there is, the flow is complete. Returns whether it has just
    /// become so.
    pub fn note_completion(&mut self, now: Time) -> bool {
        let is_written = match &self.unwritten {
            Source::Empty => true,
            Source::Scheduled(production) => production.is_over(),
            _ => false,
        };
        let is_news = self.finished_at == Time::NEVER && is_written;
        if is_news {
            self.finished_at = now;
        }
        is_news
    }

    /// When everything was acknowledged, if it was.
    pub fn finished_at(&self) -> Option<Time> {
        (self.finished_at < Time::NEVER).then_some(self.finished_at)
    }

    pub fn stop_writing(&mut self, now: Time) {
        self.phase = Phase::Stopped;
        self.set_up = None;
        if self.ends.withdraw(now) > 0 || !matches!(self.unwritten, Source::Empty) {
            self.unwritten = Source::Cut;
        }
    }

    /// Bytes of memory of this flow besides packets in flight and distributions.
    pub fn memory(&self) -> usize {
        let datagrams = self.datagrams.as_ref().map_or(0, |_| size_of::<Datagrams>());
        let streams = self.streams.as_ref().map_or(0, |_| size_of::<Deliveries>());
        size_of::<Flow>()
            + self.ends.sending().map_or(0, |sending| size_of_val(sending.controller))
            + datagrams
            + streams
    }

    /// Bytes of memory of messages that are not whole.
    pub fn streams_memory(&self) -> u64 {
        self.streams.as_deref().map_or(0, Deliveries::memory)
    }

    /// Bytes of memory of its distributions.
    pub fn histograms(&self) -> usize {
        let datagrams = |own: &Datagrams| own.one_way.memory() + own.frames.memory();
        self.rtt.memory()
            + self.datagrams.as_deref().map_or(0, datagrams)
            + self.streams.as_deref().map_or(0, Deliveries::histograms)
    }
}

/// How many segments of `mss` bytes make `bytes`, and the length of the last one. More segments than a connection can
/// number are cut to as many as it can.
pub(crate) fn in_segments(bytes: u64, mss: u16) -> (u32, u16) {
    let segments = bytes.div_ceil(u64::from(mss));
    let last_len = bytes - segments.saturating_sub(1) * u64::from(mss);
    (u32::try_from(segments).unwrap_or(u32::MAX), u16::try_from(last_len).unwrap_or(mss))
}
