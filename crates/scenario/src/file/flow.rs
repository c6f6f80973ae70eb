//! `[[flows]]`, `[[routes]]` and `[presets]`.

use super::shorthand::{NoList, Shorthand, shorthand};
use super::{AppRateSpec, ProgramSpec, TransportSpec};
use crate::Dscp;
use dumbbell_cc::catalog::{DIGEST, ORIGINS};
use dumbbell_parameters::{Parameter, declared};
use dumbbell_traffic::Streams;
use dumbbell_units::{Bytes, Duration, Rate, Time};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The parameters of an application with several streams.
pub(crate) static STREAMS: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Streams>);

/// A flow, or several equal ones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowSpec {
    /// Congestion controller: a name, or a table with `name` and parameters. Required without `program`. `"bpf:bbr-acd"`, `"bpf:bbrplus"`
    /// and `"bpf:scalable"` are programs that `--on linux` loads into the kernel; the simulator runs the same
    /// algorithms.
    pub cc: Option<CcSpec>,
    /// In place of `cc`: any two programs that speak to each other over TCP or UDP, a server and its client. They run
    /// with `--on linux --allow-programs` only, and everything that they do is their own business.
    pub program: Option<ProgramSpec>,
    /// How many flows. Default 1.
    pub count: Option<u32>,
    /// Name in reports. Default: the name of the controller, or of the client's program.
    pub label: Option<String>,
    /// When the connection attempt starts. Default "0s".
    pub start: Option<Time>,
    /// With `count`: every further flow starts this much later. Default "0s".
    pub stagger: Option<Duration>,
    /// Start is delayed by a random time uniform over this span. Default "0s".
    pub start_jitter: Option<Duration>,
    /// When the application stops writing. Default: the end of the run.
    pub stop: Option<Time>,
    /// Payload to transfer. Default: no end.
    pub bytes: Option<Bytes>,
    /// Rate at which the application produces data: constant, steps, or on and off. Default: as fast as the connection
    /// takes it.
    pub rate: Option<AppRateSpec>,
    /// In place of `rate`: the rate, and how much the application writes at once.
    pub app: Option<AppSpec>,
    /// Rate at which the receiving application reads: constant, steps, or on and off, by the time of the run. What it
    /// has not read takes room in the receive window. TCP only. Default: it reads everything at once.
    pub read_rate: Option<AppRateSpec>,
    /// The application has several streams, whose messages are measured: over QUIC each is a stream of its own, over
    /// TCP all share one. Default: one endless stream, of which nothing is measured.
    pub streams: Option<Streams>,
    /// One-way delay of an access link of its own at the sender; adds twice this to the round-trip time.
    /// Default: none.
    pub access_delay: Option<Duration>,
    /// Rate of that access link, both ways. Default "unlimited".
    pub access_rate: Option<Rate>,
    /// One-way delay of a link of its own at the receiver, behind the bottleneck; adds twice this to the round-trip
    /// time. Default: none.
    pub exit_delay: Option<Duration>,
    /// With `path`: base round-trip time of this flow; the access link makes up for the difference to the path.
    pub rtt: Option<Duration>,
    /// With `path`: whether data goes from left to right ("up") or back ("down"). Default "up".
    pub direction: Option<Direction>,
    /// With `links`: node of the sender.
    pub from: Option<String>,
    /// With `links`: node of the receiver.
    pub to: Option<String>,
    /// With `links`: names of the links from the sender to the receiver. Default: shortest path by delay.
    pub route: Option<Vec<String>>,
    /// With `links`: names of the links from the receiver to the sender. Default: `route` backwards.
    pub reverse_route: Option<Vec<String>>,
    /// Code point in the IP header of its packets, from which Wi-Fi links take the access category, and CAKE the tin.
    /// Default: that of the link.
    pub dscp: Option<Dscp>,
    /// Endpoint parameters that differ from the file's `transport`.
    pub transport: Option<TransportSpec>,
}

/// An application that produces data at a rate.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppSpec {
    /// Rate at which it produces data. Required.
    pub rate: Option<Rate>,
    /// Bytes that it writes at once; what does not fill a segment waits for the next write. Default: one segment.
    pub write: Option<Bytes>,
}

impl FlowSpec {
    /// The constant rate of the application.
    pub(crate) fn app_rate(&self) -> Option<Rate> {
        match &self.rate {
            Some(AppRateSpec::Constant(rate)) => Some(*rate),
            Some(_) => None,
            None => self.app.as_ref()?.rate,
        }
    }

    /// The rates at which the application produces data that are given.
    pub(crate) fn rates(&self) -> impl Iterator<Item = Rate> {
        let (steps, single) = match &self.rate {
            Some(AppRateSpec::Steps { steps, .. }) => (&steps[..], None),
            Some(AppRateSpec::OnOff { rate, .. }) => (&[][..], *rate),
            Some(AppRateSpec::Constant(_)) | None => (&[][..], self.app_rate()),
        };
        steps.iter().map(|(_, rate)| *rate).chain(single)
    }

    /// The key that gives these rates.
    pub(crate) fn rate_key(&self) -> &'static str {
        if self.rate.is_some() { "rate" } else { "app.rate" }
    }
}

/// Which way the data of a flow goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// From left to right, over the described direction of the path.
    #[default]
    Up,
    /// From right to left, over the way back.
    Down,
}

/// A route between two nodes, in one direction.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteSpec {
    /// First node.
    pub from: Option<String>,
    /// Last node.
    pub to: Option<String>,
    /// Names of the links, in order.
    pub links: Option<Vec<String>>,
}

/// Where an algorithm's code is, if it is not one of the catalogue's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// The key that says so: one of [`ORIGINS`].
    pub key: &'static str,
    /// The digest that the code must have.
    pub digest: Option<String>,
}

/// A congestion controller and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CcSpec {
    /// Its name, or what names it elsewhere.
    pub name: String,
    pub elsewhere: Option<Elsewhere>,
    pub parameters: Map<String, Value>,
}

impl CcSpec {
    /// The key that says which algorithm it is; `own` for one of the catalogue.
    pub(crate) fn key(&self, own: &'static str) -> &'static str {
        self.elsewhere.as_ref().map_or(own, |elsewhere| elsewhere.key)
    }

    pub(crate) fn named(name: String) -> CcSpec {
        CcSpec { name, elsewhere: None, parameters: Map::new() }
    }

    /// A table with the algorithm under `key`, or under one of [`ORIGINS`], and its parameters; `missing` says what is
    /// wrong with one that has neither.
    fn read(mut table: Map<String, Value>, key: &'static str, missing: &str) -> Result<CcSpec, String> {
        let given: Vec<&'static str> =
            [key].into_iter().chain(ORIGINS).filter(|key| table.contains_key(*key)).collect();
        let found = match given[..] {
            [] => return Err(missing.to_owned()),
            [found] => found,
            [one, another, ..] => {
                return Err(format!("`{one}` and `{another}` both say which algorithm this is; keep one of them"));
            }
        };
        let mut text = |key: &str, what: &str| match table.shift_remove(key) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{key}` is {other}, but must be {what} in quotes")),
            None => Ok(None),
        };
        if found == key {
            let name = text(key, "the name of an algorithm")?.unwrap_or_default();
            return Ok(CcSpec { name, elsewhere: None, parameters: table });
        }
        let name = text(found, "the place of an algorithm")?.unwrap_or_default();
        let digest = text(DIGEST, "a digest")?;
        Ok(CcSpec { name, elsewhere: Some(Elsewhere { key: found, digest }), parameters: table })
    }
}

impl Shorthand for CcSpec {
    const EXPECTING: &'static str =
        "a congestion controller such as \"bbr\", or a table such as { name = \"cubic\", hystart = false }";
    type Table = Map<String, Value>;
    type List = NoList;

    fn from_text(name: &str) -> Result<CcSpec, String> {
        Ok(CcSpec::named(name.to_owned()))
    }

    fn from_table(table: Map<String, Value>) -> Result<CcSpec, String> {
        CcSpec::read(table, "name", "a table of parameters needs `name`, the algorithm they belong to")
    }
}
shorthand!(CcSpec, ["bbr", "cubic"], |_| vec![json_schema!({ "type": "object", "required": ["name"] })]);

/// A named algorithm: a base and the parameters that differ from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Preset(pub CcSpec);

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Preset, D::Error> {
        use serde::de::Error;
        let table = Map::deserialize(deserializer)?;
        let missing = "a preset needs `base`, the algorithm or preset it starts from";
        CcSpec::read(table, "base", missing).map(Preset).map_err(D::Error::custom)
    }
}

impl JsonSchema for Preset {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Preset".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "description": "A named algorithm: a base and the parameters that differ from it.",
            "type": "object",
            "anyOf": [{ "required": ["base"] }, { "required": ["python"] }, { "required": ["library"] }, { "required": ["policy"] }],
            "properties": { "base": { "type": "string", "description": "Algorithm or preset to start from." } },
        })
    }
}
