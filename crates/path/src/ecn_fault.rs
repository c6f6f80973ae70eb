//! Faults that change the ECN bits of packets: what routers and middleboxes do that take the two bits for something
//! else.
//!
//! RFC 3168 tells in section 18.1 what such changes mean for the ends. A mark that is erased is congestion of which the
//! sender never hears; one that is false costs it half its window; a packet without its ECT is dropped by queues that
//! would have marked it.

use crate::ledger::Ledger;
use crate::packet::{Ecn, Packet};
use dumbbell_parameters::Problem;
use dumbbell_units::{Ratio, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The link changes the ECN bits of packets that come to it, before its queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnFault {
    /// What becomes of the bits.
    #[schemars(extend("x-source" = "RFC 3168, section 18.1"))]
    pub kind: EcnChange,
    /// The bits that `remark` gives to every packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "required with `remark`", "x-source" = "none"))]
    pub to: Option<Ecn>,
    /// Share of the packets to which it happens, each by itself.
    #[serde(default = "always")]
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "none: routers that do so do it to all"))]
    pub probability: Ratio,
}

fn always() -> Ratio {
    Ratio::new(1.0).unwrap_or_default()
}

/// What becomes of the ECN bits of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnChange {
    /// All bits are cleared: what was ECN-capable or marked becomes Not-ECT.
    Bleach,
    /// Marks are erased: CE becomes ECT(0).
    Unmark,
    /// ECN-capable packets are marked without congestion: ECT(0) and ECT(1) become CE.
    Mark,
    /// ECT(1) becomes ECT(0), so that L4S queues take packets for others.
    Ect1ToEct0,
    /// Every packet gets the bits `to`, as where a router writes the old type of service.
    Remark,
}

impl EcnFault {
    /// Whether it can be meant.
    ///
    /// # Errors
    /// `to` belongs to `remark`, which needs it.
    pub fn check(&self) -> Result<(), Problem> {
        match (self.kind, self.to) {
            (EcnChange::Remark, None) => {
                Err(Problem::missing("to", "`remark` needs the bits that packets get", "write to = \"not-ect\""))
            }
            (EcnChange::Remark, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => Err(Problem::key("to", "`to` belongs to `remark`", "remove it")),
        }
    }

    /// The bits of a packet with these, if it happens to that.
    pub fn turned(&self, ecn: Ecn) -> Ecn {
        match (self.kind, ecn) {
            (EcnChange::Bleach, _) => Ecn::NotEct,
            (EcnChange::Unmark, Ecn::Ce) | (EcnChange::Ect1ToEct0, Ecn::Ect1) => Ecn::Ect0,
            (EcnChange::Mark, Ecn::Ect0 | Ecn::Ect1) => Ecn::Ce,
            (EcnChange::Remark, _) => self.to.unwrap_or(ecn),
            _ => ecn,
        }
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        let what = match self.kind {
            EcnChange::Bleach => "clears the ECN bits",
            EcnChange::Unmark => "erases marks",
            EcnChange::Mark => "marks without congestion",
            EcnChange::Ect1ToEct0 => "turns ECT(1) into ECT(0)",
            EcnChange::Remark => match self.to.unwrap_or_default() {
                Ecn::NotEct => "sets the ECN bits to Not-ECT",
                Ecn::Ect0 => "sets the ECN bits to ECT(0)",
                Ecn::Ect1 => "sets the ECN bits to ECT(1)",
                Ecn::Ce => "sets the ECN bits to CE",
            },
        };
        let share =
            if self.probability == always() { String::new() } else { format!(", {} of packets", self.probability) };
        format!("{what}{share}")
    }
}

/// A fault and what it draws.
#[derive(Clone, Debug)]
pub(crate) struct FaultyEcn {
    fault: EcnFault,
    rng: Rng,
}

impl FaultyEcn {
    pub(crate) fn new(fault: EcnFault, rng: Rng) -> FaultyEcn {
        FaultyEcn { fault, rng }
    }

    /// A packet comes by.
    pub(crate) fn change<P: Packet>(&mut self, packet: &mut P, ledger: &mut Ledger<P>) {
        let turned = self.fault.turned(packet.ecn());
        let mut happens = || self.fault.probability == always() || self.rng.uniform() < self.fault.probability.as_f64();
        if turned != packet.ecn() && happens() {
            packet.set_ecn(turned);
            ledger.counted.ecn_changed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    fn fault(kind: EcnChange) -> EcnFault {
        EcnFault { kind, to: None, probability: always() }
    }

    #[test]
    fn each_kind_turns_what_it_is_about_and_nothing_else() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (kind, turned) in [
            (EcnChange::Bleach, [NotEct, NotEct, NotEct, NotEct]),
            (EcnChange::Unmark, [NotEct, Ect0, Ect1, Ect0]),
            (EcnChange::Mark, [NotEct, Ce, Ce, Ce]),
            (EcnChange::Ect1ToEct0, [NotEct, Ect0, Ect0, Ce]),
        ] {
            assert_eq!([NotEct, Ect0, Ect1, Ce].map(|ecn| fault(kind).turned(ecn)), turned, "{kind:?}");
        }
        let remark = EcnFault { to: Some(Ect1), ..fault(EcnChange::Remark) };
        assert_eq!([NotEct, Ect0, Ect1, Ce].map(|ecn| remark.turned(ecn)), [Ect1; 4]);
    }

    #[test]
    fn it_happens_to_its_share_of_packets_and_is_counted_where_it_changes_something() {
        let probability = Ratio::new(0.25).unwrap();
        let mut faulty = FaultyEcn::new(EcnFault { probability, ..fault(EcnChange::Mark) }, Rng::new(1));
        let mut ledger = Ledger::default();
        let mut marked = 0;
        for ecn in [Ecn::Ect0, Ecn::NotEct].into_iter().cycle().take(20_000) {
            let mut packet = TestPacket::of(0, ecn);
            faulty.change(&mut packet, &mut ledger);
            assert!(ecn == Ecn::Ect0 || packet.ecn == Ecn::NotEct);
            marked += u64::from(packet.ecn == Ecn::Ce);
        }
        assert!((2_350..2_650).contains(&marked), "{marked} of 10,000");
        assert_eq!(ledger.counted.ecn_changed, marked);
    }

    #[test]
    fn bits_to_set_belong_to_remarking() {
        let key = |fault: EcnFault| fault.check().map_err(|problem| problem.key).err();
        assert_eq!(key(fault(EcnChange::Remark)).as_deref(), Some("to"));
        assert_eq!(key(EcnFault { to: Some(Ecn::Ce), ..fault(EcnChange::Bleach) }).as_deref(), Some("to"));
        assert_eq!(key(EcnFault { to: Some(Ecn::Ce), ..fault(EcnChange::Remark) }), None);
    }

    #[test]
    fn it_is_told_in_words() {
        let half = Ratio::new(0.5).unwrap();
        assert_eq!(fault(EcnChange::Bleach).in_words(), "clears the ECN bits");
        assert_eq!(
            EcnFault { probability: half, ..fault(EcnChange::Mark) }.in_words(),
            "marks without congestion, 50% of packets"
        );
    }
}
