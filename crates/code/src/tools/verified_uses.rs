//! The common part of find_callers and find_uses: a language server verifies the candidates, then the files are checked for
//! changes.

use std::path::Path;
use std::time::{Duration, Instant};

use mcp::tool::{Context, ToolError};
use syntax::Class;

use super::{Questions, searched};
use crate::answer::{Candidates, LineOptions, Texts, define, find};
use crate::completeness::counted;
use crate::definition::NOWHERE;
use crate::judgement::{Code, Judgement, Verdict};
use crate::search::{Hit, Scope, read, search};
use crate::suggestions::similar_names;
use crate::verdict::{Call, Query, judge};

pub(crate) struct JudgedAnswer {
    pub scope: Scope,
    pub found: Candidates,
    pub judged: Judgement,
    /// The requested classes.
    pub classes: Vec<Class>,
    pub shown: LineOptions,
    pub since: Instant,
    /// A similar name that is declared, to which the requested one may have been renamed.
    pub renamed: Option<String>,
}

impl JudgedAnswer {
    /// Explains that nothing in the project declares the name, if that is certain.
    pub(super) fn explain_undeclared(&self) -> Option<String> {
        let found = &self.found;
        if !is_gone(found) {
            return None;
        }
        let name = &found.question.name;
        let left = found.sites.iter().filter(|site| matches!(site.verdict, Verdict::Undecided(_))).count();
        let are = if left == 1 { "is" } else { "are" };
        let renamed = self.renamed.as_ref().map(|other| format!(". Renamed to {other}?")).unwrap_or_default();
        let left = counted(left, "use");
        // An imported name may be defined in another package.
        if found.sites.iter().any(|site| site.class == Class::Import) {
            return Some(format!("{name} is not defined in this project; {left} of it {are} unverified"));
        }
        Some(format!("{name} is declared nowhere in this project; {left} of it {are} left{renamed}"))
    }
}

/// True if no file declares the name according to both syntax and language server.
fn is_gone(found: &Candidates) -> bool {
    let is_plain = found.question.is_plain() && found.skipped.is_empty() && found.undefined() == NOWHERE;
    found.definitions.is_empty() && is_plain
}

pub(crate) struct Question<'a> {
    pub name: &'a str,
    pub path: Option<&'a str>,
    pub shown: LineOptions,
    pub wait_ms: Option<u64>,
    /// Search only the file of the definition, and take the uses in other files from the language server's list.
    pub is_listed: bool,
}

/// The default and the maximum time to wait for a language server.
const WAIT: u64 = 10_000;
const LONGEST_WAIT: u64 = 50_000;
/// Extra time for results that are already available, even if the call does not wait.
const GRACE: Duration = Duration::from_millis(150);
/// The minimum time limit of the text search, which rarely needs it.
const SEARCH: Duration = Duration::from_secs(2);

/// Finds and verifies uses. Starts over once if a file changes meanwhile.
pub(crate) async fn answer(
    questions: &Questions,
    cx: &Context,
    wanted: &Question<'_>,
    classes: impl Fn(&Candidates) -> Vec<Class>,
) -> Result<JudgedAnswer, ToolError> {
    let since = Instant::now();
    let until = due(cx, wanted.wait_ms, since);
    let mut again = true;
    loop {
        let (name, shown, is_listed) = (wanted.name.to_owned(), wanted.shown, wanted.is_listed);
        let (scope, mut found) = searched(questions, cx, wanted.path.map(str::to_owned), move |scope| {
            // Without candidates there can be no answer.
            let until = until.max(scope.since + SEARCH);
            let scope = Scope { until: scope.until.min(until), ..scope.clone() };
            let found = find(&scope, &name, shown, is_listed)?;
            Ok((scope, found))
        })
        .await?;
        let classes = classes(&found);
        // Reserves time for the final check for changes.
        let until = until - scope.since.elapsed().min(until.saturating_duration_since(Instant::now()) / 2);
        let call = Call { pool: &questions.pool, cx, scope: &scope, until };
        let asked = Query { call, wanted: &classes, shown };
        let mut judged = judge(&asked, &mut found).await;
        let renamed = if is_gone(&found) && !found.sites.is_empty() {
            let name = found.question.name.clone();
            searched(questions, cx, None, move |scope| Ok(renamed(scope, &name))).await?
        } else {
            None
        };
        let (texts, name) = (found.texts.clone(), found.question.name.clone());
        let path = wanted.path.map(str::to_owned);
        let is_same = !judged.is_certain
            || is_listed
            || searched(questions, cx, path, move |scope| Ok(is_unchanged(scope, &name, &texts))).await?;
        if !is_same && std::mem::take(&mut again) {
            continue;
        }
        if !is_same {
            unsettled(&mut judged);
        }
        return Ok(JudgedAnswer { scope, found, judged, classes, shown, since, renamed });
    }
}

/// Returns the deadline of a question.
pub(super) fn due(cx: &Context, wait_ms: Option<u64>, since: Instant) -> Instant {
    let wait = Duration::from_millis(wait_ms.unwrap_or(WAIT).min(LONGEST_WAIT)) + GRACE;
    // The answer must reach the caller before its own timeout.
    since + cx.budget().map_or(wait, |budget| wait.min(budget.saturating_sub(Duration::from_secs(1))))
}

/// Returns the most similar declared name. Blocks.
fn renamed(scope: &Scope, name: &str) -> Option<String> {
    let whole = scope.whole();
    let is_declared = |other: &String| define(&whole, other).is_ok_and(|found| !found.definitions.is_empty());
    similar_names(&whole, name).into_iter().find(is_declared)
}

/// Marks an answer as incomplete because its files keep changing.
fn unsettled(judged: &mut Judgement) {
    judged.may_pass = true;
    judged.doubt(Code::Stale, "files changed while they were checked".to_owned(), 0);
}

/// Marks an answer as incomplete if files have changed since they were read.
pub(super) async fn check_texts(
    questions: &Questions,
    cx: &Context,
    texts: &Texts,
    judged: &mut Judgement,
) -> Result<(), ToolError> {
    let texts = texts.clone();
    let is_same = move |scope: &Scope| {
        Ok(texts.iter().all(|(path, text)| read(&scope.root.join(path)).is_ok_and(|now| *now == **text)))
    };
    if judged.is_certain && !searched(questions, cx, None, is_same).await? {
        unsettled(judged);
    }
    Ok(())
}

/// True if the files that mention a name, and all others that were read, still have the same contents.
fn is_unchanged(scope: &Scope, name: &str, texts: &Texts) -> bool {
    let whole = scope.whole();
    let now = search(&whole, name);
    let is_known = |hit: &Hit| texts.get(hit.path.as_path()).is_some_and(|text| **text == hit.text);
    if !now.hits.iter().all(is_known) {
        return false;
    }
    let mentions = |path: &Path| now.hits.iter().any(|hit| *hit.path == *path);
    let is_same = |path: &Path, text: &[u8]| read(&scope.root.join(path)).is_ok_and(|now| now == text);
    texts.iter().all(|(path, text)| mentions(path) || is_same(path, text))
}
