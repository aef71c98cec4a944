//! The GHC of a project: what it is, its packages, and the programs that come with it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{Bounds, Guard, Spec};

use crate::programs;

/// How programs of a project are run.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    pub env: Vec<(String, String)>,
    pub guard: Guard,
    pub records: Option<PathBuf>,
}

/// A compiler yields to whoever waits for an answer.
const NICE: i32 = 5;

impl Runner {
    pub(super) fn spec(&self, program: &Path, directory: &Path, args: &[OsString]) -> Spec {
        let mut spec = Spec::new(program, directory).args(args).env(self.env.clone());
        // Messages are read, so they are English and plain.
        spec = spec.env([("LC_ALL", "C.UTF-8"), ("GHC_NO_UNICODE", "1")]);
        spec.guard = self.guard.clone();
        spec.records = self.records.clone();
        spec.nice = NICE;
        spec
    }

    /// What a program prints; `Err` with how it failed.
    pub(super) async fn output(&self, program: &Path, directory: &Path, args: &[&str]) -> Result<String, String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let bounds = Bounds { deadline: Duration::from_secs(300), stdout: 1 << 30, stderr: 16 << 10 };
        let answer = self.spec(program, directory, &args).answer(bounds).await.map_err(|error| error.to_string())?;
        if !answer.exit.success() {
            let stderr = String::from_utf8_lossy(&answer.stderr).into_owned();
            let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            return Err(format!("{} {}: {}", program.display(), answer.exit, line.trim()));
        }
        Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A GHC.
#[derive(Debug, Clone)]
pub(super) struct Toolchain {
    pub ghc: PathBuf,
    pub ghc_pkg: PathBuf,
    pub version: String,
    /// Of packages that are installed, the first one hiding those before it.
    pub databases: Vec<PathBuf>,
    /// Options that make GHC see the databases besides its own.
    pub options: Vec<String>,
    /// The names of installed packages.
    pub packages: BTreeSet<String>,
}

impl Toolchain {
    /// The GHC that a program is, with the databases of packages that the project may use.
    pub(super) async fn new(runner: &Runner, ghc: PathBuf, root: &Path, is_stack: bool) -> Result<Toolchain, String> {
        let said = runner.output(&ghc, Path::new("/"), &["--numeric-version"]).await?;
        let version = said.trim().to_owned();
        let said = runner.output(&ghc, Path::new("/"), &["--print-libdir"]).await?;
        let mut databases = vec![Path::new(said.trim()).join("package.conf.d")];
        let more = if is_stack { of_stack(runner, root).await } else { of_cabal(runner, &version) };
        databases.extend(more.into_iter().filter(|one| one.is_dir()));
        let options = databases[1..].iter().map(|one| format!("-package-db={}", one.display())).collect();
        let mut packages = BTreeSet::new();
        for entry in databases.iter().filter_map(|one| std::fs::read_dir(one).ok()).flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            packages.extend(file.strip_suffix(".conf").and_then(package_name));
        }
        Ok(Toolchain { ghc_pkg: companion(&ghc, "ghc-pkg"), ghc, version, databases, options, packages })
    }
}

/// The name in `unicode-data-0.3.1-5Ab`.
fn package_name(id: &str) -> Option<String> {
    let is_version = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !part.is_empty();
    let parts: Vec<&str> = id.split('-').collect();
    let at = parts.iter().skip(1).position(|part| is_version(&part))? + 1;
    Some(parts[..at].join("-"))
}

/// The program that is installed with GHC: `ghc-pkg-9.4.7` beside `ghc-9.4.7`.
fn companion(ghc: &Path, name: &str) -> PathBuf {
    let file = ghc.file_name().and_then(|file| file.to_str()).unwrap_or("ghc");
    ghc.with_file_name(file.replacen("ghc", name, 1))
}

/// What cabal has built and installed for this version.
fn of_cabal(runner: &Runner, version: &str) -> Vec<PathBuf> {
    let home = PathBuf::from(runner.variable("HOME").unwrap_or("/nonexistent"));
    let stores = [
        runner.variable("CABAL_DIR").map(|directory| PathBuf::from(directory).join("store")),
        Some(home.join(".cabal/store")),
        Some(home.join(".local/state/cabal/store")),
    ];
    let is_of = |name: &str| name == format!("ghc-{version}") || name.starts_with(&format!("ghc-{version}-"));
    let entries = stores.into_iter().flatten().filter_map(|store| std::fs::read_dir(store).ok()).flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_of))
        .map(|entry| entry.path().join("package.db"))
        .collect();
    found.sort();
    found
}

/// What stack has built and installed for a project.
async fn of_stack(runner: &Runner, root: &Path) -> Vec<PathBuf> {
    let Some(stack) = on_path(runner, "stack", root) else { return Vec::new() };
    let args = ["path", "--no-install-ghc", "--snapshot-pkg-db", "--local-pkg-db"];
    let said = runner.output(&stack, root, &args).await.unwrap_or_default();
    let place = |name: &str| said.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().into()));
    [place("snapshot-pkg-db:"), place("local-pkg-db:")].into_iter().flatten().collect()
}

/// The GHC that stack has for a project.
pub(super) async fn ghc_of_stack(runner: &Runner, root: &Path) -> Option<PathBuf> {
    let stack = on_path(runner, "stack", root)?;
    let said = runner.output(&stack, root, &["path", "--no-install-ghc", "--compiler-exe"]).await.ok()?;
    Some(PathBuf::from(said.trim())).filter(|ghc| ghc.is_file())
}

fn on_path(runner: &Runner, name: &str, root: &Path) -> Option<PathBuf> {
    let places = programs::places(name, runner.variable("PATH").unwrap_or_default(), root);
    places.into_iter().find(|program| programs::is_executable(program))
}

/// The GHC that `with-compiler` in `cabal.project` or `cabal.project.local` names: a path, or a program of the search path or of
/// ghcup.
pub(super) fn ghc_of_cabal(runner: &Runner, root: &Path) -> Option<PathBuf> {
    let named = ["cabal.project.local", "cabal.project"].iter().find_map(|file| {
        let text = std::fs::read_to_string(root.join(file)).ok()?;
        text.lines().find_map(|line| Some(line.strip_prefix("with-compiler:")?.trim().to_owned()))
    })?;
    if named.contains('/') {
        return Some(root.join(named)).filter(|ghc| programs::is_executable(ghc));
    }
    on_path(runner, &named, root).or_else(|| {
        let home = runner.variable("HOME")?;
        Some(Path::new(home).join(".ghcup/bin").join(named)).filter(|ghc| programs::is_executable(ghc))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_companions_are_named() {
        let name = |id: &str| package_name(id).unwrap_or_default();
        assert_eq!(
            ["base-4.15.1.0", "unicode-data-0.3.1-5Ab", "th-abstraction-0.4.5.0-Fx3", "rts"].map(name),
            ["base", "unicode-data", "th-abstraction", ""]
        );
        assert_eq!(companion(Path::new("/opt/ghc/bin/ghc-9.4.7"), "ghc-pkg"), Path::new("/opt/ghc/bin/ghc-pkg-9.4.7"));
    }
}
