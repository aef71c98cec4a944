//! Conclusions from the receiver of a call and the object of a member access: new objects, locals initialized with them,
//! objects of sibling classes, copies of fields, functions held by properties.

use expect_test::expect;

use crate::judged_project::JudgedProject;
use crate::projects;

#[test]
fn classes_beside_ours() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- job.ts\nclass Job { private kept = 1; setup() {} run() { this.setup(); } }\n\
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
    .assert_eq(&judged.callers(&["Mail.setup"]));
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- job.py\nclass Job:\n    def setup(self): pass\n\
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
    .assert_eq(&judged.callers(&["Mail.setup"]));
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
    judged.check_callers(&[
        ("Circle.area", &["geo.ts:4 call confirmed geo.ts:3 interface", "geo.ts:5 call refuted -"]),
        ("Circle.title", &["geo.ts:1 call confirmed geo.ts:3 interface"]),
    ]);
    // Copies of fields, and functions that properties hold.
    judged.write_files(
        "--- user.ts\nclass User { private kept = 1; constructor(public name: string) {} load() {} }\n\
         class Fake { private own = 2; load = (id: string) => id; }\n\
         const user = new User('a');\nconst row = { name: user.name };\nrow.name;\nnew Fake().load('x');\nuser.load();\n\
         const api = { fetch: (id: string) => id };\n['a'].map(api.fetch);\nconst { fetch } = api;\n",
    );
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
    .assert_eq(&(judged.uses(&["User.name"]) + &judged.callers(&["User.load", "user.ts:fetch"])));
}

#[test]
fn functions_that_cpp_is_given() {
    let Some(judged) = projects::c(&["uses.cpp"]) else { return };
    judged.write_files(
        "--- geo.hpp\nstruct Task { Task(void (*run)()); };\nstruct Opts { Opts(int most); };\n\
         struct Outer { struct Inner; };\nstruct Outer::Inner { int deep() { return 1; } };\n\
         #define API __attribute__((visibility(\"default\")))\n\
         class API Button { public: int clicks() { return count; } int count = 0; };\n\
         --- uses.cpp\n#include \"geo.hpp\"\nvoid worker();\nint limit();\n\
         int run(Outer::Inner& i, Button& b) {\n  Task t(worker);\n  Opts o(limit());\n  return i.deep() + b.clicks();\n}\n",
    );
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
    .assert_eq(&judged.callers(&["worker", "limit", "Inner::deep", "Button::clicks"]));
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
    expect![[r#"
        Stack.Put open
          geo.go:13 call undecided -
        Pair.Swap open
          geo.go:15 call confirmed geo.go:11
    "#]]
    .assert_eq(&judged.callers(&["Stack.Put", "Pair.Swap"]));
}

pub(crate) fn names_of_rust_that_modules_and_traits_share(judged: &JudgedProject) {
    judged.write_files(
        "--- src/parse.rs\n\
         pub fn parse(_: &str) -> u8 { 1 }\npub struct Parser;\nimpl Parser { pub fn parse(&self) -> u8 { 2 } }\n\
         --- src/lib.rs\npub mod parse;\npub fn conv<T>(x: T) -> T { x }\npub struct One;\n\
         impl<'a> IntoIterator for &'a One {\n    type Item = u8;\n    type IntoIter = std::vec::IntoIter<u8>;\n    fn into_iter(self) -> Self::IntoIter { vec![].into_iter() }\n}\n\
         pub fn all() -> u8 {\n    let n: u8 = \"3\".parse().unwrap();\n    println!(\"{}\", conv::<u8>(n));\n    parse::parse(\"x\") + parse::Parser.parse()\n}\n",
    );
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
    .assert_eq(&judged.callers(&["parse::parse", "Parser::parse", "conv"]));
}

#[test]
fn what_is_made_by_a_constructor() {
    let Some(judged) = projects::typescript() else { return };
    judged.write_files(
        "--- job.ts\nclass Job { constructor(public name: string) {} go() {} }\n\
         class Mail extends Job { override go() {} }\n\
         class Sms extends Job { constructor(to: string) { super(to); } }\n\
         const job = new Job('a');\njob.go();\nnew Job('b').go();\nnew Sms('c').go();\nnew Mail('d').go();\n\
         function any(job: Job) { job.go(); }\n",
    );
    expect![[r#"
        Mail.go final
          job.ts:5 call refuted -
          job.ts:6 call refuted -
          job.ts:7 call refuted -
          job.ts:8 call confirmed job.ts:2
          job.ts:9 call confirmed job.ts:2 interface
    "#]]
    .assert_eq(&judged.callers(&["Mail.go"]));
}

#[test]
fn what_a_module_of_commonjs_gives() {
    let Some(judged) = projects::javascript() else { return };
    judged.write_files(
        "--- job.js\nclass Job { go() {} static make() {} }\nclass Mail extends Job { go() {} static make() {} }\n\
         class Plain { go() {} }\nmodule.exports = { Job, Mail, Plain };\n\
         --- main.js\nconst { Job, Mail, Plain } = require('./job');\nconst lib = require('./job');\n\
         new Job().go();\nconst job = new Job();\njob.go();\nnew lib.Job().go();\nJob.make();\nnew Mail().go();\n\
         new Plain().go();\n",
    );
    expect![[r#"
        Mail.go final
          main.js:3 call refuted -
          main.js:5 call refuted -
          main.js:6 call refuted -
          main.js:8 call confirmed job.js:2
          main.js:9 call refuted -
        Mail.make final
          main.js:7 call refuted -
        Plain.go final
          main.js:3 call refuted -
          main.js:5 call refuted -
          main.js:6 call refuted -
          main.js:8 call refuted -
          main.js:9 call confirmed job.js:3
    "#]]
    .assert_eq(&judged.callers(&["Mail.go", "Mail.make", "Plain.go"]));
}

#[test]
fn what_a_local_of_python_is_made_as() {
    let Some(judged) = projects::python() else { return };
    judged.write_files(
        "--- job.py\nclass Job:\n    def go(self): pass\n\nclass Mail(Job):\n    def go(self): pass\n\n\
         def one():\n    job = Job()\n    job.go()\n\n\
         def two(mail):\n    job = Job()\n    if mail:\n        job = Mail()\n    job.go()\n\n\
         def three(job: Job):\n    job.go()\n",
    );
    expect![[r#"
        Mail.go final
          job.py:9 call refuted -
          job.py:15 call confirmed job.py:5 interface
          job.py:18 call confirmed job.py:5 interface
    "#]]
    .assert_eq(&judged.callers(&["Mail.go"]));
}

#[test]
fn objects_of_classes_beside_ours_in_cpp() {
    let Some(judged) = projects::c(&["job.cpp"]) else { return };
    judged.write(
        "job.cpp",
        "struct Job { virtual int go() { return 1; } };\nstruct Mail : Job { int go() override { return 2; } };\n\
         struct Sms : Job { int extra() { return 3; } };\nstruct Both : Mail {};\n\
         int a(Sms &s) { return s.go(); }\nint b(Sms &s) { return s.extra(); }\n\
         int c(Sms *s) { return s->go(); }\nint d(Job &j) { return j.go(); }\nint e(Both &b) { return b.go(); }\n\
         struct Shared : virtual Job { int go() override { return 4; } };\n",
    );
    expect![[r#"
        Mail::go final
          job.cpp:5 call confirmed job.cpp:2 interface
          job.cpp:7 call confirmed job.cpp:2 interface
          job.cpp:8 call confirmed job.cpp:2 interface
          job.cpp:9 call confirmed job.cpp:2
        Shared::go final
          job.cpp:5 call confirmed job.cpp:10 interface
          job.cpp:7 call confirmed job.cpp:10 interface
          job.cpp:8 call confirmed job.cpp:10 interface
          job.cpp:9 call refuted -
    "#]]
    .assert_eq(&judged.callers(&["Mail::go", "Shared::go"]));
}

#[test]
fn a_class_that_a_module_chooses() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write("base.js", "class Store { constructor(x) {} save() {} }\nmodule.exports = Store;\n")
        .write("redis.js", "const Store = require('./base');\nclass Redis extends Store { save() {} }\nmodule.exports = Redis;\n")
        .write("pick.js", "const Store = require('./base');\nconst Redis = require('./redis');\nmodule.exports = process.env.R ? Redis : Store;\n")
        .write("again.js", "let Store = require('./base');\nif (process.env.R) Store = require('./redis');\nmodule.exports = { Store };\n")
        .write(
            "main.js",
            "const Pick = require('./pick');\nconst { Store } = require('./again');\nlet Own = require('./base');\n\
             if (process.env.R) Own = require('./redis');\nnew Pick(1).save();\nnew Store(2).save();\nconst own = new Own(3);\n\
             own.save();\nnew Own(4).save();\n",
        );
    expect![[r#"
        Redis.save final
          main.js:5 call confirmed redis.js:2 interface
          main.js:6 call confirmed redis.js:2 interface
          main.js:8 call confirmed redis.js:2 interface
          main.js:9 call confirmed redis.js:2 interface
    "#]]
    .assert_eq(&judged.callers(&["Redis.save"]));
}

#[test]
fn what_may_lead_to_objects_of_ours_in_cpp() {
    let Some(judged) = projects::c(&["job.cpp"]) else { return };
    judged.write_files(
        "--- job.cpp\nstruct Job { virtual int go() { return 1; } };\nstruct Sms : Job {};\n\
         struct Mail : Job { int go() override { return 2; } };\nusing Plain = Sms;\n\
         struct Tel : Plain { int go() override { return 3; } };\nstruct Ref { Job *job; Job *operator->() { return job; } };\n\
         int a(Ref r) { return r->go(); }\nint b(Sms &s) { return s.go(); }\n",
    );
    expect![[r#"
        Mail::go final
          job.cpp:7 call confirmed job.cpp:3 interface
          job.cpp:8 call refuted -
        Tel::go open
          job.cpp:7 call confirmed job.cpp:5 interface
          job.cpp:8 call confirmed job.cpp:5 interface
    "#]]
    .assert_eq(&judged.callers(&["Mail::go", "Tel::go"]));
}
