//! A checkout that means its user harm: links, pipes, modes, shipped state and names, committed with git. Nothing
//! outside of it is read as ours or changed, and nothing hangs. First the attacks that once worked, by name; then a
//! generator (`HOB_CHECKOUTS`, `HOB_CHECKOUTS_SEED`; `cargo xtask soak checkouts`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// A user with files of their own, and a checkout from a stranger.
struct Victim {
    project: TestProject,
    before: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl Victim {
    fn new() -> Victim {
        let project = fresh();
        for (path, text) in [
            ("precious/one.json", "{\"mine\": 1}"),
            ("precious/00112233445566778899aabbccddeeff.json", "{}"),
            ("precious/two.jsonl", "two\n"),
            ("precious/notes", "what I wrote\n"),
            ("precious/next-evaluation", "what I wrote too, and it is longer than twenty bytes\n"),
            ("home/.bashrc", "alias ll='ls -l'\n"),
            ("home/.ssh/id", "secret\n"),
        ] {
            let path = project.top().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Victim { project, before: BTreeMap::new() }
    }

    fn root(&self) -> PathBuf {
        self.project.root()
    }

    fn precious(&self) -> PathBuf {
        self.project.top().join("precious")
    }

    fn link(&self, to: impl AsRef<Path>, at: &str) {
        let at = self.root().join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    }

    /// From here on only hob's own state, where a checkout has no say, may change.
    fn ready(&mut self) {
        self.before = self.snapshot();
    }

    fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut waiting = vec![self.precious(), self.project.home(), self.root()];
        while let Some(next) = waiting.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                let (path, metadata) = (entry.path(), entry.path().symlink_metadata().unwrap());
                if path.starts_with(self.project.home().join(".local")) {
                    continue;
                }
                let bytes = if metadata.is_file() {
                    fs::read(&path).unwrap_or_default()
                } else if metadata.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().as_bytes().to_vec()
                } else {
                    Vec::new()
                };
                if metadata.is_dir() {
                    waiting.push(path.clone());
                }
                all.insert(path, (metadata.permissions().mode(), bytes));
            }
        }
        all
    }

    fn assert_unharmed(&self, what: &str) {
        let after = self.snapshot();
        for (path, was) in &self.before {
            assert_eq!(after.get(path), Some(was), "{what}: {} changed", path.display());
        }
        let new: Vec<_> = after.keys().filter(|path| !self.before.contains_key(*path)).collect();
        assert!(new.is_empty(), "{what}: there is more than before: {new:?}");
    }

    fn run(&self, args: &[&str]) -> Ran {
        // Waiting for a pipe or a device of the checkout would never end.
        let mut command = self.project.command("timeout");
        command.args(["--signal=KILL", "60", "hob"]).args(args);
        let ran = Ran::of(&mut command);
        assert!(ran.code != Some(137) && ran.code.is_some(), "{args:?} hung: {ran:#?}");
        assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:#?}");
        ran
    }
}

/// Everything that an agent or a person does in a project they have just cloned, except what writes into it on request.
const EVERYDAY: &[&[&str]] = &[
    &["status"],
    &["doctor"],
    &["trust"],
    &["tools"],
    &["call", "repl_start", "--profile", "bash"],
    &["call", "repl_eval", "--code", "echo $((6 * 7))"],
    &["quickstart", "--name", "planner", "--role", "lead"],
    &["send", "hello", "--to", "planner", "--as", "other"],
    &["inbox", "--all"],
    &["agents"],
    &["status"],
    &["stop"],
];

#[test]
fn what_lies_in_the_checkout_under_hobs_names_is_not_believed() {
    let mut victim = Victim::new();
    victim.project.write("hob.toml", "");
    victim.link(victim.precious(), ".hob/sessions");
    victim.link(victim.precious().join("next-evaluation"), ".hob/output/next-evaluation");
    victim.link(victim.project.home().join(".bashrc"), ".hob/log/daemon.jsonl");
    victim.link(victim.precious().join("two.jsonl"), ".hob/log/journal.jsonl");
    victim.link(victim.precious(), ".hob/identities");
    victim.link(victim.precious().join("notes"), ".hob/lock");
    victim.link(victim.precious().join("notes"), ".hob/socket");
    victim.project.write(".hob/output/x\ntouch ~/harm\n-0123456789abcdef-0000000000001/0", "");
    victim.project.write(".hob/mail-database", "postgres://me@attacker.example/mail");
    fs::set_permissions(victim.root().join(".hob/mail-database"), fs::Permissions::from_mode(0o600)).unwrap();
    victim.project.write(".hob/mail.db", "shipped");
    victim
        .project
        .write(".hob/profiles/python.toml", "driver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ~/harm\"]\n");
    victim.ready();
    for command in EVERYDAY {
        victim.run(command);
        victim.assert_unharmed(&command.join(" "));
    }
    let evaluated = victim.run(&["call", "repl_eval", "--code", "echo $((6 * 7))"]);
    assert!(evaluated.code == Some(0) || evaluated.stderr.contains("profile"), "{evaluated:#?}");
    assert!(victim.run(&["doctor"]).stdout.contains(".hob is not read"));
    // The mail of this project went to where it belongs.
    assert!(victim.project.state_dir().join("mail.db").metadata().is_ok_and(|file| file.len() > 0));
}

#[test]
fn a_hob_directory_of_any_kind_is_no_matter() {
    for kind in ["link", "dangling", "file", "pipe", "closed"] {
        let mut victim = Victim::new();
        victim.project.write("hob.toml", "");
        let at = victim.root().join(".hob");
        match kind {
            "link" => symlink(victim.precious(), &at).unwrap(),
            "dangling" => symlink(victim.precious().join("new"), &at).unwrap(),
            "file" => fs::write(&at, "x").unwrap(),
            "pipe" => assert!(victim.project.command("mkfifo").arg(&at).status().unwrap().success()),
            _ => {
                fs::create_dir(&at).unwrap();
                fs::set_permissions(&at, fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
        victim.ready();
        for command in EVERYDAY {
            let ran = victim.run(command);
            let may_fail = matches!(command[0], "send" | "inbox");
            assert!(may_fail || ran.code == Some(0) || command[0] == "doctor", "{kind}: {command:?}: {ran:#?}");
            victim.assert_unharmed(kind);
        }
        let _ = fs::set_permissions(&at, fs::Permissions::from_mode(0o700));
    }
}

#[test]
fn nothing_that_is_read_keeps_anybody_waiting() {
    for kind in ["pipe", "zero", "pages"] {
        let mut victim = Victim::new();
        fs::create_dir(victim.root().join(".git")).unwrap();
        for name in ["hob.toml", ".git/HEAD", ".git/config", "cabal.project", "a.cure", ".mcp.json"] {
            let at = victim.root().join(name);
            match kind {
                "pipe" => assert!(victim.project.command("mkfifo").arg(&at).status().unwrap().success()),
                "zero" => symlink("/dev/zero", &at).unwrap(),
                _ => symlink("/proc/self/pagemap", &at).unwrap(),
            }
        }
        victim.ready();
        for command in EVERYDAY {
            victim.run(command);
            victim.assert_unharmed(kind);
        }
        // Without settings that cannot be read a daemon starts, and it reads the others, and so does cabal.
        fs::remove_file(victim.root().join("hob.toml")).unwrap();
        let also: [&[&str]; 3] = [&["cure", "check", "a.cure"], &["call", "repl_eval", "--code", "1"], &["mail"]];
        for command in also.iter().chain(EVERYDAY) {
            victim.run(command);
        }
    }
}

#[test]
fn init_writes_through_no_link() {
    for (link, to) in [
        ("hob.toml", "precious/new.toml"),
        (".mcp.json", "precious/one.json"),
        ("CLAUDE.md", "precious/notes"),
        (".claude", "precious"),
        (".claude/agents", "precious"),
        (".claude/agents/message-listener.md", "precious/new.md"),
        (".codex", "precious"),
        (".codex/config.toml", "home/.bashrc"),
        (".cursor/mcp.json", "precious/one.json"),
        (".vscode", "precious"),
        (".gemini/settings.json", "precious/new.json"),
    ] {
        let mut victim = Victim::new();
        victim.link(victim.project.top().join(to), link);
        victim.ready();
        let all = ["claude", "codex", "cursor", "vscode", "gemini"];
        let args: Vec<&str> = ["init"].into_iter().chain(all.iter().flat_map(|agent| ["--agent", agent])).collect();
        let ran = victim.run(&args);
        assert_eq!(ran.code, Some(1), "{link}: {ran:#?}");
        let said = format!("{link} is a link");
        assert!(ran.stderr.contains(&said) && ran.stderr.contains("by hand"), "{said}: {ran:#?}");
        let outside = |path: &Path| !path.starts_with(victim.root());
        let after = victim.snapshot();
        let before = victim.before.iter().filter(|(path, _)| outside(path));
        assert!(before.eq(after.iter().filter(|(path, _)| outside(path))), "{link}: {after:#?}");
        // The way back is as careful.
        victim.run(&["init", "--undo"]);
        let after = victim.snapshot();
        let before = victim.before.iter().filter(|(path, _)| outside(path));
        assert!(before.eq(after.iter().filter(|(path, _)| outside(path))), "{link}: {after:#?}");
    }
}

const SHABBY: &str = "module A do\ndef main(): Int=1\nend\n";

#[test]
fn the_compiler_writes_through_no_link() {
    let mut victim = Victim::new();
    victim.project.write("hob.toml", "");
    victim.project.write("src/a.cure", SHABBY);
    fs::write(victim.precious().join("notes.cure"), SHABBY).unwrap();
    victim.link(victim.precious().join("notes.cure"), "out.cure");
    victim.link(victim.precious(), "out");
    victim.link(victim.precious(), "_build");
    victim.ready();
    for args in [
        &["cure", "build", "src/a.cure"][..],
        &["cure", "fmt", "out.cure"],
        &["cure", "fmt", "out/notes.cure"],
        &["cure", "fmt", "out"],
    ] {
        let ran = victim.run(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains("is outside of the project"), "{args:?}: {ran:#?}");
        victim.assert_unharmed(&args.join(" "));
    }
    // Where the user wants it, it goes; and without the link it goes into the project.
    let elsewhere = victim.project.top().join("elsewhere");
    let ran = victim.run(&["cure", "build", "src/a.cure", "--output", elsewhere.to_str().unwrap()]);
    assert!(ran.code == Some(0) && elsewhere.read_dir().unwrap().count() > 0, "{ran:#?}");
    fs::remove_file(victim.root().join("_build")).unwrap();
    let built = victim.run(&["cure", "build", "src/a.cure"]).ok();
    assert!(built.contains("in _build/cure, ") && victim.root().join("_build/cure").is_dir(), "{built}");
    victim.run(&["cure", "fmt", "src/a.cure"]).ok();
    assert_ne!(victim.project.read("src/a.cure"), SHABBY);
}

#[test]
fn a_log_that_is_a_pipe_is_no_log() {
    let victim = Victim::new();
    victim.project.write("hob.toml", "");
    fs::create_dir(victim.root().join(".thrum")).unwrap();
    assert!(victim.project.command("mkfifo").arg(victim.root().join(".thrum/redirect")).status().unwrap().success());
    let ran = victim.run(&["import", "thrum", ".thrum"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("holds no log of Thrum"), "{ran:#?}");
    victim.run(&["stop"]);
}

#[test]
fn a_log_that_is_elsewhere_is_read_only_by_name() {
    let victim = Victim::new();
    victim.project.write("hob.toml", "");
    let log = victim.project.top().join("theirs/.thrum");
    fs::create_dir_all(&log).unwrap();
    let line = r#"{"type":"agent.register","event_id":"1","agent_id":"theirs","name":"theirs"}"#;
    fs::write(log.join("events.jsonl"), line).unwrap();
    victim.project.write(".thrum/redirect", log.to_str().unwrap());
    for args in [&["import", "thrum"][..], &["import", "thrum", ".thrum"]] {
        let ran = victim.run(args);
        assert!(ran.code == Some(1) && ran.stderr.contains(log.to_str().unwrap()), "{ran:#?}");
    }
    assert!(!victim.run(&["agents"]).stdout.contains("theirs"));
    let named = victim.run(&["import", "thrum", log.to_str().unwrap()]).ok();
    assert!(named.contains("Took over 1 agent"), "{named}");
    victim.run(&["stop"]);
}

#[test]
fn a_program_of_the_checkout_is_not_vouched_for() {
    for (entry, said) in [
        (r#"{"command": "./bin/hob\u202e", "args": ["mcp"]}"#, "`./bin/hob\\u{202e} mcp`"),
        (r#"{"command": "hob", "args": ["mcp"], "env": {"LD_PRELOAD": "./x.so"}}"#, "`hob mcp` with `env`"),
        (
            r#"{"command": "hob", "args": ["mcp", "--project", "/elsewhere", "--as", "planner", "--takeover"]}"#,
            "`hob mcp --project /elsewhere --as planner --takeover`",
        ),
    ] {
        let project = fresh();
        project.write(".mcp.json", &format!(r#"{{"mcpServers": {{"hob": {entry}}}}}"#));
        project.write("bin/hob", "#!/bin/sh\n");
        fs::set_permissions(project.root().join("bin/hob"), fs::Permissions::from_mode(0o755)).unwrap();
        let init = project.run(["init", "--agent", "claude"]);
        assert!(init.code == Some(1) && !init.stdout.contains("already registered"), "{init:#?}");
        let doctor = project.run(["doctor"]);
        let line = doctor.stdout.lines().find(|line| line.contains("Claude Code")).unwrap_or_default().to_owned();
        for text in [&init.stderr, &line] {
            assert!(text.contains(".mcp.json") && text.contains(said), "{text}");
        }
        assert!(doctor.code != Some(0) && line.contains("!!"), "{doctor:#?}");
    }
}

#[test]
fn doctor_reads_through_no_link_and_leaves_nothing() {
    let mut victim = Victim::new();
    let config = "[mcp_servers.hob]\ncommand = \"s3cret\"\n";
    fs::write(victim.precious().join("config.toml"), config).unwrap();
    victim.link(victim.precious(), ".codex");
    victim.ready();
    let ran = victim.run(&["doctor"]);
    assert!(ran.stdout.contains(".codex is a link") && !ran.stdout.contains("s3cret"), "{ran:#?}");
    victim.assert_unharmed("doctor");
}

#[test]
fn search_paths_lead_to_no_program_of_the_checkout() {
    let project = fresh();
    let harm = project.top().join("harm");
    project.write("python3", &format!("#!/bin/sh\ntouch {}\nPATH=${{PATH#*:}} exec python3 \"$@\"\n", harm.display()));
    fs::set_permissions(project.root().join("python3"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("sitecustomize.py", &format!("open({:?}, 'w')\n", harm.display().to_string()));
    let path = std::env::var("PATH").unwrap();
    for path in [format!(":{path}"), format!(".:{path}")] {
        for args in [&["repl_start", "--profile", "python"][..], &["repl_eval", "--code", "6 * 7"]] {
            let mut command = project.hob(["call"].iter().chain(args));
            let ran = Ran::of(command.env("PATH", &path).env("PYTHONPATH", "/x:")).ok();
            assert!(args[0] == "repl_start" || ran.contains("42"), "{ran}");
        }
        assert!(!harm.exists());
        project.run(["stop"]).ok();
    }
}

/// Without a home of one's own, state lies where any user may have made a directory of its name.
#[test]
fn what_another_made_in_the_temporary_directory_is_not_used() {
    let project = fresh();
    let (shared, theirs) = (project.top().join("tmp"), project.top().join("theirs"));
    let hash = project.state_dir().file_name().unwrap().to_owned();
    fs::create_dir_all(theirs.join(&hash)).unwrap();
    fs::create_dir(&shared).unwrap();
    symlink(&theirs, shared.join(format!("hob-{}", fs::metadata(&theirs).unwrap().uid()))).unwrap();
    let outside = project.top().join("outside");
    fs::write(&outside, "mine").unwrap();
    let record = serde_json::json!({
        "files": [{"path": outside, "owner": "x", "before": "theirs", "after": "mine"}],
        "created_dirs": [],
    });
    fs::write(theirs.join(&hash).join("init.json"), record.to_string()).unwrap();
    fs::set_permissions(theirs.join(&hash).join("init.json"), fs::Permissions::from_mode(0o600)).unwrap();
    for args in [&["init", "--undo"][..], &["init"], &["status"], &["inbox"], &["call", "repl_list"]] {
        let mut command = project.hob(args);
        let ran = Ran::of(command.env("TMPDIR", &shared).env("HOME", project.top().join("nobodys")));
        assert!(ran.code != Some(0) && ran.stderr.contains("not a private directory"), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains("XDG_STATE_HOME"), "{args:?}: {ran:#?}");
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine");
    assert_eq!(fs::read_dir(theirs.join(&hash)).unwrap().count(), 1);
}

/// A session can read its parent's environment for as long as the parent runs.
#[test]
fn the_daemon_keeps_nothing_of_its_first_clients_environment() {
    for serve in [false, true] {
        let project = fresh();
        let mut command =
            project.hob(if serve { &["serve"][..] } else { &["call", "repl_start", "--profile", "bash"] });
        command.env("GITHUB_TOKEN", "s3cret-one").env("MY_OWN", "s3cret-two");
        command.env("HOB_MAIL_DATABASE", "postgres://me:s3cret-three@127.0.0.1:1/none");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let daemon = testkit::until("a daemon that serves", || {
            let status = project.run(["status", "--json"]).stdout;
            let status: serde_json::Value = serde_json::from_str(&status).ok()?;
            status["daemon"]["pid"].as_u64()
        });
        project.run(["call", "repl_start", "--profile", "bash"]).ok();
        let code = format!("tr '\\0' '\\n' </proc/{daemon}/environ; readlink /proc/{daemon}/fd/0");
        let seen = project.run(["call", "repl_eval", "--code", &code]).ok();
        assert!(seen.contains("HOME=") && seen.contains("/dev/null"), "{seen}");
        assert!(!seen.contains("s3cret"), "{seen}");
        // It knows the address all the same.
        let sent = project.run(["quickstart", "--name", "a", "--role", "b"]);
        assert!(format!("{sent:?}").contains("away") && !format!("{sent:?}").contains("s3cret"), "{sent:#?}");
        project.run(["stop"]).ok();
        child.wait().unwrap();
    }
}

/// Names and values of a checkout are shown where they are to be judged, and no terminal obeys them.
#[test]
fn what_is_shown_is_not_obeyed() {
    let project = fresh();
    let evil = project.root().join("a\u{1b}]0;owned\u{7}\u{202e}b");
    fs::create_dir(&evil).unwrap();
    let toml = "[repl]\nprofile = \"x\\u001b[2J\"\n[repl.profiles.\"x\\u001b[2J\"]\ndriver = \"bash\"\n\
                command = [\"sh\", \"\\u202e\"]\nenv = { LD_PRELOAD = \"\\u001b[31m\" }\n[mail]\nspace = \"\\u009b2J\"\n";
    fs::write(evil.join("hob.toml"), toml).unwrap();
    let run = |args: &[&str]| Ran::of(project.hob(args).current_dir(&evil));
    let mut said = String::new();
    let commands: &[&[&str]] =
        &[&["trust"], &["doctor"], &["status"], &["call", "repl_list"], &["status"], &["trust", "--yes"], &["stop"]];
    for args in commands {
        let ran = run(args);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    let obeyed = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!said.contains(obeyed), "{said:?}");
    for shown in ["LD_PRELOAD=\"\\x1b[31m\"", "\\u{202e}", "\\u{9b}2J", "mail.space (line 8)", "command (line 5)"] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
}

/// A name stays on its line: it cannot add lines of its own.
#[test]
fn a_name_forges_no_line() {
    let project = fresh();
    let forged = "No daemon runs for all.";
    let evil = project.root().join(format!("x\n{forged}"));
    let absent = evil.join("absent");
    fs::create_dir(&evil).unwrap();
    let run = |args: &[&str]| {
        let ran = Ran::of(project.hob(args).current_dir(&evil));
        let said = format!("{}\n{}", ran.stdout, ran.stderr);
        assert!(!said.lines().any(|line| line.trim_start().starts_with(forged)), "{args:?}: {said}");
        assert!(said.contains("\\nNo daemon"), "{args:?}: {said}");
        ran
    };
    fs::write(evil.join("hob.toml"), "").unwrap();
    assert_eq!(run(&["stop"]).code, Some(0));
    run(&["cure", "check"]);
    run(&["--project", absent.to_str().unwrap(), "status"]);
    run(&["send", "--file", absent.to_str().unwrap(), "--to", "planner"]);
    fs::write(evil.join("hob.toml"), format!("\"a\\n{forged}\" = 1\n[daemon]\nidle = 1\n")).unwrap();
    run(&["status"]);
    run(&["tools"]);
    fs::write(evil.join("hob.toml"), "").unwrap();
    fs::write(evil.join(format!("y\n{forged}.cure")), SHABBY.replace("Int", "Bool")).unwrap();
    fs::write(evil.join(format!("z\n{forged}.cure")), b"\xff").unwrap();
    run(&["cure", "check"]);
    run(&["cure", "fmt", "--check", "."]);
    // As `hob cure check *` has it, with a file of that name.
    run(&["cure", "check", &format!("--x\n{forged}")]);
    fs::create_dir(evil.join(".mcp.json")).unwrap();
    run(&["init", "--agent", "claude"]);
}

/// How many checkouts are made in an ordinary run.
const CHECKOUTS: u64 = 6;

/// Names under which hob might trust, read or write a file.
const NAMES: &[&str] = &[
    ".hob",
    ".hob/sessions",
    ".hob/output",
    ".hob/output/next-evaluation",
    ".hob/log",
    ".hob/log/daemon.jsonl",
    ".hob/log/journal.jsonl",
    ".hob/lock",
    ".hob/socket",
    ".hob/mail.db",
    ".hob/mail-database",
    ".hob/identities",
    ".hob/identities/planner.json",
    ".hob/profiles",
    ".hob/init.json",
    ".hob/.gitignore",
    "hob.toml",
    ".mcp.json",
    ".claude",
    ".claude/agents/message-listener.md",
    "CLAUDE.md",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".gemini/settings.json",
    ".git",
    ".git/HEAD",
    ".git/config",
    ".git/commondir",
    "cabal.project",
    "_build",
    "a.cure",
    "x.cabal",
    "package.json",
    "stack.yaml",
    "pyproject.toml",
    ".ghci",
    "json.py",
    "a\u{1b}[2J",
    "-rf",
    "new\nline",
    "x.cure",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.next() % all.len() as u64).unwrap()]
    }
}

/// Creates something of a random kind at a random name; returns a description.
fn plant(victim: &Victim, random: &mut Random) -> String {
    let name = *random.one_of(NAMES);
    let at = victim.root().join(name);
    // An existing file in its way serves as well.
    if at.parent().is_none_or(|above| fs::create_dir_all(above).is_err()) || at.symlink_metadata().is_ok() {
        return String::new();
    }
    let targets =
        ["precious", "precious/one.json", "precious/next-evaluation", "precious/new", "home/.bashrc", "home", "."];
    let outside = victim.project.top().join(random.one_of(&targets));
    let texts: [&[u8]; 7] = [
        b"",
        b"garbage \x00\xff\x1b[2J",
        b"{}",
        b"[",
        b"/etc/passwd\n",
        b"postgres://a@127.0.0.1:1/x",
        b"[repl.profiles.python]\ndriver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ~/harm\"]\n",
    ];
    let kind =
        *random.one_of(&["link", "link", "link", "relative", "file", "file", "large", "pipe", "directory", "closed"]);
    match kind {
        "link" => symlink(&outside, &at).unwrap(),
        "relative" => symlink("../../precious/one.json", &at).unwrap(),
        "file" => fs::write(&at, random.one_of(&texts)).unwrap(),
        "large" => fs::write(&at, vec![b'['; 3 << 20]).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg("--").arg(&at).status().unwrap().success()),
        _ => fs::create_dir(&at).unwrap(),
    }
    if matches!(kind, "file" | "directory" | "closed") {
        let mode = if kind == "closed" { 0 } else { *random.one_of(&[0o600, 0o644, 0o777, 0o4755]) };
        fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
    }
    format!("{kind} at {name:?}; ")
}

#[test]
fn checkouts_of_a_generator() {
    if !has_program("git") || !has_program("mkfifo") {
        return;
    }
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = setting("HOB_CHECKOUTS_SEED").unwrap_or(20_261_123);
    let count = setting("HOB_CHECKOUTS").unwrap_or(CHECKOUTS);
    let (mut commands, mut things) = (0, 0);
    for n in 0..count {
        let mut random = Random(seed.wrapping_add(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut victim = Victim::new();
        let what: Vec<String> =
            (0..3 + random.next() % 8).map(|_| plant(&victim, &mut random)).filter(|what| !what.is_empty()).collect();
        things += what.len();
        let what = format!("checkout {n} of seed {seed}: {}", what.concat());
        if random.next().is_multiple_of(2) {
            // Tracked, as in a clone; files that git cannot hold are as in an archive.
            for args in [
                &["init", "-q", "."][..],
                &["add", "-f", "--ignore-errors", "."],
                &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one"],
            ] {
                // git waits forever for a pipe in the place of its own files.
                let mut git = victim.project.command("timeout");
                let _ = git.args(["5", "git"]).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
            }
        }
        victim.ready();
        for command in EVERYDAY {
            victim.run(command);
            victim.assert_unharmed(&format!("{what}{}", command.join(" ")));
            commands += 1;
        }
        // Commands that write into the project on request write there and nowhere else.
        let root = victim.root();
        for args in [
            &["init", "--agent", "claude", "--agent", "codex"][..],
            &["init", "--undo"],
            &["call", "repl_list"],
            &["stop"],
        ] {
            victim.run(args);
            commands += 1;
            let after = victim.snapshot();
            let outside = |(path, _): &(&PathBuf, &(u32, Vec<u8>))| !path.starts_with(&root);
            let before: Vec<_> = victim.before.iter().filter(outside).collect();
            assert_eq!(after.iter().filter(outside).collect::<Vec<_>>(), before, "{what}{args:?}");
        }
        open_up(&root);
    }
    eprintln!(
        "HOB_CHECKOUTS_SEED={seed}: {count} checkouts with {things} planted things, {commands} commands: nothing harmed, nothing hung"
    );
}

/// Makes closed directories accessible, so that they can be removed.
fn open_up(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
            if path.file_name() != Some(OsStr::new(".git")) {
                open_up(&path);
            }
        }
    }
}
