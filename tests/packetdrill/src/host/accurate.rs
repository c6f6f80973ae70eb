//! Accurate ECN (RFC 9768) on an established connection: what every packet says of the marks that have arrived, and
//! what the other end says of ours. The number of marked segments is the endpoints'; the option's counters of bytes are
//! kept here.

use super::COUNTER_BYTES;
use super::negotiation::Reflected;
use crate::script::{ByteCounters, Flags, Packet};
use dumbbell_path::Ecn;
use dumbbell_transport::Marks;

/// The option's counters have 24 bits.
const COUNTER_MASK: u32 = (1 << 24) - 1;
/// All counters of the option.
const ALL: u8 = 3;

/// Bytes by their ECN bits, in the order of the option.
#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    ect1: u32,
    ce: u32,
    ect0: u32,
}

/// What one end keeps.
#[derive(Clone, Debug)]
pub(super) struct Accurate {
    /// Whether the option is sent (`tcp_ecn_option`).
    pub sends_option: bool,
    /// What the handshake said of marks.
    pub handshake: Reflected,
    /// The other end has sent the option, so that it passes.
    saw_option: bool,
    /// An ACK with the option has reported a duplicate; another duplicate, and the option is given up.
    reported_duplicate: bool,
    gave_up_option: bool,
    /// Marked packets without data that have arrived.
    plain_marks: u64,
    received: Bytes,
    delivered: Bytes,
    /// Marked packets that the other end told of before there was data.
    told_before: u64,
}

impl Accurate {
    pub fn new(handshake: Reflected, sends_option: bool) -> Accurate {
        Accurate {
            sends_option,
            saw_option: handshake.saw_option,
            reported_duplicate: false,
            gave_up_option: false,
            plain_marks: u64::from(handshake.answer_was_marked),
            received: Bytes::default(),
            delivered: Bytes::default(),
            told_before: u64::from(handshake.was_marked),
            handshake,
        }
    }

    /// A packet arrives; `is_duplicate` tells whether all its data had arrived before.
    pub fn note_arrival(&mut self, packet: &Packet, is_duplicate: bool) {
        let ecn = packet.ecn.unwrap_or_default();
        self.saw_option |= packet.options.as_ref().is_some_and(|options| options.counters.is_some());
        self.plain_marks += u64::from(packet.len == 0 && ecn == Ecn::Ce);
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect1 => self.received.ect1 += packet.len,
            Ecn::Ce => self.received.ce += packet.len,
            Ecn::Ect0 => self.received.ect0 += packet.len,
        }
        self.gave_up_option |= is_duplicate && self.reported_duplicate;
    }

    /// An ACK that reports a duplicate leaves.
    pub fn note_reported_duplicate(&mut self) {
        self.reported_duplicate |= self.has_option();
    }

    /// Bytes that the option takes of every segment.
    pub fn option_bytes(&self) -> u64 {
        if self.sends_option && self.handshake.saw_option { u64::from(COUNTER_BYTES) } else { 0 }
    }

    fn has_option(&self) -> bool {
        self.sends_option && self.saw_option && !self.gave_up_option
    }

    /// The counter of the header, where so many marked segments of data have arrived.
    pub fn flags(&self, data_marks: u64) -> Flags {
        Flags::of_ace(Marks::new(data_marks + self.plain_marks, 0, 0).ace())
    }

    /// The option of a packet that has room for `counters` of its counters, where the receiver has told of so many
    /// marked bytes.
    pub fn option(&self, counters: u8, ce: Option<u32>) -> Option<ByteCounters> {
        let Bytes { ect1, ce: counted, ect0 } = self.received;
        (self.has_option() && counters > 0).then(|| ByteCounters {
            ect0_first: false,
            ect1: Some((1 + ect1) & COUNTER_MASK),
            ce: (counters > 1).then(|| ce.unwrap_or(counted & COUNTER_MASK)),
            ect0: (counters >= ALL).then_some((1 + ect0) & COUNTER_MASK),
        })
    }

    /// The option where nothing else wants the room.
    pub fn whole_option(&self) -> Option<ByteCounters> {
        self.option(ALL, None)
    }

    /// The counters of a packet as the sender hears them.
    pub fn marks(&self, packet: &Packet) -> Marks {
        let ace = u64::from(packet.flags.ace());
        // The receiver begins at five.
        let segments = (ace + 3 + 8 - self.told_before) % 8;
        let bytes = packet.options.as_ref().and_then(|options| options.counters?.ce);
        Marks::new(segments, u64::from(bytes.unwrap_or(0)), bytes.map_or(0, |_| ALL))
    }

    /// An ACK that delivers data has told these counters.
    pub fn note_told(&mut self, told: ByteCounters) {
        let newer = |told: Option<u32>, first: u32, known: u32| {
            let Some(told) = told else { return known };
            let growth = told.wrapping_sub(first).wrapping_sub(known) & COUNTER_MASK;
            if growth <= COUNTER_MASK / 2 { known + growth } else { known }
        };
        let known = self.delivered;
        self.delivered = Bytes {
            ect1: newer(told.ect1, 1, known.ect1),
            ce: newer(told.ce, 0, known.ce),
            ect0: newer(told.ect0, 1, known.ect0),
        };
    }

    /// A field of `struct tcp_info`; `data_marks` are what the endpoints have counted for it.
    pub fn info(&self, name: &str, data_marks: u64) -> Option<i64> {
        Some(match name {
            "tcpi_delivered_ce" => (data_marks + self.told_before) as i64,
            "tcpi_received_ce" => (data_marks + self.plain_marks) as i64,
            "tcpi_delivered_e1_bytes" => i64::from(self.delivered.ect1),
            "tcpi_delivered_e0_bytes" => i64::from(self.delivered.ect0),
            "tcpi_delivered_ce_bytes" => i64::from(self.delivered.ce),
            "tcpi_received_e1_bytes" => i64::from(self.received.ect1),
            "tcpi_received_e0_bytes" => i64::from(self.received.ect0),
            "tcpi_received_ce_bytes" => i64::from(self.received.ce),
            _ => return None,
        })
    }
}
