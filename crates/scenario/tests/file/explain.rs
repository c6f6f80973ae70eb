//! What an explanation says of each part of an experiment.

use dumbbell_scenario::Experiment;

/// The explanation of a path with these keys and one flow with those, and of what else there is.
fn explained(path: &str, flow: &str, rest: &str) -> String {
    let text = format!("[path]\nrtt = \"40ms\"\n{path}\n[[flows]]\ncc = \"bbr\"\n{flow}\n{rest}\n");
    Experiment::from_toml(&text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}")).explain()
}

/// The explanation of a path of 10 Mbit/s with these keys.
fn wired(path: &str) -> String {
    explained(&format!("rate = \"10mbit\"\n{path}"), "", "")
}

/// Each of these keys has these words in the explanation of the experiment that `explain` makes of it.
fn assert_says(cases: &[(&str, &str)], explain: impl Fn(&str) -> String) {
    for (keys, words) in cases {
        let said = explain(keys);
        assert!(said.contains(words), "{keys}: {words:?} is not in\n{said}");
    }
}

const QUEUES: &[(&str, &str)] = &[
    ("\"droptail\"", "one way, queue 50 000 bytes = 1.00 BDP (default)"),
    ("\"drophead\"", ", drop-head queue 50 000 bytes"),
    ("{ kind = \"codel\", target = \"10ms\" }", ", CoDel (10 ms, 100 ms) queue"),
    ("{ kind = \"codel\", ecn = true }", ", CoDel (5 ms, 100 ms, marks) queue"),
    ("\"fq_codel\"", ", FQ-CoDel (1024 lines, 5 ms, 100 ms, marks) queue"),
    ("{ kind = \"fq_codel\", ecn = false }", ", FQ-CoDel (1024 lines, 5 ms, 100 ms) queue"),
    ("{ kind = \"red\", min = \"15kB\", max = \"45kB\" }", ", RED (15 000 to 45 000 bytes, up to 2%) queue"),
    (
        "{ kind = \"red\", min = \"15kB\", max = \"45kB\", gentle = true, ecn = true }",
        ", RED (15 000 to 45 000 bytes, up to 2%, gentle, marks) queue",
    ),
    ("\"adaptive-red\"", ", adaptive RED (7 500 to 22 500 bytes) queue"),
    ("\"pie\"", ", PIE (15 ms, every 15 ms) queue"),
    ("{ kind = \"pie\", ecn = true }", ", PIE (15 ms, every 15 ms, marks) queue"),
    ("\"dualpi2\"", ", DualPI2 (15 ms, L4S 1 ms, k = 2) queue"),
    ("{ kind = \"dualpi2\", step = \"5packets\" }", ", DualPI2 (15 ms, L4S 5 packets, k = 2) queue"),
    ("\"cake\"", ", CAKE (unshaped) queue"),
    ("{ kind = \"cake\", bandwidth = \"9mbit\" }", ", CAKE (9 Mbit/s) queue"),
    ("\"fq\"", ", fair queue (turns of 3 000 bytes, 100 packets a flow) queue"),
    ("\"sfb\"", ", SFB (bins of 20 packets, penalty 10 packets/s, marks) queue"),
    ("\"blue\"", ", BLUE (+2% and −0.2%, at most every 100 ms) queue"),
    ("{ kind = \"threshold\", threshold = \"10packets\" }", ", step-marking (above 10 packets) queue"),
    (
        "{ kind = \"tbf\", rate = \"5mbit\", burst = \"10kB\" }",
        ", shaped to 5 Mbit/s with bursts of 10 000 bytes queue",
    ),
    (
        "{ kind = \"tbf\", rate = \"5mbit\", burst = \"10kB\", peak_rate = \"8mbit\" }",
        " with bursts of 10 000 bytes, at most 8 Mbit/s queue",
    ),
    ("\"mahimahi-codel\"", ", Mahimahi's CoDel (5 ms, 100 ms) queue"),
    ("\"mahimahi-pie\"", ", Mahimahi's PIE (15 ms, bursts of 150 ms) queue"),
];

#[test]
fn queues_are_told_with_what_they_aim_at() {
    assert_says(QUEUES, |queue| wired(&format!("queue = {queue}")));
}

#[test]
fn buffers_are_told_in_their_own_unit_and_in_bdp() {
    let cases = [
        ("\"unlimited\"", ", queue unlimited\n"),
        ("\"100packets\"", ", queue 100 packets\n"),
        ("\"64kB\"", ", queue 64 000 bytes = 1.28 BDP\n"),
        ("\"50ms\"", ", queue 50ms at the current rate\n"),
        (
            "{ packets = 100, bytes = \"64kB\", time = \"50ms\" }",
            ", queue 100 packets or 64 000 bytes or 50ms at the current rate = 1.28 BDP\n",
        ),
    ];
    assert_says(&cases, |buffer| wired(&format!("buffer = {buffer}")));
}

const LOSSES: &[(&str, &str)] = &[
    ("\"1%\"", ", loss 1% after transmission"),
    ("{ kind = \"bernoulli\", p = \"1%\", correlation = \"25%\" }", ", loss 1% (correlation 25%) after transmission"),
    (
        "{ kind = \"gilbert-elliott\", p = \"1%\", r = \"10%\" }",
        ", Gilbert-Elliott loss (p 1%, r 10%, 100% when bad, 0% when good) after",
    ),
    (
        "{ kind = \"gilbert-elliott\", good_for = \"1s\", bad_for = \"10ms\" }",
        ", Gilbert-Elliott loss (good for 1 s, bad for 10 ms on average, 100% when bad, 0% when good) after",
    ),
    (
        "{ kind = \"four-state\", p13 = \"1%\", p31 = \"10%\" }",
        ", four-state loss (p13 1%, p31 10%, p32 0%, p23 100%, p14 0%) after",
    ),
    ("{ kind = \"periodic\", p = \"1%\" }", ", periodic loss 1% after"),
    ("{ kind = \"steps\", steps = [[\"0s\", \"0%\"], [\"1s\", \"5%\"]] }", ", loss of 0% to 5% in 2 steps after"),
];

#[test]
fn losses_are_told_with_their_probabilities() {
    assert_says(LOSSES, |loss| wired(&format!("loss = {loss}")));
    let before = wired("loss = \"1%\"\nloss_at = \"before\"");
    assert!(before.contains(", loss 1% before the queue"), "{before}");
}

const IMPAIRMENTS: &[(&str, &str)] = &[
    ("jitter = \"2ms\"", ", jitter 2 ms"),
    ("reorder = { probability = \"25%\", gap = 5 }", ", 25% of packets overtake"),
    ("late = { probability = \"1%\", min = \"5ms\", max = \"9ms\" }", ", 1% of packets late by 5 ms to 9 ms"),
    ("duplicate = \"1%\"", ", 1% of packets duplicated"),
    ("duplicate = { probability = \"1%\", correlation = \"25%\" }", ", 1% (correlation 25%) of packets duplicated"),
    ("corrupt = \"1%\"", ", 1% of packets damaged"),
    ("limit = 100", ", at most 100 packets on it"),
    ("aggregate = { timeout = \"5ms\" }", ", releases bundles after 5 ms"),
    ("aggregate = { every = \"5ms\" }", ", releases bundles every 5 ms"),
    ("aggregate = { timeout = \"5ms\", packets = 10 }", ", releases bundles of at most 10 packets after 5 ms"),
    ("ecn_fault = { kind = \"remark\", to = \"ce\" }", ", sets the ECN bits to CE"),
    ("overhead = \"38B\"", ", 38 bytes of framing a packet"),
    ("policer = { rate = \"8mbit\", burst = \"30kB\" }", ", policed to 8 Mbit/s with bursts of 30 000 bytes"),
    (
        "reverse = { delay = { mean = \"20ms\", amplitude = \"5ms\", period = \"1s\" } }",
        ", 15 ms to 25 ms one way in 100 steps, again every 1 s",
    ),
    ("events = [{ action = \"drop\", packets = [3, 5] }]", ", drops data 3 to 5"),
    ("events = [{ action = \"delay\", packets = [3, 3], by = \"30ms\" }]", ", delays data 3 to 3 by 30 ms"),
    ("events = [{ action = \"mark\", from = \"1s\", until = \"2s\" }]", ", marks data from 1s until 2s"),
    ("events = [{ action = \"duplicate\", bytes = [\"0B\", \"9kB\"] }]", ", duplicates data from byte 0 to 9000"),
    (
        "events = [{ action = \"hold\", from = \"1s\", until = \"1080ms\", repeat = \"3s\", times = 4 }]",
        ", holds data from 1s until 1.08s, again every 3 s, 4 times in all",
    ),
    ("events = [{ action = \"drop\", of = \"acks\", packets = [1, 2], flow = 0 }]", ", drops ACKs of flow 0 1 to 2"),
];

#[test]
fn what_else_happens_to_packets_is_told() {
    assert_says(IMPAIRMENTS, wired);
    let plain = wired("");
    for (_, words) in IMPAIRMENTS {
        assert!(!plain.contains(words), "{words:?} is in\n{plain}");
    }
}

#[test]
fn rates_that_change_are_told_with_their_mean() {
    let steps = "[[\"0s\", \"1mbit\"], [\"5s\", \"3mbit\"]]";
    let (once, again) = (format!("rate = {steps}"), format!("rate = {{ steps = {steps}, repeat = \"10s\" }}"));
    let cases = [
        (once.as_str(), ": 2 steps, mean 2.83 Mbit/s, 20 ms one way, queue 14 166 bytes = 1.00 BDP of the mean rate"),
        (again.as_str(), ": 2 steps, mean 2 Mbit/s, again every 10 s, 20 ms one way"),
        ("trace = [1, 2, 3, 10]", ": trace, mean 4.8 Mbit/s, 20 ms"),
        ("trace = [1, 2, 3, 10]\nonce = true", ": trace once, mean 4.8 Mbit/s, 20 ms"),
        ("wifi = {}", ": Wi-Fi 5 on channel wifi (80 MHz, 1 stream, MCS 9: 433.33 Mbit/s), 20 ms one way"),
        (
            "rate = \"1gbit\"\nreverse = { rate = \"unlimited\" }",
            "bottleneck-reverse (right -> left): unlimited rate, 20 ms",
        ),
    ];
    assert_says(&cases, |keys| explained(keys, "", ""));
}

const FLOWS: &[(&str, &str)] = &[
    ("", "  0: bbr -> bbr1-linux-6.18, base RTT 40 ms, starts at 0 s (default), until the end (default)\n"),
    (
        "start = \"1s\"\ncount = 3\nstagger = \"2s\"",
        "  0 to 2: bbr -> bbr1-linux-6.18, base RTT 40 ms, starts at 1 s to 5 s,",
    ),
    ("start_jitter = \"5ms\"\nstop = \"9s\"", ", starts at 0 s plus up to 5 ms (default), stops at 9 s\n"),
    ("bytes = \"3MB\"", ", transfers 3 000 000 bytes\n"),
    ("rate = \"2mbit\"", ", application produces 2 Mbit/s\n"),
    ("app = { rate = \"2mbit\", write = \"14kB\" }", ", application produces 2 Mbit/s in writes of 14 000 bytes\n"),
    ("rate = [[\"0s\", \"1mbit\"], [\"2s\", \"2mbit\"]]", ", application's rate has 2 steps\n"),
    ("streams = { count = 4 }", ", 4 streams with messages of 100 000 bytes\n"),
    ("read_rate = \"1mbit\"", ", its receiver reads 1 Mbit/s\n"),
    ("read_rate = [[\"0s\", \"1mbit\"], [\"2s\", \"2mbit\"]]", ", the rate at which its receiver reads has 2 steps\n"),
    ("label = \"own\"", "  0: own = bbr -> bbr1-linux-6.18,"),
    ("rtt = \"60ms\"", ", base RTT 60 ms,"),
    ("transport = \"quic\"", ", transport quic\n"),
    ("transport = { ack_every = 4 }", ", transport tcp (ack_every = 4)\n"),
];

#[test]
fn flows_are_told_with_their_times_and_applications() {
    assert_says(FLOWS, |keys| explained("rate = \"10mbit\"", keys, ""));
}

const TRAFFIC: &[(&str, &str)] = &[
    (
        "kind = \"short-flows\"\nper_second = 10\nsize = \"30kB\"",
        "  0: short-flows: short flows, 10.0 a second (Poisson), sizes 30 000 bytes, cubic",
    ),
    (
        "kind = \"short-flows\"\nload = \"50%\"\narrivals = \"periodic\"\nsize = { kind = \"pareto\", mean = \"30kB\", shape = 1.5 }",
        "short flows, 20.1 a second (periodic), sizes Pareto with mean 30 000 bytes and shape 1.5, cubic",
    ),
    (
        "kind = \"short-flows\"\nper_second = 10\nsize = { kind = \"pareto\", mean = \"30kB\", shape = 1.5, max = \"1MB\" }",
        "and shape 1.5, at most 1 000 000 bytes, cubic",
    ),
    (
        "kind = \"short-flows\"\nper_second = 10\nsize = { kind = \"lognormal\", mean = \"30kB\", sigma = 1.5 }",
        ", sizes lognormal with mean 30 000 bytes and sigma 1.5, cubic",
    ),
    (
        "kind = \"short-flows\"\nper_second = 10\nsize = { kind = \"exponential\", mean = \"30kB\" }",
        ", sizes exponential with mean 30 000 bytes, cubic",
    ),
    (
        "kind = \"short-flows\"\nper_second = 10\nsize = { kind = \"empirical\", points = [[\"1kB\", 0.5], [\"2kB\", 1.0]] }",
        ", sizes of a distribution of 2 points with mean 1250 bytes, cubic",
    ),
    (
        "kind = \"web-pages\"",
        "web-pages: a user who loads pages over 6 connections: documents lognormal with mean 10 710 bytes",
    ),
    (
        "kind = \"web-pages\"",
        "; up to 53 objects, lognormal with mean 7 758 bytes and sigma 2.36, at most 2 000 000 bytes, cubic",
    ),
    (
        "kind = \"incast\"\nservers = 4\nsize = \"32kB\"",
        "incast: 4 servers answer one request, answers 32 000 bytes, cubic",
    ),
    (
        "kind = \"incast\"\nservers = 4\ntotal = \"1MB\"\nservice = \"1ms\"\nrounds = 5\npause = { kind = \"exponential\", mean = \"2ms\" }",
        ", answers 250 000 bytes, service 1 ms, pause 2 ms on average (exponential), up to 5 rounds, cubic",
    ),
    (
        "kind = \"list\"\nflows = [[\"1s\", \"30kB\"], [\"2s\", \"1MB\"]]",
        "list: 2 listed flows, 1 030 000 bytes in all, cubic",
    ),
];

#[test]
fn traffic_is_told_with_how_much_of_it_there_is() {
    assert_says(TRAFFIC, |keys| explained("rate = \"10mbit\"", "", &format!("[[traffic]]\ncc = \"cubic\"\n{keys}")));
}

#[test]
fn a_sweep_is_told_with_its_values_and_seeds() {
    let said = explained("rate = \"10mbit\"", "", "[sweep]\n\"path.rate\" = [\"1mbit\", \"2mbit\"]\nrepeat = 3");
    for words in [
        "test.toml\n",
        "  runs 60 s (default)\n",
        "  measured from 0 s to 60 s (default)\n",
        "  seed 1 (default)\n",
        "  time series every 100 ms (default)\n",
        "sweep: 6 runs\n",
        "  path.rate: 1mbit, 2mbit\n",
        "  3 repetitions, seeds 1, 4974391869718146, ...\n",
        "  shown above: the first run\n",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
}
