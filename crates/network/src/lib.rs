#![doc = include_str!("../README.md")]
//!
//! [`media`] makes what the links of a scenario are, with their random streams, [`Routes`] knows which of them a packet
//! passes next, [`Agenda`] which one has something to do first, and [`report`] what tables show of them.

mod agenda;
mod calendar;
mod failure;
mod link_watch;
pub mod report;
mod routes;
mod sender;
mod wiring;

pub use agenda::{Agenda, BusyAgenda, Moment};
pub use calendar::{Calendar, Place};
pub use failure::FailedConnection;
pub use link_watch::LinkWatch;
pub use routes::{DelayLegs, Entry, Hop, Route, Routes, WayError};
pub use sender::{add_sender, sender_counts};
pub use wiring::{
    assign, controller_stream, for_each_link, media, slowest_link, slowest_rate, source_stream, spawned_stream,
    start_of, start_stream, wire,
};
