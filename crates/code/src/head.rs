//! How sure an answer is, and why it is not surer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::search::{Skipped, Why};
use crate::syntax::Language;

/// How sure an answer is.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Head {
    /// Whether nothing can be added or taken away.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Sites that the judge confirmed.
    pub confirmed: usize,
    /// Sites that are reached through a value.
    pub traced: usize,
    /// Sites that mean something else.
    pub refuted: usize,
    /// Sites that were confirmed at an earlier revision.
    pub earlier: usize,
    /// Sites that nothing has judged.
    pub undecided: usize,
    /// Sites that the judge did not name.
    pub missed_by_server: usize,
    /// The judge of each language in the answer.
    pub judges: Vec<Judge>,
    pub revision: Revision,
    pub searched: ScopeSearched,
    /// Why sites are undecided, or the answer may lack some.
    pub reasons: Vec<Reason>,
    /// When to ask again; null if that changes nothing.
    pub retry_after_ms: Option<u64>,
    pub elapsed_ms: u64,
}

/// What judges a language.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Judge {
    pub language: &'static str,
    /// Its name; null without one.
    pub name: Option<String>,
    pub version: Option<String>,
    pub state: State,
    /// In percent, while it is loading.
    pub progress: Option<u8>,
    /// Whether it answered a question whose answer is known.
    pub canary: Option<String>,
    pub since_ms: Option<u64>,
}

/// The state of a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum State {
    Absent,
}

/// What the answer was made from.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Revision {
    /// The commit that is checked out; null outside of git.
    pub commit: Option<String>,
    /// How many files differ from it; null if nobody has counted.
    pub changed: Option<u64>,
}

/// What was searched.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ScopeSearched {
    pub root: String,
    /// How many files of known languages there are.
    pub files: usize,
    /// Files that mention the name and were not parsed, or might.
    pub skipped: usize,
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
    Absent,
    Macro,
    Unparsable,
    OutOfTime,
    OverALimit,
    Unreadable,
}

impl Head {
    /// The head of an answer in which sites of these languages stand undecided, for want of a judge.
    pub(crate) fn unjudged(sites: &BTreeMap<Language, usize>) -> Head {
        let mut by_word: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (language, count) in sites {
            *by_word.entry(language.word()).or_default() += count;
        }
        let judge = |language: &&'static str| Judge {
            language,
            name: None,
            version: None,
            state: State::Absent,
            progress: None,
            canary: None,
            since_ms: None,
        };
        let reason = |(language, sites): (&&str, &usize)| Reason {
            code: Code::Absent,
            text: format!("no judge for {language}"),
            sites: *sites,
        };
        Head {
            undecided: sites.values().sum(),
            judges: by_word.keys().map(judge).collect(),
            reasons: by_word.iter().map(reason).collect(),
            ..Head::default()
        }
    }

    /// Adds what stands where syntax alone says little.
    pub(crate) fn doubtful(mut self, in_macro: usize, is_broken: usize) -> Head {
        let odd = [
            (Code::Macro, in_macro, "in the tokens of a macro"),
            (Code::Unparsable, is_broken, "where the file does not parse"),
        ];
        for (code, sites, text) in odd.into_iter().filter(|(_, sites, _)| *sites > 0) {
            self.reasons.push(Reason { code, text: format!("{sites} {text}"), sites });
        }
        self
    }

    /// Adds what was searched, and what was not.
    pub(crate) fn searched(mut self, root: &Path, files: usize, skipped: &[Skipped], since: Instant) -> Head {
        self.searched = ScopeSearched { root: project::visible::path(root), files, skipped: skipped.len() };
        let mut by_why: BTreeMap<Why, Vec<&Skipped>> = BTreeMap::new();
        for one in skipped {
            by_why.entry(one.why).or_default().push(one);
        }
        for (why, all) in by_why {
            let code = match why {
                Why::TooLarge | Why::Minified | Why::OverMemory | Why::TooSlow => Code::OverALimit,
                Why::Unreadable => Code::Unreadable,
                Why::OutOfTime => Code::OutOfTime,
            };
            let names: Vec<String> = all.iter().take(3).map(|one| project::visible::path(&one.path)).collect();
            let more = if all.len() > 3 { format!(" and {} more", all.len() - 3) } else { String::new() };
            let names = names.join(", ");
            let text =
                if names.is_empty() { why.words().to_owned() } else { format!("{names}{more}: {}", why.words()) };
            self.reasons.push(Reason { code, text, sites: all.iter().map(|one| one.mentions).sum() });
        }
        self.revision.commit = project::head_commit(root);
        self.elapsed_ms = since.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self
    }

    /// The commit, shortened, as the last word of a line.
    pub(crate) fn at(&self) -> String {
        self.revision
            .commit
            .as_deref()
            .and_then(|commit| commit.get(..7))
            .map(|commit| format!(" · {commit}"))
            .unwrap_or_default()
    }

    /// Why the answer is not final, in a few words.
    pub(crate) fn why(&self) -> String {
        self.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}
