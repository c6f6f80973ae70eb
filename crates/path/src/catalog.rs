//! The kinds of queues and of losses by name: catalogues of `dumbbell-parameters`, whose parameters may follow from a
//! link.

pub use dumbbell_parameters::{Described, KIND, Preset, Recipe};

use crate::level::Level;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate};

/// Kinds by name, such as those of queues.
pub type Catalog<T> = dumbbell_parameters::Catalog<T, LinkContext>;
/// One of them.
pub type Kind<T> = dumbbell_parameters::Kind<T, LinkContext>;

/// The largest level.
const MAX_LEVEL: Bytes = Bytes::new(1 << 50);

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

/// What parameters may follow from: the link they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkContext {
    /// Mean rate; `None` when unlimited.
    pub rate: Option<Rate>,
    /// Bandwidth-delay product, if there is one.
    pub bdp: Option<Bytes>,
    /// What the queue holds at most.
    pub limit: QueueLimit,
    /// The largest packet known to cross the link, framing included; 0 when none is.
    pub largest_packet: Bytes,
}

impl LinkContext {
    /// `level`, which is the value of `key`, in bytes; a packet counts as `packet`.
    ///
    /// # Errors
    /// The level is too large, or the link lacks what it refers to.
    pub fn bytes(&self, key: &str, level: Level, packet: Bytes) -> Result<Bytes, Problem> {
        let unknown = |missing: &str| {
            Problem::value(key, format!("{level} is unknown here: the link has no {missing}"), "write it in bytes")
        };
        let bytes = match level {
            Level::Bytes(bytes) => bytes,
            Level::Packets(packets) => Bytes::new(packets.saturating_mul(packet.as_u64())),
            Level::Time(time) => self.rate.ok_or_else(|| unknown("rate"))?.bytes_in(time),
            Level::Bdp(multiple) => {
                let bdp = self.bdp.ok_or_else(|| unknown("bandwidth-delay product"))?;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "`multiple` is not negative, and what is too large for 64 bits is above `MAX_LEVEL`, too"
                )]
                let bytes = (bdp.as_u64() as f64 * multiple).round() as u64;
                Bytes::new(bytes)
            }
        };
        if bytes > MAX_LEVEL {
            return Err(Problem::value(key, format!("a level of {level}"), format!("allowed: at most {MAX_LEVEL}")));
        }
        Ok(bytes)
    }
}
