//! What becomes of an interval for an agent: numbers by name.

use crate::monitor::Interval;

/// A ratio to something that is not there is this large at most.
const MOST: f64 = 1_000.0;

/// A number that an agent may see.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Its name, with the unit where it has one.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    /// Its value for an interval.
    pub of: fn(&Interval) -> f64,
}

impl PartialEq for Feature {
    fn eq(&self, other: &Feature) -> bool {
        self.name == other.name
    }
}

fn ratio(of: f64, to: f64) -> f64 {
    if to > 0.0 {
        (of / to).min(MOST)
    } else if of > 0.0 {
        MOST
    } else {
        0.0
    }
}

/// Packets that fill the path at the largest delivery rate and the smallest round-trip time seen.
fn bdp(seen: &Interval) -> f64 {
    seen.max_delivery_mbps * 1e6 * seen.min_rtt_s / (8.0 * seen.mss)
}

macro_rules! features {
    ($($name:literal: $meaning:literal = $of:expr;)*) => {
        const ALL: &[Feature] = &[$(Feature { name: $name, meaning: $meaning, of: $of }),*];
    };
}

features! {
    "sent": "Packets that left." = |seen| seen.sent;
    "delivered": "Packets whose delivery was reported." = |seen| seen.delivered;
    "lost": "Packets that the sender declared lost." = |seen| seen.lost;
    "marked": "Delivered packets that had a congestion mark." = |seen| seen.marked;
    "acks": "ACKs." = |seen| seen.acks;
    "interval_ms": "Length of the interval." = |seen| seen.length_s * 1e3;
    "send_rate_mbps": "Payload that left over the interval." = |seen| seen.send_mbps;
    "delivery_rate_mbps": "Payload that was delivered over the interval." = |seen| seen.delivery_mbps;
    "max_delivery_rate_mbps": "Its largest value so far." = |seen| seen.max_delivery_mbps;
    "rate_sample_mbps": "The latest sample of the delivery rate." = |seen| seen.rate_sample_mbps;
    "pacing_rate_mbps": "Pacing rate." = |seen| seen.pacing_mbps;
    "cwnd": "Congestion window in packets." = |seen| seen.cwnd;
    "inflight": "Packets in flight." = |seen| seen.in_flight;
    "rtt_ms": "Mean round-trip time." = |seen| seen.rtt_s * 1e3;
    "min_rtt_ms": "Smallest round-trip time so far." = |seen| seen.min_rtt_s * 1e3;
    "srtt_ms": "Smoothed round-trip time." = |seen| seen.srtt_s * 1e3;
    "rtt_gradient": "Slope of the round-trip time: seconds a second." = |seen| seen.rtt_gradient;
    "rtt_ratio": "Mean over smallest round-trip time." = |seen| ratio(seen.rtt_s, seen.min_rtt_s);
    "srtt_ratio": "Smoothed over smallest round-trip time." = |seen| ratio(seen.srtt_s, seen.min_rtt_s);
    "min_rtt_ratio": "Smallest over mean round-trip time." = |seen| ratio(seen.min_rtt_s, seen.rtt_s);
    "send_ratio": "Packets sent over packets delivered." = |seen| ratio(seen.sent, seen.delivered);
    "loss_rate": "Packets lost, of those lost or delivered." = |seen| ratio(seen.lost, seen.lost + seen.delivered);
    "mark_rate": "Packets marked, of those delivered." = |seen| ratio(seen.marked, seen.delivered);
    "delivery_ratio": "Delivery rate over its largest value so far."
        = |seen| ratio(seen.delivery_mbps, seen.max_delivery_mbps);
    "pacing_ratio": "Pacing rate over the largest delivery rate so far."
        = |seen| ratio(seen.pacing_mbps, seen.max_delivery_mbps);
    "loss_ratio": "Rate of losses over the largest delivery rate so far."
        = |seen| ratio(seen.lost * seen.mss * 8e-6, seen.max_delivery_mbps * seen.length_s);
    "ack_ratio": "ACKs over the window." = |seen| ratio(seen.acks, seen.cwnd);
    "interval_ratio": "Length of the interval over the smallest round-trip time."
        = |seen| ratio(seen.length_s, seen.min_rtt_s);
    "cwnd_ratio": "Window over largest delivery rate times smallest round-trip time."
        = |seen| ratio(seen.cwnd, bdp(seen));
}

impl Feature {
    /// All there are.
    pub fn all() -> &'static [Feature] {
        ALL
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<Feature> {
        ALL.iter().find(|feature| feature.name == name).copied()
    }

    /// Those of a published agent, and how many intervals it remembers: Aurora (Jay et al., ICML 2019, section 4.1),
    /// Orca (Abbasloo et al., SIGCOMM 2020, section 4.2).
    pub fn preset(name: &str) -> Option<(Vec<Feature>, usize)> {
        let (names, history): (&[&str], usize) = match name {
            "aurora" => (&["rtt_gradient", "rtt_ratio", "send_ratio"], 10),
            "orca" => (
                &[
                    "delivery_ratio",
                    "loss_ratio",
                    "min_rtt_ratio",
                    "ack_ratio",
                    "interval_ratio",
                    "srtt_ratio",
                    "cwnd_ratio",
                ],
                1,
            ),
            _ => return None,
        };
        Some((names.iter().filter_map(|name| Feature::named(name)).collect(), history))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_every_preset_has_all_of_its_features() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|feature| feature.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.iter().all(|feature| feature.meaning.ends_with('.')));
        assert_eq!(["aurora", "orca"].map(|name| Feature::preset(name).unwrap().0.len()), [3, 7]);
        assert!(Feature::preset("auroa").is_none() && Feature::named("rtt").is_none());
    }

    #[test]
    fn an_interval_without_anything_has_finite_numbers() {
        assert!(ALL.iter().all(|feature| (feature.of)(&Interval::default()).is_finite()));
        let sent = Interval { sent: 3.0, ..Interval::default() };
        assert_eq!((Feature::named("send_ratio").unwrap().of)(&sent), 1_000.0);
    }

    #[test]
    fn features_are_what_their_meanings_say() {
        let seen = Interval {
            length_s: 0.2,
            sent: 60.0,
            delivered: 40.0,
            lost: 10.0,
            marked: 4.0,
            acks: 20.0,
            rtt_s: 0.06,
            rtt_gradient: 0.3,
            min_rtt_s: 0.04,
            srtt_s: 0.05,
            delivery_mbps: 2.0,
            max_delivery_mbps: 5.0,
            rate_sample_mbps: 2.5,
            send_mbps: 3.0,
            cwnd: 80.0,
            in_flight: 12.0,
            pacing_mbps: 7.5,
            mss: 1_250.0,
        };
        let expected = [
            ("sent", 60.0),
            ("delivered", 40.0),
            ("lost", 10.0),
            ("marked", 4.0),
            ("acks", 20.0),
            ("interval_ms", 200.0),
            ("send_rate_mbps", 3.0),
            ("delivery_rate_mbps", 2.0),
            ("max_delivery_rate_mbps", 5.0),
            ("rate_sample_mbps", 2.5),
            ("pacing_rate_mbps", 7.5),
            ("cwnd", 80.0),
            ("inflight", 12.0),
            ("rtt_ms", 60.0),
            ("min_rtt_ms", 40.0),
            ("srtt_ms", 50.0),
            ("rtt_gradient", 0.3),
            ("rtt_ratio", 1.5),
            ("srtt_ratio", 1.25),
            ("min_rtt_ratio", 2.0 / 3.0),
            ("send_ratio", 1.5),
            ("loss_rate", 0.2),
            ("mark_rate", 0.1),
            ("delivery_ratio", 0.4),
            ("pacing_ratio", 1.5),
            // 10 packets of 10,000 bits in 0.2 s are 0.5 Mbit/s.
            ("loss_ratio", 0.1),
            ("ack_ratio", 0.25),
            ("interval_ratio", 5.0),
            // 5 Mbit/s for 40 ms are 20 packets.
            ("cwnd_ratio", 4.0),
        ];
        assert_eq!(ALL.iter().map(|feature| feature.name).collect::<Vec<_>>(), expected.map(|(name, _)| name));
        for (feature, (name, value)) in ALL.iter().zip(expected) {
            let found = (feature.of)(&seen);
            assert!((found - value).abs() < 1e-9, "{name}: {found}, not {value}");
        }
    }

    #[test]
    fn a_ratio_to_almost_nothing_is_bounded() {
        assert_eq!((ratio(0.0, 0.0), ratio(1.0, 0.0), ratio(1.0, 1e-9)), (0.0, MOST, MOST));
        assert_eq!((ratio(0.0, 1.0), ratio(3.0, 2.0)), (0.0, 1.5));
    }
}
