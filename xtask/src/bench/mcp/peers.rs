//! The official SDKs: built or installed on demand below the build directory, in nobody else's way.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::setup::{self, once};
use crate::workspace::{cargo, root, run, target_dir};

/// Where the servers on the official SDKs are, and what runs them.
pub(super) struct Peers {
    /// The one on the Rust SDK.
    pub(super) rmcp: PathBuf,
    pub(super) node: PathBuf,
    /// The folder of the scripts for Node, beside their packages.
    pub(super) scripts: PathBuf,
    pub(super) python: PathBuf,
    /// The script for Python.
    pub(super) script: PathBuf,
}

impl Peers {
    pub(super) fn build() -> Result<Self> {
        let tools = setup::tests()?;
        let sources = root().join("xtask/peers");
        let target = target_dir()?.join("peers");
        // Its own workspace and build directory: no ordinary build compiles any of it.
        let manifest = sources.join("rmcp/Cargo.toml");
        run(cargo()
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&target))?;
        let scripts = target.join("node");
        std::fs::create_dir_all(&scripts).with_context(|| format!("could not make {scripts:?}"))?;
        let copy = |name: &str| -> Result<()> {
            std::fs::copy(sources.join("node").join(name), scripts.join(name))
                .map(drop)
                .with_context(|| format!("could not copy {name}"))
        };
        ["sdk1.mjs", "sdk2.mjs"].into_iter().try_for_each(copy)?;
        let lock = sources.join("node/package-lock.json");
        once(&target.join("node.done"), &lock, "the TypeScript servers", |_| {
            ["package.json", "package-lock.json"].into_iter().try_for_each(copy)?;
            let npm = |bin: &Path| Command::new(bin.join("npm"));
            let bin = tools.python.parent().expect("a program lies in a folder");
            let path = std::env::join_paths(
                std::iter::once(bin.to_path_buf())
                    .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
            )?;
            run(npm(bin)
                .args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"])
                .current_dir(&scripts)
                .env("PATH", path))
        })?;
        Ok(Self {
            rmcp: target.join("release/peer-rmcp"),
            node: tools.node,
            scripts,
            python: tools.python,
            script: sources.join("echo.py"),
        })
    }
}
