//! The two ends of a flow, over the transport that the scenario chose.

use dumbbell_cc::{Control, Controller, EcnMode, RateSample, View};
use dumbbell_transport::quic::{QuicReceiver, QuicSender};
use dumbbell_transport::{EcnEcho, Protocol, Receiver, ReceiverStats, Sender, SenderStats, TransportConfig};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// Sender and receiver of a flow.
#[expect(clippy::large_enum_variant, reason = "TCP is the common case; behind a pointer every packet would pay")]
pub(crate) enum Endpoints {
    Tcp { sender: Sender, receiver: Receiver },
    Quic { sender: QuicSender, receiver: QuicReceiver },
}

/// The same call on either sender.
macro_rules! sender {
    ($endpoints:expr, $sender:ident => $call:expr) => {
        match $endpoints {
            Endpoints::Tcp { sender: $sender, .. } => $call,
            Endpoints::Quic { sender: $sender, .. } => $call,
        }
    };
}

/// The same call on either receiver.
macro_rules! receiver {
    ($endpoints:expr, $receiver:ident => $call:expr) => {
        match $endpoints {
            Endpoints::Tcp { receiver: $receiver, .. } => $call,
            Endpoints::Quic { receiver: $receiver, .. } => $call,
        }
    };
}

impl Endpoints {
    /// Endpoints without a connection. A controller that needs congestion marks gets them.
    pub fn new(config: &Arc<TransportConfig>, controller: Box<dyn Controller>) -> Endpoints {
        let ecn = controller.ecn();
        let config = match ecn {
            EcnMode::None => config.clone(),
            _ => Arc::new(TransportConfig { ecn: true, ..TransportConfig::clone(config) }),
        };
        match config.protocol {
            Protocol::Tcp => {
                let mut receiver = Receiver::new(&config);
                if ecn == EcnMode::Accurate {
                    receiver.set_ecn_echo(EcnEcho::Dctcp);
                }
                Endpoints::Tcp { sender: Sender::new(config, controller), receiver }
            }
            Protocol::Quic => {
                Endpoints::Quic { receiver: QuicReceiver::new(&config), sender: QuicSender::new(&config, controller) }
            }
        }
    }

    /// The handshake is complete; its answer was under way for `way_back`.
    pub fn establish(&mut self, now: Time, rtt: Duration, way_back: Duration, syn_retransmits: u32) {
        sender!(self, sender => sender.establish(now, rtt, syn_retransmits));
        if let Endpoints::Tcp { receiver, .. } = self {
            receiver.set_handshake(rtt, way_back);
        }
    }

    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        sender!(self, sender => sender.write(now, segments, last_len));
    }

    pub fn close(&mut self) {
        sender!(self, sender => sender.close());
    }

    pub fn has_unsent(&self) -> bool {
        sender!(self, sender => sender.unsent_segments() > 0)
    }

    pub fn is_idle(&self) -> bool {
        sender!(self, sender => sender.is_idle())
    }

    #[inline]
    pub fn view(&self) -> &View {
        sender!(self, sender => sender.view())
    }

    /// What the controller may change.
    pub fn control(&self) -> &Control {
        sender!(self, sender => sender.control())
    }

    pub fn controller(&self) -> &dyn Controller {
        sender!(self, sender => sender.controller())
    }

    #[inline]
    pub fn last_sample(&self) -> &RateSample {
        sender!(self, sender => sender.last_sample())
    }

    pub fn sender_stats(&self) -> SenderStats {
        sender!(self, sender => sender.stats())
    }

    pub fn receiver_stats(&self) -> ReceiverStats {
        receiver!(self, receiver => receiver.stats())
    }

    #[inline]
    pub fn sender_timer(&self) -> Time {
        sender!(self, sender => sender.next_timer())
    }

    #[inline(always)]
    pub fn on_sender_timer(&mut self, now: Time) {
        sender!(self, sender => sender.on_timer(now));
    }

    #[inline]
    pub fn receiver_timer(&self) -> Time {
        receiver!(self, receiver => receiver.next_timer())
    }
}
