//! The QUIC-like ends as [`Endpoint`]s: their packets and ACKs as bytes, in little-endian order.

use super::{AckFrequency, EcnCounts, QuicAck, QuicPacket, QuicReceiver, QuicSender};
use crate::endpoint::{Arrival, Datagram, Endpoint, Handshake, Sending};
use crate::{ReceiverStats, SackBlock, TransportConfig};
use dumbbell_cc::Controller;
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Time};

/// IP and UDP headers, a short header and the authentication tag.
pub(crate) const PACKET_OVERHEAD: u16 = crate::udp::HEADER + QuicPacket::OVERHEAD;

/// Both ends of a connection whose window `controller` governs.
pub fn endpoints(config: &TransportConfig, controller: Box<dyn Controller>) -> (Box<dyn Endpoint>, Box<dyn Endpoint>) {
    (Box::new(QuicSender::new(config, controller)), Box::new(QuicReceiver::new(config)))
}

impl Endpoint for QuicSender {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) {
        if let Some(ack) = QuicAck::decode(packet.payload) {
            self.on_ack(now, &ack);
        }
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

    fn establish(&mut self, now: Time, handshake: Handshake) {
        QuicSender::establish(self, now, handshake.rtt);
    }

    fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        QuicSender::write(self, now, segments, last_len);
    }

    fn close(&mut self) {
        QuicSender::close(self);
    }

    fn is_idle(&self) -> bool {
        QuicSender::is_idle(self)
    }

    fn unsent(&self) -> u64 {
        QuicSender::unsent(self)
    }

    fn rtt(&self) -> Option<Duration> {
        u64::try_from(self.last_sample().rtt_us).ok().map(Duration::from_micros)
    }

    fn sending(&self) -> Option<Sending<'_>> {
        Some(Sending {
            view: self.view(),
            control: self.control(),
            controller: self.controller(),
            sample: self.last_sample(),
            stats: self.stats(),
        })
    }

    fn memory(&self) -> u64 {
        QuicSender::memory(self)
    }
}

impl Endpoint for QuicReceiver {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) {
        if let Some(packet) = QuicPacket::decode(packet) {
            QuicReceiver::on_packet(self, now, packet);
        }
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

    fn answers_at_once(&self) -> bool {
        self.acknowledges_each()
    }

    fn received(&self) -> ReceiverStats {
        self.stats()
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
        self.acknowledge(now).encode(payload);
        Datagram { size: QuicAck::WIRE_SIZE, ecn: Ecn::NotEct }
    }
}

impl QuicPacket {
    const BYTES: usize = 17;

    #[inline]
    fn encode(&self, bytes: &mut Vec<u8>) {
        let mut fixed = [0; QuicPacket::BYTES];
        fixed[..8].copy_from_slice(&pair(self.number, self.seq));
        fixed[8..16].copy_from_slice(&self.sent_at.as_nanos().to_le_bytes());
        fixed[16] = u8::from(self.is_retransmission);
        bytes.extend_from_slice(&fixed);
        if let Some(AckFrequency { every, delay_us }) = self.ack_frequency {
            bytes.extend_from_slice(&every.to_le_bytes());
            bytes.extend_from_slice(&delay_us.to_le_bytes());
        }
    }

    #[inline]
    fn decode(packet: Arrival<'_>) -> Option<QuicPacket> {
        let bytes: &[u8; QuicPacket::BYTES] = packet.payload.first_chunk()?;
        Some(QuicPacket {
            number: u32_at(bytes, 0)?,
            seq: u32_at(bytes, 4)?,
            sent_at: Time::from_nanos(u64::from_le_bytes(*bytes[8..].first_chunk()?)),
            is_retransmission: bytes[16] != 0,
            len: packet.size.checked_sub(PACKET_OVERHEAD)?,
            ecn: packet.ecn,
            ack_frequency: packet.payload.get(QuicPacket::BYTES..).and_then(AckFrequency::decode),
        })
    }
}

impl AckFrequency {
    fn decode(bytes: &[u8]) -> Option<AckFrequency> {
        let every = u16::from_le_bytes(*bytes.first_chunk()?);
        Some(AckFrequency { every, delay_us: u32_at(bytes, 2)? })
    }
}

impl QuicAck {
    const HEAD: usize = 16;
    const RANGE: usize = 8;

    // By its fields: two that were written a moment ago and are read as one would be waited for.
    #[inline]
    fn encode(self, bytes: &mut Vec<u8>) {
        let QuicAck { ranges: [first, second, third], range_count, delay_us, ecn: EcnCounts { ect0, ect1, ce } } = self;
        let length = bytes.len() + QuicAck::HEAD + usize::from(range_count) * QuicAck::RANGE;
        let mut all = [0; QuicAck::HEAD + QuicAck::MAX_RANGES * QuicAck::RANGE];
        all[..8].copy_from_slice(&pair(delay_us, ect0));
        all[8..16].copy_from_slice(&pair(ect1, ce));
        all[16..24].copy_from_slice(&pair(first.start, first.end));
        all[24..32].copy_from_slice(&pair(second.start, second.end));
        all[32..].copy_from_slice(&pair(third.start, third.end));
        bytes.extend_from_slice(&all);
        bytes.truncate(length);
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Option<QuicAck> {
        let delay_us = u32_at(bytes, 0)?;
        let ecn = EcnCounts { ect0: u32_at(bytes, 4)?, ect1: u32_at(bytes, 8)?, ce: u32_at(bytes, 12)? };
        let mut ack = QuicAck { ranges: Default::default(), range_count: 0, delay_us, ecn };
        for (range, bytes) in ack.ranges.iter_mut().zip(bytes[QuicAck::HEAD..].chunks_exact(QuicAck::RANGE)) {
            *range = SackBlock { start: u32_at(bytes, 0)?, end: u32_at(bytes, 4)? };
            ack.range_count += 1;
        }
        Some(ack)
    }
}

/// The bytes of two integers.
#[inline]
fn pair(first: u32, second: u32) -> [u8; 8] {
    (u64::from(first) | u64::from(second) << 32).to_le_bytes()
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
            asked in any::<Option<(u16, u32)>>(),
            ranges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..=QuicAck::MAX_RANGES),
            (delay_us, ect0, ect1, ce) in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()),
        ) {
            let sent_at = Time::from_nanos(nanos);
            let ack_frequency = asked.map(|(every, delay_us)| AckFrequency { every, delay_us });
            let packet = QuicPacket { number, seq, len, ecn: Ecn::Ect0, is_retransmission, sent_at, ack_frequency };
            let mut payload = Vec::new();
            packet.encode(&mut payload);
            let arrival = Arrival { size: len + PACKET_OVERHEAD, ecn: Ecn::Ce, payload: &payload };
            prop_assert_eq!(QuicPacket::decode(arrival), Some(QuicPacket { ecn: Ecn::Ce, ..packet }));
            let mut ack = QuicAck { ranges: Default::default(), range_count: u8::try_from(ranges.len()).unwrap(), delay_us, ecn: EcnCounts { ect0, ect1, ce } };
            for (place, (start, end)) in ack.ranges.iter_mut().zip(ranges) {
                *place = SackBlock { start, end };
            }
            payload.clear();
            ack.encode(&mut payload);
            prop_assert_eq!(QuicAck::decode(&payload), Some(ack));
        }

        #[test]
        fn bytes_that_are_no_packet_are_none(payload in prop::collection::vec(any::<u8>(), 0..16)) {
            prop_assert_eq!(QuicPacket::decode(Arrival { size: 100, ecn: Ecn::NotEct, payload: &payload }), None);
            prop_assert_eq!(QuicAck::decode(&payload), None);
        }
    }
}
