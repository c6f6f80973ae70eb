//! Wi-Fi 5 (802.11ac): a radio channel that an access point and its stations share.
//!
//! [`WifiChannel`] is a [`Medium`](crate::Medium). A port is one direction of a link between a station and the access
//! point; each has its queue, its rate and its errors. Whoever has something to send contends for the channel with a
//! random backoff (`backoff.rs`, `race.rs`), and who wins sends an aggregate of frames, which is answered by one
//! Block-ACK (`exchange.rs`). What goes into it, and what waits in the device below the queue, is in `lane.rs`,
//! `intake.rs` and `aggregate.rs`; which station a device serves next in `airtime.rs`; the receiver, which puts frames
//! in order, in `reorder.rs`; when a station is away in `away.rs`; rates and durations in `phy.rs`; what can be chosen
//! of a link in `parameters.rs`. Nothing goes through all stations: whatever changes says so, and is put in its place
//! (`timetable.rs`).
//!
//! All stations hear each other: hidden nodes are left out. So are rate control, management frames and power saving
//! (a station that is [`Away`] is away at given times), and what surrounds a transmission opportunity of several PPDUs:
//! each is one PPDU.

mod aggregate;
mod airtime;
mod away;
mod backoff;
mod channel;
mod exchange;
mod intake;
mod lane;
mod parameters;
mod phy;
mod port;
mod race;
mod reorder;
#[cfg(test)]
mod tests;
mod timetable;

pub use away::Away;
pub use channel::WifiChannel;
pub use parameters::{AccessCategory, DeviceQueue, Wifi};
pub use phy::{ChannelWidth, GuardInterval};
pub use port::{RadioCounters, RadioLink};
