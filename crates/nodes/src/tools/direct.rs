//! Nodes on which another part asks a model once: the worktree's file of that name, otherwise a built-in text. A caller never
//! answers them.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::Context;
use project::Caller;
use serde_json::{Map, Value};

use super::{Nodes, call_result};
use crate::{Models, Node, address};

/// The variable with the address of an Ollama server, and the model that is asked there.
const ENDPOINT: &str = "GEMMA_ENDPOINT";
const OLLAMA_MODEL: &str = "functiongemma";

/// A node with its model.
#[derive(Debug)]
pub struct DirectNode {
    nodes: Arc<Nodes>,
    node: Node,
    worktree: PathBuf,
    /// The model of the environment, instead of the configured ones.
    models: Option<Models>,
}

/// The answer of a model.
#[derive(Debug)]
pub struct DirectAnswer {
    /// The checked value, or the reason why there is none.
    pub value: Result<Value, String>,
    /// The tokens that the server reported.
    pub tokens: u64,
}

impl Nodes {
    /// Returns the node of this name for the caller's worktree; `None` if no model is configured for it.
    ///
    /// # Errors
    /// If its file is invalid, or its model cannot be used.
    pub async fn direct(
        self: &Arc<Self>,
        cx: &Context,
        name: &str,
        built_in: &str,
    ) -> Result<Option<DirectNode>, String> {
        let worktree = Nodes::worktree(cx).map_err(|error| error.to_string())?;
        let file = worktree.join(self.folder_of(&worktree).file(name));
        let mut node = if file.symlink_metadata().is_ok() {
            let node = self.node(cx, name.to_owned()).await.map_err(|error| error.to_string())?;
            node.reparse()?
        } else {
            Node::parse(name, built_in).map_err(|problems| format!("{name}: {problems:?}"))?
        };
        // The other part knows what to do without an answer.
        node.policy.attempts = 1;
        let endpoint = cx.caller::<Caller>().and_then(|caller| caller.asked_env.get(ENDPOINT));
        let models = match endpoint.map(|url| self.models_at(url)).transpose()? {
            Some(EndpointModel::Alias(alias)) => {
                node.models = vec![alias];
                None
            }
            Some(EndpointModel::Own(models)) => {
                node.models.clear();
                Some(models)
            }
            None if self.delegates(&node) => return Ok(None),
            None => None,
        };
        models.as_ref().unwrap_or(&self.models).for_node(&node)?;
        Ok(Some(DirectNode { nodes: self.clone(), node, worktree, models }))
    }

    /// Returns the configured model at the address of an Ollama server, otherwise its usual model if it runs on this machine.
    fn models_at(&self, url: &str) -> Result<EndpointModel, String> {
        let url = url.trim_end_matches('/');
        let url = if url.ends_with("/v1") { url.to_owned() } else { format!("{url}/v1") };
        let is_there = |model: Result<&crate::provider::Model, &str>| model.is_ok_and(|model| model.is_at(&url));
        if let Some((alias, _)) = self.models.list().find(|(_, model)| is_there(*model)) {
            return Ok(EndpointModel::Alias(alias.to_owned()));
        }
        if !address::is_local(&url) {
            address::check(&url).map_err(|why| format!("{ENDPOINT}: {why}"))?;
            return Err(format!(
                "{ENDPOINT} names another machine; add a model with url = {url:?} to your config.toml, and restart the daemon \
                 (`hob stop`)"
            ));
        }
        Models::at(&url, OLLAMA_MODEL).map(EndpointModel::Own)
    }
}

/// The model that the environment names.
enum EndpointModel {
    Alias(String),
    Own(Models),
}

impl DirectNode {
    /// Estimates the tokens of a call: its prompt and the longest answer.
    pub fn estimate(&self, input: &Map<String, Value>) -> u64 {
        crate::run::estimate(&self.node, input)
    }

    /// Asks the model once. Dropping the future closes the connection.
    pub async fn ask(&self, input: Map<String, Value>) -> DirectAnswer {
        let ran = match &self.models {
            None => self.nodes.run(&self.node, input, &self.worktree, (false, None)).await,
            Some(models) => crate::run(&self.node, input, models).await,
        };
        let (value, outcome, ledger) = match ran {
            Ok(done) => (Ok(done.value), "done".to_owned(), done.ledger),
            Err(failure) => (Err(failure.why), failure.kind.word(), failure.ledger),
        };
        call_result::record(&self.nodes, &self.node, outcome, &ledger);
        DirectAnswer { value, tokens: ledger.tokens() }
    }
}
