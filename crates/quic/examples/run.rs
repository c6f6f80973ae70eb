//! Runs an experiment file with noq among its transports, without Python, and prints a line a flow.
//!
//! ```text
//! cargo run --release -p dumbbell-quic --example run -- FILE [KEY=VALUE]...
//! ```

use dumbbell_results::Values;
use dumbbell_scenario::Experiment;
use std::error::Error;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: run FILE [KEY=VALUE]...")?;
    let overrides: Option<Vec<(String, String)>> = arguments
        .map(|argument| argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let overrides = overrides.ok_or("settings are KEY=VALUE")?;

    let mut catalog = dumbbell_cc_family::catalog().clone();
    dumbbell_quic::register(&mut catalog)?;
    let experiment = Experiment::from_toml_with(&catalog, &std::fs::read_to_string(&file)?, &file, &overrides)?;
    let flows = dumbbell_sim::run(&experiment.points()[0].scenario(), &AtomicBool::new(false))?.flows;

    let float = |name: &str, row: usize| {
        let column = flows.columns.iter().find(|column| column.name == name)?;
        if let Values::Float(rows) = &column.values { rows.get(row).copied() } else { None }
    };
    for row in 0..flows.columns.first().map_or(0, |column| column.values.len()) {
        let goodput = float("goodput_mbps", row).unwrap_or(f64::NAN);
        let rtt = float("mean_rtt_ms", row).unwrap_or(f64::NAN);
        println!("flow {row}: {goodput:.3} Mbit/s, {rtt:.1} ms");
    }
    Ok(())
}
