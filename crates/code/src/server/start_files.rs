//! The files that decide whether a server can start: its program and the files read by version managers. If one
//! changes, a server that failed to start may be tried again.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Start;

/// Files at the root from which version managers choose a version.
const CHOICES: &[&str] = &[
    "rust-toolchain.toml",
    "rust-toolchain",
    ".tool-versions",
    "mise.toml",
    ".python-version",
    ".node-version",
    ".nvmrc",
    "package.json",
];

/// The state of these files when the server was started.
#[derive(Debug)]
pub(super) struct StartFiles {
    /// The program: a file, or a name on the search path.
    files: Vec<PathBuf>,
    toolchains: Option<PathBuf>,
    before: Vec<Stamp>,
}

/// Modification time and size; `None` if the file does not exist.
type Stamp = Option<(SystemTime, u64)>;

impl StartFiles {
    pub(super) fn collect(start: &Start) -> StartFiles {
        let variable =
            |name: &str| start.env.iter().find(|(known, _)| known == name).map(|(_, value)| Path::new(value));
        let rustup = variable("RUSTUP_HOME").map(Path::to_owned);
        let rustup = rustup.or_else(|| Some(variable("HOME")?.join(".rustup")));
        let program = start.command.first().map(|program| start.root.join(program));
        let chosen = rustup.as_ref().map(|rustup| rustup.join("settings.toml"));
        let choices = CHOICES.iter().map(|name| start.root.join(name));
        let files: Vec<PathBuf> = program.into_iter().chain(chosen).chain(choices).collect();
        let toolchains = rustup.map(|rustup| rustup.join("toolchains"));
        let before = stamps(&files, toolchains.as_deref());
        StartFiles { files, toolchains, before }
    }

    pub(super) fn have_changed(&self) -> bool {
        stamps(&self.files, self.toolchains.as_deref()) != self.before
    }
}

/// Returns the stamps of the files and of the directories into which rustup installs components.
fn stamps(files: &[PathBuf], toolchains: Option<&Path>) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let metadata = path.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    let installed = toolchains.and_then(|toolchains| toolchains.read_dir().ok()).into_iter().flatten().flatten();
    let mut installed: Vec<PathBuf> = installed.map(|toolchain| toolchain.path().join("bin")).collect();
    installed.sort();
    files.iter().chain(&installed).map(stamp).collect()
}
