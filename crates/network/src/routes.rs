//! Which medium a packet passes after which.

use dumbbell_path::Port;
use dumbbell_scenario::Flow;

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
}

impl Hop {
    fn new(entry: Entry, is_bottleneck: bool) -> Hop {
        Hop { medium: entry.medium, port: entry.port, is_bottleneck }
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
    /// The same from the receiver to the sender.
    pub reverse_rest: u16,
    /// Bytes of headers of TCP's segments and ACKs, IP included.
    pub header: u8,
    /// Bytes of a packet of the handshake.
    pub handshake_bytes: u16,
    /// Where packets of the sender begin.
    pub first_forward: Hop,
    /// Where packets of the receiver begin.
    pub first_reverse: Hop,
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
}

impl Routes {
    /// Routes for so many flows, to [push](Self::push).
    pub fn with_capacity(flows: usize) -> Routes {
        Routes { routes: Vec::with_capacity(flows), hops: Vec::new() }
    }

    /// The routes of a flow.
    #[inline(always)]
    pub fn of(&self, flow: usize) -> &Route {
        &self.routes[flow]
    }

    /// The next hop of a packet of `flow`, on its way from the sender or back, that has `hops_left` hops ahead, at least
    /// one.
    #[inline]
    pub fn next_hop(&self, flow: u32, is_forward: bool, hops_left: u16) -> Hop {
        let route = &self.routes[flow as usize];
        let end = if is_forward { route.forward_end } else { route.reverse_end };
        self.hops[(end - u32::from(hops_left)) as usize]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.hops.capacity() * size_of::<Hop>() + self.routes.capacity() * size_of::<Route>()
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

    /// Adds the routes of the next flow. `bottleneck` is the link where its throughput is measured; `entries` tells where
    /// the links of the scenario are entered.
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
        self.routes.push(Route {
            forward_end: end(reverse)?,
            reverse_end: end(self.hops.len())?,
            forward_rest,
            reverse_rest,
            header: u8::try_from(flow.transport.header_bytes()).unwrap_or(u8::MAX),
            handshake_bytes: u16::try_from(flow.transport.handshake_bytes()).unwrap_or(u16::MAX),
            first_forward: self.hops[forward],
            first_reverse: self.hops[reverse],
        });
        Ok(())
    }
}
