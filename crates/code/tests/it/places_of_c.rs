//! Classes of names in C and C++ where only syntax can decide.

use serde_json::{Value, json};

use crate::worktree::{Worktree, every_class};

/// Returns `line:column class` of each use.
fn uses(file: &str, text: &str, name: &str) -> Vec<String> {
    let worktree = Worktree::new();
    worktree.write(file, text);
    let result = worktree.result("find_uses", json!({"name": name, "classes": every_class()}));
    let mut all: Vec<(&Value, &Value, &Value)> =
        result["uses"].as_array().unwrap().iter().map(|one| (&one["line"], &one["column"], &one["class"])).collect();
    all.sort_by_key(|(line, column, _)| (line.as_u64(), column.as_u64()));
    all.iter().map(|(line, column, class)| format!("{line}:{column} {}", class.as_str().unwrap())).collect()
}

#[test]
fn a_parameter_of_a_macro_is_no_use() {
    let text =
        "int x;\n#define SQ(x) ((x)*(x))\n#define GET(s, \\\n  x) s.x\n#define OF(y) ((y) + x)\n#define NAME x\n";
    assert_eq!(uses("a.c", text, "x"), ["5:22 value", "6:14 value"]);
}

#[test]
fn a_destructor_is_no_value_of_its_class() {
    let text =
        "class No {\npublic:\n  No() {}\n  ~No() {}\n};\nvoid f(No *n) {\n  n->~No();\n}\nclass Two { ~Two(); };\n";
    assert_eq!(uses("a.cpp", text, "No"), ["4:4 binding", "6:8 type", "7:7 type"]);
    let text = "struct Two {\n  ~Two();\n};\nTwo::~Two() {}\n";
    assert_eq!(uses("a.cpp", text, "Two"), ["2:4 binding", "4:1 type", "4:7 binding"]);
}
