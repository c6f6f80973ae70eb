//! What travels through the simulated network.
//!
//! Thousands of packets are in flight and each is copied several times, so a packet is small: what its headers tell in
//! two places it holds once, and the selective acknowledgements of the few ACKs that have any lie in [`SackStore`].

use dumbbell_path::Ecn;
use dumbbell_transport::{Ack, SackBlock, Segment};
use dumbbell_units::Time;
use std::num::NonZeroU32;

/// A packet of some flow, on some hop of its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Timestamp option: when a segment left, or the time that an ACK echoes.
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
    Data { seq: u32, cwr: bool, is_retransmission: bool },
    Ack { ack: u32, window: u32, ece: bool, sacks: Option<SackHandle> },
    Syn,
    SynAck,
}

impl Body {
    /// Whether the packet travels from the sender to the receiver.
    #[inline]
    pub fn is_forward(&self) -> bool {
        matches!(self, Body::Data { .. } | Body::Syn)
    }
}

impl Packet {
    /// IP and TCP headers with the timestamp option.
    const HEADER: u16 = 52;
    /// A SYN or SYN-ACK with its options.
    const HANDSHAKE: u16 = 60;

    #[inline]
    pub fn data(flow: u32, hops_left: u8, segment: Segment) -> Packet {
        let Segment { seq, len, ecn, cwr, is_retransmission, sent_at } = segment;
        let body = Body::Data { seq, cwr, is_retransmission };
        Packet { timestamp: sent_at, flow, size: len + Packet::HEADER, hops_left, ecn, body }
    }

    /// The segment of a data packet, as it arrives.
    #[inline]
    pub fn segment(&self, seq: u32, cwr: bool, is_retransmission: bool) -> Segment {
        let len = self.size - Packet::HEADER;
        Segment { seq, len, ecn: self.ecn, cwr, is_retransmission, sent_at: self.timestamp }
    }

    #[inline]
    pub fn ack(flow: u32, hops_left: u8, ack: &Ack, store: &mut SackStore) -> Packet {
        let sacks = if ack.sack_count == 0 { None } else { Some(store.put(ack)) };
        let body = Body::Ack { ack: ack.ack, window: ack.window, ece: ack.ece, sacks };
        Packet { timestamp: ack.echo, flow, size: ack.wire_size() as u16, hops_left, ecn: Ecn::NotEct, body }
    }

    pub fn handshake(flow: u32, hops_left: u8, body: Body) -> Packet {
        Packet { timestamp: Time::ZERO, flow, size: Packet::HANDSHAKE, hops_left, ecn: Ecn::NotEct, body }
    }

    /// When a data packet left its sender, or the time that an ACK echoes.
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

/// Where the selective acknowledgements of an ACK in flight are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackHandle(NonZeroU32);

impl SackHandle {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The selective acknowledgements of all ACKs in flight.
#[derive(Debug, Default)]
pub(crate) struct SackStore {
    entries: Vec<([SackBlock; Ack::MAX_SACK_BLOCKS], u8)>,
    free: Vec<SackHandle>,
}

impl SackStore {
    fn put(&mut self, ack: &Ack) -> SackHandle {
        let entry = (ack.sack, ack.sack_count);
        let handle = self.free.pop().unwrap_or_else(|| {
            self.entries.push(entry);
            SackHandle(NonZeroU32::MIN.saturating_add(self.entries.len() as u32 - 1))
        });
        self.entries[handle.index()] = entry;
        handle
    }

    /// The blocks of an ACK whose journey ends, and how many of them are valid.
    pub fn take(&mut self, handle: SackHandle) -> ([SackBlock; Ack::MAX_SACK_BLOCKS], u8) {
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
    fn blocks_are_found_again_and_their_places_reused() {
        let mut store = SackStore::default();
        let ack = |start| Ack {
            ack: 1,
            sack: [SackBlock { start, end: start + 1 }; Ack::MAX_SACK_BLOCKS],
            sack_count: 2,
            ece: false,
            window: 9,
            echo: Time::ZERO,
        };
        let (first, second) = (store.put(&ack(10)), store.put(&ack(20)));
        assert_eq!(store.take(first), (ack(10).sack, 2));
        let third = store.put(&ack(30));
        assert_eq!(store.take(second), (ack(20).sack, 2));
        assert_eq!(store.take(third), (ack(30).sack, 2));
        assert_eq!(store.entries.len(), 2);
    }
}
