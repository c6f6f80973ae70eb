//! What the parts of a link accept and refuse, at the very bounds, and the words in which they are told of.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use dumbbell_parameters::Problem;
use dumbbell_path::wifi::Wifi;
use dumbbell_path::{
    Aggregate, Delay, Jitter, Late, Level, LinkContext, PacketEvent, Policer, QueueLimit, Reorder, Share,
};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A link of 12 Mbit/s with a BDP of 15 kB, whose packets have up to 1500 bytes.
fn link() -> LinkContext {
    LinkContext {
        rate: Some(Rate::from_bits_per_sec(12_000_000)),
        bdp: Some(Bytes::new(15_000)),
        limit: QueueLimit { packets: Some(100), ..QueueLimit::default() },
        largest_packet: Bytes::new(1_500),
    }
}

fn split(table: &Value) -> (String, Map<String, Value>) {
    let mut table = table.as_object().unwrap().clone();
    let kind = table.remove("kind").unwrap();
    (kind.as_str().unwrap().to_owned(), table)
}

/// The words of a queue, or the key that is wrong.
fn queue(table: &Value, link: &LinkContext) -> Result<String, String> {
    let (kind, table) = split(table);
    let recipe = dumbbell_path::queue::catalog().resolve(&kind, &table, link);
    recipe.map(|recipe| recipe.in_words().to_owned()).map_err(|problems| problems[0].key.clone())
}

/// The words of a loss, or the key that is wrong.
fn loss(table: &Value) -> Result<String, String> {
    let (kind, table) = split(table);
    let recipe = dumbbell_path::loss::catalog().resolve(&kind, &table, &link());
    recipe.map(|recipe| recipe.in_words().to_owned()).map_err(|problems| problems[0].key.clone())
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn key(result: Result<(), Problem>) -> String {
    result.map_or_else(|problem| problem.key, |()| String::new())
}

#[test]
fn queues_are_told_of_in_words() {
    for (table, words) in [
        (json!({"kind": "droptail"}), ""),
        (json!({"kind": "drophead"}), "drop-head"),
        (json!({"kind": "codel"}), "CoDel (5 ms, 100 ms)"),
        (json!({"kind": "codel", "ecn": true}), "CoDel (5 ms, 100 ms, marks)"),
        (json!({"kind": "threshold", "threshold": "5packets"}), "step-marking (above 5 packets)"),
        (
            json!({"kind": "threshold", "threshold": "2bdp", "drop_not_ect": true}),
            "step-marking (above 30 000 bytes, drops without ECN)",
        ),
        (json!({"kind": "threshold", "threshold": "1ms"}), "step-marking (above 1 ms of waiting)"),
        // From 1/12 to 1/4 of what 100 packets of 1500 bytes are.
        (json!({"kind": "red"}), "RED (12 500 to 37 500 bytes, up to 2%)"),
        (
            json!({"kind": "red", "min": "3kB", "max": "9kB", "ecn": true, "gentle": true}),
            "RED (3 000 to 9 000 bytes, up to 2%, gentle, marks)",
        ),
        // From 5 packets to three times that.
        (json!({"kind": "adaptive-red"}), "adaptive RED (7 500 to 22 500 bytes)"),
        (json!({"kind": "adaptive-red", "ecn": true}), "adaptive RED (7 500 to 22 500 bytes, marks)"),
        (json!({"kind": "blue"}), "BLUE (+2% and −0.2%, at most every 100 ms)"),
        (json!({"kind": "blue", "ecn": true}), "BLUE (+2% and −0.2%, at most every 100 ms, marks)"),
        (json!({"kind": "sfb"}), "SFB (bins of 20 packets, penalty 10 packets/s, marks)"),
        (json!({"kind": "sfb", "ecn": false}), "SFB (bins of 20 packets, penalty 10 packets/s)"),
        (json!({"kind": "pie"}), "PIE (15 ms, every 15 ms)"),
        (json!({"kind": "pie", "ecn": true}), "PIE (15 ms, every 15 ms, marks)"),
        (json!({"kind": "mahimahi-codel"}), "Mahimahi's CoDel (5 ms, 100 ms)"),
        (json!({"kind": "mahimahi-pie"}), "Mahimahi's PIE (15 ms, bursts of 150 ms)"),
        (json!({"kind": "fq"}), "fair queue (turns of 3 000 bytes, 100 packets a flow)"),
        (
            json!({"kind": "fq", "max_rate": "1mbit"}),
            "fair queue (turns of 3 000 bytes, 100 packets a flow, at most 1 Mbit/s each)",
        ),
        (json!({"kind": "fq_codel"}), "FQ-CoDel (1024 lines, 5 ms, 100 ms, marks)"),
        (json!({"kind": "fq_codel", "flows": 1}), "FQ-CoDel (1 line, 5 ms, 100 ms, marks)"),
        (json!({"kind": "cake"}), "CAKE (unshaped)"),
        (json!({"kind": "cake", "bandwidth": "10mbit"}), "CAKE (10 Mbit/s)"),
        (json!({"kind": "cake", "ack_filter": true}), "CAKE (unshaped, filters ACKs)"),
        (json!({"kind": "dualpi2"}), "DualPI2 (15 ms, L4S 1 ms, k = 2)"),
        (json!({"kind": "dualpi2-2020"}), "DualPI2 (15 ms, L4S 1 ms, k = 2)"),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB"}), "shaped to 6 Mbit/s with bursts of 3 000 bytes"),
        (
            json!({"kind": "tbf", "rate": "6mbit", "burst": "2packets", "peak_rate": "8mbit"}),
            "shaped to 6 Mbit/s with bursts of 3 000 bytes, at most 8 Mbit/s",
        ),
    ] {
        assert_eq!(queue(&table, &link()).as_deref(), Ok(words), "{table}");
    }
}

#[test]
fn losses_are_told_of_in_words() {
    for (table, words) in [
        (json!({"kind": "bernoulli", "p": "1%"}), "loss 1%"),
        (json!({"kind": "bernoulli", "p": "1%", "correlation": "25%"}), "loss 1% (correlation 25%)"),
        (
            json!({"kind": "gilbert-elliott", "p": "1%"}),
            "Gilbert-Elliott loss (p 1%, r 99%, 100% when bad, 0% when good)",
        ),
        (
            json!({"kind": "gilbert-elliott", "p": "1%", "r": "30%", "loss_bad": "80%", "loss_good": "1%"}),
            "Gilbert-Elliott loss (p 1%, r 30%, 80% when bad, 1% when good)",
        ),
        (
            json!({"kind": "gilbert-elliott", "good_for": "636ms", "bad_for": "16.7ms"}),
            "Gilbert-Elliott loss (good for 636 ms, bad for 16.7 ms on average, 100% when bad, 0% when good)",
        ),
        (json!({"kind": "four-state", "p13": "1%"}), "four-state loss (p13 1%, p31 99%, p32 0%, p23 100%, p14 0%)"),
        (json!({"kind": "periodic", "p": "1%"}), "periodic loss 1%"),
        (json!({"kind": "steps", "steps": [["0s", "1%"], ["1s", "100%"]]}), "loss of 1% to 100% in 2 steps"),
        (
            json!({"kind": "steps", "steps": [["0s", "1%"], ["1s", "2%"]], "repeat": "2s"}),
            "loss of 1% to 2% in 2 steps, again every 2 s",
        ),
    ] {
        assert_eq!(loss(&table).as_deref(), Ok(words), "{table}");
    }
}

/// Each table with the key that is wrong, if one is.
#[test]
fn queues_refuse_what_cannot_be_meant() {
    let unlimited = LinkContext { rate: None, ..link() };
    let endless = LinkContext { limit: QueueLimit::default(), ..link() };
    for (table, link, wrong) in [
        (json!({"kind": "drophead"}), endless, Some("")),
        (json!({"kind": "red", "min": "3kB", "max": "9kB"}), unlimited, Some("")),
        (json!({"kind": "adaptive-red"}), unlimited, Some("")),
        (json!({"kind": "red", "min": "9kB", "max": "9kB"}), link(), Some("min")),
        (json!({"kind": "red", "min": "0B", "max": "9kB"}), link(), Some("min")),
        (json!({"kind": "red", "max": "2B"}), link(), Some("max")),
        (json!({"kind": "red"}), endless, Some("")),
        (json!({"kind": "red", "hard_drop": true}), link(), Some("hard_drop")),
        (json!({"kind": "red", "no_drop": true}), link(), Some("no_drop")),
        (json!({"kind": "red", "hard_drop": true, "ecn": true}), link(), None),
        (json!({"kind": "blue", "threshold": "0packets"}), link(), Some("threshold")),
        (json!({"kind": "sfb", "bin_size": 26}), link(), Some("bin_size")),
        (json!({"kind": "threshold", "threshold": "0packets"}), link(), Some("threshold")),
        (json!({"kind": "threshold", "threshold": "0B"}), link(), Some("threshold")),
        (json!({"kind": "threshold", "threshold": "0s"}), link(), Some("threshold")),
        (json!({"kind": "threshold", "threshold": "1packet"}), link(), None),
        (json!({"kind": "threshold", "threshold": "1B"}), link(), None),
        (json!({"kind": "threshold", "threshold": "1ns"}), link(), None),
        (json!({"kind": "threshold", "threshold": "1ms", "mark": "enqueue"}), link(), Some("mark")),
        (json!({"kind": "threshold", "threshold": "5packets", "mark": "dequeue"}), link(), None),
        (json!({"kind": "threshold", "threshold": "1bdp"}), LinkContext { bdp: None, ..link() }, Some("threshold")),
        // A level is at most a pebibyte: 2^50 bytes.
        (json!({"kind": "threshold", "threshold": "1024TiB"}), link(), None),
        (json!({"kind": "threshold", "threshold": "1125899906842625B"}), link(), Some("threshold")),
        (json!({"kind": "cake", "hosts": [[0, 1], [1]]}), link(), Some("hosts")),
        (json!({"kind": "cake", "hosts": [[0, 1], [2]]}), link(), None),
        (json!({"kind": "cake", "destinations": [[0, 1], [1]]}), link(), Some("destinations")),
        (json!({"kind": "cake", "isolation": "flows", "hosts": [[0, 1]]}), link(), Some("hosts")),
        (json!({"kind": "cake", "isolation": "dual-srchost"}), link(), Some("isolation")),
        (json!({"kind": "cake", "isolation": "dual-srchost", "hosts": [[0, 1]]}), link(), None),
        (json!({"kind": "cake", "ingress": true}), link(), Some("ingress")),
        (json!({"kind": "cake", "framing": "atm"}), link(), Some("framing")),
        (json!({"kind": "cake", "framing": "atm", "bandwidth": "1mbit"}), link(), None),
        (json!({"kind": "dualpi2", "step": "2packets", "ramp": "1ms"}), link(), Some("ramp")),
        (json!({"kind": "dualpi2", "step": "2packets", "ramp": "0s"}), link(), None),
        (json!({"kind": "dualpi2", "step": "2kB"}), link(), Some("step")),
        (json!({"kind": "dualpi2", "step": "0.1bdp"}), link(), Some("step")),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "1499B"}), link(), Some("burst")),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "1500B"}), link(), None),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "mtu": "1500B"}), link(), Some("mtu")),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "peak_rate": "5999kbit"}), link(), Some("peak_rate")),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "peak_rate": "6mbit"}), link(), None),
        (
            json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "peak_rate": "8mbit", "mtu": "1499B"}),
            link(),
            Some("mtu"),
        ),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "peak_rate": "8mbit", "mtu": "1500B"}), link(), None),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "initial": "3001B"}), link(), Some("initial")),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "3kB", "initial": "3kB"}), link(), None),
        (json!({"kind": "tbf", "rate": "6mbit", "burst": "1bdp"}), link(), Some("burst")),
        (json!({"kind": "codel", "bandwidth": "1mbit"}), link(), Some("bandwidth")),
        (json!({"kind": "tbf", "rate": "6mbit"}), link(), Some("burst")),
        (json!({"kind": "kodel"}), link(), Some("kind")),
    ] {
        assert_eq!(queue(&table, &link).err().as_deref(), wrong, "{table}");
    }
}

#[test]
fn a_misspelt_key_is_unknown_and_nothing_is_missing_besides() {
    let problems = |table: Value| {
        let (kind, table) = split(&table);
        let problems = dumbbell_path::queue::catalog().check(&kind, &table);
        problems.into_iter().map(|problem| (problem.key, problem.message)).collect::<Vec<_>>()
    };
    let of_key = |key: &str, message: &str| vec![(key.to_owned(), message.to_owned())];
    let misspelt = problems(json!({"kind": "tbf", "rate": "6mbit", "bust": "3kB"}));
    assert_eq!(misspelt, of_key("bust", "unknown key `bust`"));
    let missing = problems(json!({"kind": "tbf", "rate": "6mbit"}));
    assert_eq!(missing, of_key("burst", "this queue needs its `burst`"));
    let elsewhere = problems(json!({"kind": "codel", "tupdate": "1ms"}));
    assert_eq!(elsewhere, of_key("tupdate", "`tupdate` is no parameter of codel, but of pie and dualpi2"));
    let alone = problems(json!({"kind": "codel", "ramp": "1ms"}));
    assert_eq!(alone, of_key("ramp", "`ramp` is no parameter of codel, but of dualpi2"));
    assert_eq!(problems(json!({"kind": "kodel"})), of_key("kind", "unknown queue \"kodel\""));
}

#[test]
fn losses_refuse_what_cannot_be_meant() {
    for (table, wrong) in [
        (json!({"kind": "four-state", "p13": "100%"}), Some("p13")),
        (json!({"kind": "four-state", "p13": "100%", "p31": "1%"}), None),
        (json!({"kind": "four-state", "p13": "60%", "p14": "40%"}), None),
        (json!({"kind": "four-state", "p13": "60%", "p14": "41%"}), Some("p14")),
        (json!({"kind": "four-state", "p13": "1%", "p31": "50%", "p32": "50%"}), None),
        (json!({"kind": "four-state", "p13": "1%", "p31": "50%", "p32": "51%"}), Some("p32")),
        (json!({"kind": "steps", "steps": [["0s", "100%"]]}), None),
        (json!({"kind": "steps", "steps": [["0s", "101%"]]}), Some("steps")),
        (json!({"kind": "steps", "steps": [["1s", "1%"]]}), Some("steps")),
        (json!({"kind": "steps", "steps": []}), Some("steps")),
        (json!({"kind": "steps", "steps": [["0s", "1%"], ["0s", "2%"]]}), Some("steps")),
        (json!({"kind": "steps", "steps": [["0s", "1%"], ["1s", "2%"]], "repeat": "1s"}), Some("repeat")),
        (json!({"kind": "steps", "steps": [["0s", "1%"], ["1s", "2%"]], "repeat": "1001ms"}), None),
        (json!({"kind": "bernoulli", "p": "101%"}), Some("p")),
        (json!({"kind": "bernoulli", "p": "100%"}), None),
    ] {
        assert_eq!(loss(&table).err().as_deref(), wrong, "{table}");
    }
}

#[test]
fn events_are_about_something_and_told_of_in_words() {
    let event = |value: Value| read::<PacketEvent>(value);
    for (value, wrong) in [
        (json!({"action": "drop", "packets": [1, 1]}), ""),
        (json!({"action": "drop", "packets": [0, 1]}), "packets"),
        (json!({"action": "drop", "packets": [2, 1]}), "packets"),
        (json!({"action": "drop", "bytes": ["0B", "1B"]}), ""),
        (json!({"action": "drop", "bytes": ["1B", "1B"]}), "bytes"),
        (json!({"action": "mark", "from": "1s", "until": "1s"}), "until"),
        (json!({"action": "mark", "from": "1s", "until": "1001ms"}), ""),
        (json!({"action": "mark", "from": "1s"}), ""),
        (json!({"action": "mark", "until": "1s"}), ""),
        (json!({"action": "mark"}), ""),
        (json!({"action": "duplicate", "packets": [1, 2], "by": "1ms"}), "by"),
        (json!({"action": "delay", "packets": [1, 2]}), "by"),
        (json!({"action": "delay", "packets": [1, 2], "by": "1ms"}), ""),
        (json!({"action": "delay", "by": "1ms"}), ""),
        (json!({"action": "hold", "from": "1s"}), "until"),
        (json!({"action": "hold", "until": "1s"}), "until"),
        (json!({"action": "hold", "from": "1s", "until": "2s"}), ""),
        (json!({"action": "hold", "from": "1s", "until": "2s", "by": "1ms"}), "by"),
        (json!({"action": "hold", "from": "1s", "until": "2s", "packets": [1, 2]}), "packets"),
        (json!({"action": "hold", "from": "1s", "until": "2s", "bytes": ["1B", "2B"]}), "bytes"),
    ] {
        let result = event(value.clone()).check();
        assert_eq!(result.is_err(), !wrong.is_empty() || value == json!({"action": "mark"}), "{value}");
        assert_eq!(key(result), wrong, "{value}");
    }
    for (value, words) in [
        (json!({"action": "drop", "packets": [3, 5]}), "drops data 3 to 5"),
        (
            json!({"action": "mark", "of": "acks", "flow": 2, "bytes": ["1B", "9B"]}),
            "marks ACKs of flow 2 from byte 1 to 9",
        ),
        (json!({"action": "duplicate", "of": "any", "from": "1s"}), "duplicates packets from 1s"),
        (json!({"action": "delay", "by": "3ms", "packets": [1, 2]}), "delays data 1 to 2 by 3 ms"),
        (json!({"action": "hold", "from": "1s", "until": "2s"}), "holds data from 1s until 2s"),
    ] {
        assert_eq!(event(value).in_words(), words);
    }
}

#[test]
fn bundles_have_one_reason_to_be_released() {
    let aggregate = |value: Value| read::<Aggregate>(value);
    for (value, wrong) in [
        (json!({}), "timeout"),
        (json!({"timeout": "1ms", "every": "1ms"}), "every"),
        (json!({"every": "1ms", "slot": ["1ms", "2ms"]}), "slot"),
        (json!({"slot": ["2ms", "1ms"]}), "slot"),
        (json!({"slot": ["1ms", "1ms"]}), ""),
        (json!({"slot": ["0s", "0s"]}), "slot"),
        (json!({"slot": ["0s", "1ns"]}), ""),
        (json!({"slot": ["1ms", "1h"]}), ""),
        (json!({"slot": ["1ms", "3600001ms"]}), "slot"),
    ] {
        assert_eq!(key(aggregate(value.clone()).check()), wrong, "{value}");
    }
    for (value, words) in [
        (json!({"timeout": "2ms"}), "releases bundles after 2 ms"),
        (json!({"timeout": "2ms", "packets": 3}), "releases bundles of at most 3 packets after 2 ms"),
        (json!({"every": "2ms", "bytes": "3kB"}), "releases bundles of at most 3 000 bytes every 2 ms"),
        (json!({"slot": ["1ms", "2ms"]}), "releases bundles after 1 ms to 2 ms"),
    ] {
        assert_eq!(aggregate(value).in_words(), words);
    }
}

#[test]
fn wifi_knows_which_rates_exist() {
    let check = |value: Value| key(read::<Wifi>(value).check());
    // 802.11ac leaves out rates whose bits do not fill symbols, IEEE 802.11-2020, section 21.5.
    assert_eq!(check(json!({"width": "20mhz", "mcs": 9})), "mcs");
    assert_eq!(check(json!({"width": "20mhz", "mcs": 9, "streams": 3})), "");
    assert_eq!(check(json!({"width": "20mhz", "mcs": 8})), "");
    assert_eq!(check(json!({"width": "80mhz", "mcs": 6, "streams": 3})), "mcs");
    assert_eq!(check(json!({"width": "80mhz", "mcs": 6, "streams": 2})), "");
    assert_eq!(check(json!({"width": "160mhz", "mcs": 9, "streams": 3})), "mcs");
    let refused = read::<Wifi>(json!({"width": "20mhz", "mcs": 9})).check().unwrap_err();
    assert_eq!(refused.message, "802.11ac has no MCS 9 with 20 MHz and 1 stream");
    assert_eq!(refused.help, "allowed here: another MCS, for example 8");
    let of_three = read::<Wifi>(json!({"width": "80mhz", "mcs": 6, "streams": 3})).check().unwrap_err();
    assert!(of_three.message.ends_with("and 3 streams"), "{}", of_three.message);
    // 234 subcarriers of 8 bits, 5/6 of them data, in 3.6 us.
    let words = "Wi-Fi 5 on channel wifi (80 MHz, 1 stream, MCS 9: 433.33 Mbit/s)";
    assert_eq!(read::<Wifi>(json!({})).in_words(), words);
    assert!(read::<Wifi>(json!({"streams": 2})).in_words().contains("2 streams"));
    assert_eq!(read::<Wifi>(json!({"width": "20mhz", "mcs": 9})).rate(), Rate::ZERO);
}

#[test]
fn delays_are_told_of_in_words() {
    let ms = Duration::from_millis;
    let percent = |percent: f64| Ratio::new(percent / 100.0).unwrap();
    let jitter = Jitter { amount: ms(2), ..Jitter::default() };
    assert_eq!(jitter.in_words().as_deref(), Some("jitter 2 ms"));
    assert_eq!(Jitter { reorders: true, ..jitter }.in_words().as_deref(), Some("jitter 2 ms, may reorder"));
    assert_eq!(Jitter::default().in_words(), None);
    let reorder = Reorder { probability: percent(1.0), ..Reorder::default() };
    assert_eq!(reorder.in_words().as_deref(), Some("1% of packets overtake"));
    assert_eq!(Reorder { delay: ms(2), ..reorder }.in_words().as_deref(), Some("1% of packets overtake after 2 ms"));
    assert_eq!(Reorder::default().in_words(), None);
    let late = Late { probability: percent(2.0), min: ms(1), max: ms(5) };
    assert_eq!(late.in_words(), "2% of packets late by 1 ms to 5 ms");
    let delay = Delay { base: ms(10), ..Delay::default() };
    assert_eq!(delay.in_words(), "10 ms one way");
    let wave = Delay::sinusoid(ms(10), ms(4), ms(80), ms(20));
    assert_eq!(
        wave.steps
            .iter()
            .map(|(at, delay)| (at.as_nanos() / 1_000_000, delay.as_nanos() / 1_000_000))
            .collect::<Vec<_>>(),
        [(0, 10), (20, 14), (40, 10), (60, 6)]
    );
    let waving = Delay { schedule: Some(wave), ..delay };
    assert_eq!(waving.in_words(), "6 ms to 14 ms one way in 4 steps, again every 80 ms");
    assert_eq!(waving.shortest_base(), ms(6));
    let share = Share { probability: percent(1.0), correlation: Ratio::ZERO };
    assert_eq!(share.in_words(), "1%");
    assert_eq!(Share { correlation: percent(25.0), ..share }.in_words(), "1% (correlation 25%)");
}

#[test]
fn a_bucket_holds_a_full_packet_at_least() {
    let bytes = |bytes| Level::Bytes(Bytes::new(bytes));
    let policer = |burst, initial| Policer { rate: Rate::from_bits_per_sec(8_000_000), burst, initial };
    let wrong = |policer: Policer| key(policer.resolve(&link()).map(drop));
    assert_eq!(wrong(policer(bytes(1_499), None)), "burst");
    assert_eq!(wrong(policer(bytes(1_500), None)), "");
    assert_eq!(wrong(policer(bytes(3_000), Some(bytes(3_001)))), "initial");
    assert_eq!(wrong(policer(Level::Bdp(1.0), None)), "burst");
    // A full bucket at the start need not be told of; 2 ms at 8 Mbit/s are 2000 bytes.
    let full = policer(Level::Time(Duration::from_millis(2)), Some(bytes(2_000))).resolve(&link()).unwrap();
    assert_eq!((full.burst, full.initial), (bytes(2_000), None));
    let filling = policer(Level::Packets(2), Some(bytes(2_999))).resolve(&link()).unwrap();
    assert_eq!((filling.burst, filling.initial), (bytes(3_000), Some(bytes(2_999))));
    assert_eq!(filling.in_words(), "policed to 8 Mbit/s with bursts of 3 000 bytes, at first 2 999 bytes");
    assert_eq!(full.in_words(), "policed to 8 Mbit/s with bursts of 2 000 bytes");
    // Where no packet is known, a byte is enough.
    let unknown = LinkContext::default();
    assert_eq!(key(policer(bytes(1), None).resolve(&unknown).map(drop)), "");
    assert_eq!(key(policer(bytes(0), None).resolve(&unknown).map(drop)), "burst");
}

#[test]
fn a_preset_is_its_kind_with_other_defaults() {
    let resolved = |table: serde_json::Value| {
        let recipe = dumbbell_path::queue::catalog();
        let (kind, mut table) = (table["kind"].as_str().unwrap().to_owned(), table.as_object().unwrap().clone());
        table.remove("kind");
        let recipe = recipe.resolve(&kind, &table, &link()).unwrap();
        (recipe.kind(), recipe.parameters().clone())
    };
    let written_out = resolved(json!({"kind": "dualpi2", "min_step_queue": 2}));
    assert_eq!(resolved(json!({"kind": "dualpi2-2020"})), written_out);
    assert_ne!(resolved(json!({"kind": "dualpi2"})), written_out);
    let own = resolved(json!({"kind": "dualpi2-2020", "min_step_queue": 3, "target": "20ms"}));
    assert_eq!((&own.1["min_step_queue"], &own.1["target"]), (&json!(3), &json!("20ms")));
}
