//! Whole runs on the kernel of this machine. They take real time, and are skipped, with a message, where the machine
//! forbids namespaces.

#![cfg(target_os = "linux")]

use dumbbell_linux::{Bounds, BpfFault, FlowFault, Programs, RunError, RunOutput, Sysctl, run, shell};
use dumbbell_results::{Table, Values};
use dumbbell_scenario::{Experiment, Scenario};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// One at a time: runs that share the machine's cores void each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn scenario(text: &str) -> Arc<Scenario> {
    Experiment::from_toml(text, "test.toml", &[]).expect("a valid experiment").points()[0].scenario()
}

fn attempt(text: &str, sysctls: &[Sysctl]) -> Result<RunOutput, RunError> {
    let cancel = AtomicBool::new(false);
    run(&scenario(text), sysctls, &Bounds { cancel: &cancel, max_memory: 1 << 30 })
}

/// The output of a run that is not void, of a few; `None` where the machine forbids it.
fn good(text: &str) -> Option<RunOutput> {
    let _alone = alone();
    for _ in 0..4 {
        match attempt(text, &[]) {
            Ok(output) if output.certificate.void.is_empty() => return Some(output),
            Ok(output) => eprintln!("void: {}", output.certificate.void.join("; ")),
            Err(
                error @ (RunError::Namespace(_)
                | RunError::Tun(_)
                | RunError::Flow {
                    fault: FlowFault::Bpf(BpfFault::Capability(_) | BpfFault::Kernel(_)), ..
                }),
            ) => {
                eprintln!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        }
    }
    eprintln!("skipped: this machine is too busy for a run that is not void");
    None
}

fn floats<'t>(table: &'t Table, name: &str) -> &'t [f64] {
    match &table.columns.iter().find(|column| column.name == name).expect("a column of the catalogue").values {
        Values::Float(values) => values,
        _ => panic!("{name} is no number"),
    }
}

fn counts<'t>(table: &'t Table, name: &str) -> &'t [u64] {
    match &table.columns.iter().find(|column| column.name == name).expect("a column of the catalogue").values {
        Values::Count(values) => values,
        _ => panic!("{name} is no count"),
    }
}

/// The distinct names of a column.
fn names(table: &Table, name: &str) -> Vec<String> {
    match &table.columns.iter().find(|column| column.name == name).expect("a column of the catalogue").values {
        Values::Name(values) => values.clone().into_parts().0,
        _ => panic!("{name} has no names"),
    }
}

#[test]
fn cubic_fills_a_path_of_one_bdp() {
    let text = r#"
        duration = "6s"
        warmup = "2s"
        record.interval = "20ms"
        path = { rate = "20mbit", rtt = "20ms", buffer = "1bdp" }
        flows = [{ cc = "cubic" }]
    "#;
    let Some(output) = good(text) else { return };
    let goodput = floats(&output.flows, "goodput_mbps")[0];
    let ideal = 20.0 * 1448.0 / 1500.0;
    assert!((goodput / ideal - 1.0).abs() < 0.005, "{goodput} of {ideal}");
    let rtt = floats(&output.flows, "min_rtt_ms")[0];
    assert!((20.0..45.0).contains(&rtt), "{rtt}");
    assert!(counts(&output.flows, "retransmits_total")[0] > 0, "the queue has overflowed");
    assert_eq!(counts(&output.flows, "network_drops_total"), counts(&output.links, "drops_total").get(..1).unwrap());
    // A sample every 20 ms from the handshake on.
    assert!((250..=299).contains(&floats(&output.series, "cwnd").len()));
    assert_eq!(floats(&output.link_series, "queue_bytes").len(), 2 * 300);
}

#[test]
fn a_finite_transfer_completes_when_its_last_byte_is_acknowledged() {
    let text = r#"
        duration = "2s"
        path = { rate = "10mbit", rtt = "100ms", buffer = "4bdp" }
        flows = [{ cc = "reno", bytes = "14480B" }]
    "#;
    // A certificate is about the path; a busy machine may also wake the sockets' owners late, but not always.
    let mut fastest = f64::INFINITY;
    for _ in 0..4 {
        let Some(output) = good(text) else { return };
        assert_eq!(counts(&output.flows, "delivered_bytes_total"), [14_480]);
        fastest = fastest.min(floats(&output.flows, "completion_s")[0]);
        if fastest < 0.230 {
            break;
        }
    }
    // Handshake, and the initial window in one flight of ten segments of 1.2 ms.
    assert!((0.200..0.230).contains(&fastest), "{fastest}");
}

#[test]
fn the_delay_of_a_path_is_kept() {
    for ms in [1, 10, 100] {
        let text = format!(
            r#"
                duration = "1500ms"
                path = {{ rate = "50mbit", rtt = "{ms}ms" }}
                flows = [{{ cc = "cubic", rate = "1mbit" }}]
            "#
        );
        let Some(output) = good(&text) else { return };
        let rtt = floats(&output.flows, "min_rtt_ms")[0];
        let serialisation = 0.24;
        // What a busy machine adds to the fastest packet of all.
        let wake_ups = 0.5;
        assert!(rtt >= f64::from(ms) && rtt < f64::from(ms) + serialisation + wake_ups, "{rtt} ms over {ms} ms");
    }
}

#[test]
fn marks_of_a_queue_reach_the_kernel() {
    let text = r#"
        duration = "3s"
        path = { rate = "10mbit", rtt = "20ms", buffer = "200packets", queue = { kind = "codel", ecn = true } }
        flows = [{ cc = "cubic", transport = { ecn = true } }]
    "#;
    let Some(output) = good(text) else { return };
    assert!(counts(&output.links, "marks_total")[0] > 0);
    assert_eq!(counts(&output.flows, "network_drops_total"), [0], "marked in place of dropped");
}

#[test]
fn our_bbrs_run_in_the_kernel_and_report_their_state() {
    for algorithm in ["bbr-acd", "bbrplus"] {
        let text = format!(
            r#"
                duration = "4s"
                warmup = "2s"
                record.interval = "20ms"
                path = {{ rate = "10mbit", rtt = "40ms", buffer = "2bdp" }}
                flows = [{{ cc = "bpf:{algorithm}" }}]
            "#
        );
        let Some(output) = good(&text) else { return };
        let goodput = floats(&output.flows, "goodput_mbps")[0] / (10.0 * 1448.0 / 1500.0);
        assert!((0.95..1.001).contains(&goodput), "{algorithm}: {goodput}");
        let modes = names(&output.series, "mode");
        assert!(["startup", "drain", "probe_bw"].iter().all(|mode| modes.contains(&mode.to_string())), "{modes:?}");
        let bw = *floats(&output.series, "cc_bw_mbps").last().expect("a sample");
        assert!((9.0..11.0).contains(&bw), "{algorithm}: {bw} Mbit/s");
        let gains = floats(&output.series, "cc_pacing_gain");
        assert!([1.25, 0.75, 1.0].iter().all(|gain| gains.contains(gain)), "{algorithm}: {gains:?}");
    }
}

#[test]
fn scalable_keeps_seven_eighths_of_its_window() {
    let text = r#"
        duration = "6s"
        warmup = "2s"
        record.interval = "20ms"
        path = { rate = "20mbit", rtt = "40ms", buffer = "1bdp" }
        flows = [{ cc = "bpf:scalable" }]
    "#;
    let Some(output) = good(text) else { return };
    let throughput = floats(&output.links, "throughput_mbps")[0];
    assert!(throughput > 0.99 * 20.0, "{throughput}");
    let windows = floats(&output.series, "cwnd");
    let settled = &windows[windows.len() / 2..];
    let (least, most) = settled.iter().fold((f64::MAX, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
    assert!(least < most && least >= (most * 7.0 / 8.0).floor() - 1.0, "{least} to {most}");
}

#[test]
fn an_algorithm_that_the_kernel_lacks_is_named_with_those_it_has() {
    let _alone = alone();
    let text = r#"
        duration = "1s"
        path = { rate = "10mbit", rtt = "20ms" }
        flows = [{ cc = "reno" }, { cc = "bbr2" }]
    "#;
    match attempt(text, &[]) {
        Err(error @ RunError::Flow { flow: 1, .. }) => {
            let message = error.to_string();
            assert!(message.contains("bbr2") && message.contains("reno"), "{message}");
        }
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the kernel has it after all"),
    }
}

#[test]
fn samples_of_flows_count_as_memory() {
    let text = |series: bool| {
        format!(
            "duration = \"4s\"\nrecord = {{ interval = \"1ms\", series = {series} }}\n\
             path = {{ rate = \"20mbit\", rtt = \"20ms\" }}\nflows = [{{ cc = \"cubic\", count = 8 }}]"
        )
    };
    let cancel = AtomicBool::new(false);
    let bounds = Bounds { cancel: &cancel, max_memory: 2 << 20 };
    let _alone = alone();
    match run(&scenario(&text(true)), &[], &bounds) {
        Err(RunError::Namespace(_) | RunError::Tun(_)) => eprintln!("skipped"),
        Err(RunError::Memory { .. }) => assert!(run(&scenario(&text(false)), &[], &bounds).is_ok()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_can_be_stopped() {
    let _alone = alone();
    let text = r#"
        duration = "60s"
        path = { rate = "10mbit", rtt = "20ms" }
        flows = [{ cc = "reno" }, { cc = "cubic", start = "50s" }]
    "#;
    let scenario = scenario(text);
    let cancel = AtomicBool::new(false);
    let began = std::time::Instant::now();
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&scenario, &[], &Bounds { cancel: &cancel, max_memory: 1 << 30 }));
        std::thread::sleep(std::time::Duration::from_millis(500));
        cancel.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    match outcome {
        Err(RunError::Cancelled) => assert!(began.elapsed().as_secs_f64() < 10.0),
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn programs_reach_each_other_over_the_path() {
    let _alone = alone();
    let scenario = scenario(
        r#"
            duration = "1s"
            path = { rate = "10mbit", rtt = "50ms" }
            flows = [{ cc = "cubic" }]
        "#,
    );
    // A connection of bash itself, so that nothing has to be installed: it tells by its time that it took the path.
    let words = |script: &str| ["bash", "-c", script].map(str::to_owned);
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (exec 3<>/dev/tcp/$DUMBBELL_PEER/7) 2>/dev/null && exit 9; sleep 0.1; done; exit 7";
    let (command, peer) = (words(script), words("sleep 60"));
    let cancel = AtomicBool::new(false);
    let bounds = Bounds { cancel: &cancel, max_memory: 1 << 30 };
    let programs = Programs { command: &command, peer: Some(&peer) };
    match shell(&scenario, &programs, &[], &bounds, true) {
        Ok(output) => {
            assert_eq!(output.status, 7, "nobody listens there, which the peer's kernel answers");
            let packets = output.packets.expect("it was wanted");
            let delays: Vec<f64> = floats(&packets, "delay_ms").iter().copied().filter(|ms| !ms.is_nan()).collect();
            // A SYN and a reset for every attempt, each on its way for half of the round trip.
            assert_eq!(delays.len(), 18);
            assert!(delays.iter().all(|ms| (25.0..30.0).contains(ms)), "{delays:?}");
            assert_eq!(counts(&output.links, "arrivals_total"), [9, 9]);
        }
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let _alone = alone();
    let scenario =
        scenario("duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"5ms\" }\nflows = [{ cc = \"reno\" }]");
    let command = ["no-such-program".to_owned()];
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: 1 << 30 };
    match shell(&scenario, &Programs { command: &command, peer: None }, &[], &bounds, false) {
        Err(error @ RunError::Machine(_)) => assert!(error.to_string().contains("no-such-program"), "{error}"),
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        other => panic!("{:?}", other.err()),
    }
}
