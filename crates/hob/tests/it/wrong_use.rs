//! Problems on users' machines: each gives one clear sentence with the fix, and nothing hangs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::{Ran, has_program, kill_hard, until};

use crate::fresh;

/// Returns the one message on stderr of a command that fails with this code.
fn failure(ran: Ran, code: i32) -> String {
    assert_eq!(ran.code, Some(code), "{ran:#?}");
    assert_eq!(ran.stderr.matches("error:").count(), 1, "said once: {ran:#?}");
    assert_eq!(ran.stdout, "", "{ran:#?}");
    ran.stderr
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn an_unknown_tool() {
    let project = fresh();
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let id = peer.start_call("repl_evaluate", json!({}));
    let response = peer.response(id);
    assert_eq!(response["error"]["code"], -32602, "{response}");
    assert_says(&response.to_string(), &["repl_evaluate"]);
    let said = failure(project.run(["call", "repl_evla"]), 2);
    assert_says(&said, &["unknown tool repl_evla", "Did you mean `repl_eval`?", "hob tools"]);
}

#[test]
fn a_wrong_argument_name() {
    let project = fresh();
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let answer = peer.call("repl_eval", json!({"cod": "1 + 1"}));
    assert!(answer.is_error);
    assert_says(&answer.text, &["cod", "code"]);
    let answer = peer.call("repl_eval", json!({"code": "1", "wait_ms": -1}));
    assert_says(&answer.text, &["`wait_ms`: invalid value: integer `-1`, expected a whole number, 0 or more"]);
    let ran = project.run(["call", "repl_eval", "--cod", "1"]);
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["unexpected argument '--cod'", "'--code'"]);
    let said = failure(project.run(["call", "repl_eval", "--json", r#"{"cod": "1"}"#]), 4);
    assert_says(&said, &["cod", "code"]);
}

#[test]
fn help_that_names_no_tool() {
    let project = fresh();
    for flag in ["--help", "-h"] {
        let ran = project.run(["call", flag]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
        assert_says(&ran.stdout, &["hob call TOOL JSON", "`hob tools` lists the tools"]);
    }
}

#[test]
fn a_profile_that_is_not_granted_or_not_usable() {
    let project = fresh();
    let profile = |rest: &str| {
        let text = format!("[repl]\nprofile = \"mine\"\n[repl.profiles.mine]\ncommand = [\"bash\", \"-i\"]\n{rest}");
        project.write("hob.toml", &text);
        project.run(["stop"]);
    };
    profile("driver = \"bash\"\n");
    let said = failure(project.run(["call", "repl_eval", "--code", "1"]), 4);
    assert_says(&said, &["\"mine\"", "not granted", "runs the command [\"bash\", \"-i\"]", "hob trust"]);
    assert_says(
        &project.run(["status"]).stdout,
        &["not granted", "repl.profiles.mine.command (line 4): runs the command"],
    );
    let granted = project.run(["trust", "--yes"]).stdout;
    assert_says(&granted, &["Granted", "The running daemon does not have that yet: run `hob stop`"]);
    // Until then, no message asks for a grant again.
    let since = "granted after this daemon started";
    let said = failure(project.run(["call", "repl_eval", "--code", "1"]), 4);
    assert_says(&said, &["\"mine\"", since, "Run `hob stop`; the next call starts"]);
    for command in ["status", "doctor"] {
        let said = project.run([command]).stdout;
        assert_says(&said, &[since, "run `hob stop`; the next call starts"]);
        assert!(!said.contains("hob trust"), "{said}");
    }
    project.run(["stop"]);
    let ran = project.run(["call", "repl_eval", "--code", "echo $((6 * 7))"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("42\n"), "{ran:#?}");
    profile("");
    project.run(["trust", "--yes"]);
    let said = failure(project.run(["call", "repl_eval", "--code", "1"]), 4);
    assert_says(&said, &["\"mine\" in hob.toml is not usable: missing field `driver`", "hob stop"]);
    let doctor = project.run(["doctor"]);
    assert_eq!(doctor.code, Some(5), "{doctor:#?}");
    assert_says(
        &doctor.stdout,
        &["!! hob.toml: the profile \"mine\" in hob.toml is not usable: missing field `driver`"],
    );
}

#[test]
fn a_configuration_that_names_what_there_is_not() {
    let project = fresh();
    project.write("hob.toml", "[repl]\nprofile = \"ghci96\"\n");
    let said = failure(project.run(["call", "repl_eval", "--code", "1"]), 4);
    assert_says(
        &said,
        &[
            "nknown profile \"ghci96\" in the configuration (`profile` under [repl])",
            "available: bash",
            "Correct it in hob.toml",
        ],
    );
    project.run(["stop"]);
    project.write("hob.toml", "toolsets = [\"repls\"]\n[repl]\nprofile = \"ghci96\"\n");
    let said = failure(project.run(["call", "repl_list"]), 3);
    assert_says(
        &said,
        &[
            "`toolsets` in hob.toml",
            "names the unknown toolset 'repls'",
            "available: repl, mail, ask, code, explore, cure, work, nodes. Did you mean 'repl'? Correct it there",
        ],
    );
    let doctor = project.run(["doctor"]);
    assert_eq!(doctor.code, Some(5), "{doctor:#?}");
    assert_says(&doctor.stdout, &["!! hob.toml: unknown toolset 'repls'", "!! hob.toml: unknown profile"]);
}

#[test]
fn cabal_has_no_list_of_packages_and_no_network() {
    if !has_program("cabal") || !has_program("curl") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    // As in a fresh home: cabal writes its configuration and asks for the package list. No server listens on that port.
    fs::remove_file(project.home().join(".cabal/config")).unwrap();
    let proxy = "http_proxy=http://127.0.0.1:9";
    let Ran { code, stderr: said, .. } = project.run(["call", "repl_start", "--profile", "cabal", "--env", proxy]);
    assert_eq!(code, Some(4), "{said}");
    assert_says(
        &said,
        &[
            "cabal repl",
            "did not start",
            "127.0.0.1",
            "run `cabal update` once",
            "empty cabal's configuration with `: > ",
            "`hob call repl_start --profile ghci`",
        ],
    );
    // The suggested fix works.
    fs::write(project.home().join(".cabal/config"), "").unwrap();
    let started = project.run(["call", "repl_start", "--profile", "cabal", "--wait-ms", "50000"]).ok();
    assert!(started.contains("cabal"), "{started}");
}

#[test]
fn files_of_the_mail_that_are_damaged() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["quickstart", "--name", "reviewer", "--role", "dev"]).ok();
    project.write("long", &"words ".repeat(100_000));
    project.run(["send", "--file", "long", "--to", "reviewer", "--as", "planner"]).ok();
    let good = project.run(["doctor"]).stdout;
    assert_says(&good, &["ok files: all existing files are valid"]);
    project.run(["stop"]).ok();
    let path = project.state_dir().join("mail.db");
    let whole = fs::read(&path).unwrap();
    let rest = fs::read_dir(project.state_dir()).unwrap().count();
    assert_says(&project.run(["doctor"]).stdout, &["ok files: all existing files are valid"]);
    assert_eq!(fs::read_dir(project.state_dir()).unwrap().count(), rest, "looking leaves nothing");
    // The second half is missing, as after a disk failure; and a different file altogether.
    let mut torn = whole.clone();
    torn[whole.len() / 2..].fill(0xa5);
    for damaged in [torn, b"no database at all ".repeat(500)] {
        fs::write(&path, &damaged).unwrap();
        let doctor = project.run(["doctor"]);
        assert_eq!(doctor.code, Some(5), "{doctor:#?}");
        assert_says(&doctor.stdout, &["/mail.db: the mail store is corrupt", "aside", ".recover"]);
    }
    fs::write(&path, &whole).unwrap();
    project.write_state("identities/planner.json", "{\"name\": \"plan");
    let doctor = project.run(["doctor"]);
    assert_eq!(doctor.code, Some(5), "{doctor:#?}");
    let said = ["/identities/planner.json: EOF while parsing", "ignored. Repair it, or delete it"];
    assert_says(&doctor.stdout, &said);
}

#[test]
fn ghci_is_not_installed() {
    let project = fresh();
    let bin = project.top().join("few");
    fs::create_dir(&bin).unwrap();
    let mut command = project.hob(["call", "repl_start", "--profile", "ghci"]);
    command.env("PATH", &bin);
    let said = failure(Ran::run(&mut command), 4);
    assert_says(&said, &["\"ghci\"", "PATH", "Install it: "]);
    let mut command = project.hob(["doctor"]);
    project.write("Main.hs", "main = pure ()\n");
    command.env("PATH", &bin);
    let doctor = Ran::run(&mut command);
    assert_eq!(doctor.code, Some(5), "{doctor:#?}");
    assert_says(&doctor.stdout, &["!! ghci: missing", "install it:", "Main.hs needs it"]);
}

#[test]
fn a_project_directory_that_does_not_exist() {
    let project = fresh();
    let said = failure(project.run(["--project", "/nowhere/at/all", "status"]), 1);
    assert_says(&said, &["/nowhere/at/all", "--project DIR"]);
    // A client shows the server's answers, but rarely its stderr, so the front-end must answer.
    let mut peer = project.mcp(&["--project", "/nowhere/at/all"]);
    let id = peer.request(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}),
    );
    let response = peer.response(id);
    assert_says(&response.to_string(), &["/nowhere/at/all", "--project DIR"]);
}

#[test]
fn a_second_daemon() {
    let project = fresh();
    project.run(["call", "repl_list"]).ok();
    let said = failure(project.run(["serve"]), 1);
    assert_says(&said, &["another daemon", "pid", "hob stop"]);
}

#[test]
fn an_address_that_is_none() {
    let said = fresh().run(["serve", "--http", "localhost:7117"]);
    assert_eq!(said.code, Some(2), "{said:#?}");
    assert_says(&said.stderr, &["'localhost:7117' for '--http <ADDR>'", "such as 127.0.0.1:7117"]);
}

/// The state directory of a running daemon is removed, and another login's shell has another runtime directory: there is
/// still one daemon, and the others find it.
#[test]
fn a_second_daemon_after_the_state_directory_went_away() {
    let project = fresh();
    project.run(["call", "repl_list"]).ok();
    let pid = project.daemon_pid().expect("it runs");
    fs::rename(project.state_dir(), project.top().join("away")).unwrap();
    let elsewhere = project.top().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let run = |command: &str| {
        let mut command = project.hob([command]);
        command.env("XDG_RUNTIME_DIR", &elsewhere);
        Ran::run(&mut command)
    };
    let said = failure(run("serve"), 1);
    assert_says(&said, &["another daemon", &format!("(pid {pid})"), "hob stop"]);
    assert_says(&run("status").ok(), &[&format!("pid {pid}")]);
    assert_eq!(project.processes().len(), 1);
    run("stop").ok();
    assert_eq!(project.daemon_pid(), None);
}

/// Other programs lock directories too.
#[test]
fn a_project_that_somebody_else_has_locked() {
    if !has_program("flock") {
        return;
    }
    let project = fresh();
    let mut command = project.command("flock");
    command.args([".", env!("CARGO_BIN_EXE_hob"), "call", "repl_list"]);
    Ran::run(&mut command).ok();
}

/// The arguments look like hob's, but this process is not a daemon.
#[test]
fn a_process_that_is_no_daemon_gets_no_signal() {
    if !has_program("flock") {
        return;
    }
    for arguments in [&["serve", "--project", "app"][..], &["serve", "--background", "--project", "/nowhere/at/all"]] {
        let project = fresh();
        let mut command = project.command("flock");
        command.args([".", "sh", "-c", "echo locked; read line; exit 7"]).args(arguments);
        let mut locked = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(locked.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "locked\n");
        project.run(["call", "repl_list"]).ok();
        drop(locked.stdin.take());
        assert_eq!(locked.wait().unwrap().code(), Some(7), "{arguments:?}");
    }
}

/// The FIFO never gets a writer.
#[test]
fn a_text_in_a_pipe() {
    let project = fresh();
    assert!(project.command("mkfifo").arg("pipe").status().unwrap().success());
    for args in [&["send", "--to", "anna", "--file", "pipe"][..], &["reply", "msg_1", "--file", "pipe"]] {
        let said = failure(project.run(args), 1);
        assert_says(&said, &["read pipe: it is not a regular file", "`--file -`"]);
    }
    // A text is never cut.
    project.write("large", &"é".repeat(3 << 20));
    let said = failure(project.run(["send", "--to", "anna", "--file", "large"]), 1);
    assert_says(&said, &["cannot read large: it is longer than 4 MiB", "Send the path"]);
    let mut note = project.command("sh");
    note.arg("-c").arg(format!("{} note - < large", env!("CARGO_BIN_EXE_hob")));
    let said = String::from_utf8(note.output().unwrap().stderr).unwrap();
    assert_says(&said, &["cannot read the note from stdin: it is longer than 1 MiB", "name the file in the note"]);
}

#[test]
fn a_configuration_that_leads_out_of_the_project() {
    let project = fresh();
    fs::write(project.top().join("secret"), "s3cret\n").unwrap();
    std::os::unix::fs::symlink("../secret", project.root().join("hob.toml")).unwrap();
    for args in [&["doctor"][..], &["trust"], &["call", "repl_list"]] {
        let ran = project.run(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_says(&said, &["hob.toml is a link out of the project"]);
        assert!(ran.code != Some(0) && !said.contains("s3cret"), "{ran:#?}");
    }
}

#[test]
fn a_socket_path_that_is_too_long() {
    let project = fresh();
    let long = project.top().join("a-runtime-directory-whose-name-goes-on-and-on".repeat(3));
    fs::create_dir(&long).unwrap();
    fs::set_permissions(&long, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = project.hob(["call", "repl_list"]);
    command.env("XDG_RUNTIME_DIR", &long);
    let said = failure(Ran::run(&mut command), 3);
    assert_says(&said, &["bytes", "XDG_RUNTIME_DIR"]);
}

/// Root ignores permissions, so this runs as the user `nobody` if the tests run as root.
#[test]
fn a_read_only_project() {
    if !has_program("setpriv") {
        return;
    }
    let project = fresh();
    let hob = project.top().join("hob");
    fs::copy(env!("CARGO_BIN_EXE_hob"), &hob).unwrap();
    project.write("hob.toml", "");
    let root = am_root();
    if root {
        for path in [
            project.top().to_owned(),
            project.root(),
            project.home(),
            project.runtime_dir(),
            project.home().join(".cabal"),
        ] {
            std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
        }
        std::os::unix::fs::chown(project.root().join("hob.toml"), Some(65534), Some(65534)).unwrap();
    }
    set_mode(&project.root(), 0o555);
    let run = |args: &[&str]| {
        let mut command = if root { project.command("setpriv") } else { project.command("env") };
        if root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        Ran::run(command.arg(&hob).args(args))
    };
    let doctor = run(&["doctor"]);
    assert_says(&doctor.stdout, &["ok state: kept in"]);
    let started = run(&["call", "repl_start", "--session", "b", "--profile", "bash"]);
    assert_eq!(started.code, Some(0), "{started:#?}");
    let evaluated = run(&["call", "repl_eval", "--session", "b", "--code", "echo $((6 * 7))"]);
    assert_says(&evaluated.stdout, &["42"]);
    let init = run(&["init", "--agent", "claude"]);
    assert_eq!(init.code, Some(1), "{init:#?}");
    assert_says(&init.stderr, &["cannot write"]);
    assert_eq!(run(&["stop"]).code, Some(0));
    set_mode(&project.root(), 0o755);
}

/// A disk of 64 KiB, almost full, in a separate mount namespace.
#[test]
fn a_full_disk() {
    if !has_program("unshare") {
        return;
    }
    let project = fresh();
    let script = format!(
        "for at in {home} {root}; do mount -t tmpfs -o size=64k,mode=700 tmpfs $at && \
         head -c 100000 /dev/zero > $at/ballast 2>/dev/null; done; cd {root}; {hob} call repl_list; echo \"code $?\"; \
         {hob} call repl_start --profile bash; echo \"code $?\"; {hob} init; echo \"code $?\"; {hob} stop",
        root = project.root().display(),
        home = project.home().display(),
        hob = env!("CARGO_BIN_EXE_hob"),
    );
    let unshare: &[&str] = if am_root() { &["-m"] } else { &["-m", "-U", "--map-root-user"] };
    let ran = Ran::run(project.command("unshare").args(unshare).args(["sh", "-c", &script]));
    let said = format!("{}{}", ran.stdout, ran.stderr);
    // Calls that need no disk are answered; the others report the full disk.
    let codes: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 0", "code 4", "code 1"], "{ran:#?}");
    assert_says(&said, &["No sessions", "No space left on device", "Free space on that disk", "cannot write"]);
    assert!(!said.contains("panicked"), "{said}");
}

/// The disk fills up while the daemon runs: its sessions continue in memory.
#[test]
fn a_disk_that_fills_up() {
    if !has_program("unshare") {
        return;
    }
    let project = fresh();
    let script = format!(
        "mount -t tmpfs -o size=256k,mode=700 tmpfs {home} && touch hob.toml && \
         {hob} call repl_start --profile bash && {hob} call repl_eval --code 'echo before' && \
         head -c 1000000 /dev/zero > ~/ballast 2>/dev/null; \
         {hob} call repl_eval --code 'seq 1 100000 | tail -1; echo $((6 * 7))'; echo \"code $?\"; \
         {hob} call repl_read --tail --max-bytes 100; echo \"code $?\"; {hob} status > /dev/null; echo \"code $?\"; \
         {hob} call repl_start --session second --profile bash; echo \"code $?\"; {hob} stop",
        home = project.home().display(),
        hob = env!("CARGO_BIN_EXE_hob"),
    );
    let unshare: &[&str] = if am_root() { &["-m"] } else { &["-m", "-U", "--map-root-user"] };
    let ran = Ran::run(project.command("unshare").args(unshare).args(["sh", "-c", &script]));
    assert_says(&ran.stdout, &["before", "100000\n42\n", "has stopped"]);
    let codes: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 0", "code 0", "code 0", "code 4"], "{ran:#?}");
    // A session that could not be cleaned up after a crash is not begun.
    assert_says(&ran.stderr, &["No space left on device", "Free space on that disk"]);
}

#[test]
fn a_limit_on_the_size_of_files() {
    let project = fresh();
    let script = "ulimit -f 64; hob call repl_start --profile bash; \
                  hob call repl_eval --code 'x=alive; head -c 1000000 /dev/zero | tr \"\\0\" x'; hob call repl_eval --code 'echo is $x'";
    let said = Ran::run(project.command("bash").args(["-c", script])).ok();
    assert_says(&said, &["of 1,000,000 bytes of stdout shown", "is alive\n[main #2: done"]);
}

#[test]
fn a_daemon_that_hangs_is_named() {
    let project = fresh();
    project.run(["call", "repl_list"]).ok();
    let daemon = project.daemon_pid().unwrap();
    signal(daemon, "STOP");
    let said = failure(project.run(["status"]), 3);
    assert_says(&said, &["does not answer", &daemon.to_string(), "kill -KILL"]);
    kill_hard(daemon);
    until("the daemon to end", || project.daemon_pid().is_none().then_some(()));
    assert_says(&project.run(["status"]).ok(), &["No daemon is running"]);
}

#[test]
fn a_hob_toml_with_a_mistake() {
    let project = fresh();
    project.write("hob.toml", "[limits]\nsessions = 0\n");
    let said = failure(project.run(["call", "repl_list"]), 3);
    assert_says(&said, &["limits.sessions = 0 is outside 1 to 1000", "correct it"]);
}

fn signal(pid: i32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

fn am_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_named_tool_is_called_whichever_tools_agents_get() {
    let project = fresh();
    assert!(!project.run(["tools"]).ok().contains("validate_syntax"));
    let ran = project.run(["call", "validate_syntax", "--code", "module A do\nend\n"]);
    assert!(ran.ok().contains("Syntax is valid"), "it checks");
}
