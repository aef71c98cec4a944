//! Verdicts of sites, and the state of an answer and its language servers.

use schemars::JsonSchema;
use serde::Serialize;
use syntax::text_enum::named;

/// The revision of the worktree that was read.
#[derive(Debug, Default, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Revision {
    /// The commit that is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A number that grows with each batch of changes on disk; absent until the worktree is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<u64>,
}

/// The language server of a language.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Judge {
    pub language: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// absent, disabled, not_trusted, starting, loading, ready, doubtful, parked, cannot_start, crashed, hung or over_budget.
    pub state: &'static str,
    /// In percent, while it is loading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
}

impl Judge {
    /// Returns the name of a server that is ready.
    pub(crate) fn ready(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| self.state == "ready")
    }

    pub(crate) fn without(language: &'static str, state: &'static str) -> Judge {
        Judge { language, name: None, state, progress: None }
    }
}

/// Why places are unverified, or why the answer may lack some.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Reason {
    pub code: Code,
    pub text: String,
    /// How many places; absent if unknown.
    #[serde(rename = "places", default, skip_serializing_if = "is_zero")]
    pub sites: usize,
}

/// True if a result omits the number.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

named! {
    /// Why a place is unverified, with the end of a sentence about such places: `4 calls in the arguments of macros`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub(crate) enum Code by describe {
        Loading = "not checked yet",
        Stale = "in lines that changed since the language server read them",
        Crashed = "not checked, because the language server failed",
        Hung = "not checked, because the language server failed",
        Absent = "not checked, because no language server is installed",
        NotGranted = "not checked, because no language server may run here",
        #[serde(rename = "inactive_code")]
        Inactive = "in code that this build leaves out, or that the language server does not resolve",
        Macro = "in the arguments of macros",
        Unparsable = "in lines that hob's grammar cannot read",
        Dynamic = "that the language server does not resolve",
        OutsideTheRoot = "that lead to an unreadable file outside this project",
        OutOfTime = "not checked in time",
        OverALimit = "not checked one by one",
        Unreadable = "in unreadable files",
        NotSearched = "in files that are not searched",
    }
}

impl Code {
    /// True if a server produced this code; false if no server judged the site.
    pub(crate) fn is_judged(self) -> bool {
        matches!(
            self,
            Code::Inactive | Code::Macro | Code::Unparsable | Code::Dynamic | Code::Stale | Code::OutsideTheRoot
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(into = "&'static str")]
#[schemars(with = "String")]
pub(crate) enum Verdict {
    /// The site was not decided, for this reason.
    Undecided(Code),
    /// The server confirmed that the site means the definition.
    Confirmed,
    /// It was confirmed at an earlier revision, and neither file has changed since.
    Earlier,
    /// The site means something else.
    Refuted,
    /// The site is in a comment or a string.
    #[default]
    NotJudged,
}

impl Verdict {
    /// Returns the default verdict, which a result omits.
    pub(crate) fn verified() -> Verdict {
        Verdict::Confirmed
    }

    /// True if a result omits the verdict.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(crate) fn is_verified(&self) -> bool {
        *self == Verdict::Confirmed
    }
}

/// The names in results.
impl From<Verdict> for &'static str {
    fn from(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Confirmed => "verified",
            Verdict::Earlier => "earlier",
            Verdict::Refuted => "other",
            Verdict::Undecided(_) => "unverified",
            Verdict::NotJudged => "not_checked",
        }
    }
}

named! {
    /// The way in which a site uses a definition that it does not name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Unnamed by word { Implicit = "implicit", Macro = "macro" }
}

/// The judgement of an answer as a whole.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub judges: Vec<Judge>,
    /// Reasons why the answer may be incomplete, besides its undecided sites.
    pub reasons: Vec<Reason>,
    /// True if every server was ready and gave no doubtful answer.
    pub is_certain: bool,
    /// True if a retry may soon give a better answer.
    pub may_pass: bool,
}

impl Judgement {
    /// Adds a reason why the answer may be incomplete.
    pub(crate) fn doubt(&mut self, code: Code, text: String, sites: usize) {
        self.is_certain = false;
        self.reasons.push(Reason { code, text, sites });
    }
}
