//! What the emulator has seen of a run.

use crate::conversations::Conversations;
use crate::header::Header;
use crate::lateness::Lateness;
use crate::meter::Meter;
use crate::packet_log::PacketLog;
use dumbbell_network::Entry;
use dumbbell_path::Class;
use dumbbell_results::{Histogram, LinkSummary, Recorder};
use dumbbell_units::{Duration, Time};

/// What is counted of a flow's packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Data packets that left the sender; only counted of programs.
    pub sent: u64,
    /// Data packets that the network dropped.
    pub drops: u64,
    /// Data packets that reached the receiver.
    pub arrived: u64,
    /// Pure acknowledgements that left the receiver.
    pub acks: u64,
}

impl Counts {
    /// What has been counted since `earlier`.
    pub fn since(self, earlier: Counts) -> Counts {
        Counts {
            sent: self.sent - earlier.sent,
            drops: self.drops - earlier.drops,
            arrived: self.arrived - earlier.arrived,
            acks: self.acks - earlier.acks,
        }
    }
}

/// What the emulator has seen of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowSeen {
    /// Over the whole run.
    pub total: Counts,
    /// Over the measured interval; while it lasts, what had been counted when it began.
    pub measured: Counts,
    /// Bytes that left the bottleneck's transmitter in the measured interval.
    pub wire_bytes: u64,
    /// Bytes that left the bottleneck's transmitter in the whole run.
    pub wire_bytes_total: u64,
    /// Round-trip times of the measured interval, microseconds.
    pub rtt: Histogram,
    /// Sum of the one-way delays of data packets of the measured interval.
    pub one_way_delays: Duration,
    /// When all of a finite transfer was acknowledged.
    pub finished_at: Option<Time>,
}

/// A flow while it is watched.
pub struct Flow {
    pub seen: FlowSeen,
    pub packets: Packets,
    /// Its pair of hosts.
    pub ends: usize,
    /// The link at which its throughput is measured.
    pub bottleneck: Entry,
}

/// What the packets of a flow are.
pub enum Packets {
    /// Those of a connection of our own.
    Connection(Connection),
    /// All that programs send.
    Programs(Conversations),
    /// All that two ends in this process send; they tell the rest themselves.
    Endpoints,
}

impl Packets {
    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        match self {
            Packets::Connection(connection) => connection.meter.memory(),
            Packets::Programs(conversations) => conversations.memory(),
            Packets::Endpoints => 0,
        }
    }
}

/// A connection of our own, whose data goes one way.
#[derive(Default)]
pub struct Connection {
    pub meter: Meter,
    pub is_open: bool,
    /// Bytes of a finite transfer.
    pub bytes: u64,
}

impl Connection {
    /// A packet has left one of the ends.
    pub fn count_sent(&mut self, header: &Header, class: Class, is_forward: bool, now: Time) {
        match class {
            _ if is_forward && header.is_syn() => {
                self.meter.open(header.seq);
                self.is_open = true;
            }
            Class::Data if is_forward => {
                self.meter.on_sent(now, header.seq, header.payload, header.timestamps.map(|(value, _)| value));
            }
            _ => {}
        }
    }
}

/// What the emulator has seen.
pub struct Seen {
    /// Of every flow.
    pub flows: Vec<FlowSeen>,
    /// Of every link.
    pub links: Vec<LinkSummary>,
    /// The series of links.
    pub recorder: Recorder,
    /// How punctual it was.
    pub lateness: Lateness,
    /// Packets that could not be handed to a host.
    pub failed_writes: u64,
    /// Whether it ran before every ordinary thread.
    pub had_priority: bool,
    /// CPU time that it took.
    pub cpu_s: f64,
    /// Packets delivered.
    pub packets: u64,
    /// Their log, where it was wanted.
    pub packet_log: Option<PacketLog>,
}
