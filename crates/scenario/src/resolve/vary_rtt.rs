//! Round-trip times that differ a little from repetition to repetition.
//!
//! A network without chance gives every seed the same result, and where flows share a drop-tail queue that result can
//! hang on the order in which their packets happen to arrive. `vary_rtt` draws for each flow, from the seed of the
//! repetition, how much longer its round trip is. The link that a flow has to itself at its sender takes that time.

use super::{Context, LinkNotes, Resolved, top};
use crate::file::VaryRtt;
use crate::{Flow, Link};
use dumbbell_units::{Duration, Rng};
use std::sync::Arc;

/// The random streams that the round-trip times of flows are drawn from, one a flow, from this number on.
const RTT_STREAMS: u64 = 4 << 32;

impl Context<'_> {
    /// How much longer the round trip of each flow may be than the file says; empty if it is as the file says.
    pub(super) fn rtt_spans(&mut self, flows: &[Flow], links: &[Link], notes: &[LinkNotes]) -> Vec<Duration> {
        match self.file.vary_rtt {
            None => Vec::new(),
            Some(VaryRtt::Time(span)) => vec![span; flows.len()],
            Some(VaryRtt::Packets(packets)) => {
                let spans: Option<Vec<_>> =
                    flows.iter().map(|flow| time_of_a_packet(flow, links, notes).map(|time| time * packets)).collect();
                spans.unwrap_or_else(|| {
                    let message = "the way of a flow has no link with a rate, so that its packets take no time";
                    self.report.value(&top("vary_rtt"), message, "write a time, such as \"1ms\"");
                    Vec::new()
                })
            }
        }
    }
}

/// What the largest packet of a flow takes on the slowest link of its way.
fn time_of_a_packet(flow: &Flow, links: &[Link], notes: &[LinkNotes]) -> Option<Duration> {
    const BIT_NANOSECONDS: u128 = 8_000_000_000;
    let payload_and_header = flow.transport.largest_payload() + flow.transport.header_bytes();
    let time_on = |index: usize| {
        let bits_per_sec = notes.get(index)?.mean_rate?.as_bits_per_sec();
        let bytes = u128::from(payload_and_header + links[index].config.overhead_bytes);
        u64::try_from((bytes * BIT_NANOSECONDS).checked_div(bits_per_sec.into())?).ok()
    };
    flow.forward.iter().filter_map(|link| time_on(*link)).max().map(Duration::from_nanos)
}

/// Draws the round-trip times of the flows from the seed of the scenario.
pub(crate) fn vary_rtts(resolved: &mut Resolved) {
    let scenario = Arc::make_mut(&mut resolved.scenario);
    for (number, (flow, span)) in scenario.flows.iter_mut().zip(&resolved.rtt_spans).enumerate() {
        let mut stream = Rng::stream(scenario.seed, RTT_STREAMS + number as u64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the span, not negative")]
        let longer = Duration::from_nanos((stream.uniform() * span.as_nanos() as f64) as u64);
        if let Some(own) = flow.forward.first().and_then(|link| scenario.links.get_mut(*link)) {
            own.config.delay.base += longer;
            flow.base_rtt += longer;
        }
    }
}
