//! The host under test: one socket, over the product's own endpoints, in virtual time.
//!
//! The endpoints begin established, so the handshake is here: options, ECN, the first round-trip time, SYNs that are
//! repeated. What follows is [`Connection`]'s.

mod accurate;
mod challenge;
mod clocks;
mod closing;
mod connection;
mod device;
mod memory;
mod negotiation;
mod stamps;
mod writing;

use crate::judge::{COUNTERS, Host, Progress};
use crate::script::{ByteCounters, Direction, Flags, Options, Packet, Script};
use crate::settings::{Settings, peer_segment};
use crate::stream::{Incoming, Stream};
use accurate::Accurate;
use clocks::Clocks;
use closing::Closing;
use connection::{Connection, milliseconds};
use device::Device;
use dumbbell_cc::Controller;
use dumbbell_path::Ecn;
use dumbbell_transport::{EcnEcho, EcnUse, Handshake, Receiver, Sender, Timestamp, TransportConfig};
use dumbbell_units::{Duration, Rng, Time};
use memory::{Buffer, Memory};
use negotiation::Reflected;
pub use stamps::{Moment, Stamp, Wanted};
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
pub use writing::Manner;
use writing::Writing;

/// Virtual time at which scripts begin. Timestamps may lie before it.
pub const START: Time = Time::from_nanos(1_000_000_000_000);
/// The host's own maximum segment size: 1500 bytes less headers.
const OWN_MSS: u32 = 1460;
/// What segments have at least, as the host expects before the first (`TCP_MSS_DEFAULT`).
const RCV_MSS: u32 = 536;
/// Bytes that timestamps take of every segment.
const TIMESTAMP_BYTES: u32 = 12;
/// Bytes that AccECN's option takes of every segment.
const COUNTER_BYTES: u32 = 12;
/// The host's own window scale. Scripts leave it open, because it follows from buffer sizes.
const OWN_WSCALE: u32 = 8;
/// The window of a SYN: it is not scaled.
const FIRST_WINDOW: u64 = 65_535;
/// Longer than any script.
const NEVER_READ: Duration = Duration::from_secs(1_000_000);
/// No window is larger (RFC 7323).
const LARGEST_WINDOW: u64 = 1 << 30;
/// First timeout of a SYN.
const SYN_TIMEOUT: Duration = Duration::from_secs(1);

/// A packet that left the host.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// When.
    pub at: Time,
    /// What.
    pub packet: Packet,
    /// What its timestamp option stands for.
    pub stamp: Time,
}

enum State {
    Closed,
    Listening,
    /// A SYN, or an answer to one, has left and is not answered.
    Opening(Box<Opening>),
    Established(Box<Connection>),
    /// Both directions are closed, and the last ACK may have to be repeated.
    TimeWait(Box<Connection>),
    /// There is no connection any more.
    Gone(Gone),
}

/// What calls of the application come to when the connection is gone: an error, which is told once.
#[derive(Clone, Copy, Debug)]
struct Gone {
    error: Option<&'static str>,
}

/// How a connection ends with a packet, or a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It does not.
    None,
    /// Both ends have said all.
    Over,
    /// As [`Ending::Over`], and the host said it first.
    TimeWait,
    /// The host resets the connection.
    Reset,
    /// The packet is answered with a reset.
    Refused,
}

struct Opening {
    /// The packet to repeat.
    packet: Packet,
    /// What it asks for, or grants.
    ecn: EcnUse,
    /// The other end's SYN, which a server has.
    peer: Option<Peer>,
    sent_at: Time,
    repetitions: u32,
    timeout: Duration,
    due: Time,
}

/// Nanoseconds of the unit of a timestamp.
const MILLISECOND: u64 = 1_000_000;

/// What the other end's SYN says.
#[derive(Clone, Debug)]
struct Peer {
    isn: u32,
    mss: u32,
    wscale: Option<u32>,
    sack: bool,
    /// Its timestamp, if it has one, and when it came.
    clock: Option<(u32, Time)>,
    /// What is agreed on, and what the handshake of accurate ECN tells.
    ecn: EcnUse,
    reflected: Reflected,
    window: u32,
}

impl Peer {
    /// When a packet left it, as its timestamp tells.
    fn left_at(&self, now: Time, packet: &Packet) -> Time {
        match (packet.options.as_ref().and_then(|options| options.timestamp), self.clock) {
            (Some((val, _)), Some((first_val, at))) => {
                let age = i64::from(val.wrapping_sub(first_val) as i32);
                let nanos = at.as_nanos() as i64 + age * MILLISECOND as i64;
                Time::from_nanos(u64::try_from(nanos).unwrap_or(0))
            }
            _ => now,
        }
    }
}

/// The endpoints of this repository behind one socket.
pub struct Simulated {
    /// What holds for its connections.
    settings: Settings,
    folder: PathBuf,
    /// Where packets of the other end have their data.
    incoming: Incoming,
    /// Payload bytes of the other end's full segments.
    peer_segment: u32,
    /// `TCP_NODELAY` and `TCP_CORK`.
    nodelay: bool,
    is_corked: bool,
    /// The host's own maximum segment size (`TCP_MAXSEG`).
    own_mss: u32,
    /// `SO_RCVBUF`.
    receive_buffer: Option<u64>,
    /// How long what was sent may be unacknowledged, if there is a limit (`TCP_USER_TIMEOUT`).
    user_timeout: Option<Duration>,
    /// The sequence number of its SYN in the script's numbers.
    isn: u32,
    /// Whether the application reads data as soon as it arrives.
    reads_at_once: bool,
    /// Whether it reads at all.
    reads: bool,
    now: Time,
    state: State,
    sent: VecDeque<Emitted>,
    /// The connection that was given up: its socket tells what became of it.
    given_up: Option<Box<Connection>>,
    /// When an ACK last answered what was not acceptable, during the handshake.
    challenged_at: Option<Time>,
    /// Timestamps of the script and the instants they stand for.
    stamps: Vec<(u32, Time)>,
}

impl Simulated {
    /// A host with one closed socket, ready for `script`; the reason if the script needs what is not modelled.
    pub fn new(script: &Script) -> Result<Simulated, String> {
        let mut settings = Settings::default();
        for (name, value) in &script.options {
            match (name.as_str(), value.split_once('=')) {
                ("ip_version", _) if value.contains('6') => return Err(format!("IPv6 (--{name}={value})")),
                ("mtu", _) if value != "1500" => return Err(format!("--{name}={value}")),
                // How this and the live kernel are told apart from others whose clock ticks more often.
                ("define", Some(("HZ", hz))) => {
                    settings.config.hz = hz.parse().map_err(|_| format!("--{name}={value}"))?;
                }
                _ => {}
            }
        }
        settings.choose(script);
        let isn_of = |direction| {
            let mut packets = script.packets(direction);
            packets.find(|packet| packet.flags.has(Flags::SYN)).map_or(0, |packet| packet.seq)
        };
        let incoming = Incoming::of(script);
        Ok(Simulated {
            settings,
            folder: script.folder.clone(),
            peer_segment: peer_segment(script),
            incoming,
            nodelay: false,
            is_corked: false,
            own_mss: OWN_MSS,
            receive_buffer: None,
            user_timeout: None,
            isn: isn_of(Direction::Outbound),
            reads_at_once: script.has_blocking_read(),
            reads: script.reads(),
            now: START,
            state: State::Closed,
            sent: VecDeque::new(),
            given_up: None,
            challenged_at: None,
            stamps: Vec::new(),
        })
    }

    /// When something happens next by itself.
    fn next_timer(&self) -> Time {
        match &self.state {
            State::Opening(opening) => opening.due,
            State::Established(connection) => connection.next_timer().min(connection.gives_up_at(self.user_timeout)),
            State::Closed | State::Listening | State::TimeWait(_) | State::Gone(_) => Time::NEVER,
        }
    }

    /// Moves the clock to the next thing that happens by itself, which happens.
    fn step(&mut self) {
        self.now = self.now.max(self.next_timer());
        match &mut self.state {
            State::Opening(opening) if opening.due <= self.now => {
                opening.repetitions += 1;
                let is_linear = opening.peer.is_none() && opening.repetitions <= self.settings.linear_syn_timeouts;
                if !is_linear {
                    opening.timeout = (opening.timeout * 2).min(self.settings.config.rto_max);
                }
                opening.sent_at = self.now;
                opening.due = self.now + opening.timeout;
                let packet = negotiation::repeated(&opening.packet, opening.ecn, opening.repetitions);
                self.emit_opening(packet);
            }
            State::Established(connection) if connection.gives_up_at(self.user_timeout) <= self.now => {
                let gone = State::Gone(Gone { error: Some("ETIMEDOUT") });
                if let State::Established(connection) = std::mem::replace(&mut self.state, gone) {
                    self.given_up = Some(connection);
                }
            }
            State::Established(connection) => connection.on_timer(self.now, &mut self.sent),
            _ => {}
        }
    }

    fn emit_opening(&mut self, mut packet: Packet) {
        if let Some(options) = &mut packet.options
            && let Some((val, _)) = &mut options.timestamp
        {
            *val = milliseconds(self.now);
        }
        self.sent.push_back(Emitted { at: self.now, packet, stamp: self.now });
    }

    fn open(&mut self, ecn: EcnUse, flags: Flags, ack: Option<u32>, options: Options, peer: Option<Peer>) {
        let packet = Packet {
            direction: Direction::Outbound,
            ecn: Some(Ecn::NotEct),
            flags,
            seq: self.isn,
            len: 0,
            ack,
            window: None,
            options: Some(options),
        };
        let opening = Opening {
            packet: packet.clone(),
            ecn,
            peer,
            sent_at: self.now,
            repetitions: 0,
            timeout: SYN_TIMEOUT,
            due: self.now + SYN_TIMEOUT,
        };
        self.state = State::Opening(Box::new(opening));
        self.emit_opening(packet);
    }

    fn peer(&self, packet: &Packet) -> Peer {
        let options = packet.options.clone().unwrap_or_default();
        Peer {
            isn: packet.seq,
            mss: options.mss.unwrap_or(536),
            wscale: options.wscale.filter(|_| self.settings.window_scaling),
            sack: options.sack_ok && self.settings.config.sack,
            clock: options.timestamp.filter(|_| self.settings.timestamps).map(|(val, _)| (val, self.now)),
            ecn: EcnUse::Off,
            reflected: Reflected { arrived: packet.ecn.unwrap_or_default(), ..Reflected::default() },
            window: packet.window.unwrap_or(65_535),
        }
    }

    fn answer(&mut self, syn: &Packet) {
        let ecn = negotiation::granted(self.settings.ecn, syn.flags);
        let peer = Peer { ecn, ..self.peer(syn) };
        let options = Options {
            mss: Some(self.own_mss),
            wscale: peer.wscale.map(|_| OWN_WSCALE),
            sack_ok: peer.sack,
            timestamp: peer.clock.map(|(val, _)| (0, val)),
            counters: (ecn == EcnUse::Accurate && self.settings.ecn_option).then_some(ByteCounters::FIRST),
            ..Options::default()
        };
        let flags = Flags::SYN | Flags::ACK | negotiation::granting(ecn, peer.reflected.arrived);
        self.open(ecn, flags, Some(peer.isn.wrapping_add(1)), options, Some(peer));
    }

    fn answered(&mut self, opening: Opening, packet: &Packet) -> Result<(), String> {
        let is_syn = packet.flags.has(Flags::SYN);
        let acknowledges = packet.flags.has(Flags::ACK) && packet.ack == Some(self.isn.wrapping_add(1));
        match opening.peer.clone() {
            // A server: the ACK of its answer.
            Some(mut peer) if acknowledges && !is_syn => {
                peer.reflected.hear_last(packet, !self.settings.ecn_fallback);
                let is_more = packet.len > 0;
                let window = packet.window.unwrap_or(0);
                self.establish(&opening, peer, packet, Some(window))?;
                let (now, echo) = (self.now, self.echo_of(packet));
                if let State::Established(connection) = &mut self.state {
                    connection.note_end_of_handshake(now, packet, echo);
                }
                if is_more { self.receive(packet) } else { Ok(()) }
            }
            // A client: the answer to its SYN.
            None if acknowledges && is_syn => {
                let asked =
                    if opening.ecn == EcnUse::Classic && opening.repetitions > 0 { EcnUse::Off } else { opening.ecn };
                let mut peer = Peer { ecn: negotiation::got(asked, packet.flags), ..self.peer(packet) };
                peer.reflected.answer_was_marked = peer.reflected.arrived == Ecn::Ce;
                peer.reflected.saw_option = packet.options.as_ref().is_some_and(|options| options.counters.is_some());
                self.establish(&opening, peer, packet, None)?;
                if let State::Established(connection) = &mut self.state {
                    connection.end_handshake(self.now, &mut self.sent);
                }
                Ok(())
            }
            Some(mut peer) if is_syn && !packet.flags.has(Flags::ACK) => {
                // The SYN again: so is its answer. Whether ECN is used was decided by the first one; that the other end
                // now asks for none tells that its bits may not pass.
                peer.reflected.arrived = packet.ecn.unwrap_or_default();
                peer.reflected.is_bleached |= packet.flags.ace() == 0;
                let mut answer = negotiation::repeated(&opening.packet, opening.ecn, 1);
                if opening.ecn == EcnUse::Accurate {
                    answer.flags = Flags::SYN | Flags::ACK | negotiation::granting(opening.ecn, peer.reflected.arrived);
                }
                self.state = State::Opening(Box::new(Opening { peer: Some(peer), ..opening }));
                self.emit_opening(answer);
                Ok(())
            }
            Some(_) if is_syn => Err("an answer to an answer".to_owned()),
            None if is_syn => Err("simultaneous open".to_owned()),
            _ => Err("a packet that does not answer the handshake".to_owned()),
        }
    }

    /// Parameters of the sending and of the receiving direction towards such a peer, whose window begins with so many
    /// bytes.
    fn configs(&self, peer: &Peer, first_window: u64) -> (TransportConfig, TransportConfig) {
        let settings = &self.settings;
        let timestamps = peer.clock.is_some();
        let counts = peer.ecn == EcnUse::Accurate && peer.reflected.saw_option && settings.ecn_option;
        let options = if timestamps { TIMESTAMP_BYTES } else { 0 } + if counts { COUNTER_BYTES } else { 0 };
        let mss = peer.mss.min(self.own_mss).saturating_sub(options).max(1);
        let base = TransportConfig { timestamps, sack: peer.sack, ecn: peer.ecn, ..settings.config.clone() };
        let sending = TransportConfig {
            mss,
            receive_window: first_window,
            receive_autotuning: false,
            gso_max_bytes: base.gso_max_bytes.max(mss),
            ..base.clone()
        };
        let receiving = TransportConfig {
            mss: self.peer_segment,
            receive_autotuning: self.buffer().is_none(),
            receive_window: if self.buffer().is_some() { LARGEST_WINDOW } else { base.receive_window },
            ack_pushes: base.ack_pushes && self.reads_at_once,
            // What `SO_RCVBUF` has room for is the host's to judge, in bytes, and so is what reading does to it.
            read_delay: if self.reads && self.buffer().is_none() { base.read_delay } else { NEVER_READ },
            ..base
        };
        (sending, receiving)
    }

    fn establish(&mut self, opening: &Opening, peer: Peer, answer: &Packet, window: Option<u32>) -> Result<(), String> {
        let settings = &self.settings;
        // The window of a SYN is not scaled, that of the last packet of the handshake is.
        let first_window = match window {
            Some(window) => u64::from(window) << peer.wscale.unwrap_or(0).min(14),
            None => u64::from(peer.window),
        };
        let (sending, receiving) = self.configs(&peer, first_window);
        let (mss, timestamps) = (sending.mss, sending.timestamps);
        let mut sender = Sender::new(Arc::new(sending), controller(settings)?);
        let mut receiver = Receiver::new(&receiving);
        let accurate = (peer.ecn == EcnUse::Accurate).then(|| Accurate::new(peer.reflected, settings.ecn_option));
        if accurate.is_some() {
            receiver.set_ecn_echo(EcnEcho::Accurate);
        }
        // An echo tells which of several SYNs the answer is to.
        let rtt = self.now.since(self.echo_of(answer).unwrap_or(opening.sent_at));
        let way_back = self.now.since(peer.left_at(self.now, answer));
        let handshake = Handshake { retries: opening.repetitions, way_back, ..Handshake::symmetric(rtt) };
        sender.set_nodelay(self.nodelay);
        sender.set_largest_call(u64::MAX >> 1);
        sender.set_smallest_burst(settings.smallest_burst);
        sender.establish(self.now, handshake);
        receiver.set_handshake(rtt);
        receiver.accept(self.now);
        let incoming = self.incoming.stream(u64::from(self.peer_segment));
        self.state = State::Established(Box::new(Connection {
            sender,
            receiver,
            outgoing: Stream::new(),
            incoming,
            isn: self.isn,
            ecn: peer.ecn.is_on(),
            accurate,
            timestamps,
            mss: u64::from(mss),
            peer_segment: self.peer_segment,
            rcv_mss: RCV_MSS.min(self.peer_segment),
            own_mss: self.own_mss,
            memory: self.memory(&peer),
            closing: Closing::none(),
            clocks: Clocks::new(self.now),
            stamps: stamps::Stamps::default(),
            writing: Writing::new(self.now, self.is_corked),
            echoes: false,
            arrived: HashSet::new(),
            dsack: settings.config.dsack,
            last_ack: 0,
            own_window: FIRST_WINDOW,
            last_echo: Timestamp::default(),
            plain_timestamp: peer.clock.map(|(val, _)| val),
            largest_window: first_window,
            last_window: window.unwrap_or(peer.window),
            read: 0,
            retransmitted_bytes: 0,
            first_retransmission: None,
            device: Device::new(),
            sent_bytes: 0,
            invalid_ratelimit: settings.invalid_ratelimit,
            challenged_at: None,
            peer,
        }));
        Ok(())
    }

    /// The receive buffer, where it is the host's to count.
    fn buffer(&self) -> Option<Buffer> {
        let settings = &self.settings;
        let initial = settings.may_shrink.then(|| Buffer::initial(settings.receive_memory, true));
        self.receive_buffer.map(|bytes| Buffer::asked(bytes, settings.may_shrink)).or(initial)
    }

    fn memory(&self, peer: &Peer) -> Option<Memory> {
        self.buffer().map(|buffer| Memory::new(buffer, u64::from(self.own_mss), peer.wscale.is_some()))
    }

    /// A reset arrives before the handshake is over. To a server it has to have the next sequence number exactly:
    /// another one of the window is answered with an ACK, and one beyond it is not answered (RFC 9293, section
    /// 3.10.7.4). A client believes one that acknowledges its SYN.
    fn receive_early_reset(&mut self, packet: &Packet) {
        let State::Opening(opening) = &self.state else { return };
        let Some(peer) = &opening.peer else {
            if packet.flags.has(Flags::ACK) && packet.ack == Some(self.isn.wrapping_add(1)) {
                self.state = State::Gone(Gone { error: Some("ECONNREFUSED") });
            }
            return;
        };
        let (next, clock) = (peer.isn.wrapping_add(1), peer.clock);
        let distance = u64::from(packet.seq.wrapping_sub(next));
        if distance == 0 {
            self.state = State::Listening;
        } else if distance < FIRST_WINDOW && self.may_challenge() {
            let echo = clock.map(|(val, _)| (milliseconds(self.now), val));
            let answer = Packet {
                direction: Direction::Outbound,
                ecn: Some(Ecn::NotEct),
                flags: Flags::ACK,
                seq: self.isn.wrapping_add(1),
                len: 0,
                ack: Some(next),
                window: None,
                options: Some(Options { timestamp: echo, ..Options::default() }),
            };
            self.sent.push_back(Emitted { at: self.now, packet: answer, stamp: self.now });
        }
    }

    /// Whether an ACK may answer what is not acceptable during the handshake: the last one was a while ago.
    fn may_challenge(&mut self) -> bool {
        let is_recent = self.challenged_at.is_some_and(|at| self.now.since(at) < self.settings.invalid_ratelimit);
        if !is_recent {
            self.challenged_at = Some(self.now);
        }
        !is_recent
    }

    /// The other end resets the connection.
    fn receive_reset(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Closed) {
            State::Established(connection) => {
                let error = if connection.has_ended() { "EPIPE" } else { "ECONNRESET" };
                State::Gone(Gone { error: Some(error) })
            }
            gone @ State::Gone(_) => gone,
            State::TimeWait(_) => State::Gone(Gone { error: None }),
            early @ (State::Opening(_) | State::Closed | State::Listening) => early,
        };
    }

    /// Answers a packet that belongs to no connection (`tcp_v4_send_reset`).
    fn refuse(&mut self, packet: &Packet) {
        let (flags, seq, ack) = match packet.ack.filter(|_| packet.flags.has(Flags::ACK)) {
            Some(ack) => (Flags::RST, ack, None),
            None => (Flags::RST | Flags::ACK, 0, Some(packet.seq.wrapping_add(packet.space()))),
        };
        let packet = Packet {
            direction: Direction::Outbound,
            ecn: Some(Ecn::NotEct),
            flags,
            seq,
            len: 0,
            ack,
            window: None,
            options: Some(Options::default()),
        };
        self.sent.push_back(Emitted { at: self.now, packet, stamp: self.now });
    }

    /// The instant that a packet's echo of a timestamp stands for.
    fn echo_of(&self, packet: &Packet) -> Option<Time> {
        let (_, echo) = packet.options.as_ref()?.timestamp?;
        let known = self.stamps.iter().rev().find(|&&(value, _)| value == echo).map(|&(_, stamp)| stamp);
        known.or_else(|| {
            let (value, stamp) =
                self.stamps.iter().filter(|&&(value, _)| value < echo).max_by_key(|&&(value, _)| value)?;
            Some(*stamp + Duration::from_millis(u64::from(echo - value)))
        })
    }
}

impl Host for Simulated {
    fn begin_again(&mut self, chapter: &Script) -> Result<(), String> {
        let mut settings = self.settings.clone();
        settings.choose(chapter);
        let now = self.now;
        *self = Simulated { settings, now, ..Simulated::new(chapter)? };
        Ok(())
    }

    fn begin_event(&mut self, _index: usize) {}

    fn now(&self) -> Time {
        self.now
    }

    fn run_until(&mut self, time: Time) {
        while self.next_timer() < time {
            self.step();
        }
        self.now = self.now.max(time);
    }

    fn next_packet(&mut self, deadline: Time) -> Option<Emitted> {
        while self.sent.is_empty() && self.next_timer() <= deadline {
            self.step();
        }
        self.sent.pop_front()
    }

    fn put_back(&mut self, packet: Emitted) {
        self.sent.push_front(packet);
    }

    fn name_stamp(&mut self, value: u32, stamp: Time) {
        self.stamps.push((value, stamp));
    }

    fn progress(&self) -> Progress {
        match &self.state {
            State::Closed | State::Listening => Progress::Closed,
            State::Opening(_) => Progress::Opening,
            State::Established(_) | State::TimeWait(_) | State::Gone(_) => Progress::Established,
        }
    }

    fn info(&self, name: &str) -> Option<i64> {
        match &self.state {
            State::Established(connection) | State::TimeWait(connection) => connection.info(self.now, name),
            State::Gone(_) => self.given_up.as_ref()?.info_given_up(self.now, name),
            _ => None,
        }
    }

    fn has_exact_windows(&self) -> bool {
        true
    }

    fn counter(&self, name: &str) -> Result<Option<u64>, String> {
        let dropped = match &self.state {
            State::Established(connection) => connection.memory.as_ref().map(Memory::dropped),
            _ => None,
        };
        let index = COUNTERS.iter().position(|&other| other == name);
        index.and_then(|index| Some(Some(dropped?[index]))).ok_or_else(|| format!("the counter `{name}`"))
    }

    fn shell(&mut self, command: &str) -> Result<(), String> {
        let mut settings = self.settings.clone();
        settings.run(command, &self.folder)?;
        if settings.may_shrink && self.receive_buffer.is_none() && self.reads {
            return Err("tcp_shrink_window = 1 and a buffer that grows".to_owned());
        }
        if self.progress() > Progress::Closed && settings.config != self.settings.config {
            return Err(format!("the command `{command}` during a connection"));
        }
        if let State::Established(connection) = &mut self.state {
            connection.set_ecn_option(settings.ecn_option)?;
            connection.set_device(settings.device_is_full)?;
        }
        self.settings = settings;
        Ok(())
    }

    fn listen(&mut self) {
        self.state = State::Listening;
    }

    fn connect(&mut self) {
        let options = Options {
            mss: Some(self.own_mss),
            wscale: self.settings.window_scaling.then_some(OWN_WSCALE),
            sack_ok: self.settings.config.sack,
            timestamp: self.settings.timestamps.then_some((0, 0)),
            ..Options::default()
        };
        let asked = negotiation::asked(self.settings.ecn);
        self.open(asked, Flags::SYN | negotiation::asking(asked), None, options, None);
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), String> {
        let foreign = packet.options.as_ref().and_then(|options| options.foreign.as_ref());
        // A server that does not offer Fast Open ignores its cookie, and the data of a SYN.
        let is_ignored = packet.flags.has(Flags::SYN) && !self.settings.always_fast_open;
        if let Some(foreign) = foreign.filter(|option| !(option.starts_with("FO ") && is_ignored)) {
            return Err(format!("the TCP option `{foreign}`"));
        }
        if let State::Established(connection) = &mut self.state
            && !connection.is_acceptable(packet)
        {
            connection.challenge(self.now, packet, &mut self.sent);
            return Ok(());
        }
        if self.settings.device_is_full {
            return Err("a packet to a host whose device has no room".to_owned());
        }
        let means_something = packet.flags.has(Flags::ACK | Flags::RST | Flags::SYN);
        if !means_something && matches!(self.state, State::Established(_)) {
            return Ok(());
        }
        if packet.flags.has(Flags::URG) {
            return Err("a packet with URG".to_owned());
        }
        if packet.flags.has(Flags::RST) {
            self.receive_early_reset(packet);
            self.receive_reset();
            return Ok(());
        }
        let is_syn = packet.flags.has(Flags::SYN);
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Listening if is_syn && !packet.flags.has(Flags::ACK) => self.answer(packet),
            State::Opening(opening) => self.answered(*opening, packet)?,
            State::Established(mut connection) => {
                let echo = self.echo_of(packet);
                match connection.receive(self.now, packet, echo, &mut self.sent) {
                    Ending::None => self.state = State::Established(connection),
                    Ending::TimeWait => self.state = State::TimeWait(connection),
                    Ending::Over | Ending::Reset => self.state = State::Gone(Gone { error: None }),
                    Ending::Refused => {
                        self.state = State::Gone(Gone { error: None });
                        self.refuse(packet);
                    }
                }
            }
            State::TimeWait(mut connection) => {
                if packet.space() > 0 {
                    connection.answer_alone(self.now, &mut self.sent);
                }
                self.state = State::TimeWait(connection);
            }
            State::Gone(gone) => {
                self.state = State::Gone(gone);
                self.refuse(packet);
            }
            State::Listening if packet.flags.has(Flags::ACK) => {
                self.state = State::Listening;
                self.refuse(packet);
            }
            State::Listening | State::Closed => return Err("a packet without a connection".to_owned()),
        }
        Ok(())
    }

    fn set_nodelay(&mut self, nodelay: bool) {
        self.nodelay = nodelay;
        if let State::Established(connection) = &mut self.state {
            connection.sender.set_nodelay(nodelay);
            if nodelay {
                connection.release(self.now);
                connection.transmit(self.now, &mut self.sent);
            }
        }
    }

    fn set_max_segment(&mut self, bytes: u32) -> Result<(), String> {
        if self.progress() > Progress::Closed {
            return Err("TCP_MAXSEG during a connection".to_owned());
        }
        self.own_mss = self.own_mss.min(bytes);
        Ok(())
    }

    fn set_receive_buffer(&mut self, bytes: u64) {
        self.receive_buffer = Some(bytes);
        if let State::Established(connection) = &mut self.state {
            connection.resize_memory(bytes);
        }
    }

    fn set_user_timeout(&mut self, timeout: Duration) {
        self.user_timeout = (timeout > Duration::ZERO).then_some(timeout);
    }

    fn set_cork(&mut self, is_corked: bool) {
        self.is_corked = is_corked;
        if let State::Established(connection) = &mut self.state {
            connection.cork(self.now, is_corked, &mut self.sent);
        }
    }

    fn write(&mut self, bytes: u64, manner: Manner) -> Result<(), String> {
        let State::Established(connection) = &mut self.state else {
            return Err("a write before the connection is established".to_owned());
        };
        connection.write(self.now, bytes, manner, &mut self.sent);
        Ok(())
    }

    fn want_stamps(&mut self, wanted: Wanted) -> Result<(), String> {
        let State::Established(connection) = &mut self.state else {
            return Err("SO_TIMESTAMPING before the connection is established".to_owned());
        };
        connection.want_stamps(wanted);
        Ok(())
    }

    fn next_stamp(&mut self) -> Option<Result<Stamp, &'static str>> {
        match &mut self.state {
            State::Established(connection) => Some(connection.next_stamp().ok_or("EAGAIN")),
            _ => None,
        }
    }

    fn wrote_at(&self) -> Option<Time> {
        let State::Established(connection) = &self.state else { return None };
        Some(connection.wrote_at())
    }

    fn refuses_writes(&mut self) -> Option<&'static str> {
        match &mut self.state {
            State::Established(connection) => connection.closing.own().map(|_| "EPIPE"),
            State::Gone(gone) => Some(gone.error.take().unwrap_or("EPIPE")),
            State::TimeWait(_) => Some("EPIPE"),
            State::Closed | State::Listening | State::Opening(_) => None,
        }
    }

    fn read(&mut self, most: u64) -> Option<Result<u64, &'static str>> {
        match &mut self.state {
            State::Established(connection) | State::TimeWait(connection) => {
                Some(connection.read(self.now, most, &mut self.sent))
            }
            State::Gone(gone) => Some(gone.error.take().map_or(Ok(0), Err)),
            State::Closed | State::Listening | State::Opening(_) => None,
        }
    }

    fn queued(&self, incoming: bool) -> Option<u64> {
        match &self.state {
            State::Established(connection) | State::TimeWait(connection) if incoming => Some(connection.unread()),
            State::Established(connection) | State::TimeWait(connection) => Some(connection.unacknowledged()),
            State::Gone(_) => Some(0),
            State::Closed | State::Listening | State::Opening(_) => None,
        }
    }

    fn shut_down(&mut self, reads: bool, writes: bool) {
        if let State::Established(connection) = &mut self.state {
            if reads {
                connection.end_reading();
            }
            if writes {
                connection.end_writing(self.now, &mut self.sent);
            }
        }
    }

    fn close(&mut self) {
        if let State::Opening(_) = &self.state {
            self.state = State::Gone(Gone { error: None });
        }
        if let State::Established(connection) = &mut self.state
            && connection.close(self.now, &mut self.sent) == Ending::Reset
        {
            self.state = State::Gone(Gone { error: None });
        }
    }
}

fn controller(settings: &Settings) -> Result<Box<dyn Controller>, String> {
    let name = settings.congestion_control.as_str();
    let none = serde_json::Map::new();
    let parameters = if name == "cubic" { &settings.cubic } else { &none };
    let recipe = dumbbell_cc_family::catalog().recipe(name, parameters);
    Ok(recipe.map_err(|_| format!("the congestion control `{name}`"))?.controller(Rng::new(1)))
}
