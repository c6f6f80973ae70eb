//! The pipeline: text, tree, overrides, sweep, decoding, resolution.

use crate::combinations::Combinations;
use crate::error::{Problems, ScenarioErrors, Sources};
use crate::overrides::Overrides;
use crate::resolve::{Loader, RateSource, Resolved, vary_phase, vary_rtts};
use crate::schema::name_tables;
use crate::sweep::{Sweep, seed_of};
use crate::tables::Tables;
use crate::tree::Node;
use crate::{Scenario, canonical, explain, include};
use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::Entry;
use dumbbell_path::LinkRate;
use dumbbell_path::synth::CellularModel;
use std::path::PathBuf;
use std::sync::Arc;

/// An experiment file, checked and expanded into the points that it runs.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: String,
    included: Vec<String>,
    points: Vec<Point>,
}

/// One run of an experiment: a combination of swept values and a repetition.
#[derive(Clone, Debug)]
pub struct Point {
    combination: usize,
    repeat: u32,
    seed: u64,
    combinations: Arc<Combinations>,
}

impl Experiment {
    /// Reads an experiment file with the built-in algorithms. `source_name` is its name: it appears in errors, and
    /// trace files and files to include are relative to its folder. `overrides` are pairs of a key path and a value as
    /// on a command line (`path.rtt`, `80ms`), applied in order before sweeps are expanded; one of which nothing is
    /// left is an error.
    ///
    /// # Errors
    /// Everything that is wrong with the file, each error with its place and what would be right.
    pub fn from_toml(
        text: &str,
        source_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Experiment, ScenarioErrors> {
        Experiment::from_toml_with(dumbbell_cc_family::catalog(), text, source_name, overrides)
    }

    /// [`from_toml`](Self::from_toml) with the algorithms of `catalog`.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn from_toml_with(
        catalog: &Catalog,
        text: &str,
        source_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Experiment, ScenarioErrors> {
        let sources = Sources::new(source_name, Some(text));
        let mut problems = Problems::default();
        let tree = Node::from_toml(text, 0, &mut problems);
        problems.into_result(&sources)?;
        Experiment::from_tree(catalog, tree, sources, overrides)
    }

    /// Reads an experiment from a JSON value with the structure of the file, for example a Python dictionary. Entries
    /// that are null count as absent.
    ///
    /// # Errors
    /// Everything that is wrong, each error with its key.
    pub fn from_json(
        json: &serde_json::Value,
        source_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Experiment, ScenarioErrors> {
        Experiment::from_json_with(dumbbell_cc_family::catalog(), json, source_name, overrides)
    }

    /// [`from_json`](Self::from_json) with the algorithms of `catalog`.
    ///
    /// # Errors
    /// As [`Experiment::from_json`].
    pub fn from_json_with(
        catalog: &Catalog,
        json: &serde_json::Value,
        source_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Experiment, ScenarioErrors> {
        let sources = Sources::new(source_name, None);
        Experiment::from_tree(catalog, Node::from_json(json), sources, overrides)
    }

    fn from_tree(
        catalog: &Catalog,
        tree: Node,
        mut sources: Sources,
        overrides: &[(String, String)],
    ) -> Result<Experiment, ScenarioErrors> {
        let mut problems = Problems::default();
        let mut tree = include::expand(tree, &mut sources, &mut problems);
        let mut names = sources.texts.iter().map(|source| source.name.clone());
        let (name, included) = (names.next().unwrap_or_default(), names.collect());
        let overrides = Overrides::apply(overrides, &mut tree, &mut sources, &mut problems);
        let sweep = Sweep::take(&mut tree, &sources, &mut problems);
        overrides.check_effect(&tree, &sweep, &mut problems);
        problems.into_result(&sources)?;

        let mut combinations = Combinations::new(tree, sweep, Loader::new(&name), catalog);
        let mut seeds = Vec::with_capacity(combinations.len());
        let mut problems = Problems::default();
        let mut tables = Tables::default();
        for combination in 0..combinations.len() {
            if let Some(resolved) = combinations.check(combination, &mut problems) {
                tables.add(&resolved.tables);
                seeds.push(resolved.scenario.seed);
            } else if problems.len() >= Problems::MAX {
                break;
            }
        }
        if problems.is_empty() {
            tables.check(&mut problems);
        }
        name_tables(&mut problems);
        problems.into_result(&sources)?;
        combinations.settle();
        let combinations = Arc::new(combinations);
        let repeats = combinations.repeat();
        let mut points = Vec::with_capacity(seeds.len() * repeats as usize);
        for (combination, seed) in seeds.into_iter().enumerate() {
            let point =
                |repeat| Point { combination, repeat, seed: seed_of(seed, repeat), combinations: combinations.clone() };
            points.extend((0..repeats).map(point));
        }
        Ok(Experiment { name, included, points })
    }

    /// The file's name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the files that it includes, directly or through others, in the order of reading.
    pub fn included(&self) -> &[String] {
        &self.included
    }

    /// The files that its algorithms were loaded from.
    pub fn algorithm_files(&self) -> Vec<PathBuf> {
        let loaded = self.points.first().map(Point::loaded_algorithms).unwrap_or_default();
        let origins = loaded.iter().filter_map(|entry| entry.origin());
        let mut files: Vec<PathBuf> = origins.flat_map(|origin| origin.files.iter().cloned()).collect();
        files.sort();
        files.dedup();
        files
    }

    /// All runs in order: the first swept key varies slowest, repetitions fastest. At least one.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The experiment in words and values, with what is a default marked: what a person checks before a long run.
    pub fn explain(&self) -> String {
        explain::explain(self)
    }

    /// Every parameter of its algorithms and endpoints, one a line, with what is a default marked.
    pub fn explain_parameters(&self) -> String {
        explain::parameters::explain(self)
    }
}

impl Point {
    /// Position in [`Experiment::points`].
    pub fn index(&self) -> usize {
        self.combination * self.combinations.repeat() as usize + self.repeat as usize
    }

    /// Repetition, from 0.
    pub fn repeat(&self) -> u32 {
        self.repeat
    }

    /// Seed of this run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The swept keys and their values at this point; empty without a sweep.
    pub fn label(&self) -> Vec<(String, serde_json::Value)> {
        self.combinations.label(self.combination)
    }

    /// The algorithms that this experiment has loaded from elsewhere, for any of its points. It costs nothing to ask.
    pub fn loaded_algorithms(&self) -> Vec<Arc<Entry>> {
        self.combinations.loaded_algorithms()
    }

    /// What the engine runs, made on demand. Points share traces, what flows have in common, and the recipes of
    /// algorithms.
    pub fn scenario(&self) -> Arc<Scenario> {
        self.resolved().scenario.clone()
    }

    /// The complete scenario as an experiment file, with every default filled in, every sweep and preset expanded and
    /// the contents of trace files included. Reading it again, from anywhere, gives the identical scenario.
    pub fn resolved_toml(&self) -> String {
        canonical::to_toml(&self.resolved(), None)
    }

    /// [`resolved_toml`](Self::resolved_toml) with the traces of links in files of their own: a link names
    /// `FOLDER/DIGEST.trace`, and the second part of the answer has the name of each file, without the folder, with its
    /// content in Mahimahi's format.
    pub fn resolved_toml_beside(&self, folder: &str) -> (String, Vec<(String, String)>) {
        let resolved = self.resolved();
        (canonical::to_toml(&resolved, Some(folder)), canonical::traces(&resolved))
    }

    /// SHA-256 of everything that determines the result in hexadecimal: seed, contents of traces, exact names, versions
    /// and digests of algorithms included.
    pub fn content_hash(&self) -> String {
        canonical::content_hash(&self.resolved())
    }

    /// The resolved form as the file gives it: with the seed of repetition 0, and before anything is drawn.
    pub(crate) fn as_given(&self) -> Arc<Resolved> {
        self.combinations.get(self.combination)
    }

    /// The resolved form with the seed of this repetition.
    pub(crate) fn resolved(&self) -> Arc<Resolved> {
        let given = self.as_given();
        if self.repeat == 0 && given.rtt_spans.is_empty() && !given.varies_phase {
            return given;
        }
        let mut resolved = (*given).clone();
        let scenario = Arc::make_mut(&mut resolved.scenario);
        scenario.seed = self.seed;
        for (link, notes) in scenario.links.iter_mut().zip(&mut resolved.links) {
            if let RateSource::Synth { preset, seed, follows_run_seed: true, length } = &mut notes.rate_source
                && let Some(model) = CellularModel::preset(preset)
            {
                *seed = self.seed;
                let opportunities_ms = crate::resolve::synthesise(&model, self.seed, *length);
                link.config.rate = LinkRate::Trace { opportunities_ms, once: false };
            }
        }
        vary_rtts(&mut resolved);
        if resolved.varies_phase {
            vary_phase(&mut resolved);
        }
        Arc::new(resolved)
    }
}
