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
    tree: Node,
    sweep: Sweep,
    loader: Loader,
    catalog: Catalog,
    /// Those that were needed last, each with its number.
    recent: Mutex<VecDeque<(usize, Arc<Resolved>)>>,
}

impl Combinations {
    pub(crate) fn new(tree: Node, sweep: Sweep, loader: Loader, catalog: &Catalog) -> Combinations {
        Combinations { tree, sweep, loader, catalog: catalog.clone(), recent: Mutex::default() }
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

    /// Resolves a combination; `None` if that finds problems.
    pub(crate) fn check(&self, number: usize, problems: &mut Problems) -> Option<Arc<Resolved>> {
        let mut tree = self.tree.clone();
        self.sweep.apply(number, &mut tree, problems);
        let file = decode::<File>(&tree, problems)?;
        let resolved = Arc::new(resolve(&file, &tree, &self.loader, &self.catalog, problems)?);
        let mut recent = self.recent();
        recent.truncate(RECENT - 1);
        recent.push_front((number, resolved.clone()));
        Some(resolved)
    }

    /// A combination that has been checked.
    pub(crate) fn get(&self, number: usize) -> Arc<Resolved> {
        let known = self.recent().iter().find(|(other, _)| *other == number).map(|(_, resolved)| resolved.clone());
        let again = || self.check(number, &mut Problems::default());
        // Files that it names are not read again.
        known.or_else(again).unwrap_or_else(|| unreachable!("what was resolved before can be resolved again"))
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<(usize, Arc<Resolved>)>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
