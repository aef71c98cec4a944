//! What a body includes: files of the folder of node files, named in quotes (`{% include "tone.md" %}`). They are read before the
//! template is compiled, so that a version of a node is all of its texts, and rendering reads nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{FILE_MAX, SUFFIX};

/// How many files a node may include, and those that it includes.
const MAX_PARTS: usize = 20;

/// The texts that a node includes, by the names of their files; of those that cannot be read, why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts(pub BTreeMap<String, Result<String, String>>);

impl Parts {
    /// All that a text includes. `read` gives the text of a file of the folder, or why there is none.
    pub(crate) fn gather(text: &str, read: impl Fn(&str) -> Result<String, String>) -> Parts {
        let mut parts = Parts::default();
        let (mut wanted, mut bytes) = (names(text), 0);
        while let Some(include) = wanted.pop() {
            let Ok(name) = include.name else { continue };
            if parts.0.contains_key(&name) {
                continue;
            }
            let read = match parts.0.len() < MAX_PARTS && bytes < FILE_MAX {
                true => read(&name),
                false => Err(format!("a node includes at most {MAX_PARTS} files and {FILE_MAX} bytes")),
            };
            if let Ok(text) = &read {
                bytes += text.len() as u64;
                wanted.extend(names(text));
            }
            parts.0.insert(name, read);
        }
        parts
    }

    /// The texts that there are.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, text)| Some((name.as_str(), text.as_deref().ok()?)))
    }

    /// A text that includes itself, if there is one.
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

/// An `include` in a text.
pub(super) struct Include {
    /// From 1.
    pub line: usize,
    /// The file, or what is wrong with how it is named.
    pub name: Result<String, String>,
}

/// What a text includes.
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
            "`include {}`: a body includes files NAME.md that lie beside the node files, each named in quotes, such as \
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
