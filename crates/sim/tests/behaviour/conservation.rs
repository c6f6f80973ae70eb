//! What holds in every run, whatever the network and the algorithms: nothing is created, nothing vanishes.
//!
//! The networks are drawn from a fixed seed; `PROPTEST_CASES=5000 PROPTEST_RNG_SEED=7` draws more and other ones. A
//! failure prints its experiment, ready to be run.

use crate::lab::{Run, mean, run, scenario};
use dumbbell_cc_family::catalog;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;

/// One direction of a link.
#[derive(Clone, Debug)]
struct Side {
    kbit: u32,
    buffer_packets: u32,
    queue: String,
    loss: Loss,
    before: bool,
    jitter_us: u32,
    jitter_reorders: bool,
    reorder_percent: u32,
}

#[derive(Clone, Debug)]
enum Loss {
    Bernoulli(u32),
    Bursts { p_permille: u32, r_percent: u32 },
}

#[derive(Clone, Debug)]
struct Flow {
    cc: &'static str,
    backwards: bool,
    start_ms: u32,
    stop_ms: Option<u32>,
    bytes: Option<u32>,
    app_kbit: Option<u32>,
    first: usize,
    last: usize,
}

#[derive(Clone, Debug)]
struct Network {
    seed: u32,
    delays_us: Vec<u32>,
    links: Vec<(Side, Side)>,
    flows: Vec<Flow>,
    mss: u32,
    ack_every: u32,
    sack: bool,
}

fn side() -> impl Strategy<Value = Side> {
    let loss = prop_oneof![
        3 => Just(Loss::Bernoulli(0)),
        2 => (0u32..80).prop_map(Loss::Bernoulli),
        1 => (0u32..40, 5u32..95).prop_map(|(p_permille, r_percent)| Loss::Bursts { p_permille, r_percent }),
    ];
    let queue = prop_oneof![1 => Just("\"droptail\"".to_owned()), 2 => prop::sample::select(queues())];
    let jitter = prop_oneof![2 => Just(0u32), 1 => 1u32..8_000];
    let reorder = prop_oneof![3 => Just(0u32), 1 => 1u32..30];
    (200u32..30_000, 2u32..300, queue, loss, any::<bool>(), jitter, any::<bool>(), reorder).prop_map(
        |(kbit, buffer_packets, queue, loss, before, jitter_us, jitter_reorders, reorder_percent)| Side {
            kbit,
            buffer_packets,
            queue,
            loss,
            before,
            jitter_us,
            jitter_reorders,
            reorder_percent,
        },
    )
}

/// Every discipline, as it is written in an experiment file.
fn queues() -> Vec<String> {
    let kinds = dumbbell_path::queue::catalog().kinds().iter();
    let table = |kind: &dumbbell_path::Kind<_>| {
        let keys: String = kind.example().iter().map(|(key, value)| format!(", {key} = {value}")).collect();
        format!("{{ kind = \"{}\"{keys} }}", kind.name)
    };
    kinds.map(table).collect()
}

fn flow(links: usize) -> impl Strategy<Value = Flow> {
    let cc = prop::sample::select(catalog().names().collect::<Vec<_>>());
    let bytes = prop::option::weighted(0.4, 1u32..600_000);
    let app = prop::option::weighted(0.2, 50u32..5_000);
    let stop = prop::option::weighted(0.2, 1_000u32..6_000);
    (cc, any::<bool>(), 0u32..1_500, stop, bytes, app, 0..links, 0..links).prop_map(
        move |(cc, backwards, start_ms, stop_ms, bytes, app_kbit, a, b)| Flow {
            cc,
            backwards,
            start_ms,
            stop_ms,
            bytes,
            app_kbit,
            first: a.min(b),
            last: a.max(b) + 1,
        },
    )
}

fn network() -> impl Strategy<Value = Network> {
    (1usize..4).prop_flat_map(|links| {
        (
            any::<u32>(),
            prop::collection::vec(1u32..60_000, links),
            prop::collection::vec((side(), side()), links),
            prop::collection::vec(flow(links), 1..6),
            prop_oneof![3 => Just(1448u32), 1 => 100u32..9_000],
            1u32..4,
            prop::bool::weighted(0.9),
        )
            .prop_map(|(seed, delays_us, links, flows, mss, ack_every, sack)| Network {
                seed,
                delays_us,
                links,
                flows,
                mss,
                ack_every,
                sack,
            })
    })
}

impl Side {
    fn write(&self, toml: &mut String) {
        let Side { kbit, buffer_packets, queue, .. } = self;
        writeln!(toml, "rate = \"{kbit}kbit\"\nbuffer = \"{buffer_packets}packets\"\nqueue = {queue}").unwrap();
        match self.loss {
            Loss::Bernoulli(0) => {}
            Loss::Bernoulli(permille) => writeln!(toml, "loss = {}", f64::from(permille) / 1e3).unwrap(),
            Loss::Bursts { p_permille, r_percent } => {
                let (p, r) = (f64::from(p_permille) / 1e3, f64::from(r_percent) / 1e2);
                writeln!(toml, "loss = {{ kind = \"gilbert-elliott\", p = {p}, r = {r}, loss_bad = 0.5 }}").unwrap();
            }
        }
        if self.before && !matches!(self.loss, Loss::Bernoulli(0)) {
            writeln!(toml, "loss_at = \"before\"").unwrap();
        }
        if self.jitter_us > 0 {
            let (us, reorders) = (self.jitter_us, self.jitter_reorders);
            writeln!(toml, "jitter = {{ amount = \"{us}us\", reorders = {reorders} }}").unwrap();
        }
        if self.reorder_percent > 0 {
            writeln!(toml, "reorder = \"{}%\"", self.reorder_percent).unwrap();
        }
    }
}

impl Network {
    /// Data packets that fit into all queues, transmitters and pipes, the short last one of every flow besides.
    fn capacity_packets(&self) -> u64 {
        let packet_bits = u64::from(self.mss + 52) * 8;
        let side = |side: &Side, delay_us: u32| {
            let pipe_bits = u64::from(side.kbit) * u64::from(delay_us + side.jitter_us) / 1_000;
            u64::from(side.buffer_packets) + pipe_bits / packet_bits + 2
        };
        let links = self.links.iter().zip(&self.delays_us);
        links.map(|((there, back), &delay)| side(there, delay) + side(back, delay)).sum::<u64>()
            + self.flows.len() as u64
    }

    /// A chain of nodes `n0`, `n1`, ... with a link between neighbours.
    fn to_toml(&self) -> String {
        let mut toml = format!(
            "duration = \"8s\"\nseed = {}\nrecord.interval = \"20ms\"\ntransport = {{ mss = {}, ack_every = {}, sack = {} }}\n",
            self.seed, self.mss, self.ack_every, self.sack
        );
        for (i, ((forward, back), delay)) in self.links.iter().zip(&self.delays_us).enumerate() {
            writeln!(toml, "[[links]]\nfrom = \"n{i}\"\nto = \"n{}\"\ndelay = \"{delay}us\"", i + 1).unwrap();
            forward.write(&mut toml);
            writeln!(toml, "[links.reverse]").unwrap();
            back.write(&mut toml);
        }
        for flow in &self.flows {
            let (from, to) = if flow.backwards { (flow.last, flow.first) } else { (flow.first, flow.last) };
            writeln!(toml, "[[flows]]\ncc = \"{}\"\nfrom = \"n{from}\"\nto = \"n{to}\"", flow.cc).unwrap();
            writeln!(toml, "start = \"{}ms\"", flow.start_ms).unwrap();
            if let Some(stop) = flow.stop_ms.filter(|&stop| stop > flow.start_ms) {
                writeln!(toml, "stop = \"{stop}ms\"").unwrap();
            }
            if let Some(bytes) = flow.bytes {
                writeln!(toml, "bytes = \"{bytes}B\"").unwrap();
            }
            if let Some(kbit) = flow.app_kbit {
                writeln!(toml, "rate = \"{kbit}kbit\"").unwrap();
            }
        }
        toml
    }
}

/// Runs a network and checks the identities of its tables.
fn check(network: &Network) -> Result<(), TestCaseError> {
    let toml = network.to_toml();
    let scenario = scenario(&toml);
    let run = Run::of(&scenario);
    let count = |column: &str, flow: usize| run.flow(column, flow) as u64;
    let mss = u64::from(network.mss);
    let mut arrived = 0;
    for (i, flow) in network.flows.iter().enumerate() {
        let (sent, dropped) = (count("sent_total", i), count("network_drops_total", i));
        let delivered = count("delivered_bytes_total", i);
        let retransmits = count("retransmits_total", i);
        prop_assert!(retransmits <= sent, "flow {i}: {retransmits} of {sent} are retransmissions\n{toml}");
        prop_assert!(dropped <= sent, "flow {i}: {dropped} of {sent} dropped\n{toml}");
        arrived += sent - dropped;
        // Gapless delivery: no more than what is new and was not dropped without being sent again.
        prop_assert!(delivered <= (sent - retransmits) * mss, "flow {i} delivers {delivered} B of {sent}\n{toml}");
        prop_assert!(delivered <= (sent - dropped) * mss, "flow {i} delivers what was dropped\n{toml}");
        let finished = run.flow("completion_s", i).is_finite();
        if finished {
            prop_assert_eq!(Some(delivered), flow.bytes.map(u64::from), "flow {} finished\n{}", i, &toml);
        }
        if let Some(bytes) = flow.bytes {
            prop_assert!(delivered <= u64::from(bytes), "flow {i} delivers more than there is\n{toml}");
        }

        let series = run.series(i);
        for (row, &cwnd) in series.number("cwnd").iter().enumerate() {
            prop_assert!(cwnd >= 1.0, "flow {i}: window of {cwnd} at {} s\n{toml}", series.t[row]);
            let out = series.number("packets_out")[row];
            prop_assert!(series.number("sacked")[row] <= out, "flow {i}: more SACKed than sent\n{toml}");
        }
        for column in ["acked_total", "sent_total", "lost_total", "retransmits_total"] {
            let values = series.number(column);
            prop_assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "flow {i}: {column} falls\n{toml}");
        }
        let (sent, acked) = (series.number("sent_total"), series.number("acked_total"));
        // The kernel counts the SYN as the first delivery. Without SACK every duplicate ACK counts as one, also those
        // that spurious retransmissions cause.
        prop_assert!(
            !network.sack || sent.iter().zip(acked).all(|(sent, acked)| *acked <= sent + 1.0),
            "flow {i}: more acknowledged than sent\n{toml}"
        );
    }
    // Whatever was neither dropped nor delivered is in a queue, a transmitter or a pipe.
    let delivered = run.output.summary.packets;
    prop_assert!(delivered <= arrived, "{delivered} packets delivered of {arrived}\n{toml}");
    let on_the_way = arrived - delivered;
    prop_assert!(on_the_way <= network.capacity_packets(), "{on_the_way} packets vanished\n{toml}");

    let seconds = 8.0;
    for (i, link) in scenario.links.iter().enumerate() {
        let utilization = run.link("utilization", i);
        prop_assert!(utilization >= 0.0, "no utilization of {}\n{toml}", link.config.name);
        let capacity = run.link("capacity_mbps", i) * 1e6 * seconds;
        let one_packet = f64::from(network.mss + 52) * 8.0;
        prop_assert!(
            utilization * capacity <= capacity + one_packet,
            "{} carries {utilization} of what it can\n{toml}",
            link.config.name
        );
        let (arrivals, drops, losses) =
            (run.link("arrivals_total", i), run.link("drops_total", i), run.link("losses_total", i));
        prop_assert!(drops + losses <= arrivals, "{} loses more than arrives\n{toml}", link.config.name);
        let (full, aqm) = (run.link("drops_full_total", i), run.link("drops_aqm_total", i));
        prop_assert_eq!(drops, full + aqm, "a drop without a cause");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_delivered_dropped_with_a_cause_or_in_flight(network in network()) {
        check(&network)?;
    }

    /// In a network with nothing that loses packets, all that was sent long before the end has arrived.
    #[test]
    fn without_loss_everything_arrives(mut network in network()) {
        for (forward, back) in &mut network.links {
            for side in [forward, back] {
                side.loss = Loss::Bernoulli(0);
                side.buffer_packets = 100_000;
                side.queue = "\"droptail\"".to_owned();
                side.kbit = side.kbit.max(5_000);
            }
        }
        for flow in &mut network.flows {
            flow.bytes = Some(flow.bytes.unwrap_or(20_000).min(50_000));
            (flow.stop_ms, flow.app_kbit) = (None, None);
        }
        let toml = network.to_toml();
        let run = Run::of(&scenario(&toml));
        for (i, flow) in network.flows.iter().enumerate() {
            prop_assert_eq!(run.flow("delivered_bytes_total", i) as u32, flow.bytes.unwrap(), "flow {}\n{}", i, &toml);
            prop_assert!(run.flow("completion_s", i) < 6.0, "flow {i} takes too long\n{toml}");
            prop_assert_eq!(run.flow("network_drops_total", i), 0.0);
        }
        let sent: f64 = run.flows("sent_total").iter().sum();
        prop_assert_eq!(run.output.summary.packets as f64, sent, "{}", &toml);
    }
}

#[test]
fn a_transfer_that_is_stopped_before_its_end_does_not_complete() {
    let completion = |stop: &str| {
        run(&format!(
            r#"
            duration = "5s"
            path = {{ rate = "10mbit", rtt = "40ms" }}
            flows = [{{ cc = "cubic", bytes = "1MB", stop = "{stop}" }}]
            "#
        ))
        .flow("completion_s", 0)
    };
    assert!((0.8..1.2).contains(&completion("3s")));
    assert!(completion("500ms").is_nan());
}

#[test]
fn a_transfer_that_is_stopped_when_its_send_buffer_holds_the_rest_completes() {
    let completion = |send_buffer: &str| {
        run(&format!(
            r#"
            duration = "5s"
            transport.send_buffer = "{send_buffer}"
            path = {{ rate = "10mbit", rtt = "40ms" }}
            flows = [{{ cc = "cubic", bytes = "1MB", stop = "500ms" }}]
            "#
        ))
        .flow("completion_s", 0)
    };
    assert!((0.8..1.2).contains(&completion("1MB")));
    assert!(completion("64kB").is_nan());
}

/// A packet of 1500 bytes carries 1448 of payload with timestamps and 1460 without; of ACKs, which cross a link of
/// their own, the way back carries fewer bytes, too.
#[test]
fn without_timestamps_more_of_every_packet_is_payload() {
    let of = |timestamps: bool| {
        run(&format!(
            "duration = \"20s\"\nwarmup = \"5s\"\n\
             path = {{ rate = \"10mbit\", rtt = \"40ms\", buffer = \"1bdp\", reverse = {{ rate = \"1mbit\" }} }}\n\
             [[flows]]\ncc = \"reno\"\ntransport = {{ timestamps = {timestamps} }}\n"
        ))
    };
    let (with, without) = (of(true), of(false));
    for (run, payload) in [(&with, 1448.0), (&without, 1460.0)] {
        let share = run.flow("goodput_mbps", 0) / run.flow("throughput_mbps", 0);
        assert!((share - payload / 1500.0).abs() < 2e-3, "{share}");
    }
    assert!(without.flow("goodput_mbps", 0) > with.flow("goodput_mbps", 0));
    let ack_bytes = |run: &Run| run.link("throughput_mbps", 1) * 15e6 / 8.0 / run.flow("acks", 0);
    assert!(
        (40.0..44.0).contains(&ack_bytes(&without)) && (52.0..56.0).contains(&ack_bytes(&with)),
        "{} {}",
        ack_bytes(&without),
        ack_bytes(&with)
    );
}

/// A lone segment that ends a write carries PSH, and the receiver acknowledges it at once. Without that every second
/// one would wait for the next.
#[test]
fn writes_of_a_segment_are_acknowledged_one_by_one_and_at_once() {
    let of = |pushes: bool| {
        run(&format!(
            "duration = \"20s\"\nwarmup = \"5s\"\npath = {{ rate = \"10mbit\", rtt = \"40ms\" }}\n\
             [[flows]]\ncc = \"reno\"\nrate = \"1mbit\"\ntransport = {{ ack_pushes = {pushes} }}\n"
        ))
    };
    let (pushed, waiting) = (of(true), of(false));
    let acks = |run: &Run| run.flow("acks", 0) / run.flow("sent", 0);
    assert!(acks(&pushed) > 0.99 && acks(&waiting) < 0.51, "{} {}", acks(&pushed), acks(&waiting));
    let srtt_ms = |run: &Run| mean(run.series(0).during("srtt_ms", 10.0..20.0));
    assert!(srtt_ms(&pushed) < 41.5 && srtt_ms(&waiting) > 45.0, "{} {}", srtt_ms(&pushed), srtt_ms(&waiting));
}

/// 20 kB are 13.8 segments: writes are of 13 or 14 whole ones, and nothing is lost at the end.
#[test]
fn an_application_writes_whole_segments_of_what_it_has() {
    let run = run(r#"
        duration = "3s"
        record.interval = "1ms"
        path = { rate = "100mbit", rtt = "10ms" }
        [[flows]]
        cc = "reno"
        app = { rate = "8mbit", write = "20kB" }
        bytes = "1003kB"
        "#);
    assert_eq!(run.flow("delivered_bytes_total", 0), 1_003_000.0);
    // A write every 20 ms, the last one of 3 kB after a second.
    let completion_s = run.flow("completion_s", 0);
    assert!((1.01..1.03).contains(&completion_s), "{completion_s}");
    let sent = 1_003_000.0_f64 / 1_448.0;
    assert_eq!(run.flow("sent_total", 0), sent.ceil());
}
