//! No run hangs, and none takes more of the machine than it may.

use crate::lab::scenario;
use dumbbell_scenario::Scenario;
use dumbbell_sim::{Bounds, Growth, MemoryExceeded, RunError, RunOutput, SeriesSink, Table, Values, run, run_within};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// A flow whose window grows for ever, because nothing is ever lost or late.
fn endless(transport: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "10s"
        record.series = false
        path = {{ rate = "unlimited", rtt = "10ms" }}
        flows = [{{ cc = {{ name = "cubic", hystart = false }}, transport = {transport} }}]
        "#
    ))
}

fn within(scenario: &Scenario, max_memory: u64) -> Result<RunOutput, RunError> {
    run_within(scenario, Bounds { cancel: &AtomicBool::new(false), max_memory, series: None, plain: false })
}

fn exceeded(scenario: &Scenario, max_memory: u64) -> MemoryExceeded {
    match within(scenario, max_memory) {
        Err(RunError::Memory(exceeded)) => exceeded,
        other => panic!("it should have run out of {max_memory} bytes, not: {:?}", other.map(|output| output.summary)),
    }
}

#[test]
fn a_window_without_end_is_stopped_before_it_takes_more_memory_than_allowed() {
    for transport in [r#"{ profile = "quic", receive_window = "1024TiB" }"#, r#"{ receive_window = "1024TiB" }"#] {
        let exceeded = exceeded(&endless(transport), 64 * MIB);
        assert!(exceeded.needed > exceeded.limit && exceeded.needed < 4 * exceeded.limit, "{exceeded:?}");
        // Over an unlimited link the packets on their way take about as much as what their sender remembers of them.
        let culprit = match &exceeded.growth {
            Growth::Senders { flow: 0, packets, .. } if *packets > 50_000 => "flow 0 (`cubic`)",
            Growth::Packets { link, packets } if link.starts_with("bottleneck") && *packets > 10_000 => "`bottleneck",
            other => panic!("{other:?}"),
        };
        let message = exceeded.to_string();
        for part in ["64.0 MiB", culprit, "receive_window", "--max-memory"] {
            assert!(message.contains(part), "{part} in: {message}");
        }
    }
}

#[test]
fn quic_over_an_unlimited_link_runs_within_its_receive_window() {
    let output = within(&endless(r#"{ profile = "quic", receive_window = "1MiB" }"#), 64 * MIB).unwrap();
    let column = output.flows.columns.iter().find(|column| column.name == "goodput_mbps").unwrap();
    let Values::Float(goodput) = &column.values else { panic!("a goodput is a number") };
    // 776 packets of 1350 bytes every 10 ms, less the start.
    assert!((760.0..839.0).contains(&goodput[0]), "{} Mbit/s", goodput[0]);
}

#[test]
fn a_queue_without_end_is_named_with_its_link() {
    let exceeded = exceeded(
        &scenario(
            r#"
            duration = "10s"
            record.series = false
            path = { trace = [1000], rtt = "10ms", buffer = "unlimited" }
            flows = [{ cc = "reno", transport = { initial_cwnd = 4000000, receive_window = "16GiB" } }]
            "#,
        ),
        64 * MIB,
    );
    assert!(matches!(&exceeded.growth, Growth::Packets { link, .. } if link == "bottleneck"), "{exceeded:?}");
    assert!(exceeded.to_string().contains("`bottleneck` has"), "{exceeded}");
}

#[test]
fn series_without_a_sink_count_and_the_message_says_so() {
    let exceeded = exceeded(&sampled(), 4 * MIB);
    assert_eq!(exceeded.growth, Growth::Series, "{exceeded}");
    assert!(exceeded.to_string().contains("record.interval"));
}

/// Some 90 MB of samples in two seconds.
fn sampled() -> Scenario {
    scenario(
        r#"
        duration = "2s"
        record.interval = "12us"
        path = { rate = "10mbit", rtt = "40ms", loss = "1%" }
        flows = [{ cc = "bbr" }, { cc = "cubic", start = "300ms" }]
        "#,
    )
}

/// Keeps what it is given.
#[derive(Default)]
struct Pieces(Vec<(Table, Table)>);

impl SeriesSink for Pieces {
    fn take(&mut self, series: Table, link_series: Table) -> Result<(), String> {
        self.0.push((series, link_series));
        Ok(())
    }
}

fn bytes<'t>(pieces: impl IntoIterator<Item = &'t Table> + Clone) -> Vec<(String, Vec<u8>)> {
    let first = pieces.clone().into_iter().next().unwrap();
    let column = |index: usize| {
        let mut bytes = Vec::new();
        for piece in pieces.clone() {
            match &piece.columns[index].values {
                Values::Float(values) => values.iter().for_each(|value| bytes.extend(value.to_bits().to_le_bytes())),
                Values::Count(values) => values.iter().for_each(|value| bytes.extend(value.to_le_bytes())),
                Values::Index(values) => values.iter().for_each(|value| bytes.extend(value.to_le_bytes())),
                Values::Text(values) => values.iter().for_each(|value| bytes.extend(value.bytes().chain([0]))),
                Values::Name(values) => values.iter().for_each(|value| bytes.extend(value.bytes().chain([0]))),
            }
        }
        bytes
    };
    first.columns.iter().enumerate().map(|(index, named)| (named.name.clone(), column(index))).collect()
}

#[test]
fn pieces_of_series_are_the_series() {
    let whole = within(&sampled(), u64::MAX).unwrap();
    let mut sink = Pieces::default();
    let cancel = AtomicBool::new(false);
    // Room for a piece or two, and not for all.
    let bounds = Bounds { cancel: &cancel, max_memory: 80 * MIB, series: Some(&mut sink), plain: false };
    let rest = run_within(&sampled(), bounds).unwrap();
    assert!(sink.0.len() > 1, "{} pieces", sink.0.len());
    let mut pieces = sink.0;
    pieces.push((rest.series.into_table(), rest.link_series.into_table()));
    assert_eq!(bytes(pieces.iter().map(|piece| &piece.0)), bytes([&*whole.series]));
    assert_eq!(bytes(pieces.iter().map(|piece| &piece.1)), bytes([&*whole.link_series]));
    assert_eq!((bytes([&rest.flows]), bytes([&rest.links])), (bytes([&whole.flows]), bytes([&whole.links])));
}

#[test]
fn a_sink_that_cannot_keep_a_piece_ends_the_run() {
    struct Full;
    impl SeriesSink for Full {
        fn take(&mut self, _: Table, _: Table) -> Result<(), String> {
            Err("no space left".to_owned())
        }
    }
    let cancel = AtomicBool::new(false);
    let bounds = Bounds { cancel: &cancel, max_memory: u64::MAX, series: Some(&mut Full), plain: false };
    let error = run_within(&sampled(), bounds).unwrap_err().to_string();
    assert_eq!(error, "the time series cannot be kept: no space left");
}

/// What tells the CPU time of the calling thread to others, where the system does.
fn own_clock() -> Option<PathBuf> {
    Some(Path::new("/proc").join(std::fs::read_link("/proc/thread-self").ok()?).join("stat"))
}

/// The CPU time of a thread.
fn cpu_time(clock: &Path) -> Option<Duration> {
    const TICK: Duration = Duration::from_millis(10);
    let text = std::fs::read_to_string(clock).ok()?;
    let (_, numbers) = text.rsplit_once(')')?;
    let numbers: Vec<u32> = numbers.split_whitespace().skip(12).take(2).flat_map(str::parse).collect();
    let [user, system] = numbers[..] else { return None };
    Some((user + system) * TICK)
}

/// How long a run goes on after it was cancelled `after` its begin, in CPU time, which does not depend on what else the
/// machine does. Where that is not told, in real time.
fn time_to_end(scenario: Scenario, max_memory: u64, after: Duration) -> Duration {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = cancel.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let run = std::thread::spawn(move || {
        let clock = own_clock();
        tell.send(clock.clone()).unwrap();
        let bounds = Bounds { cancel: &flag, max_memory, series: None, plain: false };
        let outcome = run_within(&scenario, bounds).map(|output| output.summary);
        (outcome, clock.and_then(|clock| cpu_time(&clock)), Instant::now())
    });
    let clock = told.recv().unwrap();
    std::thread::sleep(after);
    let (cancelled, cpu) = (Instant::now(), clock.and_then(|clock| cpu_time(&clock)));
    cancel.store(true, Ordering::Relaxed);
    let (outcome, cpu_at_end, ended) = run.join().unwrap();
    assert!(matches!(outcome, Err(RunError::Cancelled)), "it should have been cancelled: {outcome:?}");
    cpu.zip(cpu_at_end).map_or_else(|| ended - cancelled, |(before, after)| after - before)
}

#[test]
fn a_cancelled_run_ends_within_a_second_wherever_it_is() {
    // Bursts of a million packets in one turn, which all arrive at the same instant; the set-up of thousands of flows
    // over thousands of links; acknowledgements that each look at hundreds of thousands of packets.
    let burst = |transport: &str| {
        scenario(&format!(
            r#"
            duration = "100s"
            record.series = false
            path = {{ rate = "unlimited", rtt = "10ms" }}
            flows = [{{ cc = "reno", transport = {transport} }}]
            "#
        ))
    };
    let cases = [
        ("tcp burst", burst(r#"{ initial_cwnd = 1000000, receive_window = "1448MB" }"#)),
        ("quic burst", burst(r#"{ profile = "quic", initial_cwnd = 1000000, receive_window = "1350MB" }"#)),
        ("set-up", many_flows_over_a_long_way()),
        (
            "long scans",
            scenario(
                r#"
                duration = "1000s"
                record.series = false
                path = { rate = "10gbit", rtt = "1s", loss = "0.1%", buffer = "unlimited" }
                flows = [{ cc = "bbr", transport = { profile = "quic", initial_cwnd = 500000, receive_window = "1350MB" } }]
                "#,
            ),
        ),
    ];
    for (name, scenario) in cases {
        for after_ms in [200, 1_500] {
            let took = time_to_end(scenario.clone(), 4 << 30, Duration::from_millis(after_ms));
            assert!(took < Duration::from_secs(1), "{name}: cancelled after {after_ms} ms, it went on for {took:?}");
        }
    }
}

/// A flow whose way goes to and fro over one link, which it crosses so many times in either direction.
fn to_and_fro(links: usize, flow: &str) -> Scenario {
    let mut scenario = scenario(&format!(
        r#"
        duration = "100s"
        record.series = false
        links = [{{ from = "a", to = "b", rate = "10gbit", delay = "1us", buffer = "unlimited", reverse = "symmetric" }}]
        flows = [{{ from = "a", to = "b", {flow} }}]
        "#
    ));
    scenario.flows[0].forward = (0..links).map(|hop| hop % 2).collect();
    scenario.flows[0].reverse = (0..links).map(|hop| (hop + 1) % 2).collect();
    scenario
}

fn many_flows_over_a_long_way() -> Scenario {
    let mut scenario = to_and_fro(10_001, r#"cc = "cubic""#);
    let flow = scenario.flows[0].clone();
    scenario.flows.extend(vec![flow; 3_000]);
    scenario
}

#[test]
fn a_way_of_hundreds_of_links_delays_by_all_of_them() {
    let mut toml = String::from("duration = \"3s\"\n");
    for hop in 0..300 {
        let _ = writeln!(
            toml,
            "[[links]]\nfrom = \"n{hop}\"\nto = \"n{}\"\nrate = \"100mbit\"\ndelay = \"100us\"\nbuffer = \"1000packets\"",
            hop + 1
        );
    }
    toml.push_str("[[flows]]\ncc = \"cubic\"\nfrom = \"n0\"\nto = \"n300\"\n");
    let output = run(&scenario(&toml), &AtomicBool::new(false)).unwrap();
    let column = |name: &str| {
        let found = output.flows.columns.iter().find(|column| column.name == name).unwrap();
        let Values::Float(values) = &found.values else { panic!("{name} is a number") };
        values[0]
    };
    assert!(column("min_rtt_ms") >= 60.0, "the minimum round-trip time is {} ms", column("min_rtt_ms"));
    assert!(column("goodput_mbps") > 1.0);
}

#[test]
fn the_longest_way_is_carried_and_a_longer_one_is_refused() {
    let finite = r#"cc = "reno", bytes = "20kB""#;
    let output = within(&to_and_fro(65_535, finite), u64::MAX).unwrap();
    let delivered = output.flows.columns.iter().find(|column| column.name == "delivered_bytes_total").unwrap();
    assert_eq!(delivered.values, Values::Count(vec![20_000]));
    let error = within(&to_and_fro(65_536, finite), u64::MAX).unwrap_err();
    assert_eq!(error.to_string(), "the way of flow 0 has more than 65535 links");
}
