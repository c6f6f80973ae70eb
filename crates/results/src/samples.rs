//! What is sampled of flows and links, as the columns of the time series and as the words of packed rows.

use crate::columns::{Declared, each, simulated};
use crate::packed::{GROUP, Group, groups};
use dumbbell_units::Duration;

/// A flow at one instant. Windows and counts are in packets.
#[derive(Clone, Debug, Default)]
pub struct FlowSample {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold, if there is one.
    pub ssthresh: Option<u32>,
    /// Packets in flight.
    pub inflight: u32,
    /// Bytes per second.
    pub pacing_rate: u64,
    /// Eight times the smoothed round-trip time in microseconds, as the kernel holds it.
    pub srtt_us_x8: u32,
    /// Round-trip time of the latest acknowledgement in microseconds, if it gave one.
    pub rtt_us: Option<i64>,
    /// Windowed minimum of the round-trip time in microseconds, if there is one.
    pub min_rtt_us: Option<u32>,
    /// Latest sample of the delivery rate in Mbit/s, if there is one.
    pub delivery_mbps: Option<f64>,
    /// What arrived.
    pub arrived: Arrived,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Data packets sent so far.
    pub sent: u64,
    /// Packets declared lost so far, if the ground can tell.
    pub lost: Option<u64>,
    /// Packets sent again so far.
    pub retransmits: u64,
    /// Packets selectively acknowledged and not yet acknowledged.
    pub sacked_out: u32,
    /// Packets sent and not yet acknowledged.
    pub packets_out: u32,
    /// The sender's state: `open`, `disorder`, `cwr`, `recovery` or `loss`.
    pub ca_state: &'static str,
    /// The controller's phase, empty for controllers without phases.
    pub mode: &'static str,
    /// What keeps the sender from sending more.
    pub limited_by: &'static str,
    /// What the sender tells.
    pub tells: Tells,
}

/// What arrived at a flow's receiver since the sample before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrived {
    /// Bytes that the receiving application got.
    pub goodput_bytes: u64,
    /// IP bytes of data packets, duplicates included.
    pub received_bytes: u64,
    /// Mbit/s of a byte in every interval between samples.
    pub mbps_per_byte: f64,
}

impl Arrived {
    /// Of bytes that the application has got and bytes that were received, as they were counted `interval` apart.
    #[inline]
    pub fn between(before: (u64, u64), now: (u64, u64), interval: Duration) -> Arrived {
        Arrived {
            goodput_bytes: now.0 - before.0,
            received_bytes: now.1 - before.1,
            mbps_per_byte: 8e-6 / interval.as_secs_f64(),
        }
    }

    fn mbps(&self, bytes: u64) -> f64 {
        bytes as f64 * self.mbps_per_byte
    }
}

/// What a sender tells of itself. What it does not tell is null in tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tells {
    /// What it counts, and the state that a controller governs.
    #[default]
    All,
    /// What it counts: no controller governs it, so that it has no window and knows no round trip.
    Counts,
    /// Nothing: nobody can look into it, and only what arrived is known.
    Nothing,
}

impl Tells {
    const ALL: [Tells; 3] = [Tells::All, Tells::Counts, Tells::Nothing];
}

impl FlowSample {
    /// What the sender counts; NaN where nobody can look into it.
    fn counted(&self, value: f64) -> f64 {
        if self.tells == Tells::Nothing { f64::NAN } else { value }
    }

    /// What a controller governs or learns; NaN where there is none, or nobody can look into it.
    fn governed(&self, value: f64) -> f64 {
        if self.tells == Tells::All { value } else { f64::NAN }
    }
}

/// A link at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSample {
    /// Bytes that wait.
    pub queue_bytes: u64,
    /// Packets that wait.
    pub queue_packets: u64,
    /// Bits that left since the sample before, those of the framing included.
    pub departed_bits: f64,
    /// Bits that could have left; `None` for an unlimited rate.
    pub capacity_bits: Option<u64>,
    /// Packets dropped so far by the queue and the policer in front of it.
    pub drops: u64,
    /// Packets lost at random so far.
    pub losses: u64,
}

/// When something was sampled, which flow or link it was, and what was seen.
pub(crate) struct Row<S> {
    pub t_s: f64,
    pub index: u32,
    pub sample: S,
}

/// What [packed](crate::packed) rows consist of: words, the first of which are whole numbers and the rest floats.
pub(crate) trait Sample {
    const WHOLE: usize;
    const FLOATS: usize;
    /// Groups that its words take, the last of which ends with zeros.
    const GROUPS: usize = groups(Self::WHOLE + Self::FLOATS);

    /// The sample of these words.
    fn read(words: &[u64], names: &[&'static str]) -> Self;
}

/// The word of a number that there is not.
const NONE: u64 = u64::MAX;

fn some<T>(word: u64, number: impl FnOnce(u64) -> T) -> Option<T> {
    (word != NONE).then(|| number(word))
}

/// A word that was made of such a number.
fn narrow(word: u64) -> u32 {
    u32::try_from(word).unwrap_or(u32::MAX)
}

/// The number of a name: its place among `names`, which becomes one of them. Mostly it is that of the row `before`. Names
/// at one place in memory are the same.
#[inline(always)]
fn number(name: &'static str, names: &mut Vec<&'static str>, before: u64) -> u64 {
    if std::ptr::eq(self::name(before, names), name) { before } else { look_up(name, names) }
}

#[inline(never)]
fn look_up(name: &'static str, names: &mut Vec<&'static str>) -> u64 {
    let known = names.iter().position(|known| std::ptr::eq(*known, name));
    known.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    }) as u64
}

fn name(number: u64, names: &[&'static str]) -> &'static str {
    usize::try_from(number).ok().and_then(|place| names.get(place)).copied().unwrap_or_default()
}

impl FlowSample {
    /// Whether a sample in which so much arrived repeats the one before, of these groups, if nothing has reached the
    /// sender since. Where there was none they are zero, and the last number of these never is.
    #[inline(always)]
    pub(crate) fn repeats(
        arrived: &Arrived,
        limited_by: &'static str,
        before: &[Group],
        names: &[&'static str],
    ) -> bool {
        let [[goodput_bytes, received_bytes, ..], [.., limit], [.., mbps_per_byte, _, _, _], ..] = before else {
            return false;
        };
        *mbps_per_byte == arrived.mbps_per_byte.to_bits()
            && *goodput_bytes == arrived.goodput_bytes
            && *received_bytes == arrived.received_bytes
            && std::ptr::eq(name(*limit, names), limited_by)
    }
}

impl FlowSample {
    /// Its words; names have a number in `names`, which mostly is that in the row `before`. What changes together stands
    /// together.
    #[inline(always)]
    pub(crate) fn words(&self, before: &[Group], names: &mut Vec<&'static str>) -> [Group; Self::GROUPS] {
        let [_, [.., limited_by], [ca_state, mode, ..]] = before.first_chunk().unwrap_or(&[[0; GROUP]; Self::GROUPS]);
        [
            [
                self.arrived.goodput_bytes,
                self.arrived.received_bytes,
                self.delivered,
                self.sent,
                self.inflight.into(),
                self.packets_out.into(),
                self.srtt_us_x8.into(),
                self.rtt_us.map_or(NONE, i64::cast_unsigned),
            ],
            [
                self.cwnd.into(),
                self.pacing_rate,
                self.lost.unwrap_or(NONE),
                self.retransmits,
                self.sacked_out.into(),
                self.ssthresh.map_or(NONE, u64::from),
                self.min_rtt_us.map_or(NONE, u64::from),
                number(self.limited_by, names, *limited_by),
            ],
            [
                number(self.ca_state, names, *ca_state),
                number(self.mode, names, *mode),
                self.tells as u64,
                self.delivery_mbps.map_or(NONE, f64::to_bits),
                self.arrived.mbps_per_byte.to_bits(),
                0,
                0,
                0,
            ],
        ]
    }
}

impl Sample for FlowSample {
    const WHOLE: usize = 19;
    const FLOATS: usize = 2;

    fn read(words: &[u64], names: &[&'static str]) -> FlowSample {
        let Some(&words) = words.first_chunk() else { return FlowSample::default() };
        let [
            goodput_bytes,
            received_bytes,
            delivered,
            sent,
            inflight,
            packets_out,
            srtt_us_x8,
            rtt_us,
            cwnd,
            pacing_rate,
            lost,
            retransmits,
            sacked_out,
            ssthresh,
            min_rtt_us,
            limited_by,
            ca_state,
            mode,
            tells,
            delivery_mbps,
            mbps_per_byte,
        ] = words;
        FlowSample {
            cwnd: narrow(cwnd),
            ssthresh: some(ssthresh, narrow),
            inflight: narrow(inflight),
            pacing_rate,
            srtt_us_x8: narrow(srtt_us_x8),
            rtt_us: some(rtt_us, u64::cast_signed),
            min_rtt_us: some(min_rtt_us, narrow),
            delivery_mbps: some(delivery_mbps, f64::from_bits),
            arrived: Arrived { goodput_bytes, received_bytes, mbps_per_byte: f64::from_bits(mbps_per_byte) },
            delivered,
            sent,
            lost: some(lost, |lost| lost),
            retransmits,
            sacked_out: narrow(sacked_out),
            packets_out: narrow(packets_out),
            ca_state: name(ca_state, names),
            mode: name(mode, names),
            limited_by: name(limited_by, names),
            tells: Tells::ALL.into_iter().find(|&one| one as u64 == tells).unwrap_or_default(),
        }
    }
}

impl LinkSample {
    /// Its words.
    #[inline(always)]
    pub(crate) fn words(&self) -> [Group; Self::GROUPS] {
        [[
            self.queue_bytes,
            self.queue_packets,
            self.drops,
            self.losses,
            self.capacity_bits.unwrap_or(NONE),
            self.departed_bits.to_bits(),
            0,
            0,
        ]]
    }
}

impl Sample for LinkSample {
    const WHOLE: usize = 5;
    const FLOATS: usize = 1;

    fn read(words: &[u64], _names: &[&'static str]) -> LinkSample {
        let Some(&[queue_bytes, queue_packets, drops, losses, capacity_bits, departed_bits]) = words.first_chunk()
        else {
            return LinkSample::default();
        };
        LinkSample {
            queue_bytes,
            queue_packets,
            departed_bits: f64::from_bits(departed_bits),
            capacity_bits: some(capacity_bits, |bits| bits),
            drops,
            losses,
        }
    }
}

/// NaN for a number that there is not.
fn known<T>(value: Option<T>, convert: fn(T) -> f64) -> f64 {
    value.map_or(f64::NAN, convert)
}

/// The columns of the series of flows, before the values that controllers let be observed.
pub(crate) const FLOW_SERIES: &[Declared<Row<FlowSample>>] = &[
    Declared::floats("t_s", "s", "Instant of the sample.", each!(|r| r.t_s)),
    Declared::index("flow", "Number of the flow.", |r| r.index),
    Declared::floats(
        "cwnd",
        "packets",
        "Congestion window; null where no controller governs the flow.",
        each!(|r| r.sample.governed(f64::from(r.sample.cwnd))),
    ),
    Declared::floats(
        "ssthresh",
        "packets",
        "Slow-start threshold; null before the first reduction.",
        each!(|r| { known(r.sample.ssthresh, f64::from) }),
    ),
    Declared::floats(
        "inflight",
        "packets",
        "Packets in flight as the sender counts them.",
        each!(|r| { r.sample.governed(f64::from(r.sample.inflight)) }),
    ),
    Declared::floats(
        "pacing_mbps",
        "Mbit/s",
        "Rate at which the sender may transmit.",
        each!(|r| { r.sample.governed(r.sample.pacing_rate as f64 * 8e-6) }),
    ),
    Declared::floats(
        "srtt_ms",
        "ms",
        "Smoothed round-trip time; null before the first sample of it.",
        each!(|r| {
            // As in the kernel, zero says that there is none yet.
            let srtt_us_x8 = Some(r.sample.srtt_us_x8).filter(|&srtt| srtt > 0);
            r.sample.governed(known(srtt_us_x8, |srtt| f64::from(srtt) / 8e3))
        }),
    ),
    simulated(Declared::floats(
        "rtt_ms",
        "ms",
        "Round-trip time of the latest acknowledgement; null if it gave none.",
        each!(|r| known(r.sample.rtt_us, |us| us as f64 / 1e3)),
    )),
    Declared::floats(
        "min_rtt_ms",
        "ms",
        "The sender's windowed minimum of the round-trip time.",
        each!(|r| { known(r.sample.min_rtt_us, |us| f64::from(us) / 1e3) }),
    ),
    Declared::floats(
        "delivery_mbps",
        "Mbit/s",
        "Latest sample of the delivery rate; null if there is none.",
        each!(|r| { known(r.sample.delivery_mbps, |mbps| mbps) }),
    ),
    Declared::floats(
        "goodput_mbps",
        "Mbit/s",
        "Payload that the application got since the sample before.",
        each!(|r| r.sample.arrived.mbps(r.sample.arrived.goodput_bytes)),
    ),
    Declared::floats(
        "received_mbps",
        "Mbit/s",
        "IP bytes of data packets, duplicates included, that arrived at the receiver since the sample before.",
        each!(|r| r.sample.arrived.mbps(r.sample.arrived.received_bytes)),
    ),
    Declared::floats(
        "acked_total",
        "packets",
        "Packets delivered so far, each counted once.",
        each!(|r| { r.sample.governed(r.sample.delivered as f64) }),
    ),
    Declared::floats(
        "sent_total",
        "packets",
        "Data packets sent so far.",
        each!(|r| r.sample.counted(r.sample.sent as f64)),
    ),
    simulated(Declared::floats(
        "lost_total",
        "packets",
        "Packets declared lost so far.",
        each!(|r| { known(r.sample.lost, |lost| lost as f64) }),
    )),
    Declared::floats(
        "retransmits_total",
        "packets",
        "Packets sent again so far.",
        each!(|r| r.sample.counted(r.sample.retransmits as f64)),
    ),
    Declared::floats(
        "sacked",
        "packets",
        "Packets selectively acknowledged (`sacked_out`).",
        each!(|r| { r.sample.governed(f64::from(r.sample.sacked_out)) }),
    ),
    Declared::floats(
        "packets_out",
        "packets",
        "Packets sent and not cumulatively acknowledged.",
        each!(|r| { r.sample.governed(f64::from(r.sample.packets_out)) }),
    ),
];

/// The columns of the series of flows behind those values.
pub(crate) const FLOW_STATES: &[Declared<Row<FlowSample>>] = &[
    Declared::name("ca_state", "State of the sender: open, disorder, cwr, recovery or loss.", |r| r.sample.ca_state),
    Declared::name("mode", "Phase of the controller; empty for controllers without phases.", |r| r.sample.mode),
    Declared::name(
        "limited_by",
        "What keeps the sender from sending more: application, send_buffer, nagle, receive_window, host_queue, timeout, \
         recovery, probe_rtt, slow_start, cwnd, pacing, or link, if a link on the way is full.",
        |r| r.sample.limited_by,
    ),
];

/// The columns of the series of links.
pub(crate) const LINK_SERIES: &[Declared<Row<LinkSample>>] = &[
    Declared::floats("t_s", "s", "Instant of the sample.", each!(|r| r.t_s)),
    Declared::index("link", "Number of the link.", |r| r.index),
    Declared::floats(
        "queue_bytes",
        "bytes",
        "Bytes waiting; the packet in transmission does not count.",
        each!(|r| { r.sample.queue_bytes as f64 }),
    ),
    Declared::floats("queue_packets", "packets", "Packets waiting.", each!(|r| r.sample.queue_packets as f64)),
    Declared::floats(
        "utilization",
        "share",
        "Bits that left, framing included, over those that could have since the sample before.",
        each!(|r| match r.sample.capacity_bits {
            Some(bits) if bits > 0 => r.sample.departed_bits / bits as f64,
            _ => f64::NAN,
        }),
    ),
    Declared::floats(
        "drops_total",
        "packets",
        "Packets dropped so far by the queue and its policer.",
        each!(|r| { r.sample.drops as f64 }),
    ),
    Declared::floats("losses_total", "packets", "Packets lost at random so far.", each!(|r| r.sample.losses as f64)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read<S: Sample + std::fmt::Debug>(sample: &S, words: &[Group], names: &[&'static str]) {
        let words = words.as_flattened();
        let (own, others) = words.split_at(S::WHOLE + S::FLOATS);
        assert!(others.iter().all(|&word| word == 0), "{sample:?}");
        assert_eq!(format!("{:?}", S::read(own, names)), format!("{sample:?}"));
    }

    fn is_read_as_written(sample: &FlowSample) {
        let mut names = vec!["open"];
        is_read(sample, &sample.words(&[], &mut names), &names);
        is_read(sample, &sample.words(&[[1; GROUP]; FlowSample::GROUPS], &mut names), &names);
    }

    #[test]
    fn a_sample_of_a_flow_is_read_as_it_was_written() {
        is_read_as_written(&FlowSample::default());
        is_read_as_written(&FlowSample {
            cwnd: 1,
            ssthresh: Some(u32::MAX),
            inflight: 3,
            pacing_rate: u64::MAX,
            srtt_us_x8: 5,
            rtt_us: Some(6),
            min_rtt_us: Some(7),
            delivery_mbps: Some(0.1),
            arrived: Arrived { goodput_bytes: 9, received_bytes: 10, mbps_per_byte: 1.0 / 3.0 },
            delivered: 12,
            sent: 13,
            lost: Some(0),
            retransmits: 15,
            sacked_out: 16,
            packets_out: 17,
            ca_state: "open",
            mode: "probe",
            limited_by: "cwnd",
            tells: Tells::Nothing,
        });
    }

    #[test]
    fn a_sample_of_a_link_is_read_as_it_was_written() {
        let none = LinkSample::default();
        is_read(&none, &none.words(), &[]);
        let sample = LinkSample {
            queue_bytes: 1,
            queue_packets: 2,
            departed_bits: 0.3,
            capacity_bits: Some(4),
            drops: 5,
            losses: 6,
        };
        is_read(&sample, &sample.words(), &[]);
    }

    #[test]
    fn a_name_has_one_number_wherever_it_stands() {
        let mut names = Vec::new();
        let numbers = ["open", "loss", "open"].map(|name| number(name, &mut names, 0));
        assert_eq!((numbers, names.as_slice()), ([0, 1, 0], ["open", "loss"].as_slice()));
        assert_eq!((number("loss", &mut names, 1), name(1, &names), name(9, &names)), (1, "loss", ""));
    }
}
