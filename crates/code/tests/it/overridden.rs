//! Calls through a base class that may run an override: they are uses of the override, and they name the method of the
//! base.

use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::projects;

fn cpp() -> Option<JudgedProject> {
    let judged = projects::c(&["geo.cpp", "uses.cpp"])?;
    judged
        .write(
            "geo.hpp",
            "struct Base { virtual void go() {} virtual void pure() = 0; };\n\
             struct A : Base { void go() override; void pure() override; };\n\
             struct B : A { void go() override {} };\n\
             struct C : Base { void pure() override {} };\n\
             struct X { void go() {} };\n",
        )
        .write("geo.cpp", "#include \"geo.hpp\"\nvoid A::go() {}\nvoid A::pure() {}\n")
        .write(
            "uses.cpp",
            "#include \"geo.hpp\"\n\
             void base(Base& b) {\n  b.go();\n  b.pure();\n}\n\
             void own(A& a) {\n  a.go();\n  a.pure();\n}\n\
             void other(X& x) {\n  x.go();\n}\n",
        );
    Some(judged)
}

#[test]
fn a_call_through_a_base_class_of_cpp_may_run_the_override() {
    let Some(judged) = cpp() else { return };
    let of_x = "uses.cpp:11 call refuted -";
    judged.check_callers(&[
        ("A::go", &["uses.cpp:3 call confirmed geo.cpp:2 interface", "uses.cpp:7 call confirmed geo.cpp:2", of_x]),
        // Two levels below.
        (
            "B::go",
            &["uses.cpp:3 call confirmed geo.hpp:3 interface", "uses.cpp:7 call confirmed geo.hpp:3 interface", of_x],
        ),
        ("Base::go", &["uses.cpp:3 call confirmed geo.hpp:1", "uses.cpp:7 call refuted -", of_x]),
        ("A::pure", &["uses.cpp:4 call confirmed geo.cpp:3 interface", "uses.cpp:8 call confirmed geo.cpp:3"]),
        ("C::pure", &["uses.cpp:4 call confirmed geo.hpp:4 interface", "uses.cpp:8 call refuted -"]),
    ]);
}

#[test]
fn a_call_on_a_value_runs_no_override() {
    let Some(judged) = cpp() else { return };
    judged.write(
        "uses.cpp",
        "#include \"geo.hpp\"\n\
         struct Pair { A a; A& other; };\n\
         void value(A& r, A* p, Pair h) {\n  A a;\n  a.go();\n  r.go();\n  p->go();\n  h.a.go();\n  h.other.go();\n  (*p).go();\n}\n",
    );
    let interface = |line: usize| format!("uses.cpp:{line} call confirmed geo.hpp:3 interface");
    let refuted = |line: usize| format!("uses.cpp:{line} call refuted -");
    let sites = [refuted(5), interface(6), interface(7), refuted(8), interface(9), interface(10)];
    judged.check_callers(&[("B::go", &sites.each_ref().map(String::as_str))]);
}

#[test]
fn a_call_that_names_the_class_runs_no_override() {
    let Some(judged) = cpp() else { return };
    judged.write(
        "uses.cpp",
        "#include \"geo.hpp\"\nvoid own(B& b, B* p) {\n  b.Base::go();\n  p->Base::go();\n  b.go();\n}\n",
    );
    let (third, fourth) = ("uses.cpp:3 call", "uses.cpp:4 call");
    let refuted = [format!("{third} refuted -"), format!("{fourth} refuted -")];
    let confirmed = [format!("{third} confirmed geo.hpp:1"), format!("{fourth} confirmed geo.hpp:1")];
    judged.check_callers(&[
        ("B::go", &[&refuted[0], &refuted[1], "uses.cpp:5 call confirmed geo.hpp:3"]),
        ("Base::go", &[&confirmed[0], &confirmed[1], "uses.cpp:5 call refuted -"]),
    ]);
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "geo.ts",
        "class Base {\n  go() {}\n}\nclass A extends Base {\n  go() {\n    super.go();\n  }\n}\nnew A().go();\n",
    );
    judged.check_callers(&[("A.go", &["geo.ts:6 call refuted -", "geo.ts:9 call confirmed geo.ts:5"])]);
}

#[test]
fn a_call_of_a_pure_virtual_method_names_that_method() {
    let Some(judged) = cpp() else { return };
    let (answer, text) = judged.until_final("find_callees", json!({"name": "base"}));
    let named = |one: &serde_json::Value| format!("{} {}", one["name"].as_str().unwrap(), one["definitions"]);
    let all: Vec<String> = answer["callees"].as_array().unwrap().iter().map(named).collect();
    assert_eq!(all.len(), 2, "{text}");
    assert!(text.contains("Base::go  method geo.hpp:1  at 3"), "{text}");
    assert!(text.contains("Base::pure  method geo.hpp:1  at 4"), "{text}");
}

#[test]
fn python() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "geo.py",
        "class Base:\n    def go(self): pass\n\
         class A(Base):\n    def go(self): pass\n\
         class B(A):\n    def go(self): pass\n\
         class X:\n    def go(self): pass\n\
         def base(b: Base):\n    b.go()\n\
         def own(a: A):\n    a.go()\n\
         def other(x: X):\n    x.go()\n",
    );
    let of_x = "geo.py:14 call refuted -";
    judged.check_callers(&[
        ("A.go", &["geo.py:10 call confirmed geo.py:4 interface", "geo.py:12 call confirmed geo.py:4", of_x]),
        ("B.go", &["geo.py:10 call confirmed geo.py:6 interface", "geo.py:12 call confirmed geo.py:6 interface", of_x]),
    ]);
}

#[test]
fn a_class_beside_may_be_run_in_python() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "geo.py",
        "class Root:\n    def go(self): pass\n\
         class View(Root):\n    def go(self): return super().go()\n\
         class Mixin:\n    def go(self): pass\n\
         class Page(Mixin, View): pass\n\
         class X:\n    def go(self): pass\n\
         def through(v: View, r: Root):\n    v.go()\n    r.go()\n\
         def other(x: X):\n    x.go()\n",
    );
    let refuted = ["geo.py:4 call refuted -", "geo.py:11 call refuted -", "geo.py:12 call refuted -"];
    // `View`, another base of `Page`, has the method too.
    judged.check_open(&[("Mixin.go", &[refuted[0], refuted[1], refuted[2], "geo.py:14 call refuted -"])]);
    let of_x = "geo.py:14 call confirmed geo.py:9";
    judged.check_callers(&[("X.go", &[refuted[0], refuted[1], refuted[2], of_x])]);
}

#[test]
fn typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "src/geo.ts",
        "abstract class Base { go() {} abstract pure(): void }\n\
         class A extends Base { go() {} pure() {} }\n\
         class B extends A { go() {} }\n\
         interface I { run(): void }\n\
         class R implements I { run() {} }\n\
         class X { go() {} run() {} }\n\
         export function base(b: Base) {\n  b.go();\n  b.pure();\n}\n\
         export function own(a: A, i: I) {\n  a.go();\n  i.run();\n}\n\
         export function other(x: X) {\n  x.go();\n}\n",
    );
    let of_x = "src/geo.ts:16 call refuted -";
    judged.check_callers(&[
        (
            "A.go",
            &["src/geo.ts:8 call confirmed src/geo.ts:2 interface", "src/geo.ts:12 call confirmed src/geo.ts:2", of_x],
        ),
        (
            "B.go",
            &[
                "src/geo.ts:8 call confirmed src/geo.ts:3 interface",
                "src/geo.ts:12 call confirmed src/geo.ts:3 interface",
                of_x,
            ],
        ),
        ("A.pure", &["src/geo.ts:9 call confirmed src/geo.ts:2 interface"]),
        ("R.run", &["src/geo.ts:13 call confirmed src/geo.ts:5 interface"]),
    ]);
}

#[test]
fn go() {
    let Some(judged) = projects::go() else { return };
    judged.write(
        "main.go",
        "package main\n\n\
         type Shape interface{ Go() }\n\
         type A struct{}\n\
         func (A) Go() {}\n\
         type B struct{ A }\n\
         func (B) Go() {}\n\
         type X struct{}\n\
         func (X) Go(n int) {}\n\
         func through(s Shape) {\n\ts.Go()\n}\n\
         func main() {\n\tthrough(B{})\n\tA{}.Go()\n\tX{}.Go(1)\n}\n",
    );
    judged.check_callers(&[(
        "A.Go",
        &[
            "main.go:11 call confirmed main.go:5 interface",
            "main.go:15 call confirmed main.go:5",
            "main.go:16 call refuted -",
        ],
    )]);
}
