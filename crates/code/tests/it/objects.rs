//! Conclusions from the object of a member access: unrelated classes, copies of fields, functions held by properties.

use expect_test::expect;

use crate::judged_project::JudgedProject;
use crate::projects;

#[test]
fn classes_beside_ours() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "job.ts",
        "class Job { private kept = 1; setup() {} run() { this.setup(); } }\n\
         class Mail extends Job { private m = 1; override setup() {} }\n\
         class Sms extends Job {\n  private s = 1;\n  send() { this.setup(); }\n}\n\
         function any(job: Job) { job.setup(); }\nfunction sms(job: Sms) { job.setup(); }\n",
    );
    expect![[r#"
        Mail.setup final
          job.ts:1 call confirmed job.ts:2 interface
          job.ts:5 call refuted -
          job.ts:7 call confirmed job.ts:2 interface
          job.ts:8 call refuted -
    "#]]
    .assert_eq(&judged.verdicts("find_callers", "Mail.setup"));
    let Some(judged) = projects::python() else { return };
    judged.write(
        "job.py",
        "class Job:\n    def setup(self): pass\n\
         class Mail(Job):\n    def setup(self): pass\n\
         class Sms(Job):\n    def send(self): self.setup()\n\
         class Other(Job): pass\n\
         class Both(Mail, Other): pass\n\n\
         def any(job: Job): job.setup()\n\
         def sms(job: Sms): job.setup()\n\
         def other(job: Other): job.setup()\n",
    );
    expect![[r#"
        Mail.setup final
          job.py:6 call refuted -
          job.py:10 call confirmed job.py:4 interface
          job.py:11 call refuted -
          job.py:12 call confirmed job.py:4 interface
    "#]]
    .assert_eq(&judged.verdicts("find_callers", "Mail.setup"));
}

#[test]
fn objects_of_classes_beside_ours() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "geo.ts",
        "abstract class Shape { abstract area(): number; title = (s: string) => s; run() { this.title('a'); } }\n\
         class Square extends Shape { constructor(readonly side: number) { super(); } area() { return 1; } }\n\
         class Circle extends Shape { constructor(readonly r: number) { super(); } area() { return 2; } override title = (s: string) => s + '!'; }\n\
         function any(s: Shape) { s.area(); }\nnew Square(1).area();\ntype Round = Circle;\n",
    );
    let said = ["Circle.area", "Circle.title"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        Circle.area final
          geo.ts:4 call confirmed geo.ts:3 interface
          geo.ts:5 call refuted -
        Circle.title final
          geo.ts:1 call confirmed geo.ts:3 interface
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn copies_and_functions_of_properties() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "user.ts",
        "class User { private kept = 1; constructor(public name: string) {} load() {} }\n\
         class Fake { private own = 2; load = (id: string) => id; }\n\
         const user = new User('a');\nconst row = { name: user.name };\nrow.name;\nnew Fake().load('x');\nuser.load();\n\
         const api = { fetch: (id: string) => id };\n['a'].map(api.fetch);\nconst { fetch } = api;\n",
    );
    let said = [("find_uses", "User.name"), ("find_callers", "User.load"), ("find_callers", "user.ts:fetch")];
    expect![[r#"
        User.name final
          user.ts:4 field_write refuted -
          user.ts:4 field_read confirmed user.ts:1
          user.ts:5 field_read refuted -
        User.load final
          user.ts:6 call refuted -
          user.ts:7 call confirmed user.ts:1
        user.ts:fetch final
          user.ts:9 value confirmed user.ts:8
          user.ts:10 value confirmed user.ts:8
    "#]]
    .assert_eq(&said.map(|(tool, name)| judged.verdicts(tool, name)).concat());
}

#[test]
fn functions_that_cpp_is_given() {
    let Some(judged) = projects::c(&["uses.cpp"]) else { return };
    judged
        .write(
            "geo.hpp",
            "struct Task { Task(void (*run)()); };\nstruct Opts { Opts(int most); };\n\
             struct Outer { struct Inner; };\nstruct Outer::Inner { int deep() { return 1; } };\n\
             #define API __attribute__((visibility(\"default\")))\n\
             class API Button { public: int clicks() { return count; } int count = 0; };\n",
        )
        .write(
            "uses.cpp",
            "#include \"geo.hpp\"\nvoid worker();\nint limit();\n\
             int run(Outer::Inner& i, Button& b) {\n  Task t(worker);\n  Opts o(limit());\n  return i.deep() + b.clicks();\n}\n",
        );
    let callers =
        ["worker", "limit", "Inner::deep", "Button::clicks"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        worker final
          uses.cpp:5 value confirmed uses.cpp:2
        limit final
          uses.cpp:6 call confirmed uses.cpp:3
        Inner::deep final
          uses.cpp:7 call confirmed geo.hpp:4
        Button::clicks open
          uses.cpp:7 call undecided -
    "#]]
    .assert_eq(&callers.concat());
}

#[test]
fn interfaces_of_go_with_type_parameters() {
    let Some(judged) = projects::go() else { return };
    judged.write(
        "geo.go",
        "package made\n\ntype Sink[T any] interface{ Put(x T) }\n\ntype Stack[T any] struct{ all []T }\n\n\
         func (s *Stack[T]) Put(x T) { s.all = append(s.all, x) }\n\ntype Pair[K comparable, V any] struct{}\n\n\
         func (p Pair[K, V]) Swap() {}\n\nfunc fill[T any](s Sink[T], x T) { s.Put(x) }\n\n\
         func run() { Pair[int, int]{}.Swap() }\n",
    );
    let said = ["Stack.Put", "Pair.Swap"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        Stack.Put open
          geo.go:13 call undecided -
        Pair.Swap open
          geo.go:15 call confirmed geo.go:11
    "#]]
    .assert_eq(&said.concat());
}

pub(crate) fn names_of_rust_that_modules_and_traits_share(judged: &JudgedProject) {
    judged
        .write(
            "src/parse.rs",
            "pub fn parse(_: &str) -> u8 { 1 }\npub struct Parser;\nimpl Parser { pub fn parse(&self) -> u8 { 2 } }\n",
        )
        .write(
            "src/lib.rs",
            "pub mod parse;\npub fn conv<T>(x: T) -> T { x }\npub struct One;\n\
             impl<'a> IntoIterator for &'a One {\n    type Item = u8;\n    type IntoIter = std::vec::IntoIter<u8>;\n    fn into_iter(self) -> Self::IntoIter { vec![].into_iter() }\n}\n\
             pub fn all() -> u8 {\n    let n: u8 = \"3\".parse().unwrap();\n    println!(\"{}\", conv::<u8>(n));\n    parse::parse(\"x\") + parse::Parser.parse()\n}\n",
        );
    let said = ["parse::parse", "Parser::parse", "conv"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        parse::parse final
          src/lib.rs:10 call refuted -
          src/lib.rs:12 call confirmed src/parse.rs:1
          src/lib.rs:12 call refuted -
        Parser::parse final
          src/lib.rs:10 call refuted -
          src/lib.rs:12 call refuted -
          src/lib.rs:12 call confirmed src/parse.rs:3
        conv final
          src/lib.rs:11 call confirmed src/lib.rs:2
    "#]]
    .assert_eq(&said.concat());
}
