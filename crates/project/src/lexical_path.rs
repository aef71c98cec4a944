//! Lexical normalization of paths.

use std::path::{Component, Path, PathBuf};

/// Returns a path without `.` and `..`, lexically: no link is followed, and the path need not exist.
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
        // The root has no parent.
        assert_eq!(of("/../a"), "/a");
        assert_eq!(of("a/../../b"), "b");
    }
}
