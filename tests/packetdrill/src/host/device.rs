//! A device whose queue has no room (`tc qdisc add dev tun0 root pfifo limit 0`): what is handed to it is not sent, and
//! the connection tries again (`tcp_probe_timer`, `tcp_send_probe0`). And what is known of such probes, and of those of
//! a window.

use super::connection::Connection;
use dumbbell_cc::CaState;
use dumbbell_units::{Duration, Time};

/// How long a connection waits for room in a queue of its own host (`TCP_RESOURCE_PROBE_INTERVAL`).
const INTERVAL: Duration = Duration::from_millis(500);

/// The device, and probes of the path behind it.
#[derive(Clone, Debug)]
pub(super) struct Device {
    is_full: bool,
    /// When the connection tries again.
    due: Time,
    /// When the first probe was due since something could leave (`icsk_probes_tstamp`).
    pub first_probe: Option<Time>,
    /// Probes since the other end was last heard (`icsk_probes_out`).
    probes: u32,
    /// How often the time between window probes has doubled (`icsk_backoff`).
    doublings: u32,
}

impl Device {
    pub fn new() -> Device {
        Device { is_full: false, due: Time::NEVER, first_probe: None, probes: 0, doublings: 0 }
    }

    pub fn next_timer(&self) -> Time {
        self.due
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// A probe of a closed window leaves.
    pub fn note_window_probe(&mut self, now: Time) {
        self.first_probe.get_or_insert(now);
        self.probes += 1;
        self.doublings += 1;
    }

    /// An ACK arrives, which perhaps has room for what waits.
    pub fn note_ack(&mut self, has_room: bool) {
        self.probes = 0;
        if has_room {
            (self.first_probe, self.doublings) = (None, 0);
        }
    }
}

impl Connection {
    /// The queue of the device has room, or none; the reason if that is not modelled.
    pub(super) fn set_device(&mut self, is_full: bool) -> Result<(), String> {
        if is_full && !self.device.is_full && self.sender.view().packets_out > 0 {
            return Err("a device without room while data is in flight".to_owned());
        }
        self.device.is_full = is_full;
        Ok(())
    }

    /// Something has to leave, and there is no room for it.
    pub(super) fn wait_for_device(&mut self, now: Time) {
        if self.sender.queued_segments() > 0 && self.device.due == Time::NEVER {
            self.device.due = now + self.sender.rto();
        }
    }

    /// The connection tries again, if it is time.
    pub(super) fn probe_device(&mut self, now: Time) {
        if self.device.due > now {
            return;
        }
        self.device.due = Time::NEVER;
        if self.device.is_full {
            self.device.first_probe.get_or_insert(now);
            self.device.probes += 1;
            self.device.due = now + INTERVAL;
        }
    }

    /// A field of `struct tcp_info`.
    pub(super) fn probe_info(&self, name: &str) -> Option<i64> {
        match name {
            "tcpi_probes" => Some(i64::from(self.device.probes)),
            // Timeouts double it, too.
            "tcpi_backoff" if self.sender.view().ca_state != CaState::Loss => Some(i64::from(self.device.doublings)),
            _ => None,
        }
    }
}
