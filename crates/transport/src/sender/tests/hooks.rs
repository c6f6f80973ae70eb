//! What a controller is told.

use super::harness::*;
use crate::{Ack, AdvertisedWindow, Handshake, Sender, TransportConfig};
use dumbbell_cc_contract::{AckFlags, Control, Controller, Hooks, LostPacket, Needs, View};
use dumbbell_units::Duration;
use std::sync::{Arc, Mutex};

/// What a controller was told.
#[derive(Default)]
struct Heard {
    /// Of each ACK, whether it took the slow path.
    slow: Vec<bool>,
    /// And how many packets it cleaned.
    cleaned: Vec<u32>,
    lost: u64,
}

impl Heard {
    /// ACKs, packets that they cleaned, and lost packets.
    fn counts(&self) -> [u64; 3] {
        let cleaned = self.cleaned.iter().map(|&packets| u64::from(packets)).sum();
        [self.slow.len() as u64, cleaned, self.lost]
    }
}

/// A controller that notes what it is told by the hooks it says it has.
struct Listening {
    hooks: Hooks,
    heard: Arc<Mutex<Heard>>,
}

impl Listening {
    /// It, and what it will have heard.
    fn new(hooks: Hooks) -> (Listening, Arc<Mutex<Heard>>) {
        let heard = Arc::<Mutex<Heard>>::default();
        (Listening { hooks, heard: heard.clone() }, heard)
    }
}

impl Controller for Listening {
    fn algorithm(&self) -> &'static str {
        "listening"
    }

    fn init(&mut self, _view: &View, control: &mut Control) {
        control.cwnd = 20;
    }

    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn ssthresh(&mut self, _view: &View, _control: &Control) -> u32 {
        10
    }

    fn in_ack_event(&mut self, _view: &View, _control: &mut Control, flags: AckFlags) {
        self.heard.lock().unwrap().slow.push(flags.slow_path);
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, acked: u32, _rtt_us: i64, _in_flight: u32) {
        self.heard.lock().unwrap().cleaned.push(acked);
    }

    fn packet_lost(&mut self, _view: &View, _control: &mut Control, _lost: &LostPacket) {
        self.heard.lock().unwrap().lost += 1;
    }
}

#[test]
fn a_controller_is_told_what_it_has_hooks_for_and_nothing_else() {
    let told = |hooks: Hooks| {
        let (listening, heard) = Listening::new(hooks);
        let mut pair = Pair::new(&TransportConfig::default(), Box::new(listening));
        pair.drop(&[(30, 1), (31, 1), (50, 1), (51, 1), (52, 1)]);
        pair.write_at(START, 200, 1448);
        pair.run_to_completion(Duration::from_secs(10));
        assert_eq!(pair.sender.view().lost, 5);
        let counts = heard.lock().unwrap().counts();
        (counts, pair.heard.len() as u64)
    };
    let ([acks, acked, lost], heard) = told(Hooks::ALL);
    assert_eq!((acks, acked, lost), (heard, 200, 5));
    assert_eq!(told(Hooks::NONE), ([0; 3], heard), "and the sender does the same");
    assert_eq!(told(Hooks { packet_lost: true, ..Hooks::NONE }).0, [0, 0, 5]);
    assert_eq!(told(Hooks { pkts_acked: true, ..Hooks::NONE }).0, [0, 200, 0]);
}

#[test]
fn a_controller_is_told_of_an_ack_also_while_nothing_is_in_flight() {
    let (listening, heard) = Listening::new(Hooks::ALL);
    let mut script = Scripted::new(TransportConfig::default(), 20, 10);
    script.sender = Sender::new(TransportConfig::default().into(), Box::new(listening));
    script.sender.establish(START, Handshake::symmetric(Scripted::RTT));
    script.write(2);
    for window in [1_000, 1_001] {
        script.now += ms(10);
        let ack = Ack { window: AdvertisedWindow::whole(window), ..script.ack_of(2, &[]) };
        script.hear(&ack);
    }
    assert_eq!(heard.lock().unwrap().counts(), [2, 2, 0], "the second ACK only opens the window");
}

#[test]
fn a_controller_is_told_of_the_packets_of_each_ack_that_comes_while_any_is_outstanding() {
    for sack in [true, false] {
        let (listening, heard) = Listening::new(Hooks::ALL);
        let mut script = Scripted::new(TransportConfig { sack, ..TransportConfig::default() }, 20, 10);
        script.sender = Sender::new(script.sender.config.clone(), Box::new(listening));
        script.sender.establish(START, Handshake::symmetric(Scripted::RTT));
        script.write(10);
        for (millis, ack) in [(100, 2), (101, 2), (102, 2), (103, 1), (104, 10), (105, 10)] {
            script.ack(at(millis), ack, &[]);
        }
        assert_eq!(heard.lock().unwrap().cleaned, [2, 0, 0, 8], "not of an old one, and not when none is outstanding");
    }
}

/// A controller that looks at the clocks of both ends.
struct Clocked {
    /// The latest timestamps, and how many ACKs came with any.
    stamps: (u32, u32),
    told: Arc<Mutex<u32>>,
}

impl Controller for Clocked {
    fn algorithm(&self) -> &'static str {
        "clocked"
    }

    fn init(&mut self, _view: &View, control: &mut Control) {
        control.cwnd = 20;
    }

    fn needs(&self) -> Needs {
        Needs { timestamps: true, ..Needs::NONE }
    }

    fn ssthresh(&mut self, _view: &View, _control: &Control) -> u32 {
        10
    }

    fn ack_timestamps(&mut self, value_ms: u32, echo_ms: u32) {
        self.stamps = (value_ms, echo_ms);
        *self.told.lock().unwrap() += 1;
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        let (value, echo) = self.stamps;
        if *self.told.lock().unwrap() > 0 && rtt_us > 0 {
            let age_ms = view.mstamp_us / 1_000 - u64::from(echo);
            assert!(age_ms.abs_diff(rtt_us.unsigned_abs() / 1_000) <= 1, "{age_ms} ms, {rtt_us} us");
            assert!(echo < value && u64::from(value) < view.mstamp_us / 1_000, "half a round trip lies between them");
        }
    }
}

#[test]
fn a_controller_that_needs_timestamps_is_told_those_of_an_ack_before_its_packets() {
    let told = |timestamps: bool| {
        let told = Arc::new(Mutex::new(0));
        let clocked = Clocked { stamps: (0, 0), told: told.clone() };
        let config = TransportConfig { timestamps, ..TransportConfig::default() };
        let mut pair = Pair::new(&config, Box::new(clocked));
        pair.write_at(START, 200, 1448);
        pair.run_to_completion(Duration::from_secs(10));
        let count = *told.lock().unwrap();
        (count, u32::try_from(pair.heard.len()).unwrap())
    };
    let (count, heard) = told(true);
    assert_eq!(count, heard);
    assert_eq!(told(false).0, 0);
}

#[test]
fn a_controller_is_told_which_acks_have_another_header_than_was_predicted() {
    const WINDOW: u32 = 1_000;
    let (listening, heard) = Listening::new(Hooks { in_ack_event: true, ..Hooks::NONE });
    let mut script = Scripted::new(TransportConfig::default(), 20, 10);
    script.sender = Sender::new(TransportConfig::default().into(), Box::new(listening));
    script.sender.establish(START, Handshake::symmetric(Scripted::RTT));
    script.write(100);
    let whole = AdvertisedWindow::whole;
    let open = whole(WINDOW);
    let hear = |script: &mut Scripted, ack, window, ece, sacks: &[(u32, u32)]| {
        script.now += ms(10);
        let ack = Ack { window, ece, ..script.ack_of(ack, sacks) };
        script.hear(&ack);
        *heard.lock().unwrap().slow.last().unwrap()
    };
    assert!(hear(&mut script, 2, open, false, &[]), "the first one: nothing was predicted");
    assert!(!hear(&mut script, 3, open, false, &[]));
    assert!(hear(&mut script, 4, whole(WINDOW + 1), false, &[]), "another window");
    assert!(!hear(&mut script, 6, whole(WINDOW + 1), false, &[]), "the same again");
    assert!(hear(&mut script, 7, AdvertisedWindow::new(WINDOW + 1, 8), false, &[]), "some bytes more");
    assert!(!hear(&mut script, 8, AdvertisedWindow::new(WINDOW + 1, 8), false, &[]));
    assert!(!hear(&mut script, 8, AdvertisedWindow::new(WINDOW + 1, 8), false, &[]), "a duplicate without options");
    assert!(hear(&mut script, 9, AdvertisedWindow::new(WINDOW + 1, 8), true, &[]), "congestion");
    assert!(hear(&mut script, 9, AdvertisedWindow::new(WINDOW + 1, 8), false, &[(10, 11)]), "options");
}
