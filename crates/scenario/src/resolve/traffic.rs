//! `[[traffic]]`: what its flows are, which way they take, and how many there are.

use super::flow_list::Group;
use super::flows::Exit;
use super::{Context, LinkNotes, top};
use crate::error::suggest;
use crate::file::{CcSpec, Senders, TRAFFIC_KEYS, TrafficSpec, kinds_in_words};
use crate::key_path::KeyPath;
use crate::resolve::network::Network;
use crate::{Flow, Traffic};
use dumbbell_parameters::{Described, Place, Problem};
use dumbbell_traffic::{Capacity, List, MAX_SERVERS};
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Bytes, Rate, Time};
use serde_json::{Map, Value};

/// The most sources of a run.
const MAX_SOURCES: usize = 10_000;

/// The parameter that says how many senders there are, each with an access link of its own.
const SERVERS: &str = "servers";

/// The parameters of a list: the name of a file, or what is in it.
const FILE: &str = "file";
const FLOWS: &str = "flows";

/// Traffic before the rates of its links are known.
pub(super) struct Draft {
    at: KeyPath,
    kind: String,
    parameters: Map<String, Value>,
    pub senders: Vec<Flow>,
}

impl Context<'_> {
    /// All traffic; `None` when one has no route. Numbers of access links go on behind those of `flows` flows.
    pub(super) fn traffic(&mut self, flows: usize, network: &mut Network) -> Option<Vec<Draft>> {
        let written = self.file.traffic.as_deref().unwrap_or_default();
        let specs: Vec<_> = written.iter().enumerate().map(|(entry, spec)| self.listed(spec, entry)).collect();
        let specs = specs.into_iter().collect::<Option<Vec<_>>>()?.concat();
        if specs.len() > MAX_SOURCES {
            let message = format!("{} sources of traffic are too many", specs.len());
            self.report.value(&top("traffic"), message, format!("allowed: at most {MAX_SOURCES}"));
            return None;
        }
        let mut number = flows;
        let drafts = specs.iter().map(|(entry, spec)| {
            let at = top("traffic").index(*entry);
            let first = number;
            number += senders(spec) as usize;
            self.traffic_entry(spec, &at, first, network)
        });
        // Not the first problem alone.
        drafts.collect::<Vec<_>>().into_iter().collect()
    }

    /// The entry, or one for each group of flows of the file that it names; `None` if that is wrong.
    fn listed(&mut self, spec: &TrafficSpec, entry: usize) -> Option<Vec<(usize, TrafficSpec)>> {
        let file = spec.parameters.get(FILE).and_then(Value::as_str).filter(|_| is_list(spec));
        let Some(file) = file.filter(|_| !spec.parameters.contains_key(FLOWS)) else {
            return Some(vec![(entry, spec.clone())]);
        };
        let at = top("traffic").index(entry);
        let groups = match self.loader.flow_list(file) {
            Ok(groups) => groups,
            Err(message) => {
                let help = "the first line names the columns, each other line is a flow: start_s,bytes";
                self.report.value(&at.key(FILE), message, help);
                return None;
            }
        };
        let given = |column: fn(&Group) -> &Option<String>| groups.iter().any(|group| column(group).is_some());
        let common = &spec.common;
        let twice = [
            ("from", common.from.is_some() && given(|group| &group.from)),
            ("to", common.to.is_some() && given(|group| &group.to)),
            ("cc", common.cc.is_some() && groups.iter().all(|group| group.cc.is_some())),
            ("label", common.label.is_some() && groups.iter().all(|group| group.label.is_some())),
        ];
        for (key, _) in twice.iter().filter(|(_, is_twice)| *is_twice) {
            let message = format!("`{key}` is a column of `{file}`, too");
            self.report.key(&at.key(key), message, "leave it out here, or there");
        }
        Some(groups.iter().map(|group| (entry, of_group(spec, group))).collect())
    }

    fn traffic_entry(
        &mut self,
        spec: &TrafficSpec,
        at: &KeyPath,
        number: usize,
        network: &mut Network,
    ) -> Option<Draft> {
        let Some(kind) = &spec.common.kind else {
            let help = format!("add `kind`, one of {}", kinds_in_words());
            self.report.value(at, "this traffic has no `kind`", help);
            return None;
        };
        let problems = dumbbell_traffic::catalog().check(kind, &spec.parameters);
        let is_right = problems.is_empty();
        self.report.parameters(at, problems.into_iter().map(with_common_keys));
        let senders = self.senders(spec, at, number, network)?;
        let flow = senders.first()?;
        if !flow.transport.protocol.is_controlled() {
            let help = "use \"tcp\" or \"quic\"; sources of datagrams, probes and calls are entries of [[flows]]";
            self.report.value(&at.key("transport"), "datagrams do not tell when they have arrived", help);
            return None;
        }
        is_right.then(|| Draft { at: at.clone(), kind: kind.clone(), parameters: spec.parameters.clone(), senders })
    }

    /// What the flows of each sender are; one stands for all that share their ends and way.
    fn senders(&mut self, spec: &TrafficSpec, at: &KeyPath, first: usize, network: &mut Network) -> Option<Vec<Flow>> {
        let (count, places) = (senders(spec) as usize, self.places(spec, at)?);
        let mut number = first;
        // Servers have one client.
        let mut client = Exit::default();
        let mut by_place = Vec::with_capacity(places);
        for place in 0..places {
            let own = u32::try_from((count - place).div_ceil(places)).unwrap_or(u32::MAX);
            let before = self.report.problems.len();
            by_place
                .push(self.flow_entry(&spec.flows(place, own), at, number, network, Some(&mut client))?.into_iter());
            // What is wrong would be said for each place.
            if self.report.problems.len() > before {
                return None;
            }
            number += own as usize;
        }
        let mut all: Vec<Flow> = (0..count).filter_map(|sender| by_place[sender % places].next()).collect();
        let shares_way = |sender: usize| all[sender].forward == all[sender % places].forward;
        if (0..all.len()).all(shares_way) {
            all.truncate(places);
        }
        Some(all)
    }

    /// At how many places the senders are; `None` if that cannot be meant.
    fn places(&mut self, spec: &TrafficSpec, at: &KeyPath) -> Option<usize> {
        let common = &spec.common;
        let places = common.from.as_ref().map_or(1, |from| from.nodes().len());
        if places == 0 || places > senders(spec) as usize {
            let (message, help) = match (places, has_servers(spec)) {
                (0, _) => ("no node is named".to_owned(), "name the node of the senders"),
                (_, false) => (format!("{places} nodes for senders that stand at one"), "name one node"),
                _ => (format!("{places} nodes for {} servers", senders(spec)), "allowed: at most as many as `servers`"),
            };
            self.report.value(&at.key("from"), message, help);
            return None;
        }
        for (key, ways) in [("route", &common.route), ("reverse_route", &common.reverse_route)] {
            let given = ways.as_ref().map_or(places, |ways| ways.each().len());
            if given != places {
                let message = format!("{given} ways for {places} nodes in `from`");
                self.report.value(&at.key(key), message, "write a list of links for each node");
                return None;
            }
        }
        Some(places)
    }

    /// The sources, now that the mean rates of all `links` are known.
    pub(super) fn sources(&mut self, drafts: Vec<Draft>, notes: &[LinkNotes], links: usize) -> Option<Vec<Traffic>> {
        if notes.len() < links {
            return None;
        }
        let sources = drafts.into_iter().map(|Draft { at, kind, parameters, senders }| {
            let flow = senders.first()?;
            let slowest = flow.forward.iter().filter_map(|&link| notes[link].mean_rate).min();
            let rate = slowest.map(|rate| payload_rate(rate, &flow.transport));
            let way = Capacity { rate };
            let source = dumbbell_traffic::catalog().resolve(&kind, &parameters, &way);
            source
                .map(|source| Traffic { senders, source })
                .map_err(|problems| self.report.parameters(&at, problems))
                .ok()
        });
        sources.collect::<Vec<_>>().into_iter().collect()
    }
}

/// Whether traffic is of the kind whose flows may stand in a file.
fn is_list(spec: &TrafficSpec) -> bool {
    spec.common.kind.as_deref() == Some(List::NAME)
}

/// An entry with the flows of a group in place of the file.
fn of_group(spec: &TrafficSpec, group: &Group) -> TrafficSpec {
    let mut spec = spec.clone();
    spec.parameters.shift_remove(FILE);
    let flow = |(start, bytes): &(Time, Bytes)| Value::from(vec![start.to_string(), bytes.to_string()]);
    spec.parameters.insert(FLOWS.to_owned(), group.flows.iter().map(flow).collect::<Vec<Value>>().into());
    let common = &mut spec.common;
    common.from = group.from.clone().map(Senders::Node).or(common.from.take());
    common.to = group.to.clone().or(common.to.take());
    common.label = group.label.clone().or(common.label.take());
    common.cc = group.cc.clone().map(CcSpec::named).or(common.cc.take());
    spec
}

/// Whether traffic of this kind has servers, each of which may stand at another node.
fn has_servers(spec: &TrafficSpec) -> bool {
    let kinds = dumbbell_traffic::catalog().kinds();
    let kind = kinds.iter().find(|kind| spec.common.kind.as_deref() == Some(kind.name));
    kind.is_some_and(|kind| kind.parameters.iter().any(|parameter| parameter.key == SERVERS))
}

/// How many senders with ways of their own there are. What is wrong with their number is said elsewhere.
fn senders(spec: &TrafficSpec) -> u32 {
    let servers = spec.parameters.get(SERVERS).and_then(Value::as_u64).filter(|_| has_servers(spec));
    servers.and_then(|servers| u32::try_from(servers).ok()).map_or(1, |servers| servers.clamp(1, MAX_SERVERS))
}

/// What a link of this rate carries of payload in full segments.
fn payload_rate(rate: Rate, transport: &TransportConfig) -> Rate {
    let payload = u128::from(transport.mss);
    let bits = u128::from(rate.as_bits_per_sec()) * payload / (payload + u128::from(transport.header_bytes()));
    Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX))
}

/// An unknown key may be a misspelt one of those that every kind has.
fn with_common_keys(problem: Problem) -> Problem {
    let is_unknown = problem.place == Place::Key && problem.message.starts_with("unknown key");
    let near = TRAFFIC_KEYS.iter().map(String::as_str);
    match dumbbell_parameters::nearest(&problem.key, near.clone()) {
        Some(_) if is_unknown && !problem.help.starts_with("did you mean") => {
            Problem { help: suggest(&problem.key, "allowed for all traffic", near), ..problem }
        }
        _ => problem,
    }
}
