//! What a script's commands and options set: kernel parameters become those of the endpoints.

use crate::script::{Arg, Direction, Script};
use dumbbell_transport::{Pacing, SendBufferSize, TransportConfig};
use dumbbell_units::{Bytes, Duration};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Segments that a script's peer sends are at most this long: an Ethernet frame without options.
const LARGEST_SEGMENT: u32 = 1460;

/// What holds for the connections of a script.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Parameters of the endpoints.
    pub config: TransportConfig,
    /// Name of the controller.
    pub congestion_control: String,
    /// Parameters of CUBIC (`/sys/module/tcp_cubic/parameters`).
    pub cubic: Map<String, Value>,
    /// `tcp_timestamps`.
    pub timestamps: bool,
    /// `tcp_ecn`: 0 never, 1 asks for it, 2 accepts it; 3 asks for and accepts accurate ECN, 4 accepts it and asks for
    /// the classic one, 5 only accepts it.
    pub ecn: i64,
    /// `tcp_ecn_option`: whether packets carry AccECN's counters of bytes.
    pub ecn_option: bool,
    /// `tcp_ecn_fallback`: ECN is given up where the path changes its bits.
    pub ecn_fallback: bool,
    /// `tcp_invalid_ratelimit`: least time between two ACKs that answer what is not acceptable.
    pub invalid_ratelimit: Duration,
    /// `tcp_min_tso_segs`: segments of a burst at least.
    pub smallest_burst: u32,
    /// `tcp_rmem`.
    pub receive_memory: [u64; 3],
    /// `tcp_shrink_window`: windows that were told may be taken back.
    pub may_shrink: bool,
    /// `tcp_fastopen` lets every listener offer it.
    pub always_fast_open: bool,
    /// The queue of the device has no room.
    pub device_is_full: bool,
    /// `tcp_window_scaling`.
    pub window_scaling: bool,
    /// `tcp_syn_linear_timeouts`: repetitions of a SYN before the time between them doubles.
    pub linear_syn_timeouts: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            config: TransportConfig::default(),
            congestion_control: "cubic".to_owned(),
            cubic: Map::new(),
            timestamps: true,
            ecn: 2,
            ecn_option: true,
            ecn_fallback: true,
            invalid_ratelimit: Duration::from_millis(500),
            smallest_burst: 2,
            receive_memory: [4096, 131_072, 33_554_432],
            may_shrink: false,
            always_fast_open: false,
            device_is_full: false,
            window_scaling: true,
            linear_syn_timeouts: 4,
        }
    }
}

impl Settings {
    /// A command of the script, which stands in `folder`; the reason if it asks for what is not modelled. Of a shell
    /// file the commands in it are run.
    pub fn run(&mut self, command: &str, folder: &Path) -> Result<(), String> {
        let lines = command.replace("\\\n", " ");
        let lines = lines.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        lines.flat_map(|line| line.split(';').flat_map(|part| part.split("&&"))).try_for_each(|part| {
            let part = part.split(" #").next().unwrap_or_default();
            let part = part.split("2>&1").next().unwrap_or_default().trim();
            self.run_one(part.trim_end_matches("> /dev/null").trim(), folder)
        })
    }

    fn run_one(&mut self, command: &str, folder: &Path) -> Result<(), String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let Some((&program, args)) = words.split_first() else { return Ok(()) };
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            // Files for the application to send.
            "true" | "sync" | "rm" | "dd" | "fallocate" | "truncate" => Ok(()),
            // Which segments share a buffer is not judged.
            "ethtool" if args.first() == Some(&"-K") => Ok(()),
            "sysctl" | "set_sysctls.py" => self.sysctls(&args.join(" ")),
            "echo" => match command.split_once('>') {
                Some((value, file)) => {
                    let value = value.trim_start_matches("echo").trim().trim_matches(['"', '\'']);
                    self.sysctl(file.trim(), value)
                }
                None => Ok(()),
            },
            "ip" if args.first() == Some(&"tcp_metrics") => Ok(()),
            "ip" if args.contains(&"route") => self.route(args),
            "tc" if args.contains(&"fq") => {
                self.config.pacing = Pacing::On;
                Ok(())
            }
            "tc" if args.contains(&"limit") && !args.ends_with(&["limit", "0"]) => {
                Err(format!("the command `{command}`"))
            }
            "tc" if args.iter().any(|arg| QUEUES.contains(arg)) => {
                self.device_is_full = args.contains(&"limit");
                Ok(())
            }
            // It restores what another command changed, behind the script.
            _ if name.starts_with("sysctl_restore_") => Ok(()),
            _ if name.ends_with(".sh") => match std::fs::read_to_string(folder.join(program)) {
                Ok(text) => self.run(&text, folder),
                Err(error) => Err(format!("the command `{command}` ({error})")),
            },
            _ => Err(format!("the command `{command}`")),
        }
    }

    /// `a=1 b=2`, also with blanks around the sign and with flags between.
    fn sysctls(&mut self, text: &str) -> Result<(), String> {
        let text = text.replace(" =", "=").replace("= ", "=");
        let mut assignment: Option<(String, String)> = None;
        for word in text.split(' ').filter(|word| !word.is_empty() && !word.starts_with('-')) {
            match word.split_once('=') {
                Some((key, value)) => {
                    if let Some((key, value)) = assignment.replace((key.to_owned(), value.to_owned())) {
                        self.sysctl(&key, &value)?;
                    }
                }
                // A value of several words.
                None => {
                    if let Some((_, value)) = &mut assignment {
                        value.push(' ');
                        value.push_str(word);
                    }
                }
            }
        }
        assignment.map_or(Ok(()), |(key, value)| self.sysctl(&key, &value))
    }

    #[expect(clippy::too_many_lines, reason = "a table with one row for each kernel parameter")]
    fn sysctl(&mut self, key: &str, value: &str) -> Result<(), String> {
        let value = value.trim().trim_matches(['"', '\'']);
        if let Some(parameter) = key.strip_prefix("/sys/module/tcp_cubic/parameters/") {
            return self.cubic_parameter(parameter, value);
        }
        let key = key.trim_matches(['"', '\'']).trim_start_matches("/proc/sys/").replace('/', ".");
        let Some(name) = key.strip_prefix("net.ipv4.") else {
            // What other protocols do.
            return if ["net.core.", "net.mptcp."].iter().any(|other| key.starts_with(other)) {
                Ok(())
            } else {
                Err(format!("`{key}`"))
            };
        };
        let refuse = || Err(format!("{name} = {value}"));
        let number = value.parse::<i64>().ok();
        let small = number.and_then(|number| u32::try_from(number).ok());
        let config = &mut self.config;
        match (name, number, small) {
            ("tcp_sack", Some(number), _) => config.sack = number != 0,
            ("tcp_dsack", Some(number), _) => config.dsack = number != 0,
            ("tcp_timestamps", Some(number), _) => self.timestamps = number != 0,
            ("tcp_window_scaling", Some(number), _) => self.window_scaling = number != 0,
            ("tcp_ecn", Some(number @ 0..=5), _) => self.ecn = number,
            // 1 sends the option sparingly, and 2 wherever it has room.
            ("tcp_ecn_option", Some(number @ (0 | 2)), _) => self.ecn_option = number != 0,
            ("tcp_ecn_fallback", Some(number), _) => self.ecn_fallback = number != 0,
            ("tcp_invalid_ratelimit", _, Some(number)) => {
                self.invalid_ratelimit = Duration::from_millis(u64::from(number));
            }
            ("tcp_ecn_option_beacon", ..) => {}
            ("tcp_frto", Some(number), _) => config.frto = number != 0,
            ("tcp_early_retrans", Some(number), _) => config.tail_loss_probe = number >= 3,
            ("tcp_recovery", Some(1), _) => {}
            ("tcp_reordering", _, Some(number)) => config.reordering = number,
            ("tcp_max_reordering", _, Some(number)) => config.max_reordering = number,
            ("tcp_slow_start_after_idle", Some(number), _) => config.slow_start_after_idle = number != 0,
            ("tcp_tso_win_divisor", _, Some(number)) => config.tso_win_divisor = number,
            ("tcp_tso_rtt_log", _, Some(number)) => config.tso_rtt_log = number,
            ("tcp_min_tso_segs", _, Some(number)) => self.smallest_burst = number,
            ("tcp_limit_output_bytes", _, Some(number)) => config.limit_output_bytes = u64::from(number),
            ("tcp_pacing_ss_ratio", _, Some(number)) => config.pacing_ss_ratio = number,
            ("tcp_pacing_ca_ratio", _, Some(number)) => config.pacing_ca_ratio = number,
            ("tcp_rto_min_us", _, Some(number)) => config.rto_min = Duration::from_micros(u64::from(number)),
            ("tcp_rto_max_ms", _, Some(number)) => config.rto_max = Duration::from_millis(u64::from(number)),
            ("tcp_comp_sack_nr" | "tcp_comp_sack_delay_ns", Some(0), _) => {
                config.compress_sacks = false;
            }
            ("tcp_syn_linear_timeouts", _, Some(number)) => self.linear_syn_timeouts = number,
            ("tcp_wmem", ..) => return self.send_buffer(value),
            ("tcp_rmem", ..) => return self.receive_memory(value),
            ("tcp_shrink_window", Some(number @ (0 | 1)), _) => self.may_shrink = number == 1,
            ("tcp_fastopen", ..) => {
                self.always_fast_open = flags(value).is_none_or(|flags| flags & FAST_OPEN_ALWAYS != 0)
            }
            ("tcp_congestion_control", ..) => self.congestion_control = value.to_owned(),
            (
                "tcp_no_metrics_save"
                | "tcp_autocorking"
                | "tcp_fastopen_key"
                | "tcp_moderate_rcvbuf"
                | "tcp_adv_win_scale"
                | "tcp_app_win"
                | "tcp_mem"
                | "tcp_syncookies"
                | "tcp_syn_retries"
                | "tcp_synack_retries"
                | "tcp_retries1"
                | "tcp_retries2"
                | "tcp_challenge_ack_limit"
                | "tcp_notsent_lowat"
                | "tcp_fin_timeout"
                | "tcp_tw_reuse"
                | "tcp_max_syn_backlog"
                | "tcp_keepalive_time"
                | "tcp_keepalive_intvl"
                | "tcp_keepalive_probes"
                | "ip_local_port_range"
                | "tcp_backlog_ack_defer"
                | "tcp_reflect_tos"
                | "tcp_fack"
                | "tcp_abort_on_overflow"
                | "tcp_orphan_retries"
                | "tcp_rfc1337"
                | "tcp_l3mdev_accept"
                | "tcp_early_demux"
                | "ip_early_demux",
                ..,
            ) => {}
            (
                "tcp_mtu_probing"
                | "tcp_thin_linear_timeouts"
                | "tcp_plb_enabled"
                | "tcp_workaround_signed_windows"
                | "ip_no_pmtu_disc"
                | "tcp_base_mss",
                Some(0),
                _,
            ) => {}
            _ => return refuse(),
        }
        Ok(())
    }

    /// `tcp_rmem`: three sizes in bytes.
    fn receive_memory(&mut self, value: &str) -> Result<(), String> {
        let sizes: Vec<u64> = value.split_whitespace().map_while(product).collect();
        self.receive_memory = sizes.try_into().map_err(|_| format!("tcp_rmem = {value}"))?;
        Ok(())
    }

    /// `tcp_wmem`: three sizes in bytes, of which the first one has no meaning here.
    fn send_buffer(&mut self, value: &str) -> Result<(), String> {
        let sizes: Vec<u64> = value.split_whitespace().map_while(product).collect();
        let [_, initial, largest] = sizes[..] else { return Err(format!("tcp_wmem = {value}")) };
        // A size that the application has chosen stays (`SOCK_SNDBUF_LOCK`).
        if self.config.send_buffer == SendBufferSize::Unlimited {
            self.config.send_buffer = SendBufferSize::Autotuning;
        }
        self.config.send_buffer_initial = initial;
        self.config.send_buffer_max = largest;
        Ok(())
    }

    fn cubic_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        let value = match (name, value) {
            ("hystart_detect", "1") => json!("train"),
            ("hystart_detect", "2") => json!("delay"),
            ("hystart_detect", "3") => json!("both"),
            ("hystart" | "fast_convergence" | "tcp_friendliness", "0" | "1") => json!(value == "1"),
            _ => return Err(format!("tcp_cubic's {name} = {value}")),
        };
        self.cubic.insert(name.to_owned(), value);
        Ok(())
    }

    fn route(&mut self, args: &[&str]) -> Result<(), String> {
        for pair in args.windows(2) {
            match (pair[0], pair[1].parse::<u32>()) {
                ("initcwnd", Ok(cwnd)) => self.config.initial_cwnd = cwnd,
                ("initcwnd", Err(_)) => return Err(format!("`initcwnd {}`", pair[1])),
                ("rto_min" | "mtu" | "quickack" | "congctl" | "advmss" | "reordering" | "features" | "window", _) => {
                    return Err(format!("`{}` of a route", pair[0]));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What socket options of the script choose at any time, and endpoints have from their beginning: the controller,
    /// and the send buffer that a writer waits for. The results of other writers say what there was room for.
    pub fn choose(&mut self, script: &Script) {
        if let Some(name) = script.options_set("TCP_CONGESTION").find_map(Arg::text) {
            self.congestion_control = name.to_owned();
        }
        let size = script.options_set("SO_SNDBUF").find_map(Arg::int).and_then(|bytes| u64::try_from(bytes).ok());
        if let Some(bytes) = size.filter(|_| script.has_blocking_write()) {
            self.config.send_buffer = SendBufferSize::Fixed(Bytes::new(bytes));
        }
    }
}

/// Queues of a device that keep what comes in its order, and what takes one away.
const QUEUES: [&str; 6] = ["pfifo", "pfifo_fast", "bfifo", "noqueue", "del", "delete"];
/// Every listener offers Fast Open, one way or another (`TFO_SERVER_WO_SOCKOPT1`, `TFO_SERVER_COOKIE_NOT_REQD`).
const FAST_OPEN_ALWAYS: u64 = 0x600;

/// Payload bytes of a full segment of the script's peer: of its longest packet that fits a frame.
pub fn peer_segment(script: &Script) -> u32 {
    let lengths = script.packets(Direction::Inbound).map(|packet| packet.len);
    lengths.filter(|&len| len <= LARGEST_SEGMENT).max().filter(|&len| len > 0).unwrap_or(1000)
}

/// A number, or a product as shells compute it: `$((256*1024))`.
fn product(text: &str) -> Option<u64> {
    let factors = text.strip_prefix("$((").and_then(|text| text.strip_suffix("))")).unwrap_or(text);
    factors.split('*').try_fold(1u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}

/// Bits of a number, also one that is written in hexadecimal.
fn flags(text: &str) -> Option<u64> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_parameters_are_set_in_every_way_that_scripts_use() {
        for command in [
            "sysctl -q net.ipv4.tcp_sack=0",
            "sysctl -q -w net.ipv4.tcp_sack = 0",
            "../../common/set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0",
            "echo 0 > /proc/sys/net/ipv4/tcp_sack; true",
        ] {
            let mut settings = Settings::default();
            settings.run(command, Path::new(".")).unwrap();
            assert!(!settings.config.sack, "{command}");
        }
    }

    #[test]
    fn what_is_not_modelled_is_named() {
        let mut settings = Settings::default();
        assert_eq!(
            settings.run("sysctl -w net.ipv4.tcp_mtu_probing=2", Path::new(".")).unwrap_err(),
            "tcp_mtu_probing = 2"
        );
        assert_eq!(settings.run("modprobe x", Path::new(".")).unwrap_err(), "the command `modprobe x`");
    }

    #[test]
    fn values_of_several_words_belong_to_one_parameter() {
        let mut settings = Settings::default();
        let command = "sysctl -q net.ipv4.tcp_wmem=\"4096 $((256*1024)) 4194304\" net.ipv4.tcp_ecn=1";
        settings.run(command, Path::new(".")).unwrap();
        assert_eq!((settings.config.send_buffer_initial, settings.config.send_buffer_max), (262_144, 4_194_304));
        assert_eq!(settings.ecn, 1);
    }
}
