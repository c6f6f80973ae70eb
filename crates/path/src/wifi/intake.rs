//! What devices may take from the queues above them: which lanes have to be looked at when the device has become emptier.

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

    /// The first lane of each device that may take something and could not when this was asked last. The one behind it is
    /// [known](Self::behind) when that has been done.
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
