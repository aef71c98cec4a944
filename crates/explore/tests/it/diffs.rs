//! The definitions of a diff are the entries.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{Dependencies, Worktree, all};

/// Asks about a diff that changed these lines, and removed these names.
fn scout(worktree: &Worktree, lines: &[(&str, usize, usize)], removed: &[&str]) -> Result<Value, String> {
    let lines = lines.iter().map(|(path, first, last)| (PathBuf::from(path), *first, *last)).collect();
    let diff = (lines, removed.iter().map(|name| (*name).to_owned()).collect());
    worktree.ask_by(&Dependencies { diff, ..Dependencies::default() }, "scout", json!({"diff": "working"}))
}

#[test]
fn the_definitions_of_a_diff_are_the_entries() {
    let many: String = (0..31).map(|number| format!("pub fn f{number}() -> u8 {{ 1 }}\n")).collect();
    let worktree = Worktree::new(&[
        ("Cargo.toml", "[package]\nname = \"shapes\"\n"),
        ("src/lib.rs", "pub fn area(side: u8) -> u8 {\n    side * side\n}\n\npub fn total() -> u8 {\n    area(1)\n}\n"),
        ("src/many.rs", &many),
        ("tests/a.rs", "#[test]\nfn not_changed() {\n    shapes::f0();\n}\n"),
        ("tests/it.rs", "#[test]\nfn total_of_one() {\n    shapes::total();\n}\n"),
        ("tests/b.rs", "fn helper() -> u8 {\n    1\n}\n\n#[test]\nfn with_helper() {\n    helper();\n}\n"),
    ]);
    let found = scout(&worktree, &[("src/lib.rs", 2, 2)], &["surface"]).unwrap();
    assert_eq!(all(&found["entries"], "/name"), ["area"], "{found:#}");
    let test = &found["tests"][0];
    assert_eq!(
        (&test["distance"], &test["command"]),
        (&json!(1), &json!("cargo test -p shapes --test it total_of_one"))
    );
    // The old name of a definition may still be used.
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("removed or renamed, and not followed: surface; "), "{reasons}");
    // A changed test is listed first, even if more definitions changed than are followed.
    let found = scout(&worktree, &[("src/many.rs", 1, 31), ("tests/it.rs", 3, 3)], &[]).unwrap();
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("31 definitions changed; only the first 30 were followed"), "{reasons}");
    assert_eq!(all(&found["tests"], "/name"), ["total_of_one", "not_changed"]);
    // A changed helper of tests is followed to them.
    let found = scout(&worktree, &[("tests/b.rs", 2, 2)], &[]).unwrap();
    assert_eq!((&found["entries"][0]["name"], &found["tests"][0]["name"]), (&json!("helper"), &json!("with_helper")));

    let only_removes = scout(&worktree, &[], &["total"]).unwrap_err();
    assert_eq!(only_removes, "the diff only removes definitions: total");
    assert_eq!(scout(&worktree, &[], &[]).unwrap_err(), "the diff changes no definition");
}
