//! Shortest paths by delay, then by number of links, then by their order in the file.

use super::network::Draft;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// What is known of the shortest paths of a network. It lasts: what is added to the network later are links that flows
/// have to themselves, which lead nowhere else.
#[derive(Default)]
pub(super) struct ShortestPaths {
    /// Links that leave each node and that arrive there; empty before the first path.
    leaving: Vec<Vec<usize>>,
    arriving: Vec<Vec<usize>>,
    /// By the node from which they start.
    searches: HashMap<usize, Search>,
}

/// A search from one node, as far as it has got.
struct Search {
    /// Nodes that were reached, with their distances, and have not been looked at.
    reached: BinaryHeap<Reverse<(Distance, usize)>>,
    /// The shortest distance so far, and the link by which it is reached.
    best: HashMap<usize, (Distance, Option<usize>)>,
    settled: HashSet<usize>,
}

/// Nanoseconds and links.
type Distance = (u64, usize);

impl ShortestPaths {
    /// The links of the shortest path from one node to another, of `nodes` in all.
    pub(super) fn find(&mut self, links: &[Draft], nodes: usize, from: usize, to: usize) -> Option<Vec<usize>> {
        if self.leaving.is_empty() {
            self.leaving.resize(nodes, Vec::new());
            self.arriving.resize(nodes, Vec::new());
            for (index, link) in links.iter().enumerate() {
                self.leaving[link.from].push(index);
                self.arriving[link.to].push(index);
            }
        }
        // Where only one link leads on, or only one leads there, nothing has to be searched. So stations around one
        // node have a search in common.
        let (mut path, mut end, mut node, mut last) = (Vec::new(), Vec::new(), from, to);
        while node != last
            && let [only] = self.leaving[node][..]
            && path.len() < nodes
        {
            path.push(only);
            node = links[only].to;
        }
        while node != last
            && let [only] = self.arriving[last][..]
            && end.len() < nodes
        {
            end.push(only);
            last = links[only].from;
        }
        if node != last {
            let search = self.searches.entry(node).or_insert_with(|| Search::from(node));
            path.extend(search.path_to(last, links, &self.leaving)?);
        }
        path.extend(end.into_iter().rev());
        Some(path)
    }
}

impl Search {
    fn from(node: usize) -> Search {
        let start = (0, 0);
        Search {
            reached: BinaryHeap::from([Reverse((start, node))]),
            best: HashMap::from([(node, (start, None))]),
            settled: HashSet::new(),
        }
    }

    fn path_to(&mut self, to: usize, links: &[Draft], leaving: &[Vec<usize>]) -> Option<Vec<usize>> {
        while !self.settled.contains(&to) {
            self.step(links, leaving)?;
        }
        let by = |node: usize| self.best.get(&node).and_then(|(_, by)| *by);
        let mut path: Vec<usize> = std::iter::successors(by(to), |&link| by(links[link].from)).collect();
        path.reverse();
        Some(path)
    }

    /// Looks at the nearest node; `None` where all are known.
    fn step(&mut self, links: &[Draft], leaving: &[Vec<usize>]) -> Option<()> {
        let Reverse(((delay, hops), node)) = self.reached.pop()?;
        if !self.settled.insert(node) {
            return Some(());
        }
        for &index in &leaving[node] {
            let link = &links[index];
            let distance = (delay.saturating_add(link.delay.base.as_nanos()), hops + 1);
            if self.best.get(&link.to).is_none_or(|(known, _)| distance < *known) {
                self.best.insert(link.to, (distance, Some(index)));
                self.reached.push(Reverse((distance, link.to)));
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Side;
    use crate::key_path::KeyPath;
    use crate::resolve::delays::ResolvedDelay;
    use crate::resolve::network::Role;
    use dumbbell_units::Duration;

    fn links(ends: &[(usize, usize, u64)]) -> Vec<Draft> {
        let link = |&(from, to, us): &(usize, usize, u64)| Draft {
            name: String::new(),
            from,
            to,
            side: Side::default(),
            delay: ResolvedDelay::constant(Duration::from_micros(us)),
            at: KeyPath::default(),
            role: Role::Described,
            opposite: None,
        };
        ends.iter().map(link).collect()
    }

    /// Delay and number of links of the shortest paths between all nodes, by Floyd and Warshall.
    fn distances(links: &[Draft], nodes: usize) -> Vec<Vec<Option<Distance>>> {
        let mut known = vec![vec![None; nodes]; nodes];
        for link in links {
            let distance = (link.delay.base.as_nanos(), 1);
            let known: &mut Option<Distance> = &mut known[link.from][link.to];
            *known = Some(known.map_or(distance, |known| known.min(distance)));
        }
        (0..nodes).for_each(|node| known[node][node] = Some((0, 0)));
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    if let (Some(first), Some(second)) = (known[from][via], known[via][to]) {
                        let through = (first.0 + second.0, first.1 + second.1);
                        known[from][to] = Some(known[from][to].map_or(through, |known| known.min(through)));
                    }
                }
            }
        }
        known
    }

    #[test]
    fn paths_are_the_shortest_in_networks_of_all_kinds() {
        let mut rng = dumbbell_units::Rng::new(7);
        for _ in 0..300 {
            let nodes = 2 + rng.below(7) as usize;
            let mut ends = Vec::new();
            for _ in 0..rng.below(14) {
                let mut node = || rng.below(u32::try_from(nodes).unwrap()) as usize;
                let (from, to) = (node(), node());
                if from != to {
                    ends.push((from, to, u64::from(rng.below(4))));
                }
            }
            let links = links(&ends);
            let wanted = distances(&links, nodes);
            let mut paths = ShortestPaths::default();
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let found = paths.find(&links, nodes, from, to);
                let length = found.as_ref().map(|path| {
                    let end = path.iter().fold(from, |node, &link| {
                        assert_eq!(links[link].from, node, "the links of {path:?} do not join");
                        links[link].to
                    });
                    assert_eq!(end, to);
                    (path.iter().map(|&link| links[link].delay.base.as_nanos()).sum(), path.len())
                });
                assert_eq!(length, wanted[from][to], "from {from} to {to} in {ends:?}");
            }
        }
    }

    #[test]
    fn of_equal_paths_the_first_in_the_file_is_taken() {
        let links = links(&[(0, 1, 5), (0, 2, 5), (1, 3, 5), (2, 3, 5), (0, 1, 5)]);
        assert_eq!(ShortestPaths::default().find(&links, 4, 0, 3), Some(vec![0, 2]));
    }
}
