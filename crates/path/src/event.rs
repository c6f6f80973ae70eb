//! Exact events: what happens to chosen packets of a link, by their number, their bytes or the time.
//!
//! Drops, marks and copies are made of packets that arrive at the near end, before anything else can happen to them.
//! Delays and holds are for packets that have left the transmitter. Each event counts the packets that it is about
//! (data or ACKs, of one flow or of all) at the place where it acts.

use crate::packet::{Class, Packet};
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that happens to chosen packets of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketEvent {
    /// What happens to them.
    #[schemars(extend("x-source" = "none: netem knows no single packets"))]
    pub action: Action,
    /// Which packets are counted.
    #[serde(default)]
    #[schemars(extend("x-source" = "none"))]
    pub of: Selection,
    /// Only those of this flow, counted from 0 as in the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "all flows", "x-source" = "none"))]
    pub flow: Option<u32>,
    /// The first and the last of them, counted from 1 where they pass: `[17, 19]` are three packets. Packets that are
    /// sent again count again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "all", "x-source" = "none"))]
    pub packets: Option<(u64, u64)>,
    /// Those that begin within this range of the bytes (IP length) that have passed: `["1MB", "2MB"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "all", "x-source" = "none"))]
    pub bytes: Option<(Bytes, Bytes)>,
    /// From this time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the start", "x-source" = "none"))]
    pub from: Option<Time>,
    /// Before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the end", "x-source" = "none"))]
    pub until: Option<Time>,
    /// The time from `from` to `until` comes again, each time so much later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "never", "x-with" = "until", "x-above" = "0s", "x-source" = "none"))]
    pub repeat: Option<Duration>,
    /// How often it comes in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2), extend("x-default" = "no limit", "x-with" = "repeat", "x-unit" = "times", "x-source" = "none"))]
    pub times: Option<u32>,
    /// How much longer delayed packets take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "required with `delay`", "x-at-most" = "1h", "x-source" = "none"))]
    pub by: Option<Duration>,
}

/// What happens to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// They are lost before the queue.
    Drop,
    /// They are marked "congestion experienced", if they are ECN-capable.
    Mark,
    /// A copy of each follows it into the queue.
    Duplicate,
    /// They take longer, and others do not wait for them.
    Delay,
    /// Those that reach the far end in this time wait there until it is over.
    Hold,
}

/// Which packets are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// Packets that carry data.
    #[default]
    Data,
    /// Acknowledgements.
    Acks,
    /// Both, and those of handshakes.
    Any,
}

impl Selection {
    fn includes(self, class: Class) -> bool {
        match self {
            Selection::Any => true,
            Selection::Data => class == Class::Data,
            Selection::Acks => class == Class::Ack,
        }
    }
}

impl PacketEvent {
    /// What cannot be meant.
    ///
    /// # Errors
    /// A range that is empty, or keys that do not go with the action.
    pub fn check(&self) -> Result<(), Problem> {
        if let Some((first, last)) = self.packets.filter(|(first, last)| *first == 0 || first > last) {
            let message = format!("packets {first} to {last} are none");
            return Err(Problem::value("packets", message, "allowed: the first and the last, counted from 1"));
        }
        if let Some((begin, end)) = self.bytes.filter(|(begin, end)| begin >= end) {
            let message = format!("the bytes from {begin} to {end} are none");
            return Err(Problem::value("bytes", message, "allowed: a range that ends after its begin"));
        }
        if let Some((from, until)) = self.from.zip(self.until).filter(|(from, until)| from >= until) {
            let message = format!("the time from {from} until {until} is none");
            return Err(Problem::value("until", message, "allowed: a time later than `from`"));
        }
        self.check_repetition()?;
        match self.action {
            Action::Delay if self.by.is_none() => {
                Err(Problem::missing("by", "a delay needs `by`", "write by = \"30ms\""))
            }
            Action::Hold if self.from.is_none() || self.until.is_none() => {
                let help = "write from = \"3s\" and until = \"3080ms\" to hold packets for 80 ms";
                Err(Problem::missing("until", "packets are held `from` a time `until` another", help))
            }
            Action::Hold if self.packets.is_some() || self.bytes.is_some() => {
                let key = if self.packets.is_some() { "packets" } else { "bytes" };
                Err(Problem::key(
                    key,
                    format!("`{key}` does not go with holding packets"),
                    "use `delay` for single packets",
                ))
            }
            Action::Delay => Ok(()),
            _ if self.by.is_some() => Err(Problem::key("by", "`by` belongs to `delay`", "remove it")),
            Action::Hold => Ok(()),
            _ if self.packets.is_none() && self.bytes.is_none() && self.from.is_none() && self.until.is_none() => {
                let help = "give `packets`, `bytes`, or `from` and `until`";
                Err(Problem::whole("this event is about every packet", help))
            }
            _ => Ok(()),
        }
    }

    /// What cannot be meant of its repetition.
    fn check_repetition(&self) -> Result<(), Problem> {
        let Some(repeat) = self.repeat else {
            return match self.times {
                None => Ok(()),
                Some(_) => Err(Problem::key("times", "`times` belongs to `repeat`", "add `repeat`, or remove `times`")),
            };
        };
        let Some((from, until)) = self.from.zip(self.until) else {
            let help = "write from = \"3s\" and until = \"3080ms\", the first time";
            return Err(Problem::missing("until", "what repeats needs `from` and `until`", help));
        };
        for (key, is_given) in [("packets", self.packets.is_some()), ("bytes", self.bytes.is_some())] {
            if is_given {
                let message = format!("`{key}` counts over the whole run and does not go with `repeat`");
                return Err(Problem::key(key, message, "remove one of them"));
            }
        }
        if repeat <= until.since(from) {
            let message = format!("the time from {from} until {until} repeats after {repeat}");
            return Err(Problem::value("repeat", message, "allowed: more than that time lasts"));
        }
        match self.times.filter(|times| *times < 2) {
            Some(times) => Err(Problem::value("times", format!("{times} times"), "allowed: 2 or more")),
            None => Ok(()),
        }
    }

    /// How much later than given the repetition is whose turn it is at `now`.
    fn shift(&self, now: Time) -> Duration {
        let (Some(repeat), Some(from)) = (self.repeat, self.from) else { return Duration::ZERO };
        let turn = now.max(from).since(from).as_nanos() / repeat.as_nanos().max(1);
        repeat * turn.min(self.times.map_or(u64::MAX, |times| u64::from(times) - 1))
    }

    /// When the time of the event that holds at `now` is over; `None` if it has no end.
    pub(crate) fn ends(&self, now: Time) -> Option<Time> {
        self.until.map(|until| until + self.shift(now))
    }

    /// Whether the event is about this time.
    fn is_at(&self, now: Time) -> bool {
        self.from.is_none_or(|from| from + self.shift(now) <= now) && self.ends(now).is_none_or(|until| now < until)
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        let mut text = match self.action {
            Action::Drop => "drops",
            Action::Mark => "marks",
            Action::Duplicate => "duplicates",
            Action::Delay => "delays",
            Action::Hold => "holds",
        }
        .to_owned();
        text += match self.of {
            Selection::Data => " data",
            Selection::Acks => " ACKs",
            Selection::Any => " packets",
        };
        let mut add = |part: Option<String>| part.into_iter().for_each(|part| text.push_str(&part));
        add(self.flow.map(|flow| format!(" of flow {flow}")));
        add(self.packets.map(|(first, last)| format!(" {first} to {last}")));
        add(self.bytes.map(|(begin, end)| format!(" from byte {} to {}", begin.as_u64(), end.as_u64())));
        add(self.from.map(|from| format!(" from {from}")));
        add(self.until.map(|until| format!(" until {until}")));
        add(self.repeat.map(|repeat| format!(", again every {}", repeat.in_words())));
        add(self.times.map(|times| format!(", {times} times in all")));
        add(self.by.map(|by| format!(" by {}", by.in_words())));
        text
    }

    /// Whether it acts on packets that arrive at the near end.
    pub(crate) fn acts_on_arrival(&self) -> bool {
        matches!(self.action, Action::Drop | Action::Mark | Action::Duplicate)
    }
}

/// An event and what it has counted.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    event: PacketEvent,
    packets: u64,
    bytes: u64,
}

impl Watch {
    /// Watches for the events that are wanted.
    pub(crate) fn all(events: &[PacketEvent], is_wanted: impl Fn(&PacketEvent) -> bool) -> Vec<Watch> {
        let wanted = events.iter().filter(|event| is_wanted(event));
        wanted.map(|event| Watch { event: event.clone(), packets: 0, bytes: 0 }).collect()
    }

    /// Counts a packet that passes at `now`; the event if that is about it.
    pub(crate) fn passes<P: Packet>(&mut self, now: Time, packet: &P) -> Option<&PacketEvent> {
        let event = &self.event;
        if !event.of.includes(packet.class()) || event.flow.is_some_and(|flow| flow != packet.flow()) {
            return None;
        }
        self.packets += 1;
        let begins = self.bytes;
        self.bytes += u64::from(packet.size());
        let is_meant = event.packets.is_none_or(|(first, last)| (first..=last).contains(&self.packets))
            && event.bytes.is_none_or(|(begin, end)| (begin.as_u64()..end.as_u64()).contains(&begins))
            && event.is_at(now);
        is_meant.then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    fn event(action: Action) -> PacketEvent {
        let (packets, bytes, from, until) = (None, None, None, None);
        let (repeat, times) = (None, None);
        PacketEvent { action, of: Selection::Data, flow: None, packets, bytes, from, until, repeat, times, by: None }
    }

    /// The packets of 1000 bytes, one a millisecond, that an event is about, counted from 1.
    fn meant(event: &PacketEvent) -> Vec<u64> {
        event.check().unwrap();
        let mut watch = Watch::all(std::slice::from_ref(event), |_| true).remove(0);
        let packet = |i| TestPacket::new(i, 1000);
        let at = |i| Time::ZERO + Duration::from_millis(i);
        (1..=20).filter(|&i| watch.passes(at(i), &packet(i)).is_some()).collect()
    }

    #[test]
    fn packets_are_chosen_by_number_bytes_and_time() {
        let drop = event(Action::Drop);
        assert_eq!(meant(&PacketEvent { packets: Some((17, 19)), ..drop.clone() }), [17, 18, 19]);
        let bytes = Some((Bytes::new(2_000), Bytes::new(4_001)));
        assert_eq!(meant(&PacketEvent { bytes, ..drop.clone() }), [3, 4, 5], "those that begin at 2000, 3000 and 4000");
        let at = |ms| Some(Time::ZERO + Duration::from_millis(ms));
        assert_eq!(meant(&PacketEvent { from: at(5), until: at(8), ..drop.clone() }), [5, 6, 7]);
        assert_eq!(meant(&PacketEvent { from: at(5), packets: Some((4, 6)), ..drop.clone() }), [5, 6]);
        assert_eq!(meant(&PacketEvent { flow: Some(1), packets: Some((1, 9)), ..drop.clone() }), [0; 0]);
        assert_eq!(meant(&PacketEvent { of: Selection::Acks, packets: Some((1, 9)), ..drop }), [0; 0]);
    }

    #[test]
    fn a_time_comes_again_as_often_as_it_shall() {
        let at = |ms| Some(Time::ZERO + Duration::from_millis(ms));
        let repeat = Some(Duration::from_millis(5));
        let drop = PacketEvent { from: at(3), until: at(5), repeat, ..event(Action::Drop) };
        assert_eq!(meant(&drop), [3, 4, 8, 9, 13, 14, 18, 19]);
        let twice = PacketEvent { times: Some(2), ..drop };
        assert_eq!(meant(&twice), [3, 4, 8, 9]);
        let ends = |ms| twice.ends(Time::ZERO + Duration::from_millis(ms));
        assert_eq!([1, 4, 9, 14].map(ends), [at(5), at(5), at(10), at(10)]);
    }

    #[test]
    fn events_that_cannot_be_meant_are_refused() {
        let drop = event(Action::Drop);
        let at = |ms| Some(Time::ZERO + Duration::from_millis(ms));
        let refused = |event: PacketEvent| event.check().unwrap_err();
        assert_eq!(refused(drop.clone()).message, "this event is about every packet");
        assert_eq!(refused(PacketEvent { packets: Some((0, 3)), ..drop.clone() }).key, "packets");
        assert_eq!(refused(PacketEvent { packets: Some((4, 3)), ..drop.clone() }).key, "packets");
        assert_eq!(refused(PacketEvent { from: at(3), until: at(3), ..drop.clone() }).key, "until");
        assert_eq!(refused(PacketEvent { from: at(3), by: Some(Duration::ZERO), ..drop.clone() }).key, "by");
        assert_eq!(refused(PacketEvent { packets: Some((1, 1)), ..event(Action::Delay) }).key, "by");
        assert_eq!(refused(PacketEvent { from: at(3), ..event(Action::Hold) }).key, "until");
        let numbered = PacketEvent { from: at(3), until: at(4), packets: Some((1, 1)), ..event(Action::Hold) };
        assert_eq!(refused(numbered).key, "packets");
        let repeated =
            PacketEvent { from: at(3), until: at(4), repeat: Some(Duration::from_millis(1)), ..drop.clone() };
        assert_eq!(refused(repeated.clone()).key, "repeat", "a time without a pause");
        let repeat = Some(Duration::from_millis(9));
        assert_eq!(refused(PacketEvent { repeat, until: None, ..repeated.clone() }).key, "until");
        assert_eq!(refused(PacketEvent { repeat, packets: Some((1, 2)), ..repeated.clone() }).key, "packets");
        assert_eq!(refused(PacketEvent { repeat, times: Some(1), ..repeated.clone() }).key, "times");
        assert_eq!(refused(PacketEvent { repeat: None, times: Some(2), ..repeated }).key, "times");
    }
}
