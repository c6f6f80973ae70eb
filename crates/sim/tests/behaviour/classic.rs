//! The classic controllers on simulated paths: their queues, their answer to losses and marks, and their neighbours.

use crate::lab::{Run, advantage_of_the_shorter_path, assert_between, assert_near, mean, run};

/// A packet of full size takes so long on 10 Mbit/s.
const PACKET_MS: f64 = 1.2;

/// Flows on 10 Mbit/s and 40 ms (33 packets), measured from 20 s to 60 s.
fn shared(flows: &str, buffer: &str) -> Run {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
        record.interval = "50ms"
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "{buffer}" }}
        flows = [{flows}]
        "#
    ))
}

fn mean_queue_packets(run: &Run) -> f64 {
    run.link("mean_queue_bytes", 0) / 1_500.0
}

/// Goodput of a flow over a path with random losses that it could fill otherwise.
fn goodput_under_loss(cc: &str, rate: &str, rtt: &str, loss: &str) -> f64 {
    run(&format!(
        r#"
        duration = "120s"
        warmup = "20s"
        record.series = false
        path = {{ rate = "{rate}", rtt = "{rtt}", buffer = "1bdp", loss = "{loss}" }}
        flows = [{{ cc = "{cc}" }}]
        "#
    ))
    .flow("goodput_mbps", 0)
}

/// Mean window of a flow alone under independent losses, ACK by ACK, over two seeds.
fn window_under_loss(cc: &str, rtt: &str, loss: f64, seconds: u32) -> f64 {
    let window = |seed: u32| {
        run(&format!(
            r#"
            duration = "{seconds}s"
            warmup = "{}s"
            seed = {seed}
            record.series = false
            transport.ack_every = 1
            path = {{ rate = "10gbit", rtt = "{rtt}", loss = {loss} }}
            flows = [{{ cc = "{cc}" }}]
            "#,
            seconds / 5
        ))
        .mean_window(0)
    };
    mean(&[window(1), window(2)])
}

#[test]
fn bic_is_less_fair_between_round_trip_times_than_cubic() {
    let (bic, cubic) = (advantage_of_the_shorter_path("bic"), advantage_of_the_shorter_path("cubic"));
    assert!(bic > 1.5 * cubic, "bic {bic}, cubic {cubic}");
}

#[test]
fn vegas_keeps_two_to_four_packets_in_the_queue_and_fills_the_link() {
    let run = shared(r#"{ cc = "vegas" }"#, "4bdp");
    assert_near("utilization", run.link("utilization", 0), 1.0, 0.01);
    // A packet of them is in transmission.
    assert_between("queue", mean_queue_packets(&run), 1.0..=4.0);
    let queueing_ms = run.flow("mean_rtt_ms", 0) - 40.0 - PACKET_MS;
    assert_between("RTT in packets above the base", queueing_ms / PACKET_MS, 2.0..=4.5);
    assert_eq!(run.flow("retransmits", 0), 0.0);
}

#[test]
fn vegas_flows_keep_two_to_four_packets_each() {
    let run = run(r#"
        duration = "60s"
        warmup = "20s"
        record.series = false
        path = { rate = "100mbit", rtt = "40ms", buffer = "4bdp" }
        flows = [{ cc = "vegas", count = 5, start_jitter = "40ms" }]
        "#);
    assert_between("queue", mean_queue_packets(&run), 8.0..=20.0);
}

#[test]
fn vegas_starves_beside_reno_in_a_deep_buffer() {
    let run = shared(r#"{ cc = "vegas" }, { cc = "reno" }"#, "4bdp");
    let share = run.flow("goodput_mbps", 0) / run.flows("goodput_mbps").iter().sum::<f64>();
    assert!(share < 0.3, "{share}");
}

/// The second flow takes the first one's packets in the queue for propagation.
#[test]
fn a_vegas_flow_that_comes_late_gets_more() {
    let run = shared(r#"{ cc = "vegas" }, { cc = "vegas", start = "15s" }"#, "8bdp");
    let goodput = run.flows("goodput_mbps");
    assert!(goodput[1] > 1.1 * goodput[0], "{goodput:?}");
}

#[test]
fn westwood_uses_a_lossy_path_several_times_as_well_as_reno() {
    let [westwood, reno] = ["westwood", "reno"].map(|cc| goodput_under_loss(cc, "10mbit", "100ms", "1%"));
    assert!(westwood > 2.0 * reno, "westwood {westwood}, reno {reno}");
}

#[test]
fn westwood_knows_the_rate_of_a_saturated_link_and_empties_a_deep_queue_after_a_loss() {
    let run = run(r#"
        duration = "200s"
        record.interval = "50ms"
        path = { rate = "20mbit", rtt = "100ms", buffer = "2bdp" }
        flows = [{ cc = "westwood" }]
        "#);
    let series = run.series(0);
    let bw = series.during("cc_bw_mbps", 50.0..200.0);
    assert_near("bandwidth", mean(bw), 20.0 * 1448.0 / 1500.0, 0.1);
    let queue = run.link_series(0);
    let queue = queue.during("queue_packets", 50.0..200.0);
    let largest = queue.iter().copied().fold(0.0, f64::max);
    let smallest = queue.iter().copied().fold(f64::MAX, f64::min);
    assert!(largest > 300.0 && smallest < 10.0, "between {smallest} and {largest} packets");
}

/// √(4.5/p): 1.73 times Reno's window.
#[test]
fn veno_loses_a_fifth_to_random_losses_and_has_1_73_times_renos_window() {
    for (loss, seconds) in [(1e-2, 150), (1e-3, 300)] {
        let window = window_under_loss("veno", "100ms", loss, seconds);
        assert_near(&format!("window at a loss of {loss}"), window, (4.5 / loss).sqrt(), 0.15);
    }
}

/// DCTCP flows in a data centre: 1 Gbit/s and 100 us, where a switch marks above 20 packets.
fn data_centre(count: u32) -> Run {
    run(&format!(
        r#"
        duration = "2s"
        warmup = "500ms"
        record.interval = "100us"
        path = {{ rate = "1gbit", rtt = "100us", buffer = "500packets", queue = {{ kind = "threshold", threshold = "20packets" }} }}
        flows = [{{ cc = "dctcp", count = {count}, stagger = "1ms" }}]
        "#
    ))
}

#[test]
fn two_dctcp_flows_hold_the_queue_at_the_marking_threshold_of_a_full_link() {
    let run = data_centre(2);
    assert_near("utilization", run.link("utilization", 0), 1.0, 0.01);
    let queue = run.link_series(0);
    let queue = queue.during("queue_packets", 0.5..2.0);
    assert_between("mean queue", mean(queue), 12.0..=26.0);
    let largest = queue.iter().copied().fold(0.0, f64::max);
    assert_between("largest queue", largest, 20.0..=30.0);
    assert_eq!(run.link("drops_total", 0), 0.0);
}

/// Each of N flows adds a packet a round before the marks of the round before arrive.
#[test]
fn the_queue_of_many_dctcp_flows_exceeds_the_threshold_by_a_packet_of_each() {
    let run = data_centre(8);
    let queue = run.link_series(0);
    let queue = queue.during("queue_packets", 0.5..2.0);
    let largest = queue.iter().copied().fold(0.0, f64::max);
    assert_between("largest queue", largest, 24.0..=20.0 + 3.0 * 8.0);
}

/// A switch that marks one packet in line and drops those that it cannot mark drops no ACK of DCTCP, nor of those that
/// count marks (`tcp_ecn_send`).
#[test]
fn acks_are_ecn_capable_where_the_controller_needs_marks_or_they_are_counted() {
    let lost_acks = |flow: &str| {
        let run = run(&format!(
            r#"
            duration = "4s"
            flows = [{{ {flow} }}]
            [path]
            rate = "10mbit"
            rtt = "40ms"
            buffer = "2bdp"
            queue = {{ kind = "threshold", threshold = "20packets" }}
            reverse.rate = "200kbit"
            reverse.buffer = "1000packets"
            reverse.queue = {{ kind = "threshold", threshold = "5packets", drop_not_ect = true }}
            "#
        ));
        run.link("drops_total", 1)
    };
    assert_eq!(lost_acks(r#"cc = "dctcp""#), 0.0);
    assert_eq!(lost_acks(r#"cc = "reno", transport = { ecn = "accurate" }"#), 0.0);
    assert!(lost_acks(r#"cc = "reno", transport = { ecn = true }"#) > 10.0);
}

/// α ≈ √(2/W*) with W* = (C·RTT + K)/N, if a whole round is marked. In packets the windows do not exceed the threshold
/// all at once, and fewer are.
#[test]
fn the_share_of_marks_follows_from_the_window_at_which_they_begin() {
    let run = run(r#"
        duration = "20s"
        warmup = "5s"
        record.interval = "10ms"
        transport.ack_every = 1
        path = { rate = "100mbit", rtt = "10ms", buffer = "500packets", queue = { kind = "threshold", threshold = "40packets" } }
        flows = [{ cc = "dctcp", count = 4 }]
        "#);
    let window = (100e6 * 0.01 / 12_000.0 + 40.0) / 4.0;
    let series = run.series(0);
    let alpha = mean(series.during("cc_alpha", 5.0..20.0));
    assert_between("alpha over the law", alpha / (2.0f64 / window).sqrt(), 0.7..=1.05);
    assert_near("utilization", run.link("utilization", 0), 1.0, 0.01);
}

/// Mean window of a flow alone under periodic losses, ACK by ACK.
fn window_under_periodic_loss(cc: &str, loss: f64, seconds: u32) -> f64 {
    run(&format!(
        r#"
        duration = "{seconds}s"
        warmup = "{}s"
        record.series = false
        transport.ack_every = 1
        path = {{ rate = "10gbit", rtt = "50ms", loss = {{ kind = "periodic", p = {loss} }} }}
        flows = [{{ cc = "{cc}" }}]
        "#,
        seconds / 3
    ))
    .mean_window(0)
}

/// W = √(a(2 − b)/(2bp)) with the row (a, b) of the table for this window. In whole packets a is above the formula's,
/// so that 0.12/p^0.835 is reached from below 10⁻⁴ on.
#[test]
fn highspeed_has_the_window_of_its_response_function() {
    for (loss, a, b, seconds) in [(1e-4, 4.0, 98.0 / 256.0, 100), (1e-5, 11.0, 74.0 / 256.0, 200)] {
        let window = window_under_periodic_loss("highspeed", loss, seconds);
        let law = (a * (2.0 - b) / (2.0 * b * loss)).sqrt();
        assert_near(&format!("window at a loss of {loss}"), window, law, 0.1);
        if loss < 1e-4 {
            assert_near("window", window, 0.12 / loss.powf(0.835), 0.1);
        }
    }
}

/// The largest window is 0.08/p, and the mean of the sawtooth between 7/8 of that and that 0.075/p.
#[test]
fn scalable_has_a_window_in_inverse_proportion_to_the_loss() {
    for (loss, seconds) in [(1e-4, 100), (3e-5, 100)] {
        let window = window_under_periodic_loss("scalable", loss, seconds);
        let law = 0.08 / loss / 8.0 / (8.0f64 / 7.0).ln();
        assert_near(&format!("window at a loss of {loss}"), window, law, 0.1);
    }
}

#[test]
fn illinois_and_htcp_fill_a_long_fast_path_that_reno_does_not() {
    let goodput = |cc: &str| goodput_under_loss(cc, "100mbit", "100ms", "0.01%");
    let [illinois, htcp, reno] = ["illinois", "htcp", "reno"].map(goodput);
    assert!(illinois > 3.0 * reno && htcp > 1.5 * reno, "illinois {illinois}, htcp {htcp}, reno {reno}");
}

/// In Linux the drain stops at what Reno competitors are thought to have, half the window at which the queue grew
/// first.
#[test]
fn yeah_drains_a_deep_queue_but_not_below_what_reno_is_thought_to_have() {
    let run = run(r#"
        duration = "60s"
        warmup = "20s"
        record.series = false
        path = { rate = "20mbit", rtt = "100ms", buffer = "4bdp" }
        flows = [{ cc = "yeah" }]
        "#);
    assert_near("utilization", run.link("utilization", 0), 1.0, 0.01);
    assert_between("queue", mean_queue_packets(&run), 80.0..=300.0);
    assert_eq!(run.flow("retransmits", 0), 0.0, "the buffer of 667 packets does not overflow");
}

#[test]
fn yeah_shares_about_equally_with_reno() {
    let run = shared(r#"{ cc = "yeah" }, { cc = "reno" }"#, "1bdp");
    let goodput = run.flows("goodput_mbps");
    assert_between("ratio", goodput[0] / goodput[1], 0.5..=2.0);
}

/// After a loss in the middle of a clean, fast path.
#[test]
fn yeah_fills_a_clean_pipe_faster_than_reno() {
    let [yeah, reno] = ["yeah", "reno"].map(|cc| goodput_under_loss(cc, "100mbit", "100ms", "0.01%"));
    assert!(yeah > 2.0 * reno, "yeah {yeah}, reno {reno}");
}

/// Growth per second is what counts: on 200 ms the window must grow 64 times as fast per round trip.
#[test]
fn hybla_uses_a_lossy_satellite_link_as_reno_would_a_path_of_25_ms() {
    let [hybla, reno] = ["hybla", "reno"].map(|cc| goodput_under_loss(cc, "50mbit", "200ms", "0.1%"));
    let reno_nearby = goodput_under_loss("reno", "50mbit", "25ms", "0.1%");
    assert!(hybla > 4.0 * reno, "hybla {hybla}, reno {reno}");
    assert_near("goodput", hybla, reno_nearby, 0.3);
}

#[test]
fn cdg_keeps_the_queue_short_and_the_link_nearly_full() {
    let run = shared(r#"{ cc = "cdg" }"#, "4bdp");
    assert_between("utilization", run.link("utilization", 0), 0.85..=1.0);
    assert!(mean_queue_packets(&run) < 10.0, "{} packets", mean_queue_packets(&run));
    assert_eq!(run.flow("retransmits", 0), 0.0);
}

#[test]
fn ledbat_holds_100_ms_of_queue_alone() {
    let run = shared(r#"{ cc = "ledbat" }"#, "8bdp");
    assert_near("utilization", run.link("utilization", 0), 1.0, 0.01);
    assert_near("queueing delay", run.flow("mean_rtt_ms", 0) - 40.0 - PACKET_MS, 100.0, 0.05);
    assert_eq!(run.flow("retransmits", 0), 0.0);
}

#[test]
fn ledbat_and_its_successor_yield_to_loss_based_flows() {
    // Beside Reno the phase of its sawtooth decides: from 2 to 12 % with round trips that differ by a hair.
    for cc in ["ledbat", "ledbat++"] {
        let mut shares = Vec::new();
        for (other, rtt_us) in ["reno", "cubic"].into_iter().flat_map(|other| [(other, 40_000), (other, 40_680)]) {
            let run = run(&format!(
                r#"
                duration = "60s"
                warmup = "20s"
                record.series = false
                path = {{ rate = "10mbit", rtt = "{rtt_us}us", buffer = "4bdp" }}
                flows = [{{ cc = "{cc}" }}, {{ cc = "{other}" }}]
                "#
            ));
            shares.push(run.flow("goodput_mbps", 0) / run.flows("goodput_mbps").iter().sum::<f64>());
        }
        let mean = shares.iter().sum::<f64>() / 4.0;
        assert!(mean < 0.08, "{cc}: {shares:?}");
    }
}

/// It takes the first one's 100 ms for the path and adds 100 ms of its own.
#[test]
fn a_ledbat_flow_that_comes_late_takes_the_link_at_200_ms() {
    let run = run(r#"
        duration = "150s"
        warmup = "100s"
        record.series = false
        path = { rate = "10mbit", rtt = "40ms", buffer = "10bdp" }
        flows = [{ cc = "ledbat" }, { cc = "ledbat", start = "10s" }]
        "#);
    let goodput = run.flows("goodput_mbps");
    assert!(goodput[1] > 2.0 * goodput[0], "{goodput:?}");
    assert_near("queueing delay", run.flow("mean_rtt_ms", 1) - 40.0 - PACKET_MS, 200.0, 0.15);
}

#[test]
fn ledbat_plus_plus_holds_60_ms_of_queue_between_slowdowns() {
    let run = shared(r#"{ cc = "ledbat++" }"#, "8bdp");
    let queue = run.link_series(0);
    let mut queue: Vec<f64> = queue.during("queue_packets", 20.0..60.0).to_vec();
    queue.sort_unstable_by(f64::total_cmp);
    let median_ms = queue[queue.len() / 2] * PACKET_MS;
    assert_near("queueing delay", median_ms, 60.0, 0.1);
    assert!(run.link("utilization", 0) > 0.9, "slowdowns cost a tenth at most");
}

#[test]
fn two_ledbat_plus_plus_flows_converge_whoever_came_first() {
    let run = run(r#"
        duration = "120s"
        warmup = "40s"
        record.series = false
        path = { rate = "10mbit", rtt = "40ms", buffer = "8bdp" }
        flows = [{ cc = "ledbat++" }, { cc = "ledbat++", start = "10s" }]
        "#);
    assert!(run.jain() > 0.95, "{:?}", run.flows("goodput_mbps"));
}

#[test]
fn tcp_lp_leaves_the_link_to_reno() {
    let beside = shared(r#"{ cc = { name = "lp", delay = "round-trip" } }, { cc = "reno" }"#, "4bdp");
    let share = beside.flow("goodput_mbps", 0) / beside.flows("goodput_mbps").iter().sum::<f64>();
    assert!(share < 0.1, "{share}");
}

#[test]
fn tcp_lp_with_linuxs_timestamps_is_reno_for_seven_of_eight_seeds() {
    let sent = |cc: &str, seed: u64| {
        let path = r#"path = { rate = "10mbit", rtt = "40ms", buffer = "1bdp" }"#;
        let rest = "duration = \"5s\"\nrecord.series = false";
        run(&format!("seed = {seed}\n{rest}\n{path}\nflows = [{{ cc = {cc} }}]")).flow("sent", 0)
    };
    let reno = sent(r#""reno""#, 1);
    let alike = (0..64).filter(|&seed| sent(r#""lp""#, seed).total_cmp(&reno).is_eq()).count();
    assert!((50..=62).contains(&alike), "{alike} of 64");
    let meant = sent(r#"{ name = "lp", delay = "round-trip" }"#, 1);
    assert!(meant < 0.3 * reno, "{meant}, {reno}");
}

/// An indication of delay leaves ssthresh alone, as in Linux: as long as nothing was lost, every one is followed by
/// another slow start, whose own queue is the next indication, and a tenth of the link is used.
#[test]
fn tcp_lp_alone_uses_four_fifths_of_the_link_once_a_loss_has_ended_slow_start() {
    for (rate, rtt) in [("10mbit", "50ms"), ("20mbit", "20ms"), ("20mbit", "100ms"), ("50mbit", "50ms")] {
        let utilization = |events: &str| {
            let path = format!(r#"rate = "{rate}", rtt = "{rtt}", buffer = "4bdp", events = [{events}]"#);
            let rest = "duration = \"60s\"\nwarmup = \"30s\"\nrecord.series = false\nflows = [{ cc = { name = \"lp\", delay = \"round-trip\" } }]";
            run(&format!("path = {{ {path} }}\n{rest}")).link("utilization", 0)
        };
        let (lossless, one_loss) = (utilization(""), utilization(r#"{ action = "drop", packets = [40, 40] }"#));
        assert!(one_loss > 0.8 && lossless < 0.2, "{rate}, {rtt}: {one_loss} with a loss, {lossless} without");
    }
}

/// 1.25/δ in the mean and 2.5/δ at most with δ = 0.5, and a packet more for pairs.
#[test]
fn copa_keeps_two_and_a_half_packets_in_the_queue_and_five_at_most() {
    let run = shared(r#"{ cc = "copa" }"#, "8bdp");
    assert_near("utilization", run.link("utilization", 0), 1.0, 0.01);
    assert_between("mean queue", mean_queue_packets(&run), 1.5..=3.5);
    assert!(run.link("max_queue_bytes", 0) <= 6.0 * 1_500.0);
}

/// Without the competitive mode: with it five flows take one another for loss-based ones, or do not, as their phases
/// fall (at three of eight round-trip times near 40 ms they do, and keep 80 to 160 packets).
#[test]
fn copa_flows_share_equally_and_keep_two_and_a_half_packets_each() {
    let run = shared(r#"{ cc = { name = "copa", mode_switching = false }, count = 5, stagger = "1s" }"#, "8bdp");
    assert!(run.jain() > 0.98, "{:?}", run.flows("goodput_mbps"));
    assert_between("mean queue", mean_queue_packets(&run), 5.0 * 1.25..=5.0 * 3.5);
}

#[test]
fn copa_competes_with_loss_based_flows_by_switching_its_mode_and_starves_without() {
    let share = |copa: &str, other: &str| {
        let run = shared(&format!(r#"{{ cc = {copa} }}, {{ cc = "{other}" }}"#), "4bdp");
        run.flow("goodput_mbps", 0) / run.flows("goodput_mbps").iter().sum::<f64>()
    };
    for other in ["reno", "cubic"] {
        assert_between(other, 2.0 * share(r#""copa""#, other), 0.5..=1.5);
        let starved = share(r#"{ name = "copa", mode_switching = false }"#, other);
        assert!(starved < 0.1, "{starved} beside {other}");
    }
}

#[test]
fn random_losses_of_one_percent_do_not_slow_copa_down() {
    let [copa, reno] = ["copa", "reno"].map(|cc| goodput_under_loss(cc, "10mbit", "40ms", "1%"));
    assert!(copa > 9.0 && reno < 5.0, "copa {copa}, reno {reno}");
}

/// From 10 packets on 33: the window doubles, and slow start ends without a loss when two packets wait.
#[test]
fn copa_leaves_slow_start_at_a_queue_of_two_packets() {
    let run = run(r#"
        duration = "3s"
        record.interval = "5ms"
        path = { rate = "10mbit", rtt = "40ms", buffer = "4bdp" }
        flows = [{ cc = "copa" }]
        "#);
    let series = run.series(0);
    let entries = series.episodes("mode");
    let left = entries.iter().position(|(mode, _)| *mode == "default").map(|i| entries[i].1.start).unwrap();
    assert_between("window", series.number("cwnd")[left], 25.0..=60.0);
    assert_eq!(run.link("drops_total", 0), 0.0);
    assert!(run.link("max_queue_bytes", 0) < 25.0 * 1_500.0);
}

#[test]
fn cubic_of_the_rfc_shares_with_linuxs_and_leaves_slow_start_early() {
    let run = shared(r#"{ cc = "cubic-rfc" }, { cc = "cubic" }"#, "4bdp");
    let goodput = run.flows("goodput_mbps");
    assert_between("ratio", goodput[0] / goodput[1], 0.6..=1.7);
    let drops = |cc: &str| {
        crate::lab::run(&format!(
            r#"
            duration = "3s"
            record.series = false
            path = {{ rate = "100mbit", rtt = "50ms", buffer = "2bdp" }}
            flows = [{{ cc = {cc} }}]
            "#
        ))
        .link("drops_total", 0)
    };
    // Growth at a quarter of the speed for five rounds still overflows two BDP, but by a fifth of what doubling does.
    let (with, without) = (drops(r#""cubic-rfc""#), drops(r#"{ name = "cubic-rfc", hystart_plus_plus = false }"#));
    assert!(with < 0.3 * without, "{with} and {without} drops");
}

#[test]
fn picoquics_cubic_leaves_slow_start_without_a_loss_and_takes_a_few_losses_for_noise() {
    let run = |cc: &str, loss: &str| {
        run(&format!(
            r#"
            duration = "30s"
            transport = {{ profile = "quic", quic = {{ acks_per_rtt = 4 }} }}
            record.series = false
            path = {{ rate = "20mbit", rtt = "300ms", buffer = "2bdp", loss = "{loss}" }}
            flows = [{{ cc = {cc} }}]
            "#
        ))
    };
    let drops = |exits: bool| {
        run(&format!(r#"{{ name = "cubic-picoquic", delay_exit = {exits}, loss_tolerance = 0.0 }}"#), "0%")
            .link("drops_total", 0)
    };
    assert!(drops(true) < 0.1 * drops(false), "{} and {} drops", drops(true), drops(false));
    let goodput = |cc: &str| run(cc, "2%").flows("goodput_mbps")[0];
    let (tolerant, strict) =
        (goodput(r#""cubic-picoquic""#), goodput(r#"{ name = "cubic-picoquic", loss_tolerance = 0.0 }"#));
    assert!(tolerant > 15.0 && strict < 5.0, "{tolerant} and {strict} Mbit/s");
}

/// A step at 1 ms.
#[test]
fn prague_keeps_the_queue_below_a_millisecond_and_a_half_at_a_shallow_step() {
    for rate in ["40mbit", "100mbit"] {
        let run = run(&format!(
            r#"
            duration = "30s"
            warmup = "10s"
            record.series = false
            path = {{ rate = "{rate}", rtt = "20ms", buffer = "200packets", queue = {{ kind = "threshold", threshold = "1ms" }} }}
            flows = [{{ cc = "prague" }}]
            "#
        ));
        let rate_mbps: f64 = rate.trim_end_matches("mbit").parse().unwrap();
        let delay_ms = run.link("mean_queue_bytes", 0) * 8.0 / rate_mbps / 1e3;
        assert!(delay_ms < 1.5, "{delay_ms} ms at {rate}");
        assert!(run.link("utilization", 0) > 0.85, "{} at {rate}", run.link("utilization", 0));
        assert_eq!(run.flow("retransmits", 0), 0.0);
    }
}

/// Paths of 5 and 20 ms grow as one of 25 ms: they share about equally, where DCTCP's rates differ by far more.
#[test]
fn prague_is_nearly_blind_to_short_round_trip_times() {
    let ratio = |cc: &str| {
        let run = run(&format!(
            r#"
            duration = "60s"
            warmup = "20s"
            record.series = false
            path = {{ rate = "100mbit", rtt = "5ms", buffer = "500packets", queue = {{ kind = "threshold", threshold = "20packets" }} }}
            flows = [{{ cc = "{cc}" }}, {{ cc = "{cc}", rtt = "20ms" }}]
            "#
        ));
        run.flow("goodput_mbps", 0) / run.flow("goodput_mbps", 1)
    };
    let (prague, dctcp) = (ratio("prague"), ratio("dctcp"));
    assert!(prague < 3.0 && dctcp > prague, "prague {prague}, dctcp {dctcp}");
}
