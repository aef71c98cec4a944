//! `cargo xtask soak`: the fuzz targets, each for ten minutes or as long as is said. A crash, a hang, memory without bound,
//! a line that is no message, a request answered never or twice: each ends it and leaves the input that did it.
//!
//! The targets are in `fuzz/`, the inputs they begin with in `fuzz/corpus`. Instrumentation is the stable compiler's,
//! as `cargo fuzz run -s none` sets it; that program is not needed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, root, run, target_dir};

const TARGETS: [&str; 2] = ["framing", "connection"];
/// How long each target runs, in seconds.
const FULL: u64 = 600;

/// What cargo-fuzz hands to the compiler without a sanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// The task: `--seconds N` for each target; `--keep` adds to the corpus what found something new.
pub(crate) fn run_task(args: &[String]) -> Result<()> {
    let (mut seconds, mut keep) = (FULL, false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                seconds = args.next().and_then(|text| text.parse().ok()).context("--seconds wants a number")?
            }
            "--keep" => keep = true,
            other => bail!("soak: there is no option {other:?}; there are --seconds N and --keep"),
        }
    }
    with(seconds)?;
    match keep {
        true => TARGETS.iter().try_for_each(|name| merge(name)),
        false => Ok(()),
    }
}

/// Runs every target for so long.
pub(crate) fn with(seconds: u64) -> Result<()> {
    let target = target_dir()?.join("fuzz");
    // Named, so that the flags are for the targets alone and not for build scripts.
    let host = host()?;
    run(cargo()
        .args(["build", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml", "--bins"])
        .args(["--target", &host, "--target-dir"])
        .arg(&target)
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    let programs = target.join(&host).join("release");
    for name in TARGETS {
        soak(name, &programs.join(name), &target, seconds)?;
    }
    println!("soak: {} for {seconds} s each, nothing found", TARGETS.join(" and "));
    Ok(())
}

fn soak(name: &str, program: &Path, target: &Path, seconds: u64) -> Result<()> {
    let (corpus, found) = (target.join("corpus").join(name), target.join("found"));
    for dir in [&corpus, &found] {
        std::fs::create_dir_all(dir).with_context(|| format!("could not make {dir:?}"))?;
    }
    let artifacts = format!("-artifact_prefix={}/{name}-", found.display());
    let words = format!("-dict={}", root().join("fuzz/mcp.dict").display());
    run(Command::new(program)
        .arg(&corpus)
        .arg(root().join("fuzz/corpus").join(name))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-max_len=8192", "-print_final_stats=1", "-verbosity=0"])
        .args([&artifacts, &words]))
    .with_context(|| format!("{name}: the input that did it is in {}", found.display()))
}

/// Adds to the kept corpus what reaches code that nothing in it reaches.
fn merge(name: &str) -> Result<()> {
    let target = target_dir()?.join("fuzz");
    let program = target.join(host()?).join("release").join(name);
    let kept = root().join("fuzz/corpus").join(name);
    run(Command::new(program).args(["-merge=1", "-max_len=8192"]).arg(kept).arg(target.join("corpus").join(name)))
}

fn host() -> Result<String> {
    let said = crate::workspace::read(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}
