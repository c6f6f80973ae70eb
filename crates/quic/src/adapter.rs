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

#[cfg(test)]
mod tests {
    use super::*;
    use congestion::Controller as _;
    use dumbbell_cc_contract::{Control, View};

    type Heard = Arc<Mutex<Vec<String>>>;

    fn say(heard: &Heard, line: String) {
        heard.lock().unwrap().push(line);
    }

    /// A listener that writes down what it hears.
    struct Ear(Heard, Clock);

    impl Listener for Ear {
        fn clock(&self) -> Clock {
            self.1
        }

        fn hear(&self, call: Call) {
            say(&self.0, format!("{call:?}"));
        }

        fn metrics(&self) -> ControllerMetrics {
            metrics(1, Some(2))
        }

        fn initial_window(&self) -> u64 {
            3
        }

        fn again(&self) -> Box<dyn congestion::Controller> {
            Box::new(Told { listener: Ear(Arc::clone(&self.0), self.1), decides: None })
        }
    }

    /// A controller of the library that does the same.
    #[derive(Debug)]
    struct Own(Heard);

    impl congestion::Controller for Own {
        fn on_sent(&mut self, _: Instant, bytes: u64, largest_pn: u64) {
            say(&self.0, format!("own sent {bytes} {largest_pn}"));
        }

        fn on_packet_sent(&mut self, _: Instant, bytes: u16, pn: u64) {
            say(&self.0, format!("own packet sent {bytes} {pn}"));
        }

        fn on_cwnd_limited(&mut self) {
            say(&self.0, "own limited".to_owned());
        }

        fn on_end_acks(&mut self, _: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
            say(&self.0, format!("own acks {in_flight} {app_limited} {largest:?}"));
        }

        fn on_congestion_event(&mut self, _: Instant, _: Instant, persists: bool, is_ecn: bool, bytes: u64, pn: u64) {
            say(&self.0, format!("own congested {persists} {is_ecn} {bytes} {pn}"));
        }

        fn on_packet_lost(&mut self, bytes: u16, pn: u64, _: Instant) {
            say(&self.0, format!("own lost {bytes} {pn}"));
        }

        fn on_spurious_congestion_event(&mut self) {
            say(&self.0, "own spurious".to_owned());
        }

        fn on_mtu_update(&mut self, mtu: u16) {
            say(&self.0, format!("own mtu {mtu}"));
        }

        fn on_ack_frequency_update(&mut self, threshold: u64, delay: std::time::Duration) {
            say(&self.0, format!("own frequency {threshold} {delay:?}"));
        }

        fn window(&self) -> u64 {
            7
        }

        fn clone_box(&self) -> Box<dyn congestion::Controller> {
            Box::new(Own(Arc::clone(&self.0)))
        }

        fn initial_window(&self) -> u64 {
            8
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    /// What is heard of all that the library tells 5 ms after the clock began.
    fn story(told: &mut Told<Ear>) {
        let now = told.listener.clock().instant(Time::ZERO + Duration::from_millis(5));
        told.on_sent(now, 2_400, 9);
        told.on_packet_sent(now, 1_200, 9);
        told.on_cwnd_limited();
        told.on_end_acks(now, 600, true, Some(4));
        told.on_packet_lost(1_100, 3, now);
        told.on_congestion_event(now, now, false, true, 1_100, 3);
        told.on_spurious_congestion_event();
        told.on_mtu_update(1_400);
        told.on_ack_frequency_update(2, std::time::Duration::from_millis(25));
    }

    fn told(has_own: bool) -> (Told<Ear>, Heard) {
        let heard = Heard::default();
        let decides = has_own.then(|| Box::new(Own(Arc::clone(&heard))) as Box<dyn congestion::Controller>);
        (Told { listener: Ear(Arc::clone(&heard), Clock::starting_now()), decides }, heard)
    }

    #[test]
    fn a_listener_hears_what_the_library_tells_at_the_instant_of_its_own_clock() {
        let (mut told, heard) = told(false);
        story(&mut told);
        let heard = heard.lock().unwrap();
        let kinds: Vec<&str> = heard.iter().map(|call| call.split([' ', '(']).next().unwrap()).collect();
        assert_eq!(kinds, ["Sent", "CwndLimited", "EndAck", "Lost", "Congested", "Spurious", "Mtu"]);
        assert!(heard.iter().filter(|call| call.contains("now")).count() == 4);
        let now = format!("now: {:?}", Time::ZERO + Duration::from_millis(5));
        assert!(heard.iter().filter(|call| call.contains("now")).all(|call| call.contains(&now)), "{heard:?}");
    }

    #[test]
    fn a_controller_of_the_library_decides_and_hears_everything_too() {
        let (mut told, heard) = told(true);
        story(&mut told);
        let own: Vec<String> = heard.lock().unwrap().iter().filter(|call| call.starts_with("own")).cloned().collect();
        let expected = [
            "own sent 2400 9",
            "own packet sent 1200 9",
            "own limited",
            "own acks 600 true Some(4)",
            "own lost 1100 3",
            "own congested false true 1100 3",
            "own spurious",
            "own mtu 1400",
            "own frequency 2 25ms",
        ];
        assert_eq!(own, expected);
        assert_eq!((told.window(), told.initial_window()), (7, 8));
        assert!(format!("{told:?}").contains("Own"));
    }

    #[test]
    fn without_one_the_listener_decides() {
        let (told, heard) = told(false);
        assert_eq!((told.window(), told.metrics().pacing_rate, told.initial_window()), (1, Some(2), 3));
        // Another path of the connection.
        told.clone_box().on_spurious_congestion_event();
        assert_eq!(*heard.lock().unwrap(), ["Spurious"]);
        assert!(Box::new(told).into_any().is::<Told<Ear>>());
    }

    #[test]
    fn a_clock_counts_from_its_beginning() {
        let clock = Clock::starting_now();
        let at = Time::ZERO + Duration::from_nanos(1_234_567);
        assert_eq!(clock.time(clock.instant(at)), at);
        let later = Clock(clock.instant(at));
        assert_eq!(later.time(clock.instant(Time::ZERO)), Time::ZERO, "what was before");
    }

    struct Fixed;

    impl Controller for Fixed {
        fn algorithm(&self) -> &'static str {
            "fixed"
        }

        fn init(&mut self, _: &View, _: &mut Control) {}

        fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
            control.cwnd
        }
    }

    #[test]
    fn controllers_of_ours_begin_with_a_window_of_ten_packets_or_as_many_as_they_are_given() {
        let first = |controllers: Controllers| {
            let built = Arc::new(controllers).build(Instant::now(), 1_250);
            let other_path = built.clone_box();
            assert_eq!((built.initial_window(), other_path.window()), (built.window(), built.window()));
            built.window()
        };
        let controllers = Controllers::new(|| Box::new(Fixed));
        assert_eq!(first(controllers.clone()), 12_500);
        assert_eq!(first(controllers.with_initial_cwnd(4)), 5_000);
    }
}
