//! The two ends of a flow, over the transport that the scenario chose.

use dumbbell_cc::{Controller, Fault};
use dumbbell_path::{Ecn, Schedule};
use dumbbell_transport::{
    Act, Endpoint, FrameCounts, Handshake, Protocol, Receiver, ReceiverStats, Sender, SenderStats, Sending, Steer,
    TransportConfig, probe, quic, real_time, udp,
};
use dumbbell_units::Time;
use std::sync::Arc;

/// Sender and receiver of a flow.
#[expect(clippy::large_enum_variant, reason = "TCP is the common case; behind a pointer every packet would pay")]
pub(crate) enum Endpoints {
    Tcp { sender: Sender, receiver: Receiver },
    Other(Ends),
}

/// Two ends that speak whatever they like. The near one is where the application writes and the forward route begins.
pub(crate) struct Ends {
    pub near: Box<dyn Endpoint>,
    pub far: Box<dyn Endpoint>,
}

impl Endpoints {
    /// Endpoints without a connection. A controller that needs congestion marks gets them. What endpoints draw by chance
    /// comes from `seed`.
    pub fn new(
        config: &Arc<TransportConfig>,
        controller: Box<dyn Controller>,
        seed: impl FnOnce() -> u64,
    ) -> Endpoints {
        let wanted = controller.ecn();
        let ecn = config.ecn.with(wanted);
        let config = match ecn == config.ecn {
            true => config.clone(),
            false => Arc::new(TransportConfig { ecn, ..TransportConfig::clone(config) }),
        };
        let mss = u16::try_from(config.mss).unwrap_or(u16::MAX);
        match config.protocol {
            Protocol::Tcp => {
                let mut receiver = Receiver::new(&config);
                receiver.set_ecn_echo(ecn.echo(wanted));
                Endpoints::Tcp { sender: Sender::new(config, controller), receiver }
            }
            Protocol::Quic => Endpoints::of(quic::endpoints(config, controller)),
            Protocol::Udp => Endpoints::of(udp::endpoints(mss)),
            Protocol::Probe => Endpoints::of(probe::endpoints(&config.probe, mss)),
            Protocol::RealTime => Endpoints::of(real_time::endpoints(&config.real_time, mss, ecn.codepoint(wanted))),
            Protocol::Library(library) => Endpoints::of(library.endpoints(&config, controller, seed())),
        }
    }

    fn of((near, far): (Box<dyn Endpoint>, Box<dyn Endpoint>)) -> Endpoints {
        Endpoints::Other(Ends { near, far })
    }

    /// The receiving application reads at these rates.
    pub fn set_reader(&mut self, schedule: &Arc<Schedule<u64>>) {
        if let Endpoints::Tcp { receiver, .. } = self {
            receiver.set_reader(schedule.clone());
        }
    }

    /// Every segment and every ACK takes the general way.
    pub fn predict_nothing(&mut self) {
        if let Endpoints::Tcp { sender, receiver } = self {
            sender.predict_nothing();
            receiver.predict_nothing();
        }
    }

    /// Whether the near end may send without an answer of the far end.
    pub fn is_connectionless(&self) -> bool {
        match self {
            Endpoints::Tcp { .. } => false,
            Endpoints::Other(ends) => ends.near.report().is_connectionless,
        }
    }

    /// Whether the near end has to be told when its host's device is done with packets.
    pub fn wants_completions(&self) -> bool {
        matches!(self, Endpoints::Tcp { sender, .. } if sender.wants_completions())
    }

    /// The ends may send.
    pub fn establish(&mut self, now: Time, handshake: Handshake) {
        match self {
            Endpoints::Tcp { sender, receiver } => {
                sender.establish(now, handshake);
                receiver.set_handshake(handshake.way_there + handshake.way_back);
            }
            Endpoints::Other(ends) => {
                ends.near.on_application(now, Act::Establish(handshake));
                ends.far.on_application(now, Act::Establish(handshake));
            }
        }
    }

    /// The far end hears that its answer in the handshake has arrived.
    pub fn accept(&mut self, now: Time) {
        if let Endpoints::Tcp { receiver, .. } = self {
            receiver.accept(now);
        }
    }

    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        match self {
            Endpoints::Tcp { sender, .. } => sender.write(now, segments, last_len),
            Endpoints::Other(ends) => {
                ends.near.on_application(now, Act::Write { segments, last_len });
            }
        }
    }

    /// The application takes back at `now` what it has written and what has not been sent once, but for what a send
    /// buffer holds; returns how many bytes.
    pub fn withdraw(&mut self, now: Time) -> u64 {
        let unsent = self.unsent_bytes();
        match self {
            Endpoints::Tcp { sender, .. } => sender.close(),
            Endpoints::Other(ends) => {
                ends.near.on_application(now, Act::Close);
            }
        }
        unsent - self.unsent_bytes()
    }

    fn unsent_bytes(&self) -> u64 {
        match self {
            Endpoints::Other(ends) => ends.near.report().unsent,
            Endpoints::Tcp { sender, .. } => sender.unsent_bytes(),
        }
    }

    pub fn is_idle(&self) -> bool {
        match self {
            Endpoints::Tcp { sender, .. } => sender.is_idle(),
            Endpoints::Other(ends) => ends.near.report().is_idle,
        }
    }

    /// The sending of the near end; `None` where no controller governs it.
    #[inline]
    pub fn sending(&self) -> Option<Sending<'_>> {
        match self {
            Endpoints::Tcp { sender, .. } => Some(Sending {
                view: sender.view(),
                control: sender.control(),
                controller: sender.controller(),
                sample: sender.last_sample(),
                stats: sender.stats(),
                sender,
            }),
            Endpoints::Other(ends) => ends.near.report().sending,
        }
    }

    /// Somebody outside speaks to the controller of the near end. Returns whether a lever has changed; `None` where
    /// it has no controller.
    pub fn steer(&mut self, now: Time, steer: &mut Steer<'_>) -> Option<bool> {
        match self {
            Endpoints::Tcp { sender, .. } => Some(sender.steer(now, steer)),
            Endpoints::Other(ends) => {
                let has_controller = ends.near.report().sending.is_some();
                has_controller.then(|| ends.near.on_application(now, Act::Steer(steer)))
            }
        }
    }

    /// What the near end has sent.
    pub fn sent(&self) -> SenderStats {
        match self {
            Endpoints::Tcp { sender, .. } => *sender.stats(),
            Endpoints::Other(ends) => ends.near.report().sent.copied().unwrap_or_default(),
        }
    }

    /// Whether expiries of timers, probes and duplicates are unknown.
    pub fn hides_timers(&self) -> bool {
        matches!(self, Endpoints::Other(ends) if ends.near.report().hides_timers)
    }

    /// Why an end itself cannot go on.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Endpoints::Tcp { .. } => None,
            Endpoints::Other(ends) => ends.near.report().fault.or(ends.far.report().fault),
        }
    }

    /// Whether an end, or the controller, may ever be unable to go on.
    pub fn may_fail(&self) -> bool {
        let has_hook = self.sending().is_some_and(|sending| sending.controller.hooks().fault);
        has_hook || matches!(self, Endpoints::Other(ends) if ends.near.report().may_fail)
    }

    /// Packets that the near end knows or takes to be lost.
    pub fn lost(&self) -> u64 {
        self.known_losses().unwrap_or(0)
    }

    /// Whether the near end hears of losses.
    pub fn knows_losses(&self) -> bool {
        self.known_losses().is_some()
    }

    fn known_losses(&self) -> Option<u64> {
        match self {
            Endpoints::Tcp { sender, .. } => Some(sender.view().lost),
            Endpoints::Other(ends) => {
                let report = ends.near.report();
                report.sending.map(|sending| sending.view.lost).or(report.lost)
            }
        }
    }

    /// ECN bits of the far end's ACKs, where the engine makes packets of them.
    pub fn ack_codepoint(&self) -> Ecn {
        match self {
            Endpoints::Tcp { sender, .. } => sender.codepoint_again(),
            Endpoints::Other(_) => Ecn::NotEct,
        }
    }

    /// The frames that the far end has received.
    pub fn frames(&self) -> FrameCounts {
        match self {
            Endpoints::Tcp { .. } => FrameCounts::default(),
            Endpoints::Other(ends) => ends.far.report().frames,
        }
    }

    /// What the far end has received.
    #[inline]
    pub fn received(&self) -> ReceiverStats {
        match self {
            Endpoints::Tcp { receiver, .. } => receiver.stats(),
            Endpoints::Other(ends) => ends.far.report().received.copied().unwrap_or_default(),
        }
    }

    /// Bytes of memory that packets in flight claim.
    #[inline]
    pub fn memory(&self) -> u64 {
        match self {
            Endpoints::Tcp { sender, .. } => sender.memory(),
            Endpoints::Other(ends) => ends.near.report().memory + ends.far.report().memory,
        }
    }

    #[inline]
    pub fn sender_timer(&self) -> Time {
        match self {
            Endpoints::Tcp { sender, .. } => sender.next_timer(),
            Endpoints::Other(ends) => ends.near.next_timer(),
        }
    }

    #[inline]
    pub fn receiver_timer(&self) -> Time {
        match self {
            Endpoints::Tcp { receiver, .. } => receiver.next_timer(),
            Endpoints::Other(ends) => ends.far.next_timer(),
        }
    }
}
