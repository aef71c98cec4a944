//! Nodes, functions whose body is a prompt, in the daemon.

use std::sync::Arc;

use ::nodes::tools::{self, Nodes};
use ::nodes::{Models, NodesSettings};
use project::Config;
use project::config::Section;

use super::{Part, Setup, Toolset};

const INSTRUCTIONS: &str = "Nodes are prompt files of the project with a typed input and output: nodes_status lists them, node_run \
runs one on its model. Its value conforms to its type; whether it is true is a model's word.";

/// The models, and where node files lie.
pub(crate) struct NodesPart {
    nodes: Arc<Nodes>,
}

impl Part for NodesPart {
    fn open(setup: &Setup<'_>) -> NodesPart {
        let settings: NodesSettings = setup.config.of();
        let mut models = Models::new(&settings);
        for request in &setup.config.withheld {
            if let Some(alias) = request.withholds.as_deref().filter(|_| request.key.starts_with("nodes.models.")) {
                models.withhold(alias, "hob.toml asks for it and you have not granted that; `hob trust` shows it");
            }
        }
        NodesPart { nodes: Arc::new(Nodes { path: settings.path, models }) }
    }

    fn declared() -> NodesPart {
        let path = NodesSettings::default().path;
        NodesPart { nodes: Arc::new(Nodes { path, models: Models::default() }) }
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
        Some(Section::of::<NodesSettings>())
    }

    fn faults(config: &Config) -> Vec<String> {
        let models = Models::new(&config.of::<NodesSettings>());
        let unusable = models.list().filter_map(|(alias, model)| Some((alias.to_owned(), model.err()?.to_owned())));
        unusable.map(|(alias, why)| format!("the model {alias:?} of nodes: {why}")).collect()
    }
}
