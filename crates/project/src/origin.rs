//! Which repository a project is a clone of: the address of its remote `origin`, written in one way whatever way it was
//! cloned by, so that clones on different machines agree.

use std::path::Path;

use crate::git::read_small;

/// The normalised address of `origin` of the repository whose main worktree (or bare repository) is `root`.
pub(crate) fn origin(root: &Path) -> Option<String> {
    let inside = root.join(".git/config");
    let text = read_small(&inside).or_else(|| read_small(&root.join("config")))?;
    normalised(&url_of_origin(&text)?)
}

/// `remote.origin.url` of a git configuration (git-config(1), "SYNTAX"; without includes).
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

/// `https://host/path`: the host in small letters, without user, port, `.git` or trailing slash. A path on this machine
/// stays what it is.
fn normalised(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return Some(url.to_owned()),
        Some((_, rest)) => rest.split_once('/')?,
        // host:path, as ssh has it; a path with a colon has a slash before it.
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

    #[test]
    fn read_from_the_configuration() {
        let temp = tempfile::tempdir().unwrap();
        let config = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = x:y\n[remote \"origin\"]\n\tfetch = +a:b\n\turl = h:p.git\n";
        assert_eq!(origin(temp.path()), None);
        std::fs::create_dir(temp.path().join(".git")).unwrap();
        std::fs::write(temp.path().join(".git/config"), config).unwrap();
        assert_eq!(origin(temp.path()).as_deref(), Some("https://h/p"));
    }
}
