//! The example test cases of draft-ietf-ccwg-bbr (section "Example Test Cases" of August 2026), by their numbers, for
//! the draft's own algorithm and Linux's, over TCP and over QUIC-like endpoints.
//!
//! What each case says word for word is asked by `dumbbell check conform`; here other paths and companies are tried.
//! Case 22 is only there.

use crate::lab::{Run, Series, assert_between, mean, run};
use std::ops::Range;

/// Who is tested.
#[derive(Clone, Copy)]
struct Subject {
    cc: &'static str,
    transport: &'static str,
}

impl Subject {
    fn all() -> impl Iterator<Item = Subject> {
        ["bbr3", "bbr3-draft"].into_iter().flat_map(|cc| ["tcp", "quic"].map(|transport| Subject { cc, transport }))
    }

    /// One flow; `path` and `flow` are keys of the two tables.
    fn run(self, seconds: u32, path: &str, flow: &str) -> Run {
        run(&format!(
            r#"
            duration = "{seconds}s"
            record.interval = "1ms"
            path = {{ {path} }}
            flows = [{{ cc = "{}", transport = "{}", {flow} }}]
            "#,
            self.cc, self.transport
        ))
    }

    /// What of a link's rate the payload can be.
    fn share(self) -> f64 {
        if self.transport == "tcp" { 1448.0 / 1500.0 } else { 1350.0 / 1400.0 }
    }

    fn name(self, what: &str) -> String {
        format!("{what} of {} over {}", self.cc, self.transport)
    }
}

/// 10 Mbit/s and 40 ms with so many BDP of buffer.
fn path(buffer: &str) -> String {
    format!(r#"rate = "10mbit", rtt = "40ms", buffer = "{buffer}""#)
}

/// The stays in a phase: begin and end, but for one that the run cuts off.
fn stays(series: &Series, mode: &str) -> Vec<Range<f64>> {
    let ended = series.episodes("mode").into_iter().filter(|(name, rows)| *name == mode && rows.end < series.t.len());
    ended.map(|(_, rows)| series.t[rows.start]..series.t[rows.end]).collect()
}

fn modes(series: &Series) -> Vec<&str> {
    series.episodes("mode").into_iter().map(|(name, _)| name).collect()
}

/// A value at an instant.
fn at(series: &Series, column: &str, t: f64) -> f64 {
    series.number(column)[series.rows(0.0..t).end]
}

/// Cases 1 and 3: STARTUP ends when the bandwidth stands still, with max_bw at the link's rate; DRAIN ends when one BDP
/// is in flight.
#[test]
fn case_1_and_3_startup_ends_on_a_plateau_and_drain_when_a_bdp_is_in_flight() {
    for subject in Subject::all() {
        let run = subject.run(2, &path("10bdp"), "");
        let series = run.series(0);
        let drain = &stays(&series, "drain")[0];
        assert_eq!(run.flow("network_drops_total", 0), 0.0);
        let bw = at(&series, "cc_max_bw_mbps", drain.start) / (10.0 * subject.share());
        assert_between(&subject.name("max_bw over the rate"), bw, 0.98..=1.02);
        // 34 packets of a BDP, with the offload budget that the target has; Linux looks ahead to the next departure.
        assert_between(&subject.name("inflight at the end"), at(&series, "inflight", drain.end), 25.0..=42.0);
    }
}

/// Case 2: STARTUP ends because of loss although the application is the limit.
#[test]
fn case_2_loss_ends_startup_while_the_application_limits() {
    for subject in Subject::all() {
        let policed =
            r#"rate = "100mbit", rtt = "40ms", buffer = "1bdp", policer = { rate = "5mbit", burst = "10packets" }"#;
        let run = subject.run(10, policed, r#"rate = "8mbit""#);
        let series = run.series(0);
        let end = stays(&series, "startup")[0].end;
        assert_between(&subject.name("end of STARTUP"), end, 0.1..=6.0);
        assert!(series.number("lost_total")[series.rows(0.0..end).end - 1] >= 6.0, "losses ended it");
    }
}

/// Case 4: the draft leaves DRAIN after three rounds when the bandwidth has fallen meanwhile. Linux has no such limit
/// and drains until one BDP is in flight, which takes it longer here.
#[test]
fn case_4_drain_ends_after_three_rounds_when_the_bandwidth_falls() {
    let longest = |subject: Subject| {
        let falls = r#"rate = [["0s", "10mbit"], ["450ms", "9mbit"]], rtt = "40ms", buffer = "500packets""#;
        let run = subject.run(3, falls, "");
        stays(&run.series(0), "drain").into_iter().map(|stay| stay.end - stay.start).fold(0.0, f64::max)
    };
    for subject in Subject::all() {
        // The round trips of the queue that STARTUP leaves are at most 90 ms long.
        assert_between(&subject.name("DRAIN"), longest(subject), 0.02..=4.0 * 0.09);
    }
}

/// Cases 5 and 8: UP ends on a plateau, three rounds after its beginning; DOWN ends when a BDP is in flight.
#[test]
fn case_5_and_8_up_ends_on_a_plateau_and_down_when_a_bdp_is_in_flight() {
    for subject in Subject::all() {
        let run = subject.run(12, &path("10bdp"), "");
        let series = run.series(0);
        let (up, down) = (stays(&series, "probe_bw_up"), stays(&series, "probe_bw_down"));
        assert!(up.len() >= 4 && down.len() >= 4);
        for stay in &up {
            assert_between(&subject.name("UP"), stay.end - stay.start, 0.12..=0.26);
        }
        // The first DOWN follows DRAIN.
        for stay in &down[1..] {
            assert_between(
                &subject.name("inflight at the end of DOWN"),
                at(&series, "inflight", stay.end),
                25.0..=42.0,
            );
        }
        assert_eq!(run.flow("network_drops_total", 0), 0.0);
    }
}

/// Case 6: UP ends because of loss although the application is the limit.
#[test]
fn case_6_loss_ends_up_while_the_application_limits() {
    for subject in Subject::all() {
        let falls = r#"rate = [["0s", "20mbit"], ["4s", "6mbit"]], rtt = "40ms", buffer = "20packets""#;
        let run = subject.run(30, falls, r#"rate = "8mbit""#);
        let series = run.series(0);
        let lossy = |stay: &&Range<f64>| at(&series, "lost_total", stay.end) > at(&series, "lost_total", stay.start);
        let up = stays(&series, "probe_bw_up");
        for stay in up.iter().filter(|stay| stay.start > 4.0).filter(lossy) {
            assert_between(&subject.name("UP with loss"), stay.end - stay.start, 0.0..=0.4);
        }
        let tail = |column: &str| at(&series, column, 29.9) - at(&series, column, 15.0);
        assert_between(&subject.name("loss after it"), tail("lost_total") / tail("sent_total"), 0.0..=0.03);
    }
}

/// Case 7: without loss, and with the application as limit, STARTUP never ends.
#[test]
fn case_7_startup_does_not_end_while_the_application_limits_without_loss() {
    for subject in Subject::all() {
        let run = subject.run(20, &path("1bdp"), r#"rate = "3mbit""#);
        let series = run.series(0);
        let seen = modes(&series);
        assert!(
            seen.iter().all(|mode| ["startup", "probe_rtt", ""].contains(mode)),
            "{}: {seen:?}",
            subject.name("modes")
        );
        assert_eq!(run.flow("lost_total", 0), 0.0);
    }
}

/// Case 9: DOWN ends after the time between probes when others keep the queue full.
#[test]
fn case_9_down_ends_in_time_when_the_queue_does_not_drain() {
    for subject in Subject::all() {
        let run = run(&format!(
            r#"
            duration = "30s"
            record.interval = "5ms"
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "2bdp" }}
            flows = [{{ cc = "{}", transport = "{}" }}, {{ cc = "cubic", count = 3 }}]
            "#,
            subject.cc, subject.transport
        ));
        for stay in stays(&run.series(0), "probe_bw_down") {
            assert_between(&subject.name("DOWN"), stay.end - stay.start, 0.0..=3.2);
        }
    }
}

/// Case 10: PROBE_RTT every five seconds, for 200 ms and with half a BDP in flight.
#[test]
fn case_10_probe_rtt_comes_every_five_seconds_with_half_a_bdp() {
    for subject in Subject::all() {
        let run = subject.run(22, &path("4bdp"), "");
        let series = run.series(0);
        let stays = stays(&series, "probe_rtt");
        assert!(stays.len() >= 3);
        for pair in stays.windows(2) {
            assert_between(&subject.name("time between"), pair[1].start - pair[0].start, 5.0..=5.5);
        }
        for stay in &stays {
            assert_between(&subject.name("PROBE_RTT"), stay.end - stay.start, 0.2..=0.32);
            let inflight = series.during("inflight", stay.end - 0.1..stay.end);
            assert_between(&subject.name("inflight"), mean(inflight), 13.0..=20.0);
        }
        let seen = modes(&series);
        let after = seen.windows(2).filter(|pair| pair[0] == "probe_rtt").map(|pair| pair[1]);
        assert!(after.clone().all(|mode| mode == "probe_bw_cruise"), "{:?}", after.collect::<Vec<_>>());
    }
}

/// Case 11: a flow that was idle has seen an empty queue and needs no PROBE_RTT.
#[test]
fn case_11_idle_times_make_probe_rtt_needless() {
    for subject in Subject::all() {
        // A packet every 116 ms: each is acknowledged before the next is written.
        let run = subject.run(30, &path("1bdp"), r#"rate = "100kbit""#);
        assert!(stays(&run.series(0), "probe_rtt").is_empty(), "{}", subject.name("PROBE_RTT"));
    }
}

/// Cases 12 and 13: a link that releases packets in bundles; its bandwidth is found in STARTUP and kept.
#[test]
fn case_12_and_13_the_bandwidth_of_a_link_that_aggregates_is_found_and_kept() {
    for subject in Subject::all() {
        let bundles =
            r#"rate = "20mbit", rtt = "40ms", buffer = "4bdp", aggregate = { timeout = "8ms", packets = 32 }"#;
        let run = subject.run(15, bundles, "");
        let series = run.series(0);
        let found = at(&series, "cc_max_bw_mbps", stays(&series, "startup")[0].end) / (20.0 * subject.share());
        assert_between(&subject.name("max_bw after STARTUP"), found, 0.85..=1.4);
        let kept = (at(&series, "acked_total", 14.9) - at(&series, "acked_total", 3.0)) / 11.9;
        let packet = if subject.transport == "tcp" { 1500.0 } else { 1400.0 };
        assert_between(&subject.name("utilization"), kept * packet * 8.0 / 20e6, 0.9..=1.01);
    }
}

/// Case 14: with a BDP below one packet four packets are in flight, and the link is full.
#[test]
fn case_14_four_packets_fill_a_path_whose_bdp_is_less_than_one() {
    for subject in Subject::all() {
        let run = subject.run(30, r#"rate = "100kbit", rtt = "40ms", buffer = "20packets""#, "");
        let series = run.series(0);
        assert_between(&subject.name("goodput"), run.flow("goodput_mbps", 0), 0.088..=0.1);
        let window = series.during("cwnd", 10.0..29.0);
        assert_between(&subject.name("least window"), window.iter().copied().fold(f64::MAX, f64::min), 4.0..=4.0);
    }
}

/// Case 15: ten times the bandwidth is found.
#[test]
fn case_15_ten_times_the_bandwidth_is_found() {
    for subject in Subject::all() {
        let rises = r#"rate = [["0s", "2mbit"], ["10s", "20mbit"]], rtt = "40ms", buffer = "100packets""#;
        let run = subject.run(40, rises, "");
        let bw = at(&run.series(0), "cc_max_bw_mbps", 39.0) / (20.0 * subject.share());
        assert_between(&subject.name("max_bw 29 s later"), bw, 0.9..=1.05);
    }
}

/// Case 16: a tenth of the bandwidth is found, and the loss ends.
#[test]
fn case_16_a_tenth_of_the_bandwidth_is_found() {
    for subject in Subject::all() {
        let falls = r#"rate = [["0s", "20mbit"], ["10s", "2mbit"]], rtt = "40ms", buffer = "100packets""#;
        let run = subject.run(40, falls, "");
        let series = run.series(0);
        let bw = at(&series, "cc_max_bw_mbps", 39.0) / (2.0 * subject.share());
        assert_between(&subject.name("max_bw 29 s later"), bw, 0.9..=1.2);
        let lost = at(&series, "lost_total", 39.0) - at(&series, "lost_total", 25.0);
        let sent = at(&series, "sent_total", 39.0) - at(&series, "sent_total", 25.0);
        assert_between(&subject.name("loss from 15 s on"), lost / sent, 0.0..=0.03);
    }
}

/// Case 17: a token bucket of 30 ms; most of its rate is used, and loss stays small.
#[test]
fn case_17_a_policer_costs_little_loss_and_little_rate() {
    for subject in Subject::all() {
        let policed =
            r#"rate = "100mbit", rtt = "40ms", buffer = "1bdp", policer = { rate = "10mbit", burst = "25packets" }"#;
        let run = subject.run(30, policed, "");
        assert_between(&subject.name("goodput"), run.flow("goodput_mbps", 0), 9.0..=9.7);
        let loss = run.flow("network_drops_total", 0) / run.flow("sent_total", 0);
        assert_between(&subject.name("loss"), loss, 0.0..=0.05);
    }
}

/// Case 18: packets that overtake others look like losses. What they cost comes back: over TCP, which gets used to
/// reordering, more than nine tenths of the link are used, PROBE_RTT included; over QUIC, whose packet threshold stays
/// at three, every late packet begins a recovery, and undo brings the use from 0.84 and 0.855 to 0.87. (Over TCP the
/// proof, a DSACK, comes a round trip later; bbr3's goodput is the same with and without, but for chance.)
#[test]
fn case_18_spurious_recoveries_are_taken_back() {
    for subject in Subject::all() {
        let goodput = |undo: bool| {
            let run = run(&format!(
                r#"
                duration = "30s"
                record.series = false
                transport = {{ profile = "{}", undo = {undo} }}
                path = {{ rate = "10mbit", rtt = "40ms", buffer = "4bdp", reorder = "0.5%" }}
                flows = [{{ cc = "{}" }}]
                "#,
                subject.transport, subject.cc
            ));
            assert_eq!(run.flow("network_drops_total", 0), 0.0);
            assert!(run.flow("lost_total", 0) > 0.0, "{}", subject.name("losses"));
            assert_eq!(run.flow("undo_count_total", 0) > 0.0, undo, "{}", subject.name("undone reductions"));
            run.flow("goodput_mbps", 0) / (10.0 * subject.share())
        };
        let with_undo = goodput(true);
        let least = if subject.transport == "tcp" { 0.9 } else { 0.85 };
        assert_between(&subject.name("goodput"), with_undo, least..=1.0);
        let without = goodput(false);
        assert!(subject.transport == "tcp" || with_undo >= without, "{}", subject.name("undo costs goodput"));
    }
}

/// Case 19: a stall without loss. The timeout is spurious, and the flow goes on at its rate.
#[test]
fn case_19_a_stall_without_loss_leaves_the_model_alone() {
    for subject in Subject::all() {
        let stalls =
            r#"rate = [["0s", "10mbit"], ["5s", "0mbit"], ["6500ms", "10mbit"]], rtt = "40ms", buffer = "500packets""#;
        let run = subject.run(20, stalls, "");
        let series = run.series(0);
        assert_eq!(run.flow("network_drops_total", 0), 0.0);
        let bw = at(&series, "cc_max_bw_mbps", 8.0) / (10.0 * subject.share());
        assert_between(&subject.name("max_bw after the stall"), bw, 0.9..=1.05);
        let rate = (at(&series, "acked_total", 19.9) - at(&series, "acked_total", 9.0)) / 10.9;
        let packet = if subject.transport == "tcp" { 1500.0 } else { 1400.0 };
        assert_between(&subject.name("utilization"), rate * packet * 8.0 / 10e6, 0.93..=1.01);
    }
}

/// Case 20: a PROBE_RTT that falls into STARTUP is followed by STARTUP.
#[test]
fn case_20_startup_goes_on_after_a_probe_rtt_within_it() {
    for subject in Subject::all() {
        // Limited by its application, it stays in STARTUP for longer than five seconds.
        let run = subject.run(12, &path("1bdp"), r#"rate = "3mbit""#);
        let series = run.series(0);
        let seen: Vec<&str> = modes(&series).into_iter().filter(|mode| !mode.is_empty()).collect();
        assert!(seen.len() >= 3, "{seen:?}");
        assert_eq!(&seen[..3], ["startup", "probe_rtt", "startup"], "{}", subject.name("modes"));
    }
}

/// Case 21: loss in UP once the upper bound is set ends UP, lowers the bound by no more than beta, and stays near 2 %.
#[test]
fn case_21_loss_in_up_lowers_the_upper_bound() {
    for subject in Subject::all() {
        let run = subject.run(30, &path("0.3bdp"), "");
        let series = run.series(0);
        let hi = series.during("cc_inflight_hi_packets", 2.0..30.0);
        assert!(hi.iter().all(|bound| bound.is_finite()), "{}", subject.name("the bound stays set"));
        let ends: Vec<f64> =
            stays(&series, "probe_bw_up").iter().map(|stay| stay.end).filter(|&end| end > 2.0).collect();
        assert!(!ends.is_empty());
        for end in ends {
            let (before, after) =
                (at(&series, "cc_inflight_hi_packets", end - 0.002), at(&series, "cc_inflight_hi_packets", end));
            assert_between(&subject.name("inflight_hi over that before"), after / before, 0.69..=1.05);
        }
        let loss = run.flow("network_drops_total", 0) / run.flow("sent_total", 0);
        assert_between(&subject.name("loss"), loss, 0.0..=0.02);
    }
}
