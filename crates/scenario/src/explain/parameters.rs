//! Every parameter of algorithms and endpoints, defaults marked.

use super::{DEFAULT, in_words};
use crate::resolve::{Given, Resolved};
use crate::{Experiment, Flow};
use dumbbell_transport::{Protocol, TransportConfig};
use serde_json::{Map, Value};
use std::fmt::Write;

/// The parameters of the first point: of each algorithm, and of each kind of endpoint.
pub(crate) fn explain(experiment: &Experiment) -> String {
    let mut text = String::new();
    let Some(first) = experiment.points().first() else { return text };
    let resolved = &*first.as_given();
    let algorithm =
        |flow: &Flow| (format!("{} -> {}", flow.cc.name(), flow.cc.exact_name()), flow.cc.parameters().clone());
    section(&mut text, resolved, "algorithm", algorithm, |given| &given.algorithm);
    let transport = |flow: &Flow| {
        let mut parameters = Map::new();
        flatten("", &of_its_protocol(&flow.transport), &mut parameters);
        if let Protocol::Library(library) = flow.transport.protocol {
            parameters.retain(|key, _| library.is_heeded(key));
        }
        (String::new(), parameters)
    };
    section(&mut text, resolved, "transport", transport, |given| &given.transport);
    text
}

/// The configuration of an endpoint without the tables of protocols that it does not speak.
fn of_its_protocol(config: &TransportConfig) -> Value {
    let mut value = serde_json::to_value(config).unwrap_or_default();
    if let Value::Object(table) = &mut value {
        let protocol = config.protocol.name().replace('-', "_");
        let is_brought = matches!(config.protocol, Protocol::Library(_));
        table.retain(|key, value| !value.is_object() || *key == protocol || is_brought);
    }
    value
}

/// Flows that have the same parameters, of which the same ones are given.
struct Group<'a> {
    name: String,
    parameters: Map<String, Value>,
    given: &'a [String],
    flows: Vec<usize>,
}

impl Group<'_> {
    fn is(&self, name: &str, parameters: &Map<String, Value>, given: &[String]) -> bool {
        self.name == name && self.parameters == *parameters && self.given == given
    }
}

/// The parameters that `describe` names, once for flows that have the same ones.
fn section<'a>(
    text: &mut String,
    resolved: &'a Resolved,
    what: &str,
    describe: impl Fn(&Flow) -> (String, Map<String, Value>),
    given: impl Fn(&'a Given) -> &'a [String],
) {
    let mut groups: Vec<Group> = Vec::new();
    for (number, (flow, notes)) in resolved.scenario.flows.iter().zip(&resolved.flows).enumerate() {
        let ((name, parameters), given) = (describe(flow), given(&notes.given));
        match groups.iter_mut().find(|group| group.is(&name, &parameters, given)) {
            Some(group) => group.flows.push(number),
            None => groups.push(Group { name, parameters, given, flows: vec![number] }),
        }
    }
    for Group { name, parameters, given, flows } in groups {
        let name = if name.is_empty() { name } else { format!(": {name}") };
        let _ = writeln!(text, "{what} of flow{}{name}", numbers(&flows));
        for (key, value) in parameters {
            let mark = if given.contains(&key) { "" } else { DEFAULT };
            let _ = writeln!(text, "  {key} = {}{mark}", in_words(&value));
        }
    }
}

/// ` 3`, or `s 0 to 3, 7`.
fn numbers(flows: &[usize]) -> String {
    if let [only] = flows {
        return format!(" {only}");
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &flow in flows {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == flow => *last = flow,
            _ => ranges.push((flow, flow)),
        }
    }
    let range =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first} to {last}") };
    format!("s {}", ranges.iter().map(range).collect::<Vec<_>>().join(", "))
}

/// The values of a table with the paths of their keys.
pub(crate) fn flatten(at: &str, value: &Value, found: &mut Map<String, Value>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let dot = if at.is_empty() { "" } else { "." };
                flatten(&format!("{at}{dot}{key}"), value, found);
            }
        }
        _ => {
            found.insert(at.to_owned(), value.clone());
        }
    }
}
