//! What is configured: `hob.toml` at the project's root over the user's own configuration over the defaults.
//!
//! `hob.toml` is text from outside: it may enable toolsets, choose among what is built in and set limits within their
//! ranges. What goes further (commands to run) counts only when the user granted that very text ([`crate::Trust`]);
//! until then it is withheld and listed in [`Config::withheld`]. Parsing is strict: a mistake is named with its line.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use crate::cure::CureConfig;
use crate::cure::CureTable;
pub use crate::duration::Limit;
pub use crate::mail::MailConfig;
use crate::mail::MailTable;
use crate::trust::{self, Request};
use crate::user::is_absent;
use crate::visible::path as shown;
use crate::{Project, Trust, UserConfig, owner, regular, visible};

/// The largest configuration file that is read, in bytes.
pub(crate) const FILE_MAX: u64 = 1024 * 1024;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}, line {line}: {message}; correct the line, or delete it for the default", shown(path))]
    Wrong { path: PathBuf, line: usize, message: String },
    #[error("{}: {key} = {value} is outside {} to {}; correct it, or delete it for the default", shown(path), range.start(), range.end())]
    Range { path: PathBuf, key: &'static str, value: u64, range: RangeInclusive<u64> },
    #[error("read {}: {source}; make it a text file that you can read, or move it away", shown(path))]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} belongs to user {owner}, not to you (user {}): refused, because whoever wrote it would decide for you; move it \
         away, or take it over with chown. If HOME or XDG_CONFIG_HOME is another user's, set it to a directory of your own",
        shown(path),
        owner::me()
    )]
    NotMine { path: PathBuf, owner: u32 },
    #[error(
        "{}: {foreign}, who could put another file in its place: refused, because whoever did would decide for you; set HOME or \
         XDG_CONFIG_HOME to a directory of your own",
        shown(path)
    )]
    ForeignPlace { path: PathBuf, foreign: owner::Foreign },
    #[error(
        "{} is a link that leads out of the project, to {}; nothing of that is read: put a file in its place, or link to one inside of the project",
        shown(path),
        shown(to)
    )]
    LeadsOut { path: PathBuf, to: PathBuf },
    #[error("{} has more than {FILE_MAX} bytes; no configuration is that long, so move it away", shown(path))]
    TooLong { path: PathBuf },
    #[error(
        "{}: mail.database does not belong into a file that is shared with others; put the address into \
         HOB_MAIL_DATABASE, your own config.toml, or mail-database in the project's state directory (mode 0600; `hob doctor` names the directory)",
        shown(path)
    )]
    SharedDatabase { path: PathBuf },
    #[error(
        "{}: cure.roots: {} leads out of the project; name a directory inside of it, relative to its root",
        shown(path),
        shown(root)
    )]
    Root { path: PathBuf, root: PathBuf },
}

/// Where a setting came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The user's own configuration.
    User,
    /// The project's `hob.toml`.
    Project,
}

/// A program's profile from a configuration file: data, which the REPL part reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The table as written.
    pub table: toml::Table,
    /// Who wrote it.
    pub source: Source,
}

/// Everything configured, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The toolsets that a connection gets when it asks for none.
    pub toolsets: Vec<String>,
    /// When a daemon without connection and without live session ends.
    pub idle: Limit,
    pub limits: Limits,
    /// The profile of sessions that name none, instead of the detected one.
    pub repl_profile: Option<String>,
    /// Profiles beyond the built-in ones, by name.
    pub repl_profiles: BTreeMap<String, Profile>,
    /// The mail between agents.
    pub mail: MailConfig,
    /// The Cure compiler.
    pub cure: CureConfig,
    /// What `hob.toml` asks for and the user has not granted.
    pub withheld: Vec<Request>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            toolsets: vec!["repl".to_owned(), "mail".to_owned()],
            idle: Limit::After(Duration::from_secs(30 * 60)),
            limits: Limits::default(),
            repl_profile: None,
            repl_profiles: BTreeMap::new(),
            mail: MailConfig::default(),
            cure: CureConfig::default(),
            withheld: Vec::new(),
        }
    }
}

impl Config {
    /// What the user has configured for all projects.
    pub fn of_user() -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some(path) = UserConfig::path() {
            config.apply(&path, UserConfig::load()?.into_settings(), Source::User)?;
        }
        Ok(config)
    }

    /// Loads what holds for a project.
    pub fn load(project: &Project) -> Result<Config, ConfigError> {
        let mut config = Config::of_user()?;
        let path = project.config_path();
        if let Some(text) = read_of(project)? {
            let mut settings: Settings = parse(&path, &text)?;
            let requests = trust::requests(&text, &settings);
            if !requests.is_empty() && !Trust::load()?.covers(project, &text) {
                settings.repl.profiles.clear();
                settings.mail.space = None;
                config.withheld = requests;
            }
            config.apply(&path, settings, Source::Project)?;
        }
        Ok(config)
    }

    /// Reads a project's `hob.toml` alone, for its mistakes and for what it asks beyond the safe set.
    pub fn requests(project: &Project) -> Result<Vec<Request>, ConfigError> {
        let path = project.config_path();
        let Some(text) = read_of(project)? else { return Ok(Vec::new()) };
        let settings: Settings = parse(&path, &text)?;
        Config::default().apply(&path, settings.clone(), Source::Project)?;
        Ok(trust::requests(&text, &settings))
    }

    fn apply(&mut self, path: &Path, settings: Settings, source: Source) -> Result<(), ConfigError> {
        self.limits.apply(path, &settings.limits)?;
        if let Some(toolsets) = settings.toolsets {
            self.toolsets = toolsets;
        }
        if let Some(idle) = settings.daemon.idle {
            self.idle = idle;
        }
        if let Some(idle) = settings.repl.idle {
            self.limits.session_idle = idle;
        }
        if settings.repl.profile.is_some() {
            self.repl_profile = settings.repl.profile;
        }
        self.mail.apply(path, settings.mail, source)?;
        self.cure.apply(path, settings.cure)?;
        let profiles = settings.repl.profiles.into_iter();
        self.repl_profiles.extend(profiles.map(|(name, table)| (name, Profile { table, source })));
        Ok(())
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $default:expr, $range:expr;)*) => {
        /// The limits. Each one has a default and a range; `[limits]` in a configuration file sets it by its name here.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: u64,)*
            /// When a session that nobody uses is ended (`[repl] idle`).
            pub session_idle: Limit,
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: $default,)* session_idle: Limit::After(Duration::from_secs(60 * 60)) }
            }
        }

        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct LimitsTable { $($name: Option<u64>,)* }

        impl Limits {
            fn apply(&mut self, path: &Path, table: &LimitsTable) -> Result<(), ConfigError> {
                $(if let Some(value) = table.$name {
                    let range: RangeInclusive<u64> = $range;
                    if !range.contains(&value) {
                        let (path, key) = (path.to_owned(), concat!("limits.", stringify!($name)));
                        return Err(ConfigError::Range { path, key, value, range });
                    }
                    self.$name = value;
                })*
                Ok(())
            }
        }
    };
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

limits! {
    /// Connections to the daemon at once.
    connections: 2048, 1..=100_000;
    /// Bytes in one line of a connection.
    line_bytes: 16 * MIB, 64 * KIB..=256 * MIB;
    /// Calls that run at once on one connection.
    calls_running: 64, 1..=10_000;
    /// Calls that wait on one connection while others run.
    calls_waiting: 1024, 1..=100_000;
    /// Live sessions of the project.
    sessions: 8, 1..=1000;
    /// Evaluations that wait in one session.
    queued_evaluations: 16, 1..=10_000;
    /// Bytes of memory one session's processes may take; 0 for three quarters of the machine's.
    session_memory: 0, 0..=u64::MAX;
    /// Bytes of a session's output kept in memory.
    output_memory: 4 * MIB, 64 * KIB..=1024 * MIB;
    /// Bytes of a session's output kept in its file.
    output_file: 256 * MIB, MIB..=1024 * 1024 * MIB;
    /// Bytes of the daemon's logs.
    log_bytes: 16 * MIB, 64 * KIB..=1024 * MIB;
}

/// What a configuration file says, unmerged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) toolsets: Option<Vec<String>>,
    pub(crate) daemon: DaemonTable,
    pub(crate) limits: LimitsTable,
    pub(crate) repl: ReplTable,
    pub(crate) mail: MailTable,
    pub(crate) cure: CureTable,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DaemonTable {
    idle: Option<Limit>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReplTable {
    profile: Option<String>,
    idle: Option<Limit>,
    pub(crate) profiles: BTreeMap<String, toml::Table>,
}

/// Parses a file's text, with the line of the first mistake.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::Wrong {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        message: visible(&error.message().trim_end().replace('\n', ", ")),
    })
}

/// The line of a byte offset, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// The text of a project's `hob.toml`. Mistakes in it are shown with what stands there, so it is not read through a link to
/// what does not belong to the project.
pub(crate) fn read_of(project: &Project) -> Result<Option<String>, ConfigError> {
    let path = project.config_path();
    match path.canonicalize() {
        Ok(to) if !to.starts_with(project.root()) => Err(ConfigError::LeadsOut { path, to }),
        // What is not there, or cannot be seen, is not read either.
        found => read(&found.unwrap_or(path)),
    }
}

pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    match regular::read(path, FILE_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(ConfigError::TooLong { path: path.to_owned() })
        }
        Err(source) => Err(failed(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn settings(text: &str) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        let path = Path::new("hob.toml");
        config.apply(path, parse(path, text)?, Source::Project)?;
        Ok(config)
    }

    fn check_error(text: &str, expected: Expect) {
        expected.assert_eq(&settings(text).unwrap_err().to_string());
    }

    #[test]
    fn what_can_be_said() {
        let config = settings(
            "toolsets = [\"repl\", \"mail\"]\n[daemon]\nidle = \"never\"\n[limits]\nsessions = 3\n[repl]\nprofile = \"cabal\"\n\
             idle = \"5m\"\n[repl.profiles.mine]\ncommand = [\"mine\"]\n",
        )
        .unwrap();
        assert_eq!(config.toolsets, ["repl", "mail"]);
        assert_eq!(config.idle, Limit::Never);
        assert_eq!((config.limits.sessions, config.limits.connections), (3, 2048));
        assert_eq!(config.limits.session_idle, Limit::After(Duration::from_secs(300)));
        assert_eq!(config.repl_profile.as_deref(), Some("cabal"));
        assert_eq!(config.repl_profiles["mine"].table["command"][0].as_str(), Some("mine"));
        assert_eq!(settings("").unwrap(), Config::default());
    }

    #[test]
    fn no_link_leads_out_of_the_project() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let root = top.join("root");
        std::fs::create_dir_all(root.join("etc")).unwrap();
        let project = Project::find(Some(&root), Path::new("/")).unwrap();
        std::fs::write(top.join("secret"), "s3cret\n").unwrap();
        std::fs::write(root.join("etc/hob.toml"), "toolsets = [\"mail\"]\n").unwrap();
        let load = || (Config::load(&project), Config::requests(&project).map(|_| ()));
        for leads_out in [top.join("secret"), "../secret".into(), "etc/../../secret".into()] {
            symlink(&leads_out, project.config_path()).unwrap();
            let (loaded, requests) = load();
            for error in [loaded.unwrap_err().to_string(), requests.unwrap_err().to_string()] {
                let shown = error.replace(&top.display().to_string(), "");
                expect![[r#"
                    /root/hob.toml is a link that leads out of the project, to /secret; nothing of that is read: put a file in its place, or link to one inside of the project"#]]
                .assert_eq(&shown);
            }
            std::fs::remove_file(project.config_path()).unwrap();
        }
        symlink("etc/hob.toml", project.config_path()).unwrap();
        assert_eq!(load().0.unwrap().toolsets, ["mail"]);
    }

    #[test]
    fn mistakes_are_named() {
        check_error(
            "toolsets = [\"repl\"]\ntolsets = 1\n",
            expect![[
                "hob.toml, line 2: unknown field `tolsets`, expected one of `toolsets`, `daemon`, `limits`, `repl`, `mail`, `cure`; correct the line, or delete it for the default"
            ]],
        );
        check_error(
            "[daemon]\nidle = \"soon\"\n",
            expect![[
                r#"hob.toml, line 2: "soon" is no time; write "45s", "30m", "2h" or "never"; correct the line, or delete it for the default"#
            ]],
        );
        check_error(
            "[limits]\nsessions = 0\n",
            expect!["hob.toml: limits.sessions = 0 is outside 1 to 1000; correct it, or delete it for the default"],
        );
        check_error(
            "toolsets = [\"repl\"\n",
            expect!["hob.toml, line 1: unclosed array, expected `]`; correct the line, or delete it for the default"],
        );
    }
}
