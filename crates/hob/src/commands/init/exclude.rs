//! Keeps a person's private files out of git, by a line in the repository's unshared `info/exclude`.

use std::path::{Path, PathBuf};

use project::Project;

use super::paths::InitPaths;
use crate::agents::{Edits, Links, Scope};
use crate::exit::Failure;
use crate::terminal;

/// The prefix of an owner's name, before the excluded line.
const OWNER: &str = "exclude ";

/// Opens the edits of `info/exclude`; `None` outside a repository, and for the user's own configuration.
pub(super) fn edits(place: &InitPaths, project: &Project) -> Result<Option<Edits>, Failure> {
    let exclusion = project::exclusion(&place.site.top.join("hob.toml")).filter(|_| place.scope == Scope::Project);
    exclusion.map(|(common_dir, _)| place.excluded(project, &common_dir)).transpose()
}

/// Makes git ignore a file of the worktree.
pub(in crate::commands) fn keep_out_of_git(place: &InitPaths, project: &Project, file: &Path) -> Result<(), Failure> {
    let Some((common_dir, line)) = project::exclusion(file).filter(|_| place.scope == Scope::Project) else {
        return Ok(());
    };
    if is_ignored(place, file) {
        return Ok(());
    }
    let mut edits = place.excluded(project, &common_dir)?;
    let list = common_dir.join("info/exclude");
    let text = edits.read(&list)?.unwrap_or_default();
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    edits.write(&list, &format!("{OWNER}{line}"), &format!("{text}{gap}{line}\n"))?;
    terminal::line(format!("{}: private, so git ignores it now (info/exclude).", place.show(file)));
    Ok(())
}

/// True if a line of `info/exclude` or of the worktree's `.gitignore` names the file.
pub(super) fn is_ignored(place: &InitPaths, file: &Path) -> bool {
    let Some((common_dir, line)) = project::exclusion(file) else { return false };
    let lists: [(&Path, PathBuf); 2] =
        [(&common_dir, common_dir.join("info/exclude")), (&place.site.top, place.site.top.join(".gitignore"))];
    lists.iter().any(|(base, list)| {
        let text = Edits::read_below(base, list, Links::Follow).ok().flatten().unwrap_or_default();
        text.lines().any(|other| other == line || other == &line[1..])
    })
}

/// Returns the text without the line of an owner; `None` if the owner is not such a line, or it is gone.
pub(super) fn without(owner: &str, text: &str) -> Option<String> {
    let line = owner.strip_prefix(OWNER)?;
    let kept: String = text.split_inclusive('\n').filter(|other| other.trim_end() != line).collect();
    (kept != text).then_some(kept)
}
