//! DCTCP (Alizadeh and others, 2010; RFC 8257; Linux's `tcp_dctcp.c`): reduces by the share of marked packets.
//!
//! A switch marks every packet that finds more than K packets in its queue, the receiver echoes exactly which ones, and
//! once a window `alpha` moves towards the share that was marked. A window with marks then loses `alpha / 2` of itself:
//! little where little was marked. Growth and the answer to losses are Reno's. For data centres, where all flows do so
//! and all switches mark; without marks it is Reno.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{AckFlags, Algorithm, CaState, Control, Controller, EcnMode, Event, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// `alpha` of 1 (`DCTCP_MAX_ALPHA`).
const ONE: u64 = 1024;

/// Constants of [`Dctcp`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Weight of a window in `alpha`: one divided by two to the power of this.
    #[schemars(range(max = 10), extend("x-source" = "tcp_dctcp.c: dctcp_shift_g; RFC 8257: g = 1/16"))]
    pub shift_g: u32,
    /// `alpha` of a new connection in 1/1024.
    #[schemars(range(max = 1024), extend("x-source" = "tcp_dctcp.c: dctcp_alpha_on_init"))]
    pub alpha_on_init: u32,
    /// A mistake of the past, for seeing what it does: `sticky_alpha` or `deaf_to_loss`; absent is none.
    #[schemars(extend("x-default" = "none", "x-source" = "dumbbell check museum"))]
    pub fault: Option<Fault>,
}

/// Mistakes that DCTCP had in Linux, and has no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Below 16 of 1024 `alpha` does not fall any more (until 4.3, c80dbe046129, October 2015).
    StickyAlpha,
    /// A loss reduces nothing; only marks do (until 5.1, aecfde23108b, April 2019).
    DeafToLoss,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { shift_g: 4, alpha_on_init: 1024, fault: None }
    }
}

impl ParameterSet for Parameters {}

/// The DCTCP controller.
#[derive(Clone, Debug)]
pub struct Dctcp {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// Share of marked packets in 1/1024.
    alpha: u64,
    /// The window ends when this is acknowledged (`next_seq`).
    window_end: u64,
    /// `delivered` and `delivered_ce` when it began.
    delivered: u64,
    delivered_ce: u64,
    /// Window at the last reduction (`loss_cwnd`).
    reduced_from: u32,
}

impl Dctcp {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Dctcp {
        let parameters = parameters.into();
        Dctcp {
            name: Dctcp::EXACT_NAME.into(),
            alpha: u64::from(parameters.alpha_on_init),
            parameters,
            window_end: 0,
            delivered: 0,
            delivered_ce: 0,
            reduced_from: 0,
        }
    }

    fn begin_window(&mut self, view: &View) {
        self.window_end = view.snd_nxt;
        self.delivered = view.delivered;
        self.delivered_ce = view.delivered_ce;
    }

    /// Once a window `alpha` follows the share of marked packets (`dctcp_update_alpha`).
    fn update_alpha(&mut self, view: &View) {
        let shift = self.parameters.shift_g;
        let decay = self.alpha >> shift;
        let sticks = self.parameters.fault == Some(Fault::StickyAlpha);
        self.alpha -= if decay == 0 && !sticks { self.alpha } else { decay };
        let marked = view.delivered_ce - self.delivered_ce;
        let delivered = (view.delivered - self.delivered).max(1);
        self.alpha = (self.alpha + marked * (ONE >> shift) / delivered).min(ONE);
        self.begin_window(view);
    }

    /// A loss halves, whatever was marked (`dctcp_react_to_loss`).
    fn react_to_loss(&mut self, control: &mut Control) {
        if self.parameters.fault == Some(Fault::DeafToLoss) {
            return;
        }
        self.reduced_from = control.cwnd;
        control.ssthresh = control.half();
    }
}

impl Algorithm for Dctcp {
    type Parameters = Parameters;
    const NAME: &str = "dctcp";
    const EXACT_NAME: &str = "dctcp-linux-6.18";
    const SUMMARY: &str =
        "DCTCP: reduces by half the share of packets that switches marked; for data centres with threshold marking";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_dctcp.c; RFC 8257";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Dctcp {
        Dctcp { name: exact_name, ..Dctcp::new(parameters) }
    }
}

impl Controller for Dctcp {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.begin_window(view);
    }

    fn hooks(&self) -> Hooks {
        Hooks { in_ack_event: true, ..Hooks::NONE }
    }

    fn ecn(&self) -> EcnMode {
        EcnMode::Accurate
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most half of the window")]
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.reduced_from = control.cwnd;
        let reduction = u64::from(control.cwnd) * self.alpha / (2 * ONE);
        (control.cwnd - reduction as u32).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        control.grow_like_reno(view, acked);
    }

    fn in_ack_event(&mut self, view: &View, _control: &mut Control, _flags: AckFlags) {
        if view.snd_una >= self.window_end {
            self.update_alpha(view);
        }
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        if next == CaState::Recovery && view.ca_state != CaState::Recovery {
            self.react_to_loss(control);
        }
    }

    fn event(&mut self, _view: &View, control: &mut Control, event: Event) {
        if event == Event::Loss {
            self.react_to_loss(control);
        }
    }

    fn undo_cwnd(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd.max(self.reduced_from)
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec![Cow::Borrowed("alpha")]
    }

    #[expect(clippy::cast_precision_loss, reason = "at most 1024")]
    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values[0] = self.alpha as f64 / ONE as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;

    fn begun(cwnd: u32) -> (Dctcp, Side) {
        let mut dctcp = Dctcp::new(Parameters::default());
        let mut c = Side::limited(cwnd, 10);
        dctcp.init(&c.view, &mut c.control);
        (dctcp, c)
    }

    /// A window of 100 packets is acknowledged, so many of them marked.
    fn window(dctcp: &mut Dctcp, c: &mut Side, marked: u64) {
        c.view.snd_nxt += 100;
        c.view.snd_una = c.view.snd_nxt;
        c.view.delivered += 100;
        c.view.delivered_ce += marked;
        dctcp.in_ack_event(&c.view, &mut c.control, AckFlags::default());
    }

    #[test]
    fn the_first_mark_halves_as_in_reno() {
        let (mut dctcp, c) = begun(100);
        assert_eq!(dctcp.ssthresh(&c.view, &c.control), 50);
    }

    #[test]
    fn alpha_follows_the_share_of_marked_packets_and_the_reduction_follows_alpha() {
        let (mut dctcp, mut c) = begun(100);
        for _ in 0..200 {
            window(&mut dctcp, &mut c, 25);
        }
        assert!((256..=271).contains(&dctcp.alpha), "{} of 1024 for a quarter", dctcp.alpha);
        let ssthresh = dctcp.ssthresh(&c.view, &c.control);
        assert!((87..=89).contains(&ssthresh), "an eighth less than 100: {ssthresh}");
    }

    /// W* is the window at which the switch begins to mark; a round above it is marked whole (Alizadeh and others,
    /// section 3.3).
    #[test]
    fn alpha_settles_at_the_root_of_two_over_the_window_at_which_marks_begin() {
        for largest in [50, 200, 800] {
            let (mut dctcp, mut c) = begun(largest);
            let mut alphas = Vec::new();
            for n in 0..2_000 {
                let cwnd = c.control.cwnd;
                let is_marked = cwnd > largest;
                c.view.snd_nxt += u64::from(cwnd);
                c.view.snd_una = c.view.snd_nxt;
                c.view.delivered += u64::from(cwnd);
                c.view.delivered_ce += if is_marked { u64::from(cwnd) } else { 0 };
                dctcp.in_ack_event(&c.view, &mut c.control, AckFlags::default());
                c.control.cwnd = if is_marked { dctcp.ssthresh(&c.view, &c.control) } else { cwnd + 1 };
                if n >= 500 {
                    alphas.push(dctcp.alpha as f64 / 1024.0);
                }
            }
            let alpha = alphas.iter().sum::<f64>() / alphas.len() as f64;
            let law = (2.0 / f64::from(largest)).sqrt();
            assert!((alpha - law).abs() < 0.25 * law, "W* = {largest}: {alpha}, expected {law}");
        }
    }

    /// A reduction is a whole number of packets: less than two count as one, and up to 4/p the window stands still.
    /// Below 1/16 the kernel's resolution loses most marks.
    #[test]
    fn at_random_marks_the_window_is_two_over_their_probability() {
        let mut rng = Rng::new(3);
        for p in [0.25, 0.1] {
            let (mut dctcp, mut c) = begun(20);
            let mut sum = 0.0;
            for n in 0..6_000 {
                let cwnd = c.control.cwnd;
                let marked = (0..cwnd).filter(|_| rng.uniform() < p).count() as u64;
                c.view.snd_nxt += u64::from(cwnd);
                c.view.snd_una = c.view.snd_nxt;
                c.view.delivered += u64::from(cwnd);
                c.view.delivered_ce += marked;
                dctcp.in_ack_event(&c.view, &mut c.control, AckFlags::default());
                c.control.cwnd = if marked > 0 { dctcp.ssthresh(&c.view, &c.control) } else { cwnd };
                c.control.cwnd += 1;
                sum += if n >= 1_000 { f64::from(c.control.cwnd) } else { 0.0 };
            }
            let mean = sum / 5_000.0;
            assert!((1.8 / p..=4.0 / p).contains(&mean), "{mean} packets at a probability of {p}");
        }
    }

    #[test]
    fn without_marks_alpha_ends_at_nothing() {
        let (mut dctcp, mut c) = begun(100);
        window(&mut dctcp, &mut c, 0);
        assert_eq!(dctcp.alpha, 960);
        for _ in 0..200 {
            window(&mut dctcp, &mut c, 0);
        }
        assert_eq!(dctcp.alpha, 0, "the last sixteenth goes in one step");
    }

    #[test]
    fn a_loss_halves_whatever_alpha_is_and_can_be_undone() {
        let (mut dctcp, mut c) = begun(100);
        dctcp.alpha = 0;
        c.control.ssthresh = dctcp.ssthresh(&c.view, &c.control);
        assert_eq!(c.control.ssthresh, 100);
        dctcp.set_state(&c.view, &mut c.control, CaState::Recovery);
        assert_eq!(c.control.ssthresh, 50);
        c.control.cwnd = 50;
        assert_eq!(dctcp.undo_cwnd(&c.view, &c.control), 100);
        c.control.cwnd = 80;
        dctcp.event(&c.view, &mut c.control, Event::Loss);
        assert_eq!(c.control.ssthresh, 40);
    }
}
