//! The task that packs hob for users without Rust: `cargo xtask package`.
//!
//! Packs one built program as a wheel for pip and uv, as packages for npm and as an MCP bundle, next to `server.json`, an SBOM
//! and checksums. It publishes nothing. [`binary`] builds and inspects the program, [`wheel`], [`npm`] and [`bundle`] each pack it,
//! [`check`] installs the results. [`crates`] and [`formula`] prepare crates.io and Homebrew. [`plugin`] keeps the folder
//! `plugin` equal to the guide. Depends on none of the product's crates.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

mod binary;
mod bundle;
mod check;
mod crates;
mod files;
mod formula;
mod mach_o;
mod npm;
mod plugin;
mod product;
mod roots;
mod sbom;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use taskkit::tasks::{self, Task};
use taskkit::workspace::target_dir;

use binary::Binary;
use product::Product;

const USAGE: &str = "\
usage: cargo xtask TASK

  package [--binary FILE] [--target TRIPLE] [--out DIR] [--check] [--debian] [--release]
                           pack hob as a wheel, npm packages and an MCP bundle, with `server.json`, an SBOM and SHA256SUMS;
                           builds it with cargo-zigbuild for glibc 2.17 unless FILE is given; --check installs each package
                           offline and evaluates; --debian does so in bare Debian 11 and 12 (needs root and debootstrap);
                           --release refuses while the owner of the repository is a placeholder
  package crates DIR       copy the crates under the names that they have on crates.io, and pack each
  package formula DIR      write the formula for Homebrew to a folder with the packages of all released platforms
  package plugin           write the generated files of the folder `plugin`
";

const TASKS: &[Task] = &[("package", run)];

fn main() -> ExitCode {
    tasks::run(USAGE, TASKS)
}

fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["plugin"] => return plugin::write(),
        ["crates", out] => return crates::write(&Product::load()?, Path::new(out)),
        ["formula", folder] => return formula::write(&Product::load()?, Path::new(folder)),
        _ => {}
    }
    let (mut file, mut triple, mut out, mut checks, mut debian) = (None, None, None, false, false);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--binary" => file = Some(PathBuf::from(value()?)),
            "--target" => triple = Some(value()?.clone()),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--check" => checks = true,
            "--debian" => debian = true,
            "--release" => product::check_release()?,
            other => bail!("unknown argument {other:?}; see `cargo xtask package --help`"),
        }
    }
    let product = Product::load()?;
    let file = match file {
        Some(file) => file,
        None => binary::build(triple.as_deref())?,
    };
    let binary = Binary::inspect(&file)?;
    let out = match out {
        Some(out) => out,
        None => target_dir()?.join("packages"),
    };
    pack(&product, &binary, &out)?;
    if checks {
        check::run(&product, &binary, &out)?;
    }
    if debian {
        roots::run(&product, &binary, &out)?;
    }
    Ok(())
}

/// Writes all packages of a program into an empty folder, and prints their sizes.
fn pack(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    println!("package: {}", binary.describe());
    if out.exists() {
        std::fs::remove_dir_all(out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    wheel::write(product, binary, out)?;
    npm::write(product, binary, out)?;
    bundle::write(product, binary, out)?;
    sbom::write(product, binary, out)?;
    for (name, bytes) in files::write_checksums(out)? {
        println!("  {:>6.1} MiB  {name}", bytes as f64 / f64::from(1 << 20));
    }
    println!("package: written to {}", out.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_in_the_help() {
        for (task, _) in TASKS {
            assert!(USAGE.contains(&format!("\n  {task} ")), "{task}");
        }
        assert!(run(&["--chek".to_owned()]).unwrap_err().to_string().contains("--help"));
    }
}
