//! The resolved description of one direction of a link. Defaults and units are the scenario's business.

use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Name in reports, for example `bottleneck`.
    pub name: String,
    /// Transmission rate.
    pub rate: LinkRate,
    /// Framing bytes that occupy the transmitter besides the IP length.
    pub overhead_bytes: u32,
    /// Propagation delay, jitter and reordering.
    pub delay: Delay,
    /// Policer in front of the queue.
    pub policer: Option<PolicerConfig>,
    /// Queue in front of the transmitter.
    pub queue: QueueConfig,
    /// Losses before the queue: a lost packet takes no capacity.
    pub loss_before: Loss,
    /// Losses after the transmitter: a lost packet has taken capacity.
    pub loss_after: Loss,
}

/// How fast a link transmits.
#[derive(Clone, Debug)]
pub enum LinkRate {
    /// Transmission takes no time.
    Unlimited,
    /// Bits per second.
    Constant(u64),
    /// Piecewise constant bits per second from the given instants on; the first starts at 0. Rate 0 is an outage:
    /// packets are held. With `repeat_after` the schedule starts again after that span.
    Schedule {
        /// Start and rate of every step, in order of time.
        steps: Arc<[(Time, u64)]>,
        /// Period of the schedule; `None` keeps the last rate.
        repeat_after: Option<Duration>,
    },
    /// Mahimahi delivery opportunities in milliseconds; `once` ends the link after the last one.
    Trace {
        /// Opportunities, non-decreasing.
        opportunities_ms: Arc<[u32]>,
        /// Whether the trace ends instead of looping.
        once: bool,
    },
}

/// Propagation.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    /// Constant part.
    pub base: Duration,
    /// Standard deviation (normal) or half width (uniform) of the per-packet variation.
    pub jitter: Duration,
    /// Distribution of the variation.
    pub distribution: JitterDistribution,
    /// Correlation of successive variations, 0..1.
    pub jitter_correlation: f64,
    /// Whether jitter may change the order of packets.
    pub jitter_reorders: bool,
    /// Probability that a packet skips the delay line and overtakes (netem `reorder`).
    pub reorder: f64,
    /// With reordering: only every `reorder_gap`-th packet is a candidate (netem `gap`, default 1).
    pub reorder_gap: u32,
}

/// Shape of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitterDistribution {
    /// base ± jitter.
    #[default]
    Uniform,
    /// Standard deviation `jitter`, cut at zero delay.
    Normal,
}

/// Random loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loss {
    /// No loss.
    #[default]
    None,
    /// Independent loss with this probability.
    Bernoulli(f64),
    /// Gilbert–Elliott with netem's parameters: `p` good to bad, `r` bad to good, loss probabilities in both states.
    GilbertElliott {
        /// Probability of the transition good to bad, per packet.
        p: f64,
        /// Probability of the transition bad to good, per packet.
        r: f64,
        /// Loss probability in the bad state (netem's 1-h).
        loss_bad: f64,
        /// Loss probability in the good state (netem's 1-k).
        loss_good: f64,
    },
}

/// A token bucket without a queue: what exceeds it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerConfig {
    /// Bits per second at which tokens come in; a packet takes its IP length and the link's framing.
    pub rate: u64,
    /// Bytes the bucket holds; it is full at the start. A larger packet never passes.
    pub burst_bytes: u64,
}

/// A queue and its discipline.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// What the queue holds at most.
    pub limit: QueueLimit,
    /// Discipline.
    pub kind: QueueKind,
}

/// Limits of a queue; what is in transmission does not count. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLimit {
    /// Packets.
    pub packets: Option<u64>,
    /// Bytes of IP length.
    pub bytes: Option<u64>,
    /// Waiting time at the current rate.
    pub time: Option<Duration>,
}

/// Queue disciplines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum QueueKind {
    /// First in, first out; an arriving packet that does not fit is dropped.
    #[default]
    DropTail,
    /// First in, first out; the oldest packets are dropped until the arriving one fits.
    DropHead,
    /// CoDel (RFC 8289).
    Codel {
        /// Acceptable standing delay.
        target: Duration,
        /// Time the delay must exceed the target before the first drop.
        interval: Duration,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool,
    },
    /// First in, first out; packets above a threshold are marked (the switch of DCTCP, RFC 8257). An arriving packet
    /// that does not fit is dropped.
    Threshold {
        /// What is compared.
        threshold: Threshold,
        /// Drop packets above the threshold that are not ECN-capable instead of letting them pass.
        drop_not_ect: bool,
    },
    /// Random early detection.
    Red(RedConfig),
}

/// When a packet is above the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The backlog on its arrival, itself included, is higher.
    Arriving(Level),
    /// The backlog when the transmitter takes it, itself included, is higher.
    Departing(Level),
    /// It has waited longer when the transmitter takes it.
    Sojourn(Duration),
}

/// A backlog; what is in transmission does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Packets.
    Packets(u64),
    /// Bytes of IP length.
    Bytes(u64),
}

/// Random early detection (Floyd and Jacobson, 1993), as in Linux unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Average backlog in bytes up to which nothing is dropped.
    pub min_bytes: u64,
    /// Average backlog in bytes from which everything is dropped; more than `min_bytes`.
    pub max_bytes: u64,
    /// Drop probability just below `max_bytes`.
    pub max_probability: f64,
    /// Weight of one packet in the average, more than 0 and at most 1.
    pub weight: f64,
    /// Bytes of a typical packet, for the decay of the average while the link is idle.
    pub average_packet: u32,
    /// Bits per second of the link, for the same; more than 0.
    pub bandwidth: u64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// With `ecn`: drop all the same when the average is at the upper end.
    pub hard_drop: bool,
    /// The probability rises on from `max_probability` at `max_bytes` to 1 at twice that (Floyd, 2000; not in Linux).
    pub gentle: bool,
    /// Adapt the probability every half second so that the average stays in the middle between the thresholds.
    pub adaptive: bool,
}
