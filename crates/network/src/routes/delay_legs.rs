//! Links that only delay packets, of which a network may have thousands.

use super::Routes;

/// An agenda of so few slots needs no tree, so that a slot for each link costs no more than a calendar for all.
const MOST_SLOTS_WITHOUT_A_TREE: usize = 2;

/// Links whose packets wait in one calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayLegs {
    /// Their numbers.
    pub links: Vec<usize>,
    /// The slot of the agenda of media that wakes them: the first behind those of media in which packets wait otherwise,
    /// which are all that need slots.
    pub slot: usize,
}

impl Routes {
    /// Makes delay legs of the links that do nothing to packets but to delay them, where there are many of them: what
    /// enters any of them is to wait in one [calendar](crate::Calendar) for its time to leave. They are numbered behind
    /// all media in which packets wait otherwise, so that what is due at one instant keeps its order. Links must not
    /// change afterwards.
    pub fn take_delay_legs(&mut self, only_delays: impl Fn(usize) -> bool) -> Option<DelayLegs> {
        let media = self.entered.len();
        let (has_duties, is_waited_in) = (self.has_duties(media), self.is_waited_in(media));
        let may_be_leg = |number: usize| only_delays(number) && !has_duties[number];
        let last = (0..media).rev().find(|&number| is_waited_in[number] && !may_be_leg(number));
        let slot = last.map_or(0, |last| last + 1);
        let links: Vec<usize> = (slot..media).filter(|&number| is_waited_in[number]).collect();
        if links.len() <= MOST_SLOTS_WITHOUT_A_TREE {
            return None;
        }
        for hop in self.hops_mut().filter(|hop| hop.medium() >= slot) {
            hop.is_delay_leg = true;
        }
        Some(DelayLegs { links, slot })
    }

    /// For each medium whether it does more than to carry packets: throughput is measured there, others
    /// [pass](Self::shorten) it, which it counts, or receivers answer ahead of time over it, which sorts what enters
    /// it.
    fn has_duties(&self, media: usize) -> Vec<bool> {
        let mut has_duties = vec![false; media];
        for hop in self.hops.iter().filter(|hop| hop.is_bottleneck) {
            has_duties[hop.medium()] = true;
        }
        for route in &self.routes {
            match route.passed {
                Some(passed) => has_duties[passed as usize] = true,
                None => has_duties[route.first_reverse.medium()] |= route.answers_ahead,
            }
        }
        has_duties
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

    /// All hops, those where ways begin twice.
    fn hops_mut(&mut self) -> impl Iterator<Item = &mut super::Hop> {
        let first = self.routes.iter_mut().flat_map(|route| [&mut route.first_forward, &mut route.first_reverse]);
        self.hops.iter_mut().chain(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::routes;

    /// The delay legs of ways that all begin with link 0, and their slot, if all links only delay packets but those in
    /// `queues`.
    fn legs(ways_back: &[&[usize]], queues: &[usize]) -> Option<(Vec<usize>, usize)> {
        let mut routes = routes(ways_back);
        let legs = routes.take_delay_legs(|number| !queues.contains(&number));
        let is_marked = |number: &usize| routes.hops.iter().any(|hop| hop.medium() == *number && hop.is_delay_leg);
        let links = legs.as_ref().map(|legs| legs.links.clone()).unwrap_or_default();
        assert_eq!((0..9).filter(is_marked).collect::<Vec<_>>(), links);
        legs.map(|legs| (legs.links, legs.slot))
    }

    #[test]
    fn links_that_only_delay_packets_are_delay_legs_behind_all_others() {
        assert_eq!(legs(&[&[1, 2], &[1, 3], &[1, 4]], &[0, 1]), Some((vec![2, 3, 4], 2)));
        assert_eq!(legs(&[&[1, 3], &[1, 4], &[1, 5]], &[0, 1]), Some((vec![3, 4, 5], 2)));
        assert_eq!(legs(&[&[1, 2], &[1, 3]], &[0, 1]), None, "two need no calendar");
        assert_eq!(legs(&[&[5, 2], &[5, 3], &[5, 4]], &[0, 5]), None, "those with a lower number come first");
        let long: [&[usize]; 6] = [&[1, 2], &[1, 3], &[1, 4], &[4, 5], &[6], &[7]];
        assert_eq!(legs(&long, &[0, 1]), Some((vec![2, 3, 4, 5, 6, 7], 2)));
    }

    #[test]
    fn a_link_that_some_pass_and_others_enter_is_no_delay_leg() {
        let mut routes = routes(&[&[1, 2], &[1, 3], &[1], &[4], &[5]]);
        routes.shorten(|number| number > 0, |_| false);
        let legs = routes.take_delay_legs(|number| number > 0).unwrap();
        assert_eq!((legs.links, legs.slot), (vec![2, 3, 4, 5], 2));
    }
}
