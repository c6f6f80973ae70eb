//! The two ends of everything that speaks in bytes: QUIC, UDP, probes, calls.

use crate::digest::Digest;
use crate::story::Ends;
use crate::tcp::{note_sample, note_view};
use dumbbell_cc_contract::Controller;
use dumbbell_transport::{
    Act, Arrival, Endpoint, Handshake, News, Protocol, ReceiverStats, SenderStats, TransportConfig, probe, quic,
    real_time, udp,
};
use dumbbell_units::{Duration, Ecn, Time};

/// A packet with its bytes.
#[derive(Clone, Debug)]
pub struct Packet {
    size: u16,
    ecn: Ecn,
    payload: Vec<u8>,
}

pub struct Datagrams {
    near: Box<dyn Endpoint>,
    far: Box<dyn Endpoint>,
    /// What the latest packet to arrive at the near and at the far end has told.
    news: [News; 2],
    protocol: Protocol,
    is_answered: bool,
}

impl Datagrams {
    pub fn new(config: &TransportConfig, controller: Box<dyn Controller>) -> Datagrams {
        let mss = u16::try_from(config.mss).unwrap();
        let wanted = controller.ecn();
        let ecn = config.ecn.with(wanted);
        let config = TransportConfig { ecn, ..config.clone() };
        let (near, far) = match config.protocol {
            Protocol::Quic => quic::endpoints(config.clone().into(), controller),
            Protocol::Probe => probe::endpoints(&config.probe, mss),
            Protocol::RealTime => real_time::endpoints(&config.real_time, mss, ecn.codepoint(wanted)),
            Protocol::Udp | Protocol::Tcp | Protocol::Library(_) => udp::endpoints(mss),
        };
        let is_answered = config.probe.answers;
        Datagrams { near, far, news: [News::default(); 2], protocol: config.protocol, is_answered }
    }

    /// What is kept takes memory, and not much here.
    fn check_memory(&self) {
        let reports = [self.near.report(), self.far.report()];
        let [near, far] = reports.map(|report| report.memory);
        assert!(near.max(far) < 65_536, "{near} and {far} bytes");
        let has_sent = self.sent().sent_segments > 0;
        match self.protocol {
            Protocol::RealTime if reports[0].unsent > 0 => assert!(near >= 32, "{near} bytes for a frame"),
            Protocol::RealTime if self.received().arrived_segments > 0 => assert!(far >= 32, "{far} bytes"),
            Protocol::Probe if self.is_answered && has_sent => assert!(near >= 16, "{near} bytes for a probe"),
            Protocol::Udp => assert_eq!(near, 0),
            _ => {}
        }
    }
}

fn poll(end: &mut dyn Endpoint, now: Time) -> Option<Packet> {
    let mut payload = Vec::new();
    let datagram = end.poll_transmit(now, &mut payload)?;
    Some(Packet { size: datagram.size, ecn: datagram.ecn, payload })
}

fn deliver(end: &mut dyn Endpoint, now: Time, packet: &Packet, is_marked: bool) -> News {
    let ecn = if is_marked && packet.ecn != Ecn::NotEct { Ecn::Ce } else { packet.ecn };
    end.on_packet(now, Arrival { size: packet.size, ecn, payload: &packet.payload })
}

fn note_packet(digest: &mut Digest, packet: &Packet) {
    digest.add(packet.size.into());
    digest.add(packet.ecn as u64);
    for byte in &packet.payload {
        digest.add((*byte).into());
    }
}

impl Ends for Datagrams {
    type Data = Packet;
    type Answer = Packet;

    fn establish(&mut self, now: Time, rtt: Duration) {
        let handshake = Handshake::symmetric(rtt);
        self.near.on_application(now, Act::Establish(handshake));
        self.far.on_application(now, Act::Establish(handshake));
    }

    fn write(&mut self, now: Time, packets: u32, last_len: u16) {
        self.near.on_application(now, Act::Write { segments: packets, last_len });
    }

    fn close(&mut self, now: Time) {
        self.near.on_application(now, Act::Close);
    }

    fn poll_near(&mut self, now: Time) -> Option<Packet> {
        poll(&mut *self.near, now)
    }

    fn poll_far(&mut self, now: Time) -> Option<Packet> {
        poll(&mut *self.far, now)
    }

    fn on_data(&mut self, now: Time, data: Packet, is_marked: bool) {
        self.news[1] = deliver(&mut *self.far, now, &data, is_marked);
    }

    fn on_answer(&mut self, now: Time, answer: Packet) {
        self.news[0] = deliver(&mut *self.near, now, &answer, false);
    }

    fn next_timer(&self) -> Time {
        self.near.next_timer().min(self.far.next_timer())
    }

    fn on_timer(&mut self, now: Time) {
        for end in [&mut self.near, &mut self.far] {
            if end.next_timer() <= now {
                end.on_timer(now);
            }
        }
    }

    fn note_data(digest: &mut Digest, data: &Packet) {
        note_packet(digest, data);
    }

    fn note_answer(digest: &mut Digest, answer: &Packet) {
        note_packet(digest, answer);
    }

    fn note(&self, digest: &mut Digest) {
        self.check_memory();
        for (end, news) in [&self.near, &self.far].into_iter().zip(self.news) {
            let report = end.report();
            for value in [
                end.next_timer().as_nanos(),
                report.unsent,
                report.is_idle.into(),
                news.rtt().map_or(0, Duration::as_nanos),
                report.lost.unwrap_or(u64::MAX),
                news.frame().map_or(0, Duration::as_nanos),
                report.frames.complete,
                report.frames.late,
                report.frames.lost,
            ] {
                digest.add(value);
            }
        }
        let report = self.near.report();
        if let Some(sending) = report.sending {
            // A number, a time and counts of deliveries are kept of each packet; some more are kept for those lost.
            let (memory, packets_out) = (report.memory, u64::from(sending.view.packets_out));
            assert!(memory >= 24 * packets_out, "{memory} bytes for {packets_out} packets");
            assert!(memory <= 65_536, "{memory} bytes for {packets_out} packets");
            note_view(digest, sending.view);
            note_sample(digest, sending.sample);
            digest.add(sending.control.cwnd.into());
            digest.add(sending.control.pacing_rate);
        }
    }

    fn words(&self) -> String {
        let report = self.near.report();
        let lost = report.lost.map_or_else(String::new, |lost| format!("lost {lost} "));
        let sending = report.sending.map_or_else(String::new, |sending| {
            let view = sending.view;
            format!(
                "{:?} cwnd {} lost {} srtt {} us",
                view.ca_state,
                sending.control.cwnd,
                view.lost,
                view.srtt_us_x8 / 8
            )
        });
        let frames = self.far.report().frames;
        format!("{lost}{sending} frames {} late {} lost {}", frames.complete, frames.late, frames.lost)
    }

    fn sent(&self) -> SenderStats {
        self.near.report().sent.copied().unwrap_or_default()
    }

    fn received(&self) -> ReceiverStats {
        self.far.report().received.copied().unwrap_or_default()
    }
}
