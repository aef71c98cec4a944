//! `cargo check` of a workspace, with the errors of all its packages and tests.

use std::path::Path;

use code::facts::Symbol;
use serde_json::Value;

use super::scratch::Scratch;
use super::{Compilation, CompilerError, Compiling, Order, nearest};

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

/// Parses the messages of `cargo check --message-format json`.
fn parse(output: &str, workspace: &Path, tree: &Path) -> Compilation {
    let mut found = Compilation::default();
    for message in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let diagnostic = &message["message"];
        let target = || format!("{} {}", message["target"]["kind"][0], message["target"]["name"]).replace('"', "");
        if message["reason"] == "compiler-artifact" && text(&message["package_id"]).starts_with("path+") {
            found.compiled.insert(target());
        } else if diagnostic["level"] == "error" {
            found.failed.insert(target());
            found.errors.extend(error(diagnostic, workspace, tree));
        }
    }
    found
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns an error in a file of the worktree.
fn error(diagnostic: &Value, workspace: &Path, tree: &Path) -> Option<CompilerError> {
    let mut span = diagnostic["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
    // The place that was written: the outermost use of the macros.
    while let Some(outer) = span["expansion"].get("span") {
        span = outer;
    }
    let number = |name: &str| usize::try_from(span[name].as_u64()?).ok();
    let code = diagnostic["code"]["code"].as_str().map(|code| format!("{code}: ")).unwrap_or_default();
    Some(CompilerError {
        file: workspace.join(text(&span["file_name"])).strip_prefix(tree).ok()?.to_owned(),
        line: number("line_start")?,
        column: number("column_start")?,
        message: format!("{code}{}", text(&diagnostic["message"]).lines().next().unwrap_or_default()),
    })
}
