//! The contract between Dumbbell and an algorithm in a library of its own: `dumbbell_cc.h` for Rust.
//!
//! Implement [`Algorithm`] and write `export!(YourType);`. This file needs nothing but the standard library, and
//! whatever is unsafe in your project is in it. The order of the calls is that of Linux's `struct tcp_congestion_ops`;
//! counts are packets unless a name says otherwise. An algorithm decides from what it is given alone: no clock, no
//! file, no random numbers but those that follow from the seed.

#![allow(dead_code)]

use std::ffi::{CStr, c_char, c_void};

/// Version of this contract. A library of another version is refused.
pub const VERSION: u32 = 1;
/// What [`Control::ssthresh`] is before the first reduction.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// What [`View::min_rtt_us`] is before the first sample.
pub const UNKNOWN_RTT: u32 = u32::MAX;
/// States of the sender.
pub const OPEN: u32 = 0;
/// Duplicate ACKs were seen, and nothing is lost.
pub const DISORDER: u32 = 1;
/// The window is being reduced without a loss.
pub const CWR: u32 = 2;
/// Fast recovery.
pub const RECOVERY: u32 = 3;
/// After a retransmission timeout.
pub const LOSS: u32 = 4;
/// Events: the first packet after everything was acknowledged.
pub const TX_START: u32 = 0;
/// A restart after idle time.
pub const CWND_RESTART: u32 = 1;
/// The end of a reduction.
pub const COMPLETE_CWR: u32 = 2;
/// A retransmission timeout.
pub const TIMEOUT: u32 = 3;
/// Bits of [`Algorithm::FLAGS`]: it owns the window in every state, and [`Algorithm::cong_control`] is called with
/// every ACK.
pub const FULL_CONTROL: u32 = 1;
/// It asks the sender to pace.
pub const WANTS_PACING: u32 = 2;
/// It wants packets to be marked rather than dropped (RFC 3168).
pub const WANTS_ECN: u32 = 4;

/// The connection, which an algorithm reads.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Bytes of this struct.
    pub size: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The present instant.
    pub now_ns: u64,
    /// The present instant in whole microseconds.
    pub now_us: u64,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Of those, with a congestion mark.
    pub delivered_ce: u64,
    /// Packets ever marked lost.
    pub lost: u64,
    /// When `delivered` last grew.
    pub delivered_us: u64,
    /// When the last burst left.
    pub last_sent_ns: u64,
    /// When pacing lets the next packet leave.
    pub next_departure_ns: u64,
    /// First position that is not acknowledged.
    pub snd_una: u64,
    /// Next position to be sent.
    pub snd_nxt: u64,
    /// Upper bound of the pacing rate.
    pub max_pacing_rate: u64,
    /// Ticks of the coarse clock.
    pub jiffies: u32,
    /// Ticks a second.
    pub hz: u32,
    /// Window before the present reduction.
    pub prior_cwnd: u32,
    /// Upper bound of the window.
    pub cwnd_clamp: u32,
    /// Sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Selectively acknowledged.
    pub sacked_out: u32,
    /// Marked lost and not repaired.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Most packets out in the last window.
    pub max_packets_out: u32,
    /// 1: nothing but the window held the sender back in the last window.
    pub cwnd_limited: u32,
    /// [`OPEN`] and so on.
    pub ca_state: u32,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt_us: u32,
    /// Smallest recent round-trip time, or [`UNKNOWN_RTT`].
    pub min_rtt_us: u32,
    /// 1: the pacing rate shapes what is sent.
    pub paced: u32,
    /// 1: the application has nothing more to send at present.
    pub no_unsent_data: u32,
}

/// What an algorithm may change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Bytes of this struct.
    pub size: u32,
    /// Congestion window, at least 1.
    pub cwnd: u32,
    /// Credit towards the next increment of the window.
    pub cwnd_cnt: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Payload bytes a second, at least 1; the sender's own without [`FULL_CONTROL`].
    pub pacing_rate: u64,
    /// Samples up to this value of `delivered` count as limited by the application; 0: none.
    pub app_limited: u64,
    /// Why the algorithm cannot go on, or null; [`Control::fail`] sets it.
    pub fault: *const c_char,
}

impl Control {
    /// Says why the algorithm cannot go on: the run ends with this sentence.
    pub fn fail(&mut self, why: &'static CStr) {
        self.fault = why.as_ptr();
    }
}

/// What an ACK taught the sender (`struct rate_sample`); -1 stands for what it did not.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bytes of this struct.
    pub size: u32,
    /// Packets delivered over the interval.
    pub delivered: i32,
    /// Length of the interval.
    pub interval_us: i64,
    /// Round-trip time of this ACK.
    pub rtt_us: i64,
    /// `delivered` when the sampled packet was sent.
    pub prior_delivered: u64,
    /// `delivered_us` when it was sent.
    pub prior_us: u64,
    /// Packets newly marked lost.
    pub losses: u32,
    /// Packets newly acknowledged.
    pub acked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight when the sampled packet was sent.
    pub tx_in_flight: u32,
    /// Packets lost since then.
    pub lost_since_sent: i32,
    /// Packets delivered with a mark since then.
    pub delivered_ce: i32,
    /// 1: the application was the limit then.
    pub is_app_limited: u32,
    /// 1: the sampled packet was a retransmission.
    pub is_retrans: u32,
    /// 1: the round-trip time probably has a receiver's wait in it.
    pub is_ack_delayed: u32,
    /// 1: the ACK echoes congestion.
    pub is_ece: u32,
}

/// A constant that an experiment may set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: *const c_char,
    /// What it is, in a sentence.
    pub meaning: *const c_char,
    /// Its value where the experiment says nothing.
    pub normal: f64,
    /// Its smallest value.
    pub least: f64,
    /// Its largest value.
    pub most: f64,
}

// SAFETY: the texts last as long as the library, and nobody writes to them.
unsafe impl Sync for Parameter {}

impl Parameter {
    /// A constant between `least` and `most`, which is `normal` where the experiment says nothing.
    pub const fn new(name: &'static CStr, meaning: &'static CStr, normal: f64, [least, most]: [f64; 2]) -> Parameter {
        Parameter { name: name.as_ptr(), meaning: meaning.as_ptr(), normal, least, most }
    }
}

type Read = unsafe extern "C" fn(*mut c_void, *const View, *const Control) -> u32;
type Write = unsafe extern "C" fn(*mut c_void, *const View, *mut Control);
type WriteOne = unsafe extern "C" fn(*mut c_void, *const View, *mut Control, u32);
type WriteSample = unsafe extern "C" fn(*mut c_void, *const View, *mut Control, *const Sample);
type WriteRtt = unsafe extern "C" fn(*mut c_void, *const View, *mut Control, u32, i64, u32);

/// The algorithm as the header describes it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of this struct.
    pub size: u32,
    /// [`FULL_CONTROL`] and so on.
    pub flags: u32,
    /// How many parameters there are.
    pub parameter_count: u32,
    /// The parameters.
    pub parameters: *const Parameter,
    /// One word.
    pub name: *const c_char,
    /// A sentence.
    pub summary: *const c_char,
    /// Makes the state of a flow.
    pub create: Option<unsafe extern "C" fn(*const f64, u64) -> *mut c_void>,
    /// Takes it back.
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    /// [`Algorithm::init`].
    pub init: Option<Write>,
    /// [`Algorithm::ssthresh`].
    pub ssthresh: Option<Read>,
    /// [`Algorithm::cong_avoid`].
    pub cong_avoid: Option<WriteOne>,
    /// [`Algorithm::cong_control`].
    pub cong_control: Option<WriteSample>,
    /// [`Algorithm::pkts_acked`].
    pub pkts_acked: Option<WriteRtt>,
    /// [`Algorithm::packet_lost`].
    pub packet_lost: Option<WriteOne>,
    /// [`Algorithm::set_state`].
    pub set_state: Option<WriteOne>,
    /// [`Algorithm::event`].
    pub event: Option<WriteOne>,
    /// [`Algorithm::undo_cwnd`].
    pub undo_cwnd: Option<Read>,
}

// SAFETY: what it points to lasts as long as the library, and nobody writes to it.
unsafe impl Sync for Table {}

/// An algorithm: its state is that of one flow.
pub trait Algorithm: Sized {
    /// One word.
    const NAME: &'static CStr;
    /// A sentence.
    const SUMMARY: &'static CStr;
    /// [`FULL_CONTROL`] and so on.
    const FLAGS: u32 = 0;
    /// What an experiment may set.
    const PARAMETERS: &'static [Parameter] = &[];

    /// The state of a flow; `parameters` are the values in their order.
    fn new(parameters: &[f64], seed: u64) -> Self;
    /// The connection is there.
    fn init(&mut self, _view: &View, _control: &mut Control) {}
    /// The threshold for the reduction that is about to begin.
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32;
    /// `acked` packets were delivered outside of a reduction.
    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}
    /// Every ACK, with [`FULL_CONTROL`].
    fn cong_control(&mut self, _view: &View, _control: &mut Control, _sample: &Sample) {}
    /// An ACK took `acked` packets out of the queue; `rtt_us` is -1 without a round-trip time; so many were in flight
    /// when the newest of them was sent.
    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _acked: u32, _rtt_us: i64, _in_flight: u32) {}
    /// A packet that was sent with so many in flight has just been counted in [`View::lost`].
    fn packet_lost(&mut self, _view: &View, _control: &mut Control, _tx_in_flight: u32) {}
    /// The state becomes `next`; [`View::ca_state`] is still the old one.
    fn set_state(&mut self, _view: &View, _control: &mut Control, _next: u32) {}
    /// [`TX_START`] and so on.
    fn event(&mut self, _view: &View, _control: &mut Control, _event: u32) {}
    /// The window to return to after a reduction that proved spurious.
    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        control.cwnd.max(view.prior_cwnd)
    }
}

/// What is exported of an algorithm. A panic ends the process, as it does wherever it would leave Rust.
pub struct Exported<A>(std::marker::PhantomData<A>);

// SAFETY: Dumbbell hands each function the state that `create` returned, until it is given to `destroy`, in one call at
// a time, and structs of the sizes that both sides have agreed upon.
impl<A: Algorithm> Exported<A> {
    /// The algorithm as the header describes it.
    pub const TABLE: Table = Table {
        version: VERSION,
        size: size_of::<Table>() as u32,
        flags: A::FLAGS,
        parameter_count: A::PARAMETERS.len() as u32,
        parameters: A::PARAMETERS.as_ptr(),
        name: A::NAME.as_ptr(),
        summary: A::SUMMARY.as_ptr(),
        create: Some(Self::create),
        destroy: Some(Self::destroy),
        init: Some(Self::init),
        ssthresh: Some(Self::ssthresh),
        cong_avoid: Some(Self::cong_avoid),
        cong_control: Some(Self::cong_control),
        pkts_acked: Some(Self::pkts_acked),
        packet_lost: Some(Self::packet_lost),
        set_state: Some(Self::set_state),
        event: Some(Self::event),
        undo_cwnd: Some(Self::undo_cwnd),
    };

    unsafe extern "C" fn create(parameters: *const f64, seed: u64) -> *mut c_void {
        let count = A::PARAMETERS.len();
        let values = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(parameters, count) } };
        Box::into_raw(Box::new(A::new(values, seed))).cast()
    }
    unsafe extern "C" fn destroy(state: *mut c_void) {
        drop(unsafe { Box::from_raw(state.cast::<A>()) });
    }
    unsafe extern "C" fn init(state: *mut c_void, view: *const View, control: *mut Control) {
        unsafe { (*state.cast::<A>()).init(&*view, &mut *control) }
    }
    unsafe extern "C" fn ssthresh(state: *mut c_void, view: *const View, control: *const Control) -> u32 {
        unsafe { (*state.cast::<A>()).ssthresh(&*view, &*control) }
    }
    unsafe extern "C" fn cong_avoid(state: *mut c_void, view: *const View, control: *mut Control, acked: u32) {
        unsafe { (*state.cast::<A>()).cong_avoid(&*view, &mut *control, acked) }
    }
    unsafe extern "C" fn cong_control(
        state: *mut c_void,
        view: *const View,
        control: *mut Control,
        sample: *const Sample,
    ) {
        unsafe { (*state.cast::<A>()).cong_control(&*view, &mut *control, &*sample) }
    }
    unsafe extern "C" fn pkts_acked(
        state: *mut c_void,
        view: *const View,
        control: *mut Control,
        acked: u32,
        rtt_us: i64,
        in_flight: u32,
    ) {
        unsafe { (*state.cast::<A>()).pkts_acked(&*view, &mut *control, acked, rtt_us, in_flight) }
    }
    unsafe extern "C" fn packet_lost(state: *mut c_void, view: *const View, control: *mut Control, tx_in_flight: u32) {
        unsafe { (*state.cast::<A>()).packet_lost(&*view, &mut *control, tx_in_flight) }
    }
    unsafe extern "C" fn set_state(state: *mut c_void, view: *const View, control: *mut Control, next: u32) {
        unsafe { (*state.cast::<A>()).set_state(&*view, &mut *control, next) }
    }
    unsafe extern "C" fn event(state: *mut c_void, view: *const View, control: *mut Control, event: u32) {
        unsafe { (*state.cast::<A>()).event(&*view, &mut *control, event) }
    }
    unsafe extern "C" fn undo_cwnd(state: *mut c_void, view: *const View, control: *const Control) -> u32 {
        unsafe { (*state.cast::<A>()).undo_cwnd(&*view, &*control) }
    }
}

/// Exports an algorithm: what a library has to define.
#[macro_export]
macro_rules! export {
    ($algorithm:ty) => {
        /// Where Dumbbell finds the algorithm.
        #[unsafe(no_mangle)]
        pub extern "C" fn dumbbell_cc() -> *const $crate::contract::Table {
            static TABLE: $crate::contract::Table = $crate::contract::Exported::<$algorithm>::TABLE;
            &TABLE
        }
    };
}
