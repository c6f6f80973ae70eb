//! Controllers as the library knows them: one of ours that stands alone, and one that passes on what it is told.

use crate::governor::{Acked, Congestion, Governor, Terms};
use dumbbell_cc_contract::Controller;
use dumbbell_units::{Duration, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The library's clock as ours: both count from one instant.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Time zero is now.
    pub fn starting_now() -> Clock {
        Clock(Instant::now())
    }

    /// Our time of an instant; time zero for what was before.
    pub fn time(self, at: Instant) -> Time {
        Time::ZERO + span(at.saturating_duration_since(self.0))
    }

    /// The instant of a time.
    pub fn instant(self, at: Time) -> Instant {
        self.0 + std::time::Duration::from_nanos(at.as_nanos())
    }
}

fn span(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// Something that a library tells a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Sent { now: Time, bytes: u16, number: u64 },
    CwndLimited,
    Acked { now: Time, acked: Acked },
    EndAck { now: Time, bytes_in_flight: u64, is_app_limited: bool },
    Lost { now: Time, bytes: u16, number: u64 },
    Congested { now: Time, event: Congestion },
    Spurious,
    Mtu(u16),
}

impl Governor {
    pub(crate) fn hear(&mut self, call: Call) {
        match call {
            Call::Sent { now, bytes, number } => self.sent(now, bytes, number),
            Call::CwndLimited => self.cwnd_limited(),
            Call::Acked { now, acked } => self.acked(now, acked),
            Call::EndAck { now, bytes_in_flight, is_app_limited } => self.end_ack(now, bytes_in_flight, is_app_limited),
            Call::Lost { now, bytes, number } => self.lost(now, bytes, number),
            Call::Congested { now, event } => self.congested(now, event),
            Call::Spurious => self.spurious(),
            Call::Mtu(mtu) => self.set_mtu(mtu),
        }
    }
}

/// Who hears what a library tells, and answers its questions.
pub(crate) trait Listener: Send + Sync + 'static {
    fn clock(&self) -> Clock;
    fn hear(&self, call: Call);
    fn metrics(&self) -> ControllerMetrics;
    fn initial_window(&self) -> u64;
    /// The same for another path of the connection.
    fn again(&self) -> Box<dyn congestion::Controller>;
}

/// A listener as the library's controller, and perhaps one of the library's own that decides.
pub(crate) struct Told<L> {
    pub listener: L,
    pub decides: Option<Box<dyn congestion::Controller>>,
}

impl<L> fmt::Debug for Told<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told").field("decides", &self.decides).finish_non_exhaustive()
    }
}

impl<L: Listener> congestion::Controller for Told<L> {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        if let Some(own) = &mut self.decides {
            own.on_sent(now, bytes, largest_pn);
        }
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        if let Some(own) = &mut self.decides {
            own.on_packet_sent(now, bytes, pn);
        }
        self.listener.hear(Call::Sent { now: self.listener.clock().time(now), bytes, number: pn });
    }

    fn on_cwnd_limited(&mut self) {
        if let Some(own) = &mut self.decides {
            own.on_cwnd_limited();
        }
        self.listener.hear(Call::CwndLimited);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        if let Some(own) = &mut self.decides {
            own.on_ack(now, sent, bytes, pn, app_limited, rtt);
        }
        let clock = self.listener.clock();
        let acked = Acked { number: pn, sent_at: clock.time(sent), bytes, srtt: span(rtt.get()) };
        self.listener.hear(Call::Acked { now: clock.time(now), acked });
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        if let Some(own) = &mut self.decides {
            own.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        }
        let now = self.listener.clock().time(now);
        self.listener.hear(Call::EndAck { now, bytes_in_flight: in_flight, is_app_limited: app_limited });
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        if let Some(own) = &mut self.decides {
            own.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
        }
        let event = Congestion { largest: largest_lost_pn, is_persistent: is_persistent_congestion, is_ecn };
        self.listener.hear(Call::Congested { now: self.listener.clock().time(now), event });
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        if let Some(own) = &mut self.decides {
            own.on_packet_lost(lost_bytes, pn, now);
        }
        self.listener.hear(Call::Lost { now: self.listener.clock().time(now), bytes: lost_bytes, number: pn });
    }

    fn on_spurious_congestion_event(&mut self) {
        if let Some(own) = &mut self.decides {
            own.on_spurious_congestion_event();
        }
        self.listener.hear(Call::Spurious);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        if let Some(own) = &mut self.decides {
            own.on_mtu_update(new_mtu);
        }
        self.listener.hear(Call::Mtu(new_mtu));
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: std::time::Duration) {
        if let Some(own) = &mut self.decides {
            own.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
        }
    }

    fn window(&self) -> u64 {
        self.metrics().congestion_window
    }

    fn metrics(&self) -> ControllerMetrics {
        self.decides.as_ref().map_or_else(|| self.listener.metrics(), |own| own.metrics())
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        self.listener.again()
    }

    fn initial_window(&self) -> u64 {
        self.decides.as_ref().map_or_else(|| self.listener.initial_window(), |own| own.initial_window())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// What makes a controller of ours for a connection.
pub type Make = dyn Fn() -> Box<dyn Controller> + Send + Sync;

/// Our controllers for connections of noq: give it to `TransportConfig::congestion_controller_factory`.
#[derive(Clone)]
pub struct Controllers {
    make: Arc<Make>,
    initial_cwnd: u32,
}

impl Controllers {
    /// Each connection, and each path of one, gets a controller that `make` makes. The first window has ten packets.
    pub fn new(make: impl Fn() -> Box<dyn Controller> + Send + Sync + 'static) -> Controllers {
        Controllers { make: Arc::new(make), initial_cwnd: dumbbell_cc_contract::Control::INITIAL_CWND }
    }

    /// The first window has `packets` packets.
    #[must_use]
    pub fn with_initial_cwnd(self, packets: u32) -> Controllers {
        Controllers { initial_cwnd: packets, ..self }
    }
}

impl ControllerFactory for Controllers {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        let listener = Alone::new(Controllers::clone(&self), Clock(now), current_mtu);
        Box::new(Told { listener, decides: None })
    }
}

/// A governor of its own. The library asks for the window when an ACK has been told as a whole, and nothing else says
/// so; hence the lock around what a question settles.
struct Alone {
    controllers: Controllers,
    clock: Clock,
    mtu: u16,
    governor: Mutex<Governor>,
}

impl Alone {
    fn new(controllers: Controllers, clock: Clock, mtu: u16) -> Alone {
        let terms = Terms { mtu, initial_cwnd: controllers.initial_cwnd, undo: true };
        let governor = Mutex::new(Governor::new((controllers.make)(), terms));
        Alone { controllers, clock, mtu, governor }
    }

    fn governor(&self) -> MutexGuard<'_, Governor> {
        self.governor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Alone {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn hear(&self, call: Call) {
        self.governor().hear(call);
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut governor = self.governor();
        governor.settle();
        metrics(governor.window(), governor.pacing_rate())
    }

    fn initial_window(&self) -> u64 {
        u64::from(self.controllers.initial_cwnd) * u64::from(self.mtu)
    }

    fn again(&self) -> Box<dyn congestion::Controller> {
        let listener = Alone::new(self.controllers.clone(), self.clock, self.mtu);
        Box::new(Told { listener, decides: None })
    }
}

/// What the library is told of window and pacing rate.
pub(crate) fn metrics(window: u64, pacing_rate: Option<u64>) -> ControllerMetrics {
    let mut metrics = ControllerMetrics::default();
    metrics.congestion_window = window;
    metrics.pacing_rate = pacing_rate;
    metrics
}
