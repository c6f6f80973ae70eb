//! Runs whose packets are carried one by one: they have the tables of those that are carried in the usual way.

use super::run::{self, Carriage, ended, run, tables};
use super::{SCHEMA, refused};
use crate::{Drawer, Outcome, Reach};
use arbitrary::Result as Drawn;
use dumbbell_results::{Column, Table, Values};
use dumbbell_scenario::Experiment;
use dumbbell_sim::RunError;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The names of all algorithms.
static ALGORITHMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let forms = SCHEMA["$defs"]["CcSpec"]["allOf"].as_array();
    let names = forms.into_iter().flatten().filter_map(|form| form["if"]["properties"]["name"]["const"].as_str());
    names.map(str::to_owned).collect()
});

/// By which part numbers may differ that add up what each packet has: the order of additions is not told.
const ROUNDING: f64 = 1e-9;

/// Half of the experiments are networks in which packets can be carried together; the others have any keys of the
/// schema.
pub fn draw(bytes: &[u8]) -> String {
    match bytes.split_first() {
        Some((first, rest)) if first % 2 == 0 => simple(rest).unwrap_or_default(),
        Some((_, rest)) => run::draw(rest),
        None => String::new(),
    }
}

fn simple(bytes: &[u8]) -> Option<String> {
    let mut document = sketch(&mut Drawer::new(bytes, &SCHEMA, Reach::Usual)).ok()?;
    run::mend(&mut document);
    toml::to_string(&document).ok()
}

/// A few flows over one link, or over a chain of them, with what most experiments have.
fn sketch(drawer: &mut Drawer) -> Drawn<Value> {
    // Some are long and slow: what differs by a nanosecond may take many packets to be seen.
    let is_long = drawer.chance(1, 8)?;
    let duration_ms = if is_long { drawer.number(10_000..=60_000)? } else { drawer.number(300..=6_000)? };
    let mut document = json!({
        "duration": format!("{duration_ms}ms"),
        "seed": drawer.number(1..=1_000)?,
        "record": { "interval": format!("{}ms", drawer.number(5..=200)?) },
    });
    if drawer.chance(1, 3)? {
        document["transport"] = json!({ "receive_window": format!("{}kB", drawer.number(50..=2_000)?) });
    }
    let rate = drawer.number(500..=if is_long { 4_000 } else { 60_000 })?;
    let rtt_us = drawer.number(500..=120_000)?;
    let chain = drawer.number(1..=3)?;
    if chain == 1 {
        let mut path = json!({ "rate": format!("{rate}kbit"), "rtt": format!("{rtt_us}us") });
        dress(drawer, &mut path)?;
        if drawer.chance(1, 3)? {
            path["reverse"] = json!({ "rate": format!("{}kbit", drawer.number(100..=20_000)?) });
        }
        document["path"] = path;
    } else {
        let mut links = Vec::new();
        for (number, nodes) in ["a", "b", "c", "d"].windows(2).take(usize::try_from(chain).unwrap_or(2)).enumerate() {
            let mut link =
                json!({ "from": nodes[0], "to": nodes[1], "rate": "unlimited", "delay": format!("{}us", rtt_us / 4) });
            if number == 0 || drawer.chance(1, 2)? {
                link["rate"] = format!("{}kbit", rate + 1_000 * drawer.number(0..=20)?).into();
                dress(drawer, &mut link)?;
            }
            links.push(link);
        }
        document["links"] = links.into();
    }
    let flows = drawer.number(1..=5)?;
    let is_quic = drawer.chance(1, 4)?;
    let has_own_rtts = chain == 1 && drawer.chance(1, 4)?;
    let mut drawn = Vec::new();
    for _ in 0..flows {
        let names: Vec<&str> = ALGORITHMS.iter().map(String::as_str).collect();
        let mut flow = json!({ "cc": *drawer.one_of(&names)? });
        if chain > 1 {
            flow["from"] = "a".into();
            flow["to"] = json!(["b", "c", "d"][usize::try_from(drawer.number(1..=chain)?).unwrap_or(1) - 1]);
        }
        if has_own_rtts {
            flow["rtt"] = format!("{}us", drawer.number(500..=120_000)?).into();
        }
        if is_quic || drawer.chance(1, 8)? {
            flow["transport"] = (*drawer.one_of(&["quic", "dqc"])?).into();
        }
        if drawer.chance(1, 3)? {
            flow["start"] = format!("{}ms", drawer.number(0..=500)?).into();
        }
        if drawer.chance(1, 5)? {
            flow["bytes"] = format!("{}kB", drawer.number(1..=3_000)?).into();
        }
        drawn.push(flow);
    }
    document["flows"] = drawn.into();
    Ok(document)
}

/// Gives a link a buffer, a discipline, losses.
fn dress(drawer: &mut Drawer, link: &mut Value) -> Drawn<()> {
    if drawer.chance(2, 3)? {
        let unit = *drawer.one_of(&["packets", "kB", "ms"])?;
        link["buffer"] = match unit {
            "packets" => format!("{} packets", drawer.number(2..=300)?).into(),
            unit => format!("{}{unit}", drawer.number(5..=300)?).into(),
        };
    }
    if drawer.chance(1, 4)? {
        link["queue"] = (*drawer.one_of(&["codel", "fq_codel", "pie", "red"])?).into();
    }
    if drawer.chance(1, 4)? {
        link["loss"] = (drawer.number(1..=30)? as f64 / 1_000.0).into();
    }
    Ok(())
}

pub fn check(case: &str) -> Result<Outcome, String> {
    let experiment = match Experiment::from_toml(case, "case.toml", &[]) {
        Ok(experiment) => experiment,
        Err(errors) => return refused(&errors, Some(case)),
    };
    let scenario = experiment.points()[0].scenario();
    let (usual, plain) = match (run(&scenario, Carriage::Usual), run(&scenario, Carriage::Plain)) {
        (Ok(usual), Ok(plain)) => (usual, plain),
        (Err(RunError::Cancelled | RunError::Memory(_)), _) | (_, Err(RunError::Cancelled | RunError::Memory(_))) => {
            return Ok(Outcome::Stopped);
        }
        (Err(usual), Err(plain)) if usual.to_string() == plain.to_string() => return ended(&usual),
        (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
    };
    for ((name, usual), (_, plain)) in tables(&usual).into_iter().zip(tables(&plain)) {
        same_table(usual, plain).map_err(|why| format!("{name}.{why}"))?;
    }
    Ok(Outcome::Accepted)
}

fn same_table(usual: &Table, plain: &Table) -> Result<(), String> {
    if usual.columns.len() != plain.columns.len() {
        return Err(format!(": {} columns, one by one {}", usual.columns.len(), plain.columns.len()));
    }
    usual.columns.iter().zip(&plain.columns).try_for_each(|(usual, plain)| same_column(usual, plain))
}

fn same_column(usual: &Column, plain: &Column) -> Result<(), String> {
    let name = &usual.name;
    match (&usual.values, &plain.values) {
        (Values::Float(usual), Values::Float(plain)) if usual.len() == plain.len() => {
            let other = usual.iter().zip(plain).position(|(usual, plain)| !is_same(*usual, *plain));
            other.map_or(Ok(()), |row| Err(format!("{name} is {} in row {row}, one by one {}", usual[row], plain[row])))
        }
        (Values::Count(usual), Values::Count(plain)) if usual.len() == plain.len() => {
            let other = usual.iter().zip(plain).position(|(usual, plain)| usual != plain);
            other.map_or(Ok(()), |row| Err(format!("{name} is {} in row {row}, one by one {}", usual[row], plain[row])))
        }
        (usual, plain) if format!("{usual:?}") == format!("{plain:?}") => Ok(()),
        _ => Err(format!("{name} differs")),
    }
}

fn is_same(usual: f64, plain: f64) -> bool {
    usual == plain
        || usual.is_nan() && plain.is_nan()
        || (usual - plain).abs() <= ROUNDING * usual.abs().max(plain.abs())
}
