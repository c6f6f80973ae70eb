//! Which station a device serves next.
//!
//! With airtime fairness this is a deficit round robin over time (`ieee80211_next_txq`): the first station of the list
//! is served until its deficit is negative; then it is given its weight and goes to the end. What a station sends itself
//! is charged to it, too. Without, stations take turns.

use dumbbell_units::Duration;
use std::collections::VecDeque;

/// The stations of a device, by the numbers of their lanes.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    is_fair: bool,
    stations: Vec<Station>,
    /// Those that the device has something for, by their places among `stations`.
    waiting: VecDeque<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    lane: usize,
    /// Nanoseconds of airtime that it may still use before others come.
    deficit: i64,
    weight: i64,
}

impl Turns {
    pub(super) fn new(is_fair: bool) -> Turns {
        Turns { is_fair, stations: Vec::new(), waiting: VecDeque::new() }
    }

    /// Adds a station with its weight.
    pub(super) fn add(&mut self, lane: usize, weight: Duration) {
        let weight = signed(weight).max(1);
        self.stations.push(Station { lane, deficit: weight, weight });
    }

    /// There is something for the station of `lane`.
    pub(super) fn enter(&mut self, lane: usize) {
        if let Some(place) = self.place(lane)
            && !self.waiting.contains(&place)
        {
            self.waiting.push_back(place);
        }
    }

    fn place(&self, lane: usize) -> Option<usize> {
        self.stations.iter().position(|station| station.lane == lane)
    }

    /// The station of `lane` has used the channel for so long.
    pub(super) fn charge(&mut self, lane: usize, airtime: Duration) {
        if let Some(place) = self.place(lane) {
            let deficit = &mut self.stations[place].deficit;
            *deficit = deficit.saturating_sub(signed(airtime));
        }
    }

    /// The lane that is served now; stations for which there is nothing leave the list.
    pub(super) fn next(&mut self, has_something: impl Fn(usize) -> bool) -> Option<usize> {
        let Turns { stations, waiting, .. } = self;
        waiting.retain(|&place| has_something(stations[place].lane));
        if !self.is_fair {
            let place = self.waiting.pop_front()?;
            self.waiting.push_back(place);
            return Some(self.stations[place].lane);
        }
        self.skip_rounds();
        loop {
            let station = &mut self.stations[*self.waiting.front()?];
            if station.deficit >= 0 {
                return Some(station.lane);
            }
            station.deficit += station.weight;
            self.waiting.rotate_left(1);
        }
    }

    /// Makes the rounds in which nobody gets far enough, all but one, at once: an exchange may take many weights.
    fn skip_rounds(&mut self) {
        let owed = |place: &usize| {
            let Station { deficit, weight, .. } = self.stations[*place];
            deficit.min(0).unsigned_abs().div_ceil(weight.unsigned_abs())
        };
        let rounds = self.waiting.iter().map(owed).min().unwrap_or(0).saturating_sub(1);
        for &place in &self.waiting {
            let station = &mut self.stations[place];
            station.deficit += station.weight * i64::try_from(rounds).unwrap_or(0);
        }
    }
}

fn signed(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Serves three stations that always have something, whose exchanges last so long, and returns the airtime of each.
    fn serve(is_fair: bool, exchange_us: [u64; 3], weight_us: [u64; 3]) -> Vec<u64> {
        let mut turns = Turns::new(is_fair);
        for (lane, weight) in weight_us.into_iter().enumerate() {
            turns.add(lane, us(weight));
            turns.enter(lane);
        }
        let mut used = vec![0; 3];
        for _ in 0..30_000 {
            let lane = turns.next(|_| true).unwrap();
            used[lane] += exchange_us[lane];
            turns.charge(lane, us(exchange_us[lane]));
        }
        used
    }

    fn shares(used: &[u64]) -> Vec<u64> {
        let sum: u64 = used.iter().sum();
        used.iter().map(|airtime| (airtime * 1_000 + sum / 2) / sum).collect()
    }

    #[test]
    fn stations_get_airtime_by_their_weights_however_long_their_exchanges_are() {
        let shares_of = |exchange, weight| shares(&serve(true, exchange, weight));
        let near = |found: Vec<u64>, wanted: [u64; 3]| {
            assert!(found.iter().zip(wanted).all(|(found, wanted)| found.abs_diff(wanted) <= 5), "{found:?}");
        };
        near(shares_of([200, 1_500, 4_000], [256; 3]), [333, 333, 333]);
        near(shares_of([200, 1_500, 4_000], [512, 256, 256]), [500, 250, 250]);
    }

    #[test]
    fn without_fairness_every_station_has_as_many_turns() {
        assert_eq!(serve(false, [200, 1_500, 4_000], [256; 3]), [200, 1_500, 4_000].map(|us| us * 10_000));
    }

    #[test]
    fn a_station_without_packets_leaves_the_list() {
        let mut turns = Turns::new(true);
        for lane in [0, 1] {
            turns.add(lane, us(256));
            turns.enter(lane);
        }
        assert_eq!(turns.next(|lane| lane == 1), Some(1));
        assert_eq!(turns.next(|_| false), None);
    }
}
