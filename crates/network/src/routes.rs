//! Which medium a packet passes after which.

use dumbbell_path::{Ecn, Port};
use dumbbell_scenario::Flow;

mod delay_legs;

pub use delay_legs::DelayLegs;

/// The most links of a way: packets count those that are left in 16 bits.
const MAX_LINKS_OF_A_WAY: usize = u16::MAX as usize;

/// Where a packet enters a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the medium.
    pub medium: u32,
    /// The port at which it enters.
    pub port: Port,
}

impl Entry {
    /// Where `links` links are entered that are media of their own.
    pub fn of_links(links: usize) -> Vec<Entry> {
        (0u32..).take(links).map(|medium| Entry { medium, port: 0 }).collect()
    }
}

/// One medium of a route, and the port at which packets enter it.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Number of the medium.
    pub medium: u32,
    /// The port at which packets enter it.
    pub port: Port,
    /// Throughput is measured here.
    pub is_bottleneck: bool,
    /// It is a [delay leg](Routes::take_delay_legs).
    pub is_delay_leg: bool,
}

impl Hop {
    fn new(entry: Entry, is_bottleneck: bool) -> Hop {
        Hop { medium: entry.medium, port: entry.port, is_bottleneck, is_delay_leg: false }
    }

    /// The number of the medium.
    #[inline(always)]
    pub fn medium(self) -> usize {
        self.medium as usize
    }
}

/// Where a flow's routes lie among the hops. They are found from their ends, because packets count hops down.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    forward_end: u32,
    reverse_end: u32,
    /// Hops behind the first one, from the sender to the receiver.
    pub forward_rest: u16,
    /// Hops behind the first one, from the receiver to the sender.
    pub reverse_rest: u16,
    /// Bytes of headers of TCP's segments, IP included.
    pub header: u8,
    /// Bytes of headers of TCP's ACKs, IP included, without SACK blocks and counters of marks.
    pub ack_header: u8,
    /// ECN bits of its ACKs.
    pub ack_ecn: Ecn,
    /// Bytes of a packet of the handshake.
    pub handshake_bytes: u16,
    /// Where packets of the sender begin.
    pub first_forward: Hop,
    /// Where packets of the receiver begin.
    pub first_reverse: Hop,
    /// Number of the link that they pass before, if the first hop [is entered ahead](Routes::shorten).
    pub passed: Option<u32>,
    /// Packets of the receiver may enter that hop [ahead of their time](Routes::allow_answers_ahead).
    pub answers_ahead: bool,
}

/// A way cannot be taken; validation should have caught it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WayError {
    /// A flow has a way without any link.
    #[error("flow {0} ends where it starts")]
    NoWay(usize),
    /// The way of a flow has more links than a packet can count.
    #[error("the way of flow {0} has more than {MAX_LINKS_OF_A_WAY} links")]
    LongWay(usize),
    /// The ways of all flows together have more links than can be numbered.
    #[error("the ways of all flows together have more than {max} links", max = u32::MAX)]
    ManyHops,
}

/// Routes of all flows.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    routes: Vec<Route>,
    /// Their hops, forward and reverse, one route after the other.
    hops: Vec<Hop>,
    /// How many ways enter each medium, by its number.
    entered: Vec<u32>,
}

impl Routes {
    /// Routes for so many flows, to [push](Self::push).
    pub fn with_capacity(flows: usize) -> Routes {
        Routes { routes: Vec::with_capacity(flows), ..Routes::default() }
    }

    /// The routes of a flow.
    #[inline(always)]
    pub fn of(&self, flow: usize) -> &Route {
        &self.routes[flow]
    }

    /// ACKs of a flow have these ECN bits.
    pub fn mark_acks(&mut self, flow: usize, ecn: Ecn) {
        self.routes[flow].ack_ecn = ecn;
    }

    /// The next hop of a packet of `flow`, on its way from the sender or back, that has `hops_left` hops ahead, at
    /// least one.
    #[inline]
    pub fn next_hop(&self, flow: u32, is_forward: bool, hops_left: u16) -> Hop {
        let route = &self.routes[flow as usize];
        let end = if is_forward { route.forward_end } else { route.reverse_end };
        self.hops[(end - u32::from(hops_left)) as usize]
    }

    /// Lets packets of receivers enter the second link of their way ahead of their time, where they only pass the first
    /// one: both `only_delay` packets, and all that enters the second comes from the first in the order in which it
    /// entered that. `is_shared` tells of media that packets on other ways than these enter, too. Links must not change
    /// afterwards.
    pub fn shorten(&mut self, only_delays: impl Fn(usize) -> bool, is_shared: impl Fn(usize) -> bool) {
        let Routes { routes, hops, entered } = self;
        for route in routes.iter_mut().filter(|route| route.reverse_rest > 0) {
            let second = hops[(route.reverse_end - u32::from(route.reverse_rest)) as usize];
            let first = route.first_reverse;
            let is_alone = entered[second.medium()] == 1 && !is_shared(second.medium());
            if is_alone && [first, second].iter().all(|hop| only_delays(hop.medium())) {
                (route.passed, route.first_reverse) = (Some(first.medium), second);
                route.reverse_rest -= 1;
            }
        }
    }

    /// Lets receivers answer ahead of time to what has not arrived yet but is certain to: where they are of TCP, so
    /// that their packets tell what made them leave; where their packets enter a medium that `only_delays` them, and
    /// nothing else enters it; and where all that they answer comes from one medium that `brings_in_order` and not at
    /// once, so that the order in which answers enter follows from these instants. Links must not change afterwards.
    pub fn allow_answers_ahead(
        &mut self,
        is_tcp: impl Fn(usize) -> bool,
        only_delays: impl Fn(usize) -> bool,
        mut brings_in_order: impl FnMut(usize) -> bool,
    ) {
        let Routes { routes, hops, entered } = self;
        let last = |route: &Route| hops[route.forward_end as usize - 1].medium();
        // For each medium how many receivers enter it, and what they answer comes from.
        let mut answers: Vec<(u32, usize)> = vec![(0, 0); entered.len()];
        for (flow, route) in routes.iter().enumerate() {
            let (count, source) = &mut answers[route.first_reverse.medium()];
            if is_tcp(flow) && (*count == 0 || *source == last(route)) {
                (*count, *source) = (*count + 1, last(route));
            }
        }
        for route in routes.iter_mut() {
            let number = route.first_reverse.medium();
            let (count, source) = answers[number];
            route.answers_ahead = entered[number] == count && only_delays(number) && brings_in_order(source);
        }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.hops.capacity() * size_of::<Hop>()
            + self.routes.capacity() * size_of::<Route>()
            + self.entered.capacity() * size_of::<u32>()
    }

    /// Flow number `flow`, which may be the next after the last, takes the ways of `route`.
    pub fn adopt(&mut self, flow: usize, route: Route) {
        match self.routes.get_mut(flow) {
            Some(own) => *own = route,
            None => self.routes.push(route),
        }
    }

    /// The routes of the next flow, which becomes no flow itself: others [adopt](Self::adopt) them.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub fn template(&mut self, flow: &Flow, bottleneck: usize, entries: &[Entry]) -> Result<Route, WayError> {
        self.push(flow, bottleneck, entries)?;
        self.routes.pop().ok_or(WayError::ManyHops)
    }

    /// Adds the routes of the next flow. `bottleneck` is the link where its throughput is measured; `entries` tells
    /// where the links of the scenario are entered.
    ///
    /// # Errors
    /// A way has no links, or too many.
    pub fn push(&mut self, flow: &Flow, bottleneck: usize, entries: &[Entry]) -> Result<(), WayError> {
        let index = self.routes.len();
        let rest = |way: &[usize]| match u16::try_from(way.len()) {
            Ok(0) => Err(WayError::NoWay(index)),
            Ok(links) => Ok(links - 1),
            Err(_) => Err(WayError::LongWay(index)),
        };
        let (forward_rest, reverse_rest) = (rest(&flow.forward)?, rest(&flow.reverse)?);
        let end = |hops: usize| u32::try_from(hops).map_err(|_| WayError::ManyHops);
        let forward = self.hops.len();
        self.hops.extend(flow.forward.iter().map(|&link| Hop::new(entries[link], link == bottleneck)));
        let reverse = self.hops.len();
        self.hops.extend(flow.reverse.iter().map(|&link| Hop::new(entries[link], false)));
        for medium in self.hops[forward..].iter().map(|hop| hop.medium()) {
            if medium >= self.entered.len() {
                self.entered.resize(medium + 1, 0);
            }
            self.entered[medium] += 1;
        }
        self.routes.push(Route {
            forward_end: end(reverse)?,
            reverse_end: end(self.hops.len())?,
            forward_rest,
            reverse_rest,
            header: u8::try_from(flow.transport.header_bytes()).unwrap_or(u8::MAX),
            ack_header: u8::try_from(flow.transport.ack_header_bytes()).unwrap_or(u8::MAX),
            ack_ecn: Ecn::NotEct,
            handshake_bytes: u16::try_from(flow.transport.handshake_bytes()).unwrap_or(u16::MAX),
            first_forward: self.hops[forward],
            first_reverse: self.hops[reverse],
            passed: None,
            answers_ahead: false,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_scenario::Experiment;

    /// Routes of flows with these ways back; all links are media of their own.
    pub(super) fn routes(ways_back: &[&[usize]]) -> Routes {
        let text = r#"duration = "1s"
            flows = [{ cc = "reno" }]
            path = { rate = "1mbit", rtt = "10ms" }"#;
        let experiment = Experiment::from_toml(text, "experiment.toml", &[]).unwrap();
        let any = experiment.points()[0].scenario().flows[0].clone();
        let mut routes = Routes::default();
        for reverse in ways_back {
            let flow = Flow { forward: [0].into(), reverse: (*reverse).into(), ..any.clone() };
            routes.push(&flow, 0, &Entry::of_links(9)).unwrap();
        }
        routes
    }

    #[test]
    fn answers_may_be_early_where_their_link_only_delays_and_nothing_else_enters_it() {
        let ahead = |ways: &[&[usize]], is_tcp: fn(usize) -> bool, only_delays: fn(usize) -> bool, in_order: bool| {
            let mut routes = routes(ways);
            routes.allow_answers_ahead(is_tcp, only_delays, |_| in_order);
            (0..ways.len()).map(|flow| routes.of(flow).answers_ahead).collect::<Vec<_>>()
        };
        let shared: [&[usize]; 3] = [&[1], &[1], &[2]];
        assert_eq!(ahead(&shared, |_| true, |_| true, true), [true; 3]);
        assert_eq!(ahead(&shared, |_| true, |link| link != 2, true), [true, true, false]);
        assert_eq!(ahead(&shared, |flow| flow != 0, |_| true, true), [false, false, true], "one of them is not TCP");
        assert_eq!(ahead(&shared, |_| true, |_| true, false), [false; 3]);
        let through: [&[usize]; 2] = [&[1], &[2, 1]];
        assert_eq!(ahead(&through, |_| true, |_| true, true), [false, true], "others come to it over another link");
    }

    #[test]
    fn a_way_back_is_shortened_where_both_links_only_delay_and_nobody_else_enters_the_second() {
        let ways: [&[usize]; 7] = [&[1, 2], &[1, 3, 4], &[1], &[1, 5], &[1, 5], &[1, 6], &[1, 7]];
        let mut routes = routes(&ways);
        routes.shorten(|link| link != 6, |link| link == 7);
        let begins = |flow| {
            let route = routes.of(flow);
            (route.passed, route.first_reverse.medium, route.reverse_rest)
        };
        assert_eq!([begins(0), begins(1), begins(2)], [(Some(1), 2, 0), (Some(1), 3, 1), (None, 1, 0)]);
        assert_eq!([begins(3), begins(4), begins(5)], [(None, 1, 1); 3], "a link for two, and one that does more");
        assert_eq!(begins(6), (None, 1, 1), "a link that others enter, too");
        assert_eq!(routes.next_hop(1, false, 1).medium, 4);
    }

    #[test]
    fn routes_take_the_memory_of_their_hops_and_of_the_media_that_are_counted() {
        let ways: [&[usize]; 4] = [&[1], &[1], &[1], &[8]];
        assert_eq!(Routes::default().memory(), 0);
        // Eight hops, four routes, nine media: what grows by doubling has no room left for more hops and routes.
        let whole = routes(&ways);
        let least = whole.hops.len() * size_of::<Hop>()
            + whole.routes.len() * size_of::<Route>()
            + whole.entered.len() * size_of::<u32>();
        assert!((least..2 * least).contains(&whole.memory()), "{} of {least}", whole.memory());
    }
}
