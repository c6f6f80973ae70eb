//! Whether a run can be split, and the part of its scenario that a share gets.

use crate::packet::Packet;
use dumbbell_network::wire;
use dumbbell_path::LinkRate;
use dumbbell_scenario::{Flow, Scenario};
use dumbbell_transport::Completion;
use dumbbell_units::Duration;

/// The smallest packet: headers of IP and TCP.
const SMALLEST_PACKET_BITS: u64 = 8 * 40;

/// More shares than these would only take threads.
const MOST_SHARES: usize = 64;

/// How a run is split.
#[derive(Debug)]
pub(crate) struct Split {
    /// The link in which shares meet, by its number in the scenario.
    pub trunk: usize,
    /// What packets take at least from the queue of that link to its far end.
    pub lookahead: Duration,
    /// The link from which ACKs come to several senders, whose packets enter the trunk at once.
    ack_link: Option<usize>,
    /// For each link of the scenario, whether flows of several shares pass it.
    is_shared: Vec<bool>,
}

/// Why a run cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsplit {
    /// There is at most one flow.
    #[error("it has fewer than two flows")]
    OneFlow,
    /// There are sources of traffic.
    #[error("flows come and go (`traffic`)")]
    Traffic,
    /// A flow is not TCP, or its sender waits for what happens in the link.
    #[error("flow {0} (`{1}`) does not use TCP, or waits for its device (`transport.completion`)")]
    NotTcp(usize, String),
    /// There is no link in which all flows meet, and that can be told of packets late.
    #[error(
        "there is no single link with a queue that all data passes; that link must have a constant `rate` of at most 320 \
         Gbit/s, a drop-tail queue, a delay, and nothing else"
    )]
    NoTrunk,
    /// A link does more than to delay packets, or does not delay them.
    #[error("link `{0}` does more than to delay packets, or does not delay them")]
    NotOnlyDelay(String),
    /// A flow without a link of its own to the shared one has another way than others of the kind.
    #[error("flow {0} (`{1}`) shares only some of its links with other flows whose senders face the same link")]
    OtherWay(usize, String),
}

/// What a share needs to know of the run.
pub(super) struct Part {
    /// The flows of the share and their links.
    pub scenario: Scenario,
    /// The numbers of these links in the whole scenario.
    pub links: Vec<usize>,
    /// The trunk among them.
    pub trunk: usize,
    /// For each of them, whether other shares have it, too.
    pub is_shared: Vec<bool>,
    /// The link from which ACKs come to several senders, whose packets enter the trunk at once.
    pub ack_link: Option<usize>,
    /// Its place among the shares.
    pub place: usize,
    /// How many shares there are.
    pub shares: usize,
}

impl Part {
    /// The number in the whole run of a flow of this share.
    pub fn number(&self, flow: usize) -> usize {
        flow * self.shares + self.place
    }
}

impl Split {
    /// How a run of `scenario` can be split.
    pub fn of(scenario: &Scenario) -> Result<Split, Unsplit> {
        if !scenario.traffic.is_empty() {
            return Err(Unsplit::Traffic);
        }
        let [first, .., _] = &scenario.flows[..] else { return Err(Unsplit::OneFlow) };
        let is_tcp = |flow: &Flow| flow.transport.protocol.is_tcp() && flow.transport.completion != Completion::Wire;
        if let Some(number) = scenario.flows.iter().position(|flow| !is_tcp(flow)) {
            return Err(Unsplit::NotTcp(number, scenario.flows[number].label.to_string()));
        }
        let mut users = vec![0; scenario.links.len()];
        for flow in &scenario.flows {
            flow.forward.iter().chain(&*flow.reverse).for_each(|&link| users[link] += 1);
        }
        let is_shared: Vec<bool> = users.iter().map(|&users| users > 1).collect();
        let has_rate = |&&link: &&usize| !matches!(scenario.links[link].config.rate, LinkRate::Unlimited);
        let trunk = *first.forward.iter().find(has_rate).ok_or(Unsplit::NoTrunk)?;
        let config = &scenario.links[trunk].config;
        let LinkRate::Constant(rate) = config.rate else { return Err(Unsplit::NoTrunk) };
        let is_simple = scenario.links[trunk].stands_alone() && wire::<Packet>(scenario, trunk).into_remote().is_ok();
        let is_slow = rate > 0 && SMALLEST_PACKET_BITS * 1_000_000_000 >= rate;
        if !is_simple || !is_slow || config.delay.base == Duration::ZERO || users[trunk] != scenario.flows.len() {
            return Err(Unsplit::NoTrunk);
        }
        let split = Split { trunk, lookahead: config.delay.base, ack_link: None, is_shared };
        split.check_other_links(scenario, &users)?;
        let ack_link = split.check_ways(scenario)?;
        Ok(Split { ack_link, ..split })
    }

    /// Links but the trunk do nothing to packets but delay them; those that several flows pass do delay them.
    fn check_other_links(&self, scenario: &Scenario, users: &[usize]) -> Result<(), Unsplit> {
        for (number, link) in scenario.links.iter().enumerate() {
            if number == self.trunk || users[number] == 0 {
                continue;
            }
            let is_late = !self.is_shared[number] || link.config.delay.base > Duration::ZERO;
            if !link.stands_alone() || wire::<Packet>(scenario, number).only_delay().is_none() || !is_late {
                return Err(Unsplit::NotOnlyDelay(link.config.name.clone()));
            }
        }
        Ok(())
    }

    /// Every flow passes the trunk once, and comes to it over links of its own or straight from its sender. Where
    /// several of these get their ACKs from the same link, it returns that link: then all of them must have the same
    /// ways, so that ACKs come in the order in which they left their receivers.
    fn check_ways(&self, scenario: &Scenario) -> Result<Option<usize>, Unsplit> {
        let mut first: Option<&Flow> = None;
        for (number, flow) in scenario.flows.iter().enumerate() {
            let before = flow.forward.iter().take_while(|&&link| link != self.trunk);
            let passes = flow.forward.iter().filter(|&&link| link == self.trunk).count();
            if passes != 1 || flow.reverse.contains(&self.trunk) || before.clone().any(|&link| self.is_shared[link]) {
                return Err(Unsplit::NoTrunk);
            }
            let last = flow.reverse.last().filter(|&&link| self.is_shared[link] && flow.forward[0] == self.trunk);
            if last.is_some() {
                let mut way = flow.forward.iter().chain(&*flow.reverse);
                let is_alike = first.is_none_or(|first| first.forward == flow.forward && first.reverse == flow.reverse);
                if !is_alike || !way.all(|&link| self.is_shared[link]) {
                    return Err(Unsplit::OtherWay(number, flow.label.to_string()));
                }
                first = Some(flow);
            }
        }
        Ok(first.and_then(|flow| flow.reverse.last()).copied())
    }

    /// The parts of the run for so many shares, or fewer where there are fewer flows, or more than any machine has
    /// cores for. Flows are dealt out in turn.
    pub(super) fn parts(&self, scenario: &Scenario, shares: usize) -> Vec<Part> {
        let shares = shares.min(MOST_SHARES).clamp(1, scenario.flows.len().max(1));
        (0..shares).map(|place| self.part(scenario, place, shares)).collect()
    }

    fn part(&self, scenario: &Scenario, place: usize, shares: usize) -> Part {
        let mut flows: Vec<Flow> = scenario.flows.iter().skip(place).step_by(shares).cloned().collect();
        let ways = flows.iter().flat_map(|flow| flow.forward.iter().chain(&*flow.reverse));
        let mut links: Vec<usize> = ways.copied().collect();
        links.sort_unstable();
        links.dedup();
        let local = |link: usize| links.binary_search(&link).unwrap_or(0);
        for way in flows.iter_mut().flat_map(|flow| [&mut flow.forward, &mut flow.reverse]) {
            *way = way.iter().map(|&link| local(link)).collect();
        }
        let mut record = scenario.record.clone();
        record.series = false;
        let own = Scenario {
            record,
            links: links.iter().map(|&link| scenario.links[link].clone()).collect(),
            pools: Vec::new(),
            flows,
            nodes: Vec::new(),
            traffic: Vec::new(),
            ..*scenario
        };
        Part {
            scenario: own,
            trunk: local(self.trunk),
            is_shared: links.iter().map(|&link| self.is_shared[link] && link != self.trunk).collect(),
            ack_link: self.ack_link.and_then(|link| links.binary_search(&link).ok()),
            links,
            place,
            shares,
        }
    }
}
