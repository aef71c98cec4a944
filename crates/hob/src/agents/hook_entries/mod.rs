//! Hooks in agents' files: chooses the file for each scope, and adds or removes hob's entries without changing any other byte.
//!
//! `hooks::install` defines the content of an entry; `edits` writes files and records the originals.

use std::path::PathBuf;

use ::hooks::Agent;
use ::hooks::install::{Installed, Layout, Plan, installed, is_ours, plugin_of};
use serde_json::{Value, json};

use super::edits::{ALONE, Edits, Undone};
use super::{Allows, Broken, Scope, Site, jsonc};

/// The owner of the files that get the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HookScope {
    /// Your private files for this project, if the agent supports them; else your own files
    Local,
    /// Your own files, for all projects
    User,
    /// Files of this project that are shared with others
    Project,
}

/// A file in which an agent looks for hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookFile {
    pub(crate) agent: Agent,
    /// The scope whose directory contains the file.
    pub(crate) base: Scope,
    pub(crate) path: PathBuf,
    /// True if the file is shared with others.
    pub(crate) is_shared: bool,
}

impl HookFile {
    /// Returns the file of an agent in a scope.
    pub(crate) fn for_scope(agent: Agent, scope: HookScope, site: &Site) -> HookFile {
        let of_project = scope == HookScope::Project || scope == HookScope::Local && agent == Agent::Claude;
        let base = if of_project { Scope::Project } else { Scope::User };
        let name = match (agent, base) {
            (Agent::Claude, _) if scope == HookScope::Local => ".claude/settings.local.json",
            (Agent::Claude, _) => ".claude/settings.json",
            (Agent::Codex, _) => ".codex/hooks.json",
            (Agent::Gemini, _) => ".gemini/settings.json",
            (Agent::Cursor, _) => ".cursor/hooks.json",
            (Agent::Copilot, Scope::Project) => ".github/hooks/hob.json",
            (Agent::Copilot, Scope::User) => ".copilot/hooks/hob.json",
            (Agent::Opencode, Scope::Project) => ".opencode/plugin/hob.js",
            (Agent::Opencode, Scope::User) => ".config/opencode/plugin/hob.js",
        };
        HookFile { agent, base, path: site.base(base).join(name), is_shared: scope == HookScope::Project }
    }

    /// Returns every file in which an agent looks for hooks.
    pub(crate) fn all(agent: Agent, site: &Site) -> Vec<HookFile> {
        let mut files: Vec<HookFile> = Vec::new();
        for scope in [HookScope::Local, HookScope::Project, HookScope::User] {
            let file = HookFile::for_scope(agent, scope, site);
            if files.iter().all(|other| other.path != file.path) {
                files.push(file);
            }
        }
        files
    }

    /// Returns the owner's name in the record of edits.
    pub(crate) fn owner(&self) -> String {
        format!("{ALONE}{}", self.agent.name())
    }

    /// Returns hob's entries in the text of the file.
    pub(crate) fn entries(&self, text: &str) -> Result<Vec<Installed>, Broken> {
        Ok(installed(self.agent, &value(self.agent, text)?))
    }

    /// Returns the text with exactly the entries of a plan. The text is unchanged if it already has them.
    pub(crate) fn with(&self, text: &str, plan: &Plan) -> Result<String, Broken> {
        if let Some(plugin) = plan.plugin() {
            return if text.is_empty() || plugin_of(text).is_some() { Ok(plugin) } else { Err(Broken::Foreign) };
        }
        let wanted = plan.entries();
        let file = value(self.agent, text)?;
        let is_there = |(event, entry): &(&str, Value)| {
            file["hooks"][*event].as_array().is_some_and(|list| list.iter().any(|element| element == entry))
        };
        if wanted.len() == ours_in(self.agent, &file) && wanted.iter().all(is_there) {
            return Ok(text.to_owned());
        }
        let allows = allows(self.agent);
        let mut text = remove_own_entries(self.agent, text)?.unwrap_or_else(|| text.to_owned());
        if self.agent.layout() == Layout::Handlers && file["version"].is_null() {
            text = jsonc::set(&text, &["version".to_owned()], jsonc::input(&json!(1)), allows)?;
        }
        let wanted = wanted.into_iter().map(|(event, entry)| (event.to_owned(), jsonc::input(&entry)));
        jsonc::push_each(&text, &["hooks".to_owned()], wanted, allows).map_err(hooks_error)
    }
}

/// The result of adding entries to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// The file already had them.
    Already,
    Written,
}

impl HookFile {
    /// Writes the entries of a plan into the file, replacing hob's earlier entries.
    pub(crate) fn put(&self, edits: &mut Edits, plan: &Plan) -> anyhow::Result<WriteOutcome> {
        let text = edits.read(&self.path)?.unwrap_or_default();
        if self.with(&text, plan)? == text {
            return Ok(WriteOutcome::Already);
        }
        // Revert the earlier entries first, so that the record keeps the original text.
        self.take_back(edits)?;
        let clean = edits.read(&self.path)?.unwrap_or_default();
        let new = self.with(&clean, plan)?;
        edits.write(&self.path, &self.owner(), &new)?;
        Ok(WriteOutcome::Written)
    }

    /// Removes hob's entries from the file; `None` if there are none.
    pub(crate) fn take_back(&self, edits: &mut Edits) -> anyhow::Result<Option<Undone>> {
        edits.take_back(&self.path, &self.owner(), |text| without_hooks(&self.owner(), text))
    }
}

/// Returns the text of an agent's file without hob's entries. `None` if the owner is not a hook file or the text has no
/// entries.
pub(crate) fn without_hooks(owner: &str, text: &str) -> Option<String> {
    let agent = Agent::named(owner.strip_prefix(ALONE)?)?;
    remove_own_entries(agent, text).ok().flatten()
}

fn remove_own_entries(agent: Agent, text: &str) -> Result<Option<String>, Broken> {
    if agent.layout() == Layout::Plugin {
        // A plugin that was modified belongs to the user.
        return Ok(None);
    }
    let is_of_groups = agent.layout() == Layout::Groups;
    let without = jsonc::without_handlers(text, allows(agent), is_of_groups, |handler| is_ours(agent, handler))?;
    Ok((without != text).then_some(without))
}

/// Counts hob's entries in the file.
fn ours_in(agent: Agent, file: &Value) -> usize {
    let lists = file["hooks"].as_object().into_iter().flatten().filter_map(|(_, list)| list.as_array());
    let handlers = lists.flatten().flat_map(|element| match agent.layout() {
        Layout::Groups => element["hooks"].as_array().map(Vec::as_slice).unwrap_or_default(),
        _ => std::slice::from_ref(element),
    });
    handlers.filter(|handler| is_ours(agent, handler)).count()
}

fn value(agent: Agent, text: &str) -> Result<Value, Broken> {
    match agent.layout() {
        Layout::Plugin => Ok(json!(text)),
        _ => jsonc::value(text, allows(agent)),
    }
}

/// Returns the JSON extensions that the agent's parser accepts.
fn allows(agent: Agent) -> Allows {
    match agent {
        Agent::Codex | Agent::Copilot => Allows::Nothing,
        Agent::Gemini => Allows::Comments,
        _ => Allows::CommentsAndTrailingCommas,
    }
}

fn hooks_error(error: Broken) -> Broken {
    match error {
        Broken::Shape(name) => Broken::NoHooks(name),
        other => other,
    }
}

#[cfg(test)]
mod tests;
