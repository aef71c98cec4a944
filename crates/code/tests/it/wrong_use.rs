//! Questions that cannot be answered, or only in part: each gets a clear answer with the next step, in bounded time.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value, json};

use crate::worktree::Worktree;

/// Returns the error of each question on a line.
fn refusals(worktree: &Worktree, questions: &[(&str, Value)]) -> String {
    let root = worktree.path().canonicalize().unwrap_or_else(|_| "/nowhere".into());
    let said = questions.iter().map(|(tool, arguments)| {
        let said = worktree.ask(tool, arguments.clone()).expect_err("there is no answer") + "\n";
        said.replace(root.to_str().unwrap(), "[root]").replace(worktree.path().to_str().unwrap(), "[root]")
    });
    said.collect()
}

#[test]
fn where_no_file_is_in_a_known_language_the_answer_says_so() {
    let worktree = Worktree::from_files(&[("lib.sh", "greet() { echo hi; }\n")]);
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
    let worktree = Worktree::from_files(&[("geo.rs", "fn area() {}\nfn arena() {}\nfn perimeter() {}\n")]);
    let questions = [
        ("find_callers", json!({"name": "aera"})),
        ("find_uses", json!({"name": "completely_else"})),
        ("show_definition", json!({"name": "other::area"})),
    ];
    expect![[r#"
        `aera` is not in the source files of [root]; similar names: area
        `completely_else` is not in the source files of [root]; outline lists what a file declares
        `other::area` does not exist; `area` is geo.rs:1 function area
    "#]]
    .assert_eq(&refusals(&worktree, &questions));
    worktree
        .write("shape.py", "class Nine:\n    def area(self): return None\n    width = 1\n")
        .write("local.py", "def run(thing):  # gadget\n    return thing.sort()\nclass Mapping: pass\n")
        .write("of.rs", "struct S;\nimpl Clone for S {\n    fn clone(&self) -> S { S }\n}\n");
    assert!(worktree.ask("find_callers", json!({"name": "thing.sort"})).is_ok());
    let questions = [
        // Keywords are not suggested for a name; for a type, its members are.
        ("find_callers", json!({"name": "Nene"})),
        ("find_uses", json!({"name": "Nine.depth"})),
        // A used name without a declaration is external, unless its qualifier occurs in no file.
        ("find_callers", json!({"name": "nosuch.thing"})),
        ("find_uses", json!({"name": "Maping.sort"})),
        ("show_definition", json!({"name": "nosuch.gadget"})),
        ("find_callers", json!({"name": " "})),
        ("find_callers", json!({"name": "geo.rs:9"})),
        ("show_definition", json!({"name": "of.rs:2"})),
        ("find_callers", json!({"name": "gone.rs:9"})),
        ("find_callers", json!({"name": "area", "path": "gone"})),
        ("find_callers", json!({"name": "area", "path": "../.."})),
        ("show_fields", json!({"type_name": "area"})),
        ("outline", json!({"path": "notes.txt"})),
    ];
    expect![[r#"
        `Nene` is not in the source files of [root]; similar names: Nine
        `depth` is not in the source files of [root]; Nine has width, area
        `nosuch.thing` does not exist: nothing here is named `nosuch`; ask for `thing` alone to see all of that name
        `Maping.sort` does not exist: nothing here is named `Maping`; similar names: Mapping; ask for `sort` alone to see all of that name
        `nosuch.gadget` does not exist: nothing here is named `nosuch`
        the name is empty; write a name, such as `total`
        nothing is declared at geo.rs:9; outline {"path":"geo.rs"} lists all of it
        of.rs:2 is in an `impl`, which has no name: ask for its type or its members; outline {"path":"of.rs"} lists all of it
        gone.rs does not exist or cannot be read; name a file of the project
        no such file or folder in [root]: gone; name one that exists
        ../.. is outside [root]; name a file inside it
        `area` is not a type: geo.rs:1 function area; shape.py:2 method Nine.area; name a type
        no such file or folder in [root]: notes.txt; name one that exists
    "#]]
    .assert_eq(&refusals(&worktree, &questions));
    std::fs::remove_dir_all(worktree.path()).unwrap();
    expect![[r#"
        [root] no longer exists; change to an existing directory
    "#]]
    .assert_eq(&refusals(&worktree, &[("find_callers", json!({"name": "area"}))]));
}

#[test]
fn of_more_than_a_hundred_homonyms_one_can_be_named() {
    let worktree = Worktree::new();
    for number in 0..110 {
        worktree.write(&format!("src/m{number:03}.rs"), "pub fn new() {}\npub fn other() { new() }\n");
    }
    let result = worktree.result("find_callers", json!({"name": "src/m042.rs:new"}));
    let definition = &result["definitions"][0];
    assert_eq!((&definition["file"], &definition["line"]), (&json!("src/m042.rs"), &json!(1)));
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
        let first =
            "`new` has more than 20 definitions: name one, such as `src/m000.rs:1`. src/m000.rs:1 function new; ";
        assert!(said.starts_with(first), "{tool} {said}");
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
    let last =
        r#"49997 more: a.py 49997. For one file: find_callers {"name":"area","path":"a.py","max_results":50000}"#;
    assert!(text.ends_with(last), "{text}");
    // The only listed place has its line, though it comes last.
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
    expect![[r#"
        `lonely` is not in the parsed files of [root]; large.js mentions it once (larger than 2 MiB: searched as text, not parsed)
    "#]]
    .assert_eq(&refusals(&worktree, &[("find_callers", json!({"name": "lonely"}))]));
    // A definition could be in there.
    assert_eq!(worktree.result("show_definition", json!({"name": "area"}))["head"]["complete"], false);
}

#[test]
fn odd_bytes_links_and_what_cannot_be_read() {
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
    for (place, text) in [(folder.clone(), "locked: unreadable"), (worktree.path().join("a.c"), "a.c: unreadable")] {
        worktree.write("b.c", "int area(int x) { return x; }\nint b = area(1);\n");
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o000)).unwrap();
        let is_readable = std::fs::read_dir(&place).is_ok() || std::fs::read(&place).is_ok();
        let result = worktree.result("find_callers", json!({"name": "area"}));
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_readable || result["head"]["reasons"][1]["text"] == text, "{result:#}");
    }
    // A named pipe without a writer is skipped without waiting.
    let made = std::process::Command::new("mkfifo").arg(worktree.path().join("pipe.c")).status();
    assert!(made.is_ok_and(|status| status.success()));
    worktree.result("find_callers", json!({"name": "area"}));
}

#[test]
fn a_name_from_outside_of_the_project_is_answered() {
    let worktree = Worktree::from_files(&[("a.rs", "fn f() { println!(\"{}\", format(1)); }\n")]);
    let (result, text) = worktree.ask("find_callers", json!({"name": "format"})).unwrap();
    assert_eq!((&result["definitions"], &result["total"]), (&json!([]), &json!(1)));
    assert!(text.contains("not defined in this project"), "{text}");
}

#[test]
fn a_file_that_is_slow_to_parse_is_given_up_and_named() {
    let worktree = Worktree::from_files(&[("a.py", "def area():\n    pass\narea()\n")]);
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
    let worktree = Worktree::from_files(&[(
        "a.rs",
        "fn f(area: f64) -> f64 {\n    area\n}\nfn area() {}\nfn g() {\n    let h = area;\n    geo::area();\n}\n",
    )]);
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
    let (_, text) = worktree.ask("show_definition", json!({"name": "area"})).unwrap();
    expect![[r#"
        a.py:2-3 method Circle.area
        def area(self):
            return 1"#]]
    .assert_eq(&text);
    let result = worktree.result("show_definition", json!({"name": "perimeter"}));
    assert_eq!(result["definitions"][0]["signature"], "export const perimeter = (circle: Circle<Round>)");
}

#[test]
fn the_same_name_in_another_language_is_counted_and_not_listed() {
    let worktree = Worktree::from_files(&[("a.rs", "fn area() {}\nfn f() { area() }\n"), ("a.py", "area()\narea()\n")]);
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
    let worktree = Worktree::from_files(&[("src/a.rs", "fn area() {}\nfn f() { area() }\nenum E { A }\n")]);
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
fn every_tool_answers_beside_a_line_of_20_mb() {
    let sources = [
        (
            "js",
            "function area() { return side(); }\nfunction side() {}\nclass Shape { dot = 1; }\n",
            "area(side(Shape));",
            "\n",
        ),
        ("rs", "fn area() { side() }\nfn side() {}\nenum Shape { Dot }\n", "area(side(Shape::Dot));", "\n"),
        (
            "py",
            "def area():\n    return side()\ndef side(): pass\nclass Shape:\n    dot: int\n",
            "area(side(Shape));",
            "",
        ),
        ("hs", "area = side\nside = 1\ndata Shape = Dot { side :: Int }\n", "area side Dot;", ""),
        (
            "c",
            "int side(void) { return 1; }\nint area(void) { return side(); }\nenum Shape { Dot };\n",
            "area(side(Dot));",
            "\n",
        ),
    ];
    for (extension, declared, call, end) in sources {
        // The full length is used once, because a test build is slow.
        let megabytes = if extension == "js" { 20 } else { 4 };
        let worktree = Worktree::new();
        worktree.write(&format!("a.{extension}"), declared);
        worktree.write(&format!("long.{extension}"), call.repeat((megabytes << 20) / call.len()) + end);
        let questions = [
            ("find_callers", json!({"name": "area", "wait_ms": 0})),
            ("find_callees", json!({"name": "area", "wait_ms": 0})),
            ("find_uses", json!({"name": "side", "wait_ms": 0})),
            ("show_definition", json!({"name": "area"})),
            ("show_fields", json!({"type_name": "Shape"})),
            ("show_constructors", json!({"type_name": "Shape"})),
            ("find_matches", json!({"type_name": "Shape", "wait_ms": 0})),
            ("outline", json!({"path": format!("long.{extension}")})),
            ("outline", json!({"path": "."})),
            ("code_status", json!({})),
        ];
        for (tool, arguments) in questions {
            let since = Instant::now();
            // Other tests check whether it answers or refuses.
            let _ = worktree.ask(tool, arguments);
            let took = since.elapsed();
            assert!(took < Duration::from_secs(20).max(testkit::patience()), "{tool} in {extension}: {took:?}");
        }
    }
}
