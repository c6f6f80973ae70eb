//! From the file as written to the scenario as run: fills in defaults, desugars `[path]`, finds routes, and refuses
//! what cannot be meant. All problems of a file are collected, not only the first.

pub(crate) mod algorithms;
mod delays;
mod ecn_faults;
mod flow_list;
mod flows;
mod links;
mod network;
mod pools;
mod programs;
mod radios;
pub(crate) mod rates;
mod samples;
mod series;
mod shortest;
mod traffic;
mod vary_phase;
mod vary_rtt;

pub(crate) use rates::{Loader, synthesise};
pub(crate) use vary_phase::vary_phase;
pub(crate) use vary_rtt::vary_rtts;

use crate::error::{Problems, Reporter};
use crate::file::{File, QueueSpec};
use crate::key_path::KeyPath;
use crate::tree::{Node, Span};
use crate::{Record, Scenario};
use dumbbell_cc::Catalog;
use dumbbell_path::wifi::Wifi;
use dumbbell_path::{Impairments, LinkContext, QueueRecipe};
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Bytes, Duration, Rate};
use std::collections::VecDeque;
use std::sync::Arc;

/// The longest run: a month.
const MAX_DURATION: Duration = Duration::from_secs(31 * 24 * 3_600);
/// The longest propagation delay, jitter or other span of a link.
const MAX_DELAY: Duration = Duration::from_secs(3_600);
/// The fastest link.
const MAX_RATE: Rate = Rate::from_bits_per_sec(100_000_000_000_000);
/// The most that an application writes at once.
const MAX_WRITE: Bytes = Bytes::new(1 << 30);
/// The shortest spacing of samples.
const MIN_INTERVAL: Duration = Duration::from_micros(1);
/// The most rows of any table of samples: some ten gigabytes before compression.
const MAX_GIVEN_ROWS: u64 = 50_000_000;
/// The most flows of one run.
const MAX_FLOWS: usize = 100_000;
/// The most links of a way: packets count those that are left in 16 bits.
const MAX_WAY: usize = u16::MAX as usize;
/// The most links of the ways of all flows and sources of traffic together.
const MAX_WAYS: usize = 20_000_000;

/// A scenario and what a report about it wants to know besides.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub scenario: Arc<Scenario>,
    /// One for every link of the scenario.
    pub links: Vec<LinkNotes>,
    /// One for every flow of the scenario, which the flows of an entry share.
    pub flows: Vec<Arc<FlowNotes>>,
    /// How much longer the round trip of each flow may be than it is here; empty if it is as it is here.
    pub rtt_spans: Vec<Duration>,
    /// Whether rates that repeat begin at a place that is drawn.
    pub varies_phase: bool,
    /// Keys of the top level that the file does not give.
    pub defaults: Vec<&'static str>,
    /// The tables of parameters of one protocol that the file gives: those that the endpoints of an entry read, and of
    /// the others those that give more than defaults.
    pub tables: Vec<ProtocolTable>,
}

/// A table of parameters of one protocol that the file gives for an entry of flows or traffic.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolTable {
    /// Where it stands: in the entry, or at the top level for all.
    pub at: KeyPath,
    pub span: Option<Span>,
    /// The ready-made endpoints that read it.
    pub profile: &'static str,
    /// Whether the endpoints of the entry do.
    pub is_read: bool,
}

/// Where a link's rate comes from, if not from the scenario itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateSource {
    /// Given in the file.
    Given,
    /// A trace file.
    File { name: String, sha256: String },
    /// A synthesised trace.
    Synth { preset: String, seed: u64, follows_run_seed: bool, length: Duration },
}

/// What a report says about a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkNotes {
    pub rate_source: RateSource,
    /// Mean rate; `None` when unlimited.
    pub mean_rate: Option<Rate>,
    /// Bandwidth-delay product, when the link has a rate and is on a flow's route.
    pub bdp: Option<Bytes>,
    /// Keys that the file does not give.
    pub defaults: Vec<&'static str>,
}

/// What a report says about a flow.
#[derive(Debug)]
pub(crate) struct FlowNotes {
    /// The entry of `[[flows]]` it belongs to.
    pub entry: usize,
    /// The ready-made endpoints that its parameters start from.
    pub profile: &'static str,
    /// The parameters that the file gives.
    pub given: Given,
    /// Keys that the file does not give.
    pub defaults: Vec<&'static str>,
}

/// Names of parameters that the file gives, those of nested tables as paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    pub algorithm: Vec<String>,
    pub transport: Vec<String>,
}

/// What all parts of the resolution share.
struct Context<'a> {
    file: &'a File,
    report: Reporter<'a>,
    loader: &'a Loader,
    catalog: &'a Catalog,
    duration: Duration,
    seed: u64,
    tables: Vec<ProtocolTable>,
    /// The queues of the last links. Most links are like their neighbours, each direction like that of the link before.
    last_queues: VecDeque<(QueueSpec, LinkContext, QueueRecipe)>,
    /// The endpoints of the last entry of flows. Most entries have the same.
    last_transport: Arc<TransportConfig>,
    last_impairments: Arc<Impairments>,
    /// The radio that was checked last, if nothing is wrong with it. Most are alike.
    last_radio: Option<Wifi>,
}

/// Resolves a decoded file; `None` when that found problems. `tree` is what the file was decoded from.
pub(crate) fn resolve(
    file: &File,
    tree: &Node,
    loader: &Loader,
    catalog: &Catalog,
    problems: &mut Problems,
) -> Option<Resolved> {
    let before = problems.len();
    let duration = file.duration.unwrap_or(Duration::from_secs(60));
    let seed = file.seed.unwrap_or(1);
    let report = Reporter { tree, problems };
    let mut context = Context {
        file,
        report,
        loader,
        catalog,
        duration,
        seed,
        tables: Vec::new(),
        last_queues: VecDeque::new(),
        last_transport: Arc::default(),
        last_impairments: Arc::default(),
        last_radio: None,
    };
    let record = context.times()?;
    let resolved = context.network_and_flows(record);
    if problems.len() == before { resolved } else { None }
}

/// The path of a key at the top level.
fn top(key: &str) -> KeyPath {
    KeyPath::default().key(key)
}

impl Context<'_> {
    /// Checks the keys of the top level; `None` when nothing else can be judged.
    fn times(&mut self) -> Option<Record> {
        let duration = self.duration;
        if duration == Duration::ZERO || duration > MAX_DURATION {
            let message = format!("the run lasts {duration}");
            self.report.value(&top("duration"), message, format!("allowed: more than 0s, at most {MAX_DURATION}"));
            return None;
        }
        let warmup = self.file.warmup.unwrap_or_default();
        let cooldown = self.file.cooldown.unwrap_or_default();
        if warmup >= duration {
            let message = format!("the measured interval starts at {warmup}, but the run ends at {duration}");
            self.report.value(&top("warmup"), message, "`warmup` must be less than `duration`");
        } else if cooldown >= duration - warmup {
            let message =
                format!("nothing is left to measure between a warmup of {warmup} and a cooldown of {cooldown}");
            let help = format!("`warmup` and `cooldown` together must be less than `duration`, which is {duration}");
            self.report.value(&top("cooldown"), message, help);
        }
        let spec = self.file.record.clone().unwrap_or_default();
        let record =
            Record { series: spec.series.unwrap_or(true), interval: spec.interval.unwrap_or(samples::SHORTEST) };
        if record.interval < MIN_INTERVAL {
            let message = format!("samples are {} apart", record.interval);
            self.report.value(&top("record").key("interval"), message, format!("allowed: {MIN_INTERVAL} or more"));
        }
        Some(record)
    }

    /// Refuses time series that nobody could store.
    fn check_rows(&mut self, record: &Record, flows: usize, links: usize) {
        let (sampled, what) = if flows >= links { (flows, "flows") } else { (links, "links") };
        let samples = self.duration.as_nanos() / record.interval.as_nanos().max(1);
        let rows = samples.saturating_mul(sampled as u64);
        if record.series && record.interval >= MIN_INTERVAL && rows > MAX_GIVEN_ROWS {
            let message =
                format!("{samples} samples of {sampled} {what} over {} make a table of {rows} rows", self.duration);
            let shortest = self.duration.as_nanos().saturating_mul(sampled as u64).div_ceil(MAX_GIVEN_ROWS);
            let shortest = Duration::from_micros(shortest.div_ceil(1_000));
            let help = format!(
                "allowed: {MAX_GIVEN_ROWS} rows, that is here an interval of {shortest} or more, or record.series = false"
            );
            self.report.value(&top("record").key("interval"), message, help);
        }
    }

    fn network_and_flows(&mut self, mut record: Record) -> Option<Resolved> {
        self.sides();
        let mut network = self.network()?;
        let flows = self.flows(&mut network);
        let drafts = self.traffic(flows.as_ref().map_or(0, |(flows, _)| flows.len()), &mut network);
        self.names_differ(&network);
        let ((flows, flow_notes), drafts) = flows.zip(drafts)?;
        let pools = self.pools()?;
        let (links, links_notes) =
            self.links(&network, &pools, flows.iter().chain(drafts.iter().flat_map(|draft| &draft.senders)));
        self.check_pools(&pools, &links);
        self.check_ecn_faults(&network, &links, flows.iter().chain(drafts.iter().flat_map(|draft| &draft.senders)));
        let traffic = self.sources(drafts, &links_notes, network.links.len())?;
        let rtt_spans = self.rtt_spans(&flows, &links, &links_notes);
        let sources: Vec<_> = links_notes.iter().map(|notes| &notes.rate_source).collect();
        let varies_phase = self.varies_phase(&links, &sources);
        let file = self.file;
        let mut defaults = Vec::new();
        let mut default = |given: bool, key| {
            if !given {
                defaults.push(key);
            }
        };
        default(file.duration.is_some(), "duration");
        default(file.warmup.is_some(), "warmup");
        default(file.cooldown.is_some(), "cooldown");
        default(file.seed.is_some(), "seed");
        default(file.record.as_ref().is_some_and(|r| r.series.is_some()), "series");
        default(file.record.as_ref().is_some_and(|r| r.interval.is_some()), "interval");
        if defaults.contains(&"interval") {
            let packets = samples::packets(self.duration, &flows, &links, &links_notes);
            record.interval = samples::interval(self.duration, flows.len().max(links.len()), packets);
        }
        self.check_rows(&record, flows.len(), links.len());
        let scenario = Scenario {
            duration: self.duration,
            warmup: file.warmup.unwrap_or_default(),
            cooldown: file.cooldown.unwrap_or_default(),
            seed: self.seed,
            record,
            nodes: network.nodes,
            links,
            pools,
            flows,
            traffic,
        };
        Some(Resolved {
            scenario: Arc::new(scenario),
            links: links_notes,
            flows: flow_notes,
            rtt_spans,
            varies_phase,
            defaults,
            tables: std::mem::take(&mut self.tables),
        })
    }
}
