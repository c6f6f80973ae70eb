//! What the emulator reads of IPv4, TCP and UDP headers, and the one thing that it writes.

use dumbbell_path::{Class, Ecn};
use dumbbell_transport::Timestamp;

const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK_OPTION: u8 = 5;
const TIMESTAMPS_OPTION: u8 = 8;
const CE: u8 = 3;

/// The headers of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub source: u16,
    pub destination: u16,
    pub seq: u32,
    pub ack: u32,
    pub payload: u32,
    /// The timestamps option: the value and the echo.
    pub timestamps: Option<(Timestamp, Timestamp)>,
    flags: u8,
    /// Where TCP's options begin and end.
    options: (usize, usize),
}

impl Header {
    /// Reads a packet; `None` for what is not TCP over IPv4.
    pub fn read(packet: &[u8]) -> Option<Header> {
        let first = *packet.first()?;
        let ip = usize::from(first & 15) * 4;
        if first >> 4 != IPV4 || *packet.get(9)? != TCP || ip < 20 {
            return None;
        }
        let tcp = packet.get(ip..ip + 20)?;
        let options = (ip + 20, ip + usize::from(tcp[12] >> 4) * 4);
        let stamp = |value: &[u8], at| Timestamp::from_bits(word(value, at));
        let timestamps = Options(packet.get(options.0..options.1).unwrap_or_default())
            .find_map(|(kind, value)| (kind == TIMESTAMPS_OPTION && value.len() == 8).then_some(value));
        Some(Header {
            source: u16::from_be_bytes([tcp[0], tcp[1]]),
            destination: u16::from_be_bytes([tcp[2], tcp[3]]),
            seq: word(tcp, 4),
            ack: word(tcp, 8),
            payload: u32::try_from(packet.len().checked_sub(options.1)?).ok()?,
            timestamps: timestamps.map(|value| (stamp(value, 0), stamp(value, 4))),
            flags: tcp[13],
            options,
        })
    }

    /// Opens a connection.
    pub fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Acknowledges and does nothing else.
    pub fn is_pure_ack(&self) -> bool {
        self.payload == 0 && self.flags & (SYN | FIN | RST | ACK) == ACK
    }

    /// What the simulator takes such a packet for. A packet without data `from_sender`, from an end to which nobody
    /// sends data, is of the handshake, also where it is an ACK.
    pub fn class(&self, from_sender: bool) -> Class {
        if self.payload > 0 {
            Class::Data
        } else if self.is_pure_ack() && !from_sender {
            Class::Ack
        } else {
            Class::Other
        }
    }

    /// Calls `each` with the blocks that are acknowledged selectively, the first one first.
    pub fn for_each_sack(&self, packet: &[u8], mut each: impl FnMut(u32, u32)) {
        let options = Options(packet.get(self.options.0..self.options.1).unwrap_or_default());
        for (_, blocks) in options.filter(|&(kind, _)| kind == SACK_OPTION) {
            blocks.chunks_exact(8).for_each(|block| each(word(block, 0), word(block, 4)));
        }
    }
}

/// A packet of UDP, or a later fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source and destination; a later fragment has none.
    pub ports: Option<(u16, u16)>,
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    /// Reads a packet; `None` for what is not UDP over IPv4.
    pub fn read(packet: &[u8]) -> Option<Datagram<'_>> {
        let first = *packet.first()?;
        let ip = usize::from(first & 15) * 4;
        if first >> 4 != IPV4 || *packet.get(9)? != UDP || ip < 20 {
            return None;
        }
        let offset = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x1fff;
        let body = packet.get(ip..)?;
        let (ports, payload) = if offset > 0 {
            (None, body)
        } else {
            let header = body.get(..UDP_HEADER)?;
            let ports = (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]]));
            (Some(ports), &body[UDP_HEADER..])
        };
        Some(Datagram { ports, payload })
    }
}

/// What is left of TCP's options: each has a kind and a value.
struct Options<'a>(&'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        loop {
            match *self.0 {
                [NO_OPERATION, ref rest @ ..] => self.0 = rest,
                [kind, length, ..] if kind != END_OF_OPTIONS => {
                    let value = self.0.get(2..usize::from(length))?;
                    self.0 = &self.0[usize::from(length)..];
                    return Some((kind, value));
                }
                _ => return None,
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The ECN bits of a packet's IP header; `None` for what is not IPv4.
pub fn ecn(packet: &[u8]) -> Option<Ecn> {
    if packet.first()? >> 4 != IPV4 {
        return None;
    }
    Some(match packet.get(1)? & CE {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    })
}

/// Sets the ECN bits of a packet's IP header, and mends its checksum.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let bits = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => CE,
    };
    let Some(first) = packet.first() else { return };
    let length = usize::from(first & 15) * 4;
    let Some(header) = packet.get_mut(..length).filter(|header| header.len() >= 20) else { return };
    header[1] = header[1] & !CE | bits;
    header[10..12].fill(0);
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    // Sixty bytes at most, so that one more addition carries nothing.
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = u16::MAX - u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap_or(u16::MAX);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK with timestamps and two SACK blocks: 20 bytes of IP, 20 + 12 + 20 of TCP.
    fn ack() -> Vec<u8> {
        let mut packet = vec![0; 72];
        packet[0] = 0x45;
        packet[1] = 2;
        packet[3] = 72;
        packet[8] = 64;
        packet[9] = TCP;
        packet[20..24].copy_from_slice(&[0x10, 0x00, 0x20, 0x00]);
        packet[28..32].copy_from_slice(&1_000u32.to_be_bytes());
        packet[32] = 13 << 4;
        packet[33] = ACK;
        packet[40..44].copy_from_slice(&[1, 1, TIMESTAMPS_OPTION, 10]);
        packet[44..48].copy_from_slice(&700u32.to_be_bytes());
        packet[48..52].copy_from_slice(&600u32.to_be_bytes());
        packet[52..56].copy_from_slice(&[1, 1, SACK_OPTION, 18]);
        for (at, edge) in [(56, 2_000u32), (60, 3_000), (64, 5_000), (68, 6_000)] {
            packet[at..at + 4].copy_from_slice(&edge.to_be_bytes());
        }
        packet
    }

    #[test]
    fn an_acknowledgement_is_read_with_its_options() {
        let packet = ack();
        let header = Header::read(&packet).unwrap();
        assert_eq!((header.source, header.destination, header.ack, header.payload), (0x1000, 0x2000, 1_000, 0));
        assert!(header.is_pure_ack() && !header.is_syn());
        assert_eq!(header.timestamps, Some((Timestamp::from_bits(700), Timestamp::from_bits(600))));
        assert_eq!(ecn(&packet), Some(Ecn::Ect0));
        let mut blocks = Vec::new();
        header.for_each_sack(&packet, |start, end| blocks.push((start, end)));
        assert_eq!(blocks, [(2_000, 3_000), (5_000, 6_000)]);
    }

    #[test]
    fn packets_are_of_the_kinds_that_the_simulator_knows() {
        let of = |flags, payload, from_sender| {
            let mut packet = ack();
            packet[33] = flags;
            packet.resize(packet.len() + payload, 0);
            Header::read(&packet).unwrap().class(from_sender)
        };
        assert_eq!([of(SYN, 0, true), of(SYN | ACK, 0, false), of(ACK, 0, true)], [Class::Other; 3], "a handshake");
        assert_eq!([of(ACK, 1448, true), of(ACK, 0, false)], [Class::Data, Class::Ack]);
        assert_eq!([of(FIN | ACK, 0, true), of(FIN | ACK, 0, false)], [Class::Other; 2], "an end");
    }

    #[test]
    fn a_packet_with_other_ecn_bits_has_a_checksum_that_adds_up() {
        let mut packet = ack();
        packet[1] |= 0x88;
        for bits in [Ecn::Ce, Ecn::Ect1, Ecn::NotEct, Ecn::Ect0] {
            set_ecn(&mut packet, bits);
            assert_eq!((ecn(&packet), packet[1] & !CE), (Some(bits), 0x88), "the code point stays");
            let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        }
    }

    #[test]
    fn what_is_cut_short_or_not_tcp_is_no_segment() {
        let packet = ack();
        for length in 0..packet.len() {
            if let Some(header) = Header::read(&packet[..length]) {
                header.for_each_sack(&packet[..length], |_, _| {});
            }
        }
        let mut datagram = ack();
        datagram[9] = 17;
        assert_eq!(Header::read(&datagram), None);
    }

    #[test]
    fn a_datagram_is_read_whole_and_in_fragments() {
        let mut packet = ack();
        assert_eq!(Datagram::read(&packet), None, "TCP");
        packet[9] = UDP;
        let whole = Datagram::read(&packet).unwrap();
        assert_eq!((whole.ports, whole.payload.len()), (Some((0x1000, 0x2000)), 44));
        packet[7] = 100;
        let fragment = Datagram::read(&packet).unwrap();
        assert_eq!((fragment.ports, fragment.payload.len()), (None, 52));
        assert!((0..28).all(|length| length < 20 || Datagram::read(&ack()[..length]).is_none()));
    }
}
