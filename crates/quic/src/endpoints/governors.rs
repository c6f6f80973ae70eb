//! noq's own controllers, by name: `noq:cubic`, `noq:new-reno`, `noq:bbr3`. What is here stands for them in experiment
//! files and results; the library makes them itself.

use super::NAME;
use dumbbell_cc::catalog::RegisterError;
use dumbbell_cc::{Catalog, StandIn, StandsFor};
use dumbbell_cc_contract::Controller;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use std::any::Any;
use std::sync::Arc;

/// What makes a controller of the library.
pub(super) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

const SOURCE: &str = "noq-proto 1.4: src/congestion";

struct Cubic;
struct NewReno;
struct Bbr3;

impl StandsFor for Cubic {
    const NAME: &'static str = "noq:cubic";
    const EXACT_NAME: &'static str = "cubic-noq-1.4";
    const SUMMARY: &'static str = "CUBIC as the QUIC library noq has it.";
    const SOURCE: &'static str = SOURCE;
    const BELONGS_TO: Option<&'static str> = Some(NAME);
}

impl StandsFor for NewReno {
    const NAME: &'static str = "noq:new-reno";
    const EXACT_NAME: &'static str = "new-reno-noq-1.4";
    const SUMMARY: &'static str = "NewReno as the QUIC library noq has it.";
    const SOURCE: &'static str = SOURCE;
    const BELONGS_TO: Option<&'static str> = Some(NAME);
}

impl StandsFor for Bbr3 {
    const NAME: &'static str = "noq:bbr3";
    const EXACT_NAME: &'static str = "bbr3-noq-1.4";
    const SUMMARY: &'static str =
        "BBRv3 as the QUIC library noq has it; what it draws by chance cannot be repeated, so two runs differ.";
    const SOURCE: &'static str = SOURCE;
    const BELONGS_TO: Option<&'static str> = Some(NAME);
    // It has no slow-start threshold, and sets its pacing rate.
    const FULL_CONTROL: bool = true;
}

/// What makes the library's controller, if that is what `controller` stands for.
pub(super) fn factory(controller: &dyn Controller) -> Option<Factory> {
    let controller: &dyn Any = controller;
    if controller.is::<StandIn<Cubic>>() {
        Some(Arc::new(CubicConfig::default()))
    } else if controller.is::<StandIn<NewReno>>() {
        Some(Arc::new(NewRenoConfig::default()))
    } else if controller.is::<StandIn<Bbr3>>() {
        Some(Arc::new(Bbr3Config::default()))
    } else {
        None
    }
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
