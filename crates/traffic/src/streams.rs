//! An application with several streams: which packet of its connection belongs to which message.

use dumbbell_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The application writes messages, each on a stream of its own; those that are open take turns, a packet each. When
/// the messages of all open streams have been written, as many new ones begin. A message fills whole packets, and what
/// is left over at the end of the flow's `bytes` is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Streams {
    /// Streams that are open at once. With 1 messages follow one another.
    #[schemars(range(min = 1, max = 10_000), extend("x-unit" = "streams", "x-source" = "none: RFC 9000, section 4.6 lets the peer say how many"))]
    pub count: u32,
    /// Payload of a message.
    #[schemars(extend("x-above" = "0B", "x-at-most" = "1GB", "x-source" = "none"))]
    pub size: Bytes,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams { count: 8, size: Bytes::new(100_000) }
    }
}

impl Streams {
    /// For a report.
    pub fn in_words(&self) -> String {
        let streams = if self.count == 1 { "a stream" } else { "streams" };
        let count = if self.count == 1 { String::new() } else { format!("{} ", self.count) };
        format!("{count}{streams} with messages of {}", self.size.in_words())
    }

    /// The messages of a connection whose packets carry `mss` bytes.
    pub fn layout(&self, mss: u32) -> Layout {
        let packets = self.size.as_u64().div_ceil(mss.max(1).into()).max(1);
        Layout { streams: self.count.max(1).into(), packets }
    }
}

/// Where the packets of a connection stand in its messages. All are numbered from 0 in the order in which they are
/// written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Streams that are open at once.
    streams: u64,
    /// Packets of a message.
    packets: u64,
}

impl Layout {
    /// Packets of a message.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The message of a packet, and its place among the packets of that.
    pub fn place(&self, packet: u64) -> (u64, u64) {
        let (block, within) = (packet / (self.streams * self.packets), packet % (self.streams * self.packets));
        (block * self.streams + within % self.streams, within / self.streams)
    }

    /// How many messages have begun with a packet and those before it.
    pub fn begun(&self, packet: u64) -> u64 {
        let (block, within) = (packet / (self.streams * self.packets), packet % (self.streams * self.packets));
        block * self.streams + (within + 1).min(self.streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(count: u32, size: u64) -> Layout {
        Streams { count, size: Bytes::new(size) }.layout(1_000)
    }

    #[test]
    fn open_streams_take_turns_and_new_ones_follow_when_all_are_written() {
        let layout = layout(3, 1_500);
        let places: Vec<_> = (0..9).map(|packet| layout.place(packet)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (4, 0), (5, 0)]);
        let begun: Vec<_> = (0..9).map(|packet| layout.begun(packet)).collect();
        assert_eq!(begun, [1, 2, 3, 3, 3, 3, 4, 5, 6]);
    }

    #[test]
    fn messages_of_one_stream_follow_each_other() {
        let layout = layout(1, 2_000);
        let places: Vec<_> = (0..5).map(|packet| layout.place(packet)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
        assert_eq!((layout.packets(), layout.begun(2)), (2, 2));
    }

    #[test]
    fn a_message_fills_whole_packets() {
        assert_eq!([1, 1_000, 1_001].map(|size| layout(1, size).packets()), [1, 1, 2]);
        assert_eq!(Streams::default().in_words(), "8 streams with messages of 100 000 bytes");
    }
}
