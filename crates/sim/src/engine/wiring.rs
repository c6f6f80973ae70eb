//! Wires a scenario: its links become media, its flows get endpoints and routes over them.

use super::delays::Delays;
use super::traffic::{Traffic, Way};
use crate::RunError;
use crate::bounds::go_on;
use crate::endpoints::Endpoints;
use crate::flow::Flow;
use crate::packet::Packet;
use dumbbell_network::{Entry, Routes, controller_stream, media, slowest_link, start_of, start_stream, wire};
use dumbbell_path::{Link, Media};
use dumbbell_scenario::Scenario;
use dumbbell_transport::Completion;
use std::sync::atomic::AtomicBool;

/// What a run is made of.
pub(super) struct Network {
    pub media: Media<Packet>,
    pub flows: Vec<Flow>,
    pub routes: Routes,
    /// The [delay legs](Routes::take_delay_legs), if there are any.
    pub delays: Option<Box<Delays>>,
    /// Where each link of the scenario is entered.
    pub entries: Vec<Entry>,
    pub traffic: Traffic,
}

impl Network {
    /// Builds what `scenario` describes, unless the caller `cancel`s.
    pub fn new(scenario: &Scenario, cancel: &AtomicBool) -> Result<Network, RunError> {
        let (media, entries) = media(scenario);
        Network::over(media, entries, scenario, cancel)
    }

    /// A network whose links and ends do with every packet what they may have to do with any.
    pub fn plain(scenario: &Scenario, cancel: &AtomicBool) -> Result<Network, RunError> {
        let (mut media, entries) = media(scenario);
        media.links_mut().for_each(Link::carry_plainly);
        let mut network = Network::over(media, entries, scenario, cancel)?;
        network.flows.iter_mut().for_each(|flow| flow.ends.predict_nothing());
        Ok(network)
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
            routes: Routes::with_capacity(scenario.flows.len()),
            delays: None,
            entries,
            traffic: Traffic::default(),
        };
        let mut starts = start_stream(seed);
        for (index, spec) in scenario.flows.iter().enumerate() {
            go_on(cancel)?;
            let bottleneck = slowest_link(scenario, &spec.forward);
            network.routes.push(spec, bottleneck, &network.entries)?;
            let bottleneck = network.entries[bottleneck];
            network.media.get_mut(bottleneck.medium as usize).report_departures(bottleneck.port);
            let controller = spec.cc.controller(controller_stream(seed, index));
            let start = start_of(spec, &mut starts);
            let mut flow = Flow::new(spec, controller, start, bottleneck, || controller_stream(seed, index).next_u64());
            attach_device(&mut flow, &spec.forward, &mut network.media, &network.entries);
            network.routes.mark_acks(index, flow.ends.ack_codepoint());
            network.flows.push(flow);
        }
        for spec in &scenario.traffic {
            let mut ways = Vec::with_capacity(spec.senders.len());
            for sender in &spec.senders {
                go_on(cancel)?;
                let bottleneck = slowest_link(scenario, &sender.forward);
                let route = network.routes.template(sender, bottleneck, &network.entries)?;
                let entry = network.entries[bottleneck];
                network.media.get_mut(entry.medium as usize).report_departures(entry.port);
                ways.push(Way::new(sender, scenario, route, entry));
            }
            network.traffic.add(spec, scenario, ways);
        }
        network.decide_when_asked(scenario);
        Ok(network)
    }

    /// The network of a share: `flows` that have been made for a whole run, and those of its links that they pass. The
    /// queue of link number `trunk` is elsewhere.
    pub fn of_share(part: &Scenario, trunk: usize, flows: Vec<Flow>) -> Result<Network, RunError> {
        let mut routes = Routes::with_capacity(flows.len());
        let entries = Entry::of_links(part.links.len());
        for (index, (spec, flow)) in part.flows.iter().zip(&flows).enumerate() {
            routes.push(spec, trunk, &entries)?;
            routes.mark_acks(index, flow.ends.ack_codepoint());
        }
        let links = (0..part.links.len()).map(|link| {
            let wire = wire(part, link);
            if link == trunk { wire.into_remote().unwrap_or_else(|wire| wire) } else { wire }
        });
        let media = Media::new(links.collect(), Vec::new());
        Ok(Network { media, flows, routes, delays: None, entries, traffic: Traffic::default() })
    }

    /// Lets packets pass links where nothing can happen to them, and receivers answer ahead of time; `is_shared` tells
    /// of links that flows of other networks enter, too. No link may change afterwards.
    pub fn shorten_ways(&mut self, is_shared: impl Fn(usize) -> bool) {
        let Network { media, routes, flows, .. } = self;
        let only_delays: Vec<bool> = (0..media.len())
            .map(|number| media.link_mut(number).is_some_and(|link| link.only_delay().is_some()))
            .collect();
        routes.shorten(|number| only_delays[number], is_shared);
        routes.allow_answers_ahead(
            |flow| matches!(flows[flow].ends, Endpoints::Tcp { .. }),
            |number| only_delays[number],
            |number| media.link_mut(number).is_some_and(|link| link.brings_in_order()),
        );
    }

    /// Makes delay legs of links where that can be. No link may change afterwards, and no flow come.
    pub fn take_delay_legs(&mut self) {
        let Network { media, routes, .. } = self;
        let only_delays = |number| media.link(number).is_some_and(|link| link.only_delay().is_some());
        self.delays = routes.take_delay_legs(only_delays).map(|legs| Box::new(Delays::new(&legs, media)));
    }

    /// So many media may be due: those behind have nothing to do by themselves.
    pub fn slots(&self) -> usize {
        self.delays.as_ref().map_or(self.media.len(), |delays| delays.slot() + 1)
    }

    /// Only who waits for what leaves its host's device has to hear in time of what a queue decides.
    fn decide_when_asked(&mut self, scenario: &Scenario) {
        let mut is_device = vec![false; self.media.len()];
        let specs = scenario.flows.iter().chain(scenario.traffic.iter().flat_map(|source| &source.senders));
        for spec in specs.filter(|spec| spec.transport.completion == Completion::Wire) {
            if let Some(&device) = spec.forward.first() {
                is_device[self.entries[device].medium as usize] = true;
            }
        }
        for number in (0..self.media.len()).filter(|&number| !is_device[number]) {
            if let Some(link) = self.media.link_mut(number) {
                link.decide_when_asked();
            }
        }
    }
}

/// Has a flow told of what leaves its host's device, the first of the links `forward`, where it waits for that and the
/// device decides late.
pub(super) fn attach_device(flow: &mut Flow, forward: &[usize], media: &mut Media<Packet>, entries: &[Entry]) {
    let device = forward.first().map(|&link| entries[link]).filter(|_| flow.ends.wants_completions());
    if let Some(device) = device {
        let medium = media.get_mut(device.medium as usize);
        medium.report_departures(device.port);
        flow.device = Some(device).filter(|_| medium.decides_late(device.port));
    }
}
