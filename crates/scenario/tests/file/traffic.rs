//! `[[traffic]]` in experiment files.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use dumbbell_scenario::{Experiment, Scenario};
use std::sync::Arc;

const FILE: &str = r#"
[path]
rate = "100mbit"
rtt = "20ms"

[[flows]]
cc = "bbr"

[[traffic]]
kind = "short-flows"
cc = "cubic"
load = "50%"
size = { kind = "pareto", mean = "30kB", shape = 1.3, max = "100MB" }
rtt = "60ms"
start = "1s"

[[traffic]]
kind = "short-flows"
label = "back"
cc = { name = "cubic", hystart = false }
direction = "down"
transport = "quic"
per_second = 12.5
arrivals = "periodic"
count = 7
size = { kind = "empirical", points = [["1kB", 0.5], ["1MB", 1.0]] }

[[traffic]]
kind = "request-response"
cc = "bbr"
users = 3
size = "20kB"
dscp = "ef"

[[traffic]]
kind = "web-pages"
cc = "cubic"
size = { kind = "lognormal", mean = "8kB", sigma = 2.4, max = "2MB" }
objects = { scale = 2, shape = 1.1, max = 53 }

[[traffic]]
kind = "incast"
cc = "dctcp"
servers = 3
total = "96kB"
service = { kind = "lognormal", mean = "1ms", sigma = 0.5 }
access_rate = "50mbit"

[path.reverse]
rate = "10mbit"
"#;

fn scenario(text: &str) -> Arc<Scenario> {
    Experiment::from_toml(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}")).points()[0].scenario()
}

fn error(traffic: &str) -> String {
    let text = format!("[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n[[traffic]]\n{traffic}\n");
    Experiment::from_toml(&text, "test.toml", &[]).unwrap_err().to_string()
}

#[test]
fn the_resolved_form_is_the_same_experiment() {
    let experiment = Experiment::from_toml(FILE, "test.toml", &[]).unwrap();
    let resolved = experiment.points()[0].resolved_toml();
    let again = Experiment::from_toml(&resolved, "resolved.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.points()[0].resolved_toml(), resolved);
    assert_eq!(again.points()[0].content_hash(), experiment.points()[0].content_hash());
    let other = FILE.replace("1.3", "1.4");
    assert_ne!(
        Experiment::from_toml(&other, "test.toml", &[]).unwrap().points()[0].content_hash(),
        experiment.points()[0].content_hash()
    );
}

#[test]
fn a_load_is_a_share_of_the_slowest_link_with_headers() {
    let scenario = scenario(&FILE.replace(", max = \"100MB\"", ""));
    let per_second = scenario.traffic[0].source.parameters()["per_second"].as_f64().unwrap();
    let expected = 0.5 * 100e6 / 8.0 * 1448.0 / 1500.0 / 30e3;
    assert!((per_second / expected - 1.0).abs() < 1e-6, "{per_second} for {expected}");
    let flow = &scenario.traffic[0].flow();
    assert_eq!((flow.base_rtt.to_string(), flow.forward.len(), &*flow.label), ("60ms".into(), 2, "short-flows"));
}

#[test]
fn each_server_has_an_access_link_and_servers_without_share_their_way() {
    let own = scenario(FILE);
    let senders = &own.traffic[4].senders;
    assert_eq!(senders.len(), 3);
    let first = |sender: usize| own.links[senders[sender].forward[0]].config.name.clone();
    // Numbers go on behind those of the flow and of four other entries.
    assert_eq!([first(0), first(1), first(2)], ["access-5", "access-6", "access-7"]);
    let shared = scenario(&FILE.replace("access_rate = \"50mbit\"\n", ""));
    assert_eq!(shared.traffic[4].senders.len(), 1);
}

#[test]
fn a_file_with_traffic_needs_no_flows_and_one_without_either_says_so() {
    let alone = FILE.replace("[[flows]]\ncc = \"bbr\"\n", "");
    assert_eq!((scenario(&alone).flows.len(), scenario(&alone).traffic.len()), (0, 5));
    let explained = Experiment::from_toml(&alone, "test.toml", &[]).unwrap().explain();
    assert!(explained.contains("0: short-flows: short flows,") && !explained.contains("\nflows"), "{explained}");
    let neither = Experiment::from_toml("[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\n", "test.toml", &[]).unwrap_err();
    assert!(neither.to_string().contains("there are no flows"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (traffic, message) in [
        ("cc = \"cubic\"", "this traffic has no `kind`"),
        ("kind = \"short-flow\"\ncc = \"cubic\"", "did you mean \"short-flows\"?"),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = \"50%\"", "this traffic needs its `size`"),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nsize = \"1kB\"", "nothing says how many flows arrive"),
        ("kind = \"short-flows\"\nsize = \"1kB\"\nload = 0.5", "the flow has no congestion controller"),
        (
            "kind = \"short-flows\"\ncc = \"cubic\"\nsize = \"1kB\"\nload = 0.5\nper_second = 3",
            "test.toml:9:1 (traffic[0].per_second)",
        ),
        (
            "kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = { kind = \"pareto\", mean = \"1kB\", shape = 0.9 }",
            "a shape of 0.9",
        ),
        (
            "kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = { kind = \"zipf\" }",
            "unknown kind of sizes \"zipf\"",
        ),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = \"1kb\"", "test.toml:8:8 (traffic[0].size)"),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = \"1kB\"\nstrat = \"1s\"", "did you mean `start`?"),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = \"1kB\"\nlaod = \"1s\"", "did you mean `load`?"),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = \"1kB\"\nstart = \"100s\"", "starts at 100s"),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = \"1kB\"\nrtt = \"1m\"", "traffic[0].rtt"),
        ("kind = \"short-flows\"\nload = 0.5\nsize = \"1kB\"\ntransport = \"udp\"", "traffic[0]"),
        ("kind = \"web-pages\"\ncc = \"cubic\"\nconnections = 0", "traffic[0].connections"),
        ("kind = \"web-pages\"\ncc = \"cubic\"\nobjects = 200000", "200000 objects on a page"),
        ("kind = \"web-pages\"\ncc = \"cubic\"\nobjects = { mean = 3 }", "traffic[0].objects"),
        ("kind = \"web-pages\"\ncc = \"cubic\"\ndocument = \"0B\"", "traffic[0].document"),
        ("kind = \"web-pages\"\ncc = \"cubic\"\ndscp = \"af55\"", "traffic[0].dscp"),
        ("kind = \"short-flows\"\nload = 0.5\nsize = \"1kB\"\ntransport = \"probe\"", "datagrams do not tell"),
        ("kind = \"incast\"\ncc = \"cubic\"\nservers = 2", "nothing says how large an answer is"),
        ("kind = \"incast\"\ncc = \"cubic\"\nservers = 0\nsize = \"1kB\"", "traffic[0].servers"),
        (
            "kind = \"incast\"\ncc = \"cubic\"\nservers = 2\nsize = \"1kB\"\nservice = { kind = \"gamma\" }",
            "unknown kind of times",
        ),
        ("kind = \"incast\"\ncc = \"cubic\"\nservers = 2\nsize = \"1kB\"\nservice = \"2h\"", "traffic[0].service"),
        (
            "kind = \"incast\"\ncc = \"cubic\"\nservers = 2\nsize = \"1kB\"\nfrom = [\"a\", \"b\", \"c\"]",
            "3 nodes for 2 servers",
        ),
        ("kind = \"short-flows\"\ncc = \"cubic\"\nload = 0.5\nsize = \"1kB\"\nfrom = [\"a\", \"b\"]", "name one node"),
        ("kind = \"request-response\"\ncc = \"cubic\"\nsize = \"1kB\"\nusers = 0", "traffic[0].users"),
        ("kind = \"request-response\"\ncc = \"cubic\"\nsize = \"1kB\"\nload = 0.5", "no parameter of request-response"),
    ] {
        let error = error(traffic);
        assert!(error.contains(message), "{message:?} is not in\n{error}");
    }
}

/// An experiment in a folder of its own, beside a list of flows with this content.
fn listed(name: &str, content: &[u8], keys: &str) -> Result<Experiment, String> {
    let folder = std::env::temp_dir().join(format!("dumbbell-list-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("flows.csv"), content).unwrap();
    let text = format!(
        "[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n[[traffic]]\nkind = \"list\"\nfile = \"flows.csv\"\n{keys}\n"
    );
    let read = Experiment::from_toml(&text, &folder.join("test.toml").display().to_string(), &[]);
    // What is resolved when it is asked for must not need the file.
    let read =
        read.map(|experiment| (experiment.points()[0].resolved_toml(), experiment)).map(|(_, experiment)| experiment);
    std::fs::remove_dir_all(&folder).unwrap();
    read.map_err(|error| error.to_string())
}

#[test]
fn flows_of_a_file_are_sources_and_their_content_is_in_the_hash() {
    const LIST: &[u8] = b"start_s,bytes,label,cc\n2,30kB,web,cubic\n1,500000,backup,bbr\n0.5,1kB,web,cubic\n";
    let experiment = listed("plain", LIST, "").unwrap();
    let point = &experiment.points()[0];
    let scenario = point.scenario();
    let [web, backup] = &scenario.traffic[..] else { panic!("two groups") };
    assert_eq!((&*web.flow().label, web.flow().cc.name(), &*backup.flow().label), ("web", "cubic", "backup"));
    assert_eq!(web.source.parameters()["flows"], serde_json::json!([["500ms", "1kB"], ["2s", "30kB"]]));
    let resolved = point.resolved_toml();
    let again = Experiment::from_toml(&resolved, "elsewhere.toml", &[]).unwrap();
    assert_eq!((again.points()[0].resolved_toml(), again.points()[0].content_hash()), (resolved, point.content_hash()));
    let hash = |name: &str, content: &[u8]| listed(name, content, "").unwrap().points()[0].content_hash();
    let other = String::from_utf8(LIST.to_vec()).unwrap().replace("30kB", "31kB");
    assert_ne!(hash("other", other.as_bytes()), point.content_hash());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, LIST).unwrap();
    assert_eq!(hash("packed", &packed.finish().unwrap()), point.content_hash());
}

#[test]
fn what_is_wrong_with_a_list_is_said_with_its_line() {
    for (name, content, keys, said) in [
        ("value", "start_s,bytes\n0,1\n1,many\n", "cc = \"bbr\"", "line 3, column `bytes` reads \"many\""),
        ("value", "start_s,bytes\n0,1\n1,many\n", "cc = \"bbr\"", "test.toml:6:8 (traffic[0].file)"),
        ("twice", "start_s,bytes,cc\n0,1,bbr\n", "cc = \"bbr\"", "`cc` is a column of `flows.csv`, too"),
        ("no-cc", "start_s,bytes\n0,1\n", "", "the flow has no congestion controller"),
        (
            "both",
            "start_s,bytes\n0,1\n",
            "cc = \"bbr\"\nflows = [[\"0s\", \"1kB\"]]",
            "both `file` and `flows` are given",
        ),
    ] {
        let error = listed(name, content.as_bytes(), keys).unwrap_err();
        assert!(error.contains(said), "{said:?} is not in\n{error}");
    }
    let missing = error("kind = \"list\"\ncc = \"bbr\"\nfile = \"nowhere.csv\"");
    assert!(
        missing.contains("cannot read the list of flows `nowhere.csv`, relative to the experiment file"),
        "{missing}"
    );
    let broken = listed("broken", &[0x1f, 0x8b, 8, 0, 1], "cc = \"bbr\"").unwrap_err();
    assert!(broken.contains("cannot read the list of flows `flows.csv`"), "{broken}");
}

#[test]
fn a_parameter_can_be_swept_and_set() {
    let text = format!("{FILE}\n[sweep]\n\"traffic[0].load\" = [\"10%\", \"20%\"]\n");
    let set = [("traffic[0].size".to_owned(), "10kB".to_owned())];
    let experiment = Experiment::from_toml(&text, "test.toml", &set).unwrap();
    let rate =
        |point: usize| experiment.points()[point].scenario().traffic[0].source.parameters()["per_second"].clone();
    assert!((rate(1).as_f64().unwrap() / rate(0).as_f64().unwrap() - 2.0).abs() < 1e-9);
}
