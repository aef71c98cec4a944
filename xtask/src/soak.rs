//! `cargo xtask soak`: the fuzz targets, each for ten minutes or as long as is said; then what the tests do at random, far
//! more often than they do it themselves. A crash, a hang, memory without bound, a line that is no message, a request
//! answered never or twice, an answer that is not true: each ends it and leaves the input, or the seed, that did it.
//!
//! The targets are in `fuzz/`, the inputs they begin with in `fuzz/corpus`. Instrumentation is the stable compiler's,
//! as `cargo fuzz run -s none` sets it; that program is not needed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cache::Builds;
use crate::workspace::{cargo, root, run, target_dir};

/// A fuzz target.
struct Target {
    name: &'static str,
    /// Words that a mutation may put in.
    words: Option<&'static str>,
    /// Where inputs to begin with stand, besides its corpus.
    seeds: &'static [&'static str],
    /// The longest input, in bytes.
    longest: u32,
}

const TARGETS: [Target; 5] =
    [mcp("framing"), mcp("connection"), cure("cure_parser"), cure("cure_checker"), cure("cure_writer")];

const fn mcp(name: &'static str) -> Target {
    Target { name, words: Some("fuzz/mcp.dict"), seeds: &[], longest: 8192 }
}

/// Its edits know words of their own.
const fn cure(name: &'static str) -> Target {
    Target { name, words: None, seeds: &["crates/cure/examples"], longest: 4096 }
}

/// Something that a test does at random, a few times in every run of the tests.
struct Often {
    name: &'static str,
    /// What `cargo test` is told to run it alone.
    test: &'static [&'static str],
    /// Says how often.
    count: &'static str,
    full: u64,
    /// What else a long run sets.
    also: &'static [(&'static str, &'static str)],
    /// Repeats a run.
    seed: &'static str,
}

const OFTEN: [Often; 3] = [
    Often {
        name: "interrupts",
        test: &["-p", "repl", "--lib", "session::tests::soak::"],
        count: "HOB_STRESS_INTERRUPTS",
        full: 2000,
        also: &[("HOB_STRESS_BUSY", "2")],
        seed: "HOB_STRESS_SEED",
    },
    Often {
        name: "pieces",
        test: &["-p", "repl", "--lib", "session::tests::haskell::"],
        count: "HOB_STRESS_PIECES",
        full: 1000,
        also: &[],
        seed: "HOB_STRESS_SEED",
    },
    Often {
        name: "checkouts",
        test: &["-p", "hob", "--test", "it", "checkouts::checkouts_of_a_generator"],
        count: "HOB_CHECKOUTS",
        full: 300,
        also: &[],
        seed: "HOB_CHECKOUTS_SEED",
    },
];

/// How long each target runs, in seconds.
const FULL: u64 = 600;

/// What cargo-fuzz hands to the compiler without a sanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// The task: names, or all; `--seconds N` for each target; `--times N` and `--seed N` for what tests do; `--keep` adds to the
/// corpus what found something new.
pub(crate) fn run_task(args: &[String]) -> Result<()> {
    let (mut seconds, mut keep, mut times, mut seed) = (FULL, false, None, None);
    let (mut named, mut often) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                seconds = args.next().and_then(|text| text.parse().ok()).context("--seconds wants a number")?
            }
            "--times" => times = Some(number(args.next()).context("--times wants a number")?),
            "--seed" => seed = Some(number(args.next()).context("--seed wants a number")?),
            "--keep" => keep = true,
            name => match (TARGETS.iter().find(|one| one.name == name), OFTEN.iter().find(|one| one.name == name)) {
                (Some(one), _) => named.push(one),
                (None, Some(one)) => often.push(one),
                (None, None) => {
                    let (targets, often) = (TARGETS.map(|one| one.name), OFTEN.map(|one| one.name));
                    bail!(
                        "soak: there is no {name:?}; there are --seconds N, --keep and the targets {}, and --times N, --seed N \
                         and {}",
                        targets.join(", "),
                        often.join(", ")
                    )
                }
            },
        }
    }
    if named.is_empty() && often.is_empty() {
        named.extend(&TARGETS);
        often.extend(&OFTEN);
    }
    if !named.is_empty() {
        with(&named, seconds)?;
    }
    for one in often {
        repeat(one, times.unwrap_or(one.full), seed)?;
    }
    match keep {
        true => named.into_iter().try_for_each(merge),
        false => Ok(()),
    }
}

fn number(text: Option<&String>) -> Option<u64> {
    text?.parse().ok()
}

/// Runs a test that counts what it does, so often.
fn repeat(one: &Often, times: u64, seed: Option<u64>) -> Result<()> {
    let mut test = cargo();
    test.arg("test").args(one.test).args(["--", "--nocapture", "--test-threads=1"]);
    test.env(one.count, times.to_string()).envs(one.also.iter().copied());
    if let Some(seed) = seed {
        test.env(one.seed, seed.to_string());
    }
    run(&mut test).with_context(|| format!("{}: the seed is above; --seed repeats the run", one.name))?;
    println!("soak: {} {times} times, nothing found", one.name);
    Ok(())
}

/// The programs of the fuzz targets.
pub(crate) fn target_names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}

/// Runs each of these for so long.
fn with(targets: &[&Target], seconds: u64) -> Result<()> {
    let target = target_dir()?.join("fuzz");
    // Named, so that the flags are for the targets alone and not for build scripts.
    let host = host()?;
    let programs = target.join(&host).join("release");
    let builds =
        Builds::lent("fuzz", &root().join("fuzz/Cargo.lock"), &target, &["release", &format!("{host}/release")])?;
    run(cargo()
        .args(["build", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml", "--bins"])
        .args(["--target", &host, "--target-dir"])
        .arg(&target)
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    builds.keep()?;
    for one in targets {
        soak(one, &programs.join(one.name), &target, seconds)?;
    }
    let names: Vec<_> = targets.iter().map(|one| one.name).collect();
    println!("soak: {} for {seconds} s each, nothing found", names.join(", "));
    Ok(())
}

fn soak(one: &Target, program: &Path, target: &Path, seconds: u64) -> Result<()> {
    let name = one.name;
    let (corpus, found) = (target.join("corpus").join(name), target.join("found"));
    for dir in [&corpus, &found] {
        std::fs::create_dir_all(dir).with_context(|| format!("could not make {dir:?}"))?;
    }
    let artifacts = format!("-artifact_prefix={}/{name}-", found.display());
    let words = one.words.map(|words| format!("-dict={}", root().join(words).display()));
    let longest = format!("-max_len={}", one.longest);
    run(Command::new(program)
        .arg(&corpus)
        .arg(root().join("fuzz/corpus").join(name))
        .args(one.seeds.iter().map(|seeds| root().join(seeds)))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1", "-verbosity=0"])
        .args([&artifacts, &longest])
        .args(words))
    .with_context(|| format!("{name}: the input that did it is in {}", found.display()))
}

/// Adds to the kept corpus what reaches code that nothing in it reaches.
fn merge(one: &Target) -> Result<()> {
    let name = one.name;
    let target = target_dir()?.join("fuzz");
    let program = target.join(host()?).join("release").join(name);
    let kept = root().join("fuzz/corpus").join(name);
    run(Command::new(program)
        .arg("-merge=1")
        .arg(format!("-max_len={}", one.longest))
        .arg(kept)
        .arg(target.join("corpus").join(name)))
}

fn host() -> Result<String> {
    let said = crate::workspace::read(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_target() {
        let named = format!("targets: {}\n", TARGETS.map(|one| one.name).join(" "));
        assert!(crate::USAGE.contains(&named), "{named}");
        let named = format!("at random: {}\n", OFTEN.map(|one| one.name).join(" "));
        assert!(crate::USAGE.contains(&named), "{named}");
        assert!(run_task(&["parser".to_owned()]).unwrap_err().to_string().contains("cure_parser"));
    }
}
