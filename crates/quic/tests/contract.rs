//! A controller in noq is called in the order that `dumbbell_cc_contract::Controller` documents: one that checks it governs a
//! flow with losses and reordering.

#![allow(clippy::unwrap_used, reason = "tests")]

use dumbbell_cc::parameters::NoParameters;
use dumbbell_cc::{AckFlags, Algorithm, CaState, Control, Controller, Event, LostPacket, RateSample, View};
use dumbbell_scenario::Experiment;
use dumbbell_units::Rng;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls of the two tests are counted one test after the other.
static COUNTS: Mutex<()> = Mutex::new(());
static REDUCTIONS: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);
static UNDONE: AtomicU32 = AtomicU32::new(0);

/// Halves its window at a loss and grows by a packet a window; `OWNS` says whether it has full control.
struct Strict<const OWNS: bool> {
    name: Arc<str>,
    is_established: bool,
    has_started: bool,
    state: CaState,
    /// A threshold was asked for, and the state has not followed.
    reduces: bool,
    /// A spurious reduction was taken back, and the state has not followed.
    undoes: bool,
    lost: u64,
    delivered: u64,
    /// What the present ACK delivers.
    acked: u32,
}

impl<const OWNS: bool> Controller for Strict<OWNS> {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn full_control(&self) -> bool {
        OWNS
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        assert!(!self.is_established, "once");
        assert!(view.min_rtt_us < View::UNKNOWN_RTT && view.srtt_us_x8 > 0 && control.cwnd == 10);
        self.is_established = true;
        control.pacing_rate = 1_000_000;
    }

    fn event(&mut self, view: &View, _: &mut Control, event: Event) {
        assert!(self.is_established);
        match event {
            Event::TxStart => {
                assert!(!self.has_started || view.packets_out == 0);
                self.has_started = true;
            }
            Event::CompleteCwr => assert!(!OWNS && self.state == CaState::Open),
            Event::Loss => assert!(self.reduces),
            _ => {}
        }
    }

    fn pkts_acked(&mut self, view: &View, _: &mut Control, acked: u32, rtt_us: i64, _: u32) {
        assert!(self.has_started && acked > 0);
        assert_eq!(view.delivered, self.delivered + u64::from(acked), "all of it");
        (self.delivered, self.acked) = (view.delivered, acked);
        assert!(rtt_us == -1 || rtt_us >= i64::from(view.min_rtt_us));
    }

    fn in_ack_event(&mut self, _: &View, _: &mut Control, _: AckFlags) {
        assert!(self.has_started);
    }

    fn packet_lost(&mut self, view: &View, _: &mut Control, lost: &LostPacket) {
        self.lost += 1;
        assert_eq!(view.lost, self.lost, "each one by itself");
        assert!(lost.tx_in_flight > 0 && lost.delivered <= view.delivered && lost.lost < view.lost);
        LOST.fetch_add(1, Ordering::Relaxed);
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        assert!(!self.reduces && view.ca_state == self.state && !view.in_reduction(), "over before it begins anew");
        self.reduces = true;
        REDUCTIONS.fetch_add(1, Ordering::Relaxed);
        control.half()
    }

    fn set_state(&mut self, view: &View, _: &mut Control, next: CaState) {
        assert_eq!(view.ca_state, self.state, "the old one");
        match next {
            CaState::Recovery | CaState::Cwr => assert!(std::mem::take(&mut self.reduces)),
            CaState::Loss => self.reduces = false,
            CaState::Open => self.undoes = false,
            CaState::Disorder => panic!("QUIC knows none"),
        }
        self.state = next;
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        assert!(!self.reduces);
        self.undoes = self.state != CaState::Open;
        UNDONE.fetch_add(1, Ordering::Relaxed);
        control.cwnd.max(view.prior_cwnd)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        assert!(!OWNS && !view.in_reduction() && !self.undoes && acked > 0 && acked <= self.acked);
        control.grow_like_reno(view, acked);
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        assert!(OWNS && !self.undoes && !self.reduces);
        assert_eq!((sample.acked_sacked, view.delivered), (self.acked, self.delivered), "once an ACK");
        if self.state == CaState::Open {
            control.cwnd = (control.cwnd + 1).min(60);
        }
    }
}

impl<const OWNS: bool> Algorithm for Strict<OWNS> {
    type Parameters = NoParameters;
    const NAME: &'static str = if OWNS { "strict-owner" } else { "strict" };
    const EXACT_NAME: &'static str = if OWNS { "strict-owner-1" } else { "strict-1" };
    const SUMMARY: &'static str = "checks how it is called";
    const SOURCE: &'static str = "this test";
    const VERSION: &'static str = "1";

    fn build(_: Arc<NoParameters>, _: Rng, name: Arc<str>) -> Strict<OWNS> {
        Strict {
            name,
            is_established: false,
            has_started: false,
            state: CaState::Open,
            reduces: false,
            undoes: false,
            lost: 0,
            delivered: 0,
            acked: 0,
        }
    }
}

/// Reductions, losses and undos of a run with such a path.
fn run(cc: &str, path: &str) -> [u32; 3] {
    let _one_at_a_time = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut catalog = dumbbell_cc_family::catalog().clone();
    dumbbell_quic::register(&mut catalog).unwrap();
    catalog.register::<Strict<true>>().unwrap();
    catalog.register::<Strict<false>>().unwrap();
    let text = format!("duration = \"20s\"\ntransport = \"noq\"\npath = {{ {path} }}\nflows = [{{ cc = \"{cc}\" }}]");
    let experiment = Experiment::from_toml_with(&catalog, &text, "contract.toml", &[]).unwrap();
    let counts = [&REDUCTIONS, &LOST, &UNDONE];
    counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    dumbbell_sim::run(&experiment.points()[0].scenario(), &AtomicBool::new(false)).unwrap();
    counts.map(|count| count.load(Ordering::Relaxed))
}

#[test]
fn losses_are_told_in_order_whoever_controls_the_window() {
    for cc in ["strict", "strict-owner"] {
        let [reductions, lost, _] = run(cc, "rate = \"10mbit\", rtt = \"40ms\", loss = \"2%\"");
        assert!(reductions > 20 && lost > reductions, "{cc}: {reductions} reductions, {lost} lost");
    }
}

#[test]
fn losses_that_prove_spurious_are_taken_back_in_order() {
    for cc in ["strict", "strict-owner"] {
        let reordered = "rate = \"10mbit\", rtt = \"40ms\", jitter = { amount = \"4ms\", reorders = true }";
        let [reductions, lost, undone] = run(cc, reordered);
        assert!(undone > 5 && undone <= reductions && lost >= reductions, "{cc}: {reductions}, {lost}, {undone}");
    }
}
