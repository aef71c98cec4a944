//! The content of one configuration file: the shared tables, and one table for each part.

use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

use super::duration::Limit;
use super::limits::LimitsTable;
use super::section::{File, Section, Table};
use super::{Config, Source};
use crate::Results;
use crate::config_error::{ConfigError, wrong, wrong_at};
use crate::request::{Places, Request};

/// A file that was read but not merged.
#[derive(Default)]
pub(crate) struct Document {
    toolsets: Option<Vec<String>>,
    daemon: DaemonTable,
    mcp: McpTable,
    compat: CompatTable,
    limits: LimitsTable,
    /// In the order of the sections.
    parts: Vec<Box<dyn Table>>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DaemonTable {
    idle: Option<Limit>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct McpTable {
    results: Option<Results>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CompatTable {
    tidepool: Option<bool>,
}

impl Document {
    /// Parses a text of this source strictly: an error names the line of the first mistake.
    pub(crate) fn parse(
        path: &Path,
        text: &str,
        source: Source,
        sections: &[Section],
    ) -> Result<Document, ConfigError> {
        let wrong = |error| wrong(path, text, &error);
        // Only the user's file may choose variables to pass on.
        let environment = match source {
            Source::User => Some("environment"),
            Source::Project => None,
        };
        let shared = environment.into_iter().chain(["toolsets", "daemon", "mcp", "compat", "limits"]);
        let known: Vec<&str> = shared.chain(sections.iter().map(|section| section.name)).collect();
        let mut document = Document::default();
        let mut parts: Vec<Option<Box<dyn Table>>> = sections.iter().map(|_| None).collect();
        for (key, value) in DeTable::parse(text).map_err(wrong)?.into_inner() {
            let at = key.span().start;
            let is_list = matches!(key.get_ref().as_ref(), "toolsets" | "environment");
            if !is_list && known.contains(&key.get_ref().as_ref()) && !value.get_ref().is_table() {
                let message = format!("`{0}` must be a table: write `[{0}]`, and its settings below", key.get_ref());
                return Err(wrong_at(path, text, at, &message));
            }
            let value = ValueDeserializer::from(value);
            match key.get_ref().as_ref() {
                "toolsets" => document.toolsets = Some(Vec::deserialize(value).map_err(wrong)?),
                "daemon" => document.daemon = DaemonTable::deserialize(value).map_err(wrong)?,
                "mcp" => document.mcp = McpTable::deserialize(value).map_err(wrong)?,
                "compat" => document.compat = CompatTable::deserialize(value).map_err(wrong)?,
                "limits" => document.limits = LimitsTable::deserialize(value).map_err(wrong)?,
                name if environment == Some(name) => drop(Vec::<String>::deserialize(value).map_err(wrong)?),
                name => match sections.iter().position(|section| section.name == name) {
                    Some(index) => parts[index] = Some((sections[index].read)(value).map_err(wrong)?),
                    None => {
                        let expected: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                        let message = format!("unknown field `{name}`, expected one of {}", expected.join(", "));
                        return Err(wrong_at(path, text, at, &message));
                    }
                },
            }
        }
        document.parts = parts.into_iter().flatten().collect();
        Ok(document)
    }

    /// Returns the requests of the file beyond the safe set, part by part.
    pub(crate) fn requests(&self, text: &str) -> Vec<Request> {
        let places = Places::new(text);
        let socket = self.compat.tidepool.filter(|is_wanted| *is_wanted).map(|_| {
            let asks = "creates the socket .tidepool/sockets/control.sock, through which your programs reach hob";
            places.request(&["compat", "tidepool"], asks.to_owned())
        });
        socket.into_iter().chain(self.parts.iter().flat_map(|table| table.requests(&places))).collect()
    }

    /// Removes all settings that need a grant.
    pub(crate) fn withhold(&mut self) {
        self.compat.tidepool = None;
        self.parts.iter_mut().for_each(|table| table.withhold());
    }

    /// Merges the file into the configuration.
    pub(crate) fn apply(self, config: &mut Config, file: &File<'_>) -> Result<(), ConfigError> {
        config.limits.apply(&self.limits, file)?;
        if self.toolsets.is_some() {
            config.toolsets = self.toolsets;
        }
        if let Some(idle) = self.daemon.idle {
            config.idle = idle;
        }
        if let Some(tidepool) = self.compat.tidepool {
            config.tidepool = tidepool;
        }
        if self.mcp.results.is_some() {
            config.results = self.mcp.results;
        }
        self.parts.into_iter().try_for_each(|table| table.apply(config, file))
    }
}
