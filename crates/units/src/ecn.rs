//! The two ECN bits of a packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two ECN bits of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// The transport does not support ECN.
    #[default]
    NotEct,
    /// ECN-capable transport, code point 0.
    Ect0,
    /// ECN-capable transport, code point 1 (L4S).
    Ect1,
    /// Congestion experienced.
    Ce,
}
