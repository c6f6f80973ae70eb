//! Tells the engine which sources it is built from, and for what.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    for package in entries(&root.join("crates")) {
        files.push(package.join("Cargo.toml"));
        files.push(package.join("build.rs"));
        println!("cargo:rerun-if-changed={}", package.join("src").display());
        collect(&package.join("src"), &mut files);
    }
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for file in files {
        if let Ok(content) = fs::read(&file) {
            println!("cargo:rerun-if-changed={}", file.display());
            digest.add(file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/").as_bytes());
            for line in content.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_members(line)) {
                // A checkout may end lines in its own way.
                let line: Vec<u8> = line.iter().copied().filter(|&byte| byte != b'\r').collect();
                digest.add(&line);
            }
        }
    }
    println!("cargo:rustc-env=DUMBBELL_SOURCES={:016x}", digest.0);
    let of = |name| std::env::var(name).unwrap_or_default();
    println!("cargo:rustc-env=DUMBBELL_BUILD={} {} -O{}", of("TARGET"), of("PROFILE"), of("OPT_LEVEL"));
}

/// Whether a line names the members of the workspace. The source distribution has fewer, and the same engine.
fn is_members(line: &[u8]) -> bool {
    line.starts_with(b"members = ")
}

/// What is in a folder, in the order of the names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// FNV-1a with 64 bits: enough to tell builds apart.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
