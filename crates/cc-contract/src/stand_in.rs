//! What stands in the place of a controller, for experiment files and results, where the sender calls none.

use crate::parameters::NoParameters;
use crate::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use std::marker::PhantomData;
use std::sync::Arc;

/// What a [`StandIn`] stands for: a rule that is elsewhere, or none.
pub trait StandsFor: Send + Sync + 'static {
    /// [`Algorithm::NAME`].
    const NAME: &'static str;
    /// [`Algorithm::EXACT_NAME`].
    const EXACT_NAME: &'static str;
    /// [`Algorithm::SUMMARY`].
    const SUMMARY: &'static str;
    /// [`Algorithm::SOURCE`].
    const SOURCE: &'static str;
    /// [`Controller::belongs_to`].
    const BELONGS_TO: Option<&'static str> = None;
    /// [`Controller::full_control`].
    const FULL_CONTROL: bool = false;
}

/// Has a name and no parameters, and decides nothing.
pub struct StandIn<K> {
    exact_name: Arc<str>,
    kind: PhantomData<K>,
}

impl<K: StandsFor> Controller for StandIn<K> {
    fn algorithm(&self) -> &str {
        &self.exact_name
    }

    fn belongs_to(&self) -> Option<&'static str> {
        K::BELONGS_TO
    }

    fn full_control(&self) -> bool {
        K::FULL_CONTROL
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd
    }
}

impl<K: StandsFor> Algorithm for StandIn<K> {
    type Parameters = NoParameters;
    const NAME: &'static str = K::NAME;
    const EXACT_NAME: &'static str = K::EXACT_NAME;
    const SUMMARY: &'static str = K::SUMMARY;
    const SOURCE: &'static str = K::SOURCE;
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(_parameters: Arc<NoParameters>, _rng: Rng, exact_name: Arc<str>) -> StandIn<K> {
        StandIn { exact_name, kind: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Elsewhere;

    impl StandsFor for Elsewhere {
        const NAME: &'static str = "lib:fast";
        const EXACT_NAME: &'static str = "fast-lib-1.2";
        const SUMMARY: &'static str = "what a library does";
        const SOURCE: &'static str = "lib 1.2";
        const BELONGS_TO: Option<&'static str> = Some("lib");
        const FULL_CONTROL: bool = true;
    }

    struct Nothing;

    impl StandsFor for Nothing {
        const NAME: &'static str = "none";
        const EXACT_NAME: &'static str = "none";
        const SUMMARY: &'static str = "nothing";
        const SOURCE: &'static str = "nowhere";
    }

    fn stand_in<K: StandsFor>() -> StandIn<K> {
        StandIn::build(Arc::default(), Rng::stream(1, 0), K::EXACT_NAME.into())
    }

    #[test]
    fn a_stand_in_says_what_it_stands_for() {
        let controller = stand_in::<Elsewhere>();
        assert_eq!(controller.algorithm(), "fast-lib-1.2");
        assert_eq!((controller.belongs_to(), controller.full_control()), (Some("lib"), true));
        assert_eq!(<StandIn<Elsewhere> as Algorithm>::NAME, "lib:fast");
        let nothing = stand_in::<Nothing>();
        assert_eq!((nothing.belongs_to(), nothing.full_control()), (None, false));
    }

    #[test]
    fn a_stand_in_decides_nothing() {
        let mut controller = stand_in::<Nothing>();
        assert_eq!(controller.hooks(), Hooks::NONE);
        let (view, mut control) = (View::new(1448), Control { cwnd: 37, ..Control::default() });
        let before = control.clone();
        controller.init(&view, &mut control);
        assert_eq!(controller.ssthresh(&view, &control), 37);
        assert_eq!(control, before);
    }
}
