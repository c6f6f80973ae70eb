//! CAKE (common applications kept enhanced): shaper, fair turns between flows and hosts, COBALT, ACK filter.
//!
//! The shaper has no bucket: a packet may leave when the one before has taken its time at `bandwidth`, and idle time
//! earns nothing. Flows take turns by deficit round robin. One that has nothing but now and then a packet is sparse and
//! comes first; one that uses up its deficit is bulk; and one that has become empty decays, which it is asked about at
//! each departure of another, until nothing is left of what COBALT (`cake/cobalt.rs`) knew of it. The deficit that a
//! bulk flow gets each turn is divided by the number of bulk flows of its host.
//!
//! All this is done in each tin by itself (`cake/tin.rs`). The DSCP of a flow says which tin its packets go to. A tin
//! has a clock that goes on by what its packets take at its part of `bandwidth`. Of the tins with something to send the
//! last one whose clock is not ahead sends, otherwise the one that is ahead least: what is urgent comes first up to its
//! part, bulk traffic is sure of its own, and what nobody uses is there for all. Without `bandwidth` tins take turns by
//! their weights.
//!
//! An arriving TCP ACK may make an older one redundant, which is dropped (`cake/ack_filter.rs`). What packets take of
//! the rate is in `cake/wire.rs`, and which hosts share turns in `cake/hosts.rs`.
//!
//! Linux's hash with eight ways hardly ever lets flows meet; here they never do. Left out are `wash`,
//! `autorate-ingress`, `nat` and `fwmark`, and what belongs to superpackets.

mod ack_filter;
mod cobalt;
mod hosts;
mod tin;
mod tins;
mod wire;

use super::discipline::{Discipline, FULL_PACKET, Held, Queue, time_of};
use super::held::{Buffer, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::dscp::Dscp;
use crate::ledger::DropCause;
use crate::packet::PureAck;
use ack_filter::AckFilter;
use cobalt::Rules;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Rng, Time};
use hosts::Isolation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tin::Tin;
use tins::Tins;
use wire::{Framing, Wire};

/// The least `target`.
const LEAST_TARGET: Duration = Duration::from_millis(5);

/// CAKE: a shaper, fair turns between flows and between hosts, and COBALT, which is CoDel and BLUE. Where the buffer is
/// full the longest line loses packets from its head, and BLUE begins to drop at random. Linux holds 4 MiB at least:
/// with a much smaller `buffer` a flow that fills it once is dropped at random for long.
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
    /// How the link behind frames packets, their overhead included.
    #[schemars(extend("x-source" = "tc-cake: noatm, atm, ptm"))]
    pub framing: Framing,
    /// The least that a packet takes, with its overhead and before its framing.
    #[schemars(extend("x-at-most" = "256B", "x-source" = "tc-cake: mpu"))]
    pub mpu: Bytes,
    /// Which tins there are; a flow's `dscp` says to which one it belongs.
    #[schemars(extend("x-source" = "tc-cake: besteffort, diffserv3, diffserv4, diffserv8, precedence"))]
    pub tins: Tins,
    /// Whose turns are equal.
    #[schemars(extend("x-source" = "tc-cake: triple-isolate, dual-srchost, dual-dsthost, flows, srchost, dsthost, hosts"))]
    pub isolation: Isolation,
    /// Groups of flows, by number, whose packets on this link come from one host: `[[0, 1, 2], [3]]`.
    #[schemars(extend("x-default" = "each flow has a source of its own", "x-source" = "tc-cake: srchost"))]
    pub hosts: Vec<Vec<u32>>,
    /// Groups of flows, by number, whose packets on this link go to one host.
    #[schemars(extend("x-default" = "each flow has a destination of its own", "x-source" = "tc-cake: dsthost"))]
    pub destinations: Vec<Vec<u32>>,
    /// Drop TCP ACKs that wait and that later ones of the flow make redundant. QUIC's are encrypted, and stay.
    #[schemars(extend("x-source" = "tc-cake: no-ack-filter, ack-filter, ack-filter-aggressive"))]
    pub ack_filter: AckFilter,
    /// For a shaper behind the bottleneck: packets that it drops have come through that, and take their time of
    /// `bandwidth`.
    #[schemars(extend("x-source" = "tc-cake: ingress"))]
    pub ingress: bool,
}

impl Described<LinkContext> for Cake {
    const NAME: &'static str = "cake";
    const SOURCE: &'static str =
        "Linux 6.18, net/sched/sch_cake.c; Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018";

    fn resolve(self, _: &LinkContext) -> Result<Cake, Problem> {
        hosts::check(&self)?;
        if self.ingress && self.bandwidth.is_none() {
            let message = "without `bandwidth` nothing is shaped, and drops take no time";
            return Err(Problem::value("ingress", message, "give the `bandwidth`, or leave out `ingress`"));
        }
        if self.framing != Framing::None && self.bandwidth.is_none() {
            let message = "without `bandwidth` nothing is shaped, and framing takes no time";
            return Err(Problem::value("framing", message, "give the `bandwidth`, or leave out `framing`"));
        }
        Ok(self)
    }

    fn in_words(&self) -> String {
        let rate = self.bandwidth.map_or_else(|| "unshaped".to_owned(), |rate| rate.in_words());
        let hosts = if self.hosts.is_empty() { String::new() } else { format!(", {} hosts", self.hosts.len()) };
        let filter = if self.ack_filter == AckFilter::Off { "" } else { ", filters ACKs" };
        format!("CAKE ({rate}{hosts}{filter})")
    }
}

impl Cake {
    fn wire(&self) -> Wire {
        Wire { overhead: self.overhead, mpu: self.mpu, framing: self.framing }
    }

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
    /// When it does so in any case, however many packets it has dropped: its clock goes on by half more, and only by
    /// packets that are sent.
    failsafe: Time,
    rng: Rng,
}

impl State {
    fn new(parameters: &Cake, mut rng: Rng) -> State {
        let lines = Rng::new(rng.next_u64());
        let tin = |(rate, weight)| Tin::new(rate, weight, parameters, lines.clone());
        State {
            tins: parameters.tins.parts(parameters.bandwidth).into_iter().map(tin).collect(),
            tin_of: HashMap::new(),
            current: 0,
            waiting: 0,
            next_packet: Time::ZERO,
            failsafe: Time::ZERO,
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
        let bytes = self.parameters.wire().bytes(size);
        self.tins[number].charge(now, bytes);
        if let Some(rate) = self.parameters.bandwidth {
            let takes = time_of(bytes, rate);
            self.next_packet += takes;
            self.failsafe += takes + Duration::from_nanos(takes.as_nanos() / 2);
        }
    }

    /// What a tin has dropped takes its time, where it does.
    fn charge_dropped(&mut self, number: usize) {
        let bytes = self.tins[number].take_owed();
        if let Some(rate) = self.parameters.bandwidth.filter(|_| bytes > 0) {
            self.next_packet += time_of(bytes, rate);
        }
    }

    /// An ACK comes to a line: the one that it makes redundant goes.
    fn filter(&mut self, now: Time, (own, line): (usize, usize), ack: (u32, &PureAck), buffer: &mut Buffer) {
        let before = self.tins[own].waiting;
        self.tins[own].filter(line, now, ack, buffer);
        self.waiting -= before - self.tins[own].waiting;
        self.charge_dropped(own);
    }

    /// The line that would hold the most bytes with the packet of `size` bytes that comes to line `to` of tin `own`
    /// loses its oldest packet. False where that would be the arriving packet.
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
        self.charge_dropped(number);
        true
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        let own = self.tin_of.get(&packet.flow).copied().unwrap_or(0);
        let line = self.tins[own].line_of(packet.flow);
        let ack = buffer.take_ack();
        if let Some(ack) = &ack {
            self.filter(now, (own, line), (packet.flow, ack), buffer);
        }
        let goes_at_once = self.waiting == 0 && self.next_packet <= now;
        let fits = |buffer: &mut Buffer| {
            if goes_at_once { buffer.fits(now, packet.size) } else { buffer.fits_waiting(now, packet.size) }
        };
        while !fits(buffer) {
            if !self.make_room(now, (own, line), packet.size, buffer) {
                return Err(DropCause::QueueFull);
            }
        }
        if self.waiting == 0 && self.next_packet < now {
            self.next_packet = now;
            self.failsafe = now;
        }
        self.waiting += 1;
        self.tins[own].push((line, ack), now, packet, buffer, &mut self.rng);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        if self.waiting == 0 { Time::NEVER } else { self.next_packet.min(self.failsafe) }
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let number = self.choose(now)?;
        let tin = &mut self.tins[number];
        let before = tin.waiting;
        let packet = tin.take(now, buffer, &mut self.rng);
        self.waiting -= before - tin.waiting;
        self.charge_dropped(number);
        let packet = packet?;
        self.charge(number, now, packet.size);
        Some(packet)
    }

    fn reads_acks(&self) -> bool {
        self.parameters.ack_filter != AckFilter::Off
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
