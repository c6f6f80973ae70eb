//! What a packet takes of the shaper's rate.

use dumbbell_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the link behind frames packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// As they are.
    #[default]
    None,
    /// In cells of 53 bytes for 48, the last one padded (ADSL).
    Atm,
    /// A byte more for every 64, or part of them (VDSL2).
    Ptm,
}

/// What packets take besides their IP length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) overhead: u32,
    pub(super) mpu: Bytes,
    pub(super) framing: Framing,
}

impl Wire {
    /// Bytes that a packet of an IP length takes.
    pub(super) fn bytes(self, size: u32) -> u64 {
        let framed = (u64::from(size) + u64::from(self.overhead)).max(self.mpu.as_u64());
        match self.framing {
            Framing::None => framed,
            Framing::Atm => framed.div_ceil(48) * 53,
            Framing::Ptm => framed + framed.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_padded_and_ptm_takes_a_byte_in_64() {
        let bytes = |framing, overhead, mpu, size| Wire { overhead, mpu: Bytes::new(mpu), framing }.bytes(size);
        assert_eq!(bytes(Framing::None, 18, 64, 40), 64);
        assert_eq!(bytes(Framing::Atm, 0, 0, 48), 53);
        assert_eq!(bytes(Framing::Atm, 0, 0, 49), 106);
        // An ACK over PPPoE, LLC: 40 + 40 bytes need two cells, a full packet 33.
        assert_eq!([40, 1_500].map(|size| bytes(Framing::Atm, 40, 0, size)), [106, 33 * 53]);
        assert_eq!([64, 65].map(|size| bytes(Framing::Ptm, 0, 0, size)), [65, 67]);
        // The least comes first, its cells afterwards.
        assert_eq!(bytes(Framing::Atm, 10, 97, 40), 3 * 53);
    }
}
