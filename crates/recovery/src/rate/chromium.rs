//! QUIC's bandwidth sampler (Chromium's `BandwidthSampler`, in its first version).
//!
//! Every acknowledged packet P gives a sample. It looks back to packet R, the last one acknowledged before P was sent.
//! The send rate is what was sent from R to P, the ACK rate what was acknowledged from R to P; the sample is the lower
//! one of the two. Of the samples of one ACK the highest is kept. Unlike Linux, it keeps samples whose interval is
//! shorter than the minimum RTT. Where ACKs come in trains, the ACK rate may be too high;
//! [`ack_points`](super::ack_points) says what later versions can do about it.

use super::ack_points::{AckPoint, AckPoints};
use dumbbell_cc_contract::{Control, RateSample, View};

/// The packet that was acknowledged last.
#[derive(Clone, Copy, Debug, Default)]
struct Reference {
    /// When it was sent.
    sent_us: u64,
    /// When it was acknowledged.
    acked_us: u64,
    /// Packets sent until then, this one included (low bits).
    total_sent: u32,
    /// Packets acknowledged until then, this one included (low bits).
    acked: u32,
}

/// What the sampler remembers of a packet from when it was sent. There is one for each packet in flight, so it has only
/// the low bits of counts, which tell how much they have grown since.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentSnapshot {
    /// When it was sent, in microseconds.
    pub sent_us: u64,
    reference: Reference,
    /// Packets sent so far, this one included.
    total_sent: u32,
    delivered: u32,
    lost: u32,
    delivered_ce: u32,
    /// Packets in flight, this one included.
    pub tx_in_flight: u32,
    /// The sender was limited by the application.
    pub is_app_limited: bool,
    /// It carries data that was sent before.
    pub is_retransmission: bool,
}

impl SentSnapshot {
    /// [`View::delivered`] when it was sent, by that of now.
    #[inline]
    pub fn delivered(&self, now: &View) -> u64 {
        now.delivered - u64::from(grown(now.delivered, self.delivered))
    }

    /// [`View::lost`] when it was sent, by that of now.
    #[inline]
    pub fn lost(&self, now: &View) -> u64 {
        now.lost - u64::from(grown(now.lost, self.lost))
    }
}

/// The low bits of a count.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits are kept, as the name says")]
fn low_bits(count: u64) -> u32 {
    count as u32
}

/// How much a count has grown of which the low bits were `before`.
#[inline]
fn grown(now: u64, before: u32) -> u32 {
    low_bits(now).wrapping_sub(before)
}

/// The sampler of a QUIC sender.
#[derive(Clone, Debug, Default)]
pub struct ChromiumSampler {
    /// Packets sent (low bits).
    total_sent: u32,
    reference: Reference,
    /// Where ACK rates may begin, if overestimates are avoided.
    ack_points: Option<Box<AckPoints>>,
}

impl ChromiumSampler {
    /// A sampler whose ACK rates begin before a train of ACKs (Chromium's option `BSAO`).
    pub fn avoiding_overestimates() -> ChromiumSampler {
        ChromiumSampler { ack_points: Some(Box::default()), ..ChromiumSampler::default() }
    }

    /// Nothing is in flight. The packet that is sent at `now_us`, when `acked` packets have been acknowledged, is its
    /// own reference.
    pub fn restart(&mut self, now_us: u64, acked: u64) {
        let total_sent = self.total_sent.wrapping_add(1);
        self.reference = Reference { sent_us: now_us, acked_us: now_us, total_sent, acked: low_bits(acked) };
        if let Some(points) = &mut self.ack_points {
            points.restart(now_us, acked);
        }
    }

    /// A packet is sent; `view` counts it as in flight already.
    #[inline]
    pub fn packet_sent(&mut self, view: &View, control: &Control, is_retransmission: bool) -> SentSnapshot {
        self.total_sent = self.total_sent.wrapping_add(1);
        let Reference { sent_us, acked_us, total_sent, acked } = self.reference;
        SentSnapshot {
            sent_us: view.mstamp_us,
            reference: Reference { sent_us, acked_us, total_sent, acked },
            total_sent: self.total_sent,
            delivered: low_bits(view.delivered),
            lost: low_bits(view.lost),
            delivered_ce: low_bits(view.delivered_ce),
            tx_in_flight: view.in_flight(),
            is_app_limited: control.app_limited != 0,
            is_retransmission,
        }
    }

    /// A packet is acknowledged; `view` counts it as delivered already. Improves the sample of this ACK.
    #[inline]
    pub fn packet_acked(&mut self, sample: &mut RateSample, view: &View, sent: &SentSnapshot) {
        let begin = match &mut self.ack_points {
            Some(points) => points.choose(sent.delivered(view)),
            None => None,
        };
        let (begin_us, acked) = match begin {
            Some(AckPoint { at_us, acked }) => (at_us, low_bits(acked)),
            None => (sent.reference.acked_us, sent.reference.acked),
        };
        improve(sample, view, sent, (begin_us, grown(view.delivered, acked)));
        self.reference = Reference {
            sent_us: sent.sent_us,
            acked_us: view.mstamp_us,
            total_sent: sent.total_sent,
            acked: low_bits(view.delivered),
        };
    }

    /// All packets of an ACK are acknowledged, and gave this sample.
    #[inline]
    pub fn end_ack(&mut self, sample: &RateSample, view: &View) {
        if let Some(points) = &mut self.ack_points {
            points.end_ack(view, sample);
        }
    }
}

/// Replaces the sample of an ACK by that of one more packet, if that is higher. Its ACK rate begins at an instant since
/// which `acked_packets` have been acknowledged.
#[inline]
fn improve(sample: &mut RateSample, view: &View, sent: &SentSnapshot, (begin_us, acked_packets): (u64, u32)) {
    let reference = &sent.reference;
    let sent_packets = u64::from(sent.total_sent.wrapping_sub(reference.total_sent));
    let send_us = sent.sent_us.saturating_sub(reference.sent_us);
    let acked_packets = u64::from(acked_packets);
    let ack_us = view.mstamp_us.saturating_sub(begin_us);
    if ack_us == 0 {
        return;
    }
    // Rates are compared as cross products; a send time of zero is an infinite rate.
    let send_is_slower = sent_packets * ack_us < acked_packets * send_us;
    let (packets, interval_us) = if send_is_slower { (sent_packets, send_us) } else { (acked_packets, ack_us) };
    let (best_packets, best_us) = (i64::from(sample.delivered).cast_unsigned(), sample.interval_us.cast_unsigned());
    if sample.interval_us > 0 && best_packets * interval_us >= packets * best_us {
        return;
    }
    sample.delivered = low_bits(packets).cast_signed();
    sample.interval_us = interval_us.cast_signed();
    sample.prior_delivered = sent.delivered(view);
    sample.prior_mstamp_us = reference.acked_us;
    sample.is_app_limited = sent.is_app_limited;
    sample.is_retrans = sent.is_retransmission;
    sample.tx_in_flight = sent.tx_in_flight;
    sample.lost_since_sent = grown(view.lost, sent.lost).cast_signed();
    sample.delivered_ce = grown(view.delivered_ce, sent.delivered_ce).cast_signed();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A sampler with its connection; packets are acknowledged in any order.
    struct Lab {
        sampler: ChromiumSampler,
        view: View,
    }

    impl Lab {
        fn new() -> Lab {
            Lab { sampler: ChromiumSampler::default(), view: View::new(1350) }
        }

        fn send(&mut self, now_us: u64) -> SentSnapshot {
            self.view.mstamp_us = now_us;
            if self.view.packets_out == 0 {
                self.sampler.restart(now_us, self.view.delivered);
            }
            self.view.packets_out += 1;
            self.sampler.packet_sent(&self.view, &Control::default(), false)
        }

        fn ack(&mut self, now_us: u64, packets: &[SentSnapshot]) -> (i32, i64) {
            self.view.mstamp_us = now_us;
            let mut sample = RateSample::invalid();
            for sent in packets {
                self.view.packets_out -= 1;
                self.view.delivered += 1;
                self.sampler.packet_acked(&mut sample, &self.view, sent);
            }
            self.sampler.end_ack(&sample, &self.view);
            (sample.delivered, sample.interval_us)
        }
    }

    #[test]
    fn a_flight_into_an_empty_pipe_is_measured_from_its_first_packet() {
        let mut lab = Lab::new();
        let sent: Vec<_> = (0..4).map(|_| lab.send(1_000)).collect();
        assert_eq!(lab.ack(41_000, &sent[..1]), (1, 40_000));
        assert_eq!(lab.ack(42_000, &sent[1..2]), (2, 41_000));
        assert_eq!(sent[3].tx_in_flight, 4);
    }

    #[test]
    fn what_was_sent_slowly_is_no_faster_for_being_acknowledged_at_once() {
        let mut lab = Lab::new();
        let first = lab.send(0);
        let rest: Vec<_> = (1..=10).map(|n| lab.send(10_000 * n)).collect();
        lab.ack(100_000, &[first]);
        let later: Vec<_> = (1..=10).map(|n| lab.send(100_000 + 10_000 * n)).collect();
        lab.ack(200_000, &rest);
        // Held back and released at once: the send rate of 100 a second bounds the sample.
        let (packets, interval_us) = lab.ack(201_000, &later);
        assert!(f64::from(packets) * 1e6 / interval_us as f64 <= 110.0, "{packets} in {interval_us} us");
    }

    /// The highest sample in packets a second of a path that delivers 1000 of them a second and holds ACKs back, to
    /// release ten of them every 10 ms, 50 us apart. Packets leave in pairs with each ACK, twice as fast as they are
    /// delivered.
    fn highest_with_trains(sampler: ChromiumSampler) -> f64 {
        let mut lab = Lab { sampler, ..Lab::new() };
        let mut sent: VecDeque<SentSnapshot> = (0..20).map(|_| lab.send(0)).collect();
        let mut highest: f64 = 0.0;
        for train in 2..40 {
            for n in 0..10 {
                let now_us = 10_000 * train + 50 * n;
                let packet = sent.pop_front().unwrap();
                let (packets, interval_us) = lab.ack(now_us, &[packet]);
                if train > 3 {
                    highest = highest.max(f64::from(packets) * 1e6 / interval_us as f64);
                }
                sent.extend([(); 2].map(|()| lab.send(now_us)));
            }
        }
        highest
    }

    #[test]
    fn a_train_of_acks_makes_a_sample_too_high_unless_its_ack_rate_begins_before_a_train() {
        let plain = highest_with_trains(ChromiumSampler::default());
        assert!(plain > 1_150.0, "{plain}");
        let avoided = highest_with_trains(ChromiumSampler::avoiding_overestimates());
        assert!((990.0..=1_010.0).contains(&avoided), "{avoided}");
    }

    #[test]
    fn of_one_ack_the_highest_sample_is_kept_and_acks_without_time_give_none() {
        let mut lab = Lab::new();
        let sent: Vec<_> = (0..3).map(|_| lab.send(1_000)).collect();
        assert_eq!(lab.ack(41_000, &sent), (3, 40_000));
        let again = lab.send(50_000);
        assert_eq!(lab.ack(50_000, &[again]), (-1, -1));
    }
}
