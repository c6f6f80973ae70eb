#![doc = include_str!("../README.md")]

mod controller;
pub mod machine;
mod table;

#[allow(clippy::undocumented_unsafe_blocks, clippy::cast_possible_truncation, reason = "the file is for projects, too")]
#[path = "../contract/contract.rs"]
pub mod contract;

use dumbbell_cc::catalog::{BuildError, Builder, Code, LoadError, Loaded, Loader, digest};
use dumbbell_parameters::nearest;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use table::Opened;

/// `dumbbell_cc.h`.
pub const HEADER: &str = include_str!("../include/dumbbell_cc.h");
/// The contract as Rust sees it.
pub const CONTRACT: &str = include_str!("../contract/contract.rs");

/// Finds algorithms in shared libraries.
pub struct Libraries;

/// What has been opened in this process, by the digest of the file: a library is never opened twice, and never closed.
static OPENED: LazyLock<Mutex<HashMap<String, Arc<Opened>>>> = LazyLock::new(Mutex::default);

impl Loader for Libraries {
    fn key(&self) -> &'static str {
        "library"
    }

    fn load(&self, text: &str, folder: &Path) -> Result<Loaded, LoadError> {
        let path = folder.join(text);
        let path = std::path::absolute(&path).unwrap_or(path);
        let bytes = std::fs::read(&path).map_err(|error| LoadError {
            message: format!("cannot read the library `{text}`: {error}"),
            help: "write the path of a shared library, relative to this file; `dumbbell new-algorithm` begins one"
                .to_owned(),
        })?;
        let digest = digest(&bytes);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match opened.get(&digest) {
            Some(known) => Arc::clone(known),
            None => {
                let fresh = Arc::new(open(text, &path, &bytes, &digest)?);
                opened.insert(digest.clone(), Arc::clone(&fresh));
                fresh
            }
        };
        Ok(Loaded {
            text: path.to_string_lossy().into_owned(),
            summary: opened.summary.clone(),
            digest,
            files: vec![path],
            code: Arc::new(LibraryCode(opened)),
        })
    }
}

/// Opens a copy of the file. The loader of the system takes a path that it knows for the library that it was before.
fn open(text: &str, path: &Path, bytes: &[u8], digest: &str) -> Result<Opened, LoadError> {
    let failed = |error: &dyn std::fmt::Display| {
        LoadError {
        message: format!("cannot load the library `{text}`: {error}"),
        help: "compile a shared library for this machine that includes dumbbell_cc.h and defines `dumbbell_cc`; loading it \
               runs its code"
            .to_owned(),
    }
    };
    let extension = path.extension().map_or_else(|| "so".into(), |extension| extension.to_string_lossy());
    let name = format!("dumbbell-{}-{}.{extension}", std::process::id(), &digest[..16.min(digest.len())]);
    let copy = Removed(std::env::temp_dir().join(name));
    std::fs::write(&copy.0, bytes).map_err(|error| failed(&error))?;
    Opened::open(&copy.0).map_err(|error| failed(&error))
}

/// A file that is gone at the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        // Where a library that is open cannot be removed, the system's own folder for such files keeps it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The code of a library.
struct LibraryCode(Arc<Opened>);

impl Code for LibraryCode {
    fn schema(&self) -> Value {
        let property = |parameter: &table::Parameter| {
            let table::Parameter { name, meaning, normal, least, most } = parameter;
            let about = json!({
                "type": "number",
                "default": normal,
                "minimum": least,
                "maximum": most,
                "description": meaning,
                "x-source": "the library",
            });
            (name.clone(), about)
        };
        let properties: Map<String, Value> = self.0.parameters.iter().map(property).collect();
        json!({ "type": "object", "properties": properties })
    }

    fn read(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BuildError> {
        let names = || self.0.parameters.iter().map(|parameter| parameter.name.as_str());
        let mut read: Map<String, Value> =
            self.0.parameters.iter().map(|parameter| (parameter.name.clone(), json!(parameter.normal))).collect();
        for (key, value) in preset.iter().chain(overrides) {
            let wrong = |message: String| BuildError::Parameter { key: key.clone(), message };
            let Some(parameter) = self.0.parameters.iter().find(|parameter| parameter.name == *key) else {
                let all: Vec<_> = names().collect();
                let help = match nearest(key, names()) {
                    Some(close) => format!("did you mean `{close}`? Allowed are {}", all.join(", ")),
                    None if all.is_empty() => "it has none".to_owned(),
                    None => format!("allowed are {}", all.join(", ")),
                };
                return Err(wrong(format!("`{}` has no parameter `{key}`; {help}", self.0.name)));
            };
            let table::Parameter { least, most, .. } = parameter;
            match value.as_f64().filter(|number| (*least..=*most).contains(number)) {
                Some(number) => read.insert(key.clone(), json!(number)),
                None => return Err(wrong(format!("`{key} = {value}` must be a number from {least} to {most}"))),
            };
        }
        Ok(read)
    }

    fn prepare(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        let read = self.read(preset, overrides)?;
        let value = |parameter: &table::Parameter| read.get(&parameter.name).and_then(Value::as_f64);
        let values: Vec<f64> = self.0.parameters.iter().filter_map(value).collect();
        Ok(controller::builder(Arc::clone(&self.0), values, exact_name))
    }
}
