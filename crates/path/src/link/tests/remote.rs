//! A link whose queue is elsewhere.

use super::*;
use proptest::prelude::*;

/// Everything that comes out of a link, and when.
fn arrivals(link: &mut Link<TestPacket>) -> Vec<(Time, u64)> {
    let mut arrivals = Vec::new();
    while link.next_event() < Time::NEVER {
        let now = link.next_event();
        arrivals.extend(link.poll(now).map(|packet| (now, packet.number)));
    }
    arrivals
}

proptest! {
    /// Two links that share the queue of a third carry what that one would carry.
    #[test]
    fn links_with_their_queue_elsewhere_are_one_link_together(
        offers in proptest::collection::vec((0u64..6 * MS, 1u32..12, any::<bool>(), any::<bool>()), 1..60),
        packets in 1u64..20,
        rate in prop_oneof![Just(12_000_000u64), 5_000_000u64..40_000_000],
        is_timed in any::<bool>(),
    ) {
        let mut config = config(LinkRate::Constant(rate));
        config.limit.packets = Some(packets);
        config.limit.time = is_timed.then_some(Duration::from_millis(5));
        let mut whole = link(config.clone());
        let mut queue = link(config.clone());
                let mut parts = [config.clone(), config].map(|config| link(config).into_remote().unwrap());
        let (mut now, mut number) = (0, 0);
        let mut dropped = 0;
        let mut order = Vec::new();
        for (pause, count, is_run, goes_to_first) in offers {
            now += pause;
            let part = usize::from(!goes_to_first);
            let packet = full(number);
            if is_run {
                let taken = whole.offer_run(at(now), packet, count).unwrap();
                dropped += count - taken.count();
                prop_assert_eq!(parts[part].offer_run(at(now), packet, count).unwrap().count(), count);
                number += u64::from(count);
            } else {
                dropped += u32::from(matches!(whole.offer(at(now), packet), Offer::Dropped(_)));
                prop_assert_eq!(parts[part].offer(at(now), packet), Offer::Accepted { departs: None });
                number += 1;
            }
            order.push(part);
        }
        prop_assert!(parts.iter().all(|part| part.decides_late() && part.next_event() == Time::NEVER));
        let mut offered = [Vec::new(), Vec::new()];
        for (part, offered) in parts.iter_mut().zip(&mut offered) {
            part.remote_mut().unwrap().swap_offered(offered);
        }
        let mut left = offered.each_mut().map(|offered| offered.iter_mut());
        for part in order {
            queue.decide(left[part].next().unwrap());
        }
        let mut dropped_apart = 0;
        for (part, offered) in parts.iter_mut().zip(&offered) {
            for offered in offered {
                dropped_apart += offered.count - offered.departures.count();
                part.carry(offered);
            }
        }
        let end = at(now + 1_000 * MS);
        prop_assert_eq!(dropped_apart, dropped);
        prop_assert_eq!(queue.counters(end), whole.counters(end));
        prop_assert_eq!(queue.queue_stats(end).byte_nanos, whole.queue_stats(end).byte_nanos);
        let mut together = parts.iter_mut().flat_map(arrivals).collect::<Vec<_>>();
        together.sort_unstable();
        prop_assert_eq!(together, arrivals(&mut whole));
    }
}

#[test]
fn only_a_plain_queue_with_one_rate_can_be_elsewhere() {
    assert!(link(twelve_megabits()).into_remote().is_ok());
    let mut managed = twelve_megabits();
    managed.queue = codel(false);
    let mut changing = twelve_megabits();
    changing.rate = LinkRate::Schedule { steps: [(at(0), 1_000_000)].into(), repeat_after: None };
    for config in [managed, changing, config(LinkRate::Unlimited)] {
        assert!(link(config).into_remote().is_err());
    }
    assert!(link(config(LinkRate::Unlimited)).only_delays());
}
