//! The echo servers on the official SDKs, built or installed on demand below the build directory.

use std::path::PathBuf;

use anyhow::{Context, Result};
use taskkit::cache::build_standalone;
use taskkit::setup::{self, copy_scripts, node_packages};
use taskkit::workspace::{Profile, root, target_dir};

/// The servers on the official SDKs, and their interpreters.
pub(super) struct Peers {
    /// The program on the Rust SDK.
    pub(super) rmcp: PathBuf,
    pub(super) node: PathBuf,
    /// Directory of the Node scripts and their packages.
    pub(super) scripts: PathBuf,
    pub(super) python: PathBuf,
    /// The script for Python.
    pub(super) script: PathBuf,
}

impl Peers {
    pub(super) fn build() -> Result<Self> {
        let tools = setup::tests()?;
        let sources = root().join("tools/bench/peers");
        let target = target_dir()?.join("peers");
        let rmcp = build_standalone("peer-rmcp", &sources.join("rmcp"), &target, Profile::Release)?.join("peer-rmcp");
        let scripts = target.join("node");
        std::fs::create_dir_all(&scripts).with_context(|| format!("could not make {scripts:?}"))?;
        copy_scripts(&["sdk1.mjs", "sdk2.mjs"], &sources.join("node"), &scripts)?;
        let bin = tools.python.parent().expect("a program lies in a folder");
        node_packages("peers", &sources.join("node"), bin, &scripts)?;
        Ok(Self { rmcp, node: tools.node, scripts, python: tools.python, script: sources.join("echo.py") })
    }
}
