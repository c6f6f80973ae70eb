#![doc = include_str!("../README.md")]
//!
//! What the attributes of a field can say:
//!
//! | attribute | meaning |
//! |---|---|
//! | `range(min = 1, max = 9)` | bounds of a plain number |
//! | `extend("x-at-least" = …)`, `"x-at-most"`, `"x-above"` | bounds of a quantity (`"1ms"`), or the name of another parameter that is the bound |
//! | `extend("x-unit" = "packets")` | unit of a plain number |
//! | `extend("x-default" = "…")` | the default in words, where it follows from something else |
//! | `extend("x-with" = "key")` | the parameter has a meaning only where that other one is given |
//! | `extend("x-unless" = "key")` | the parameter has to be given where that other one is not |
//! | `extend("x-source" = "…")` | where the parameter and its default come from |

mod declaration;
mod inline;
mod markdown;
mod problem;
mod range;
mod read;

pub use declaration::{Choice, Parameter, declared};
pub use inline::{inline, present};
pub use markdown::{cell, table};
pub use problem::{Place, Problem, nearest, suggest};
pub use range::{Range, check};
pub use read::{Refusal, read};
