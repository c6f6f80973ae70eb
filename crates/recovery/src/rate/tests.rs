//! Every rule on the same segments: sent in one flight or two, and acknowledged several at a time.

use super::*;

/// A sampler with the scoreboard and the counters of its connection. The handshake counts as one delivered packet, the
/// smallest round-trip time is 50 ms.
struct Lab {
    sampler: RateSampler,
    board: Scoreboard,
    view: View,
    control: Control,
    sample: RateSample,
}

impl Lab {
    fn new(sampler: RateSampler) -> Lab {
        let view = View { delivered: 1, delivered_mstamp_us: 1_000, min_rtt_us: 50_000, ..View::new(1448) };
        Lab { sampler, board: Scoreboard::new(), view, control: Control::default(), sample: RateSample::invalid() }
    }

    fn send(&mut self, now_us: u64, segments: u32) {
        for _ in 0..segments {
            if self.sampler.finds_empty_pipe(&self.view) {
                self.sampler.restart(Stamp::at_us(now_us));
                self.view.delivered_mstamp_us = now_us;
            }
            let record = self.sampler.skb_sent(&self.view, &self.control, Stamp::at_us(now_us));
            self.board.push_burst(&record, 1, 1448);
            self.view.packets_out += 1;
        }
    }

    /// The cumulative ACK covers everything below `ack`; packets delivered, and over how long.
    fn ack(&mut self, now_us: u64, ack: u32) -> (i32, i64) {
        self.view.mstamp_us = now_us;
        self.sampler.begin_ack(&mut self.sample, self.view.in_flight(), false, false);
        let (first, acked) = (self.board.una(), ack - self.board.una());
        if acked > 0 {
            self.sampler.run_delivered(&mut self.sample, &self.board, (first, ack), now_us, false);
            self.board.pop_originals(ack);
            self.view.packets_out -= acked;
            self.view.delivered += u64::from(acked);
            self.view.delivered_mstamp_us = now_us;
        }
        self.sampler.generate(&mut self.sample, &self.view, (acked, 0), false, false);
        (self.sample.delivered, self.sample.interval_us)
    }
}

fn all() -> [RateSampler; 4] {
    [RateSampler::linux(), RateSampler::linux_before_5_19(), RateSampler::ns3(), RateSampler::ns3_before_3_41()]
}

#[test]
fn an_ack_of_a_lone_flight_is_measured_from_its_sending() {
    for sampler in [RateSampler::linux(), RateSampler::linux_before_5_19(), RateSampler::ns3()] {
        let mut lab = Lab::new(sampler);
        lab.send(10_000, 4);
        assert_eq!(lab.ack(70_000, 3), (3, 60_000));
        assert_eq!((lab.sample.prior_delivered, lab.sample.acked_sacked, lab.sample.prior_in_flight), (1, 3, 4));
    }
}

#[test]
fn of_a_flight_linux_samples_the_last_segment_and_the_others_the_first() {
    let sampled = all().map(|sampler| {
        let mut lab = Lab::new(sampler);
        lab.send(10_000, 4);
        lab.ack(70_000, 3);
        lab.sample.tx_in_flight
    });
    assert_eq!(sampled, [3, 1, 1, 1]);
}

#[test]
fn the_longer_phase_counts() {
    let mut lab = Lab::new(RateSampler::linux());
    lab.send(10_000, 1);
    lab.send(90_000, 1);
    // The second segment left 80 ms after the first one, and both are acknowledged at once: the send phase.
    assert_eq!(lab.ack(95_000, 2), (2, 85_000));
    lab.send(96_000, 2);
    lab.send(100_000, 2);
    // Sent within 4 ms and acknowledged over 104 ms.
    assert_eq!(lab.ack(200_000, 6), (4, 104_000));
}

#[test]
fn an_interval_shorter_than_the_smallest_round_trip_is_invalid() {
    for sampler in [RateSampler::linux(), RateSampler::linux_before_5_19(), RateSampler::ns3()] {
        let mut lab = Lab::new(sampler);
        lab.send(10_000, 4);
        assert_eq!(lab.ack(30_000, 2), (2, -1));
    }
}

#[test]
fn an_ack_that_delivers_nothing_has_no_sample_but_ns3_measures_from_the_last_source() {
    let samples = [RateSampler::linux(), RateSampler::linux_before_5_19(), RateSampler::ns3()].map(|sampler| {
        let mut lab = Lab::new(sampler);
        lab.send(10_000, 4);
        lab.ack(70_000, 2);
        lab.ack(80_000, 2)
    });
    assert_eq!(samples, [(-1, -1), (-1, -1), (2, 60_000)]);
}

#[test]
fn before_3_41_a_discarded_sample_hands_out_the_last_rate_again() {
    let mut lab = Lab::new(RateSampler::ns3_before_3_41());
    lab.send(10_000, 2);
    // The first sample has no predecessor: it spans everything since the start of the run.
    assert_eq!(lab.ack(70_000, 2), (2, 70_000));
    lab.send(75_000, 2);
    lab.ack(80_000, 4);
    assert_eq!(
        (lab.sample.delivered, lab.sample.interval_us),
        (2, 70_000),
        "10 ms since the source before are no time"
    );
}

#[test]
fn ns3_repeats_the_last_rate_for_a_lower_one_of_a_limited_application() {
    let mut lab = Lab::new(RateSampler::ns3());
    lab.send(10_000, 4);
    assert_eq!(lab.ack(70_000, 4), (4, 60_000));
    lab.control.app_limited = lab.view.delivered + 1;
    lab.send(100_000, 1);
    assert_eq!(lab.ack(160_000, 5), (4, 60_000));
    assert!(lab.sample.is_app_limited);
}

#[test]
fn what_is_lost_may_be_in_the_pipe_for_linux_and_not_for_ns3() {
    let finds_empty = all().map(|sampler| {
        let mut lab = Lab::new(sampler);
        lab.send(10_000, 2);
        lab.view.lost_out = 2;
        lab.sampler.finds_empty_pipe(&lab.view)
    });
    assert_eq!(finds_empty, [false, false, true, true]);
}

#[test]
fn losses_and_marks_are_counted_since_the_sampled_segment_was_sent() {
    let mut lab = Lab::new(RateSampler::linux());
    lab.view.lost = 5;
    lab.send(10_000, 2);
    lab.view.lost = 8;
    lab.view.delivered_ce = 2;
    lab.ack(70_000, 2);
    assert_eq!((lab.sample.lost_since_sent, lab.sample.delivered_ce), (3, 2));
}

#[test]
fn a_receiver_that_reneges_gives_no_sample() {
    let mut lab = Lab::new(RateSampler::linux());
    lab.send(10_000, 2);
    let mut sample = RateSample::default();
    lab.sampler.begin_ack(&mut sample, 2, false, false);
    lab.sampler.run_delivered(&mut sample, &lab.board, (0, 1), 70_000, false);
    lab.sampler.generate(&mut sample, &lab.view, (1, 0), true, false);
    assert_eq!((sample.delivered, sample.interval_us), (-1, -1));
}

/// How the sampler hears of what an ACK delivers.
#[derive(Clone, Copy)]
enum Told {
    OneByOne,
    AsRun,
    InOrder,
}

/// The sample of an ACK of three segments, and the sampler afterwards.
fn after_a_run(sampler: RateSampler, told: Told) -> String {
    let mut lab = Lab::new(sampler);
    lab.send(10_000, 4);
    lab.view.lost = 1;
    // What the ACK before has left.
    let mut sample =
        RateSample { is_retrans: true, is_acking_tlp: true, losses: 7, rtt_us: -1, ..RateSample::default() };
    let in_order = matches!(told, Told::InOrder);
    lab.sampler.begin_ack(&mut sample, 4, false, in_order);
    if let Told::OneByOne = told {
        for seq in 0..3 {
            lab.sampler.skb_delivered(&mut sample, lab.board.get(seq), seq, 70_000);
        }
    } else {
        lab.sampler.run_delivered(&mut sample, &lab.board, (0, 3), 70_000, in_order);
    }
    lab.view.delivered += 3;
    lab.view.mstamp_us = 70_000;
    lab.sampler.generate(&mut sample, &lab.view, (3, 0), false, in_order);
    format!("{sample:?} {:?}", lab.sampler)
}

#[test]
fn a_run_gives_the_sample_that_its_segments_give_one_by_one() {
    for sampler in all() {
        assert_eq!(after_a_run(sampler.clone(), Told::AsRun), after_a_run(sampler, Told::OneByOne));
    }
}

#[test]
fn an_ack_in_order_has_the_sample_that_any_ack_has() {
    let linux = RateSampler::linux();
    assert_eq!(after_a_run(linux.clone(), Told::InOrder), after_a_run(linux, Told::AsRun));
}
