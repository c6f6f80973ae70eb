//! The two ends of TCP.

use crate::digest::Digest;
use crate::story::Ends;
use dumbbell_cc_contract::{Controller, RateSample, View};
use dumbbell_transport::{
    Ack, Burst, Handshake, Receiver, ReceiverStats, Segment, Sender, SenderStats, TransportConfig,
};
use dumbbell_units::{Duration, Ecn, Time};

/// How long the host's device takes for a burst.
const DEVICE: Duration = Duration::from_millis(2);

pub struct Tcp {
    sender: Sender,
    receiver: Receiver,
    burst: Option<Burst>,
    answer: Option<Ack>,
}

impl Tcp {
    pub fn new(config: TransportConfig, controller: Box<dyn Controller>) -> Tcp {
        let wanted = controller.ecn();
        let ecn = config.ecn.with(wanted);
        let config = TransportConfig { ecn, ..config };
        let mut receiver = Receiver::new(&config);
        receiver.set_ecn_echo(ecn.echo(wanted));
        Tcp { sender: Sender::new(config.into(), controller), receiver, burst: None, answer: None }
    }
}

impl Ends for Tcp {
    type Data = Segment;
    type Answer = Ack;

    fn establish(&mut self, now: Time, rtt: Duration) {
        self.sender.establish(now, Handshake::symmetric(rtt));
        self.receiver.set_handshake(rtt);
    }

    fn write(&mut self, now: Time, packets: u32, last_len: u16) {
        self.sender.write(now, packets, last_len);
    }

    fn close(&mut self, _now: Time) {
        self.sender.close();
    }

    fn poll_near(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.burst.as_mut().and_then(Iterator::next) {
            return Some(segment);
        }
        let mut burst = self.sender.poll_transmit(now)?;
        if self.sender.wants_completions() {
            self.sender.handed_over(burst.bytes, now + DEVICE);
        }
        let segment = burst.next();
        self.burst = Some(burst);
        segment
    }

    fn poll_far(&mut self, now: Time) -> Option<Ack> {
        self.answer.take().or_else(|| self.receiver.poll_transmit(now))
    }

    fn on_data(&mut self, now: Time, data: Segment, is_marked: bool) {
        let ecn = if is_marked && data.ecn != Ecn::NotEct { Ecn::Ce } else { data.ecn };
        self.answer = self.receiver.on_segment(now, Segment { ecn, ..data });
    }

    fn on_answer(&mut self, now: Time, answer: Ack) {
        match answer.without_options() {
            Some(ack) => self.sender.on_cumulative_ack(now, ack),
            None => self.sender.on_ack(now, &answer),
        }
    }

    fn next_timer(&self) -> Time {
        self.sender.next_timer().min(self.receiver.next_timer())
    }

    fn on_timer(&mut self, now: Time) {
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
        }
        if self.answer.is_none() {
            self.answer = self.receiver.on_timer(now);
        }
    }

    fn note_data(digest: &mut Digest, data: &Segment) {
        let Segment { seq, len, ecn, flags, sent_at, echo: _ } = *data;
        for value in [seq.into(), len.into(), ecn as u64, flags.bits().into(), sent_at.as_nanos()] {
            digest.add(value);
        }
    }

    fn note_answer(digest: &mut Digest, answer: &Ack) {
        for block in answer.sack_blocks() {
            digest.add(u64::from(block.start) << 32 | u64::from(block.end));
        }
        let marks =
            answer.marks.map_or(0, |marks| u64::from(marks.ace()) << 32 | u64::from(marks.bytes().unwrap_or(1)));
        let Ack { ack, ece, window, echo, .. } = *answer;
        for value in
            [ack.into(), ece.into(), window.bits().into(), u64::from(echo.bits()), answer.option_bytes().into(), marks]
        {
            digest.add(value);
        }
    }

    fn note(&self, digest: &mut Digest) {
        let sender = &self.sender;
        note_view(digest, sender.view());
        note_sample(digest, sender.last_sample());
        let control = sender.control();
        for value in [control.cwnd, control.cwnd_cnt, control.ssthresh, sender.reordering(), sender.unsent_segments()] {
            digest.add(value.into());
        }
        for value in [control.pacing_rate, control.app_limited, sender.rto().as_nanos(), sender.next_timer().as_nanos()]
        {
            digest.add(value);
        }
        let mut observed = vec![0.0; sender.controller().observables().len()];
        sender.controller().observe(sender.view(), control, &mut observed);
        observed.into_iter().for_each(|value| digest.add_real(value));
        let (memory, packets_out) = (sender.memory(), u64::from(sender.view().packets_out));
        assert!((24 * packets_out..=131_072).contains(&memory), "{memory} bytes for {packets_out} segments");
        digest.add(sender.queued_segments().into());
        digest.add(sender.is_idle().into());
        digest.add(self.receiver.next_timer().as_nanos());
    }

    fn words(&self) -> String {
        let control = self.sender.control();
        let view = self.sender.view();
        format!(
            "{:?} cwnd {} ssthresh {} in flight {} srtt {} us",
            view.ca_state,
            control.cwnd,
            control.ssthresh,
            view.in_flight(),
            view.srtt_us_x8 / 8
        )
    }

    fn sent(&self) -> SenderStats {
        *self.sender.stats()
    }

    fn received(&self) -> ReceiverStats {
        self.receiver.stats()
    }
}

pub fn note_view(digest: &mut Digest, view: &View) {
    for value in [
        view.packets_out,
        view.sacked_out,
        view.lost_out,
        view.retrans_out,
        view.max_packets_out,
        view.srtt_us_x8,
        view.min_rtt_us,
        view.prior_cwnd,
        view.cwnd_limited.into(),
        view.no_unsent_data.into(),
        view.receive_window_full.into(),
        view.ca_state as u32,
    ] {
        digest.add(value.into());
    }
    for value in [
        view.snd_una,
        view.snd_nxt,
        view.delivered,
        view.delivered_ce,
        view.lost,
        view.delivered_mstamp_us,
        view.last_sent.as_nanos(),
        view.next_departure.as_nanos(),
    ] {
        digest.add(value);
    }
}

pub fn note_sample(digest: &mut Digest, sample: &RateSample) {
    for value in [sample.interval_us, sample.rtt_us, sample.delivered.into(), sample.lost_since_sent.into()] {
        digest.add(value.cast_unsigned());
    }
    digest.add(i64::from(sample.delivered_ce).cast_unsigned());
    for value in [sample.prior_delivered, sample.prior_mstamp_us] {
        digest.add(value);
    }
    for value in [sample.losses, sample.acked_sacked, sample.prior_in_flight, sample.tx_in_flight] {
        digest.add(value.into());
    }
    for is in [sample.is_app_limited, sample.is_retrans, sample.is_ack_delayed, sample.is_ece, sample.is_acking_tlp] {
        digest.add(is.into());
    }
}
