//! Step marking: the switch of DCTCP (RFC 8257).
//!
//! A first-in-first-out queue that marks every ECN-capable packet above one threshold K, and nothing below it. Compared
//! is the instantaneous backlog, the packet itself included, when it arrives or when the transmitter takes it (which
//! tells senders earlier by the time the packet would have waited), or the time the packet has waited. There is no
//! average and no state: DCTCP's senders do the smoothing.

use super::discipline::{Arrival, Discipline, Gate, Held, Queue, Verdict};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use crate::level::Level;
use crate::packet::Ecn;
use crate::stats::Backlog;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest waiting time that can be a threshold.
const MAX_TIME: Duration = Duration::from_secs(3_600);

/// The switch of DCTCP: ECN-capable packets above one threshold are marked, and no others.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Packets above it are marked: a backlog, the packet itself included, or the time that a packet has waited.
    #[schemars(extend("x-source" = "RFC 8257, section 3.1: K"))]
    pub threshold: Level,
    /// When the backlog is compared. A waiting time is compared at `"dequeue"` always.
    #[schemars(extend("x-default" = "`\"enqueue\"` for a backlog", "x-source" = "RFC 8257, section 3.1: on arrival"))]
    pub mark: Option<MarkPlace>,
    /// Drop packets above the threshold that are not ECN-capable instead of letting them pass.
    #[serde(default)]
    #[schemars(extend("x-source" = "RFC 8257, section 5: traffic without ECN"))]
    pub drop_not_ect: bool,
}

/// Where the backlog is compared with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkPlace {
    /// When a packet arrives.
    Enqueue,
    /// When the transmitter takes a packet.
    Dequeue,
}

impl Described<LinkContext> for Threshold {
    const NAME: &'static str = "threshold";
    const SOURCE: &'static str = "RFC 8257, section 3.1";

    fn resolve(self, link: &LinkContext) -> Result<Threshold, Problem> {
        let Threshold { threshold, mark, drop_not_ect } = self;
        let whole = Bytes::new(u64::from(super::discipline::FULL_PACKET));
        let (level, default) = match threshold {
            Level::Time(_) if mark == Some(MarkPlace::Enqueue) => {
                let help = "leave `mark` out, or give `threshold` in packets or bytes";
                return Err(Problem::value("mark", "a waiting time is known only at \"dequeue\"", help));
            }
            Level::Time(time) if time == Duration::ZERO || time > MAX_TIME => {
                let help = format!("allowed: more than 0s, at most {MAX_TIME}");
                return Err(Problem::value("threshold", format!("the threshold is {time}"), help));
            }
            Level::Time(_) => (threshold, MarkPlace::Dequeue),
            Level::Packets(_) => (threshold, MarkPlace::Enqueue),
            Level::Bytes(_) | Level::Bdp(_) => {
                (Level::Bytes(link.bytes("threshold", threshold, whole)?), MarkPlace::Enqueue)
            }
        };
        if [Level::Bytes(Bytes::ZERO), Level::Packets(0)].contains(&level) {
            let help = "allowed: at least one packet, byte or nanosecond";
            return Err(Problem::value("threshold", format!("a threshold of {threshold} marks every packet"), help));
        }
        Ok(Threshold { threshold: level, mark: Some(mark.unwrap_or(default)), drop_not_ect })
    }

    fn in_words(&self) -> String {
        let level = self.threshold.in_words();
        let above = match (self.threshold, self.mark) {
            (Level::Time(_), _) => format!("{level} of waiting"),
            (_, Some(MarkPlace::Dequeue)) => format!("{level} at departure"),
            _ => level,
        };
        format!("step-marking (above {above}{})", if self.drop_not_ect { ", drops without ECN" } else { "" })
    }
}

impl Discipline for Threshold {
    fn queue(&self, _: Rng) -> Queue {
        let step = Step { threshold: self.threshold, drop_not_ect: self.drop_not_ect };
        match self.mark {
            Some(MarkPlace::Dequeue) => Queue::held(AtDeparture { step, line: Line::default() }),
            _ => Queue::gated(step),
        }
    }
}

/// A threshold and what happens above it.
#[derive(Clone, Copy, Debug)]
struct Step {
    threshold: Level,
    drop_not_ect: bool,
}

impl Step {
    /// About a packet when it arrives or is taken: `backlog` includes it, `waited` is how long it has waited.
    fn verdict(&self, backlog: Backlog, waited: Duration, ecn: Ecn) -> Verdict {
        let above = match self.threshold {
            Level::Packets(k) => backlog.packets > k,
            Level::Time(longest) => waited > longest,
            Level::Bytes(_) | Level::Bdp(_) => backlog.bytes > self.threshold.as_bytes(),
        };
        match ecn {
            _ if !above => Verdict::Pass,
            Ecn::NotEct if self.drop_not_ect => Verdict::Drop,
            Ecn::NotEct => Verdict::Pass,
            _ => Verdict::Mark,
        }
    }
}

impl Gate for Step {
    fn judge(&mut self, _: Time, packet: &Arrival) -> Verdict {
        let Backlog { packets, bytes } = packet.backlog;
        let with_it = Backlog { packets: packets + 1, bytes: bytes + u64::from(packet.size) };
        self.verdict(with_it, Duration::ZERO, packet.ecn)
    }
}

/// A queue that compares when the transmitter takes a packet.
#[derive(Clone, Debug)]
struct AtDeparture {
    step: Step,
    line: Line,
}

impl Held for AtDeparture {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.line.push_if_it_fits(now, packet, buffer)
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        loop {
            let backlog = buffer.backlog();
            let mut packet = self.line.pop(now, buffer)?;
            match self.step.verdict(backlog, packet.waited(now), packet.ecn()) {
                Verdict::Pass => return Some(packet),
                Verdict::Mark => {
                    buffer.mark(&mut packet);
                    return Some(packet);
                }
                Verdict::Drop => buffer.drop(packet, DropCause::Aqm),
            }
        }
    }
}
