//! `get_ast`: the syntax tree of a text.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work;
use crate::report::{self, Reported, reported};
use crate::syntax::SyntaxNode;

/// Maximum number of nodes in one answer.
const MOST: usize = 20_000;

/// Show the syntax tree of Cure code: nodes with their kinds, tokens with their texts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
    /// Whether the tree is written over lines, indented. Default: true.
    pub pretty_print: Option<bool>,
}

/// The tree.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the syntax is valid.
    pub ok: bool,
    /// The tree as text.
    pub text: String,
    /// The nodes in order, each with how deep it stands.
    pub nodes: Vec<Node>,
    /// Whether the tree was too large to be given whole.
    pub truncated: bool,
    /// Syntax errors.
    pub diagnostics: Vec<Reported>,
}

/// A node or a token.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Node {
    /// How deep it stands.
    pub depth: u32,
    /// Its kind.
    pub kind: String,
    /// Its text, for a token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// Its first byte.
    pub start: u32,
    /// Behind its last byte.
    pub end: u32,
}

pub(super) struct GetAst;

impl Tool for GetAst {
    const NAME: &'static str = "get_ast";
    const TITLE: &'static str = "Cure syntax tree";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        work(args.code.len(), move || {
            let parsed = crate::syntax::parse(&args.code);
            let diagnostics = reported(&parsed.diagnostics, &args.code);
            let (nodes, truncated) = nodes(&parsed.tree());
            let text = written(&nodes, args.pretty_print.unwrap_or(true));
            Output { ok: !report::has_errors(&diagnostics), text, nodes, truncated, diagnostics }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let text = format!("AST:\n{}", output.text);
        let text = if output.truncated { format!("{text}\n… (only the first {MOST} nodes)") } else { text };
        if output.ok { text } else { format!("{}\n{text}", report::under("✗ Syntax error", &output.diagnostics)) }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do\nend" });
        let text = Some("AST:\nSource\n  Module\n    \"module\"\n    Path\n      \"T\"\n    \"do\"\n    \"end\"");
        vec![Example { title: "An empty module", arguments, text }]
    }
}

fn nodes(root: &SyntaxNode) -> (Vec<Node>, bool) {
    let mut nodes = Vec::new();
    let mut depth = 0;
    for event in root.preorder_with_tokens() {
        match event {
            rowan::WalkEvent::Leave(_) => depth -= 1,
            rowan::WalkEvent::Enter(element) => {
                if nodes.len() >= MOST {
                    return (nodes, true);
                }
                let token = element.as_token();
                if token.is_none_or(|token| !token.kind().is_trivia()) {
                    nodes.push(Node {
                        depth,
                        kind: format!("{:?}", element.kind()),
                        text: token.map(|token| token.text().to_owned()),
                        start: element.text_range().start().into(),
                        end: element.text_range().end().into(),
                    });
                }
                depth += 1;
            }
        }
    }
    (nodes, false)
}

fn written(nodes: &[Node], pretty: bool) -> String {
    let mut text = String::new();
    let mut open = 0;
    for (at, node) in nodes.iter().enumerate() {
        let name = node.text.as_ref().map_or_else(|| node.kind.clone(), |text| format!("{text:?}"));
        if pretty {
            let indent = "  ".repeat(node.depth as usize);
            let end = if at + 1 < nodes.len() { "\n" } else { "" };
            text.push_str(&format!("{indent}{name}{end}"));
            continue;
        }
        while open > node.depth {
            text.push(')');
            open -= 1;
        }
        text.push_str(if at == 0 { "(" } else { " (" });
        text.push_str(&name);
        open = node.depth + 1;
    }
    text.extend(std::iter::repeat_n(')', open as usize * usize::from(!pretty)));
    text
}
