//! What a search for source files does not see and a compiler does: files that git ignores one by one, links, and what
//! `include!` of Rust brings in. They are not searched; an answer says so where they may hold something of it.

use std::path::{Path, PathBuf};

use memchr::memmem::find_iter;

use crate::syntax::{Language, is_word};

/// The files and links of a directory that are source files by name.
pub(crate) fn beside(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()));
    files.map(|entry| entry.path()).filter(|path| !is_hidden(path) && Language::by_name(path).is_some()).collect()
}

/// What an `include!` brings in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Included {
    File(PathBuf),
    /// One whose place is computed, such as in `OUT_DIR`.
    Computed,
}

/// What the `include!` of a Rust file bring in. One in a comment at the begin of a line is none.
pub(crate) fn included(path: &Path, text: &[u8]) -> Vec<Included> {
    const MACRO: &[u8] = b"include!";
    let is_code = |at: &usize| {
        let line = text[..*at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let before = &text[line..*at];
        !before.trim_ascii_start().starts_with(b"//") && before.last().is_none_or(|byte| !is_word(*byte))
    };
    let read = |at: usize| {
        let rest = text[at + MACRO.len()..].trim_ascii_start();
        let rest = rest.strip_prefix(b"(").or(rest.strip_prefix(b"[")).or(rest.strip_prefix(b"{"));
        let named = rest?.trim_ascii_start().strip_prefix(b"\"").and_then(|rest| {
            let end = rest.iter().position(|byte| *byte == b'"')?;
            std::str::from_utf8(&rest[..end]).ok()
        });
        Some(named.map_or(Included::Computed, |name| Included::File(path.with_file_name(name))))
    };
    find_iter(text, MACRO).filter(is_code).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_read() {
        let text = b"include!(\"inc.in\");\n// include!(\"no\")\nmod m { include!(concat!(env!(\"OUT_DIR\"), \"/g.rs\")); }\nmy_include!(\"x\");\n";
        let file = Included::File(PathBuf::from("src/inc.in"));
        assert_eq!(included(Path::new("src/lib.rs"), text), [file, Included::Computed]);
    }
}
