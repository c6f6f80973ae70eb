//! An ACK arrives (RFC 9002, appendix A.7).

use super::super::endpoint::{AckFrame, WrittenRange, read, written};
use super::super::sent_packets::Fate;
use super::super::{QuicAck, QuicPacket};
use super::QuicSender;
use crate::SackBlock;
use dumbbell_cc_contract::{AckFlags, CaState, Event, RateSample};
use dumbbell_recovery::rate::end_app_limited;
use dumbbell_units::{Time, claimed, prefetch_all};

/// The connection before the ACK.
#[derive(Clone, Copy, Debug)]
struct Prior {
    in_flight: u32,
    delivered: u64,
}

/// The ranges of the ACK before, highest first, of which everything is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(Vec<WrittenRange>);

impl Told {
    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<WrittenRange>(self.0.len(), self.0.capacity())
    }

    /// Has the processor fetch the ranges.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch_all(&self.0);
    }

    /// The packets by which an ACK has more than this one, if all it does is to continue the highest range.
    #[inline]
    fn continued_by(&self, ranges: &[WrittenRange]) -> Option<SackBlock> {
        let ([told, below @ ..], [told_now, below_now @ ..]) = (&self.0[..], ranges) else { return None };
        let (told, told_now) = (read(*told), read(*told_now));
        // The lowest range tells it at once where a late packet has filled a gap.
        let is_continued = told.start == told_now.start
            && below.last() == below_now.last()
            && below.as_flattened() == below_now.as_flattened();
        is_continued.then_some(SackBlock { start: told.end, end: told_now.end })
    }

    /// The highest range now ends there.
    #[inline]
    fn continue_to(&mut self, end: u32) {
        if let Some(told) = self.0.first_mut() {
            *told = written(SackBlock { end, ..read(*told) });
        }
    }

    /// Calls `on_new` with the parts of `ranges` that this has not, highest range first.
    fn for_each_new(&self, ranges: &[WrittenRange], mut on_new: impl FnMut(SackBlock)) {
        // Of many ranges most are as before, from the highest down and from the lowest up.
        let (known, ranges) = (&self.0[..], ranges);
        let above = known.iter().zip(ranges).take_while(|(known, range)| known == range).count();
        let (known, ranges) = (&known[above..], &ranges[above..]);
        let pairs_below = known.iter().rev().zip(ranges.iter().rev());
        let below = pairs_below.take_while(|(known, range)| known == range).count();
        let mut known = known[..known.len() - below].iter().map(|&range| read(range)).peekable();
        for range in ranges[..ranges.len() - below].iter().map(|&range| read(range)) {
            while known.next_if(|told| told.start >= range.end).is_some() {}
            let mut end = range.end;
            while let Some(told) = known.peek().copied().filter(|told| told.end > range.start) {
                if told.end < end {
                    on_new(SackBlock { start: told.end, end });
                }
                end = end.min(told.start);
                if end <= range.start {
                    // The next range may be a part of it, too.
                    break;
                }
                known.next();
            }
            if range.start < end {
                on_new(SackBlock { start: range.start, end });
            }
        }
    }
}

/// How much a count of packets has grown by one ACK.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "an ACK settles no more packets than have numbers, which are u32")]
fn growth(now: u64, before: u64) -> u32 {
    (now - before) as u32
}

impl QuicSender {
    /// An ACK arrives. The packets that it allows to be sent come from [`QuicSender::poll_transmit`].
    pub fn on_ack(&mut self, now: Time, ack: &QuicAck) {
        let ranges: Vec<WrittenRange> = ack.ranges.iter().map(|&range| written(range)).collect();
        self.on_ack_frame(now, AckFrame { ranges: &ranges, delay_us: ack.delay_us, ecn: ack.ecn });
    }

    /// [`on_ack`](Self::on_ack) for an ACK as it was written.
    pub(in crate::quic) fn on_ack_frame(&mut self, now: Time, ack: AckFrame<'_>) {
        self.refresh_clock(now);
        let prior = Prior { in_flight: self.view.in_flight(), delivered: self.view.delivered };
        self.sample = RateSample { prior_in_flight: prior.in_flight, ..RateSample::invalid() };

        let Some(largest) = ack.ranges.first().map(|&range| read(range).end - 1) else { return };
        if largest >= self.sent.next_number() {
            return;
        }
        let bytes_before = self.bytes_in_flight;
        self.prr.begin_event(bytes_before);
        let grew_by = self.acknowledge_ranges(ack, largest);
        let delivered = growth(self.view.delivered, prior.delivered);
        self.prr.delivered(delivered, bytes_before - self.bytes_in_flight);
        if delivered > 0 {
            self.timers.note_progress();
        }
        let marks = self.ecn.on_ack(ack.ecn, largest, delivered);
        self.view.delivered_ce += u64::from(marks);
        self.sample.is_ece = marks > 0;

        self.rate.end_ack(&self.sample, &self.view);
        self.forget_settled();
        self.advance_resume(delivered, largest);
        self.tell_controller(ack, delivered);
        if std::mem::take(&mut self.undoes) {
            self.undo_reduction();
        }
        self.recovery_ends = grew_by > 0;
        if !self.full_control {
            self.end_recovery();
        }
        let losses = self.detect_losses();
        if losses.is_some() {
            self.forget_settled();
        }
        if marks > 0 && !self.owns_marks {
            self.on_congestion(largest, true);
        }
        if let Some(losses) = losses {
            self.on_losses(losses);
        }
        self.cong_control(delivered, grew_by);
        self.end_recovery();
    }

    /// Acknowledges the packets of an ACK and takes its RTT sample. Returns how many of them were sent after recovery
    /// began.
    fn acknowledge_ranges(&mut self, ack: AckFrame<'_>, largest: u32) -> u32 {
        let newest = self.sent.get(largest).filter(|sent| sent.fate == Fate::InFlight).map(|sent| sent.at.sent_us);
        let grew_by = match self.told.continued_by(ack.ranges) {
            Some(more) => {
                self.told.continue_to(more.end);
                self.acknowledge_range(&more)
            }
            None => self.acknowledge_new_ranges(ack, largest),
        };
        self.sent.note_largest_acked(largest);
        if let Some(sent_us) = newest {
            let rtt_us = (self.view.mstamp_us - sent_us).max(1);
            self.sample.rtt_us = i64::try_from(rtt_us).unwrap_or(i64::MAX);
            self.take_rtt(rtt_us, u64::from(ack.delay_us));
        }
        grew_by
    }

    /// Acknowledges what the ACK before did not; returns how many of these packets were sent after recovery began.
    #[inline(never)]
    fn acknowledge_new_ranges(&mut self, ack: AckFrame<'_>, largest: u32) -> u32 {
        let mut grew_by = 0;
        let told = std::mem::take(&mut self.told);
        told.for_each_new(ack.ranges, |range| grew_by += self.acknowledge_range(&range));
        self.told = told;
        self.told.0.clear();
        self.told.0.extend_from_slice(ack.ranges);
        if ack.ranges.len() > 1 {
            self.tell_what_is_known(largest);
        }
        grew_by
    }

    /// Once a round trip the receiver is to hear that its ACKs arrive, as it does where it asks for that with a PING.
    fn tell_what_is_known(&mut self, largest: u32) {
        if self.view.mstamp_us >= self.tells_at_us {
            self.tells_at_us = self.view.mstamp_us + self.rtt.srtt_us();
            self.known_up_to = Some(largest);
        }
    }

    /// Acknowledges a range of packets; returns how many of them were sent after recovery began.
    #[inline(always)]
    fn acknowledge_range(&mut self, range: &SackBlock) -> u32 {
        let (mut grew_by, mut packets, mut bytes) = (0, 0, 0);
        for number in range.start.max(self.sent.first())..range.end {
            let Some(sent) = self.sent.get_mut(number).filter(|sent| sent.fate == Fate::InFlight) else { continue };
            sent.fate = Fate::Acked;
            packets += 1;
            bytes += QuicPacket::bytes(sent.len);
            self.view.delivered += 1;
            self.rate.packet_acked(&mut self.sample, &self.view, &sent.at);
            grew_by += u32::from(number >= self.recovery_end);
        }
        if packets > 0 {
            self.view.packets_out -= packets;
            self.bytes_in_flight -= bytes;
            self.view.delivered_mstamp_us = self.view.mstamp_us;
        }
        if self.sent.may_have_lost(range.start) {
            self.acknowledge_lost(range);
        }
        grew_by
    }

    /// Packets that were declared lost have arrived after all.
    #[inline(never)]
    fn acknowledge_lost(&mut self, range: &SackBlock) {
        while let Some(lost) = self.sent.take_lost(range.start..range.end) {
            self.stats.spurious_losses += 1;
            self.view.delivered += 1;
            self.view.delivered_mstamp_us = self.view.mstamp_us;
            self.rate.packet_acked(&mut self.sample, &self.view, &lost.sent.at);
            self.stream.arrived(lost.sent.seq);
            let was_last = lost.was_told && self.spurious.acked(lost.number);
            self.undoes |= was_last && self.config.undo;
        }
    }

    /// All packets whose loss made the reduction have arrived: takes it back.
    #[inline(never)]
    fn undo_reduction(&mut self) {
        self.stats.undo_count += 1;
        self.control.cwnd_bytes = 0;
        self.control.cwnd = self.controller.undo_cwnd(&self.view, &self.control);
        self.control.ssthresh = self.control.ssthresh.max(self.before.ssthresh);
        self.recovery_end = self.before.recovery_end;
        if matches!(self.view.ca_state, CaState::Recovery | CaState::Loss) {
            self.set_state(CaState::Open);
        }
    }

    /// The calls of the controller before loss detection.
    fn tell_controller(&mut self, ack: AckFrame<'_>, delivered: u32) {
        if self.hooks.pkts_acked && delivered > 0 {
            let in_flight = self.sample.delivered_since_sent(self.view.delivered);
            self.controller.pkts_acked(&self.view, &mut self.control, delivered, self.sample.rtt_us, in_flight);
        }
        if self.hooks.in_ack_event {
            let slow_path = ack.ranges.len() > 1 || delivered == 0;
            let flags = AckFlags { slow_path, ece: self.sample.is_ece, window_update: false };
            self.controller.in_ack_event(&self.view, &mut self.control, flags);
        }
    }

    /// Ends the recovery period if the ACK does: it acknowledges a packet that was sent after the period began (section
    /// 7.3.2).
    ///
    /// For a controller with full control the period lasts to the end of this ACK. BBR judges STARTUP in recovery, at
    /// the end of a round that begins with the first loss, as the period does: both end with the same ACK.
    pub(super) fn end_recovery(&mut self) {
        if !std::mem::take(&mut self.recovery_ends) {
            return;
        }
        match self.view.ca_state {
            CaState::Cwr | CaState::Recovery => {
                self.set_state(CaState::Open);
                if !self.full_control {
                    self.controller.event(&self.view, &mut self.control, Event::CompleteCwr);
                }
            }
            CaState::Loss => self.set_state(CaState::Open),
            _ => {}
        }
    }

    /// Completes the rate sample, with all losses since the ACK before, also those that the timer found, and lets the
    /// controller set window and pacing rate.
    fn cong_control(&mut self, delivered: u32, grew_by: u32) {
        self.sample.acked_sacked = delivered;
        self.sample.losses = growth(self.view.lost, self.lost_sampled);
        self.lost_sampled = self.view.lost;
        end_app_limited(&mut self.control.app_limited, self.view.delivered);
        if self.full_control {
            self.view.no_unsent_data = self.stream.has_sent_all();
            self.controller.cong_control(&self.view, &mut self.control, &self.sample);
        } else {
            if grew_by > 0 && !self.view.in_reduction() && self.resume.jump().is_none() {
                self.controller.cong_avoid(&self.view, &mut self.control, grew_by);
                if self.needs.reductions && self.controller.begins_reduction() {
                    self.on_congestion(self.sent.next_number(), false);
                }
            }
            self.update_pacing_rate();
        }
        self.hold_resumed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Ranges of the numbers, highest first.
    fn ranges(numbers: &BTreeSet<u32>) -> Vec<WrittenRange> {
        let mut found: Vec<SackBlock> = Vec::new();
        for &number in numbers.iter().rev() {
            match found.last_mut() {
                Some(range) if range.start == number + 1 => range.start = number,
                _ => found.push(SackBlock { start: number, end: number + 1 }),
            }
        }
        found.into_iter().map(written).collect()
    }

    proptest! {
        #[test]
        fn what_an_ack_brings_is_what_the_one_before_had_not(
            before in prop::collection::btree_set(0u32..60, 0..50),
            now in prop::collection::btree_set(0u32..60, 0..50),
        ) {
            let told = Told(ranges(&before));
            let mut new = Vec::new();
            told.for_each_new(&ranges(&now), |range| new.extend(range.start..range.end));
            let expected: BTreeSet<u32> = now.difference(&before).copied().collect();
            prop_assert_eq!(new.len(), expected.len());
            prop_assert_eq!(new.into_iter().collect::<BTreeSet<u32>>(), expected);
            if let Some(more) = told.continued_by(&ranges(&now)) {
                prop_assert_eq!((more.start..more.end).collect::<BTreeSet<u32>>(), now.difference(&before).copied().collect());
            }
        }
    }
}
