//! Problems of a user after the first hour: signals, custom settings, and misleading messages.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Ran, has_program, has_version};

use super::says;
use crate::fresh;

#[test]
fn code_is_withdrawn_when_a_signal_comes_twice() {
    if !has_program("timeout") {
        return;
    }
    let project = fresh();
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    for signal in ["-TERM", "-INT", "-HUP"] {
        // `timeout` signals its child, and then its process group, which includes the child again.
        let timeout = ["--preserve-status", "-s", &signal[1..], "0.7", env!("CARGO_BIN_EXE_hob"), "eval", "touch ran"];
        let ran = Ran::run(project.command("timeout").args(timeout));
        assert_eq!(ran.code, Some(10), "{signal}: {ran:#?}");
    }
    let listed: Value = serde_json::from_str(&project.run(["call", "repl_list", "--json"]).ok()).expect("JSON");
    let queued = &listed["sessions"][0]["queue_depth"];
    assert!(queued.as_u64().unwrap_or_default() == 0, "{listed}");
    project.run(["call", "repl_interrupt"]).ok();
    project.run(["eval", "true"]).ok();
    assert!(!project.root().join("ran").exists());
}

#[test]
fn a_shell_of_ones_own_needs_no_options() {
    let project = fresh();
    project.write("hob.toml", "[repl.profiles.mine]\ndriver = \"bash\"\ncommand = [\"bash\"]\n");
    project.run(["trust", "--yes"]).ok();
    assert_eq!(project.run(["eval", "--profile", "mine", "echo $((1 + 1))"]).ok(), "2\n");
    assert_eq!(project.run(["eval", "x=4; (exit 3)"]).code, Some(9));
    assert_eq!(project.run(["eval", "echo $x"]).ok(), "4\n");
}

#[test]
fn a_program_that_never_comes_to_its_prompt_is_told_of() {
    let project = fresh();
    let command = r#"["sh", "-c", "echo no prompt here >&2; exec sleep 600"]"#;
    project.write("hob.toml", &format!("[repl.profiles.mine]\ndriver = \"bash\"\ncommand = {command}\n"));
    project.run(["trust", "--yes"]).ok();
    let mut hob = project.hob(["eval", "--profile", "mine", "1"]);
    let mut waiting = hob.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(waiting.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    let way = "`hob call repl_stop` ends it";
    says(
        &said,
        &["The session is still starting (`mine`, for ", "the last output of its program: `no prompt here`", way],
    );
    // The same holds for an agent, and for later callers.
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    let answer = peer.call("repl_wait", json!({"eval": 1, "wait_ms": 1}));
    says(
        &answer.text,
        &["`mine`, starting for ", "it printed `no prompt here`", "repl_stop {\"session\": \"main\"} ends"],
    );
    project.run(["call", "repl_stop"]).ok();
    assert_ne!(waiting.wait().unwrap().code(), Some(0));
}

#[test]
fn every_page_names_the_toolsets_that_agents_get() {
    let project = fresh();
    project.run(["init", "--agent", "claude"]).ok();
    let written = std::fs::read_to_string(project.root().join("hob.toml")).unwrap();
    let cores = written.split("get the core of\n# ").nth(1).and_then(|rest| rest.split(", and `more_tools`").next());
    let cores = cores.unwrap_or_else(|| panic!("{written}"));
    assert_eq!(cores, "repl, mail, ask, code and work");
    let page = include_str!("../../../../../docs/reference/configuration.md");
    let quoted: Vec<String> =
        cores.split(", ").flat_map(|name| name.split(" and ")).map(|name| format!("`{name}`")).collect();
    let [first @ .., last] = quoted.as_slice() else { panic!("{quoted:?}") };
    says(page, &[&format!("the core of {} and {last}, and `more_tools`", first.join(", "))]);
}

#[test]
fn status_warns_of_a_file_that_no_daemon_could_start_with() {
    let project = fresh();
    project.run(["eval", "--profile", "bash", "true"]).ok();
    // Move the time stamp: no person writes a file within milliseconds of a start.
    let write = |text: &str| {
        project.write("hob.toml", text);
        let file = std::fs::File::options().write(true).open(project.root().join("hob.toml")).unwrap();
        file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(2)).unwrap();
    };
    write("[repl]\nidle = \"soon\"\n");
    let said = project.run(["status"]).ok();
    says(
        &said,
        &[
            "hob.toml has changed since",
            "hob.toml, line 2: \"soon\" is not a valid duration",
            "Fix this before you stop the running daemon",
        ],
    );
    assert!(!said.contains("the next call starts one"), "{said}");
    write("[repl]\nidle = \"2h\"\n");
    says(&project.run(["status"]).ok(), &["run `hob stop`; the next call starts one that reads it"]);
    // The pending items of an ended session are not shown.
    project.run(["call", "repl_stop"]).ok();
    let said = project.run(["status"]).ok();
    let session = said.lines().find(|line| line.contains("main: ")).expect("it is listed");
    assert!(session.contains("stopped") && !session.contains("pid") && !session.contains("MiB"), "{said}");
}

#[test]
fn a_table_that_stands_there_already_is_named_with_its_line() {
    let project = fresh();
    project.run(["init", "--agent", "claude"]).ok();
    let path = project.root().join("hob.toml");
    let written = std::fs::read_to_string(&path).unwrap();
    let first = 1 + written.lines().position(|line| line == "[repl]").expect("a header");
    let second = written.lines().count() + 1;
    std::fs::write(&path, format!("{written}[repl]\nprofile = \"bash\"\n")).unwrap();
    let ran = project.run(["eval", "true"]);
    let stands = format!("line {second}: `[repl]` is already at line {first}: move the lines below this one there");
    assert!(ran.code != Some(0), "{ran:#?}");
    says(&ran.stderr, &[&stands]);
    std::fs::write(&path, "[repl]\nidle = \"1h\"\nprofile = \"bash\"\nidle = \"2h\"\n").unwrap();
    says(&project.run(["eval", "true"]).stderr, &["line 4: `idle` is already at line 2: keep one of the two"]);
}

#[test]
fn a_name_of_a_component_that_is_not_loaded_says_where_it_is() {
    if !has_program("cabal") || !has_version("ghci", "9.0") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    let description = std::fs::read_to_string(project.root().join("two.cabal")).unwrap();
    let app = "\nexecutable app\n  hs-source-dirs: app\n  main-is: Main.hs\n  build-depends: base\n  default-language: \
               Haskell2010\n";
    project.write("two.cabal", &format!("{description}{app}"));
    std::fs::create_dir(project.root().join("app")).unwrap();
    project.write("app/Main.hs", "module Main where\n\nmain :: IO ()\nmain = putStrLn \"runs\"\n");
    let ran = project.run(["eval", "main"]);
    assert_eq!(ran.code, Some(9), "{ran:#?}");
    let start = "`hob call repl_start --session app --component exe:app` loads it.";
    says(&ran.stderr, &["main is in exe:app, which is not loaded: ", start]);
    let ran = project.run(["eval", "nowhereAtAll"]);
    assert!(!ran.stderr.contains("exe:app"), "{ran:#?}");
    project.run(["call", "repl_start", "--session", "app", "--component", "exe:app"]).ok();
    assert_eq!(project.run(["eval", "--session", "app", "main"]).ok(), "runs\n");
    // A session that failed to start has no messages, and reports the reason.
    let ran = project.run(["call", "repl_start", "--session", "wrong", "--component", "exe:ap"]);
    let first = ran.stderr.lines().next().unwrap_or_default();
    says(first, &["Unknown component `exe:ap`; available:", "Did you mean \"exe:app\"?"]);
    let ran = project.run(["call", "repl_diagnostics", "--session", "wrong"]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    says(&ran.stderr, &["did not start", "Unknown component `exe:ap`", "Fix that, then repeat the call"]);
}

#[test]
fn a_program_that_waits_for_a_line_is_answered_with_its_end() {
    let project = fresh();
    let ran = project.run(["call", "repl_eval", "--profile", "bash", "--code", "read x", "--wait-ms", "20000"]);
    says(&ran.stdout, &["`hob call repl_input --eval 1 --text $'LINE\\n'`"]);
    says(&project.run(["call", "repl_list"]).ok(), &["`hob call repl_input --eval 1 --text $'LINE\\n'`"]);
    let script = "\"$HOB\" call repl_input --eval 1 --text $'LINE\\n'; \"$HOB\" eval 'echo \"<$x>\"'";
    let ran = Ran::run(project.command("bash").args(["-c", script]).env("HOB", env!("CARGO_BIN_EXE_hob"))).ok();
    says(&ran, &["<LINE>"]);
}

#[test]
fn a_rule_that_waits_for_a_grant_is_no_rule_in_force() {
    let project = fresh();
    let said = project.run(["policy", "check"]).ok();
    says(
        &said,
        &["hob-policy.toml does not exist, and no rule of this project is in force.", "[[rule]]", "decide = \"deny\""],
    );
    // The printed sample is a valid policy.
    let rule: String =
        said.lines().skip_while(|line| !line.contains("[[rule]]")).map(|line| format!("{line}\n")).collect();
    project.write("hob-policy.toml", &rule);
    assert_eq!(project.run(["policy", "check"]).ok(), "hob-policy.toml: 1 rule in force.\n");
    project.write(
        "hob-policy.toml",
        "[[rule]]\nid = \"look\"\ntool = \"shell\"\ncommand = [\"ls\"]\ndecide = \"allow\"\n",
    );
    let test = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let event = test.to_string();
    project.write(
        "tests.toml",
        &format!("[[test]]\nname = \"looking\"\nexpect = \"allow\"\nevent = {}\n", inline(&event)),
    );
    says(
        &project.run(["policy", "test", "tests.toml"]).ok(),
        &["looking: rule look is not in force until `hob trust`", "1 of 1 tests passed."],
    );
    project.run(["trust", "--yes"]).ok();
    let said = project.run(["policy", "test", "tests.toml"]).ok();
    assert_eq!(said, "1 of 1 tests passed.\n");
}

/// Converts a JSON object of texts and objects to an inline table.
fn inline(json: &str) -> String {
    json.replace("\":", "\" = ")
}

#[test]
fn help_names_what_hooks_run_and_where_code_comes_from() {
    let project = fresh();
    says(&project.run(["help"]).ok(), &["\n  hook "]);
    for args in [&["help", "hook"][..], &["hook", "--help"]] {
        says(&project.run(args).ok(), &["`hob hooks install`", "usage: hob hook EVENT"]);
    }
    says(&project.run(["help", "eval"]).ok(), &["read from stdin if it is `-` or omitted; required at a terminal"]);
}

#[test]
fn several_open_questions_are_named() {
    let project = fresh();
    for title in ["One?", "Two?"] {
        project.run(["ask", "confirm", title, "--wait", "0"]);
    }
    let questions: Value = serde_json::from_str(&project.run(["questions", "--json"]).ok()).expect("JSON");
    let ids: Vec<&str> = questions.as_array().unwrap().iter().filter_map(|one| one["question"].as_str()).collect();
    let ran = project.run(["answer", "--yes"]);
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    says(&ran.stderr, &["2 questions are open: name one of ", ids[0], ids[1]]);
    // At a terminal, Esc leaves at once, and an invalid id is reported.
    let at_a_terminal = |typed: &str| {
        project.write("typed", typed);
        let hob = env!("CARGO_BIN_EXE_hob");
        // The dialog ignores input typed before its prompt.
        let script = format!(
            "import os, pty, sys\npid, fd = pty.fork()\nif pid == 0:\n  os.execv({hob:?}, ['hob', 'answer'])\n\
             said = b''\nwhile b'Which? ' not in said: said += os.read(fd, 4096)\n\
             os.write(fd, open('typed', 'rb').read())\n\
             try:\n  while True:\n    part = os.read(fd, 4096)\n    if not part: break\n    said += part\n\
             except OSError: pass\nsys.stdout.write(said.decode())\n"
        );
        Ran::run(project.command("python3").args(["-c", &script])).ok()
    };
    if has_program("python3") {
        says(&at_a_terminal("\x1b"), &["No answer was sent; all questions stay open."]);
        says(&at_a_terminal("yes\n"), &["unknown question `yes`", "`hob questions` lists the open ones"]);
    }
}
