//! What configurations are refused.

use super::*;

fn problem(config: TransportConfig) -> String {
    let problems = config.check();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    format!("{}; {}", problem.message, problem.help)
}

#[test]
fn every_profile_is_within_the_declared_ranges() {
    for profile in TransportConfig::PROFILES {
        assert_eq!(TransportConfig::profile(profile).unwrap().check(), []);
    }
}

#[test]
fn profiles_differ_in_what_they_are_made_for() {
    let of = |profile| TransportConfig::profile(profile).unwrap();
    assert_eq!(of("tcp"), TransportConfig::default());
    let protocols = TransportConfig::PROFILES.map(|profile| of(profile).protocol.name());
    assert_eq!(protocols, ["tcp", "tcp", "quic", "quic", "udp", "probe", "real-time"]);
    assert_eq!(
        TransportConfig::PROFILES.map(|profile| of(profile).mss),
        [1_448, 1_448, 1_350, 1_350, 1_472, 64, 1_200]
    );
    let host = of("linux-host");
    assert_eq!((host.receive_autotuning, host.send_buffer, host.hz), (true, SendBufferSize::Autotuning, 250));
    assert_eq!((of("quic").pacing, of("dqc").pacing, of("tcp").pacing), (Pacing::On, Pacing::On, Pacing::Auto));
    assert_eq!((of("dqc").ack_every, of("dqc").undo, of("dqc").quic), (1, false, QuicConfig::dqc()));
    assert_eq!((of("quic").ack_every, of("quic").undo), (2, true));
    assert_eq!(TransportConfig::profile("sctp"), None);
    let controlled = TransportConfig::PROFILES.map(|profile| of(profile).protocol.is_controlled());
    assert_eq!(controlled, [true, true, true, true, false, false, false]);
}

#[test]
fn a_packet_has_1500_bytes_with_and_without_timestamps() {
    let of = |timestamps, profile| {
        let mut config = TransportConfig { timestamps, ..TransportConfig::profile(profile).unwrap() };
        config.fill_segments();
        (config.mss, config.header_bytes(), config.largest_segment())
    };
    assert_eq!(of(true, "tcp"), (1_448, 52, 1_460));
    assert_eq!(of(false, "tcp"), (1_460, 40, 1_460));
    assert_eq!(of(false, "quic").0, 1_350, "QUIC has no such option");
}

#[test]
fn counters_of_marks_take_twelve_bytes_of_each_segment_and_no_place_in_the_header_of_an_ack() {
    let of = |timestamps, profile| {
        let ecn = EcnUse::Accurate;
        let mut config = TransportConfig { timestamps, ecn, ..TransportConfig::profile(profile).unwrap() };
        config.fill_segments();
        (config.mss, config.header_bytes(), config.ack_header_bytes(), config.largest_segment())
    };
    assert_eq!(of(true, "tcp"), (1_436, 64, 52, 1_460));
    assert_eq!(of(false, "tcp"), (1_448, 52, 40, 1_460));
    assert_eq!(of(true, "quic").0, 1_350, "QUIC counts them in its ACKs");
}

#[test]
fn a_packet_of_the_handshake_has_room_for_the_options_that_it_carries() {
    let of = |timestamps, profile| {
        TransportConfig { timestamps, ..TransportConfig::profile(profile).unwrap() }.handshake_bytes()
    };
    assert_eq!((of(true, "tcp"), of(false, "tcp")), (60, 52));
    assert_eq!((of(true, "quic"), of(false, "quic")), (60, 60), "it stands for QUIC's own");
}

#[test]
fn what_is_out_of_range_is_refused_with_what_is_allowed() {
    let plain = TransportConfig::default;
    let cases = [
        (TransportConfig { mss: 63, ..plain() }, "`mss` is 63; allowed: 64 to 65000, in bytes"),
        (TransportConfig { hz: 1_000_001, ..plain() }, "`hz` is 1000001; allowed: 1 to 1000000, in 1/s"),
        (TransportConfig { pacing_shift: 33, ..plain() }, "`pacing_shift` is 33; allowed: at most 32"),
        (
            TransportConfig { rto_min: Duration::from_secs(121), ..plain() },
            "`rto_min` is 121s; allowed: at most `rto_max`, which is 120s",
        ),
        (
            TransportConfig { rto_min: Duration::ZERO, ..plain() },
            "`rto_min` is 0s; allowed: more than 0s, at most `rto_max`",
        ),
        (
            TransportConfig { reordering: 301, ..plain() },
            "`reordering` is 301; allowed: at most `max_reordering`, which is 300, in segments",
        ),
        (
            TransportConfig { receive_window: 1_000, ..plain() },
            "`receive_window` is 1kB; allowed: at least `mss`, which is 1448",
        ),
        (
            TransportConfig { gso_max_bytes: 1_447, ..plain() },
            "`gso_max_bytes` is 1447B; allowed: at least `mss`, which is 1448",
        ),
        (
            TransportConfig { timestamps: false, rtt_samples: RttSamples::Timestamps, ..plain() },
            "`rtt_samples` needs timestamps, which are switched off; allowed without timestamps: `\"linux\"`",
        ),
        (
            TransportConfig { quic: QuicConfig { packet_threshold: 0, ..QuicConfig::default() }, ..plain() },
            "`quic.packet_threshold` is 0; allowed: at least 1, in packets",
        ),
        (
            TransportConfig { quic: QuicConfig { saved_cwnd: 100_000, ..QuicConfig::default() }, ..plain() },
            "`quic.saved_cwnd` is given without `quic.saved_rtt`; give the window and the smallest RTT of the earlier \
             connection, or neither",
        ),
        (
            TransportConfig {
                pacing: Pacing::Off,
                quic: QuicConfig { saved_cwnd: 100_000, saved_rtt: Duration::from_millis(40), ..QuicConfig::default() },
                ..plain()
            },
            "`quic.saved_cwnd` needs pacing, which is switched off: a jump is spread over a round trip; allowed \
             without pacing: `0B`",
        ),
    ];
    for (config, expected) in cases {
        assert_eq!(problem(config), expected);
    }
}
