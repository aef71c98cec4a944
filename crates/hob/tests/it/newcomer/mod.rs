//! Problems of first-time users of hob, who have only its documentation: messages that were missing, misleading, or meant
//! for somebody else. Later findings are in `repls`, `people` and `second_hour`.

mod people;
mod repls;
mod second_hour;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Ran, TestProject, has_program, has_version, kill_hard, until};

use crate::fresh;

/// Runs a command whose stdin is a pipe with this text.
fn piped(project: &TestProject, args: &[&str], text: &str) -> Ran {
    project.write("piped", text);
    let script = format!("cat piped | {} \"$@\"", env!("CARGO_BIN_EXE_hob"));
    Ran::run(project.command("sh").args(["-c", &script, "sh"]).args(args))
}

fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn a_question_that_nobody_sees_names_what_makes_it_seen() {
    let project = fresh();
    let ran = project.run(["ask", "confirm", "Deploy?"]);
    assert_eq!(ran.code, Some(8), "{ran:#?}");
    let id = ran.stdout.split(' ').nth(1).unwrap();
    let answer = format!("`hob answer {id}` answers it");
    says(&ran.stderr, &[&answer, "`hob ask wait ", "`hob questions --watch`"]);
    let ran = project.run(["ask", "confirm", "Deploy?", "--wait", "0"]);
    let id = ran.stdout.split_whitespace().nth(1).unwrap();
    says(&ran.stderr, &[&format!("`hob answer {id}` answers it, and `hob ask wait {id}` gets the answer")]);
    assert!(!ran.stderr.contains("No person is watching"), "{ran:#?}");
}

#[test]
fn every_line_that_answers_a_question_can_be_typed() {
    let project = fresh();
    project.run(["ask", "select", "Which store?", "sqlite=SQLite", "my pg", "--strict", "--wait", "0"]);
    let shown = project.run(["questions"]).ok();
    let ways: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("hob answer ")).collect();
    assert_eq!(ways.len(), 2, "{shown}");
    assert!(ways[0].ends_with(" --choose sqlite") && ways[1].ends_with(" --choose 'my pg'"), "{shown}");
    // An invalid answer gets a description of the valid ones.
    for (flag, why) in [("--yes", "expected one of its options"), ("--text=x", "expected one of its options")] {
        let ran = project.run(["answer", flag]);
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        says(&ran.stderr, &[why, &format!("`{}`, `{}`", ways[0], ways[1])]);
    }
    let answered = Ran::run(project.command("sh").args(["-c", ways[1]])).ok();
    assert!(answered.contains("answered by"), "{answered}");

    project.run(["ask", "guide", "How?", "--wait", "0"]);
    says(&project.run(["answer", "--no"]).stderr, &["expected a text", " --text '…'`"]);
    project.run(["answer", "--text", "so"]).ok();
    project.run(["ask", "confirm", "Sure?", "--wait", "0"]);
    says(&project.run(["answer", "--choose", "a"]).stderr, &["expected yes or no", " --yes`, `hob answer "]);
}

#[test]
fn questions_about_code_that_does_not_load_say_so() {
    if !has_program("ghci") || !has_version("ghci", "9.0") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    let started = peer.call("repl_start", json!({"profile": "cabal", "wait_ms": 50_000}));
    assert!(!started.is_error, "{}", started.text);
    project.write("src/Area.hs", "module Area where\nimport Shape\narea = undefinedName\n");
    let reloaded = peer.call("repl_reload", json!({}));
    assert_eq!(reloaded.structured["ok"], false, "{}", reloaded.text);
    for asked in [json!({"kind": "type_at", "at": "src/Area.hs:3:1"}), json!({"kind": "type", "target": "area"})] {
        let answer = peer.call("repl_query", asked);
        assert!(answer.is_error, "{}", answer.text);
        says(&answer.text, &["The last load failed: src/Area.hs:3:8: error", "Correct it and call repl_reload"]);
        assert!(!answer.text.contains("repl_start"), "{}", answer.text);
    }
    // For a shell, this is a failed evaluation.
    let ran = project.run(["call", "repl_reload"]);
    assert_eq!(ran.code, Some(9), "{ran:#?}");
    project.write("src/Area.hs", "module Area where\nimport Shape\narea = 1\n");
    assert_eq!(project.run(["call", "repl_reload"]).code, Some(0));
}

#[test]
fn a_source_file_that_nobody_loaded_is_named() {
    if !has_program("ghci") || !has_version("ghci", "9.0") {
        return;
    }
    let project = fresh();
    project.write("A.hs", "module A where\ndouble x = x * 2\n");
    let ran = project.run(["eval", "double 4"]);
    assert_eq!(ran.code, Some(9), "{ran:#?}");
    says(&ran.stderr, &["Nothing is loaded: `hob call repl_reload --targets A.hs` loads A.hs."]);
    let ran = project.run(["call", "repl_reload"]);
    says(&ran.stdout, &["`hob call repl_reload --targets A.hs` loads A.hs"]);
    project.run(["call", "repl_reload", "--targets", "A.hs"]).ok();
    assert_eq!(project.run(["eval", "double 4"]).ok(), "8\n");
}

#[test]
fn cabal_without_a_list_of_packages_says_which_file_to_empty() {
    if !has_program("cabal") || !has_program("curl") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    let config = project.home().join(".cabal/config");
    std::fs::remove_file(&config).unwrap();
    let ran = project.run(["doctor"]);
    assert_eq!(ran.code, Some(5), "{ran:#?}");
    let doctor = ran.stdout;
    says(
        &doctor,
        &[
            "!! cabal: has no package list in",
            "`cabal update`",
            &format!("or create an empty file {}", config.display()),
        ],
    );
    says(doctor.lines().last().unwrap(), &["1 problem to fix (!!): cabal"]);
    // Cabal itself reports the file's path: not every version uses the XDG directories.
    std::fs::remove_dir_all(project.home().join(".cabal")).unwrap();
    let help = Ran::run(project.command("cabal").arg("--help")).ok();
    let mut help = help.lines().skip_while(|line| !line.contains("configuration file to set defaults")).skip(1);
    let reads = help.next().expect("a path").trim();
    says(&project.run(["doctor"]).stdout, &[&format!("or create an empty file {reads}")]);
    std::fs::create_dir(project.home().join(".cabal")).unwrap();
    // An existing file is emptied.
    std::fs::write(&config, "repository there\n  url: http://127.0.0.1:9/\n").unwrap();
    says(&project.run(["doctor"]).stdout, &[&format!("or empty {}", config.display())]);
    std::fs::remove_file(&config).unwrap();
    let proxy = "http_proxy=http://127.0.0.1:9";
    let ran = project.run(["call", "repl_start", "--profile", "cabal", "--env", proxy]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    let empties = format!("with `: > {}`", config.display());
    says(&ran.stderr, &["(7) Failed to connect", "`cabal update`", &empties, "`hob call repl_start --profile ghci`"]);
    assert_eq!(ran.stderr.lines().count(), 3, "what cabal said is in a line: {}", ran.stderr);
    std::fs::write(&config, "").unwrap();
    assert!(!project.run(["doctor"]).stdout.contains("package list"));
}

#[test]
fn a_mistyped_name_is_a_wrong_command_line_with_the_right_one() {
    let project = fresh();
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    for (args, meant) in [(&["mcp", "repls"][..], "'repl'"), (&["mcp", "--profile", "ghc_mcp"], "'ghc-mcp'")] {
        let ran = piped(&project, args, request);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        let meant = format!("Did you mean {meant}?");
        assert!(ran.stdout.contains(&meant) && ran.stderr.contains(&meant), "{ran:#?}");
    }
    let ran = piped(&project, &["mcp", "--standalone", "repls"], request);
    assert!(ran.code == Some(2) && ran.stderr.contains("Did you mean `hob mcp repl`?"), "{ran:#?}");
    let ran = project.run(["eval", "--profile", "pyton", "1"]);
    assert!(ran.code == Some(4) && ran.stderr.contains("Did you mean \"python\"?"), "{ran:#?}");
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    let id = peer.start_call("repl_evl", json!({}));
    says(&peer.response(id).to_string(), &["unknown tool", "did you mean", "repl_eval"]);
}

#[test]
fn a_fault_of_a_state_machine_is_an_exit_code() {
    let project = fresh();
    let machine = |to: &str| {
        format!("module Lamp do\n  fsm Bulb do\n    Off --> |press| On\n    On --> |press| {to}\n  end\nend\n")
    };
    project.write("bad.cure", &machine("Broken"));
    project.write("good.cure", &machine("Off").replace("Lamp", "Good"));
    for command in ["check", "fsm"] {
        let ran = project.run(["cure", command, "bad.cure"]);
        assert!(ran.code == Some(1) && ran.stdout.contains("Broken"), "{ran:#?}");
        assert_eq!(project.run(["cure", command, "good.cure"]).code, Some(0));
    }
    assert_eq!(project.run(["cure", "check"]).code, Some(1));
    assert_eq!(project.run(["cure", "fsm", "--mermaid", "bad.cure"]).code, Some(0), "it is drawn");
    // Other warnings are not failures.
    project.write("unused.cure", "module U do\n  def f(x: Int): Int do\n    let y = x\n    1\n  end\nend\n");
    let ran = project.run(["cure", "check", "unused.cure"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[test]
fn undo_also_removes_what_git_tracks_by_now() {
    let project = fresh();
    let git = |args: &[&str]| assert!(project.command("git").args(args).status().unwrap().success(), "git {args:?}");
    let commit = || git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-a", "-m", "1"]);
    git(&["init", "-q", "."]);
    project.write("CLAUDE.md", "# Ours\n");
    project.run(["init", "--agent", "claude", "--mail", "listener"]).ok();
    git(&["add", "-A"]);
    commit();
    let said = project.run(["init", "--undo"]).ok();
    for file in ["hob.toml", ".mcp.json", ".claude/agents/message-listener.md"] {
        let line = "removed, as it did not exist before. Git tracks it: commit that, or `git restore";
        says(&said, &[&format!("{file}: {line} {file}` brings it back.")]);
        assert!(!project.root().join(file).exists(), "{file}");
    }
    says(&said, &["CLAUDE.md: restored."]);
    assert_eq!(std::fs::read_to_string(project.root().join("CLAUDE.md")).unwrap(), "# Ours\n");
    says(&project.run(["init", "--undo"]).ok(), &["Nothing to undo"]);
    // What others wrote since stays.
    commit();
    project.run(["init", "--agent", "claude"]).ok();
    let config = std::fs::read_to_string(project.root().join("hob.toml")).unwrap() + "[repl]\nidle = \"2h\"\n";
    project.write("hob.toml", &config);
    project.write(
        ".mcp.json",
        r#"{"mcpServers": {"hob": {"command": "hob", "args": ["mcp"]}, "ours": {"command": "x"}}}"#,
    );
    git(&["add", "-A"]);
    commit();
    let said = project.run(["init", "--undo"]).ok();
    says(&said, &["hob.toml: kept, because it has changed since", ".mcp.json: changed since, so only what hob wrote"]);
    assert_eq!(std::fs::read_to_string(project.root().join("hob.toml")).unwrap(), config);
    let left = std::fs::read_to_string(project.root().join(".mcp.json")).unwrap();
    assert!(left.contains("ours") && !left.contains("hob"), "{left}");
}

#[test]
fn the_last_line_of_doctor_contradicts_no_other() {
    let project = fresh();
    std::fs::create_dir(project.home().join(".claude")).unwrap();
    let said = project.run(["doctor"]).ok();
    says(&said, &["-- Claude Code: hob is not registered"]);
    assert_eq!(
        said.lines().last(),
        Some("No problems. Optional or not finished, see the lines marked --: Claude Code."),
        "{said}"
    );
}

#[test]
fn doctor_names_uv_and_the_python_of_the_project() {
    let project = fresh();
    says(&project.run(["doctor"]).stdout, &[" uv: "]);
    if !has_program("python3") {
        return;
    }
    let made = project.command("python3").args(["-m", "venv", "--without-pip", ".venv"]).status().unwrap();
    assert!(made.success());
    says(&project.run(["doctor"]).stdout, &["ok Python: Python comes from .venv."]);
    std::fs::remove_dir_all(project.root().join(".venv")).unwrap();
    project.write("uv.lock", "");
    let said = Ran::run(project.hob(["doctor"]).env("PATH", "/usr/bin:/bin")).stdout;
    says(&said, &["!! uv: missing, for Python sessions of uv projects", "uv.lock"]);
}

#[test]
fn a_shell_is_told_of_commands_and_flags() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    let ran =
        project.run(["call", "repl_eval", "--code", "echo 'repl_wait {\"eval\": 1}'; sleep 600", "--wait-ms", "300"]);
    assert_eq!(ran.code, Some(11), "{ran:#?}");
    says(
        &ran.stdout,
        &["repl_wait {\"eval\": 1}\n", "`hob call repl_wait --eval 1`", "`hob call repl_interrupt --eval 1`"],
    );
    project.run(["call", "repl_interrupt"]).ok();
    let ran = project.run(["call", "repl_eval", "--session", "other", "--profile", "cobol", "--code", "1"]);
    says(&ran.stderr, &["Name one of those in `--profile`"]);
    let ran = project.run(["call", "repl_wait", "--session", "nowhere"]);
    says(&ran.stderr, &["`hob call repl_list`", "`hob call repl_start`"]);
    project.run(["quickstart", "--name", "ann", "--role", "dev"]).ok();
    let ran = project.run(["call", "send_message", "--to", "bob", "--content", "hi"]);
    says(&ran.stderr, &["`hob agents` and `hob group list` show all names"]);
}

#[test]
fn what_is_piped_in_is_evaluated_or_read() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    assert_eq!(piped(&project, &["eval"], "echo $((1+1))\n").ok(), "2\n");
    assert_eq!(piped(&project, &["eval", "--stdin", "cat; echo end"], "a\nb\n").ok(), "a\nb\nend\n");
    // Without the flag, stdin is not read, so that a loop over a file keeps its lines.
    let script = "while read line; do hob eval \"echo $line\"; done < piped";
    project.write("piped", "one\ntwo\n");
    assert_eq!(Ran::run(project.command("sh").args(["-c", script])).ok(), "one\ntwo\n");
    for (args, text) in [(&["eval"][..], ""), (&["eval", "-", "--stdin"], "1")] {
        let ran = piped(&project, args, text);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
    }
}

#[test]
fn code_behind_other_code_says_so_while_it_waits() {
    let project = fresh();
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    let mut hob = project.hob(["eval", "echo done"]);
    let mut waiting = hob.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(waiting.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    says(&said, &["It waits behind #1 (`sleep 600`, running)", "`hob call repl_interrupt --eval 1` ends that one"]);
    project.run(["call", "repl_interrupt", "--eval", "1"]).ok();
    assert_eq!(waiting.wait_with_output().unwrap().stdout, b"done\n");
}

#[test]
fn a_pipe_gets_the_very_bytes_that_a_program_prints() {
    let project = fresh();
    let out = |code: &str| {
        let ran = project.hob(["eval", "--profile", "bash", code]).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        ran.stdout
    };
    assert_eq!(out("for i in 1 2 3 4 5 6; do echo same; done"), b"same\n".repeat(6));
    assert_eq!(out(r"printf '\377\033[1mx\nno end'"), b"\xff\x1b[1mx\nno end");
    let lines: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    assert!(out("seq 300000") == lines.as_bytes(), "all of it");
    assert_eq!(out("true"), b"");
}

#[test]
fn output_is_shown_as_it_comes_and_code_ends_with_its_reader() {
    let project = fresh();
    let mut hob = project.hob(["eval", "--profile", "bash", "echo begun; sleep 600"]);
    let mut running = hob.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(10));
    let script = "hob eval 'while :; do echo x; sleep 0.1; done' | head -n 2";
    assert_eq!(Ran::run(project.command("sh").args(["-c", script])).ok(), "x\nx\n");
    until("the loop to end", || project.run(["call", "repl_list"]).stdout.contains("idle").then_some(()));
}

#[test]
fn what_a_person_reads_names_what_a_person_types() {
    let project = fresh();
    let ran = project.run(["eval", "--session", "a b", "1"]);
    says(&ran.stderr, &["letters, digits", "in `--session`"]);
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    says(&project.run(["call", "repl_list"]).ok(), &["`hob call repl_interrupt --eval 1` ends it"]);
    let ran = project.run(["call", "repl_query", "type", "cube"]);
    says(&ran.stderr, &["For example: hob call repl_query --kind"]);
    let ran = project.run(["eval", "--profile", "python", "1"]);
    says(&ran.stderr, &["Give another name in `--session`", "leave `--profile`"]);
}

#[test]
fn an_answer_of_old_code_says_so() {
    if !has_program("ghci") {
        return;
    }
    let project = fresh();
    project.write("Shape.hs", "module Shape where\n\narea :: Int\narea = 1\n");
    project.run(["call", "repl_start", "--profile", "ghci", "--wait-ms", "50000"]).ok();
    project.run(["eval", ":load Shape.hs"]).ok();
    let eval = |code: &str| project.run(["eval", code]);
    assert_eq!(eval("area").stderr, "");
    project.write("Shape.hs", "module Shape where\n\narea :: Int\narea = 2\n\nside :: Int\nside = 3\n");
    let stale = "Shape.hs has changed since it was loaded: `hob call repl_reload` loads it.";
    let ran = eval("area");
    assert_eq!(ran.stdout, "1\n");
    says(&ran.stderr, &[stale]);
    assert_eq!(eval("area").stderr, "", "told once for each change");
    says(&eval("side").stderr, &[stale]);
    project.run(["call", "repl_reload"]).ok();
    let ran = eval("area + side");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("5\n", ""));
    project.write("Shape.hs", "module Shape where\n\narea :: Int\narea = \n");
    project.run(["call", "repl_reload"]);
    says(&eval("side").stderr, &["The last load failed: Shape.hs:", "`hob call repl_diagnostics` lists all messages"]);
}

#[test]
fn an_inbox_shows_what_is_urgent_first() {
    let project = fresh();
    project.run(["quickstart", "--name", "ann", "--role", "dev"]).ok();
    for (priority, text) in [("low", "later"), ("normal", "first"), ("critical", "now"), ("normal", "second")] {
        project.run(["send", "--to", "ann", "--priority", priority, text]).ok();
    }
    let order = |args: &[&str]| {
        let shown: Value = serde_json::from_str(&project.run([args, &["--json"]].concat()).ok()).unwrap();
        let texts = shown["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap());
        (texts.collect::<Vec<_>>().join(" "), shown["remaining"].clone())
    };
    assert_eq!(order(&["inbox"]), ("now first second later".to_owned(), json!(0)));
    assert_eq!(order(&["inbox", "--limit", "2"]), ("now first".to_owned(), json!(2)));
    assert_eq!(order(&["inbox", "--all"]).0, "later first now second");
    assert_eq!(order(&["inbox", "--take"]).0, "now first second later");
}

#[test]
fn a_tool_takes_the_beginning_of_an_id_too() {
    let project = fresh();
    for name in ["ann", "bob"] {
        project.run(["quickstart", "--name", name, "--role", "dev"]).ok();
    }
    let sent = project.run(["send", "--as", "ann", "--to", "bob", "--json", "one"]).ok();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let id = sent["message_id"].as_str().unwrap();
    let start = &id[..id.len() - 4];
    let call = |tool: &str, args: &[&str]| project.run([&["call", tool], args, &["--as", "bob"]].concat()).ok();
    says(&call("get_thread", &["--id", start]), &["| one"]);
    says(&call("delivery_status", &["--id", &start["msg_".len()..]]), &[id]);
    says(&call("send_message", &["--reply-to", start, "--content", "two"]), &["delivered"]);
    says(&call("ack_message", &["--ids", start]), &[id, "acked"]);
}

#[test]
fn code_that_has_not_begun_is_withdrawn_with_its_command() {
    let project = fresh();
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut hob = project.hob(["eval", "touch ran"]);
        let mut waiting = hob.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(waiting.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
        says(&said, &["It waits behind #1"]);
        Command::new("kill").args([signal, &waiting.id().to_string()]).status().unwrap();
        assert_eq!(waiting.wait().unwrap().code(), Some(10), "{signal}");
    }
    // The same with a tool: the running evaluation continues.
    let queued = project.run(["eval", "--wait", "0", "--json", "touch ran"]);
    let queued: Value = serde_json::from_str(&queued.stdout).unwrap();
    let withdrawn = project.run(["call", "repl_interrupt", "--eval", &queued["eval"].to_string()]).ok();
    says(&withdrawn, &["interrupted", "It was withdrawn before it began.", "the running evaluation continues"]);
    project.run(["call", "repl_interrupt"]).ok();
    project.run(["eval", "true"]).ok();
    assert!(!project.root().join("ran").exists());
}

#[test]
fn a_daemon_that_was_killed_did_not_just_end() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    let number = |code: &str| {
        let value: Value = serde_json::from_str(&project.run(["eval", "--json", code]).ok()).expect("JSON");
        value["eval"].as_u64().unwrap()
    };
    let before = number("true");
    kill_hard(project.daemon_pid().unwrap());
    until("the daemon to end", || project.daemon_pid().is_none().then_some(()));
    says(&project.run(["status"]).ok(), &["the last one was killed or crashed", "/log"]);
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    let after = number("true");
    assert!(after > before && after <= before + 8, "{before} {after}");
    project.run(["stop"]).ok();
    says(&project.run(["status"]).ok(), &["No daemon is running for", "it starts on demand"]);
}

#[test]
fn a_restart_that_repeats_nothing_says_why() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    project.run(["eval", "echo effect"]).ok();
    let said = project.run(["call", "repl_restart", "--replay", "definitions"]).ok();
    says(&said, &["Nothing was evaluated again", "Code with other effects is not repeated"]);
}

#[test]
fn a_stop_is_no_fault_of_what_ran() {
    if !has_program("ghci") || !has_version("ghci", "9.0") {
        return;
    }
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "ghci", "--wait-ms", "50000"]).ok();
    project.run(["eval", "import Control.Concurrent"]).ok();
    let waiting = project.hob(["eval", "threadDelay 600000000"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
    let waiting = waiting.unwrap();
    let runs = || project.run(["call", "repl_list"]).stdout.contains("threadDelay");
    until("the evaluation to run", || runs().then_some(()));
    project.run(["call", "repl_stop"]).ok();
    let said = waiting.wait_with_output().unwrap();
    let (code, said) = (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned());
    assert_eq!(code, Some(12), "{said}");
    says(&said, &["The session ended: it was stopped"]);
    assert!(!said.contains("signal: ") || said.contains("which is not an error"), "{said}");
}

#[test]
fn tools_that_are_not_listed_are_found() {
    let project = fresh();
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let answer = peer.call("more_tools", json!({}));
    assert!(!answer.is_error, "{}", answer.text);
    says(&answer.text, &["Toolsets with more tools", "repl: ", "cure: "]);
    let answer = peer.call("more_tools", json!({"toolset": "repls"}));
    assert!(
        answer.is_error && answer.text.contains("\"repls\"") && answer.text.contains("\"repl\""),
        "{}",
        answer.text
    );
}
