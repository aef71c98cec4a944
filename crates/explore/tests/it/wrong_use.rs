//! Wrong use, and code that has no simple answer.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{SHAPES, Worktree, all, places};

#[test]
fn each_wrong_argument_is_named() {
    let worktree = Worktree::new(SHAPES);
    for (tool, arguments, expected) in [
        ("teach-graph", json!({"topic": "t", "seeds": []}), "`seeds` is empty"),
        ("teach-graph", json!({"topic": "t", "seeds": [" "]}), "`seeds` is empty"),
        ("teach-graph", json!({"topic": "t", "seeds": ["Shape"], "budget": -1}), "`budget` must be between 1 and 200"),
        (
            "teach-graph",
            json!({"topic": "t", "seeds": ["Shape"], "budget": 1_000_000}),
            "`budget` must be between 1 and 200",
        ),
        (
            "teach-graph",
            json!({"topic": "t", "seeds": ["Shape"], "max_depth": 21}),
            "`max_depth` must be between 0 and 20",
        ),
        ("teach-graph", json!({"topic": "t", "seeds": ["Shappe"]}), "similar names: Shape"),
        ("teach-graph", json!({"topic": "t", "seeds": vec!["a"; 21]}), "has 21 names; the limit is 20"),
        ("teach-graph", json!({"topic": "t", "seeds": ["Shape"], "selector": "model"}), "no model is configured"),
        ("scout", json!({"query": "Shape", "selector": "magic"}), "magic"),
        ("scout", json!({"query": " "}), "the query is empty"),
        ("scout", json!({"query": "What breaks if I change this?"}), "the query names no definition"),
        ("scout", json!({"query": "q", "symbols": ["Shappe"]}), "similar names: Shape"),
        ("scout", json!({"query": "x".repeat(2001)}), "the limit is 2000 bytes"),
        ("scout", json!({"query": "Shape", "depth": "deep"}), "deep"),
        ("scout", json!({"query": "Shape", "path": "nowhere"}), "no such file or folder"),
        ("teach-graph", json!({"topic": "t", "seeds": ["Shape"], "path": "nowhere"}), "no such file or folder"),
    ] {
        let error = worktree.ask(tool, arguments.clone()).expect_err("an error");
        assert!(error.contains(expected), "{tool} {arguments}: {error}");
    }
}

#[test]
fn an_unknown_seed_beside_a_known_one_is_listed() {
    let worktree = Worktree::new(SHAPES);
    let found = worktree.result("teach-graph", json!({"topic": "t", "seeds": ["Shape", "Circel"]}));
    assert_eq!(all(&found["core"], "/symbol/name"), ["Shape"]);
    assert_eq!(found["unresolved"][0]["name"], "Circel");
    assert!(found["unresolved"][0]["problem"].as_str().unwrap().contains("Circle"), "{found:#}");
}

#[test]
fn a_variant_of_a_struct_is_named_as_impossible() {
    let worktree = Worktree::new(SHAPES);
    let found = worktree.result("scout", json!({"query": "What breaks if I add a variant to Circle?"}));
    assert!(found["summary"].as_str().unwrap().ends_with("; struct Circle has no variants"), "{found:#}");
    let found = worktree.result("scout", json!({"query": "What breaks if I add a variant to Shape?"}));
    assert!(!found["summary"].as_str().unwrap().contains("has no variants"), "{found:#}");
    // An alias of another type leaves the answer complete.
    let worktree = Worktree::new(&[("a.ts", "export type Name = string;\n")]);
    let found = worktree.result("scout", json!({"query": "What breaks if I add a variant to Name?"}));
    assert_eq!(found["summary"], "add_variant of Name: no uses; type Name has no variants");
    assert!(!found["head"]["reasons"].to_string().contains("Name"), "{found:#}");
}

/// An advice that cannot change the answer is not given.
#[test]
fn the_advice_fits_the_limit_that_was_reached() {
    let text: String = (0..150).map(|number| format!("fn f{number}() {{ used() }}\n")).collect();
    let worktree = Worktree::new(&[("src/lib.rs", &format!("fn used() {{}}\n{text}"))]);
    let ask = |depth: &str| {
        let found = worktree.result("scout", json!({"query": "rename `used`", "depth": depth}));
        found["shown"].as_str().unwrap().to_owned()
    };
    let shown = ask("low");
    assert!(
        shown.starts_with("rename of used: 10 of 10 uses break (by syntax only), 140 more not visited\n"),
        "{shown}"
    );
    assert!(shown.contains("140 more uses were found and not visited; raise `depth`"), "{shown}");
    let shown = ask("high");
    assert!(shown.contains("50 more uses were found and not visited; ask about one folder with `path`"), "{shown}");
}

#[test]
fn a_cyclic_type_ends() {
    let files = [("src/lib.rs", "pub struct A { b: Option<Box<B>> }\npub struct B { a: Box<A>, b: Vec<B> }\n")];
    let worktree = Worktree::new(&files);
    let found = worktree.result("teach-graph", json!({"topic": "cycles", "seeds": ["A"], "budget": 200}));
    assert_eq!(found["order"], json!(["src/lib.rs:2", "src/lib.rs:1"]));
    assert_eq!(found["stopped"], "done");
    let found = worktree.result("scout", json!({"query": "remove B"}));
    let is_recursive = |one: &Value| one["tags"].to_string().contains("Recursive");
    let own = places(&found, |one| one["location"] == "src/lib.rs:2" && is_recursive(one));
    assert!(!own.is_empty() && own == places(&found, |one| one["location"] == "src/lib.rs:2"), "{found:#}");
}

#[test]
fn a_symbol_with_50_000_uses_is_answered_in_time() {
    let mut text = String::from("pub fn used() {}\n");
    for number in 0..500 {
        let _ = writeln!(text, "pub fn f{number}() {{ {} }}", "used(); ".repeat(100));
    }
    let worktree = Worktree::new(&[("src/lib.rs", &text)]);
    let found = worktree.result("scout", json!({"query": "rename `used`", "depth": "low", "wait_ms": 20_000}));
    assert_eq!((&found["nodesVisited"], &found["stopped"]), (&json!(10), &json!("budget")), "{found:#}");
    assert!(found["head"]["elapsed_ms"].as_u64().unwrap() < 20_500);
}
