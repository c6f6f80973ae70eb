//! How the ends agree on ECN in the handshake: RFC 3168, and RFC 9768, section 3.1.

use crate::script::{Flags, Packet};
use dumbbell_path::Ecn;
use dumbbell_transport::EcnUse;

/// Repetitions of a SYN that still ask for accurate ECN, or of its answer that still grant it.
const ACCURATE_REPETITIONS: u32 = 1;
/// `TCP_ECN_*`: what `tcp_ecn` says.
const CLASSIC: i64 = 1;
const CLASSIC_IF_ASKED: i64 = 2;
const ACCURATE: i64 = 3;
const CLASSIC_AND_ACCURATE_IF_ASKED: i64 = 4;
const ACCURATE_IF_ASKED: i64 = 5;

/// What a client asks for (`tcp_ecn`).
pub(super) fn asked(tcp_ecn: i64) -> EcnUse {
    match tcp_ecn {
        CLASSIC | CLASSIC_AND_ACCURATE_IF_ASKED => EcnUse::Classic,
        ACCURATE => EcnUse::Accurate,
        _ => EcnUse::Off,
    }
}

/// What a server grants to this SYN (`tcp_ecn_create_request`).
pub(super) fn granted(tcp_ecn: i64, syn: Flags) -> EcnUse {
    let most = match tcp_ecn {
        CLASSIC | CLASSIC_IF_ASKED => EcnUse::Classic,
        ACCURATE | CLASSIC_AND_ACCURATE_IF_ASKED | ACCURATE_IF_ASKED => EcnUse::Accurate,
        _ => EcnUse::Off,
    };
    let asks_classically = syn.has(Flags::ECE) && syn.has(Flags::CWR);
    match most {
        EcnUse::Accurate if syn.has(Flags::AE) => EcnUse::Accurate,
        EcnUse::Off => EcnUse::Off,
        _ if asks_classically => EcnUse::Classic,
        _ => EcnUse::Off,
    }
}

/// The flags with which a client asks.
pub(super) fn asking(asked: EcnUse) -> Flags {
    match asked {
        EcnUse::Off => Flags::NONE,
        EcnUse::Classic => Flags::ECE | Flags::CWR,
        EcnUse::Accurate => Flags::AE | Flags::ECE | Flags::CWR,
    }
}

/// The flags with which a server grants what a SYN with these ECN bits asks for.
pub(super) fn granting(granted: EcnUse, syn: Ecn) -> Flags {
    match granted {
        EcnUse::Off => Flags::NONE,
        EcnUse::Classic => Flags::ECE,
        EcnUse::Accurate => reflecting(syn),
    }
}

/// The flags that tell which ECN bits the last packet of the handshake had on arrival (RFC 9768, table 3).
pub(super) fn reflecting(arrived: Ecn) -> Flags {
    Flags::of_ace(match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// What a client has got of what it asked for, by the answer to its SYN (`tcp_ecn_rcv_synack`).
pub(super) fn got(asked: EcnUse, answer: Flags) -> EcnUse {
    match (asked, answer.ace()) {
        (EcnUse::Off, _) | (_, 0b000 | 0b111) => EcnUse::Off,
        (EcnUse::Classic, _) if answer.has(Flags::ECE) && !answer.has(Flags::CWR) => EcnUse::Classic,
        (EcnUse::Classic, _) => EcnUse::Off,
        (EcnUse::Accurate, 0b001) => EcnUse::Classic,
        (EcnUse::Accurate, _) => EcnUse::Accurate,
    }
}

/// A packet of the handshake as it is repeated for the nth time: something on the path may drop what it asks for.
pub(super) fn repeated(packet: &Packet, ecn: EcnUse, repetitions: u32) -> Packet {
    let mut packet = packet.clone();
    if let Some(options) = &mut packet.options {
        options.counters = None;
    }
    if ecn != EcnUse::Accurate || repetitions > ACCURATE_REPETITIONS {
        packet.flags = packet.flags.without(Flags::AE | Flags::ECE | Flags::CWR);
    }
    packet
}

/// What the handshake of an accurate connection told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reflected {
    /// The ECN bits with which the other end's SYN, or its answer to ours, arrived.
    pub arrived: Ecn,
    /// The answer to our SYN arrived with a mark, which counts.
    pub answer_was_marked: bool,
    /// Ours arrived with a mark.
    pub was_marked: bool,
    /// The ECN bits do not pass, or the other end has been without ECN: nothing is sent ECN-capable.
    pub is_bleached: bool,
    /// The other end has sent the option.
    pub saw_option: bool,
}

impl Reflected {
    /// A server hears the packet that ends the handshake (`tcp_accecn_third_ack`).
    pub fn hear_last(&mut self, packet: &Packet, believes_marks: bool) {
        self.saw_option = packet.options.as_ref().is_some_and(|options| options.counters.is_some());
        if packet.len == 0 {
            self.is_bleached |= packet.flags.ace() == 0;
            // The answer left without ECN bits, so that a mark on it is the path's doing, or a test's.
            self.was_marked = packet.flags.ace() == 0b110 && believes_marks;
        }
    }
}
