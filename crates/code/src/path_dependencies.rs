//! Crates outside of the root that a Cargo manifest names by path. They are compiled with the project, but not watched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::walk::{Entry, Files, walk};

/// The size limit of a manifest.
const MOST_BYTES: u64 = 1 << 20;
/// The maximum numbers of files and crates. The named folder may hold anything, so every directory entry counts.
const MOST_FILES: usize = 10_000;
const MOST_CRATES: usize = 100;
const MOST_MET: usize = 100_000;

/// Returns the Rust sources and manifests of crates outside of the root, and of their path dependencies. Blocks.
pub(crate) fn sources(root: &Path, manifests: Vec<PathBuf>, is_over: impl Fn() -> bool + Sync) -> Vec<PathBuf> {
    at_most(MOST_FILES, root, manifests, is_over)
}

fn at_most(most: usize, root: &Path, manifests: Vec<PathBuf>, is_over: impl Fn() -> bool + Sync) -> Vec<PathBuf> {
    let mut open = manifests;
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    let found: Mutex<BTreeSet<PathBuf>> = Mutex::default();
    let met = AtomicUsize::new(0);
    let lock = || found.lock();
    let is_over = || is_over() || met.load(Ordering::Relaxed) >= MOST_MET || lock().len() >= most;
    while let Some(manifest) = open.pop().filter(|_| !is_over()) {
        for folder in paths(&manifest) {
            // A folder that contains the root is not a separate crate.
            let is_apart = !folder.starts_with(root) && !root.starts_with(&folder);
            let its = folder.join("Cargo.toml");
            if !is_apart || known.len() >= MOST_CRATES || !its.is_file() || !known.insert(folder.clone()) {
                continue;
            }
            lock().insert(its.clone());
            open.push(its);
            walk(&folder, &folder, Files::Written, is_over, |one| {
                met.fetch_add(1, Ordering::Relaxed);
                match one {
                    Entry::File(path) if path.extension().is_some_and(|extension| extension == "rs") => {
                        _ = lock().insert(path);
                    }
                    _ => {}
                }
            });
        }
    }
    let mut files: Vec<PathBuf> = found.into_inner().into_iter().collect();
    files.truncate(most);
    files
}

/// Returns the folders of a manifest's path dependencies.
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
        write("b/Cargo.toml", "");
        write("c/Cargo.toml", "");
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

    #[test]
    fn what_is_no_crate_beside_the_root_is_not_walked_and_no_walk_goes_on_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            std::fs::write(folder.join(path), text).unwrap();
        };
        write(
            "root/Cargo.toml",
            "[dependencies]\nall.path = \"/\"\naround.path = \"..\"\nplain.path = \"../plain\"\npipe.path = \"../pipe\"\nlarge.path = \"../large\"\n",
        );
        write("Cargo.toml", "");
        write("plain/a.rs", "");
        std::fs::create_dir_all(folder.join("pipe/Cargo.toml")).unwrap();
        write("pipe/b.rs", "");
        write("large/Cargo.toml", "");
        for number in 0..2_000 {
            std::fs::write(folder.join(format!("large/{number}.rs")), "").unwrap();
        }
        let asked = AtomicUsize::new(0);
        let is_over = || asked.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2;
        let found = at_most(100, &folder.join("root"), vec![folder.join("root/Cargo.toml")], is_over);
        assert!(found.iter().all(|path| path.starts_with(folder.join("large"))), "{:?}", found.first());
        assert_eq!(found.len(), 100);
        let asked = asked.into_inner();
        assert!(asked < 1_000, "the walk ends at the limit: {asked}");
    }
}
