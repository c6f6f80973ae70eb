use super::*;

const TEXT: &str = "\
duration = \"2s\"
path = { rate = \"10mbit\", rtt = \"40ms\" }
flows = [{ cc = \"bbr\" }, { cc = \"cubic\", start = \"1s\" }]
";

/// The head of an answer, and the numbers behind it.
fn asked(question: &Value) -> (Value, Vec<f64>) {
    let bytes = answer(question.to_string().as_bytes());
    let length = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
    let head = serde_json::from_slice(&bytes[4..4 + length]).expect("JSON");
    let (numbers, rest) = bytes[4 + length..].as_chunks::<8>();
    assert!(rest.is_empty() && (4 + length).is_multiple_of(8));
    (head, numbers.iter().map(|number| f64::from_le_bytes(*number)).collect())
}

#[test]
fn a_run_has_tables_and_series() {
    let (head, numbers) = asked(&json!({ "run": { "toml": TEXT } }));
    let run = &head["run"];
    assert_eq!(head["errors"], json!([]));
    assert_eq!((&run["points"], &run["durationS"]), (&json!([""]), &json!(2.0)));
    let flows = run["tables"]["flows"].as_str().expect("a table");
    assert_eq!(flows.lines().count(), 3);
    assert_eq!(
        run["columns"]["flows"].as_array().map(Vec::len),
        Some(flows.lines().next().unwrap_or("").split(',').count())
    );
    let column = |table: &str, name: &str| {
        let mut places = run["series"].as_array().expect("a list").iter();
        let place = places.find(|one| one["table"] == table && one["column"] == name).expect("the column");
        let [start, length] = ["start", "length"].map(|key| place[key].as_u64().and_then(|n| usize::try_from(n).ok()));
        numbers.iter().skip(start.expect("a place")).take(length.expect("a length")).copied().collect::<Vec<_>>()
    };
    for name in SERIES {
        assert_eq!(column("series", name).len(), column("series", "t_s").len(), "{name}");
    }
    assert_eq!(column("linkSeries", "queue_bytes").len(), column("linkSeries", "t_s").len());
    // One sample each 20 ms, of the second flow from its connection on.
    let flow = column("series", "flow");
    let samples = |number: f64| flow.iter().filter(|&&flow| flow == number).count();
    assert!((95..=101).contains(&samples(0.0)) && (45..=51).contains(&samples(1.0)), "{flow:?}");
    assert!(column("series", "srtt_ms").iter().any(|&rtt| rtt > 40.0));
}

#[test]
fn the_same_question_has_the_same_answer() {
    let question = json!({ "run": { "toml": TEXT } }).to_string();
    assert_eq!(answer(question.as_bytes()), answer(question.as_bytes()));
}

#[test]
fn changes_are_run_and_returned() {
    let changes = json!([{ "set": ["path.rate", "5mbit"] }, { "removeFlow": 1 }]);
    let (head, _) = asked(&json!({ "run": { "toml": TEXT, "changes": changes } }));
    assert!(head["toml"].as_str().expect("a text").contains("rate = \"5mbit\""));
    assert_eq!(head["form"]["rate"], json!({ "text": "5mbit", "number": 5.0 }));
    assert_eq!(head["run"]["tables"]["flows"].as_str().map(|table| table.lines().count()), Some(2));
}

#[test]
fn errors_have_their_lines_and_what_would_be_right() {
    let (head, numbers) = asked(&json!({ "run": { "toml": TEXT.replace("10mbit", "10mbps") } }));
    assert!(numbers.is_empty() && head["run"].is_null());
    let errors = head["errors"].as_array().expect("a list");
    assert_eq!((errors.len(), &errors[0]["line"]), (1, &json!(2)));
    let text = errors[0]["text"].as_str().expect("a text");
    assert!(text.contains("10mbps") && text.contains("(path.rate)") && text.contains("write \"10mbit\""), "{text}");
    let (head, _) = asked(&json!({ "run": { "toml": "path = {" } }));
    assert_eq!((&head["errors"][0]["line"], &head["form"]), (&json!(1), &Value::Null));
    assert!(asked(&json!({ "walk": 1 })).0["errors"][0]["text"].as_str().is_some_and(|text| text.contains("walk")));
}

#[test]
fn a_run_of_a_sweep_is_chosen() {
    let text = TEXT.to_owned() + "sweep = { \"path.rate\" = [\"10mbit\", \"5mbit\"], repeat = 2 }\n";
    let (head, _) = asked(&json!({ "run": { "toml": text, "point": 9 } }));
    assert_eq!(head["run"]["point"], 3);
    let points =
        ["path.rate=10mbit", "path.rate=10mbit, repetition 1", "path.rate=5mbit", "path.rate=5mbit, repetition 1"];
    assert_eq!(head["run"]["points"], json!(points));
}

#[test]
fn the_engine_says_what_it_is() {
    let (head, _) = asked(&json!("about"));
    assert_eq!(head["version"], env!("CARGO_PKG_VERSION"));
    let algorithms = head["algorithms"].as_array().expect("a list");
    assert!(
        algorithms
            .iter()
            .any(|one| one["name"] == "bbr3" && one["summary"].as_str().is_some_and(|text| !text.is_empty()))
    );
}
