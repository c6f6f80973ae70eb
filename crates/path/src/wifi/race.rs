//! Who of the contenders transmits next, and when.
//!
//! Between two exchanges all contenders of one AIFS count the same slots down. What they have counted is kept once for
//! all of them, and they stand in the order in which their backoffs run down.

use super::backoff::{Access, Backoff};
use super::phy::SLOT;
use super::timetable::Timetable;
use dumbbell_units::{Duration, Rng, Time};
use std::collections::BTreeSet;

/// The contenders of a channel, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Race {
    idle_since: Time,
    classes: Vec<Class>,
    contenders: Vec<Contender>,
    /// Those that have something to send only from some time after `idle_since` on.
    later: Timetable,
}

/// Contenders with the same AIFS.
#[derive(Debug)]
struct Class {
    aifs: Duration,
    /// Slots that have passed.
    passed: u64,
    /// Those that have had something to send since `idle_since` or before, by the slot at which their backoffs run
    /// down.
    waiting: BTreeSet<(u64, usize)>,
}

#[derive(Debug)]
struct Contender {
    backoff: Backoff,
    class: usize,
    /// From when on it has something to send.
    ready: Time,
}

impl Class {
    /// When a backoff runs down if the medium, which is idle since `idle_since`, stays so.
    fn expires(&self, runs_down: u64, idle_since: Time) -> Time {
        idle_since + self.aifs + SLOT * runs_down.saturating_sub(self.passed)
    }
}

impl Race {
    /// Adds a contender, which has nothing to send; returns its number.
    pub(super) fn add(&mut self, access: Access) -> usize {
        let known = self.classes.iter().position(|class| class.aifs == access.aifs);
        let class = known.unwrap_or_else(|| {
            self.classes.push(Class { aifs: access.aifs, passed: 0, waiting: BTreeSet::new() });
            self.classes.len() - 1
        });
        self.contenders.push(Contender { backoff: Backoff::new(access), class, ready: Time::NEVER });
        self.contenders.len() - 1
    }

    /// Since when nobody transmits, or when the exchange that is under way ends.
    pub(super) fn idle_since(&self) -> Time {
        self.idle_since
    }

    /// From when on a contender has something to send.
    pub(super) fn ready(&self, number: usize) -> Time {
        self.contenders[number].ready
    }

    /// A contender has something to send from `ready` on.
    pub(super) fn set_ready(&mut self, number: usize, ready: Time) {
        if self.contenders[number].ready != ready {
            self.change(number, |contender, _| contender.ready = ready);
        }
    }

    /// A contender has something to send now, for the first time since it sent everything, and the medium is busy.
    pub(super) fn defer(&mut self, number: usize, rng: &mut Rng) {
        self.change(number, |contender, passed| contender.backoff.defer(passed, rng));
    }

    /// A transmission of a contender was answered, or not.
    pub(super) fn redraw(&mut self, number: usize, is_answered: bool, rng: &mut Rng) {
        self.change(
            number,
            |Contender { backoff, .. }, passed| {
                if is_answered { backoff.succeed(passed, rng) } else { backoff.fail(passed, rng) }
            },
        );
    }

    /// Changes a contender, and its place among those that wait. `change` learns how many slots have passed.
    fn change(&mut self, number: usize, change: impl FnOnce(&mut Contender, u64)) {
        let Race { idle_since, classes, contenders, later } = self;
        let contender = &mut contenders[number];
        let class = &mut classes[contender.class];
        class.waiting.remove(&(contender.backoff.runs_down(), number));
        change(contender, class.passed);
        if contender.ready <= *idle_since {
            later.set(number, Time::NEVER);
            class.waiting.insert((contender.backoff.runs_down(), number));
        } else {
            later.set(number, contender.ready);
        }
    }

    /// Somebody begins to transmit at `now`. Who does not keeps what is left of his backoff.
    pub(super) fn freeze(&mut self, now: Time) {
        for class in &mut self.classes {
            let counts_from = self.idle_since + class.aifs;
            if now >= counts_from {
                class.passed += now.since(counts_from).as_nanos() / SLOT.as_nanos() + 1;
            }
        }
    }

    /// The exchange that is under way ends at `end`.
    pub(super) fn end_exchange(&mut self, end: Time) {
        self.idle_since = end;
        for number in self.later.due(end) {
            self.change(number, |_, _| ());
        }
    }

    /// When a contender transmits if nobody does before.
    pub(super) fn start_of(&self, number: usize) -> Time {
        let Contender { backoff, class, ready } = &self.contenders[number];
        match *ready {
            Time::NEVER => Time::NEVER,
            ready => self.classes[*class].expires(backoff.runs_down(), self.idle_since).max(ready),
        }
    }

    /// When somebody transmits.
    pub(super) fn next_start(&self) -> Time {
        let firsts = self.classes.iter().filter_map(|class| {
            let (runs_down, _) = class.waiting.first()?;
            Some(class.expires(*runs_down, self.idle_since))
        });
        let mut next = firsts.min().unwrap_or(Time::NEVER);
        for (ready, number) in self.later.iter() {
            if ready >= next {
                break;
            }
            next = next.min(self.start_of(number));
        }
        next
    }

    /// Those that transmit at `now` or would have before, in no order.
    pub(super) fn due(&self, now: Time) -> Vec<usize> {
        let mut due = self.later.due(now);
        due.retain(|&number| self.start_of(number) <= now);
        for class in &self.classes {
            let is_due = |(runs_down, _): &&(u64, usize)| class.expires(*runs_down, self.idle_since) <= now;
            due.extend(class.waiting.iter().take_while(is_due).map(|(_, number)| *number));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::AccessCategory;
    use dumbbell_units::Rng;
    use proptest::prelude::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// A race of one that is idle since `idle_us`, with so many slots left.
    fn one(slots: u64, idle_us: u64) -> Race {
        let mut race = Race::default();
        race.add(Access::new(AccessCategory::BestEffort, false));
        race.contenders[0].backoff = Backoff::at(slots, Access::new(AccessCategory::BestEffort, false));
        race.end_exchange(at(idle_us));
        race.set_ready(0, Time::ZERO);
        race
    }

    #[test]
    fn slots_count_from_43_us_of_silence_on() {
        assert_eq!(one(0, 100).next_start(), at(143));
        assert_eq!(one(5, 100).next_start(), at(143 + 45));
    }

    #[test]
    fn a_loser_keeps_the_slots_that_are_left() {
        let mut race = one(5, 100);
        let mut left = |begins_us: u64, ends_us: u64| {
            race.freeze(at(begins_us));
            race.end_exchange(at(ends_us));
            (race.next_start().since(at(ends_us + 43))).as_nanos() / SLOT.as_nanos()
        };
        assert_eq!(left(143 + 9, 200), 3);
        assert_eq!(left(220, 300), 3, "the medium was not idle for AIFS");
        assert_eq!(left(343, 400), 2, "the first slot begins with the end of AIFS");
        assert_eq!(left(1_000, 2_000), 0);
    }

    /// [`Race`] as it is meant: everybody counts his own slots.
    #[derive(Clone, Debug)]
    struct Plain {
        aifs: Duration,
        slots: u64,
        ready: Time,
    }

    impl Plain {
        fn start(&self, idle_since: Time) -> Time {
            if self.ready == Time::NEVER {
                Time::NEVER
            } else {
                (idle_since + self.aifs + SLOT * self.slots).max(self.ready)
            }
        }

        fn freeze(&mut self, idle_since: Time, now: Time) {
            let counts_from = idle_since + self.aifs;
            if now >= counts_from {
                let passed = now.since(counts_from).as_nanos() / SLOT.as_nanos() + 1;
                self.slots = self.slots.saturating_sub(passed);
            }
        }
    }

    const CATEGORIES: [AccessCategory; 6] = [
        AccessCategory::BestEffort,
        AccessCategory::Background,
        AccessCategory::Voice,
        AccessCategory::BestEffort,
        AccessCategory::Video,
        AccessCategory::BestEffort,
    ];

    proptest! {
        #[test]
        fn exchanges_begin_when_they_do_where_everybody_counts_for_himself(
            seed in any::<u64>(),
            steps in prop::collection::vec((0..6_usize, prop::option::of(0..400_u64), 1..2_000_u64), 1..60)
        ) {
            let (mut race, mut rng) = (Race::default(), Rng::new(seed));
            let mut plain = Vec::new();
            for category in CATEGORIES {
                let access = Access::new(category, false);
                race.add(access);
                plain.push(Plain { aifs: access.aifs, slots: 0, ready: Time::NEVER });
            }
            for (number, ready, airtime_us) in steps {
                let ready = ready.map_or(Time::NEVER, |us| at(us) + race.idle_since().since(Time::ZERO));
                race.set_ready(number, ready);
                plain[number].ready = ready;
                let starts: Vec<_> = plain.iter().map(|plain| plain.start(race.idle_since())).collect();
                let next = starts.iter().copied().min().unwrap();
                prop_assert_eq!(race.next_start(), next);
                prop_assert!((0..6).all(|number| race.start_of(number) == starts[number]));
                if next == Time::NEVER {
                    continue;
                }
                let mut due = race.due(next);
                due.sort_unstable();
                let wanted: Vec<_> = (0..6).filter(|number| starts[*number] == next).collect();
                prop_assert_eq!(&due, &wanted);
                race.freeze(next);
                plain.iter_mut().for_each(|plain| plain.freeze(race.idle_since(), next));
                race.end_exchange(next + Duration::from_micros(airtime_us));
                for number in due {
                    race.redraw(number, wanted.len() == 1, &mut rng);
                    let Contender { backoff, class, .. } = &race.contenders[number];
                    plain[number].slots = backoff.runs_down() - race.classes[*class].passed;
                }
            }
        }
    }
}
