//! Our controller against CUBIC: `cargo run --release -p own-controller [EXPERIMENT.toml]`.

use dumbbell_scenario::Experiment;
use dumbbell_sim::{Table, Values};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const EXPERIMENT: &str = r#"
    duration = "30s"
    warmup = "5s"

    [path]
    rate = "20mbit"
    rtt = "40ms"
    buffer = "1bdp"

    [[flows]]
    cc = { name = "aimd", increase = 2 }

    [[flows]]
    cc = "cubic"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let (text, name) = match std::env::args().nth(1) {
        Some(path) => (std::fs::read_to_string(&path)?, path),
        None => (EXPERIMENT.to_owned(), "the example".to_owned()),
    };
    let experiment = Experiment::from_toml_with(&own_controller::catalog()?, &text, &name, &[])?;
    print!("{}", experiment.explain());
    for point in experiment.points() {
        let run = dumbbell_sim::run(&point.scenario(), &AtomicBool::new(false))?;
        for (label, goodput) in labels(&run.flows).iter().zip(numbers(&run.flows, "goodput_mbps")) {
            println!("{label}: {goodput:.2} Mbit/s");
        }
    }
    Ok(())
}

fn labels(flows: &Table) -> &[Arc<str>] {
    match flows.columns.iter().find(|column| column.name == "label").map(|column| &column.values) {
        Some(Values::Text(labels)) => labels,
        _ => &[],
    }
}

fn numbers<'t>(flows: &'t Table, name: &str) -> &'t [f64] {
    match flows.columns.iter().find(|column| column.name == name).map(|column| &column.values) {
        Some(Values::Float(values)) => values,
        _ => &[],
    }
}
