//! What experiment files mean, and which are refused. One program, because each takes as long to link as it takes to run.

mod bad_input;
mod experiment;
mod include;
mod reference;
mod traffic;
