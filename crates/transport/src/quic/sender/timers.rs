//! The timers: probe timeout (RFC 9002, section 6.2), loss detection by time (section 6.1.2), pacing, and polling.

use super::super::Timeout;
use super::super::clock::rounded_down;
use super::QuicSender;
use dumbbell_units::{Duration, Time};

/// Packets that a timeout sends.
const PROBES: u32 = 2;
/// Most doublings of a timeout.
const MAX_BACK_OFF: u32 = 10;

/// When something is due; [`Time::NEVER`] when nothing is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// Length of the timeout before back-off.
    pub timeout_us: u64,
    /// When the next packet is lost by the time threshold (`loss_time`).
    pub loss_at: Time,
    /// When a sender that polls looks again.
    pub poll_at: Time,
    /// When pacing lets the next packet leave, in the units of the sender's clock.
    departs_at: Time,
    /// When the last packet was sent; the timeout counts from it.
    pub last_sent_at: Time,
    /// Timeouts since the last ACK that acknowledged something (`pto_count`).
    pto_count: u32,
    /// Probes to send, which the window does not limit.
    probes: u32,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            timeout_us: 0,
            loss_at: Time::NEVER,
            poll_at: Time::NEVER,
            departs_at: Time::ZERO,
            last_sent_at: Time::ZERO,
            pto_count: 0,
            probes: 0,
        }
    }
}

impl Timers {
    /// Something was acknowledged.
    pub fn note_progress(&mut self) {
        self.pto_count = 0;
    }

    /// Whether a probe is to be sent.
    #[inline]
    pub fn has_probe(&self) -> bool {
        self.probes > 0
    }

    /// Whether a probe is to be sent, which then counts as sent.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        let may_leave = self.has_probe();
        self.probes -= u32::from(may_leave);
        may_leave
    }
}

impl QuicSender {
    /// Length of the timeout. It is at least one unit of the clock: a shorter one would expire again and again at the
    /// same instant.
    pub(super) fn timeout_us(&self) -> u64 {
        let quic = self.quic();
        let max_ack_delay_us = match quic.timeout {
            Timeout::Probe => quic.max_ack_delay.as_micros(),
            Timeout::ResendQuietly => 0,
        };
        let timeout_us = match self.rtt.pto_us(quic.granularity.as_micros(), max_ack_delay_us) {
            Some(pto_us) => pto_us.max(quic.timeout_min.as_micros()),
            None => quic.initial_timeout.as_micros(),
        };
        timeout_us.max(self.clock_tick_us())
    }

    /// The unit of the clock, in whole microseconds.
    fn clock_tick_us(&self) -> u64 {
        self.quic().clock_resolution.as_nanos().div_ceil(1_000)
    }

    /// When the timeout expires, which is armed while something is in flight.
    #[inline]
    fn timeout_at(&self) -> Time {
        if self.view.packets_out == 0 {
            return Time::NEVER;
        }
        let backed_off = self.timers.timeout_us << self.timers.pto_count.min(MAX_BACK_OFF);
        self.timers.last_sent_at + Duration::from_micros(backed_off)
    }

    /// When [`QuicSender::on_timer`] wants to be called; [`Time::NEVER`] when nothing is pending.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let wake_at = if self.pacer.is_blocked() { self.timers.departs_at } else { Time::NEVER };
        self.timeout_at().min(self.timers.loss_at).min(self.timers.poll_at).min(wake_at)
    }

    /// A packet has left, and pacing says when the next one may. An alarm is set in the clock's units.
    #[inline]
    pub(super) fn note_departure(&mut self) {
        self.view.next_departure = self.pacer.next_departure();
        self.timers.departs_at = rounded_down(self.view.next_departure, self.quic().clock_resolution);
    }

    /// The time of [`QuicSender::next_timer`] has come.
    pub fn on_timer(&mut self, now: Time) {
        self.refresh_clock(now);
        self.pacer.wake(now);
        self.prr.begin_event(self.bytes_in_flight);
        if self.timers.poll_at <= now {
            self.timers.poll_at = Time::NEVER;
        }
        if self.timers.loss_at <= now {
            if let Some(losses) = self.detect_losses() {
                self.on_losses(losses);
            }
            self.forget_settled();
        } else if self.timeout_at() <= now {
            self.on_timeout();
            self.timers.last_sent_at = now;
        }
    }

    /// The timeout expired.
    fn on_timeout(&mut self) {
        self.stats.rto_count += 1;
        match self.quic().timeout {
            Timeout::Probe => {
                self.timers.probes = PROBES;
                self.timers.pto_count += 1;
                self.stats.probe_count += 1;
            }
            Timeout::ResendQuietly => {
                let in_flight = self.sent.in_flight().map(|(number, _)| number);
                let oldest: Vec<u32> = in_flight.take(PROBES as usize).collect();
                for number in oldest {
                    self.lose(number, false);
                }
                self.forget_settled();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_lets_two_packets_leave_beyond_the_window() {
        let mut timers = Timers { probes: PROBES, ..Timers::default() };
        assert_eq!([(); 3].map(|()| timers.take_probe()), [true, true, false]);
    }
}
