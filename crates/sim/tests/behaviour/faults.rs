//! A controller that cannot go on ends the run, and the error says which one, when and why.

use dumbbell_cc::parameters::NoParameters;
use dumbbell_cc::{Algorithm, Control, Controller, Fault, View};
use dumbbell_scenario::{Experiment, Scenario};
use dumbbell_sim::RunError;
use dumbbell_units::{Duration, Rng, Time};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Doubles its window until it is reduced for the first time, and then has no idea.
struct Clueless {
    name: Arc<str>,
    fault: Option<Fault>,
}

impl Controller for Clueless {
    fn algorithm(&self) -> &str {
        &self.name
    }
    fn init(&mut self, _: &View, _: &mut Control) {}
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.fault.get_or_insert_with(|| Fault::new(view, "nothing prepared me for loss"));
        control.cwnd
    }
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        control.slow_start(view, acked);
    }
    fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}

impl Algorithm for Clueless {
    type Parameters = NoParameters;
    const NAME: &str = "clueless";
    const EXACT_NAME: &str = "clueless-0.1";
    const SUMMARY: &str = "fails at its first loss";
    const SOURCE: &str = "this test";
    const VERSION: &str = "0.1";
    fn build(_: Arc<NoParameters>, _: Rng, name: Arc<str>) -> Clueless {
        Clueless { name, fault: None }
    }
}

/// A run whose second and third flow are clueless; the third starts later.
pub fn clueless_flows(record: bool) -> Scenario {
    let mut catalog = dumbbell_cc_family::catalog().clone();
    catalog.register::<Clueless>().unwrap();
    let text = format!(
        "duration = \"20s\"\nrecord.series = {record}\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n\
         [[flows]]\ncc = \"reno\"\n[[flows]]\ncc = \"clueless\"\nstart = \"1s\"\nlabel = \"poor\"\n\
         [[flows]]\ncc = \"clueless\"\nstart = \"19s\""
    );
    let experiment = Experiment::from_toml_with(&catalog, &text, "faults.toml", &[]).unwrap();
    (*experiment.points()[0].scenario()).clone()
}

/// How such a run ends.
fn end(record: bool) -> RunError {
    dumbbell_sim::run(&clueless_flows(record), &AtomicBool::new(false)).unwrap_err()
}

#[test]
fn a_fault_ends_the_run_and_is_located() {
    let error = end(true);
    let RunError::Controller { flow, label, algorithm, at, message } = &error else { panic!("{error}") };
    assert_eq!((*flow, label.as_str(), algorithm.as_str()), (1, "poor", "clueless-0.1"));
    assert_eq!(message, "nothing prepared me for loss");
    let begin = Time::ZERO + Duration::from_secs(1);
    assert!(*at > begin && *at < begin + Duration::from_secs(2), "{at}");
    let text = error.to_string();
    assert_eq!(
        text,
        format!("the controller of flow 1 (`poor`, clueless-0.1) failed at {at}: nothing prepared me for loss")
    );
}

#[test]
fn a_fault_is_the_same_whatever_is_recorded() {
    assert_eq!(end(true).to_string(), end(false).to_string());
}
