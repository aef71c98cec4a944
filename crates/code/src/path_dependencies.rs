//! Crates outside of the root that a manifest of Cargo brings in by a path: they are compiled with the project, and nobody
//! watches them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::walk::{Files, Met, walk};

/// A manifest that is larger is none.
const MOST_BYTES: u64 = 1 << 20;
/// How many files of such crates are looked at, and how many crates.
const MOST_FILES: usize = 10_000;
const MOST_CRATES: usize = 100;

/// The source files in Rust of what lies outside, with what that brings in, and their manifests. Blocks.
pub(crate) fn sources(root: &Path, manifests: Vec<PathBuf>, is_over: impl Fn() -> bool + Sync) -> Vec<PathBuf> {
    let mut open = manifests;
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(manifest) = open.pop().filter(|_| !is_over()) {
        for folder in paths(&manifest) {
            let is_new = !folder.starts_with(root) && folder.is_dir() && known.len() < MOST_CRATES;
            if !is_new || !known.insert(folder.clone()) {
                continue;
            }
            open.push(folder.join("Cargo.toml"));
            let found = Mutex::new(vec![folder.join("Cargo.toml")]);
            walk(&folder, &folder, Files::Written, &is_over, |met| match met {
                Met::File(path) if path.extension().is_some_and(|extension| extension == "rs") => {
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                }
                _ => {}
            });
            files.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
    }
    files.retain(|file| !file.starts_with(root));
    files.sort();
    files.dedup();
    files.truncate(MOST_FILES);
    files
}

/// Where the dependencies of a manifest lie that it names by a path.
fn paths(manifest: &Path) -> Vec<PathBuf> {
    let text = project::regular::read(manifest, MOST_BYTES).unwrap_or_default();
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let mut named = Vec::new();
    let mut open: Vec<(bool, &toml::Table)> = vec![(false, &table)];
    while let Some((is_dependency, table)) = open.pop() {
        for (key, value) in table {
            match value {
                toml::Value::Table(inner) => {
                    open.push((is_dependency || key.ends_with("dependencies") || key == "patch", inner));
                }
                toml::Value::String(path) if is_dependency && key == "path" => named.push(path.as_str()),
                _ => {}
            }
        }
    }
    let folder = manifest.parent().unwrap_or(Path::new("/"));
    named.into_iter().map(|path| project::normal(&folder.join(path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_outside_are_found_with_what_they_bring_in() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "root/Cargo.toml",
            "[dependencies]\na = { path = \"../a\" }\ninner = { path = \"inner\" }\nserde = \"1\"\n\
             [target.'cfg(unix)'.dev-dependencies]\nb = { path = \"../b\", version = \"1\" }\n[lib]\npath = \"../not/lib.rs\"\n",
        );
        write("root/inner/src/lib.rs", "");
        write("not/lib.rs", "");
        write("a/Cargo.toml", "[dependencies]\nc.path = \"../c\"\nback.path = \"../root\"\n");
        for path in ["a/src/lib.rs", "a/src/data.txt", "b/lib.rs", "c/src/deep/c.rs", "root/src/lib.rs"] {
            write(path, "");
        }
        let found = sources(&folder.path().join("root"), vec![folder.path().join("root/Cargo.toml")], || false);
        let found: Vec<_> =
            found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(
            found,
            ["a/Cargo.toml", "a/src/lib.rs", "b/Cargo.toml", "b/lib.rs", "c/Cargo.toml", "c/src/deep/c.rs"]
        );
    }
}
