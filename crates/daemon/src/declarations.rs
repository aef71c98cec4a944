//! The tools of all parts without a project, for listings and for checks of the configuration.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp::tool::{AnyTool, Declaration};
use project::Config;

use crate::parts::{PARTS, sections};
use crate::toolsets::{self, Catalog, ChoiceError, Toolset};

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
    let parts = PARTS.iter().map(|entry| (entry.declared)());
    Catalog::from_parts(parts.map(|part| (part.toolset(), part.profiles())), None, enabled)
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
        toolsets::unknown(config.toolsets.as_deref().unwrap_or_default(), &names).map(|problem| problem.to_string());
    toolset.into_iter().chain(sections().into_iter().flat_map(|section| (section.faults)(config))).collect()
}
