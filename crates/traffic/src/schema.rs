//! Schemas of tables that name a distribution by their `kind`.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

/// The table of the distribution `name`, with all of its `properties` besides `kind`.
pub(crate) fn distribution(name: &str, required: &[&str], mut properties: Value) -> Schema {
    properties["kind"] = json!({ "const": name });
    let required = [&["kind"], required].concat();
    json_schema!({
        "type": "object",
        "title": name,
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}
