//! The receiving endpoint: it acknowledges packet numbers and delivers the stream in order.

use super::{AckFrequency, EcnCounts, QuicAck, QuicPacket};
use crate::receiver::Reassembly;
use crate::{ReceiverStats, SackBlock, TransportConfig};
use dumbbell_units::{Duration, Ecn, Time, prefetch, prefetch_all};

/// Where a packet number stands among those received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind the largest.
    Next,
    /// Elsewhere.
    Other,
    /// It was there before.
    Known,
}

/// Receives packets and decides when to acknowledge them.
///
/// It begins with a cache line, so that what is [prefetched](prefetch) of it is what is needed.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct QuicReceiver {
    /// Ranges of packet numbers received, lowest first.
    ranges: Vec<SackBlock>,
    /// So many are remembered.
    most_ranges: usize,
    largest_at: Time,
    unacked: u32,
    ack_at: Time,
    /// An ACK has to be sent now.
    must_ack: bool,
    ecn: EcnCounts,
    next_seq: u32,
    held: Reassembly,
    ack_every: u32,
    max_ack_delay: Duration,
    stats: ReceiverStats,
}

impl QuicReceiver {
    /// A receiver with nothing received.
    pub fn new(config: &TransportConfig) -> QuicReceiver {
        QuicReceiver {
            ranges: Vec::new(),
            most_ranges: config.quic.ack_ranges.max(1) as usize,
            largest_at: Time::ZERO,
            unacked: 0,
            ack_at: Time::NEVER,
            must_ack: false,
            ecn: EcnCounts::default(),
            next_seq: 0,
            held: Reassembly::default(),
            ack_every: config.ack_every.max(1),
            max_ack_delay: config.quic.max_ack_delay,
            stats: ReceiverStats::default(),
        }
    }

    /// A packet arrives; the ACK that it causes at once comes from [`QuicReceiver::poll_transmit`].
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: QuicPacket) {
        let continues = self.ranges.last().is_some_and(|last| last.end == packet.number);
        if continues && packet.seq == self.next_seq && self.held.is_empty() {
            self.note_number(now, packet.number);
            self.deliver_next(packet);
            self.answer(now, packet, Place::Next);
        } else {
            self.on_unexpected_packet(now, packet);
        }
    }

    /// A packet arrives that is not the next one behind all others. Kept apart, because the next one needs no calls.
    #[inline(never)]
    fn on_unexpected_packet(&mut self, now: Time, packet: QuicPacket) {
        let place = self.note_number(now, packet.number);
        self.deliver(packet);
        self.answer(now, packet, place);
    }

    /// A packet has arrived: counts it, and decides when it is acknowledged.
    #[inline]
    fn answer(&mut self, now: Time, packet: QuicPacket, place: Place) {
        self.stats.arrived_segments += 1;
        self.stats.arrived_bytes += u64::from(packet.len);
        if let Some(AckFrequency { every, delay_us }) = packet.ack_frequency {
            self.ack_every = u32::from(every);
            self.max_ack_delay = Duration::from_micros(u64::from(delay_us));
        }
        if let Some(number) = packet.known_up_to {
            self.forget(number);
        }
        // The bits of a copy are not counted.
        let marked = place != Place::Known && self.count_bits(packet.ecn);
        self.unacked += 1;
        if place != Place::Next || marked || self.unacked >= self.ack_every {
            self.must_ack = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.max_ack_delay;
        }
    }

    /// The timer of [`QuicReceiver::next_timer`] is due; the ACK that it causes comes from
    /// [`QuicReceiver::poll_transmit`].
    pub fn on_timer(&mut self, now: Time) {
        self.must_ack |= self.ack_at <= now;
    }

    /// The ACK that has to be sent now, if any.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<QuicAck> {
        self.must_acknowledge().then(|| {
            let (delay_us, ecn) = self.acknowledge(now);
            QuicAck { ranges: self.ranges.iter().rev().copied().collect(), delay_us, ecn }
        })
    }

    /// Whether an ACK has to be sent now.
    #[inline]
    pub(super) fn must_acknowledge(&self) -> bool {
        self.must_ack
    }

    /// When [`QuicReceiver::on_timer`] wants to be called; [`Time::NEVER`] when no timer is armed.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.ack_at
    }

    /// Counters.
    #[inline]
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Has the processor fetch what a packet needs of it.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch(&self.ranges);
        prefetch(&self.stats);
        prefetch(&self.ack_at);
        prefetch(&self.must_ack);
    }

    /// Has the processor fetch the ranges.
    #[inline(always)]
    pub(super) fn prefetch_rest(&self) {
        prefetch_all(&self.ranges);
    }

    /// Counts the ECN bits of a packet; returns whether it is marked.
    #[inline]
    fn count_bits(&mut self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ecn.ect0 += 1,
            Ecn::Ect1 => self.ecn.ect1 += 1,
            Ecn::Ce => {
                self.ecn.ce += 1;
                self.stats.ce_segments += 1;
            }
        }
        ecn == Ecn::Ce
    }

    /// Adds a packet number to the ranges.
    #[inline]
    fn note_number(&mut self, now: Time, number: u32) -> Place {
        match self.ranges.last_mut() {
            Some(last) if last.end == number => {
                last.end += 1;
                self.largest_at = now;
                Place::Next
            }
            _ => self.note_any_number(now, number),
        }
    }

    #[inline(never)]
    fn note_any_number(&mut self, now: Time, number: u32) -> Place {
        let highest_end = self.ranges.last().map_or(0, |range| range.end);
        if number >= highest_end {
            self.largest_at = now;
            self.ranges.push(SackBlock { start: number, end: number + 1 });
            self.forget_lowest();
            return if number == highest_end { Place::Next } else { Place::Other };
        }
        // Without losses a late packet fills the lowest gap.
        let fills_lowest = self.ranges.first().is_some_and(|range| number <= range.end);
        let index = if fills_lowest { 0 } else { self.ranges.partition_point(|range| range.end < number) };
        let known = self.ranges.get(index).is_some_and(|range| range.start <= number && number < range.end);
        if known {
            return Place::Known;
        }
        let extends_this = self.ranges.get(index).is_some_and(|range| range.end == number);
        let meets_next = |i: usize| self.ranges.get(i).is_some_and(|range| range.start == number + 1);
        if extends_this {
            if meets_next(index + 1) {
                self.ranges[index].end = self.ranges[index + 1].end;
                self.ranges.remove(index + 1);
            } else {
                self.ranges[index].end += 1;
            }
        } else if meets_next(index) {
            self.ranges[index].start = number;
        } else {
            self.ranges.insert(index, SackBlock { start: number, end: number + 1 });
            self.forget_lowest();
        }
        Place::Other
    }

    /// Keeps no more ranges than an ACK carries.
    fn forget_lowest(&mut self) {
        if self.ranges.len() > self.most_ranges {
            self.ranges.remove(0);
        }
    }

    /// The sender has got an ACK with this largest number: what that ACK told is told no more. A packet below it that
    /// arrives late is acknowledged all the same.
    #[inline(never)]
    fn forget(&mut self, number: u32) {
        let told = self.ranges.partition_point(|range| range.end <= number.saturating_add(1));
        // The highest range holds the largest number, which every ACK names.
        self.ranges.drain(..told.min(self.ranges.len().saturating_sub(1)));
    }

    /// The next part of the stream has arrived.
    #[inline]
    fn deliver_next(&mut self, packet: QuicPacket) {
        self.next_seq += 1;
        self.stats.delivered_segments += 1;
        self.stats.delivered_bytes += u64::from(packet.len);
    }

    fn deliver(&mut self, packet: QuicPacket) {
        if packet.seq < self.next_seq {
            self.stats.duplicate_segments += 1;
        } else if packet.seq > self.next_seq {
            if !self.held.insert(packet.seq, u64::from(packet.len)) {
                self.stats.duplicate_segments += 1;
            }
        } else {
            self.deliver_next(packet);
            if let Some(run) = self.held.take(self.next_seq) {
                self.next_seq = run.end;
                self.stats.delivered_segments += u64::from(run.end - run.start);
                self.stats.delivered_bytes += run.bytes;
            }
        }
    }

    /// The ranges that an ACK tells of, lowest first.
    #[inline]
    pub(super) fn ranges(&self) -> &[SackBlock] {
        &self.ranges
    }

    /// The delay and the counts of the ACK that [has to be sent](Self::must_acknowledge), which is counted as sent.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Time) -> (u32, EcnCounts) {
        self.must_ack = false;
        self.unacked = 0;
        self.ack_at = Time::NEVER;
        self.stats.acks_sent += 1;
        (u32::try_from(now.since(self.largest_at).as_micros()).unwrap_or(u32::MAX), self.ecn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(receiver: &mut QuicReceiver, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            receiver.note_number(Time::ZERO, number);
        }
    }

    fn told(receiver: &mut QuicReceiver) -> Vec<(u32, u32)> {
        receiver.must_ack = true;
        let ack = receiver.poll_transmit(Time::ZERO).unwrap();
        ack.ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn as_many_ranges_are_remembered_as_an_ack_carries() {
        let mut config = TransportConfig::default();
        for most in [1, 32, 256] {
            config.quic.ack_ranges = most;
            let mut receiver = QuicReceiver::new(&config);
            receive(&mut receiver, (0..most + 68).map(|n| 4 * n));
            let ranges = told(&mut receiver);
            assert_eq!(ranges.len(), most as usize);
            assert_eq!(ranges.last().unwrap().0, 4 * 68);
        }
    }

    #[test]
    fn an_ack_tells_of_the_ranges_highest_first() {
        let mut receiver = QuicReceiver::new(&TransportConfig::default());
        assert_eq!(told(&mut receiver), []);
        receive(&mut receiver, [0, 1, 4]);
        assert_eq!(told(&mut receiver), [(4, 5), (0, 2)]);
        receive(&mut receiver, [6, 8, 9]);
        assert_eq!(told(&mut receiver), [(8, 10), (6, 7), (4, 5), (0, 2)]);
    }

    #[test]
    fn what_the_sender_knows_is_told_no_more_and_late_packets_are() {
        let mut receiver = QuicReceiver::new(&TransportConfig::default());
        receive(&mut receiver, [0, 2, 4, 6, 7, 10]);
        receiver.forget(7);
        assert_eq!(told(&mut receiver), [(10, 11)]);
        receive(&mut receiver, [3]);
        assert_eq!(told(&mut receiver), [(10, 11), (3, 4)]);
        receiver.forget(10);
        assert_eq!(told(&mut receiver), [(10, 11)], "the largest number stays");
        receive(&mut receiver, [11]);
        assert_eq!(told(&mut receiver), [(10, 12)]);
    }
}
