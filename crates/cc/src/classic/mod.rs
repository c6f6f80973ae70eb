//! The controllers that came before models of the path: loss-based ones for fast and for lossy paths, delay-based ones,
//! and those that give way. One file each; Linux's are bit-exact in their integer rules (`net/ipv4/tcp_*.c`).

mod arithmetic;
pub mod bic;
pub mod cdg;
pub mod copa;
pub mod cubic_picoquic;
pub mod cubic_rfc;
pub mod dctcp;
mod delay;
mod delayed_acks;
mod fraction;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
mod hystart_pp;
pub mod illinois;
pub mod ledbat;
pub mod ledbat_pp;
pub mod lp;
pub mod nv;
pub mod prague;
mod round;
pub mod scalable;
#[cfg(test)]
mod tutorial;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod yeah;
