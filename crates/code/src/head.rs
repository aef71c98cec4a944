//! How sure an answer is, and why it is not surer.

use std::collections::BTreeMap;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judgement::{Code, Judge, Judged, Reason, Revision, Verdict};
use crate::search::{Scope, Skipped, Why, unread_parts};

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

impl Head {
    /// The head of an answer about these sites, with what is said of it as a whole.
    pub(crate) fn judged(sites: impl Iterator<Item = Verdict>, judged: &Judged) -> Head {
        let mut head = Head {
            judges: judged.judges.clone(),
            reasons: judged.reasons.clone(),
            missed_by_server: judged.missed,
            retry_after_ms: judged.retry_after.and_then(|pause| pause.as_millis().try_into().ok()),
            ..Head::default()
        };
        let mut by_code: BTreeMap<Code, usize> = BTreeMap::new();
        for verdict in sites {
            match verdict {
                Verdict::Confirmed => head.confirmed += 1,
                Verdict::Earlier => head.earlier += 1,
                Verdict::Refuted => head.refuted += 1,
                Verdict::NotJudged => {}
                Verdict::Undecided(code) => {
                    head.undecided += 1;
                    *by_code.entry(code).or_default() += 1;
                }
            }
        }
        // What the judge's state explains is said there.
        let is_said = |code: &Code| judged.reasons.iter().any(|reason| reason.code == *code && reason.sites > 0);
        for (code, sites) in by_code.into_iter().filter(|(code, _)| !is_said(code)) {
            head.reasons.push(Reason { code, text: format!("{sites} {}", code.words()), sites });
        }
        head.is_final = judged.is_certain && head.undecided + head.earlier == 0;
        head
    }

    /// Adds what was searched, and what was not.
    pub(crate) fn searched(mut self, scope: &Scope, files: usize, skipped: &[Skipped], since: Instant) -> Head {
        self.searched = ScopeSearched { root: project::visible::path(&scope.root), files, skipped: skipped.len() };
        let mut by_why: BTreeMap<Why, Vec<&Skipped>> = BTreeMap::new();
        for one in skipped {
            by_why.entry(one.why).or_default().push(one);
        }
        for (why, all) in by_why {
            let code = match why {
                Why::TooLarge | Why::Minified | Why::OverMemory | Why::TooSlow => Code::OverALimit,
                Why::Unreadable => Code::Unreadable,
                Why::Broken | Why::Unread => Code::Unparsable,
                Why::Ignored | Why::Linked | Why::Includes | Why::Module => Code::NotSearched,
                Why::Assembly | Why::ByCgo | Why::Nameless | Why::Embedded => Code::NotSearched,
                Why::OutOfTime => Code::OutOfTime,
                Why::Makes => Code::Macro,
            };
            let mentions: usize = all.iter().map(|one| one.mentions).sum();
            if let Some(text) = unread_parts(all.iter().copied()) {
                self.reasons.push(Reason { code, text, sites: mentions });
                continue;
            }
            let names: Vec<String> = all.iter().take(3).map(|one| project::visible::path(&one.path)).collect();
            let more = if all.len() > 3 { format!(" and {} more", all.len() - 3) } else { String::new() };
            let names = names.join(", ");
            let text =
                if names.is_empty() { why.words().to_owned() } else { format!("{names}{more}: {}", why.words()) };
            self.reasons.push(Reason { code, text, sites: mentions });
        }
        // What a judge reads lacks nothing.
        self.is_final &= skipped.iter().all(|one| one.why == Why::Broken);
        self.revision = scope.revision.clone();
        self.elapsed_ms = since.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self
    }

    /// The commit, shortened, and how many files differ from it, as the last words of a line.
    pub(crate) fn at(&self) -> String {
        let Revision { commit, changed, .. } = &self.revision;
        let changed = changed.filter(|count| *count > 0).map(|count| format!(" + {count} changed")).unwrap_or_default();
        let commit = commit.as_deref().and_then(|commit| commit.get(..7));
        commit.map(|commit| format!(" · {commit}{changed}")).unwrap_or_default()
    }

    /// Why the answer is not final, in a few words.
    pub(crate) fn why(&self) -> String {
        self.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}
