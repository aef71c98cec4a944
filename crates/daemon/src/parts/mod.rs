//! The parts of the daemon, and how each joins it.
//!
//! A part is a crate that knows nothing of the daemon, a file in this folder that joins the two, and a line in [`PARTS`].
//! Nothing of the daemon outside this folder names one: it loops over what is here.

mod choice;
mod cure;
pub mod mail;
mod repl;
mod servers;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use mcp::prompt::Prompts;
use mcp::resource::{Resources, TemplateError};
use mcp::server::Server;
use mcp::tool::{AnyTool, Declaration};
use project::config::Section;
use project::{Config, Project};
use serde_json::{Map, Value};

use self::choice::Catalog;
pub use self::choice::ChoiceError;
pub(crate) use self::choice::Toolset;
pub(crate) use self::servers::Parts;
use crate::connections::Connections;
use crate::journal::Journal;

/// The parts, in the order in which they are listed.
const PARTS: &[Entry] = &[Entry::of::<repl::ReplPart>(), Entry::of::<mail::MailPart>(), Entry::of::<cure::CurePart>()];

/// The sections of the configuration files, one for each part that can be configured.
pub fn sections() -> Vec<Section> {
    PARTS.iter().filter_map(|entry| (entry.section)()).collect()
}

/// What a part gives to the daemon. Only [`Part::open`], [`Part::declared`] and [`Part::toolset`] have no default.
pub(crate) trait Part: Send + Sync + 'static {
    /// The part of a project. Nothing is started.
    fn open(setup: &Setup<'_>) -> Self
    where
        Self: Sized;

    /// The part of no project: its tools can be listed and not called. Nothing is started, read or written.
    fn declared() -> Self
    where
        Self: Sized;

    /// Its tools, and what a model is told of them.
    fn toolset(&self) -> Toolset;

    /// The tools of the systems that it replaces.
    fn profiles(&self) -> Vec<Toolset> {
        Vec::new()
    }

    /// Adds what can be read as resources beside its tools.
    ///
    /// # Errors
    /// When a template is invalid.
    fn add_resources(&self, _: &Arc<Resources>) -> Result<(), TemplateError> {
        Ok(())
    }

    /// Adds its prompts.
    fn add_prompts(&self, _: &Prompts) {}

    /// Adds methods of its own beside MCP's, whatever tools the connection chose.
    fn add_methods(&self, server: Server, _: Surface) -> Server {
        server
    }

    /// Its fields of `hob status --json`.
    fn status(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Its lines of `hob status`, where that does not know its fields.
    fn status_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of the sessions that would be lost if the daemon ended.
    fn live(&self) -> Vec<String> {
        Vec::new()
    }

    /// The agent that a token names, for a caller over HTTP.
    fn agent_by_token(&self, _token: &str) -> Option<String> {
        None
    }

    /// How an agent that [`Part::agent_by_token`] knew calls now; `None` where its token was taken back since.
    fn http_agent(&self, _agent: &str, _run: Run<'_>) -> Option<HttpAgent> {
        None
    }

    /// Ends it in good order, within bounds.
    fn shutdown(&self) -> BoxFuture<'_> {
        Box::pin(async {})
    }

    /// What can be configured.
    fn section() -> Option<Section>
    where
        Self: Sized,
    {
        None
    }

    /// What the configuration asks for and does not get. What only waits for a grant is no fault.
    fn faults(_: &Config) -> Vec<String>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// What `hob doctor` says of it. Looks, and changes nothing.
    fn health(_: &Project, _: &Config) -> Option<Health>
    where
        Self: Sized,
    {
        None
    }

    /// Ends processes that a former life of the daemon may have left behind.
    fn clean_up_former_life(_: &Project) -> BoxFuture<'static>
    where
        Self: Sized,
    {
        Box::pin(async {})
    }
}

/// A future of a part.
pub(crate) type BoxFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What a part is opened with.
pub(crate) struct Setup<'a> {
    pub project: &'a Project,
    /// What is configured.
    pub config: &'a Config,
    /// Where the part writes down what happens.
    pub journal: &'a Arc<Journal>,
    /// Who is connected; `None` without a daemon.
    pub connections: Option<&'a Arc<Connections>>,
}

/// Which methods a server has besides its tools.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Surface {
    /// An agent on the daemon's socket, or on stdio without a daemon.
    Agent,
    /// The command line.
    Control,
    /// A caller over HTTP.
    Http,
}

/// Which run of its agent a request over HTTP is of.
#[derive(Clone, Copy)]
pub(crate) enum Run<'a> {
    /// A session or connection, which is a run by itself.
    Standing,
    /// A request that stands alone, with what it says of its run.
    Said(&'a [u8]),
}

/// An agent over HTTP.
pub(crate) struct HttpAgent {
    pub name: String,
    /// Where it stands.
    pub worktree: PathBuf,
    pub run: String,
}

/// What `hob doctor` says of one part.
#[derive(Debug)]
pub struct Health {
    pub title: &'static str,
    /// What was looked at.
    pub findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Debug)]
pub struct Finding {
    /// Whether something would break.
    pub verdict: Verdict,
    /// What it is.
    pub subject: String,
    /// What there is to say of it, and what to do.
    pub detail: String,
}

impl Finding {
    /// Nothing would break.
    pub fn good(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Good, subject: subject.into(), detail: detail.into() }
    }

    /// Something could be had.
    pub fn note(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Note, ..Finding::good(subject, detail) }
    }

    /// Something would break.
    pub fn problem(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Problem, ..Finding::good(subject, detail) }
    }
}

/// Whether something would break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// Nothing, but something could be had.
    Note,
    Problem,
}

/// How a part is made, and what it says without being made.
struct Entry {
    section: fn() -> Option<Section>,
    open: fn(&Setup<'_>) -> Arc<dyn Part>,
    declared: fn() -> Arc<dyn Part>,
    faults: fn(&Config) -> Vec<String>,
    health: fn(&Project, &Config) -> Option<Health>,
    clean_up_former_life: fn(&Project) -> BoxFuture<'static>,
}

impl Entry {
    const fn of<P: Part>() -> Entry {
        Entry {
            section: P::section,
            open: |setup| Arc::new(P::open(setup)),
            declared: || Arc::new(P::declared()),
            faults: P::faults,
            health: P::health,
            clean_up_former_life: P::clean_up_former_life,
        }
    }
}

/// The declarations of the tools of a choice. Nothing is started, read or written. `enabled` are the toolsets for a
/// choice that names none.
pub fn declared(
    toolsets: &[String],
    profile: Option<&str>,
    enabled: Vec<String>,
) -> Result<Vec<Declaration>, ChoiceError> {
    let parts: Vec<Arc<dyn Part>> = PARTS.iter().map(|entry| (entry.declared)()).collect();
    let registry = Catalog::of(&parts, enabled)?.choose(toolsets, profile)?.registry;
    Ok(registry.list().iter().map(|tool: &Arc<dyn AnyTool>| tool.declaration().clone()).collect())
}

/// The toolsets that a connection gets when it asks for none: the configured ones, else those that are on by default.
pub fn enabled(config: &Config) -> Vec<String> {
    let default = || {
        let toolsets = PARTS.iter().map(|entry| (entry.declared)().toolset());
        toolsets.filter(|toolset| toolset.is_default).map(|toolset| toolset.name.to_owned()).collect()
    };
    config.toolsets.clone().unwrap_or_else(default)
}

/// What the configuration asks for and does not get: toolsets that are not there, and what each part says. What only waits
/// for a grant is no fault.
pub fn faults(config: &Config) -> Vec<String> {
    let names: Vec<&str> = PARTS.iter().map(|entry| (entry.declared)().toolset().name).collect();
    let toolset =
        choice::unknown(config.toolsets.as_deref().unwrap_or_default(), &names).map(|problem| problem.to_string());
    toolset.into_iter().chain(PARTS.iter().flat_map(|entry| (entry.faults)(config))).collect()
}

/// What `hob doctor` says of the parts. Looks, and changes nothing.
pub fn health(project: &Project, config: &Config) -> Vec<Health> {
    PARTS.iter().filter_map(|entry| (entry.health)(project, config)).collect()
}
