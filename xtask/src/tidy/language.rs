//! Measures the language: idioms in comments, names that say nothing, long sentences and pages, and commit subjects.
//!
//! `docs/style.md` explains the rules. Structural rules for files are in the sibling module `sources`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use taskkit::workspace;

use super::modules::module_name;
use super::prose;

/// Idioms of a private dialect, with the plain wording. `*` stands for any word.
const IDIOMS: &[(&str, &str)] = &[
    ("is none", "say `invalid`, `missing` or `unknown`"),
    ("is no *", "say `is not a …` or `invalid …`"),
    ("has none", "say `has no …` or `lacks …`"),
    ("is away", "say `is unavailable` or `is disconnected`"),
    ("are away", "say `are unavailable` or `are disconnected`"),
    ("by itself", "say `automatically`, or name what does it"),
    ("whoever", "name the caller, agent or person"),
    ("whom", "name the caller, agent or person"),
    ("so many", "give the number or name the limit"),
    ("but for", "say `except`"),
    ("as far as", "say `up to` or `if`"),
    ("of its own", "say `its own …` or `separate`"),
    ("of their own", "say `their own …` or `separate`"),
    ("what is", "name the thing"),
    ("what it", "name the thing"),
    ("what stands", "name the thing"),
    ("what has", "name the thing"),
    ("what comes", "name the thing"),
    ("what was", "name the thing"),
    ("what they", "name the things"),
    ("what a", "name the thing"),
    ("what the", "name the thing"),
    ("for good", "say `permanently`"),
    ("in vain", "say `without success` or `needlessly`"),
    ("anew", "say `again`"),
    ("beside", "say `next to`, `besides` or `in addition to`"),
    ("nobody", "say `no caller`, `no agent` or `no one`"),
    ("there is no", "say what is missing"),
];

/// Idioms that a crate may have in 1,000 comment lines.
const MAX_IDIOMS: usize = 15;

/// Types named by a bare participle or pronoun. A reader cannot search for them.
const FORBIDDEN_TYPES: &[&str] = &[
    "Said", "Found", "Asked", "Known", "Given", "Kept", "Held", "Told", "Seen", "Judged", "Place", "Standing",
    "Wanted", "Shown", "Meant", "Taken", "Made", "Read", "Heard", "Left", "Gone", "Ended", "Answered", "Called",
    "Named", "Started", "Written", "Done", "Sent", "Put", "Got", "Stated", "Claimed", "Settled", "Around", "Beside",
    "Means", "What", "Who", "Whose", "Which",
];

/// Functions named by a participle, a preposition or a noun that says nothing.
const FORBIDDEN_FUNCTIONS: &str = "\
    said shown of words told known given held kept asked found seen one wanted meant above among apart around aside \
    away behind besides brought doomed elsewhere gave goes_by going_by having heard hears here inside instead knows \
    lacks lasts lives near nowhere others outside over restless speaks taken there through twice under upward \
    upwards wants";

/// Modules named by a participle, a preposition or a noun that says nothing.
const FORBIDDEN_MODULES: &str = "\
    anew announced announcing answering anything around asked beside breaker called canary changed deciding declared \
    described earlier elsewhere examine expanded feeding gather handed hands here ignored in_force in_test in_time \
    in_turns inside joined judged keep keeping kept ladder late lingering look looks naming near newer observed \
    observing of_branch outside pacing place places printed reading reads resumed resuming rooms running seat served \
    settling short shortened skipped slowing standing suspended syncing telling tried typed under_way unread \
    unsearched upkeep wants words would written";

/// Characters of a commit's subject.
const MAX_SUBJECT: usize = 72;

/// Collects comments and names of all Rust files; idioms are limited by crate.
#[derive(Default)]
pub(crate) struct Language {
    crates: BTreeMap<String, Comments>,
    complaints: Vec<String>,
}

#[derive(Default)]
struct Comments {
    lines: usize,
    idioms: Vec<String>,
}

impl Language {
    /// Adds one file, whose path is relative to the root.
    pub(crate) fn add(&mut self, file: &Path, text: &str) {
        let depth = if ["crates", "tools"].iter().any(|dir| file.starts_with(dir)) { 2 } else { 1 };
        let name: Vec<_> = file.iter().take(depth).map(|part| part.to_string_lossy()).collect();
        let comments = self.crates.entry(name.join("/")).or_default();
        let module = module_name(file);
        if is_listed(FORBIDDEN_MODULES, &module) {
            let plain = "a noun for its contents";
            self.complaints.push(format!("{}: the module `{module}`: rename it to {plain}", file.display()));
        }
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.starts_with("//") {
                comments.lines += 1;
                let idioms = idioms(line);
                comments
                    .idioms
                    .extend(idioms.map(|(idiom, plain)| format!("{}:{number}: `{idiom}`: {plain}", file.display())));
            } else if let Some((kind, name, plain)) = forbidden_name(line) {
                self.complaints.push(format!("{}:{number}: the {kind} `{name}`: rename it to {plain}", file.display()));
            }
        }
    }

    /// Returns the complaints about all added files. A crate within its limit has no complaints about idioms.
    pub(crate) fn check(self) -> Vec<String> {
        let mut complaints = self.complaints;
        for (name, comments) in self.crates {
            let rate = comments.idioms.len() * 1000 / comments.lines.max(1);
            if rate > MAX_IDIOMS {
                complaints.extend(comments.idioms);
                complaints.push(format!(
                    "{name}: {rate} idioms in 1,000 comment lines; the limit is {MAX_IDIOMS}: rewrite the lines above"
                ));
            }
        }
        complaints
    }
}

/// Returns the idioms of a comment line with their plain wording.
fn idioms(line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let words = tokens(line);
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < words.len() {
            let rest = &words[at..];
            if let Some((idiom, plain)) = IDIOMS.iter().find(|(idiom, _)| starts_with(rest, idiom)) {
                at += idiom.split(' ').count();
                return Some((*idiom, *plain));
            }
            at += 1;
        }
        None
    })
}

fn starts_with(words: &[String], idiom: &str) -> bool {
    let is_word = |word: &String| word.starts_with(char::is_alphanumeric);
    idiom.split(' ').enumerate().all(|(index, part)| {
        words.get(index).is_some_and(|word| if part == "*" { is_word(word) } else { word == part })
    })
}

/// Splits a line into lowercase words and single punctuation characters.
fn tokens(line: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in line.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if is_word && in_word => last.extend(c.to_lowercase()),
            _ if !c.is_whitespace() => tokens.push(c.to_lowercase().to_string()),
            _ => {}
        }
        in_word = is_word;
    }
    tokens
}

/// True if a list of words, separated by blanks, has the name.
fn is_listed(list: &str, name: &str) -> bool {
    list.split(' ').any(|word| word == name)
}

/// Returns the kind, the name and the replacement for a declaration with a forbidden name.
fn forbidden_name(line: &str) -> Option<(&'static str, &str, &'static str)> {
    let mut words = line.split(|c: char| c.is_whitespace() || "<({;:=".contains(c)).filter(|word| !word.is_empty());
    loop {
        match words.next()? {
            "struct" | "enum" | "trait" | "union" => {
                let name = words.next()?;
                return FORBIDDEN_TYPES.contains(&name).then_some(("type", name, "a noun of the domain"));
            }
            "fn" => {
                let name = words.next()?;
                let plain = "a verb, or to `new`, `from_…`, `parse`";
                return is_listed(FORBIDDEN_FUNCTIONS, name).then_some(("function", name, plain));
            }
            "pub" | "crate)" | "super)" | "in" | "async" | "const" | "unsafe" | "extern" | "\"C\"" => {}
            _ => return None,
        }
    }
}

/// Checks the pages for users below `root`, and the changelog.
pub(crate) fn check_pages(root: &Path) -> Result<Vec<String>> {
    let mut pages = vec!["README.md".to_owned()];
    for dir in ["docs", "docs/guide", "docs/agents"] {
        let entries = std::fs::read_dir(root.join(dir)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        pages.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{dir}/{name}")));
    }
    pages.retain(|page| root.join(page).is_file());
    pages.sort();
    let read = |page: &str| std::fs::read_to_string(root.join(page)).with_context(|| format!("could not read {page}"));
    let mut complaints = Vec::new();
    for page in pages {
        complaints.extend(prose::check(&page, &read(&page)?));
    }
    if root.join("CHANGELOG.md").is_file() {
        complaints.extend(prose::check_changelog("CHANGELOG.md", &read("CHANGELOG.md")?));
    }
    Ok(complaints)
}

/// Checks the subjects of commits that are not on the upstream branch. Without an upstream nothing is checked.
pub(crate) fn check_commits(root: &Path) -> Vec<String> {
    let mut git = Command::new("git");
    let log = ["log", "--no-merges", "--format=%h %s", "@{upstream}..HEAD"];
    let subjects = workspace::read(git.current_dir(root).args(log)).unwrap_or_default();
    subjects.lines().filter_map(check_subject).collect()
}

/// Checks one line of the log: an abbreviated id and a subject.
fn check_subject(line: &str) -> Option<String> {
    let (id, subject) = line.split_once(' ')?;
    let length = subject.chars().count();
    if tokens(subject).iter().any(|word| word == "wip") {
        return Some(format!("commit {id}: `wip` in its subject; `git rebase -i @{{upstream}}` and say what it does"));
    }
    (length > MAX_SUBJECT).then(|| {
        format!(
            "commit {id}: a subject of {length} characters; the limit is {MAX_SUBJECT}: shorten it, give reasons in the body"
        )
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn complaints(file: &str, text: &str) -> String {
        let mut language = Language::default();
        language.add(Path::new(file), text);
        language.check().join("\n")
    }

    #[test]
    fn idioms_are_limited_per_crate_and_listed_with_the_plain_wording() {
        let bad = "// Whoever asks, what is\nlet nobody = 1;\n// of it is no secret, but for `x`\n";
        expect![[r#"
            crates/a/src/lib.rs:1: `whoever`: name the caller, agent or person
            crates/a/src/lib.rs:1: `what is`: name the thing
            crates/a/src/lib.rs:3: `is no *`: say `is not a …` or `invalid …`
            crates/a/src/lib.rs:3: `but for`: say `except`
            crates/a: 2000 idioms in 1,000 comment lines; the limit is 15: rewrite the lines above"#]]
        .assert_eq(&complaints("crates/a/src/lib.rs", bad));
        let rare = format!("{}// Nobody.\n", "// Plain.\n".repeat(80));
        assert_eq!(complaints("crates/a/src/lib.rs", &rare), "");
        assert_eq!(complaints("xtask/src/main.rs", "// It is: no, besides.\n"), "");
    }

    #[test]
    fn participles_and_pronouns_name_no_types_functions_or_modules() {
        let text = "pub(crate) struct Said<T>(T);\nstruct Saidly;\n    pub async fn of(a: u8) {}\nfn offer() {}\n\
                    impl Said<u8> {}\nlet type_of = fn_of(Place);\n";
        expect![[r#"
            fuzz/a.rs:1: the type `Said`: rename it to a noun of the domain
            fuzz/a.rs:3: the function `of`: rename it to a verb, or to `new`, `from_…`, `parse`"#]]
        .assert_eq(&complaints("fuzz/a.rs", text));
        let module = "crates/a/src/kept/mod.rs: the module `kept`: rename it to a noun for its contents";
        assert_eq!(complaints("crates/a/src/kept/mod.rs", "//! A."), module);
        assert_eq!(complaints("crates/a/src/kept/store.rs", "//! A."), "");
    }

    #[test]
    fn subjects_are_short_and_final() {
        assert_eq!(check_subject("abc mail: wake a waiter; wiping is fine"), None);
        assert!(check_subject("abc mail: WIP").is_some_and(|complaint| complaint.contains("`wip`")));
        assert!(check_subject(&format!("abc {}", "a".repeat(73))).is_some_and(|complaint| complaint.contains("73")));
    }
}
