//! Calls through a base class, an interface or a trait that may run an override: they are uses of the override, and they
//! name the method of the base. Some servers do not report overrides; they are found through the bases of classes.

use expect_test::expect;
use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::projects;

#[test]
fn overrides_of_cpp() {
    let Some(judged) = projects::c(&["geo.cpp", "uses.cpp"]) else { return };
    judged.write_files(
        "--- geo.hpp\nstruct Base { virtual void go() {} virtual void pure() = 0; };\n\
         struct A : Base { void go() override; void pure() override; };\n\
         struct B : A { void go() override {} };\n\
         struct C : Base { void pure() override {} };\n\
         struct X { void go() {} };\n\
         --- geo.cpp\n#include \"geo.hpp\"\nvoid A::go() {}\nvoid A::pure() {}\n\
         --- uses.cpp\n#include \"geo.hpp\"\n\
         void base(Base& b) {\n  b.go();\n  b.pure();\n}\n\
         void own(A& a) {\n  a.go();\n  a.pure();\n}\n\
         void other(X& x) {\n  x.go();\n}\n",
    );
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
    // A call of a pure virtual method names that method.
    let (answer, text) = judged.until_final("find_callees", json!({"name": "base"}));
    assert_eq!(answer["callees"].as_array().unwrap().len(), 2, "{text}");
    assert!(text.contains("Base::go  method geo.hpp:1  at 3"), "{text}");
    assert!(text.contains("Base::pure  method geo.hpp:1  at 4"), "{text}");
    // A call on a value runs no override.
    judged.write_files(
        "--- uses.cpp\n#include \"geo.hpp\"\n\
         struct Pair { A a; A& other; };\n\
         void value(A& r, A* p, Pair h) {\n  A a;\n  a.go();\n  r.go();\n  p->go();\n  h.a.go();\n  h.other.go();\n  (*p).go();\n}\n",
    );
    let interface = |line: usize| format!("uses.cpp:{line} call confirmed geo.hpp:3 interface");
    let refuted = |line: usize| format!("uses.cpp:{line} call refuted -");
    let sites = [refuted(5), interface(6), interface(7), refuted(8), interface(9), interface(10)];
    judged.check_callers(&[("B::go", &sites.each_ref().map(String::as_str))]);
    // Nor does a call that names the class.
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
}

#[test]
fn overrides_of_python() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- geo.py\nclass Base:\n    def go(self): pass\n\
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
    // Class variables that subclasses override; the server does not report them.
    judged.write(
        "view.py",
        "class View:\n    template = \"base\"\n    on_event = None\n    def render(self):\n        if self.on_event:\n            self.on_event()\n        return self.template\n\n\
         class Home(View):\n    template = \"home\"\n    def on_event(self): pass\n    @classmethod\n    def load(cls): pass\n\n\
         class Near(Home):\n    @classmethod\n    def load(cls): return super(Near, cls).load()\n\n\
         def show(view: View): return view.template\n\n\
         def run(Model: type[Home]): Model.load()\n\n\
         Home.load()\nHome().on_event()\nView.template\n",
    );
    expect![[r#"
        Home.template final
          view.py:2 binding refuted -
          view.py:7 field_read confirmed view.py:10 interface
          view.py:19 field_read confirmed view.py:10 interface
          view.py:25 field_read refuted -
        Home.on_event final
          view.py:3 binding confirmed view.py:11 interface
          view.py:5 value confirmed view.py:11 interface
          view.py:6 call confirmed view.py:11 interface
          view.py:24 call confirmed view.py:11
        Near.load final
          view.py:13 binding confirmed view.py:17 interface
          view.py:17 call refuted -
          view.py:21 call confirmed view.py:17 interface
          view.py:23 call refuted -
    "#]]
    .assert_eq(&judged.uses(&["Home.template", "Home.on_event", "Near.load"]));
}

#[test]
fn a_class_beside_may_be_run_in_python() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- geo.py\nclass Root:\n    def go(self): pass\n\
         class View(Root):\n    def go(self): return super().go()\n\
         class Mixin:\n    def go(self): pass\n\
         class Page(Mixin, View): pass\n\
         class X:\n    def go(self): pass\n\
         def through(v: View, r: Root):\n    v.go()\n    r.go()\n\
         def other(x: X):\n    x.go()\n",
    );
    let refuted = "  geo.py:4 call refuted -\n  geo.py:11 call refuted -\n  geo.py:12 call refuted -\n";
    // `View`, another base of `Page`, has the method too.
    assert_eq!(judged.callers(&["Mixin.go"]), format!("Mixin.go open\n{refuted}  geo.py:14 call refuted -\n"));
    assert_eq!(judged.callers(&["X.go"]), format!("X.go final\n{refuted}  geo.py:14 call confirmed geo.py:9\n"));
}

#[test]
fn overrides_of_typescript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- src/geo.ts\nabstract class Base { go() {} abstract pure(): void }\n\
         class A extends Base { go() {} pure() {} }\n\
         class B extends A { go() {} }\n\
         interface I { run(): void }\n\
         class R implements I { run() {} }\n\
         class X { go() {} run() {} }\n\
         export function base(b: Base) {\n  b.go();\n  b.pure();\n}\n\
         export function own(a: A, i: I) {\n  a.go();\n  i.run();\n}\n\
         export function other(x: X) {\n  x.go();\n}\n",
    );
    expect![[r#"
        A.go final
          src/geo.ts:8 call confirmed src/geo.ts:2 interface
          src/geo.ts:12 call confirmed src/geo.ts:2
          src/geo.ts:16 call refuted -
        B.go final
          src/geo.ts:8 call confirmed src/geo.ts:3 interface
          src/geo.ts:12 call confirmed src/geo.ts:3 interface
          src/geo.ts:16 call refuted -
        A.pure final
          src/geo.ts:9 call confirmed src/geo.ts:2 interface
        R.run final
          src/geo.ts:13 call confirmed src/geo.ts:5 interface
    "#]]
    .assert_eq(&judged.callers(&["A.go", "B.go", "A.pure", "R.run"]));
    // A call that names the class runs no override.
    std::fs::remove_file(judged.path().join("src/geo.ts")).unwrap();
    judged.write(
        "geo.ts",
        "class Base {\n  go() {}\n}\nclass A extends Base {\n  go() {\n    super.go();\n  }\n}\nnew A().go();\n",
    );
    judged.check_callers(&[("A.go", &["geo.ts:6 call refuted -", "geo.ts:9 call confirmed geo.ts:5"])]);
}

#[test]
fn promoted_methods_of_go() {
    let Some(judged) = projects::go() else { return };
    judged.write_files(
        "--- main.go\npackage main\n\n\
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
    expect![[r#"
        A.Go final
          main.go:11 call confirmed main.go:5 interface
          main.go:15 call confirmed main.go:5
          main.go:16 call refuted -
    "#]]
    .assert_eq(&judged.callers(&["A.Go"]));
}

#[test]
fn static_members_of_javascript() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- model.ts\n\
         export class Model {\n  private kept = 1;\n  static table() { return ''; }\n  static all() { return this.table(); }\n  save() {}\n}\n\
         export class User extends Model {\n  static override table() { return 'users'; }\n  override save() {}\n}\n\
         --- uses.ts\nimport { Model, User } from './model';\n\
         export function load(M: typeof Model) { return M.table(); }\n\
         export function make(M: typeof Model) { new M().save(); }\n\
         Model.table();\nnew Model().save();\nconst user = new User();\nuser.save();\n\
         const some: Model = new User();\nsome.save();\n",
    );
    expect![[r#"
        User.table final
          model.ts:4 call confirmed model.ts:8 interface
          uses.ts:2 call confirmed model.ts:8 interface
          uses.ts:4 call refuted -
        User.save final
          uses.ts:3 call confirmed model.ts:9 interface
          uses.ts:5 call refuted -
          uses.ts:7 call confirmed model.ts:9
          uses.ts:9 call confirmed model.ts:9 interface
        Model.save final
          uses.ts:3 call confirmed model.ts:5
          uses.ts:5 call confirmed model.ts:5
          uses.ts:7 call refuted -
          uses.ts:9 call confirmed model.ts:5
    "#]]
    .assert_eq(&judged.callers(&["User.table", "User.save", "Model.save"]));
}

#[test]
fn methods_of_templates_of_cpp() {
    let Some(judged) = projects::c(&["uses.cpp"]) else { return };
    judged.write_files(
        "--- geo.hpp\ntemplate <class T> struct Handler { virtual int handle(T t) { return 0; } };\n\
         struct Ints : Handler<int> { int handle(int t) override; };\n\
         struct Other { int handle(int t) { return t; } };\n\
         struct Base { virtual void go() {} };\nstruct Derived : Base { void go() override {} };\n\
         typedef Base& Ref;\n#define MADE made()\n\
         --- uses.cpp\n#include \"geo.hpp\"\nint Ints::handle(int t) { return t; }\nBase& made();\n\
         int run(Handler<int>& h, Other& o) {\n  o.handle(1);\n  return h.handle(1);\n}\n\
         void all(Ref r, Base b) {\n  r.go();\n  MADE.go();\n  b.go();\n  auto m = &Base::go;\n}\n",
    );
    expect![[r#"
        Ints::handle open
          uses.cpp:5 call refuted -
          uses.cpp:6 call undecided -
        Derived::go final
          uses.cpp:9 call confirmed geo.hpp:5 interface
          uses.cpp:10 call confirmed geo.hpp:5 interface
          uses.cpp:11 call refuted -
          uses.cpp:12 value confirmed geo.hpp:5 interface
    "#]]
    .assert_eq(&judged.callers(&["Ints::handle", "Derived::go"]));
}

pub(crate) fn traits(judged: &JudgedProject) {
    a_call_through_a_trait_is_a_use_of_both_sides(judged);
    two_traits_of_one_name_are_told_apart(judged);
    a_trait_of_another_crate_may_have_the_name_of_one_of_ours(judged);
}

fn a_call_through_a_trait_is_a_use_of_both_sides(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\npub trait Go { fn go(&self); }\n\
         pub struct T;\n\
         impl Go for T { fn go(&self) {} }\n\
         pub struct U;\n\
         impl U { pub fn go(&self) {} }\n\
         pub fn dynamic(x: &dyn Go) { x.go() }\n\
         pub fn exact(x: T) { x.go() }\n\
         pub fn other(x: U) { x.go() }\n\
         pub struct P(u8);\n\
         impl std::ops::Add for P { type Output = P; fn add(self, o: P) -> P { P(self.0 + o.0) } }\n\
         pub fn sum(a: P, b: P) -> P { a + b }\n\
         pub fn r#match() {}\n\
         pub fn raw() { r#match(); crate::r#match(); }\n",
    );
    expect![[r#"
        T::go final
          src/lib.rs:6 call confirmed src/lib.rs:3 interface
          src/lib.rs:7 call confirmed src/lib.rs:3
          src/lib.rs:8 call refuted -
    "#]]
    .assert_eq(&judged.callers(&["T::go"]));
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/lib.rs:1"}));
    assert!(answer["head"]["other"].as_u64().unwrap() <= 2, "{text}");
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/lib.rs:go"}));
    assert!(sites(&answer).len() >= 3, "{text}");
    // A keyword may be a name.
    let (answer, text) = judged.until_final("find_callers", json!({"name": "r#match"}));
    assert_eq!((&answer["total"], &answer["head"]["verified"]), (&json!(2), &json!(2)), "{text}");
    let (answer, text) = judged.until_final("find_callees", json!({"name": "raw"}));
    assert_eq!((&answer["callees"][0]["name"], &answer["total"]), (&json!("match"), &json!(1)), "{text}");
    // An operator's method is never named.
    let (_, text) = judged.stays_open("find_callers", "P::add");
    assert!(text.contains("P::add implements Add, a trait that the project does not define"), "{text}");
}

fn two_traits_of_one_name_are_told_apart(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\npub mod a { pub trait Go {\nfn go(&self) {} } }\n\
         pub mod b { pub trait Go { fn go(&self) {} } }\n\
         pub struct T; impl a::Go for T {\nfn go(&self) {} }\n\
         pub struct U; impl b::Go for U {\nfn go(&self) {} }\n\
         pub fn via(x: &dyn a::Go) { x.go() }\n\
         pub fn two(x: &dyn b::Go) { x.go() }\n",
    );
    assert_eq!(
        judged.final_uses("src/lib.rs:2"),
        ["src/lib.rs:5 binding confirmed src/lib.rs:2 interface", "src/lib.rs:8 call confirmed src/lib.rs:2"]
    );
    judged.check_callers(&[(
        "src/lib.rs:7",
        &["src/lib.rs:8 call refuted -", "src/lib.rs:9 call confirmed src/lib.rs:7 interface"],
    )]);
}

fn a_trait_of_another_crate_may_have_the_name_of_one_of_ours(judged: &JudgedProject) {
    judged.write_files(
        "--- src/lib.rs\npub mod own { pub trait Iterator { fn next(&mut self) -> Option<u8>; } }\n\
         pub struct A; impl std::iter::Iterator for A { type Item = u8;\nfn next(&mut self) -> Option<u8> { None } }\n\
         pub struct B; impl own::Iterator for B {\nfn next(&mut self) -> Option<u8> { None } }\n\
         pub fn theirs(it: &mut dyn std::iter::Iterator<Item = u8>) { it.next(); }\n\
         pub fn ours(it: &mut dyn own::Iterator) { it.next(); }\n",
    );
    let (answer, text) = judged.until_final("find_callers", json!({"name": "src/lib.rs:5"}));
    assert_eq!(sites(&answer), ["src/lib.rs:7 call confirmed src/lib.rs:5 interface"], "{text}");
    let (_, text) = judged.stays_open("find_callers", "src/lib.rs:3");
    assert!(text.contains("A::next may be used through Iterator, which the project does not define"), "{text}");
}

#[test]
fn only_what_implements_an_interface_of_go_is_called_through_it() {
    let Some(judged) = projects::go() else { return };
    judged.write(
        "main.go",
        "package main\n\ntype One interface{ Run() int }\ntype Two interface {\n\tRun() int\n\tStop()\n}\n\
         type A struct{}\nfunc (A) Run() int { return 1 }\n\
         type B struct{}\nfunc (B) Run() int { return 2 }\nfunc (B) Stop() {}\n\
         func one(x One) int { return x.Run() }\nfunc two(x Two) int { return x.Run() }\n\
         func main() { one(A{}); two(B{}); A{}.Run() }\n",
    );
    expect![[r#"
        A.Run final
          main.go:13 call confirmed main.go:9 interface
          main.go:14 call refuted -
          main.go:15 call confirmed main.go:9
        B.Run final
          main.go:13 call confirmed main.go:11 interface
          main.go:14 call confirmed main.go:11 interface
          main.go:15 call refuted -
    "#]]
    .assert_eq(&judged.callers(&["A.Run", "B.Run"]));
}
