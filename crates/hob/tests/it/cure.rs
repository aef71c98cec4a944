//! The Cure compiler's tools, resources and prompts through a client of `hob mcp --profile cure`, including odd input.

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject};

use crate::fresh;

fn connected(project: &TestProject) -> McpPeer {
    let mut peer = project.mcp(&["--profile", "cure"]);
    peer.initialize();
    peer
}

fn names(list: &Value, of: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one[of].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_profile_has_the_tools_of_the_compiler_and_no_others() {
    let project = fresh();
    let tools = connected(&project).result("tools/list", json!({}));
    assert_eq!(names(&tools["tools"], "name"), TOOLS);
}

/// The tools in the order of their list.
const TOOLS: &[&str] = &[
    "analyze_fsm",
    "check_project",
    "compile_cure",
    "format_cure",
    "generate_tests",
    "get_ast",
    "get_examples",
    "get_stdlib_docs",
    "get_syntax_help",
    "parse_cure",
    "run_cure",
    "type_check_cure",
    "validate_syntax",
];

/// Writes the files and runs the commands of the documentation page.
#[test]
fn the_page_can_be_typed_along() {
    let page = include_str!("../../../../docs/guide/cure.md");
    let project = fresh();
    let mut blocks = page.split("```");
    let mut said = Vec::new();
    while let (Some(before), Some(block)) = (blocks.next(), blocks.next()) {
        let (kind, text) = block.split_once('\n').expect("a block has lines");
        if kind == "cure" {
            let name = before.rsplit('`').nth(1).expect("the file is named before the block");
            project.write(name, text);
            continue;
        }
        for line in text.lines() {
            let output = project.command("sh").args(["-c", line]).output().expect("a shell");
            let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            let command = line.split(" #").next().unwrap_or(line).trim_end();
            said.push(format!("$ {command} [{}]\n{}", output.status.code().expect("an exit code"), text.trim_end()));
        }
        break;
    }
    expect_test::expect![[r#"
        $ hob cure check shapes.cure [0]
        1 file checked: no errors
        $ hob cure run shapes.cure [0]
        9
        $ hob cure run shapes.cure --function area 'Square(0)' [1]
        error: invalid arguments for area
          0 does not fit Positive
        $ hob cure fmt shapes.cure [0]

        $ hob cure build shapes.cure [0]
        6 BEAM files in _build/cure, 6 changed
        erl -noshell -pa '_build/cure' -eval "cure_main:run('Shapes')."
        $ hob cure fsm lamp.cure [1]
        lamp.cure: Bulb starts in Off
          states: Off, On, Broken
          deadlock: the state Broken of Bulb has no exit and is not terminal
            Off --press--> On --burn--> Broken
        error: 1 fault in state machines
        $ hob cure fsm --mermaid lamp.cure [0]
        stateDiagram-v2
            [*] --> Off
            Off --> On : press
            On --> Off : press
            On --> Broken : burn
        $ hob cure check [1]
        fault[C0603]: the state Broken of Bulb has no exit and is not terminal
         --> lamp.cure:5:5
          |
        5 |     On --> |burn| Broken
          |     ^^^^^^^^^^^^^^^^^^^^
          |
          = help: the way there: Off --press--> On --burn--> Broken

        error: 1 fault in state machines, in 2 files"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn hob_cure_run_has_the_limits_that_its_page_promises() {
    let project = fresh();
    let said = |limits: &str, function: &str| {
        project.write("hob.toml", &format!("[cure]\n{limits}\n"));
        let ran = project.run(["cure", "run", "t.cure", "--function", function]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.stderr
    };
    project.write(
        "t.cure",
        "module T do\n  def forever(): Int = count(0)\n  def count(n: Int): Int = count(n + 1)\n  def much(): String = double(\"x\")\n  \
         def double(s: String): String = double(s <> s)\nend\n",
    );
    let all =
        [said("run_steps = 1000", "forever"), said("run_seconds = 1", "forever"), said("run_memory = 1048576", "much")];
    expect_test::expect![[r#"
        error: the run was ended: more than 1000 steps
          `run_steps` under `[cure]` in hob.toml, or in your own config.toml, sets that limit.
        error: the run was ended: more than 1 seconds
          `run_seconds` under `[cure]` in hob.toml, or in your own config.toml, sets that limit.
        error: the run was ended: more than 1048576 bytes of memory
          `run_memory` under `[cure]` in hob.toml, or in your own config.toml, sets that limit.
    "#]]
    .assert_eq(&all.concat());
}

#[test]
fn the_language_can_be_read_and_prompted_for() {
    let project = fresh();
    let mut peer = connected(&project);
    let resources = peer.result("resources/list", json!({}));
    let uris = names(&resources["resources"], "uri");
    for uri in ["cure://syntax/fsm", "cure://std/Std.List", "cure://examples/turnstile"] {
        assert!(uris.iter().any(|known| known == uri), "{uri} is not in {uris:?}");
    }
    for uri in &uris {
        let read = peer.result("resources/read", json!({"uri": uri}));
        assert!(read["contents"][0]["text"].as_str().unwrap().len() > 40, "{uri}");
    }
    let id = peer.request("resources/read", json!({"uri": "cure://std/Std.Nothing"}));
    assert_eq!(peer.response(id)["error"]["code"], -32002);
    let asked = json!({
        "ref": {"type": "ref/resource", "uri": "cure://std/{module}"},
        "argument": {"name": "module", "value": "std.l"},
    });
    assert_eq!(peer.result("completion/complete", asked)["completion"]["values"], json!(["Std.List"]));
    let prompts = peer.result("prompts/list", json!({}));
    let known = ["cure_fix_errors", "cure_write_module", "cure_write_state_machine"];
    assert_eq!(names(&prompts["prompts"], "name"), known);
    let arguments = json!({"code": "module T do\n  def f(): Int = \"x\"\nend\n"});
    let fix = peer.result("prompts/get", json!({"name": "cure_fix_errors", "arguments": arguments}));
    assert!(fix.to_string().contains("C0301: expected Int, found String"), "{fix}");
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
