//! Module cycles: two top-level modules of a crate that use each other are one module, or hide a third below both.
//!
//! Paths are read as text, starting with `crate::`. Paths that start with `super::` stay within their module. Tests may
//! use the code they test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::sources::tests_start;

/// Cycles with a reason. Remove a pair when its cycle is gone.
const KNOWN: &[(&str, &str, &str)] = &[
    // `Repl` owns the published state, and publishing is its method.
    ("repl", "resources", "sessions"),
];

/// The modules used by each top-level module of a crate.
#[derive(Default)]
pub(super) struct Uses(BTreeMap<(String, String), BTreeSet<String>>);

impl Uses {
    /// Adds the uses in one file; `file` is relative to the root.
    pub(super) fn add(&mut self, file: &Path, text: &str) {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
        let ["crates", krate, "src", top, ..] = parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>()[..] else {
            return;
        };
        let top = top.strip_suffix(".rs").unwrap_or(top);
        if matches!(top, "lib" | "main") {
            return;
        }
        let before_tests = text.lines().take(tests_start(file, text));
        let code: Vec<&str> = before_tests.filter(|line| !line.trim_start().starts_with("//")).collect();
        let used = self.0.entry((krate.to_owned(), top.to_owned())).or_default();
        used.extend(used_modules(&code.join("\n")).filter(|module| *module != top).map(str::to_owned));
    }

    /// Reports each unknown cycle, and each known one that no longer exists.
    pub(super) fn check(&self) -> Vec<String> {
        let found: BTreeSet<(&str, &str, &str)> = self
            .0
            .iter()
            .flat_map(|((krate, a), used)| used.iter().map(move |b| (krate.as_str(), a.as_str(), b.as_str())))
            .filter(|(krate, a, b)| {
                let back = self.0.get(&((*krate).to_owned(), (*b).to_owned()));
                a < b && back.is_some_and(|used| used.contains(*a))
            })
            .collect();
        let known: BTreeSet<_> = KNOWN.iter().copied().collect();
        let new = found.difference(&known).map(|(krate, a, b)| {
            format!("crates/{krate}/src: `{a}` and `{b}` use each other; move what both need below them, or into one of them")
        });
        let exists = |krate: &str, module: &str| self.0.contains_key(&(krate.to_owned(), module.to_owned()));
        let gone = known.difference(&found).filter(|(krate, a, b)| exists(krate, a) && exists(krate, b)).map(|(krate, a, b)| {
            format!(
                "xtask/src/tidy/circles.rs: `{a}` and `{b}` of {krate} use each other no longer: take them from KNOWN"
            )
        });
        new.chain(gone).collect()
    }
}

/// Returns the modules that a text names after `crate::`, alone or in braces.
fn used_modules(code: &str) -> impl Iterator<Item = &str> {
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => top_level(list),
            None => vec![rest],
        })
        .map(|path| path.trim_start())
        .map(|path| {
            path.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '_').next().unwrap_or("")
        })
        .filter(|name| !name.is_empty())
}

/// Returns the members of a list in braces.
fn top_level(list: &str) -> Vec<&str> {
    let (mut members, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                members.push(&list[from..at]);
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn complaints(files: &[(&str, &str)]) -> String {
        let mut uses = Uses::default();
        files.iter().for_each(|(file, text)| uses.add(Path::new(file), text));
        uses.check().into_iter().filter(|line| line.contains("crates/made")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn two_modules_that_use_each_other_are_named() {
        let said = complaints(&[
            ("crates/made/src/a/mod.rs", "//! A.\nuse crate::{b::{One, Two}, c};\n"),
            ("crates/made/src/b.rs", "//! B.\nfn f() -> crate::a::Thing {}\n"),
            (
                "crates/made/src/c.rs",
                "//! C, which is not `crate::a`.\n// crate::a\n\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
            ),
            ("crates/made/src/lib.rs", "//! All.\nmod a;\nuse crate::a;\n"),
        ]);
        expect![["crates/made/src: `a` and `b` use each other; move what both need below them, or into one of them"]]
            .assert_eq(&said);
    }
}
