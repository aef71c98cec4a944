//! The root for each location, with the processes and files that each command creates there: a table of locations by commands.
//! If the tests run as root, which ignores permissions, the commands run as the user `nobody`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect;
use serde_json::json;
use testkit::{McpPeer, Ran, TestProject, has_program, with_environment};

use crate::fresh;

/// A location: its name, and a function that creates it. The function returns the working directory and the root.
type Location = (&'static str, fn(&Scene) -> (PathBuf, Option<PathBuf>));

const PLACES: &[Location] = &[
    ("a directory of a git repository", |scene| {
        scene.git(&["init", "-q", "."]);
        (scene.dir("sub"), Some(scene.at("")))
    }),
    ("a worktree of it", |scene| {
        scene.git(&["init", "-q", "."]);
        scene.git(&["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "one"]);
        scene.git(&["worktree", "add", "-q", "../linked"]);
        (scene.at("../linked"), Some(scene.at("")))
    }),
    ("a submodule of it", |scene| {
        let commit =
            ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "one"];
        scene.dir("../module");
        scene.git(&[&["-C", "../module", "init", "-q"][..]].concat());
        scene.git(&[&["-C", "../module"][..], &commit[..]].concat());
        scene.git(&["init", "-q", "."]);
        scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../module", "sub"]);
        (scene.at("sub"), Some(scene.at("sub")))
    }),
    ("a directory of a jj repository", |scene| {
        scene.dir(".jj");
        (scene.dir("sub"), Some(scene.at("")))
    }),
    ("below a hob.toml", |scene| {
        scene.file("hob.toml");
        scene.file("sub/package.json");
        (scene.at("sub"), Some(scene.at("")))
    }),
    ("below a project's own file", |scene| {
        scene.file("one.cabal");
        (scene.dir("src/deep"), Some(scene.at("")))
    }),
    ("below nested ones", |scene| {
        scene.file("package.json");
        scene.file("inner/Cargo.toml");
        (scene.dir("inner/src"), Some(scene.at("inner")))
    }),
    ("below a stray .hob", |scene| {
        scene.file(".hob/lock");
        (scene.dir("sub"), Some(scene.at("sub")))
    }),
    ("anywhere else", |scene| (scene.dir("sub"), Some(scene.at("sub")))),
    ("where nobody may write", |scene| {
        let dir = scene.dir("sub");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
        (dir.clone(), Some(dir))
    }),
    ("a home", |scene| (scene.project.home(), None)),
    ("a home that is a repository", |scene| {
        scene.git(&["init", "-q", "../home"]);
        (scene.project.home(), None)
    }),
    ("the temporary directory", |_| (std::env::temp_dir(), None)),
    ("/", |_| (PathBuf::from("/"), None)),
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
        let as_nobody = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        let scene = Scene { project, _programs: programs, hob, as_nobody };
        scene.give(scene.project.top());
        scene
    }

    /// Gives everything below a directory to the user who runs the commands.
    fn give(&self, path: &Path) {
        if !self.as_nobody {
            return;
        }
        chown(path, Some(65534), Some(65534)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            fs::read_dir(path)
                .unwrap()
                .flatten()
                .filter(|entry| !entry.path().is_symlink())
                .for_each(|entry| self.give(&entry.path()));
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        let path = self.project.root().join(path);
        path.canonicalize().unwrap_or(path)
    }

    fn dir(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.project.root().join(path)).unwrap();
        self.give(self.project.top());
        self.at(path)
    }

    fn file(&self, path: &str) {
        self.project.write(path, "");
    }

    fn git(&self, args: &[&str]) {
        let mut command = self.as_user("git");
        let status = command.args(args).status();
        assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
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
fn row(name: &str, make: fn(&Scene) -> (PathBuf, Option<PathBuf>)) -> String {
    let scene = Scene::new();
    let (cwd, root) = make(&scene);
    scene.give(scene.project.top());
    let before = scene.snapshot();
    for quiet in QUIET {
        let ran = scene.run(&cwd, quiet);
        assert!(!ran.stderr.contains("panicked"), "{name}: {quiet:?}: {ran:#?}");
        let only_in_projects = matches!(quiet[0], "status" | "stop");
        if root.is_none() && only_in_projects {
            assert!(
                ran.stderr.contains("cannot be a project") && ran.stderr.contains("--project DIR"),
                "{name}: {ran:#?}"
            );
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
        let stopped = scene.run(&cwd, &["stop"]);
        assert!(
            stopped.stdout.contains(&format!("The daemon of {} has stopped", root.display())),
            "{name}: {stopped:#?}"
        );
    }
    let stopped = scene.daemons();
    assert_eq!(stopped, 0, "{name}");
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
            scope.spawn(move || {
                for (line, (name, make)) in rows.iter_mut().zip(places) {
                    *line = row(name, *make);
                }
            });
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
    let (one, two) = (scene.dir("../one/sub"), scene.dir("../two/sub"));
    for file in ["../one/pyproject.toml", "../two/pyproject.toml", "../.hob/lock"] {
        scene.project.write(file, "");
    }
    scene.give(scene.project.top());
    for (cwd, value) in [(&one, "first"), (&two, "second")] {
        assert_eq!(scene.run(cwd, &["call", "repl_start", "--profile", "bash"]).code, Some(0));
        scene.run(cwd, &["call", "repl_eval", "--code", &format!("mine={value}")]).ok();
    }
    for (cwd, value) in [(&one, "first"), (&two, "second")] {
        let said = scene.run(cwd, &["call", "repl_eval", "--code", "echo $mine"]).ok();
        assert!(said.starts_with(&format!("{value}\n")), "{said}");
    }
    assert_eq!(scene.daemons(), 2);
    // Stopping one daemon leaves the other running.
    scene.run(&one, &["stop"]).ok();
    assert_eq!(scene.daemons(), 1);
    assert!(scene.run(&two, &["call", "repl_eval", "--code", "echo $mine"]).ok().starts_with("second\n"));
    scene.run(&two, &["stop"]).ok();
}

/// A caller is told if its session's directory differs from its own.
#[test]
fn a_session_of_another_directory_says_so() {
    let project = fresh();
    project.write("hob.toml", "");
    for dir in ["a", "b"] {
        fs::create_dir(project.root().join(dir)).unwrap();
    }
    let run = |dir: &str, args: &[&str]| Ran::run(project.hob(args).current_dir(project.root().join(dir))).ok();
    run("a", &["call", "repl_start", "--profile", "bash"]);
    let told = format!("runs in {}, not in {}", project.root().join("a").display(), project.root().join("b").display());
    let own = run("a", &["call", "repl_eval", "--code", "pwd"]);
    assert!(!own.contains("started elsewhere"), "{own}");
    let others = run("b", &["call", "repl_eval", "--code", "pwd"]);
    assert!(others.contains(&told), "{others}");
    let others = run("b", &["call", "repl_start"]);
    assert!(others.contains(&told), "{others}");
    let named = run("a", &["call", "repl_start", "--cwd", "../b"]);
    assert!(named.contains(&told), "{named}");
}
