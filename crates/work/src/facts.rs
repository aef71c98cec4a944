//! What is known of a worktree in single words, for the conditions of rules. Each is asked for when it is needed, and never
//! remembered: a rule about the branch holds at once when it is switched.

use std::collections::BTreeMap;
use std::path::Path;

use crate::git::{self, Git};
use crate::tracker::{beads, of_branch};

/// The facts of a worktree, by name. What is not known, or is not the case for a branch, base or the like, is absent; of
/// yes and no, `true` and `false`.
pub async fn facts(worktree: &Path, env: &BTreeMap<String, String>) -> BTreeMap<&'static str, String> {
    let mut facts = BTreeMap::new();
    let Ok(git) = git::look(worktree, env).await else { return facts };
    let changed = git.staged + git.unstaged + git.conflicted + git.untracked;
    let yes_or_no = |is: bool| is.to_string();
    facts.insert("work.detached", yes_or_no(git.detached));
    facts.insert("work.changed", yes_or_no(changed > 0));
    if let Some(count) = git.unpushed {
        facts.insert("work.unpushed", yes_or_no(count > 0));
    }
    let Git { branch, base, upstream, operation, root, .. } = git;
    facts.extend(operation.map(|operation| ("work.operation", operation.kind.word().to_owned())));
    facts.extend(base.map(|base| ("work.base", base)));
    facts.extend(upstream.map(|upstream| ("work.upstream", upstream)));
    if let Some(branch) = branch {
        let of = branch.clone();
        let named = tokio::task::spawn_blocking(move || issue(&root, &of)).await;
        facts.extend(named.ok().flatten().map(|issue| ("work.issue", issue)));
        facts.insert("work.branch", branch);
    }
    facts
}

/// The issue that a branch names, if it names one.
fn issue(root: &Path, branch: &str) -> Option<String> {
    let found = beads::Cache::default().read(root).beads?;
    match of_branch::candidates(branch, found.ids()).as_slice() {
        [id] => Some((*id).to_string()),
        _ => None,
    }
}
