//! What travels through the simulated network.
//!
//! Thousands of packets are in flight and each is copied several times, so a packet is small: what its headers tell in
//! two places it holds once, and what only few packets carry (selective acknowledgements, the ranges of QUIC) lies in a
//! [`Store`].

use dumbbell_path::Ecn;
use dumbbell_transport::quic::{QuicAck, QuicPacket};
use dumbbell_transport::{Ack, SackBlock, Segment};
use dumbbell_units::Time;
use std::num::NonZeroU32;

/// A packet of some flow, on some hop of its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Timestamp option: when a packet left, or the time that an ACK echoes.
    timestamp: Time,
    pub flow: u32,
    /// IP length.
    pub size: u16,
    /// Links of its route that it has not passed.
    pub hops_left: u8,
    pub ecn: Ecn,
    pub body: Body,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Data { seq: u32, cwr: bool, is_retransmission: bool, push: bool },
    Ack { ack: u32, window: u32, ece: bool, sacks: Option<Handle> },
    QuicData { number: u32, seq: u32, is_retransmission: bool },
    QuicAck(Handle),
    Syn,
    SynAck,
}

impl Body {
    /// Whether the packet travels from the sender to the receiver.
    #[inline]
    pub fn is_forward(&self) -> bool {
        matches!(self, Body::Data { .. } | Body::QuicData { .. } | Body::Syn)
    }
}

impl Packet {
    /// IP and TCP headers with the timestamp option.
    const HEADER: u16 = 52;
    /// IP and UDP headers, a short header and the authentication tag.
    const QUIC_HEADER: u16 = 50;
    /// A SYN or SYN-ACK with its options.
    const HANDSHAKE: u16 = 60;

    #[inline]
    pub fn data(flow: u32, hops_left: u8, segment: Segment) -> Packet {
        let Segment { seq, len, ecn, cwr, is_retransmission, push, sent_at } = segment;
        let body = Body::Data { seq, cwr, is_retransmission, push };
        Packet { timestamp: sent_at, flow, size: len + Packet::HEADER, hops_left, ecn, body }
    }

    /// The segment of a data packet, as it arrives.
    #[inline]
    pub fn segment(&self, seq: u32, cwr: bool, is_retransmission: bool, push: bool) -> Segment {
        let len = self.size - Packet::HEADER;
        Segment { seq, len, ecn: self.ecn, cwr, is_retransmission, push, sent_at: self.timestamp }
    }

    #[inline]
    pub fn ack(flow: u32, hops_left: u8, ack: &Ack, store: &mut Store<Sacks>) -> Packet {
        let sacks = if ack.sack_count == 0 { None } else { Some(store.put((ack.sack, ack.sack_count))) };
        let body = Body::Ack { ack: ack.ack, window: ack.window, ece: ack.ece, sacks };
        Packet { timestamp: ack.echo, flow, size: ack.wire_size() as u16, hops_left, ecn: Ecn::NotEct, body }
    }

    #[inline]
    pub fn quic_data(flow: u32, hops_left: u8, packet: QuicPacket) -> Packet {
        let QuicPacket { number, seq, len, ecn, is_retransmission, sent_at } = packet;
        let body = Body::QuicData { number, seq, is_retransmission };
        Packet { timestamp: sent_at, flow, size: len + Packet::QUIC_HEADER, hops_left, ecn, body }
    }

    /// The packet of a QUIC-like flow, as it arrives.
    #[inline]
    pub fn quic_packet(&self, number: u32, seq: u32, is_retransmission: bool) -> QuicPacket {
        let len = self.size - Packet::QUIC_HEADER;
        QuicPacket { number, seq, len, ecn: self.ecn, is_retransmission, sent_at: self.timestamp }
    }

    pub fn quic_ack(flow: u32, hops_left: u8, ack: QuicAck, store: &mut Store<QuicAck>) -> Packet {
        let body = Body::QuicAck(store.put(ack));
        let size = QuicAck::WIRE_SIZE as u16;
        Packet { timestamp: Time::ZERO, flow, size, hops_left, ecn: Ecn::NotEct, body }
    }

    pub fn handshake(now: Time, flow: u32, hops_left: u8, body: Body) -> Packet {
        Packet { timestamp: now, flow, size: Packet::HANDSHAKE, hops_left, ecn: Ecn::NotEct, body }
    }

    /// When a packet of data or of the handshake left, or the time that an ACK echoes.
    #[inline]
    pub fn timestamp(&self) -> Time {
        self.timestamp
    }
}

impl dumbbell_path::Packet for Packet {
    #[inline]
    fn size(&self) -> u32 {
        u32::from(self.size)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// Blocks of an ACK, and how many of them are valid.
pub(crate) type Sacks = ([SackBlock; Ack::MAX_SACK_BLOCKS], u8);

/// Where something that a packet in flight carries is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(NonZeroU32);

impl Handle {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// What packets in flight carry besides themselves.
#[derive(Debug)]
pub(crate) struct Store<T> {
    entries: Vec<T>,
    free: Vec<Handle>,
}

impl<T> Default for Store<T> {
    fn default() -> Store<T> {
        Store { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Store<T> {
    fn put(&mut self, entry: T) -> Handle {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.entries.push(entry);
            Handle(NonZeroU32::MIN.saturating_add(self.entries.len() as u32 - 1))
        });
        self.entries[handle.index()] = entry;
        handle
    }

    /// What a packet carried whose journey ends.
    pub fn take(&mut self, handle: Handle) -> T {
        self.free.push(handle);
        self.entries[handle.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_small() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn entries_are_found_again_and_their_places_reused() {
        let mut store = Store::default();
        let (first, second) = (store.put(10), store.put(20));
        assert_eq!(store.take(first), 10);
        let third = store.put(30);
        assert_eq!(store.take(second), 20);
        assert_eq!(store.take(third), 30);
        assert_eq!(store.entries.len(), 2);
    }
}
