//! The parts of the daemon, and their interface to it.
//!
//! A part is a crate that knows nothing of the daemon, a file in this folder that connects the two, and a line in
//! [`PARTS`]. The rest of the daemon names no part: it iterates over this list.

mod ask;
mod choice;
mod code;
mod cure;
mod hooks;
mod hooks_context;
mod live;
pub mod mail;
mod more_tools;
mod neighbours;
mod nodes;
mod repl;
mod servers;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use mcp::prompt::Prompts;
use mcp::resource::{Resources, TemplateError};
use mcp::server::Server;
use mcp::tool::{AnyTool, Context, Declaration};
use project::config::Section;
use project::{Config, Project};
use serde_json::{Map, Value};

use self::choice::Catalog;
pub use self::choice::ChoiceError;
pub(crate) use self::choice::Toolset;
pub(crate) use self::hooks_context::{Hooked, PersonAnswering, PersonAsked, PieceFuture};
pub(crate) use self::live::Live;
pub(crate) use self::neighbours::{Neighbours, PartText};
pub(crate) use self::servers::Parts;
use crate::connections::Connections;
use crate::journal::Journal;
use crate::secrets::Seal;

/// The parts, in the order in which they are listed.
const PARTS: &[Entry] = &[
    Entry::for_part::<repl::ReplPart>(),
    Entry::for_part::<mail::MailPart>(),
    Entry::for_part::<ask::AskPart>(),
    Entry::for_part::<code::CodePart>(),
    Entry::for_part::<cure::CurePart>(),
    Entry::for_part::<work::WorkPart>(),
    Entry::for_part::<hooks::HooksPart>(),
    Entry::for_part::<nodes::NodesPart>(),
];

/// Returns the sections of the configuration files, one for each configurable part.
pub fn sections() -> Vec<Section> {
    PARTS.iter().filter_map(|entry| (entry.section)()).collect()
}

/// The interface of a part. Only [`Part::open`], [`Part::declared`] and [`Part::toolset`] have no default.
pub(crate) trait Part: Send + Sync + 'static {
    /// Opens the part for a project. Starts nothing.
    fn open(setup: &Setup<'_>) -> Self
    where
        Self: Sized;

    /// Returns the part without a project: its tools can be listed but not called. Starts, reads and writes nothing.
    fn declared() -> Self
    where
        Self: Sized;

    /// Returns the part's tools, and the instructions for the model. A part without tools returns [`Toolset::without_tools`].
    fn toolset(&self) -> Toolset;

    /// Returns the tools of the systems that the part replaces.
    fn profiles(&self) -> Vec<Toolset> {
        Vec::new()
    }

    /// Adds the part's resources.
    ///
    /// # Errors
    /// If a template is invalid.
    fn add_resources(&self, _: &Arc<Resources>) -> Result<(), TemplateError> {
        Ok(())
    }

    /// Adds the part's prompts.
    fn add_prompts(&self, _: &Prompts) {}

    /// Receives the names of all tools that do not come from files: those of every toolset and profile.
    fn reserve(&self, _: &BTreeSet<String>) {}

    /// Returns true if the toolset is *live*: each worktree adds its own tools by its files.
    fn is_live(&self) -> bool {
        false
    }

    /// Follows the files of a worktree; all of its tools are present on return. Only for a live toolset.
    fn follow<'a>(&'a self, _worktree: &'a Path) -> Following<'a> {
        Box::pin(std::future::ready(None))
    }

    /// Adds the part's own methods in addition to MCP's, independent of the connection's tools.
    fn add_methods(&self, server: Server, _: Surface) -> Server {
        server
    }

    /// Returns a function that adds text to the results of all of a connection's tools. Not for connections that
    /// imitate another system.
    fn annotation(&self) -> Option<Annotate> {
        None
    }

    /// Called when a connection that gets [`Part::annotation`] reports that it is ready.
    fn connected(&self, _: &Context) {}

    /// Returns the pending messages for this caller, as one text with its effects. The work brief shows it.
    fn waiting<'a>(&'a self, _: &'a Context) -> PartText<'a> {
        Box::pin(std::future::ready(None))
    }

    /// Returns the part's addition to an agent's context at a hook event; `None` costs nothing.
    fn at_hook<'a>(&'a self, _: &'a Hooked) -> PieceFuture<'a> {
        Box::pin(std::future::ready(None))
    }

    /// Called when an agent's hook fires: confirms earlier deliveries to it.
    fn heard_at_hook(&self, _: &Context) {}

    /// Asks a person on behalf of an agent's hook, if the part supports it.
    fn asks_person(&self, _: &PersonAsked) -> Option<PersonAnswering> {
        None
    }

    /// Returns the name under which the agent of a connection registered.
    fn agent_name(&self, _: &Context) -> Option<String> {
        None
    }

    /// Returns a fact about a worktree, by the name of a condition in rules (`work.base`); `None` if it is not available in time.
    fn fact<'a>(&'a self, _name: &'a str, _worktree: &'a Path) -> PartText<'a> {
        Box::pin(std::future::ready(None))
    }

    /// Returns the part's fields of `hob status --json`.
    fn status(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Returns the part's lines of `hob status`, for fields that the command does not know.
    fn status_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the names of the sessions that would be lost if the daemon ended.
    fn live(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the agent that a token identifies, for a caller over HTTP.
    fn agent_by_token(&self, _token: &str) -> Option<String> {
        None
    }

    /// Returns the current state of an agent that [`Part::agent_by_token`] identified; `None` if its token was revoked since.
    fn http_agent(&self, _agent: &str, _run: Run<'_>) -> Option<HttpAgent> {
        None
    }

    /// Stops the part gracefully, within limits.
    fn shutdown(&self) -> BoxFuture<'_> {
        Box::pin(async {})
    }

    /// Returns the part's settings.
    fn section() -> Option<Section>
    where
        Self: Sized,
    {
        None
    }

    /// Returns settings that cannot take effect. A pending grant is not a fault.
    fn faults(_: &Config) -> Vec<String>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Returns a sentence for each environment variable that the settings need and this process lacks.
    fn lacks(_: &Config) -> Vec<String>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Returns the part's findings for `hob doctor`. Changes nothing.
    fn health(_: &Project, _: &Config) -> Option<Health>
    where
        Self: Sized,
    {
        None
    }

    /// Returns the calls that `hob doctor --try` makes to the daemon. Blocks, changes nothing.
    fn trials(_: &Project) -> Vec<Trial>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Ends processes that the previous daemon may have left behind.
    fn clean_up_former_life(_: &Project) -> BoxFuture<'static>
    where
        Self: Sized,
    {
        Box::pin(async {})
    }
}

/// A function that returns additional text for a result, given its call and the tool.
pub(crate) type Annotate = Box<dyn Fn(&Context, &Declaration) -> Option<String> + Send + Sync>;

/// The followed contents of a live toolset in a worktree.
pub(crate) type Following<'a> = Pin<Box<dyn Future<Output = Option<Box<dyn Live>>> + Send + 'a>>;

/// A future of a part.
pub(crate) type BoxFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The parameters for opening a part.
pub(crate) struct Setup<'a> {
    pub project: &'a Project,
    /// The configuration.
    pub config: &'a Config,
    /// The journal for the part's events.
    pub journal: &'a Arc<Journal>,
    /// The open connections; `None` without a daemon.
    pub connections: Option<&'a Arc<Connections>>,
    /// Access to the other parts, which are all created after this one is opened.
    pub neighbours: &'a Arc<Neighbours>,
    /// The project's key; `None` if it cannot be stored.
    pub seal: Option<&'a Seal>,
}

impl Setup<'_> {
    /// Returns a key for one use, which is stable over restarts of the daemon; `None` if it cannot be stored.
    fn seal_for(&self, what: &str) -> Option<[u8; 32]> {
        self.seal.map(|seal| seal.key_for(what))
    }
}

/// The kind of connection, which determines the methods in addition to the tools.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Surface {
    /// An agent on the daemon's socket, or on stdio without a daemon.
    Agent,
    /// The command line.
    Control,
    /// A caller over HTTP.
    Http,
}

/// The run of an agent that an HTTP request belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Run<'a> {
    /// A session or connection, which is itself a run.
    Standing,
    /// A stateless request, with the run that it states.
    Said(&'a [u8]),
}

/// An agent over HTTP.
pub(crate) struct HttpAgent {
    pub name: String,
    /// The agent's worktree.
    pub worktree: PathBuf,
    pub run: String,
}

/// The findings of `hob doctor` for one part.
#[derive(Debug)]
pub struct Health {
    pub title: &'static str,
    /// The results of the checks.
    pub findings: Vec<Finding>,
}

/// A tool call that checks if the tool works here.
pub struct Trial {
    /// The subject of the check.
    pub subject: String,
    /// The call, in words for a person.
    pub asks: String,
    pub toolset: &'static str,
    pub tool: &'static str,
    pub arguments: Map<String, Value>,
    /// Returns true if the structured result is complete.
    pub is_whole: fn(&Value) -> bool,
    /// True if further setup can make it complete.
    pub can_be_whole: bool,
}

/// The result of one check.
#[derive(Debug)]
pub struct Finding {
    /// The severity of the finding.
    pub verdict: Verdict,
    /// The subject of the check.
    pub subject: String,
    /// The result, with the fix.
    pub detail: String,
}

impl Finding {
    /// Creates a finding without a problem.
    pub fn good(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Good, subject: subject.into(), detail: detail.into() }
    }

    /// Creates a finding with a possible improvement.
    pub fn note(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Note, ..Finding::good(subject, detail) }
    }

    /// Creates a finding about a feature that hob does not support yet.
    pub fn remark(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Remark, ..Finding::good(subject, detail) }
    }

    /// Creates a finding with a problem.
    pub fn problem(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Problem, ..Finding::good(subject, detail) }
    }
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// It works, and could be improved.
    Note,
    /// It works, and no setup can improve it.
    Remark,
    Problem,
}

/// The constructors and static declarations of a part.
struct Entry {
    section: fn() -> Option<Section>,
    open: fn(&Setup<'_>) -> Arc<dyn Part>,
    declared: fn() -> Arc<dyn Part>,
    faults: fn(&Config) -> Vec<String>,
    lacks: fn(&Config) -> Vec<String>,
    health: fn(&Project, &Config) -> Option<Health>,
    trials: fn(&Project) -> Vec<Trial>,
    clean_up_former_life: fn(&Project) -> BoxFuture<'static>,
}

impl Entry {
    const fn for_part<P: Part>() -> Entry {
        Entry {
            section: P::section,
            open: |setup| Arc::new(P::open(setup)),
            declared: || Arc::new(P::declared()),
            faults: P::faults,
            lacks: P::lacks,
            health: P::health,
            trials: P::trials,
            clean_up_former_life: P::clean_up_former_life,
        }
    }
}

/// Returns the tool declarations of a choice. Starts, reads and writes nothing. `enabled` are the toolsets for a choice
/// that names none.
pub fn declared(
    toolsets: &[String],
    profile: Option<&str>,
    enabled: Vec<String>,
) -> Result<Vec<Declaration>, ChoiceError> {
    let parts: Vec<Arc<dyn Part>> = PARTS.iter().map(|entry| (entry.declared)()).collect();
    let registry = Catalog::from_parts(&parts, Some(enabled))?.choose(toolsets, profile)?.registry;
    Ok(registry.list().iter().map(|tool: &Arc<dyn AnyTool>| tool.declaration().clone()).collect())
}

/// Returns the names of all tools that do not come from files: those of every toolset and profile.
pub fn tool_names() -> BTreeSet<String> {
    let parts: Vec<Arc<dyn Part>> = PARTS.iter().map(|entry| (entry.declared)()).collect();
    Catalog::from_parts(&parts, None).map(|catalog| catalog.tool_names()).unwrap_or_default()
}

/// Returns the toolsets of a connection that requests none: the configured ones, otherwise the defaults.
pub fn enabled(config: &Config) -> Vec<String> {
    let default = || {
        let toolsets = PARTS.iter().map(|entry| (entry.declared)().toolset()).filter(Toolset::has_tools);
        toolsets.filter(|toolset| toolset.is_default).map(|toolset| toolset.name.to_owned()).collect()
    };
    config.toolsets.clone().unwrap_or_else(default)
}

/// Returns settings that cannot take effect: unknown toolsets, and the faults of each part. A pending grant is not a fault.
pub fn faults(config: &Config) -> Vec<String> {
    let toolsets = PARTS.iter().map(|entry| (entry.declared)().toolset()).filter(Toolset::has_tools);
    let names: Vec<&str> = toolsets.map(|toolset| toolset.name).collect();
    let toolset =
        choice::unknown(config.toolsets.as_deref().unwrap_or_default(), &names).map(|problem| problem.to_string());
    toolset.into_iter().chain(PARTS.iter().flat_map(|entry| (entry.faults)(config))).collect()
}

/// Returns a sentence for each environment variable that the settings need and this process lacks.
pub fn lacks(config: &Config) -> Vec<String> {
    PARTS.iter().flat_map(|entry| (entry.lacks)(config)).collect()
}

/// Returns the parts' findings for `hob doctor`. Changes nothing.
pub fn health(project: &Project, config: &Config) -> Vec<Health> {
    PARTS.iter().filter_map(|entry| (entry.health)(project, config)).collect()
}

/// Returns the calls that `hob doctor --try` makes to the daemon. Changes nothing.
pub fn trials(project: &Project) -> Vec<Trial> {
    PARTS.iter().flat_map(|entry| (entry.trials)(project)).collect()
}

/// Returns the available facts of these names about a worktree without asking a daemon, for rules. Blocks.
pub fn facts(names: &[&str], worktree: &Path) -> BTreeMap<String, String> {
    let branch = |name: &&str| Some(((*name).to_owned(), hooks::fact(name, worktree)?));
    let mut known: BTreeMap<String, String> = names.iter().filter_map(branch).collect();
    // Git is not run for a branch alone.
    if names.iter().any(|name| !known.contains_key(*name)) {
        let more = work::facts(worktree).into_iter().filter(|(name, _)| names.contains(&name.as_str()));
        known.extend(more);
    }
    known
}
