//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control; L4S, RFC 9330 to 9332): DCTCP for the Internet.
//!
//! `alpha` follows the share of marked packets, and a virtual round with marks loses `alpha / 2` of the window. Only
//! packets without a mark let the window grow, in every round, since marks are never far away. Rounds are at least 25
//! ms long and the growth is as slow as on such a path, so that short paths do not push long ones aside. Losses halve.
//! For queues that mark shallowly (DualPI2, step marking). Packets carry ECT(1), and marks are counted (AccECN over
//! TCP, the counts of ACK frames over QUIC).
//!
//! A queue that marks at a deep threshold treats it as Reno, which reduces by far more. `classic_fallback` looks for
//! such a queue: in each round with marks a score rises with the variation of the round-trip time and with the queue's
//! delay, and falls where both are small ("TCP Prague fall-back on detection of a classic ECN AQM", arXiv:1911.00710).
//! From 0 to 1 the reduction goes over from `alpha / 2` to a half.

use super::arithmetic::smoothed_us;
use super::fraction::Fraction;
use dumbbell_cc_contract::parameters::{Fixed, ParameterSet};
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, EcnMode, Event, Hooks, RateSample, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Prague`]; the defaults are the draft's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Weight of a round in `alpha`.
    #[schemars(range(max = 1), extend("x-source" = "draft-briscoe-iccrg-prague, section 2.4.2: g = 1/16"))]
    pub gain: Fixed<1024>,
    /// Shortest round: paths with shorter round trips grow and reduce as one of this length.
    #[schemars(extend("x-at-most" = "10s", "x-source" = "draft-briscoe-iccrg-prague, section 2.4.4: 25 ms"))]
    pub min_virtual_rtt: Duration,
    /// Smallest window in packets.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "2 segments where fractions are not supported"))]
    pub min_cwnd: u32,
    /// Reduce as Reno where round-trip times show that the queue marks at a deep threshold.
    #[schemars(extend("x-source" = "arXiv:1911.00710; off in the draft's reference code, too"))]
    pub classic_fallback: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            gain: Fixed::new(64),
            min_virtual_rtt: Duration::from_millis(25),
            min_cwnd: 2,
            classic_fallback: false,
        }
    }
}

impl ParameterSet for Parameters {}

/// A burst is at most 2^-12 s, which is 244 us, of the pacing rate (section 2.4.5).
const PACING_SHIFT: u32 = 12;

/// Whether the bottleneck marks as classic queues do.
#[derive(Clone, Debug, Default)]
struct ClassicQueue {
    /// Above 0 it probably does, from 1 on it is taken to.
    score: f64,
    /// Mean deviation of round-trip times.
    deviation_us: f64,
}

impl ClassicQueue {
    /// Deviation and delay at which the score stays.
    const DEVIATION_US: f64 = 750.0;
    const DELAY_US: f64 = 2_000.0;
    /// The least share of that delay that counts.
    const LEAST_DELAY: f64 = 0.25;
    /// How far the score can go, so that a changed path is noticed again.
    const MOST: f64 = 16.0;

    #[expect(clippy::cast_precision_loss, reason = "round-trip times in microseconds")]
    fn take_rtt(&mut self, view: &View, rtt_us: i64) {
        if rtt_us > 0 && view.srtt_us_x8 > 0 {
            let error_us = (rtt_us as f64 - f64::from(view.srtt_us_x8) / 8.0).abs();
            self.deviation_us += (error_us - self.deviation_us) / 4.0;
        }
    }

    /// A round with marks ends.
    fn end_round(&mut self, view: &View) {
        let delay_us = f64::from(view.srtt_us_x8) / 8.0 - f64::from(view.min_rtt_us);
        let variation = (self.deviation_us.max(1.0) / ClassicQueue::DEVIATION_US).log2();
        let delay = (delay_us / ClassicQueue::DELAY_US).max(ClassicQueue::LEAST_DELAY).log2();
        let score = self.score + (variation + delay) / 2.0;
        self.score = score.clamp(-ClassicQueue::MOST, ClassicQueue::MOST);
    }

    /// How much of Reno's reduction is due: none, a part or all.
    fn share(&self) -> f64 {
        self.score.clamp(0.0, 1.0)
    }
}

/// The Prague controller. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct Prague {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    alpha: f64,
    fraction: Fraction,
    /// The virtual round: its end, `delivered` and `delivered_ce` when it began.
    round_end: u64,
    delivered: u64,
    delivered_ce: u64,
    /// `delivered_ce` at the ACK before.
    seen_ce: u64,
    /// Until when another reduction belongs to the last one, and the window before that.
    reduced_until: u64,
    before: f64,
    classic: ClassicQueue,
}

impl Prague {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Prague {
        Prague {
            name: Prague::EXACT_NAME.into(),
            parameters: parameters.into(),
            alpha: 1.0,
            fraction: Fraction::default(),
            round_end: 0,
            delivered: 0,
            delivered_ce: 0,
            seen_ce: 0,
            reduced_until: 0,
            before: 0.0,
            classic: ClassicQueue::default(),
        }
    }

    fn virtual_rtt_us(&self, view: &View) -> u64 {
        smoothed_us(view).max(self.parameters.min_virtual_rtt.as_micros())
    }

    #[expect(clippy::cast_precision_loss, reason = "packets of a round")]
    fn end_round(&mut self, view: &View) {
        let delivered = view.delivered - self.delivered;
        if delivered > 0 {
            let share = (view.delivered_ce - self.delivered_ce) as f64 / delivered as f64;
            self.alpha += self.parameters.gain.as_f64() * (share.min(1.0) - self.alpha);
            if self.parameters.classic_fallback && share > 0.0 {
                self.classic.end_round(view);
            }
        }
        self.begin_round(view);
    }

    fn begin_round(&mut self, view: &View) {
        self.round_end = view.mstamp_us + self.virtual_rtt_us(view);
        self.delivered = view.delivered;
        self.delivered_ce = view.delivered_ce;
    }

    fn reduce_to(&mut self, view: &View, control: &mut Control, window: f64) {
        let change = window - self.fraction.window(control);
        self.fraction.change(control, change.min(0.0), self.parameters.min_cwnd, view.cwnd_clamp);
        control.ssthresh = control.cwnd;
    }

    /// Marks: at most one reduction in a virtual round.
    fn on_marks(&mut self, view: &View, control: &mut Control) {
        if view.mstamp_us < self.reduced_until {
            return;
        }
        let window = self.fraction.window(control);
        self.before = window;
        self.reduced_until = view.mstamp_us + self.virtual_rtt_us(view);
        let lost = self.alpha.max(self.classic.share()) / 2.0;
        self.reduce_to(view, control, window * (1.0 - lost));
    }

    /// A loss halves the window, and what marks took of it in the same round counts.
    fn on_loss(&mut self, view: &View, control: &mut Control) {
        let window = self.fraction.window(control);
        let start = if view.mstamp_us < self.reduced_until { self.before } else { window };
        self.before = start;
        self.reduced_until = view.mstamp_us + self.virtual_rtt_us(view);
        self.reduce_to(view, control, start / 2.0);
    }

    /// Grows for `acked` packets without a mark.
    #[expect(clippy::cast_precision_loss, reason = "round-trip times in microseconds")]
    fn grow(&mut self, view: &View, control: &mut Control, acked: u32) {
        if acked == 0 || !view.is_cwnd_limited(control) {
            return;
        }
        let acked = control.slow_start_if_below(view, acked);
        if acked > 0 {
            let share = smoothed_us(view) as f64 / self.virtual_rtt_us(view) as f64;
            let change = f64::from(acked) * share * share / self.fraction.window(control);
            self.fraction.change(control, change, self.parameters.min_cwnd, view.cwnd_clamp);
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what the rate holds")]
    fn pace(&self, view: &View, control: &mut Control) {
        if view.srtt_us_x8 > 0 {
            let gain = if control.in_slow_start() { 2.0 } else { 1.0 };
            let srtt_s = f64::from(view.srtt_us_x8) / 8e6;
            let rate = gain * self.fraction.window(control) * f64::from(view.mss) / srtt_s;
            control.pacing_rate = (rate as u64).clamp(1, view.max_pacing_rate);
        }
    }
}

impl Algorithm for Prague {
    type Parameters = Parameters;
    const NAME: &str = "prague";
    const EXACT_NAME: &str = "prague-draft-04";
    const SUMMARY: &str =
        "TCP Prague: DCTCP for the Internet, paced and blind to short round trips; for L4S queues that mark shallowly";
    const SOURCE: &str = "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Prague {
        Prague { name: exact_name, ..Prague::new(parameters) }
    }
}

impl Controller for Prague {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.begin_round(view);
        self.seen_ce = view.delivered_ce;
        control.pacing_shift = PACING_SHIFT;
        self.pace(view, control);
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks { min_tso_segs: true, ..Hooks::NONE }
    }

    fn wants_pacing(&self) -> bool {
        true
    }

    fn ecn(&self) -> EcnMode {
        EcnMode::L4s
    }

    /// A burst of two packets would be marked for its own length where a packet takes as long as the threshold.
    fn min_tso_segs(&self, _view: &View, _control: &Control) -> u32 {
        1
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        // Reductions are its own.
        control.ssthresh
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let marks = u32::try_from(view.delivered_ce - self.seen_ce).unwrap_or(u32::MAX);
        self.seen_ce = view.delivered_ce;
        if self.parameters.classic_fallback {
            self.classic.take_rtt(view, sample.rtt_us);
        }
        if view.mstamp_us >= self.round_end {
            self.end_round(view);
        }
        if marks > 0 {
            self.on_marks(view, control);
        }
        if matches!(view.ca_state, CaState::Open | CaState::Disorder | CaState::Cwr) || control.in_slow_start() {
            self.grow(view, control, sample.acked_sacked.saturating_sub(marks));
        }
        self.pace(view, control);
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        if next == CaState::Recovery && view.ca_state < CaState::Recovery {
            self.on_loss(view, control);
        }
    }

    fn event(&mut self, _view: &View, control: &mut Control, event: Event) {
        if event == Event::Loss {
            control.ssthresh = control.half();
            self.fraction = Fraction::default();
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec![Cow::Borrowed("alpha"), Cow::Borrowed("classic_score")]
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values.copy_from_slice(&[self.alpha, self.classic.score]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;

    /// In congestion avoidance with this window on a path with this round-trip time.
    fn begun(cwnd: u32, rtt_us: u32) -> (Prague, Side) {
        let mut prague = Prague::new(Parameters::default());
        let mut c = Side::limited(cwnd, 2);
        c.at(Duration::from_secs(1));
        c.view.srtt_us_x8 = 8 * rtt_us;
        prague.init(&c.view, &mut c.control);
        (prague, c)
    }

    /// A round trip in which the window is acknowledged, with so many marks on its last packets.
    fn round(prague: &mut Prague, c: &mut Side, marked: u32) {
        c.pass(Duration::from_micros(u64::from(c.view.srtt_us_x8 / 8)));
        let cwnd = c.control.cwnd;
        for n in 0..cwnd {
            c.view.delivered += 1;
            c.view.delivered_ce += u64::from(n + marked >= cwnd);
            let sample = RateSample { acked_sacked: 1, ..RateSample::default() };
            prague.cong_control(&c.view, &mut c.control, &sample);
        }
    }

    #[test]
    fn a_path_of_25_ms_and_more_grows_by_a_packet_a_round_and_shorter_ones_by_the_square_of_their_share() {
        for (rtt_us, growth) in [(50_000, 10.0), (25_000, 10.0), (5_000, 0.4)] {
            let (mut prague, mut c) = begun(50, rtt_us);
            for _ in 0..10 {
                round(&mut prague, &mut c, 0);
            }
            let grown = prague.fraction.window(&c.control) - 50.0;
            assert!((grown - growth).abs() < 0.1 * growth, "{rtt_us} us: {grown}, expected {growth}");
        }
    }

    #[test]
    fn a_round_with_marks_loses_half_of_alpha_once() {
        let (mut prague, mut c) = begun(100, 30_000);
        prague.alpha = 0.2;
        round(&mut prague, &mut c, 40);
        assert!((89..=91).contains(&c.control.cwnd), "{}", c.control.cwnd);
        assert!(!c.control.in_slow_start());
    }

    #[test]
    fn alpha_moves_by_a_sixteenth_of_the_way_to_the_share_of_marks() {
        let (mut prague, mut c) = begun(100, 30_000);
        for _ in 0..100 {
            c.control.cwnd = 100;
            round(&mut prague, &mut c, 25);
        }
        assert!((prague.alpha - 0.25).abs() < 0.02, "{}", prague.alpha);
    }

    #[test]
    fn one_mark_a_round_lets_alpha_settle_at_the_order_of_two_over_the_window() {
        let (mut prague, mut c) = begun(100, 30_000);
        for _ in 0..2_000 {
            round(&mut prague, &mut c, 1);
        }
        let ratio = prague.alpha * prague.fraction.window(&c.control);
        assert!((0.7..=2.5).contains(&ratio), "alpha {} at {} packets", prague.alpha, c.control.cwnd);
    }

    /// Packets a round trip where each packet is marked with this probability.
    fn mean_window_at(share: f64, rtt_us: u32, begin: u32) -> f64 {
        let (mut prague, mut c) = begun(begin, rtt_us);
        prague.alpha = share;
        let mut rng = Rng::new(11);
        let packets = 400_000;
        let begin_us = c.view.mstamp_us;
        for _ in 0..packets {
            c.pass(Duration::from_nanos(u64::from(rtt_us) * 1_000 / u64::from(c.control.cwnd)));
            c.view.delivered += 1;
            c.view.delivered_ce += u64::from(rng.uniform() < share);
            let sample = RateSample { acked_sacked: 1, ..RateSample::default() };
            prague.cong_control(&c.view, &mut c.control, &sample);
        }
        f64::from(packets) * f64::from(rtt_us) / (c.view.mstamp_us - begin_us) as f64
    }

    /// A reduction waits for the first mark behind the round of the last one. With n marks a round that is 1 / n of a
    /// round more, in which the window grows on: (1 - p)(1 + 1/n) = n / 2, and not n = 2.
    #[test]
    fn under_random_marks_its_window_is_up_to_one_and_the_root_of_three_over_their_share() {
        // In windows of few packets whole packets matter, too.
        for (share, begin) in [(0.01, 250), (0.02, 120), (0.05, 50)] {
            let unmarked = 1.0 - share;
            let expected = (unmarked + f64::sqrt(unmarked * unmarked + 2.0 * unmarked)) / share;
            let window = mean_window_at(share, 50_000, begin);
            assert!((window / expected - 1.0).abs() < 0.06, "{share}: {window}, expected {expected}");
        }
    }

    #[test]
    fn a_loss_halves_and_what_marks_took_in_the_same_round_counts() {
        let (mut prague, mut c) = begun(100, 30_000);
        prague.alpha = 0.2;
        prague.on_marks(&c.view, &mut c.control);
        assert_eq!(c.control.cwnd, 90);
        prague.set_state(&c.view, &mut c.control, CaState::Recovery);
        assert_eq!(c.control.cwnd, 50);
        c.pass(Duration::from_secs(1));
        prague.set_state(&c.view, &mut c.control, CaState::Recovery);
        assert_eq!(c.control.cwnd, 25);
    }

    /// The window after a mark of a flow that has seen 20 rounds with a mark each, at these round-trip times in turn.
    fn after_a_mark(classic_fallback: bool, rtts_ms: &[u32]) -> u32 {
        let (mut prague, mut c) = begun(100, 20_000);
        prague.parameters = Parameters { classic_fallback, ..Parameters::default() }.into();
        c.view.min_rtt_us = 20_000;
        for n in 0..2_000 {
            let rtt_us = 1_000 * rtts_ms[n / 50 % rtts_ms.len()];
            c.view.srtt_us_x8 = c.view.srtt_us_x8 / 8 * 7 + rtt_us;
            c.pass(Duration::from_micros(u64::from(rtt_us) / 50));
            c.view.delivered += 1;
            c.view.delivered_ce += u64::from(n % 100 == 0);
            prague.cong_control(
                &c.view,
                &mut c.control,
                &RateSample { rtt_us: i64::from(rtt_us), ..RateSample::default() },
            );
        }
        c.control.cwnd = 100;
        prague.alpha = 0.1;
        prague.reduced_until = 0;
        prague.on_marks(&c.view, &mut c.control);
        c.control.cwnd
    }

    #[test]
    fn where_round_trips_vary_as_behind_a_classic_queue_the_fall_back_halves() {
        let (deep, shallow) = ([22, 28, 36, 30], [20, 20, 21, 20]);
        assert_eq!((after_a_mark(false, &deep), after_a_mark(true, &deep)), (95, 50));
        assert_eq!(after_a_mark(true, &shallow), 95);
    }

    #[test]
    fn it_is_paced_by_window_over_round_trip_time_and_twice_that_in_slow_start() {
        let (prague, mut c) = begun(100, 50_000);
        prague.pace(&c.view, &mut c.control);
        assert_eq!(c.control.pacing_rate, 100 * 1448 * 20);
        c.control.ssthresh = Control::INFINITE_SSTHRESH;
        prague.pace(&c.view, &mut c.control);
        assert_eq!(c.control.pacing_rate, 2 * 100 * 1448 * 20);
    }

    #[test]
    fn two_losses_within_a_round_trip_halve_the_window_once_and_a_later_one_again() {
        let (mut prague, mut c) = begun(100, 30_000);
        prague.on_loss(&c.view, &mut c.control);
        assert_eq!((c.control.cwnd, c.control.ssthresh), (50, 50));
        // A round trip of 30 ms is over after 30 ms, not before.
        c.pass(Duration::from_micros(29_999));
        prague.on_loss(&c.view, &mut c.control);
        assert_eq!(c.control.cwnd, 50);
        c.pass(Duration::from_micros(30_000));
        prague.on_loss(&c.view, &mut c.control);
        assert_eq!(c.control.cwnd, 25);
    }

    #[test]
    fn the_deviation_moves_by_a_quarter_and_only_by_times_that_are_known() {
        let (_, c) = begun(100, 30_000);
        let mut queue = ClassicQueue::default();
        queue.take_rtt(&c.view, 34_000);
        assert_eq!(queue.deviation_us, 1_000.0);
        queue.take_rtt(&c.view, 0);
        queue.take_rtt(&c.view, -1);
        queue.take_rtt(&View { srtt_us_x8: 0, ..c.view.clone() }, 34_000);
        assert_eq!(queue.deviation_us, 1_000.0);
        queue.take_rtt(&c.view, 29_000);
        assert_eq!(queue.deviation_us, 1_000.0);
        queue.take_rtt(&c.view, 30_000);
        assert_eq!(queue.deviation_us, 750.0);
    }
}
