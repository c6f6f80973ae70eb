#![doc = include_str!("../README.md")]
//!
//! What the attributes of a field can say:
//!
//! | attribute | meaning |
//! |---|---|
//! | `range(min = 1, max = 9)` | bounds of a plain number |
//! | `extend("exclusiveMinimum" = 0)`, `"exclusiveMaximum"` | bounds of a plain number that it must not reach |
//! | `extend("x-at-least" = …)`, `"x-at-most"`, `"x-above"`, `"x-below"` | bounds of a quantity (`"1ms"`), or the name of another parameter that is the bound |
//! | `length(min = 3, max = 9)`, `inner(range(min = 1))` | length of a list, and bounds of its elements |
//! | `extend("x-unit" = "packets")` | unit of a plain number |
//! | `extend("x-default" = "…")` | the default in words, where it follows from something else |
//! | `extend("x-with" = "key")` | the parameter has a meaning only where that other one is given |
//! | `extend("x-unless" = "key")` | the parameter has to be given where that other one is not |
//! | `extend("x-source" = "…")` | where the parameter and its default come from |

mod catalog;
mod check;
mod declaration;
mod inline;
mod markdown;
mod problem;
mod range;
mod read;
mod schedule;

pub use catalog::{Catalog, Described, KIND, Kind, MadeOf, Preset, Recipe, Usual, to_map};
pub use check::check;
pub use declaration::{Choice, Parameter, declared};
pub use inline::{inline, present};
pub use markdown::{cell, table};
pub use problem::{Place, Problem, nearest, suggest};
pub use range::Range;
pub use read::{Refusal, read};
pub use schedule::Schedule;
