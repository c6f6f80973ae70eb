#![doc = include_str!("../README.md")]
//!
//! Sans-IO endpoints: a Linux-like TCP sender and receiver, and QUIC-like ones in [`quic`].
//!
//! All are driven by values: time comes in as an argument, packets go in and out as [`Segment`]s and [`Ack`]s, and as
//! bytes where an end is behind the trait [`Endpoint`]. Sequence space is counted in segments: segment `n` is the
//! `n`-th MSS of the stream, and only the last one of a finite stream may be shorter. Linux splits and merges buffers;
//! the places where that could be seen are listed in `docs/architecture.md`.

mod config;
mod ecn;
mod endpoint;
mod in_flight;
pub mod library;
mod limit;
pub mod probe;
mod protocol;
pub mod quic;
pub mod real_time;
mod receiver;
mod send_buffer;
mod sender;
mod sequence;
mod set_up;
pub mod udp;
mod wire;

pub use config::{
    Completion, CompressionDelay, ControllerRtt, DeliveryRate, LossDetection, Pacing, RecoveryRule, Rescue,
    RightSizingRule, RtoRule, RttSamples, TransportConfig, receivers_of_linux,
};
pub use dumbbell_recovery::timestamp::Timestamp;
pub use ecn::EcnUse;
pub use endpoint::{Act, Arrival, Datagram, Endpoint, FrameCounts, Handshake, News, Report, Sending, Steer};
pub use in_flight::InFlightByBuffer;
pub use limit::{Held, Limit};
pub use protocol::Protocol;
pub use receiver::{Answer, EcnEcho, EvenRun, Horizon, Receiver, ReceiverStats, SteadyAcks};
pub use send_buffer::SendBufferSize;
pub use sender::{Burst, Sender, SenderStats};
pub use set_up::{Repetition, SetUp};
pub use wire::{Ack, AdvertisedWindow, CumulativeAck, Flags, Marks, SackBlock, Segment};
