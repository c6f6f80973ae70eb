//! What happens to a packet between two hosts: queues, links, loss, delay, jitter, traces.
//!
//! A [`Link`] is one direction of a wire: loss before, a queue, a transmitter, loss after, and a propagation pipe. It
//! knows no clock and no other link: packets are offered to it with the time of their arrival, and it gives them back
//! when they reach the far end.

mod config;
mod packet;

pub use config::{Delay, JitterDistribution, LinkConfig, LinkRate, Loss, QueueConfig, QueueKind, QueueLimit};
pub use packet::{Ecn, Packet};
