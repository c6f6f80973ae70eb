//! A station that leaves its channel again and again, as one does that looks for other access points.
//!
//! It says so before it goes and when it is back, so that the access point keeps what it has for it (power management
//! of 802.11). An exchange that has begun is ended first. Other stations go on meanwhile.

use super::phy::{CTS, NULL, SIFS, SLOT};
use dumbbell_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The access point hears that a station is back from the end of this exchange on: a frame without data after DIFS, and
/// its ACK, which is as long as a CTS.
const ANNOUNCEMENT: Duration =
    Duration::from_nanos(SIFS.as_nanos() + 2 * SLOT.as_nanos() + NULL.as_nanos() + SIFS.as_nanos() + CTS.as_nanos());

/// When the station of a link is away from its channel. Packets wait meanwhile, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Away {
    /// It leaves once in this time.
    #[schemars(extend("x-default" = "required in `away`", "x-above" = "0s", "x-at-most" = "1h", "x-source" = "none: drivers and their managers choose it"))]
    pub every: Duration,
    /// It comes back after this time.
    #[serde(rename = "for")]
    #[schemars(extend("x-default" = "required in `away`", "x-above" = "0s", "x-below" = "away.every", "x-source" = "Linux 6.18, net/mac80211/scan.c: a channel takes about 110 ms if it is listened to passively"))]
    pub span: Duration,
    /// It leaves for the first time then.
    #[serde(default)]
    #[schemars(extend("x-source" = "none"))]
    pub from: Time,
}

impl Away {
    /// For a report.
    pub(super) fn in_words(&self) -> String {
        format!(", its station away for {} of every {} from {} on", self.span, self.every, self.from)
    }

    /// When what would be done at `at` can be done: then, or when the station is back, of which the access point hears
    /// later than it.
    pub(super) fn present(&self, at: Time, is_access_point: bool) -> Time {
        if at < self.from {
            return at;
        }
        let span = self.span + if is_access_point { ANNOUNCEMENT } else { Duration::ZERO };
        let passed = Duration::from_nanos(at.since(self.from).as_nanos() % self.every.as_nanos().max(1));
        if passed < span { at + (span - passed) } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_station_is_back_at_the_end_of_each_absence_and_its_access_point_hears_so_later() {
        let away = Away { every: Duration::from_millis(264), span: Duration::from_millis(117), from: at(1_000_000) };
        let station = |us| away.present(at(us), false);
        assert_eq!(station(999_999), at(999_999), "before the first time");
        assert_eq!((station(1_000_000), station(1_116_999)), (at(1_117_000), at(1_117_000)));
        assert_eq!((station(1_117_000), station(1_263_999)), (at(1_117_000), at(1_263_999)));
        assert_eq!(station(1_264_000), at(1_381_000));
        assert_eq!(away.present(at(1_264_000), true), at(1_381_110), "34 us of DIFS, 32, 16 and 28");
    }
}
