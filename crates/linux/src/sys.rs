//! The system calls that no safe crate offers, and nothing else: only here and in `sys/bpf.rs` there is `unsafe`.

#![allow(unsafe_code, reason = "these calls have no safe wrapper")]

pub mod bpf;

use rustix::fd::{AsFd, AsRawFd};
use rustix::thread::UnshareFlags;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Gives the calling thread a network namespace of its own.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: only unsharing the table of descriptors can break what safe code relies on.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}

/// Gives the calling process, which must have one thread only, a user namespace of its own.
pub fn unshare_user() -> io::Result<()> {
    // SAFETY: as above.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(io::Error::from)
}

/// Makes of an open `/dev/net/tun` the TUN device `name` of the calling thread's network namespace. Packets come and go
/// without a header in front of them, one at a time and no longer than the MTU.
pub fn attach_tun(device: impl AsFd, name: &str) -> io::Result<()> {
    /// `struct ifreq`, as far as `TUNSETIFF` reads it.
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        flags: libc::c_short,
        rest: [u8; 22],
    }
    #[expect(clippy::cast_possible_truncation, reason = "flags of 16 bits, which libc has as an int")]
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    let mut request = Request { name: [0; libc::IFNAMSIZ], flags, rest: [0; 22] };
    // A name always ends with a zero.
    for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // SAFETY: the request has the layout and at least the length of the structure that the call reads and writes.
    let status = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option of a socket as bytes; returns how many of them the kernel has filled.
pub fn socket_option(socket: impl AsFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(value.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel writes no more than `length` bytes, which are there, and any bytes are valid.
    let status = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(length as usize) }
}

/// Runs the calling thread before every ordinary one, at this real-time priority.
pub fn schedule_first(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives while it is read; 0 is the calling thread.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the calling thread run soon after it wakes up, without real-time priority: the best niceness that it may have,
/// and the shortest slice, which lets it interrupt threads that have longer ones.
pub fn schedule_soon() -> io::Result<()> {
    /// `struct sched_attr`, as far as it says something about ordinary threads.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        slice_ns: u64,
        deadline: u64,
        period: u64,
    }
    /// The shortest that the kernel takes.
    const SLICE_NS: u64 = 100_000;
    let attempt = |nice: i32| {
        let size = u32::try_from(size_of::<Attributes>()).unwrap_or(0);
        let attributes = Attributes {
            size,
            policy: libc::SCHED_OTHER.cast_unsigned(),
            flags: 0,
            nice,
            priority: 0,
            slice_ns: SLICE_NS,
            deadline: 0,
            period: 0,
        };
        // SAFETY: the structure has the layout and the size that it says and lives while it is read; 0 is the calling
        // thread.
        let status = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    attempt(-20).or_else(|_| attempt(0))
}

/// Lets the programs that the calling thread starts from now on have process numbers of their own. The first of them is
/// to be started by [`keep_together`].
pub fn unshare_processes() -> io::Result<()> {
    // SAFETY: only unsharing the table of descriptors can break what safe code relies on.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWPID) }.map_err(io::Error::from)
}

/// Lets a program, and all that it has started by then, end when the thread that starts it does, however it does, or
/// when the program ends. The thread must have [process numbers](unshare_processes) for them: a process beside the
/// program is the first of them, and the kernel ends the others with it.
pub fn keep_together(command: &mut Command) {
    // SAFETY: between fork and exec nothing but system calls are made, which allocate nothing and take no lock.
    unsafe {
        command.pre_exec(|| {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(io::Error::last_os_error());
            }
            show_own_processes();
            match libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
                ..0 => Err(io::Error::last_os_error()),
                0 => Ok(()),
                program => wait_for(program),
            }
        });
    }
}

/// How a child has ended, and the CPU time that it has taken with all that it has waited for; `None` while it runs. To
/// be asked until it has ended, and not again.
pub fn ended(child: u32) -> io::Result<Option<(ExitStatus, Duration)>> {
    let pid = libc::pid_t::try_from(child).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: a structure of numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both live while they are written.
        match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
            0 => return Ok(None),
            ..0 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ => break,
        }
    }
    let part = |time: libc::timeval| {
        let (s, us) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
        Duration::from_secs(s.unwrap_or(0)) + Duration::from_micros(us.unwrap_or(0))
    };
    Ok(Some((ExitStatus::from_raw(status), part(usage.ru_utime) + part(usage.ru_stime))))
}

/// Shows the calling process, the first of its numbers, and those that it starts what has these numbers in `/proc`.
/// Where that may not be, they see what everybody sees.
fn show_own_processes() {
    let nothing = std::ptr::null();
    // SAFETY: the names end with a zero and live while they are read; the calls change mounts of this process alone.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_PRIVATE, nothing.cast()) == 0
        {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, nothing.cast());
        }
    }
}

/// Ends as the process numbered `program` does, without rights of its own, and takes leave of others that end before.
fn wait_for(program: libc::c_long) -> ! {
    if crate::rights::drop_all().is_err() {
        // SAFETY: it ends this process at once.
        unsafe { libc::_exit(126) }
    }
    // SAFETY: no code of this process runs any more but this, which needs no descriptor.
    unsafe {
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        loop {
            let mut status = 0;
            let ended = libc::waitpid(-1, &raw mut status, 0);
            if libc::c_long::from(ended) == program {
                let code =
                    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
                libc::_exit(code);
            }
            if ended < 0 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(127);
            }
        }
    }
}
