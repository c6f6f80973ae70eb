//! What no run may show, whatever its experiment: a round trip shorter than the path's, a packet that vanishes, a
//! transfer faster than its link, a number that overflows.
//!
//! The first two are checked by the engine itself while it runs, overflows by every build for tests; here are experiments
//! drawn at random from everything that files can say, to lead it there. `DUMBBELL_HUNT=50000` draws more of them. A
//! failure prints its experiment, ready to be run, and the number that belongs into `FOUND`.

use crate::lab::{Run, run, scenario};
use dumbbell_cc_family::catalog;
use dumbbell_path::LinkRate;
use dumbbell_scenario::Experiment;
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Bytes, Duration, Ratio, Rng};
use serde_json::{Value, json};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Experiments that a test draws without being told how many.
const DRAWN: u64 = 1_500;
/// Experiments that showed once: a round trip of what a timeout sent in spite of pacing (two), that of another SYN than was
/// answered (four), one of nothing at all (two), drops that nobody counted (two), departures from a queue that decides
/// late as if there were no jitter behind it (three), and times subtracted in the wrong order (two).
const FOUND: [u64; 15] =
    [4_328, 16_249, 1_938, 10_572, 2_977, 18_067, 2_583, 6_856, 2_442, 18_293, 75_354, 79_076, 84_278, 6_072, 14_904];
/// Experiments with extreme parameters in which something overflowed once.
const FOUND_EXTREME: [u64; 4] = [148, 173, 1_670, 2_473];

/// The numbers of the experiments that a test draws, the first of all and those in which something was found.
fn numbers(found: &[u64]) -> impl Iterator<Item = u64> {
    let drawn = std::env::var("DUMBBELL_HUNT").map_or(DRAWN, |text| text.parse().unwrap());
    (0..drawn).chain(found.iter().copied().filter(move |&number| number >= drawn))
}

/// Draws the parts of an experiment.
struct Lot(Rng);

impl Lot {
    /// A number between two bounds, each order of magnitude as likely as the others.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.uniform())
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.0.below(n) == 0
    }

    fn one_of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.0.below(choices.len() as u32) as usize]
    }

    /// A link without its name and delay.
    fn link(&mut self, toml: &mut String) {
        let kbit = self.between(60.0, 60_000.0) as u32;
        let rate = match self.0.below(8) {
            0 => "\"unlimited\"".to_owned(),
            1 => format!("[[\"0s\", \"{kbit}kbit\"], [\"1s\", \"{}kbit\"]]", self.between(60.0, 60_000.0) as u32),
            _ => format!("\"{kbit}kbit\""),
        };
        writeln!(toml, "rate = {rate}\nbuffer = \"{}packets\"", self.between(1.0, 400.0) as u32).unwrap();
        if !rate.contains("unlimited") {
            let queues = [
                "\"droptail\"",
                "\"drophead\"",
                "\"codel\"",
                "\"red\"",
                "\"fq\"",
                "\"fq_codel\"",
                "\"dualpi2\"",
                "{ kind = \"cake\", bandwidth = \"5mbit\" }",
                "{ kind = \"tbf\", rate = \"2mbit\", burst = \"100kB\" }",
                "{ kind = \"threshold\", threshold = \"5packets\" }",
            ];
            let common = self.one_in(2);
            writeln!(toml, "queue = {}", if common { queues[0] } else { self.one_of(&queues) }).unwrap();
        }
        match self.0.below(8) {
            0 | 1 => writeln!(toml, "loss = {}", self.between(1e-4, 0.4)).unwrap(),
            2 => writeln!(
                toml,
                "loss = {{ kind = \"gilbert-elliott\", p = {}, r = {}, loss_bad = 0.6 }}",
                self.between(1e-3, 0.1),
                self.between(0.02, 0.9)
            )
            .unwrap(),
            _ => {}
        }
        if toml.lines().last().is_some_and(|line| line.starts_with("loss")) && self.one_in(2) {
            writeln!(toml, "loss_at = \"before\"").unwrap();
        }
        if self.one_in(4) {
            let (amount, distribution) = (self.between(10.0, 30_000.0) as u32, self.one_of(&["uniform", "normal"]));
            let reorders = self.one_in(2);
            writeln!(
                toml,
                "jitter = {{ amount = \"{amount}us\", distribution = \"{distribution}\", reorders = {reorders} }}"
            )
            .unwrap();
        }
        if self.one_in(8) {
            writeln!(toml, "reorder = {}", self.between(1e-3, 0.3)).unwrap();
        }
        if self.one_in(10) {
            writeln!(toml, "policer = {{ rate = \"{}kbit\", burst = \"60kB\" }}", self.between(100.0, 9_000.0) as u32)
                .unwrap();
        }
    }

    /// The endpoints of a flow.
    fn transport(&mut self) -> String {
        match self.0.below(6) {
            0 => "\"quic\"".to_owned(),
            1 => "\"dqc\"".to_owned(),
            2 => "\"tcp\"".to_owned(),
            _ => {
                let mut keys = Vec::new();
                let mut may = |lot: &mut Lot, key: &str, values: &[&str]| {
                    if lot.one_in(4) {
                        keys.push(format!("{key} = {}", lot.one_of(values)));
                    }
                };
                may(self, "mss", &["536", "1200", "8948"]);
                may(self, "ack_every", &["1", "3", "10"]);
                may(self, "pacing", &["\"on\"", "\"off\""]);
                may(self, "sack", &["false"]);
                may(self, "dsack", &["false"]);
                may(self, "ecn", &["true"]);
                may(self, "tail_loss_probe", &["false"]);
                may(self, "frto", &["false"]);
                may(self, "loss_detection", &["\"dupthresh\""]);
                may(self, "recovery", &["\"ns3\""]);
                may(self, "rescue", &["\"below-sack\"", "\"any\""]);
                may(self, "rto_rule", &["\"rfc6298\""]);
                may(self, "delivery_rate", &["\"linux-old\"", "\"ns3\"", "\"ns3-3.40\""]);
                may(self, "controller_rtt", &["\"smoothed\""]);
                may(self, "rtt_samples", &["\"timestamps\"", "\"timestamps-of-originals\""]);
                may(self, "completion", &["\"wire\""]);
                may(self, "pacing_credit", &["false"]);
                may(self, "hz", &["100", "250"]);
                may(self, "receive_autotuning", &["true"]);
                may(self, "receive_window", &["\"20kB\"", "\"60kB\""]);
                may(self, "initial_cwnd", &["1", "100"]);
                may(self, "rto_min", &["\"10ms\"", "\"1s\""]);
                format!("{{ {} }}", keys.join(", "))
            }
        }
    }
}

/// Experiment number `number`.
fn draw(number: u64) -> String {
    let mut lot = Lot(Rng::new(number));
    let seconds = lot.between(1.0, 8.0);
    let warmup = if lot.one_in(3) { 0.0 } else { seconds * lot.between(0.05, 0.9) };
    let mut toml = format!("duration = \"{seconds:.3}s\"\nwarmup = \"{warmup:.3}s\"\nseed = {number}\n");
    writeln!(toml, "record = {{ series = {}, interval = \"50ms\" }}", lot.one_in(4)).unwrap();
    let links = 1 + lot.0.below(3);
    for i in 0..links {
        let longest = if lot.one_in(10) { 900_000.0 } else { 150_000.0 };
        let delay = lot.between(1.0, longest) as u32;
        writeln!(toml, "[[links]]\nfrom = \"n{i}\"\nto = \"n{}\"\ndelay = \"{delay}us\"", i + 1).unwrap();
        lot.link(&mut toml);
        writeln!(toml, "[links.reverse]").unwrap();
        if lot.one_in(2) {
            lot.link(&mut toml);
        } else {
            writeln!(toml, "rate = \"unlimited\"").unwrap();
        }
    }
    let algorithms: Vec<&str> = catalog().names().collect();
    for _ in 0..1 + lot.0.below(4) {
        let common = lot.one_in(2);
        let cc = match common {
            true => lot.one_of(&["bbr", "cubic", "reno", "bbr3"]),
            false => algorithms[lot.0.below(algorithms.len() as u32) as usize],
        };
        let (a, b) = (lot.0.below(links + 1), lot.0.below(links));
        let b = if b >= a { b + 1 } else { b };
        writeln!(toml, "[[flows]]\ncc = \"{cc}\"\nfrom = \"n{a}\"\nto = \"n{b}\"").unwrap();
        writeln!(toml, "start = \"{:.3}s\"\ntransport = {}", lot.0.uniform() * seconds / 2.0, lot.transport()).unwrap();
        if lot.one_in(4) {
            writeln!(toml, "rate = \"{}kbit\"", lot.between(10.0, 10_000.0) as u32).unwrap();
        }
        // Without a window of its own such a transfer over links without a limit would know no bounds.
        let bytes = lot.between(1e4, 1e8) as u64;
        writeln!(toml, "bytes = {bytes}").unwrap();
    }
    toml
}

/// A value at the end of what can be written in place of this one.
fn extreme(lot: &mut Lot, value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(_) => json!([0, 1, 2, 65_535, u32::MAX][lot.0.below(5) as usize]),
        Value::String(text) if text.parse::<Duration>().is_ok() => {
            json!(lot.one_of(&["0s", "1ns", "1us", "1s", "1h", "500000h", "584y", "5000000h"]))
        }
        Value::String(text) if text.parse::<Ratio>().is_ok() => json!(lot.one_of(&["0", "1e-9", "1", "4294967295"])),
        Value::String(text) if text.parse::<Bytes>().is_ok() => json!(lot.one_of(&["1B", "1000B", "18000000TB"])),
        Value::Array(values) => values.iter().map(|value| extreme(lot, value)).collect(),
        other => other.clone(),
    }
}

/// Experiment number `number` of those whose endpoints and controller have extreme parameters.
fn draw_extreme(number: u64) -> Value {
    let mut lot = Lot(Rng::new(number));
    let algorithms: Vec<_> = catalog().entries().collect();
    let entry = algorithms[lot.0.below(algorithms.len() as u32) as usize];
    let cc = entry.name();
    let mut parameters = entry.parameters(&serde_json::Map::new()).unwrap();
    let profile = lot.one_of(&TransportConfig::PROFILES);
    let Value::Object(mut transport) = serde_json::to_value(TransportConfig::profile(profile)).unwrap() else {
        unreachable!("a table")
    };
    let Some(Value::Object(mut quic)) = transport.remove("quic") else { unreachable!("a table") };
    for table in [&mut parameters, &mut transport, &mut quic] {
        let keys: Vec<String> = table.keys().filter(|key| *key != "clock_resolution").cloned().collect();
        let changed = lot.0.below(3);
        let chosen: Vec<&String> = (0..changed).map(|_| &keys[lot.0.below(keys.len() as u32) as usize]).collect();
        for key in &chosen {
            table[*key] = extreme(&mut lot, &table[*key]);
        }
        table.retain(|key, _| chosen.contains(&key));
    }
    transport.insert("profile".to_owned(), json!(profile));
    transport.insert("quic".to_owned(), Value::Object(quic));
    parameters.insert("name".to_owned(), json!(cc));
    json!({
        "duration": "2s",
        "seed": number,
        "record": { "series": false },
        "path": { "rate": "2mbit", "rtt": "30ms", "buffer": "20packets", "loss": lot.one_of(&["0%", "3%"]) },
        "flows": [{ "cc": parameters, "bytes": 300_000 }],
        "transport": transport,
    })
}

/// Runs experiment number `number` and says what is wrong with it, if anything is.
fn fault_of(number: u64) -> Option<String> {
    let toml = draw(number);
    let fault = caught(|| check(&toml))?;
    Some(format!("experiment {number}: {fault}\n{toml}"))
}

/// What `check` finds wrong, or what it panics with.
fn caught(check: impl FnOnce() -> Option<String>) -> Option<String> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Some(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panics").to_owned())
    })
}

/// Runs an experiment and compares its tables with what its links can carry.
fn check(toml: &str) -> Option<String> {
    let scenario = scenario(toml);
    let run = Run::of(&scenario);
    let measured_s = scenario.duration.saturating_sub(scenario.warmup).as_secs_f64();
    for (i, flow) in scenario.flows.iter().enumerate() {
        // One packet is on the transmitter at each end of the interval.
        let packet_mbps = f64::from(flow.transport.mss + flow.transport.header_bytes()) * 8e-6 / measured_s;
        let capacity = flow.forward.iter().map(|&link| run.link("capacity_mbps", link)).fold(f64::INFINITY, f64::min);
        let (throughput, goodput) = (run.flow("throughput_mbps", i), run.flow("goodput_mbps", i));
        // Where rates vary, the slowest link is not the slowest one of every interval.
        let is_steady = |&link: &usize| !matches!(scenario.links[link].config.rate, LinkRate::Schedule { .. });
        if flow.forward.iter().all(is_steady) && throughput > capacity + packet_mbps {
            return Some(format!("flow {i} puts {throughput} Mbit/s through a link of {capacity}"));
        }
        // After a warm-up, what had arrived before it may come on top.
        if scenario.warmup == Duration::ZERO && goodput > capacity {
            return Some(format!("flow {i} has a goodput of {goodput} Mbit/s over a link of {capacity}"));
        }
        let (carried, delivered) = (run.flow("throughput_bytes_total", i), run.flow("delivered_bytes_total", i));
        if delivered > carried {
            return Some(format!("flow {i} delivers {delivered} bytes of {carried}"));
        }
    }
    None
}

#[test]
fn no_experiment_shows_what_cannot_be() {
    let faults: Vec<String> = numbers(&FOUND).filter_map(fault_of).collect();
    assert!(faults.is_empty(), "{} experiments:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn extreme_parameters_are_refused_or_run() {
    let mut faults = Vec::new();
    let (mut run, mut refused) = (0, 0);
    for number in numbers(&FOUND_EXTREME) {
        let experiment = draw_extreme(number);
        let Ok(valid) = Experiment::from_json(&experiment, "extreme", &[]) else {
            refused += 1;
            continue;
        };
        run += 1;
        let fault = caught(|| {
            Run::of(&valid.points()[0].scenario());
            None
        });
        faults.extend(fault.map(|fault| format!("experiment {number}: {fault}\n{experiment}")));
    }
    assert!(faults.is_empty(), "{} experiments:\n{}", faults.len(), faults.join("\n"));
    assert!(2 * run > refused, "{refused} are refused and only {run} run");
}

/// A round trip that takes longer than the first SYN waits for its answer, so that a second one leaves.
#[test]
fn the_answer_to_the_first_syn_measures_its_own_round_trip_and_not_that_of_the_second() {
    for (transport, shortest_ms) in [("tcp", 1_300.0), ("quic", 1_300.0)] {
        let run = run(&format!(
            r#"
            duration = "10s"
            transport = "{transport}"
            path = {{ rate = "10mbit", rtt = "1300ms" }}
            flows = [{{ cc = "bbr" }}]
            "#
        ));
        let least = run.series(0).number("min_rtt_ms").iter().copied().fold(f64::INFINITY, f64::min);
        assert!((shortest_ms..shortest_ms + 2.0).contains(&least), "{transport}: {least} ms");
    }
}

/// Paced flows on slow paths that drop much: their timeouts do not wait for their turn.
#[test]
fn what_a_timeout_sends_in_spite_of_pacing_measures_the_whole_round_trip() {
    for (cc, rate, loss) in [("bbr", "200kbit", "0%"), ("bbr2", "500kbit", "35%")] {
        for seed in 1..=10 {
            let run = run(&format!(
                r#"
                duration = "30s"
                seed = {seed}
                record.series = false
                path = {{ rate = "{rate}", rtt = "100ms", buffer = "2packets", loss = "{loss}" }}
                flows = [{{ cc = "{cc}", count = 4 }}]
                "#
            ));
            // The timestamp option counts whole milliseconds.
            let least = run.flows("min_rtt_ms").into_iter().fold(f64::INFINITY, f64::min);
            assert!(least >= 100.0, "{cc}, seed {seed}: {least} ms");
        }
    }
}

/// Goodput counts what the application reads in the measured interval, as a receiver's application would. Data that
/// arrived before it behind a gap, and is read when the gap is filled, comes on top of what the link carries meanwhile.
#[test]
fn goodput_counts_what_is_read_and_throughput_what_the_link_carries() {
    let goodput = |seed: u64| {
        let run = run(&format!(
            r#"
            duration = "2.5s"
            warmup = "2s"
            seed = {seed}
            record.series = false
            path = {{ rate = "2mbit", rtt = "60ms", buffer = "40packets", loss = "3%" }}
            flows = [{{ cc = "cubic" }}]
            "#
        ));
        let one_packet_mbps = 1_500.0 * 8e-6 / 0.5;
        assert!(run.flow("throughput_mbps", 0) <= 2.0 + one_packet_mbps);
        assert!(run.flow("delivered_bytes_total", 0) <= run.flow("throughput_bytes_total", 0));
        run.flow("goodput_mbps", 0)
    };
    assert!((1..=60).any(|seed| goodput(seed) > 2.0), "a gap was open in one of the runs when the interval began");
}
