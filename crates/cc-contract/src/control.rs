//! What a controller may change about the connection it governs.

use crate::view::View;

/// The levers of a controller, which the transport obeys. A transport writes them, too, where Linux does: during a
/// reduction that the controller leaves to it, after idle time, and the pacing rate of controllers without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Congestion window in packets (`snd_cwnd`).
    pub cwnd: u32,
    /// The window in bytes, where a controller counts them; 0: `cwnd` holds. Over QUIC bytes in flight are compared
    /// with it, headers of QUIC included; TCP looks at `cwnd` alone. A transport that sets `cwnd` itself clears it.
    pub cwnd_bytes: u64,
    /// Fractional credit towards the next increment of `cwnd` (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Slow-start threshold in packets; [`Control::INFINITE_SSTHRESH`] until the first reduction.
    pub ssthresh: u32,
    /// Payload bytes per second at which the sender may transmit (`sk_pacing_rate`). Controllers without
    /// [full control](crate::Controller::full_control) leave it to the transport.
    pub pacing_rate: u64,
    /// The sender counts `2^-pacing_shift` seconds of the pacing rate as one burst (`sk_pacing_shift`).
    pub pacing_shift: u32,
    /// Takes the place of `pacing_shift` for TCP small queues alone, where queues are to be longer than bursts.
    pub small_queue_shift: Option<u32>,
    /// 0, or the value [`View::delivered`] must exceed before the application-limited bubble has left the pipe: samples
    /// until then are marked as limited by the application. A controller that holds the rate down on purpose sets it.
    pub app_limited: u64,
}

impl Default for Control {
    /// Of a connection before its first event: the initial window, no threshold, no rate.
    fn default() -> Control {
        Control {
            cwnd: Control::INITIAL_CWND,
            cwnd_bytes: 0,
            cwnd_cnt: 0,
            ssthresh: Control::INFINITE_SSTHRESH,
            pacing_rate: 0,
            pacing_shift: 10,
            small_queue_shift: None,
            app_limited: 0,
        }
    }
}

impl Control {
    /// `ssthresh` before the first reduction (`TCP_INFINITE_SSTHRESH`).
    pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
    /// Window after the handshake in packets (`TCP_INIT_CWND`).
    pub const INITIAL_CWND: u32 = 10;

    /// Below the slow-start threshold (`tcp_in_slow_start`).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start for `acked` packets; returns those left over when the threshold is reached (`tcp_slow_start`).
    #[inline]
    pub fn slow_start(&mut self, view: &View, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(view.cwnd_clamp);
        left
    }

    /// Slow start for `acked` packets if the window is below the threshold; returns those left for congestion
    /// avoidance.
    #[inline]
    pub fn slow_start_if_below(&mut self, view: &View, acked: u32) -> u32 {
        if self.in_slow_start() { self.slow_start(view, acked) } else { acked }
    }

    /// Reno's growth for an ACK of `acked` packets: slow start, and one packet a window above the threshold
    /// (`tcp_reno_cong_avoid`).
    #[inline]
    pub fn grow_like_reno(&mut self, view: &View, acked: u32) {
        if !view.is_cwnd_limited(self) {
            return;
        }
        let acked = self.slow_start_if_below(view, acked);
        if acked > 0 {
            self.additive_increase(view, self.cwnd, acked);
        }
    }

    /// Half the window, the threshold of Reno after a loss (`tcp_reno_ssthresh`).
    #[inline]
    pub fn half(&self) -> u32 {
        (self.cwnd >> 1).max(2)
    }

    /// The threshold to return to after an exception: at least three quarters of the window (`tcp_current_ssthresh`
    /// outside of a reduction).
    #[inline]
    pub fn current_ssthresh(&self) -> u32 {
        self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
    }

    /// One packet more for every `per_increment` packets acknowledged (`tcp_cong_avoid_ai`).
    #[inline]
    pub fn additive_increase(&mut self, view: &View, per_increment: u32, acked: u32) {
        if self.cwnd_cnt >= per_increment {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= per_increment {
            let increments = self.cwnd_cnt / per_increment;
            self.cwnd_cnt -= increments * per_increment;
            self.cwnd += increments;
        }
        self.cwnd = self.cwnd.min(view.cwnd_clamp);
    }
}
