//! Queue disciplines and policers: levels in packets, time and bandwidth-delay products become bytes, and RED's
//! parameters that nobody gave follow from the link.

use super::network::Draft;
use super::{Context, MAX_RATE};
use crate::file::{Level, MarkPlace, PolicerSpec, QueueSpec, RedSpec};
use crate::key_path::KeyPath;
use dumbbell_path::{Level as Backlog, PolicerConfig, QueueKind, QueueLimit, RedConfig, Threshold};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};

/// Bytes of a packet where packets are turned into bytes.
const FULL_PACKET: Bytes = Bytes::new(1_500);
/// The largest threshold or bucket.
const MAX_BYTES: u64 = 1 << 50;
/// The least weight of a packet in RED's average is 1/2 to this power.
const MAX_WEIGHT_LOG: u32 = 31;

/// What a link's levels refer to.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Mean rate; `None` when unlimited.
    pub rate: Option<Rate>,
    pub bdp: Option<Bytes>,
    pub packet: Bytes,
}

impl Scale {
    /// The level in bytes; what is missing when it has none.
    fn bytes(&self, level: Level) -> Result<u64, &'static str> {
        let bytes = match level {
            Level::Bytes(bytes) => bytes.as_u64(),
            Level::Packets(packets) => packets.saturating_mul(self.packet.as_u64()),
            Level::Time(time) => self.rate.ok_or("the link has no rate")?.bytes_in(time).as_u64(),
            Level::Bdp(multiple) => {
                let bdp = self.bdp.ok_or("the link has no bandwidth-delay product")?;
                (bdp.as_u64() as f64 * multiple).round() as u64
            }
        };
        Ok(bytes)
    }
}

impl Context<'_> {
    /// The discipline of a link's queue; `None` when that found problems.
    pub(super) fn discipline(
        &mut self,
        draft: &Draft,
        limit: &QueueLimit,
        rate: Option<Rate>,
        bdp: Option<Bytes>,
    ) -> Option<QueueKind> {
        let at = draft.at.key("queue");
        let scale = Scale { rate, bdp, packet: FULL_PACKET };
        match draft.side.queue.unwrap_or(QueueSpec::DropTail) {
            QueueSpec::DropTail => Some(QueueKind::DropTail),
            QueueSpec::DropHead => {
                if *limit == QueueLimit::default() {
                    let help = "give `buffer` a limit, or use \"droptail\"";
                    self.report.value(&at, "drophead never drops when the buffer is unlimited", help);
                    return None;
                }
                Some(QueueKind::DropHead)
            }
            QueueSpec::Codel { target, interval, ecn } => {
                self.span_in(target, &at.key("target"), "the target");
                self.span_in(interval, &at.key("interval"), "the interval");
                Some(QueueKind::Codel { target, interval, ecn })
            }
            QueueSpec::Threshold { threshold, mark, drop_not_ect } => {
                let Some(threshold) = threshold else {
                    let help = "write it like { kind = \"threshold\", threshold = \"20packets\" }";
                    self.report.value(&at, "this queue needs its `threshold`", help);
                    return None;
                };
                let threshold = self.threshold(threshold, mark, &at, scale)?;
                Some(QueueKind::Threshold { threshold, drop_not_ect })
            }
            QueueSpec::Red(red) => self.red(&red, &at, limit, scale).map(QueueKind::Red),
        }
    }

    fn threshold(&mut self, level: Level, mark: Option<MarkPlace>, at: &KeyPath, scale: Scale) -> Option<Threshold> {
        let level_at = at.key("threshold");
        let backlog = match level {
            Level::Time(longest) => {
                if mark == Some(MarkPlace::Enqueue) {
                    let help = "leave `mark` out, or give `threshold` in packets or bytes";
                    self.report.value(&at.key("mark"), "a waiting time is known only at \"dequeue\"", help);
                    return None;
                }
                self.span_in(longest, &level_at, "the threshold");
                return Some(Threshold::Sojourn(longest));
            }
            Level::Packets(packets) if packets > 0 => Backlog::Packets(packets),
            Level::Packets(_) => Backlog::Bytes(0),
            Level::Bytes(_) | Level::Bdp(_) => Backlog::Bytes(self.level(level, &level_at, scale)?),
        };
        if backlog == Backlog::Bytes(0) {
            let help = "allowed: at least one packet, byte or nanosecond";
            self.report.value(&level_at, format!("a threshold of {level} marks every packet"), help);
            return None;
        }
        Some(match mark {
            Some(MarkPlace::Dequeue) => Threshold::Departing(backlog),
            _ => Threshold::Arriving(backlog),
        })
    }

    /// A level in bytes.
    fn level(&mut self, level: Level, at: &KeyPath, scale: Scale) -> Option<u64> {
        match scale.bytes(level) {
            Ok(bytes) if bytes <= MAX_BYTES => return Some(bytes),
            Ok(_) => {
                self.report.value(
                    at,
                    format!("a level of {level}"),
                    format!("allowed: at most {}", Bytes::new(MAX_BYTES)),
                );
            }
            Err(missing) => self.report.value(at, format!("{level} is unknown here: {missing}"), "write it in bytes"),
        }
        None
    }

    fn red(&mut self, spec: &RedSpec, at: &KeyPath, limit: &QueueLimit, scale: Scale) -> Option<RedConfig> {
        let Some(mean) = scale.rate else {
            self.report.value(at, "a link of unlimited rate has no queue", "leave `queue` out");
            return None;
        };
        let packet = spec.average_packet.unwrap_or(FULL_PACKET);
        let Some(average_packet) = u32::try_from(packet.as_u64()).ok().filter(|p| (1..=65_535).contains(p)) else {
            let message = format!("a typical packet of {packet}");
            self.report.value(&at.key("average_packet"), message, "allowed: 1B to 65535B");
            return None;
        };
        let bandwidth = spec.bandwidth.unwrap_or(mean);
        if bandwidth == Rate::ZERO || bandwidth > MAX_RATE {
            let help = format!("allowed: more than 0bit, at most {MAX_RATE}");
            self.report.value(&at.key("bandwidth"), format!("a bandwidth of {bandwidth}"), help);
            return None;
        }
        let (min_bytes, max_bytes) = self.red_thresholds(spec, at, limit, Scale { packet, ..scale })?;
        let max_probability = spec.max_probability.map_or(0.02, Ratio::as_f64);
        let weight = match spec.weight {
            Some(weight) => weight.as_f64(),
            None => self.red_weight(min_bytes, max_bytes, average_packet, at)?,
        };
        for (value, key) in [(max_probability, "max_probability"), (weight, "weight")] {
            if value <= 0.0 || value > 1.0 {
                self.report.value(&at.key(key), format!("`{key}` is {value}"), "allowed: more than 0, at most 1");
                return None;
            }
        }
        if spec.hard_drop && !spec.ecn {
            self.report.key(&at.key("hard_drop"), "`hard_drop` belongs to `ecn`, which is off", "add `ecn = true`");
        }
        Some(RedConfig {
            min_bytes,
            max_bytes,
            max_probability,
            weight,
            average_packet,
            bandwidth: bandwidth.as_bits_per_sec(),
            ecn: spec.ecn,
            hard_drop: spec.hard_drop,
            gentle: spec.gentle,
            adaptive: spec.adaptive,
        })
    }

    /// RED's thresholds in bytes. By default, as with `tc`, `max` is a quarter of what the queue holds and `min` a third of
    /// `max`; here at least one packet.
    fn red_thresholds(&mut self, spec: &RedSpec, at: &KeyPath, limit: &QueueLimit, scale: Scale) -> Option<(u64, u64)> {
        let packet = scale.packet.as_u64();
        let max = match spec.max {
            Some(max) => self.level(max, &at.key("max"), scale)?,
            None => {
                let limits = [
                    limit.bytes,
                    limit.packets.map(|packets| packets.saturating_mul(packet)),
                    limit.time.zip(scale.rate).map(|(time, rate)| rate.bytes_in(time).as_u64()),
                ];
                let Some(held) = limits.into_iter().flatten().min() else {
                    let help = "give `max`, or `buffer` a limit, of which `max` is a quarter by default";
                    self.report.value(at, "the thresholds of this queue are unknown", help);
                    return None;
                };
                (held / 4).max(3 * packet)
            }
        };
        let min = match spec.min {
            Some(min) => self.level(min, &at.key("min"), scale)?,
            None => max / 3,
        };
        if min == 0 || min >= max {
            let key = if spec.min.is_some() { at.key("min") } else { at.key("max") };
            let message = format!("the thresholds are {} and {}", Bytes::new(min), Bytes::new(max));
            self.report.value(&key, message, "allowed: `min` of at least a byte, and less than `max`");
            return None;
        }
        Some((min, max))
    }

    /// The weight that `tc` computes: the largest power of 1/2 for which a burst of (2 min + max) / 3 into an empty queue
    /// leaves the average below `min`.
    fn red_weight(&mut self, min: u64, max: u64, packet: u32, at: &KeyPath) -> Option<f64> {
        let burst = (2 * min + max).div_ceil(3 * u64::from(packet));
        let needed = burst as f64 + 1.0 - min as f64 / f64::from(packet);
        let found = (1..=MAX_WEIGHT_LOG).map(|log| 0.5f64.powi(log as i32)).find(|&weight| {
            // The sum of the first `burst` powers of 1 - weight.
            let (mut power, mut base, mut exponent) = (1.0, 1.0 - weight, burst);
            while exponent > 0 {
                if exponent % 2 == 1 {
                    power *= base;
                }
                base *= base;
                exponent /= 2;
            }
            needed <= (1.0 - power) / weight
        });
        if found.is_none() {
            let help = "give `weight`, or a `min` of at least one packet";
            self.report.value(at, "no weight of the average suits these thresholds", help);
        }
        found
    }

    /// The policer of a link, which packets of up to `largest` bytes must be able to pass; `None` when it is wrong.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether there is one")]
    pub(super) fn policer(
        &mut self,
        spec: Option<&PolicerSpec>,
        at: &KeyPath,
        largest: u64,
    ) -> Option<Option<PolicerConfig>> {
        let Some(PolicerSpec { rate, burst }) = spec else { return Some(None) };
        let example = "write it like { rate = \"2mbit\", burst = \"20packets\" }";
        let (Some(rate), Some(burst)) = (rate, burst) else {
            let missing = if rate.is_none() { "rate" } else { "burst" };
            self.report.value(at, format!("the policer needs its `{missing}`"), example);
            return None;
        };
        if *rate == Rate::ZERO || *rate > MAX_RATE {
            let help = format!("allowed: more than 0bit, at most {MAX_RATE}");
            self.report.value(&at.key("rate"), format!("a policer of {rate}"), help);
            return None;
        }
        if matches!(burst, Level::Bdp(_)) {
            let help = "write it in packets, bytes, or time at the policer's rate";
            self.report.value(&at.key("burst"), "a policer has no bandwidth-delay product", help);
            return None;
        }
        let scale = Scale { rate: Some(*rate), bdp: None, packet: FULL_PACKET };
        let burst_bytes = self.level(*burst, &at.key("burst"), scale)?;
        if burst_bytes < largest.max(1) {
            let message = format!("a burst of {} lets no full packet pass", Bytes::new(burst_bytes));
            self.report.value(&at.key("burst"), message, format!("allowed: at least {}", Bytes::new(largest.max(1))));
            return None;
        }
        Some(Some(PolicerConfig { rate: rate.as_bits_per_sec(), burst_bytes }))
    }

    fn span_in(&mut self, span: Duration, at: &KeyPath, what: &str) {
        if span == Duration::ZERO || span > super::MAX_DELAY {
            let help = format!("allowed: more than 0s, at most {}", super::MAX_DELAY);
            self.report.value(at, format!("{what} is {span}"), help);
        }
    }
}
