//! The contract between a sender and its congestion controller, in the spirit of Linux's `tcp_congestion_ops`.

use crate::control::Control;
use crate::rate_sample::RateSample;
use crate::view::{CaState, View};
use dumbbell_units::Time;
use std::any::Any;
use std::borrow::Cow;

/// Things that happen to a connection besides ACKs (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first packet leaves after everything was acknowledged.
    TxStart,
    /// The window restarts after idle time.
    CwndRestart,
    /// A window reduction has completed.
    CompleteCwr,
    /// The retransmission timer fired.
    Loss,
    /// A data packet arrived without a congestion mark (receiver side).
    EcnNoCe,
    /// A data packet arrived with a congestion mark (receiver side).
    EcnIsCe,
    /// A tail loss probe repaired a loss that nothing else would have reported (`CA_EVENT_TLP_RECOVERY` of BBR v3's
    /// kernel).
    TlpRecovery {
        /// The lost tail was sent while the application was the limit.
        is_app_limited: bool,
    },
}

/// What a controller wants of explicit congestion notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EcnMode {
    /// Nothing: it is not negotiated on the controller's account.
    #[default]
    None,
    /// An echo until the sender confirms its reaction (RFC 3168).
    Classic,
    /// Every mark is echoed, and nothing else (DCTCP, RFC 8257): the share of marked packets can be counted.
    Accurate,
    /// Marks are counted (RFC 9768), and packets say that they want those of L4S queues (RFC 9331).
    L4s,
}

/// What an ACK looked like to the fast path (`enum tcp_ca_ack_event_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFlags {
    /// The ACK was processed on the slow path: the first one, one with SACK blocks or a congestion echo, or with
    /// another receive window than before.
    pub slow_path: bool,
    /// The ACK echoes congestion.
    pub ece: bool,
    /// The ACK changed the receive window.
    pub window_update: bool,
}

/// Which of the hooks that few controllers need a controller has (Linux: the members of `struct tcp_congestion_ops`
/// that are set). A transport leaves out the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// [`Controller::in_ack_event`].
    pub in_ack_event: bool,
    /// [`Controller::pkts_acked`].
    pub pkts_acked: bool,
    /// [`Controller::packet_lost`].
    pub packet_lost: bool,
    /// [`Controller::min_tso_segs`]; without it the smallest burst has [`Hooks::MIN_TSO_SEGS`].
    pub min_tso_segs: bool,
    /// [`Controller::fault`].
    pub fault: bool,
}

impl Hooks {
    /// All of them.
    pub const ALL: Hooks =
        Hooks { in_ack_event: true, pkts_acked: true, packet_lost: true, min_tso_segs: true, fault: true };
    /// None of them.
    pub const NONE: Hooks =
        Hooks { in_ack_event: false, pkts_acked: false, packet_lost: false, min_tso_segs: false, fault: false };

    /// The smallest burst in packets where a controller does not say.
    pub const MIN_TSO_SEGS: u32 = 2;
}

/// What a controller needs that few do and that costs the transport something: its ACKs do not take the short way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Controller::begins_reduction`] is asked.
    pub reductions: bool,
    /// [`Controller::ack_timestamps`] is called.
    pub timestamps: bool,
    /// Marks come back: it has a parameter that means nothing without explicit congestion notification. This one costs
    /// nothing.
    pub marks: bool,
    /// Over QUIC a reduction is proportional (RFC 6937) in bytes, with packets of at most so many; 0: the sender is
    /// silent until the reduced window is not full any more. TCP's is always proportional.
    pub proportional: u32,
    /// [`LostPacket::tx_in_flight`] and that of rate samples are counted by the kernel's buffers, as in the kernel that it
    /// comes from. TCP only, and only where an ACK takes a burst apart.
    pub in_flight_by_buffer: bool,
}

impl Needs {
    /// Nothing.
    pub const NONE: Needs =
        Needs { reductions: false, timestamps: false, marks: false, proportional: 0, in_flight_by_buffer: false };
}

/// A congestion controller: reads a [`View`] of its connection, writes its [`Control`].
///
/// # The order of calls
///
/// Every transport keeps to it (`crates/transport/tests/contract.rs` holds it against each of them):
///
/// 1. [`init`](Controller::init) comes first, and once.
/// 2. [`event`](Controller::event) with [`Event::TxStart`] precedes the first packet, and every packet that leaves
///    while nothing is in flight. A transport that shrinks the window after idle time says [`Event::CwndRestart`]
///    before.
/// 3. An ACK is told in this order: [`pkts_acked`](Controller::pkts_acked) if it acknowledges something,
///    [`in_ack_event`](Controller::in_ack_event), loss detection and changes of state (4 to 8), and at the end either
///    [`cong_control`](Controller::cong_control), with every ACK, for controllers with
///    [`full_control`](Controller::full_control), or outside of window reductions
///    [`cong_avoid`](Controller::cong_avoid) for what it delivered.
/// 4. [`packet_lost`](Controller::packet_lost) comes once for each packet, right after [`View::lost`] has counted it.
/// 5. A reduction begins with [`ssthresh`](Controller::ssthresh), whose answer becomes the threshold, followed by
///    [`set_state`](Controller::set_state) with [`CaState::Cwr`] or [`CaState::Recovery`]. It is not asked for again
///    before the reduction is over.
/// 6. A collapse of the window (a retransmission timeout; QUIC's persistent congestion) is `ssthresh` and
///    [`Event::Loss`], both left out where a reduction is under way already, and `set_state` with [`CaState::Loss`].
///    The transport has set the smallest window then; a controller with full control gets its own back when that ends.
/// 7. The end of a reduction is `set_state` with [`CaState::Open`] and, without full control, [`Event::CompleteCwr`],
///    in either order. Over QUIC it comes to controllers with full control after the `cong_control` of the ACK that
///    ends the period, because that ACK also ends the round that the first loss began.
/// 8. [`undo_cwnd`](Controller::undo_cwnd) is asked when a reduction proves spurious, before `set_state` with
///    [`CaState::Open`], which is left out where the reduction is over.
///
/// Timers make the same calls as 4 to 8, outside of any ACK. [`min_tso_segs`](Controller::min_tso_segs) may be asked at
/// any time by transports that form bursts: TCP does, the QUIC-like endpoints send packet by packet.
///
/// Whoever knows which controller there is reaches it behind the trait by way of [`Any`].
pub trait Controller: Any + Send {
    /// The exact name and version, for example `bbr1-linux-6.18`.
    fn algorithm(&self) -> &str;

    /// Called once, when the connection is established and has its first round-trip time.
    fn init(&mut self, view: &View, control: &mut Control);

    /// Whether this controller owns the window and the pacing rate in every state; the sender then runs neither
    /// proportional rate reduction nor its own pacing rate.
    fn full_control(&self) -> bool {
        false
    }

    /// The hooks that do something. A controller that says nothing has them all called.
    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    /// What it needs beyond the hooks.
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    /// The transport, by name, that has this controller in itself and is the only one that can use it. What is here only
    /// stands for it, and is called for nothing.
    fn belongs_to(&self) -> Option<&'static str> {
        None
    }

    /// Whether this controller asks the sender to pace.
    fn wants_pacing(&self) -> bool {
        false
    }

    /// The congestion notification that this controller asks both ends to use.
    fn ecn(&self) -> EcnMode {
        EcnMode::None
    }

    /// The slow-start threshold for the reduction that is about to begin (CWR, Recovery or Loss). [`View::marked`] says
    /// whether congestion marks alone are its reason.
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32;

    /// Window growth for an ACK that delivered `acked` packets outside of a reduction.
    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}

    /// Whether the window has to be reduced now, without a loss or a mark (`tcp_enter_cwr`, called by a controller).
    /// Asked after each [`cong_avoid`](Controller::cong_avoid), of controllers that [need](Controller::needs) it; a
    /// reduction follows as in 5 of the order of calls, unless one is under way.
    fn begins_reduction(&mut self) -> bool {
        false
    }

    /// The main hook of controllers with full control: once per ACK, after the state machine ran.
    fn cong_control(&mut self, _view: &View, _control: &mut Control, _sample: &RateSample) {}

    /// What the timestamps of an ACK say that [`pkts_acked`](Controller::pkts_acked) is about to tell of, in
    /// milliseconds: the receiver's clock when it left, and the sender's when what it answers left (`rcv_tsval`,
    /// `rcv_tsecr`). Where segments carry timestamps, and for controllers that [need](Controller::needs) them.
    fn ack_timestamps(&mut self, _value_ms: u32, _echo_ms: u32) {}

    /// An ACK that came while packets were outstanding cleaned `acked` of them out of the queue, a duplicate none;
    /// `rtt_us` is -1 when it gives no round-trip time, `in_flight` counts the packets that were delivered since the
    /// newest of them was sent: those in flight then (`struct ack_sample`).
    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _acked: u32, _rtt_us: i64, _in_flight: u32) {}

    /// Every ACK that is not older than an earlier one, after [`pkts_acked`](Controller::pkts_acked) and before losses
    /// are looked for (`tcp_in_ack_event`).
    fn in_ack_event(&mut self, _view: &View, _control: &mut Control, _flags: AckFlags) {}

    /// `view.lost` has just been increased for a packet sent with these snapshots (in flight when sent, losses
    /// and deliveries before it).
    fn packet_lost(&mut self, _view: &View, _control: &mut Control, _lost: &LostPacket) {}

    /// The state is about to become `next`; `view.ca_state` still holds the old one.
    fn set_state(&mut self, _view: &View, _control: &mut Control, _next: CaState) {}

    /// An event other than an ACK.
    fn event(&mut self, _view: &View, _control: &mut Control, _event: Event) {}

    /// The window to return to after a reduction that proved spurious.
    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        control.cwnd.max(view.prior_cwnd)
    }

    /// The smallest burst in packets the sender should form.
    fn min_tso_segs(&self, _view: &View, _control: &Control) -> u32 {
        Hooks::MIN_TSO_SEGS
    }

    /// How many windows the send buffer shall hold where it is sized by the window (`sndbuf_expand`).
    fn sndbuf_expand(&self) -> u32 {
        2
    }

    /// The phase the controller is in, for recordings; empty for controllers without phases.
    fn mode(&self) -> &'static str {
        ""
    }

    /// What made this controller unable to go on: an exception in a script, a model that went astray. The run ends with
    /// it. Nobody looks after every call, so a controller that has failed must do nothing until then; and nobody looks
    /// at all where [`hooks`](Controller::hooks) leaves this one out.
    fn fault(&self) -> Option<&Fault> {
        None
    }

    /// Names of the values [`observe`](Controller::observe) writes, with units (`bw_mbps`, `min_rtt_ms`). Asked for
    /// once, before the connection is established.
    fn observables(&self) -> Vec<Cow<'static, str>> {
        Vec::new()
    }

    /// Writes the current value of every observable, in the order of [`observables`](Controller::observables).
    /// Reports only: nothing may depend on it. It is not asked for a sample if nothing has reached the sender since the
    /// one before.
    fn observe(&self, _view: &View, _control: &Control, _values: &mut [f64]) {}
}

/// Why a controller cannot go on, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The instant of the call that failed.
    pub at: Time,
    /// What went wrong, in one sentence.
    pub message: String,
}

impl Fault {
    /// A fault at the instant of the present call.
    pub fn new(view: &View, message: impl Into<String>) -> Fault {
        Fault { at: view.now, message: message.into() }
    }
}

/// The send-time snapshot of a packet that was just marked lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct LostPacket {
    /// Packets in flight when it was sent, itself included.
    pub tx_in_flight: u32,
    /// `delivered` when it was sent.
    pub delivered: u64,
    /// `lost` when it was sent.
    pub lost: u64,
    /// It was sent while the application was the limit.
    pub is_app_limited: bool,
}
