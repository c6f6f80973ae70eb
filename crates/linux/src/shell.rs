//! Any programs on both sides of an emulated path.

use crate::clock::Clock;
use crate::emulator::{Emulator, Traffic};
use crate::host::{Host, Side};
use crate::settings::Settings;
use crate::{Bounds, FlowShared, LEAD, OnDrop, PATIENCE, RunError, STACK_BYTES, Shared, Sysctl, rights, sys};
use dumbbell_results::{Table, links};
use dumbbell_scenario::{Record, Scenario};
use dumbbell_units::{Duration, Time};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Longer than anybody waits for a program.
const ENDLESS: Duration = Duration::from_secs(365 * 86_400);
/// How long a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);
/// Names the other side's address to a program.
const PEER: &str = "DUMBBELL_PEER";

/// What runs on the two sides.
pub struct Programs<'a> {
    /// The program and its arguments, on the side of the senders. When it ends, all ends.
    pub command: &'a [String],
    /// The program on the other side.
    pub peer: Option<&'a [String]>,
}

/// What is left of it.
#[derive(Clone, Debug)]
pub struct ShellOutput {
    /// The exit status of the program; 128 and the number of the signal that ended it.
    pub status: i32,
    /// One row a link.
    pub links: Table,
    /// One row an event of a packet, if it was wanted.
    pub packets: Option<Table>,
    /// How late packets were handed over, microseconds: 99.9 % of them not more than this.
    pub late_p999_us: f64,
}

/// Runs programs over the network of a scenario, on the way of its first flow, until the first of them ends. Which
/// algorithm they use is their own business.
///
/// # Errors
/// Those of [`run`](crate::run), and a program that cannot be started.
pub fn shell(
    scenario: &Scenario,
    programs: &Programs<'_>,
    sysctls: &[Sysctl],
    bounds: &Bounds<'_>,
    wants_log: bool,
) -> Result<ShellOutput, RunError> {
    let settings = Settings::new(scenario, sysctls)?;
    let network = Scenario {
        duration: ENDLESS,
        warmup: Duration::ZERO,
        cooldown: Duration::ZERO,
        record: Record { series: false, ..scenario.record.clone() },
        ..scenario.clone()
    };
    let [sender, receiver] = Side::BOTH.map(|side| Host::new(side, &settings, &[]));
    let hosts = [sender?, receiver?];
    let shared = Shared::new(network.flows.iter().map(|_| FlowShared::new()).collect(), network.links.len());
    let clock = Clock::starting_in(LEAD);
    let devices = [&hosts[0].device, &hosts[1].device];
    let max_memory = bounds.max_memory;
    let emulator = Emulator::new(&network, devices, settings.mtu, clock, &shared, max_memory, Traffic::Any)?;
    let emulator = if wants_log { emulator.logging() } else { emulator };
    let begin = clock.now();
    let (status, mut seen) = thread::scope(|scope| {
        let _over = OnDrop(|| shared.is_over.store(true, Ordering::Relaxed));
        let named = thread::Builder::new().name("emulator".to_owned()).stack_size(STACK_BYTES);
        let failed = |error: std::io::Error| RunError::Machine(format!("cannot start a thread: {error}"));
        let emulator = named.spawn_scoped(scope, || emulator.run()).map_err(failed)?;
        let is_over = AtomicBool::new(false);
        // Programs die with the thread that started them, which therefore waits for them.
        let status = thread::scope(|scope| {
            let over = OnDrop(|| is_over.store(true, Ordering::Relaxed));
            let ends = || bounds.cancel.load(Ordering::Relaxed) || emulator.is_finished();
            if let Some(peer) = programs.peer {
                let (host, is_over) = (&hosts[1], &is_over);
                scope.spawn(move || attend(Side::Receiver, host, peer, || is_over.load(Ordering::Relaxed)));
            }
            let (host, words) = (&hosts[0], programs.command);
            let status = scope.spawn(move || attend(Side::Sender, host, words, ends)).join();
            drop(over);
            status.unwrap_or_else(|_| Err(RunError::Machine("the thread of the program has failed".to_owned())))
        })?;
        shared.is_over.store(true, Ordering::Relaxed);
        let seen = emulator.join().map_err(|_| RunError::Machine("the emulator has failed".to_owned()))??;
        Ok::<_, RunError>((status, seen))
    })?;
    if bounds.cancel.load(Ordering::Relaxed) {
        return Err(RunError::Cancelled);
    }
    let lasted = clock.now().since(begin).as_secs_f64();
    for link in &mut seen.links {
        link.measured_s = lasted;
    }
    Ok(ShellOutput {
        status: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        links: links(&seen.links),
        packets: seen.packet_log.map(crate::packet_log::PacketLog::table),
        late_p999_us: seen.lateness.quantile_us(0.999),
    })
}

/// Starts a program at a host and waits until it ends, or ends it when its time is over.
fn attend(side: Side, host: &Host, words: &[String], is_over: impl Fn() -> bool) -> Result<ExitStatus, RunError> {
    let [program, arguments @ ..] = words else {
        return Err(RunError::Machine("there is no program to run".to_owned()));
    };
    let cannot = |error: std::io::Error| RunError::Machine(format!("cannot run `{program}`: {error}"));
    host.enter().map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(arguments).env(PEER, side.other().address().to_string());
    if side == Side::Receiver {
        // A group of its own, so that it can be ended with what it has started; the terminal is for the command.
        command.process_group(0).stdin(Stdio::null());
    }
    sys::unshare_processes().map_err(cannot)?;
    rights::bound_programs().map_err(|errno| cannot(errno.into()))?;
    sys::keep_together(&mut command);
    let mut child = command.spawn().map_err(cannot)?;
    rights::drop_all_but_ending_programs().map_err(|errno| cannot(errno.into()))?;
    let clock = Clock::starting_in(Duration::ZERO);
    let mut asked_at: Option<Time> = None;
    loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            return Ok(status);
        }
        match asked_at {
            None if is_over() => {
                asked_at = Some(clock.now());
                send(side, &child, Signal::TERM);
            }
            Some(at) if clock.now().since(at) > GRACE => send(side, &child, Signal::KILL),
            None | Some(_) => {}
        }
        thread::sleep(PATIENCE);
    }
}

/// Sends a signal to a program, and on the other side to what it has started. It may have ended by itself just now.
/// `first` is the process [beside it](sys::keep_together), which ends the program and all that it has started when it
/// is killed.
fn send(side: Side, first: &Child, signal: Signal) {
    let first = first.id();
    let pid = |number: u32| i32::try_from(number).ok().and_then(Pid::from_raw);
    match (side, signal) {
        (_, Signal::KILL) => drop(pid(first).map(|pid| kill_process(pid, signal))),
        (Side::Receiver, _) => drop(pid(first).map(|pid| kill_process_group(pid, signal))),
        (Side::Sender, _) => {
            let started = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
            for pid in started.split_whitespace().filter_map(|number| number.parse().ok()).filter_map(pid) {
                let _ = kill_process(pid, signal);
            }
        }
    }
}
