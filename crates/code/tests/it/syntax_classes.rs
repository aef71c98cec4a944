//! Classes of uses by syntax alone: marked fixtures in every language, and the table of borderline forms in
//! `docs/generated/code-forms.md`, whose last column is generated from the answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::worktree::{Worktree, every_class};

/// Class and container of each site, by file and line.
type Sites = BTreeMap<(String, u64), Vec<(String, String)>>;

/// Returns the result of find_uses for every class, with the uses in order of position.
fn uses(worktree: &Worktree, name: &str) -> (Value, Vec<Value>) {
    let question = json!({"name": name, "classes": every_class(), "max_results": 5000, "path": ""});
    let result = worktree.result("find_uses", question);
    let mut uses = result["uses"].as_array().unwrap().clone();
    uses.sort_by_cached_key(|one| (place(one), one["column"].as_u64()));
    (result, uses)
}

fn place(one: &Value) -> (String, u64) {
    (one["file"].as_str().unwrap().to_owned(), one["line"].as_u64().unwrap())
}

/// Parses the marks of a text.
fn marks(file: &str, name: &str, text: &str, sites: &mut Sites) {
    for (number, line) in text.lines().enumerate() {
        let Some((_, marks)) = line.split_once("//~ ").or(line.split_once("#~ ")).or(line.split_once("-- ~ ")) else {
            continue;
        };
        let said = marks.split_whitespace().map(|mark| match mark.split_once('@') {
            Some((class, around)) => (class.to_owned(), around.replace('_', " ").replace('%', name)),
            None => (mark.to_owned(), String::new()),
        });
        sites.insert((file.to_owned(), number as u64 + 1), said.collect());
    }
}

/// Returns the sites according to find_uses.
fn sites(worktree: &Worktree, name: &str) -> Sites {
    let (result, uses) = uses(worktree, name);
    let mut sites = Sites::new();
    for one in result["definitions"].as_array().unwrap() {
        sites.entry(place(one)).or_default().push(("def".to_owned(), String::new()));
    }
    for one in uses {
        let [class, around] = ["class", "enclosing"].map(|field| one[field].as_str().unwrap_or_default());
        sites.entry(place(&one)).or_default().push((class.to_owned(), around.replace('_', " ")));
    }
    sites
}

/// Compares the marks of a fixture with the results after a rewrite that keeps its meaning.
fn check(language: &str, how: &str, change: fn(&str) -> String) {
    let worktree = Worktree::new();
    // `haskell-radius` is about another name.
    let usual = if language == "go" { "Area" } else { "area" };
    let name = language.split_once('-').map_or(usual, |(_, name)| name);
    let mut marked = Sites::new();
    for entry in std::fs::read_dir(fixtures().join(language)).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = change(&std::fs::read_to_string(&path).unwrap());
        marks(&file, name, &text, &mut marked);
        worktree.write(&file, text);
    }
    assert!(!marked.is_empty());
    let found = sites(&worktree, name);
    let places: BTreeSet<_> = marked.keys().chain(found.keys()).collect();
    let mut differences = String::new();
    for (file, line) in places {
        let [wanted, got] =
            [&marked, &found].map(|sites| sites.get(&(file.clone(), *line)).cloned().unwrap_or_default());
        let is_same = |((class, around), (other, there)): (&(String, String), &(String, String))| {
            class == other && (around.is_empty() || around == there)
        };
        if wanted.len() != got.len() || !wanted.iter().zip(&got).all(is_same) {
            differences.push_str(&format!("{file}:{line}: marked {wanted:?}, found {got:?}\n"));
        }
    }
    assert!(differences.is_empty(), "{language} {how}:\n{differences}");
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}

#[test]
fn every_marked_use_is_found_in_every_language() {
    let mut languages = BTreeSet::new();
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let fixture = entry.unwrap().file_name().into_string().unwrap();
        languages.insert(fixture.split('-').next().unwrap().to_owned());
        check(&fixture, "as it is", str::to_owned);
        check(&fixture, "with CRLF", |text| text.replace('\n', "\r\n"));
        check(&fixture, "with a byte order mark", |text| format!("\u{feff}{text}"));
        check(&fixture, "with tabs", |text| text.replace("    ", "\t"));
    }
    assert_eq!(languages.len(), 8, "{languages:?}");
}

#[test]
fn parameters_of_macros_and_destructors() {
    let macros =
        "int x;\n#define SQ(x) ((x)*(x))\n#define GET(s, \\\n  x) s.x\n#define OF(y) ((y) + x)\n#define NAME x\n";
    let inside =
        "class No {\npublic:\n  No() {}\n  ~No() {}\n};\nvoid f(No *n) {\n  n->~No();\n}\nclass Two { ~Two(); };\n";
    let outside = "struct Two {\n  ~Two();\n};\nTwo::~Two() {}\n";
    for (file, text, name, wanted) in [
        ("a.c", macros, "x", "5:22 value, 6:14 value"),
        ("a.cpp", inside, "No", "4:4 binding, 6:8 type, 7:7 type"),
        ("a.cpp", outside, "Two", "2:4 binding, 4:1 type, 4:7 binding"),
    ] {
        let (_, uses) = uses(&Worktree::from_files(&[(file, text)]), name);
        let uses =
            uses.iter().map(|one| format!("{}:{} {}", one["line"], one["column"], one["class"].as_str().unwrap()));
        assert_eq!(uses.collect::<Vec<_>>().join(", "), wanted);
    }
}

/// Declarations of the names in the examples.
const DECLARED: [(&str, &str, &str); 8] = [
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
    let (_, mut uses) = uses(&worktree, name);
    uses.retain(|one| one["file"].as_str().unwrap().starts_with("example"));
    uses.iter().map(|one| one["class"].as_str().unwrap().to_owned()).collect()
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
        let is: Vec<String> = found.iter().map(|all| format!("`{}`", all.join("`, `"))).collect();
        let cells = [form, &languages.join(", "), examples, &is.join(" or ")].join(" | ");
        written.push_str(&format!("| {cells} |\n"));
    }
    assert!(count > 60, "{count} examples");
    expect_test::expect_file!["../../../../docs/generated/code-forms.md"].assert_eq(&written);
}
