//! ARCHITECTURE.md, AGENTS.md and docs/design are a map: every file and directory that they name must exist.

use std::path::Path;

use anyhow::{Context, Result};

const MAP: &str = "ARCHITECTURE.md";
/// Maximum length. A longer map would not be read.
const MAX_LINES: usize = 250;

/// Checks the map of the tree at `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let path = root.join(MAP);
    if !path.is_file() {
        return Ok(vec![format!("{MAP}: missing; the newcomer's map belongs at the root")]);
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {MAP}"))?;
    let mut complaints = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        complaints.push(format!("{MAP}: {lines} lines; keep it under {MAX_LINES}"));
    }
    let pages = std::fs::read_dir(root.join("docs/design")).into_iter().flatten().flatten();
    let pages = pages.map(|page| format!("docs/design/{}", page.file_name().to_string_lossy()));
    for page in [MAP.to_owned(), "AGENTS.md".to_owned()].into_iter().chain(pages) {
        let text = std::fs::read_to_string(root.join(&page)).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            for name in named_paths(line) {
                let is_there = ["", "crates"].iter().any(|base| root.join(base).join(name).exists());
                if !is_there {
                    complaints.push(format!("{page}:{}: names `{name}`, which is not there", index + 1));
                }
            }
        }
    }
    Ok(complaints)
}

/// Returns the repository paths that a line names in backticks: files by their extension, directories by a trailing
/// slash or their first component. Paths that exist only at run time (`~/`, `$VAR/`) do not count.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|name| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        let at_run_time = name.starts_with(['.', '/']);
        let is_file =
            name.contains('/') && [".rs", ".md", ".toml", ".py", ".mjs", ".sh"].iter().any(|end| name.ends_with(end));
        let is_dir = name.ends_with('/');
        // Not `tools/`: `tools/list` is a method of MCP.
        let is_ours = ["crates/", "tools/agents", "tools/bench", "tools/taskkit", "xtask/", "docs/", "fuzz/"]
            .iter()
            .any(|start| name.starts_with(start));
        plain && !at_run_time && (is_file || is_dir || is_ours)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_repository_count() {
        let line = "`tools/list` goes to `mcp/src/lib.rs`, `crates/repl`, `docs/`, `~/x/`, `hob.toml`";
        assert_eq!(named_paths(line).collect::<Vec<_>>(), ["mcp/src/lib.rs", "crates/repl", "docs/"]);
    }
}
