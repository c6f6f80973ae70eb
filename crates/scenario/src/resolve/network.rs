//! The graph: nodes, directed links, shortest paths. `[path]` becomes two nodes and two links.

use super::delays::ResolvedDelay;
use super::shortest::ShortestPaths;
use super::{Context, MAX_DELAY, top};
use crate::error::suggest;
use crate::file::{DelaySpec, LinkSpec, RateSpec, ReverseSpec, Side};
use crate::key_path::KeyPath;
use dumbbell_path::wifi::Wifi;
use dumbbell_units::Duration;
use std::collections::{BTreeSet, HashMap};

/// Suffix of the name of a link's way back.
const REVERSE: &str = "-reverse";

/// Nodes and links before the links' queues are known.
#[derive(Default)]
pub(super) struct Network {
    pub nodes: Vec<String>,
    /// The numbers of those that the file describes, which are the first.
    pub described: HashMap<String, usize>,
    pub links: Vec<Draft>,
    /// Round-trip time of `[path]`, which defines its bandwidth-delay product.
    pub path_rtt: Option<Duration>,
    /// Links of the ways of all flows so far together.
    pub ways: usize,
    shortest_paths: ShortestPaths,
}

/// One direction of a link.
#[derive(Clone)]
pub(super) struct Draft {
    pub name: String,
    pub from: usize,
    pub to: usize,
    pub side: Side,
    pub delay: ResolvedDelay,
    /// The table that holds the keys of this direction.
    pub at: KeyPath,
    pub role: Role,
    /// Index of the other direction.
    pub opposite: Option<usize>,
}

/// What a directed link is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Described in the file.
    Described,
    /// A way back whose rate the file does not give.
    ImpliedReverse,
    /// The access link of a flow.
    Access,
}

impl Context<'_> {
    /// The graph of the file; `None` when it is unusable.
    pub(super) fn network(&mut self) -> Option<Network> {
        let file = self.file;
        match (&file.path, &file.links) {
            (Some(_), None) => {
                for (key, given) in [("nodes", file.nodes.is_some()), ("routes", file.routes.is_some())] {
                    if given {
                        self.report.key(
                            &top(key),
                            format!("`{key}` does not go with `path`"),
                            "use `links` for a general network",
                        );
                    }
                }
                self.path_network()
            }
            (None, Some(_)) => self.link_network(),
            (Some(_), Some(_)) => {
                let help = "`path` is short for a single entry of `links`; keep one of them";
                self.report.key(&top("links"), "both `path` and `links` are given", help);
                None
            }
            (None, None) => {
                let help = "add [path] with `rate` and `rtt`, or [[links]] for a general network";
                self.report.value(&KeyPath::default(), "there is no network", help);
                None
            }
        }
    }

    fn path_network(&mut self) -> Option<Network> {
        let path = self.file.path.as_ref()?;
        let at = top("path");
        let reverse_at = at.key("reverse");
        let reverse_side = match &path.reverse {
            Some(ReverseSpec::Side(side)) => side.delay.as_ref(),
            _ => None,
        };
        let mut given = |spec: Option<&DelaySpec>, at: KeyPath| match spec {
            None => Some(None),
            Some(spec) => self.delay(spec, &at).map(Some),
        };
        let rtt = given(path.rtt.as_ref(), at.key("rtt"));
        let delay = given(path.delay.as_ref(), at.key("delay"));
        let reverse = given(reverse_side, reverse_at.key("delay"));
        let (forward, reverse) = self.directions(rtt?, delay?, reverse?)?;
        for (delay, key) in [(&forward, "delay"), (&reverse, "rtt")] {
            self.check_delay(delay, &at.key(if path.delay.is_some() { key } else { "rtt" }));
        }
        if forward.base > MAX_DELAY || reverse.base > MAX_DELAY {
            return None;
        }
        let path_rtt = Some(forward.base + reverse.base);
        let mut links = vec![Draft {
            name: "bottleneck".to_owned(),
            from: 0,
            to: 1,
            side: path.side(),
            delay: forward,
            at: at.clone(),
            role: Role::Described,
            opposite: None,
        }];
        add_reverse(&mut links, path.reverse.as_ref(), reverse, &reverse_at);
        Some(Network { nodes: vec!["left".to_owned(), "right".to_owned()], links, path_rtt, ..Network::default() })
    }

    /// The delays of both directions of a path, of which the round-trip time and the delays are given or not. What
    /// follows from a delay that changes follows from its first value.
    fn directions(
        &mut self,
        rtt: Option<ResolvedDelay>,
        delay: Option<ResolvedDelay>,
        reverse: Option<ResolvedDelay>,
    ) -> Option<(ResolvedDelay, ResolvedDelay)> {
        let at = top("path");
        let has_delay = delay.is_some();
        let half = |rtt: Duration| Duration::from_nanos(rtt.as_nanos() / 2);
        match (rtt, delay, reverse) {
            (None, None, _) | (None, Some(_), None) => {
                let help = "add `rtt = \"40ms\"`, or `delay` here and in `reverse`";
                self.report.value(&at, "the path needs its round-trip time", help);
                None
            }
            (None, Some(forward), Some(reverse)) => Some((forward, reverse)),
            (Some(rtt), None, None) => Some((rtt.map(|rtt| rtt - half(rtt)), rtt.map(half))),
            (Some(rtt), _, _) if rtt.schedule.is_some() => {
                let message = "`rtt` changes with time, half of it in each direction, but a `delay` is given, too";
                self.report.value(&at.key("rtt"), message, "leave `delay` out, or `rtt` and give both delays");
                None
            }
            (Some(rtt), Some(one), None) | (Some(rtt), None, Some(one)) if one.base > rtt.base => {
                let key = if has_delay { at.key("delay") } else { at.key("reverse").key("delay") };
                let (one, rtt) = (one.base, rtt.base);
                let message = format!("a delay of {one} in one direction exceeds the round-trip time of {rtt}");
                self.report.value(&key, message, format!("allowed: at most {rtt}"));
                None
            }
            (Some(rtt), Some(forward), None) => {
                let rest = ResolvedDelay::constant(rtt.base - forward.base);
                Some((forward, rest))
            }
            (Some(rtt), None, Some(reverse)) => Some((ResolvedDelay::constant(rtt.base - reverse.base), reverse)),
            (Some(rtt), Some(forward), Some(reverse)) => {
                let (rtt, there, back) = (rtt.base, forward.base, reverse.base);
                if there.as_nanos().checked_add(back.as_nanos()) != Some(rtt.as_nanos()) {
                    let message =
                        format!("the delays {there} and {back} do not add up to the round-trip time of {rtt}");
                    self.report.value(&at.key("rtt"), message, "leave one of the three out");
                    return None;
                }
                Some((forward, reverse))
            }
        }
    }

    fn link_network(&mut self) -> Option<Network> {
        let specs = self.file.links.as_ref()?;
        let mut network = Network::default();
        self.declared_nodes(&mut network);
        network.described = network.nodes.iter().cloned().zip(0..).collect();
        if specs.is_empty() {
            self.report.value(&top("links"), "the list of links is empty", "add at least one link");
            return None;
        }
        let mut names = BTreeSet::new();
        let mut complete = true;
        for (i, spec) in specs.iter().enumerate() {
            let at = top("links").index(i);
            complete &= self.described_link(spec, &at, &mut network, &mut names).is_some();
        }
        complete.then_some(network)
    }

    /// Adds an entry of `[[links]]`, with its way back if it has one; `None` if nothing can be routed over it. `names`
    /// are the names of the links so far.
    fn described_link(
        &mut self,
        spec: &LinkSpec,
        at: &KeyPath,
        network: &mut Network,
        names: &mut BTreeSet<String>,
    ) -> Option<()> {
        let ends = self.link_ends(spec, at, network);
        let Some(delay) = &spec.delay else {
            let help = "add `delay = \"10ms\"`, the propagation delay one way";
            self.report.value(at, "the link has no delay", help);
            return None;
        };
        let delay = self.delay(delay, &at.key("delay"))?;
        self.check_delay(&delay, &at.key("delay"));
        let (from, to) = ends?;
        let name = spec.name.clone().unwrap_or_else(|| format!("{}-{}", network.nodes[from], network.nodes[to]));
        let forward = network.links.len();
        let (side, at_link) = (spec.side(), at.clone());
        let role = Role::Described;
        network.links.push(Draft { name, from, to, side, delay: delay.clone(), at: at_link, role, opposite: None });
        self.way_back(spec, delay, at, network)?;
        let repeated = network.links[forward..].iter().filter(|added| !names.insert(added.name.clone()));
        if let Some(first) = repeated.collect::<Vec<_>>().first() {
            let key = if spec.name.is_some() { at.key("name") } else { at.clone() };
            let message = format!("two links have the name `{}`", first.name);
            self.report.value(&key, message, "give each link a `name` of its own");
            return None;
        }
        Some(())
    }

    /// Adds the way back of the link that was added last, unless it has none.
    fn way_back(&mut self, spec: &LinkSpec, delay: ResolvedDelay, at: &KeyPath, network: &mut Network) -> Option<()> {
        let at = at.key("reverse");
        if spec.duplex.unwrap_or(true) {
            let own = match &spec.reverse {
                Some(ReverseSpec::Side(side)) => side.delay.as_ref(),
                _ => None,
            };
            let delay = match own {
                Some(own) => self.delay(own, &at.key("delay"))?,
                None => delay,
            };
            self.check_delay(&delay, &at.key("delay"));
            add_reverse(&mut network.links, spec.reverse.as_ref(), delay, &at);
        } else if spec.reverse.is_some() {
            let help = "leave `duplex` out, or `reverse`";
            self.report.key(&at, "a link with `duplex = false` has no way back", help);
        }
        Some(())
    }

    fn declared_nodes(&mut self, network: &mut Network) {
        let mut names = BTreeSet::new();
        for (i, node) in self.file.nodes.iter().flatten().enumerate() {
            let at = top("nodes").index(i);
            match &node.name {
                None => self.report.value(&at, "the node has no name", "add `name`"),
                Some(name) if name.is_empty() => {
                    self.report.value(&at.key("name"), "the name is empty", "give it a name")
                }
                Some(name) if !names.insert(name) => {
                    self.report.value(
                        &at.key("name"),
                        format!("two nodes have the name `{name}`"),
                        "names must differ",
                    );
                }
                Some(name) => network.nodes.push(name.clone()),
            }
        }
    }

    /// The nodes a link joins; without `[[nodes]]` a new name is a new node.
    fn link_ends(&mut self, spec: &LinkSpec, at: &KeyPath, network: &mut Network) -> Option<(usize, usize)> {
        let declared = self.file.nodes.is_some();
        let mut end = |key: &str, name: &Option<String>| {
            let Some(name) = name.as_ref().filter(|name| !name.is_empty()) else {
                self.report.value(
                    at,
                    format!("the link has no `{key}`"),
                    "a link needs `from` and `to`, the nodes it joins",
                );
                return None;
            };
            if let Some(index) = network.described.get(name) {
                return Some(*index);
            }
            if declared {
                let help = suggest(name, "nodes of this file", network.nodes.iter().map(String::as_str));
                self.report.value(&at.key(key), format!("there is no node `{name}`"), help);
                return None;
            }
            network.nodes.push(name.clone());
            network.described.insert(name.clone(), network.nodes.len() - 1);
            Some(network.nodes.len() - 1)
        };
        let from = end("from", &spec.from);
        let to = if spec.from.is_none() && spec.to.is_none() { None } else { end("to", &spec.to) };
        let (from, to) = (from?, to?);
        if from == to {
            let message = format!("the link joins node `{}` to itself", network.nodes[from]);
            self.report.value(&at.key("to"), message, "`from` and `to` must differ");
            return None;
        }
        Some((from, to))
    }
}

/// Adds the way back of the last link.
fn add_reverse(links: &mut Vec<Draft>, spec: Option<&ReverseSpec>, delay: ResolvedDelay, at: &KeyPath) {
    let index = links.len();
    let Some(forward) = links.last_mut() else { return };
    forward.opposite = Some(index);
    let wifi = forward.side.wifi.clone();
    let mut reverse = Draft {
        name: format!("{}{REVERSE}", forward.name),
        from: forward.to,
        to: forward.from,
        delay,
        opposite: Some(index - 1),
        ..forward.clone()
    };
    if !matches!(spec, Some(ReverseSpec::Symmetric)) {
        reverse.at = at.clone();
        reverse.side = match spec {
            Some(ReverseSpec::Side(side)) => side.side(),
            _ => Side::default(),
        };
        // Both directions of a radio link are on the air, and its station leaves for both.
        let away = wifi.as_ref().and_then(|wifi| wifi.away);
        reverse.side.wifi = reverse.side.wifi.map(|own| Wifi { away, ..own }).or(wifi);
        if reverse.side.wifi.is_none() && reverse.side.rate.is_none() && reverse.side.trace.is_none() {
            reverse.side.rate = Some(RateSpec::Unlimited);
            reverse.role = Role::ImpliedReverse;
        }
    }
    links.push(reverse);
}

impl Network {
    /// Adds the access link of flow number `flow` at `router` and returns its two directions: to and from the router.
    pub(super) fn add_access(
        &mut self,
        flow: usize,
        router: usize,
        delay: Duration,
        rate: RateSpec,
        at: &KeyPath,
    ) -> (usize, usize) {
        let host = self.nodes.len();
        self.nodes.push(format!("host-{flow}"));
        self.add_own_link(format!("access-{flow}"), (host, router), delay, rate, at)
    }

    /// Adds the link of flow number `flow` from `router` to its receiver and returns its two directions: from and to
    /// the router.
    pub(super) fn add_exit(&mut self, flow: usize, router: usize, delay: Duration, at: &KeyPath) -> (usize, usize) {
        let sink = self.nodes.len();
        self.nodes.push(format!("sink-{flow}"));
        self.add_own_link(format!("exit-{flow}"), (router, sink), delay, RateSpec::Unlimited, at)
    }

    /// Adds a link that a flow has to itself, between two nodes and back; returns both directions.
    fn add_own_link(
        &mut self,
        name: String,
        (from, to): (usize, usize),
        delay: Duration,
        rate: RateSpec,
        at: &KeyPath,
    ) -> (usize, usize) {
        let there = self.links.len();
        let side = Side { rate: Some(rate), ..Side::default() };
        let back = format!("{name}{REVERSE}");
        let (delay, at, role) = (ResolvedDelay::constant(delay), at.clone(), Role::Access);
        self.links.push(Draft { name, from, to, side, delay, at, role, opposite: Some(there + 1) });
        let back = Draft { name: back, from: to, to: from, opposite: Some(there), ..self.links[there].clone() };
        self.links.push(back);
        (there, there + 1)
    }

    /// Links of the shortest path by delay, then by number of links, then by their order in the file.
    pub(super) fn shortest_path(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        self.shortest_paths.find(&self.links, self.nodes.len(), from, to)
    }

    /// Follows links by name from one node to another, each in the direction that fits.
    pub(super) fn follow(&self, names: &[String], from: usize, to: usize) -> Result<Vec<usize>, (usize, String)> {
        let mut node = from;
        let mut route = Vec::new();
        let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, link) in self.links.iter().enumerate() {
            known.entry(&link.name).or_default().push(index);
            if let Some(name) = link.name.strip_suffix(REVERSE) {
                known.entry(name).or_default().push(index);
            }
        }
        for (i, name) in names.iter().enumerate() {
            let Some(candidates) = known.get(name.as_str()) else {
                let known = self.links.iter().map(|link| link.name.as_str()).filter(|n| !n.ends_with(REVERSE));
                let help = suggest(name, "links of this file", known.collect::<Vec<_>>());
                return Err((i, format!("there is no link `{name}`; {help}")));
            };
            let Some(&index) = candidates.iter().find(|&&index| self.links[index].from == node) else {
                let message =
                    format!("the link `{name}` does not start at `{}`, where the route has got to", self.nodes[node]);
                return Err((i, message));
            };
            route.push(index);
            node = self.links[index].to;
        }
        if node != to {
            let last = names.len().saturating_sub(1);
            return Err((last, format!("the route ends at `{}`, not at `{}`", self.nodes[node], self.nodes[to])));
        }
        Ok(route)
    }
}
