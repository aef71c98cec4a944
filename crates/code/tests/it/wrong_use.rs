//! Questions that cannot be answered, or only in part: each gets a clear answer with the next step.

use std::os::unix::fs::{PermissionsExt, symlink};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::worktree::Worktree;

fn refused(worktree: &Worktree, tool: &str, arguments: Value, expected: Expect) {
    let said = worktree.ask(tool, arguments).expect_err("there is no answer");
    let root = worktree.path().canonicalize().unwrap_or_else(|_| "/nowhere".into());
    expected.assert_eq(
        &said.replace(root.to_str().unwrap_or_default(), "[root]").replace(worktree.path().to_str().unwrap(), "[root]"),
    );
}

#[test]
fn where_no_file_is_in_a_known_language_the_answer_says_so() {
    let worktree = Worktree::new();
    worktree.write("lib.sh", "greet() { echo hi; }\n");
    let known = "in a supported language";
    for (tool, arguments) in [("find_callers", json!({"name": "greet"})), ("show_definition", json!({"name": "greet"}))]
    {
        let said = worktree.ask(tool, arguments).unwrap_err();
        assert!(said.contains(known) && said.contains("Haskell, Rust, Python"), "{said}");
    }
    let said = worktree.ask("outline", json!({})).unwrap().1;
    assert!(said.contains(known), "{said}");
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let worktree = Worktree::new();
    worktree.write("geo.rs", "fn area() {}\nfn arena() {}\nfn perimeter() {}\n");
    refused(
        &worktree,
        "find_callers",
        json!({"name": "aera"}),
        expect![[r#"`aera` is not in the source files of [root]; similar names: area"#]],
    );
    refused(
        &worktree,
        "find_uses",
        json!({"name": "completely_else"}),
        expect!["`completely_else` is not in the source files of [root]; outline lists what a file declares"],
    );
    refused(
        &worktree,
        "show_definition",
        json!({"name": "other::area"}),
        expect!["`other::area` does not exist; `area` is geo.rs:1 function area"],
    );
    // Keywords are not suggested for a name; for a type, its members are.
    worktree.write("shape.py", "class Nine:\n    def area(self): return None\n    width = 1\n");
    refused(
        &worktree,
        "find_callers",
        json!({"name": "Nene"}),
        expect!["`Nene` is not in the source files of [root]; similar names: Nine"],
    );
    refused(
        &worktree,
        "find_uses",
        json!({"name": "Nine.depth"}),
        expect!["`depth` is not in the source files of [root]; Nine has width, area"],
    );
    // A used name without a declaration is external, unless its qualifier occurs in no file.
    worktree.write("local.py", "def run(thing):  # gadget\n    return thing.sort()\nclass Mapping: pass\n");
    refused(
        &worktree,
        "find_callers",
        json!({"name": "nosuch.thing"}),
        expect![
            "`nosuch.thing` does not exist: nothing here is named `nosuch`; ask for `thing` alone to see all of that \
             name"
        ],
    );
    refused(
        &worktree,
        "find_uses",
        json!({"name": "Maping.sort"}),
        expect![
            "`Maping.sort` does not exist: nothing here is named `Maping`; similar names: Mapping; ask for `sort` \
             alone to see all of that name"
        ],
    );
    refused(
        &worktree,
        "show_definition",
        json!({"name": "nosuch.gadget"}),
        expect!["`nosuch.gadget` does not exist: nothing here is named `nosuch`"],
    );
    assert!(worktree.ask("find_callers", json!({"name": "thing.sort"})).is_ok());
    refused(
        &worktree,
        "find_callers",
        json!({"name": " "}),
        expect!["the name is empty; write a name, such as `total`"],
    );
    refused(
        &worktree,
        "find_callers",
        json!({"name": "geo.rs:9"}),
        expect![[r#"nothing is declared at geo.rs:9; outline {"path":"geo.rs"} lists all of it"#]],
    );
    worktree.write("of.rs", "struct S;\nimpl Clone for S {\n    fn clone(&self) -> S { S }\n}\n");
    refused(
        &worktree,
        "show_definition",
        json!({"name": "of.rs:2"}),
        expect![[
            r#"of.rs:2 is in an `impl`, which has no name: ask for its type or its members; outline {"path":"of.rs"} lists all of it"#
        ]],
    );
    refused(
        &worktree,
        "find_callers",
        json!({"name": "gone.rs:9"}),
        expect!["gone.rs does not exist or cannot be read; name a file of the project"],
    );
    refused(
        &worktree,
        "find_callers",
        json!({"name": "area", "path": "gone"}),
        expect!["no such file or folder in [root]: gone; name one that exists"],
    );
    refused(
        &worktree,
        "find_callers",
        json!({"name": "area", "path": "../.."}),
        expect!["../.. is outside [root]; name a file inside it"],
    );
    refused(
        &worktree,
        "show_fields",
        json!({"type_name": "area"}),
        expect!["`area` is not a type: geo.rs:1 function area; shape.py:2 method Nine.area; name a type"],
    );
    refused(
        &worktree,
        "outline",
        json!({"path": "notes.txt"}),
        expect!["no such file or folder in [root]: notes.txt; name one that exists"],
    );
}

#[test]
fn more_than_a_hundred_homonyms_are_listed_and_none_is_guessed() {
    let worktree = Worktree::new();
    for number in 0..110 {
        worktree.write(&format!("src/m{number:03}.rs"), "pub fn new() {}\npub fn other() { new() }\n");
    }
    let said = worktree.ask("find_callers", json!({"name": "new"})).expect_err("too many");
    assert!(
        said.starts_with(
            "`new` has more than 20 definitions: name one, such as `src/m000.rs:1`. src/m000.rs:1 function new; "
        ),
        "{said}"
    );
    assert!(said.ends_with("; src/m019.rs:1 function new; and others"), "{said}");
    let result = worktree.result("find_callers", json!({"name": "src/m042.rs:new"}));
    assert_eq!(
        (&result["definitions"][0]["file"], &result["definitions"][0]["line"]),
        (&json!("src/m042.rs"), &json!(1))
    );
    // The called definition is unknown, so each candidate is shown.
    assert_eq!(result["total"], 110);
}

#[test]
fn of_very_many_homonyms_the_first_are_listed_and_the_rest_is_not_parsed() {
    let worktree = Worktree::new();
    for number in 0..20 {
        // Files that only use the name are parsed last.
        worktree.write(&format!("src/a{number:03}.rs"), "fn run(a: A) { let _ = a.new; }\n");
        worktree.write(&format!("src/m{number:03}.rs"), "pub fn new() {}\nstruct A { pub new: u8 }\n");
    }
    for (tool, args) in [
        ("find_callers", json!({"name": "new"})),
        ("find_uses", json!({"name": "new", "path": "src/m019.rs"})),
        ("show_definition", json!({"name": "new"})),
        ("find_callees", json!({"name": "new"})),
    ] {
        let said = worktree.ask(tool, args).expect_err("too many");
        assert!(
            said.starts_with(
                "`new` has more than 20 definitions: name one, such as `src/m000.rs:1`. src/m000.rs:1 function new; "
            ),
            "{tool} {said}"
        );
        assert!(said.ends_with("; src/m009.rs:2 field A::new; and others"), "{tool} {said}");
    }
    // The clauses of a Haskell function are one definition.
    let clauses: String = (0..220).map(|number| format!("area {number} = {number}\n")).collect();
    worktree.write("Geo.hs", "module Geo where\n".to_owned() + &clauses);
    assert_eq!(worktree.result("find_callers", json!({"name": "area"}))["definitions"][0]["file"], "Geo.hs");
}

#[test]
fn fifty_thousand_mentions_are_counted_and_some_are_shown() {
    let worktree = Worktree::new();
    worktree.write("a.py", "def area():\n    pass\n".to_owned() + &"area()\n".repeat(50_000));
    let (result, text) = worktree.ask("find_callers", json!({"name": "area", "max_results": 3})).unwrap();
    assert_eq!((&result["total"], &result["truncated"]), (&json!(50_000), &json!(true)));
    assert_eq!(result["call_sites"].as_array().unwrap().len(), 3);
    assert!(
        text.ends_with(
            r#"49997 more: a.py 49997. For one file: find_callers {"name":"area","path":"a.py","max_results":50000}"#
        ),
        "{text}"
    );
}

#[test]
fn the_only_listed_place_has_its_line_though_it_comes_last() {
    let worktree = Worktree::new();
    worktree.write("a.py", "def area():\n    pass\n".to_owned() + &"# area\n".repeat(20) + "print(area())\n");
    let (_, text) = worktree.ask("find_callers", json!({"name": "area", "max_results": 1})).unwrap();
    assert!(text.contains("  23  call  print(area())"), "{text}");
}

#[test]
fn a_line_of_twenty_megabytes_is_searched_as_text_and_named() {
    let worktree = Worktree::new();
    worktree.write("a.js", "function area() {}\narea();\n");
    worktree.write("bundle.js", "area();".repeat(100_000) + &"other();".repeat(2_500_000));
    worktree.write("min.js", format!("{}area();", " ".repeat(30_000)));
    let (result, text) = worktree.ask("find_callers", json!({"name": "area"})).unwrap();
    assert_eq!((&result["total"], &result["head"]["skipped"]), (&json!(1), &json!(2)));
    let reasons: Vec<&str> =
        result["head"]["reasons"].as_array().unwrap().iter().map(|reason| reason["text"].as_str().unwrap()).collect();
    expect![[r#"
        no language server for TypeScript, JavaScript
        bundle.js: larger than 2 MiB: searched as text, not parsed
        min.js: a line longer than 20,000 bytes: searched as text, not parsed"#]]
    .assert_eq(&reasons.join("\n"));
    assert!(text.contains("bundle.js: larger than 2 MiB"), "{text}");
    worktree.write("large.js", format!("function lonely() {{}}\n{}", "other();\n".repeat(300_000)));
    refused(
        &worktree,
        "find_callers",
        json!({"name": "lonely"}),
        expect![
            "`lonely` is not in the parsed files of [root]; large.js mentions it once (larger than 2 MiB: searched as text, not parsed)"
        ],
    );
    // A definition could be in there.
    assert_eq!(worktree.result("show_definition", json!({"name": "area"}))["head"]["complete"], false);
}

#[test]
fn odd_bytes_links_and_folders_that_cannot_be_read() {
    let worktree = Worktree::new();
    worktree.write("a.c", b"/* \xff\xfe */ int area(int x) { return x; }\nint b = area(\"\xc3\x28\");\n");
    worktree.write("empty.c", "");
    worktree.write("nul.c", b"int \0area;\n");
    symlink(".", worktree.path().join("loop")).unwrap();
    symlink("/etc", worktree.path().join("out")).unwrap();
    symlink("nowhere.c", worktree.path().join("broken.c")).unwrap();
    let result = worktree.result("find_callers", json!({"name": "area"}));
    assert_eq!(result["call_sites"][0]["column"], 9, "{result:#}");
    assert_eq!((&result["head"]["files"], &result["head"]["skipped"]), (&json!(3), &Value::Null));
    // Root can read everything.
    let folder = worktree.path().join("locked");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o000)).unwrap();
    let is_readable = std::fs::read_dir(&folder).is_ok();
    let result = worktree.result("find_callers", json!({"name": "area"}));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    if !is_readable {
        assert_eq!(result["head"]["reasons"][1]["text"], "locked: unreadable", "{result:#}");
    }
}

#[test]
fn a_root_that_vanished() {
    let worktree = Worktree::new();
    worktree.write("a.rs", "fn area() {}\n");
    std::fs::remove_dir_all(worktree.path()).unwrap();
    refused(
        &worktree,
        "find_callers",
        json!({"name": "area"}),
        expect!["[root] no longer exists; change to an existing directory"],
    );
}

#[test]
fn a_name_from_outside_of_the_project_is_answered() {
    let worktree = Worktree::new();
    worktree.write("a.rs", "fn f() { println!(\"{}\", format(1)); }\n");
    let (result, text) = worktree.ask("find_callers", json!({"name": "format"})).unwrap();
    assert_eq!((&result["definitions"], &result["total"]), (&json!([]), &json!(1)));
    assert!(text.contains("not defined in this project"), "{text}");
}

#[test]
fn a_file_that_is_slow_to_parse_is_given_up_and_named() {
    let worktree = Worktree::new();
    worktree.write("a.py", "def area():\n    pass\narea()\n");
    // Syntax that the parser cannot recover from: it takes more than five seconds of processor time.
    worktree.write("slow.cpp", "void f() { area(); }\n".to_owned() + &"a<b<c(<{[ \n".repeat(170_000));
    let result = worktree.result("find_callers", json!({"name": "area"}));
    assert_eq!((&result["call_sites"][0]["file"], &result["total"]), (&json!("a.py"), &json!(1)));
    // The limit is processor time; on a busy machine the time budget may end first.
    let said = result["head"]["reasons"][1]["text"].as_str().unwrap();
    let reasons = ["slow.cpp: takes longer than 3 s to parse: searched as text", "slow.cpp: out of time, after 10 s"];
    assert!(reasons.contains(&said), "{result:#}");
}

#[test]
fn what_may_mean_a_local_comes_last_and_says_so() {
    let worktree = Worktree::new();
    worktree.write(
        "a.rs",
        "fn f(area: f64) -> f64 {\n    area\n}\nfn area() {}\nfn g() {\n    let h = area;\n    geo::area();\n}\n",
    );
    let (_, text) = worktree.ask("find_callers", json!({"name": "area"})).unwrap();
    expect![[r#"
        3 places by name, unchecked: no language server for Rust
        defined: a.rs:4 function area
        a.rs
          6  g  value  let h = area;
          7  g  call  geo::area();
          2  f  value of a local?  area"#]]
    .assert_eq(&text);
}

#[test]
fn a_source_is_shown_without_the_indentation_it_stands_in() {
    let worktree = Worktree::new();
    worktree.write("a.py", "class Circle:\n    def area(self):\n        return 1\n");
    worktree.write("b.ts", "export const perimeter = (circle: Circle<Round>) => {\n  return 1;\n};\n");
    let shown = |name: &str| worktree.ask("show_definition", json!({"name": name})).unwrap().1;
    expect![[r#"
        a.py:2-3 method Circle.area
        def area(self):
            return 1"#]]
    .assert_eq(&shown("area"));
    expect!["export const perimeter = (circle: Circle<Round>)"].assert_eq(
        worktree.result("show_definition", json!({"name": "perimeter"}))["definitions"][0]["signature"]
            .as_str()
            .unwrap(),
    );
}

#[test]
fn the_same_name_in_another_language_is_counted_and_not_listed() {
    let worktree = Worktree::new();
    worktree.write("a.rs", "fn area() {}\nfn f() { area() }\n");
    worktree.write("a.py", "area()\narea()\n");
    let (result, text) = worktree.ask("find_callers", json!({"name": "area"})).unwrap();
    assert_eq!((&result["total"], &result["filtered_count"]), (&json!(1), &json!(2)));
    expect![[r#"
        1 call by name, unchecked: no language server for Rust · 2 places of this name in other languages
        defined: a.rs:1 function area
        a.rs
          2  f  call  fn f() { area() }"#]]
    .assert_eq(&text);
    // A declaration in one language of a definition in the other counts for both.
    worktree.write("b.c", "int area(void);\nint g(void) { return area(); }\n");
    assert_eq!(worktree.result("find_callers", json!({"name": "area"}))["total"], 2);
}

#[test]
fn a_project_that_may_not_be_written_is_answered_and_stays_as_it_was() {
    let worktree = Worktree::new();
    worktree.write("src/a.rs", "fn area() {}\nfn f() { area() }\nenum E { A }\n");
    let modes = |file: u32, folder: u32| {
        let set = |path: &str, mode| {
            let path = worktree.path().join(path);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set("src/a.rs", file);
        set("src", folder);
        set("", folder);
    };
    let all = || {
        let names = |path: &str| {
            let entries = std::fs::read_dir(worktree.path().join(path)).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
        };
        (names(""), names("src"), std::fs::read(worktree.path().join("src/a.rs")).unwrap())
    };
    modes(0o444, 0o555);
    let before = all();
    assert_eq!(worktree.result("find_callers", json!({"name": "area"}))["total"], 1);
    for (tool, arguments) in [
        ("find_uses", json!({"name": "area"})),
        ("find_callees", json!({"name": "f"})),
        ("find_matches", json!({"type_name": "E"})),
        ("show_definition", json!({"name": "area"})),
        ("show_constructors", json!({"type_name": "E"})),
        ("outline", json!({})),
        ("code_status", json!({})),
    ] {
        worktree.ask(tool, arguments).unwrap();
    }
    // Root may write: it only matters that nothing did.
    assert_eq!(all(), before);
    modes(0o644, 0o755);
}

#[test]
fn an_unreadable_file_is_named() {
    let worktree = Worktree::new();
    worktree.write("a.rs", "fn area() {}\nfn f() { area() }\n").write("locked.rs", "fn g() { area() }\n");
    let locked = worktree.path().join("locked.rs");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    let is_readable = std::fs::read(&locked).is_ok();
    let result = worktree.result("find_callers", json!({"name": "area"}));
    if !is_readable {
        assert_eq!(result["head"]["reasons"][1]["text"], "locked.rs: unreadable", "{result:#}");
    }
    // A named pipe without a writer is skipped without waiting.
    let pipe = worktree.path().join("pipe.rs");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    worktree.result("find_callers", json!({"name": "area"}));
}
