//! What a catalogue holds: an algorithm with its code, or a variant of one.

use super::error::{BuildError, RegisterError};
use dumbbell_cc_contract::{Algorithm, Controller, parameters};
use dumbbell_units::Rng;
use hmac_sha256::Hash;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

/// What a catalogue tells about an algorithm or a variant; the constants of [`Algorithm`], for code that is not known
/// when this is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name an experiment file uses.
    pub name: String,
    /// The exact algorithm and version.
    pub exact_name: String,
    /// One sentence on what it is.
    pub summary: String,
    /// Where it is defined.
    pub source: String,
    /// Version of the code.
    pub version: String,
    /// Digest of the code; empty where the version says it all.
    pub digest: String,
}

impl About {
    fn new([name, exact_name, summary, source, version]: [&str; 5], code: &str) -> About {
        About {
            name: name.to_owned(),
            exact_name: exact_name.to_owned(),
            summary: summary.to_owned(),
            source: source.to_owned(),
            version: version.to_owned(),
            digest: if code.is_empty() { String::new() } else { digest(code.as_bytes()) },
        }
    }
}

/// Makes controllers that share their parameters; the generator is a controller's only source of randomness.
pub type Builder = Box<dyn Fn(Rng) -> Box<dyn Controller> + Send + Sync>;

/// The code behind an entry: reads parameters and makes controllers of them. [`Algorithm`] is the convenient way to
/// write one; this is the way for algorithms that come from elsewhere, another language for example.
pub trait Code: Send + Sync {
    /// The JSON Schema of the parameters: type, `default`, `description` (meaning) and `x-source` of each property.
    fn schema(&self) -> Value;

    /// All parameters: those of `overrides`, else of `preset`, else defaults.
    ///
    /// # Errors
    /// A parameter does not exist or has an impossible value.
    fn read(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BuildError>;

    /// Prepares controllers with these parameters that answer with `exact_name`.
    ///
    /// # Errors
    /// As [`Code::read`].
    fn prepare(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError>;
}

/// The code of an [`Algorithm`].
struct Typed<A>(PhantomData<fn() -> A>);

impl<A: Algorithm> Code for Typed<A> {
    fn schema(&self) -> Value {
        schemars::schema_for!(A::Parameters).into()
    }

    fn read(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BuildError> {
        Ok(parameters::to_map(&parameters::read::<A::Parameters>(preset, overrides)?))
    }

    fn prepare(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        let parameters = Arc::new(parameters::read::<A::Parameters>(preset, overrides)?);
        Ok(Box::new(move |rng| Box::new(A::build(Arc::clone(&parameters), rng, Arc::clone(&exact_name)))))
    }
}

/// Where an entry's code comes from, if not from this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// One of [`ORIGINS`](super::ORIGINS).
    pub key: &'static str,
    /// What names it from any folder.
    pub text: String,
    /// The files that it was read from.
    pub files: Vec<PathBuf>,
}

/// One algorithm of a catalogue, or a variant: another one's code with other parameters.
#[derive(Clone)]
pub struct Entry {
    about: About,
    /// For a variant: what it starts from.
    base: Option<String>,
    /// For a variant: what differs from its base.
    overrides: Map<String, Value>,
    /// All that differs from the code's own defaults.
    preset: Map<String, Value>,
    code: Arc<dyn Code>,
    /// Where the code comes from, if not from this program.
    origin: Option<Origin>,
}

impl Entry {
    pub(super) fn of<A: Algorithm>() -> Entry {
        let about = About::new([A::NAME, A::EXACT_NAME, A::SUMMARY, A::SOURCE, A::VERSION], A::CODE);
        Entry::new(about, Arc::new(Typed::<A>(PhantomData)))
    }

    pub(super) fn new(about: About, code: Arc<dyn Code>) -> Entry {
        Entry { about, base: None, overrides: Map::new(), preset: Map::new(), code, origin: None }
    }

    pub(super) fn loaded(about: About, code: Arc<dyn Code>, origin: Origin) -> Entry {
        Entry { origin: Some(origin), ..Entry::new(about, code) }
    }

    /// A variant of this: `about` takes over version and digest.
    pub(super) fn variant(&self, about: About, overrides: Map<String, Value>) -> Result<Entry, RegisterError> {
        let mut preset = self.preset.clone();
        preset.extend(overrides.clone());
        let About { version, digest, .. } = &self.about;
        let about = About { version: version.clone(), digest: digest.clone(), ..about };
        let base = Some(self.about.name.clone());
        let variant = Entry { about, base, overrides, preset, code: self.code(), origin: self.origin.clone() };
        match variant.prepare(&Map::new()) {
            Ok(_) => Ok(variant),
            Err(error) => Err(RegisterError::Variant { name: variant.about.name, error }),
        }
    }

    /// Names, version and what it is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The name an experiment file uses.
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// The exact algorithm and version.
    pub fn exact_name(&self) -> &str {
        &self.about.exact_name
    }

    /// For a variant: the algorithm or variant it starts from.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// For a variant: the parameters that differ from its base, and their values.
    pub fn overrides(&self) -> &Map<String, Value> {
        &self.overrides
    }

    /// Where its code comes from, if not from this program.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// What results depend on besides parameters: exact name, version and digest of the code in one line.
    pub fn identity(&self) -> String {
        let About { exact_name, version, digest, .. } = &self.about;
        let mut identity = format!("{exact_name} {version}");
        if !digest.is_empty() {
            let _ = write!(identity, " {digest}");
        }
        identity
    }

    /// All parameters with their values: `overrides` where given, defaults elsewhere.
    ///
    /// # Errors
    /// A parameter does not exist or has an impossible value.
    pub fn parameters(&self, overrides: &Map<String, Value>) -> Result<Map<String, Value>, BuildError> {
        self.code.read(&self.preset, overrides)
    }

    /// The JSON Schema of the parameters: types, defaults, meaning and source (`x-source`) of each. A variant's
    /// defaults are its own.
    pub fn parameter_schema(&self) -> Value {
        let mut schema = self.code.schema();
        // The entry was read when it was registered.
        let defaults = self.parameters(&Map::new()).unwrap_or_default();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for key in self.preset.keys() {
                if let (Some(Value::Object(property)), Some(default)) = (properties.get_mut(key), defaults.get(key)) {
                    property.insert("default".to_owned(), default.clone());
                }
            }
        }
        schema
    }

    /// Everything that there is to say about it as one JSON object.
    pub fn describe(&self) -> Value {
        let About { name, exact_name, summary, source, version, .. } = &self.about;
        json!({
            "name": name,
            "exact_name": exact_name,
            "version": version,
            "base": self.base,
            "summary": summary,
            "source": source,
            "parameters": self.parameter_schema(),
        })
    }

    /// The code behind it, which another catalogue may register under other names.
    pub fn code(&self) -> Arc<dyn Code> {
        Arc::clone(&self.code)
    }

    pub(super) fn prepare(&self, overrides: &Map<String, Value>) -> Result<Builder, BuildError> {
        self.code.prepare(&self.preset, overrides, self.about.exact_name.as_str().into())
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("about", &self.about).field("preset", &self.preset).finish_non_exhaustive()
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Hash::hash(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
