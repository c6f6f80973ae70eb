//! Algorithms that a file names by where their code is.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::{LoadError, Loaded, Loader, digest};
use dumbbell_scenario::{Experiment, ScenarioErrors};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Takes a file for CUBIC, whatever it holds, unless it is empty.
#[derive(Default)]
struct AsCubic {
    loads: AtomicU32,
}

impl Loader for AsCubic {
    fn key(&self) -> &'static str {
        "library"
    }

    fn load(&self, text: &str, folder: &Path) -> Result<Loaded, LoadError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(text);
        let bytes = fs::read(&path).unwrap_or_default();
        if bytes.is_empty() {
            return Err(LoadError { message: format!("`{text}` holds nothing"), help: "write something".to_owned() });
        }
        Ok(Loaded {
            text: path.to_string_lossy().into_owned(),
            summary: "CUBIC in disguise".to_owned(),
            digest: digest(&bytes),
            files: vec![path],
            code: Catalog::builtin().find("cubic").unwrap().code(),
        })
    }
}

/// A folder with two algorithms that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dumbbell-elsewhere-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("below")).unwrap();
        fs::write(path.join("below/mine.so"), "one").unwrap();
        fs::write(path.join("empty.so"), "").unwrap();
        Folder(path)
    }

    fn load(&self, loader: &Arc<AsCubic>, text: &str) -> Result<Experiment, ScenarioErrors> {
        let mut catalog = Catalog::builtin().clone();
        catalog.register_loader(Arc::clone(loader) as _);
        Experiment::from_toml_with(&catalog, text, &self.0.join("a.toml").to_string_lossy(), &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(cc: &str) -> String {
    format!("[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n[[flows]]\ncc = {cc}\n")
}

#[test]
fn an_algorithm_of_a_file_is_named_by_the_file_and_its_digest() {
    let folder = Folder::new();
    let loader = Arc::default();
    let loaded = folder.load(&loader, &text("{ library = \"below/mine.so\", beta = 0.8 }")).unwrap();
    let flow = loaded.points()[0].scenario().flows[0].clone();
    assert_eq!(&*flow.label, "mine.so");
    assert_eq!(flow.cc.name(), "mine.so");
    assert_eq!(flow.cc.exact_name(), format!("mine.so@{}", &digest(b"one")[..12]));
    assert_eq!(flow.cc.changed().len(), 1);
    assert_eq!(loaded.algorithm_files(), [folder.0.join("below/mine.so")]);
    assert!(loaded.explain_parameters().contains("beta = 0.7998046875\n"), "{}", loaded.explain_parameters());
}

#[test]
fn the_content_hash_covers_the_code_and_not_its_place() {
    let folder = Folder::new();
    let loader = Arc::default();
    let hash = |cc: &str| folder.load(&loader, &text(cc)).unwrap().points()[0].content_hash();
    let before = hash("{ library = \"below/mine.so\" }");
    fs::write(folder.0.join("mine.so"), "one").unwrap();
    assert_eq!(hash("{ library = \"mine.so\" }"), before);
    fs::write(folder.0.join("mine.so"), "two").unwrap();
    assert_ne!(hash("{ library = \"mine.so\" }"), before);
}

#[test]
fn the_resolved_experiment_is_read_from_anywhere_and_only_with_the_code_of_then() {
    let folder = Folder::new();
    let loader = Arc::default();
    let point = folder.load(&loader, &text("{ library = \"below/mine.so\", beta = 0.8 }")).unwrap().points()[0].clone();
    let resolved = point.resolved_toml();
    let mut catalog = Catalog::builtin().clone();
    catalog.register_loader(Arc::clone(&loader) as _);
    let again = Experiment::from_toml_with(&catalog, &resolved, "elsewhere.toml", &[]).unwrap();
    assert_eq!(again.points()[0].content_hash(), point.content_hash());
    assert_eq!(again.points()[0].resolved_toml(), resolved);

    // Whoever reads a result runs no code, and needs none.
    fs::remove_file(folder.0.join("below/mine.so")).unwrap();
    let loads = loader.loads.load(Ordering::Relaxed);
    let read = Experiment::from_toml_with(&catalog.without_loading(), &resolved, "elsewhere.toml", &[]).unwrap();
    assert_eq!(read.points()[0].content_hash(), point.content_hash());
    assert_eq!(read.points()[0].resolved_toml(), resolved);
    assert_eq!(loader.loads.load(Ordering::Relaxed), loads);

    fs::write(folder.0.join("below/mine.so"), "two").unwrap();
    let error = Experiment::from_toml_with(&catalog, &resolved, "elsewhere.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("is not the code that the experiment was written for"), "{error}");
}

#[test]
fn a_sweep_loads_each_file_once() {
    let folder = Folder::new();
    let loader = Arc::default();
    let swept =
        format!("{}[sweep]\n\"flows[0].cc.beta\" = [0.7, 0.8]\nrepeat = 2\n", text("{ library = \"below/mine.so\" }"));
    let loaded = folder.load(&loader, &swept).unwrap();
    let names: Vec<_> = loaded.points().iter().map(|point| point.scenario().flows[0].cc.changed().len()).collect();
    assert_eq!(names, [1, 1, 1, 1], "0.7 is not the default, which is 717/1024");
    assert_eq!(loader.loads.load(Ordering::Relaxed), 1);
    let both = text("\"cubic\"") + "[sweep]\n\"flows[0].cc\" = [\"reno\", { library = \"below/mine.so\" }]\n";
    let both = folder.load(&loader, &both).unwrap();
    let names: Vec<_> = both.points().iter().map(|p| p.scenario().flows[0].cc.name().to_owned()).collect();
    assert_eq!(names, ["reno", "mine.so"]);
}

#[test]
fn presets_and_included_files_name_algorithms_of_files() {
    let folder = Folder::new();
    let loader = Arc::default();
    let preset = "[presets.gentle]\nlibrary = \"mine.so\"\nbeta = 0.9\n";
    fs::write(folder.0.join("below/base.toml"), preset).unwrap();
    let loaded = folder.load(&loader, &format!("include = \"below/base.toml\"\n{}", text("\"gentle\""))).unwrap();
    let flow = loaded.points()[0].scenario().flows[0].clone();
    assert_eq!((&*flow.label, flow.cc.name(), flow.cc.changed().len()), ("gentle", "mine.so", 1));
}

#[test]
fn what_is_wrong_with_such_an_algorithm_is_said_at_its_key() {
    let folder = Folder::new();
    let loader = Arc::default();
    for (cc, key, message) in [
        ("{ library = \"empty.so\" }", "flows[0].cc.library", "`empty.so` holds nothing"),
        ("{ library = 5 }", "flows[0].cc", "`library` is 5, but must be the place of an algorithm in quotes"),
        ("{ python = \"a.py:A\" }", "flows[0].cc.python", "this program cannot load algorithms by `python`"),
        ("{ library = \"below/mine.so\", betta = 1 }", "flows[0].cc.betta", "has no parameter `betta`"),
        ("{ library = \"below/mine.so\", beta = -1 }", "flows[0].cc.beta", "`beta = -1`"),
        ("{ library = \"below/mine.so\", sha256 = \"00\" }", "flows[0].cc.library", "is not the code"),
    ] {
        let errors = folder.load(&loader, &text(cc)).unwrap_err();
        let [error] = errors.errors() else { panic!("{errors}") };
        assert!(error.message.contains(message), "{errors}");
        assert_eq!((error.key.as_str(), error.line), (key, Some(5)), "{errors}");
    }
}
