//! Algorithms whose functions somebody has made at run time: they read and write the engine's own structs, whose layout
//! they are told, so that a call copies nothing.

use dumbbell_cc::{CaState, Control, LostPacket, RateSample, View};
use dumbbell_units::{Rng, Time};
use std::ffi::c_void;
use std::mem::offset_of;

/// Passes of loops that a call may make: a second or two.
const PASSES: i64 = 200_000_000;

/// What a function is called with besides state, connection, and what it hears of.
#[repr(C)]
struct Frame {
    /// What was written of the window beyond whole packets.
    fraction: f64,
    /// What was wrong: the number that could not be written.
    value: f64,
    answer: i64,
    arguments: [i64; 3],
    /// Addresses of the flow's [`Rng`], of the [`View`] and the [`Control`], for functions that take them.
    random_at: u64,
    view_at: u64,
    control_at: u64,
    /// Passes of loops that are left.
    passes: i64,
    /// What went wrong, and where: numbers that whoever made the function knows.
    kind: i32,
    site: i32,
    writes: u32,
    /// The window as the last call left it.
    cwnd: u32,
    wrote_ssthresh: bool,
}

/// What a function may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Writes {
    /// Everything.
    All = 0,
    /// Everything but the pacing rate.
    NotPacing = 1,
    /// Nothing: it answers.
    Nothing = 2,
}

/// The beginning of a reduction, or one lost packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss {
    /// Packets found lost since the last call.
    pub packets: u64,
    /// A congestion mark is the reason, not a loss.
    pub by_mark: bool,
    /// The packet, where there is one.
    pub packet: LostPacket,
}

/// What a function hears of besides the connection.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// Nothing.
    Nothing,
    /// An ACK.
    Ack(&'a RateSample),
    /// A loss.
    Loss(Loss),
    /// So many numbers.
    Numbers([i64; 3], usize),
}

/// A function: state, view, control, sample or loss, frame. It answers 0 unless something went wrong.
type Function = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *const c_void, *mut c_void) -> i32;

/// A function that was made at run time.
#[derive(Clone, Copy, Debug)]
pub struct Entry(Function);

impl Entry {
    /// The function at an address. It must have been made after [`layouts`], with state, view, control, sample or loss,
    /// and frame as pointers and a status of 32 bits, and stay as long as it is called: whoever runs code of one's own
    /// trusts it.
    pub fn at(address: usize) -> Option<Entry> {
        // SAFETY: as the documentation says; a null pointer becomes `None`.
        let function = unsafe {
            std::mem::transmute::<*const c_void, Option<Function>>(std::ptr::with_exposed_provenance(address))
        };
        function.map(Entry)
    }
}

/// A flow of an algorithm that consists of [`Entry`]s.
pub struct Flow {
    /// Of words, so that it is aligned.
    state: Vec<u64>,
    /// Bytes of the state.
    size: usize,
    frame: Frame,
    /// Lives where the frame says.
    _random: Box<Rng>,
}

/// What went wrong in a call: numbers of whoever made the function.
#[derive(Clone, Copy, Debug)]
pub struct Wrong {
    /// What.
    pub kind: i32,
    /// Where.
    pub site: i32,
    /// The number that was wrong, for kinds with one.
    pub value: f64,
}

impl Flow {
    /// A flow that begins with this state; `rng` is where its functions draw from.
    pub fn new(state: &[u8], rng: Rng) -> Flow {
        let mut random = Box::new(rng);
        let frame = Frame {
            fraction: 0.0,
            value: 0.0,
            answer: 0,
            arguments: [0; 3],
            random_at: std::ptr::from_mut(&mut *random).expose_provenance() as u64,
            view_at: 0,
            control_at: 0,
            passes: PASSES,
            kind: 0,
            site: 0,
            writes: Writes::All as u32,
            cwnd: Control::default().cwnd,
            wrote_ssthresh: false,
        };
        let mut flow = Flow { state: vec![0; state.len().div_ceil(8)], size: state.len(), frame, _random: random };
        flow.set_state(state);
        flow
    }

    /// The state.
    pub fn state(&self) -> &[u8] {
        // SAFETY: there are at least so many bytes, and all values are bytes.
        unsafe { std::slice::from_raw_parts(self.state.as_ptr().cast(), self.size) }
    }

    /// Puts another state in its place.
    ///
    /// # Panics
    /// It has another size.
    pub fn set_state(&mut self, state: &[u8]) {
        // SAFETY: as above.
        let bytes: &mut [u8] = unsafe { std::slice::from_raw_parts_mut(self.state.as_mut_ptr().cast(), self.size) };
        bytes.copy_from_slice(state);
    }

    /// The answer of the last call.
    #[inline]
    pub fn answer(&self) -> i64 {
        self.frame.answer
    }

    /// The threshold was written in the last call.
    #[inline]
    pub fn wrote_ssthresh(&self) -> bool {
        self.frame.wrote_ssthresh
    }

    /// Calls a function.
    ///
    /// # Errors
    /// It has answered that something went wrong.
    #[inline]
    pub fn call(
        &mut self,
        entry: Entry,
        view: &View,
        control: &mut Control,
        heard: &Heard<'_>,
        writes: Writes,
    ) -> Result<(), Wrong> {
        let frame = &mut self.frame;
        if frame.cwnd != control.cwnd {
            frame.fraction = 0.0;
        }
        frame.passes = PASSES;
        frame.writes = writes as u32;
        frame.wrote_ssthresh = false;
        let what = match heard {
            Heard::Nothing => std::ptr::null(),
            Heard::Ack(sample) => std::ptr::from_ref(*sample).cast(),
            Heard::Loss(loss) => std::ptr::from_ref(loss).cast(),
            Heard::Numbers(numbers, _) => {
                frame.arguments = *numbers;
                std::ptr::null()
            }
        };
        let (seen, levers) = (std::ptr::from_ref(view), std::ptr::from_mut(control));
        frame.view_at = seen.expose_provenance() as u64;
        frame.control_at = levers.expose_provenance() as u64;
        // SAFETY: the function was made for these structs, and writes to what is given to it mutably alone.
        let status = unsafe {
            entry.0(self.state.as_mut_ptr().cast(), seen.cast(), levers.cast(), what, std::ptr::from_mut(frame).cast())
        };
        control.cwnd = control.cwnd.min(view.cwnd_clamp);
        frame.cwnd = control.cwnd;
        if status == 0 {
            return Ok(());
        }
        let Frame { kind, site, value, .. } = *frame;
        Err(Wrong { kind, site, value })
    }
}

// -- what functions call -----------------------------------------------------------------------------------------

/// What is at an address of a frame.
#[expect(clippy::cast_possible_truncation, reason = "addresses fit")]
fn at<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

extern "C" fn below(random: u64, bound: u32) -> u32 {
    // SAFETY: functions take their addresses from the frame with which they are called, and nobody else uses what is
    // there meanwhile; here and below.
    unsafe { &mut *at::<Rng>(random) }.below(bound)
}

extern "C" fn uniform(random: u64) -> f64 {
    // SAFETY: as above.
    unsafe { &mut *at::<Rng>(random) }.uniform()
}

extern "C" fn is_cwnd_limited(view: u64, control: u64) -> bool {
    // SAFETY: as above; nothing is written.
    let (view, control) = unsafe { (&*at::<View>(view), &*at::<Control>(control)) };
    view.is_cwnd_limited(control)
}

extern "C" fn slow_start(view: u64, control: u64, acked: u32) -> u32 {
    // SAFETY: as above; the view is not written.
    let (view, control) = unsafe { (&*at::<View>(view), &mut *at::<Control>(control)) };
    control.slow_start(view, acked)
}

extern "C" fn cong_avoid_ai(view: u64, control: u64, per_increment: u32, acked: u32) {
    // SAFETY: as above.
    let (view, control) = unsafe { (&*at::<View>(view), &mut *at::<Control>(control)) };
    control.additive_increase(view, per_increment.max(1), acked);
}

/// `pow` of the C library, as Python calls it: a compiler that knows the exponent computes otherwise.
extern "C" fn power(base: f64, exponent: f64) -> f64 {
    base.powf(exponent)
}

// -- what functions are told ---------------------------------------------------------------------------------------

/// A type of NumPy.
trait Scalar {
    const CODE: &'static str;
}

macro_rules! scalars {
    ($($kind:ty = $code:literal),* $(,)?) => { $(impl Scalar for $kind { const CODE: &'static str = $code; })* };
}

scalars!(
    bool = "?",
    u32 = "u4",
    u64 = "u8",
    i32 = "i4",
    i64 = "i8",
    f64 = "f8",
    [i64; 3] = "3i8",
    Time = "u8",
    CaState = "u1"
);

const _: () = assert!(size_of::<Time>() == 8 && size_of::<CaState>() == 1);

/// The type of a field.
fn code<S, F: Scalar>(_: fn(&S) -> &F) -> &'static str {
    F::CODE
}

macro_rules! record {
    ($name:literal $kind:ty, $($($field:ident).+),* $(,)?) => {
        (
            $name,
            size_of::<$kind>(),
            vec![$((stringify!($($field).+), offset_of!($kind, $($field).+), code(|of: &$kind| &of.$($field).+))),*],
        )
    };
}

/// A field: name, offset, type of NumPy.
pub type Field = (&'static str, usize, &'static str);

/// The structs that functions are given: name, size, fields. `sample` or `loss` is what they hear of.
pub fn layouts() -> [(&'static str, usize, Vec<Field>); 5] {
    [
        record!("view" View, now, mstamp_us, jiffies, hz, mss, prior_cwnd, cwnd_clamp, max_pacing_rate, gso_max_bytes, paced,
            next_departure, packets_out, sacked_out, lost_out, retrans_out, max_packets_out, cwnd_limited, no_unsent_data,
            receive_window_full, snd_una, snd_nxt, ca_state, delivered, delivered_ce, lost, delivered_mstamp_us, last_sent,
            srtt_us_x8, min_rtt_us),
        record!("control" Control, cwnd, cwnd_bytes, cwnd_cnt, ssthresh, pacing_rate, pacing_shift, app_limited),
        record!("sample" RateSample, prior_delivered, prior_mstamp_us, delivered, interval_us, rtt_us, losses, acked_sacked,
            prior_in_flight, is_app_limited, is_retrans, is_ack_delayed, tx_in_flight, lost_since_sent, delivered_ce, is_ece),
        record!("loss" Loss, packets, by_mark, packet.tx_in_flight, packet.delivered, packet.lost, packet.is_app_limited),
        record!("frame" Frame, fraction, value, answer, arguments, random_at, view_at, control_at, passes, kind, site, writes, wrote_ssthresh),
    ]
}

/// Functions that they may call: name and address. Views, controls and generators are addresses, too.
pub fn functions() -> [(&'static str, usize); 6] {
    [
        ("below", below as *const () as usize),
        ("uniform", uniform as *const () as usize),
        ("is_cwnd_limited", is_cwnd_limited as *const () as usize),
        ("slow_start", slow_start as *const () as usize),
        ("cong_avoid_ai", cong_avoid_ai as *const () as usize),
        ("power", power as *const () as usize),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the first argument to the window, half a packet to its fraction, and the state to what it answers; fails at
    /// 13.
    unsafe extern "C" fn grow(
        state: *mut c_void,
        view: *const c_void,
        control: *mut c_void,
        _: *const c_void,
        frame: *mut c_void,
    ) -> i32 {
        // SAFETY: this is what a flow calls it with.
        let (state, view, control, frame) = unsafe {
            (
                &mut *state.cast::<u64>(),
                &*view.cast::<View>(),
                &mut *control.cast::<Control>(),
                &mut *frame.cast::<Frame>(),
            )
        };
        if frame.arguments[0] == 13 {
            (frame.kind, frame.site, frame.value) = (2, 7, 0.5);
            return 1;
        }
        *state += 1;
        control.cwnd += u32::try_from(frame.arguments[0]).unwrap();
        frame.fraction += 0.5;
        frame.answer = i64::try_from(*state).unwrap() + i64::from(view.mss);
        frame.wrote_ssthresh = is_cwnd_limited(frame.view_at, frame.control_at);
        i32::from(frame.writes == Writes::Nothing as u32)
    }

    fn entry() -> Entry {
        Entry::at(grow as *const () as usize).unwrap()
    }

    #[test]
    fn a_call_works_on_the_structs_themselves() {
        let (mut view, mut control) = (View::new(1000), Control::default());
        (view.cwnd_clamp, view.cwnd_limited) = (14, true);
        let mut flow = Flow::new(&41_u64.to_ne_bytes(), Rng::new(1));
        let one = Heard::Numbers([1, 0, 0], 1);
        flow.call(entry(), &view, &mut control, &one, Writes::All).unwrap();
        assert_eq!((control.cwnd, flow.answer(), flow.wrote_ssthresh()), (11, 1042, true));
        assert_eq!(flow.state(), 42_u64.to_ne_bytes());
        flow.call(entry(), &view, &mut control, &Heard::Numbers([9, 0, 0], 1), Writes::All).unwrap();
        assert_eq!((control.cwnd, flow.frame.fraction), (14, 1.0), "bounded by the clamp; the fraction is kept");
        control.cwnd = 5;
        flow.call(entry(), &view, &mut control, &one, Writes::NotPacing).unwrap();
        assert_eq!(flow.frame.fraction, 0.5, "somebody else has written the window");
    }

    #[test]
    fn what_goes_wrong_is_told() {
        let (view, mut control) = (View::new(1000), Control::default());
        let mut flow = Flow::new(&[0; 8], Rng::new(1));
        let wrong = flow.call(entry(), &view, &mut control, &Heard::Numbers([13, 0, 0], 1), Writes::All).unwrap_err();
        assert_eq!((wrong.kind, wrong.site, wrong.value), (2, 7, 0.5));
        assert!(flow.call(entry(), &view, &mut control, &Heard::Nothing, Writes::Nothing).is_err());
        assert!(Entry::at(0).is_none());
    }

    #[test]
    fn layouts_have_the_fields_where_they_are() {
        let view = View { delivered: 77, ..View::new(1448) };
        let (_, size, fields) = layouts().into_iter().find(|(name, ..)| *name == "view").unwrap();
        assert_eq!(size, size_of::<View>());
        let (_, offset, kind) = *fields.iter().find(|(name, ..)| *name == "delivered").unwrap();
        assert_eq!(kind, "u8");
        // SAFETY: the field is there, and has that type.
        assert_eq!(unsafe { std::ptr::from_ref(&view).cast::<u8>().add(offset).cast::<u64>().read() }, 77);
    }
}
