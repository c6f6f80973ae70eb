//! What devices may take from the queues above them: which lanes have to be looked at when the device has become
//! emptier.

use super::timetable::Timetable;
use dumbbell_units::{Duration, Time};
use std::collections::BTreeSet;

/// Whether the device takes packets of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Room {
    /// It does not, or the queue has none.
    None,
    /// As long as it holds little for all lanes together.
    IfLittle,
    /// However much it holds for others.
    Sure,
}

/// The devices by the numbers of their contenders, with what they hold of each lane.
#[derive(Debug, Default)]
pub(super) struct Intake {
    devices: Vec<Device>,
    lanes: Vec<Known>,
    /// Devices that may take something now and could not when they were looked at last.
    changed: Vec<usize>,
    /// When queues that make packets wait have something.
    later: Timetable,
}

#[derive(Debug, Default)]
struct Device {
    /// Estimated airtime of what it holds or has under way.
    pending: Duration,
    /// With this much or more it holds more than little for any lane.
    threshold: Duration,
    /// Lanes with room, and those of them whose room is sure.
    with_room: BTreeSet<usize>,
    sure: BTreeSet<usize>,
    is_changed: bool,
}

/// What is known of a lane.
#[derive(Clone, Copy, Debug)]
struct Known {
    contender: usize,
    pending: Duration,
    room: Room,
}

impl Intake {
    /// Adds a lane of a contender. `threshold` is what its device holds for all lanes together when it takes nothing of
    /// this one any more unless its room is sure.
    pub(super) fn add(&mut self, contender: usize, threshold: Duration) {
        if contender >= self.devices.len() {
            self.devices.resize_with(contender + 1, Device::default);
        }
        let device = &mut self.devices[contender];
        device.threshold = device.threshold.max(threshold);
        self.lanes.push(Known { contender, pending: Duration::ZERO, room: Room::None });
    }

    /// What the device of a lane holds for all its lanes, as far as was [noted](Self::note).
    pub(super) fn pending(&self, lane: usize) -> Duration {
        self.devices[self.lanes[lane].contender].pending
    }

    /// The device has so much pending of a lane, and takes its packets or not. From `later` on its queue has something,
    /// if it has not now.
    #[inline]
    pub(super) fn note(&mut self, lane: usize, pending: Duration, room: Room, later: Time) {
        self.later.set(lane, later);
        let known = &self.lanes[lane];
        if (known.pending, known.room) != (pending, room) {
            self.note_change(lane, pending, room);
        }
    }

    fn note_change(&mut self, lane: usize, pending: Duration, room: Room) {
        let known = &mut self.lanes[lane];
        let before = std::mem::replace(known, Known { pending, room, ..*known });
        let device = &mut self.devices[before.contender];
        device.pending = device.pending + pending - before.pending;
        if room != before.room {
            keep(&mut device.with_room, lane, room > Room::None);
            keep(&mut device.sure, lane, room == Room::Sure);
        }
        let may_take_more = room > before.room || pending < before.pending;
        if may_take_more && !std::mem::replace(&mut device.is_changed, true) {
            self.changed.push(before.contender);
        }
    }

    /// Lanes whose queues have something at `now`, which was to come when they were noted last.
    pub(super) fn due(&self, now: Time) -> Vec<usize> {
        self.later.due(now)
    }

    /// The first lane of each device that may take something and could not when this was asked last. The one behind it
    /// is [known](Self::behind) when that has been done.
    pub(super) fn first_of_changed(&mut self) -> BTreeSet<usize> {
        let changed = std::mem::take(&mut self.changed);
        changed.iter().for_each(|&contender| self.devices[contender].is_changed = false);
        changed.iter().filter_map(|&contender| self.devices[contender].from(0)).collect()
    }

    /// The next lane behind `lane` of which its device may take something.
    pub(super) fn behind(&self, lane: usize) -> Option<usize> {
        self.devices[self.lanes[lane].contender].from(lane + 1)
    }
}

impl Device {
    /// The first lane from number `lane` on of which it may take something.
    fn from(&self, lane: usize) -> Option<usize> {
        let candidates = if self.pending < self.threshold { &self.with_room } else { &self.sure };
        candidates.range(lane..).next().copied()
    }
}

fn keep(set: &mut BTreeSet<usize>, lane: usize, is_in: bool) {
    if is_in {
        set.insert(lane);
    } else {
        set.remove(&lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOW: u64 = 2;
    const HIGH: u64 = 5;
    const THRESHOLD: u64 = 9;

    /// A lane whose queue has so many packets from a time on, each a nanosecond of airtime.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Lane {
        queue: u64,
        from: u64,
        pending: u64,
    }

    /// Six lanes of two devices.
    type Lanes = [Lane; 6];

    fn device(lane: usize) -> usize {
        lane % 2
    }

    fn room(lane: &Lane, now: u64) -> Room {
        match lane.pending {
            _ if lane.queue == 0 || lane.from > now => Room::None,
            ..LOW => Room::Sure,
            LOW..HIGH => Room::IfLittle,
            _ => Room::None,
        }
    }

    fn note(intake: &mut Intake, lanes: &Lanes, number: usize, now: u64) {
        let lane = &lanes[number];
        let later = if lane.queue > 0 && lane.from > now { Time::from_nanos(lane.from) } else { Time::NEVER };
        intake.note(number, Duration::from_nanos(lane.pending), room(lane, now), later);
    }

    /// A device takes what it may of a lane while it has `others` pending.
    fn fill(lane: &mut Lane, others: u64, now: u64) {
        let may_take = |lane: &Lane| match room(lane, now) {
            Room::None => false,
            Room::IfLittle => lane.pending + others < THRESHOLD,
            Room::Sure => true,
        };
        while may_take(lane) {
            lane.queue -= 1;
            lane.pending += 1;
        }
    }

    fn others(lanes: &Lanes, number: usize) -> u64 {
        let others = (0..6).filter(|&other| other != number && device(other) == device(number));
        others.map(|other| lanes[other].pending).sum()
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// Packets come to a lane, which has something so much later.
        Come(usize, u64, u64),
        /// So much of what is pending of a lane is done.
        Free(usize, u64),
        /// So much later all devices look at their lanes.
        Look(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..6_usize, 1..9_u64, 0..3_u64).prop_map(|(lane, packets, later)| Step::Come(lane, packets, later)),
            (0..6_usize, 1..6_u64).prop_map(|(lane, airtime)| Step::Free(lane, airtime)),
            (0..3_u64).prop_map(Step::Look),
        ]
    }

    proptest! {
           #[test]
           fn devices_take_what_they_do_when_they_look_at_all_lanes(steps in prop::collection::vec(step(), 1..60)) {
               let mut intake = Intake::default();
               (0..6).for_each(|lane| intake.add(device(lane), Duration::from_nanos(THRESHOLD)));
               let (mut lanes, mut now) = (Lanes::default(), 0);
               for step in steps {
                   match step {
                       Step::Come(number, packets, later) => {
                           let lane = &mut lanes[number];
                           lane.from = if lane.queue == 0 { now + later } else { lane.from };
                           lane.queue += packets;
                           let others = others(&lanes, number);
                           fill(&mut lanes[number], others, now);
                           note(&mut intake, &lanes, number, now);
                       }
                       Step::Free(number, airtime) => {
                           lanes[number].pending = lanes[number].pending.saturating_sub(airtime);
                           note(&mut intake, &lanes, number, now);
                       }
                       Step::Look(later) => {
                           now += later;
                           let mut plain = lanes.clone();
                           for number in 0..6 {
                               let others = others(&plain, number);
                               fill(&mut plain[number], others, now);
                           }
                           let due = intake.due(Time::from_nanos(now));
    due.into_iter().for_each(|lane| note(&mut intake, &lanes, lane, now));
                           let mut looked_at = intake.first_of_changed();
                           while let Some(number) = looked_at.pop_first() {
                               let pending = intake.pending(number).as_nanos();
                               let others = pending - lanes[number].pending;
                               fill(&mut lanes[number], others, now);
                               note(&mut intake, &lanes, number, now);
                               looked_at.extend(intake.behind(number));
                           }
                           prop_assert_eq!(&lanes, &plain);
                       }
                   }
               }
           }
       }
}
