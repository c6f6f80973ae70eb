//! What a controller hears of what a library tells.

use super::*;
use std::sync::{Arc, Mutex};

const MTU: u16 = 1_200;

/// What the controller was told, one line a call.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn say(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    /// What it was told since the last time.
    fn news(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Writes down what it hears. A loss halves its window; it grows by what is acknowledged.
struct Listens {
    told: Told,
    owns: bool,
}

impl Controller for Listens {
    fn algorithm(&self) -> &'static str {
        "listens"
    }

    fn full_control(&self) -> bool {
        self.owns
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.told.say(format!("init {} {}", view.srtt_us_x8 / 8, view.min_rtt_us));
        if self.owns {
            control.pacing_rate = 0;
        }
    }

    fn event(&mut self, _: &View, _: &mut Control, event: Event) {
        self.told.say(format!("{event:?}"));
    }

    fn pkts_acked(&mut self, view: &View, _: &mut Control, acked: u32, rtt_us: i64, in_flight: u32) {
        self.told.say(format!("acked {acked} rtt {rtt_us} of {in_flight}, {} left", view.packets_out));
    }

    fn in_ack_event(&mut self, _: &View, _: &mut Control, _: AckFlags) {
        self.told.say("ack".to_owned());
    }

    fn cong_avoid(&mut self, _: &View, control: &mut Control, acked: u32) {
        self.told.say(format!("grow {acked}"));
        control.cwnd += acked;
    }

    fn cong_control(&mut self, _: &View, _: &mut Control, sample: &RateSample) {
        self.told.say(format!("sample {} lost {} of {}", sample.acked_sacked, sample.losses, sample.prior_in_flight));
    }

    fn packet_lost(&mut self, view: &View, _: &mut Control, lost: &LostPacket) {
        self.told.say(format!("lost {} of {}", view.lost, lost.tx_in_flight));
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.told.say(format!("ssthresh{}", if view.marked { " marked" } else { "" }));
        control.cwnd / 2
    }

    fn set_state(&mut self, view: &View, _: &mut Control, next: CaState) {
        self.told.say(format!("{:?} to {next:?}", view.ca_state));
    }

    fn undo_cwnd(&mut self, view: &View, _: &Control) -> u32 {
        self.told.say("undo".to_owned());
        view.prior_cwnd
    }
}

fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A governor before its handshake.
fn governor(owns: bool, undo: bool) -> (Governor, Told) {
    let told = Told::default();
    let controller = Box::new(Listens { told: told.clone(), owns });
    (Governor::new(controller, Terms { mtu: MTU, initial_cwnd: 10, undo }), told)
}

/// Acknowledges packets that left at `sent`, with one ACK that leaves `in_flight` bytes.
fn ack(governor: &mut Governor, now: u64, sent: u64, numbers: impl IntoIterator<Item = u64>, in_flight: u64) {
    for number in numbers {
        let acked = Acked { number, sent_at: ms(sent), bytes: MTU.into(), srtt: Duration::from_millis(50) };
        governor.acked(ms(now), acked);
    }
    governor.end_ack(ms(now), in_flight, false);
}

fn send(governor: &mut Governor, now: u64, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        governor.sent(ms(now), MTU, number);
    }
}

/// A governor whose connection was there after 40 ms, and that has told its controller of it.
fn established(owns: bool, undo: bool) -> (Governor, Told) {
    let (mut governor, told) = governor(owns, undo);
    send(&mut governor, 0, [0]);
    ack(&mut governor, 40, 0, [0], 0);
    governor.settle();
    assert_eq!(told.news(), ["init 40000 40000"]);
    (governor, told)
}

/// One that has lost packet 1 of 1 to 8 and noticed it with an ACK for 2 and 3 at 90 ms.
fn in_recovery(owns: bool, undo: bool) -> (Governor, Told) {
    let (mut governor, told) = established(owns, undo);
    send(&mut governor, 50, 1..9);
    ack(&mut governor, 90, 50, 2..4, 6 * 1_200);
    governor.lost(ms(90), MTU, 1);
    governor.congested(ms(90), Congestion { largest: 1, is_persistent: false, is_ecn: false });
    (governor, told)
}

#[test]
fn a_window_has_packets_of_the_paths_mtu_or_the_bytes_that_a_controller_counts() {
    let (mut governor, _) = governor(false, true);
    assert_eq!(governor.window(), 12_000);
    governor.set_mtu(1_400);
    assert_eq!((governor.window(), governor.view().mss), (14_000, 1_400));
    governor.set_mtu(0);
    assert_eq!((governor.window(), governor.view().mss), (10, 1));
    assert!(governor.steer(ms(1), &mut |_, _, control| control.cwnd_bytes = 5_555));
    assert_eq!(governor.window(), 5_555);
}

#[test]
fn who_steers_sees_the_instant_and_is_asked_whether_a_lever_has_changed() {
    let (mut governor, _) = governor(true, true);
    let mut seen = (0, 0);
    assert!(!governor.steer(ms(7), &mut |_, view, _| seen = (view.mstamp_us, view.jiffies)));
    assert_eq!((seen, governor.view().now), ((7_000, 7), ms(7)));
    assert!(governor.steer(ms(7), &mut |_, _, control| control.pacing_rate = 9));
    assert_eq!(governor.pacing_rate(), Some(9));
}

#[test]
fn a_pacing_rate_is_that_of_a_controller_that_sets_one() {
    let (own, _) = established(true, true);
    assert_eq!(own.pacing_rate(), None, "it has not yet");
    let (left, _) = established(false, true);
    assert_eq!(left.pacing_rate(), None);
    // 12,000 bytes in 40 ms, and a quarter more.
    assert_eq!(left.control().pacing_rate, 375_000, "for reports");
}

#[test]
fn what_the_librarys_own_controller_decides_is_mirrored_in_packets() {
    let (mut governor, _) = governor(true, true);
    governor.mirror(30_000, Some(12_100), Some(77));
    let Control { cwnd, cwnd_bytes, ssthresh, pacing_rate, .. } = *governor.control();
    assert_eq!((cwnd, cwnd_bytes, ssthresh, pacing_rate), (25, 30_000, 10, 77));
    governor.mirror(2_400, None, None);
    let Control { cwnd, ssthresh, pacing_rate, .. } = *governor.control();
    assert_eq!((cwnd, ssthresh, pacing_rate), (2, Control::INFINITE_SSTHRESH, 77));
}

#[test]
fn packets_of_the_handshake_are_not_told() {
    let (mut governor, told) = governor(false, true);
    send(&mut governor, 0, 0..3);
    governor.lost(ms(10), MTU, 0);
    governor.congested(ms(10), Congestion { largest: 0, is_persistent: false, is_ecn: false });
    assert!(told.news().is_empty());
    ack(&mut governor, 40, 0, [1], 1_200);
    assert_eq!(told.news(), ["init 40000 40000"]);
    // What left before is neither delivered nor lost to the controller.
    ack(&mut governor, 41, 0, [2], 0);
    governor.settle();
    send(&mut governor, 42, [3]);
    assert_eq!(told.news(), ["TxStart"]);
    let View { delivered, lost, packets_out, .. } = *governor.view();
    assert_eq!((delivered, lost, packets_out), (0, 0, 1));
}

#[test]
fn a_packet_that_leaves_while_nothing_is_in_flight_begins_to_transmit() {
    let (mut governor, told) = established(false, true);
    send(&mut governor, 50, 1..3);
    assert_eq!(told.news(), ["TxStart"]);
    ack(&mut governor, 90, 50, 1..3, 0);
    governor.settle();
    told.news();
    send(&mut governor, 100, 3..5);
    assert_eq!(told.news(), ["TxStart"]);
    let View { snd_una, snd_nxt, last_sent, packets_out, .. } = *governor.view();
    assert_eq!((snd_una, snd_nxt, last_sent, packets_out), (3, 5, ms(100), 2));
}

#[test]
fn an_ack_is_told_as_a_whole_and_its_end_when_something_else_follows() {
    let (mut governor, told) = established(false, true);
    send(&mut governor, 50, 1..5);
    told.news();
    ack(&mut governor, 95, 50, 1..4, 1_200);
    assert_eq!(told.news(), ["acked 3 rtt 45000 of 3, 1 left", "ack"]);
    governor.settle();
    assert_eq!((told.news(), governor.window()), (vec!["grow 3".to_owned()], 13 * 1_200));
    let View { delivered, snd_una, srtt_us_x8, min_rtt_us, delivered_mstamp_us, .. } = *governor.view();
    assert_eq!((delivered, snd_una, srtt_us_x8, min_rtt_us), (3, 4, 400_000, 40_000));
    assert_eq!(delivered_mstamp_us, 95_000);
    // The same packet again is nothing new.
    ack(&mut governor, 96, 50, [3], 1_200);
    governor.settle();
    assert!(told.news().is_empty());
    // The next ACK settles the one before.
    send(&mut governor, 97, [5]);
    ack(&mut governor, 100, 50, [4], 1_200);
    ack(&mut governor, 140, 97, [5], 0);
    assert_eq!(
        told.news(),
        ["acked 1 rtt 50000 of 4, 1 left", "ack", "grow 1", "acked 1 rtt 43000 of 2, 0 left", "ack"]
    );
}

#[test]
fn a_controller_with_full_control_gets_a_sample_of_each_ack() {
    let (mut governor, told) = in_recovery(true, true);
    let heard = told.news();
    assert_eq!(heard[0..3], ["TxStart", "acked 2 rtt 40000 of 2, 6 left", "ack"]);
    assert_eq!(heard[3..], ["lost 1 of 1", "ssthresh", "Open to Recovery"]);
    assert_eq!(governor.window(), 12_000, "the window is its own");
    governor.settle();
    assert_eq!(told.news(), ["sample 2 lost 1 of 8"]);
    ack(&mut governor, 91, 50, [4], 4 * 1_200);
    governor.settle();
    assert_eq!(told.news()[2..], ["sample 1 lost 0 of 5"]);
    // The ACK that ends recovery is one of it.
    send(&mut governor, 92, [9]);
    ack(&mut governor, 140, 92, [9], 4 * 1_200);
    governor.settle();
    assert_eq!(told.news()[2..], ["sample 1 lost 0 of 5", "Recovery to Open"]);
}

#[test]
fn losses_reduce_a_window_once_until_what_left_afterwards_is_acknowledged() {
    let (mut governor, told) = in_recovery(false, true);
    let heard = told.news();
    assert_eq!(heard[3..], ["lost 1 of 1", "ssthresh", "Open to Recovery"]);
    assert_eq!((governor.control().cwnd, governor.control().ssthresh, governor.reductions()), (5, 5, (1, 0)));
    send(&mut governor, 91, [9]);
    told.news();
    // Another loss among those that had left already.
    ack(&mut governor, 92, 50, [5], 5 * 1_200);
    governor.lost(ms(92), MTU, 8);
    governor.congested(ms(92), Congestion { largest: 8, is_persistent: false, is_ecn: false });
    governor.settle();
    assert_eq!(told.news()[2..], ["lost 2 of 8"], "no reduction, and no growth");
    ack(&mut governor, 140, 91, [9], 3 * 1_200);
    governor.settle();
    assert_eq!(told.news()[2..], ["Recovery to Open", "CompleteCwr", "grow 1"]);
    assert_eq!((governor.control().cwnd, governor.reductions()), (6, (1, 0)));
}

#[test]
fn a_mark_reduces_without_recovery_and_says_so() {
    let (mut governor, told) = established(false, true);
    send(&mut governor, 50, 1..3);
    ack(&mut governor, 90, 50, [1], 1_200);
    told.news();
    governor.congested(ms(90), Congestion { largest: 2, is_persistent: false, is_ecn: true });
    assert_eq!(told.news(), ["ssthresh marked", "Open to Cwr"]);
    assert!(!governor.view().marked && governor.control().cwnd == 5 && governor.view().prior_cwnd == 10);
}

#[test]
fn persistent_congestion_leaves_the_smallest_window() {
    let persistent = Congestion { largest: 8, is_persistent: true, is_ecn: false };
    let (mut governor, told) = established(false, true);
    send(&mut governor, 50, 1..9);
    told.news();
    governor.congested(ms(90), persistent);
    assert_eq!(told.news(), ["ssthresh", "Loss", "Open to Loss"]);
    assert_eq!((governor.control().cwnd, governor.control().ssthresh), (2, 5));
    // Slow start begins at once.
    ack(&mut governor, 91, 50, [8], 7 * 1_200);
    governor.settle();
    assert_eq!(told.news()[2..], ["Loss to Open", "grow 1"]);

    let (mut governor, told) = in_recovery(false, true);
    told.news();
    governor.congested(ms(95), persistent);
    assert_eq!(told.news(), ["Recovery to Loss"], "the reduction was under way");
    assert_eq!((governor.control().cwnd, governor.reductions()), (2, (1, 0)));
}

#[test]
fn to_full_control_persistent_congestion_lasts_until_what_left_afterwards_is_acknowledged() {
    let (mut governor, told) = established(true, true);
    send(&mut governor, 50, 1..9);
    governor.congested(ms(90), Congestion { largest: 8, is_persistent: true, is_ecn: false });
    told.news();
    ack(&mut governor, 91, 50, [8], 7 * 1_200);
    send(&mut governor, 92, [9]);
    assert_eq!(told.news()[2..], ["sample 1 lost 0 of 8"]);
    ack(&mut governor, 140, 92, [9], 7 * 1_200);
    governor.settle();
    assert_eq!(told.news()[2..], ["sample 1 lost 0 of 8", "Loss to Open"]);
}

#[test]
fn a_reduction_that_proves_spurious_is_taken_back() {
    let (mut governor, told) = in_recovery(false, true);
    governor.settle();
    told.news();
    governor.spurious();
    governor.settle();
    assert_eq!(told.news(), ["undo", "Recovery to Open"]);
    let Control { cwnd, ssthresh, .. } = *governor.control();
    assert_eq!((cwnd, ssthresh, governor.reductions()), (10, Control::INFINITE_SSTHRESH, (1, 1)));
    // Another loss of packets that had left before begins a reduction.
    governor.congested(ms(95), Congestion { largest: 5, is_persistent: false, is_ecn: false });
    assert_eq!(
        (told.news(), governor.reductions()),
        (vec!["ssthresh".to_owned(), "Open to Recovery".to_owned()], (2, 1))
    );
}

#[test]
fn nothing_is_taken_back_where_that_is_off_or_nothing_was_reduced() {
    let (mut governor, told) = in_recovery(false, false);
    governor.settle();
    told.news();
    governor.spurious();
    governor.settle();
    assert_eq!((told.news(), governor.reductions()), (vec![], (1, 0)));
    let (mut governor, told) = established(false, true);
    governor.spurious();
    governor.settle();
    assert_eq!((told.news(), governor.reductions()), (vec![], (0, 0)));
}

#[test]
fn an_ack_for_a_packet_that_was_overtaken_tells_no_round_trip_time() {
    let (mut governor, told) = established(false, true);
    send(&mut governor, 50, 1..3);
    ack(&mut governor, 95, 50, [2], 1_200);
    told.news();
    ack(&mut governor, 99, 50, [1], 0);
    assert_eq!(told.news()[1..], ["acked 1 rtt -1 of 2, 0 left", "ack"]);
}

#[test]
fn positions_go_on_where_numbers_begin_again() {
    let (mut governor, told) = established(false, true);
    send(&mut governor, 50, 1..4);
    // Another space of packet numbers.
    send(&mut governor, 51, 0..2);
    assert_eq!((governor.view().snd_nxt, governor.view().packets_out), (6, 5));
    told.news();
    // The library has discarded the space before without a word.
    ack(&mut governor, 95, 51, [0], 1_200);
    let View { packets_out, snd_una, delivered, .. } = *governor.view();
    assert_eq!((packets_out, snd_una, delivered), (1, 5, 1));
    assert!(governor.memory() > 0);
}

#[test]
fn a_window_holds_back_until_the_application_does() {
    let (mut governor, _) = established(false, true);
    send(&mut governor, 50, 1..4);
    governor.cwnd_limited();
    assert_eq!((governor.view().cwnd_limited, governor.view().max_packets_out), (true, 3));
    ack(&mut governor, 90, 50, [1], 2 * 1_200);
    governor.settle();
    assert!(governor.view().cwnd_limited && !governor.view().no_unsent_data);
    let acked = Acked { number: 2, sent_at: ms(50), bytes: MTU.into(), srtt: Duration::from_millis(40) };
    governor.acked(ms(91), acked);
    governor.end_ack(ms(91), 1_200, true);
    governor.settle();
    assert!(!governor.view().cwnd_limited && governor.view().no_unsent_data);
    // What leaves now belongs to a bubble of two packets delivered and one in flight.
    assert_eq!(governor.control().app_limited, 3);
    ack(&mut governor, 92, 50, [3], 0);
    send(&mut governor, 93, 4..6);
    ack(&mut governor, 140, 93, 4..6, 0);
    governor.settle();
    assert_eq!(governor.control().app_limited, 0, "the bubble has left");
}
