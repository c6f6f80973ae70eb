//! BBR v1's observable behaviour, against an independent packet-level model of the algorithm (`docs/specs/bbr1.md`,
//! section 19).
//!
//! The model is a FIFO at 10 Mbit/s with 40 ms of propagation: R = 41.2 ms with the transmission of one packet, a BDP
//! of 34.3 packets, an ACK for every packet. Two of its variants appear here: `LINUX`, with bursts of two packets and
//! the window's allowance for them, and `SMOOTH`, which sends packet by packet and has neither allowance nor estimate
//! of what is in flight at departure.
//!
//! Where this simulator differs on purpose: a handshake comes first, which shifts all times by 40 ms and gives a first
//! minimum RTT of 40.05 ms, because a SYN is short (the kernel takes that sample, too); so the steady state is looked
//! at after the first PROBE_RTT, when R is 41.2 ms. Queues count what waits, the model also what is in transmission:
//! one packet more.

use crate::lab::{Run, Series, assert_between, assert_near, mean, run};
use std::ops::Range;

const LINUX: &str = "\"bbr\"";
const SMOOTH: &str =
    r#"{ name = "bbr", budget_bursts = 0, net_estimate = false, burst_min = 1, burst_max = 1, aggregation = "off" }"#;
/// The connection is established after a round trip of 60-byte packets.
const HANDSHAKE_S: f64 = 0.040_048;
const BDP_PACKETS: f64 = 10e6 * 0.0412 / 12_000.0;
/// Between the first PROBE_RTT and the second.
const STEADY: Range<f64> = 10.5..20.2;

/// The model's path, with a queue that never overflows.
fn deep(cc: &str, seconds: u32) -> Run {
    run(&format!(
        r#"
        duration = "{seconds}s"
        record.interval = "1ms"
        transport.ack_every = 1
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "10bdp" }}
        flows = [{{ cc = {cc} }}]
        "#
    ))
}

/// Packets that wait or are in transmission.
fn queue(run: &Run, span: Range<f64>) -> Vec<f64> {
    let link = run.link_series(0);
    let waiting = link.during("queue_packets", span.clone());
    let utilization = link.during("utilization", span);
    waiting.iter().zip(utilization).map(|(waiting, busy)| waiting + busy.min(1.0)).collect()
}

fn first_row(series: &Series, mode: &str) -> usize {
    series.name("mode").iter().position(|m| *m == mode).unwrap_or_else(|| panic!("never in {mode}"))
}

/// Lengths of the phases of PROBE_BW in a span of time, by index, and of whole cycles.
fn phases(series: &Series, span: Range<f64>) -> ([Vec<f64>; 8], Vec<f64>) {
    let (index, t) = (series.number("cc_cycle_index"), &series.t);
    let rows = series.rows(span);
    let starts: Vec<usize> = rows.skip(1).filter(|&row| index[row] != index[row - 1]).collect();
    let mut lengths: [Vec<f64>; 8] = Default::default();
    for pair in starts.windows(2) {
        lengths[index[pair[0]] as usize].push((t[pair[1]] - t[pair[0]]) * 1e3);
    }
    let cycles: Vec<f64> = starts.iter().filter(|&&row| index[row] == 0.0).map(|&row| t[row]).collect();
    (lengths, cycles.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

/// Check 1.
#[test]
fn startup_lasts_seven_rounds_and_leaves_a_queue_of_two_bdp() {
    for (cc, left_behind) in [(LINUX, 72.0), (SMOOTH, 66.0)] {
        let run = deep(cc, 2);
        let series = run.series(0);
        let drain = first_row(&series, "drain");
        assert_eq!(series.number("cc_round")[drain], 7.0);
        assert_between("start of DRAIN", series.t[drain] - HANDSHAKE_S, 0.47..=0.50);
        let at = series.t[drain];
        assert_near("queue at the start of DRAIN", queue(&run, at..at + 0.0005)[0], left_behind, 0.05);
    }
}

/// Check 1, the growth before the link is saturated and after the first rounds, whose ten packets have gaps among them.
#[test]
fn startup_doubles_its_rate_every_round() {
    let run = run(r#"
        duration = "1s"
        record.interval = "1ms"
        transport.ack_every = 1
        path = { rate = "500mbit", rtt = "40ms", buffer = "1bdp" }
        flows = [{ cc = "bbr" }]
        "#);
    let series = run.series(0);
    let (round, bandwidth) = (series.number("cc_round"), series.number("cc_bw_mbps"));
    let estimate_in = |n: f64| bandwidth[round.iter().rposition(|&r| r == n).unwrap()];
    for n in 4..7 {
        let growth = estimate_in(f64::from(n + 1)) / estimate_in(f64::from(n));
        assert_near(&format!("growth in round {n}"), growth, 2.0, 0.1);
    }
}

/// Check 2. The model's limits are 0.10-0.13 s, and 0.59-0.61 s for the end.
#[test]
fn drain_takes_a_tenth_of_a_second_and_ends_with_one_bdp_in_flight() {
    for (cc, allowance) in [(LINUX, 6.0), (SMOOTH, 0.0)] {
        let run = deep(cc, 2);
        let series = run.series(0);
        let (drain, probe) = (first_row(&series, "drain"), first_row(&series, "probe_bw"));
        assert_between("length of DRAIN", series.t[probe] - series.t[drain], 0.10..=0.13);
        assert_between("start of PROBE_BW", series.t[probe] - HANDSHAKE_S, 0.58..=0.62);
        let inflight = series.number("inflight")[probe];
        // Rounded up to an even number, with two packets for phase 0 and what was sent in the rest of the millisecond.
        assert!(inflight <= BDP_PACKETS.ceil() + allowance + 4.0, "{inflight} in flight");
    }
}

/// Check 3, exact.
#[test]
fn the_window_is_two_bdp_and_its_allowances() {
    for (cc, window) in [(LINUX, 76.0), (SMOOTH, 70.0)] {
        let run = deep(cc, 21);
        let series = run.series(0);
        let (cwnd, index, extra) =
            (series.number("cwnd"), series.number("cc_cycle_index"), series.number("cc_extra_acked_packets"));
        let expected = |row: usize| window + extra[row];
        for row in series.rows(STEADY) {
            // Phase 0 allows two packets more, which are reached with the first two ACKs of the phase.
            let more = if index[row] == 0.0 { 2.0 } else { 0.0 };
            let settling = more > 0.0 && index[row - 5] != 0.0;
            assert!(settling || cwnd[row] == expected(row) + more, "{} at {} s", cwnd[row], series.t[row]);
            assert!(extra[row] <= 2.0);
        }
    }
}

/// Check 4. Phases are seen to the millisecond of the samples.
#[test]
fn phases_last_one_round_trip_and_probing_until_its_amount_is_in_flight() {
    for (cc, probing, draining) in [(LINUX, 47.0..=50.0, 33.0..=35.0), (SMOOTH, 54.0..=56.0, 41.0..=43.0)] {
        let (lengths, cycles) = phases(&deep(cc, 21).series(0), STEADY);
        assert_between("phase 0", mean(&lengths[0]), probing);
        assert_between("phase 1", mean(&lengths[1]), draining);
        for (phase, lengths) in lengths.iter().enumerate().skip(2) {
            assert_between(&format!("phase {phase}"), mean(lengths), 41.2..=42.5);
        }
        assert!(cycles.len() > 20);
        assert_between("cycle", mean(&cycles), 0.33..=0.35);
    }
}

/// Check 5. The mean of 8.1 packets for `LINUX` is met within 10 %.
#[test]
fn a_single_flow_keeps_a_standing_queue_of_its_burst_allowance() {
    for (cc, average, largest) in [(LINUX, 8.1, 16.0..=17.5), (SMOOTH, 3.2, 11.5..=12.5)] {
        let run = deep(cc, 21);
        let queue = queue(&run, STEADY);
        assert_near("mean queue", mean(&queue), average, 0.1);
        assert_between("largest queue", queue.iter().copied().fold(0.0, f64::max), largest);
        assert_near("throughput", run.link("throughput_mbps", 0), 9.78, 0.01);
    }
}

/// Checks 6 and 7.
#[test]
fn probe_rtt_comes_every_ten_seconds_and_lasts_two_hundred_milliseconds_and_a_round() {
    for cc in [LINUX, SMOOTH] {
        let run = deep(cc, 60);
        let series = run.series(0);
        let (cwnd, inflight, t) = (series.number("cwnd"), series.number("inflight"), &series.t);
        let entries = series.entries("mode", "probe_rtt");
        assert_between("first entry", entries[0] - HANDSHAKE_S, 10.0..=10.2);
        assert_eq!(entries.len(), 5);
        for pair in entries.windows(2) {
            assert_near("interval", pair[1] - pair[0], 10.25, 0.002);
        }
        for (mode, rows) in series.episodes("mode") {
            if mode == "probe_rtt" {
                assert_between("length", t[rows.end] - t[rows.start], 0.242..=0.258);
                let low = rows.clone().find(|&row| inflight[row] <= 4.0).unwrap();
                assert!(t[rows.end] - t[low] >= 0.199, "only {} s at 4 packets", t[rows.end] - t[low]);
                assert!(cwnd[rows.clone()].iter().all(|&cwnd| cwnd == 4.0));
                assert!(cwnd[rows.end] >= 68.0, "the window came back as {}", cwnd[rows.end]);
            }
        }
    }
}

/// Check 7, where rounds are short enough to tell the 200 ms from the round that must follow.
#[test]
fn on_a_short_path_probe_rtt_lasts_its_two_hundred_milliseconds() {
    let run = run(r#"
        duration = "35s"
        record.interval = "1ms"
        transport.ack_every = 1
        path = { rate = "10mbit", rtt = "5ms", buffer = "10bdp" }
        flows = [{ cc = "bbr" }]
        "#);
    let series = run.series(0);
    let (inflight, t) = (series.number("inflight"), &series.t);
    let episodes: Vec<_> = series.episodes("mode").into_iter().filter(|(mode, _)| *mode == "probe_rtt").collect();
    assert_eq!(episodes.len(), 3);
    for (_, rows) in episodes {
        let low = rows.clone().find(|&row| inflight[row] <= 4.0).unwrap();
        assert_between("time at 4 packets", t[rows.end] - t[low], 0.199..=0.21);
    }
}

/// Check 6, before Linux 5.10: a lone flow that empties its queue every cycle sees its minimum again and again.
#[test]
fn equal_samples_that_refresh_the_minimum_keep_a_lone_flow_out_of_probe_rtt() {
    let run = deep(&SMOOTH.replace(" }", ", min_rtt_tie_refreshes = true }"), 60);
    let entries = run.series(0).entries("mode", "probe_rtt");
    // The first minimum is that of the short SYN; no data packet reaches it again.
    assert_eq!(entries.len(), 1);
    assert_between("entry", entries[0] - HANDSHAKE_S, 10.0..=10.2);
}

/// Check 8, with a PROBE_RTT every half second to collect entries. χ² with 6 degrees of freedom, 0.1 %: 22.5.
#[test]
fn the_first_phase_is_drawn_uniformly_and_is_never_the_draining_one() {
    let run = run(r#"
        duration = "800s"
        record.interval = "10ms"
        path = { rate = "2mbit", rtt = "20ms", buffer = "10bdp" }
        [[flows]]
        cc = { name = "bbr", min_rtt_window = "300ms", probe_rtt_dwell = "20ms" }
        "#);
    let series = run.series(0);
    let mut counts = [0u32; 8];
    for (mode, rows) in series.episodes("mode") {
        if mode == "probe_bw" {
            counts[series.number("cc_cycle_index")[rows.start] as usize] += 1;
        }
    }
    let total: u32 = counts.iter().sum();
    assert!(total >= 1_800, "only {total} entries");
    assert_eq!(counts[1], 0);
    let expected = f64::from(total) / 7.0;
    let chi_squared: f64 =
        [0, 2, 3, 4, 5, 6, 7].map(|i| (f64::from(counts[i]) - expected).powi(2) / expected).iter().sum();
    assert!(chi_squared < 22.5, "{counts:?}");
}

/// Check 9. The model gives 42-53 packets for two flows and 47-63 for three.
#[test]
fn several_flows_in_a_deep_buffer_share_fairly_and_keep_a_queue_above_one_bdp() {
    for (flows, bounds) in [(2, 42.0..=58.0), (3, 47.0..=69.0)] {
        let run = run(&format!(
            r#"
            duration = "60s"
            warmup = "30s"
            record.series = false
            transport.ack_every = 1
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "10bdp" }}
            flows = [{{ cc = "bbr", count = {flows}, start_jitter = "100ms" }}]
            "#
        ));
        assert_between("mean queue", run.link("mean_queue_bytes", 0) / 1_500.0 + 1.0, bounds);
        assert_eq!(run.link("drops_total", 0), 0.0);
        let fair = mean(&run.flows("goodput_mbps"));
        for goodput in run.flows("goodput_mbps") {
            assert_near("goodput", goodput, fair, 0.1);
        }
    }
}

fn loss_ratio(flows: u32, buffer_bdp: f64) -> (f64, f64) {
    let run = run(&format!(
        r#"
        duration = "60s"
        record.series = false
        transport.ack_every = 1
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "{buffer_bdp}bdp" }}
        flows = [{{ cc = "bbr", count = {flows} }}]
        "#
    ));
    (run.link("drops_total", 0) / run.link("arrivals_total", 0), run.link("throughput_mbps", 0))
}

/// Check 10, one flow: the throughput does not suffer, because loss does not reduce the window for good. The model
/// gives 4 %, 1.6-2.8 % and 0.3-0.4 %; at half a BDP a few dozen packets make the difference.
#[test]
fn a_single_flow_in_a_shallow_buffer_loses_packets_but_no_throughput() {
    for (buffer, bounds) in [(0.1, 0.036..=0.044), (0.25, 0.016..=0.031), (0.5, 0.002..=0.006), (3.0, 0.0..=0.0)] {
        let (loss, throughput) = loss_ratio(1, buffer);
        assert_between(&format!("loss ratio with {buffer} BDP"), loss, bounds);
        assert!(throughput >= 9.5, "{throughput} Mbit/s with {buffer} BDP");
    }
}

/// Check 10, three flows. The model gives 10 %, 8 %, 2-3 % and 2-3 % at 0.5, 1, 1.5 and 2 BDP. Here three flows hold a
/// queue of 1.9 BDP (see the check of deep buffers) where the model's hold 1.4 to 1.8, so that all ratios are higher
/// and the fall comes at 2 BDP instead of 1.5.
#[test]
fn several_flows_lose_a_tenth_of_their_packets_until_the_buffer_holds_their_windows() {
    let loss = [0.5, 1.0, 2.0, 3.0].map(|buffer| loss_ratio(3, buffer).0);
    assert_between("loss ratio with 0.5 BDP", loss[0], 0.09..=0.15);
    assert_between("loss ratio with 1 BDP", loss[1], 0.07..=0.12);
    assert_between("loss ratio with 2 BDP", loss[2], 0.01..=0.05);
    assert_eq!(loss[3], 0.0);
}

fn under_random_loss(loss_percent: u32) -> f64 {
    run(&format!(
        r#"
        duration = "120s"
        warmup = "20s"
        record.series = false
        transport.ack_every = 1
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "10bdp", loss = "{loss_percent}%" }}
        flows = [{{ cc = "bbr" }}]
        "#
    ))
    .flow("goodput_mbps", 0)
        * 1_500.0
        / 1_448.0
}

/// Check 11, the model's numbers as packets of 1500 bytes: 9.67, 9.2, 8.4, 5.7, below 2 and below 1.2. From 15 % on the
/// estimate sinks slowly and meets what few lucky rounds bring back, so that results vary by half.
#[test]
fn random_loss_costs_little_up_to_ten_percent_and_everything_at_twenty() {
    for (percent, expected) in [(1, 9.67), (5, 9.2), (10, 8.4)] {
        assert_near(&format!("goodput at {percent} %"), under_random_loss(percent), expected, 0.1);
    }
    assert_near("goodput at 15 %", under_random_loss(15), 5.7, 0.25);
    assert!(under_random_loss(18) < 3.5);
    assert!(under_random_loss(20) < 2.5);
}

/// Check 13. The model's allowance for aggregated ACKs is near zero, so it is left out here.
#[test]
fn the_longer_round_trip_wins() {
    let run = run(r#"
        duration = "90s"
        warmup = "20s"
        record.series = false
        transport.ack_every = 1
        path = { rate = "10mbit", rtt = "40ms", buffer = "5bdp" }
        [[flows]]
        cc = { name = "bbr", aggregation = "off" }
        [[flows]]
        cc = { name = "bbr", aggregation = "off" }
        rtt = "100ms"
        "#);
    assert_near("throughput of the longer", run.flow("throughput_mbps", 1), 8.4, 0.1);
}

/// Check 14, with rare single losses in the steady state.
#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let run = run(r#"
        duration = "60s"
        record.interval = "1ms"
        transport.ack_every = 1
        path = { rate = "10mbit", rtt = "40ms", buffer = "10bdp", loss = "0.03%" }
        flows = [{ cc = "bbr" }]
        "#);
    let series = run.series(0);
    let (cwnd, inflight, mode) = (series.number("cwnd"), series.number("inflight"), series.name("mode"));
    let lost = series.number("lost_total");
    let mut recoveries = 0;
    for (state, rows) in series.episodes("ca_state") {
        if state != "recovery" || rows.start < 2_000 || rows.end + 5 > cwnd.len() {
            continue;
        }
        let (before, after) = (rows.start - 1, rows.end + 4);
        let in_probe_bw = mode[rows.start - 100..after].iter().all(|m| *m == "probe_bw");
        if !in_probe_bw || lost[after] - lost[before] != 1.0 {
            continue;
        }
        recoveries += 1;
        let (saved, entry) = (cwnd[before], cwnd[rows.start]);
        // The window drops to what is in flight, and what this millisecond's ACKs delivered.
        assert_between("window on entry", entry - inflight[rows.start], 0.0..=3.0);
        assert!(entry < saved - 10.0, "from {saved} to {entry} at {} s", series.t[rows.start]);
        let first_round = rows.start..rows.start + 35.min(rows.len());
        for row in first_round {
            assert!(cwnd[row] >= inflight[row]);
            assert!(cwnd[row] <= entry + 3.0, "grew to {} within the first round", cwnd[row]);
        }
        assert_between("window after recovery", cwnd[after], saved - 2.0..=saved + 4.0);
    }
    assert!(recoveries >= 5, "only {recoveries} single losses");
}

/// Check 15, with an outage during which everything waits: the timeout is spurious, but BBR learns that only later.
#[test]
fn a_timeout_shrinks_the_window_to_one_and_the_saved_window_returns() {
    let run = run(r#"
        duration = "8s"
        record.interval = "1ms"
        transport.ack_every = 1
        path = { rate = [["0s", "10mbit"], ["5s", "0mbit"], ["6s", "10mbit"]], rtt = "40ms", buffer = "400packets" }
        flows = [{ cc = "bbr" }]
        "#);
    let series = run.series(0);
    let (cwnd, bandwidth, acked) =
        (series.number("cwnd"), series.number("cc_max_bw_mbps"), series.number("acked_total"));
    let episodes = series.episodes("ca_state");
    let (_, loss) = episodes.iter().find(|(state, _)| *state == "loss").unwrap();
    assert_between("timeout", series.t[loss.start], 5.2..=5.5);
    let saved = cwnd[loss.start - 1];
    assert_eq!(cwnd[loss.start], 1.0);
    let first_ack = (loss.start..).find(|&row| acked[row] > acked[loss.start]).unwrap();
    assert_between("first ACK", series.t[first_ack], 6.0..=6.05);
    assert!(cwnd[first_ack] >= 4.0, "{}", cwnd[first_ack]);
    assert_eq!(bandwidth[first_ack], bandwidth[loss.start - 1]);
    let recovered = series.rows(0.0..6.5).end;
    assert!(cwnd[recovered] >= saved, "{} of {saved}", cwnd[recovered]);
    assert!(run.flow("rto_count_total", 0) > 0.0);
}

/// Check 16. An application of 2 Mbit/s meets a link of 1 Mbit/s for ten seconds, which fills its buffer and takes BBR
/// to PROBE_BW, and then one of 10 Mbit/s: BBR's estimate rises while the backlog lasts, and then stays.
#[test]
fn the_estimate_does_not_sink_to_the_rate_of_the_application() {
    let run = run(r#"
        duration = "60s"
        record.interval = "10ms"
        path = { rate = [["0s", "1mbit"], ["10s", "10mbit"]], rtt = "40ms", buffer = "100packets" }
        flows = [{ cc = "bbr", rate = "2mbit" }]
        "#);
    let series = run.series(0);
    let goodput = mean(series.during("goodput_mbps", 30.0..60.0));
    assert_near("goodput", goodput, 2.0, 0.02);
    let estimate = series.during("cc_max_bw_mbps", 30.0..60.0);
    assert!(estimate[0] > 2.5, "the backlog showed only {} Mbit/s", estimate[0]);
    assert!(estimate.windows(2).all(|pair| pair[1] >= pair[0]), "a lower sample entered");
    assert!(series.during("cc_full_bw_reached", 30.0..60.0).iter().all(|&full| full == 1.0));
}

/// Check 12. The model's hold is about 2.05 s, 48 of its rounds; rounds are longer here by the delayed ACKs, and its
/// loss without the sampler is 12 % where ours is 17 %.
#[test]
fn a_policer_is_noticed_within_six_tenths_of_a_second_and_its_rate_held_for_48_rounds() {
    let policed = |sampler: bool| {
        run(&format!(
            r#"
            duration = "30s"
            record.interval = "5ms"
            path = {{ rate = "10mbit", rtt = "40ms", policer = {{ rate = "2mbit", burst = "20packets" }} }}
            flows = [{{ cc = {{ name = "bbr", policer_sampler = {sampler} }} }}]
            "#
        ))
    };
    let loss = |run: &Run| run.flow("network_drops_total", 0) / run.flow("sent_total", 0);
    let noticed = policed(true);
    let series = noticed.series(0);
    let held = series.number("cc_lt_bw_mbps");
    let latched = held.iter().position(|rate| rate.is_finite()).unwrap();
    assert!(series.t[latched] - HANDSHAKE_S < 0.6, "latched at {} s", series.t[latched]);
    // 2 Mbit/s of packets carry 1.93 Mbit/s of payload.
    assert_near("long-term bandwidth", held[latched], 2.0 * 1448.0 / 1500.0, 0.03);
    let released = latched + held[latched..].iter().position(|rate| rate.is_nan()).unwrap();
    assert_between("hold", series.t[released] - series.t[latched], 2.0..=2.7);
    assert_between("loss", loss(&noticed), 0.07..=0.095);
    let unnoticed = loss(&policed(false));
    assert!(unnoticed > 1.4 * loss(&noticed), "{unnoticed}");
}
