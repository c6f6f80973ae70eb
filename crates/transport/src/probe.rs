//! Probes: small datagrams at constant intervals, each sent back at once, as ping and irtt send them.
//!
//! Nothing is repeated. A probe is lost when one that was sent a second later has been answered and it has not, or when
//! nothing has come back for [`PATIENCE`]; an answer after that counts for nothing.

use crate::endpoint::{Act, Arrival, Datagram, Endpoint, News, Report};
use crate::sequence::SeenNumbers;
use crate::udp::HEADER;
use crate::{ReceiverStats, SenderStats};
use dumbbell_units::{Duration, Ecn, Time, claimed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// By how much a network may reorder answers.
const REORDERING: Duration = Duration::from_secs(1);
/// How long the prober waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Parameters of probes. Their payload is `mss`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeConfig {
    /// Time from one probe to the next.
    #[schemars(extend("x-at-least" = "1us", "x-at-most" = "1h", "x-source" = "Flent: 200 ms; ping: 1 s"))]
    pub interval: Duration,
    /// Whether the far end sends probes back. Without that one-way delays are measured alone.
    #[schemars(extend("x-source" = "ICMP echo; irtt"))]
    pub answers: bool,
}

impl Default for ProbeConfig {
    fn default() -> ProbeConfig {
        ProbeConfig { interval: Duration::from_millis(200), answers: true }
    }
}

/// The prober, and the end that answers; probes have payloads of `mss` bytes.
pub fn endpoints(config: &ProbeConfig, mss: u16) -> (Box<dyn Endpoint>, Box<dyn Endpoint>) {
    let prober = Prober {
        size: mss + HEADER,
        interval: config.interval,
        next: Time::NEVER,
        is_answered: config.answers,
        first: 0,
        unanswered: VecDeque::new(),
        lost: 0,
        sent: SenderStats::default(),
    };
    let echo = Echo {
        answers: config.answers,
        seen: SeenNumbers::new(),
        waiting: VecDeque::new(),
        received: ReceiverStats::default(),
    };
    (Box::new(prober), Box::new(echo))
}

/// The end that sends.
struct Prober {
    /// Length on the wire.
    size: u16,
    interval: Duration,
    next: Time,
    is_answered: bool,
    /// Number of the first of `unanswered`.
    first: u64,
    /// When the probes left that may still be answered; `None` for those that were.
    unanswered: VecDeque<Option<Time>>,
    lost: u64,
    sent: SenderStats,
}

impl Prober {
    /// Gives up the oldest probes as long as that is right.
    fn give_up_while(&mut self, is_right: impl Fn(Time) -> bool) {
        while let Some(&oldest) = self.unanswered.front()
            && oldest.is_none_or(&is_right)
        {
            self.lost += u64::from(oldest.is_some());
            self.unanswered.pop_front();
            self.first += 1;
        }
    }

    /// When the probe of this number left that has not been answered.
    fn take(&mut self, number: u64) -> Option<Time> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.unanswered.get_mut(place)?.take()
    }
}

impl Endpoint for Prober {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        let sent_at = packet.number().and_then(|number| self.take(number));
        if let Some(sent_at) = sent_at {
            self.give_up_while(|earlier| earlier + REORDERING <= sent_at);
        }
        News::of_answer(sent_at.map(|sent_at| now.since(sent_at)), false)
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        self.next
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        if self.next > now {
            return None;
        }
        self.next = now + self.interval;
        payload.extend_from_slice(&self.sent.sent_segments.to_le_bytes());
        self.sent.sent_segments += 1;
        self.sent.sent_bytes += u64::from(self.size - HEADER);
        if self.is_answered {
            self.give_up_while(|sent_at| sent_at + PATIENCE <= now);
            self.unanswered.push_back(Some(now));
        }
        Some(Datagram { size: self.size, ecn: Ecn::NotEct })
    }

    fn on_application(&mut self, now: Time, act: Act<'_>) -> bool {
        match act {
            Act::Establish(_) => self.next = now,
            Act::Close => self.next = Time::NEVER,
            Act::Write { .. } | Act::Steer(_) => {}
        }
        self.next <= now
    }

    fn report(&self) -> Report<'_> {
        Report {
            sent: Some(&self.sent),
            lost: self.is_answered.then_some(self.lost),
            is_connectionless: true,
            memory: claimed::<Option<Time>>(self.unanswered.len(), self.unanswered.capacity()),
            ..Report::default()
        }
    }
}

/// The end that answers.
struct Echo {
    answers: bool,
    seen: SeenNumbers,
    /// Numbers to send back, with their lengths.
    waiting: VecDeque<(u64, u16)>,
    received: ReceiverStats,
}

impl Endpoint for Echo {
    fn on_packet(&mut self, _now: Time, packet: Arrival<'_>) -> News {
        if let Some(number) = packet.number() {
            let is_new = self.seen.is_new(number);
            self.received.count(packet, HEADER, is_new);
            if self.answers {
                self.waiting.push_back((number, packet.size));
            }
        }
        News::default()
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        let (number, size) = self.waiting.pop_front()?;
        payload.extend_from_slice(&number.to_le_bytes());
        self.received.acks_sent += 1;
        Some(Datagram { size, ecn: Ecn::NotEct })
    }

    fn report(&self) -> Report<'_> {
        Report { received: Some(&self.received), ..Report::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Handshake;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// A prober that sends every 100 ms, and the numbers of the probes that have left.
    fn probed(until_ms: u64) -> (Box<dyn Endpoint>, Vec<Vec<u8>>) {
        let config = ProbeConfig { interval: MS * 100, answers: true };
        let (mut near, _) = endpoints(&config, 64);
        assert_eq!(near.next_timer(), Time::NEVER, "nothing leaves before the start");
        near.on_application(Time::ZERO, Act::Establish(Handshake::NONE));
        let mut sent = Vec::new();
        while near.next_timer() <= at(until_ms) {
            let now = near.next_timer();
            let mut payload = Vec::new();
            near.on_timer(now);
            assert_eq!(near.poll_transmit(now, &mut payload), Some(Datagram { size: 92, ecn: Ecn::NotEct }));
            assert_eq!(near.poll_transmit(now, &mut Vec::new()), None);
            sent.push(payload);
        }
        (near, sent)
    }

    fn answer(near: &mut dyn Endpoint, payload: &[u8], at: Time) -> Option<Duration> {
        near.on_packet(at, Arrival { size: 92, ecn: Ecn::NotEct, payload }).rtt()
    }

    #[test]
    fn each_answer_gives_a_round_trip_once() {
        let (mut near, sent) = probed(500);
        assert_eq!(sent.len(), 6);
        assert_eq!(answer(&mut *near, &sent[2], at(240)), Some(MS * 40));
        assert_eq!(answer(&mut *near, &sent[2], at(250)), None, "a copy of an answer tells nothing");
        assert_eq!(answer(&mut *near, &sent[1], at(260)), Some(MS * 160), "answers may overtake each other");
        near.on_application(at(500), Act::Close);
        assert_eq!(near.next_timer(), Time::NEVER);
    }

    #[test]
    fn a_probe_is_lost_when_one_that_left_a_second_later_is_answered() {
        let (mut near, sent) = probed(2_000);
        answer(&mut *near, &sent[9], at(940));
        assert_eq!(near.report().lost, Some(0), "0.9 s are not enough");
        answer(&mut *near, &sent[13], at(1_340));
        assert_eq!(near.report().lost, Some(4));
        assert_eq!(answer(&mut *near, &sent[0], at(1_350)), None, "it has been given up");
    }

    #[test]
    fn during_an_outage_no_more_is_remembered_than_ten_seconds_of_probes() {
        let (near, sent) = probed(60_000);
        assert_eq!(sent.len(), 601);
        assert_eq!(near.report().lost, Some(501));
        assert!(near.report().memory < 10_000, "{}", near.report().memory);
    }

    #[test]
    fn the_far_end_sends_back_what_comes_at_its_length_or_nothing() {
        for (answers, expected) in [(true, Some(Datagram { size: 92, ecn: Ecn::NotEct })), (false, None)] {
            let (near, mut far) = endpoints(&ProbeConfig { answers, ..ProbeConfig::default() }, 64);
            far.on_packet(at(0), Arrival { size: 92, ecn: Ecn::NotEct, payload: &7u64.to_le_bytes() });
            let mut payload = Vec::new();
            assert_eq!(far.poll_transmit(at(0), &mut payload), expected);
            assert_eq!(far.report().received.unwrap().acks_sent, u64::from(answers));
            assert_eq!(near.report().lost, answers.then_some(0), "who hears nothing knows nothing of losses");
        }
    }
}
