//! Threads that run shares.

use super::share::Share;
use crate::{RunError, cpu_time};
use dumbbell_units::Time;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration as CpuTime;

/// One thread for each share but the first, which the calling thread runs.
pub(super) struct Workers<'scope, 's> {
    workers: Vec<Worker<'scope, 's>>,
}

struct Worker<'scope, 's> {
    orders: Sender<(Share<'s>, Time)>,
    finished: Receiver<(Share<'s>, Result<(), RunError>)>,
    /// Ends with its CPU time.
    thread: ScopedJoinHandle<'scope, CpuTime>,
}

impl<'scope, 's: 'scope> Workers<'scope, 's> {
    pub fn new(scope: &'scope Scope<'scope, '_>, shares: usize) -> Workers<'scope, 's> {
        let worker = |_| {
            let (orders, received) = channel::<(Share<'s>, Time)>();
            let (returned, finished) = channel();
            let thread = scope.spawn(move || {
                for (mut share, until) in received {
                    let result = share.run_until(until);
                    if returned.send((share, result)).is_err() {
                        break;
                    }
                }
                cpu_time()
            });
            Worker { orders, finished, thread }
        };
        Workers { workers: (1..shares).map(worker).collect() }
    }

    /// Runs all shares until then.
    pub fn run(&mut self, shares: Vec<Share<'s>>, until: Time) -> Result<Vec<Share<'s>>, Vec<RunError>> {
        let mut shares = shares.into_iter();
        let Some(mut own) = shares.next() else { return Ok(Vec::new()) };
        for (worker, share) in self.workers.iter().zip(shares) {
            // A worker that has gone is noticed when its share does not come back.
            let _ = worker.orders.send((share, until));
        }
        let mut failures: Vec<RunError> = own.run_until(until).err().into_iter().collect();
        let mut all = vec![own];
        for number in 0..self.workers.len() {
            let Ok((share, result)) = self.workers[number].finished.recv() else { self.raise(number) };
            all.push(share);
            failures.extend(result.err());
        }
        if failures.is_empty() { Ok(all) } else { Err(failures) }
    }

    /// A worker has panicked, and so does this thread.
    fn raise(&mut self, number: usize) -> ! {
        let Worker { orders, thread, .. } = self.workers.swap_remove(number);
        drop(orders);
        match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(_) => unreachable!("a worker ends when it gets no more orders"),
        }
    }

    /// Ends the workers; returns their CPU time.
    pub fn finish(self) -> CpuTime {
        let ended = self.workers.into_iter().map(|Worker { orders, thread, .. }| {
            drop(orders);
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        ended.sum()
    }
}
