//! MPDUs, and what of them fits into an aggregate.

use super::phy::{Modulation, in_amsdu, subframe};
use super::{AccessCategory, Wifi};
use crate::packet::Packet;
use dumbbell_units::{Duration, claimed};

/// A frame of the MAC layer: a packet, or several (A-MSDU).
#[derive(Clone, Debug)]
pub(super) struct Mpdu<P> {
    /// Its place in the sequence of its lane.
    pub number: u32,
    /// How often it was sent.
    pub attempts: u32,
    packets: Packets<P>,
}

/// Mostly there is one, which needs no memory of its own.
#[derive(Clone, Debug)]
enum Packets<P> {
    One(P),
    Several(Vec<P>),
}

impl<P> Mpdu<P> {
    /// An MPDU with these packets, of which there is at least one.
    pub(super) fn new(number: u32, mut packets: Vec<P>) -> Mpdu<P> {
        let packets = match packets.pop() {
            Some(only) if packets.is_empty() => Packets::One(only),
            last => {
                packets.extend(last);
                Packets::Several(packets)
            }
        };
        Mpdu { number, attempts: 0, packets }
    }

    /// An MPDU with one packet.
    pub(super) fn of(number: u32, packet: P) -> Mpdu<P> {
        Mpdu { number, attempts: 0, packets: Packets::One(packet) }
    }

    /// Its packets, in their order.
    pub(super) fn packets(&self) -> std::slice::Iter<'_, P> {
        match &self.packets {
            Packets::One(packet) => std::slice::from_ref(packet).iter(),
            Packets::Several(packets) => packets.iter(),
        }
    }

    /// Bytes of memory besides itself.
    pub(super) fn memory(&self) -> u64 {
        match &self.packets {
            Packets::One(_) => 0,
            Packets::Several(packets) => claimed::<P>(packets.len(), packets.capacity()),
        }
    }
}

impl<P: Packet> Mpdu<P> {
    /// Bytes that it takes in an A-MPDU.
    pub(super) fn bytes(&self) -> u32 {
        subframe(self.packets().map(P::size))
    }
}

/// What bounds aggregates of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes of an A-MPDU.
    bytes: u64,
    /// MPDUs from the oldest that is not acknowledged on.
    pub window: u32,
    amsdu_packets: u32,
    amsdu_bytes: u64,
}

impl Bounds {
    pub(super) fn new(wifi: &Wifi, modulation: &Modulation, txop: Option<Duration>) -> Bounds {
        let longest = txop.map_or(wifi.ppdu, |txop| txop.min(wifi.ppdu));
        Bounds {
            bytes: wifi.ampdu.as_u64().min(modulation.bytes_within(longest)),
            window: wifi.block_ack_window,
            amsdu_packets: wifi.amsdu,
            amsdu_bytes: wifi.amsdu_bytes.as_u64(),
        }
    }

    /// Whether a packet of `size` bytes fits into an MPDU that holds `packets`.
    fn may_join<P: Packet>(&self, packets: &[P], size: u32) -> bool {
        let bytes: u64 = packets.iter().map(|packet| u64::from(in_amsdu(packet.size()))).sum();
        (packets.len() as u64) < u64::from(self.amsdu_packets) && bytes + u64::from(in_amsdu(size)) <= self.amsdu_bytes
    }
}

/// MPDUs that are sent as one PPDU.
#[derive(Clone, Debug)]
pub(super) struct Aggregate<P> {
    pub mpdus: Vec<Mpdu<P>>,
    /// Bytes of the PPDU.
    pub bytes: u64,
}

impl<P: Packet> Aggregate<P> {
    /// An empty one, in the memory of one that has been sent.
    pub(super) fn new(memory: Vec<Mpdu<P>>) -> Aggregate<P> {
        Aggregate { mpdus: memory, bytes: 0 }
    }

    /// Adds an MPDU if it fits; gives it back if it does not. The first always fits.
    pub(super) fn add(&mut self, mpdu: Mpdu<P>, bounds: &Bounds) -> Option<Mpdu<P>> {
        let bytes = self.bytes + u64::from(mpdu.bytes());
        if !self.mpdus.is_empty() && bytes > bounds.bytes {
            return Some(mpdu);
        }
        self.bytes = bytes;
        self.mpdus.push(mpdu);
        None
    }

    /// Packets in it.
    pub(super) fn packets(&self) -> impl Iterator<Item = &P> {
        self.mpdus.iter().flat_map(Mpdu::packets)
    }
}

/// The next MPDU, with this number. `next` gives the next packet, if there is one whose size passes the check it is
/// handed.
pub(super) fn next_mpdu<P: Packet>(
    number: u32,
    bounds: &Bounds,
    mut next: impl FnMut(&dyn Fn(u32) -> bool) -> Option<P>,
) -> Option<Mpdu<P>> {
    let first = next(&|_| true)?;
    if bounds.amsdu_packets <= 1 {
        return Some(Mpdu::of(number, first));
    }
    let mut packets = vec![first];
    while let Some(packet) = next(&|size| bounds.may_join(&packets, size)) {
        packets.push(packet);
    }
    Some(Mpdu::new(number, packets))
}

/// The categories of flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Categories {
    /// By the number of the flow; `None`, as of those behind, is the category of the link.
    by_flow: Vec<Option<AccessCategory>>,
}

impl Categories {
    /// A flow has another category from now on.
    pub(super) fn set(&mut self, flow: u32, category: Option<AccessCategory>) {
        let flow = flow as usize;
        if flow >= self.by_flow.len() && category.is_some() {
            self.by_flow.resize(flow + 1, None);
        }
        if let Some(own) = self.by_flow.get_mut(flow) {
            *own = category;
        }
    }

    /// The category of a flow on a link.
    pub(super) fn of(&self, flow: u32, wifi: &Wifi) -> AccessCategory {
        self.by_flow.get(flow as usize).copied().flatten().unwrap_or(wifi.category)
    }
}
