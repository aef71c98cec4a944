//! The parts of the daemon, and their interface to it.
//!
//! A part is a crate that knows nothing of the daemon, a file in this folder that connects the two, and a line in
//! [`PARTS`]. The rest of the daemon names no part: it iterates over this list.

mod ask;
mod capabilities;
mod code;
mod cure;
mod explore;
mod hooks;
pub mod mail;
mod nodes;
mod repl;
mod work;

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use project::config::Section;
use project::{Config, Project};
use serde_json::{Map, Value};

pub(crate) use self::capabilities::{
    Annotation, Capabilities, HttpAgent, HttpIdentity, Live, LiveTools, OpenPart, OpenParts, Run, Stores, Surface,
};
pub use self::work::facts;
use crate::connections::Connections;
pub use crate::health::{Finding, Health, Trial, Verdict};
use crate::journal::Journal;
use crate::secrets::Seal;
use crate::toolsets::Toolset;

/// The parts, in the order in which they are listed.
pub(crate) const PARTS: &[Entry] = &[
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
    pub capabilities: RefCell<Capabilities>,
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
pub(crate) struct Entry {
    pub section: fn() -> Option<Section>,
    pub open: fn(&Setup<'_>) -> Box<dyn Part>,
    pub declared: fn() -> Box<dyn Part>,
    health: fn(&Project, &Config) -> Option<Health>,
    pub clean_up_former_life: fn(&Project) -> BoxFuture<'static>,
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

/// Returns a sentence for each environment variable that the settings need and this process lacks.
pub fn missing_variables(config: &Config) -> Vec<String> {
    sections().into_iter().flat_map(|section| (section.lacks)(config)).collect()
}

/// Returns the parts' findings for `hob doctor`. Changes nothing.
pub fn health(project: &Project, config: &Config) -> Vec<Health> {
    PARTS.iter().filter_map(|entry| (entry.health)(project, config)).collect()
}
