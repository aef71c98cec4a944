//! The GHC of a project, its packages, and its companion programs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{Bounds, Guard, Spec};

use crate::programs;

/// Runs programs for a project.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    pub env: Vec<(String, String)>,
    pub guard: Guard,
    pub records: Option<PathBuf>,
    /// The directory for temporary files.
    pub scratch: PathBuf,
}

/// The compiler yields to processes that answer questions.
const NICE: i32 = 5;

impl Runner {
    pub(super) fn spec(&self, program: &Path, directory: &Path, args: &[OsString]) -> Spec {
        let mut spec = Spec::new(program, directory).args(args).env(self.env.clone());
        // hob parses the messages, so they must be plain English.
        spec = spec.env([("LC_ALL", "C.UTF-8"), ("GHC_NO_UNICODE", "1")]).env([("TMPDIR", &self.scratch)]);
        spec.guard = self.guard.clone();
        spec.records = self.records.clone();
        spec.nice = NICE;
        spec
    }

    /// Runs a program and returns its output; `Err` explains how it failed.
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

/// A GHC with its packages.
#[derive(Debug, Clone)]
pub(super) struct Toolchain {
    pub ghc: PathBuf,
    pub ghc_pkg: PathBuf,
    pub version: String,
    /// The databases of installed packages. Later ones hide earlier ones.
    pub databases: Vec<PathBuf>,
    /// Options that add the databases.
    pub options: Vec<String>,
    /// The names of installed packages.
    pub packages: BTreeSet<String>,
}

impl Toolchain {
    /// Returns the GHC of a project, or `given` if the project names none, with its available packages.
    pub(super) async fn new(runner: &Runner, root: &Path, given: PathBuf) -> Result<Toolchain, String> {
        let is_stack = root.join("stack.yaml").is_file() && !root.join("cabal.project").is_file();
        let stack = is_stack.then(|| Stack::new(root)).flatten();
        let named = match &stack {
            Some(stack) => stack.ghc(runner, root),
            None => ghc_of_cabal(runner, root),
        };
        let ghc = named.unwrap_or(given);
        let said = runner.output(&ghc, Path::new("/"), &["--numeric-version"]).await?;
        let version = said.trim().to_owned();
        let said = runner.output(&ghc, Path::new("/"), &["--print-libdir"]).await?;
        let mut databases = vec![Path::new(said.trim()).join("package.conf.d")];
        let more = stack.map_or_else(|| of_cabal(runner, &version), |stack| stack.databases(runner));
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

/// Returns the name of a package id: `unicode-data` in `unicode-data-0.3.1-5Ab`.
fn package_name(id: &str) -> Option<String> {
    let is_version = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !part.is_empty();
    let parts: Vec<&str> = id.split('-').collect();
    let at = parts.iter().skip(1).position(|part| is_version(part))? + 1;
    Some(parts[..at].join("-"))
}

/// Returns a program installed with GHC: `ghc-pkg-9.4.7` next to `ghc-9.4.7`.
fn companion(ghc: &Path, name: &str) -> PathBuf {
    let file = ghc.file_name().and_then(|file| file.to_str()).unwrap_or("ghc");
    ghc.with_file_name(file.replacen("ghc", name, 1))
}

/// Returns the databases of packages that cabal built for this version.
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

/// The output of a stack build, found by its folders. stack itself does not run, because it writes into the project.
struct Stack {
    platform: String,
    snapshot: String,
    version: String,
    local: PathBuf,
}

impl Stack {
    /// Returns the latest build below `.stack-work/install/PLATFORM/SNAPSHOT/VERSION`.
    fn new(root: &Path) -> Option<Stack> {
        let below = |folder: PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<PathBuf>>()
        };
        let platforms = below(root.join(".stack-work/install")).into_iter();
        let all = platforms.flat_map(below).flat_map(below).map(|folder| folder.join("pkgdb"));
        let local =
            all.filter(|one| one.is_dir()).max_by_key(|one| one.metadata().and_then(|data| data.modified()).ok())?;
        let mut names = local.ancestors().skip(1).filter_map(|one| Some(one.file_name()?.to_str()?.to_owned()));
        let (version, snapshot, platform) = (names.next()?, names.next()?, names.next()?);
        Some(Stack { platform, snapshot, version, local: local.clone() })
    }

    fn databases(&self, runner: &Runner) -> Vec<PathBuf> {
        let snapshots = stack_root(runner).join("snapshots").join(&self.platform);
        vec![snapshots.join(&self.snapshot).join(&self.version).join("pkgdb"), self.local.clone()]
    }

    /// Returns the GHC that stack installed, or the one on the search path.
    fn ghc(&self, runner: &Runner, root: &Path) -> Option<PathBuf> {
        let programs = stack_root(runner).join("programs").join(&self.platform);
        let is_it = |name: &str| name.starts_with("ghc") && name.ends_with(&format!("-{}", self.version));
        let entries = std::fs::read_dir(programs).into_iter().flatten().flatten();
        let mut all = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_it));
        let own = all.find_map(|entry| Some(entry.path().join("bin/ghc")).filter(|ghc| programs::is_executable(ghc)));
        own.or_else(|| on_path(runner, &format!("ghc-{}", self.version), root))
    }
}

fn stack_root(runner: &Runner) -> PathBuf {
    let home = runner.variable("HOME").unwrap_or("/nonexistent");
    runner.variable("STACK_ROOT").map_or_else(|| Path::new(home).join(".stack"), PathBuf::from)
}

fn on_path(runner: &Runner, name: &str, root: &Path) -> Option<PathBuf> {
    let places = programs::program_paths(name, runner.variable("PATH").unwrap_or_default(), root);
    places.into_iter().find(|program| programs::is_executable(program))
}

/// Returns the GHC of `with-compiler` in `cabal.project` or `cabal.project.local`: a path, or a program on the search path or
/// from ghcup.
fn ghc_of_cabal(runner: &Runner, root: &Path) -> Option<PathBuf> {
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
