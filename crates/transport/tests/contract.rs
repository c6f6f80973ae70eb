//! Both transports are driven through one story, and a controller that writes down what it is told checks that they
//! keep to the order of calls that `dumbbell_cc_contract::Controller` documents.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the numbers are those of these tests, and small"
)]

use dumbbell_cc_contract::{AckFlags, CaState, Control, Controller, Event, Hooks, LostPacket, Needs, RateSample, View};
use dumbbell_transport::quic::{EcnCounts, QuicAck, QuicSender};
use dumbbell_transport::{
    Ack, AdvertisedWindow, EcnUse, Handshake, Pacing, SackBlock, Sender, Timestamp, TransportConfig,
};
use dumbbell_units::{Duration, Time};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A call into the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Init,
    InAck {
        ece: bool,
    },
    Acked,
    Lost,
    Ssthresh,
    State(CaState),
    Event(Event),
    Undo,
    Avoid,
    Control,
    /// Not a call: an ACK arrives.
    AckArrives,
}

/// What the controller has been told, with what it saw of the connection at each call.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Told, Seen)>>>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    state: CaState,
    lost: u64,
    in_flight: u32,
    marked: bool,
}

impl Log {
    fn note(&self, told: Told, view: &View) {
        let seen = Seen { state: view.ca_state, lost: view.lost, in_flight: view.in_flight(), marked: view.marked };
        self.0.lock().expect("no test panicked").push((told, seen));
    }

    fn all(&self) -> Vec<(Told, Seen)> {
        self.0.lock().expect("no test panicked").clone()
    }
}

/// Halves to five packets and otherwise leaves the window alone.
struct Recording {
    log: Log,
    full_control: bool,
    hooks: Hooks,
    /// Reductions it still begins on its own.
    requests: u32,
}

impl Controller for Recording {
    fn algorithm(&self) -> &'static str {
        "recording"
    }
    fn full_control(&self) -> bool {
        self.full_control
    }
    fn hooks(&self) -> Hooks {
        self.hooks
    }
    fn needs(&self) -> Needs {
        Needs { reductions: self.requests > 0, ..Needs::NONE }
    }
    fn begins_reduction(&mut self) -> bool {
        let begins = self.requests > 0;
        self.requests -= u32::from(begins);
        begins
    }
    fn init(&mut self, view: &View, _: &mut Control) {
        self.log.note(Told::Init, view);
    }
    fn ssthresh(&mut self, view: &View, _: &Control) -> u32 {
        self.log.note(Told::Ssthresh, view);
        5
    }
    fn cong_avoid(&mut self, view: &View, _: &mut Control, _acked: u32) {
        self.log.note(Told::Avoid, view);
    }
    fn cong_control(&mut self, view: &View, control: &mut Control, _: &RateSample) {
        control.cwnd = 10;
        self.log.note(Told::Control, view);
    }
    fn pkts_acked(&mut self, view: &View, _: &mut Control, _acked: u32, _rtt_us: i64, _in_flight: u32) {
        self.log.note(Told::Acked, view);
    }
    fn in_ack_event(&mut self, view: &View, _: &mut Control, flags: AckFlags) {
        self.log.note(Told::InAck { ece: flags.ece }, view);
    }
    fn packet_lost(&mut self, view: &View, _: &mut Control, _: &LostPacket) {
        self.log.note(Told::Lost, view);
    }
    fn set_state(&mut self, view: &View, _: &mut Control, next: CaState) {
        self.log.note(Told::State(next), view);
    }
    fn event(&mut self, view: &View, _: &mut Control, event: Event) {
        self.log.note(Told::Event(event), view);
    }
    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.log.note(Told::Undo, view);
        control.cwnd.max(view.prior_cwnd)
    }
}

/// The round trip of this network.
const RTT: Duration = Duration::from_millis(100);

/// A transport under test. Packets are named by the order of their transmission, repairs included.
trait Ground {
    const PROFILE: &str;
    fn new(config: TransportConfig, controller: Box<dyn Controller>, now: Time) -> Self;
    fn write(&mut self, now: Time, packets: u32);
    /// Lets everything leave that may; returns how many packets did.
    fn send(&mut self, now: Time) -> usize;
    /// The ACK that the receiver sends now that these have arrived too. `marks` counts congestion marks so far, `echo`
    /// is the send time of the packet that it answers.
    fn ack(&mut self, now: Time, arrived: &[usize], marks: u32, echo: Time);
    fn next_timer(&self) -> Time;
    fn on_timer(&mut self, now: Time);
    fn view(&self) -> &View;
}

/// Runs of consecutive numbers, lowest first.
fn runs(numbers: &BTreeSet<u32>) -> Vec<SackBlock> {
    let mut runs: Vec<SackBlock> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(SackBlock { start: number, end: number + 1 }),
        }
    }
    runs
}

fn highest_first<const N: usize>(runs: &[SackBlock]) -> ([SackBlock; N], u8) {
    let mut blocks = [SackBlock::default(); N];
    for (block, run) in blocks.iter_mut().zip(runs.iter().rev()) {
        *block = *run;
    }
    (blocks, runs.len().min(N) as u8)
}

struct Tcp {
    sender: Sender,
    sent: Vec<u32>,
    arrived: BTreeSet<u32>,
    marks: u32,
}

impl Ground for Tcp {
    const PROFILE: &str = "tcp";
    fn new(config: TransportConfig, controller: Box<dyn Controller>, now: Time) -> Tcp {
        let mut sender = Sender::new(config.into(), controller);
        sender.establish(now, Handshake::symmetric(RTT));
        Tcp { sender, sent: Vec::new(), arrived: BTreeSet::new(), marks: 0 }
    }
    fn write(&mut self, now: Time, packets: u32) {
        self.sender.write(now, packets, 1448);
    }
    fn send(&mut self, now: Time) -> usize {
        let before = self.sent.len();
        while let Some(burst) = self.sender.poll_transmit(now) {
            self.sent.extend(burst.map(|segment| segment.seq));
        }
        self.sent.len() - before
    }
    fn ack(&mut self, now: Time, arrived: &[usize], marks: u32, echo: Time) {
        self.arrived.extend(arrived.iter().map(|&index| self.sent[index]));
        let runs = runs(&self.arrived);
        let ack = runs.first().filter(|run| run.start == 0).map_or(0, |run| run.end);
        let above: Vec<SackBlock> = runs.into_iter().filter(|run| run.start > ack).collect();
        let (sack, sack_count) = highest_first(&above);
        let ece = marks > std::mem::replace(&mut self.marks, marks);
        self.sender.on_ack(
            now,
            &Ack {
                ack,
                sack,
                sack_count,
                ece,
                marks: None,
                window: AdvertisedWindow::whole(10_000),
                sent_at: Timestamp::at(now),
                echo: Timestamp::at(echo),
            },
        );
    }
    fn next_timer(&self) -> Time {
        self.sender.next_timer()
    }
    fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
    }
    fn view(&self) -> &View {
        self.sender.view()
    }
}

struct Quic {
    sender: QuicSender,
    sent: u32,
    arrived: BTreeSet<u32>,
}

impl Ground for Quic {
    const PROFILE: &str = "quic";
    fn new(config: TransportConfig, controller: Box<dyn Controller>, now: Time) -> Quic {
        let mut sender = QuicSender::new(Arc::new(config), controller);
        sender.establish(now, RTT);
        Quic { sender, sent: 0, arrived: BTreeSet::new() }
    }
    fn write(&mut self, now: Time, packets: u32) {
        self.sender.write(now, packets, 1350);
    }
    fn send(&mut self, now: Time) -> usize {
        let packets = std::iter::from_fn(|| self.sender.poll_transmit(now)).count();
        self.sent += packets as u32;
        packets
    }
    fn ack(&mut self, now: Time, arrived: &[usize], marks: u32, _echo: Time) {
        self.arrived.extend(arrived.iter().map(|&index| index as u32));
        assert!(self.arrived.iter().all(|number| *number < self.sent));
        let ranges = runs(&self.arrived).into_iter().rev().collect();
        let ecn = EcnCounts { ect0: self.arrived.len() as u32 - marks, ect1: 0, ce: marks };
        self.sender.on_ack(now, &QuicAck { ranges, delay_us: 0, ecn });
    }
    fn next_timer(&self) -> Time {
        self.sender.next_timer()
    }
    fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
    }
    fn view(&self) -> &View {
        self.sender.view()
    }
}

/// A transport, its clock, and what its controller has been told.
struct Stage<G> {
    ground: G,
    log: Log,
    now: Time,
    sent: usize,
    read: usize,
    marks: u32,
}

impl<G: Ground> Stage<G> {
    fn new(full_control: bool, hooks: Hooks) -> Stage<G> {
        Stage::with(full_control, hooks, 0)
    }

    /// With a controller that asks so often for a reduction.
    fn with(full_control: bool, hooks: Hooks, requests: u32) -> Stage<G> {
        let profile = TransportConfig::profile(G::PROFILE).expect("a profile");
        let config = TransportConfig { ecn: EcnUse::Classic, pacing: Pacing::Off, ..profile };
        let log = Log::default();
        let now = Time::ZERO + Duration::from_secs(1);
        let controller = Recording { log: log.clone(), full_control, hooks, requests };
        Stage { ground: G::new(config, Box::new(controller), now), log, now, sent: 0, read: 0, marks: 0 }
    }

    /// What the controller has been told since the last question.
    fn told(&mut self) -> Vec<Told> {
        let all = self.log.all();
        let new = all[self.read..].iter().map(|(told, _)| *told).filter(|told| *told != Told::AckArrives).collect();
        self.read = all.len();
        new
    }

    fn state(&self) -> CaState {
        self.ground.view().ca_state
    }

    fn send(&mut self) {
        self.sent += self.ground.send(self.now);
    }

    fn write(&mut self, packets: u32) {
        self.ground.write(self.now, packets);
        self.send();
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while self.ground.next_timer() <= end {
            self.now = self.now.max(self.ground.next_timer());
            self.ground.on_timer(self.now);
            self.send();
        }
        self.now = end;
    }

    /// A round trip later these have arrived.
    fn ack(&mut self, arrived: impl IntoIterator<Item = usize>) {
        let echo = self.now;
        self.wait(RTT);
        self.ack_echoing(arrived, echo);
    }

    fn ack_echoing(&mut self, arrived: impl IntoIterator<Item = usize>, echo: Time) {
        let arrived: Vec<usize> = arrived.into_iter().collect();
        self.log.note(Told::AckArrives, self.ground.view());
        self.ground.ack(self.now, &arrived, self.marks, echo);
        self.send();
    }

    /// Everything that is on its way arrives, until nothing is.
    fn settle(&mut self) {
        while self.ground.view().packets_out > 0 {
            self.ack(0..self.sent);
        }
    }
}

/// The end of a reduction in the one of its two orders that the story tells.
fn end_in_one_order(mut told: Vec<Told>) -> Vec<Told> {
    let (open, complete) = (Told::State(CaState::Open), Told::Event(Event::CompleteCwr));
    if let Some(at) = told.windows(2).position(|pair| pair == [complete, open]) {
        told.swap(at, at + 1);
    }
    told
}

/// What a transport does that the other does not.
struct Traits {
    shrinks_after_idle: bool,
    undoes: bool,
}

const TCP: Traits = Traits { shrinks_after_idle: true, undoes: true };
const QUIC: Traits = Traits { shrinks_after_idle: false, undoes: false };

const ACK: [Told; 2] = [Told::Acked, Told::InAck { ece: false }];

/// The story, told to a controller that leaves reductions to the transport.
fn story<G: Ground>(traits: &Traits) -> Stage<G> {
    use CaState::{Loss, Open, Recovery};
    use Told::{Acked, Avoid, Init, Lost, Ssthresh, State};
    let end_of_reduction = [State(Open), Told::Event(Event::CompleteCwr), Avoid];

    let mut stage = Stage::<G>::new(false, Hooks::ALL);
    assert_eq!(stage.told(), [Init], "the start");
    stage.write(10);
    assert_eq!((stage.sent, stage.told()), (10, vec![Told::Event(Event::TxStart)]), "the first packets");

    stage.ack([0]);
    assert_eq!(stage.told(), [&ACK[..], &[Avoid]].concat(), "an ACK");
    stage.ack(2..=5);
    assert_eq!(stage.told(), [&ACK[..], &[Lost, Ssthresh, State(Recovery)]].concat(), "a loss");
    assert_eq!(stage.sent, 11, "the repair");
    stage.ack([6]);
    assert_eq!(stage.told(), ACK, "an ACK during recovery");
    stage.ack(7..=10);
    assert_eq!(end_in_one_order(stage.told()), [&ACK[..], &end_of_reduction].concat(), "the end of recovery");

    stage.wait(Duration::from_secs(10));
    stage.write(10);
    let restart: &[Told] = if traits.shrinks_after_idle { &[Told::Event(Event::CwndRestart)] } else { &[] };
    assert_eq!(stage.told(), [restart, &[Told::Event(Event::TxStart)]].concat(), "data after idle time");

    stage.marks = 1;
    stage.ack([11]);
    let marked = [Acked, Told::InAck { ece: true }, Ssthresh, State(CaState::Cwr)];
    assert_eq!(stage.told(), marked, "a mark");
    stage.write(10);
    while stage.state() == CaState::Cwr {
        stage.told();
        stage.ack(11..stage.sent - 1);
    }
    assert_eq!(end_in_one_order(stage.told()), [&ACK[..], &end_of_reduction].concat(), "the end of the reduction");
    stage.settle();

    stage.write(10);
    stage.told();
    stage.wait(Duration::from_secs(5));
    let first = stage.sent;
    while stage.sent == first {
        stage.wait(Duration::from_millis(10));
    }
    stage.ack([stage.sent - 1]);
    let mut silence = stage.told();
    silence.retain(|told| !ACK.contains(told) && *told != Avoid);
    silence.dedup();
    let collapse = [Lost, Ssthresh, Told::Event(Event::Loss), State(Loss)];
    assert!(silence.starts_with(&collapse), "silence: {silence:?}");
    stage.settle();
    stage.write(1);
    stage.settle();
    assert_eq!(stage.state(), Open);

    stage.wait(Duration::from_secs(1));
    let first = stage.sent;
    stage.write(5);
    let sent_at = stage.now;
    stage.wait(Duration::from_secs(10));
    stage.told();
    stage.ack_echoing(first..first + 2, sent_at);
    let late = stage.told();
    assert_eq!(late.contains(&Told::Undo), traits.undoes, "a spurious timeout: {late:?}");
    stage.settle();
    stage
}

/// Holds what a controller was told against the contract.
fn assert_kept(log: &Log, full_control: bool) {
    let all = log.all();
    let place = |index: usize| format!("the last of {:?}", &all[index.saturating_sub(6)..=index]);
    assert_eq!(all.iter().filter(|(told, _)| *told == Told::Init).count(), 1);
    assert_eq!(all[0].0, Told::Init);
    let (mut state, mut lost, mut step, mut in_ack, mut ece) = (CaState::Open, 0, 0, false, false);
    for (index, &(told, seen)) in all.iter().enumerate() {
        let next = all.get(index + 1).map(|(told, _)| *told);
        if told == Told::AckArrives {
            (step, in_ack) = (0, true);
            continue;
        }
        assert_eq!(seen.state, state, "the state is the one announced: {}", place(index));
        assert_eq!(seen.lost, lost + u64::from(told == Told::Lost), "losses come one by one: {}", place(index));
        lost = seen.lost;
        let answers_marks = ece && told == Told::Ssthresh && next == Some(Told::State(CaState::Cwr));
        assert_eq!(seen.marked, answers_marks, "marks are the reason: {}", place(index));
        let is_right = match told {
            Told::Event(Event::TxStart) => seen.in_flight == 0,
            Told::Event(Event::CwndRestart) => !full_control && next == Some(Told::Event(Event::TxStart)),
            Told::Event(Event::Loss) => next == Some(Told::State(CaState::Loss)),
            Told::Event(Event::CompleteCwr) | Told::Avoid if full_control => false,
            Told::Ssthresh => {
                let is_free = !matches!(state, CaState::Cwr | CaState::Recovery);
                let begins = matches!(next, Some(Told::State(CaState::Cwr | CaState::Recovery)));
                is_free && (begins || next == Some(Told::Event(Event::Loss)))
            }
            Told::InAck { ece: echoes } => {
                ece = echoes;
                true
            }
            Told::Undo => state >= CaState::Cwr,
            Told::State(next) => {
                state = next;
                true
            }
            Told::Avoid => !matches!(state, CaState::Cwr | CaState::Recovery),
            Told::Control => full_control,
            _ => true,
        };
        assert!(is_right, "{}", place(index));
        let order = match told {
            Told::Event(Event::TxStart | Event::CwndRestart) | Told::Init => {
                in_ack = false;
                continue;
            }
            Told::Acked => 1,
            Told::InAck { .. } => 2,
            Told::Avoid | Told::Control => 4,
            _ => 3,
        };
        let follows = if in_ack { order > step || order == 3 && step == 3 } else { order == 3 };
        assert!(follows && (order <= 2 || !in_ack || step == 2 || step == 3), "out of order: {}", place(index));
        step = order;
        in_ack &= order != 4;
    }
}

#[test]
fn tcp_keeps_the_order_of_calls() {
    assert_kept(&story::<Tcp>(&TCP).log, false);
}

#[test]
fn quic_keeps_the_order_of_calls() {
    assert_kept(&story::<Quic>(&QUIC).log, false);
}

/// Drives a controller with full control, and holds what it was told against the contract.
fn full_control<G: Ground>() {
    let mut stage = Stage::<G>::new(true, Hooks::ALL);
    stage.write(10);
    stage.ack([0]);
    stage.ack(2..=5);
    stage.ack([6]);
    stage.ack(7..=10);
    stage.wait(Duration::from_secs(10));
    stage.write(10);
    stage.marks = 1;
    stage.ack([11]);
    stage.write(10);
    stage.settle();
    stage.write(10);
    stage.wait(Duration::from_secs(8));
    stage.ack([stage.sent - 1]);
    stage.settle();
    assert_kept(&stage.log, true);
    let told: Vec<Told> = stage.log.all().into_iter().map(|(told, _)| told).collect();
    let acks = told.iter().filter(|told| matches!(told, Told::InAck { .. })).count();
    assert_eq!(told.iter().filter(|told| **told == Told::Control).count(), acks, "every ACK ends with control");
    assert!(acks >= 8 && told.contains(&Told::State(CaState::Recovery)) && told.contains(&Told::Lost));
}

#[test]
fn a_controller_with_full_control_decides_at_the_end_of_every_ack() {
    full_control::<Tcp>();
    full_control::<Quic>();
}

fn assert_told_by_hooks<G: Ground>() {
    let told = |hooks| {
        let mut stage = Stage::<G>::new(false, hooks);
        stage.write(10);
        stage.ack([0]);
        stage.ack(2..=5);
        let told = stage.told();
        [Told::InAck { ece: false }, Told::Acked, Told::Lost].map(|call| told.contains(&call))
    };
    assert_eq!(told(Hooks::ALL), [true; 3]);
    assert_eq!(told(Hooks::NONE), [false; 3]);
    assert_eq!(told(Hooks { in_ack_event: true, ..Hooks::NONE }), [true, false, false]);
    assert_eq!(told(Hooks { pkts_acked: true, ..Hooks::NONE }), [false, true, false]);
    assert_eq!(told(Hooks { packet_lost: true, ..Hooks::NONE }), [false, false, true]);
}

#[test]
fn a_controller_is_told_only_what_it_has_hooks_for() {
    assert_told_by_hooks::<Tcp>();
    assert_told_by_hooks::<Quic>();
}

fn assert_reduces_on_request<G: Ground>() {
    let mut stage = Stage::<G>::with(false, Hooks::NONE, 1);
    stage.write(10);
    stage.ack([0]);
    let told = stage.told();
    let reduction = [Told::Avoid, Told::Ssthresh, Told::State(CaState::Cwr)];
    assert!(told.windows(3).any(|calls| calls == reduction), "{told:?}");
    stage.write(10);
    stage.settle();
    stage.write(10);
    stage.settle();
    let told = stage.told();
    assert!(told.contains(&Told::Event(Event::CompleteCwr)), "{told:?}");
    assert!(!told.contains(&Told::Ssthresh), "it asked once");
}

#[test]
fn a_controller_that_asks_for_a_reduction_gets_one() {
    assert_reduces_on_request::<Tcp>();
    assert_reduces_on_request::<Quic>();
}
