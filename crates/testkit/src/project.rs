//! A project in a temporary directory, with a home and a runtime directory of its own, and the real binary.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::peer::McpPeer;
use crate::processes::{Process, kill_hard, with_environment};
use crate::until;

/// A project, its user's home, and the hob binary. Dropping it stops the daemon and asserts that nothing is left.
pub struct TestProject {
    top: tempfile::TempDir,
    hob: PathBuf,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl TestProject {
    /// An empty project. `hob` is the binary: `env!("CARGO_BIN_EXE_hob")`.
    pub fn new(hob: &str) -> TestProject {
        // Socket paths are short, so the whole must be.
        let top = tempfile::Builder::new().prefix("hob-t").tempdir().expect("a temporary directory");
        for dir in ["project", "home", "run", "bin"] {
            fs::create_dir(top.path().join(dir)).expect("a fresh directory");
        }
        // Without a configuration of its own, cabal asks the network for one.
        fs::create_dir(top.path().join("home/.cabal")).expect("a fresh directory");
        fs::write(top.path().join("home/.cabal/config"), "").expect("a fresh file");
        let project = TestProject { top, hob: PathBuf::from(hob) };
        // What is started and stopped here must not belong to a project of the user's own.
        let root = project::Project::find(None, &project.root()).expect("a directory of its own").root().to_owned();
        assert!(root.ends_with("project"), "TMPDIR lies inside of the project {}: set it elsewhere", root.display());
        set_mode(&project.runtime_dir(), 0o700);
        std::os::unix::fs::symlink(hob, project.top.path().join("bin/hob")).expect("a fresh link");
        project
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.top.path().join("project")
    }

    /// Where hob keeps the project's state. It is there once a daemon has run.
    pub fn state_dir(&self) -> PathBuf {
        let root = self.root();
        let project = project::Project::find(Some(&root), &root).expect("the project is there");
        self.home().join(".local/state/hob").join(project.hash())
    }

    /// Reads a file of the project's state.
    pub fn read_state(&self, path: &str) -> String {
        let path = self.state_dir().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file of the project's state, as its user would.
    pub fn write_state(&self, path: &str, text: &str) {
        let path = self.state_dir().join(path);
        let dir = path.parent().expect("a file has a directory");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).expect("a directory");
        fs::write(&path, text).expect("a file");
        set_mode(&path, 0o600);
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.top.path().join("home")
    }

    /// The directory above root and home, where a test may put more.
    pub fn top(&self) -> &Path {
        self.top.path()
    }

    /// The user's runtime directory.
    pub fn runtime_dir(&self) -> PathBuf {
        self.top.path().join("run")
    }

    /// Writes a file of the project, with its directories.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Reads a file of the project.
    pub fn read(&self, path: &str) -> String {
        let path = self.root().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a cabal package of two modules: `Shape` (a type) and `Area` (uses it).
    pub fn write_two_modules(&self) {
        self.write(
            "two.cabal",
            "cabal-version: 2.4\nname: two\nversion: 0.1\n\nlibrary\n  hs-source-dirs: src\n  exposed-modules: Shape, Area\n  \
             build-depends: base\n  default-language: Haskell2010\n",
        );
        self.write(
            "src/Shape.hs",
            "module Shape where\n\n-- | What can be drawn.\ndata Shape = Circle Double | Square Double\n  deriving (Show, Eq)\n",
        );
        self.write(
            "src/Area.hs",
            "module Area (area, double) where\n\nimport Shape\n\n-- | How much paint it takes.\narea :: Shape -> Double\n\
             area (Circle r) = pi * r * r\narea (Square a) = a * a\n\ndouble :: Int -> Int\ndouble n = n + n\n",
        );
    }

    /// Any program inside the project, with an environment that holds nothing of the machine's user.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root()).stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
        command.env("PATH", format!("{}:{path}", self.top.path().join("bin").display()));
        command.env("HOME", self.home()).env("XDG_RUNTIME_DIR", self.runtime_dir());
        command.env("LANG", "C.UTF-8").env("USER", "tester").env("NO_COLOR", "1");
        command
    }

    /// The hob binary with these arguments.
    pub fn hob<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(&self.hob);
        command.args(args);
        command
    }

    /// Runs hob to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&mut self.hob(args))
    }

    /// Starts `hob mcp` with further arguments.
    pub fn mcp(&self, args: &[&str]) -> McpPeer {
        McpPeer::spawn(self.hob(["mcp"].iter().chain(args)))
    }

    /// Everything that was started in this project and lives: front-ends, daemon, guardians, sessions.
    pub fn processes(&self) -> Vec<Process> {
        with_environment(&self.marker())
    }

    /// The daemon's pid, if it runs.
    pub fn daemon_pid(&self) -> Option<i32> {
        let found = self.processes().into_iter().find(|process| process.command.contains(" serve "));
        found.map(|process| process.pid)
    }

    /// Waits until nothing is left of what was started here.
    pub fn wait_for_nothing_left(&self) {
        until("everything started in the project to end", || self.processes().is_empty().then_some(()));
    }

    /// The home is in the environment of all that is started here, whatever else is filtered, and only there.
    fn marker(&self) -> String {
        format!("HOME={}", self.home().display())
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.processes().iter().for_each(|process| kill_hard(process.pid));
            return;
        }
        if self.daemon_pid().is_some() {
            let stopped = self.run(["stop"]);
            assert_eq!(stopped.code, Some(0), "hob stop failed: {stopped:?}");
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !self.processes().is_empty() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let left = self.processes();
        left.iter().for_each(|process| kill_hard(process.pid));
        assert!(left.is_empty(), "left running after a clean shutdown: {left:#?}");
    }
}

impl Ran {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Ran {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The output of a command that worked.
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }
}

/// Whether a program a test needs is installed. Where it is not, the test is named as skipped; in CI (`CI` set) it
/// fails, since there everything must be.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    if !found {
        assert!(std::env::var_os("CI").is_none(), "{name} is not installed, and CI must have everything");
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "skipped: {test}: {name} is not installed");
    }
    found
}

/// Whether a program's version is of this series (`9.0` fits `9.0.2`): what programs print differs between series, so a
/// test that shows it word for word is skipped, by name, with another one.
pub fn has_version(program: &str, series: &str) -> bool {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let fits = |word: &str| word == series || word.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'));
    let found = said.split_whitespace().any(fits);
    if !found {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "skipped: {test}: it shows what {program} {series} prints");
    }
    found
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions of a fresh directory");
}
