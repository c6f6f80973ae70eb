//! What a sender tells of itself, for the rows of tables.

use dumbbell_cc_contract::{Control, RateSample, View};
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
    to.ca_state = view.ca_state.name();
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

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_cc_contract::{CaState, Controller};
    use dumbbell_transport::{Held, Limit};

    struct Phases;

    impl Controller for Phases {
        fn algorithm(&self) -> &'static str {
            "phases"
        }

        fn init(&mut self, _: &View, _: &mut Control) {}

        fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
            control.cwnd
        }

        fn mode(&self) -> &'static str {
            "probe"
        }
    }

    impl Held for Phases {
        fn held_by(&self) -> Limit {
            Limit::Cwnd
        }
    }

    /// What the row of a flow shows of this state.
    fn row(view: &View, control: &Control, sample: &RateSample) -> FlowSample {
        let (controller, stats) = (Phases, SenderStats::default());
        let sending = Sending { view, control, controller: &controller, sample, stats: &stats, sender: &controller };
        let mut row = FlowSample { ca_state: "", mode: "", sent: 5, ..FlowSample::default() };
        add_sender(&mut row, &sending);
        row
    }

    #[test]
    fn what_a_sender_does_not_know_yet_is_missing() {
        let row = row(&View::new(1448), &Control::default(), &RateSample::invalid());
        assert_eq!((row.ssthresh, row.rtt_us, row.min_rtt_us, row.delivery_mbps), (None, None, None, None));
        assert_eq!((row.cwnd, row.ca_state, row.lost), (Control::INITIAL_CWND, "open", Some(0)));
        assert_eq!(row.sent, 5, "what the sender does not tell stays");
    }

    #[test]
    fn a_row_shows_the_state_of_its_sender() {
        let view = View {
            packets_out: 40,
            sacked_out: 6,
            lost_out: 3,
            retrans_out: 2,
            delivered: 700,
            lost: 9,
            srtt_us_x8: 80_000,
            min_rtt_us: 9_000,
            ..View::new(1_250)
        };
        let control = Control { cwnd: 33, ssthresh: 20, pacing_rate: 125_000, ..Control::default() };
        let sample = RateSample { delivered: 20, interval_us: 10_000, rtt_us: 0, ..RateSample::default() };
        let row = row(&view, &control, &sample);
        assert_eq!((row.cwnd, row.ssthresh, row.pacing_rate), (33, Some(20), 125_000));
        assert_eq!((row.inflight, row.packets_out, row.sacked_out), (33, 40, 6));
        assert_eq!((row.srtt_us_x8, row.rtt_us, row.min_rtt_us), (80_000, Some(0), Some(9_000)));
        assert_eq!((row.delivered, row.lost, row.mode), (700, Some(9), "probe"));
        // 20 packets of 10,000 bits in 10 ms.
        assert_eq!(row.delivery_mbps, Some(20.0));
    }

    #[test]
    fn a_rate_needs_packets_that_were_counted_and_a_time_in_which() {
        let rate = |delivered, interval_us| {
            let sample = RateSample { delivered, interval_us, ..RateSample::default() };
            row(&View::new(1_250), &Control::default(), &sample).delivery_mbps
        };
        assert_eq!((rate(-1, 100), rate(1, 0), rate(1, -1)), (None, None, None));
        assert_eq!((rate(0, 100), rate(1, 1)), (Some(0.0), Some(10_000.0)));
    }

    #[test]
    fn states_have_the_names_of_linux() {
        let name =
            |ca_state| row(&View { ca_state, ..View::new(1448) }, &Control::default(), &RateSample::invalid()).ca_state;
        let states = [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];
        assert_eq!(states.map(name), ["open", "disorder", "cwr", "recovery", "loss"]);
    }

    #[test]
    fn timers_are_hidden_where_a_ground_does_not_tell_of_them() {
        let sent = SenderStats {
            sent_segments: 100,
            retransmitted_segments: 12,
            sent_bytes: 144_800,
            rto_count: 2,
            probe_count: 3,
            undo_count: 4,
            recovery_count: 5,
            dsacked_segments: 6,
            spurious_losses: 7,
        };
        let told = FlowCounts {
            sent: 100,
            retransmits: 12,
            rtos: 2,
            spurious_losses: 13,
            probes: 3,
            undos: 4,
            sent_bytes: 144_800,
            ..FlowCounts::default()
        };
        assert_eq!(sender_counts(&sent, false), told);
        assert_eq!(sender_counts(&sent, true), FlowCounts { rtos: UNKNOWN, probes: UNKNOWN, ..told });
    }
}
