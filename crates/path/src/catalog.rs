//! Catalogues: the kinds of queues and of losses by name.
//!
//! A kind is a struct of parameters that implements [`Described`]. The catalogue makes of it what others need: reading a
//! table of an experiment file, errors that name the key, the JSON Schema, the reference page, the complete form of the
//! parameters on a given link, and a [`Recipe`] by which links build the thing itself.

use crate::config::QueueLimit;
use crate::level::Level;
use dumbbell_parameters::{Parameter, Place, Problem, check, declared, nearest, read, suggest};
use dumbbell_units::{Bytes, Rate, Rng};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// The key of a table that names the kind.
pub const KIND: &str = "kind";
/// The largest level.
const MAX_LEVEL: Bytes = Bytes::new(1 << 50);

/// What parameters may follow from: the link they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkContext {
    /// Mean rate; `None` when unlimited.
    pub rate: Option<Rate>,
    /// Bandwidth-delay product, if there is one.
    pub bdp: Option<Bytes>,
    /// What the queue holds at most.
    pub limit: QueueLimit,
    /// The largest packet known to cross the link, framing included; 0 when none is.
    pub largest_packet: Bytes,
}

impl LinkContext {
    /// `level`, which is the value of `key`, in bytes; a packet counts as `packet`.
    ///
    /// # Errors
    /// The level is too large, or the link lacks what it refers to.
    pub fn bytes(&self, key: &str, level: Level, packet: Bytes) -> Result<Bytes, Problem> {
        let unknown = |missing: &str| {
            Problem::value(key, format!("{level} is unknown here: the link has no {missing}"), "write it in bytes")
        };
        let bytes = match level {
            Level::Bytes(bytes) => bytes,
            Level::Packets(packets) => Bytes::new(packets.saturating_mul(packet.as_u64())),
            Level::Time(time) => self.rate.ok_or_else(|| unknown("rate"))?.bytes_in(time),
            Level::Bdp(multiple) => {
                let bdp = self.bdp.ok_or_else(|| unknown("bandwidth-delay product"))?;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "`multiple` is not negative, and what is too large for 64 bits is above `MAX_LEVEL`, too"
                )]
                let bytes = (bdp.as_u64() as f64 * multiple).round() as u64;
                Bytes::new(bytes)
            }
        };
        if bytes > MAX_LEVEL {
            return Err(Problem::value(key, format!("a level of {level}"), format!("allowed: at most {MAX_LEVEL}")));
        }
        Ok(bytes)
    }
}

/// A name for a kind with other defaults.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name in experiment files.
    pub name: &'static str,
    /// What it is, in Markdown.
    pub summary: &'static str,
    /// Where its defaults come from.
    pub source: &'static str,
    /// The defaults that differ, each as JSON.
    pub defaults: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// Its defaults as they are written in a file.
    fn table(&self) -> Table {
        let entry = |(key, json): &(&str, &str)| Some(((*key).to_owned(), serde_json::from_str(json).ok()?));
        self.defaults.iter().filter_map(entry).collect()
    }
}

/// The parameters of one kind. Its doc comment is what people read about it.
pub trait Described: Clone + fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name in experiment files.
    const NAME: &'static str;
    /// Other names.
    const ALIASES: &'static [&'static str] = &[];
    /// Where it is defined.
    const SOURCE: &'static str;
    /// Names for it with other defaults.
    const PRESETS: &'static [Preset] = &[];

    /// Fills in every parameter that follows from the link, so that nothing is left open. What is complete stays as it is.
    ///
    /// # Errors
    /// A combination of values that cannot be meant, or that this link cannot have.
    fn resolve(self, _link: &LinkContext) -> Result<Self, Problem> {
        Ok(self)
    }

    /// The kind and its main parameters for a report.
    fn in_words(&self) -> String;
}

/// Builds any number of things of one kind, all with the same parameters.
pub struct Recipe<T> {
    kind: &'static str,
    parameters: Arc<Map<String, Value>>,
    words: Arc<str>,
    make: Arc<dyn Fn(Rng) -> T + Send + Sync>,
}

impl<T> Recipe<T> {
    /// A recipe for the kind with these parameters on a link; `make` builds it from complete parameters.
    ///
    /// # Errors
    /// What [`Described::resolve`] finds.
    pub fn new<P: Described>(
        parameters: P,
        link: &LinkContext,
        make: impl Fn(&P, Rng) -> T + Send + Sync + 'static,
    ) -> Result<Recipe<T>, Problem> {
        Ok(Recipe::complete(parameters.resolve(link)?, make))
    }

    /// The same with parameters that need no link.
    pub(crate) fn complete<P: Described>(
        parameters: P,
        make: impl Fn(&P, Rng) -> T + Send + Sync + 'static,
    ) -> Recipe<T> {
        Recipe {
            kind: P::NAME,
            parameters: Arc::new(to_map(&parameters)),
            words: parameters.in_words().into(),
            make: Arc::new(move |rng| make(&parameters, rng)),
        }
    }

    /// Name of the kind.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Every parameter with its value on this link.
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// The kind and its main parameters for a report.
    pub fn in_words(&self) -> &str {
        &self.words
    }

    /// A new one; `rng` is its only source of randomness.
    pub fn make(&self, rng: Rng) -> T {
        (self.make)(rng)
    }
}

impl<T> Clone for Recipe<T> {
    fn clone(&self) -> Recipe<T> {
        Recipe { parameters: self.parameters.clone(), words: self.words.clone(), make: self.make.clone(), ..*self }
    }
}

impl<T> fmt::Debug for Recipe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, Value::Object((*self.parameters).clone()))
    }
}

/// Two recipes are equal when they are of the same kind and have equal parameters.
impl<T> PartialEq for Recipe<T> {
    fn eq(&self, other: &Recipe<T>) -> bool {
        self.kind == other.kind && self.parameters == other.parameters
    }
}

type Table = Map<String, Value>;
type Resolve<T> = dyn Fn(&Table, &LinkContext) -> Result<Recipe<T>, Vec<Problem>> + Send + Sync;

/// One kind of a catalogue.
pub struct Kind<T> {
    /// The name in experiment files.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it is, in Markdown.
    pub summary: String,
    /// Where it is defined.
    pub source: &'static str,
    /// Names for it with other defaults.
    pub presets: &'static [Preset],
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    schema: fn(&mut SchemaGenerator) -> Schema,
    check: fn(&[Parameter], &Table) -> Vec<Problem>,
    resolve: Box<Resolve<T>>,
}

impl<T: 'static> Kind<T> {
    /// The kind with the parameters `P`, of which `make` builds it.
    pub fn new<P: Described>(make: fn(&P, Rng) -> T) -> Kind<T> {
        let description = Value::from(schemars::schema_for!(P));
        Kind {
            name: P::NAME,
            aliases: P::ALIASES,
            summary: description["description"].as_str().unwrap_or_default().to_owned(),
            source: P::SOURCE,
            presets: P::PRESETS,
            parameters: declared::<P>(),
            schema: P::json_schema,
            check: |parameters, table| match read::<P>(table) {
                Ok(read) => check(parameters, &read),
                Err(problems) => problems,
            },
            resolve: Box::new(move |table, link| {
                Recipe::new(read::<P>(table)?, link, make).map_err(|problem| vec![problem])
            }),
        }
    }

    /// The JSON Schema of its parameters.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// All its names: its own, its aliases, its presets.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        let others = self.aliases.iter().copied().chain(self.presets.iter().map(|preset| preset.name));
        std::iter::once(self.name).chain(others)
    }

    /// What a table of parameters means under a name of this kind.
    fn completed(&self, name: &str, table: &Table) -> Table {
        let preset = self.presets.iter().find(|preset| preset.name == name);
        let mut all = preset.map(Preset::table).unwrap_or_default();
        all.extend(table.clone());
        all
    }

    fn has(&self, key: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.key == key)
    }

    /// The smallest table of parameters that the kind accepts: an example of each that it requires.
    pub fn example(&self) -> Table {
        let required = self.parameters.iter().filter(|parameter| parameter.is_required || parameter.unless.is_some());
        required.filter_map(|p| Some((p.key.clone(), p.example.clone()?))).collect()
    }

    /// `{ kind = "threshold", threshold = "20packets" }`.
    fn example_in_words(&self) -> String {
        let entries: String = self.example().iter().map(|(key, value)| format!(", {key} = {value}")).collect();
        format!("{{ {KIND} = {:?}{entries} }}", self.name)
    }
}

/// Kinds by name.
pub struct Catalog<T> {
    /// What they are: "queue", "loss".
    noun: &'static str,
    kinds: Vec<Kind<T>>,
}

impl<T: 'static> Catalog<T> {
    /// A catalogue of things that are called `noun` in messages.
    pub fn new(noun: &'static str, kinds: Vec<Kind<T>>) -> Catalog<T> {
        Catalog { noun, kinds }
    }

    /// All kinds in the order of the documentation.
    pub fn kinds(&self) -> &[Kind<T>] {
        &self.kinds
    }

    /// All names, aliases and presets behind the kinds they stand for.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.kinds.iter().flat_map(Kind::names)
    }

    /// What is wrong with a table of parameters for the kind called `name`, wherever it may be used.
    pub fn check(&self, name: &str, table: &Table) -> Vec<Problem> {
        let kind = match self.find(name) {
            Ok(kind) => kind,
            Err(problem) => return vec![problem],
        };
        let (known, unknown): (Table, Table) =
            kind.completed(name, table).into_iter().partition(|(key, _)| kind.has(key));
        let unknown_keys = unknown.keys().map(|key| self.unknown_key(key, kind, name));
        let wrong = (kind.check)(&kind.parameters, &known).into_iter();
        // A misspelt key is reported as unknown, and not as missing, too.
        let wrong = wrong.filter(|problem| unknown.is_empty() || problem.place != Place::Missing);
        unknown_keys.chain(wrong.map(|problem| self.about(problem, kind))).collect()
    }

    /// The kind called `name` with these parameters on a link.
    ///
    /// # Errors
    /// Everything that is wrong with the parameters, by themselves or on this link.
    pub fn resolve(&self, name: &str, table: &Table, link: &LinkContext) -> Result<Recipe<T>, Vec<Problem>> {
        let problems = self.check(name, table);
        if !problems.is_empty() {
            return Err(problems);
        }
        let kind = self.find(name).map_err(|problem| vec![problem])?;
        (kind.resolve)(&kind.completed(name, table), link)
    }

    fn find(&self, name: &str) -> Result<&Kind<T>, Problem> {
        self.kinds.iter().find(|kind| kind.names().any(|own| own == name)).ok_or_else(|| {
            let near = nearest(name, self.names()).map_or_else(String::new, |near| format!("did you mean {near:?}? "));
            let names: Vec<String> = self.names().map(|name| format!("{name:?}")).collect();
            let message = format!("unknown {} {name:?}", self.noun);
            Problem::value(KIND, message, format!("{near}allowed: {}", names.join(", ")))
        })
    }

    /// The problem of a key that is no parameter of the kind, which the file calls `name`.
    fn unknown_key(&self, key: &str, kind: &Kind<T>, name: &str) -> Problem {
        let own = std::iter::once(KIND).chain(kind.parameters.iter().map(|parameter| parameter.key.as_str()));
        let others: Vec<&str> = self.kinds.iter().filter(|other| other.has(key)).map(|other| other.name).collect();
        let message = match &others[..] {
            [] => format!("unknown key `{key}`"),
            [one] => format!("`{key}` is no parameter of {name}, but of {one}"),
            [first @ .., last] => format!("`{key}` is no parameter of {name}, but of {} and {last}", first.join(", ")),
        };
        Problem::key(key, message, suggest(key, "allowed here", own))
    }

    /// A problem in the words of this catalogue.
    fn about(&self, problem: Problem, kind: &Kind<T>) -> Problem {
        match problem.place {
            Place::Missing => Problem {
                message: format!("this {} needs its `{}`", self.noun, problem.key),
                help: format!("write it like {}", kind.example_in_words()),
                ..problem
            },
            Place::Key | Place::Value => problem,
        }
    }
}

/// All parameters by name.
fn to_map<P: Serialize>(parameters: &P) -> Table {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
