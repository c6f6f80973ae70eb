//! noq's own controllers, by name: `noq:cubic`, `noq:new-reno`, `noq:bbr3`. What is here stands for them in experiment
//! files and results; the library makes them itself.

use super::NAME;
use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::RegisterError;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_transport::udp::NoParameters;
use dumbbell_units::Rng;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// What makes a controller of the library.
pub(super) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// A controller of the library.
trait Own: Send + 'static {
    const NAME: &'static str;
    const EXACT_NAME: &'static str;
    const SUMMARY: &'static str;
    /// It has no slow-start threshold, and sets its pacing rate.
    const HAS_FULL_CONTROL: bool = false;
    fn factory() -> Factory;
}

struct Cubic;
struct NewReno;
struct Bbr3;

impl Own for Cubic {
    const NAME: &'static str = "noq:cubic";
    const EXACT_NAME: &'static str = "cubic-noq-1.4";
    const SUMMARY: &'static str = "CUBIC as the QUIC library noq has it.";

    fn factory() -> Factory {
        Arc::new(CubicConfig::default())
    }
}

impl Own for NewReno {
    const NAME: &'static str = "noq:new-reno";
    const EXACT_NAME: &'static str = "new-reno-noq-1.4";
    const SUMMARY: &'static str = "NewReno as the QUIC library noq has it.";

    fn factory() -> Factory {
        Arc::new(NewRenoConfig::default())
    }
}

impl Own for Bbr3 {
    const NAME: &'static str = "noq:bbr3";
    const EXACT_NAME: &'static str = "bbr3-noq-1.4";
    const SUMMARY: &'static str =
        "BBRv3 as the QUIC library noq has it; what it draws by chance cannot be repeated, so two runs differ.";
    const HAS_FULL_CONTROL: bool = true;

    fn factory() -> Factory {
        Arc::new(Bbr3Config::default())
    }
}

/// Stands for a controller of the library.
struct StandIn<K> {
    exact_name: Arc<str>,
    kind: PhantomData<K>,
}

impl<K: Own> Controller for StandIn<K> {
    fn algorithm(&self) -> &str {
        &self.exact_name
    }

    fn belongs_to(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn full_control(&self) -> bool {
        K::HAS_FULL_CONTROL
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.ssthresh
    }
}

impl<K: Own> Algorithm for StandIn<K> {
    type Parameters = NoParameters;
    const NAME: &'static str = K::NAME;
    const EXACT_NAME: &'static str = K::EXACT_NAME;
    const SUMMARY: &'static str = K::SUMMARY;
    const SOURCE: &'static str = "noq-proto 1.4: src/congestion";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(_parameters: Arc<NoParameters>, _rng: Rng, exact_name: Arc<str>) -> StandIn<K> {
        StandIn { exact_name, kind: PhantomData }
    }
}

/// What makes the library's controller, if that is what `controller` stands for.
pub(super) fn factory(controller: &dyn Controller) -> Option<Factory> {
    fn of<K: Own>(controller: &dyn Any) -> Option<Factory> {
        controller.is::<StandIn<K>>().then(K::factory)
    }
    let controller: &dyn Any = controller;
    of::<Cubic>(controller).or_else(|| of::<NewReno>(controller)).or_else(|| of::<Bbr3>(controller))
}

/// Adds the library's controllers to a catalogue.
///
/// # Errors
/// A name is taken.
pub(super) fn add_to(catalog: &mut Catalog) -> Result<(), RegisterError> {
    catalog.register::<StandIn<Cubic>>()?;
    catalog.register::<StandIn<NewReno>>()?;
    catalog.register::<StandIn<Bbr3>>()
}
