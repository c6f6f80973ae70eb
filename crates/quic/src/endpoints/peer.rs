//! One end of a connection: an endpoint of the library, its connection, and what is the same on both sides.

use super::parameters::NoqParameters;
use crate::adapter::Clock;
use bytes::BytesMut;
use dumbbell_cc_contract::Fault;
use dumbbell_transport::{Arrival, Datagram, TransportConfig};
use dumbbell_units::{Ecn, Time};
use noq_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    Event, FourTuple, IdleTimeout, Incoming, MtuDiscoveryConfig, ServerConfig, TransportConfig as Settings, VarInt,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of the headers of IP and UDP.
const HEADER: usize = 28;
/// Addresses that mean nothing: who drives the ends knows where packets go.
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 50_000);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 4433);

pub(super) struct Peer {
    endpoint: Endpoint,
    pub connection: Option<(ConnectionHandle, Connection)>,
    /// The other end, as seen from here.
    path: FourTuple,
    clock: Clock,
    /// The latest call. The library may ask for a timer that is past.
    now: Time,
    uses_ecn: bool,
    /// Datagrams that belong to no connection.
    answers: VecDeque<Vec<u8>>,
    /// The handshake is complete.
    pub is_connected: bool,
    /// Why the connection is over.
    pub lost: Option<ConnectionError>,
}

impl Peer {
    pub fn client(config: &TransportConfig, clock: Clock, seed: u64) -> Peer {
        Peer::new(config, clock, seed, FourTuple::new(SERVER, Some(CLIENT.ip())), None)
    }

    pub fn server(config: &TransportConfig, clock: Clock, seed: u64, server: ServerConfig) -> Peer {
        Peer::new(config, clock, !seed, FourTuple::new(CLIENT, Some(SERVER.ip())), Some(Arc::new(server)))
    }

    fn new(
        config: &TransportConfig,
        clock: Clock,
        seed: u64,
        path: FourTuple,
        server: Option<Arc<ServerConfig>>,
    ) -> Peer {
        let mut own = EndpointConfig::default();
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        own.rng_seed(Some(bytes));
        if let Ok(largest) = u16::try_from(config.mss) {
            // The default would refuse packets of more than 1472 bytes; a size that is too small for QUIC was refused.
            let _ = own.max_udp_payload_size(largest.max(1472));
        }
        Peer {
            endpoint: Endpoint::new(Arc::new(own), server, true),
            connection: None,
            path,
            clock,
            now: Time::ZERO,
            uses_ecn: config.ecn.is_on(),
            answers: VecDeque::new(),
            is_connected: false,
            lost: None,
        }
    }

    /// Begins a connection.
    pub fn connect(&mut self, now: Time, client: ClientConfig, name: &str) -> Result<(), String> {
        self.now = now;
        let connected = self.endpoint.connect(self.clock.instant(now), client, SERVER, name);
        self.connection = Some(connected.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// A datagram arrives.
    pub fn receive(&mut self, now: Time, packet: Arrival<'_>) {
        self.now = now;
        let now = self.clock.instant(now);
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut answer = Vec::new();
        match self.endpoint.handle(now, self.path, ecn, BytesMut::from(packet.payload), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming, &mut answer),
            Some(DatagramEvent::Response(_)) | None => {}
        }
        if !answer.is_empty() {
            self.answers.push_back(answer);
        }
    }

    fn accept(&mut self, now: Instant, incoming: Incoming, answer: &mut Vec<u8>) {
        if self.connection.is_some() {
            return self.endpoint.ignore(incoming);
        }
        if let Ok(connection) = self.endpoint.accept(incoming, now, answer, None) {
            self.connection = Some(connection);
        }
    }

    /// Has the connection and its endpoint tell each other, and notes what has happened.
    pub fn turn(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                _ => {}
            }
        }
    }

    pub fn on_timer(&mut self, now: Time) {
        self.now = now;
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(self.clock.instant(now));
        }
    }

    pub fn next_timer(&self) -> Time {
        let due = self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout());
        due.map_or(Time::NEVER, |due| self.clock.time(due).max(self.now))
    }

    /// The next datagram, which is appended to `payload`.
    pub fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        self.now = now;
        if let Some(answer) = self.answers.pop_front() {
            payload.extend_from_slice(&answer);
            return Some(Datagram { size: on_the_wire(answer.len()), ecn: Ecn::NotEct });
        }
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(self.clock.instant(now), NonZeroUsize::MIN, payload)?;
        let ecn = match transmit.ecn.filter(|_| self.uses_ecn) {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        Some(Datagram { size: on_the_wire(transmit.size), ecn })
    }
}

fn on_the_wire(payload: usize) -> u16 {
    u16::try_from(payload + HEADER).unwrap_or(u16::MAX)
}

/// The library's settings that both sides share.
pub(super) fn settings(config: &TransportConfig) -> Settings {
    let own = NoqParameters::of(config);
    let mut settings = Settings::default();
    let window = VarInt::try_from(config.receive_window).unwrap_or(VarInt::MAX);
    let mtu = u16::try_from(config.mss).unwrap_or(u16::MAX);
    settings
        .receive_window(window)
        .stream_receive_window(window)
        .packet_threshold(config.quic.packet_threshold)
        .max_idle_timeout(IdleTimeout::try_from(std::time::Duration::from_nanos(own.idle_timeout.as_nanos())).ok())
        .enable_segmentation_offload(false);
    if config.quic.time_threshold_eighths > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a small number of eighths")]
        settings.time_threshold(config.quic.time_threshold_eighths as f32 / 8.0);
    }
    if own.mtu_discovery {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(mtu);
        settings.mtu_discovery_config(Some(discovery));
    } else {
        settings.initial_mtu(mtu).mtu_discovery_config(None);
    }
    settings
}

/// Why a connection is over, in words that say what would help.
pub(super) fn fault(at: Time, reason: &ConnectionError, config: &TransportConfig) -> Fault {
    let text = reason.to_string();
    let message = if text.contains("too many gaps in stream buffer") {
        format!(
            "noq's receiver keeps data above at most 1024 gaps, and there were more in its window of {} bytes; set \
             transport.receive_window to about two bandwidth-delay products, or to the default, {}, with which this cannot \
             happen",
            config.receive_window,
            super::parameters::RECEIVE_WINDOW
        )
    } else if *reason == ConnectionError::TimedOut {
        format!(
            "nothing was heard of the other end for {}; transport.library.idle_timeout is how long noq waits",
            NoqParameters::of(config).idle_timeout
        )
    } else {
        format!("noq closed the connection: {text}")
    };
    Fault { at, message }
}
