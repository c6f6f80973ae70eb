//! Traces of delivery opportunities, as Mahimahi writes them, and measured rates.

use crate::Outcome;
use arbitrary::{Result, Unstructured};
use dumbbell_path::parse_trace;
use dumbbell_scenario::Recording;
use dumbbell_units::{Duration, Rate};

/// What stands between numbers, and instead of them.
const ODD: [&str; 12] = [
    "",
    " ",
    "\t",
    ",",
    ";",
    "-1",
    "1e3",
    "4294967295",
    "4294967296",
    "99999999999999999999",
    "0.0000001",
    "\u{feff}#",
];

pub fn draw(bytes: &[u8]) -> String {
    text(&mut Unstructured::new(bytes)).unwrap_or_default()
}

fn text(choices: &mut Unstructured) -> Result<String> {
    let mut text = String::new();
    let mut now = 0u32;
    let numbers_a_line = choices.int_in_range(1..=2)?;
    if numbers_a_line == 2 && choices.arbitrary()? {
        text += "time_ms rate_kbps\n";
    }
    for _ in 0..choices.int_in_range(0..=40)? {
        for number in 0..numbers_a_line {
            let is_odd = choices.int_in_range(0..=80)? == 80;
            now = now.saturating_add(choices.int_in_range(0..=30)?);
            text += if number > 0 { " " } else { "" };
            text += &if is_odd { (*choices.choose(&ODD)?).to_owned() } else { now.to_string() };
        }
        text += if choices.int_in_range(0..=50)? == 50 { "\r\n\n" } else { "\n" };
    }
    Ok(text)
}

pub fn check(case: &str) -> std::result::Result<Outcome, String> {
    let capacity = parse_trace(case);
    if let Ok(times) = &capacity {
        let rises = times.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rises || times.last().is_none_or(|&last| last == 0) {
            return Err(format!("read as {times:?}, which is no trace"));
        }
    }
    let measured = Recording::parse(case);
    if let Ok(recording) = &measured
        && (recording.mean == Rate::ZERO || recording.length == Duration::ZERO)
    {
        return Err(format!("read as {recording:?}, which carries nothing"));
    }
    let said = [capacity.as_ref().err().map(ToString::to_string), measured.as_ref().err().cloned()];
    if let Some(mute) = said.iter().flatten().find(|said| said.is_empty() || said.chars().any(char::is_control)) {
        return Err(format!("an error that cannot be shown: {mute:?}"));
    }
    Ok(if capacity.is_ok() || measured.is_ok() { Outcome::Accepted } else { Outcome::Refused })
}
