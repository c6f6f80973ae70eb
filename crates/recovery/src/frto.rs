//! Forward RTO recovery (F-RTO, RFC 5682).
//!
//! After a timeout it is not known whether the flight was lost or only delayed. If the first ACKs cover a segment that
//! was not retransmitted, the flight was delayed, and the timeout was spurious. If they cover only retransmitted
//! segments, new data goes out instead of more retransmissions. The ACK of new data decides: if it advances, the flight
//! was delayed; if it is a duplicate, the flight was lost.

/// State of F-RTO after a timeout.
#[derive(Clone, Debug, Default)]
pub struct Frto {
    /// It is not yet decided whether the timeout was spurious (`tp->frto`).
    is_undecided: bool,
}

/// What an ACK in the Loss state looks like to F-RTO.
#[derive(Clone, Copy, Debug)]
pub struct LossAck {
    /// It acknowledges a segment that was sent once, before the timeout (`FLAG_ORIG_SACK_ACKED`).
    pub acks_original: bool,
    /// New data was sent since the timeout.
    pub sent_new_data: bool,
    /// It is a duplicate, or acknowledges selectively.
    pub is_duplicate: bool,
    /// It advances, and not over all that was sent before the timeout.
    pub is_partial: bool,
}

/// What F-RTO makes of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The timeout was spurious.
    Spurious,
    /// New data is to be sent, if there is any; else [`Frto::give_up`].
    TryNewData,
    /// Recovery goes on.
    Continue,
}

impl Frto {
    /// A timeout occurred. F-RTO runs if no fast recovery was under way, or if the timeout is a repeated one
    /// (`tcp_enter_loss`).
    pub fn on_timeout(&mut self, is_enabled: bool, was_in_recovery: bool, is_repeated: bool) {
        self.is_undecided = is_enabled && (!was_in_recovery || is_repeated);
    }

    /// The timeout counts as genuine: retransmission goes on.
    pub fn give_up(&mut self) {
        self.is_undecided = false;
    }

    /// An ACK in the Loss state (the first half of `tcp_process_loss`; steps of RFC 5682, section 3.1).
    pub fn on_ack(&mut self, ack: LossAck) -> Verdict {
        if !self.is_undecided {
            return Verdict::Continue;
        }
        // Step 3b.
        if ack.acks_original {
            return Verdict::Spurious;
        }
        if ack.sent_new_data {
            // Step 3a.
            self.is_undecided = !ack.is_duplicate;
        } else if ack.is_partial {
            // Step 2b.
            return Verdict::TryNewData;
        }
        Verdict::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: LossAck =
        LossAck { acks_original: false, sent_new_data: false, is_duplicate: false, is_partial: false };

    fn asked() -> Frto {
        let mut frto = Frto::default();
        frto.on_timeout(true, false, false);
        frto
    }

    #[test]
    fn an_original_that_is_acknowledged_proves_the_timeout_spurious() {
        assert_eq!(asked().on_ack(LossAck { acks_original: true, ..NOTHING }), Verdict::Spurious);
    }

    #[test]
    fn a_partial_ack_asks_for_new_data_and_a_duplicate_of_it_closes_the_question() {
        let mut frto = asked();
        assert_eq!(frto.on_ack(LossAck { is_partial: true, ..NOTHING }), Verdict::TryNewData);
        let duplicate = LossAck { sent_new_data: true, is_duplicate: true, ..NOTHING };
        assert_eq!(frto.on_ack(duplicate), Verdict::Continue);
        assert_eq!(frto.on_ack(LossAck { acks_original: true, ..NOTHING }), Verdict::Continue);
    }

    #[test]
    fn without_new_data_or_in_a_fast_recovery_the_question_is_not_asked() {
        let original = LossAck { acks_original: true, ..NOTHING };
        let mut frto = asked();
        frto.give_up();
        assert_eq!(frto.on_ack(original), Verdict::Continue);
        frto.on_timeout(true, true, false);
        assert_eq!(frto.on_ack(original), Verdict::Continue);
        frto.on_timeout(true, true, true);
        assert_eq!(frto.on_ack(original), Verdict::Spurious);
        frto.on_timeout(false, false, false);
        assert_eq!(frto.on_ack(original), Verdict::Continue);
    }
}
