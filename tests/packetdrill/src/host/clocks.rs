//! What `struct tcp_info` counts in time: how long the connection had something to do, and what it waited for
//! (`tcp_chrono_start`); when data and ACKs were last seen.

use dumbbell_transport::Limit;
use dumbbell_units::{Duration, Time};

/// What a connection does that has something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chrono {
    Busy,
    ReceiveWindow,
    SendBuffer,
}

/// Clocks of a connection.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    chrono: Option<Chrono>,
    since: Time,
    /// How long each of them has lasted, the present one not counted.
    spent: [Duration; 3],
    pub(super) last_data_sent: Time,
    pub(super) last_data_received: Time,
    pub(super) last_ack_received: Time,
}

impl Clocks {
    pub(super) fn new(now: Time) -> Clocks {
        Clocks {
            chrono: None,
            since: now,
            spent: [Duration::ZERO; 3],
            last_data_sent: now,
            last_data_received: now,
            last_ack_received: now,
        }
    }

    /// From now on the connection is held up by this, or has nothing to do.
    pub(super) fn note(&mut self, now: Time, limit: Option<Limit>) {
        let chrono = limit.map(|limit| match limit {
            Limit::ReceiveWindow => Chrono::ReceiveWindow,
            Limit::SendBuffer => Chrono::SendBuffer,
            _ => Chrono::Busy,
        });
        if chrono != self.chrono {
            if let Some(past) = self.chrono {
                self.spent[past as usize] += now.since(self.since);
            }
            (self.chrono, self.since) = (chrono, now);
        }
    }

    /// A field of `struct tcp_info`.
    pub(super) fn info(&self, now: Time, name: &str) -> Option<i64> {
        let spent = |chrono: Chrono| {
            let present = if self.chrono == Some(chrono) { now.since(self.since) } else { Duration::ZERO };
            (self.spent[chrono as usize] + present).as_micros() as i64
        };
        let since = |time: Time| (now.since(time).as_micros() / 1000) as i64;
        Some(match name {
            "tcpi_busy_time" => spent(Chrono::Busy) + spent(Chrono::ReceiveWindow) + spent(Chrono::SendBuffer),
            "tcpi_rwnd_limited" => spent(Chrono::ReceiveWindow),
            "tcpi_sndbuf_limited" => spent(Chrono::SendBuffer),
            "tcpi_last_data_sent" => since(self.last_data_sent),
            "tcpi_last_data_recv" => since(self.last_data_received),
            "tcpi_last_ack_recv" => since(self.last_ack_received),
            _ => return None,
        })
    }
}
