//! Where the ACK rate of a bandwidth sample may begin when ACKs come in aggregates (Chromium's option `BSAO`, bandwidth
//! sampler overestimate avoidance).
//!
//! The plain sampler measures the ACK rate of a packet from the ACK before its departure. Where ACKs are held back and
//! then come in a train, that ACK may be the first of a train and the packet's own the last of another one: the sample
//! counts one train too many for its time. With the avoidance an ACK rate begins at an *ack point* before a train: the
//! last one at which no more was acknowledged than when the packet left.
//!
//! A train (an epoch) begins with an ACK when what was acknowledged since the beginning of the last one is no more than
//! twice what the bandwidth gives for the time since. The bandwidth is the maximum over ten round trips of samples that
//! are not limited by the application, or higher than it all the same.

use dumbbell_cc_contract::minmax::MaxFilter;
use dumbbell_cc_contract::{RateSample, View};
use std::collections::VecDeque;

/// A train is over when it has brought at most so many times what the bandwidth gives.
const THRESHOLD: u64 = 2;
/// Round trips over which the bandwidth is the maximum.
const WINDOW_ROUNDS: u32 = 10;
/// Bits of the bandwidth's fraction, in packets per microsecond.
const SCALE: u32 = 24;

/// What was acknowledged at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckPoint {
    /// When.
    pub at_us: u64,
    /// Packets acknowledged until then.
    pub acked: u64,
}

/// A train of ACKs.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    begun_us: u64,
    packets: u64,
}

/// The ack points of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct AckPoints {
    /// From which ACK rates may be measured, oldest first.
    candidates: VecDeque<AckPoint>,
    /// The connection after the latest ACK.
    latest: AckPoint,
    epoch: Option<Epoch>,
    bandwidth: MaxFilter,
    rounds: u32,
    /// The round ends with the sample of a packet that left when so many had been acknowledged.
    round_end: u64,
}

impl AckPoints {
    /// A packet leaves at `now_us` into an empty pipe.
    pub fn restart(&mut self, now_us: u64, acked: u64) {
        self.latest = AckPoint { at_us: now_us, acked };
        self.candidates.clear();
        self.candidates.push_back(self.latest);
    }

    /// Where the ACK rate begins of a packet that left when `acked` packets had been acknowledged. What lies before is
    /// forgotten.
    pub fn choose(&mut self, acked: u64) -> Option<AckPoint> {
        while self.candidates.get(1).is_some_and(|next| next.acked <= acked) {
            self.candidates.pop_front();
        }
        self.candidates.front().copied()
    }

    /// An ACK has been processed and has given this sample.
    pub fn end_ack(&mut self, view: &View, sample: &RateSample) {
        let now = AckPoint { at_us: view.mstamp_us, acked: view.delivered };
        let packets = now.acked - self.latest.acked;
        if packets == 0 {
            return;
        }
        self.measure(view, sample);
        let expected = |epoch: &Epoch| {
            let span_us = u128::from(now.at_us - epoch.begun_us);
            (span_us * u128::from(self.bandwidth.max()) * u128::from(THRESHOLD)) >> SCALE
        };
        match &mut self.epoch {
            Some(epoch) if u128::from(epoch.packets) > expected(epoch) => epoch.packets += packets,
            epoch => {
                *epoch = Some(Epoch { begun_us: now.at_us, packets });
                self.candidates.push_back(self.latest);
            }
        }
        self.latest = now;
    }

    /// Takes a sample into the bandwidth.
    fn measure(&mut self, view: &View, sample: &RateSample) {
        let (Ok(packets), Ok(span_us)) = (u64::try_from(sample.delivered), u64::try_from(sample.interval_us)) else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.rounds = self.rounds.wrapping_add(1);
            self.round_end = view.delivered;
        }
        let rate = u32::try_from((packets << SCALE) / span_us.max(1)).unwrap_or(u32::MAX);
        if !sample.is_app_limited || rate >= self.bandwidth.max() {
            self.bandwidth.update(WINDOW_ROUNDS, self.rounds, rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_us: u64, acked: u64) -> AckPoint {
        AckPoint { at_us, acked }
    }

    #[test]
    fn of_the_candidates_the_last_that_is_not_after_the_departure_is_chosen() {
        let mut points = AckPoints::default();
        assert_eq!(points.choose(5), None);
        points.candidates.extend([point(10, 0), point(20, 10), point(30, 20)]);
        assert_eq!(
            [0, 9, 10, 15].map(|acked| points.choose(acked)),
            [Some(point(10, 0)), Some(point(10, 0)), Some(point(20, 10)), Some(point(20, 10)),]
        );
        assert_eq!(points.choose(99), Some(point(30, 20)), "the last one stays");
        assert_eq!(points.choose(99), Some(point(30, 20)));
    }

    /// ACKs, each with the time and the packets acknowledged until then, at a bandwidth of one packet a millisecond.
    fn candidates(acks: &[(u64, u64)]) -> Vec<AckPoint> {
        let mut points = AckPoints::default();
        points.restart(0, 0);
        for &(at_us, delivered) in acks {
            let view = View { mstamp_us: at_us, delivered, ..View::new(1350) };
            let sample = RateSample { delivered: 1, interval_us: 1_000, ..RateSample::invalid() };
            points.end_ack(&view, &sample);
        }
        points.candidates.into()
    }

    #[test]
    fn the_point_before_a_train_is_a_candidate_and_none_within_it_is() {
        // Three trains of ten packets, one ACK in 100 us, every 10 ms.
        let train = |begun_us: u64, acked: u64| (1..=10).map(move |n| (begun_us + 100 * n, acked + n));
        let acks: Vec<(u64, u64)> = train(10_000, 0).chain(train(20_000, 10)).chain(train(30_000, 20)).collect();
        // The first ACK of all begins the first train.
        assert_eq!(candidates(&acks), [point(0, 0), point(0, 0), point(11_000, 10), point(21_000, 20)]);
    }

    #[test]
    fn every_ack_that_comes_as_packets_are_delivered_is_a_candidate() {
        let acks = [(1_000, 1), (2_000, 2), (3_000, 3)];
        assert_eq!(candidates(&acks), [point(0, 0), point(0, 0), point(1_000, 1), point(2_000, 2)]);
    }
}
