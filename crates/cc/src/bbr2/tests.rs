#![expect(clippy::cast_possible_truncation, reason = "numbers in these tests are small")]

use super::model::AckPhase;
use super::*;
use crate::Catalog;
use dumbbell_units::{Duration, Time};
use serde_json::{Map, Value, json};

/// 10 Mbit/s in packets of 1500 bytes: one packet per 1.2 ms.
const BW: u32 = (BW_UNIT / 1_200) as u32;
/// 40 ms of propagation and the packet's own 1.2 ms: a BDP of 34.3 packets.
const MIN_RTT_US: u32 = 41_200;

/// Parameters of the variant `name` with `changes`, without bursts and aggregation, for exact windows.
fn parameters(name: &str, changes: Value) -> Parameters {
    let mut all: Map<String, Value> =
        json!({ "budget_bursts": 0, "burst_max": 1, "aggregation": "off" }).as_object().unwrap().clone();
    all.extend(changes.as_object().unwrap().clone());
    let resolved = Catalog::builtin().find(name).unwrap().parameters(&all).unwrap();
    serde_json::from_value(Value::Object(resolved)).unwrap()
}

/// A connection with its controller, and the acknowledgements it is fed.
struct Flow {
    bbr: Bbr2,
    view: View,
    control: Control,
}

impl Flow {
    fn new(parameters: Parameters) -> Flow {
        let view = View { srtt_us_x8: 8 * MIN_RTT_US, min_rtt_us: MIN_RTT_US, paced: true, ..View::new(1500) };
        let mut flow = Flow { bbr: Bbr2::new(parameters, Rng::new(3)), view, control: Control::default() };
        flow.wait(Duration::from_secs(1));
        flow.bbr.init(&flow.view, &mut flow.control);
        flow
    }

    /// Cruising at 10 Mbit/s with 34 packets in flight and a window of two BDP.
    fn cruising(parameters: Parameters) -> Flow {
        let mut flow = Flow::new(parameters);
        flow.view.delivered = 10_000;
        flow.view.delivered_mstamp_us = flow.view.mstamp_us;
        flow.bbr.bandwidth.add(BW);
        flow.bbr.full_pipe.reached = true;
        flow.bbr.mode = Mode::ProbeBw;
        flow.bbr.signals.next_delivered = 10_000;
        flow.bbr.start_down(&flow.view);
        flow.bbr.start_cruise();
        flow.bbr.probe.ack_phase = AckPhase::Init;
        flow.bbr.update_gains();
        flow.view.packets_out = 34;
        flow.control.cwnd = 70;
        flow
    }

    /// At the start of UP.
    fn up(parameters: Parameters) -> Flow {
        let mut flow = Flow::cruising(parameters);
        flow.bbr.start_refill(&flow.view, 0);
        flow.ack_round();
        assert_eq!(flow.bbr.mode(), "probe_bw_up");
        assert!(flow.bbr.probe.samples_probe);
        flow
    }

    fn wait(&mut self, span: Duration) {
        self.view.now += span;
        self.view.mstamp_us = self.view.now.as_micros();
        self.view.jiffies = self.view.mstamp_us as u32 / 1_000;
    }

    /// A sample of the current round at 10 Mbit/s that delivers `acked` packets.
    fn sample(&self, acked: u32) -> RateSample {
        RateSample {
            prior_delivered: self.bbr.round.next_delivered.saturating_sub(1),
            delivered: 34,
            interval_us: 34 * 1_200,
            rtt_us: i64::from(MIN_RTT_US) + 1_000,
            acked_sacked: acked,
            prior_in_flight: self.view.in_flight(),
            tx_in_flight: 34,
            ..RateSample::default()
        }
    }

    fn ack(&mut self, sample: &RateSample) {
        self.wait(Duration::from_micros(1_200) * u64::from(sample.acked_sacked));
        self.view.delivered += u64::from(sample.acked_sacked);
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.bbr.cong_control(&self.view, &mut self.control, sample);
    }

    /// An ACK of one packet in the current round.
    fn ack_one(&mut self) {
        self.ack(&self.sample(1));
    }

    /// An ACK of one packet that starts a round.
    fn ack_round(&mut self) {
        self.ack(&RateSample { prior_delivered: self.bbr.round.next_delivered, ..self.sample(1) });
    }

    /// A packet sent with `tx_in_flight` in flight is lost, as the `nth` since it was sent.
    fn lose(&mut self, tx_in_flight: u32, nth: u64) {
        self.view.lost += nth;
        let lost = LostPacket {
            tx_in_flight,
            delivered: self.view.delivered.saturating_sub(34),
            lost: self.view.lost - nth,
            is_app_limited: false,
        };
        self.bbr.packet_lost(&self.view, &mut self.control, &lost);
    }

    fn hi(&self) -> u32 {
        self.bbr.bounds.inflight_hi
    }
}

fn v2() -> Parameters {
    parameters("bbr2", json!({}))
}

fn v3() -> Parameters {
    parameters("bbr3", json!({}))
}

#[test]
fn a_probe_cuts_the_bound_once_however_many_packets_it_loses() {
    let mut flow = Flow::up(v2());
    flow.bbr.bounds.inflight_hi = 200;
    flow.lose(100, 3);
    let cut = flow.hi();
    assert!(cut < 200);
    assert_eq!(flow.bbr.mode(), "probe_bw_down", "in the same call");
    assert!(!flow.bbr.probe.samples_probe && flow.bbr.probe.was_too_high);
    for nth in 4..20 {
        flow.lose(100, nth);
        flow.ack(&RateSample { lost_since_sent: nth as i32, tx_in_flight: 90, losses: 1, ..flow.sample(1) });
    }
    assert_eq!(flow.hi(), cut);
}

#[test]
fn the_bound_becomes_what_was_in_flight_when_loss_crossed_the_threshold() {
    // Of 100 packets floor(100 * 5/256) = 1 may be lost; the budget of the 99 before is ceil(99 * 5/256) = 2.
    for (nth, expected) in [
        // One lost before: (2 - 1) * 256/251 = 1 packet more until the budget is used up.
        (2, 99 + 1),
        // Two lost before use it up.
        (3, 99),
    ] {
        let mut flow = Flow::up(v2());
        flow.bbr.bounds.inflight_hi = 200;
        flow.lose(100, nth);
        assert_eq!(flow.hi(), expected, "{nth} losses");
    }
    let mut flow = Flow::up(v2());
    flow.bbr.bounds.inflight_hi = 200;
    flow.lose(100, 1);
    assert_eq!(flow.hi(), 200, "one of 100 is below the threshold");
    // The floor: 180/256 of the target of 35 packets and two for UP.
    let mut flow = Flow::up(v2());
    flow.bbr.bounds.inflight_hi = 200;
    flow.lose(10, 1);
    assert_eq!(flow.hi(), 37 * 180 / 256);
}

#[test]
fn an_application_limited_loss_ends_the_probe_but_keeps_the_bound() {
    let mut flow = Flow::up(v2());
    flow.bbr.bounds.inflight_hi = 200;
    flow.ack(&RateSample {
        is_app_limited: true,
        lost_since_sent: 5,
        losses: 5,
        prior_in_flight: 60,
        ..flow.sample(1)
    });
    assert_eq!((flow.bbr.mode(), flow.hi()), ("probe_bw_down", 200));
}

#[test]
fn cruise_leaves_headroom() {
    for (hi, window) in [(40, 35), (4, 4), (7, 6)] {
        let mut flow = Flow::cruising(v2());
        flow.bbr.bounds.inflight_hi = hi;
        flow.ack(&RateSample { tx_in_flight: 1, ..flow.sample(1) });
        assert_eq!(flow.control.cwnd, window, "inflight_hi {hi}");
    }
}

#[test]
fn a_loss_outside_of_probing_pulls_the_lower_bounds_to_what_was_delivered() {
    let mut flow = Flow::cruising(v2());
    flow.lose(34, 1);
    let begins = flow.view.delivered;
    flow.ack(&RateSample { losses: 1, prior_delivered: begins - 1, ..flow.sample(1) });
    assert_eq!(flow.bbr.bounds.inflight_lo, UNSET, "not before the loss round is over");
    let slower = RateSample { prior_delivered: begins, delivered: 20, ..flow.sample(1) };
    flow.ack(&slower);
    assert_eq!(flow.bbr.bounds.inflight_lo, 48, "max(34, 180/256 of 69)");
    let bw = sample_bw(34, 34 * 1_200);
    assert_eq!(flow.bbr.bounds.bw_lo, bw.max(BW * 180 / 256), "the round's best sample");
    assert_eq!(flow.control.cwnd, 48);
    flow.bbr.start_refill(&flow.view, 0);
    assert_eq!((flow.bbr.bounds.inflight_lo, flow.bbr.bounds.bw_lo), (UNSET, UNSET), "until REFILL");
}

fn sample_bw(packets: u64, interval_us: u64) -> u32 {
    (packets * BW_UNIT).div_ceil(interval_us) as u32
}

#[test]
fn the_bound_grows_by_powers_of_two_while_it_limits() {
    let mut flow = Flow::cruising(v3());
    flow.bbr.bounds.inflight_hi = 40;
    flow.control.cwnd = 40;
    flow.bbr.start_refill(&flow.view, 0);
    flow.ack_round();
    flow.view.cwnd_limited = true;
    let mut growth = vec![];
    for _ in 0..4 {
        let before = flow.hi();
        for packet in 0..before {
            flow.control.cwnd = flow.hi();
            if packet + 1 == before { flow.ack_round() } else { flow.ack_one() }
        }
        growth.push(flow.hi() - before);
    }
    for (rounds, step) in growth.iter().enumerate() {
        // A little more where the round grows longer meanwhile and the step is rounded down.
        let least = 1 << rounds;
        assert!((least..=least + least / 4 + 1).contains(step), "{growth:?}");
    }
    assert_eq!(flow.bbr.mode(), "probe_bw_up", "a bandwidth that the bound limits is no plateau");
    flow.view.cwnd_limited = false;
    for _ in 0..3 {
        flow.ack_round();
    }
    assert_eq!(flow.bbr.mode(), "probe_bw_down");
}

#[test]
fn v3_keeps_the_credit_of_growth_and_v2_does_not() {
    for (parameters, credit) in [(v2(), false), (v3(), true)] {
        let mut flow = Flow::up(parameters);
        flow.bbr.bounds.inflight_hi = 70;
        flow.control.cwnd = 70;
        flow.view.cwnd_limited = true;
        // The window that UP began with asks for 70 acknowledged packets; more than half of them are.
        flow.ack(&RateSample { acked_sacked: 40, ..flow.sample(40) });
        assert_eq!(flow.hi(), 70);
        flow.view.cwnd_limited = false;
        flow.ack_one();
        flow.view.cwnd_limited = true;
        flow.control.cwnd = 70;
        flow.ack(&RateSample { acked_sacked: 40, ..flow.sample(40) });
        assert_eq!(flow.hi() > 70, credit);
    }
}

#[test]
fn v2_stops_probing_at_a_queue_after_a_round_trip() {
    let mut flow = Flow::up(v2());
    // 43 packets are 1.25 BDP, two more are UP's own, one is the burst about to leave.
    flow.wait(Duration::from_micros(41_000));
    flow.ack(&RateSample { prior_in_flight: 43, ..flow.sample(1) });
    assert_eq!(flow.bbr.mode(), "probe_bw_up");
    flow.ack(&RateSample { prior_in_flight: 44, ..flow.sample(1) });
    assert_eq!(flow.bbr.mode(), "probe_bw_down");
    let mut early = Flow::up(v2());
    early.ack(&RateSample { prior_in_flight: 60, ..early.sample(1) });
    assert_eq!(early.bbr.mode(), "probe_bw_up");
}

#[test]
fn after_a_probe_that_went_too_high_the_next_stops_at_the_bound_and_one_more_follows_at_once() {
    for parameters in [v2(), v3()] {
        let mut flow = Flow::up(parameters);
        flow.bbr.bounds.inflight_hi = 40;
        flow.bbr.probe.was_too_high = true;
        flow.ack(&RateSample { prior_in_flight: 40, tx_in_flight: 30, ..flow.sample(1) });
        assert_eq!(flow.bbr.mode(), "probe_bw_down");
        assert!(flow.bbr.probe.was_cautious && !flow.bbr.probe.was_too_high);
        // Too much is in flight for CRUISE; a round later the caution proves needless.
        flow.ack(&RateSample { prior_in_flight: 40, tx_in_flight: 30, ..flow.sample(1) });
        flow.ack(&RateSample {
            prior_delivered: flow.bbr.round.next_delivered,
            prior_in_flight: 40,
            tx_in_flight: 30,
            ..flow.sample(1)
        });
        assert_eq!(flow.bbr.mode(), "probe_bw_refill");
    }
}

#[test]
fn the_first_round_after_a_probe_begins_a_cycle_of_the_bandwidth_filter() {
    let mut flow = Flow::up(v2());
    flow.bbr.start_down(&flow.view);
    assert_eq!(flow.bbr.bandwidth.max(), sample_bw(34, 34 * 1_200));
    // Half the bandwidth from now on: the old maximum survives this cycle and the next.
    let half =
        |flow: &Flow| RateSample { delivered: 17, prior_delivered: flow.bbr.round.next_delivered, ..flow.sample(1) };
    for expected in [34, 17] {
        flow.bbr.start_down(&flow.view);
        flow.ack(&half(&flow));
        flow.ack(&half(&flow));
        assert_eq!(flow.bbr.bandwidth.max(), sample_bw(expected, 34 * 1_200));
    }
}

#[test]
fn v3_searches_a_plateau_in_every_sample_and_the_draft_at_round_starts() {
    for (name, sees) in [("bbr3", true), ("bbr3-draft", false)] {
        let mut flow = Flow::new(parameters(name, json!({})));
        let at = |flow: &Flow, packets: i32| RateSample { delivered: packets, interval_us: 100_000, ..flow.sample(1) };
        let round = |flow: &Flow, packets: i32| RateSample {
            prior_delivered: flow.bbr.round.next_delivered,
            ..at(flow, packets)
        };
        flow.view.delivered = 100;
        flow.ack(&round(&flow, 80));
        flow.ack(&round(&flow, 96));
        assert_eq!(flow.bbr.full_pipe.rounds, 1, "a fifth more is no growth");
        flow.ack(&at(&flow, 100));
        assert_eq!(flow.bbr.full_pipe.rounds, u32::from(!sees), "{name}: a quarter more is, in mid-round");
        let baseline = sample_bw(if sees { 100 } else { 80 }, 100_000);
        assert_eq!(flow.bbr.full_pipe.baseline, baseline, "{name}");
    }
}

#[test]
fn a_spurious_loss_brings_window_and_bounds_back() {
    for parameters in [v2(), v3()] {
        let mut flow = Flow::cruising(parameters);
        flow.bbr.bounds.inflight_hi = 80;
        flow.bbr.bounds.inflight_lo = 60;
        flow.control.cwnd = 60;
        flow.bbr.ssthresh(&flow.view, &flow.control);
        flow.view.ca_state = CaState::Recovery;
        flow.bbr.bounds.inflight_hi = 50;
        flow.bbr.bounds.inflight_lo = 40;
        flow.control.cwnd = 40;
        assert_eq!(flow.bbr.undo_cwnd(&flow.view, &flow.control), 60);
        assert_eq!((flow.bbr.bounds.inflight_hi, flow.bbr.bounds.inflight_lo), (80, 60));
    }
}

#[test]
fn in_the_draft_a_spurious_loss_brings_the_state_back_too() {
    let mut flow = Flow::up(parameters("bbr3-draft", json!({})));
    flow.bbr.bounds.inflight_hi = 200;
    flow.lose(100, 3);
    flow.bbr.ssthresh(&flow.view, &flow.control);
    assert_eq!(flow.bbr.mode(), "probe_bw_down");
    flow.bbr.undo_cwnd(&flow.view, &flow.control);
    assert_eq!((flow.bbr.mode(), flow.hi()), ("probe_bw_refill", 200));

    let mut flow = Flow::new(parameters("bbr3-draft", json!({})));
    flow.bbr.bandwidth.add(BW);
    flow.bbr.end_startup_congested(&flow.view, &flow.control);
    flow.view.packets_out = 100;
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "drain");
    flow.bbr.undo_cwnd(&flow.view, &flow.control);
    assert_eq!(flow.bbr.mode(), "startup");
}

#[test]
fn a_sample_alone_does_not_stop_the_drafts_probe() {
    for (name, stops) in [("bbr2", true), ("bbr3", true), ("bbr3-draft", false)] {
        let mut flow = Flow::up(parameters(name, json!({})));
        flow.ack(&RateSample { lost_since_sent: 5, losses: 5, ..flow.sample(1) });
        assert_eq!(flow.bbr.mode() == "probe_bw_down", stops, "{name}");
    }
}

#[test]
fn a_tail_that_a_probe_repaired_counts_in_v3() {
    for (parameters, counts) in [(v2(), false), (v3(), true)] {
        let mut flow = Flow::up(parameters);
        flow.bbr.bounds.inflight_hi = 60;
        flow.bbr.signals.delivered = 20;
        flow.bbr.event(&flow.view, &mut flow.control, Event::TlpRecovery { is_app_limited: false });
        assert_eq!(flow.bbr.probe.was_too_high, counts);
        assert_eq!(flow.bbr.mode() == "probe_bw_down", counts, "one of 21 is too much");
    }
}

#[test]
fn a_timeout_bounds_the_amount_in_flight_by_the_window_of_before() {
    for parameters in [v2(), v3()] {
        let mut flow = Flow::cruising(parameters);
        flow.bbr.ssthresh(&flow.view, &flow.control);
        flow.control.cwnd = 1;
        flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Loss);
        flow.view.ca_state = CaState::Loss;
        assert_eq!(flow.bbr.bounds.inflight_lo, 70);
        flow.ack_one();
        assert_eq!(flow.control.cwnd, 4, "the floor");
        flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
        assert_eq!(flow.control.cwnd, 70);
    }
}

#[test]
fn startup_ends_by_loss_only_with_many_losses_in_recovery() {
    let ends = |name: &str, events: u32, state: CaState| {
        let mut flow = Flow::new(parameters(name, json!({})));
        flow.bbr.bandwidth.add(BW);
        flow.view.delivered = 10_000;
        flow.view.ca_state = state;
        flow.view.packets_out = 60;
        for _ in 0..events {
            flow.lose(60, 1);
            flow.ack(&RateSample { losses: 1, prior_delivered: 0, ..flow.sample(1) });
        }
        let sample = flow.sample(1);
        flow.ack(&RateSample {
            prior_delivered: flow.bbr.signals.next_delivered,
            lost_since_sent: 8,
            tx_in_flight: 60,
            ..sample
        });
        flow.bbr.full_pipe.reached
    };
    assert!(ends("bbr2", 8, CaState::Recovery));
    assert!(!ends("bbr2", 7, CaState::Recovery));
    assert!(ends("bbr3", 6, CaState::Recovery));
    assert!(!ends("bbr3", 5, CaState::Recovery));
    assert!(!ends("bbr2", 8, CaState::Open));
    assert!(ends("bbr2-draft", 3, CaState::Recovery));
}

/// Feeds a round in which `marked` of 20 packets carry a mark.
fn marked_round(flow: &mut Flow, marked: u32) {
    for packet in 0..20 {
        let is_ece = packet < marked;
        flow.view.delivered_ce += u64::from(is_ece);
        let prior_delivered = if packet == 19 { flow.bbr.round.next_delivered } else { 0 };
        let rtt_us = i64::from(flow.bbr.min_rtt.rtt_us);
        let sample = RateSample { is_ece, rtt_us, prior_delivered, ..flow.sample(1) };
        flow.ack(&sample);
    }
}

#[test]
fn the_share_of_marks_is_averaged_over_rounds_of_short_paths() {
    for (ecn, rtt_us, alpha) in [(true, 4_000, true), (true, 6_000, false), (false, 4_000, false)] {
        let mut flow = Flow::cruising(parameters("bbr2", json!({ "ecn": ecn })));
        flow.bbr.min_rtt.rtt_us = rtt_us;
        assert_eq!(flow.bbr.ecn() == EcnMode::Accurate, ecn);
        flow.ack_round();
        for _ in 0..60 {
            marked_round(&mut flow, 5);
        }
        let is_quarter = (0.2..=0.27).contains(&flow.bbr.ecn.alpha.as_f64());
        assert_eq!(is_quarter, alpha, "{ecn} {rtt_us}: {}", flow.bbr.ecn.alpha.as_f64());
    }
}

#[test]
fn marks_outside_of_probing_lower_the_bound_by_a_third_of_their_share() {
    let mut flow = Flow::cruising(parameters("bbr2", json!({ "ecn": true })));
    flow.bbr.ecn.eligible = true;
    flow.bbr.signals.echo = true;
    flow.bbr.adapt_lower_bounds(&flow.control);
    // alpha is one at the start: 70 * (1 - 85/256).
    assert_eq!((flow.bbr.bounds.inflight_lo, flow.bbr.bounds.bw_lo), (70 * 171 / 256, UNSET));
}

#[test]
fn half_of_the_packets_marked_is_too_much_for_v2_and_not_yet_for_v3() {
    for (name, marked, stops) in [("bbr2", 17, true), ("bbr3", 17, false), ("bbr3", 18, true), ("bbr2", 16, false)] {
        let mut flow = Flow::up(parameters(name, json!({ "ecn": true })));
        flow.bbr.ecn.eligible = true;
        flow.ack(&RateSample { delivered_ce: marked, ..flow.sample(1) });
        assert_eq!(flow.bbr.mode() == "probe_bw_down", stops, "{name}: {marked} of 34");
    }
}

#[test]
fn two_rounds_of_marks_end_startup() {
    let mut flow = Flow::new(parameters("bbr2", json!({ "ecn": true })));
    flow.bbr.min_rtt.rtt_us = 4_000;
    flow.bbr.bandwidth.add(BW);
    flow.view.packets_out = 100;
    flow.ack_round();
    marked_round(&mut flow, 12);
    assert_eq!(flow.bbr.mode(), "startup");
    marked_round(&mut flow, 12);
    assert_ne!(flow.bbr.mode(), "startup");
    assert_ne!(flow.hi(), UNSET);
}

#[test]
fn bursts_are_larger_on_short_paths() {
    let mut flow = Flow::cruising(Parameters::default());
    flow.control.pacing_rate = 1_250_000;
    assert_eq!(flow.bbr.burst_packets(&flow.view, &flow.control), 2, "the least at 10 Mbit/s");
    flow.bbr.min_rtt.rtt_us = 100;
    assert_eq!(flow.bbr.burst_packets(&flow.view, &flow.control), 43, "64 KiB less the largest header");
    flow.bbr.min_rtt.rtt_us = 1_100;
    assert_eq!(flow.bbr.burst_packets(&flow.view, &flow.control), ((1_250_000 / 1_024 + 16_384) / 1_500) as u32);
    let mut flow = Flow::cruising(parameters("bbr-n", json!({ "burst_max": 127, "budget_bursts": 3 })));
    for (kbit, packets) in [(1_000, 1), (10_000, 4)] {
        flow.control.pacing_rate = kbit * 125;
        assert_eq!(flow.bbr.burst_packets(&flow.view, &flow.control), packets, "{kbit} kbit/s");
    }
    assert_eq!(
        flow.bbr.inflight_target(&flow.view, &flow.control, BW / 100, Gain::ONE),
        12,
        "three bursts are the least"
    );
}

#[test]
fn the_allowance_counts_parts_of_packets_where_bytes_are_counted() {
    // 1200 us a packet: two packets 1100 us apart are 1.08 more than the bandwidth explains; the kernel rounds that up.
    // In QUIC an ACK that begins an epoch does not count, so that ACKs in step with the bandwidth need no allowance.
    for (kind, regular, early) in [("slots", 1.0, 2.0), ("filter", 1.0, 1.08), ("quic", 0.0, 1.08)] {
        let mut flow = Flow::cruising(parameters("bbr2", json!({ "aggregation": kind })));
        let mut ack_after = |wait_us| {
            flow.wait(Duration::from_micros(wait_us));
            flow.view.delivered += 1;
            flow.view.delivered_mstamp_us = flow.view.mstamp_us;
            let sample = flow.sample(1);
            flow.bbr.cong_control(&flow.view, &mut flow.control, &sample);
            flow.bbr.aggregation.max()
        };
        ack_after(50_000);
        assert_eq!(ack_after(1_210), regular, "{kind}");
        assert!((ack_after(1_100) - early).abs() < 0.01, "{kind}");
        for _ in 0..12 {
            flow.wait(Duration::from_micros(200));
            flow.ack_round();
        }
        assert_eq!(flow.bbr.aggregation.max(), regular, "{kind}: forgotten after ten rounds");
    }
}

#[test]
fn a_restart_from_idle_paces_at_the_bandwidth_and_postpones_probe_rtt() {
    let mut flow = Flow::cruising(v2());
    flow.wait(Duration::from_secs(6));
    flow.view.packets_out = 0;
    flow.control.app_limited = flow.view.delivered;
    flow.bbr.event(&flow.view, &mut flow.control, Event::TxStart);
    let expected = 0.99 * 1_500.0 * 1e6 / 1_200.0;
    assert!((flow.control.pacing_rate as f64 / expected - 1.0).abs() < 0.01, "{}", flow.control.pacing_rate);
    flow.ack(&RateSample { rtt_us: 60_000, ..flow.sample(1) });
    assert_ne!(flow.bbr.mode(), "probe_rtt");
}

#[test]
fn probe_rtt_holds_half_a_bdp_for_200_ms_and_a_round() {
    let mut flow = Flow::cruising(v2());
    flow.wait(Duration::from_secs(5));
    flow.ack_one();
    flow.ack_one();
    assert_eq!((flow.bbr.mode(), flow.control.cwnd), ("probe_rtt", 18));
    flow.view.packets_out = 18;
    flow.ack_one();
    let armed = flow.view.now;
    flow.wait(Duration::from_millis(300));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt", "no round has passed");
    flow.ack_round();
    assert_eq!(flow.bbr.mode(), "probe_bw_cruise");
    assert!(flow.view.now.since(armed) > Duration::from_millis(200));
    assert!(flow.control.cwnd >= 69, "{}", flow.control.cwnd);
}

#[test]
fn what_leaves_the_network_before_the_next_departure_does_not_count() {
    let mut flow = Flow::cruising(v2());
    flow.view.next_departure = flow.view.now + Duration::from_micros(12_100);
    assert_eq!(flow.bbr.in_network(&flow.view, &flow.control, 30), 20);
    flow.view.next_departure = Time::ZERO;
    assert_eq!(flow.bbr.in_network(&flow.view, &flow.control, 30), 30);
}

#[test]
fn observables_are_as_many_as_their_names() {
    let flow = Flow::cruising(v2());
    let names = flow.bbr.observables();
    let mut values = vec![f64::NEG_INFINITY; names.len() + 1];
    flow.bbr.observe(&flow.view, &flow.control, &mut values);
    assert!(values[..names.len()].iter().all(|v| *v != f64::NEG_INFINITY));
    assert_eq!(values[names.len()], f64::NEG_INFINITY);
}

#[test]
fn a_probe_remembers_the_losses_and_the_marks_that_samples_tell_of() {
    let mut flow = Flow::up(parameters("bbr3", json!({})));
    let quiet = RateSample::default();
    let samples = [
        (quiet, (false, false)),
        (RateSample { lost_since_sent: 1, ..quiet }, (true, false)),
        (RateSample { delivered_ce: 1, ..quiet }, (true, true)),
    ];
    for (sample, seen) in samples {
        flow.bbr.finish_ack(&flow.view, &sample, BW);
        assert_eq!((flow.bbr.probe.saw_loss, flow.bbr.probe.saw_ce), seen);
    }
}

#[test]
fn losses_are_too_many_above_their_threshold_of_what_was_in_flight() {
    let flow = Flow::cruising(parameters("bbr3", json!({ "loss_threshold": 0.25 })));
    for (in_flight, lost, is_too_high) in
        [(40, 0, false), (40, 10, false), (40, 11, true), (1, 1, true), (0, 0, false), (0, 1, false)]
    {
        assert_eq!(flow.bbr.is_loss_too_high(in_flight, lost), is_too_high, "{lost} of {in_flight}");
    }
}

#[test]
fn drain_ends_after_its_rounds_however_much_is_in_flight() {
    let mut flow = Flow::cruising(parameters("bbr3", json!({ "drain_max_rounds": 3 })));
    flow.bbr.mode = Mode::Drain;
    flow.view.packets_out = 200;
    for (round, mode) in [(0, Mode::Drain), (3, Mode::Drain), (4, Mode::ProbeBw)] {
        flow.bbr.round.count = round;
        flow.bbr.check_drain(&flow.view, &mut flow.control);
        assert_eq!(flow.bbr.mode, mode, "round {round}");
    }
}

#[test]
fn no_dwell_is_no_probe_rtt_wherever_it_would_begin() {
    for (dwell, has_it) in [("0s", false), ("1ms", true)] {
        let mut flow = Flow::cruising(parameters("bbr3", json!({ "probe_rtt_dwell": dwell })));
        flow.wait(Duration::from_secs(30));
        let sample = flow.sample(1);
        assert_eq!(flow.bbr.renew_expired_minimum(&flow.view, &sample), has_it, "{dwell}: after DOWN");
        let mut flow = Flow::cruising(parameters("bbr3", json!({ "probe_rtt_dwell": dwell })));
        flow.wait(Duration::from_secs(30));
        flow.ack_one();
        assert_eq!(flow.bbr.mode() == "probe_rtt", has_it, "{dwell}: anywhere");
    }
}

#[test]
fn a_long_path_believes_its_minimum_for_as_many_round_trips() {
    for (rtts, expires_ms) in [(0, 5_000), (100, 5_000), (200, 8_240)] {
        let mut flow = Flow::cruising(parameters("bbr3", json!({ "probe_rtt_interval_rtts": rtts })));
        flow.wait(Duration::from_millis(expires_ms));
        assert!(!flow.bbr.is_recent_minimum_expired(&flow.view), "{rtts}");
        flow.wait(Duration::from_millis(2));
        assert!(flow.bbr.is_recent_minimum_expired(&flow.view), "{rtts}");
    }
}

#[test]
fn a_sample_with_an_ack_delay_replaces_no_expired_minimum_unless_it_is_trusted() {
    for (guard, is_delayed, replaces) in [(true, true, false), (true, false, true), (false, true, true)] {
        let mut flow = Flow::cruising(parameters("bbr3", json!({ "delayed_ack_guard": guard })));
        flow.wait(Duration::from_secs(6));
        flow.ack(&RateSample { is_ack_delayed: is_delayed, ..flow.sample(1) });
        let expected = if replaces { MIN_RTT_US + 1_000 } else { MIN_RTT_US };
        assert_eq!(flow.bbr.probe_rtt.recent.rtt_us, expected, "{guard} {is_delayed}");
    }
}

#[test]
fn a_sample_equal_to_the_minimum_renews_it_in_v2_and_not_in_v3() {
    for (parameters, renews) in [(v2(), true), (v3(), false)] {
        let mut flow = Flow::cruising(parameters);
        let before = flow.bbr.probe_rtt.recent.stamp;
        flow.wait(Duration::from_secs(1));
        flow.ack(&RateSample { rtt_us: MIN_RTT_US.into(), ..flow.sample(1) });
        assert_eq!(flow.bbr.probe_rtt.recent.stamp > before, renews);
        assert_eq!(flow.bbr.probe_rtt.recent.rtt_us, MIN_RTT_US);
    }
}

#[test]
fn probe_rtt_without_a_round_ends_with_its_time() {
    let mut flow = Flow::cruising(parameters("bbr3", json!({ "probe_rtt_round": false })));
    flow.wait(Duration::from_secs(6));
    flow.ack_one();
    flow.view.packets_out = 10;
    flow.ack_one();
    flow.wait(Duration::from_millis(190));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt");
    flow.wait(Duration::from_millis(12));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_bw_cruise");
}
