//! The tools, one file each.

mod call_result;
mod direct;
mod node_check;
mod node_prompt;
mod node_run;
mod node_submit;
mod node_tool;
mod nodes_status;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use mcp::prompt::AnyPrompt;
use mcp::tool::{AnyTool, Context, Declaration, Tool, ToolError, tool};
use parking_lot::Mutex;
use project::Caller;
use project::dashboard::NodeRow;
use serde_json::{Map, Value};

pub use call_result::output_schema;
pub use direct::{DirectAnswer, DirectNode};

use crate::cache::Cache;
use crate::cassette::{Cassettes, Mode};
use crate::folder::{Folder, FolderError};
use crate::registry::{Entry, Recorder, Served, Worktree};
use crate::run::{CheckedValue, Failure, run_with};
use crate::usage::Usage;
use crate::{Delegation, Models, Node, NodesSettings, Record, RunContext, TokenProgress};

/// The tools in the default toolset.
pub const CORE: &[&str] = &[node_run::NAME, node_submit::NodeSubmit::NAME, nodes_status::NodesStatus::NAME];

/// The maximum size of a node as a separate tool in a listing, and of all such nodes, in bytes.
const LISTED_MAX: usize = 16 * 1024;
const LISTED_ROOM: usize = 64 * 1024;

/// The shared state of the tools.
pub struct Nodes {
    /// The directory of node files, relative to each worktree.
    path: PathBuf,
    models: Models,
    delegation: Delegation,
    record: Recorder,
    cassettes: Cassettes,
    usage: Usage,
    cache: Cache,
    /// The maximum number of nodes of a worktree that are separate tools.
    listed: usize,
    /// The names of all other tools.
    taken: OnceLock<Arc<BTreeSet<String>>>,
    /// The worktrees that are watched.
    followed: Mutex<HashMap<PathBuf, Weak<Worktree>>>,
    beginning: tokio::sync::Mutex<()>,
    /// The last good versions of nodes that a shell called in unwatched worktrees.
    last_good: Mutex<HashMap<(PathBuf, String), Arc<Node>>>,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("path", &self.path).field("models", &self.models).finish_non_exhaustive()
    }
}

impl Nodes {
    /// Creates the state. `state` is the directory for persistent data of nodes.
    pub fn new(
        settings: &NodesSettings,
        models: Models,
        delegation: Delegation,
        state: &Path,
        record: Recorder,
    ) -> Nodes {
        Nodes {
            cassettes: Cassettes::new(settings.cassettes),
            usage: Usage::new(state.join("usage.jsonl"), settings.tokens_per_day),
            cache: Cache::new(state.join("cache")),
            path: settings.path.clone(),
            models,
            delegation,
            record,
            listed: settings.listed,
            taken: OnceLock::new(),
            followed: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            last_good: Mutex::default(),
        }
    }

    /// Sets the names of all other tools, which are reserved. Only the first call has an effect.
    pub fn reserve(&self, taken: BTreeSet<String>) {
        self.taken.get_or_init(|| Arc::new(taken));
    }

    /// Watches a worktree's node files until the returned value is dropped everywhere. See [`Worktree::follow`].
    pub async fn follow(&self, worktree: &Path) -> Arc<Worktree> {
        if let Some(followed) = self.followed(worktree) {
            return followed;
        }
        // Simultaneous calls share one check of the files.
        let _beginning = self.beginning.lock().await;
        if let Some(followed) = self.followed(worktree) {
            return followed;
        }
        let new = Arc::new(Worktree::follow(self.folder_of(worktree), self.record.clone()).await);
        let mut followed = self.followed.lock();
        followed.retain(|_, worktree| worktree.strong_count() > 0);
        followed.insert(worktree.to_owned(), Arc::downgrade(&new));
        new
    }

    fn followed(&self, worktree: &Path) -> Option<Arc<Worktree>> {
        self.followed.lock().get(worktree).and_then(Weak::upgrade)
    }

    /// Returns the rows of the nodes in the worktrees whose files are watched, without the figures of their calls.
    pub fn rows(&self) -> Vec<NodeRow> {
        let followed: Vec<Arc<Worktree>> = self.followed.lock().values().filter_map(Weak::upgrade).collect();
        let rows = followed.iter().flat_map(|worktree| {
            let row = |(name, entry): (&String, &Entry)| NodeRow {
                name: name.clone(),
                worktree: worktree.path().to_string_lossy().into_owned(),
                model: entry.node.as_ref().map(|node| node.models.join(", ")).unwrap_or_default(),
                last: entry.error.clone(),
                ..NodeRow::default()
            };
            worktree.served().entries.iter().map(row).collect::<Vec<_>>()
        });
        let mut rows: Vec<NodeRow> = rows.collect();
        rows.sort_by(|one, other| (&one.worktree, &one.name).cmp(&(&other.worktree, &other.name)));
        rows
    }

    /// Returns the tools of a worktree's nodes: the first by name.
    pub fn tools_of(self: &Arc<Self>, worktree: &Worktree) -> Vec<Arc<dyn AnyTool>> {
        let folder = self.folder_of(worktree.path());
        let tool = |node: &Arc<Node>| {
            node_tool::node_tool(self, node, worktree.path().to_owned(), &folder.shown_file(&node.name))
        };
        self.listed(&worktree.served()).map(tool).collect()
    }

    /// Returns the prompts of a worktree's nodes.
    pub fn prompts_of(&self, worktree: &Worktree) -> Vec<Arc<dyn AnyPrompt>> {
        self.listed(&worktree.served()).map(node_prompt::node_prompt).collect()
    }

    /// Returns the nodes that are separate tools: the first by name that fit. Every agent reads them at every turn.
    fn listed<'a>(&self, served: &'a Served) -> impl Iterator<Item = &'a Arc<Node>> {
        let mut room = LISTED_ROOM;
        let nodes = served.entries.values().filter_map(|entry| entry.node.as_ref());
        let fits = move |node: &&Arc<Node>| {
            let fits = node.policy.tool && node.listed_bytes() <= room.min(LISTED_MAX);
            room -= if fits { node.listed_bytes() } else { 0 };
            fits
        };
        nodes.filter(fits).take(self.listed)
    }

    fn record(&self, record: Record) {
        (self.record)(record);
    }

    /// Returns true if the caller of a node answers it.
    fn delegates(&self, node: &Node) -> bool {
        self.cassettes.mode() != Mode::Replay && self.models.delegates(node)
    }

    /// Runs a node with the project's models, cache and cassettes.
    async fn run(
        &self,
        node: &Node,
        input: Map<String, Value>,
        worktree: &Path,
        (fresh, heard): (bool, Option<TokenProgress<'_>>),
    ) -> Result<CheckedValue, Failure> {
        let folder = self.folder_of(worktree);
        let is_live = self.cassettes.mode() == Mode::Live;
        let means = RunContext {
            models: &self.models,
            cassettes: (!is_live).then_some((&self.cassettes, &folder)),
            usage: Some(&self.usage),
            cache: (is_live && !fresh).then_some(&self.cache),
            heard,
        };
        run_with(node, input, means).await
    }

    fn folder_of(&self, worktree: &Path) -> Folder {
        Folder::new(worktree, &self.path).without(self.taken.get().cloned().unwrap_or_default())
    }

    /// Returns the caller's worktree.
    fn worktree(cx: &Context) -> Result<PathBuf, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        Ok(caller.worktree.clone())
    }

    /// Returns the node of this name in the caller's worktree: the available version, or the file's if the worktree is not
    /// watched.
    async fn node(&self, cx: &Context, name: String) -> Result<Arc<Node>, ToolError> {
        let worktree = Nodes::worktree(cx)?;
        let folder = self.folder_of(&worktree);
        if let Some(followed) = self.followed(&worktree) {
            let served = followed.served();
            let Some(entry) = served.entries.get(&name) else {
                return Err(ToolError::user(served.unknown(&folder, &name)));
            };
            let error = || ToolError::user(entry.error.clone().unwrap_or_default());
            return entry.node.clone().ok_or_else(error);
        }
        let key = (worktree, name.clone());
        let node = tokio::task::spawn_blocking(move || folder.node(&name)).await.map_err(ToolError::internal)?;
        let mut last_good = self.last_good.lock();
        match node {
            Ok(node) => {
                let node = Arc::new(node);
                last_good.insert(key, node.clone());
                Ok(node)
            }
            Err(error @ FolderError::Invalid { .. }) => {
                last_good.get(&key).cloned().ok_or_else(|| ToolError::user(error.to_string()))
            }
            Err(error) => {
                last_good.remove(&key);
                Err(ToolError::user(error.to_string()))
            }
        }
    }
}

/// Returns the tool declaration of a node, without its origin.
pub fn declaration(node: &Node) -> Declaration {
    node_tool::declaration(node, "")
}

/// Returns all tools of the toolset.
pub fn tools(nodes: &Arc<Nodes>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        node_run::node_run(nodes),
        tool(node_submit::NodeSubmit(nodes.clone())),
        tool(node_check::NodeCheck(nodes.clone())),
        tool(nodes_status::NodesStatus(nodes.clone())),
    ]
}
