//! The transports that are told of.

/// Controllers and options of TCP.
pub fn tcp() -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("bbr", "{}"), ("dctcp", "{}"), ("prague", "{}"), ("bbr3", r#"{"ecn": true}"#)];
    all.extend(TCP.map(|json| ("cubic", json)));
    all.extend([("bbr", r#"{"completion": "wire"}"#), ("bbr", r#"{"hz": 250, "tso_rtt_log": 0}"#)]);
    all
}

const TCP: [&str; 42] = [
    "{}",
    r#"{"ecn": true}"#,
    r#"{"ecn": "accurate"}"#,
    r#"{"ecn": "accurate", "timestamps": false}"#,
    r#"{"sack": false}"#,
    r#"{"sack": false, "timestamps": false}"#,
    r#"{"dsack": false}"#,
    r#"{"timestamps": false}"#,
    r#"{"loss_detection": "dupthresh"}"#,
    r#"{"loss_detection": "dupthresh", "rescue": "below-sack"}"#,
    r#"{"loss_detection": "dupthresh", "rescue": "any", "recovery": "ns3", "delivery_rate": "ns3-3.40"}"#,
    r#"{"recovery": "ns3", "delivery_rate": "ns3", "pacing_credit": false, "held_data_takes_window": false}"#,
    r#"{"rto_rule": "rfc6298", "rto_min": "1s"}"#,
    r#"{"controller_rtt": "smoothed"}"#,
    r#"{"rtt_samples": "timestamps"}"#,
    r#"{"rtt_samples": "timestamps-of-originals"}"#,
    r#"{"delivery_rate": "linux-old"}"#,
    r#"{"completion": "wire", "limit_output_bytes": 8192}"#,
    r#"{"pacing": "on"}"#,
    r#"{"pacing": "on", "pacing_ss_ratio": 150, "pacing_ca_ratio": 101, "pacing_shift": 8}"#,
    r#"{"receive_autotuning": true}"#,
    r#"{"receive_autotuning": true, "timestamps": false}"#,
    r#"{"receive_window": 32768}"#,
    r#"{"receive_window": 20000, "window_scale": 0}"#,
    r#"{"receive_window": 5792, "window_scale": 0, "held_data_takes_window": false}"#,
    r#"{"send_buffer": "autotuning"}"#,
    r#"{"send_buffer": "30kB"}"#,
    r#"{"hz": 250}"#,
    r#"{"hz": 100, "timer_wheel": false}"#,
    r#"{"undo": false}"#,
    r#"{"frto": false, "tail_loss_probe": false}"#,
    r#"{"reordering": 10, "max_reordering": 20}"#,
    r#"{"slow_start_after_idle": false}"#,
    r#"{"initial_cwnd": 2}"#,
    r#"{"mss": 500}"#,
    r#"{"tso_win_divisor": 0, "tso_rtt_log": 0, "gso_max_bytes": 10000}"#,
    r#"{"ack_every": 1, "ack_pushes": false, "quick_acks": 0}"#,
    r#"{"ack_every": 8, "delayed_ack_min": "10ms", "delayed_ack_max": "20ms", "read_delay": "1ms"}"#,
    r#"{"ack_every": 4, "read_delay": "0s", "quick_acks": 1}"#,
    r#"{"compress_sacks": false}"#,
    r#"{"rto_max": "1s", "rto_min": "20ms"}"#,
    r#"{"frto": false, "loss_detection": "dupthresh", "sack": false}"#,
];

/// Profiles, controllers and options of the other transports.
pub fn others() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = vec![
        ("quic", "bbr", "{}"),
        ("quic", "bbr3", r#"{"ecn": true}"#),
        ("quic", "prague", "{}"),
        ("dqc", "bbr", "{}"),
        ("dqc", "cubic", "{}"),
        ("udp", "reno", "{}"),
        ("probe", "reno", "{}"),
        ("probe", "reno", r#"{"probe": {"interval": "5ms"}}"#),
        ("probe", "reno", r#"{"probe": {"interval": "20ms", "answers": false}}"#),
        ("real-time", "reno", "{}"),
        ("real-time", "reno", r#"{"ecn": true, "real_time": {"max_rate": "12mbit", "feedback": "50ms"}}"#),
        ("real-time", "reno", r#"{"real_time": {"fps": 100, "min_rate": "8kbit", "max_rate": "20kbit"}}"#),
        (
            "real-time",
            "reno",
            r#"{"real_time": {"fps": 50, "min_rate": "6mbit", "max_rate": "6mbit", "deadline": "20ms"}}"#,
        ),
    ];
    all.extend(QUIC.map(|json| ("quic", "cubic", json)));
    all
}

const QUIC: [&str; 14] = [
    "{}",
    r#"{"ecn": true, "undo": false}"#,
    r#"{"quic": {"packet_threshold": 10, "time_threshold_eighths": 16, "granularity": "5ms"}}"#,
    r#"{"quic": {"packet_threshold": 2, "time_threshold_eighths": 8}}"#,
    r#"{"quic": {"acks_per_rtt": 4, "max_ack_delay": "50ms", "avoid_overestimates": true}}"#,
    r#"{"quic": {"timeout": "resend-quietly", "timeout_min": "300ms"}}"#,
    r#"{"quic": {"saved_cwnd": 60000, "saved_rtt": "10ms"}}"#,
    r#"{"quic": {"saved_cwnd": 400000, "saved_rtt": "200ms"}}"#,
    r#"{"quic": {"clock_resolution": "1ms", "poll_interval": "2ms", "pacing_granularity": "0s"}}"#,
    r#"{"quic": {"initial_burst": 1, "initial_timeout": "100ms"}}"#,
    r#"{"quic": {"packet_sizes": [1000, 1350, 300]}}"#,
    r#"{"receive_window": 20000, "slow_start_after_idle": false}"#,
    r#"{"pacing": "off", "ack_every": 1}"#,
    r#"{"ack_every": 10, "delayed_ack_min": "10ms", "delayed_ack_max": "10ms", "quick_acks": 2}"#,
];
