//! The repository that a project is a clone of: the address of its remote `origin`, normalised, so that clones on
//! different machines agree.

use std::path::Path;

use crate::git;

/// Returns the normalised address of the remote `origin` of the repository at `root`, which is a worktree or a bare repository.
pub(crate) fn origin(root: &Path) -> Option<String> {
    normalised(&url_of_origin(&git::configuration(root)?)?)
}

/// Returns `remote.origin.url` of a git configuration (git-config(1), "SYNTAX"; without includes).
fn url_of_origin(config: &str) -> Option<String> {
    let mut in_origin = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_origin = line.starts_with("[remote \"origin\"]");
        } else if let Some((key, value)) = line.split_once('=').filter(|_| in_origin)
            && key.trim().eq_ignore_ascii_case("url")
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}

/// Normalises `https://host/path`: the host in lower case, without user, port, `.git` or trailing slash. A local path
/// is unchanged.
fn normalised(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return Some(url.to_owned()),
        Some((_, rest)) => rest.split_once('/')?,
        // host:path, as in ssh; a local path with a colon has a slash before it.
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => (host, path),
            _ => return Some(url.to_owned()).filter(|path| !path.is_empty()),
        },
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!host.is_empty() && !path.is_empty()).then(|| format!("https://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_clone_are_one_address() {
        for url in [
            "https://GitHub.com/anna/tools.git",
            "https://token@github.com/anna/tools",
            "git@github.com:anna/tools.git",
            "ssh://git@github.com:22/anna/tools/",
            "git://github.com/anna/tools",
        ] {
            assert_eq!(normalised(url).as_deref(), Some("https://github.com/anna/tools"), "{url}");
        }
        assert_eq!(normalised("/srv/git/tools.git").as_deref(), Some("/srv/git/tools.git"));
        assert_eq!(normalised(""), None);
    }

    const CONFIG: &str = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = x:y\n[remote \"origin\"]\n\tfetch = +a:b\n\turl = h:p.git\n";

    #[test]
    fn read_from_the_configuration() {
        assert_eq!(url_of_origin(CONFIG).as_deref(), Some("h:p.git"));
        assert_eq!(url_of_origin("[remote \"fork\"]\nurl = x:y\n"), None);
    }

    #[test]
    fn as_git_itself_has_it() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name);
        let is = |name: &str| origin(&at(name)).unwrap_or_default();
        let from = |name: &str| at(name).to_str().unwrap().to_owned();
        git(&top, &["init", "-q", "source"]);
        git(&at("source"), &["commit", "-q", "--allow-empty", "-m", "first"]);
        assert_eq!(is("source"), "");
        git(&top, &["clone", "-q", &from("source"), "clone"]);
        git(&at("clone"), &["worktree", "add", "-q", "../linked"]);
        git(&top, &["clone", "-q", "--separate-git-dir=apart", &from("source"), "separate"]);
        git(&top, &["clone", "-q", "--bare", &from("source"), "bare"]);
        git(&top, &["init", "-q", "super"]);
        git(&at("super"), &["submodule", "--quiet", "add", &from("bare"), "sub"]);
        // Tracked files named like git's own have no effect.
        for name in ["clone", "linked", "separate", "super/sub"] {
            std::fs::write(at(name).join("config"), CONFIG).unwrap();
        }
        for name in ["clone", "linked", "separate"] {
            assert_eq!(is(name), from("source"), "{name}");
        }
        assert_eq!(is("super/sub"), from("bare"));
        // Its worktrees identify a bare repository.
        assert_eq!(is("bare"), "");
        git(&at("bare"), &["config", "remote.origin.url", "h:p"]);
        git(&at("bare"), &["worktree", "add", "-q", "../of-bare"]);
        assert_eq!((is("bare"), is("of-bare")), ("https://h/p".to_owned(), "https://h/p".to_owned()));
        // A bare repository within the directory whose `.git` names it.
        git(&top, &["clone", "-q", "--bare", &from("source"), "around/inner"]);
        std::fs::write(at("around/.git"), "gitdir: ./inner\n").unwrap();
        assert_eq!(is("around"), from("source"));
    }

    #[test]
    fn a_checkout_says_nothing_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (victim, plain) = (top.join("victim"), top.join("plain"));
        std::fs::create_dir(&plain).unwrap();
        std::fs::write(plain.join("config"), CONFIG).unwrap();
        assert_eq!(origin(&plain), None);
        // Everything a bare repository has, with worktrees that do not know it.
        git(&top, &["init", "-q", "victim"]);
        git(&victim, &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&victim, &["remote", "add", "origin", "h:victim"]);
        git(&victim, &["worktree", "add", "-q", "../linked"]);
        std::fs::write(plain.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        for name in ["objects", "refs", "worktrees/linked"] {
            std::fs::create_dir_all(plain.join(name)).unwrap();
        }
        let linked = format!("{}/.git\n", top.join("linked").display());
        std::fs::write(plain.join("worktrees/linked/gitdir"), linked).unwrap();
        assert_eq!(origin(&plain), None);
        // A `.git` that names a foreign repository.
        for theirs in [victim.join(".git"), victim.join(".git/worktrees/linked")] {
            std::fs::write(plain.join(".git"), format!("gitdir: {}\n", theirs.display())).unwrap();
            assert_eq!(origin(&plain), None, "{}", theirs.display());
        }
        std::fs::remove_file(plain.join(".git")).unwrap();
        std::fs::create_dir(plain.join(".git")).unwrap();
        assert_eq!(origin(&plain), None, "an empty `.git` is none");
    }

    fn git(cwd: &Path, args: &[&str]) {
        let command = std::process::Command::new("git")
            .current_dir(cwd)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"])
            .args(["-c", "init.defaultBranch=main"])
            .args(args)
            .env_remove("GIT_DIR")
            .output()
            .expect("git runs");
        assert!(command.status.success(), "git {args:?}: {command:?}");
    }
}
