//! Proofs by `cargo check` on crates without dependencies, and by GHC.

use std::sync::Arc;

use code::tools::Questions;
use code::{CodeSettings, Timing};
use serde_json::{Value, json};

use crate::{SHAPES, Worktree, all, places};

/// Returns the places with the evidence `proved`.
pub(crate) fn proved(found: &Value) -> Vec<&str> {
    places(found, |one| one["evidence"] == "proved")
}

fn prove(worktree: &Worktree, query: &str, symbol: &str) -> Value {
    prove_with(worktree, &Questions::new(), query, symbol)
}

/// Proves with the shared state of earlier calls.
pub(crate) fn prove_with(worktree: &Worktree, questions: &Arc<Questions>, query: &str, symbol: &str) -> Value {
    let arguments = json!({"query": query, "symbols": [symbol], "prove": true, "depth": "high"});
    worktree.ask_with(questions.clone(), "scout", arguments).unwrap()
}

#[test]
fn the_errors_of_the_compiler_are_the_proven_places() {
    let worktree = Worktree::new(SHAPES);
    let found = prove(&worktree, "add a variant", "Shape");
    assert_eq!(proved(&found), ["src/geo.rs:9"], "{found:#}");
    assert_eq!(found["pointers"][0]["risk"], 5);
    let why = found["pointers"][0]["why"].as_str().unwrap();
    assert!(why.contains("cargo check: E0004: non-exhaustive patterns: `&Shape::HobAdded` not covered"), "{why}");
    let summary = found["summary"].as_str().unwrap();
    assert!(summary.contains("1 of ") && summary.contains("(1 proved by cargo check)"), "{summary}");

    // A use that the compiler does not report is not said to break.
    let found = prove(&worktree, "add a parameter", "unit");
    assert_eq!(proved(&found), ["src/lib.rs:11"], "{found:#}");

    let found = prove(&worktree, "rename", "geo::area");
    assert_eq!(proved(&found), ["src/lib.rs:4"], "{found:#}");
    assert_eq!(places(&found, |one| one["risk"] == 5), proved(&found), "{found:#}");

    // The worktree itself was not changed.
    for (path, text) in SHAPES {
        assert_eq!(std::fs::read_to_string(worktree.path().join(path)).unwrap(), *text);
    }
    assert!(!worktree.path().join("target").exists() && !worktree.path().join("Cargo.lock").exists());
}

/// The compiler reports a line that does not name the definition.
#[test]
fn an_error_at_another_place_is_shown_with_its_line() {
    let source = "pub fn unit() -> u8 { 1 }\npub fn two() -> u8 {\n    let one = unit;\n    one() + 1\n}\n";
    let worktree = Worktree::new(&[SHAPES[0], ("src/lib.rs", source)]);
    let found = prove(&worktree, "add a parameter", "unit");
    assert_eq!(proved(&found), ["src/lib.rs:4"], "{found:#}");
    let shown = found["shown"].as_str().unwrap();
    let expected = "(reported by cargo check, proved)\n  → change what the compiler reports: one() + 1\n";
    assert!(shown.contains(expected), "{shown}");
}

/// The dependents of a package with errors are not compiled, so the proof says that they may break too.
#[test]
fn packages_that_were_not_compiled_are_named() {
    let worktree = Worktree::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n"),
        ("a/Cargo.toml", "[package]\nname = \"a\"\nedition = \"2024\"\n"),
        ("a/src/lib.rs", "pub enum Kind { One }\npub fn name(k: Kind) -> u8 { match k { Kind::One => 1 } }\n"),
        ("b/Cargo.toml", "[package]\nname = \"b\"\nedition = \"2024\"\n[dependencies]\na = { path = \"../a\" }\n"),
        ("b/src/lib.rs", "pub fn name(k: a::Kind) -> u8 { match k { a::Kind::One => 1 } }\n"),
    ]);
    let found = prove(&worktree, "add a variant", "Kind");
    assert_eq!(proved(&found), ["a/src/lib.rs:2"], "{found:#}");
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("not compiled, because a package below has errors: lib b"), "{reasons}");
}

#[test]
fn a_proof_that_cannot_be_had_is_explained() {
    let mut files = SHAPES.to_vec();
    files.push(("src/other.rs", "pub enum Shape { Flat }\n"));
    files.push(("a.py", "def area(): pass\n"));
    let worktree = Worktree::new(&files);
    let reasons = |query: &str, symbol: &str| prove(&worktree, query, symbol)["head"]["reasons"].to_string();
    assert!(reasons("add a variant", "Shape").contains("not proven: a proof needs exactly one definition"));
    assert!(reasons("change the type", "Circle").contains("not proven: a proof needs a change other than"));
    assert!(
        reasons("add a parameter", "a.py:1")
            .contains("not proven: proofs are available for Haskell, Rust and TypeScript")
    );
    let worktree = Worktree::new(&[SHAPES[0], ("src/lib.rs", "pub fn area() -> u8 { other() }\npub fn unit() {}\n")]);
    let found = prove(&worktree, "rename", "unit");
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("the project does not compile without the change: src/lib.rs:1: E0425"), "{reasons}");
    assert!(all(&found["pointers"], "/evidence").is_empty());
}

const SHAPES_HS: &[(&str, &str)] = &[
    (
        "Geo.hs",
        "module Geo (Shape (..), area, name) where\n\ndata Shape = Circle Double | Square Double deriving (Eq)\n\n\
         -- | The area.\narea :: Shape -> Double\narea (Circle r) = r * r\narea (Square s) = s * s\n\n\
         name :: Shape -> String\nname shape = case shape of\n  Circle _ -> \"circle\"\n  Square s -> show (area shape)\n",
    ),
    (
        "Total.hs",
        "module Total where\n\nimport Geo\n\ntotal :: [Shape] -> Double\ntotal shapes = sum (map area shapes)\n\n\
         isRound :: Shape -> Bool\nisRound (Circle _) = True\nisRound _ = False\n\nhalf :: Int -> Int\nhalf 0 = 0\n",
    ),
    (
        "Main.hs",
        "module Main where\n\nimport Geo\n\nmain :: IO ()\nmain = mapM_ draw [Circle 1]\n  where\n    draw shape = case shape of\n      \
         Circle _ -> pure ()\n      Square _ -> pure ()\n",
    ),
    (
        "Forms.hs",
        "module Forms where\n\none, two :: Int -> Int\none x = x\ntwo x = x\n\nthree :: Int -> Int\n{-# INLINE three #-}\n\
         three x = x\n\nuse :: Int\nuse = three (one 1)\n\nagain :: Int -> Int\nagain x = again x\n\n\
         data Size = Size Int\n\nsize :: Size -> Int\nsize (Size n) = n\n",
    ),
];

/// Returns the shared state of calls that may run language servers and GHC.
pub(crate) fn with_servers(worktree: &Worktree) -> Arc<Questions> {
    Questions::with_judges(code::Options {
        settings: CodeSettings::default(),
        withheld: Vec::new(),
        trusts: Arc::new(|_| true),
        prepare: Arc::new(|| Ok(())),
        state_dir: worktree.path().with_extension("servers"),
        kept_dir: None,
        records_dir: None,
        guard: process::Guard::Without,
        timing: Timing::default(),
        journal: None,
    })
}

/// GHC compiles the changed file and all that import it. A pattern that was incomplete before is not an effect.
#[test]
fn ghc_proves_incomplete_patterns_and_type_errors() {
    let worktree = Worktree::new(SHAPES_HS);
    let questions = with_servers(&worktree);
    let prove = |query: &str, symbol: &str| prove_with(&worktree, &questions, query, symbol);
    // The same answer with and without the output of an earlier run.
    for _ in 0..2 {
        let found = prove("add a variant", "Shape");
        assert_eq!(proved(&found), ["Geo.hs:7", "Geo.hs:11", "Main.hs:8"], "{found:#}");
        assert!(found["summary"].as_str().unwrap().contains("(3 proved by ghc)"), "{found:#}");
    }
    let found = prove("add a parameter", "area");
    assert_eq!(proved(&found), ["Geo.hs:13", "Total.hs:6"], "{found:#}");
    let found = prove("rename", "name");
    assert_eq!(proved(&found), ["Geo.hs:1"], "{found:#}");
    assert!(found["head"]["reasons"].to_string().contains("ghc stopped at an error"), "{found:#}");
    let found = prove("add a parameter", "three");
    assert_eq!(proved(&found), ["Forms.hs:12"], "{found:#}");
    // A type and its constructor in one line.
    let found = prove("add a variant", "Forms.hs:17");
    assert_eq!(all(&found["entries"], "/kind"), ["struct"], "{found:#}");
    assert_eq!(proved(&found), ["Forms.hs:20"], "{found:#}");
    let reasons = |symbol: &str| prove("add a parameter", symbol)["head"]["reasons"].to_string();
    assert!(reasons("one").contains("cannot be changed in this way"));
    assert!(reasons("again").contains("the changed definition does not compile"));
    for (path, text) in SHAPES_HS {
        assert_eq!(std::fs::read_to_string(worktree.path().join(path)).unwrap(), *text);
    }

    std::fs::write(worktree.path().join("Bad.hs"), "module Bad where\nimport Geo\nbad :: Int\nbad = \"\"\n").unwrap();
    let found = prove("add a variant", "Shape");
    assert_eq!(proved(&found), ["Geo.hs:7", "Geo.hs:11", "Main.hs:8"], "{found:#}");
    let reasons = found["head"]["reasons"].to_string();
    assert!(reasons.contains("1 file(s) do not compile without the change, the first Bad.hs: line 4: "), "{reasons}");
}
