//! Reno as a library: decides as the built-in `reno` does, to the bit. It is the `src/lib.rs` of a project that
//! `dumbbell new-algorithm reno --in rust` begins.

#[macro_use]
mod contract;

use contract::{Algorithm, Control, View};
use std::ffi::CStr;

struct Reno;

impl Algorithm for Reno {
    const NAME: &'static CStr = c"reno";
    const SUMMARY: &'static CStr = c"one packet more per round trip, half the window less per loss";

    fn new(_: &[f64], _: u64) -> Reno {
        Reno
    }

    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        (control.cwnd / 2).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, mut acked: u32) {
        let in_slow_start = control.cwnd < control.ssthresh;
        if view.cwnd_limited == 0 && !(in_slow_start && control.cwnd < 2 * view.max_packets_out) {
            return;
        }
        if in_slow_start {
            let cwnd = (control.cwnd + acked).min(control.ssthresh);
            acked -= cwnd - control.cwnd;
            control.cwnd = cwnd.min(view.cwnd_clamp);
            if acked == 0 {
                return;
            }
        }
        // One packet more for every window of packets acknowledged.
        let window = control.cwnd;
        if control.cwnd_cnt >= window {
            control.cwnd_cnt = 0;
            control.cwnd += 1;
        }
        control.cwnd_cnt += acked;
        if control.cwnd_cnt >= window {
            control.cwnd += control.cwnd_cnt / window;
            control.cwnd_cnt %= window;
        }
        control.cwnd = control.cwnd.min(view.cwnd_clamp);
    }
}

export!(Reno);
