//! Settings that are drawn anew for every episode.
//!
//! An experiment is resolved once. Some keys of `[path]` are then set in the resolved scenario itself, which takes
//! microseconds; whether that gives what resolving again gives is tried when the draws are made, at the ends and in the
//! middle of all ranges. Where it does not, and for every other key, the file is resolved again.

use crate::GymError;
use dumbbell_path::loss::Bernoulli;
use dumbbell_path::{Level, LinkContext, LinkRate, LossRecipe, QueueLimit};
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Rate, Ratio, Rng};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// Resolves the experiment with values in place of others, as on a command line.
pub type Resolve = dyn Fn(&[(String, String)]) -> Result<Arc<Scenario>, String> + Send + Sync;

/// What a key is drawn from.
#[derive(Clone, Debug)]
pub enum Draw {
    /// Evenly between two amounts.
    Uniform(Unit, f64, f64),
    /// So that every factor is as likely anywhere between two amounts.
    LogUniform(Unit, f64, f64),
    /// One of some values.
    Choice(Vec<String>),
}

/// What an amount is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bits a second.
    Rate,
    /// Nanoseconds.
    Time,
    /// A share of one.
    Share,
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Multiples of the bandwidth-delay product.
    Bdp,
    /// A number.
    Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Given {
    Uniform([Value; 2]),
    LogUniform([Value; 2]),
    Choice(Vec<Value>),
}

fn amount(value: &Value) -> Option<(Unit, f64)> {
    let text = match value {
        Value::Number(number) => return number.as_f64().map(|number| (Unit::Number, number)),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((Unit::Rate, rate.as_bits_per_sec() as f64));
    }
    if let Ok(time) = text.parse::<Duration>() {
        return Some((Unit::Time, time.as_nanos() as f64));
    }
    if let Some(percent) = text.strip_suffix('%') {
        return percent.trim().parse().ok().map(|percent: f64| (Unit::Share, percent / 100.0));
    }
    match Level::parse(text, "an amount", "").ok()? {
        Level::Packets(packets) => Some((Unit::Packets, packets as f64)),
        Level::Bytes(bytes) => Some((Unit::Bytes, bytes.as_u64() as f64)),
        Level::Bdp(multiple) => Some((Unit::Bdp, multiple)),
        Level::Time(time) => Some((Unit::Time, time.as_nanos() as f64)),
    }
}

fn text(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Rate => format!("{}bit", number.round()),
        Unit::Time => format!("{}ns", number.round()),
        Unit::Share => format!("{number}"),
        Unit::Packets => format!("{}packets", number.round()),
        Unit::Bytes => format!("{}B", number.round()),
        Unit::Bdp => format!("{number}bdp"),
        Unit::Number => format!("{number}"),
    }
}

impl Draw {
    fn read(key: &str, given: &Value) -> Result<Draw, GymError> {
        let wrong = |why: &str| {
            let forms = "write {\"uniform\": [\"1mbit\", \"6mbit\"]}, {\"log_uniform\": [...]} or {\"choice\": [...]}";
            GymError::Refused(format!("draw of `{key}`: {why}; {forms}"))
        };
        let parsed = Given::deserialize(given).map_err(|_| wrong(&format!("{given} is no distribution")))?;
        let range = |[low, high]: &[Value; 2]| match (amount(low), amount(high)) {
            (Some((unit, low)), Some((other, high))) if unit == other && low <= high => Ok((unit, low, high)),
            (Some((unit, _)), Some((other, _))) if unit != other => Err(wrong("its two ends have different units")),
            (Some(_), Some(_)) => Err(wrong("its first end is above its second one")),
            _ => Err(wrong("an end is no amount")),
        };
        match &parsed {
            Given::Uniform(ends) => range(ends).map(|(unit, low, high)| Draw::Uniform(unit, low, high)),
            Given::LogUniform(ends) => match range(ends)? {
                (_, low, _) if low <= 0.0 => Err(wrong("an amount of 0 has no logarithm")),
                (unit, low, high) => Ok(Draw::LogUniform(unit, low, high)),
            },
            Given::Choice(values) if values.is_empty() => Err(wrong("there is nothing to choose from")),
            Given::Choice(values) => Ok(Draw::Choice(
                values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect(),
            )),
        }
    }

    /// The value at a place between 0 and 1 of its range.
    fn at(&self, place: f64) -> Drawn<'_> {
        match self {
            Draw::Uniform(unit, low, high) => Drawn::Amount(*unit, low + (high - low) * place),
            Draw::LogUniform(unit, low, high) => Drawn::Amount(*unit, low * libm::pow(high / low, place)),
            Draw::Choice(values) => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place of a list")]
                let number = ((values.len() as f64 * place) as usize).min(values.len() - 1);
                Drawn::Text(&values[number])
            }
        }
    }
}

/// A value.
enum Drawn<'d> {
    Amount(Unit, f64),
    Text(&'d str),
}

impl Drawn<'_> {
    fn text(&self) -> String {
        match self {
            Drawn::Amount(unit, number) => text(*unit, *number),
            Drawn::Text(text) => (*text).to_owned(),
        }
    }
}

/// All keys that are drawn, and the experiment they belong to.
#[derive(Clone)]
pub struct Draws {
    draws: Vec<(String, Draw)>,
    resolve: Arc<Resolve>,
    template: Arc<Scenario>,
    /// All of them can be set in the resolved scenario.
    is_quick: bool,
}

impl Draws {
    /// Reads `json`, an object of keys and what they are drawn from.
    ///
    /// # Errors
    /// What is no distribution, and what the experiment refuses at an end of a range.
    pub fn read(json: &str, resolve: Arc<Resolve>) -> Result<Draws, GymError> {
        let given: serde_json::Map<String, Value> =
            serde_json::from_str(json).map_err(|error| GymError::Refused(error.to_string()))?;
        let draws = given.iter().map(|(key, draw)| Ok((key.clone(), Draw::read(key, draw)?)));
        let draws = draws.collect::<Result<Vec<_>, GymError>>()?;
        let template = resolve(&[]).map_err(GymError::Scenario)?;
        let mut read = Draws { draws, resolve, template, is_quick: true };
        // Of a choice every value, of a range its ends and one between them.
        let places = read.draws.iter().map(|(_, draw)| if let Draw::Choice(values) = draw { values.len() } else { 3 });
        let places = places.max().unwrap_or(0);
        for number in 0..places {
            let place = number as f64 / (places.max(2) - 1) as f64;
            let resolved = read.resolved(&mut || place)?;
            read.is_quick &= read.patched(&mut || place).is_some_and(|quick| said(&quick) == said(&resolved));
        }
        Ok(read)
    }

    /// The experiment as it is written.
    pub fn template(&self) -> &Scenario {
        &self.template
    }

    /// Whether no file is resolved for a draw.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// An experiment with drawn values.
    ///
    /// # Errors
    /// It refuses them.
    pub fn draw(&self, rng: &mut Rng) -> Result<Scenario, GymError> {
        if self.is_quick
            && let Some(scenario) = self.patched(&mut || rng.uniform())
        {
            return Ok(scenario);
        }
        Ok(Scenario::clone(&*self.resolved(&mut || rng.uniform())?))
    }

    fn resolved(&self, place: &mut dyn FnMut() -> f64) -> Result<Arc<Scenario>, GymError> {
        let values: Vec<_> = self.draws.iter().map(|(key, draw)| (key.clone(), draw.at(place()).text())).collect();
        (self.resolve)(&values).map_err(GymError::Scenario)
    }

    fn patched(&self, place: &mut dyn FnMut() -> f64) -> Option<Scenario> {
        let mut scenario = Scenario::clone(&self.template);
        for (key, draw) in &self.draws {
            set(&mut scenario, key, &draw.at(place()))?;
        }
        Some(scenario)
    }
}

/// All that there is to a scenario.
fn said(scenario: &Scenario) -> String {
    format!("{scenario:?}")
}

/// Sets a key in a resolved scenario, where that is simple.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts are those that a file can hold")]
fn set(scenario: &mut Scenario, key: &str, value: &Drawn<'_>) -> Option<()> {
    let Drawn::Amount(unit, number) = *value else { return None };
    let [forward, reverse] = &mut scenario.links[..] else { return None };
    match (key, unit) {
        ("path.rate", Unit::Rate) => forward.config.rate = LinkRate::Constant(number.round() as u64),
        ("path.rtt", Unit::Time) => {
            let rtt = Duration::from_nanos(number.round() as u64);
            forward.config.delay.base = Duration::from_nanos(rtt.as_nanos() / 2);
            reverse.config.delay.base = rtt - forward.config.delay.base;
            for flow in &mut scenario.flows {
                flow.base_rtt = rtt;
            }
        }
        ("path.buffer", Unit::Packets) => {
            forward.config.limit = QueueLimit { packets: Some(number.round() as u64), ..QueueLimit::default() };
        }
        ("path.buffer", Unit::Bytes) => {
            forward.config.limit = QueueLimit { bytes: Some(number.round() as u64), ..QueueLimit::default() };
        }
        ("path.loss", Unit::Share | Unit::Number) => {
            let bernoulli = Bernoulli { p: Ratio::new(number)?, correlation: Ratio::ZERO };
            let recipe = LossRecipe::of(bernoulli, &LinkContext::default()).ok()?;
            forward.config.loss_after = Some(recipe).filter(|_| number > 0.0);
        }
        _ => return None,
    }
    Some(())
}
