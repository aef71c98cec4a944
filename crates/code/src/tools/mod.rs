//! The tools, one file each.

mod code_status;
pub(crate) mod find_callees;
mod find_callers;
pub(crate) mod find_matches;
mod find_uses;
mod outline;
mod show_definition;
mod show_type;
mod tidepool;
mod uses;
pub(crate) mod verified_uses;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mcp::tool::{AnyTool, Context, Tool, ToolError, tool};
use parking_lot::Mutex;
use project::dashboard::SessionRow;
use project::{Caller, Role};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Semaphore;

use self::show_type::{Constructors, Fields, ShowType};
use self::verified_uses::JudgedAnswer;
use crate::answer::Candidates;
use crate::callees::KnownDefinitions;
use crate::completeness::Head;
use crate::definition::Definition;
use crate::pool::{Options, Pool};
use crate::running_servers::{self, Running};
use crate::search::{NoAnswer, Scope, scope as scope_of};

/// The tools that are listed by default.
pub const CORE: &[&str] = &[
    find_callers::FindCallers::NAME,
    find_uses::FindUses::NAME,
    show_definition::ShowDefinition::NAME,
    ShowType::<Fields, false>::NAME,
    ShowType::<Constructors, false>::NAME,
    outline::Outline::NAME,
];

/// The maximum number of concurrent searches; each uses two threads.
const AT_ONCE: usize = 2;

/// The shared state of the tools.
pub struct Questions {
    searches: Semaphore,
    pub(crate) pool: Pool,
    /// The definitions that the walks over a worktree have looked up, and the worktree's state then.
    pub(crate) known: Mutex<(Option<(PathBuf, u64)>, KnownDefinitions)>,
}

impl Questions {
    /// Uses no language servers: all candidates stay unverified.
    pub fn new() -> Arc<Questions> {
        Arc::new(Questions { searches: Semaphore::new(AT_ONCE), pool: Pool::new(None), known: Mutex::default() })
    }

    /// Uses language servers, which start on first use.
    pub fn with_judges(options: Options) -> Arc<Questions> {
        let pool = Pool::new(Some(options));
        Arc::new(Questions { searches: Semaphore::new(AT_ONCE), pool, known: Mutex::default() })
    }

    pub fn servers(&self) -> Vec<Running> {
        self.pool.all().iter().map(Running::from_server).collect()
    }

    /// Returns the rows of the servers for faces.
    pub fn rows(&self) -> Vec<SessionRow> {
        self.pool.all().iter().map(running_servers::row).collect()
    }

    /// Stops all servers and waits until they have exited.
    pub async fn end(&self) {
        self.pool.end().await;
    }
}

pub fn tools(questions: &Arc<Questions>) -> Vec<Arc<dyn AnyTool>> {
    let questions = || questions.clone();
    vec![
        tool(find_callers::FindCallers(questions())),
        tool(find_uses::FindUses(questions())),
        tool(show_definition::ShowDefinition(questions())),
        tool(ShowType::<Fields, false>::new(questions())),
        tool(ShowType::<Constructors, false>::new(questions())),
        tool(outline::Outline(questions())),
        tool(find_callees::FindCallees(questions())),
        tool(find_matches::FindMatches(questions())),
        tool(code_status::CodeStatus(questions())),
    ]
}

/// Returns the replacements for tools of Tidepool's control server. Their text is JSON.
pub fn tidepool(questions: &Arc<Questions>) -> Vec<Arc<dyn AnyTool>> {
    let questions = || questions.clone();
    vec![
        tool(tidepool::FindCallers(questions())),
        tool(ShowType::<Fields, true>::new(questions())),
        tool(ShowType::<Constructors, true>::new(questions())),
    ]
}

/// Returns the number of results to list: 50 by default, at most 5000.
fn most_results(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(50).min(5000)
}

/// The maximum number of definitions in an answer; a name outside of the project may have many.
const MOST_DEFINITIONS: usize = 100;

/// A definition in a result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
struct DefinitionOut {
    name: String,
    kind: &'static str,
    file: String,
    line: usize,
}

impl DefinitionOut {
    fn new(definition: &Definition) -> DefinitionOut {
        DefinitionOut {
            name: definition.label.clone(),
            kind: definition.kind.word(),
            file: display_path(&definition.path),
            line: definition.line,
        }
    }
}

/// Lists the definitions in the project, one line each. Definitions outside are listed with their uses.
fn defined(found: &Candidates) -> Vec<String> {
    let inside = found.definitions.iter().filter(|one| !one.is_outside());
    let mut lines: Vec<String> = inside.map(|one| format!("defined: {}", one.describe())).collect();
    if lines.is_empty() {
        lines.push(found.undefined());
    }
    lines
}

/// Formats a path for a result.
pub(crate) fn display_path(path: &Path) -> String {
    project::visible::path(path)
}

/// Runs a search on a blocking thread; dropping the future cancels it.
pub(crate) async fn searched<T: Send + 'static>(
    questions: &Questions,
    cx: &Context,
    path: Option<String>,
    search: impl FnOnce(&Scope) -> Result<T, NoAnswer> + Send + 'static,
) -> Result<T, ToolError> {
    let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
    let since = Instant::now();
    let _slot = questions.searches.acquire().await.map_err(ToolError::internal)?;
    // The command line resolves paths from the current folder. Agents read paths from answers, which are relative to the root.
    let folder = (caller.role == Role::Control).then_some(&*caller.cwd);
    let mut scope = scope_of(&caller.worktree, folder, path.as_deref(), since).map_err(refused)?;
    scope.revision = questions.pool.revision(&scope.root).await;
    let _waiting = Waiting(scope.is_given_up.clone());
    let searching = tokio::task::spawn_blocking(move || search(&scope));
    searching.await.map_err(ToolError::internal)?.map_err(refused)
}

/// Cancels the search when dropped.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn refused(NoAnswer(problem): NoAnswer) -> ToolError {
    ToolError::user(problem)
}

/// Returns the head of an answer based on syntax alone: it is complete if no file that may hold more was skipped.
fn syntactic(scope: &Scope, found: &Candidates) -> Head {
    let head = Head::default().searched(scope, found.files, &found.skipped, scope.since);
    Head { is_complete: found.skipped.is_empty(), ..head }
}

/// Returns a line that explains why an answer is not complete.
fn doubt(head: &Head) -> Option<String> {
    (!head.is_complete).then(|| format!("incomplete: {}", head.incomplete_reasons()))
}
