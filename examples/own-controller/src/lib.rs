//! A congestion controller of your own: one file (`aimd.rs`) and one line (in [`catalog`]).
//!
//! What is registered is known by name in experiment files, sweeps and presets, its parameters are checked and
//! explained like those of any other algorithm, and its code is part of what a result depends on.

pub mod aimd;

use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::RegisterError;

/// All algorithms of Dumbbell, and ours.
///
/// # Errors
/// A name is taken.
pub fn catalog() -> Result<Catalog, RegisterError> {
    let mut catalog = dumbbell_cc_family::catalog().clone();
    catalog.register::<aimd::Aimd>()?;
    Ok(catalog)
}
