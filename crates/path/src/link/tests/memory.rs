//! What a link claims for the packets that it has, wherever they are.

use super::*;

const PACKETS: u64 = 200;

/// A full packet that does not belong to a run with its neighbours: runs are kept as one.
fn apart(number: u64) -> TestPacket {
    full(7 * number)
}

/// What a link claims more after so many full packets have come at once. It is told of each, so their copies fit in
/// twice.
fn claimed_for_packets(config: LinkConfig) -> u64 {
    let mut link = link(config);
    link.report_departures();
    let empty = link.memory();
    for number in 0..PACKETS {
        link.offer(at(0), apart(number));
    }
    link.memory() - empty
}

/// A packet takes its own bytes at least, and within stores that double no more than some times as many.
fn is_for_packets(bytes: u64, packets: u64) {
    let one = size_of::<TestPacket>() as u64;
    assert!(bytes >= one * packets && bytes <= 16 * one * packets, "{bytes} bytes for {packets} packets");
}

#[test]
fn packets_take_memory_wherever_they_are() {
    let lost = LinkConfig { loss_after: bernoulli(1.0), ..twelve_megabits() };
    let bundle = Aggregate { every: Some(Duration::from_secs(3_600)), ..Aggregate::default() };
    let impairments = Impairments { aggregate: Some(bundle), ..Impairments::default() };
    let jitter = crate::Jitter { amount: Duration::from_millis(1), reorders: true, ..crate::Jitter::default() };
    for config in [
        twelve_megabits(),
        config(LinkRate::Unlimited),
        LinkConfig { queue: codel(false), ..twelve_megabits() },
        LinkConfig { queue: red(false), ..twelve_megabits() },
        lost,
        LinkConfig { impairments: Arc::new(impairments), ..twelve_megabits() },
        LinkConfig { delay: Delay { jitter, ..Delay::default() }, ..twelve_megabits() },
    ] {
        is_for_packets(claimed_for_packets(config), PACKETS);
    }
}

#[test]
fn what_was_released_in_bundles_and_told_of_departures_and_drops_takes_memory_until_it_is_fetched() {
    let bundle = Aggregate { every: Some(Duration::from_secs(3_600)), ..Aggregate::default() };
    let impairments = Impairments { aggregate: Some(bundle), ..Impairments::default() };
    // Packets that have passed the pipe and wait for their bundle.
    let mut bundles = link(LinkConfig { impairments: Arc::new(impairments), ..config(LinkRate::Unlimited) });
    let empty = bundles.memory();
    for number in 0..PACKETS {
        bundles.offer(at(0), apart(number));
    }
    bundles.advance(at(100 * MS));
    is_for_packets(bundles.memory() - empty, PACKETS);

    // Departures that nobody fetches, of packets that have arrived.
    let mut told = link(LinkConfig { queue: codel(false), ..twelve_megabits() });
    told.report_departures();
    for ms in 0..PACKETS {
        told.offer(at(ms * MS), apart(ms));
        while told.poll(at(ms * MS)).is_some() {}
    }
    drain(&mut told);
    let with_departures = told.memory();
    let departures = std::iter::from_fn(|| told.pop_departure()).count() as u64;
    assert_eq!(departures, PACKETS);
    is_for_packets(with_departures, PACKETS);

    // Drops that nobody fetches.
    let mut full_link = link(LinkConfig {
        queue: drop_head(),
        limit: QueueLimit { packets: Some(1), ..QueueLimit::default() },
        ..twelve_megabits()
    });
    for number in 0..PACKETS {
        full_link.offer(at(0), apart(number));
    }
    is_for_packets(full_link.memory(), PACKETS);
    // One is in transmission, and one waits.
    assert_eq!(std::iter::from_fn(|| full_link.pop_drop()).count() as u64, PACKETS - 2);
}

#[test]
fn the_history_of_rates_takes_memory() {
    for queue in [QueueRecipe::default(), codel(false)] {
        let mut link = link(LinkConfig { queue, ..twelve_megabits() });
        let before = link.memory();
        for change in 1..=100 {
            link.set_rate(at(change * MS), Rate::from_bits_per_sec(1_000_000 * change));
        }
        // An instant and a rate each.
        let claimed = link.memory() - before;
        assert!((100 * 16..100 * 128).contains(&claimed), "{claimed}");
    }
}

#[test]
fn packets_for_a_queue_that_is_elsewhere_take_memory() {
    let mut remote = link(twelve_megabits()).into_remote().unwrap();
    let before = remote.memory();
    for number in 0..PACKETS {
        remote.offer(at(0), apart(number));
    }
    is_for_packets(remote.memory() - before, PACKETS);
}
