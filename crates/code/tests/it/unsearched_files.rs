//! Files that a compiler reads but the search does not: an answer is not final if they may contain a result.

use serde_json::json;

use crate::judged_project::{JudgedProject, until};
use crate::misbehaving_server::lying_python;
use crate::worktree::{Worktree, reasons};

fn reasons_for(worktree: &Worktree, name: &str) -> Vec<String> {
    reasons(&worktree.result("find_callers", json!({"name": name})), "not_searched")
}

#[test]
fn a_file_that_git_ignores_and_a_link_are_named() {
    let worktree = Worktree::new();
    worktree
        .write("src/lib.rs", "pub fn area() {}\n")
        .write("py.py", "def alone(): pass\n")
        .write(".gitignore", "gen.rs\n")
        .write("src/gen.rs", "fn q() { crate::area(); }\n")
        .write("outside.txt", "fn l() { crate::area(); }\n");
    std::os::unix::fs::symlink("../outside.txt", worktree.path().join("src/link.rs")).unwrap();
    let said = reasons_for(&worktree, "area");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("src/gen.rs: mentions the name and is not searched"), "{said:?}");
    assert!(said[1].starts_with("src/link.rs: a link"), "{said:?}");
    assert!(reasons_for(&worktree, "alone").is_empty());
}

#[test]
fn rules_above_the_root_leave_nothing_out() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".gitignore"), "lib/\n").unwrap();
    // Reading it would never end.
    std::os::unix::fs::symlink("/dev/zero", home.path().join(".ignore")).unwrap();
    let worktree = Worktree::in_folder(home.path());
    worktree.write("src/geo.rs", "pub fn area() {}\n").write("lib/uses.rs", "fn q() { crate::area(); }\n");
    let answer = worktree.result("find_callers", json!({"name": "area"}));
    assert_eq!(answer["call_sites"][0]["file"], "lib/uses.rs", "{answer:#}");
    let answer = worktree.result("find_callers", json!({"name": "area", "path": "lib"}));
    assert_eq!(answer["call_sites"].as_array().unwrap().len(), 1, "{answer:#}");
}

#[test]
fn assembly_is_named() {
    let worktree = Worktree::new();
    worktree
        .write("geo/geo.go", "package geo\n\nfunc area() int\n\nfunc plain() {}\n")
        .write("geo/geo_amd64.s", "TEXT ·twice(SB), 0, $0\n\tCALL ·area(SB)\n\tRET\n")
        .write("c/boot.S", "call area\n")
        .write("a.rs", "pub fn start() {}\n");
    let said = reasons_for(&worktree, "area");
    assert_eq!(said, ["c/boot.S, geo/geo_amd64.s: assembly that mentions the name: no language server reads it"]);
    assert!(reasons_for(&worktree, "plain").is_empty() && reasons_for(&worktree, "start").is_empty());
}

#[test]
fn what_only_cgo_and_dialects_use_is_named() {
    let worktree = Worktree::from_files(&[
        ("geo.c", "int area(void) { return 1; }\nint free_one(void) { return 2; }\n"),
        ("main.go", "package main\n\nimport \"C\"\n\nfunc main() { C.area(); free_one() }\n\nfunc free_one() {}\n"),
        ("parser.y", "rule: A { free_one(); }\n"),
    ]);
    let cgo = "main.go: uses the name by cgo (`C.name`), which clangd does not read";
    assert_eq!(reasons_for(&worktree, "area"), [cgo]);
    let other = "parser.y: mentions the name and is not searched, because no language server reads files of its kind";
    assert_eq!(reasons_for(&worktree, "geo.c:free_one"), [other]);
}

#[test]
fn files_of_other_kinds_that_name_it_are_named() {
    let worktree = Worktree::new();
    worktree
        .write("src/geo.ts", "export function area() {}\nexport function far() {}\n")
        .write("plot.py", "def area_of(): pass\ndef run(): pass\ndef name(): pass\ndef near(): pass\n")
        .write("geo.go", "package geo\n\nfunc Size() int { return 1 }\n")
        .write("page.tmpl", "{{.Size}}\n")
        .write(".gitignore", "/made/\n");
    for file in ["src/App.vue", "src/B.svelte", "c.astro", "d.mdx", "made/E.vue"] {
        worktree.write(file, "<script>import { area } from './geo'; area(1)</script>\n");
    }
    worktree
        .write("nb.ipynb", r#"{"cells": [{"source": ["import plot\n", "plot.area_of()"]}, {"source": "x\nnear(1)"}]}"#)
        .write("pyproject.toml", "[project]\nname = \"plot\"\n[project.scripts]\nplot = \"plot:run\"\n")
        .write("setup.cfg", "[metadata]\nname = plot\n[options.entry_points]\nconsole_scripts =\n    x = plot:run\n");
    let said = reasons_for(&worktree, "area").join("\n");
    let words = "mentions the name and is not searched, because no language server reads files of its kind";
    assert_eq!(said, format!("c.astro, d.mdx, src/App.vue and 1 more: {words}"));
    assert_eq!(reasons_for(&worktree, "run"), [format!("pyproject.toml, setup.cfg: {words}")]);
    for name in ["area_of", "near"] {
        assert_eq!(reasons_for(&worktree, name), [format!("nb.ipynb: {words}")]);
    }
    assert_eq!(reasons_for(&worktree, "Size"), [format!("page.tmpl: {words}")]);
    assert!(reasons_for(&worktree, "far").is_empty() && reasons_for(&worktree, "name").is_empty());
}

#[test]
fn no_answer_of_a_ready_judge_is_final_with_an_ignored_file() {
    let Some(judged) = lying_python("honest", 0.0) else { return };
    judged.until_final("find_callers", json!({"name": "geo.py:area"}));
    judged.write(".gitignore", "made.py\n").write("made.py", "from geo import area\narea(1)\n");
    let (answer, _) = judged.ask("find_callers", json!({"name": "geo.py:area", "wait_ms": 10_000})).unwrap();
    assert!(answer["head"]["complete"] == false && reasons(&answer, "not_searched").len() == 1, "{:#}", answer["head"]);
}

#[test]
fn a_workspace_that_was_not_loaded_is_said() {
    if !testkit::has_program("rust-analyzer") {
        return;
    }
    let judged = JudgedProject::new();
    judged.write("Cargo.toml", "[package]\nname = \"made\"\nxx[\n").write("src/lib.rs", "pub fn area() {}\n");
    judged.write("src/uses.rs", "pub fn run() { crate::area(); }\n");
    until(|| {
        let (_, text) = judged.stays_open("find_callers", "area");
        if text.contains("rust-analyzer says: ") { Ok(()) } else { Err(text) }
    });
}
