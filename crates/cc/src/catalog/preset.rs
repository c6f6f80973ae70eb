//! Variants as data: a base and what they change about it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One variant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preset {
    pub(super) name: String,
    pub(super) exact_name: String,
    pub(super) base: String,
    pub(super) summary: String,
    pub(super) source: String,
    pub(super) overrides: Map<String, Value>,
}

/// All variants of a text, in its order.
pub(super) fn read(toml: &str) -> Result<Vec<Preset>, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        preset: Vec<Preset>,
    }
    toml::from_str::<File>(toml).map(|file| file.preset)
}
