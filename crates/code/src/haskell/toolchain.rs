//! The GHC of a project, its packages, and its companion programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{Bounds, Guard, Spec, programs};

/// The worktree to compile, and the programs and limits to use.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub root: PathBuf,
    /// The GHC for projects that name none.
    pub ghc: PathBuf,
    pub env: Vec<(String, String)>,
    /// The directory for the output of GHC.
    pub directory: PathBuf,
    pub guard: Guard,
    pub records: Option<PathBuf>,
    /// The heap limit of GHC, in MiB.
    pub memory: u64,
}

impl Order {
    fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn home(&self) -> &Path {
        Path::new(self.variable("HOME").unwrap_or("/nonexistent"))
    }

    fn on_path(&self, name: &str) -> Option<PathBuf> {
        let places = programs::program_paths(name, self.variable("PATH").unwrap_or_default(), &self.root);
        places.into_iter().find(|program| programs::is_executable(program))
    }
}

/// A GHC with its packages, and how to run it.
#[derive(Debug)]
pub(super) struct Toolchain {
    pub order: Order,
    pub ghc: PathBuf,
    pub version: String,
    /// The databases of installed packages. Later ones hide earlier ones.
    pub databases: Vec<PathBuf>,
    /// The directory for temporary files.
    scratch: PathBuf,
}

/// The compiler yields to processes that answer questions.
const NICE: i32 = 5;

impl Toolchain {
    /// Returns the GHC of a project, or that of the order if the project names none, with its available packages.
    pub(super) async fn new(order: &Order, scratch: PathBuf) -> Result<Toolchain, String> {
        let stack = Stack::find(order);
        let named = stack.as_ref().map_or_else(|| ghc_of_cabal(order), |stack| stack.ghc.clone());
        let ghc = named.unwrap_or_else(|| order.ghc.clone());
        let (version, databases) = (String::new(), Vec::new());
        let mut toolchain = Toolchain { order: order.clone(), ghc, version, databases, scratch };
        let said = toolchain.output(&toolchain.ghc, Path::new("/"), &["--numeric-version"]).await?;
        toolchain.version = said.trim().to_owned();
        let said = toolchain.output(&toolchain.ghc, Path::new("/"), &["--print-libdir"]).await?;
        toolchain.databases.push(Path::new(said.trim()).join("package.conf.d"));
        let more = stack.map_or_else(|| of_cabal(order, &toolchain.version), |stack| stack.databases);
        toolchain.databases.extend(more.into_iter().filter(|one| one.is_dir()));
        Ok(toolchain)
    }

    pub(super) fn spec(&self, program: &Path, directory: &Path, args: &[OsString]) -> Spec {
        let mut spec = Spec::new(program, directory).args(args).env(self.order.env.clone());
        // hob parses the messages, so they must be plain English.
        spec = spec.env([("LC_ALL", "C.UTF-8"), ("GHC_NO_UNICODE", "1")]).env([("TMPDIR", &self.scratch)]);
        spec.guard = self.order.guard.clone();
        spec.records = self.order.records.clone();
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
}

/// Returns a program installed with GHC: `ghc-pkg-9.4.7` next to `ghc-9.4.7`.
pub(super) fn companion(ghc: &Path, name: &str) -> PathBuf {
    ghc.with_file_name(name_of(ghc).replacen("ghc", name, 1))
}

/// Returns the paths in a folder; none if it cannot be read.
pub(super) fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the databases of packages that cabal built for this version.
fn of_cabal(order: &Order, version: &str) -> Vec<PathBuf> {
    let stores = [
        order.variable("CABAL_DIR").map(|directory| Path::new(directory).join("store")),
        Some(order.home().join(".cabal/store")),
        Some(order.home().join(".local/state/cabal/store")),
    ];
    let is_of = |folder: &PathBuf| {
        let rest = name_of(folder).strip_prefix("ghc-").and_then(|rest| rest.strip_prefix(version));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let folders = stores.iter().flatten().flat_map(|store| entries(store)).filter(is_of);
    let mut found: Vec<PathBuf> = folders.map(|folder| folder.join("package.db")).collect();
    found.sort();
    found
}

/// The output of a stack build, found by its folders. stack itself does not run, because it writes into the project.
struct Stack {
    /// The GHC that stack installed, or the one on the search path.
    ghc: Option<PathBuf>,
    databases: Vec<PathBuf>,
}

impl Stack {
    /// Finds the latest build below `.stack-work/install/PLATFORM/SNAPSHOT/VERSION`.
    fn find(order: &Order) -> Option<Stack> {
        let root = &order.root;
        if !root.join("stack.yaml").is_file() || root.join("cabal.project").is_file() {
            return None;
        }
        let install = root.join(".stack-work/install");
        let versions = entries(&install).flat_map(|one| entries(&one)).flat_map(|one| entries(&one));
        let all = versions.map(|folder| folder.join("pkgdb")).filter(|one| one.is_dir());
        let local = all.max_by_key(|one| one.metadata().and_then(|data| data.modified()).ok())?;
        let below = local.strip_prefix(&install).ok()?;
        let mut names = below.iter();
        let (platform, version) = (names.next()?, names.nth(1)?.to_str()?);
        let stack = order.variable("STACK_ROOT").map_or_else(|| order.home().join(".stack"), PathBuf::from);
        let is_it = |one: &PathBuf| name_of(one).starts_with("ghc") && name_of(one).ends_with(&format!("-{version}"));
        let own = entries(&stack.join("programs").join(platform)).filter(is_it).map(|one| one.join("bin/ghc"));
        let own = own.into_iter().find(|ghc| programs::is_executable(ghc));
        let ghc = own.or_else(|| order.on_path(&format!("ghc-{version}")));
        Some(Stack { ghc, databases: vec![stack.join("snapshots").join(below), local.clone()] })
    }
}

/// Returns the GHC of `with-compiler` in `cabal.project` or `cabal.project.local`: a path, or a program on the search path or
/// from ghcup.
fn ghc_of_cabal(order: &Order) -> Option<PathBuf> {
    let named = ["cabal.project.local", "cabal.project"].iter().find_map(|file| {
        let text = std::fs::read_to_string(order.root.join(file)).ok()?;
        text.lines().find_map(|line| Some(line.strip_prefix("with-compiler:")?.trim().to_owned()))
    })?;
    let is_executable = |ghc: &PathBuf| programs::is_executable(ghc);
    if named.contains('/') {
        return Some(order.root.join(named)).filter(is_executable);
    }
    order.on_path(&named).or_else(|| Some(order.home().join(".ghcup/bin").join(named)).filter(is_executable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_companion_of_ghc_has_its_version() {
        assert_eq!(companion(Path::new("/opt/ghc/bin/ghc-9.4.7"), "ghc-pkg"), Path::new("/opt/ghc/bin/ghc-pkg-9.4.7"));
    }
}
