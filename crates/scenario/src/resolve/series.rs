//! Measured series: files with a time and a value in every row, and perhaps other columns.
//!
//! Cells are separated by commas, semicolons, tabs or blanks. The first row may name the columns; a name such as
//! `time_ms` or `Throughput (Mbit/s)` says what a column is, and in which unit. A value holds until the next row. Times
//! may begin anywhere, the first becomes 0.

use super::{MAX_DELAY, MAX_RATE};
use crate::error::suggest;
use crate::file::{Columns, LOSS_UNITS, RATE_UNITS, TIME_UNITS, Units, words};
use csv::{ReaderBuilder, StringRecord, Trim};
use dumbbell_units::{Duration, Rate, Time};
use std::str::FromStr;
use toml::value::Datetime;

/// The most rows: a day of samples every 100 ms, or ten days of one a second.
const MAX_ROWS: usize = 1_000_000;
/// The most characters of a value in a message.
const SHOWN: usize = 40;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Quantity {
    /// In bits per second.
    Rate,
    /// In one direction, in nanoseconds.
    Delay,
    /// There and back, in nanoseconds.
    RoundTrip,
    /// A share.
    Loss,
}

impl Quantity {
    /// Names of columns that are meant, without units.
    fn stems(self) -> &'static [&'static str] {
        match self {
            Quantity::Rate => &["rate", "throughput", "bandwidth", "capacity"],
            Quantity::Delay => &["delay", "owd", "one_way_delay"],
            Quantity::RoundTrip => &["rtt"],
            Quantity::Loss => &["loss", "loss_rate"],
        }
    }

    fn units(self) -> Units {
        match self {
            Quantity::Rate => RATE_UNITS,
            Quantity::Delay | Quantity::RoundTrip => TIME_UNITS,
            Quantity::Loss => LOSS_UNITS,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Quantity::Rate => "rate",
            Quantity::Delay => "delay",
            Quantity::RoundTrip => "round-trip time",
            Quantity::Loss => "loss",
        }
    }

    /// A name for its column in examples.
    fn example(self) -> &'static str {
        match self {
            Quantity::Rate => "rate_mbps",
            Quantity::Delay => "delay_ms",
            Quantity::RoundTrip => "rtt_ms",
            Quantity::Loss => "loss_percent",
        }
    }

    /// The largest value, and how it is written.
    fn most(self) -> (f64, String) {
        match self {
            Quantity::Rate => (MAX_RATE.as_bits_per_sec() as f64, MAX_RATE.to_string()),
            Quantity::Delay | Quantity::RoundTrip => (MAX_DELAY.as_nanos() as f64, MAX_DELAY.to_string()),
            Quantity::Loss => (1.0, "100%".to_owned()),
        }
    }
}

/// A measured series in base units.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Start and value of every row; the first starts at 0.
    pub steps: Vec<(Time, f64)>,
    /// The whole time: the last row holds as long as rows usually do, which is the median.
    pub length: Duration,
}

impl Series {
    /// The values as rates.
    pub(crate) fn rates(&self) -> Vec<(Time, Rate)> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and at most `MAX_RATE`"
        )]
        let rate = |bits: f64| Rate::from_bits_per_sec(bits.round() as u64);
        self.steps.iter().map(|(start, bits)| (*start, rate(*bits))).collect()
    }
}

/// Whether the text has rows of several cells.
pub(crate) fn is_series(text: &str) -> bool {
    content(text).next().is_some_and(|line| separator(line) != Separator::Blanks || line.split_whitespace().count() > 1)
}

/// Reads a series.
///
/// # Errors
/// A sentence that names the line, the column and the value, and says what would be right.
pub(crate) fn read_series(text: &str, quantity: Quantity, columns: &Columns) -> Result<Series, String> {
    let mut rows = rows(text)?;
    let first = rows.first().ok_or_else(|| format!("it has no row: {}", what_to_write(quantity)))?.1.clone();
    let is_named = first.iter().any(|cell| number(cell).is_none() && date(cell).is_none());
    let headings: Vec<String> = match is_named {
        true => first.iter().map(str::to_owned).collect(),
        false => (1..=first.len()).map(|number| number.to_string()).collect(),
    };
    if is_named {
        rows.remove(0);
    }
    let layout = Layout::new(&headings, is_named, quantity, columns)?;
    let time_unit = unit_of_times(&layout, &headings, rows.first().map(|(_, row)| row))?;
    if rows.len() > MAX_ROWS {
        return Err(format!("it has {} rows: allowed are {MAX_ROWS}", rows.len()));
    }
    let found = measurements(&rows, &headings, &layout, time_unit, quantity)?;
    let origin = found.first().map_or(0, |(start, _)| *start);
    let steps =
        found.into_iter().map(|(start, value)| Some((Time::from_nanos(u64::try_from(start - origin).ok()?), value)));
    let steps: Option<Vec<_>> = steps.collect();
    let steps = steps.ok_or_else(|| "it is longer than 584 years".to_owned())?;
    let mut spans: Vec<Duration> = steps.windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect();
    if spans.is_empty() {
        return Err(format!(
            "it has {} rows with a time and a {}: expected at least two",
            steps.len(),
            quantity.noun()
        ));
    }
    spans.sort_unstable();
    let last = steps[steps.len() - 1].0.since(Time::ZERO);
    Ok(Series { length: last + spans[spans.len() / 2], steps })
}

/// Unit of the times in nanoseconds; `None` for dates.
fn unit_of_times(layout: &Layout, headings: &[String], first: Option<&StringRecord>) -> Result<Option<f64>, String> {
    let (column, unit) = layout.time;
    let are_dates = first.and_then(|row| date(row.get(column)?)).is_some();
    if unit.is_some() || are_dates {
        return Ok(unit);
    }
    let units = words(TIME_UNITS).join(", ");
    Err(format!("its column `{}` names no unit: write `time_unit`, one of {units}", headings[column]))
}

/// The instant of each row in nanoseconds, and its value in base units.
fn measurements(
    rows: &[(u64, StringRecord)],
    headings: &[String],
    layout: &Layout,
    time_unit: Option<f64>,
    quantity: Quantity,
) -> Result<Vec<(i128, f64)>, String> {
    let (times, (values, factor)) = (layout.time.0, layout.value);
    let (most, most_in_words) = quantity.most();
    let mut found: Vec<(i128, f64)> = Vec::with_capacity(rows.len());
    for (line, row) in rows {
        let wrong = |column: usize, why: &str| {
            let read: String = row.get(column).unwrap_or_default().chars().take(SHOWN).collect();
            format!("line {line}, column `{}`, reads {read:?}: {why}", headings[column])
        };
        let cell = row.get(times).unwrap_or_default();
        let instant = match time_unit {
            Some(unit) => nanos(cell, unit).ok_or_else(|| wrong(times, "expected a time, a number of 0 or more"))?,
            None => date(cell).ok_or_else(|| wrong(times, "expected a date such as 2026-01-31 12:00:05"))?,
        };
        if found.last().is_some_and(|(before, _)| instant <= *before) {
            return Err(wrong(times, "it is not later than the row before it, and rows must be in the order of time"));
        }
        let value = number(row.get(values).unwrap_or_default()).filter(|value| *value >= 0.0);
        let value =
            value.ok_or_else(|| wrong(values, "expected a number of 0 or more; remove rows without a value"))?;
        if value * factor > most {
            return Err(wrong(values, &format!("allowed: at most {most_in_words}")));
        }
        found.push((instant, value * factor));
    }
    Ok(found)
}

/// Which cells of a row are meant: each with its unit in base units.
struct Layout {
    time: (usize, Option<f64>),
    value: (usize, f64),
}

impl Layout {
    fn new(headings: &[String], is_named: bool, quantity: Quantity, columns: &Columns) -> Result<Layout, String> {
        let given = |key: &str, unit: &Option<String>, units: Units| match unit {
            None => Ok(None),
            Some(unit) => match units.iter().find(|(name, _)| name == unit) {
                Some((_, factor)) => Ok(Some(*factor)),
                None => Err(format!("`{key}` is {unit:?}: {}", suggest(unit, "allowed", words(units)))),
            },
        };
        let time_unit = given("time_unit", &columns.time_unit, TIME_UNITS)?;
        let unit = given("unit", &columns.unit, quantity.units())?;
        let place = |key: &str, column: &Option<String>| match column {
            None => Ok(None),
            Some(name) => headings.iter().position(|heading| heading == name).map(Some).ok_or_else(|| {
                let known = suggest(name, "its columns", headings.iter().map(String::as_str));
                format!("it has no column {name:?}, which `{key}` names: {known}")
            }),
        };
        let (time, value) = (place("time", &columns.time)?, place("column", &columns.column)?);
        // Two columns without names are a time and a value.
        let by_order = |index: usize| (!is_named && headings.len() == 2).then_some(index);
        let find = |stems: &[&str], units: Units, key: &str, noun: &str| {
            let is_meant = |heading: &String| {
                let (stem, unit) = stem_and_unit(heading, units);
                stems.contains(&stem.as_str()) && !(stem.is_empty() && unit.is_none())
            };
            let fits: Vec<usize> = (0..headings.len()).filter(|&index| is_meant(&headings[index])).collect();
            match &fits[..] {
                [one] => Ok(*one),
                [] => Err(format!(
                    "none of its columns ({}) is named like a {noun}: name one with `{key}`, or {}",
                    headings.join(", "),
                    what_to_write(quantity)
                )),
                many => {
                    let names: Vec<&str> = many.iter().map(|&i| headings[i].as_str()).collect();
                    Err(format!("its columns {} may all be the {noun}: name one with `{key}`", names.join(", ")))
                }
            }
        };
        let time = match time.or_else(|| by_order(0)) {
            Some(index) => index,
            None => find(TIMES, TIME_UNITS, "time", "time")?,
        };
        let value = match value.or_else(|| by_order(1)) {
            Some(index) => index,
            None => find(quantity.stems(), quantity.units(), "column", quantity.noun())?,
        };
        if time == value {
            return Err(format!("its column `{}` cannot be the time and the {} too", headings[time], quantity.noun()));
        }
        // A file of recorded delays has two columns in milliseconds.
        let recorded = (!is_named && matches!(quantity, Quantity::Delay | Quantity::RoundTrip)).then_some(1e6);
        let time_unit = time_unit.or(stem_and_unit(&headings[time], TIME_UNITS).1).or(recorded);
        let unit = unit.or(stem_and_unit(&headings[value], quantity.units()).1).or(recorded);
        // A loss without a unit is a probability, as for `loss`.
        let unit = unit.or((is_named && quantity == Quantity::Loss).then_some(1.0)).ok_or_else(|| {
            let units = words(quantity.units()).join(", ");
            format!("its column `{}` names no unit: write `unit`, one of {units}", headings[value])
        })?;
        Ok(Layout { time: (time, time_unit), value: (value, unit) })
    }
}

/// Names of columns of times, without units.
const TIMES: &[&str] = &["time", "timestamp", "t", ""];

/// How units are written in names of columns, besides their own names.
const SPELLINGS: &[(&str, &str)] = &[
    ("sec", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("bps", "bit"),
    ("kbps", "kbit"),
    ("mbps", "mbit"),
    ("gbps", "gbit"),
    ("bit_s", "bit"),
    ("kbit_s", "kbit"),
    ("mbit_s", "mbit"),
    ("gbit_s", "gbit"),
    ("mbits", "mbit"),
    ("pct", "percent"),
];

/// What a heading names, and the unit that it ends with: `throughput` and 10⁶ of `Throughput (Mbit/s)`.
fn stem_and_unit(heading: &str, units: Units) -> (String, Option<f64>) {
    let plain: String = heading.to_lowercase().replace('%', "percent");
    let plain: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let plain = plain.join("_");
    let own = units.iter().map(|(name, factor)| (*name, *factor));
    let others = SPELLINGS.iter().filter_map(|(spelling, name)| {
        units.iter().find(|(unit, _)| unit == name).map(|(_, factor)| (*spelling, *factor))
    });
    let ends = |spelling: &str| match plain.strip_suffix(spelling)? {
        "" => Some(String::new()),
        stem => stem.strip_suffix('_').map(str::to_owned),
    };
    // The longest counts: `mbit_s` ends with `s`, too.
    let mut spellings: Vec<_> = own.chain(others).collect();
    spellings.sort_by_key(|(spelling, _)| std::cmp::Reverse(spelling.len()));
    let found = spellings.into_iter().find_map(|(spelling, factor)| Some((ends(spelling)?, Some(factor))));
    found.unwrap_or((plain.clone(), None))
}

fn what_to_write(quantity: Quantity) -> String {
    format!("write a first line such as time_s,{}", quantity.example())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Mark(u8),
    Blanks,
}

fn separator(line: &str) -> Separator {
    let marks = ['\t', ';', ','];
    marks
        .into_iter()
        .find(|mark| line.trim().contains(*mark))
        .map_or(Separator::Blanks, |mark| Separator::Mark(mark as u8))
}

/// Empty lines and comments.
fn is_skipped(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

/// All other lines.
fn content(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !is_skipped(line))
}

/// All rows with the numbers of their lines. Comments and empty lines are none.
///
/// # Errors
/// What keeps the text from being read as a table.
pub(super) fn rows(text: &str) -> Result<Vec<(u64, StringRecord)>, String> {
    let Some(first) = content(text).next() else { return Ok(Vec::new()) };
    let Separator::Mark(mark) = separator(first) else {
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(|(_, line)| !is_skipped(line));
        return Ok(lines.map(|(number, line)| (number, line.split_whitespace().collect())).collect());
    };
    let mut reader = ReaderBuilder::new();
    reader.has_headers(false).flexible(true).delimiter(mark).trim(Trim::All).comment(Some(b'#'));
    let lines: Vec<&str> = text.lines().collect();
    let records = reader.from_reader(text.as_bytes()).into_records().map(|record| {
        let record = record.map_err(|error| error.to_string())?;
        // What is skipped before a record counts to it.
        let from = record.position().map_or(0, |position| usize::try_from(position.line()).unwrap_or_default());
        let skipped = lines.iter().skip(from.saturating_sub(1)).take_while(|line| is_skipped(line)).count();
        Ok(((from + skipped) as u64, record))
    });
    // Blanks alone are an empty line, and may stand before a comment.
    let is_filled = |row: &Result<(u64, StringRecord), String>| {
        row.as_ref().map_or(true, |(_, record)| {
            record.iter().any(|cell| !cell.is_empty())
                && !record.iter().next().is_some_and(|cell| cell.starts_with('#'))
        })
    };
    records.filter(is_filled).collect()
}

fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A time in a unit of so many nanoseconds. What is written without an exponent is read exactly.
fn nanos(cell: &str, unit: f64) -> Option<i128> {
    let value = number(cell).filter(|value| *value >= 0.0)?;
    let (_, word) = TIME_UNITS.iter().map(|(word, factor)| (factor, word)).find(|(factor, _)| **factor == unit)?;
    let exact = cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let read = exact.then(|| format!("{cell}{word}").parse::<Duration>().ok()).flatten();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large for 64 bits is refused as longer than 584 years"
    )]
    Some(read.map_or((value * unit).round() as i128, |time| i128::from(time.as_nanos())))
}

/// A date with a time of day, in nanoseconds since 1970; without an offset it is taken as of Greenwich.
fn date(cell: &str) -> Option<i128> {
    let Datetime { date: Some(date), time: Some(time), offset } = Datetime::from_str(cell).ok()? else { return None };
    let offset_minutes = match offset {
        Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes),
        Some(toml::value::Offset::Z) | None => 0,
    };
    // Days since 1970 in the Gregorian calendar, whose years begin in March here (Hinnant, days_from_civil).
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let year = i64::from(date.year) - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let minutes = (days * 24 + i64::from(time.hour)) * 60 + i64::from(time.minute) - offset_minutes;
    let seconds = minutes * 60 + i64::from(time.second.unwrap_or(0));
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(time.nanosecond.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(keys: [&str; 4]) -> Columns {
        let [column, unit, time, time_unit] = keys.map(|key| (!key.is_empty()).then(|| key.to_owned()));
        Columns { column, unit, time, time_unit }
    }

    fn rate(text: &str, keys: [&str; 4]) -> Result<Vec<(u64, f64)>, String> {
        let series = read_series(text, Quantity::Rate, &columns(keys))?;
        Ok(series.steps.iter().map(|(start, value)| (start.as_nanos(), *value)).collect())
    }

    const NONE: [&str; 4] = [""; 4];
    const STEPS: [(u64, f64); 3] = [(0, 4e6), (1_000_000_000, 2.5e6), (3_000_000_000, 0.0)];

    #[test]
    fn names_of_columns_say_what_they_are_and_in_which_unit() {
        for text in [
            "time_s,rate_mbps\n0,4\n1,2.5\n3,0\n",
            "# a phone\n\ntime_ms;place;Throughput (Mbit/s)\n500;x;4\n1500;\"a; b\";2.5\n# pause\n \n3500;;0\n",
            "bandwidth_kbps\ttimestamp_s\r\n4000\t1767264020.125\r\n2500\t1767264021.125\r\n0\t1767264023.125\r\n",
            "seconds  mbps\n10 4\n11 2.5\n13 0\n".replace("mbps", "rate_mbps").as_str(),
            "time,capacity_bps\n2026-02-28 23:59:59,4e6\n2026-03-01 00:00:00,2.5e6\n2026-03-01T01:00:02+01:00,0\n",
        ] {
            assert_eq!(rate(text, NONE), Ok(STEPS.to_vec()), "{text}");
        }
    }

    #[test]
    fn keys_name_columns_and_units_of_any_file() {
        let many = "t,lat,dl,ul\n7,48.1,4,1\n8,48.2,2.5,1\n10,48.3,0,1\n";
        assert_eq!(rate(many, ["dl", "mbit", "", "s"]), Ok(STEPS.to_vec()));
        assert_eq!(rate("0.5 0.5\n1.5 0.3125\n3.5 0\n", ["", "mbyte", "", "s"]), Ok(STEPS.to_vec()));
        assert_eq!(rate("1,0,4\n1,1000,2.5\n1,3000,0\n", ["3", "mbit", "2", "ms"]), Ok(STEPS.to_vec()));
        let plain = read_series("0 20\n10 30.5\n", Quantity::RoundTrip, &Columns::default()).unwrap();
        assert_eq!(plain.steps, [(Time::ZERO, 20e6), (Time::from_nanos(10_000_000), 30.5e6)], "both in milliseconds");
        let loss = |text: &str| read_series(text, Quantity::Loss, &Columns::default()).unwrap().steps[0].1;
        assert_eq!([loss("time_s,loss\n0,0.5\n1,0\n"), loss("time_s,loss_percent\n0,50\n1,0\n")], [0.5, 0.5]);
    }

    #[test]
    fn the_last_row_holds_as_long_as_rows_usually_do() {
        let text = "time_s,rate_mbps\n0,1\n1,2\n2,3\n9,4\n";
        let series = read_series(text, Quantity::Rate, &Columns::default()).unwrap();
        assert_eq!(series.length, Duration::from_secs(10));
    }

    #[test]
    fn rows_of_several_cells_are_a_series() {
        for text in ["0 1\n", "time_s,rate_mbps\n", "# x\n\n1;2\n", "1\t2"] {
            assert!(is_series(text), "{text:?}");
        }
        for text in ["", "5\n10\n", "# 1,2\n5\n", " 7\n"] {
            assert!(!is_series(text), "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        for (text, keys, said) in [
            ("", NONE, "it has no row: write a first line such as time_s,rate_mbps"),
            ("time_s,rate_mbps\n", NONE, "0 rows with a time and a rate: expected at least two"),
            ("time_s,rate_mbps\n0,1\n", NONE, "1 rows with a time and a rate: expected at least two"),
            ("t,mbit\n1,2\n", NONE, "none of its columns (t, mbit) is named like a rate: name one with `column`"),
            ("t,rate_mbps,throughput_mbps\n1,2,3\n", NONE, "rate_mbps, throughput_mbps may all be the rate"),
            ("time,rate_mbps\n1,2\n2,2\n", NONE, "its column `time` names no unit: write `time_unit`, one of s, ms"),
            ("time_s,throughput\n1,2\n", NONE, "its column `throughput` names no unit: write `unit`, one of bit"),
            ("1 2\n2 3\n", NONE, "its column `2` names no unit"),
            ("time_s,x\n1,2\n", ["y", "", "", ""], "it has no column \"y\", which `column` names: did you mean `x`?"),
            ("time_s,x\n1,2\n", ["x", "mbits", "", ""], "`unit` is \"mbits\": did you mean `mbit`?"),
            ("time_s,x\n1,2\n", ["x", "mbit", "x", "s"], "`x` cannot be the time and the rate too"),
            (
                "time_s,rate_mbps\n0,1\n\n1,fast\n",
                NONE,
                "line 4, column `rate_mbps`, reads \"fast\": expected a number",
            ),
            ("time_s,rate_mbps\n0,1\n1\n", NONE, "line 3, column `rate_mbps`, reads \"\": expected a number"),
            ("time_s,rate_mbps\n0,1\n1,-2\n", NONE, "line 3, column `rate_mbps`, reads \"-2\": expected a number"),
            ("time_s,rate_mbps\n0,1\nx,2\n", NONE, "line 3, column `time_s`, reads \"x\": expected a time"),
            ("time_s rate_mbps\n0 1\n2 1\n2 1\n", NONE, "line 4, column `time_s`, reads \"2\": it is not later"),
            ("time_s,rate_mbps\n0,1\n1,1e9\n", NONE, "line 3, column `rate_mbps`, reads \"1e9\": allowed: at most 100"),
            (
                "time,rate_mbps\n2026-01-01 00:00:00,1\n5,1\n",
                NONE,
                "line 3, column `time`, reads \"5\": expected a date",
            ),
        ] {
            let refused = rate(text, keys).unwrap_err();
            assert!(refused.contains(said), "{text:?}: {refused}");
        }
    }
}
