//! Scripts drawn at random for a receiver: segments that come late, twice, in another order or not at first, and the ACKs
//! with which the endpoints answered.

use crate::host::{Emitted, START, Simulated};
use crate::judge::{Host, Verdict, run};
use crate::parse::parse;
use crate::random::{GRID, OFFSET, SEGMENT, TOLERANCE, chance, packet, pick, relative, timestamp};
use crate::script::Packet;
use dumbbell_units::{Duration, Rng, Time};
use std::fmt::Write;

/// A TUN device gives every segment a page and more of the receive buffer. If that is full, quick ACKs end.
const MEMORY: &str = "sysctl -q net.ipv4.tcp_rmem=\"4096 1000000 33554432\"";

/// What the connection is like, and what the path does.
struct Plan {
    has_sack: bool,
    has_timestamps: bool,
    rtt: Duration,
    loss: f64,
    reordering: f64,
    duplication: f64,
    pushes: f64,
    segments: u32,
    /// Steps of the grid between two segments.
    gaps: &'static [u64],
}

impl Plan {
    fn draw(rng: &mut Rng) -> Plan {
        let options = pick(rng, &["sack", "sack", "timestamps", "none"]);
        Plan {
            has_sack: options != "none",
            has_timestamps: options == "timestamps",
            rtt: Duration::from_millis(pick(rng, &[20, 50, 100])),
            loss: pick(rng, &[0.0, 0.05, 0.15, 0.3]),
            reordering: pick(rng, &[0.0, 0.1, 0.3]),
            duplication: pick(rng, &[0.0, 0.0, 0.1]),
            pushes: pick(rng, &[0.0, 0.2]),
            segments: pick(rng, &[8, 20, 40]),
            gaps: pick(rng, &[&[1, 1, 1, 2], &[1, 1, 9], &[1, 9, 63], &[9, 40, 300]]),
        }
    }

    /// The SYN, and the ACK of the handshake.
    fn handshake(&self) -> [String; 2] {
        let options = match (self.has_timestamps, self.has_sack) {
            (true, _) => "mss 1012,sackOK,TS val 1000 ecr 0,nop,wscale 8",
            (false, true) => "mss 1000,sackOK,nop,nop,nop,wscale 8",
            (false, false) => "mss 1000,nop,wscale 8",
        };
        let stamp = self.stamp(self.rtt);
        [format!("< S 0:0(0) win 32792 <{options}>"), format!("< . 1:1(0) ack 1 win 1000{stamp}")]
    }

    fn stamp(&self, since: Duration) -> String {
        let val = timestamp(1000, START + since);
        if self.has_timestamps { format!(" <nop,nop,TS val {val} ecr 100>") } else { String::new() }
    }

    /// When segments arrive, in the order of time, each in a place of the grid of its own.
    fn arrivals(&self, rng: &mut Rng) -> Vec<(u64, u32)> {
        let mut arrivals: Vec<(u64, u32)> = Vec::new();
        let mut place = 0;
        for segment in 0..self.segments {
            place += pick(rng, self.gaps);
            let mut at = place;
            if chance(rng, self.loss) {
                at += self.rtt.as_nanos() / GRID.as_nanos() + u64::from(rng.below(20));
            } else if chance(rng, self.reordering) {
                at += u64::from(rng.below(12));
            }
            arrivals.push((at, segment));
            if chance(rng, self.duplication) {
                arrivals.push((at + 1 + u64::from(rng.below(40)), segment));
            }
        }
        arrivals.sort_unstable();
        let mut free = 0;
        for (at, _) in &mut arrivals {
            *at = free.max(*at);
            free = *at + 1;
        }
        arrivals
    }
}

/// The script of this number; `None` if its outcome hangs on the phase of the clock.
pub fn draw_receiver(seed: u64) -> Option<String> {
    let mut rng = Rng::new(seed);
    let plan = Plan::draw(&mut rng);
    let mut play = Play::new(seed, &plan, &mut rng)?;
    play.run(&plan)?;
    let holds = ["250", "1000", "100"].iter().all(|hz| {
        let script = parse(&play.text.replace("--define=HZ=250", &format!("--define=HZ={hz}")));
        script.is_ok_and(|script| run(&script) == Verdict::Holds)
    });
    holds.then_some(play.text)
}

struct Play {
    host: Simulated,
    text: String,
    last: Time,
    arrivals: Vec<(Time, String)>,
}

impl Play {
    fn new(seed: u64, plan: &Plan, rng: &mut Rng) -> Option<Play> {
        let header =
            format!("// A receiver drawn at random: {seed}.\n\n{TOLERANCE}\n--define=HZ=250\n\n`{MEMORY}`\n\n");
        let [syn, ack] = plan.handshake();
        let first = (plan.rtt.as_nanos()).div_ceil(GRID.as_nanos()) + 2;
        let mut arrivals = Vec::new();
        for (place, segment) in plan.arrivals(rng) {
            let since = OFFSET + GRID * (first + place);
            let (start, push) = (1 + segment * SEGMENT, if chance(rng, plan.pushes) { "P" } else { "" });
            let line = format!("< {push}. {start}:{}({SEGMENT}) ack 1 win 1000{}", start + SEGMENT, plan.stamp(since));
            arrivals.push((START + since, line));
        }
        // The host knows beforehand where packets will begin and end.
        let lines: String = arrivals.iter().map(|(_, line)| format!("+0 {line}\n")).collect();
        let mut host = Simulated::new(&parse(&format!("{header}0 {syn}\n{lines}")).ok()?).ok()?;
        host.listen();
        host.receive(&packet(&syn)?).ok()?;
        let answer = host.next_packet(START)?;
        host.name_stamp(100, answer.stamp);
        host.run_until(START + plan.rtt);
        host.receive(&packet(&ack)?).ok()?;
        let answer = match plan.has_timestamps {
            true => "<mss 1460,sackOK,TS val 100 ecr 1000,nop,wscale 8>",
            false => "<...>",
        };
        let text = format!(
            "{header}    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n   +0 bind(3, ..., ...) = 0\n   +0 listen(3, 1) = 0\n   \
             +0 {syn}\n   +0 > S. 0:0(0) ack 1 {answer}\n{:>5} {ack}\n   +0 accept(3, ..., ...) = 4\n\n",
            relative(plan.rtt)
        );
        Some(Play { host, text, last: START + plan.rtt, arrivals })
    }

    fn run(&mut self, plan: &Plan) -> Option<()> {
        for (time, line) in std::mem::take(&mut self.arrivals) {
            self.note_until(plan, time);
            self.host.run_until(time);
            self.line(time, &line);
            self.host.receive(&packet(&line)?).ok()?;
        }
        self.note_until(plan, self.last + Duration::from_secs(1));
        Some(())
    }

    /// The ACKs that leave until then.
    fn note_until(&mut self, plan: &Plan, time: Time) {
        while let Some(Emitted { at, packet: Packet { ack, options, .. }, stamp }) = self.host.next_packet(time) {
            let mut shown = Vec::new();
            let options = options.unwrap_or_default();
            if plan.has_timestamps {
                let name = timestamp(100, stamp);
                self.host.name_stamp(name, stamp);
                shown.push(format!("nop,nop,TS val {name} ecr {}", options.timestamp.map_or(0, |(_, echo)| echo)));
            }
            if !options.sack.is_empty() {
                let blocks: Vec<_> = options.sack.iter().map(|(start, end)| format!("{start}:{end}")).collect();
                shown.push(format!("nop,nop,sack {}", blocks.join(" ")));
            }
            let shown = if shown.is_empty() { String::new() } else { format!(" <{}>", shown.join(",")) };
            self.line(at, &format!("> . 1:1(0) ack {}{shown}", ack.unwrap_or(0)));
        }
    }

    fn line(&mut self, time: Time, body: &str) {
        _ = writeln!(self.text, "{:>5} {body}", relative(time.since(self.last)));
        self.last = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::some_scripts;

    #[test]
    fn the_same_number_gives_the_same_script_and_most_numbers_give_one() {
        let all = some_scripts(draw_receiver).concat();
        assert!(all.contains("sack ") && all.contains("TS val"), "{all}");
    }

    #[test]
    fn every_segment_arrives_and_no_two_at_a_time() {
        let mut rng = Rng::new(3);
        for _ in 0..50 {
            let plan = Plan::draw(&mut rng);
            let arrivals = plan.arrivals(&mut rng);
            assert!(arrivals.is_sorted_by(|(one, _), (next, _)| one < next));
            let there: std::collections::BTreeSet<u32> = arrivals.iter().map(|&(_, segment)| segment).collect();
            assert!(there.into_iter().eq(0..plan.segments));
        }
    }
}
