//! Files that a search skipped or parsed in part, with the reason.

use std::path::PathBuf;

use syntax::text_enum::named;

/// A file or folder that was not searched completely.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skipped {
    pub path: PathBuf,
    pub why: Why,
    /// How often it mentions the name, if known.
    pub mentions: usize,
    /// The first and last lines of the parts that the grammar cannot parse.
    pub lines: Vec<(usize, usize)>,
}

/// How many parts of a file, and how many files, a text names.
const MOST_PARTS: usize = 3;

impl Skipped {
    pub(crate) fn new(path: PathBuf, why: Why, mentions: usize) -> Skipped {
        Skipped { path, why, mentions, lines: Vec::new() }
    }

    /// Formats the parts that the grammar cannot parse: `lines 87–96 of src/utils/body.ts`.
    fn parts(&self) -> String {
        let part = |(first, last): &(usize, usize)| {
            if first == last { first.to_string() } else { format!("{first}–{last}") }
        };
        let word = match &self.lines[..] {
            [(first, last)] if first == last => "line",
            _ => "lines",
        };
        let parts: Vec<String> = self.lines.iter().take(MOST_PARTS).map(part).collect();
        let more = if self.lines.len() > MOST_PARTS { ", …" } else { "" };
        format!("{word} {}{more} of {}", parts.join(", "), project::visible::path(&self.path))
    }
}

/// Formats the unparsed parts of all files: `hob's grammar cannot read lines 87–96 of src/utils/body.ts`.
pub(crate) fn unread_parts<'a>(skipped: impl IntoIterator<Item = &'a Skipped>) -> Option<String> {
    let mut all: Vec<&Skipped> = skipped.into_iter().filter(|one| !one.lines.is_empty()).collect();
    all.dedup_by(|one, other| one.path == other.path);
    let parts: Vec<String> = all.iter().take(MOST_PARTS).map(|one| one.parts()).collect();
    let more = all.len().saturating_sub(MOST_PARTS);
    let more = if more > 0 { format!(" and of {more} more files") } else { String::new() };
    (!parts.is_empty()).then(|| format!("hob's grammar cannot read {}{more}", parts.join(", ")))
}

named! {
    /// The reason why a file was not searched completely.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Why by describe {
        TooLarge = "larger than 2 MiB: searched as text, not parsed",
        Minified = "a line longer than 20,000 bytes: searched as text, not parsed",
        Unreadable = "unreadable",
        TooSlow = "takes longer than 3 s to parse: searched as text",
        OutOfTime = "out of time, after 10 s",
        OverMemory = "not parsed: more than 256 MiB of files mention the name",
        /// It was parsed in part; a language server reads the whole file.
        Broken = "hob's grammar cannot read all of it",
        /// It was parsed in part, and no language server read it for this answer.
        Unread = "hob's grammar cannot read all of it",
        /// The watcher does not report its changes, so the language server may have an old version.
        Ignored = "mentions the name and is not searched, because .gitignore leaves it out",
        Linked = "a link to a file that mentions the name: not followed",
        /// Assembly of Go, C or C++.
        Assembly = "assembly that mentions the name: no language server reads it",
        /// Go code that uses a name of C.
        ByCgo = "uses the name by cgo (`C.name`), which clangd does not read",
        /// JavaScript that uses a module's export without naming it.
        Nameless = "uses what the module exports without a name for it (`require(\"./m\")(1)`, `() => import(\"./m\")`)",
        /// Code embedded in a file of another kind.
        Embedded = "mentions the name and is not searched, because no language server reads files of its kind",
        /// A macro in the file defines a function of that name where it is called.
        Makes = "a macro in it makes a function of that name, where syntax does not see it: what calls the macro may define it",
    }
}

impl Why {
    /// True if the file matters only to questions about its own language.
    pub(crate) fn is_of_its_language(self) -> bool {
        matches!(self, Why::Ignored | Why::Linked | Why::Assembly | Why::Embedded)
    }
}
