//! The end with the camera: makes frames at the rate that the rule allows, and paces their packets.

use super::nada::Nada;
use super::{HEADER, MediaPacket, RealTimeConfig, Report};
use crate::SenderStats;
use crate::endpoint::{self, Act, Arrival, Datagram, Endpoint, News};
use dumbbell_units::{Duration, Ecn, Time, claimed};
use std::collections::VecDeque;

const NANOS: f64 = 1e9;

/// A frame of which something is still to leave.
struct Frame {
    number: u64,
    captured: Time,
    packets: u32,
    bytes_left: u64,
}

/// See the head of this file.
pub(super) struct Source {
    mss: u16,
    ecn: Ecn,
    rule: Nada,
    /// Time from one frame to the next.
    frame_interval: Duration,
    /// When the next frame is captured; never before the start and after the end.
    next_frame: Time,
    frames: u64,
    /// What of a byte the encoder owes the next frame.
    remainder: f64,
    waiting: VecDeque<Frame>,
    backlog: u64,
    /// When the next packet may leave.
    next_packet: Time,
    /// When the rates were updated last.
    updated: Time,
    lost: u64,
    sent: SenderStats,
}

impl Source {
    pub(super) fn new(config: &RealTimeConfig, mss: u16, ecn: Ecn) -> Source {
        Source {
            mss,
            ecn,
            rule: Nada::new(config),
            frame_interval: Duration::from_nanos(1_000_000_000 / u64::from(config.fps.max(1))),
            next_frame: Time::NEVER,
            frames: 0,
            remainder: 0.0,
            waiting: VecDeque::new(),
            backlog: 0,
            next_packet: Time::ZERO,
            updated: Time::ZERO,
            lost: 0,
            sent: SenderStats::default(),
        }
    }

    /// Captures the frame that is due. At a very low rate an encoder leaves frames out.
    fn capture(&mut self) {
        let captured = self.next_frame;
        self.next_frame += self.frame_interval;
        let bytes = self.rule.encoder_rate(self.backlog) / 8.0 * self.frame_interval.as_secs_f64() + self.remainder;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast of a size")]
        let whole = bytes as u64;
        self.remainder = bytes - whole as f64;
        if whole > 0 {
            let packets = u32::try_from(whole.div_ceil(u64::from(self.mss))).unwrap_or(u32::MAX);
            self.waiting.push_back(Frame { number: self.frames, captured, packets, bytes_left: whole });
            self.frames += 1;
            self.backlog += whole;
        }
    }
}

impl Endpoint for Source {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        let Some(report) = Report::decode(packet.payload) else { return News::default() };
        let rtt = now.since(Time::from_nanos(report.sent)).saturating_sub(Duration::from_nanos(report.held));
        // Reports may overtake each other.
        self.lost = self.lost.max(report.lost);
        self.rule.on_report(&report, now.since(self.updated), rtt);
        self.updated = now;
        News::of_answer(Some(rtt), false)
    }

    fn on_timer(&mut self, now: Time) {
        while self.next_frame <= now {
            self.capture();
        }
    }

    fn next_timer(&self) -> Time {
        if self.waiting.is_empty() { self.next_frame } else { self.next_frame.min(self.next_packet) }
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        if self.next_packet > now {
            return None;
        }
        let rate = self.rule.sending_rate(self.backlog);
        let frame = self.waiting.front_mut()?;
        let len = u16::try_from(frame.bytes_left).unwrap_or(self.mss).min(self.mss);
        let (number, sent) = (self.sent.sent_segments, now.as_nanos());
        let captured = frame.captured.as_nanos();
        MediaPacket { number, frame: frame.number, packets: frame.packets, captured, sent }.encode(payload);
        frame.bytes_left -= u64::from(len);
        if frame.bytes_left == 0 {
            self.waiting.pop_front();
        }
        self.backlog -= u64::from(len);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast of a time")]
        let pause = Duration::from_nanos((f64::from(len) * 8.0 / rate * NANOS) as u64);
        self.next_packet = now + pause;
        self.sent.sent_segments += 1;
        self.sent.sent_bytes += u64::from(len);
        Some(Datagram { size: len + HEADER, ecn: self.ecn })
    }

    fn on_application(&mut self, now: Time, act: Act<'_>) -> bool {
        match act {
            Act::Establish(_) => {
                (self.next_frame, self.updated) = (now, now);
                self.on_timer(now);
            }
            Act::Close => {
                self.next_frame = Time::NEVER;
                self.waiting.clear();
                self.backlog = 0;
            }
            Act::Write { .. } | Act::Steer(_) => {}
        }
        !self.waiting.is_empty()
    }

    fn report(&self) -> endpoint::Report<'_> {
        endpoint::Report {
            sent: Some(&self.sent),
            lost: Some(self.lost),
            unsent: self.backlog,
            is_connectionless: true,
            memory: claimed::<Frame>(self.waiting.len(), self.waiting.capacity()),
            ..endpoint::Report::default()
        }
    }
}
