//! Links that change ECN bits, and whether packets come to them whose bits they would change.

use super::Context;
use super::network::Network;
use crate::{Flow, Link};
use dumbbell_path::{Action, Ecn, EcnChange, LinkConfig};
use dumbbell_units::Rng;
use std::collections::HashSet;

impl Context<'_> {
    /// Refuses faults of ECN bits that would change nothing.
    pub(super) fn check_ecn_faults<'f>(
        &mut self,
        network: &Network,
        links: &[Link],
        flows: impl Iterator<Item = &'f Flow>,
    ) {
        let faulty = |link: &Link| link.config.impairments.ecn_fault.is_some();
        // Links that were refused are not among them.
        if links.len() != network.links.len() || !links.iter().any(faulty) {
            return;
        }
        let mut acts = vec![false; links.len()];
        for flow in flows {
            let wanted = flow.cc.controller(Rng::new(0)).ecn();
            let ecn = flow.transport.ecn.with(wanted);
            // What is sent again, ACKs and handshakes may have no bits.
            let data = [ecn.codepoint(wanted), Ecn::NotEct];
            let acks = [ecn.codepoint_again(wanted), Ecn::NotEct];
            for (route, sent) in [(&flow.forward, data), (&flow.reverse, acks)] {
                let mut bits = HashSet::from(sent);
                for &link in &**route {
                    acts[link] |= pass(&links[link].config, &mut bits);
                }
            }
        }
        for ((draft, link), acts) in network.links.iter().zip(links).zip(acts) {
            let Some(fault) = link.config.impairments.ecn_fault.filter(|fault| !acts && fault.check().is_ok()) else {
                continue;
            };
            let help = match fault.kind {
                EcnChange::Unmark => {
                    "put it behind a link whose queue marks, on the way of a flow with `transport = { ecn = true }`: \
                     what this link's own queue marks stays marked"
                }
                EcnChange::Ect1ToEct0 => "let a flow cross it that sends ECT(1), as with cc = \"prague\", or remove it",
                EcnChange::Bleach | EcnChange::Mark | EcnChange::Remark => {
                    "let a flow cross it with `transport = { ecn = true }`, or remove it"
                }
            };
            let message = "no packet comes to this link whose ECN bits the fault would change";
            self.report.key(&draft.at.key("ecn_fault"), message, help);
        }
    }
}

/// What ECN bits packets have behind a link that come with these; whether its fault changes some.
fn pass(config: &LinkConfig, bits: &mut HashSet<Ecn>) -> bool {
    let mut acts = false;
    if let Some(fault) = &config.impairments.ecn_fault {
        let turned: HashSet<Ecn> = bits.iter().map(|&ecn| fault.turned(ecn)).collect();
        acts = bits.iter().any(|&ecn| fault.turned(ecn) != ecn);
        if fault.probability.as_f64() >= 1.0 {
            bits.clear();
        }
        bits.extend(turned);
    }
    if may_mark(config) && [Ecn::Ect0, Ecn::Ect1].iter().any(|ecn| bits.contains(ecn)) {
        bits.insert(Ecn::Ce);
    }
    acts
}

/// Whether packets may be marked on a link, as far as its parameters tell: all queues but drop-tail may, unless they
/// say not.
fn may_mark(config: &LinkConfig) -> bool {
    let queue = &config.queue;
    let has_marks = queue.kind() != "droptail" && queue.parameters().get("ecn") != Some(&false.into());
    has_marks || config.impairments.events.iter().any(|event| event.action == Action::Mark)
}
