//! Catalogues: the kinds of something by name, such as the queues that a link can have.
//!
//! A kind is a struct of parameters that implements [`Described`]. The catalogue makes of it what others need: reading
//! a table of an experiment file, errors that name the key, the JSON Schema, the reference page, the complete form of
//! the parameters where they are used, and a [`Recipe`] by which the thing itself is built.
//!
//! What parameters may follow from, a link for example, is the context `C`. This crate knows nothing of it.

use crate::check::check;
use crate::declaration::{Parameter, declared_by};
use crate::problem::{Place, Problem, nearest, suggest};
use crate::read::read;
use dumbbell_units::Rng;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// The key of a table that names the kind.
pub const KIND: &str = "kind";

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
pub trait Described<C>: Clone + fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name in experiment files.
    const NAME: &'static str;
    /// Other names.
    const ALIASES: &'static [&'static str] = &[];
    /// Where it is defined.
    const SOURCE: &'static str;
    /// Names for it with other defaults.
    const PRESETS: &'static [Preset] = &[];

    /// Fills in every parameter that follows from the context, so that nothing is left open. What is complete stays as
    /// it is.
    ///
    /// # Errors
    /// A combination of values that cannot be meant, or that cannot be there.
    fn resolve(self, _context: &C) -> Result<Self, Problem> {
        Ok(self)
    }

    /// The kind and its main parameters for a report.
    fn in_words(&self) -> String;
}

/// Things that parameters of the type `P` make.
pub trait MadeOf<P>: Sized {
    /// A new one with these parameters, which are complete; `rng` is its only source of randomness.
    fn made_of(parameters: &P, rng: Rng) -> Self;
}

/// Things of which one kind is meant where none is given.
pub trait Usual: Sized {
    /// That kind.
    fn usual() -> Recipe<Self>;
}

/// Builds any number of things of one kind, all with the same parameters.
pub struct Recipe<T> {
    kind: &'static str,
    parameters: Arc<Map<String, Value>>,
    words: Arc<str>,
    make: Arc<dyn Fn(Rng) -> T + Send + Sync>,
}

impl<T> Recipe<T> {
    /// A recipe for the kind with these parameters in their context; `make` builds it from complete parameters.
    ///
    /// # Errors
    /// What [`Described::resolve`] finds.
    pub fn new<C, P: Described<C>>(
        parameters: P,
        context: &C,
        make: impl Fn(&P, Rng) -> T + Send + Sync + 'static,
    ) -> Result<Recipe<T>, Problem> {
        Ok(Recipe::complete(parameters.resolve(context)?, make))
    }

    /// A recipe for what the parameters make in their context.
    ///
    /// # Errors
    /// What [`Described::resolve`] finds.
    pub fn of<C, P: Described<C>>(parameters: P, context: &C) -> Result<Recipe<T>, Problem>
    where
        T: MadeOf<P> + 'static,
    {
        Recipe::new(parameters, context, T::made_of)
    }

    /// A recipe for the kind with parameters that are complete.
    pub fn complete<C, P: Described<C>>(
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

    /// Every parameter with its value.
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

impl<T: Usual> Default for Recipe<T> {
    fn default() -> Recipe<T> {
        T::usual()
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
type Resolve<T, C> = dyn Fn(&Table, &C) -> Result<Recipe<T>, Vec<Problem>> + Send + Sync;

/// One kind of a catalogue.
pub struct Kind<T, C> {
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
    resolve: Box<Resolve<T, C>>,
}

impl<T: 'static, C: 'static> Kind<T, C> {
    /// The kind with the parameters `P`, of which `make` builds it.
    pub fn new<P: Described<C>>(make: fn(&P, Rng) -> T) -> Kind<T, C> {
        let description = Value::from(schemars::schema_for!(P));
        Kind {
            name: P::NAME,
            aliases: P::ALIASES,
            summary: description["description"].as_str().unwrap_or_default().to_owned(),
            source: P::SOURCE,
            presets: P::PRESETS,
            parameters: declared_by(&description),
            schema: P::json_schema,
            check: |parameters, table| match read::<P>(table) {
                Ok(read) => check(parameters, &read),
                Err(problems) => problems,
            },
            resolve: Box::new(move |table, context| {
                Recipe::new(read::<P>(table)?, context, make).map_err(|problem| vec![problem])
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
pub struct Catalog<T, C> {
    /// What they are: "queue", "loss".
    noun: &'static str,
    kinds: Vec<Kind<T, C>>,
}

impl<T: 'static, C: 'static> Catalog<T, C> {
    /// A catalogue of things that are called `noun` in messages.
    pub fn new(noun: &'static str, kinds: Vec<Kind<T, C>>) -> Catalog<T, C> {
        Catalog { noun, kinds }
    }

    /// All kinds in the order of the documentation.
    pub fn kinds(&self) -> &[Kind<T, C>] {
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

    /// The kind called `name` with these parameters in their context.
    ///
    /// # Errors
    /// Everything that is wrong with the parameters, by themselves or there.
    pub fn resolve(&self, name: &str, table: &Table, context: &C) -> Result<Recipe<T>, Vec<Problem>> {
        let problems = self.check(name, table);
        if !problems.is_empty() {
            return Err(problems);
        }
        let kind = self.find(name).map_err(|problem| vec![problem])?;
        (kind.resolve)(&kind.completed(name, table), context)
    }

    fn find(&self, name: &str) -> Result<&Kind<T, C>, Problem> {
        self.kinds.iter().find(|kind| kind.names().any(|own| own == name)).ok_or_else(|| {
            let near = nearest(name, self.names()).map_or_else(String::new, |near| format!("did you mean {near:?}? "));
            let names: Vec<String> = self.names().map(|name| format!("{name:?}")).collect();
            let message = format!("unknown {} {name:?}", self.noun);
            Problem::value(KIND, message, format!("{near}allowed: {}", names.join(", ")))
        })
    }

    /// The problem of a key that is no parameter of the kind, which the file calls `name`.
    fn unknown_key(&self, key: &str, kind: &Kind<T, C>, name: &str) -> Problem {
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
    fn about(&self, problem: Problem, kind: &Kind<T, C>) -> Problem {
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
pub fn to_map<P: Serialize>(parameters: &P) -> Table {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
