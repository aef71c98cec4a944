//! Profiles, the data about each kind of REPL: how to start it, which projects it fits, which driver controls it.
//!
//! A profile is a small TOML file. The built-in ones are in `builtin/`; [`Profiles::add`] reads those of a user or a
//! project. The caller decides if a project may supply commands to run; an untrusted profile is known by name only.
//! `detect` picks a profile for a directory.

mod components;
mod detect;
mod error;
mod package_list;
mod packages;
mod pattern;
mod resolve;
mod samples;
mod virtual_environment;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::prompt::PromptTable;
use crate::adapter::terminal::TerminalTable;
use serde::Deserialize;

pub(crate) use components::{Component, components, descriptions};
pub use detect::{Detected, program_path};
pub use error::ProfileError;
pub use package_list::NoList;
pub use samples::Samples;
pub use virtual_environment::of_directory;
pub(crate) use virtual_environment::{Interpreter, Search};

/// The code that controls the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverKind {
    /// A prompt function compiled in GHCi.
    Ghci,
    /// A bootstrap inside Python.
    Python,
    /// A prompt command in bash.
    Bash,
    /// A driver inside Node.
    Node,
    /// None: the profile's `prompt` table has what hob needs to know.
    Prompt,
    /// None: the program runs on a terminal, and callers see its screen.
    Terminal,
}

/// One kind of REPL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name that tools and configuration use: the file's name or the table's key.
    #[serde(skip)]
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub title: String,
    /// The language, in lower case.
    #[serde(default)]
    pub language: String,
    pub driver: DriverKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Other programs that must be installed.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Files that make a directory, and everything below it, a project of this kind; `*` matches anything.
    #[serde(default)]
    pub detect: Vec<String>,
    /// Files that suggest this profile if no directory upwards is a project of any kind.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The lowest rank wins if several profiles fit.
    #[serde(default = "default_rank")]
    pub rank: u32,
    /// Arguments added to the command to limit the program's memory from within. `{mib}` stands for the limit,
    /// `{nursery}` for the size, also in MiB, of a generational collector's nursery.
    #[serde(default)]
    pub memory: Vec<String>,
    /// Variables added to the session's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The time limit for the first prompt.
    #[serde(default = "default_start_timeout_ms")]
    pub start_timeout_ms: u64,
    /// Arguments added to the command to choose a component of the project; `{component}` stands for its name. Without
    /// them, the program has no components.
    #[serde(default)]
    pub component: Vec<String>,
    /// True if the project's own virtual environment precedes the command; see `virtual_environment`.
    #[serde(default)]
    pub virtual_environments: bool,
    /// The way the program is driven by its prompt, for the driver `prompt`.
    #[serde(default)]
    pub prompt: Option<PromptTable>,
    /// The size of the program's terminal, for the driver `terminal`.
    #[serde(default)]
    pub terminal: Option<TerminalTable>,
    /// Code that shows that the profile works (`hob repl check`).
    #[serde(default)]
    pub check: Option<Samples>,
    /// Instructions for a missing program.
    #[serde(default)]
    pub install: Install,
    /// The source of the profile, which decides if it may be started.
    #[serde(skip)]
    pub origin: Origin,
}

/// Installation instructions for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// Packages of Debian and its relatives.
    #[serde(default)]
    pub apt: Vec<String>,
    /// Other instructions.
    #[serde(default)]
    pub note: Option<String>,
}

/// The source of a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    #[default]
    Builtin,
    User,
    /// The project's files, trusted by the user.
    Trusted,
    /// The project's files, not trusted: the profile is known but refuses to start.
    Untrusted,
}

impl Profile {
    pub fn start_timeout(&self) -> Duration {
        Duration::from_millis(self.start_timeout_ms)
    }

    /// Returns the program, as written in the command.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// Checks that the profile may be started and that its programs are installed. `path` is the session's `PATH`, and
    /// `cwd` its directory, to which a program with a slash is relative.
    pub fn check(&self, path: &str, cwd: &Path) -> Result<(), ProfileError> {
        if self.origin == Origin::Untrusted {
            return Err(ProfileError::Untrusted { name: self.name.clone(), command: self.command.join(" ") });
        }
        let needed = std::iter::once(self.program()).chain(self.requires.iter().map(String::as_str));
        match needed.into_iter().find(|program| program_path(program, path, cwd).is_none()) {
            None => Ok(()),
            Some(program) if program.contains('/') => {
                Err(ProfileError::NoProgram { program: program.to_owned(), problem: unusable(&cwd.join(program)) })
            }
            Some(program) => Err(ProfileError::Missing {
                name: self.name.clone(),
                program: program.to_owned(),
                install: self.install.sentence(),
            }),
        }
    }
}

/// Describes the problem with a path that no program can be started from, as a clause.
fn unusable(path: &Path) -> String {
    let shown = project::visible::path(path);
    match (std::fs::metadata(path), std::fs::read_link(path)) {
        (Ok(meta), _) if meta.is_file() => format!("{shown} is not executable"),
        (Ok(_), _) => format!("{shown} is not a file"),
        (Err(_), Ok(target)) => {
            format!("{shown} is a link to {}, which does not exist", project::visible::path(&target))
        }
        (Err(_), Err(_)) => format!("{shown} does not exist"),
    }
}

impl Install {
    /// Returns installation instructions as a sentence; empty if unknown.
    pub fn sentence(&self) -> String {
        let apt = (!self.apt.is_empty()).then(|| format!("apt-get install {}", self.apt.join(" ")));
        match (apt, &self.note) {
            (Some(apt), Some(note)) => format!("Install it: {apt} ({note})."),
            (Some(apt), None) => format!("Install it: {apt}."),
            (None, Some(note)) => format!("To install it: {note}."),
            (None, None) => String::new(),
        }
    }
}

/// Checks if the user has by now granted a profile that was withheld when the daemon started.
#[derive(Clone)]
pub struct Granted(Arc<dyn Fn() -> bool + Send + Sync>);

impl Granted {
    /// Creates a check that calls `ask` at each request for a withheld profile.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Granted {
        Granted(Arc::new(ask))
    }
}

impl std::fmt::Debug for Granted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Granted")
    }
}

/// All profiles that a session may ask for, by name.
#[derive(Debug, Clone)]
pub struct Profiles {
    by_name: BTreeMap<String, Profile>,
    /// Unusable profiles, with the reasons.
    left_out: BTreeMap<String, ProfileError>,
    granted: Option<Granted>,
}

const BUILTIN: [(&str, &str); 12] = [
    ("bash", include_str!("builtin/bash.toml")),
    ("cabal", include_str!("builtin/cabal.toml")),
    ("gdb", include_str!("builtin/gdb.toml")),
    ("ghci", include_str!("builtin/ghci.toml")),
    ("lua", include_str!("builtin/lua.toml")),
    ("node", include_str!("builtin/node.toml")),
    ("python", include_str!("builtin/python.toml")),
    ("r", include_str!("builtin/r.toml")),
    ("ruby", include_str!("builtin/ruby.toml")),
    ("sqlite3", include_str!("builtin/sqlite3.toml")),
    ("stack", include_str!("builtin/stack.toml")),
    ("terminal", include_str!("builtin/terminal.toml")),
];

impl Default for Profiles {
    fn default() -> Profiles {
        Profiles::builtin()
    }
}

impl Profiles {
    /// Returns the profiles that come with hob.
    pub fn builtin() -> Profiles {
        let parse = |(name, text): &(&str, &str)| {
            let profile = parse(name, text, "the program itself", Origin::Builtin);
            ((*name).to_owned(), profile.expect("the built-in profiles are checked by a test"))
        };
        Profiles { by_name: BUILTIN.iter().map(parse).collect(), left_out: BTreeMap::new(), granted: None }
    }

    /// Adds a profile or replaces the one of its name; an untrusted one never replaces another. `place` names the file
    /// in errors.
    pub fn add(&mut self, name: &str, toml: &str, place: &str, origin: Origin) -> Result<(), ProfileError> {
        let profile = parse(name, toml, place, origin)?;
        if origin != Origin::Untrusted || !self.by_name.contains_key(name) {
            self.by_name.insert(name.to_owned(), profile);
        }
        Ok(())
    }

    /// Adds every `NAME.toml` of a directory; a missing directory adds nothing. An invalid file is a separate error and
    /// does not affect the others.
    pub fn add_dir(&mut self, dir: &Path, origin: Origin) -> Vec<ProfileError> {
        let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        let mut errors = Vec::new();
        for file in files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let place = file.display().to_string();
            let text = match read(&file, origin) {
                Ok(text) => text,
                Err(problem) => {
                    let error = ProfileError::Invalid { name: name.clone(), place, problem };
                    self.leave_out(&name, error.clone());
                    errors.push(error);
                    continue;
                }
            };
            errors.extend(self.add(&name, &text, &place, origin).err());
        }
        errors
    }

    /// Records why a profile is unavailable, for callers that request it by name.
    pub fn leave_out(&mut self, name: &str, why: ProfileError) {
        self.left_out.insert(name.to_owned(), why);
    }

    /// Sets the check for requests of a withheld profile.
    pub fn ask_for_grants(&mut self, granted: Granted) {
        self.granted = Some(granted);
    }

    pub fn get(&self, name: &str) -> Result<&Profile, ProfileError> {
        self.by_name.get(name).or_else(|| self.find_alias(name)).ok_or_else(|| match self.left_out.get(name) {
            Some(ProfileError::Withheld { .. }) if self.granted.as_ref().is_some_and(|granted| granted.0()) => {
                ProfileError::GrantedSince { name: name.to_owned() }
            }
            Some(why) => why.clone(),
            None => ProfileError::Unknown { name: name.to_owned(), known: self.names() },
        })
    }

    /// Returns the only profile of this program or language, such as `python3` or `shell`.
    fn find_alias(&self, name: &str) -> Option<&Profile> {
        if self.left_out.contains_key(name) {
            return None;
        }
        let name = name.to_lowercase();
        let mut fits = self.iter().filter(|profile| profile.program() == name || profile.language == name);
        fits.next().filter(|_| fits.next().is_none())
    }

    /// Returns the profile that the configuration gives to sessions without one.
    pub fn get_default(&self, name: &str) -> Result<&Profile, ProfileError> {
        self.get(name).map_err(|error| match error {
            ProfileError::Unknown { name, known } => ProfileError::UnknownDefault { name, known },
            other => other,
        })
    }

    /// Returns the profiles of one driver.
    #[must_use]
    pub fn with_driver(&self, driver: DriverKind) -> Profiles {
        let matching =
            |(name, profile): (&String, &Profile)| (profile.driver == driver).then(|| (name.clone(), profile.clone()));
        let by_name = self.by_name.iter().filter_map(matching).collect();
        Profiles { by_name, left_out: self.left_out.clone(), granted: self.granted.clone() }
    }

    /// Returns all profiles, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.by_name.values()
    }

    /// Returns the names for an error.
    fn names(&self) -> String {
        self.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The size limit of a profile, which is normally a page of text.
const MAX_PROFILE_BYTES: u64 = 64 * 1024;

fn read(file: &Path, origin: Origin) -> Result<String, String> {
    let text = match origin {
        // This command counts without a grant, so the file must be one that no other user can have written.
        Origin::User => {
            project::UserConfig::read(file).map(Option::unwrap_or_default).map_err(|error| error.to_string())
        }
        _ => project::regular::read(file, MAX_PROFILE_BYTES).map_err(|error| error.to_string()),
    }?;
    if text.len() as u64 > MAX_PROFILE_BYTES {
        Err(format!("it is longer than {MAX_PROFILE_BYTES} bytes"))
    } else {
        Ok(text)
    }
}

fn parse(name: &str, text: &str, place: &str, origin: Origin) -> Result<Profile, ProfileError> {
    let invalid = |problem: String| ProfileError::Invalid { name: name.to_owned(), place: place.to_owned(), problem };
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 32 || !name.chars().all(legal) {
        return Err(invalid("its name must be 1 to 32 lower-case letters, digits, - or _".to_owned()));
    }
    let mut profile: Profile = toml::from_str(text)
        .map_err(|error| invalid(project::expected_form(text, &error).unwrap_or(error.message().to_owned())))?;
    if profile.command.first().is_none_or(String::is_empty) {
        return Err(invalid("`command` must name a program".to_owned()));
    }
    match (profile.driver, &profile.prompt) {
        (DriverKind::Prompt, None) => return Err(invalid("the driver `prompt` needs a table `prompt`".to_owned())),
        (DriverKind::Prompt, Some(prompt)) => {
            prompt.problem().map_or(Ok(()), |problem| Err(invalid(problem.to_owned())))?
        }
        (_, Some(_)) => return Err(invalid("a table `prompt` needs `driver = \"prompt\"`".to_owned())),
        (_, None) => {}
    }
    match profile.terminal {
        Some(_) if profile.driver != DriverKind::Terminal => {
            return Err(invalid("a table `terminal` needs `driver = \"terminal\"`".to_owned()));
        }
        Some(terminal) => terminal.problem().map_or(Ok(()), |problem| Err(invalid(problem)))?,
        None => {}
    }
    profile.name = name.to_owned();
    profile.origin = origin;
    if profile.title.is_empty() {
        profile.title = name.to_owned();
    }
    Ok(profile)
}

fn default_rank() -> u32 {
    50
}

fn default_start_timeout_ms() -> u64 {
    60_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// Returns false for a profile that is data alone.
    fn has_own_driver(profile: &Profile) -> bool {
        !matches!(profile.driver, DriverKind::Prompt | DriverKind::Terminal)
    }

    #[test]
    fn every_text_that_lists_the_built_in_ones_lists_them_all() {
        let files = [
            "src/error.rs",
            "src/profile/mod.rs",
            "src/tools/eval.rs",
            "../daemon/src/parts/repl.rs",
            "../../README.md",
        ];
        for file in files {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let text = std::fs::read_to_string(path).unwrap();
            // The lines that list profiles together.
            let lists: Vec<String> = text
                .lines()
                .zip(text.lines().skip(1).chain([""]))
                .map(|(line, next)| format!("{line} {next}").to_lowercase())
                .filter(|two| two.contains("stack") && two.contains("python"))
                .collect();
            let profiles = Profiles::builtin();
            let missing =
                |list: &String| profiles.iter().any(|it| has_own_driver(it) && !list.contains(it.name.as_str()));
            assert!(lists.iter().any(|list| !missing(list)), "{file} lists not all profiles: {lists:#?}");
        }
    }

    #[test]
    fn the_built_in_ones_are_usable() {
        let show = |profile: &Profile| format!("{} {:?} {}", profile.name, profile.driver, profile.command.join(" "));
        expect![[r#"
            bash Bash bash -p -c t=$HOB_TERMINAL_FD; unset HOB_TERMINAL_FD; exec "$BASH" --noprofile --norc --noediting +H -i 9>&2 2>&"$t" {t}>&-
            cabal Ghci cabal repl --repl-options=-ferror-spans --repl-options=-haddock
            ghci Ghci ghci -ignore-dot-ghci -package-env - -ferror-spans -haddock
            node Node node
            python Python python3
            stack Ghci stack ghci --ghci-options=-ferror-spans -haddock"#]]
        .assert_eq(
            &Profiles::builtin().iter().filter(|it| has_own_driver(it)).map(show).collect::<Vec<_>>().join("\n"),
        );
    }

    #[test]
    fn wrong_ones_are_refused_with_the_reason() {
        let mut profiles = Profiles::builtin();
        let mut try_one = |name: &str, text: &str| match profiles.add(name, text, "hob.toml", Origin::User) {
            Ok(()) => "fine".to_owned(),
            Err(error) => error.to_string(),
        };
        expect![[r#"
            fine
            the profile "mine" in hob.toml is not usable: unknown field `comand`, expected one of `title`, `language`, `driver`, `command`, `requires`, `detect`, `sources`, `rank`, `memory`, `env`, `start_timeout_ms`, `component`, `virtual_environments`, `prompt`, `terminal`, `check`, `install`
            the profile "mine" in hob.toml is not usable: unknown variant `perl`, expected one of `ghci`, `python`, `bash`, `node`, `prompt`, `terminal`
            the profile "mine" in hob.toml is not usable: `command` must name a program
            the profile "Mine!" in hob.toml is not usable: its name must be 1 to 32 lower-case letters, digits, - or _"#]]
        .assert_eq(
            &[
                try_one("mine", "driver = \"ghci\"\ncommand = [\"ghci-9.6\"]"),
                try_one("mine", "driver = \"ghci\"\ncomand = [\"ghci-9.6\"]"),
                try_one("mine", "driver = \"perl\"\ncommand = [\"perl\"]"),
                try_one("mine", "driver = \"ghci\"\ncommand = []"),
                try_one("Mine!", "driver = \"ghci\"\ncommand = [\"ghci\"]"),
            ]
            .join("\n"),
        );
    }

    #[test]
    fn a_missing_program_says_how_to_get_it() {
        let missing = ProfileError::Missing { name: "x".into(), program: "x".into(), install: String::new() };
        assert_eq!(missing.hints(), ["Install it, or name another `profile`."]);
        let profiles = Profiles::builtin();
        let error = profiles
            .get("cabal")
            .expect("built in")
            .check("/nonexistent", Path::new("/"))
            .expect_err("nothing is there");
        expect![[r#"
            the profile "cabal" needs the program "cabal", which is not in the PATH
            Install it: apt-get install cabal-install ghc (or install both with ghcup).
            Or name another `profile`."#]]
        .assert_eq(&format!("{error}\n{}", error.hints().join("\n")));
        expect![[
            r#"unknown profile "perl"; available: bash, cabal, gdb, ghci, lua, node, python, r, ruby, sqlite3, stack, terminal"#
        ]]
        .assert_eq(&profiles.get("perl").expect_err("unknown").to_string());
    }

    #[test]
    fn a_project_cannot_run_what_nobody_allowed() {
        let mut profiles = Profiles::builtin();
        let evil = "driver = \"bash\"\ncommand = [\"sh\", \"-c\", \"evil\"]";
        profiles.add("evil", evil, "hob.toml", Origin::Untrusted).expect("it is known");
        profiles.add("ghci", evil, "hob.toml", Origin::Untrusted).expect("it is ignored");
        assert_eq!(profiles.get("ghci").expect("built in").program(), "ghci");
        let error =
            profiles.get("evil").expect("known").check("/bin:/usr/bin", Path::new("/")).expect_err("not allowed");
        expect![[r#"the profile "evil" of this project would run "sh -c evil", and the project is not trusted"#]]
            .assert_eq(&error.to_string());
    }

    #[test]
    fn what_is_left_out_says_why() {
        let mut profiles = Profiles::builtin();
        let asks = "runs the command [\"sh\"]".to_owned();
        profiles.leave_out("mine", ProfileError::Withheld { name: "mine".to_owned(), asks });
        let error = profiles.with_driver(DriverKind::Bash).get("mine").expect_err("not granted");
        expect![[r#"
            the profile "mine" of this project's hob.toml is not granted: it runs the command ["sh"]
            A person can read and grant it with `hob trust` in a terminal.
            Or name a built-in `profile`: bash, cabal, ghci, node, python or stack."#]]
        .assert_eq(&format!("{error}\n{}", error.hints().join("\n")));
    }

    #[test]
    fn a_directory_of_profiles() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("ghci96.toml"), "driver = \"ghci\"\ncommand = [\"ghci-9.6\"]").expect("written");
        std::fs::write(dir.path().join("broken.toml"), "driver =").expect("written");
        std::fs::write(dir.path().join("notes.txt"), "no profile").expect("written");
        let mut profiles = Profiles::builtin();
        let errors = profiles.add_dir(dir.path(), Origin::User);
        assert_eq!(errors.len(), 1);
        assert_eq!(profiles.get("ghci96").expect("added").program(), "ghci-9.6");
        assert!(profiles.add_dir(&dir.path().join("nowhere"), Origin::User).is_empty());
    }
}
