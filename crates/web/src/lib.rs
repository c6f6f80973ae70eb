#![doc = include_str!("../README.md")]

mod answer;
mod csv;
#[cfg(target_family = "wasm")]
mod exports;
mod form;

pub use answer::answer;
pub use csv::csv;
