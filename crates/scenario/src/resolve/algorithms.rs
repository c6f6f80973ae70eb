//! What governs a flow: controllers, presets, and the parameters of its endpoints.

use super::{Context, Given, ProtocolTable, top};
use crate::decode::decode;
use crate::error::{Problems, suggest};
use crate::explain::parameters::flatten;
use crate::file::{CcSpec, FlowSpec, LIBRARY, PROFILE, Preset};
use crate::key_path::KeyPath;
use crate::program::Unknown;
use crate::tree::{Entry, Node, Value};
use dumbbell_cc::catalog::{BuildError, LoadError};
use dumbbell_cc::{Catalog, Controller, Recipe, StandIn, StandsFor};
use dumbbell_parameters::Problem;
use dumbbell_transport::real_time::OwnRule;
use dumbbell_transport::udp::Unresponsive;
use dumbbell_transport::{Protocol, TransportConfig};
use dumbbell_units::Rng;
use serde_json::Map;
use std::sync::Arc;

/// How a file writes what only commands spell as one text: `bbr:drain_gain=0.5`, and the files of one's own algorithms.
/// `key` is the one of a table that holds the text; without a table, the text stands for the whole.
fn of_a_command(text: &str, key: Option<&str>, known: &[&str]) -> Option<String> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let table = |inside: &str| if key.is_none() { format!("{{ {inside} }}") } else { inside.to_owned() };
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if ending.starts_with(|c: char| c.is_ascii_alphabetic()) && ending.chars().all(|c| c.is_ascii_alphanumeric()) {
        let [class, library, agent] =
            ["python = \"mine.py:Mine\"", "library = \"./libmine.so\"", "policy = \"agent.npz\""].map(table);
        return Some(format!("for your own write {class} for a class, {library} for a library, {agent} for an agent"));
    }
    if given.is_empty() || !known.contains(&name) {
        return None;
    }
    let parameter = |pair: &str| {
        let (parameter, value) = pair.split_once('=').filter(|(parameter, _)| !parameter.is_empty())?;
        let is_toml = serde_json::from_str::<serde_json::Value>(value).is_ok_and(|value| !value.is_null());
        Some(if is_toml { format!("{parameter} = {value}") } else { format!("{parameter} = {value:?}") })
    };
    let parameters = given.split(':').map(parameter).collect::<Option<Vec<_>>>()?.join(", ");
    Some(format!("write {}", table(&format!("{} = {name:?}, {parameters}", key.unwrap_or("name")))))
}

/// In front of an algorithm's name: on the running kernel, our own program of it.
pub(crate) const BPF: &str = "bpf:";
/// The algorithms that are there as programs for the kernel.
pub const BPF_ALGORITHMS: [&str; 3] = ["bbr-acd", "bbrplus", "scalable"];

impl Context<'_> {
    /// Checks presets by themselves, used or not.
    pub(super) fn presets(&mut self) {
        let Some(presets) = &self.file.presets else { return };
        for (name, preset) in presets {
            let at = top("presets").key(name);
            if self.catalog.contains(name) {
                let message = format!("the preset `{name}` has the name of an algorithm");
                self.report.key(&at, message, "choose another name");
            }
            let Preset(base) = preset;
            self.expand(base, &[(at.clone(), base.key("base"))], Some(name));
        }
    }

    /// What governs a flow with these endpoints. Of those that are refused only the profile is known.
    pub(super) fn governor(
        &mut self,
        spec: &FlowSpec,
        transport: Option<&TransportConfig>,
        at: &KeyPath,
    ) -> Option<Arc<Recipe>> {
        if spec.program.is_some() {
            return stand_in::<Unknown>();
        }
        let profile = TransportConfig::profile(self.profile(spec));
        let protocol = transport.or(profile.as_ref())?.protocol;
        if let Some(why) = protocol.why_uncontrolled() {
            return self.no_algorithm(spec, protocol, why, at);
        }
        let recipe = self.algorithm(spec, at)?;
        transport.is_none_or(|transport| self.meets_needs(&recipe, transport, at)).then_some(recipe)
    }

    /// Whether the endpoints have what the controller needs; one that misses something would be another algorithm.
    fn meets_needs(&mut self, recipe: &Recipe, transport: &TransportConfig, at: &KeyPath) -> bool {
        let controller = recipe.controller(Rng::new(0));
        let needs = controller.needs();
        let has_timestamps = transport.has_timestamps();
        let has_marks = transport.ecn.with(controller.ecn()).is_on();
        let name = recipe.name();
        let (message, help) = if needs.timestamps && !has_timestamps {
            (
                format!("`{name}` measures by TCP's timestamps, which these endpoints do not send"),
                format!(
                    "choose transport = \"tcp\" with timestamps = true; `dumbbell cc show {name}` lists what it can measure by \
                     instead"
                ),
            )
        } else if needs.marks && !has_marks {
            (
                format!("`{name}` is to answer congestion marks in a way of its own, but these endpoints use none"),
                "add `transport = { ecn = true }`, or leave `beta_ecn` out".to_owned(),
            )
        } else if let Some(refusal) = refusal_of_library(transport, &*controller) {
            refusal
        } else {
            return true;
        };
        self.report.key(&at.key("cc"), message, help);
        false
    }

    /// What a flow of datagrams has in the place of an algorithm, and `why`.
    fn no_algorithm(
        &mut self,
        spec: &FlowSpec,
        protocol: Protocol,
        (why, instead): (&str, &str),
        at: &KeyPath,
    ) -> Option<Arc<Recipe>> {
        let recipe = if protocol.has_own_rule() { stand_in::<OwnRule>()? } else { stand_in::<Unresponsive>()? };
        if spec.cc.as_ref().is_some_and(|cc| cc.name != recipe.name()) {
            let help = "leave `cc` out, or choose endpoints that a controller can govern";
            self.report.key(&at.key("cc"), why, help);
            return None;
        }
        if protocol.has_application() {
            if spec.rates().next().is_none() {
                let help = "add `rate`, for example rate = \"5mbit\"";
                self.report.value(at, "an unresponsive flow needs the rate at which it sends", help);
                return None;
            }
            return Some(recipe);
        }
        let given = [("bytes", spec.bytes.is_some()), ("rate", spec.rate.is_some()), ("app", spec.app.is_some())];
        let key = given.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key);
        if let Some(key) = key {
            let message = format!("`{key}` means nothing over \"{}\", which has no application", protocol.name());
            self.report.key(&at.key(key), message, instead);
        }
        key.is_none().then_some(recipe)
    }

    fn algorithm(&mut self, spec: &FlowSpec, at: &KeyPath) -> Option<Arc<Recipe>> {
        let Some(cc) = &spec.cc else {
            self.report.value(at, "the flow has no congestion controller", "add `cc`, for example cc = \"bbr\"");
            return None;
        };
        let place = (at.key("cc"), cc.key("name"));
        let Some(name) = cc.name.strip_prefix(BPF) else { return self.expand(cc, &[place], None) };
        if !BPF_ALGORITHMS.contains(&name) {
            let (table, key) = place;
            let at = if self.report.tree.get(&table.key(key)).is_some() { table.key(key) } else { table };
            let help = format!("allowed: {}", BPF_ALGORITHMS.map(|name| format!("{BPF}{name}")).join(", "));
            self.report.value(&at, format!("there is no program `{}` for the kernel", cc.name), help);
            return None;
        }
        let cc = CcSpec { name: name.to_owned(), ..cc.clone() };
        self.expand(&cc, &[place], None)
    }

    /// Follows presets down to a registered algorithm, and has it check the parameters. `places` are the tables that
    /// hold parameters with the key that names what they belong to.
    pub(super) fn expand(
        &mut self,
        cc: &CcSpec,
        places: &[(KeyPath, &str)],
        starts_at: Option<&str>,
    ) -> Option<Arc<Recipe>> {
        let mut places = places.to_vec();
        let (mut name, mut elsewhere) = (cc.name.as_str(), cc.elsewhere.as_ref());
        let preset = |name: &str| self.file.presets.as_ref().and_then(|presets| presets.get(name));
        let mut parameters = cc.parameters.clone();
        let mut seen: Vec<&str> = starts_at.into_iter().collect();
        while elsewhere.is_none()
            && let Some(Preset(base)) = preset(name)
        {
            if seen.contains(&name) {
                let message = format!("the preset `{name}` is based on itself");
                self.report.value(&top("presets").key(name).key("base"), message, "a base must end at an algorithm");
                return None;
            }
            seen.push(name);
            for (key, value) in &base.parameters {
                parameters.entry(key.clone()).or_insert_with(|| value.clone());
            }
            places.push((top("presets").key(name), base.key("base")));
            (name, elsewhere) = (&base.name, base.elsewhere.as_ref());
        }
        let error = match self.loader.recipe(self.catalog, name, elsewhere, &parameters) {
            Ok(recipe) => return Some(recipe),
            Err(error) => error,
        };
        let tree = self.report.tree;
        match error {
            BuildError::UnknownAlgorithm { name, .. } => {
                let known: Vec<&str> =
                    self.catalog.names().chain(self.file.presets.iter().flatten().map(|p| p.0.as_str())).collect();
                let (table, key) = places.last().cloned()?;
                let at = table.key(key);
                let key = tree.get(&at).is_some().then_some(key);
                let at = if key.is_some() { at } else { table };
                let help = of_a_command(&name, key, &known).unwrap_or_else(|| suggest(&name, "allowed", known));
                self.report.value(&at, format!("unknown algorithm `{name}`"), help);
            }
            BuildError::Parameter { key, message } => {
                let holder = places.iter().map(|(table, _)| table.key(&key)).find(|at| tree.get(at).is_some());
                let entry = self.loader.entry(self.catalog, name, elsewhere);
                let defaults = entry.and_then(|entry| entry.parameters(&Default::default()));
                let known: Vec<String> = defaults.unwrap_or_default().into_iter().map(|(name, _)| name).collect();
                match holder.filter(|_| !key.is_empty()) {
                    Some(at) if !known.contains(&key) => {
                        // Code from elsewhere may know better what was meant.
                        let help = match elsewhere {
                            Some(_) if !message.starts_with("unknown parameter") => message,
                            _ => suggest(&key, "allowed", known.iter().map(String::as_str)),
                        };
                        self.report.key(&at, format!("{name} has no parameter `{key}`"), help);
                    }
                    Some(at) => self.report.value(&at, message, format!("a parameter of {name}")),
                    None => self.report.value(&places.first()?.0.clone(), message, format!("parameters of {name}")),
                }
            }
            BuildError::Load(LoadError { message, help }) => {
                let (table, key) = places.last().cloned()?;
                self.report.value(&table.key(key), message, help);
            }
        }
        None
    }

    /// The parameters that the file gives for a flow: in the entry itself, in the presets that it names, in the file's
    /// `[transport]`.
    pub(super) fn given(&self, spec: &FlowSpec, entry: usize) -> Given {
        let mut algorithm = Vec::new();
        let mut next = spec.cc.as_ref();
        while let Some(cc) = next {
            algorithm.extend(cc.parameters.keys().cloned());
            let presets = self.file.presets.as_ref().filter(|_| cc.elsewhere.is_none());
            next = presets.and_then(|presets| presets.get(&cc.name)).map(|Preset(base)| base);
        }
        let own = top("flows").index(entry).key("transport");
        let mut transport = Map::new();
        for layer in [top("transport"), own].iter().filter_map(|at| self.report.tree.get(at)) {
            flatten("", &layer.to_json(), &mut transport);
        }
        Given { algorithm, transport: transport.into_iter().map(|(key, _)| key).collect() }
    }

    /// The ready-made endpoints that a flow's parameters start from: its own, or the file's, or Linux's TCP.
    pub(super) fn profile(&self, spec: &FlowSpec) -> &'static str {
        let given = [spec.transport, self.file.transport].into_iter().flatten().find_map(|t| t.profile);
        given.unwrap_or(TransportConfig::PROFILES[0])
    }

    /// The endpoint parameters of a flow: those of the profile, the file's `[transport]`, the flow's own.
    pub(super) fn transport(&mut self, spec: &FlowSpec, at: &KeyPath) -> Option<TransportConfig> {
        let (own_at, file_at) = (at.key("transport"), top("transport"));
        let tree = self.report.tree;
        let layers = [tree.get(&file_at), tree.get(&own_at)].into_iter().flatten();
        let layers: Vec<&Node> = layers.filter(|layer| matches!(layer.value, Value::Table(_))).collect();
        let profile = self.profile(spec);
        let key = layers.iter().fold(profile.to_owned(), |key, layer| format!("{key} {}", layer.to_json()));
        if let Some(known) = self.loader.transport(&key) {
            return Some(self.with_its_tables(known, &own_at));
        }
        let has_mss = layers.iter().any(|layer| layer.entry("mss").is_some());
        let ready_made = Node::from_json(&serde_json::to_value(TransportConfig::profile(profile)?).ok()?);
        let mut merged = layers.iter().fold(ready_made, |under, layer| merge(&under, layer));
        merged.take(PROFILE);
        // All layers have been decoded before, so that this cannot find anything new.
        let mut config: TransportConfig = decode(&merged, &mut Problems::default())?;
        if !has_mss {
            config.fill_segments();
        }
        let mut problems = config.check();
        problems.extend(layers.iter().flat_map(|layer| unheeded(&config, &layer.to_json())));
        problems.extend(of_another_profile(&config, profile));
        if problems.is_empty() {
            self.loader.keep_transport(key, &config);
            return Some(self.with_its_tables(config, &own_at));
        }
        for problem in problems {
            let is_own = tree.get(&own_at.keys(&problem.key)).is_some();
            self.report.parameters(if is_own { &own_at } else { &file_at }, [problem]);
        }
        None
    }

    /// The parameters without what these endpoints do not read; notes what of that the file gives for them.
    fn with_its_tables(&mut self, given: TransportConfig, own_at: &KeyPath) -> TransportConfig {
        let mut config = given.clone();
        let has_unread = config.forget_unread();
        let is_of_tcp = config.protocol.reads_all_of_tcp();
        let unread = (has_unread && !is_of_tcp).then(|| (given.to_json(), config.to_json()));
        for at in [&top("transport"), own_at] {
            for (table, profile) in Protocol::TABLES {
                let at = at.key(table);
                let Some(node) = self.report.tree.get(&at) else { continue };
                let is_read = config.protocol.reads(table);
                if is_read || has_unread && changes(&given, table, &node.to_json()) {
                    let span = self.report.tree.key_span(&at);
                    self.tables.push(ProtocolTable { at, span, profile, is_read });
                }
            }
            let Some(Node { value: Value::Table(entries), .. }) = self.report.tree.get(at) else { continue };
            let counts = |key: &str| is_of_tcp || unread.as_ref().is_some_and(|(given, kept)| given[key] != kept[key]);
            for key in entries.iter().map(|entry| entry.key.as_str()) {
                if TransportConfig::OF_TCP.contains(&key) && counts(key) {
                    let span = self.report.tree.key_span(&at.key(key));
                    self.tables.push(ProtocolTable { at: at.key(key), span, profile: "tcp", is_read: is_of_tcp });
                }
            }
        }
        config
    }
}

/// Why a library's endpoints and a controller do not go together.
fn refusal_of_library(transport: &TransportConfig, controller: &dyn Controller) -> Option<(String, String)> {
    let own = controller.belongs_to();
    match transport.protocol {
        Protocol::Library(library) if own.is_none_or(|own| own == library.name()) => {
            library.refuses(transport, controller)
        }
        protocol => own.map(|own| {
            let name = controller.algorithm();
            let message =
                format!("`{name}` is a controller of the transport {own}, and these endpoints are {}", protocol.name());
            (message, format!("add transport = \"{own}\", or choose another `cc`"))
        }),
    }
}

/// Whether what is given in a table is no default.
fn changes(config: &TransportConfig, table: &str, given: &serde_json::Value) -> bool {
    let [given, now, default] =
        [given, &config.to_json()[table], &TransportConfig::default().to_json()[table]].map(|value| {
            let mut flat = Map::new();
            flatten("", value, &mut flat);
            flat
        });
    given.keys().any(|key| now.get(key) != default.get(key))
}

/// The endpoints of a library with the constants of others.
fn of_another_profile(config: &TransportConfig, profile: &str) -> Option<Problem> {
    let Protocol::Library(library) = config.protocol else { return None };
    (library.name() != profile).then(|| {
        let name = library.name();
        let message = format!("`protocol` is \"{name}\", and the other parameters start from \"{profile}\"");
        Problem::value("protocol", message, format!("leave `protocol` out, or give transport = \"{name}\""))
    })
}

/// What a table of parameters changes that means nothing to the endpoints of a library.
fn unheeded(config: &TransportConfig, table: &serde_json::Value) -> Vec<Problem> {
    let Protocol::Library(library) = config.protocol else { return Vec::new() };
    let flat = |value: &serde_json::Value| {
        let mut flat = Map::new();
        flatten("", value, &mut flat);
        flat
    };
    let (given, now, ready_made) = (flat(table), flat(&config.to_json()), flat(&library.profile().to_json()));
    let is_changed = |key: &str| now.get(key) != ready_made.get(key);
    let problem = |key: &String| {
        let message = format!("`{key}` means nothing over \"{}\"", library.name());
        Problem::key(key, message, format!("allowed: {}, {LIBRARY}", library.heeds().join(", ")))
    };
    given.keys().filter(|key| !library.is_heeded(key) && is_changed(key)).map(problem).collect()
}

/// The recipe of what is no algorithm that anybody could choose.
fn stand_in<K: StandsFor>() -> Option<Arc<Recipe>> {
    let mut catalog = Catalog::default();
    catalog.register::<StandIn<K>>().ok()?;
    catalog.recipe(K::NAME, &Map::new()).ok().map(Arc::new)
}

/// The table `over` on top of the table `under`; tables in them are merged alike.
fn merge(under: &Node, over: &Node) -> Node {
    let (Value::Table(below), Value::Table(entries)) = (&under.value, &over.value) else { return over.clone() };
    let own = entries.iter().map(|entry| match under.entry(&entry.key) {
        Some(hidden) => Entry { node: merge(&hidden.node, &entry.node), ..entry.clone() },
        None => entry.clone(),
    });
    let missing = |e: &&Entry| over.entry(&e.key).is_none();
    let merged = own.chain(below.iter().filter(missing).cloned()).collect();
    Node { value: Value::Table(merged), span: over.span.clone() }
}
