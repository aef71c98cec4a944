//! The location of projects' state: one directory per project below the user's state directory, named by a hash of the
//! root's path. Never inside the project: a checkout can contain files, links and whole databases of any name.
//!
//! Environments differ between an agent and a shell, so the directory is searched at `XDG_STATE_HOME` and in the
//! standard place; a directory made elsewhere gets a link in the standard place. A moved or renamed project keeps its
//! state: the state records the identity of its root directory. If another project is now at the path, the state is set
//! aside until the moved one is used.
//!
//! Without a home, the state is in the temporary directory, where any user may have created that name, so the directory
//! is checked before anything in it is read. The same applies to a place named by the environment: nothing below
//! another user's directory is used, and no links except hob's own.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::identity::Identity;
use crate::path_error::PathError;
use crate::regular::is_absent;
use crate::root_note;
use crate::{owner, private, runtime_dir};

/// The file with the identity of the root directory, next to the file with its path.
const IDENTITY: &str = "root-inode";
/// Maximum length of the file, in bytes.
const FILE_MAX: u64 = 64 * 1024;

/// Returns the state directory of the project with this hash, whether it exists or not; an error if another user's
/// directory is in its place.
pub(crate) fn directory(hash: &str) -> Result<PathBuf, PathError> {
    directory_in(&Places::of_environment(), hash)
}

fn directory_in(places: &Places, hash: &str) -> Result<PathBuf, PathError> {
    places.check()?;
    let found = places.all().map(|place| place.join(hash)).find(|path| path.symlink_metadata().is_ok());
    let path = followed(found.unwrap_or_else(|| places.first().join(hash)))?;
    Ok(path.canonicalize().unwrap_or(path))
}

/// Returns the target of a link that hob left for other environments: a directory of the same name, in a place of this
/// user's own. A path that is not a link stays as it is, and so does a dangling link, which [`usable`] reports.
fn followed(path: PathBuf) -> Result<PathBuf, PathError> {
    let Ok(target) = fs::read_link(&path) else { return Ok(path) };
    let is_gone = || path.metadata().is_err_and(|error| is_absent(&error));
    let is_directory = || target.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let named_alike = target.is_absolute() && target.file_name() == path.file_name();
    if !owner::is_mine(&path) || !named_alike || !is_directory() && !is_gone() {
        return Err(PathError::NotPrivate { path });
    }
    match owner::foreign(target.parent().unwrap_or(&target), &target) {
        Some(foreign) if !is_gone() => Err(PathError::Foreign { foreign, variable: "XDG_STATE_HOME" }),
        _ if is_gone() => Ok(path),
        _ => Ok(target),
    }
}

/// Checks that the state can be used or created. A link at its place is dangling, and makes it unusable.
pub(crate) fn usable(path: &Path) -> Result<(), PathError> {
    let Ok(target) = fs::read_link(path) else { return Ok(()) };
    let link = path.to_owned();
    match path.metadata() {
        Err(error) if is_absent(&error) => Err(PathError::Gone { link, target }),
        _ => Err(PathError::NotPrivate { path: link }),
    }
}

/// Creates the directory of a project's state, private even if it existed before. Adopts the state that the project had
/// before it was moved, if any.
pub(crate) fn create(path: &Path, root: &Path) -> Result<(), PathError> {
    create_in(&Places::of_environment(), path, root)
}

fn create_in(places: &Places, path: &Path, root: &Path) -> Result<(), PathError> {
    if let Some(shared) = &places.shared {
        runtime_dir::private(shared)?;
    }
    places.check()?;
    usable(path)?;
    set_aside(path, root)?;
    // Until a daemon has used it, the project's former state can still be adopted.
    if path.join(root_note::ROOT).symlink_metadata().is_err() {
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
    runtime_dir::private(path)
}

/// The directories that hold projects' state: the one of this environment, and the one that other environments use.
struct Places {
    first: PathBuf,
    standard: Option<PathBuf>,
    /// The first place, if other users could have created it.
    shared: Option<PathBuf>,
    /// The path that the environment gives for the first place, and the variable.
    named: Option<(PathBuf, &'static str)>,
}

impl Places {
    fn of_environment() -> Places {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").filter(|home| owner::is_mine(home));
        Places::new(absolute("XDG_STATE_HOME"), home, &runtime_dir::temporary())
    }

    fn new(xdg: Option<PathBuf>, home: Option<PathBuf>, temporary: &Path) -> Places {
        let of_home = |home: &PathBuf| home.join(".local/state/hob");
        let standard = home.as_ref().map(of_home);
        let named = xdg.clone().map(|xdg| (xdg, "XDG_STATE_HOME")).or_else(|| home.clone().map(|home| (home, "HOME")));
        let own = xdg.map(|xdg| xdg.join("hob")).or_else(|| standard.clone());
        let shared = own.is_none().then(|| temporary.join(format!("hob-{}", owner::current_user())));
        let first = own.or_else(|| shared.clone()).unwrap_or_default();
        // A place that other users can change is not searched.
        let is_mine = |standard: &PathBuf| home.iter().all(|home| owner::foreign(home, standard).is_none());
        let standard = standard.filter(|standard| *standard != first && is_mine(standard));
        Places { standard, first, shared, named }
    }

    /// Refuses a path that another user made or may change. Creates nothing.
    fn check(&self) -> Result<(), PathError> {
        if let Some(shared) = self.shared.as_deref().filter(|shared| shared.symlink_metadata().is_ok()) {
            runtime_dir::private(shared)?;
        }
        match &self.named {
            Some((base, variable)) => match owner::foreign(base, &self.first) {
                Some(foreign) => Err(PathError::Foreign { foreign, variable }),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    fn first(&self) -> &Path {
        &self.first
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        std::iter::once(self.first.clone()).chain(self.standard.clone())
    }

    /// Leaves the link. Without it (a full disk, a read-only home) only this environment finds the directory.
    fn leave_link(&self, path: &Path) {
        if let (Some(standard), Some(name)) = (&self.standard, path.file_name())
            && !path.starts_with(standard)
            && DirBuilder::new().recursive(true).mode(0o700).create(standard).is_ok()
        {
            let _ = symlink(path, standard.join(name));
        }
    }
}

/// Moves the state that the directory `root` had under another path to `path`, if there is one below `place`.
///
/// # Errors
/// If it is in use: a project that started with empty state would never see it again.
fn adopt(place: &Path, path: &Path, root: &Path) -> Result<bool, PathError> {
    let Some(identity) = Identity::of_directory(root) else { return Ok(false) };
    let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    for old in entries.filter(|old| root_note::is_state(old)) {
        let is_link = old.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_symlink());
        if is_link || !matches!(read_identity(&old), RecordedIdentity::Is(known) if known.is_directory_of(&identity)) {
            continue;
        }
        // It may also be this same root seen under two paths; its set-aside state returns once it is back.
        let Some(former) = root_note::root_of(&old) else { continue };
        let is_back = former == root && old.extension().is_some();
        if !is_back && Identity::of_directory(&former).is_some_and(|there| there.is_directory_of(&identity)) {
            continue;
        }
        let Some((file, _)) = root_note::sole_use(&old) else { return Err(PathError::InUse { path: old }) };
        if replace_with(path, &old).is_err() {
            continue;
        }
        drop(file);
        return Ok(true);
    }
    Ok(false)
}

/// Sets the state at `path` aside if it belongs to another project than the one at `root`.
///
/// # Errors
/// If it is in use by the other project.
fn set_aside(path: &Path, root: &Path) -> Result<(), PathError> {
    if !is_of_another(path, root) {
        return Ok(());
    }
    let sole_use = root_note::sole_use(path);
    if sole_use.is_none() {
        if root_note::root_of(path).is_some() {
            return Err(PathError::InUse { path: path.to_owned() });
        }
        // It is just being created, unless the file that names the root exists and cannot be read.
        if path.join(root_note::ROOT).symlink_metadata().is_err() {
            return Ok(());
        }
    }
    let number = match read_identity(path) {
        RecordedIdentity::Is(known) => known.number(),
        RecordedIdentity::Nothing | RecordedIdentity::Unbelievable => "0".to_owned(),
    };
    let mut aside = path.to_owned().into_os_string();
    aside.push(format!(".{number}"));
    while Path::new(&aside).symlink_metadata().is_ok() {
        aside.push("0");
    }
    fs::rename(path, aside).map_err(|source| PathError::Create { path: path.to_owned(), source })?;
    drop(sole_use);
    Ok(())
}

/// Returns true if the state at `path` belongs to another project than the one at `root`.
pub(crate) fn is_of_another(path: &Path, root: &Path) -> bool {
    match read_identity(path) {
        RecordedIdentity::Nothing => false,
        RecordedIdentity::Unbelievable => true,
        // An invisible root claims nothing.
        RecordedIdentity::Is(known) => Identity::of_directory(root).is_some_and(|now| known.is_replaced_by(&now)),
    }
}

/// Returns the state of other projects that used to be at this path.
pub(crate) fn set_aside_states(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.parent().and_then(|place| fs::read_dir(place).ok()).into_iter().flatten().flatten();
    let mut aside: Vec<_> = beside
        .map(|entry| entry.path())
        .filter(|other| {
            root_note::is_state(other)
                && other.extension().is_some()
                && other.file_stem().is_some_and(|stem| *stem == *name)
        })
        .collect();
    aside.sort();
    aside
}

/// The recorded identity of a state's directory.
#[derive(PartialEq, Eq)]
enum RecordedIdentity {
    /// No record: the disk was full, or the user removed it to give the state to the directory at the path.
    Nothing,
    /// A record that hob did not write, or that other users may have changed: it could name any directory.
    Unbelievable,
    Is(Identity),
}

fn read_identity(path: &Path) -> RecordedIdentity {
    let note = path.join(IDENTITY);
    if note.symlink_metadata().is_err_and(|error| is_absent(&error)) {
        return RecordedIdentity::Nothing;
    }
    // The note is not secret: after a restore, others may be allowed to read it.
    let text = private::read_unchanged(&note, FILE_MAX).ok().flatten();
    let identity = text.and_then(|text| Identity::parse(std::str::from_utf8(&text).ok()?));
    identity.map_or(RecordedIdentity::Unbelievable, RecordedIdentity::Is)
}

/// Puts the state `old` in the place of `path`, which no daemon has used. Existing files are moved along.
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

/// Records which directory the state belongs to, in case it is moved.
pub(crate) fn remember(path: &Path, root: &Path) -> io::Result<()> {
    let Some(identity) = Identity::of_directory(root) else { return Ok(()) };
    if read_identity(path) == RecordedIdentity::Is(identity.clone()) {
        return Ok(());
    }
    // On a full disk, a project that is moved later is not recognised; that must not prevent its use now.
    match private::replace(&path.join(IDENTITY), identity.to_string().as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::hash_of;
    use crate::secrets_dir::SecretsDir;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// Returns the state of `root` below `place`: adopted from the project's former path, or new.
    fn adopt_or_make(place: &Path, root: &Path) -> SecretsDir {
        let path = place.join(hash_of(root));
        fs::create_dir_all(place).unwrap();
        if !path.join(root_note::ROOT).exists() && !adopt(place, &path, root).unwrap() {
            private_directory(&path).unwrap();
        }
        remember(&path, root).unwrap();
        SecretsDir::hold_in(path, root).unwrap()
    }

    /// Creates the state of `root` like a daemon that runs briefly.
    fn make_in(place: &Places, path: &Path, root: &Path) {
        create_in(place, path, root).unwrap();
        remember(path, root).unwrap();
        drop(SecretsDir::hold_in(path.to_owned(), root).unwrap());
    }

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
        let make = |root: &Path| adopt_or_make(&place, root);
        let held = make(&first);
        fs::write(of(&first).join("mail.db"), "mail").unwrap();
        drop(make(&other));
        fs::rename(&first, &second).unwrap();
        // While it is in use, it is not removed.
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
            adopt_or_make(&place, root)
        };
        fs::create_dir(&root).unwrap();
        let held = make(&root);
        fs::write(of(&root).join("mail.db"), "mail").unwrap();
        // The new project is used first.
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        assert!(matches!(set_aside(&of(&root), &root), Err(PathError::InUse { .. })));
        drop(held);
        drop(make(&root));
        assert!(!of(&root).join("mail.db").exists());
        assert_eq!(set_aside_states(&of(&root)).len(), 1);
        drop(make(&moved));
        assert_eq!(fs::read_to_string(of(&moved).join("mail.db")).unwrap(), "mail");
        assert_eq!(set_aside_states(&of(&root)).len(), 0);
        drop(make(&root));
        assert!(of(&moved).join("mail.db").exists() && !of(&root).join("mail.db").exists());
    }

    #[test]
    fn what_another_made_in_the_temporary_directory_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let places = Places::new(None, None, temp.path());
        let (root, above) = (temp.path().join("root"), temp.path().join(format!("hob-{}", owner::current_user())));
        fs::create_dir(&root).unwrap();
        let path = above.join("00000000000000aa");
        let refused = |what: &str| {
            assert!(matches!(directory_in(&places, "00000000000000aa"), Err(PathError::NotPrivate { .. })), "{what}");
            assert!(matches!(create_in(&places, &path, &root), Err(PathError::NotPrivate { .. })), "{what}");
        };
        // Looking creates nothing.
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
        if owner::current_user() == 0 {
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
    fn what_was_set_aside_is_there_again_with_its_directory() {
        let temp = tempfile::tempdir().unwrap();
        let place = Places::new(Some(temp.path().join("state")), None, temp.path());
        let [root, moved] = ["root", "moved"].map(|name| temp.path().join(name));
        let path = place.first().join(hash_of(&root));
        let make = || make_in(&place, &path, &root);
        fs::create_dir(&root).unwrap();
        make();
        fs::write(path.join("mail.db"), "mail").unwrap();
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        make();
        fs::remove_dir(&root).unwrap();
        fs::rename(&moved, &root).unwrap();
        assert!(is_of_another(&path, &root));
        make();
        assert!(path.join("mail.db").exists());
        // The user says that the new directory replaces the old one.
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        fs::remove_file(path.join(IDENTITY)).unwrap();
        make();
        assert!(path.join("mail.db").exists());
    }

    #[test]
    fn a_note_that_is_not_believed_is_anothers() {
        let temp = tempfile::tempdir().unwrap();
        let place = Places::new(Some(temp.path().join("state")), None, temp.path());
        let [root, moved] = ["root", "moved"].map(|name| temp.path().join(name));
        let path = place.first().join(hash_of(&root));
        let note = path.join(IDENTITY);
        let make = || make_in(&place, &path, &root);
        let mode = |mode| fs::set_permissions(&note, fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir(&root).unwrap();
        make();
        // After a restore it answers as before.
        fs::write(path.join("mail.db"), "mail").unwrap();
        mode(0o644);
        make();
        assert!(path.join("mail.db").exists());
        mode(0o644);
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        make();
        assert!(!path.join("mail.db").exists());
        // Files that others may have written, or that are unreadable.
        let spoils: [(&str, &dyn Fn()); 4] = [
            ("writable", &|| mode(0o666)),
            ("empty", &|| fs::write(&note, "").unwrap()),
            ("a link", &|| {
                fs::rename(&note, path.join("note")).unwrap();
                symlink("note", &note).unwrap();
            }),
            ("a directory", &|| {
                fs::remove_file(&note).unwrap();
                fs::create_dir(&note).unwrap();
            }),
        ];
        for (what, spoil) in spoils {
            fs::write(path.join("mail.db"), "mail").unwrap();
            let before = set_aside_states(&path).len();
            spoil();
            make();
            assert!(!path.join("mail.db").exists(), "{what}");
            assert_eq!(set_aside_states(&path).len(), before + 1, "{what}");
        }
    }

    #[test]
    fn nothing_below_a_directory_of_another_and_no_link_but_hobs() {
        let temp = tempfile::tempdir().unwrap();
        let (xdg, mine) = (temp.path().join("xdg"), temp.path().join("mine"));
        let places = Places::new(Some(xdg.clone()), None, temp.path());
        let hash = "00000000000000aa";
        let path = places.first().join(hash);
        fs::create_dir_all(places.first()).unwrap();
        fs::create_dir_all(mine.join(hash)).unwrap();
        if owner::current_user() == 0 {
            for at in [&xdg, places.first()] {
                std::os::unix::fs::chown(at, Some(12345), None).unwrap();
                let refused = directory_in(&places, hash).unwrap_err().to_string();
                assert!(refused.contains("belongs to user 12345") && refused.contains("XDG_STATE_HOME"), "{refused}");
                assert!(matches!(create_in(&places, &path, temp.path()), Err(PathError::Foreign { .. })));
                std::os::unix::fs::chown(at, Some(0), None).unwrap();
            }
        }
        // A link to a directory of another name is not hob's.
        fs::set_permissions(&mine, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&mine, &path).unwrap();
        assert!(matches!(directory_in(&places, hash), Err(PathError::NotPrivate { .. })));
        assert_eq!(fs::metadata(&mine).unwrap().mode() & 0o777, 0o755);
        fs::remove_file(&path).unwrap();
        symlink(mine.join(hash), &path).unwrap();
        assert_eq!(directory_in(&places, hash).unwrap(), mine.join(hash).canonicalize().unwrap());
        if owner::current_user() == 0 {
            std::os::unix::fs::lchown(&path, Some(12345), None).unwrap();
            assert!(matches!(directory_in(&places, hash), Err(PathError::NotPrivate { .. })), "another's link");
            std::os::unix::fs::lchown(&path, Some(0), None).unwrap();
        }
        // Its disk is not mounted: no empty state may take its place.
        fs::remove_dir_all(&mine).unwrap();
        let found = directory_in(&places, hash).unwrap();
        let refused = create_in(&places, &found, temp.path()).unwrap_err().to_string();
        assert!(refused.contains(&*path.to_string_lossy()) && refused.contains(&*mine.to_string_lossy()), "{refused}");
        assert!(!mine.exists());
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
