//! `cargo xtask tidy`: the rules of this repository that the compiler does not check.
//!
//! Prints the result. Each family of rules returns a list of complaints: [`edges`] (crate dependencies), [`sources`]
//! (headers, length, forbidden calls and names), [`modules`] (undeclared files), [`circles`] (module cycles), [`parts`]
//! (where parts are named), [`map`] (paths in ARCHITECTURE.md), [`sizes`] (lines of folders).

mod circles;
mod edges;
mod language;
mod map;
mod modules;
mod parts;
mod prose;
mod sizes;
mod sources;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use taskkit::workspace;

/// Checks this checkout, and prints all complaints before it fails.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let mut complaints = edges::check(&workspace::metadata()?);
    complaints.extend(check_tree(&root)?);
    complaints.extend(language::check_commits(&root));
    complaints.extend(check_client()?);
    complaints
        .extend(check_lock(&std::fs::read_to_string(root.join("Cargo.lock")).context("could not read Cargo.lock")?));
    if !complaints.is_empty() {
        for complaint in &complaints {
            eprintln!("tidy: {complaint}");
        }
        bail!("{} rule(s) of the house are broken; each line above says where and what to do", complaints.len());
    }
    println!(
        "tidy: edges, headers, lengths, names, declared files, the map, the language and the lock file are in order"
    );
    Ok(())
}

/// Maximum number of third-party packages in the lock file. Each takes time to build and adds third-party code, so a
/// new one must be worth it or replace another. The last twelve came with `landlock` and `seccompiler`, for sandboxed sessions,
/// `rustyline`, for `hob attach`, and `vt100`, for the screens of programs on a terminal.
const MAX_LOCKED: usize = 418;

fn check_lock(lock: &str) -> Option<String> {
    let count = lock.lines().filter(|line| line.starts_with("source = ")).count();
    (count > MAX_LOCKED).then(|| {
        format!(
            "Cargo.lock: {count} packages of others; the limit is {MAX_LOCKED}: `cargo tree -i NAME` shows what a new one is for"
        )
    })
}

/// Checks the rules that need only the files.
fn check_tree(root: &Path) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    let files = rust_files(root)?;
    let mut uses = circles::Uses::default();
    let mut language = language::Language::default();
    let mut sizes = sizes::Sizes::default();
    for file in &files {
        let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("could not read {file:?}"))?;
        complaints.extend(sources::check(file, &text));
        complaints.extend(parts::check(file, &text));
        uses.add(file, &text);
        language.add(file, &text);
        sizes.add(file, &text);
    }
    complaints.extend(uses.check());
    complaints.extend(sizes.check());
    complaints.extend(modules::check(root, &files)?);
    complaints.extend(map::check(root)?);
    complaints.extend(language.check());
    complaints.extend(language::check_pages(root)?);
    Ok(complaints)
}

/// Checks that the front-end depends on no async runtime, which lets it start in a millisecond. A workspace build joins
/// the features of all crates and would hide a mistake, so the crate is checked alone.
fn check_client() -> Result<Vec<String>> {
    let tree =
        workspace::read(workspace::cargo().args(["tree", "-p", "client", "-e", "normal,build", "--prefix", "none"]))?;
    workspace::run(workspace::cargo().args(["check", "--quiet", "-p", "client"]))?;
    let heavy = tree.lines().filter(|line| line.starts_with("tokio v"));
    Ok(heavy.take(1).map(|line| format!("crates/client: its dependencies hold an async runtime ({line}); `cargo tree -p client -i tokio` shows through whom")).collect())
}

/// All Rust files of crates, tools, xtask and fuzz, relative to the root, sorted.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = ["crates", "tools", "xtask", "fuzz"].iter().map(|dir| root.join(dir)).collect();
    while let Some(dir) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries {
            let path = entry.with_context(|| format!("could not list {dir:?}"))?.path();
            if path.is_dir() {
                let built = path.file_name().is_some_and(|name| name == "target" || name == "node_modules");
                if !built {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.push(path.strip_prefix(root).expect("found below the root").to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// Writes a tree of (path, text) pairs and returns the complaints about it.
    fn complaints(files: &[(&str, &str)]) -> String {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        check_tree(root.path()).unwrap().join("\n")
    }

    #[test]
    fn the_number_of_locked_packages_is_limited() {
        assert_eq!(check_lock(&"source = \"registry\"\n".repeat(MAX_LOCKED)), None);
        assert!(check_lock(&"source = \"registry\"\n".repeat(MAX_LOCKED + 1)).is_some());
    }

    #[test]
    fn a_good_tree_has_no_complaints() {
        let said = complaints(&[
            ("ARCHITECTURE.md", "Start at `repl/src/lib.rs`.\n"),
            ("crates/repl/src/lib.rs", "//! REPLs.\n\nmod tools;\n"),
            ("crates/repl/src/tools/mod.rs", "//! The list.\n\nmod eval;\n\nfn list() { eval::new(); }\n"),
            ("crates/repl/src/tools/eval.rs", "//! Evaluates.\n"),
        ]);
        expect![[""]].assert_eq(&said);
    }

    #[test]
    fn a_bad_tree_gets_all_complaints_at_once() {
        let said = complaints(&[
            ("ARCHITECTURE.md", "Start at `repl/src/gone.rs`.\n"),
            ("crates/repl/src/lib.rs", "mod tools;\n\nfn f() { Some(1).unwrap(); }\n"),
            ("crates/repl/src/tools/mod.rs", "//! The list.\n\nmod wait;\n"),
            ("crates/repl/src/tools/eval.rs", "//! Evaluates.\n"),
            ("crates/repl/src/tools/wait.rs", "//! Waits.\n\n/// The tool.\nstruct Wait;\n\n/// Whose.\nstruct Who;\n"),
            ("crates/hob/tests/it/main.rs", "//! Tests.\n"),
            ("crates/hob/tests/it/stdio.rs", "//! Never run.\n"),
            ("crates/util/src/lib.rs", "//! Anything.\n"),
        ]);
        expect![[r#"
            crates/repl/src/lib.rs: open with `//!`: what the file owns, what it does not, where to start
            crates/repl/src/lib.rs:3: no unwrap outside tests: return an error, or `expect` the invariant
            crates/repl/src/tools/wait.rs:3: this comment says no more than the name below it; leave it out
            crates/repl/src/tools/wait.rs:6: this comment says no more than the name below it; leave it out
            crates/util/src/lib.rs: the name `util` says nothing; put it with its owner
            crates/hob/tests/it/stdio.rs: not declared; add `mod stdio;` to crates/hob/tests/it/main.rs
            crates/repl/src/tools/eval.rs: not declared; add `mod eval;` to crates/repl/src/tools/mod.rs
            crates/repl/src/tools/wait.rs: declared but not registered in the list of crates/repl/src/tools/mod.rs
            ARCHITECTURE.md:1: names `repl/src/gone.rs`, which is not there
            crates/repl/src/tools/wait.rs:7: the type `Who`: rename it to a noun of the domain"#]]
        .assert_eq(&said);
    }
}
