//! ACKs that lie just beside those that a rule is about.

use super::harness::{Scripted, at};
use crate::TransportConfig;
use dumbbell_units::Duration;

#[test]
fn the_timer_for_forgotten_data_runs_from_the_ack_that_advanced_and_not_from_its_copies() {
    let mut script = Scripted::bulk(20, 10);
    script.ack(at(100), 0, &[(5, 6)]);
    // The receiver expects what it had: half a round trip from now the queue is sent again.
    script.ack(at(101), 5, &[]);
    let due = script.sender.next_timer();
    assert!(due <= at(151 + 1), "{due}");
    script.ack(at(110), 5, &[]);
    assert_ne!(script.sender.next_timer(), due + Duration::from_millis(9), "the copy has not moved it on");
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
