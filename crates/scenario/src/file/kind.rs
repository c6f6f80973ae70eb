//! `queue` and `loss`: a kind of a catalogue and its parameters; `jitter` and `reorder`.
//!
//! What is written is only split into the kind and the rest here. The catalogues of `dumbbell-path` know which kinds
//! and which parameters there are.

use super::columns::{Columns, LOSS_UNITS, with_columns};
use super::shorthand::{NoList, Shorthand, shorthand, table};
use dumbbell_parameters::{Catalog, Described, KIND, Kind, Parameter, declared};
use dumbbell_path::loss::{self, Bernoulli, Steps};
use dumbbell_path::wifi::Wifi;
use dumbbell_path::{Aggregate, EcnFault, Jitter, Late, PacketEvent, Policer, Reorder, Share, queue};
use dumbbell_units::{Duration, ParseError, Ratio, Time};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// A kind and its parameters, as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KindSpec {
    pub kind: String,
    pub parameters: Map<String, Value>,
}

impl KindSpec {
    fn named(kind: &str) -> KindSpec {
        KindSpec { kind: kind.to_owned(), parameters: Map::new() }
    }

    /// The kind and the rest of a table; `names` are the kinds there are.
    fn from_table(
        mut table: Map<String, Value>,
        names: impl Iterator<Item = &'static str>,
    ) -> Result<KindSpec, String> {
        let allowed = || format!("allowed: {}", names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "));
        match table.shift_remove(KIND) {
            Some(Value::String(kind)) => Ok(KindSpec { kind, parameters: table }),
            Some(other) => Err(format!("`{KIND}` is {other}, but must be a name in quotes; {}", allowed())),
            None => Err(format!("a table of parameters needs `{KIND}`, which they belong to; {}", allowed())),
        }
    }
}

/// A queue discipline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueueSpec(pub KindSpec);

impl Shorthand for QueueSpec {
    const EXPECTING: &'static str =
        "a queue discipline such as \"codel\", or a table such as { kind = \"codel\", target = \"10ms\" }";
    type Table = Map<String, Value>;
    type List = NoList;

    fn from_text(kind: &str) -> Result<QueueSpec, String> {
        Ok(QueueSpec(KindSpec::named(kind)))
    }

    fn from_table(table: Map<String, Value>) -> Result<QueueSpec, String> {
        KindSpec::from_table(table, queue::catalog().names()).map(QueueSpec)
    }
}
shorthand!(QueueSpec, ["droptail", "codel"], |generator| kinds(queue::catalog(), generator));

/// Random loss.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LossSpec {
    Kind(KindSpec),
    Trace { file: String, columns: Columns, repeat: Option<Duration> },
}

with_columns! {
    /// Losses that were measured: independent ones with the probability of each row.
    LossTable, units = LOSS_UNITS, unit_default = "from the name of the column; a share where it is `loss`",
    {
        /// A measured series: a file, relative to the experiment file, with a time and the loss from then on in each
        /// row.
        #[schemars(extend("x-source" = "recorded losses"))]
        trace: String,
        /// The series starts again after this time.
        #[schemars(extend("x-default" = "never: the last probability stays", "x-source" = "like `delay`"))]
        repeat: Option<Duration>,
    }
}

/// The parameters of measured losses.
pub(crate) static LOSS_TRACES: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<LossTable>);

impl Shorthand for LossSpec {
    const EXPECTING: &'static str = "a loss probability such as \"0.1%\", steps such as \
        [[\"0s\", \"0%\"], [\"10s\", \"1%\"]], or a table such as \
        { kind = \"gilbert-elliott\", p = \"1%\", r = \"30%\" } or { trace = \"loss.csv\" }";
    type Table = Map<String, Value>;
    type List = Vec<(Time, Ratio)>;

    fn pattern() -> String {
        Ratio::PATTERN.to_owned()
    }

    fn from_text(text: &str) -> Result<LossSpec, String> {
        let p: Ratio = text.parse().map_err(|e: ParseError| e.to_string())?;
        let parameters = Map::from_iter([("p".to_owned(), Value::from(p.to_string()))]);
        Ok(LossSpec::Kind(KindSpec { parameters, ..KindSpec::named(Bernoulli::NAME) }))
    }

    fn from_number(number: f64) -> Result<LossSpec, String> {
        LossSpec::from_text(&number.to_string())
    }

    fn from_whole(number: i64) -> Result<LossSpec, String> {
        // Who writes 1 may mean a percent as well as everything.
        if number >= 1 {
            let percent = number.saturating_mul(100);
            return Err(format!(
                "`loss` is {percent}% of all packets; write \"{number}%\" for {number} percent, \"100%\" for all of them"
            ));
        }
        LossSpec::from_number(number as f64)
    }

    fn from_list(steps: Vec<(Time, Ratio)>) -> Result<LossSpec, String> {
        let parameters = Map::from_iter([("steps".to_owned(), json!(steps))]);
        Ok(LossSpec::Kind(KindSpec { parameters, ..KindSpec::named(Steps::NAME) }))
    }

    fn from_table(table: Map<String, Value>) -> Result<LossSpec, String> {
        if table.contains_key(KIND) || !table.contains_key("trace") {
            return KindSpec::from_table(table, loss::catalog().names()).map(LossSpec::Kind);
        }
        let table: LossTable = serde_json::from_value(Value::Object(table)).map_err(|error| error.to_string())?;
        let columns = table.columns();
        let LossTable { trace: file, repeat, .. } = table;
        Ok(LossSpec::Trace { file, columns, repeat })
    }
}
shorthand!(LossSpec, ["0.1%", "1%"], |generator| {
    let mut forms = kinds(loss::catalog(), generator);
    forms.push(json_schema!({ "type": "number", "minimum": 0, "maximum": 1 }));
    forms.push(generator.subschema_for::<Vec<(Time, Ratio)>>());
    forms.push(generator.subschema_for::<LossTable>());
    forms
});

/// The schemas of the kinds of a catalogue: their names, and a table for each.
fn kinds<T: 'static, C: 'static>(catalog: &Catalog<T, C>, generator: &mut SchemaGenerator) -> Vec<Schema> {
    let must_be_given = |parameter: &Parameter| parameter.is_required || parameter.unless.is_some();
    let is_complete = |parameters: &[Parameter]| !parameters.iter().any(must_be_given);
    let named = catalog.kinds().iter().filter(|kind| is_complete(&kind.parameters));
    let presets = |kind: &Kind<T, C>| kind.presets.iter().map(|preset| (preset.name, preset.summary.to_owned()));
    let names = named.flat_map(|kind| std::iter::once((kind.name, kind.summary.clone())).chain(presets(kind)));
    let names: Vec<_> = names.map(|(name, summary)| json!({ "const": name, "description": summary })).collect();
    let mut forms = Vec::new();
    if !names.is_empty() {
        forms.push(json_schema!({ "type": "string", "anyOf": names }));
    }
    forms.extend(kind_schemas(catalog, generator));
    forms
}

/// A table for each kind of a catalogue.
pub(super) fn kind_schemas<T: 'static, C: 'static>(
    catalog: &Catalog<T, C>,
    generator: &mut SchemaGenerator,
) -> Vec<Schema> {
    let mut forms = Vec::new();
    for kind in catalog.kinds() {
        let mut schema = Value::from(kind.schema(generator));
        let names: Vec<_> = kind.names().collect();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let own = schema["properties"].as_object().cloned().unwrap_or_default();
        let properties = Map::from_iter([(KIND.to_owned(), json!({ "enum": names }))]);
        schema["title"] = kind.name.into();
        schema["description"] = format!("{} {}.", kind.summary, kind.source).into();
        schema["required"] = std::iter::once(Value::from(KIND)).chain(required).collect();
        schema["properties"] = properties.into_iter().chain(own).collect::<Map<_, _>>().into();
        forms.extend(Schema::try_from(schema));
    }
    forms
}

/// Random variation of the propagation delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JitterSpec(pub Jitter);

impl Shorthand for JitterSpec {
    const EXPECTING: &'static str =
        "a jitter such as \"2ms\", or a table such as { amount = \"2ms\", distribution = \"normal\" }";
    type Table = Jitter;
    type List = NoList;

    fn pattern() -> String {
        Duration::PATTERN.to_owned()
    }

    fn from_text(text: &str) -> Result<JitterSpec, String> {
        let amount: Duration = text.parse().map_err(|e: ParseError| e.to_string())?;
        Ok(JitterSpec(Jitter { amount, ..Jitter::default() }))
    }

    fn from_number(number: f64) -> Result<JitterSpec, String> {
        JitterSpec::from_text(&number.to_string())
    }

    fn from_table(jitter: Jitter) -> Result<JitterSpec, String> {
        Ok(JitterSpec(jitter))
    }
}
shorthand!(JitterSpec, ["2ms"], table::<Jitter>);

/// Packets that skip the delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReorderSpec(pub Reorder);

impl Shorthand for ReorderSpec {
    const EXPECTING: &'static str =
        "a probability such as \"1%\", or a table such as { probability = \"25%\", gap = 5 }";
    type Table = Reorder;
    type List = NoList;

    fn pattern() -> String {
        Ratio::PATTERN.to_owned()
    }

    fn from_text(text: &str) -> Result<ReorderSpec, String> {
        let probability: Ratio = text.parse().map_err(|e: ParseError| e.to_string())?;
        Ok(ReorderSpec(Reorder { probability, ..Reorder::default() }))
    }

    fn from_number(number: f64) -> Result<ReorderSpec, String> {
        ReorderSpec::from_text(&number.to_string())
    }

    fn from_table(reorder: Reorder) -> Result<ReorderSpec, String> {
        Ok(ReorderSpec(reorder))
    }
}
shorthand!(ReorderSpec, ["1%"], |generator| {
    let mut forms = table::<Reorder>(generator);
    forms.push(json_schema!({ "type": "number", "minimum": 0, "maximum": 1 }));
    forms
});

/// A share of packets to which something happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ShareSpec(pub Share);

impl Shorthand for ShareSpec {
    const EXPECTING: &'static str =
        "a probability such as \"1%\", or a table such as { probability = \"1%\", correlation = \"25%\" }";
    type Table = Share;
    type List = NoList;

    fn pattern() -> String {
        Ratio::PATTERN.to_owned()
    }

    fn from_text(text: &str) -> Result<ShareSpec, String> {
        let probability: Ratio = text.parse().map_err(|e: ParseError| e.to_string())?;
        Ok(ShareSpec(Share { probability, ..Share::default() }))
    }

    fn from_number(number: f64) -> Result<ShareSpec, String> {
        ShareSpec::from_text(&number.to_string())
    }

    fn from_table(share: Share) -> Result<ShareSpec, String> {
        Ok(ShareSpec(share))
    }
}
shorthand!(ShareSpec, ["1%"], |generator| {
    let mut forms = table::<Share>(generator);
    forms.push(json_schema!({ "type": "number", "minimum": 0, "maximum": 1 }));
    forms
});

/// The parameters of what happens to a share of packets.
pub(crate) static SHARE: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Share>);
/// The parameters of jitter.
pub(crate) static JITTER: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Jitter>);
/// The parameters of reordering.
pub(crate) static REORDER: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Reorder>);
/// The parameters of late packets.
pub(crate) static LATE: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Late>);
/// The parameters of aggregation.
pub(crate) static AGGREGATE: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Aggregate>);
/// The parameters of faults of ECN bits.
pub(crate) static ECN_FAULT: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<EcnFault>);
/// The parameters of events.
pub(crate) static EVENTS: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<PacketEvent>);
/// The parameters of Wi-Fi links.
pub(crate) static WIFI: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Wifi>);
/// The parameters of policers.
pub(crate) static POLICER: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<Policer>);
