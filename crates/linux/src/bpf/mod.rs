//! Our own algorithms in the kernel: programs for its struct_ops (`crates/linux/bpf`), registered for as long as a run
//! lasts.
//!
//! They are ready-made objects, adapted to the running kernel when they are loaded. What is registered ends with the
//! descriptor of its link, and so with the process, however that ends; sockets that still use it keep it alive until
//! they are closed.

mod kernel_types;
mod reports;

pub use reports::{Report, Reports, VALUES};

use crate::error::BpfFault;
use crate::host::Side;
use crate::kernel::version;
use crate::{FlowFault, RunError, sys};
use aya_obj::Object;
use aya_obj::btf::{Btf, BtfType, Int, IntEncoding};
use dumbbell_scenario::{Flow, Scenario};
use kernel_types::Structure;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::HashSet;
use std::fs;
use std::io;

/// The kernel's description of its own types.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Since this release the kernel hands `cong_control` what our programs read.
const OLDEST: (u32, u32) = (6, 10);
/// The kernel's longest name of an algorithm (`TCP_CA_NAME_MAX`, with a zero at the end).
const LONGEST_NAME: usize = 15;
/// The kernel's structures: what an algorithm consists of, and the same as a map of struct_ops holds it.
const OPERATIONS: &str = "tcp_congestion_ops";
const REGISTERED: &str = "bpf_struct_ops_tcp_congestion_ops";
/// What governs a connection that sends no data; every kernel has it.
const IDLE_ALGORITHM: &str = "reno";
/// Room for what the kernel says against a program.
const LOG_BYTES: usize = 1 << 20;

/// The object of an algorithm.
fn object(algorithm: &str) -> Option<&'static [u8]> {
    Some(match algorithm {
        "bbr-acd" => aya::include_bytes_aligned!("../../bpf/bbr-acd.bpf.o"),
        "bbrplus" => aya::include_bytes_aligned!("../../bpf/bbrplus.bpf.o"),
        "scalable" => aya::include_bytes_aligned!("../../bpf/scalable.bpf.o"),
        _ => return None,
    })
}

/// Whether a program reports its state.
pub fn reports_state(flow: &Flow) -> bool {
    flow.is_bpf && flow.cc.name() != "scalable"
}

/// The algorithms that a run has registered.
#[derive(Default)]
pub struct OwnAlgorithms {
    registered: Vec<Registered>,
}

struct Registered {
    algorithm: String,
    /// What the kernel knows it as.
    name: String,
    _link: OwnedFd,
}

impl OwnAlgorithms {
    /// Registers what the flows of a scenario need, and opens what they report through.
    pub fn load(scenario: &Scenario) -> Result<(OwnAlgorithms, Option<Reports>), RunError> {
        let mut programs = OwnAlgorithms::default();
        let mut loader = None;
        for (number, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.is_bpf) {
            let algorithm = flow.cc.name();
            if programs.registered.iter().any(|registered| registered.algorithm == algorithm) {
                continue;
            }
            let fault = |fault| FlowFault::Bpf(fault).of(number, algorithm);
            let loader = match &loader {
                Some(loader) => loader,
                None => loader.insert(Loader::new(scenario.flows.len()).map_err(fault)?),
            };
            programs.registered.push(loader.register(algorithm).map_err(fault)?);
        }
        Ok((programs, loader.map(|loader| loader.reports)))
    }

    /// What the kernel knows the algorithm of each flow as, at one side; nothing of flows that are programs. Receivers
    /// do without ours, so that only senders report.
    pub fn kernel_names<'a>(&'a self, scenario: &'a Scenario, side: Side) -> Vec<Option<&'a str>> {
        let name = |flow: &'a Flow| {
            if flow.program.is_some() || !flow.transport.protocol.is_tcp() {
                return None;
            }
            let name = flow.cc.name();
            let own = self.registered.iter().find(|registered| flow.is_bpf && registered.algorithm == name);
            Some(match (own, side) {
                (None, _) => name,
                (Some(_), Side::Receiver) => IDLE_ALGORITHM,
                (Some(registered), Side::Sender) => &registered.name,
            })
        };
        scenario.flows.iter().map(name).collect()
    }
}

/// What the algorithms of a run have in common.
struct Loader {
    kernel: Btf,
    operations: Structure,
    registered: Structure,
    /// Types of our own, which a map has to come with.
    types: OwnedFd,
    reports: Reports,
}

impl Loader {
    fn new(flows: usize) -> Result<Loader, BpfFault> {
        if version().is_some_and(|version| version < OLDEST) {
            let (major, minor) = OLDEST;
            return Err(BpfFault::Kernel(format!("it is older than {major}.{minor}")));
        }
        let types = fs::read(KERNEL_TYPES).map_err(|error| BpfFault::Kernel(format!("{KERNEL_TYPES}: {error}")))?;
        let unknown = || BpfFault::Kernel(format!("{KERNEL_TYPES} does not describe what is needed"));
        let kernel = Btf::parse(&types, Default::default()).map_err(|_| unknown())?;
        let [operations, registered] =
            kernel_types::structures(&types, [OPERATIONS, REGISTERED]).ok_or_else(unknown)?;
        let mut own = Btf::new();
        let name = own.add_string("int");
        own.add_type(BtfType::Int(Int::new(name, 4, IntEncoding::Signed, 0)));
        let types = sys::bpf::load_types(&own.to_bytes()).map_err(|error| fault("hand over types", &error))?;
        let reports = Reports::new(flows).map_err(|error| fault("make a ring buffer", &error))?;
        Ok(Loader { kernel, operations, registered, types, reports })
    }

    /// Loads an algorithm and registers it under a name that is free.
    fn register(&self, algorithm: &str) -> Result<Registered, BpfFault> {
        let broken = |what: String| BpfFault::Refused(format!("the object of {algorithm} does not fit it: {what}"));
        let object = self.adapted(algorithm).map_err(broken)?;
        let lacks = |member: &str| broken(format!("{OPERATIONS} has no member `{member}`"));
        let data = self.registered.member("data").ok_or_else(|| lacks("data"))?.1;
        let name_at = data + self.operations.member("name").ok_or_else(|| lacks("name"))?.1;
        let mut value = vec![0; self.registered.bytes];
        let mut programs = Vec::new();
        for function in object.functions.values() {
            let name = &function.name;
            let (member, offset) = self.operations.member(name).ok_or_else(|| lacks(name))?;
            let place = (self.operations.id, member);
            let load =
                |log: &mut [u8]| sys::bpf::load_program(name, &function.instructions, &object.license, place, log);
            let program = load(&mut []).map_err(|error| refused(name, &error, load))?;
            let number = u64::from(program.as_raw_fd().cast_unsigned());
            value[data + offset..][..size_of_val(&number)].copy_from_slice(&number.to_ne_bytes());
            programs.push(program);
        }
        // Names are those of the whole machine, where another run may have the same algorithm; the kernel wants no
        // dashes.
        let stem = algorithm.replace('-', "_");
        let names = (0u32..).map(|number| format!("{stem}_{number}")).take_while(|name| name.len() <= LONGEST_NAME);
        for name in names {
            let bytes = &mut value[name_at..][..=LONGEST_NAME];
            bytes.fill(0);
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            match self.register_as(&name, &value) {
                Ok(link) => return Ok(Registered { algorithm: algorithm.to_owned(), name, _link: link }),
                Err(error) if is(&error, Errno::EXIST) => {}
                Err(error) => return Err(fault("register it", &error)),
            }
        }
        Err(BpfFault::Refused("all names for it are taken".to_owned()))
    }

    /// The object of an algorithm for the running kernel, with our ring buffer in it.
    fn adapted(&self, algorithm: &str) -> Result<Object, String> {
        let object = object(algorithm).ok_or("there is none")?;
        let mut object = Object::parse(object).map_err(|error| error.to_string())?;
        object.relocate_btf(&self.kernel).map_err(|error| format!("{error:?}"))?;
        let maps = object.maps.clone();
        let ring = self.reports.as_raw_fd();
        let maps = maps.iter().map(|(name, map)| (name.as_str(), ring, map));
        object.relocate_maps(maps, &HashSet::new()).map_err(|error| format!("{error:?}"))?;
        Ok(object)
    }

    fn register_as(&self, name: &str, value: &[u8]) -> io::Result<OwnedFd> {
        let map = sys::bpf::create_structure(name, &self.types, self.registered.id, value)?;
        sys::bpf::register_structure(&map)
    }
}

/// Why a program was not taken, with the last of what the kernel says when it is asked once more.
fn refused(name: &str, error: &io::Error, load: impl FnOnce(&mut [u8]) -> io::Result<OwnedFd>) -> BpfFault {
    if is(error, Errno::PERM) {
        return fault("load a program", error);
    }
    let mut log = vec![0; LOG_BYTES];
    let _ = load(&mut log);
    let text = String::from_utf8_lossy(&log);
    let said = text.trim_end_matches('\0').trim_end().lines().rev().take(3).collect::<Vec<_>>();
    let said = said.into_iter().rev().collect::<Vec<_>>().join("; ");
    BpfFault::Refused(format!("`{name}`: {error}: {said}"))
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// The fault of a call that failed: mostly a capability is missing.
fn fault(what: &str, error: &io::Error) -> BpfFault {
    if is(error, Errno::PERM) {
        return BpfFault::Capability(missing_capabilities());
    }
    BpfFault::Refused(format!("cannot {what}: {error}"))
}

/// The capabilities that the calling thread lacks. None if it has them, which then are not the machine's but those of a
/// user namespace.
fn missing_capabilities() -> Vec<&'static str> {
    const NEEDED: [(CapabilitySet, &str); 3] = [
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::PERFMON, "CAP_PERFMON"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    ];
    let held = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    NEEDED.into_iter().filter(|(needed, _)| !held.contains(*needed)).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::available_algorithms;
    use dumbbell_scenario::{BPF_ALGORITHMS, Experiment};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A name in the kernel is free for others as soon as its program is gone, so only one test at a time has programs.
    fn alone() -> MutexGuard<'static, ()> {
        static KERNEL: Mutex<()> = Mutex::new(());
        KERNEL.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The programs of a scenario with these algorithms, or none where the machine forbids them.
    fn load(algorithms: &[&str]) -> Option<(std::sync::Arc<Scenario>, OwnAlgorithms)> {
        let flows: Vec<String> = algorithms.iter().map(|name| format!("{{ cc = \"bpf:{name}\" }}")).collect();
        let text =
            format!("duration = \"1s\"\npath = {{ rate = \"1mbit\", rtt = \"10ms\" }}\nflows = [{}]", flows.join(", "));
        let scenario = Experiment::from_toml(&text, "test.toml", &[]).unwrap().points()[0].scenario();
        match OwnAlgorithms::load(&scenario) {
            Ok((programs, _)) => Some((scenario, programs)),
            Err(
                error @ RunError::Flow { fault: FlowFault::Bpf(BpfFault::Capability(_) | BpfFault::Kernel(_)), .. },
            ) => {
                println!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn the_kernel_takes_every_program_and_forgets_it_with_its_link() {
        let _alone = alone();
        let Some((scenario, programs)) = load(&BPF_ALGORITHMS) else { return };
        let names: Vec<String> =
            programs.kernel_names(&scenario, Side::Sender).into_iter().flatten().map(str::to_owned).collect();
        assert_eq!(programs.kernel_names(&scenario, Side::Receiver), [Some(IDLE_ALGORITHM); BPF_ALGORITHMS.len()]);
        let listed = || available_algorithms().split(", ").map(str::to_owned).collect::<HashSet<_>>();
        for (name, algorithm) in names.iter().zip(BPF_ALGORITHMS) {
            assert!(name.starts_with(&algorithm.replace('-', "_")) && listed().contains(name), "{name}");
        }
        drop(programs);
        let left: Vec<&String> = names.iter().filter(|name| listed().contains(*name)).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn two_runs_have_the_same_algorithm_under_two_names() {
        let _alone = alone();
        let Some((scenario, one)) = load(&["scalable"]) else { return };
        let Some((_, other)) = load(&["scalable"]) else { return };
        let [one, other] = [&one, &other].map(|own| own.kernel_names(&scenario, Side::Sender));
        assert_ne!(one, other);
    }

    #[test]
    fn there_is_an_object_of_every_algorithm_that_a_file_may_name() {
        for algorithm in BPF_ALGORITHMS {
            let object = Object::parse(object(algorithm).unwrap()).unwrap();
            assert_eq!(object.license.to_str(), Ok("Dual MIT/GPL"), "{algorithm}");
        }
    }
}
