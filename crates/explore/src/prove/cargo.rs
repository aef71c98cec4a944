//! `cargo check` of a workspace, with the errors of all its packages and tests.

use std::path::{Path, PathBuf};

use code::facts::Symbol;
use serde::Deserialize;

use super::scratch::Scratch;
use super::{Compilation, CompilerError, Compiling, Order, nearest};

/// A message of cargo (`cargo check --message-format json`).
#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-message")]
    Diagnosed { target: Target, message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Built { target: Target, package_id: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Target {
    fn label(&self) -> String {
        format!("{} {}", self.kind.join(","), self.name)
    }
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    code: Option<Code>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: PathBuf,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Span {
    /// Returns the place that was written: the outermost use of the macros.
    fn written(&self) -> &Span {
        self.expansion.as_ref().map_or(self, |expansion| expansion.span.written())
    }
}

pub(super) async fn compile(
    compiling: &Compiling,
    order: &Order<'_>,
    scratch: &Scratch,
    symbol: &Symbol,
) -> Result<Compilation, String> {
    let package = nearest(order.root, &symbol.file, "Cargo.toml").ok_or("no Cargo.toml was found")?;
    let package = scratch.tree.join(package);
    let locate = ["cargo", "locate-project", "--workspace", "--message-format", "plain"];
    let manifest = compiling.run(order, &package, &locate, &[]).await?;
    let workspace = Path::new(manifest.trim()).parent().unwrap_or(&package).to_owned();
    let check = ["cargo", "check", "--workspace", "--all-targets", "--keep-going", "--message-format", "json"];
    let output = compiling.run(order, &package, &check, &[("CARGO_TARGET_DIR", &scratch.output)]).await?;
    Ok(parse(&output, &workspace, &scratch.tree))
}

fn parse(output: &str, workspace: &Path, tree: &Path) -> Compilation {
    let mut found = Compilation::default();
    for message in output.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match message {
            Message::Built { target, package_id } if package_id.starts_with("path+") => {
                found.compiled.insert(target.label());
            }
            Message::Diagnosed { target, message } if message.level == "error" => {
                found.failed.insert(target.label());
                let Some(span) = message.spans.iter().find(|span| span.is_primary) else { continue };
                let span = span.written();
                let path = workspace.join(&span.file_name);
                let Ok(file) = path.strip_prefix(tree) else { continue };
                let code = message.code.map(|code| format!("{}: ", code.code)).unwrap_or_default();
                found.errors.insert(CompilerError {
                    file: file.to_owned(),
                    line: span.line_start,
                    column: span.column_start,
                    message: format!("{code}{}", message.message.lines().next().unwrap_or_default()),
                });
            }
            _ => {}
        }
    }
    found
}
