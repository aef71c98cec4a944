//! Marked fixtures in every language: each line lists the roles of the name, by column. `def` is a definition,
//! `call@Shape.twice` a call inside that declaration; `%` stands for the name.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::worktree::{Worktree, every_class};

/// Sites by file and line: class, container, column.
type Sites = BTreeMap<(String, u64), Vec<(String, String)>>;

/// Column, class and container.
type MarkedSite = (u64, String, String);

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

/// Returns the uses according to find_uses.
fn sites(worktree: &Worktree, name: &str) -> Sites {
    let result =
        worktree.result("find_uses", json!({"name": name, "classes": every_class(), "max_results": 5000, "path": ""}));
    let mut sites: BTreeMap<(String, u64), Vec<MarkedSite>> = BTreeMap::new();
    for one in result["uses"].as_array().unwrap() {
        let place = (one["file"].as_str().unwrap().to_owned(), one["line"].as_u64().unwrap());
        let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
        let around = text("enclosing").replace('_', " ");
        sites.entry(place).or_default().push((one["column"].as_u64().unwrap(), text("class"), around));
    }
    for one in result["definitions"].as_array().unwrap() {
        let place = (one["file"].as_str().unwrap().to_owned(), one["line"].as_u64().unwrap());
        sites.entry(place).or_default().push((0, "def".to_owned(), String::new()));
    }
    sites
        .into_iter()
        .map(|(place, mut all)| {
            all.sort();
            (place, all.into_iter().map(|(_, class, around)| (class, around)).collect())
        })
        .collect()
}

/// Rewrites a fixture without changing its meaning.
type Change = fn(&str) -> String;

/// Counts the marked uses, and those found with their class.
#[derive(Default, Clone, Copy)]
struct Counts {
    marked: usize,
    found: usize,
}

/// Compares the marks with the results, and lists every difference with its location.
fn differences(language: &str, change: Change) -> (Vec<String>, Counts) {
    let worktree = Worktree::new();
    // `haskell-radius` is about another name.
    let usual = if language == "go" { "Area" } else { "area" };
    let name = language.split_once('-').map_or(usual, |(_, name)| name);
    let mut marked = Sites::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(language);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = change(&std::fs::read_to_string(&path).unwrap());
        marks(&file, name, &text, &mut marked);
        worktree.write(&file, text);
    }
    assert!(!marked.is_empty());
    let found = sites(&worktree, name);
    let places: std::collections::BTreeSet<_> = marked.keys().chain(found.keys()).collect();
    let mut differences = Vec::new();
    let mut counts = Counts::default();
    for place in places {
        let of = |sites: &Sites| sites.get(place).cloned().unwrap_or_default();
        let (wanted, got) = (of(&marked), of(&found));
        counts.marked += wanted.len();
        let mut left: Vec<&String> = got.iter().map(|(class, _)| class).collect();
        for (class, _) in &wanted {
            if let Some(at) = left.iter().position(|other| *other == class) {
                left.swap_remove(at);
                counts.found += 1;
            }
        }
        let fits = wanted.len() == got.len()
            && wanted
                .iter()
                .zip(&got)
                .all(|((class, around), (other, there))| class == other && (around.is_empty() || around == there));
        if !fits {
            let (file, line) = place;
            let said = |all: &[(String, String)]| {
                all.iter().map(|(class, around)| format!("{class}@{around}")).collect::<Vec<_>>().join(", ")
            };
            differences.push(format!("{file}:{line}: marked [{}], found [{}]", said(&wanted), said(&got)));
        }
    }
    (differences, counts)
}

fn check(language: &str) {
    let changes: [(&str, Change); 4] = [
        ("as it is", str::to_owned),
        ("with CRLF", |text| text.replace('\n', "\r\n")),
        ("with a byte order mark", |text| format!("\u{feff}{text}")),
        ("with tabs", |text| text.replace("    ", "\t")),
    ];
    for (how, change) in changes {
        let (differences, _) = differences(language, change);
        assert!(differences.is_empty(), "{language} {how}:\n{}", differences.join("\n"));
    }
}

#[test]
fn rust() {
    check("rust");
}

#[test]
fn python() {
    check("python");
}

#[test]
fn typescript() {
    check("typescript");
}

#[test]
fn javascript() {
    check("javascript");
}

#[test]
fn go() {
    check("go");
}

#[test]
fn c() {
    check("c");
}

#[test]
fn cpp() {
    check("cpp");
}

#[test]
fn haskell() {
    check("haskell");
}

#[test]
fn what_is_made_and_matched() {
    for fixture in
        ["rust-Circle", "rust-Empty", "python-Circle", "typescript-Circle", "go-Circle", "cpp-Circle", "haskell-Circle"]
    {
        check(fixture);
    }
}

#[test]
fn fields_as_functions() {
    check("haskell-radius");
}

#[test]
fn what_is_marked_is_found() {
    let mut languages: BTreeMap<String, Counts> = BTreeMap::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")).unwrap() {
        let fixture = entry.unwrap().file_name().into_string().unwrap();
        let (_, counts) = differences(&fixture, str::to_owned);
        let language = fixture.split_once('-').map_or(fixture.clone(), |(language, _)| language.to_owned());
        let all = languages.entry(language).or_default();
        all.marked += counts.marked;
        all.found += counts.found;
    }
    for (language, Counts { marked, found }) in &languages {
        let recall = *found as f64 / *marked as f64;
        println!("{language}: {found} of {marked} marked uses found with their class, R {recall:.4}");
        assert!(recall >= 0.99, "{language}: {found} of {marked}");
    }
    assert_eq!(languages.len(), 8);
}
