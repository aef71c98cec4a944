//! `outline`: the declarations in a file or a folder.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use syntax::{Declaration, Kind, Language, declarations, unread_in};

use super::{Questions, display_path, doubt, searched};
use crate::completeness::Head;
use crate::line_column::Lines;
use crate::search::{MAX_PARSED, NoAnswer, Skipped, Why, list, read};

/// The declarations in a file or a folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// A file or folder (default the worktree).
    pub path: Option<String>,
    /// Part of a name.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// Only declarations of these kinds (default all).
    #[schemars(extend("x-unlisted" = true))]
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Levels of declarations (default 2 for a file, 1 for a folder).
    #[schemars(extend("x-unlisted" = true))]
    pub depth: Option<usize>,
}

/// The declarations of each file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    files: Vec<FileOutline>,
    /// True if more declarations or files were omitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip)]
    text: Vec<String>,
}

/// A file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct FileOutline {
    path: String,
    symbols: Vec<Symbol>,
}

/// A declaration.
#[derive(Debug, Serialize, JsonSchema)]
struct Symbol {
    kind: &'static str,
    name: String,
    signature: String,
    line: usize,
    end_line: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<Symbol>,
}

pub(super) struct Outline(pub(super) Arc<Questions>);

/// The default depth for a file, and for each file of a folder.
const DEPTH: usize = 2;
const FOLDER_DEPTH: usize = 1;
/// The maximum numbers of files read and of declarations listed.
const MAX_FILES: usize = 200;
const MAX_SYMBOLS: usize = 400;
const MOST_DEPTH: usize = 10;

impl Tool for Outline {
    const NAME: &'static str = "outline";
    const TITLE: &'static str = "Outline";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, args.path.clone(), move |scope| {
            let is_file = scope.below.is_file();
            let (files, more, mut skipped) = list(scope, MAX_FILES);
            if is_file && files.is_empty() {
                return Err(NoAnswer(format!(
                    "{} is not a readable file in a supported language",
                    display_path(scope.relative(&scope.below))
                )));
            }
            let depth = args.depth.unwrap_or(if is_file { DEPTH } else { FOLDER_DEPTH }).clamp(1, MOST_DEPTH);
            let mut filter = Filter {
                part: args.matching.as_deref().unwrap_or_default().to_lowercase(),
                kinds: args.kinds,
                depth,
                left: MAX_SYMBOLS,
                is_over: false,
            };
            let mut outlined = Vec::new();
            let count = files.len();
            for file in files {
                let path = scope.relative(&file).to_owned();
                let Some((language, text)) =
                    read(&file).ok().and_then(|text| Some((Language::detect(&file, &text)?, text)))
                else {
                    skipped.push(Skipped::new(path, Why::Unreadable, 0));
                    continue;
                };
                if text.len() > MAX_PARSED as usize {
                    skipped.push(Skipped::new(path, Why::TooLarge, 0));
                    continue;
                }
                let Some(all) = declarations(language, &text, scope.until) else {
                    skipped.push(Skipped::new(path, scope.why_not_parsed(), 0));
                    continue;
                };
                // Few C files parse completely, because macros are not valid syntax.
                let is_c = matches!(language, Language::C | Language::Cpp);
                let lines = if is_c { Vec::new() } else { unread_in(language, &text, scope.until) };
                if !lines.is_empty() {
                    skipped.push(Skipped { lines, ..Skipped::new(path.clone(), Why::Unread, 0) });
                }
                let symbols = filter.select(language, &all, &Lines::new(&text), 1);
                if !symbols.is_empty() || is_file {
                    outlined.push(FileOutline { path: display_path(&path), symbols });
                }
            }
            let head = Head::default().searched(scope, count, &skipped, scope.since);
            let truncated = more || filter.is_over;
            let head = Head { is_complete: skipped.is_empty(), ..head };
            let mut text: Vec<String> = doubt(&head).into_iter().collect();
            for file in &outlined {
                text.push(file.path.clone());
                lines(&file.symbols, 1, &mut text);
                if file.symbols.is_empty() {
                    text.push("  has no matching declarations".to_owned());
                }
            }
            if outlined.is_empty() {
                text.push(match count {
                    0 => format!("no file here is in a supported language: {}", Language::KNOWN),
                    1 => "the file has no matching declarations".to_owned(),
                    _ => format!("{count} files have no matching declarations"),
                });
            }
            if truncated {
                text.push(format!(
                    "the limit of {MAX_SYMBOLS} declarations or {MAX_FILES} files is reached: name a folder or file, \
                     or `match`"
                ));
            }
            Ok(Output { head, files: outlined, truncated, text })
        })
        .await
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "A file", arguments: json!({"path": "src/geo.rs"}), text: None }]
    }
}

/// The selection of declarations.
struct Filter {
    part: String,
    kinds: Vec<Kind>,
    depth: usize,
    left: usize,
    is_over: bool,
}

impl Filter {
    fn select(&mut self, language: Language, all: &[Declaration], lines: &Lines<'_>, depth: usize) -> Vec<Symbol> {
        let mut kept = Vec::new();
        let is_asked = !self.part.is_empty() || !self.kinds.is_empty();
        for one in all {
            let fits = one.name.to_lowercase().contains(&self.part)
                && (self.kinds.is_empty() || self.kinds.contains(&one.kind));
            // A namespace is transparent: its contents count as top-level.
            let is_namespace = one.kind == Kind::Module && language != Language::Rust;
            let inner = if is_namespace { depth } else { depth + 1 };
            // A requested declaration is found at any depth.
            let children = if inner <= self.depth || is_asked {
                self.select(language, &one.members, lines, inner)
            } else {
                Vec::new()
            };
            if !fits && children.is_empty() || !is_asked && depth > self.depth {
                continue;
            }
            if self.left == 0 {
                self.is_over = true;
                break;
            }
            self.left -= 1;
            let prefix = if one.within.is_empty() || one.kind == Kind::Impl {
                String::new()
            } else {
                format!("{}.", one.within.join("."))
            };
            kept.push(Symbol {
                kind: one.kind.word(),
                name: project::visible(&format!("{prefix}{}", one.name)),
                signature: project::visible(&one.signature),
                line: lines.line(one.at),
                end_line: lines.line(one.bytes.end.saturating_sub(1)),
                children,
            });
        }
        kept
    }
}

fn lines(symbols: &[Symbol], depth: usize, text: &mut Vec<String>) {
    for one in symbols {
        text.push(format!("{:indent$}{}  {}", "", one.line, one.signature, indent = depth * 2));
        lines(&one.children, depth + 1, text);
    }
}
