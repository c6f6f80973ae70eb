//! What an agent sees, earns and does, as it is asked for: a JSON object.

use crate::GymError;
use crate::agent::Lever;
use crate::feature::Feature;
use crate::monitor::Interval;
use crate::reward::Reward;
use dumbbell_cc::View;
use dumbbell_parameters::nearest;
use dumbbell_units::{Duration, Rate};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Length of a monitor interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// Always so long.
    Time(Duration),
    /// So many round trips, as they are when it begins.
    RoundTrips(f64),
    /// So many of the shortest round trips so far.
    ShortestRoundTrips(f64),
}

/// The shortest monitor interval.
const SHORTEST: Duration = Duration::from_micros(10);
/// No observation is larger.
const MOST_SEEN: f64 = 1e9;
/// The most intervals that an agent may remember.
const MOST_HISTORY: usize = 1_000;

impl Span {
    fn read(text: &str) -> Result<Span, GymError> {
        let wrong = || {
            GymError::Refused(format!(
                "interval = {text:?} is no length of a monitor interval; write round trips such as \"1rtt\" or \"1min_rtt\", \
                 or a time such as \"20ms\""
            ))
        };
        type Trips = fn(f64) -> Span;
        for (unit, span) in [("min_rtt", Span::ShortestRoundTrips as Trips), ("rtt", Span::RoundTrips)] {
            if let Some(number) = text.trim().strip_suffix(unit) {
                let number: f64 = number.trim().parse().map_err(|_| wrong())?;
                return if number > 0.0 && number <= 1_000.0 { Ok(span(number)) } else { Err(wrong()) };
            }
        }
        let time: Duration = text.parse().map_err(|_| wrong())?;
        if time >= SHORTEST { Ok(Span::Time(time)) } else { Err(wrong()) }
    }

    /// Its length for a connection.
    pub fn length(self, view: &View) -> Duration {
        let srtt_us = f64::from(view.srtt_us_x8) / 8.0;
        let us = match self {
            Span::Time(time) => return time,
            Span::RoundTrips(number) => srtt_us * number,
            Span::ShortestRoundTrips(number) if view.min_rtt_us == View::UNKNOWN_RTT => srtt_us * number,
            Span::ShortestRoundTrips(number) => f64::from(view.min_rtt_us) * number,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1000 times 32 bits")]
        Duration::from_nanos((us * 1e3) as u64).max(SHORTEST)
    }
}

/// What an agent sees, earns and does.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// How long a monitor interval is.
    pub interval: Span,
    /// What an action moves.
    pub lever: Lever,
    /// The rate at which it begins, in bytes a second; `None` is an initial window a round trip.
    pub start_rate: Option<u64>,
    /// What it sees of an interval.
    pub observation: Vec<Feature>,
    /// Of how many intervals.
    pub history: usize,
    /// What it earns.
    pub reward: Reward,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    interval: String,
    action: String,
    scale: Option<f64>,
    start_rate: Option<String>,
    observation: Value,
    history: Option<usize>,
    reward: Value,
}

fn feature(name: &str) -> Result<Feature, GymError> {
    Feature::named(name).ok_or_else(|| {
        let names = Feature::all().iter().map(|feature| feature.name);
        let close = nearest(name, names.clone()).map_or_else(String::new, |close| format!("did you mean `{close}`? "));
        let all: Vec<_> = names.collect();
        GymError::Refused(format!("there is no observation `{name}`; {close}allowed are {}", all.join(", ")))
    })
}

fn wrong<T>(key: &str, value: &Value, right: &str) -> Result<T, GymError> {
    Err(GymError::Refused(format!("{key} = {value} is not possible; {right}")))
}

impl Spec {
    /// Reads it.
    ///
    /// # Errors
    /// A key or a name is not there, or a value is not possible.
    pub fn read(json: &str) -> Result<Spec, GymError> {
        let given: Given = serde_json::from_str(json).map_err(|error| GymError::Refused(error.to_string()))?;
        let lever = Lever::read(&given.action, given.scale)?;
        let start_rate = match &given.start_rate {
            None => None,
            Some(text) => {
                let rate: Rate = text.parse().map_err(|error| GymError::Refused(format!("start_rate: {error}")))?;
                Some(rate.as_bits_per_sec() / 8).filter(|&bytes| bytes > 0)
            }
        };
        if given.start_rate.is_some() && (start_rate.is_none() || !lever.moves_rate()) {
            let help = "it is the rate, above zero, at which an agent begins that acts on its rate";
            return wrong("start_rate", &Value::from(given.start_rate), help);
        }
        let (observation, preset_history) = observation(&given.observation)?;
        let history = given.history.unwrap_or(preset_history);
        if !(1..=MOST_HISTORY).contains(&history) {
            return wrong("history", &Value::from(history), "an agent remembers 1 to 1000 intervals");
        }
        let interval = Span::read(&given.interval)?;
        Ok(Spec { interval, lever, start_rate, observation, history, reward: reward(&given.reward)? })
    }

    /// Puts an interval behind what was seen before, the oldest of which is forgotten.
    pub fn remember(&self, seen: &mut [f32], interval: &Interval) {
        seen.copy_within(self.observation.len().., 0);
        let place = seen.len() - self.observation.len();
        #[expect(clippy::cast_possible_truncation, reason = "agents see single precision")]
        for (slot, feature) in seen[place..].iter_mut().zip(&self.observation) {
            *slot = (feature.of)(interval).clamp(-MOST_SEEN, MOST_SEEN) as f32;
        }
    }

    /// How many numbers an agent sees.
    pub fn width(&self) -> usize {
        self.observation.len() * self.history
    }
}

fn observation(given: &Value) -> Result<(Vec<Feature>, usize), GymError> {
    let help = "write `aurora`, `orca`, or a list of names";
    match given {
        Value::String(name) => match Feature::preset(name) {
            Some(preset) => Ok(preset),
            None => wrong("observation", given, help),
        },
        Value::Array(names) if !names.is_empty() => {
            let named = |name: &Value| match name.as_str() {
                Some(name) => feature(name),
                None => wrong("observation", name, help),
            };
            Ok((names.iter().map(named).collect::<Result<_, _>>()?, 1))
        }
        _ => wrong("observation", given, help),
    }
}

fn reward(given: &Value) -> Result<Reward, GymError> {
    let help =
        "write `aurora`, `orca`, or weights of observations such as {\"delivery_rate_mbps\": 1, \"rtt_ms\": -0.01}";
    match given {
        Value::String(name) => match Reward::preset(name) {
            Some(preset) => Ok(preset),
            None => wrong("reward", given, help),
        },
        Value::Object(weights) if !weights.is_empty() => sum(weights, help),
        _ => wrong("reward", given, help),
    }
}

fn sum(weights: &Map<String, Value>, help: &str) -> Result<Reward, GymError> {
    let part = |(name, weight): (&String, &Value)| match weight.as_f64() {
        Some(number) => Ok((feature(name)?, number)),
        None => wrong(name, weight, help),
    };
    Ok(Reward::Sum(weights.iter().map(part).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A spec with these keys in place of the usual ones.
    fn read(keys: Value) -> Result<Spec, GymError> {
        let mut spec = json!({
            "interval": "1rtt", "action": "rate", "observation": ["sent", "lost"], "reward": {"sent": 1},
        });
        let Value::Object(keys) = keys else { unreachable!("keys are an object") };
        spec.as_object_mut().unwrap().extend(keys);
        Spec::read(&spec.to_string())
    }

    #[test]
    fn an_interval_is_a_time_or_round_trips_of_the_connection() {
        let ms = Duration::from_millis;
        let view = View { srtt_us_x8: 8 * 50_000, min_rtt_us: 40_000, ..View::new(1_448) };
        let unknown = View { min_rtt_us: View::UNKNOWN_RTT, ..view.clone() };
        let length = |text: &str, view: &View| Span::read(text).unwrap().length(view);
        assert_eq!([length("2rtt", &view), length("2min_rtt", &view), length("20ms", &view)], [100, 80, 20].map(ms));
        assert_eq!(length("0.5 min_rtt", &unknown), ms(25), "the smoothed one where no other is known");
        assert_eq!(length("1rtt", &View::new(1_448)), SHORTEST);
    }

    #[test]
    fn an_interval_has_a_length() {
        for text in ["10us", "0.001rtt", "1000rtt", "1000min_rtt"] {
            assert!(Span::read(text).is_ok(), "{text}");
        }
        for text in ["9us", "0rtt", "-1rtt", "1000.1rtt", "xrtt", "rtt", "", "20"] {
            assert!(Span::read(text).unwrap_err().to_string().contains("\"1min_rtt\""), "{text}");
        }
    }

    #[test]
    fn an_agent_remembers_the_latest_intervals_and_forgets_the_oldest() {
        let spec = read(json!({"history": 3})).unwrap();
        assert_eq!(spec.width(), 6);
        let mut seen = [0.0; 6];
        for sent in [1.0, 2.0, 3.0, 4e12] {
            spec.remember(&mut seen, &Interval { sent, lost: -1e12, ..Interval::default() });
        }
        let most = 1e9;
        assert_eq!(seen, [2.0, -most, 3.0, -most, most, -most]);
    }

    #[test]
    fn presets_bring_how_much_is_remembered_and_lists_the_latest_interval() {
        let history = |observation: &str| read(json!({"observation": observation})).unwrap().history;
        assert_eq!((history("aurora"), history("orca")), (10, 1));
        assert_eq!(read(json!({})).unwrap().history, 1);
        let own = json!({"observation": "aurora", "history": 2});
        assert_eq!(read(own).unwrap().width(), 6);
    }

    #[test]
    fn a_start_rate_is_in_bytes_and_for_agents_of_rates() {
        let start = |keys| read(keys).unwrap().start_rate;
        assert_eq!(start(json!({"start_rate": "8mbit"})), Some(1_000_000));
        assert_eq!(start(json!({})), None);
        for keys in [
            json!({"start_rate": "7bit"}),
            json!({"start_rate": "8mbit", "action": "window"}),
            json!({"start_rate": "fast"}),
        ] {
            assert!(read(keys).unwrap_err().to_string().contains("start_rate"));
        }
    }

    #[test]
    fn what_is_not_possible_is_told_with_what_is() {
        for (keys, said) in [
            (json!({"history": 0}), "1 to 1000"),
            (json!({"history": 1001}), "1 to 1000"),
            (json!({"observation": "auroa"}), "`aurora`, `orca`"),
            (json!({"observation": []}), "`aurora`, `orca`"),
            (json!({"observation": [1]}), "`aurora`, `orca`"),
            (json!({"observation": ["losts"]}), "did you mean `lost`?"),
            (json!({"reward": "auroa"}), "weights of observations"),
            (json!({"reward": {}}), "weights of observations"),
            (json!({"reward": {"sent": "much"}}), "weights of observations"),
            (json!({"reward": {"losts": 1}}), "did you mean `lost`?"),
            (json!({"unknown": 1}), "unknown"),
        ] {
            let error = read(keys.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{keys}: {error}");
        }
        assert!(read(json!({"history": 1000})).is_ok());
    }
}
