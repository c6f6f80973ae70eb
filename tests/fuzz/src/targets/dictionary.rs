//! Dictionaries as Python hands them over.

use super::{SCHEMA, accepted, refused, run};
use crate::{Drawer, Outcome, Reach};
use dumbbell_scenario::Experiment;
use serde_json::Value;

pub fn draw(bytes: &[u8]) -> String {
    let (choices, slips) = bytes.split_at(bytes.len() / 2);
    let mut wild = Drawer::new(slips, &SCHEMA, Reach::Wild);
    let mut document = run::runnable(choices).unwrap_or_default();
    if let (Ok(Value::Object(odd)), Some(table)) = (wild.document(), document.as_object_mut()) {
        // One strange key in a sound experiment is more likely to get far than many.
        table.extend(odd.into_iter().take(1));
    }
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

pub fn check(case: &str) -> Result<Outcome, String> {
    let document = serde_json::from_str(case).map_err(|error| format!("the case itself is broken: {error}"))?;
    match Experiment::from_json(&document, "dictionary", &[]) {
        Ok(experiment) => accepted(&experiment),
        Err(errors) => refused(&errors, None),
    }
}
