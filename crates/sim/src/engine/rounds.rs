//! Rounds of an incast: a client asks all servers, waits for the slowest answer, and asks again.

use dumbbell_results::Round;
use dumbbell_traffic::{Answer, Barrier};
use dumbbell_units::{Duration, Time, claimed};

/// The round that is under way at a source, and those that are over.
#[derive(Default)]
pub(super) struct Rounds {
    /// Flow numbers of the servers; [`NO_FLOW`] of those that have not begun to connect.
    flows: Vec<usize>,
    number: u64,
    begin: Time,
    /// Servers whose answer has not arrived; none after the last round.
    awaited: usize,
    bytes: u64,
    /// Expiries of retransmission timers before the round.
    rtos_before: u64,
    over: Vec<Round>,
}

const NO_FLOW: usize = usize::MAX;

impl Rounds {
    /// The first round begins at `begin`. Returns when each server begins to connect, in its order, and what it
    /// answers.
    pub fn new(barrier: &mut Barrier, begin: Time) -> (Rounds, Vec<(Time, u32, u64)>) {
        let mut rounds = Rounds { flows: vec![NO_FLOW; barrier.servers()], begin, ..Rounds::default() };
        let answers = rounds.ask(barrier, begin).into_iter();
        let first = answers.map(|(server, Answer { after, bytes })| (begin + after, server, bytes)).collect();
        (rounds, first)
    }

    /// When the round began that is under way.
    pub fn begin(&self) -> Time {
        self.begin
    }

    /// A server has flow number `flow`.
    pub fn note_flow(&mut self, server: u32, flow: usize) {
        self.flows[server as usize] = flow;
    }

    /// The flow of each server that has one.
    pub fn flows(&self) -> impl Iterator<Item = usize> {
        self.flows.iter().copied().filter(|&flow| flow != NO_FLOW)
    }

    /// The flow of a server.
    pub fn flow(&self, server: u32) -> usize {
        self.flows[server as usize]
    }

    /// The answer of a server has arrived. Returns whether it was the last one of the round.
    pub fn arrived(&mut self) -> bool {
        self.awaited -= 1;
        self.awaited == 0
    }

    /// The round is complete at `now`, up to when the timers of all servers have expired `rtos` times. Another one
    /// begins unless there are enough, or it would not begin before `stop`; returns the answers that it asks for.
    pub fn next(&mut self, barrier: &mut Barrier, now: Time, stop: Time, rtos: u64) -> Vec<(u32, Answer)> {
        self.over.push(self.row(Some(now.since(self.begin)), rtos));
        self.number += 1;
        let begin = now + barrier.pause();
        if begin >= stop || barrier.rounds().is_some_and(|rounds| self.number >= rounds) {
            return Vec::new();
        }
        self.rtos_before = rtos;
        self.ask(barrier, begin)
    }

    fn ask(&mut self, barrier: &mut Barrier, begin: Time) -> Vec<(u32, Answer)> {
        let servers = (0u32..).take(barrier.servers());
        let answers: Vec<_> = servers.filter_map(|server| Some((server, barrier.answer(server as usize)?))).collect();
        (self.begin, self.awaited) = (begin, answers.len());
        self.bytes = answers.iter().map(|(_, answer)| answer.bytes).sum();
        answers
    }

    fn row(&self, took: Option<Duration>, rtos: u64) -> Round {
        let Rounds { number, begin: start, bytes, .. } = *self;
        Round { number, start, bytes, took, rtos: rtos - self.rtos_before, ..Round::default() }
    }

    /// The rounds that are complete, and the one that the `end` of the run cuts short.
    pub fn finish(mut self, end: Time, rtos: u64) -> Vec<Round> {
        if self.awaited > 0 && self.begin <= end {
            self.over.push(self.row(None, rtos));
        }
        self.over
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<usize>(self.flows.len(), self.flows.capacity())
            + claimed::<Round>(self.over.len(), self.over.capacity())
    }
}
