//! A Haskell function is its signature and all its clauses.

use serde_json::{Value, json};

use crate::worktree::Worktree;

const GEO: &str = "\
module Geo where

-- | The factorial.
f :: Int -> Int
f 0 = 1
f n = n * f (n - 1)

(<+>) :: Int -> Int -> Int
0 <+> y = y
x <+> y = x + y

g 0 = 1
g 1 = 1
g n = n

instance Show T where
  show A = \"a\"
  show B = \"b\"
";

fn geo() -> Worktree {
    let worktree = Worktree::new();
    worktree.write("Geo.hs", GEO);
    worktree
}

fn defined(name: &str) -> Value {
    geo().ask("show_definition", json!({ "name": name })).unwrap().0["definitions"].take()
}

#[test]
fn a_definition_holds_all_its_clauses() {
    for (name, line, end, source) in [
        ("f", 5, 6, "f :: Int -> Int\nf 0 = 1\nf n = n * f (n - 1)"),
        ("g", 12, 14, "g 0 = 1\ng 1 = 1\ng n = n"),
        ("<+>", 9, 10, "(<+>) :: Int -> Int -> Int\n0 <+> y = y\nx <+> y = x + y"),
        ("show", 17, 18, "show A = \"a\"\nshow B = \"b\""),
    ] {
        let found = defined(name);
        let one = &found[0];
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        assert_eq!((&one["line"], &one["end_line"]), (&json!(line), &json!(end)), "{one}");
        assert_eq!(one["source"], source, "{one}");
    }
}

#[test]
fn a_line_of_any_clause_names_the_function() {
    for line in [4, 5, 6] {
        assert_eq!(defined(&format!("Geo.hs:{line}"))[0]["name"], "f", "{line}");
    }
    assert_eq!(defined("Geo.hs:13")[0]["name"], "g");
}

#[test]
fn the_outline_has_a_function_once() {
    let outline = geo().ask("outline", json!({ "path": "Geo.hs" })).unwrap().0;
    let symbols = outline["files"][0]["symbols"].as_array().unwrap().clone();
    let names: Vec<String> = symbols
        .iter()
        .map(|one| format!("{} {}-{}", one["name"].as_str().unwrap(), one["line"], one["end_line"]))
        .collect();
    assert_eq!(names, ["f 5-6", "<+> 9-10", "g 12-14", "Show T 16-18"]);
    assert_eq!(symbols[3]["children"].as_array().unwrap().len(), 1, "{outline}");
}

#[test]
fn a_signature_of_several_names_is_each_ones_own() {
    let worktree = Worktree::new();
    worktree.write(
        "Two.hs",
        "module Two where\n\na, b, (<->) :: Int -> Int\na 0 = 1\na n = n\nb = id\n(<->) = id\n\nc :: Int\nc = 1\n",
    );
    let (_, text) = worktree.ask("outline", json!({ "path": "Two.hs" })).unwrap();
    assert_eq!(
        text,
        "Two.hs\n  1  module Two where\n  4  a :: Int -> Int\n  6  b :: Int -> Int\n  7  (<->) :: Int -> Int\n  9  c :: Int"
            .replace("  1  module Two where\n", "")
            .replace("  9  c", "  10  c")
    );
    for (name, signature, source) in [
        ("a", "a :: Int -> Int", "a, b, (<->) :: Int -> Int\na 0 = 1\na n = n"),
        ("b", "b :: Int -> Int", "b = id"),
        ("<->", "(<->) :: Int -> Int", "(<->) = id"),
        ("c", "c :: Int", "c :: Int\nc = 1"),
    ] {
        let found = worktree.ask("show_definition", json!({ "name": name })).unwrap().0["definitions"].take();
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        assert_eq!((&found[0]["signature"], &found[0]["source"]), (&json!(signature), &json!(source)), "{name}");
    }
}

#[test]
fn an_outline_leaves_out_what_builds_make() {
    let worktree = Worktree::new();
    worktree
        .write("Cargo.toml", "[package]\nname = \"a\"\n")
        .write("src/target/mod.rs", "pub fn keep() {}\n")
        .write("target/debug/made.rs", "fn made() {}\n")
        .write("sub/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
        .write("sub/target/made.rs", "fn made() {}\n")
        .write("dist-newstyle/build/Paths_a.hs", "module Paths_a where\nmade = 1\n")
        .write("web/node_modules/x/index.js", "export function made() {}\n")
        .write(".hob/made.rs", "fn made() {}\n");
    let outlined = |path: &str| {
        let files = worktree.ask("outline", json!({ "path": path })).unwrap().0["files"].take();
        let all = files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned());
        all.collect::<Vec<_>>()
    };
    assert_eq!(outlined(""), ["src/target/mod.rs"]);
    // A definition requested by name is shown.
    assert_eq!(outlined("web/node_modules/x"), ["web/node_modules/x/index.js"]);
    assert_eq!(outlined("target"), ["target/debug/made.rs"]);
}
