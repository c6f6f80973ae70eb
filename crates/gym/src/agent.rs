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
