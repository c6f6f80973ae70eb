//! The end of a connection (`tcp_send_fin`, `tcp_fin`, `tcp_close`).
//!
//! The endpoints never end one: a FIN is here the byte behind the data of its direction, which leaves, arrives and is
//! acknowledged as data is.

use super::connection::Connection;
use super::{Emitted, Ending};
use crate::script::{Flags, Packet};
use dumbbell_transport::Ack;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// How long the ACK of a FIN waits after data has come, and that of data which fills a receive buffer
/// (`TCP_DELACK_MIN`).
const ACK_DELAY: Duration = Duration::from_millis(40);

/// States of a connection, with the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TcpState {
    Established = 1,
    FinWait1 = 4,
    FinWait2 = 5,
    TimeWait = 6,
    Close = 7,
    CloseWait = 8,
    LastAck = 9,
    Closing = 11,
}

/// How far both directions of a connection are closed.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    /// The byte of the host's own FIN.
    own: Option<u64>,
    /// The byte of the other end's, as soon as a packet with it has come, also above a hole.
    other: Option<u64>,
    /// The other end's came before the host's own left.
    is_passive: bool,
    /// The application reads no more.
    is_deaf: bool,
    /// It has closed its socket, and not only one direction.
    is_closed: bool,
    /// When the ACK of the other end's FIN leaves at the latest.
    ack_due: Time,
}

impl Closing {
    pub(super) fn none() -> Closing {
        Closing { own: None, other: None, is_passive: false, is_deaf: false, is_closed: false, ack_due: Time::NEVER }
    }

    /// The byte of the host's own FIN.
    pub(super) fn own(&self) -> Option<u64> {
        self.own
    }

    pub(super) fn ack_due(&self) -> Time {
        self.ack_due
    }

    /// What has come is acknowledged a while later.
    pub(super) fn delay_ack(&mut self, now: Time) {
        self.ack_due = self.ack_due.min(now + ACK_DELAY);
    }

    /// A packet leaves, and acknowledges all that has come.
    pub(super) fn note_acknowledged(&mut self) {
        self.ack_due = Time::NEVER;
    }
}

impl Connection {
    pub(super) fn tcp_state(&self) -> TcpState {
        let own = self.closing.own.map(|byte| self.outgoing.byte(self.sender.view().snd_una as u32) > byte);
        match (own, self.has_ended()) {
            (None, false) => TcpState::Established,
            (None, true) => TcpState::CloseWait,
            (Some(false), false) => TcpState::FinWait1,
            (Some(true), false) => TcpState::FinWait2,
            (Some(false), true) if self.closing.is_passive => TcpState::LastAck,
            (Some(false), true) => TcpState::Closing,
            (Some(true), true) if self.closing.is_passive => TcpState::Close,
            (Some(true), true) => TcpState::TimeWait,
        }
    }

    /// Whether a socket without an application waits for the other end's FIN, or for what may come again behind it: it
    /// knows the numbers of the connection and little else (`tcp_time_wait`).
    pub(super) fn is_left_alone(&self) -> bool {
        self.closing.is_closed && matches!(self.tcp_state(), TcpState::FinWait2 | TcpState::TimeWait)
    }

    /// Answers for such a socket: without what accurate ECN has counted, but with its ECN bits.
    pub(super) fn answer_alone(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        self.acknowledge_all(now, sent);
        if let Some(Emitted { packet, .. }) = sent.back_mut() {
            packet.flags = Flags::ACK;
            if let Some(options) = &mut packet.options {
                options.counters = None;
            }
        }
    }

    /// Whether the other end's FIN has come in order.
    pub(super) fn has_ended(&self) -> bool {
        self.closing.other.is_some_and(|byte| self.incoming.byte(self.last_delivered()) > byte)
    }

    /// Bytes of data that have come in order.
    pub(super) fn bytes_received(&self) -> u64 {
        self.incoming.byte(self.last_delivered()) - u64::from(self.has_ended())
    }

    /// Those that the application has not read.
    pub(super) fn unread(&self) -> u64 {
        self.bytes_received() - self.read
    }

    /// The application says no more: what is written leaves, a FIN behind it.
    pub(super) fn end_writing(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        if self.closing.own.is_some() {
            return;
        }
        // Nothing follows that a short segment could wait for.
        self.sender.set_nodelay(true);
        self.release(now);
        self.closing.own = Some(self.outgoing.end());
        if self.outgoing.finish(self.sender.view().snd_nxt) {
            self.sender.write_fin(now);
        }
        self.transmit(now, sent);
    }

    /// `shutdown(SHUT_RD)`: what comes is still acknowledged.
    pub(super) fn end_reading(&mut self) {
        self.closing.is_deaf = true;
    }

    /// `close`. Whoever leaves data unread resets the connection.
    pub(super) fn close(&mut self, now: Time, sent: &mut VecDeque<Emitted>) -> Ending {
        if self.unread() > 0 {
            let nxt = self.outgoing.byte(self.sender.view().snd_nxt as u32);
            let packet = self.packet(Flags::RST, nxt, 0, now);
            sent.push_back(Emitted { at: now, packet, stamp: now });
            return Ending::Reset;
        }
        self.closing.is_closed = true;
        self.end_reading();
        self.end_writing(now, sent);
        Ending::None
    }

    /// `read` of up to `most` bytes.
    pub(super) fn read(&mut self, now: Time, most: u64, sent: &mut VecDeque<Emitted>) -> Result<u64, &'static str> {
        let there = self.unread();
        if there == 0 && !self.has_ended() && !self.closing.is_deaf {
            return Err("EAGAIN");
        }
        let read = there.min(most);
        self.read += read;
        self.note_read(now, sent);
        Ok(read)
    }

    /// Whether a packet brings data that nobody will ever read.
    pub(super) fn refuses(&self, packet: &Packet) -> bool {
        let is_half_closed = matches!(self.tcp_state(), TcpState::FinWait1 | TcpState::FinWait2);
        let end = self.start_of(packet) + u64::from(packet.len);
        let is_new = packet.len > 0 && end < u64::from(u32::MAX / 2) && end > self.incoming.byte(self.last_delivered());
        is_half_closed && self.closing.is_deaf && is_new
    }

    /// A packet with a FIN comes.
    pub(super) fn note_fin(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::FIN) && !self.has_ended() {
            self.closing.other.get_or_insert(self.start_of(packet) + u64::from(packet.len));
        }
    }

    /// The FIN of the other end has come in order, and the receiver would answer with `acks`: whether it does. One that
    /// meets an open connection waits for what the application has to say; another one is answered at once.
    pub(super) fn answers_fin(&mut self, now: Time, has_own: bool, acks: &mut Vec<Ack>) -> bool {
        self.closing.is_passive = !has_own;
        if has_own {
            acks.clear();
            return true;
        }
        let unacknowledged = self.incoming.byte(self.last_delivered()) - self.incoming.byte(self.last_ack);
        if self.bytes_received() > 0 && unacknowledged <= u64::from(self.peer_segment) {
            acks.clear();
            self.closing.delay_ack(now);
        }
        false
    }
}
