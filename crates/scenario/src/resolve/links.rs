//! From a described link to its configuration: rate, policer, queue, loss, delay.
//!
//! What parameters there are and what they can be is declared in `dumbbell-path`; here they meet their link.

use super::network::{Draft, Network, Role};
use super::rates::SERIES_HELP;
use super::series::Quantity;
use super::{Context, LinkNotes, top};
use crate::file::{
    AGGREGATE, Buffer, Columns, ECN_FAULT, EVENTS, JITTER, KindSpec, LATE, LossPlace, LossSpec, POLICER, QueueSpec,
    REORDER, RateSpec, ReverseSpec, SHARE, ShareSpec, Side,
};
use crate::key_path::KeyPath;
use crate::{Flow, Link, Pool};
use dumbbell_parameters::{Parameter, check};
use dumbbell_path::loss::{self, Bernoulli, Steps};
use dumbbell_path::wifi::Wifi;
use dumbbell_path::{
    Delay, Impairments, Level, LinkConfig, LinkContext, LossRecipe, Policer, QueueLimit, QueueRecipe, queue,
};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What loses packets before and after a transmitter.
type Losses = (Option<LossRecipe>, Option<LossRecipe>);

/// What the queue of a Wi-Fi link holds by default, in packets: mac80211's limit.
const WIFI_BUFFER: u64 = 8_192;
/// The most framing bytes of a packet.
const MAX_OVERHEAD: Bytes = Bytes::new(10_000);

impl Context<'_> {
    /// Checks what the file says about queues, losses, policers and delays, as far as that needs no link.
    pub(super) fn sides(&mut self) {
        let file = self.file;
        let path = file.path.iter().map(|path| (path.side(), &path.reverse, top("path")));
        let links = file.links.iter().flatten().enumerate();
        let links = links.map(|(index, link)| (link.side(), &link.reverse, top("links").index(index)));
        for (side, reverse, at) in path.chain(links) {
            self.side(&side, &at);
            if let Some(ReverseSpec::Side(back)) = reverse {
                self.side(back, &at.key("reverse"));
                if let Some(Wifi { away: Some(_), .. }) = back.wifi {
                    let at = at.key("reverse").key("wifi").key("away");
                    let message = "`reverse.wifi.away`: a station is away in both directions of its link";
                    self.report.key(&at, message, "give `away` in `wifi` of the link itself");
                }
                // Both directions of a radio link are on the air.
                if side.wifi.is_some() && back.wifi.is_none() {
                    self.nothing_of_wires(back, &at.key("reverse"));
                }
            }
        }
    }

    fn side(&mut self, side: &Side, at: &KeyPath) {
        self.radio_parameters(side, at);
        if let Some(QueueSpec(KindSpec { kind, parameters })) = &side.queue {
            self.report.parameters(&at.key("queue"), queue::catalog().check(kind, parameters));
        }
        if let Some(LossSpec::Kind(KindSpec { kind, parameters })) = &side.loss {
            self.report.parameters(&at.key("loss"), loss::catalog().check(kind, parameters));
        }
        self.declared(&POLICER, side.policer, &at.key("policer"));
        self.declared(&JITTER, side.jitter.map(|spec| spec.0), &at.key("jitter"));
        self.declared(&REORDER, side.reorder.map(|spec| spec.0), &at.key("reorder"));
        self.declared(&LATE, side.late, &at.key("late"));
        self.declared(&AGGREGATE, side.aggregate, &at.key("aggregate"));
        if let Some(Err(problem)) = side.aggregate.map(|aggregate| aggregate.check()) {
            self.report.parameters(&at.key("aggregate"), [problem]);
        }
        self.declared(&ECN_FAULT, side.ecn_fault, &at.key("ecn_fault"));
        if let Some(Err(problem)) = side.ecn_fault.map(|fault| fault.check()) {
            self.report.parameters(&at.key("ecn_fault"), [problem]);
        }
        for (number, event) in side.events.iter().flatten().enumerate() {
            let at = at.key("events").index(number);
            self.declared(&EVENTS, Some(event), &at);
            if let Err(problem) = event.check() {
                self.report.parameters(&at, [problem]);
            }
        }
        for (key, share) in [("duplicate", side.duplicate), ("corrupt", side.corrupt)] {
            match share {
                Some(ShareSpec(share)) if !share.probability.is_probability() => {
                    let message = format!("`{key}` is {}", share.probability);
                    self.report.value(&at.key(key), message, "allowed: at most 100%");
                }
                share => self.declared(&SHARE, share.map(|spec| spec.0), &at.key(key)),
            }
        }
        if side.limit == Some(0) {
            self.report.value(&at.key("limit"), "a link with a `limit` of 0 carries no packet", "allowed: at least 1");
        }
    }

    /// Checks parameters that stand in the table at `at` against their declarations.
    pub(super) fn declared(&mut self, parameters: &[Parameter], values: Option<impl Serialize>, at: &KeyPath) {
        if let Some(values) = values {
            self.report.parameters(at, check(parameters, &values));
        }
    }

    pub(super) fn links<'f>(
        &mut self,
        network: &Network,
        pools: &[Pool],
        flows: impl Iterator<Item = &'f Flow>,
    ) -> (Vec<Link>, Vec<LinkNotes>) {
        let mut links = Vec::new();
        let mut notes = Vec::new();
        // The longest round-trip time of the flows that cross a link, and their largest packet of data.
        let mut crossing: Vec<(Option<Duration>, u32)> = vec![(None, 0); network.links.len()];
        for flow in flows {
            for &link in flow.forward.iter().chain(&*flow.reverse) {
                let longest = &mut crossing[link].0;
                *longest = (*longest).max(Some(flow.base_rtt));
            }
            for &link in &*flow.forward {
                let largest = &mut crossing[link].1;
                *largest = (*largest).max(flow.transport.largest_payload() + flow.transport.header_bytes());
            }
        }
        let radios = self.radios(network);
        for ((draft, radio), (longest, largest)) in network.links.iter().zip(radios).zip(crossing) {
            let rtt = network.path_rtt.or(longest);
            if let Some((config, note)) = self.link(draft, rtt, largest) {
                let pool = self.pool_share(draft, note.mean_rate.is_none(), pools);
                links.push(Link { from: draft.from, to: draft.to, config, radio, pool });
                notes.push(note);
            }
        }
        (links, notes)
    }

    /// A link that flows of the given round-trip time cross with packets of up to `largest` bytes.
    fn link(&mut self, draft: &Draft, rtt: Option<Duration>, largest: u32) -> Option<(LinkConfig, LinkNotes)> {
        let Draft { side, at, .. } = draft;
        let (spec, rate_at) = self.rate_spec(draft)?;
        let resolved = self.rate(&spec, &rate_at)?;
        let bdp = resolved.mean.zip(rtt).map(|(mean, rtt)| mean.bytes_in(rtt));
        let limit = self.limit(draft, resolved.mean, bdp)?;
        let overhead = side.overhead.unwrap_or_default();
        let largest_packet = Bytes::new(u64::from(largest) + overhead.as_u64());
        let context = LinkContext { rate: resolved.mean, bdp, limit, largest_packet };
        let own = side.wifi.as_ref().map(|_| station_queue());
        let queue = self.queue(side.queue.as_ref().or(own.as_ref()), &at.key("queue"), &context)?;
        let (loss_before, loss_after) = self.losses(side, at, &context)?;
        if overhead > MAX_OVERHEAD {
            self.report.value(
                &at.key("overhead"),
                format!("{overhead} of framing for every packet"),
                format!("allowed: at most {MAX_OVERHEAD}"),
            );
        }
        let policer = self.policer(side.policer, &at.key("policer"), &context)?;
        #[expect(clippy::cast_possible_truncation, reason = "`MAX_OVERHEAD` is 10 kB")]
        let overhead_bytes = overhead.as_u64().min(MAX_OVERHEAD.as_u64()) as u32;
        let config = LinkConfig {
            name: draft.name.clone(),
            rate: resolved.rate,
            overhead_bytes,
            delay: Delay {
                base: draft.delay.base,
                schedule: draft.delay.schedule.clone(),
                jitter: side.jitter.map(|spec| spec.0).unwrap_or_default(),
                reorder: side.reorder.map(|spec| spec.0).unwrap_or_default(),
                late: side.late.filter(|late| late.probability > Ratio::ZERO),
            },
            policer,
            limit,
            queue,
            loss_before,
            loss_after,
            impairments: self.impairments(Impairments {
                duplicate: side.duplicate.map(|spec| spec.0).unwrap_or_default(),
                corrupt: side.corrupt.map(|spec| spec.0).unwrap_or_default(),
                most_packets: side.limit,
                events: side.events.clone().unwrap_or_default().into(),
                aggregate: side.aggregate,
                ecn_fault: side.ecn_fault,
            }),
        };
        let given = [
            ("rate", side.rate.is_some() && draft.role != Role::ImpliedReverse || side.trace.is_some()),
            ("buffer", side.buffer.is_some()),
            ("queue", side.queue.is_some()),
            ("loss", side.loss.is_some()),
            ("loss_at", side.loss_at.is_some()),
        ];
        let defaults = given.iter().filter(|(_, given)| !given).map(|(key, _)| *key).collect();
        Some((config, LinkNotes { rate_source: resolved.source, mean_rate: resolved.mean, bdp, defaults }))
    }

    /// What most links do to packets is nothing, and the same as the link before.
    fn impairments(&mut self, impairments: Impairments) -> Arc<Impairments> {
        if *self.last_impairments != impairments {
            self.last_impairments = Arc::new(impairments);
        }
        self.last_impairments.clone()
    }

    /// The losses of a link before and after its transmitter.
    fn losses(&mut self, side: &Side, at: &KeyPath, context: &LinkContext) -> Option<Losses> {
        let loss = self.loss(side.loss.as_ref(), &at.key("loss"), context)?;
        if side.loss_at.is_some() && side.loss.is_none() {
            self.report.key(&at.key("loss_at"), "`loss_at` places a loss, but there is none", "add `loss`");
        }
        Some(match side.loss_at.unwrap_or_default() {
            LossPlace::Before => (loss, None),
            LossPlace::After => (None, loss),
        })
    }

    /// The rate of a link and where it is written.
    fn rate_spec(&mut self, draft: &Draft) -> Option<(RateSpec, KeyPath)> {
        let Draft { side, at, .. } = draft;
        if let Some(wifi) = &side.wifi {
            // That of a radio that there is not was reported before.
            return Some((RateSpec::Constant(wifi.rate()), at.clone())).filter(|_| wifi.check().is_ok());
        }
        if side.once.is_some() && side.trace.is_none() {
            self.report.key(
                &at.key("once"),
                "`once` belongs to `trace`, which is not given",
                "add `trace`, or remove `once`",
            );
        }
        match (&side.rate, &side.trace) {
            (Some(_), Some(_)) => {
                self.report.key(
                    &at.key("trace"),
                    "both `rate` and `trace` are given",
                    "a link follows one of them; remove the other",
                );
                None
            }
            (Some(rate), None) => {
                Some((rate.clone(), at.key(if draft.role == Role::Access { "access_rate" } else { "rate" })))
            }
            (None, Some(source)) => {
                let once = side.once.unwrap_or(false);
                Some((
                    RateSpec::Trace {
                        source: source.clone(),
                        columns: Columns::default(),
                        repeat: None,
                        once,
                        sha256: None,
                    },
                    at.clone(),
                ))
            }
            (None, None) => {
                let what = if draft.name == "bottleneck" { "the path" } else { "the link" };
                self.report.value(
                    at,
                    format!("{what} has no rate"),
                    "add `rate = \"10mbit\"`, or \"unlimited\", or `trace`",
                );
                None
            }
        }
    }

    /// What the queue of a link holds; `None` when that found problems.
    fn limit(&mut self, draft: &Draft, mean: Option<Rate>, bdp: Option<Bytes>) -> Option<QueueLimit> {
        let at = draft.at.key("buffer");
        let unlimited = QueueLimit::default();
        let buffer = match draft.side.buffer.clone() {
            Some(buffer) => buffer,
            // Nothing waits in front of an unlimited link, and an access link must not be the bottleneck's rival.
            None if mean.is_none() || draft.role == Role::Access || bdp.is_none() => return Some(unlimited),
            None if draft.side.wifi.is_some() => Buffer::Level(Level::Packets(WIFI_BUFFER)),
            None => Buffer::Level(Level::Bdp(1.0)),
        };
        let limit = match &buffer {
            Buffer::Unlimited => return Some(unlimited),
            Buffer::Level(Level::Packets(packets)) => QueueLimit { packets: Some(*packets), ..unlimited },
            Buffer::Level(Level::Bytes(bytes)) => QueueLimit { bytes: Some(bytes.as_u64()), ..unlimited },
            Buffer::Level(Level::Time(time)) => QueueLimit { time: Some(*time), ..unlimited },
            Buffer::Limits { packets, bytes, time, .. } => {
                QueueLimit { packets: *packets, bytes: bytes.map(Bytes::as_u64), time: *time }
            }
            Buffer::Level(Level::Bdp(multiple)) => {
                let Some(bdp) = bdp else {
                    let message = match mean {
                        None => "a link of unlimited rate has no bandwidth-delay product",
                        Some(_) => "no flow crosses this link, so it has no bandwidth-delay product",
                    };
                    self.report.value(&at, message, "write the buffer in packets, bytes or time");
                    return None;
                };
                let bytes = (bdp.as_u64() as f64 * multiple).round();
                if bytes >= 1e15 {
                    self.report.value(&at, format!("a buffer of {buffer} is {bytes} bytes"), "use \"unlimited\"");
                    return None;
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "whole, less than 1e15, and no multiple is negative"
                )]
                let bytes = bytes as u64;
                QueueLimit { bytes: Some(bytes), ..unlimited }
            }
        };
        if limit.packets == Some(0) || limit.bytes == Some(0) || limit.time == Some(Duration::ZERO) {
            let help = "allowed: at least one byte, packet or nanosecond; the packet in transmission does not count";
            self.report.value(&at, format!("a buffer of {buffer} holds nothing"), help);
            return None;
        }
        Some(limit)
    }

    /// The discipline of a queue; `None` when that found problems.
    fn queue(&mut self, spec: Option<&QueueSpec>, at: &KeyPath, link: &LinkContext) -> Option<QueueRecipe> {
        let Some(spec) = spec else { return Some(QueueRecipe::default()) };
        let is_known = |(of, at, _): &&(QueueSpec, LinkContext, QueueRecipe)| (of, at) == (spec, link);
        if let Some((_, _, queue)) = self.last_queues.iter().find(is_known) {
            return Some(queue.clone());
        }
        let QueueSpec(KindSpec { kind, parameters }) = spec;
        let resolved = queue::catalog().resolve(kind, parameters, link);
        let queue = resolved.map_err(|problems| self.report.parameters(at, problems)).ok()?;
        self.last_queues.push_front((spec.clone(), *link, queue.clone()));
        self.last_queues.truncate(LAST_QUEUES);
        Some(queue)
    }

    /// The losses of a link; `None` when that found problems.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether there are any")]
    fn loss(&mut self, spec: Option<&LossSpec>, at: &KeyPath, link: &LinkContext) -> Option<Option<LossRecipe>> {
        let resolved = match spec {
            None => return Some(None),
            Some(LossSpec::Kind(KindSpec { kind, parameters })) => loss::catalog().resolve(kind, parameters, link),
            Some(LossSpec::Trace { file, columns, repeat }) => {
                match self.loader.series(file, Quantity::Loss, columns) {
                    Ok(series) => {
                        let share = |value: f64| Ratio::new(value).unwrap_or_default();
                        let steps = series.steps.iter().map(|(start, value)| (*start, share(*value))).collect();
                        LossRecipe::of(Steps { steps, repeat: *repeat }, link).map_err(|problem| vec![problem])
                    }
                    Err(message) => {
                        self.report.value(&at.key("trace"), message, SERIES_HELP);
                        return None;
                    }
                }
            }
        };
        let recipe = resolved.map_err(|problems| self.report.parameters(at, problems)).ok()?;
        let never = LossRecipe::of(Bernoulli { p: Ratio::ZERO, correlation: Ratio::ZERO }, link).ok();
        Some(Some(recipe).filter(|recipe| Some(recipe) != never.as_ref()))
    }

    /// The policer of a link; `None` when that found problems.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether there is one")]
    fn policer(&mut self, policer: Option<Policer>, at: &KeyPath, link: &LinkContext) -> Option<Option<Policer>> {
        let Some(policer) = policer else { return Some(None) };
        policer.resolve(link).map(Some).map_err(|problem| self.report.parameters(at, [problem])).ok()
    }
}

/// How many queues are remembered.
const LAST_QUEUES: usize = 4;

/// The queue that mac80211 has for a station (`net/mac80211/tx.c`: `ieee80211_txq_setup_flows`).
fn station_queue() -> QueueSpec {
    let parameters = [("quantum", "300B"), ("target", "20ms"), ("interval", "100ms")];
    let mut parameters: Map<String, Value> =
        parameters.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
    parameters.insert("flows".to_owned(), Value::from(4_096));
    QueueSpec(KindSpec { kind: "fq_codel".to_owned(), parameters })
}
