//! A congestion controller whose decisions are made by an object of Python.

use super::class::{Class, HOOKS, Hook};
use super::compiled::{Compiled, Machine};
use super::conn::{Conn, Writes, packets};
use super::events::{Ack, Loss, Stream};
use dumbbell_cc::{
    AckFlags, CaState, Control, Controller, EcnMode, Event, Fault, Hooks, LostPacket, Needs, RateSample, View,
};
use dumbbell_library::machine::{self, Heard, Wrong};
use dumbbell_units::{Rng, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

/// Why a class without full control cannot pace.
pub const NO_PACING: &str = "`conn.pacing_rate` is left to the transport here; say `wants_pacing = True` in the class, which \
    goes with `on_ack` and with `cong_control`";

/// The controller of one flow.
pub struct PythonController {
    class: Arc<Class>,
    exact_name: Arc<str>,
    parameters: Arc<Map<String, Value>>,
    rng: Cell<Option<Rng>>,
    /// Made when it is first needed: recipes are tried out before a run.
    instance: OnceCell<Instance>,
    /// In place of the interpreter: the class as machine code, and the state of the flow.
    machine: Option<Arc<Machine>>,
    flow: OnceCell<RefCell<Compiled>>,
    fault: OnceCell<Fault>,
    /// Packets that were lost before the last reduction.
    lost_before: u64,
}

/// The object, its methods, and what they are called with.
struct Instance {
    methods: [Option<Py<PyAny>>; HOOKS],
    conn: Py<Conn>,
    ack: Py<Ack>,
    loss: Py<Loss>,
    with_conn: Py<PyTuple>,
    with_ack: Py<PyTuple>,
    with_loss: Py<PyTuple>,
    /// What `observe` names.
    observed: Vec<String>,
}

/// Names of events, whose numbers are their places.
pub const EVENTS: [&str; 7] =
    ["tx_start", "cwnd_restart", "complete_cwr", "loss", "ecn_no_ce", "ecn_is_ce", "tlp_recovery"];

impl PythonController {
    pub fn new(
        class: Arc<Class>,
        machine: Option<Arc<Machine>>,
        exact_name: Arc<str>,
        parameters: Arc<Map<String, Value>>,
        rng: Rng,
    ) -> Self {
        PythonController {
            class,
            exact_name,
            parameters,
            rng: Cell::new(Some(rng)),
            instance: OnceCell::new(),
            machine,
            flow: OnceCell::new(),
            fault: OnceCell::new(),
            lost_before: 0,
        }
    }

    fn has(&self, hook: Hook) -> bool {
        self.class.has(hook)
    }

    fn fail(&self, py: Python<'_>, at: Time, what: &str, error: &PyErr) {
        let _ = self.fault.set(Fault { at, message: self.class.described(py, what, error) });
    }

    fn stream(&self) -> Rng {
        self.rng.take().unwrap_or_else(|| Rng::new(0))
    }

    fn parameters(&self) -> String {
        Value::Object((*self.parameters).clone()).to_string()
    }

    /// What `make` makes with the first call.
    fn made<'a, T>(
        &self,
        py: Python<'_>,
        now: Time,
        place: &'a OnceCell<T>,
        make: impl FnOnce() -> PyResult<T>,
    ) -> Option<&'a T> {
        if self.fault.get().is_some() {
            return None;
        }
        if let Some(made) = place.get() {
            return Some(made);
        }
        match make() {
            Ok(made) => Some(place.get_or_init(|| made)),
            Err(error) => {
                self.fail(py, now, "__init__", &error);
                None
            }
        }
    }

    /// The object, made with the first call.
    fn instance(&self, py: Python<'_>, now: Time) -> Option<&Instance> {
        self.made(py, now, &self.instance, || self.make(py))
    }

    /// The state that compiled hooks work on, made with the first call.
    #[inline]
    fn flow(&self, machine: &Machine, now: Time) -> Option<&RefCell<Compiled>> {
        if let Some(flow) = self.flow.get() {
            return Some(flow);
        }
        Python::attach(|py| {
            let start = || machine.start(py, &self.parameters(), self.stream()).map(RefCell::new);
            self.made(py, now, &self.flow, start)
        })
    }

    fn make(&self, py: Python<'_>) -> PyResult<Instance> {
        let stream = Stream::of(self.stream());
        let made = self.class.python.bind(py).call_method1("make", (self.parameters(), stream))?;
        let (methods, random, observed): (Bound<'_, PyDict>, Py<PyAny>, Vec<String>) = made.extract()?;
        let mut bound: [Option<Py<PyAny>>; HOOKS] = [const { None }; HOOKS];
        for (hook, place) in Hook::ALL.into_iter().zip(&mut bound) {
            *place = methods.get_item(hook.name())?.map(Bound::unbind);
        }
        let conn = Py::new(py, Conn::new(random))?;
        let (ack, loss) = (Py::new(py, Ack::default())?, Py::new(py, Loss::default())?);
        Ok(Instance {
            methods: bound,
            with_conn: (&conn,).into_pyobject(py)?.unbind(),
            with_ack: (&conn, &ack).into_pyobject(py)?.unbind(),
            with_loss: (&conn, &loss).into_pyobject(py)?.unbind(),
            conn,
            ack,
            loss,
            observed,
        })
    }

    /// Calls a hook if the class has it and nothing has failed before, and what it changes of the connection is taken
    /// over. True if it wrote the threshold.
    #[inline]
    fn change(&self, hook: Hook, view: &View, control: &mut Control, heard: Heard<'_>) -> bool {
        if !self.has(hook) || self.fault.get().is_some() {
            return false;
        }
        match &self.machine {
            Some(machine) => {
                let writes = match self.writes() {
                    Writes::All => machine::Writes::All,
                    _ => machine::Writes::NotPacing,
                };
                let wrote = |flow: &machine::Flow| flow.wrote_ssthresh();
                self.call(machine, hook, view, control, &heard, writes, wrote).unwrap_or(false)
            }
            None => self.interpret(hook, view, control, heard),
        }
    }

    /// Calls a compiled hook, and reads something of the flow afterwards; `None` if something went wrong.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "what a call is")]
    fn call<T>(
        &self,
        machine: &Machine,
        hook: Hook,
        view: &View,
        control: &mut Control,
        heard: &Heard<'_>,
        writes: machine::Writes,
        read: impl FnOnce(&machine::Flow) -> T,
    ) -> Option<T> {
        let entry = machine.entry(hook)?;
        let flow = &mut self.flow(machine, view.now)?.borrow_mut().flow;
        match flow.call(entry, view, control, heard, writes) {
            Ok(()) => Some(read(flow)),
            Err(wrong) => {
                self.fail_compiled(machine, hook, view, wrong);
                None
            }
        }
    }

    #[cold]
    fn fail_compiled(&self, machine: &Machine, hook: Hook, view: &View, wrong: Wrong) {
        let message = Python::attach(|py| machine.described(py, hook, wrong));
        let _ = self.fault.set(Fault::new(view, message));
    }

    fn interpret(&self, hook: Hook, view: &View, control: &mut Control, heard: Heard<'_>) -> bool {
        Python::attach(|py| {
            let Some(instance) = self.instance(py, view.now) else { return false };
            let Some(method) = &instance.methods[hook as usize] else { return false };
            let conn = instance.conn.bind(py);
            conn.borrow_mut().fill(view, control, self.writes());
            let done = instance
                .call(method.bind(py), hook, view, heard)
                .and_then(|answer| nothing(py, hook, &answer.unbind()));
            match done {
                Ok(()) => {
                    let mut conn = conn.borrow_mut();
                    conn.store(control);
                    conn.wrote_ssthresh
                }
                Err(error) => {
                    self.fail(py, view.now, hook.name(), &error);
                    false
                }
            }
        })
    }

    /// Calls a hook that answers by a number of packets; `default` without one.
    fn ask(&self, hook: Hook, view: &View, control: &Control, least: f64, default: impl FnOnce() -> u32) -> u32 {
        if !self.has(hook) || self.fault.get().is_some() {
            return default();
        }
        let answer = match &self.machine {
            Some(machine) => self.ask_compiled(machine, hook, view, control),
            None => Python::attach(|py| {
                let instance = self.instance(py, view.now)?;
                let method = instance.methods[hook as usize].as_ref()?.bind(py);
                instance.conn.bind(py).borrow_mut().fill(view, control, Writes::Nothing(hook.name()));
                let returned = method.call1(&instance.with_conn);
                let answer =
                    returned.and_then(|answer| packets(&answer, &format!("what {}() returned", hook.name()), least));
                answer.map_err(|error| self.fail(py, view.now, hook.name(), &error)).ok()
            }),
        };
        answer.unwrap_or_else(default)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compiled code has checked the bounds")]
    fn ask_compiled(&self, machine: &Machine, hook: Hook, view: &View, control: &Control) -> Option<u32> {
        let mut unchanged = control.clone();
        let answer = |flow: &machine::Flow| flow.answer() as u32;
        self.call(machine, hook, view, &mut unchanged, &Heard::Nothing, machine::Writes::Nothing, answer)
    }

    fn writes(&self) -> Writes {
        if self.class.full_control && self.class.wants_pacing { Writes::All } else { Writes::NotPacing(NO_PACING) }
    }

    /// Where the class owns the window and does not pace, the rate that Linux has: it says how large bursts are.
    fn ordinary_rate(&self, view: &View, control: &mut Control) {
        if !self.class.is_simple || self.class.wants_pacing || view.srtt_us_x8 == 0 {
            return;
        }
        let percent = if control.cwnd < control.ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(control.cwnd.max(view.packets_out)) * u64::from(view.mss);
        let rate = window.saturating_mul(8 * percent * 10_000) / u64::from(view.srtt_us_x8);
        control.pacing_rate = rate.min(view.max_pacing_rate);
    }
}

impl Instance {
    fn call<'py>(
        &self,
        method: &Bound<'py, PyAny>,
        hook: Hook,
        view: &View,
        heard: Heard<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = method.py();
        match heard {
            Heard::Nothing => method.call1(self.with_conn.bind(py)),
            Heard::Ack(sample) => {
                {
                    let mut ack = self.ack.bind(py).borrow_mut();
                    ack.sample = *sample;
                    ack.mss = view.mss;
                }
                method.call1(self.with_ack.bind(py))
            }
            Heard::Loss(loss) => {
                self.loss.bind(py).borrow_mut().0 = loss;
                method.call1(self.with_loss.bind(py))
            }
            Heard::Numbers([event, ..], _) if hook == Hook::CwndEvent => {
                method.call1((&self.conn, usize::try_from(event).ok().and_then(|event| EVENTS.get(event))))
            }
            Heard::Numbers([one, ..], 1) => method.call1((&self.conn, one)),
            Heard::Numbers([one, two, three], _) => method.call1((&self.conn, one, two, three)),
        }
    }
}

/// Refuses what a hook returns that answers by what it writes.
fn nothing(py: Python<'_>, hook: Hook, answer: &Py<PyAny>) -> PyResult<()> {
    if answer.is_none(py) {
        return Ok(());
    }
    let text = answer.bind(py).repr()?.to_string();
    let name = hook.name();
    Err(PyTypeError::new_err(format!(
        "`{name}` returned {text}, which means nothing: it must return None and write to `conn`"
    )))
}

impl Controller for PythonController {
    fn algorithm(&self) -> &str {
        &self.exact_name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        if self.class.full_control && self.class.wants_pacing && view.srtt_us_x8 > 0 {
            let window = u64::from(control.cwnd) * u64::from(view.mss);
            let rate = window.saturating_mul(16_000_000) / u64::from(view.srtt_us_x8);
            control.pacing_rate = rate.min(view.max_pacing_rate);
        }
        // Also without the hook: what is wrong with the constructor is known from here on.
        match &self.machine {
            Some(machine) => drop(self.flow(machine, view.now)),
            None => drop(Python::attach(|py| self.instance(py, view.now).is_some())),
        }
        let hook = if self.class.is_simple { Hook::OnStart } else { Hook::Init };
        self.change(hook, view, control, Heard::Nothing);
        self.lost_before = view.lost;
        self.ordinary_rate(view, control);
    }

    fn full_control(&self) -> bool {
        self.class.full_control
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            in_ack_event: self.has(Hook::InAckEvent),
            pkts_acked: self.has(Hook::PktsAcked),
            packet_lost: self.has(Hook::PacketLost),
            min_tso_segs: self.has(Hook::MinTsoSegs),
            fault: true,
        }
    }

    fn needs(&self) -> Needs {
        Needs { reductions: self.has(Hook::BeginsReduction), timestamps: self.has(Hook::AckTimestamps), ..Needs::NONE }
    }

    fn wants_pacing(&self) -> bool {
        self.class.wants_pacing
    }

    fn ecn(&self) -> EcnMode {
        self.class.ecn
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.ask(Hook::Ssthresh, view, control, 1.0, || control.half())
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        self.change(Hook::CongAvoid, view, control, Heard::Numbers([acked.into(), 0, 0], 1));
    }

    fn begins_reduction(&mut self) -> bool {
        if !self.has(Hook::BeginsReduction) || self.fault.get().is_some() {
            return false;
        }
        let answer = Python::attach(|py| {
            let instance = self.instance.get()?;
            let now = instance.conn.bind(py).borrow().view.now;
            let method = instance.methods[Hook::BeginsReduction as usize].as_ref()?.bind(py);
            let answer = method.call0().and_then(|answer| answer.is_truthy());
            answer.map_err(|error| self.fail(py, now, Hook::BeginsReduction.name(), &error)).ok()
        });
        answer.unwrap_or(false)
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let hook = if self.class.is_simple { Hook::OnAck } else { Hook::CongControl };
        if self.class.is_simple && sample.acked_sacked == 0 {
            return;
        }
        self.change(hook, view, control, Heard::Ack(sample));
        self.ordinary_rate(view, control);
    }

    fn ack_timestamps(&mut self, value_ms: u32, echo_ms: u32) {
        if !self.has(Hook::AckTimestamps) || self.fault.get().is_some() {
            return;
        }
        Python::attach(|py| {
            let Some(instance) = self.instance.get() else { return };
            let now = instance.conn.bind(py).borrow().view.now;
            let Some(method) = &instance.methods[Hook::AckTimestamps as usize] else { return };
            if let Err(error) = method.call1(py, (value_ms, echo_ms)) {
                self.fail(py, now, Hook::AckTimestamps.name(), &error);
            }
        });
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, acked: u32, rtt_us: i64, in_flight: u32) {
        self.change(Hook::PktsAcked, view, control, Heard::Numbers([acked.into(), rtt_us, in_flight.into()], 3));
    }

    fn in_ack_event(&mut self, view: &View, control: &mut Control, flags: AckFlags) {
        let AckFlags { slow_path, ece, window_update } = flags;
        let bits = u32::from(slow_path) | u32::from(window_update) << 1 | u32::from(ece) << 2;
        self.change(Hook::InAckEvent, view, control, Heard::Numbers([bits.into(), 0, 0], 1));
    }

    fn packet_lost(&mut self, view: &View, control: &mut Control, lost: &LostPacket) {
        let loss = machine::Loss { packets: 1, by_mark: false, packet: *lost };
        self.change(Hook::PacketLost, view, control, Heard::Loss(loss));
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        if !self.class.is_simple {
            self.change(Hook::SetState, view, control, Heard::Numbers([next as i64, 0, 0], 1));
            return;
        }
        match next {
            CaState::Loss => {
                self.change(Hook::OnTimeout, view, control, Heard::Nothing);
            }
            CaState::Cwr | CaState::Recovery if !view.in_reduction() => {
                let packets = view.lost - self.lost_before.min(view.lost);
                let before = control.cwnd;
                let loss = machine::Loss { packets, by_mark: next == CaState::Cwr, packet: LostPacket::default() };
                let wrote_ssthresh = self.change(Hook::OnLoss, view, control, Heard::Loss(loss));
                if control.cwnd != before && !wrote_ssthresh {
                    control.ssthresh = control.cwnd;
                }
            }
            _ => return,
        }
        self.lost_before = view.lost;
        self.ordinary_rate(view, control);
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        let number = match event {
            Event::TxStart => 0,
            Event::CwndRestart => 1,
            Event::CompleteCwr => 2,
            Event::Loss => 3,
            Event::EcnNoCe => 4,
            Event::EcnIsCe => 5,
            Event::TlpRecovery { .. } => 6,
        };
        self.change(Hook::CwndEvent, view, control, Heard::Numbers([number, 0, 0], 1));
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.ask(Hook::UndoCwnd, view, control, 1.0, || control.cwnd.max(view.prior_cwnd))
    }

    fn min_tso_segs(&self, view: &View, control: &Control) -> u32 {
        self.ask(Hook::MinTsoSegs, view, control, 1.0, || Hooks::MIN_TSO_SEGS)
    }

    fn sndbuf_expand(&self) -> u32 {
        self.class.sndbuf_expand
    }

    fn fault(&self) -> Option<&Fault> {
        self.fault.get()
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        if !self.has(Hook::Observe) {
            return Vec::new();
        }
        let names = |instance: &Instance| instance.observed.iter().cloned().map(Cow::Owned).collect();
        if let Some(machine) = &self.machine {
            let names = |flow: &RefCell<Compiled>| flow.borrow().observed.iter().cloned().map(Cow::Owned).collect();
            return self.flow(machine, Time::ZERO).map(names).unwrap_or_default();
        }
        Python::attach(|py| self.instance(py, Time::ZERO).map(names).unwrap_or_default())
    }

    fn observe(&self, view: &View, _: &Control, values: &mut [f64]) {
        if values.is_empty() || self.fault.get().is_some() {
            return;
        }
        Python::attach(|py| {
            let observed = match &self.machine {
                Some(machine) => {
                    let Some(flow) = self.flow(machine, view.now) else { return };
                    machine.observe(py, &mut flow.borrow_mut())
                }
                None => {
                    let Some(instance) = self.instance(py, view.now) else { return };
                    let Some(method) = &instance.methods[Hook::Observe as usize] else { return };
                    method.call0(py).and_then(|answer| self.class.observed(py, &answer, &instance.observed))
                }
            };
            match observed {
                Ok(observed) => values.copy_from_slice(&observed),
                Err(error) => self.fail(py, view.now, Hook::Observe.name(), &error),
            }
        });
    }
}
