//! Replays recorded calls into the congestion control of running Linux kernels and compares everything the kernel
//! answered and remembered, bit for bit: BBR v1 and CUBIC of 6.18.44, BBR v3 of 6.12.117 with Google's patches.
//! `tests/data/README.md` tells where the recordings come from; the complete recordings (41,510 calls and 76,753) are
//! replayed, too, if they are beside the repository.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the numbers are those of these tests, and small"
)]

mod bbr3;

use dumbbell_cc::bbr1::{self, Bbr1};
use dumbbell_cc::cubic::{self, Cubic};
use dumbbell_cc::{CaState, Control, Controller, Event, RateSample, View};
use dumbbell_units::{Rng, Time};
use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// One recorded call.
struct Row<'a> {
    columns: &'a HashMap<String, usize>,
    fields: Vec<&'a str>,
}

impl Row<'_> {
    fn text(&self, column: &str) -> &str {
        self.fields[*self.columns.get(column).unwrap_or_else(|| panic!("no column {column}"))]
    }

    fn signed(&self, column: &str) -> i64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column} = {}", self.text(column)))
    }

    fn long(&self, column: &str) -> u64 {
        u64::try_from(self.signed(column)).unwrap_or_else(|_| panic!("{column} = {}", self.text(column)))
    }

    fn int(&self, column: &str) -> u32 {
        u32::try_from(self.long(column)).unwrap_or_else(|_| panic!("{column} = {}", self.text(column)))
    }

    fn flag(&self, column: &str) -> bool {
        self.signed(column) != 0
    }
}

fn ca_state(number: u32) -> CaState {
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss][number as usize]
}

fn event(number: u32) -> Event {
    const EVENTS: [Event; 6] =
        [Event::TxStart, Event::CwndRestart, Event::CompleteCwr, Event::Loss, Event::EcnNoCe, Event::EcnIsCe];
    EVENTS[number as usize]
}

/// The kernel's sequence numbers, which are modulo 2^32 and begin anywhere, as positions, which only grow.
///
/// Before `init` the private state is all zeros, and CUBIC compares sequence numbers with a zero that is none: whether
/// the connection's first one lies after it (`after()`), its absolute value decides. So positions begin at 1 where it
/// does, and at 0 where it does not; a recorded zero stays one.
#[derive(Clone, Copy, Debug)]
struct Positions {
    first_seq: u32,
    first_position: u64,
}

impl Positions {
    fn from(first_seq: u32) -> Positions {
        Positions { first_seq, first_position: u64::from((first_seq as i32) > 0) }
    }

    fn of(self, seq: u32) -> u64 {
        self.first_position + u64::from(seq.wrapping_sub(self.first_seq))
    }

    fn of_state(self, seq: u32) -> u64 {
        if seq == 0 { 0 } else { self.of(seq) }
    }
}

/// Makes view and control what they were before the call. The pacing rate stays as the controller left it.
fn prepare(view: &mut View, control: &mut Control, row: &Row, positions: Positions) {
    view.hz = 250;
    view.now = Time::from_nanos(row.long("in_tcp_clock_cache_ns"));
    view.mstamp_us = row.long("tcp_mstamp_us");
    view.jiffies = row.int("jiffies32");
    view.mss = row.int("in_mss_cache");
    control.cwnd = row.int("in_snd_cwnd");
    control.cwnd_cnt = row.int("in_snd_cwnd_cnt");
    control.ssthresh = row.int("in_snd_ssthresh");
    view.next_departure = Time::from_nanos(row.long("in_tcp_wstamp_ns"));
    view.packets_out = row.int("in_packets_out");
    view.sacked_out = row.int("in_sacked_out");
    view.lost_out = row.int("in_lost_out");
    view.retrans_out = row.int("in_retrans_out");
    view.max_packets_out = row.int("in_max_packets_out");
    view.cwnd_limited = row.flag("in_is_cwnd_limited");
    view.snd_una = positions.of(row.int("in_snd_una"));
    view.snd_nxt = positions.of(row.int("in_snd_nxt"));
    view.ca_state = ca_state(row.int("in_ca_state"));
    view.delivered = row.long("in_delivered");
    view.lost = row.long("in_lost");
    view.delivered_mstamp_us = row.long("in_delivered_mstamp");
    control.app_limited = row.long("in_app_limited");
    view.srtt_us_x8 = row.int("in_srtt_us_x8");
    view.min_rtt_us = row.int("in_rtt_min_us");
}

fn rate_sample(row: &Row) -> RateSample {
    RateSample {
        prior_delivered: row.long("rs_prior_delivered"),
        prior_mstamp_us: row.long("rs_prior_mstamp"),
        delivered: row.signed("rs_delivered") as i32,
        interval_us: row.signed("rs_interval_us"),
        rtt_us: row.signed("rs_rtt_us"),
        losses: row.int("rs_losses"),
        acked_sacked: row.int("rs_acked_sacked"),
        prior_in_flight: row.int("rs_prior_in_flight"),
        is_app_limited: row.flag("rs_is_app_limited"),
        is_ack_delayed: row.flag("rs_is_ack_delayed"),
        ..RateSample::default()
    }
}

/// Makes the call; its return value, 0 where there is none.
fn call(controller: &mut dyn Controller, view: &View, control: &mut Control, row: &Row) -> u32 {
    match row.text("ev") {
        "init" => controller.init(view, control),
        "cong_control" => controller.cong_control(view, control, &rate_sample(row)),
        "cong_avoid" => controller.cong_avoid(view, control, row.int("arg")),
        "pkts_acked" => {
            let (acked, in_flight) = (row.int("rs_delivered"), row.int("rs_prior_in_flight"));
            controller.pkts_acked(view, control, acked, row.signed("rs_rtt_us"), in_flight);
        }
        "set_state" => controller.set_state(view, control, ca_state(row.int("arg"))),
        "cwnd_event" => controller.event(view, control, event(row.int("arg"))),
        "ssthresh" => return controller.ssthresh(view, control),
        "undo_cwnd" => return controller.undo_cwnd(view, control),
        other => panic!("unknown call {other}"),
    }
    0
}

/// What BBR v1 and CUBIC are compared by: window, credit, threshold, return value.
fn answers(control: &Control, returned: u32) -> [u32; 4] {
    [control.cwnd, control.cwnd_cnt, control.ssthresh, returned]
}

fn recorded_answers(row: &Row) -> [u32; 4] {
    [row.int("out_snd_cwnd"), row.int("out_snd_cwnd_cnt"), row.int("out_snd_ssthresh"), row.int("ret")]
}

fn bbr_snapshot(row: &Row) -> bbr1::Snapshot {
    let flags = row.long("flags");
    let flag = |shift: u32| (flags >> shift) & 0xff;
    bbr1::Snapshot {
        mode: [bbr1::Mode::Startup, bbr1::Mode::Drain, bbr1::Mode::ProbeBw, bbr1::Mode::ProbeRtt]
            [row.int("mode") as usize],
        min_rtt_us: row.int("min_rtt_us"),
        bw: ["bw0", "bw1", "bw2"].map(|slot| row.int(slot)),
        rtt_cnt: row.int("rtt_cnt"),
        next_rtt_delivered: row.long("next_rtt_delivered"),
        cycle_idx: row.int("cycle_idx"),
        pacing_gain: row.int("pacing_gain"),
        cwnd_gain: row.int("cwnd_gain"),
        full_bw: row.int("full_bw"),
        full_bw_cnt: flag(0) as u32,
        full_bw_reached: flag(8) != 0,
        packet_conservation: flag(16) != 0,
        round_start: flag(24) != 0,
        idle_restart: flag(32) != 0,
        lt_use_bw: flag(40) != 0,
        lt_is_sampling: flag(48) != 0,
        lt_bw: row.int("lt_bw"),
        lt_rtt_cnt: row.int("lt_rtt_cnt"),
        prior_cwnd: row.int("prior_cwnd"),
        min_rtt_stamp: row.int("min_rtt_stamp"),
        probe_rtt_done_stamp: row.int("probe_rtt_done_stamp"),
        cycle_mstamp: row.long("cycle_mstamp"),
        extra_acked: ["extra_acked0", "extra_acked1"].map(|slot| row.int(slot)),
        ack_epoch_acked: row.int("ack_epoch_acked"),
        ack_epoch_mstamp: row.long("ack_epoch_mstamp"),
    }
}

fn cubic_snapshot(row: &Row, positions: Positions) -> cubic::Snapshot {
    cubic::Snapshot {
        cnt: row.int("cnt"),
        last_max_cwnd: row.int("last_max_cwnd"),
        last_cwnd: row.int("last_cwnd"),
        last_time: row.int("last_time"),
        bic_origin_point: row.int("bic_origin_point"),
        bic_k: row.int("bic_K"),
        delay_min: row.int("delay_min"),
        epoch_start: row.int("epoch_start"),
        ack_cnt: row.int("ack_cnt"),
        tcp_cwnd: row.int("tcp_cwnd"),
        sample_cnt: row.int("sample_cnt"),
        found: row.flag("found"),
        round_start: row.int("round_start"),
        end_seq: positions.of_state(row.int("end_seq")),
        last_ack: row.int("last_ack"),
        curr_rtt: row.int("curr_rtt"),
    }
}

fn replay_bbr() -> impl FnMut(&Row, &str) {
    let mut bbr = Bbr1::new(bbr1::Parameters::default(), Rng::new(0));
    let mut view = View { paced: true, ..View::new(1448) };
    let mut control = Control::default();
    move |row, place| {
        prepare(&mut view, &mut control, row, Positions::from(0));
        // The kernel's random choice, taken up only by a call that enters PROBE_BW.
        bbr.force_first_phase(row.int("cycle_idx") as usize);
        let returned = call(&mut bbr, &view, &mut control, row);
        assert_eq!(
            answers(&control, returned),
            recorded_answers(row),
            "{place}: window, credit, threshold, return value"
        );
        assert_eq!(control.pacing_rate, row.long("out_pacing_rate_Bps"), "{place}: pacing rate");
        assert_eq!(bbr.snapshot(), bbr_snapshot(row), "{place}");
    }
}

fn replay_cubic() -> impl FnMut(&Row, &str) {
    let mut cubic = Cubic::new(cubic::Parameters::default());
    let (mut view, mut control) = (View::new(1448), Control::default());
    let mut positions = None;
    move |row, place| {
        let positions = *positions.get_or_insert_with(|| Positions::from(row.int("in_snd_una")));
        prepare(&mut view, &mut control, row, positions);
        let returned = call(&mut cubic, &view, &mut control, row);
        assert_eq!(
            answers(&control, returned),
            recorded_answers(row),
            "{place}: window, credit, threshold, return value"
        );
        assert_eq!(cubic.snapshot(), cubic_snapshot(row, positions), "{place}");
        // The stack, not CUBIC, sets the pacing rate.
        control.pacing_rate = u64::try_from(row.signed("out_pacing_rate_Bps")).unwrap_or(u64::MAX);
    }
}

/// Makes one call and compares its effects; the text says where in the file it is.
type Check = Box<dyn FnMut(&Row, &str)>;

/// The lines of a recording.
fn lines_of(path: &Path) -> impl Iterator<Item = String> {
    let file = File::open(path).expect("the recording is there");
    BufReader::new(GzDecoder::new(file)).lines().map(|line| line.expect("the recording is text"))
}

/// Replays a file and returns how many of its calls there were by mode (both versions of BBR) or by name (CUBIC).
fn replay(path: &Path) -> HashMap<String, usize> {
    replay_lines(&path.file_name().unwrap_or_default().to_string_lossy(), lines_of(path))
}

fn replay_lines(name: &str, mut lines: impl Iterator<Item = String>) -> HashMap<String, usize> {
    let columns = lines.next().expect("a header").split(',').map(str::to_owned).zip(0..).collect::<HashMap<_, _>>();
    let is_bbr = columns.contains_key("mode");
    let mut check: Check = match (is_bbr, columns.contains_key("probe_wait_us")) {
        (_, true) => Box::new(bbr3::replay()),
        (true, false) => Box::new(replay_bbr()),
        (false, false) => Box::new(replay_cubic()),
    };
    let mut seen = HashMap::new();
    let mut calls = 0;
    for (line, number) in lines.zip(2..) {
        let row = Row { columns: &columns, fields: line.split(',').collect() };
        check(&row, &format!("{name}, line {number}, {}", row.text("ev")));
        *seen.entry(row.text(if is_bbr { "mode" } else { "ev" }).to_owned()).or_default() += 1;
        calls += 1;
    }
    println!("{name}: {calls} calls compared, no difference");
    seen
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn excerpt(name: &str) -> HashMap<String, usize> {
    replay(&data(name))
}

#[test]
fn bbr_answers_every_recorded_call_like_the_kernel() {
    let clean = excerpt("bbr_10M_40ms_1bdp.csv.gz");
    assert!(["0", "1", "2", "3"].iter().all(|mode| clean[*mode] > 20), "every mode is covered: {clean:?}");
}

#[test]
fn bbr_answers_recorded_losses_like_the_kernel() {
    let lossy = excerpt("bbr_10M_40ms_1bdp_loss1.csv.gz");
    assert!(lossy["2"] > 300, "{lossy:?}");
}

#[test]
fn cubic_answers_every_recorded_call_like_the_kernel() {
    let calls = excerpt("cubic_10M_40ms_1bdp.csv.gz");
    assert!(calls["ssthresh"] >= 1 && calls["cong_avoid"] > 200 && calls["pkts_acked"] > 200, "{calls:?}");
}

#[test]
fn bbr_v3_answers_every_recorded_call_like_its_kernel() {
    let clean = excerpt("bbr3_10M_40ms_1bdp.csv.gz");
    assert!(["0", "1", "2", "3"].iter().all(|mode| clean[*mode] > 50), "every mode is covered: {clean:?}");
    assert!(excerpt("bbr3_10M_40ms_loss1.csv.gz")["2"] > 300, "losses in PROBE_BW");
    excerpt("bbr3_reorder_8ms.csv.gz");
}

/// The recording as it would be of a connection whose sequence space begins at `first_seq`. Only the call before `init`
/// depends on that: where `first_seq` is after zero, CUBIC takes the beginning for the end of a round of HyStart, and
/// remembers at once what `init` remembers (`hystart_update`, `bictcp_hystart_reset`).
fn moved_to(first_seq: u32, lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut rows: Vec<Vec<String>> = lines.map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| column == name).expect("the column");
    let (una, end_seq) = (column("in_snd_una"), column("end_seq"));
    let round = ["round_start", "end_seq", "curr_rtt", "last_ack"].map(column);
    assert_eq!((rows[1][0].as_str(), rows[2][0].as_str()), ("pkts_acked", "init"));
    let shift = first_seq.wrapping_sub(rows[1][una].parse().expect("a number"));
    if first_seq as i32 > 0 {
        for column in round {
            rows[1][column] = rows[2][column].clone();
        }
    }
    for row in &mut rows[1..] {
        for column in [una, una + 1, end_seq] {
            let seq: u32 = row[column].parse().expect("a number");
            if column != end_seq || seq != 0 {
                row[column] = seq.wrapping_add(shift).to_string();
            }
        }
    }
    rows.iter().map(|row| row.join(",")).collect()
}

#[test]
fn a_recording_replays_wherever_its_sequence_space_begins() {
    // Behind zero, before it, and so that the numbers wrap.
    for first_seq in [1, 0x7fff_ffff, 0x8000_0000, u32::MAX - 20_000] {
        let lines = moved_to(first_seq, lines_of(&data("cubic_10M_40ms_1bdp.csv.gz")));
        let calls = replay_lines(&format!("from {first_seq}"), lines.into_iter());
        assert!(calls["pkts_acked"] > 200, "{calls:?}");
    }
}

/// Replays the complete recordings in a folder beside the repository, if it is there.
fn replay_complete(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/groundtruth").join(folder);
    let Ok(entries) = folder.read_dir() else {
        println!("the complete recordings are not here; the excerpts stand for them");
        return;
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".csv.gz"));
    files.sort();
    assert!(!files.is_empty());
    let calls: usize = files.iter().map(|file| replay(file).values().sum::<usize>()).sum();
    println!("{calls} calls compared in all");
}

#[test]
fn the_complete_recordings_of_linux_replay_without_a_difference() {
    replay_complete("linux-6.18/callback-vectors");
}

#[test]
fn the_complete_recordings_of_bbr_v3_replay_without_a_difference() {
    replay_complete("linux-6.12-bbr3/calls");
}
