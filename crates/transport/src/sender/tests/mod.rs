//! What a network would see of the sender: every observable check of the transport's specification
//! (`docs/specs/tcp.md` section 21 and `delivery-rate.md` section 13), and properties that hold whatever the network
//! does.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers in these tests are small"
)]

mod boundaries;
mod harness;
mod hooks;
mod output;
mod properties;
mod recovery;
mod rules;
mod sampling;
mod window_probe;
mod write;
