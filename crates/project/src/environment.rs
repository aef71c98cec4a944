//! Selects the environment variables that a caller passes to processes hob starts for it. It is an allow-list: programs
//! need to find compilers, libraries and locale; an agent's secrets stay in its environment.

use std::collections::BTreeMap;
use std::env;

use crate::UserConfig;

/// Names, and prefixes that end in `*`. The user's configuration can add to them (`environment = ["FOO", "BAR_*"]`).
const ALLOWED: &[&str] = &[
    // User and locale.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    // For programs that use terminals and time zones.
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    // Finding libraries and certificates.
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "PKG_CONFIG_PATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "LOCALE_ARCHIVE",
    // Haskell.
    "GHC*",
    "HASKELL_*",
    "CABAL_*",
    "STACK_*",
    "HIE_*",
    // Other languages and their version managers.
    "PYTHON*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYENV_*",
    "UV_*",
    "NODE_PATH",
    "NODE_OPTIONS",
    "NVM_*",
    "GEM_*",
    "RUBY*",
    "BUNDLE_*",
    "RBENV_*",
    "ERL_*",
    "ELIXIR_*",
    "MIX_*",
    "HEX_HOME",
    "LUA_*",
    "OCAML*",
    "OPAM*",
    "CAML_LD_LIBRARY_PATH",
    "JAVA_HOME",
    "CARGO_HOME",
    "RUSTUP_*",
    "GOPATH",
    "GOROOT",
    "ASDF_*",
    "MISE_*",
    "NIX_*",
    "IN_NIX_SHELL",
    "GUIX_*",
    "DIRENV_*",
    "PGHOST",
    "PGPORT",
    "PGUSER",
    "PGDATABASE",
    "PGSERVICE",
];

/// Variables for tools and short-lived programs run on a caller's behalf (git, for a fetch), not for sessions: the location of
/// keys, the current issue, and those of Tidepool's control server.
const FOR_QUESTIONS: &[&str] =
    &["SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "HOB_ISSUE", "GEMMA_ENDPOINT", "TEACHING_ENABLED", "TEACHING_OUTPUT_DIR"];

/// Names that would be allowed but carry secrets.
const DENIED: &[&str] = &["*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "*_KEY", "*APIKEY*"];

/// Search paths for programs and modules. Empty and relative entries mean the program's current directory, so a
/// checkout would be searched first.
const SEARCHED: &[&str] = &["PATH", "PYTHONPATH", "RUBYLIB", "NODE_PATH", "LD_LIBRARY_PATH"];

/// The size limit of a value, in bytes.
const VALUE_MAX: usize = 64 * 1024;
/// The size limit of all values together, in bytes.
const TOTAL_MAX: usize = 512 * 1024;

/// The filter of environment variables.
#[derive(Debug)]
pub struct Environment;

impl Environment {
    /// Returns the part of this process's environment that may be passed on.
    pub fn of_this_process() -> BTreeMap<String, String> {
        // Code that loads the whole user configuration reports an invalid one.
        let more = UserConfig::load().map(|config| config.environment).unwrap_or_default();
        let variables =
            env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        select(variables, &more)
    }

    /// Returns the variables for short-lived programs.
    pub fn for_questions() -> BTreeMap<String, String> {
        let value = |name: &str| env::var(name).ok().filter(|value| !value.is_empty() && value.len() <= VALUE_MAX);
        FOR_QUESTIONS.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
    }
}

/// Returns true if a variable of this name may be passed on; the user's additions, `more`, override everything.
pub fn allowed(name: &str, more: &[String]) -> bool {
    if more.iter().any(|pattern| matches(pattern, name)) {
        return true;
    }
    ALLOWED.iter().any(|pattern| matches(pattern, name)) && !DENIED.iter().any(|pattern| matches(pattern, name))
}

fn select(variables: impl Iterator<Item = (String, String)>, more: &[String]) -> BTreeMap<String, String> {
    let mut total = 0;
    variables
        .filter(|(name, value)| value.len() <= VALUE_MAX && allowed(name, more))
        .filter_map(|(name, value)| {
            if SEARCHED.contains(&&*name) {
                absolute_entries(&value).map(|value| (name, value))
            } else {
                Some((name, value))
            }
        })
        .take_while(|(name, value)| {
            total += name.len() + value.len();
            total <= TOTAL_MAX
        })
        .collect()
}

/// Removes relative entries from a search path; `None` if no entry remains, since an empty path means the current directory.
/// directory.
fn absolute_entries(value: &str) -> Option<String> {
    let entries: Vec<&str> = value.split(':').filter(|entry| entry.starts_with('/')).collect();
    (!entries.is_empty()).then(|| entries.join(":"))
}

/// Matches a name against a pattern with `*` at either end.
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => name.contains(rest.trim_end_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes() {
        let names = "PATH LC_ALL GHCUP_INSTALL_BASE_PREFIX GHCRTS CABAL_DIR UV_PUBLISH_TOKEN ANTHROPIC_API_KEY \
            AWS_SECRET_ACCESS_KEY GITHUB_TOKEN LD_PRELOAD HOB_SESSION FOO PYTHONPATH SSH_AUTH_SOCK";
        let passed =
            |more: &[String]| names.split_whitespace().filter(|name| allowed(name, more)).collect::<Vec<_>>().join(" ");
        assert_eq!(passed(&[]), "PATH LC_ALL GHCUP_INSTALL_BASE_PREFIX GHCRTS CABAL_DIR PYTHONPATH");
        assert_eq!(passed(&["FOO".into(), "GITHUB*".into()]).matches("FOO").count(), 1);
        assert!(passed(&["GITHUB*".into()]).contains("GITHUB_TOKEN"));
    }

    #[test]
    fn bounded() {
        let long = "x".repeat(VALUE_MAX + 1);
        let variables = [("PATH".to_owned(), "/bin".to_owned()), ("CABAL_X".to_owned(), long)];
        assert_eq!(select(variables.into_iter(), &[]).len(), 1);
    }

    #[test]
    fn search_paths_lead_nowhere_near_a_checkout() {
        let check = |name: &str, value: &str, expected: Option<&str>| {
            let selected = select([(name.to_owned(), value.to_owned())].into_iter(), &[]);
            assert_eq!(selected.get(name).map(String::as_str), expected, "{name}={value}");
        };
        check("PATH", ":/usr/bin:/bin", Some("/usr/bin:/bin"));
        check("PATH", "/usr/bin:.:bin:./x::/opt/a b", Some("/usr/bin:/opt/a b"));
        check("PATH", "", None);
        check("PYTHONPATH", "/x:", Some("/x"));
        check("PYTHONPATH", ".", None);
        check("LD_LIBRARY_PATH", ":/x", Some("/x"));
        check("NODE_PATH", ".:/x", Some("/x"));
        check("GHC_PACKAGE_PATH", "/x:", Some("/x:"));
    }
}
