//! The combinations of swept values. Each is resolved once when the file is checked, and again when somebody needs it:
//! resolved it takes kilobytes, and there may be a million of them.

use crate::decode::decode;
use crate::error::Problems;
use crate::file::File;
use crate::resolve::{Loader, Resolved, resolve};
use crate::sweep::Sweep;
use crate::tree::Node;
use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::Entry;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many combinations stay resolved: more than most machines run at a time.
const RECENT: usize = 16;

/// An experiment file without its sweep, and what its sweep puts into it.
#[derive(Debug)]
pub(crate) struct Combinations {
    /// `None` where all combinations stay resolved.
    tree: Option<Node>,
    sweep: Sweep,
    loader: Loader,
    catalog: Catalog,
    /// Those that were needed last, each with its number.
    recent: Mutex<VecDeque<(usize, Arc<Resolved>)>>,
}

impl Combinations {
    pub(crate) fn new(tree: Node, sweep: Sweep, loader: Loader, catalog: &Catalog) -> Combinations {
        Combinations { tree: Some(tree), sweep, loader, catalog: catalog.clone(), recent: Mutex::default() }
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.sweep.len()
    }

    /// The algorithms that were loaded from elsewhere.
    pub(crate) fn loaded_algorithms(&self) -> Vec<Arc<Entry>> {
        self.loader.loaded_algorithms()
    }

    /// How often each of them runs.
    pub(crate) fn repeat(&self) -> u32 {
        self.sweep.repeat
    }

    /// The swept keys and the values that they have in a combination.
    pub(crate) fn label(&self, number: usize) -> Vec<(String, serde_json::Value)> {
        self.sweep.label(number)
    }

    /// Resolves a combination for the first time; `None` if that finds problems.
    pub(crate) fn check(&mut self, number: usize, problems: &mut Problems) -> Option<Arc<Resolved>> {
        // The only combination stays resolved.
        let tree = if self.len() == 1 { self.tree.take() } else { self.tree.clone() }?;
        self.resolve(number, tree, problems)
    }

    /// Resolves a combination. `tree` is the file without its sweep.
    fn resolve(&self, number: usize, mut tree: Node, problems: &mut Problems) -> Option<Arc<Resolved>> {
        self.sweep.apply(number, &mut tree, problems);
        let file = decode::<File>(&tree, problems)?;
        let resolved = Arc::new(resolve(&file, &tree, &self.loader, &self.catalog, problems)?);
        let mut recent = self.recent();
        recent.truncate(RECENT - 1);
        recent.push_front((number, resolved.clone()));
        Some(resolved)
    }

    /// All have been checked. If they all stay resolved, what they were made of is gone afterwards: a file of thousands
    /// of links takes megabytes.
    pub(crate) fn settle(&mut self) {
        if self.recent().len() == self.len() {
            self.tree = None;
        }
    }

    /// A combination that has been checked.
    pub(crate) fn get(&self, number: usize) -> Arc<Resolved> {
        let known = self.recent().iter().find(|(other, _)| *other == number).map(|(_, resolved)| resolved.clone());
        let again = || self.resolve(number, self.tree.clone()?, &mut Problems::default());
        // Files that it names are not read again.
        known.or_else(again).unwrap_or_else(|| unreachable!("what was resolved before can be resolved again"))
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<(usize, Arc<Resolved>)>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
