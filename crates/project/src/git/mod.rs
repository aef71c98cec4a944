//! Git's directories, read without running git: the worktree around a directory and the main worktree that all
//! worktrees of the repository share (gitrepository-layout(5), git-worktree(1) "DETAILS").

mod head;
mod index;
mod view;

use std::path::{Path, PathBuf};

use crate::regular;

pub use head::head_commit;
pub use index::is_tracked;
pub use view::{GitPlaces, GitView, Purpose, misleading_link};

/// The maximum number of linked worktrees of a bare repository that are examined.
const LINKS_MAX: usize = 1000;

/// The position of a directory in a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worktree {
    /// The worktree that holds the directory.
    pub(crate) top: PathBuf,
    /// The repository's main worktree; for a bare repository the repository itself.
    pub(crate) main: PathBuf,
}

/// Returns the worktree around `directory` (absolute, without links).
pub(crate) fn worktree(directory: &Path) -> Option<Worktree> {
    directory.ancestors().find_map(|top| {
        let dot_git = top.join(".git");
        let metadata = dot_git.metadata().ok()?;
        let main = if metadata.is_dir() {
            // Git does not accept an empty `.git` directory either.
            dot_git.join("HEAD").symlink_metadata().ok()?;
            top.to_owned()
        } else {
            main_of_linked(top, &dot_git).unwrap_or_else(|| top.to_owned())
        };
        Some(Worktree { top: top.to_owned(), main })
    })
}

/// Returns the worktrees around `directory` (absolute, without links), nearest first.
pub(crate) fn worktrees(directory: &Path) -> impl Iterator<Item = Worktree> {
    std::iter::successors(worktree(directory), |inner| worktree(inner.top.parent()?))
}

/// Returns the main worktree of the repository that contains a path (absolute, without links).
pub fn main_worktree(path: &Path) -> Option<PathBuf> {
    worktree(path).map(|worktree| worktree.main)
}

/// Returns the configuration that git would use at `root`, the top of a worktree or a bare repository: that of its git
/// directory. No checkout can bring one, since git tracks nothing of that name.
pub(crate) fn configuration(root: &Path) -> Option<String> {
    read_small(&common_dir_at(root)?.join("config"))
}

/// Returns the repository's directory for a path of a worktree, and the pattern by which `info/exclude` there ignores the
/// path. `None` outside of a repository.
pub fn exclusion(path: &Path) -> Option<(PathBuf, String)> {
    let top = worktree(path.parent()?)?.top;
    let pattern = format!("/{}", path.strip_prefix(&top).ok()?.to_str()?);
    Some((common_dir_at(&top)?, pattern))
}

/// Returns the directory of the repository at `root`.
fn common_dir_at(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    match dot_git.metadata() {
        // A directory that shares another repository's directory is not a repository's own: git makes no such
        // directory.
        Ok(metadata) if metadata.is_dir() => {
            Some(dot_git).filter(|dot_git| is_repository(dot_git) && !dot_git.join("commondir").exists())
        }
        Ok(_) => linked(root, &dot_git).or_else(|| separate(root, &dot_git)),
        // A checkout may contain everything a bare repository has. The proof is a worktree of it elsewhere whose `.git`
        // names it.
        Err(_) => {
            let links = root.join("worktrees").read_dir().ok()?.take(LINKS_MAX).flatten();
            let mut worktrees = links.filter_map(|link| read_line(&link.path().join("gitdir"))).map(PathBuf::from);
            let root = root.canonicalize().ok()?;
            worktrees
                .any(|dot_git| {
                    let top = dot_git.parent().filter(|_| dot_git.is_absolute());
                    top.and_then(|top| linked(top, &dot_git)).is_some_and(|common| common == root)
                })
                .then_some(root)
        }
    }
}

/// Returns the git directory of a submodule or a relocated one, not that of another worktree.
fn separate(top: &Path, dot_git: &Path) -> Option<PathBuf> {
    if dot_git.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let git_dir = top.join(named_by(dot_git)?).canonicalize().ok()?;
    let top = top.canonicalize().ok()?;
    if !is_repository(&git_dir) || git_dir.join("commondir").exists() {
        return None;
    }
    let is_of_top = match core(&git_dir, "worktree") {
        Some(_) => configured_worktree(&git_dir).is_some_and(|worktree| worktree == top),
        // A directory named `.git` belongs to the directory that contains it; a bare repository elsewhere belongs to no
        // worktree.
        None => git_dir.starts_with(&top) || !git_dir.ends_with(".git") && !is_bare(&git_dir),
    };
    is_of_top.then_some(git_dir)
}

fn is_repository(git_dir: &Path) -> bool {
    git_dir.join("HEAD").is_file() && git_dir.join("objects").is_dir()
}

/// Returns the directory that a `.git` file names.
fn named_by(dot_git: &Path) -> Option<PathBuf> {
    Some(PathBuf::from(read_line(dot_git)?.strip_prefix("gitdir:")?.trim_start()))
}

/// Returns the common directory of a linked worktree. `.git` is a file in a linked worktree, in a submodule, and for a
/// relocated git directory; only the first has a common directory. It counts only if the repository lists this
/// worktree: otherwise any checkout could claim to belong to another project.
fn linked(top: &Path, dot_git: &Path) -> Option<PathBuf> {
    if dot_git.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let git_dir = top.join(named_by(dot_git)?).canonicalize().ok()?;
    let common = git_dir.join(read_line(&git_dir.join("commondir"))?).canonicalize().ok()?;
    if !is_repository(&common) || git_dir.parent() != Some(&common.join("worktrees")) {
        return None;
    }
    let back = git_dir.join(read_line(&git_dir.join("gitdir"))?);
    (back.canonicalize().ok()? == dot_git.canonicalize().ok()?).then_some(common)
}

/// Returns the main worktree of the repository that a linked worktree belongs to.
fn main_of_linked(top: &Path, dot_git: &Path) -> Option<PathBuf> {
    let common = linked(top, dot_git)?;
    // This applies only to a worktree of this repository: a repository from an archive may name any directory.
    if let Some(elsewhere) = configured_worktree(&common).filter(|path| git_dir_of(path).as_ref() == Some(&common)) {
        return Some(elsewhere);
    }
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_owned),
        _ => Some(common),
    }
}

/// Returns the git directory that a main worktree names.
fn git_dir_of(worktree: &Path) -> Option<PathBuf> {
    let dot_git = worktree.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    worktree.join(named_by(&dot_git)?).canonicalize().ok()
}

/// Returns `core.worktree`: the location of a submodule's main worktree.
fn configured_worktree(common: &Path) -> Option<PathBuf> {
    common.join(core(common, "worktree")?).canonicalize().ok().filter(|path| path.is_dir())
}

fn is_bare(git_dir: &Path) -> bool {
    core(git_dir, "bare").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Returns a setting of the `core` section.
fn core(git_dir: &Path, wanted: &str) -> Option<String> {
    setting(git_dir, "[core]", wanted)
}

fn setting(git_dir: &Path, section: &str, wanted: &str) -> Option<String> {
    let config = read_small(&git_dir.join("config"))?;
    let mut is_inside = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_inside = line.eq_ignore_ascii_case(section);
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_inside)
            && key.trim().eq_ignore_ascii_case(wanted)
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

fn read_line(path: &Path) -> Option<String> {
    let text = read_small(path)?;
    text.lines().next().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// Reads a file that holds a line or a page; a larger file, or one that is not regular, is invalid.
pub(crate) fn read_small(path: &Path) -> Option<String> {
    regular::read(path, 256 * 1024).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    pub(super) fn git(cwd: &Path, args: &[&str]) {
        let status = Command::new("git")
            .current_dir(cwd)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-c"])
            .args(["init.defaultBranch=main", "-c", "advice.defaultBranchName=false"])
            .args(args)
            .env_remove("GIT_DIR")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .expect("git runs");
        assert!(status.success(), "git {args:?}");
    }

    fn check(directory: &Path, top: &Path, main: &Path) {
        assert_eq!(worktree(directory), Some(Worktree { top: top.to_owned(), main: main.to_owned() }));
    }

    #[test]
    fn as_git_itself_lays_them_out() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        assert_eq!(worktree(&top), None);
        let main = top.join("main");
        fs::create_dir_all(main.join("src")).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
        check(&main.join("src"), &main, &main);

        git(&main, &["worktree", "add", "-q", "../linked"]);
        check(&top.join("linked"), &top.join("linked"), &main);

        git(&top, &["clone", "-q", "--bare", "main", "bare.git"]);
        git(&top.join("bare.git"), &["worktree", "add", "-q", "../of-bare", "-b", "other"]);
        check(&top.join("of-bare"), &top.join("of-bare"), &top.join("bare.git"));

        git(&main, &["submodule", "--quiet", "add", "../bare.git", "sub"]);
        check(&main.join("sub"), &main.join("sub"), &main.join("sub"));
        git(&main.join("sub"), &["worktree", "add", "-q", "../../of-sub", "-b", "third"]);
        check(&top.join("of-sub"), &top.join("of-sub"), &main.join("sub"));
    }

    #[test]
    fn a_checkout_cannot_claim_another_project() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (main, thief) = (top.join("main"), top.join("thief"));
        fs::create_dir_all(&main).unwrap();
        fs::create_dir_all(&thief).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&main, &["worktree", "add", "-q", "../linked"]);
        fs::copy(top.join("linked/.git"), thief.join(".git")).unwrap();
        check(&thief, &thief, &thief);
        fs::write(thief.join(".git"), "gitdir: /proc/self/mem\n").unwrap();
        check(&thief, &thief, &thief);
        // An unpacked archive contains a whole repository that names a foreign directory as its worktree.
        let (repository, linked) = (thief.join("repository"), thief.join("repository/worktrees/x"));
        fs::create_dir_all(&linked).unwrap();
        fs::write(repository.join("config"), format!("[core]\nworktree = {}\n", main.display())).unwrap();
        fs::write(linked.join("commondir"), "../..\n").unwrap();
        fs::write(linked.join("gitdir"), "../../../.git\n").unwrap();
        fs::write(thief.join(".git"), "gitdir: repository/worktrees/x\n").unwrap();
        assert_ne!(worktree(&thief).map(|found| found.main), Some(main.clone()));
        // No repository lists this directory as its worktree, whatever it claims.
        let forged = thief.join("forged");
        fs::create_dir(&forged).unwrap();
        fs::write(thief.join(".git"), "gitdir: forged\n").unwrap();
        fs::write(forged.join("gitdir"), "../.git\n").unwrap();
        for common in [main.join(".git"), top.clone()] {
            fs::write(forged.join("commondir"), format!("{}\n", common.display())).unwrap();
            check(&thief, &thief, &thief);
        }
        // A link to a worktree's file does not make a worktree.
        fs::remove_file(thief.join(".git")).unwrap();
        std::os::unix::fs::symlink(top.join("linked/.git"), thief.join(".git")).unwrap();
        check(&thief, &thief, &thief);
    }
}
