//! Root's rights (capabilities), which whoever does not need them gives up. Those of a thread are its own.

use rustix::io;
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};

/// What programs on a path have of root's rights: those about files, users and their own network. None of them changes
/// the machine: no mounts, namespaces, devices, modules, programs for the kernel, clocks, nor looks into processes of
/// others.
const OF_PROGRAMS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_NICE);

/// Takes all rights from the calling thread. It allocates nothing, so that it may be called after a fork.
pub fn drop_all() -> io::Result<()> {
    keep(CapabilitySet::empty())
}

/// Leaves the calling thread the right to end programs, whoever they run as.
pub fn drop_all_but_ending_programs() -> io::Result<()> {
    keep(CapabilitySet::KILL)
}

/// Programs that the calling thread starts from now on get no more of root's rights than they may need.
pub fn bound_programs() -> io::Result<()> {
    let mut own = rustix::thread::capabilities(None)?;
    own.inheritable = CapabilitySet::empty();
    set_capabilities(None, own)?;
    for number in 0..u64::BITS {
        let right = CapabilitySet::from_bits_retain(1 << number);
        if OF_PROGRAMS.contains(right) {
            continue;
        }
        match remove_capability_from_bounding_set(right) {
            // The kernel knows no more.
            Err(io::Errno::INVAL) => break,
            done => done?,
        }
    }
    Ok(())
}

fn keep(rights: CapabilitySet) -> io::Result<()> {
    let kept = rustix::thread::capabilities(None)?.permitted & rights;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}
