//! Where the state of projects is: one directory a project below the user's state directory, named by a hash of the
//! root's path. Never inside the project: a checkout can bring files, links and whole databases of any name.
//!
//! What an environment says may differ between an agent and a shell, so a project's directory is looked for where
//! `XDG_STATE_HOME` points and in the standard place; whoever makes it elsewhere leaves a link in the standard place.
//! A project that was moved or renamed keeps its state: the directory remembers which directory its root was. Where another
//! project stands at that path now, the state is set aside until the moved one is used.
//!
//! Without a home of the user's own it is in the temporary directory, where anybody may have made one of its name: it is
//! checked before anything in it is looked at.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::identity::Identity;
use crate::leftovers;
use crate::paths::PathError;
use crate::{owner, private, runtime};

/// The file that says which directory the root is, beside the one that says where it is.
const IDENTITY: &str = "root-inode";
/// How long the file may be, in bytes.
const FILE_MAX: u64 = 64 * 1024;

/// The directory of the state of the project of this hash, whether it exists or not; an error where somebody else's
/// directory stands in its way.
pub(crate) fn directory(hash: &str) -> Result<PathBuf, PathError> {
    directory_in(&Places::of_environment(), hash)
}

fn directory_in(places: &Places, hash: &str) -> Result<PathBuf, PathError> {
    // Who only looks leaves nothing behind.
    if let Some(shared) = places.shared.as_deref().filter(|shared| shared.symlink_metadata().is_ok()) {
        runtime::private(shared)?;
    }
    let found = places.all().map(|place| place.join(hash)).find(|path| path.symlink_metadata().is_ok());
    let path = found.unwrap_or_else(|| places.first().join(hash));
    // Only the user's own directories are on the way, so this link is one that hob left for other environments.
    Ok(path.canonicalize().unwrap_or(path))
}

/// Makes the directory of a project's state: private whatever was there before, and the one that the project had
/// before it was moved where there is such a one.
pub(crate) fn create(path: &Path, root: &Path) -> Result<(), PathError> {
    create_in(&Places::of_environment(), path, root)
}

fn create_in(places: &Places, path: &Path, root: &Path) -> Result<(), PathError> {
    if let Some(shared) = &places.shared {
        runtime::private(shared)?;
    }
    set_aside(path, root)?;
    // Before any daemon has used it, it is not too late for the one that the project had before.
    if path.join(leftovers::ROOT).symlink_metadata().is_err() {
        if let Some(above) = path.parent() {
            let failed = |source| PathError::Create { path: path.to_owned(), source };
            DirBuilder::new().recursive(true).mode(0o700).create(above).map_err(failed)?;
        }
        let mut adopted = false;
        for place in places.all() {
            adopted = adopted || adopt(&place, path, root)?;
        }
        if !adopted {
            private_directory(path)?;
        }
        places.leave_link(path);
    }
    private_directory(path)
}

fn private_directory(path: &Path) -> Result<(), PathError> {
    runtime::private(path)
}

/// The directories that hold projects' state: where this environment puts it, and where any other looks.
struct Places {
    first: PathBuf,
    standard: Option<PathBuf>,
    /// The first one, where others could have made it.
    shared: Option<PathBuf>,
}

impl Places {
    fn of_environment() -> Places {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").filter(|home| owner::is_mine(home));
        Places::new(absolute("XDG_STATE_HOME"), home, &runtime::temporary())
    }

    fn new(xdg: Option<PathBuf>, home: Option<PathBuf>, temporary: &Path) -> Places {
        let standard = home.map(|home| home.join(".local/state/hob"));
        let own = xdg.map(|xdg| xdg.join("hob")).or_else(|| standard.clone());
        let shared = own.is_none().then(|| temporary.join(format!("hob-{}", owner::me())));
        let first = own.or_else(|| shared.clone()).unwrap_or_default();
        Places { standard: standard.filter(|standard| *standard != first), first, shared }
    }

    fn first(&self) -> &Path {
        &self.first
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        std::iter::once(self.first.clone()).chain(self.standard.clone())
    }

    /// Without the link (a full disk, a home that cannot be written to) only this environment finds the directory.
    fn leave_link(&self, path: &Path) {
        if let (Some(standard), Some(name)) = (&self.standard, path.file_name())
            && !path.starts_with(standard)
            && DirBuilder::new().recursive(true).mode(0o700).create(standard).is_ok()
        {
            let _ = symlink(path, standard.join(name));
        }
    }
}

/// Gives `path` the state that the directory `root` had under another path, if there is one below `place`.
///
/// # Errors
/// While somebody uses it: whoever began anew then would never see it again.
fn adopt(place: &Path, path: &Path, root: &Path) -> Result<bool, PathError> {
    let Some(identity) = Identity::of(root) else { return Ok(false) };
    let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    for old in entries.filter(|old| leftovers::is_state(old)) {
        let is_link = old.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_symlink());
        if is_link || !known(&old).is_some_and(|known| known.is_directory_of(&identity)) {
            continue;
        }
        // It may also be this very root seen under two paths.
        let Some(former) = leftovers::root_of(&old) else { continue };
        if Identity::of(&former).is_some_and(|there| there.is_directory_of(&identity)) {
            continue;
        }
        let Some((file, _)) = leftovers::sole_use(&old) else { return Err(PathError::InUse { path: old }) };
        if replace_with(path, &old).is_err() {
            continue;
        }
        drop(file);
        return Ok(true);
    }
    Ok(false)
}

/// Puts the state at `path` aside if another project than the one at `root` left it there.
///
/// # Errors
/// While somebody uses it: it is not this project's.
fn set_aside(path: &Path, root: &Path) -> Result<(), PathError> {
    let (Some(known), Some(now)) = (known(path), Identity::of(root)) else { return Ok(()) };
    if !known.is_replaced_by(&now) {
        return Ok(());
    }
    let Some((file, _)) = leftovers::sole_use(path) else {
        return match leftovers::root_of(path) {
            Some(_) => Err(PathError::InUse { path: path.to_owned() }),
            None => Ok(()),
        };
    };
    let mut aside = path.to_owned().into_os_string();
    aside.push(format!(".{}", known.number()));
    fs::rename(path, aside).map_err(|source| PathError::Create { path: path.to_owned(), source })?;
    drop(file);
    Ok(())
}

/// What was set aside of projects that stood at the path of this state before.
pub(crate) fn aside(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.parent().and_then(|place| fs::read_dir(place).ok()).into_iter().flatten().flatten();
    let mut aside: Vec<_> = beside
        .map(|entry| entry.path())
        .filter(|other| {
            leftovers::is_state(other)
                && other.extension().is_some()
                && other.file_stem().is_some_and(|stem| *stem == *name)
        })
        .collect();
    aside.sort();
    aside
}

fn known(path: &Path) -> Option<Identity> {
    let text = private::read(&path.join(IDENTITY), FILE_MAX).ok().flatten()?;
    Identity::read(std::str::from_utf8(&text).ok()?)
}

/// Puts the state `old` in the place of `path`, which no daemon has used. What is there goes along.
fn replace_with(path: &Path, old: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path).into_iter().flatten() {
        let entry = entry?;
        let there = old.join(entry.file_name());
        match there.symlink_metadata() {
            Ok(_) => fs::remove_file(entry.path())?,
            Err(_) => fs::rename(entry.path(), there)?,
        }
    }
    fs::rename(old, path)
}

/// Notes which directory the state belongs to, for when it is moved.
pub(crate) fn remember(path: &Path, root: &Path) -> io::Result<()> {
    let Some(identity) = Identity::of(root) else { return Ok(()) };
    if known(path).as_ref() == Some(&identity) {
        return Ok(());
    }
    // On a full disk a project that is moved later is not recognised; no reason to refuse it now.
    match private::replace(&path.join(IDENTITY), identity.to_string().as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::hash_of;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn the_standard_place_leads_to_it_whatever_the_environment() {
        let temp = tempfile::tempdir().unwrap();
        let (home, xdg) = (temp.path().join("home"), temp.path().join("xdg"));
        fs::create_dir(&home).unwrap();
        let with = Places::new(Some(xdg.clone()), Some(home.clone()), temp.path());
        let without = Places::new(None, Some(home.clone()), temp.path());
        assert_eq!(with.first(), xdg.join("hob"));
        assert_eq!(without.first(), home.join(".local/state/hob"));
        let path = with.first().join("00000000000000aa");
        fs::create_dir_all(&path).unwrap();
        with.leave_link(&path);
        assert_eq!(without.first().join("00000000000000aa").canonicalize().unwrap(), path.canonicalize().unwrap());
        without.leave_link(&path);
        assert_eq!(Places::new(Some(home.join(".local/state")), Some(home), temp.path()).all().count(), 1);
    }

    #[test]
    fn a_project_that_was_moved_keeps_its_state() {
        let temp = tempfile::tempdir().unwrap();
        let place = temp.path().join("state");
        let [first, second, other] = ["first", "second", "other"].map(|name| temp.path().join(name));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&other).unwrap();
        let of = |root: &Path| place.join(hash_of(root));
        let make = |root: &Path| {
            fs::create_dir_all(&place).unwrap();
            if !of(root).join(leftovers::ROOT).exists() && !adopt(&place, &of(root), root).unwrap() {
                private_directory(&of(root)).unwrap();
            }
            remember(&of(root), root).unwrap();
            leftovers::Secrets::hold_in(of(root), root).unwrap()
        };
        let held = make(&first);
        fs::write(of(&first).join("mail.db"), "mail").unwrap();
        drop(make(&other));
        fs::rename(&first, &second).unwrap();
        // While it is in use nobody takes it away.
        assert!(matches!(adopt(&place, &of(&second), &second), Err(PathError::InUse { .. })));
        private_directory(&of(&second)).unwrap();
        for (name, text) in [("start.lock", ""), ("init.json", "{}")] {
            fs::write(of(&second).join(name), text).unwrap();
        }
        drop(held);
        drop(make(&second));
        assert_eq!(fs::read_to_string(of(&second).join("mail.db")).unwrap(), "mail");
        assert!(of(&second).join("init.json").exists());
        assert!(!of(&first).exists());
        // A new directory of the old name is another project, and so is a copy.
        fs::create_dir(&first).unwrap();
        drop(make(&first));
        assert!(!of(&first).join("mail.db").exists() && of(&second).join("mail.db").exists());
    }

    #[test]
    fn what_stands_where_a_project_was_gets_nothing_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let place = temp.path().join("state");
        let [root, moved] = ["root", "moved"].map(|name| temp.path().join(name));
        let of = |root: &Path| place.join(hash_of(root));
        let make = |root: &Path| {
            set_aside(&of(root), root).unwrap();
            fs::create_dir_all(&place).unwrap();
            if !of(root).join(leftovers::ROOT).exists() && !adopt(&place, &of(root), root).unwrap() {
                private_directory(&of(root)).unwrap();
            }
            remember(&of(root), root).unwrap();
            leftovers::Secrets::hold_in(of(root), root).unwrap()
        };
        fs::create_dir(&root).unwrap();
        let held = make(&root);
        fs::write(of(&root).join("mail.db"), "mail").unwrap();
        // The new one is used first.
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        assert!(matches!(set_aside(&of(&root), &root), Err(PathError::InUse { .. })));
        drop(held);
        drop(make(&root));
        assert!(!of(&root).join("mail.db").exists());
        assert_eq!(aside(&of(&root)).len(), 1);
        drop(make(&moved));
        assert_eq!(fs::read_to_string(of(&moved).join("mail.db")).unwrap(), "mail");
        assert_eq!(aside(&of(&root)).len(), 0);
        drop(make(&root));
        assert!(of(&moved).join("mail.db").exists() && !of(&root).join("mail.db").exists());
    }

    #[test]
    fn what_another_made_in_the_temporary_directory_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let places = Places::new(None, None, temp.path());
        let (root, above) = (temp.path().join("root"), temp.path().join(format!("hob-{}", owner::me())));
        fs::create_dir(&root).unwrap();
        let path = above.join("00000000000000aa");
        let refused = |what: &str| {
            assert!(matches!(directory_in(&places, "00000000000000aa"), Err(PathError::NotPrivate { .. })), "{what}");
            assert!(matches!(create_in(&places, &path, &root), Err(PathError::NotPrivate { .. })), "{what}");
        };
        // Who only looks makes nothing.
        directory_in(&places, "00000000000000aa").unwrap();
        assert!(!above.exists());
        let elsewhere = temp.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("00000000000000aa")).unwrap();
        symlink(&elsewhere, &above).unwrap();
        refused("a link");
        fs::remove_file(&above).unwrap();
        fs::write(&above, "").unwrap();
        refused("a file");
        fs::remove_file(&above).unwrap();
        if owner::me() == 0 {
            fs::create_dir_all(&path).unwrap();
            std::os::unix::fs::chown(&above, Some(12345), None).unwrap();
            refused("somebody else's directory");
            fs::remove_dir_all(&above).unwrap();
        }
        create_in(&places, &path, &root).unwrap();
        assert_eq!(fs::metadata(&above).unwrap().mode() & 0o777, 0o700);
        assert_eq!(directory_in(&places, "00000000000000aa").unwrap(), path.canonicalize().unwrap());
    }

    #[test]
    fn private_whatever_was_there() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state/00000000000000aa");
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        create(&path, temp.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir_all(&path).unwrap();
        symlink(temp.path(), &path).unwrap();
        assert!(matches!(create(&path, temp.path()), Err(PathError::NotPrivate { .. })));
    }
}
