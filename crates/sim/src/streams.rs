//! What an application reads from several streams: when messages are there, and how long data waits for other data.
//!
//! Data that has arrived can be read when everything before it on its stream is there: over TCP, which has one stream,
//! everything that was sent before it; over QUIC that of its own message alone. What it waits until then is its
//! head-of-line delay. A message takes from the departure of its first packet until its last can be read. Where that
//! first packet was lost, the time of its departure is known from the packets that were sent behind it.

use dumbbell_results::{Histogram, StreamSummary};
use dumbbell_traffic::Layout;
use dumbbell_units::{Time, claimed};
use std::collections::{BTreeMap, VecDeque};

/// A packet of data that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Its number among the packets of the connection, by the order in which their data was written.
    pub number: u64,
    /// When it left, perhaps not for the first time.
    pub sent_at: Time,
}

/// The messages of a flow.
#[derive(Debug)]
pub(crate) struct Deliveries {
    layout: Layout,
    /// Messages from the first on that cannot be read whole.
    open: VecDeque<Message>,
    /// The number of that one.
    first: u64,
    line: Line,
    seen: StreamSummary,
}

/// What data waits for.
#[derive(Debug)]
enum Line {
    /// Everything before it: so many packets can be read, and these have arrived beyond a gap.
    Shared { readable: u64, held: BTreeMap<u64, Time> },
    /// What is before it in its message.
    OfEach,
}

/// A message that has begun.
#[derive(Debug)]
struct Message {
    /// The earliest departure of what was sent from its first packet on.
    opened: Time,
    /// Packets of it that cannot be read yet.
    left: u64,
    /// Over streams of their own: the first packet that has not arrived, and those that have beyond it.
    next: u64,
    held: BTreeMap<u64, Time>,
}

impl Deliveries {
    /// The messages of a connection; `shares` one stream or not.
    pub fn new(layout: Layout, shares: bool) -> Deliveries {
        let line = if shares { Line::Shared { readable: 0, held: BTreeMap::new() } } else { Line::OfEach };
        Deliveries { layout, open: VecDeque::new(), first: 0, line, seen: StreamSummary::default() }
    }

    /// What has been seen in the measured interval.
    pub fn seen(&self) -> &StreamSummary {
        &self.seen
    }

    /// A packet arrives. `in_order` is how many packets of the connection have arrived without a gap then.
    pub fn arrive(&mut self, now: Time, part: Part, in_order: u64, is_measuring: bool) {
        self.begin(part);
        match &mut self.line {
            Line::Shared { readable, held } => {
                if part.number >= in_order {
                    held.entry(part.number).or_insert(now);
                }
                let mut waits = Vec::new();
                while *readable < in_order {
                    waits.push((*readable, held.remove(readable).unwrap_or(now)));
                    *readable += 1;
                }
                for (number, arrived) in waits {
                    let message = self.layout.place(number).0;
                    self.read(now, message, arrived, is_measuring);
                }
            }
            Line::OfEach => {
                let (message, place) = self.layout.place(part.number);
                let Some(own) = self.message_mut(message).filter(|own| place >= own.next) else { return };
                own.held.entry(place).or_insert(now);
                let mut arrivals = Vec::new();
                while let Some(arrived) = own.held.remove(&own.next) {
                    arrivals.push(arrived);
                    own.next += 1;
                }
                arrivals.into_iter().for_each(|arrived| self.read(now, message, arrived, is_measuring));
            }
        }
        while self.open.front().is_some_and(|message| message.left == 0) {
            self.open.pop_front();
            self.first += 1;
        }
    }

    fn message_mut(&mut self, number: u64) -> Option<&mut Message> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.open.get_mut(index)
    }

    /// Notes the messages that have begun before a packet left.
    fn begin(&mut self, part: Part) {
        let begun = self.layout.begun(part.number);
        let left = self.layout.packets();
        while self.first + (self.open.len() as u64) < begun {
            self.open.push_back(Message { opened: Time::NEVER, left, next: 0, held: BTreeMap::new() });
        }
        let known = usize::try_from(begun.saturating_sub(self.first)).unwrap_or(usize::MAX).min(self.open.len());
        // Earlier messages have begun earlier.
        for message in self.open.range_mut(..known).rev().take_while(|message| message.opened > part.sent_at) {
            message.opened = part.sent_at;
        }
    }

    /// A packet of a message can be read that has `arrived` then.
    fn read(&mut self, now: Time, number: u64, arrived: Time, is_measuring: bool) {
        let Some(message) = self.message_mut(number) else { return };
        message.left -= 1;
        let (is_whole, took) = (message.left == 0, now.since(message.opened));
        if !is_measuring {
            return;
        }
        let StreamSummary { messages, waits, waited } = &mut self.seen;
        waits.add(now.since(arrived).as_micros());
        *waited += u64::from(arrived < now);
        if is_whole {
            messages.add(took.as_micros());
        }
    }

    /// Bytes of memory [claimed](claimed).
    pub fn memory(&self) -> u64 {
        let shared = if let Line::Shared { held, .. } = &self.line { held.len() } else { 0 };
        let held = shared + self.open.iter().map(|message| message.held.len()).sum::<usize>();
        claimed::<Message>(self.open.len(), self.open.capacity()) + claimed::<(u64, Time)>(held, held)
    }

    /// Bytes of memory of its distributions.
    pub fn histograms(&self) -> usize {
        [&self.seen.messages, &self.seen.waits].map(Histogram::memory).iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_traffic::Streams;
    use dumbbell_units::{Bytes, Duration};

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Two streams with messages of two packets. Packet i is sent at i ms and arrives 10 ms later, but for `late` ones:
    /// they are sent again at so many milliseconds.
    fn deliver(shares: bool, packets: u64, late: &[(u64, u64)]) -> StreamSummary {
        let layout = Streams { count: 2, size: Bytes::new(2_000) }.layout(1_000);
        let mut arrivals: Vec<(u64, u64)> =
            (0..packets).map(|i| (late.iter().find(|(n, _)| *n == i).map_or(i, |(_, at)| *at), i)).collect();
        arrivals.sort_unstable();
        let mut deliveries = Deliveries::new(layout, shares);
        let mut there = std::collections::BTreeSet::new();
        for (sent, number) in arrivals {
            there.insert(number);
            let in_order = (0..packets).take_while(|number| there.contains(number)).count() as u64;
            let part = Part { number, sent_at: at(sent) };
            deliveries.arrive(at(sent + 10), part, in_order, true);
            // A copy is no news.
            deliveries.arrive(at(sent + 11), part, in_order, true);
        }
        deliveries.seen
    }

    fn sum_ms(histogram: &Histogram, count: u64) -> f64 {
        if count == 0 { 0.0 } else { histogram.mean() * count as f64 / 1e3 }
    }

    #[test]
    fn in_order_nothing_waits_and_a_message_takes_as_long_as_its_packets() {
        for shares in [true, false] {
            let seen = deliver(shares, 8, &[]);
            assert_eq!((seen.waited, sum_ms(&seen.waits, 8)), (0, 0.0));
            // Two packets, two milliseconds apart, and the way.
            assert!((sum_ms(&seen.messages, 4) - 48.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_loss_holds_up_its_own_message_over_streams_and_all_over_one() {
        // The second message's first packet comes again at 30 ms; packets 0 to 3 are messages 0, 1, 0, 1.
        let streams = deliver(false, 8, &[(1, 20)]);
        assert_eq!(streams.waited, 1, "packet 3 alone");
        assert!((sum_ms(&streams.waits, 8) - 17.0).abs() < 1e-9);
        let one = deliver(true, 8, &[(1, 20)]);
        assert_eq!(one.waited, 6, "all behind it");
        assert!((sum_ms(&one.waits, 8) - f64::from(18 + 17 + 16 + 15 + 14 + 13)).abs() < 1e-9);
    }

    #[test]
    fn the_departure_of_a_lost_first_packet_is_that_of_what_left_behind_it() {
        // Message 1 begins at 1 ms; that is known from packet 2, a millisecond too late.
        let seen = deliver(false, 8, &[(1, 20)]);
        let of_others = 12.0 * 3.0;
        assert!((sum_ms(&seen.messages, 4) - of_others - 28.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_measured_is_not_counted() {
        let layout = Streams { count: 1, size: Bytes::new(1_000) }.layout(1_000);
        let mut deliveries = Deliveries::new(layout, false);
        for number in 0..10 {
            let part = Part { number, sent_at: at(number) };
            deliveries.arrive(at(number + 5), part, number + 1, number >= 4);
        }
        assert!((sum_ms(&deliveries.seen.messages, 6) - 30.0).abs() < 1e-9);
        assert_eq!((deliveries.first, deliveries.open.len()), (10, 0));
    }
}
