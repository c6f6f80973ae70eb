//! PIE by itself: its corrections, its bursts, its draws.

use super::*;
use crate::packet::Ecn;
use crate::queue::held::testing::{buffer, waiting};

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// A queue of twenty packets whose controller has come to a probability; nothing corrects it.
fn settled(parameters: &Pie, probability: f64) -> (State, Buffer) {
    let mut buffer = buffer();
    let mut pie = State::new(&Pie { max_burst: Duration::ZERO, ..parameters.clone() }, Rng::new(3));
    for _ in 0..20 {
        pie.line.push(waiting(Time::ZERO, Ecn::NotEct), &mut buffer);
    }
    pie.next_update = Time::NEVER;
    pie.delay = parameters.target;
    pie.probability = probability;
    (pie, buffer)
}

/// Which of so many packets that come at once are dropped, while the queue stays as long as it is.
fn drops(pie: &mut State, buffer: &mut Buffer, packets: usize, ecn: Ecn) -> Vec<usize> {
    let mut dropped = Vec::new();
    for number in 0..packets {
        match pie.push(Time::ZERO, waiting(Time::ZERO, ecn), buffer) {
            Ok(()) => assert!(pie.line.pop(Time::ZERO, buffer).is_some()),
            Err(_) => dropped.push(number),
        }
    }
    dropped
}

/// A transmitter that takes a packet a millisecond from a queue to which `arrivals` come in that time.
struct Bench {
    pie: State,
    buffer: Buffer,
    now_ms: u64,
    arrived: f64,
    drop_times: Vec<u64>,
    delays_ms: Vec<u64>,
}

impl Bench {
    fn new(parameters: &Pie) -> Bench {
        let pie = State::new(parameters, Rng::new(5));
        Bench { pie, buffer: buffer(), now_ms: 0, arrived: 0.0, drop_times: Vec::new(), delays_ms: Vec::new() }
    }

    fn run(&mut self, ms: u64, arrivals: f64) {
        for _ in 0..ms {
            self.now_ms += 1;
            self.arrived += arrivals;
            while self.arrived >= 1.0 {
                self.arrived -= 1.0;
                let packet = waiting(at(self.now_ms), Ecn::NotEct);
                if self.pie.push(at(self.now_ms), packet, &mut self.buffer).is_err() {
                    self.drop_times.push(self.now_ms);
                }
            }
            let taken = self.pie.take(at(self.now_ms), &mut self.buffer);
            self.delays_ms.extend(taken.map(|packet| packet.waited(at(self.now_ms)).as_nanos() / MS));
        }
    }
}

#[test]
fn an_overload_is_held_at_the_target() {
    for delay in [DelayEstimate::Timestamps, DelayEstimate::Rate] {
        let mut bench = Bench::new(&Pie { delay, ..Pie::default() });
        bench.run(200_000, 1.1);
        let settled = &bench.delays_ms[100_000..];
        let mean = settled.iter().sum::<u64>() as f64 / settled.len() as f64;
        assert!((mean - 15.0).abs() < 1.0, "{mean} ms by {delay:?}");
        let dropped = bench.drop_times.iter().filter(|&&ms| ms > 100_000).count() as f64 / 110_000.0;
        assert!((dropped - 1.0 / 11.0).abs() < 0.005, "{dropped} by {delay:?}");
    }
}

#[test]
fn the_first_burst_passes() {
    let mut bench = Bench::new(&Pie::default());
    bench.run(2_000, 3.0);
    let first = bench.drop_times[0];
    assert!((150..250).contains(&first), "{first} ms");
}

#[test]
fn after_a_calm_time_a_burst_passes_again() {
    let mut bench = Bench::new(&Pie::default());
    bench.run(2_000, 3.0);
    assert_eq!(bench.pie.burst, Duration::ZERO);
    bench.run(60_000, 0.5);
    assert_eq!(bench.pie.probability, 0.0);
    assert!(bench.pie.burst >= Duration::from_millis(135), "what left since the last correction is gone");
    bench.drop_times.clear();
    bench.run(130, 3.0);
    assert!(bench.drop_times.is_empty());
}

#[test]
fn drops_keep_a_distance_and_come_for_sure_in_the_end() {
    let (mut pie, mut buffer) = settled(&Pie::default(), 0.1);
    let gaps: Vec<usize> =
        drops(&mut pie, &mut buffer, 100_000, Ecn::NotEct).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps.iter().min(), Some(&9), "the first at risk is the one that makes 0.85 full");
    assert!(gaps.iter().all(|&gap| gap <= 86), "8.5 is full at the 85th, or one later as sums are rounded");
    // Eight pass, then each is dropped with probability 1/10.
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((mean - 18.0).abs() < 0.5, "{mean}");
    let (mut pie, mut buffer) = settled(&Pie::default(), 0.1);
    pie.accumulated = ACCUMULATED_MAX - 0.1;
    assert_eq!(drops(&mut pie, &mut buffer, 1, Ecn::NotEct), [0]);
}

#[test]
fn a_short_queue_and_a_small_delay_are_left_alone() {
    let (mut pie, mut buffer) = settled(&Pie::default(), 0.19);
    pie.delay = Duration::from_micros(7_499);
    assert!(drops(&mut pie, &mut buffer, 1_000, Ecn::NotEct).is_empty());
    pie.delay = Duration::from_micros(7_500);
    assert!(!drops(&mut pie, &mut buffer, 1_000, Ecn::NotEct).is_empty());
    while buffer.backlog().packets > 1 {
        pie.line.pop(Time::ZERO, &mut buffer);
    }
    assert!(drops(&mut pie, &mut buffer, 1_000, Ecn::NotEct).is_empty());
}

#[test]
fn ecn_capable_packets_are_marked_up_to_ten_percent() {
    let marking = Pie { ecn: true, ..Pie::default() };
    let (mut pie, mut buffer) = settled(&marking, 0.1);
    assert!(drops(&mut pie, &mut buffer, 1_000, Ecn::Ect0).is_empty());
    let (_, marked) = buffer.settled();
    assert!((40..75).contains(&marked), "{marked}");
    assert!(!drops(&mut pie, &mut buffer, 1_000, Ecn::NotEct).is_empty());
    let (mut pie, mut buffer) = settled(&marking, 0.11);
    assert!(!drops(&mut pie, &mut buffer, 1_000, Ecn::Ect0).is_empty());
    assert_eq!(buffer.settled().1, 0);
}

#[test]
fn in_bytemode_small_packets_are_spared() {
    let [spared, plain] = [true, false].map(|bytemode| {
        let (mut pie, buffer) = settled(&Pie { bytemode, ..Pie::default() }, 0.3);
        (0..10_000).filter(|_| pie.strikes(150, &buffer)).count()
    });
    assert!(plain > 4 * spared && spared > 0, "{plain} and {spared}");
}

#[test]
fn small_probabilities_are_corrected_in_small_steps() {
    let step = |probability: f64| {
        let (mut pie, _) = settled(&Pie::default(), probability);
        pie.delay = Duration::from_millis(25);
        pie.delay_before = Duration::from_millis(25);
        pie.update(30_000);
        pie.probability - probability
    };
    let whole = 0.125 * 0.010;
    let expected = [(0.5, 1.0), (0.05, 2.0), (5e-3, 8.0), (5e-4, 32.0), (5e-5, 128.0), (5e-6, 512.0), (5e-7, 2048.0)];
    for (probability, scale) in expected {
        assert!((step(probability) * scale / whole - 1.0).abs() < 1e-6, "at {probability}");
    }
}

#[test]
fn a_long_pause_ends_where_the_corrections_would() {
    let mut bench = Bench::new(&Pie::default());
    bench.run(5_000, 1.5);
    bench.run(1_000, 0.0);
    assert!(bench.pie.probability > 0.0);
    let month = at(30 * 86_400_000);
    bench.pie.update_until(month, &bench.buffer);
    assert_eq!((bench.pie.probability, bench.pie.burst), (0.0, Duration::from_millis(150)));
    assert!(bench.pie.next_update > month && bench.pie.next_update <= month + bench.pie.parameters.tupdate);
    assert_eq!(bench.pie.next_update.as_nanos() % (15 * MS), 0, "the rhythm goes on");
}
