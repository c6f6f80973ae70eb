//! Puts frames together, and counts those that come late or never.

use super::MediaPacket;
use crate::endpoint::FrameCounts;
use dumbbell_units::{Duration, Time, claimed};
use std::collections::VecDeque;

/// The frames of a call at the receiver.
pub(super) struct Frames {
    deadline: Duration,
    /// A frame that is incomplete when one so many numbers above it comes has lost something.
    patience: usize,
    /// Number of the first of `left`.
    first: u64,
    /// Packets that are still to come of each frame; `None` where nothing has come yet.
    left: VecDeque<Option<u32>>,
    counts: FrameCounts,
}

impl Frames {
    /// `fps` frames, a second of them, are waited for.
    pub(super) fn new(fps: u32, deadline: Duration) -> Frames {
        let patience = usize::try_from(fps).unwrap_or(usize::MAX);
        Frames { deadline, patience, first: 0, left: VecDeque::new(), counts: FrameCounts::default() }
    }

    /// A packet comes for the first time. Returns how long its frame took, if that is complete now.
    pub(super) fn on_packet(&mut self, now: Time, packet: &MediaPacket) -> Option<Duration> {
        let place = usize::try_from(packet.frame.checked_sub(self.first)?).ok()?;
        if place >= self.left.len() {
            self.left.resize(place + 1, None);
        }
        let left = self.left[place].unwrap_or(packet.packets).saturating_sub(1);
        self.left[place] = Some(left);
        while self.left.len() > self.patience {
            let is_complete = self.left.pop_front().flatten() == Some(0);
            self.counts.lost += u64::from(!is_complete);
            self.first += 1;
        }
        if left > 0 {
            return None;
        }
        let took = now.since(Time::from_nanos(packet.captured));
        self.counts.complete += 1;
        self.counts.late += u64::from(took > self.deadline);
        Some(took)
    }

    pub(super) fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// Bytes of memory [claimed].
    pub(super) fn memory(&self) -> u64 {
        claimed::<Option<u32>>(self.left.len(), self.left.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Frames of two packets every 33 ms, which arrive after 50 ms unless `fate` says when, or never.
    fn counts(frames: u64, fate: impl Fn(u64, u64) -> Option<u64>) -> (FrameCounts, Vec<Duration>) {
        let mut receiver = Frames::new(30, MS * 400);
        let mut took = Vec::new();
        for frame in 0..frames {
            for part in 0..2 {
                let captured = frame * 33_000_000;
                let number = 2 * frame + part;
                let packet = MediaPacket { number, frame, packets: 2, captured, sent: captured };
                if let Some(after_ms) = fate(frame, part) {
                    took.extend(receiver.on_packet(Time::from_nanos(captured) + MS * after_ms, &packet));
                }
            }
        }
        (receiver.counts(), took)
    }

    #[test]
    fn a_frame_is_there_with_its_last_packet() {
        let (counts, took) = counts(100, |_, part| Some(50 + 10 * part));
        assert_eq!(counts, FrameCounts { complete: 100, late: 0, lost: 0 });
        assert_eq!(took, [MS * 60; 100]);
    }

    #[test]
    fn frames_that_lose_a_packet_are_lost_after_a_second_and_slow_ones_late() {
        let fate = |frame: u64, part: u64| match (frame % 10, part) {
            (0, 1) | (5, _) => None,
            (7, 1) => Some(401),
            _ => Some(50),
        };
        let (counts, took) = counts(130, fate);
        // Of the last thirty it cannot be known.
        assert_eq!(counts, FrameCounts { complete: 104, late: 13, lost: 20 });
        assert_eq!(took.iter().filter(|took| **took == MS * 401).count(), 13);
    }

    #[test]
    fn an_outage_of_an_hour_is_so_many_lost_frames_and_no_memory() {
        let mut receiver = Frames::new(30, MS * 400);
        for frame in [0, 108_000] {
            let packet = MediaPacket { number: frame, frame, packets: 1, captured: 0, sent: 0 };
            receiver.on_packet(Time::ZERO, &packet);
        }
        assert_eq!(receiver.counts().lost, 108_000 - 30);
        assert_eq!(receiver.left.len(), 30);
    }
}
