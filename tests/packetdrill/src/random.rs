//! Scripts drawn at random: a sender, a path that loses, delays, duplicates and marks what it likes, and a receiver
//! that acknowledges every segment. The script expects what the endpoints did, so that a kernel can judge them.
//!
//! A script whose outcome hangs on the phase of the timers' clock says nothing: it is drawn with ticks of 4 ms and kept
//! only if it also holds with ticks of 1 ms and of 10 ms.

use crate::host::{Emitted, Manner, START, Simulated};
use crate::judge::{Host, Verdict, run};
use crate::parse::parse;
use crate::script::{Flags, Packet, Script, What, ecn_name};
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Rng, Time};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

/// Bytes of every segment.
pub(crate) const SEGMENT: u32 = 1000;
/// Stimuli come at multiples of this behind [`OFFSET`]: clear of the ticks of every clock, of the millisecond in which
/// a sender defers a burst, and of the two milliseconds within which HyStart takes ACKs for a train.
pub(crate) const GRID: Duration = Duration::from_micros(1_300);
/// Where the grid begins.
pub(crate) const OFFSET: Duration = Duration::from_micros(350);
/// Long timeouts of a kernel are late by up to 32 ms (HZ 250), and those that follow by more.
pub(crate) const TOLERANCE: &str = "--tolerance_usecs=90000";
/// Stimuli of one script at most.
const MOST_STIMULI: usize = 120;
/// What assertions are about.
const JUDGED: [&str; 11] = [
    "ca_state",
    "snd_cwnd",
    "snd_ssthresh",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "reordering",
    "delivered",
    "delivered_ce",
    "total_retrans",
];

/// The script of this number; `None` if its outcome hangs on the phase of the clock.
pub fn draw(seed: u64) -> Option<String> {
    let text = Play::new(seed)?.run()?;
    let holds = ["250", "1000", "100"].iter().all(|hz| {
        let script = parse(&text.replace("--define=HZ=250", &format!("--define=HZ={hz}")));
        script.is_ok_and(|script| run(&script) == Verdict::Holds)
    });
    holds.then_some(text)
}

/// What the path does, and what the connection is like.
struct Plan {
    has_sack: bool,
    has_timestamps: bool,
    has_ecn: bool,
    rtt: Duration,
    loss: f64,
    ack_loss: f64,
    reordering: f64,
    duplication: f64,
    jitter: Duration,
    marks: f64,
    /// The application closes its side.
    ends: bool,
}

/// Something that happens to the sender.
enum Stimulus {
    Write(u32),
    /// `shutdown`: nothing more is written.
    End,
    /// A segment arrives at the receiver, or one and the FIN behind it, whose ACK arrives at the same time.
    Arrival {
        segments: Range<u32>,
        stamp: Time,
        is_marked: bool,
    },
}

struct Play {
    rng: Rng,
    plan: Plan,
    host: Simulated,
    text: String,
    last: Time,
    agenda: Vec<(Time, Stimulus)>,
    receiver: Peer,
    /// Segments that the application has written; the FIN has the next number.
    written: u32,
    /// A FIN has left with a full segment. With it that has a byte too many, and reports of it count twice in Linux.
    is_unfit: bool,
}

/// The receiver at the other end: it acknowledges every segment at once.
#[derive(Default)]
struct Peer {
    next: u32,
    held: BTreeSet<u32>,
    /// Segments, the latest to arrive first.
    latest: Vec<u32>,
    echo: Option<Time>,
}

impl Peer {
    /// The SACK blocks after `segments` have arrived.
    fn take(&mut self, segments: Range<u32>) -> Vec<(u32, u32)> {
        let is_duplicate = segments.start < self.next || self.held.contains(&segments.start);
        self.held.extend(segments.clone().filter(|&segment| segment >= self.next));
        while self.held.remove(&self.next) {
            self.next += 1;
        }
        self.latest.retain(|other| !segments.contains(other));
        self.latest.insert(0, segments.start);
        let mut blocks = Vec::new();
        if is_duplicate {
            blocks.push((segments.start, segments.end));
        }
        for &recent in &self.latest {
            let run = self.run_around(recent);
            if run.0 < run.1 && !blocks[usize::from(is_duplicate)..].contains(&run) {
                blocks.push(run);
            }
        }
        blocks
    }

    fn run_around(&self, segment: u32) -> (u32, u32) {
        if !self.held.contains(&segment) {
            return (segment, segment);
        }
        let start = (0..=segment).rev().take_while(|other| self.held.contains(other)).last().unwrap_or(segment);
        let end = (segment..).take_while(|other| self.held.contains(other)).last().unwrap_or(segment);
        (start, end + 1)
    }
}

pub(crate) fn pick<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u32) as usize]
}

/// Whether something of this probability happens.
pub(crate) fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.uniform() < probability
}

pub(crate) fn packet(text: &str) -> Option<Packet> {
    match parse(&format!("0 {text}")).ok()?.events.pop()?.what {
        What::Packet(packet) => Some(packet),
        _ => None,
    }
}

impl Plan {
    fn draw(rng: &mut Rng) -> Plan {
        let options = pick(rng, &["sack", "sack", "timestamps", "none"]);
        let has_ecn = chance(rng, 0.15);
        Plan {
            has_sack: options != "none",
            has_timestamps: options == "timestamps",
            has_ecn,
            rtt: Duration::from_millis(pick(rng, &[20, 50, 100])),
            loss: pick(rng, &[0.0, 0.05, 0.15, 0.3, 0.5]),
            ack_loss: pick(rng, &[0.0, 0.0, 0.1, 0.3]),
            reordering: pick(rng, &[0.0, 0.0, 0.1, 0.3]),
            duplication: pick(rng, &[0.0, 0.0, 0.03]),
            jitter: Duration::from_millis(pick(rng, &[0, 0, 4, 20])),
            marks: if has_ecn { 0.1 } else { 0.0 },
            ends: chance(rng, 0.5),
        }
    }

    /// The SYN and the ACK of the handshake.
    fn handshake(&self) -> [String; 2] {
        let ask = if self.has_ecn { "SEW" } else { "S" };
        let options = match (self.has_timestamps, self.has_sack) {
            (true, _) => "mss 1012,sackOK,TS val 1000 ecr 0,nop,wscale 8",
            (false, true) => "mss 1000,sackOK,nop,nop,nop,wscale 8",
            (false, false) => "mss 1000,nop,wscale 8",
        };
        let rtt = self.rtt.as_micros() / 1_000;
        let stamp =
            if self.has_timestamps { format!(" <nop,nop,TS val {} ecr 100>", 1000 + rtt) } else { String::new() };
        [format!("< {ask} 0:0(0) win 32792 <{options}>"), format!("< . 1:1(0) ack 1 win 1000{stamp}")]
    }
}

impl Play {
    fn new(seed: u64) -> Option<Play> {
        let mut rng = Rng::new(seed);
        let plan = Plan::draw(&mut rng);
        let controller = pick(&mut rng, &["reno", "cubic"]);
        let setting = format!("sysctl -q net.ipv4.tcp_congestion_control={controller}");
        let header = format!("// Drawn at random: {seed}.\n\n{TOLERANCE}\n--define=HZ=250\n\n`{setting}`\n\n");
        let script: Script = parse(&header).ok()?;
        let mut host = Simulated::new(&script).ok()?;
        host.shell(&setting).ok()?;
        host.listen();
        let [syn, ack] = plan.handshake();
        host.receive(&packet(&syn)?).ok()?;
        let answer = host.next_packet(START)?;
        host.name_stamp(100, answer.stamp);
        let opened = START + plan.rtt;
        host.run_until(opened);
        host.receive(&packet(&ack)?).ok()?;
        let answer = match plan.has_timestamps {
            true => "<mss 1460,sackOK,TS val 100 ecr 1000,nop,wscale 8>",
            false => "<...>",
        };
        let echo = if plan.has_ecn { "SE." } else { "S." };
        let text = format!(
            "{header}    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n   +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n   \
             +0 bind(3, ..., ...) = 0\n   +0 listen(3, 1) = 0\n   +0 {syn}\n   +0 > {echo} 0:0(0) ack 1 {answer}\n\
             {:>5} {ack}\n   +0 accept(3, ..., ...) = 4\n\n",
            relative(plan.rtt)
        );
        let mut agenda = Vec::new();
        let mut time = START + OFFSET + GRID * opened.since(START).as_nanos().div_ceil(GRID.as_nanos());
        for _ in 0..=rng.below(4) {
            agenda.push((time, Stimulus::Write(pick(&mut rng, &[1, 2, 3, 8, 20, 30]))));
            time += GRID * pick(&mut rng, &[2, 9, 63, 232, 694]);
        }
        if plan.ends {
            agenda.push((time, Stimulus::End));
        }
        Some(Play {
            rng,
            plan,
            host,
            text,
            last: opened,
            agenda,
            receiver: Peer::default(),
            written: 0,
            is_unfit: false,
        })
    }

    fn run(mut self) -> Option<String> {
        for _ in 0..MOST_STIMULI {
            self.agenda.sort_by_key(|(time, _)| *time);
            let next = self.agenda.first().map_or(self.last + Duration::from_secs(1), |(time, _)| *time);
            if let Some(sent) = self.host.next_packet(next) {
                self.note(&sent);
                continue;
            }
            if self.agenda.is_empty() {
                break;
            }
            let (time, stimulus) = self.agenda.remove(0);
            self.host.run_until(time);
            self.stimulate(time, stimulus)?;
            while let Some(sent) = self.host.next_packet(time) {
                self.note(&sent);
            }
            if chance(&mut self.rng, 0.2) {
                self.look();
            }
        }
        self.look();
        (!self.is_unfit).then_some(self.text)
    }

    fn line(&mut self, time: Time, body: &str) {
        _ = writeln!(self.text, "{:>5} {body}", relative(time.since(self.last)));
        self.last = time;
    }

    /// A packet left: the script expects it, and the path decides what becomes of it.
    fn note(&mut self, sent: &Emitted) {
        let Packet { flags, seq, len, ecn, .. } = sent.packet;
        let name = timestamp(100, sent.stamp);
        self.host.name_stamp(name, sent.stamp);
        let echo = sent.packet.options.as_ref().and_then(|options| options.timestamp).map_or(0, |(_, echo)| echo);
        let options =
            if self.plan.has_timestamps { format!(" <nop,nop,TS val {name} ecr {echo}>") } else { String::new() };
        let ecn =
            if self.plan.has_ecn { format!("[{}] ", ecn_name(ecn.unwrap_or(Ecn::NotEct))) } else { String::new() };
        let flags = flags.without(Flags::ACK).to_string().replace('-', "");
        self.line(sent.at, &format!("> {ecn}{flags}. {seq}:{}({len}) ack 1{options}", seq + len));
        let ends = sent.packet.flags.has(Flags::FIN);
        self.is_unfit |= ends && len > 0;
        let (first, end) = ((seq - 1) / SEGMENT, (seq - 1 + len) / SEGMENT);
        for segment in first..end {
            self.travel(segment..segment + 1 + u32::from(ends && segment + 1 == end), sent);
        }
        if ends && len == 0 {
            self.travel(self.written..self.written + 1, sent);
        }
    }

    fn travel(&mut self, segments: Range<u32>, sent: &Emitted) {
        let jitter = Duration::from_nanos((self.rng.uniform() * self.plan.jitter.as_nanos() as f64) as u64);
        let mut travel = self.plan.rtt + jitter;
        if chance(&mut self.rng, self.plan.reordering) {
            travel += Duration::from_millis(pick(&mut self.rng, &[2, 6, 12, 30]));
        }
        let is_lost = chance(&mut self.rng, self.plan.loss);
        let is_marked = chance(&mut self.rng, self.plan.marks) && sent.packet.ecn == Some(Ecn::Ect0);
        let copies = u32::from(!is_lost) * (1 + u32::from(chance(&mut self.rng, self.plan.duplication)));
        for copy in 0..copies {
            let arrival = Stimulus::Arrival { segments: segments.clone(), stamp: sent.stamp, is_marked };
            let time = self.free_from(sent.at + travel + Duration::from_millis(3 * u64::from(copy)));
            self.agenda.push((time, arrival));
        }
    }

    /// A time for another stimulus, from `time` on.
    fn free_from(&self, time: Time) -> Time {
        let steps = time.since(START + OFFSET).as_nanos().div_ceil(GRID.as_nanos());
        let mut time = START + OFFSET + GRID * steps;
        while self.agenda.iter().any(|(other, _)| *other == time) {
            time += GRID;
        }
        time
    }

    fn stimulate(&mut self, time: Time, stimulus: Stimulus) -> Option<()> {
        match stimulus {
            Stimulus::Write(segments) => {
                let bytes = segments * SEGMENT;
                self.line(time, &format!("write(4, ..., {bytes}) = {bytes}"));
                self.written += segments;
                self.host.write(u64::from(bytes), Manner::default()).ok()
            }
            Stimulus::End => {
                self.line(time, "shutdown(4, SHUT_WR) = 0");
                self.host.shut_down(false, true);
                Some(())
            }
            Stimulus::Arrival { segments, stamp, is_marked } => {
                let is_next = segments.contains(&self.receiver.next);
                let mut blocks = self.receiver.take(segments);
                if is_next || self.receiver.echo.is_none() {
                    self.receiver.echo = Some(stamp);
                }
                if chance(&mut self.rng, self.plan.ack_loss) {
                    return Some(());
                }
                blocks.truncate(if self.plan.has_sack { 3 } else { 0 });
                let ack = self.acknowledgement(time, &blocks, is_marked);
                self.line(time, &ack);
                self.host.receive(&packet(&ack)?).ok()
            }
        }
    }

    fn acknowledgement(&self, time: Time, blocks: &[(u32, u32)], is_marked: bool) -> String {
        // A FIN is a byte.
        let byte = |segment: u32| 1 + segment.min(self.written) * SEGMENT + u32::from(segment > self.written);
        let mut options = Vec::new();
        if self.plan.has_timestamps {
            let echo = timestamp(100, self.receiver.echo.unwrap_or(START));
            options.push(format!("nop,nop,TS val {} ecr {echo}", timestamp(1000, time)));
        }
        if !blocks.is_empty() {
            let blocks: Vec<_> = blocks.iter().map(|&(start, end)| format!("{}:{}", byte(start), byte(end))).collect();
            options.push(format!("nop,nop,sack {}", blocks.join(" ")));
        }
        let options = if options.is_empty() { String::new() } else { format!(" <{}>", options.join(",")) };
        let echo = if is_marked { "E" } else { "" };
        format!("< {echo}. 1:1(0) ack {} win 1000{options}", byte(self.receiver.next))
    }

    fn look(&mut self) {
        let judged = JUDGED.iter().filter_map(|name| {
            let value = self.host.info(&format!("tcpi_{name}"))?;
            Some(format!("tcpi_{name} == {value}"))
        });
        let text = format!("%{{ assert {} }}%", judged.collect::<Vec<_>>().join("; assert "));
        self.line(self.last, &text);
    }
}

/// The number of an instant on a clock of milliseconds that begins with `first`.
pub(crate) fn timestamp(first: u32, time: Time) -> u32 {
    first + (time.since(START).as_micros() / 1_000) as u32
}

/// A relative time as scripts write it.
pub(crate) fn relative(span: Duration) -> String {
    let text = format!("{:.5}", span.as_secs_f64());
    format!("+{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Some scripts that `draw` gives; each number has to give the same script again, and enough of them have to give one.
#[cfg(test)]
pub(crate) fn some_scripts(draw: fn(u64) -> Option<String>) -> Vec<String> {
    let drawn: Vec<_> = (0..40).map(draw).collect();
    assert_eq!(drawn, (0..40).map(draw).collect::<Vec<_>>());
    let scripts: Vec<_> = drawn.into_iter().flatten().collect();
    assert!(scripts.len() >= 10);
    scripts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_gives_the_same_script_and_most_numbers_give_one() {
        some_scripts(draw);
    }

    #[test]
    fn a_receiver_reports_the_latest_block_first_and_a_duplicate_before_it() {
        let mut peer = Peer::default();
        assert_eq!(peer.take(0..1), []);
        assert_eq!(peer.take(2..3), [(2, 3)]);
        assert_eq!(peer.take(5..6), [(5, 6), (2, 3)]);
        assert_eq!(peer.take(3..4), [(2, 4), (5, 6)]);
        assert_eq!(peer.take(5..6), [(5, 6), (5, 6), (2, 4)]);
        assert_eq!(peer.take(1..2), [(5, 6)]);
        assert_eq!(peer.next, 4);
        assert_eq!(peer.take(6..8), [(5, 8)], "with a FIN");
    }
}
