//! Checks for `hob doctor` if cabal has a list of packages (`cabal update`). Without one its first session uses the network.
//!
//! `cabal --help` reports which configuration cabal reads: up to 3.8 the one in `~/.cabal`, later the one in the XDG
//! directories if `~/.cabal` does not exist.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use project::regular;

/// The size limit of a configuration.
const MAX_BYTES: u64 = 1 << 20;
/// The repository of a cabal without configuration.
const DEFAULT: &str = "hackage.haskell.org";
/// File names of a package list. Any of them is enough.
const LISTS: [&str; 4] = ["01-index.tar", "01-index.tar.gz", "00-index.tar", "00-index.tar.gz"];

/// A missing package list, although cabal's configuration names repositories.
#[derive(Debug, PartialEq, Eq)]
pub struct NoList {
    /// cabal's configuration.
    pub config: PathBuf,
    /// The directory that should hold the lists.
    pub packages: PathBuf,
}

impl NoList {
    /// Looks for a missing list, given a home directory, an environment and the output of `cabal --help`.
    pub fn find_missing_list(home: &Path, variable: impl Fn(&str) -> Option<OsString>, help: &str) -> Option<NoList> {
        let variable = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let own = home.join(".cabal");
        let said = configuration(help);
        let is_own = own.is_dir() || said.as_deref().is_some_and(|said| said.starts_with(&own));
        let classic = variable("CABAL_DIR").or_else(|| is_own.then_some(own));
        let (config, packages) = match classic {
            Some(dir) => (dir.join("config"), dir.join("packages")),
            None => {
                let xdg =
                    |name: &str, default: &str| variable(name).unwrap_or_else(|| home.join(default)).join("cabal");
                (xdg("XDG_CONFIG_HOME", ".config").join("config"), xdg("XDG_CACHE_HOME", ".cache").join("packages"))
            }
        };
        let config = variable("CABAL_CONFIG").or(said).unwrap_or(config);
        let text = match regular::read(&config, MAX_BYTES) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // An unreadable file proves nothing.
            Err(_) => return None,
        };
        let (repositories, packages) = match &text {
            None => (vec![DEFAULT], packages),
            Some(text) => (repositories(text), value(text, "remote-repo-cache").map_or(packages, PathBuf::from)),
        };
        let has_list = |name: &&str| LISTS.iter().any(|list| packages.join(name).join(list).exists());
        (!repositories.is_empty() && !repositories.iter().any(has_list)).then_some(NoList { config, packages })
    }
}

/// Returns the configuration that cabal names at the end of its help, on its own line.
fn configuration(help: &str) -> Option<PathBuf> {
    let mut lines = help.lines().skip_while(|line| !line.contains("configuration file to set defaults:")).skip(1);
    lines.next().map(|line| PathBuf::from(line.trim())).filter(|path| path.is_absolute())
}

/// Returns the repositories that a configuration names.
fn repositories(text: &str) -> Vec<&str> {
    let old = value(text, "remote-repo").and_then(|value| value.split(':').next());
    let stanzas = text.lines().filter_map(|line| line.strip_prefix("repository "));
    stanzas.chain(old).map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// Returns the value of a setting; comments begin with `--`.
fn value<'a>(text: &'a str, setting: &str) -> Option<&'a str> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix(setting)?.trim_start().strip_prefix(':'));
    lines.map(str::trim).find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lists_are_where_cabal_looks() {
        let temp = tempfile::tempdir().expect("a directory");
        let home = temp.path();
        let look = || NoList::find_missing_list(home, |_| None, "").map(|none| none.config);
        assert_eq!(look(), Some(home.join(".config/cabal/config")), "a fresh home");
        let help = |config: &str| {
            let config = home.join(config).display().to_string();
            format!(
                "You can edit the cabal configuration file to set defaults:\n  {config}\nThis file will be generated"
            )
        };
        let said = |config: &str| NoList::find_missing_list(home, |_| None, &help(config)).expect("none");
        let none = said(".cabal/config");
        assert_eq!((none.config, none.packages), (home.join(".cabal/config"), home.join(".cabal/packages")));
        let none = said(".config/cabal/config");
        assert_eq!(
            (none.config, none.packages),
            (home.join(".config/cabal/config"), home.join(".cache/cabal/packages"))
        );
        fs::create_dir_all(home.join(".cabal")).expect("made");
        let config = home.join(".cabal/config");
        assert_eq!(look(), Some(config.clone()));
        for (text, asks) in [
            ("", false),
            ("-- repository x\n  -- url: y\n", false),
            ("repository hackage.haskell.org\n  url: http://h\n", true),
            ("remote-repo: hackage.haskell.org:http://h\n", true),
        ] {
            fs::write(&config, text).expect("written");
            assert_eq!(look().is_some(), asks, "{text:?}");
        }
        fs::create_dir_all(home.join(".cabal/packages/hackage.haskell.org")).expect("made");
        assert!(look().is_some());
        fs::write(home.join(".cabal/packages/hackage.haskell.org/01-index.tar"), "").expect("written");
        assert_eq!(look(), None);
        fs::write(&config, "repository other\nremote-repo-cache: /nowhere\n").expect("written");
        let none = NoList::find_missing_list(home, |_| None, "").expect("none");
        assert_eq!(none.packages, Path::new("/nowhere"));
        let variable = |name: &str| (name == "CABAL_DIR").then(|| OsString::from("/elsewhere"));
        assert_eq!(NoList::find_missing_list(home, variable, "").expect("none").config, Path::new("/elsewhere/config"));
    }
}
