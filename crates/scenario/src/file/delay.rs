//! `delay` and `rtt`: how long packets travel, also when that changes with time.

use super::columns::{Columns, TIME_UNITS, with_columns};
use super::shorthand::{Shorthand, shorthand, table};
use dumbbell_parameters::{Parameter, declared};
use dumbbell_units::{Duration, ParseError, Time};
use std::sync::LazyLock;

/// How long packets travel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DelaySpec {
    Constant(Duration),
    Steps { steps: Vec<(Time, Duration)>, repeat: Option<Duration> },
    Sinusoid { mean: Duration, amplitude: Duration, period: Duration, step: Option<Duration> },
    Trace { file: String, columns: Columns, repeat: Option<Duration> },
}

with_columns! {
    /// The long form of a delay. One of `steps`, `mean` and `trace` says which kind it is.
    DelayTable, units = TIME_UNITS,
    unit_default = "from the name of the column; milliseconds, also of times, in a file of two columns without names",
    {
    /// Pairs of start and delay in the order of time, the first at `"0s"`.
    #[schemars(extend("x-source" = "tc-netem: delay, changed while it runs"))]
    steps: Option<Vec<(Time, Duration)>>,
    /// The steps or the trace start again after this time.
    #[schemars(extend("x-default" = "never: the last delay stays"))]
    repeat: Option<Duration>,
    /// Mean of a sinusoid, which begins there and rises.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 9743, paths with varying delay"))]
    mean: Option<Duration>,
    /// How far the sinusoid goes from its mean.
    #[schemars(extend("x-default" = "required with `mean`", "x-with" = "mean", "x-at-most" = "mean"))]
    amplitude: Option<Duration>,
    /// Length of a wave.
    #[schemars(extend("x-default" = "required with `mean`", "x-with" = "mean", "x-above" = "0s"))]
    period: Option<Duration>,
    /// The sinusoid is a staircase with steps of this length.
    #[schemars(extend("x-default" = "`\"10ms\"`, at most a hundredth of `period`", "x-with" = "mean", "x-above" = "0s", "x-at-most" = "period"))]
    step: Option<Duration>,
    /// A measured series: a file, relative to the experiment file, with a time and the delay from then on in each row.
    #[schemars(extend("x-source" = "recorded delays"))]
    trace: Option<String>,
    }
}

/// The parameters of delays.
pub(crate) static DELAYS: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<DelayTable>);

impl Shorthand for DelaySpec {
    const EXPECTING: &'static str = "a delay such as \"20ms\", steps such as [[\"0s\", \"20ms\"], [\"5s\", \"60ms\"]], or a \
        table with steps, trace, or the mean of a sinusoid";
    type Table = DelayTable;
    type List = Vec<(Time, Duration)>;

    fn pattern() -> String {
        Duration::PATTERN.to_owned()
    }

    fn from_text(text: &str) -> Result<DelaySpec, String> {
        text.parse().map(DelaySpec::Constant).map_err(|error: ParseError| error.to_string())
    }

    fn from_number(number: f64) -> Result<DelaySpec, String> {
        DelaySpec::from_text(&number.to_string())
    }

    fn from_list(steps: Vec<(Time, Duration)>) -> Result<DelaySpec, String> {
        Ok(DelaySpec::Steps { steps, repeat: None })
    }

    fn from_table(table: DelayTable) -> Result<DelaySpec, String> {
        let columns = table.columns();
        let DelayTable { steps, repeat, mean, amplitude, period, step, trace, .. } = table;
        if let (None, Some(key)) = (&trace, columns.first_key()) {
            return Err(format!("`{key}` belongs to `trace`, which is not given"));
        }
        let of_sinusoid = [("amplitude", amplitude), ("period", period), ("step", step)];
        if let (None, Some((key, _))) = (mean, of_sinusoid.iter().find(|(_, value)| value.is_some())) {
            return Err(format!("`{key}` belongs to `mean`, which is not given"));
        }
        match (steps, mean, trace) {
            (Some(steps), None, None) => Ok(DelaySpec::Steps { steps, repeat }),
            (None, None, Some(file)) => Ok(DelaySpec::Trace { file, columns, repeat }),
            (None, Some(_), None) if repeat.is_some() => Err("a sinusoid repeats after its `period`".to_owned()),
            (None, Some(mean), None) => match (amplitude, period) {
                (Some(amplitude), Some(period)) => Ok(DelaySpec::Sinusoid { mean, amplitude, period, step }),
                _ => Err("a sinusoid needs `mean`, `amplitude` and `period`".to_owned()),
            },
            (None, None, None) => Err("a table of delays needs one of `steps`, `trace` and `mean`".to_owned()),
            _ => Err("a table of delays takes only one of `steps`, `trace` and `mean`".to_owned()),
        }
    }
}
shorthand!(DelaySpec, ["20ms", "500us"], |generator| {
    let steps = generator.subschema_for::<Vec<(Time, Duration)>>();
    let mut forms = table::<DelayTable>(generator);
    forms.push(steps);
    forms
});
