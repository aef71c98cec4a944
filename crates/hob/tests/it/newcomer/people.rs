//! Mail and questions in the first hour: messages and answers whose effect surprised people.

use serde_json::{Value, json};
use testkit::TestProject;

use super::says;
use crate::fresh;

fn with_agents(names: &[(&str, &str)]) -> TestProject {
    let project = fresh();
    for (name, role) in names {
        project.run(["quickstart", "--name", name, "--role", role]).ok();
    }
    project
}

fn json_of(project: &TestProject, args: &[&str]) -> Value {
    serde_json::from_str(&project.run([args, &["--json"]].concat()).ok()).expect("JSON")
}

#[test]
fn who_waits_is_shown_what_is_most_urgent() {
    let project = with_agents(&[("ann", "dev")]);
    for (priority, text) in [("low", "later"), ("normal", "first"), ("critical", "now"), ("high", "soon")] {
        project.run(["send", "--to", "ann", "--priority", priority, text]).ok();
    }
    says(&project.run(["wait", "--timeout", "60"]).ok(), &["critical: \"now\""]);
    assert_eq!(json_of(&project, &["wait", "--timeout", "60"])["preview"], "now");
    project.run(["inbox", "--take", "--limit", "1"]).ok();
    project.run(["inbox", "--take", "--limit", "1"]).ok();
    says(&project.run(["wait", "--timeout", "60", "--priority", "normal"]).ok(), &["\"first\""]);
}

#[test]
fn mail_without_a_text_is_not_sent() {
    let project = with_agents(&[("ann", "dev"), ("bob", "dev")]);
    project.write("empty", " \n");
    for args in
        [&["send", "--to", "bob", "--as", "ann", " "][..], &["send", "--to", "bob", "--as", "ann", "--file", "empty"]]
    {
        let ran = project.run(args);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        says(&ran.stderr, &["the message is empty and was not sent", "`--file FILE`"]);
    }
    for (tool, args) in [("send_message", &["--to", "bob"][..]), ("broadcast_message", &[])] {
        let ran = project.run([&["call", tool, "--content", "\n", "--as", "ann"], args].concat());
        assert_eq!(ran.code, Some(4), "{ran:#?}");
        says(&ran.stderr, &["The message has no text.", "Write in `--content` all that the reader needs"]);
    }
    says(&project.run(["inbox", "--as", "bob"]).ok(), &["No messages"]);
}

#[test]
fn a_priority_that_there_is_not_is_told_the_nearest() {
    let project = with_agents(&[("ann", "dev"), ("bob", "dev")]);
    for args in [&["send", "--to", "bob", "x", "-p", "urgent"][..], &["wait", "--priority", "urgent"]] {
        let ran = project.run(args);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        says(&ran.stderr, &["critical, high, normal, low", "a similar value exists: 'critical'"]);
    }
    let mut peer = project.mcp(&["mail"]);
    peer.initialize();
    let answer = peer.call("send_message", json!({"to": "bob", "content": "x", "priority": "urgent"}));
    assert!(answer.is_error, "{}", answer.text);
    says(
        &answer.text,
        &["unknown priority \"urgent\"", "`critical`, `high`, `normal` or `low`", "the nearest is `critical`"],
    );
}

#[test]
fn what_was_rejected_is_not_acked_in_silence() {
    let project = with_agents(&[("ann", "dev"), ("bob", "dev")]);
    let sent = json_of(&project, &["send", "--as", "ann", "--to", "bob", "do it"]);
    let id = sent["message_id"].as_str().unwrap();
    project.run(["inbox", "--take", "--as", "bob"]).ok();
    says(&project.run(["ack", "--reject", id, "--as", "bob"]).ok(), &["rejected"]);
    let ran = project.run(["ack", id, "--as", "bob"]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    says(&ran.stdout, &["already rejected"]);
    says(&ran.stderr, &["already settled, so unchanged", "`hob reply ID TEXT`"]);
    // Repeating the same answer succeeds.
    says(&project.run(["ack", "--reject", id, "--as", "bob"]).ok(), &["rejected"]);
}

#[test]
fn a_member_by_its_role_is_not_removed_in_silence() {
    let project = with_agents(&[("ann", "lead"), ("bob", "dev")]);
    let group = |args: &[&str]| project.run([&["group", "--as", "ann"], args].concat());
    group(&["create", "backend"]).ok();
    group(&["add", "backend", "role:dev"]).ok();
    let ran = group(&["remove", "backend", "bob"]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    says(
        &ran.stderr,
        &["bob is not a direct member of backend: it is reached by its role dev", "`hob group remove` with role:dev"],
    );
    let ran = group(&["remove", "backend", "dev"]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    says(&ran.stderr, &["In backend, dev is a role, not an agent"]);
    says(&group(&["show", "backend"]).ok(), &["role dev"]);
    says(&group(&["remove", "backend", "role:dev"]).ok(), &["removed: role dev"]);
    group(&["add", "backend", "--role", "dev"]).ok();
    says(&group(&["remove", "backend", "dev", "--role"]).ok(), &["removed: role dev"]);
    // Removing someone who is not a member changes nothing.
    says(&group(&["remove", "backend", "bob"]).ok(), &["no change"]);
}

#[test]
fn a_list_of_all_questions_has_the_answers() {
    let project = fresh();
    for (args, answer, said) in [
        (&["ask", "confirm", "Deploy?"][..], &["--no"][..], "confirmed: false"),
        (&["ask", "select", "Which?", "a=First", "b"], &["--choose", "First"], "selected: \"a\""),
        (&["ask", "guide", "How?"], &["--text", "with care"], "guidance: \"with care\""),
    ] {
        project.run([args, &["--wait", "0"]].concat());
        project.run([&["answer"], answer, &["--note", "since it rains"]].concat()).ok();
        let all = project.run(["questions", "--all"]).ok();
        says(&all, &[said, "note: \"since it rains\""]);
    }
}

#[test]
fn a_beginning_of_a_questions_id_is_enough() {
    let project = fresh();
    let ask = |title: &str| project.run(["ask", "confirm", title, "--wait", "0"]);
    ask("One?");
    let questions = json_of(&project, &["questions"]);
    let id = questions[0]["question"].as_str().unwrap().to_owned();
    says(&project.run(["answer", &id[..4], "--yes"]).ok(), &[&id, "answered by"]);
    ask("Two?");
    ask("Three?");
    let ran = project.run(["answer", "q_", "--yes"]);
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    let ran = project.run(["answer", "nothing", "--yes"]);
    says(&ran.stderr, &["unknown question `nothing`"]);
}

#[test]
fn suggestions_can_be_picked() {
    let project = fresh();
    let asked = ["call", "request_guidance", "--context", "It is flaky.", "--wait-s", "0"];
    project.run([&asked[..], &["--suggestions", r#"["mend the test", "mend the program"]"#]].concat());
    let shown = project.run(["questions"]).ok();
    let ways: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("hob answer ")).collect();
    assert_eq!(ways.len(), 3, "{shown}");
    says(ways[1], &["--choose 'mend the program'"]);
    let said = testkit::Ran::run(project.command("sh").args(["-c", ways[1]])).ok();
    says(&said, &["guidance: \"mend the program\""]);
    // A free text is a valid answer too.
    project.run([&asked[..], &["--suggestions", r#"["mend the test"]"#]].concat());
    says(&project.run(["answer", "--text", "delete it"]).ok(), &["guidance: \"delete it\""]);
}

#[test]
fn a_group_is_made_in_anothers_name() {
    let project = with_agents(&[("ann", "dev"), ("bob", "dev")]);
    project.run(["group", "create", "backend", "--as", "bob", "--description", "servers"]).ok();
    project.run(["group", "add", "backend", "ann", "--as", "bob"]).ok();
    says(&project.run(["group", "--as", "ann", "show", "backend"]).ok(), &["backend", "ann", "servers"]);
}

#[test]
fn a_registration_in_a_shell_names_commands() {
    let project = with_agents(&[("ann", "dev"), ("bob", "dev")]);
    project.run(["send", "--as", "bob", "--to", "ann", "hello"]).ok();
    let said = project.run(["quickstart", "--name", "ann", "--role", "dev"]).ok();
    says(&said, &["1 message waits for you: `hob inbox`."]);
}

#[test]
fn a_token_is_that_of_the_named_agent() {
    let project = with_agents(&[("planner", "lead"), ("reviewer", "dev")]);
    let token = |args: &[&str]| project.run([&["agents", "token"], args].concat());
    // Both ways to name it are the same.
    for name in ["planner", "reviewer"] {
        assert!(token(&["--as", name]).ok().starts_with(&format!("{name}.")), "{name}");
        assert_eq!(token(&["--as", name]).ok(), token(&[name]).ok());
    }
    for args in [&["--as", "plannr"][..], &["plannr"], &["--revoke", "--as", "plannr"]] {
        let ran = token(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{ran:#?}");
        let hints = ["Nearest: planner. `hob agents`", "`hob quickstart --name plannr --role ROLE`"];
        says(&ran.stderr, &["Unknown agent \"plannr\".", hints[0], hints[1]]);
    }
    // Every command says the same.
    for args in [&["inbox"][..], &["wait", "--timeout", "5"], &["send", "--to", "planner", "hello"]] {
        let ran = project.run([args, &["--as", "plannr"]].concat());
        assert_eq!(ran.code, Some(4), "{ran:#?}");
        says(&ran.stderr, &["Nearest: planner. `hob agents`", "`hob quickstart --name plannr --role ROLE`"]);
    }
    // Nothing ignores a second name.
    for args in [&["rename", "planner", "lead"][..], &["forget", "planner"], &["token", "planner"]] {
        let ran = project.run([&["agents"], args, &["--as", "reviewer"]].concat());
        assert_eq!(ran.code, Some(2), "{ran:#?}");
    }
}
