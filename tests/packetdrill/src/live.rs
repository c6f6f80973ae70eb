//! The kernel of this machine as a host: `live.py` runs a script on it and reports every packet and every
//! `struct tcp_info`, and the same judge that judges the endpoints judges the report.

use crate::host::{self, Emitted, Manner, START, Stamp, Wanted};
use crate::judge::{Host, Progress, Verdict, run_on};
use crate::script::{
    Arg, ByteCounters, Direction, Event, Flags, Moment, Options, Packet, Script, What, When, ecn_name,
};
use crate::suite::Outcome;
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Time};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// How late a busy machine may make packets at least.
const TOLERANCE: Duration = Duration::from_millis(20);
/// How often a script is tried: a machine that was busy for a moment changes what the kernel does.
const TRIES: u32 = 3;

/// Runs a script on the kernel of this machine, which needs root and `/dev/net/tun`.
pub fn run_live(script: &Script) -> Outcome {
    if let Some(oldest) = script.oldest_linux()
        && version(&std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()) < version(oldest)
    {
        return Outcome::NotOnThisKernel(format!("rules of Linux {oldest}"));
    }
    let script = &script.with_tolerance(TOLERANCE);
    let mut outcome = run_once(script);
    for _ in 1..TRIES {
        if !matches!(outcome, Outcome::Judged(Verdict::Fails(_))) {
            break;
        }
        outcome = run_once(script);
    }
    outcome
}

/// The first two numbers of a release such as `6.18.44-generic`.
fn version(release: &str) -> Vec<u32> {
    release.split(|c: char| !c.is_ascii_digit()).take(2).filter_map(|number| number.parse().ok()).collect()
}

fn run_once(script: &Script) -> Outcome {
    let report = match record(script) {
        Ok(report) => report,
        Err(error) => return Outcome::Broken(error),
    };
    match report["lacks"].as_str() {
        Some(what) => Outcome::NotOnThisKernel(what.to_owned()),
        None => read(&report).map_or_else(Outcome::Broken, |host| Outcome::Judged(run_on(script, host))),
    }
}

/// What the kernel does under a script, as a host that does it again.
pub(crate) fn recorded(script: &Script) -> Result<impl Host + use<>, String> {
    read(&record(script)?)
}

fn read(report: &Value) -> Result<Recorded, String> {
    match report["problem"].as_str() {
        Some(problem) => Err(problem.to_owned()),
        None => Recorded::read(report).ok_or_else(|| "the report of live.py cannot be read".to_owned()),
    }
}

fn record(script: &Script) -> Result<Value, String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("live.py");
    let mut child = Command::new("unshare")
        .args(["--net", "python3"])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("unshare: {error}"))?;
    let input = to_json(script).to_string();
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| format!("live.py: {error}"))?;
    }
    let output = child.wait_with_output().map_err(|error| format!("live.py: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the report of live.py: {error}"))
}

/// A script for `live.py`.
fn to_json(script: &Script) -> Value {
    let tolerance = script.tolerance().unwrap_or(TOLERANCE);
    json!({
        "folder": std::path::absolute(&script.folder).unwrap_or_default().display().to_string(),
        "tolerance_ns": tolerance.as_nanos(),
        "events": script.events.iter().map(event_to_json).collect::<Vec<_>>(),
    })
}

fn event_to_json(event: &Event) -> Value {
    let moment = |moment: Moment| json!({ "relative": moment.is_relative, "ns": moment.span.as_nanos() });
    let when = match event.when {
        When::At(at) => vec![moment(at)],
        When::Between(first, last) => vec![moment(first), moment(last)],
        When::Any => Vec::new(),
    };
    let (key, value) = match &event.what {
        What::Shell(command) => ("shell", json!(command)),
        What::Code(text) => ("code", json!(text)),
        What::Packet(packet) => ("packet", packet_to_json(packet)),
        What::Call(call) => {
            let args: Vec<Value> = call.args.iter().map(arg_to_json).collect();
            let (bytes, flags) = (call.bytes_offered(), call.message_flags().collect::<Vec<_>>());
            let call = json!({
                "name": call.name, "args": args, "result": call.result,
                "bytes": bytes, "flags": flags, "message_bytes": call.bytes_of_message(),
            });
            ("call", call)
        }
        What::Foreign(what) => ("foreign", json!(what)),
    };
    json!({ "when": when, "blocks": event.until.is_some(), key: value })
}

fn arg_to_json(arg: &Arg) -> Value {
    match arg {
        Arg::Int(value) => json!(value),
        Arg::Word(word) => json!(word),
        Arg::Text(text) => json!({ "text": text }),
        Arg::Ellipsis => Value::Null,
        Arg::List(items) => items.iter().map(arg_to_json).collect(),
        Arg::Struct(text) => json!({ "struct": text }),
    }
}

fn packet_to_json(packet: &Packet) -> Value {
    let options = packet.options.as_ref().map(|options| {
        json!({
            "mss": options.mss,
            "wscale": options.wscale,
            "sack_ok": options.sack_ok,
            "timestamp": options.timestamp,
            "sack": options.sack,
            "ecn": options.counters.map(|counters| json!({
                "kind": if counters.ect0_first { 172 } else { 174 },
                "counters": counters.named().into_iter().map_while(|(_, value)| value).collect::<Vec<_>>(),
            })),
        })
    });
    json!({
        "direction": if packet.direction == Direction::Inbound { "<" } else { ">" },
        "ecn": packet.ecn.map(ecn_name),
        "flags": packet.flags.to_string(),
        "seq": packet.seq,
        "len": packet.len,
        "ack": packet.ack,
        "window": packet.window,
        "options": options,
    })
}

/// What a kernel did, as a host that does it again.
struct Recorded {
    /// Packets, with how many connections came before theirs.
    sent: VecDeque<(u64, Emitted)>,
    chapter: u64,
    infos: Value,
    /// What `ioctl` told.
    queued: Value,
    /// Time stamps that were read.
    stamps: Value,
    event: String,
    now: Time,
    has_sent_data: bool,
}

impl Recorded {
    fn read(report: &Value) -> Option<Recorded> {
        let sent = report["sent"].as_array()?.iter();
        let sent = sent.map(|packet| Some((packet["chapter"].as_u64()?, emitted(packet)?))).collect::<Option<_>>()?;
        let [infos, queued, stamps] = ["infos", "queued", "stamps"].map(|name| report[name].clone());
        Some(Recorded {
            sent,
            chapter: 0,
            infos,
            queued,
            stamps,
            event: String::new(),
            now: START,
            has_sent_data: false,
        })
    }
}

fn emitted(report: &Value) -> Option<Emitted> {
    let number = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok());
    let options = &report["options"];
    let pair = |value: &Value| Some((number(&value[0])?, number(&value[1])?));
    let flags =
        report["flags"].as_str()?.chars().filter_map(Flags::of_letter).fold(Flags::NONE, |all, flag| all | flag);
    let at = START + Duration::from_nanos(report["at_ns"].as_u64()?);
    let packet = Packet {
        direction: Direction::Outbound,
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().find(|ecn| report["ecn"] == ecn_name(*ecn)),
        flags,
        seq: number(&report["seq"])?,
        len: number(&report["len"])?,
        ack: number(&report["ack"]).filter(|_| flags.has(Flags::ACK)),
        window: number(&report["window"]),
        options: Some(Options {
            mss: number(&options["mss"]),
            wscale: number(&options["wscale"]),
            sack_ok: options["sack_ok"].as_bool()?,
            timestamp: pair(&options["timestamp"]),
            sack: options["sack"].as_array()?.iter().map(pair).collect::<Option<_>>()?,
            counters: byte_counters(&options["ecn"]),
            foreign: None,
        }),
    };
    Some(Emitted { at, packet, stamp: at })
}

fn byte_counters(report: &Value) -> Option<ByteCounters> {
    let values = report["counters"].as_array()?;
    let mut counters = ByteCounters { ect0_first: report["kind"] == 172, ..ByteCounters::default() };
    for ((name, _), value) in counters.named().into_iter().zip(values) {
        *counters.named_mut(name)? = value.as_u64().and_then(|value| u32::try_from(value).ok());
    }
    Some(counters)
}

impl Host for Recorded {
    fn begin_again(&mut self, _chapter: &Script) -> Result<(), String> {
        self.chapter += 1;
        while self.sent.front().is_some_and(|&(chapter, _)| chapter < self.chapter) {
            self.sent.pop_front();
        }
        self.has_sent_data = false;
        Ok(())
    }

    fn begin_event(&mut self, index: usize) {
        self.event = index.to_string();
    }

    fn now(&self) -> Time {
        self.now
    }

    fn run_until(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    fn has_exact_windows(&self) -> bool {
        false
    }

    fn counter(&self, _name: &str) -> Result<Option<u64>, String> {
        Ok(None)
    }

    fn next_packet(&mut self, deadline: Time) -> Option<Emitted> {
        let is_there = self.sent.front().is_some_and(|(chapter, next)| *chapter == self.chapter && next.at <= deadline);
        let packet = if is_there { self.sent.pop_front().map(|(_, packet)| packet) } else { None };
        if let Some(packet) = &packet {
            self.has_sent_data |= !packet.packet.flags.has(Flags::SYN);
            self.now = self.now.max(packet.at);
        }
        packet
    }

    fn put_back(&mut self, packet: Emitted) {
        self.sent.push_front((self.chapter, packet));
    }

    fn name_stamp(&mut self, _value: u32, _stamp: Time) {}

    fn progress(&self) -> Progress {
        if self.has_sent_data { Progress::Established } else { Progress::Closed }
    }

    fn info(&self, name: &str) -> Option<i64> {
        let value = &self.infos[&self.event][name];
        value.as_i64().or_else(|| value.as_u64().map(|_| i64::MAX))
    }

    fn shell(&mut self, _command: &str) -> Result<(), String> {
        Ok(())
    }

    fn receive(&mut self, _packet: &Packet) -> Result<(), String> {
        Ok(())
    }

    fn listen(&mut self) {}

    fn connect(&mut self) {}

    fn set_nodelay(&mut self, _nodelay: bool) {}

    fn set_max_segment(&mut self, _bytes: u32) -> Result<(), String> {
        Ok(())
    }

    fn set_receive_buffer(&mut self, _bytes: u64) {}

    fn set_user_timeout(&mut self, _timeout: Duration) {}

    fn set_cork(&mut self, _is_corked: bool) {}

    fn write(&mut self, _bytes: u64, _manner: Manner) -> Result<(), String> {
        Ok(())
    }

    fn want_stamps(&mut self, _wanted: Wanted) -> Result<(), String> {
        Ok(())
    }

    fn next_stamp(&mut self) -> Option<Result<Stamp, &'static str>> {
        let report = &self.stamps[&self.event];
        let moment = match report["moment"].as_u64()? {
            0 => host::Moment::Sent,
            1 => host::Moment::Scheduled,
            _ => host::Moment::Acknowledged,
        };
        let at = START + Duration::from_nanos(report["at_ns"].as_u64()?);
        Some(Ok(Stamp { moment, byte: u32::try_from(report["byte"].as_u64()?).ok()?, at }))
    }

    fn wrote_at(&self) -> Option<Time> {
        None
    }

    fn refuses_writes(&mut self) -> Option<&'static str> {
        None
    }

    fn read(&mut self, _most: u64) -> Option<Result<u64, &'static str>> {
        None
    }

    fn queued(&self, _incoming: bool) -> Option<u64> {
        self.queued[&self.event].as_u64()
    }

    fn shut_down(&mut self, _reads: bool, _writes: bool) {}

    fn close(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_compared_number_by_number() {
        assert!(version("6.18.44-fc-v669\n") < version("7.3"));
        assert!(version("7.3.4") >= version("7.3") && version("7.10") > version("7.3"));
    }
}
