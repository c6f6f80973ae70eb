//! Links that only delay packets, and where these meet behind them.

use super::{Leaving, Routes};
use dumbbell_units::Duration;

/// Links that only delay packets, all of which come to one place, where a [calendar](crate::Calendar) puts them in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// The links, by their numbers.
    pub links: Vec<usize>,
    /// The link that all packets enter behind them; `None` if they have arrived.
    pub next: Option<usize>,
}

/// An agenda of so few slots needs no tree, and so links that lead to ends need no calendar.
const MOST_SLOTS_WITHOUT_A_TREE: usize = 2;

/// What comes behind a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Nothing enters it.
    Unused,
    /// Always this link, or the end of a way.
    Always(Option<usize>),
    /// It depends on the way.
    Several,
}

impl Next {
    fn or(self, next: Option<usize>) -> Next {
        match self {
            Next::Unused => Next::Always(next),
            same if same == Next::Always(next) => same,
            _ => Next::Several,
        }
    }
}

impl Routes {
    /// Gathers links that do nothing to packets but to delay them by `delay`. There are two kinds of places to which such links
    /// lead. One is a link that `may_wait` to hear of what enters it until the first of that reaches its far end: all that enters
    /// it has been delayed by a gathered link, and all that leaves those enters it. The other is the end of a way: all that
    /// leaves these links has arrived, and of the media in which packets wait for their time none has a higher number, so that
    /// what is due at one instant keeps its order. Links must not change afterwards.
    pub fn gather(
        &mut self,
        delay: impl Fn(usize) -> Option<Duration>,
        may_wait: impl Fn(usize) -> bool,
    ) -> Vec<Gathering> {
        let media = self.entered.len();
        let has_duties = self.has_duties(media);
        let delays = |number: usize| delay(number).filter(|_| !has_duties[number]);
        let next = self.next_of_all(media);
        let mut is_met: Vec<bool> = (0..media).map(may_wait).collect();
        for (_, way) in self.ways(|_| false) {
            let way = &self.hops[way];
            is_met[way[0].medium()] = false;
            for pair in way.windows(2) {
                let (before, number) = (pair[0].medium(), pair[1].medium());
                let is_late = delays(before).is_some_and(|delay| delay > Duration::ZERO);
                is_met[number] &= is_late && next[before] == Next::Always(Some(number));
            }
        }
        let leads_to = |number: usize| match next[number] {
            Next::Always(Some(next)) if is_met[next] => Some(next),
            _ => None,
        };
        let mut gatherings = Vec::new();
        let mut place_of = vec![usize::MAX; media];
        for number in 0..media {
            let Some(next) = leads_to(number) else { continue };
            if place_of[next] == usize::MAX {
                place_of[next] = gatherings.len();
                gatherings.push(Gathering { links: Vec::new(), next: Some(next) });
            }
            gatherings[place_of[next]].links.push(number);
        }
        let is_waited_in = self.is_waited_in(media);
        let arrives = |number: usize| next[number] == Next::Always(None) && delays(number).is_some();
        let waits = |number: &usize| is_waited_in[*number] && leads_to(*number).is_none() && !arrives(*number);
        let first = (0..media).rev().find(waits).map_or(0, |number| number + 1);
        let links: Vec<usize> = (first..media).filter(|&number| arrives(number)).collect();
        if links.len() > MOST_SLOTS_WITHOUT_A_TREE {
            gatherings.push(Gathering { links, next: None });
        }
        self.mark_gathered(media, &gatherings);
        gatherings
    }

    /// For each medium whether it does more than to carry packets: throughput is measured there, or receivers answer ahead of time
    /// over it, which sorts what enters it.
    fn has_duties(&self, media: usize) -> Vec<bool> {
        let mut has_duties = vec![false; media];
        for hop in self.hops.iter().filter(|hop| hop.is_bottleneck) {
            has_duties[hop.medium()] = true;
        }
        for route in self.routes.iter().filter(|route| route.answers_ahead && route.passed.is_none()) {
            has_duties[route.first_reverse.medium()] = true;
        }
        has_duties
    }

    /// What comes behind each medium.
    fn next_of_all(&self, media: usize) -> Vec<Next> {
        let mut next = vec![Next::Unused; media];
        for (_, way) in self.ways(|_| false) {
            let way = &self.hops[way];
            for (place, hop) in way.iter().enumerate() {
                let number = hop.medium();
                next[number] = next[number].or(way.get(place + 1).map(|hop| hop.medium()));
            }
        }
        next
    }

    /// So many media there are, by their numbers, up to the last in which packets wait for their time: that are neither
    /// [passed](Self::shorten) nor [gathered](Self::gather).
    pub fn media_with_work(&self) -> usize {
        let media = self.entered.len();
        let mut has_work = self.is_waited_in(media);
        for hop in self.hops.iter().filter(|hop| hop.leaving == Leaving::Gathered) {
            has_work[hop.medium()] = false;
        }
        has_work.iter().rposition(|has_work| *has_work).map_or(0, |last| last + 1)
    }

    /// For each medium whether packets enter it that do not only [pass](Self::shorten) it.
    fn is_waited_in(&self, media: usize) -> Vec<bool> {
        let mut is_waited_in = vec![false; media];
        let mut begins = 0;
        for route in &self.routes {
            let (there, back) = (route.forward_end as usize, route.reverse_end as usize);
            let first_back = there + usize::from(route.passed.is_some());
            for hop in self.hops[begins..there].iter().chain(&self.hops[first_back..back]) {
                is_waited_in[hop.medium()] = true;
            }
            begins = back;
        }
        is_waited_in
    }

    fn mark_gathered(&mut self, media: usize, gatherings: &[Gathering]) {
        let mut is_gathered = vec![false; media];
        for &number in gatherings.iter().flat_map(|gathering| &gathering.links) {
            is_gathered[number] = true;
        }
        for hop in self.hops_mut().filter(|hop| is_gathered[hop.medium()]) {
            hop.leaving = Leaving::Gathered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::routes;
    use super::*;

    /// How links are gathered if all delay packets by a millisecond but those in `queues`, of ways that all begin with link 0.
    fn gathered(ways_back: &[&[usize]], queues: &[usize]) -> Vec<(Vec<usize>, Option<usize>)> {
        let mut routes = routes(ways_back);
        let delay = |number: usize| (!queues.contains(&number)).then(|| Duration::from_millis(1));
        let gatherings = routes.gather(delay, |number| queues.contains(&number));
        let is_marked =
            |number: &usize| routes.hops.iter().any(|hop| hop.medium() == *number && !hop.is_left_in_time());
        let mut links: Vec<_> = gatherings.iter().flat_map(|gathering| gathering.links.clone()).collect();
        links.sort_unstable();
        assert_eq!((0..9).filter(is_marked).collect::<Vec<_>>(), links);
        gatherings.into_iter().map(|Gathering { links, next }| (links, next)).collect()
    }

    #[test]
    fn links_are_gathered_that_alone_lead_to_a_queue() {
        assert_eq!(gathered(&[&[1, 3], &[2, 3]], &[0, 3]), [(vec![1, 2], Some(3))]);
        assert_eq!(gathered(&[&[1, 3], &[3]], &[0, 3]), [], "something enters the queue at once");
        assert_eq!(gathered(&[&[1, 3], &[2, 3], &[2, 4]], &[0, 3, 4]), [], "not all that leaves link 2 enters link 3");
        assert_eq!(gathered(&[&[1, 3], &[4, 3]], &[0, 3, 4]), [], "a queue is before it");
    }

    #[test]
    fn links_are_gathered_that_lead_to_ends_behind_all_others() {
        assert_eq!(gathered(&[&[1, 2], &[1, 3], &[1, 4]], &[0, 1]), [(vec![2, 3, 4], None)]);
        assert_eq!(gathered(&[&[1, 2], &[1, 3]], &[0, 1]), [], "two need no calendar");
        assert_eq!(gathered(&[&[5, 2], &[5, 3], &[5, 4]], &[0, 5]), [], "those with a lower number come first");
        assert_eq!(gathered(&[&[1, 2], &[1, 3], &[1, 4], &[4, 5], &[6], &[7]], &[0, 1]), [(vec![5, 6, 7], None)]);
    }
}
