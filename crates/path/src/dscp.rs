//! What the IP header of a packet asks for.

use crate::wifi::AccessCategory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Differentiated services code point of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dscp {
    /// 0: best effort. Wi-Fi: best effort.
    #[serde(alias = "be")]
    Cs0,
    /// 1: lower effort (RFC 8622). Wi-Fi: best effort.
    Le,
    /// 8: less than best effort. Wi-Fi: background.
    #[serde(alias = "bk")]
    Cs1,
    /// 10: high throughput. Wi-Fi: best effort.
    Af11,
    /// 16: operations and management. Wi-Fi: best effort.
    Cs2,
    /// 18: low-latency data. Wi-Fi: best effort.
    Af21,
    /// 24: broadcast video. Wi-Fi: video.
    Cs3,
    /// 26: multimedia streaming. Wi-Fi: video.
    Af31,
    /// 32: real-time interactive. Wi-Fi: video.
    Cs4,
    /// 34: multimedia conferencing. Wi-Fi: video.
    Af41,
    /// 40: signalling. Wi-Fi: video.
    Cs5,
    /// 44: voice admit. Wi-Fi: voice.
    Va,
    /// 46: telephony. Wi-Fi: voice.
    Ef,
    /// 48: network control. Wi-Fi: voice.
    Cs6,
    /// 56. Wi-Fi: voice.
    Cs7,
}

impl Dscp {
    /// The access category of Wi-Fi (RFC 8325, section 4.3; Linux since 6.2: `cfg80211_classify8021d`).
    pub fn category(self) -> AccessCategory {
        match self {
            Dscp::Cs1 => AccessCategory::Background,
            Dscp::Cs0 | Dscp::Le | Dscp::Af11 | Dscp::Cs2 | Dscp::Af21 => AccessCategory::BestEffort,
            Dscp::Cs3 | Dscp::Af31 | Dscp::Cs4 | Dscp::Af41 | Dscp::Cs5 => AccessCategory::Video,
            Dscp::Va | Dscp::Ef | Dscp::Cs6 | Dscp::Cs7 => AccessCategory::Voice,
        }
    }
}
