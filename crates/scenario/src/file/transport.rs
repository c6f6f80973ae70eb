//! `transport`: the name of ready-made endpoints, or a table of what differs from them.
//!
//! Only the shape is checked here. The parameters of a flow are laid over each other as trees, profile, file, flow, and
//! the result is decoded once more.

use dumbbell_transport::library::{profiles, registered};
use dumbbell_transport::{Protocol, TransportConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

/// The key of a table that names the profile it starts from.
pub(crate) const PROFILE: &str = "profile";
/// The key of the table that belongs to the endpoints of a library.
pub(crate) const LIBRARY: &str = "library";

/// Endpoint parameters as written, known to be well-formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransportSpec {
    /// Ready-made endpoints to start from, one of [`profiles`].
    pub profile: Option<&'static str>,
}

/// The keys a table may have.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let parameters = serde_json::to_value(TransportConfig::default()).unwrap_or_default();
    let names = parameters.as_object().into_iter().flatten().map(|(name, _)| &*name.clone().leak());
    std::iter::once(PROFILE).chain(names).chain([LIBRARY]).collect()
});

fn profile<E: Error>(name: &str) -> Result<&'static str, E> {
    let found = profiles().iter().find(|known| **known == name).copied();
    found.ok_or_else(|| E::unknown_variant(name, profiles()))
}

impl<'de> Deserialize<'de> for TransportSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TransportSpec, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = TransportSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "endpoints such as \"quic\", or a table of parameters such as { profile = \"quic\", mss = 1200 }",
                )
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<TransportSpec, E> {
                Ok(TransportSpec { profile: Some(profile(name)?) })
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<TransportSpec, A::Error> {
                let mut spec = TransportSpec::default();
                let parameters = Parameters { table, profile: &mut spec.profile };
                let config = TransportConfig::deserialize(MapAccessDeserializer::new(parameters))?;
                // The constants of a library are its own.
                if let Protocol::Library(library) = config.protocol {
                    spec.profile = spec.profile.or(Some(library.name()));
                }
                Ok(spec)
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

/// A table without its profile, which is taken out on the way.
struct Parameters<'a, A> {
    table: A,
    profile: &'a mut Option<&'static str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Parameters<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, mut seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.table.next_key_seed(KeySeed(seed))? {
                None => return Ok(None),
                Some(Key::Parameter(key)) => return Ok(Some(key)),
                Some(Key::Profile(unused)) => {
                    *self.profile = Some(self.table.next_value::<ProfileName>()?.0);
                    seed = unused;
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.table.next_value_seed(seed)
    }
}

struct KeySeed<K>(K);

enum Key<P, K> {
    Parameter(P),
    Profile(K),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<K> {
    type Value = Key<K::Value, K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let key = String::deserialize(deserializer)?;
        if key == PROFILE {
            return Ok(Key::Profile(self.0));
        }
        if !KEYS.contains(&key.as_str()) {
            return Err(D::Error::unknown_field(&key, &KEYS));
        }
        self.0.deserialize(key.into_deserializer()).map(Key::Parameter)
    }
}

struct ProfileName(&'static str);

impl<'de> Deserialize<'de> for ProfileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProfileName, D::Error> {
        profile(&String::deserialize(deserializer)?).map(ProfileName)
    }
}

impl JsonSchema for TransportSpec {
    fn schema_name() -> Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Endpoint parameters: the name of ready-made endpoints, or a table of what differs from them.",
            "anyOf": [profile_schema(), generator.subschema_for::<TransportTable>()],
        })
    }
}

fn profile_schema() -> Schema {
    json_schema!({
        "description": "Ready-made endpoints to start from. Default \"tcp\".",
        "type": "string",
        "enum": profiles(),
    })
}

/// Adds the transports that are registered, and the tables of their own parameters.
fn add_libraries(properties: &mut Map<String, Value>) {
    let libraries = registered();
    if libraries.is_empty() {
        return;
    }
    let names: Vec<&str> = libraries.iter().map(|library| library.name()).collect();
    if let Some(protocol) = properties.get_mut("protocol") {
        let brought = json!({ "description": "The endpoints of a library.", "enum": names });
        *protocol = json!({ "anyOf": [protocol.take(), brought] });
    }
    let tables: Vec<Value> = libraries.iter().map(|library| library.schema()).collect();
    properties.insert(LIBRARY.to_owned(), json!({ "anyOf": tables }));
}

/// The table form, for the schema.
struct TransportTable;

impl JsonSchema for TransportTable {
    fn schema_name() -> Cow<'static, str> {
        "TransportTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = TransportConfig::json_schema(generator);
        let properties = schema.ensure_object().get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            properties.insert(PROFILE.to_owned(), profile_schema().into());
            add_libraries(properties);
        }
        schema
    }
}
