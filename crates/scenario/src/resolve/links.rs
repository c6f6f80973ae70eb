//! From a described link to its configuration: rate, policer, queue, loss, delay.

use super::network::{Draft, Network, Role};
use super::{Context, LinkNotes, MAX_DELAY};
use crate::file::{Buffer, JitterSpec, LossPlace, LossSpec, RateSpec, ReorderSpec};
use crate::key_path::KeyPath;
use crate::{Flow, Link};
use dumbbell_path::{Delay, JitterDistribution, LinkConfig, Loss, QueueConfig, QueueLimit};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};

/// The most framing bytes of a packet.
const MAX_OVERHEAD: Bytes = Bytes::new(10_000);

impl Context<'_> {
    pub(super) fn links(&mut self, network: &Network, flows: &[Flow]) -> (Vec<Link>, Vec<LinkNotes>) {
        let mut links = Vec::new();
        let mut notes = Vec::new();
        // The longest round-trip time of the flows that cross a link, and their largest packet of data.
        let mut crossing: Vec<(Option<Duration>, u32)> = vec![(None, 0); network.links.len()];
        for flow in flows {
            for &link in flow.forward.iter().chain(&flow.reverse) {
                let longest = &mut crossing[link].0;
                *longest = (*longest).max(Some(flow.base_rtt));
            }
            for &link in &flow.forward {
                let largest = &mut crossing[link].1;
                *largest = (*largest).max(flow.transport.mss + flow.transport.header_bytes());
            }
        }
        for (draft, (longest, largest)) in network.links.iter().zip(crossing) {
            let rtt = network.path_rtt.or(longest);
            if let Some((config, note)) = self.link(draft, rtt, largest) {
                links.push(Link { from: draft.from, to: draft.to, config });
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
        let kind = self.discipline(draft, &limit, resolved.mean, bdp)?;
        let loss = self.loss(side.loss.as_ref(), &at.key("loss"));
        let (loss_before, loss_after) = match side.loss_at.unwrap_or_default() {
            LossPlace::Before => (loss, Loss::None),
            LossPlace::After => (Loss::None, loss),
        };
        if side.loss_at.is_some() && side.loss.is_none() {
            self.report.key(&at.key("loss_at"), "`loss_at` places a loss, but there is none", "add `loss`");
        }
        let overhead = side.overhead.unwrap_or_default();
        if overhead > MAX_OVERHEAD {
            self.report.value(
                &at.key("overhead"),
                format!("{overhead} of framing for every packet"),
                format!("allowed: at most {MAX_OVERHEAD}"),
            );
        }
        let policed = u64::from(largest) + overhead.as_u64();
        let policer = self.policer(side.policer.as_ref(), &at.key("policer"), policed)?;
        let config = LinkConfig {
            name: draft.name.clone(),
            rate: resolved.rate,
            overhead_bytes: overhead.as_u64().min(MAX_OVERHEAD.as_u64()) as u32,
            delay: self.delay(draft),
            policer,
            queue: QueueConfig { limit, kind },
            loss_before,
            loss_after,
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

    /// The rate of a link and where it is written.
    fn rate_spec(&mut self, draft: &Draft) -> Option<(RateSpec, KeyPath)> {
        let Draft { side, at, .. } = draft;
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
                Some((RateSpec::Trace { source: source.clone(), once, sha256: None }, at.clone()))
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
        let buffer = match draft.side.buffer {
            Some(buffer) => buffer,
            // Nothing waits in front of an unlimited link, and an access link must not be the bottleneck's rival.
            None if mean.is_none() || draft.role == Role::Access || bdp.is_none() => return Some(unlimited),
            None => Buffer::Bdp(1.0),
        };
        let limit = match buffer {
            Buffer::Unlimited => return Some(unlimited),
            Buffer::Packets(packets) => QueueLimit { packets: Some(packets), ..unlimited },
            Buffer::Bytes(bytes) => QueueLimit { bytes: Some(bytes.as_u64()), ..unlimited },
            Buffer::Time(time) => QueueLimit { time: Some(time), ..unlimited },
            Buffer::Limits { packets, bytes, time } => QueueLimit { packets, bytes: bytes.map(Bytes::as_u64), time },
            Buffer::Bdp(multiple) => {
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
                QueueLimit { bytes: Some(bytes as u64), ..unlimited }
            }
        };
        if limit.packets == Some(0) || limit.bytes == Some(0) || limit.time == Some(Duration::ZERO) {
            let help = "allowed: at least one byte, packet or nanosecond; the packet in transmission does not count";
            self.report.value(&at, format!("a buffer of {buffer} holds nothing"), help);
            return None;
        }
        Some(limit)
    }

    fn loss(&mut self, spec: Option<&LossSpec>, at: &KeyPath) -> Loss {
        match spec {
            None => Loss::None,
            Some(LossSpec::Independent(p)) => {
                self.probability(*p, at, "a loss");
                if *p == Ratio::ZERO { Loss::None } else { Loss::Bernoulli(p.as_f64()) }
            }
            Some(LossSpec::GilbertElliott { p, r, loss_bad, loss_good }) => {
                for (value, key) in [(p, "p"), (r, "r"), (loss_bad, "loss_bad"), (loss_good, "loss_good")] {
                    self.probability(*value, &at.key(key), &format!("`{key}`"));
                }
                Loss::GilbertElliott {
                    p: p.as_f64(),
                    r: r.as_f64(),
                    loss_bad: loss_bad.as_f64(),
                    loss_good: loss_good.as_f64(),
                }
            }
        }
    }

    fn delay(&mut self, draft: &Draft) -> Delay {
        let Draft { side, at, .. } = draft;
        let mut delay = Delay { base: draft.delay, reorder_gap: 1, ..Delay::default() };
        if let Some(JitterSpec { amount, normal, correlation, reorders }) = side.jitter {
            let jitter_at = at.key("jitter");
            if amount > MAX_DELAY {
                self.report.value(&jitter_at, format!("a jitter of {amount}"), format!("allowed: at most {MAX_DELAY}"));
            }
            self.probability(correlation, &jitter_at.key("correlation"), "a correlation");
            delay.jitter = amount;
            delay.distribution = if normal { JitterDistribution::Normal } else { JitterDistribution::Uniform };
            delay.jitter_correlation = correlation.as_f64();
            delay.jitter_reorders = reorders;
        }
        if let Some(ReorderSpec { probability, gap }) = side.reorder {
            let reorder_at = at.key("reorder");
            self.probability(probability, &reorder_at, "a reordering probability");
            if gap == 0 {
                self.report.value(&reorder_at.key("gap"), "a gap of 0", "allowed: 1 or more");
            }
            delay.reorder = probability.as_f64();
            delay.reorder_gap = gap;
        }
        delay
    }

    fn probability(&mut self, value: Ratio, at: &KeyPath, what: &str) {
        if !value.is_probability() {
            self.report.value(at, format!("{what} of {value} is impossible"), "allowed: \"0%\" to \"100%\", or 0 to 1");
        }
    }
}
