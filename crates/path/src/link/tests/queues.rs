//! What disciplines do to the packets of a link.

use super::*;

#[test]
fn codel_holds_an_overload_near_its_target_where_drop_tail_fills_its_buffer() {
    let mean = |queue: QueueRecipe| {
        let mut config = twelve_megabits();
        config.limit = bytes_limit(600_000);
        config.queue = queue.clone();
        let mut link = link(config);
        for i in 0..20_000 {
            link.offer(at(i * MS * 100 / 102), full(i));
        }
        let now = at(20_000 * MS * 100 / 102);
        assert!(link.counters(now).drops[DropCause::Aqm].packets > 0 || queue == QueueRecipe::default());
        link.queue_stats(now).mean_bytes() / 1500.0
    };
    let (controlled, standing) = (mean(codel(false)), mean(QueueRecipe::default()));
    assert!(controlled < 20.0 && standing > 150.0, "{controlled} and {standing} packets");
}

#[test]
fn codel_marks_ecn_capable_packets() {
    let mut config = twelve_megabits();
    config.queue = codel(true);
    let mut link = link(config);
    for i in 0..2000 {
        link.offer(at(i * MS / 2), TestPacket { ecn: Ecn::Ect0, ..full(i) });
    }
    let mut marked = 0;
    while link.next_event() < Time::NEVER {
        marked += u64::from(link.poll(link.next_event()).is_some_and(|packet| packet.ecn == Ecn::Ce));
    }
    let counters = link.counters(at(10_000 * MS));
    assert!(marked > 10 && counters.marked == marked);
    assert_eq!(counters.drops.in_queue().packets, 0);
}

/// Marks of the packets that arrive, in order, and what was dropped, of `packets` offered at once.
fn burst(queue: QueueRecipe, packets: u64, ecn: Ecn) -> (Vec<bool>, LinkCounters) {
    let mut config = twelve_megabits();
    config.limit = QueueLimit { packets: Some(50), ..QueueLimit::default() };
    config.queue = queue;
    let mut link = link(config);
    for i in 0..packets {
        link.offer(at(0), TestPacket { ecn, ..full(i) });
    }
    let mut marks = Vec::new();
    while link.next_event() < Time::NEVER {
        marks.extend(link.poll(link.next_event()).map(|packet| packet.ecn == Ecn::Ce));
    }
    (marks, link.counters(at(10_000 * MS)))
}

#[test]
fn a_step_marks_packets_that_arrive_to_more_than_the_threshold() {
    // The first is in transmission, which does not count; the twelfth finds ten and makes eleven.
    for level in [Level::Packets(10), bytes(15_000)] {
        let (marks, counters) = burst(step(level, None, false), 20, Ecn::Ect0);
        assert_eq!(marks.iter().position(|&marked| marked), Some(11), "{level:?}");
        assert!(marks[11..].iter().all(|&marked| marked));
        assert_eq!((marks.len(), counters.marked, counters.drops.in_queue().packets), (20, 9, 0));
    }
}

#[test]
fn a_step_at_departure_marks_those_that_leave_much_behind() {
    let (marks, counters) = burst(step(Level::Packets(10), Some(MarkPlace::Dequeue), false), 20, Ecn::Ect0);
    // When packet i is taken, it and those after it are 20 - i.
    let expected: Vec<bool> = (0..20).map(|i| i > 0 && 20 - i > 10).collect();
    assert_eq!(marks, expected);
    assert_eq!(counters.marked, 9);
}

#[test]
fn a_step_in_time_marks_those_that_have_waited_longer() {
    let (marks, _) = burst(step(Level::Time(Duration::from_millis(5)), None, false), 20, Ecn::Ect0);
    assert_eq!(marks, (0..20).map(|i| i > 5).collect::<Vec<_>>(), "packet i waits i milliseconds");
}

#[test]
fn packets_without_ecn_pass_a_step_unless_it_drops_them_and_the_limit_holds_for_all() {
    for threshold in [Level::Packets(10), Level::Time(Duration::from_millis(10))] {
        let (marks, counters) = burst(step(threshold, None, false), 100, Ecn::NotEct);
        assert_eq!((marks.len(), counters.marked), (51, 0));
        assert_eq!((counters.drops[DropCause::QueueFull].packets, counters.drops[DropCause::Aqm].packets), (49, 0));
        assert_eq!(burst(step(threshold, None, false), 100, Ecn::Ect0).1.drops[DropCause::QueueFull].packets, 49);
        let (marks, counters) = burst(step(threshold, None, true), 20, Ecn::NotEct);
        assert_eq!((marks.len(), counters.drops[DropCause::Aqm].packets), (11, 9), "{threshold:?}");
    }
}

#[test]
fn red_holds_an_overload_of_a_few_percent_between_its_thresholds() {
    let mut config = twelve_megabits();
    config.limit = bytes_limit(600_000);
    config.queue = red(false);
    let mut link = link(config);
    for i in 0..60_000 {
        let now = at(i * MS * 100 / 105);
        if i == 20_000 {
            link.start_measuring(now);
        }
        link.offer(now, full(i));
    }
    let now = at(60_000 * MS * 100 / 105);
    let counters = link.counters(now);
    // It drops 1/21; 2p/(1 + p) of that size is p = 0.024, at an average of 44.6 kB.
    let mean = link.queue_stats(now).mean_bytes();
    assert!((mean - 44_600.0).abs() < 5_000.0, "{mean}");
    assert_eq!((counters.drops[DropCause::QueueFull].packets, counters.marked), (0, 0));
    let ratio = counters.drops[DropCause::Aqm].packets as f64 / counters.arrivals.packets as f64;
    assert!((ratio - 1.0 / 21.0).abs() < 0.005, "{ratio}");
}

#[test]
fn red_marks_ecn_capable_packets_and_the_limit_still_drops() {
    let mut config = twelve_megabits();
    config.limit = bytes_limit(120_000);
    config.queue = red(true);
    let mut link = link(config);
    for i in 0..10_000 {
        link.offer(at(i * MS / 2), TestPacket { ecn: Ecn::Ect0, ..full(i) });
    }
    let counters = link.counters(at(5_000 * MS));
    assert!(counters.marked > 4_000 && counters.drops[DropCause::QueueFull].packets > 4_000, "{counters:?}");
    assert_eq!(counters.drops[DropCause::Aqm].packets, 0);
}
