//! Functions and values that JavaScript declares by assigning to a member.

use expect_test::expect;
use serde_json::json;

use crate::projects;
use crate::worktree::Worktree;

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
    let worktree = Worktree::new();
    worktree.write("lib/response.js", RESPONSE).write("lib/utils.js", UTILS);
    worktree
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
    let said = ["res.send", "res.links", "res.type", "View.prototype.resolve"]
        .map(|name| judged.verdicts("find_callers", name));
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
    .assert_eq(&said.concat());
}
