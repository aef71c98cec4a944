//! The table of borderline forms in `docs/generated/code-forms.md`. Every example of every row is queried, and the last
//! column is generated from the answers.

use std::path::Path;

use serde_json::json;

use crate::worktree::{Worktree, every_class};

/// Declarations of the names in the examples.
const DECLARED: [(&str, &str, &str); 9] = [
    ("Rust", "rs", "pub fn area(x: i32) -> i32 { x }\npub struct Circle(i32);\n"),
    ("Python", "py", "def area(x):\n    return x\nclass Circle:\n    pass\n"),
    ("TypeScript", "tsx", "export function area(x) { return x; }\nexport class Circle {}\n"),
    ("JavaScript", "js", "export function area(x) { return x; }\nexport class Circle {}\n"),
    ("Go", "go", "package geo\nfunc area(x int) int { return x }\ntype Circle struct{ r int }\n"),
    ("C", "c", "int area(int x) { return x; }\n"),
    ("C++", "cpp", "int area(int x) { return x; }\nclass Circle {};\n"),
    (
        "Haskell",
        "hs",
        "module Geo where\narea :: Int -> Int\narea x = x\ndata Round = Circle { radius :: Int }\nclass Shape a where\n",
    ),
    ("", "", ""),
];

/// Returns the code in a cell, between single or double backticks.
fn spans(cell: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = cell;
    while let Some(start) = rest.find('`') {
        let mark = if rest[start..].starts_with("``") { "``" } else { "`" };
        let inner = &rest[start + mark.len()..];
        let end = inner.find(mark).expect("a closing backtick");
        found.push(inner[..end].replace('⏎', "\n"));
        rest = &inner[end + mark.len()..];
    }
    found
}

/// Returns the classes of the example's name, in order of position.
fn classes(language: &str, example: &str) -> Vec<String> {
    let (_, extension, declared) = DECLARED.iter().find(|(name, ..)| *name == language).expect("a known language");
    let worktree = Worktree::new();
    worktree
        .write(&format!("geo.{extension}"), declared)
        .write(&format!("example.{extension}"), format!("{example}\n"));
    let name = ["area", "radius", "Circle", "Shape"].into_iter().find(|name| example.contains(name)).unwrap();
    let result = worktree.result("find_uses", json!({"name": name, "classes": every_class()}));
    let mut found: Vec<(u64, u64, String)> = result["uses"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["file"].as_str().unwrap().starts_with("example"))
        .map(|one| {
            (one["line"].as_u64().unwrap(), one["column"].as_u64().unwrap(), one["class"].as_str().unwrap().to_owned())
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, _, class)| class).collect()
}

#[test]
fn every_row_of_the_table_holds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/code-forms.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (head, rows) = page.split_once("| --- |\n").expect("a table");
    let mut count = 0;
    let mut written = format!("{head}| --- |\n");
    for row in rows.lines() {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [form, languages, examples, _] = cells[..] else { panic!("no row of four cells: {row}") };
        let languages: Vec<&str> = languages.split(", ").collect();
        // Examples of one language are separated by commas, languages by a semicolon after the code.
        let groups: Vec<Vec<String>> = examples
            .split("`; `")
            .map(|group| {
                let group = group.trim_matches('`');
                let mark = if examples.contains("``") { "``" } else { "`" };
                spans(&format!("{mark}{group}{mark}"))
            })
            .collect();
        assert!(groups.len() == languages.len() || groups.len() == 1, "{form}: as many groups as languages");
        let mut found: Vec<Vec<String>> = Vec::new();
        for (number, language) in languages.iter().enumerate() {
            for example in groups.get(number).unwrap_or(&groups[0]) {
                count += 1;
                found.push(classes(language, example));
            }
        }
        // One form has one class in every language.
        found.dedup();
        let is: Vec<String> =
            found.iter().map(|all| all.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")).collect();
        let cells = [form, &languages.join(", "), examples, &is.join(" or ")].join(" | ");
        written.push_str(&format!("| {cells} |\n"));
    }
    println!("{count} examples of borderline forms");
    assert!(count > 60, "{count} examples");
    expect_test::expect_file!["../../../../docs/generated/code-forms.md"].assert_eq(&written);
}
