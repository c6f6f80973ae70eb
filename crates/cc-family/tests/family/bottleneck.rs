//! The smallest network that makes controllers behave: one FIFO bottleneck, a fixed delay, an ACK for every packet.
//!
//! Packets are numbered and never sent twice, what is lost is simply gone; a packet counts as lost when one sent three
//! or more later is acknowledged. Samples of the delivery rate follow `docs/specs/delivery-rate.md`. Nothing here is
//! Linux's: what depends on a real sender is tested in `crates/sim`.

use dumbbell_cc::{CaState, Control, Controller, EcnMode, Event, LostPacket, RateSample, View};
use dumbbell_cc_family::catalog;
use dumbbell_units::{Duration, Rng, Time};
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of a packet, all of them payload.
const MSS: u32 = 1_500;
/// Packets sent later that must be acknowledged before a packet is lost.
const REORDERING: u64 = 3;

/// The path all flows share.
#[derive(Clone, Copy)]
pub struct Path {
    /// Time to transmit a packet, in microseconds.
    pub service_us: u64,
    /// Packets that find room, the one being transmitted included.
    pub buffer: usize,
    /// Probability that a packet vanishes.
    pub loss: f64,
    /// Packets waiting from which on a packet is marked.
    pub mark_above: Option<usize>,
}

impl Path {
    /// 10 Mbit/s with room for `bdps` times 34.3 packets, the BDP at 40 ms, rounded down.
    pub fn ten_mbit(bdps: f64) -> Path {
        Path { service_us: 1_200, buffer: (bdps * 34.333) as usize, loss: 0.0, mark_above: None }
    }
}

#[derive(Clone, Copy)]
enum What {
    /// The link has transmitted the packet at its head.
    Transmitted,
    /// An ACK for this packet arrives.
    Ack { flow: usize, number: u64, marked: bool },
    /// The pacer admits the next packet, or a flow starts.
    Send { flow: usize },
    /// Nothing was acknowledged for long.
    Timeout { flow: usize },
}

#[derive(Clone, Copy)]
struct Sent {
    at_us: u64,
    first_sent_us: u64,
    delivered_us: u64,
    delivered: u64,
    delivered_ce: u64,
    lost: u64,
    in_flight: u32,
    is_app_limited: bool,
    outstanding: bool,
}

/// A sender and what is known of its past.
pub struct Flow {
    pub controller: Box<dyn Controller>,
    pub view: View,
    pub control: Control,
    propagation_us: u64,
    packets: VecDeque<Sent>,
    /// Number of the first packet of `packets`.
    first: u64,
    next: u64,
    in_flight: u32,
    first_sent_us: u64,
    /// Packets before this one were sent before recovery began; it lasts until this one is acknowledged: the repairs of
    /// all that was lost of them are.
    recovery_begin: u64,
    recovery_end: u64,
    highest_acked: u64,
    limit_mark: u64,
    last_progress: Time,
    send_pending: bool,
    /// States entered, with the times.
    pub modes: Vec<(f64, String)>,
    sent: u64,
    /// What was sent, lost and delivered before the statistics began.
    sent_before: u64,
    lost_before: u64,
    delivered_before: u64,
}

/// The path, its flows and their past.
pub struct Network {
    path: Path,
    pub now: Time,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: Vec<What>,
    queue: VecDeque<(usize, u64, bool)>,
    rng: Rng,
    /// Seed of the controllers' random choices.
    seed: u64,
    pub flows: Vec<Flow>,
    /// Packets waiting or in transmission, integrated over time, and the most at any time.
    queue_integral: f64,
    queue_since: Time,
    pub max_queue: usize,
    statistics_since: Time,
}

impl Network {
    pub fn new(path: Path) -> Network {
        Network::seeded(path, 0)
    }

    /// With other random choices for each `seed`.
    pub fn seeded(path: Path, seed: u64) -> Network {
        Network {
            path,
            seed,
            now: Time::ZERO,
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            queue: VecDeque::new(),
            rng: Rng::new(11 + seed),
            flows: Vec::new(),
            queue_integral: 0.0,
            queue_since: Time::ZERO,
            max_queue: 0,
            statistics_since: Time::ZERO,
        }
    }

    /// One flow of 40 ms, from the start.
    pub fn alone(path: Path, name: &str, parameters: Value) -> Network {
        let mut network = Network::new(path);
        network.add(name, parameters, 40, 0);
        network
    }

    /// Adds a flow with `delay_ms` of propagation that starts after `start_ms`.
    pub fn add(&mut self, name: &str, parameters: Value, delay_ms: u64, start_ms: u64) {
        let flow = self.flows.len();
        let parameters: Map<String, Value> = serde_json::from_value(parameters).expect("a table");
        let controller =
            catalog().build(name, &parameters, Rng::new(100 * self.seed + flow as u64 + 5)).expect("valid parameters");
        // The handshake's round trip, without the data packet's transmission.
        let rtt_us = (delay_ms * 1_000 + self.path.service_us) as u32;
        let view = View { paced: true, srtt_us_x8: 8 * rtt_us, min_rtt_us: rtt_us, ..View::new(MSS) };
        self.flows.push(Flow {
            controller,
            view,
            control: Control::default(),
            propagation_us: delay_ms * 1_000,
            packets: VecDeque::new(),
            first: 0,
            next: 0,
            in_flight: 0,
            first_sent_us: 0,
            recovery_begin: 0,
            recovery_end: 0,
            highest_acked: 0,
            limit_mark: 0,
            last_progress: Time::ZERO,
            send_pending: true,
            modes: Vec::new(),
            sent: 0,
            sent_before: 0,
            lost_before: 0,
            delivered_before: 0,
        });
        self.at(Time::ZERO + Duration::from_millis(start_ms), What::Send { flow });
    }

    fn at(&mut self, time: Time, what: What) {
        self.agenda.push(Reverse((time, self.events.len() as u64)));
        self.events.push(what);
    }

    /// Runs `seconds` and forgets the statistics of what came before.
    pub fn settle(&mut self, seconds: f64) {
        self.run(seconds);
        self.reset_statistics();
    }

    /// Runs until `seconds` of virtual time.
    pub fn run(&mut self, seconds: f64) {
        let until = Time::ZERO + Duration::from_micros((seconds * 1e6) as u64);
        self.run_while(|network| network.agenda.peek().is_some_and(|next| next.0.0 <= until));
        self.now = until;
    }

    /// Runs while `condition` holds.
    pub fn run_while(&mut self, condition: impl Fn(&Network) -> bool) {
        while condition(self) {
            let Some(Reverse((time, number))) = self.agenda.pop() else { return };
            self.now = time;
            match self.events[number as usize] {
                What::Transmitted => self.transmitted(),
                What::Ack { flow, number, marked } => self.acknowledged(flow, number, marked),
                What::Send { flow } => {
                    let state = &mut self.flows[flow];
                    state.send_pending = false;
                    if state.next == 0 {
                        state.refresh_clock(self.now);
                        state.last_progress = self.now;
                        state.controller.init(&state.view, &mut state.control);
                        self.at(time + Duration::from_millis(300), What::Timeout { flow });
                    }
                    self.send(flow);
                }
                What::Timeout { flow } => self.timeout(flow),
            }
        }
    }

    /// Forgets the queue's and the flows' statistics.
    fn reset_statistics(&mut self) {
        self.account_queue();
        self.queue_integral = 0.0;
        self.max_queue = self.queue.len();
        self.statistics_since = self.now;
        for flow in &mut self.flows {
            flow.sent_before = flow.sent;
            flow.lost_before = flow.view.lost;
            flow.delivered_before = flow.view.delivered;
            flow.modes.clear();
        }
    }

    fn account_queue(&mut self) {
        self.queue_integral += self.queue.len() as f64 * (self.now - self.queue_since).as_secs_f64();
        self.queue_since = self.now;
    }

    /// Mean number of packets waiting or in transmission since the statistics began.
    pub fn mean_queue(&mut self) -> f64 {
        self.account_queue();
        self.queue_integral / (self.now - self.statistics_since).as_secs_f64()
    }

    /// Mean throughput of every flow in Mbit/s since the statistics began.
    pub fn throughput(&self) -> Vec<f64> {
        let seconds = (self.now - self.statistics_since).as_secs_f64();
        let bits = |flow: &Flow| (flow.view.delivered - flow.delivered_before) as f64 * f64::from(MSS) * 8.0;
        self.flows.iter().map(|flow| bits(flow) / seconds / 1e6).collect()
    }

    /// Lost per sent packet of all flows since the statistics began.
    pub fn loss_ratio(&self) -> f64 {
        let lost: u64 = self.flows.iter().map(|flow| flow.view.lost - flow.lost_before).sum();
        let sent: u64 = self.flows.iter().map(|flow| flow.sent - flow.sent_before).sum();
        lost as f64 / sent as f64
    }

    /// Packets waiting or in transmission.
    pub fn queue_len(&self) -> usize {
        self.queue.len()
    }

    fn send(&mut self, index: usize) {
        loop {
            let now = self.now;
            let flow = &mut self.flows[index];
            flow.refresh_clock(now);
            let limited = flow.in_flight >= flow.control.cwnd;
            if flow.highest_acked >= flow.limit_mark || limited {
                flow.view.cwnd_limited = limited;
                flow.limit_mark = flow.next;
                flow.view.max_packets_out = flow.in_flight;
            }
            if limited {
                return;
            }
            if flow.controller.wants_pacing() && flow.view.next_departure > now {
                if !flow.send_pending {
                    flow.send_pending = true;
                    let when = flow.view.next_departure;
                    self.at(when, What::Send { flow: index });
                }
                return;
            }
            let number = flow.transmit(now);
            if self.path.loss > 0.0 && self.rng.uniform() < self.path.loss {
                continue;
            }
            if self.queue.len() >= self.path.buffer {
                continue;
            }
            let wants = self.flows[index].controller.ecn() != EcnMode::None;
            let marked = wants && self.path.mark_above.is_some_and(|limit| self.queue.len() > limit);
            self.account_queue();
            self.queue.push_back((index, number, marked));
            self.max_queue = self.max_queue.max(self.queue.len());
            if self.queue.len() == 1 {
                self.at(now + Duration::from_micros(self.path.service_us), What::Transmitted);
            }
        }
    }

    fn transmitted(&mut self) {
        self.account_queue();
        let Some((flow, number, marked)) = self.queue.pop_front() else { return };
        let arrival = self.now + Duration::from_micros(self.flows[flow].propagation_us);
        self.at(arrival, What::Ack { flow, number, marked });
        if !self.queue.is_empty() {
            self.at(self.now + Duration::from_micros(self.path.service_us), What::Transmitted);
        }
    }

    fn acknowledged(&mut self, index: usize, number: u64, marked: bool) {
        let flow = &mut self.flows[index];
        flow.refresh_clock(self.now);
        flow.on_ack(number, marked);
        let mode = flow.controller.mode();
        if flow.modes.last().is_none_or(|(_, last)| *last != mode) {
            flow.modes.push((self.now.as_secs_f64(), mode.to_owned()));
        }
        self.send(index);
    }

    fn timeout(&mut self, index: usize) {
        let wait = Duration::from_millis(300);
        let flow = &mut self.flows[index];
        flow.refresh_clock(self.now);
        let due = flow.last_progress + wait;
        if due > self.now {
            self.at(due, What::Timeout { flow: index });
            return;
        }
        flow.last_progress = self.now;
        flow.on_timeout();
        self.at(self.now + wait, What::Timeout { flow: index });
        self.send(index);
    }
}

impl Flow {
    fn refresh_clock(&mut self, now: Time) {
        self.view.now = now;
        self.view.mstamp_us = now.as_micros();
        self.view.jiffies = (now.as_micros() / 1_000) as u32;
    }

    fn transmit(&mut self, now: Time) -> u64 {
        let now_us = self.view.mstamp_us;
        if self.in_flight == 0 {
            if self.next > 0 {
                self.controller.event(&self.view, &mut self.control, Event::TxStart);
            }
            self.first_sent_us = now_us;
            self.view.delivered_mstamp_us = now_us;
        }
        self.in_flight += 1;
        self.view.packets_out = self.in_flight;
        self.packets.push_back(Sent {
            at_us: now_us,
            first_sent_us: self.first_sent_us,
            delivered_us: self.view.delivered_mstamp_us,
            delivered: self.view.delivered,
            delivered_ce: self.view.delivered_ce,
            lost: self.view.lost,
            in_flight: self.in_flight,
            is_app_limited: self.control.app_limited != 0,
            outstanding: true,
        });
        let gap_ns = u64::from(MSS) * 1_000_000_000 / self.control.pacing_rate.max(1);
        self.view.next_departure = self.view.next_departure.max(now) + Duration::from_nanos(gap_ns);
        self.sent += 1;
        self.next += 1;
        self.next - 1
    }

    fn take(&mut self, number: u64) -> Option<Sent> {
        let packet = self.packets.get_mut(number.checked_sub(self.first)? as usize)?;
        if !std::mem::take(&mut packet.outstanding) {
            return None;
        }
        self.in_flight -= 1;
        self.view.packets_out = self.in_flight;
        Some(*packet)
    }

    fn lose(&mut self, number: u64) -> bool {
        let Some(packet) = self.take(number) else { return false };
        self.view.lost += 1;
        let Sent { in_flight, delivered, lost, is_app_limited, .. } = packet;
        let lost = LostPacket { tx_in_flight: in_flight, delivered, lost, is_app_limited };
        self.controller.packet_lost(&self.view, &mut self.control, &lost);
        true
    }

    fn enter(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }

    fn on_ack(&mut self, number: u64, marked: bool) {
        let prior_in_flight = self.in_flight;
        let Some(packet) = self.take(number) else { return };
        let now_us = self.view.mstamp_us;
        self.last_progress = self.view.now;
        self.highest_acked = self.highest_acked.max(number);
        self.view.delivered += 1;
        self.view.delivered_ce += u64::from(marked);
        self.view.delivered_mstamp_us = now_us;
        self.first_sent_us = packet.at_us;
        if self.control.app_limited != 0 && self.view.delivered > self.control.app_limited {
            self.control.app_limited = 0;
        }
        let rtt_us = now_us - packet.at_us;
        self.view.min_rtt_us = self.view.min_rtt_us.min(rtt_us as u32);
        self.view.srtt_us_x8 = self.view.srtt_us_x8 - self.view.srtt_us_x8 / 8 + rtt_us as u32;

        let mut losses = 0;
        while self.first + REORDERING <= self.highest_acked {
            if self.lose(self.first) {
                losses += 1;
                if self.first < self.recovery_begin {
                    self.recovery_end = self.next;
                }
            }
            self.packets.pop_front();
            self.first += 1;
        }
        if self.view.ca_state >= CaState::Recovery && number >= self.recovery_end {
            self.enter(CaState::Open);
        }
        if losses > 0 && self.view.ca_state == CaState::Open {
            self.recovery_begin = self.next;
            self.recovery_end = self.next;
            self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
            self.enter(CaState::Recovery);
        }
        let interval_us = (packet.at_us - packet.first_sent_us).max(now_us - packet.delivered_us) as i64;
        let sample = RateSample {
            prior_delivered: packet.delivered,
            prior_mstamp_us: packet.delivered_us,
            delivered: (self.view.delivered - packet.delivered) as i32,
            interval_us: if interval_us < i64::from(self.view.min_rtt_us) { -1 } else { interval_us },
            rtt_us: rtt_us as i64,
            losses,
            acked_sacked: 1,
            prior_in_flight,
            is_app_limited: packet.is_app_limited,
            tx_in_flight: packet.in_flight,
            lost_since_sent: self.view.lost.saturating_sub(packet.lost) as i32,
            delivered_ce: (self.view.delivered_ce - packet.delivered_ce) as i32,
            is_ece: marked,
            ..RateSample::default()
        };
        self.controller.cong_control(&self.view, &mut self.control, &sample);
    }

    fn on_timeout(&mut self) {
        if self.view.ca_state != CaState::Loss {
            self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
        }
        self.controller.event(&self.view, &mut self.control, Event::Loss);
        while self.first < self.next {
            self.lose(self.first);
            self.packets.pop_front();
            self.first += 1;
        }
        self.recovery_begin = self.next;
        self.recovery_end = self.next;
        self.control.cwnd = self.in_flight + 1;
        self.enter(CaState::Loss);
    }

    /// The present value of an observable.
    pub fn value(&self, name: &str) -> f64 {
        let names = self.controller.observables();
        let mut values = vec![0.0; names.len()];
        self.controller.observe(&self.view, &self.control, &mut values);
        values[names.iter().position(|n| *n == name).expect("an observable")]
    }

    /// How long a stay in `mode` lasted in milliseconds, the median of all that are over.
    pub fn median_stay_ms(&self, mode: &str) -> f64 {
        let stays = self.modes.windows(2).filter(|pair| pair[0].1 == mode).map(|pair| (pair[1].0 - pair[0].0) * 1e3);
        let mut stays: Vec<f64> = stays.collect();
        stays.sort_by(f64::total_cmp);
        stays[stays.len() / 2]
    }

    /// When `mode` was entered, in seconds.
    pub fn entries(&self, mode: &str) -> Vec<f64> {
        self.modes.iter().filter(|(_, m)| *m == mode).map(|(time, _)| *time).collect()
    }
}
