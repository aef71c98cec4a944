//! Clients of Tidepool's control server: its messages as a first line, and its socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};
use testkit::TestProject;

use super::{DENIES, with_daemon};

/// Sends one message and returns the answer, after which the daemon closes the connection.
fn send(socket: &Path, message: &Value) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(format!("{message}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with('\n') && answer.matches('\n').count() == 1, "{answer:?}");
    serde_json::from_str(&answer).unwrap()
}

fn event(name: &str, command: &str) -> Value {
    json!({"type": "HookEvent", "input": {"session_id": "s", "hook_event_name": name, "transcript_path": "", "cwd": "",
        "permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": command}}})
}

#[test]
fn its_messages_are_answered_in_their_form() {
    let project = with_daemon();
    project.write("hob-policy.toml", DENIES);
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).ok()).unwrap();
    let socket = Path::new(status["daemon"]["socket"].as_str().unwrap());
    assert_eq!(send(socket, &json!({"type": "Ping"})), json!({"type": "Pong"}));
    let tools = send(socket, &json!({"type": "ToolsListRequest"}))["tools"].take();
    let tools = tools.as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["tdName"].as_str().unwrap()).collect();
    let expected = "confirm_action exo_reconstitute exo_status find_callers request_guidance scout select_option \
                    show_constructors show_fields teach-graph";
    assert_eq!(names.join(" "), expected);
    assert!(tools.iter().all(|tool| tool["tdInputSchema"]["type"] == "object"));
    // Events that this server allowed pass, and a rule still denies.
    for name in ["PreToolUse", "PermissionRequest", "Stop", "SomeNewEvent"] {
        let passed = send(socket, &event(name, "git push"));
        assert_eq!(passed, json!({"type": "HookResponse", "output": {}, "exit_code": 0}), "{name}");
    }
    let denied = send(socket, &event("PreToolUse", "git push --force"));
    assert_eq!(denied["output"]["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
    let mut event = event("BeforeTool", "git push -f");
    event["runtime"] = json!("gemini");
    event["input"]["tool_name"] = json!("run_shell_command");
    let denied = send(socket, &event);
    assert_eq!((&denied["output"]["decision"], &denied["exit_code"]), (&json!("deny"), &json!(0)), "{denied}");
    // No person is present to answer, which counts as no.
    let call = |name: &str, arguments: Value| {
        send(socket, &json!({"type": "MCPToolCall", "id": "7", "tool_name": name, "arguments": arguments}))
    };
    let asked = call("confirm_action", json!({"action": "Release?", "details": "", "wait_s": 0}));
    assert_eq!((&asked["type"], &asked["id"]), (&json!("MCPToolResponse"), &json!("7")), "{asked}");
    let unknown = call("teach-graph", json!({}));
    assert!(unknown["result"].is_null() && unknown["error"]["message"].is_string(), "{unknown}");
    assert_eq!(send(socket, &json!({"type": "Pong"}))["ok"], false, "which is none of its messages");
}

#[test]
fn its_socket_is_served_once_granted_and_no_link_is_followed() {
    let project = with_daemon();
    let path = project.root().join(".tidepool/sockets/control.sock");
    project.write("hob.toml", "[compat]\ntidepool = true\n");
    let again = |project: &TestProject| {
        project.run(["stop"]).ok();
        project.run(["questions"]).ok();
    };
    again(&project);
    assert!(!path.exists(), "it waits for a grant");
    let granted = project.run(["trust", "--yes"]).ok();
    assert!(granted.contains(".tidepool/sockets/control.sock"), "{granted}");
    again(&project);
    assert_eq!(send(&path, &json!({"type": "Ping"})), json!({"type": "Pong"}));
    project.run(["stop"]).ok();
    assert!(!path.exists());
    let elsewhere = project.top().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::remove_dir_all(project.root().join(".tidepool")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, project.root().join(".tidepool")).unwrap();
    again(&project);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}
