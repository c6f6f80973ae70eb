//! A channel as its stations see it: contention, aggregates, errors, fairness.

mod bench;
mod contention;
mod frames;
mod sharing;
