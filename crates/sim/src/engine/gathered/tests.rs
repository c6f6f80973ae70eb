//! Tables and counts of events are the same, whether links are gathered or not.

use super::super::tests::{run_over, scenario};
use super::super::wiring::Network;
use crate::RunOutput;

fn run(toml: &str, gathers: bool) -> (RunOutput, usize) {
    let scenario = scenario(toml);
    let mut places = 0;
    let output = run_over(&scenario, |cancel| {
        let mut network = Network::new(&scenario, cancel).unwrap();
        network.shorten_ways(|_| false);
        network.join_links();
        if gathers {
            network.gather_links();
        }
        places = network.gathered.places.len();
        network
    });
    (output, places)
}

/// Nobody notices that the links of an experiment are gathered, which lead to so many places.
fn is_unnoticed(toml: &str, places: usize) {
    let (apart, gathered) = (run(toml, false).0, run(toml, true));
    assert_eq!(gathered.1, places, "{toml}");
    // As text, in which no value is like itself.
    let told = |output: &RunOutput| {
        let RunOutput { flows, series, links, link_series, datagrams, summary, .. } = output;
        [flows, series, links, link_series, datagrams].map(|table| format!("{table:?}")).join("\n")
            + &format!("{} events, {} packets", summary.events, summary.packets)
    };
    assert_eq!(told(&gathered.0), told(&apart), "{toml}");
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
fn nobody_notices_that_links_are_gathered() {
    for record in
        ["record.series = false", "record.interval = \"50ms\"", "record.interval = \"7ms\"", "vary_rtt = \"9ms\""]
    {
        is_unnoticed(&format!("{record}\n{OWN}"), 2);
    }
}

#[test]
fn links_are_gathered_before_every_link_with_a_drop_tail_queue() {
    for (from, to) in [
        ("\"40kB\"", "\"12packets\""),
        ("\"40kB\"", "\"15ms\""),
        ("\"40kB\"", "\"40kB\", loss = \"1%\""),
        ("\"20mbit\"", "\"1400mbit\""),
        ("\"20ms\"", "\"1us\""),
        ("cooldown", "transport = { ecn = \"accurate\" }\n    cooldown"),
        ("cooldown", "transport = { pacing = \"on\" }\n    cooldown"),
        ("cooldown", "transport = { completion = \"wire\" }\n    cooldown"),
        ("cc = \"bbr\"", "cc = \"bbr\"\n    transport = { profile = \"quic\" }"),
        ("cc = \"bbr\"", "cc = \"bbr\"\n    rate = \"3mbit\""),
    ] {
        assert!(OWN.contains(from), "{from}");
        is_unnoticed(&OWN.replacen(from, to, 1), 2);
    }
}
