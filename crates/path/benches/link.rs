//! Cost of a packet on a link: one `offer` and one `poll`, at a queue that is never empty.

use divan::{Bencher, black_box, counter::ItemsCount};
use dumbbell_path::queue::Codel;
use dumbbell_path::{Delay, Ecn, Link, LinkConfig, LinkContext, LinkRate, Medium, Packet, QueueLimit, QueueRecipe};
use dumbbell_units::{Duration, Rng, Time};
use std::sync::Arc;

const PACKETS: u64 = 100_000;

#[derive(Clone, Copy, Default)]
struct Segment {
    size: u32,
    _rest: [u64; 4],
}

impl Packet for Segment {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        0
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn follow(&mut self, _: u32) {}
}

fn link(rate: LinkRate, queue: QueueRecipe) -> Link<Segment> {
    let config = LinkConfig {
        name: String::from("bottleneck"),
        rate,
        overhead_bytes: 0,
        delay: Delay { base: Duration::from_millis(10), ..Delay::default() },
        policer: None,
        limit: QueueLimit { bytes: Some(150_000), ..QueueLimit::default() },
        queue,
        loss_before: None,
        loss_after: None,
        impairments: Arc::default(),
    };
    Link::new(config, Rng::new(1))
}

/// Packets arrive 3 % faster than 100 Mb/s.
fn saturate(bencher: Bencher, rate: LinkRate, queue: QueueRecipe) {
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| link(rate.clone(), queue.clone())).bench_local_values(
        |mut link| {
            let segment = Segment { size: 1500, _rest: [0; 4] };
            for i in 0..PACKETS {
                let now = Time::from_nanos(i * 116_500);
                while link.next_event() <= now {
                    black_box(Medium::poll(&mut link, now));
                }
                black_box(Medium::offer(&mut link, now, 0, segment));
            }
            link
        },
    );
}

#[divan::bench]
fn unlimited(bencher: Bencher) {
    saturate(bencher, LinkRate::Unlimited, QueueRecipe::default());
}

#[divan::bench]
fn constant_drop_tail(bencher: Bencher) {
    saturate(bencher, LinkRate::Constant(100_000_000), QueueRecipe::default());
}

#[divan::bench]
fn schedule_drop_tail(bencher: Bencher) {
    let steps = (0..200).map(|i| (Time::from_nanos(i * 100_000_000), 90_000_000 + i % 3 * 10_000_000)).collect();
    saturate(bencher, LinkRate::Schedule { steps, repeat_after: None }, QueueRecipe::default());
}

#[divan::bench]
fn trace_drop_tail(bencher: Bencher) {
    let opportunities_ms = (0..8_000u32).map(|i| 1 + i * 3 / 25).collect();
    saturate(bencher, LinkRate::Trace { opportunities_ms, once: false }, QueueRecipe::default());
}

#[divan::bench]
fn constant_codel(bencher: Bencher) {
    let codel = QueueRecipe::of(Codel::default(), &LinkContext::default());
    saturate(bencher, LinkRate::Constant(100_000_000), codel.unwrap_or_default());
}

fn main() {
    divan::main();
}
