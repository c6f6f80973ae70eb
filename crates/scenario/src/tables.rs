//! Tables of parameters of one protocol that no endpoints read, in no point of an experiment.

use crate::error::{Problem, Problems};
use crate::resolve::ProtocolTable;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What was written once may be read by some of the flows that it is for, and in some points of a sweep.
#[derive(Default)]
pub(crate) struct Tables {
    /// The number of each by the place where it is written.
    numbers: HashMap<String, usize>,
    tables: Vec<ProtocolTable>,
}

impl Tables {
    /// Adds those of a point.
    pub(crate) fn add(&mut self, tables: &[ProtocolTable]) {
        for table in tables {
            let place = match &table.span {
                // Tables of one override stand at one place.
                Some(span) => format!("{} {} {}", span.source(), span.range().start, table.profile),
                None => table.at.to_string(),
            };
            match self.numbers.entry(place) {
                Entry::Occupied(number) => self.tables[*number.get()].is_read |= table.is_read,
                Entry::Vacant(place) => {
                    place.insert(self.tables.len());
                    self.tables.push(table.clone());
                }
            }
        }
    }

    /// Refuses those that nobody reads.
    pub(crate) fn check(self, problems: &mut Problems) {
        for ProtocolTable { at, span, profile, .. } in self.tables.into_iter().filter(|table| !table.is_read) {
            let whose = if at.is_of("transport") { "no flow reads it" } else { "these endpoints do not read it" };
            let help = format!("write profile = \"{profile}\" beside it, or remove it");
            problems.push(Problem::new(&at, span, format!("`{at}` changes nothing: {whose}")).help(help));
        }
    }
}
