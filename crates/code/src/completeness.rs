//! How complete an answer is, and why it is not.

use std::collections::BTreeMap;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judgement::{Code, Judge, Judgement, Reason, Revision, Verdict, is_zero};
use crate::search::{Scope, Skipped, Why, unread_parts};

/// How complete an answer is. Zero numbers, empty lists and unknown values are omitted.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Head {
    /// True if no place is missing or unverified, to the knowledge of the language server.
    #[serde(rename = "complete")]
    pub is_complete: bool,
    /// How many places the language server verified.
    #[serde(rename = "verified", default, skip_serializing_if = "is_zero")]
    pub confirmed: usize,
    /// How many were verified at an earlier revision, in files that have not changed since.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier: usize,
    /// How many have the name and were not verified.
    #[serde(rename = "unverified", default, skip_serializing_if = "is_zero")]
    pub undecided: usize,
    /// How many have the name and mean another definition.
    #[serde(rename = "other", default, skip_serializing_if = "is_zero")]
    pub refuted: usize,
    /// The language server of each language in the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Judge>,
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub revision: Revision,
    /// How many files of known languages were searched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files: usize,
    /// How many files mention the name, or might, and were not parsed as a whole.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: usize,
    /// Why places are unverified, or why the answer may lack some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// True if a retry may soon give a better answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask_again: bool,
    pub elapsed_ms: u64,
    /// How many unverified places there are for each reason that only the places have.
    #[serde(skip)]
    pub open: BTreeMap<Code, usize>,
}

fn is_unknown(revision: &Revision) -> bool {
    *revision == Revision::default()
}

impl Head {
    /// Counts the verdicts of places and adds the state of the whole judgement.
    pub(crate) fn judged(sites: impl Iterator<Item = Verdict>, judged: &Judgement) -> Head {
        let mut head = Head {
            servers: judged.judges.clone(),
            reasons: judged.reasons.clone(),
            ask_again: judged.may_pass,
            ..Head::default()
        };
        for verdict in sites {
            match verdict {
                Verdict::Confirmed => head.confirmed += 1,
                Verdict::Earlier => head.earlier += 1,
                Verdict::Refuted => head.refuted += 1,
                Verdict::NotJudged => {}
                Verdict::Undecided(code) => {
                    head.undecided += 1;
                    *head.open.entry(code).or_default() += 1;
                }
            }
        }
        // The reason of a server state covers the places that it left open.
        head.open.retain(|code, _| !judged.reasons.iter().any(|reason| reason.code == *code && reason.sites > 0));
        head.is_complete = judged.is_certain && head.undecided + head.earlier == 0;
        head
    }

    /// Adds the result of the search: its files, skipped files, revision and duration.
    pub(crate) fn searched(mut self, scope: &Scope, files: usize, skipped: &[Skipped], since: Instant) -> Head {
        (self.files, self.skipped) = (files, skipped.len());
        let mut by_why: BTreeMap<Why, Vec<&Skipped>> = BTreeMap::new();
        for one in skipped {
            by_why.entry(one.why).or_default().push(one);
        }
        for (why, all) in by_why {
            let code = match why {
                Why::TooLarge | Why::Minified | Why::OverMemory | Why::TooSlow => Code::OverALimit,
                Why::Unreadable => Code::Unreadable,
                Why::Broken | Why::Unread => Code::Unparsable,
                Why::OutOfTime => Code::OutOfTime,
                Why::Makes => Code::Macro,
                _ => Code::NotSearched,
            };
            // A timeout of the whole search has no path.
            let named = all.iter().map(|one| project::visible::path(&one.path)).filter(|name| !name.is_empty());
            let names = named.take(3).collect::<Vec<_>>().join(", ");
            let more = if all.len() > 3 { format!(" and {} more", all.len() - 3) } else { String::new() };
            let files = if names.is_empty() { names } else { format!("{names}{more}: ") };
            let text = unread_parts(all.iter().copied()).unwrap_or_else(|| format!("{files}{}", why.describe()));
            self.reasons.push(Reason { code, text, sites: all.iter().map(|one| one.mentions).sum() });
        }
        // The language server reads files that hob's grammar cannot parse.
        self.is_complete &= skipped.iter().all(|one| one.why == Why::Broken);
        self.revision = scope.revision.clone();
        self.elapsed_ms = since.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self
    }

    /// Formats the end of a line: the short commit.
    pub(crate) fn at(&self) -> String {
        let commit = self.revision.commit.as_deref().and_then(|commit| commit.get(..7));
        commit.map(|commit| format!(" · {commit}")).unwrap_or_default()
    }

    /// Returns the names of the servers that answered: `ty, tsc`.
    pub(crate) fn checked_by(&self) -> Option<String> {
        let names: Vec<&str> = self.servers.iter().filter_map(Judge::ready).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Returns a reason for each code, with its places: `4 in the arguments of macros`.
    pub(crate) fn of_places(&self) -> Vec<Reason> {
        let one = |(code, sites): (&Code, &usize)| Reason {
            code: *code,
            text: format!("{sites} {}", code.describe()),
            sites: *sites,
        };
        self.open.iter().map(one).collect()
    }

    /// Adds the reasons of places to those of the answer, for the result.
    pub(crate) fn with_reasons(mut self) -> Head {
        self.reasons.extend(self.of_places());
        self
    }

    /// Formats the first line of an answer without its end: the result with its details, then why it is not complete.
    /// `one` is the noun for a result: `callee`.
    pub(crate) fn first_line(&self, count: usize, one: &str, details: &str) -> String {
        let why = self.reasons_with_advice();
        let found = if count == 0 { format!("No {}", plural(one)) } else { counted(count, one) };
        let by = self.checked_by().map(|names| format!(" · checked by {names}")).unwrap_or_default();
        let open = match self.undecided {
            0 => String::new(),
            number if details.is_empty() => format!(", {number} unverified"),
            number => format!("; {number} of them unverified"),
        };
        match (self.is_complete, count) {
            (true, _) => format!("{found}, complete{details}{by}"),
            (false, 0) => format!("{found} found; not proven complete: {why}"),
            (false, _) if self.confirmed > 0 => format!("{found}{details}{open}{by} · {why}"),
            (false, _) if self.earlier > 0 => {
                format!("{found}{details}; {} verified earlier and unchanged since{open} · {why}", self.earlier)
            }
            (false, _) if self.ask_again => format!("{found} by name{details}, not checked yet: {why}, or use these"),
            (false, _) => format!("{found} by name{details}, unchecked: {why}"),
        }
    }

    /// Returns all reasons, and the advice to retry if it may help.
    pub(crate) fn reasons_with_advice(&self) -> String {
        let again = if self.ask_again { ". Ask again" } else { "" };
        format!("{}{again}", self.incomplete_reasons())
    }

    /// Returns all reasons why the answer is not complete.
    pub(crate) fn incomplete_reasons(&self) -> String {
        let of_places = self.of_places();
        self.reasons.iter().chain(&of_places).map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// Formats a number with commas: `1,884`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Formats a count with its noun: `1 caller`, `1,884 callers`.
pub(crate) fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {}", grouped(number), plural(one)) }
}

fn plural(one: &str) -> String {
    format!("{one}{}", if one.ends_with("ch") { "es" } else { "s" })
}
