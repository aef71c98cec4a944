//! The official SDKs: built or installed on demand below the build directory, in nobody else's way.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cache::Builds;
use crate::setup::{self, node_packages};
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
        let builds = Builds::lent("peer-rmcp", &sources.join("rmcp/Cargo.lock"), &target, &["release"])?;
        run(cargo()
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(sources.join("rmcp/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target))?;
        builds.keep()?;
        let scripts = target.join("node");
        std::fs::create_dir_all(&scripts).with_context(|| format!("could not make {scripts:?}"))?;
        let copy = |name: &str| -> Result<()> {
            std::fs::copy(sources.join("node").join(name), scripts.join(name))
                .map(drop)
                .with_context(|| format!("could not copy {name}"))
        };
        ["sdk1.mjs", "sdk2.mjs"].into_iter().try_for_each(copy)?;
        let bin = tools.python.parent().expect("a program lies in a folder");
        node_packages("peers", &sources.join("node"), bin, &scripts)?;
        Ok(Self {
            rmcp: target.join("release/peer-rmcp"),
            node: tools.node,
            scripts,
            python: tools.python,
            script: sources.join("echo.py"),
        })
    }
}
