//! What a sender tells of itself, for the rows of tables.

use dumbbell_cc_contract::{CaState, Control, RateSample, View};
use dumbbell_results::{FlowCounts, FlowSample, UNKNOWN};
use dumbbell_transport::{SenderStats, Sending};

/// Adds to the sample of a flow what its sender knows.
#[inline]
pub fn add_sender(to: &mut FlowSample, sending: &Sending<'_>) {
    let Sending { view, control, controller, sample, .. } = sending;
    to.cwnd = control.cwnd;
    to.ssthresh = Some(control.ssthresh).filter(|&ssthresh| ssthresh < Control::INFINITE_SSTHRESH);
    to.inflight = view.in_flight();
    to.pacing_rate = control.pacing_rate;
    to.srtt_us_x8 = view.srtt_us_x8;
    to.rtt_us = Some(sample.rtt_us).filter(|&rtt_us| rtt_us >= 0);
    to.min_rtt_us = Some(view.min_rtt_us).filter(|&rtt_us| rtt_us != View::UNKNOWN_RTT);
    to.delivery_mbps = (sample.delivered >= 0 && sample.interval_us > 0).then(|| delivery_mbps(sample, view));
    to.delivered = view.delivered;
    to.lost = Some(view.lost);
    to.sacked_out = view.sacked_out;
    to.packets_out = view.packets_out;
    to.ca_state = state_name(view.ca_state);
    to.mode = controller.mode();
}

/// What a sender has counted, of which expiries of timers and probes may be hidden; all else is zero.
pub fn sender_counts(sent: &SenderStats, hides_timers: bool) -> FlowCounts {
    let unless_hidden = |count| if hides_timers { UNKNOWN } else { count };
    FlowCounts {
        sent: sent.sent_segments,
        retransmits: sent.retransmitted_segments,
        rtos: unless_hidden(sent.rto_count),
        spurious_losses: sent.spurious(),
        probes: unless_hidden(sent.probe_count),
        undos: sent.undo_count,
        sent_bytes: sent.sent_bytes,
        ..FlowCounts::default()
    }
}

fn delivery_mbps(sample: &RateSample, view: &View) -> f64 {
    let mss_bits = f64::from(view.mss) * 8.0;
    f64::from(sample.delivered) * mss_bits / sample.interval_us as f64
}

fn state_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}
