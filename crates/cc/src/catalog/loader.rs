//! Algorithms that are not part of the program: an experiment file names where their code is.

use super::entry::{About, Builder, Code, Entry, Origin};
use super::error::{BuildError, LoadError};
use dumbbell_cc_contract::{Control, Controller, Fault, Hooks, View};
use dumbbell_units::Rng;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keys that stand in the place of an algorithm's name and say where its code is.
pub const ORIGINS: [&str; 3] = ["python", "library", "policy"];
/// Key beside one of [`ORIGINS`]: the digest that the code must have.
pub const DIGEST: &str = "sha256";
/// So many digits of the digest are in exact names.
const SHORT: usize = 12;

/// Finds algorithms in files, for one of the [`ORIGINS`].
pub trait Loader: Send + Sync {
    /// Which one.
    fn key(&self) -> &'static str;

    /// The algorithm that `text` names. Names of files are relative to `folder`, which is empty for the working
    /// directory.
    ///
    /// # Errors
    /// There is none, or its code is wrong.
    fn load(&self, text: &str, folder: &Path) -> Result<Loaded, LoadError>;
}

/// What a [`Loader`] has found.
pub struct Loaded {
    /// What names it from any other folder: the text with a path from the root, where it has one.
    pub text: String,
    /// One sentence on what it is.
    pub summary: String,
    /// Digest of everything that its decisions depend on, in hexadecimal: the text of its file, the bytes of a library.
    pub digest: String,
    /// The files that it was read from.
    pub files: Vec<PathBuf>,
    /// What makes its controllers.
    pub code: Arc<dyn Code>,
}

/// Names what `loaded` is: by its file, without the folders that lead there, and in the exact name by its digest.
pub(super) fn entry(key: &'static str, loaded: Loaded) -> Entry {
    let Loaded { text, summary, digest, files, code } = loaded;
    let name: String = text
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_graphic() { c } else { '_' })
        .collect();
    let short: String = digest.chars().take(SHORT).collect();
    let about = About {
        exact_name: format!("{name}@{short}"),
        name,
        summary,
        source: text.clone(),
        version: "0".to_owned(),
        digest,
    };
    Entry::loaded(about, code, Origin { key, text, files })
}

/// Knows algorithms by what a resolved experiment says of them, and runs no code: for whoever reads results.
pub(super) struct Recorded(pub(super) &'static str);

impl Loader for Recorded {
    fn key(&self) -> &'static str {
        self.0
    }

    fn load(&self, text: &str, _: &Path) -> Result<Loaded, LoadError> {
        let (text, summary) = (text.to_owned(), "was not loaded".to_owned());
        Ok(Loaded { text, summary, digest: String::new(), files: Vec::new(), code: Arc::new(Unread) })
    }
}

/// Parameters as they are written, and controllers that cannot run.
struct Unread;

impl Code for Unread {
    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn read(&self, _: &Map<String, Value>, overrides: &Map<String, Value>) -> Result<Map<String, Value>, BuildError> {
        Ok(overrides.clone())
    }

    fn prepare(
        &self,
        _: &Map<String, Value>,
        _: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        Ok(Box::new(move |_: Rng| Box::new(Absent { exact_name: Arc::clone(&exact_name), fault: None })))
    }
}

/// A controller whose code was not loaded.
struct Absent {
    exact_name: Arc<str>,
    fault: Option<Fault>,
}

impl Controller for Absent {
    fn algorithm(&self) -> &str {
        &self.exact_name
    }

    fn init(&mut self, view: &View, _: &mut Control) {
        let message = "its code was not loaded, because the experiment was only read";
        self.fault = Some(Fault::new(view, message));
    }

    fn hooks(&self) -> Hooks {
        Hooks { fault: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        control.cwnd
    }

    fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}
