use super::*;

const TEXT: &str = "\
# who wins
duration = \"10s\"          # short

[path]
rate = \"20mbit\"           # of the bottleneck
rtt = \"40ms\"
buffer = \"100packets\"

[[flows]]
cc = \"bbr\"                # Linux's

[[flows]]
label = \"two\"
count = 3
cc = { name = \"cubic\", hystart = false }
";

fn after(text: &str, changes: &[Change]) -> String {
    changed(text, changes).0
}

fn set(key: &str, text: &str) -> Change {
    Change::Set(key.into(), text.into())
}

fn setting(text: &str, number: f64) -> Option<Setting> {
    Some(Setting { text: text.into(), number: Some(number) })
}

#[test]
fn a_form_shows_values_in_the_units_of_its_sliders() {
    let (text, form) = changed(TEXT, &[]);
    assert_eq!(text, TEXT);
    let flow = |label: &str, algorithm: &str, has_parameters| FormFlow {
        label: label.into(),
        algorithm: Some(algorithm.into()),
        has_parameters,
        count: if label == "two" { 3 } else { 1 },
    };
    let expected = Form {
        duration: setting("10s", 10.0),
        rate: setting("20mbit", 20.0),
        rtt: setting("40ms", 40.0),
        buffer: Some(Setting { text: "100packets".into(), number: None }),
        loss: setting("0%", 0.0),
        flows: vec![flow("bbr", "bbr", false), flow("two", "cubic", true)],
    };
    assert_eq!(form, Some(expected));
}

#[test]
fn what_a_slider_cannot_move_is_not_in_the_form() {
    let text = "\
path = { rate = [[\"0s\", \"1mbit\"]], rtt = \"40ms\", loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"30%\" } }
flows = [{ cc = \"bbr\" }, { cc = { python = \"mine.py:Mine\" } }]
[sweep]
\"path.rtt\" = [\"10ms\", \"20ms\"]
\"flows[0].cc\" = [\"bbr\", \"cubic\"]
";
    let form = changed(text, &[]).1.expect("it is TOML");
    assert_eq!((form.rate, form.rtt, form.loss), (None, None, None));
    assert!(form.flows.iter().all(|flow| flow.algorithm.is_none()));
    assert_eq!(changed("path = {", &[set("duration", "1s")]).0, "path = {");
    assert!(changed("path = {", &[]).1.is_none());
}

#[test]
fn a_change_leaves_everything_else_as_it_was() {
    let changes = [set("path.rate", "5mbit"), set("duration", "3s"), Change::Algorithm(1, "reno".into())];
    let expected = TEXT
        .replace("\"20mbit\"", "\"5mbit\"")
        .replace("\"10s\"", "\"3s\"")
        .replace("{ name = \"cubic\", hystart = false }", "\"reno\"");
    assert_eq!(after(TEXT, &changes), expected);
}

#[test]
fn a_key_that_is_not_there_is_added_to_its_table() {
    let expected = TEXT.replace("buffer = \"100packets\"\n", "buffer = \"100packets\"\nloss = \"1%\"\n");
    assert_eq!(after(TEXT, &[set("path.loss", "1%")]), expected);
    let inline = "path = { rate = \"1mbit\", rtt = \"1ms\" }\nflows = [{ cc = \"bbr\" }]\n";
    assert_eq!(
        after(inline, &[set("path.loss", "1%"), set("duration", "3s"), Change::AddFlow("reno".into())]),
        "path = { rate = \"1mbit\", rtt = \"1ms\", loss = \"1%\" }\n\
         flows = [{ cc = \"bbr\" }, { cc = \"reno\" }]\n\
         duration = \"3s\"\n"
    );
}

#[test]
fn flows_come_and_go() {
    let one = TEXT.split("\n[[flows]]\nlabel").next().expect("the first part").to_owned();
    assert_eq!(after(TEXT, &[Change::RemoveFlow(1)]), one);
    assert_eq!(after(&one, &[Change::AddFlow("reno".into())]), one.clone() + "\n[[flows]]\ncc = \"reno\"\n");
    let none = after(&one, &[Change::RemoveFlow(0)]);
    assert!(!none.contains("flows"), "{none}");
    assert!(after(&none, &[Change::AddFlow("reno".into())]).ends_with("\n[[flows]]\ncc = \"reno\"\n"));
    assert_eq!(after(TEXT, &[Change::RemoveFlow(7), Change::Algorithm(7, "reno".into())]), TEXT);
}

#[test]
fn a_setting_without_a_path_changes_nothing() {
    let text = "[[links]]\nfrom = \"a\"\nto = \"b\"\n";
    assert_eq!(after(text, &[set("path.rate", "1mbit")]), text);
}

#[test]
fn keys_with_dots_and_tables_behind_the_flows_stay_in_their_places() {
    let text = "path.rate = \"1mbit\"\npath.rtt = \"1ms\"\n\n[[flows]]\ncc = \"bbr\"\n\n[sweep]\nrepeat = 2\n";
    let changes = [set("path.rate", "2mbit"), set("path.loss", "1%"), Change::AddFlow("reno".into())];
    let expected = "path.rate = \"2mbit\"\npath.rtt = \"1ms\"\npath.loss = \"1%\"\n\n[[flows]]\ncc = \"bbr\"\n\n\
                    [[flows]]\ncc = \"reno\"\n\n[sweep]\nrepeat = 2\n";
    assert_eq!(after(text, &changes), expected);
}

#[test]
fn what_a_form_shows_is_what_it_has_set() {
    for (key, text) in
        [("path.rate", "1.5gbit"), ("path.rtt", "3us"), ("path.buffer", "0.5bdp"), ("path.loss", "0.02%")]
    {
        let form = changed(TEXT, &[set(key, text)]).1.expect("it is TOML");
        let shown = match key {
            "path.rate" => form.rate,
            "path.rtt" => form.rtt,
            "path.buffer" => form.buffer,
            _ => form.loss,
        };
        assert_eq!(shown.map(|setting| setting.text).as_deref(), Some(text), "{key}");
    }
}

/// All that a form can do to an experiment, one after the other.
fn all_changes(form: &Form) -> Vec<Change> {
    let keys = [
        ("duration", "61.5s", &form.duration),
        ("path.rate", "3.1mbit", &form.rate),
        ("path.rtt", "9.9ms", &form.rtt),
        ("path.buffer", "2.3bdp", &form.buffer),
        ("path.loss", "0.13%", &form.loss),
    ];
    let shown =
        keys.into_iter().filter(|(.., setting)| setting.as_ref().is_some_and(|setting| setting.number.is_some()));
    let mut changes: Vec<Change> = shown.map(|(key, text, _)| set(key, text)).collect();
    let own = form.flows.iter().position(|flow| flow.algorithm.is_some());
    changes.extend(own.map(|index| Change::Algorithm(index, "illinois".into())));
    changes
}

#[test]
fn the_examples_stay_experiments_whatever_a_form_does() {
    let mut changed_ones = 0;
    for entry in std::fs::read_dir("../../examples").expect("the examples") {
        let file = entry.expect("an entry").path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a text");
        let name = file.to_string_lossy().into_owned();
        let (same, form) = changed(&text, &[]);
        assert_eq!(same, text, "{name}");
        for change in all_changes(&form.expect("an example is TOML")) {
            let (new, form) = changed(&text, std::slice::from_ref(&change));
            assert!(form.is_some() && new != text, "{name}: {change:?}");
            let comments = |text: &str| text.matches('#').count();
            assert_eq!(comments(&new), comments(&text), "{name}: {change:?}");
            if let Err(errors) = dumbbell_scenario::Experiment::from_toml(&new, &name, &[]) {
                panic!("{change:?}: {errors}");
            }
            changed_ones += 1;
        }
    }
    assert!(changed_ones > 50, "{changed_ones}");
}
