//! Functions and values that JavaScript declares by an assignment to a member.

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
    expect![[""]].assert_eq(&text);
    let symbols = answer["files"][0]["symbols"].as_array().unwrap();
    let names: Vec<String> = symbols
        .iter()
        .map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    expect![[""]].assert_eq(&names.join("\n"));
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
    expect![[""]].assert_eq(&said.concat());
    for name in ["alias", "later"] {
        assert!(worktree.ask("show_definition", json!({"name": name})).is_err(), "{name}");
    }
}

#[test]
fn their_callers_are_judged() {
    let Some(judged) = projects::javascript() else { return };
    judged.write("lib/response.js", RESPONSE).write("lib/utils.js", UTILS).write(
        "main.js",
        "const res = require('./lib/response');\nres.send('a');\nres.links([]);\nres.type('b');\nconst other = { send() {} };\nother.send();\n",
    );
    let said =
        ["res.send", "res.links", "res.type", "View.prototype.resolve"].map(|name| judged.told("find_callers", name));
    expect![[""]].assert_eq(&said.concat());
}
