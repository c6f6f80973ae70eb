#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]
//!
//! Where to look: `host.rs` makes the namespaces and `settings.rs` says what they are set to, `emulator.rs` carries the
//! packets, `traffic.rs` has the applications, `program.rs` runs programs in their place, `sampler.rs` asks the kernel,
//! `certificate.rs` judges. `bpf` loads our own algorithms into the kernel. Only `sys.rs` and `sys/bpf.rs` have unsafe code.

mod bpf;
mod certificate;
mod clock;
mod conversations;
mod emulator;
mod endpoints;
mod error;
mod header;
mod host;
mod kernel;
mod lateness;
mod limits;
mod meter;
mod netlink;
mod packet;
mod packet_log;
mod process;
mod program;
mod rights;
mod rootless;
mod sampler;
mod seen;
mod settings;
mod shell;
mod sys;
mod tables;
mod tcp_info;
mod traffic;
mod watch;

use clock::Clock;
use dumbbell_network::{start_of, start_stream};
use dumbbell_path::LinkRate;
use dumbbell_results::{Series, Table};
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};
use emulator::{Emulator, Ends, Traffic};
use endpoints::EndpointFlows;
use host::Host;
use program::ProgramFlows;
use rustix::fd::OwnedFd;
use sampler::{Sampled, Sampler};
use seen::Seen;
use settings::Settings;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use traffic::{Application, Promptness};

pub use certificate::{Certificate, FlowNotes, LibraryNotes, Notes};
pub use error::{BpfFault, FlowFault, ProgramFault, Role, RunError};
pub use program::{EndNotes, ProgramNotes};
pub use rootless::become_root_of_own_namespace;
pub use settings::{MAX_FLOWS, MAX_PROGRAMS, Sysctl};
pub use shell::{Programs, ShellOutput, shell};
pub use watch::{Progress, Watch};

/// Between the making of the namespaces and the start of the run: every thread is up by then.
const LEAD: Duration = Duration::from_millis(50);
/// How long a wish to stop may go unnoticed.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(20);
/// Up to this rate the threads of applications have real-time priority: they take a few per cent of a core. A real-time
/// thread that kept a core busy would be stopped by the kernel every now and then.
const LIGHT_BITS_PER_SEC: u64 = 200_000_000;
/// What the emulator and the threads of the kernel's flows need of a stack.
const STACK_BYTES: usize = 256 << 10;
/// What a library and its controller may need, which can be anybody's code.
const LIBRARY_STACK_BYTES: usize = 8 << 20;

/// What a run may take, and how it is stopped.
pub struct Bounds<'a> {
    /// Once it is set, the run ends with [`RunError::Cancelled`] soon.
    pub cancel: &'a AtomicBool,
    /// Bytes of memory for packets under way and samples.
    pub max_memory: u64,
    /// Whether the programs that flows name may run. They can do everything that whoever calls can.
    pub allows_programs: bool,
}

/// Everything one run produced.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// One row a flow.
    pub flows: Table,
    /// One row a flow and sample.
    pub series: Series,
    /// One row a link.
    pub links: Table,
    /// One row a link and sample.
    pub link_series: Series,
    /// Seed of the links' random streams and of the starts.
    pub seed: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// CPU seconds of the emulator.
    pub cpu_s: f64,
    /// Packets carried.
    pub events: u64,
    /// Data packets delivered to receivers.
    pub packets: u64,
    /// How good the run was.
    pub certificate: Certificate,
}

/// What the threads of a run share.
struct Shared {
    is_over: AtomicBool,
    promptness: Promptness,
    /// Memory that the samples of flows take.
    sampled_bytes: AtomicU64,
    flows: Vec<FlowShared>,
    /// Which links were full when they were sampled last.
    full_links: Vec<AtomicBool>,
}

impl Shared {
    fn new(flows: Vec<FlowShared>, links: usize) -> Shared {
        Shared {
            is_over: AtomicBool::new(false),
            promptness: Promptness::default(),
            sampled_bytes: AtomicU64::new(0),
            flows,
            full_links: (0..links).map(|_| AtomicBool::new(false)).collect(),
        }
    }
}

/// No instant.
const NOTHING: u64 = u64::MAX;

/// What they share of a flow.
struct FlowShared {
    /// Nanoseconds; when the connection attempt began.
    started_at: AtomicU64,
    is_established: AtomicBool,
    /// A program at either end has sent a packet.
    has_sent: AtomicBool,
    /// Nanoseconds; when the client of two programs had done its work.
    completed_at: AtomicU64,
    /// The application writes, and waits for room in the send buffer if there is none.
    is_writing: AtomicBool,
    /// Payload that the receiving application has read, or that has come to a program's host.
    delivered_bytes: AtomicU64,
    /// IP bytes of data packets that were handed to the receiving host.
    received_bytes: AtomicU64,
    /// Nanoseconds; since when the reader, who had read everything, has had something to read.
    readable_since: AtomicU64,
    /// The receiver's connection.
    accepted: Mutex<Option<OwnedFd>>,
}

impl FlowShared {
    fn new() -> FlowShared {
        FlowShared {
            started_at: AtomicU64::new(0),
            is_established: AtomicBool::new(false),
            has_sent: AtomicBool::new(false),
            completed_at: AtomicU64::new(NOTHING),
            is_writing: AtomicBool::new(false),
            delivered_bytes: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            readable_since: AtomicU64::new(NOTHING),
            accepted: Mutex::new(None),
        }
    }

    /// Bytes that have been delivered, and that have been received with their headers.
    fn counted(&self) -> (u64, u64) {
        (self.delivered_bytes.load(Ordering::Relaxed), self.received_bytes.load(Ordering::Relaxed))
    }
}

/// Runs a scenario on the kernel's TCP, and with the programs that its flows name, in real time. `sysctls` are set in
/// all namespaces, after those that follow from the scenario.
///
/// # Errors
/// The kernel cannot do what the scenario asks for, the machine forbids what is needed, a program may not run or has
/// failed, or the run was cancelled.
pub fn run(scenario: &Scenario, sysctls: &[Sysctl], bounds: &Bounds<'_>) -> Result<RunOutput, RunError> {
    run_watched(scenario, sysctls, bounds, &Watch::default())
}

/// [`run`], which others may look at through `watch` while it goes on.
///
/// # Errors
/// Those of [`run`].
pub fn run_watched(
    scenario: &Scenario,
    sysctls: &[Sysctl],
    bounds: &Bounds<'_>,
    watch: &Watch,
) -> Result<RunOutput, RunError> {
    check_consent(scenario, bounds)?;
    let settings = Settings::new(scenario, sysctls)?;
    let (own, reports) = bpf::OwnAlgorithms::load(scenario)?;
    let hosts = Host::pair(&settings, |side| own.kernel_names(scenario, side))?;
    let programs = ProgramFlows::new(scenario, &settings)?;
    let endpoints = EndpointFlows::new(scenario, &settings)?;
    let shared = Shared::new(scenario.flows.iter().map(|_| FlowShared::new()).collect(), scenario.links.len());
    let ground = Ground {
        scenario,
        settings: &settings,
        hosts: &hosts,
        programs: &programs,
        endpoints: &endpoints,
        shared: &shared,
    };
    let left = thread::scope(|scope| {
        // Servers end with the run, however it does.
        let _over = OnDrop(|| programs.stop());
        if programs.open(scope, bounds.cancel)? { ground.run(reports, bounds, watch) } else { Err(RunError::Cancelled) }
    });
    // What a program has done is why the rest has ended.
    if let Some(failure) = programs.failure().or_else(|| endpoints.failure()) {
        return Err(failure);
    }
    let Left { seen, sampled, counters, machine } = left?;
    programs.check_arrivals(|flow| seen.flows.get(flow).map_or(0, |flow| flow.total.arrived));
    if let Some(failure) = programs.failure() {
        return Err(failure);
    }
    let notes = sampled.total.iter().zip(&sampled.phases).enumerate();
    let notes = notes.map(|(flow, (snapshot, phases))| match (programs.notes(flow), endpoints.get(flow)) {
        (Some(notes), _) => Notes::Program(notes),
        (None, Some(_)) => Notes::Library(LibraryNotes { protocol: scenario.flows[flow].transport.protocol.name() }),
        (None, None) => Notes::Kernel(FlowNotes::of(&snapshot.info, phases.clone())),
    });
    let notes = notes.collect();
    let set = settings.sysctls.iter().map(|set| (set.name.clone(), set.value.clone())).collect();
    let certificate = Certificate::new(scenario, &seen, &shared.promptness, counters, set, notes, machine);
    Ok(tables::output(scenario, &shared, &endpoints, seen, sampled, certificate))
}

/// Refuses programs that nobody has allowed.
fn check_consent(scenario: &Scenario, bounds: &Bounds<'_>) -> Result<(), RunError> {
    let named = scenario.flows.iter().enumerate().find_map(|(flow, spec)| Some((flow, spec, spec.program.as_ref()?)));
    match named {
        Some((flow, spec, program)) if !bounds.allows_programs => Err(RunError::Consent {
            flow,
            label: spec.label.to_string(),
            server: program.server.to_string(),
            client: program.client.to_string(),
        }),
        Some(_) | None => Ok(()),
    }
}

/// Where a run takes place.
struct Ground<'a> {
    scenario: &'a Scenario,
    settings: &'a Settings,
    /// Those of the kernel's own flows.
    hosts: &'a [Host; 2],
    programs: &'a ProgramFlows<'a>,
    endpoints: &'a EndpointFlows<'a>,
    shared: &'a Shared,
}

/// What is left of a run.
struct Left {
    seen: Seen,
    sampled: Sampled,
    counters: certificate::Counters,
    machine: [Option<certificate::Machine>; 2],
}

impl Ground<'_> {
    /// Runs the flows, whose servers listen by now, to the end.
    fn run(&self, reports: Option<bpf::Reports>, bounds: &Bounds<'_>, watch: &Watch) -> Result<Left, RunError> {
        let Ground { scenario, settings, hosts, programs, endpoints, shared } = *self;
        let is_light = is_light(scenario);
        let machine_before = certificate::Machine::now();
        let clock = Clock::starting_in(LEAD);
        let ends = std::iter::once(Ends::new(hosts, Traffic::Flows)).chain(programs.ends()).chain(endpoints.ends());
        let ends = ends.collect();
        let emulator = Emulator::new(scenario, ends, settings.mtu, clock, shared, bounds.max_memory)?;
        let [senders, listeners] = [&hosts[0].sockets, &hosts[1].sockets];
        let sampler = Sampler::new(scenario, senders, endpoints, clock, shared, reports);
        thread::scope(|scope| {
            let named = |name: &str| thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
            let refused = |error: std::io::Error| RunError::Machine(format!("cannot start a thread: {error}"));
            // Whatever happens from here on, everybody is told to end.
            let _over = OnDrop(|| end(shared, senders, listeners));
            let emulator = named("emulator").spawn_scoped(scope, || emulator.run()).map_err(refused)?;
            let sampler = named("sampler").spawn_scoped(scope, || sampler.run()).map_err(refused)?;
            let mut starts = start_stream(scenario.seed);
            for (flow, spec) in scenario.flows.iter().enumerate() {
                let start = start_of(spec, &mut starts);
                if let Some(pair) = programs.get(flow) {
                    let client = move || programs.connect(pair, start, clock, shared);
                    named("client").spawn_scoped(scope, client).map_err(refused)?;
                }
                let application = Application {
                    start,
                    bytes: spec.bytes,
                    rate: spec.app_rate,
                    write: spec.app_write,
                    mss: spec.transport.mss,
                };
                if let Some(pair) = endpoints.get(flow) {
                    let reader = move || endpoints.receive(pair, clock, is_light, shared);
                    let large = |name| named(name).stack_size(LIBRARY_STACK_BYTES);
                    large("receiver").spawn_scoped(scope, reader).map_err(refused)?;
                    let writer = move || endpoints.send(pair, application, clock, is_light, shared);
                    large("sender").spawn_scoped(scope, writer).map_err(refused)?;
                }
                let (Some(socket), Some(listener)) = (&senders[flow], &listeners[flow]) else { continue };
                let reader = move || traffic::receive_all(flow, listener, clock, is_light, shared);
                named("receiver").spawn_scoped(scope, reader).map_err(refused)?;
                let writer = move || traffic::send_all(flow, socket, application, clock, is_light, shared);
                named("sender").spawn_scoped(scope, writer).map_err(refused)?;
            }
            let note = |now| watch.note(now, scenario.duration, &shared.flows);
            let has_failed = || emulator.is_finished() || programs.has_failed() || endpoints.has_failed();
            if !attend(scenario, senders, clock, bounds, note, has_failed) {
                return Err(RunError::Cancelled);
            }
            if has_failed() {
                // There is nothing more to sample.
                shared.is_over.store(true, Ordering::Relaxed);
            }
            let failed = |who: &str| RunError::Machine(format!("the {who} has failed"));
            let sampled = sampler.join().map_err(|_| failed("sampler"))?;
            shared.is_over.store(true, Ordering::Relaxed);
            let seen = emulator.join().map_err(|_| failed("emulator"))??;
            let counters =
                certificate::Counters::of(std::iter::once(hosts).chain(programs.hosts()).chain(endpoints.hosts()));
            Ok(Left { seen, sampled, counters, machine: [machine_before, certificate::Machine::now()] })
        })
    }
}

/// Whether the flows' traffic leaves every core mostly idle, because links on their ways bound it.
fn is_light(scenario: &Scenario) -> bool {
    let bound = |flow: &dumbbell_scenario::Flow| {
        let rates = flow.forward.iter().map(|&link| match &scenario.links[link].config.rate {
            LinkRate::Unlimited => u64::MAX,
            LinkRate::Constant(rate) => *rate,
            LinkRate::Schedule { steps, .. } => steps.iter().map(|step| step.1).max().unwrap_or(0),
            // Nobody records cellular links that are faster.
            LinkRate::Trace { .. } => LIGHT_BITS_PER_SEC / 2,
        });
        rates.min().unwrap_or(u64::MAX)
    };
    scenario.flows.iter().map(bound).fold(0, u64::saturating_add) <= LIGHT_BITS_PER_SEC
}

/// Waits for the end of the run, notes now and then how far it is, and stops applications whose time has come. False if
/// the run was cancelled.
fn attend(
    scenario: &Scenario,
    senders: &[Option<OwnedFd>],
    clock: Clock,
    bounds: &Bounds<'_>,
    note: impl Fn(Time),
    has_failed: impl Fn() -> bool,
) -> bool {
    let stops = scenario.flows.iter().enumerate().filter_map(|(flow, spec)| Some((spec.stop?, flow)));
    let mut stops: Vec<(Time, usize)> = stops.collect();
    stops.sort_unstable();
    let mut stops = stops.into_iter().peekable();
    let end = Time::ZERO + scenario.duration;
    loop {
        let now = clock.now();
        note(now);
        while let Some((_, flow)) = stops.next_if(|(stop, _)| *stop <= now) {
            // A program has somebody else who stops it.
            senders[flow].iter().for_each(traffic::stop_writing);
        }
        if now >= end || has_failed() {
            return true;
        }
        if bounds.cancel.load(Ordering::Relaxed) {
            return false;
        }
        let next = stops.peek().map_or(end, |(stop, _)| end.min(*stop));
        thread::sleep(std::time::Duration::from_nanos(clock.until(next).as_nanos()).min(PATIENCE));
    }
}

/// Tells all threads of a run that it is over.
fn end(shared: &Shared, senders: &[Option<OwnedFd>], listeners: &[Option<OwnedFd>]) {
    shared.is_over.store(true, Ordering::Relaxed);
    senders.iter().chain(listeners).flatten().for_each(traffic::wake);
    for flow in &shared.flows {
        if let Ok(mut accepted) = flow.accepted.lock()
            && let Some(connection) = accepted.take()
        {
            traffic::wake(connection);
        }
    }
}

/// What a mutex holds, also where a thread has failed with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something when it goes out of scope.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
