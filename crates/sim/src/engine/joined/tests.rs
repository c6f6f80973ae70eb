//! Tables and counts of events are the same, whether links are joined or not.

use super::super::tests::{run_over, scenario};
use super::super::wiring::Network;
use crate::RunOutput;

/// Two flows, whose ways meet in one link and part behind it. Its queue and that of a way behind it overflow.
const MEETING: &str = r#"
    duration = "20s"
    warmup = "3s"
    cooldown = "1500ms"
    transport = { profile = "dqc" }
    links = [
        { name = "in1", from = "a", to = "m", rate = "100mbit", delay = "3ms", buffer = "50ms", reverse = "symmetric" },
        { name = "in2", from = "b", to = "m", rate = "100mbit", delay = "7ms", buffer = "50ms", reverse = "symmetric" },
        { name = "out1", from = "n", to = "c", rate = "1500kbit", delay = "3ms", buffer = "9packets", reverse = "symmetric" },
        { name = "out2", from = "n", to = "d", rate = "100mbit", delay = "0ms", buffer = "50ms", reverse = "symmetric" },
        { name = "middle", from = "m", to = "n", rate = "4mbit", delay = "10ms", buffer = "30kB", reverse = "symmetric" },
    ]
    [[flows]]
    cc = "bbr-dqc"
    from = "a"
    to = "c"
    [[flows]]
    cc = "cubic-quic"
    from = "b"
    to = "d"
    start = "700ms"
    stop = "15s"
"#;

fn run(toml: &str, joins: bool) -> (RunOutput, usize) {
    let scenario = scenario(toml);
    let mut joined = 0;
    let output = run_over(&scenario, |cancel| {
        let mut network = Network::new(&scenario, cancel).unwrap();
        if joins {
            network.join_links();
        }
        joined = network.joined.len();
        network
    });
    (output, joined)
}

fn is_unnoticed(toml: &str) {
    let (apart, joined) = (run(toml, false).0, run(toml, true));
    assert!(joined.1 > 0, "{toml}");
    // As text, in which no value is like itself.
    let told = |output: &RunOutput| {
        let RunOutput { flows, series, links, link_series, summary, .. } = output;
        [flows, series, links, link_series].map(|table| format!("{table:?}")).join("\n")
            + &format!("{} events, {} packets", summary.events, summary.packets)
    };
    assert_eq!(told(&joined.0), told(&apart), "{toml}");
}

#[test]
fn nobody_notices_that_links_are_joined() {
    for record in ["record.series = false", "record.interval = \"50ms\"", "record.interval = \"7ms\""] {
        is_unnoticed(&format!("{record}\n{MEETING}"));
    }
}

#[test]
fn links_are_joined_for_every_profile_and_rate() {
    for (from, to) in [("dqc", "quic"), ("rate = \"4mbit\"", "rate = \"30mbit\""), ("\"700ms\"", "\"0s\"")] {
        is_unnoticed(&MEETING.replace(from, to));
    }
}

/// Four flows over one link, which loses some packets besides.
const SHARED: &str = r#"
    duration = "20s"
    warmup = "3s"
    transport = { profile = "dqc" }
    path = { rate = "4mbit", rtt = "60ms", buffer = "20kB", loss = "1%", reverse = { rate = "200kbit", buffer = "2kB" } }
    [[flows]]
    cc = "bbr-dqc"
    count = 2
    stagger = "1300ms"
    [[flows]]
    cc = "cubic-quic"
    count = 2
    start = "2s"
    stop = "15s"
"#;

#[test]
fn nobody_notices_that_receivers_which_answer_at_once_do_so_ahead_of_time() {
    for record in ["record.series = false", "record.interval = \"50ms\"", "record.interval = \"7ms\""] {
        for loss in ["0%", "1%", "30%"] {
            is_unnoticed(&format!("{record}\n{}", SHARED.replace("\"1%\"", &format!("\"{loss}\""))));
        }
    }
}

#[test]
fn receivers_that_may_wait_answer_when_something_arrives() {
    assert_eq!(run(&SHARED.replace("dqc\" }", "quic\" }"), true).1, 0);
    let asks = SHARED.replace("dqc\" }", "dqc\", quic.acks_per_rtt = 4 }");
    assert_eq!(run(&asks, true).1, 0, "the sender may ask for fewer ACKs");
}
