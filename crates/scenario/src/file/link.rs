//! `[path]`, `[[nodes]]`, `[[links]]` and what links are made of.

use super::shorthand::{NoList, Shorthand, shorthand, table};
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Time};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use std::fmt;

/// Structs that hold the keys of one direction of a link besides keys of their own.
macro_rules! with_link_keys {
    ($(#[$attribute:meta])* $name:ident { $($(#[$own_attribute:meta])* $own:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$own_attribute])* pub $own: $type,)*
            /// Transmission rate: constant, a schedule of steps, a trace, or a synthesised cellular link.
            pub rate: Option<RateSpec>,
            /// Delivery opportunities: a Mahimahi trace file, relative to this file, or their times in milliseconds.
            /// Takes the place of `rate`.
            pub trace: Option<TraceSource>,
            /// With `trace`: the link ends with the trace instead of starting it again. Default false.
            pub once: Option<bool>,
            /// Propagation delay in this direction.
            pub delay: Option<Duration>,
            /// What the queue holds besides the packet in transmission. Default "1bdp".
            pub buffer: Option<Buffer>,
            /// Queue discipline. Default "droptail".
            pub queue: Option<QueueSpec>,
            /// A token bucket in front of the queue that drops what exceeds it. Default none.
            pub policer: Option<PolicerSpec>,
            /// Random loss. Default none.
            pub loss: Option<LossSpec>,
            /// Whether packets are lost after transmission, so that they have used capacity (the default), or before
            /// the queue.
            pub loss_at: Option<LossPlace>,
            /// Random variation of the delay. Default none.
            pub jitter: Option<JitterSpec>,
            /// Packets that overtake others. Default none.
            pub reorder: Option<ReorderSpec>,
            /// Framing bytes of every packet that occupy the transmitter besides the IP length. Default 0.
            pub overhead: Option<Bytes>,
        }

        impl $name {
            /// The keys that describe one direction of a link.
            pub(crate) fn side(&self) -> Side {
                Side {
                    rate: self.rate.clone(),
                    trace: self.trace.clone(),
                    once: self.once,
                    delay: self.delay,
                    buffer: self.buffer,
                    queue: self.queue,
                    policer: self.policer,
                    loss: self.loss,
                    loss_at: self.loss_at,
                    jitter: self.jitter,
                    reorder: self.reorder,
                    overhead: self.overhead,
                }
            }
        }
    };
}

with_link_keys! {
    /// One direction of a link.
    Side {}
}

with_link_keys! {
    /// The bar of a dumbbell: a bottleneck from `left` to `right` and a way back.
    PathSpec {
        /// Base round-trip time: propagation in both directions, half each unless `delay` says otherwise.
        rtt: Option<Duration>,
        /// The way back. Default: unlimited rate, no loss, the rest of the round-trip time as delay.
        reverse: Option<ReverseSpec>,
    }
}

with_link_keys! {
    /// A link between two nodes, in both directions.
    LinkSpec {
        /// Name in reports and routes. Default `FROM-TO`.
        name: Option<String>,
        /// Node that the described direction starts at.
        from: Option<String>,
        /// Node that the described direction leads to.
        to: Option<String>,
        /// Whether the link has a way back. Default true.
        duplex: Option<bool>,
        /// The way back. Default: unlimited rate, no loss, the same delay.
        reverse: Option<ReverseSpec>,
    }
}

/// A node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeSpec {
    /// Name that links and flows refer to.
    pub name: Option<String>,
}

/// The way back of a link.
#[derive(Clone, Debug)]
pub(crate) enum ReverseSpec {
    /// The same in every respect.
    Symmetric,
    /// What is given; an unlimited, lossless link otherwise.
    Side(Box<Side>),
}

impl Shorthand for ReverseSpec {
    const EXPECTING: &'static str = "\"symmetric\" or a table with the keys of a link";
    type Table = Side;
    type List = NoList;

    fn from_text(text: &str) -> Result<ReverseSpec, String> {
        match text {
            "symmetric" => Ok(ReverseSpec::Symmetric),
            _ => Err(format!("read {text:?}, but this must be {}", Self::EXPECTING)),
        }
    }

    fn from_table(side: Side) -> Result<ReverseSpec, String> {
        Ok(ReverseSpec::Side(Box::new(side)))
    }
}
shorthand!(ReverseSpec, ["symmetric"], table::<Side>);

/// How fast a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateSpec {
    Unlimited,
    Constant(Rate),
    Schedule { steps: Vec<(Time, Rate)>, repeat: Option<Duration> },
    Trace { source: TraceSource, once: bool, sha256: Option<String> },
    Synth { preset: String, seed: Option<u64>, length: Option<Duration> },
}

/// The long form of a rate: `steps`, `trace` or `synth`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateTable {
    /// Piecewise constant rate: pairs of start and rate, the first at "0s". Rate 0 is an outage: packets wait.
    steps: Option<Vec<(Time, Rate)>>,
    /// With `steps`: start again after this time. Default: the last rate stays.
    repeat: Option<Duration>,
    /// Delivery opportunities: a Mahimahi trace file, relative to this file, or their times in milliseconds.
    trace: Option<TraceSource>,
    /// With `trace`: the link ends with the trace instead of starting it again. Default false.
    once: Option<bool>,
    /// With `trace`: digest the file must have, in hexadecimal.
    sha256: Option<String>,
    /// Preset of the cellular synthesiser, for example "lte-verizon".
    synth: Option<String>,
    /// With `synth`: seed of the trace. Default: the seed of the run, so that repeats see different links.
    seed: Option<u64>,
    /// With `synth`: length of the trace, which then starts again. Default: the duration of the run.
    length: Option<Duration>,
}

impl Shorthand for RateSpec {
    const EXPECTING: &'static str = "a rate such as \"10mbit\", \"unlimited\", steps such as \
        [[\"0s\", \"1mbit\"], [\"50s\", \"4mbit\"]], or a table with steps, trace or synth";
    type Table = RateTable;
    type List = Vec<(Time, Rate)>;

    fn from_text(text: &str) -> Result<RateSpec, String> {
        match text {
            "unlimited" => Ok(RateSpec::Unlimited),
            _ => text.parse().map(RateSpec::Constant).map_err(|e| e.to_string()),
        }
    }

    fn from_number(number: f64) -> Result<RateSpec, String> {
        RateSpec::from_text(&number.to_string())
    }

    fn from_list(steps: Vec<(Time, Rate)>) -> Result<RateSpec, String> {
        Ok(RateSpec::Schedule { steps, repeat: None })
    }

    fn from_table(table: RateTable) -> Result<RateSpec, String> {
        let RateTable { steps, repeat, trace, once, sha256, synth, seed, length } = table;
        let belongs = |present: bool, key: &str, to: &str| {
            if present { Err(format!("`{key}` belongs to `{to}`, which is not given")) } else { Ok(()) }
        };
        if steps.is_none() {
            belongs(repeat.is_some(), "repeat", "steps")?;
        }
        if trace.is_none() {
            belongs(once.is_some(), "once", "trace")?;
            belongs(sha256.is_some(), "sha256", "trace")?;
        }
        if synth.is_none() {
            belongs(seed.is_some(), "seed", "synth")?;
            belongs(length.is_some(), "length", "synth")?;
        }
        match (steps, trace, synth) {
            (Some(steps), None, None) => Ok(RateSpec::Schedule { steps, repeat }),
            (None, Some(source), None) => Ok(RateSpec::Trace { source, once: once.unwrap_or(false), sha256 }),
            (None, None, Some(preset)) => Ok(RateSpec::Synth { preset, seed, length }),
            (None, None, None) => Err("a rate table needs one of `steps`, `trace` and `synth`".to_owned()),
            _ => Err("a rate table takes only one of `steps`, `trace` and `synth`".to_owned()),
        }
    }
}
shorthand!(RateSpec, ["10mbit", "1gbit", "unlimited"], |generator| {
    let steps = generator.subschema_for::<Vec<(Time, Rate)>>();
    let mut forms = table::<RateTable>(generator);
    forms.push(steps);
    forms
});

/// Where delivery opportunities come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TraceSource {
    /// A file in Mahimahi's format.
    File(String),
    /// Milliseconds.
    Inline(Vec<u32>),
}

impl Shorthand for TraceSource {
    const EXPECTING: &'static str = "the name of a trace file or a list of times in whole milliseconds";
    type Table = serde::de::IgnoredAny;
    type List = Vec<u32>;

    fn from_text(text: &str) -> Result<TraceSource, String> {
        if text.is_empty() {
            Err("the name of the trace file is empty".to_owned())
        } else {
            Ok(TraceSource::File(text.to_owned()))
        }
    }

    fn from_list(opportunities_ms: Vec<u32>) -> Result<TraceSource, String> {
        Ok(TraceSource::Inline(opportunities_ms))
    }

    fn from_table(_: serde::de::IgnoredAny) -> Result<TraceSource, String> {
        Err(format!("read a table, but this must be {}", Self::EXPECTING))
    }
}
shorthand!(TraceSource, ["cellular.up"], |generator| vec![generator.subschema_for::<Vec<u32>>()]);

/// What a queue holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    /// Multiple of the bandwidth-delay product.
    Bdp(f64),
    Packets(u64),
    Bytes(Bytes),
    Time(Duration),
    Unlimited,
    /// Several limits at once; the first one reached counts.
    Limits {
        packets: Option<u64>,
        bytes: Option<Bytes>,
        time: Option<Duration>,
    },
}

/// Several limits of a queue; the first one reached counts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BufferTable {
    /// Packets.
    packets: Option<u64>,
    /// Bytes of IP length.
    bytes: Option<Bytes>,
    /// Waiting time at the current rate.
    time: Option<Duration>,
}

impl Shorthand for Buffer {
    const EXPECTING: &'static str =
        "a buffer such as \"1bdp\", \"100packets\", \"64kB\", \"50ms\", \"unlimited\", or a table of limits";
    type Table = BufferTable;
    type List = NoList;

    fn from_text(text: &str) -> Result<Buffer, String> {
        Buffer::parse(text, "a buffer")
    }

    fn from_number(number: f64) -> Result<Buffer, String> {
        Buffer::from_text(&number.to_string())
    }

    fn from_table(table: BufferTable) -> Result<Buffer, String> {
        let BufferTable { packets, bytes, time } = table;
        if packets.is_none() && bytes.is_none() && time.is_none() {
            return Err("a table of limits needs one of `packets`, `bytes` and `time`".to_owned());
        }
        Ok(Buffer::Limits { packets, bytes, time })
    }
}
shorthand!(Buffer, ["1bdp", "100packets", "64kB", "50ms", "unlimited"], table::<BufferTable>);

impl Buffer {
    /// Reads the text form of `what`, a word for error messages.
    fn parse(text: &str, what: &str) -> Result<Buffer, String> {
        let trimmed = text.trim();
        if trimmed == "unlimited" {
            return Ok(Buffer::Unlimited);
        }
        let digits = trimmed.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
        let (number, unit) = (digits.trim_end(), &trimmed[digits.len()..]);
        let fail = |reason: &str| Err(format!("cannot read {text:?} as {what}: {reason}"));
        if number.starts_with('-') {
            return fail("it cannot be negative");
        }
        match unit {
            "bdp" | "BDP" => match number.parse::<f64>() {
                Ok(multiple) if multiple.is_finite() => Ok(Buffer::Bdp(multiple)),
                _ => fail("write a multiple of the bandwidth-delay product like \"1.5bdp\""),
            },
            "packets" | "packet" | "pkts" | "p" => match number.parse() {
                Ok(packets) => Ok(Buffer::Packets(packets)),
                Err(_) => fail("write a whole number of packets like \"100packets\""),
            },
            "" if number.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !number.is_empty() => fail(&format!(
                "the unit is missing; write \"{number}packets\", \"{number}kB\", \"{number}ms\" or \"1bdp\""
            )),
            "ns" | "us" | "ms" | "s" | "min" => trimmed.parse().map(Buffer::Time).map_err(|e| e.to_string()),
            _ if unit.ends_with('B') || unit.starts_with("byte") => {
                trimmed.parse().map(Buffer::Bytes).map_err(|e| e.to_string())
            }
            _ => fail(
                "allowed are multiples of the bandwidth-delay product (\"1bdp\"), packets (\"100packets\"), sizes (\"64kB\"), \
                 times (\"50ms\") and \"unlimited\"",
            ),
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Bdp(multiple) => write!(f, "{multiple}bdp"),
            Buffer::Packets(packets) => write!(f, "{packets}packets"),
            Buffer::Bytes(bytes) => bytes.fmt(f),
            Buffer::Time(time) => time.fmt(f),
            Buffer::Unlimited => f.write_str("unlimited"),
            Buffer::Limits { .. } => f.write_str("several limits"),
        }
    }
}

/// A single limit: a threshold of a queue, the size of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    /// Multiple of the bandwidth-delay product.
    Bdp(f64),
    Packets(u64),
    Bytes(Bytes),
    Time(Duration),
}

impl Shorthand for Level {
    const EXPECTING: &'static str = "a level such as \"20packets\", \"30kB\", \"5ms\" or \"0.2bdp\"";
    type Table = serde::de::IgnoredAny;
    type List = NoList;

    fn from_text(text: &str) -> Result<Level, String> {
        match Buffer::parse(text, "a level")? {
            Buffer::Bdp(multiple) => Ok(Level::Bdp(multiple)),
            Buffer::Packets(packets) => Ok(Level::Packets(packets)),
            Buffer::Bytes(bytes) => Ok(Level::Bytes(bytes)),
            Buffer::Time(time) => Ok(Level::Time(time)),
            Buffer::Unlimited | Buffer::Limits { .. } => {
                Err(format!("read {text:?}, but this must be {}", Self::EXPECTING))
            }
        }
    }

    fn from_table(_: serde::de::IgnoredAny) -> Result<Level, String> {
        Err(format!("read a table, but this must be {}", Self::EXPECTING))
    }
}
shorthand!(Level, ["20packets", "30kB", "5ms", "0.2bdp"], |_| Vec::new());

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Level::Bdp(multiple) => Buffer::Bdp(multiple),
            Level::Packets(packets) => Buffer::Packets(packets),
            Level::Bytes(bytes) => Buffer::Bytes(bytes),
            Level::Time(time) => Buffer::Time(time),
        }
        .fmt(f)
    }
}

/// A token bucket in front of a queue: what exceeds it is dropped, nothing is delayed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicerSpec {
    /// Rate at which tokens come in. Required.
    pub rate: Option<Rate>,
    /// What the bucket holds, in packets of 1500 bytes, bytes, or time at its rate. Required.
    pub burst: Option<Level>,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum QueueSpec {
    DropTail,
    DropHead,
    Codel { target: Duration, interval: Duration, ecn: bool },
    Threshold { threshold: Option<Level>, mark: Option<MarkPlace>, drop_not_ect: bool },
    Red(RedSpec),
}

/// Random early detection; what is not given follows from the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RedSpec {
    pub min: Option<Level>,
    pub max: Option<Level>,
    pub max_probability: Option<Ratio>,
    pub weight: Option<Ratio>,
    pub average_packet: Option<Bytes>,
    pub bandwidth: Option<Rate>,
    pub ecn: bool,
    pub hard_drop: bool,
    pub gentle: bool,
    pub adaptive: bool,
}

/// Where the backlog is compared with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MarkPlace {
    /// When a packet arrives.
    Enqueue,
    /// When the transmitter takes a packet.
    Dequeue,
}

/// A queue discipline with its parameters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueTable {
    /// Discipline: "droptail" (also "fifo"), "drophead", "codel", "threshold" or "red".
    kind: Option<String>,
    /// CoDel: acceptable standing delay. Default "5ms".
    target: Option<Duration>,
    /// CoDel: time the delay must exceed the target before the first drop. Default "100ms".
    interval: Option<Duration>,
    /// CoDel and RED: mark ECN-capable packets instead of dropping them. Default false.
    ecn: Option<bool>,
    /// Threshold: packets above it are marked. A backlog with the packet itself, or a waiting time. Required.
    threshold: Option<Level>,
    /// Threshold: whether the backlog is compared when a packet arrives ("enqueue", the default) or when it is taken for
    /// transmission ("dequeue", always for a waiting time).
    mark: Option<MarkPlace>,
    /// Threshold: drop packets above it that are not ECN-capable instead of letting them pass. Default false.
    drop_not_ect: Option<bool>,
    /// RED: average backlog from which packets are dropped at random. Default: a third of `max`.
    min: Option<Level>,
    /// RED: average backlog from which all packets are dropped. Default: a quarter of the buffer.
    max: Option<Level>,
    /// RED: drop probability at `max`. Default "2%".
    max_probability: Option<Ratio>,
    /// RED: weight of a packet in the average. Default: the largest power of 1/2 that lets a burst pass whose length in
    /// packets is (2 min + max) / 3.
    weight: Option<Ratio>,
    /// RED: size of a typical packet. Default "1500B".
    average_packet: Option<Bytes>,
    /// RED: rate of the link, by which the average decays in pauses. Default: the mean rate.
    bandwidth: Option<Rate>,
    /// RED with `ecn`: drop all the same where the average is at the upper end. Default false.
    hard_drop: Option<bool>,
    /// RED: the probability rises on to 1 at twice `max` instead of jumping to it. Default false.
    gentle: Option<bool>,
    /// RED: adapt the probability every half second. Default false.
    adaptive: Option<bool>,
}

impl QueueTable {
    /// The parameters that are given, and the disciplines they belong to.
    fn given(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        const CODEL: &[&str] = &["codel"];
        const BOTH: &[&str] = &["codel", "red"];
        const THRESHOLD: &[&str] = &["threshold"];
        const RED: &[&str] = &["red"];
        let all = [
            (self.target.is_some(), "target", CODEL),
            (self.interval.is_some(), "interval", CODEL),
            (self.ecn.is_some(), "ecn", BOTH),
            (self.threshold.is_some(), "threshold", THRESHOLD),
            (self.mark.is_some(), "mark", THRESHOLD),
            (self.drop_not_ect.is_some(), "drop_not_ect", THRESHOLD),
            (self.min.is_some(), "min", RED),
            (self.max.is_some(), "max", RED),
            (self.max_probability.is_some(), "max_probability", RED),
            (self.weight.is_some(), "weight", RED),
            (self.average_packet.is_some(), "average_packet", RED),
            (self.bandwidth.is_some(), "bandwidth", RED),
            (self.hard_drop.is_some(), "hard_drop", RED),
            (self.gentle.is_some(), "gentle", RED),
            (self.adaptive.is_some(), "adaptive", RED),
        ];
        all.into_iter().filter(|(given, ..)| *given).map(|(_, key, kinds)| (key, kinds))
    }
}

impl Shorthand for QueueSpec {
    const EXPECTING: &'static str = "a queue discipline: \"droptail\" (or \"fifo\"), \"drophead\", \"codel\", \"red\", or a table such as \
        { kind = \"threshold\", threshold = \"20packets\" }";
    type Table = QueueTable;
    type List = NoList;

    fn from_text(kind: &str) -> Result<QueueSpec, String> {
        QueueSpec::from_table(QueueTable { kind: Some(kind.to_owned()), ..QueueTable::default() })
    }

    fn from_table(table: QueueTable) -> Result<QueueSpec, String> {
        const KINDS: [&str; 6] = ["droptail", "fifo", "drophead", "codel", "threshold", "red"];
        let Some(kind) = table.kind.as_deref() else { return Err("a queue table needs `kind`".to_owned()) };
        if !KINDS.contains(&kind) {
            let near = crate::error::nearest(kind, KINDS).map_or_else(String::new, |n| format!("did you mean {n:?}? "));
            return Err(format!("unknown queue {kind:?}; {near}allowed: {}", KINDS.join(", ")));
        }
        if let Some((key, kinds)) = table.given().find(|(_, kinds)| !kinds.contains(&kind)) {
            return Err(format!("`{key}` is a parameter of {}, not of {kind}", kinds.join(" and ")));
        }
        Ok(match kind {
            "drophead" => QueueSpec::DropHead,
            "codel" => QueueSpec::Codel {
                target: table.target.unwrap_or(Duration::from_millis(5)),
                interval: table.interval.unwrap_or(Duration::from_millis(100)),
                ecn: table.ecn.unwrap_or(false),
            },
            "threshold" => QueueSpec::Threshold {
                threshold: table.threshold,
                mark: table.mark,
                drop_not_ect: table.drop_not_ect.unwrap_or(false),
            },
            "red" => QueueSpec::Red(RedSpec {
                min: table.min,
                max: table.max,
                max_probability: table.max_probability,
                weight: table.weight,
                average_packet: table.average_packet,
                bandwidth: table.bandwidth,
                ecn: table.ecn.unwrap_or(false),
                hard_drop: table.hard_drop.unwrap_or(false),
                gentle: table.gentle.unwrap_or(false),
                adaptive: table.adaptive.unwrap_or(false),
            }),
            _ => QueueSpec::DropTail,
        })
    }
}
shorthand!(QueueSpec, ["droptail", "drophead", "codel", "red"], table::<QueueTable>);

/// Random loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LossSpec {
    Independent(Ratio),
    GilbertElliott { p: Ratio, r: Ratio, loss_bad: Ratio, loss_good: Ratio },
}

/// Losses in bursts: a chain of a good and a bad state (Gilbert and Elliott), with netem's parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LossTable {
    /// "gilbert-elliott".
    kind: Option<String>,
    /// Probability of the transition from good to bad, per packet.
    p: Option<Ratio>,
    /// Probability of the transition from bad to good, per packet. Default 1 - p.
    r: Option<Ratio>,
    /// Loss probability in the bad state. Default "100%".
    loss_bad: Option<Ratio>,
    /// Loss probability in the good state. Default "0%".
    loss_good: Option<Ratio>,
}

impl Shorthand for LossSpec {
    const EXPECTING: &'static str = "a loss probability such as \"0.1%\", or a table such as { kind = \"gilbert-elliott\", p = \"1%\", r = \"30%\" }";
    type Table = LossTable;
    type List = NoList;

    fn from_text(text: &str) -> Result<LossSpec, String> {
        text.parse().map(LossSpec::Independent).map_err(|e: dumbbell_units::ParseError| e.to_string())
    }

    fn from_number(number: f64) -> Result<LossSpec, String> {
        LossSpec::from_text(&number.to_string())
    }

    fn from_table(table: LossTable) -> Result<LossSpec, String> {
        match table.kind.as_deref() {
            Some("gilbert-elliott" | "gemodel") => {}
            Some(other) => return Err(format!("unknown loss model {other:?}; allowed: \"gilbert-elliott\"")),
            None => return Err("a loss table needs `kind`; allowed: \"gilbert-elliott\"".to_owned()),
        }
        let Some(p) = table.p else {
            return Err("gilbert-elliott needs `p`, the probability of good to bad".to_owned());
        };
        let whole = |value: f64| Ratio::new(value.max(0.0)).unwrap_or_default();
        Ok(LossSpec::GilbertElliott {
            p,
            r: table.r.unwrap_or(whole(1.0 - p.as_f64())),
            loss_bad: table.loss_bad.unwrap_or(whole(1.0)),
            loss_good: table.loss_good.unwrap_or(Ratio::ZERO),
        })
    }
}
shorthand!(LossSpec, ["0.1%", "1%"], |generator| {
    let mut forms = table::<LossTable>(generator);
    forms.push(json_schema!({ "type": "number", "minimum": 0, "maximum": 1 }));
    forms
});

/// Where packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LossPlace {
    /// After the transmitter: a lost packet has used capacity.
    #[default]
    After,
    /// Before the queue: a lost packet takes no capacity.
    Before,
}

/// Random variation of the propagation delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JitterSpec {
    pub amount: Duration,
    pub normal: bool,
    pub correlation: Ratio,
    pub reorders: bool,
}

/// Random variation of the propagation delay.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JitterTable {
    /// Half width (uniform) or standard deviation (normal).
    amount: Option<Duration>,
    /// Shape. Default "uniform".
    distribution: Option<Distribution>,
    /// Correlation of successive variations. Default "0%".
    correlation: Option<Ratio>,
    /// Whether packets may overtake each other. Default false.
    reorders: Option<bool>,
}

/// Shape of jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Distribution {
    /// Delay plus or minus the amount.
    Uniform,
    /// Standard deviation of the amount, cut at zero delay.
    Normal,
}

impl Shorthand for JitterSpec {
    const EXPECTING: &'static str =
        "a jitter such as \"2ms\", or a table such as { amount = \"2ms\", distribution = \"normal\" }";
    type Table = JitterTable;
    type List = NoList;

    fn from_text(text: &str) -> Result<JitterSpec, String> {
        let amount = text.parse().map_err(|e: dumbbell_units::ParseError| e.to_string())?;
        JitterSpec::from_table(JitterTable { amount: Some(amount), ..JitterTable::default() })
    }

    fn from_number(number: f64) -> Result<JitterSpec, String> {
        JitterSpec::from_text(&number.to_string())
    }

    fn from_table(table: JitterTable) -> Result<JitterSpec, String> {
        let Some(amount) = table.amount else { return Err("a jitter table needs `amount`".to_owned()) };
        Ok(JitterSpec {
            amount,
            normal: table.distribution == Some(Distribution::Normal),
            correlation: table.correlation.unwrap_or_default(),
            reorders: table.reorders.unwrap_or(false),
        })
    }
}
shorthand!(JitterSpec, ["2ms"], table::<JitterTable>);

/// Packets that skip the delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReorderSpec {
    pub probability: Ratio,
    pub gap: u32,
}

/// Packets that skip the delay and so overtake others, as in netem.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReorderTable {
    /// Probability for each candidate.
    probability: Option<Ratio>,
    /// Only every so many packets is a candidate. Default 1.
    gap: Option<u32>,
}

impl Shorthand for ReorderSpec {
    const EXPECTING: &'static str =
        "a probability such as \"1%\", or a table such as { probability = \"25%\", gap = 5 }";
    type Table = ReorderTable;
    type List = NoList;

    fn from_text(text: &str) -> Result<ReorderSpec, String> {
        let probability = text.parse().map_err(|e: dumbbell_units::ParseError| e.to_string())?;
        Ok(ReorderSpec { probability, gap: 1 })
    }

    fn from_number(number: f64) -> Result<ReorderSpec, String> {
        ReorderSpec::from_text(&number.to_string())
    }

    fn from_table(table: ReorderTable) -> Result<ReorderSpec, String> {
        let Some(probability) = table.probability else {
            return Err("a reorder table needs `probability`".to_owned());
        };
        Ok(ReorderSpec { probability, gap: table.gap.unwrap_or(1) })
    }
}
shorthand!(ReorderSpec, ["1%"], |generator| {
    let mut forms = table::<ReorderTable>(generator);
    forms.push(json_schema!({ "type": "number", "minimum": 0, "maximum": 1 }));
    forms
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_read_in_all_their_units() {
        let read = |text: &str| Buffer::from_text(text).unwrap();
        assert_eq!(read("1bdp"), Buffer::Bdp(1.0));
        assert_eq!(read("0.5 BDP"), Buffer::Bdp(0.5));
        assert_eq!(read("100packets"), Buffer::Packets(100));
        assert_eq!(read("100p"), Buffer::Packets(100));
        assert_eq!(read("1500B"), Buffer::Bytes(Bytes::new(1_500)));
        assert_eq!(read("64kB"), Buffer::Bytes(Bytes::new(64_000)));
        assert_eq!(read("50ms"), Buffer::Time(Duration::from_millis(50)));
        assert_eq!(read("unlimited"), Buffer::Unlimited);
    }

    #[test]
    fn wrong_buffers_say_what_is_missing() {
        let reason = |text: &str| Buffer::from_text(text).unwrap_err();
        assert!(reason("100").contains("the unit is missing; write \"100packets\""));
        assert!(reason("-1bdp").contains("cannot be negative"));
        assert!(reason("1.5packets").contains("whole number of packets"));
        assert!(reason("big").contains("allowed are multiples"));
        assert!(reason("64kb").contains("allowed are multiples"));
        assert!(reason("1e999bdp").contains("like \"1.5bdp\""));
    }

    #[test]
    fn a_parameter_of_another_queue_is_refused() {
        let table = QueueTable { kind: Some("fifo".into()), ecn: Some(true), ..QueueTable::default() };
        assert!(
            QueueSpec::from_table(table).unwrap_err().contains("`ecn` is a parameter of codel and red, not of fifo")
        );
        let table = QueueTable { kind: Some("red".into()), mark: Some(MarkPlace::Dequeue), ..QueueTable::default() };
        assert!(QueueSpec::from_table(table).unwrap_err().contains("`mark` is a parameter of threshold"));
        assert!(QueueSpec::from_text("codell").unwrap_err().contains("did you mean \"codel\"?"));
    }

    #[test]
    fn gilbert_elliott_has_netems_defaults() {
        let table = LossTable {
            kind: Some("gilbert-elliott".into()),
            p: Ratio::new(0.25),
            r: None,
            loss_bad: None,
            loss_good: None,
        };
        let LossSpec::GilbertElliott { r, loss_bad, loss_good, .. } = LossSpec::from_table(table).unwrap() else {
            panic!()
        };
        assert_eq!((r.as_f64(), loss_bad.as_f64(), loss_good.as_f64()), (0.75, 1.0, 0.0));
    }
}
