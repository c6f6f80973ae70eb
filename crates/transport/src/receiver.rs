//! The receiving endpoint.

use crate::{Ack, Segment, TransportConfig};
use dumbbell_units::Time;

/// Receives segments and decides when to acknowledge them.
#[derive(Debug)]
pub struct Receiver;

/// Counters of a [`Receiver`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Payload bytes delivered in order to the application.
    pub delivered_bytes: u64,
    /// Segments delivered in order to the application.
    pub delivered_segments: u64,
    /// Segments that arrived, duplicates included.
    pub arrived_segments: u64,
    /// Segments that had arrived before.
    pub duplicate_segments: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
}

impl Receiver {
    /// A receiver with nothing received.
    pub fn new(_config: &TransportConfig) -> Receiver {
        Receiver
    }

    /// A segment arrives; the acknowledgement it causes at once, if any.
    pub fn on_segment(&mut self, _now: Time, _segment: Segment) -> Option<Ack> {
        None
    }

    /// The timer of [`Receiver::next_timer`] is due; the acknowledgement it causes, if any.
    pub fn on_timer(&mut self, _now: Time) -> Option<Ack> {
        None
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] when no timer is armed.
    pub fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Counters.
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats::default()
    }
}
