//! Proof of an impact: the change is made in a copy of the worktree, and the errors of the compiler are its proven places.
//!
//! [`edit`] and [`edit_haskell`] make the change, [`scratch`] keeps the copy, [`cargo`], [`tsc`] and [`ghc`] run the compilers. GHC needs no copy.

mod cargo;
mod edit;
mod edit_haskell;
mod ghc;
mod scratch;
mod tsc;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use code::Language;
use code::facts::Symbol;
use code::tools::Questions;
use mcp::tool::Context;
use process::{Bounds, Guard, Spec};
use tokio::sync::Mutex;

use self::scratch::Scratch;
use crate::rubric::Change;

/// The means to compile copies of worktrees.
pub struct Compiling {
    /// The directory of the copies and of the compilers' output, outside the worktrees.
    pub directory: PathBuf,
    pub guard: Guard,
    /// Decides whether code of a worktree may run: a build runs its build scripts and macros.
    pub trusts: Box<dyn Fn(&Path) -> bool + Send + Sync>,
    /// One compilation at a time.
    pub running: Mutex<()>,
}

/// The worktree and the environment of a proof, and when it must end.
pub(crate) struct Order<'a> {
    pub questions: &'a Questions,
    pub cx: &'a Context,
    pub root: &'a Path,
    pub env: &'a BTreeMap<String, String>,
    pub until: Instant,
}

/// The compiler's errors for a change.
#[derive(Debug)]
pub(crate) struct Proof {
    /// The command that found them, such as `cargo check`.
    pub compiler: &'static str,
    pub errors: BTreeSet<CompilerError>,
    /// Why there may be more errors.
    pub limits: Option<String>,
}

/// An error of a compiler in a file of the worktree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CompilerError {
    /// The path relative to the root.
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    /// The first line of the message, with its code.
    pub message: String,
}

/// The result of one run of a compiler.
#[derive(Debug, Default)]
struct Compilation {
    errors: BTreeSet<CompilerError>,
    /// The targets that compiled without errors; empty if the compiler does not report them.
    compiled: BTreeSet<String>,
    /// The targets with errors.
    failed: BTreeSet<String>,
}

impl Compiling {
    /// Makes a change to a definition in a copy of the worktree, and returns the errors that the compiler then reports in
    /// addition to those it reports without the change. The worktree is not written.
    ///
    /// The error explains why nothing can be proven.
    pub(crate) async fn prove(&self, order: &Order<'_>, symbol: &Symbol, change: Change) -> Result<Proof, String> {
        if !(self.trusts)(order.root) {
            return Err("the compiler may run code of this project; allow it with `hob trust`".to_owned());
        }
        let compiler = match symbol.language {
            Language::Rust => "cargo check",
            Language::TypeScript | Language::Tsx => "tsc",
            Language::Haskell => "ghc",
            _ => return Err("proofs are available for Haskell, Rust and TypeScript".to_owned()),
        };
        let _running = self.running.lock().await;
        let text = std::fs::read_to_string(order.root.join(&symbol.file));
        let text = text.map_err(|error| format!("cannot read {}: {error}", symbol.file))?;
        let changed = edit::apply(&text, symbol, change)?;
        // The edited line is the change itself.
        let is_change = |error: &CompilerError| {
            error.file == Path::new(&symbol.file) && edit::is_edited(&text, &changed, error.line)
        };
        if symbol.language == Language::Haskell {
            let proof = ghc::prove(order, &symbol.file, &changed).await?;
            // The definition has a form that the edit does not know, or it uses itself.
            return match proof.errors.iter().find(|error| is_change(error)) {
                Some(CompilerError { line, message, .. }) => {
                    Err(format!("the changed definition does not compile: line {line}: {message}"))
                }
                None => Ok(proof),
            };
        }
        let scratch = Scratch::new(&self.directory, order.root);
        let own = scratch.clone();
        tokio::task::spawn_blocking(move || own.update()).await.map_err(|error| error.to_string())??;
        let before = self.compile(order, &scratch, symbol).await?;
        scratch.write(&symbol.file, &changed)?;
        let after = self.compile(order, &scratch, symbol).await;
        // The next proof copies the file again: its time differs.
        scratch.write(&symbol.file, &text)?;
        let after = after?;
        let errors =
            after.errors.into_iter().filter(|error| !before.errors.contains(error) && !is_change(error)).collect();
        let is_open = |one: &&String| !after.compiled.contains(*one) && !after.failed.contains(*one);
        let open: Vec<&str> = before.compiled.iter().filter(is_open).map(String::as_str).collect();
        let limits = match (&before.errors.first(), &open[..]) {
            (Some(error), _) => Some(format!(
                "the project does not compile without the change: {}:{}: {}",
                error.file.display(),
                error.line,
                error.message
            )),
            (None, []) => None,
            (None, open) => Some(format!("not compiled, because a package below has errors: {}", open.join(", "))),
        };
        Ok(Proof { compiler, errors, limits })
    }

    async fn compile(&self, order: &Order<'_>, scratch: &Scratch, symbol: &Symbol) -> Result<Compilation, String> {
        match symbol.language {
            Language::Rust => cargo::compile(self, order, scratch, symbol).await,
            _ => tsc::compile(self, order, scratch, symbol).await,
        }
    }

    /// Runs a program to its end. Returns its output, whatever its exit status.
    async fn run(
        &self,
        order: &Order<'_>,
        directory: &Path,
        command: &[&str],
        env: &[(&str, &Path)],
    ) -> Result<String, String> {
        let left = order.until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut spec = Spec::new(command[0], directory).args(&command[1..]).env(order.env.clone());
        // The messages are parsed, so they must be plain English.
        spec = spec.env([("LC_ALL", "C.UTF-8")]).env(env.iter().copied());
        spec.guard = self.guard.clone();
        spec.nice = NICE;
        let bounds = Bounds { deadline: left, stdout: MOST_OUTPUT, stderr: 16 << 10 };
        let answer = spec.answer(bounds).await.map_err(|error| match error {
            process::AnswerError::Late { .. } => {
                format!("{} needs more time; call again to continue where it stopped, or raise `wait_ms`", command[0])
            }
            error => error.to_string(),
        })?;
        if answer.stdout.is_empty() && !answer.exit.success() {
            let stderr = String::from_utf8_lossy(&answer.stderr).into_owned();
            let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            return Err(format!("{} failed: {}", command[0], line.trim()));
        }
        Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
    }
}

/// Compilers yield to processes that answer questions.
const NICE: i32 = 5;
/// The maximum output of a compiler, in bytes.
const MOST_OUTPUT: usize = 256 << 20;

/// Returns the nearest folder from a file's up to the root that has a file of this name, relative to the root.
fn nearest(root: &Path, file: &str, name: &str) -> Option<PathBuf> {
    let folders = Path::new(file).ancestors().skip(1);
    folders.map(Path::to_owned).find(|folder| root.join(folder).join(name).is_file())
}
