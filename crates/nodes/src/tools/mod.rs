//! The tools, one file each.

mod called;
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
use serde_json::{Map, Value};

pub use called::output_schema;

use crate::cache::Cache;
use crate::cassette::{Cassettes, Mode};
use crate::folder::{Folder, FolderError};
use crate::registry::{Recorder, Served, Worktree};
use crate::run::{Done, Failure, run_with};
use crate::usage::Usage;
use crate::{Delegation, Heard, Means, Models, Node, NodesSettings, Record};

/// The tools that a connection is offered first.
pub const CORE: &[&str] = &[node_run::NAME, node_submit::NodeSubmit::NAME, nodes_status::NodesStatus::NAME];

/// How long a node that is a tool of its own may be in a listing, and all of them together, in bytes.
const LISTED_MAX: usize = 16 * 1024;
const LISTED_ROOM: usize = 64 * 1024;

/// What the tools share.
pub struct Nodes {
    /// The directory of node files, relative to each worktree.
    path: PathBuf,
    models: Models,
    delegation: Delegation,
    record: Recorder,
    cassettes: Cassettes,
    usage: Usage,
    cache: Cache,
    /// How many nodes of a worktree are tools of their own.
    listed: usize,
    /// The names of all other tools.
    taken: OnceLock<Arc<BTreeSet<String>>>,
    /// The worktrees that are followed.
    followed: Mutex<HashMap<PathBuf, Weak<Worktree>>>,
    beginning: tokio::sync::Mutex<()>,
    /// The last good version of what was called in worktrees that nobody follows: a shell's calls.
    last_good: Mutex<HashMap<(PathBuf, String), Arc<Node>>>,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("path", &self.path).field("models", &self.models).finish_non_exhaustive()
    }
}

impl Nodes {
    /// `state` is the directory for what is kept of nodes.
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

    /// Says the names of all other tools, which no node may have. Only the first call counts.
    pub fn reserve(&self, taken: BTreeSet<String>) {
        self.taken.get_or_init(|| Arc::new(taken));
    }

    /// Follows a worktree's node files, until the last holder drops what this gives. See [`Worktree::follow`].
    pub async fn follow(&self, worktree: &Path) -> Arc<Worktree> {
        if let Some(followed) = self.followed(worktree) {
            return followed;
        }
        // Many agents that begin at once have the files checked once.
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

    /// The tools of a worktree's nodes: the first by name.
    pub fn tools_of(self: &Arc<Self>, worktree: &Worktree) -> Vec<Arc<dyn AnyTool>> {
        let folder = self.folder_of(worktree.path());
        let tool = |node: &Arc<Node>| {
            node_tool::node_tool(self, node, worktree.path().to_owned(), &folder.shown_file(&node.name))
        };
        self.listed(&worktree.served()).map(tool).collect()
    }

    /// The prompts of a worktree's nodes.
    pub fn prompts_of(&self, worktree: &Worktree) -> Vec<Arc<dyn AnyPrompt>> {
        self.listed(&worktree.served()).map(node_prompt::node_prompt).collect()
    }

    /// Those that are tools of their own: the first by name for which there is room. Every agent reads them at every turn.
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

    /// Runs a node with all that the project has.
    async fn run(
        &self,
        node: &Node,
        input: Map<String, Value>,
        worktree: &Path,
        (fresh, heard): (bool, Option<Heard<'_>>),
    ) -> Result<Done, Failure> {
        let folder = self.folder_of(worktree);
        let is_live = self.cassettes.mode() == Mode::Live;
        let means = Means {
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

    /// The caller's worktree.
    fn worktree(cx: &Context) -> Result<PathBuf, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        Ok(caller.worktree.clone())
    }

    /// The node of this name in the caller's worktree: the version that is served, or, where nobody follows the files, that
    /// of the file.
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

/// What a client is told of a node as a tool, but for where it comes from.
pub fn declaration(node: &Node) -> Declaration {
    node_tool::declaration(node, "")
}

/// All tools of the toolset.
pub fn tools(nodes: &Arc<Nodes>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        node_run::node_run(nodes),
        tool(node_submit::NodeSubmit(nodes.clone())),
        tool(node_check::NodeCheck(nodes.clone())),
        tool(nodes_status::NodesStatus(nodes.clone())),
    ]
}
