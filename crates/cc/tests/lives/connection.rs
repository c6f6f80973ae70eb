//! The transport of these lives, as simple as the contract of a controller allows.

use crate::digest::Digest;
use crate::path::{Packet, Path};
use crate::{Life, accidents};
use dumbbell_cc::{
    AckFlags, CaState, Control, Controller, EcnMode, Event, Hooks, LostPacket, RateSample, Recipe, View,
};
use dumbbell_units::{Rng, Time};
use std::fmt::Write;

/// More packets than any window here, for each that the path holds without a queue.
const PLENTY: u32 = 20;
/// ACKs in a life that is not stretched, and from one row of the table to the next.
const ACKS: u32 = 1_200;
const ACKS_PER_ROW: u32 = 240;
/// Packets leave on a grid of half a millisecond.
const GRID_US: u64 = 500;
const IDLE_US: u64 = 2_000_000;
/// From one packet to the next of an application that has hardly anything to send.
const TRICKLE_US: u64 = 100_000;

pub struct Connection {
    exact_name: String,
    controller: Box<dyn Controller>,
    hooks: Hooks,
    takes_marks: bool,
    slowness: u64,
    stretch: u32,
    plenty: u32,
    view: View,
    control: Control,
    path: Path,
    now_us: u64,
    next_departure_us: u64,
    /// How many packets the application has at a time.
    app_limit: u32,
    /// A reduction is over when everything before this position is acknowledged.
    reduced_until: u64,
    prior_ssthresh: u32,
    reductions: u32,
    values: Vec<f64>,
    digest: Digest,
}

impl Connection {
    pub fn new(recipe: &Recipe, life: Life) -> Connection {
        let controller = recipe.controller(Rng::new(1));
        let view = View { hz: life.hz, paced: controller.wants_pacing(), ..View::new(1_000) };
        let view = View { cwnd_clamp: life.cwnd_clamp, ..view };
        let path = Path::new(life, accidents());
        let base_rtt_us = u32::try_from(path.base_rtt_us).unwrap();
        let view = match life.knows_rtt {
            true => View { srtt_us_x8: 8 * base_rtt_us, min_rtt_us: base_rtt_us, ..view },
            false => view,
        };
        let hooks = controller.hooks();
        let plenty = PLENTY * u32::try_from(life.width).unwrap();
        let takes_marks = controller.ecn() != EcnMode::None || recipe.changed().contains_key("ecn");
        let mut connection = Connection {
            values: vec![f64::NAN; controller.observables().len()],
            controller,
            exact_name: recipe.exact_name().to_owned(),
            view,
            hooks,
            takes_marks,
            slowness: life.slowness,
            control: Control { pacing_rate: 10 * 1_000 * 100, ..Control::default() },
            path,
            now_us: 0,
            next_departure_us: 0,
            stretch: life.stretch,
            plenty,
            app_limit: plenty,
            reduced_until: 0,
            prior_ssthresh: Control::INFINITE_SSTHRESH,
            reductions: 0,
            digest: Digest::new(),
        };
        connection.pass_until(20_000 * life.slowness);
        connection.controller.init(&connection.view, &mut connection.control);
        connection
    }

    /// Goes through the script and returns its rows, each of which has the digest of everything until then.
    pub fn live(mut self) -> Vec<String> {
        let mut rows = Vec::new();
        for ack in 0..ACKS * self.stretch {
            if ack.is_multiple_of(self.stretch) {
                self.follow_the_script(ack / self.stretch);
            }
            self.send();
            self.pass_to_the_next_ack();
            self.note();
            if (ack + 1).is_multiple_of(ACKS_PER_ROW * self.stretch) {
                rows.push(self.row());
            }
        }
        assert_eq!(self.controller.algorithm(), self.exact_name, "it forgets its name");
        rows
    }

    fn follow_the_script(&mut self, ack: u32) {
        match ack {
            250 => self.be_idle(),
            330 => self.time_out(),
            400 => self.app_limit = 4,
            500 => self.app_limit = self.plenty,
            600 => self.tell(Event::EcnIsCe),
            610 => self.tell(Event::EcnNoCe),
            620 => self.tell(Event::TlpRecovery { is_app_limited: false }),
            700 => self.path.base_rtt_us += 4_000 * self.slowness,
            800 => self.path.base_rtt_us -= 4_000 * self.slowness,
            900 => self.app_limit = 1,
            901..1_010 if self.view.packets_out == 0 => self.pass_until(self.now_us + TRICKLE_US * self.slowness),
            1_010 => self.app_limit = self.plenty,
            _ => {}
        }
    }

    fn tell(&mut self, event: Event) {
        self.controller.event(&self.view, &mut self.control, event);
    }

    fn pass_until(&mut self, now_us: u64) {
        self.now_us = now_us;
        let view = &mut self.view;
        view.now = Time::from_nanos(now_us * 1_000);
        view.mstamp_us = now_us;
        // Never 0, which some controllers take for "never".
        view.jiffies = 1_000 + u32::try_from(now_us * u64::from(view.hz) / 1_000_000).unwrap();
    }

    /// Sends what window, pacing and application allow.
    fn send(&mut self) {
        loop {
            let most = self.control.cwnd.min(self.app_limit);
            self.view.no_unsent_data = self.app_limit < self.control.cwnd;
            if self.view.in_flight() >= most {
                self.view.cwnd_limited = self.view.in_flight() >= self.control.cwnd;
                self.view.max_packets_out = self.view.packets_out;
                if self.view.no_unsent_data {
                    self.control.app_limited = self.view.delivered + u64::from(self.view.in_flight());
                }
                return;
            }
            if self.next_departure_us > self.now_us {
                return;
            }
            self.send_packet();
        }
    }

    fn send_packet(&mut self) {
        if self.view.packets_out == 0 {
            self.view.delivered_mstamp_us = self.now_us;
            self.tell(Event::TxStart);
        }
        self.view.packets_out += 1;
        self.view.snd_nxt += 1;
        self.view.last_sent = self.view.now;
        self.path.send(Packet {
            sent_us: self.now_us,
            heard_us: 0,
            is_lost: false,
            is_marked: false,
            prior_delivered: self.view.delivered,
            prior_delivered_ce: self.view.delivered_ce,
            prior_lost: self.view.lost,
            prior_mstamp_us: self.view.delivered_mstamp_us,
            tx_in_flight: self.view.in_flight(),
            is_app_limited: self.control.app_limited > 0,
        });
        if self.view.paced && self.control.pacing_rate > 0 {
            let pause_us = u64::from(self.view.mss) * 1_000_000 / self.control.pacing_rate;
            // Never later than a second, whatever the controller thinks.
            let departure_us = self.now_us.max(self.next_departure_us) + pause_us.min(1_000_000);
            self.next_departure_us = departure_us.next_multiple_of(GRID_US / 2);
            self.view.next_departure = Time::from_nanos(self.next_departure_us * 1_000);
        }
    }

    /// Lets time pass until something is heard; what may leave before leaves.
    fn pass_to_the_next_ack(&mut self) {
        loop {
            let next_us = self.path.next_us();
            let is_blocked = self.next_departure_us > self.now_us;
            if is_blocked && next_us.is_none_or(|next_us| self.next_departure_us < next_us) {
                self.pass_until(self.next_departure_us);
                self.send();
                continue;
            }
            self.pass_until(
                next_us.unwrap_or(self.now_us + self.path.service_us).next_multiple_of(GRID_US).max(self.now_us),
            );
            let packets = self.path.heard(self.now_us);
            self.acknowledge(&packets);
            return;
        }
    }

    fn acknowledge(&mut self, packets: &[Packet]) {
        let Some(last) = packets.last() else { return };
        let count = u32::try_from(packets.len()).unwrap();
        let losses = u32::try_from(packets.iter().filter(|packet| packet.is_lost).count()).unwrap();
        let marks = packets.iter().filter(|packet| packet.is_marked && !packet.is_lost).count() as u64;
        let marks = if self.takes_marks { marks } else { 0 };
        let prior_in_flight = self.view.in_flight();
        self.view.snd_una += u64::from(count);
        self.view.packets_out -= count;
        self.view.delivered += u64::from(count - losses);
        self.view.delivered_ce += marks;
        let sample = RateSample { losses, prior_in_flight, is_ece: marks > 0, ..self.sample(packets) };
        if count > losses {
            self.view.delivered_mstamp_us = self.now_us;
            if self.control.app_limited > 0 && self.view.delivered > self.control.app_limited {
                self.control.app_limited = 0;
            }
            self.measure(sample.rtt_us);
            let in_flight = u32::try_from(self.view.delivered - last.prior_delivered).unwrap();
            if self.controller.needs().timestamps && sample.rtt_us > 0 {
                // The way back takes no time.
                let [value, echo] = [self.now_us, self.now_us - sample.rtt_us.unsigned_abs()];
                let ms = |us: u64| u32::try_from(us / 1_000).unwrap();
                self.controller.ack_timestamps(ms(value), ms(echo));
            }
            if self.hooks.pkts_acked {
                self.controller.pkts_acked(&self.view, &mut self.control, count - losses, sample.rtt_us, in_flight);
            }
        }
        let flags = AckFlags { slow_path: losses > 0, ece: marks > 0, window_update: false };
        if self.hooks.in_ack_event {
            self.controller.in_ack_event(&self.view, &mut self.control, flags);
        }
        self.lose(packets.iter().filter(|packet| packet.is_lost));
        match self.view.ca_state {
            CaState::Open if losses > 0 => self.reduce(CaState::Recovery),
            CaState::Open if marks > 0 => {
                self.view.marked = true;
                self.reduce(CaState::Cwr);
            }
            CaState::Open => {}
            _ if self.view.snd_una >= self.reduced_until => self.end_reduction(),
            _ => {}
        }
        self.govern(&sample);
    }

    /// The rate sample of the newest packet that was delivered.
    fn sample(&self, packets: &[Packet]) -> RateSample {
        let Some(newest) = packets.iter().rfind(|packet| !packet.is_lost) else { return RateSample::invalid() };
        let (delivered, delivered_ce) =
            (self.view.delivered - newest.prior_delivered, self.view.delivered_ce - newest.prior_delivered_ce);
        RateSample {
            prior_delivered: newest.prior_delivered,
            prior_mstamp_us: newest.prior_mstamp_us,
            delivered: i32::try_from(delivered).unwrap(),
            interval_us: i64::try_from(self.now_us - newest.prior_mstamp_us).unwrap(),
            rtt_us: i64::try_from(self.now_us - newest.sent_us).unwrap(),
            acked_sacked: u32::try_from(packets.iter().filter(|packet| !packet.is_lost).count()).unwrap(),
            is_app_limited: newest.is_app_limited,
            tx_in_flight: newest.tx_in_flight,
            lost_since_sent: i32::try_from(self.view.lost - newest.prior_lost).unwrap(),
            delivered_ce: i32::try_from(delivered_ce).unwrap(),
            ..RateSample::default()
        }
    }

    fn measure(&mut self, rtt_us: i64) {
        let rtt_us = u32::try_from(rtt_us).unwrap();
        if self.view.srtt_us_x8 == 0 {
            self.view.srtt_us_x8 = 7 * rtt_us;
        }
        self.view.srtt_us_x8 += rtt_us;
        self.view.srtt_us_x8 -= (self.view.srtt_us_x8 - rtt_us) / 8;
        self.view.min_rtt_us = self.view.min_rtt_us.min(rtt_us);
    }

    fn lose<'a>(&mut self, packets: impl Iterator<Item = &'a Packet>) {
        for packet in packets {
            self.view.lost += 1;
            let lost = LostPacket {
                tx_in_flight: packet.tx_in_flight,
                delivered: packet.prior_delivered,
                lost: packet.prior_lost,
                is_app_limited: packet.is_app_limited,
            };
            if self.hooks.packet_lost {
                self.controller.packet_lost(&self.view, &mut self.control, &lost);
            }
        }
    }

    /// Growth outside of reductions, or the one hook of controllers that own the window.
    fn govern(&mut self, sample: &RateSample) {
        if self.controller.full_control() {
            self.controller.cong_control(&self.view, &mut self.control, sample);
            return;
        }
        if !self.view.in_reduction() && sample.acked_sacked > 0 {
            self.controller.cong_avoid(&self.view, &mut self.control, sample.acked_sacked);
            if self.controller.needs().reductions
                && self.controller.begins_reduction()
                && self.view.ca_state == CaState::Open
            {
                self.reduce(CaState::Cwr);
            }
        }
    }

    fn ask_for_the_threshold(&mut self) {
        self.view.prior_cwnd = self.control.cwnd;
        self.prior_ssthresh = self.control.ssthresh;
        self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
        self.view.marked = false;
    }

    fn enter(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }

    fn reduce(&mut self, state: CaState) {
        self.ask_for_the_threshold();
        self.enter(state);
        if !self.controller.full_control() {
            self.control.cwnd = self.control.cwnd.min(self.control.ssthresh).max(1);
            self.control.cwnd_cnt = 0;
        }
        self.reduced_until = self.view.snd_nxt;
        self.reductions += 1;
    }

    /// Every fourth reduction proves spurious.
    fn end_reduction(&mut self) {
        if self.reductions.is_multiple_of(4) {
            self.control.cwnd = self.controller.undo_cwnd(&self.view, &self.control);
            self.control.ssthresh = self.control.ssthresh.max(self.prior_ssthresh);
        }
        self.enter(CaState::Open);
        if !self.controller.full_control() {
            self.tell(Event::CompleteCwr);
        }
    }

    fn time_out(&mut self) {
        if self.view.ca_state == CaState::Open {
            self.ask_for_the_threshold();
            self.tell(Event::Loss);
        }
        let packets = self.path.lose_all();
        self.lose(packets.iter());
        self.control.cwnd = 1;
        self.control.cwnd_cnt = 0;
        self.view.packets_out = 0;
        self.view.snd_una = self.view.snd_nxt;
        self.reduced_until = self.view.snd_nxt + packets.len() as u64;
        self.reductions += 1;
        self.enter(CaState::Loss);
    }

    /// Everything is acknowledged, and nothing sent for long.
    fn be_idle(&mut self) {
        while let Some(next_us) = self.path.next_us() {
            self.pass_until(next_us.max(self.now_us));
            let packets = self.path.heard(self.now_us);
            self.acknowledge(&packets);
        }
        self.pass_until((self.now_us + IDLE_US * self.slowness).next_multiple_of(GRID_US));
        self.tell(Event::CwndRestart);
        if !self.controller.full_control() {
            self.control.ssthresh = self.control.current_ssthresh();
            self.control.cwnd = self.control.cwnd.min(Control::INITIAL_CWND);
        }
    }

    /// What the controller has made of it all.
    fn note(&mut self) {
        self.controller.observe(&self.view, &self.control, &mut self.values);
        let control = &self.control;
        for value in [control.cwnd, control.cwnd_cnt, control.ssthresh, control.pacing_shift] {
            self.digest.add(value.into());
        }
        for value in [self.now_us, control.cwnd_bytes, control.pacing_rate, control.app_limited] {
            self.digest.add(value);
        }
        let smallest_burst = self.controller.min_tso_segs(&self.view, control);
        assert!(self.hooks.min_tso_segs || smallest_burst == Hooks::MIN_TSO_SEGS, "nobody would ask");
        self.digest.add(smallest_burst.into());
        self.digest.add(self.controller.sndbuf_expand().into());
        for byte in self.controller.mode().bytes() {
            self.digest.add(byte.into());
        }
        for value in &self.values {
            self.digest.add_real(*value);
        }
    }

    fn row(&self) -> String {
        let Control { cwnd, cwnd_cnt, ssthresh, pacing_rate, .. } = self.control;
        let state = format!("{:?}", self.view.ca_state);
        let mut row = format!("{:>9} us {state:<8} {cwnd:>4} {cwnd_cnt:>4} {ssthresh:>10}", self.now_us);
        write!(row, " {pacing_rate:>9} {} {}", self.digest, self.controller.mode()).unwrap();
        for (name, value) in self.controller.observables().iter().zip(&self.values) {
            write!(row, " {name}={value:.4}").unwrap();
        }
        row
    }
}
