//! Results of many small experiments, compared with the tables in `tests/snapshots/`.
//!
//! The tables hold no truth; they show what a change does to results that nobody thought of. A change that means to
//! alter results updates them with
//!
//! ```text
//! DUMBBELL_UPDATE_SNAPSHOTS=1 cargo test -p dumbbell-sim --test behaviour snapshots
//! ```
//!
//! and the difference is part of its review.

mod options;
#[path = "../../../../tests/snapshots/tables.rs"]
mod tables;

use crate::lab::{jain, mean, run};
use dumbbell_cc_family::catalog;
use std::fmt::Write;
use tables::{check, committed, is_update};

const RTTS_MS: [u32; 3] = [10, 40, 200];
const BUFFERS: [&str; 3] = ["0.5bdp", "1bdp", "4bdp"];
const ALGORITHMS: [&str; 3] = ["bbr", "cubic", "reno"];

fn header(first: &str) -> String {
    format!(
        "{first:<24} {:>8} {:>6} {:>7} {:>5}  {:>9} {:>9} {:>9} {:>8} {:>8} {:>5} {:>6}  goodput of each, Mbit/s\n",
        "rate", "rtt ms", "buffer", "loss", "Mbit/s", "mean ms", "p95 ms", "drops", "retrans", "rto", "jain"
    )
}

/// Runs flows for 20 s and writes a row: goodput together, mean of the flows' mean and 95th percentile of the RTT,
/// packets dropped by the network, retransmissions, timeouts, Jain's index, goodput of each.
fn row(table: &mut String, algorithms: &[&str], rate: &str, rtt_ms: u32, buffer: &str, loss: &str) {
    let flows: Vec<String> = algorithms
        .iter()
        .enumerate()
        .map(|(i, cc)| format!("{{ cc = \"{cc}\", start = \"{}ms\" }}", 100 * i))
        .collect();
    let run = run(&format!(
        r#"
        duration = "20s"
        record.series = false
        path = {{ rate = "{rate}", rtt = "{rtt_ms}ms", buffer = "{buffer}", loss = "{loss}" }}
        flows = [{}]
        "#,
        flows.join(", ")
    ));
    let goodput = run.flows("goodput_mbps");
    let total = |column: &str| run.flows(column).iter().sum::<f64>();
    let name = match algorithms {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|cc| cc == first) => {
            format!("{}x{first}", algorithms.len())
        }
        _ => algorithms.join("+"),
    };
    write!(
        table,
        "{name:<24} {rate:>8} {rtt_ms:>6} {buffer:>7} {loss:>5}  {:>9.4} {:>9.3} {:>9.3} {:>8} {:>8} {:>5} {:>6.4} ",
        goodput.iter().sum::<f64>(),
        mean(&run.flows("mean_rtt_ms")),
        mean(&run.flows("p95_rtt_ms")),
        total("network_drops_total"),
        total("retransmits_total"),
        total("rto_count_total"),
        jain(&goodput),
    )
    .unwrap();
    for goodput in goodput {
        write!(table, " {goodput:.4}").unwrap();
    }
    table.push('\n');
}

fn single_flows(rate: &str) -> String {
    let mut table = header("flow");
    for cc in ALGORITHMS {
        for rtt_ms in RTTS_MS {
            for buffer in BUFFERS {
                row(&mut table, &[cc], rate, rtt_ms, buffer, "0%");
            }
        }
    }
    for cc in ALGORITHMS {
        for rtt_ms in RTTS_MS {
            row(&mut table, &[cc], rate, rtt_ms, "1bdp", "1%");
        }
    }
    table
}

#[test]
fn single_flows_at_1_mbit_are_unchanged() {
    check("single-1mbit.txt", &single_flows("1mbit"));
}

#[test]
fn single_flows_at_10_mbit_are_unchanged() {
    check("single-10mbit.txt", &single_flows("10mbit"));
}

#[test]
fn single_flows_at_100_mbit_are_unchanged() {
    check("single-100mbit.txt", &single_flows("100mbit"));
}

#[test]
fn shared_bottlenecks_are_unchanged() {
    let mut table = header("flows");
    let mixes: [&[&str]; 6] =
        [&["bbr", "cubic"], &["bbr", "reno"], &["reno", "cubic"], &["bbr"; 4], &["cubic"; 4], &["reno"; 4]];
    for mix in mixes {
        for (rate, rtt_ms) in [("10mbit", 40), ("10mbit", 200), ("100mbit", 40)] {
            for buffer in BUFFERS {
                row(&mut table, mix, rate, rtt_ms, buffer, "0%");
            }
        }
        row(&mut table, mix, "10mbit", 40, "1bdp", "1%");
    }
    check("shared.txt", &table);
}

/// Every other algorithm that has a place in the table alone, with itself and with CUBIC. A new one gets its place when
/// the table is written anew.
#[test]
fn all_other_algorithms_are_unchanged() {
    const FILE: &str = "algorithms.txt";
    let committed = committed(FILE);
    let is_other = |name: &&str| !ALGORITHMS.contains(name) && catalog().find(name).is_ok();
    let mut names: Vec<&str> = committed.lines().filter_map(|row| row.split(' ').next()).filter(is_other).collect();
    names.dedup();
    if is_update() {
        let new: Vec<&str> = catalog().names().filter(is_other).filter(|name| !names.contains(name)).collect();
        names.extend(new);
    }
    let mut table = header("flows");
    for cc in names {
        for (rtt_ms, buffer, loss) in
            [(40, "0.5bdp", "0%"), (40, "4bdp", "0%"), (40, "1bdp", "1%"), (200, "1bdp", "0%")]
        {
            row(&mut table, &[cc], "10mbit", rtt_ms, buffer, loss);
        }
        row(&mut table, &[cc, cc], "10mbit", 40, "1bdp", "0%");
        row(&mut table, &[cc, "cubic"], "10mbit", 40, "2bdp", "0%");
    }
    check(FILE, &table);
}
