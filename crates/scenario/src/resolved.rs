//! A scenario with every default filled in and every name resolved: what the engine runs.

use crate::Program;
use dumbbell_cc::Recipe;
use dumbbell_path::wifi::Wifi;
use dumbbell_path::{Dscp, LinkConfig, Schedule};
use dumbbell_traffic::{SourceRecipe, Streams};
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// One run: a network, its flows, and what to record.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Length of the run.
    pub duration: Duration,
    /// The measured interval starts here.
    pub warmup: Duration,
    /// The measured interval ends this long before the end of the run.
    pub cooldown: Duration,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// What to record.
    pub record: Record,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Directed links; flows name them by their index.
    pub links: Vec<Link>,
    /// Memory that queues of links share.
    pub pools: Vec<Pool>,
    /// Flows, in the order of the file, one entry for each of `count`.
    pub flows: Vec<Flow>,
    /// Flows that come and go, in the order of the file.
    pub traffic: Vec<Traffic>,
}

impl Scenario {
    /// The round-trip time with which the bandwidth-delay product of a link is counted: that of `[path]`, elsewhere the
    /// longest base one among what crosses the link; `None` if nothing does.
    pub fn bdp_rtt(&self, link: usize) -> Option<Duration> {
        self.path_rtt().or_else(|| {
            let senders = self.flows.iter().chain(self.traffic.iter().flat_map(|traffic| &traffic.senders));
            let crossing = senders.filter(|flow| flow.forward.contains(&link) || flow.reverse.contains(&link));
            crossing.map(|flow| flow.base_rtt).max()
        })
    }

    /// The round-trip time of `[path]`, which the resolved form writes as the first two of its links.
    fn path_rtt(&self) -> Option<Duration> {
        let [there, back, ..] = self.links.as_slice() else { return None };
        let is_path = there.config.name == "bottleneck"
            && back.config.name == "bottleneck-reverse"
            && self.nodes.starts_with(&["left".to_owned(), "right".to_owned()]);
        is_path.then(|| there.config.delay.base + back.config.delay.base)
    }
}

/// What to record besides the summary tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Whether to record time series.
    pub series: bool,
    /// Spacing of the samples.
    pub interval: Duration,
}

/// A directed link between two nodes.
#[derive(Clone, Debug)]
pub struct Link {
    /// Index of the node packets come from.
    pub from: usize,
    /// Index of the node packets go to.
    pub to: usize,
    /// How it treats packets. Its rate is that of the radio if it has one.
    pub config: LinkConfig,
    /// The radio of a Wi-Fi link.
    pub radio: Option<Radio>,
    /// What its queue shares with others.
    pub pool: Option<PoolShare>,
}

impl Link {
    /// Whether it is a wire with a queue of its own.
    pub fn stands_alone(&self) -> bool {
        self.radio.is_none() && self.pool.is_none()
    }
}

/// Memory of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Bytes (IP length).
    pub bytes: u64,
}

/// The part of a queue in the memory of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolShare {
    /// Index of the pool.
    pub pool: usize,
    /// The queue may grow as long as it is shorter than so many times the memory that is free.
    pub alpha: f64,
}

/// The radio of a Wi-Fi link.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Channel, rate, aggregates; the access point is given. Links that are alike share it.
    pub wifi: Arc<Wifi>,
    /// Whether the link comes from the access point.
    pub is_from_access_point: bool,
}

/// One flow. Flows of one entry of the file share what they have in common.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name in reports; the algorithm's name unless the file gives one.
    pub label: Arc<str>,
    /// How its controller is built: algorithm, version, parameters.
    pub cc: Arc<Recipe>,
    /// On the running kernel our own program of this algorithm governs the flow, loaded for the purpose (`bpf:`); in
    /// the simulator that is no difference.
    pub is_bpf: bool,
    /// Two programs whose packets the flow is. Nobody sees their controller or their endpoints: `cc` is called unknown,
    /// and `transport` is that of the hosts.
    pub program: Option<Arc<Program>>,
    /// When the connection attempt starts.
    pub start: Time,
    /// Start is delayed by a random time uniform over this span.
    pub start_jitter: Duration,
    /// When the application stops writing; `None` is the end of the run.
    pub stop: Option<Time>,
    /// Payload bytes to transfer; `None` is unlimited.
    pub bytes: Option<u64>,
    /// Bits per second at which the application produces data; `None` is as fast as the connection takes it.
    pub app_rate: Option<u64>,
    /// Bits per second at which the application produces data, where they change with time, from the first write on: 0
    /// is a pause, [`u64::MAX`] as fast as the connection takes it.
    pub app_schedule: Option<Arc<Schedule<u64>>>,
    /// Bytes that such an application writes at once; `None` is a segment.
    pub app_write: Option<u64>,
    /// Bits per second at which the receiving application reads, by the time of the run: 0 is a pause, [`u64::MAX`] as
    /// fast as data comes. `None` reads everything at once.
    pub read_schedule: Option<Arc<Schedule<u64>>>,
    /// The streams of the application, whose messages are measured; `None` is one endless stream.
    pub streams: Option<Streams>,
    /// Links from the sender to the receiver, by index.
    pub forward: Arc<[usize]>,
    /// Links from the receiver to the sender, by index.
    pub reverse: Arc<[usize]>,
    /// Round-trip propagation delay of the route, without serialisation.
    pub base_rtt: Duration,
    /// Code point of its packets; `None` leaves it to links.
    pub dscp: Option<Dscp>,
    /// Endpoint parameters.
    pub transport: Arc<TransportConfig>,
}

/// Flows that come and go while the run goes on.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// What the flows of each of its senders are, in turn; one entry stands for all of them if they share their way. It
    /// begins at `start`, and nothing new begins from `stop` on.
    pub senders: Vec<Flow>,
    /// Its kind and its parameters: what makes the source of its flows.
    pub source: SourceRecipe,
}

impl Traffic {
    /// What its flows have in common.
    pub fn flow(&self) -> &Flow {
        &self.senders[0]
    }

    /// What the flows of sender number `sender` are.
    pub fn sender(&self, sender: u32) -> &Flow {
        &self.senders[sender as usize % self.senders.len()]
    }
}
