//! What keeps a sender from sending more.
//!
//! A sender sends until something stops it. So at any instant between two events one thing holds it back, which its
//! state shows.

use crate::Sending;
use dumbbell_cc_contract::CaState;
use dumbbell_units::{Duration, Time};

/// Round trips without a word of the other end, after which a sender waits for its timers: that of a tail loss probe
/// expires after two (RFC 8985).
const SILENT_ROUND_TRIPS: u64 = 2;

/// What keeps a sender from sending more, as [`Sending::limit`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Everything that the application has written is sent.
    Application,
    /// The application has more, and waits for room in the send buffer.
    SendBuffer,
    /// A short segment waits until others are acknowledged.
    Nagle,
    /// The receiver has no room: its window, or QUIC's flow control.
    ReceiveWindow,
    /// The host's own device holds enough of the connection (TCP small queues).
    HostQueue,
    /// Nothing is heard, or everything is to be repaired after a retransmission timeout.
    Timeout,
    /// Losses are repaired.
    Recovery,
    /// The controller holds little in flight to see the path's delay.
    ProbeRtt,
    /// The controller is still looking for the path's rate.
    SlowStart,
    /// The congestion window.
    Cwnd,
    /// The pacing rate.
    Pacing,
    /// A link on the way is full, so that more in flight would only wait there.
    Link,
}

impl Limit {
    /// The word for it in tables.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Application => "application",
            Limit::SendBuffer => "send_buffer",
            Limit::Nagle => "nagle",
            Limit::ReceiveWindow => "receive_window",
            Limit::HostQueue => "host_queue",
            Limit::Timeout => "timeout",
            Limit::Recovery => "recovery",
            Limit::ProbeRtt => "probe_rtt",
            Limit::SlowStart => "slow_start",
            Limit::Cwnd => "cwnd",
            Limit::Pacing => "pacing",
            Limit::Link => "link",
        }
    }

    /// Window and pacing are means of a controller, which in these phases mean something else. A controller without
    /// phases has an empty `mode`.
    pub fn in_phase(self, mode: &str, in_slow_start: bool) -> Limit {
        match (self, mode) {
            (Limit::Cwnd | Limit::Pacing, "probe_rtt") => Limit::ProbeRtt,
            (Limit::Cwnd | Limit::Pacing, "startup") => Limit::SlowStart,
            (Limit::Cwnd | Limit::Pacing, "") if in_slow_start => Limit::SlowStart,
            _ => self,
        }
    }

    /// The limit on a way of which a link is full, if `is_full`: a larger window, or a higher rate, would change
    /// nothing.
    #[inline]
    pub fn on(self, is_full: impl FnOnce() -> bool) -> Limit {
        let is_means = matches!(self, Limit::SlowStart | Limit::Cwnd | Limit::Pacing);
        if is_means && is_full() { Limit::Link } else { self }
    }
}

/// A sender that can tell what its own rules ended its latest attempt to send with, whatever the state of the
/// connection, and when that was.
pub trait Held {
    /// The first of its rules that nothing but another event can change.
    fn held_by(&self) -> Limit;

    /// When the latest event reached the sender: what it shows has been so since then, but for [`Sending::limit`].
    /// [`Time::NEVER`] where it does not keep that.
    fn acted_at(&self) -> Time {
        Time::NEVER
    }
}

impl Sending<'_> {
    /// What keeps the sender from sending more at `now`, between two events.
    pub fn limit(&self, now: Time) -> Limit {
        let Sending { view, control, controller, sender, .. } = self;
        let held_by = sender.held_by();
        let heard = view.last_sent.max(Time::ZERO + Duration::from_micros(view.delivered_mstamp_us));
        let srtt = Duration::from_micros(u64::from(view.srtt_us_x8 / 8));
        if view.packets_out > 0 && now.since(heard) > srtt * SILENT_ROUND_TRIPS {
            return if held_by == Limit::Nagle { Limit::Nagle } else { Limit::Timeout };
        }
        let has_lost = view.lost_out > view.retrans_out;
        match (held_by, view.ca_state) {
            (Limit::Application | Limit::SendBuffer, _) if !has_lost => held_by,
            (_, CaState::Loss) => Limit::Timeout,
            (_, CaState::Recovery) => Limit::Recovery,
            // A controller of its own rules has no threshold.
            _ => held_by.in_phase(controller.mode(), control.in_slow_start() && !controller.full_control()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_and_pacing_mean_something_else_in_phases() {
        for by in [Limit::Cwnd, Limit::Pacing] {
            assert_eq!(by.in_phase("probe_rtt", false), Limit::ProbeRtt);
            assert_eq!(by.in_phase("startup", false), Limit::SlowStart);
            assert_eq!(by.in_phase("probe_bw_up", true), by);
            assert_eq!((by.in_phase("", true), by.in_phase("", false)), (Limit::SlowStart, by));
            assert_eq!((by.on(|| true), by.on(|| false)), (Limit::Link, by));
        }
        assert_eq!(Limit::Application.in_phase("probe_rtt", true), Limit::Application);
    }

    #[test]
    fn a_full_link_is_no_excuse_for_what_is_not_due_to_window_or_pacing() {
        for by in [Limit::Application, Limit::ReceiveWindow, Limit::Recovery, Limit::Timeout, Limit::ProbeRtt] {
            assert_eq!(by.on(|| true), by);
        }
    }
}
