//! An ACK clock makes things happen at one instant: a packet arrives when another begins to leave, an ACK when the
//! pacing timer fires. The numbers are those of Linux 7.2.13 in virtual time.

use crate::lab::{Run, run};

fn on_linux(duration: &str, path: &str, flow: &str) -> Run {
    run(&format!(
        r#"
        duration = "{duration}"
        record.series = false
        path = {{ {path} }}
        [[flows]]
        {flow}
        [flows.transport]
        hz = 250
        nodelay = true
        receive_autotuning = true
        window_scale = 12
        send_buffer = "autotuning"
        send_buffer_initial = 87380
        send_buffer_max = 134217728
        "#
    ))
}

#[test]
fn a_packet_takes_the_place_in_the_queue_of_one_that_begins_at_its_arrival() {
    let path = r#"rate = "5.38mbit", rtt = "68.7ms", buffer = "0.65bdp""#;
    let run = on_linux("6s", path, "cc = 'cubic'\nstart = '10ms'\nbytes = '737032B'");
    let counts = ["sent_total", "network_drops_total", "acks_total"].map(|column| run.flow(column, 0));
    assert_eq!(counts, [558.0, 49.0, 497.0], "31 were dropped when answers came a nanosecond before");
}

#[test]
fn a_pacing_timer_fires_before_an_ack_that_arrives_with_it() {
    let path = r#"rate = "10mbit", rtt = "200ms", buffer = "0.5bdp""#;
    let run = on_linux("20s", path, "cc = 'bbr'");
    assert_eq!(run.flow("network_drops_total", 0), 477.0, "715 when ACKs came first");
}
