//! Reductions in proportion to what is delivered.

use super::*;
use dumbbell_cc_contract::Needs;

/// Halves on loss, in proportion to what is delivered.
struct Proportional;

impl Controller for Proportional {
    fn algorithm(&self) -> &'static str {
        "proportional"
    }
    fn init(&mut self, _view: &View, _control: &mut Control) {}
    fn needs(&self) -> Needs {
        Needs { proportional: 1372, ..Needs::NONE }
    }
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd / 2
    }
}

#[test]
fn a_proportional_reduction_sends_at_once_and_recovers_within_a_round_trip() {
    let config = TransportConfig { initial_cwnd: 40, ack_every: 1, ..profile("quic") };
    let recovery = |controller: Box<dyn Controller>| {
        let mut pair = Pair::new(&config, |number| number == 0);
        pair.sender = QuicSender::new(config.clone().into(), controller);
        pair.sender.establish(Time::ZERO, ONE_WAY * 2);
        // A packet a millisecond.
        let (mut began, mut ended) = (None, None);
        for millis in 0..200 {
            let now = Time::ZERO + Duration::from_millis(millis);
            pair.run_until(now);
            pair.now = now;
            match pair.sender.view().ca_state {
                CaState::Recovery => _ = began.get_or_insert(millis),
                _ if began.is_some() => _ = ended.get_or_insert(millis),
                _ => {}
            }
            if began.is_none() || pair.sender.unsent() == 0 {
                pair.sender.write(now, 1, 1350);
            }
            pair.transmit();
        }
        (began.unwrap(), ended.unwrap())
    };
    let (began, ended) = recovery(Box::new(Halving));
    assert!(ended - began >= 58, "half a flight of 40 ms in silence, and a round trip: {began} to {ended}");
    let (began, ended) = recovery(Box::new(Proportional));
    assert!((40..=42).contains(&(ended - began)), "{began} to {ended}");
}
