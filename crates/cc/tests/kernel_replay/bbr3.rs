//! BBR v3's calls: what the preset `bbr3` answers and remembers.

use super::{Positions, Row, event, prepare, rate_sample};
use dumbbell_cc::bbr2::{Bbr2, Mode, Phase, Snapshot};
use dumbbell_cc::{Catalog, Control, Controller, Event, LostPacket, RateSample, View};
use dumbbell_units::Rng;
use std::any::Any;

/// `CA_EVENT_TLP_RECOVERY` of this kernel.
const TLP_RECOVERY: u32 = 6;

fn snapshot(row: &Row) -> Snapshot {
    Snapshot {
        mode: [Mode::Startup, Mode::Drain, Mode::ProbeBw, Mode::ProbeRtt][row.int("mode") as usize],
        cycle: [Phase::Up, Phase::Down, Phase::Cruise, Phase::Refill][row.int("cycle_idx") as usize],
        ack_phase: row.int("ack_phase"),
        min_rtt_us: row.int("min_rtt_us"),
        min_rtt_stamp: row.int("min_rtt_stamp"),
        probe_rtt_min_us: row.int("probe_rtt_min_us"),
        probe_rtt_min_stamp: row.int("probe_rtt_min_stamp"),
        probe_rtt_done_stamp: row.int("probe_rtt_done_stamp"),
        probe_rtt_round_done: row.flag("probe_rtt_round_done"),
        next_rtt_delivered: row.long("next_rtt_delivered"),
        cycle_mstamp: row.long("cycle_mstamp"),
        prev_ca_state: row.int("prev_ca_state"),
        round_start: row.flag("round_start"),
        idle_restart: row.flag("idle_restart"),
        try_fast_path: row.flag("try_fast_path"),
        init_cwnd: row.int("init_cwnd"),
        prior_cwnd: row.int("prior_cwnd"),
        pacing_gain: row.int("pacing_gain"),
        cwnd_gain: row.int("cwnd_gain"),
        full_bw: row.int("full_bw"),
        full_bw_cnt: row.int("full_bw_cnt"),
        full_bw_now: row.flag("full_bw_now"),
        full_bw_reached: row.flag("full_bw_reached"),
        has_seen_rtt: row.flag("has_seen_rtt"),
        ack_epoch_mstamp: row.long("ack_epoch_mstamp"),
        ack_epoch_acked: row.int("ack_epoch_acked"),
        extra_acked: ["extra_acked0", "extra_acked1"].map(|slot| row.int(slot)),
        startup_ecn_rounds: row.int("startup_ecn_rounds"),
        loss_in_cycle: row.flag("loss_in_cycle"),
        ecn_in_cycle: row.flag("ecn_in_cycle"),
        loss_round_delivered: row.long("loss_round_delivered"),
        loss_round_start: row.flag("loss_round_start"),
        loss_in_round: row.flag("loss_in_round"),
        ecn_in_round: row.flag("ecn_in_round"),
        loss_events_in_round: row.int("loss_events_in_round"),
        bw_latest: row.int("bw_latest"),
        bw_lo: row.int("bw_lo"),
        bw_hi: ["bw_hi0", "bw_hi1"].map(|slot| row.int(slot)),
        inflight_latest: row.int("inflight_latest"),
        inflight_lo: row.int("inflight_lo"),
        inflight_hi: row.int("inflight_hi"),
        undo: ["undo_bw_lo", "undo_inflight_lo", "undo_inflight_hi"].map(|saved| row.int(saved)),
        bw_probe_up_rounds: row.int("bw_probe_up_rounds"),
        bw_probe_up_cnt: row.int("bw_probe_up_cnt"),
        bw_probe_up_acks: row.int("bw_probe_up_acks"),
        bw_probe_samples: row.flag("bw_probe_samples"),
        prev_probe_too_high: row.flag("prev_probe_too_high"),
        stopped_risky_probe: row.flag("stopped_risky_probe"),
        rounds_since_probe: row.int("rounds_since_probe"),
        probe_wait_us: row.long("probe_wait_us"),
        ecn_eligible: row.flag("ecn_eligible"),
        ecn_alpha: row.int("ecn_alpha"),
        alpha_last_delivered: row.long("alpha_last_delivered"),
        alpha_last_delivered_ce: row.long("alpha_last_delivered_ce"),
    }
}

fn sample(row: &Row) -> RateSample {
    RateSample {
        tx_in_flight: row.int("rs_tx_in_flight"),
        lost_since_sent: row.signed("rs_lost") as i32,
        delivered_ce: row.signed("rs_delivered_ce") as i32,
        is_retrans: row.flag("rs_is_retrans"),
        is_ece: row.flag("rs_is_ece"),
        is_acking_tlp: row.flag("rs_is_acking_tlp_retrans_seq"),
        ..rate_sample(row)
    }
}

fn call(controller: &mut dyn Controller, view: &View, control: &mut Control, row: &Row) -> u32 {
    match row.text("ev") {
        "cong_control" => controller.cong_control(view, control, &sample(row)),
        "skb_marked_lost" => {
            let lost = LostPacket {
                tx_in_flight: row.int("rs_tx_in_flight"),
                delivered: row.long("rs_prior_delivered"),
                lost: row.long("rs_prior_lost"),
                is_app_limited: row.flag("rs_is_app_limited"),
            };
            controller.packet_lost(view, control, &lost);
        }
        "cwnd_event" => {
            let number = row.int("arg");
            let is_app_limited = row.flag("rs_is_app_limited");
            let said = if number == TLP_RECOVERY { Event::TlpRecovery { is_app_limited } } else { event(number) };
            controller.event(view, control, said);
        }
        _ => return super::call(controller, view, control, row),
    }
    0
}

/// The fields in which two states differ, ours first.
fn differences(ours: &Snapshot, theirs: &Snapshot) -> String {
    let [ours, theirs] = [ours, theirs].map(|state| format!("{state:#?}"));
    let differ = ours.lines().zip(theirs.lines()).filter(|(ours, theirs)| ours != theirs);
    differ.map(|(ours, theirs)| format!("{} / {}", ours.trim(), theirs.trim())).collect::<Vec<_>>().join("; ")
}

/// Makes the calls of a recording, one after the other, and compares their effects.
pub fn replay() -> impl FnMut(&Row, &str) {
    let recipe = Catalog::builtin().recipe("bbr3", &serde_json::Map::new()).expect("it is built in");
    let mut controller = recipe.controller(Rng::new(0));
    let mut view = View { paced: true, ..View::new(1448) };
    let mut control = Control::default();
    move |row, place| {
        prepare(&mut view, &mut control, row, Positions::from(0));
        view.delivered_ce = row.long("in_delivered_ce");
        let returned = call(&mut *controller, &view, &mut control, row);
        let bbr = (&mut *controller as &mut dyn Any).downcast_mut::<Bbr2>().expect("bbr3 is a set of its parameters");
        // The kernel's random choices, where this call made them.
        if bbr.snapshot().cycle_mstamp == view.mstamp_us {
            bbr.force_wait(row.int("rounds_since_probe"), row.long("probe_wait_us"));
        }
        let answers = [control.cwnd, control.ssthresh, returned];
        let recorded = [row.int("out_snd_cwnd"), row.int("out_snd_ssthresh"), row.int("ret")];
        // Before `init` the kernel's state is zeroed, which ours never is.
        let (ours, theirs) = (bbr.snapshot(), snapshot(row));
        assert!(!row.flag("initialized") || ours == theirs, "{place}: {}", differences(&ours, &theirs));
        assert_eq!(answers, recorded, "{place}: window, threshold, return value");
        assert_eq!(control.pacing_rate, row.long("out_pacing_rate_Bps"), "{place}: pacing rate");
    }
}
