//! Flows whose starts and sizes are listed.

use crate::{Arrival, Capacity, FlowArrivals, Source};
use dumbbell_parameters::{Described, Problem};
use dumbbell_units::{Bytes, Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most flows of a list.
pub const MAX_LISTED: usize = 100_000;

/// Flows begin at listed times, transfer listed sizes, and leave: a recorded workload. Each is a connection of its own,
/// as with short flows. Times count from `start`; what is listed for a time from `stop` on, or after the end of the
/// run, does not begin.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// A table of flows as comma-separated text, perhaps compressed with gzip, relative to the experiment file. The
    /// first line names the columns: `start` (`"1.5s"`), `start_s` or `start_ms`; `bytes` (`30000` or `"30kB"`); and,
    /// where they differ from flow to flow, `from`, `to`, `cc` and `label`. Empty lines and lines that begin with `#`
    /// are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "this or `flows` is required"))]
    pub file: Option<String>,
    /// The flows themselves: pairs of start and size, `[["0s", "500kB"], ["1.2s", "30kB"]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "this or `file` is required"))]
    pub flows: Option<Vec<(Time, Bytes)>>,
}

impl Described<Capacity> for List {
    const NAME: &'static str = "list";
    const SOURCE: &'static str = "recorded workloads; flows of simulators that read them from a file";

    /// The flows in the order of time. Whoever knows files has read them before.
    fn resolve(self, _: &Capacity) -> Result<List, Problem> {
        let mut flows = match (self.file, self.flows) {
            (None, Some(flows)) => flows,
            (Some(_), Some(_)) => {
                return Err(Problem::key("file", "both `file` and `flows` are given", "remove one of them"));
            }
            (None, None) => {
                let help = "add `file`, a table with the columns start and bytes, or `flows`";
                return Err(Problem::whole("nothing says which flows there are", help));
            }
            (Some(file), None) => {
                return Err(Problem::value("file", format!("`{file}` has not been read"), "write `flows`"));
            }
        };
        if flows.is_empty() || flows.len() > MAX_LISTED {
            let message = format!("a list of {} flows", flows.len());
            return Err(Problem::value("flows", message, format!("allowed: 1 to {MAX_LISTED}")));
        }
        if let Some((start, _)) = flows.iter().find(|(_, bytes)| *bytes == Bytes::ZERO) {
            let message = format!("the flow at {start} has nothing to transfer");
            return Err(Problem::value("flows", message, "allowed: 1 byte or more"));
        }
        flows.sort_by_key(|(start, _)| *start);
        Ok(List { file: None, flows: Some(flows) })
    }

    fn in_words(&self) -> String {
        let flows = self.flows.as_deref().unwrap_or_default();
        let total = flows.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(bytes.as_u64()));
        let several = if flows.len() == 1 { "flow" } else { "flows" };
        format!("{} listed {several}, {} in all", flows.len(), Bytes::new(total).in_words())
    }
}

impl List {
    pub(crate) fn source(&self, _: Rng) -> Source {
        let flows: Arc<[_]> = self.flows.clone().unwrap_or_default().into();
        Source::Flows(FlowArrivals::Listed(Listed { flows, next: 0, latest: Time::ZERO }))
    }
}

/// Flows of a list, one after the other.
#[derive(Clone, Debug)]
pub struct Listed {
    flows: Arc<[(Time, Bytes)]>,
    next: usize,
    latest: Time,
}

impl Listed {
    pub(crate) fn next(&mut self) -> Option<Arrival> {
        let &(start, bytes) = self.flows.get(self.next)?;
        let after: Duration = start.since(self.latest);
        (self.next, self.latest) = (self.next + 1, start);
        Some(Arrival { after, bytes: bytes.as_u64() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(flows: &[(u64, u64)]) -> List {
        let flows = flows.iter().map(|&(ms, bytes)| (Time::ZERO + Duration::from_millis(ms), Bytes::new(bytes)));
        List { file: None, flows: Some(flows.collect()) }
    }

    #[test]
    fn flows_come_in_the_order_of_time_whatever_their_order_in_the_list() {
        let list = list(&[(30, 3), (10, 1), (10, 2)]).resolve(&Capacity::default()).unwrap();
        let Source::Flows(mut flows) = list.source(Rng::new(1)) else { panic!("flows") };
        let all: Vec<_> =
            std::iter::from_fn(|| flows.next()).map(|flow| (flow.after.as_micros() / 1_000, flow.bytes)).collect();
        assert_eq!(all, [(10, 1), (0, 2), (20, 3)]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let refused = |list: List| list.resolve(&Capacity::default()).unwrap_err();
        assert_eq!(refused(list(&[])).key, "flows");
        assert_eq!(refused(list(&[(0, 0)])).key, "flows");
        assert_eq!(refused(List { file: Some("a".to_owned()), ..list(&[(0, 1)]) }).key, "file");
        assert!(refused(List { file: None, flows: None }).message.contains("nothing says"));
    }
}
