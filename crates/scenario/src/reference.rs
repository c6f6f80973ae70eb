//! The reference pages of parameters, from their declarations.

use crate::explain::differences;
use crate::file::{
    AGGREGATE, APP_RATES, DELAYS, ECN_FAULT, EVENTS, JITTER, LATE, LOSS_TRACES, POLICER, RATES, REORDER, SHARE,
    STREAMS, WIFI,
};
use dumbbell_parameters::{Catalog, KIND, Kind, Parameter, cell, table};
use dumbbell_path::{loss, queue};
use dumbbell_transport::TransportConfig;
use std::fmt::Write;

/// A page of the reference that is made from the declarations of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencePage {
    /// Name of the page; its file is `docs/reference/NAME.md`.
    pub name: &'static str,
    /// Markdown.
    pub text: String,
}

/// The pages of the reference that are made from the declarations of parameters.
pub fn reference_pages() -> Vec<ReferencePage> {
    vec![
        ReferencePage { name: "links", text: links() },
        ReferencePage { name: "transport", text: transport() },
        ReferencePage { name: "traffic", text: traffic() },
    ]
}

/// What every page says about itself.
fn preface(title: &str, name: &str) -> String {
    format!(
        "# {title}\n\n\
         Printed by `dumbbell schema --markdown {name}` from the declarations in the code, which the schema, the errors and\n\
         `dumbbell explain` use too. [The experiment file](scenario.md) says where these parameters stand.\n\n"
    )
}

fn all(parameters: &[Parameter]) -> Vec<&Parameter> {
    parameters.iter().collect()
}

fn links() -> String {
    let mut text = preface("Parameters of links", "links");
    text.push_str(
        "Contents: [rates](#rates) · [measured series](#measured-series) · [queues](#queues) · [Wi-Fi](#wi-fi) · [policers](#policers) · [losses](#losses) · [delays](#delays) ·\n\
         [jitter](#jitter) · [reordering](#reordering) · [duplicates and damaged packets](#duplicates-and-damaged-packets) ·\n\
         [late packets](#late-packets) · [aggregation](#aggregation) · [faults of ECN](#faults-of-ecn) · [events](#events) ·\n\
         [applications](#applications) · [streams](#streams)\n\n\
         Levels are packets (`\"20packets\"`), bytes (`\"30kB\"`), a time (`\"5ms\"`) or multiples of the bandwidth-delay\n\
         product (`\"0.2bdp\"`); the packet in transmission does not count.\n",
    );
    let mut section = |title: &str, about: &str, body: &str| {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n{body}");
    };
    section(
        "Rates",
        "`rate` as a table. One of `steps`, `trace` and `synth` says which kind it is. What `column`, `unit`, `time` and\n\
         `time_unit` say about a file is told under [measured series](#measured-series).",
        &table(&all(&RATES), ""),
    );
    section("Measured series", SERIES, "");
    section(
        "Queues",
        "`queue`: a name, or a table of `kind` and parameters. What the queue holds is `buffer`, whatever the kind. An arriving\n\
         packet that does not fit is dropped, unless the kind says otherwise.",
        &kinds(queue::catalog()),
    );
    section(
        "Wi-Fi",
        "`wifi`: a link of Wi-Fi 5 between a station and an access point, in place of a wire. What the link's `loss` says is\n\
         the loss of single frames on the air, which are sent again. `wifi = {}` takes every default. The way back is on the\n\
         same channel with the same parameters, unless `reverse` says otherwise. Its `queue` is by default mac80211's of\n\
         a station: FQ-CoDel with 4096 lines, a quantum of 300 bytes, 20 ms and 100 ms, and a `buffer` of 8192 packets.\n\
         With `away`, a table of `every`, `for` and `from`, the station leaves its channel again and again, and packets\n\
         wait for it in both directions. [Wi-Fi](../wifi.md) explains the model.",
        &table(&all(&WIFI), ""),
    );
    section(
        "Policers",
        "`policer`, a token bucket in front of the queue: a packet that finds too few tokens is dropped and takes none;\n\
         nothing is delayed.",
        &table(&all(&POLICER), ""),
    );
    section(
        "Losses",
        "`loss`: a probability, which is short for the first kind, or a table of `kind` and parameters.",
        &format!(
            "{}\n### `trace`\n\nIndependent losses with probabilities that were measured: `{{ trace = \"loss.csv\" }}`, a \
             [measured series](#measured-series).\n\n{}",
            kinds(loss::catalog()),
            table(&all(&LOSS_TRACES), "")
        ),
    );
    behind_the_transmitter(&mut section);
    of_applications(&mut section);
    text
}

/// What files of measured series look like.
const SERIES: &str = "\
`trace` of `rate`, `delay`, `rtt` or `loss` may be a file of measured values, `rate = { trace = \"phone.csv\" }`: a text, or gzip\n\
of one, of at most 100 MB and 1 000 000 rows, with a time and a value in every row and perhaps other columns.\n\n\
* Commas, semicolons, tabs or blanks separate the cells, as they do in the first row. Empty lines, and lines that begin\n\
  with `#`, are skipped.\n\
* The first row may name the columns. The time is a column called `time`, `timestamp`, `t` or `seconds`; the value is one\n\
  called `rate`, `throughput`, `bandwidth` or `capacity`; `delay`, `owd` or `one_way_delay` for `delay`; `rtt` for `rtt`;\n\
  `loss` or `loss_rate`. A unit ends the name: `time_ms`, `rate_mbps`, `Throughput (Mbit/s)`, `loss_percent`. `column` and\n\
  `time` name others.\n\
* Without names the columns are called `\"1\"`, `\"2\"` and so on; of two, the first is the time. `unit` and `time_unit` are\n\
  then required, except for delays, where both are milliseconds.\n\
* `unit` and `time_unit` are what the names do not say: `rate = { trace = \"5g.csv\", column = \"dl\", unit = \"mbit\", time =\n\
  \"t\", time_unit = \"s\" }`. Times may also be dates, `2026-01-31 12:00:05`, which have no unit.\n\
* Times may begin anywhere; the first becomes 0, and each is later than the one before. A value holds until the next row.\n\n\
A file with one number in a line is a Mahimahi trace, which has none of these keys.";

/// Sections about what happens to packets that have left the transmitter, and to chosen ones.
fn behind_the_transmitter(section: &mut impl FnMut(&str, &str, &str)) {
    section(
        "Delays",
        "`delay` or `rtt` as a table. One of `steps`, `mean` and `trace` says which kind it is. A packet takes the delay of the\n\
         instant at which it leaves the transmitter. When the delay falls, packets do not overtake each other, unless `jitter`\n\
         has `reorders = true`. What follows from the delay (base round-trip times, the bandwidth-delay product) follows from\n\
         its first value.",
        &table(&all(&DELAYS), ""),
    );
    section("Jitter", "`jitter`: an amount, or a table. Drawn as by netem.", &table(&all(&JITTER), ""));
    section(
        "Reordering",
        "`reorder`: a probability, or a table. Packets skip the delay and so overtake others, as with netem.",
        &table(&all(&REORDER), ""),
    );
    section(
        "Duplicates and damaged packets",
        "`duplicate` and `corrupt`: a probability, or a table. The copy of a duplicated packet follows it into the queue. A damaged\n\
         packet takes capacity and is lost behind the transmitter: it counts among the losses.",
        &table(&all(&SHARE), ""),
    );
    section(
        "Late packets",
        "`late`: a share of packets takes longer, and others do not wait for them.",
        &table(&all(&LATE), ""),
    );
    section(
        "Aggregation",
        "`aggregate`: packets that have come to the far end are held there, and released in bundles, in their order.",
        &table(&all(&AGGREGATE), ""),
    );
    section(
        "Faults of ECN",
        "`ecn_fault`: a link changes the ECN bits of packets that come to it, before its queue: what that marks stays marked.\n\
         It is an error where no such packet comes. `ecn_changed` in the table of links counts them.",
        &table(&all(&ECN_FAULT), ""),
    );
    section(
        "Events",
        "`events`: a list of tables, each of which says what happens to chosen packets. Drops, marks and copies are made of\n\
         packets that arrive at the link, before anything else; delays and holds are for packets that have left the\n\
         transmitter. Each event counts the packets that it is about where it acts. What several keys choose is what all of\n\
         them choose.",
        &table(&all(&EVENTS), ""),
    );
}

/// Sections about what applications do.
fn of_applications(section: &mut impl FnMut(&str, &str, &str)) {
    section(
        "Applications",
        "`rate` of a flow as a table: `steps`, or `on` and `off`. Times count from the first write of the application. What a\n\
         connection was given without a rate and has not sent when a pause begins is written after it.",
        &table(&all(&APP_RATES), ""),
    );
    section(
        "Streams",
        "`streams` of a flow: its application writes messages, each on a stream of its own. Streams that are open take turns, a\n\
         packet each; when the messages of all have been written, as many new ones begin. Over QUIC data can be read as soon as\n\
         everything before it in its message is there, over TCP when everything that was sent before it is. A message fills whole\n\
         packets. `mean_message_ms`, `mean_hol_ms` and others in the table of flows say how long messages took, and how long data\n\
         that had arrived waited.",
        &table(&all(&STREAMS), ""),
    );
}

/// A subsection for each kind of a catalogue.
fn kinds<T: 'static, C: 'static>(catalog: &Catalog<T, C>) -> String {
    let sections: Vec<String> = catalog.kinds().iter().map(kind_section).collect();
    sections.join("\n")
}

fn kind_section<T: 'static, C: 'static>(kind: &Kind<T, C>) -> String {
    let mut text = format!("### `{KIND} = \"{}\"`\n\n{}\n", kind.name, kind.summary);
    let aliases: Vec<String> = kind.aliases.iter().map(|alias| format!("`\"{alias}\"`")).collect();
    if !aliases.is_empty() {
        let _ = writeln!(text, "Also {}.", aliases.join(", "));
    }
    let _ = writeln!(text, "\nSource: {}.", kind.source);
    for preset in kind.presets {
        let values: Vec<String> = preset.defaults.iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
        let _ = writeln!(
            text,
            "\n`kind = \"{}\"` has the defaults {}. {} ({}).",
            preset.name,
            values.join(", "),
            preset.summary,
            preset.source
        );
    }
    if !kind.parameters.is_empty() {
        let _ = write!(text, "\n{}", table(&all(&kind.parameters), ""));
    }
    text
}

fn traffic() -> String {
    let mut text = preface("Kinds of traffic", "traffic");
    text.push_str(
        "## Kinds\n\nFlows that come and go. [Every kind](scenario.md#traffic) has the keys of its flows besides: controller, way, start\n\
         and stop.\n\n",
    );
    text.push_str(&kinds(dumbbell_traffic::catalog()));
    text.push_str(SIZES);
    text.push_str(TIMES);
    text
}

/// How sizes are written.
const SIZES: &str = "\n## Sizes\n\n\
    A size is a text (`\"30kB\"`), always the same, or a table with the `kind` of a distribution. No size is below a byte.\n\n\
    | `kind` | keys | distribution |\n|---|---|---|\n\
    | `\"fixed\"` | `bytes` | Always the same. |\n\
    | `\"exponential\"` | `mean` | Exponential. |\n\
    | `\"pareto\"` | `mean`, `shape` above 1, perhaps `max` | P(size > x) = (smallest / x)^`shape`, smallest = `mean` (`shape` - 1) / `shape`; larger sizes are cut down to `max`. |\n\
    | `\"lognormal\"` | `mean`, `sigma`, perhaps `max` | The logarithm is normal with standard deviation `sigma`; larger sizes are cut down to `max`. |\n\
    | `\"empirical\"` | `points` | Pairs of a size and the share of transfers that are at most so large, `[[\"1kB\", 0.5], [\"1MB\", 1.0]]`; in between sizes are uniform. |\n";

/// How times are written.
const TIMES: &str = "\n## Times\n\n\
    `service` and `pause` are a text (`\"1ms\"`), always the same, or a table with the `kind` of a distribution.\n\n\
    | `kind` | keys | distribution |\n|---|---|---|\n\
    | `\"uniform\"` | `min`, `max` | Any time from `min` to `max`. |\n\
    | `\"exponential\"` | `mean` | Exponential. |\n\
    | `\"lognormal\"` | `mean`, `sigma` | The logarithm is normal with standard deviation `sigma`. |\n";

fn transport() -> String {
    let mut text = preface("Parameters of endpoints", "transport");
    text.push_str("Ready-made endpoints, and what differs in them from `\"tcp\"`, whose defaults the tables give:\n\n");
    text.push_str("| `profile` | what differs |\n|---|---|\n");
    let values = |profile: &str| serde_json::to_value(TransportConfig::profile(profile)).unwrap_or_default();
    for profile in TransportConfig::PROFILES {
        let mut changes = Vec::new();
        differences("", &values(TransportConfig::PROFILES[0]), &values(profile), &mut changes);
        let changes: Vec<String> = changes.iter().map(|change| format!("`{}`", cell(change))).collect();
        let _ = writeln!(text, "| `\"{profile}\"` | {} |", changes.join(", "));
    }
    let own = |prefix: &str| -> Vec<&Parameter> {
        TransportConfig::parameters().iter().filter(|parameter| parameter.key.starts_with(prefix)).collect()
    };
    let all = TransportConfig::parameters().iter();
    let shared: Vec<&Parameter> = all.filter(|parameter| !parameter.key.contains('.')).collect();
    let _ = write!(text, "\n## All endpoints\n\n{}\n", table(&shared, ""));
    let of_tcp: Vec<String> = TransportConfig::OF_TCP.iter().map(|key| format!("`{key}`")).collect();
    let _ = writeln!(
        text,
        "TCP's endpoints alone read {}. What no flow reads is refused, unless it is the default.",
        of_tcp.join(", ")
    );
    for (title, name) in [("QUIC-like endpoints", "quic"), ("Probes", "probe"), ("Calls", "real_time")] {
        let prefix = format!("{name}.");
        let _ = write!(text, "\n## {title}\n\nThe table `{name}`.\n\n{}", table(&own(&prefix), &prefix));
    }
    text
}
