//! What a search left out, or read in part, and why.

use std::path::PathBuf;

/// A file or folder that was not looked into, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skipped {
    pub path: PathBuf,
    pub why: Why,
    /// How often it mentions the name, as far as that is known.
    pub mentions: usize,
    /// The first and last lines of the parts that the grammar cannot read.
    pub lines: Vec<(usize, usize)>,
}

/// How many parts of a file are named, and how many files.
const MOST_PARTS: usize = 3;

impl Skipped {
    pub(crate) fn new(path: PathBuf, why: Why, mentions: usize) -> Skipped {
        Skipped { path, why, mentions, lines: Vec::new() }
    }

    /// `lines 87–96 of src/utils/body.ts`: the parts that the grammar cannot read.
    fn parts(&self) -> String {
        let part = |(first, last): &(usize, usize)| match first == last {
            true => first.to_string(),
            false => format!("{first}–{last}"),
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

/// `hob's grammar cannot read lines 87–96 of src/utils/body.ts`: the parts of files that were parsed in part.
pub(crate) fn unread_parts<'a>(skipped: impl IntoIterator<Item = &'a Skipped>) -> Option<String> {
    let mut all: Vec<&Skipped> = skipped.into_iter().filter(|one| !one.lines.is_empty()).collect();
    all.dedup_by(|one, other| one.path == other.path);
    let parts: Vec<String> = all.iter().take(MOST_PARTS).map(|one| one.parts()).collect();
    let more = all.len().saturating_sub(MOST_PARTS);
    let more = if more > 0 { format!(" and of {more} more files") } else { String::new() };
    (!parts.is_empty()).then(|| format!("hob's grammar cannot read {}{more}", parts.join(", ")))
}

/// Why something was not looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    TooLarge,
    Minified,
    Unreadable,
    TooSlow,
    OutOfTime,
    OverMemory,
    /// It was parsed in part; a language server reads all of it.
    Broken,
    /// It was parsed in part, and nothing else reads it for the answer.
    Unread,
    /// The watcher does not see it change, so the language server may not know it as it is.
    Ignored,
    Linked,
    Includes,
    /// A module of Rust in a folder that is not searched.
    Module,
    /// Of Go, or of C and C++.
    Assembly,
    /// Go that uses a name of C.
    ByCgo,
    /// JavaScript that uses what a module is without a name for it.
    Nameless,
    /// Code in a file of another kind.
    Embedded,
    /// A macro in it makes a function of that name where it is called.
    Makes,
}

impl Why {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Why::TooLarge => "larger than 2 MiB: searched as text, not parsed",
            Why::Minified => "a line longer than 20,000 bytes: searched as text, not parsed",
            Why::Unreadable => "unreadable",
            Why::TooSlow => "takes longer than 3 s to parse: searched as text",
            Why::OutOfTime => "out of time, after 10 s",
            Why::OverMemory => "not parsed: more than 256 MiB of files mention the name",
            Why::Broken | Why::Unread => "hob's grammar cannot read all of it",
            Why::Ignored => "mentions the name and is not searched, because .gitignore leaves it out",
            Why::Linked => "a link to a file that mentions the name: not followed",
            Why::Module => "a module that mentions the name, in a folder that is not searched",
            Why::Nameless => {
                "uses what the module exports without a name for it (`require(\"./m\")(1)`, `() => import(\"./m\")`)"
            }
            Why::ByCgo => "uses the name by cgo (`C.name`), which clangd does not read",
            Why::Assembly => "assembly that mentions the name: no language server reads it",
            Why::Embedded => {
                "mentions the name and is not searched, because no language server reads files of its kind"
            }
            Why::Makes => {
                "a macro in it makes a function of that name, where syntax does not see it: what calls the macro may define it"
            }
            Why::Includes => "brings in a file with include! or its kind that is not searched and mentions the name",
        }
    }

    /// Whether it is left out for all questions but those about its own language.
    pub(crate) fn is_of_its_language(self) -> bool {
        match self {
            Why::Ignored | Why::Linked | Why::Includes | Why::Module => true,
            Why::Assembly | Why::Embedded => true,
            Why::TooLarge | Why::Minified | Why::Unreadable | Why::TooSlow => false,
            Why::OutOfTime | Why::OverMemory | Why::Broken | Why::Unread | Why::Makes | Why::ByCgo | Why::Nameless => {
                false
            }
        }
    }
}
