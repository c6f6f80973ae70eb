//! Runs a script on a [`Host`] and judges what the host does.

use crate::code::{Code, Trouble, Value, constant};
use crate::host::{Emitted, Manner, START, Simulated, Stamp, Wanted};
use crate::script::{Direction, Event, Flags, Moment, Options, Packet, Place, Script, What, When, ecn_name, seconds};
use dumbbell_units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// How early or late a packet may be where the script does not say (`--tolerance_usecs`).
const TOLERANCE: Duration = Duration::from_millis(4);
/// How long a packet takes into the host. Nothing arrives on the microsecond at a real one, whose rules compare times.
const WAY_IN: Duration = Duration::from_micros(10);
/// Counters of `nstat` that a host may know: packets that were dropped because they lie beyond the receive window,
/// because it is closed, and because there is no memory.
pub(crate) const COUNTERS: [&str; 3] = ["TcpExtBeyondWindow", "TcpExtTCPZeroWindowDrop", "TcpExtTCPRcvQDrop"];
/// How long a packet at any time (`*`) is waited for: longer than the longest retransmission timeout.
const PATIENCE: Duration = Duration::from_secs(150);

/// What came of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything it expects happens.
    Holds,
    /// Everything it expects happens up to a place from which on it is about something that is not modelled.
    HoldsUntil(Place, String),
    /// Something else happens than what it expects.
    Fails(Difference),
    /// It is about something that is not modelled.
    OutOfScope(Place, String),
}

/// Where a host and a script disagree.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The event.
    pub place: Place,
    /// What it expects.
    pub expected: String,
    /// What happens.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}; got {}", self.place.line, self.expected, self.got)
    }
}

/// A host that a script is run on.
pub trait Host {
    /// All sockets are closed, and what follows is about another connection; the reason if it is not modelled.
    fn begin_again(&mut self, chapter: &Script) -> Result<(), String>;
    /// The script comes to its event number `index`.
    fn begin_event(&mut self, index: usize);
    /// The present.
    fn now(&self) -> Time;
    /// Moves the clock to `time`. What is due at `time` itself may wait: in a real host timers are late, not early.
    fn run_until(&mut self, time: Time);
    /// Whether the windows of its packets are to the byte where they are known, so that they are judged.
    fn has_exact_windows(&self) -> bool;
    /// The next packet that leaves, if one does so up to `deadline`.
    fn next_packet(&mut self, deadline: Time) -> Option<Emitted>;
    /// Takes a packet back, or a part of one.
    fn put_back(&mut self, packet: Emitted);
    /// The script calls `stamp` the timestamp `value`.
    fn name_stamp(&mut self, value: u32, stamp: Time);
    /// Whether the handshake has begun, and whether it is over.
    fn progress(&self) -> Progress;
    /// A field of `struct tcp_info`, or a constant.
    fn info(&self, name: &str) -> Option<i64>;
    /// A counter that `nstat` shows; `None` where somebody else has judged it, and the reason where it is not modelled.
    fn counter(&self, name: &str) -> Result<Option<u64>, String>;
    /// A command; the reason if it asks for what is not modelled.
    fn shell(&mut self, command: &str) -> Result<(), String>;
    /// A packet arrives; the reason if it is of a kind that is not modelled.
    fn receive(&mut self, packet: &Packet) -> Result<(), String>;
    /// `listen`.
    fn listen(&mut self);
    /// `connect`.
    fn connect(&mut self);
    /// `TCP_NODELAY`.
    fn set_nodelay(&mut self, nodelay: bool);
    /// `TCP_MAXSEG`; the reason if it is not modelled.
    fn set_max_segment(&mut self, bytes: u32) -> Result<(), String>;
    /// `SO_RCVBUF`.
    fn set_receive_buffer(&mut self, bytes: u64);
    /// `TCP_USER_TIMEOUT`; zero is none.
    fn set_user_timeout(&mut self, timeout: Duration);
    /// `TCP_CORK`.
    fn set_cork(&mut self, is_corked: bool);
    /// `write`; the reason if it is not modelled.
    fn write(&mut self, bytes: u64, manner: Manner) -> Result<(), String>;
    /// `SO_TIMESTAMPING`; the reason if it is not modelled.
    fn want_stamps(&mut self, wanted: Wanted) -> Result<(), String>;
    /// The next time stamp that waits to be read, or the error; `None` where nobody knows.
    fn next_stamp(&mut self) -> Option<Result<Stamp, &'static str>>;
    /// When the latest `write` has handed over all of its bytes: [`Time::NEVER`] where it waits for room; `None` where
    /// nobody knows.
    fn wrote_at(&self) -> Option<Time>;
    /// The error of a `write` now, if there is one.
    fn refuses_writes(&mut self) -> Option<&'static str>;
    /// `read` of up to `most` bytes: how many there are, or the error; `None` where nobody knows.
    fn read(&mut self, most: u64) -> Option<Result<u64, &'static str>>;
    /// `ioctl`: bytes that wait for the application, or for the other end's ACK; `None` where nobody knows.
    fn queued(&self, incoming: bool) -> Option<u64>;
    /// `shutdown` of one direction or of both.
    fn shut_down(&mut self, reads: bool, writes: bool);
    /// `close`.
    fn close(&mut self);
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// No packet was exchanged.
    Closed,
    /// A SYN has left.
    Opening,
    /// Data may leave.
    Established,
}

/// Why a run ends before the script does.
pub(crate) enum End {
    Different(Difference),
    Foreign(Place, String),
}

/// Runs a script on the endpoints.
pub fn run(script: &Script) -> Verdict {
    let first = script.chapters().swap_remove(0);
    match Simulated::new(&first) {
        Ok(host) => run_on(script, host),
        Err(reason) => Verdict::OutOfScope(Place { line: 1, column: 1 }, reason),
    }
}

/// Runs a script on a host.
pub(crate) fn run_on(script: &Script, host: impl Host) -> Verdict {
    let mut run = Run::new(script, host);
    for (index, event) in script.events.iter().enumerate() {
        run.host.begin_event(index);
        match run.begin(event).and_then(|()| run.event(event)) {
            Ok(()) => {}
            Err(End::Different(difference)) => return Verdict::Fails(difference),
            Err(End::Foreign(place, reason)) if run.judged > 0 => return Verdict::HoldsUntil(place, reason),
            Err(End::Foreign(place, reason)) => return Verdict::OutOfScope(place, reason),
        }
    }
    if let Some((_, until)) = run.waiting.filter(|&(_, until)| until <= run.last) {
        run.host.run_until(until + run.tolerance);
    }
    if let Err(End::Different(difference)) = run.end_waiting() {
        return Verdict::Fails(difference);
    }
    if run.judged == 0 && run.openings == 0 {
        let reason = "it expects nothing".to_owned();
        return Verdict::OutOfScope(Place { line: 1, column: 1 }, reason);
    }
    Verdict::Holds
}

/// A script on its way.
pub(crate) struct Run<H> {
    pub(crate) host: H,
    code: Code,
    pub(crate) tolerance: Duration,
    /// The time of the event before, from which relative times count.
    last: Time,
    /// File descriptors of the script.
    pub(crate) listener: Option<i64>,
    pub(crate) connection: Option<i64>,
    /// Those that are closed.
    pub(crate) closed: BTreeSet<i64>,
    /// What the script says of other connections, which come later.
    chapters: VecDeque<Script>,
    /// Expectations that were met, but for packets of handshakes.
    pub(crate) judged: u32,
    /// A `write` that waits for room, and when it should return.
    pub(crate) waiting: Option<(Place, Time)>,
    /// Packets of handshakes that were as expected.
    openings: u32,
    /// Where writes of the application have ended.
    pub(crate) write_ends: BTreeSet<u32>,
    /// Where the next one begins.
    pub(crate) write_seq: u32,
    /// Where a burst goes on that an expectation took the beginning of.
    divided_at: Option<u32>,
    /// When the call of this event returns, if it waits.
    pub(crate) until: Option<Time>,
    /// Flags that only the first segment of a burst has.
    first_part_only: Flags,
    /// Counters of `nstat` when they were last set to zero.
    counted: BTreeMap<String, u64>,
}

impl<H: Host> Run<H> {
    pub(crate) fn new(script: &Script, host: H) -> Run<H> {
        Run {
            host,
            code: Code::default(),
            tolerance: script.tolerance().unwrap_or(TOLERANCE),
            last: START,
            listener: None,
            connection: None,
            judged: 0,
            chapters: script.chapters().into_iter().skip(1).collect(),
            closed: BTreeSet::new(),
            openings: 0,
            waiting: None,
            write_ends: BTreeSet::new(),
            write_seq: script.first_seq(Direction::Outbound),
            divided_at: None,
            until: None,
            counted: BTreeMap::new(),
            first_part_only: if script.counts_marks() { Flags::NONE } else { Flags::CWR },
        }
    }

    /// Another connection begins where everything is closed and the script makes a socket.
    fn begin(&mut self, event: &Event) -> Result<(), End> {
        let is_socket = matches!(&event.what, What::Call(call) if call.opens_connection());
        let is_over = [self.listener, self.connection].iter().flatten().all(|socket| self.closed.contains(socket));
        if !is_socket || self.listener.is_none() || !is_over {
            return Ok(());
        }
        self.end_waiting()?;
        let Some(chapter) = self.chapters.pop_front() else { return Ok(()) };
        let time = match event.when {
            When::At(moment) | When::Between(moment, _) => self.time(moment),
            When::Any => self.host.now(),
        };
        self.host.run_until(time);
        self.host.begin_again(&chapter).map_err(|reason| End::Foreign(event.place, reason))?;
        (self.listener, self.connection, self.divided_at) = (None, None, None);
        self.closed.clear();
        self.write_ends.clear();
        self.write_seq = chapter.first_seq(Direction::Outbound);
        Ok(())
    }

    fn time(&self, moment: Moment) -> Time {
        if moment.is_relative { self.last + moment.span } else { START + moment.span }
    }

    /// When a call that waits returns. It counts from the event before where its beginning does.
    fn end_of(&self, event: &Event) -> Option<Time> {
        let is_relative = match event.when {
            When::At(moment) | When::Between(moment, _) => moment.is_relative,
            When::Any => false,
        };
        event.until.map(|until| self.time(Moment { is_relative: until.is_relative || is_relative, ..until }))
    }

    /// Judges the `write` that has waited for room, if it had to return by this event.
    pub(crate) fn end_waiting(&mut self) -> Result<(), End> {
        let waiting = self.waiting.take().filter(|&(_, until)| until <= self.last);
        let Some((place, until)) = waiting else { return Ok(()) };
        let Some(at) = self.host.wrote_at() else { return Ok(()) };
        if at + self.tolerance < until || at > until + self.tolerance {
            let got = if at == Time::NEVER { "it waits".to_owned() } else { format!("it at {}", seconds(START, at)) };
            let expected = format!("`write` to return at {}", seconds(START, until));
            return Err(End::Different(Difference { place, expected, got }));
        }
        self.judged += 1;
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), End> {
        if let What::Packet(packet) = &event.what
            && packet.direction == Direction::Outbound
        {
            return self.expect(event, packet);
        }
        let time = match event.when {
            When::At(moment) | When::Between(moment, _) => self.time(moment),
            When::Any => self.host.now(),
        };
        let way = if matches!(event.what, What::Packet(_)) { WAY_IN } else { Duration::ZERO };
        let until = self.end_of(event);
        self.host.run_until(time + way);
        self.last = time;
        self.until = until;
        let foreign = |reason| End::Foreign(event.place, reason);
        match &event.what {
            What::Shell(command) if command.trim_start().starts_with("nstat") => self.nstat(event, command),
            What::Shell(command) => self.host.shell(command).map_err(foreign),
            What::Code(text) => self.code(event, text),
            What::Packet(packet) => self.host.receive(packet).map_err(foreign),
            What::Call(call) => self.call(event, call),
            What::Foreign(what) => Err(foreign(what.clone())),
        }
    }

    /// `nstat -n`, after which counters count from zero, and `nstat | grep NAME | grep -q " 3 "`, which expects one to
    /// be three. Without `-s` they count from zero again.
    fn nstat(&mut self, event: &Event, command: &str) -> Result<(), End> {
        let parts: Vec<&str> = command.split('|').map(str::trim).collect();
        let keeps = parts[0].split_whitespace().any(|word| word == "-s");
        let expected = match parts[..] {
            [_] => None,
            [_, name, number] => {
                let name = name.strip_prefix("grep").map(|name| name.trim().trim_matches(['"', '\'']));
                let number =
                    number.strip_prefix("grep -q").map(|number| number.trim().trim_matches(['"', '\'']).trim());
                name.zip(number.and_then(|number| number.parse::<u64>().ok()))
            }
            _ => return Err(End::Foreign(event.place, format!("the command `{command}`"))),
        };
        if let Some((name, number)) = expected {
            let count = self.host.counter(name).map_err(|reason| End::Foreign(event.place, reason))?;
            let before = self.counted.get(name).copied().unwrap_or(0);
            self.same_number(event, name, Some(number), count.map(|count| count - before))?;
        } else if parts.len() > 1 {
            return Err(End::Foreign(event.place, format!("the command `{command}`")));
        }
        if !keeps {
            let counts = COUNTERS.map(|name| Some((name.to_owned(), self.host.counter(name).ok()??)));
            self.counted = counts.into_iter().flatten().collect();
        }
        Ok(())
    }

    fn code(&mut self, event: &Event, text: &str) -> Result<(), End> {
        // The application's thread of a real packetdrill asks after the packets before were worked on.
        let host = &self.host;
        let result = self.code.run(text, &|name| constant(name).or_else(|| host.info(name)).map(Value::Int));
        match result {
            Ok(()) => {
                self.judged += u32::from(self.host.progress() == Progress::Established);
                Ok(())
            }
            Err(Trouble::Unknown(what)) => Err(End::Foreign(event.place, format!("{what} in a block of code"))),
            Err(Trouble::False { line, text, values }) => {
                let place = Place { line: event.place.line + line, ..event.place };
                let expected = text.split_whitespace().collect::<Vec<_>>().join(" ");
                Err(End::Different(Difference { place, expected: format!("`{expected}`"), got: values }))
            }
        }
    }

    /// An event that expects a packet. The host hands data down in bursts, which scripts show as one packet or as
    /// several: any division of the same range is the same. PSH depends on it, since every burst of several segments
    /// carries one: where a range is divided otherwise, it counts only at the end of a write.
    fn expect(&mut self, event: &Event, expected: &Packet) -> Result<(), End> {
        let (earliest, latest) = match event.when {
            When::At(moment) => (self.time(moment), self.time(moment)),
            When::Between(first, last) => (self.time(first), self.time(last)),
            When::Any => (START, self.host.now() + PATIENCE),
        };
        let tolerance = if event.when == When::Any { Duration::ZERO } else { self.tolerance };
        let is_judged = self.host.progress() == Progress::Established;
        let mut wanted = expected.clone();
        loop {
            let Some(Emitted { at, packet: mut got, stamp }) = self.host.next_packet(latest + tolerance) else {
                return Err(self.different(event, expected, "no packet".to_owned()));
            };
            if let Some(Some((val, _))) = wanted.options.as_ref().map(|options| options.timestamp) {
                self.host.name_stamp(val, stamp);
            }
            if got.seq == wanted.seq && got.len > wanted.len && wanted.len > 0 {
                let mut rest = got.clone();
                rest.seq = got.seq.wrapping_add(wanted.len);
                rest.len = got.len - wanted.len;
                rest.flags = rest.flags.without(self.first_part_only);
                self.divided_at = Some(rest.seq);
                self.host.put_back(Emitted { at, packet: rest, stamp });
                got.len = wanted.len;
                got.flags = got.flags.without(Flags::PSH) | Flags::PSH.when(wanted.flags.has(Flags::PSH));
            }
            let is_part = got.seq == wanted.seq && got.len < wanted.len && got.len > 0;
            let is_divided = is_part || wanted.seq != expected.seq || self.divided_at == Some(got.seq);
            let mut compared = wanted.clone();
            if is_part {
                compared.len = got.len;
            }
            if is_divided && (is_part || !self.write_ends.contains(&got.seq.wrapping_add(got.len))) {
                compared.flags = compared.flags.without(Flags::PSH) | Flags::PSH.when(got.flags.has(Flags::PSH));
            }
            let is_early = at + tolerance < earliest;
            if !self.host.has_exact_windows() {
                compared.window = None;
            }
            if let Some(what) = difference(&compared, &got) {
                return Err(self.different(event, expected, format!("`{got}` at {}: {what}", seconds(START, at))));
            }
            if is_early || at > latest + tolerance {
                let what = if is_early { "too early" } else { "too late" };
                return Err(self.different(event, expected, format!("it at {}: {what}", seconds(START, at))));
            }
            if !is_part {
                let is_of_opening = !is_judged && got.flags.has(Flags::SYN);
                self.judged += u32::from(!is_of_opening);
                self.openings += u32::from(is_of_opening);
                // Relative times count from when the packet was there.
                self.last = self.last.max(at);
                self.host.run_until(at);
                return Ok(());
            }
            wanted.seq = wanted.seq.wrapping_add(got.len);
            wanted.len -= got.len;
            wanted.flags = wanted.flags.without(self.first_part_only);
        }
    }

    fn different(&self, event: &Event, expected: &Packet, got: String) -> End {
        let when = match event.when {
            When::Any => "at any time".to_owned(),
            When::At(moment) => format!("at {}", seconds(START, self.time(moment))),
            When::Between(first, last) => {
                format!("between {} and {}", seconds(START, self.time(first)), seconds(START, self.time(last)))
            }
        };
        let expected = format!("`{expected}` {when}");
        End::Different(Difference { place: event.place, expected, got })
    }
}

/// What of `got` is not as `expected`. Windows are compared where both are known; the endpoints count them in segments.
/// The values of timestamps are not, which begin anywhere, nor the window scale, which follows from buffer sizes.
fn difference(expected: &Packet, got: &Packet) -> Option<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            differences.push(format!("{what} is {got}, not {expected}"));
        }
    };
    compare("seq", expected.seq.to_string(), got.seq.to_string());
    compare("length", expected.len.to_string(), got.len.to_string());
    compare("flags", expected.flags.to_string(), got.flags.to_string());
    if let (Some(expected), Some(got)) = (expected.ack, got.ack) {
        compare("ack", expected.to_string(), got.to_string());
    }
    if let (Some(expected), Some(got)) = (expected.window, got.window) {
        compare("win", expected.to_string(), got.to_string());
    }
    if let (Some(expected), Some(got)) = (expected.ecn, got.ecn) {
        compare("the IP header's ECN", ecn_name(expected).to_owned(), ecn_name(got).to_owned());
    }
    if let (Some(expected), Some(got)) = (&expected.options, &got.options) {
        if expected.mss.is_some() || got.mss.is_some() {
            compare("mss", format!("{:?}", expected.mss), format!("{:?}", got.mss));
            compare("sackOK", expected.sack_ok.to_string(), got.sack_ok.to_string());
        }
        let blocks = |sack: &[(u32, u32)]| {
            let blocks: Vec<_> = sack.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            if blocks.is_empty() { "none".to_owned() } else { blocks.join(" ") }
        };
        compare("sack", blocks(&expected.sack), blocks(&got.sack));
        let counters = |options: &Options| options.counters.map_or("none".to_owned(), |counters| counters.to_string());
        compare("AccECN's option", counters(expected), counters(got));
        if let (Some((_, expected)), Some((_, got))) = (expected.timestamp, got.timestamp) {
            compare("ecr", expected.to_string(), got.to_string());
        }
    }
    (!differences.is_empty()).then(|| differences.join(", "))
}
