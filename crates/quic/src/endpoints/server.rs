//! The end that receives.

use super::peer::{Peer, fault, settings};
use super::tls::tls;
use crate::adapter::Clock;
use dumbbell_cc_contract::Fault;
use dumbbell_transport::{Act, Arrival, Datagram, Endpoint, News, ReceiverStats, Report, TransportConfig};
use dumbbell_units::{Ecn, Time};
use noq_proto::{ConnectionError, Dir, ServerConfig, StreamId};
use std::sync::Arc;

/// Bytes around the data of a full packet: short header, packet number, frame header and tag.
const OVERHEAD: u64 = 36;

pub(super) struct Server {
    /// `None` where there is no TLS.
    peer: Option<Peer>,
    config: TransportConfig,
    streams: Vec<StreamId>,
    stats: ReceiverStats,
    fault: Option<Fault>,
}

impl Server {
    pub fn new(config: &TransportConfig, seed: u64) -> Server {
        let peer = tls().ok().map(|tls| {
            let mut server = ServerConfig::with_crypto(tls.server.clone());
            server.transport_config(Arc::new(settings(config)));
            Peer::server(config, Clock::starting_now(), seed, server)
        });
        Server { peer, config: config.clone(), streams: Vec::new(), stats: ReceiverStats::default(), fault: None }
    }

    fn turn(&mut self, now: Time) {
        let Some(peer) = &mut self.peer else { return };
        peer.turn();
        if let Some(reason) = &peer.lost
            && matches!(reason, ConnectionError::TransportError(_))
        {
            self.fault.get_or_insert_with(|| fault(now, reason, &self.config));
        }
        self.read();
    }

    /// The application reads all that is there.
    fn read(&mut self) {
        let Some((_, connection)) = self.peer.as_mut().and_then(|peer| peer.connection.as_mut()) else { return };
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.streams.push(id);
        }
        let mut delivered = 0;
        self.streams.retain(|&id| {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return false };
            let goes_on = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => delivered += chunk.bytes.len() as u64,
                    Ok(None) => break false,
                    Err(noq_proto::ReadError::Blocked) => break true,
                    Err(noq_proto::ReadError::Reset(_)) => break false,
                }
            };
            let _ = chunks.finalize();
            goes_on
        });
        self.stats.delivered_bytes += delivered;
        let payload = u64::from(self.config.mss).saturating_sub(OVERHEAD).max(1);
        self.stats.delivered_segments = self.stats.delivered_bytes.div_ceil(payload);
    }
}

impl Endpoint for Server {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        self.stats.arrived_segments += 1;
        self.stats.arrived_bytes += packet.payload.len() as u64;
        self.stats.ce_segments += u64::from(packet.ecn == Ecn::Ce);
        if let Some(peer) = &mut self.peer {
            peer.receive(now, packet);
        }
        self.turn(now);
        News::default()
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(peer) = &mut self.peer {
            peer.on_timer(now);
        }
        self.turn(now);
    }

    fn next_timer(&self) -> Time {
        self.peer.as_ref().map_or(Time::NEVER, Peer::next_timer)
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        let datagram = self.peer.as_mut()?.poll_transmit(now, payload)?;
        self.stats.acks_sent += 1;
        Some(datagram)
    }

    fn on_application(&mut self, _now: Time, _act: Act<'_>) -> bool {
        false
    }

    fn report(&self) -> Report<'_> {
        Report { received: Some(&self.stats), fault: self.fault.as_ref(), may_fail: true, ..Report::default() }
    }
}
