//! The components that a configuration asks for, and the small state that is the sender's own: the stream it carries,
//! and the send loop.

use super::Burst;
use crate::{
    AdvertisedWindow, ControllerRtt, DeliveryRate, Pacing, RtoRule, RttSamples, SendBufferSize, TransportConfig,
};
use dumbbell_cc_contract::{Control, Controller, EcnMode, View};
use dumbbell_recovery::ack_rtt::RttSource;
use dumbbell_recovery::dupthresh::DupThresh;
use dumbbell_recovery::rack::Rack;
use dumbbell_recovery::rate::RateSampler;
use dumbbell_recovery::reordering::Reordering;
use dumbbell_recovery::round_trip::RoundTrip;
use dumbbell_recovery::rtt::RttEstimator;
use dumbbell_recovery::send_buffer::SendBuffer;
use dumbbell_recovery::send_stamp::SendClock;
use dumbbell_units::{Duration, Ecn};
use std::collections::VecDeque;

/// What a receiver that sizes its window offers in the handshake.
const SYN_ACK_WINDOW_BYTES: u64 = 65_160;

/// What a segment holds where it has no counters of marks: controllers and pacing reckon with that, however long
/// segments are (`mss_cache`). The counters that an L4S controller asks for take no place in segments.
fn mss_cache(config: &TransportConfig, controller: &dyn Controller) -> u32 {
    config.mss + if controller.ecn() == EcnMode::L4s { 0 } else { config.marks_option() }
}

/// View and control of a connection before its first event.
pub(super) fn connection(config: &TransportConfig, controller: &dyn Controller) -> (View, Control) {
    let paced = match config.pacing {
        Pacing::Auto => controller.wants_pacing(),
        Pacing::On => true,
        Pacing::Off => false,
    };
    let mss = mss_cache(config, controller);
    let view = View { hz: config.hz.max(1), gso_max_bytes: config.gso_max_bytes, paced, ..View::new(mss) };
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
#[cfg_attr(test, derive(Clone))]
pub(super) struct Stream {
    /// One above the last segment that the socket holds.
    pub write_seq: u32,
    /// One above the last segment that the application has to write; higher where it waits for the send buffer.
    pub offered: u32,
    /// Payload bytes of the last one of those.
    last_len: u16,
    /// It has fewer because others were cut: what the application writes next fills it.
    is_last_cut: bool,
    /// Payload bytes of the last one that the socket holds while there is more to write: fewer than a full one where
    /// others were cut, because what is written ends at the same byte.
    written_len: u16,
    /// One above the last whole segment that the receive window allows, and the bytes that it allows of the next one
    /// (`tcp_wnd_end`).
    pub window_end: u32,
    pub window_excess: u16,
    /// The window ends within a segment, or has done so.
    pub is_exact: bool,
    /// Segments that were cut there.
    cut: CutSegments,
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
        let window_end = u32::try_from(first_window / u64::from(config.mss)).unwrap_or(u32::MAX);
        Stream {
            write_seq: 0,
            offered: 0,
            last_len: mss,
            is_last_cut: false,
            written_len: mss,
            window_end,
            window_excess: 0,
            is_exact: false,
            cut: CutSegments::default(),
            max_window: window_end,
            mss,
        }
    }

    /// The application has `segments` more to write; the last one carries `last_len` bytes. `nxt` is the first one that
    /// was not sent.
    pub fn offer(&mut self, segments: u32, last_len: u16, nxt: u32) {
        self.is_last_cut &= self.offered > nxt;
        self.offered = self.offered.saturating_add(segments);
        let room = if self.is_last_cut { self.mss - self.last_len } else { 0 };
        self.last_len = if last_len > room {
            last_len - room
        } else {
            self.offered -= 1;
            self.last_len + last_len
        };
    }

    /// Segments from `nxt` on have `mss` bytes. The window ends where it did.
    pub fn resize(&mut self, mss: u16, nxt: u32) {
        let window =
            u64::from(self.window_end.saturating_sub(nxt)) * u64::from(self.mss) + u64::from(self.window_excess);
        self.window_end = nxt.saturating_add(u32::try_from(window / u64::from(mss)).unwrap_or(u32::MAX));
        let largest = u64::from(self.max_window) * u64::from(self.mss) / u64::from(mss);
        self.max_window = u32::try_from(largest).unwrap_or(u32::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "it is less than the segment size, which has 16 bits")]
        let excess = (window % u64::from(mss)) as u16;
        self.window_excess = excess;
        self.is_exact |= excess > 0;
        (self.mss, self.last_len, self.written_len) = (mss, mss, mss);
    }

    /// What is not written by now never will be.
    pub fn end(&mut self) {
        if self.write_seq < self.offered {
            self.last_len = self.written_len;
        }
        self.offered = self.write_seq;
    }

    /// Whether an ACK that finds everything below `una` acknowledged tells another `window` than the one before, or is
    /// the first, so that its header was not predicted (`tcp_fast_path_on`).
    pub fn changes_header(&self, una: u32, window: AdvertisedWindow) -> bool {
        una == 0 || (window.segments(), window.excess()) != (self.window_end.saturating_sub(una), self.window_excess)
    }

    /// An ACK of everything below `ack` advertises a `window`; `is_advancing` if it covers new data. Only then may the
    /// window shrink, but for one that closes: an ACK that does not advance may be an old one. Returns whether the
    /// window is taken (`tcp_may_update_window`).
    #[inline(always)]
    pub fn update_window(&mut self, ack: u32, window: AdvertisedWindow, is_advancing: bool) -> bool {
        if self.is_exact | window.is_exact() {
            return self.update_exact_window(ack, window, is_advancing);
        }
        let end = ack.saturating_add(window.segments());
        let is_taken = is_advancing || end > self.window_end || window.segments() == 0;
        if is_taken {
            self.window_end = end;
            self.max_window = self.max_window.max(window.segments());
        }
        is_taken
    }

    #[inline(never)]
    fn update_exact_window(&mut self, ack: u32, window: AdvertisedWindow, is_advancing: bool) -> bool {
        self.is_exact = true;
        let end = self.beyond_cut(ack, (ack.saturating_add(window.segments()), window.excess()));
        let is_taken =
            is_advancing || end > (self.window_end, self.window_excess) || window == AdvertisedWindow::default();
        if is_taken {
            (self.window_end, self.window_excess) = end;
            self.max_window = self.max_window.max(window.segments());
        }
        is_taken
    }

    /// Where the window of an ACK ends that would end at `end` if all segments in flight were whole: what was cut off
    /// them is left of it.
    fn beyond_cut(&mut self, ack: u32, (mut end, excess): (u32, u16)) -> (u32, u16) {
        let mut excess = u32::from(excess) + self.cut.bytes_from(ack);
        while excess >= u32::from(self.mss) {
            excess -= u32::from(self.mss);
            end = end.saturating_add(1);
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is less than the segment size, which has 16 bits")]
        let excess = excess as u16;
        (end, excess)
    }

    /// The segment below `end` leaves with at most `most` bytes, because the window ends there, or what is written.
    /// What follows it is divided into segments anew (`tso_fragment`). Returns its length, and how many segments more
    /// the socket holds now.
    #[cold]
    pub fn cut(&mut self, end: u32, most: u16) -> (u16, u32) {
        let written = self.len_before(end);
        let len = written.min(most);
        self.leave_out(end, len);
        if end == self.offered && len == written {
            return (len, 0);
        }
        self.is_last_cut = true;
        let all_written = self.write_seq == self.offered;
        let more_offered = divide_anew(&mut self.last_len, len, self.mss);
        let more = if all_written {
            more_offered
        } else if end == self.write_seq && len == written {
            self.written_len = self.mss;
            0
        } else {
            divide_anew(&mut self.written_len, len, self.mss)
        };
        self.write_seq = self.write_seq.saturating_add(more);
        self.offered = self.offered.saturating_add(more_offered);
        (len, more)
    }

    /// Whether what is written ends at `end` and within a segment, although there is more to write.
    #[inline]
    pub fn ends_within(&self, end: u32) -> bool {
        self.written_len < self.mss && end == self.write_seq && end < self.offered
    }

    /// What an endless application has written of another segment leaves as one of `len` bytes (`tcp_mss_split_point`).
    #[cold]
    pub fn send_rest(&mut self, len: u16) {
        self.write_seq += 1;
        self.written_len = self.mss;
        self.is_exact = true;
        self.leave_out(self.write_seq, len);
    }

    /// The segment below `end` has `len` bytes. The window ends where it did.
    fn leave_out(&mut self, end: u32, len: u16) {
        let cut_off = self.mss - len;
        self.cut.push(end - 1, cut_off);
        if self.window_excess >= len {
            self.window_end += 1;
            self.window_excess -= len;
        } else {
            self.window_excess += cut_off;
        }
    }

    /// Payload bytes of everything that the application has to write and that begins at segment `nxt`.
    pub fn bytes_from(&self, nxt: u32) -> u64 {
        match self.offered - nxt {
            0 => 0,
            segments => u64::from(segments - 1) * u64::from(self.mss) + u64::from(self.last_len),
        }
    }

    /// Payload bytes of the last one of segments below `end`.
    #[inline]
    pub fn len_before(&self, end: u32) -> u16 {
        if end == self.offered {
            self.last_len
        } else if end == self.write_seq {
            self.written_len
        } else {
            self.mss
        }
    }

    /// Bytes that the segments from `una` on that the socket holds lack of full ones.
    pub fn lacking(&mut self, una: u32) -> u32 {
        let has_last = self.cut.0.back().is_some_and(|&(seq, _)| seq + 1 == self.write_seq);
        let last = if has_last { 0 } else { u32::from(self.mss - self.len_before(self.write_seq)) };
        self.cut.bytes_from(una) + last
    }

    /// Whether segment `seq` is written and within the receive window.
    #[inline]
    pub fn allows(&self, seq: u32) -> bool {
        seq < self.write_seq && seq < self.window_end
    }
}

/// A segment before the last one, which has `last` bytes, has `len` bytes now where it had `mss`. Returns how many more
/// segments that makes, and sets what the last one has then.
fn divide_anew(last: &mut u16, len: u16, mss: u16) -> u32 {
    if *last > len {
        *last -= len;
        1
    } else {
        *last += mss - len;
        0
    }
}

/// Segments in flight that the end of the receive window has cut, and how many bytes each lacks of a whole one.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
struct CutSegments(VecDeque<(u32, u16)>);

impl CutSegments {
    fn push(&mut self, seq: u32, cut_off: u16) {
        self.0.push_back((seq, cut_off));
    }

    /// What those lack that an ACK of everything below `ack` leaves.
    fn bytes_from(&mut self, ack: u32) -> u32 {
        while self.0.front().is_some_and(|&(seq, _)| seq < ack) {
            self.0.pop_front();
        }
        self.0.iter().map(|&(_, cut_off)| u32::from(cut_off)).sum()
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
    /// ECN bits of new data, and of what is sent again.
    pub codepoint: Ecn,
    pub codepoint_again: Ecn,
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
        stream.offer(100, 700, 0);
        stream.write_seq = stream.offered;
        assert!(stream.allows(9) && !stream.allows(10));
        assert!(
            stream.update_window(5, AdvertisedWindow::new(10, 0), true)
                && !stream.update_window(5, AdvertisedWindow::new(5, 0), false)
        );
        assert!(stream.allows(14) && !stream.allows(15), "an old ACK of the same data");
        assert!(stream.update_window(6, AdvertisedWindow::new(5, 0), true));
        assert!(stream.allows(10) && !stream.allows(11));
        assert!(stream.update_window(6, AdvertisedWindow::new(0, 0), false) && !stream.allows(6));
        assert_eq!(stream.max_window, 10);
        assert_eq!((stream.len_before(99), stream.len_before(100)), (1448, 700));
    }

    /// A stream of 99 full segments and one of 700 bytes, of which the window allows ten and `excess` bytes.
    fn stream_before(excess: u16) -> Stream {
        let mut stream = Stream::new(&TransportConfig::default());
        stream.offer(100, 700, 0);
        stream.write_seq = stream.offered;
        assert!(stream.update_window(0, AdvertisedWindow::new(10, excess), true));
        stream
    }

    #[test]
    fn a_segment_that_the_window_cuts_loses_no_byte_of_the_stream() {
        for (excess, more, last_len) in [(400, 1, 300), (700, 0, 1448), (900, 0, 1248)] {
            let mut stream = stream_before(excess);
            let bytes = stream.bytes_from(10);
            assert_eq!(stream.cut(11, excess), (excess, more));
            assert_eq!(stream.bytes_from(11), bytes - u64::from(excess));
            assert_eq!((stream.offered, stream.write_seq), (100 + more, 100 + more));
            assert_eq!(stream.len_before(stream.offered), last_len);
        }
        let mut stream = stream_before(900);
        assert_eq!(stream.cut(100, 900), (700, 0), "the last segment fits as it is");
        assert_eq!((stream.offered, stream.len_before(100)), (100, 700));
    }

    #[test]
    fn what_is_written_ends_at_its_byte_also_where_segments_before_it_are_cut() {
        let mut stream = stream_before(400);
        stream.write_seq = 50;
        assert!(!stream.ends_within(50));
        let held = |stream: &Stream| stream.write_seq * 1_448 - stream.clone().lacking(0);
        let (bytes, written) = (stream.bytes_from(10), 40 * 1_448);
        assert_eq!(stream.cut(11, 400), (400, 1));
        assert_eq!((stream.write_seq, stream.len_before(51), stream.ends_within(51)), (51, 1_048, true));
        assert_eq!(stream.cut(13, 1_100), (1_100, 0), "348 bytes more behind it, for which there is room");
        assert_eq!((stream.write_seq, stream.len_before(51)), (51, 1_396));
        assert_eq!((held(&stream), stream.clone().lacking(11)), (50 * 1_448, 348 + 52));
        let mut ended = stream.clone();
        ended.end();
        assert_eq!(ended.bytes_from(13), written - 400 - 1_448 - 1_100);
        let mut with_rest = stream.clone();
        with_rest.send_rest(200);
        assert!(!with_rest.ends_within(52), "the rest of a call is all there is of its segment");
        assert_eq!(stream.cut(51, u16::MAX), (1_396, 0), "all that is written");
        assert_eq!((stream.len_before(51), stream.ends_within(51)), (1_448, false), "what follows begins anew");
        assert_eq!((stream.bytes_from(51), held(&stream)), (bytes - written, 50 * 1_448));
    }

    #[test]
    fn what_is_written_behind_a_cut_fills_the_last_segment() {
        let mut stream = stream_before(400);
        stream.cut(11, 400);
        let bytes = stream.bytes_from(11);
        stream.offer(1, 1_000, 11);
        assert_eq!((stream.offered, stream.bytes_from(11)), (101, bytes + 1_000));
        stream.offer(2, 700, 11);
        assert_eq!((stream.offered, stream.bytes_from(11)), (103, bytes + 1_000 + 1_448 + 700));
        stream.offer(1, 500, 103);
        assert_eq!(stream.bytes_from(103), 500, "all before has been sent");
    }

    #[test]
    fn a_window_ends_at_its_byte_also_where_segments_in_flight_are_short() {
        let end = |stream: &Stream| (stream.window_end, stream.window_excess);
        let mut stream = stream_before(400);
        stream.cut(11, 400);
        assert_eq!(end(&stream), (11, 0));
        assert!(stream.update_window(5, AdvertisedWindow::new(8, 100), true));
        assert_eq!(end(&stream), (13, 100 + 1_048));
        assert!(stream.update_window(10, AdvertisedWindow::new(3, 400), true));
        assert_eq!(end(&stream), (14, 0));
        assert!(stream.update_window(11, AdvertisedWindow::new(4, 30), true), "the short one has arrived");
        assert_eq!(end(&stream), (15, 30));
        assert!(
            !stream.update_window(11, AdvertisedWindow::new(4, 29), false)
                && stream.update_window(11, AdvertisedWindow::new(4, 31), false)
        );
    }

    #[test]
    fn a_receiver_that_sizes_its_window_begins_with_that_of_the_handshake() {
        let config = TransportConfig { receive_autotuning: true, ..TransportConfig::default() };
        assert_eq!(Stream::new(&config).window_end, 45);
    }
}
