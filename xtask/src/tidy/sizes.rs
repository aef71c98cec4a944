//! Limits on the lines of folders, so that a part that was simplified does not grow again unnoticed.

use std::collections::BTreeMap;
use std::path::Path;

use super::sources::tests_start;

/// Folders, and the maximum number of their lines. Unit tests do not count; in a folder of tests every line does.
const LIMITS: &[(&str, usize)] = &[
    ("crates/code/src", 17_000),
    ("crates/code/src/verdict", 3_000),
    ("crates/code/tests", 9_000),
    ("crates/daemon/src/parts", 2_000),
    ("crates/hob/tests/it", 9_000),
    ("xtask", 5_000),
];

/// The lines counted for each folder.
#[derive(Default)]
pub(super) struct Sizes(BTreeMap<&'static str, usize>);

impl Sizes {
    /// Adds one file; `file` is relative to the root.
    pub(super) fn add(&mut self, file: &Path, text: &str) {
        for (folder, _) in LIMITS.iter().filter(|(folder, _)| file.starts_with(folder)) {
            let is_tests = folder.split('/').any(|name| name == "tests");
            let lines = if is_tests { text.lines().count() } else { tests_start(file, text) };
            *self.0.entry(folder).or_default() += lines;
        }
    }

    pub(super) fn check(&self) -> Vec<String> {
        let too_large = |(folder, limit): &(&'static str, usize)| {
            let lines = *self.0.get(folder)?;
            (lines > *limit).then(|| {
                format!("{folder}: {lines} lines; the limit is {limit}: simplify, or move what does not belong here")
            })
        };
        LIMITS.iter().filter_map(too_large).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_too_large_is_reported() {
        let mut sizes = Sizes::default();
        sizes.add(Path::new("crates/daemon/src/parts/mail.rs"), &"let a = 1;\n".repeat(2_000));
        sizes.add(Path::new("crates/daemon/src/lib.rs"), &"let a = 1;\n".repeat(2_000));
        assert!(sizes.check().is_empty());
        sizes.add(Path::new("crates/daemon/src/parts/ask.rs"), "let a = 1;\n\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(
            sizes.check(),
            ["crates/daemon/src/parts: 2002 lines; the limit is 2000: simplify, or move what does not belong here"]
        );
    }
}
