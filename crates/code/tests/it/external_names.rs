//! Names from outside the project, with real language servers: each mention is resolved by its meaning. A test is
//! skipped with a message if its server is not installed; CI has all of them.

use expect_test::expect;
use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::projects;
use crate::worktree::Worktree;

/// Returns the texts of the final answers. The location of the standard library depends on the machine, and so does
/// whether Python's has its sources or only the server's stubs.
fn final_texts(judged: &JudgedProject, tool: &str, names: &[&str]) -> String {
    let place = |line: &str| match line.strip_prefix("means: /").and_then(|rest| rest.split_once(' ')) {
        Some((place, rest)) => {
            let file = place.rsplit('/').next().unwrap().split(':').next().unwrap();
            format!("means: /…/{} {rest}", file.replace(".pyi", ".py"))
        }
        None => line.to_owned(),
    };
    let texts = names.iter().map(|name| {
        let (answer, text) = judged.until_final(tool, json!({"name": name}));
        assert_eq!(answer["warning"], json!(null));
        text.lines().map(|line| place(line) + "\n").collect::<String>()
    });
    texts.collect()
}

pub(crate) fn rust(judged: &JudgedProject) {
    what_the_standard_library_of_rust_has(judged);
    what_a_macro_of_the_project_makes_is_defined_there(judged);
}

fn what_the_standard_library_of_rust_has(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\npub struct Own;\nimpl Own {\n    pub fn new() -> Own { Own }\n}\n\
         pub fn a() -> Vec<u8> {\n    let mut all = Vec::new();\n    all.push(1);\n    all\n}\n\
         pub fn b(push: fn(u8)) -> String {\n    let mut all = String::new();\n    all.push('x');\n    push(1);\n    let _ = (Own::new(), all.len());\n    all\n}\n",
    );
    // The standard library has `push` in a `const impl`. The project also has a `new`; the qualifier tells them apart.
    expect![[r#"
        2 callers, complete · checked by rust-analyzer
        not defined in this project
        means: /…/mod.rs method Vec::push
        src/lib.rs
          7  a  call  all.push(1);
        means: /…/string.rs method String::push
        src/lib.rs
          12  b  call  all.push('x');
        1 caller, complete · checked by rust-analyzer
        not defined in this project
        means: /…/mod.rs method Vec::push
        src/lib.rs
          7  a  call  all.push(1);
        1 caller, complete · checked by rust-analyzer
        not defined in this project
        means: /…/mod.rs method Vec::new
        src/lib.rs
          6  a  call  let mut all = Vec::new();
        1 caller, complete · checked by rust-analyzer
        defined: src/lib.rs:3 method Own::new
        src/lib.rs
          14  b  call  let _ = (Own::new(), all.len());
        1 caller, complete · checked by rust-analyzer
        not defined in this project
        means: /…/string.rs method String::len
        src/lib.rs
          14  b  call  let _ = (Own::new(), all.len());
    "#]]
    .assert_eq(&final_texts(judged, "find_callers", &["push", "Vec::push", "Vec::new", "Own::new", "String::len"]));
    let (answer, text) = judged.until_final("find_callers", json!({"name": "push"}));
    let mut sites = answer["call_sites"].as_array().unwrap().iter();
    assert!(sites.all(|site| site["definition"].as_str().unwrap().starts_with('/')), "{text}");
    let problem = judged.ask("find_callers", json!({"name": "Other::new"})).unwrap_err();
    assert!(problem.contains("`Other::new` does not exist; `new` is src/lib.rs:3"), "{problem}");
}

fn what_a_macro_of_the_project_makes_is_defined_there(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\nmacro_rules! gen { ($name:ident) => { pub fn $name() {} }; }\ngen!(made);\ngen!(unused);\n\
         pub fn uses() { made(); }\n",
    );
    expect![[r#"
        1 caller, complete · checked by rust-analyzer
        defined: src/lib.rs:2 macro made
        src/lib.rs
          4  uses  call  pub fn uses() { made(); }
    "#]]
    .assert_eq(&final_texts(judged, "find_callers", &["made"]));
    expect![[r#"
        No uses in this project, complete · checked by rust-analyzer
        defined: src/lib.rs:3 macro unused
    "#]]
    .assert_eq(&final_texts(judged, "find_uses", &["unused"]));
}

#[test]
fn a_foreign_file_that_does_not_parse_is_named_with_what_to_ask() {
    let Some(judged) = projects::python() else { return };
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().canonicalize().unwrap();
    std::fs::write(folder.join("geo.py"), "def area(): pass\n\n\nx = = 1\n").unwrap();
    judged
        .write("ty.toml", format!("[environment]\nextra-paths = [{folder:?}]\n"))
        .write("a.py", "import geo\nclass Own: pass\ngeo.area()\n");
    let (answer, text) = judged.ask("find_callers", json!({"name": "Own.area", "wait_ms": 20_000})).unwrap();
    let reasons = answer["head"]["reasons"].as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["code"] == "outside_the_root").unwrap_or_else(|| panic!("{text}"));
    let said = reason["text"].as_str().unwrap();
    assert_eq!(reason["places"], 1);
    assert!(
        said.starts_with(&format!("1 leads to {}/geo.py, which does not parse completely", folder.display())),
        "{said}"
    );
    assert!(said.ends_with("ask for `area` alone to group its uses by definition"), "{said}");
    judged.until_final("find_callers", json!({"name": "area"}));
}

#[test]
fn python() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("a.py", "import json\nfrom os.path import join\n\ndef a(x):\n    return json.dumps(x) + join('a', 'b') + ','.join(x)\n")
        .write("b.py", "def b(join):\n    return join(1)\n");
    expect![[r#"
        3 uses, complete: 2 calls, 1 import · checked by ty
        not defined in this project
        means: /…/ntpath.py function join
        a.py
          2  import  from os.path import join
          5  a  call  return json.dumps(x) + join('a', 'b') + ','.join(x)
        means: /…/builtins.py method str.join
        a.py
          5  a  call  return json.dumps(x) + join('a', 'b') + ','.join(x)
    "#]]
    .assert_eq(&final_texts(&judged, "find_uses", &["join"]));
}

#[test]
fn go() {
    let Some(judged) = projects::go() else { return };
    judged
        .write("main.go", "package main\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nfunc main() {\n\tfmt.Println(strings.ToUpper(\"a\"))\n\tfmt.Println(1)\n}\n");
    expect![[r#"
        2 callers, complete · checked by gopls
        not defined in this project
        means: /…/print.go function Println
        main.go
          9  main  call  fmt.Println(strings.ToUpper("a"))
          10  main  call  fmt.Println(1)
    "#]]
    .assert_eq(&final_texts(&judged, "find_callers", &["fmt.Println"]));
}

#[test]
fn what_is_written_before_a_name_tells_where_its_definition_is_called_otherwise() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "a.py",
        "import os, logging, threading\nfrom os import path\nfrom os.path import join\nlog = logging.getLogger()\n\
         class T(threading.Thread):\n    pass\n\
         def a(x):\n    os.path.join(x, x)\n    path.join(x, x)\n    join(x, x)\n    ','.join(x)\n    log.info(x)\n    T().start()\n",
    );
    assert_eq!(judged.final_places("os.path.join"), ["a.py:8", "a.py:9", "a.py:10"]);
    assert_eq!(judged.final_places("path.join"), ["a.py:8", "a.py:9", "a.py:10"]);
    assert_eq!(judged.final_places("log.info"), ["a.py:12"]);
    let (_, text) = judged.stays_open("find_callers", "T.start");
    assert!(text.contains("ask for `start` alone"), "{text}");
}

#[test]
fn the_globals_of_typescript_by_their_names() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write("all.ts", "export function all(x: number) { return x; }\n")
        .write("a.ts", "import { all } from './all';\nconsole.log(Object.keys({}));\nall(1);\nPromise.all([]);\n");
    assert_eq!(judged.final_places("console.log"), ["a.ts:2"]);
    assert_eq!(judged.final_places("Object.keys"), ["a.ts:2"]);
    assert_eq!(judged.final_places("Promise.all"), ["a.ts:4"]);
}

#[test]
fn without_a_judge_it_is_undecided() {
    let text = "fn own() {}\nfn a() { let x: Vec<u8> = Vec::new(); x.len(); }\nstruct B; impl B { fn new() {} }\n";
    let worktree = Worktree::from_files(&[("a.rs", text)]);
    let (answer, text) = worktree.ask("find_callers", json!({"name": "Vec::new"})).unwrap();
    assert_eq!(answer["call_sites"][0]["verdict"], "undecided");
    assert_eq!(text.lines().nth(1).unwrap(), "not defined in this project", "{text}");
    assert!(text.starts_with("1 call by name, unchecked: no language server for Rust"), "{text}");
    let problem = worktree.ask("find_callers", json!({"name": "own::len"}));
    assert!(problem.is_ok(), "{problem:?}");
}
