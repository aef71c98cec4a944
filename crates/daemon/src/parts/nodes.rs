//! Nodes, functions whose body is a prompt, in the daemon.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::nodes::Record;
use ::nodes::registry::{Served, Worktree};
use ::nodes::tools::{self, Nodes};
use ::nodes::{Delegation, Models, NodesSettings};
use mcp::prompt::AnyPrompt;
use mcp::tool::AnyTool;
use parking_lot::Mutex;
use project::Config;
use project::config::Section;
use project::dashboard::{NodeRow, Rooms};
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
        let figures = Arc::<Figures>::default();
        let counted = figures.clone();
        let record = Arc::new(move |record| {
            counted.count(&record);
            journal.record(record);
        });
        let state = setup.project.state_dir().join("nodes");
        let nodes = Arc::new(Nodes::new(&settings, models, delegation, &state, record));
        let listed = nodes.clone();
        setup.register(Capabilities {
            live_tools: Some(Arc::new(NodeFiles(nodes.clone()))),
            nodes: Some(nodes.clone()),
            rows: Some(Box::new(move |_| {
                let rooms = Rooms { nodes: figures.add_to(listed.rows()), ..Rooms::default() };
                Box::pin(std::future::ready(rooms))
            })),
            ..Capabilities::default()
        });
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
        Some(Section::for_settings::<NodesSettings>().with_faults(faults).with_missing_variables(missing_keys))
    }
}

/// The figures of calls since the daemon started, by node.
#[derive(Default)]
struct Figures(Mutex<HashMap<String, NodeRow>>);

impl Figures {
    /// The maximum number of nodes that are counted.
    const NODES: usize = 1000;

    fn count(&self, record: &Record) {
        let Record::NodeCalled { node, outcome, tokens, .. } = record else { return };
        let mut figures = self.0.lock();
        if figures.len() >= Self::NODES && !figures.contains_key(node) {
            return;
        }
        let row = figures.entry(node.clone()).or_default();
        row.calls += 1;
        row.tokens += tokens;
        row.failures += u64::from(!["done", "delegated"].contains(&outcome.as_str()));
        row.last = Some(outcome.clone());
    }

    fn add_to(&self, rows: Vec<NodeRow>) -> Vec<NodeRow> {
        let figures = self.0.lock();
        let add = |row: NodeRow| match figures.get(&row.name) {
            Some(NodeRow { calls, tokens, failures, last, .. }) => {
                let last = row.last.or_else(|| last.clone());
                NodeRow { calls: *calls, tokens: *tokens, failures: *failures, last, ..row }
            }
            None => row,
        };
        rows.into_iter().map(add).collect()
    }
}

/// Returns the unusable models whose key is not in the environment, and the ignored ones.
fn faults(config: &Config) -> Vec<String> {
    let models = Models::new(&config.settings::<NodesSettings>());
    let ignored = models.ignored().to_vec();
    unusable(config, false).into_iter().chain(ignored).collect()
}

/// Returns the missing keys.
fn missing_keys(config: &Config) -> Vec<String> {
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
