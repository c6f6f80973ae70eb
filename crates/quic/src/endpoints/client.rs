//! The end that sends.

use super::governors::factory;
use super::peer::{Peer, fault, settings};
use super::relay::Relay;
use super::tls::{SERVER, tls};
use crate::adapter::Clock;
use crate::governor::{Governor, Terms};
use bytes::Bytes;
use dumbbell_cc_contract::{Controller, Fault};
use dumbbell_transport::{
    Act, Arrival, Datagram, Endpoint, Held, Limit, News, Report, SenderStats, Sending, TransportConfig,
};
use dumbbell_units::{Duration, Time};
use noq_proto::{ClientConfig, ConnectionError, Dir, PathId, StreamId};
use std::sync::Arc;

/// What applications write: nobody reads it.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// The library keeps so many windows of data that is not acknowledged, and as many packets more. It has enough to send
/// then, and an application that stops leaves little behind.
const WINDOWS_KEPT: u64 = 2;
const PACKETS_KEPT: u64 = 4;

pub(super) struct Client {
    peer: Peer,
    config: TransportConfig,
    governor: Governor,
    relay: Relay,
    /// A controller of the library decides, and ours only stands for it.
    is_foreign: bool,
    /// Bytes that the application has written and the library has not taken.
    unwritten: u64,
    /// What takes them. A stream ends when the application has written no more, and its end says that all has arrived.
    stream: Option<StreamId>,
    is_idle: bool,
    held_by: Limit,
    stats: SenderStats,
    fault: Option<Fault>,
}

impl Client {
    pub fn new(config: &TransportConfig, controller: Box<dyn Controller>, seed: u64) -> Client {
        let clock = Clock::starting_now();
        let own = factory(&*controller);
        let mtu = u16::try_from(config.mss).unwrap_or(u16::MAX);
        let terms = Terms { mtu, initial_cwnd: config.initial_cwnd, undo: config.undo };
        let governor = Governor::new(controller, terms);
        Client {
            peer: Peer::client(config, clock, seed),
            is_foreign: own.is_some(),
            relay: Relay::new(clock, &governor, own),
            governor,
            config: config.clone(),
            unwritten: 0,
            stream: None,
            is_idle: true,
            held_by: Limit::Application,
            stats: SenderStats::default(),
            fault: None,
        }
    }

    fn connect(&mut self, now: Time) -> Result<(), String> {
        let mut client = ClientConfig::new(tls()?.client.clone());
        let mut settings = settings(&self.config);
        settings.congestion_controller_factory(Arc::new(self.relay.clone()));
        client.transport_config(Arc::new(settings));
        self.peer.connect(now, client, SERVER)
    }

    /// Has the application's data go to the library, as far as that takes it.
    fn feed(&mut self) {
        let Some((_, connection)) = &mut self.peer.connection else { return };
        if !self.peer.is_connected || self.unwritten == 0 {
            return;
        }
        let Some(id) = self.stream.or_else(|| connection.streams().open(Dir::Uni)) else { return };
        self.stream = Some(id);
        connection.set_send_window(WINDOWS_KEPT * self.governor.window() + PACKETS_KEPT * u64::from(self.config.mss));
        let mut stream = connection.send_stream(id);
        while self.unwritten > 0 {
            let len = usize::try_from(self.unwritten).map_or(ZEROS.len(), |left| left.min(ZEROS.len()));
            let Ok(written) = stream.write_chunks(&mut &mut [Bytes::from_static(&ZEROS[..len])][..]) else { return };
            self.unwritten -= written as u64;
        }
        self.end_stream();
    }

    fn end_stream(&mut self) {
        if let (Some(id), Some((_, connection))) = (self.stream.take(), &mut self.peer.connection) {
            // It fails only for a stream that has ended.
            let _ = connection.send_stream(id).finish();
        }
    }

    /// What follows everything that may have changed the connection.
    fn turn(&mut self, now: Time) {
        self.peer.turn();
        let was_cwnd_limited = self.relay.pass_on(&mut self.governor);
        if was_cwnd_limited {
            self.held_by = Limit::Cwnd;
        }
        if let Some((_, connection)) = &mut self.peer.connection {
            if self.is_foreign
                && let Some(own) = connection.congestion_state(PathId::ZERO)
            {
                let metrics = own.metrics();
                self.governor.mirror(metrics.congestion_window, metrics.ssthresh, metrics.pacing_rate);
            }
            self.is_idle = self.unwritten == 0 && connection.streams().send_streams() == 0;
        }
        let (reductions, undone) = self.governor.reductions();
        let lost = self.governor.view().lost;
        self.stats =
            SenderStats { recovery_count: reductions, undo_count: undone, retransmitted_segments: lost, ..self.stats };
        if let Some(reason) = &self.peer.lost
            && self.fault.is_none()
            && !(self.is_idle && *reason == ConnectionError::TimedOut)
        {
            self.fault = Some(fault(now, reason, &self.config));
        }
    }
}

impl Endpoint for Client {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        self.peer.receive(now, packet);
        let delivered = self.governor.view().delivered;
        self.turn(now);
        let rtt_us = self.governor.sample().rtt_us;
        let is_sample = self.governor.view().delivered > delivered;
        let rtt = u64::try_from(rtt_us).ok().filter(|_| is_sample).map(Duration::from_micros);
        News::of_answer(rtt, self.peer.is_connected && self.is_idle)
    }

    fn on_timer(&mut self, now: Time) {
        self.peer.on_timer(now);
        self.turn(now);
    }

    fn next_timer(&self) -> Time {
        self.peer.next_timer()
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        if self.fault.is_some() {
            return None;
        }
        self.feed();
        let datagram = self.peer.poll_transmit(now, payload);
        self.held_by = if self.unwritten == 0 { Limit::Application } else { Limit::Pacing };
        self.turn(now);
        let datagram = datagram?;
        self.stats.sent_segments += 1;
        self.stats.sent_bytes += payload.len() as u64;
        Some(datagram)
    }

    fn on_application(&mut self, now: Time, act: Act<'_>) -> bool {
        match act {
            Act::Establish(_) => {
                if let Err(message) = self.connect(now) {
                    self.fault = Some(Fault { at: now, message });
                }
            }
            Act::Write { segments, last_len } => {
                let whole = u64::from(segments.saturating_sub(1)) * u64::from(self.config.mss);
                self.unwritten = match segments {
                    u32::MAX => u64::MAX,
                    _ => self.unwritten.saturating_add(whole + u64::from(last_len)),
                };
                self.is_idle = false;
                if let Some(reason) = &self.peer.lost {
                    self.fault = Some(fault(now, reason, &self.config));
                }
            }
            Act::Close => {
                self.unwritten = 0;
                self.end_stream();
            }
            Act::Steer(steer) => {
                let has_changed = self.governor.steer(now, steer);
                self.relay.publish(&self.governor);
                return has_changed;
            }
        }
        true
    }

    fn report(&self) -> Report<'_> {
        let sending = Sending {
            view: self.governor.view(),
            control: self.governor.control(),
            controller: self.governor.controller(),
            sample: self.governor.sample(),
            stats: &self.stats,
            sender: self,
        };
        Report {
            sending: Some(sending),
            sent: Some(&self.stats),
            unsent: self.unwritten,
            is_idle: self.is_idle,
            is_connectionless: true,
            memory: self.governor.memory(),
            hides_timers: true,
            fault: self.fault.as_ref(),
            may_fail: true,
            ..Report::default()
        }
    }
}

impl Held for Client {
    fn held_by(&self) -> Limit {
        self.held_by
    }
}
