//! Whose turns are equal: those of flows, of hosts, or of the flows of each host.

use super::Cake;
use dumbbell_parameters::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// Whose turns are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Those of hosts, sources and destinations, and of the flows of each.
    #[default]
    TripleIsolate,
    /// Those of sources, and of the flows of each.
    DualSrchost,
    /// Those of destinations, and of the flows of each.
    DualDsthost,
    /// Those of flows.
    Flows,
    /// Those of sources: the flows of each wait in one line.
    Srchost,
    /// Those of destinations: the flows of each wait in one line.
    Dsthost,
    /// Those of pairs of source and destination: the flows of each wait in one line.
    Hosts,
}

impl Isolation {
    /// Whether it looks at sources and at destinations.
    fn looks_at(self) -> [bool; 2] {
        match self {
            Isolation::TripleIsolate | Isolation::Hosts => [true, true],
            Isolation::DualSrchost | Isolation::Srchost => [true, false],
            Isolation::DualDsthost | Isolation::Dsthost => [false, true],
            Isolation::Flows => [false, false],
        }
    }

    /// Whether the flows of a host wait in one line.
    fn joins_lines(self) -> bool {
        matches!(self, Isolation::Srchost | Isolation::Dsthost | Isolation::Hosts)
    }

    fn name(self) -> &'static str {
        match self {
            Isolation::TripleIsolate => "triple-isolate",
            Isolation::DualSrchost => "dual-srchost",
            Isolation::DualDsthost => "dual-dsthost",
            Isolation::Flows => "flows",
            Isolation::Srchost => "srchost",
            Isolation::Dsthost => "dsthost",
            Isolation::Hosts => "hosts",
        }
    }
}

/// Refuses groups that overlap, and those that the isolation does not look at or lacks.
pub(super) fn check(cake: &Cake) -> Result<(), Problem> {
    let lists = [("hosts", &cake.hosts), ("destinations", &cake.destinations)];
    for (key, groups) in lists {
        let mut seen = BTreeSet::new();
        if let Some(twice) = groups.iter().flatten().find(|flow| !seen.insert(**flow)) {
            let message = format!("flow {twice} is in two groups");
            return Err(Problem::value(key, message, "allowed: each flow in one group at most"));
        }
    }
    let looks_at = cake.isolation.looks_at();
    let name = cake.isolation.name();
    for ((key, groups), looks) in lists.into_iter().zip(looks_at) {
        if !looks && !groups.is_empty() {
            let message = format!("isolation {name:?} does not look at them");
            return Err(Problem::value(key, message, format!("leave out `{key}`, or choose another `isolation`")));
        }
    }
    let needed: Vec<_> = lists.iter().zip(looks_at).filter(|(_, looks)| *looks).map(|((key, _), _)| *key).collect();
    let has_groups = lists.iter().any(|(_, groups)| !groups.is_empty());
    let is_plain = matches!(cake.isolation, Isolation::TripleIsolate | Isolation::Flows);
    if !is_plain && !has_groups {
        let message = format!("{name:?} changes nothing where no flows have a host in common");
        return Err(Problem::value("isolation", message, format!("say with `{}` which do", needed.join("` or `"))));
    }
    Ok(())
}

/// The hosts of flows, and how many bulk flows each has in a tin.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    sides: [Side; 2],
}

#[derive(Clone, Debug)]
struct Side {
    /// The host of each flow that shares one.
    host_of: HashMap<u32, usize>,
    /// Bulk flows of each host.
    bulk_of: Vec<u32>,
}

/// The hosts of a flow that it shares with others and whose load counts.
pub(super) type Ends = [Option<usize>; 2];

impl Hosts {
    /// Nobody has sent anything.
    pub(super) fn new(cake: &Cake) -> Hosts {
        let side = |groups: &Vec<Vec<u32>>| Side {
            host_of: (0..).zip(groups).flat_map(|(host, flows)| flows.iter().map(move |flow| (*flow, host))).collect(),
            bulk_of: vec![0; groups.len()],
        };
        if cake.isolation.joins_lines() {
            return Hosts { sides: [side(&Vec::new()), side(&Vec::new())] };
        }
        Hosts { sides: [side(&cake.hosts), side(&cake.destinations)] }
    }

    /// Those of a flow.
    pub(super) fn of(&self, flow: u32) -> Ends {
        [0, 1].map(|end| self.sides[end].host_of.get(&flow).copied())
    }

    /// A flow of these hosts is bulk from now on.
    pub(super) fn join_bulk(&mut self, ends: Ends) {
        self.each(ends, |bulk| *bulk += 1);
    }

    /// A flow of these hosts is not bulk any more.
    pub(super) fn leave_bulk(&mut self, ends: Ends) {
        self.each(ends, |bulk| *bulk -= 1);
    }

    fn each(&mut self, ends: Ends, change: impl Fn(&mut u32)) {
        for (side, end) in self.sides.iter_mut().zip(ends) {
            end.into_iter().for_each(|host| change(&mut side.bulk_of[host]));
        }
    }

    /// How many share what a host gets each turn with a flow of these hosts: of both the host that has more.
    pub(super) fn load(&self, ends: Ends) -> u32 {
        let loads = self.sides.iter().zip(ends).filter_map(|(side, end)| end.map(|host| side.bulk_of[host]));
        loads.max().map_or(1, |load| load.max(1))
    }
}

/// For each flow that waits in the line of another one: that flow.
pub(super) fn joined_lines(cake: &Cake) -> HashMap<u32, u32> {
    if !cake.isolation.joins_lines() {
        return HashMap::new();
    }
    let groups: Vec<Vec<u32>> = match cake.isolation {
        Isolation::Srchost => cake.hosts.clone(),
        Isolation::Dsthost => cake.destinations.clone(),
        // A flow that shares but one of its hosts is of another pair.
        _ => {
            let both =
                |one: &Vec<u32>, other: &Vec<u32>| one.iter().filter(|flow| other.contains(flow)).copied().collect();
            let pairs = cake.hosts.iter().flat_map(|one| cake.destinations.iter().map(move |other| both(one, other)));
            pairs.collect()
        }
    };
    groups.iter().flat_map(|flows| flows.iter().map(|flow| (*flow, flows[0]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cake(isolation: Isolation, hosts: &[&[u32]], destinations: &[&[u32]]) -> Cake {
        let groups = |of: &[&[u32]]| of.iter().map(|flows| flows.to_vec()).collect();
        Cake { isolation, hosts: groups(hosts), destinations: groups(destinations), ..Cake::default() }
    }

    #[test]
    fn the_host_with_more_bulk_flows_counts_and_flows_without_one_count_alone() {
        let mut hosts = Hosts::new(&cake(Isolation::TripleIsolate, &[&[0, 1, 2]], &[&[2, 3]]));
        for flow in 0..4 {
            hosts.join_bulk(hosts.of(flow));
        }
        assert_eq!([0, 2, 3, 4].map(|flow| hosts.load(hosts.of(flow))), [3, 3, 2, 1]);
        hosts.leave_bulk(hosts.of(0));
        hosts.leave_bulk(hosts.of(1));
        assert_eq!([0, 2, 3].map(|flow| hosts.load(hosts.of(flow))), [1, 2, 2]);
    }

    #[test]
    fn flows_of_a_host_or_of_a_pair_wait_in_one_line() {
        let lines = |isolation, destinations| {
            let joined = joined_lines(&cake(isolation, &[&[0, 1, 2]], destinations));
            [0, 1, 2, 3].map(|flow| joined.get(&flow).copied().unwrap_or(flow))
        };
        assert_eq!(lines(Isolation::Srchost, &[]), [0, 0, 0, 3]);
        assert_eq!(lines(Isolation::Hosts, &[&[1, 2, 3]]), [0, 1, 1, 3]);
        assert_eq!(lines(Isolation::TripleIsolate, &[]), [0, 1, 2, 3]);
    }

    #[test]
    fn groups_that_change_nothing_are_refused() {
        let refused = |cake: &Cake| check(cake).map_err(|problem| problem.message);
        let unseen = "isolation \"dual-dsthost\" does not look at them".to_owned();
        assert_eq!(refused(&cake(Isolation::DualDsthost, &[&[0]], &[&[1, 2]])), Err(unseen));
        let nothing = "\"srchost\" changes nothing where no flows have a host in common".to_owned();
        assert_eq!(refused(&cake(Isolation::Srchost, &[], &[])), Err(nothing));
        assert_eq!(refused(&cake(Isolation::Flows, &[], &[])), Ok(()));
        assert_eq!(refused(&cake(Isolation::Hosts, &[&[0, 1]], &[&[0, 1]])), Ok(()));
    }
}
