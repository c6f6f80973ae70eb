//! What a transport keeps for its controller, for unit tests.

use dumbbell_cc_contract::{Control, Controller, View};
use dumbbell_units::{Duration, Time};

/// A connection without a transport.
pub(crate) struct Side {
    pub(crate) view: View,
    pub(crate) control: Control,
}

impl Side {
    /// With this window, which was full.
    pub(crate) fn limited(cwnd: u32, ssthresh: u32) -> Side {
        Side {
            view: View { cwnd_limited: true, ..View::new(1448) },
            control: Control { cwnd, ssthresh, ..Control::default() },
        }
    }
}

impl Side {
    /// The clock shows this time.
    pub(crate) fn at(&mut self, time: Duration) {
        let view = &mut self.view;
        view.now = Time::ZERO + time;
        view.mstamp_us = view.now.as_micros();
        // Never 0, which some controllers take for "never".
        view.jiffies = 1_000 + u32::try_from(time.as_micros() * u64::from(view.hz) / 1_000_000).unwrap();
    }

    /// The clock goes on by this much.
    pub(crate) fn pass(&mut self, span: Duration) {
        let now = self.view.now;
        self.at(Duration::from_nanos(now.as_nanos()) + span);
    }
}

/// Lets a full window be acknowledged `rounds` times, packet by packet, without a round-trip time; 100 ms pass each
/// time.
pub(crate) fn grow_for_rounds(controller: &mut dyn Controller, c: &mut Side, rounds: u32) {
    for _ in 0..rounds {
        c.pass(Duration::from_millis(100));
        for _ in 0..c.control.cwnd {
            controller.cong_avoid(&c.view, &mut c.control, 1);
        }
    }
}

/// A round: the window is sent, and acknowledged packet by packet, each ACK with this round-trip time.
pub(crate) fn round(controller: &mut dyn Controller, c: &mut Side, rtt_us: i64) {
    c.pass(Duration::from_micros(rtt_us.unsigned_abs()));
    let (first, cwnd) = (c.view.snd_nxt, c.control.cwnd);
    c.view.snd_nxt += u64::from(cwnd);
    for i in 1..=u64::from(cwnd) {
        c.view.snd_una = first + i;
        c.view.delivered += 1;
        controller.pkts_acked(&c.view, &mut c.control, 1, rtt_us, cwnd);
        controller.cong_avoid(&c.view, &mut c.control, 1);
    }
}
