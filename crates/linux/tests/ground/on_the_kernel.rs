//! Their module has this name so that `make test` can run them while nothing else is at work: `--skip on_the_kernel::`.

use dumbbell_linux::{
    Bounds, BpfFault, FlowFault, FlowNotes, Notes, Programs, RunError, RunOutput, Sysctl, run, shell,
};
use dumbbell_results::{Table, Values};
use dumbbell_scenario::{Experiment, Scenario};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Runs go beside each other, but for one that must have the machine to itself: where cores are shared, they may void
/// each other.
static MACHINE: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

fn scenario(text: &str) -> Arc<Scenario> {
    Experiment::from_toml(text, "test.toml", &[]).expect("a valid experiment").points()[0].scenario()
}

fn attempt(text: &str, sysctls: &[Sysctl]) -> Result<RunOutput, RunError> {
    let cancel = AtomicBool::new(false);
    run(&scenario(text), sysctls, &Bounds { cancel: &cancel, max_memory: 1 << 30, allows_programs: false })
}

/// Cores that others may keep busy on a machine that has nothing else to do. A certificate is about the path; how soon
/// sockets' owners wake up, and what a controller makes of that, is about the whole machine.
const OTHERS: f64 = 0.05;

/// The output of a run whose numbers hold. Where they do not, there is another without any beside it; if they do not
/// hold then either, they are void if other programs were at work. `None` for what is void or forbidden by the machine.
fn measured(text: &str, holds: impl Fn(&RunOutput) -> Result<(), String>) -> Option<RunOutput> {
    let beside = attempts(text, 1)?;
    if let Some(output) = beside.filter(|output| holds(output).is_ok()) {
        return Some(output);
    }
    let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(output) = attempts(text, 3)? else {
        eprintln!("skipped: this machine is too busy for a run that is not void");
        return None;
    };
    match (holds(&output), output.certificate.other_cpu) {
        (Ok(()), _) => Some(output),
        (Err(what), Some(others)) if others > OTHERS => {
            eprintln!("void: other programs kept {others:.2} cores busy: {what}");
            None
        }
        (Err(what), _) => panic!("{what}"),
    }
}

/// The output of the first of a few runs that is not void, if one is not; `None` where the machine forbids them.
#[expect(clippy::option_option, reason = "outside whether there are runs here, inside whether one is good")]
fn attempts(text: &str, most: usize) -> Option<Option<RunOutput>> {
    for _ in 0..most {
        match attempt(text, &[]) {
            Ok(output) if output.certificate.void.is_empty() => return Some(Some(output)),
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
    Some(None)
}

/// What a number must be, or words about what it is.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err(format!($($words)+));
        }
    };
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
    let output = measured(text, |output| {
        let goodput = floats(&output.flows, "goodput_mbps")[0];
        let ideal = 20.0 * 1448.0 / 1500.0;
        ensure!((goodput / ideal - 1.0).abs() < 0.005, "{goodput} of {ideal}");
        let rtt = floats(&output.flows, "min_rtt_ms")[0];
        ensure!(rtt < 45.0, "{rtt}");
        ensure!(counts(&output.flows, "retransmits_total")[0] > 0, "the queue has not overflowed");
        // A sample every 20 ms from the handshake on.
        let samples = floats(&output.series, "cwnd").len();
        ensure!((250..=299).contains(&samples), "{samples} samples");
        Ok(())
    });
    let Some(output) = output else { return };
    assert!(floats(&output.flows, "min_rtt_ms")[0] >= 20.0);
    assert_eq!(counts(&output.flows, "network_drops_total"), counts(&output.links, "drops_total").get(..1).unwrap());
    assert_eq!(floats(&output.link_series, "queue_bytes").len(), 2 * 300);
}

#[test]
fn a_finite_transfer_completes_when_its_last_byte_is_acknowledged() {
    let text = r#"
        duration = "2s"
        path = { rate = "10mbit", rtt = "100ms", buffer = "4bdp" }
        flows = [{ cc = "reno", bytes = "14480B" }]
    "#;
    let output = measured(text, |output| {
        let delivered = counts(&output.flows, "delivered_bytes_total");
        ensure!(delivered == [14_480], "{delivered:?} bytes");
        let took = floats(&output.flows, "completion_s")[0];
        ensure!(took < 0.230, "{took}");
        Ok(())
    });
    let Some(output) = output else { return };
    // Handshake, and the initial window in one flight of ten segments of 1.2 ms.
    assert!(floats(&output.flows, "completion_s")[0] >= 0.200);
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
        let least = |output: &RunOutput| floats(&output.flows, "min_rtt_ms")[0];
        let serialisation = 0.24;
        // What a busy machine adds to the fastest packet of all.
        let wake_ups = 0.5;
        let output = measured(&text, |output| {
            let rtt = least(output);
            ensure!(rtt < f64::from(ms) + serialisation + wake_ups, "{rtt} ms over {ms} ms");
            Ok(())
        });
        let Some(output) = output else { return };
        assert!(least(&output) >= f64::from(ms), "{} ms over {ms} ms", least(&output));
    }
}

#[test]
fn marks_of_a_queue_reach_the_kernel() {
    let text = r#"
        duration = "3s"
        path = { rate = "10mbit", rtt = "20ms", buffer = "200packets", queue = { kind = "codel", ecn = true } }
        flows = [{ cc = "cubic", transport = { ecn = true } }]
    "#;
    let output = measured(text, |output| {
        ensure!(counts(&output.links, "marks_total")[0] > 0, "there are no marks");
        Ok(())
    });
    let Some(output) = output else { return };
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
        let output = measured(&text, |output| {
            let goodput = floats(&output.flows, "goodput_mbps")[0] / (10.0 * 1448.0 / 1500.0);
            ensure!((0.95..1.001).contains(&goodput), "{algorithm}: {goodput}");
            let bw = *floats(&output.series, "cc_bw_mbps").last().expect("a sample");
            ensure!((9.0..11.0).contains(&bw), "{algorithm}: {bw} Mbit/s");
            Ok(())
        });
        let Some(output) = output else { return };
        // The series may have missed the shortest of them.
        let Notes::Kernel(FlowNotes { phases, .. }) = &output.certificate.flows[0] else {
            panic!("a flow of the kernel")
        };
        let all = ["startup", "drain", "probe_bw", "probe_bw_up", "probe_bw_down", "probe_bw_cruise"];
        assert!(all.iter().all(|phase| phases.contains(phase)), "{algorithm}: {phases:?}");
        let modes = names(&output.series, "mode");
        assert!(modes.iter().all(|mode| mode.is_empty() || phases.contains(&mode.as_str())), "{modes:?}");
        assert!(modes.iter().any(|mode| mode == "probe_bw"), "{modes:?}");
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
    measured(text, |output| {
        let throughput = floats(&output.links, "throughput_mbps")[0];
        ensure!(throughput > 0.99 * 20.0, "{throughput}");
        let windows = floats(&output.series, "cwnd");
        let settled = &windows[windows.len() / 2..];
        let (least, most) = settled.iter().fold((f64::MAX, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
        ensure!(least < most && least >= (most * 7.0 / 8.0).floor() - 1.0, "{least} to {most}");
        Ok(())
    });
}

#[test]
fn an_algorithm_that_the_kernel_lacks_is_named_with_those_it_has() {
    let _turn = beside_others();
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
    let bounds = Bounds { cancel: &cancel, max_memory: 2 << 20, allows_programs: false };
    let _turn = beside_others();
    match run(&scenario(&text(true)), &[], &bounds) {
        Err(RunError::Namespace(_) | RunError::Tun(_)) => eprintln!("skipped"),
        Err(RunError::Memory { .. }) => assert!(run(&scenario(&text(false)), &[], &bounds).is_ok()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_can_be_stopped() {
    let _turn = beside_others();
    let text = r#"
        duration = "1h"
        path = { rate = "10mbit", rtt = "20ms" }
        flows = [{ cc = "reno" }, { cc = "cubic", start = "50min" }]
    "#;
    let scenario = scenario(text);
    let cancel = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let running = scope
            .spawn(|| run(&scenario, &[], &Bounds { cancel: &cancel, max_memory: 1 << 30, allows_programs: false }));
        std::thread::sleep(std::time::Duration::from_millis(500));
        cancel.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    match outcome {
        // Not the output of a run that has gone on for its hour.
        Err(RunError::Cancelled) => {}
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn programs_reach_each_other_over_the_path() {
    let _turn = beside_others();
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
    let bounds = Bounds { cancel: &cancel, max_memory: 1 << 30, allows_programs: false };
    let programs = Programs { command: &command, peer: Some(&peer), peer_sends: false };
    match shell(&scenario, &programs, &[], &bounds, true) {
        Ok(output) => {
            assert_eq!(output.status, 7, "nobody listens there, which the peer's kernel answers");
            let packets = output.packets.expect("it was wanted");
            let delays: Vec<f64> = floats(&packets, "delay_ms").iter().copied().filter(|ms| !ms.is_nan()).collect();
            // A SYN and a reset for every attempt, each on its way for half of the round trip. What is late counts from
            // when it was due; a SYN that is answered a second late is repeated.
            assert!(delays.len() >= 18, "{delays:?}");
            assert!(delays.iter().all(|ms| (25.0..30.0).contains(ms)), "{delays:?}");
            assert!(counts(&output.links, "arrivals_total").iter().all(|&packets| packets >= 9));
        }
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
}

/// A server in Python and a client in bash, which are on every machine where this is built.
const PROGRAMS: &str = r#"
    duration = "3s"
    path = { rate = "10mbit", rtt = "20ms" }

    [[flows]]
    label = "bash"
    [flows.program]
    server = """python3 -c "
import socket
connection, _ = socket.create_server(('{server}', {port})).accept()
connection.sendall(bytes(100000))" """
    client = "bash -c 'exec 3<>/dev/tcp/{server}/{port} && wc -c <&3'"
"#;

#[test]
fn programs_do_not_run_without_consent() {
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: 1 << 30, allows_programs: false };
    match run(&scenario(PROGRAMS), &[], &bounds) {
        Err(error @ RunError::Consent { .. }) => {
            let said = error.to_string();
            assert!(said.contains("--allow-programs") && said.contains("/dev/tcp/{server}"), "{said}");
        }
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn two_programs_are_a_flow_whose_bytes_are_counted_once() {
    let _turn = beside_others();
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: 1 << 30, allows_programs: true };
    match run(&scenario(PROGRAMS), &[], &bounds) {
        Ok(output) => {
            assert_eq!(counts(&output.flows, "delivered_bytes_total"), [100_000]);
            let took = floats(&output.flows, "completion_s")[0];
            assert!((0.1..3.0).contains(&took), "{took}");
            let Notes::Program(notes) = &output.certificate.flows[0] else { panic!("programs") };
            assert_eq!((notes.client.status, &notes.client.said[..]), (Some(0), &["100000".to_owned()][..]));
            assert_eq!(notes.server.status, Some(0), "it serves once");
        }
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let _turn = beside_others();
    let scenario =
        scenario("duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"5ms\" }\nflows = [{ cc = \"reno\" }]");
    let command = ["no-such-program".to_owned()];
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: 1 << 30, allows_programs: false };
    match shell(&scenario, &Programs { command: &command, peer: None, peer_sends: false }, &[], &bounds, false) {
        Err(error @ RunError::Machine(_)) => assert!(error.to_string().contains("no-such-program"), "{error}"),
        Err(error @ (RunError::Namespace(_) | RunError::Tun(_))) => eprintln!("skipped: {error}"),
        other => panic!("{:?}", other.err()),
    }
}
