//! Two ways to move a sender in a test.
//!
//! [`Scripted`] hears only the ACKs a test writes by hand, at the times the test gives. [`Pair`] joins the sender to a
//! real receiver by a pipe in virtual time: a first-in-first-out transmitter, a delay each way, and a script that
//! decides the fate of every packet. Both check the counters of the sender against its scoreboard after every event.

use crate::{Ack, AdvertisedWindow, Handshake, Receiver, SackBlock, Segment, Sender, Timestamp, TransportConfig};
use dumbbell_cc_contract::{CaState, Control, Controller, Event, RateSample, View};
use dumbbell_recovery::scoreboard::flag;
use dumbbell_units::{Duration, Ecn, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::{Arc, Mutex};

pub const MSS: u16 = 1448;
/// When the connections of these tests are established.
pub const START: Time = Time::from_nanos(1_000_000_000);

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// `millis` after [`START`].
pub fn at(millis: u64) -> Time {
    START + ms(millis)
}

/// What a controller was told, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Ssthresh,
    Event(Event),
    State(CaState),
    Avoid(u32),
}

/// The calls a [`Fixed`] controller received, shared with the test.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    fn push(&self, call: Call) {
        self.0.lock().unwrap().push(call);
    }

    pub fn count(&self, call: Call) -> usize {
        self.0.lock().unwrap().iter().filter(|&&other| other == call).count()
    }

    /// Multiplicative decreases asked of the controller.
    pub fn reductions(&self) -> usize {
        self.count(Call::Ssthresh)
    }
}

/// A controller that answers every reduction with the same threshold and otherwise leaves the window alone, so that
/// what the window does is the sender's doing.
pub struct Fixed {
    pub ssthresh: u32,
    pub calls: Calls,
}

impl Controller for Fixed {
    fn algorithm(&self) -> &'static str {
        "fixed"
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn ssthresh(&mut self, _view: &View, _control: &Control) -> u32 {
        self.calls.push(Call::Ssthresh);
        self.ssthresh
    }

    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, acked: u32) {
        self.calls.push(Call::Avoid(acked));
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, next: CaState) {
        self.calls.push(Call::State(next));
    }

    fn event(&mut self, _view: &View, _control: &mut Control, event: Event) {
        self.calls.push(Call::Event(event));
    }
}

/// Checks the counters of a sender against its scoreboard: in flight is what the flags of every segment say is in
/// flight.
pub fn assert_consistent(sender: &Sender) {
    let view = sender.view();
    let control = sender.control();
    let board = &sender.board;
    let (mut sacked, mut lost, mut retrans, mut copies) = (0, 0, 0, 0);
    for seq in board.una()..board.nxt() {
        let record = board.get(seq);
        let [is_sacked, is_lost, is_retrans] =
            [flag::SACKED, flag::LOST, flag::RETRANS].map(|bit| u32::from(record.has(bit)));
        assert!(is_sacked + is_lost < 2, "segment {seq} is both lost and received");
        sacked += is_sacked;
        lost += is_lost;
        retrans += is_retrans;
        copies += match (is_sacked + is_lost, is_retrans) {
            (0, 0) | (1, 1) => 1,
            (0, 1) => 2,
            _ => 0,
        };
    }
    assert_eq!(view.packets_out, board.nxt() - board.una());
    assert_eq!((view.lost_out, view.retrans_out), (lost, retrans));
    if sender.config.sack {
        assert_eq!(view.sacked_out, sacked);
        assert_eq!(view.in_flight(), copies);
    } else {
        // Duplicate ACKs stand for segments nobody knows.
        assert_eq!(view.in_flight(), copies - view.sacked_out);
    }
    assert!(view.sacked_out + view.lost_out <= view.packets_out);
    assert!(control.cwnd >= 1);
    assert_eq!((view.snd_una, view.snd_nxt), (u64::from(board.una()), u64::from(board.nxt())));
}

/// Deliveries count once: what left the queue, what is held beyond it, reported duplicates, and the SYN.
pub fn assert_conserved(sender: &Sender) {
    let view = sender.view();
    let delivered = 1 + view.snd_una + u64::from(view.sacked_out) + sender.stats().dsacked_segments;
    assert_eq!(view.delivered, delivered);
}

/// A sender that hears ACKs written by hand. The round trip is 100 ms, ACKs echo what was sent a round trip ago.
pub struct Scripted {
    pub sender: Sender,
    pub calls: Calls,
    pub now: Time,
}

impl Scripted {
    pub const RTT: Duration = Duration::from_millis(100);
    const WINDOW: u32 = (32 << 20) / MSS as u32;

    /// Established at [`START`], with a window of `cwnd` that a reduction turns into `ssthresh`.
    pub fn new(config: TransportConfig, cwnd: u32, ssthresh: u32) -> Scripted {
        let calls = Calls::default();
        let mut sender = Sender::new(config.into(), Box::new(Fixed { ssthresh, calls: calls.clone() }));
        sender.establish(START, Handshake::symmetric(Scripted::RTT));
        sender.control.cwnd = cwnd;
        Scripted { sender, calls, now: START }
    }

    /// A connection with so much data to send that it never ends, and the first window already on its way. Timers fire
    /// at the tick that they are armed for.
    pub fn bulk(cwnd: u32, ssthresh: u32) -> Scripted {
        let mut script =
            Scripted::new(TransportConfig { timer_wheel: false, ..TransportConfig::default() }, cwnd, ssthresh);
        assert_eq!(script.write(1_000_000).len(), cwnd as usize);
        script
    }

    /// Writes full segments; returns what leaves.
    pub fn write(&mut self, segments: u32) -> Vec<u32> {
        self.sender.write(self.now, segments, MSS);
        self.send()
    }

    /// Moves the clock and fires the timers on the way; returns what leaves.
    pub fn advance_to(&mut self, time: Time) -> Vec<u32> {
        let mut sent = Vec::new();
        while self.sender.next_timer() <= time {
            self.now = self.now.max(self.sender.next_timer());
            self.sender.on_timer(self.now);
            sent.extend(self.send());
        }
        self.now = time;
        sent
    }

    pub fn send(&mut self) -> Vec<u32> {
        self.send_segments().iter().map(|segment| segment.seq).collect()
    }

    pub fn send_segments(&mut self) -> Vec<Segment> {
        let sent = std::iter::from_fn(|| self.sender.poll_transmit(self.now)).flatten().collect();
        assert_consistent(&self.sender);
        sent
    }

    /// An ACK of everything below `ack`, with SACK blocks.
    pub fn ack_of(&self, ack: u32, sacks: &[(u32, u32)]) -> Ack {
        let mut sack = [SackBlock::default(); Ack::MAX_SACK_BLOCKS];
        for (block, &(start, end)) in sack.iter_mut().zip(sacks) {
            *block = SackBlock { start, end };
        }
        let echo = Time::ZERO + self.now.since(Time::ZERO + Scripted::RTT);
        Ack {
            ack,
            sack,
            sack_count: sacks.len() as u8,
            ece: false,
            marks: None,
            window: AdvertisedWindow::whole(Scripted::WINDOW),
            sent_at: Timestamp::at(self.now),
            echo: Timestamp::at(echo),
        }
    }

    /// Hears an ACK at `time`; returns what leaves.
    pub fn ack(&mut self, time: Time, ack: u32, sacks: &[(u32, u32)]) -> Vec<u32> {
        assert!(self.advance_to(time).is_empty(), "a timer sent something before this ACK");
        let ack = self.ack_of(ack, sacks);
        self.hear(&ack)
    }

    /// Hears this ACK now; returns what leaves.
    pub fn hear(&mut self, ack: &Ack) -> Vec<u32> {
        self.sender.on_ack(self.now, ack);
        assert_consistent(&self.sender);
        self.send()
    }

    pub fn view(&self) -> &View {
        self.sender.view()
    }

    pub fn control(&self) -> &Control {
        self.sender.control()
    }

    pub fn state(&self) -> CaState {
        self.view().ca_state
    }

    pub fn sample(&self) -> &RateSample {
        self.sender.last_sample()
    }
}

/// What happens to a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Arrives this much later than it would have; others may overtake it.
    Delay(Duration),
    /// Arrives with a congestion mark (data only).
    Mark,
    /// Does not arrive before this time.
    HoldUntil(Time),
}

/// A transmission of a data segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub segment: Segment,
    /// First transmission of the segment is 1.
    pub nth: u32,
}

/// An ACK that reached the sender, and the sender after it had worked on it.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub at: Time,
    pub ack: Ack,
    pub sample: RateSample,
    pub cwnd: u32,
    pub delivered: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    Data(Segment),
    Ack(Ack),
}

type DataFate = Box<dyn FnMut(Sent) -> Fate>;
type AckFate = Box<dyn FnMut(Time, &Ack) -> Fate>;

/// A sender and a receiver joined by a pipe.
pub struct Pair {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub sent: Vec<Sent>,
    pub heard: Vec<Heard>,
    /// Time the transmitter needs for a full segment.
    pub service: Duration,
    pub forward: Duration,
    pub backward: Duration,
    data_fate: DataFate,
    ack_fate: AckFate,
    transmitter_free: Time,
    writes: VecDeque<(Time, u32, u16)>,
    pending: BinaryHeap<Reverse<(Time, u64)>>,
    arrivals: BTreeMap<u64, Arrival>,
    transmissions: BTreeMap<u32, u32>,
    next_id: u64,
    reports_completions: bool,
    /// Most bytes of payload that ever waited in the sender's own host.
    pub most_queued: u64,
}

impl Pair {
    /// Established at [`START`] over a path of 20 ms each way and unlimited rate.
    pub fn new(config: &TransportConfig, controller: Box<dyn Controller>) -> Pair {
        Pair::with_syn_retransmits(config, controller, 0)
    }

    pub fn with_syn_retransmits(config: &TransportConfig, controller: Box<dyn Controller>, syns: u32) -> Pair {
        let mut receiver = Receiver::new(config);
        receiver.set_ecn_echo(config.ecn.echo(controller.ecn()));
        let mut sender = Sender::new(config.clone().into(), controller);
        sender.establish(START, Handshake { retries: syns, ..Handshake::symmetric(ms(40)) });
        receiver.set_handshake(ms(40));
        Pair {
            sender,
            receiver,
            now: START,
            sent: Vec::new(),
            heard: Vec::new(),
            service: Duration::ZERO,
            forward: ms(20),
            backward: ms(20),
            data_fate: Box::new(|_| Fate::Deliver),
            ack_fate: Box::new(|_, _| Fate::Deliver),
            transmitter_free: START,
            writes: VecDeque::new(),
            pending: BinaryHeap::new(),
            arrivals: BTreeMap::new(),
            transmissions: BTreeMap::new(),
            next_id: 0,
            reports_completions: config.completion == crate::Completion::Wire,
            most_queued: 0,
        }
    }

    /// With a [`Fixed`] controller and a window of `cwnd` segments.
    pub fn fixed(config: &TransportConfig, cwnd: u32, ssthresh: u32) -> (Pair, Calls) {
        let calls = Calls::default();
        let mut pair = Pair::new(config, Box::new(Fixed { ssthresh, calls: calls.clone() }));
        pair.sender.control.cwnd = cwnd;
        (pair, calls)
    }

    pub fn data_fate(&mut self, fate: impl FnMut(Sent) -> Fate + 'static) {
        self.data_fate = Box::new(fate);
    }

    pub fn ack_fate(&mut self, fate: impl FnMut(Time, &Ack) -> Fate + 'static) {
        self.ack_fate = Box::new(fate);
    }

    /// Drops these transmissions, given as (segment, how many-th transmission of it).
    pub fn drop(&mut self, transmissions: &'static [(u32, u32)]) {
        self.data_fate(
            |sent| {
                if transmissions.contains(&(sent.segment.seq, sent.nth)) { Fate::Drop } else { Fate::Deliver }
            },
        );
    }

    /// The application writes at `time`; calls must be in the order of time.
    pub fn write_at(&mut self, time: Time, segments: u32, last_len: u16) {
        self.writes.push_back((time, segments, last_len));
    }

    /// The application has more than it can ever send.
    pub fn write_forever(&mut self) {
        self.write_at(self.now, u32::MAX, MSS);
    }

    fn schedule(&mut self, time: Time, arrival: Arrival) {
        self.pending.push(Reverse((time, self.next_id)));
        self.arrivals.insert(self.next_id, arrival);
        self.next_id += 1;
    }

    fn next_event(&self) -> Time {
        let arrival = self.pending.peek().map_or(Time::NEVER, |&Reverse((time, _))| time);
        let write = self.writes.front().map_or(Time::NEVER, |&(time, ..)| time);
        arrival.min(write).min(self.sender.next_timer()).min(self.receiver.next_timer())
    }

    /// Runs until `end`, inclusive.
    pub fn run_until(&mut self, end: Time) {
        while self.next_event() <= end {
            self.step();
        }
        self.now = end;
    }

    /// Runs until everything written is acknowledged; fails when that takes longer than `limit`.
    pub fn run_to_completion(&mut self, limit: Duration) {
        let end = self.now + limit;
        while !self.is_done() {
            assert!(self.next_event() <= end, "not done after {limit:?}: {:?}", self.sender.view());
            self.step();
        }
    }

    /// Whether everything written is acknowledged.
    pub fn is_done(&self) -> bool {
        self.writes.is_empty() && self.sender.is_idle()
    }

    /// What happens next, and what leaves then.
    pub fn step(&mut self) {
        let due = self.next_event();
        assert!(due >= self.now, "time runs backwards");
        self.now = due;
        if self.pending.peek().is_some_and(|&Reverse((time, _))| time <= due) {
            let Reverse((_, id)) = self.pending.pop().unwrap();
            match self.arrivals.remove(&id).unwrap() {
                Arrival::Data(segment) => {
                    if let Some(ack) = self.receiver.on_segment(due, segment) {
                        self.carry_ack(ack);
                    }
                }
                Arrival::Ack(ack) => self.hear(ack),
            }
        } else if self.receiver.next_timer() <= due {
            if let Some(ack) = self.receiver.on_timer(due) {
                self.carry_ack(ack);
            }
        } else if self.sender.next_timer() <= due {
            self.sender.on_timer(due);
            assert_consistent(&self.sender);
        } else {
            let (_, segments, last_len) = self.writes.pop_front().unwrap();
            self.sender.write(due, segments, last_len);
        }
        self.transmit();
    }

    fn hear(&mut self, ack: Ack) {
        self.sender.on_ack(self.now, &ack);
        assert_consistent(&self.sender);
        if self.sender.config.sack {
            assert_conserved(&self.sender);
        }
        let view = self.sender.view();
        let control = self.sender.control();
        self.heard.push(Heard {
            at: self.now,
            ack,
            sample: *self.sender.last_sample(),
            cwnd: control.cwnd,
            delivered: view.delivered,
        });
    }

    fn transmit(&mut self) {
        while let Some(burst) = self.sender.poll_transmit(self.now) {
            for segment in burst {
                self.carry_segment(segment, burst.is_retransmission);
            }
            if self.reports_completions {
                let departs = self.transmitter_free;
                self.sender.handed_over(burst.bytes, departs);
                let segments = departs.since(self.now).as_nanos() / self.service.as_nanos();
                self.most_queued = self.most_queued.max(segments * u64::from(MSS));
            }
        }
        assert_consistent(&self.sender);
    }

    fn carry_segment(&mut self, mut segment: Segment, is_retransmission: bool) {
        let nth = self.transmissions.entry(segment.seq).or_default();
        *nth += 1;
        let sent = Sent { at: self.now, segment, nth: *nth };
        // A probe of the window repeats a number without data.
        assert_eq!(sent.nth > 1 && segment.len > 0, is_retransmission);
        self.sent.push(sent);
        let departs = self.transmitter_free.max(self.now) + self.service;
        self.transmitter_free = departs;
        let arrives = departs + self.forward;
        let arrives = match (self.data_fate)(sent) {
            Fate::Deliver => arrives,
            Fate::Drop => return,
            Fate::Delay(delay) => arrives + delay,
            Fate::HoldUntil(time) => arrives.max(time),
            Fate::Mark => {
                assert_eq!(segment.ecn, Ecn::Ect0, "a packet that is not ECN-capable cannot be marked");
                segment.ecn = Ecn::Ce;
                arrives
            }
        };
        self.schedule(arrives, Arrival::Data(segment));
    }

    fn carry_ack(&mut self, ack: Ack) {
        let arrives = self.now + self.backward;
        let arrives = match (self.ack_fate)(self.now, &ack) {
            Fate::Deliver | Fate::Mark => arrives,
            Fate::Drop => return,
            Fate::Delay(delay) => arrives + delay,
            Fate::HoldUntil(time) => arrives.max(time),
        };
        self.schedule(arrives, Arrival::Ack(ack));
    }

    /// When each transmission of `seq` left, relative to [`START`], in milliseconds.
    pub fn transmissions_ms(&self, seq: u32) -> Vec<u64> {
        let of_seq = self.sent.iter().filter(|sent| sent.segment.seq == seq);
        of_seq.map(|sent| sent.at.since(START).as_micros() / 1_000).collect()
    }

    /// Segments retransmitted, in the order of their transmission.
    pub fn retransmitted(&self) -> Vec<u32> {
        self.sent.iter().filter(|sent| sent.nth > 1).map(|sent| sent.segment.seq).collect()
    }

    /// What the receiver's application got: segments and bytes.
    pub fn received(&self) -> (u64, u64) {
        let stats = self.receiver.stats();
        (stats.delivered_segments, stats.delivered_bytes)
    }
}
