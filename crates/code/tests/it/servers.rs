//! Real language servers, one test each. A test is skipped with a message if its server is not installed; CI has all of them.

use expect_test::expect;
use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

/// Returns the text of the final answer, and asserts that the server writes nothing into the project.
fn final_callers(judged: &JudgedProject, name: &str) -> String {
    let before = judged.files();
    let (answer, text) = judged.until_final("find_callers", json!({"name": name}));
    assert_eq!(judged.files(), before, "nothing is written into a project");
    assert_eq!(answer["warning"], json!(null));
    format!("{}\n\n{text}", sites(&answer).join("\n"))
}

/// Returns the callees: the text of the final answer, with external paths shortened to their last folder.
fn final_callees(judged: &JudgedProject, name: &str) -> String {
    let (answer, text) = judged.until_final("find_callees", json!({"name": name, "external": true}));
    assert_eq!(answer["warning"], json!(null));
    let is_final = |callee: &serde_json::Value| callee["verdict"] == "confirmed";
    assert!(answer["callees"].as_array().unwrap().iter().all(is_final), "{answer:#}");
    // The location of the standard library depends on the machine.
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(|word| match word.rsplit_once('/') {
            Some((_, file)) if word.starts_with('/') => format!("/…/{}", file.split(':').next().unwrap()),
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the version of the only running server.
fn version(judged: &JudgedProject) -> String {
    let (status, text) = judged.ask("code_status", json!({})).unwrap();
    let version = status["servers"][0]["version"].as_str().unwrap_or_else(|| panic!("no version: {text}")).to_owned();
    let server = status["servers"][0]["server"].as_str().unwrap();
    assert!(text.contains(&format!("  {server} {version} in /")), "{text}");
    version
}

pub(crate) fn rust_analyzer_confirms_and_refutes(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\npub mod geo;\npub mod other;\npub mod uses;\npub use geo::area as surface;\n\
         --- src/geo.rs\n\
         pub fn area(side: f64) -> f64 {\n    side * side\n}\n\npub fn perimeter(side: f64) -> f64 {\n    4.0 * side\n}\n\
         --- src/other.rs\npub fn area() -> u8 {\n    1\n}\n\
         --- src/uses.rs\nuse crate::geo::{area, perimeter};\n\
         use crate::other;\n\
         pub fn run() -> f64 {\n    \
         let all: Vec<f64> = [1.0].into_iter().map(area).collect();\n    \
         assert_eq!(area(2.0), 4.0);\n    \
         let _ = other::area();\n    \
         all[0] + area(3.0) + perimeter(1.0) + crate::surface(4.0)\n\
         }\n\
         pub fn shadow(area: fn() -> u8) -> u8 {\n    \
         area()\n\
         }\n",
    );
    expect![[r#"
        src/uses.rs:4 value confirmed src/geo.rs:1
        src/uses.rs:5 call confirmed src/geo.rs:1
        src/uses.rs:7 call confirmed src/geo.rs:1
        src/uses.rs:7 call confirmed src/geo.rs:1

        4 callers, complete: 3 calls, 1 passed as a value · checked by rust-analyzer
        defined: src/geo.rs:1 function area
        src/uses.rs
          4  run  value  let all: Vec<f64> = [1.0].into_iter().map(area).collect();
          5  run  call  assert_eq!(area(2.0), 4.0);
          7  run  call  all[0] + area(3.0) + perimeter(1.0) + crate::surface(4.0)
          7  run  call as surface  all[0] + area(3.0) + perimeter(1.0) + crate::surface(4.0)"#]]
    .assert_eq(&final_callers(judged, "src/geo.rs:area"));
    expect![[r#"
        8 callees, complete · checked by rust-analyzer
        defined: src/uses.rs:3 function run
          [T; N]::into_iter  method /…/iter.rs  at 4
          Iterator::map  method /…/iterator.rs  at 4
          area  function src/geo.rs:1  as a value at 4
          Iterator::collect  method /…/iterator.rs  at 4
          assert_eq  macro /…/mod.rs  at 5
          area  function src/geo.rs:1  at 5, 7
          area  function src/other.rs:1  at 6
          perimeter  function src/geo.rs:5  at 7"#]]
    .assert_eq(&final_callees(judged, "src/uses.rs:run"));
    // Edited, added and removed by other programs.
    judged
        .write("src/lib.rs", "pub mod geo;\npub mod more;\npub mod other;\n")
        .write("src/more.rs", "use crate::geo::area;\npub fn more() -> f64 {\n    area(1.0)\n}\n");
    std::fs::remove_file(judged.path().join("src/uses.rs")).unwrap();
    assert_eq!(judged.final_places("src/geo.rs:area"), ["src/more.rs:3"]);
}

#[test]
fn ty_confirms_and_refutes() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- geo.py\n\
         \u{feff}def area(side: float) -> float:\n    return side * side\n\ndef surface(side):\n    return area(side)\n\
         --- other.py\ndef area() -> int:\n    return 1\n\
         --- uses.py\nfrom geo import area, surface\nimport other\n\ndef run() -> float:\n    \
         print(surface(1.0), list(map(area, [1.0])))\n    \
         x = \"🦀\"; other.area(); return area(2.0)\n\n\
         def shadow(area):\n    return area()\n",
    );
    expect![[r#"
        geo.py:5 call confirmed geo.py:1
        uses.py:5 value confirmed geo.py:1
        uses.py:6 call confirmed geo.py:1

        3 callers, complete: 2 calls, 1 passed as a value · checked by ty
        defined: geo.py:1 function area
        geo.py
          5  surface  call  return area(side)
        uses.py
          5  run  value  print(surface(1.0), list(map(area, [1.0])))
          6  run  call  x = "🦀"; other.area(); return area(2.0)"#]]
    .assert_eq(&final_callers(&judged, "geo.py:area"));
    expect![[r#"
        7 callees, complete · checked by ty
        defined: uses.py:4 function run
          print  function /…/builtins.pyi  at 5
          surface  function geo.py:4  at 5
          list  class /…/builtins.pyi  at 5
          map  class /…/builtins.pyi  at 5
          area  function geo.py:1  as a value at 5
          area  function other.py:1  at 6
          area  function geo.py:1  at 6"#]]
    .assert_eq(&final_callees(&judged, "uses.py:run"));
    judged.write("more.py", "import geo\ngeo.area(3)\n").write("uses.py", "from other import area\narea()\n");
    assert_eq!(judged.final_places("geo.py:area"), ["geo.py:5", "more.py:2"]);
    // A file that the server reads itself may begin with a byte order mark too.
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "\u{feff}def area(side: float) -> float:\n    return side * side\n")
        .write("uses.py", "from geo import area\n\ndef run() -> float:\n    return area(2.0)\n");
    expect![[r#"
        1 callee, complete · checked by ty
        defined: uses.py:3 function run
          area  function geo.py:1  at 4"#]]
    .assert_eq(&final_callees(&judged, "uses.py:run"));
}

#[test]
fn typescript_confirms_and_refutes() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- src/geo.ts\nexport function area(side: number): number {\n  return side * side;\n}\n\
         --- src/other.ts\nexport function area(): number {\n  return 1;\n}\n\
         --- src/index.ts\nexport { area as surface } from './geo';\n\
         --- src/uses.tsx\n\
         import { area } from './geo';\nimport * as other from './other';\nimport { surface } from './index';\n\
         export function run(): number {\n  const all = [1, 2].map(area);\n  \
         const crab = '🦀'; other.area(); return area(2) + surface(3) + all[0];\n}\n\
         export function shadow(area: () => number): number {\n  return area();\n}\n",
    );
    expect![[r#"
        src/uses.tsx:5 value confirmed src/geo.ts:1
        src/uses.tsx:6 call confirmed src/geo.ts:1
        src/uses.tsx:6 call confirmed src/geo.ts:1

        3 callers, complete: 2 calls, 1 passed as a value · checked by tsc
        defined: src/geo.ts:1 function area
        src/uses.tsx
          5  run  value  const all = [1, 2].map(area);
          6  run  call  const crab = '🦀'; other.area(); return area(2) + surface(3) + all[0];
          6  run  call as surface  const crab = '🦀'; other.area(); return area(2) + surface(3) + all[0];"#]]
    .assert_eq(&final_callers(&judged, "src/geo.ts:area"));
    expect![[r#"
        4 callees, complete · checked by tsc
        defined: src/uses.tsx:4 function run
          Array.map  method /…/lib.es5.d.ts  at 5
          area  function src/geo.ts:1  as a value at 5
          area  function src/other.ts:1  at 6
          area  function src/geo.ts:1  at 6"#]]
    .assert_eq(&final_callees(&judged, "src/uses.tsx:run"));
    judged
        .write("src/more.ts", "import * as geo from './geo';\ngeo.area(3);\n")
        .write("src/uses.tsx", "import { area } from './other';\narea();\n");
    assert_eq!(judged.final_places("src/geo.ts:area"), ["src/more.ts:2"]);
}

#[test]
fn gopls_confirms_and_refutes() {
    let Some(judged) = projects::go() else { return };
    judged
        .write("geo/geo.go", "package geo\n\nfunc Area(side float64) float64 {\n\treturn side * side\n}\n\nfunc helper() float64 {\n\treturn Area(1)\n}\n")
        .write("geo/more.go", "package geo\n\nfunc More() float64 {\n\treturn helper()\n}\n")
        .write("other/other.go", "package other\n\nfunc Area() int {\n\treturn 1\n}\n")
        .write(
            "main.go",
            "package main\n\nimport (\n\t\"made/geo\"\n\t\"made/other\"\n)\n\nfunc apply(f func(float64) float64) float64 { return f(1) }\n\n\
             func main() {\n\t_ = \"🦀\"; other.Area()\n\tprintln(geo.Area(2), apply(geo.Area), geo.More())\n}\n",
        );
    expect![[r#"
        geo/geo.go:8 call confirmed geo/geo.go:3
        main.go:12 call confirmed geo/geo.go:3
        main.go:12 value confirmed geo/geo.go:3

        3 callers, complete: 2 calls, 1 passed as a value · checked by gopls
        defined: geo/geo.go:3 function Area
        geo/geo.go
          8  helper  call  return Area(1)
        main.go
          12  main  call  println(geo.Area(2), apply(geo.Area), geo.More())
          12  main  value  println(geo.Area(2), apply(geo.Area), geo.More())"#]]
    .assert_eq(&final_callers(&judged, "geo/geo.go:Area"));
    expect![[r#"
        6 callees, complete · checked by gopls
        defined: main.go:10 function main
          Area  function other/other.go:3  at 11
          println  function /…/builtin.go  at 12
          Area  function geo/geo.go:3  at 12
          apply  function main.go:8  at 12
          Area  function geo/geo.go:3  as a value at 12
          More  function geo/more.go:3  at 12"#]]
    .assert_eq(&final_callees(&judged, "main.go:main"));
    judged
        .write("geo/more.go", "package geo\n\nfunc More() float64 {\n\treturn Area(3)\n}\n")
        .write("main.go", "package main\n\nimport \"made/other\"\n\nfunc main() {\n\tother.Area()\n}\n");
    assert_eq!(judged.final_places("geo/geo.go:Area"), ["geo/geo.go:8", "geo/more.go:4"]);
    // A distribution's build reports `master` and the version of Go.
    let version = version(&judged);
    assert!(version.starts_with('v') || version.contains("(go1."), "{version}");
}

#[test]
fn clangd_confirms_and_refutes() {
    let Some(judged) = projects::c(&["geo.c", "uses.c", "other.c"]) else { return };
    judged.write_files(
        "--- geo.h\ndouble area(double side);\ndouble twice(double side);\n\
         --- geo.c\n\
         #include \"geo.h\"\ndouble area(double side) { return side * side; }\ndouble twice(double side) { return 2 * area(side); }\n\
         --- other.c\nstatic int area(void) { return 1; }\nint other(void) { return area(); }\n\
         --- uses.c\n#include \"geo.h\"\nstatic double apply(double (*f)(double)) { return f(1); }\n\
         int main(void) {\n  const char *crab = \"🦀\"; return (int)(area(2) + apply(area) + twice(1));\n}\n",
    );
    expect![[r#"
        geo.c:3 call confirmed geo.c:2
        uses.c:4 call confirmed geo.c:2
        uses.c:4 value confirmed geo.c:2

        3 callers, complete: 2 calls, 1 passed as a value · checked by clangd
        defined: geo.c:2 function area
        geo.c
          3  twice  call  double twice(double side) { return 2 * area(side); }
        uses.c
          4  main  call  const char *crab = "🦀"; return (int)(area(2) + apply(area) + twice(1));
          4  main  value  const char *crab = "🦀"; return (int)(area(2) + apply(area) + twice(1));"#]]
    .assert_eq(&final_callers(&judged, "geo.c:area"));
    expect![[r#"
        4 callees, complete · checked by clangd
        defined: uses.c:3 function main
          area  function geo.c:2  at 4
          apply  function uses.c:2  at 4
          area  function geo.c:2  as a value at 4
          twice  function geo.c:3  at 4"#]]
    .assert_eq(&final_callees(&judged, "uses.c:main"));
    judged
        .write("uses.c", "#include \"geo.h\"\nint main(void) {\n  return 0;\n}\n")
        .write("other.c", "#include \"geo.h\"\nint other(void) { return (int)area(1); }\n");
    assert_eq!(judged.final_places("geo.c:area"), ["geo.c:3", "other.c:2"]);
    let version = version(&judged);
    assert!(version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.'), "{version}");
}
