use super::*;

fn filled(count: u32) -> Scoreboard {
    let mut board = Scoreboard::new();
    for n in 0..count {
        board.push_burst(&Record { sent: Stamp::at_us(u64::from(n)), ..Record::default() }, 1, 1448);
    }
    board
}

#[test]
fn the_ring_grows_and_keeps_order_tags_and_list() {
    let mut board = filled(60);
    for _ in 0..50 {
        board.pop_una();
    }
    for n in 60..110 {
        board.push_burst(&Record { sent: Stamp::at_us(n), ..Record::default() }, 1, 1448);
    }
    board.set_sacked(70);
    board.get_mut(55).flags |= flag::LOST;
    board.set_waiting(55);
    for n in 110..300 {
        board.push_burst(&Record { sent: Stamp::at_us(n), ..Record::default() }, 1, 1448);
    }
    assert_eq!(listed(&board), (50..300).filter(|&s| s != 70).collect::<Vec<_>>());
    assert_eq!(board.first_waiting(), Some(55));
    assert_eq!(board.next_unsacked(70, 80), Some(71));
    assert_eq!(board.get(200).sent.us(), 200);
}

#[test]
fn a_burst_is_one_record_after_the_other() {
    let mut board = filled(1);
    board.push_burst(&Record { tx_in_flight: 7, len: 1448, ..Record::default() }, 100, 500);
    let of = |seq| (board.get(seq).tx_in_flight, board.get(seq).len, board.get(seq).has(flag::BURST_START));
    assert_eq!((of(1), of(2), of(100)), ((8, 1448, true), (9, 1448, false), (107, 500, false)));
    assert_eq!((board.list_next(0), board.list_next(99), board.list_next(100)), (Some(1), Some(100), None));
}

#[test]
fn originals_leave_together_up_to_the_first_segment_that_was_sent_again() {
    let mut board = filled(10);
    board.push_again(&Record::default(), 6, 1);
    assert_eq!((board.end_of_originals(4), board.end_of_originals(9)), (4, 6));
    board.pop_originals(4);
    assert_eq!((board.una(), board.list_oldest()), (4, Some(4)));
    board.pop_originals(6);
    assert_eq!((board.list_oldest(), board.list_next(9)), (Some(7), Some(6)));
    board.pop_una();
    assert_eq!(board.end_of_originals(10), 10);
    board.pop_originals(10);
    assert!(board.is_empty() && board.list_oldest().is_none());
}

#[test]
fn what_is_outstanding_is_untouched_until_a_segment_is_marked_and_after_that_has_left() {
    let mut board = filled(3);
    assert!(board.is_untouched());
    board.mark_lost(0);
    assert!(!board.is_untouched(), "the first one is lost");
    board.pop_una();
    assert!(board.is_untouched());
    board.set_sacked(2);
    board.pop_una();
    assert!(!board.is_untouched(), "only the one that has been received is left");
}

fn listed(board: &Scoreboard) -> Vec<u32> {
    std::iter::successors(board.list_oldest(), |&seq| board.list_next(seq)).collect()
}

#[test]
fn a_retransmission_moves_its_segments_to_the_end_of_the_list() {
    let mut board = filled(6);
    let record = Record { sent: Stamp::at_us(9), flags: flag::RETRANS, len: 1, ..Record::default() };
    assert_eq!(board.push_again(&record, 1, 2), 2);
    assert_eq!(listed(&board), [0, 3, 4, 5, 1, 2]);
    let again = board.get(2);
    assert_eq!((again.sent.us(), again.len, again.has(flag::EVER_RETRANS)), (9, 1448, true));
    assert_eq!(board.push_again(&record, 2, 2), 1, "2 is in flight again already");
    assert_eq!(listed(&board), [0, 4, 5, 1, 2, 3]);
    assert_eq!(board.push_again(&record, 0, 6), 3);
    assert_eq!(listed(&board), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_run_of_lost_segments_left_together_and_has_not_been_heard_of() {
    let mut board = Scoreboard::new();
    for sent in [1, 2, 3].map(Stamp::at_us) {
        board.push_burst(&Record { sent, ..Record::default() }, 4, 1448);
    }
    assert_eq!(board.set_run_lost(0, 3), (3, Some(3)));
    assert_eq!(listed(&board), (3..12).collect::<Vec<_>>());
    assert_eq!(board.first_waiting(), Some(0));
    board.set_sacked(6);
    assert_eq!(board.set_run_lost(4, 12), (6, Some(7)));
    assert_eq!(board.set_run_lost(6, 12).0, 6, "it was received");
    assert_eq!(board.set_run_lost(8, 12), (12, None));
    assert_eq!(listed(&board), [3, 7]);
    assert!((0..12).all(|seq| board.get(seq).has(flag::LOST) != [3, 6, 7].contains(&seq)));
    board.push_again(&Record { flags: flag::RETRANS, ..Record::default() }, 0, 3);
    assert_eq!((board.first_waiting(), listed(&board)), (Some(4), vec![3, 7, 0, 1, 2]));
}

#[test]
fn scanning_crosses_words_and_the_end_of_the_ring() {
    let mut board = filled(64);
    for _ in 0..40 {
        board.pop_una();
    }
    for _ in 0..40 {
        board.push_burst(&Record::default(), 1, 1448);
    }
    for seq in 45..100 {
        board.set_sacked(seq);
    }
    assert_eq!(board.next_unsacked(45, 104), Some(100));
    assert_eq!(board.next_unsacked(45, 100), None);
    board.set_waiting(101);
    assert_eq!(board.first_waiting(), Some(101));
    board.clear_waiting(101);
    assert_eq!(board.first_waiting(), None);
    board.set_waiting(42);
    assert_eq!(board.first_waiting(), Some(42));
}

#[test]
fn runs_of_selectively_acknowledged_segments_reach_across_words_up_to_the_newest_one() {
    let mut board = filled(200);
    for seq in (3..5).chain(60..130).chain(199..200) {
        board.set_sacked(seq);
    }
    assert_eq!(board.sacked_runs().collect::<Vec<_>>(), [(3, 5), (60, 130), (199, 200)]);
    assert_eq!(filled(9).sacked_runs().count(), 0);
}

#[test]
fn a_mark_of_loss_means_the_copy_that_is_in_flight() {
    let mut board = filled(4);
    let lost = |first, is_retransmission| Some(NewlyLost { first, end: first + 1, is_retransmission });
    assert_eq!(board.mark_lost(1), lost(1, false));
    assert_eq!(board.mark_lost(1), None, "it is lost and was not sent again");
    assert_eq!(board.first_waiting(), Some(1));
    board.push_again(&Record { flags: flag::RETRANS, ..Record::default() }, 1, 1);
    assert_eq!(board.first_waiting(), None);
    assert_eq!(board.mark_lost(1), lost(1, true));
    assert_eq!(board.first_waiting(), Some(1));
    board.set_sacked(2);
    assert_eq!(board.mark_lost(2), None, "it was received");
    // A probe's copy stays in flight when the original is lost.
    board.push_again(&Record { flags: flag::RETRANS, ..Record::default() }, 3, 1);
    assert_eq!((board.mark_lost(3), board.get(3).has(flag::RETRANS)), (lost(3, false), true));
    assert_eq!(board.first_waiting(), Some(1));
}

#[test]
fn what_was_received_above_a_gap_leaves_together_up_to_what_was_missing_or_sent_again() {
    let filled_and_sacked = || {
        let mut board = filled(70);
        (0..69).for_each(|seq| board.set_sacked(seq));
        board
    };
    let mut board = filled_and_sacked();
    assert_eq!((board.pop_sacked(40), board.una()), (40, 40));
    assert_eq!((board.pop_sacked(70), board.una()), (29, 69), "the last one is missing");
    assert_eq!((board.pop_sacked(70), board.una()), (0, 69));
    for again in [flag::RETRANS, flag::EVER_RETRANS] {
        let mut board = filled_and_sacked();
        board.get_mut(5).flags |= again;
        assert_eq!((board.pop_sacked(70), board.una()), (5, 5));
    }
    // The places are free of tags when they are used again.
    let mut board = filled_and_sacked();
    board.pop_sacked(69);
    for n in 70..200 {
        board.push_burst(&Record { sent: Stamp::at_us(n), ..Record::default() }, 1, 1448);
    }
    assert_eq!(board.next_unsacked(69, 200), Some(69));
    assert_eq!((69..200).filter(|&seq| board.next_unsacked(seq, 200) == Some(seq)).count(), 131);
}

#[test]
fn a_ring_begins_with_the_initial_window_and_two_more_and_is_smaller_where_less_is_in_flight() {
    let mut board = filled(12);
    assert_eq!(board.records.len(), 12);
    board.set_sacked(9);
    board.mark_lost(7);
    for _ in 0..6 {
        board.pop_una();
    }
    // Segment 12 has no place in the first ring, and eight are enough for 6 to 13.
    board.push_burst(&Record { sent: Stamp::at_us(12), ..Record::default() }, 2, 1448);
    assert_eq!(board.records.len(), 8);
    assert_eq!(listed(&board), [6, 7, 8, 10, 11, 12, 13]);
    assert_eq!((board.first_waiting(), board.next_unsacked(9, 14)), (Some(7), Some(10)));
    board.push_burst(&Record { sent: Stamp::at_us(14), ..Record::default() }, 9, 1448);
    assert_eq!((board.records.len(), board.get(22).sent.us()), (32, 14));
    let mut board = Scoreboard::new();
    board.push_burst(&Record::default(), 13, 1448);
    assert_eq!(board.records.len(), 16, "the initial window may be another one");
}
