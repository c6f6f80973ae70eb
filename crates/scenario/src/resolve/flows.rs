//! Flows: controllers and presets, endpoint parameters, times, routes.

use super::algorithms::BPF;
use super::network::{Network, Role};
use super::{Context, FlowNotes, MAX_DELAY, MAX_FLOWS, MAX_RATE, MAX_WAY, MAX_WAYS, MAX_WRITE, top};
use crate::error::suggest;
use crate::file::{APP_RATES, AppRateSpec, AppSpec, CcSpec, Direction, FlowSpec, RateSpec, STREAMS};
use crate::key_path::KeyPath;
use crate::{Flow, Program};
use dumbbell_cc::Recipe;
use dumbbell_parameters::check;
use dumbbell_path::Schedule;
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Bytes, Duration, Rate, Time};
use serde_json::json;
use std::collections::HashSet;
use std::iter::once;
use std::sync::Arc;

/// The shortest propagation delay that makes a round trip: endpoints measure in microseconds.
const MIN_RTT: Duration = Duration::from_micros(1);
/// The largest IP packet that fits a delivery opportunity of a trace.
const TRACE_PACKET_BYTES: u32 = 1_500;

/// The links to the receiver and those back, in order.
type Routes = (Vec<usize>, Vec<usize>);

/// The link to a receiver, and the one back, when they are there.
pub(super) type Exit = Option<(usize, usize)>;

/// The ways of a flow between these ends with the links that are its own: one from its host, and one to its receiver,
/// unless it `share`s that.
fn with_own_links(
    network: &mut Network,
    flow: usize,
    (from, to): (usize, usize),
    [mut forward, mut reverse]: [Arc<[usize]>; 2],
    (access, exit): (Option<&(Duration, RateSpec)>, Option<Duration>),
    share: Option<&mut Exit>,
    at: &KeyPath,
) -> [Arc<[usize]>; 2] {
    if let Some((delay, rate)) = access {
        let (to_router, from_router) = network.add_access(flow, from, *delay, rate.clone(), at);
        forward = once(to_router).chain(forward.iter().copied()).collect();
        reverse = reverse.iter().copied().chain(once(from_router)).collect();
    }
    if let Some(delay) = exit {
        let mut add = || network.add_exit(flow, to, delay, at);
        let (from_router, to_router) = match share {
            Some(shared) => *shared.get_or_insert_with(add),
            None => add(),
        };
        forward = forward.iter().copied().chain(once(from_router)).collect();
        reverse = once(to_router).chain(reverse.iter().copied()).collect();
    }
    [forward, reverse]
}

impl Context<'_> {
    /// All flows, one for each of `count`; `None` when there is none or one has no route.
    pub(super) fn flows(&mut self, network: &mut Network) -> Option<(Vec<Flow>, Vec<Arc<FlowNotes>>)> {
        self.presets();
        let specs = self.file.flows.as_deref().unwrap_or_default();
        if specs.is_empty() && self.file.traffic.as_ref().is_none_or(Vec::is_empty) {
            let help = "add at least one [[flows]] with `cc`, for example cc = \"bbr\"";
            self.report.value(&top("flows"), "there are no flows", help);
            return None;
        }
        let total: usize = specs.iter().map(|s| s.count.unwrap_or(1) as usize).sum();
        if total > MAX_FLOWS {
            let message = format!("{total} flows are too many");
            self.report.value(&top("flows"), message, format!("allowed: at most {MAX_FLOWS}"));
            return None;
        }
        let mut flows = Vec::with_capacity(total);
        let mut notes = Vec::with_capacity(total);
        let mut complete = true;
        for (entry, spec) in specs.iter().enumerate() {
            let at = top("flows").index(entry);
            let Some(added) = self.flow_entry(spec, &at, flows.len(), network, None) else {
                complete = false;
                continue;
            };
            let given = [
                ("start", spec.start.is_some()),
                ("stop", spec.stop.is_some()),
                ("bytes", spec.bytes.is_some()),
                ("rate", spec.app_rate().is_some()),
            ];
            let defaults: Vec<&'static str> = given.iter().filter(|(_, given)| !given).map(|(key, _)| *key).collect();
            let (profile, given) = (self.profile(spec), self.given(spec, entry));
            let note = Arc::new(FlowNotes { entry, profile, given, defaults });
            notes.resize(notes.len() + added.len(), note);
            flows.extend(added);
        }
        complete.then_some((flows, notes))
    }

    /// The flows of the entry of `[[flows]]` that stands at `at`, the first of which has number `first`. Each has a
    /// link to its receiver of its own where it has an `exit_delay`, or all have the one of a receiver that they
    /// `share`.
    pub(super) fn flow_entry(
        &mut self,
        spec: &FlowSpec,
        at: &KeyPath,
        first: usize,
        network: &mut Network,
        mut share: Option<&mut Exit>,
    ) -> Option<Vec<Flow>> {
        let count = spec.count.unwrap_or(1);
        let program = self.program(spec, at);
        let transport = self.transport(spec, at);
        let algorithm = self.governor(spec, transport.as_ref(), at);
        let timely = self.flow_times(spec, at);
        self.check_amounts(spec, at);
        let schedule = self.app_schedule(spec, at);
        let reader = self.read_schedule(spec, at);
        let access = self.access(spec, at, network);
        let exit = spec.exit_delay.filter(|delay| *delay > Duration::ZERO);
        let (from, to) = self.flow_ends(spec, at, network)?;
        let (algorithm, transport, access, schedule, reader) = (algorithm?, transport?, access?, schedule?, reader?);
        let program = program?;
        if !timely || !self.may_read_slowly(spec, &transport, at) {
            return None;
        }
        self.check_application(spec, &transport, at);
        self.check_packet_sizes(&transport, at);
        let routes = self.routes(spec, at, from, to, network)?;
        let own_links = usize::from(access.is_some()) + usize::from(exit.is_some());
        self.check_lengths(spec, &routes, own_links, at)?;
        self.check_ways(count, routes.0.len() + routes.1.len() + 2 * own_links, at, network)?;
        self.check_route(&routes.0, &transport, at, network);
        self.check_round_trip(&routes, access.as_ref().map(|(delay, _)| *delay).max(exit), at, network);
        let label: Arc<str> = label(spec, &algorithm, &transport, program.as_deref()).into();
        if *self.last_transport != transport {
            self.last_transport = Arc::new(transport);
        }
        let transport = self.last_transport.clone();
        let ways: [Arc<[usize]>; 2] = [routes.0.into(), routes.1.into()];
        let flow = |number: usize| {
            let own = (access.as_ref(), exit);
            let [forward, reverse] =
                with_own_links(network, first + number, (from, to), ways.clone(), own, share.as_deref_mut(), at);
            let delays = forward.iter().chain(&*reverse).map(|link| network.links[*link].delay.base.as_nanos());
            Flow {
                label: label.clone(),
                cc: algorithm.clone(),
                is_bpf: spec.cc.as_ref().is_some_and(|cc| cc.name.starts_with(BPF)),
                program: program.clone(),
                start: spec.start.unwrap_or_default() + spec.stagger.unwrap_or_default() * number as u64,
                start_jitter: spec.start_jitter.unwrap_or_default(),
                stop: spec.stop,
                bytes: spec.bytes.map(Bytes::as_u64),
                app_rate: spec.app_rate().map(Rate::as_bits_per_sec),
                app_schedule: schedule.clone(),
                read_schedule: reader.clone(),
                streams: spec.streams,
                app_write: spec.app.as_ref().and_then(|app| app.write).map(Bytes::as_u64),
                base_rtt: Duration::from_nanos(delays.fold(0, u64::saturating_add)),
                forward,
                reverse,
                dscp: spec.dscp,
                transport: transport.clone(),
            }
        };
        Some((0..count as usize).map(flow).collect())
    }

    /// Whether the receiver has a window that a slow reader closes, if there is one.
    fn may_read_slowly(&mut self, spec: &FlowSpec, transport: &TransportConfig, at: &KeyPath) -> bool {
        if spec.read_rate.is_none() || transport.protocol.has_receive_window() {
            return true;
        }
        let message = "the receiver of this flow has no window that a reader could close";
        self.report.key(&at.key("read_rate"), message, "use transport = \"tcp\", or remove `read_rate`");
        false
    }

    /// Refuses streams over endpoints that have none.
    fn check_streams(&mut self, spec: &FlowSpec, transport: &TransportConfig, at: &KeyPath) {
        let Some(streams) = spec.streams else { return };
        let at = at.key("streams");
        self.declared(&STREAMS, Some(streams), &at);
        if !transport.protocol.has_streams() {
            let message = format!("`streams` means nothing over \"{}\", which has none", transport.protocol.name());
            self.report.key(&at, message, "use transport = \"quic\" or \"tcp\", or remove `streams`");
        }
    }

    /// The rate of an application that changes; `None` when that found problems.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether it changes")]
    fn app_schedule(&mut self, spec: &FlowSpec, at: &KeyPath) -> Option<Option<Arc<Schedule<u64>>>> {
        match &spec.rate {
            None | Some(AppRateSpec::Constant(_)) => Some(None),
            Some(rate) => self.rate_schedule(rate, &at.key("rate")).map(Some),
        }
    }

    /// The rate at which the receiving application reads; `None` when that found problems.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether there is one")]
    fn read_schedule(&mut self, spec: &FlowSpec, at: &KeyPath) -> Option<Option<Arc<Schedule<u64>>>> {
        let Some(rate) = &spec.read_rate else { return Some(None) };
        let at = at.key("read_rate");
        let schedule = self.rate_schedule(rate, &at)?;
        let highest = schedule.values().max().unwrap_or(0);
        if highest == 0 || (highest > MAX_RATE.as_bits_per_sec() && highest < u64::MAX) {
            let help = format!("allowed: more than 0bit, at most {MAX_RATE}");
            self.report.value(&at, "the application cannot read at this rate", help);
            return None;
        }
        Some(Some(schedule))
    }

    /// The rates of an application as steps.
    fn rate_schedule(&mut self, rate: &AppRateSpec, at: &KeyPath) -> Option<Arc<Schedule<u64>>> {
        let schedule = match rate {
            AppRateSpec::Constant(rate) => Schedule::new(vec![(Time::ZERO, rate.as_bits_per_sec())], None),
            AppRateSpec::Steps { steps, repeat } => {
                let steps: Vec<_> = steps.iter().map(|(start, rate)| (*start, rate.as_bits_per_sec())).collect();
                Schedule::new(steps, *repeat)
            }
            AppRateSpec::OnOff { on, off, rate } => {
                let problems = check(&APP_RATES, &json!({ "on": on, "off": off }));
                if !problems.is_empty() {
                    self.report.parameters(at, problems);
                    return None;
                }
                let rate = rate.map_or(u64::MAX, Rate::as_bits_per_sec);
                Schedule::new(vec![(Time::ZERO, rate), (Time::ZERO + *on, 0)], Some(*on + *off))
            }
        };
        schedule.map(Arc::new).map_err(|problem| self.report.parameters(at, [problem])).ok()
    }

    /// Refuses amounts and names that stand for nothing.
    fn check_amounts(&mut self, spec: &FlowSpec, at: &KeyPath) {
        if spec.count == Some(0) {
            self.report.value(&at.key("count"), "the entry stands for no flow", "allowed: 1 or more");
        }
        if spec.bytes == Some(Bytes::ZERO) {
            self.report.value(&at.key("bytes"), "the flow has nothing to transfer", "allowed: 1 byte or more");
        }
        if spec.rates().any(|rate| rate > MAX_RATE)
            || spec.rates().all(|rate| rate == Rate::ZERO) && spec.rates().count() > 0
        {
            let help = format!("allowed: more than 0bit, at most {MAX_RATE}");
            self.report.value(&at.keys(spec.rate_key()), "the application cannot produce data at this rate", help);
        }
        if let Some(app) = &spec.app {
            self.check_app(app, spec.rate.is_some(), at);
        }
        if spec.label.as_deref() == Some("") {
            self.report.value(&at.key("label"), "the label is empty", "give it a text, or leave it out");
        }
    }

    /// Refuses applications that are described twice, or not enough.
    fn check_app(&mut self, app: &AppSpec, has_rate: bool, at: &KeyPath) {
        let at = at.key("app");
        if has_rate {
            self.report.key(&at, "both `rate` and `app` are given", "write the rate into `app`, and remove `rate`");
        } else if app.rate.is_none() {
            self.report.value(&at, "the application has no `rate`", "add `rate`, for example rate = \"3mbit\"");
        }
        if app.write.is_some_and(|write| write == Bytes::ZERO || write > MAX_WRITE) {
            let help = format!("allowed: 1 byte to {MAX_WRITE}");
            self.report.value(&at.key("write"), "the application cannot write this much at once", help);
        }
    }

    /// Refuses ways with more links than a packet can count; the flow has `own_links` besides.
    fn check_lengths(&mut self, spec: &FlowSpec, routes: &Routes, own_links: usize, at: &KeyPath) -> Option<()> {
        let ways = [("route", &spec.route, &routes.0), ("reverse_route", &spec.reverse_route, &routes.1)];
        for (key, explicit, way) in ways {
            let links = way.len() + own_links;
            if links > MAX_WAY {
                let at = if explicit.is_some() { at.key(key) } else { at.clone() };
                let message = format!("the way of the flow has {links} links");
                self.report.value(&at, message, format!("allowed: at most {MAX_WAY}"));
                return None;
            }
        }
        Some(())
    }

    /// Refuses `count` flows more that pass so many `links` each, if all ways together become too long by that.
    fn check_ways(&mut self, count: u32, links: usize, at: &KeyPath, network: &mut Network) -> Option<()> {
        let before = network.ways;
        network.ways = before.saturating_add(links.saturating_mul(count as usize));
        if network.ways <= MAX_WAYS {
            return Some(());
        }
        // Said once, where it begins.
        if before <= MAX_WAYS {
            let message = format!("the ways of the flows up to here have {} links together", network.ways);
            let help = format!("allowed: {MAX_WAYS}; fewer flows or shorter ways");
            self.report.value(at, message, help);
        }
        None
    }

    /// Refuses round trips that take no time.
    fn check_round_trip(&mut self, routes: &Routes, access: Option<Duration>, at: &KeyPath, network: &Network) {
        let delays = routes.0.iter().chain(&routes.1).map(|link| network.links[*link].delay.shortest());
        if delays.chain(access).all(|delay| delay < MIN_RTT) {
            let (at, help) = match network.path_rtt {
                Some(_) => {
                    (top("path").key("rtt"), format!("allowed: at least {}, of which each way takes half", MIN_RTT * 2))
                }
                None => (at.clone(), format!("allowed: a delay of at least {MIN_RTT} on one of the links of the way")),
            };
            self.report.value(&at, "the round trip of a flow takes too little time", help);
        }
    }

    /// Refuses applications that write more than once in the shortest time there is, and streams where there are none.
    fn check_application(&mut self, spec: &FlowSpec, transport: &TransportConfig, at: &KeyPath) {
        const NANOSECONDS: u64 = 1_000_000_000;
        self.check_streams(spec, transport, at);
        let write = spec.app.as_ref().and_then(|app| app.write).filter(|write| *write > Bytes::ZERO);
        let bytes = write.map_or(u64::from(transport.mss), Bytes::as_u64);
        let fastest = Rate::from_bits_per_sec(bytes.saturating_mul(8 * NANOSECONDS));
        if let Some(rate) = spec.rates().find(|rate| *rate > fastest && *rate <= MAX_RATE) {
            let (what, whole) = match write {
                Some(_) => ("once", "writes"),
                None => ("a segment", "segments"),
            };
            let message = format!("an application of {rate} writes more than {what} a nanosecond");
            let help = format!("allowed: at most {fastest} with {whole} of {bytes} bytes");
            self.report.value(&at.keys(spec.rate_key()), message, help);
        }
    }

    /// Refuses packets whose sizes do not agree with the unit of windows and rates.
    fn check_packet_sizes(&mut self, transport: &TransportConfig, at: &KeyPath) {
        let sizes = &transport.quic.packet_sizes;
        let sum: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
        let count = sizes.len() as u64;
        if sizes.contains(&0) || sum != count * u64::from(transport.mss) {
            let message = format!("the packets of {sizes:?} bytes do not have a mean of {} bytes", transport.mss);
            let help = match sum.checked_div(count).filter(|mean| mean * count == sum && !sizes.contains(&0)) {
                Some(mean) => format!("write transport.mss = {mean}"),
                None => "allowed: sizes above 0 whose mean is a whole number, which is `mss`".to_owned(),
            };
            self.report.value(&at.key("transport").key("quic").key("packet_sizes"), message, help);
        }
    }

    /// Whether the times of an entry can be meant.
    fn flow_times(&mut self, spec: &FlowSpec, at: &KeyPath) -> bool {
        let before = self.report.problems.len();
        let (first, jitter) = (spec.start.unwrap_or_default(), spec.start_jitter.unwrap_or_default());
        let end = Time::ZERO + self.duration;
        let stagger = spec.stagger.unwrap_or_default();
        if stagger != Duration::ZERO && spec.count.unwrap_or(1) < 2 {
            self.report.key(&at.key("stagger"), "`stagger` needs several flows", "add `count`");
        }
        let steps = u64::from(spec.count.unwrap_or(1)).saturating_sub(1);
        let spread = Duration::from_nanos(stagger.as_nanos().saturating_mul(steps));
        let key = if spread == Duration::ZERO { "start" } else { "stagger" };
        let start = first + spread;
        if start >= end {
            let message = format!("a flow starts at {start}, but the run ends at {end}");
            self.report.value(&at.key(key), message, "a flow must start before the run ends");
        }
        if jitter > self.duration {
            let message = format!("starts vary over {jitter}, but the run ends at {end}");
            self.report.value(&at.key("start_jitter"), message, format!("allowed: at most {}", self.duration));
        }
        if let Some(stop) = spec.stop
            && stop <= start + jitter
        {
            let starts = if jitter > Duration::ZERO { "may start as late as" } else { "starts at" };
            let message = format!("the flow stops at {stop}, but {starts} {}", start + jitter);
            self.report.value(&at.key("stop"), message, "`stop` must be later than the start");
        }
        self.report.problems.len() == before
    }

    /// The access link of a flow: one-way delay and rate.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether there is one")]
    fn access(&mut self, spec: &FlowSpec, at: &KeyPath, network: &Network) -> Option<Option<(Duration, RateSpec)>> {
        if let Some(exit) = spec.exit_delay.filter(|delay| *delay > MAX_DELAY) {
            let message = format!("the delay at the receiver is {exit}");
            self.report.value(&at.key("exit_delay"), message, format!("allowed: at most {MAX_DELAY}"));
            return None;
        }
        let path_rtt = network.path_rtt.map(|rtt| rtt + spec.exit_delay.unwrap_or_default() * 2);
        let delay = match (spec.rtt, spec.access_delay, path_rtt) {
            (None, delay, _) => delay,
            (Some(_), Some(_), _) => {
                let help = "the access delay follows from `rtt`; remove one of them";
                self.report.key(&at.key("rtt"), "both `rtt` and `access_delay` are given", help);
                return None;
            }
            (Some(_), None, None) => {
                let help = "use `access_delay`, the one-way delay of an access link";
                self.report.key(&at.key("rtt"), "`rtt` of a flow goes with `path`, not with `links`", help);
                return None;
            }
            (Some(rtt), None, Some(path_rtt)) if rtt < path_rtt => {
                let message =
                    format!("the flow's round-trip time of {rtt} is shorter than the path's, which is {path_rtt}");
                self.report.value(&at.key("rtt"), message, "make `path.rtt` the shortest round-trip time of all flows");
                return None;
            }
            (Some(rtt), None, Some(path_rtt)) if rtt == path_rtt => None,
            (Some(rtt), None, Some(path_rtt)) => Some(Duration::from_nanos((rtt - path_rtt).as_nanos() / 2)),
        };
        if delay.is_some_and(|delay| delay > MAX_DELAY) {
            let key = if spec.rtt.is_some() { "rtt" } else { "access_delay" };
            self.report.value(&at.key(key), "the access delay is too long", format!("allowed: at most {MAX_DELAY}"));
            return None;
        }
        // Round-trip times that vary need a link that takes the difference.
        if delay.is_none() && spec.access_rate.is_none() && self.file.vary_rtt.is_none() {
            return Some(None);
        }
        Some(Some((delay.unwrap_or_default(), spec.access_rate.map_or(RateSpec::Unlimited, RateSpec::Constant))))
    }

    /// Sender and receiver of a flow.
    fn flow_ends(&mut self, spec: &FlowSpec, at: &KeyPath, network: &Network) -> Option<(usize, usize)> {
        if network.path_rtt.is_some() {
            let keys = [
                ("from", spec.from.is_some()),
                ("to", spec.to.is_some()),
                ("route", spec.route.is_some()),
                ("reverse_route", spec.reverse_route.is_some()),
            ];
            for (key, _) in keys.iter().filter(|(_, given)| *given) {
                let help = "with `path` data goes from left to right; use `direction = \"down\"` for the other way";
                self.report.key(&at.key(key), format!("`{key}` goes with `links`, not with `path`"), help);
            }
            return Some(match spec.direction.unwrap_or_default() {
                Direction::Up => (0, 1),
                Direction::Down => (1, 0),
            });
        }
        if spec.direction.is_some() {
            let help = "use `from` and `to`";
            self.report.key(&at.key("direction"), "`direction` goes with `path`, not with `links`", help);
        }
        let mut end = |key: &str, name: &Option<String>| {
            let Some(name) = name else {
                self.report.value(at, format!("the flow has no `{key}`"), "with `links` a flow needs `from` and `to`");
                return None;
            };
            let found = network.described.get(name).copied();
            if found.is_none() {
                let described = network.nodes[..network.described.len()].iter();
                let help = suggest(name, "nodes of this file", described.map(String::as_str));
                self.report.value(&at.key(key), format!("there is no node `{name}`"), help);
            }
            found
        };
        let from = end("from", &spec.from);
        let to = if spec.from.is_none() && spec.to.is_none() { None } else { end("to", &spec.to) };
        let (from, to) = (from?, to?);
        if from == to {
            self.report.value(&at.key("to"), "the flow ends where it starts", "`from` and `to` must differ");
            return None;
        }
        Some((from, to))
    }

    /// Links from the sender to the receiver and back.
    fn routes(
        &mut self,
        spec: &FlowSpec,
        at: &KeyPath,
        from: usize,
        to: usize,
        network: &mut Network,
    ) -> Option<Routes> {
        let forward = self.route(spec.route.as_ref().map(|r| (r, at.key("route"))), from, to, at, network)?;
        if spec.reverse_route.is_none() && spec.route.is_some() {
            let backwards: Option<Vec<usize>> =
                forward.iter().rev().map(|link| network.links[*link].opposite).collect();
            if let Some(reverse) = backwards {
                return Some((forward, reverse));
            }
        }
        let explicit = spec.reverse_route.as_ref().map(|r| (r, at.key("reverse_route")));
        let reverse = self.route(explicit, to, from, at, network)?;
        Some((forward, reverse))
    }

    /// The explicit route, or that of `[[routes]]`, or the shortest path.
    fn route(
        &mut self,
        explicit: Option<(&Vec<String>, KeyPath)>,
        from: usize,
        to: usize,
        flow_at: &KeyPath,
        network: &mut Network,
    ) -> Option<Vec<usize>> {
        let [start, end] = [from, to].map(|node| network.nodes[node].clone());
        let listed = || {
            let routes = self.file.routes.iter().flatten().enumerate();
            let mut matching = routes.filter(|(_, r)| r.from.as_ref() == Some(&start) && r.to.as_ref() == Some(&end));
            matching.next().and_then(|(i, r)| Some((r.links.as_ref()?, top("routes").index(i).key("links"))))
        };
        let Some((names, at)) = explicit.or_else(listed) else {
            let path = network.shortest_path(from, to);
            if path.is_none() {
                let message = format!("no links lead from `{start}` to `{end}`");
                self.report.value(
                    flow_at,
                    message,
                    "join the nodes with links; a link with `duplex = false` has one direction only",
                );
            }
            return path;
        };
        let followed = network.follow(names, from, to);
        followed
            .map_err(|(i, message)| {
                let at = if names.is_empty() { at } else { at.index(i) };
                self.report.value(&at, message, format!("a route names the links from `{start}` to `{end}` in order"));
            })
            .ok()
    }

    /// Refuses routes whose behaviour nobody described.
    fn check_route(&mut self, forward: &[usize], transport: &TransportConfig, at: &KeyPath, network: &Network) {
        for link in forward.iter().map(|index| &network.links[*index]) {
            if link.role == Role::ImpliedReverse {
                let message = format!("the data of this flow crosses `{}`, whose rate is not given", link.name);
                let help = "give `reverse` a `rate`, or write reverse = \"symmetric\"";
                self.report.value(at, message, help);
            }
            let traced = matches!(link.side.rate, Some(RateSpec::Trace { .. } | RateSpec::Synth { .. }));
            let header = transport.header_bytes();
            if (traced || link.side.trace.is_some()) && transport.largest_payload() + header > TRACE_PACKET_BYTES {
                let message = format!(
                    "segments of {} bytes do not fit the delivery opportunities of `{}`",
                    transport.mss, link.name
                );
                let help = format!("allowed on traces: `mss` of at most {}", TRACE_PACKET_BYTES - header);
                self.report.value(&at.key("transport").key("mss"), message, help);
            }
        }
    }

    /// Names in results must be unique, also those of the links that flows have to themselves.
    pub(super) fn names_differ(&mut self, network: &Network) {
        let nodes = first_repeated(network.nodes.iter().map(String::as_str));
        let links = first_repeated(network.links.iter().map(|link| link.name.as_str()));
        if let Some(name) = nodes.or(links) {
            let message = format!("the name `{name}` is needed for a link that a flow has to itself");
            self.report.value(&top("links"), message, "choose another name for the node or link");
        }
    }
}

/// The name of an entry in reports.
fn label<'a>(
    spec: &'a FlowSpec,
    algorithm: &'a Recipe,
    transport: &TransportConfig,
    program: Option<&'a Program>,
) -> &'a str {
    match (&spec.label, program, &spec.cc) {
        (Some(label), ..) => label,
        (None, Some(program), _) => program.client.name(),
        (None, None, Some(CcSpec { elsewhere: Some(_), .. })) => algorithm.name(),
        (None, None, Some(cc)) => &cc.name,
        (None, None, None) => transport.protocol.name(),
    }
}

fn first_repeated<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut seen = HashSet::new();
    names.filter(|name| !seen.insert(*name)).map(str::to_owned).next()
}
