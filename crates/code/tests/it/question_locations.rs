//! Locations in questions, as written by compilers, editors and shells: file, line, column; absolute or relative to a folder.

use expect_test::expect;
use serde_json::json;

use crate::worktree::Worktree;

const GEO: &str = "pub struct Circle {\n    pub radius: f64,\n}\n\npub fn area(one: &Circle) -> f64 {\n    square(one.radius)\n}\n\n\
                   fn square(x: f64) -> f64 {\n    x * x\n}\n";

fn geo() -> Worktree {
    Worktree::from_files(&[("src/geo.rs", GEO), ("src/other/geo.py", "def area(x):\n    return x\n")])
}

/// Returns the first line or the error of show_definition in a given working directory.
fn first_line(worktree: &Worktree, folder: &str, name: &str) -> String {
    let root = worktree.path().canonicalize().unwrap();
    let name = name.replace("[root]", root.to_str().unwrap());
    let said = match worktree.ask_in(folder, "show_definition", json!({"name": name})) {
        Ok((_, text)) => text.lines().next().unwrap_or_default().to_owned(),
        Err(refused) => refused,
    };
    said.replace(root.to_str().unwrap(), "[root]")
}

/// Compares the answers in a working directory.
fn check(worktree: &Worktree, folder: &str, all: &[(&str, &str)]) {
    for (name, expected) in all {
        assert_eq!(first_line(worktree, folder, name), *expected, "{name} in `{folder}`");
    }
}

#[test]
fn a_column_means_the_name_that_stands_there() {
    check(
        &geo(),
        "",
        &[
            ("src/geo.rs:5:8", "src/geo.rs:5-7 function area"),
            ("src/geo.rs:5:10:", "src/geo.rs:5-7 function area"),
            ("src/geo.rs:6:5", "src/geo.rs:9-11 function square"),
            ("src/geo.rs:6:9", "src/geo.rs:9-11 function square"),
            ("src/geo.rs:2:9", "src/geo.rs:2-2 field Circle::radius"),
            ("src/geo.rs:5:19", "src/geo.rs:1-3 struct Circle"),
            // A keyword or a space means the whole line, and so does a column beyond its end.
            ("src/geo.rs:5:1", "src/geo.rs:5-7 function area"),
            ("src/geo.rs:5:4", "src/geo.rs:5-7 function area"),
            ("src/geo.rs:5:400", "src/geo.rs:5-7 function area"),
            (
                "src/geo.rs:400:1",
                r#"nothing is declared at src/geo.rs:400; outline {"path":"src/geo.rs"} lists all of it"#,
            ),
        ],
    );
}

#[test]
fn a_file_is_no_name_and_what_it_declares_is_listed() {
    let said = r#"src/geo.rs is a file, not a name; ask for what it declares: src/geo.rs:Circle, src/geo.rs:area, src/geo.rs:square; outline {"path":"src/geo.rs"} lists all of it"#;
    check(&geo(), "", &[("src/geo.rs", said), ("[root]/src/geo.rs", said)]);
}

#[test]
fn a_path_is_whole_or_begins_where_it_is_typed() {
    let worktree = geo();
    let square = "src/geo.rs:9-11 function square";
    check(
        &worktree,
        "",
        &[
            ("[root]/src/geo.rs:9", square),
            ("[root]/src/geo.rs:area", "src/geo.rs:5-7 function area"),
            ("./src/geo.rs:9", square),
            // The end of a path suffices if it is unique.
            ("geo.rs:9", square),
            ("other/geo.py:1", "src/other/geo.py:1-2 function area"),
            ("/etc/geo.rs:1", "/etc/geo.rs does not exist or cannot be read; name a file of the project"),
        ],
    );
    let inside = ["geo.rs:9", "./geo.rs:square", "../src/geo.rs:9", "src/geo.rs:9"];
    check(&worktree, "src", &inside.map(|name| (name, square)));
    worktree.write("lib/geo.rs", "pub fn area() {}\n").write("geo.rs", "\n\n\n\n\nfn round() {}\n");
    let area = "lib/geo.rs:1-1 function area";
    check(&worktree, "", &[("geo.rs:6", "geo.rs:6-6 function round"), ("lib/geo.rs:1", area)]);
    check(&worktree, "src", &[("geo.rs:6", "src/geo.rs:5-7 function area")]);
    std::fs::remove_file(worktree.path().join("geo.rs")).unwrap();
    let ambiguous = "geo.rs is ambiguous: lib/geo.rs, src/geo.rs; write more of the path";
    check(&worktree, "", &[("geo.rs:6", ambiguous)]);
    // An agent uses paths from answers, which are relative to the root.
    let (outlined, _) = worktree.ask_in("src", "outline", json!({"path": "other"})).unwrap();
    assert_eq!(outlined["files"][0]["path"], "src/other/geo.py");
    worktree.ask("outline", json!({"path": "other"})).unwrap_err();
}

#[test]
fn a_path_that_has_other_definitions_says_where_the_name_is() {
    let worktree = geo();
    let refused = |tool: &str, arguments| worktree.ask(tool, arguments).unwrap_err();
    expect!["`Circle` is not defined in src/other, but there is src/geo.rs:1 struct Circle: leave out `path`"]
        .assert_eq(&refused("show_fields", json!({"type_name": "Circle", "path": "src/other"})));
    expect!["`square` is not defined in src/other/geo.py, but there is src/geo.rs:9 function square: leave out `path`"]
        .assert_eq(&refused("show_definition", json!({"name": "square", "path": "src/other/geo.py"})));
    let (found, _) = worktree.ask("show_definition", json!({"name": "area", "path": "src/other"})).unwrap();
    assert_eq!(found["definitions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_field_without_a_name_is_not_looked_for() {
    let worktree = geo();
    worktree.write("src/tup.rs", "pub struct Tup(f64);\nfn f(t: Tup) -> f64 { t.0 }\n");
    let said = |name: &str| worktree.ask("find_uses", json!({"name": name})).unwrap_err();
    expect![[r#"`Tup.0` is a number, not a name: hob cannot search for fields without a name; show_fields {"type_name":"Tup"} shows it, find_uses of `Tup` where it is made"#]].assert_eq(&said("Tup.0"));
    expect!["`12` is a number, not a name: hob cannot search for fields without a name; ask for a name"]
        .assert_eq(&said("12"));
}
