//! Nodes, functions whose body is a prompt, in the daemon.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::nodes::registry::{Served, Worktree};
use ::nodes::tools::{self, Nodes};
use ::nodes::{Delegation, Models, NodesSettings};
use mcp::prompt::AnyPrompt;
use mcp::tool::AnyTool;
use project::Config;
use project::config::Section;
use tokio::sync::watch::Receiver;

use super::{BoxFuture, Capabilities, Live, LiveTools, Part, Setup, Toolset};

const INSTRUCTIONS: &str = "Nodes are prompt files of the project with a typed input and output: nodes_status lists them, node_run \
runs one on its model. The value matches the declared type; its truth is only as good as the model.";

/// The purpose of the key that seals the tickets of delegated calls.
const TICKETS: &str = "tickets of delegated calls";

/// The models, and the locations of node files.
pub(crate) struct NodesPart {
    nodes: Arc<Nodes>,
}

impl Part for NodesPart {
    fn open(setup: &Setup<'_>) -> NodesPart {
        let settings: NodesSettings = setup.config.settings();
        let models = Models::from_config(setup.config);
        let journal = setup.journal.clone();
        let delegation = Delegation::new(setup.seal_for(TICKETS), setup.project.state_dir().join("nodes/delegated"));
        let record = Arc::new(move |record| journal.record(record));
        let state = setup.project.state_dir().join("nodes");
        let nodes = Arc::new(Nodes::new(&settings, models, delegation, &state, record));
        setup
            .register(Capabilities { live_tools: Some(Arc::new(NodeFiles(nodes.clone()))), ..Capabilities::default() });
        NodesPart { nodes }
    }

    fn declared() -> NodesPart {
        // Nothing is called, so nothing is stored.
        let delegation = Delegation::new(None, PathBuf::new());
        let settings = NodesSettings::default();
        let nodes = Nodes::new(&settings, Models::default(), delegation, Path::new(""), Arc::new(|_| ()));
        NodesPart { nodes: Arc::new(nodes) }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "nodes",
            about: "typed prompts",
            instructions: INSTRUCTIONS,
            core: tools::CORE,
            tools: tools::tools(&self.nodes),
            is_default: false,
            extras: true,
        }
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<NodesSettings>().with_faults(faults).with_lacks(lacks))
    }
}

/// Returns the unusable models whose key is not in the environment, and the ignored ones.
fn faults(config: &Config) -> Vec<String> {
    let models = Models::new(&config.settings::<NodesSettings>());
    let ignored = models.ignored().to_vec();
    unusable(config, false).into_iter().chain(ignored).collect()
}

/// Returns the missing keys.
fn lacks(config: &Config) -> Vec<String> {
    unusable(config, true)
}

/// Returns the models that cannot be used: those whose key is in the environment, or the others.
fn unusable(config: &Config, of_environment: bool) -> Vec<String> {
    let settings = config.settings::<NodesSettings>();
    let is_of_it = |alias: &str| settings.models.get(alias).is_some_and(|model| model.key_env.is_some());
    let models = Models::new(&settings);
    let unusable = models.list().filter_map(|(alias, model)| Some((alias, model.err()?)));
    let wanted = unusable.filter(|(alias, _)| is_of_it(alias) == of_environment);
    wanted.map(|(alias, why)| format!("the model {alias:?} of nodes: {why}")).collect()
}

/// The nodes of all worktrees, each a tool.
struct NodeFiles(Arc<Nodes>);

impl LiveTools for NodeFiles {
    fn reserve(&self, names: &BTreeSet<String>) {
        self.0.reserve(names.clone());
    }

    fn follow<'a>(&'a self, worktree: &'a Path) -> BoxFuture<'a, Box<dyn Live>> {
        Box::pin(async move {
            let worktree = self.0.follow(worktree).await;
            let changes = worktree.changes();
            Box::new(Followed { nodes: self.0.clone(), worktree, changes }) as Box<dyn Live>
        })
    }
}

/// The nodes of a worktree.
struct Followed {
    nodes: Arc<Nodes>,
    worktree: Arc<Worktree>,
    changes: Receiver<Arc<Served>>,
}

impl Live for Followed {
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.nodes.tools_of(&self.worktree)
    }

    fn prompts(&self) -> Vec<Arc<dyn AnyPrompt>> {
        self.nodes.prompts_of(&self.worktree)
    }

    fn changed(&mut self) -> BoxFuture<'_> {
        Box::pin(async move {
            if self.changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
