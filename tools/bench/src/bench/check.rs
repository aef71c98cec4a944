//! `cargo xtask bench --check`: the age of the figures in `docs/generated`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use taskkit::workspace::root;

/// The line of a page that names the measured version.
const LINE: &str = "- hob: ";

/// Fails if a page of `bench` or `score` has figures of a version that is more than one release old.
pub(super) fn run() -> Result<()> {
    let folder = root().join("docs/generated");
    let current = release(env!("CARGO_PKG_VERSION")).context("this version is not a version")?;
    let mut old = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("could not read {folder:?}"))? {
        let path = entry?.path();
        if is_measured(&path) {
            let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {path:?}"))?;
            old.extend(fault(&text, current).map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    if old.is_empty() {
        return Ok(());
    }
    old.sort();
    bail!("measure these pages again, each with the command it names:\n{}", old.join("\n"))
}

/// Whether a page has figures of this program.
fn is_measured(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("bench") || name.starts_with("score")
}

/// Returns why a page's figures are too old, if they are.
fn fault(page: &str, current: (u32, u32)) -> Option<String> {
    let Some(version) = page.lines().find_map(|line| line.strip_prefix(LINE)) else {
        return Some(format!("the page has no line {LINE:?} with the measured version"));
    };
    match release(version) {
        Some((major, minor)) if major == current.0 && minor + 1 >= current.1 => None,
        _ => Some(format!("measured with {version}")),
    }
}

/// Parses major and minor version. Releases that differ in the patch version count as one.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_last_release_are_new_enough() {
        assert_eq!(fault("# Figures\n\n- hob: 0.4.2\n", (0, 4)), None);
        assert_eq!(fault("- hob: 0.3.0\n", (0, 4)), None);
        assert_eq!(fault("- hob: 0.2.9\n", (0, 4)).as_deref(), Some("measured with 0.2.9"));
        assert_eq!(fault("- hob: 0.9.0\n", (1, 0)).as_deref(), Some("measured with 0.9.0"));
        assert!(fault("# Figures\n", (0, 4)).expect("no version").contains("no line"));
    }
}
