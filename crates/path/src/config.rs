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
}
