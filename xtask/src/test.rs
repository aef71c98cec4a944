//! `cargo xtask test`: everything that must pass before a change lands. Cheap checks come first; tasks that need other
//! programs than the tests run beside them.

use std::process::Command;

use anyhow::{Result, bail};

use crate::cache::Builds;
use crate::steps::Steps;
use crate::workspace::{IS_BUILT, cargo, read, root, succeeds, target_dir};
use crate::{setup, soak, tidy};

/// How long the fuzz targets run together, in seconds.
const FUZZING: usize = 60;

/// Installs what is missing, checks and tests everything, and prints how long each step took.
pub(crate) fn run_task() -> Result<()> {
    let mut steps = Steps::default();
    let before = changed_files();
    let result = everything(&mut steps).and_then(|()| steps.step("clean tree", || nothing_changed(&before)));
    print!("\n{steps}");
    result
}

/// What git says is changed, and what of it; nothing outside of a repository.
fn changed_files() -> Option<String> {
    let git = |args: &[&str]| read(Command::new("git").args(args).current_dir(root())).ok();
    Some(git(&["status", "--porcelain"])? + &git(&["diff", "HEAD"])?)
}

/// Fails if the run changed a file that git knows or does not ignore: what tests write is ignored, and what is generated
/// or locked was fresh.
fn nothing_changed(before: &Option<String>) -> Result<()> {
    let after = changed_files();
    if *before != after {
        bail!("the run changed files of the checkout:\n{}", after.unwrap_or_default());
    }
    Ok(())
}

fn everything(steps: &mut Steps) -> Result<()> {
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
        // Half of a test's time is waiting.
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
    } else {
        tests.args(["test", "--locked", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]);
    }
    let mut doc_tests = cargo();
    doc_tests.args(["test", "--locked", "--quiet", "--workspace", "--doc"]);
    let seconds = (FUZZING / soak::target_names().count()).to_string();
    let mut fuzzing = xtask(&["soak", "--seconds", &seconds]);
    fuzzing.args(soak::target_names());
    // What may have to be built comes first: language servers, whose tests come last, need the processors.
    let beside = vec![
        ("fuzzing", fuzzing),
        ("made-up part", xtask(&["part"])),
        ("clients", xtask(&["clients"])),
        // One agent of those of the page.
        ("agents", xtask(&["clients", "agents", "claude code"])),
        ("conformance", xtask(&["conformance"])),
        ("documentation", doc_tests),
    ];
    steps.side_by_side(("tests", tests), beside)
}

/// One of our tasks, in its own process so that its output can be kept apart. By cargo: the build that went before may have
/// replaced the running program's file.
fn xtask(words: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["xtask"]).args(words).env(IS_BUILT, "1");
    command
}
