//! Parameters that are declared once.
//!
//! A parameter is a field of a struct that derives `Deserialize`, `Serialize` and `JsonSchema`. Its declaration there is
//! the only one: the doc comment is its meaning, the default is serde's, and attributes give the rest.
//!
//! ```
//! use dumbbell_parameters::{check, declared, read};
//! use dumbbell_units::Duration;
//! use serde::{Deserialize, Serialize};
//!
//! /// A queue that tolerates some delay.
//! #[derive(Serialize, Deserialize, schemars::JsonSchema)]
//! #[serde(default, deny_unknown_fields)]
//! struct Patient {
//!     /// Acceptable standing delay.
//!     #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 8289, section 4.3: TARGET"))]
//!     target: Duration,
//!     /// Packets of a burst that always pass.
//!     #[schemars(range(min = 1), extend("x-unit" = "packets"))]
//!     burst: u32,
//! }
//!
//! impl Default for Patient {
//!     fn default() -> Patient {
//!         Patient { target: Duration::from_millis(5), burst: 10 }
//!     }
//! }
//!
//! let parameters = declared::<Patient>();
//! assert_eq!(parameters[0].range.to_string(), "more than 0s, at most 1h");
//!
//! let table = serde_json::json!({ "target": "0s", "brust": 3 });
//! let problems = read::<Patient>(table.as_object().unwrap()).err().unwrap();
//! assert_eq!(problems[0].help, "did you mean `burst`? allowed here: target, burst");
//!
//! let patient = Patient { target: Duration::ZERO, burst: 3 };
//! assert_eq!(check(&parameters, &patient)[0].message, "`target` is 0s");
//! ```
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
//! | `extend("x-source" = "…")` | where the parameter and its default come from |

#![deny(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::cast_lossless)]

mod declaration;
mod markdown;
mod problem;
mod range;
mod read;

pub use declaration::{Choice, Parameter, declared};
pub use markdown::{cell, table};
pub use problem::{Place, Problem, nearest, suggest};
pub use range::{Range, check};
pub use read::{Refusal, read};
