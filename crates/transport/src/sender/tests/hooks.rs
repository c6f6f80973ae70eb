//! What a controller is told.

use super::harness::*;
use crate::TransportConfig;
use dumbbell_cc::{AckFlags, Control, Controller, Hooks, LostPacket, View};
use dumbbell_units::Duration;
use std::sync::{Arc, Mutex};

/// A controller that counts what it is told by the hooks it says it has.
struct Listening {
    hooks: Hooks,
    told: Arc<Mutex<[u64; 3]>>,
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

    fn in_ack_event(&mut self, _view: &View, _control: &mut Control, _flags: AckFlags) {
        self.told.lock().unwrap()[0] += 1;
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, acked: u32, _rtt_us: i64, _in_flight: u32) {
        self.told.lock().unwrap()[1] += u64::from(acked);
    }

    fn packet_lost(&mut self, _view: &View, _control: &mut Control, _lost: &LostPacket) {
        self.told.lock().unwrap()[2] += 1;
    }
}

#[test]
fn a_controller_is_told_what_it_has_hooks_for_and_nothing_else() {
    let told = |hooks: Hooks| {
        let told = Arc::new(Mutex::new([0; 3]));
        let listening = Listening { hooks, told: told.clone() };
        let mut pair = Pair::new(&TransportConfig::default(), Box::new(listening));
        pair.drop(&[(30, 1), (31, 1), (50, 1), (51, 1), (52, 1)]);
        pair.write_at(START, 200, 1448);
        pair.run_to_completion(Duration::from_secs(10));
        assert_eq!(pair.sender.view().lost, 5);
        let counts = *told.lock().unwrap();
        (counts, pair.heard.len() as u64)
    };
    let ([acks, acked, lost], heard) = told(Hooks::ALL);
    assert_eq!((acks, acked, lost), (heard, 200, 5));
    assert_eq!(told(Hooks::NONE), ([0; 3], heard), "and the sender does the same");
    assert_eq!(told(Hooks { packet_lost: true, ..Hooks::NONE }).0, [0, 0, 5]);
    assert_eq!(told(Hooks { pkts_acked: true, ..Hooks::NONE }).0, [0, 200, 0]);
}
