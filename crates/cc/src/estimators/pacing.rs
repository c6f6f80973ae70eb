//! The pacing rate, the size of bursts, and what the network will hold when the next burst leaves.

use super::{BW_UNIT, delivery_rate, packets_in};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};

/// From a bandwidth to the pacing rate.
#[derive(Clone, Debug)]
pub struct Pacing {
    /// Parts per million of the estimated bandwidth that are used.
    share_ppm: u64,
    /// The first pacing rate comes from a nominal round-trip time, to be replaced by a measured one.
    pub is_nominal: bool,
}

impl Pacing {
    /// Paces below the estimated bandwidth by `margin`; no round-trip time is known.
    pub fn new(margin: Ratio) -> Pacing {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a margin is a share below one")]
        let margin_ppm = (margin.as_f64() * 1e6).round() as u64;
        Pacing { share_ppm: 1_000_000 - margin_ppm, is_nominal: true }
    }

    /// `bw` times `gain` less the margin, in payload bytes per second.
    pub fn bytes_per_second(&self, view: &View, bw: u32, gain: Gain) -> u64 {
        let per_us = gain.of(u64::from(bw).saturating_mul(u64::from(view.mss)));
        per_us.saturating_mul(self.share_ppm) / BW_UNIT
    }

    /// [`bytes_per_second`](Self::bytes_per_second), but at most the connection's highest rate.
    pub fn rate(&self, view: &View, bw: u32, gain: Gain) -> u64 {
        self.bytes_per_second(view, bw, gain).min(view.max_pacing_rate)
    }

    /// Paces at `bw` times `gain`; below the present rate only if that may fall.
    #[inline]
    pub fn set(&self, view: &View, control: &mut Control, bw: u32, gain: Gain, may_fall: bool) {
        let rate = self.rate(view, bw, gain);
        if may_fall || rate > control.pacing_rate {
            control.pacing_rate = rate;
        }
    }

    /// The window per round-trip time, measured or nominal.
    pub fn initial_bandwidth(view: &View, control: &Control, nominal_rtt: Duration) -> u32 {
        let rtt_us = match view.srtt_us_x8 {
            0 => nominal_rtt.as_micros().max(1),
            srtt_us_x8 => u64::from((srtt_us_x8 >> 3).max(1)),
        };
        delivery_rate(u64::from(control.cwnd), rtt_us)
    }
}

/// How large the sender's bursts are to be.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    /// Smallest burst in packets at and above `min_rate`.
    pub min: u32,
    /// Smallest burst in packets below it.
    pub min_slow: u32,
    /// Pacing rate that separates the two, in bytes per second.
    pub min_rate: u64,
    /// Largest burst in packets.
    pub max: u32,
    /// Largest burst in bytes.
    pub max_bytes: u64,
}

impl Bursts {
    /// From parameters in their units.
    pub fn new(min: u32, min_slow: u32, min_rate: Rate, max: u32, max_bytes: Bytes) -> Bursts {
        Bursts { min, min_slow, min_rate: min_rate.as_bits_per_sec() / 8, max, max_bytes: max_bytes.as_u64() }
    }

    /// The smallest burst in packets at the present rate.
    #[inline]
    pub fn smallest(&self, control: &Control) -> u32 {
        if control.pacing_rate < self.min_rate { self.min_slow } else { self.min }
    }

    /// Packets in one burst of the sender at its present rate and `extra` bytes.
    pub fn packets(&self, view: &View, control: &Control, extra: u64) -> u32 {
        let bytes = (control.pacing_rate >> control.pacing_shift).saturating_add(extra).min(self.max_bytes);
        let packets = u32::try_from(bytes / u64::from(view.mss)).unwrap_or(u32::MAX);
        packets.max(self.smallest(control)).min(self.max)
    }
}

/// Packets left in the network when the next burst departs, if `in_flight` are in it now, `bw` delivers them, and
/// `burst` more are about to leave (`bbr_packets_in_net_at_edt`).
#[expect(
    clippy::cast_possible_truncation,
    reason = "32 bits as in the kernel; more takes a burst of nearly 2^32 packets"
)]
pub fn in_network_at_departure(view: &View, bw: u32, in_flight: u32, burst: u32) -> u32 {
    let wait_us = view.next_departure.since(view.now).as_micros();
    let delivered_until_then = packets_in(bw, wait_us);
    (u64::from(in_flight) + u64::from(burst)).saturating_sub(delivered_until_then) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(pacing_rate: u64) -> Control {
        Control { pacing_rate, ..Control::default() }
    }

    #[test]
    fn a_rate_that_may_not_fall_rises_only() {
        let view = View::new(1_000);
        let pacing = Pacing::new(Ratio::new(0.01).unwrap());
        // One packet per millisecond.
        let bw = delivery_rate(1, 1_000);
        let rate = pacing.rate(&view, bw, Gain::ONE);
        assert!((989_900..=990_000).contains(&rate), "{rate}");
        for (before, may_fall, after) in [(1, false, rate), (2_000_000, false, 2_000_000), (2_000_000, true, rate)] {
            let mut control = control(before);
            pacing.set(&view, &mut control, bw, Gain::ONE, may_fall);
            assert_eq!(control.pacing_rate, after);
        }
        let capped = View { max_pacing_rate: 5, ..View::new(1_000) };
        assert_eq!(pacing.rate(&capped, bw, Gain::ONE), 5);
    }

    #[test]
    fn the_first_bandwidth_is_the_window_per_round_trip() {
        let of = |srtt_us_x8: u32| {
            let view = View { srtt_us_x8, ..View::new(1_000) };
            Pacing::initial_bandwidth(&view, &control(0), Duration::from_millis(1))
        };
        assert_eq!(of(8 * 40_000), delivery_rate(10, 40_000));
        assert_eq!(of(0), delivery_rate(10, 1_000));
    }

    #[test]
    fn bursts_last_a_millisecond_within_their_bounds() {
        let bursts = Bursts::new(2, 1, Rate::from_bits_per_sec(1_200_000), 40, Bytes::new(60_000));
        let view = View::new(1_000);
        for (rate, packets) in [(100_000, 1), (200_000, 2), (10_240_000, 10), (1_000_000_000, 40)] {
            assert_eq!(bursts.packets(&view, &control(rate), 0), packets, "{rate}");
        }
        assert_eq!(bursts.packets(&view, &control(10_240_000), 3_000), 13);
    }
}
