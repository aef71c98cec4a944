//! Hints for a GHCi without modules that runs next to loadable files.

use std::path::Path;

use serde_json::json;

use super::DEFAULT_SESSION;
use crate::session::SessionInfo;

/// The maximum number of entries read from a directory.
const MAX_ENTRIES: usize = 10_000;

/// Returns the call to make for a session that has loaded nothing, if there are sources in its directory.
pub(crate) fn load_hint(info: &SessionInfo) -> Option<String> {
    let files = sources(&info.cwd);
    let first = files.first()?;
    let mut arguments = json!({"targets": [first]});
    if info.name != DEFAULT_SESSION {
        arguments = json!({"session": info.name, "targets": [first]});
    }
    let others = match files.len() - 1 {
        0 => String::new(),
        count => format!(" ({count} more are here)"),
    };
    Some(format!("Nothing is loaded: repl_reload {arguments} loads {first}{others}."))
}

/// Returns the Haskell files of a directory, `Main.hs` first. Names that need quoting are left out.
fn sources(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).into_iter().flatten().take(MAX_ENTRIES).flatten();
    let is_plain = |c: char| c.is_alphanumeric() || "_.-'".contains(c);
    let is_source = |name: &String| {
        let stem = name.strip_suffix(".hs").or_else(|| name.strip_suffix(".lhs"));
        stem.is_some_and(|stem| !stem.is_empty() && !stem.starts_with(['.', '-'])) && name.chars().all(is_plain)
    };
    let mut files: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    files.retain(|name| is_source(name) && name != "Setup.hs");
    files.sort_by_key(|name| (name != "Main.hs", name.clone()));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_loaded() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["B.hs", "Main.hs", "A.lhs", ".hs", ".x.hs", "a b.hs", "\u{1b}.hs", "Setup.hs", "x.txt"] {
            std::fs::write(dir.path().join(name), "").expect("written");
        }
        assert_eq!(sources(dir.path()), ["Main.hs", "A.lhs", "B.hs"]);
        assert!(sources(&dir.path().join("nowhere")).is_empty());
    }
}
