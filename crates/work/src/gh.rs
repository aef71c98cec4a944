//! Queries GitHub through the user's own `gh`, and explains failures.
//!
//! Only hosts that `gh` has a login for are queried. A checkout chooses the remote's address, and `gh` would send an
//! enterprise token (`GH_ENTERPRISE_TOKEN`) to any host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use process::{Answer, AnswerError, Bounds, SpawnError};
use serde_json::Value;

use crate::run::Runner;
use crate::sources::{Source, State};

/// Limits of one query.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(5), stdout: 8 << 20, stderr: 4096 };
/// GitHub's own host.
const GITHUB: &str = "github.com";
/// The size limit of gh's login file.
const HOSTS_MAX: u64 = 256 * 1024;

/// The directory and environment in which gh runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Gh {
    pub directory: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// A variable of a query.
pub(crate) enum Variable<'a> {
    Text(&'a str),
    Number(u64),
    Flag(bool),
    Null,
}

impl Gh {
    /// Returns the variables that select gh's login. They are part of the cache key.
    pub(crate) fn login(&self) -> Vec<(String, String)> {
        let counts = |name: &str| name.starts_with("GH_") || name.starts_with("GITHUB_");
        let place = ["HOME", "PATH", "XDG_CONFIG_HOME"];
        let named = self.env.iter().filter(|(name, _)| counts(name) || place.contains(&name.as_str()));
        named.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the reason why this host may not be queried, if there is one.
    pub(crate) fn refuses(&self, host: &str) -> Option<Source> {
        let is_known = host.eq_ignore_ascii_case(GITHUB)
            || self.env.get("GH_HOST").is_some_and(|own| own.eq_ignore_ascii_case(host))
            || self.logins().iter().any(|own| own.eq_ignore_ascii_case(host));
        (!is_known).then(|| {
            let host = project::visible(host);
            let next = format!("If it is a GitHub server: `gh auth login --hostname {host}`.");
            Source::missing(State::Absent, format!("the remote is at {host}, where gh has no login"), Some(&next))
        })
    }

    /// Returns the hosts that `gh auth login` was run for: the unindented keys of its file.
    fn logins(&self) -> Vec<String> {
        let at = |name: &str| self.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = at("GH_CONFIG_DIR")
            .or_else(|| Some(at("XDG_CONFIG_HOME")?.join("gh")))
            .or_else(|| Some(at("HOME")?.join(".config/gh")));
        let text = directory.and_then(|directory| project::regular::read(&directory.join("hosts.yml"), HOSTS_MAX).ok());
        let text = text.unwrap_or_default();
        let names = text.lines().filter_map(|line| line.trim_end().strip_suffix(':'));
        names
            .filter(|name| !name.starts_with([' ', '\t', '#']))
            .map(|name| name.trim_matches(['"', '\'']).to_owned())
            .collect()
    }

    /// Sends a query and returns the `data` of the answer. Errors that GraphQL reports next to data are ignored,
    /// except `RATE_LIMITED`.
    pub(crate) async fn graphql(
        &self,
        host: &str,
        query: &str,
        variables: &[(&str, Variable<'_>)],
    ) -> Result<Value, Source> {
        let mut args: Vec<OsString> =
            ["api", "graphql", "--include", "--hostname", host, "-f"].iter().map(Into::into).collect();
        args.push(format!("query={query}").into());
        for (name, value) in variables {
            // `-F` would read a file for a text that begins with `@`.
            let (flag, value) = match value {
                Variable::Text(text) => ("-f", (*text).to_owned()),
                Variable::Number(number) => ("-F", number.to_string()),
                Variable::Flag(flag) => ("-F", flag.to_string()),
                Variable::Null => ("-F", "null".to_owned()),
            };
            args.extend([flag.into(), format!("{name}={value}").into()]);
        }
        let own = [
            ("GH_PROMPT_DISABLED", "1"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("GH_NO_EXTENSION_UPDATE_NOTIFIER", "1"),
            ("NO_COLOR", "1"),
            ("CLICOLOR_FORCE", "0"),
            ("GH_DEBUG", ""),
            ("GH_FORCE_TTY", ""),
        ];
        let asked = Runner { directory: &self.directory, env: &self.env };
        let answer = asked.program("gh", args, own, BOUNDS).await.map_err(|error| of_error(&error))?;
        judge(&answer, host)
    }
}

fn of_error(error: &AnswerError) -> Source {
    match error {
        AnswerError::Spawn(SpawnError::NotFound { .. }) => Source::missing(
            State::NotInstalled,
            "gh is not on the PATH",
            Some("Install gh (https://cli.github.com), then `gh auth login`."),
        ),
        AnswerError::Late { .. } => Source::missing(
            State::Timeout,
            format!("gh timed out after {} s", BOUNDS.deadline.as_secs()),
            Some("Call again; `gh api user` shows whether gh works at all."),
        ),
        other => Source::missing(State::Failed, other.to_string(), Some("`gh api user` shows what is wrong.")),
    }
}

/// Parses the output of `gh api --include`: status line, headers, empty line, body.
fn judge(answer: &Answer, host: &str) -> Result<Value, Source> {
    let out = String::from_utf8_lossy(&answer.stdout);
    let said = String::from_utf8_lossy(&answer.stderr);
    let Some((status, headers, body)) = parts(&out) else {
        return Err(unanswered(answer.exit.code, said.trim(), host));
    };
    let header =
        |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|body| body["message"].as_str()).unwrap_or_default();
    let is_limited = header("x-ratelimit-remaining") == Some("0")
        || header("retry-after").is_some()
        || message.to_lowercase().contains("rate limit");
    match status {
        200 => {}
        401 => return Err(logged_out(host, format!("{host} rejects gh's login"))),
        403 | 429 if status == 429 || is_limited => {
            return Err(limited(host, header("x-ratelimit-reset"), header("retry-after")));
        }
        _ => {
            let message = error_suffix(message);
            let (state, next) = match status {
                500.. => (State::Failed, "Call again later; https://www.githubstatus.com reports outages."),
                _ => (State::Failed, "`gh auth status` shows your login and its scopes."),
            };
            return Err(Source::missing(state, format!("{host} answered HTTP {status}{message}"), Some(next)));
        }
    }
    let next = Some("`gh api user` shows what the server answers.");
    let Some(mut body) = parsed else {
        return Err(Source::missing(State::Failed, format!("{host} sent a malformed answer"), next));
    };
    let errors = body["errors"].as_array().cloned().unwrap_or_default();
    if errors.iter().any(|error| error["type"] == "RATE_LIMITED") {
        return Err(limited(host, header("x-ratelimit-reset"), header("retry-after")));
    }
    let message = errors.iter().find_map(|error| error["message"].as_str()).unwrap_or_default();
    if !body["data"].is_object() {
        let detail = format!("{host} did not answer the query{}", error_suffix(message));
        return Err(Source::missing(State::Failed, detail, next));
    }
    Ok(body["data"].take())
}

type Headers<'a> = Vec<(&'a str, &'a str)>;

/// Splits an HTTP answer into status, headers and body.
fn parts(out: &str) -> Option<(u16, Headers<'_>, &str)> {
    let rest = out.strip_prefix("HTTP/")?;
    let (head, body) = rest.split_once("\r\n\r\n").or_else(|| rest.split_once("\n\n")).unwrap_or((rest, ""));
    let mut lines = head.lines();
    let status = lines.next()?.split_whitespace().nth(1)?.parse().ok()?;
    Some((status, lines.filter_map(|line| line.split_once(": ")).collect(), body))
}

/// Explains why gh printed no HTTP answer.
fn unanswered(code: Option<i32>, said: &str, host: &str) -> Source {
    // Documented in `gh help exit-codes`.
    const NEEDS_LOGIN: i32 = 4;
    if code == Some(NEEDS_LOGIN) || said.contains("gh auth login") {
        return logged_out(host, format!("gh is not logged in to {host}"));
    }
    let offline =
        ["error connecting to", "dial ", "lookup ", "network is unreachable", "connection re", "i/o timeout", "EOF"];
    let line = project::visible(said.lines().next().unwrap_or("it failed without an error message"));
    if offline.iter().any(|words| said.contains(words)) {
        let detail = format!("gh cannot reach {host}: {line}");
        return Source::missing(State::Offline, detail, Some("Call again when there is a network."));
    }
    Source::missing(State::Failed, format!("gh: {line}"), Some("`gh api user` shows what is wrong."))
}

fn logged_out(host: &str, detail: String) -> Source {
    let next = format!(
        "`gh auth login --hostname {host}`. A GH_TOKEN reaches gh if `environment` in your own configuration names it."
    );
    Source::missing(State::NotLoggedIn, detail, Some(&next))
}

fn limited(host: &str, reset: Option<&str>, after: Option<&str>) -> Source {
    let after = after.and_then(|seconds| seconds.parse::<u64>().ok());
    let at = reset.and_then(|at| at.parse::<u64>().ok());
    let seconds = after.or_else(|| Some(at?.saturating_sub(project::journal::now() / 1000)));
    let next = match seconds {
        Some(seconds) => format!("Call again in {} min.", seconds.div_ceil(60)),
        None => "Call again later.".to_owned(),
    };
    Source::missing(State::RateLimited, format!("{host} reports that the rate limit is reached"), Some(&next))
}

fn error_suffix(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {}", crate::truncation::shortened(&project::visible(message), 200))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_of_logins() {
        let temp = tempfile::tempdir().unwrap();
        let text =
            "github.com:\n    user: ann\n    oauth_token: x\n\"git.example.org\":\n    user: ann\n# old.example.org:\n";
        std::fs::write(temp.path().join("hosts.yml"), text).unwrap();
        let env = BTreeMap::from([
            ("GH_CONFIG_DIR".to_owned(), temp.path().display().to_string()),
            ("GH_HOST".to_owned(), "ghe.example.org".to_owned()),
        ]);
        let gh = Gh { directory: temp.path().to_owned(), env };
        for host in ["github.com", "GitHub.com", "git.example.org", "ghe.example.org"] {
            assert_eq!(gh.refuses(host), None, "{host}");
        }
        for host in ["gitlab.com", "old.example.org", "user", "github.com.example.org"] {
            assert_eq!(gh.refuses(host).map(|source| source.state), Some(State::Absent), "{host}");
        }
    }
}
