//! TCP small queues (TSQ): how many bytes of a connection wait in its own host (`sk_wmem_alloc`).
//!
//! A sender does not fill the queues of its own host: it stops when about two bursts, or a millisecond of its pacing
//! rate, wait there, and goes on when the device reports a burst as sent. Each burst counts with its payload and the
//! bookkeeping of its buffer (`truesize`).

use dumbbell_units::Time;
use std::collections::VecDeque;

/// Memory that a buffer (`skb`) takes besides its payload, in bytes.
const BUFFER_OVERHEAD: u64 = 784;

/// What bounds the host's queue of one connection.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimit {
    /// Bytes per second divided by `2^pacing_shift`.
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
}

impl HostQueue {
    /// A burst with a payload of `bytes` was handed over and will have left the device at `completes`; completions come
    /// in the order of time.
    pub fn charge(&mut self, bytes: u64, completes: Time) {
        let buffer = bytes + BUFFER_OVERHEAD;
        self.charged += buffer;
        self.completions.push_back((completes, buffer));
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
    fn a_lone_packet_out_is_never_held_back() {
        let mut queue = HostQueue::default();
        queue.charge(9_000, ns(10));
        assert!(!queue.is_full(ns(0), 1_000, LIMIT, 1));
    }
}
