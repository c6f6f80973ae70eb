//! What a path needs to know of a packet.

pub use dumbbell_units::Ecn;

/// What kind of packet it is, for [events](crate::PacketEvent) that are about some kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// It carries data.
    #[default]
    Data,
    /// It acknowledges data.
    Ack,
    /// Neither: a handshake.
    Other,
}

/// What a queue that [reads ACKs](crate::queue::Held::reads_acks) sees of a TCP segment without data. Numbers count in
/// the unit of the sender, segments or bytes, and do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PureAck {
    /// What is acknowledged cumulatively: the number of the first byte or segment that is missing.
    pub number: u32,
    /// The SACK blocks that are there: first number of each, and the first number behind it.
    pub sacked: [Option<(u32, u32)>; 4],
    /// Whether it echoes congestion (ECE).
    pub echoes_congestion: bool,
    /// Timestamps: its own and the one that it echoes.
    pub timestamps: (u32, u32),
    /// It has an option that a queue does not know, such as that of accurate ECN.
    pub has_other_options: bool,
}

/// A packet as a path sees it. Paths never look at what it carries.
pub trait Packet: Copy + Default {
    /// Length on the wire in bytes, IP header included.
    fn size(&self) -> u32;
    /// Number of the flow it belongs to.
    fn flow(&self) -> u32;
    /// Its ECN bits.
    fn ecn(&self) -> Ecn;
    /// What kind of packet it is.
    fn class(&self) -> Class {
        Class::Data
    }
    /// Sets its ECN bits.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Sets them to congestion experienced.
    fn mark(&mut self) {
        self.set_ecn(Ecn::Ce);
    }
    /// Becomes the packet that comes `count` packets later in its run. A run is a number of packets of one size that a
    /// sender hands to a link at once.
    fn follow(&mut self, count: u32);
    /// Whether `other` is the packet that comes `count` packets later in the run of this one, unchanged.
    fn is_followed_by(&self, _other: &Self, _count: u32) -> bool {
        false
    }
    /// Whether it comes before `other` where both enter a link [ahead of their time](crate::Link::delay_among) at the
    /// same instant.
    fn precedes(&self, _other: &Self) -> bool {
        false
    }
}
