//! Step marking: the switch of DCTCP (RFC 8257).
//!
//! A first-in-first-out queue that marks every ECN-capable packet above one threshold K, and nothing below it. Compared
//! is the instantaneous backlog, the packet itself included, when it arrives or when the transmitter takes it (which
//! tells senders earlier by the time the packet would have waited), or the time the packet has waited. There is no
//! average and no state: DCTCP's senders do the smoothing. Packets that are not ECN-capable pass or are dropped.

use super::Verdict;
use super::held::Store;
use crate::config::{Level, Threshold};
use crate::link::{DropCause, Ledger};
use crate::packet::{Ecn, Packet};
use crate::stats::Backlog;
use dumbbell_units::{Duration, Time};

/// A threshold and what happens above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    threshold: Threshold,
    drop_not_ect: bool,
}

impl Step {
    pub(crate) fn new(threshold: Threshold, drop_not_ect: bool) -> Step {
        Step { threshold, drop_not_ect }
    }

    /// About a packet when it arrives or is taken: `backlog` includes it, `waited` is how long it has waited.
    pub(crate) fn judge(&self, backlog: Backlog, waited: Duration, ecn: Ecn) -> Verdict {
        let above = match self.threshold {
            Threshold::Arriving(Level::Packets(k)) | Threshold::Departing(Level::Packets(k)) => backlog.packets > k,
            Threshold::Arriving(Level::Bytes(k)) | Threshold::Departing(Level::Bytes(k)) => backlog.bytes > k,
            Threshold::Sojourn(longest) => waited > longest,
        };
        match ecn {
            _ if !above => Verdict::Pass,
            Ecn::NotEct if self.drop_not_ect => Verdict::Drop,
            Ecn::NotEct => Verdict::Pass,
            _ => Verdict::Mark,
        }
    }

    /// The packet the transmitter takes now, with the time of its arrival.
    pub(crate) fn dequeue<P: Packet>(
        &self,
        now: Time,
        store: &mut Store<P>,
        ledger: &mut Ledger<P>,
    ) -> Option<(Time, P)> {
        loop {
            let backlog = store.occupancy.backlog();
            let (arrived, mut packet) = store.pop(now)?;
            match self.judge(backlog, now.since(arrived), packet.ecn()) {
                Verdict::Pass => return Some((arrived, packet)),
                Verdict::Mark => {
                    packet.mark();
                    ledger.marked += 1;
                    return Some((arrived, packet));
                }
                Verdict::Drop => ledger.drop_later(packet, DropCause::Aqm),
            }
        }
    }
}
