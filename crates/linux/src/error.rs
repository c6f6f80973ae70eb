//! Why there is no result.

use dumbbell_network::FailedConnection;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The caller asked to stop.
    #[error("interrupted")]
    Cancelled,
    /// There is nothing to run; validation should have caught it.
    #[error("there are no flows")]
    NoFlows,
    /// Flows that come and go.
    #[error(
        "`[[traffic]]` ({0}) does not run on this machine's own TCP\n  help: use the simulator, or [[flows]] with `bytes` and `start`"
    )]
    Traffic(String),
    /// More flows than one machine can measure.
    #[error(
        "{0} flows are too many for this machine's own TCP\n  help: allowed with --on linux: at most {max}; or use the simulator",
        max = crate::settings::MAX_FLOWS
    )]
    TooManyFlows(usize),
    /// A flow asks for what the kernel cannot do.
    #[error(
        "flow {flow} ({cc}): {fault}\n  help: {help}",
        help = fault.help()
    )]
    Flow {
        /// Number of the flow, from 0.
        flow: usize,
        /// Its algorithm.
        cc: String,
        /// What it is.
        fault: FlowFault,
    },
    /// A flow is two programs, and nobody has said that they may run.
    #[error(
        "flow {flow} ({label}) runs two programs, which can do everything that you can:\n  server: {server}\n  client: {client}\n  help: read them, then give --allow-programs, in Python on=dumbbell.Linux(allow_programs=True)"
    )]
    Consent {
        /// Number of the flow, from 0.
        flow: usize,
        /// Its label.
        label: String,
        /// Command line of the server.
        server: String,
        /// Command line of the client.
        client: String,
    },
    /// More flows of programs than one machine can run.
    #[error(
        "{0} flows of programs are too many\n  help: allowed with --on linux: at most {max}",
        max = crate::settings::MAX_PROGRAMS
    )]
    TooManyPrograms(usize),
    /// A program of a flow has not done what it should.
    #[error("flow {flow} ({label}): {fault}{said}")]
    Program {
        /// Number of the flow, from 0.
        flow: usize,
        /// Its label.
        label: String,
        /// What it has done instead.
        fault: ProgramFault,
        /// The last of what its programs have said, in lines.
        said: String,
    },
    /// The connection of a flow whose ends are a library's could not go on.
    #[error(transparent)]
    Connection(#[from] FailedConnection),
    /// A sysctl cannot be set.
    #[error("{0}")]
    Sysctl(String),
    /// No network namespace can be made.
    #[error(
        "cannot make a network namespace: {0}\n  help: run as root, or where user namespaces are allowed to everybody"
    )]
    Namespace(String),
    /// No TUN device can be made.
    #[error(
        "cannot make a TUN device of {tun}: {0}\n  help: {tun} has to exist and be writable: as root `modprobe tun`, `chmod 0666 {tun}`, or run as root",
        tun = crate::host::TUN
    )]
    Tun(String),
    /// Something else that a working machine does is not possible on this one.
    #[error("{0}")]
    Machine(String),
    /// The run would need more memory than it may take.
    #[error(
        "the run would need {needed} bytes of memory; it may take {limit}\n  help: a smaller `buffer`, a longer `record.interval`; or more memory: --max-memory, in Python `max_memory`"
    )]
    Memory {
        /// Bytes that it would need.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
    },
    /// A way cannot be taken; validation should have caught it.
    #[error(transparent)]
    Way(#[from] dumbbell_network::WayError),
}

/// Which of a flow's two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that listens.
    Server,
    /// The one that connects.
    Client,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Server => "server",
            Role::Client => "client",
        })
    }
}

/// What a program has done in place of its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgramFault {
    /// It does not start.
    #[error("the {role} cannot be started: `{program}`: {error}")]
    Start {
        /// Which program.
        role: Role,
        /// Its first word.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// Nobody can tell any more what it does.
    #[error("the {role} is lost: {error}")]
    Lost {
        /// Which program.
        role: Role,
        /// Why.
        error: io::Error,
    },
    /// The server does not listen in time.
    #[error("the server does not listen{place} after {waited:?}", place = at_port(*.port))]
    DoesNotListen {
        /// Where it should, if its command line names it.
        port: Option<u16>,
        /// How long it had.
        waited: Duration,
    },
    /// It has ended too early, or with an error.
    #[error("the {role} ended {how}{early}", how = in_words(*.status), early = if *.listens { "" } else { " before it listened" })]
    Ended {
        /// Which program.
        role: Role,
        /// How.
        status: ExitStatus,
        /// Whether the server had begun to listen.
        listens: bool,
    },
    /// The client sends nothing.
    #[error("the client has sent nothing for {waited:?}")]
    Silent {
        /// How long it had.
        waited: Duration,
    },
    /// Nothing has come to the end that receives.
    #[error("no data has reached the end that receives before the run was over")]
    NothingArrived,
}

fn at_port(port: Option<u16>) -> String {
    port.map_or_else(String::new, |port| format!(" at port {port}"))
}

/// How a program has ended.
fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}

/// What a flow asks for that the kernel cannot do.
#[derive(Debug)]
pub enum FlowFault {
    /// Another protocol than TCP.
    NotTcp,
    /// The kernel has no such algorithm.
    UnknownAlgorithm {
        /// Those that it has.
        available: String,
    },
    /// The kernel keeps it for the administrator.
    ForbiddenAlgorithm,
    /// Our own program for the kernel cannot be used.
    Bpf(BpfFault),
    /// An algorithm that is not in the kernel, but in a file of the user's.
    OwnAlgorithm,
    /// A parameter of the algorithm.
    Parameter(String),
    /// An application whose rate changes.
    ChangingRate,
    /// An application with several streams.
    Streams,
    /// A receiving application that reads at a rate.
    SlowReader,
    /// A parameter of the endpoints.
    Transport(String),
    /// Another loss detection than RACK, which newer kernels do not have.
    LossDetection,
    /// A parameter of the endpoints that another flow has otherwise.
    DifferentTransport(String),
    /// A rule of receivers that another version of Linux has.
    ReceiverRule {
        /// The parameter of the endpoints.
        key: &'static str,
        /// What the file says.
        asked: String,
    },
    /// Another clock than the kernel's.
    Hz {
        /// What the file says.
        asked: u32,
        /// What the kernel has.
        running: u64,
    },
}

/// Why the kernel does not take a program.
#[derive(Debug)]
pub enum BpfFault {
    /// These capabilities are missing; none if they are there in a user namespace only.
    Capability(Vec<&'static str>),
    /// The kernel takes no programs of this kind.
    Kernel(String),
    /// It does, but not this one.
    Refused(String),
}

impl FlowFault {
    /// The error of this fault in a flow.
    pub(crate) fn of(self, flow: usize, cc: &str) -> RunError {
        RunError::Flow { flow, cc: cc.to_owned(), fault: self }
    }

    fn help(&self) -> String {
        match self {
            FlowFault::NotTcp => {
                "the kernel's own transport is TCP; remove `transport`, or use the simulator".to_owned()
            }
            FlowFault::UnknownAlgorithm { available } => format!("it has {available}; or use the simulator"),
            FlowFault::ForbiddenAlgorithm => {
                "run as root, or add it to net.ipv4.tcp_allowed_congestion_control".to_owned()
            }
            FlowFault::Bpf(BpfFault::Capability(_)) => "run as root, or use the simulator".to_owned(),
            FlowFault::Bpf(BpfFault::Kernel(_) | BpfFault::Refused(_)) => {
                "it has to be Linux 6.10 or later with CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF; or use the simulator"
                    .to_owned()
            }
            FlowFault::OwnAlgorithm => "use the simulator, or an algorithm that the kernel has".to_owned(),
            FlowFault::Parameter(key) => format!("remove `{key}`, or use the simulator"),
            FlowFault::Streams => "remove `streams`, or use the simulator".to_owned(),
            FlowFault::SlowReader => "remove `read_rate`, or use the simulator".to_owned(),
            FlowFault::ChangingRate => "give a constant `rate`, or use the simulator".to_owned(),
            FlowFault::Transport(key) => format!("remove `{key}`, or use the simulator"),
            FlowFault::LossDetection => "remove `loss_detection`, or use the simulator".to_owned(),
            FlowFault::DifferentTransport(key) => format!("give all flows the same `{key}`, or use the simulator"),
            FlowFault::Hz { running, .. } => format!("remove `hz`, or set it to {running}"),
            FlowFault::ReceiverRule { key, .. } => format!("remove `{key}`, or use the simulator"),
        }
    }
}

impl fmt::Display for FlowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowFault::NotTcp => write!(f, "`transport` is not TCP"),
            FlowFault::UnknownAlgorithm { .. } => write!(f, "`cc`: the running kernel has no such algorithm"),
            FlowFault::ForbiddenAlgorithm => {
                write!(f, "`cc`: the running kernel keeps this algorithm for the administrator")
            }
            FlowFault::Bpf(BpfFault::Capability(missing)) if missing.is_empty() => {
                write!(
                    f,
                    "`cc`: loading a program into the kernel needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN of the machine itself, not of a user namespace"
                )
            }
            FlowFault::Bpf(BpfFault::Capability(missing)) => {
                write!(f, "`cc`: loading a program into the kernel needs {}", missing.join(", "))
            }
            FlowFault::Bpf(BpfFault::Kernel(why)) => {
                write!(f, "`cc`: the running kernel takes no programs for congestion control: {why}")
            }
            FlowFault::Bpf(BpfFault::Refused(why)) => {
                write!(f, "`cc`: the running kernel does not take the program: {why}")
            }
            FlowFault::OwnAlgorithm => {
                write!(f, "`cc`: an algorithm from a file of your own cannot run in the kernel")
            }
            FlowFault::Parameter(key) => write!(f, "`cc.{key}` cannot be set in the running kernel"),
            FlowFault::Streams => {
                write!(f, "`streams` is given, but nobody looks at single segments in the running kernel")
            }
            FlowFault::SlowReader => {
                write!(f, "`read_rate` is given, but receivers on the running kernel read at once")
            }
            FlowFault::ChangingRate => write!(f, "`rate` changes, which applications on the running kernel cannot do"),
            FlowFault::Transport(key) => write!(f, "`transport.{key}` cannot be set in the running kernel"),
            FlowFault::LossDetection => {
                write!(f, "`transport.loss_detection` is \"dupthresh\", and Linux has RACK alone since 6.17")
            }
            FlowFault::DifferentTransport(key) => {
                write!(f, "`transport.{key}` differs from that of flow 0, and holds for a whole host")
            }
            FlowFault::ReceiverRule { key, asked } => {
                write!(f, "`transport.{key}` is {asked}, and the running kernel has another rule")
            }
            FlowFault::Hz { asked, running } => {
                write!(f, "`transport.hz` is {asked}, and the running kernel ticks {running} times a second")
            }
        }
    }
}
