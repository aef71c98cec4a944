//! `cargo xtask trackers`: builds the issue tracker `br` (crate `beads_rust`), performs some work with it, and stores
//! its output and files as fixtures of `crates/work`, with its version. Not part of CI: the build takes minutes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::cache::installed;
use taskkit::workspace::{cargo, read, root, run};

/// The crate, and the version of the fixtures.
const CRATE: &str = "beads_rust";
const VERSION: &str = "0.1.45";
const FIXTURES: &str = "crates/work/tests/it/fixtures/br";

/// Builds the tracker, performs the work, and writes the fixtures.
pub(crate) fn run_task() -> Result<()> {
    let br = build()?;
    let temp = tempfile::tempdir().context("could not make a directory")?;
    let fixtures = root().join(FIXTURES);
    if fixtures.exists() {
        std::fs::remove_dir_all(&fixtures).context("could not remove the old fixtures")?;
    }
    let play = Play { br, home: temp.path().join("home") };
    let (work, other) = (temp.path().join("work"), temp.path().join("other"));
    for directory in [&play.home, &work] {
        std::fs::create_dir_all(directory).context("could not make a directory")?;
    }
    play.git(&work, &["init", "-q", "-b", "main"])?;
    play.br(&work, &["init", "--prefix", "web"])?;
    let epic = play.create(&work, &["The parser", "--type", "epic", "--priority", "2"])?;
    let lists = [
        "Parse lists",
        "--type",
        "feature",
        "--priority",
        "1",
        "--description",
        "Nested ones,\ntoo.",
        "--assignee",
        "ann",
    ];
    let lists = play.create(&work, &[&lists[..], &["--parent", &epic]].concat())?;
    let brackets = play.create(&work, &["Lex brackets", "--priority", "0"])?;
    let lexer = play.create(&work, &["Choose a lexer", "--type", "chore"])?;
    let old = play.create(&work, &["An old bug", "--type", "bug"])?;
    // A blocked issue cannot be started.
    play.br(&work, &["update", &lists, "--status", "in_progress"])?;
    play.br(&work, &["dep", "add", &lists, &brackets])?;
    play.br(&work, &["dep", "add", &lists, &lexer])?;
    play.br(&work, &["dep", "add", &brackets, &lexer, "--type", "related"])?;
    play.br(&work, &["close", &lexer, "--reason", "it is chosen"])?;
    play.br(&work, &["delete", &old, "--force"])?;
    play.br(&work, &["sync", "--flush-only"])?;
    play.record(&work, &fixtures.join("first"))?;

    // Another person adds an issue. After a pull, the program imports it.
    play.git(&work, &["add", "--all"])?;
    play.git(&work, &["commit", "-q", "-m", "Issues"])?;
    play.git(&work, &["clone", "-q", ".", "../other"])?;
    play.br(&other, &["sync", "--import-only"])?;
    let print = play.create(&other, &["Print lists", "--priority", "3"])?;
    play.br(&other, &["dep", "add", &print, &lists])?;
    play.br(&other, &["close", &brackets])?;
    play.br(&other, &["sync", "--flush-only"])?;
    play.git(&other, &["commit", "-q", "-a", "-m", "More issues"])?;
    play.git(&work, &["pull", "-q", "../other", "main"])?;
    play.br(&work, &["sync", "--import-only"])?;
    play.record(&work, &fixtures.join("pulled"))?;

    let version = play.br(&work, &["--version"])?;
    std::fs::write(fixtures.join("version.txt"), &version).context("could not write the version")?;
    println!("trackers: {} recorded in {FIXTURES}", version.trim());
    run(Command::new("git").args(["diff", "--stat", "--", FIXTURES]).current_dir(root()))
}

/// Returns the program, which is built once for each version and kept in the user's cache.
fn build() -> Result<PathBuf> {
    let directory = installed("br", &[CRATE.as_bytes(), VERSION.as_bytes()], |directory| {
        let mut install = cargo();
        install.args([
            "install",
            CRATE,
            "--version",
            VERSION,
            "--locked",
            "--no-default-features",
            "-j",
            "1",
            "--root",
        ]);
        run(install.arg(directory).arg("--target-dir").arg(directory.join("target")))?;
        std::fs::remove_dir_all(directory.join("target")).context("could not remove the build directory")
    })?;
    Ok(directory.join("bin/br"))
}

/// The program with a private home.
struct Play {
    br: PathBuf,
    home: PathBuf,
}

impl Play {
    fn command(&self, program: &Path, directory: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(directory).env_clear().env("HOME", &self.home).env("NO_COLOR", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("USER", "carl").env("TZ", "UTC");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Carl").env(format!("GIT_{who}_EMAIL"), "carl@example.org");
        }
        command
    }

    fn git(&self, directory: &Path, args: &[&str]) -> Result<String> {
        read(&mut self.command(Path::new("git"), directory, args))
    }

    fn br(&self, directory: &Path, args: &[&str]) -> Result<String> {
        read(&mut self.command(&self.br, directory, &[args, &["--actor", "carl"]].concat()))
    }

    /// Creates an issue, and returns its id.
    fn create(&self, directory: &Path, args: &[&str]) -> Result<String> {
        let said = self.br(directory, &[&["create", "--json"], args].concat())?;
        let issue: Value = serde_json::from_str(&said).with_context(|| format!("no issue: {said}"))?;
        issue["id"].as_str().map(str::to_owned).with_context(|| format!("an issue without an id: {said}"))
    }

    /// Stores its output and files. The queries are those that hob makes.
    fn record(&self, directory: &Path, fixtures: &Path) -> Result<()> {
        std::fs::create_dir_all(fixtures).context("could not make a directory")?;
        let keep = |name: &str, text: &str| {
            std::fs::write(fixtures.join(name), text).with_context(|| format!("could not write {name}"))
        };
        let quiet = ["--no-auto-import", "--no-auto-flush", "--allow-stale"];
        let ask = |args: &[&str]| self.br(directory, &[args, &quiet].concat());
        let jsonl = directory.join(".beads/issues.jsonl");
        keep("issues.jsonl", &std::fs::read_to_string(jsonl).context("it wrote no JSONL")?)?;
        let list = ask(&["list", "--json", "--all", "--limit", "0"])?;
        keep("list.json", &list)?;
        keep("ready.json", &ask(&["ready", "--json", "--limit", "3"])?)?;
        keep("help.txt", &self.br(directory, &["--help"])?)?;
        keep("sync-help.txt", &self.br(directory, &["sync", "--help"])?)?;
        let listed: Value = serde_json::from_str(&list).context("`br list --json` printed no JSON")?;
        let listed =
            listed.as_array().or_else(|| listed["issues"].as_array()).context("`br list --json` printed no list")?;
        if listed.len() < 4 {
            bail!("`br list --json` has only {} issues", listed.len());
        }
        for issue in listed {
            let id = issue["id"].as_str().context("an issue without an id")?;
            keep(&format!("show-{id}.json"), &ask(&["show", "--json", id])?)?;
        }
        Ok(())
    }
}
