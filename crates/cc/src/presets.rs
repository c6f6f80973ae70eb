//! The published variants: a base and what they change about it, read from `presets.toml`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One entry of `presets.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preset {
    pub(crate) name: String,
    pub(crate) exact_name: String,
    pub(crate) base: String,
    pub(crate) summary: String,
    pub(crate) source: String,
    pub(crate) overrides: Map<String, Value>,
}

/// All entries, in the file's order.
pub(crate) fn presets() -> Vec<Preset> {
    #[derive(Deserialize)]
    struct File {
        preset: Vec<Preset>,
    }
    let file: File = toml::from_str(include_str!("presets.toml")).expect("presets.toml is part of this crate");
    file.preset
}
