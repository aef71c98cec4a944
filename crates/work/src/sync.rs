//! Fetching: git's remotes, and the pulling half of a tracker. Nothing is merged, rebased or checked out.
//!
//! A fetch follows the repository's own configuration, which may come with a checkout. So it runs only if that names no
//! program and no way around a server's certificate, and it writes only below `refs/remotes`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use process::{AnswerError, Bounds};
use project::{Caller, visible};
use tokio::time::timeout;

use crate::gather::Work;
use crate::git::Git;
use crate::git::porcelain::Config;
use crate::run::{Asked, HARMLESS, NoAnswer};
use crate::sources::{Source, State};

/// What a fetch or a tracker may take.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(20), stdout: 1 << 20, stderr: 16 * 1024 };
/// What a tracker may take to say what it knows.
const HELP: Bounds = Bounds { deadline: Duration::from_secs(3), stdout: 1 << 20, stderr: 4096 };
/// How git may come by what it fetches: not by a program that an address names (`ext::`).
const PROTOCOLS: &str = "file:git:http:https:ssh";

impl Work {
    /// Fetches what the caller's branch and its base come from, and has its tracker pull. Says of both how that went.
    pub(crate) async fn sync(&self, caller: &Caller) -> BTreeMap<&'static str, Source> {
        let git = self.look(caller).await;
        let (root, repository) = match &git {
            Ok(git) => (git.root.clone(), git.common_dir.clone()),
            Err(_) => (caller.worktree.clone(), caller.worktree.clone()),
        };
        let turn = self.syncs.of(&repository);
        let Ok(_turn) = timeout(BOUNDS.deadline, turn.lock()).await else {
            let busy =
                Source::missing(State::Timeout, "another fetch in this repository is under way", Some("Call again."));
            return BTreeMap::from([("fetch", busy)]);
        };
        let fetched = async {
            match &git {
                Ok(git) => fetch(caller, git).await.unwrap_or_else(|source| source),
                Err(source) => source.clone(),
            }
        };
        let (fetched, pulled) = tokio::join!(fetched, pull_issues(caller, &root));
        let mut sources = BTreeMap::from([("fetch", fetched)]);
        sources.extend(pulled.map(|source| ("tracker", source)));
        sources
    }
}

/// The caller's environment, with what is for such programs alone.
fn environment(caller: &Caller) -> BTreeMap<String, String> {
    caller.env.iter().chain(&caller.asked_env).map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn fetch(caller: &Caller, git: &Git) -> Result<Source, Source> {
    let env = environment(caller);
    let asked = Asked { directory: &caller.worktree, env: &env, filters: Vec::new() };
    let config = asked.git(&["config", "--list", "--show-scope", "-z"]).await.map_err(|NoAnswer(source)| source)?;
    let config = Config::of(&config);
    let remotes = remotes(&config, git);
    if remotes.is_empty() {
        let next = Some("`git remote add origin ADDRESS` adds one.");
        return Err(Source::missing(State::Absent, "no remote is configured", next));
    }
    let ssh = env.get("GIT_SSH_COMMAND");
    if let Some(name) = config.own().map(|(name, _)| name).find(|name| is_risky(name, ssh.is_some())) {
        return Err(Source::missing(
            State::Failed,
            format!("the repository's own configuration decides how it fetches ({}), so hob does not", visible(name)),
            Some("`git fetch` in your shell does."),
        ));
    }
    let mut own = vec![
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ALLOW_PROTOCOL", PROTOCOLS),
        ("GIT_NO_LAZY_FETCH", "1"),
    ];
    match ssh {
        Some(command) => own.push(("GIT_SSH_COMMAND", command.as_str())),
        // It would ask a terminal that is not there.
        None if config.value("core.sshcommand").is_none() => own.push(("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")),
        None => {}
    }
    for remote in remotes {
        let refspecs = refspecs(&config, remote);
        if refspecs.is_empty() {
            let detail = format!("the remote {} has nothing to fetch below refs/remotes", visible(remote));
            return Err(Source::missing(
                State::Failed,
                detail,
                Some("`git fetch` in your shell does what is configured."),
            ));
        }
        let mut args: Vec<OsString> = Vec::new();
        let more = ["maintenance.auto=false", "gc.auto=0", "core.askPass=", "fetch.writeCommitGraph=false"];
        for setting in HARMLESS.iter().chain(&more) {
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
        let answer = asked.program("git", args, &own, BOUNDS).await.map_err(|error| unfetched(&error, remote))?;
        if !answer.exit.success() {
            return Err(refused(&String::from_utf8_lossy(&answer.stderr), remote));
        }
    }
    Ok(Source::ok().at(project::journal::now()))
}

/// The remotes of the base and of the branch; else `origin`, or whichever there is.
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

/// What is configured to be fetched from a remote, as far as it is kept below `refs/remotes`.
fn refspecs<'a>(config: &'a Config, remote: &'a str) -> Vec<&'a str> {
    let before = format!("remote.{remote}.");
    let all = config.own().filter(|(name, _)| name.strip_prefix(&before) == Some("fetch")).map(|(_, value)| value);
    let is_kept_apart = |spec: &&str| {
        spec.starts_with('^') || spec.split_once(':').is_some_and(|(_, to)| to.starts_with("refs/remotes/"))
    };
    let kept: Vec<&str> = all.filter(is_kept_apart).collect();
    if kept.iter().all(|spec| spec.starts_with('^')) { Vec::new() } else { kept }
}

/// Whether a setting could have a fetch run a program, or lead a login past the server's certificate.
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

fn unfetched(error: &AnswerError, remote: &str) -> Source {
    let state = if matches!(error, AnswerError::Late { .. }) { State::Timeout } else { State::Failed };
    let next = format!("`git fetch {}` in your shell goes on.", visible(remote));
    Source::missing(state, error.to_string(), Some(&next))
}

/// What git's refusal to fetch means.
fn refused(said: &str, remote: &str) -> Source {
    let has = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let offline =
        ["Could not resolve host", "Failed to connect", "Network is unreachable", "Connection refused", "timed out"];
    let login = ["Permission denied", "Authentication failed", "could not read Username", "could not read Password"];
    let line =
        said.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:")).or(said.lines().next());
    let line = visible(line.unwrap_or("git fetch failed without a word"));
    let remote = visible(remote);
    let (state, next) = match () {
        () if has(&login) => (
            State::NotLoggedIn,
            format!(
                "`git fetch {remote}` in your shell asks for the login; hob passes on SSH_AUTH_SOCK and GIT_SSH_COMMAND."
            ),
        ),
        () if has(&offline) => (State::Offline, "Call again when there is a network.".to_owned()),
        () => (State::Failed, format!("`git fetch {remote}` in your shell shows it whole.")),
    };
    Source::missing(state, format!("{remote}: {line}"), Some(&next))
}

/// How a tracker pulls, by its versions: the program, the question whether it can, the word in the answer, and the command.
type Pull = (&'static str, &'static [&'static str], &'static str, &'static [&'static str]);

const PULLS: &[Pull] = &[
    ("bd", &["sync", "--help"], "--from-main", &["sync", "--from-main"]),
    ("bd", &["dolt", "--help"], "pull", &["dolt", "pull"]),
    ("br", &["sync", "--help"], "--import-only", &["sync", "--import-only"]),
];

/// Has the tracker pull, if there is one that can; `None` without a tracker.
async fn pull_issues(caller: &Caller, root: &Path) -> Option<Source> {
    if !root.join(".beads").is_dir() {
        return None;
    }
    let env = environment(caller);
    let asked = Asked { directory: root, env: &env, filters: Vec::new() };
    let mut named = Vec::new();
    for (program, question, word, command) in PULLS {
        let own = [("LC_ALL", "C"), ("NO_COLOR", "1"), ("GIT_TERMINAL_PROMPT", "0")];
        let args = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let help = match asked.program(program, args(question), &own, HELP).await {
            Ok(help) => help,
            Err(AnswerError::Spawn(_)) => continue,
            Err(error) => return Some(Source::missing(State::Failed, error.to_string(), None)),
        };
        named.push(*program);
        if !String::from_utf8_lossy(&help.stdout).contains(word) {
            continue;
        }
        let line = format!("{program} {}", command.join(" "));
        let next = format!("`{line}` in your shell shows it whole.");
        return Some(match asked.program(program, args(command), &own, BOUNDS).await {
            Ok(answer) if answer.exit.success() => {
                Source { detail: Some(line), ..Source::ok() }.at(project::journal::now())
            }
            Ok(answer) => {
                let said = String::from_utf8_lossy(&answer.stderr);
                let said = said.lines().next().unwrap_or("it failed without a word");
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
            "neither bd nor br is on the PATH; the file of issues is as git has it",
            Some("`git pull` brings the file; install bd or br for more."),
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
            assert_eq!(refspecs(&Config::of(&bytes), "origin"), expected, "{specs:?}");
        };
        let usual = "+refs/heads/*:refs/remotes/origin/*";
        check(&[usual], &[usual]);
        check(&["+refs/*:refs/*", usual, "^refs/heads/wip/*"], &[usual, "^refs/heads/wip/*"]);
        check(&["+refs/heads/*:refs/heads/*"], &[]);
        check(&["refs/heads/main", "^refs/heads/x"], &[]);
    }
}
