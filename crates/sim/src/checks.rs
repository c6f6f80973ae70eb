//! What no run can do, whatever its experiment: checked as it runs where debug assertions are on, as in every test.
//!
//! The clock goes on, never back and not with events without end at one instant. A sample of the round-trip time is
//! never shorter than the propagation delay, and every data packet that was sent, and every copy that a link made of
//! one, has arrived, was dropped by a link that counted it, or is still on its way.

use crate::bounds::go_on;
use crate::flow::Flow;
use crate::packet::Packet;
use crate::{RunError, TimedChange};
use dumbbell_path::{Change, Delay, JitterDistribution};
use dumbbell_scenario::{Flow as Spec, Scenario};
use dumbbell_units::{Duration, Time};
use std::sync::atomic::AtomicBool;

/// What the checks know of every flow; nothing without debug assertions.
pub(crate) struct Checks {
    floors: Vec<Floor>,
    /// Those of the senders of each source of traffic.
    source_floors: Vec<Vec<Floor>>,
    clock: Clock,
}

/// The time that the engine has reached.
#[derive(Default)]
struct Clock {
    now: Time,
    /// Events since it was reached.
    events: u64,
}

/// More events than any number of flows and full queues has at one instant.
const MOST_EVENTS_AT_ONCE: u64 = 100_000_000;

/// The shortest round-trip time that a flow can measure.
#[derive(Clone, Copy)]
struct Floor {
    rtt_us: u64,
    /// Unit of the clock that takes it.
    tick_us: u64,
}

impl Checks {
    /// Walks every link of every flow, unless the caller `cancel`s.
    pub fn new(scenario: &Scenario, script: &[TimedChange], cancel: &AtomicBool) -> Result<Checks, RunError> {
        let floors = scenario.flows.iter().map(|flow| go_on(cancel).map(|()| Floor::of(flow, scenario, script)));
        if !cfg!(debug_assertions) {
            return Ok(Checks { floors: Vec::new(), source_floors: Vec::new(), clock: Clock::default() });
        }
        let of_senders = |senders: &[Spec]| senders.iter().map(|flow| Floor::of(flow, scenario, script)).collect();
        let sources = scenario.traffic.iter().map(|traffic| of_senders(&traffic.senders));
        let (floors, source_floors) = (floors.collect::<Result<_, _>>()?, sources.collect());
        Ok(Checks { floors, source_floors, clock: Clock::default() })
    }

    /// Flow number `flow` is one of a source of traffic, of the sender with this number.
    pub fn adopt(&mut self, flow: usize, source: usize, sender: u32) {
        let of_senders = self.source_floors.get(source);
        if let Some(floor) = of_senders.and_then(|floors| floors.get(sender as usize % floors.len())) {
            self.floors.resize(self.floors.len().max(flow + 1), *floor);
            self.floors[flow] = *floor;
        }
    }

    /// An event is handled at `now`.
    #[inline(always)]
    pub fn clock(&mut self, now: Time) {
        if cfg!(debug_assertions) {
            let Clock { now: latest, events } = &mut self.clock;
            assert!(now >= *latest, "an event at {now} comes after one at {latest}");
            *events = if now > *latest { 0 } else { *events + 1 };
            *latest = now;
            assert!(*events < MOST_EVENTS_AT_ONCE, "there is no end of events at {now}");
        }
    }

    /// A sender has taken a sample of the round-trip time.
    #[inline(always)]
    pub fn rtt(&self, flow: usize, rtt_us: u64) {
        debug_assert!(
            self.floors[flow].allows(rtt_us),
            "flow {flow} measures a round trip of {rtt_us} us, which cannot be below {} us",
            self.floors[flow].rtt_us
        );
    }

    /// The run is over: media have been brought up to its end, and their drops are settled. `count` counts packets that
    /// are under way.
    #[inline(always)]
    pub fn conservation(&self, flows: &[Flow], count: impl Fn(&dyn Fn(&Packet) -> bool) -> u64) {
        if cfg!(debug_assertions) {
            for (index, flow) in flows.iter().enumerate() {
                let counts = flow.counts();
                let is_data = |packet: &Packet| packet.flow as usize == index && packet.carries_data();
                let on_the_way = count(&is_data);
                assert_eq!(
                    counts.sent + flow.traffic.copies,
                    counts.arrived + counts.network_drops + on_the_way,
                    "flow {index}: sent and copied, and arrived ({}) + dropped ({}) + on the way ({on_the_way}) differ",
                    counts.arrived,
                    counts.network_drops
                );
            }
        }
    }
}

impl Floor {
    fn of(flow: &Spec, scenario: &Scenario, script: &[TimedChange]) -> Floor {
        let shortest = |&link: &usize| {
            let delay = &scenario.links[link].config.delay;
            let later = script.iter().filter(|change| change.link == link).filter_map(|change| match change.change {
                Change::Delay(base) => Some(shortest_delay(&Delay { base, schedule: None, ..delay.clone() })),
                _ => None,
            });
            later.fold(shortest_delay(delay), Duration::min).as_micros()
        };
        let delays = flow.forward.iter().chain(&*flow.reverse).map(shortest);
        Floor { rtt_us: delays.sum(), tick_us: flow.transport.rtt_step_us() }
    }

    /// Whether it can have been measured; where departures are ambiguous TCP has the timestamps, in milliseconds.
    fn allows(&self, rtt_us: u64) -> bool {
        let rounded_down = |tick_us: u64| self.rtt_us - self.rtt_us % tick_us;
        rtt_us >= rounded_down(self.tick_us) || rtt_us.is_multiple_of(1_000) && rtt_us >= rounded_down(1_000)
    }
}

/// The shortest time that a packet can be under way.
fn shortest_delay(delay: &Delay) -> Duration {
    let in_order = match delay.jitter.distribution {
        JitterDistribution::Normal if delay.jitter.amount > Duration::ZERO => Duration::ZERO,
        _ => delay.shortest_base().saturating_sub(delay.jitter.amount),
    };
    if delay.reorder.probability.as_f64() > 0.0 { in_order.min(delay.reorder.delay) } else { in_order }
}
