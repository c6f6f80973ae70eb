//! Runs with parameters of endpoints and controllers at the ends of their ranges: what is allowed must not overflow.

use super::{SCHEMA, run};
use crate::{Drawer, Reach};
use serde_json::{Value, json};

pub fn draw(bytes: &[u8]) -> String {
    let (choices, ends) = bytes.split_at(bytes.len() / 2);
    let mut drawer = Drawer::new(ends, &SCHEMA, Reach::Ends);
    let mut document = run::runnable(choices).unwrap_or_default();
    let sound = document.clone();
    if let Some(table) = document.as_object_mut() {
        table.insert("transport".to_owned(), drawer.definition("TransportTable").unwrap_or_default());
    }
    if let Ok(cc) = drawer.definition("CcSpec")
        && let Some(flow) = document.pointer_mut("/flows/0").and_then(Value::as_object_mut)
    {
        flow.insert("cc".to_owned(), cc);
    }
    run::without_nulls(&mut document);
    run::mend(&mut document);
    // A window without end on a path without a limit would end at the memory.
    let rate = document.pointer("/path/rate").or(document.pointer("/links/0/rate"));
    let document = if rate == Some(&json!("unlimited")) { sound } else { document };
    toml::to_string(&document).unwrap_or_default()
}
