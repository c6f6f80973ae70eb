//! The QUIC-like ends as [`Endpoint`]s: their packets and ACKs as bytes, in little-endian order.

use super::{AckFrequency, EcnCounts, QuicAck, QuicPacket, QuicReceiver, QuicSender};
use crate::endpoint::{Act, Arrival, Datagram, Endpoint, News, Report, Sending};
use crate::{SackBlock, TransportConfig};
use dumbbell_cc_contract::Controller;
use dumbbell_units::{Duration, Ecn, Time};
use std::sync::Arc;

/// IP and UDP headers, a short header and the authentication tag.
pub(crate) const PACKET_OVERHEAD: u16 = crate::udp::HEADER + QuicPacket::OVERHEAD;

/// Both ends of a connection whose window `controller` governs.
pub fn endpoints(
    config: Arc<TransportConfig>,
    controller: Box<dyn Controller>,
) -> (Box<dyn Endpoint>, Box<dyn Endpoint>) {
    let receiver = QuicReceiver::new(&config);
    (Box::new(QuicSender::new(config, controller)), Box::new(receiver))
}

impl Endpoint for QuicSender {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        if let Some(ack) = AckFrame::decode(packet.payload) {
            self.on_ack_frame(now, ack);
        }
        let rtt = u64::try_from(self.last_sample().rtt_us).ok().map(Duration::from_micros);
        News::of_answer(rtt, self.is_idle())
    }

    fn on_timer(&mut self, now: Time) {
        QuicSender::on_timer(self, now);
    }

    fn next_timer(&self) -> Time {
        QuicSender::next_timer(self)
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        // Most polls find the clock at `now`. A function that calls nothing needs no stack frame.
        if self.must_prepare(now) {
            return self.prepare_and_poll(now, payload);
        }
        if self.may_transmit(now) { self.encode_next(now, payload) } else { None }
    }

    fn on_application(&mut self, now: Time, act: Act<'_>) -> bool {
        match act {
            Act::Establish(handshake) => self.establish(now, handshake.rtt),
            Act::Write { segments, last_len } => self.write(now, segments, last_len),
            Act::Close => self.close(),
            Act::Steer(steer) => return self.steer(now, steer),
        }
        true
    }

    fn report(&self) -> Report<'_> {
        let sending = Sending {
            view: self.view(),
            control: self.control(),
            controller: self.controller(),
            sample: self.last_sample(),
            stats: self.stats(),
            sender: self,
        };
        Report {
            sending: Some(sending),
            sent: Some(self.stats()),
            unsent: self.unsent(),
            is_idle: self.is_idle(),
            memory: self.memory(),
            ..Report::default()
        }
    }

    fn prefetch(&self) {
        QuicSender::prefetch(self);
    }

    fn prefetch_rest(&self) {
        QuicSender::prefetch_rest(self);
    }
}

impl Endpoint for QuicReceiver {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        if let Some(packet) = QuicPacket::decode(packet) {
            QuicReceiver::on_packet(self, now, packet);
        }
        News::default()
    }

    fn on_timer(&mut self, now: Time) {
        QuicReceiver::on_timer(self, now);
    }

    fn next_timer(&self) -> Time {
        QuicReceiver::next_timer(self)
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        if self.must_acknowledge() { Some(self.encode_ack(now, payload)) } else { None }
    }

    fn report(&self) -> Report<'_> {
        Report { received: Some(self.stats()), ..Report::default() }
    }

    fn prefetch(&self) {
        QuicReceiver::prefetch(self);
    }

    fn prefetch_rest(&self) {
        QuicReceiver::prefetch_rest(self);
    }
}

// Kept apart, because most polls find nothing to send.
impl QuicSender {
    #[inline(never)]
    fn prepare_and_poll(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        self.prepare(now);
        if self.may_transmit(now) { self.encode_next(now, payload) } else { None }
    }

    #[inline(never)]
    fn encode_next(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        let packet = self.transmit(now)?;
        packet.encode(payload);
        Some(Datagram { size: packet.len + PACKET_OVERHEAD, ecn: packet.ecn })
    }
}

impl QuicReceiver {
    #[inline(never)]
    fn encode_ack(&mut self, now: Time, payload: &mut Vec<u8>) -> Datagram {
        let (delay_us, ecn) = self.acknowledge(now);
        encode_ack(payload, self.ranges(), delay_us, ecn);
        Datagram { size: QuicAck::WIRE_SIZE + further_ranges(self.ranges()), ecn: Ecn::NotEct }
    }
}

impl QuicPacket {
    const BYTES: usize = 17;
    /// Bits of the last of these bytes.
    const RETRANSMISSION: u8 = 1;
    const ASKS: u8 = 2;
    const KNOWS: u8 = 4;

    #[inline]
    fn encode(&self, bytes: &mut Vec<u8>) {
        let mut fixed = [0; QuicPacket::BYTES];
        fixed[..8].copy_from_slice(&pair(self.number, self.seq));
        fixed[8..16].copy_from_slice(&self.sent_at.as_nanos().to_le_bytes());
        fixed[16] = u8::from(self.is_retransmission)
            | if self.ack_frequency.is_some() { QuicPacket::ASKS } else { 0 }
            | if self.known_up_to.is_some() { QuicPacket::KNOWS } else { 0 };
        bytes.extend_from_slice(&fixed);
        if let Some(number) = self.known_up_to {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        if let Some(AckFrequency { every, delay_us }) = self.ack_frequency {
            bytes.extend_from_slice(&every.to_le_bytes());
            bytes.extend_from_slice(&delay_us.to_le_bytes());
        }
    }

    /// Reads a packet of data as it arrives; `None` for what is none.
    #[inline]
    pub fn decode(packet: Arrival<'_>) -> Option<QuicPacket> {
        let (bytes, mut rest) = packet.payload.split_first_chunk::<{ QuicPacket::BYTES }>()?;
        let bits = bytes[16];
        let mut known_up_to = None;
        if bits & QuicPacket::KNOWS != 0 {
            known_up_to = u32_at(rest, 0);
            rest = rest.get(4..)?;
        }
        Some(QuicPacket {
            number: u32_at(bytes, 0)?,
            seq: u32_at(bytes, 4)?,
            sent_at: Time::from_nanos(u64::from_le_bytes(*bytes[8..].first_chunk()?)),
            is_retransmission: bits & QuicPacket::RETRANSMISSION != 0,
            len: packet.size.checked_sub(PACKET_OVERHEAD)?,
            ecn: packet.ecn,
            ack_frequency: if bits & QuicPacket::ASKS != 0 { AckFrequency::decode(rest) } else { None },
            known_up_to,
        })
    }
}

impl AckFrequency {
    fn decode(bytes: &[u8]) -> Option<AckFrequency> {
        let every = u16::from_le_bytes(*bytes.first_chunk()?);
        Some(AckFrequency { every, delay_us: u32_at(bytes, 2)? })
    }
}

/// Writes an ACK: its ranges, of which `lowest_first` has the lowest first, from the highest down.
#[inline]
fn encode_ack(bytes: &mut Vec<u8>, lowest_first: &[SackBlock], delay_us: u32, ecn: EcnCounts) {
    let EcnCounts { ect0, ect1, ce } = ecn;
    // In one piece: two halves that were written a moment ago and are read as one would be waited for.
    let mut head = [0; QuicAck::HEAD + QuicAck::RANGE];
    head[..8].copy_from_slice(&pair(delay_us, ect0));
    head[8..16].copy_from_slice(&pair(ect1, ce));
    if let [only] = lowest_first {
        head[16..].copy_from_slice(&written(*only));
        return bytes.extend_from_slice(&head);
    }
    bytes.extend_from_slice(&head[..QuicAck::HEAD]);
    let begin = bytes.len();
    bytes.resize(begin + lowest_first.len() * QuicAck::RANGE, 0);
    let (places, _) = bytes[begin..].as_chunks_mut::<{ QuicAck::RANGE }>();
    for (place, range) in places.iter_mut().zip(lowest_first.iter().rev()) {
        *place = written(*range);
    }
}

/// The bytes on the wire of ranges beyond those for which every ACK has room (RFC 9000, section 19.3.1): a gap and a
/// length each.
#[inline]
fn further_ranges(lowest_first: &[SackBlock]) -> u16 {
    let count = lowest_first.len().saturating_sub(QuicAck::FEW_RANGES);
    let gap = |pair: &[SackBlock]| varint(pair[1].start - pair[0].end - 1) + varint(pair[0].end - pair[0].start - 1);
    lowest_first.windows(2).take(count).map(gap).sum()
}

/// Bytes of a variable-length integer (RFC 9000, section 16).
fn varint(value: u32) -> u16 {
    // Without branches, which the lengths of ranges would make unpredictable.
    1 + u16::from(value >= 64) + 2 * u16::from(value >= 16_384)
}

impl QuicAck {
    const HEAD: usize = 16;
    const RANGE: usize = 8;
}

/// A range of packet numbers as an ACK has it: [`pair`] of the first and of the one behind the last.
pub(super) type WrittenRange = [u8; QuicAck::RANGE];

/// An ACK, read where it lies: of many ranges most are as in the ACK before, which is told by their bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckFrame<'a> {
    /// Ranges of packet numbers that have arrived, highest first.
    pub ranges: &'a [WrittenRange],
    /// See [`QuicAck::delay_us`].
    pub delay_us: u32,
    /// See [`QuicAck::ecn`].
    pub ecn: EcnCounts,
}

impl AckFrame<'_> {
    /// Reads what was encoded; `None` for what is no ACK.
    #[inline]
    fn decode(bytes: &[u8]) -> Option<AckFrame<'_>> {
        let (head, ranges) = bytes.split_first_chunk::<{ QuicAck::HEAD }>()?;
        Some(AckFrame {
            ranges: ranges.as_chunks().0,
            delay_us: u32_at(head, 0)?,
            ecn: EcnCounts { ect0: u32_at(head, 4)?, ect1: u32_at(head, 8)?, ce: u32_at(head, 12)? },
        })
    }
}

/// A range as an ACK has it.
#[inline]
pub(super) fn written(range: SackBlock) -> WrittenRange {
    pair(range.start, range.end)
}

/// The range that was [`written`].
#[inline]
pub(super) fn read(range: WrittenRange) -> SackBlock {
    let (start, end) = unpair(range);
    SackBlock { start, end }
}

/// The bytes of two integers.
#[inline]
fn pair(first: u32, second: u32) -> [u8; 8] {
    (u64::from(first) | u64::from(second) << 32).to_le_bytes()
}

/// The two integers of [`pair`].
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "each half is meant")]
fn unpair(bytes: [u8; 8]) -> (u32, u32) {
    let both = u64::from_le_bytes(bytes);
    (both as u32, (both >> 32) as u32)
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_and_acks_arrive_as_they_were_sent(
            (number, seq, len) in (any::<u32>(), any::<u32>(), 0u16..1_500),
            (nanos, is_retransmission) in (any::<u64>(), any::<bool>()),
            (asked, known_up_to) in (any::<Option<(u16, u32)>>(), any::<Option<u32>>()),
            mut cuts in prop::collection::btree_set(0u32..1 << 30, 0..=2 * 256),
            (delay_us, ect0, ect1, ce) in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()),
        ) {
            let sent_at = Time::from_nanos(nanos);
            let ack_frequency = asked.map(|(every, delay_us)| AckFrequency { every, delay_us });
            let packet =
                QuicPacket { number, seq, len, ecn: Ecn::Ect0, is_retransmission, sent_at, ack_frequency, known_up_to };
            let mut payload = Vec::new();
            packet.encode(&mut payload);
            let arrival = Arrival { size: len + PACKET_OVERHEAD, ecn: Ecn::Ce, payload: &payload };
            prop_assert_eq!(QuicPacket::decode(arrival), Some(QuicPacket { ecn: Ecn::Ce, ..packet }));

            let mut lowest_first = Vec::new();
            while let (Some(start), Some(end)) = (cuts.pop_first(), cuts.pop_first()) {
                lowest_first.push(SackBlock { start, end });
            }
            let ecn = EcnCounts { ect0, ect1, ce };
            payload.clear();
            encode_ack(&mut payload, &lowest_first, delay_us, ecn);
            let ack = AckFrame::decode(&payload).unwrap();
            let ranges: Vec<SackBlock> = ack.ranges.iter().map(|&range| read(range)).collect();
            lowest_first.reverse();
            prop_assert_eq!((ranges, ack.delay_us, ack.ecn), (lowest_first, delay_us, ecn));
        }

        #[test]
        fn bytes_that_are_no_packet_are_none(payload in prop::collection::vec(any::<u8>(), 0..16)) {
            prop_assert_eq!(QuicPacket::decode(Arrival { size: 100, ecn: Ecn::NotEct, payload: &payload }), None);
            prop_assert_eq!(AckFrame::decode(&payload).map(|_| ()), None);
        }
    }

    #[test]
    fn ranges_beyond_the_third_lengthen_an_ack_by_what_their_numbers_take() {
        let ranges = |starts: &[(u32, u32)]| -> Vec<SackBlock> {
            starts.iter().map(|&(start, end)| SackBlock { start, end }).collect()
        };
        let three = [(100_000, 100_001), (100_002, 100_003), (100_004, 100_005)];
        assert_eq!(further_ranges(&ranges(&three)), 0);
        assert_eq!(further_ranges(&ranges(&[&[(99_900, 99_950)], &three[..]].concat())), 1 + 1);
        assert_eq!(further_ranges(&ranges(&[&[(99_800, 99_900)], &three[..]].concat())), 2 + 2);
        assert_eq!(further_ranges(&ranges(&[&[(0, 10), (20_000, 60_000)], &three[..]].concat())), 4 + 4 + 4 + 1);
    }
}
