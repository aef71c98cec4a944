//! The root for each location, with the processes and files that each command creates there: a table of locations by commands.
//! If the tests run as root, which ignores permissions, the commands run as the user `nobody`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect;
use serde_json::json;
use testkit::{McpPeer, Ran, TestProject, has_program, with_environment};

use crate::{fresh, says};

/// Commits in the repository of the current directory.
const COMMIT: &str = "git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m one";

/// Locations: the name, commands that create it, the working directory and the root, both relative to the project.
const PLACES: &[(&str, &str, &str, Option<&str>)] = &[
    ("a directory of a git repository", "git init -q . && mkdir sub", "sub", Some("")),
    ("a worktree of it", "git init -q . && $COMMIT && git worktree add -q ../linked", "../linked", Some("")),
    (
        "a submodule of it",
        "git init -q ../module && (cd ../module && $COMMIT) && git init -q . && \
         git -c protocol.file.allow=always submodule --quiet add ../module sub",
        "sub",
        Some("sub"),
    ),
    ("a directory of a jj repository", "mkdir .jj sub", "sub", Some("")),
    ("below a hob.toml", "mkdir sub && touch hob.toml sub/package.json", "sub", Some("")),
    ("below a project's own file", "mkdir -p src/deep && touch one.cabal", "src/deep", Some("")),
    ("below nested ones", "mkdir -p inner/src && touch package.json inner/Cargo.toml", "inner/src", Some("inner")),
    ("below a stray .hob", "mkdir .hob sub && touch .hob/lock", "sub", Some("sub")),
    ("anywhere else", "mkdir sub", "sub", Some("sub")),
    ("where nobody may write", "mkdir sub && chmod 555 sub", "sub", Some("sub")),
    ("a home", "true", "../home", None),
    ("a home that is a repository", "git init -q ../home", "../home", None),
    ("the temporary directory", "true", "../..", None),
    ("/", "true", "/", None),
];

/// Commands that start and write nothing in any location.
const QUIET: &[&[&str]] = &[
    &["tools"],
    &["--help"],
    &["call", "--help"],
    &["call", "repl_eval", "--help"],
    &["call", "repl_evla"],
    &["call", "repl_eval", "--cod", "1"],
    &["complete", "--", "call", "repl_"],
    &["complete", "--", "send", "--to", ""],
    &["completions", "bash"],
    &["frobnicate"],
    &["status"],
    &["stop"],
];

struct Scene {
    project: TestProject,
    /// The directory of `hob`, which is not in a snapshot.
    _programs: tempfile::TempDir,
    hob: PathBuf,
    as_nobody: bool,
}

impl Scene {
    fn new() -> Scene {
        let project = fresh();
        // The user `nobody` may not be able to read the build directory.
        let programs = tempfile::tempdir().unwrap();
        fs::set_permissions(programs.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let hob = programs.path().join("hob");
        fs::hard_link(env!("CARGO_BIN_EXE_hob"), &hob)
            .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_hob"), &hob).map(drop))
            .unwrap();
        let as_nobody = rustix::process::geteuid().is_root();
        if as_nobody {
            let given = Command::new("chown").args(["-Rh", "65534:65534"]).arg(project.top()).status();
            assert!(given.is_ok_and(|status| status.success()));
        }
        Scene { project, _programs: programs, hob, as_nobody }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.project.root().join(path).canonicalize().unwrap()
    }

    /// Runs a script in the project's directory.
    fn make(&self, script: &str) {
        let status = self.as_user("sh").args(["-c", script]).env("COMMIT", COMMIT).status();
        assert!(status.is_ok_and(|status| status.success()), "{script}");
    }

    fn as_user(&self, program: impl AsRef<OsStr>) -> Command {
        if !self.as_nobody {
            return self.project.command(program);
        }
        let mut command = self.project.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program.as_ref());
        command
    }

    fn command(&self, cwd: &Path, args: &[&str]) -> Command {
        let mut command = self.as_user(&self.hob);
        command.args(args).current_dir(cwd);
        command
    }

    fn run(&self, cwd: &Path, args: &[&str]) -> Ran {
        Ran::run(&mut self.command(cwd, args))
    }

    fn daemons(&self) -> usize {
        let marker = format!("HOME={}", self.project.home().display());
        with_environment(&marker).iter().filter(|process| process.command.contains(" serve ")).count()
    }

    /// Lists everything except sockets: name, mode and bytes.
    fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut waiting = vec![self.project.top().to_owned()];
        while let Some(next) = waiting.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                let (path, metadata) = (entry.path(), entry.metadata().unwrap());
                if metadata.is_dir() {
                    waiting.push(path.clone());
                }
                let bytes = if metadata.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                all.insert(path, (metadata.permissions().mode(), bytes));
            }
        }
        all
    }

    /// Returns the files written since, except state in its proper place.
    fn written_since(&self, before: &BTreeMap<PathBuf, (u32, Vec<u8>)>) -> Vec<String> {
        let (home, run) = (self.project.home(), self.project.runtime_dir());
        let is_state = |path: &Path| {
            let state = home.join(".local/state/hob");
            path.starts_with(&state) || state.starts_with(path) || path.starts_with(run.join("hob")) || path == run
        };
        let after = self.snapshot();
        let changed = after.iter().filter(|(path, now)| before.get(*path) != Some(now) && !is_state(path));
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        let names = changed.map(|(path, _)| path).chain(gone).filter(|path| **path != home);
        names.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
    }
}

/// Runs the commands in a location. Returns the location's row.
fn row((name, script, cwd, root): (&str, &str, &str, Option<&str>)) -> String {
    let scene = Scene::new();
    scene.make(script);
    let (cwd, root) = (scene.at(cwd), root.map(|root| scene.at(root)));
    let before = scene.snapshot();
    for quiet in QUIET {
        let ran = scene.run(&cwd, quiet);
        assert!(!ran.stderr.contains("panicked"), "{name}: {quiet:?}: {ran:#?}");
        let only_in_projects = matches!(quiet[0], "status" | "stop");
        if root.is_none() && only_in_projects {
            says(&ran.stderr, &["cannot be a project", "--project DIR"]);
        } else if !matches!(quiet, ["call", "repl_evla"] | ["call", _, "--cod", _] | ["frobnicate"]) {
            assert_eq!(ran.code, Some(0), "{name}: {quiet:?}: {ran:#?}");
        } else {
            assert_eq!(ran.code, Some(2), "{name}: {quiet:?}: {ran:#?}");
        }
    }
    let after = scene.snapshot();
    let changed: Vec<_> =
        after.iter().filter(|(path, now)| before.get(*path) != Some(now)).map(|(path, _)| path).collect();
    assert!(changed.is_empty(), "{name}: what only lists or helps wrote {changed:?}");
    assert_eq!(scene.daemons(), 0, "{name}: what only lists or helps starts nothing");

    let mut line = format!("{name}: ");
    let shown = |path: &Path| match path.strip_prefix(scene.project.top()) {
        Ok(path) => path.display().to_string(),
        Err(_) => "?".to_owned(),
    };
    let status = scene.run(&cwd, &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap_or_default();
    let said = status["root"].as_str().map(PathBuf::from);
    assert_eq!(said, root, "{name}");
    line.push_str(&said.map_or("no root".to_owned(), |root| format!("root {}", shown(&root))));

    let started = scene.run(&cwd, &["call", "repl_start", "--profile", "bash"]);
    let evaluated = scene.run(&cwd, &["call", "repl_eval", "--code", "echo $((6 * 7)) in $PWD"]);
    line.push_str(&format!("; call: {}", outcome(&started)));
    if root.is_some() {
        assert!(evaluated.stdout.contains(&format!("42 in {}", cwd.display())), "{name}: {evaluated:#?}");
    }
    line.push_str(&format!(", {} daemon, wrote {:?}", scene.daemons(), scene.written_since(&before)));

    let mut peer = McpPeer::spawn(scene.command(&cwd, &["mcp"]));
    peer.initialize();
    let id = peer.start_call("repl_list", json!({}));
    let listed = peer.response(id);
    let refused = listed["error"]["message"].as_str().map(|why| why.contains("cannot be a project"));
    assert!(refused != Some(false), "{name}: {listed}");
    line.push_str(&format!("; mcp: {}", if refused.is_some() { "says so" } else { "serves" }));
    drop(peer);
    let init = scene.run(&cwd, &["init", "--agent", "claude"]);
    line.push_str(&format!("; init: {}, wrote {:?}\n", outcome(&init), scene.written_since(&before)));
    if let Some(root) = &root {
        let stopped = scene.run(&cwd, &["stop"]).ok();
        says(&stopped, &[&format!("The daemon of {} has stopped", root.display())]);
    }
    assert_eq!(scene.daemons(), 0, "{name}");
    // Make it removable.
    let _ = fs::set_permissions(scene.project.root().join("sub"), fs::Permissions::from_mode(0o755));
    line
}

#[test]
fn places_by_commands() {
    if !has_program("git") || !has_program("setpriv") {
        return;
    }
    // In parallel, since each location has its own project and home.
    let mut rows = vec![String::new(); PLACES.len()];
    std::thread::scope(|scope| {
        for (rows, places) in rows.chunks_mut(4).zip(PLACES.chunks(4)) {
            scope.spawn(move || rows.iter_mut().zip(places).for_each(|(line, place)| *line = row(*place)));
        }
    });
    expect![[r#"
        a directory of a git repository: root project; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        a worktree of it: root project; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json"]
        a submodule of it: root project/sub; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        a directory of a jj repository: root project; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        below a hob.toml: root project; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json"]
        below a project's own file: root project; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        below nested ones: root project/inner; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        below a stray .hob: root project/sub; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        anywhere else: root project/sub; call: done, 1 daemon, wrote []; mcp: serves; init: done, wrote [".mcp.json", "hob.toml"]
        where nobody may write: root project/sub; call: done, 1 daemon, wrote []; mcp: serves; init: cannot write, wrote []
        a home: no root; call: refused, 0 daemon, wrote []; mcp: says so; init: refused, wrote []
        a home that is a repository: no root; call: refused, 0 daemon, wrote []; mcp: says so; init: refused, wrote []
        the temporary directory: no root; call: refused, 0 daemon, wrote []; mcp: says so; init: refused, wrote []
        /: no root; call: refused, 0 daemon, wrote []; mcp: says so; init: refused, wrote []
    "#]].assert_eq(&rows.concat());
}

fn outcome(ran: &Ran) -> &'static str {
    match ran.code {
        Some(0) => "done",
        _ if ran.stderr.contains("cannot be a project") => "refused",
        _ if ran.stderr.contains("cannot write") => "cannot write",
        _ => "failed",
    }
}

#[test]
fn two_projects_without_git_side_by_side_share_nothing() {
    let scene = Scene::new();
    scene.make(
        "mkdir -p ../one/sub ../two/sub ../.hob && touch ../one/pyproject.toml ../two/pyproject.toml ../.hob/lock",
    );
    let (one, two) = (scene.at("../one/sub"), scene.at("../two/sub"));
    let eval = |cwd: &Path, code: &str| scene.run(cwd, &["eval", "--profile", "bash", code]).ok();
    for (cwd, value) in [(&one, "first"), (&two, "second")] {
        eval(cwd, &format!("mine={value}"));
    }
    for (cwd, value) in [(&one, "first\n"), (&two, "second\n")] {
        assert_eq!(eval(cwd, "echo $mine"), value);
    }
    assert_eq!(scene.daemons(), 2);
    // Stopping one daemon leaves the other running.
    scene.run(&one, &["stop"]).ok();
    assert_eq!(scene.daemons(), 1);
    assert_eq!(eval(&two, "echo $mine"), "second\n");
    scene.run(&two, &["stop"]).ok();
}

#[test]
fn two_worktrees_of_a_repository_share_a_daemon_and_no_session() {
    if !has_program("git") {
        return;
    }
    let scene = Scene::new();
    scene.make("git init -q . && $COMMIT && git worktree add -q ../linked");
    let (here, linked) = (scene.at(""), scene.at("../linked"));
    let eval = |cwd: &Path, code: &str| scene.run(cwd, &["eval", "--profile", "bash", code]).ok();
    eval(&here, "mine=here");
    assert_eq!(eval(&linked, "echo ${mine-unset} $PWD"), format!("unset {}\n", linked.display()));
    assert_eq!(eval(&here, "echo $mine $PWD"), format!("here {}\n", here.display()));
    assert_eq!(scene.daemons(), 1);
    scene.run(&here, &["call", "repl_start", "--session", "named", "--profile", "bash"]).ok();
    let refused = scene.run(&linked, &["eval", "--session", "named", "pwd"]);
    says(&refused.stderr, &["Session \"named\" belongs to another worktree"]);
    scene.run(&here, &["stop"]).ok();
}
