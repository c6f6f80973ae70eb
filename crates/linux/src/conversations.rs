//! What the packets of any programs tell: payload that arrives for the first time, and round-trip times.
//!
//! A conversation is a TCP connection, or what two UDP ports say to each other. TCP counts its bytes, so a byte that
//! arrives twice is known, and [`Meter`] measures it as it measures the kernel's own flows. QUIC hides all of that but
//! one bit (RFC 9000, 17.4), from which [`Spin`] takes round-trip times. Of other datagrams no round trip is known.

use crate::header::{Datagram, Header};
use crate::meter::Meter;
use dumbbell_path::Class;
use dumbbell_units::{Duration, Time};
use std::collections::{BTreeMap, HashMap};

/// Conversations that are told apart. Of further ones every byte counts as new, and no round trip is measured.
const MOST: usize = 1_024;

/// All conversations of a flow.
#[derive(Debug)]
pub struct Conversations {
    /// By protocol, and by the ports of the sender of data and of its receiver.
    known: HashMap<(Protocol, u16, u16), Conversation>,
    /// What no round trip can be shorter than.
    shortest_rtt: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Protocol {
    Tcp,
    Udp,
}

#[derive(Debug)]
enum Conversation {
    Tcp { meter: Meter, arrived: Arrived },
    Udp(Spin),
}

/// What was seen of a packet that leaves a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// What the simulator takes such a packet for.
    pub class: Class,
    /// A round trip that it completes.
    pub rtt: Option<Duration>,
}

impl Conversations {
    /// The conversations over a way with this round-trip time.
    pub fn new(base_rtt: Duration) -> Conversations {
        // Jitter and reordering may make single packets faster.
        Conversations { known: HashMap::new(), shortest_rtt: Duration::from_nanos(base_rtt.as_nanos() / 2) }
    }

    /// A packet leaves the host of the sender of data (`is_forward`) or of its receiver.
    pub fn on_departure(&mut self, now: Time, packet: &[u8], is_forward: bool) -> Departure {
        if let Some(header) = Header::read(packet) {
            if is_forward && let Some(Conversation::Tcp { meter, arrived }) = self.of_segment(&header, true) {
                if header.is_syn() {
                    meter.open(header.seq);
                    *arrived = Arrived::default();
                }
                if header.payload > 0 {
                    meter.on_sent(now, header.seq, header.payload, header.timestamps.map(|(value, _)| value));
                }
            }
            // Both ends may send data here, so that an ACK is one whoever sends it.
            return Departure { class: header.class(false), rtt: None };
        }
        let Some(datagram) = Datagram::read(packet) else { return Departure { class: Class::Other, rtt: None } };
        let mut rtt = None;
        if is_forward && let Some(Conversation::Udp(spin)) = self.of_datagram(&datagram) {
            rtt = spin.on_departure(now, datagram.payload);
        }
        Departure { class: Class::Data, rtt }
    }

    /// A packet reaches the receiver of data: how much of its payload is there for the first time; `None` without any.
    pub fn on_data(&mut self, packet: &[u8]) -> Option<u64> {
        if let Some(header) = Header::read(packet) {
            if header.payload == 0 {
                return None;
            }
            return Some(match self.of_segment(&header, true) {
                Some(Conversation::Tcp { meter, arrived }) => {
                    let start = meter.number(header.seq);
                    arrived.add(start, start + u64::from(header.payload))
                }
                _ => u64::from(header.payload),
            });
        }
        Datagram::read(packet).map(|datagram| datagram.payload.len() as u64)
    }

    /// A packet reaches the sender of data: a round trip that it completes.
    pub fn on_answer(&mut self, now: Time, packet: &[u8]) -> Option<Duration> {
        let header = Header::read(packet).filter(|header| !header.is_syn())?;
        let Some(Conversation::Tcp { meter, .. }) = self.of_segment(&header, false) else { return None };
        let echo = header.timestamps.map(|(_, echo)| echo);
        meter.on_ack(now, header.ack, echo, |each| header.for_each_sack(packet, each))
    }

    fn of_segment(&mut self, header: &Header, is_forward: bool) -> Option<&mut Conversation> {
        let (near, far) = (header.source, header.destination);
        let (sender, receiver) = if is_forward { (near, far) } else { (far, near) };
        self.of((Protocol::Tcp, sender, receiver), || Conversation::Tcp {
            meter: Meter::default(),
            arrived: Arrived::default(),
        })
    }

    fn of_datagram(&mut self, datagram: &Datagram<'_>) -> Option<&mut Conversation> {
        let (sender, receiver) = datagram.ports?;
        let shortest = self.shortest_rtt;
        self.of((Protocol::Udp, sender, receiver), || Conversation::Udp(Spin::new(shortest)))
    }

    fn of(&mut self, key: (Protocol, u16, u16), new: impl FnOnce() -> Conversation) -> Option<&mut Conversation> {
        if !self.known.contains_key(&key) && self.known.len() >= MOST {
            return None;
        }
        Some(self.known.entry(key).or_insert_with(new))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        let own = |conversation: &Conversation| match conversation {
            Conversation::Tcp { meter, arrived } => meter.memory() + arrived.memory(),
            Conversation::Udp(_) => 0,
        };
        let table = self.known.capacity() * size_of::<((Protocol, u16, u16), Conversation)>();
        table as u64 + self.known.values().map(own).sum::<u64>()
    }
}

/// The bytes of a connection that have arrived.
#[derive(Debug, Default)]
struct Arrived {
    /// All before this one.
    next: u64,
    /// Those behind gaps: where each piece begins and ends.
    pieces: BTreeMap<u64, u64>,
}

impl Arrived {
    /// Bytes from `start` to `end` arrive; how many of them for the first time.
    fn add(&mut self, start: u64, end: u64) -> u64 {
        let (mut start, mut end) = (start.max(self.next), end);
        if start >= end {
            return 0;
        }
        let mut new = end - start;
        // From behind, so that the first piece that lies before ends the search.
        while let Some((&from, &to)) = self.pieces.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            self.pieces.remove(&from);
            new -= to.min(end).saturating_sub(from.max(start));
            (start, end) = (start.min(from), end.max(to));
        }
        if start == self.next {
            self.next = end;
        } else {
            self.pieces.insert(start, end);
        }
        new
    }

    fn memory(&self) -> u64 {
        (self.pieces.len() * 4 * size_of::<u64>()) as u64
    }
}

/// Round-trip times of a QUIC connection by its spin bit, which each end sends back or turns round: where the packets
/// that leave the sender of data show it change, a round trip has passed since it changed before.
///
/// An end may refuse, and send any bits. Then changes follow each other faster than any round trip: the connection is
/// given up. Round trips are told once so many have been possible.
#[derive(Debug)]
struct Spin {
    shortest: Duration,
    state: SpinState,
}

#[derive(Debug)]
enum SpinState {
    /// No packet with a long header has named a version of QUIC.
    NotQuic,
    /// Packets are looked at.
    Spins {
        bit: Option<bool>,
        /// When it changed.
        changed_at: Option<Time>,
        /// Round trips in a row that were possible.
        possible: u32,
    },
    /// An end has refused.
    Refused,
}

impl Spin {
    /// Possible round trips before any is told.
    const TRUSTED: u32 = 4;
    const LONG: u8 = 0x80;
    const FIXED: u8 = 0x40;
    const BIT: u8 = 0x20;
    /// Versions 1 (RFC 9000) and 2 (RFC 9369).
    const VERSIONS: [[u8; 4]; 2] = [[0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf]];

    fn new(shortest: Duration) -> Spin {
        Spin { shortest, state: SpinState::NotQuic }
    }

    /// A datagram leaves the sender of data.
    fn on_departure(&mut self, now: Time, payload: &[u8]) -> Option<Duration> {
        let first = *payload.first()?;
        if first & Spin::LONG != 0 {
            let names = |version: &[u8; 4]| payload.get(1..5) == Some(version);
            if matches!(self.state, SpinState::NotQuic) && Spin::VERSIONS.iter().any(names) {
                self.state = SpinState::Spins { bit: None, changed_at: None, possible: 0 };
            }
            return None;
        }
        let SpinState::Spins { bit, changed_at, possible } = &mut self.state else { return None };
        let shown = first & Spin::BIT != 0;
        if first & Spin::FIXED == 0 || *bit == Some(shown) {
            return None;
        }
        let is_change = bit.replace(shown).is_some();
        if !is_change {
            return None;
        }
        let rtt = now.since(changed_at.replace(now)?);
        if rtt < self.shortest {
            self.state = SpinState::Refused;
            return None;
        }
        *possible += 1;
        (*possible > Spin::TRUSTED).then_some(rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_byte_counts_when_it_arrives_for_the_first_time() {
        let mut arrived = Arrived::default();
        let mut new = |start, end| arrived.add(start, end);
        assert_eq!([new(0, 100), new(0, 100), new(50, 150)], [100, 0, 50]);
        assert_eq!([new(200, 300), new(400, 500), new(250, 450)], [100, 100, 100], "behind gaps");
        assert_eq!([new(160, 170), new(150, 600), new(0, 600)], [10, 140, 0], "gaps are filled");
        assert_eq!((arrived.next, arrived.pieces.len()), (600, 0));
    }

    proptest::proptest! {
        #[test]
        fn any_order_of_pieces_counts_each_byte_once(pieces in proptest::collection::vec((0u64..60, 1u64..20), 1..60)) {
            let mut arrived = Arrived::default();
            let mut seen = std::collections::HashSet::new();
            for (start, length) in pieces {
                let expected = (start..start + length).filter(|byte| seen.insert(*byte)).count() as u64;
                proptest::prop_assert_eq!(arrived.add(start, start + length), expected);
            }
        }
    }

    /// A packet of UDP from port 4433 to 5000.
    fn datagram(payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 28];
        packet[0] = 0x45;
        packet[9] = 17;
        packet[20..24].copy_from_slice(&[0x11, 0x51, 0x13, 0x88]);
        packet.extend_from_slice(payload);
        packet
    }

    /// Round trips that are told of short headers with these spin bits, at these milliseconds.
    fn told(version: [u8; 4], sent: &[(u64, bool)]) -> Vec<u64> {
        let mut conversations = Conversations::new(Duration::from_millis(20));
        let long = [&[0xc0][..], &version, &[0; 40]].concat();
        conversations.on_departure(at(0), &datagram(&long), true);
        let rtts = sent.iter().filter_map(|&(ms, spin)| {
            let short = [if spin { 0x60 } else { 0x40 }; 30];
            conversations.on_departure(at(ms), &datagram(&short), true).rtt
        });
        rtts.map(|rtt| rtt.as_micros() / 1_000).collect()
    }

    #[test]
    fn the_spin_bit_tells_round_trips_once_it_is_trusted() {
        let spinning: Vec<_> = (0..60).map(|packet| (packet * 10, packet / 3 % 2 == 1)).collect();
        assert_eq!(
            told([0, 0, 0, 1], &spinning),
            [30; 14],
            "19 changes, 18 times between them, of which 4 are for trust"
        );
        assert_eq!(told([9, 9, 9, 9], &spinning), [0; 0], "another protocol");
    }

    #[test]
    fn who_refuses_to_spin_has_no_round_trips() {
        assert_eq!(told([0, 0, 0, 1], &[(0, false), (50, false), (99, false)]), [0; 0]);
        let any: Vec<_> = (0..200).map(|packet| (packet, packet % 3 == 1)).collect();
        assert_eq!(told([0, 0, 0, 1], &any), [0; 0]);
    }

    #[test]
    fn what_is_cut_short_tells_nothing() {
        let mut conversations = Conversations::new(Duration::ZERO);
        let packet = datagram(&[0xc0, 0, 0, 0, 1]);
        for length in 0..packet.len() {
            conversations.on_departure(at(1), &packet[..length], true);
            conversations.on_data(&packet[..length]);
            conversations.on_answer(at(1), &packet[..length]);
        }
        assert_eq!(conversations.on_data(&packet), Some(5));
    }

    #[test]
    fn conversations_beyond_the_bound_are_not_told_apart() {
        let mut conversations = Conversations::new(Duration::ZERO);
        for port in 0..2_000u16 {
            let mut packet = datagram(&[0xc0, 0, 0, 0, 1]);
            packet[22..24].copy_from_slice(&port.to_be_bytes());
            conversations.on_departure(at(1), &packet, true);
        }
        assert_eq!(conversations.known.len(), MOST);
    }
}
