//! Which station a device serves next.
//!
//! With airtime fairness this is a deficit round robin over time (`ieee80211_next_txq`): the first station of the list
//! is served until its deficit is negative; then it is given its weight and goes to the end. What a station sends
//! itself is charged to it, too. Without, stations take turns.

use super::timetable::Timetable;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// The stations of a device, in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    is_fair: bool,
    stations: Vec<Station>,
    /// Those that wait for their turn, and entries of some that have left since.
    list: VecDeque<Entry>,
    /// How many of these are of stations that wait.
    waiting: usize,
    /// Stations that may have to leave the list when it is looked at next.
    doubtful: Vec<usize>,
    /// Stations for which there is something now or later, and that were not in the list when this was found out.
    outside: Vec<usize>,
    /// For how many stations there is something now.
    ready: usize,
    /// From when on there is something for others.
    later: Timetable,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    lane: usize,
    /// Nanoseconds of airtime that it may still use before others come.
    deficit: i64,
    weight: i64,
    /// From when on there is something for it.
    ready: Time,
    is_ready: bool,
    is_waiting: bool,
    is_doubtful: bool,
    is_outside: bool,
    /// How often it has left the list: entries from before are void.
    left: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    station: usize,
    left: u32,
}

impl Turns {
    pub(super) fn new(is_fair: bool) -> Turns {
        Turns {
            is_fair,
            stations: Vec::new(),
            list: VecDeque::new(),
            waiting: 0,
            doubtful: Vec::new(),
            outside: Vec::new(),
            ready: 0,
            later: Timetable::default(),
        }
    }

    /// How many stations there are: the number of the next one.
    pub(super) fn len(&self) -> usize {
        self.stations.len()
    }

    /// Adds a station with its lane and its weight.
    pub(super) fn add(&mut self, lane: usize, weight: Duration) {
        let weight = signed(weight).max(1);
        self.stations.push(Station {
            lane,
            deficit: weight,
            weight,
            ready: Time::NEVER,
            is_ready: false,
            is_waiting: false,
            is_doubtful: false,
            is_outside: false,
            left: 0,
        });
    }

    /// There is something for a station from `ready` on; to be said whenever that changes.
    #[inline]
    pub(super) fn note(&mut self, station: usize, ready: Time, now: Time) {
        if self.stations[station].ready != ready {
            self.note_change(station, ready, now);
        }
    }

    fn note_change(&mut self, number: usize, ready: Time, now: Time) {
        let station = &mut self.stations[number];
        station.ready = ready;
        let is_ready = ready <= now;
        let was_ready = std::mem::replace(&mut station.is_ready, is_ready);
        self.ready = self.ready + usize::from(is_ready) - usize::from(was_ready);
        self.later.set(number, if is_ready { Time::NEVER } else { ready });
        if !station.is_waiting {
            self.keep_outside(number);
        } else if !is_ready {
            self.doubt(number);
        }
    }

    /// From when on there is something for a station; an instant of the past is any of the past.
    pub(super) fn ready(&self) -> Time {
        if self.ready > 0 { Time::ZERO } else { self.later.first().0 }
    }

    /// A station enters the list if there is something for it.
    pub(super) fn enter(&mut self, number: usize) {
        let station = &mut self.stations[number];
        if station.is_waiting || station.ready == Time::NEVER {
            return;
        }
        station.is_waiting = true;
        self.waiting += 1;
        self.list.push_back(Entry { station: number, left: station.left });
        if !station.is_ready {
            self.doubt(number);
        }
    }

    /// All stations enter for which there is something now or later.
    pub(super) fn enter_all(&mut self) {
        let mut outside = std::mem::take(&mut self.outside);
        outside.sort_unstable();
        for number in outside.drain(..) {
            self.stations[number].is_outside = false;
            self.enter(number);
        }
        self.outside = outside;
    }

    fn doubt(&mut self, number: usize) {
        if !std::mem::replace(&mut self.stations[number].is_doubtful, true) {
            self.doubtful.push(number);
        }
    }

    fn keep_outside(&mut self, number: usize) {
        let station = &mut self.stations[number];
        if station.ready < Time::NEVER && !std::mem::replace(&mut station.is_outside, true) {
            self.outside.push(number);
        }
    }

    /// The station has used the channel for so long.
    pub(super) fn charge(&mut self, station: usize, airtime: Duration) {
        let deficit = &mut self.stations[station].deficit;
        *deficit = deficit.saturating_sub(signed(airtime));
    }

    /// The lane that is served at `now`; stations for which there is nothing leave the list.
    pub(super) fn next(&mut self, now: Time) -> Option<usize> {
        self.dismiss(now);
        if !self.is_fair {
            let number = self.first()?;
            self.list.rotate_left(1);
            return Some(self.stations[number].lane);
        }
        self.skip_rounds();
        loop {
            let number = self.first()?;
            let station = &mut self.stations[number];
            if station.deficit >= 0 {
                return Some(station.lane);
            }
            station.deficit += station.weight;
            self.list.rotate_left(1);
        }
    }

    /// Stations for which there is nothing at `now` leave the list.
    fn dismiss(&mut self, now: Time) {
        let mut doubtful = std::mem::take(&mut self.doubtful);
        for number in doubtful.drain(..) {
            let station = &mut self.stations[number];
            station.is_doubtful = false;
            if station.is_waiting && station.ready > now {
                station.is_waiting = false;
                station.left = station.left.wrapping_add(1);
                self.waiting -= 1;
                self.keep_outside(number);
            }
        }
        self.doubtful = doubtful;
        if self.list.len() > 2 * self.waiting + 16 {
            let Turns { stations, list, .. } = self;
            list.retain(|entry| is_valid(stations, entry));
        }
    }

    /// The station in front. Entries in front of it that are void are gone afterwards.
    fn first(&mut self) -> Option<usize> {
        while !is_valid(&self.stations, self.list.front()?) {
            self.list.pop_front();
        }
        self.list.front().map(|entry| entry.station)
    }

    /// Makes the rounds in which nobody gets far enough, all but one, at once: an exchange may take many weights.
    fn skip_rounds(&mut self) {
        let mut fewest = u64::MAX;
        for entry in self.list.iter().filter(|entry| is_valid(&self.stations, entry)) {
            let Station { deficit, weight, .. } = self.stations[entry.station];
            fewest = fewest.min(deficit.min(0).unsigned_abs().div_ceil(weight.unsigned_abs()));
            if fewest <= 1 {
                return;
            }
        }
        let rounds = i64::try_from(fewest - 1).unwrap_or(0);
        for entry in &self.list {
            if is_valid(&self.stations, entry) {
                let station = &mut self.stations[entry.station];
                station.deficit += station.weight * rounds;
            }
        }
    }
}

/// Whether the station of an entry has not left the list since.
fn is_valid(stations: &[Station], entry: &Entry) -> bool {
    let Station { is_waiting, left, .. } = stations[entry.station];
    is_waiting && left == entry.left
}

fn signed(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Serves three stations that always have something, whose exchanges last so long, and returns the airtime of each.
    fn serve(is_fair: bool, exchange_us: [u64; 3], weight_us: [u64; 3]) -> Vec<u64> {
        let mut turns = Turns::new(is_fair);
        for (lane, weight) in weight_us.into_iter().enumerate() {
            turns.add(lane, us(weight));
            turns.note(lane, Time::ZERO, Time::ZERO);
            turns.enter(lane);
        }
        let mut used = vec![0; 3];
        for _ in 0..30_000 {
            let lane = turns.next(Time::ZERO).unwrap();
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
            turns.note(lane, Time::ZERO, Time::ZERO);
            turns.enter(lane);
        }
        turns.note(0, Time::NEVER, Time::ZERO);
        assert_eq!(turns.next(Time::ZERO), Some(1));
        turns.note(1, Time::NEVER, Time::ZERO);
        assert_eq!(turns.next(Time::ZERO), None);
    }

    /// [`Turns`] as they are meant: whoever is asked goes through all stations.
    struct Plain {
        is_fair: bool,
        deficits: Vec<i64>,
        ready: Vec<Time>,
        list: VecDeque<usize>,
    }

    const WEIGHTS: [i64; 5] = [256_000, 1_000, 256_000, 70_000, 1];

    impl Plain {
        fn enter(&mut self, station: usize) {
            if self.ready[station] < Time::NEVER && !self.list.contains(&station) {
                self.list.push_back(station);
            }
        }

        fn next(&mut self, now: Time) -> Option<usize> {
            self.list.retain(|&station| self.ready[station] <= now);
            let owed = |&station: &usize| {
                self.deficits[station].min(0).unsigned_abs().div_ceil(WEIGHTS[station].unsigned_abs())
            };
            let rounds = self.list.iter().map(owed).min()?.saturating_sub(1);
            let rounds = if self.is_fair { i64::try_from(rounds).unwrap() } else { 0 };
            self.list.iter().for_each(|&station| self.deficits[station] += rounds * WEIGHTS[station]);
            loop {
                let station = *self.list.front()?;
                if self.is_fair && self.deficits[station] >= 0 {
                    return Some(station);
                }
                self.list.rotate_left(1);
                if !self.is_fair {
                    return Some(station);
                }
                self.deficits[station] += WEIGHTS[station];
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// There is something for a station from so much later on; it enters or not.
        Note(usize, Option<u64>, bool),
        EnterAll,
        Charge(usize, u64),
        /// So much later somebody is served.
        Next(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..5_usize, prop::option::of(0..4_u64), any::<bool>()).prop_map(|(station, ready, enters)| Step::Note(station, ready, enters)),
            1 => Just(Step::EnterAll),
            2 => (0..5_usize, 0..3_000_u64).prop_map(|(station, us)| Step::Charge(station, us)),
            3 => (0..3_u64).prop_map(Step::Next),
        ]
    }

    proptest! {
        #[test]
        fn turns_are_those_of_one_who_looks_at_all_stations_each_time(
            is_fair in any::<bool>(),
            steps in prop::collection::vec(step(), 1..80)
        ) {
            let mut turns = Turns::new(is_fair);
            for (lane, weight) in WEIGHTS.into_iter().enumerate() {
                turns.add(lane, Duration::from_nanos(weight.unsigned_abs()));
            }
            let (deficits, ready) = (WEIGHTS.to_vec(), vec![Time::NEVER; 5]);
            let mut plain = Plain { is_fair, deficits, ready, list: VecDeque::new() };
            let mut now = Time::ZERO;
            for step in steps {
                match step {
                    Step::Note(station, ready, enters) => {
                        plain.ready[station] = ready.map_or(Time::NEVER, |nanos| now + Duration::from_nanos(nanos));
                        turns.note(station, plain.ready[station], now);
                        if enters {
                            plain.enter(station);
                            turns.enter(station);
                        }
                    }
                    Step::EnterAll => {
                        (0..5).for_each(|station| plain.enter(station));
                        turns.enter_all();
                    }
                    Step::Charge(station, us) => {
                        plain.deficits[station] -= i64::try_from(us * 1_000).unwrap();
                        turns.charge(station, Duration::from_micros(us));
                    }
                    Step::Next(nanos) => {
                        now += Duration::from_nanos(nanos);
                        prop_assert_eq!(turns.next(now), plain.next(now));
                    }
                }
                let first = plain.ready.iter().copied().min().unwrap();
                prop_assert_eq!(turns.ready().max(now), first.max(now));
            }
        }
    }
}
