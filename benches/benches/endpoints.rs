//! A sender and its receiver without a network between them: the share of a packet's cost that is TCP.
//!
//! Every ACK arrives one base RTT after the burst it answers; nothing is lost, so each controller ends at the receive
//! window. The number is that of the whole transfer; items a second are segments.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use dumbbell_cc::Catalog;
use dumbbell_transport::{Ack, Handshake, Receiver, Sender, TransportConfig};
use dumbbell_units::{Duration, Rng, Time};
use std::collections::VecDeque;

const SEGMENTS: u32 = 100_000;
const RTT: Duration = Duration::from_millis(20);

fn main() {
    divan::main();
}

#[divan::bench(args = ["reno", "cubic", "bbr"])]
fn transfer(bencher: Bencher<'_, '_>, algorithm: &str) {
    bencher.counter(ItemsCount::new(SEGMENTS)).bench(|| deliver_all(black_box(algorithm)));
}

/// Transfers [`SEGMENTS`] segments and returns when the last one was acknowledged.
fn deliver_all(algorithm: &str) -> Time {
    let config = TransportConfig { receive_window: 1 << 20, ..TransportConfig::default() };
    let controller = Catalog::builtin()
        .build(algorithm, &serde_json::Map::new(), Rng::new(1))
        .expect("the algorithms above are registered");
    let mut sender = Sender::new(config.clone().into(), controller);
    let mut receiver = Receiver::new(&config);
    let mut now = Time::ZERO;
    let mut acks: VecDeque<(Time, Ack)> = VecDeque::new();
    sender.establish(now, Handshake::symmetric(RTT));
    receiver.set_handshake(RTT);
    sender.write(now, SEGMENTS, u16::try_from(config.mss).expect("a segment has less than 64 kB"));
    while !sender.is_idle() {
        for segment in std::iter::from_fn(|| sender.poll_transmit(now)).flatten() {
            acks.extend(receiver.on_segment(now, segment).map(|ack| (now + RTT, ack)));
        }
        let arrival = acks.front().map_or(Time::NEVER, |&(due, _)| due);
        now = arrival.min(sender.next_timer()).min(receiver.next_timer());
        if arrival <= now
            && let Some((_, ack)) = acks.pop_front()
        {
            sender.on_ack(now, &ack);
        }
        if sender.next_timer() <= now {
            sender.on_timer(now);
        }
        if receiver.next_timer() <= now {
            acks.extend(receiver.on_timer(now).map(|ack| (now + RTT, ack)));
        }
    }
    now
}
