//! The applications: a thread that writes and one that reads for every flow, as programs do.
//!
//! They run soon after they wake up, and how soon goes into the certificate: what a program does late, TCP does late.
//! Where there is little traffic they have real-time priority, below the emulator's. Otherwise they do without: such a
//! thread that keeps a core busy is stopped by the kernel every now and then.

use crate::clock::Clock;
use crate::host::{Side, place};
use crate::{FlowShared, NOTHING, Shared, rights, sys};
use dumbbell_results::Histogram;
use dumbbell_units::{Duration, Time};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, accept_with, connect, recv, send, shutdown};
use rustix::thread::set_current_timer_slack;
use std::io;
use std::num::NonZeroU64;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// Real-time priority where there is little traffic: below the sampler's and the emulator's.
const PRIORITY: i32 = 5;
/// An unlimited application writes so much at a time, like iperf3.
const WRITE: usize = 128 << 10;
/// A reader asks for so much at a time; TCP throws it away without a copy.
const READ: usize = 1 << 20;

/// How late an application's threads do what they could have done.
#[derive(Debug, Default)]
pub struct Promptness {
    late: Mutex<Histogram>,
}

impl Promptness {
    pub fn add(&self, late: Duration) {
        if let Ok(mut histogram) = self.late.lock() {
            histogram.add(late.as_nanos());
        }
    }

    /// Microseconds that this share did not exceed; zero without any.
    pub fn quantile_us(&self, q: f64) -> f64 {
        let us = self.late.lock().map_or(0.0, |histogram| histogram.quantile(q) / 1e3);
        if us.is_nan() { 0.0 } else { us }
    }
}

/// What the application of a flow does.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// When it connects.
    pub start: Time,
    /// Bytes that it writes; `None` has no end.
    pub bytes: Option<u64>,
    /// Bits per second at which it has data; `None` as fast as the connection takes it.
    pub rate: Option<u64>,
    /// With a rate: bytes that it writes at once, in whole segments; `None` is a segment.
    pub write: Option<u64>,
    /// Payload of a full segment.
    pub mss: u32,
}

/// Lets the calling thread run soon after it wakes up, as far as it may, and drops the rights that this takes. What is
/// left of lateness the certificate shows.
pub fn be_prompt(is_light: bool) {
    let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
    if !is_light || sys::schedule_first(PRIORITY).is_err() {
        let _ = sys::schedule_soon();
    }
    // Where this could fail the emulator ends the run.
    let _ = rights::drop_all();
}

/// Connects and writes.
pub fn send_all(
    flow: usize,
    socket: &OwnedFd,
    application: Application,
    clock: Clock,
    is_light: bool,
    shared: &Shared,
) {
    let state = &shared.flows[flow];
    be_prompt(is_light);
    if !clock.sleep_until(application.start, &shared.is_over) {
        return;
    }
    state.started_at.store(clock.now().as_nanos(), Ordering::Relaxed);
    if connect(socket, &place(Side::Receiver, flow)).is_err() {
        return;
    }
    state.is_established.store(true, Ordering::Release);
    // A connection that ends early shows in what was delivered.
    let _ = match application.rate {
        None => write_at_once(socket, application, state),
        Some(rate) => write_paced(socket, application, rate, clock, (shared, state)),
    };
}

fn write_at_once(socket: &OwnedFd, application: Application, state: &FlowShared) -> io::Result<()> {
    let Some(mut left) = application.bytes else {
        let data = vec![0; WRITE];
        loop {
            write(socket, &data, state)?;
        }
    };
    // Whole segments.
    let mss = application.mss as usize;
    let data = vec![0; WRITE / mss * mss];
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(data.len());
        left -= write(socket, &data[..length], state)? as u64;
    }
    Ok(())
}

/// Writes whenever the application has something. What does not fill a segment waits for the next write.
fn write_paced(
    socket: &OwnedFd,
    application: Application,
    rate: u64,
    clock: Clock,
    (shared, state): (&Shared, &FlowShared),
) -> io::Result<()> {
    let mss = application.mss as usize;
    let write_bytes = application.write.unwrap_or(u64::from(application.mss));
    let interval = Duration::from_nanos(write_bytes.saturating_mul(8 * 1_000_000_000) / rate.max(1));
    let mut data = Vec::new();
    let mut left = application.bytes.unwrap_or(u64::MAX);
    let mut rest = 0;
    let mut due = clock.now();
    // Before the connection took what was written last, nothing more could be written.
    let mut taken_at = due;
    while left > 0 && clock.sleep_until(due, &shared.is_over) {
        shared.promptness.add(clock.now().since(due.max(taken_at)));
        let produced = left.min(write_bytes);
        left -= produced;
        let length = rest + usize::try_from(produced).unwrap_or(usize::MAX - rest);
        rest = if left > 0 { length % mss } else { 0 };
        data.resize(length - rest, 0);
        let mut unwritten = &data[..];
        while !unwritten.is_empty() {
            let written = match send(socket, unwritten, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Err(Errno::INTR) => 0,
                Err(Errno::AGAIN) => {
                    let written = write(socket, unwritten, state)?;
                    taken_at = clock.now();
                    written
                }
                other => other?,
            };
            unwritten = &unwritten[written..];
        }
        due += interval;
    }
    Ok(())
}

/// Waits for room in the send buffer.
fn write(socket: &OwnedFd, data: &[u8], state: &FlowShared) -> io::Result<usize> {
    state.is_writing.store(true, Ordering::Relaxed);
    let written = loop {
        match send(socket, data, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => break other,
        }
    };
    state.is_writing.store(false, Ordering::Relaxed);
    Ok(written?)
}

/// Accepts and reads.
pub fn receive_all(flow: usize, listener: &OwnedFd, clock: Clock, is_light: bool, shared: &Shared) {
    let state = &shared.flows[flow];
    be_prompt(is_light);
    let Ok(connection) = accept_with(listener, rustix::net::SocketFlags::CLOEXEC) else { return };
    // So that the end of the run can wake us.
    let Ok(copy) = rustix::io::fcntl_dupfd_cloexec(&connection, 0) else { return };
    if let Ok(mut place) = state.accepted.lock() {
        *place = Some(copy);
    }
    let mut unread = vec![0; READ];
    loop {
        match recv(&connection, unread.as_mut_slice(), RecvFlags::TRUNC) {
            Err(Errno::INTR) => {}
            Err(_) | Ok((_, 0)) => return,
            Ok((_, length)) => {
                let readable_since = state.readable_since.swap(NOTHING, Ordering::AcqRel);
                state.delivered_bytes.fetch_add(length as u64, Ordering::Release);
                if readable_since != NOTHING {
                    shared.promptness.add(clock.now().since(Time::from_nanos(readable_since)));
                }
            }
        }
    }
}

/// The application stops: what it has written still goes out.
pub fn stop_writing(socket: impl AsFd) {
    // One that never connected has nothing to stop.
    let _ = shutdown(socket, Shutdown::Write);
}

/// Wakes whoever waits for a socket.
pub fn wake(socket: impl AsFd) {
    let _ = shutdown(socket, Shutdown::Both);
}
