//! Any programs on both sides of an emulated path.

use crate::clock::Clock;
use crate::emulator::{Emulator, Ends, Traffic};
use crate::host::{Host, Side};
use crate::process::Process;
use crate::program::code;
use crate::settings::Settings;
use crate::{Bounds, FlowShared, LEAD, OnDrop, PATIENCE, RunError, STACK_BYTES, Shared, Sysctl};
use dumbbell_path::LinkRate;
use dumbbell_results::{Table, links};
use dumbbell_scenario::{Record, Scenario};
use dumbbell_units::Duration;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Longer than anybody waits for a program.
const ENDLESS: Duration = Duration::from_secs(365 * 86_400);
/// Names the other side's address to a program.
const PEER: &str = "DUMBBELL_PEER";

/// What runs on the two sides.
pub struct Programs<'a> {
    /// The program and its arguments, on the side of the senders. When it ends, all ends.
    pub command: &'a [String],
    /// The program on the other side.
    pub peer: Option<&'a [String]>,
    /// The two change sides: what the peer sends goes over the described direction.
    pub peer_sends: bool,
}

/// What is left of it.
#[derive(Clone, Debug)]
pub struct ShellOutput {
    /// The exit status of the program; 128 and the number of the signal that ended it.
    pub status: i32,
    /// One row a link.
    pub links: Table,
    /// IP bytes that went over the described direction, and over the way back.
    pub carried_bytes: [u64; 2],
    /// Whether a link on the way back has a rate.
    pub shapes_way_back: bool,
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
    let hosts = Host::pair(&settings, |_| Vec::new())?;
    let shared = Shared::new(network.flows.iter().map(|_| FlowShared::new()).collect(), network.links.len());
    let clock = Clock::starting_in(LEAD);
    let ends = vec![Ends::new(&hosts, Traffic::Programs(0))];
    let emulator = Emulator::new(&network, ends, settings.mtu, clock, &shared, bounds.max_memory)?;
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
            let side = if programs.peer_sends { Side::Receiver } else { Side::Sender };
            if let Some(peer) = programs.peer {
                let (other, is_over) = ((side.other(), &hosts[side.other() as usize]), &is_over);
                scope.spawn(move || attend(other, peer, false, || is_over.load(Ordering::Relaxed)));
            }
            let (own, words) = ((side, &hosts[side as usize]), programs.command);
            let status = scope.spawn(move || attend(own, words, true, ends)).join();
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
    let [first, ..] = &scenario.flows[..] else { return Err(RunError::NoFlows) };
    let carried =
        |way: &[usize]| way.first().and_then(|&link| seen.links.get(link)).map_or(0, |link| link.departed_bytes);
    let has_rate = |&link: &usize| !matches!(scenario.links[link].config.rate, LinkRate::Unlimited);
    Ok(ShellOutput {
        carried_bytes: [carried(&first.forward), carried(&first.reverse)],
        shapes_way_back: first.reverse.iter().any(has_rate),
        status: code(status),
        links: links(&seen.links),
        packets: seen.packet_log.map(crate::packet_log::PacketLog::table),
        late_p999_us: seen.lateness.quantile_us(0.999),
    })
}

/// Starts a program at a host and waits until it ends, or ends it when its time is over. The terminal is for the command.
fn attend(
    (side, host): (Side, &Host),
    words: &[String],
    has_terminal: bool,
    is_over: impl Fn() -> bool,
) -> Result<ExitStatus, RunError> {
    let [program, arguments @ ..] = words else {
        return Err(RunError::Machine("there is no program to run".to_owned()));
    };
    let cannot = |error: std::io::Error| RunError::Machine(format!("cannot run `{program}`: {error}"));
    let mut command = Command::new(program);
    command.args(arguments).env(PEER, side.other().address().to_string());
    let mut process = Process::start(host, command, has_terminal).map_err(cannot)?;
    loop {
        if let Some(status) = process.check(is_over()).map_err(cannot)? {
            return Ok(status);
        }
        thread::sleep(PATIENCE);
    }
}
