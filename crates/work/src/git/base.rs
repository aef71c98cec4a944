//! Finds the base branch: the branch that the work will be merged into.

use super::porcelain::Config;

/// Returns the base branch and its commit: `wanted` if it exists, else the remote's default branch, else the first of
/// `init.defaultBranch`, `main` and `master` that exists. A local branch is never its own base, but a remote branch of the
/// same name may be.
pub(super) fn find_base(
    config: &Config,
    refs: &[u8],
    branch: Option<&str>,
    wanted: Option<&str>,
) -> Option<(String, String)> {
    let refs = String::from_utf8_lossy(refs);
    let refs: Vec<(&str, &str, &str)> = refs
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once('\0')?;
            let (to, commit) = rest.split_once('\0')?;
            Some((name, to, commit))
        })
        .collect();
    let commit_of = |full: &str| refs.iter().find(|(name, ..)| *name == full).map(|(.., commit)| (*commit).to_owned());
    let of_remote = |remote: &str| {
        let head = format!("refs/remotes/{remote}/HEAD");
        let (_, to, commit) = refs.iter().find(|(name, ..)| *name == head)?;
        Some((to.strip_prefix("refs/remotes/")?.to_owned(), (*commit).to_owned()))
    };
    let local = |name: &str| {
        let commit = commit_of(&format!("refs/heads/{name}")).filter(|_| branch != Some(name))?;
        Some((name.to_owned(), commit))
    };
    let followed = branch.and_then(|branch| config.value(&format!("branch.{branch}.remote")));
    let remotes = || followed.into_iter().chain(["origin"]).chain(config.remotes()).filter(|remote| *remote != ".");
    let tracked = |name: &str| Some((name.to_owned(), commit_of(&format!("refs/remotes/{name}"))?));
    let is_wanted = |wanted: &str| {
        let of_remotes = || remotes().find_map(|remote| tracked(&format!("{remote}/{wanted}")));
        tracked(wanted).or_else(of_remotes).or_else(|| local(wanted))
    };
    let names = || config.value("init.defaultbranch").into_iter().chain(["main", "master"]);
    wanted.and_then(is_wanted).or_else(|| remotes().find_map(of_remote)).or_else(|| names().find_map(local))
}
