//! The ACK filter: a TCP ACK that has come makes an older one of its flow redundant, which is dropped where it waits.
//!
//! An older ACK may go if the newer one tells all that it does: it acknowledges as much, its SACK blocks cover those of
//! the older one, and its timestamps are no older. An ACK that reports a duplicate, and one with options that the
//! filter does not know, stay. Two ACKs that may go have to wait before the first of them does, so that some remain of
//! a train; and where the echo of congestion changes between them the first stays. The aggressive filter is content
//! with one, if the newer one follows it at once and echoes as it does.

use crate::packet::PureAck;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Which ACKs are filtered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// The older of two that wait, where a third one comes.
    On,
    /// Also the only one that waits.
    Aggressive,
}

/// The word for [`AckFilter::Aggressive`].
const AGGRESSIVE: &str = "aggressive";

impl Serialize for AckFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            AckFilter::Off => serializer.serialize_bool(false),
            AckFilter::On => serializer.serialize_bool(true),
            AckFilter::Aggressive => serializer.serialize_str(AGGRESSIVE),
        }
    }
}

impl<'de> Deserialize<'de> for AckFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AckFilter, D::Error> {
        struct Forms;

        impl Visitor<'_> for Forms {
            type Value = AckFilter;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or \"aggressive\"")
            }

            fn visit_bool<E: Error>(self, is_on: bool) -> Result<AckFilter, E> {
                Ok(if is_on { AckFilter::On } else { AckFilter::Off })
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<AckFilter, E> {
                if word == AGGRESSIVE {
                    Ok(AckFilter::Aggressive)
                } else {
                    Err(E::unknown_variant(word, &["false", "true", AGGRESSIVE]))
                }
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for AckFilter {
    fn schema_name() -> Cow<'static, str> {
        "AckFilter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "const": false, "description": "None are." },
                { "const": true, "description": "The older of two that wait where a third one comes." },
                { "const": AGGRESSIVE, "description": "Also a single one, where the next one follows it at once." },
            ],
        })
    }
}

/// An ACK that waits, and its flow.
pub(super) type Waits = Option<(u32, PureAck)>;

/// The place of the ACK that may go where `newer` comes behind those that wait; `None` stands for packets that are no
/// ACKs.
pub(super) fn redundant<'a>(
    waiting: impl ExactSizeIterator<Item = &'a Waits>,
    flow: u32,
    newer: &PureAck,
    is_aggressive: bool,
) -> Option<usize> {
    let last = waiting.len().checked_sub(1)?;
    let mut first: Option<(usize, bool)> = None;
    let mut found = 0;
    let own = waiting.enumerate().filter_map(|(place, one)| one.as_ref().map(|one| (place, one)));
    for (place, (_, older)) in own.filter(|(_, (of, _))| *of == flow) {
        if first.is_some_and(|(_, echoes)| echoes != older.echoes_congestion) {
            first = None;
            found -= 1;
        }
        if !tells_no_more(older, newer) {
            continue;
        }
        let (candidate, _) = *first.get_or_insert((place, older.echoes_congestion));
        found += 1;
        if found > 1 {
            return Some(candidate);
        }
    }
    let (place, echoes) = first?;
    (is_aggressive && place == last && echoes == newer.echoes_congestion).then_some(place)
}

/// Whether `newer` tells all that `older` does, and more.
fn tells_no_more(older: &PureAck, newer: &PureAck) -> bool {
    if older.has_other_options
        || older.timestamps.0 > newer.timestamps.0
        || older.timestamps.1 > newer.timestamps.1
        || older.number > newer.number
    {
        return false;
    }
    match sacked_more(older, newer) {
        Ordering::Less => false,
        Ordering::Equal => older.number < newer.number,
        Ordering::Greater => true,
    }
}

/// How what `newer` acknowledges selectively compares: `Less` if it lacks something.
fn sacked_more(older: &PureAck, newer: &PureAck) -> Ordering {
    let (before, after) = (older.sacked.iter().flatten(), newer.sacked.iter().flatten());
    let covers = |&(start, end): &(u32, u32)| after.clone().any(|&(from, to)| from <= start && end <= to);
    let is_duplicate = |&(start, _): &(u32, u32)| start < older.number;
    let mut blocks = before.clone();
    if blocks.any(|block| is_duplicate(block) || !covers(block)) {
        return Ordering::Less;
    }
    let sum = |blocks: std::iter::Flatten<std::slice::Iter<'_, Option<(u32, u32)>>>| -> u64 {
        blocks.map(|&(start, end)| u64::from(end.saturating_sub(start))).sum()
    };
    if sum(after.clone()) > sum(before) { Ordering::Greater } else { Ordering::Equal }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> PureAck {
        PureAck { number, ..PureAck::default() }
    }

    fn sacking(number: u32, blocks: &[(u32, u32)]) -> PureAck {
        let mut sacked = [None; 4];
        sacked.iter_mut().zip(blocks).for_each(|(own, block)| *own = Some(*block));
        PureAck { sacked, ..ack(number) }
    }

    /// The place of the one that may go, of ACKs of flow 1 that wait.
    fn filtered(waiting: &[PureAck], newer: PureAck, is_aggressive: bool) -> Option<usize> {
        let waiting: Vec<Waits> = waiting.iter().map(|one| Some((1, *one))).collect();
        redundant(waiting.iter(), 1, &newer, is_aggressive)
    }

    #[test]
    fn the_oldest_goes_where_two_may_and_an_aggressive_filter_takes_the_only_one() {
        assert_eq!(filtered(&[], ack(3), true), None);
        assert_eq!(filtered(&[ack(1), ack(2)], ack(3), false), Some(0));
        assert_eq!(filtered(&[ack(2)], ack(3), false), None);
        assert_eq!(filtered(&[ack(2)], ack(3), true), Some(0));
        assert_eq!(filtered(&[ack(3)], ack(3), true), None, "a duplicate ACK tells of a packet that has come");
        assert_eq!(filtered(&[ack(4)], ack(3), true), None, "it has been overtaken");
    }

    #[test]
    fn acks_of_other_flows_and_packets_that_are_none_stay() {
        let waiting = [Some((2, ack(1))), None, Some((1, ack(1))), None, Some((1, ack(2)))];
        assert_eq!(redundant(waiting.iter(), 1, &ack(3), false), Some(2));
        assert_eq!(redundant(waiting[..4].iter(), 1, &ack(3), true), None, "it does not follow at once");
    }

    #[test]
    fn what_is_sacked_is_not_lost() {
        let hole = sacking(1, &[(2, 4)]);
        assert_eq!(filtered(&[hole], sacking(1, &[(2, 5)]), true), Some(0), "more of a block");
        assert_eq!(filtered(&[hole], sacking(1, &[(2, 4)]), true), None, "nothing new");
        assert_eq!(filtered(&[hole], sacking(1, &[(6, 8), (2, 4)]), true), Some(0), "a block more");
        assert_eq!(filtered(&[hole], sacking(2, &[(6, 8)]), true), None, "a block is missing");
        assert_eq!(filtered(&[hole], ack(4), true), None, "the cumulative ACK has no blocks, as in the kernel");
        let duplicate = sacking(5, &[(2, 3)]);
        assert_eq!(filtered(&[duplicate], sacking(6, &[(2, 9)]), true), None, "a report of a duplicate");
        assert_eq!(filtered(&[ack(1)], hole, true), Some(0), "a hole opens");
    }

    #[test]
    fn an_echo_that_changes_is_not_lost() {
        let echo = |number| PureAck { echoes_congestion: true, ..ack(number) };
        assert_eq!(filtered(&[ack(1), echo(2)], echo(3), false), None);
        assert_eq!(filtered(&[ack(1), echo(2), echo(3)], echo(4), false), Some(1));
        assert_eq!(filtered(&[ack(1)], echo(2), true), None);
        assert_eq!(filtered(&[echo(1)], echo(2), true), Some(0));
    }

    #[test]
    fn older_timestamps_and_unknown_options_are_kept() {
        let at = |number, timestamps| PureAck { timestamps, ..ack(number) };
        assert_eq!(filtered(&[at(1, (5, 5))], at(2, (5, 6)), true), Some(0));
        assert_eq!(filtered(&[at(1, (5, 7))], at(2, (5, 6)), true), None);
        assert_eq!(filtered(&[at(1, (6, 5))], at(2, (5, 6)), true), None);
        let accurate = PureAck { has_other_options: true, ..ack(1) };
        assert_eq!(filtered(&[accurate], ack(2), true), None);
    }
}
