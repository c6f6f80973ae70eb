//! Where versions of BBR v1 part ways.
//!
//! [`Rules`] names every decision that older kernels, other stacks or papers take otherwise; its provided methods are
//! Linux 6.18's, so [`Linux`] says nothing. Another set of rules says only what it does otherwise, and the controller
//! is compiled for it: Linux's pays nothing for the others.

use super::model::{Core, Mode};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{CaState, Control, RateSample, View};

/// The decisions of a [`Bbr1`](super::Bbr1) besides its constants, with Linux 6.18's as provided ones. `core` is the
/// controller's model and state; rules keep what else they need in themselves.
#[allow(unused_variables, reason = "the names of provided methods' arguments are documentation")]
pub trait Rules: Clone + Send + 'static {
    /// The connection is established and the model reset: reset whatever these rules keep.
    fn init(&mut self, core: &mut Core, view: &View, control: &Control) {}

    // Pacing.

    /// Whether the sender is asked to pace.
    fn paces(&self) -> bool {
        true
    }

    /// Whether the first pacing rate is computed again when the first round-trip time becomes known (since 4.13).
    fn repeats_first_rate(&self) -> bool {
        true
    }

    /// Whether the pacing rate may fall now: once the pipe was full (since 4.13).
    #[inline]
    fn pacing_may_fall(&self, core: &Core) -> bool {
        core.state.full_pipe
    }

    // The minimum round-trip time and PROBE_RTT.

    /// Whether a sample equal to the minimum renews it (before 5.10).
    #[inline]
    fn ties_renew_minimum(&self) -> bool {
        false
    }

    /// Whether a sample that probably contains an ACK delay must not replace an expired minimum (since 4.16).
    #[inline]
    fn distrusts_delayed_acks(&self) -> bool {
        true
    }

    /// Whether [`Rules::rtt_allowance_us`] wants to see every sample, not only those that may change the minimum.
    #[inline]
    fn wants_every_rtt(&self) -> bool {
        false
    }

    /// Microseconds to be added to the minimum for the BDP, after this sample.
    #[inline]
    fn rtt_allowance_us(&mut self, rtt_us: u32) -> u64 {
        0
    }

    /// The amount in flight, in packets, that PROBE_RTT wants to see.
    fn probe_rtt_window(&self, core: &Core) -> u32 {
        core.parameters.min_window
    }

    /// The largest window in packets that PROBE_RTT admits on this ACK.
    fn probe_rtt_cap(&self, core: &Core, control: &Control) -> u32 {
        self.probe_rtt_window(core)
    }

    /// PROBE_RTT is over: the window from before it returns (at once since 4.19).
    fn restore_window(&self, core: &mut Core, control: &mut Control) {
        control.cwnd = control.cwnd.max(core.recovery.prior_cwnd);
    }

    /// Whether a PROBE_RTT whose time is over ends when transmission restarts (since 4.19).
    fn idle_ends_probe_rtt(&self) -> bool {
        true
    }

    /// Whether an ACK that delivers nothing ends the restart from idle, too (before 4.16).
    #[inline]
    fn any_ack_ends_idle(&self) -> bool {
        false
    }

    // PROBE_BW.

    /// The phase to begin PROBE_BW with; `drawn` is a random one.
    fn first_phase(&mut self, drawn: usize) -> usize {
        drawn
    }

    /// The clock that measures phases, in microseconds: when data was last delivered.
    #[inline]
    fn cycle_clock_us(&self, view: &View) -> u64 {
        view.delivered_mstamp_us
    }

    /// The amount in flight that draining looks at: what was in flight before the ACK.
    #[inline]
    fn drained_to(&self, view: &View, sample: &RateSample) -> u32 {
        sample.prior_in_flight
    }

    /// Moves the cycle of gains on when its time has come.
    #[inline]
    fn update_cycle(&mut self, core: &mut Core, view: &View, control: &Control, sample: &RateSample) {
        core.update_timed_cycle(self, view, control, sample);
    }

    // The window.

    /// Whether tests compare what will be in the network at the next departure, not what is now (since 4.20).
    #[inline]
    fn foresees_departure(&self) -> bool {
        true
    }

    /// Whether before the first bandwidth sample the target is its gain times the initial window, not a BDP of nothing.
    #[inline]
    fn multiplies_initial_window(&self) -> bool {
        false
    }

    /// Whether the target is rounded up to an even number, for receivers that acknowledge every second packet.
    #[inline]
    fn targets_are_even(&self) -> bool {
        true
    }

    /// Whether a target with this gain has the extra packets for probing, in PROBE_BW.
    #[inline]
    fn probes_with(&self, core: &Core, gain: Gain) -> bool {
        core.state.phase == 0
    }

    /// The window's gain in a mode for which Linux has `gain`.
    #[inline]
    fn window_gain(&mut self, mode: Mode, gain: Gain) -> Gain {
        gain
    }

    /// Whether the window's caps act on ACKs that deliver nothing, too (since 4.19).
    #[inline]
    fn caps_every_ack(&self) -> bool {
        true
    }

    /// `window` and the `acked` packets by which it grows.
    #[inline]
    fn grown(&self, window: u32, acked: u32) -> u32 {
        window.saturating_add(acked)
    }

    // Loss.

    /// Reacts to loss on an ACK that delivers something, `bw` being the bandwidth to operate at. True when the window
    /// is set and ordinary growth must not follow.
    #[inline]
    fn recover(&mut self, core: &mut Core, view: &View, control: &mut Control, sample: &RateSample, bw: u32) -> bool {
        core.recover_or_restore(view, control, sample)
    }

    /// The congestion-avoidance state is about to become `next`, which is not Loss.
    fn change_state(&mut self, core: &mut Core, view: &View, control: &mut Control, next: CaState) {}

    /// The slow-start threshold for a reduction: the present one, which means nothing to BBR.
    fn ssthresh(&self, control: &Control) -> u32 {
        control.ssthresh
    }

    /// Whether a retransmission timeout forgets the bandwidth that the search for a full pipe compares with.
    fn timeout_forgets_plateau(&self) -> bool {
        true
    }

    /// Whether a loss that proved spurious restarts the search for a full pipe and for policers (since 4.15).
    fn undo_forgets_plateau(&self) -> bool {
        true
    }

    /// Whether a PROBE_BW that begins while a policer's rate is in use has the gain of its phase (before 4.16).
    fn probes_policers(&self) -> bool {
        false
    }

    /// Whether to look for policers.
    #[inline]
    fn looks_for_policers(&self) -> bool {
        true
    }

    // Aggregated ACKs.

    /// Measures how far an ACK with a delivery rate, which delivers something, runs ahead of the bandwidth.
    #[inline]
    fn measure_aggregation(&mut self, core: &mut Core, view: &View, control: &Control, acked: u32, bw: u32) {
        let elapsed_us = core.aggregation.elapsed_us(view);
        core.measure_aggregation(view, control, acked, bw, elapsed_us);
    }

    /// What aggregated ACKs add to the target of a pipe that was full, in packets times [`BW_UNIT`](super::BW_UNIT).
    fn aggregation_allowance(&self, core: &Core) -> u64 {
        core.aggregation_allowance()
    }
}

/// The rules of Linux 6.18.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linux;

impl Rules for Linux {}
