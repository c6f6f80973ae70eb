//! BBR version 2 (Linux's alpha), and version 3 as a set of parameters.
//!
//! Version 1 knows the path's bandwidth and propagation delay and nothing else: what a buffer can hold, whether packets
//! are lost, that Reno flows need room, it cannot see. Version 2 keeps the model and the four states and adds bounds on
//! the amount in flight. The upper bound, `inflight_hi`, is the largest amount that was seen to be safe: found by
//! probing until a fiftieth of the packets is lost (or half of them is marked), and left alone with a margin for others
//! the rest of the time. The lower bounds, `inflight_lo` and `bw_lo`, react to losses between probes and last until the
//! next one. PROBE_BW becomes a cycle of seconds instead of round trips:
//!
//! ```text
//!   DOWN ---- drained ----> CRUISE ---- time to probe ----> REFILL --- one round ---> UP
//!    ^  leave headroom        hold below inflight_hi          fill the pipe anew         | raise inflight_hi: 1, 2, 4...
//!    +------------------------ loss or marks too high, a queue, or a plateau ------------+
//! ```
//!
//! With every ACK: rounds and the congestion signals of the current loss round (`signals`), marks (`ecn`), ACK
//! aggregation (`aggregation`), the end of STARTUP and DRAIN (`startup`), the cycle (`probe_bw`) with its bounds
//! (`bounds`), the minimum round-trip time and PROBE_RTT (`min_rtt`); then pacing rate (`pacing`) and window
//! (`window`). Unlike version 1 it neither conserves packets in recovery nor looks for policers: the bounds do both.
//! All that these parts know is in `model`.
//!
//! Version 3 is the same machine with other constants, and a few other rules, each of which is a parameter here:
//! STARTUP with a window of two BDP; a DOWN that hardly drains; UP probes until the bandwidth stops growing for three
//! rounds instead of until a queue forms ([`UpExit::Plateau`], [`FullTest::EverySample`]); a STARTUP that ends by loss
//! keeps what was delivered ([`StartupBound::BdpOrDelivered`]); repairs by tail loss probes count as losses. The
//! presets `bbr3`, `bbr3-draft`, `bbr2-quic` and `bbr-n` are nothing but values of [`Parameters`].
//!
//! Bandwidth is in packets/µs × 2^24, gains are in 1/256, minimum round-trip times expire by the kernel's coarse clock.
//!
//! What the preset `bbr3` answers and remembers is compared with a kernel's BBR v3 call by call
//! (`tests/kernel_replay/bbr3.rs`).

mod aggregation;
mod bounds;
mod ecn;
mod min_rtt;
mod model;
mod operating_point;
mod pacing;
mod parameters;
mod probe_bw;
mod signals;
mod snapshot;
mod startup;
mod window;

pub use model::{Bbr2, Mode, Phase};
pub use parameters::{
    Aggregation, Fault, FullTest, LossCount, Parameters, ProbeRttEntry, StartupBound, Timeout, Undo, UpExit,
};
pub use snapshot::Snapshot;

use crate::estimators::{BW_UNIT, has_rate};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{
    Algorithm, CaState, Control, Controller, EcnMode, Event, Hooks, LostPacket, Needs, RateSample, View,
};
use dumbbell_units::Rng;
use model::UNSET;
use std::borrow::Cow;
use std::sync::Arc;

impl Algorithm for Bbr2 {
    type Parameters = Parameters;
    const NAME: &str = "bbr2";
    const EXACT_NAME: &str = "bbr2-linux-alpha";
    const SUMMARY: &str =
        "BBR version 2: bounds the amount in flight by what it found to be safe, and probes every few seconds";
    const SOURCE: &str = "google/bbr v2alpha, net/ipv4/tcp_bbr2.c, commit 8d11b540";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, rng: Rng, exact_name: Arc<str>) -> Bbr2 {
        Bbr2::new(parameters, rng).named(exact_name)
    }
}

impl Controller for Bbr2 {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        *self = Bbr2::new(Arc::clone(&self.parameters), self.rng.clone()).named(Arc::clone(&self.name));
        control.ssthresh = Control::INFINITE_SSTHRESH;
        control.small_queue_shift = self.parameters.small_queue_shift;
        self.initial_window = control.cwnd.min(127);
        self.round.next_delivered = view.delivered;
        self.signals.next_delivered = view.delivered + 1;
        self.start_min_rtt(view);
        self.probe.packets_per_step = u32::MAX;
        self.aggregation.start_epoch(view.mstamp_us);
        self.update_gains();
        self.init_pacing_rate(view, control);
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks { packet_lost: true, min_tso_segs: true, ..Hooks::NONE }
    }

    fn needs(&self) -> Needs {
        Needs { in_flight_by_buffer: self.parameters.in_flight_by_buffer, ..Needs::NONE }
    }

    fn wants_pacing(&self) -> bool {
        true
    }

    fn ecn(&self) -> EcnMode {
        if self.parameters.ecn { EcnMode::Accurate } else { EcnMode::None }
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let bw = signals::sample_bandwidth(sample);
        self.update_round(view, control, sample);
        self.note_echo(sample);
        self.signals.ended = false;
        let is_valid = has_rate(sample) && sample.acked_sacked > 0;
        let notes_delivery_first = self.parameters.latest_signals_last;
        if is_valid && notes_delivery_first {
            self.note_delivery(view, sample, bw);
        }
        if self.model_stands(sample, bw) {
            let before = (self.mode, self.min_rtt.rtt_us);
            self.move_through_states(view, control, sample, bw);
            if self.window_is_set && before == (self.mode, self.min_rtt.rtt_us) {
                return self.finish_ack(view, sample, bw);
            }
        } else {
            if is_valid {
                if !notes_delivery_first {
                    self.note_delivery(view, sample, bw);
                }
                self.update_signals(control, sample, bw);
                self.update_aggregation(view, control, sample.acked_sacked);
            }
            self.check_startup_losses(view, control, sample);
            self.check_full_pipe(view, control, sample, bw);
            self.move_through_states(view, control, sample, bw);
        }
        self.set_operating_point(view, control);
        self.set_window(view, control, sample.acked_sacked);
        self.finish_ack(view, sample, bw);
    }

    fn packet_lost(&mut self, view: &View, control: &mut Control, lost: &LostPacket) {
        self.on_packet_lost(view, control, lost);
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.save_window(control);
        self.save_for_undo();
        control.ssthresh
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        if next == CaState::Loss {
            self.previous_state = CaState::Loss;
            self.on_timeout(control);
        } else if view.ca_state == CaState::Loss {
            control.cwnd = control.cwnd.max(self.prior_cwnd);
            self.window_is_set = false;
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        match self.parameters.undo {
            Undo::Nothing => control.cwnd,
            Undo::Bounds | Undo::State | Undo::Episode => {
                self.undo_bounds(view);
                self.prior_cwnd
            }
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        match event {
            Event::TxStart if control.app_limited != 0 => {
                self.idle_restart = true;
                self.aggregation.start_epoch(view.mstamp_us);
                match self.mode {
                    // Restarting at the bandwidth itself: the pipe is empty, probing can wait.
                    Mode::ProbeBw => self.set_pacing_rate(view, control, self.bw(), Gain::ONE),
                    Mode::ProbeRtt => self.check_probe_rtt_done(view, control),
                    Mode::Startup | Mode::Drain => {}
                }
            }
            Event::TlpRecovery { is_app_limited } if self.parameters.tlp_repair_counts => {
                self.on_repaired_tail(view, control, is_app_limited);
            }
            _ => {}
        }
    }

    fn min_tso_segs(&self, _view: &View, control: &Control) -> u32 {
        self.bursts.smallest(control)
    }

    fn sndbuf_expand(&self) -> u32 {
        // It may slow-start even in recovery (`bbr_sndbuf_expand`).
        3
    }

    fn mode(&self) -> &'static str {
        match (self.mode, self.phase) {
            (Mode::Startup, _) => "startup",
            (Mode::Drain, _) => "drain",
            (Mode::ProbeBw, Phase::Up) => "probe_bw_up",
            (Mode::ProbeBw, Phase::Down) => "probe_bw_down",
            (Mode::ProbeBw, Phase::Cruise) => "probe_bw_cruise",
            (Mode::ProbeBw, Phase::Refill) => "probe_bw_refill",
            (Mode::ProbeRtt, _) => "probe_rtt",
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        [
            "bw_mbps",
            "max_bw_mbps",
            "bw_lo_mbps",
            "min_rtt_ms",
            "pacing_gain",
            "cwnd_gain",
            "inflight_hi_packets",
            "inflight_lo_packets",
            "round",
            "full_bw_reached",
            "ecn_alpha",
            "extra_acked_packets",
            "prior_cwnd_packets",
        ]
        .map(Cow::Borrowed)
        .to_vec()
    }

    fn observe(&self, view: &View, _control: &Control, values: &mut [f64]) {
        let mbps = |bw: u32| f64::from(bw) / BW_UNIT as f64 * f64::from(view.mss) * 8.0;
        let set = |bound: u32| if bound == UNSET { f64::NAN } else { f64::from(bound) };
        let min_rtt = self.min_rtt.rtt_us;
        let current = [
            mbps(self.bw()),
            mbps(self.bandwidth.max()),
            if self.bounds.bw_lo == UNSET { f64::NAN } else { mbps(self.bounds.bw_lo) },
            if min_rtt == View::UNKNOWN_RTT { f64::NAN } else { f64::from(min_rtt) / 1e3 },
            self.pacing_gain.as_f64(),
            self.cwnd_gain.as_f64(),
            set(self.bounds.inflight_hi),
            set(self.bounds.inflight_lo),
            f64::from(self.round.count),
            f64::from(u8::from(self.full_pipe.reached)),
            self.ecn.alpha.as_f64(),
            self.aggregation.max(),
            f64::from(self.prior_cwnd),
        ];
        for (value, current) in values.iter_mut().zip(current) {
            *value = current;
        }
    }
}

#[cfg(test)]
mod tests;
