//! Definitions by syntax alone: what belongs to one, how qualified names find it, its documentation, and the outline.

use expect_test::expect;
use serde_json::{Value, json};

use crate::projects;
use crate::worktree::Worktree;

/// Returns a field of each definition of a name.
fn defined(worktree: &Worktree, name: &str, field: &str) -> Vec<Value> {
    let answer = worktree.result("show_definition", json!({"name": name}));
    answer["definitions"].as_array().unwrap().iter().map(|one| one[field].clone()).collect()
}

/// Returns the locations of the definitions of a name.
fn places(worktree: &Worktree, name: &str) -> Vec<String> {
    let (files, lines) = (defined(worktree, name, "file"), defined(worktree, name, "line"));
    files.iter().zip(&lines).map(|(file, line)| format!("{}:{line}", file.as_str().unwrap())).collect()
}

const GEO: &str = "\
module Geo where

-- | The factorial.
f :: Int -> Int
f 0 = 1
f n = n * f (n - 1)

(<+>) :: Int -> Int -> Int
0 <+> y = y
x <+> y = x + y

g 0 = 1
g 1 = 1
g n = n

instance Show T where
  show A = \"a\"
  show B = \"b\"
";

#[test]
fn a_haskell_function_is_its_signature_and_all_its_clauses() {
    let worktree = Worktree::from_files(&[("Geo.hs", GEO)]);
    for (name, line, end, source) in [
        ("f", 5, 6, "f :: Int -> Int\nf 0 = 1\nf n = n * f (n - 1)"),
        ("g", 12, 14, "g 0 = 1\ng 1 = 1\ng n = n"),
        ("<+>", 9, 10, "(<+>) :: Int -> Int -> Int\n0 <+> y = y\nx <+> y = x + y"),
        ("show", 17, 18, "show A = \"a\"\nshow B = \"b\""),
    ] {
        for (field, value) in [("line", json!(line)), ("end_line", json!(end)), ("source", json!(source))] {
            assert_eq!(defined(&worktree, name, field), [value], "{name} {field}");
        }
    }
    // A line of any clause names the function.
    for (place, name) in [("Geo.hs:4", "f"), ("Geo.hs:5", "f"), ("Geo.hs:6", "f"), ("Geo.hs:13", "g")] {
        assert_eq!(defined(&worktree, place, "name")[0], name, "{place}");
    }
    let outline = worktree.result("outline", json!({ "path": "Geo.hs" }));
    let symbols = outline["files"][0]["symbols"].as_array().unwrap().iter();
    let names: Vec<String> =
        symbols.map(|one| format!("{} {}-{}", one["name"].as_str().unwrap(), one["line"], one["end_line"])).collect();
    assert_eq!(names, ["f 5-6", "<+> 9-10", "g 12-14", "Show T 16-18"]);
    assert_eq!(outline["files"][0]["symbols"][3]["children"].as_array().unwrap().len(), 1, "{outline}");
}

#[test]
fn a_signature_of_several_names_is_each_ones_own() {
    let worktree = Worktree::from_files(&[(
        "Two.hs",
        "module Two where\n\na, b, (<->) :: Int -> Int\na 0 = 1\na n = n\nb = id\n(<->) = id\n\nc :: Int\nc = 1\n",
    )]);
    let (_, text) = worktree.ask("outline", json!({ "path": "Two.hs" })).unwrap();
    expect![[r#"
        Two.hs
          4  a :: Int -> Int
          6  b :: Int -> Int
          7  (<->) :: Int -> Int
          10  c :: Int"#]]
    .assert_eq(&text);
    for (name, signature, source) in [
        ("a", "a :: Int -> Int", "a, b, (<->) :: Int -> Int\na 0 = 1\na n = n"),
        ("b", "b :: Int -> Int", "b = id"),
        ("<->", "(<->) :: Int -> Int", "(<->) = id"),
        ("c", "c :: Int", "c :: Int\nc = 1"),
    ] {
        assert_eq!(defined(&worktree, name, "signature"), [signature]);
        assert_eq!(defined(&worktree, name, "source"), [source]);
    }
}

#[test]
fn an_outline_leaves_out_what_builds_make() {
    let worktree = Worktree::from_files(&[
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("src/target/mod.rs", "pub fn keep() {}\n"),
        ("target/debug/made.rs", "fn made() {}\n"),
        ("sub/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
        ("sub/target/made.rs", "fn made() {}\n"),
        ("dist-newstyle/build/Paths_a.hs", "module Paths_a where\nmade = 1\n"),
        ("web/node_modules/x/index.js", "export function made() {}\n"),
        (".hob/made.rs", "fn made() {}\n"),
    ]);
    // A definition requested by name is shown.
    for (path, file) in [
        ("", "src/target/mod.rs"),
        ("web/node_modules/x", "web/node_modules/x/index.js"),
        ("target", "target/debug/made.rs"),
    ] {
        let outline = worktree.result("outline", json!({ "path": path }));
        let files = outline["files"].as_array().unwrap().iter();
        assert_eq!(files.map(|one| &one["path"]).collect::<Vec<_>>(), [file]);
    }
}

/// Items of a module itself take precedence over members of its types.
#[test]
fn a_module_names_its_function_before_the_methods_of_its_types() {
    let types = "pub struct S;\nimpl S {\n    pub fn run() {}\n    pub fn only() {}\n}\n";
    let worktree = Worktree::from_files(&[
        ("src/b.rs", types),
        ("geo.py", "class Shape:\n    def area(self): pass\n\ndef area(x): pass\n"),
        ("plan/plan.go", "package plan\n\ntype Circle struct{}\n\nfunc (c Circle) Side() {}\n\nfunc Side() {}\n"),
        ("space.cpp", "namespace space {\nstruct Box { int size() { return 1; } };\nint size() { return 2; }\n}\n"),
    ]);
    worktree.write("src/a.rs", format!("{types}pub fn run() {{}}\n"));
    worktree.write("src/lib.rs", format!("pub mod inline {{\n{types}pub fn run() {{}}\n}}\npub fn run() {{}}\n"));
    for (name, place) in [
        ("a::run", "src/a.rs:6"),
        ("inline::run", "src/lib.rs:7"),
        // A name that the module itself does not have.
        ("a::only", "src/a.rs:4"),
        ("b::run", "src/b.rs:3"),
        ("a::S::run", "src/a.rs:3"),
        ("geo.area", "geo.py:4"),
        ("geo.Shape.area", "geo.py:2"),
        ("plan.Side", "plan/plan.go:7"),
        ("space::size", "space.cpp:3"),
    ] {
        assert_eq!(places(&worktree, name), [place], "{name}");
    }
    assert_eq!(places(&worktree, "src/a.rs:run"), ["src/a.rs:3", "src/a.rs:6"]);
}

const HEADER: &str = "namespace lib {\n\
                      int helper(int x);\n\
                      struct Runner {\n  virtual ~Runner();\n  int run(int x);\n};\n\
                      namespace inner {\nint deep();\n}\n\
                      }\n";

const SOURCE: &str = "#include \"lib.hpp\"\n\
                      int lib::helper(int x) { return x; }\n\
                      int lib::inner::deep() { return lib::helper(1); }\n\
                      lib::Runner::~Runner() {}\n\
                      int lib::Runner::run(int x) { return helper(x); }\n\
                      void end(lib::Runner* r) { r->~Runner(); }\n";

#[test]
fn definitions_of_cpp_outside_their_namespace_and_destructors() {
    let worktree = Worktree::from_files(&[("src/lib.hpp", HEADER), ("src/lib.cpp", SOURCE)]);
    for (name, kind) in [("lib::helper", "function"), ("deep", "function"), ("Runner::run", "method")] {
        assert_eq!(defined(&worktree, name, "kind"), [kind], "{name}");
    }
    let callees = worktree.result("find_callees", json!({"name": "Runner::run"}));
    assert_eq!(callees["callees"][0]["kind"], "function", "{callees:#}");
    let (_, text) = worktree.ask("find_callers", json!({"name": "~Runner"})).unwrap();
    expect![[r#"
        1 call by name, unchecked: no language server for C, C++; an operator or the end of a value may call lib::Runner::~Runner without naming it
        defined: src/lib.cpp:4 method lib::Runner::~Runner
        src/lib.cpp
          6  end  call  void end(lib::Runner* r) { r->~Runner(); }"#]]
    .assert_eq(&text);
    let (_, text) = worktree.ask("outline", json!({"path": "src"})).unwrap();
    expect![[r#"
        src/lib.cpp
          2  int lib::helper(int x)
          3  int lib::inner::deep()
          4  lib::Runner::~Runner()
          5  int lib::Runner::run(int x)
          6  void end(lib::Runner* r)
        src/lib.hpp
          1  namespace lib
            2  int helper(int x)
            3  struct Runner
            7  namespace inner
              8  int deep()"#]]
    .assert_eq(&text);
}

#[test]
fn a_string_in_a_body_is_shown_once_and_a_comment_before_it_is_no_signature() {
    let worktree = Worktree::new();
    worktree.write_files(
        "--- geo.py\n\
         # Before.\ndef area(r):\n    \"\"\"The area.\"\"\"\n    return r\n\n# Round.\ndef round_of(r):  # How.\n    # Why.\n    return r\n\
         --- Geo.hs\nmodule Geo where\n\ndata Pair = Pair\n  { left :: Int -- ^ The first.\n  , right :: Int\n  }\n\
         --- geo.js\n// Before.\nfunction go(a) /* How. */ { // Why.\n  return a;\n}\n",
    );
    let said = ["area", "round_of", "go", "Geo.hs:3"].map(|name| {
        let (answer, text) = worktree.ask("show_definition", json!({"name": name})).unwrap();
        let one = &answer["definitions"][0];
        format!("{text}\n= {} | {}\n", one["signature"].as_str().unwrap(), one["doc"].as_str().unwrap_or_default())
    });
    expect![[r#"
        geo.py:2-4 function area
        def area(r):
            """The area."""
            return r
        = def area(r) | The area.
        geo.py:7-9 function round_of
        > Round.
        def round_of(r):  # How.
            # Why.
            return r
        = def round_of(r) | Round.
        geo.js:2-4 function go
        > Before.
        function go(a) /* How. */ { // Why.
          return a;
        }
        = function go(a) | Before.
        Geo.hs:3-6 struct Pair
        data Pair = Pair
          { left :: Int -- ^ The first.
          , right :: Int
          }
        Geo.hs:3-6 constructor Pair.Pair
        Pair
          { left :: Int -- ^ The first.
          , right :: Int
          }
        = data Pair = Pair { left :: Int , right :: Int } | 
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn a_link_in_a_comment_is_no_use() {
    let Some(judged) = projects::typescript() else { return };
    judged.write("geo.ts", "export function area() {}\n").write(
        "uses.ts",
        "import { area } from './geo';\n/** Calls {@link area}. */\nexport function run() { area(); }\n",
    );
    assert_eq!(judged.final_uses("area"), ["uses.ts:1 import confirmed geo.ts:1", "uses.ts:3 call confirmed geo.ts:1"]);
}
