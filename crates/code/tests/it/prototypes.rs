//! Functions declared in one file and defined in another: prototypes and declaration files.

use expect_test::expect;
use serde_json::json;

use crate::projects;

#[test]
fn a_prototype_that_is_asked_for() {
    let Some(judged) = projects::c(&["geo.cpp", "main.cpp"]) else { return };
    judged
        .write("geo.hpp", "#pragma once\ndouble total(double x);\nint total(int x);\nstruct Box { int get() const; };\nextern int made;\n")
        .write("geo.cpp", "#include \"geo.hpp\"\ndouble total(double x) { return x; }\nint total(int x) { return x; }\nint Box::get() const { return 1; }\nint made;\n")
        .write("main.cpp", "#include \"geo.hpp\"\nint main() {\n  total(2.0);\n  total(2);\n  return Box().get() + made;\n}\n");
    expect![[r#"
        geo.hpp:2 final
          main.cpp:3 call confirmed geo.hpp:2
          main.cpp:4 call refuted -
        geo.hpp:Box::get final
          main.cpp:5 call confirmed geo.hpp:4
        geo.hpp:made final
          geo.cpp:5 binding confirmed geo.hpp:5
          main.cpp:5 value confirmed geo.hpp:5
    "#]]
    .assert_eq(&(judged.callers(&["geo.hpp:2", "geo.hpp:Box::get"]) + &judged.uses(&["geo.hpp:made"])));
}

#[test]
fn a_prototype_without_an_index() {
    let Some(judged) = projects::c(&[]) else { return };
    std::fs::remove_file(judged.path().join("compile_commands.json")).unwrap();
    judged
        .write("list.h", "int sum(int *l);\nstatic inline int mean(int *l) { return sum(l) / 2; }\n")
        .write("list.c", "#include \"list.h\"\nint sum(int *l) { return *l; }\n");
    expect![[r#"
        list.c:sum open
          list.h:1 signature undecided -
          list.h:2 call undecided -
    "#]]
    .assert_eq(&judged.uses(&["list.c:sum"]));
    let (_, text) = judged.until_judged("find_callers", json!({"name": "list.h:sum", "refuted": true}));
    assert!(!text.contains("other definitions"), "{text}");
}

#[test]
fn a_stub_beside_its_module() {
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "def area(x):\n    return x\n\nclass Box:\n    def get(self):\n        return 1\n")
        .write("geo.pyi", "def area(x: int) -> int: ...\n\nclass Box:\n    def get(self) -> int: ...\n")
        .write("main.py", "from geo import Box, area\n\narea(1)\nBox().get()\n");
    expect![[r#"
        geo.pyi:area final
          main.py:3 call confirmed geo.pyi:1
        geo.py:area final
          main.py:3 call confirmed geo.py:1
        geo.py:Box.get final
          main.py:4 call confirmed geo.py:5
        geo.pyi:Box.get final
          main.py:4 call confirmed geo.pyi:4
    "#]]
    .assert_eq(&judged.callers(&["geo.pyi:area", "geo.py:area", "geo.py:Box.get", "geo.pyi:Box.get"]));
}
