//! Congestion marks and those who count them.

use super::*;
use dumbbell_cc_contract::EcnMode;

/// Has full control and reacts to marks itself.
#[derive(Clone, Default)]
struct OwnsMarks(Listening);

impl Controller for OwnsMarks {
    fn algorithm(&self) -> &'static str {
        "owns-marks"
    }
    fn init(&mut self, _view: &View, _control: &mut Control) {}
    fn full_control(&self) -> bool {
        true
    }
    fn ecn(&self) -> EcnMode {
        EcnMode::L4s
    }
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.0.ssthresh(view, control)
    }
    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        self.0.cong_control(view, control, sample);
    }
    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        self.0.set_state(view, control, next);
    }
}

#[test]
fn a_sender_for_l4s_sends_ect_1_and_its_controller_counts_marks_without_a_recovery_period() {
    let controller = OwnsMarks::default();
    let config = TransportConfig { ecn: EcnUse::Accurate, ..profile("quic") };
    let mut pair = Pair::new(&config, |_| false);
    pair.sender = QuicSender::new(config.clone().into(), Box::new(controller.clone()));
    pair.sender.establish(Time::ZERO, ONE_WAY * 2);
    pair.sender.write(Time::ZERO, 10, 1350);
    pair.transmit();
    assert!(pair.sent.iter().all(|(_, packet)| packet.ecn == dumbbell_units::Ecn::Ect1));
    let ranges = vec![SackBlock { start: 0, end: 10 }];
    let ecn = EcnCounts { ect0: 0, ect1: 7, ce: 3 };
    pair.sender.on_ack(Time::ZERO + ONE_WAY * 2, &QuicAck { ranges, delay_us: 0, ecn });
    assert_eq!((pair.sender.view().delivered_ce, pair.sender.last_sample().is_ece), (3, true));
    assert_eq!(controller.0.0.lock().unwrap().states, []);
}

#[test]
fn the_bits_of_a_packet_that_arrives_twice_are_counted_once() {
    let mut receiver = QuicReceiver::new(&profile("quic"));
    let mut sender = QuicSender::new(profile("quic").into(), Box::new(Halving));
    sender.establish(Time::ZERO, ONE_WAY * 2);
    sender.write(Time::ZERO, 1, 1350);
    let packet = QuicPacket { ecn: dumbbell_units::Ecn::Ce, ..sender.poll_transmit(Time::ZERO).unwrap() };
    for _ in 0..2 {
        receiver.on_packet(seconds(1), packet);
    }
    assert_eq!(receiver.poll_transmit(seconds(1)).unwrap().ecn, EcnCounts { ect0: 0, ect1: 0, ce: 1 });
    assert_eq!(receiver.stats().ce_segments, 1);
}
