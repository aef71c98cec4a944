//! `cargo xtask test`: everything that must pass before a change lands. Cheap checks run first; tasks that need other
//! programs than the tests run concurrently with them. `--all` adds the long steps, which few changes can break: fuzzing,
//! the made-up part, packages, real clients and agents, and the tests of the long run ([`LONG_RUN`]).

use std::process::Command;

use anyhow::{Result, bail};
use taskkit::cache::Builds;
use taskkit::setup;
use taskkit::workspace::{IS_BUILT, cargo, read, root, succeeds, target_dir};

use crate::steps::Steps;

use crate::{soak, tidy};

/// Total duration of the fuzz targets in seconds.
const FUZZING: usize = 60;

/// The end of the names of tests that only `--all` runs: they repeat a behaviour that another test covers once, with
/// random or very many inputs. `.config/nextest.toml` filters by the same end.
const LONG_RUN: &str = "_long_run";

/// Installs missing programs, checks and tests everything, and prints the duration of each step.
pub(crate) fn run_task(args: &[String]) -> Result<()> {
    let is_all = match args {
        [] => false,
        [word] if word == "--all" => true,
        _ => bail!("it takes only --all, and there is {:?}", args.join(" ")),
    };
    let mut steps = Steps::default();
    let before = changed_files();
    let result = run_steps(&mut steps, is_all).and_then(|()| steps.step("clean tree", || nothing_changed(&before)));
    print!("\n{steps}");
    result
}

/// Returns git's list of changed files and their changes; `None` outside a repository.
fn changed_files() -> Option<String> {
    let git = |args: &[&str]| read(Command::new("git").args(args).current_dir(root())).ok();
    Some(git(&["status", "--porcelain"])? + &git(&["diff", "HEAD"])?)
}

/// Fails if the run changed a file that is tracked or not ignored. Files written by tests must be ignored, and
/// generated and lock files must be current.
fn nothing_changed(before: &Option<String>) -> Result<()> {
    let after = changed_files();
    if *before != after {
        bail!("the run changed files of the checkout:\n{}", after.unwrap_or_default());
    }
    Ok(())
}

fn run_steps(steps: &mut Steps, is_all: bool) -> Result<()> {
    let tools = steps.step("setup", setup::tests)?;
    let path = tools.path()?;
    steps.command("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    let builds = steps
        .step("kept builds", || Builds::restore("workspace", &root().join("Cargo.lock"), &target_dir()?, &["debug"]))?;
    steps.command(
        "lints",
        cargo().args(["clippy", "--locked", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    )?;
    steps.step("house rules", tidy::run)?;
    steps.command("build", cargo().args(["build", "--locked", "--quiet", "--workspace", "--all-targets"]))?;
    steps.step("keeping builds", || builds.save())?;

    let mut tests = cargo();
    tests.env("PATH", path);
    if succeeds(Command::new("cargo").args(["nextest", "--version"])) {
        // Tests spend more than half of their time waiting.
        let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get() * 2);
        tests.args([
            "nextest",
            "run",
            "--locked",
            "--workspace",
            "--no-fail-fast",
            "--test-threads",
            &threads.to_string(),
        ]);
        tests.args(is_all.then_some("--ignore-default-filter"));
    } else {
        tests.args(["test", "--locked", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]);
        if !is_all {
            tests.args(["--", "--skip", LONG_RUN]);
        }
    }
    let mut doc_tests = cargo();
    doc_tests.args(["test", "--locked", "--quiet", "--workspace", "--doc"]);
    // Tasks that may need a build come first: the tests of language servers come last, and need the processors.
    let mut beside = Vec::new();
    if is_all {
        let seconds = (FUZZING / soak::target_names().count()).to_string();
        let mut fuzzing = xtask(&["soak", "--seconds", &seconds]);
        fuzzing.args(soak::target_names());
        let mut packages = xtask(&["package", "--check", "--binary"]);
        packages.arg(target_dir()?.join("debug/hob"));
        beside.extend([
            ("fuzzing", fuzzing),
            ("made-up part", xtask(&["part"])),
            ("packages", packages),
            ("clients", xtask(&["clients"])),
            ("age of figures", xtask(&["bench", "--check"])),
            // One of the agents on the page.
            ("agents", xtask(&["clients", "agents", "claude code"])),
        ]);
    }
    beside.extend([("conformance", xtask(&["conformance"])), ("documentation", doc_tests)]);
    steps.side_by_side(("tests", tests), beside)
}

/// Runs one of our tasks in a separate process, so that its output is captured. It runs through cargo, because an
/// earlier build may have replaced the running program's file.
fn xtask(words: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["xtask"]).args(words).env(IS_BUILT, "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both runners leave out the same tests.
    #[test]
    fn both_runners_leave_out_the_same_tests() {
        let config = std::fs::read_to_string(root().join(".config/nextest.toml")).expect("a file of the checkout");
        assert!(config.contains(&format!("default-filter = 'not test(/{LONG_RUN}$/)'")), "{config}");
        assert!(run_task(&["--al".to_owned()]).unwrap_err().to_string().contains("--all"));
    }
}
