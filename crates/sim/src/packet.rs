//! What travels through the simulated network.
//!
//! Thousands of packets are in flight and each is copied several times, so a packet is small. A field has one meaning
//! for data and another for ACKs, and what only few packets carry is kept elsewhere: SACK blocks in a [`Store`], the
//! bytes of datagrams in [`Payloads`].

use crate::agenda::Cause;
use dumbbell_network::Route;
use dumbbell_path::{Class, Ecn, PureAck};
use dumbbell_transport::{
    Ack, AdvertisedWindow, Arrival, Burst, CumulativeAck, Datagram, Flags, Marks, SackBlock, Segment, Timestamp,
};
use dumbbell_units::{Time, claimed, prefetch, prefetch_all};
use std::num::NonZeroU32;

/// A packet of some flow, on some hop of its route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packet {
    /// When a packet of data or of the handshake, or a datagram, left, in nanoseconds. Of an ACK the timestamp option:
    /// when it left, and in the upper half the time that it echoes.
    times: u64,
    pub flow: u32,
    /// The segment, or the segment acknowledged. In an answer to a SYN this and `detail` are the time that it echoes.
    number: u32,
    /// Segments behind this one in its burst, or the receive window of an ACK.
    detail: u32,
    /// The handle of what an ACK or a datagram carries besides; 0 of none. The timestamp that a segment echoes.
    besides: u32,
    /// IP length.
    pub size: u16,
    /// Links of its route behind the one that it is on.
    pub hops_left: u16,
    pub kind: Kind,
    ecn: Ecn,
    /// Bits of a segment; whether an ACK echoes congestion.
    flags: u8,
    /// Bytes of headers before the payload of a segment, or what made an ACK or the answer to a SYN leave.
    header: u8,
}

/// The number by which packets know a flow.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the memory of a run ends long before 2^32 flows")]
pub(crate) fn flow_number(index: usize) -> u32 {
    index as u32
}

/// What a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Data,
    Ack,
    /// From the near end of a flow that is not TCP.
    Datagram,
    /// From its far end.
    Reply,
    /// Data of a flow whose application waits for what arrives.
    Awaited,
    /// A datagram of such a flow.
    AwaitedDatagram,
    Syn,
    SynAck,
    /// The ACK that ends the handshake.
    HandshakeAck,
}

impl Kind {
    /// Whether such a packet travels from the sender to the receiver.
    #[inline]
    pub fn is_forward(self) -> bool {
        matches!(
            self,
            Kind::Data | Kind::Datagram | Kind::Syn | Kind::HandshakeAck | Kind::Awaited | Kind::AwaitedDatagram
        )
    }

    /// Whether such a packet carries data.
    #[inline]
    pub fn is_data(self) -> bool {
        matches!(self, Kind::Data | Kind::Datagram | Kind::Awaited | Kind::AwaitedDatagram)
    }

    /// Whether the attachment of such a packet is a payload.
    #[inline]
    pub fn has_payload(self) -> bool {
        matches!(self, Kind::Datagram | Kind::Reply | Kind::AwaitedDatagram)
    }

    /// What datagrams are of a flow whose data would be of this kind.
    #[inline]
    pub fn datagram(self) -> Kind {
        if self == Kind::Awaited { Kind::AwaitedDatagram } else { Kind::Datagram }
    }
}

impl Packet {
    #[inline]
    pub fn data(flow: u32, hops_left: u16, header: u8, segment: Segment) -> Packet {
        Packet {
            times: segment.sent_at.as_nanos(),
            flow,
            number: segment.seq,
            detail: 0,
            besides: segment.echo.bits(),
            size: segment.len + u16::from(header),
            kind: Kind::Data,
            hops_left,
            ecn: segment.ecn,
            flags: segment.flags.bits(),
            header,
        }
    }

    /// The first packet of a burst of segments that are like `first` but for their numbers and flags.
    #[inline]
    pub fn first_of(burst: &Burst, flow: u32, hops_left: u16, header: u8, first: Segment) -> Packet {
        Packet { detail: burst.remaining() - 1, ..Packet::data(flow, hops_left, header, first) }
    }

    /// Whether it carries data. A segment that probes a closed window has none.
    #[inline]
    pub fn carries_data(&self) -> bool {
        self.kind.is_data() && (self.kind.has_payload() || self.size > u16::from(self.header))
    }

    /// The segment of a data packet, as it arrives.
    #[inline]
    pub fn segment(&self) -> Segment {
        Segment {
            seq: self.number,
            len: self.size - u16::from(self.header),
            ecn: self.ecn,
            flags: Flags::from_bits(self.flags),
            sent_at: self.left_at(),
            echo: Timestamp::from_bits(self.besides),
        }
    }

    #[inline(always)]
    pub fn ack(flow: u32, route: &Route, ack: &Ack, store: &mut Store<Options>) -> Packet {
        let &Ack { ack: number, sack, sack_count, ece, marks, window, sent_at, echo } = ack;
        let has_options = sack_count > 0 || marks.is_some();
        Packet {
            besides: if has_options { store.put(Options { sack, sack_count, marks }).bits() } else { 0 },
            size: u16::from(route.ack_header) + ack.option_bytes(),
            ..Packet::cumulative_ack(flow, route, CumulativeAck { ack: number, ece, window, sent_at, echo })
        }
    }

    #[inline(always)]
    pub fn cumulative_ack(flow: u32, route: &Route, ack: CumulativeAck) -> Packet {
        Packet {
            times: u64::from(ack.echo.bits()) << 32 | u64::from(ack.sent_at.bits()),
            flow,
            number: ack.ack,
            detail: ack.window.bits(),
            besides: 0,
            size: u16::from(route.ack_header),
            kind: Kind::Ack,
            hops_left: route.reverse_rest,
            ecn: route.ack_ecn,
            flags: u8::from(ack.ece),
            header: Cause::ARRIVAL.0,
        }
    }

    /// The acknowledgement of an ACK without options that arrives.
    #[inline]
    pub fn cumulative(&self) -> CumulativeAck {
        let window = AdvertisedWindow::from_bits(self.detail);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        let sent_at = Timestamp::from_bits(self.times as u32);
        let echo = Timestamp::from_bits((self.times >> 32) as u32);
        CumulativeAck { ack: self.number, ece: self.flags != 0, window, sent_at, echo }
    }

    /// The acknowledgement of an ACK that arrives with these options.
    #[inline]
    pub fn acknowledgement(&self, Options { sack, sack_count, marks }: Options) -> Ack {
        let CumulativeAck { ack, ece, window, sent_at, echo } = self.cumulative();
        Ack { ack, sack, sack_count, ece, marks, window, sent_at, echo }
    }

    /// What a queue sees of it that reads TCP's ACKs; `None` if it is none.
    #[cold]
    pub fn pure_ack(&self, store: &Store<Options>) -> Option<PureAck> {
        if self.kind != Kind::Ack {
            return None;
        }
        let CumulativeAck { ack, ece, sent_at, echo, .. } = self.cumulative();
        let options = self.options().map(|handle| store.entries[handle.index()]);
        let mut sacked = [None; 4];
        if let Some(Options { sack, sack_count, .. }) = &options {
            let blocks = sack.iter().take((*sack_count).into()).map(|block| (block.start, block.end));
            sacked.iter_mut().zip(blocks).for_each(|(own, block)| *own = Some(block));
        }
        Some(PureAck {
            number: ack,
            sacked,
            echoes_congestion: ece,
            timestamps: (sent_at.bits(), echo.bits()),
            has_other_options: options.is_some_and(|options| options.marks.is_some()),
        })
    }

    #[inline]
    pub fn datagram(
        kind: Kind,
        now: Time,
        flow: u32,
        hops_left: u16,
        Datagram { size, ecn }: Datagram,
        payload: Handle,
    ) -> Packet {
        Packet { ecn, besides: payload.bits(), ..Packet::handshake(now, flow, hops_left, size, kind) }
    }

    /// A datagram with its payload, as it arrives.
    #[inline]
    pub fn arrival<'p>(&self, payload: &'p [u8]) -> Arrival<'p> {
        Arrival { size: self.size, ecn: self.ecn, payload }
    }

    /// A packet of the handshake with `size` bytes.
    pub fn handshake(now: Time, flow: u32, hops_left: u16, size: u16, kind: Kind) -> Packet {
        Packet {
            times: now.as_nanos(),
            flow,
            number: 0,
            detail: 0,
            besides: 0,
            size,
            kind,
            hops_left,
            ecn: Ecn::NotEct,
            flags: 0,
            header: 0,
        }
    }

    /// An answer to a SYN, with the time at which the SYN left that it echoes.
    pub fn syn_ack(now: Time, flow: u32, hops_left: u16, size: u16, echo: Time) -> Packet {
        let echo = echo.as_nanos();
        #[expect(clippy::cast_possible_truncation, reason = "the lower half; `number` has the upper one")]
        let lower_half = echo as u32;
        Packet {
            number: (echo >> 32) as u32,
            detail: lower_half,
            ..Packet::handshake(now, flow, hops_left, size, Kind::SynAck)
        }
    }

    /// When a packet left that is no ACK.
    #[inline(always)]
    pub fn left_at(&self) -> Time {
        Time::from_nanos(self.times)
    }

    /// When the SYN left that this one answers.
    pub fn echo(&self) -> Time {
        Time::from_nanos(u64::from(self.number) << 32 | u64::from(self.detail))
    }

    /// This packet as one of another kind.
    #[inline(always)]
    pub fn of_kind(self, kind: Kind) -> Packet {
        Packet { kind, ..self }
    }

    /// This ACK, or answer to a SYN, with what made it leave.
    #[inline(always)]
    pub fn because(mut self, cause: Cause) -> Packet {
        self.header = cause.0;
        self
    }

    /// What made an ACK, or the answer to a SYN, leave.
    #[inline]
    pub fn cause(&self) -> Cause {
        Cause(self.header)
    }

    /// This packet with an attachment of its own.
    pub fn with_attachment(self, attachment: Handle) -> Packet {
        Packet { besides: attachment.bits(), ..self }
    }

    /// What it carries besides itself.
    #[inline]
    pub fn attachment(&self) -> Option<Handle> {
        if matches!(self.kind, Kind::Data | Kind::Awaited) { None } else { self.options() }
    }

    /// The options of an ACK, if it has any, or the payload of a datagram.
    #[inline(always)]
    pub fn options(&self) -> Option<Handle> {
        NonZeroU32::new(self.besides).map(Handle)
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

    fn class(&self) -> Class {
        match self.kind {
            Kind::Data | Kind::Datagram | Kind::Awaited | Kind::AwaitedDatagram => Class::Data,
            Kind::Ack | Kind::Reply => Class::Ack,
            Kind::Syn | Kind::SynAck | Kind::HandshakeAck => Class::Other,
        }
    }

    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    /// Only data segments come in runs.
    #[inline(always)]
    fn follow(&mut self, count: u32) {
        self.number += count;
        self.detail -= count;
        self.flags = Burst::flags_behind_first(self.detail == 0).bits();
    }

    #[inline(always)]
    fn is_followed_by(&self, other: &Packet, count: u32) -> bool {
        self.detail == other.detail.wrapping_add(count)
            && self.number.wrapping_add(count) == other.number
            && self.times == other.times
            && self.besides == other.besides
            && self.flow == other.flow
            && self.ecn == other.ecn
            && self.kind == other.kind
            && matches!(self.kind, Kind::Data | Kind::Awaited)
    }

    /// What answers an arrival comes first, and then turns, those of the lower flow before others.
    fn precedes(&self, other: &Packet) -> bool {
        let place = |packet: &Packet| match packet.cause() {
            Cause::ARRIVAL => (Cause::ARRIVAL.0, 0),
            turn => (turn.0, packet.flow),
        };
        place(self) < place(other)
    }
}

/// The options that few ACKs carry: SACK blocks, how many of them are valid, and counters of marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    sack: [SackBlock; Ack::MAX_SACK_BLOCKS],
    sack_count: u8,
    marks: Option<Marks>,
}

/// Tells where the attachment of a packet in flight is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(NonZeroU32);

impl Handle {
    /// The handle of the last of `entries` entries, of which there is at least one.
    #[expect(clippy::cast_possible_truncation, reason = "the memory of a run ends long before 2^32 packets")]
    fn last_of(entries: usize) -> Handle {
        Handle(NonZeroU32::MIN.saturating_add(entries as u32 - 1))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    fn bits(self) -> u32 {
        self.0.get()
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
            Handle::last_of(self.entries.len())
        });
        self.entries[handle.index()] = entry;
        handle
    }

    /// A second entry like that of `handle`, for the copy of a packet.
    pub fn copy(&mut self, handle: Handle) -> Handle {
        self.put(self.entries[handle.index()])
    }

    /// Bytes of memory [claimed](claimed).
    pub fn memory(&self) -> u64 {
        claimed::<T>(self.entries.len(), self.entries.capacity())
            + claimed::<Handle>(self.free.len(), self.free.capacity())
    }

    /// Has the processor fetch the attachment of a packet.
    #[inline(always)]
    pub fn prefetch(&self, handle: Handle) {
        self.entries.get(handle.index()).into_iter().for_each(prefetch);
    }

    /// Removes the attachment of a packet that has arrived or was dropped.
    pub fn take(&mut self, handle: Handle) -> T {
        self.free.push(handle);
        self.entries[handle.index()]
    }
}

/// The payloads of datagrams in flight: each is written where it stays until its datagram arrives, and read there.
#[derive(Debug)]
pub(crate) struct Payloads {
    /// Those of datagrams that have arrived keep their room for the next.
    entries: Vec<Vec<u8>>,
    free: Vec<Handle>,
    /// Where the next datagram is written.
    blank: Handle,
}

impl Default for Payloads {
    fn default() -> Payloads {
        Payloads { entries: vec![Vec::new()], free: Vec::new(), blank: Handle(NonZeroU32::MIN) }
    }
}

impl Payloads {
    /// An empty payload to write the next datagram to, which [`Payloads::keep`] keeps.
    #[inline]
    pub fn blank(&mut self) -> &mut Vec<u8> {
        let blank = &mut self.entries[self.blank.index()];
        blank.clear();
        blank
    }

    /// Keeps what was written to [`Payloads::blank`].
    #[inline]
    pub fn keep(&mut self) -> Handle {
        let kept = self.blank;
        self.blank = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Vec::new());
            Handle::last_of(self.entries.len())
        });
        kept
    }

    /// What a datagram carries.
    #[inline]
    pub fn get(&self, handle: Handle) -> &[u8] {
        &self.entries[handle.index()]
    }

    /// Has the processor fetch where the payload of a datagram is.
    #[inline(always)]
    pub fn prefetch(&self, handle: Handle) {
        self.entries.get(handle.index()).into_iter().for_each(prefetch);
    }

    /// Has the processor fetch the payload itself.
    #[inline(always)]
    pub fn prefetch_bytes(&self, handle: Handle) {
        if let Some(payload) = self.entries.get(handle.index()) {
            prefetch_all(payload);
        }
    }

    /// A second payload like that of `handle`, for the copy of a datagram.
    pub fn copy(&mut self, handle: Handle) -> Handle {
        let payload = self.get(handle).to_vec();
        self.blank().extend_from_slice(&payload);
        self.keep()
    }

    /// What a datagram carried is not needed any more.
    #[inline]
    pub fn forget(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// Bytes of memory [claimed](claimed).
    pub fn memory(&self) -> u64 {
        claimed::<Vec<u8>>(self.entries.len(), self.entries.capacity())
            + claimed::<Handle>(self.free.len(), self.free.capacity())
            + self.entries.iter().map(|entry| entry.capacity() as u64).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Duration;

    #[test]
    fn packets_are_small() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn the_answer_to_a_syn_tells_when_that_left() {
        let left = Time::from_nanos(31 * 86_400_000_000_000 + 1);
        let answer = Packet::syn_ack(left + Duration::from_millis(5), 7, 2, 60, left);
        assert_eq!((answer.echo(), answer.flow, answer.hops_left), (left, 7, 2));
        assert_eq!((answer.kind, answer.left_at().since(left)), (Kind::SynAck, Duration::from_millis(5)));
    }

    #[test]
    fn payloads_are_found_again_and_their_room_reused() {
        let long: Vec<u8> = (0..200).collect();
        let mut payloads = Payloads::default();
        let [first, second, third] = [&[1, 2, 3][..], &[], &long].map(|bytes| {
            payloads.blank().extend_from_slice(bytes);
            payloads.keep()
        });
        assert_eq!(
            (payloads.get(first), payloads.get(second), payloads.get(third)),
            (&[1, 2, 3][..], &[][..], &long[..])
        );
        assert!(payloads.memory() >= 203);
        payloads.forget(third);
        payloads.blank().extend_from_slice(&[4]);
        assert!(payloads.blank().is_empty(), "what was written and not kept is gone");
        let fourth = payloads.keep();
        payloads.blank().extend_from_slice(&long);
        let fifth = payloads.keep();
        assert_eq!(
            (payloads.get(first), payloads.get(fourth), payloads.get(fifth)),
            (&[1, 2, 3][..], &[][..], &long[..])
        );
        for handle in [first, second, fourth, fifth] {
            payloads.forget(handle);
        }
        assert_eq!(payloads.entries.len(), 5, "four at a time, and a blank one");
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
