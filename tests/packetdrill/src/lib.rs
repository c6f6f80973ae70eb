//! Runs packet scripts on Dumbbell's TCP endpoints.
//!
//! A packet script, in the language of [packetdrill](https://github.com/google/packetdrill), says which packets and
//! system calls a host meets at which times, and which packets and which `struct tcp_info` are expected of it. Here the
//! host is the simulator's sender and receiver, in virtual time.
//!
//! ```
//! use dumbbell_packetdrill::{Verdict, parse, run};
//!
//! let script = parse("
//!     0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!     +0 bind(3, ..., ...) = 0
//!     +0 listen(3, 1) = 0
//!     +0 < S 0:0(0) win 65535 <mss 1000,sackOK>
//!     +0 > S. 0:0(0) ack 1 <...>
//!     +0.1 < . 1:1(0) ack 1 win 65535
//!     +0 accept(3, ..., ...) = 4
//!     +0 < P. 1:1001(1000) ack 1 win 65535
//!     +0 > . 1:1(0) ack 1001
//! ")?;
//! assert_eq!(run(&script), Verdict::Holds);
//! # Ok::<(), dumbbell_packetdrill::ParseError>(())
//! ```
//!
//! | file | what |
//! |---|---|
//! | `script.rs`, `parse.rs` | the language |
//! | `code.rs` | assertions in `%{ … }%` |
//! | `settings.rs` | commands, which set kernel parameters |
//! | `host.rs`, `host/`, `stream.rs` | the endpoints behind a socket: handshake, connection, accurate ECN, challenge ACKs, receive memory, time stamps, bytes and segments |
//! | `judge.rs` | the run of a script, and its verdict |
//! | `live.rs`, `live.py` | the kernel of this machine in place of the endpoints |
//! | `random.rs` | scripts drawn at random |
//! | `suite.rs` | folders of scripts, and their table |

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the numbers of a script are those of TCP's header fields and of a short run"
)]

mod calls;
mod code;
mod host;
mod judge;
mod live;
mod parse;
mod random;
mod random_receiver;
mod script;
mod settings;
mod stream;
mod suite;
mod trace;

pub use judge::{Difference, Verdict, run};
pub use parse::{ParseError, parse};
pub use random::draw;
pub use random_receiver::draw_receiver;
pub use script::{Place, Script};
pub use suite::{Outcome, Row, Subject, Table, read_script, run_file, run_folder};
pub use trace::trace;
