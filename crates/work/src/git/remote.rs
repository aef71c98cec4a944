//! Finds the push target of a branch in git's configuration. Its pull requests are the branch's.

use super::porcelain::Config;

/// The push target of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pushed {
    /// The remote's name, or its address if the branch is configured with an address.
    pub remote: String,
    pub address: Option<Address>,
    /// The branch's name on the remote.
    pub head: String,
    /// The pull request that the branch was checked out from (`refs/pull/N/head`).
    pub pull: Option<u64>,
}

/// The parsed address of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub host: String,
    pub owner: String,
    pub name: String,
}

/// Finds the push target; `None` without a remote.
pub(super) fn push_target(config: &Config, branch: &str) -> Option<Pushed> {
    let value = |name: &str| config.value(name).filter(|value| !value.is_empty() && *value != ".");
    let follows = value(&format!("branch.{branch}.remote"));
    let only = || {
        let mut remotes = config.remotes();
        remotes.next().filter(|first| remotes.all(|other| other == *first))
    };
    let origin = || config.remotes().find(|remote| *remote == "origin");
    let remote = value(&format!("branch.{branch}.pushremote"))
        .or_else(|| value("remote.pushdefault"))
        .or(follows)
        .or_else(origin)
        .or_else(only)?;
    let url = value(&format!("remote.{remote}.url")).unwrap_or(remote);
    let merge = value(&format!("branch.{branch}.merge"));
    let pull = merge.and_then(|merge| merge.strip_prefix("refs/pull/")?.strip_suffix("/head")?.parse().ok());
    // Only this setting makes git push to an upstream branch of another name.
    let by_upstream = value("push.default").is_some_and(|how| ["upstream", "tracking"].contains(&how));
    let other =
        merge.and_then(|merge| merge.strip_prefix("refs/heads/")).filter(|_| by_upstream && follows == Some(remote));
    let head = other.unwrap_or(branch).to_owned();
    Some(Pushed { remote: remote.to_owned(), address: address(&rewrite_url(config, url)), head, pull })
}

/// Rewrites an address as git would (git-config, `url.<base>.insteadOf`).
fn rewrite_url(config: &Config, url: &str) -> String {
    let rules = config.named("url.", ".insteadof").filter(|(_, from)| !from.is_empty() && url.starts_with(from));
    match rules.max_by_key(|(_, from)| from.len()) {
        Some((base, from)) => format!("{base}{}", &url[from.len()..]),
        None => url.to_owned(),
    }
}

/// Parses `https://HOST/OWNER/NAME.git`, `ssh://git@HOST:22/…` or `git@HOST:OWNER/NAME`.
fn address(url: &str) -> Option<Address> {
    let (host, path) = match url.split_once("://") {
        Some(("https" | "http" | "ssh" | "git" | "git+ssh", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        // A local path has a slash before any colon.
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit('@').next()?;
    let host = host.split_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
    // GitHub serves SSH on this host for networks that block port 22.
    let host = if host == "ssh.github.com" { "github.com".to_owned() } else { host };
    let path = path.trim_matches('/');
    let (owner, name) = path.strip_suffix(".git").unwrap_or(path).split_once('/')?;
    let is_plain =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let is_host = !host.starts_with('-') && is_plain(&host);
    (is_host && is_plain(owner) && is_plain(name)).then(|| Address {
        host,
        owner: owner.to_owned(),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lines: &[(&str, &str)]) -> Config {
        let bytes: Vec<u8> =
            lines.iter().flat_map(|(name, value)| format!("local\0{name}\n{value}\0").into_bytes()).collect();
        Config::parse(&bytes)
    }

    #[test]
    fn addresses() {
        let check = |url: &str, expected: Option<&str>| {
            let found = address(url).map(|found| format!("{} {} {}", found.host, found.owner, found.name));
            assert_eq!(found.as_deref(), expected, "{url}");
        };
        check("https://github.com/ann/web.git", Some("github.com ann web"));
        check("https://token@GitHub.com/ann/web", Some("github.com ann web"));
        check("git@github.com:ann/web.git", Some("github.com ann web"));
        check("ssh://git@git.example.org:2222/ann/we.b.git/", Some("git.example.org ann we.b"));
        check("ssh://git@ssh.github.com:443/ann/web.git", Some("github.com ann web"));
        for none in [
            "../web",
            "/srv/git/web.git",
            "file:///srv/web",
            "ext::sh -c x",
            "-o:ann/web",
            "https://h/a/b/c",
            "git@h:a b/c",
            "",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn where_a_branch_goes() {
        let check = |lines: &[(&str, &str)], expected: Option<(&str, &str, Option<u64>)>| {
            let found = push_target(&config(lines), "topic");
            let found = found.as_ref().map(|found| {
                let to = found.address.as_ref().map_or(found.remote.as_str(), |address| address.owner.as_str());
                (to, found.head.as_str(), found.pull)
            });
            assert_eq!(found, expected, "{lines:?}");
        };
        let origin = ("remote.origin.url", "https://github.com/up/web");
        let fork = ("remote.fork.url", "https://github.com/ann/web");
        check(&[], None);
        check(&[origin], Some(("up", "topic", None)));
        check(&[fork], Some(("ann", "topic", None)));
        check(
            &[origin, fork, ("remote.pushdefault", "fork"), ("branch.topic.remote", "origin")],
            Some(("ann", "topic", None)),
        );
        check(&[origin, fork, ("branch.topic.pushremote", "fork")], Some(("ann", "topic", None)));
        // A branch created from main tracks main, but is not main.
        check(
            &[origin, ("branch.topic.remote", "origin"), ("branch.topic.merge", "refs/heads/main")],
            Some(("up", "topic", None)),
        );
        let named = [origin, ("branch.topic.remote", "origin"), ("branch.topic.merge", "refs/heads/other")];
        check(&[&named[..], &[("push.default", "upstream")]].concat(), Some(("up", "other", None)));
        // The configuration that `gh pr checkout` writes.
        check(
            &[origin, ("branch.topic.remote", "origin"), ("branch.topic.merge", "refs/pull/7/head")],
            Some(("up", "topic", Some(7))),
        );
        check(&[origin, ("branch.topic.remote", "https://github.com/bob/web.git")], Some(("bob", "topic", None)));
        check(
            &[("remote.origin.url", "gh:up/web"), ("url.https://github.com/.insteadof", "gh:")],
            Some(("up", "topic", None)),
        );
        check(&[("remote.origin.url", "../up")], Some(("origin", "topic", None)));
    }
}
