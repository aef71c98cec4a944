//! One real use for each row of the rubric.

use serde_json::json;

use crate::Worktree;

/// A row's name, a file, its source with the use in line 3, and the symbol that changes.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "match that breaks",
        "a.rs",
        "enum E { A, B }\nfn f(e: E) -> u8 {\n    match e { E::A => 1, E::B => 2 }\n}\n",
        "E",
    ),
    ("match that falls through", "a.rs", "enum E { A, B }\nfn f(e: E) {\n    if let E::A = e {}\n}\n", "E"),
    (
        "match with a catch-all branch",
        "a.rs",
        "enum E { A, B }\nfn f(e: E) -> u8 {\n    match e { E::A => 1, _ => 2 }\n}\n",
        "E",
    ),
    (
        "match with an unknown effect",
        "a.rs",
        "enum E { A, B }\nfn f(e: E, b: bool) -> u8 {\n    match (e, b) { (E::A, true) => 1, (_, true) => 2, (E::A | E::B, false) => 3 }\n}\n",
        "E",
    ),
    ("pattern", "a.rs", "struct P { x: u8 }\nfn f(p: P) -> u8 {\n    let P { x } = p;\n    x\n}\n", "P"),
    ("construction", "a.rs", "struct P { x: u8 }\nfn f() {\n    drop(P { x: 1 });\n}\n", "P"),
    ("call", "a.rs", "fn g() {}\nfn f() {\n    g();\n}\n", "g"),
    ("use as a value", "a.rs", "fn g(x: u8) -> u8 { x }\nfn f() -> Option<u8> {\n    Some(1).map(g)\n}\n", "g"),
    ("read of a field", "a.rs", "struct P { x: u8 }\nfn f(p: P) -> u8 {\n    p.x\n}\n", "P::x"),
    ("write of a field", "a.rs", "struct P { x: u8 }\nfn f(p: &mut P) {\n    p.x = 1;\n}\n", "P::x"),
    ("import", "a.rs", "mod m { pub struct P; }\n\nuse m::P;\n", "P"),
    ("re-export", "a.rs", "mod m { pub struct P; }\n\npub use m::P;\n", "P"),
    ("signature", "A.hs", "module A where\n\narea :: Int -> Int\narea x = x\n", "area"),
    ("type", "a.rs", "struct P;\n\nfn f(p: P) {}\n", "P"),
    ("implementation", "a.rs", "struct P;\n\nimpl Clone for P { fn clone(&self) -> P { P } }\n", "P"),
    (
        "type family instance",
        "A.hs",
        "{-# LANGUAGE TypeFamilies #-}\nmodule A where\ntype instance Elem T = Int\ntype family Elem a\ndata T = T\n",
        "Elem",
    ),
    ("use through another definition", "a.rs", "fn g() {}\nfn f() { g() }\nfn h() { f() }\n", "g"),
];

/// Returns the cells of each row of the table in the documentation, after its heading.
fn rows() -> Vec<Vec<String>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/explore.md");
    let text = std::fs::read_to_string(page).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("| use |"));
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn each_row_is_what_a_real_use_gets() {
    let rows = rows();
    // The second row is the line below the heading.
    let (changes, rows) = (&rows[0][1..6], &rows[2..]);
    let named: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(named, CASES.iter().map(|case| case.0).collect::<Vec<_>>(), "a case for each row");
    for (row, (name, file, source, symbol)) in rows.iter().zip(CASES) {
        let worktree = Worktree::new(&[(file, source)]);
        for (change, risk) in changes.iter().zip(&row[1..6]).filter(|(_, risk)| *risk != "–") {
            let found = worktree.result("scout", json!({"query": "q", "symbols": [symbol], "change": change}));
            let location = format!("{file}:3");
            let pointers = found["pointers"].as_array().unwrap().iter();
            let of_line: Vec<_> = pointers.filter(|one| one["location"] == location).collect();
            // A use at a distance is named by its kind.
            let is_named = |what: &str| *name == "use through another definition" || what.starts_with(name);
            let is_meant = |one: &&&serde_json::Value| {
                one["risk"].as_u64() == risk.parse().ok() && is_named(one["what"].as_str().unwrap())
            };
            let Some(one) = of_line.iter().find(is_meant) else { panic!("{name}, {change}: risk {risk}: {found:#}") };
            let tags = one["tags"].as_array().unwrap().iter().filter_map(|tag| tag.as_str());
            let tags: Vec<&str> = tags.filter(|tag| *tag != "Recursive").collect();
            assert_eq!(tags.join(", "), row[6], "{name}, {change}");
            let action = one["action"].as_str().unwrap_or_default();
            assert!(action.is_empty() || action == row[7], "{name}, {change}: {action}");
            assert_eq!(!action.is_empty(), risk.parse::<u8>().unwrap() >= 3, "{name}, {change}: {action}");
        }
    }
}
