use super::*;
use dumbbell_units::{Duration, Time};

/// 10 Mbit/s in packets of 1500 bytes on the wire: one packet per 1.2 ms.
const BW: u32 = (BW_UNIT / 1_200) as u32;
/// 40 ms of propagation and the packet's own 1.2 ms: a BDP of 34.3 packets.
const MIN_RTT_US: u32 = 41_200;

/// The defaults without the allowance for aggregated ACKs, for exact windows.
fn no_allowance() -> Parameters {
    Parameters { aggregation: Aggregation::Off, ..Parameters::default() }
}

/// A connection with its controller, and the acknowledgements it is fed.
struct Flow {
    bbr: Bbr1,
    view: View,
    control: Control,
}

impl Flow {
    /// Established, nothing sent.
    fn new(parameters: Parameters) -> Flow {
        let view = View { srtt_us_x8: 8 * MIN_RTT_US, min_rtt_us: MIN_RTT_US, paced: true, ..View::new(1448) };
        let mut flow = Flow { bbr: Bbr1::new(parameters, Rng::new(3)), view, control: Control::default() };
        flow.wait(Duration::from_secs(1));
        flow.bbr.init(&flow.view, &mut flow.control);
        flow
    }

    /// Cruising in PROBE_BW at 10 Mbit/s in phase `phase`, the window at its target and as much in flight as one BDP.
    fn cruising(parameters: Parameters, phase: usize) -> Flow {
        let mut flow = Flow::new(parameters);
        flow.view.delivered = 10_000;
        flow.bbr.bandwidth = MaxFilter::new(100, BW);
        flow.bbr.round.count = 100;
        flow.bbr.round.next_delivered = 10_000;
        flow.bbr.state.full_pipe = true;
        flow.bbr.min_rtt.rtt_us = MIN_RTT_US;
        flow.bbr.force_first_phase(phase);
        flow.view.delivered_mstamp_us = flow.view.mstamp_us;
        flow.bbr.enter_probe_bw(&flow.view);
        flow.bbr.update_gains();
        let rate = flow.bbr.bytes_per_second(&flow.view, BW, flow.bbr.pacing_gain);
        flow.control.pacing_rate = rate;
        flow.view.packets_out = 34;
        flow.control.cwnd = flow.target();
        flow.bbr.recovery.unbounded_cwnd = flow.control.cwnd;
        flow
    }

    fn target(&self) -> u32 {
        self.bbr.inflight_target(&self.view, &self.control, self.bbr.bw(), self.bbr.cwnd_gain)
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
            ..RateSample::default()
        }
    }

    fn ack(&mut self, sample: &RateSample) {
        self.wait(Duration::from_micros(1_200) * u64::from(sample.acked_sacked));
        self.view.delivered += u64::from(sample.acked_sacked);
        if sample.acked_sacked > 0 {
            self.view.delivered_mstamp_us = self.view.mstamp_us;
        }
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
}

#[test]
fn the_first_phase_is_uniform_and_never_the_draining_one() {
    let mut flow = Flow::cruising(Parameters::default(), 2);
    let mut counts = [0u32; 8];
    for _ in 0..7_000 {
        flow.bbr.enter_probe_bw(&flow.view);
        counts[flow.bbr.state.phase as usize] += 1;
    }
    assert_eq!(counts[1], 0);
    for phase in [0, 2, 3, 4, 5, 6, 7] {
        assert!((880..=1_120).contains(&counts[phase]), "{counts:?}");
    }
}

#[test]
fn bursts_grow_with_the_rate() {
    let mut flow = Flow::new(Parameters::default());
    for (mbit, packets) in [(1, 1), (10, 2), (100, 8), (540, 45), (10_000, 45)] {
        flow.control.pacing_rate = mbit * 125_000;
        assert_eq!(flow.bbr.burst_packets(&flow.view, &flow.control), packets, "{mbit} Mbit/s");
    }
    let aggregating = Parameters { burst_min: 4, ..Parameters::default() };
    let mut flow = Flow::new(aggregating);
    for (kbit, packets) in [(1_000, 1), (10_000, 4)] {
        flow.control.pacing_rate = kbit * 125;
        assert_eq!(flow.bbr.burst_packets(&flow.view, &flow.control), packets, "{kbit} kbit/s");
    }
}

#[test]
fn the_steady_window_is_two_bdp_and_the_budget() {
    let flow = |phase| Flow::cruising(Parameters::default(), phase);
    assert_eq!(flow(3).target(), 76);
    assert_eq!(flow(0).target(), 78, "two more to probe with");
    let no_bursts = Parameters { budget_bursts: 0, ..Parameters::default() };
    assert_eq!(Flow::cruising(no_bursts, 3).target(), 70);
    let aggregating = Parameters { burst_min: 4, ..Parameters::default() };
    assert_eq!(Flow::cruising(aggregating, 3).target(), 82, "a budget of twelve packets (BBR-n)");
}

#[test]
fn startup_paces_from_the_first_round_trip_and_never_slower() {
    let mut flow = Flow::new(Parameters::default());
    let initial = flow.control.pacing_rate;
    let expected = 10.0 * 1448.0 / 0.0412 * 739.0 / 256.0 * 0.99;
    assert!((initial as f64 / expected - 1.0).abs() < 1e-4, "{initial} not {expected}");
    flow.ack(&RateSample { delivered: 1, interval_us: 40_000, ..flow.sample(1) });
    assert_eq!(flow.control.pacing_rate, initial, "an early low sample does not slow it down");
    flow.ack(&RateSample { delivered: 60, interval_us: 40_000, ..flow.sample(1) });
    assert!(flow.control.pacing_rate > 4 * initial);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut flow = Flow::new(Parameters::default());
    flow.view.packets_out = 90;
    for round in 0..4 {
        assert_eq!(flow.bbr.mode(), "startup", "round {round}");
        flow.ack_round();
        for _ in 0..5 {
            flow.ack_one();
        }
    }
    assert_eq!(flow.bbr.mode(), "drain");
    assert!(flow.bbr.state.full_pipe);
    assert_eq!(flow.bbr.pacing_gain, Gain::new(88));
    assert_eq!(flow.bbr.cwnd_gain, Gain::new(739), "the window stays wide");
    flow.view.packets_out = 40;
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_bw", "at one BDP and the budget");
}

#[test]
fn an_application_limited_sample_may_raise_the_estimate_only() {
    let mut flow = Flow::cruising(Parameters::default(), 3);
    for _ in 0..20 {
        flow.ack(&RateSample {
            is_app_limited: true,
            delivered: 7,
            prior_delivered: flow.bbr.round.next_delivered,
            ..flow.sample(1)
        });
    }
    assert_eq!(flow.bbr.max_bw(), BW);
    flow.ack(&RateSample { is_app_limited: true, delivered: 68, ..flow.sample(1) });
    assert_eq!(flow.bbr.max_bw(), BW * 2);
}

#[test]
fn probing_lasts_until_its_amount_is_in_flight_or_a_packet_is_lost() {
    for (in_flight, losses, next) in [(43, 0, 0), (52, 0, 1), (43, 1, 1)] {
        let mut flow = Flow::cruising(Parameters::default(), 0);
        flow.wait(Duration::from_millis(42));
        flow.ack(&RateSample { prior_in_flight: in_flight, losses, ..flow.sample(1) });
        assert_eq!(flow.bbr.state.phase as usize, next, "{in_flight} in flight, {losses} lost");
    }
    let mut early = Flow::cruising(Parameters::default(), 0);
    early.ack(&RateSample { prior_in_flight: 60, losses: 1, ..early.sample(1) });
    assert_eq!(early.bbr.state.phase, 0, "for one round trip at least");
}

#[test]
fn draining_ends_at_one_bdp_or_after_one_round_trip() {
    let mut flow = Flow::cruising(Parameters::default(), 1);
    flow.ack(&RateSample { prior_in_flight: 50, ..flow.sample(1) });
    assert_eq!(flow.bbr.state.phase as usize, 1);
    flow.ack(&RateSample { prior_in_flight: 42, ..flow.sample(1) });
    assert_eq!(flow.bbr.state.phase as usize, 2, "one BDP and the budget");
    let mut flow = Flow::cruising(Parameters::default(), 1);
    flow.wait(Duration::from_millis(42));
    flow.ack(&RateSample { prior_in_flight: 50, ..flow.sample(1) });
    assert_eq!(flow.bbr.state.phase as usize, 2);
}

#[test]
fn a_held_draining_gain_outlasts_its_phase_until_one_bdp_is_in_flight() {
    let parameters = Parameters { cycle_policy: CyclePolicy::TimedDrain, ..Parameters::default() };
    let mut flow = Flow::cruising(parameters, 1);
    for _ in 0..75 {
        flow.ack(&RateSample { prior_in_flight: 60, ..flow.sample(1) });
        assert_eq!(flow.bbr.pacing_gain, Gain::new(192));
    }
    assert_eq!(flow.bbr.state.phase as usize, 3, "the phases tick on");
    flow.ack(&RateSample { prior_in_flight: 40, ..flow.sample(1) });
    assert_eq!(flow.bbr.pacing_gain, Gain::ONE);
}

#[test]
fn a_random_cycle_probes_drains_and_cruises_for_two_to_eight_round_trips() {
    let parameters = Parameters {
        cycle_policy: CyclePolicy::RandomLength,
        probe_rtt_dwell: Duration::ZERO,
        ..Parameters::default()
    };
    let mut flow = Flow::cruising(parameters, 3);
    flow.bbr.cycle.length = 0;
    let mut lengths = [0u32; 9];
    let mut started = flow.view.mstamp_us;
    let mut visited = vec![];
    for _ in 0..40_000 {
        let before = flow.bbr.state.phase as usize;
        let in_flight = if flow.bbr.pacing_gain > Gain::ONE { 60 } else { 30 };
        flow.ack(&RateSample { prior_in_flight: in_flight, ..flow.sample(1) });
        visited.push(flow.bbr.state.phase as usize);
        if before != 0 && flow.bbr.state.phase == 0 {
            // The cycle ended with the first ACK after `length` round trips.
            let round_trips = (flow.view.mstamp_us - started - 1) / u64::from(MIN_RTT_US);
            lengths[round_trips as usize] += 1;
            started = flow.view.mstamp_us;
        }
    }
    assert!(visited.contains(&1) && visited.contains(&2) && visited.iter().all(|index| *index <= 2));
    let cycles: u32 = lengths[2..].iter().sum();
    assert!(cycles > 150, "{lengths:?}");
    assert!(lengths[2..].iter().all(|count| (cycles / 14..=cycles / 4).contains(count)), "{lengths:?}");
}

#[test]
fn a_random_cycle_stops_probing_when_the_application_is_the_limit() {
    for (policy, next) in [(CyclePolicy::RandomLength, 1), (CyclePolicy::Timed, 0)] {
        let mut flow = Flow::cruising(Parameters { cycle_policy: policy, ..Parameters::default() }, 0);
        flow.bbr.cycle.length = 8;
        flow.wait(Duration::from_millis(42));
        flow.ack(&RateSample { prior_in_flight: 10, is_app_limited: true, ..flow.sample(1) });
        assert_eq!(flow.bbr.state.phase as usize, next, "{policy:?}");
    }
}

#[test]
fn an_old_minimum_brings_probe_rtt_for_200_ms_and_a_round() {
    let mut flow = Flow::cruising(Parameters::default(), 3);
    flow.wait(Duration::from_secs(10));
    flow.ack_one();
    assert_eq!((flow.bbr.mode(), flow.control.cwnd), ("probe_rtt", 4));
    flow.wait(Duration::from_secs(1));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt", "too much is still in flight");
    flow.view.packets_out = 4;
    flow.ack_one();
    let armed = flow.view.now;
    flow.wait(Duration::from_millis(300));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt", "no round has passed");
    assert_eq!(flow.control.app_limited, flow.view.delivered + 4, "its low rates are marked");
    flow.ack_round();
    assert_eq!(flow.bbr.mode(), "probe_bw");
    assert!(flow.view.now.since(armed) > Duration::from_millis(200));
    assert!(flow.control.cwnd >= 76, "the window is back: {}", flow.control.cwnd);
}

#[test]
fn a_quick_round_does_not_shorten_probe_rtt() {
    let mut flow = Flow::cruising(Parameters::default(), 3);
    flow.view.packets_out = 4;
    flow.wait(Duration::from_secs(10));
    flow.ack_one();
    let armed = flow.view.now;
    while flow.bbr.mode() == "probe_rtt" {
        flow.ack_round();
    }
    let dwell = flow.view.now.since(armed);
    assert!((200..=204).contains(&(dwell.as_micros() / 1_000)), "{dwell:?}");
}

#[test]
fn an_equal_round_trip_renews_the_minimum_only_where_ties_count() {
    for (ties, mode) in [(false, "probe_rtt"), (true, "probe_bw")] {
        let parameters = Parameters { min_rtt_tie_refreshes: ties, ..Parameters::default() };
        let mut flow = Flow::cruising(parameters, 3);
        flow.wait(Duration::from_secs(9));
        flow.ack(&RateSample { rtt_us: i64::from(MIN_RTT_US), ..flow.sample(1) });
        flow.wait(Duration::from_secs(2));
        flow.ack_one();
        assert_eq!(flow.bbr.mode(), mode);
    }
}

#[test]
fn a_delayed_ack_does_not_replace_an_expired_minimum() {
    for (guard, expected) in [(true, MIN_RTT_US), (false, 90_000)] {
        let mut flow = Flow::cruising(Parameters { delayed_ack_guard: guard, ..Parameters::default() }, 3);
        flow.wait(Duration::from_secs(11));
        flow.ack(&RateSample { rtt_us: 90_000, is_ack_delayed: true, ..flow.sample(1) });
        assert_eq!(flow.bbr.min_rtt.rtt_us, expected);
    }
}

#[test]
fn probe_rtt_windows_can_halve_or_follow_the_bdp() {
    let mut flow = Flow::cruising(Parameters { probe_rtt_window: ProbeRttWindow::Halving, ..no_allowance() }, 3);
    flow.wait(Duration::from_secs(11));
    let mut windows = vec![];
    for _ in 0..6 {
        flow.ack_one();
        windows.push(flow.control.cwnd);
    }
    // Before it is halved, the window may regrow by the packet acknowledged, to at most the one-BDP target.
    assert_eq!(windows, [21, 11, 6, 4, 4, 4]);
    let share = ProbeRttWindow::Bdp(Gain::new(192));
    let mut flow = Flow::cruising(Parameters { probe_rtt_window: share, ..no_allowance() }, 3);
    flow.wait(Duration::from_secs(11));
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 27, "three quarters of a BDP at the new minimum of 42.2 ms, rounded up");
}

#[test]
fn no_dwell_is_no_probe_rtt() {
    let mut flow = Flow::cruising(Parameters { probe_rtt_dwell: Duration::ZERO, ..Parameters::default() }, 3);
    flow.wait(Duration::from_secs(30));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_bw");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let mut flow = Flow::cruising(no_allowance(), 3);
    let saved = flow.control.cwnd;
    assert_eq!(
        flow.bbr.ssthresh(&flow.view, &flow.control),
        Control::INFINITE_SSTHRESH,
        "BBR leaves the threshold alone"
    );
    flow.view.ca_state = CaState::Recovery;
    flow.view.packets_out = 70;
    flow.view.lost_out = 1;
    flow.ack(&RateSample { losses: 1, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 69 + 1, "what is in flight and what was delivered");
    for in_flight in [68, 67, 69] {
        flow.view.packets_out = in_flight;
        flow.view.lost_out = 0;
        flow.ack_one();
        assert_eq!(flow.control.cwnd, 70, "conserved");
    }
    flow.view.packets_out = 40;
    flow.ack_round();
    assert_eq!(flow.control.cwnd, 71, "the next round grows again");
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, flow.target().min(saved + 1));
    assert!(!flow.bbr.recovery.packet_conservation);
}

#[test]
fn a_timeout_keeps_the_model_and_the_saved_window() {
    let mut flow = Flow::cruising(no_allowance(), 3);
    let saved = flow.control.cwnd;
    flow.bbr.full_pipe.baseline = BW;
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Loss);
    assert_eq!(flow.bbr.full_pipe.baseline, 0);
    flow.view.ca_state = CaState::Loss;
    flow.control.cwnd = 1;
    flow.view.packets_out = 34;
    flow.view.lost_out = 33;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 4);
    assert_eq!(flow.bbr.max_bw(), BW);
    flow.view.ca_state = CaState::Open;
    flow.view.lost_out = 0;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, saved);
}

#[test]
fn a_spurious_loss_restarts_the_search_for_a_full_pipe_where_asked() {
    for (resets, expected) in [(true, (0, 0)), (false, (BW, 2))] {
        let mut flow = Flow::new(Parameters { undo_resets_plateau: resets, ..Parameters::default() });
        flow.bbr.full_pipe = FullPipe { baseline: BW, rounds: 2 };
        assert_eq!(flow.bbr.undo_cwnd(&flow.view, &flow.control), flow.control.cwnd);
        assert_eq!((flow.bbr.full_pipe.baseline, flow.bbr.full_pipe.rounds), expected);
    }
}

#[test]
fn an_ack_that_delivers_nothing_caps_the_window_since_linux_4_19() {
    for (caps, window) in [(true, 4), (false, 76)] {
        let mut flow = Flow::cruising(Parameters { zero_ack_caps: caps, ..Parameters::default() }, 3);
        flow.wait(Duration::from_secs(11));
        flow.ack(&RateSample { rtt_us: 50_000, ..RateSample::invalid() });
        assert_eq!((flow.bbr.mode(), flow.control.cwnd), ("probe_rtt", window));
    }
}

#[test]
fn quic_recovery_bounds_the_window_and_leaves_it_untouched() {
    let parameters = Parameters { recovery: Recovery::Quic, ..no_allowance() };
    let mut flow = Flow::cruising(parameters, 3);
    flow.view.packets_out = 50;
    flow.ack(&RateSample { losses: 2, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 51, "in flight and acknowledged");
    flow.view.packets_out = 30;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 51, "conservation: no growth");
    // A new round, but of packets sent before the last loss: growth.
    let beyond = flow.view.delivered;
    flow.bbr.round.next_delivered = 1;
    flow.ack(&RateSample { prior_delivered: 10_000, ..flow.sample(3) });
    assert_eq!(flow.control.cwnd, 54);
    flow.ack(&RateSample { prior_delivered: beyond, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 76, "over: the window of before");
}

/// Rounds of a policed path: in each, `delivered` packets in 100 ms and a loss of a quarter of them.
fn policed_round(flow: &mut Flow, delivered: u32) {
    flow.view.lost += u64::from(delivered / 4);
    flow.wait(Duration::from_millis(100) - Duration::from_micros(1_200) * u64::from(delivered));
    let sample = RateSample {
        prior_delivered: flow.bbr.round.next_delivered,
        losses: delivered / 4,
        delivered: delivered as i32,
        interval_us: 100_000,
        ..flow.sample(delivered)
    };
    flow.ack(&sample);
}

#[test]
fn two_intervals_of_heavy_loss_at_one_rate_reveal_a_policer() {
    let mut flow = Flow::cruising(Parameters::default(), 3);
    for round in 0..8 {
        assert!(!flow.bbr.state.policed, "round {round}");
        policed_round(&mut flow, 17);
    }
    assert!(flow.bbr.state.policed);
    assert_eq!(flow.bbr.pacing_gain, Gain::ONE);
    let expected = 17.0 / 100_000.0 * BW_UNIT as f64;
    assert!((f64::from(flow.bbr.bw()) - expected).abs() < 0.03 * expected, "{} not {expected}", flow.bbr.bw());
    assert!(flow.bbr.bw() < flow.bbr.max_bw());
    for round in 0..48 {
        assert!(flow.bbr.state.policed, "round {round}");
        flow.ack_round();
    }
    assert!(!flow.bbr.state.policed, "after 48 rounds it probes again");
}

#[test]
fn no_policer_is_seen_in_unequal_rates_light_losses_or_application_pauses() {
    let mut unequal = Flow::cruising(Parameters::default(), 3);
    for round in 0..40 {
        policed_round(&mut unequal, if round / 5 % 2 == 0 { 17 } else { 50 });
    }
    let mut light = Flow::cruising(Parameters::default(), 3);
    for _ in 0..40 {
        light.ack(&RateSample { losses: 1, ..light.sample(30) });
        light.view.lost += 1;
        light.ack_round();
    }
    let mut pauses = Flow::cruising(Parameters::default(), 3);
    for _ in 0..40 {
        policed_round(&mut pauses, 17);
        pauses.ack(&RateSample { is_app_limited: true, ..pauses.sample(1) });
    }
    let mut off = Flow::cruising(Parameters { policer_sampler: false, ..Parameters::default() }, 3);
    for _ in 0..40 {
        policed_round(&mut off, 17);
    }
    for flow in [unequal, light, pauses, off] {
        assert!(!flow.bbr.state.policed);
    }
}

#[test]
fn a_restart_from_idle_paces_at_the_bandwidth_and_postpones_probe_rtt() {
    let mut flow = Flow::cruising(Parameters::default(), 0);
    flow.wait(Duration::from_secs(11));
    flow.view.packets_out = 0;
    flow.control.app_limited = flow.view.delivered;
    flow.bbr.event(&flow.view, &mut flow.control, Event::TxStart);
    assert_eq!(flow.control.pacing_rate, flow.bbr.bytes_per_second(&flow.view, BW, Gain::ONE));
    flow.ack(&RateSample { rtt_us: 60_000, ..flow.sample(1) });
    assert_eq!(flow.bbr.mode(), "probe_bw");
    assert_eq!(flow.bbr.min_rtt.rtt_us, 60_000, "the expired minimum is replaced all the same");
}

#[test]
fn acks_in_aggregates_widen_the_window() {
    for (kind, widened) in [(Aggregation::Linux, true), (Aggregation::Quic, true), (Aggregation::Off, false)] {
        let mut flow = Flow::cruising(Parameters { aggregation: kind, ..Parameters::default() }, 3);
        for _ in 0..10 {
            // Nothing for 24 ms, then all 20 packets within 2 ms.
            flow.wait(Duration::from_millis(22));
            for _ in 0..10 {
                flow.wait(Duration::from_micros(200));
                flow.view.delivered += 2;
                flow.view.delivered_mstamp_us = flow.view.mstamp_us;
                let sample = RateSample { prior_in_flight: 34, ..flow.sample(2) };
                flow.bbr.cong_control(&flow.view, &mut flow.control, &sample);
            }
        }
        let excess = flow.control.cwnd.saturating_sub(76);
        assert_eq!((10..=20).contains(&excess), widened, "{kind:?}: {excess}");
    }
}

#[test]
fn quic_s_allowance_counts_parts_of_packets() {
    let mut flow = Flow::cruising(Parameters { aggregation: Aggregation::Quic, ..Parameters::default() }, 3);
    let mut ack_after = |wait_us| {
        flow.wait(Duration::from_micros(wait_us));
        flow.view.delivered += 1;
        flow.view.delivered_mstamp_us = flow.view.mstamp_us;
        let sample = RateSample { prior_in_flight: 34, ..flow.sample(1) };
        flow.bbr.cong_control(&flow.view, &mut flow.control, &sample);
        flow.bbr.aggregation.max()
    };
    ack_after(50_000);
    // 1200 us a packet: two packets 1100 us apart are 1.08 more than the bandwidth explains.
    assert!((ack_after(1_100) - 1.08).abs() < 0.01);
    assert!((ack_after(100) - 2.0).abs() < 0.01, "three packets in the time of one");
}

#[test]
fn what_leaves_the_network_before_the_next_departure_does_not_count() {
    let mut flow = Flow::cruising(Parameters::default(), 3);
    flow.view.next_departure = flow.view.now + Duration::from_micros(12_100);
    assert_eq!(flow.bbr.in_network(&flow.view, &flow.control, 30), 20);
    assert_eq!(flow.bbr.in_network(&flow.view, &flow.control, 5), 0);
    flow.view.next_departure = Time::ZERO;
    assert_eq!(flow.bbr.in_network(&flow.view, &flow.control, 30), 30);
    let mut probing = Flow::cruising(Parameters::default(), 0);
    probing.view.next_departure = probing.view.now;
    assert_eq!(probing.bbr.in_network(&probing.view, &probing.control, 30), 32, "the burst about to leave counts");
    std::sync::Arc::make_mut(&mut probing.bbr.parameters).net_estimate = false;
    assert_eq!(probing.bbr.in_network(&probing.view, &probing.control, 30), 30);
}

#[test]
fn a_spread_of_round_trips_raises_the_bdp_where_asked() {
    for (offset, raised) in [(0, false), (256, true)] {
        let mut flow = Flow::cruising(Parameters { min_rtt_offset: Gain::new(offset), ..Parameters::default() }, 3);
        for i in 0..200 {
            flow.ack(&RateSample { rtt_us: 60_000 + if i % 2 == 0 { 10_000 } else { -10_000 }, ..flow.sample(1) });
        }
        assert_eq!(flow.bbr.min_rtt.rtt_us, MIN_RTT_US);
        let spread_us = flow.bbr.min_rtt.model_us - u64::from(MIN_RTT_US);
        assert_eq!((9_000..=12_000).contains(&spread_us), raised, "{spread_us} µs");
    }
}

#[test]
fn observables_are_as_many_as_their_names() {
    let flow = Flow::cruising(Parameters::default(), 3);
    let names = flow.bbr.observables();
    let mut values = vec![f64::NEG_INFINITY; names.len() + 1];
    flow.bbr.observe(&flow.view, &flow.control, &mut values);
    let value = |name| values[names.iter().position(|n| *n == name).unwrap()];
    assert!((value("bw_mbps") - 1448.0 * 8.0 / 1_200.0).abs() < 0.01);
    assert_eq!((value("min_rtt_ms"), value("cycle_index")), (41.2, 3.0));
    assert!(values[..names.len()].iter().all(|v| *v != f64::NEG_INFINITY));
    assert_eq!(values[names.len()], f64::NEG_INFINITY);
}

/// The detector's verdicts on a series of round-trip times in microseconds over a minimum of 40 ms.
fn acd_verdicts(rtts_us: &[i64]) -> Vec<bool> {
    let parameters = Parameters { recovery: Recovery::AcdKernel, ..Parameters::default() };
    let mut detector = acd::Acd::default();
    rtts_us.iter().map(|rtt_us| detector.detect(*rtt_us, 40_000, &parameters)).collect()
}

#[test]
fn three_like_round_trips_or_one_of_twice_the_minimum_reveal_a_full_queue() {
    let series = [45_000, 60_000, 60_500, 61_200, 70_000];
    assert_eq!(acd_verdicts(&series), [false, false, false, true, false]);
    assert_eq!(acd_verdicts(&[45_000, 81_000]), [false, true]);
    assert_eq!(acd_verdicts(&[60_000, 60_000, -1, 60_000, 60_000, 60_000]), [false, false, false, false, false, true]);
    assert_eq!(acd_verdicts(&[40_000; 5]), [false; 5], "the minimum itself is no queue");
}

/// A flow with this recovery that sees `rtt_us` with the ACK that takes it into recovery, and its window after that ACK
/// and after each of the following.
fn acd_windows(recovery: Recovery, rtt_us: i64, acks: usize) -> (Flow, Vec<u32>) {
    let mut flow = Flow::cruising(Parameters { recovery, ..no_allowance() }, 3);
    flow.control.cwnd = 64;
    flow.view.packets_out = 60;
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.ca_state = CaState::Recovery;
    let mut windows = vec![];
    for ack in 0..acks {
        let losses = u32::from(ack == 0);
        flow.ack(&RateSample { losses, rtt_us, prior_delivered: 0, ..flow.sample(1) });
        windows.push(flow.control.cwnd);
    }
    (flow, windows)
}

#[test]
fn the_kernels_acd_halves_the_window_with_every_ack_of_the_round() {
    let (mut flow, windows) = acd_windows(Recovery::AcdKernel, 90_000, 6);
    assert_eq!(windows, [31, 15, 7, 4, 4, 4]);
    flow.ack_round();
    assert_eq!(flow.control.cwnd, 5, "the next round grows");
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert!(flow.control.cwnd >= 64, "the exit restores: {}", flow.control.cwnd);
    let (_, windows) = acd_windows(Recovery::AcdKernel, 50_000, 3);
    assert_eq!(windows, [64, 65, 66], "no congestion: the lost packet, and growth");
}

#[test]
fn the_papers_acd_halves_the_window_once() {
    let (_, windows) = acd_windows(Recovery::AcdPaper, 90_000, 3);
    assert_eq!(windows, [32, 33, 34]);
    let (_, windows) = acd_windows(Recovery::AcdPaper, 50_000, 2);
    assert_eq!(windows, [64, 65]);
}

#[test]
fn ns3s_acd_halves_the_window_in_every_recovery_and_keeps_its_gain_at_one() {
    let (mut flow, windows) = acd_windows(Recovery::AcdNs3, 50_000, 3);
    assert_eq!(windows, [32, 30, 30], "half of what is in flight and delivered");
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
    assert_eq!(flow.control.cwnd, 64);
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert_eq!(flow.bbr.cwnd_gain, Gain::ONE);
    flow.bbr.state.mode = Mode::ProbeRtt;
    flow.bbr.update_gains();
    flow.bbr.state.mode = Mode::ProbeBw;
    flow.bbr.update_gains();
    assert_eq!(flow.bbr.cwnd_gain, Gain::new(512), "until the next state");
}

#[test]
fn ns3_conserves_packets_in_recovery_and_restores_at_its_end() {
    let mut flow = Flow::cruising(Parameters { recovery: Recovery::Ns3, ..no_allowance() }, 3);
    let saved = flow.control.cwnd;
    flow.ack(&RateSample { losses: 3, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, saved, "a loss outside of recovery changes nothing");
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.packets_out = 50;
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Recovery);
    flow.view.ca_state = CaState::Recovery;
    assert_eq!(flow.control.cwnd, 51, "from the moment it begins");
    flow.ack(&RateSample { losses: 1, prior_delivered: 0, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 51);
    flow.ack_round();
    assert!(flow.control.cwnd > 51, "conservation ends with the round that was under way: {}", flow.control.cwnd);
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
    assert!(flow.control.cwnd >= saved);
}

#[test]
fn the_first_port_to_ns3_conserves_one_ack_and_leaves_recovery_with_the_smallest_window() {
    let mut flow = Flow::cruising(Parameters { recovery: Recovery::Ns3Of2018, ..no_allowance() }, 3);
    let cruising = flow.control.cwnd;
    flow.ack(&RateSample { losses: 3, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, cruising - 2, "a loss counts outside of recovery, too");
    flow.control.ssthresh = flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.packets_out = 50;
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Recovery);
    flow.view.ca_state = CaState::Recovery;
    let mut windows = vec![];
    for _ in 0..3 {
        flow.ack(&RateSample { prior_delivered: 0, ..flow.sample(1) });
        windows.push(flow.control.cwnd);
    }
    assert_eq!(windows, [51, 52, 53]);
    // What the transport does at the end of recovery.
    flow.control.cwnd = flow.control.ssthresh;
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 4);
}

#[test]
fn an_infinite_window_wraps_around_in_ns3_when_the_pipe_is_full() {
    for (recovery, window) in [(Recovery::Ns3, 4), (Recovery::Linux, 76)] {
        let mut flow = Flow::cruising(Parameters { recovery, ..no_allowance() }, 3);
        flow.control.cwnd = Control::INFINITE_SSTHRESH;
        flow.ack_one();
        assert_eq!(flow.control.cwnd, window, "{recovery:?}");
    }
}

#[test]
fn the_phases_that_probe_bw_begins_with_can_be_given() {
    let parameters = Parameters { cycle_first_phases: vec![0, 6, 5], ..Parameters::default() };
    let mut flow = Flow::cruising(parameters, 3);
    let mut entered = vec![];
    for _ in 0..4 {
        flow.bbr.enter_probe_bw(&flow.view);
        entered.push(flow.bbr.state.phase as usize);
    }
    let from = [0, 6, 5].iter().position(|phase| *phase == entered[0]).unwrap();
    let expected: Vec<usize> = [0, 6, 5].into_iter().cycle().skip(from).take(4).collect();
    assert_eq!(entered, expected);
    let unknown = Parameters { cycle_first_phases: vec![8], ..Parameters::default() };
    assert!(crate::parameters::ParameterSet::validate(&unknown).is_err());
}

#[test]
fn a_window_that_probe_rtt_never_restores_grows_anew() {
    for (restore, back) in [(Restore::AtExit, true), (Restore::NextDelivery, true), (Restore::Never, false)] {
        let mut flow = Flow::cruising(Parameters { probe_rtt_restore: restore, ..no_allowance() }, 3);
        flow.wait(Duration::from_secs(11));
        flow.ack_one();
        flow.view.packets_out = 4;
        flow.ack_one();
        flow.wait(Duration::from_millis(300));
        flow.ack_round();
        flow.ack_one();
        assert_eq!(flow.bbr.mode(), "probe_bw");
        assert_eq!(flow.control.cwnd > 60, back, "{restore:?}: {}", flow.control.cwnd);
    }
}

#[test]
fn probe_rtt_leaves_quics_window_beneath_as_it_was() {
    let parameters = Parameters { recovery: Recovery::Quic, ..no_allowance() };
    let mut flow = Flow::cruising(parameters, 3);
    let before = flow.bbr.recovery.unbounded_cwnd;
    flow.wait(Duration::from_secs(11));
    for _ in 0..5 {
        flow.ack_one();
        assert_eq!(flow.control.cwnd, 4);
    }
    assert_eq!(flow.bbr.recovery.unbounded_cwnd, before);
}

#[test]
fn before_any_bandwidth_quics_target_is_a_multiple_of_the_initial_window() {
    for (gain_before_bandwidth, target) in [(true, 20), (false, 0)] {
        let flow = Flow::new(Parameters { gain_before_bandwidth, ..Parameters::default() });
        assert_eq!(flow.bbr.bdp(0, Gain::new(512)), target);
    }
}

#[test]
fn while_no_round_trip_is_known_the_first_rate_has_a_gain_of_its_own() {
    let parameters = Parameters {
        initial_pacing_gain: Gain::ONE,
        nominal_pacing_gain: Gain::new(512),
        nominal_rtt: Duration::from_millis(100),
        pacing_margin: Default::default(),
        ..Parameters::default()
    };
    let mut flow = Flow::new(parameters);
    flow.view.srtt_us_x8 = 0;
    flow.bbr.init(&flow.view, &mut flow.control);
    let packet_per_s = |rate: u64| (rate as f64 / 1448.0).round();
    assert_eq!(packet_per_s(flow.control.pacing_rate), 200.0, "twice ten packets in 100 ms");
    flow.view.srtt_us_x8 = 8 * 40_000;
    flow.bbr.set_pacing_rate(&flow.view, &mut flow.control, 0, Gain::ONE);
    assert_eq!(packet_per_s(flow.control.pacing_rate), 250.0, "ten packets in 40 ms");
}

#[test]
fn a_loss_keeps_dqcs_bbrplus_draining_and_the_kernels_not() {
    for (policy, next) in [(CyclePolicy::RandomLength, 2), (CyclePolicy::RandomLengthDqc, 1)] {
        let mut flow = Flow::cruising(Parameters { cycle_policy: policy, ..Parameters::default() }, 1);
        flow.bbr.cycle.length = 8;
        flow.wait(Duration::from_millis(42));
        flow.ack(&RateSample { prior_in_flight: 20, losses: 1, ..flow.sample(1) });
        assert_eq!(flow.bbr.state.phase as usize, next, "{policy:?}");
    }
}

#[test]
fn the_kernels_bbrplus_stops_probing_without_data_or_receive_window() {
    for (no_unsent_data, receive_window_full) in [(true, false), (false, true)] {
        for (policy, next) in [(CyclePolicy::RandomLength, 1), (CyclePolicy::RandomLengthDqc, 0)] {
            let mut flow = Flow::cruising(Parameters { cycle_policy: policy, ..Parameters::default() }, 0);
            flow.bbr.cycle.length = 8;
            flow.view.no_unsent_data = no_unsent_data;
            flow.view.receive_window_full = receive_window_full;
            flow.wait(Duration::from_millis(42));
            flow.ack(&RateSample { prior_in_flight: 10, ..flow.sample(1) });
            assert_eq!(flow.bbr.state.phase as usize, next, "{policy:?}");
        }
    }
}

#[test]
fn acds_budget_widens_every_target_above_one_bdp() {
    let parameters = Parameters { budget_probe_when: ProbeBudget::GainAboveOne, ..Parameters::default() };
    let flow = Flow::cruising(parameters, 3);
    assert_eq!(flow.target(), 78);
    assert_eq!(flow.bbr.inflight_target(&flow.view, &flow.control, BW, Gain::ONE), 42);
}

#[test]
fn the_operating_point_follows_the_connections_segment_size_and_highest_rate() {
    let mut flow = Flow::cruising(no_allowance(), 3);
    flow.ack_one();
    let (rate, target) = (flow.control.pacing_rate, flow.target());
    flow.view.max_pacing_rate = rate / 2;
    flow.ack_one();
    assert_eq!(flow.control.pacing_rate, rate / 2);
    flow.view.max_pacing_rate = u64::MAX;
    flow.ack_one();
    assert_eq!(flow.control.pacing_rate, rate);
    // The same packets a second in longer packets; the bursts of the budget hold as many bytes as before.
    flow.view.mss *= 4;
    flow.ack_one();
    assert!(flow.control.pacing_rate.abs_diff(4 * rate) <= 4, "{} for {rate}", flow.control.pacing_rate);
    assert_eq!(flow.target(), target, "bursts of two packets, whatever their size");
    flow.control.pacing_shift = 3;
    flow.ack_one();
    assert!(flow.target() > target);
    for _ in 0..200 {
        flow.ack_one();
    }
    assert_eq!(flow.control.cwnd, flow.target());
}
