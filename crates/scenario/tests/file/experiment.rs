//! What an experiment file means: defaults, the graph behind `[path]`, routes, overrides, sweeps, and the way back to
//! a file.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use dumbbell_cc_family::catalog;
use dumbbell_path::loss::Bernoulli;
use dumbbell_path::{LinkContext, LinkRate, LossRecipe, Policer, QueueLimit};
use dumbbell_scenario::{Experiment, Scenario, json_schema};
use dumbbell_transport::quic::QuicConfig;
use dumbbell_transport::{Protocol, TransportConfig};
use dumbbell_units::{Duration, Ratio, Time};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const MINIMAL: &str = "[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n[[flows]]\ncc = \"bbr\"\n";

fn load(text: &str) -> Experiment {
    Experiment::from_toml(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn load_with(text: &str, overrides: &[(&str, &str)]) -> Experiment {
    let overrides: Vec<(String, String)> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Experiment::from_toml(text, "test.toml", &overrides).unwrap_or_else(|errors| panic!("{errors}"))
}

fn scenario(text: &str) -> Arc<Scenario> {
    load(text).points()[0].scenario()
}

fn same(a: &Scenario, b: &Scenario) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

#[test]
fn a_program_for_the_kernel_is_the_same_algorithm_and_stays_in_the_resolved_file() {
    let experiment = load(&MINIMAL.replace("\"bbr\"", "\"bpf:bbr-acd\""));
    let point = &experiment.points()[0];
    let flow = &point.scenario().flows[0];
    assert_eq!((flow.cc.name(), flow.is_bpf, &*flow.label), ("bbr-acd", true, "bpf:bbr-acd"));
    assert!(load(&point.resolved_toml()).points()[0].scenario().flows[0].is_bpf);
    let plain = load(&MINIMAL.replace("\"bbr\"", "\"bbr-acd\""));
    assert_ne!(point.content_hash(), plain.points()[0].content_hash());
}

#[test]
fn a_program_that_there_is_not_is_refused_with_those_there_are() {
    let text = MINIMAL.replace("\"bbr\"", "\"bpf:cubic\"");
    let errors = Experiment::from_toml(&text, "test.toml", &[]).unwrap_err().to_string();
    for words in ["test.toml:5", "no program `bpf:cubic`", "bpf:bbr-acd, bpf:bbrplus, bpf:scalable"] {
        assert!(errors.contains(words), "{errors}");
    }
}

#[test]
fn a_path_is_two_nodes_a_bottleneck_and_a_free_way_back() {
    let scenario = scenario(MINIMAL);
    assert_eq!(scenario.nodes, ["left", "right"]);
    assert_eq!(scenario.duration, Duration::from_secs(60));
    assert_eq!((scenario.warmup, scenario.cooldown, scenario.seed), (Duration::ZERO, Duration::ZERO, 1));
    let [bottleneck, back] = &scenario.links[..] else { panic!("{:?}", scenario.links) };
    assert_eq!((bottleneck.from, bottleneck.to, back.from, back.to), (0, 1, 1, 0));
    assert!(matches!(bottleneck.config.rate, LinkRate::Constant(10_000_000)));
    assert!(matches!(back.config.rate, LinkRate::Unlimited));
    assert_eq!(bottleneck.config.delay.base, Duration::from_millis(20));
    assert_eq!(back.config.delay.base, Duration::from_millis(20));
    assert_eq!(bottleneck.config.limit, QueueLimit { bytes: Some(50_000), ..QueueLimit::default() });
    assert_eq!(back.config.limit, QueueLimit::default());
    let flow = &scenario.flows[0];
    assert_eq!((&flow.forward[..], &flow.reverse[..]), (&[0][..], &[1][..]));
    assert_eq!(flow.base_rtt, Duration::from_millis(40));
    assert_eq!((&*flow.label, flow.cc.name()), ("bbr", "bbr"));
}

#[test]
fn one_nanosecond_is_not_lost_when_a_round_trip_time_is_odd() {
    let scenario = scenario(&MINIMAL.replace("40ms", "41001ns"));
    assert_eq!(scenario.flows[0].base_rtt, Duration::from_nanos(41_001));
}

fn bernoulli(p: f64) -> Option<LossRecipe> {
    LossRecipe::of(Bernoulli { p: Ratio::new(p).unwrap(), correlation: Ratio::ZERO }, &LinkContext::default()).ok()
}

#[test]
fn loss_is_after_the_link_unless_the_file_says_before() {
    let with = |extra: &str| scenario(&MINIMAL.replace("rtt", &format!("{extra}\nrtt"))).links[0].config.clone();
    assert_eq!(with("loss = \"1%\"").loss_after, bernoulli(0.01));
    assert_eq!(with("loss = 0.01").loss_after, bernoulli(0.01));
    assert_eq!(with("loss = { kind = \"bernoulli\", p = \"1%\" }").loss_after, bernoulli(0.01));
    let before = with("loss = \"1%\"\nloss_at = \"before\"");
    assert_eq!((before.loss_before, before.loss_after), (bernoulli(0.01), None));
    assert_eq!(with("loss = \"0%\"").loss_after, None);
}

#[test]
fn an_access_link_belongs_to_one_flow_and_counts_twice_in_its_round_trip_time() {
    let text =
        format!("{MINIMAL}count = 2\naccess_delay = \"5ms\"\naccess_rate = \"1gbit\"\n[[flows]]\ncc = \"reno\"\n");
    let scenario = scenario(&text);
    assert_eq!(scenario.links.len(), 6);
    let names: Vec<&str> = scenario.links.iter().map(|link| link.config.name.as_str()).collect();
    assert_eq!(names[2..], ["access-0", "access-0-reverse", "access-1", "access-1-reverse"]);
    let [first, second, third] = &scenario.flows[..] else { panic!() };
    assert_eq!((&first.forward[..], &first.reverse[..]), (&[2, 0][..], &[1, 3][..]));
    assert_eq!((&second.forward[..], &second.reverse[..]), (&[4, 0][..], &[1, 5][..]));
    assert_eq!(first.base_rtt, Duration::from_millis(50));
    assert_eq!(third.base_rtt, Duration::from_millis(40));
    assert_eq!(scenario.links[2].config.limit, QueueLimit::default());
}

#[test]
fn flows_with_links_of_their_own_take_the_same_way_between_them() {
    let own = ["bbr", "bbr", "reno"].map(|cc| format!("[[flows]]\ncc = \"{cc}\"\nrtt = \"50ms\"\n")).concat();
    let scenario = scenario(&format!("{MINIMAL}{own}"));
    let ways: Vec<_> = scenario.flows[1..].iter().map(|flow| flow.forward[1..].to_vec()).collect();
    assert_eq!(ways, vec![scenario.flows[0].forward.to_vec(); 3]);
    let recipes: Vec<_> = scenario.flows.iter().map(|flow| &flow.cc).collect();
    assert!(Arc::ptr_eq(recipes[0], recipes[1]) && Arc::ptr_eq(recipes[1], recipes[2]), "asked for once");
    assert_ne!(recipes[2], recipes[3]);
}

#[test]
fn the_round_trip_time_of_a_flow_is_made_by_its_access_link() {
    let scenario = scenario(&format!("{MINIMAL}rtt = \"100ms\"\n"));
    assert_eq!(scenario.flows[0].base_rtt, Duration::from_millis(100));
    assert_eq!(scenario.links[2].config.delay.base, Duration::from_millis(30));
}

#[test]
fn data_can_go_down_when_the_way_back_is_described() {
    let text = MINIMAL.replace("[[flows]]", "reverse = \"symmetric\"\n[[flows]]\ndirection = \"down\"");
    let scenario = scenario(&text);
    assert_eq!((&scenario.flows[0].forward[..], &scenario.flows[0].reverse[..]), (&[1][..], &[0][..]));
    assert!(matches!(scenario.links[1].config.rate, LinkRate::Constant(10_000_000)));
    assert_eq!(scenario.links[1].config.limit.bytes, Some(50_000));
}

#[test]
fn a_varying_link_has_the_bandwidth_delay_product_of_its_mean_rate() {
    let with = |rate: &str| {
        let scenario = scenario(&format!("duration = \"100s\"\n{}", MINIMAL.replace("\"10mbit\"", rate)));
        scenario.links[0].config.limit.bytes
    };
    assert_eq!(with("[[\"0s\", \"1mbit\"], [\"50s\", \"4mbit\"]]"), Some(12_500));
    assert_eq!(with("{ steps = [[\"0s\", \"1mbit\"], [\"1s\", \"3mbit\"]], repeat = \"2s\" }"), Some(10_000));
    assert_eq!(with("{ trace = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }"), Some(60_000));
}

#[test]
fn entries_and_links_that_are_alike_share_what_they_have_in_common() {
    let flows = |more: &str| format!("{MINIMAL}[[flows]]\ncc = \"cubic\"\n{more}");
    let alike = scenario(&flows(""));
    assert!(Arc::ptr_eq(&alike.flows[0].transport, &alike.flows[1].transport));
    assert!(Arc::ptr_eq(&alike.links[0].config.impairments, &alike.links[1].config.impairments));
    let other = scenario(&flows("transport = { mss = 1000 }").replace("rtt", "duplicate = \"1%\"\nrtt"));
    assert_eq!([0, 1].map(|flow| other.flows[flow].transport.mss), [1_448, 1_000]);
    let duplicated = [0, 1].map(|link| other.links[link].config.impairments.duplicate.probability > Ratio::ZERO);
    assert_eq!(duplicated, [true, false]);
}

/// The kind of the queue of a path with `extra`, and its parameters with their values.
fn queue(extra: &str) -> (String, Value) {
    let scenario = scenario(&MINIMAL.replace("rtt", &format!("{extra}\nrtt")));
    let recipe = &scenario.links[0].config.queue;
    (recipe.kind().to_owned(), recipe.parameters().clone().into())
}

#[test]
fn a_queue_and_its_parameters() {
    assert_eq!(queue(""), ("droptail".to_owned(), json!({})));
    assert_eq!(queue("queue = \"fifo\"").0, "droptail");
    assert_eq!(queue("queue = \"drophead\"").0, "drophead");
    let (kind, parameters) = queue("queue = { kind = \"codel\", target = \"10ms\" }");
    assert_eq!(kind, "codel");
    assert_eq!(parameters, json!({ "target": "10ms", "interval": "100ms", "ecn": false }));
    let limits = scenario(&MINIMAL.replace("rtt", "buffer = { packets = 10, bytes = \"10kB\" }\nrtt"));
    let expected = QueueLimit { packets: Some(10), bytes: Some(10_000), time: None };
    assert_eq!(limits.links[0].config.limit, expected);
}

#[test]
fn a_threshold_is_a_backlog_or_a_waiting_time() {
    let with = |extra: &str| queue(&format!("queue = {{ kind = \"threshold\", {extra} }}")).1;
    let expected =
        |level: &str, mark: &str, drop: bool| json!({ "threshold": level, "mark": mark, "drop_not_ect": drop });
    assert_eq!(with("threshold = \"65packets\""), expected("65packets", "enqueue", false));
    assert_eq!(with("threshold = \"0.2bdp\""), expected("10kB", "enqueue", false));
    let departing = with("threshold = \"30kB\", mark = \"dequeue\", drop_not_ect = true");
    assert_eq!(departing, expected("30kB", "dequeue", true));
    assert_eq!(with("threshold = \"1ms\""), expected("1ms", "dequeue", false));
}

#[test]
fn red_takes_its_parameters_from_the_link_as_tc_does() {
    let with = |table: &str, buffer: &str| {
        let (kind, parameters) = queue(&format!("queue = {table}\nbuffer = \"{buffer}\""));
        assert_eq!(kind, "red");
        parameters
    };
    let red = with("\"red\"", "400kB");
    let expected = json!({
        "min": "33333B", "max": "100kB", "max_probability": "2%", "weight": red["weight"], "average_packet": "1500B",
        "bandwidth": "10mbit", "ecn": false, "hard_drop": false, "gentle": false, "adaptive": false,
    });
    assert_eq!(red, expected);
    assert_eq!(
        (&with("\"red\"", "200packets")["max"], &with("\"red\"", "80ms")["max"]),
        (&json!("75kB"), &json!("25kB"))
    );
    assert_eq!(with("\"red\"", "2kB")["max"], "4500B", "three packets at least");
    // tc's example: min 30 kB, max 90 kB and packets of 1000 bytes make a burst of 50 packets, for which the first
    // weight with 51 - 30 <= (1 - (1 - W)^50) / W is 1/32.
    let textbook = with("{ kind = \"red\", min = \"30packets\", max = \"90kB\", average_packet = 1000 }", "unlimited");
    assert_eq!((&textbook["min"], &textbook["weight"]), (&json!("30kB"), &json!("3.125%")));
    let floyd =
        with("{ kind = \"red\", weight = 0.002, max_probability = \"10%\", gentle = true, adaptive = true }", "1bdp");
    assert_eq!((&floyd["weight"], &floyd["max_probability"]), (&json!("0.2%"), &json!("10%")));
    assert_eq!((&floyd["gentle"], &floyd["adaptive"]), (&json!(true), &json!(true)));
}

#[test]
fn the_burst_of_a_policer_is_packets_bytes_or_time_at_its_rate() {
    let with = |burst: &str| {
        let policer = format!("policer = {{ rate = \"2mbit\", burst = {burst} }}\nrtt");
        scenario(&MINIMAL.replace("rtt", &policer)).links[0].config.policer.unwrap()
    };
    let expected = |burst: &str| Policer {
        rate: "2mbit".parse().unwrap(),
        burst: serde_json::from_value(json!(burst)).unwrap(),
        initial: None,
    };
    assert_eq!(with("\"20packets\""), expected("30kB"));
    assert_eq!(with("\"64kB\""), expected("64kB"));
    assert_eq!(with("\"100ms\""), expected("25kB"));
    let scenario = scenario(&MINIMAL.replace("rtt", "policer = { rate = \"2mbit\", burst = \"1s\" }\nrtt"));
    assert_eq!(scenario.links[1].config.policer, None, "the way back has its own");
}

#[test]
fn a_delay_at_the_receiver_stands_behind_the_bottleneck() {
    let text = MINIMAL.replace("cc = \"bbr\"", "cc = \"bbr\"\nexit_delay = \"15ms\"\nrtt = \"100ms\"");
    assert_ne!(text, MINIMAL);
    let scenario = scenario(&text);
    let names = |way: &[usize]| way.iter().map(|&link| scenario.links[link].config.name.clone()).collect::<Vec<_>>();
    let flow = &scenario.flows[0];
    assert_eq!(names(&flow.forward), ["access-0", "bottleneck", "exit-0"]);
    assert_eq!(names(&flow.reverse), ["exit-0-reverse", "bottleneck-reverse", "access-0-reverse"]);
    assert_eq!(flow.base_rtt, Duration::from_millis(100));
    let delays = flow.forward.iter().map(|&link| scenario.links[link].config.delay.base.as_nanos() / 1_000_000);
    assert_eq!(delays.collect::<Vec<_>>(), [15, 20, 15], "of 100 ms, 40 are the path's and 30 the receiver's");
}

#[test]
fn an_explanation_describes_queues_policers_and_endpoints() {
    let line = |extra: &str, start: &str| {
        let text = load(&MINIMAL.replace("rtt", &format!("{extra}\nrtt"))).explain();
        text.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned()
    };
    let link = line("policer = { rate = \"2mbit\", burst = \"20packets\" }", "bottleneck ");
    assert!(link.contains(", policed to 2 Mbit/s with bursts of 30 000 bytes, queue 50 000 bytes"), "{link}");
    let link = line("queue = { kind = \"threshold\", threshold = \"20packets\", mark = \"dequeue\" }", "bottleneck ");
    assert!(link.contains("step-marking (above 20 packets at departure) queue 50 000 bytes"), "{link}");
    let link = line("queue = { kind = \"red\", ecn = true, adaptive = true }", "bottleneck ");
    assert!(link.contains("RED (4 166 to 12 500 bytes, up to 2%, adaptive, marks) queue"), "{link}");
    let flow = |transport: &str| {
        let text = load(&format!("{MINIMAL}transport = {transport}\n")).explain();
        text.lines().last().unwrap().to_owned()
    };
    assert!(flow("\"dqc\"").ends_with(", transport dqc"));
    let changed = flow("{ profile = \"quic\", mss = 1200, quic = { initial_burst = 4 } }");
    assert!(changed.ends_with(", transport quic (mss = 1200, quic.initial_burst = 4)"), "{changed}");
    assert!(flow("{ hz = 250 }").ends_with(", transport tcp (hz = 250)"));
    assert!(flow("\"tcp\"").ends_with("until the end (default)"));
}

#[test]
fn an_explanation_lists_parameters_of_the_protocol_that_is_spoken_and_of_no_other() {
    let parameters = |flow: &str| load(&format!("{MINIMAL}{flow}\n")).explain_parameters();
    let tcp = parameters("");
    assert!(tcp.contains("\n  frto = true (default)\n"), "{tcp}");
    assert!(!tcp.contains("quic.") && !tcp.contains("probe.") && !tcp.contains("real_time."), "{tcp}");
    let quic = parameters("transport = \"quic\"");
    assert!(quic.contains("\n  quic.packet_threshold = 3 (default)\n") && !quic.contains("probe."), "{quic}");
}

#[test]
fn an_explanation_says_none_where_a_parameter_has_no_value() {
    let text = load(MINIMAL).explain_parameters();
    assert!(text.contains("small_queue_shift = none (default)") && !text.contains("null"), "{text}");
}

#[test]
fn a_profile_is_the_base_of_endpoints_and_what_is_given_is_on_top() {
    let flows = |top: &str, own: &str| {
        let text = format!("{top}\n{MINIMAL}{own}\n[[flows]]\ncc = \"reno\"\n");
        let scenario = scenario(&text);
        let transport = |flow: usize| TransportConfig::clone(&scenario.flows[flow].transport);
        (transport(0), transport(1))
    };
    let profile = |name: &str| TransportConfig::profile(name).unwrap();
    let udp = scenario(&MINIMAL.replace("cc = \"bbr\"", "transport = \"udp\"\nrate = \"1mbit\""));
    assert_eq!((&*udp.flows[0].transport, udp.flows[0].cc.name()), (&profile("udp"), "none"));
    for (name, rule) in [("probe", "none"), ("real-time", "nada")] {
        let alone = scenario(&MINIMAL.replace("cc = \"bbr\"", &format!("transport = \"{name}\"")));
        let flow = &alone.flows[0];
        assert_eq!((&*flow.transport, flow.cc.name(), &*flow.label), (&profile(name), rule, name));
    }
    for name in ["tcp", "quic", "dqc"] {
        assert_eq!(flows(&format!("transport = \"{name}\""), "").1, profile(name));
        assert_eq!(flows("", &format!("transport = \"{name}\"")), (profile(name), profile("tcp")));
    }
    let top = "transport = { profile = \"dqc\", mss = 1000, quic = { timeout_min = \"1s\" } }";
    let quic = |timeout_min, base: &str| QuicConfig { timeout_min, ..profile(base).quic };
    let second = Duration::from_secs(1);
    let dqc = TransportConfig { mss: 1000, quic: quic(second, "dqc"), ..profile("dqc") };
    assert_eq!(flows(top, "").0, dqc);
    // A flow's profile takes the place of the file's; what the file gives besides stays.
    let own = flows(top, "transport = { profile = \"quic\", quic = { initial_burst = 4 } }").0;
    let expected = QuicConfig { initial_burst: 4, ..quic(second, "quic") };
    assert_eq!(own, TransportConfig { mss: 1000, quic: expected, ..profile("quic") });
    assert_eq!(flows(top, "transport = { mss = 1100 }").0, TransportConfig { mss: 1100, ..dqc });
}

#[test]
fn without_timestamps_segments_are_twelve_bytes_longer_unless_their_size_is_given() {
    let mss = |top: &str, own: &str| scenario(&format!("{top}\n{MINIMAL}{own}\n")).flows[0].transport.mss;
    assert_eq!(mss("", ""), 1448);
    assert_eq!(mss("transport = { timestamps = false }", ""), 1460);
    assert_eq!(mss("", "transport = { timestamps = false }"), 1460);
    assert_eq!(mss("transport = { mss = 1000 }", "transport = { timestamps = false }"), 1000);
    assert_eq!(mss("transport = { timestamps = false }", "transport = { timestamps = true }"), 1448);
    assert_eq!(mss("", "transport = { profile = \"quic\", timestamps = false }"), 1350);
    let flow = load(&format!("{MINIMAL}transport = {{ timestamps = false }}\n")).explain();
    assert!(flow.lines().last().unwrap().ends_with("transport tcp (mss = 1460, timestamps = false)"), "{flow}");
}

#[test]
fn endpoints_can_be_swept_and_set() {
    let text = format!(
        "{MINIMAL}transport = \"quic\"\n[sweep]\ntransport = [\"tcp\", \"dqc\"]\n\
         \"flows[0].transport.quic.packet_threshold\" = [3, 10]\n"
    );
    let experiment = load_with(&text, &[("flows[0].transport.mss", "1200")]);
    let transports: Vec<_> =
        experiment.points().iter().map(|point| point.scenario().flows[0].transport.clone()).collect();
    assert_eq!(transports.iter().map(|t| t.quic.packet_threshold).collect::<Vec<_>>(), [3, 10, 3, 10]);
    assert!(transports.iter().all(|t| t.mss == 1200 && t.protocol == Protocol::Quic));
    for point in experiment.points() {
        assert!(same(&load(&point.resolved_toml()).points()[0].scenario(), &point.scenario()));
    }
}

#[test]
fn parameters_of_a_protocol_need_some_flow_in_some_point_that_reads_them() {
    let errors = |text: &str, overrides: &[(&str, &str)]| {
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Experiment::from_toml(text, "a.toml", &overrides).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    let quic = ("transport.quic.initial_burst", "4");
    let own = |flow: usize| format!("flows[{flow}].{}", quic.0);
    let two = format!("{MINIMAL}[[flows]]\ncc = \"reno\"\ntransport = \"quic\"\n");
    // At the top level and for all flows it is enough that one of them reads them.
    assert!(errors(MINIMAL, &[quic]).contains("`transport.quic` changes nothing: no flow reads it"));
    assert_eq!(errors(&two, &[quic]), "");
    assert_eq!(errors(&two, &[("flows[*].transport.quic.initial_burst", "4")]), "");
    let refused = errors(&two, &[(&own(0), quic.1)]);
    assert!(refused.contains("`flows[0].transport.quic` changes nothing: these endpoints do not read it"), "{refused}");
    assert!(refused.contains("help: write profile = \"quic\" beside it, or remove it"), "{refused}");
    assert_eq!(errors(&two, &[(&own(1), quic.1)]), "");
    let both = errors(&two, &[("transport", "{ quic = { initial_burst = 4 }, probe = { interval = \"1s\" } }")]);
    assert!(both.contains("`transport.probe` changes nothing") && !both.contains("`transport.quic`"), "{both}");
    // Defaults change nothing anywhere, so that a resolved file may name them all.
    assert_eq!(errors(MINIMAL, &[("flows[0].transport.quic.initial_burst", "10")]), "");
    // A sweep over endpoints reads them in some of its points.
    let swept = format!("{MINIMAL}transport = {{ quic = {{ initial_burst = 4 }} }}\n[sweep]\n");
    assert_eq!(errors(&format!("{swept}\"flows[0].transport.profile\" = [\"tcp\", \"quic\"]\n"), &[]), "");
    let of_others = errors(&format!("{swept}\"flows[0].transport.profile\" = [\"tcp\", \"linux-host\"]\n"), &[]);
    assert!(of_others.contains("`flows[0].transport.quic` changes nothing"), "{of_others}");
    let itself = errors(&format!("{MINIMAL}[sweep]\n\"flows[0].{}\" = [4, 10]\n", quic.0), &[]);
    assert!(itself.contains("`flows[0].transport.quic` changes nothing"), "{itself}");
}

#[test]
fn what_is_of_tcp_alone_needs_some_flow_over_tcp() {
    let errors = |text: &str| {
        Experiment::from_toml(text, "a.toml", &[]).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    let alone = |transport: &str| errors(&format!("transport = {transport}\n{MINIMAL}"));
    for (profile, key, value) in
        [("quic", "sack", "false"), ("dqc", "rto_min", "\"1s\""), ("quic", "send_buffer", "\"64kB\"")]
    {
        let refused = alone(&format!("{{ profile = \"{profile}\", {key} = {value} }}"));
        assert!(refused.contains(&format!("`transport.{key}` changes nothing: no flow reads it")), "{refused}");
        assert!(refused.contains("--> a.toml:1:"), "{refused}");
        assert!(refused.contains("help: write profile = \"tcp\" beside it, or remove it"), "{refused}");
        assert_eq!(alone(&format!("{{ {key} = {value} }}")), "");
    }
    // Defaults, and what QUIC-like endpoints read, too.
    assert_eq!(alone(r#"{ profile = "quic", sack = true, undo = false, ack_every = 4, ecn = true }"#), "");
    // A flow over TCP beside it, and a point of a sweep, read it.
    let two = format!("{MINIMAL}[[flows]]\ncc = \"reno\"\ntransport = \"quic\"\n");
    assert_eq!(errors(&format!("transport.sack = false\n{two}")), "");
    let swept = format!("transport.sack = false\n{MINIMAL}[sweep]\n\"flows[0].transport.profile\" = ");
    assert_eq!(errors(&format!("{swept}[\"tcp\", \"quic\"]\n")), "");
    assert!(errors(&format!("{swept}[\"dqc\", \"quic\"]\n")).contains("`transport.sack` changes nothing"));
    // What such a flow does not read is not in its resolved form, so that this can be read again.
    let mixed = load(&format!("transport.sack = false\n{two}"));
    let point = &mixed.points()[0];
    let sacks: Vec<_> = point.scenario().flows.iter().map(|flow| flow.transport.sack).collect();
    assert_eq!(sacks, [false, true]);
    assert!(same(&load(&point.resolved_toml()).points()[0].scenario(), &point.scenario()));
}

#[test]
fn what_a_flow_does_not_read_is_not_in_its_resolved_form() {
    let top = "transport.quic.initial_burst = 4\n";
    let experiment = load(&format!("{top}{MINIMAL}[[flows]]\ncc = \"reno\"\ntransport = \"quic\"\n"));
    let point = &experiment.points()[0];
    let bursts: Vec<_> = point.scenario().flows.iter().map(|flow| flow.transport.quic.initial_burst).collect();
    assert_eq!(bursts, [10, 4]);
    assert!(same(&load(&point.resolved_toml()).points()[0].scenario(), &point.scenario()));
}

#[test]
fn what_fits_an_opportunity_depends_on_the_headers() {
    let with = |transport: &str| {
        let text = MINIMAL.replace("rate = \"10mbit\"", "trace = [1]");
        Experiment::from_toml(&format!("{text}transport = {transport}\n"), "test.toml", &[])
    };
    assert!(with("{ mss = 1448 }").is_ok());
    assert!(with("{ profile = \"quic\", mss = 1450 }").is_ok());
    let errors = with("{ profile = \"quic\", mss = 1451 }").unwrap_err();
    assert!(errors.to_string().contains("`mss` of at most 1450"), "{errors}");
    assert!(with("{ mss = 1449 }").unwrap_err().to_string().contains("`mss` of at most 1448"));
}

#[test]
fn flows_that_share_an_entry_can_start_one_after_the_other() {
    let scenario = scenario(&format!("{MINIMAL}count = 3\nstart = \"2s\"\nstagger = \"5s\"\n"));
    let starts: Vec<Time> = scenario.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [2, 7, 12].map(|s| Time::ZERO + Duration::from_secs(s)));
}

#[test]
fn endpoint_parameters_of_a_flow_are_on_top_of_those_of_the_file() {
    let text =
        format!("{MINIMAL}transport = {{ mss = 1000 }}\n[[flows]]\ncc = \"reno\"\n[transport]\nmss = 500\nhz = 250\n");
    let scenario = scenario(&text);
    let [first, second] = &scenario.flows[..] else { panic!() };
    assert_eq!((first.transport.mss, first.transport.hz), (1_000, 250));
    assert_eq!((second.transport.mss, second.transport.hz), (500, 250));
}

#[test]
fn presets_can_be_based_on_presets_and_the_nearest_value_counts() {
    let text = format!(
        "{MINIMAL}\n[[flows]]\ncc = {{ name = \"calmer\", full_rounds = 5 }}\n\
         [presets.calm]\nbase = \"bbr\"\nsteady_window_gain = 1.5\nfull_rounds = 4\nmin_window = 8\n\
         [presets.calmer]\nbase = \"calm\"\nsteady_window_gain = 1.25\n"
    );
    let flow = &scenario(&text).flows[1];
    assert_eq!((&*flow.label, flow.cc.name()), ("calmer", "bbr"));
    let parameters = json!({"steady_window_gain": 1.25, "full_rounds": 5, "min_window": 8});
    assert_eq!(Value::Object(flow.cc.changed().clone()), parameters);
}

#[test]
fn a_parameter_with_its_default_value_is_no_parameter() {
    let flow = &scenario(&MINIMAL.replace("\"bbr\"", "{ name = \"bbr\", min_rtt_window = \"10000ms\" }")).flows[0];
    assert!(flow.cc.changed().is_empty());
}

const CHAIN: &str = "\
[[links]]\nname = \"ab\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\ndelay = \"10ms\"\n\
[[links]]\nname = \"bc\"\nfrom = \"b\"\nto = \"c\"\nrate = \"20mbit\"\ndelay = \"10ms\"\n\
[[links]]\nname = \"detour\"\nfrom = \"a\"\nto = \"c\"\nrate = \"5mbit\"\ndelay = \"50ms\"\n";

#[test]
fn flows_take_the_shortest_path_by_delay_and_return_by_it() {
    let scenario = scenario(&format!("{CHAIN}[[flows]]\ncc = \"bbr\"\nfrom = \"a\"\nto = \"c\"\n"));
    let flow = &scenario.flows[0];
    assert_eq!((&flow.forward[..], &flow.reverse[..]), (&[0, 2][..], &[3, 1][..]));
    assert_eq!(flow.base_rtt, Duration::from_millis(40));
}

#[test]
fn a_route_is_followed_and_taken_back() {
    let scenario =
        scenario(&format!("{CHAIN}[[flows]]\ncc = \"bbr\"\nfrom = \"a\"\nto = \"c\"\nroute = [\"detour\"]\n"));
    let flow = &scenario.flows[0];
    assert_eq!((&flow.forward[..], &flow.reverse[..]), (&[4][..], &[5][..]));
    assert_eq!(flow.base_rtt, Duration::from_millis(100));
}

#[test]
fn the_files_routes_hold_for_all_flows_between_two_nodes() {
    let routes = "[[routes]]\nfrom = \"a\"\nto = \"c\"\nlinks = [\"detour\"]\n";
    let scenario = scenario(&format!("{CHAIN}{routes}[[flows]]\ncc = \"bbr\"\nfrom = \"a\"\nto = \"c\"\n"));
    assert_eq!((&scenario.flows[0].forward[..], &scenario.flows[0].reverse[..]), (&[4][..], &[3, 1][..]));
}

#[test]
fn a_links_bandwidth_delay_product_is_that_of_its_longest_flow() {
    let flows =
        "[[flows]]\ncc = \"bbr\"\nfrom = \"a\"\nto = \"b\"\n[[flows]]\ncc = \"bbr\"\nfrom = \"a\"\nto = \"c\"\n";
    let scenario = scenario(&format!("{CHAIN}{flows}"));
    let limit = |link: usize| scenario.links[link].config.limit.bytes;
    assert_eq!((limit(0), limit(2)), (Some(50_000), Some(100_000)));
    assert_eq!(limit(4), None, "nobody uses the detour");
}

#[test]
fn overrides_replace_and_add() {
    let experiment =
        load_with(MINIMAL, &[("path.rtt", "80ms"), ("path.loss", "0.01"), ("flows[0].cc.min_window", "5")]);
    let scenario = experiment.points()[0].scenario();
    assert_eq!(scenario.flows[0].base_rtt, Duration::from_millis(80));
    assert_eq!(scenario.links[0].config.loss_after, bernoulli(0.01));
    assert_eq!(scenario.flows[0].cc.changed()["min_window"], 5);
}

#[test]
fn a_wrong_override_is_blamed_and_not_the_file() {
    let overrides = [("path.rtt".to_owned(), "80sm".to_owned())];
    let errors = Experiment::from_toml(MINIMAL, "test.toml", &overrides).unwrap_err();
    let error = &errors.errors()[0];
    assert_eq!((error.file.as_str(), error.line, error.column), ("--set", Some(1), Some(10)));
    assert!(errors.to_string().contains("path.rtt=80sm"), "{errors}");
    let overrides = [("path.rtte".to_owned(), "80ms".to_owned())];
    let errors = Experiment::from_toml(MINIMAL, "test.toml", &overrides).unwrap_err();
    assert!(errors.to_string().contains("did you mean `rtt`?"), "{errors}");
    let overrides = [("flows[7].cc".to_owned(), "reno".to_owned())];
    let errors = Experiment::from_toml(MINIMAL, "test.toml", &overrides).unwrap_err();
    assert!(errors.to_string().contains("the list has 1"), "{errors}");
}

#[test]
fn a_sweep_is_the_product_times_its_repetitions() {
    let text = format!(
        "seed = 5\n{MINIMAL}[sweep]\npath.loss = [\"0%\", \"1%\"]\n\"flows[*].cc\" = [\"bbr\", \"cubic\", \"reno\"]\nrepeat = 2\n"
    );
    let experiment = load(&text);
    let points = experiment.points();
    assert_eq!(points.len(), 12);
    assert!(points.iter().enumerate().all(|(i, point)| point.index() == i));
    let at = |i: usize| (points[i].label()[0].1.clone(), points[i].label()[1].1.clone(), points[i].repeat());
    assert_eq!(at(0), (json!("0%"), json!("bbr"), 0));
    assert_eq!(at(1), (json!("0%"), json!("bbr"), 1));
    assert_eq!(at(11), (json!("1%"), json!("reno"), 1));
    assert_eq!(points[11].scenario().flows[0].cc.name(), "reno");
    assert_eq!(points[0].scenario().seed, 5);
    assert_eq!(points[1].scenario().seed, points[11].scenario().seed);
    assert_ne!(points[1].scenario().seed, 5);
}

#[test]
fn repetitions_see_cellular_links_of_their_own_unless_the_seed_is_given() {
    let opportunities = |extra: &str, point: usize| {
        let rate = format!("{{ synth = \"lte-verizon\", length = \"2s\"{extra} }}");
        let text = format!("{}[sweep]\nrepeat = 2\n", MINIMAL.replace("\"10mbit\"", &rate));
        match &load(&text).points()[point].scenario().links[0].config.rate {
            LinkRate::Trace { opportunities_ms, .. } => opportunities_ms.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_ne!(opportunities("", 0), opportunities("", 1));
    assert_eq!(opportunities(", seed = 3", 0), opportunities(", seed = 3", 1));
}

#[test]
fn a_trace_file_is_found_beside_the_experiment() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad-input");
    let text = MINIMAL.replace("rate = \"10mbit\"", "trace = \"traces/steady.up\"\nonce = true");
    let name = folder.join("test.toml");
    let experiment = Experiment::from_toml(&text, &name.to_string_lossy(), &[]).unwrap();
    let scenario = experiment.points()[0].scenario();
    let LinkRate::Trace { opportunities_ms, once } = &scenario.links[0].config.rate else { panic!() };
    assert_eq!((opportunities_ms.len(), *once), (100, true));
}

#[test]
fn the_resolved_form_carries_its_trace_wherever_it_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad-input");
    let text = MINIMAL.replace("rate = \"10mbit\"", "trace = \"traces/steady.up\"");
    let experiment = Experiment::from_toml(&text, &folder.join("test.toml").to_string_lossy(), &[]).unwrap();
    let point = &experiment.points()[0];
    let resolved = point.resolved_toml();
    assert!(resolved.contains("[[links]] # trace traces/steady.up, SHA-256 "), "{resolved}");
    let again = load(&resolved);
    assert!(same(&again.points()[0].scenario(), &point.scenario()));
    assert_eq!(again.points()[0].content_hash(), point.content_hash());
}

#[test]
fn samples_are_20_ms_apart_unless_that_is_closer_than_can_be_seen() {
    let interval = |duration: &str, rate: &str, count: u32| {
        let text = MINIMAL.replace("10mbit", rate);
        scenario(&format!("duration = \"{duration}\"\n{text}count = {count}\n")).record.interval
    };
    assert_eq!(interval("60s", "10mbit", 1), Duration::from_millis(20));
    assert_eq!(
        interval("60s", "6mbit", 1),
        Duration::from_millis(20),
        "30,000 packets pass for 6,000 rows of two links"
    );
    assert_eq!(interval("60s", "5mbit", 1), Duration::from_millis(50));
    assert_eq!(
        interval("60s", "1mbit", 1),
        Duration::from_millis(100),
        "a thousand samples of two links there always may be"
    );
    assert_eq!(interval("60s", "30mbit", 10), Duration::from_millis(20));
    assert_eq!(interval("60s", "30mbit", 11), Duration::from_millis(50));
    assert_eq!(interval("60s", "1gbit", 166), Duration::from_millis(20), "five million do");
    assert_eq!(interval("60s", "1gbit", 167), Duration::from_millis(50), "no more than 500,000 rows");
    assert_eq!(interval("60s", "1gbit", 1_000), Duration::from_millis(200));
    assert_eq!(interval("24h", "10mbit", 1), Duration::from_millis(500), "a path has two links");
    assert_eq!(interval("744h", "1mbit", 2), Duration::from_secs(20));
    let text = format!("{MINIMAL}count = 1000\n");
    assert!(load(&text).points()[0].resolved_toml().contains("interval = \"2s\""));
    assert!(load(&text).explain().contains("every 2 s (default)"));
    let given = scenario(&format!("{text}[record]\ninterval = \"20ms\"\n"));
    assert_eq!(given.record.interval, Duration::from_millis(20), "what is given is kept");
    assert_eq!(interval("60s", "30mbit", 6), Duration::from_millis(20));
    let access = scenario(&format!("{}count = 6\naccess_delay = \"1ms\"\n", MINIMAL.replace("10mbit", "30mbit")));
    assert_eq!(access.record.interval, Duration::from_millis(50), "two links a flow have more rows than the flows");
}

#[test]
fn the_links_where_flows_are_slowest_say_how_many_packets_there_are_to_see() {
    let links = |radio: &str| {
        let link = |number| format!("[[links]]\nfrom = \"s{number}\"\nto = \"hub\"\n{radio}\n");
        let flow = |number| format!("[[flows]]\ncc = \"cubic\"\nfrom = \"s{number}\"\nto = \"far\"\n");
        let wire =
            "[[links]]\nfrom = \"hub\"\nto = \"far\"\nrate = \"100gbit\"\ndelay = \"5ms\"\nreverse = \"symmetric\"\n";
        let all: String = (0..40).map(link).chain([wire.to_owned()]).chain((0..40).map(flow)).collect();
        scenario(&format!("duration = \"60s\"\n{all}")).record.interval
    };
    let wires = links("rate = \"100mbit\"\ndelay = \"1ms\"\nreverse = \"symmetric\"");
    assert_eq!(wires, Duration::from_millis(20), "40 links of 100 Mbit/s are 4 Gbit/s");
    let channel = links("delay = \"0s\"\nwifi = { mcs = 7 }");
    assert_eq!(channel, Duration::from_millis(50), "40 stations share one channel");
}

#[test]
fn a_dictionary_is_as_good_as_a_file() {
    let json = json!({
        "path": {"rate": "10mbit", "rtt": "40ms", "loss": null},
        "flows": [{"cc": "bbr"}],
    });
    let experiment = Experiment::from_json(&json, "dict", &[]).unwrap();
    assert!(same(&experiment.points()[0].scenario(), &scenario(MINIMAL)));
    let wrong = json!({"path": {"rate": "10mbit", "rtte": "40ms"}, "flows": [{"cc": "bbr"}]});
    let errors = Experiment::from_json(&wrong, "dict", &[]).unwrap_err();
    assert_eq!(errors.errors()[0].key, "path.rtte");
    assert_eq!(errors.errors()[0].line, None);
}

#[test]
fn the_content_hash_follows_what_matters_and_nothing_else() {
    let hash = |text: &str| load(text).points()[0].content_hash();
    let plain = hash(MINIMAL);
    assert_eq!(plain.len(), 64);
    assert_eq!(plain, hash(&format!("# a comment\nduration = \"1min\"\n{MINIMAL}")));
    assert_eq!(plain, hash(&MINIMAL.replace("10mbit", "10000 kbit/s")));
    assert_ne!(plain, hash(&format!("seed = 2\n{MINIMAL}")));
    assert_ne!(plain, hash(&MINIMAL.replace("40ms", "41ms")));
    assert_ne!(plain, hash(&MINIMAL.replace("\"bbr\"", "{ name = \"bbr\", min_window = 5 }")));
}

#[test]
fn an_explanation_says_values_in_words_and_marks_defaults() {
    let text = MINIMAL.replace("rtt", "buffer = \"2bdp\"\nrtt");
    assert_eq!(
        load(&text).explain(),
        "test.toml\n\
         \x20 runs 60 s (default)\n\
         \x20 measured from 0 s to 60 s (default)\n\
         \x20 seed 1 (default)\n\
         \x20 time series every 20 ms (default)\n\
         links\n\
         \x20 bottleneck (left -> right): 10 Mbit/s, 20 ms one way, queue 100 000 bytes = 2.00 BDP\n\
         \x20 bottleneck-reverse (right -> left): unlimited rate (default), 20 ms one way\n\
         flows\n\
         \x20 0: bbr -> bbr1-linux-6.18, base RTT 40 ms, starts at 0 s (default), until the end (default)\n"
    );
}

#[test]
fn the_resolved_form_keeps_who_decides_how_what_is_in_flight_is_counted() {
    for value in ["\"auto\"", "true", "false"] {
        let text = format!("{MINIMAL}[transport]\nin_flight_by_buffer = {value}\n");
        let resolved = load(&text).points()[0].resolved_toml();
        assert!(resolved.contains(&format!("in_flight_by_buffer = {value}")), "{resolved}");
        assert_eq!(load(&resolved).points()[0].resolved_toml(), resolved);
    }
    assert!(load(MINIMAL).points()[0].resolved_toml().contains("in_flight_by_buffer = \"auto\""));
}

#[test]
fn every_example_is_valid_and_comes_back_from_its_resolved_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let name = path.to_string_lossy();
        let text = std::fs::read_to_string(&path).unwrap();
        let experiment = Experiment::from_toml(&text, &name, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(!experiment.explain().is_empty());
        for point in experiment.points() {
            let again = Experiment::from_toml(&point.resolved_toml(), &name, &[]).unwrap_or_else(|e| panic!("{e}"));
            assert!(same(&again.points()[0].scenario(), &point.scenario()), "{name}");
        }
        count += 1;
    }
    assert!(count >= 6);
}

#[test]
fn programs_come_back_from_the_resolved_form_with_the_transport_of_their_hosts() {
    let text = r#"
        transport = { mss = 1000 }
        path = { rate = "10mbit", rtt = "40ms" }

        [[flows]]
        program = { server = "/usr/bin/serve '{port} a'", client = "fetch {server}", direction = "up" }
    "#;
    let experiment = Experiment::from_toml(text, "test.toml", &[]).unwrap();
    let point = &experiment.points()[0];
    let again = Experiment::from_toml(&point.resolved_toml(), "again.toml", &[]).unwrap();
    assert!(same(&again.points()[0].scenario(), &point.scenario()), "{}", point.resolved_toml());
    assert_eq!(again.points()[0].content_hash(), point.content_hash());
    let flow = &again.points()[0].scenario().flows[0];
    let program = flow.program.as_ref().unwrap();
    assert_eq!((&*flow.label, flow.transport.mss, program.is_download), ("fetch", 1000, false));
    assert_eq!(program.server.text(), "/usr/bin/serve '{port} a'");
    let other = Experiment::from_toml(&text.replace("fetch", "get"), "test.toml", &[]).unwrap();
    assert_ne!(other.points()[0].content_hash(), point.content_hash(), "the command lines count");
    let said = experiment.explain();
    assert!(said.contains("client `fetch {server}`, of which the client sends the data"), "{said}");
}

#[test]
fn the_schema_describes_every_key_and_every_algorithm() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    assert_eq!(schema["additionalProperties"], json!(false));
    for key in ["duration", "path", "flows", "links", "sweep", "presets", "transport", "record"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    let forms: Vec<&Value> =
        schema["$defs"]["CcSpec"]["allOf"].as_array().unwrap().iter().map(|asked| &asked["then"]).collect();
    for entry in catalog().entries() {
        let name = entry.name();
        let form = forms.iter().find(|form| form["properties"]["name"]["const"] == name);
        for parameter in entry.parameters(&Default::default()).unwrap().keys() {
            assert!(form.unwrap()["properties"][parameter].is_object(), "{name} {parameter}");
        }
    }
    references_resolve(&schema, &schema);
}

#[test]
fn the_schema_lets_a_queue_stand_alone_by_the_names_that_need_no_parameter() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let forms = schema["$defs"]["QueueSpec"]["allOf"].as_array().unwrap();
    let is_of = |form: &&Value, kind: &str| form["if"]["type"] == kind;
    let alone = forms.iter().find(|form| is_of(form, "string")).unwrap();
    let alone: Vec<&str> = alone["then"]["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let tables = forms.iter().filter(|form| is_of(form, "object"));
    let kinds: Vec<&str> = tables.filter_map(|form| form["then"]["title"].as_str()).collect();
    assert!(kinds.contains(&"tbf") && kinds.contains(&"threshold") && kinds.len() > 10, "{kinds:?}");
    for kind in kinds {
        let text = MINIMAL.replace("rtt", &format!("queue = \"{kind}\"\nrtt"));
        let is_enough = Experiment::from_toml(&text, "test.toml", &[]).is_ok();
        assert_eq!(alone.contains(&kind), is_enough, "{kind}");
    }
}

/// Every `$ref` of the schema leads somewhere.
fn references_resolve(part: &Value, schema: &Value) {
    match part {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(schema.pointer(pointer).is_some(), "{reference} leads nowhere");
            }
            map.values().for_each(|value| references_resolve(value, schema));
        }
        Value::Array(list) => list.iter().for_each(|value| references_resolve(value, schema)),
        _ => {}
    }
}

#[test]
fn the_reference_names_every_key_of_the_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let reference = ["scenario.md", "links.md", "transport.md"].map(page).join("\n");
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().iter().filter(|(name, _)| *name != "CcSpec");
    let tables = definitions.map(|(_, definition)| definition).chain([&schema]);
    let keys = tables.filter_map(|table| table["properties"].as_object()).flat_map(|properties| properties.keys());
    let missing: Vec<&String> = keys.filter(|key| !reference.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/reference does not mention {missing:?}");
}

fn span(range: std::ops::Range<u64>) -> impl Strategy<Value = Value> {
    range.prop_map(|nanos| json!(Duration::from_nanos(nanos).to_string()))
}

fn maybe(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), value]
}

fn probability() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0.0..=1.0f64).prop_map(|p| json!(p)),
        (0u32..=1000).prop_map(|n| json!(format!("{}%", f64::from(n) / 10.0)))
    ]
}

fn rate() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1u64..1_000_000_000).prop_map(|bits| json!(format!("{bits}bit"))),
        (1u64..100, 0u64..100, 1u64..10_000).prop_map(|(a, b, ms)| {
            json!({"steps": [["0s", format!("{a}mbit")], [format!("{ms}ms"), format!("{b}mbit")]], "repeat": format!("{}ms", ms * 2)})
        }),
        (1u64..1_000).prop_map(|seed| json!({"synth": "lte-driving", "seed": seed, "length": "1s"})),
        proptest::collection::vec(1u32..50, 1..20).prop_map(|mut times| {
            times.sort_unstable();
            json!({"trace": times, "once": false})
        }),
    ]
}

fn buffer() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1u32..100).prop_map(|tenths| json!(format!("{}bdp", f64::from(tenths) / 10.0))),
        (1u64..10_000).prop_map(|packets| json!(format!("{packets}packets"))),
        (1u64..10_000_000).prop_map(|bytes| json!({"bytes": bytes, "packets": 7})),
        span(1..1_000_000_000),
        Just(json!("unlimited")),
    ]
}

fn side() -> impl Strategy<Value = Value> {
    let loss = prop_oneof![
        probability(),
        (probability(), probability()).prop_map(|(p, r)| json!({"kind": "gilbert-elliott", "p": p, "r": r})),
    ];
    let red = (probability(), 1u64..1_000, any::<bool>()).prop_map(|(weight, packets, on)| {
        json!({"kind": "red", "min": format!("{packets}packets"), "max": "2MB", "weight": weight, "ecn": on, "adaptive": on, "gentle": !on})
    });
    let threshold = prop_oneof![Just("9packets"), Just("30kB"), Just("3ms")]
        .prop_map(|level| json!({"kind": "threshold", "threshold": level, "drop_not_ect": true}));
    let codel = Just(json!({"kind": "codel", "interval": "50ms", "ecn": true}));
    let queue = prop_oneof![Just(json!("fifo")), codel, threshold, red];
    let policer = (1u64..1_000_000_000, 2u32..100)
        .prop_map(|(rate, packets)| json!({"rate": format!("{rate}bit"), "burst": format!("{packets}packets")}));
    let jitter = (span(0..10_000_000), probability(), any::<bool>())
        .prop_map(|(amount, correlation, reorders)| json!({"amount": amount, "correlation": correlation, "reorders": reorders, "distribution": "normal"}));
    let reorder =
        (probability(), 1u32..9).prop_map(|(probability, gap)| json!({"probability": probability, "gap": gap}));
    let waiting = (maybe(buffer()), maybe(queue), maybe(policer));
    (rate(), waiting, maybe(loss), maybe(jitter), maybe(reorder), 0u64..100).prop_map(
        |(rate, (buffer, queue, policer), loss, jitter, reorder, overhead)| {
            json!({"rate": rate, "buffer": buffer, "queue": queue, "policer": policer, "loss": loss, "jitter": jitter, "reorder": reorder, "overhead": overhead})
        },
    )
}

fn flow() -> impl Strategy<Value = Value> {
    let cc = prop_oneof![
        Just(json!("bbr")),
        Just(json!("cubic-linux-6.18")),
        (1u32..100).prop_map(|n| json!({"name": "bbr", "min_window": n})),
        Just(json!({"name": "mine", "full_rounds": 2})),
    ];
    let access = prop_oneof![Just(Value::Null), span(0..100_000_000)];
    let profile = prop_oneof![Just(Value::Null), Just(json!("quic")), Just(json!("dqc"))];
    let table = (64u32..1_448, any::<bool>(), profile)
        // Only TCP has SACK as a choice.
        .prop_map(|(mss, sack, profile)| json!({"mss": mss, "sack": sack || !profile.is_null(), "profile": profile}));
    let transport = maybe(prop_oneof![table, Just(json!("dqc"))]);
    (cc, 1u32..4, span(0..9_000_000_000), maybe(span(0..1_000_000)), access, maybe((1u64..1 << 40).prop_map(|b| json!(b))), transport, any::<bool>())
        .prop_map(|(cc, count, start, jitter, access, bytes, transport, down)| {
            json!({"cc": cc, "count": count, "start": start, "start_jitter": jitter, "access_delay": access, "bytes": bytes,
                   "transport": transport, "direction": if down { "down" } else { "up" }})
        })
}

fn experiment() -> impl Strategy<Value = Value> {
    (side(), side(), span(4_000..1_000_000_000), proptest::collection::vec(flow(), 1..4), 0u64..1 << 60, any::<bool>()).prop_map(
        |(mut path, reverse, rtt, flows, seed, series)| {
            path["rtt"] = rtt;
            path["reverse"] = reverse;
            json!({"duration": "10s", "warmup": "1s", "seed": seed, "record": {"series": series}, "path": path, "flows": flows,
                   "presets": {"mine": {"base": "bbr", "min_window": 9}}})
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_valid_experiment_comes_back_from_its_resolved_form(json in experiment()) {
        let loaded = match Experiment::from_json(&json, "random", &[]) {
            Ok(loaded) => loaded,
            // A tiny rate and a tiny round-trip time can make a buffer of less than a byte; a weight can be drawn as 0.
            Err(errors) => {
                prop_assert!(errors.errors().iter().all(|e| e.message.contains("holds nothing") || e.message == "`weight` is 0%"), "{}", errors);
                return Ok(());
            }
        };
        let point = &loaded.points()[0];
        let text = point.resolved_toml();
        let again = Experiment::from_toml(&text, "random", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        prop_assert!(same(&again.points()[0].scenario(), &point.scenario()));
        prop_assert_eq!(again.points()[0].resolved_toml(), text);
        prop_assert_eq!(again.points()[0].content_hash(), point.content_hash());
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = Experiment::from_toml(&text, "random", &[]);
    }

    #[test]
    fn no_damage_to_a_valid_file_panics(position in 0usize..2_000, junk in "[\\PC\n]{0,4}", cut in 0usize..30) {
        let mut text: Vec<char> = load(MINIMAL).points()[0].resolved_toml().chars().collect();
        let start = position.min(text.len());
        let end = (start + cut).min(text.len());
        text.splice(start..end, junk.chars());
        let _ = Experiment::from_toml(&text.into_iter().collect::<String>(), "random", &[]);
    }

    #[test]
    fn no_override_panics(key in "\\PC{0,30}", value in "\\PC{0,30}") {
        let _ = Experiment::from_toml(MINIMAL, "random", &[(key, value)]);
    }
}

#[test]
fn a_way_is_as_long_as_packets_can_count() {
    let file = |hops: usize| {
        let route = vec!["ab"; hops].join("\",\n\"");
        format!(
            r#"
            links = [{{ name = "ab", from = "a", to = "b", rate = "1gbit", delay = "1us", buffer = "9packets", reverse = "symmetric" }}]
            [[flows]]
            cc = "reno"
            from = "a"
            to = "b"
            reverse_route = ["ab"]
            route = ["{route}"]"#
        )
    };
    assert_eq!(load(&file(65_535)).points()[0].scenario().flows[0].forward.len(), 65_535);
    let errors = Experiment::from_toml(&file(65_537), "long.toml", &[]).unwrap_err();
    let [error] = errors.errors() else { panic!("{errors}") };
    assert_eq!((error.line, error.key.as_str()), (Some(8), "flows[0].route"));
    assert_eq!(error.message, "the way of the flow has 65537 links");
    assert_eq!(error.help.as_deref(), Some("allowed: at most 65535"));
}

#[test]
fn ways_of_many_flows_together_are_bounded() {
    let route = vec!["ab"; 1_001].join("\",\"");
    let text = format!(
        r#"
        links = [{{ name = "ab", from = "a", to = "b", rate = "1gbit", delay = "1us", buffer = "9packets", reverse = "symmetric" }}]
        flows = [{{ cc = "reno", from = "a", to = "b", count = 20000, route = ["{route}"] }}]"#
    );
    let errors = Experiment::from_toml(&text, "many.toml", &[]).unwrap_err().to_string();
    assert!(errors.contains("have 40040000 links together"), "{errors}");
    // Those of traffic count as well.
    let source = format!(
        r#"traffic = [{{ kind = "short-flows", cc = "reno", per_second = 1, size = "1kB", from = "a", to = "b", route = ["{route}"] }}]"#
    );
    let text = format!("{}\n{source}", text.replace("20000", "9990"));
    let errors = Experiment::from_toml(&text, "many.toml", &[]).unwrap_err();
    let [error] = errors.errors() else { panic!("{errors}") };
    assert_eq!(error.key, "traffic[0]");
    assert_eq!(error.message, "the ways of the flows up to here have 20001982 links together");
}

#[test]
fn flows_with_access_links_and_long_chains_are_read_quickly() {
    let text = MINIMAL.replace("rtt = \"40ms\"", "rtt = \"40ms\"\nreverse = \"symmetric\"");
    let begin = cpu_time::ThreadTime::now();
    let many = scenario(&format!("{text}rtt = \"80ms\"\ncount = 50000\n"));
    assert_eq!(many.links.len(), 100_002);
    let mut chain = String::new();
    for hop in 0..20_000 {
        chain.push_str(&format!(
            "[[links]]\nfrom = \"n{hop}\"\nto = \"n{}\"\nrate = \"1gbit\"\ndelay = \"1us\"\n",
            hop + 1
        ));
    }
    let chain = scenario(&format!("{chain}[[flows]]\ncc = \"reno\"\nfrom = \"n0\"\nto = \"n20000\"\n"));
    assert_eq!((chain.flows[0].forward.len(), chain.flows[0].reverse.len()), (20_000, 20_000));
    // Work that grew with the square of either would take minutes.
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[cfg(unix)]
#[test]
fn a_trace_is_a_regular_file_of_bounded_length() {
    let folder = std::env::temp_dir().join(format!("dumbbell-traces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap().success());
    std::fs::File::create(folder.join("long")).unwrap().set_len(100_000_001).unwrap();
    for (name, reason) in [
        ("fifo", "it is a pipe or a device, not a regular file"),
        (".", "it is a directory, not a regular file"),
        ("long", "it is longer than 100000000 bytes"),
        ("missing", "No such file"),
    ] {
        let text = MINIMAL.replace("rate = \"10mbit\"", &format!("trace = \"{name}\""));
        let source = folder.join("experiment.toml");
        let errors = Experiment::from_toml(&text, &source.to_string_lossy(), &[]).unwrap_err();
        let [error] = errors.errors() else { panic!("{errors}") };
        assert!(error.message.contains(reason), "{}", error.message);
        assert_eq!((error.line, error.key.as_str()), (Some(2), "path.trace"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn round_trips_that_vary_differ_between_flows_and_repetitions_by_less_than_a_packet() {
    let text = format!("vary_rtt = \"1packet\"\n{MINIMAL}count = 2\nrtt = \"50ms\"\n[sweep]\nrepeat = 3\n");
    let experiment = load(&text);
    let rtts: Vec<_> = experiment
        .points()
        .iter()
        .flat_map(|point| point.scenario().flows.iter().map(|flow| flow.base_rtt).collect::<Vec<_>>())
        .collect();
    // 1500 bytes at 10 Mbit/s.
    let allowed = Duration::from_millis(50)..Duration::from_micros(51_200);
    assert!(rtts.iter().all(|rtt| allowed.contains(rtt)), "{rtts:?}");
    assert_eq!(rtts.iter().collect::<BTreeSet<_>>().len(), 6, "{rtts:?}");
    assert!(experiment.explain().contains("base RTT 50 ms plus up to 1.2 ms"), "{}", experiment.explain());

    let point = &experiment.points()[1];
    let again = load(&point.resolved_toml());
    assert_eq!(again.points()[0].content_hash(), point.content_hash());
    assert_eq!(again.points()[0].scenario().flows[1].base_rtt, point.scenario().flows[1].base_rtt);
}

#[test]
fn round_trips_cannot_vary_by_packets_where_packets_take_no_time() {
    let text = format!("vary_rtt = \"1packet\"\n{}", MINIMAL.replace("10mbit", "unlimited"));
    let errors = Experiment::from_toml(&text, "test.toml", &[]).unwrap_err().to_string();
    assert!(errors.contains("test.toml:1:12") && errors.contains("write a time"), "{errors}");
}

#[test]
fn every_repetition_begins_at_a_place_of_its_own_in_all_traces_together() {
    let trace = "trace = [10, 20, 100, 400, 1000]";
    let path = MINIMAL.replace("rate = \"10mbit\"", &format!("{trace}\nreverse = {{ {trace} }}"));
    let experiment = load(&format!("vary_phase = true\n{path}\n[sweep]\nrepeat = 20\n"));
    let places: BTreeSet<_> = experiment
        .points()
        .iter()
        .map(|point| {
            let scenario = point.scenario();
            let [forward, back] = [0, 1].map(|link| match &scenario.links[link].config.rate {
                LinkRate::Trace { opportunities_ms, once: false } => opportunities_ms.to_vec(),
                other => panic!("{other:?}"),
            });
            assert_eq!(forward, back, "they were recorded together");
            assert_eq!((forward.len(), forward.last()), (5, Some(&1000)));
            let again = load(&point.resolved_toml());
            assert_eq!(again.points()[0].content_hash(), point.content_hash());
            forward
        })
        .collect();
    assert!(places.len() > 1, "{places:?}");
    // The longest gap is the likeliest place.
    assert!(places.contains(&vec![10, 20, 100, 400, 1000]) && places.contains(&vec![600, 610, 620, 700, 1000]));
    assert!(experiment.explain().contains("begin at a place drawn from the seed"), "{}", experiment.explain());
    let given = load(&format!("{path}\n[sweep]\nrepeat = 2\n"));
    assert!(given.points().iter().all(|point| {
        matches!(&point.scenario().links[0].config.rate,
            LinkRate::Trace { opportunities_ms, .. } if **opportunities_ms == [10, 20, 100, 400, 1000])
    }));
}

#[test]
fn a_place_in_rates_that_do_not_repeat_is_refused() {
    for rate in
        ["rate = \"10mbit\"", "rate = [[\"0s\", \"1mbit\"], [\"1s\", \"2mbit\"]]", "trace = [1, 2]\nonce = true"]
    {
        let text = format!("vary_phase = true\n{}", MINIMAL.replace("rate = \"10mbit\"", rate));
        let errors = Experiment::from_toml(&text, "test.toml", &[]).unwrap_err().to_string();
        assert!(errors.contains("test.toml:1:14") && errors.contains("remove `vary_phase`"), "{errors}");
    }
}

#[test]
fn a_loss_that_is_given_is_not_marked_as_a_default() {
    let text = MINIMAL.replace("rtt", "loss = \"1%\"\nrtt");
    let explained = load(&text).explain();
    assert!(explained.contains("loss 1% after transmission\n"), "{explained}");
}

fn refusal(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<(String, String)> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Experiment::from_toml(text, "test.toml", &overrides).unwrap_err().to_string()
}

#[test]
fn a_setting_of_which_nothing_is_left_is_refused_with_what_replaces_it() {
    let swept = format!("{MINIMAL}[sweep]\n\"flows[0].cc\" = [\"bbr\", \"cubic\"]\npath.loss = [\"0%\", \"1%\"]\n");
    let error = refusal(&swept, &[("flows[0].cc.steady_window_gain", "1.1")]);
    assert!(error.contains("`flows[0].cc.steady_window_gain` changes nothing: the sweep replaces `flows[0].cc`"));
    assert!(refusal(&swept, &[("flows[*].cc.nonsense", "3")]).contains("`flows[*].cc.nonsense` changes nothing"));
    assert!(refusal(&swept, &[("path.loss", "2%")]).contains("the sweep replaces `path.loss`"));
    let error = refusal(MINIMAL, &[("path.loss", "1%"), ("path.loss", "2%")]);
    assert!(error.contains("`path.loss` changes nothing: a later `--set path.loss` replaces it"), "{error}");
    let error = refusal(MINIMAL, &[("flows[0].cc.drain_gain", "0.5"), ("flows[0].cc", "cubic")]);
    assert!(error.contains("a later `--set flows[0].cc` replaces it"), "{error}");
}

#[test]
fn a_setting_that_no_flow_reads_is_refused() {
    let presets = format!("{MINIMAL}[presets.mine]\nbase = \"bbr\"\n");
    let error = refusal(&presets, &[("presets.mine.drain_gain", "0.5")]);
    assert!(error.contains("no flow has the algorithm `mine`"), "{error}");
    load_with(&presets, &[("presets.mine.drain_gain", "0.5"), ("flows[0].cc", "mine")]);
    load_with(&presets, &[("presets.mine.drain_gain", "0.5"), ("sweep.\"flows[0].cc\"", "[\"bbr\", \"mine\"]")]);

    let own = format!("{MINIMAL}transport = {{ profile = \"quic\", mss = 1200 }}\n");
    for (key, value) in [("transport.mss", "1000"), ("transport", "dqc"), ("transport.profile", "dqc")] {
        assert!(refusal(&own, &[(key, value)]).contains("every flow has its own"), "{key}");
    }
    let two = format!("{own}[[flows]]\ncc = \"cubic\"\n");
    load_with(&two, &[("transport.mss", "1000")]);
    load_with(&own, &[("transport.ack_every", "3")]);
}

#[test]
fn a_part_of_what_a_sweep_changes_is_left_and_so_is_what_was_there_already() {
    let swept = format!("{MINIMAL}[sweep]\n\"flows[0].cc.drain_gain\" = [0.4, 0.5]\n");
    let points = load_with(&swept, &[("flows[0].cc.steady_window_gain", "1.1")]);
    for point in points.points() {
        assert_eq!(point.scenario().flows[0].cc.changed().len(), 2);
    }
    assert_eq!(load_with(&swept, &[("sweep", "{ repeat = 3 }")]).points().len(), 3);
    let plain = load(MINIMAL).points()[0].content_hash();
    assert_eq!(load_with(MINIMAL, &[("path.loss", "0%")]).points()[0].content_hash(), plain);
    assert_eq!(load_with(MINIMAL, &[("path.rate", "10mbit")]).points()[0].content_hash(), plain);
}

#[test]
fn queues_share_a_pool_and_receivers_read_at_a_rate_and_both_come_back() {
    let text = r#"
        pools = [{ name = "tor", size = "4MB" }]
        [path]
        rate = "10mbit"
        rtt = "40ms"
        buffer = { pool = "tor", alpha = 0.5, packets = 300 }
        [path.reverse]
        rate = "10mbit"
        buffer = { pool = "tor" }
        [[flows]]
        cc = "bbr"
        read_rate = "2mbit"
        [[flows]]
        cc = "bbr"
        read_rate = { on = "2s", off = "1s" }
    "#;
    let experiment = Experiment::from_toml(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let point = &experiment.points()[0];
    let again = Experiment::from_toml(&point.resolved_toml(), "again.toml", &[]).unwrap();
    assert_eq!(again.points()[0].resolved_toml(), point.resolved_toml());
    let scenario = point.scenario();
    let alphas: Vec<f64> = scenario.links.iter().map(|link| link.pool.unwrap().alpha).collect();
    assert_eq!((alphas, scenario.links[0].config.limit.packets), (vec![0.5, 1.0], Some(300)));
    let explained = experiment.explain();
    for said in ["at most 0.5 times what is free of the 4 000 000 bytes of pool tor", "its receiver reads 2 Mbit/s"] {
        assert!(explained.contains(said), "{said:?} is not in\n{explained}");
    }
}

#[test]
fn what_is_wrong_with_pools_and_readers_is_said_with_its_place() {
    let base =
        "flows = [{ cc = \"bbr\" }]\npath = { rate = \"10mbit\", rtt = \"40ms\", buffer = { pool = \"tor\" } }\n";
    let pool = "pools = [{ name = \"tor\", size = \"1MB\" }]\n";
    for (text, said) in [
        (base.to_owned(), "there is no pool `tor`"),
        (format!("{base}pools = [{{ name = \"tro\", size = \"1MB\" }}]\n"), "did you mean `tro`?"),
        (format!("{base}pools = [{{ name = \"tor\" }}]\n"), "this pool has no `size`"),
        (format!("{base}pools = [{{ name = \"tor\", size = \"0B\" }}]\n"), "pools[0].size"),
        (format!("{base}pools = [{{ size = \"1MB\" }}]\n"), "this pool has no `name`"),
        (format!("{pool}{}", base.replace("{ pool = \"tor\" }", "\"1bdp\"")), "the pool `tor` changes nothing"),
        (format!("{pool}{}", base.replace("\"tor\" }", "\"tor\", alpha = 0 }")), "path.buffer.alpha"),
        (
            format!("{pool}{}", base.replace("pool = \"tor\"", "alpha = 2, bytes = \"1MB\"")),
            "`alpha` belongs to `pool`",
        ),
        (format!("{pool}{}", base.replace("\"10mbit\"", "\"unlimited\"")), "nothing waits in front of a link"),
        (
            base.replace("buffer = { pool = \"tor\" }", "buffer = \"1bdp\"")
                .replace("\"bbr\"", "\"bbr\", read_rate = \"0bit\""),
            "cannot read at this rate",
        ),
        (
            base.replace("buffer = { pool = \"tor\" }", "buffer = \"1bdp\"")
                .replace("\"bbr\"", "\"bbr\", read_rate = \"1mbit\", transport = \"quic\""),
            "flows[0].read_rate",
        ),
    ] {
        let error = Experiment::from_toml(&text, "test.toml", &[]).unwrap_err().to_string();
        assert!(error.contains(said), "{said:?} is not in\n{error}");
    }
}
