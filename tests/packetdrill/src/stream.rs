//! Bytes of a script and segments of the endpoints.
//!
//! The endpoints count their sequence space in segments, scripts count bytes. A [`Stream`] knows at which byte each
//! segment begins. Bytes are counted from the beginning of the data, without the SYN.

use crate::script::{Direction, Script};
use std::ops::Range;

/// Segments between two cuts at most.
const MOST_SEGMENTS: u64 = 100_000;

/// Where the segments of one direction begin.
#[derive(Clone, Debug)]
pub struct Stream {
    /// `bounds[i]` is the first byte of segment `i`; the last one is the end.
    bounds: Vec<u64>,
}

impl Stream {
    /// Without data.
    pub fn new() -> Stream {
        Stream { bounds: vec![0] }
    }

    /// Cut at all of `cuts`, and between them after every `segment` bytes but in the ranges that stay `whole`.
    pub fn cut(cuts: &[u64], whole: &[Range<u64>], segment: u64) -> Stream {
        let mut cuts = cuts.to_vec();
        cuts.sort_unstable();
        let mut stream = Stream::new();
        for cut in cuts {
            // A gap that no packet covers needs no more than its ends.
            let is_gap = cut.saturating_sub(stream.end()) > MOST_SEGMENTS * segment;
            let is_whole = whole.iter().any(|range| range.start <= stream.end() && cut <= range.end);
            stream.extend_to(cut, if is_gap || is_whole { u64::MAX } else { segment });
        }
        stream
    }

    fn extend_to(&mut self, end: u64, segment: u64) {
        while self.end() < end {
            self.bounds.push(self.end().saturating_add(segment.max(1)).min(end));
        }
    }

    /// One byte beyond the last one.
    pub fn end(&self) -> u64 {
        self.bounds[self.segments()]
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.bounds.len() - 1
    }

    /// First byte of segment `index`; the end of the stream for those beyond it.
    pub fn byte(&self, index: u32) -> u64 {
        self.bounds.get(index as usize).copied().unwrap_or_else(|| self.end())
    }

    /// Bytes of segment `index`.
    pub fn len(&self, index: u32) -> u64 {
        self.byte(index + 1) - self.byte(index)
    }

    /// Segments that end at or below `byte`.
    pub fn whole_below(&self, byte: u64) -> u32 {
        self.bounds.partition_point(|&bound| bound <= byte).saturating_sub(1) as u32
    }

    /// The first segment that begins at or above `byte`.
    pub fn first_from(&self, byte: u64) -> u32 {
        self.bounds.partition_point(|&bound| bound < byte) as u32
    }

    /// Free bytes in the last segment if it is not full and not among the first `sent`.
    pub fn room_in_last(&self, segment: u64, sent: u64) -> u64 {
        match self.segments().checked_sub(1) {
            Some(last) if last as u64 >= sent => segment - self.len(last as u32).min(segment),
            _ => 0,
        }
    }

    /// Appends the byte of a FIN: to the last segment if it is not among the first `sent`; whether it is one of its own.
    pub fn finish(&mut self, sent: u64) -> bool {
        let end = self.end() + 1;
        let is_alone = self.segments() as u64 <= sent;
        if !is_alone {
            self.bounds.pop();
        }
        self.bounds.push(end);
        is_alone
    }

    /// Appends `bytes` in segments of `segment` bytes, of which the first `sent` have left, so that the last one takes
    /// no more. Returns how many segments were added, and the length of the last one.
    pub fn write(&mut self, bytes: u64, segment: u64, sent: u64) -> (u32, u64) {
        let before = self.segments();
        let end = self.end() + bytes;
        if self.room_in_last(segment, sent) > 0 {
            self.bounds.pop();
        }
        self.extend_to(end, segment);
        let last = self.segments() - 1;
        ((self.segments() - before) as u32, self.len(last as u32))
    }
}

/// Where the data of the other end's packets lies, in bytes, in the order of a script.
#[derive(Clone, Debug)]
pub struct Incoming(Vec<Range<u64>>);

impl Incoming {
    /// What arrives in a script.
    pub fn of(script: &Script) -> Incoming {
        let begins = script.first_seq(Direction::Inbound);
        let packets = script.packets(Direction::Inbound).filter(|packet| packet.space() > 0);
        let ranges = packets.map(|packet| {
            let start = u64::from(packet.seq.wrapping_sub(begins));
            start..start + u64::from(packet.space())
        });
        Incoming(ranges.filter(|range| range.end < u64::from(u32::MAX / 2)).collect())
    }

    /// Its segments of `segment` bytes: cut where packets begin and end.
    pub fn stream(&self, segment: u64) -> Stream {
        let cuts: Vec<u64> = self.0.iter().flat_map(|range| [range.start, range.end]).collect();
        Stream::cut(&cuts, &self.offloaded_above_a_gap(segment), segment)
    }

    /// Packets of several segments, as receive offload makes them, that arrive above a gap: they stay one segment of
    /// the receiver, which takes them as one event. In order the number of segments counts.
    fn offloaded_above_a_gap(&self, segment: u64) -> Vec<Range<u64>> {
        let mut next = 0;
        let mut above = Vec::new();
        for range in &self.0 {
            let len = range.end - range.start;
            if range.start > next && len > segment && len <= u64::from(u16::MAX) {
                above.push(range.clone());
            } else if range.start <= next {
                next = next.max(range.end);
            }
        }
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_fill_the_last_segment_unless_it_has_left() {
        let mut stream = Stream::new();
        assert_eq!(stream.write(2500, 1000, 0), (3, 500));
        assert_eq!(stream.write(300, 1000, 2), (0, 800));
        assert_eq!(stream.write(300, 1000, 2), (1, 100));
        assert_eq!(stream.write(300, 1000, 4), (1, 300));
        assert_eq!((stream.byte(3), stream.byte(4), stream.end()), (3000, 3100, 3400));
    }

    #[test]
    fn a_large_gap_is_one_segment() {
        assert_eq!(Stream::cut(&[1, 2, 1 << 31], &[], 1).segments(), 3);
    }

    #[test]
    fn what_covers_a_part_of_a_segment_covers_less() {
        let stream = Stream::cut(&[2500, 1000], &[], 1000);
        assert_eq!((0..4).map(|index| stream.byte(index)).collect::<Vec<_>>(), [0, 1000, 2000, 2500]);
        assert_eq!((stream.whole_below(1999), stream.whole_below(2500)), (1, 3));
        assert_eq!((stream.first_from(1), stream.first_from(1000)), (1, 1));
    }
}
