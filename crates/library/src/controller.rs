//! A controller whose decisions a library makes.

use crate::contract::{self, Table, WANTS_ECN, WANTS_PACING};
use crate::table::Opened;
use dumbbell_cc::catalog::Builder;
use dumbbell_cc::{CaState, Control, Controller, EcnMode, Event, Fault, Hooks, LostPacket, RateSample, View};
use dumbbell_units::Rng;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// Makes controllers with these parameters.
pub(crate) fn builder(library: Arc<Opened>, parameters: Vec<f64>, name: Arc<str>) -> Builder {
    Box::new(move |mut rng: Rng| {
        let state = match library.table.create {
            None => Some(std::ptr::null_mut()),
            Some(create) => {
                // SAFETY: the parameters are there, as many as the library has.
                let state = unsafe { create(parameters.as_ptr(), rng.next_u64()) };
                (!state.is_null()).then_some(state)
            }
        };
        let table = library.table;
        let (library, name) = (Arc::clone(&library), Arc::clone(&name));
        Box::new(InLibrary {
            state: state.unwrap_or_default(),
            is_made: state.is_some(),
            table,
            fault: None,
            name,
            library,
        })
    })
}

/// A flow's algorithm.
struct InLibrary {
    state: *mut c_void,
    /// The library had room for the state.
    is_made: bool,
    table: Table,
    fault: Option<Fault>,
    name: Arc<str>,
    library: Arc<Opened>,
}

// SAFETY: the contract lets calls for a flow come from any thread, one after the other.
unsafe impl Send for InLibrary {}

impl Drop for InLibrary {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy.filter(|_| self.is_made) {
            // SAFETY: `create` made the state, and nobody has it any more.
            unsafe { destroy(self.state) }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "structs have some hundred bytes")]
const fn size<T>() -> u32 {
    size_of::<T>() as u32
}

#[inline]
fn view_of(view: &View) -> contract::View {
    contract::View {
        size: const { size::<contract::View>() },
        mss: view.mss,
        now_ns: view.now.as_nanos(),
        now_us: view.mstamp_us,
        delivered: view.delivered,
        delivered_ce: view.delivered_ce,
        lost: view.lost,
        delivered_us: view.delivered_mstamp_us,
        last_sent_ns: view.last_sent.as_nanos(),
        next_departure_ns: view.next_departure.as_nanos(),
        snd_una: view.snd_una,
        snd_nxt: view.snd_nxt,
        max_pacing_rate: view.max_pacing_rate,
        jiffies: view.jiffies,
        hz: view.hz,
        prior_cwnd: view.prior_cwnd,
        cwnd_clamp: view.cwnd_clamp,
        packets_out: view.packets_out,
        sacked_out: view.sacked_out,
        lost_out: view.lost_out,
        retrans_out: view.retrans_out,
        in_flight: view.in_flight(),
        max_packets_out: view.max_packets_out,
        cwnd_limited: u32::from(view.cwnd_limited),
        ca_state: state_of(view.ca_state),
        srtt_us: view.srtt_us_x8 >> 3,
        min_rtt_us: view.min_rtt_us,
        paced: u32::from(view.paced),
        no_unsent_data: u32::from(view.no_unsent_data),
    }
}

fn state_of(state: CaState) -> u32 {
    match state {
        CaState::Open => contract::OPEN,
        CaState::Disorder => contract::DISORDER,
        CaState::Cwr => contract::CWR,
        CaState::Recovery => contract::RECOVERY,
        CaState::Loss => contract::LOSS,
    }
}

#[inline]
fn control_of(control: &Control) -> contract::Control {
    contract::Control {
        size: const { size::<contract::Control>() },
        cwnd: control.cwnd,
        cwnd_cnt: control.cwnd_cnt,
        ssthresh: control.ssthresh,
        pacing_rate: control.pacing_rate,
        app_limited: control.app_limited,
        fault: std::ptr::null(),
    }
}

fn sample_of(sample: &RateSample) -> contract::Sample {
    contract::Sample {
        size: const { size::<contract::Sample>() },
        delivered: sample.delivered,
        interval_us: sample.interval_us,
        rtt_us: sample.rtt_us,
        prior_delivered: sample.prior_delivered,
        prior_us: sample.prior_mstamp_us,
        losses: sample.losses,
        acked: sample.acked_sacked,
        prior_in_flight: sample.prior_in_flight,
        tx_in_flight: sample.tx_in_flight,
        lost_since_sent: sample.lost_since_sent,
        delivered_ce: sample.delivered_ce,
        is_app_limited: u32::from(sample.is_app_limited),
        is_retrans: u32::from(sample.is_retrans),
        is_ack_delayed: u32::from(sample.is_ack_delayed),
        is_ece: u32::from(sample.is_ece),
    }
}

impl InLibrary {
    /// Has the library change the levers, unless it has failed before.
    #[inline]
    fn change(
        &mut self,
        view: &View,
        control: &mut Control,
        call: impl FnOnce(*mut c_void, &contract::View, &mut contract::Control),
    ) {
        if self.fault.is_some() {
            return;
        }
        let mut levers = control_of(control);
        call(self.state, &view_of(view), &mut levers);
        let has_stopped = levers.pacing_rate == 0 && control.pacing_rate != 0;
        if !levers.fault.is_null() || levers.cwnd == 0 || has_stopped {
            return self.fail(view, &levers);
        }
        control.cwnd = levers.cwnd.min(view.cwnd_clamp);
        control.cwnd_cnt = levers.cwnd_cnt;
        control.ssthresh = levers.ssthresh;
        control.pacing_rate = levers.pacing_rate.min(view.max_pacing_rate);
        control.app_limited = levers.app_limited;
    }

    #[cold]
    fn fail(&mut self, view: &View, levers: &contract::Control) {
        let message = if levers.fault.is_null() {
            let lever = if levers.cwnd == 0 { "the window to 0 packets" } else { "the pacing rate to 0" };
            format!("it set {lever}")
        } else {
            // SAFETY: the contract says that it is a text that ends with a zero.
            unsafe { CStr::from_ptr(levers.fault) }.to_string_lossy().into_owned()
        };
        self.fault = Some(Fault::new(view, message));
    }
}

impl Controller for InLibrary {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        if !self.is_made {
            self.fault =
                Some(Fault::new(view, "the library has no room for the state of a flow: `create` returned NULL"));
        }
        if let Some(init) = self.table.init {
            // SAFETY: structs and state are as the contract says, here and below.
            self.change(view, control, |state, view, control| unsafe { init(state, view, control) });
        }
    }

    fn full_control(&self) -> bool {
        self.library.full_control()
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            pkts_acked: self.table.pkts_acked.is_some(),
            packet_lost: self.table.packet_lost.is_some(),
            fault: true,
            ..Hooks::NONE
        }
    }

    fn wants_pacing(&self) -> bool {
        self.table.flags & WANTS_PACING != 0
    }

    fn ecn(&self) -> EcnMode {
        if self.table.flags & WANTS_ECN != 0 { EcnMode::Classic } else { EcnMode::None }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        match self.table.ssthresh.filter(|_| self.fault.is_none()) {
            // SAFETY: as in `init`.
            Some(ssthresh) => unsafe { ssthresh(self.state, &view_of(view), &control_of(control)) },
            None => control.half(),
        }
    }

    #[inline]
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if let Some(cong_avoid) = self.table.cong_avoid {
            // SAFETY: as in `init`.
            self.change(view, control, |state, view, control| unsafe { cong_avoid(state, view, control, acked) });
        }
    }

    #[inline]
    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        if let Some(cong_control) = self.table.cong_control {
            let sample = sample_of(sample);
            // SAFETY: as in `init`.
            self.change(view, control, |state, view, control| unsafe { cong_control(state, view, control, &sample) });
        }
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, acked: u32, rtt_us: i64, in_flight: u32) {
        if let Some(pkts_acked) = self.table.pkts_acked {
            self.change(view, control, |state, view, control| {
                // SAFETY: as in `init`.
                unsafe { pkts_acked(state, view, control, acked, rtt_us, in_flight) }
            });
        }
    }

    fn packet_lost(&mut self, view: &View, control: &mut Control, lost: &LostPacket) {
        if let Some(packet_lost) = self.table.packet_lost {
            let in_flight = lost.tx_in_flight;
            // SAFETY: as in `init`.
            self.change(view, control, |state, view, control| unsafe { packet_lost(state, view, control, in_flight) });
        }
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        if let Some(set_state) = self.table.set_state {
            let next = state_of(next);
            // SAFETY: as in `init`.
            self.change(view, control, |state, view, control| unsafe { set_state(state, view, control, next) });
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        let number = match event {
            Event::TxStart => contract::TX_START,
            Event::CwndRestart => contract::CWND_RESTART,
            Event::CompleteCwr => contract::COMPLETE_CWR,
            Event::Loss => contract::TIMEOUT,
            Event::EcnNoCe | Event::EcnIsCe | Event::TlpRecovery { .. } => return,
        };
        if let Some(event) = self.table.event {
            // SAFETY: as in `init`.
            self.change(view, control, |state, view, control| unsafe { event(state, view, control, number) });
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        match self.table.undo_cwnd.filter(|_| self.fault.is_none()) {
            // SAFETY: as in `init`.
            Some(undo_cwnd) => unsafe { undo_cwnd(self.state, &view_of(view), &control_of(control)) }.max(1),
            None => control.cwnd.max(view.prior_cwnd),
        }
    }

    fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}

#[cfg(all(test, unix))]
mod tests;
