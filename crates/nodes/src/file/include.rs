//! Included files of a body: files in the folder of node files, with a quoted name (`{% include "tone.md" %}`). They are read
//! before the template is compiled. A version of a node thus covers all its texts, and rendering reads no files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{FILE_MAX, SUFFIX};

/// The maximum number of files that a node includes directly and indirectly.
const MAX_PARTS: usize = 20;

/// The included texts by file name, or the reason why a file cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts(pub BTreeMap<String, Result<String, String>>);

impl Parts {
    /// Reads all files that a text includes. `read` returns the text of a file in the folder, or the reason for failure.
    pub(crate) fn gather(text: &str, read: impl Fn(&str) -> Result<String, String>) -> Parts {
        let mut parts = Parts::default();
        let (mut wanted, mut bytes) = (names(text), 0);
        while let Some(include) = wanted.pop() {
            let Ok(name) = include.name else { continue };
            if parts.0.contains_key(&name) {
                continue;
            }
            let read = if parts.0.len() < MAX_PARTS && bytes < FILE_MAX {
                read(&name)
            } else {
                Err(format!("a node includes at most {MAX_PARTS} files and {FILE_MAX} bytes"))
            };
            if let Ok(text) = &read {
                bytes += text.len() as u64;
                wanted.extend(names(text));
            }
            parts.0.insert(name, read);
        }
        parts
    }

    /// Returns the texts that could be read.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, text)| Some((name.as_str(), text.as_deref().ok()?)))
    }

    /// Returns a file that includes itself, if any.
    pub(super) fn circle(&self) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|name| {
            let (mut wanted, mut seen) = (vec![*name], Vec::new());
            while let Some(at) = wanted.pop() {
                let text = self.0.get(at).and_then(|text| text.as_deref().ok()).unwrap_or_default();
                for next in names(text).into_iter().filter_map(|include| include.name.ok()) {
                    if next == *name {
                        return true;
                    }
                    let known = self.0.get_key_value(&next).map(|(next, _)| next.as_str());
                    wanted.extend(known.filter(|next| !seen.contains(next)));
                    seen.extend(known);
                }
            }
            false
        })
    }
}

/// An `include` tag.
pub(super) struct Include {
    /// The line, from 1.
    pub line: usize,
    /// The file, or the mistake in its name.
    pub name: Result<String, String>,
}

/// Returns the includes of a text.
pub(super) fn names(text: &str) -> Vec<Include> {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)\{%[-+]?\s*include\b(.*?)[-+]?%\}").expect("a pattern"));
    if !text.contains("include") {
        return Vec::new();
    }
    let include = |tag: regex::Captures<'_>| Include {
        line: 1 + text[..tag.get(0).map_or(0, |tag| tag.start())].matches('\n').count(),
        name: named(tag[1].trim()),
    };
    TAG.captures_iter(text).map(include).collect()
}

fn named(said: &str) -> Result<String, String> {
    let quoted = ['"', '\''].into_iter().find_map(|mark| said.strip_prefix(mark)?.strip_suffix(mark));
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = quoted.filter(|name| {
        let is_name = name.len() <= 64 && !name.starts_with('.') && name.chars().all(is_legal);
        is_name && name.ends_with(".md") && !name.ends_with(SUFFIX)
    });
    name.map(str::to_owned).ok_or_else(|| {
        format!(
            "`include {}`: a body includes files NAME.md from the folder of the node files, each in quotes, such as \
             {{% include \"tone.md\" %}}",
            project::visible(said)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_files_can_be_named() {
        let said = |text: &str| {
            let names = names(text).into_iter();
            names.map(|one| one.name.unwrap_or_else(|_| "-".to_owned())).collect::<Vec<_>>().join(" ")
        };
        for (text, wanted) in [
            ("{% include \"tone.md\" %} {%- include 'a-b_c.1.md' -%}", "tone.md a-b_c.1.md"),
            ("{% include \"../tone.md\" %}", "-"),
            ("{% include '/etc/passwd' %}", "-"),
            ("{% include 'sub/tone.md' %}", "-"),
            ("{% include '.hidden.md' %}", "-"),
            ("{% include 'other.node.md' %}", "-"),
            ("{% include name %}", "-"),
            ("{% include ['a.md', 'b.md'] %}", "-"),
            ("{% include 'a.md' ignore missing %}", "-"),
            ("we include nothing", ""),
        ] {
            assert_eq!(said(text), wanted, "{text}");
        }
    }
}
