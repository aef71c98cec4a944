//! Calls whose receiver excludes overrides: new objects, locals initialized with them, objects of sibling classes.

use expect_test::expect;

use crate::projects;

#[test]
fn what_is_made_by_a_constructor() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "job.ts",
        "class Job { constructor(public name: string) {} go() {} }\n\
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
    .assert_eq(&judged.verdicts("find_callers", "Mail.go"));
}

#[test]
fn what_a_module_of_commonjs_gives() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write(
            "job.js",
            "class Job { go() {} static make() {} }\nclass Mail extends Job { go() {} static make() {} }\n\
             class Plain { go() {} }\nmodule.exports = { Job, Mail, Plain };\n",
        )
        .write(
            "main.js",
            "const { Job, Mail, Plain } = require('./job');\nconst lib = require('./job');\n\
             new Job().go();\nconst job = new Job();\njob.go();\nnew lib.Job().go();\nJob.make();\nnew Mail().go();\n\
             new Plain().go();\n",
        );
    let said = ["Mail.go", "Mail.make", "Plain.go"].map(|name| judged.verdicts("find_callers", name));
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
    .assert_eq(&said.concat());
}

#[test]
fn what_a_local_of_python_is_made_as() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "job.py",
        "class Job:\n    def go(self): pass\n\nclass Mail(Job):\n    def go(self): pass\n\n\
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
    .assert_eq(&judged.verdicts("find_callers", "Mail.go"));
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
    let said = ["Mail::go", "Shared::go"].map(|name| judged.verdicts("find_callers", name));
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
    .assert_eq(&said.concat());
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
    .assert_eq(&judged.verdicts("find_callers", "Redis.save"));
}

#[test]
fn what_may_lead_to_objects_of_ours_in_cpp() {
    let Some(judged) = projects::c(&["job.cpp"]) else { return };
    judged.write(
        "job.cpp",
        "struct Job { virtual int go() { return 1; } };\nstruct Sms : Job {};\n\
         struct Mail : Job { int go() override { return 2; } };\nusing Plain = Sms;\n\
         struct Tel : Plain { int go() override { return 3; } };\nstruct Ref { Job *job; Job *operator->() { return job; } };\n\
         int a(Ref r) { return r->go(); }\nint b(Sms &s) { return s.go(); }\n",
    );
    let said = ["Mail::go", "Tel::go"].map(|name| judged.verdicts("find_callers", name));
    expect![[r#"
        Mail::go final
          job.cpp:7 call confirmed job.cpp:3 interface
          job.cpp:8 call refuted -
        Tel::go open
          job.cpp:7 call confirmed job.cpp:5 interface
          job.cpp:8 call confirmed job.cpp:5 interface
    "#]]
    .assert_eq(&said.concat());
}
