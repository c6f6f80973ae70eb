//! What an algorithm in a library hears, and what comes of what it says. The algorithm is in this binary.

use super::*;
use crate::contract::{Algorithm, Exported, FULL_CONTROL, Sample};
use dumbbell_cc::AckFlags;
use dumbbell_units::{Duration, Time};
use std::cell::RefCell;

thread_local! {
    static HEARD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What was heard since the last time.
fn news() -> Vec<String> {
    HEARD.take()
}

fn say(line: String) {
    HEARD.with_borrow_mut(|heard| heard.push(line));
}

/// Says what it hears, and counts its calls in the credit of the window.
struct Echo {
    parameters: Vec<f64>,
}

impl Drop for Echo {
    fn drop(&mut self) {
        say("gone".to_owned());
    }
}

impl Algorithm for Echo {
    const NAME: &'static CStr = c"echo";
    const SUMMARY: &'static CStr = c"Says what it hears.";
    const PARAMETERS: &'static [contract::Parameter] = &[
        contract::Parameter::new(c"one", c"The first.", 1.0, [0.0, 2.0]),
        contract::Parameter::new(c"two", c"The second.", 2.0, [0.0, 2.0]),
    ];

    fn new(parameters: &[f64], _: u64) -> Echo {
        Echo { parameters: parameters.to_vec() }
    }

    fn init(&mut self, view: &contract::View, control: &mut contract::Control) {
        say(format!("init {:?} {} {}", self.parameters, view.mss, control.cwnd));
    }

    fn ssthresh(&mut self, view: &contract::View, control: &contract::Control) -> u32 {
        say(format!("ssthresh in {}", view.ca_state));
        control.cwnd - 1
    }

    fn cong_avoid(&mut self, view: &contract::View, control: &mut contract::Control, acked: u32) {
        say(format!("avoid {acked}"));
        match acked {
            90 => control.fail(c"it has enough"),
            91 => control.cwnd = 0,
            93 => control.pacing_rate = 0,
            92 => (control.cwnd, control.pacing_rate) = (u32::MAX, u64::MAX),
            _ => {
                control.cwnd += acked;
                control.cwnd_cnt += 1;
                control.ssthresh = view.in_flight;
                control.pacing_rate = 700;
                control.app_limited = view.delivered;
            }
        }
    }

    fn cong_control(&mut self, _: &contract::View, control: &mut contract::Control, sample: &Sample) {
        say(format!("sample {} {} {}", sample.delivered, sample.is_app_limited, sample.is_ece));
        control.cwnd_cnt += 1;
    }

    fn pkts_acked(&mut self, _: &contract::View, _: &mut contract::Control, acked: u32, rtt_us: i64, in_flight: u32) {
        say(format!("acked {acked} {rtt_us} {in_flight}"));
    }

    fn packet_lost(&mut self, view: &contract::View, _: &mut contract::Control, tx_in_flight: u32) {
        say(format!("lost {} of {tx_in_flight}", view.lost));
    }

    fn set_state(&mut self, view: &contract::View, _: &mut contract::Control, next: u32) {
        say(format!("{} to {next}", view.ca_state));
    }

    fn event(&mut self, _: &contract::View, _: &mut contract::Control, event: u32) {
        say(format!("event {event}"));
    }

    fn undo_cwnd(&mut self, view: &contract::View, _: &contract::Control) -> u32 {
        view.prior_cwnd
    }
}

fn opened(table: Table) -> Arc<Opened> {
    Arc::new(Opened::of(table, libloading::os::unix::Library::this().into()).unwrap_or_else(|why| panic!("{why}")))
}

fn controller(table: Table) -> Box<dyn Controller> {
    news();
    builder(opened(table), vec![0.5, 1.5], "echo-1".into())(Rng::new(1))
}

const TABLE: Table = Exported::<Echo>::TABLE;

fn seen() -> View {
    View {
        now: Time::ZERO + Duration::from_millis(3),
        packets_out: 9,
        sacked_out: 4,
        lost_out: 2,
        retrans_out: 1,
        delivered: 77,
        lost: 5,
        prior_cwnd: 31,
        cwnd_clamp: 40,
        max_pacing_rate: 1_000,
        ..View::new(1_448)
    }
}

#[test]
fn a_library_hears_of_everything_that_it_has_a_function_for() {
    let (mut echo, view, mut control) = (controller(TABLE), seen(), Control::default());
    assert_eq!(echo.algorithm(), "echo-1");
    echo.init(&view, &mut control);
    echo.pkts_acked(&view, &mut control, 2, 40_000, 7);
    echo.packet_lost(&view, &mut control, &LostPacket { tx_in_flight: 8, ..LostPacket::default() });
    assert_eq!(echo.ssthresh(&View { ca_state: CaState::Disorder, ..view.clone() }, &control), 9);
    let sample = RateSample { is_app_limited: true, delivered: 3, ..RateSample::default() };
    echo.cong_control(&view, &mut control, &sample);
    echo.cong_control(&view, &mut control, &RateSample { is_ece: true, ..sample });
    drop(echo);
    let heard = [
        "init [0.5, 1.5] 1448 10",
        "acked 2 40000 7",
        "lost 5 of 8",
        "ssthresh in 1",
        "sample 3 1 0",
        "sample 3 1 1",
        "gone",
    ];
    assert_eq!(news(), heard);
}

#[test]
fn states_and_events_have_the_numbers_of_the_header() {
    let (mut echo, view, mut control) = (controller(TABLE), seen(), Control::default());
    for (from, next) in [
        (CaState::Open, CaState::Disorder),
        (CaState::Disorder, CaState::Cwr),
        (CaState::Cwr, CaState::Recovery),
        (CaState::Recovery, CaState::Loss),
        (CaState::Loss, CaState::Open),
    ] {
        echo.set_state(&View { ca_state: from, ..view.clone() }, &mut control, next);
    }
    assert_eq!(news(), ["0 to 1", "1 to 2", "2 to 3", "3 to 4", "4 to 0"]);
    for event in [Event::TxStart, Event::CwndRestart, Event::CompleteCwr, Event::Loss, Event::EcnIsCe, Event::EcnNoCe] {
        echo.event(&view, &mut control, event);
    }
    assert_eq!(news(), ["event 0", "event 1", "event 2", "event 3"]);
}

#[test]
fn what_a_library_writes_holds_within_the_bounds_of_the_connection() {
    let (mut echo, view, mut control) = (controller(TABLE), seen(), Control::default());
    echo.cong_avoid(&view, &mut control, 3);
    let Control { cwnd, cwnd_cnt, ssthresh, pacing_rate, app_limited, .. } = control;
    assert_eq!((cwnd, cwnd_cnt, ssthresh, pacing_rate, app_limited), (13, 1, 4, 700, 77));
    echo.cong_avoid(&view, &mut control, 92);
    assert_eq!((control.cwnd, control.pacing_rate), (40, 1_000));
    assert_eq!(echo.undo_cwnd(&view, &control), 31);
    assert_eq!(echo.undo_cwnd(&View { prior_cwnd: 0, ..view }, &control), 1, "a window is at least 1");
    assert!(echo.fault().is_none());
}

#[test]
fn a_library_that_fails_is_called_for_nothing_more() {
    for (acked, why) in
        [(90, "it has enough"), (91, "it set the window to 0 packets"), (93, "it set the pacing rate to 0")]
    {
        let mut control = Control { cwnd: 12, pacing_rate: 1, ..Control::default() };
        let (mut echo, view) = (controller(TABLE), seen());
        echo.cong_avoid(&view, &mut control, acked);
        assert_eq!(echo.fault(), Some(&Fault { at: view.now, message: why.to_owned() }));
        news();
        echo.cong_avoid(&view, &mut control, 3);
        echo.set_state(&view, &mut control, CaState::Loss);
        assert_eq!((echo.ssthresh(&view, &control), echo.undo_cwnd(&view, &control)), (6, 31));
        assert_eq!((control.cwnd, news().len()), (12, 0));
    }
}

#[test]
fn a_library_without_room_for_a_flow_fails_when_the_connection_is_there() {
    unsafe extern "C" fn none(_: *const f64, _: u64) -> *mut c_void {
        std::ptr::null_mut()
    }
    let (mut echo, view, mut control) = (controller(Table { create: Some(none), ..TABLE }), seen(), Control::default());
    echo.init(&view, &mut control);
    assert!(echo.fault().unwrap().message.contains("no room"));
    drop(echo);
    assert!(news().is_empty(), "there is nothing to take back");
}

#[test]
fn functions_that_a_library_leaves_out_have_the_usual_effect() {
    let none = Table {
        create: None,
        destroy: None,
        init: None,
        cong_control: None,
        pkts_acked: None,
        packet_lost: None,
        set_state: None,
        event: None,
        undo_cwnd: None,
        ssthresh: Some(of_the_window),
        cong_avoid: Some(nothing),
        ..TABLE
    };
    unsafe extern "C" fn of_the_window(
        state: *mut c_void,
        _: *const contract::View,
        _: *const contract::Control,
    ) -> u32 {
        if state.is_null() { 5 } else { 6 }
    }
    unsafe extern "C" fn nothing(_: *mut c_void, _: *const contract::View, _: *mut contract::Control, _: u32) {}
    let (mut echo, view, mut control) = (controller(none), seen(), Control::default());
    let before = control.clone();
    echo.init(&view, &mut control);
    echo.event(&view, &mut control, Event::TxStart);
    echo.set_state(&view, &mut control, CaState::Loss);
    echo.pkts_acked(&view, &mut control, 1, 1, 1);
    echo.packet_lost(&view, &mut control, &LostPacket::default());
    echo.in_ack_event(&view, &mut control, AckFlags::default());
    echo.cong_control(&view, &mut control, &RateSample::default());
    assert_eq!((echo.ssthresh(&view, &control), echo.undo_cwnd(&view, &control)), (5, 31));
    assert_eq!(control, before);
    assert_eq!(echo.hooks(), Hooks { fault: true, ..Hooks::NONE });
    assert_eq!(controller(TABLE).hooks(), Hooks { pkts_acked: true, packet_lost: true, fault: true, ..Hooks::NONE });
}

#[test]
fn flags_say_what_a_library_wants() {
    let asked = |flags| {
        let echo = controller(Table { flags, ..TABLE });
        (echo.full_control(), echo.wants_pacing(), echo.ecn())
    };
    assert_eq!(asked(0), (false, false, EcnMode::None));
    assert_eq!(asked(FULL_CONTROL), (true, false, EcnMode::None));
    assert_eq!(asked(WANTS_PACING), (false, true, EcnMode::None));
    assert_eq!(asked(WANTS_ECN), (false, false, EcnMode::Classic));
}

#[test]
fn a_library_is_refused_that_does_not_fit_together() {
    let refused = |table: Table| Opened::of(table, libloading::os::unix::Library::this().into()).err().unwrap();
    for (table, why) in [
        (Table { flags: 8, ..TABLE }, "bits that this version does not know: 0x8"),
        (Table { ssthresh: None, ..TABLE }, "no function `ssthresh`"),
        (Table { cong_avoid: None, ..TABLE }, "no function `cong_avoid`"),
        (Table { cong_control: None, flags: FULL_CONTROL, ..TABLE }, "no function `cong_control`"),
        (Table { name: std::ptr::null(), ..TABLE }, "its name is NULL"),
        (Table { name: c"two words".as_ptr(), ..TABLE }, "must be one word"),
        (Table { name: c"".as_ptr(), ..TABLE }, "must be one word"),
        (Table { summary: c"\xff".as_ptr(), ..TABLE }, "its summary is no UTF-8"),
        (Table { parameters: std::ptr::null(), ..TABLE }, "2 parameters, and has none or too many"),
        (Table { parameter_count: 257, ..TABLE }, "257 parameters, and has none or too many"),
    ] {
        let said = refused(table);
        assert!(said.contains(why), "{why}: {said}");
    }
    assert!(opened(Table { cong_control: None, ..TABLE }).parameters.len() == 2, "it is called for nothing then");
    assert!(opened(Table { parameters: std::ptr::null(), parameter_count: 0, ..TABLE }).parameters.is_empty());
}

#[test]
fn parameters_have_names_of_their_own_and_lie_within_their_bounds() {
    let with = |parameters: &[contract::Parameter]| {
        let count = u32::try_from(parameters.len()).unwrap();
        let table = Table { parameters: parameters.as_ptr(), parameter_count: count, ..TABLE };
        Opened::of(table, libloading::os::unix::Library::this().into()).map(|opened| opened.parameters.len())
    };
    let parameter = |name, normal, bounds| contract::Parameter::new(name, c"What it is.", normal, bounds);
    assert_eq!(with(&[parameter(c"gain-2_x", 1.0, [1.0, 1.0])]), Ok(1));
    let gain = parameter(c"gain", 1.0, [0.0, 2.0]);
    assert_eq!(with(&[gain, gain]), Err("it has two parameters `gain`".to_owned()));
    for name in [c"", c"a gain", c"name", c"base", c"library"] {
        let said = with(&[parameter(name, 1.0, [0.0, 2.0])]).unwrap_err();
        assert!(said.contains("parameter 0 cannot be called"), "{said}");
    }
    for (normal, bounds) in [
        (3.0, [0.0, 2.0]),
        (-1.0, [0.0, 2.0]),
        (1.0, [0.0, f64::INFINITY]),
        (1.0, [f64::NEG_INFINITY, 2.0]),
        (f64::NAN, [0.0, 2.0]),
    ] {
        let said = with(&[parameter(c"gain", normal, bounds)]).unwrap_err();
        assert!(said.contains("must lie between"), "{said}");
    }
}
