//! Wires a scenario: its links become media, its flows get endpoints and routes over them.

use crate::RunError;
use crate::flow::Flow;
use crate::packet::Packet;
use dumbbell_path::{Link, LinkRate, Media, Port};
use dumbbell_scenario::{Flow as Spec, Scenario};
use dumbbell_units::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Random streams: links count from here, flows' controllers and starts from the numbers below.
const LINK_STREAMS: u64 = 1 << 32;
const CONTROLLER_STREAMS: u64 = 2 << 32;
const START_STREAM: u64 = 3 << 32;
/// The most links of a way: packets count those that are left in 16 bits.
pub(crate) const MAX_LINKS_OF_A_WAY: usize = u16::MAX as usize;

/// Where a packet enters a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub medium: u32,
    pub port: Port,
}

/// One medium of a route, and the port at which packets enter it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub medium: u32,
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
pub(super) struct Route {
    forward_end: u32,
    reverse_end: u32,
    /// Hops behind the first one.
    pub forward_rest: u16,
    pub reverse_rest: u16,
    pub first_forward: Hop,
    pub first_reverse: Hop,
}

/// Routes of all flows.
pub(super) struct Routes {
    routes: Vec<Route>,
    /// Their hops, forward and reverse, one route after the other.
    hops: Vec<Hop>,
}

impl Routes {
    /// The routes of a flow.
    #[inline(always)]
    pub fn of(&self, flow: usize) -> &Route {
        &self.routes[flow]
    }

    /// The next hop of a packet that is not at the end of its route yet.
    #[inline]
    pub fn next_hop(&self, packet: &Packet) -> Hop {
        let route = &self.routes[packet.flow as usize];
        let end = if packet.kind.is_forward() { route.forward_end } else { route.reverse_end };
        self.hops[(end - u32::from(packet.hops_left)) as usize]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.hops.capacity() * size_of::<Hop>() + self.routes.capacity() * size_of::<Route>()
    }

    /// Adds the routes of a flow. `entries` tells where the links of the scenario are entered.
    fn push(&mut self, flow: &Spec, bottleneck: usize, entries: &[Entry]) -> Result<(), RunError> {
        let index = self.routes.len();
        let rest = |way: &[usize]| match u16::try_from(way.len()) {
            Ok(0) => Err(RunError::NoWay(index)),
            Ok(links) => Ok(links - 1),
            Err(_) => Err(RunError::LongWay(index)),
        };
        let (forward_rest, reverse_rest) = (rest(&flow.forward)?, rest(&flow.reverse)?);
        let end = |hops: usize| u32::try_from(hops).map_err(|_| RunError::ManyHops);
        let forward = self.hops.len();
        self.hops.extend(flow.forward.iter().map(|&link| Hop::new(entries[link], link == bottleneck)));
        let reverse = self.hops.len();
        self.hops.extend(flow.reverse.iter().map(|&link| Hop::new(entries[link], false)));
        self.routes.push(Route {
            forward_end: end(reverse)?,
            reverse_end: end(self.hops.len())?,
            forward_rest,
            reverse_rest,
            first_forward: self.hops[forward],
            first_reverse: self.hops[reverse],
        });
        Ok(())
    }
}

/// What a run is made of.
pub(super) struct Network {
    pub media: Media<Packet>,
    pub flows: Vec<Flow>,
    pub routes: Routes,
    /// Where each link of the scenario is entered.
    pub entries: Vec<Entry>,
}

impl Network {
    /// Builds what `scenario` describes, unless the caller `cancel`s. Each of its links is a medium of its own.
    pub fn new(scenario: &Scenario, cancel: &AtomicBool) -> Result<Network, RunError> {
        let link = |(link, stream): (&dumbbell_scenario::Link, u64)| {
            Link::new(link.config.clone(), Rng::stream(scenario.seed, stream))
        };
        let links = scenario.links.iter().zip(LINK_STREAMS..).map(link).collect();
        let entries = (0u32..).take(scenario.links.len()).map(|medium| Entry { medium, port: 0 }).collect();
        Network::over(Media::new(links, Vec::new()), entries, scenario, cancel)
    }

    /// Puts the flows of `scenario` over media, of which `entries` tells what takes the place of each link.
    pub fn over(
        media: Media<Packet>,
        entries: Vec<Entry>,
        scenario: &Scenario,
        cancel: &AtomicBool,
    ) -> Result<Network, RunError> {
        let seed = scenario.seed;
        let mut network = Network {
            media,
            flows: Vec::with_capacity(scenario.flows.len()),
            routes: Routes { routes: Vec::with_capacity(scenario.flows.len()), hops: Vec::new() },
            entries,
        };
        let mut starts = Rng::stream(seed, START_STREAM);
        let mut transport = Arc::default();
        for (spec, stream) in scenario.flows.iter().zip(CONTROLLER_STREAMS..) {
            if cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            let bottleneck = slowest_link(scenario, &spec.forward);
            network.routes.push(spec, bottleneck, &network.entries)?;
            let bottleneck = network.entries[bottleneck];
            network.media.get_mut(bottleneck.medium as usize).report_departures(bottleneck.port);
            if *transport != spec.transport {
                transport = Arc::new(spec.transport.clone());
            }
            let controller = spec.cc.controller(Rng::stream(seed, stream));
            network.flows.push(Flow::new(spec, &transport, controller, &mut starts, bottleneck));
        }
        Ok(network)
    }
}

/// The link of a route with the lowest rate: where its throughput is measured.
fn slowest_link(scenario: &Scenario, route: &[usize]) -> usize {
    let rate = |&link: &usize| match &scenario.links[link].config.rate {
        LinkRate::Unlimited => u64::MAX,
        LinkRate::Constant(rate) => *rate,
        LinkRate::Schedule { steps, .. } => steps.iter().map(|step| step.1).max().unwrap_or(0),
        LinkRate::Trace { opportunities_ms, .. } => {
            let last_ms = u64::from(opportunities_ms.last().copied().unwrap_or(1)).max(1);
            opportunities_ms.len() as u64 * 12_000 * 1_000 / last_ms
        }
    };
    route.iter().copied().min_by_key(rate).unwrap_or(0)
}
