//! Runs programs, above all git. A checkout is untrusted: no program that its configuration names may run, and nothing may be
//! written, not even the index that `git status` would refresh. So git reads a view of the repository ([`GitView`]) with
//! a configuration that hob wrote.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use process::{Answer, AnswerError, Bounds, Guard, SpawnError, Spec};
use project::{GitPlaces, GitView, Purpose};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::sources::{Source, State};

/// Limits of a git command.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(2), stdout: 64 << 20, stderr: 4096 };

/// Limits the git processes that run at once: more would only compete for the CPU.
static GITS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(2 * std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get)));
/// The timeout for a turn.
const TURN: Duration = Duration::from_secs(10);

/// Environment for the git that a tracker runs in the repository: `GIT_CONFIG_COUNT` with names and values.
pub(crate) const OF_TRACKERS: &[(&str, &str)] = &[
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_0", "/dev/null"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
];

/// The directory and environment of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub directory: &'a Path,
    pub env: &'a BTreeMap<String, String>,
}

/// The reason why git has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoAnswer(pub Source);

/// The repository that contains a directory.
#[derive(Debug)]
pub(crate) struct Repository {
    pub git_dir: PathBuf,
    pub common_dir: PathBuf,
    /// The top of the worktree; `None` in a bare repository and inside a git directory.
    pub work_tree: Option<PathBuf>,
    pub is_bare: bool,
    pub is_shallow: bool,
    /// The output of `git config --list --show-scope -z`.
    pub config: Vec<u8>,
}

/// Git with a view of the repository: it can neither run programs nor write.
pub(crate) struct Reader<'a> {
    asked: Runner<'a>,
    view: GitView,
}

impl Repository {
    /// Creates a view for a purpose.
    pub(crate) fn view(&self, purpose: Purpose) -> Result<GitView, NoAnswer> {
        let no_worktree = || Source::missing(State::Absent, "a bare repository has no worktree", None);
        let work_tree = self.work_tree.as_deref().ok_or_else(|| NoAnswer(no_worktree()))?;
        let places = GitPlaces { git_dir: &self.git_dir, common_dir: &self.common_dir, work_tree };
        let unreadable = |error| Source::missing(State::Failed, format!("cannot read the repository: {error}"), None);
        GitView::new(places, &self.config, purpose).map_err(|error| NoAnswer(unreadable(error)))
    }
}

impl Reader<'_> {
    /// Returns git's output. A non-zero exit status is an error.
    pub(crate) async fn git(&self, args: &[&str]) -> Result<Vec<u8>, NoAnswer> {
        self.git_or(args).await?.map_err(|said| NoAnswer(failed(&said)))
    }

    /// Returns git's output, or else its standard error.
    pub(crate) async fn git_or(&self, args: &[&str]) -> Result<Result<Vec<u8>, String>, NoAnswer> {
        self.asked.run_git(args, self.view.env()).await
    }
}

impl<'a> Runner<'a> {
    /// Returns git's output. Only for commands that read directory names and the configuration: these never start a program
    /// from the repository.
    pub(crate) async fn find(&self, args: &[&str]) -> Result<Vec<u8>, NoAnswer> {
        self.find_or(args).await?.map_err(|said| NoAnswer(failed(&said)))
    }

    async fn find_or(&self, args: &[&str]) -> Result<Result<Vec<u8>, String>, NoAnswer> {
        let own =
            [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1")];
        self.run_git(args, own.map(|(name, value)| (name, value.into())).into()).await
    }

    /// Finds the repository and its configuration.
    pub(crate) async fn repository(&self) -> Result<Repository, NoAnswer> {
        let places = [
            "rev-parse",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--is-bare-repository",
            "--is-shallow-repository",
        ];
        let (places, top, config) = tokio::join!(
            self.find(&places),
            self.find_or(&["rev-parse", "--show-toplevel"]),
            self.find(&["config", "--list", "--show-scope", "-z"]),
        );
        let places = places?;
        let mut lines = places.split(|byte| *byte == b'\n').map(|line| PathBuf::from(OsStr::from_bytes(line)));
        let mut next = || lines.next().unwrap_or_default();
        let (git_dir, common_dir, bare, shallow) = (next(), next(), next(), next());
        let top = top?.ok().map(|top| PathBuf::from(OsStr::from_bytes(top.strip_suffix(b"\n").unwrap_or(&top))));
        let is_bare = bare == Path::new("true");
        let work_tree = top.filter(|_| !is_bare);
        Ok(Repository {
            git_dir,
            common_dir,
            work_tree,
            is_bare,
            is_shallow: shallow == Path::new("true"),
            config: config?,
        })
    }

    /// Opens a read-only view of a repository.
    pub(crate) fn reader(self, repository: &Repository) -> Result<Reader<'a>, NoAnswer> {
        Ok(Reader { asked: self, view: repository.view(Purpose::Question)? })
    }

    async fn run_git(
        &self,
        args: &[&str],
        own: Vec<(&'static str, OsString)>,
    ) -> Result<Result<Vec<u8>, String>, NoAnswer> {
        let words = ["--no-optional-locks", "--no-pager"].iter().chain(args).map(OsString::from).collect();
        let Ok(Ok(_turn)) = timeout(TURN, GITS.acquire()).await else {
            let why = format!("too many git commands are running; gave up after {} s", TURN.as_secs());
            return Err(NoAnswer(Source::missing(State::Timeout, why, Some("Call again."))));
        };
        let answer = self.program("git", words, own, BOUNDS).await.map_err(|error| NoAnswer(of_error(&error)))?;
        Ok(if answer.exit.success() {
            Ok(answer.stdout)
        } else {
            Err(String::from_utf8_lossy(&answer.stderr).trim().to_owned())
        })
    }

    /// Runs a program to completion in the caller's environment, without the variables that would point git at another
    /// directory.
    pub(crate) async fn program(
        &self,
        program: &str,
        args: Vec<OsString>,
        own: impl IntoIterator<Item = (&str, impl Into<OsString>)>,
        bounds: Bounds,
    ) -> Result<Answer, AnswerError> {
        let env = self.env.iter().filter(|(name, _)| !name.starts_with("GIT_"));
        let mut spec = Spec::new(program, self.directory).args(args).env(env).env(own);
        spec.guard = Guard::Without;
        spec.answer(bounds).await
    }
}

fn of_error(error: &AnswerError) -> Source {
    match error {
        AnswerError::Spawn(SpawnError::NotFound { .. }) => {
            Source::missing(State::NotInstalled, "git is not on the PATH", Some("Install git."))
        }
        AnswerError::Late { .. } => Source::missing(
            State::Timeout,
            error.to_string(),
            Some("Call again: git caches its results. `git config core.untrackedCache true` makes it faster."),
        ),
        other => Source::missing(State::Failed, other.to_string(), None),
    }
}

/// Explains git's error message.
fn failed(said: &str) -> Source {
    if said.contains("not a git repository") {
        return Source::missing(State::Absent, "not a git repository", Some("`git init` creates one."));
    }
    if said.contains("dubious ownership") {
        return Source::missing(
            State::Failed,
            "git refuses to read a repository of another user",
            Some("If you trust it: `git config --global --add safe.directory DIRECTORY`."),
        );
    }
    let line = said.lines().next().unwrap_or("git failed without an error message");
    Source::missing(State::Failed, project::visible(line), None)
}
