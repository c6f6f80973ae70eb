//! Parameters of noq's endpoints.

use dumbbell_parameters::{Parameter, Problem, declared};
use dumbbell_transport::TransportConfig;
use dumbbell_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::LazyLock;

/// Bytes of UDP's payload that fit every path of the Internet that takes 1500 bytes of IP.
pub(super) const MTU: u32 = 1452;
/// The library's receiver keeps data above at most 1024 gaps, and ends the connection when there are more. In a window of
/// so many bytes there cannot be more: a gap takes a packet that is lost and one that is not.
pub(super) const RECEIVE_WINDOW: u64 = 2 * 1024 * MTU as u64;
/// The smallest packet that every path has to carry (RFC 9000, section 14).
const SMALLEST_MTU: u32 = 1200;
/// The largest UDP payload over IPv4.
const LARGEST_MTU: u32 = 65_507;

/// Parameters that only noq's endpoints have: the table `library`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoqParameters {
    /// Whether the sender begins with packets of 1200 bytes and looks for the largest that arrive, up to `mss`. Otherwise
    /// all have `mss` bytes.
    #[schemars(extend("x-source" = "RFC 8899; noq: MtuDiscoveryConfig"))]
    pub mtu_discovery: bool,
    /// A connection on which nothing is heard for so long is dead.
    #[schemars(extend("x-at-least" = "1ms", "x-at-most" = "1h", "x-source" = "RFC 9000, section 10.1; noq: 30 s"))]
    pub idle_timeout: Duration,
}

impl Default for NoqParameters {
    fn default() -> NoqParameters {
        NoqParameters { mtu_discovery: false, idle_timeout: Duration::from_secs(30) }
    }
}

impl NoqParameters {
    /// Those of a configuration that was [checked](check).
    pub fn of(config: &TransportConfig) -> NoqParameters {
        serde_json::from_value(Value::Object(config.library.clone())).unwrap_or_default()
    }
}

/// What is wrong with a configuration.
pub(super) fn check(config: &TransportConfig) -> Vec<Problem> {
    static DECLARED: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<NoqParameters>);
    let table = Value::Object(config.library.clone());
    let mut problems = match NoqParameters::deserialize(&table) {
        Ok(own) => dumbbell_parameters::check(&DECLARED, &own),
        Err(error) => {
            let known: Vec<&str> = DECLARED.iter().map(|parameter| &*parameter.key).collect();
            let key = config.library.keys().find(|key| !known.contains(&key.as_str()));
            vec![match key {
                Some(key) => Problem::key(
                    key,
                    format!("noq has no parameter `{key}`"),
                    dumbbell_parameters::suggest(key, "allowed", known.iter().copied()),
                ),
                None => Problem::whole(error.to_string(), format!("parameters: {}", known.join(", "))),
            }]
        }
    };
    for problem in &mut problems {
        problem.key = if problem.key.is_empty() { "library".to_owned() } else { format!("library.{}", problem.key) };
    }
    if !(SMALLEST_MTU..=LARGEST_MTU).contains(&config.mss) {
        let message = format!("packets of noq have {SMALLEST_MTU} to {LARGEST_MTU} bytes, not {}", config.mss);
        problems.push(Problem::value("mss", message, format!("the default is {MTU}")));
    }
    problems
}
