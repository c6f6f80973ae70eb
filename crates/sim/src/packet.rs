//! What travels through the simulated network.

use dumbbell_path::Ecn;
use dumbbell_transport::{Ack, Segment};

/// A packet of some flow, on some hop of its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub flow: u32,
    /// IP length.
    pub size: u16,
    /// How many links of its route it has passed.
    pub hop: u8,
    pub ecn: Ecn,
    pub body: Body,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Data(Segment),
    Ack(Ack),
    Syn,
    SynAck,
}

impl Body {
    /// Whether the packet travels from the sender to the receiver.
    #[inline]
    pub fn is_forward(&self) -> bool {
        matches!(self, Body::Data(_) | Body::Syn)
    }
}

impl Packet {
    /// IP and TCP headers with the timestamp option.
    const HEADER: u16 = 52;
    /// A SYN or SYN-ACK with its options.
    const HANDSHAKE: u16 = 60;

    #[inline]
    pub fn data(flow: u32, segment: Segment) -> Packet {
        Packet { flow, size: segment.len + Packet::HEADER, hop: 0, ecn: segment.ecn, body: Body::Data(segment) }
    }

    #[inline]
    pub fn ack(flow: u32, ack: Ack) -> Packet {
        Packet { flow, size: ack.wire_size() as u16, hop: 0, ecn: Ecn::NotEct, body: Body::Ack(ack) }
    }

    pub fn handshake(flow: u32, body: Body) -> Packet {
        Packet { flow, size: Packet::HANDSHAKE, hop: 0, ecn: Ecn::NotEct, body }
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
