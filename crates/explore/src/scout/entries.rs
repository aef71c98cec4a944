//! The definitions that change: those that the request names, those in its query, or those of a diff.

use std::path::PathBuf;

use code::facts::Symbol;
use code::tools::Questions;
use mcp::tool::{Context, ToolError};

use super::Request;
use crate::lookups::{Lookups, Unresolved, none_defined};
use crate::query;
use crate::sources::{Diff, Sources, caller};

/// The maximum length of a query, in bytes.
const MAX_QUERY: usize = 2000;

/// Checks the arguments, and returns the diff if the request names one.
pub(super) async fn diff(sources: &Sources, cx: &Context, request: &Request) -> Result<Option<Diff>, ToolError> {
    let has_symbols = !request.symbols.to_list("symbols")?.is_empty();
    if request.query.trim().is_empty() && !has_symbols && request.diff.is_none() {
        let hint = "Ask a question, such as `What breaks if I add a variant to Shape?`, or name `symbols`.";
        return Err(ToolError::user("the query is empty").hint(hint));
    }
    let length = request.query.len();
    if length > MAX_QUERY {
        return Err(ToolError::user(format!("the query is too long; the limit is {MAX_QUERY} bytes, got {length}")));
    }
    match &request.diff {
        Some(_) if has_symbols => {
            Err(ToolError::user("`symbols` and `diff` exclude each other").hint("Leave out one of them."))
        }
        Some(diff) => Ok(Some((sources.diff)(caller(cx)?, diff).await.map_err(ToolError::user)?)),
        None => Ok(None),
    }
}

/// Resolves the named symbols, or the names in the query.
pub(super) async fn resolve(
    questions: &Questions,
    cx: &Context,
    request: &Request,
    changed: Option<&Diff>,
    lookups: &mut Lookups,
) -> Result<(Vec<Symbol>, Vec<Unresolved>), ToolError> {
    if let Some(changed) = changed {
        return Ok((changed_definitions(questions, cx, changed, lookups).await?, Vec::new()));
    }
    let symbols = request.symbols.to_list("symbols")?;
    if !symbols.is_empty() {
        let (found, unresolved) = lookups.resolve(questions, cx, &symbols, None).await?;
        return if found.is_empty() { Err(none_defined("symbol", &unresolved)) } else { Ok((found, unresolved)) };
    }
    let groups = query::names(&request.query);
    let mut problems = Vec::new();
    for names in groups {
        let (found, unresolved) = lookups.resolve(questions, cx, &names, None).await?;
        if !found.is_empty() {
            // The other words of the question were never names.
            return Ok((found, Vec::new()));
        }
        // A name with too many definitions is meant, so the other words are not names.
        let is_ambiguous = unresolved.iter().any(|one| one.problem.contains(code::AMBIGUOUS));
        problems.extend(unresolved.into_iter().map(|one| one.problem));
        if is_ambiguous {
            break;
        }
    }
    let hint = "Name the definitions in `symbols`, such as `Shape` or `src/geo.rs:12`.";
    let problem = match &problems[..] {
        [] => "the query names no definition".to_owned(),
        problems => format!("the query names no definition: {}", problems.join("; ")),
    };
    Err(ToolError::user(problem).hint(hint))
}

/// The maximum numbers of changed lines that are looked up and of changed definitions that are followed.
const MOST_LINES: usize = 5000;
const MOST_ENTRIES: usize = 30;

/// Returns the definitions around changed lines.
async fn changed_definitions(
    questions: &Questions,
    cx: &Context,
    diff: &Diff,
    lookups: &mut Lookups,
) -> Result<Vec<Symbol>, ToolError> {
    let each = diff.lines.iter().flat_map(|(path, first, last)| (*first..=*last).map(move |line| (path.clone(), line)));
    let lines: Vec<(PathBuf, usize)> = each.take(MOST_LINES).collect();
    if lines.len() == MOST_LINES {
        lookups.doubt(format!("only the first {MOST_LINES} changed lines were looked up"));
    }
    let late = || ToolError::user("the changed definitions were not found in time").hint("Raise `wait_ms`.");
    let found = lookups.limit(questions.enclosing_symbols(cx, lines)).await.ok_or_else(late)??;
    let removed = diff.removed.join(", ");
    if found.is_empty() {
        return Err(match diff.removed[..] {
            [] => ToolError::user("the diff changes no definition").hint("Name definitions in `symbols`."),
            _ => ToolError::user(format!("the diff only removes definitions: {removed}"))
                .hint("find_uses lists what still uses such a name."),
        });
    }
    if !removed.is_empty() {
        lookups.doubt(format!(
            "removed or renamed, and not followed: {removed}; find_uses (`hob uses`) finds what still uses such a name"
        ));
    }
    // Tests are listed and not followed.
    let (tests, mut followed): (Vec<Symbol>, Vec<Symbol>) = found.into_iter().partition(|one| one.is_test);
    if followed.len() > MOST_ENTRIES {
        lookups.doubt(format!("{} definitions changed; only the first {MOST_ENTRIES} were followed", followed.len()));
        followed.truncate(MOST_ENTRIES);
    }
    followed.extend(tests);
    Ok(followed)
}
