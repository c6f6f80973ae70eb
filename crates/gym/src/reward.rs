//! What an interval earns.

use crate::feature::Feature;
use crate::monitor::Interval;

/// How an interval is valued.
#[derive(Clone, Debug, PartialEq)]
pub enum Reward {
    /// 10 × throughput (packets a second) − 1000 × latency (seconds) − 2000 × share of packets lost (Jay et al., ICML
    /// 2019, section 4.1).
    Aurora,
    /// Power, throughput less losses over delay, as a share of the best that was seen: (thr − ζ × loss) / delay over
    /// thr_max / d_min, where a delay up to β × d_min counts as d_min (Abbasloo et al., SIGCOMM 2020, section 4.2).
    Orca {
        /// ζ, which weighs losses.
        loss_weight: f64,
        /// β, below which a delay counts as none.
        delay_margin: f64,
    },
    /// A sum of features, each with its weight.
    Sum(Vec<(Feature, f64)>),
}

impl Reward {
    /// Of Orca's reward; the paper says that ζ weighs losses and not by how much.
    pub const ORCA: Reward = Reward::Orca { loss_weight: 5.0, delay_margin: 1.25 };

    /// The one of a name.
    pub fn preset(name: &str) -> Option<Reward> {
        match name {
            "aurora" => Some(Reward::Aurora),
            "orca" => Some(Reward::ORCA),
            _ => None,
        }
    }

    /// What `seen` earns.
    pub fn of(&self, seen: &Interval) -> f64 {
        let per_s = |packets: f64| if seen.length_s > 0.0 { packets / seen.length_s } else { 0.0 };
        match self {
            Reward::Aurora => {
                let resolved = seen.lost + seen.delivered;
                let loss = if resolved > 0.0 { seen.lost / resolved } else { 0.0 };
                10.0 * per_s(seen.delivered) - 1_000.0 * seen.rtt_s - 2_000.0 * loss
            }
            Reward::Orca { loss_weight, delay_margin } => {
                let best = seen.max_delivery_mbps / seen.min_rtt_s;
                let delay = if seen.rtt_s <= delay_margin * seen.min_rtt_s { seen.min_rtt_s } else { seen.rtt_s };
                let loss_mbps = per_s(seen.lost) * seen.mss * 8e-6;
                let power = (seen.delivery_mbps - loss_weight * loss_mbps) / delay;
                if best > 0.0 && best.is_finite() { power / best } else { 0.0 }
            }
            Reward::Sum(parts) => parts.iter().map(|(feature, weight)| weight * (feature.of)(seen)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Interval {
        Interval {
            length_s: 0.1,
            delivered: 30.0,
            lost: 10.0,
            rtt_s: 0.06,
            min_rtt_s: 0.05,
            delivery_mbps: 3.0,
            max_delivery_mbps: 6.0,
            mss: 1_250.0,
            ..Interval::default()
        }
    }

    #[test]
    fn rewards_are_those_of_the_papers() {
        assert!((Reward::Aurora.of(&seen()) - (10.0 * 300.0 - 60.0 - 500.0)).abs() < 1e-9);
        // 3 Mbit/s less 5 times 1 Mbit/s, at a delay that counts as the smallest.
        assert!((Reward::ORCA.of(&seen()) - (-2.0 / 6.0)).abs() < 1e-12);
        let late = Interval { rtt_s: 0.1, lost: 0.0, ..seen() };
        assert!((Reward::ORCA.of(&late) - 0.25).abs() < 1e-12);
        let sum = Reward::Sum(vec![
            (Feature::named("delivery_rate_mbps").unwrap(), 2.0),
            (Feature::named("lost").unwrap(), -0.5),
        ]);
        assert!((sum.of(&seen()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_seen_earns_a_finite_number() {
        for reward in [Reward::Aurora, Reward::ORCA] {
            assert_eq!(reward.of(&Interval::default()), 0.0);
        }
    }
}
