//! From the links of a scenario to links that carry packets; the random streams of a run.

use dumbbell_path::{Link, LinkRate, Packet};
use dumbbell_scenario::{Flow, Scenario};
use dumbbell_units::{Duration, Rng, Time};

/// Random streams: links count from here, flows' controllers from the second number, and one is for starts.
const LINK_STREAMS: u64 = 1 << 32;
const CONTROLLER_STREAMS: u64 = 2 << 32;
const START_STREAM: u64 = 3 << 32;
/// Sources of traffic count from here, and the controllers of the flows that they make from the second number, a range for
/// each source.
const SOURCE_STREAMS: u64 = 5 << 32;
const SPAWNED_STREAMS: u64 = 1 << 63;

/// The links of a scenario in its order, each with a random stream of its own.
pub fn links<P: Packet>(scenario: &Scenario) -> Vec<Link<P>> {
    let link = |(link, stream): (&dumbbell_scenario::Link, u64)| {
        Link::new(link.config.clone(), Rng::stream(scenario.seed, stream))
    };
    scenario.links.iter().zip(LINK_STREAMS..).map(link).collect()
}

/// What feeds the controller of a flow.
pub fn controller_stream(seed: u64, flow: usize) -> Rng {
    Rng::stream(seed, CONTROLLER_STREAMS + flow as u64)
}

/// What feeds a source of traffic.
pub fn source_stream(seed: u64, source: usize) -> Rng {
    Rng::stream(seed, SOURCE_STREAMS + source as u64)
}

/// What feeds the controller of a flow that a source of traffic has made, its `number`th.
pub fn spawned_stream(seed: u64, source: u32, number: u64) -> Rng {
    Rng::stream(seed, SPAWNED_STREAMS + (u64::from(source) << 40) + number)
}

/// What the starts of flows are drawn from, in their order.
pub fn start_stream(seed: u64) -> Rng {
    Rng::stream(seed, START_STREAM)
}

/// When a flow begins to connect. `starts` is the [stream](start_stream) of all starts.
pub fn start_of(flow: &Flow, starts: &mut Rng) -> Time {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a span of 64 bits")]
    let jitter = (starts.uniform() * flow.start_jitter.as_nanos() as f64) as u64;
    flow.start + Duration::from_nanos(jitter)
}

/// The rate of the slowest link of a route in bits per second; `None` when all are unlimited.
pub fn slowest_rate(scenario: &Scenario, route: &[usize]) -> Option<u64> {
    Some(rate_of(&scenario.links.get(slowest_link(scenario, route))?.config.rate)).filter(|&rate| rate < u64::MAX)
}

/// The link of a route with the lowest rate: where its throughput is measured.
pub fn slowest_link(scenario: &Scenario, route: &[usize]) -> usize {
    let rate = |&link: &usize| rate_of(&scenario.links[link].config.rate);
    route.iter().copied().min_by_key(rate).unwrap_or(0)
}

/// The rate of a link, or what stands for it where it changes.
fn rate_of(rate: &LinkRate) -> u64 {
    match rate {
        LinkRate::Unlimited => u64::MAX,
        LinkRate::Constant(rate) => *rate,
        LinkRate::Schedule { steps, .. } => steps.iter().map(|step| step.1).max().unwrap_or(0),
        LinkRate::Trace { opportunities_ms, .. } => {
            let last_ms = u64::from(opportunities_ms.last().copied().unwrap_or(1)).max(1);
            opportunities_ms.len() as u64 * 12_000 * 1_000 / last_ms
        }
    }
}
