//! noq's endpoints in experiments, beside our own.

#![allow(clippy::unwrap_used, reason = "tests")]

use dumbbell_cc::Catalog;
use dumbbell_results::{Table, Values};
use dumbbell_scenario::Experiment;
use dumbbell_sim::{RunError, RunOutput};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let mut catalog = dumbbell_cc_family::catalog().clone();
    dumbbell_quic::register(&mut catalog).unwrap();
    catalog
});

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::from_toml_with(&CATALOG, text, "test.toml", &[]).map_err(|errors| errors.to_string())
}

fn run(text: &str) -> Result<RunOutput, RunError> {
    let experiment = read(text).unwrap_or_else(|errors| panic!("{errors}"));
    dumbbell_sim::run(&experiment.points()[0].scenario(), &AtomicBool::new(false))
}

fn flows(text: &str) -> Table {
    run(text).unwrap_or_else(|error| panic!("{error}")).flows
}

/// The first value of a column; NaN where there is none.
fn value(table: &Table, name: &str) -> f64 {
    let column = table.columns.iter().find(|column| column.name == name).unwrap();
    match &column.values {
        Values::Float(rows) => rows[0],
        Values::Count(rows) if rows[0] == u64::MAX => f64::NAN,
        #[expect(clippy::cast_precision_loss, reason = "counts of these tests are small")]
        Values::Count(rows) => rows[0] as f64,
        _ => panic!("{name} is no number"),
    }
}

/// A path with a flow of `cc` over `transport`.
fn transfer(path: &str, transport: &str, cc: &str) -> String {
    format!("duration = \"40s\"\ntransport = {transport}\n[path]\n{path}\n[[flows]]\ncc = {cc}\nbytes = \"10MB\"\n")
}

/// How often `transport` needs the time that `other` needs, and the packets that both lose.
fn compare(path: &str, [one, other]: [(&str, &str); 2]) -> (f64, [f64; 2]) {
    let [one, other] = [one, other].map(|(transport, cc)| flows(&transfer(path, transport, cc)));
    let took = |table| value(table, "completion_s");
    (took(&one) / took(&other), [&one, &other].map(|table| value(table, "lost_total")))
}

/// Paths on which nothing is drawn by chance.
const PATHS: [&str; 5] = [
    "rate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"",
    "rate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"",
    "rate = \"50mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"",
    "rate = \"5mbit\"\nrtt = \"100ms\"\nbuffer = \"2bdp\"",
    "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\nqueue = \"fq_codel\"",
];

/// HyStart listens to the spacing of ACKs, which pacing changes, and the two pace in ways of their own.
const CUBIC: &str = "{ name = \"cubic\", hystart = false }";

#[test]
fn our_controllers_do_in_the_library_what_they_do_in_our_own_endpoints() {
    for path in PATHS {
        for cc in [CUBIC, "\"reno\"", "\"bbr\"", "\"bbr3\""] {
            let (times, [real, model]) = compare(path, [("\"noq\"", cc), ("\"quic\"", cc)]);
            assert!((times - 1.0).abs() < 0.03, "{cc} on {path:?}: {times} times as long");
            let are_near = (real - model).abs() < 20.0 || real.max(model) < 1.6 * real.min(model);
            assert!(are_near, "{cc} on {path:?}: {real} lost, and {model}");
        }
    }
}

#[test]
fn the_librarys_own_controllers_do_what_ours_do_in_it() {
    for path in PATHS {
        for (ours, own) in [(CUBIC, "\"noq:cubic\""), ("\"reno\"", "\"noq:new-reno\"")] {
            let (times, [one, other]) = compare(path, [("\"noq\"", ours), ("\"noq\"", own)]);
            assert!((times - 1.0).abs() < 0.02, "{own} on {path:?}: {times} times as long");
            assert!(one.max(other) <= 1.25 * one.min(other), "{own} on {path:?}: {one} lost, and {other}");
        }
    }
}

#[test]
fn a_run_repeats_to_the_bit() {
    let text = transfer("rate = \"20mbit\"\nrtt = \"40ms\"\nloss = \"0.5%\"\njitter = \"2ms\"", "\"noq\"", "\"bbr\"");
    // Values that are missing are NaN, which equals nothing.
    assert_eq!(format!("{:?}", flows(&text)), format!("{:?}", flows(&text)));
}

#[test]
fn what_nobody_can_tell_of_the_library_is_unknown() {
    let table = flows(&transfer(PATHS[0], "\"noq\"", "\"noq:bbr3\""));
    for unknown in ["rto_count_total", "probe_count_total", "duplicates_total"] {
        assert!(value(&table, unknown).is_nan(), "{unknown}");
    }
    assert_eq!(value(&table, "delivered_bytes_total"), 10e6);
    assert_eq!(value(&table, "lost_total"), value(&table, "network_drops_total"));
}

#[test]
fn an_application_that_pauses_writes_on_and_one_that_stops_leaves_little() {
    let flow = |rest: &str| {
        flows(&format!(
            "duration = \"20s\"\ntransport = \"noq\"\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n[[flows]]\ncc = \"reno\"\n{rest}"
        ))
    };
    let paced = flow("rate = \"1mbit\"\n");
    let goodput = value(&paced, "goodput_mbps");
    assert!((goodput - 1.0).abs() < 0.02, "{goodput}");
    assert_eq!(value(&paced, "lost_total"), 0.0);
    let stopped = value(&flow("stop = \"10s\"\n"), "delivered_bytes_total");
    let most = 10e6 / 8.0 * 10.2;
    assert!((0.9 * most..most).contains(&stopped), "{stopped} of at most {most}");
}

#[test]
fn flows_that_come_and_go_finish() {
    let output = run("duration = \"10s\"\ntransport = \"noq\"\n[path]\nrate = \"20mbit\"\nrtt = \"20ms\"\n\
         [[traffic]]\nkind = \"short-flows\"\ncc = \"reno\"\nload = \"10%\"\nsize = \"50kB\"\n");
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    let times = &output.completions.columns.iter().find(|column| column.name == "fct_s").unwrap().values;
    let Values::Float(times) = times else { panic!("times are numbers") };
    assert!(times.len() > 30, "{}", times.len());
    // A handshake, and three rounds of slow start.
    assert!(times.iter().filter(|time| !time.is_nan()).all(|&time| (0.06..1.0).contains(&time)), "{times:?}");
}

#[test]
fn marks_reach_a_controller_as_congestion() {
    let text = "duration = \"10s\"\ntransport = { profile = \"noq\", ecn = true }\n\
                [path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\nqueue = \"fq_codel\"\n[[flows]]\ncc = \"reno\"\n";
    let table = flows(text);
    assert_eq!(value(&table, "lost_total"), 0.0, "CoDel marks");
    assert!(value(&table, "p95_rtt_ms") < 70.0, "and the sender answers");
}

#[test]
fn more_gaps_than_the_library_keeps_end_the_run_with_the_remedy() {
    let text = "duration = \"5s\"\ntransport = { profile = \"noq\", receive_window = \"64MiB\" }\n\
                [path]\nrate = \"1gbit\"\nrtt = \"50ms\"\nbuffer = \"1bdp\"\n[[flows]]\ncc = { name = \"cubic\", hystart = false }\n";
    let error = run(text).unwrap_err().to_string();
    assert!(error.contains("the connection of flow 0 (`cubic`, noq) failed at "), "{error}");
    assert!(error.contains("1024 gaps") && error.contains("transport.receive_window"), "{error}");
    let table = flows(&text.replace(", receive_window = \"64MiB\"", ""));
    assert!(value(&table, "goodput_mbps") > 300.0, "{}", value(&table, "goodput_mbps"));
}

#[test]
fn the_protocol_alone_is_the_library_with_its_own_constants_and_comes_back_as_it_was_written() {
    let hash = |text: &str| read(text).unwrap_or_else(|errors| panic!("{errors}")).points()[0].content_hash();
    let named = transfer(PATHS[0], "\"noq\"", "\"reno\"");
    assert_eq!(hash(&transfer(PATHS[0], "{ protocol = \"noq\" }", "\"reno\"")), hash(&named));
    let written = read(&named).unwrap_or_else(|errors| panic!("{errors}")).points()[0].resolved_toml();
    assert_eq!(hash(&written), hash(&named));
}

#[test]
fn what_does_not_go_together_is_refused_with_the_remedy() {
    let refusal = |transport: &str, cc: &str| read(&transfer(PATHS[0], transport, cc)).unwrap_err();
    for (transport, cc, told) in [
        ("\"tcp\"", "\"noq:cubic\"", "add transport = \"noq\""),
        ("\"noq\"", "\"lp\"", "TCP's timestamps"),
        ("\"noq\"", "\"prague\"", "counts congestion marks"),
        ("{ profile = \"noq\", sack = false }", "\"reno\"", "`sack` means nothing over \"noq\""),
        ("{ profile = \"noq\", mss = 1000 }", "\"reno\"", "1200 to 65507"),
        ("{ profile = \"quic\", protocol = \"noq\" }", "\"reno\"", "leave `protocol` out, or give transport = \"noq\""),
        ("{ profile = \"noq\", library = { idle_timout = \"1s\" } }", "\"reno\"", "idle_timeout"),
        ("{ profile = \"noq\", library = { idle_timeout = \"2h\" } }", "\"reno\"", "1h"),
        ("{ library = { idle_timeout = \"1s\" } }", "\"reno\"", "`library` means nothing over \"tcp\""),
        ("\"nok\"", "\"reno\"", "did you mean `noq`?"),
    ] {
        let text = refusal(transport, cc);
        assert!(text.contains(told), "{transport} with {cc}: {text}");
    }
}
