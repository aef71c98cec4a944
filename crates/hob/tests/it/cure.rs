//! The Cure compiler's tools, resources and prompts through a client of `hob mcp --profile cure`.

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject};

use crate::fresh;

fn connected(project: &TestProject) -> McpPeer {
    let mut peer = project.mcp(&["--profile", "cure"]);
    peer.initialize();
    peer
}

fn names(list: &Value, of: &str) -> String {
    list.as_array().unwrap().iter().map(|one| one[of].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_profile_has_what_the_compiler_offers_and_nothing_else() {
    let project = fresh();
    let mut peer = connected(&project);
    assert_eq!(
        names(&peer.result("tools/list", json!({}))["tools"], "name"),
        "analyze_fsm check_project compile_cure format_cure generate_tests get_ast get_examples get_stdlib_docs \
         get_syntax_help parse_cure run_cure type_check_cure validate_syntax"
    );
    let prompts = peer.result("prompts/list", json!({}));
    assert_eq!(names(&prompts["prompts"], "name"), "cure_fix_errors cure_write_module cure_write_state_machine");
    let uris = names(&peer.result("resources/list", json!({}))["resources"], "uri");
    for uri in ["cure://syntax/fsm", "cure://std/Std.List", "cure://examples/turnstile"] {
        assert!(uris.split(' ').any(|known| known == uri), "{uri} is not in {uris}");
    }
    let id = peer.request("resources/read", json!({"uri": "cure://std/Std.Nothing"}));
    assert_eq!(peer.response(id)["error"]["code"], -32002);
    let asked = json!({
        "ref": {"type": "ref/resource", "uri": "cure://std/{module}"},
        "argument": {"name": "module", "value": "std.l"},
    });
    assert_eq!(peer.result("completion/complete", asked)["completion"]["values"], json!(["Std.List"]));
}

/// Cancelled runs free their slots, and the daemon answers while they run.
#[test]
fn a_run_that_goes_on_forever_can_be_cancelled() {
    let project = fresh();
    project.write("hob.toml", "[cure]\nrun = true\nrun_steps = 1000000000000\nrun_seconds = 3600\n");
    let mut peer = connected(&project);
    let forever = "module T do\n  def main(): Int = forever(0)\n  def forever(n: Int): Int = forever(n + 1)\nend\n";
    let runs: Vec<i64> = (0..8).map(|_| peer.start_call("run_cure", json!({"code": forever}))).collect();
    assert!(peer.call("validate_syntax", json!({"code": forever})).text.contains("valid"));
    for id in runs {
        peer.notify("notifications/cancelled", json!({"requestId": id}));
    }
    let code = "module T do\n  def main(): Int = 6 * 7\nend\n";
    let answer = peer.call("run_cure", json!({"code": code}));
    assert!(answer.text.contains("⇒ 42"), "{}", answer.text);
}
