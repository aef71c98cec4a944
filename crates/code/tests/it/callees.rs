//! Callees of a definition, in every language.

use expect_test::expect;
use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::projects;
use crate::worktree::Worktree;

/// Returns the callees of a name, without the head line.
fn callees(files: &[(&str, &str)], name: &str) -> String {
    let (_, text) = Worktree::from_files(files).ask("find_callees", json!({"name": name, "external": true})).unwrap();
    let lines = text.lines().skip(1).filter(|line| !line.starts_with("defined:")).map(str::trim);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn callees_by_syntax_in_every_language() {
    // Rust.
    let geo = "pub struct Circle;\nimpl Circle {\n    pub fn new() -> Circle { Circle }\n    fn area(&self) -> f64 { helper(1.0) }\n}\n\
               pub fn helper(x: f64) -> f64 { x }\npub enum E { A(f64) }\n";
    let main = "use crate::geo::{Circle, helper};\nstruct Square;\nimpl Square { fn area(&self) -> f64 { 1.0 } fn new() {} }\n\
                fn total(f: fn(f64) -> f64) -> f64 {\n    let c = Circle::new();\n    let v = Vec::new();\n    let a = c.area();\n    \
                println!(\"{}\", helper(f(a)));\n    let e = E::A(1.0);\n    let m = v.map(helper);\n    inner();\n    fn inner() {}\n    a\n}\n";
    expect![[r#"
        Circle::new  method geo.rs:3  at 5
        new  not defined in this project  at 6
        area  Circle::area geo.rs:4 or Square::area main.rs:3  at 7
        println  not defined in this project  at 8
        helper  function geo.rs:6  at 8
        f  a local  at 8
        map  not defined in this project  at 10
        helper  function geo.rs:6  as a value at 10
        total::inner  function main.rs:12  at 11"#]]
    .assert_eq(&callees(&[("geo.rs", geo), ("main.rs", main)], "total"));
    // Haskell.
    let geo = "module Geo where\ndata Shape = Circle Double\narea :: Shape -> Double\narea (Circle r) = square r\nsquare :: Double -> Double\n\
               square x = x * x\na <+> b = a + b\n";
    let main = "module Main where\nimport qualified Geo as G\ntotal :: [G.Shape] -> Double\ntotal shapes = sum (map G.area shapes) G.<+> local 1\n  \
                where local x = G.square x\n";
    expect![[r#"
        sum  not defined in this project  at 4
        map  not defined in this project  at 4
        area  function Geo.hs:4  as a value at 4
        <+>  function Geo.hs:7  at 4
        local  a local  at 4
        square  function Geo.hs:6  at 5"#]]
    .assert_eq(&callees(&[("Geo.hs", geo), ("Main.hs", main)], "total"));
    // Python.
    let geo = "class Circle:\n    def __init__(self, r):\n        self.r = r\n    def area(self):\n        return self.twice()\n    \
               def twice(self):\n        return 2\ndef area(x):\n    return x\n";
    let main = "import geo\nfrom geo import Circle\ndef total(shapes, key):\n    c = Circle(1)\n    key(c)\n    geo.area(2)\n    \
                return sum(map(helper, shapes)) + c.area()\ndef helper(s):\n    return s.area()\n";
    expect![[r#"
        Circle  class geo.py:1  at 4
        key  a local  at 5
        area  function geo.py:8  at 6
        sum  not defined in this project  at 7
        map  not defined in this project  at 7
        helper  function main.py:8  as a value at 7
        Circle.area  method geo.py:4  at 7"#]]
    .assert_eq(&callees(&[("geo.py", geo), ("main.py", main)], "total"));
    expect!["Circle.twice  method geo.py:6  at 5"].assert_eq(&callees(&[("geo.py", geo)], "Circle.area"));
    // TypeScript.
    let geo = "export class Circle { area(): number { return this.twice(); } twice() { return 2; } }\nexport const helper = (x: number) => x;\n";
    let main = "import { Circle, helper } from './geo';\nexport function total(xs: number[]) {\n  const c = new Circle();\n  \
                return xs.map(helper).concat(c.area(), helper(1));\n}\n";
    expect![[r#"
        Circle  class geo.ts:1  at 3
        map  not defined in this project  at 4
        helper  function geo.ts:2  as a value at 4
        concat  not defined in this project  at 4
        Circle.area  method geo.ts:1  at 4
        helper  function geo.ts:2  at 4"#]]
    .assert_eq(&callees(&[("geo.ts", geo), ("main.ts", main)], "total"));
    // Go.
    let geo = "package geo\ntype Circle struct{}\nfunc (c *Circle) Area() float64 { return twice(1) }\nfunc twice(x float64) float64 { return x }\n\
               func New() *Circle { return &Circle{} }\n";
    let main = "package main\nimport \"x/geo\"\nfunc total() float64 {\n\tc := geo.New()\n\tfmt.Println(len(\"\"))\n\treturn c.Area() + local()\n}\n\
                func local() float64 { return 1 }\n";
    expect![[r#"
        New  function geo/geo.go:5  at 4
        Println  not defined in this project  at 5
        len  not defined in this project  at 5
        Circle.Area  method geo/geo.go:3  at 6
        local  function main.go:8  at 6"#]]
    .assert_eq(&callees(&[("geo/geo.go", geo), ("main.go", main)], "total"));
    // C and C++.
    let header = "int area(int x);\n#define TWICE(x) (2 * area(x))\n";
    let geo = "#include \"geo.h\"\nint area(int x) { return x; }\n";
    let main = "#include \"geo.h\"\nint total(int (*f)(int)) { printf(\"\"); return TWICE(area(1)) + f(2); }\n";
    expect![[r#"
        printf  not defined in this project  at 2
        TWICE  macro geo.h:2  at 2
        area  function geo.c:2  at 2
        f  a local  at 2"#]]
    .assert_eq(&callees(&[("geo.h", header), ("geo.c", geo), ("main.c", main)], "total"));
    let cpp = "namespace geo { class Circle { public: Circle(int r) {} int area() { return twice(); } int twice(); }; }\n\
               int geo::Circle::twice() { return 2; }\nint total() { geo::Circle c(1); auto d = new geo::Circle(2); return c.area() + d->twice(); }\n";
    expect![[r#"
        geo::Circle::Circle  method geo.cpp:1  at 3
        geo::Circle::area  method geo.cpp:1  at 3
        geo::Circle::twice  method geo.cpp:2  at 3"#]]
    .assert_eq(&callees(&[("geo.cpp", cpp)], "total"));
    expect!["geo::Circle::twice  method geo.cpp:2  at 1"].assert_eq(&callees(&[("geo.cpp", cpp)], "Circle::area"));
}

#[test]
fn what_an_import_renames_is_found_without_a_judge() {
    expect![[r#"
        pi  function geo.rs:1  at 3
        area  function geo.rs:2  at 3
        pi  function main.rs:2  at 3"#]]
    .assert_eq(&callees(
        &[
            ("geo.rs", "pub fn pi() -> f64 { 3.14 }\npub fn area() {}\n"),
            ("main.rs", "use crate::geo::{area, pi as three};\nfn pi() {}\nfn total() { three(); area(); pi(); }\n"),
        ],
        "total",
    ));
    expect!["area  function geo.py:1  at 3"].assert_eq(&callees(
        &[("geo.py", "def area(): pass\n"), ("run.py", "from .geo import area as ar\ndef run():\n    ar()\n")],
        "run",
    ));
}

#[test]
fn homonyms_are_all_given_and_outsiders_counted() {
    let worktree = Worktree::new();
    for name in ["a", "b", "c", "d"] {
        worktree.write(&format!("{name}.rs"), "struct S;\nimpl S { fn area(&self) {} }\n");
    }
    worktree.write("main.rs", "fn total(s: S) { s.area(); s.missing(); std::fs::read(1); }\n");
    let (result, text) = worktree.ask("find_callees", json!({"name": "total"})).unwrap();
    expect![[r#"
        1 callee by name, unchecked: no language server for Rust · 2 more that this project does not define (external)
        defined: main.rs:1 function total
          area  S::area a.rs:2 or S::area b.rs:2 or S::area c.rs:2 or 1 more  at 1"#]]
    .assert_eq(&text);
    assert_eq!((&result["callees"][0]["file"], &result["external_left_out"]), (&json!(null), &json!(2)));
    assert_eq!(result["callees"][0]["definitions"].as_array().unwrap().len(), 4);
    let refused = worktree.ask("find_callees", json!({"name": "missing"})).expect_err("it is not defined here");
    expect!["`missing` is not defined in this project, so its body is unknown; find_callers shows who calls it"]
        .assert_eq(&refused);
}

pub(crate) fn what_a_macro_makes_has_a_kind(judged: &JudgedProject) {
    judged.write(
            "src/lib.rs",
            "macro_rules! made {\n    ($name:ident) => {\n        pub fn $name() -> u8 { 1 }\n    };\n}\nmade!(one);\n\n\
             #[derive(Clone)]\npub struct Shape;\n\npub fn run(shape: &Shape) -> Shape {\n    one();\n    shape.clone()\n}\n",
        );
    let (answer, text) = judged.until_final("find_callees", json!({"name": "run"}));
    expect![[r#"
        2 callees, complete · checked by rust-analyzer
        defined: src/lib.rs:11 function run
          one  macro src/lib.rs:6  at 12
          clone  macro src/lib.rs:8  at 13"#]]
    .assert_eq(&text);
    assert!(answer["callees"].as_array().unwrap().iter().all(|one| one["kind"] == "macro"), "{answer:#}");
    // A local variable with the name of a function. The server is ready now, so it is asked before the names are searched.
    judged.write(
        "src/other.rs",
        "pub fn side() -> u8 { 2 }\npub struct Square { pub side: u8 }\npub fn double(side: u8) -> u8 { side + side }\n\
         pub fn run(square: Square) -> u8 {\n    let Square { side } = square;\n    double(side)\n}\n",
    );
    judged.write("src/lib.rs", "pub mod other;\n");
    let (_, text) = judged.until_final("find_callees", json!({"name": "run"}));
    expect![[r#"
        1 callee, complete · checked by rust-analyzer
        defined: src/other.rs:4 function run
          double  function src/other.rs:3  at 6"#]]
    .assert_eq(&text);
}

#[test]
fn overloads_of_cpp_are_told_apart_where_a_using_brings_them() {
    let Some(judged) = projects::c(&["lib.cpp", "main.cpp"]) else { return };
    judged.write_files(
        "--- lib.hpp\n\
         #pragma once\nnamespace lib {\nint helper(int x);\nint helper(double x);\n}\n#define CALL(f, x) f(x)\n\
         --- lib.cpp\n\
         #include \"lib.hpp\"\nint lib::helper(int x) { return x; }\nint lib::helper(double x) { return (int)x; }\n\
         --- main.cpp\n#include \"lib.hpp\"\nusing lib::helper;\nint main() {\n  int (*f)(int) = helper;\n  \
         int r = CALL(helper, 1) + helper(2.0) + f(5);\n  \
         { auto helper = [](int x) { return x; }; r += helper(1); }\n  r += helper(2);\n  return r;\n}\n",
    );
    let (_, text) = judged.until_final("find_callees", json!({"name": "main"}));
    expect![[r#"
        4 callees, complete · checked by clangd · 2 more that this project does not define (external)
        defined: main.cpp:3 function main
          lib::helper  function lib.cpp:2  as a value at 4, 5
          CALL  macro lib.hpp:6  at 5
          lib::helper  function lib.cpp:3  at 5
          lib::helper  function lib.cpp:2  at 7"#]]
    .assert_eq(&text);
    // Each call is a use of the callee.
    for (name, wanted) in
        [("lib.cpp:2", &["main.cpp:4", "main.cpp:5", "main.cpp:7"][..]), ("lib.cpp:3", &["main.cpp:5"][..])]
    {
        let mut places = judged.final_places(name);
        places.retain(|place| place.starts_with("main.cpp:"));
        assert_eq!(places, wanted, "{name}");
    }
}
