//! The set-up of a connection: SYN, its answer, the ACK that ends it, and what is sent again when one of them is lost.
//!
//! The client sends its SYN again after a second, four times more a second apart, then after intervals that double
//! (`tcp_syn_linear_timeouts`), and gives up when the tenth repetition is not answered (`tcp_syn_retries`). The server
//! sends its answer again after one second, two more, four more, five times in all (`tcp_synack_retries`), and at once
//! when another SYN arrives. Every answer echoes the first SYN that arrived (`tcp_check_req` leaves `ts_recent` as it
//! is), so that a lost answer makes the first round-trip time too long by the time until the next one.
//!
//! A QUIC-like client begins with intervals that double (the initial probe timeout of RFC 9002, section 6.2.2, is a
//! second). Each of its packets has a number of its own, and an answer tells which one it is for.

use crate::{Handshake, Protocol, TransportConfig};
use dumbbell_recovery::jiffies::Ticks;
use dumbbell_units::{Duration, Time};

/// Repetitions of a SYN that are a second apart (`tcp_syn_linear_timeouts`).
const LINEAR_SYN_TIMEOUTS: u32 = 4;
/// Repetitions of a SYN (`tcp_syn_retries`, and the linear ones).
const SYN_RETRIES: u32 = 6 + LINEAR_SYN_TIMEOUTS;
/// Repetitions of an answer (`tcp_synack_retries`).
const SYN_ACK_RETRIES: u32 = 5;
/// The first timeout of both (`TCP_TIMEOUT_INIT`).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// Both ends of a connection that is being set up.
#[derive(Clone, Debug)]
pub struct SetUp {
    protocol: Protocol,
    /// Those of the wheel that timers fire on; without one they are exact.
    ticks: Option<Ticks>,
    has_timestamps: bool,
    first_syn_sent_at: Time,
    /// How often the SYN was sent again.
    syn_retries: u32,
    syn_due: Time,
    server: Option<Server>,
}

/// A server that has received a SYN.
#[derive(Clone, Debug)]
struct Server {
    /// When the SYN left that arrived first.
    echo: Time,
    /// How long that one was under way.
    way_there: Duration,
    retries: u32,
    due: Time,
}

/// What a timer of the set-up asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repetition {
    /// The SYN is sent again.
    pub syn: bool,
    /// The answer is sent again, and echoes this time.
    pub syn_ack: Option<Time>,
    /// The client gives up.
    pub has_failed: bool,
}

impl SetUp {
    /// The first SYN leaves at `now`.
    pub fn new(now: Time, config: &TransportConfig) -> SetUp {
        let mut set_up = SetUp {
            protocol: config.protocol,
            ticks: config.timer_wheel.then(|| Ticks::new(config.hz)),
            has_timestamps: config.timestamps,
            first_syn_sent_at: now,
            syn_retries: 0,
            syn_due: Time::NEVER,
            server: None,
        };
        set_up.syn_due = set_up.due(now, set_up.syn_timeout());
        set_up
    }

    /// When [`on_timer`](Self::on_timer) wants to be called; [`Time::NEVER`] when nothing is pending.
    pub fn next_timer(&self) -> Time {
        self.syn_due.min(self.server.as_ref().map_or(Time::NEVER, |server| server.due))
    }

    /// The time of [`next_timer`](Self::next_timer) has come.
    pub fn on_timer(&mut self, now: Time) -> Repetition {
        let mut repetition = Repetition::default();
        if self.syn_due <= now {
            if self.protocol.is_tcp() && self.syn_retries == SYN_RETRIES {
                self.syn_due = Time::NEVER;
                return Repetition { has_failed: true, ..repetition };
            }
            self.syn_retries += 1;
            self.syn_due = self.due(now, self.syn_timeout());
            repetition.syn = true;
        }
        if let Some(mut server) = self.server.take_if(|server| server.due <= now)
            && server.retries < SYN_ACK_RETRIES
        {
            server.retries += 1;
            server.due = self.due(now, FIRST_TIMEOUT * (1 << server.retries));
            repetition.syn_ack = Some(server.echo);
            self.server = Some(server);
        }
        repetition
    }

    /// A SYN that left at `sent_at` reaches the server; returns the time that the answer echoes.
    pub fn on_syn(&mut self, now: Time, sent_at: Time) -> Time {
        let mut server = match self.server.take() {
            Some(server) => server,
            None => Server { echo: sent_at, way_there: now.since(sent_at), retries: 0, due: Time::NEVER },
        };
        if self.protocol.is_tcp() {
            server.due = self.due(now, FIRST_TIMEOUT * (1 << server.retries));
        } else {
            server.echo = sent_at;
        }
        let echo = server.echo;
        self.server = Some(server);
        echo
    }

    /// An answer that left at `sent_at` and echoes `echo` reaches the client: its end of the connection is complete.
    pub fn on_syn_ack(&mut self, now: Time, echo: Time, sent_at: Time) -> Handshake {
        self.syn_due = Time::NEVER;
        let way_back = now.since(sent_at);
        let way_there = self.server.as_ref().map_or(way_back, |server| server.way_there);
        // The echo of the first SYN proves that the others were not needed (`tcp_try_undo_spurious_syn`).
        let proves_spurious = self.has_timestamps && echo == self.first_syn_sent_at;
        let retries = if proves_spurious { self.syn_retries.min(1) } else { self.syn_retries };
        Handshake { rtt: now.since(echo), way_there, way_back, retries }
    }

    fn syn_timeout(&self) -> Duration {
        let doublings = if self.protocol.is_tcp() {
            self.syn_retries.saturating_sub(LINEAR_SYN_TIMEOUTS)
        } else {
            // QUIC's timeouts stay within a quarter of an hour. Datagrams over UDP need no set-up.
            self.syn_retries.min(10)
        };
        FIRST_TIMEOUT * (1 << doublings)
    }

    fn due(&self, now: Time, timeout: Duration) -> Time {
        let exact = now + timeout;
        self.ticks.map_or(exact, |ticks| ticks.wheel_at(now, exact).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn set_up(protocol: Protocol) -> SetUp {
        SetUp::new(ms(0), &TransportConfig { protocol, timer_wheel: false, ..TransportConfig::default() })
    }

    /// When SYNs leave that nobody answers, in seconds, and when the client gives up.
    fn unanswered(mut set_up: SetUp, most: usize) -> (Vec<u64>, Option<u64>) {
        let mut repeated = Vec::new();
        while repeated.len() < most {
            let now = set_up.next_timer();
            let seconds = now.as_nanos() / 1_000_000_000;
            match set_up.on_timer(now) {
                Repetition { has_failed: true, .. } => return (repeated, Some(seconds)),
                repetition => assert!(repetition.syn),
            }
            repeated.push(seconds);
        }
        (repeated, None)
    }

    #[test]
    fn a_tcp_client_repeats_its_syn_every_second_then_ever_later_and_gives_up() {
        let (repeated, failed) = unanswered(set_up(Protocol::Tcp), 20);
        assert_eq!((repeated, failed), (vec![1, 2, 3, 4, 5, 7, 11, 19, 35, 67], Some(131)));
    }

    #[test]
    fn a_quic_like_client_doubles_its_timeout_from_the_beginning() {
        assert_eq!(unanswered(set_up(Protocol::Quic), 5), (vec![1, 3, 7, 15, 31], None));
    }

    #[test]
    fn syns_wait_for_their_slot_of_the_timer_wheel() {
        let set_up = SetUp::new(ms(10), &TransportConfig { hz: 250, ..TransportConfig::default() });
        // 250 ticks after tick 2, in the slot of 248 to 255.
        assert_eq!(set_up.next_timer(), ms(1_024));
    }

    #[test]
    fn a_server_repeats_its_answer_five_times_and_at_once_when_the_syn_is_repeated() {
        let mut set_up = set_up(Protocol::Tcp);
        assert_eq!(set_up.on_syn(ms(20), ms(0)), ms(0));
        set_up.syn_due = Time::NEVER;
        let mut repeated = Vec::new();
        while set_up.next_timer() < Time::NEVER {
            let now = set_up.next_timer();
            repeated.extend(set_up.on_timer(now).syn_ack.map(|echo| (now, echo)));
        }
        assert_eq!(repeated, [1_020, 3_020, 7_020, 15_020, 31_020].map(|millis| (ms(millis), ms(0))));
    }

    #[test]
    fn every_answer_echoes_the_first_syn_that_arrived() {
        let mut set_up = set_up(Protocol::Tcp);
        set_up.on_syn(ms(20), ms(0));
        assert_eq!(set_up.on_syn(ms(1_020), ms(1_000)), ms(0));
        assert_eq!(set_up.server.as_ref().map(|server| server.due), Some(ms(2_020)), "the timer starts again");
        // The first answer was lost.
        let handshake = set_up.on_syn_ack(ms(1_040), ms(0), ms(1_020));
        let ms = Duration::from_millis;
        assert_eq!(handshake, Handshake { rtt: ms(1_040), way_there: ms(20), way_back: ms(20), retries: 0 });
    }

    #[test]
    fn answers_of_a_quic_like_server_are_for_the_packet_that_they_answer() {
        let mut set_up = set_up(Protocol::Quic);
        set_up.on_syn(ms(20), ms(0));
        assert_eq!(set_up.on_syn(ms(1_020), ms(1_000)), ms(1_000));
        assert_eq!(set_up.on_syn_ack(ms(1_040), ms(1_000), ms(1_020)).rtt, Duration::from_millis(40));
    }

    #[test]
    fn an_answer_to_the_first_syn_proves_that_the_others_were_not_needed() {
        let retries = |echo: u64| {
            let mut set_up = set_up(Protocol::Tcp);
            set_up.on_timer(ms(1_000));
            set_up.on_timer(ms(2_000));
            set_up.on_syn(ms(2_020), ms(echo));
            set_up.on_syn_ack(ms(2_100), ms(echo), ms(2_060)).retries
        };
        assert_eq!([retries(0), retries(1_000)], [1, 2]);
    }
}
