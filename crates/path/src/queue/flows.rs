//! What queues with a line for each flow have in common: which line a packet belongs to, and whose turn it is.
//!
//! Linux tells flows apart by a hash of addresses and ports with a random perturbation; here a flow's number takes the
//! place of these. Lines take turns by deficit round robin with two lists (DRR++): a flow that has had nothing to send is
//! new and comes before all old ones, once. So a flow that sends little finds its turn at once, and one that always has
//! something to send gets no more than the others.

use super::Line;
use dumbbell_units::Rng;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

/// Says in which line the packets of a flow wait.
#[derive(Clone, Debug)]
pub(super) enum Classifier {
    /// By a hash; flows may meet in a line.
    Hashed { lines: u32, perturbation: u64 },
    /// Every flow has a line of its own; they are numbered as their first packets come.
    Exact(HashMap<u32, usize>),
}

impl Classifier {
    /// A hash into so many lines; `None` gives every flow a line of its own.
    pub(super) fn new(lines: Option<u32>, mut rng: Rng) -> Classifier {
        match lines {
            Some(lines) => Classifier::Hashed { lines, perturbation: rng.next_u64() },
            None => Classifier::Exact(HashMap::new()),
        }
    }

    /// The line of a flow.
    pub(super) fn line_of(&mut self, flow: u32) -> usize {
        match self {
            Classifier::Hashed { lines, perturbation } => {
                Rng::stream(*perturbation, flow.into()).below(*lines) as usize
            }
            Classifier::Exact(lines) => {
                let next = lines.len();
                *lines.entry(flow).or_insert(next)
            }
        }
    }
}

/// The element of number `line`, which is made if it does not exist.
pub(super) fn line_at<T: Default>(lines: &mut Vec<T>, line: usize) -> &mut T {
    if line >= lines.len() {
        lines.resize_with(line + 1, T::default);
    }
    &mut lines[line]
}

/// Lines by their numbers, of which only those exist that were used: of a thousand lines of a hash a station uses one.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines<T> {
    /// By the number of a line: its place among those that exist, counted from 1, or 0.
    places: Vec<u32>,
    used: Vec<(usize, T)>,
}

impl<T: Default> Lines<T> {
    /// The line of this number, which is made if it does not exist.
    #[inline]
    pub(super) fn at(&mut self, number: usize) -> &mut T {
        let known = self.places.get(number).map_or(0, |place| *place as usize);
        let place = if known > 0 { known - 1 } else { self.make(number) };
        &mut self.used[place].1
    }

    #[cold]
    fn make(&mut self, number: usize) -> usize {
        self.used.push((number, T::default()));
        #[expect(clippy::cast_possible_truncation, reason = "a line has a flow, which are numbered in 32 bits")]
        let place = self.used.len() as u32;
        *line_at(&mut self.places, number) = place;
        self.used.len() - 1
    }

    /// The lines that exist, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.used.iter().map(|(number, line)| (*number, line))
    }
}

/// The number of the line that holds the most bytes when a packet of `size` bytes comes to line `to`, and these bytes: the
/// first, if several do.
pub(super) fn longest<'a>(
    lines: impl Iterator<Item = (usize, &'a Line)>,
    to: usize,
    size: u32,
) -> Option<(usize, u64)> {
    let bytes = |(number, line): (usize, &Line)| {
        (number, line.backlog().bytes + if number == to { u64::from(size) } else { 0 })
    };
    lines.map(bytes).max_by_key(|(number, bytes)| (*bytes, Reverse(*number)))
}

/// Lines that take turns.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Turns {
    /// Nobody waits for a turn.
    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// A line that had no turn to come joins as a new one.
    pub(super) fn join(&mut self, line: usize) {
        self.new.push_back(line);
    }

    /// A line comes back behind the old ones.
    pub(super) fn rejoin(&mut self, line: usize) {
        self.old.push_back(line);
    }

    /// Whose turn it is.
    pub(super) fn first(&self) -> Option<usize> {
        self.new.front().or(self.old.front()).copied()
    }

    /// The line whose turn it is has had its share: it goes behind the old ones.
    pub(super) fn postpone_first(&mut self) {
        if let Some(line) = self.leave_first() {
            self.old.push_back(line);
        }
    }

    /// The line whose turn it is leaves.
    pub(super) fn leave_first(&mut self) -> Option<usize> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }

    /// The line whose turn it is has nothing to send. A new one goes behind the old ones, if there are any: were it to
    /// leave and to come back as a new one, it would come before them again. Otherwise it leaves; then this is true.
    pub(super) fn retire_first(&mut self) -> bool {
        let stays = !self.new.is_empty() && !self.old.is_empty();
        if stays {
            self.postpone_first();
        } else {
            self.leave_first();
        }
        !stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::held::testing::{buffer, waiting};
    use dumbbell_units::Time;

    #[test]
    fn hashed_flows_spread_over_all_lines_and_stay_where_they_are() {
        let mut hashed = Classifier::new(Some(16), Rng::new(1));
        let lines: Vec<_> = (0..16_000).map(|flow| hashed.line_of(flow)).collect();
        for line in 0..16 {
            let flows = lines.iter().filter(|&&l| l == line).count();
            assert!((850..1_150).contains(&flows), "{flows} flows in line {line}");
        }
        assert!((0..16_000).all(|flow| hashed.line_of(flow) == lines[flow as usize]));
        let mut other = Classifier::new(Some(16), Rng::new(2));
        assert!((0..100).any(|flow| other.line_of(flow) != lines[flow as usize]), "the perturbation is random");
    }

    #[test]
    fn flows_with_lines_of_their_own_never_meet() {
        let mut exact = Classifier::new(None, Rng::new(1));
        assert_eq!([7, 1_000_000, 7, 3].map(|flow| exact.line_of(flow)), [0, 1, 0, 2]);
    }

    #[test]
    fn lines_are_made_as_they_are_used_and_keep_their_numbers() {
        let mut lines: Lines<u32> = Lines::default();
        *lines.at(1_000) = 7;
        *lines.at(3) += 1;
        *lines.at(1_000) += 1;
        assert_eq!(lines.iter().map(|(number, line)| (number, *line)).collect::<Vec<_>>(), [(1_000, 8), (3, 1)]);
    }

    #[test]
    fn of_lines_that_are_as_long_the_one_of_the_lowest_number_is_the_longest() {
        let mut buffer = buffer();
        let mut lines: Lines<Line> = Lines::default();
        for number in [9, 2, 5] {
            lines.at(number).push(waiting(Time::ZERO, Ecn::NotEct), &mut buffer);
        }
        assert_eq!(longest(lines.iter(), 7, 100), Some((2, 1_500)));
        assert_eq!(longest(lines.iter(), 5, 100), Some((5, 1_600)));
    }

    #[test]
    fn a_new_line_that_has_nothing_goes_behind_the_old_ones_once() {
        let mut turns = Turns::default();
        turns.join(1);
        turns.postpone_first();
        turns.join(2);
        assert_eq!(turns.first(), Some(2));
        assert!(!turns.retire_first());
        assert_eq!(turns.first(), Some(1));
        turns.postpone_first();
        assert_eq!(turns.first(), Some(2));
        assert!(turns.retire_first());
        turns.join(3);
        assert_eq!(turns.leave_first(), Some(3));
        assert_eq!(turns.first(), Some(1));
        assert!(turns.retire_first() && turns.is_empty());
    }
}
