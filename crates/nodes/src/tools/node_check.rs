//! `node_check`: reports the problems of a node file or of a text that is not saved yet. It does not make the node available.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use project::checkout_dir::Inside;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Nodes, node_tool};
use crate::file::{FILE_MAX, SUFFIX};
use crate::folder::FolderError;
use crate::schema::keywords::Projection;
use crate::{Node, Problem};

/// Checks a node file, or the text of one. Returns the problems with their lines, suggestions, the prompt size, and the handling of
/// each schema keyword by each model (enforced by the decoder, checked here only, or refused). Changes no files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Path of the node file, relative to your worktree.
    path: Option<String>,
    /// Text of a node file, instead of `path`.
    text: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Problems with their lines. The file is valid if the list is empty.
    problems: Vec<Problem>,
    /// Suggestions for improvement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Problem>,
    /// Handling of the output schema on each model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    projections: Vec<Projection>,
    /// Estimated tokens of the prompt without its inputs, at four bytes each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// The model or caller that would answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
}

pub(super) struct NodeCheck(pub Arc<Nodes>);

impl Tool for NodeCheck {
    const NAME: &'static str = "node_check";
    const TITLE: &'static str = "Check a node file";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let worktree = Nodes::worktree(&cx)?;
        let folder = self.0.folder_of(&worktree);
        let (name, text) = match (args.path, args.text) {
            (None, Some(text)) => ("checked".to_owned(), text),
            (Some(path), None) => {
                let path = Path::new(&path);
                let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
                let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(SUFFIX));
                let Some(name) = name.filter(|_| is_inside) else {
                    let why = format!("`path` is a file NAME{SUFFIX} of your worktree, relative to it");
                    return Err(ToolError::user(why));
                };
                let shown = project::visible::path(path).to_string();
                let directory = path.parent().unwrap_or(Path::new("")).to_owned();
                let file = PathBuf::from(format!("{name}{SUFFIX}"));
                // Errors quote the file, so links out of the worktree are not followed.
                let read =
                    tokio::task::spawn_blocking(move || Inside::open(&worktree, &directory)?.read(&file, FILE_MAX));
                let text = read.await.map_err(ToolError::internal)?;
                (
                    name.to_owned(),
                    text.map_err(|source| ToolError::user(FolderError::Read { file: shown, source }.to_string()))?,
                )
            }
            _ => return Err(ToolError::user("give `path` or `text`, one of them")),
        };
        let checked = tokio::task::spawn_blocking(move || folder.parse(&name, &text));
        let node = match checked.await.map_err(ToolError::internal)? {
            Ok(node) => node,
            Err(FolderError::Invalid { problems, .. }) => return Ok(Output { problems, ..Output::default() }),
            Err(error) => {
                let problems = vec![Problem { line: 1, message: error.to_string() }];
                return Ok(Output { problems, ..Output::default() });
            }
        };
        Ok(Output {
            problems: Vec::new(),
            projections: self.0.models.projections(&node),
            tokens: Some(tokens(&node)),
            answered_by: Some(node_tool::answered_by(&self.0.models, &node)),
            notes: node.lints.iter().cloned().chain(self.0.models.lints(&node)).collect(),
        })
    }

    fn text(output: &Output) -> String {
        if !output.problems.is_empty() {
            let lines: Vec<String> = output.problems.iter().map(|problem| format!("line {problem}")).collect();
            return lines.join("\n");
        }
        let mut text = "good".to_owned();
        if let (Some(tokens), Some(answered_by)) = (output.tokens, &output.answered_by) {
            text.push_str(&format!("; {answered_by}; about {tokens} tokens without its inputs"));
        }
        output.notes.iter().for_each(|note| text.push_str(&format!("\nnote, line {note}")));
        output.projections.iter().for_each(|projection| text.push_str(&format!("\n{projection}")));
        text
    }
}

/// Returns the tokens of the fixed part of the prompt: the body, the examples and the schema.
fn tokens(node: &Node) -> u64 {
    let examples: usize = node.examples.iter().map(|example| example.output.to_string().len()).sum();
    ((node.text.len() + examples + node.output.json.to_string().len()) / 4) as u64
}
