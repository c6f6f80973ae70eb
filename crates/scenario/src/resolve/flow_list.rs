//! `[[traffic]]` of kind "list" whose flows are in a file: comma-separated text with named columns, perhaps compressed.

use super::series::rows;
use crate::error::suggest;
use csv::StringRecord;
use dumbbell_traffic::MAX_LISTED;
use dumbbell_units::{Bytes, Duration, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// The columns that there are.
const COLUMNS: [&str; 8] = ["start", "start_s", "start_ms", "bytes", "from", "to", "cc", "label"];
/// Those of which each list has one.
const STARTS: [&str; 3] = ["start", "start_s", "start_ms"];

/// Flows of a list that share their ends, algorithm and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group {
    pub from: Option<String>,
    pub to: Option<String>,
    pub cc: Option<String>,
    pub label: Option<String>,
    /// When each starts, and how much it transfers.
    pub flows: Vec<(Time, Bytes)>,
}

/// The groups of a list, in the order in which they appear.
pub(super) type Groups = Arc<[Group]>;

/// Reads the text of a list.
///
/// # Errors
/// A sentence that names line, column and value, and says what would be right.
pub(super) fn parse(text: &str) -> Result<Groups, String> {
    let mut rows = rows(text)?.into_iter();
    let columns = Columns::new(&rows.next().unwrap_or_default().1)?;
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<[Option<String>; 4], usize> = HashMap::new();
    let mut count = 0;
    for (line, record) in rows {
        let flow = columns.flow(&record).map_err(|why| format!("line {line}{why}"))?;
        let names = columns.names.map(|column| text_of(&record, column?).map(str::to_owned));
        let number = *known.entry(names).or_insert_with_key(|[from, to, cc, label]| {
            let (from, to, cc, label) = (from.clone(), to.clone(), cc.clone(), label.clone());
            groups.push(Group { from, to, cc, label, flows: Vec::new() });
            groups.len() - 1
        });
        groups[number].flows.push(flow);
        count += 1;
        if count > MAX_LISTED {
            return Err(format!("it has more than {MAX_LISTED} flows"));
        }
    }
    match count {
        0 => Err("it has no flows: below the names of the columns each line is one".to_owned()),
        _ => Ok(groups.into()),
    }
}

/// Where the columns are.
struct Columns {
    start: (&'static str, usize),
    bytes: usize,
    /// Those of `from`, `to`, `cc` and `label`.
    names: [Option<usize>; 4],
    /// How many there are.
    all: usize,
}

impl Columns {
    fn new(headers: &StringRecord) -> Result<Columns, String> {
        if let Some(unknown) = headers.iter().find(|name| !COLUMNS.contains(name)) {
            return Err(format!("its column `{unknown}` is unknown: {}", suggest(unknown, "allowed", COLUMNS)));
        }
        let place = |wanted: &str| headers.iter().position(|name| name == wanted);
        if let Some(twice) = headers.iter().enumerate().find(|(number, name)| place(name) < Some(*number)) {
            return Err(format!("it has two columns `{}`", twice.1));
        }
        let starts: Vec<_> = STARTS.iter().filter_map(|&name| Some((name, place(name)?))).collect();
        let missing = |what: &str| format!("it has no column {what}; its first line names the columns: start_s,bytes");
        match (&starts[..], place("bytes")) {
            ([], _) => Err(missing("`start`, `start_s` or `start_ms`")),
            (_, None) => Err(missing("`bytes`")),
            ([start], Some(bytes)) => {
                let names = ["from", "to", "cc", "label"].map(place);
                Ok(Columns { start: *start, bytes, names, all: headers.len() })
            }
            ([first, second, ..], _) => Err(format!("it has both `{}` and `{}`; keep one of them", first.0, second.0)),
        }
    }

    /// Start and size of a line, or what is wrong with it.
    fn flow(&self, record: &StringRecord) -> Result<(Time, Bytes), String> {
        if record.len() != self.all {
            return Err(format!(" has {} values for {} columns", record.len(), self.all));
        }
        let (name, column) = self.start;
        let text = record.get(column).unwrap_or_default();
        let (start, right) = match name {
            "start_s" => (number(text, "s"), "seconds such as 1.5"),
            "start_ms" => (number(text, "ms"), "milliseconds such as 1500"),
            _ => (text.parse().ok(), "a time such as 1.5s"),
        };
        let wrong = |name: &str, text: &str, right: &str| format!(", column `{name}` reads {text:?}: expected {right}");
        let start: Duration = start.ok_or_else(|| wrong(name, text, right))?;
        let text = record.get(self.bytes).unwrap_or_default();
        let bytes = text.parse::<u64>().ok().map(Bytes::new).or_else(|| text.parse().ok());
        let bytes = bytes.filter(|bytes| *bytes > Bytes::ZERO);
        let bytes = bytes.ok_or_else(|| wrong("bytes", text, "bytes above 0 such as 30000 or 30kB"))?;
        Ok((Time::ZERO + start, bytes))
    }
}

/// A number of these units.
fn number(text: &str, unit: &str) -> Option<Duration> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number.then(|| format!("{text}{unit}").parse().ok())?
}

/// What a line says in a column, if anything.
fn text_of(record: &StringRecord, column: usize) -> Option<&str> {
    record.get(column).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(ms: u64, bytes: u64) -> (Time, Bytes) {
        (Time::ZERO + Duration::from_millis(ms), Bytes::new(bytes))
    }

    #[test]
    fn lines_are_flows_and_columns_may_stand_in_any_order() {
        let groups = parse("# of a day\nbytes, start\n500kB, 1.5s\n\n# more\n1448,20ms\r\n").unwrap();
        assert_eq!(groups[..], [Group { flows: vec![flow(1500, 500_000), flow(20, 1448)], ..Group::default() }]);
        assert_eq!(parse("start_ms,bytes\n1.5,1\n").unwrap()[0].flows[0].0, Time::from_nanos(1_500_000));
        assert_eq!(parse("start_s,bytes\n2,7\n").unwrap()[0].flows, [flow(2000, 7)]);
    }

    #[test]
    fn flows_that_differ_in_more_than_time_and_size_are_groups() {
        let groups = parse("start_ms,bytes,cc,label\n1,10,bbr,a\n2,20,cubic,\n3,30,bbr,a\n").unwrap();
        let [first, second] = &groups[..] else { panic!("two groups") };
        assert_eq!((first.cc.as_deref(), first.label.as_deref(), first.flows.len()), (Some("bbr"), Some("a"), 2));
        assert_eq!((second.cc.as_deref(), second.label.as_deref()), (Some("cubic"), None));
    }

    #[test]
    fn what_is_wrong_is_said_with_line_column_and_value() {
        for (text, said) in [
            ("start_s,bytes\n0,1\n1,x\n", "line 3, column `bytes` reads \"x\": expected bytes above 0"),
            ("start_s,bytes\n# no\n1s,5\n", "line 3, column `start_s` reads \"1s\": expected seconds"),
            ("start,bytes\n1,5\n", "line 2, column `start` reads \"1\": expected a time such as 1.5s"),
            ("start,bytes\n-1s,5\n", "reads \"-1s\""),
            ("start_s,bytes\n1,0\n", "reads \"0\""),
            ("start_s,bytes\n1\n", "line 2 has 1 values for 2 columns"),
            ("start_s,byte\n1,5\n", "its column `byte` is unknown: did you mean `bytes`?"),
            ("start_s\n1\n", "no column `bytes`"),
            ("bytes\n1\n", "no column `start`, `start_s` or `start_ms`"),
            ("start_s,start_ms,bytes\n1,1,1\n", "both `start_s` and `start_ms`"),
            ("bytes,bytes,start\n1,1,1s\n", "two columns `bytes`"),
            ("start_s,bytes\n", "it has no flows"),
            ("", "no column"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{said:?} is not in {error:?}");
        }
        let many = format!("start_s,bytes\n{}", "0,1\n".repeat(MAX_LISTED + 1));
        assert!(parse(&many).unwrap_err().contains("more than 100000 flows"));
    }
}
