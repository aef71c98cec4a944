//! Models and their API. A codec converts requests to bytes and answers to text without I/O; [`http`] is the only client.

mod http;
mod openai;
mod secret;
mod stream;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use project::Config;

use crate::file::Enforce;
use crate::outcome::{Class, Tokens};
use crate::schema::keywords::Projection;
use crate::schema::{Dialect, Form};
use crate::settings::{DELEGATE, ModelSettings, NodesSettings, Price};
use crate::{Node, Problem};
pub(crate) use http::Response;
use http::{Client, Connection, Endpoint};
use stream::Stream;

/// The path below the base of an OpenAI-compatible API.
const PATH: &str = "chat/completions";

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: &'static str,
    pub text: String,
}

impl Message {
    pub(crate) fn system(text: impl Into<String>) -> Message {
        Message { role: "system", text: text.into() }
    }

    pub(crate) fn user(text: impl Into<String>) -> Message {
        Message { role: "user", text: text.into() }
    }

    pub(crate) fn assistant(text: impl Into<String>) -> Message {
        Message { role: "assistant", text: text.into() }
    }
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub messages: Vec<Message>,
    /// The schema of the answer in the form for the model's server.
    pub form: Arc<Form>,
    pub name: String,
    pub max_tokens: u64,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
}

impl Request {
    /// Estimates the tokens of the prompt.
    pub(crate) fn estimate(&self) -> u64 {
        estimate(&self.messages)
    }
}

/// Estimates the tokens of these messages at four bytes each.
pub(crate) fn estimate(messages: &[Message]) -> u64 {
    let bytes: usize = messages.iter().map(|message| message.text.len() + 16).sum();
    (bytes / 4) as u64
}

/// The reason why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    Refused,
}

/// A model's answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub text: String,
    pub refusal: Option<String>,
    pub finish: Finish,
    /// The server's `finish_reason`.
    pub finish_word: String,
    pub tokens: Option<Tokens>,
}

/// The reason why a model did not answer.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub class: Class,
    pub why: String,
    pub retry_after: Option<Duration>,
}

impl Failed {
    pub(crate) fn new(class: Class, why: impl Into<String>) -> Failed {
        Failed { class, why: why.into(), retry_after: None }
    }
}

/// The configured models.
#[derive(Debug, Default)]
pub struct Models {
    by_alias: BTreeMap<String, Arc<Model>>,
    default: Option<String>,
    /// Unusable models with the reason.
    unusable: BTreeMap<String, String>,
    /// Ignored settings of `hob.toml`, one sentence each.
    ignored: Vec<String>,
}

/// A model.
#[derive(Debug)]
pub struct Model {
    pub alias: String,
    /// True if it runs on this machine.
    pub is_local: bool,
    /// The schema dialect that its server accepts.
    pub dialect: Dialect,
    pub price: Option<Price>,
    /// The server's name for it.
    model: String,
    endpoint: Endpoint,
    client: Client,
}

impl Models {
    /// Creates the models of these settings. Key files are read now. A key file that other users can read is refused.
    pub fn new(settings: &NodesSettings) -> Models {
        let client = Client::default();
        let mut models = Models { default: settings.model.clone(), ..Models::default() };
        models.ignored = settings.kept.iter().map(|alias| ignored(alias)).collect();
        for (alias, said) in &settings.models {
            match Model::new(alias, said, client.clone()) {
                Ok(model) => drop(models.by_alias.insert(alias.clone(), Arc::new(model))),
                Err(why) => drop(models.unusable.insert(alias.clone(), why)),
            }
        }
        models
    }

    /// Creates a configuration with one model without a key at this address.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn at(url: &str, model: &str) -> Result<Models, String> {
        let one = Model::new(model, &ModelSettings::at(url, model), Client::default())?;
        Ok(Models { by_alias: [(model.to_owned(), Arc::new(one))].into(), ..Models::default() })
    }

    /// Creates the models of a project's configuration. Models that wait for a grant are listed as unusable.
    pub fn from_config(config: &Config) -> Models {
        let mut models = Models::new(&config.settings::<NodesSettings>());
        for request in &config.withheld {
            if let Some(alias) = request.withholds.as_deref().filter(|_| request.key.starts_with("nodes.models.")) {
                models.withhold(alias, "hob.toml asks for it and you have not granted that; `hob trust` shows it");
            }
        }
        models
    }

    /// Records that a model waits for a grant. An existing model of the same alias stays.
    pub fn withhold(&mut self, alias: &str, why: &str) {
        if !self.by_alias.contains_key(alias) {
            self.unusable.insert(alias.to_owned(), why.to_owned());
        }
    }

    /// Returns the ignored settings of `hob.toml`, one sentence each.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Returns true if the caller answers this node instead of a model: its file requires it, or no model is configured.
    pub fn delegates(&self, node: &Node) -> bool {
        let has_named = node.models.iter().any(|alias| self.by_alias.contains_key(alias));
        let is_named = node.models.iter().any(|alias| alias == DELEGATE);
        let has_none = self.by_alias.is_empty() && self.unusable.is_empty();
        !has_named && (is_named || has_none || (node.models.is_empty() && self.default.as_deref() == Some(DELEGATE)))
    }

    /// Returns the aliases for a node, configured or not.
    fn aliases_for<'a>(&'a self, node: &'a Node) -> Vec<&'a String> {
        match (node.models.as_slice(), &self.default) {
            ([], Some(default)) => vec![default],
            ([], None) => {
                let one = self.by_alias.keys().next().filter(|_| self.by_alias.len() == 1);
                // If no model is usable, the errors of the unusable ones are reported.
                let none = self.by_alias.is_empty().then(|| self.unusable.keys()).into_iter().flatten();
                one.into_iter().chain(none).collect()
            }
            (named, _) => named.iter().collect(),
        }
    }

    /// Returns the models for a node in order. `Err` explains what to configure.
    pub fn for_node(&self, node: &Node) -> Result<Vec<Arc<Model>>, String> {
        let wanted = self.aliases_for(node);
        let mut found: Vec<Arc<Model>> = wanted.iter().filter_map(|alias| self.by_alias.get(*alias)).cloned().collect();
        if node.policy.enforce == Enforce::Strict {
            let lacks = |model: &Model| Form::new(&node.output.json, model.dialect).unenforceable_reason();
            let why = found.iter().filter_map(|model| lacks(model).map(|why| format!("{}: {why}", model.alias)));
            let why: Vec<String> = why.collect();
            found.retain(|model| lacks(model).is_none());
            if found.is_empty() && !why.is_empty() {
                return Err(format!(
                    "no model can enforce the output schema of {}, and its policy.enforce is strict ({}): change the \
                     output, name another model, or write enforce: prefer",
                    node.name,
                    why.join("; ")
                ));
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let reasons: Vec<String> = wanted
            .iter()
            .filter_map(|alias| {
                self.unusable.get(*alias).map(|why| format!("the model {alias:?} cannot be used: {why}"))
            })
            .collect();
        if !reasons.is_empty() {
            return Err(reasons.join("; "));
        }
        let there: Vec<&str> = self.by_alias.keys().map(String::as_str).collect();
        Err(match (wanted.as_slice(), there.as_slice()) {
            ([], []) => {
                "no model is configured: add [nodes.models.\"local\"] with url and model to your config.toml or to \
                         hob.toml, and restart the daemon (`hob stop`)"
                    .to_owned()
            }
            ([], there) => format!(
                "the node names no model and there are several ({}): set nodes.model, or `model` in the node's file",
                there.join(", ")
            ),
            (wanted, there) => {
                let wanted: Vec<&str> = wanted.iter().map(|alias| alias.as_str()).collect();
                let there = if there.is_empty() {
                    "no models are configured".to_owned()
                } else {
                    format!("configured: {}", there.join(", "))
                };
                format!(
                    "model {} is not configured ({there}): add [nodes.models.{:?}] with url and model, and restart the daemon \
                     (`hob stop`)",
                    wanted.join(", "),
                    wanted[0]
                )
            }
        })
    }

    /// Lists the conflicts of a node with the configured models: an unknown alias, or a schema that no decoder enforces.
    pub fn lints(&self, node: &Node) -> Vec<Problem> {
        let there: Vec<&str> = self.by_alias.keys().chain(self.unusable.keys()).map(String::as_str).collect();
        let available = match there.as_slice() {
            [] => "no model is configured, so the caller answers".to_owned(),
            there => format!("available: {}", there.join(", ")),
        };
        let is_known = |alias: &str| alias == DELEGATE || self.by_alias.contains_key(alias);
        let unknown = node.models.iter().filter(|alias| !is_known(alias) && !self.unusable.contains_key(*alias));
        let mut lints: Vec<Problem> = unknown
            .map(|alias| Problem::at(node.line_of("model"), format!("unknown model {alias:?}; {available}")))
            .collect();
        if let (true, false, Err(why)) = (lints.is_empty(), self.delegates(node), self.for_node(node)) {
            let key = if node.policy.enforce == Enforce::Strict { "policy" } else { "model" };
            lints.push(Problem::at(node.line_of(key), why));
        }
        lints
    }

    /// Returns how the node's output schema is sent to each of its models. Without models, a server like llama.cpp's is assumed.
    pub fn projections(&self, node: &Node) -> Vec<Projection> {
        // Models that cannot enforce the schema are included.
        let models = self.aliases_for(node).into_iter().filter_map(|alias| self.by_alias.get(alias));
        let of = |model: &Arc<Model>| Projection::new(&node.output.json, model.dialect, Some(model.alias.clone()));
        let projections: Vec<Projection> = models.map(of).collect();
        if projections.is_empty() { vec![Projection::new(&node.output.json, Dialect::Full, None)] } else { projections }
    }

    /// Returns the aliases with their models, or the reason why a model is unusable.
    pub fn list(&self) -> impl Iterator<Item = (&str, Result<&Model, &str>)> {
        let usable = self.by_alias.iter().map(|(alias, model)| (alias.as_str(), Ok(model.as_ref())));
        usable.chain(self.unusable.iter().map(|(alias, why)| (alias.as_str(), Err(why.as_str()))))
    }
}

fn ignored(alias: &str) -> String {
    format!(
        "the model {alias:?} of hob.toml is not used, because your config.toml has one of that name; rename one of \
         them"
    )
}

impl Model {
    fn new(alias: &str, said: &ModelSettings, client: Client) -> Result<Model, String> {
        let of_environment = said.key_env.as_deref().map(key_of_environment).transpose()?;
        let key = said.key_file.as_deref().map(read_key).transpose()?.or(of_environment);
        let endpoint = Endpoint::new(&said.url, key)?;
        Ok(Model {
            alias: alias.to_owned(),
            is_local: endpoint.is_loopback(),
            dialect: said.schema.unwrap_or_else(|| endpoint.usual_dialect()),
            price: said.price,
            model: said.model.clone(),
            endpoint,
            client,
        })
    }

    /// Returns true if this is the base address of its API.
    pub(crate) fn is_at(&self, url: &str) -> bool {
        self.endpoint.base() == url
    }

    /// Returns the server's name for the model.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Sends a request and returns any response. The answer is streamed if there is a progress callback.
    pub(crate) async fn post(&self, request: &Request, heard: Option<TokenProgress<'_>>) -> Result<Response, Failed> {
        if let Some(heard) = heard {
            let response = self.streamed(request, heard).await?;
            // Some servers do not support streams, or not this form of them, and report an error.
            let is_refused = matches!(response.status, 400 | 422) && has(&response.body, b"stream");
            if !is_refused {
                return Ok(response);
            }
        }
        let body = openai::request(&self.model, request, false);
        self.client.post(&self.endpoint, PATH, &body, Connection::Kept).await?.read_response().await
    }

    async fn streamed(&self, request: &Request, heard: TokenProgress<'_>) -> Result<Response, Failed> {
        let body = openai::request(&self.model, request, true);
        let mut answering = self.client.post(&self.endpoint, PATH, &body, Connection::Closed).await?;
        if !answering.is_stream {
            return answering.read_response().await;
        }
        let mut stream = Stream::default();
        while let Some(bytes) = answering.next().await? {
            heard.0(stream.push(&bytes));
        }
        let (status, body) = stream.end()?;
        Ok(answering.with(status, body.to_string().into()))
    }
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}

/// A progress callback for the number of tokens received so far.
#[derive(Clone, Copy)]
pub struct TokenProgress<'a>(pub &'a (dyn Fn(u64) + Sync));

impl std::fmt::Debug for TokenProgress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenProgress")
    }
}

/// Parses a response.
pub(crate) fn answer(response: &Response) -> Result<Answer, Failed> {
    openai::answer(response)
}

/// Returns the key in an environment variable of this process. The daemon receives it from its starter.
fn key_of_environment(variable: &str) -> Result<String, String> {
    let key = project::daemon_environment::secret(variable).unwrap_or_default().trim().to_owned();
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_key {
        return Ok(key);
    }
    Err(if project::daemon_environment::is_handed_over() {
        format!(
            "its key_env {variable} is not set where the daemon was started, or contains no key; end the daemon (`hob stop`), and make \
             the next call from where it is set"
        )
    } else {
        format!("its key_env {variable} is not set here, or contains no key; set it")
    })
}

/// Reads the key from a file that only its owner can read.
fn read_key(path: &Path) -> Result<String, String> {
    let shown = project::visible::path(path);
    let bytes = project::private::read(path, 16 * 1024).map_err(|error| format!("its key_file {shown}: {error}"))?;
    let bytes = bytes.ok_or_else(|| {
        format!("its key_file {shown} must be a file that only you can read (chmod 600), and not a link; it is read when the daemon starts (`hob stop`)")
    })?;
    let key = String::from_utf8(bytes).map(|key| key.trim().to_owned()).unwrap_or_default();
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_key { Ok(key) } else { Err(format!("its key_file {shown} contains no key")) }
}
