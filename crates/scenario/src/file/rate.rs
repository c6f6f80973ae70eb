//! `rate` and `trace`: how fast a link transmits.

use super::columns::{Columns, RATE_UNITS, with_columns};
use super::shorthand::{Shorthand, shorthand, table};
use dumbbell_parameters::{Parameter, declared};
use dumbbell_units::{Duration, Rate, Time};
use serde::Serialize;
use std::sync::LazyLock;

/// How fast a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateSpec {
    Unlimited,
    Constant(Rate),
    Schedule { steps: Vec<(Time, Rate)>, repeat: Option<Duration> },
    Trace { source: TraceSource, columns: Columns, repeat: Option<Duration>, once: bool, sha256: Option<String> },
    Synth { preset: String, seed: Option<u64>, length: Option<Duration> },
}

with_columns! {
    /// The long form of a rate. One of `steps`, `trace` and `synth` says which kind it is.
    RateTable, units = RATE_UNITS, unit_default = "from the name of the column",
    {
    /// Piecewise constant rate: pairs of start and rate in the order of time, the first at `"0s"`. Rate 0 is an outage:
    /// packets wait.
    #[schemars(extend("x-source" = "a fluid server: a packet leaves when the integral of the rate is its size"))]
    steps: Option<Vec<(Time, Rate)>>,
    /// The steps, or a measured series, start again after this time.
    #[schemars(extend(
        "x-default" = "steps never: the last rate stays; a series when its last row has held as long as rows usually do"
    ))]
    repeat: Option<Duration>,
    /// A file, relative to the experiment file: a measured series, with a time and a rate in each row, or a Mahimahi trace,
    /// with a delivery opportunity of 1500 bytes of IP in each line, in milliseconds, in order, the last above 0. Also such
    /// opportunities as a list.
    #[schemars(extend("x-source" = "Mahimahi, mm-link"))]
    trace: Option<TraceSource>,
    /// The link ends with the trace instead of starting it again.
    #[schemars(extend("x-default" = "`false`", "x-with" = "trace", "x-source" = "mm-link --once"))]
    once: Option<bool>,
    /// SHA-256 that the file must have, in hexadecimal.
    #[schemars(extend("x-with" = "trace"))]
    sha256: Option<String>,
    /// A synthesised cellular link.
    #[schemars(
        extend("enum" = dumbbell_path::synth::PRESETS),
        extend("x-source" = "fitted to Mahimahi's recordings: log-Gaussian rate, outages, Poisson opportunities")
    )]
    synth: Option<String>,
    /// Seed of the trace.
    #[schemars(extend("x-default" = "the seed of the run, so that every repetition sees a link of its own", "x-with" = "synth"))]
    seed: Option<u64>,
    /// Length of the trace, which then starts again.
    #[schemars(extend(
        "x-default" = "`duration`, at most 24 h",
        "x-with" = "synth",
        "x-at-least" = "1ms",
        "x-at-most" = "24h"
    ))]
    length: Option<Duration>,
    }
}

/// The parameters of rates.
pub(crate) static RATES: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<RateTable>);

impl Shorthand for RateSpec {
    const EXPECTING: &'static str = "a rate such as \"10mbit\", \"unlimited\", steps such as \
        [[\"0s\", \"1mbit\"], [\"50s\", \"4mbit\"]], or a table with steps, trace or synth";
    type Table = RateTable;
    type List = Vec<(Time, Rate)>;

    fn pattern() -> String {
        format!(r"^\s*unlimited\s*$|{}", Rate::PATTERN)
    }

    fn from_text(text: &str) -> Result<RateSpec, String> {
        match text {
            "unlimited" => Ok(RateSpec::Unlimited),
            _ => text.parse().map(RateSpec::Constant).map_err(|e| e.to_string()),
        }
    }

    fn from_number(number: f64) -> Result<RateSpec, String> {
        RateSpec::from_text(&number.to_string())
    }

    fn from_list(steps: Vec<(Time, Rate)>) -> Result<RateSpec, String> {
        Ok(RateSpec::Schedule { steps, repeat: None })
    }

    fn from_table(table: RateTable) -> Result<RateSpec, String> {
        let written = serde_json::to_value(&table).unwrap_or_default();
        let is_given = |key: &str| written.get(key).is_some_and(|value| !value.is_null());
        for parameter in RATES.iter().filter(|parameter| is_given(&parameter.key)) {
            if let Some(kind) = parameter.with.as_deref().filter(|kind| !is_given(kind)) {
                return Err(format!("`{}` belongs to `{kind}`, which is not given", parameter.key));
            }
        }
        let columns = table.columns();
        let RateTable { steps, repeat, trace, once, sha256, synth, seed, length, .. } = table;
        let once = once.unwrap_or(false);
        if once && repeat.is_some() {
            return Err("a trace ends with `once`, or starts again after `repeat`, not both".to_owned());
        }
        match (steps, trace, synth) {
            (Some(steps), None, None) => Ok(RateSpec::Schedule { steps, repeat }),
            (None, Some(source), None) => Ok(RateSpec::Trace { source, columns, repeat, once, sha256 }),
            (None, None, Some(_)) if repeat.is_some() => {
                Err("`repeat` belongs to `steps` or `trace`; a synthesised link starts again after its `length`"
                    .to_owned())
            }
            (None, None, Some(preset)) => Ok(RateSpec::Synth { preset, seed, length }),
            (None, None, None) => Err("a rate table needs one of `steps`, `trace` and `synth`".to_owned()),
            _ => Err("a rate table takes only one of `steps`, `trace` and `synth`".to_owned()),
        }
    }
}
shorthand!(RateSpec, ["10mbit", "1gbit", "unlimited"], |generator| {
    let steps = generator.subschema_for::<Vec<(Time, Rate)>>();
    let mut forms = table::<RateTable>(generator);
    forms.push(steps);
    forms
});

/// Where delivery opportunities come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum TraceSource {
    /// A measured series, or a file in Mahimahi's format.
    File(String),
    /// Milliseconds.
    Inline(Vec<u32>),
}

impl Shorthand for TraceSource {
    const EXPECTING: &'static str = "the name of a trace file or a list of times in whole milliseconds";
    type Table = serde::de::IgnoredAny;
    type List = Vec<u32>;

    fn from_text(text: &str) -> Result<TraceSource, String> {
        if text.is_empty() {
            Err("the name of the trace file is empty".to_owned())
        } else {
            Ok(TraceSource::File(text.to_owned()))
        }
    }

    fn from_list(opportunities_ms: Vec<u32>) -> Result<TraceSource, String> {
        Ok(TraceSource::Inline(opportunities_ms))
    }

    fn from_table(_: serde::de::IgnoredAny) -> Result<TraceSource, String> {
        Err(format!("read a table, but this must be {}", Self::EXPECTING))
    }
}
shorthand!(TraceSource, ["cellular.up"], |generator| vec![generator.subschema_for::<Vec<u32>>()]);
