//! The parts of the daemon, and their interface to it.
//!
//! A part is a crate that knows nothing of the daemon, a file in this folder that connects the two, and a line in
//! [`PARTS`]. The rest of the daemon names no part: it iterates over this list.

mod ask;
mod capabilities;
mod choice;
mod code;
mod cure;
mod explore;
mod hooks;
mod live;
pub mod mail;
mod more_tools;
mod nodes;
mod repl;
mod servers;
mod work;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use mcp::tool::{AnyTool, Declaration};
use project::config::Section;
use project::{Config, Project};
use serde_json::{Map, Value};

pub(crate) use self::capabilities::{
    Annotation, Capabilities, HttpAgent, HttpIdentity, Live, LiveTools, OpenPart, OpenParts, Run, Stores, Surface,
};
use self::choice::Catalog;
pub use self::choice::ChoiceError;
pub(crate) use self::choice::Toolset;
pub(crate) use self::choice::suggestion;
pub(crate) use self::servers::Parts;
pub use self::work::facts;
use crate::connections::Connections;
pub use crate::health::{Finding, Health, Trial, Verdict};
use crate::journal::Journal;
use crate::secrets::Seal;

/// The parts, in the order in which they are listed.
const PARTS: &[Entry] = &[
    Entry::for_part::<repl::ReplPart>(),
    Entry::for_part::<mail::MailPart>(),
    Entry::for_part::<ask::AskPart>(),
    Entry::for_part::<code::CodePart>(),
    Entry::for_part::<explore::ExplorePart>(),
    Entry::for_part::<cure::CurePart>(),
    Entry::for_part::<work::WorkPart>(),
    Entry::for_part::<hooks::HooksPart>(),
    Entry::for_part::<nodes::NodesPart>(),
];

/// Returns the sections of the configuration files, one for each configurable part.
pub fn sections() -> Vec<Section> {
    PARTS.iter().filter_map(|entry| (entry.section)()).collect()
}

/// The core of a part. Only [`Part::open`], [`Part::declared`] and [`Part::toolset`] have no default. Everything else that
/// a part offers is one of its [`Capabilities`].
pub(crate) trait Part: Send + Sync + 'static {
    /// Opens the part for a project, and registers its capabilities ([`Setup::register`]). Starts nothing.
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

    /// Returns the part's settings.
    fn section() -> Option<Section>
    where
        Self: Sized,
    {
        None
    }

    /// Returns the part's share of `hob status`.
    fn status(&self) -> PartStatus {
        PartStatus::default()
    }

    /// Returns the part's findings for `hob doctor`. Changes nothing.
    fn health(_: &Project, _: &Config) -> Option<Health>
    where
        Self: Sized,
    {
        None
    }

    /// Stops the part gracefully, within limits.
    fn shutdown(&self) -> BoxFuture<'_> {
        Box::pin(async {})
    }

    /// Ends processes that the previous daemon may have left behind.
    fn clean_up_former_life(_: &Project) -> BoxFuture<'static>
    where
        Self: Sized,
    {
        Box::pin(async {})
    }
}

/// A future of a part.
pub(crate) type BoxFuture<'a, T = ()> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The parameters for opening a part.
pub(crate) struct Setup<'a> {
    pub project: &'a Project,
    /// The configuration.
    pub config: &'a Config,
    /// The journal for the part's events.
    pub journal: &'a Arc<Journal>,
    /// The open connections; `None` without a daemon.
    pub connections: Option<&'a Arc<Connections>>,
    /// The other parts and their capabilities, available once all parts are open.
    pub others: &'a Weak<OpenParts>,
    /// The project's key; `None` if it cannot be stored.
    pub seal: Option<&'a Seal>,
    capabilities: RefCell<Capabilities>,
}

impl Setup<'_> {
    /// Registers what the part offers in addition to its tools.
    fn register(&self, capabilities: Capabilities) {
        self.capabilities.replace(capabilities);
    }

    /// Returns a key for one use, which is stable over restarts of the daemon; `None` if it cannot be stored.
    fn seal_for(&self, what: &str) -> Option<[u8; 32]> {
        self.seal.map(|seal| seal.key_for(what))
    }
}

/// A part's share of `hob status`.
#[derive(Default)]
pub(crate) struct PartStatus {
    /// The fields of `hob status --json`.
    pub fields: Map<String, Value>,
    /// The lines for people, for fields that the command does not know.
    pub lines: Vec<String>,
}

impl PartStatus {
    fn from_fields(fields: impl IntoIterator<Item = (&'static str, Value)>) -> PartStatus {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        PartStatus { fields, lines: Vec::new() }
    }
}

/// The constructors and static declarations of a part.
struct Entry {
    section: fn() -> Option<Section>,
    open: fn(&Setup<'_>) -> Box<dyn Part>,
    declared: fn() -> Box<dyn Part>,
    health: fn(&Project, &Config) -> Option<Health>,
    clean_up_former_life: fn(&Project) -> BoxFuture<'static>,
}

impl Entry {
    const fn for_part<P: Part>() -> Entry {
        Entry {
            section: P::section,
            open: |setup| Box::new(P::open(setup)),
            declared: || Box::new(P::declared()),
            health: P::health,
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
    let registry = declared_catalog(Some(enabled))?.choose(toolsets, profile)?.registry;
    Ok(registry.list().iter().map(|tool: &Arc<dyn AnyTool>| tool.declaration().clone()).collect())
}

/// Returns the names of all tools that do not come from files: those of every toolset and profile.
pub fn tool_names() -> BTreeSet<String> {
    declared_catalog(None).map(|catalog| catalog.tool_names()).unwrap_or_default()
}

fn declared_catalog(enabled: Option<Vec<String>>) -> Result<Catalog, ChoiceError> {
    let parts: Vec<Box<dyn Part>> = PARTS.iter().map(|entry| (entry.declared)()).collect();
    Catalog::from_parts(parts.iter().map(|part| &**part), None, enabled)
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
    toolset.into_iter().chain(sections().into_iter().flat_map(|section| (section.faults)(config))).collect()
}

/// Returns a sentence for each environment variable that the settings need and this process lacks.
pub fn missing_variables(config: &Config) -> Vec<String> {
    sections().into_iter().flat_map(|section| (section.lacks)(config)).collect()
}

/// Returns the parts' findings for `hob doctor`. Changes nothing.
pub fn health(project: &Project, config: &Config) -> Vec<Health> {
    PARTS.iter().filter_map(|entry| (entry.health)(project, config)).collect()
}
