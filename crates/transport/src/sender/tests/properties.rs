//! What holds whatever the network does and whoever governs the window.
//!
//! The network is drawn at random: each of the first transmissions may be lost, delayed or marked, each of the first
//! ACKs lost, delayed or held. After every event [`Pair`] compares the sender's counters with its scoreboard and counts
//! deliveries; here the stream has to arrive, once and in order.

use super::harness::*;
use crate::{Completion, Pacing, SendBufferSize, Sender, TransportConfig};
use dumbbell_cc::Catalog;
use dumbbell_units::{Bytes, Duration, Rng};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Map;

/// What befalls the packets of one direction, one after the other; those that come later arrive.
fn fates(kinds: impl Strategy<Value = Fate> + 'static) -> impl Strategy<Value = Vec<Fate>> {
    prop::collection::vec(kinds, 0..200)
}

fn data_fates() -> impl Strategy<Value = Vec<Fate>> {
    prop_oneof![
        fates(prop_oneof![
            12 => Just(Fate::Deliver),
            2 => Just(Fate::Drop),
            1 => (1u64..80).prop_map(|millis| Fate::Delay(ms(millis))),
            1 => (100u64..600).prop_map(|millis| Fate::Delay(ms(millis))),
            1 => Just(Fate::Mark),
        ]),
        // Hardly anything passes.
        fates(prop_oneof![1 => Just(Fate::Deliver), 2 => Just(Fate::Drop)]),
        // Nothing is lost, everything is out of order.
        fates((0u64..60).prop_map(|millis| Fate::Delay(ms(millis)))),
    ]
}

fn ack_fates() -> impl Strategy<Value = Vec<Fate>> {
    fates(prop_oneof![
        8 => Just(Fate::Deliver),
        1 => Just(Fate::Drop),
        1 => (1u64..60).prop_map(|millis| Fate::Delay(ms(millis))),
        1 => (1u64..2_000).prop_map(|millis| Fate::HoldUntil(at(millis))),
    ])
}

fn configs() -> impl Strategy<Value = TransportConfig> {
    (
        prop::bool::weighted(0.7),
        any::<bool>(),
        prop_oneof![Just(Pacing::Auto), Just(Pacing::On), Just(Pacing::Off)],
        prop_oneof![Just(0u32), Just(3)],
        prop_oneof![Just(1u64 << 25), (1u64..30).prop_map(|segments| segments * 1_448)],
        prop_oneof![Just(Completion::Immediate), Just(Completion::Wire)],
        (any::<bool>(), any::<bool>(), any::<bool>()),
        prop_oneof![Just(1000u32), Just(250)],
        prop_oneof![
            2 => Just(SendBufferSize::Unlimited),
            1 => Just(SendBufferSize::Autotuning),
            1 => (1u64..100_000).prop_map(|bytes| SendBufferSize::Fixed(Bytes::new(bytes))),
        ],
    )
        .prop_map(
            |(
                sack,
                ecn,
                pacing,
                tso_win_divisor,
                receive_window,
                completion,
                (tail_loss_probe, frto, autotuning),
                hz,
                send_buffer,
            )| {
                TransportConfig {
                    sack,
                    ecn: ecn.into(),
                    pacing,
                    tso_win_divisor,
                    receive_window,
                    completion,
                    tail_loss_probe,
                    frto,
                    receive_autotuning: autotuning,
                    hz,
                    send_buffer,
                    ..TransportConfig::default()
                }
            },
        )
}

/// Gives the fates in turn; an ECN mark means nothing to a packet that cannot carry one.
fn dispense(fates: Vec<Fate>) -> impl FnMut(bool) -> Fate {
    let mut fates = fates.into_iter();
    move |markable| match fates.next() {
        Some(Fate::Mark) if !markable => Fate::Deliver,
        Some(fate) => fate,
        None => Fate::Deliver,
    }
}

/// Sends a stream through the network of these fates and checks that it arrived.
fn transfer(
    name: &str,
    config: &TransportConfig,
    data: Vec<Fate>,
    acks: Vec<Fate>,
    writes: &[(u64, u32)],
    service_us: u64,
) -> Pair {
    let controller = Catalog::builtin().build(name, &Map::new(), Rng::new(7)).unwrap();
    transfer_between(Pair::new(config, controller), data, acks, writes, service_us)
}

fn transfer_between(mut pair: Pair, data: Vec<Fate>, acks: Vec<Fate>, writes: &[(u64, u32)], service_us: u64) -> Pair {
    prepare(&mut pair, data, acks, writes, service_us);
    pair.run_to_completion(Duration::from_secs(20_000));
    let segments: u32 = writes.iter().map(|&(_, segments)| segments).sum();
    let bytes = u64::from(segments - 1) * u64::from(MSS) + 700;
    // A receiver that sizes its window may cut segments where it ends.
    let (received_segments, received_bytes) = pair.received();
    assert_eq!(received_bytes, bytes);
    assert!(received_segments == u64::from(segments) || pair.sender.config.receive_autotuning);
    pair
}

/// The network and what is written, before anything happens.
fn prepare(pair: &mut Pair, data: Vec<Fate>, acks: Vec<Fate>, writes: &[(u64, u32)], service_us: u64) {
    pair.service = Duration::from_micros(service_us);
    let mut data = dispense(data);
    pair.data_fate(move |sent| data(sent.segment.ecn == dumbbell_units::Ecn::Ect0));
    let mut acks = dispense(acks);
    pair.ack_fate(move |_, _| acks(false));
    let mut time = START;
    for (index, &(pause_ms, segments)) in writes.iter().enumerate() {
        time += ms(pause_ms);
        pair.write_at(time, segments, if index + 1 == writes.len() { 700 } else { MSS });
    }
}

/// All that a sender knows but for its scoreboard, which [`Pair`] holds against its counters.
fn state(sender: &Sender) -> String {
    format!(
        "{:?}",
        (
            (&sender.view, &sender.control, &sender.sample, sender.recent_timestamp, sender.high_seq, sender.short_end),
            (&sender.rtt, &sender.rate, &sender.detector, &sender.tlp, &sender.timer, &sender.undo, &sender.sacks),
            (&sender.prr, &sender.frto, &sender.stream, &sender.xmit, &sender.validation, &sender.pacer, sender.stats),
        )
    )
}

/// All that [`transfer`] takes.
type Transfer = (&'static str, TransportConfig, Vec<Fate>, Vec<Fate>, Vec<(u64, u32)>, u64);

fn transfers() -> impl Strategy<Value = Transfer> {
    (
        prop_oneof![Just("reno"), Just("cubic"), Just("bbr")],
        configs(),
        data_fates(),
        ack_fates(),
        prop::collection::vec((0u64..700, 1u32..150), 1..4),
        prop_oneof![Just(1u64), Just(120), Just(1_200)],
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 250, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn everything_written_arrives_once_in_order_and_the_counters_agree(
        (name, config, data, acks, writes, service_us) in transfers(),
    ) {
        let pair = transfer(name, &config, data, acks, &writes, service_us);
        for heard in &pair.heard {
            prop_assert!(heard.sample.interval_us >= -1);
            prop_assert!(heard.sample.interval_us == -1 || heard.sample.delivered >= 1);
        }
        let view = pair.sender.view();
    let control = pair.sender.control();
        prop_assert!(control.ssthresh >= 2 || name == "bbr");
        prop_assert_eq!((view.in_flight(), view.packets_out, view.retrans_out), (0, 0, 0));
        prop_assert_eq!(pair.sender.unsent_segments(), 0);
    }

    #[test]
    fn the_short_way_of_an_expected_ack_is_the_long_way(
        (name, config, data, acks, writes, service_us) in transfers(),
        other in prop::option::of(prop_oneof![Just("cdg"), Just("lp"), Just("westwood"), Just("dctcp")]),
    ) {
        let [mut short, mut long] = [true, false].map(|may_predict| {
            let controller = Catalog::builtin().build(other.unwrap_or(name), &Map::new(), Rng::new(7)).unwrap();
            let mut pair = Pair::new(&config, controller);
            pair.sender.may_predict &= may_predict;
            prepare(&mut pair, data.clone(), acks.clone(), &writes, service_us);
            pair
        });
        let mut heard = 0;
        while !short.is_done() {
            short.step();
            long.step();
            if short.heard.len() > heard {
                heard = short.heard.len();
                prop_assert_eq!(state(&short.sender), state(&long.sender));
            }
        }
        prop_assert_eq!(format!("{:?} {:?}", short.heard, short.sent), format!("{:?} {:?}", long.heard, long.sent));
    }

    #[test]
    fn the_receive_window_is_never_overrun(
        config in configs(),
        data in data_fates(),
        segments in 1u32..200,
    ) {
        let config = TransportConfig { receive_autotuning: false, ..config };
        let window = (config.receive_window / u64::from(MSS)) as u32;
        let pair = transfer("cubic", &config, data, Vec::new(), &[(0, segments)], 120);
        let mut heard = pair.heard.iter().peekable();
        let mut acked = 0;
        for sent in &pair.sent {
            while let Some(ack) = heard.next_if(|heard| heard.at <= sent.at) {
                acked = acked.max(ack.ack.ack);
            }
            prop_assert!(sent.segment.seq < acked + window);
        }
    }

    #[test]
    fn a_path_without_loss_and_reordering_sees_no_retransmission(
        name in prop_oneof![Just("reno"), Just("cubic"), Just("bbr")],
        config in configs(),
        writes in prop::collection::vec((0u64..700, 1u32..300), 1..4),
        service_us in prop_oneof![Just(1u64), Just(120)],
    ) {
        let pair = transfer(name, &config, Vec::new(), Vec::new(), &writes, service_us);
        prop_assert_eq!(pair.retransmitted(), Vec::<u32>::new());
        prop_assert_eq!(pair.sender.view().lost, 0);
    }
}
