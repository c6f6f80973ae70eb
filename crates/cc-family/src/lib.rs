#![doc = include_str!("../README.md")]
//!
//! | file | family |
//! |---|---|
//! | `older_linux` | Linux 4.9 to 5.9 |
//! | `ns3` | ns-3, and the port of 2018 that it grew from |
//! | `quic` | Chromium's QUIC |
//! | `zhang` | BBR', BBRPlus, BBR+ and Tsunami, as Zhang's study compares them |
//! | `cubic_bytes` | CUBIC and Reno of Chromium's QUIC, which count bytes |
//! | `acd` | BBR-ACD: its paper, its kernel code, its ns-3 code |
//!
//! A family is the parameters that choose its rules, the state that these need, and functions that [`FamilyRules`]
//! calls where Linux decides otherwise ([`dumbbell_cc::bbr1::Rules`]). Rules of different families mix, since some
//! variants are mixtures; a BBR without any of them runs Linux's code alone. `cubic_bytes` is no family of BBR's, but a
//! controller of its own.

pub mod acd;
mod bbr;
pub mod cubic_bytes;
pub mod ns3;
pub mod older_linux;
pub mod quic;
pub mod rules;
#[cfg(test)]
mod tests;
pub mod zhang;

pub use bbr::{Family, Parameters};
pub use rules::{FamilyRules, RuleParameters};

use dumbbell_cc::Catalog;
use std::sync::{Arc, LazyLock};

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let mut catalog = Catalog::builtin().clone();
    let mut all = || {
        catalog.replace_code("bbr", Arc::new(Family))?;
        catalog.register::<cubic_bytes::CubicBytes>()?;
        catalog.register_variants(include_str!("presets.toml"))
    };
    all().expect("the names of the variants differ");
    catalog
});

/// All algorithms and variants: the built-in ones, whose `bbr` knows the families' parameters here, and the published
/// variants.
pub fn catalog() -> &'static Catalog {
    &CATALOG
}
