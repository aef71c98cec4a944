//! Fetches from git's remotes, and pulls the tracker's issues. Merges, rebases and checks out nothing.
//!
//! The repository's own configuration may come with a checkout, so git fetches with a view of the repository in which that
//! configuration names no program ([`project::GitView`]). hob refuses if the configuration would decide how to fetch. A
//! fetch writes only objects, refs below `refs/remotes` and their logs, and only if no link leads elsewhere. A tracker
//! runs git directly, so it pulls only after a fetch that was not refused.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{AnswerError, Bounds};
use project::{Caller, Purpose, visible};
use tokio::time::timeout;

use crate::git::Git;
use crate::git::porcelain::Config;
use crate::run::{NoAnswer, OF_TRACKERS, Runner};
use crate::sources::{Source, State};
use crate::state::Work;

/// Limits of a fetch or of a tracker's pull.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(20), stdout: 1 << 20, stderr: 16 * 1024 };
/// Limits of a tracker's help command.
const HELP: Bounds = Bounds { deadline: Duration::from_secs(3), stdout: 1 << 20, stderr: 4096 };
/// The transports that git may use: none that runs a program named in an address (`ext::`).
const PROTOCOLS: &str = "file:git:http:https:ssh";
/// Settings that override the user's configuration during a fetch.
const OF_FETCHES: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "submodule.recurse=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "fetch.writeCommitGraph=false",
];

impl Work {
    /// Fetches the remotes of the caller's branch and its base, and lets the tracker pull. Returns the result of both.
    pub(crate) async fn sync(&self, caller: &Caller) -> BTreeMap<&'static str, Source> {
        let git = self.query_git(caller).await;
        let (root, repository) = match &git {
            Ok(git) => (git.root.clone(), git.common_dir.clone()),
            Err(_) => (caller.worktree.clone(), caller.worktree.clone()),
        };
        let turn = self.syncs.turn_for(&repository);
        let Ok(_turn) = timeout(BOUNDS.deadline, turn.lock()).await else {
            let busy =
                Source::missing(State::Timeout, "another fetch in this repository is in progress", Some("Call again."));
            return BTreeMap::from([("fetch", busy)]);
        };
        let fetched = async {
            match &git {
                Ok(git) => fetch(caller, git).await.unwrap_or_else(|source| source),
                Err(source) => source.clone(),
            }
        };
        let fetched = fetched.await;
        // Without a remote, no fetch can have been refused.
        let pulled = if matches!(fetched.state, State::Ok | State::Absent) {
            pull_issues(caller, &root).await
        } else {
            let why = "the tracker was not run, because the fetch failed";
            root.join(".beads").is_dir().then(|| Source::missing(State::Failed, why, None))
        };
        let mut sources = BTreeMap::from([("fetch", fetched)]);
        sources.extend(pulled.map(|source| ("tracker", source)));
        sources
    }
}

/// Returns the caller's environment, including variables that only such programs receive.
fn environment(caller: &Caller) -> BTreeMap<String, String> {
    caller.env.iter().chain(&caller.asked_env).map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn fetch(caller: &Caller, git: &Git) -> Result<Source, Source> {
    let env = environment(caller);
    let asked = Runner { directory: &caller.worktree, env: &env };
    let repository = asked.repository().await.map_err(|NoAnswer(source)| source)?;
    let config = Config::parse(&repository.config);
    let ssh = env.get("GIT_SSH_COMMAND");
    if let Some(name) = config.repository_settings().map(|(name, _)| name).find(|name| is_risky(name, ssh.is_some())) {
        return Err(Source::missing(
            State::Failed,
            format!("the repository's own configuration controls how to fetch ({}), so hob refuses", visible(name)),
            Some("Run `git fetch` in your shell."),
        ));
    }
    let remotes = remotes(&config, git);
    if remotes.is_empty() {
        let next = Some("`git remote add origin ADDRESS` adds one.");
        return Err(Source::missing(State::Absent, "no remote is configured", next));
    }
    refuse_links(repository.common_dir.clone()).await?;
    let view = repository.view(Purpose::Fetch).map_err(|NoAnswer(source)| source)?;
    let mut own = view.env();
    own.push(("GIT_ALLOW_PROTOCOL", PROTOCOLS.into()));
    match ssh {
        Some(command) => own.push(("GIT_SSH_COMMAND", command.into())),
        // ssh would prompt on a terminal that does not exist.
        None if config.value("core.sshcommand").is_none() => {
            own.push(("GIT_SSH_COMMAND", "ssh -o BatchMode=yes".into()));
        }
        None => {}
    }
    for remote in remotes {
        let refspecs = refspecs(&config, remote);
        if refspecs.is_empty() {
            let detail = format!("the remote {} has nothing to fetch below refs/remotes", visible(remote));
            return Err(Source::missing(
                State::Failed,
                detail,
                Some("Run `git fetch` in your shell to use that configuration."),
            ));
        }
        let mut args: Vec<OsString> = Vec::new();
        for setting in OF_FETCHES {
            args.extend(["-c".into(), setting.into()]);
        }
        let fetch = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--refmap=",
            "--end-of-options",
            remote,
        ];
        args.extend(fetch.iter().map(OsString::from));
        args.extend(refspecs.iter().map(OsString::from));
        let answer =
            asked.program("git", args, own.clone(), BOUNDS).await.map_err(|error| unfetched(&error, remote))?;
        if !answer.exit.success() {
            return Err(refused(&String::from_utf8_lossy(&answer.stderr), remote));
        }
    }
    Ok(Source::ok().at(project::journal::now()))
}

/// Refuses to fetch if a link in the repository would redirect writes.
async fn refuse_links(common_dir: PathBuf) -> Result<(), Source> {
    let look = tokio::task::spawn_blocking(move || project::misleading_link(&common_dir));
    let next = Some("Check its target; `git fetch` in your shell follows it.");
    match look.await.map_err(std::io::Error::other).and_then(|found| found) {
        Ok(None) => Ok(()),
        Ok(Some(path)) => {
            let shown = visible::path(&path);
            Err(Source::missing(State::Failed, format!("{shown} is a link, so a fetch could write elsewhere"), next))
        }
        Err(error) => {
            let why = format!("the repository cannot be checked for links: {error}");
            Err(Source::missing(State::Failed, why, None))
        }
    }
}

/// Returns the remotes of the base and of the branch; else `origin`, or any remote.
fn remotes<'a>(config: &'a Config, git: &Git) -> Vec<&'a str> {
    let all: Vec<&str> = config.remotes().collect();
    let of_base = git.base.as_deref().or(git.upstream.as_deref());
    let of_base = all.iter().find(|name| of_base.is_some_and(|base| base.starts_with(&format!("{name}/"))));
    let of_branch = all.iter().find(|name| git.pushed.as_ref().is_some_and(|pushed| pushed.remote == **name));
    let origin = all.iter().find(|name| **name == "origin").or(all.first());
    let mut named: Vec<&str> = of_base.into_iter().chain(of_branch).copied().collect();
    named.dedup();
    if named.is_empty() { origin.into_iter().copied().collect() } else { named }
}

/// Returns the configured refspecs of a remote whose targets are below `refs/remotes`.
fn refspecs<'a>(config: &'a Config, remote: &'a str) -> Vec<&'a str> {
    let before = format!("remote.{remote}.");
    let all = config
        .repository_settings()
        .filter(|(name, _)| name.strip_prefix(&before) == Some("fetch"))
        .map(|(_, value)| value);
    let is_kept_apart = |spec: &&str| {
        spec.starts_with('^') || spec.split_once(':').is_some_and(|(_, to)| to.starts_with("refs/remotes/"))
    };
    let kept: Vec<&str> = all.filter(is_kept_apart).collect();
    if kept.iter().all(|spec| spec.starts_with('^')) { Vec::new() } else { kept }
}

/// True if a setting could make a fetch run a program, or send a login without verifying the server's certificate.
fn is_risky(name: &str, has_ssh: bool) -> bool {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match name {
        "core.sshcommand" => !has_ssh,
        "core.gitproxy" | "core.askpass" | "core.alternaterefscommand" => true,
        name if name.starts_with("credential.") => ends(&["helper"]),
        name if name.starts_with("remote.") => ends(&[".uploadpack", ".vcs", ".proxy"]),
        name if name.starts_with("http.") => ends(&[
            "proxy",
            "sslverify",
            "sslcainfo",
            "sslcapath",
            "sslcert",
            "sslkey",
            "curloptresolve",
            "cookiefile",
            "savecookies",
        ]),
        _ => false,
    }
}

/// True if a setting could make git run a program during a checkout or merge, which a tracker may trigger.
fn runs_in_checkouts(name: &str) -> bool {
    let programs = ["core.sshcommand", "core.gitproxy", "core.askpass", "core.editor", "core.pager", "diff.external"];
    let (section, key) = (name.split('.').next(), name.rsplit('.').next());
    match (section, key) {
        (Some("filter" | "alias" | "gpg" | "trailer"), _) => true,
        (Some("diff"), Some("command" | "textconv")) | (Some("merge"), Some("driver")) => true,
        _ => programs.contains(&name) || is_risky(name, false),
    }
}

fn unfetched(error: &AnswerError, remote: &str) -> Source {
    let state = if matches!(error, AnswerError::Late { .. }) { State::Timeout } else { State::Failed };
    let next = format!("Run `git fetch {}` in your shell.", visible(remote));
    Source::missing(state, error.to_string(), Some(&next))
}

/// Explains why git refused to fetch.
fn refused(said: &str, remote: &str) -> Source {
    let has = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let offline =
        ["Could not resolve host", "Failed to connect", "Network is unreachable", "Connection refused", "timed out"];
    let login = ["Permission denied", "Authentication failed", "could not read Username", "could not read Password"];
    let line =
        said.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:")).or(said.lines().next());
    let line = visible(line.unwrap_or("git fetch failed without an error message"));
    let remote = visible(remote);
    let (state, next) = match () {
        () if has(&login) => (
            State::NotLoggedIn,
            format!(
                "`git fetch {remote}` in your shell asks for the login; hob passes on SSH_AUTH_SOCK and GIT_SSH_COMMAND."
            ),
        ),
        () if has(&offline) => (State::Offline, "Call again when there is a network.".to_owned()),
        () => (State::Failed, format!("`git fetch {remote}` in your shell shows the whole error.")),
    };
    Source::missing(state, format!("{remote}: {line}"), Some(&next))
}

/// How a tracker version pulls: program, help arguments, word to expect in the help, pull arguments.
type Pull = (&'static str, &'static [&'static str], &'static str, &'static [&'static str]);

const PULLS: &[Pull] = &[
    ("bd", &["sync", "--help"], "--from-main", &["sync", "--from-main"]),
    ("bd", &["dolt", "--help"], "pull", &["dolt", "pull"]),
    ("br", &["sync", "--help"], "--import-only", &["sync", "--import-only"]),
];

/// Lets the tracker pull, if one is able to. Returns `None` if the repository has no tracker.
async fn pull_issues(caller: &Caller, root: &Path) -> Option<Source> {
    if !root.join(".beads").is_dir() {
        return None;
    }
    let env = environment(caller);
    let asked = Runner { directory: root, env: &env };
    match asked.repository().await.map(|repository| Config::parse(&repository.config)) {
        Ok(config) => {
            if let Some(name) = config.repository_settings().map(|(name, _)| name).find(|name| runs_in_checkouts(name))
            {
                let why = format!("the repository's own configuration names programs for git ({})", visible(name));
                return Some(Source::missing(State::Failed, why, Some("Run the tracker's pull in your shell.")));
            }
        }
        Err(NoAnswer(source)) if source.state == State::Absent => {}
        Err(NoAnswer(source)) => return Some(source),
    }
    let mut named = Vec::new();
    for (program, question, word, command) in PULLS {
        let own = [("LC_ALL", "C"), ("NO_COLOR", "1"), ("GIT_TERMINAL_PROMPT", "0")];
        let own = own.iter().chain(OF_TRACKERS).copied();
        let args = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let help = match asked.program(program, args(question), own.clone(), HELP).await {
            Ok(help) => help,
            Err(AnswerError::Spawn(_)) => continue,
            Err(error) => return Some(Source::missing(State::Failed, error.to_string(), None)),
        };
        named.push(*program);
        if !String::from_utf8_lossy(&help.stdout).contains(word) {
            continue;
        }
        let line = format!("{program} {}", command.join(" "));
        let next = format!("`{line}` in your shell shows the whole error.");
        return Some(match asked.program(program, args(command), own, BOUNDS).await {
            Ok(answer) if answer.exit.success() => {
                Source { detail: Some(line), ..Source::ok() }.at(project::journal::now())
            }
            Ok(answer) => {
                let said = String::from_utf8_lossy(&answer.stderr);
                let said = said.lines().next().unwrap_or("it failed without an error message");
                Source::missing(State::Failed, format!("{line}: {}", visible(said)), Some(&next))
            }
            Err(error @ AnswerError::Late { .. }) => Source::missing(State::Timeout, error.to_string(), Some(&next)),
            Err(error) => Source::missing(State::Failed, error.to_string(), Some(&next)),
        });
    }
    named.dedup();
    Some(match named.as_slice() {
        [] => Source::missing(
            State::NotInstalled,
            "neither bd nor br is on the PATH; the issue file is unchanged",
            Some("`git pull` updates the file; install bd or br to pull from the tracker."),
        ),
        named => Source::missing(State::Absent, format!("{} has no command that only pulls", named.join(", ")), None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_a_fetch_astray() {
        for name in [
            "core.sshcommand",
            "credential.helper",
            "credential.https://github.com.helper",
            "remote.origin.uploadpack",
            "http.https://github.com/.sslverify",
            "http.proxy",
        ] {
            assert!(is_risky(name, false), "{name}");
        }
        for name in
            ["remote.origin.url", "remote.origin.fetch", "http.postbuffer", "http.https://github.com/.extraheader"]
        {
            assert!(!is_risky(name, false), "{name}");
        }
        assert!(!is_risky("core.sshcommand", true), "the caller's own wins");
    }

    #[test]
    fn what_is_fetched() {
        let check = |specs: &[&str], expected: &[&str]| {
            let bytes: Vec<u8> =
                specs.iter().flat_map(|spec| format!("local\0remote.origin.fetch\n{spec}\0").into_bytes()).collect();
            assert_eq!(refspecs(&Config::parse(&bytes), "origin"), expected, "{specs:?}");
        };
        let usual = "+refs/heads/*:refs/remotes/origin/*";
        check(&[usual], &[usual]);
        check(&["+refs/*:refs/*", usual, "^refs/heads/wip/*"], &[usual, "^refs/heads/wip/*"]);
        check(&["+refs/heads/*:refs/heads/*"], &[]);
        check(&["refs/heads/main", "^refs/heads/x"], &[]);
    }
}
