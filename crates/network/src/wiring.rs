//! From the links of a scenario to links that carry packets; the random streams of a run.

use crate::Entry;
use dumbbell_path::wifi::{AccessCategory, RadioLink, WifiChannel};
use dumbbell_path::{Link, LinkRate, Media, Medium, Packet, Port, SharedBuffer};
use dumbbell_scenario::{Dscp, Flow, Radio, Scenario};
use dumbbell_units::{Duration, Rng, Time};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Random streams: links count from here, flows' controllers from the second number, and one is for starts.
const LINK_STREAMS: u64 = 1 << 32;
const CONTROLLER_STREAMS: u64 = 2 << 32;
const START_STREAM: u64 = 3 << 32;
/// Sources of traffic count from here, and the controllers of the flows that they make from the second number, a range
/// for each source.
const SOURCE_STREAMS: u64 = 5 << 32;
const SPAWNED_STREAMS: u64 = 1 << 63;
/// Radio channels count from here.
const CHANNEL_STREAMS: u64 = 16 << 32;

/// What a link shares with others.
#[derive(Clone, Copy)]
enum Shared {
    Nothing,
    /// A radio channel.
    Channel(usize),
    /// The memory of a switch.
    Pool(usize),
}

/// A link of a scenario as a wire, with its random stream.
pub fn wire<P: Packet>(scenario: &Scenario, link: usize) -> Link<P> {
    Link::new(scenario.links[link].config.clone(), link_stream(scenario, link))
}

fn link_stream(scenario: &Scenario, link: usize) -> Rng {
    Rng::stream(scenario.seed, LINK_STREAMS + link as u64)
}

fn radio_link(scenario: &Scenario, index: usize, radio: &Radio) -> RadioLink {
    let link = &scenario.links[index];
    RadioLink {
        config: link.config.clone(),
        wifi: Arc::clone(&radio.wifi),
        from: link.from,
        to: link.to,
        is_from_access_point: radio.is_from_access_point,
        rng: link_stream(scenario, index),
    }
}

/// The media of a scenario, and where each of its links is entered. A wire is a medium of its own; the links of a radio
/// channel, and those whose queues share a pool of memory, are ports of one. Each link has a random stream of its own.
pub fn media<P: Packet + Send + 'static>(scenario: &Scenario) -> (Media<P>, Vec<Entry>) {
    let mut wires = Vec::new();
    let mut channels: Vec<Vec<RadioLink>> = Vec::new();
    let mut channels_by_name: HashMap<&str, usize> = HashMap::new();
    let mut pools: Vec<Vec<(Link<P>, f64)>> = scenario.pools.iter().map(|_| Vec::new()).collect();
    // Where each link is, as wires and channels are numbered apart.
    let mut places = Vec::with_capacity(scenario.links.len());
    for (index, link) in scenario.links.iter().enumerate() {
        if let Some(share) = link.pool {
            let links = &mut pools[share.pool];
            places.push((Shared::Pool(share.pool), links.len()));
            links.push((wire(scenario, index), share.alpha));
            continue;
        }
        let Some(radio) = &link.radio else {
            places.push((Shared::Nothing, wires.len()));
            wires.push(wire(scenario, index));
            continue;
        };
        let channel = *channels_by_name.entry(&radio.wifi.channel).or_insert_with(|| {
            channels.push(Vec::new());
            channels.len() - 1
        });
        let links = &mut channels[channel];
        places.push((Shared::Channel(channel), links.len()));
        links.push(radio_link(scenario, index, radio));
    }
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (first_channel, first_pool) = (wires.len(), wires.len() + channels.len());
    let port = |place: usize| Port::try_from(place).unwrap_or(Port::MAX);
    let entry = |(shared, place): (Shared, usize)| match shared {
        Shared::Nothing => Entry { medium: number(place), port: 0 },
        Shared::Channel(channel) => Entry { medium: number(first_channel + channel), port: port(place) },
        Shared::Pool(pool) => Entry { medium: number(first_pool + pool), port: port(place) },
    };
    let entries: Vec<Entry> = places.into_iter().map(entry).collect();
    let flows = scenario.flows.iter().chain(scenario.traffic.iter().flat_map(|source| &source.senders));
    let categories: BTreeSet<AccessCategory> = flows.filter_map(|flow| flow.dscp.map(Dscp::category)).collect();
    let categories: Vec<AccessCategory> = categories.into_iter().collect();
    let channel = |(links, stream): (Vec<RadioLink>, u64)| {
        let rng = Rng::stream(scenario.seed, stream);
        Box::new(WifiChannel::new(links, &categories, rng)) as Box<dyn Medium<P>>
    };
    let pools = pools.into_iter().zip(&scenario.pools);
    let pools = pools.map(|(links, pool)| Box::new(SharedBuffer::new(pool.bytes, links)) as Box<dyn Medium<P>>);
    let channels = channels.into_iter().zip(CHANNEL_STREAMS..).map(channel);
    let mut media = Media::new(wires, channels.chain(pools).collect());
    for (number, flow) in (0..).zip(&scenario.flows).filter(|(_, flow)| flow.dscp.is_some()) {
        assign(&mut media, &entries, flow, number);
    }
    (media, entries)
}

/// Tells the media on the ways of flow `number` the code point of its packets.
pub fn assign<P: Packet + Send>(media: &mut Media<P>, entries: &[Entry], flow: &Flow, number: u32) {
    for &link in flow.forward.iter().chain(&*flow.reverse) {
        let Entry { medium, port } = entries[link];
        media.get_mut(medium as usize).assign(port, number, flow.dscp);
    }
}

/// Does something for every link of a scenario, in its order: with the medium and the port that stand for it.
pub fn for_each_link<P: Packet + Send>(
    media: &mut Media<P>,
    entries: &[Entry],
    mut act: impl FnMut(&mut dyn Medium<P>, Port),
) {
    for entry in entries {
        act(media.get_mut(entry.medium as usize), entry.port);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_path::Ecn;
    use dumbbell_scenario::Experiment;

    /// A chain of links with these rates, as an experiment file writes them, and one flow along it.
    fn chain(rates: &[&str], flow: &str) -> Scenario {
        let link = |(hop, rate): (usize, &&str)| {
            format!(
                "[[links]]\nfrom = \"n{hop}\"\nto = \"n{}\"\n{rate}\ndelay = \"1ms\"\nreverse = \"symmetric\"\n",
                hop + 1
            )
        };
        let links: String = rates.iter().enumerate().map(link).collect();
        let text = format!(
            "duration = \"1s\"\n{links}[[flows]]\ncc = \"reno\"\nfrom = \"n0\"\nto = \"n{}\"\n{flow}\n",
            rates.len()
        );
        let experiment =
            Experiment::from_toml(&text, "experiment.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
        Scenario::clone(&experiment.points()[0].scenario())
    }

    /// The name of the slowest link on the way of the flow, and its rate.
    fn slowest(rates: &[&str]) -> (usize, Option<u64>) {
        let scenario = chain(rates, "");
        let way = &scenario.flows[0].forward;
        let link = slowest_link(&scenario, way);
        (way.iter().position(|&number| number == link).unwrap(), slowest_rate(&scenario, way))
    }

    #[test]
    fn throughput_is_measured_at_the_first_of_the_slowest_links() {
        let (fast, slow) = ("rate = \"9mbit\"", "rate = \"2mbit\"");
        assert_eq!(slowest(&[fast, slow, fast]), (1, Some(2_000_000)));
        assert_eq!(slowest(&[slow, fast, slow]), (0, Some(2_000_000)));
        assert_eq!(slowest(&["rate = \"unlimited\"", fast]), (1, Some(9_000_000)));
        assert_eq!(slowest(&["rate = \"unlimited\""; 2]), (0, None));
    }

    #[test]
    fn a_rate_that_changes_counts_with_its_highest_step() {
        let changing = "rate = [[\"0s\", \"1mbit\"], [\"1s\", \"7mbit\"], [\"2s\", \"3mbit\"]]";
        assert_eq!(slowest(&["rate = \"8mbit\"", changing]), (1, Some(7_000_000)));
        assert_eq!(slowest(&["rate = \"6mbit\"", changing]), (0, Some(6_000_000)));
    }

    #[test]
    fn a_trace_counts_with_its_mean() {
        // Five packets of 1500 bytes in 10 ms.
        let trace = "trace = [1, 2, 2, 9, 10]";
        assert_eq!(slowest(&["rate = \"6001kbit\"", trace]), (1, Some(6_000_000)));
        assert_eq!(slowest(&["rate = \"5999kbit\"", trace]), (0, Some(5_999_000)));
    }

    #[test]
    fn a_start_is_drawn_within_its_jitter() {
        let flow = &chain(&["rate = \"1mbit\""], "start = \"100ms\"\nstart_jitter = \"10ms\"").flows[0];
        let mut starts = start_stream(1);
        let drawn: Vec<u64> = (0..200).map(|_| start_of(flow, &mut starts).as_nanos()).collect();
        let (first, last) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert!((100_000_000..101_000_000).contains(first) && (109_000_000..110_000_000).contains(last));
        let exact = &chain(&["rate = \"1mbit\""], "start = \"100ms\"").flows[0];
        assert_eq!(start_of(exact, &mut starts), exact.start);
    }

    #[test]
    fn all_streams_of_a_run_differ() {
        let seed = 7;
        let scenario = chain(&["rate = \"1mbit\""; 2], "");
        let mut streams = vec![start_stream(seed)];
        for number in 0..3 {
            streams.extend([controller_stream(seed, number), source_stream(seed, number)]);
            streams.extend((0..3).map(|flow| spawned_stream(seed, u32::try_from(number).unwrap(), flow)));
        }
        streams.extend((0..scenario.links.len()).map(|link| link_stream(&Scenario { seed, ..scenario.clone() }, link)));
        let firsts: BTreeSet<u64> = streams.iter_mut().map(Rng::next_u64).collect();
        assert_eq!(firsts.len(), streams.len());
    }

    /// A full packet.
    #[derive(Clone, Copy, Default)]
    struct Full;

    impl Packet for Full {
        fn size(&self) -> u32 {
            1_500
        }

        fn flow(&self) -> u32 {
            0
        }

        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }

        fn set_ecn(&mut self, _: Ecn) {}

        fn follow(&mut self, _: u32) {}
    }

    #[test]
    fn wires_come_first_then_radio_channels_then_pools_each_with_ports_of_its_own() {
        let pool = |name: &str| format!("rate = \"9mbit\"\nbuffer = {{ pool = \"{name}\" }}");
        let rates = [pool("one"), "rate = \"9mbit\"".to_owned(), pool("two"), pool("two"), "wifi = {}".to_owned()];
        let rates: Vec<&str> = rates.iter().map(String::as_str).collect();
        let pools = "\n[[pools]]\nname = \"one\"\nsize = \"1MB\"\n[[pools]]\nname = \"two\"\nsize = \"1MB\"";
        let scenario = chain(&rates, pools);
        let (_, entries) = media::<Full>(&scenario);
        let places: Vec<(u32, Port)> = entries.iter().map(|entry| (entry.medium, entry.port)).collect();
        // Both directions of the first and of the third link are in pools, those of the last share a channel.
        assert_eq!(places, [(3, 0), (3, 1), (0, 0), (1, 0), (4, 0), (4, 1), (4, 2), (4, 3), (2, 0), (2, 1)]);
    }
}
