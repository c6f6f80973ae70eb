//! Experiments, their points, and running them with the interpreter lock released.

#[cfg(all(target_os = "linux", feature = "linux"))]
use crate::ProgramError;
use crate::own;
use crate::table::Table;
use crate::{RunCancelled, RunError, ScenarioError};
use dumbbell_cc::catalog::{Entry, Recipe};
use dumbbell_path::LinkRate;
use dumbbell_scenario as scenario;
use dumbbell_sim::{Bounds, RunSummary, SeriesSink, run_on_threads, why_one_thread};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the runs that hold it.
#[pyclass(frozen, module = "dumbbell._core")]
#[derive(Default)]
pub struct CancelToken {
    cancelled: AtomicBool,
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Runs that hold this token end soon with `RunCancelled`.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    #[getter]
    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// A look at a run on the kernel while it goes on.
#[pyclass(frozen, module = "dumbbell._core")]
#[derive(Default)]
pub struct Watch {
    inner: linux::Watch,
}

#[pymethods]
impl Watch {
    #[new]
    fn new() -> Watch {
        Watch::default()
    }

    /// Seconds that the run will last, those that it has lasted, and payload bytes that each flow's receiver has read.
    fn progress(&self) -> (f64, f64, Vec<u64>) {
        linux::progress(&self.inner)
    }
}

/// A validated experiment, expanded into its points.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Experiment {
    inner: scenario::Experiment,
}

impl Experiment {
    /// Wraps what validation returned; errors become `ScenarioError` with the rendered message.
    pub fn new(loaded: Result<scenario::Experiment, scenario::ScenarioErrors>) -> PyResult<Experiment> {
        let inner = loaded.map_err(|errors| ScenarioError::new_err(errors.to_string()))?;
        Ok(Experiment { inner })
    }
}

#[pymethods]
impl Experiment {
    /// The runs of the experiment, in the order of the file.
    #[getter]
    fn points(&self) -> Vec<Point> {
        self.inner.points().iter().map(|point| Point { inner: point.clone(), hash: OnceLock::new() }).collect()
    }

    /// Names of the files that it includes.
    #[getter]
    fn included(&self) -> Vec<String> {
        self.inner.included().to_vec()
    }

    /// The files that its algorithms were loaded from.
    #[getter]
    fn algorithm_files(&self) -> Vec<String> {
        self.inner.algorithm_files().iter().map(|file| file.to_string_lossy().into_owned()).collect()
    }

    /// The experiment in words and values, with what is a default marked.
    fn explain(&self) -> String {
        self.inner.explain()
    }

    /// Every parameter of its algorithms and endpoints, with what is a default marked.
    fn explain_parameters(&self) -> String {
        self.inner.explain_parameters()
    }
}

/// One run of an experiment.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Point {
    inner: scenario::Point,
    hash: OnceLock<String>,
}

#[pymethods]
impl Point {
    /// The settings of the sweep as `key=value`, separated by commas; empty for a single run.
    #[getter]
    fn label(&self) -> String {
        let word = |(key, value): &(String, Value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        self.inner.label().iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// The settings of the sweep, as a dictionary.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let settings: Map<String, Value> = self.inner.label().into_iter().collect();
        py.import("json")?.call_method1("loads", (Value::Object(settings).to_string(),))
    }

    /// Its algorithms that are not part of this program: key, what names them, and the digest of their code.
    #[getter]
    fn own_algorithms(&self) -> Vec<(&'static str, String, String)> {
        if self.inner.loaded_algorithms().is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for named in own_algorithms(&self.inner.scenario()).filter_map(named) {
            if !found.contains(&named) {
                found.push(named);
            }
        }
        found
    }

    /// The programs of its flows: the label of the flow, and the command lines of server and client.
    #[getter]
    fn programs(&self) -> Vec<(String, String, String)> {
        let scenario = self.inner.scenario();
        let of = |flow: &scenario::Flow| {
            let program = flow.program.as_ref()?;
            Some((flow.label.to_string(), program.server.to_string(), program.client.to_string()))
        };
        scenario.flows.iter().filter_map(of).collect()
    }

    /// Whether it runs Python, of which one interpreter runs one thread at a time.
    #[getter]
    fn is_interpreted(&self) -> bool {
        is_interpreted(&self.inner.scenario())
    }

    /// Those of all points of its experiment, which costs nothing to ask.
    #[getter]
    fn loaded_algorithms(&self) -> Vec<(&'static str, String, String)> {
        self.inner.loaded_algorithms().iter().filter_map(|entry| named(entry)).collect()
    }

    /// Number of the repetition, from 0.
    #[getter]
    fn repeat(&self) -> u32 {
        self.inner.repeat()
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// Hash of the resolved scenario with its seed.
    #[getter]
    fn content_hash(&self) -> &str {
        self.hash.get_or_init(|| self.inner.content_hash())
    }

    /// The experiment of this point alone, with every default filled in.
    #[getter]
    fn resolved_toml(&self) -> String {
        self.inner.resolved_toml()
    }

    /// `resolved_toml` with traces in files of their own in `folder`, and these files' names and contents.
    fn resolved_toml_beside(&self, folder: &str) -> (String, Vec<(String, String)>) {
        self.inner.resolved_toml_beside(folder)
    }

    /// How the rate of a link changes, as JSON: `steps` of seconds and Mbit/s with `repeat_s`, or `opportunities_ms`
    /// with `once`; `None` for one that does not change.
    fn changing_rate(&self, link: usize) -> Option<String> {
        let scenario = self.inner.scenario();
        let rate = match &scenario.links.get(link)?.config.rate {
            LinkRate::Unlimited | LinkRate::Constant(_) => return None,
            LinkRate::Schedule { steps, repeat_after } => {
                let steps: Vec<(f64, f64)> =
                    steps.iter().map(|(start, bits)| (start.as_secs_f64(), *bits as f64 / 1e6)).collect();
                json!({ "steps": steps, "repeat_s": repeat_after.map(|span| span.as_secs_f64()) })
            }
            LinkRate::Trace { opportunities_ms, once } => {
                json!({ "opportunities_ms": opportunities_ms.as_ref(), "once": once })
            }
        };
        Some(rate.to_string())
    }

    /// The round-trip time in ms with which the bandwidth-delay product of a link is counted; `None` where nothing
    /// crosses it.
    fn bdp_rtt_ms(&self, link: usize) -> Option<f64> {
        self.inner.scenario().bdp_rtt(link).map(|rtt| rtt.as_secs_f64() * 1e3)
    }

    /// Simulates the point with the interpreter lock released. `max_memory` are the bytes that it may take; `series` is
    /// called with tables of flows and of links when there are many samples, and takes them away. The flows are dealt
    /// out to `threads`, where [that can be done](Self::why_one_thread). A `plain` run carries packets one by one.
    #[pyo3(signature = (cancel, max_memory=None, series=None, threads=1, plain=false))]
    fn run(
        &self,
        py: Python<'_>,
        cancel: &CancelToken,
        max_memory: Option<u64>,
        series: Option<Py<PyAny>>,
        threads: usize,
        plain: bool,
    ) -> PyResult<RunOutput> {
        let mut sink = series.map(|callback| Callback { callback, raised: None });
        let outcome = py.detach(|| {
            let bounds = Bounds {
                cancel: &cancel.cancelled,
                max_memory: max_memory.unwrap_or(u64::MAX),
                series: sink.as_mut().map(|sink| sink as &mut dyn SeriesSink),
                plain,
            };
            let scenario = self.inner.scenario();
            run_on_threads(&scenario, bounds, if is_interpreted(&scenario) { 1 } else { threads })
        });
        match outcome {
            Ok(output) => RunOutput::new(py, output),
            Err(error) => Err(sink.and_then(|sink| sink.raised).unwrap_or_else(|| run_error(error))),
        }
    }

    /// Why a run of the point takes one thread, however many it may have; `None` where it can be split.
    fn why_one_thread(&self) -> Option<String> {
        let scenario = self.inner.scenario();
        if is_interpreted(&scenario) {
            return Some("one interpreter runs one thread of Python at a time".to_owned());
        }
        why_one_thread(&scenario).map(|reason| reason.to_string())
    }

    /// Runs the point on the TCP of the running kernel, in real time, with the interpreter lock released. `sysctls` are
    /// names and values that are set in the namespaces of the run, and `watch` sees how far it is. The programs that its
    /// flows name run only if that is allowed.
    #[pyo3(signature = (cancel, max_memory=None, sysctls=Vec::new(), watch=None, allow_programs=false))]
    fn run_on_linux(
        &self,
        py: Python<'_>,
        cancel: &CancelToken,
        max_memory: Option<u64>,
        sysctls: Vec<(String, String)>,
        watch: Option<&Watch>,
        allow_programs: bool,
    ) -> PyResult<RunOutput> {
        let scenario = self.inner.scenario();
        let bounds = linux::bounds(&cancel.cancelled, max_memory, allow_programs);
        let unseen = Watch::default();
        let watch = watch.unwrap_or(&unseen);
        let output = py.detach(|| linux::run(&scenario, &bounds, &sysctls, &watch.inner))?;
        RunOutput::of_linux(py, output)
    }

    /// Runs programs over the network of the point until `command` ends: on the side of the senders, and `peer` on the
    /// other one, or the other way round if `peer_sends`.
    #[pyo3(signature = (cancel, command, peer=None, peer_sends=false, max_memory=None, sysctls=Vec::new(), log=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn shell(
        &self,
        py: Python<'_>,
        cancel: &CancelToken,
        command: Vec<String>,
        peer: Option<Vec<String>>,
        peer_sends: bool,
        max_memory: Option<u64>,
        sysctls: Vec<(String, String)>,
        log: bool,
    ) -> PyResult<ShellOutput> {
        let scenario = self.inner.scenario();
        let bounds = linux::bounds(&cancel.cancelled, max_memory, false);
        let programs = (command, peer, peer_sends);
        let run = || linux::shell(&scenario, &bounds, &sysctls, &programs, log);
        let output = py.detach(run)?;
        ShellOutput::of_linux(py, output)
    }
}

/// Hands time series to Python.
struct Callback {
    callback: Py<PyAny>,
    /// What Python raised.
    raised: Option<PyErr>,
}

impl SeriesSink for Callback {
    fn take(&mut self, series: dumbbell_sim::Table, link_series: dumbbell_sim::Table) -> Result<(), String> {
        Python::attach(|py| {
            let tables = (Table::new(series)?, Table::new(link_series)?);
            self.callback.call1(py, tables).map(drop)
        })
        .map_err(|error| {
            let message = error.to_string();
            self.raised = Some(error);
            message
        })
    }
}

/// What a run produced.
#[pyclass(frozen, get_all, module = "dumbbell._core")]
pub struct RunOutput {
    /// One row a flow.
    flows: Py<Table>,
    /// One row a flow and sample.
    series: Py<Table>,
    /// One row a link.
    links: Py<Table>,
    /// One row a link and sample.
    link_series: Py<Table>,
    /// One row a source of traffic.
    traffic: Py<Table>,
    /// One row a transfer of such a source.
    completions: Py<Table>,
    /// One row a web page of such a source.
    pages: Py<Table>,
    /// One row a round of an incast of such a source.
    rounds: Py<Table>,
    /// One row a flow of datagrams.
    datagrams: Py<Table>,
    /// Seed of the run.
    seed: u64,
    /// Simulated seconds.
    sim_s: f64,
    /// CPU seconds of the thread that ran it.
    cpu_s: f64,
    /// Events processed.
    events: u64,
    /// Data packets delivered to receivers.
    packets: u64,
    /// How good a run on the kernel was, as a JSON object; `None` for a simulation.
    certificate: Option<String>,
}

impl RunOutput {
    fn new(py: Python<'_>, output: dumbbell_sim::RunOutput) -> PyResult<RunOutput> {
        let table = |table| Py::new(py, Table::new(table)?);
        let RunSummary { seed, sim_s, cpu_s, events, packets, .. } = output.summary;
        Ok(RunOutput {
            flows: table(output.flows)?,
            series: Py::new(py, Table::of_series(output.series))?,
            links: table(output.links)?,
            link_series: Py::new(py, Table::of_series(output.link_series))?,
            traffic: table(output.traffic)?,
            completions: table(output.completions)?,
            pages: table(output.pages)?,
            rounds: table(output.rounds)?,
            datagrams: table(output.datagrams)?,
            seed,
            sim_s,
            cpu_s,
            events,
            packets,
            certificate: None,
        })
    }

    #[cfg(all(target_os = "linux", feature = "linux"))]
    fn of_linux(py: Python<'_>, output: dumbbell_linux::RunOutput) -> PyResult<RunOutput> {
        let table = |table| Py::new(py, Table::new(table)?);
        let certificate = serde_json::to_string(&output.certificate);
        Ok(RunOutput {
            flows: table(output.flows)?,
            series: Py::new(py, Table::of_series(output.series))?,
            links: table(output.links)?,
            link_series: Py::new(py, Table::of_series(output.link_series))?,
            // This ground refuses traffic and datagrams.
            traffic: table(dumbbell_results::traffic(&[]))?,
            completions: table(dumbbell_results::completions(Vec::new(), &[]))?,
            pages: table(dumbbell_results::pages(Vec::new(), &[]))?,
            rounds: table(dumbbell_results::rounds(Vec::new(), &[]))?,
            datagrams: table(dumbbell_results::datagrams(&[]))?,
            seed: output.seed,
            sim_s: output.duration_s,
            cpu_s: output.cpu_s,
            events: output.events,
            packets: output.packets,
            certificate: Some(certificate.map_err(|error| PyRuntimeError::new_err(error.to_string()))?),
        })
    }

    #[cfg(not(all(target_os = "linux", feature = "linux")))]
    fn of_linux(_py: Python<'_>, output: std::convert::Infallible) -> PyResult<RunOutput> {
        match output {}
    }
}

/// What is left of programs that ran over a network.
#[pyclass(frozen, get_all, module = "dumbbell._core")]
pub struct ShellOutput {
    /// Exit status of the command.
    status: i32,
    /// One row a link.
    links: Py<Table>,
    /// IP bytes over the described direction, and over the way back.
    carried_bytes: (u64, u64),
    /// Whether a link on the way back has a rate.
    shapes_way_back: bool,
    /// One row an event of a packet, if a log was wanted.
    packets: Option<Py<Table>>,
    /// Microseconds by which 99.9 % of packets were late at most.
    late_p999_us: f64,
}

impl ShellOutput {
    #[cfg(all(target_os = "linux", feature = "linux"))]
    fn of_linux(py: Python<'_>, output: dumbbell_linux::ShellOutput) -> PyResult<ShellOutput> {
        let table = |table| Py::new(py, Table::new(table)?);
        Ok(ShellOutput {
            status: output.status,
            links: table(output.links)?,
            carried_bytes: output.carried_bytes.into(),
            shapes_way_back: output.shapes_way_back,
            packets: output.packets.map(table).transpose()?,
            late_p999_us: output.late_p999_us,
        })
    }

    #[cfg(not(all(target_os = "linux", feature = "linux")))]
    fn of_linux(_py: Python<'_>, output: std::convert::Infallible) -> PyResult<ShellOutput> {
        match output {}
    }
}

/// The words of a command, those of the one on the other side, and whether that sends.
type Words = (Vec<String>, Option<Vec<String>>, bool);

/// Makes the process, which must have one thread only, root of a user namespace of its own.
#[pyfunction]
pub fn become_root_of_own_namespace() -> PyResult<()> {
    linux::become_root()
}

/// The ground of the running kernel.
#[cfg(all(target_os = "linux", feature = "linux"))]
mod linux {
    use super::Words;
    use super::{ProgramError, RunCancelled, RunError};
    pub use dumbbell_linux::{Bounds, Watch};
    use dumbbell_linux::{Programs, RunError as Error, RunOutput, ShellOutput, Sysctl};
    use dumbbell_scenario::Scenario;
    use pyo3::{PyErr, PyResult};
    use std::sync::atomic::AtomicBool;

    pub fn bounds(cancel: &AtomicBool, max_memory: Option<u64>, allows_programs: bool) -> Bounds<'_> {
        Bounds { cancel, max_memory: max_memory.unwrap_or(u64::MAX), allows_programs }
    }

    pub fn run(
        scenario: &Scenario,
        bounds: &Bounds<'_>,
        sysctls: &[(String, String)],
        watch: &Watch,
    ) -> PyResult<RunOutput> {
        dumbbell_linux::run_watched(scenario, &given(sysctls), bounds, watch).map_err(raised)
    }

    pub fn progress(watch: &Watch) -> (f64, f64, Vec<u64>) {
        let progress = watch.progress();
        (progress.duration.as_secs_f64(), progress.elapsed.as_secs_f64(), progress.delivered_bytes)
    }

    pub fn shell(
        scenario: &Scenario,
        bounds: &Bounds<'_>,
        sysctls: &[(String, String)],
        (command, peer, peer_sends): &Words,
        log: bool,
    ) -> PyResult<ShellOutput> {
        let programs = Programs { command, peer: peer.as_deref(), peer_sends: *peer_sends };
        dumbbell_linux::shell(scenario, &programs, &given(sysctls), bounds, log).map_err(raised)
    }

    fn given(sysctls: &[(String, String)]) -> Vec<Sysctl> {
        sysctls.iter().map(|(name, value)| Sysctl::given(name, value)).collect()
    }

    fn raised(error: Error) -> PyErr {
        match error {
            Error::Cancelled => RunCancelled::new_err(error.to_string()),
            Error::Program { .. } => ProgramError::new_err(error.to_string()),
            _ => RunError::new_err(error.to_string()),
        }
    }

    pub fn become_root() -> PyResult<()> {
        dumbbell_linux::become_root_of_own_namespace().map_err(|error| RunError::new_err(error.to_string()))
    }
}

/// Elsewhere, and in a build without it, there is no such ground.
#[cfg(not(all(target_os = "linux", feature = "linux")))]
mod linux {
    use super::RunError;
    use dumbbell_scenario::Scenario;
    use pyo3::{PyErr, PyResult};
    use std::convert::Infallible;
    use std::sync::atomic::AtomicBool;

    /// Nothing is ever seen through it.
    #[derive(Default)]
    pub struct Watch;

    /// There is nothing to bound.
    pub struct Bounds;

    pub fn bounds(_: &AtomicBool, _: Option<u64>, _: bool) -> Bounds {
        Bounds
    }

    pub fn run(_: &Scenario, _: &Bounds, _: &[(String, String)], _: &Watch) -> PyResult<Infallible> {
        Err(missing())
    }

    pub fn progress(_: &Watch) -> (f64, f64, Vec<u64>) {
        (0.0, 0.0, Vec::new())
    }

    pub fn shell(_: &Scenario, _: &Bounds, _: &[(String, String)], _: &super::Words, _: bool) -> PyResult<Infallible> {
        Err(missing())
    }

    pub fn become_root() -> PyResult<()> {
        Err(missing())
    }

    fn missing() -> PyErr {
        RunError::new_err(if cfg!(target_os = "linux") {
            "this build has the simulator only; `make build` adds experiments on Linux's TCP"
        } else {
            "an experiment can run on Linux's TCP on Linux only; use the simulator"
        })
    }
}

/// The algorithms of flows, with their parameters.
fn recipes(scenario: &scenario::Scenario) -> impl Iterator<Item = &Recipe> {
    let flows = scenario.flows.iter().chain(scenario.traffic.iter().map(|traffic| traffic.flow()));
    flows.map(|flow| &*flow.cc)
}

/// Those that are not part of this program.
fn own_algorithms(scenario: &scenario::Scenario) -> impl Iterator<Item = &Entry> {
    recipes(scenario).map(Recipe::entry).filter(|entry| entry.origin().is_some())
}

/// Key, what names it, and the digest of its code.
fn named(entry: &Entry) -> Option<(&'static str, String, String)> {
    let origin = entry.origin()?;
    Some((origin.key, origin.text.clone(), entry.about().digest.clone()))
}

/// Whether Python is called for packets: classes that are compiled call none.
fn is_interpreted(scenario: &scenario::Scenario) -> bool {
    recipes(scenario)
        .any(|recipe| recipe.entry().origin().is_some_and(|origin| origin.key == own::KEY) && !own::is_compiled(recipe))
}

fn run_error(error: dumbbell_sim::RunError) -> PyErr {
    use dumbbell_sim::RunError as Error;
    match error {
        Error::Cancelled => RunCancelled::new_err(error.to_string()),
        Error::Memory(_)
        | Error::Series(_)
        | Error::Controller { .. }
        | Error::Connection(_)
        | Error::Program { .. } => RunError::new_err(error.to_string()),
        Error::Way(_) | Error::NoSuchLink(_) => PyRuntimeError::new_err(error.to_string()),
    }
}
