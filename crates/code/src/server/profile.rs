//! What differs between servers, as data: `profiles/*.toml`.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::syntax::{C_AND_CPP, Language, family};

/// A kind of server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// Also the name of its table in the settings.
    pub name: String,
    /// The languages that it judges, which use each other's names.
    pub family: String,
    pub command: Vec<String>,
    /// The first of these files that there is at the root is copied into a directory of the server's own, `{own}` in its
    /// arguments.
    #[serde(default)]
    pub copies: Vec<String>,
    /// The command where there is none of them.
    #[serde(default)]
    pub without_copies: Vec<String>,
    /// Files that mark a directory as the root of what it reads; paths from there.
    pub roots: Vec<String>,
    /// What is less without any of them, and where to get one.
    pub without_roots: Option<String>,
    /// Where a checkout may bring one, from the root.
    #[serde(default)]
    pub local: Vec<String>,
    pub signal: Signal,
    /// The extensions of files that others include, and of whose change it knows by size and time in seconds: only what is opened
    /// after it surely reads them anew.
    #[serde(default)]
    pub included: Vec<String>,
    /// Whether it keeps what it read by a file's time of change alone, and takes it up again when the file is closed: what has
    /// that of an earlier text stays open.
    #[serde(default)]
    pub keeps_by_time: bool,
    /// What it runs of the project, as the rest of a sentence: it is started only where the person trusts the project. Without it,
    /// the profile says why it runs nothing.
    pub runs_code: Option<String>,
    /// What a person runs to get it.
    pub install: String,
    /// What its first load does, and how long that takes.
    pub first_load: Option<String>,
    /// The section of its settings that it takes with `initialize`.
    pub options: Option<String>,
    /// The first version that is a server.
    pub least: Option<u32>,
    /// By section.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// What it may judge besides.
    pub wider: Option<Wider>,
    #[serde(default)]
    pub rules: Rules,
}

/// What differs between the languages that servers judge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rules {
    /// Whether a condition may leave code out, about which the server is silent then.
    pub has_conditions: bool,
    /// Whether members override those of bases or implement those of interfaces.
    pub overrides: bool,
    /// Decorators and attributes that call nothing; with `::` or `_` at the end whatever begins so.
    pub inert: Vec<String>,
    /// The modules that inert decorators are of; an empty one for what stands alone.
    pub modules: Vec<String>,
    /// Methods that the language or its own libraries call.
    pub called: Vec<String>,
}

/// The rules of a family of languages.
pub(crate) fn rules(family: &str) -> &'static Rules {
    static NONE: Rules =
        Rules { has_conditions: false, overrides: false, inert: Vec::new(), modules: Vec::new(), called: Vec::new() };
    all().iter().find(|profile| profile.family == family).map_or(&NONE, |profile| &profile.rules)
}

/// Extensions of files that no judge reads.
const PROSE: &[&str] = &["adoc", "csv", "log", "md", "rst", "svg", "tsv"];

impl Profile {
    /// Whether what a file holds may change what it says: no prose does, and no other language.
    pub(crate) fn may_read(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        // Go reads headers of C for what `import "C"` gives.
        let reads = |of: &str| of == self.family || self.family == family(Language::Go) && of == C_AND_CPP;
        let is_of_others = Language::by_name(path).is_some_and(|language| !reads(family(language)));
        !PROSE.contains(&extension) && !is_of_others
    }

    /// Whether others may include a file, so that what is open is opened anew when it changes.
    pub(crate) fn is_included(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| self.included.iter().any(|one| one == extension))
    }
}

/// Settings with which a server judges more, where a program says that it can.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wider {
    /// The program and its arguments, run at the root with the server's environment.
    pub if_succeeds: Vec<String>,
    /// By section; they join the others.
    pub settings: Map<String, Value>,
}

/// How it says that it has read everything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Signal {
    /// It does not.
    None,
    /// `experimental/serverStatus`, quiescent.
    Status,
    /// The end of the progress with this title or token.
    Progress(String),
}

/// The built-in ones, the first of a family being the first that is looked for.
pub(crate) fn all() -> &'static [Profile] {
    static ALL: LazyLock<Vec<Profile>> = LazyLock::new(|| {
        [
            include_str!("profiles/rust-analyzer.toml"),
            include_str!("profiles/ty.toml"),
            include_str!("profiles/tsc.toml"),
            include_str!("profiles/gopls.toml"),
            include_str!("profiles/clangd.toml"),
            include_str!("profiles/ghc.toml"),
        ]
        .into_iter()
        .map(|text| toml::from_str(text).expect("the built-in profiles are read by a test"))
        .collect()
    });
    &ALL
}

/// What the protocol calls a language.
pub(crate) fn language_id(language: Language, extension: Option<&str>) -> &'static str {
    match language {
        Language::Rust => "rust",
        Language::Python => "python",
        Language::TypeScript => "typescript",
        Language::Tsx => "typescriptreact",
        Language::JavaScript if extension == Some("jsx") => "javascriptreact",
        Language::JavaScript => "javascript",
        Language::Go => "go",
        Language::C => "c",
        Language::Cpp => "cpp",
        Language::Haskell => "haskell",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_server_reads() {
        let [rust, .., clangd, _] = all() else { panic!("{:?}", all()) };
        let read = |profile: &Profile| -> Vec<&str> {
            let files = ["a.rs", "a.py", "a.h", "README.md", "out.log", "Cargo.toml", "compile_flags.txt", "a.inc"];
            files.into_iter().filter(|file| profile.may_read(Path::new(file))).collect()
        };
        assert_eq!(read(rust), ["a.rs", "Cargo.toml", "compile_flags.txt", "a.inc"]);
        assert_eq!(read(clangd), ["a.h", "Cargo.toml", "compile_flags.txt", "a.inc"]);
    }

    #[test]
    fn the_built_in_profiles_are_whole() {
        let names: Vec<&str> = all().iter().map(|profile| profile.name.as_str()).collect();
        assert_eq!(names, ["rust-analyzer", "ty", "tsc", "gopls", "clangd", "ghc"]);
        for profile in all() {
            assert!(!profile.command.is_empty() && !profile.roots.is_empty(), "{}", profile.name);
            let options = profile.options.as_ref();
            assert!(options.is_none_or(|section| profile.settings.contains_key(section)), "{}", profile.name);
        }
    }
}
