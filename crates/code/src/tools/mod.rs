//! The tools, one file each.

mod code_status;
mod find_callees;
mod find_callers;
mod find_matches;
mod find_uses;
mod judged;
mod outline;
mod show_constructors;
mod show_definition;
mod show_fields;
mod tidepool;
mod uses;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mcp::tool::{AnyTool, Context, Tool, ToolError, tool};
use project::{Caller, Role};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Semaphore;

use self::judged::JudgedAnswer;
use crate::answer::Candidates;
use crate::definition::Definition;
use crate::head::Head;
use crate::pool::{Options, Pool};
use crate::running::Running;
use crate::search::{NoAnswer, Scope, scope as scope_of};

/// The tools that a connection is offered first.
pub const CORE: &[&str] = &[
    find_callers::FindCallers::NAME,
    find_uses::FindUses::NAME,
    show_definition::ShowDefinition::NAME,
    show_fields::ShowFields::<false>::NAME,
    show_constructors::ShowConstructors::<false>::NAME,
    outline::Outline::NAME,
];

/// How many questions are searched for at once: each reads with two threads.
const AT_ONCE: usize = 2;

/// What the tools share.
pub struct Questions {
    searches: Semaphore,
    pub(crate) pool: Pool,
}

impl Questions {
    /// Without language servers: what syntax finds stays unverified.
    pub fn new() -> Arc<Questions> {
        Arc::new(Questions { searches: Semaphore::new(AT_ONCE), pool: Pool::new(None) })
    }

    /// With language servers, which are started when they are first needed.
    pub fn with_judges(options: Options) -> Arc<Questions> {
        Arc::new(Questions { searches: Semaphore::new(AT_ONCE), pool: Pool::new(Some(options)) })
    }

    /// The servers of all worktrees.
    pub fn servers(&self) -> Vec<Running> {
        self.pool.all().iter().map(Running::from_server).collect()
    }

    /// Ends all servers; nothing of them is left then.
    pub async fn end(&self) {
        self.pool.end().await;
    }
}

/// All tools of the toolset.
pub fn tools(questions: &Arc<Questions>) -> Vec<Arc<dyn AnyTool>> {
    let questions = || questions.clone();
    vec![
        tool(find_callers::FindCallers(questions())),
        tool(find_uses::FindUses(questions())),
        tool(show_definition::ShowDefinition(questions())),
        tool(show_fields::ShowFields::<false>(questions())),
        tool(show_constructors::ShowConstructors::<false>(questions())),
        tool(outline::Outline(questions())),
        tool(find_callees::FindCallees(questions())),
        tool(find_matches::FindMatches(questions())),
        tool(code_status::CodeStatus(questions())),
    ]
}

/// The tools of Tidepool's control server that this part replaces. Their text is their JSON.
pub fn tidepool(questions: &Arc<Questions>) -> Vec<Arc<dyn AnyTool>> {
    let questions = || questions.clone();
    vec![
        tool(tidepool::FindCallers(questions())),
        tool(show_fields::ShowFields::<true>(questions())),
        tool(show_constructors::ShowConstructors::<true>(questions())),
    ]
}

/// How many definitions an answer lists; a name from outside of the project may have any number.
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

/// Where a name is defined, in lines. What is outside of the project stands with its uses.
fn defined(found: &Candidates) -> Vec<String> {
    let inside = found.definitions.iter().filter(|one| !one.is_outside());
    let mut lines: Vec<String> = inside.map(|one| format!("defined: {}", one.describe())).collect();
    if lines.is_empty() {
        lines.push(found.undefined());
    }
    lines
}

/// A path in a result.
fn display_path(path: &Path) -> String {
    project::visible::path(path)
}

/// Runs a search on a thread that may block, for as long as the call is waited for.
async fn searched<T: Send + 'static>(
    questions: &Questions,
    cx: &Context,
    path: Option<String>,
    search: impl FnOnce(&Scope) -> Result<T, NoAnswer> + Send + 'static,
) -> Result<T, ToolError> {
    let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
    let since = Instant::now();
    let _slot = questions.searches.acquire().await.map_err(ToolError::internal)?;
    // In a shell a path begins where it is typed; answers, which agents read paths from, have them from the worktree's root.
    let folder = (caller.role == Role::Control).then_some(&*caller.cwd);
    let mut scope = scope_of(&caller.worktree, folder, path.as_deref(), since).map_err(refused)?;
    scope.revision = questions.pool.revision(caller, &scope.root).await;
    let _waiting = Waiting(scope.is_given_up.clone());
    let searching = tokio::task::spawn_blocking(move || search(&scope));
    searching.await.map_err(ToolError::internal)?.map_err(refused)
}

/// Dropped with the call.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn refused(NoAnswer(problem): NoAnswer) -> ToolError {
    ToolError::user(problem)
}

/// The head of an answer by syntax alone: it is complete if nothing that may hold more was left out.
fn syntactic(scope: &Scope, found: &Candidates) -> Head {
    let head = Head::default().searched(scope, found.files, &found.skipped, scope.since);
    Head { is_complete: found.skipped.is_empty(), ..head }
}

/// Says why an answer is not complete, as a line of its own.
fn doubt(head: &Head) -> Option<String> {
    (!head.is_complete).then(|| format!("incomplete: {}", head.why()))
}
