//! Who is due when: an instant for each of a list of things, by their numbers, and which of them comes first.

use dumbbell_units::Time;
use std::collections::BTreeSet;

/// Instants by number; [`Time::NEVER`] is none.
#[derive(Clone, Debug)]
pub(super) struct Timetable {
    of: Vec<Time>,
    in_order: BTreeSet<(Time, usize)>,
    first: (Time, usize),
}

impl Default for Timetable {
    fn default() -> Timetable {
        Timetable { of: Vec::new(), in_order: BTreeSet::new(), first: (Time::NEVER, 0) }
    }
}

impl Timetable {
    /// Sets the instant of a number.
    #[inline]
    pub(super) fn set(&mut self, number: usize, at: Time) {
        if self.of.get(number).copied().unwrap_or(Time::NEVER) != at {
            self.replace(number, at);
        }
    }

    fn replace(&mut self, number: usize, at: Time) {
        if number >= self.of.len() {
            self.of.resize(number + 1, Time::NEVER);
        }
        let before = std::mem::replace(&mut self.of[number], at);
        if before < Time::NEVER {
            self.in_order.remove(&(before, number));
        }
        if at < Time::NEVER {
            self.in_order.insert((at, number));
        }
        self.first = self.in_order.first().copied().unwrap_or((Time::NEVER, 0));
    }

    /// The earliest instant and its number: the lowest, if several have it.
    #[inline]
    pub(super) fn first(&self) -> (Time, usize) {
        self.first
    }

    /// All with an instant, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Time, usize)> {
        self.in_order.iter().copied()
    }

    /// The numbers whose instants are not after `now`, in the order of these.
    pub(super) fn due(&self, now: Time) -> Vec<usize> {
        self.iter().take_while(|&(at, _)| at <= now).map(|(_, number)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_of_the_lowest_number(
            steps in prop::collection::vec((0..6_usize, prop::option::of(0..5_u64)), 1..40)
        ) {
            let (mut timetable, mut plain) = (Timetable::default(), [Time::NEVER; 6]);
            for (number, at) in steps {
                plain[number] = at.map_or(Time::NEVER, Time::from_nanos);
                timetable.set(number, plain[number]);
                let mut wanted: Vec<_> = plain.into_iter().zip(0..).filter(|(at, _)| *at < Time::NEVER).collect();
                wanted.sort_unstable();
                prop_assert_eq!(timetable.first(), wanted.first().copied().unwrap_or((Time::NEVER, 0)));
                prop_assert_eq!(timetable.iter().collect::<Vec<_>>(), wanted.clone());
                let due = wanted.iter().filter(|(at, _)| at.as_nanos() <= 2).map(|(_, number)| *number);
                prop_assert_eq!(timetable.due(Time::from_nanos(2)), due.collect::<Vec<_>>());
            }
        }
    }
}
