//! Texts of experiments: drawn, written as TOML, and then damaged as hands and editors damage them.

use super::{SCHEMA, accepted, refused, run};
use crate::{Drawer, Outcome, Reach};
use arbitrary::{Result, Unstructured};
use dumbbell_scenario::Experiment;

/// What slips into texts.
const SLIPS: [&str; 16] =
    ["\n", " ", "\"", "'", "[", "]", "{", "}", "=", ".", ",", "#", "\u{feff}", "\u{0}", "\u{1b}[2J", "\u{1f3cb}"];

pub fn draw(bytes: &[u8]) -> String {
    let (choices, slips) = bytes.split_at(bytes.len() * 3 / 4);
    let mut text = run::experiment(choices).unwrap_or_default();
    if Drawer::new(slips, &SCHEMA, Reach::Wild).chance(1, 2).unwrap_or_default() {
        text = wild(choices).unwrap_or(text);
    }
    damage(&mut text, &mut Unstructured::new(slips)).unwrap_or_default();
    text
}

fn wild(choices: &[u8]) -> Option<String> {
    let mut document = Drawer::new(choices, &SCHEMA, Reach::Wild).document().ok()?;
    run::without_nulls(&mut document);
    toml::to_string(&document).ok()
}

/// Characters go, come, and are doubled; lines swap.
fn damage(text: &mut String, choices: &mut Unstructured) -> Result<()> {
    for _ in 0..choices.int_in_range(0..=4)? {
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        let Ok(&place) = choices.choose(&places) else { return Ok(()) };
        match choices.int_in_range(0..=3)? {
            0 => drop(text.remove(place)),
            1 => text.insert_str(place, choices.choose(&SLIPS)?),
            2 => text.truncate(place),
            _ => {
                let mut lines: Vec<&str> = text.lines().collect();
                let (one, other) = (choices.choose_index(lines.len())?, choices.choose_index(lines.len())?);
                lines.swap(one, other);
                *text = lines.join("\n");
            }
        }
    }
    Ok(())
}

pub fn check(case: &str) -> std::result::Result<Outcome, String> {
    match Experiment::from_toml(case, "case.toml", &[]) {
        Ok(experiment) => accepted(&experiment),
        Err(errors) => refused(&errors, Some(case)),
    }
}
