//! The components that a configuration asks for, and the small state that is the sender's own: the stream it carries,
//! and the send loop.

use super::Burst;
use crate::{ControllerRtt, DeliveryRate, Pacing, RtoRule, RttSamples, SendBufferSize, TransportConfig};
use dumbbell_cc::{Control, Controller, View};
use dumbbell_path::Ecn;
use dumbbell_recovery::ack_rtt::RttSource;
use dumbbell_recovery::dupthresh::DupThresh;
use dumbbell_recovery::rack::Rack;
use dumbbell_recovery::rate::RateSampler;
use dumbbell_recovery::reordering::Reordering;
use dumbbell_recovery::round_trip::RoundTrip;
use dumbbell_recovery::rtt::RttEstimator;
use dumbbell_recovery::send_buffer::SendBuffer;
use dumbbell_recovery::send_stamp::SendClock;
use dumbbell_units::Duration;

/// What a receiver that sizes its window offers in the handshake.
const SYN_ACK_WINDOW_BYTES: u64 = 65_160;

/// View and control of a connection before its first event.
pub(super) fn connection(config: &TransportConfig, controller: &dyn Controller) -> (View, Control) {
    let paced = match config.pacing {
        Pacing::Auto => controller.wants_pacing(),
        Pacing::On => true,
        Pacing::Off => false,
    };
    let view = View { hz: config.hz.max(1), gso_max_bytes: config.gso_max_bytes, paced, ..View::new(config.mss) };
    let control = Control { cwnd: config.initial_cwnd, pacing_shift: config.pacing_shift, ..Control::default() };
    (view, control)
}

/// A span in whole microseconds, as far as 32 bits go: more than an hour.
pub(super) fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

/// RTT estimator, minimum and source of samples.
pub(super) fn round_trip(config: &TransportConfig) -> RoundTrip {
    let [rto_min_us, rto_max_us] = [config.rto_min, config.rto_max].map(micros);
    let estimator = match config.rto_rule {
        RtoRule::Linux => RttEstimator::linux(rto_min_us, rto_max_us),
        RtoRule::Rfc6298 => RttEstimator::rfc6298(rto_min_us, rto_max_us),
    };
    let source = match config.rtt_samples {
        RttSamples::Linux => RttSource::Departures { has_timestamps: config.timestamps },
        RttSamples::Timestamps => RttSource::timestamps(false),
        RttSamples::TimestampsOfOriginals => RttSource::timestamps(true),
    };
    RoundTrip::new(estimator, source, config.controller_rtt == ControllerRtt::Smoothed)
}

/// The sampler of the delivery rate.
pub(super) fn rate_sampler(rule: DeliveryRate) -> RateSampler {
    match rule {
        DeliveryRate::Linux => RateSampler::linux(),
        DeliveryRate::LinuxOld => RateSampler::linux_before_5_19(),
        DeliveryRate::Ns3 => RateSampler::ns3(),
        DeliveryRate::Ns3Before341 => RateSampler::ns3_before_3_41(),
    }
}

/// The send buffer, where it has a limit.
pub(super) fn send_buffer(config: &TransportConfig) -> Option<Box<SendBuffer>> {
    let buffer = match config.send_buffer {
        SendBufferSize::Unlimited => return None,
        SendBufferSize::Autotuning => {
            SendBuffer::autotuned(config.send_buffer_initial, config.send_buffer_max, config.mss)
        }
        SendBufferSize::Fixed(bytes) => SendBuffer::fixed(bytes.as_u64(), config.mss),
    };
    Some(Box::new(buffer))
}

/// The two loss detectors, one of which the configuration chooses, and the degree of reordering, which both use.
#[derive(Debug)]
pub(super) struct LossDetector {
    pub rack: Rack,
    pub dupthresh: DupThresh,
    pub reordering: Reordering,
}

impl LossDetector {
    pub fn new(config: &TransportConfig) -> LossDetector {
        LossDetector {
            rack: Rack::default(),
            dupthresh: DupThresh::default(),
            reordering: Reordering::new(config.reordering, config.max_reordering),
        }
    }
}

/// The stream: what the application has written, and what the receiver has room for.
#[derive(Debug)]
pub(super) struct Stream {
    /// One above the last segment that the socket holds.
    pub write_seq: u32,
    /// One above the last segment that the application has to write; higher where it waits for the send buffer.
    pub offered: u32,
    /// Payload bytes of the last one of those.
    last_len: u16,
    /// One above the last segment that the receive window allows (`tcp_wnd_end`).
    pub window_end: u32,
    /// Largest receive window seen, in segments (`max_window`).
    pub max_window: u32,
    /// Payload bytes of a full segment.
    pub mss: u16,
}

impl Stream {
    pub fn new(config: &TransportConfig) -> Stream {
        let first_window = match config.receive_autotuning {
            true => config.receive_window.min(SYN_ACK_WINDOW_BYTES),
            false => config.receive_window,
        };
        let mss = u16::try_from(config.mss).unwrap_or(u16::MAX);
        Stream {
            write_seq: 0,
            offered: 0,
            last_len: mss,
            window_end: u32::try_from(first_window / u64::from(config.mss)).unwrap_or(u32::MAX),
            max_window: 0,
            mss,
        }
    }

    /// The application has `segments` more to write; the last one carries `last_len` bytes.
    pub fn offer(&mut self, segments: u32, last_len: u16) {
        self.offered = self.offered.saturating_add(segments);
        self.last_len = last_len;
    }

    /// An ACK of everything below `ack` advertises a window of `window` segments; `is_advancing` if it covers new data.
    /// Only then may the window shrink, but for one that closes: an ACK that does not advance may be an old one. Returns
    /// whether the window is taken (`tcp_may_update_window`).
    #[inline]
    pub fn update_window(&mut self, ack: u32, window: u32, is_advancing: bool) -> bool {
        let end = ack.saturating_add(window);
        let is_taken = is_advancing || end > self.window_end || window == 0;
        if is_taken {
            self.window_end = end;
            self.max_window = self.max_window.max(window);
        }
        is_taken
    }

    /// Payload bytes of the last one of segments below `end`.
    #[inline]
    pub fn len_before(&self, end: u32) -> u16 {
        if end == self.offered { self.last_len } else { self.mss }
    }

    /// Whether segment `seq` is written and within the receive window.
    #[inline]
    pub fn allows(&self, seq: u32) -> bool {
        seq < self.write_seq && seq < self.window_end
    }
}

/// What the current ACK or timer asks to be sent before new data (`REXMIT_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Retransmit {
    /// Nothing (`REXMIT_NONE`).
    #[default]
    Nothing,
    /// Lost segments (`REXMIT_LOST`).
    Lost,
    /// New data, as F-RTO wants it; lost segments where there is none (`REXMIT_NEW`).
    NewDataFirst,
    /// A packet without data, to which a receiver without room answers (`tcp_xmit_probe_skb`).
    WindowProbe,
}

/// What arms the timer at the end of a send loop that schedules no probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Arming {
    /// Nothing.
    #[default]
    Nothing,
    /// The ACK before the loop, if nothing has left (`tcp_set_xmit_timer`).
    Ack,
    /// New data, which starts the retransmission timeout (`tcp_event_new_data_sent`).
    Timeout,
}

/// State of the send loop that follows an event.
#[derive(Debug, Default)]
pub(super) struct Xmit {
    /// What is to be retransmitted before new data.
    pub request: Retransmit,
    /// What is to leave next.
    pub ready: Burst,
    /// New segments sent since the loop began.
    pub sent: u32,
    /// Every segment below was considered for a rescue retransmission in this fast recovery.
    pub rescued_below: u32,
    /// ECN bits of data.
    pub codepoint: Ecn,
    /// The next new segment tells the receiver of the reduction (`TCP_ECN_QUEUE_CWR`).
    pub sends_cwr: bool,
    /// What arms the timer when the loop is over, unless something has left and a probe is scheduled.
    pub arming: Arming,
    /// An ACK has arrived: when the loop is over, an application that waits for the send buffer may be woken.
    pub checks_space: bool,
    pub send_clock: SendClock,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_window_shrinks_with_an_ack_that_advances_and_closes_with_any() {
        let config = TransportConfig { receive_window: 10 * 1448, ..TransportConfig::default() };
        let mut stream = Stream::new(&config);
        stream.offer(100, 700);
        stream.write_seq = stream.offered;
        assert!(stream.allows(9) && !stream.allows(10));
        assert!(stream.update_window(5, 10, true) && !stream.update_window(5, 5, false));
        assert!(stream.allows(14) && !stream.allows(15), "an old ACK of the same data");
        assert!(stream.update_window(6, 5, true));
        assert!(stream.allows(10) && !stream.allows(11));
        assert!(stream.update_window(6, 0, false) && !stream.allows(6));
        assert_eq!(stream.max_window, 10);
        assert_eq!((stream.len_before(99), stream.len_before(100)), (1448, 700));
    }

    #[test]
    fn a_receiver_that_sizes_its_window_begins_with_that_of_the_handshake() {
        let config = TransportConfig { receive_autotuning: true, ..TransportConfig::default() };
        assert_eq!(Stream::new(&config).window_end, 45);
    }
}
