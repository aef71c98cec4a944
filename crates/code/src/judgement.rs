//! What is said of a site, of an answer, and of who judges it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

/// What the answer was made from.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Revision {
    /// The commit that is checked out; null outside of git.
    pub commit: Option<String>,
    /// How many files differ from it; null until git has counted.
    pub changed: Option<u64>,
    /// Grows with each batch of changes on disk; null while nobody watches.
    pub stamp: Option<u64>,
}

/// What judges a language.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Judge {
    pub language: &'static str,
    /// Its name; null without one.
    pub name: Option<String>,
    pub version: Option<String>,
    /// absent, disabled, not_trusted, starting, loading, ready, doubtful, parked, cannot_start, crashed, hung or over_budget.
    pub state: &'static str,
    /// In percent, while it is loading.
    pub progress: Option<u8>,
    /// Whether it answered a question whose answer is known.
    pub canary: Option<String>,
    pub since_ms: Option<u64>,
}

impl Judge {
    /// `rust-analyzer ready`; `None` where there is none.
    pub(crate) fn words(&self) -> Option<String> {
        let progress = self.progress.map(|percent| format!(" {percent} %")).unwrap_or_default();
        Some(format!("{} {}{progress}", self.name.as_ref()?, self.state.replace('_', " ")))
    }

    /// Where there is none.
    pub(crate) fn without(language: &'static str, state: &'static str) -> Judge {
        Judge { language, name: None, version: None, state, progress: None, canary: None, since_ms: None }
    }
}

/// Why sites are undecided.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Reason {
    pub code: Code,
    pub text: String,
    /// How many sites; 0 if unknown.
    pub sites: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Code {
    Loading,
    Stale,
    Crashed,
    Hung,
    Absent,
    NotGranted,
    #[serde(rename = "inactive_code")]
    Inactive,
    Macro,
    Unparsable,
    Dynamic,
    OutsideTheRoot,
    OutOfTime,
    OverALimit,
    Unreadable,
    NotSearched,
}

impl Code {
    /// Whether a judge came to it, rather than nobody having judged.
    pub(crate) fn is_judged(self) -> bool {
        matches!(
            self,
            Code::Inactive | Code::Macro | Code::Unparsable | Code::Dynamic | Code::Stale | Code::OutsideTheRoot
        )
    }

    /// What it says of a site of a judge that is ready.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Code::Loading => "while the judge loads",
            Code::Stale => "where the judge names a place that holds another text",
            Code::Crashed => "as the judge crashed",
            Code::Hung => "as the judge hung",
            Code::Absent => "without a judge",
            Code::NotGranted => "as the judge is not granted",
            Code::Inactive => "of which the judge says nothing: inactive code, or what it cannot resolve",
            Code::Macro => "in the tokens of a macro",
            Code::Unparsable => "where the file does not parse",
            Code::Dynamic => "of which the judge does not tell what they mean",
            Code::OutsideTheRoot => "whose definition lies outside of the root, in no file that can be read",
            Code::OutOfTime => "out of time",
            Code::OverALimit => "over a limit",
            Code::Unreadable => "unreadable",
            Code::NotSearched => "in what is not searched",
        }
    }
}

/// What is known of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verdict {
    /// Why not.
    Undecided(Code),
    /// The judge says that it means that definition.
    Confirmed,
    /// It was confirmed at an earlier revision, and neither file has changed since.
    Earlier,
    /// It means something else.
    Refuted,
    /// It stands in a comment or a string.
    #[default]
    NotJudged,
}

impl Verdict {
    /// The name in results.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Earlier => "earlier",
            Verdict::Refuted => "refuted",
            Verdict::Undecided(_) => "undecided",
            Verdict::NotJudged => "not_judged",
        }
    }
}

/// How a use comes to a definition that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unnamed {
    Implicit,
    Macro,
}

impl Unnamed {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Unnamed::Implicit => "implicit",
            Unnamed::Macro => "macro",
        }
    }
}

/// What is said of an answer as a whole.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub judges: Vec<Judge>,
    /// Why the answer may lack something, besides its undecided sites.
    pub reasons: Vec<Reason>,
    /// Sites that the judge's references lacked.
    pub missed: usize,
    /// Whether every judge was ready, and nothing it said was doubted.
    pub is_certain: bool,
    pub retry_after: Option<Duration>,
}
