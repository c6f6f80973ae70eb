//! CAKE (common applications kept enhanced), in the parts that one kind of traffic sees: shaper, fair turns between flows
//! and hosts, COBALT.
//!
//! The shaper has no bucket: a packet may leave when the one before has taken its time at `bandwidth`, and idle time earns
//! nothing. Flows take turns by deficit round robin. One that has nothing but now and then a packet is sparse and comes
//! first; one that uses up its deficit is bulk; and one that has become empty decays, which it is asked about at each
//! departure of another, until nothing is left of what COBALT (`cake/cobalt.rs`) knew of it. The deficit that a bulk flow
//! gets each turn is divided by the number of bulk flows of its host.
//!
//! All this is done in each tin by itself (`cake/tin.rs`). The DSCP of a flow says which tin its packets go to. A tin has a
//! clock that goes on by what its packets take at its part of `bandwidth`. Of the tins with something to send the last one
//! whose clock is not ahead sends, otherwise the one that is ahead least: what is urgent comes first up to its part, bulk
//! traffic is sure of its own, and what nobody uses is there for all. Without `bandwidth` tins take turns by their weights.
//!
//! Left out is the ACK filter, which is off by default. Linux's hash with eight ways hardly ever lets flows meet; here they
//! never do.

mod cobalt;
mod tin;

use super::{Buffer, Discipline, FULL_PACKET, Held, Queue, Waiting, time_of};
use crate::catalog::{Described, LinkContext};
use crate::dscp::Dscp;
use crate::ledger::DropCause;
use cobalt::Rules;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tin::Tin;

/// The least `target`.
const LEAST_TARGET: Duration = Duration::from_millis(5);

/// CAKE: a shaper, fair turns between flows and between hosts, and COBALT, which is CoDel and BLUE. Where the buffer is full
/// the longest line loses packets from its head, and BLUE begins to drop at random. Linux holds 4 MiB at least: with a much
/// smaller `buffer` a flow that fills it once is dropped at random for long.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cake {
    /// Rate of the shaper, which should be a little below that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "that of the link: nothing is shaped",
        "x-above" = "0bit",
        "x-at-most" = "100tbit",
        "x-source" = "tc-cake: bandwidth"
    ))]
    pub bandwidth: Option<Rate>,
    /// Typical round-trip time: COBALT's interval, of which the target is a twentieth.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "100 ms and 5 ms, longer where packets take long: target at least 1.5 packets, interval 95 ms more",
        "x-at-least" = "100us",
        "x-at-most" = "1h",
        "x-source" = "tc-cake: rtt"
    ))]
    pub rtt: Option<Duration>,
    /// Bytes that each packet takes of `bandwidth` besides its IP length.
    #[schemars(range(max = 256), extend("x-unit" = "bytes", "x-source" = "tc-cake: overhead"))]
    pub overhead: u32,
    /// The least that a packet takes, with its overhead.
    #[schemars(extend("x-at-most" = "256B", "x-source" = "tc-cake: mpu"))]
    pub mpu: Bytes,
    /// Which tins there are; a flow's `dscp` says to which one it belongs.
    #[schemars(extend("x-source" = "tc-cake: besteffort, diffserv3, diffserv4"))]
    pub tins: Tins,
    /// Groups of flows, by number, that have a host in common: `[[0, 1, 2], [3]]`. The turns of hosts are equal, too.
    #[schemars(extend("x-default" = "each flow has hosts of its own", "x-source" = "tc-cake: triple-isolate"))]
    pub hosts: Vec<Vec<u32>>,
}

/// Which tins there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tins {
    /// One for all.
    BestEffort,
    /// Best effort, the whole rate; cs1, a sixteenth; ef, cs6 and cs7, a quarter.
    #[default]
    Diffserv3,
    /// Best effort, the whole rate; cs1, a sixteenth; cs2 and cs3, a half; ef and cs4 to cs7, a quarter.
    Diffserv4,
}

impl Tins {
    /// The tins in the order in which the last that may sends: log2 of what divides the rate, and the weight without one.
    fn parts(self) -> &'static [(u32, i64)] {
        match self {
            Tins::BestEffort => &[(0, 1_024)],
            Tins::Diffserv3 => &[(0, 1_024), (4, 64), (2, 256)],
            Tins::Diffserv4 => &[(0, 1_024), (4, 64), (1, 512), (2, 256)],
        }
    }

    /// The number of the tin of a code point.
    fn of(self, dscp: Dscp) -> usize {
        match (self, dscp) {
            (Tins::BestEffort, _) | (_, Dscp::Cs0) => 0,
            (_, Dscp::Cs1) => 1,
            (Tins::Diffserv3, Dscp::Ef | Dscp::Cs6 | Dscp::Cs7) => 2,
            (Tins::Diffserv3, _) => 0,
            (Tins::Diffserv4, Dscp::Cs2 | Dscp::Cs3) => 2,
            (Tins::Diffserv4, _) => 3,
        }
    }
}

impl Described for Cake {
    const NAME: &'static str = "cake";
    const SOURCE: &'static str =
        "Linux 6.18, net/sched/sch_cake.c; Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018";

    fn resolve(self, _: &LinkContext) -> Result<Cake, Problem> {
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = self.hosts.iter().flatten().find(|flow| !seen.insert(**flow)) {
            let message = format!("flow {twice} is in two groups");
            return Err(Problem::value("hosts", message, "allowed: each flow in one group at most"));
        }
        Ok(self)
    }

    fn in_words(&self) -> String {
        let rate = self.bandwidth.map_or_else(|| "unshaped".to_owned(), |rate| rate.in_words());
        let hosts = if self.hosts.is_empty() { String::new() } else { format!(", {} hosts", self.hosts.len()) };
        format!("CAKE ({rate}{hosts})")
    }
}

impl Cake {
    /// Of a tin with this part of the bandwidth.
    fn rules(&self, bandwidth: Option<Rate>) -> Rules {
        let packet_time = bandwidth.map_or(Duration::ZERO, |rate| time_of(FULL_PACKET.into(), rate));
        let (target, interval) = match self.rtt {
            Some(rtt) => (Duration::from_nanos(rtt.as_nanos() / 20), rtt),
            None => (LEAST_TARGET, LEAST_TARGET * 20),
        };
        let longer = target.max(Duration::from_nanos(packet_time.as_nanos() / 2 * 3));
        let interval = (interval + longer - target).max(longer * 2);
        Rules { target: longer, interval, packet_time }
    }
}

impl Discipline for Cake {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of a CAKE queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Cake,
    tins: Vec<Tin>,
    /// The tin of each flow that asks for one.
    tin_of: HashMap<u32, usize>,
    /// Whose turn it is, where nothing is shaped.
    current: usize,
    waiting: u64,
    /// When the shaper lets the next packet go; where nothing is shaped, since when something waits.
    next_packet: Time,
    rng: Rng,
}

impl State {
    fn new(parameters: &Cake, mut rng: Rng) -> State {
        let lines = Rng::new(rng.next_u64());
        let tin = |&(shift, weight): &(u32, i64)| {
            let part = |rate: Rate| Rate::from_bits_per_sec((rate.as_bits_per_sec() >> shift).max(1));
            let rate = parameters.bandwidth.map(part);
            Tin::new(rate, weight, parameters.rules(rate), &parameters.hosts, lines.clone())
        };
        State {
            tins: parameters.tins.parts().iter().map(tin).collect(),
            tin_of: HashMap::new(),
            current: 0,
            waiting: 0,
            next_packet: Time::ZERO,
            parameters: parameters.clone(),
            rng,
        }
    }

    /// The tin that sends next; `None` if nothing waits.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        if self.parameters.bandwidth.is_none() {
            while !self.tins[self.current].may_send() {
                self.tins[self.current].earn();
                self.current = (self.current + 1) % self.tins.len();
            }
            return Some(self.current);
        }
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.waiting > 0);
        // All that are due are equal, and of equals the last one counts.
        let ahead = |tin: &Tin| tin.next_packet.since(now);
        waiting.min_by_key(|&(number, tin)| (ahead(tin), std::cmp::Reverse(number))).map(|(number, _)| number)
    }

    /// A packet leaves a tin: the next one may when this one has taken its time.
    fn charge(&mut self, number: usize, now: Time, size: u32) {
        let Cake { bandwidth, overhead, mpu, .. } = self.parameters;
        let bytes = u64::from(size + overhead).max(mpu.as_u64());
        self.tins[number].charge(now, bytes);
        if let Some(rate) = bandwidth {
            self.next_packet += time_of(bytes, rate);
        }
    }

    /// The line that would hold the most bytes with the packet of `size` bytes that comes to line `to` of tin `own` loses
    /// its oldest packet. False where that would be the arriving packet.
    fn make_room(&mut self, now: Time, (own, to): (usize, usize), size: u32, buffer: &mut Buffer) -> bool {
        let of_tin = |(number, tin): (usize, &Tin)| {
            let comes_to = if number == own { to } else { usize::MAX };
            tin.longest(comes_to, size).map(|(line, bytes)| (number, line, bytes))
        };
        let longest = self.tins.iter().enumerate().filter_map(of_tin).rev().max_by_key(|&(_, _, bytes)| bytes);
        let Some((number, line, _)) = longest else { return false };
        let Some(packet) = self.tins[number].lose_oldest(line, now, buffer) else { return false };
        self.waiting -= 1;
        buffer.drop(packet, DropCause::QueueFull);
        true
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        let own = self.tin_of.get(&packet.flow).copied().unwrap_or(0);
        let line = self.tins[own].line_of(packet.flow);
        let goes_at_once = self.waiting == 0 && self.next_packet <= now;
        let fits = |buffer: &mut Buffer| {
            if goes_at_once { buffer.fits(now, packet.size) } else { buffer.fits_waiting(now, packet.size) }
        };
        while !fits(buffer) {
            if !self.make_room(now, (own, line), packet.size, buffer) {
                return Err(DropCause::QueueFull);
            }
        }
        if self.waiting == 0 {
            self.next_packet = self.next_packet.max(now);
        }
        self.waiting += 1;
        self.tins[own].push(line, now, packet, buffer, &mut self.rng);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        if self.waiting == 0 { Time::NEVER } else { self.next_packet }
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let number = self.choose(now)?;
        let tin = &mut self.tins[number];
        let before = tin.waiting;
        let packet = tin.take(now, self.parameters.overhead, buffer, &mut self.rng);
        self.waiting -= before - tin.waiting;
        let packet = packet?;
        self.charge(number, now, packet.size);
        Some(packet)
    }

    fn assign(&mut self, flow: u32, dscp: Option<Dscp>) {
        match dscp.map(|dscp| self.parameters.tins.of(dscp)) {
            None | Some(0) => self.tin_of.remove(&flow),
            Some(tin) => self.tin_of.insert(flow, tin),
        };
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        let waiting: usize = self.tins.iter().map(Tin::flows).sum();
        let blue = self.tins.iter().map(Tin::largest_blue).fold(0.0, f64::max);
        vec![("flows", waiting as f64), ("largest_blue", blue)]
    }
}

#[cfg(test)]
mod tests;
