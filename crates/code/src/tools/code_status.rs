//! `code_status`: what stands behind the answers, per language.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Questions, searched};
use crate::head::State;
use crate::search::list;
use crate::syntax::Language;

/// What stands behind the answers about code: the languages of this worktree, and who judges each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

/// The languages.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    root: String,
    languages: Vec<Spoken>,
    /// Files and folders that cannot be read.
    unreadable: usize,
}

/// A language.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Spoken {
    language: &'static str,
    files: usize,
    judge: Option<String>,
    state: State,
    why: &'static str,
}

pub(super) struct CodeStatus(pub(super) Arc<Questions>);

const WHY: &str = "this version asks no language server: uses are found by syntax and stay undecided";

impl Tool for CodeStatus {
    const NAME: &'static str = "code_status";
    const TITLE: &'static str = "What answers about code";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, _: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, None, move |scope| {
            let (files, _, skipped) = list(scope, usize::MAX);
            let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
            for file in &files {
                if let Some(language) = Language::by_name(file) {
                    *counts.entry(language.word()).or_default() += 1;
                }
            }
            let one = |(language, files)| Spoken { language, files, judge: None, state: State::Absent, why: WHY };
            Ok(Output {
                root: super::shown(&scope.root),
                languages: counts.into_iter().map(one).collect(),
                unreadable: skipped.len(),
            })
        })
        .await
    }

    fn text(output: &Output) -> String {
        if output.languages.is_empty() {
            return format!("{}: no file in a language that is known here", output.root);
        }
        let counted: Vec<String> =
            output.languages.iter().map(|one| format!("{} {}", one.files, one.language)).collect();
        let unreadable = match output.unreadable {
            0 => String::new(),
            count => format!("\n{count} files or folders cannot be read"),
        };
        format!("{}: files: {}\njudges: none; {WHY}{unreadable}", output.root, counted.join(", "))
    }
}
