//! Differences between language servers, as data: `profiles/*.toml`.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use syntax::{C_AND_CPP, Language, family};

/// A kind of language server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// Name of the server, and of its table in the settings.
    pub name: String,
    /// Family of languages that it judges. Languages of a family use each other's names.
    pub family: String,
    pub command: Vec<String>,
    /// Files to copy: the first one that exists at the root is copied into the server's private directory, `{own}` in
    /// its arguments.
    pub copies: Vec<String>,
    /// Command to use if none of these files exists.
    pub without_copies: Vec<String>,
    /// Marker files of a root directory, as relative paths.
    pub roots: Vec<String>,
    /// Features missing without a marker file, and how to get one.
    pub without_roots: Option<String>,
    /// Directories of a checkout that may contain the program, relative to the root.
    pub local: Vec<String>,
    pub signal: Signal,
    /// Extensions of files that other files include. The server detects their changes by size and a time in seconds;
    /// only documents opened after a change are certain to read them again.
    pub included: Vec<String>,
    /// True if the server caches texts by modification time alone and reuses them when a file is closed. A file with
    /// the modification time of an earlier text therefore stays open.
    pub keeps_by_time: bool,
    /// Project code that the server runs, as the end of a sentence. Such a server starts only in a trusted project.
    /// Otherwise the profile states why the server runs nothing.
    pub runs_code: Option<String>,
    /// Command with which a person installs the server.
    pub install: String,
    /// Description of the first load, and how long it takes.
    pub first_load: Option<String>,
    /// Section of its settings to send with `initialize`.
    pub options: Option<String>,
    /// First version that includes a language server.
    pub least: Option<u32>,
    /// Settings by section.
    pub settings: Map<String, Value>,
    /// Optional settings that let it judge more.
    pub wider: Option<Wider>,
    pub rules: Rules,
}

/// Differences between the languages of a family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// True if conditional compilation may exclude code, about which the server is then silent.
    pub has_conditions: bool,
    /// True if the references of a ready server include files that are not open.
    pub lists_all_files: bool,
    /// True if members override members of bases or implement interfaces.
    pub overrides: bool,
    /// Decorators and attributes that call nothing. A trailing `::` or `_` matches a prefix.
    pub inert: Vec<String>,
    /// Modules that define these decorators; an empty string for unqualified ones.
    pub modules: Vec<String>,
    /// Methods called by the language or its standard library.
    pub called: Vec<String>,
}

pub fn rules(family: &str) -> &'static Rules {
    static NONE: LazyLock<Rules> = LazyLock::new(Rules::default);
    all().iter().find(|profile| profile.family == family).map_or(&NONE, |profile| &profile.rules)
}

/// Extensions of files that no server reads.
const PROSE: &[&str] = &["adoc", "csv", "log", "md", "rst", "svg", "tsv"];

impl Profile {
    /// True if the contents of the file may change the server's answers. Prose and unrelated languages do not.
    pub fn may_read(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        // Go reads C headers for `import "C"`.
        let reads = |of: &str| of == self.family || self.family == family(Language::Go) && of == C_AND_CPP;
        let is_of_others = Language::by_name(path).is_some_and(|language| !reads(family(language)));
        !PROSE.contains(&extension) && !is_of_others
    }

    /// True if other files may include this file. Open documents are then reopened when it changes.
    pub fn is_included(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| self.included.iter().any(|one| one == extension))
    }
}

/// Settings with which a server judges more, if a check command succeeds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wider {
    /// The check command and its arguments, run at the root with the server's environment.
    pub if_succeeds: Vec<String>,
    /// Additional settings by section.
    pub settings: Map<String, Value>,
}

/// Signal by which a server reports that it has loaded everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// No signal.
    #[default]
    None,
    /// `experimental/serverStatus` with `quiescent`.
    Status,
    /// The end of the progress with this title or token.
    Progress(String),
}

/// Returns the built-in profiles. Within a family, the first is preferred.
pub fn all() -> &'static [Profile] {
    static ALL: LazyLock<Vec<Profile>> = LazyLock::new(|| {
        [
            // rust-analyzer would read a file of its name as its own settings.
            include_str!("profiles/rust_analyzer.toml"),
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

/// Returns the protocol's identifier of a language.
pub fn language_id(language: Language, extension: Option<&str>) -> &'static str {
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
