//! CUBIC on a simulated path: its response to loss, its start, and how it lives with Reno and with itself.

use crate::lab::{Run, advantage_of_the_shorter_path, assert_between, assert_near, mean, run};
use dumbbell_units::Rng;

/// Mean window of a flow alone under independent losses, over three seeds, after a ninth of the time.
fn window_under_loss(cc: &str, rtt_ms: u32, loss: f64, seconds: u32) -> f64 {
    let warmup = seconds / 9;
    let window = |seed: u32| {
        run(&format!(
            r#"
            duration = "{seconds}s"
            warmup = "{warmup}s"
            seed = {seed}
            record.series = false
            path = {{ rate = "1gbit", rtt = "{rtt_ms}ms", loss = {loss} }}
            flows = [{{ cc = "{cc}" }}]
            "#
        ))
        .mean_window(0)
    };
    mean(&[window(1), window(2), window(3)])
}

/// Mean window of a fluid CUBIC: W(t) = C(t − K)³ + W_max after a reduction to 0.7 W, with fast convergence, and losses
/// that are independent. Periodic losses give the 1.054 (RTT/p)^¾ of the papers, independent ones 15 to 19 % more.
fn fluid_window(rtt_s: f64, loss: f64, mut packets_to_loss: impl FnMut() -> f64) -> f64 {
    let (mut w, mut w_max, mut k, mut t) = (100.0f64, 100.0f64, 0.0f64, 0.0f64);
    let (mut sum, mut steps) = (0.0, 0.0);
    for round in 0..4_000 {
        let mut left = packets_to_loss() / loss;
        while left > 0.0 {
            t += rtt_s;
            w = w_max + 0.4 * (t - k).powi(3);
            left -= w;
            if round >= 50 {
                (sum, steps) = (sum + w, steps + 1.0);
            }
        }
        w_max = if w < w_max { 0.85 * w } else { w };
        w *= 0.7;
        k = ((w_max - w) / 0.4).cbrt();
        t = 0.0;
    }
    sum / steps
}

#[test]
fn the_window_follows_the_cubic_law_on_long_paths() {
    let mut rng = Rng::new(1);
    for (rtt_ms, loss, seconds) in [(400, 1e-3, 900), (100, 1e-4, 700)] {
        let rtt_s = f64::from(rtt_ms) * 1e-3;
        let periodic = fluid_window(rtt_s, loss, || 1.0);
        assert_near("window of the fluid model", periodic, 1.054 * (rtt_s / loss).powf(0.75), 0.04);
        let independent = fluid_window(rtt_s, loss, || -(1.0 - rng.uniform()).ln());
        let window = window_under_loss("cubic", rtt_ms, loss, seconds);
        assert_near(&format!("window at {rtt_ms} ms and a loss of {loss}"), window, independent, 0.1);
        assert!(window > 1.3 * (1.5 / loss).sqrt(), "this is Reno's region");
    }
}

/// A loss takes three tenths of the window, and K = ∛(0.3 W/C) later, less the round trip that the curve looks ahead,
/// the window is back where it was.
#[test]
fn a_loss_takes_three_tenths_of_the_window_and_the_curve_brings_them_back() {
    let run = run(r#"
        duration = "400s"
        record.interval = "10ms"
        path = { rate = "1gbit", rtt = "100ms", loss = "0.005%" }
        flows = [{ cc = "cubic" }]
        "#);
    let series = run.series(0);
    let (cwnd, ssthresh, t) = (series.number("cwnd"), series.number("ssthresh"), &series.t);
    let episodes = series.episodes("ca_state");
    let (mut reductions, mut returns) = (0, 0);
    for pair in episodes.windows(2) {
        let ((_, before), (state, recovery)) = (&pair[0], &pair[1]);
        if *state != "recovery" || t[recovery.start] < 30.0 || recovery.end == cwnd.len() {
            continue;
        }
        reductions += 1;
        let lost_at = cwnd[before.end - 1];
        assert_near("window after a loss", ssthresh[recovery.start], 0.7 * lost_at, 0.01);
        let w_max = series.number("cc_w_max_packets")[recovery.end];
        assert!(w_max < 1.01 * lost_at);
        let k = ((w_max - ssthresh[recovery.start]) / 0.4).cbrt();
        let after = episodes.iter().find(|(name, rows)| *name == "recovery" && rows.start > recovery.end);
        let back = series.rows(0.0..t[recovery.end] + k - 0.1).end;
        if after.is_some_and(|(_, rows)| rows.start > back) {
            returns += 1;
            assert_near("window after K", cwnd[back], w_max, 0.02);
        }
    }
    assert!(reductions >= 20 && returns >= 5, "{reductions} reductions, {returns} returns");
}

/// Below the crossing of the two laws CUBIC grows as Reno does.
#[test]
fn the_window_follows_renos_law_on_short_paths() {
    let window = window_under_loss("cubic", 10, 1e-3, 63);
    assert_near("window", window, (1.5f64 / 1e-3).sqrt(), 0.12);
}

/// Round-trip times of 20 and 200 ms on a fast path: CUBIC's growth depends on time, Reno's on round trips.
#[test]
fn unequal_round_trip_times_are_much_fairer_than_with_reno() {
    let (cubic, reno) = (advantage_of_the_shorter_path("cubic"), advantage_of_the_shorter_path("reno"));
    assert_between("CUBIC's ratio", cubic, 1.0..=10.0);
    assert!(reno > 2.0 * cubic, "reno {reno}, cubic {cubic}");
}

#[test]
fn on_a_short_slow_path_cubic_takes_no_more_than_reno_leaves() {
    let run = run(r#"
        duration = "200s"
        warmup = "30s"
        record.series = false
        path = { rate = "10mbit", rtt = "20ms", buffer = "2bdp" }
        flows = [{ cc = "cubic" }, { cc = "reno" }]
        "#);
    let goodput = run.flows("goodput_mbps");
    let fair = (goodput[0] + goodput[1]) / 2.0;
    assert_near("CUBIC's share of a fair share", goodput[0] / fair, 1.0, 0.25);
}

/// The first seconds of a flow on 100 Mbit/s and 50 ms with a deep buffer. The BDP is 417 packets.
fn start(cc: &str, pacing: &str) -> Run {
    run(&format!(
        r#"
        duration = "2s"
        record.interval = "1ms"
        transport.pacing = "{pacing}"
        path = {{ rate = "100mbit", rtt = "50ms", buffer = "4bdp" }}
        flows = [{{ cc = {cc} }}]
        "#
    ))
}

/// The row of the series after which HyStart had ended slow start.
fn hystart_exit(run: &Run) -> usize {
    let found = run.series(0).number("cc_hystart_found").iter().position(|&found| found == 1.0);
    found.expect("HyStart did not end slow start")
}

#[test]
fn hystart_leaves_slow_start_by_delay_before_the_queue_overflows() {
    let run = start(r#"{ name = "cubic", hystart_detect = "delay" }"#, "auto");
    let exit = hystart_exit(&run);
    let series = run.series(0);
    let queueing = series.number("rtt_ms")[exit] - series.number("min_rtt_ms")[exit];
    assert!(queueing > 50.0 / 8.0, "left at a queueing delay of {queueing} ms");
    assert_eq!(series.number("cwnd")[exit], series.number("ssthresh")[exit], "slow start is over, the window stays");
    assert_eq!(run.link("drops_total", 0), 0.0);

    let without = start(r#"{ name = "cubic", hystart = false }"#, "auto");
    assert!(without.link("drops_total", 0) > 100.0, "slow start alone overflows this queue");
}

/// Without pacing, a train of ACKs as long as half the round trip ends slow start: the flight that caused it was more
/// than half a BDP, the one before was not.
#[test]
fn an_unpaced_ack_train_ends_slow_start_at_a_flight_of_half_a_bdp() {
    let run = start(r#"{ name = "cubic", hystart_detect = "train" }"#, "off");
    let exit = hystart_exit(&run);
    let series = run.series(0);
    let (cwnd, t) = (series.number("cwnd"), &series.t);
    let half_bdp = 100e6 * 0.05 / 12_000.0 / 2.0;
    // Half a BDP of ACKs since the round began have added as many segments.
    let flight = cwnd[exit] - half_bdp;
    assert_between("flight", flight, half_bdp..=2.0 * half_bdp);
    let round_before = cwnd[series.rows(0.0..t[exit] - 0.075).end - 1];
    assert!(round_before < 2.0 * half_bdp, "left too late: {round_before}");
    assert_eq!(run.link("drops_total", 0), 0.0);
}
