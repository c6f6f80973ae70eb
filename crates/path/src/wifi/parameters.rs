//! What can be chosen of a Wi-Fi link.

use super::away::Away;
use super::phy::{ChannelWidth, GuardInterval, MAX_MCS, Modulation};
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most MPDUs that a Block-ACK tells of.
const BLOCK_ACK_MPDUS: u32 = 64;

/// A link of Wi-Fi 5 (802.11ac, 5 GHz) between a station and an access point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wifi {
    /// Name of the radio channel. Links with the same name share it: one transmits at a time, and all hear each other
    /// (there are no hidden nodes).
    #[schemars(extend("x-source" = "none"))]
    pub channel: String,
    /// Node that is the access point, one for each channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the node that the link leads to", "x-source" = "none"))]
    pub access_point: Option<String>,
    /// Width of the channel.
    #[schemars(extend("x-source" = "IEEE 802.11-2020, section 21.3"))]
    pub width: ChannelWidth,
    /// Spatial streams.
    #[schemars(range(min = 1, max = 4), extend("x-source" = "IEEE 802.11-2020, section 21.5"))]
    pub streams: u8,
    /// Modulation and coding scheme; it stays as it is (there is no rate control).
    #[schemars(range(max = 9), extend("x-source" = "IEEE 802.11-2020, section 21.5"))]
    pub mcs: u8,
    /// Guard interval.
    #[schemars(extend("x-source" = "IEEE 802.11-2020, table 21-5"))]
    pub guard_interval: GuardInterval,
    /// Access category of packets whose flow does not say otherwise.
    #[schemars(extend("x-source" = "IEEE 802.11-2020, table 9-155"))]
    pub category: AccessCategory,
    /// A PPDU with more bytes is preceded by RTS and CTS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "never", "x-source" = "IEEE 802.11: dot11RTSThreshold"))]
    pub rts_threshold: Option<Bytes>,
    /// The most bytes of an aggregate (A-MPDU).
    #[schemars(extend("x-at-least" = "1B", "x-at-most" = "1048575B", "x-source" = "IEEE 802.11-2020, section 9.4.2.157: 2^(13 + exponent) - 1"))]
    pub ampdu: Bytes,
    /// The most MPDUs from the oldest that is not acknowledged to the newest that is sent.
    #[schemars(range(min = 1, max = 64), extend("x-unit" = "MPDUs", "x-source" = "IEEE 802.11-2020, section 10.25: Block-ACK window"))]
    pub block_ack_window: u32,
    /// The longest PPDU.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "5484us", "x-source" = "IEEE 802.11-2020, table 21-29: aPPDUMaxTime 5.484 ms; drivers: 4 ms"))]
    pub ppdu: Duration,
    /// The most packets that share an MPDU (A-MSDU).
    #[schemars(range(min = 1, max = 64), extend("x-unit" = "packets", "x-source" = "IEEE 802.11-2020, section 9.3.2.2; ath10k: 3"))]
    pub amsdu: u32,
    /// The most bytes of such an MPDU.
    #[schemars(extend("x-at-least" = "1B", "x-at-most" = "11454B", "x-with" = "amsdu", "x-source" = "IEEE 802.11-2020, section 9.4.2.157: 3839, 7935 or 11454"))]
    pub amsdu_bytes: Bytes,
    /// The device fixes the next aggregate when the present one starts: what comes meanwhile goes with the one after
    /// it.
    #[schemars(extend("x-source" = "hardware queues with two descriptors, as of ath9k and ath10k"))]
    pub prebuild: bool,
    /// How often an MPDU that was not acknowledged is sent again before it is given up.
    #[schemars(range(max = 255), extend("x-unit" = "times", "x-source" = "IEEE 802.11: dot11ShortRetryLimit 7"))]
    pub retries: u32,
    /// The longest time that a receiver holds an MPDU behind a hole.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "Linux 6.18, net/mac80211/rx.c: HT_RX_REORDER_BUF_TIMEOUT"))]
    pub reorder_timeout: Duration,
    /// What waits in the device, below the queue of the link.
    #[schemars(extend("x-source" = "Linux 6.18, net/mac80211/tx.c: ieee80211_txq_airtime_check"))]
    pub device_queue: DeviceQueue,
    /// What may wait there for a station, however much waits for others.
    #[schemars(extend("x-with" = "device_queue", "x-above" = "0s", "x-at-most" = "1h", "x-source" = "Linux 6.18, include/net/mac80211.h: IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L"))]
    pub aql_low: Duration,
    /// What may wait there for a station while less than `aql_threshold` waits for all.
    #[schemars(extend("x-with" = "device_queue", "x-at-least" = "aql_low", "x-at-most" = "1h", "x-source" = "IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H"))]
    pub aql_high: Duration,
    /// See `aql_high`.
    #[schemars(extend("x-with" = "device_queue", "x-at-most" = "1h", "x-source" = "IEEE80211_AQL_THRESHOLD"))]
    pub aql_threshold: Duration,
    /// The most packets that wait there for a station in an access category if `device_queue` is `"all"`.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-with" = "device_queue", "x-unit" = "packets", "x-source" = "Linux 6.18, drivers/net/wireless/ath/ath10k/hw.h: TARGET_10X_NUM_MSDU_DESC, 1424"))]
    pub device_packets: u32,
    /// Stations of a device get equal airtime; otherwise they take turns, an aggregate each.
    #[schemars(extend("x-source" = "Linux 6.18, net/mac80211/tx.c: ieee80211_next_txq; Høiland-Jørgensen et al., Ending the Anomaly, 2017"))]
    pub airtime_fairness: bool,
    /// Airtime that the station of this link is given at a time: its weight.
    #[schemars(extend("x-with" = "airtime_fairness", "x-above" = "0s", "x-at-most" = "1s", "x-source" = "Linux 6.18, net/mac80211/airtime.c: IEEE80211_DEFAULT_AIRTIME_WEIGHT, 256 us"))]
    pub airtime_weight: Duration,
    /// The station leaves the channel again and again, and packets wait for it in both directions. Default: it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Away>,
}

impl Default for Wifi {
    fn default() -> Wifi {
        Wifi {
            channel: "wifi".to_owned(),
            access_point: None,
            width: ChannelWidth::Mhz80,
            streams: 1,
            mcs: MAX_MCS,
            guard_interval: GuardInterval::Short,
            category: AccessCategory::BestEffort,
            rts_threshold: None,
            ampdu: Bytes::new(65_535),
            block_ack_window: BLOCK_ACK_MPDUS,
            ppdu: Duration::from_millis(4),
            amsdu: 1,
            amsdu_bytes: Bytes::new(3_839),
            prebuild: false,
            retries: 7,
            reorder_timeout: Duration::from_millis(100),
            device_queue: DeviceQueue::Aql,
            aql_low: Duration::from_millis(5),
            aql_high: Duration::from_millis(12),
            aql_threshold: Duration::from_millis(24),
            device_packets: 1_424,
            airtime_fairness: true,
            airtime_weight: Duration::from_micros(256),
            away: None,
        }
    }
}

impl Wifi {
    /// Whether it can be meant.
    ///
    /// # Errors
    /// 802.11ac has no such rate.
    pub fn check(&self) -> Result<(), Problem> {
        if self.modulation().is_some() || self.mcs > MAX_MCS || !(1..=4).contains(&self.streams) {
            return Ok(());
        }
        let message = format!(
            "802.11ac has no MCS {} with {} and {} stream{}",
            self.mcs,
            self.width.in_words(),
            self.streams,
            if self.streams == 1 { "" } else { "s" }
        );
        Err(Problem::value("mcs", message, format!("allowed here: another MCS, for example {}", self.mcs - 1)))
    }

    pub(super) fn modulation(&self) -> Option<Modulation> {
        Modulation::new(self.width, self.streams, self.mcs, self.guard_interval)
    }

    /// The rate within a frame, of which what surrounds frames takes its part; zero for what [`check`](Self::check)
    /// refuses.
    pub fn rate(&self) -> Rate {
        self.modulation().map_or(Rate::ZERO, |modulation| modulation.rate())
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        let streams = if self.streams == 1 { "1 stream".to_owned() } else { format!("{} streams", self.streams) };
        let away = self.away.map_or_else(String::new, |away| away.in_words());
        format!(
            "Wi-Fi 5 on channel {} ({}, {streams}, MCS {}: {}){away}",
            self.channel,
            self.width.in_words(),
            self.mcs,
            self.rate().in_words()
        )
    }
}

/// Access category of EDCA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AccessCategory {
    /// Background: AIFSN 7, CW 15 to 1023.
    #[serde(rename = "bk")]
    Background,
    /// Best effort: AIFSN 3, CW 15 to 1023, for access points 15 to 63.
    #[serde(rename = "be")]
    BestEffort,
    /// Video: AIFSN 2, CW 7 to 15, at most 4.096 ms at a time.
    #[serde(rename = "vi")]
    Video,
    /// Voice: AIFSN 2, CW 3 to 7, at most 2.08 ms at a time.
    #[serde(rename = "vo")]
    Voice,
}

impl AccessCategory {
    /// How many there are.
    pub(super) const COUNT: usize = 4;
}

/// What waits in the device below the queue of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceQueue {
    /// Packets wait in the device up to airtime queue limits, as below ath10k.
    Aql,
    /// Nothing: an aggregate takes its packets from the queue of the link when it starts, as with ath9k.
    None,
    /// Everything that comes, up to `device_packets`: the queue of the link is hardly ever used, as before airtime
    /// queue limits.
    All,
}
