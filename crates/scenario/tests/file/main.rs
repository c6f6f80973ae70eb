//! What experiment files mean, and which are refused: one program, because each is linked with the whole crate.

mod bad_input;
mod elsewhere;
mod experiment;
mod explain;
mod include;
mod reference;
mod sweep;
mod traffic;
