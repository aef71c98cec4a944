//! Exports of CommonJS modules under any name that importers use, functions and values that JavaScript declares by
//! assigning to a member, and functions passed on by a call, a lambda or a class through their module.

use expect_test::expect;
use serde_json::json;

use crate::projects;
use crate::worktree::Worktree;

#[test]
fn what_a_module_is_as_a_whole() {
    let Some(judged) = projects::javascript() else { return };
    judged.write_files(
        "--- slug.js\nfunction slugify(s) { return s; }\nmodule.exports = slugify;\n\
         --- mailer.js\nclass Mailer { send() {} }\nmodule.exports = Mailer;\n\
         --- form.js\nmodule.exports = function format(x) { return x; };\n\
         --- lib/index.js\nmodule.exports = require('../slug');\n\
         --- lib/deep.js\nconst again = require('.');\nagain('c');\n\
         --- main.js\n\
         const toSlug = require('./slug');\nconst Mail = require('./mailer');\nconst all = { slug: require('./slug') };\n\
         toSlug('a');\nnew Mail().send();\nclass Quick extends Mail {}\nall.slug('b');\nrequire('./form')(1);\n\
         const fmt = require('./form');\nfmt(2);\n",
    );
    expect![[r#"
        slugify open
          lib/deep.js:1 import undecided -
          lib/deep.js:2 call confirmed slug.js:1
          main.js:1 import confirmed slug.js:1
          main.js:3 field_write confirmed slug.js:1
          main.js:4 call confirmed slug.js:1
          main.js:7 call confirmed slug.js:1
          slug.js:2 export confirmed slug.js:1
        Mailer final
          mailer.js:2 export confirmed mailer.js:1
          main.js:2 import confirmed mailer.js:1
          main.js:5 construct confirmed mailer.js:1
          main.js:6 type confirmed mailer.js:1
        format open
          main.js:9 import confirmed form.js:1
          main.js:10 call confirmed form.js:1
    "#]]
    .assert_eq(&judged.uses(&["slugify", "Mailer", "format"]));
}

#[test]
fn modules_that_pass_on_all_that_another_has() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write("one.js", "function deepFn(x) { return x; }\nmodule.exports = { deep: deepFn };\n")
        .write("two.js", "module.exports = { ...require('./one') };\n")
        .write("three.js", "const two = require('./two');\ntwo.deep(1);\n")
        .write("four.js", "module.exports = require('./one');\n")
        .write("five.js", "require('./four').deep(6);\n")
        .write("six.js", "const six = { deep() {} };\nsix.deep();\n");
    expect![[r#"
        deepFn final
          five.js:1 call confirmed one.js:1
          one.js:2 field_write confirmed one.js:1
          one.js:2 export confirmed one.js:1
          three.js:2 call confirmed one.js:1
    "#]]
    .assert_eq(&judged.uses(&["deepFn"]));
}

#[test]
fn names_on_both_sides() {
    let Some(judged) = projects::javascript() else { return };
    judged.write_files(
        "--- mail.js\nexports.send = function send(to) { return to; };\nfunction add() {}\nclass Acc {}\n\
         Object.assign(exports, { other: 1 });\nexports.deliver = exports.send;\n\
         module.exports.api = { add: add, Acc: Acc };\n\
         --- calc.js\nfunction sub() {}\nclass Sum {}\nmodule.exports = { sub: sub, Sum: Sum };\n\
         --- barrel.js\nmodule.exports = { Sum: require('./calc').Sum };\n\
         --- main.js\n\
         const mail = require('./mail');\nconst { send } = require('./mail');\nconst { sub } = require('./calc');\n\
         const { Sum } = require('./barrel');\nconst lib = require('./barrel');\n\
         [1].map(mail.send);\n[1].map(send);\n[1].map(sub);\nnew Sum();\nnew lib.Sum();\nclass More extends Sum {}\n",
    );
    expect![[r#"
        send final
          mail.js:1 field_write confirmed mail.js:1
          mail.js:5 value confirmed mail.js:1
          main.js:2 import confirmed mail.js:1
          main.js:6 value confirmed mail.js:1
          main.js:7 value confirmed mail.js:1
        sub final
          calc.js:3 field_write confirmed calc.js:1
          calc.js:3 export confirmed calc.js:1
          main.js:3 import confirmed calc.js:1
          main.js:8 value confirmed calc.js:1
        Sum final
          barrel.js:1 field_write confirmed calc.js:2
          barrel.js:1 value confirmed calc.js:2
          calc.js:3 field_write confirmed calc.js:2
          calc.js:3 export confirmed calc.js:2
          main.js:4 import confirmed calc.js:2
          main.js:9 construct confirmed calc.js:2
          main.js:10 construct confirmed calc.js:2
          main.js:11 type confirmed calc.js:2
    "#]]
    .assert_eq(&judged.uses(&["send", "sub", "Sum"]));
}

#[test]
fn bases_that_are_required_from_elsewhere() {
    let Some(judged) = projects::javascript() else { return };
    judged
        .write("user.js", "class User { save() {} }\nmodule.exports = User;\n")
        .write("bus.js", "const { EventEmitter } = require('events');\nclass Hub extends EventEmitter {}\n")
        .write("main.js", "const User = require('./user');\nnew User().save();\n");
    judged.check_callers(&[("User.save", &["main.js:2 call confirmed user.js:1"])]);
}

#[test]
fn what_modules_of_commonjs_export() {
    let Some(judged) = projects::typescript() else { return };
    let options = json!({"compilerOptions": {"allowJs": true, "module": "commonjs", "lib": ["es2020"]}});
    judged.write("tsconfig.json", options.to_string()).write_files(
        "--- lib.js\n\
         class Conn { open() {} }\nclass Queue {}\nfunction helper() {}\nmodule.exports = { Conn, Queue, helper };\n\
         --- uses.js\nconst lib = require('./lib');\nconst { Queue } = require('./lib');\n\
         new lib.Conn().open();\nnew Queue();\nlib['helper']();\nlib.helper();\n\
         --- log.js\nexports.info = info;\nfunction info() {}\nexports.warn = function warn() { info(); };\n\
         --- store.js\nmodule.exports = class Store { load() {} };\n\
         --- made.js\nfunction Made() {}\nmodule.exports = Made;\n\
         --- passed.js\nexports.Made = require('./made');\nexports.tell = require('./log').info;\n\
         --- more.js\nconst log = require('./log');\nconst { info } = log;\nconst Store = require('./store');\n\
         const Made = require('./made');\nconst { Made: Other } = require('./passed');\n\
         info();\nlog.info();\nlog.warn();\nnew Store().load();\nnew Made();\nnew Other();\n",
    );
    judged.check_callers(&[
        ("Conn", &["uses.js:3 construct confirmed lib.js:1"]),
        ("Queue", &["uses.js:4 construct confirmed lib.js:2"]),
        ("helper", &["uses.js:6 call confirmed lib.js:3"]),
        (
            "log.js:info",
            &[
                "log.js:3 call confirmed log.js:2",
                "more.js:2 value confirmed log.js:2",
                "more.js:6 call confirmed log.js:2",
                "more.js:7 call confirmed log.js:2",
                "passed.js:2 value confirmed log.js:2",
            ],
        ),
        ("warn", &["more.js:8 call confirmed log.js:3"]),
        ("Store", &["more.js:9 construct confirmed store.js:1"]),
        ("Made", &["more.js:10 construct confirmed made.js:1", "more.js:11 construct confirmed made.js:1"]),
    ]);
    judged
        .write("base.js", "class Base {\n  step() {}\n}\nclass Alone {\n  go() {}\n}\nmodule.exports = { Base };\nexports.Alone = Alone;\n")
        .write(
            "below.js",
            "const { Base } = require('./base');\nclass Below extends Base {\n  step() {}\n}\nnew Base().step();\n",
        );
    judged.check_callers(&[("Alone.go", &[]), ("Base.step", &["below.js:5 call confirmed base.js:2"])]);
}

const RESPONSE: &str = "\
var res = Object.create(null);
module.exports = res;

/**
 * Sends a body.
 */
res.send = function send(body) { // The body.
  return body;
};
res.links = function (links) {
  return links;
};
res.contentType =
res.type = function contentType(type) { return type; };
function View() {}
View.prototype.lookup = function lookup(name) { return this.resolve(name); };
View.prototype.resolve = (name) => name;
View.Cache = class {
  get() {}
};
";

const UTILS: &str = "\
exports.version = '1';
exports.methods = ['get'];
exports.alias = other;
exports.later = undefined;
exports.parse = function (text) { return text; };
function other() {}
module.exports = { other, stop() {}, go: () => 1 };
";

fn worktree() -> Worktree {
    Worktree::from_files(&[("lib/response.js", RESPONSE), ("lib/utils.js", UTILS)])
}

#[test]
fn the_outline_has_them_with_what_they_are_assigned_to() {
    let worktree = worktree();
    let (answer, text) = worktree.ask("outline", json!({"path": "lib"})).unwrap();
    expect![[r#"
        lib/response.js
          1  var res = Object.create(null)
          7  res.send = function send(body)
          10  res.links = function (links)
          13  res.contentType = res.type = function contentType(type)
          14  res.contentType = res.type = function contentType(type)
          15  function View()
          16  View.prototype.lookup = function lookup(name)
          17  View.prototype.resolve = (name)
          18  View.Cache = class
        lib/utils.js
          1  exports.version = '1'
          2  exports.methods = ['get']
          5  exports.parse = function (text)
          6  function other()
          7  stop()
          7  go: ()"#]]
    .assert_eq(&text);
    let symbols = answer["files"][0]["symbols"].as_array().unwrap();
    let names: Vec<String> = symbols
        .iter()
        .map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    expect![[r#"
        variable res
        function res.send
        function res.links
        function res.contentType
        function res.type
        function View
        function View.prototype.lookup
        function View.prototype.resolve
        class View.Cache"#]]
    .assert_eq(&names.join("\n"));
}

#[test]
fn they_are_defined_by_their_own_name_and_by_what_they_are_assigned_to() {
    let worktree = worktree();
    let names = [
        "res.send",
        "send",
        "res.links",
        "res.type",
        "res.contentType",
        "View.prototype.lookup",
        "View.lookup",
        "View.resolve",
        "View.Cache",
        "View.Cache.get",
        "version",
        "methods",
        "parse",
        "stop",
        "go",
    ];
    let said = names.map(|name| match worktree.ask("show_definition", json!({"name": name})) {
        Ok((_, text)) => format!("{name}: {text}\n"),
        Err(refused) => format!("{name}: {refused}\n"),
    });
    expect![[r#"
        res.send: lib/response.js:7-9 function res.send
        > Sends a body.
        res.send = function send(body) { // The body.
          return body;
        };
        send: lib/response.js:7-9 function res.send
        > Sends a body.
        res.send = function send(body) { // The body.
          return body;
        };
        res.links: lib/response.js:10-12 function res.links
        res.links = function (links) {
          return links;
        };
        res.type: lib/response.js:14-14 function res.type
        res.contentType =
        res.type = function contentType(type) { return type; };
        res.contentType: lib/response.js:13-14 function res.contentType
        res.contentType =
        res.type = function contentType(type) { return type; };
        View.prototype.lookup: lib/response.js:16-16 function View.prototype.lookup
        View.prototype.lookup = function lookup(name) { return this.resolve(name); };
        View.lookup: lib/response.js:16-16 function View.prototype.lookup
        View.prototype.lookup = function lookup(name) { return this.resolve(name); };
        View.resolve: lib/response.js:17-17 function View.prototype.resolve
        View.prototype.resolve = (name) => name;
        View.Cache: lib/response.js:18-20 class View.Cache
        View.Cache = class {
          get() {}
        };
        View.Cache.get: lib/response.js:19-19 method View.Cache.get
        get() {}
        version: lib/utils.js:1-1 variable version
        exports.version = '1';
        methods: lib/utils.js:2-2 variable methods
        exports.methods = ['get'];
        parse: lib/utils.js:5-5 function parse
        exports.parse = function (text) { return text; };
        stop: lib/utils.js:7-7 method stop
        stop() {}
        go: lib/utils.js:7-7 method go
        go: () => 1
    "#]]
    .assert_eq(&said.concat());
    for name in ["alias", "later"] {
        assert!(worktree.ask("show_definition", json!({"name": name})).is_err(), "{name}");
    }
}

#[test]
fn their_callers_are_judged() {
    let Some(judged) = projects::javascript() else { return };
    judged.write("lib/response.js", RESPONSE.replace("Object.create(null)", "{}")).write("lib/utils.js", UTILS).write(
        "main.js",
        "const res = require('./lib/response');\nres.send('a');\nres.links([]);\nres.type('b');\nconst other = { send() {} };\nother.send();\n",
    );
    expect![[r#"
        res.send final
          main.js:2 call confirmed lib/response.js:7
          main.js:6 call refuted -
        res.links final
          lib/response.js:11 value refuted -
          main.js:3 call confirmed lib/response.js:10
        res.type final
          lib/response.js:14 value refuted -
          main.js:4 call confirmed lib/response.js:14
        View.prototype.resolve open
          lib/response.js:16 call undecided -
    "#]]
    .assert_eq(&judged.callers(&["res.send", "res.links", "res.type", "View.prototype.resolve"]));
}

#[test]
fn what_a_call_makes() {
    let Some(judged) = projects::javascript() else { return };
    judged.write_files(
        "--- users.js\nconst wrapped = require('./wrapped');\nexports.list = wrapped(() => 1);\n\
         const remove = wrapped(() => 2);\nmodule.exports.remove = remove;\n\
         --- wrapped.js\nmodule.exports = (f) => f;\n\
         --- routes.js\nconst users = require('./users');\n[1].map(users.list);\n[2].map(users.remove);\n",
    );
    judged.check_callers(&[
        ("list", &["routes.js:2 value confirmed users.js:2"]),
        ("remove", &["routes.js:3 value confirmed users.js:3"]),
    ]);
    let Some(judged) = projects::python() else { return };
    judged
        .write("geo.py", "class Circle: pass\n\nhook = lambda x: x\n")
        .write("main.py", "import geo\n\nlist(map(geo.hook, [1]))\nlist(map(geo.Circle, []))\ngeo.Circle()\n");
    judged.check_callers(&[
        ("hook", &["main.py:3 value confirmed geo.py:3"]),
        ("Circle", &["main.py:4 value confirmed geo.py:1", "main.py:5 construct confirmed geo.py:1"]),
    ]);
    let Some(judged) = projects::go() else { return };
    judged.write("geo/geo.go", "package geo\n\nvar Hook = func(x int) int { return x }\n").write(
        "main.go",
        "package main\n\nimport \"made/geo\"\n\nvar all = []func(int) int{geo.Hook}\n\nfunc main() {}\n",
    );
    judged.check_callers(&[("Hook", &["main.go:5 value confirmed geo/geo.go:3"])]);
}

#[test]
fn attributes_that_a_test_makes_first() {
    let Some(judged) = projects::python() else { return };
    judged.write(
        "test_geo.py",
        "class TestGeo:\n    def setUp(self):\n        self.box = 1\n\n    def test_box(self):\n        assert self.box\n",
    );
    judged.check_uses(&[("TestGeo.box", &["test_geo.py:6 field_read confirmed test_geo.py:3"])]);
}

#[test]
fn a_default_export_that_a_namespace_is_asked_for() {
    let Some(judged) = projects::typescript() else { return };
    judged
        .write("m.ts", "export const konst = () => 2;\nexport default konst;\n")
        .write("o.ts", "export const other = () => 2;\nexport default other;\n")
        .write("n.ts", "import * as m from './m';\nimport * as o from './o';\nexport const z = m.default();\nexport const y = o.other();\n")
        .write("p.ts", "import * as o from './o';\nexport const y = o.other();\n");
    expect![[r#"
        konst open
          m.ts:2 export confirmed m.ts:1
        other final
          n.ts:4 call confirmed o.ts:1
          o.ts:2 export confirmed o.ts:1
          p.ts:2 call confirmed o.ts:1
    "#]]
    .assert_eq(&judged.uses(&["konst", "other"]));
}
