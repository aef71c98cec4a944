//! `code_status`: the language server of each language.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use syntax::{Language, family};

use super::{Questions, display_path, searched};
use crate::judgement::is_zero;
use crate::running_servers::Running;
use crate::search::list;

/// The languages of this worktree, and the language server that checks the answers about each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Restart the servers of this worktree with the caller's environment (default false).
    #[serde(default)]
    pub restart: bool,
}

/// The languages.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    root: String,
    languages: Vec<Languages>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    servers: Vec<Running>,
    /// The servers that were restarted, and their state before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    restarted: Vec<String>,
    /// How many files and folders cannot be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    unreadable: usize,
}

/// The languages that one server checks together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Languages {
    /// As in `head.servers`: `Rust`; `TypeScript, JavaScript`.
    language: &'static str,
    files: usize,
    /// The server that checks them, or that would be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    state: &'static str,
    /// The reason why none runs, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(super) struct CodeStatus(pub(super) Arc<Questions>);

impl Tool for CodeStatus {
    const NAME: &'static str = "code_status";
    const TITLE: &'static str = "Show language servers";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        let (root, files, skipped) = searched(&self.0, &cx, None, move |scope| {
            let (files, _, skipped) = list(scope, usize::MAX);
            Ok((scope.root.clone(), files, skipped))
        })
        .await?;
        let were = if args.restart { self.0.pool.restart(caller, &root).await } else { Vec::new() };
        let restarted =
            were.iter().map(|(server, state)| format!("{}, which was {}", server.profile.name, state.word()));
        let restarted = restarted.collect();
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for language in files.iter().filter_map(|file| Language::by_name(file)) {
            *counts.entry(family(language)).or_default() += 1;
        }
        let servers: Vec<_> = self.0.pool.all().into_iter().filter(|server| server.worktree == root).collect();
        let languages = counts.into_iter().map(|(language, files)| {
            let running = servers.iter().find(|server| server.profile.family == language);
            if let Some(server) = running {
                let (name, state) = (server.profile.name.clone(), server.snapshot().state.word());
                return Languages { language, files, server: Some(name), state, why: None };
            }
            let (server, state, why) = self.0.pool.server_for(&caller.env, &root, language);
            Languages { language, files, server, state, why }
        });
        let languages = languages.collect();
        Ok(Output {
            root: display_path(&root),
            languages,
            servers: servers.iter().map(Running::from_server).collect(),
            restarted,
            unreadable: skipped.len(),
        })
    }

    fn text(output: &Output) -> String {
        if output.languages.is_empty() {
            return format!("{}: no file in a supported language", output.root);
        }
        let mut lines = vec![output.root.clone()];
        for one in &output.languages {
            let server = one.server.as_deref().unwrap_or_default();
            let is = one.why.clone().unwrap_or_else(|| format!("{server} {}", one.state.replace('_', " ")));
            let files = if one.files == 1 { "1 file".to_owned() } else { format!("{} files", one.files) };
            lines.push(format!("  {} ({files}): {is}", one.language));
        }
        for one in &output.restarted {
            lines.push(format!("  restarted with this environment: {one}"));
        }
        for one in &output.servers {
            lines.push(format!("  {}", one.line()));
        }
        if output.unreadable > 0 {
            lines.push(format!("{} files or folders cannot be read", output.unreadable));
        }
        lines.join("\n")
    }
}
