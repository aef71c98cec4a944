//! How programs are asked, git above all. A checkout is hostile: nothing that its configuration names may run on behalf of a
//! question, and nothing is written, not even the index that `git status` would refresh.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use process::{Answer, AnswerError, Bounds, Guard, SpawnError, Spec};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::sources::{Source, State};

/// What git may take.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(2), stdout: 64 << 20, stderr: 4096 };

/// How many gits run at once, whoever asks: more would only wait for each other's cores.
static GITS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(2 * std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get)));
/// How long one waits for its turn among them.
const TURN: Duration = Duration::from_secs(10);

/// Settings that win over those of the repository: each of them could name a program.
pub(crate) const HARMLESS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.untrackedCache=keep",
    "log.showSignature=false",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "diff.external=",
    "advice.detachedHead=false",
];

/// Git for one question in one directory, on behalf of a caller.
#[derive(Debug, Clone)]
pub(crate) struct Asked<'a> {
    pub directory: &'a Path,
    pub env: &'a BTreeMap<String, String>,
    /// Filters that the repository's own configuration defines: they do not run.
    pub filters: Vec<String>,
}

/// Why git has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoAnswer(pub Source);

impl Asked<'_> {
    /// What git prints; its exit status is 0.
    pub(crate) async fn git(&self, args: &[&str]) -> Result<Vec<u8>, NoAnswer> {
        match self.git_or(args).await? {
            Ok(answer) => Ok(answer),
            Err(said) => Err(NoAnswer(failed(&said))),
        }
    }

    /// What git prints, or what it said against it.
    pub(crate) async fn git_or(&self, args: &[&str]) -> Result<Result<Vec<u8>, String>, NoAnswer> {
        let mut words: Vec<OsString> = vec!["--no-optional-locks".into(), "--no-pager".into()];
        let filters = self.filters.iter().flat_map(|name| {
            ["clean=", "smudge=", "process=", "required=false"].map(|rest| format!("filter.{name}.{rest}"))
        });
        for setting in HARMLESS.iter().map(|setting| (*setting).to_owned()).chain(filters) {
            words.extend(["-c".into(), setting.into()]);
        }
        words.extend(args.iter().map(Into::into));
        let own = [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            // An object that a partial clone lacks is not fetched.
            ("GIT_NO_LAZY_FETCH", "1"),
        ];
        let Ok(Ok(_turn)) = timeout(TURN, GITS.acquire()).await else {
            let why = format!("too many questions to git wait before this one, for over {} s", TURN.as_secs());
            return Err(NoAnswer(Source::missing(State::Timeout, why, Some("Call again."))));
        };
        let answer = self.program("git", words, &own, BOUNDS).await.map_err(|error| NoAnswer(of_error(&error)))?;
        Ok(match answer.exit.success() {
            true => Ok(answer.stdout),
            false => Err(String::from_utf8_lossy(&answer.stderr).trim().to_owned()),
        })
    }

    /// Runs a program to its end, in the caller's environment without what would send git elsewhere than to the directory
    /// that is asked about.
    pub(crate) async fn program(
        &self,
        program: &str,
        args: Vec<OsString>,
        own: &[(&str, &str)],
        bounds: Bounds,
    ) -> Result<Answer, AnswerError> {
        let env = self.env.iter().filter(|(name, _)| !name.starts_with("GIT_"));
        let mut spec = Spec::new(program, self.directory).args(args).env(env).env(own.iter().copied());
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
            Some("Call again: git keeps what it learned. `git config core.untrackedCache true` makes it faster."),
        ),
        other => Source::missing(State::Failed, other.to_string(), None),
    }
}

/// What git's refusal means.
fn failed(said: &str) -> Source {
    if said.contains("not a git repository") {
        return Source::missing(State::Absent, "this is no git repository", Some("`git init` makes one."));
    }
    if said.contains("dubious ownership") {
        return Source::missing(
            State::Failed,
            "git does not read a repository of another user",
            Some("If you trust it: `git config --global --add safe.directory DIRECTORY`."),
        );
    }
    if said.contains("must be run in a work tree") {
        return Source::missing(State::Absent, "a bare repository has no worktree", None);
    }
    let line = said.lines().next().unwrap_or("git failed without a word");
    Source::missing(State::Failed, project::visible(line), None)
}
