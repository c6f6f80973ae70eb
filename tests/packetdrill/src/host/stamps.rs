//! Time stamps of what the application has written (`SO_TIMESTAMPING`): when the last byte of a call was handed to the
//! device, when it left, and when it was acknowledged.

use super::connection::Connection;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// What a time stamp is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// `SCM_TSTAMP_SCHED`: the packet came to the queue of the device.
    Scheduled,
    /// `SCM_TSTAMP_SND`: it left.
    Sent,
    /// `SCM_TSTAMP_ACK`: the other end has acknowledged it.
    Acknowledged,
}

/// A time stamp that waits to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// What of.
    pub moment: Moment,
    /// The byte that it is of, counted from those that were acknowledged when stamps were asked for.
    pub byte: u32,
    /// When.
    pub at: Time,
}

/// Which stamps the application asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    scheduled: bool,
    sent: bool,
    acknowledged: bool,
    /// Each says of which byte it is (`SOF_TIMESTAMPING_OPT_ID`).
    numbered: bool,
}

impl Wanted {
    /// What the constants of a socket option ask for; the reason if it is not modelled.
    pub fn of(flags: &str) -> Result<Wanted, String> {
        let mut wanted = Wanted::default();
        let mut is_reported = false;
        for flag in flags.split('|') {
            match flag.trim_start_matches("SOF_TIMESTAMPING_") {
                "TX_SCHED" => wanted.scheduled = true,
                "TX_SOFTWARE" => wanted.sent = true,
                "TX_ACK" => wanted.acknowledged = true,
                "OPT_ID" => wanted.numbered = true,
                "SOFTWARE" => is_reported = true,
                "OPT_TSONLY" => {}
                _ => return Err(format!("`{flag}`")),
            }
        }
        Ok(if is_reported { wanted } else { Wanted::default() })
    }
}

/// The stamps of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    wanted: Wanted,
    /// Bytes are counted from here.
    origin: u64,
    /// Where calls have ended, and whether what they wrote has left.
    ends: VecDeque<(u64, bool)>,
    told: VecDeque<Stamp>,
}

impl Stamps {
    fn tell(&mut self, moment: Moment, end: u64, at: Time) {
        let byte = if self.wanted.numbered { (end - 1 - self.origin) as u32 } else { 0 };
        self.told.push_back(Stamp { moment, byte, at });
    }

    /// A call has written up to `end`. It takes the stamps over of one that waits in the same buffer.
    pub fn note_written(&mut self, end: u64) {
        if self.wanted != Wanted::default() {
            self.ends.retain(|&(_, has_left)| has_left);
            self.ends.push_back((end, false));
        }
    }

    /// The data from `start` to `end` has left, perhaps again.
    pub fn note_sent(&mut self, now: Time, start: u64, end: u64) {
        let Some(last) = self.ends.iter_mut().rfind(|(other, _)| start < *other && *other <= end) else { return };
        last.1 = true;
        let last = last.0;
        for (moment, is_wanted) in [(Moment::Scheduled, self.wanted.scheduled), (Moment::Sent, self.wanted.sent)] {
            if is_wanted {
                self.tell(moment, last, now);
            }
        }
    }

    /// Everything below `una` is acknowledged.
    pub fn note_acknowledged(&mut self, now: Time, una: u64) {
        while let Some(&(end, _)) = self.ends.front().filter(|(end, _)| *end <= una) {
            self.ends.pop_front();
            if self.wanted.acknowledged {
                self.tell(Moment::Acknowledged, end, now);
            }
        }
    }
}

impl Connection {
    /// `SO_TIMESTAMPING`.
    pub(super) fn want_stamps(&mut self, wanted: Wanted) {
        self.stamps.wanted = wanted;
        self.stamps.origin = self.outgoing.byte(self.sender.view().snd_una as u32);
    }

    /// The next stamp that waits.
    pub(super) fn next_stamp(&mut self) -> Option<Stamp> {
        self.stamps.told.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Duration;

    #[test]
    fn the_last_byte_of_each_call_has_its_stamps() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let wanted = Wanted::of(
            "SOF_TIMESTAMPING_TX_SCHED|SOF_TIMESTAMPING_TX_ACK|SOF_TIMESTAMPING_SOFTWARE|SOF_TIMESTAMPING_OPT_ID",
        );
        let mut stamps = Stamps { wanted: wanted.unwrap(), origin: 1000, ..Stamps::default() };
        stamps.note_written(3000);
        stamps.note_sent(at(1), 1000, 2000);
        stamps.note_sent(at(2), 2000, 3000);
        stamps.note_written(4000);
        stamps.note_written(5000);
        stamps.note_acknowledged(at(3), 3000);
        stamps.note_sent(at(4), 3000, 5000);
        stamps.note_sent(at(5), 4000, 5000);
        let told: Vec<_> = stamps.told.iter().map(|stamp| (stamp.moment, stamp.byte, stamp.at)).collect();
        let expected = [
            (Moment::Scheduled, 1999, at(2)),
            (Moment::Acknowledged, 1999, at(3)),
            (Moment::Scheduled, 3999, at(4)),
            (Moment::Scheduled, 3999, at(5)),
        ];
        assert_eq!(told, expected, "two calls share a buffer that has not left");
    }

    #[test]
    fn stamps_of_hardware_are_not_modelled() {
        assert!(Wanted::of("SOF_TIMESTAMPING_TX_HARDWARE").is_err());
        assert_eq!(Wanted::of("SOF_TIMESTAMPING_TX_ACK").unwrap(), Wanted::default(), "nobody reports them");
    }
}
