//! The branch that this work goes back to.

use super::porcelain::Config;

/// The remote's own branch; else `init.defaultBranch`, `main` or `master`, if there is one of that name. A branch is not its
/// own base, except for the remote's of the same name.
pub(super) fn of(config: &Config, refs: &[u8], branch: Option<&str>) -> Option<String> {
    let refs = String::from_utf8_lossy(refs);
    let refs: Vec<(&str, &str)> = refs.lines().filter_map(|line| line.split_once('\0')).collect();
    let heads: Vec<(&str, &str)> =
        refs.iter().filter_map(|(name, to)| Some((name.strip_prefix("refs/remotes/")?, *to))).collect();
    let of_remote = |remote: &str| {
        let head = format!("{remote}/HEAD");
        let (_, to) = heads.iter().find(|(name, _)| *name == head)?;
        to.strip_prefix("refs/remotes/").map(str::to_owned)
    };
    let followed = branch.and_then(|branch| config.value(&format!("branch.{branch}.remote")));
    let remotes = followed.into_iter().chain(["origin"]).chain(config.remotes());
    let is_branch = |name: &&str| refs.iter().any(|(known, _)| known.strip_prefix("refs/heads/") == Some(*name));
    let names = config.value("init.defaultbranch").into_iter().chain(["main", "master"]);
    let local = names.filter(|name| branch != Some(*name)).find(is_branch);
    remotes.filter(|remote| *remote != ".").find_map(of_remote).or_else(|| local.map(str::to_owned))
}
