//! Every algorithm and every variant by name.
//!
//! A [`Catalog`] finds the code behind the name that an experiment file uses. [`Catalog::builtin`] holds what comes
//! with this crate; a program adds its own with one line, and they are as good as the built-in ones wherever a
//! catalogue goes:
//!
//! ```
//! # use dumbbell_cc::{Algorithm, Catalog, Control, Controller, View, parameters::NoParameters};
//! # use dumbbell_units::Rng;
//! # use std::sync::Arc;
//! /// Keeps its window whatever happens.
//! struct Stubborn(Arc<str>);
//!
//! impl Controller for Stubborn {
//!     fn algorithm(&self) -> &str {
//!         &self.0
//!     }
//!     fn init(&mut self, _: &View, control: &mut Control) {
//!         control.cwnd = 20;
//!     }
//!     fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
//!         control.cwnd
//!     }
//! }
//!
//! impl Algorithm for Stubborn {
//!     type Parameters = NoParameters;
//!     const NAME: &str = "stubborn";
//!     const EXACT_NAME: &str = "stubborn-1";
//!     const SUMMARY: &str = "keeps 20 packets in flight";
//!     const SOURCE: &str = "this page";
//!     const VERSION: &str = "1";
//!     fn build(_: Arc<NoParameters>, _: Rng, exact_name: Arc<str>) -> Stubborn {
//!         Stubborn(exact_name)
//!     }
//! }
//!
//! let mut catalog = Catalog::builtin().clone();
//! catalog.register::<Stubborn>()?;
//! let recipe = catalog.recipe("stubborn", &Default::default())?;
//! assert_eq!(recipe.controller(Rng::new(1)).algorithm(), "stubborn-1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;
mod error;
mod loader;
mod preset;
mod recipe;

pub use entry::{About, Builder, Code, Entry, Origin, digest};
pub use error::{BuildError, LoadError, RegisterError};
pub use loader::{DIGEST, Loaded, Loader, ORIGINS};
pub use recipe::Recipe;

use crate::bbr1::Bbr1;
use crate::bbr2::Bbr2;
use crate::classic::{
    bic::Bic, cdg::Cdg, copa::Copa, cubic_picoquic::CubicPicoquic, cubic_rfc::CubicRfc, dctcp::Dctcp,
    highspeed::HighSpeed, htcp::Htcp, hybla::Hybla, illinois::Illinois, ledbat::Ledbat, ledbat_pp::LedbatPlusPlus,
    lp::Lp, nv::Nv, prague::Prague, scalable::Scalable, vegas::Vegas, veno::Veno, westwood::Westwood, yeah::Yeah,
};
use crate::cubic::Cubic;
use crate::reno::Reno;
use dumbbell_cc_contract::{Algorithm, Controller};
use dumbbell_parameters::nearest;
use dumbbell_units::Rng;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Algorithms and variants by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Arc<Entry>>,
    loaders: Vec<Arc<dyn Loader>>,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("entries", &self.entries).finish_non_exhaustive()
    }
}

static BUILTIN: LazyLock<Catalog> = LazyLock::new(|| {
    let mut catalog = Catalog::default();
    let mut all = || {
        catalog.register::<Bbr1>()?;
        catalog.register::<Bbr2>()?;
        catalog.register::<Cubic>()?;
        catalog.register::<Reno>()?;
        catalog.register::<Bic>()?;
        catalog.register::<Cdg>()?;
        catalog.register::<Dctcp>()?;
        catalog.register::<HighSpeed>()?;
        catalog.register::<Htcp>()?;
        catalog.register::<Hybla>()?;
        catalog.register::<Illinois>()?;
        catalog.register::<Nv>()?;
        catalog.register::<Scalable>()?;
        catalog.register::<Vegas>()?;
        catalog.register::<Veno>()?;
        catalog.register::<Westwood>()?;
        catalog.register::<Yeah>()?;
        catalog.register::<Ledbat>()?;
        catalog.register::<LedbatPlusPlus>()?;
        catalog.register::<Copa>()?;
        catalog.register::<CubicRfc>()?;
        catalog.register::<CubicPicoquic>()?;
        catalog.register::<Lp>()?;
        catalog.register::<Prague>()?;
        catalog.register_variants(include_str!("../bbr2/presets.toml"))
    };
    all().expect("the names of what is built in differ");
    catalog
});

impl Catalog {
    /// What comes with this crate.
    pub fn builtin() -> &'static Catalog {
        &BUILTIN
    }

    /// Adds an algorithm.
    ///
    /// # Errors
    /// Its names are taken or no names.
    pub fn register<A: Algorithm>(&mut self) -> Result<(), RegisterError> {
        self.add(Entry::of::<A>())
    }

    /// Adds an algorithm whose code is not a Rust type.
    ///
    /// # Errors
    /// Its names are taken or no names.
    pub fn register_code(&mut self, about: About, code: Arc<dyn Code>) -> Result<(), RegisterError> {
        self.add(Entry::new(about, code))
    }

    /// Adds variants, given as TOML: a list `preset` of tables with `name`, `exact_name`, `base` (an algorithm or a
    /// variant of this catalogue, or one above it in the list), `summary`, `source` and `overrides`. Those before a
    /// wrong one are kept.
    ///
    /// # Errors
    /// The text cannot be read, a name is taken, or a base is unknown or has no such parameters.
    pub fn register_variants(&mut self, toml: &str) -> Result<(), RegisterError> {
        for preset::Preset { name, exact_name, base, summary, source, overrides } in preset::read(toml)? {
            let base = self.find(&base).map_err(|error| RegisterError::Variant { name: name.clone(), error })?;
            let about = About { name, exact_name, summary, source, ..About::default() };
            self.add(base.variant(about, overrides)?)?;
        }
        Ok(())
    }

    /// Puts other code behind the name of an algorithm, which keeps its place and what is told about it.
    ///
    /// # Errors
    /// There is no such algorithm.
    pub fn replace_code(&mut self, name: &str, code: Arc<dyn Code>) -> Result<(), RegisterError> {
        let unknown = |error| RegisterError::Variant { name: name.to_owned(), error };
        let about = self.find(name).map_err(unknown)?.about().clone();
        let place = self.entries.iter_mut().find(|entry| entry.name() == about.name);
        if let Some(entry) = place {
            *entry = Arc::new(Entry::new(about, code));
        }
        Ok(())
    }

    /// Adds a way to find algorithms in files, in place of another one for the same key.
    pub fn register_loader(&mut self, loader: Arc<dyn Loader>) {
        self.loaders.retain(|other| other.key() != loader.key());
        self.loaders.push(loader);
    }

    /// For whoever only reads what others ran: algorithms of files are known by name and digest, and no code of theirs
    /// runs.
    #[must_use]
    pub fn without_loading(&self) -> Catalog {
        let mut catalog = self.clone();
        for key in ORIGINS {
            catalog.register_loader(Arc::new(loader::Recorded(key)));
        }
        catalog
    }

    /// The algorithm that `text` names for the loader of `key`. Names of files are relative to `folder`. It must have
    /// the `digest`, if one is given.
    ///
    /// # Errors
    /// There is no such loader or algorithm, its code is wrong, or it has another digest.
    pub fn load(&self, key: &str, text: &str, folder: &Path, digest: Option<&str>) -> Result<Arc<Entry>, LoadError> {
        let Some(loader) = self.loaders.iter().find(|loader| loader.key() == key) else {
            return Err(LoadError {
                message: format!("this program cannot load algorithms by `{key}`"),
                help: "register a loader with the catalogue, or use the Python package, which has one".to_owned(),
            });
        };
        let mut loaded = loader.load(text, folder)?;
        match digest {
            Some(expected) if loaded.digest.is_empty() => expected.clone_into(&mut loaded.digest),
            Some(expected) if loaded.digest != expected => {
                return Err(LoadError {
                    message: format!("`{text}` is not the code that the experiment was written for"),
                    help: format!(
                        "bring its state of then back, or leave `{DIGEST}` out to run what it is now; its digest is {}",
                        loaded.digest
                    ),
                });
            }
            _ => {}
        }
        Ok(Arc::new(loader::entry(loader.key(), loaded)))
    }

    fn add(&mut self, entry: Entry) -> Result<(), RegisterError> {
        for name in [entry.name(), entry.exact_name()] {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_graphic()) {
                return Err(RegisterError::Name { name: name.to_owned() });
            }
            if let Some(other) = self.entry(name) {
                return Err(RegisterError::Taken { name: name.to_owned(), by: other.exact_name().to_owned() });
            }
        }
        self.entries.push(Arc::new(entry));
        Ok(())
    }

    /// All algorithms and variants in the order in which they were registered.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> + Clone {
        self.entries.iter().map(|entry| &**entry)
    }

    /// Names for experiment files, in the same order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.entries().map(Entry::name)
    }

    fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.name() == name || entry.exact_name() == name)
    }

    fn known(&self, name: &str) -> Result<&Arc<Entry>, BuildError> {
        self.entry(name).ok_or_else(|| {
            let all: Vec<&str> = self.names().collect();
            let help = match nearest(name, self.names()) {
                Some(close) => format!("did you mean `{close}`? Allowed are {}", all.join(", ")),
                None => format!("allowed are {}", all.join(", ")),
            };
            BuildError::UnknownAlgorithm { name: name.to_owned(), help }
        })
    }

    /// Whether there is an algorithm or variant called `name`, short or exact.
    pub fn contains(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// The algorithm or variant called `name`, short or exact.
    ///
    /// # Errors
    /// There is none; the error tells the nearest.
    pub fn find(&self, name: &str) -> Result<&Entry, BuildError> {
        self.known(name).map(|entry| &**entry)
    }

    /// What [`Catalog::find`] finds, for whoever keeps it.
    ///
    /// # Errors
    /// As [`Catalog::find`].
    pub fn shared(&self, name: &str) -> Result<Arc<Entry>, BuildError> {
        self.known(name).cloned()
    }

    /// How to build controllers named `name` with `parameters` in place of their defaults.
    ///
    /// # Errors
    /// There is no such algorithm, or a parameter does not exist or has an impossible value.
    pub fn recipe(&self, name: &str, parameters: &Map<String, Value>) -> Result<Recipe, BuildError> {
        Recipe::new(Arc::clone(self.known(name)?), parameters)
    }

    /// A controller named `name` with `parameters` in place of its defaults; `rng` is its only source of randomness.
    ///
    /// # Errors
    /// As [`Catalog::recipe`].
    pub fn build(
        &self,
        name: &str,
        parameters: &Map<String, Value>,
        rng: Rng,
    ) -> Result<Box<dyn Controller>, BuildError> {
        self.recipe(name, parameters).map(|recipe| recipe.controller(rng))
    }

    /// Everything that there is to say about every entry, as a JSON array of [`Entry::describe`].
    pub fn describe(&self) -> Value {
        self.entries().map(Entry::describe).collect()
    }
}

#[cfg(test)]
mod tests;
