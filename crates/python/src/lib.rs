//! `dumbbell._core`: the engine for Python, as thin as it can be. Everything a person sees is in `python/dumbbell`.

mod table;

use pyo3::prelude::*;

/// The engine of Dumbbell.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::table::Table;
}
