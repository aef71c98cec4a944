//! Live toolsets: the tools and prompts that a worktree's files define. Each worktree has its own registry and server,
//! a sibling of the one without its tools; both are dropped with the worktree's last connection.

use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use mcp::prompt::Prompts;
use mcp::server::Server;
use mcp::tool::Registry;
use tokio::task::JoinHandle;

use crate::parts::{Live, Surface};
use crate::toolsets::LiveChoice;

/// The server of a connection, and the state that must live as long.
#[derive(Clone)]
pub(crate) struct Served {
    pub server: Server,
    _branch: Option<Arc<SharedServer>>,
}

impl Served {
    pub(super) fn permanent(server: Server) -> Served {
        Served { server, _branch: None }
    }
}

/// The servers of worktrees, by the kind of connection, the registry without the worktree's tools, and the worktree.
#[derive(Default)]
pub(super) struct Branches(Mutex<HashMap<Key, Weak<SharedServer>>>);

type Key = (Surface, usize, PathBuf);

struct SharedServer {
    server: Server,
    _branch: Branch,
}

impl Branches {
    pub(super) fn get(&self, key: &Key) -> Option<Served> {
        let kept = self.0.lock().get(key).and_then(Weak::upgrade)?;
        Some(Served { server: kept.server.clone(), _branch: Some(kept) })
    }

    /// Stores a server for later connections, unless there already is one, which is returned then.
    pub(super) fn add(&self, key: Key, server: Server, branch: Branch) -> Served {
        let mut branches = self.0.lock();
        branches.retain(|_, kept| kept.strong_count() > 0);
        let known = branches.get(&key).and_then(Weak::upgrade);
        let kept = known.unwrap_or_else(|| {
            let kept = Arc::new(SharedServer { server, _branch: branch });
            branches.insert(key, Arc::downgrade(&kept));
            kept
        });
        Served { server: kept.server.clone(), _branch: Some(kept) }
    }
}

/// The tools and prompts of a worktree in a registry, while they are followed.
pub(super) struct Branch {
    prompts: Arc<Prompts>,
    has_some: bool,
    following: JoinHandle<()>,
}

impl Drop for Branch {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Branch {
    /// Adds the current contents, and later changes.
    pub(super) fn new(mut live: Box<dyn Live>, registry: Arc<Registry>, choice: &LiveChoice) -> Branch {
        let prompts = Arc::<Prompts>::default();
        let mut target = Target {
            registry,
            prompts: prompts.clone(),
            added: BTreeSet::new(),
            core: choice.core.clone(),
            group: choice.name,
        };
        target.take(live.as_ref());
        let has_some = !target.added.is_empty();
        let following = tokio::spawn(async move {
            loop {
                live.changed().await;
                target.take(live.as_ref());
            }
        });
        Branch { prompts, has_some, following }
    }

    pub(super) fn prompts(&self) -> &Arc<Prompts> {
        &self.prompts
    }

    /// Returns true if the worktree had contents at the start.
    pub(super) fn has_some(&self) -> bool {
        self.has_some
    }
}

/// The destination of the tools and prompts.
struct Target {
    registry: Arc<Registry>,
    prompts: Arc<Prompts>,
    /// The names of the added tools.
    added: BTreeSet<String>,
    /// The tools listed while the worktree has contents.
    core: Vec<&'static str>,
    group: &'static str,
}

impl Target {
    fn take(&mut self, live: &dyn Live) {
        let mut tools = live.tools();
        tools.retain(|tool| match tool.check() {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, "a tool that a file brings is not served");
                false
            }
        });
        let names: BTreeSet<String> = tools.iter().map(|tool| tool.declaration().name.clone()).collect();
        let gone: Vec<&str> = self.added.difference(&names).map(String::as_str).collect();
        // Reading the file already rejects a name of our own; this is a second check.
        let is_ours = |name: &String| !self.added.contains(name) && self.registry.get(name).is_some();
        let tools = tools.into_iter().filter(|tool| !is_ours(&tool.declaration().name));
        if let Err(error) = self.registry.replace(gone.iter().copied(), tools.collect::<Vec<_>>()) {
            tracing::error!(%error, "the tools from files are unchanged");
        }
        self.prompts.replace(gone, live.prompts());
        if names.is_empty() {
            self.registry.unlist(self.group, self.core.iter().map(|name| (*name).to_owned()))
        } else {
            self.registry.relist(self.core.iter().copied())
        }
        self.added = names;
    }
}
