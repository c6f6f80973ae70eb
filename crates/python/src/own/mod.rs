//! Algorithms of one's own: classes in Python, which `dumbbell.own` finds and checks.

mod class;
mod compiled;
mod conn;
mod controller;
mod events;

pub use compiled::machine_contract;
pub use conn::Conn;
pub use events::{Ack, Loss, Stream};

pub use class::is_compiled;
use class::{Class, PythonCode};
use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::{LoadError, Loaded, Loader};
use dumbbell_gym::{Converter, PolicyLoader};
use dumbbell_library::Libraries;
use pyo3::prelude::*;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// All algorithms, and whatever can be loaded.
pub static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let mut catalog = dumbbell_cc_family::catalog().clone();
    #[cfg(feature = "quic")]
    dumbbell_quic::register(&mut catalog).unwrap_or_else(|error| unreachable!("the names of noq are its own: {error}"));
    catalog.register_loader(Arc::new(Classes));
    catalog.register_loader(Arc::new(Libraries));
    catalog.register_loader(Arc::new(PolicyLoader { converter: Some(Box::new(Onnx)) }));
    catalog
});

/// All algorithms, for whoever reads results: nothing is loaded.
pub static KNOWN: LazyLock<Catalog> = LazyLock::new(|| CATALOG.without_loading());

/// The key of classes in experiment files.
pub const KEY: &str = "python";

/// Loads `FILE:CLASS`.
struct Classes;

impl Loader for Classes {
    fn key(&self) -> &'static str {
        KEY
    }

    fn load(&self, text: &str, folder: &Path) -> Result<Loaded, LoadError> {
        Python::attach(|py| {
            let load = || {
                let own = py.import("dumbbell.own")?;
                let algorithm = own.call_method1("load", (text, folder.to_string_lossy()))?;
                let files: Vec<String> = algorithm.getattr("files")?.extract()?;
                Ok(Loaded {
                    text: algorithm.getattr("text")?.extract()?,
                    summary: algorithm.getattr("summary")?.extract()?,
                    digest: algorithm.getattr("digest")?.extract()?,
                    files: files.into_iter().map(Into::into).collect(),
                    code: Arc::new(PythonCode(Arc::new(Class::new(&algorithm)?))),
                })
            };
            load().map_err(|error: PyErr| refusal(py, &error))
        })
    }
}

/// Reads ONNX, which Python has a library for.
struct Onnx;

impl Converter for Onnx {
    fn ending(&self) -> &'static str {
        ".onnx"
    }

    fn converted(&self, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
        Python::attach(|py| {
            let convert = || py.import("dumbbell.onnx_policy")?.call_method1("converted", (bytes,))?.extract();
            convert().map_err(|error: PyErr| refusal(py, &error))
        })
    }
}

/// The error of what Python loads, with what would be right.
fn refusal(py: Python<'_>, error: &PyErr) -> LoadError {
    let attribute = |name: &str| error.value(py).getattr(name).and_then(|text| text.extract::<String>());
    match (attribute("message"), attribute("help")) {
        (Ok(message), Ok(help)) => LoadError { message, help },
        _ => LoadError { message: format!("the algorithm could not be loaded: {error}"), help: String::new() },
    }
}
