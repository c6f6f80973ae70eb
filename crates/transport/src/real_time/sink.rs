//! The end with the screen: puts frames together, measures and reports.

use super::frames::Frames;
use super::signal::CongestionSignal;
use super::{HEADER, MediaPacket, REPORT_SIZE, RealTimeConfig, Report};
use crate::ReceiverStats;
use crate::endpoint::{self, Arrival, Datagram, Endpoint, News};
use crate::sequence::SeenNumbers;
use dumbbell_units::{Duration, Ecn, Time};

/// See the head of this file.
pub(super) struct Sink {
    feedback: Duration,
    seen: SeenNumbers,
    frames: Frames,
    signal: CongestionSignal,
    /// When the latest packet left and arrived.
    latest: Option<(u64, Time)>,
    /// When the next report is due; none while nothing comes.
    next_report: Time,
    received: ReceiverStats,
}

impl Sink {
    pub(super) fn new(config: &RealTimeConfig) -> Sink {
        Sink {
            feedback: config.feedback,
            seen: SeenNumbers::new(),
            frames: Frames::new(config.fps, config.deadline),
            signal: CongestionSignal::default(),
            latest: None,
            next_report: Time::NEVER,
            received: ReceiverStats::default(),
        }
    }
}

impl Endpoint for Sink {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        let Some(media) = MediaPacket::decode(packet.payload) else { return News::default() };
        let is_new = self.seen.is_new(media.number);
        self.received.count(packet, HEADER, is_new);
        if !is_new {
            return News::default();
        }
        let delay = now.since(Time::from_nanos(media.sent));
        let bytes = u32::from(packet.size.saturating_sub(HEADER));
        self.signal.on_packet(now, media.number, delay, bytes, packet.ecn == Ecn::Ce);
        let frame = self.frames.on_packet(now, &media);
        self.latest = Some((media.sent, now));
        if self.next_report == Time::NEVER {
            self.next_report = now + self.feedback;
        }
        frame.map(News::of_frame).unwrap_or_default()
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        self.next_report
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        if self.next_report > now {
            return None;
        }
        let Some((sent, arrived)) = self.latest.take() else {
            // Nothing has come since the last report.
            self.next_report = Time::NEVER;
            return None;
        };
        self.next_report = now + self.feedback;
        self.signal.update(now);
        let report = Report {
            may_ramp_up: self.signal.may_ramp_up(),
            signal_ms: self.signal.value_ms(),
            receive_rate: self.signal.receive_rate(),
            lost: self.signal.missing(),
            sent,
            held: now.since(arrived).as_nanos(),
        };
        report.encode(payload);
        self.received.acks_sent += 1;
        Some(Datagram { size: REPORT_SIZE, ecn: Ecn::NotEct })
    }

    fn report(&self) -> endpoint::Report<'_> {
        endpoint::Report {
            received: Some(&self.received),
            frames: self.frames.counts(),
            memory: self.signal.memory() + self.frames.memory(),
            ..endpoint::Report::default()
        }
    }
}
