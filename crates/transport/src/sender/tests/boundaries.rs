//! ACKs that lie just beside those that a rule is about.

use super::harness::{Scripted, at};
use crate::TransportConfig;
use dumbbell_units::Duration;

#[test]
fn the_timer_for_forgotten_data_runs_from_the_ack_that_advanced_and_not_from_its_copies() {
    let mut script = Scripted::bulk(20, 10);
    script.ack(at(100), 0, &[(5, 6)]);
    // The receiver expects what it had: half a round trip from now on the queue is sent again.
    script.ack(at(101), 5, &[]);
    let due = script.sender.next_timer();
    script.ack(at(110), 5, &[]);
    // 101 ms and half of a smoothed round trip a little above 100 ms, in whole ticks.
    assert_eq!((due, script.sender.next_timer()), (at(152), at(152)));
}

/// How many reductions are taken back when the ACK after a timeout covers what was sent again and what was not.
fn undone_by_an_ack_of_both(sack: bool) -> u64 {
    let config = TransportConfig { sack, timestamps: false, tail_loss_probe: false, ..TransportConfig::default() };
    let mut script = Scripted::new(TransportConfig { timer_wheel: false, ..config }, 10, 5);
    assert_eq!(script.write(10).len(), 10);
    let timeout = script.sender.next_timer();
    assert_eq!(script.advance_to(timeout), [0]);
    let now = script.now + Duration::from_millis(10);
    script.ack(now, 4, &[]);
    script.sender.stats().undo_count
}

#[test]
fn an_ack_of_what_was_sent_again_and_of_what_was_not_proves_a_timeout_spurious_with_sack_alone() {
    // Without it the three above the hole may have arrived before the timeout.
    assert_eq!((undone_by_an_ack_of_both(true), undone_by_an_ack_of_both(false)), (1, 0));
}

/// Ten segments were sent, nobody answered, the probe has sent the last of them again, and then all have arrived. Hears
/// something else, lets another segment be acknowledged, and returns whether the window was reduced for a lost tail.
fn is_reduced_after(other: impl FnOnce(&mut Scripted)) -> bool {
    let mut script = Scripted::new(TransportConfig { timer_wheel: false, ..TransportConfig::default() }, 10, 5);
    assert_eq!(script.write(10).len(), 10);
    let probe = script.sender.next_timer();
    assert_eq!(script.advance_to(probe), [9]);
    let now = script.now + Duration::from_millis(10);
    script.ack(now, 10, &[]);
    other(&mut script);
    assert_eq!(script.write(1), [10]);
    let later = script.now + Scripted::RTT;
    script.ack(later, 11, &[]);
    script.calls.reductions() > 0
}

#[test]
fn an_answer_to_a_needless_probe_counts_although_nothing_is_outstanding_any_more() {
    assert!(is_reduced_after(|_| ()), "the probe was not answered: it has repaired a loss");
    let hears = |script: &mut Scripted, sacks: &[(u32, u32)], more_window: u32| {
        let ack = script.ack_of(10, sacks);
        let window = crate::AdvertisedWindow::whole(ack.window.segments() + more_window);
        script.hear(&crate::Ack { window, ..ack });
    };
    assert!(!is_reduced_after(|script| hears(script, &[(9, 10)], 0)), "it is reported as a duplicate");
    assert!(!is_reduced_after(|script| hears(script, &[], 0)), "the ACK changes nothing");
    assert!(is_reduced_after(|script| hears(script, &[], 10)), "the ACK tells of a larger window");
}
