//! `cargo xtask soak`: runs each fuzz target for ten minutes or `--seconds`, then the randomized tests with many
//! repetitions. A crash, a hang, unbounded memory, an invalid message, a request answered never or twice, or a wrong
//! answer ends the run. The input or seed that caused it is kept.
//!
//! The targets are in `fuzz/`, their initial inputs in `fuzz/corpus`. They are instrumented by the stable compiler with
//! the flags of `cargo fuzz run -s none`; cargo-fuzz itself is not needed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use taskkit::cache::Builds;
use taskkit::workspace::{cargo, root, run, target_dir};

/// A fuzz target.
struct Target {
    name: &'static str,
    /// Tokens that a mutation may insert.
    dictionary: Option<&'static str>,
    /// Directories with initial inputs besides the corpus.
    seeds: &'static [&'static str],
    /// The maximal length of an input, in bytes.
    max_len: u32,
}

const TARGETS: [Target; 7] = [
    mcp("framing"),
    mcp("connection"),
    cure("cure_parser"),
    cure("cure_checker"),
    cure("cure_writer"),
    hooks("hook"),
    hooks("shell_words"),
];

const fn mcp(name: &'static str) -> Target {
    Target { name, dictionary: Some("fuzz/mcp.dict"), seeds: &[], max_len: 8192 }
}

const fn hooks(name: &'static str) -> Target {
    Target { name, dictionary: Some("fuzz/hooks.dict"), seeds: &[], max_len: 4096 }
}

/// No dictionary: the edits of these targets (`fuzz/src/cure/edit.rs`) insert tokens themselves.
const fn cure(name: &'static str) -> Target {
    Target { name, dictionary: None, seeds: &["crates/cure/examples"], max_len: 4096 }
}

/// A randomized test, which repeats a few times in every run of the tests.
struct RandomTest {
    name: &'static str,
    /// The arguments of `cargo test` that select this test.
    test: &'static [&'static str],
    /// The variable for the number of repetitions.
    times_variable: &'static str,
    default_times: u64,
    /// Other variables that a long run sets.
    environment: &'static [(&'static str, &'static str)],
    /// The variable for the seed.
    seed_variable: &'static str,
}

const RANDOM_TESTS: [RandomTest; 3] = [
    RandomTest {
        name: "interrupts",
        test: &["-p", "repl", "--lib", "session::tests::soak::"],
        times_variable: "HOB_STRESS_INTERRUPTS",
        default_times: 2000,
        environment: &[("HOB_STRESS_BUSY", "2")],
        seed_variable: "HOB_STRESS_SEED",
    },
    RandomTest {
        name: "pieces",
        test: &["-p", "repl", "--lib", "session::tests::haskell::"],
        times_variable: "HOB_STRESS_PIECES",
        default_times: 1000,
        environment: &[],
        seed_variable: "HOB_STRESS_SEED",
    },
    RandomTest {
        name: "checkouts",
        test: &["-p", "hob", "--test", "it", "checkouts::generator::checkouts_of_a_generator_long_run"],
        times_variable: "HOB_CHECKOUTS",
        default_times: 300,
        environment: &[],
        seed_variable: "HOB_CHECKOUTS_SEED",
    },
];

/// Default duration of each target in seconds.
const DEFAULT_SECONDS: u64 = 600;

/// The compiler flags of cargo-fuzz without a sanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// Runs the named targets and tests, or all. `--seconds N` is for each target, `--times N` and `--seed N` for
/// randomized tests;
/// `--keep` adds inputs that reached new code to the corpus.
pub(crate) fn run_task(args: &[String]) -> Result<()> {
    let (mut seconds, mut keep, mut times, mut seed) = (DEFAULT_SECONDS, false, None, None);
    let (mut named, mut random_tests) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                seconds = args.next().and_then(|text| text.parse().ok()).context("--seconds wants a number")?
            }
            "--times" => times = Some(number(args.next()).context("--times wants a number")?),
            "--seed" => seed = Some(number(args.next()).context("--seed wants a number")?),
            "--keep" => keep = true,
            name => {
                match (TARGETS.iter().find(|one| one.name == name), RANDOM_TESTS.iter().find(|one| one.name == name)) {
                    (Some(one), _) => named.push(one),
                    (None, Some(one)) => random_tests.push(one),
                    (None, None) => {
                        let (targets, random_tests) = (TARGETS.map(|one| one.name), RANDOM_TESTS.map(|one| one.name));
                        bail!(
                            "soak: there is no {name:?}; there are --seconds N, --keep and the targets {}, and --times N, --seed N \
                         and {}",
                            targets.join(", "),
                            random_tests.join(", ")
                        )
                    }
                }
            }
        }
    }
    if named.is_empty() && random_tests.is_empty() {
        named.extend(&TARGETS);
        random_tests.extend(&RANDOM_TESTS);
    }
    if !named.is_empty() {
        fuzz_all(&named, seconds)?;
    }
    for one in random_tests {
        repeat(one, times.unwrap_or(one.default_times), seed)?;
    }
    if keep { named.into_iter().try_for_each(merge) } else { Ok(()) }
}

fn number(text: Option<&String>) -> Option<u64> {
    text?.parse().ok()
}

/// Runs a randomized test with this many repetitions.
fn repeat(one: &RandomTest, times: u64, seed: Option<u64>) -> Result<()> {
    let mut test = cargo();
    test.arg("test").args(one.test).args(["--", "--nocapture", "--test-threads=1"]);
    test.env(one.times_variable, times.to_string()).envs(one.environment.iter().copied());
    if let Some(seed) = seed {
        test.env(one.seed_variable, seed.to_string());
    }
    run(&mut test).with_context(|| format!("{}: the seed is above; --seed repeats the run", one.name))?;
    println!("soak: {} {times} times, nothing found", one.name);
    Ok(())
}

/// Returns the names of the fuzz targets, which are also their programs' names.
pub(crate) fn target_names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}

/// Builds the targets and runs each for `seconds`.
fn fuzz_all(targets: &[&Target], seconds: u64) -> Result<()> {
    let target = target_dir()?.join("fuzz");
    // With an explicit target, cargo applies the flags to the fuzz targets and not to build scripts.
    let host = host()?;
    let programs = target.join(&host).join("release");
    let builds =
        Builds::restore("fuzz", &root().join("fuzz/Cargo.lock"), &target, &["release", &format!("{host}/release")])?;
    run(cargo()
        .args(["build", "--locked", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml", "--bins"])
        .args(["--target", &host, "--target-dir"])
        .arg(&target)
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    builds.save()?;
    for one in targets {
        fuzz(one, &programs.join(one.name), &target, seconds)?;
    }
    let names: Vec<_> = targets.iter().map(|one| one.name).collect();
    println!("soak: {} for {seconds} s each, nothing found", names.join(", "));
    Ok(())
}

fn fuzz(one: &Target, program: &Path, target: &Path, seconds: u64) -> Result<()> {
    let name = one.name;
    let (corpus, found) = (target.join("corpus").join(name), target.join("found"));
    for dir in [&corpus, &found] {
        std::fs::create_dir_all(dir).with_context(|| format!("could not make {dir:?}"))?;
    }
    let artifacts = format!("-artifact_prefix={}/{name}-", found.display());
    let dictionary = one.dictionary.map(|file| format!("-dict={}", root().join(file).display()));
    let max_len = format!("-max_len={}", one.max_len);
    run(Command::new(program)
        .arg(&corpus)
        .arg(root().join("fuzz/corpus").join(name))
        .args(one.seeds.iter().map(|seeds| root().join(seeds)))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1", "-verbosity=0"])
        .args([&artifacts, &max_len])
        .args(dictionary))
    .with_context(|| format!("{name}: the input that did it is in {}", found.display()))
}

/// Adds inputs that reach new code to the committed corpus.
fn merge(one: &Target) -> Result<()> {
    let name = one.name;
    let target = target_dir()?.join("fuzz");
    let program = target.join(host()?).join("release").join(name);
    let kept = root().join("fuzz/corpus").join(name);
    run(Command::new(program)
        .arg("-merge=1")
        .arg(format!("-max_len={}", one.max_len))
        .arg(kept)
        .arg(target.join("corpus").join(name)))
}

fn host() -> Result<String> {
    let said = taskkit::workspace::read(Command::new("rustc").arg("-vV"))?;
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
        let named = format!("at random: {}\n", RANDOM_TESTS.map(|one| one.name).join(" "));
        assert!(crate::USAGE.contains(&named), "{named}");
        assert!(run_task(&["parser".to_owned()]).unwrap_err().to_string().contains("cure_parser"));
    }
    #[test]
    fn the_lock_file_of_the_fuzz_targets_is_in_step() {
        let mut metadata = cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1", "--manifest-path", "fuzz/Cargo.toml"]);
        let said = metadata.current_dir(root()).output().expect("cargo runs");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
}
