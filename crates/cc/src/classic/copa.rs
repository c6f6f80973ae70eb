//! Copa (Arun and Balakrishnan, NSDI 2018): steers at a rate of one packet per `delta` times the queueing delay.
//!
//! The target window is the standing round-trip time over `delta` times the queueing delay. The window moves towards it
//! by `velocity / delta` packets a round, and the velocity doubles while the direction stays, so that the queue
//! oscillates around a few packets and empties every five rounds. When it does not, somebody else fills it, and `delta`
//! is led by AIMD like TCP. Used by Facebook for live video. Paced; in real numbers.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, RateSample, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Constants of [`Copa`]; the defaults are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Weight of delay against rate: `1/delta` packets are in the queue in the mean.
    #[schemars(range(min = 0.001, max = 100), extend("x-source" = "Copa, section 2: delta = 0.5"))]
    pub delta: f64,
    /// Compete with flows that fill the queue, and notice when they are gone.
    #[schemars(extend("x-source" = "Copa, section 2.2: mode switching"))]
    pub mode_switching: bool,
    /// Shortest memory of the smallest round-trip time.
    #[schemars(extend("x-source" = "Copa, section 2: 10 s"))]
    pub min_rtt_window: Duration,
    /// Round trips in the same direction after which the velocity doubles.
    #[schemars(range(min = 1, max = 100), extend("x-source" = "Copa, section 2.1: three; genericCC: 1"))]
    pub rounds_to_double: u32,
    /// Smallest window in packets.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "genericCC: 2"))]
    pub min_cwnd: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            delta: 0.5,
            mode_switching: true,
            min_rtt_window: Duration::from_secs(10),
            rounds_to_double: 3,
            min_cwnd: 2,
        }
    }
}

impl ParameterSet for Parameters {}

/// The smallest value of a moving span of time.
#[derive(Clone, Debug, Default)]
struct MovingMin {
    /// Time and value of those that may still become the smallest, both rising.
    kept: VecDeque<(u64, f64)>,
}

impl MovingMin {
    fn insert(&mut self, now: u64, value: f64, span: u64) {
        while self.kept.back().is_some_and(|&(_, last)| last >= value) {
            self.kept.pop_back();
        }
        self.kept.push_back((now, value));
        while self.kept.len() > 1 && self.kept.front().is_some_and(|&(at, _)| at + span < now) {
            self.kept.pop_front();
        }
    }

    fn get(&self) -> f64 {
        self.kept.front().map_or(f64::INFINITY, |&(_, value)| value)
    }
}

/// The Copa controller. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct Copa {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// Present value of delta: below the default when it competes.
    delta: f64,
    window: f64,
    velocity: f64,
    is_slow_start: bool,
    srtt: f64,
    min_rtt: MovingMin,
    standing: MovingMin,
    /// Smallest and (negated) largest round-trip time of four round trips.
    recent_min: MovingMin,
    recent_max: MovingMin,
    /// The present round: when it ends, the window when it began, rounds in the same direction, whether that was up.
    round_end: u64,
    round_window: f64,
    same_rounds: u32,
    was_up: bool,
    /// A loss was noticed in this round.
    has_lost: bool,
}

impl Copa {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Copa {
        let parameters = parameters.into();
        Copa {
            name: Copa::EXACT_NAME.into(),
            delta: parameters.delta,
            window: 0.0,
            velocity: 1.0,
            is_slow_start: true,
            srtt: 0.0,
            min_rtt: MovingMin::default(),
            standing: MovingMin::default(),
            recent_min: MovingMin::default(),
            recent_max: MovingMin::default(),
            round_end: 0,
            round_window: 0.0,
            same_rounds: 0,
            was_up: true,
            has_lost: false,
            parameters,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "microseconds of a connection; spans are positive and short"
    )]
    fn sample(&mut self, now: u64, rtt_us: i64) {
        let rtt = rtt_us as f64;
        self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 16.0 };
        let long = self.parameters.min_rtt_window.as_micros().max((20.0 * self.min_rtt.get().min(1e9)) as u64);
        self.min_rtt.insert(now, rtt, long);
        self.standing.insert(now, rtt, (self.srtt / 2.0) as u64);
        let four = (4.0 * self.srtt) as u64;
        self.recent_min.insert(now, rtt, four);
        self.recent_max.insert(now, -rtt, four);
    }

    /// The window at which the rate is one packet per `delta` times the queueing delay.
    fn target(&self) -> f64 {
        let queueing = self.standing.get() - self.min_rtt.get();
        if queueing <= 0.0 { f64::INFINITY } else { self.standing.get() / (self.delta * queueing) }
    }

    /// Whether the queue was nearly empty within four round trips: a tenth of the largest delay, or two packets, which
    /// is what pairs of segments and their ACKs blur. (The paper's tenth alone takes its own few packets for somebody
    /// else's on slow links.)
    fn saw_an_empty_queue(&self) -> bool {
        let least = self.min_rtt.get();
        let two_packets = 2.0 * self.standing.get() / self.window.max(1.0);
        self.recent_min.get() < least + (0.1 * (-self.recent_max.get() - least)).max(two_packets)
    }

    /// At the end of a round trip: direction, velocity, mode.
    fn end_round(&mut self, now: u64) {
        let is_up = self.window > self.round_window;
        if is_up == self.was_up && self.round_window > 0.0 {
            self.same_rounds += 1;
            if self.same_rounds >= self.parameters.rounds_to_double {
                self.velocity *= 2.0;
            }
        } else {
            self.same_rounds = 0;
            self.velocity = 1.0;
        }
        self.was_up = is_up;
        self.round_window = self.window;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a round-trip time")]
        let rtt = self.srtt as u64;
        self.round_end = now + rtt;
        self.switch_mode();
        self.has_lost = false;
    }

    fn switch_mode(&mut self) {
        if !self.parameters.mode_switching || self.saw_an_empty_queue() {
            self.delta = self.parameters.delta;
        } else if self.has_lost {
            self.delta = (2.0 * self.delta).min(self.parameters.delta);
        } else {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
    }

    fn steer(&mut self, acked: f64) {
        let target = self.target();
        if self.is_slow_start {
            if self.window < target {
                self.window += acked;
                return;
            }
            self.is_slow_start = false;
            self.velocity = 1.0;
            self.same_rounds = 0;
            self.was_up = false;
        }
        // No faster than doubling or halving in a round.
        self.velocity = self.velocity.clamp(1.0, (self.delta * self.window).max(1.0));
        let step = acked * self.velocity / (self.delta * self.window);
        self.window += if self.window < target { step } else { -step };
        self.window = self.window.max(f64::from(self.parameters.min_cwnd));
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what the types hold")]
    fn apply(&self, view: &View, control: &mut Control) {
        control.cwnd = self.window.min(f64::from(view.cwnd_clamp)) as u32;
        let standing = self.standing.get();
        if standing.is_finite() && standing > 0.0 {
            let rate = 2.0 * self.window * f64::from(view.mss) * 1e6 / standing;
            control.pacing_rate = (rate as u64).clamp(1, view.max_pacing_rate);
        }
    }
}

impl Algorithm for Copa {
    type Parameters = Parameters;
    const NAME: &str = "copa";
    const EXACT_NAME: &str = "copa-nsdi18";
    const SUMMARY: &str =
        "Copa: a few packets of queue, emptied every five rounds, and competitive where others fill it; for live video";
    const SOURCE: &str = "Arun and Balakrishnan, Copa, NSDI 2018; genericCC";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Copa {
        Copa { name: exact_name, ..Copa::new(parameters) }
    }
}

impl Controller for Copa {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.window = f64::from(control.cwnd);
        if view.srtt_us_x8 > 0 {
            self.sample(view.mstamp_us, i64::from(view.srtt_us_x8 / 8));
        }
        self.apply(view, control);
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn wants_pacing(&self) -> bool {
        true
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        // Losses do not move the window.
        control.cwnd.max(2)
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        if sample.rtt_us > 0 {
            self.sample(view.mstamp_us, sample.rtt_us);
        }
        if view.mstamp_us >= self.round_end && self.srtt > 0.0 {
            self.end_round(view.mstamp_us);
        }
        let grows = self.window < self.target();
        if sample.acked_sacked > 0 && (!grows || view.is_cwnd_limited(control) || view.paced) {
            self.steer(f64::from(sample.acked_sacked));
        }
        self.apply(view, control);
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, next: CaState) {
        self.has_lost |= matches!(next, CaState::Recovery | CaState::Loss);
    }

    fn event(&mut self, _view: &View, _control: &mut Control, event: Event) {
        if event == Event::Loss {
            self.window = f64::from(self.parameters.min_cwnd);
            self.velocity = 1.0;
            self.is_slow_start = false;
        }
    }

    fn undo_cwnd(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd
    }

    fn mode(&self) -> &'static str {
        match () {
            () if self.is_slow_start => "slow start",
            () if self.delta < self.parameters.delta => "competitive",
            () => "default",
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["delta", "velocity", "min_rtt_ms", "standing_rtt_ms"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let ms = |us: f64| if us.is_finite() { us * 1e-3 } else { f64::NAN };
        values.copy_from_slice(&[self.delta, self.velocity, ms(self.min_rtt.get()), ms(self.standing.get())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moving_minimum_forgets_what_is_older_than_its_span() {
        let mut least = MovingMin::default();
        for (at, value) in [(0, 5.0), (10, 3.0), (20, 4.0), (30, 6.0)] {
            least.insert(at, value, 15);
        }
        assert_eq!(least.get(), 4.0);
        least.insert(100, 9.0, 15);
        assert_eq!(least.get(), 9.0);
    }

    #[test]
    fn the_target_is_the_standing_time_over_delta_times_the_queueing_delay() {
        let mut copa = Copa::new(Parameters::default());
        copa.sample(0, 50_000);
        assert_eq!(copa.target(), f64::INFINITY);
        for at in 1..=10 {
            copa.sample(at * 10_000, 60_000);
        }
        assert!((copa.target() - 60_000.0 / (0.5 * 10_000.0)).abs() < 1e-9, "{}", copa.target());
    }

    #[test]
    fn the_velocity_doubles_after_three_rounds_in_the_same_direction_and_a_turn_resets_it() {
        let mut copa = Copa::new(Parameters::default());
        copa.srtt = 1_000.0;
        let mut velocities = Vec::new();
        for window in [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 14.0, 13.0] {
            copa.window = window;
            copa.end_round(0);
            velocities.push(copa.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0]);
    }

    #[test]
    fn without_an_empty_queue_it_competes_and_a_loss_halves_its_weight() {
        let mut copa = Copa::new(Parameters::default());
        copa.window = 100.0;
        copa.sample(0, 50_000);
        for at in 1..=40 {
            copa.sample(at * 20_000, 100_000 + 100 * i64::try_from(at).unwrap());
        }
        for expected in [3.0, 4.0, 5.0] {
            copa.switch_mode();
            assert!((1.0 / copa.delta - expected).abs() < 1e-9);
        }
        copa.has_lost = true;
        copa.switch_mode();
        assert!((1.0 / copa.delta - 2.5).abs() < 1e-9);
        copa.sample(900_000, 50_000);
        copa.switch_mode();
        assert_eq!(copa.delta, 0.5);
    }

    #[test]
    fn slow_start_ends_where_the_window_meets_its_target() {
        let mut copa = Copa::new(Parameters::default());
        copa.sample(0, 50_000);
        copa.sample(10_000, 60_000);
        copa.standing = MovingMin::default();
        copa.standing.insert(10_000, 60_000.0, 1);
        // 60 ms over half of 10 ms of queue.
        assert_eq!(copa.target(), 12.0);
        copa.window = 11.0;
        copa.steer(1.0);
        assert!(copa.is_slow_start && copa.window == 12.0);
        copa.steer(1.0);
        assert!(!copa.is_slow_start);
        // At the target it goes down, by a packet over delta times the window.
        assert_eq!(copa.window, 12.0 - 1.0 / (0.5 * 12.0));
    }

    #[test]
    fn without_a_round_trip_time_there_is_no_pacing_rate() {
        let mut copa = Copa::new(Parameters::default());
        let mut control = Control::default();
        copa.init(&View::new(1_000), &mut control);
        assert_eq!((control.cwnd, control.pacing_rate), (Control::INITIAL_CWND, 0));
        // One below a microsecond is none either.
        let mut quick = Copa::new(Parameters::default());
        quick.init(&View { srtt_us_x8: 7, ..View::new(1_000) }, &mut control);
        assert_eq!(control.pacing_rate, 0);
        // Twice ten packets of 1000 bytes in 50 ms.
        copa.init(&View { srtt_us_x8: 8 * 50_000, ..View::new(1_000) }, &mut control);
        assert_eq!(control.pacing_rate, 400_000);
    }
}
