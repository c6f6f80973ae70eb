//! Experiment files that stand on others.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use dumbbell_scenario::{Experiment, ScenarioErrors};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const BASE: &str = "[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n";
const FLOW: &str = "[[flows]]\ncc = \"bbr\"\n";

/// A folder of experiment files that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dumbbell-include-{}-{number}", std::process::id()));
        for (name, text) in files {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        Folder(path)
    }

    fn load(&self, name: &str) -> Result<Experiment, ScenarioErrors> {
        let path = self.0.join(name);
        Experiment::from_toml(&fs::read_to_string(&path).unwrap(), &path.to_string_lossy(), &[])
    }

    fn errors(&self, name: &str) -> Vec<dumbbell_scenario::ScenarioError> {
        self.load(name).unwrap_err().errors().to_vec()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hashes(experiment: &Experiment) -> Vec<String> {
    experiment.points().iter().map(|point| point.content_hash()).collect()
}

fn file_name(file: &str) -> &str {
    Path::new(file).file_name().unwrap().to_str().unwrap()
}

#[test]
fn a_file_that_includes_is_the_file_written_out() {
    let top = "include = \"base.toml\"\nduration = \"9s\"\n[path]\nrtt = \"80ms\"\n";
    let out = "duration = \"9s\"\n[path]\nrate = \"10mbit\"\nrtt = \"80ms\"\n";
    let (top, out) = (format!("{top}{FLOW}"), format!("{out}{FLOW}"));
    let folder = Folder::with(&[("base.toml", BASE), ("top.toml", &top), ("out.toml", &out)]);
    let included = folder.load("top.toml").unwrap();
    assert_eq!(hashes(&included), hashes(&folder.load("out.toml").unwrap()));
    assert!(!included.points()[0].resolved_toml().contains("include"));
    assert_eq!(included.included().iter().map(|name| file_name(name)).collect::<Vec<_>>(), ["base.toml"]);
    assert!(included.explain().lines().nth(1).unwrap().starts_with("  includes "));
}

#[test]
fn later_files_of_a_list_stand_on_earlier_ones_and_names_are_relative_to_who_writes_them() {
    let folder = Folder::with(&[
        ("study/base.toml", BASE),
        ("study/slow.toml", "[path]\nrate = \"1mbit\"\n"),
        ("study/flow.toml", "include = [\"base.toml\", \"slow.toml\"]\n[[flows]]\ncc = \"bbr\"\n"),
        ("top.toml", "include = \"study/flow.toml\"\n"),
        ("out.toml", &format!("{}{FLOW}", BASE.replace("10mbit", "1mbit"))),
    ]);
    let top = folder.load("top.toml").unwrap();
    assert_eq!(hashes(&top), hashes(&folder.load("out.toml").unwrap()));
    let names: Vec<&str> = top.included().iter().map(|name| file_name(name)).collect();
    assert_eq!(names, ["flow.toml", "base.toml", "slow.toml"]);
}

#[test]
fn a_trace_is_found_beside_the_file_that_names_it() {
    let folder = Folder::with(&[
        ("links/times.up", "1\n2\n3\n"),
        ("links/base.toml", "[path]\ntrace = \"times.up\"\nrtt = \"40ms\"\n"),
        ("top.toml", &format!("include = \"links/base.toml\"\n{FLOW}")),
    ]);
    assert!(folder.load("top.toml").unwrap().points()[0].resolved_toml().contains("trace = [1, 2, 3]"));
}

#[test]
fn swept_keys_of_an_included_file_vary_slower() {
    let base = format!("{BASE}{FLOW}[sweep]\n\"path.rtt\" = [\"10ms\", \"20ms\"]\n\"path.loss\" = [\"0%\", \"1%\"]\n");
    let top = "include = \"base.toml\"\n[sweep]\nduration = [\"1s\", \"2s\"]\npath.loss = [\"5%\"]\nrepeat = 2\n";
    let folder = Folder::with(&[("base.toml", &base), ("top.toml", top)]);
    let experiment = folder.load("top.toml").unwrap();
    assert_eq!(experiment.points().len(), 8);
    let label =
        |point: usize| experiment.points()[point].label().iter().map(|(_, v)| v.to_string()).collect::<String>();
    assert_eq!(
        [label(0), label(2), label(4)],
        ["\"10ms\"\"1s\"\"5%\"", "\"10ms\"\"2s\"\"5%\"", "\"20ms\"\"1s\"\"5%\""]
    );
}

#[test]
fn a_mistake_in_an_included_file_is_shown_there() {
    let folder = Folder::with(&[
        ("base.toml", &BASE.replace("rtt", "rtte")),
        ("broken.toml", "[path\n"),
        ("top.toml", &format!("include = \"base.toml\"\n{FLOW}")),
        ("worse.toml", &format!("include = \"broken.toml\"\n{FLOW}")),
    ]);
    let unknown = &folder.errors("top.toml")[0];
    assert_eq!((file_name(&unknown.file), unknown.line, &*unknown.key), ("base.toml", Some(3), "path.rtte"));
    let broken = &folder.errors("worse.toml")[0];
    assert_eq!((file_name(&broken.file), broken.line), ("broken.toml", Some(1)));
}

#[test]
fn of_a_file_that_is_no_experiment_one_line_is_shown() {
    let foreign = "root:x:0:0\ndaemon:x:1:1\nsecret = = 3\n".repeat(9);
    let folder = Folder::with(&[("a.toml", &format!("include = \"passwd\"\n{FLOW}")), ("passwd", &foreign)]);
    let errors = folder.errors("a.toml");
    assert_eq!(errors.iter().filter(|error| file_name(&error.file) == "passwd").count(), 1, "{errors:?}");
}

#[test]
fn a_circle_is_shown_where_it_closes() {
    let folder = Folder::with(&[
        ("a.toml", "include = \"b/b.toml\"\n"),
        ("b/b.toml", "seed = 1\ninclude = \"c.toml\"\n"),
        ("b/c.toml", "include = \"../b/../a.toml\"\n"),
    ]);
    let circle = &folder.errors("a.toml")[0];
    assert_eq!((file_name(&circle.file), circle.line), ("c.toml", Some(1)));
    assert_eq!(circle.help.as_ref().unwrap().matches("which includes").count(), 2);
}

#[test]
fn a_file_may_be_included_twice_but_files_do_not_multiply_without_end() {
    let twice = |name: &str| format!("include = [\"{name}\", \"{name}\"]\n");
    let folder = Folder::with(&[
        ("base.toml", BASE),
        ("top.toml", &format!("{}{FLOW}", twice("base.toml"))),
        ("0.toml", &twice("1.toml")),
        ("1.toml", &twice("2.toml")),
        ("2.toml", &twice("3.toml")),
        ("3.toml", &twice("4.toml")),
        ("4.toml", &twice("5.toml")),
        ("5.toml", &twice("base.toml")),
    ]);
    assert!(folder.load("top.toml").is_ok());
    assert!(folder.load("0.toml").unwrap_err().to_string().contains("one file too many"));
}

#[test]
fn a_setting_stands_on_top_of_all_files_and_cannot_include() {
    let folder = Folder::with(&[("base.toml", BASE), ("top.toml", &format!("include = \"base.toml\"\n{FLOW}"))]);
    let path = folder.0.join("top.toml");
    let load = |key: &str, value: &str| {
        let text = fs::read_to_string(&path).unwrap();
        Experiment::from_toml(&text, &path.to_string_lossy(), &[(key.to_owned(), value.to_owned())])
    };
    assert!(load("path.rate", "3mbit").unwrap().points()[0].resolved_toml().contains("rate = \"3mbit\""));
    let text = load("include", "base.toml").unwrap_err().to_string();
    assert!(text.contains("cannot set `include`: files are included before anything is set"), "{text}");
}

#[test]
fn a_dictionary_includes_too() {
    let folder = Folder::with(&[("base.toml", BASE)]);
    let name = folder.0.join("base.toml").to_string_lossy().into_owned();
    let json = serde_json::json!({"include": name, "flows": [{"cc": "bbr"}], "path": {"loss": "1%"}});
    assert!(Experiment::from_json(&json, "<dict>", &[]).is_ok());
    let wrong = serde_json::json!({"include": "nothing.toml", "flows": [{"cc": "bbr"}]});
    let text = Experiment::from_json(&wrong, "<dict>", &[]).unwrap_err().to_string();
    assert!(text.contains("cannot include `nothing.toml`") && text.contains("working directory"), "{text}");
}
