//! What queues with a line for each flow have in common: which line a packet belongs to, and whose turn it is.
//!
//! Linux tells flows apart by a hash of addresses and ports with a random perturbation; here a flow's number takes the
//! place of these. Lines take turns by deficit round robin with two lists (DRR++): a flow that has had nothing to send
//! is new and comes before all old ones, once. So a flow that sends little finds its turn at once, and one that always
//! has something to send gets no more than the others.

use super::held::Line;
use dumbbell_units::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Says in which line the packets of a flow wait. Lines are counted as their first packets come, so that only those
/// exist that are used: of a thousand lines of a hash a station uses one.
#[derive(Clone, Debug)]
pub(super) struct Classifier {
    rule: Rule,
    /// Flows that were asked for lately, and their lines, or `NO_LINE`: each has one place here, by its number.
    recent: [(u32, u32); RECENT],
}

/// A power of two.
const RECENT: usize = 16;
const NO_LINE: u32 = u32::MAX;

#[derive(Clone, Debug)]
enum Rule {
    /// By a hash; flows may meet in a line.
    Hashed {
        lines: u32,
        perturbation: u64,
        /// The hashes that flows have had, as they are counted.
        hashes: Vec<u32>,
        /// What each is counted as, once they are more than [a few](Rule::FEW).
        numbers: BTreeMap<u32, usize>,
    },
    /// Every flow has a line of its own.
    Exact(HashMap<u32, usize>),
}

impl Classifier {
    /// A hash into so many lines; `None` gives every flow a line of its own.
    pub(super) fn new(lines: Option<u32>, mut rng: Rng) -> Classifier {
        let rule = match lines {
            Some(lines) => {
                let perturbation = rng.next_u64();
                Rule::Hashed { lines, perturbation, hashes: Vec::new(), numbers: BTreeMap::new() }
            }
            None => Rule::Exact(HashMap::new()),
        };
        Classifier { rule, recent: [(0, NO_LINE); RECENT] }
    }

    /// The line of a flow.
    #[inline]
    pub(super) fn line_of(&mut self, flow: u32) -> usize {
        match self.recent[flow as usize % RECENT] {
            (recent, line) if recent == flow && line != NO_LINE => line as usize,
            _ => self.look_up(flow),
        }
    }

    fn look_up(&mut self, flow: u32) -> usize {
        let line = self.rule.line_of(flow);
        self.recent[flow as usize % RECENT] = (flow, u32::try_from(line).unwrap_or(NO_LINE));
        line
    }

    /// Where a line stands among all that there could be.
    pub(super) fn rank(&self, line: usize) -> usize {
        match &self.rule {
            Rule::Hashed { hashes, .. } => hashes[line] as usize,
            Rule::Exact(_) => line,
        }
    }
}

impl Rule {
    /// So many hashes are gone through as quickly as they are looked up.
    const FEW: usize = 16;

    fn line_of(&mut self, flow: u32) -> usize {
        match self {
            Rule::Hashed { lines, perturbation, hashes, numbers } => {
                let hash = Rng::stream(*perturbation, flow.into()).below(*lines);
                let found = match hashes.len() {
                    ..=Rule::FEW => hashes.iter().position(|&other| other == hash),
                    _ => numbers.get(&hash).copied(),
                };
                found.unwrap_or_else(|| {
                    let number = hashes.len();
                    // Most of a thousand stations' queues have one flow.
                    if number == 0 {
                        hashes.reserve_exact(1);
                    }
                    hashes.push(hash);
                    match number {
                        ..Rule::FEW => {}
                        Rule::FEW => *numbers = hashes.iter().copied().zip(0..).collect(),
                        _ => _ = numbers.insert(hash, number),
                    }
                    number
                })
            }
            Rule::Exact(lines) => {
                let next = lines.len();
                *lines.entry(flow).or_insert(next)
            }
        }
    }
}

/// The element of number `line`, which is made if it does not exist.
#[inline]
pub(super) fn line_at<T: Default>(lines: &mut Vec<T>, line: usize) -> &mut T {
    if line >= lines.len() {
        // A station's queue has one line, and there are thousands of such queues.
        if lines.is_empty() {
            lines.reserve_exact(line + 1);
        }
        lines.resize_with(line + 1, T::default);
    }
    &mut lines[line]
}

/// The line that holds the most bytes when a packet of `size` bytes comes to line `to`, and these bytes: the first by
/// [rank](Classifier::rank), if several do.
pub(super) fn longest<'a>(
    lines: impl Iterator<Item = &'a Line>,
    classifier: &Classifier,
    to: usize,
    size: u32,
) -> Option<(usize, u64)> {
    let bytes = |(number, line): (usize, &Line)| {
        (number, line.backlog().bytes + if number == to { u64::from(size) } else { 0 })
    };
    lines.enumerate().map(bytes).max_by_key(|(number, bytes)| (*bytes, Reverse(classifier.rank(*number))))
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

    /// Whether a single line waits for its turn, so that its turns follow each other.
    pub(super) fn is_single(&self) -> bool {
        self.new.len() + self.old.len() == 1
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
        let mut hash = |flow| {
            let lines = [&mut hashed, &mut other].map(|classifier| (classifier.line_of(flow), &*classifier));
            lines.map(|(line, classifier)| classifier.rank(line))
        };
        assert!((0..100).map(&mut hash).any(|[one, other]| one != other), "the perturbation is random");
    }

    #[test]
    fn a_hash_is_one_line_whether_few_have_come_or_many() {
        for lines in [1, 8, 17, 18, 1_024] {
            let mut hashed = Classifier::new(Some(lines), Rng::new(3));
            let mut seen = Vec::new();
            for flow in (0..3_000).chain(0..3_000) {
                let line = hashed.line_of(flow);
                let hash = hashed.rank(line);
                if line == seen.len() {
                    assert!(!seen.contains(&hash));
                    seen.push(hash);
                }
                assert_eq!(seen[line], hash, "flow {flow} of {lines} lines");
            }
            assert!(seen.len() <= lines as usize);
        }
    }

    #[test]
    fn flows_with_lines_of_their_own_never_meet() {
        let mut exact = Classifier::new(None, Rng::new(1));
        assert_eq!([7, 1_000_000, 7, 3].map(|flow| exact.line_of(flow)), [0, 1, 0, 2]);
    }

    #[test]
    fn of_lines_that_are_as_long_the_one_of_the_lowest_hash_is_the_longest() {
        let mut hashed = Classifier::new(Some(1_024), Rng::new(1));
        let mut buffer = buffer();
        let mut lines: Vec<Line> = Vec::new();
        for flow in 0..5 {
            let line = hashed.line_of(flow);
            line_at(&mut lines, line).push(waiting(Time::ZERO, Ecn::NotEct), &mut buffer);
        }
        assert_eq!(lines.len(), 5, "only those exist that are used");
        let lowest = (0..5).min_by_key(|line| hashed.rank(*line)).unwrap();
        assert_ne!(lowest, 0);
        assert_eq!(longest(lines.iter(), &hashed, 5, 100), Some((lowest, 1_500)));
        assert_eq!(longest(lines.iter(), &hashed, 0, 100), Some((0, 1_600)));
    }

    #[test]
    fn a_new_line_that_has_nothing_goes_behind_the_old_ones_once() {
        let mut turns = Turns::default();
        turns.join(1);
        assert!(turns.is_single());
        turns.postpone_first();
        assert!(turns.is_single());
        turns.join(2);
        assert!(!turns.is_single());
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
