//! Datagrams without acknowledgements, as from UDP: an unresponsive source that sends what its application writes at
//! once.
//!
//! Nothing governs it: no window, no pacing, no retransmission. How fast it sends is the application's rate.

use crate::endpoint::{Act, Arrival, Datagram, Endpoint, News, Report};
use crate::sequence::SeenNumbers;
use crate::{ReceiverStats, SenderStats};
use dumbbell_cc_contract::StandsFor;
use dumbbell_units::{Ecn, Time};

/// IP and UDP headers.
pub(crate) const HEADER: u16 = 28;

/// Both ends of a flow of datagrams with payloads of at most `mss` bytes.
pub fn endpoints(mss: u16) -> (Box<dyn Endpoint>, Box<dyn Endpoint>) {
    let source = Source { mss, waiting: 0, last_len: mss, next: 0, sent: SenderStats::default() };
    let sink = Sink { seen: SeenNumbers::new(), received: ReceiverStats::default() };
    (Box::new(source), Box::new(sink))
}

/// The end that sends.
struct Source {
    mss: u16,
    /// Datagrams that have been written and not sent, and the payload of the last of them.
    waiting: u32,
    last_len: u16,
    /// Number of the next datagram.
    next: u64,
    sent: SenderStats,
}

impl Endpoint for Source {
    fn on_packet(&mut self, _now: Time, _packet: Arrival<'_>) -> News {
        News::default()
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        self.waiting = self.waiting.checked_sub(1)?;
        let len = if self.waiting == 0 { self.last_len } else { self.mss };
        payload.extend_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        self.sent.sent_segments += 1;
        self.sent.sent_bytes += u64::from(len);
        Some(Datagram { size: len + HEADER, ecn: Ecn::NotEct })
    }

    fn on_application(&mut self, _now: Time, act: Act<'_>) -> bool {
        match act {
            Act::Write { segments, last_len } => {
                self.waiting = self.waiting.saturating_add(segments);
                self.last_len = last_len;
            }
            Act::Close => self.waiting = 0,
            Act::Establish(_) | Act::Steer(_) => {}
        }
        self.waiting > 0
    }

    fn report(&self) -> Report<'_> {
        let whole = u64::from(self.waiting.saturating_sub(1)) * u64::from(self.mss);
        Report {
            sent: Some(&self.sent),
            unsent: if self.waiting == 0 { 0 } else { whole + u64::from(self.last_len) },
            is_idle: self.waiting == 0,
            is_connectionless: true,
            ..Report::default()
        }
    }
}

/// The end that receives and counts.
struct Sink {
    seen: SeenNumbers,
    received: ReceiverStats,
}

impl Endpoint for Sink {
    fn on_packet(&mut self, _now: Time, packet: Arrival<'_>) -> News {
        if let Some(number) = packet.number() {
            let is_new = self.seen.is_new(number);
            self.received.count(packet, HEADER, is_new);
        }
        News::default()
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _now: Time, _payload: &mut Vec<u8>) -> Option<Datagram> {
        None
    }

    fn report(&self) -> Report<'_> {
        Report { received: Some(&self.received), ..Report::default() }
    }
}

/// No congestion control at all.
pub struct Unresponsive;

impl StandsFor for Unresponsive {
    const NAME: &'static str = "none";
    const EXACT_NAME: &'static str = "none";
    const SUMMARY: &'static str = "no congestion control: an unresponsive flow";
    const SOURCE: &'static str = "RFC 768";
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_cc_contract::{Algorithm, Control, Controller, StandIn, View};
    use dumbbell_units::Rng;
    use std::sync::Arc;

    /// Sends what is written, and has the datagrams arrive that `arrive` lets pass, in its order.
    fn exchange(segments: u32, last_len: u16, arrive: impl Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>) -> ReceiverStats {
        let (mut near, mut far) = endpoints(1_000);
        near.on_application(Time::ZERO, Act::Write { segments, last_len });
        let mut sent = Vec::new();
        let mut payload = Vec::new();
        while let Some(Datagram { size, .. }) = near.poll_transmit(Time::ZERO, &mut payload) {
            let is_last = u32::try_from(sent.len()).unwrap() + 1 == segments;
            assert_eq!(size, HEADER + if is_last { last_len } else { 1_000 });
            sent.push(std::mem::take(&mut payload));
        }
        assert!(near.report().is_idle && near.next_timer() == Time::NEVER);
        for payload in arrive(sent) {
            far.on_packet(Time::ZERO, Arrival { size: 1_000 + HEADER, ecn: Ecn::NotEct, payload: &payload });
        }
        assert_eq!(far.poll_transmit(Time::ZERO, &mut payload), None, "nothing is acknowledged");
        *far.report().received.unwrap()
    }

    #[test]
    fn where_nothing_is_controlled_the_window_stays() {
        let mut none = StandIn::<Unresponsive>::build(Arc::default(), Rng::new(1), "none".into());
        let mut control = Control { cwnd: 17, ..Control::default() };
        let before = control.clone();
        none.init(&View::new(1_000), &mut control);
        assert_eq!(control, before);
        assert_eq!((none.ssthresh(&View::new(1_000), &control), none.algorithm()), (17, "none"));
    }

    #[test]
    fn what_is_written_leaves_at_once_and_is_counted_once() {
        let stats = exchange(5, 300, |sent| sent);
        assert_eq!((stats.arrived_segments, stats.delivered_bytes, stats.duplicate_segments), (5, 5_000, 0));
        let twice = exchange(5, 300, |sent| [sent.clone(), sent[3..].to_vec()].concat());
        assert_eq!((twice.arrived_segments, twice.delivered_segments, twice.duplicate_segments), (7, 5, 2));
        let reordered = exchange(5, 300, |sent| sent.into_iter().rev().skip(1).collect());
        assert_eq!((reordered.delivered_segments, reordered.duplicate_segments), (4, 0));
    }

    #[test]
    fn what_waits_is_known_until_it_has_left_and_nothing_is_timed() {
        let (mut near, far) = endpoints(1_000);
        near.on_application(Time::ZERO, Act::Write { segments: 3, last_len: 300 });
        assert_eq!(near.report().unsent, 2_300);
        let mut payload = Vec::new();
        let mut sent = Vec::new();
        while near.poll_transmit(Time::ZERO, &mut payload).is_some() {
            payload.clear();
            sent.push((near.report().unsent, near.report().sent.unwrap().sent_segments));
        }
        assert_eq!(sent, [(1_300, 1), (300, 2), (0, 3)]);
        assert_eq!((near.next_timer(), far.next_timer()), (Time::NEVER, Time::NEVER));
    }

    #[test]
    fn numbers_are_remembered_for_a_long_time_and_come_round() {
        let gaps = |sent: Vec<Vec<u8>>| sent.into_iter().step_by(3).collect::<Vec<_>>();
        let stats = exchange(300_000, 1_000, |sent| gaps(sent.clone()).into_iter().chain(gaps(sent)).collect());
        assert_eq!((stats.delivered_segments, stats.duplicate_segments), (100_000, 100_000));
    }
}
