//! Gathered links: packets that such a link only delays wait in a calendar, together with those of others.
//!
//! Many links that only delay packets may lead to one place ([`Routes::gather`](dumbbell_network::Routes::gather)). Then none of
//! them has a slot of the agenda of media or a pipe: what enters one of them gets the instant at which it leaves, and the
//! calendar puts all of them in order, at equal instants by the number of the link, as the agenda would have. Where packets
//! arrive at their endpoints behind these links, the first of the calendar is due when it arrives. Where they enter another
//! link, nothing that this does with them can be noticed before the first of them could reach its far end, or the clock is due.
//! Until then they wait, and then all enter that have left by now. Each instant at which something leaves a link counts as one
//! event, as it would without a calendar.

use super::Engine;
use super::transmission::PACKETS_PER_CHECK;
use crate::packet::{Kind, Packet};
use dumbbell_network::{Calendar, Gathering};
use dumbbell_path::{Media, Packet as _, Tally};
use dumbbell_units::{Duration, Time, claimed};

/// A calendar is made for so many packets of each link.
const PACKETS_OF_A_LINK: usize = 8;

/// All gathered links of a run.
#[derive(Default)]
pub(super) struct Gathered {
    /// By the numbers of the media; empty when no link is gathered.
    links: Vec<Delay>,
    places: Vec<Meeting>,
}

/// What a gathered link does.
#[derive(Clone, Copy, Default)]
struct Delay {
    is_gathered: bool,
    delay: Duration,
    /// The number of the place to which it leads.
    leads_to: usize,
    /// What has entered it, also ahead of its time.
    entered: Tally,
}

/// Where the packets of gathered links meet.
struct Meeting {
    /// The slot of the agenda of media that wakes the engine: that of a link which needs none.
    slot: usize,
    /// So long after the first packet is due the engine wakes.
    patience: Duration,
    /// Packets have arrived here, and do not enter another link.
    is_end: bool,
    calendar: Calendar<Waiting>,
}

/// Packets of a run that leave a link together, of which `packet` is the first.
#[derive(Clone, Copy, Default)]
struct Waiting {
    packet: Packet,
    count: u32,
}

impl Meeting {
    fn due(&self) -> Time {
        self.calendar.next().map_or(Time::NEVER, |(at, _)| at + self.patience)
    }
}

impl Gathered {
    /// Gathers the links that `gatherings` tell, which give their packets away. `longest` is the longest delay of what enters them
    /// ahead of its time.
    pub fn new(gatherings: &[Gathering], longest: Duration, media: &mut Media<Packet>) -> Gathered {
        let mut gathered = Gathered::default();
        if gatherings.is_empty() {
            return gathered;
        }
        gathered.links = vec![Delay::default(); media.len()];
        for (leads_to, Gathering { links, next }) in gatherings.iter().enumerate() {
            let mut span = Duration::ZERO;
            for &number in links {
                let Some(link) = media.link_mut(number) else { continue };
                let delay = link.gather();
                gathered.links[number] = Delay { is_gathered: true, delay, leads_to, entered: Tally::default() };
                span = span.max(delay);
            }
            let patience = next.and_then(|next| media.link_mut(next)).and_then(|link| link.patience());
            gathered.places.push(Meeting {
                slot: links.first().copied().unwrap_or(0),
                // Packets that reach the far end at once do so after the engine has woken.
                patience: patience.map_or(Duration::ZERO, |way| way.saturating_sub(Duration::from_nanos(1))),
                is_end: next.is_none(),
                calendar: Calendar::new(PACKETS_OF_A_LINK * links.len(), span + longest),
            });
        }
        gathered
    }

    /// Whether links are gathered.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        !self.places.is_empty()
    }

    /// The slots of the agenda of media that it uses.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|place| place.slot)
    }

    /// The place that a slot of the agenda wakes.
    #[inline]
    fn place_of_slot(&self, slot: usize) -> Option<usize> {
        self.places.iter().position(|place| place.slot == slot)
    }

    /// Packets that have entered gathered links and not left them, of the kind that is asked for.
    pub fn count(&self, is_meant: impl Fn(&Packet) -> bool) -> u64 {
        let waiting = self.places.iter().flat_map(|place| place.calendar.iter());
        waiting.filter(|(_, waiting)| is_meant(&waiting.packet)).map(|(_, waiting)| u64::from(waiting.count)).sum()
    }

    /// Packets that have entered each medium and wait here to leave it; empty when no link is gathered.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.links.len()];
        for ((_, number), waiting) in self.places.iter().flat_map(|place| place.calendar.iter()) {
            counts[number as usize] += u64::from(waiting.count);
        }
        counts
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        let calendars = self.places.iter().map(|place| place.calendar.memory()).sum::<u64>();
        calendars + claimed::<Delay>(self.links.len(), self.links.capacity())
    }
}

impl Engine<'_> {
    /// A run of `count` packets of `size` bytes each enters a gathered link at `enters`, which may lie ahead. `write` writes the
    /// first of them to where it stays until it enters the link behind.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        enters: Time,
        link: usize,
        (size, count): (u16, u32),
        write: impl FnOnce(&mut Packet),
    ) {
        let Gathered { links, places } = &mut self.gathered;
        let Delay { delay, leads_to, entered, .. } = &mut links[link];
        entered.add_many(u32::from(size), count);
        let place = &mut places[*leads_to];
        #[expect(clippy::cast_possible_truncation, reason = "media are numbered in 32 bits")]
        let number = link as u32;
        let hops = u16::from(!place.is_end);
        let is_first = place.calendar.push((enters + *delay, number), |waiting| {
            write(&mut waiting.packet);
            waiting.packet.hops_left -= hops;
            waiting.count = count;
        });
        if is_first {
            self.medium_agenda.set(place.slot, place.due());
        }
    }

    /// The same for a run that has been written.
    #[inline(never)]
    pub(super) fn gather_run(&mut self, enters: Time, link: usize, packet: &Packet, count: u32) {
        self.gather(enters, link, (packet.size, count), |place| *place = *packet);
    }

    /// The slot of a medium is due: whether it is that of gathered links, which do what is due.
    #[inline(never)]
    pub(super) fn leave_gathered(&mut self, slot: usize, packet: &mut Packet) -> bool {
        let Some(number) = self.gathered.place_of_slot(slot) else { return false };
        if self.gathered.places[number].is_end {
            self.arrive_gathered(number, packet);
        } else {
            self.idle_turns += 1;
            self.enter_gathered(number, self.now + Duration::from_nanos(1));
        }
        let due = self.gathered.places[number].due();
        self.medium_agenda.set(slot, due);
        true
    }

    /// What leaves one link now has arrived.
    #[inline(always)]
    fn arrive_gathered(&mut self, number: usize, packet: &mut Packet) {
        let Some(first) = self.gathered.places[number].calendar.next() else { return };
        let mut until_check = PACKETS_PER_CHECK;
        while let place = &mut self.gathered.places[number]
            && let Some((leaves, waiting)) = place.calendar.first()
            && leaves == first
        {
            let count = waiting.count;
            *packet = waiting.packet;
            place.calendar.drop_first();
            if packet.kind == Kind::Ack {
                self.deliver_ack(packet);
            } else {
                self.arrive_together(packet, count);
            }
            if self.must_stop_behind(1, &mut until_check) {
                return;
            }
        }
    }

    /// Packets of a run arrive at their endpoint at the same instant.
    #[inline(never)]
    fn arrive_together(&mut self, packet: &mut Packet, count: u32) {
        for place in 0..count {
            let mut arriving = *packet;
            if place > 0 {
                arriving.follow(place);
            }
            self.move_on(&mut arriving);
        }
    }

    /// What has left gathered links before `end` enters the link behind them.
    fn enter_gathered(&mut self, number: usize, end: Time) {
        let mut latest = None;
        let mut until_check = PACKETS_PER_CHECK;
        while let place = &mut self.gathered.places[number]
            && let Some((leaves, waiting)) = place.calendar.first()
            && leaves.0 < end
        {
            let Waiting { packet, count } = *waiting;
            place.calendar.drop_first();
            self.events += u64::from(latest != Some(leaves));
            latest = Some(leaves);
            let hop = self.routes.next_hop(packet.flow, packet.kind.is_forward(), packet.hops_left + 1);
            if count > 1 {
                self.send_run(leaves.0, hop, packet, count);
            } else {
                self.send_at(leaves.0, hop, packet);
            }
            if self.must_stop_behind(1, &mut until_check) {
                return;
            }
        }
    }

    /// Somebody looks at the links, at what has happened before `now`: what has left gathered links by then enters the link behind
    /// them, and these know what has entered them.
    #[inline(never)]
    pub(super) fn settle_gathered(&mut self, now: Time) {
        if !self.gathered.is_used() {
            return;
        }
        for number in 0..self.gathered.places.len() {
            if !self.gathered.places[number].is_end {
                self.enter_gathered(number, now);
                let Meeting { slot, .. } = self.gathered.places[number];
                self.medium_agenda.set(slot, self.gathered.places[number].due());
            }
        }
        let Gathered { links, places } = &self.gathered;
        let mut entered: Vec<Tally> = links.iter().map(|link| link.entered).collect();
        for ((leaves, number), waiting) in places.iter().flat_map(|place| place.calendar.iter()) {
            let number = number as usize;
            if leaves >= now + links[number].delay {
                entered[number].remove_many(waiting.packet.size(), waiting.count);
            }
        }
        for place in 0..links.len() {
            if links[place].is_gathered
                && let Some(link) = self.media.link_mut(place)
            {
                link.count_entered(entered[place]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
