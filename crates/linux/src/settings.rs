//! What `transport` says, as the running kernel wants it, and what no kernel can do.
//!
//! Parameters that the kernel has as sysctls of a namespace are set whether they were given or not, so that a machine's
//! own settings do not leak in. Every other parameter that does not have its default value is refused by its name.

use crate::clock::hz;
use crate::kernel::version;
use crate::{FlowFault, RunError};
use dumbbell_scenario::{Flow, Scenario};
use dumbbell_transport::{EcnUse, LossDetection, Protocol, SendBufferSize, TransportConfig, receivers_of_linux};
use serde_json::{Map, Value};
use std::fs;

/// More flows than this share no core in a way that measures anything.
pub const MAX_FLOWS: usize = 256;
/// More flows of programs than this, each with four threads and two hosts, leave none the time to run.
pub const MAX_PROGRAMS: usize = 16;
/// A namespace's buffers where the file says nothing: ample for every path that this ground can carry.
const AMPLE: u64 = 128 << 20;

/// What both hosts are set to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Longest IP packet.
    pub mtu: u32,
    /// Initial window in segments.
    pub initial_cwnd: u32,
    /// `TCP_NODELAY` of every flow's socket.
    pub nodelay: bool,
    /// Sysctls of the namespace, below `/proc/sys`, in the order in which they are set.
    pub sysctls: Vec<Sysctl>,
}

/// A sysctl and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// With points or slashes: `net.ipv4.tcp_sack`.
    pub name: String,
    /// As it is written.
    pub value: String,
    /// Who wants it so: a parameter's name. A kernel that lacks the sysctl is an error only where this is known.
    wanted_by: Option<String>,
}

impl Sysctl {
    /// A sysctl that somebody asked for by its name.
    pub fn given(name: &str, value: &str) -> Sysctl {
        Sysctl { name: name.to_owned(), value: value.to_owned(), wanted_by: Some(name.to_owned()) }
    }

    fn path(&self) -> String {
        format!("/proc/sys/{}", self.name.replace('.', "/"))
    }
}

impl Settings {
    /// The settings for a scenario. `extra` come last and win.
    pub fn new(scenario: &Scenario, extra: &[Sysctl]) -> Result<Settings, RunError> {
        if let Some(traffic) = scenario.traffic.first() {
            return Err(RunError::Traffic(traffic.flow().label.to_string()));
        }
        if scenario.flows.is_empty() {
            return Err(RunError::NoFlows);
        }
        if scenario.flows.len() > MAX_FLOWS {
            return Err(RunError::TooManyFlows(scenario.flows.len()));
        }
        let programs = scenario.flows.iter().filter(|flow| flow.program.is_some()).count();
        if programs > MAX_PROGRAMS {
            return Err(RunError::TooManyPrograms(programs));
        }
        for (flow, spec) in scenario.flows.iter().enumerate() {
            if is_in_kernel(spec) {
                if spec.cc.entry().origin().is_some() {
                    return Err(FlowFault::OwnAlgorithm.of(flow, spec.cc.name()));
                }
                if let Some(key) = spec.cc.changed().keys().next() {
                    return Err(FlowFault::Parameter(key.clone()).of(flow, spec.cc.name()));
                }
                refuse_foreign(flow, spec.cc.name(), &spec.transport)?;
            } else if spec.transport.ecn.is_on() {
                return Err(FlowFault::Transport("ecn".to_owned()).of(flow, spec.cc.name()));
            }
            if spec.read_schedule.is_some() {
                return Err(FlowFault::SlowReader.of(flow, spec.cc.name()));
            }
            if spec.streams.is_some() {
                return Err(FlowFault::Streams.of(flow, spec.cc.name()));
            }
            if spec.app_schedule.is_some() {
                return Err(FlowFault::ChangingRate.of(flow, spec.cc.name()));
            }
        }
        let mut of_kernel = scenario.flows.iter().enumerate().filter(|(_, spec)| is_in_kernel(spec));
        let plain = TransportConfig::default();
        let config = of_kernel.next().map_or(&plain, |(_, first)| &first.transport);
        for (flow, spec) in of_kernel {
            if let Some((key, _)) = differing(config, &spec.transport).into_iter().next() {
                return Err(FlowFault::DifferentTransport(key).of(flow, spec.cc.name()));
            }
        }
        if let Some(stray) = extra.iter().find(|sysctl| !sysctl.name.starts_with("net.")) {
            return Err(RunError::Sysctl(format!(
                "{}: only sysctls of a network namespace, net.*, can be set",
                stray.name
            )));
        }
        let longest = scenario.flows.iter().map(|flow| flow.transport.mss + flow.transport.header_bytes()).max();
        let mut sysctls = of_transport(config);
        sysctls.extend_from_slice(extra);
        Ok(Settings {
            mtu: longest.unwrap_or_default(),
            initial_cwnd: config.initial_cwnd,
            nodelay: config.nodelay,
            sysctls,
        })
    }

    /// Sets the calling thread's namespace.
    pub fn apply(&self) -> Result<(), RunError> {
        for sysctl in &self.sysctls {
            let written = fs::write(sysctl.path(), &sysctl.value);
            if let (Err(error), Some(key)) = (written, &sysctl.wanted_by) {
                let Sysctl { name, value, .. } = sysctl;
                return Err(RunError::Sysctl(format!("`{key}`: the kernel does not take {name} = {value}: {error}")));
            }
        }
        Ok(())
    }
}

/// Whether the kernel has the ends of a flow; otherwise they are a library's, in this process.
fn is_in_kernel(flow: &Flow) -> bool {
    !matches!(flow.transport.protocol, Protocol::Library(_))
}

/// The parameters of `transport` that a kernel can follow, beside sysctls.
const FOLLOWED: &[&str] = &[
    "protocol",
    "mss",
    "initial_cwnd",
    "receive_window",
    "receive_autotuning",
    "right_sizing",
    "compress_sacks_delay",
    "send_buffer",
    "send_buffer_initial",
    "send_buffer_max",
    "nodelay",
    "hz",
];

/// The sysctls that follow from `transport`.
fn of_transport(config: &TransportConfig) -> Vec<Sysctl> {
    let plain = TransportConfig::default();
    let mut sysctls = Vec::new();
    let mut always = |name: &str, value: String| {
        sysctls.push(Sysctl { name: format!("net.{name}"), value, wanted_by: None });
    };
    // Nothing of one run may help the next, and nothing but the flows' packets may travel.
    always("ipv4.tcp_no_metrics_save", "1".to_owned());
    always("ipv6.conf.all.disable_ipv6", "1".to_owned());
    always("ipv6.conf.default.disable_ipv6", "1".to_owned());
    always("ipv4.tcp_moderate_rcvbuf", "1".to_owned());
    let [initial, most] = match config.send_buffer {
        SendBufferSize::Unlimited => [87_380, AMPLE],
        SendBufferSize::Autotuning => [config.send_buffer_initial, config.send_buffer_max],
        SendBufferSize::Fixed(asked) => [asked.as_u64().saturating_mul(2); 2],
    };
    always("ipv4.tcp_wmem", format!("4096 {initial} {most}"));
    let receive = if config.receive_window == plain.receive_window { AMPLE } else { config.receive_buffer() };
    always("ipv4.tcp_rmem", format!("4096 {} {receive}", receive.min(131_072)));
    let changed = differing(&plain, config);
    for (key, name, value) in sysctls_of(config) {
        let is_changed = changed.iter().any(|(changed, _)| changed == key);
        let wanted_by = is_changed.then(|| format!("transport.{key}"));
        sysctls.push(Sysctl { name: format!("net.ipv4.{name}"), value, wanted_by });
    }
    sysctls
}

/// Each parameter that is a sysctl of TCP, with its name there and its value.
fn sysctls_of(config: &TransportConfig) -> Vec<(&'static str, &'static str, String)> {
    let switch = |on: bool| u8::from(on).to_string();
    let ecn = match config.ecn {
        EcnUse::Off => "0",
        EcnUse::Classic => "1",
        EcnUse::Accurate => "3",
    };
    vec![
        ("sack", "tcp_sack", switch(config.sack)),
        ("dsack", "tcp_dsack", switch(config.dsack)),
        ("ecn", "tcp_ecn", ecn.to_owned()),
        ("timestamps", "tcp_timestamps", switch(config.timestamps)),
        ("rto_min", "tcp_rto_min_us", config.rto_min.as_micros().to_string()),
        ("rto_max", "tcp_rto_max_ms", (config.rto_max.as_micros() / 1_000).to_string()),
        ("reordering", "tcp_reordering", config.reordering.to_string()),
        ("max_reordering", "tcp_max_reordering", config.max_reordering.to_string()),
        ("tail_loss_probe", "tcp_early_retrans", (if config.tail_loss_probe { "3" } else { "0" }).to_owned()),
        ("frto", "tcp_frto", (if config.frto { "2" } else { "0" }).to_owned()),
        ("loss_detection", "tcp_recovery", switch(config.loss_detection == LossDetection::Rack)),
        ("slow_start_after_idle", "tcp_slow_start_after_idle", switch(config.slow_start_after_idle)),
        ("tso_rtt_log", "tcp_tso_rtt_log", config.tso_rtt_log.to_string()),
        ("tso_win_divisor", "tcp_tso_win_divisor", config.tso_win_divisor.to_string()),
        ("limit_output_bytes", "tcp_limit_output_bytes", config.limit_output_bytes.to_string()),
        ("pacing_ss_ratio", "tcp_pacing_ss_ratio", config.pacing_ss_ratio.to_string()),
        ("pacing_ca_ratio", "tcp_pacing_ca_ratio", config.pacing_ca_ratio.to_string()),
        ("compress_sacks", "tcp_comp_sack_nr", (if config.compress_sacks { "44" } else { "0" }).to_owned()),
    ]
}

/// Refuses what no setting of the kernel expresses.
fn refuse_foreign(flow: usize, cc: &str, config: &TransportConfig) -> Result<(), RunError> {
    if !config.protocol.is_tcp() {
        return Err(FlowFault::NotTcp.of(flow, cc));
    }
    let plain = TransportConfig::default();
    let running = hz();
    if config.hz != plain.hz && u64::from(config.hz) != running {
        return Err(FlowFault::Hz { asked: config.hz, running }.of(flow, cc));
    }
    if config.loss_detection != LossDetection::Rack && has_rack_alone(version()) {
        return Err(FlowFault::LossDetection.of(flow, cc));
    }
    if let Some((key, asked)) = other_receivers(config, version()) {
        return Err(FlowFault::ReceiverRule { key, asked }.of(flow, cc));
    }
    let known = sysctls_of(config);
    let is_followed = |key: &str| FOLLOWED.contains(&key) || known.iter().any(|(sysctl, ..)| *sysctl == key);
    // TCP does not look at the parameters of QUIC-like endpoints.
    let foreign = differing(&plain, config).into_iter().find(|(key, _)| key != "quic" && !is_followed(key));
    foreign.map_or(Ok(()), |(key, _)| Err(FlowFault::Transport(key).of(flow, cc)))
}

/// A rule of receivers that was asked for, and is not that of this kernel.
fn other_receivers(config: &TransportConfig, version: Option<(u32, u32)>) -> Option<(&'static str, String)> {
    let asked = differing(&TransportConfig::default(), config);
    let of_kernel = receivers_of_linux(version.unwrap_or((u32::MAX, 0)));
    of_kernel.into_iter().find_map(|(key, value)| {
        let asked = asked.iter().find(|(changed, asked)| changed == key && *asked != value)?;
        Some((key, asked.1.to_string()))
    })
}

/// Whether this kernel takes `tcp_recovery = 0` and detects losses by RACK all the same.
fn has_rack_alone(version: Option<(u32, u32)>) -> bool {
    version.is_some_and(|version| version >= (6, 17))
}

/// The parameters in which another configuration differs, with its values.
fn differing(one: &TransportConfig, other: &TransportConfig) -> Vec<(String, Value)> {
    let fields = |config| match serde_json::to_value(config) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (one, other) = (fields(one), fields(other));
    other.into_iter().filter(|(key, value)| one.get(key) != Some(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_scenario::Experiment;
    use dumbbell_transport::{CompressionDelay, RightSizingRule};

    fn settings(flows: &str) -> Result<Settings, String> {
        let text = format!("duration = \"1s\"\npath = {{ rate = \"1mbit\", rtt = \"10ms\" }}\nflows = [{flows}]");
        let scenario = Experiment::from_toml(&text, "test.toml", &[]).unwrap().points()[0].scenario();
        Settings::new(&scenario, &[]).map_err(|error| error.to_string())
    }

    fn value<'s>(settings: &'s Settings, name: &str) -> &'s str {
        &settings.sysctls.iter().rfind(|sysctl| sysctl.name == name).unwrap().value
    }

    #[test]
    fn parameters_of_the_kernel_become_sysctls() {
        let settings =
            settings(r#"{ cc = "reno", transport = { sack = false, rto_min = "50ms", mss = 1000 } }"#).unwrap();
        assert_eq!(value(&settings, "net.ipv4.tcp_sack"), "0");
        assert_eq!(value(&settings, "net.ipv4.tcp_rto_min_us"), "50000");
        assert_eq!(settings.mtu, 1052);
        let settings = self::settings(r#"{ cc = "reno", transport = { receive_window = "64kB" } }"#).unwrap();
        assert_eq!(value(&settings, "net.ipv4.tcp_rmem"), "4096 102400 102400", "62.5 % of it are payload");
        let settings = self::settings(r#"{ cc = "reno", transport = { timestamps = false } }"#).unwrap();
        assert_eq!((value(&settings, "net.ipv4.tcp_timestamps"), settings.mtu), ("0", 1500));
        assert!(
            !settings.nodelay && self::settings(r#"{ cc = "reno", transport = { nodelay = true } }"#).unwrap().nodelay
        );
    }

    #[test]
    fn what_no_kernel_can_do_is_refused_by_its_key() {
        let cases = [
            (r#"{ cc = "reno", transport = "quic" }"#, "`transport`"),
            (r#"{ cc = "reno", transport = { ack_every = 4 } }"#, "`transport.ack_every`"),
            (r#"{ cc = "bbr", transport = { hz = 77 } }"#, "`transport.hz`"),
            (r#"{ cc = { name = "cubic", beta = 0.8 } }"#, "`cc.beta`"),
            (r#"{ cc = "cubic", rate = [["0s", "1mbit"], ["500ms", "2mbit"]] }"#, "`rate`"),
            (r#"{ cc = "reno" }, { cc = "reno", transport = { sack = false } }"#, "`transport.sack`"),
        ];
        for (flows, key) in cases {
            let message = settings(flows).unwrap_err();
            assert!(message.contains(key) && message.contains("flow "), "{message}");
        }
    }

    #[test]
    fn programs_take_the_settings_of_hosts_and_are_bounded() {
        let program = r#"{ program = { server = "serve {port}", client = "fetch {server}" }, count = N }"#;
        let of = |count: usize| settings(&program.replace('N', &count.to_string()));
        assert_eq!(of(MAX_PROGRAMS).unwrap().mtu, 1500);
        let message = of(MAX_PROGRAMS + 1).unwrap_err();
        assert!(message.contains("17 flows of programs") && message.contains("at most 16"), "{message}");
    }

    #[test]
    fn the_receivers_of_another_kernel_are_refused() {
        let config = |right_sizing, compress_sacks_delay| TransportConfig {
            right_sizing,
            compress_sacks_delay,
            ..TransportConfig::default()
        };
        let (plain, old) = (
            (RightSizingRule::Linux, CompressionDelay::Linux),
            (RightSizingRule::Linux612, CompressionDelay::Linux618),
        );
        let versions = [Some((6, 12)), Some((6, 15)), Some((6, 16)), Some((6, 18)), Some((6, 19)), Some((7, 2)), None];
        let refused = |(right_sizing, delay)| {
            versions.map(|version| other_receivers(&config(right_sizing, delay), version).map(|(key, _)| key))
        };
        assert_eq!(refused(plain), [None; 7], "the default is the kernel's, whatever it is");
        let sizing = Some("right_sizing");
        assert_eq!(refused(old), [None, None, sizing, sizing, sizing, sizing, sizing]);
        let delay = Some("compress_sacks_delay");
        assert_eq!(refused((plain.0, old.1)), [None, None, None, None, delay, delay, delay]);
        let asked = settings(r#"{ cc = "reno", transport = { right_sizing = "linux-6.12" } }"#);
        if version().is_none_or(|version| version >= (6, 16)) {
            let message = asked.unwrap_err();
            assert!(message.contains("`transport.right_sizing` is \"linux-6.12\""), "{message}");
        } else {
            asked.unwrap();
        }
    }

    #[test]
    fn another_loss_detection_is_refused_where_the_kernel_has_rack_alone() {
        let (old, new) = (Some((6, 16)), Some((6, 17)));
        assert_eq!([old, new, None].map(has_rack_alone), [false, true, false]);
        let asked = settings(r#"{ cc = "reno", transport = { loss_detection = "dupthresh" } }"#);
        if has_rack_alone(version()) {
            assert!(asked.unwrap_err().contains("`transport.loss_detection`"));
        } else {
            assert_eq!(value(&asked.unwrap(), "net.ipv4.tcp_recovery"), "0");
        }
    }

    #[test]
    fn only_sysctls_of_a_namespace_can_be_given() {
        let text = "duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"10ms\" }\nflows = [{ cc = \"reno\" }]";
        let scenario = Experiment::from_toml(text, "test.toml", &[]).unwrap().points()[0].scenario();
        let message = Settings::new(&scenario, &[Sysctl::given("kernel.hostname", "x")]).unwrap_err().to_string();
        assert!(message.contains("kernel.hostname"), "{message}");
        let given = Settings::new(&scenario, &[Sysctl::given("net.ipv4.tcp_sack", "0")]).unwrap();
        assert_eq!(value(&given, "net.ipv4.tcp_sack"), "0", "what is given comes last and wins");
    }
}
