//! The host under test: one socket, over the product's own endpoints, in virtual time.
//!
//! The endpoints begin established and are one-directional. What stands between them and a script is here: the handshake,
//! bytes instead of segments, timestamps in milliseconds, and the two directions of one connection, of which a script may
//! use both. Acknowledgements ride on data that leaves in the same instant.

use crate::judge::{Host, Progress};
use crate::script::{Direction, Flags, Options, Packet, Script};
use crate::settings::{Settings, peer_segment};
use crate::stream::Stream;
use dumbbell_cc::{CaState, Controller};
use dumbbell_path::Ecn;
use dumbbell_transport::{Ack, Flags as SegmentFlags, Receiver, SackBlock, Segment, Sender, TransportConfig};
use dumbbell_units::{Duration, Rng, Time};
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// Virtual time at which scripts begin. Timestamps may lie before it.
pub const START: Time = Time::from_nanos(1_000_000_000_000);
/// The host's own maximum segment size: 1500 bytes less headers.
const OWN_MSS: u32 = 1460;
/// Bytes that timestamps take of every segment.
const TIMESTAMP_BYTES: u32 = 12;
/// The host's own window scale. Scripts leave it open, because it follows from buffer sizes.
const OWN_WSCALE: u32 = 8;
/// First timeout of a SYN.
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
const MILLISECOND: u64 = 1_000_000;
/// Without timestamps nothing follows from the echo: it lies so far ahead of the clock that the sender draws nothing from it.
const NO_ECHO: Duration = Duration::from_secs(1);

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
    Opening(Opening),
    Established(Box<Connection>),
}

struct Opening {
    /// The packet to repeat.
    packet: Packet,
    /// The other end's SYN, which a server has.
    peer: Option<Peer>,
    sent_at: Time,
    repetitions: u32,
    timeout: Duration,
    due: Time,
}

/// What the other end's SYN says.
#[derive(Clone, Debug)]
struct Peer {
    isn: u32,
    mss: u32,
    wscale: Option<u32>,
    sack: bool,
    /// Its timestamp, if it has one, and when it came.
    clock: Option<(u32, Time)>,
    ecn: bool,
    window: u32,
}

/// The endpoints of this repository behind one socket.
pub struct Simulated {
    /// What holds for its connections.
    settings: Settings,
    folder: PathBuf,
    /// Of the other end's data: where packets of the script begin and end, in bytes.
    peer_cuts: Vec<u64>,
    /// Payload bytes of the other end's full segments.
    peer_segment: u32,
    /// `TCP_NODELAY`.
    nodelay: bool,
    /// The sequence number of its SYN in the script's numbers.
    isn: u32,
    /// Whether the application reads data as soon as it arrives.
    reads_at_once: bool,
    now: Time,
    state: State,
    sent: VecDeque<Emitted>,
    /// Timestamps of the script and the instants they stand for.
    stamps: Vec<(u32, Time)>,
}

/// Both directions of an established connection.
struct Connection {
    sender: Sender,
    receiver: Receiver,
    outgoing: Stream,
    incoming: Stream,
    isn: u32,
    peer: Peer,
    mss: u64,
    timestamps: bool,
    ecn: bool,
    nodelay: bool,
    /// Bytes that Nagle's algorithm holds back, and the end of the last short segment that was handed over.
    held: u64,
    short_end: u64,
    /// Whether ACKs echo congestion.
    echoes: bool,
    /// Segments of the other end that have arrived.
    arrived: HashSet<u32>,
    dsack: bool,
    last_ack: u32,
    last_echo: Time,
    /// The latest timestamp of the other end that a packet without data brought; those of data are the receiver's.
    plain_timestamp: Option<u32>,
    last_window: u32,
    read: u64,
    retransmitted_bytes: u64,
    sent_bytes: u64,
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
        if let Some(name) = Settings::chosen_controller(script) {
            settings.congestion_control = name.to_owned();
        }
        let isn_of = |direction| {
            let mut packets = script.packets(direction);
            packets.find(|packet| packet.flags.has(Flags::SYN)).map_or(0, |packet| packet.seq)
        };
        let data_begins = isn_of(Direction::Inbound).wrapping_add(1);
        let peer_cuts = script.packets(Direction::Inbound).filter(|packet| packet.len > 0).flat_map(|packet| {
            let start = u64::from(packet.seq.wrapping_sub(data_begins));
            [start, start + u64::from(packet.len)]
        });
        Ok(Simulated {
            settings,
            folder: script.folder.clone(),
            peer_cuts: peer_cuts.filter(|&cut| cut < u64::from(u32::MAX / 2)).collect(),
            peer_segment: peer_segment(script),
            nodelay: false,
            isn: isn_of(Direction::Outbound),
            reads_at_once: script.has_blocking_read(),
            now: START,
            state: State::Closed,
            sent: VecDeque::new(),
            stamps: Vec::new(),
        })
    }

    /// When something happens next by itself.
    fn next_timer(&self) -> Time {
        match &self.state {
            State::Opening(opening) => opening.due,
            State::Established(connection) => connection.next_timer(),
            State::Closed | State::Listening => Time::NEVER,
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
                    opening.timeout = opening.timeout * 2;
                }
                opening.sent_at = self.now;
                opening.due = self.now + opening.timeout;
                let mut packet = opening.packet.clone();
                // A repeated SYN does not ask for ECN again.
                packet.flags = packet.flags.without(Flags::ECE | Flags::CWR);
                self.emit_opening(packet);
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

    fn open(&mut self, flags: Flags, ack: Option<u32>, options: Options, peer: Option<Peer>) {
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
            peer,
            sent_at: self.now,
            repetitions: 0,
            timeout: SYN_TIMEOUT,
            due: self.now + SYN_TIMEOUT,
        };
        self.state = State::Opening(opening);
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
            ecn: false,
            window: packet.window.unwrap_or(65_535),
        }
    }

    fn answer(&mut self, syn: &Packet) {
        let asks_for_ecn = syn.flags.has(Flags::ECE) && syn.flags.has(Flags::CWR);
        let peer = Peer { ecn: asks_for_ecn && self.settings.ecn > 0, ..self.peer(syn) };
        let options = Options {
            mss: Some(OWN_MSS),
            wscale: peer.wscale.map(|_| OWN_WSCALE),
            sack_ok: peer.sack,
            timestamp: peer.clock.map(|(val, _)| (0, val)),
            ..Options::default()
        };
        let flags = Flags::SYN | Flags::ACK | Flags::ECE.when(peer.ecn);
        self.open(flags, Some(peer.isn.wrapping_add(1)), options, Some(peer));
    }

    fn answered(&mut self, opening: Opening, packet: &Packet) -> Result<(), String> {
        let is_syn = packet.flags.has(Flags::SYN);
        let acknowledges = packet.flags.has(Flags::ACK) && packet.ack == Some(self.isn.wrapping_add(1));
        match opening.peer.clone() {
            // A server: the ACK of its answer.
            Some(peer) if acknowledges && !is_syn => {
                let is_more = packet.len > 0;
                let window = packet.window.unwrap_or(0);
                self.establish(&opening, peer, packet, Some(window))?;
                if let State::Established(connection) = &mut self.state {
                    connection.note_timestamp(packet);
                }
                if is_more { self.receive(packet) } else { Ok(()) }
            }
            // A client: the answer to its SYN.
            None if acknowledges && is_syn => {
                let asked_for_ecn = opening.packet.flags.has(Flags::ECE) && opening.repetitions == 0;
                let peer = Peer {
                    ecn: asked_for_ecn && packet.flags.has(Flags::ECE) && !packet.flags.has(Flags::CWR),
                    ..self.peer(packet)
                };
                self.establish(&opening, peer, packet, None)?;
                if let State::Established(connection) = &mut self.state {
                    connection.acknowledge_plainly(self.now, &mut self.sent);
                }
                Ok(())
            }
            Some(_) if is_syn && !packet.flags.has(Flags::ACK) => {
                // The SYN again: so is its answer.
                let answer = opening.packet.clone();
                self.state = State::Opening(opening);
                self.emit_opening(answer);
                Ok(())
            }
            Some(_) if is_syn => Err("an answer to an answer".to_owned()),
            None if is_syn => Err("simultaneous open".to_owned()),
            _ => Err("a packet that does not answer the handshake".to_owned()),
        }
    }

    fn establish(&mut self, opening: &Opening, peer: Peer, answer: &Packet, window: Option<u32>) -> Result<(), String> {
        let timestamps = peer.clock.is_some();
        let own_mss = peer.mss.min(OWN_MSS);
        let mss = own_mss.saturating_sub(if timestamps { TIMESTAMP_BYTES } else { 0 }).max(1);
        let settings = &self.settings;
        // The window of a SYN is not scaled, that of the last packet of the handshake is.
        let first_window = match window {
            Some(window) => u64::from(window) << peer.wscale.unwrap_or(0).min(14),
            None => u64::from(peer.window),
        };
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
            receive_autotuning: true,
            ack_pushes: base.ack_pushes && self.reads_at_once,
            ..base
        };
        let mut sender = Sender::new(Arc::new(sending), controller(settings)?);
        let mut receiver = Receiver::new(&receiving);
        // An echo tells which of several SYNs the answer is to.
        let rtt = self.now.since(self.echo_of(answer).unwrap_or(opening.sent_at));
        sender.establish(self.now, rtt, opening.repetitions);
        receiver.set_handshake(rtt, Duration::from_nanos(rtt.as_nanos() / 2));
        let incoming = Stream::cut(self.peer_cuts.iter().copied(), u64::from(self.peer_segment));
        self.state = State::Established(Box::new(Connection {
            sender,
            receiver,
            outgoing: Stream::new(),
            incoming,
            isn: self.isn,
            ecn: peer.ecn,
            timestamps,
            mss: u64::from(mss),
            nodelay: self.nodelay,
            held: 0,
            short_end: 0,
            echoes: false,
            arrived: HashSet::new(),
            dsack: settings.config.dsack,
            last_ack: 0,
            last_echo: Time::ZERO,
            plain_timestamp: peer.clock.map(|(val, _)| val),
            last_window: window.unwrap_or(peer.window),
            read: 0,
            retransmitted_bytes: 0,
            sent_bytes: 0,
            peer,
        }));
        Ok(())
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
            State::Established(_) => Progress::Established,
        }
    }

    fn info(&self, name: &str) -> Option<i64> {
        match &self.state {
            State::Established(connection) => connection.info(name),
            _ => None,
        }
    }

    fn shell(&mut self, command: &str) -> Result<(), String> {
        let mut settings = self.settings.clone();
        settings.run(command, &self.folder)?;
        if self.progress() > Progress::Closed && settings.config != self.settings.config {
            return Err(format!("the command `{command}` during a connection"));
        }
        self.settings = settings;
        Ok(())
    }

    fn listen(&mut self) {
        self.state = State::Listening;
    }

    fn connect(&mut self) {
        let options = Options {
            mss: Some(OWN_MSS),
            wscale: self.settings.window_scaling.then_some(OWN_WSCALE),
            sack_ok: self.settings.config.sack,
            timestamp: self.settings.timestamps.then_some((0, 0)),
            ..Options::default()
        };
        let flags = Flags::SYN | (Flags::ECE | Flags::CWR).when(self.settings.ecn == 1);
        self.open(flags, None, options, None);
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), String> {
        if let Some(foreign) = packet.options.as_ref().and_then(|options| options.foreign.as_ref()) {
            return Err(format!("the TCP option `{foreign}`"));
        }
        if let State::Established(connection) = &self.state
            && connection.is_ahead(packet)
        {
            // It acknowledges what was not sent: whatever else it says is not believed.
            return Ok(());
        }
        for (flag, name) in [(Flags::RST, "RST"), (Flags::FIN, "FIN"), (Flags::URG, "URG"), (Flags::AE, "AccECN")] {
            if packet.flags.has(flag) {
                return Err(format!("a packet with {name}"));
            }
        }
        let is_syn = packet.flags.has(Flags::SYN);
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Listening if is_syn => self.answer(packet),
            State::Opening(opening) => self.answered(opening, packet)?,
            State::Established(mut connection) if !is_syn => {
                let echo = self.echo_of(packet);
                connection.receive(self.now, packet, echo, &mut self.sent);
                self.state = State::Established(connection);
            }
            State::Established(_) => return Err("a SYN on an established connection".to_owned()),
            State::Listening | State::Closed => return Err("a packet without a connection".to_owned()),
        }
        Ok(())
    }

    fn set_nodelay(&mut self, nodelay: bool) {
        self.nodelay = nodelay;
    }

    fn write(&mut self, bytes: u64) -> Result<(), String> {
        let State::Established(connection) = &mut self.state else {
            return Err("a write before the connection is established".to_owned());
        };
        connection.nodelay = self.nodelay;
        connection.write(self.now, bytes);
        connection.transmit(self.now, &mut self.sent);
        Ok(())
    }

    fn read(&mut self, most: u64) -> Option<u64> {
        let State::Established(connection) = &mut self.state else { return Some(0) };
        let there = connection.incoming.byte(connection.last_delivered()) - connection.read;
        let read = there.min(most);
        connection.read += read;
        Some(read)
    }
}

fn controller(settings: &Settings) -> Result<Box<dyn Controller>, String> {
    let name = settings.congestion_control.as_str();
    let none = serde_json::Map::new();
    let parameters = if name == "cubic" { &settings.cubic } else { &none };
    let recipe = dumbbell_cc_family::catalog().recipe(name, parameters);
    Ok(recipe.map_err(|_| format!("the congestion control `{name}`"))?.controller(Rng::new(1)))
}

/// The clock of timestamps.
fn milliseconds(time: Time) -> u32 {
    (time.as_nanos() / MILLISECOND) as u32
}

impl Connection {
    fn next_timer(&self) -> Time {
        self.sender.next_timer().min(self.receiver.next_timer())
    }

    fn on_timer(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
            self.transmit(now, sent);
        }
        if self.receiver.next_timer() <= now
            && let Some(ack) = self.receiver.on_timer(now)
        {
            self.emit_ack(now, &ack, sent);
        }
    }

    fn last_delivered(&self) -> u32 {
        self.receiver.stats().delivered_segments as u32
    }

    fn receive(&mut self, now: Time, packet: &Packet, echo: Option<Time>, sent: &mut VecDeque<Emitted>) {
        self.note_timestamp(packet);
        if packet.flags.has(Flags::ACK) {
            self.hear(now, packet, echo);
        }
        let acks = if packet.len > 0 { self.take(now, packet) } else { Vec::new() };
        let left_before = sent.len();
        self.transmit(now, sent);
        // Data that leaves now says what a plain ACK would say, and more does not fit.
        let has_left = sent.len() > left_before;
        for ack in acks {
            if !has_left || ack.sack_count > 0 {
                self.emit_ack(now, &ack, sent);
            }
        }
    }

    /// Whether a packet acknowledges what was not sent.
    fn is_ahead(&self, packet: &Packet) -> bool {
        let nxt = self.isn.wrapping_add(1).wrapping_add(self.outgoing.byte(self.sender.view().snd_nxt as u32) as u32);
        packet.flags.has(Flags::ACK) && packet.ack.is_some_and(|ack| (1..u32::MAX / 2).contains(&ack.wrapping_sub(nxt)))
    }

    /// Keeps the timestamp of a packet without data, if it is no older and the packet is not ahead of the last ACK sent.
    fn note_timestamp(&mut self, packet: &Packet) {
        let timestamp = packet.options.as_ref().and_then(|options| options.timestamp);
        let (Some((val, _)), Some(known)) = (timestamp, self.plain_timestamp) else { return };
        let start = u64::from(packet.seq.wrapping_sub(self.peer.isn.wrapping_add(1)));
        let is_newer = val.wrapping_sub(known) < u32::MAX / 2;
        if packet.len == 0 && is_newer && start <= self.incoming.byte(self.last_ack) {
            self.plain_timestamp = Some(val);
        }
    }

    /// What the next packet echoes when the receiver's own answer is `echo`.
    fn echoed(&self, echo: Time) -> Option<u32> {
        let (val, at) = self.peer.clock?;
        let age = (echo.as_nanos() as i64 - at.as_nanos() as i64) / MILLISECOND as i64;
        let of_data = if echo == Time::ZERO { val } else { val.wrapping_add(age as u32) };
        let plain = self.plain_timestamp.unwrap_or(val);
        Some(if plain.wrapping_sub(of_data) < u32::MAX / 2 { plain } else { of_data })
    }

    /// The acknowledging part of a packet.
    fn hear(&mut self, now: Time, packet: &Packet, echo: Option<Time>) {
        let Some(number) = packet.ack else { return };
        let byte = u64::from(number.wrapping_sub(self.isn.wrapping_add(1)));
        let nxt = self.sender.view().snd_nxt;
        if byte > self.outgoing.byte(nxt as u32) && byte < u64::from(u32::MAX / 2) {
            return;
        }
        let ack_segment = if byte > u64::from(u32::MAX / 2) { 0 } else { self.outgoing.whole_below(byte) };
        let window_field = packet.window.unwrap_or(self.last_window);
        let window_bytes = u64::from(window_field) << self.peer.wscale.unwrap_or(0).min(14);
        let blocks = packet.options.as_ref().map(|options| &options.sack[..]).unwrap_or_default();
        let has_news = u64::from(ack_segment) > self.sender.view().snd_una || !blocks.is_empty();
        let opens = window_field != self.last_window;
        self.last_window = window_field;
        if packet.len > 0 && !has_news && !opens {
            return;
        }
        let mut ack = Ack {
            ack: ack_segment,
            sack: [SackBlock::default(); Ack::MAX_SACK_BLOCKS],
            sack_count: 0,
            ece: self.ecn && packet.flags.has(Flags::ECE),
            window: (window_bytes / self.mss) as u32,
            echo: echo.filter(|_| self.timestamps).unwrap_or(now + NO_ECHO),
        };
        for &(start, end) in blocks.iter().filter(|_| self.peer.sack).take(Ack::MAX_SACK_BLOCKS) {
            let offset = |number: u32| u64::from(number.wrapping_sub(self.isn.wrapping_add(1)));
            let block = SackBlock {
                start: self.outgoing.first_from(offset(start)),
                end: self.outgoing.whole_below(offset(end)),
            };
            // What reports more than was sent is not believed (`tcp_is_sackblock_valid`).
            if u64::from(block.end) > nxt {
                continue;
            }
            if block.start < block.end {
                ack.sack[usize::from(ack.sack_count)] = block;
                ack.sack_count += 1;
            }
        }
        self.sender.on_ack(now, &ack);
        self.release_held(now);
    }

    /// The data of a packet; the ACKs it causes at once.
    fn take(&mut self, now: Time, packet: &Packet) -> Vec<Ack> {
        let start = u64::from(packet.seq.wrapping_sub(self.peer.isn.wrapping_add(1)));
        let first = self.incoming.first_from(start);
        let end = self.incoming.whole_below(start + u64::from(packet.len));
        let sent_at = match (packet.options.as_ref().and_then(|options| options.timestamp), self.peer.clock) {
            (Some((val, _)), Some((first_val, at))) => {
                let age = i64::from(val.wrapping_sub(first_val) as i32);
                let nanos = at.as_nanos() as i64 + age * MILLISECOND as i64;
                Time::from_nanos(u64::try_from(nanos).unwrap_or(0))
            }
            _ => now,
        };
        let parts: Vec<Segment> = (first..end)
            .map(|seq| {
                let pushed = SegmentFlags::PSH.bits() * u8::from(packet.flags.has(Flags::PSH) && seq + 1 == end);
                let reduced = SegmentFlags::CWR.bits() * u8::from(packet.flags.has(Flags::CWR) && seq == first);
                Segment {
                    seq,
                    len: self.incoming.len(seq) as u16,
                    ecn: if self.ecn { packet.ecn.unwrap_or_default() } else { Ecn::NotEct },
                    flags: SegmentFlags::from_bits(pushed | reduced),
                    sent_at,
                }
            })
            .collect();
        if let [only] = parts[..] {
            self.arrived.insert(only.seq);
            return self.take_part(now, only);
        }
        self.take_parts(now, &parts)
    }

    /// A segment arrives; the ACKs that it causes.
    fn take_part(&mut self, now: Time, part: Segment) -> Vec<Ack> {
        let mut acks: Vec<Ack> = self.receiver.on_segment(now, part).into_iter().collect();
        if self.receiver.next_timer() <= now {
            acks.extend(self.receiver.on_timer(now));
        }
        acks
    }

    /// A packet that the script's cuts divide, or one larger than a segment, is still one packet: its last ACK stands for
    /// all. If part of it had arrived before, that is reported as a duplicate: the first piece of it, as Linux does.
    fn take_parts(&mut self, now: Time, parts: &[Segment]) -> Vec<Ack> {
        let (news, old): (Vec<Segment>, Vec<Segment>) =
            parts.iter().partition(|part| !self.arrived.contains(&part.seq));
        self.arrived.extend(news.iter().map(|part| part.seq));
        let fed = if news.is_empty() { &old } else { &news };
        let mut last = None;
        for part in fed {
            last = self.take_part(now, *part).pop().or(last);
        }
        let reports = self.dsack && self.peer.sack;
        if let (Some(ack), Some(first)) = (&mut last, old.first().filter(|_| reports)) {
            let end = old.windows(2).take_while(|pair| pair[1].seq == pair[0].seq + 1).count() as u32;
            report_duplicate(ack, SackBlock { start: first.seq, end: first.seq + end + 1 });
        }
        last.into_iter().collect()
    }

    fn write(&mut self, now: Time, bytes: u64) {
        let mut bytes = bytes + std::mem::take(&mut self.held);
        let sent = self.sender.view().snd_nxt;
        let una = self.outgoing.byte(self.sender.view().snd_una as u32);
        if !self.nodelay && self.short_end > una {
            // Nagle's algorithm, as Minshall changed it: one short segment outstanding.
            let beyond = bytes.saturating_sub(self.outgoing.room_in_last(self.mss, sent));
            self.held = beyond % self.mss;
            bytes -= self.held;
        }
        if bytes > 0 {
            let (segments, last_len) = self.outgoing.write(bytes, self.mss, sent);
            self.sender.write(now, segments, last_len as u16);
            if last_len < self.mss {
                self.short_end = self.outgoing.end();
            }
        }
    }

    /// What Nagle's algorithm held back may leave.
    fn release_held(&mut self, now: Time) {
        let una = self.outgoing.byte(self.sender.view().snd_una as u32);
        if self.held > 0 && self.short_end <= una {
            self.write(now, 0);
        }
    }

    fn transmit(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        while let Some(burst) = self.sender.poll_transmit(now) {
            let segments: Vec<Segment> = burst.collect();
            let (Some(first), Some(last)) = (segments.first(), segments.last()) else { continue };
            let (start, end) = (self.outgoing.byte(first.seq), self.outgoing.byte(last.seq + 1));
            self.sent_bytes += end - start;
            if burst.is_retransmission {
                self.retransmitted_bytes += end - start;
            }
            let flags = Flags::PSH.when(last.flags.has(SegmentFlags::PSH))
                | Flags::CWR.when(first.flags.has(SegmentFlags::CWR));
            let packet = self.packet(flags, start, end - start, first.sent_at);
            sent.push_back(Emitted {
                at: now,
                packet: Packet { ecn: Some(first.ecn), ..packet },
                stamp: first.sent_at,
            });
        }
    }

    /// A packet with everything that all have.
    fn packet(&self, flags: Flags, start: u64, len: u64, stamp: Time) -> Packet {
        let ack = self.incoming.byte(self.last_ack.max(self.last_delivered()));
        Packet {
            direction: Direction::Outbound,
            ecn: Some(Ecn::NotEct),
            flags: flags | Flags::ACK | Flags::ECE.when(self.echoes),
            seq: self.isn.wrapping_add(1).wrapping_add(start as u32),
            len: len as u32,
            ack: Some(self.peer.isn.wrapping_add(1).wrapping_add(ack as u32)),
            window: None,
            options: Some(Options {
                timestamp: self.echoed(self.last_echo).map(|echo| (milliseconds(stamp), echo)),
                ..Options::default()
            }),
        }
    }

    fn acknowledge_plainly(&self, now: Time, sent: &mut VecDeque<Emitted>) {
        sent.push_back(Emitted { at: now, packet: self.packet(Flags::NONE, 0, 0, now), stamp: now });
    }

    fn emit_ack(&mut self, now: Time, ack: &Ack, sent: &mut VecDeque<Emitted>) {
        self.last_ack = ack.ack;
        self.last_echo = ack.echo;
        self.echoes = self.ecn && ack.ece;
        let offset = |segment: u32| self.peer.isn.wrapping_add(1).wrapping_add(self.incoming.byte(segment) as u32);
        let nxt = self.outgoing.byte(self.sender.view().snd_nxt as u32);
        let mut packet = self.packet(Flags::NONE, nxt, 0, now);
        packet.ack = Some(offset(ack.ack));
        packet.options = Some(Options {
            timestamp: self.echoed(ack.echo).map(|echo| (milliseconds(now), echo)),
            sack: ack.sack_blocks().iter().map(|block| (offset(block.start), offset(block.end))).collect(),
            ..Options::default()
        });
        sent.push_back(Emitted { at: now, packet, stamp: now });
    }

    fn info(&self, name: &str) -> Option<i64> {
        let (view, control, stats) = (self.sender.view(), self.sender.control(), self.sender.stats());
        let received = self.receiver.stats();
        let byte = |segment: u64| self.outgoing.byte(segment as u32) as i64;
        let min_rtt = if view.min_rtt_us == dumbbell_cc::View::UNKNOWN_RTT { u32::MAX } else { view.min_rtt_us };
        let value = match name {
            "tcpi_state" => 1,
            "tcpi_snd_cwnd" => i64::from(control.cwnd),
            "tcpi_snd_ssthresh" => i64::from(control.ssthresh),
            "tcpi_ca_state" => match view.ca_state {
                CaState::Open => 0,
                CaState::Disorder => 1,
                CaState::Cwr => 2,
                CaState::Recovery => 3,
                CaState::Loss => 4,
            },
            "tcpi_unacked" => i64::from(view.packets_out),
            "tcpi_sacked" => i64::from(view.sacked_out),
            "tcpi_lost" => i64::from(view.lost_out),
            "tcpi_retrans" => i64::from(view.retrans_out),
            "tcpi_fackets" => 0,
            "tcpi_reordering" => i64::from(self.sender.reordering()),
            "tcpi_rtt" => i64::from(view.srtt_us_x8 >> 3),
            "tcpi_min_rtt" => i64::from(min_rtt),
            "tcpi_rto" => self.sender.rto().as_micros() as i64,
            "tcpi_snd_mss" => self.mss as i64,
            "tcpi_delivered" => view.delivered as i64,
            "tcpi_delivered_ce" => view.delivered_ce as i64,
            "tcpi_total_retrans" => stats.retransmitted_segments as i64,
            "tcpi_bytes_sent" => self.sent_bytes as i64,
            "tcpi_bytes_retrans" => self.retransmitted_bytes as i64,
            "tcpi_dsack_dups" => stats.dsacked_segments as i64,
            "tcpi_data_segs_out" => stats.sent_segments as i64,
            "tcpi_data_segs_in" => received.arrived_segments as i64,
            "tcpi_bytes_received" => self.incoming.byte(received.delivered_segments as u32) as i64,
            "tcpi_notsent_bytes" => self.outgoing.end() as i64 - byte(view.snd_nxt) + self.held as i64,
            "tcpi_pacing_rate" => i64::try_from(control.pacing_rate).unwrap_or(i64::MAX),
            "tcpi_delivery_rate_app_limited" => i64::from(self.sender.last_sample().is_app_limited),
            "tcpi_options" => {
                i64::from(self.timestamps)
                    | i64::from(self.peer.sack) << 1
                    | i64::from(self.peer.wscale.is_some()) << 2
                    | i64::from(self.ecn) << 3
            }
            _ => return None,
        };
        Some(value)
    }
}

/// Makes `block` the duplicate that an ACK reports.
fn report_duplicate(ack: &mut Ack, block: SackBlock) {
    let reports_another = ack.sack_blocks().first().is_some_and(|first| first.end <= ack.ack);
    let kept = usize::from(ack.sack_count).min(Ack::MAX_SACK_BLOCKS - usize::from(!reports_another));
    if !reports_another {
        ack.sack.copy_within(..kept, 1);
    }
    ack.sack[0] = block;
    ack.sack_count = (kept + usize::from(!reports_another)) as u8;
}
