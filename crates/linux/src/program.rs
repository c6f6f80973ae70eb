//! The programs of flows: a server that listens before the run begins, and a client that begins at its time.
//!
//! Each end of such a flow has a host to itself, so that everything that comes from there is the flow's, whatever ports
//! and protocols the programs take. A thread attends to each program: it starts it, keeps the last of what it says, and
//! ends it. A program ends with its thread, and all that it has started ends with it.

use crate::clock::Clock;
use crate::emulator::{Ends, Traffic};
use crate::error::{ProgramFault, Role};
use crate::host::{Host, Side, place};
use crate::process::Process;
use crate::settings::Settings;
use crate::{FlowShared, PATIENCE, RunError, Shared, locked};
use dumbbell_scenario::{CommandLine, Flow, Placeholder, Program, Scenario};
use dumbbell_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, read};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take until it listens, and a client until it has sent something.
const READY: Duration = Duration::from_secs(20);
/// How much is kept of what a program says.
const KEPT_BYTES: usize = 4_096;
const KEPT_LINES: usize = 12;
/// How often somebody looks whether a program has ended that says nothing more.
const ENDING: Duration = Duration::from_millis(2);
/// Two programs end together if one is noticed so soon after the other.
const ENDING_TOGETHER: Duration = Duration::from_millis(250);
/// Where a namespace says what its TCP sockets begin with.
const DEFAULT_ALGORITHM: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// The state of a TCP socket that listens, in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// A flow of two programs.
pub struct ProgramFlow<'a> {
    number: usize,
    spec: &'a Flow,
    program: &'a Program,
    hosts: [Host; 2],
    listens: AtomicBool,
    /// The client has ended or was ended: what becomes of the server does not matter any more.
    is_done: AtomicBool,
    /// The programs have to end.
    is_stopped: AtomicBool,
    notes: Mutex<ProgramNotes>,
}

/// What is known of the two programs of a flow when the run is over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramNotes {
    /// The one that listened.
    pub server: EndNotes,
    /// The one that connected.
    pub client: EndNotes,
    /// The algorithm of their TCP sockets where they do not choose another.
    pub default_algorithm: String,
}

/// What is known of a program when the run is over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EndNotes {
    /// Its words, with all placeholders filled in.
    pub command: Vec<String>,
    /// The exit status that it chose, or 128 and the number of the signal that ended it; null if the run ended it.
    pub status: Option<i32>,
    /// CPU time that it took, with all that it has started.
    pub cpu_s: f64,
    /// The last lines that it wrote to standard output and standard error.
    pub said: Vec<String>,
}

/// All flows of a run that are programs.
pub struct ProgramFlows<'a> {
    flows: Vec<ProgramFlow<'a>>,
    failure: Mutex<Option<(usize, ProgramFault)>>,
}

impl<'a> ProgramFlows<'a> {
    /// Makes their hosts.
    pub fn new(scenario: &'a Scenario, settings: &Settings) -> Result<ProgramFlows<'a>, RunError> {
        let named = scenario.flows.iter().enumerate();
        let named = named.filter_map(|(number, spec)| Some((number, spec, spec.program.as_deref()?)));
        let flows = named.map(|(number, spec, program)| {
            Ok(ProgramFlow {
                number,
                spec,
                program,
                hosts: Host::pair(settings, |_| Vec::new())?,
                listens: AtomicBool::new(false),
                is_done: AtomicBool::new(false),
                is_stopped: AtomicBool::new(false),
                notes: Mutex::default(),
            })
        });
        Ok(ProgramFlows { flows: flows.collect::<Result<_, RunError>>()?, failure: Mutex::new(None) })
    }

    /// Their hosts, for the emulator.
    pub fn ends(&self) -> impl Iterator<Item = Ends<'_>> {
        let number = |flow: &ProgramFlow<'_>| u32::try_from(flow.number).unwrap_or(u32::MAX);
        self.flows.iter().map(move |flow| Ends::new(&flow.hosts, Traffic::Programs(number(flow))))
    }

    /// Their hosts, in pairs.
    pub fn hosts(&self) -> impl Iterator<Item = &[Host; 2]> {
        self.flows.iter().map(|flow| &flow.hosts)
    }

    /// The flow with this number, if it is one of them.
    pub fn get(&self, number: usize) -> Option<&ProgramFlow<'a>> {
        self.flows.iter().find(|flow| flow.number == number)
    }

    /// Starts all servers, each with a thread of `scope`, and waits until they listen. False if the caller cancelled or
    /// one of them failed.
    pub fn open<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        cancel: &AtomicBool,
    ) -> Result<bool, RunError> {
        for flow in &self.flows {
            let server = thread::Builder::new().name("server".to_owned());
            let refused = |error| RunError::Machine(format!("cannot start a thread: {error}"));
            server.spawn_scoped(scope, || self.serve(flow)).map_err(refused)?;
        }
        while !self.flows.iter().all(|flow| flow.listens.load(Ordering::Acquire)) {
            if self.has_failed() || cancel.load(Ordering::Relaxed) {
                return Ok(false);
            }
            thread::sleep(PATIENCE);
        }
        Ok(true)
    }

    /// Has all programs end.
    pub fn stop(&self) {
        self.flows.iter().for_each(|flow| flow.is_stopped.store(true, Ordering::Relaxed));
    }

    /// Whether a program has not done what it should.
    pub fn has_failed(&self) -> bool {
        locked(&self.failure).is_some()
    }

    /// What a program has done instead, with the last of what both have said: to be asked when all have ended.
    pub fn failure(&self) -> Option<RunError> {
        let (number, fault) = locked(&self.failure).take()?;
        let flow = self.get(number)?;
        let notes = locked(&flow.notes).clone();
        let said =
            [(Role::Client, notes.client, &flow.program.client), (Role::Server, notes.server, &flow.program.server)];
        let said = said.map(|(role, notes, line)| last_words(role, line, &notes)).concat();
        Some(RunError::Program { flow: number, label: flow.spec.label.to_string(), fault, said })
    }

    fn fail(&self, flow: &ProgramFlow<'_>, fault: ProgramFault) {
        locked(&self.failure).get_or_insert((flow.number, fault));
    }

    /// Runs the server of a flow until it ends.
    fn serve(&self, flow: &ProgramFlow<'_>) {
        let mut end = match End::start(flow, Role::Server) {
            Ok(end) => end,
            Err(error) => return self.fail(flow, error),
        };
        // That of the machine, unless somebody has set it; this thread is at one of their hosts.
        let algorithm = fs::read_to_string(DEFAULT_ALGORITHM).unwrap_or_default();
        locked(&flow.notes).default_algorithm = algorithm.trim().to_owned();
        let port = flow.program.server.has(Placeholder::Port).then(|| flow.port());
        let begin = Instant::now();
        loop {
            match end.attend(flow.is_stopped.load(Ordering::Relaxed)) {
                Ok(None) => {}
                Ok(Some(status)) => {
                    let listens = flow.listens.load(Ordering::Relaxed);
                    let may_end = listens && (status.success() || flow.client_ends_too());
                    if !end.was_stopped() && !may_end {
                        self.fail(flow, ProgramFault::Ended { role: Role::Server, status, listens });
                    }
                    return;
                }
                Err(error) => return self.fail(flow, error),
            }
            if !flow.listens.load(Ordering::Relaxed) {
                if listens(port) {
                    flow.listens.store(true, Ordering::Release);
                } else if begin.elapsed() > READY {
                    self.fail(flow, ProgramFault::DoesNotListen { port, waited: READY });
                }
            }
        }
    }

    /// Runs the client of a flow from `start` until it ends, or its time is over.
    pub fn connect(&self, flow: &ProgramFlow<'_>, start: Time, clock: Clock, shared: &Shared) {
        let state = &shared.flows[flow.number];
        if !clock.sleep_until(start, &shared.is_over) {
            return;
        }
        state.started_at.store(clock.now().as_nanos(), Ordering::Relaxed);
        state.is_established.store(true, Ordering::Release);
        if let Err(fault) = self.attend_client(flow, clock, (shared, state)) {
            self.fail(flow, fault);
        }
        flow.is_done.store(true, Ordering::Release);
    }

    fn attend_client(
        &self,
        flow: &ProgramFlow<'_>,
        clock: Clock,
        (shared, state): (&Shared, &FlowShared),
    ) -> Result<(), ProgramFault> {
        let mut end = End::start(flow, Role::Client)?;
        let begin = Instant::now();
        let mut is_silent = true;
        loop {
            let stops = flow.spec.stop.is_some_and(|stop| stop <= clock.now());
            let is_over = stops || shared.is_over.load(Ordering::Relaxed) || self.has_failed();
            if is_over {
                flow.is_done.store(true, Ordering::Release);
            }
            if stops {
                flow.is_stopped.store(true, Ordering::Relaxed);
            }
            if let Some(status) = end.attend(is_over)? {
                if end.was_stopped() {
                    return Ok(());
                }
                if !status.success() {
                    return Err(ProgramFault::Ended { role: Role::Client, status, listens: true });
                }
                state.completed_at.store(clock.now().as_nanos(), Ordering::Relaxed);
                return Ok(());
            }
            is_silent = is_silent && !state.has_sent.load(Ordering::Relaxed);
            if is_silent && begin.elapsed() > READY {
                self.fail(flow, ProgramFault::Silent { waited: READY });
            }
        }
    }

    /// Notes the flows of which nothing has arrived.
    pub fn check_arrivals(&self, arrived: impl Fn(usize) -> u64) {
        for flow in self.flows.iter().filter(|flow| arrived(flow.number) == 0) {
            self.fail(flow, ProgramFault::NothingArrived);
        }
    }

    /// What is known of the programs of a flow when they have ended.
    pub fn notes(&self, number: usize) -> Option<ProgramNotes> {
        self.get(number).map(|flow| locked(&flow.notes).clone())
    }
}

impl ProgramFlow<'_> {
    fn side(&self, role: Role) -> Side {
        if (role == Role::Server) == self.program.is_download { Side::Sender } else { Side::Receiver }
    }

    /// Whether the client is done, or is about to be: who ends first may be noticed last.
    fn client_ends_too(&self) -> bool {
        let begin = Instant::now();
        while !self.is_done.load(Ordering::Acquire) {
            if begin.elapsed() > ENDING_TOGETHER {
                return false;
            }
            thread::sleep(ENDING);
        }
        true
    }

    fn port(&self) -> u16 {
        place(Side::Sender, self.number).port()
    }

    fn words(&self, role: Role) -> Vec<String> {
        let line = match role {
            Role::Server => &self.program.server,
            Role::Client => &self.program.client,
        };
        line.words(|placeholder| match placeholder {
            Placeholder::Server => self.side(Role::Server).address().to_string(),
            Placeholder::Client => self.side(Role::Client).address().to_string(),
            Placeholder::Port => self.port().to_string(),
        })
    }
}

/// A program while it runs.
struct End<'f> {
    role: Role,
    process: Process,
    /// Where it writes to; nothing when nobody can write there any more.
    pipe: Option<OwnedFd>,
    said: VecDeque<u8>,
    notes: &'f Mutex<ProgramNotes>,
}

impl<'f> End<'f> {
    fn start(flow: &'f ProgramFlow<'_>, role: Role) -> Result<End<'f>, ProgramFault> {
        let words = flow.words(role);
        let cannot = |error: io::Error| ProgramFault::Start { role, program: words[0].clone(), error };
        let (pipe, writes) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| cannot(errno.into()))?;
        fcntl_setfl(&pipe, OFlags::NONBLOCK).map_err(|errno| cannot(errno.into()))?;
        let mut command = Command::new(&words[0]);
        let errors = writes.try_clone().map_err(cannot)?;
        command.args(&words[1..]).stdout(writes).stderr(errors);
        let process = Process::start(&flow.hosts[flow.side(role) as usize], command, false).map_err(cannot)?;
        let end = End { role, process, pipe: Some(pipe), said: VecDeque::new(), notes: &flow.notes };
        end.note(|notes| notes.command = words);
        Ok(end)
    }

    /// Listens to the program for a while. Returns how it has ended, if it has; once `is_over`, it has to.
    fn attend(&mut self, is_over: bool) -> Result<Option<ExitStatus>, ProgramFault> {
        self.listen();
        let lost = |error| ProgramFault::Lost { role: self.role, error };
        let Some(status) = self.process.check(is_over).map_err(lost)? else { return Ok(None) };
        // What it wrote last.
        self.take();
        let (cpu_s, said, was_stopped) = (self.process.cpu().as_secs_f64(), self.lines(), self.was_stopped());
        self.note(|notes| {
            notes.status = (!was_stopped).then(|| code(status));
            (notes.cpu_s, notes.said) = (cpu_s, said);
        });
        Ok(Some(status))
    }

    fn was_stopped(&self) -> bool {
        self.process.was_asked()
    }

    fn note(&self, write: impl FnOnce(&mut EndNotes)) {
        let mut notes = locked(self.notes);
        write(match self.role {
            Role::Server => &mut notes.server,
            Role::Client => &mut notes.client,
        });
    }

    /// Waits until the program says something, closes its output as by its end, or a while is over.
    fn listen(&mut self) {
        let Some(pipe) = &self.pipe else { return thread::sleep(ENDING) };
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(PATIENCE.subsec_nanos()) };
        // An interrupted sleep is only shorter.
        let _ = poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&timeout));
        self.take();
    }

    /// Takes what the program has said, a pipe's worth at most, and keeps the last of it.
    fn take(&mut self) {
        let mut buffer = [0; KEPT_BYTES];
        for _ in 0..16 {
            let Some(pipe) = &self.pipe else { return };
            match read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(length) => {
                    self.said.extend(&buffer[..length]);
                    self.said.drain(..self.said.len().saturating_sub(KEPT_BYTES));
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The last lines of what it has said.
    fn lines(&mut self) -> Vec<String> {
        let text = String::from_utf8_lossy(self.said.make_contiguous()).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(KEPT_LINES)..].iter().map(|&line| line.to_owned()).collect()
    }
}

/// The exit status as a shell tells it.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// A paragraph with the last of what a program has said.
fn last_words(role: Role, line: &CommandLine, notes: &EndNotes) -> String {
    let said = notes.said.iter().map(|line| format!("\n    {line}")).collect::<String>();
    let verb = match (notes.command.is_empty(), said.is_empty()) {
        (true, _) => "was not started",
        (false, true) => "said nothing",
        (false, false) => "said at last:",
    };
    format!("\n  the {role} `{line}` {verb}{said}")
}

/// Whether a program of the calling thread's host listens at this port of TCP or UDP, or at any.
fn listens(port: Option<u16>) -> bool {
    let sockets = |protocol: &str| fs::read_to_string(format!("/proc/thread-self/net/{protocol}")).unwrap_or_default();
    let is_there = |protocol: &str, state: Option<&str>| has_socket(&sockets(protocol), port, state);
    ["tcp", "tcp6"].iter().any(|protocol| is_there(protocol, Some(LISTENS)))
        || ["udp", "udp6"].iter().any(|protocol| is_there(protocol, None))
}

/// Whether there is a socket at this port, in this state, in the text of `/proc/net/tcp` or of one like it.
fn has_socket(text: &str, port: Option<u16>, state: Option<&str>) -> bool {
    text.lines().skip(1).any(|line| {
        // Number, local address and port, the other end, state.
        let mut words = line.split_whitespace().skip(1);
        let own = words.next().and_then(|local| u16::from_str_radix(local.rsplit(':').next()?, 16).ok());
        let shown = words.nth(1);
        port.is_none_or(|port| own == Some(port)) && state.is_none_or(|state| shown == Some(state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_by_its_port_and_its_state() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
            0: 0100000A:2710 00000000:0000 0A 00000000:00000000\n   1: 0100000A:0050 0200000A:1F90 01 0:0\n";
        assert!(has_socket(text, Some(10_000), Some(LISTENS)) && has_socket(text, None, Some(LISTENS)));
        assert!(!has_socket(text, Some(80), Some(LISTENS)), "it is connected");
        assert!(has_socket(text, Some(80), None) && !has_socket(text, Some(81), None));
        let nothing = text.lines().next().unwrap_or_default();
        assert!(!has_socket(nothing, None, None) && !has_socket("", None, None));
    }
}
