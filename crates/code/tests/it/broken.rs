//! Files that do not parse: names they may define are not reported as undefined, and no declaration is its own use.

use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::worktree::Worktree;

#[test]
fn what_a_broken_file_may_define_is_not_said_to_be_nowhere() {
    let worktree = Worktree::new();
    worktree.write("src/main.rs", "fn main( {{\n    dead();\n}\n").write("src/geo.rs", "pub fn fine() {}\n");
    for tool in ["find_callees", "show_definition"] {
        let said = worktree.ask(tool, json!({"name": "main"})).unwrap_err();
        assert!(said.contains("cannot read lines 1–3 of src/main.rs"), "{tool}: {said}");
        assert!(!said.contains("in this project"), "{tool}: {said}");
    }
    let (answer, text) = worktree.ask("find_callers", json!({"name": "dead"})).unwrap();
    assert!(text.contains("cannot read lines 1–3 of src/main.rs"), "{text}");
    assert!(answer["head"]["reasons"].as_array().unwrap().iter().any(|one| one["code"] == "unparsable"), "{answer:#}");
    let (answer, text) = worktree.ask("outline", json!({"path": "src"})).unwrap();
    assert!(text.contains("cannot read lines 1–3 of src/main.rs"), "{text}");
    assert_eq!(answer["head"]["complete"], false);
    assert_eq!(worktree.result("show_definition", json!({"name": "fine"}))["head"]["complete"], true);
    worktree.write("geo.hs", "module Geo where\nfoo = area (\nbar = foo\n");
    let said = worktree.ask("find_callees", json!({"name": "bar"}));
    let said = said.map_or_else(|said| said, |(_, text)| text);
    assert!(said.contains("geo.hs") && said.contains("pars"), "{said}");
}

#[test]
fn a_file_that_has_another_name_of_it_and_does_not_parse_is_told() {
    let worktree = Worktree::new();
    worktree
        .write("geo.py", "def area(): pass\n")
        .write("a.py", "from geo import area as surface\n")
        .write("b.py", "from a import surface\nsurface()\ndef broken(:\n")
        .write("c.py", format!("from a import surface\nsurface()\nx = '{}'\n", "x".repeat(30_000)))
        // In another language it is a different name.
        .write("d.js", "surface(\n");
    let (answer, text) = worktree.ask("find_callers", json!({"name": "area"})).unwrap();
    for file in ["b.py", "c.py"] {
        assert!(text.contains(file), "{file}: {text}");
    }
    assert!(!text.contains("d.js"), "{text}");
    assert_eq!(answer["head"]["skipped"], 2, "{text}");
}

pub(crate) fn a_declaration_that_does_not_parse_is_no_use_of_itself(judged: &JudgedProject) {
    judged.write("src/lib.rs", "mod geo;\nfn main( {{\n    geo::fine();\n").write(
        "src/geo.rs",
        "pub fn fine() {}\n<<<<<<< ours\npub fn dead() {}\n=======\n>>>>>>> theirs\npub fn below() {}\n",
    );
    for name in ["main", "dead", "below"] {
        let (answer, text) = judged.ask("find_callers", json!({"name": name, "wait_ms": 20_000})).unwrap();
        assert_eq!(answer["head"]["complete"], false, "{text}");
        assert_eq!(answer["head"]["verified"], 0, "{text}");
        assert!(!text.contains("module"), "{text}");
        assert!(text.contains("cannot read"), "{text}");
    }
}

#[test]
fn the_words_of_const_traits_are_read() {
    let worktree = Worktree::new();
    worktree.write(
        "src/lib.rs",
        "pub struct Own<T>(T);\nconst impl<T: [const] Clone> Own<T> {\n    pub fn push(&self) {}\n}\n\
         pub const trait Go {\n    fn go(&self);\n}\nfn raw(x: *const impl Go) -> [u8; 1] {\n    [const { 1 }]\n}\n",
    );
    let (answer, text) = worktree.ask("outline", json!({"path": "src/lib.rs"})).unwrap();
    assert_eq!(answer["head"]["complete"], true, "{text}");
    for line in [
        "  2  impl<T: [const] Clone> Own<T>",
        "    3  pub fn push(&self)",
        "  5  pub const trait Go",
        "    6  fn go(&self)",
        "  8  fn raw(",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
