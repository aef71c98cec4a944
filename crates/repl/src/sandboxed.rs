//! The sandbox of sessions (`sandbox = "workspace"`): what a session may do, in words, and its private directory.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use process::sandbox::{Sandbox, Support};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sandbox for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Write only in the worktree and a private temporary directory, and open no TCP connections.
    Workspace,
}

/// The variables that name a directory for temporary files.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// Returns the note for the start of a session with a sandbox.
pub(crate) fn note(support: Support) -> String {
    let gaps = support.gaps();
    if !support.is_any() {
        return format!("NOT in a sandbox, although `sandbox` requires one: {}.", gaps.join(", "));
    }
    if !gaps.is_empty() {
        return format!(
            "In a sandbox that this kernel only partly enforces: it writes only in the worktree and its own TMPDIR, \
             but {}.",
            gaps.join(" and ")
        );
    }
    "In a sandbox: it writes only in the worktree and its own TMPDIR, and opens no TCP connections.".to_owned()
}

/// The private temporary directory of a session, removed with it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates the directory. `name` must be unguessable and unique.
    pub(crate) fn create(name: &str) -> io::Result<Scratch> {
        let path = project::temporary().join(format!("hob-{name}.tmp"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Scratch(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the variables for the session.
    pub(crate) fn env(&self) -> impl Iterator<Item = (String, String)> + '_ {
        TEMPORARY.iter().map(|name| ((*name).to_owned(), self.0.to_string_lossy().into_owned()))
    }

    /// Returns the sandbox of a session in this worktree.
    pub(crate) fn sandbox(&self, worktree: &Path) -> Sandbox {
        Sandbox { writable: vec![worktree.to_owned(), self.0.clone()] }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "remove a session's temporary directory");
        }
    }
}

/// Tries on this machine if the sandbox holds: a program writes outside of it. Returns a sentence, and true if it held.
pub fn trial() -> (bool, String) {
    let support = Support::ask();
    let gaps = support.gaps().join(" and ");
    if !support.is_any() {
        return (false, format!("not enforced here: {gaps}"));
    }
    match is_held() {
        Ok(true) if gaps.is_empty() => (true, "enforced here: no writes elsewhere, no TCP connections".to_owned()),
        Ok(true) => (false, format!("partly enforced here: no writes elsewhere, but {gaps}")),
        Ok(false) => (false, "not enforced here: a program in the sandbox wrote elsewhere".to_owned()),
        Err(error) => (false, format!("cannot be tested: {error}")),
    }
}

fn is_held() -> io::Result<bool> {
    let [inside, outside] = [process::Nonce::random(), process::Nonce::random()];
    let (inside, outside) = (Scratch::create(inside.as_str())?, Scratch::create(outside.as_str())?);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", ": >\"$0/file\"; : >\"$1/file\""]).args([inside.path(), outside.path()]);
    command.stderr(std::process::Stdio::null());
    Sandbox { writable: vec![inside.path().to_owned()] }.apply(&mut command)?;
    command.status()?;
    Ok(inside.path().join("file").exists() && !outside.path().join("file").exists())
}
