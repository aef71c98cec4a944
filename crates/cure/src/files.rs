//! Modules in a directory of files: found by the name they declare, whatever the file is called.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::session::Sources;

/// How many files are looked at.
const MOST_FILES: usize = 10_000;
/// The largest file that is looked at.
const MOST_BYTES: u64 = 4 << 20;

/// The `.cure` files below some directories. They are looked through when the first module is asked for.
#[derive(Debug)]
pub struct Directory {
    roots: Vec<PathBuf>,
    found: OnceLock<HashMap<String, Arc<str>>>,
}

impl Directory {
    /// The files below these directories; hidden ones, links and build directories are passed over.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Directory {
        Directory { roots: roots.into_iter().collect(), found: OnceLock::new() }
    }
}

impl Sources for Directory {
    fn source(&self, module: &str) -> Option<Arc<str>> {
        let all = self.found.get_or_init(|| {
            let mut modules = HashMap::new();
            for path in cure_files(&self.roots) {
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                let text: Arc<str> = text.into();
                for name in declared(&text) {
                    modules.entry(name).or_insert_with(|| text.clone());
                }
            }
            modules
        });
        all.get(module).cloned()
    }
}

/// The `.cure` files below these directories, sorted.
pub fn cure_files(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = roots.to_vec();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let hidden = name.to_string_lossy().starts_with(['.', '_']);
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !hidden && !["target", "node_modules", "ebin"].iter().any(|skip| name == *skip) {
                open.push(path);
            } else if kind.is_file() && is_cure(&path) && entry.metadata().is_ok_and(|data| data.len() <= MOST_BYTES) {
                files.push(path);
                if files.len() >= MOST_FILES {
                    break;
                }
            }
        }
    }
    files.sort();
    files
}

fn is_cure(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cure")
}

/// The names of the modules that a text declares, as far as a glance tells.
fn declared(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("module "));
    lines.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_by_their_declared_names() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("deep")).unwrap();
        std::fs::write(dir.path().join("deep/any.cure"), "module Shapes.Flat do\n  def one(): Int = 1\nend\n").unwrap();
        let text = "module Main do\n  import Shapes.Flat [one/0]\n  def main(): Int = one() + Shapes.Flat.one()\nend\n";
        let compiled = crate::compile(text, &Directory::new([dir.path().to_path_buf()]));
        assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
        let run = compiled.run("main", crate::Limits::default()).unwrap();
        assert_eq!(run.result, Ok("2".to_owned()));
        assert!(!crate::compile(text, &crate::Alone).is_ok());
    }
}
