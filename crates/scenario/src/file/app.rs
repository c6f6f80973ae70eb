//! `rate` of a flow: how fast its application produces data.

use super::shorthand::{Shorthand, shorthand, table};
use dumbbell_parameters::{Parameter, declared};
use dumbbell_units::{Duration, ParseError, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// How fast an application produces data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AppRateSpec {
    Constant(Rate),
    Steps {
        steps: Vec<(Time, Rate)>,
        repeat: Option<Duration>,
    },
    /// It produces for a time, as fast as the connection takes it unless a rate is given, and then pauses.
    OnOff {
        on: Duration,
        off: Duration,
        rate: Option<Rate>,
    },
}

/// The long form of an application's rate. Times count from its first write.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppRateTable {
    /// Pairs of start and rate in the order of time, the first at `"0s"`. Rate 0 is a pause.
    #[schemars(extend("x-source" = "none"))]
    steps: Option<Vec<(Time, Rate)>>,
    /// The steps start again after this time.
    #[schemars(extend("x-default" = "never: the last rate stays", "x-with" = "steps"))]
    repeat: Option<Duration>,
    /// The application writes for this long, again and again.
    #[schemars(extend("x-above" = "0s", "x-source" = "ns-3: OnOffApplication"))]
    on: Option<Duration>,
    /// And then pauses for this long.
    #[schemars(extend("x-default" = "required with `on`", "x-with" = "on", "x-above" = "0s"))]
    off: Option<Duration>,
    /// Its rate while it writes.
    #[schemars(extend("x-default" = "as fast as the connection takes it", "x-with" = "on"))]
    rate: Option<Rate>,
}

/// The parameters of an application's rate.
pub(crate) static APP_RATES: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<AppRateTable>);

impl Shorthand for AppRateSpec {
    const EXPECTING: &'static str = "a rate such as \"2mbit\", steps such as [[\"0s\", \"2mbit\"], [\"5s\", \"0bit\"]], or a \
        table such as { on = \"2s\", off = \"1s\" }";
    type Table = AppRateTable;
    type List = Vec<(Time, Rate)>;

    fn pattern() -> String {
        Rate::PATTERN.to_owned()
    }

    fn from_text(text: &str) -> Result<AppRateSpec, String> {
        text.parse().map(AppRateSpec::Constant).map_err(|error: ParseError| error.to_string())
    }

    fn from_number(number: f64) -> Result<AppRateSpec, String> {
        AppRateSpec::from_text(&number.to_string())
    }

    fn from_list(steps: Vec<(Time, Rate)>) -> Result<AppRateSpec, String> {
        Ok(AppRateSpec::Steps { steps, repeat: None })
    }

    fn from_table(table: AppRateTable) -> Result<AppRateSpec, String> {
        match table {
            AppRateTable { steps: Some(steps), repeat, on: None, off: None, rate: None } => {
                Ok(AppRateSpec::Steps { steps, repeat })
            }
            AppRateTable { steps: None, repeat: None, on: Some(on), off: Some(off), rate } => {
                Ok(AppRateSpec::OnOff { on, off, rate })
            }
            _ => Err(
                "an application's rate as a table has `steps` and perhaps `repeat`, or `on`, `off` and perhaps `rate`"
                    .to_owned(),
            ),
        }
    }
}
shorthand!(AppRateSpec, ["2mbit"], |generator| {
    let steps = generator.subschema_for::<Vec<(Time, Rate)>>();
    let mut forms = table::<AppRateTable>(generator);
    forms.push(steps);
    forms
});
