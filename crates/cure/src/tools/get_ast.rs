//! `get_ast`: the syntax tree of a text.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use rowan::NodeOrToken;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work;
use crate::answer::Room;
use crate::diagnostic::Lines;
use crate::report::{self, Diagnosis, diagnose};
use crate::syntax::{CureLanguage, SyntaxNode};

type SyntaxElement = rowan::SyntaxElement<CureLanguage>;
type SyntaxElementChildren = rowan::SyntaxElementChildren<CureLanguage>;

/// Show the syntax tree of Cure code: nodes with their kinds and positions, `line:column-column`. A line equal to that of
/// the node above is omitted, and so is the end of a node of one character.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
    /// Format the tree on several indented lines. Default: true.
    pub pretty_print: Option<bool>,
    /// Include the tokens. Default: false.
    pub tokens: Option<bool>,
    /// The byte to begin at, for what did not fit into the last answer. Default: 0.
    pub start: Option<u32>,
}

/// The tree.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the syntax is valid.
    pub ok: bool,
    /// The tree as text.
    #[serde(skip)]
    pub text: String,
    /// The kinds of nodes and tokens that occur.
    pub kinds: Vec<String>,
    /// The nodes in order: how deep it stands, the index of its kind, its first byte, the byte behind it.
    pub nodes: Vec<[u32; 4]>,
    /// The `start` of the next call, if not all fitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<u32>,
    /// Syntax errors.
    #[serde(flatten)]
    pub said: Diagnosis,
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
            let mut room = Room::new();
            let mut share = room.share(SAID);
            let said = diagnose(&parsed.diagnostics, &args.code, &mut share, Self::NAME);
            room.rest(share);
            let mut tree = Tree {
                lines: &Lines::new(&args.code),
                pretty: args.pretty_print.unwrap_or(true),
                tokens: args.tokens.unwrap_or(false),
                start: args.start.unwrap_or(0),
                text: String::new(),
                kinds: Vec::new(),
                nodes: Vec::new(),
                open: 0,
                most: room.remaining_bytes(),
                room,
            };
            let next = tree.write(parsed.tree());
            let Tree { text, kinds, nodes, .. } = tree;
            Output { ok: said.is_ok(), text, kinds, nodes, next, said }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let mut text = format!("AST:\n{}", output.text);
        if let Some(next) = output.next {
            text.push_str(&format!("\n… more from byte {next} on: call get_ast with `start` = {next}"));
        }
        if output.ok {
            text
        } else {
            format!("{}\n{text}", report::titled_diagnostics("✗ Syntax error", &output.said))
        }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do\nend" });
        let text = Some("AST:\nModule 1:1-2:4\n Path 8");
        vec![Example { title: "An empty module", arguments, text }]
    }
}

/// Maximum size of the syntax errors in addition to the tree, in bytes.
const SAID: usize = 16_000;

/// Maximum number of characters of a token that are shown.
const LONGEST: usize = 100;

/// A tree while it is written.
struct Tree<'t> {
    lines: &'t Lines<'t>,
    pretty: bool,
    /// True if tokens are shown, too.
    tokens: bool,
    /// Where it begins.
    start: u32,
    text: String,
    kinds: Vec<String>,
    nodes: Vec<[u32; 4]>,
    /// How many parentheses are open in the text.
    open: u32,
    /// Remaining room for the data.
    room: Room,
    /// Maximum size of the text.
    most: usize,
}

/// The children of a node that are still to be written, how deep they stand, and the line where the node begins.
type Level = (SyntaxElementChildren, u32, usize);

impl Tree<'_> {
    /// Writes what begins at `start` or behind it; gives where the rest begins, if not all fits.
    fn write(&mut self, root: SyntaxNode) -> Option<u32> {
        // The root is in every tree and says nothing.
        let mut levels: Vec<Level> = vec![(root.children_with_tokens(), 0, 0)];
        let mut next = None;
        while let (None, Some((children, depth, line))) = (next, levels.last_mut()) {
            match children.next() {
                Some(child) => {
                    let (depth, line) = (*depth, *line);
                    next = self.element(child, depth, line, &mut levels);
                }
                None => drop(levels.pop()),
            }
        }
        if !self.pretty {
            self.text.extend(std::iter::repeat_n(')', self.open as usize));
        }
        next
    }

    /// Writes a node or a token; gives where it begins, if it does not fit. A node that holds nothing but another one is
    /// written with it: `Body/Literal`.
    fn element(&mut self, element: SyntaxElement, depth: u32, above: usize, levels: &mut Vec<Level>) -> Option<u32> {
        let (start, end) = (u32::from(element.text_range().start()), u32::from(element.text_range().end()));
        let (kind, name) = match &element {
            NodeOrToken::Token(token) if !self.tokens || token.kind().is_trivia() => return None,
            NodeOrToken::Token(token) => (format!("{:?}", token.kind()), quote_token(token.text())),
            NodeOrToken::Node(node) => {
                let (mut name, mut inner) = (format!("{:?}", node.kind()), node.clone());
                while let Some(only) = only_child(&inner) {
                    name.push_str(&format!("/{:?}", only.kind()));
                    inner = only;
                }
                let line = self.lines.line_column(start).0;
                levels.push((inner.children_with_tokens(), depth + 1, line));
                (name.clone(), name)
            }
        };
        if start < self.start {
            return None;
        }
        let place = self.format_position(start, end, above);
        let line = self.line(&name, &place, depth);
        let known = self.kinds.iter().position(|known| *known == kind);
        if known.is_none() && !self.room.takes(&kind) {
            return Some(start);
        }
        let row = [depth, known.unwrap_or(self.kinds.len()) as u32, start, end];
        if self.text.len() + line.len() > self.most || !self.room.takes(&row) {
            return Some(start);
        }
        self.text.push_str(&line);
        self.open = depth + 1;
        self.nodes.push(row);
        if known.is_none() {
            self.kinds.push(kind);
        }
        None
    }

    fn line(&self, name: &str, place: &str, depth: u32) -> String {
        if self.pretty {
            let end = if self.nodes.is_empty() { "" } else { "\n" };
            return format!("{end}{}{name} {place}", " ".repeat(depth as usize));
        }
        let closed = self.open.saturating_sub(depth);
        let space = if self.nodes.is_empty() { "" } else { " " };
        format!("{}{space}({name} {place}", ")".repeat(closed as usize))
    }

    /// `2:3-19`, or `3-19` on the line of the node above; `3` for one character.
    fn format_position(&self, start: u32, end: u32, above: usize) -> String {
        let ((line, column), (end_line, end_column)) = (self.lines.line_column(start), self.lines.line_column(end));
        let from = if line == above { column.to_string() } else { format!("{line}:{column}") };
        match (end_line == line, end_column.saturating_sub(column)) {
            (true, 1) => from,
            (true, _) => format!("{from}-{end_column}"),
            (false, _) => format!("{from}-{end_line}:{end_column}"),
        }
    }
}

/// A token in quotes; of a long one, the beginning.
fn quote_token(token: &str) -> String {
    match token.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{:?}…", &token[..at]),
        None => format!("{token:?}"),
    }
}

/// The node inside of a node that holds nothing else.
fn only_child(node: &SyntaxNode) -> Option<SyntaxNode> {
    let mut children = node.children_with_tokens().filter(|child| !child.kind().is_trivia());
    let first = children.next()?.into_node()?;
    children.next().is_none().then_some(first)
}
