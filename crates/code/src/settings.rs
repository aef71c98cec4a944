//! The settings `[code]`: language servers and their memory budget. A command in `hob.toml`, and programs of the checkout,
//! take effect only when granted, because an agent can write both.

use std::collections::BTreeMap;

use lsp::server::profile;
use project::ConfigError;
use project::config::{File, Settings, value};
use project::trust::{Places, Request};
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeSettings {
    /// The resident memory of all servers together, in MiB; by default two fifths of the machine's, at most 8 GiB.
    pub memory: Option<u64>,
    /// True if programs of the checkout may run.
    pub project_servers: bool,
    pub servers: BTreeMap<String, ServerSettings>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    pub enabled: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodeTable {
    memory: Option<u64>,
    project_servers: Option<bool>,
    servers: BTreeMap<String, ServerSettings>,
}

impl Settings for CodeSettings {
    const NAME: &'static str = "code";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = CodeTable;

    fn apply(&mut self, table: CodeTable, file: &File<'_>) -> Result<(), ConfigError> {
        // A larger value is a mistake; with a smaller one no server can load.
        self.memory = file.number_in_range("code.memory", table.memory, 64..=1 << 20)?.or(self.memory);
        self.project_servers = table.project_servers.unwrap_or(self.project_servers);
        for (name, server) in table.servers {
            let known: Vec<&str> = profile::all().iter().map(|profile| profile.name.as_str()).collect();
            if !known.contains(&name.as_str()) {
                return Err(file.refused(format!(
                    "code.servers.{}: unknown server; the known servers are {}",
                    value::key(&name),
                    known.join(", ")
                )));
            }
            if server.command.as_ref().is_some_and(|command| command.first().is_none_or(String::is_empty)) {
                return Err(file.refused(format!("code.servers.{name}.command: it names no program")));
            }
            let one = self.servers.entry(name).or_default();
            one.command = server.command.or(one.command.take());
            one.enabled = server.enabled.or(one.enabled);
        }
        Ok(())
    }

    fn requests(table: &CodeTable, places: &Places<'_>) -> Vec<Request> {
        let commands = table.servers.iter().filter_map(|(name, server)| Some((name, server.command.as_ref()?)));
        let mut requests: Vec<Request> = commands
            .map(|(name, command)| {
                let words: Vec<String> = command.iter().map(|word| value::quoted(word)).collect();
                let asks = format!("runs the command [{}] as a language server", words.join(", "));
                Request { withholds: Some(name.clone()), ..places.request(&["code", "servers", name, "command"], asks) }
            })
            .collect();
        if table.project_servers == Some(true) {
            let asks = "runs language servers that lie in the checkout, such as those in node_modules".to_owned();
            requests.push(places.request(&["code", "project_servers"], asks));
        }
        requests
    }

    fn withhold(table: &mut CodeTable) {
        table.project_servers = table.project_servers.filter(|may| !may);
        table.servers.values_mut().for_each(|server| server.command = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use project::config::Source;
    use std::path::Path;

    fn table(text: &str) -> CodeTable {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn programs_of_a_checkout_require_a_grant() {
        let mut said = table("project_servers = true\nservers.ty = { command = [\"./ty\"], enabled = false }");
        CodeSettings::withhold(&mut said);
        let mut settings = CodeSettings::default();
        settings.apply(said, &File::new(Path::new("hob.toml"), Source::Project, "")).unwrap();
        let ty = ServerSettings { command: None, enabled: Some(false) };
        let servers = BTreeMap::from([("ty".to_owned(), ty)]);
        assert_eq!(settings, CodeSettings { servers, ..CodeSettings::default() });
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (text, wanted) in [
            ("servers.hls = {}", "unknown server; the known servers are rust-analyzer, ty"),
            ("servers.ty = { command = [] }", "it names no program"),
            ("memory = 1", "code.memory"),
        ] {
            let refused =
                CodeSettings::default().apply(table(text), &File::new(Path::new("hob.toml"), Source::User, text));
            let said = refused.unwrap_err().to_string();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }
}
