//! The one timer of a sender, and what it is armed for (`icsk_pending`).
//!
//! Retransmission timeout, reordering timer, tail loss probe and window probe share one timer: arming one replaces the
//! others. A timeout that replaces a reordering timer or a probe counts from the transmission of the oldest segment, so
//! that those do not postpone it (`tcp_rearm_rto`).

use dumbbell_units::Time;

/// What the timer is armed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pending {
    /// Nothing.
    #[default]
    None,
    /// The retransmission timeout (`ICSK_TIME_RETRANS`).
    Retransmission,
    /// Segments that may only be reordered (`ICSK_TIME_REO_TIMEOUT`).
    Reordering,
    /// A tail loss probe (`ICSK_TIME_LOSS_PROBE`).
    Probe,
    /// A probe of a closed receive window (`ICSK_TIME_PROBE0`).
    WindowProbe,
}

/// How often the time between two window probes doubles at most (`tcp_probe0_when`): from 200 ms to 120 s.
const MOST_WINDOW_PROBE_DOUBLINGS: u32 = 10;

/// The timer, and how often it has expired in a row.
#[derive(Clone, Debug)]
pub struct RetransmitTimer {
    pending: Pending,
    at: Time,
    /// `icsk_retransmits`.
    retransmits: u32,
    /// The latest ACK that advanced was a partial ACK of a fast recovery.
    partially_acked: bool,
    /// Window probes since the window closed (`icsk_backoff`).
    window_probes: u32,
}

impl Default for RetransmitTimer {
    fn default() -> RetransmitTimer {
        RetransmitTimer {
            pending: Pending::None,
            at: Time::NEVER,
            retransmits: 0,
            partially_acked: false,
            window_probes: 0,
        }
    }
}

impl RetransmitTimer {
    /// What the timer is armed for.
    #[inline]
    pub fn pending(&self) -> Pending {
        self.pending
    }

    /// When it fires; [`Time::NEVER`] when it is not armed.
    #[inline]
    pub fn at(&self) -> Time {
        self.at
    }

    /// Arms the timer and replaces what it was armed for (`inet_csk_reset_xmit_timer`).
    #[inline]
    pub fn arm(&mut self, pending: Pending, at: Time) {
        self.pending = pending;
        self.at = at;
    }

    /// Stops the timer.
    #[inline]
    pub fn cancel(&mut self) {
        self.arm(Pending::None, Time::NEVER);
    }

    /// The timer fires; returns what for. A reordering timer or a probe stays pending until the timer is armed again,
    /// so that the timeout which follows counts from the oldest segment (`tcp_write_timer_handler`).
    pub fn expire(&mut self) -> Pending {
        self.at = Time::NEVER;
        match self.pending {
            Pending::Retransmission | Pending::WindowProbe => std::mem::take(&mut self.pending),
            pending => pending,
        }
    }

    /// How long to arm the retransmission timeout for, in place of what is pending (`tcp_rearm_rto`): `rto_us`, or
    /// `until_rto_us` of the oldest segment where a shorter timer is replaced; at least a microsecond.
    #[inline(always)]
    pub fn rearmed_us(&self, rto_us: u32, until_rto_us: impl FnOnce() -> i64) -> u64 {
        match self.pending {
            Pending::Reordering | Pending::Probe => u64::try_from(until_rto_us()).map_or(1, |micros| micros.max(1)),
            Pending::None | Pending::Retransmission | Pending::WindowProbe => u64::from(rto_us),
        }
    }

    /// An ACK advances; `is_partial` means that it is a partial ACK of a fast recovery. Returns whether the advancing
    /// ACK before it was none: RFC 6582's impatient variant restarts the timer on the first partial ACK only.
    #[inline]
    pub fn note_partial_ack(&mut self, is_partial: bool) -> bool {
        !std::mem::replace(&mut self.partially_acked, is_partial)
    }

    /// How long after the latest window probe the next one is due: the retransmission timeout, doubled for each that
    /// was sent, at most `rto_max_us` (`tcp_probe0_when`).
    pub fn window_probe_us(&self, rto_us: u64, rto_max_us: u64) -> u64 {
        (rto_us << self.window_probes.min(MOST_WINDOW_PROBE_DOUBLINGS)).min(rto_max_us)
    }

    /// The closed window was probed once more.
    pub fn note_window_probe(&mut self) {
        self.window_probes += 1;
    }

    /// The window is open.
    pub fn end_window_probes(&mut self) {
        self.window_probes = 0;
    }

    /// Timeouts since the last ACK that advanced.
    #[inline]
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// The retransmission timeout has expired once more.
    pub fn note_timeout(&mut self) {
        self.retransmits += 1;
    }

    /// An ACK advanced.
    #[inline]
    pub fn note_progress(&mut self) {
        self.retransmits = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arming_replaces_and_expiry_stops() {
        let mut timer = RetransmitTimer::default();
        assert_eq!((timer.pending(), timer.at()), (Pending::None, Time::NEVER));
        timer.arm(Pending::Retransmission, Time::from_nanos(30));
        timer.arm(Pending::Probe, Time::from_nanos(10));
        assert_eq!((timer.at(), timer.expire()), (Time::from_nanos(10), Pending::Probe));
        assert_eq!((timer.pending(), timer.at()), (Pending::Probe, Time::NEVER), "it has fired");
        timer.arm(Pending::Retransmission, Time::from_nanos(30));
        assert_eq!(timer.expire(), Pending::Retransmission);
        assert_eq!((timer.pending(), timer.at()), (Pending::None, Time::NEVER));
    }

    #[test]
    fn a_shorter_timer_does_not_extend_the_timeout() {
        let mut timer = RetransmitTimer::default();
        assert_eq!(timer.rearmed_us(240_000, || 150_000), 240_000);
        for pending in [Pending::Probe, Pending::Reordering] {
            timer.arm(pending, Time::from_nanos(10));
            assert_eq!(timer.rearmed_us(240_000, || 150_000), 150_000);
            assert_eq!(timer.rearmed_us(240_000, || -650_000), 1, "at once");
        }
    }

    #[test]
    fn window_probes_come_ever_later_until_the_window_opens() {
        let mut timer = RetransmitTimer::default();
        let mut probe = || {
            let wait_us = timer.window_probe_us(250_000, 120_000_000);
            timer.note_window_probe();
            wait_us
        };
        assert_eq!([(); 4].map(|()| probe()), [250_000, 500_000, 1_000_000, 2_000_000]);
        assert_eq!([(); 8].map(|()| probe())[5..], [120_000_000; 3]);
        timer.end_window_probes();
        assert_eq!(timer.window_probe_us(250_000, 120_000_000), 250_000);
        timer.arm(Pending::WindowProbe, Time::from_nanos(10));
        assert_eq!((timer.expire(), timer.pending()), (Pending::WindowProbe, Pending::None));
    }

    #[test]
    fn timeouts_are_counted_until_an_ack_advances() {
        let mut timer = RetransmitTimer::default();
        timer.note_timeout();
        timer.note_timeout();
        assert_eq!(timer.retransmits(), 2);
        timer.note_progress();
        assert_eq!(timer.retransmits(), 0);
    }

    #[test]
    fn the_first_partial_ack_of_a_recovery_is_told_from_the_others() {
        let mut timer = RetransmitTimer::default();
        assert!(timer.note_partial_ack(true) && !timer.note_partial_ack(true));
        timer.note_partial_ack(false);
        assert!(timer.note_partial_ack(true));
    }
}
