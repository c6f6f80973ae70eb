//! What keeps a connection of the kernel from sending more, as far as `TCP_INFO` tells.
//!
//! The kernel counts for how long a connection was busy, and for how long of that the receive window or the send buffer
//! held it back. Whatever did so for more than half of the time between two samples is named; of the rest the state at
//! the sample decides.

use crate::tcp_info::TcpInfo;
use dumbbell_transport::Limit;
use dumbbell_units::Duration;

/// `TCP_CA_Recovery` and `TCP_CA_Loss`.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// A connection, `interval` after its sample before, and what else is known of it.
pub struct Known<'i> {
    pub before: &'i TcpInfo,
    pub info: &'i TcpInfo,
    pub interval: Duration,
    /// The controller's phase, empty for controllers without phases.
    pub mode: &'static str,
    pub is_paced: bool,
    /// The application has more to write.
    pub is_writing: bool,
    /// A link on its way is full.
    pub is_full: bool,
}

/// What keeps a connection from sending more.
pub fn limit(known: &Known<'_>) -> Limit {
    let Known { before, info, interval, mode, is_paced, is_writing, is_full } = *known;
    let held = |count: fn(&TcpInfo) -> u64| {
        let during = count(info).saturating_sub(count(before));
        2 * during > interval.as_micros()
    };
    let silent_ms = info.last_ack_ms.min(info.last_data_sent_ms);
    if info.unacked > 0 && u64::from(silent_ms) * 1_000 > 2 * u64::from(info.rtt_us) {
        Limit::Timeout
    } else if held(|info| info.rwnd_limited_us) {
        Limit::ReceiveWindow
    } else if held(|info| info.sndbuf_limited_us) {
        Limit::SendBuffer
    } else if !held(|info| info.busy_us) || (info.notsent_bytes == 0 && info.lost <= info.retrans) {
        // The kernel counts the send buffer only from the next burst on.
        if is_writing { Limit::SendBuffer } else { Limit::Application }
    } else if info.ca_state >= LOSS {
        Limit::Timeout
    } else if info.ca_state == RECOVERY {
        Limit::Recovery
    } else {
        let by = if is_paced && info.inflight() < info.cwnd { Limit::Pacing } else { Limit::Cwnd };
        by.in_phase(mode, info.cwnd < info.ssthresh).on(|| is_full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection of 40 ms with a window of 20 segments, in congestion avoidance.
    fn before() -> TcpInfo {
        TcpInfo { rtt_us: 40_000, min_rtt_us: 40_000, ssthresh: 10, cwnd: 20, ..TcpInfo::default() }
    }

    /// Ten milliseconds later: busy, with a full window.
    fn busy() -> TcpInfo {
        TcpInfo { busy_us: 10_000, unacked: 20, notsent_bytes: 9_000, ..before() }
    }

    fn name(info: TcpInfo, mode: &'static str, is_full: bool) -> &'static str {
        let interval = Duration::from_millis(10);
        limit(&Known {
            before: &before(),
            info: &info,
            interval,
            mode,
            is_paced: !mode.is_empty(),
            is_writing: false,
            is_full,
        })
        .name()
    }

    #[test]
    fn what_held_the_connection_for_most_of_the_time_is_named() {
        assert_eq!(name(TcpInfo { rwnd_limited_us: 6_000, ..busy() }, "", true), "receive_window");
        assert_eq!(name(TcpInfo { sndbuf_limited_us: 6_000, ..busy() }, "", true), "send_buffer");
        assert_eq!(name(TcpInfo { busy_us: 4_000, ..busy() }, "", true), "application");
        assert_eq!(name(TcpInfo { rwnd_limited_us: 4_000, ..busy() }, "", false), "cwnd");
    }

    #[test]
    fn an_application_that_writes_waits_for_the_send_buffer() {
        let info = TcpInfo { notsent_bytes: 0, ..busy() };
        let interval = Duration::from_millis(10);
        let before = before();
        let known = |is_writing| Known {
            before: &before,
            info: &info,
            interval,
            mode: "",
            is_paced: false,
            is_writing,
            is_full: false,
        };
        assert_eq!((limit(&known(true)), limit(&known(false))), (Limit::SendBuffer, Limit::Application));
    }

    #[test]
    fn the_rest_follows_from_the_state() {
        assert_eq!(name(TcpInfo { ca_state: 3, ..busy() }, "", true), "recovery");
        assert_eq!(name(TcpInfo { ca_state: 4, ..busy() }, "", true), "timeout");
        assert_eq!(name(TcpInfo { last_ack_ms: 90, last_data_sent_ms: 90, ..busy() }, "", true), "timeout");
        assert_eq!(name(TcpInfo { last_ack_ms: 90, ..busy() }, "", false), "cwnd");
        assert_eq!(name(TcpInfo { notsent_bytes: 0, ..busy() }, "", false), "application");
        assert_eq!(name(TcpInfo { ssthresh: 99, ..busy() }, "", false), "slow_start");
        assert_eq!(name(busy(), "", true), "link");
        assert_eq!(name(TcpInfo { unacked: 12, ..busy() }, "probe_bw", false), "pacing");
        assert_eq!(name(TcpInfo { unacked: 12, ..busy() }, "probe_rtt", true), "probe_rtt");
    }
}
