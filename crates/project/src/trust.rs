//! What a project's `hob.toml` asks for beyond the safe set, and what the user granted.
//!
//! A grant is for one root, the directory that stands there, and one exact text (its SHA-256). Grants live in the user's configuration directory, in a
//! file of their own that only hob writes: `trust.toml` beside `config.toml`. An edit of `hob.toml`, by whomever,
//! withdraws them. A file that another user wrote, or may put another in the place of, grants nothing.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toml::de::DeTable;

use crate::Project;
use crate::config::{self, Config, ConfigError, Settings, parse};
use crate::identity::Identity;
use crate::{owner, private, user, visible};

/// One thing that counts only when granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The setting, as `repl.profiles.NAME`.
    pub key: String,
    /// The line in `hob.toml` where it stands, from 1.
    pub line: usize,
    /// What granting it allows, for people: `runs the command ["x", "y"]`.
    pub asks: String,
    /// The profile of a REPL that is not to be had until then.
    #[serde(skip)]
    pub profile: Option<String>,
}

/// Why a grant was not written.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so there is no place for grants; set HOME")]
    NoPlace,
    #[error("write {}: {source}; check that the directory is yours and the disk not full", visible::path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "the file system of {} tells neither when a directory was made nor a number of its own, so a grant would hold for \
         whatever is mounted there next; move the project to another disk, or put the settings into your own config.toml",
        visible::path(root)
    )]
    Uncertain { root: PathBuf },
    #[error("{} changed while it was read; look at it again with `hob trust`", visible::path(path))]
    Changed { path: PathBuf },
}

/// The user's grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trust {
    #[serde(rename = "grant")]
    grants: Vec<Grant>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    root: PathBuf,
    sha256: String,
    /// What stood at the root then: another directory brings other programs under the same names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
}

impl Grant {
    fn is_for(&self, root: &Path) -> bool {
        // Where it is not sure that it is the same one, it is asked again.
        let before = self.directory.as_deref().and_then(Identity::read);
        let is_same = || before.zip(Identity::of(root)).is_some_and(|(before, now)| before.is_directory_of(&now));
        self.root == root && is_same()
    }
}

impl Trust {
    /// Reads the user's grants; an absent file holds none.
    pub fn load() -> Result<Trust, ConfigError> {
        match path() {
            Some(path) => Trust::load_from(&path),
            None => Ok(Trust::default()),
        }
    }

    fn load_from(path: &Path) -> Result<Trust, ConfigError> {
        // Not root's either: what root granted was another's to look at.
        user::read_of(path, &[owner::me()])?.map_or_else(|| Ok(Trust::default()), |text| parse(path, &text))
    }

    /// Whether this text of the project's `hob.toml` is granted.
    pub fn covers(&self, project: &Project, text: &str) -> bool {
        let sha256 = sha256(text);
        self.grants.iter().any(|grant| grant.is_for(project.root()) && grant.sha256 == sha256)
    }

    /// Grants what the project's `hob.toml` asks for, as it reads now. `shown` are the requests that the user saw:
    /// if the file asks for anything else by now, nothing is granted.
    pub fn grant(project: &Project, shown: &[Request]) -> Result<(), TrustError> {
        Trust::grant_in(&path().ok_or(TrustError::NoPlace)?, project, shown)
    }

    fn grant_in(file: &Path, project: &Project, shown: &[Request]) -> Result<(), TrustError> {
        let toml = project.config_path();
        let text = config::read_of(project)?.unwrap_or_default();
        let settings: Settings = parse(&toml, &text)?;
        if requests(&text, &settings) != shown {
            return Err(TrustError::Changed { path: toml });
        }
        user::refuse_foreign_place(file)?;
        let mut trust = Trust::load_from(file)?;
        trust.grants.retain(|grant| grant.root != project.root());
        let identity = Identity::of(project.root()).filter(Identity::is_certain);
        let Some(identity) = identity else { return Err(TrustError::Uncertain { root: project.root().to_owned() }) };
        let directory = Some(identity.to_string());
        trust.grants.push(Grant { root: project.root().to_owned(), sha256: sha256(&text), directory });
        trust.store(file).map_err(|source| TrustError::Write { path: file.to_owned(), source })
    }

    /// Withdraws what was granted to the project. Returns whether there was anything.
    pub fn revoke(project: &Project) -> Result<bool, TrustError> {
        let file = path().ok_or(TrustError::NoPlace)?;
        let mut trust = Trust::load_from(&file)?;
        let before = trust.grants.len();
        trust.grants.retain(|grant| grant.root != project.root());
        if trust.grants.len() == before {
            return Ok(false);
        }
        trust.store(&file).map_err(|source| TrustError::Write { path: file.clone(), source })?;
        Ok(true)
    }

    /// Replaces the file whole, so that a reader never sees half of it.
    fn store(&self, file: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let head = "# Written by `hob trust`: the hob.toml texts whose requests you granted.";
        private::replace(file, format!("{head}\n{text}\n").as_bytes())
    }
}

/// Whether the user has granted by now what was withheld when the configuration was read. A text that asks for something
/// else by now is another matter.
pub fn is_granted_by_now(project: &Project, withheld: &[Request]) -> bool {
    !withheld.is_empty()
        && Config::load(project).is_ok_and(|config| config.withheld.is_empty())
        && Config::requests(project).is_ok_and(|requests| requests == withheld)
}

/// What a `hob.toml` asks for beyond the safe set: every setting that a grant would make count, one by one.
pub(crate) fn requests(text: &str, settings: &Settings) -> Vec<Request> {
    let places = Places::of(text);
    let mut requests = Vec::new();
    for (name, table) in &settings.repl.profiles {
        let mut ask = |path: &[&str], asks: String| {
            let path = [&["repl", "profiles", name], path].concat();
            requests.push(Request { profile: Some(name.clone()), ..places.request(&path, asks) });
        };
        // What is run comes first, and a profile without it is asked for all the same.
        match table.get("command") {
            Some(command) => ask(&["command"], format!("runs the command {}", shown(command))),
            None => ask(&[], format!("defines how the program of the profile {} is run and driven", visible(name))),
        }
        for (key, value) in table.iter().filter(|(key, _)| *key != "command") {
            match (key.as_str(), value) {
                ("env", toml::Value::Table(variables)) => {
                    for (variable, value) in variables {
                        let sets = format!("runs it with {}={}", key_shown(variable), shown(value));
                        ask(&["env", variable], sets);
                    }
                }
                ("memory", value) => ask(&["memory"], format!("runs it with {} behind its arguments", shown(value))),
                ("requires", value) => ask(&["requires"], format!("looks for the programs {}", shown(value))),
                (key, value) => ask(&[key], format!("sets {} = {}", visible(key), shown(value))),
            }
        }
    }
    if let Some(space) = &settings.mail.space {
        let asks = format!("reads and sends the mail of the space {}, where a database is shared", quoted(space));
        requests.push(places.request(&["mail", "space"], asks));
    }
    requests
}

/// A value on one line, its texts as basic strings of TOML whatever way they were written.
fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Array(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        toml::Value::Table(table) if table.is_empty() => "{}".to_owned(),
        toml::Value::Table(table) => {
            let pairs = table.iter().map(|(key, value)| format!("{} = {}", key_shown(key), shown(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        value => visible(value.to_string().trim_end()),
    }
}

fn key_shown(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !key.is_empty() && key.chars().all(is_bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// Nothing stands in it that is not in the text, and what is not to be seen is written out.
fn quoted(text: &str) -> String {
    // A backslash of the text's own must not pass for one of ours.
    format!("\"{}\"", visible(&text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// Where the settings of a file stand.
struct Places<'a> {
    /// Where each line ends.
    ends: Vec<usize>,
    tree: Option<DeTable<'a>>,
}

impl<'a> Places<'a> {
    fn of(text: &'a str) -> Places<'a> {
        // A file that does not parse asks for nothing.
        let tree = DeTable::parse(text).ok().map(|tree| tree.into_inner());
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Places { ends, tree }
    }

    /// The line of the key at the end of a path, or of the last one on the way that is found.
    fn line(&self, path: &[&str]) -> usize {
        let mut line = 1;
        let mut table = self.tree.as_ref();
        for key in path {
            let Some((at, value)) = table.and_then(|table| table.get_key_value(*key)) else {
                break;
            };
            line = 1 + self.ends.partition_point(|end| *end < at.span().start);
            table = value.get_ref().as_table();
        }
        line
    }

    fn request(&self, path: &[&str], asks: String) -> Request {
        let key = path.iter().map(|key| visible(key)).collect::<Vec<_>>().join(".");
        Request { key, line: self.line(path), asks, profile: None }
    }
}

fn path() -> Option<PathBuf> {
    Some(user::directory()?.join("trust.toml"))
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fs;

    fn check(text: &str, expected: Expect) {
        let settings = parse(Path::new("hob.toml"), text).unwrap();
        let line = |request: Request| format!("{} (line {}): {}\n", request.key, request.line, request.asks);
        expected.assert_eq(&requests(text, &settings).into_iter().map(line).collect::<String>());
    }

    #[test]
    fn everything_that_a_grant_allows_is_shown() {
        check(
            "# hello\n\n[repl]\nprofiles.a = { command = [\"sh\"], env.PATH = \"/evil\" }\n\n[repl.profiles.\"b\\u001b[2J\"]\n\
             driver = \"ghci\"\n  command = [\n  \"x\\u202e\",\n]\nrequires = [\"y\"]\nmemory = [\"-M{mib}m\"]\n\n\
             [repl.profiles.\"b\\u001b[2J\".env]\nA = \"1\"\nLD_PRELOAD = \"\"\"\n./x.so\n\"\"\"\n\n[mail]\nspace = \"theirs\"\n",
            expect![[r#"
                repl.profiles.a.command (line 4): runs the command ["sh"]
                repl.profiles.a.env.PATH (line 4): runs it with PATH="/evil"
                repl.profiles.b\x1b[2J.command (line 8): runs the command ["x\u{202e}"]
                repl.profiles.b\x1b[2J.driver (line 7): sets driver = "ghci"
                repl.profiles.b\x1b[2J.env.A (line 15): runs it with A="1"
                repl.profiles.b\x1b[2J.env.LD_PRELOAD (line 16): runs it with LD_PRELOAD="./x.so\n"
                repl.profiles.b\x1b[2J.memory (line 12): runs it with ["-M{mib}m"] behind its arguments
                repl.profiles.b\x1b[2J.requires (line 11): looks for the programs ["y"]
                mail.space (line 21): reads and sends the mail of the space "theirs", where a database is shared
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
        let settings = parse(Path::new("hob.toml"), &text).unwrap();
        // Looked through anew for each of them it takes minutes, and the run of the tests ends it.
        let requests = requests(&text, &settings);
        assert_eq!((requests.len(), requests.iter().map(|request| request.line).max()), (80_000, Some(80_000)));
    }

    #[test]
    fn granted_by_content_only() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config/hob/trust.toml");
        let root = temp.path().join("project");
        fs::create_dir(&root).unwrap();
        let project = Project::find(Some(&root), Path::new("/")).unwrap();
        let text = "# hello\n[repl.profiles.mine]\ncommand = [\"mine\", \"--\\u001b[2J\"]\n";
        fs::write(project.config_path(), text).unwrap();

        let asked = requests(text, &parse(Path::new("hob.toml"), text).unwrap());
        assert_eq!(asked.len(), 1);

        assert!(!Trust::load_from(&file).unwrap().covers(&project, text));
        assert!(matches!(Trust::grant_in(&file, &project, &[]), Err(TrustError::Changed { .. })));
        Trust::grant_in(&file, &project, &asked).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        assert!(trust.covers(&project, text));
        assert!(!trust.covers(&project, &text.replace("mine", "yours")));
        Trust::grant_in(&file, &project, &asked).unwrap();
        assert_eq!(Trust::load_from(&file).unwrap().grants.len(), 1);
        // Another directory of the same name and text has other programs.
        fs::rename(&root, temp.path().join("elsewhere")).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(project.config_path(), text).unwrap();
        assert!(!Trust::load_from(&file).unwrap().covers(&project, text));
        // What another wrote, or may replace, grants nothing and keeps no grant.
        if owner::me() == 0 {
            std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
            assert!(matches!(Trust::load_from(&file), Err(ConfigError::NotMine { owner: 12345, .. })));
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::chown(file.parent().unwrap(), Some(12345), None).unwrap();
            assert!(matches!(Trust::grant_in(&file, &project, &asked), Err(TrustError::Config(_))));
            assert!(!file.exists());
        }
    }
}
