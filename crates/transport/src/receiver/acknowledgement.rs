//! What an ACK says.

use super::{Receiver, Waiting, Window};
use crate::{Ack, CumulativeAck};
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::Time;

impl Receiver {
    /// Builds an ACK of everything before the current segment, which has to leave before the ACK of this segment
    /// (`tcp_sack_compress_send_ack`, `dctcp_ece_ack_update`).
    #[inline(never)]
    pub(super) fn hold_back(&mut self, now: Time) {
        let ack = self.acknowledge(now);
        match &mut self.held_back {
            Some(held_back) => **held_back = ack,
            None => self.held_back = Some(Box::new(ack)),
        }
        self.waiting = Waiting::HeldBack;
    }

    /// Builds an ACK of everything so far (`tcp_send_ack`). No other ACK is pending afterwards.
    #[inline(never)]
    pub(super) fn acknowledge(&mut self, now: Time) -> Ack {
        self.build_ack(now)
    }

    /// [`acknowledge`](Self::acknowledge) where the compiler is not to make a call of it.
    #[inline(always)]
    pub(super) fn build_ack(&mut self, now: Time) -> Ack {
        let held = self.held.segments();
        let unread_by_reader = self.reading.unread_by_reader(now, self.counts.delivered_bytes());
        let filled = self.reading.filled();
        // A segment in order is acknowledged on arrival before it is read.
        let arrived = if now == self.acks.last_data_at() { self.sizing.arrived() } else { 0 };
        let queued = held + unread_by_reader.unwrap_or_else(|| filled.map_or(arrived, |unread| unread.segments));
        let window = self.window.constant_beside(unread_by_reader.unwrap_or(0), held);
        let window = match window {
            None => self.sizing.window_from(self.window.left_from(self.rcv_nxt), queued),
            constant => constant,
        };
        if queued > 0 && self.sizing.is_scarce(queued) {
            self.acks.end_quick();
        }
        let mut ack = Ack::from(self.cumulative_ack(now, window));
        if let Some(unread) = filled
            && self.window.constant().is_none()
            && self.sizing.doubles(self.window.left_from(self.rcv_nxt), held)
        {
            self.acks.wake_by(unread.read_at);
        }
        self.sack.write(held > 0, self.timestamps.are_on(), &mut ack);
        self.ecn.tell(&mut ack, self.timestamps.are_on());
        if unread_by_reader.is_some() {
            self.read_on();
        }
        ack
    }

    /// Builds an ACK without SACK blocks that advertises `window`, or what is left of the last one if that is more
    /// (`tcp_event_ack_sent`).
    #[inline(always)]
    pub(super) fn cumulative_ack(&mut self, now: Time, window: Option<Window>) -> CumulativeAck {
        let window = self.window.tell(window, self.rcv_nxt, self.last_acked, &self.sizing);
        self.acks.note_sent();
        self.compression.note_sent();
        self.last_acked = self.rcv_nxt;
        self.counts.note_acks(1);
        CumulativeAck {
            ack: self.rcv_nxt,
            ece: self.ecn.echoes(),
            window,
            sent_at: Timestamp::at(now),
            echo: self.timestamps.echo(),
        }
    }
}
