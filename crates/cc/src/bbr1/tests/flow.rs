//! A BBR on a path that exists in its acknowledgements only: 10 Mbit/s and a minimum round-trip time of 41.2 ms.
//!
//! The tests of `dumbbell-cc-family` use this file, too; what it needs is imported where it is included.

use super::{BW_UNIT, Bbr1, Control, Controller, Duration, Gain, MaxFilter, RateSample, Rules, View};

/// 10 Mbit/s in packets of 1500 bytes on the wire: one packet per 1.2 ms.
pub const BW: u32 = (BW_UNIT / 1_200) as u32;
/// 40 ms of propagation and the packet's own 1.2 ms: a BDP of 34.3 packets.
pub const MIN_RTT_US: u32 = 41_200;

/// A connection with its controller, and the acknowledgements it is fed.
pub struct Flow<R: Rules> {
    pub bbr: Bbr1<R>,
    pub view: View,
    pub control: Control,
}

impl<R: Rules> Flow<R> {
    /// Established, nothing sent.
    pub fn established(bbr: Bbr1<R>) -> Flow<R> {
        let view = View { srtt_us_x8: 8 * MIN_RTT_US, min_rtt_us: MIN_RTT_US, paced: true, ..View::new(1448) };
        let mut flow = Flow { bbr, view, control: Control::default() };
        flow.wait(Duration::from_secs(1));
        flow.bbr.init(&flow.view, &mut flow.control);
        flow
    }

    /// Cruising in PROBE_BW at 10 Mbit/s in phase `phase`, the window at its target and as much in flight as one BDP.
    pub fn established_in(bbr: Bbr1<R>, phase: usize) -> Flow<R> {
        let mut flow = Flow::established(bbr);
        flow.view.delivered = 10_000;
        let core = &mut flow.bbr.core;
        core.bandwidth = MaxFilter::new(100, BW);
        core.round.count = 100;
        core.round.next_delivered = 10_000;
        core.state.full_pipe = true;
        core.min_rtt.rtt_us = MIN_RTT_US;
        flow.bbr.force_first_phase(phase);
        flow.view.delivered_mstamp_us = flow.view.mstamp_us;
        flow.enter_probe_bw();
        flow.update_gains();
        flow.control.pacing_rate = flow.bytes_per_second(BW, flow.bbr.core.pacing_gain);
        flow.view.packets_out = 34;
        flow.control.cwnd = flow.target();
        flow
    }

    pub fn enter_probe_bw(&mut self) {
        let Bbr1 { core, rules, .. } = &mut self.bbr;
        core.enter_probe_bw(rules, &self.view);
    }

    pub fn update_gains(&mut self) {
        let Bbr1 { core, rules, .. } = &mut self.bbr;
        core.update_gains(rules);
    }

    pub fn bytes_per_second(&self, bw: u32, gain: Gain) -> u64 {
        self.bbr.core.pacing.bytes_per_second(&self.view, bw, gain)
    }

    pub fn inflight_target(&self, bw: u32, gain: Gain) -> u32 {
        let Bbr1 { core, rules, .. } = &self.bbr;
        core.inflight_target(rules, &self.view, &self.control, bw, gain)
    }

    pub fn target(&self) -> u32 {
        self.inflight_target(self.bbr.core.bw(), self.bbr.core.cwnd_gain)
    }

    pub fn in_network(&self, in_flight: u32) -> u32 {
        let Bbr1 { core, rules, .. } = &self.bbr;
        core.in_network(rules, &self.view, &self.control, in_flight)
    }

    pub fn wait(&mut self, span: Duration) {
        self.view.now += span;
        self.view.mstamp_us = self.view.now.as_micros();
        self.view.jiffies = self.view.mstamp_us as u32 / 1_000;
    }

    /// A sample of the current round at 10 Mbit/s that delivers `acked` packets.
    pub fn sample(&self, acked: u32) -> RateSample {
        RateSample {
            prior_delivered: self.bbr.core.round.next_delivered.saturating_sub(1),
            delivered: 34,
            interval_us: 34 * 1_200,
            rtt_us: i64::from(MIN_RTT_US) + 1_000,
            acked_sacked: acked,
            prior_in_flight: self.view.in_flight(),
            ..RateSample::default()
        }
    }

    pub fn ack(&mut self, sample: &RateSample) {
        self.wait(Duration::from_micros(1_200) * u64::from(sample.acked_sacked));
        self.view.delivered += u64::from(sample.acked_sacked);
        if sample.acked_sacked > 0 {
            self.view.delivered_mstamp_us = self.view.mstamp_us;
        }
        self.bbr.cong_control(&self.view, &mut self.control, sample);
    }

    /// An ACK of one packet in the current round.
    pub fn ack_one(&mut self) {
        self.ack(&self.sample(1));
    }

    /// An ACK of one packet that starts a round.
    pub fn ack_round(&mut self) {
        self.ack(&RateSample { prior_delivered: self.bbr.core.round.next_delivered, ..self.sample(1) });
    }
}
