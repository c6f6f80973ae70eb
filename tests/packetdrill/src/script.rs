//! What a packet script says, as data.

use dumbbell_units::{Duration, Time};
use std::fmt;
use std::path::PathBuf;

/// Where something stands in a script, counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The folder that relative paths in commands start from.
    pub folder: PathBuf,
    /// `--name=value` lines before the first event.
    pub options: Vec<(String, String)>,
    /// What happens, in the order of the file.
    pub events: Vec<Event>,
}

impl Script {
    /// How early or late a packet may be, where the script says so.
    pub fn tolerance(&self) -> Option<Duration> {
        let (_, value) = self.options.iter().find(|(name, _)| name == "tolerance_usecs")?;
        value.parse().ok().map(Duration::from_micros)
    }

    /// The oldest Linux whose rules it is about (`--define=LINUX=7.3`), where the script says so.
    pub fn oldest_linux(&self) -> Option<&str> {
        let defined = self.options.iter().filter(|(name, _)| name == "define");
        defined
            .filter_map(|(_, value)| value.split_once('='))
            .find(|&(name, _)| name == "LINUX")
            .map(|(_, value)| value)
    }

    /// The script with at least this tolerance.
    #[must_use]
    pub fn with_tolerance(&self, least: Duration) -> Script {
        let tolerance = self.tolerance().unwrap_or(least).max(least).as_micros().to_string();
        let mut script = self.clone();
        script.options.insert(0, ("tolerance_usecs".to_owned(), tolerance));
        script
    }

    /// The script divided before each TCP socket but the first: what it says of one connection after the other.
    pub fn chapters(&self) -> Vec<Script> {
        let mut chapters = vec![Script { events: Vec::new(), ..self.clone() }];
        let mut has_socket = false;
        for event in &self.events {
            let is_socket = event.call().is_some_and(Call::opens_connection);
            if is_socket && has_socket {
                chapters.push(Script { events: Vec::new(), ..self.clone() });
            }
            has_socket |= is_socket;
            if let Some(chapter) = chapters.last_mut() {
                chapter.events.push(event.clone());
            }
        }
        chapters
    }

    /// Packets in one direction.
    pub fn packets(&self, direction: Direction) -> impl Iterator<Item = &Packet> {
        self.events.iter().filter_map(move |event| match &event.what {
            What::Packet(packet) if packet.direction == direction => Some(packet),
            _ => None,
        })
    }

    /// The sequence number with which the data of one direction begins.
    pub fn first_seq(&self, direction: Direction) -> u32 {
        let syn = self.packets(direction).find(|packet| packet.flags.has(Flags::SYN));
        syn.map_or(0, |packet| packet.seq).wrapping_add(1)
    }

    /// Whether its connection is one whose every packet carries the counter of AccECN.
    pub fn counts_marks(&self) -> bool {
        let mut packets = self.packets(Direction::Inbound).chain(self.packets(Direction::Outbound));
        packets.any(|packet| packet.flags.has(Flags::AE) && !packet.flags.has(Flags::SYN))
    }

    /// Whether a reader waits for data.
    pub fn has_blocking_read(&self) -> bool {
        self.blocking_calls().any(|call| ["read", "recv"].contains(&&*call.name))
    }

    /// Whether the application reads.
    pub fn reads(&self) -> bool {
        self.events
            .iter()
            .filter_map(Event::call)
            .any(|call| ["read", "recv", "recvfrom", "recvmsg"].contains(&&*call.name))
    }

    /// Whether a writer waits for room in the send buffer.
    pub fn has_blocking_write(&self) -> bool {
        self.blocking_calls().any(|call| call.bytes_offered().is_some())
    }

    fn blocking_calls(&self) -> impl Iterator<Item = &Call> {
        self.events.iter().filter(|event| event.until.is_some()).filter_map(Event::call)
    }

    /// What the socket options of this name are set to at any time.
    pub fn options_set<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Arg> {
        self.events.iter().filter_map(move |event| match &event.what {
            What::Call(call) if call.name == "setsockopt" && call.word(2) == name => call.args.get(3),
            _ => None,
        })
    }
}

/// Something that the script does or expects.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where it begins.
    pub place: Place,
    /// When.
    pub when: When,
    /// When a blocking call returns.
    pub until: Option<Moment>,
    /// What.
    pub what: What,
}

impl Event {
    /// The system call that it is.
    fn call(&self) -> Option<&Call> {
        if let What::Call(call) = &self.what { Some(call) } else { None }
    }
}

/// A time of a script: since its beginning, or since the event before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Counts from the event before (`+0.1`).
    pub is_relative: bool,
    /// How long.
    pub span: Duration,
}

/// When an event happens or is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time.
    At(Moment),
    /// Between these two (`0.1~0.2`).
    Between(Moment, Moment),
    /// At any time (`*`).
    Any,
}

/// An event's content.
#[derive(Clone, Debug)]
pub enum What {
    /// A command for the shell.
    Shell(String),
    /// Statements about `struct tcp_info`.
    Code(String),
    /// A packet to inject, or to expect.
    Packet(Packet),
    /// A system call.
    Call(Call),
    /// Something of the language that has no meaning here, and what it is.
    Foreign(String),
}

/// Whether the script sends a packet or expects one of the host under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `<`: into the host.
    Inbound,
    /// `>`: out of it.
    Outbound,
}

/// A TCP packet.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Who sends it.
    pub direction: Direction,
    /// ECN bits of its IP header, where the script says them: `[ect0]`, `[ce]`, `[noecn]`.
    pub ecn: Option<dumbbell_path::Ecn>,
    /// The header's flags.
    pub flags: Flags,
    /// First sequence number.
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// Window field.
    pub window: Option<u32>,
    /// Options; `None` for `<...>`, which is: any.
    pub options: Option<Options>,
}

impl Packet {
    /// Sequence numbers that its data and its FIN take.
    pub fn space(&self) -> u32 {
        self.len + u32::from(self.flags.has(Flags::FIN))
    }
}

/// Flags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Letters of the language and their bits, in the order in which they are printed.
    const LETTERS: [(char, u16); 9] = [
        ('S', 1 << 0),
        ('F', 1 << 1),
        ('R', 1 << 2),
        ('P', 1 << 3),
        ('U', 1 << 4),
        ('E', 1 << 5),
        ('W', 1 << 6),
        ('A', 1 << 7),
        ('.', 1 << 8),
    ];
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// SYN.
    pub const SYN: Flags = Flags(1 << 0);
    /// FIN.
    pub const FIN: Flags = Flags(1 << 1);
    /// RST.
    pub const RST: Flags = Flags(1 << 2);
    /// PSH.
    pub const PSH: Flags = Flags(1 << 3);
    /// URG.
    pub const URG: Flags = Flags(1 << 4);
    /// ECE.
    pub const ECE: Flags = Flags(1 << 5);
    /// CWR.
    pub const CWR: Flags = Flags(1 << 6);
    /// AE, of AccECN.
    pub const AE: Flags = Flags(1 << 7);
    /// ACK.
    pub const ACK: Flags = Flags(1 << 8);

    /// The flag of a letter.
    pub fn of_letter(letter: char) -> Option<Flags> {
        Flags::LETTERS.iter().find(|(other, _)| *other == letter).map(|&(_, bit)| Flags(bit))
    }

    /// The flags of the counter that AccECN has in the header (ACE), which the language writes as a digit.
    pub fn of_ace(ace: u8) -> Flags {
        Flags::AE.when(ace & 4 != 0) | Flags::CWR.when(ace & 2 != 0) | Flags::ECE.when(ace & 1 != 0)
    }

    /// The counter that AccECN has in the header.
    pub fn ace(self) -> u8 {
        u8::from(self.has(Flags::AE)) << 2 | u8::from(self.has(Flags::CWR)) << 1 | u8::from(self.has(Flags::ECE))
    }

    /// Whether one of `other` is set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// These without `other`.
    #[must_use]
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// `other` if `condition`, nothing otherwise.
    #[must_use]
    pub fn when(self, condition: bool) -> Flags {
        if condition { self } else { Flags::NONE }
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Flags::NONE {
            return f.write_str("-");
        }
        Flags::LETTERS.iter().filter(|(_, bit)| self.0 & bit != 0).try_for_each(|(letter, _)| write!(f, "{letter}"))
    }
}

/// Options of a TCP header; padding is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u32>,
    /// Window scale.
    pub wscale: Option<u32>,
    /// SACK permitted.
    pub sack_ok: bool,
    /// Timestamp and its echo.
    pub timestamp: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: Vec<(u32, u32)>,
    /// Counters of bytes (AccECN, RFC 9768).
    pub counters: Option<ByteCounters>,
    /// The first option that has no meaning here.
    pub foreign: Option<String>,
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        parts.extend(self.sack_ok.then(|| "sackOK".to_owned()));
        parts.extend(self.timestamp.map(|(val, ecr)| format!("TS val {val} ecr {ecr}")));
        parts.extend(self.wscale.map(|wscale| format!("wscale {wscale}")));
        if !self.sack.is_empty() {
            let blocks: Vec<_> = self.sack.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        parts.extend(self.counters.map(|counters| counters.to_string()));
        parts.extend(self.foreign.clone());
        f.write_str(&parts.join(","))
    }
}

/// The option of AccECN: bytes that have arrived with each of the three marks, modulo 2^24, as many of the counters as
/// were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounters {
    /// ECT(0) comes first, and not ECT(1) (kind 172, and not 174).
    pub ect0_first: bool,
    /// Of ECT(0), which count from 1.
    pub ect0: Option<u32>,
    /// Of CE, which count from 0.
    pub ce: Option<u32>,
    /// Of ECT(1), which count from 1.
    pub ect1: Option<u32>,
}

impl ByteCounters {
    /// Those of an end at which nothing has arrived.
    pub const FIRST: ByteCounters = ByteCounters { ect0_first: false, ect0: Some(1), ce: Some(0), ect1: Some(1) };

    /// The counters with their names, in the order of the option.
    pub fn named(&self) -> [(&'static str, Option<u32>); 3] {
        let mut named = [("e1b", self.ect1), ("ceb", self.ce), ("e0b", self.ect0)];
        if self.ect0_first {
            named.reverse();
        }
        named
    }

    /// The counter of a name.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Option<u32>> {
        match name {
            "e0b" => Some(&mut self.ect0),
            "ceb" => Some(&mut self.ce),
            "e1b" => Some(&mut self.ect1),
            _ => None,
        }
    }
}

impl fmt::Display for ByteCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ECN")?;
        let mut there = self.named().into_iter().filter_map(|(name, value)| Some((name, value?)));
        there.try_for_each(|(name, value)| write!(f, " {name} {value}"))
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packet { direction, ecn, flags, seq, len, ack, window, options } = self;
        f.write_str(if *direction == Direction::Inbound { "< " } else { "> " })?;
        if let Some(ecn) = ecn {
            write!(f, "[{}] ", ecn_name(*ecn))?;
        }
        write!(f, "{flags} {seq}:{}({len})", seq.wrapping_add(*len))?;
        if let Some(ack) = ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = window {
            write!(f, " win {window}")?;
        }
        match options {
            Some(options) if *options == Options::default() => Ok(()),
            Some(options) => write!(f, " <{options}>"),
            None => f.write_str(" <...>"),
        }
    }
}

/// How the language writes ECN bits.
pub fn ecn_name(ecn: dumbbell_path::Ecn) -> &'static str {
    use dumbbell_path::Ecn;
    match ecn {
        Ecn::NotEct => "noecn",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

/// A system call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// What it is given.
    pub args: Vec<Arg>,
    /// What it returns; `None` where the script does not say (`?`, or nothing).
    pub result: Option<i64>,
    /// The error, where one is named.
    pub errno: Option<String>,
}

impl Call {
    fn arg(&self, index: usize) -> Option<&Arg> {
        self.args.get(index)
    }

    /// Whether it makes a TCP socket.
    pub fn opens_connection(&self) -> bool {
        self.name == "socket" && self.word(1).starts_with("SOCK_STREAM")
    }

    /// Constants at a place among the arguments.
    pub fn word(&self, index: usize) -> &str {
        self.arg(index).and_then(Arg::word).unwrap_or_default()
    }

    /// The number at a place among the arguments.
    pub fn int(&self, index: usize) -> Option<i64> {
        self.arg(index).and_then(Arg::int)
    }

    /// How many bytes it has for the connection, if it is a call that writes.
    pub fn bytes_offered(&self) -> Option<u64> {
        let size = match self.name.as_str() {
            "write" | "send" | "sendto" => self.int(2),
            "sendfile" => self.int(3),
            "sendmsg" | "writev" => self.arg(1).map(Arg::vector_bytes),
            _ => return None,
        };
        Some(size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0))
    }

    /// Bytes of the buffers of a `struct msghdr`.
    pub fn bytes_of_message(&self) -> Option<u64> {
        self.arg(1).and_then(|message| u64::try_from(message.vector_bytes()).ok())
    }

    /// The flags (`MSG_MORE`) of a call that writes or reads.
    pub fn message_flags(&self) -> impl Iterator<Item = &str> {
        let at = if self.name == "sendmsg" || self.name == "recvmsg" { 2 } else { 3 };
        let is_message = matches!(&*self.name, "send" | "sendto" | "sendmsg" | "recv" | "recvfrom" | "recvmsg");
        let words = if is_message { self.word(at) } else { "" };
        words.split('|').filter(|flag| flag.starts_with("MSG_"))
    }
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A number.
    Int(i64),
    /// Constants, joined by `|` as in the script.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// `...`
    Ellipsis,
    /// `[…]`
    List(Vec<Arg>),
    /// `{…}`, as written.
    Struct(String),
}

impl Arg {
    /// A number, also one that stands alone in brackets.
    pub fn int(&self) -> Option<i64> {
        match self {
            Arg::Int(value) => Some(*value),
            Arg::List(items) if items.len() == 1 => items[0].int(),
            _ => None,
        }
    }

    /// Bytes of the buffers of `struct iovec`, or of a `struct msghdr` with such: `[{..., 1000}, {..., 500}]`.
    fn vector_bytes(&self) -> i64 {
        match self {
            Arg::List(items) => items.iter().map(Arg::vector_bytes).sum(),
            Arg::Struct(text) => {
                let buffers = text.split_once("msg_iov").map_or(text.as_str(), |(_, buffers)| buffers);
                let buffers = buffers.split("msg_control").next().unwrap_or_default();
                let sizes = buffers.split("...,").skip(1).filter_map(|rest| rest.split(['}', ',']).next());
                sizes.filter_map(|size| size.trim().parse::<i64>().ok()).sum()
            }
            _ => 0,
        }
    }

    /// Constants.
    pub fn word(&self) -> Option<&str> {
        match self {
            Arg::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Constants, also those that stand alone in brackets.
    pub fn words(&self) -> String {
        match self {
            Arg::List(items) => items.iter().map(Arg::words).collect::<Vec<_>>().join("|"),
            other => other.word().unwrap_or_default().to_owned(),
        }
    }

    /// A text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Arg::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A time of virtual time as scripts write it: seconds since `start`.
pub fn seconds(start: Time, time: Time) -> String {
    format!("{:.6}", time.since(start).as_secs_f64())
}
