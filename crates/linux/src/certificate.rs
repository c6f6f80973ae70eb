//! How good a run was: what an emulator on a shared machine owes to whoever reads its numbers.

use crate::clock::hz;
use crate::host::Host;
use crate::kernel::release;
use crate::lateness::Lateness;
use crate::program::ProgramNotes;
use crate::seen::Seen;
use crate::traffic::Promptness;
use cpu_time::ProcessTime;
use dumbbell_scenario::Scenario;
use dumbbell_units::Duration;
use rustix::param::clock_ticks_per_second;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// A delivery that is so late in the measured interval voids the run.
const VOID_STALL: Duration = Duration::from_millis(10);
/// The lateness that one delivery in a thousand may exceed: this, or the share of the shortest base RTT, if that is
/// more.
const TOLERANCE: Duration = Duration::from_millis(1);
const TOLERATED_SHARE: f64 = 0.025;

/// What can be said of the quality of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// Why the run is void; empty if it is not.
    pub void: Vec<String>,
    /// Lateness of deliveries that half of them did not exceed, microseconds; those below likewise.
    pub late_p50_us: f64,
    /// Lateness that 99 % of deliveries did not exceed.
    pub late_p99_us: f64,
    /// Lateness that 99.9 % of deliveries did not exceed.
    pub late_p999_us: f64,
    /// The largest lateness.
    pub late_max_us: f64,
    /// How late applications read what was there and wrote what was due: half of the times not more than this, in
    /// microseconds.
    pub app_late_p50_us: f64,
    /// Lateness of applications that 99 % of the times did not exceed.
    pub app_late_p99_us: f64,
    /// Deliveries more than 5 ms late.
    pub stalls: u64,
    /// Packets that something else than the experiment's links dropped; `None` where the kernel does not tell.
    pub local_drops: Option<u64>,
    /// Share of one core that the emulator took.
    pub emulator_cpu: f64,
    /// Share of the machine that its host took away, over the run; null where that is not told.
    pub stolen_cpu: Option<f64>,
    /// Cores that other programs kept busy, over the run; null where that is not told.
    pub other_cpu: Option<f64>,
    /// Whether the emulator ran before every ordinary thread.
    pub had_priority: bool,
    /// `uname -r`.
    pub kernel: String,
    /// Ticks of its coarse clock per second.
    pub hz: u64,
    /// Model of the CPU.
    pub cpu: String,
    /// Cores.
    pub cores: usize,
    /// Sysctls of both namespaces, as they were set.
    pub sysctls: BTreeMap<String, String>,
    /// What is said of each flow: by the kernel, or by its programs.
    pub flows: Vec<Notes>,
    /// TCP's counters of the hosts of senders, added up, that are not zero.
    pub sender_counters: BTreeMap<String, u64>,
    /// TCP's counters of the hosts of receivers, added up, that are not zero.
    pub receiver_counters: BTreeMap<String, u64>,
}

/// What is known of a flow besides its tables.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Notes {
    /// Of one of the kernel's own.
    Kernel(FlowNotes),
    /// Of two programs.
    Program(ProgramNotes),
    /// Of two ends of a library in this process.
    Library(LibraryNotes),
}

/// What is said of a flow whose ends are a library's.
#[derive(Clone, Debug, Serialize)]
pub struct LibraryNotes {
    /// The name of the transport.
    pub protocol: &'static str,
}

/// What the kernel says of a flow, over the whole run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowNotes {
    /// Seconds with data to send.
    pub busy_s: f64,
    /// Of them, limited by the receive window.
    pub rwnd_limited_s: f64,
    /// Of them, limited by the send buffer.
    pub sndbuf_limited_s: f64,
    /// Modes and phases of PROBE_BW that our own BBR has gone through, the shortest too: the program itself keeps
    /// count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<&'static str>,
}

/// What hosts have counted.
pub struct Counters {
    /// Packets that their devices, or sockets, had no room for; `None` where the kernel does not tell.
    local_drops: Option<u64>,
    /// TCP's counters of senders and of receivers that are not zero.
    tcp: [BTreeMap<String, u64>; 2],
}

impl Counters {
    /// Those of pairs of hosts, added up.
    pub fn of<'h>(pairs: impl Iterator<Item = &'h [Host; 2]>) -> Counters {
        let mut all = Counters { local_drops: Some(0), tcp: Default::default() };
        for pair in pairs {
            for (host, tcp) in pair.iter().zip(&mut all.tcp) {
                let of_host = host.local_drops().zip(host.refused_datagrams()).map(|(drops, more)| drops + more);
                all.local_drops = all.local_drops.zip(of_host).map(|(drops, more)| drops + more);
                for (name, count) in host.tcp_counters().unwrap_or_default() {
                    *tcp.entry(name).or_default() += count;
                }
            }
        }
        all
    }
}

impl Certificate {
    /// The certificate of a run that is over.
    pub fn new(
        scenario: &Scenario,
        seen: &Seen,
        promptness: &Promptness,
        counters: Counters,
        sysctls: BTreeMap<String, String>,
        flows: Vec<Notes>,
        [machine_before, machine_after]: [Option<Machine>; 2],
    ) -> Certificate {
        let lateness = &seen.lateness;
        let machine = machine_before.zip(machine_after);
        let Counters { local_drops, tcp: [sender_counters, receiver_counters] } = counters;
        let mut certificate = Certificate {
            void: Vec::new(),
            late_p50_us: lateness.quantile_us(0.5),
            late_p99_us: lateness.quantile_us(0.99),
            late_p999_us: lateness.quantile_us(0.999),
            late_max_us: lateness.max().as_nanos() as f64 / 1e3,
            app_late_p50_us: promptness.quantile_us(0.5),
            app_late_p99_us: promptness.quantile_us(0.99),
            stalls: lateness.stalls(),
            local_drops: local_drops.map(|drops| drops + seen.failed_writes),
            emulator_cpu: seen.cpu_s / scenario.duration.as_secs_f64(),
            stolen_cpu: machine.map(|(before, after)| after.stolen_since(before)),
            other_cpu: machine.map(|(before, after)| after.others_since(before)),
            had_priority: seen.had_priority,
            kernel: release(),
            hz: hz(),
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            sysctls,
            flows,
            sender_counters,
            receiver_counters,
        };
        certificate.judge(scenario, lateness);
        certificate
    }

    fn judge(&mut self, scenario: &Scenario, lateness: &Lateness) {
        let base_rtt = scenario.flows.iter().map(|flow| flow.base_rtt.as_nanos()).min().unwrap_or(0);
        let tolerated_us = (TOLERANCE.as_nanos() as f64).max(TOLERATED_SHARE * base_rtt as f64) / 1e3;
        match self.local_drops {
            Some(0) => {}
            Some(drops) => self.void.push(format!("{drops} packets were dropped outside of the links")),
            None => self.void.push("nobody can tell how many packets the hosts' own devices have dropped".to_owned()),
        }
        if [&self.sender_counters, &self.receiver_counters].into_iter().any(was_short_of_memory) {
            let advice = "give the machine more, or raise net.ipv4.tcp_mem";
            self.void.push(format!("the kernel ran short of memory for TCP and kept receive windows small; {advice}"));
        }
        if self.late_p999_us > tolerated_us {
            let late = self.late_p999_us;
            self.void.push(format!(
                "one delivery in a thousand was more than {late:.0} us late; allowed: {tolerated_us:.0}"
            ));
        }
        if self.app_late_p99_us > tolerated_us {
            let late = self.app_late_p99_us;
            self.void.push(format!(
                "an application was more than {late:.0} us late one time in a hundred; allowed: {tolerated_us:.0}"
            ));
        }
        if lateness.measured_max() > VOID_STALL {
            let late = lateness.measured_max().as_nanos() as f64 / 1e6;
            self.void.push(format!("the machine stalled for {late:.1} ms in the measured interval"));
        }
    }
}

/// Whether the sockets of this host, or of others together with them, took more than `tcp_mem[1]`: then no receive
/// window grows, and one that is asked for beside little room shrinks to four segments (`tcp_enter_memory_pressure`,
/// `tcp_adjust_rcv_ssthresh`).
fn was_short_of_memory(counters: &BTreeMap<String, u64>) -> bool {
    counters.get("TCPMemoryPressures").is_some_and(|&times| times > 0)
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// CPU time since the machine has started.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    stolen: u64,
    total: u64,
    /// Of programs, in seconds: all, and this one.
    programs_s: f64,
    own_s: f64,
    at: Instant,
}

impl Machine {
    /// As the kernel counts it in `/proc/stat`.
    pub fn now() -> Option<Machine> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let numbers: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).flat_map(str::parse).collect();
        // user nice system idle iowait irq softirq steal
        let [user, nice, system] = *numbers.first_chunk()?;
        Some(Machine {
            stolen: *numbers.get(7)?,
            total: numbers.iter().take(8).sum(),
            programs_s: (user + nice + system) as f64 / clock_ticks_per_second() as f64,
            own_s: ProcessTime::try_now().ok()?.as_duration().as_secs_f64(),
            at: Instant::now(),
        })
    }

    fn stolen_since(self, before: Machine) -> f64 {
        let total = self.total.saturating_sub(before.total);
        if total == 0 { 0.0 } else { self.stolen.saturating_sub(before.stolen) as f64 / total as f64 }
    }

    fn others_since(self, before: Machine) -> f64 {
        let busy_s = (self.programs_s - before.programs_s) - (self.own_s - before.own_s);
        busy_s.max(0.0) / self.at.duration_since(before.at).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_ran_short_of_memory_for_tcp_is_noticed() {
        let counters = |name: &str, times| BTreeMap::from([("TCPAutoCorking".to_owned(), 7), (name.to_owned(), times)]);
        assert!(was_short_of_memory(&counters("TCPMemoryPressures", 1)));
        assert!(!was_short_of_memory(&counters("TCPMemoryPressures", 0)));
        assert!(!was_short_of_memory(&counters("TCPMinTTLDrop", 1)));
    }

    fn scenario(rtt: &str) -> Scenario {
        let text =
            format!("duration = \"1s\"\npath = {{ rate = \"1mbit\", rtt = \"{rtt}\" }}\nflows = [{{ cc = \"reno\" }}]");
        let experiment = dumbbell_scenario::Experiment::from_toml(&text, "test.toml", &[]).unwrap();
        Scenario::clone(&experiment.points()[0].scenario())
    }

    /// Of a run in which nothing went wrong.
    fn certificate() -> Certificate {
        Certificate {
            void: Vec::new(),
            late_p50_us: 1.0,
            late_p99_us: 10.0,
            late_p999_us: 1_000.0,
            late_max_us: 9_000.0,
            app_late_p50_us: 1.0,
            app_late_p99_us: 1_000.0,
            stalls: 1,
            local_drops: Some(0),
            emulator_cpu: 0.5,
            stolen_cpu: Some(0.0),
            other_cpu: None,
            had_priority: true,
            kernel: release(),
            hz: 1_000,
            cpu: cpu_model(),
            cores: 2,
            sysctls: BTreeMap::new(),
            flows: Vec::new(),
            sender_counters: BTreeMap::new(),
            receiver_counters: BTreeMap::new(),
        }
    }

    /// Why a run is void on a path of this round trip, with a delivery so late in the measured interval.
    fn void(mut certificate: Certificate, rtt: &str, stall: Duration) -> Vec<String> {
        let mut lateness = Lateness::default();
        lateness.add(stall, true);
        lateness.add(Duration::from_secs(1), false);
        certificate.judge(&scenario(rtt), &lateness);
        certificate.void
    }

    const SHORT: Duration = Duration::from_millis(10);

    #[test]
    fn a_run_within_all_bounds_holds() {
        assert!(void(certificate(), "10ms", SHORT).is_empty());
        // A fortieth of a long round trip is more than a millisecond.
        let late = Certificate { late_p999_us: 2_500.0, app_late_p99_us: 2_500.0, ..certificate() };
        assert!(void(late.clone(), "100ms", SHORT).is_empty());
        assert_eq!(void(late, "99ms", SHORT).len(), 2);
    }

    #[test]
    fn a_run_is_void_for_each_of_what_may_not_be() {
        let pressed = || BTreeMap::from([("TCPMemoryPressures".to_owned(), 1)]);
        for (certificate, why) in [
            (Certificate { local_drops: Some(3), ..certificate() }, "3 packets were dropped outside"),
            (Certificate { local_drops: None, ..certificate() }, "nobody can tell"),
            (Certificate { sender_counters: pressed(), ..certificate() }, "short of memory"),
            (Certificate { receiver_counters: pressed(), ..certificate() }, "short of memory"),
            (
                Certificate { late_p999_us: 1_001.0, ..certificate() },
                "one delivery in a thousand was more than 1001 us",
            ),
            (Certificate { app_late_p99_us: 1_001.0, ..certificate() }, "an application was more than 1001 us late"),
        ] {
            let said = void(certificate, "10ms", SHORT);
            assert!(said.len() == 1 && said[0].contains(why), "{why}: {said:?}");
        }
        let said = void(certificate(), "10ms", Duration::from_micros(10_100));
        assert!(said.len() == 1 && said[0].contains("stalled for 10.1 ms"), "{said:?}");
    }

    #[test]
    fn a_machine_is_judged_by_what_it_did_between_two_looks() {
        let at = Instant::now();
        let before = Machine { stolen: 100, total: 1_000, programs_s: 50.0, own_s: 10.0, at };
        let later = at + std::time::Duration::from_secs(4);
        let after = Machine { stolen: 150, total: 1_200, programs_s: 56.0, own_s: 12.0, at: later };
        assert_eq!(after.stolen_since(before), 0.25);
        // Six seconds of all programs, two of them our own, in four.
        assert_eq!(after.others_since(before), 1.0);
        let alone = Machine { programs_s: 51.0, ..after };
        assert_eq!((alone.others_since(before), Machine { at: later, ..before }.stolen_since(before)), (0.0, 0.0));
        let now = Machine::now().unwrap();
        assert!(now.total > now.stolen && now.programs_s > 0.0 && now.own_s > 0.0 && !cpu_model().is_empty());
    }
}
