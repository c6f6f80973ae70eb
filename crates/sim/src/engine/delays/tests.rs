//! Tables and counts of events are the same, whether there are delay legs or not.

use super::super::tests::{run_over, scenario};
use super::super::wiring::Network;
use crate::RunOutput;

fn run(toml: &str, takes_legs: bool) -> (RunOutput, bool) {
    let scenario = scenario(toml);
    let mut has_legs = false;
    let output = run_over(&scenario, |cancel| {
        let mut network = Network::new(&scenario, cancel).unwrap();
        network.shorten_ways(|_| false);
        if takes_legs {
            network.take_delay_legs();
        }
        has_legs = network.delays.is_some();
        network
    });
    (output, has_legs)
}

/// Nobody notices whether an experiment that may have delay legs has them.
fn is_unnoticed(toml: &str, has_legs: bool) {
    let (apart, legs) = (run(toml, false).0, run(toml, true));
    assert_eq!(legs.1, has_legs, "{toml}");
    // As text, in which no value is like itself.
    let told = |output: &RunOutput| {
        let RunOutput { flows, series, links, link_series, datagrams, summary, .. } = output;
        [flows, series, links, link_series, datagrams].map(|table| format!("{table:?}")).join("\n")
            + &format!("{} events, {} packets", summary.events, summary.packets)
    };
    assert_eq!(told(&legs.0), told(&apart), "{toml}");
}

/// Flows with round-trip times of their own.
const OWN: &str = r#"
    duration = "6s"
    warmup = "1s"
    cooldown = "300ms"
    path = { rate = "20mbit", rtt = "20ms", buffer = "40kB" }
    [[flows]]
    cc = "cubic"
    access_delay = "3ms"
    [[flows]]
    cc = "bbr"
    rtt = "50ms"
    start = "300ms"
    bytes = "900kB"
    [[flows]]
    cc = "reno"
    count = 4
    access_delay = "7ms"
    stagger = "150ms"
    stop = "5s"
"#;

#[test]
fn nobody_notices_delay_legs() {
    for record in
        ["record.series = false", "record.interval = \"50ms\"", "record.interval = \"7ms\"", "vary_rtt = \"9ms\""]
    {
        is_unnoticed(&format!("{record}\n{OWN}"), true);
    }
}

#[test]
fn nobody_notices_delay_legs_before_any_queue() {
    for (from, to) in [
        ("\"40kB\"", "\"12packets\""),
        ("\"40kB\"", "\"15ms\""),
        ("\"40kB\"", "\"40kB\", loss = \"1%\""),
        ("\"20mbit\"", "\"1400mbit\""),
        ("\"40kB\"", "\"40kB\", queue = \"codel\""),
        ("\"40kB\"", "\"40kB\", jitter = \"3ms\""),
        ("\"20ms\"", "\"1us\""),
        ("cooldown", "transport = { ecn = \"accurate\" }\n    cooldown"),
        ("cooldown", "transport = { pacing = \"on\" }\n    cooldown"),
        ("cooldown", "transport = { completion = \"wire\" }\n    cooldown"),
        ("cc = \"bbr\"", "cc = \"bbr\"\n    transport = { profile = \"quic\" }"),
        ("cc = \"bbr\"", "cc = \"bbr\"\n    rate = \"3mbit\""),
    ] {
        assert!(OWN.contains(from), "{from}");
        is_unnoticed(&OWN.replacen(from, to, 1), true);
    }
}

#[test]
fn links_at_which_throughput_is_measured_are_no_delay_legs() {
    let link = |name: &str, from: &str, to: &str| {
        format!(
            "{{ name = \"{name}\", from = \"{from}\", to = \"{to}\", rate = \"unlimited\", delay = \"5ms\", reverse = \"symmetric\" }}"
        )
    };
    let links: Vec<_> = ["a", "b", "c"].iter().map(|to| link(&format!("to-{to}"), "server", to)).collect();
    let flow = |to: &str| format!("[[flows]]\ncc = \"cubic\"\nfrom = \"server\"\nto = \"{to}\"\nrate = \"3mbit\"\n");
    let flows: String = ["a", "b", "c"].into_iter().map(flow).collect();
    is_unnoticed(&format!("duration = \"2s\"\nlinks = [{}]\n{flows}", links.join(",")), false);
}
