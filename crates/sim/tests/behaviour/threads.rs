//! One run on several threads gives the bytes of a run on one.

use crate::determinism::{assert_same_tables, bytes};
use crate::faults::clueless_flows;
use crate::lab::scenario;
use dumbbell_scenario::Scenario;
use dumbbell_sim::{
    Bounds, Growth, RunError, RunOutput, SeriesSink, Table, Unsplit, run, run_on_threads, run_within, why_one_thread,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

fn on(threads: usize, scenario: &Scenario) -> RunOutput {
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: u64::MAX, series: None, plain: false };
    run_on_threads(scenario, bounds, threads).unwrap()
}

/// A run on so many threads gives the tables of a run on one, with as many events.
fn assert_same_on(threads: impl IntoIterator<Item = usize>, text: &str) {
    let scenario = scenario(text);
    assert_eq!(why_one_thread(&scenario), None, "{text}");
    let expected = run(&scenario, &AtomicBool::new(false)).unwrap();
    for threads in threads {
        let output = on(threads, &scenario);
        assert_same_tables(&output, &expected);
        assert_eq!(output.summary.events, expected.summary.events, "events on {threads} threads: {text}");
        assert_eq!(output.summary.packets, expected.summary.packets);
        assert_eq!(output.summary.bytes_per_flow, expected.summary.bytes_per_flow);
    }
}

/// Flows that begin together, over a link that all overflow: their packets come at equal distances, and so do ACKs,
/// readers and timers.
const CROWD: &str = r#"
    duration = "4s"
    warmup = "1.2345678s"
    cooldown = "300ms"
    record.interval = "10ms"
    [path]
    rate = "120mbit"
    rtt = "20ms"
    buffer = "60packets"
    [[flows]]
    cc = "cubic"
    count = 13
    [[flows]]
    cc = "bbr"
    count = 4
    start = "100ms"
"#;

#[test]
fn a_crowd_that_begins_at_once_gives_the_same_bytes() {
    assert_same_on([2, 3, 8, 40], CROWD);
}

#[test]
fn a_queue_so_short_that_handshakes_are_lost_gives_the_same_bytes() {
    let text = CROWD.replace("60packets", "3packets").replace("count = 13", "count = 60\ntransport.hz = 100");
    assert_same_on([2, 5], &text);
}

#[test]
fn flows_with_round_trip_times_of_their_own_give_the_same_bytes() {
    let text = r#"
        duration = "4s"
        vary_rtt = "30ms"
        [path]
        rate = "120mbit"
        rtt = "10ms"
        buffer = "30ms"
        [[flows]]
        cc = "cubic"
        count = 9
        [[flows]]
        cc = "bbr3"
        count = 3
        rtt = "40ms"
    "#;
    assert_same_on([2, 3], text);
    // Behind a limit of packets bursts stay together on both links of their way.
    assert_same_on([2, 3], &text.replace("buffer = \"30ms\"", "buffer = \"200packets\""));
}

#[test]
fn applications_that_write_at_the_same_instants_and_flows_that_end_give_the_same_bytes() {
    let text = r#"
        duration = "5s"
        record.interval = "25ms"
        [path]
        rate = "40mbit"
        rtt = "30ms"
        buffer = "0.5bdp"
        [[flows]]
        cc = "cubic"
        count = 6
        rate = "4mbit"
        [[flows]]
        cc = "reno"
        count = 5
        bytes = "300kB"
        start = "500ms"
        [[flows]]
        cc = "bbr"
        count = 4
        stop = "3s"
        start_jitter = "40ms"
        [[flows]]
        cc = "cubic"
        transport = { sack = false, read_delay = "0s" }
    "#;
    assert_same_on([2, 4], text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn whatever_the_path_the_bytes_are_the_same(
        rate in prop_oneof![Just(120u64), Just(96), 7u64..200],
        delay_us in (20u64..30_000, 20u64..30_000),
        buffer in 2u64..300,
        flows in (1u64..20, 1u64..8),
        read_delay_us in prop_oneof![Just(0u64), Just(100), 1u64..1_000],
        threads in 2usize..5,
        seed in any::<u16>(),
    ) {
        let (forward, back) = delay_us;
        assert_same_on([threads], &format!(
            r#"
            duration = "600ms"
            seed = {seed}
            record.interval = "7ms"
            [path]
            rate = "{rate}mbit"
            delay = "{forward}us"
            reverse.delay = "{back}us"
            buffer = "{buffer}packets"
            [[flows]]
            cc = "cubic"
            count = {}
            transport.read_delay = "{read_delay_us}us"
            [[flows]]
            cc = "bbr"
            count = {}
            start_jitter = "20ms"
            "#,
            flows.0, flows.1,
        ));
    }
}

/// What keeps a run on one thread.
fn reason(text: &str) -> Unsplit {
    why_one_thread(&scenario(text)).unwrap()
}

#[test]
fn what_cannot_be_split_runs_on_one_thread_and_says_why() {
    let change = |from: &str, to: &str| {
        assert!(CROWD.contains(from));
        CROWD.replace(from, to)
    };
    let codel = change("buffer = \"60packets\"", "buffer = \"60packets\"\nqueue = \"codel\"");
    let cases = [
        (codel.clone(), Unsplit::NoTrunk),
        (change("rate = \"120mbit\"", "rate = \"unlimited\"").replace("buffer = \"60packets\"", ""), Unsplit::NoTrunk),
        (change("rate = \"120mbit\"", "rate = [[\"0s\", \"100mbit\"], [\"1s\", \"50mbit\"]]"), Unsplit::NoTrunk),
        (change("buffer = \"60packets\"", "buffer = \"60packets\"\nloss = \"1%\""), Unsplit::NoTrunk),
        (
            change("buffer = \"60packets\"", "buffer = \"60packets\"\nreverse.rate = \"10mbit\""),
            Unsplit::NotOnlyDelay("bottleneck-reverse".to_owned()),
        ),
        (change("count = 4", "transport = \"quic\""), Unsplit::NotTcp(13, "bbr".to_owned())),
        (
            change("count = 4", "direction = \"down\"").replace("rtt", "reverse = \"symmetric\"\nrtt"),
            Unsplit::NotOnlyDelay("bottleneck-reverse".to_owned()),
        ),
        (
            CROWD.replace("[[flows]]\n    cc = \"bbr\"\n    count = 4\n", "").replace("count = 13", "count = 1"),
            Unsplit::OneFlow,
        ),
    ];
    for (text, expected) in cases {
        let found = reason(&text);
        assert_eq!(found, expected, "{found} in {text}");
    }
    let scenario = scenario(&codel);
    assert_same_tables(&on(2, &scenario), &run(&scenario, &AtomicBool::new(false)).unwrap());
}

/// Keeps what it gets.
#[derive(Default)]
struct Kept(Vec<Table>);

impl SeriesSink for Kept {
    fn take(&mut self, series: Table, link_series: Table) -> Result<(), String> {
        self.0.extend([series, link_series]);
        Ok(())
    }
}

#[test]
fn series_that_are_given_away_in_pieces_are_the_same() {
    let scenario = scenario(&CROWD.replace("10ms", "20us").replace("4s", "2s"));
    let pieces = |threads| {
        let mut kept = Kept::default();
        let bounds =
            Bounds { cancel: &AtomicBool::new(false), max_memory: u64::MAX, series: Some(&mut kept), plain: false };
        let output = run_on_threads(&scenario, bounds, threads).unwrap();
        kept.0.iter().chain([&*output.series, &*output.link_series]).map(bytes).collect::<Vec<_>>()
    };
    let one = pieces(1);
    assert!(one.len() > 4);
    assert!(one == pieces(2));
}

#[test]
fn a_run_on_threads_can_be_cancelled_while_it_runs() {
    let scenario =
        scenario(&CROWD.replace("4s", "100000s").replace("record.interval = \"10ms\"", "record.series = false"));
    let cancel = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            run_on_threads(&scenario, Bounds { cancel: &cancel, max_memory: u64::MAX, series: None, plain: false }, 2)
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert!(matches!(result, Err(RunError::Cancelled)));
}

#[test]
fn memory_counts_over_all_threads() {
    let text =
        CROWD.replace("60packets", "100000packets").replace("record.interval = \"10ms\"", "record.series = false");
    let scenario = scenario(&text.replace("4s", "20s").replace("120mbit", "1gbit"));
    let limited = |threads, max_memory| {
        let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory, series: None, plain: false };
        run_on_threads(&scenario, bounds, threads)
    };
    let RunError::Memory(exceeded) = limited(2, 6 << 20).unwrap_err() else { panic!("it has to need more") };
    assert!(exceeded.needed > exceeded.limit && exceeded.needed < 3 * exceeded.limit, "{exceeded:?}");
    assert!(matches!(exceeded.growth, Growth::Senders { .. } | Growth::Packets { .. }), "{exceeded:?}");
}

#[test]
fn the_controller_that_fails_first_ends_the_run_on_threads_too() {
    let scenario = clueless_flows(true);
    assert_eq!(why_one_thread(&scenario), None);
    let cancel = AtomicBool::new(false);
    let bounds = || Bounds { cancel: &cancel, max_memory: u64::MAX, series: None, plain: false };
    let one = run_within(&scenario, bounds()).unwrap_err().to_string();
    for threads in [2, 3] {
        assert_eq!(run_on_threads(&scenario, bounds(), threads).unwrap_err().to_string(), one);
    }
}

#[test]
fn messages_of_several_streams_are_those_of_one_thread() {
    assert_same_on(
        [2, 3],
        r#"
        duration = "6s"
        warmup = "1s"
        path = { rate = "40mbit", rtt = "40ms", buffer = "0.5bdp" }
        flows = [{ cc = "cubic", count = 3, streams = { count = 4, size = "50kB" } }, { cc = "reno" }]
        "#,
    );
}
