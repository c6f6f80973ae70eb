//! A program at a host, with all that it starts.

use crate::host::Host;
use crate::{rights, sys};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// A program that runs. It ends with the thread that has started it, however that ends.
pub struct Process {
    /// The process [beside it](sys::keep_together), which ends the program and all that it has started when it is
    /// killed.
    first: Child,
    has_terminal: bool,
    asked_at: Option<Instant>,
    cpu: Duration,
}

impl Process {
    /// Starts a program at a host, where the calling thread stays. One that has not the terminal is in a group of its
    /// own, so that it can be ended with what it has started, and reads nothing.
    pub fn start(host: &Host, mut command: Command, has_terminal: bool) -> io::Result<Process> {
        host.enter()?;
        if !has_terminal {
            command.process_group(0).stdin(Stdio::null());
        }
        sys::unshare_processes()?;
        rights::bound_programs()?;
        sys::keep_together(&mut command);
        let first = command.spawn()?;
        let process = Process { first, has_terminal, asked_at: None, cpu: Duration::ZERO };
        rights::drop_all_but_ending_programs()?;
        Ok(process)
    }

    /// How it has ended, if it has. Once `is_over`, it is asked to end, and made to a while later.
    pub fn check(&mut self, is_over: bool) -> io::Result<Option<ExitStatus>> {
        if let Some((status, cpu)) = sys::ended(self.first.id())? {
            self.cpu = cpu;
            return Ok(Some(status));
        }
        match self.asked_at {
            None if is_over => {
                self.asked_at = Some(Instant::now());
                self.send(Signal::TERM);
            }
            Some(at) if at.elapsed() > GRACE => self.send(Signal::KILL),
            None | Some(_) => {}
        }
        Ok(None)
    }

    /// Whether it was asked to end.
    pub fn was_asked(&self) -> bool {
        self.asked_at.is_some()
    }

    /// CPU time that the program has taken with all that it has started; known when it has ended.
    pub fn cpu(&self) -> Duration {
        self.cpu
    }

    /// Sends a signal to the program, and if it has no terminal to what it has started. It may have ended just now.
    fn send(&self, signal: Signal) {
        let first = self.first.id();
        let pid = |number: u32| i32::try_from(number).ok().and_then(Pid::from_raw);
        if signal == Signal::KILL {
            let _ = pid(first).map(|pid| kill_process(pid, signal));
        } else if self.has_terminal {
            let started = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
            for pid in started.split_whitespace().filter_map(|number| number.parse().ok()).filter_map(pid) {
                let _ = kill_process(pid, signal);
            }
        } else {
            let _ = pid(first).map(|pid| kill_process_group(pid, signal));
        }
    }
}
