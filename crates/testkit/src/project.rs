//! A project in a temporary directory, with a separate home and runtime directory, and the real binary.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::peer::McpPeer;
use crate::processes::{Process, kill_hard, with_environment};
use crate::until;

/// A project, its user's home and the hob binary. Dropping it stops the daemon and asserts that no process is left.
pub struct TestProject {
    top: tempfile::TempDir,
    hob: PathBuf,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; `None` when a signal ended the command.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl TestProject {
    /// Creates an empty project. `hob` is the binary: `env!("CARGO_BIN_EXE_hob")`.
    pub fn new(hob: &str) -> TestProject {
        // The length of a socket's path is limited, so the directory's path must be short.
        let top = tempfile::Builder::new().prefix("hob-t").tempdir().expect("a temporary directory");
        for dir in ["project", "home", "run", "bin"] {
            fs::create_dir(top.path().join(dir)).expect("a fresh directory");
        }
        // Without a configuration file, cabal downloads one.
        fs::create_dir(top.path().join("home/.cabal")).expect("a fresh directory");
        fs::write(top.path().join("home/.cabal/config"), "").expect("a fresh file");
        let project = TestProject { top, hob: PathBuf::from(hob) };
        // Processes started or stopped here must not belong to a project of the user.
        let root = project::Project::find(None, &project.root()).expect("a directory of its own").root().to_owned();
        assert!(root.ends_with("project"), "TMPDIR lies inside of the project {}: set it elsewhere", root.display());
        set_mode(&project.runtime_dir(), 0o700);
        std::os::unix::fs::symlink(hob, project.top.path().join("bin/hob")).expect("a fresh link");
        project
    }

    /// Returns the project's root.
    pub fn root(&self) -> PathBuf {
        self.top.path().join("project")
    }

    /// Returns the directory of the project's state, which exists once a daemon has run.
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

    /// Writes a file of the project's state.
    pub fn write_state(&self, path: &str, text: &str) {
        let path = self.state_dir().join(path);
        let dir = path.parent().expect("a file has a directory");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).expect("a directory");
        fs::write(&path, text).expect("a file");
        set_mode(&path, 0o600);
    }

    /// Returns the user's home.
    pub fn home(&self) -> PathBuf {
        self.top.path().join("home")
    }

    /// Returns the directory that contains root and home, where a test may put further files.
    pub fn top(&self) -> &Path {
        self.top.path()
    }

    /// Returns the user's runtime directory.
    pub fn runtime_dir(&self) -> PathBuf {
        self.top.path().join("run")
    }

    /// Writes a file of the project and creates its directories.
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

    /// Returns a command inside the project. Its environment contains nothing of the machine's user.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root()).stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
        command.env("PATH", format!("{}:{path}", self.top.path().join("bin").display()));
        command.env("HOME", self.home()).env("XDG_RUNTIME_DIR", self.runtime_dir());
        command.env("LANG", "C.UTF-8").env("USER", "tester").env("NO_COLOR", "1");
        command
    }

    /// Returns the hob binary with these arguments.
    pub fn hob<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(&self.hob);
        command.args(args);
        command
    }

    /// Runs hob until it exits.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::run(&mut self.hob(args))
    }

    /// Starts `hob mcp` with further arguments.
    pub fn mcp(&self, args: &[&str]) -> McpPeer {
        McpPeer::spawn(self.hob(["mcp"].iter().chain(args)))
    }

    /// Returns the living processes that were started in this project: front-ends, daemon, guardians, sessions.
    pub fn processes(&self) -> Vec<Process> {
        with_environment(&self.marker())
    }

    /// Returns the daemon's pid if it runs.
    pub fn daemon_pid(&self) -> Option<i32> {
        let found = self.processes().into_iter().find(|process| process.command.contains(" serve "));
        found.map(|process| process.pid)
    }

    /// Waits until all processes that were started here have exited.
    pub fn wait_for_nothing_left(&self) {
        until("everything started in the project to end", || self.processes().is_empty().then_some(()));
    }

    /// Returns the text that finds the processes of this project. The home's path is in the environment of every
    /// process started here, even a filtered one, and nowhere else.
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
    /// Runs a command until it exits.
    pub fn run(command: &mut Command) -> Ran {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns the stdout of a command, which must succeed.
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }
}

/// Returns true if a program that a test needs is installed. If not, the test is reported as skipped. In CI (`CI` set)
/// it fails, since everything must be installed there.
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

/// Returns the virtual environment with IPython, pandas, polars and Matplotlib (`cargo xtask setup`). Without it, the test is reported as
/// skipped, but in CI it fails.
pub fn python_packages() -> Option<PathBuf> {
    let binary = std::env::current_exe().expect("a test has a binary");
    let target = binary.ancestors().nth(3).expect("target/debug/deps/it");
    let found = target.join("tools/python");
    if found.join("bin/python").is_file() {
        return Some(found);
    }
    assert!(std::env::var_os("CI").is_none(), "the Python packages are not installed, and CI must have everything");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: the Python packages are not installed (`cargo xtask setup`)");
    None
}

/// Returns true if a program's version belongs to this series (`9.0` matches `9.0.2`). Output differs between series,
/// so a test of exact output is reported as skipped under another series.
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
