//! Stations around an access point, with sources that always have something to send.

use crate::catalog::QueueLimit;
use crate::config::LinkConfig;
use crate::loss::Bernoulli;
use crate::medium::Medium;
use crate::queue::QueueRecipe;
use crate::testing::TestPacket;
use crate::transmitter::LinkRate;
use crate::wifi::{AccessCategory, RadioLink, Wifi, WifiChannel};
use crate::{Delay, LinkContext, LossRecipe};
use dumbbell_units::{Duration, Ratio, Rng, Time};
use std::sync::Arc;

pub(super) type Channel = WifiChannel<TestPacket>;

/// A frame of 1500 bytes of IP, and the payload of TCP in it.
pub(super) const DATA: u32 = 1500;
pub(super) const PAYLOAD_BITS: f64 = 1448.0 * 8.0;

/// Nothing waits in the device, so that an aggregate is what the queue holds.
pub(super) fn plain() -> Wifi {
    Wifi { device_queue: crate::wifi::DeviceQueue::None, ..Wifi::default() }
}

/// Aggregates of `n` frames, however long.
pub(super) fn of_frames(n: u32) -> Wifi {
    Wifi { block_ack_window: n, ampdu: dumbbell_units::Bytes::new(1_048_575), ..plain() }
}

fn config(error: f64) -> LinkConfig {
    let loss =
        LossRecipe::of(Bernoulli { p: Ratio::new(error).unwrap(), correlation: Ratio::ZERO }, &LinkContext::default())
            .unwrap();
    LinkConfig {
        name: String::new(),
        rate: LinkRate::Unlimited,
        overhead_bytes: 0,
        delay: Delay::default(),
        policer: None,
        limit: QueueLimit { packets: Some(1_000), ..QueueLimit::default() },
        queue: QueueRecipe::default(),
        loss_before: None,
        loss_after: (error > 0.0).then_some(loss),
        impairments: Arc::default(),
    }
}

/// A link from a station to the access point, number 0, or back.
pub(super) fn link(wifi: Wifi, from: usize, to: usize, error: f64, seed: u64) -> RadioLink {
    RadioLink {
        config: config(error),
        wifi: Arc::new(wifi),
        from,
        to,
        is_from_access_point: from == 0,
        rng: Rng::stream(seed, (from * 1_000 + to) as u64),
    }
}

pub(super) fn channel(links: Vec<RadioLink>) -> Channel {
    channel_with(links, &[])
}

pub(super) fn channel_with(links: Vec<RadioLink>, categories: &[AccessCategory]) -> Channel {
    WifiChannel::new(links, categories, Rng::new(9))
}

/// Two directions between a station, number 1, and the access point.
pub(super) fn pair(wifi: &Wifi) -> Channel {
    channel(vec![link(wifi.clone(), 1, 0, 0.0, 1), link(wifi.clone(), 0, 1, 0.0, 1)])
}

/// Runs a channel for a time with some ports always full; returns the packets that came out of each port.
pub(super) fn saturate(channel: &mut Channel, full: &[u16], span: Duration) -> Vec<u64> {
    run(channel, full, span, |_, _, _, _| ())
}

/// [`saturate`] with `arrived` called for every packet that comes out.
pub(super) fn run(
    channel: &mut Channel,
    full: &[u16],
    span: Duration,
    mut arrived: impl FnMut(&mut Channel, Time, u16, TestPacket),
) -> Vec<u64> {
    let end = Time::ZERO + span;
    let mut out = vec![0; usize::from(channel.ports())];
    let mut offered = vec![0; out.len()];
    let mut now = Time::ZERO;
    while now <= end {
        for &port in full {
            while channel.backlog(now, port).packets < 200 {
                channel.offer(now, port, TestPacket::new(offered[usize::from(port)], DATA));
                offered[usize::from(port)] += 1;
            }
        }
        while let Some((port, packet)) = channel.poll(now) {
            out[usize::from(port)] += 1;
            arrived(channel, now, port, packet);
        }
        now = channel.next_event();
    }
    out
}

pub(super) fn mbps(packets: u64, span: Duration) -> f64 {
    packets as f64 * PAYLOAD_BITS / span.as_secs_f64() / 1e6
}

pub(super) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
