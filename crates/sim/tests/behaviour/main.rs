//! What the simulator does with whole experiments: the phenomena that the algorithms are known for, and the promises
//! that hold in every run. Experiments are written as users write them, as TOML.
//!
//! Expected numbers come from formulas and independent models, with the tolerance they deserve, except in
//! [`snapshots`], where a table of results is compared with a committed one.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the numbers are those of these tests, and small"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod applications;
mod bbr;
mod bounds;
mod classic;
mod conservation;
mod coupled;
mod cubic;
mod datagrams;
mod determinism;
mod draft;
mod fair_queues;
mod family;
mod faults;
mod handshake;
mod impairments;
mod incast;
mod l4s;
mod lab;
mod limits;
mod queues;
mod quic;
mod quic_ranges;
mod reno;
mod script;
mod shared_buffers;
mod short_flows;
mod simultaneous;
mod slow_reader;
mod snapshots;
mod steps;
mod streams;
mod threads;
mod udp;
mod web_pages;
mod wifi;
