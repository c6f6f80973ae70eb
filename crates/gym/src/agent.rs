//! The controller of an agent: it does what somebody outside says, and keeps to it until somebody says something else.

use crate::GymError;
use crate::monitor::{Interval, Monitor};
use crate::spec::Spec;
use dumbbell_cc::{Control, Controller, Hooks, RateSample, View};
use dumbbell_units::Time;
use std::sync::Arc;

/// What an action moves, and how far. Actions lie between -1 and 1, and others count as these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lever {
    /// The pacing rate: an action a ≥ 0 multiplies it by 1 + scale × a, one below 0 divides it by 1 − scale × a (Jay et
    /// al., ICML 2019, section 4.1, where actions have no bounds and the scale is 0.025).
    Rate {
        /// How far an action of 1 moves it.
        scale: f64,
    },
    /// The window: an action a multiplies it by 2^(scale × a) (Abbasloo et al., SIGCOMM 2020, section 4.2).
    Window {
        /// The exponent of an action of 1.
        scale: f64,
    },
}

/// Slowest and fastest rate in bytes a second: a packet a second, and more than any link.
const RATES: (f64, f64) = (1_500.0, 1.25e13);
/// Below so many bytes a second packets leave one by one, as Linux's BBR has it (`bbr_min_tso_rate`, 1.2 Mbit/s).
const LOW_RATE: u64 = 150_000;
/// Smallest and largest window in packets.
const WINDOWS: (f64, f64) = (2.0, 1e6);

/// The largest scale.
const MOST_SCALE: f64 = 8.0;

impl Lever {
    pub(crate) fn read(action: &str, scale: Option<f64>) -> Result<Lever, GymError> {
        let in_range = |scale: f64| {
            if scale > 0.0 && scale <= MOST_SCALE {
                return Ok(scale);
            }
            Err(GymError::Refused(format!(
                "scale = {scale} is not possible; it is more than 0, and at most {MOST_SCALE}"
            )))
        };
        match action {
            "rate" => Ok(Lever::Rate { scale: in_range(scale.unwrap_or(0.25))? }),
            "window" => Ok(Lever::Window { scale: in_range(scale.unwrap_or(2.0))? }),
            _ => Err(GymError::Refused(format!("action = `{action}` is not possible; write `rate` or `window`"))),
        }
    }

    pub(crate) fn moves_rate(self) -> bool {
        matches!(self, Lever::Rate { .. })
    }

    /// The factor of an action.
    fn factor(self, action: f64) -> f64 {
        let action = action.clamp(-1.0, 1.0);
        match self {
            Lever::Rate { scale } => {
                let step = scale * action;
                if step >= 0.0 { 1.0 + step } else { 1.0 / (1.0 - step) }
            }
            Lever::Window { scale } => libm::exp2(scale * action),
        }
    }
}

/// A controller that is told what to do.
#[derive(Clone, Debug)]
pub struct Agent {
    name: Arc<str>,
    lever: Lever,
    start_rate: Option<u64>,
    /// Rate in bytes a second, or window in packets, as fine as actions make it; 0 before there is a connection.
    level: f64,
    monitor: Monitor,
}

impl Agent {
    /// One that sees and does what `spec` says, and answers with `name`.
    pub fn new(spec: &Spec, name: Arc<str>) -> Agent {
        let Spec { lever, start_rate, .. } = *spec;
        Agent { name, lever, start_rate, level: 0.0, monitor: Monitor::default() }
    }

    /// Does something: it holds from now on.
    pub fn act(&mut self, view: &View, control: &mut Control, action: f64) {
        let (least, most) = if self.lever.moves_rate() { RATES } else { WINDOWS };
        self.level = (self.level * self.lever.factor(action)).clamp(least, most);
        self.apply(view, control);
    }

    /// The interval ends at `now`: what was seen in it.
    pub fn end_interval(&mut self, now: Time, view: &View, control: &Control) -> Interval {
        self.monitor.end(now, view, control)
    }

    /// When the present interval began.
    pub fn interval_begun(&self) -> Time {
        self.monitor.begun()
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "levels lie within their bounds")]
    fn apply(&self, view: &View, control: &mut Control) {
        if self.lever.moves_rate() {
            control.pacing_rate = (self.level as u64).min(view.max_pacing_rate);
            control.cwnd = (WINDOWS.1 as u32).min(view.cwnd_clamp);
        } else {
            control.cwnd = (self.level as u32).min(view.cwnd_clamp);
        }
    }
}

impl Controller for Agent {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        let window = f64::from(control.cwnd);
        self.level = if self.lever.moves_rate() {
            let rtt_s = f64::from(view.srtt_us_x8.max(8)) / 8e6;
            self.start_rate.map_or(window * f64::from(view.mss) / rtt_s, |rate| rate as f64).clamp(RATES.0, RATES.1)
        } else {
            window
        };
        self.monitor.begin(view);
        self.apply(view, control);
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks { min_tso_segs: true, ..Hooks::NONE }
    }

    fn wants_pacing(&self) -> bool {
        self.lever.moves_rate()
    }

    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        control.ssthresh
    }

    #[inline]
    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        self.monitor.note(view, sample);
        self.apply(view, control);
    }

    fn min_tso_segs(&self, _: &View, control: &Control) -> u32 {
        if self.lever.moves_rate() && control.pacing_rate < LOW_RATE { 1 } else { Hooks::MIN_TSO_SEGS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Duration;

    /// An agent whose connection has just been made, with a window of 10 packets of 1,250 bytes and 40 ms.
    fn connected(keys: &str) -> (Agent, View, Control) {
        let spec = format!(r#"{{{keys}, "interval": "1rtt", "observation": "aurora", "reward": "aurora"}}"#);
        let mut agent = Agent::new(&Spec::read(&spec).unwrap(), "agent".into());
        let view = View { now: Time::ZERO + Duration::from_millis(40), srtt_us_x8: 8 * 40_000, ..View::new(1_250) };
        let mut control = Control { pacing_rate: 77, ..Control::default() };
        agent.init(&view, &mut control);
        (agent, view, control)
    }

    const RATE: &str = r#""action": "rate", "scale": 0.5"#;
    const WINDOW: &str = r#""action": "window""#;

    #[test]
    fn an_agent_of_rates_begins_with_a_window_a_round_trip_or_where_it_is_told() {
        // 12,500 bytes in 40 ms.
        assert_eq!(connected(RATE).2.pacing_rate, 312_500);
        let told = format!(r#"{RATE}, "start_rate": "8mbit""#);
        assert_eq!(connected(&told).2.pacing_rate, 1_000_000);
        let slow = format!(r#"{RATE}, "start_rate": "8bit""#);
        assert_eq!(connected(&slow).2.pacing_rate, 1_500, "a packet a second at least");
        assert_eq!(connected(RATE).2.cwnd, 1_000_000, "the window does not hold it back");
    }

    #[test]
    fn steps_up_and_down_of_a_rate_take_each_other_back() {
        let (mut agent, view, mut control) = connected(RATE);
        agent.act(&view, &mut control, 1.0);
        assert_eq!(control.pacing_rate, 468_750);
        agent.act(&view, &mut control, -1.0);
        assert_eq!(control.pacing_rate, 312_500);
        agent.act(&view, &mut control, -0.5);
        assert_eq!(control.pacing_rate, 250_000);
        agent.act(&view, &mut control, 0.0);
        assert_eq!(control.pacing_rate, 250_000);
        agent.act(&view, &mut control, 9.0);
        assert_eq!(control.pacing_rate, 375_000, "more than 1 counts as 1");
    }

    #[test]
    fn an_action_moves_the_window_by_a_power_of_two_and_leaves_the_rate_alone() {
        let (mut agent, view, mut control) = connected(WINDOW);
        assert_eq!((control.cwnd, control.pacing_rate), (10, 77));
        agent.act(&view, &mut control, 1.0);
        assert_eq!(control.cwnd, 40, "the scale is 2 where none is given");
        agent.act(&view, &mut control, -0.5);
        assert_eq!(control.cwnd, 20);
        (0..9).for_each(|_| agent.act(&view, &mut control, -1.0));
        assert_eq!((control.cwnd, control.pacing_rate), (2, 77));
    }

    #[test]
    fn an_agent_keeps_within_the_bounds_of_its_connection_and_to_what_it_said_last() {
        let (mut agent, view, mut control) = connected(RATE);
        let bounded = View { max_pacing_rate: 200_000, cwnd_clamp: 50, ..view.clone() };
        control.pacing_rate = 1;
        agent.cong_control(&bounded, &mut control, &RateSample::invalid());
        assert_eq!((control.pacing_rate, control.cwnd), (200_000, 50));
        let (mut agent, view, mut control) = connected(WINDOW);
        control.cwnd = 1;
        agent.cong_control(&view, &mut control, &RateSample::invalid());
        assert_eq!(control.cwnd, 10);
        agent.cong_control(&View { cwnd_clamp: 7, ..view.clone() }, &mut control, &RateSample::invalid());
        assert_eq!(control.cwnd, 7);
        assert_eq!(agent.end_interval(view.now, &view, &control).acks, 2.0, "it has seen both ACKs");
    }

    #[test]
    fn slow_agents_of_rates_send_packets_one_by_one() {
        let least = |keys: &str, pacing_rate| {
            let (agent, view, control) = connected(keys);
            agent.min_tso_segs(&view, &Control { pacing_rate, ..control })
        };
        assert_eq!((least(RATE, 149_999), least(RATE, 150_000), least(WINDOW, 0)), (1, 2, 2));
    }

    #[test]
    fn an_agent_governs_alone_and_has_no_threshold_of_its_own() {
        let (mut agent, view, control) = connected(RATE);
        assert!(agent.full_control() && agent.wants_pacing() && !connected(WINDOW).0.wants_pacing());
        assert_eq!((agent.algorithm(), agent.interval_begun()), ("agent", view.now));
        assert_eq!(agent.ssthresh(&view, &Control { ssthresh: 33, ..control }), 33);
    }

    #[test]
    fn scales_are_more_than_zero_and_at_most_eight() {
        let read = |scale| Lever::read("rate", scale).ok();
        for scale in [8.0, 1e-9] {
            assert_eq!(read(Some(scale)), Some(Lever::Rate { scale }));
        }
        assert!([0.0, -1.0, 8.001, f64::NAN].into_iter().all(|scale| read(Some(scale)).is_none()));
        assert_eq!(read(None), Some(Lever::Rate { scale: 0.25 }));
        assert!(Lever::read("cwnd", None).unwrap_err().to_string().contains("`rate` or `window`"));
    }
}
