//! Rates: constants, schedules, trace files, synthesised traces.

use super::flow_list::{self, Groups};
use super::series::{Quantity, Series, is_series, read_series};
use super::{Context, MAX_RATE, RateSource};
use crate::error::suggest;
use crate::file::{Columns, Elsewhere, RATES, RateSpec, TraceSource};
use crate::key_path::KeyPath;
use crate::regular;
use dumbbell_cc::catalog::{BuildError, Entry, LoadError};
use dumbbell_cc::{Catalog, Recipe};
use dumbbell_parameters::check;
use dumbbell_path::LinkRate;
use dumbbell_path::synth::{CellularModel, PRESETS};
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Duration, Rate, Rng, Time};
use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bits that one delivery opportunity carries in statistics of capacity.
const BITS_PER_OPPORTUNITY: u128 = 12_000;
/// The longest trace file: more than a day of the fastest recorded links.
const MAX_TRACE_BYTES: u64 = 100_000_000;
/// What a file begins with that gzip has compressed (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// What spreadsheets write before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// The longest synthesised trace; longer runs start it again.
const MAX_SYNTH_LENGTH: Duration = Duration::from_secs(24 * 3_600);

/// So many recipes, and so many parameters of endpoints, are kept at most.
const MAX_MADE: usize = 1_024;

/// What is right, for messages about measured series.
pub(super) const SERIES_HELP: &str = "each row has a time and a value, and `column`, `unit`, `time` and `time_unit` say which and \
    in what unit, unless a first line such as time_s,rate_mbps does";

/// A recorded rate.
#[derive(Clone, Debug)]
enum Recorded {
    /// Delivery opportunities in milliseconds.
    Opportunities(Arc<[u32]>),
    Series(Arc<Series>),
}

/// A recorded rate and the digest of the file it was read from.
type Trace = (Recorded, String);
/// A file, and what is meant in it.
type SeriesKey = (String, Quantity, Columns);
/// Preset, seed and length of a synthesised trace.
type SynthKey = (String, u64, Duration);

/// What the points of an experiment share: trace files and synthesised traces, each read or made once, the recipes of
/// algorithms, and the parameters of endpoints.
#[derive(Debug, Default)]
pub(crate) struct Loader {
    folder: PathBuf,
    files: Mutex<HashMap<(String, Columns), Result<Trace, String>>>,
    series: Mutex<HashMap<SeriesKey, Result<Arc<Series>, String>>>,
    flow_lists: Mutex<HashMap<String, Result<Groups, String>>>,
    synthesised: Mutex<HashMap<SynthKey, Arc<[u32]>>>,
    recipes: Mutex<HashMap<String, Arc<Recipe>>>,
    /// Algorithms of files, each loaded once.
    loaded: Mutex<HashMap<String, Result<Arc<Entry>, LoadError>>>,
    transports: Mutex<HashMap<String, TransportConfig>>,
}

impl Loader {
    /// A loader for an experiment in the file `source_name`: traces are relative to its folder.
    pub(crate) fn new(source_name: &str) -> Loader {
        let folder = Path::new(source_name).parent().map(Path::to_path_buf).unwrap_or_default();
        Loader { folder, ..Loader::default() }
    }

    /// The algorithm that is called `name` in the catalogue or elsewhere.
    pub(super) fn entry(
        &self,
        catalog: &Catalog,
        name: &str,
        elsewhere: Option<&Elsewhere>,
    ) -> Result<Arc<Entry>, BuildError> {
        let Some(Elsewhere { key, digest }) = elsewhere else { return catalog.shared(name) };
        let load = || catalog.load(key, name, &self.folder, digest.as_deref());
        let known = format!("{key} {name} {digest:?}");
        locked(&self.loaded).entry(known).or_insert_with(load).clone().map_err(BuildError::Load)
    }

    /// The algorithms that were loaded from elsewhere.
    pub(crate) fn loaded_algorithms(&self) -> Vec<Arc<Entry>> {
        locked(&self.loaded).values().flatten().cloned().collect()
    }

    /// The recipe for an algorithm with these parameters, which all flows of all points share.
    pub(super) fn recipe(
        &self,
        catalog: &Catalog,
        name: &str,
        elsewhere: Option<&Elsewhere>,
        parameters: &Map<String, Value>,
    ) -> Result<Arc<Recipe>, BuildError> {
        let kind = elsewhere.map_or("", |elsewhere| elsewhere.key);
        let key = format!("{kind} {name} {}", Value::Object(parameters.clone()));
        if let Some(recipe) = locked(&self.recipes).get(&key) {
            return Ok(recipe.clone());
        }
        let recipe = Arc::new(Recipe::new(self.entry(catalog, name, elsewhere)?, parameters)?);
        let mut recipes = locked(&self.recipes);
        keep(&mut recipes, key, recipe.clone());
        Ok(recipe)
    }

    /// The parameters of endpoints that [`Loader::keep_transport`] was given with this key.
    pub(super) fn transport(&self, key: &str) -> Option<TransportConfig> {
        locked(&self.transports).get(key).cloned()
    }

    /// Keeps the parameters of endpoints, checked; `key` has the name of their profile and everything that the file
    /// gives.
    pub(super) fn keep_transport(&self, key: String, config: &TransportConfig) {
        keep(&mut locked(&self.transports), key, config.clone());
    }

    fn file(&self, name: &str, columns: &Columns) -> Result<Trace, String> {
        let key = (name.to_owned(), columns.clone());
        locked(&self.files).entry(key).or_insert_with(|| self.read(name, columns)).clone()
    }

    /// A measured series of something else than rates.
    pub(super) fn series(&self, name: &str, quantity: Quantity, columns: &Columns) -> Result<Arc<Series>, String> {
        let read = || {
            let (text, _) = self.text(name, "trace file")?;
            read_series(&text, quantity, columns).map(Arc::new).map_err(|error| wrong(name, &error))
        };
        let key = (name.to_owned(), quantity, columns.clone());
        locked(&self.series).entry(key).or_insert_with(read).clone()
    }

    /// The flows of a file that lists some.
    pub(super) fn flow_list(&self, name: &str) -> Result<Groups, String> {
        let read = || {
            let (text, _) = self.text(name, "list of flows")?;
            flow_list::parse(&text).map_err(|why| format!("the list of flows `{name}` is wrong: {why}"))
        };
        locked(&self.flow_lists).entry(name.to_owned()).or_insert_with(read).clone()
    }

    /// The text of a file that is called `what` and may be compressed with gzip, and the digest of the file.
    fn text(&self, name: &str, what: &str) -> Result<(String, String), String> {
        let unreadable = |why: &dyn Display| {
            let relative = if Path::new(name).is_relative() { ", relative to the experiment file" } else { "" };
            format!("cannot read the {what} `{name}`{relative}: {why}")
        };
        let mut bytes = self.bytes(name).map_err(|why| unreadable(&why))?;
        let digest = dumbbell_cc::catalog::digest(&bytes);
        if bytes.starts_with(&GZIP) {
            let packed = MultiGzDecoder::new(&*bytes);
            bytes = read_bounded(packed).map_err(|why| unreadable(&format_args!("{why} when it is unpacked")))?;
        }
        let mut text = String::from_utf8(bytes).map_err(|_| format!("the {what} `{name}` is not a text"))?;
        if text.starts_with(BYTE_ORDER_MARK) {
            text.remove(0);
        }
        Ok((text, digest))
    }

    /// The content of a file.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(name);
        read_bounded(regular::open(&path)?)
    }

    fn read(&self, name: &str, columns: &Columns) -> Result<Trace, String> {
        let (text, digest) = self.text(name, "trace file")?;
        Ok((recorded(&text, columns).map_err(|why| wrong(name, &why))?, digest))
    }

    fn synthesise(&self, preset: &str, model: &CellularModel, seed: u64, length: Duration) -> Arc<[u32]> {
        let key = (preset.to_owned(), seed, length);
        let make = || synthesise(model, seed, length);
        locked(&self.synthesised).entry(key).or_insert_with(make).clone()
    }
}

/// Everything that there is to read, if that is not too much.
fn read_bounded(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(MAX_TRACE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > MAX_TRACE_BYTES {
        true => Err(format!("it is longer than {MAX_TRACE_BYTES} bytes")),
        false => Ok(bytes),
    }
}

/// A measured series if its rows have several cells, else Mahimahi's trace.
fn recorded(text: &str, columns: &Columns) -> Result<Recorded, String> {
    if is_series(text) {
        return Ok(Recorded::Series(read_series(text, Quantity::Rate, columns)?.into()));
    }
    if let Some(key) = columns.first_key() {
        return Err(format!(
            "`{key}` is given, but its lines have one number each, as a Mahimahi trace has, not a time and a rate"
        ));
    }
    let trace = dumbbell_path::parse_trace(text).map_err(|error| error.to_string())?;
    Ok(Recorded::Opportunities(trace.into()))
}

fn wrong(name: &str, why: &str) -> String {
    format!("the trace file `{name}` is wrong: {why}")
}

/// The trace of a cellular model.
pub(crate) fn synthesise(model: &CellularModel, seed: u64, length: Duration) -> Arc<[u32]> {
    model.synthesise(length, &mut Rng::new(seed)).into()
}

/// Keeps what can be made again. A sweep may have a million of them.
fn keep<T>(made: &mut HashMap<String, T>, key: String, value: T) {
    if made.len() >= MAX_MADE {
        made.clear();
    }
    made.insert(key, value);
}

/// What is read or made while it is locked is what it will be for all points, also if one of them panics.
fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A resolved rate.
pub(super) struct ResolvedRate {
    pub rate: LinkRate,
    pub source: RateSource,
    /// `None` when unlimited.
    pub mean: Option<Rate>,
}

impl Context<'_> {
    /// Resolves the rate written at `at`; `None` when that found problems.
    pub(super) fn rate(&mut self, spec: &RateSpec, at: &KeyPath) -> Option<ResolvedRate> {
        let given = |rate, mean| Some(ResolvedRate { rate, source: RateSource::Given, mean });
        match spec {
            RateSpec::Unlimited => given(LinkRate::Unlimited, None),
            RateSpec::Constant(rate) => {
                if *rate == Rate::ZERO || *rate > MAX_RATE {
                    let message = format!("a link of {rate} cannot carry a flow");
                    self.report.value(
                        at,
                        message,
                        format!("allowed: more than 0bit, at most {MAX_RATE}, or \"unlimited\""),
                    );
                    return None;
                }
                given(LinkRate::Constant(rate.as_bits_per_sec()), Some(*rate))
            }
            RateSpec::Schedule { steps, repeat } => {
                let mean = self.schedule_mean(steps, *repeat, at)?;
                let steps = steps.iter().map(|(start, rate)| (*start, rate.as_bits_per_sec())).collect();
                given(LinkRate::Schedule { steps, repeat_after: *repeat }, Some(mean))
            }
            RateSpec::Trace { source, columns, repeat, once, sha256 } => {
                let table = at;
                let at = if self.report.tree.get(&at.key("trace")).is_some() { at.key("trace") } else { at.clone() };
                let (recorded, source) = self.recorded(source, columns, sha256.as_deref(), &at)?;
                match recorded {
                    Recorded::Series(series) => {
                        let at = if repeat.is_some() { table } else { &at };
                        self.series(&series, *repeat, *once, source, at)
                    }
                    Recorded::Opportunities(_) if repeat.is_some() => {
                        let message = "`repeat` is given, but a Mahimahi trace starts again after its last line";
                        self.report.value(&at, message, "remove `repeat`, or write `once = true`");
                        None
                    }
                    Recorded::Opportunities(trace) => {
                        let mean = Some(mean_rate(&trace));
                        let rate = LinkRate::Trace { opportunities_ms: trace, once: *once };
                        Some(ResolvedRate { rate, source, mean })
                    }
                }
            }
            RateSpec::Synth { preset, seed, length } => self.synth(preset, *seed, *length, at),
        }
    }

    /// Checks a schedule; its mean rate over the period, or over the run when it does not repeat.
    fn schedule_mean(&mut self, steps: &[(Time, Rate)], repeat: Option<Duration>, at: &KeyPath) -> Option<Rate> {
        let steps_at = if self.report.tree.get(&at.key("steps")).is_some() { at.key("steps") } else { at.clone() };
        let Some((first, last)) = steps.first().zip(steps.last()) else {
            self.report.value(
                &steps_at,
                "the schedule has no step",
                "write it like [[\"0s\", \"1mbit\"], [\"50s\", \"4mbit\"]]",
            );
            return None;
        };
        let mut right = true;
        if first.0 != Time::ZERO {
            let message = format!("the schedule starts at {}", first.0);
            self.report.value(&steps_at.index(0), message, "the first step must start at \"0s\"");
            right = false;
        }
        for (i, pair) in steps.windows(2).enumerate() {
            if pair[1].0 <= pair[0].0 {
                let message = format!("a step at {} follows one at {}", pair[1].0, pair[0].0);
                self.report.value(&steps_at.index(i + 1), message, "steps must be in the order of time");
                right = false;
            }
        }
        for (i, (_, rate)) in steps.iter().enumerate() {
            if *rate > MAX_RATE {
                let message = format!("a link of {rate} is too fast");
                self.report.value(&steps_at.index(i), message, format!("allowed: at most {MAX_RATE}"));
                right = false;
            }
        }
        if let Some(period) = repeat
            && Time::ZERO + period <= last.0
        {
            let message = format!("the schedule repeats after {period}, but its last step starts at {}", last.0);
            self.report.value(&at.key("repeat"), message, "`repeat` must be later than the last step");
            right = false;
        }
        if !right {
            return None;
        }
        let mean = mean_of_steps(steps, repeat.unwrap_or(self.duration));
        if mean == Rate::ZERO {
            self.report.value(&steps_at, "the link never transmits", "at least one step must have a rate above 0");
            return None;
        }
        Some(mean)
    }

    /// What a trace says, which is written at `at`, and where it comes from.
    fn recorded(
        &mut self,
        source: &TraceSource,
        columns: &Columns,
        sha256: Option<&str>,
        at: &KeyPath,
    ) -> Option<(Recorded, RateSource)> {
        let help =
            "a Mahimahi trace has one time in milliseconds for every delivery opportunity of 1500 bytes, in order";
        match source {
            TraceSource::File(name) => match self.loader.file(name, columns) {
                Ok((recorded, digest)) => {
                    if let Some(expected) = sha256.filter(|expected| !expected.eq_ignore_ascii_case(&digest)) {
                        let message =
                            format!("the trace file `{name}` has changed: its SHA-256 is {digest}, not {expected}");
                        self.report.value(at, message, "take the original file, or remove `sha256`");
                        return None;
                    }
                    Some((recorded, RateSource::File { name: name.clone(), sha256: digest }))
                }
                Err(message) => {
                    self.report.value(at, message, format!("{help}; of a measured series {SERIES_HELP}"));
                    None
                }
            },
            TraceSource::Inline(_) if columns.first_key().is_some() => {
                let message = "the trace is a list of delivery opportunities, which has no columns";
                self.report.value(at, message, "remove `column`, `unit`, `time` and `time_unit`");
                None
            }
            TraceSource::Inline(times) => {
                let lines: Vec<String> = times.iter().map(u32::to_string).collect();
                match dumbbell_path::parse_trace(&lines.join("\n")) {
                    Ok(trace) => Some((Recorded::Opportunities(trace.into()), RateSource::Given)),
                    Err(error) => {
                        self.report.value(at, format!("the trace is wrong: {error}"), help);
                        None
                    }
                }
            }
        }
    }

    /// A measured series as a schedule.
    fn series(
        &mut self,
        series: &Series,
        repeat: Option<Duration>,
        once: bool,
        source: RateSource,
        at: &KeyPath,
    ) -> Option<ResolvedRate> {
        let mut steps = series.rates();
        let end = repeat.unwrap_or(series.length);
        let repeat = (!once).then_some(end);
        if once {
            steps.push((Time::ZERO + end, Rate::ZERO));
        }
        let mean = self.schedule_mean(&steps, repeat, at)?;
        let steps = steps.iter().map(|(start, rate)| (*start, rate.as_bits_per_sec())).collect();
        Some(ResolvedRate { rate: LinkRate::Schedule { steps, repeat_after: repeat }, source, mean: Some(mean) })
    }

    fn synth(
        &mut self,
        preset: &str,
        seed: Option<u64>,
        length: Option<Duration>,
        at: &KeyPath,
    ) -> Option<ResolvedRate> {
        let Some(model) = CellularModel::preset(preset) else {
            let help = suggest(preset, "allowed", PRESETS);
            self.report.value(&at.key("synth"), format!("unknown cellular link `{preset}`"), help);
            return None;
        };
        let length = length.unwrap_or(self.duration.min(MAX_SYNTH_LENGTH));
        let problems = check(&RATES, &json!({ "length": length }));
        if !problems.is_empty() {
            self.report.parameters(at, problems);
            return None;
        }
        let follows_run_seed = seed.is_none();
        let seed = seed.unwrap_or(self.seed);
        let trace = self.loader.synthesise(preset, &model, seed, length);
        let source = RateSource::Synth { preset: preset.to_owned(), seed, follows_run_seed, length };
        let mean = mean_rate(&trace);
        Some(ResolvedRate { rate: LinkRate::Trace { opportunities_ms: trace, once: false }, source, mean: Some(mean) })
    }
}

/// Mean rate of steps over so long a time.
fn mean_of_steps(steps: &[(Time, Rate)], length: Duration) -> Rate {
    let end = Time::ZERO + length;
    let ends = steps.iter().skip(1).map(|step| step.0).chain([end]);
    let sent = |((start, rate), stop): (&(Time, Rate), Time)| {
        u128::from(rate.as_bits_per_sec()) * u128::from(stop.min(end).since(*start).as_nanos())
    };
    let bits: u128 = steps.iter().zip(ends).map(sent).sum();
    Rate::from_bits_per_sec(u64::try_from(bits / u128::from(end.as_nanos().max(1))).unwrap_or(u64::MAX))
}

/// A file of a recorded rate: a measured series or a Mahimahi trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Mean rate.
    pub mean: Rate,
    /// After how long it starts again.
    pub length: Duration,
}

impl Recording {
    /// Reads a file whose first line names its columns, or a Mahimahi trace.
    ///
    /// # Errors
    /// What is wrong with the file, with the line and the value, and what would be right.
    pub fn read(file: &str) -> Result<Recording, String> {
        let (recorded, _) = Loader::default().file(file, &Columns::default())?;
        Recording::of(&recorded).map_err(|why| wrong(file, &why))
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// As [`read`](Recording::read), without the name of a file.
    pub fn parse(text: &str) -> Result<Recording, String> {
        Recording::of(&recorded(text, &Columns::default())?)
    }

    fn of(recorded: &Recorded) -> Result<Recording, String> {
        let recording = match recorded {
            Recorded::Opportunities(trace) => {
                let length = Duration::from_millis(trace.last().copied().unwrap_or_default().into());
                Recording { mean: mean_rate(trace), length }
            }
            Recorded::Series(series) => {
                Recording { mean: mean_of_steps(&series.rates(), series.length), length: series.length }
            }
        };
        if recording.mean == Rate::ZERO {
            return Err("all rates are 0, and a link that never transmits carries no flow".to_owned());
        }
        Ok(recording)
    }
}

/// Mean rate of a trace: 12 000 bits an opportunity over its length.
fn mean_rate(trace: &[u32]) -> Rate {
    let length_ms = u128::from(trace.last().copied().unwrap_or(1).max(1));
    let bits = trace.len() as u128 * BITS_PER_OPPORTUNITY * 1_000 / length_ms;
    Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX))
}
