//! `[[traffic]]`: flows that come and go while the experiment runs.
//!
//! What is written is only split here into the keys that every kind of traffic has and the parameters of its kind,
//! which the catalogue of `dumbbell-traffic` knows.

use super::kind::kind_schemas;
use super::{CcSpec, Direction, FlowSpec, TransportSpec};
use dumbbell_path::{Dscp, KIND};
use dumbbell_units::{Duration, Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

/// The keys of every kind of traffic.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
pub(crate) struct TrafficCommon {
    /// What kind of traffic it is. Required.
    pub kind: Option<String>,
    /// Congestion controller of its flows: a name, or a table with `name` and parameters. Required.
    pub cc: Option<CcSpec>,
    /// Name in reports. Default: the kind.
    pub label: Option<String>,
    /// When it begins. Default "0s".
    pub start: Option<Time>,
    /// When nothing new begins any more; what has begun goes on. Default: the end of the run.
    pub stop: Option<Time>,
    /// One-way delay of an access link at the senders, which all of its flows share. Default: none.
    pub access_delay: Option<Duration>,
    /// Rate of that access link, both ways. Default "unlimited".
    pub access_rate: Option<Rate>,
    /// One-way delay of a link at the receivers, which all of its flows share. Default: none.
    pub exit_delay: Option<Duration>,
    /// With `path`: base round-trip time of its flows; the access link makes up for the difference to the path.
    pub rtt: Option<Duration>,
    /// With `path`: whether data goes from left to right ("up") or back ("down"). Default "up".
    pub direction: Option<Direction>,
    /// With `links`: node of the senders. Of an incast also several nodes, over which the servers are spread in turn.
    pub from: Option<Senders>,
    /// With `links`: node of the receivers.
    pub to: Option<String>,
    /// With `links`: names of the links from the senders to the receivers; with several nodes in `from` a list for
    /// each. Default: shortest path by delay.
    pub route: Option<Ways>,
    /// With `links`: names of the links from the receivers to the senders, likewise. Default: `route` backwards.
    pub reverse_route: Option<Ways>,
    /// Code point in the IP header of its packets, as of flows. Default: that of the link.
    pub dscp: Option<Dscp>,
    /// Endpoint parameters that differ from the file's `transport`.
    pub transport: Option<TransportSpec>,
}

/// Where senders are.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "the name of a node, or a list of such names")]
pub(crate) enum Senders {
    Node(String),
    Nodes(Vec<String>),
}

impl Senders {
    /// The nodes.
    pub(crate) fn nodes(&self) -> &[String] {
        match self {
            Senders::Node(node) => std::slice::from_ref(node),
            Senders::Nodes(nodes) => nodes,
        }
    }
}

/// Which links packets take.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a list of names of links, or a list of such lists")]
pub(crate) enum Ways {
    One(Vec<String>),
    Each(Vec<Vec<String>>),
}

impl Ways {
    /// The links from or to each of the senders.
    pub(crate) fn each(&self) -> &[Vec<String>] {
        match self {
            Ways::One(way) => std::slice::from_ref(way),
            Ways::Each(ways) => ways,
        }
    }
}

/// Traffic as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrafficSpec {
    pub common: TrafficCommon,
    /// The parameters of its kind.
    pub parameters: Map<String, Value>,
}

impl TrafficSpec {
    /// What `count` of its flows are whose sender stands at entry number `place` of `from`, besides what follows from
    /// the kind.
    pub(crate) fn flows(&self, place: usize, count: u32) -> FlowSpec {
        let common = self.common.clone();
        let way = |ways: Option<Ways>| ways.and_then(|ways| ways.each().get(place).cloned());
        FlowSpec {
            count: Some(count),
            cc: common.cc,
            label: common.label.or(common.kind),
            start: common.start,
            stop: common.stop,
            access_delay: common.access_delay,
            access_rate: common.access_rate,
            exit_delay: common.exit_delay,
            rtt: common.rtt,
            direction: common.direction,
            from: common.from.and_then(|from| from.nodes().get(place).cloned()),
            to: common.to,
            route: way(common.route),
            reverse_route: way(common.reverse_route),
            dscp: common.dscp,
            transport: common.transport,
            ..FlowSpec::default()
        }
    }
}

/// The keys that every kind has.
pub(crate) static TRAFFIC_KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let schema = Value::from(schemars::schema_for!(TrafficCommon));
    schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
});

impl<'de> Deserialize<'de> for TrafficSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TrafficSpec, D::Error> {
        struct Table;

        impl<'de> Visitor<'de> for Table {
            type Value = TrafficSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table with the `kind` of traffic and its parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<TrafficSpec, A::Error> {
                let mut parameters = Map::new();
                let keys = CommonKeys { table, parameters: &mut parameters };
                let common = TrafficCommon::deserialize(MapAccessDeserializer::new(keys))?;
                Ok(TrafficSpec { common, parameters })
            }
        }

        deserializer.deserialize_any(Table)
    }
}

/// A table without the parameters of its kind, which are put aside on the way.
struct CommonKeys<'a, A> {
    table: A,
    parameters: &'a mut Map<String, Value>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for CommonKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.table.next_key::<String>()? {
            if TRAFFIC_KEYS.contains(&key) {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            let value = self.table.next_value::<Value>()?;
            self.parameters.insert(key, value);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.table.next_value_seed(seed)
    }
}

impl JsonSchema for TrafficSpec {
    fn schema_name() -> Cow<'static, str> {
        "Traffic".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let common = Value::from(TrafficCommon::json_schema(generator));
        let kinds = kind_schemas(dumbbell_traffic::catalog(), generator).into_iter().map(|schema| {
            let mut schema = Value::from(schema);
            let shared = common["properties"].as_object().cloned().unwrap_or_default();
            if let Some(own) = schema["properties"].as_object_mut() {
                own.extend(shared.into_iter().filter(|(key, _)| key != KIND));
            }
            schema
        });
        json_schema!({
            "description": "Flows that come and go while the experiment runs.",
            "anyOf": kinds.collect::<Vec<_>>(),
        })
    }
}

/// What is wrong with the `kind` of traffic.
pub(crate) fn kinds_in_words() -> String {
    let names = dumbbell_traffic::catalog().names().map(|name| format!("{name:?}"));
    names.collect::<Vec<_>>().join(", ")
}
