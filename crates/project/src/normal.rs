//! Paths normalized by their text alone.

use std::path::{Component, Path, PathBuf};

/// Returns a path without `.` and `..`, by its text alone: no link is followed, and nothing need exist.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = normal.pop(),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_go() {
        let of = |path: &str| normal(Path::new(path)).display().to_string();
        assert_eq!(of("/a/./b/../c"), "/a/c");
        // There is nothing above the root.
        assert_eq!(of("/../a"), "/a");
        assert_eq!(of("a/../../b"), "b");
    }
}
