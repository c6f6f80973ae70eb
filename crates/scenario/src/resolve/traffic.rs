//! `[[traffic]]`: what its flows are, which way they take, and how many there are.

use super::{Context, LinkNotes, top};
use crate::error::suggest;
use crate::file::{TRAFFIC_KEYS, TrafficSpec, kinds_in_words};
use crate::key_path::KeyPath;
use crate::resolve::network::Network;
use crate::{Flow, Traffic};
use dumbbell_parameters::{Place, Problem};
use dumbbell_path::LinkContext;
use dumbbell_transport::TransportConfig;
use dumbbell_units::Rate;
use serde_json::{Map, Value};

/// The most sources of a run.
const MAX_SOURCES: usize = 10_000;

/// Traffic before the rates of its links are known.
pub(super) struct Draft {
    at: KeyPath,
    kind: String,
    parameters: Map<String, Value>,
    pub flow: Flow,
}

impl Context<'_> {
    /// All traffic; `None` when one has no route. Numbers of access links go on behind those of `flows` flows.
    pub(super) fn traffic(&mut self, flows: usize, network: &mut Network) -> Option<Vec<Draft>> {
        let specs = self.file.traffic.as_deref().unwrap_or_default();
        if specs.len() > MAX_SOURCES {
            let message = format!("{} sources of traffic are too many", specs.len());
            self.report.value(&top("traffic"), message, format!("allowed: at most {MAX_SOURCES}"));
            return None;
        }
        let drafts = specs.iter().enumerate().map(|(entry, spec)| {
            let at = top("traffic").index(entry);
            self.traffic_entry(spec, &at, flows + entry, network)
        });
        // Not the first problem alone.
        drafts.collect::<Vec<_>>().into_iter().collect()
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
        let flow = self.flow_entry(&spec.flow(), at, number, network)?.into_iter().next()?;
        if !flow.transport.protocol.is_controlled() {
            let help = "use \"tcp\" or \"quic\"; sources of datagrams, probes and calls are entries of [[flows]]";
            self.report.value(&at.key("transport"), "datagrams do not tell when they have arrived", help);
            return None;
        }
        is_right.then(|| Draft { at: at.clone(), kind: kind.clone(), parameters: spec.parameters.clone(), flow })
    }

    /// The sources, now that the mean rates of all `links` are known.
    pub(super) fn sources(&mut self, drafts: Vec<Draft>, notes: &[LinkNotes], links: usize) -> Option<Vec<Traffic>> {
        if notes.len() < links {
            return None;
        }
        let sources = drafts.into_iter().map(|Draft { at, kind, parameters, flow }| {
            let slowest = flow.forward.iter().filter_map(|&link| notes[link].mean_rate).min();
            let rate = slowest.map(|rate| payload_rate(rate, &flow.transport));
            let link = LinkContext { rate, ..LinkContext::default() };
            let source = dumbbell_traffic::catalog().resolve(&kind, &parameters, &link);
            source.map(|source| Traffic { flow, source }).map_err(|problems| self.report.parameters(&at, problems)).ok()
        });
        sources.collect::<Vec<_>>().into_iter().collect()
    }
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
