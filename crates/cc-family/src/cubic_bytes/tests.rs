use super::*;

const PACKET: u32 = 1000;

/// A connection whose window is full, with packets of [`PACKET`] bytes and these in `Parameters`.
struct Side {
    view: View,
    control: Control,
    controller: CubicBytes,
}

impl Side {
    fn new(growth: Growth) -> Side {
        let parameters = Parameters { growth, hystart: false, ..Parameters::default() };
        let view = View { cwnd_limited: true, min_rtt_us: 100_000, ..View::new(PACKET - 22) };
        let mut side = Side { view, control: Control::default(), controller: CubicBytes::new(parameters) };
        side.controller.init(&side.view, &mut side.control);
        side
    }

    /// In congestion avoidance with a window of so many bytes.
    fn avoiding(growth: Growth, window: u64) -> Side {
        let mut side = Side::new(growth);
        side.controller.window = window;
        side.controller.show(&side.view, &mut side.control);
        side.control.ssthresh = 2;
        side
    }

    fn ack(&mut self, packets: u32) {
        for _ in 0..packets {
            self.controller.cong_avoid(&self.view, &mut self.control, 1);
        }
    }
}

#[test]
fn ten_units_are_fifteen_packets_and_slow_start_adds_a_unit_for_each() {
    let mut side = Side::new(Growth::Cubic);
    assert_eq!((side.control.cwnd, side.control.cwnd_bytes), (15, 14_600));
    side.ack(10);
    assert_eq!((side.control.cwnd, side.control.cwnd_bytes), (30, 29_200));
}

#[test]
fn reno_grows_by_a_unit_when_half_a_window_of_packets_is_acknowledged_for_two_connections() {
    let mut side = Side::avoiding(Growth::Reno, 20 * 1460);
    side.ack(9);
    assert_eq!(side.control.cwnd_bytes, 20 * 1460);
    side.ack(1);
    assert_eq!(side.control.cwnd_bytes, 21 * 1460);
    side.ack(10);
    assert_eq!(side.control.cwnd_bytes, 21 * 1460, "twice ten packets are less than 21 units");
    side.ack(1);
    assert_eq!(side.control.cwnd_bytes, 22 * 1460);
}

#[test]
fn one_of_two_connections_reduces_and_the_transport_may_round_to_packets() {
    let mut side = Side::avoiding(Growth::Reno, 20_000);
    let ssthresh = side.controller.ssthresh(&side.view, &side.control);
    assert_eq!((ssthresh, side.controller.window), (17, 16_992));
    side.controller.set_state(&side.view, &mut side.control, CaState::Recovery);
    side.control.cwnd = ssthresh;
    assert_eq!(side.control.cwnd_bytes, 16_992);
    // A transport that sets another window, after persistent congestion or an undo, is believed.
    side.control.cwnd = 2;
    side.control.cwnd_bytes = 0;
    side.ack(1);
    assert_eq!(side.controller.window, 2_000 + 1_460, "two packets, and a unit more");
}

#[test]
fn cubic_moves_by_half_a_packet_an_ack_and_stops_at_its_plateau() {
    let mut side = Side::avoiding(Growth::Cubic, 200_000);
    side.controller.ssthresh(&side.view, &side.control);
    let reduced = side.controller.window;
    assert_eq!((reduced, side.controller.curve.last_max), (169_921, 200_000));
    side.controller.show(&side.view, &mut side.control);
    // K = cbrt(30079 bytes / (410/1024 · 1460 bytes/s³)) = 3.719 s.
    let mut at_plateau = 0;
    for ms in 0..5_000u64 {
        side.view.mstamp_us = ms * 1_000;
        let before = side.controller.window;
        side.ack(1);
        assert!(side.controller.window <= before + 500 || side.controller.window == side.controller.curve.reno);
        if ms == 3_610 {
            at_plateau = side.controller.window;
        }
    }
    assert!((199_000..=202_000).contains(&at_plateau), "{at_plateau}");
    assert_eq!(side.controller.curve.time_to_origin, 3_808);
}

#[test]
fn where_reno_is_faster_its_estimate_is_the_window() {
    let mut side = Side::avoiding(Growth::Cubic, 10_000);
    side.controller.ssthresh(&side.view, &side.control);
    side.controller.show(&side.view, &mut side.control);
    side.view.mstamp_us = 1_000;
    let before = side.controller.window;
    // A window of ACKs: 0.97 units for two connections that keep 0.85.
    side.ack(u32::try_from(before).unwrap() / PACKET + 1);
    assert_eq!(side.controller.window, side.controller.curve.reno);
    let growth = side.controller.window - before;
    assert!((1_300..=1_500).contains(&growth), "{growth}");
}

#[test]
fn cube_roots_are_rounded_down() {
    for (value, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (1_000_000_000_000, 10_000)] {
        assert_eq!(cube_root(value), root);
    }
}
