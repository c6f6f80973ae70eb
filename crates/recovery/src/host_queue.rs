//! TCP small queues (TSQ): how many bytes of a connection wait in its own host (`sk_wmem_alloc`).
//!
//! A sender does not fill the queues of its own host: it stops when about two bursts, or a millisecond of its pacing
//! rate, wait there, and goes on when the device reports a burst as sent. Each burst counts with its payload and the
//! bookkeeping of its buffer (`truesize`).

use crate::send_buffer::BUFFER_OVERHEAD;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// What bounds the host's queue of one connection.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimit {
    /// Bytes per second divided by `2^pacing_shift`, or by what the controller asks for in its place.
    pub rate_share: u64,
    /// `tcp_limit_output_bytes`.
    pub limit_output_bytes: u64,
    /// Repairs may use twice the limit.
    pub factor: u64,
}

/// What the host's own device still holds of a connection.
#[derive(Clone, Debug, Default)]
pub struct HostQueue {
    charged: u64,
    is_throttled: bool,
    completions: VecDeque<(Time, u64)>,
    /// Bursts of which nobody knows yet when they will have left: their buffers, and the packets that have to.
    untold: VecDeque<(u64, u32)>,
    /// Packets that were told before the burst that they belong to was charged.
    told_early: u32,
}

impl HostQueue {
    /// A burst with a payload of `bytes` was handed over and will have left the device at `completes`; completions come
    /// in the order of time.
    pub fn charge(&mut self, bytes: u64, completes: Time) {
        let buffer = bytes + BUFFER_OVERHEAD;
        self.charged += buffer;
        self.completions.push_back((completes, buffer));
    }

    /// A burst of `packets` with a payload of `bytes` was handed over to a device that [tells](Self::complete) later
    /// when it is done with each of them.
    pub fn charge_untold(&mut self, bytes: u64, packets: u32) {
        let left = packets.saturating_sub(self.told_early);
        self.told_early -= packets - left;
        if left > 0 {
            let buffer = bytes + BUFFER_OVERHEAD;
            self.charged += buffer;
            self.untold.push_back((buffer, left));
        }
    }

    /// The device is done with another packet at `at`: it has been sent, or dropped. Packets are told in their order; a
    /// burst counts until the last of it.
    pub fn complete(&mut self, at: Time) {
        let Some((buffer, packets)) = self.untold.front_mut() else {
            self.told_early += 1;
            return;
        };
        *packets -= 1;
        if *packets == 0 {
            let buffer = *buffer;
            self.untold.pop_front();
            let at = self.completions.back().map_or(at, |&(last, _)| at.max(last));
            self.completions.push_back((at, buffer));
        }
    }

    fn release(&mut self, now: Time) {
        while let Some(&(at, bytes)) = self.completions.front() {
            if at > now {
                break;
            }
            self.charged -= bytes;
            self.completions.pop_front();
        }
    }

    /// Whether the device holds nothing of this connection.
    pub fn is_empty(&mut self, now: Time) -> bool {
        self.release(now);
        self.charged == 0
    }

    /// Whether a burst of `bytes` has to wait (`tcp_small_queue_check`); then [`HostQueue::wake_at`] tells until when.
    /// With at most one packet out nothing waits.
    pub fn is_full(&mut self, now: Time, bytes: u64, limit: QueueLimit, packets_out: u32) -> bool {
        self.release(now);
        let buffer = bytes + BUFFER_OVERHEAD;
        let most = (2 * buffer).max(limit.rate_share).min(limit.limit_output_bytes) * limit.factor;
        self.is_throttled = self.charged > most && packets_out > 1;
        self.is_throttled
    }

    /// Whether it held the sender back when that was asked last.
    #[inline]
    pub fn is_throttled(&self) -> bool {
        self.is_throttled
    }

    /// When a throttled sender may try again; [`Time::NEVER`] when none is.
    #[inline]
    pub fn wake_at(&self) -> Time {
        match self.completions.front() {
            Some(&(at, _)) if self.is_throttled => at,
            _ => Time::NEVER,
        }
    }

    /// Whether a throttled sender may try again at `now` (`tcp_tsq_handler`). It is no longer throttled then.
    pub fn wakes(&mut self, now: Time) -> bool {
        if self.wake_at() > now {
            return false;
        }
        self.is_throttled = false;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: QueueLimit = QueueLimit { rate_share: 0, limit_output_bytes: 1 << 20, factor: 1 };

    fn ns(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_burst_of_six_segments_takes_what_linux_says_of_it() {
        let mut queue = HostQueue::default();
        queue.charge(6 * 1_448, ns(10));
        // `SK_MEMINFO_WMEM_ALLOC` of Linux 6.18, with such a burst in a `tbf` queue of the host.
        assert_eq!(queue.charged, 9_520);
    }

    #[test]
    fn a_throttled_sender_wakes_at_the_next_completion() {
        let mut queue = HostQueue::default();
        for completes in [10, 20, 30] {
            assert!(!queue.is_full(ns(0), 1_000, LIMIT, 5));
            queue.charge(1_000, ns(completes));
        }
        assert_eq!(queue.wake_at(), Time::NEVER);
        assert!(queue.is_full(ns(0), 1_000, LIMIT, 5), "three buffers are more than two");
        assert_eq!((queue.wake_at(), queue.wakes(ns(9))), (ns(10), false));
        assert!(queue.wakes(ns(10)) && !queue.wakes(ns(10)));
        assert!(!queue.is_full(ns(10), 1_000, LIMIT, 5));
        assert!(!queue.is_empty(ns(29)) && queue.is_empty(ns(30)));
    }

    #[test]
    fn a_millisecond_of_the_rate_may_wait_up_to_the_ceiling_and_repairs_have_twice_the_room() {
        let mut queue = HostQueue::default();
        queue.charge(9_000, ns(10));
        assert!(queue.is_full(ns(0), 1_000, LIMIT, 5));
        assert!(!queue.is_full(ns(0), 1_000, QueueLimit { rate_share: 10_000, ..LIMIT }, 5));
        assert!(queue.is_full(
            ns(0),
            1_000,
            QueueLimit { rate_share: 10_000, limit_output_bytes: 5_000, factor: 1 },
            5
        ));
        assert!(!queue.is_full(ns(0), 1_000, QueueLimit { rate_share: 6_000, factor: 2, ..LIMIT }, 5));
    }

    #[test]
    fn a_burst_counts_until_the_device_is_done_with_its_last_packet() {
        let mut queue = HostQueue::default();
        (0..3).for_each(|_| queue.charge_untold(2_000, 2));
        assert!(queue.is_full(ns(5), 2_000, LIMIT, 6));
        queue.complete(ns(20));
        assert_eq!(queue.wake_at(), Time::NEVER, "half a burst");
        queue.complete(ns(30));
        assert_eq!((queue.wake_at(), queue.wakes(ns(29)), queue.wakes(ns(30))), (ns(30), false, true));
        assert!(!queue.is_full(ns(30), 2_000, LIMIT, 6));
        queue.charge_untold(2_000, 0);
        assert!(!queue.is_full(ns(30), 2_000, LIMIT, 6), "what was dropped at once does not wait");
        (0..4).for_each(|_| queue.complete(ns(10)));
        assert!(queue.is_empty(ns(30)), "completions never go back in time");
        (0..2).for_each(|_| queue.complete(ns(40)));
        queue.charge_untold(2_000, 2);
        assert!(queue.is_empty(ns(30)), "the device was done with it before it was charged");
    }

    #[test]
    fn a_lone_packet_out_is_never_held_back() {
        let mut queue = HostQueue::default();
        queue.charge(9_000, ns(10));
        assert!(!queue.is_full(ns(0), 1_000, LIMIT, 1));
    }
}
