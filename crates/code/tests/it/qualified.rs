//! Qualified names: items of the module itself take precedence over members of its types.

use serde_json::json;

use crate::worktree::Worktree;

/// Returns the locations of the definitions of a name.
fn defined(worktree: &Worktree, name: &str) -> Vec<String> {
    let answer = worktree.result("show_definition", json!({"name": name}));
    let place = |one: &serde_json::Value| format!("{}:{}", one["file"].as_str().unwrap(), one["line"]);
    answer["definitions"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn a_module_names_its_function_before_the_methods_of_its_types() {
    let worktree = Worktree::new();
    let types = "pub struct S;\nimpl S {\n    pub fn run() {}\n    pub fn only() {}\n}\n";
    worktree.write("src/a.rs", format!("{types}pub fn run() {{}}\n")).write("src/b.rs", types);
    worktree.write("src/lib.rs", format!("pub mod inline {{\n{types}pub fn run() {{}}\n}}\npub fn run() {{}}\n"));
    assert_eq!(defined(&worktree, "a::run"), ["src/a.rs:6"]);
    assert_eq!(defined(&worktree, "inline::run"), ["src/lib.rs:7"]);
    // A name that the module itself does not have.
    assert_eq!(defined(&worktree, "a::only"), ["src/a.rs:4"]);
    assert_eq!(defined(&worktree, "b::run"), ["src/b.rs:3"]);
    assert_eq!(defined(&worktree, "a::S::run"), ["src/a.rs:3"]);
    assert_eq!(defined(&worktree, "src/a.rs:run"), ["src/a.rs:3", "src/a.rs:6"]);
}

#[test]
fn so_it_is_in_other_languages() {
    let worktree = Worktree::new();
    worktree
        .write("geo.py", "class Shape:\n    def area(self): pass\n\ndef area(x): pass\n")
        .write("plan/plan.go", "package plan\n\ntype Circle struct{}\n\nfunc (c Circle) Side() {}\n\nfunc Side() {}\n")
        .write(
            "space.cpp",
            "namespace space {\nstruct Box { int size() { return 1; } };\nint size() { return 2; }\n}\n",
        );
    assert_eq!(defined(&worktree, "geo.area"), ["geo.py:4"]);
    assert_eq!(defined(&worktree, "geo.Shape.area"), ["geo.py:2"]);
    assert_eq!(defined(&worktree, "plan.Side"), ["plan/plan.go:7"]);
    assert_eq!(defined(&worktree, "space::size"), ["space.cpp:3"]);
}
