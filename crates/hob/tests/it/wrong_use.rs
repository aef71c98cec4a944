//! Problems on users' machines: each gives one clear sentence with the fix, and nothing hangs. Mistakes in command lines and
//! in `hob.toml` are in `transcripts/`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use testkit::{Ran, TestProject, has_program, kill_hard, until};

use crate::{fresh, says};

/// Returns the one message on stderr of a command that fails with this code.
fn failure(ran: Ran, code: i32) -> String {
    assert_eq!(ran.code, Some(code), "{ran:#?}");
    assert_eq!(ran.stderr.matches("error:").count(), 1, "said once: {ran:#?}");
    assert_eq!(ran.stdout, "", "{ran:#?}");
    ran.stderr
}

#[test]
fn cabal_has_no_list_of_packages_and_no_network() {
    if !has_program("cabal") || !has_program("curl") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    let config = project.home().join(".cabal/config");
    let doctor = || project.run(["doctor"]).stdout;
    fs::remove_file(&config).unwrap();
    let create = format!("or create an empty file {}", config.display());
    says(&doctor(), &["!! cabal: has no package list in", "`cabal update`", &create, "1 problem to fix (!!): cabal"]);
    // Cabal itself reports the file's path: not every version uses the XDG directories.
    fs::remove_dir_all(project.home().join(".cabal")).unwrap();
    let help = Ran::run(project.command("cabal").arg("--help")).ok();
    let mut help = help.lines().skip_while(|line| !line.contains("configuration file to set defaults")).skip(1);
    let reads = help.next().expect("a path").trim();
    says(&doctor(), &[&format!("or create an empty file {reads}")]);
    // An existing file is emptied.
    fs::create_dir(project.home().join(".cabal")).unwrap();
    fs::write(&config, "repository there\n  url: http://127.0.0.1:9/\n").unwrap();
    says(&doctor(), &[&format!("or empty {}", config.display())]);
    // As in a fresh home: cabal writes its configuration and asks for the package list. No server listens on that port.
    fs::remove_file(&config).unwrap();
    let proxy = "http_proxy=http://127.0.0.1:9";
    let Ran { code, stderr: said, .. } = project.run(["call", "repl_start", "--profile", "cabal", "--env", proxy]);
    assert_eq!(code, Some(4), "{said}");
    let empties = format!("empty cabal's configuration with `: > {}`", config.display());
    says(&said, &["cabal repl", "did not start", "(7) Failed to connect", "run `cabal update` once", &empties]);
    says(&said, &["`hob call repl_start --profile ghci`"]);
    assert_eq!(said.lines().count(), 3, "what cabal said is in a line: {said}");
    // The suggested fix works.
    fs::write(&config, "").unwrap();
    assert!(!doctor().contains("package list"));
    says(&project.run(["call", "repl_start", "--profile", "cabal", "--wait-ms", "50000"]).ok(), &["cabal"]);
}

#[test]
fn files_of_the_mail_that_are_damaged() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["quickstart", "--name", "reviewer", "--role", "dev"]).ok();
    project.write("long", &"words ".repeat(100_000));
    project.run(["send", "--file", "long", "--to", "reviewer", "--as", "planner"]).ok();
    let good = project.run(["doctor"]).stdout;
    says(&good, &["ok files: all existing files are valid"]);
    project.run(["stop"]).ok();
    let path = project.state_dir().join("mail.db");
    let whole = fs::read(&path).unwrap();
    let rest = fs::read_dir(project.state_dir()).unwrap().count();
    says(&project.run(["doctor"]).stdout, &["ok files: all existing files are valid"]);
    assert_eq!(fs::read_dir(project.state_dir()).unwrap().count(), rest, "looking leaves nothing");
    // The second half is missing, as after a disk failure; and a different file altogether.
    let mut torn = whole.clone();
    torn[whole.len() / 2..].fill(0xa5);
    for damaged in [torn, b"no database at all ".repeat(500)] {
        fs::write(&path, &damaged).unwrap();
        let doctor = project.run(["doctor"]);
        assert_eq!(doctor.code, Some(5), "{doctor:#?}");
        says(&doctor.stdout, &["/mail.db: the mail store is corrupt", "aside", ".recover"]);
    }
    fs::write(&path, &whole).unwrap();
    project.write_state("identities/planner.json", "{\"name\": \"plan");
    let doctor = project.run(["doctor"]);
    assert_eq!(doctor.code, Some(5), "{doctor:#?}");
    let said = ["/identities/planner.json: EOF while parsing", "ignored. Repair it, or delete it"];
    says(&doctor.stdout, &said);
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
    says(&said, &["another daemon", &format!("(pid {pid})"), "hob stop"]);
    says(&run("status").ok(), &[&format!("pid {pid}")]);
    assert_eq!(project.processes().len(), 1);
    run("stop").ok();
    assert_eq!(project.daemon_pid(), None);
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

/// Runs a script in a separate mount namespace, where it can mount small disks.
fn with_own_mounts(project: &TestProject, script: &str) -> Ran {
    let is_root = rustix::process::geteuid().is_root();
    let unshare: &[&str] = if is_root { &["-m"] } else { &["-m", "-U", "--map-root-user"] };
    let mut command = project.command("unshare");
    command.args(unshare).args(["sh", "-c", script]).env("ROOT", project.root());
    let ran = Ran::run(&mut command);
    assert!(!ran.stdout.contains("panicked") && !ran.stderr.contains("panicked"), "{ran:#?}");
    ran
}

/// Checks the exit codes that a script printed.
fn assert_codes(ran: &Ran, expected: &[&str]) {
    let codes: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, expected, "{ran:#?}");
}

/// A disk of 64 KiB, almost full.
#[test]
fn a_full_disk() {
    if !has_program("unshare") {
        return;
    }
    let script = "for at in ~ $ROOT; do mount -t tmpfs -o size=64k,mode=700 tmpfs $at && \
                  head -c 100000 /dev/zero > $at/ballast 2>/dev/null; done; cd $ROOT; hob call repl_list; echo \"code $?\"; \
                  hob call repl_start --profile bash; echo \"code $?\"; hob init; echo \"code $?\"; hob stop";
    let ran = with_own_mounts(&fresh(), script);
    // Calls that need no disk are answered; the others report the full disk.
    assert_codes(&ran, &["code 0", "code 4", "code 1"]);
    says(&ran.stdout, &["No sessions"]);
    says(&ran.stderr, &["No space left on device", "Free space on that disk", "cannot write"]);
}

/// The disk fills up while the daemon runs: its sessions continue in memory.
#[test]
fn a_disk_that_fills_up() {
    if !has_program("unshare") {
        return;
    }
    let script = "mount -t tmpfs -o size=256k,mode=700 tmpfs ~ && touch hob.toml && \
                  hob call repl_start --profile bash && hob call repl_eval --code 'echo before' && \
                  head -c 1000000 /dev/zero > ~/ballast 2>/dev/null; \
                  hob call repl_eval --code 'seq 1 100000 | tail -1; echo $((6 * 7))'; echo \"code $?\"; \
                  hob call repl_read --tail --max-bytes 100; echo \"code $?\"; hob status > /dev/null; echo \"code $?\"; \
                  hob call repl_start --session second --profile bash; echo \"code $?\"; hob stop";
    let ran = with_own_mounts(&fresh(), script);
    says(&ran.stdout, &["before", "100000\n42\n", "has stopped"]);
    assert_codes(&ran, &["code 0", "code 0", "code 0", "code 4"]);
    // A session that could not be cleaned up after a crash is not begun.
    says(&ran.stderr, &["No space left on device", "Free space on that disk"]);
}

#[test]
fn a_limit_on_the_size_of_files() {
    let project = fresh();
    let script = "ulimit -f 64; hob call repl_start --profile bash; \
                  hob call repl_eval --code 'x=alive; head -c 1000000 /dev/zero | tr \"\\0\" x'; hob call repl_eval --code 'echo is $x'";
    let said = Ran::run(project.command("bash").args(["-c", script])).ok();
    says(&said, &["of 1,000,000 bytes of stdout shown", "is alive\n[main #2: done"]);
}

#[test]
fn a_daemon_that_hangs_is_named() {
    let project = fresh();
    project.run(["call", "repl_list"]).ok();
    let daemon = project.daemon_pid().unwrap();
    let status = Command::new("kill").args(["-STOP", &daemon.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
    let said = failure(project.run(["status"]), 3);
    says(&said, &["does not answer", &daemon.to_string(), "kill -KILL"]);
    kill_hard(daemon);
    until("the daemon to end", || project.daemon_pid().is_none().then_some(()));
    says(&project.run(["status"]).ok(), &["No daemon is running"]);
}
