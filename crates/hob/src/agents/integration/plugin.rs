//! hob's plugin in an agent's own files: where it is enabled, and the command that removes it. Verified with Claude Code 2.1,
//! Codex 0.169, Copilot CLI 1.0 and Gemini CLI 0.61 (`cargo xtask clients plugins`).

use serde_json::Value;

use super::{SETTINGS, Scope, Site};
use crate::agents::{Agent, Format, SERVER};

/// hob's plugin, enabled in an agent.
pub(crate) struct Plugin {
    /// The file that enables it, as people write it.
    pub(crate) file: String,
    /// The command that removes it.
    pub(crate) remove: String,
}

impl Agent {
    /// Returns hob's plugin if the agent has it enabled. An unreadable file counts as one without the plugin; the steps of the
    /// agent report it.
    pub(crate) fn plugin(&self, site: &Site) -> Option<Plugin> {
        let settings = [(Scope::Project, super::CLAUDE_LOCAL), (Scope::Project, ".claude/settings.json")];
        let read = |scope, file, format| match scope {
            Scope::Project => site.project(file, format),
            Scope::User => site.user(file, format),
        };
        let plugin =
            |scope: Scope, file: &str, remove: String| Plugin { file: format!("{}{file}", scope.prefix()), remove };
        match self.name {
            "claude" => {
                settings.into_iter().chain([(Scope::User, ".claude/settings.json")]).find_map(|(scope, file)| {
                    let id = enabled(&read(scope, file, SETTINGS).ok()?["enabledPlugins"], |value| *value == true)?;
                    Some(plugin(scope, file, format!("claude plugin uninstall {id}")))
                })
            }
            "codex" => {
                let file = ".codex/config.toml";
                let config = read(Scope::User, file, Format::Toml { table: "plugins" }).ok()?;
                let id = enabled(&config["plugins"], |value| value["enabled"] != false)?;
                Some(plugin(Scope::User, file, format!("codex plugin remove {id}")))
            }
            "copilot" => {
                let file = ".copilot/settings.json";
                let settings = read(Scope::User, file, SETTINGS).ok()?;
                let id = enabled(&settings["enabledPlugins"], |value| *value == true)?;
                Some(plugin(Scope::User, file, format!("copilot plugin uninstall {id}")))
            }
            "gemini" => {
                let file = ".gemini/extensions/hob/gemini-extension.json";
                let is_there = site.home.join(file).is_file();
                is_there.then(|| plugin(Scope::User, file, "gemini extensions uninstall hob".to_owned()))
            }
            _ => None,
        }
    }
}

/// Returns the name of hob's plugin, `hob@MARKETPLACE`, in a table of plugins. A name with other characters is not one.
fn enabled(plugins: &Value, is_enabled: fn(&Value) -> bool) -> Option<String> {
    let mut plugins = plugins.as_object()?.iter();
    let is_plain = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || "@-_.".contains(c));
    let id = plugins.find(|(id, value)| {
        id.strip_prefix(SERVER).is_some_and(|rest| rest.starts_with('@')) && is_plain(id) && is_enabled(value)
    });
    id.map(|(id, _)| id.clone())
}
