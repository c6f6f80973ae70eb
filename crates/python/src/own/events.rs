//! What an ACK or a loss tells a class in Python: one object each for as long as the flow lives, filled again before
//! each call.

use dumbbell_cc::RateSample;
use dumbbell_library::machine;
use pyo3::prelude::*;

/// What an ACK taught the sender.
#[pyclass(module = "dumbbell")]
#[derive(Default)]
pub struct Ack {
    pub sample: RateSample,
    /// Payload bytes of a full packet.
    pub mss: u32,
}

#[pymethods]
impl Ack {
    /// Packets newly delivered, cumulatively or selectively.
    #[getter]
    fn packets(&self) -> u32 {
        self.sample.acked_sacked
    }

    /// Packets newly found lost.
    #[getter]
    fn lost(&self) -> u32 {
        self.sample.losses
    }

    /// Round-trip time in seconds; None when the ACK gives none.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        (self.sample.rtt_us >= 0).then(|| self.sample.rtt_us as f64 / 1e6)
    }

    /// Delivery rate in payload bytes per second; None when the ACK gives none.
    #[getter]
    fn rate(&self) -> Option<f64> {
        let RateSample { delivered, interval_us, .. } = self.sample;
        (delivered >= 0 && interval_us > 0)
            .then(|| f64::from(delivered) * f64::from(self.mss) * 1e6 / interval_us as f64)
    }

    /// Whether the ACK echoes a congestion mark.
    #[getter]
    fn marked(&self) -> bool {
        self.sample.is_ece
    }

    /// Whether the sampled packet was sent while the application was the limit.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.sample.is_app_limited
    }

    /// `delivered` when the sampled packet was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.sample.prior_delivered
    }

    /// `delivered_mstamp_us` when the sampled packet was sent; 0 without one.
    #[getter]
    fn prior_mstamp_us(&self) -> u64 {
        self.sample.prior_mstamp_us
    }

    /// Packets delivered over the sampling interval; -1 when invalid.
    #[getter]
    fn delivered(&self) -> i32 {
        self.sample.delivered
    }

    /// Length of the sampling interval in microseconds; -1 when invalid.
    #[getter]
    fn interval_us(&self) -> i64 {
        self.sample.interval_us
    }

    /// Round-trip time in microseconds; -1 when the ACK gives none.
    #[getter]
    fn rtt_us(&self) -> i64 {
        self.sample.rtt_us
    }

    /// Packets newly marked lost.
    #[getter]
    fn losses(&self) -> u32 {
        self.sample.losses
    }

    /// Packets newly acknowledged, cumulatively or selectively.
    #[getter]
    fn acked_sacked(&self) -> u32 {
        self.sample.acked_sacked
    }

    /// Packets in flight before this ACK.
    #[getter]
    fn prior_in_flight(&self) -> u32 {
        self.sample.prior_in_flight
    }

    /// Whether the sampled packet was a retransmission.
    #[getter]
    fn is_retrans(&self) -> bool {
        self.sample.is_retrans
    }

    /// Whether the round-trip time probably contains the receiver's wait for a second packet.
    #[getter]
    fn is_ack_delayed(&self) -> bool {
        self.sample.is_ack_delayed
    }

    /// Packets in flight when the sampled packet was sent, itself included.
    #[getter]
    fn tx_in_flight(&self) -> u32 {
        self.sample.tx_in_flight
    }

    /// Packets marked lost since the sampled packet was sent.
    #[getter]
    fn lost_since_sent(&self) -> i32 {
        self.sample.lost_since_sent
    }

    /// Packets delivered with a congestion mark since the sampled packet was sent.
    #[getter]
    fn delivered_ce(&self) -> i32 {
        self.sample.delivered_ce
    }

    fn __repr__(&self) -> String {
        format!("<Ack of {} packets, RTT {} us>", self.sample.acked_sacked, self.sample.rtt_us)
    }
}

/// The beginning of a reduction, or one lost packet.
#[pyclass(module = "dumbbell")]
#[derive(Default)]
pub struct Loss(pub machine::Loss);

#[pymethods]
impl Loss {
    /// Packets found lost since the last call.
    #[getter]
    fn packets(&self) -> u64 {
        self.0.packets
    }

    /// Whether a congestion mark was the reason, not a loss.
    #[getter]
    fn by_mark(&self) -> bool {
        self.0.by_mark
    }

    /// Packets in flight when the lost packet was sent, itself included.
    #[getter]
    fn tx_in_flight(&self) -> u32 {
        self.0.packet.tx_in_flight
    }

    /// `delivered` when the lost packet was sent.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.packet.delivered
    }

    /// `lost` when the lost packet was sent.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.packet.lost
    }

    /// Whether the lost packet was sent while the application was the limit.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.packet.is_app_limited
    }
}

/// The laboratory's random generator, for `dumbbell.Random`.
#[pyclass(module = "dumbbell._core")]
pub struct Stream {
    inner: dumbbell_units::Rng,
}

impl Stream {
    pub fn of(inner: dumbbell_units::Rng) -> Stream {
        Stream { inner }
    }
}

#[pymethods]
impl Stream {
    #[new]
    fn new(seed: u64) -> Stream {
        Stream { inner: dumbbell_units::Rng::new(seed) }
    }

    /// 64 random bits.
    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }

    /// A number uniform over `0..bound`.
    fn below(&mut self, bound: u32) -> u32 {
        self.inner.below(bound)
    }

    /// A number uniform over [0, 1).
    fn uniform(&mut self) -> f64 {
        self.inner.uniform()
    }
}
