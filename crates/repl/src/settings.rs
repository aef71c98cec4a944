//! The settings of the REPLs (`[repl]`): the profile of new sessions, additional profiles, and the idle limit. A
//! profile in a `hob.toml` names a command, so it counts only when granted.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use project::config::{File, Limit, Settings, Source, value};
use project::trust::{Places, Request};
use project::{Config, ConfigError, UserConfig, visible};
use serde::Deserialize;

use crate::adapter::python::PythonShell;
use crate::profile::{Origin, ProfileError, Profiles};
use crate::sandboxed::SandboxMode;

#[derive(Debug, Clone, PartialEq)]
pub struct ReplSettings {
    /// The profile of sessions that name none, instead of the detected one.
    pub profile: Option<String>,
    /// The limit after which an unused session is ended.
    pub idle: Limit,
    /// The sandbox of all sessions. One file can ask for it, and the other cannot revoke that.
    pub sandbox: Option<SandboxMode>,
    /// The shell of Python sessions.
    pub python: PythonShell,
    /// Additional profiles, by name.
    pub profiles: BTreeMap<String, ProfileTable>,
}

/// A profile as written in a configuration file.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileTable {
    /// The TOML table.
    pub table: toml::Table,
    /// The file that contains it.
    pub source: Source,
}

impl Default for ReplSettings {
    fn default() -> ReplSettings {
        ReplSettings {
            profile: None,
            idle: Limit::After(Duration::from_secs(60 * 60)),
            sandbox: None,
            python: PythonShell::Python,
            profiles: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplTable {
    profile: Option<String>,
    idle: Option<Limit>,
    sandbox: Option<SandboxMode>,
    python: Option<PythonShell>,
    profiles: BTreeMap<String, toml::Table>,
}

impl Settings for ReplSettings {
    const NAME: &'static str = "repl";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = ReplTable;

    fn apply(&mut self, table: ReplTable, file: &File<'_>) -> Result<(), ConfigError> {
        self.profile = table.profile.or_else(|| self.profile.take());
        self.idle = table.idle.unwrap_or(self.idle);
        self.sandbox = table.sandbox.or(self.sandbox);
        self.python = table.python.unwrap_or(self.python);
        let profiles = table.profiles.into_iter();
        self.profiles.extend(profiles.map(|(name, table)| (name, ProfileTable { table, source: file.source })));
        Ok(())
    }

    fn requests(table: &ReplTable, places: &Places<'_>) -> Vec<Request> {
        table.profiles.iter().flat_map(|(name, table)| profile_requests(name, table, places)).collect()
    }

    fn withhold(table: &mut ReplTable) {
        table.profiles.clear();
    }
}

/// Returns the profiles that sessions may use, and the errors in the others.
pub fn profiles(config: &Config) -> (Profiles, Vec<ProfileError>) {
    let mut profiles = Profiles::builtin();
    let mut problems = Vec::new();
    if let Some(dir) = UserConfig::path().as_deref().and_then(Path::parent) {
        problems.extend(profiles.add_dir(&dir.join("profiles"), Origin::User));
    }
    for (name, profile) in &config.settings::<ReplSettings>().profiles {
        let (place, origin) = match profile.source {
            Source::User => ("the user's configuration", Origin::User),
            // Profiles that the user has not granted were already withheld.
            Source::Project => ("hob.toml", Origin::Trusted),
        };
        if let Err(problem) = profiles.add(name, &profile.table.to_string(), place, origin) {
            profiles.leave_out(name, problem.clone());
            problems.push(problem);
        }
    }
    let mut named = HashSet::new();
    for request in &config.withheld {
        // The first request of each profile names its command.
        if let Some(name) = request.withholds.as_deref().filter(|name| named.insert(*name)) {
            let why = ProfileError::Withheld { name: name.to_owned(), asks: request.asks.clone() };
            profiles.leave_out(name, why);
        }
    }
    (profiles, problems)
}

/// Returns the invalid profiles.
pub fn faults(config: &Config) -> Vec<String> {
    let (profiles, problems) = profiles(config);
    let default = config.settings::<ReplSettings>().profile.map(|name| profiles.get_default(&name));
    let default = default.and_then(Result::err).filter(|why| matches!(why, ProfileError::UnknownDefault { .. }));
    problems.into_iter().chain(default).map(|problem| problem.to_string()).collect()
}

/// Returns a separate request for every setting of a profile.
fn profile_requests(name: &str, table: &toml::Table, places: &Places<'_>) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut ask = |path: &[&str], asks: String| {
        let path = [&["repl", "profiles", name], path].concat();
        requests.push(Request { withholds: Some(name.to_owned()), ..places.request(&path, asks) });
    };
    // The command comes first; a profile without one is requested nevertheless.
    match table.get("command") {
        Some(command) => ask(&["command"], format!("runs the command {}", value::format(command))),
        None => ask(&[], format!("defines how the program of the profile {} is run and driven", visible(name))),
    }
    for (key, said) in table.iter().filter(|(key, _)| *key != "command") {
        match (key.as_str(), said) {
            ("env", toml::Value::Table(variables)) => {
                for (variable, said) in variables {
                    let sets = format!("runs it with {}={}", value::key(variable), value::format(said));
                    ask(&["env", variable], sets);
                }
            }
            ("memory", said) => {
                ask(&["memory"], format!("runs it with {} appended to its arguments", value::format(said)))
            }
            ("requires", said) => ask(&["requires"], format!("looks for the programs {}", value::format(said))),
            (key, said) => ask(&[key], format!("sets {} = {}", visible(key), value::format(said))),
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use project::Project;
    use project::config::Section;

    /// Returns the requests of a `hob.toml` with this text.
    fn requests(text: &str) -> Vec<Request> {
        let root = tempfile::tempdir().unwrap();
        let project = Project::find(Some(root.path()), Path::new("/")).unwrap();
        std::fs::write(project.config_path(), text).unwrap();
        Config::requests(&project, &[Section::for_settings::<ReplSettings>()]).unwrap()
    }

    fn check(text: &str, expected: Expect) {
        let line = |request: Request| format!("{} (line {}): {}\n", request.key, request.line, request.asks);
        expected.assert_eq(&requests(text).into_iter().map(line).collect::<String>());
    }

    #[test]
    fn what_can_be_said() {
        let text = "profile = \"cabal\"\nidle = \"5m\"\nsandbox = \"workspace\"\npython = \"ipython\"\n[profiles.mine]\ncommand = [\"mine\"]\n";
        let mut settings = ReplSettings::default();
        let file = File::new(Path::new("hob.toml"), Source::Project, "");
        settings.apply(toml::from_str(text).unwrap(), &file).unwrap();
        assert_eq!(settings.profile.as_deref(), Some("cabal"));
        assert_eq!(settings.idle, Limit::After(Duration::from_secs(300)));
        assert_eq!(settings.profiles["mine"].table["command"][0].as_str(), Some("mine"));
        settings.apply(ReplTable::default(), &file).unwrap();
        assert_eq!((settings.profile.is_some(), settings.profiles.len()), (true, 1));
        assert_eq!((settings.sandbox, settings.python), (Some(SandboxMode::Workspace), PythonShell::Ipython));
    }

    #[test]
    fn everything_that_a_grant_allows_is_shown() {
        check(
            "# hello\n\n[repl]\nprofiles.a = { command = [\"sh\"], env.PATH = \"/evil\" }\n\n[repl.profiles.\"b\\u001b[2J\"]\n\
             driver = \"ghci\"\n  command = [\n  \"x\\u202e\",\n]\nrequires = [\"y\"]\nmemory = [\"-M{mib}m\"]\n\n\
             [repl.profiles.\"b\\u001b[2J\".env]\nA = \"1\"\nLD_PRELOAD = \"\"\"\n./x.so\n\"\"\"\n",
            expect![[r#"
                repl.profiles.a.command (line 4): runs the command ["sh"]
                repl.profiles.a.env.PATH (line 4): runs it with PATH="/evil"
                repl.profiles.b\x1b[2J.command (line 8): runs the command ["x\u{202e}"]
                repl.profiles.b\x1b[2J.driver (line 7): sets driver = "ghci"
                repl.profiles.b\x1b[2J.env.A (line 15): runs it with A="1"
                repl.profiles.b\x1b[2J.env.LD_PRELOAD (line 16): runs it with LD_PRELOAD="./x.so\n"
                repl.profiles.b\x1b[2J.memory (line 12): runs it with ["-M{mib}m"] appended to its arguments
                repl.profiles.b\x1b[2J.requires (line 11): looks for the programs ["y"]
            "#]],
        );
        check(
            "[repl.profiles.a]\ncommand = ['a\\nb', \"a\\nb\\\"\\u2800\\u00a0\"]\nenv.PATH = \"a\\nb\"\n\
             at = { n = 1, \"odd key\" = [\"\"\"\nc\n\"\"\"], none = {} }\n",
            expect![[r#"
                repl.profiles.a.command (line 2): runs the command ["a\\nb", "a\nb\"\u{2800}\u{a0}"]
                repl.profiles.a.at (line 4): sets at = { n = 1, none = {}, "odd key" = ["c\n"] }
                repl.profiles.a.env.PATH (line 3): runs it with PATH="a\nb"
            "#]],
        );
        check("# [repl.profiles.mine]\n", expect![[""]]);
        check("toolsets = [\"repl\"]\n", expect![[""]]);
    }

    #[test]
    fn a_long_file_is_looked_through_once() {
        use std::fmt::Write as _;
        let mut text = String::new();
        for n in 0..20_000 {
            writeln!(text, "[repl.profiles.a{n}]\nx=1\ny=2\nz=3").unwrap();
        }
        // If the text were searched again for each request, this test would take minutes and time out.
        let requests = requests(&text);
        assert_eq!((requests.len(), requests.iter().map(|request| request.line).max()), (80_000, Some(80_000)));
    }
}
