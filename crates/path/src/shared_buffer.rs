//! Links whose queues share the memory of a switch, with dynamic thresholds.
//!
//! A queue may grow as long as it is shorter than α times the memory that is free (Choudhury and Hahne, "Dynamic Queue
//! Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998). With n queues
//! that are as long as they may be, each has α/(1 + nα) of the memory, and 1/(1 + nα) stays free for a queue that
//! begins to grow. What a packet finds decides; nothing that waits is pushed out. What is in transmission takes no
//! memory, as with other queues.

use crate::dscp::Dscp;
use crate::ledger::Offer;
use crate::ledger::{DropCause, LinkCounters};
use crate::link::Link;
use crate::link::change::{Change, Retimed};
use crate::medium::{Glance, Measured, Medium, Port};
use crate::packet::Packet;
use crate::stats::Backlog;
use dumbbell_units::Time;

/// Links that share memory: a port for each.
#[derive(Debug)]
pub struct SharedBuffer<P> {
    size: u64,
    ports: Vec<PoolPort<P>>,
}

/// A link and its part in the memory.
#[derive(Debug)]
struct PoolPort<P> {
    link: Link<P>,
    alpha: f64,
}

impl<P: Packet + Send> SharedBuffer<P> {
    /// Links that share `size` bytes, each with its α.
    pub fn new(size: u64, links: Vec<(Link<P>, f64)>) -> SharedBuffer<P> {
        let ports = links.into_iter().map(|(link, alpha)| PoolPort { link, alpha }).collect();
        SharedBuffer { size, ports }
    }

    fn link(&mut self, port: Port) -> &mut Link<P> {
        &mut self.ports[usize::from(port)].link
    }

    /// Tells a queue how many bytes may wait in it now.
    fn allow(&mut self, now: Time, port: Port) {
        let used: u64 = self.ports.iter_mut().map(|port| port.link.backlog(now).bytes).sum();
        let free = self.size.saturating_sub(used);
        let own = &mut self.ports[usize::from(port)];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast of a size")]
        let threshold = (own.alpha * free as f64) as u64;
        let room = own.link.backlog(now).bytes + free;
        own.link.allow_waiting(threshold.min(room));
    }

    /// When a port has something to do next, and which.
    fn next(&self) -> (Time, Port) {
        let next = self.ports.iter().zip(0..).map(|(port, number)| (port.link.next_event(), number));
        next.min().unwrap_or((Time::NEVER, 0))
    }

    /// What the first port has to tell that has something.
    fn first<T>(&mut self, tell: impl Fn(&mut Link<P>) -> Option<T>) -> Option<(Port, T)> {
        self.ports.iter_mut().zip(0..).find_map(|(port, number)| Some((number, tell(&mut port.link)?)))
    }
}

impl<P: Packet + Send> Medium<P> for SharedBuffer<P> {
    fn ports(&self) -> Port {
        Port::try_from(self.ports.len()).unwrap_or(Port::MAX)
    }

    fn name(&self, port: Port) -> &str {
        &self.ports[usize::from(port)].link.config().name
    }

    fn offer(&mut self, now: Time, port: Port, packet: P) -> Offer {
        self.allow(now, port);
        self.link(port).offer(now, packet)
    }

    fn offer_copy(&mut self, now: Time, port: Port, packet: P) -> Offer {
        self.allow(now, port);
        self.link(port).offer_copy(now, packet)
    }

    fn assign(&mut self, port: Port, flow: u32, dscp: Option<Dscp>) {
        self.link(port).assign(flow, dscp);
    }

    fn poll(&mut self, now: Time) -> Option<(Port, P)> {
        loop {
            let (next, port) = self.next();
            if next > now {
                return None;
            }
            if let Some(packet) = self.link(port).poll(now) {
                return Some((port, packet));
            }
        }
    }

    fn next_event(&self) -> Time {
        self.next().0
    }

    fn pop_drop(&mut self) -> Option<(Port, P, DropCause)> {
        self.first(Link::pop_drop).map(|(port, (packet, cause))| (port, packet, cause))
    }

    fn decides_late(&self, port: Port) -> bool {
        self.ports[usize::from(port)].link.decides_late()
    }

    fn report_departures(&mut self, port: Port) {
        self.link(port).report_departures();
    }

    fn pop_departure(&mut self) -> Option<(Port, Time, P)> {
        self.first(Link::pop_departure).map(|(port, (departs, packet))| (port, departs, packet))
    }

    fn advance(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.link.advance(now));
    }

    fn change(&mut self, now: Time, port: Port, change: &Change) -> Vec<Retimed<P>> {
        self.link(port).change(now, change)
    }

    fn backlog(&mut self, now: Time, port: Port) -> Backlog {
        self.link(port).backlog(now)
    }

    fn counters(&mut self, now: Time, port: Port) -> LinkCounters {
        self.link(port).counters(now)
    }

    fn glance(&mut self, port: Port, since: Time, until: Time) -> Glance {
        self.link(port).glance(since, until)
    }

    fn capacity_bits(&self, port: Port, since: Time, until: Time) -> Option<u64> {
        self.ports[usize::from(port)].link.capacity_bits(since, until)
    }

    fn framing_bytes(&self, port: Port) -> u32 {
        self.ports[usize::from(port)].link.framing_bytes()
    }

    fn start_measuring(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.link.start_measuring(now));
    }

    fn measured(&mut self, now: Time, port: Port) -> Measured {
        let link = self.link(port);
        Measured::new(link.counters_before(), &link.queue_stats(now), None)
    }

    fn count_in_flight(&self, is_meant: &dyn Fn(&P) -> bool) -> u64 {
        self.ports.iter().map(|port| port.link.count_in_flight(is_meant)).sum()
    }

    fn memory(&self) -> u64 {
        self.ports.iter().map(|port| port.link.memory()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::config::LinkConfig;
    use crate::link::tests::twelve_megabits;
    use crate::testing::TestPacket;
    use crate::transmitter::LinkRate;
    use dumbbell_units::Rng;

    /// Ports of a switch from which nothing leaves in the time of a test: what is in transmission stays there.
    fn switch(size: u64, alphas: &[f64], limit: QueueLimit) -> SharedBuffer<TestPacket> {
        let link = |_| {
            let config = LinkConfig { rate: LinkRate::Constant(1_000), limit, ..twelve_megabits() };
            Link::new(config, Rng::new(1))
        };
        SharedBuffer::new(size, alphas.iter().map(|alpha| (link(alpha), *alpha)).collect())
    }

    /// Offers packets of 1000 bytes to the ports in turn until none has room; what waits at each.
    fn fill(switch: &mut SharedBuffer<TestPacket>) -> Vec<u64> {
        let ports = switch.ports();
        for number in 0..1_000 {
            for port in 0..ports {
                switch.offer(Time::ZERO, port, TestPacket::new(number, 1_000));
            }
        }
        (0..ports).map(|port| switch.backlog(Time::ZERO, port).bytes).collect()
    }

    #[test]
    fn queues_that_are_as_long_as_they_may_be_leave_their_share_free() {
        for (alpha, ports) in [(1.0, 1), (1.0, 2), (0.5, 4), (4.0, 3)] {
            let waiting = fill(&mut switch(1_000_000, &vec![alpha; ports], QueueLimit::default()));
            let each = alpha / (1.0 + alpha * ports as f64) * 1e6;
            for bytes in waiting {
                // The last packet of a queue is the first that another has not seen.
                assert!((bytes as f64 - each).abs() <= 1_000.0 * (1.0 + alpha), "{bytes} for {each}");
            }
        }
    }

    #[test]
    fn a_large_alpha_shares_everything_and_no_more_and_a_limit_holds_besides() {
        let all: u64 = fill(&mut switch(100_000, &[1_000.0, 1_000.0], QueueLimit::default())).iter().sum();
        assert_eq!(all, 100_000);
        let limited = QueueLimit { bytes: Some(7_000), ..QueueLimit::default() };
        assert_eq!(fill(&mut switch(100_000, &[1.0, 1.0], limited)), [7_000, 7_000]);
    }

    #[test]
    fn a_queue_that_comes_later_finds_room_and_the_others_shrink_by_themselves() {
        let mut switch = switch(100_000, &[2.0, 2.0], QueueLimit::default());
        for number in 0..1_000 {
            switch.offer(Time::ZERO, 0, TestPacket::new(number, 1_000));
        }
        let alone = switch.backlog(Time::ZERO, 0).bytes;
        assert!((65_000..=67_000).contains(&alone), "two thirds: {alone}");
        for number in 0..1_000 {
            switch.offer(Time::ZERO, 1, TestPacket::new(number, 1_000));
        }
        let other = switch.backlog(Time::ZERO, 1).bytes;
        assert_eq!(switch.backlog(Time::ZERO, 0).bytes, alone, "nothing is pushed out");
        assert!((21_000..=24_000).contains(&other), "two thirds of a third: {other}");
        assert_eq!(switch.counters(Time::ZERO, 1).arrivals.packets, 1_000);
        let drops = switch.counters(Time::ZERO, 1).drops.in_queue().packets;
        // One is in transmission.
        assert_eq!(drops, 1_000 - other / 1_000 - 1);
    }

    #[test]
    fn packets_leave_each_port_in_their_order_and_none_is_lost_that_was_taken() {
        let config = |limit| LinkConfig { limit, ..twelve_megabits() };
        let links = (0..3).map(|_| (Link::new(config(QueueLimit::default()), Rng::new(1)), 1.0)).collect();
        let mut switch = SharedBuffer::new(30_000, links);
        let mut taken = [Vec::new(), Vec::new(), Vec::new()];
        for number in 0..60 {
            let port = (number % 3) as Port;
            if matches!(switch.offer(Time::ZERO, port, TestPacket::new(number, 1_000)), Offer::Accepted { .. }) {
                taken[usize::from(port)].push(number);
            }
        }
        let mut out = [Vec::new(), Vec::new(), Vec::new()];
        let mut latest = Time::ZERO;
        while switch.next_event() < Time::NEVER {
            let now = switch.next_event();
            assert!(now >= latest);
            latest = now;
            while let Some((port, packet)) = switch.poll(now) {
                out[usize::from(port)].push(packet.number);
            }
        }
        assert_eq!(out, taken);
        assert_eq!(switch.count_in_flight(&|_| true), 0);
    }
}
