//! The cache shared by checkouts: `hob-xtask` in the user's cache directory.
//!
//! Holds the installations of `setup` and the builds of third-party crates (`Builds`), so that a fresh clone compiles
//! only our own crates. Each lock file has a separate directory. Our own crates are never cached: cargo distinguishes
//! the same crate in two checkouts only by the modification times of its files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::workspace::{Profile, cargo, metadata, read, run};

/// An entry that was not used for this long is removed.
const MAX_AGE: Duration = Duration::from_secs(60 * 86_400);

/// The cache directory; below the build directory if the user has no home.
fn root() -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let dir = match cache {
        Some(cache) => cache.join("hob-xtask"),
        None => crate::workspace::target_dir()?.join("cache"),
    };
    fs::create_dir_all(&dir).with_context(|| format!("could not make {}", dir.display()))?;
    Ok(dir)
}

/// The directory in which `install` has installed these lists. `install` runs once for the same lists, in an empty
/// directory, under a lock; after a failure or a kill it runs again.
pub fn installed(what: &str, lists: &[&[u8]], install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    Entry::new(&root()?, what, lists).installed(what, install)
}

/// A directory whose contents follow from lists, such as lock files.
struct Entry {
    dir: PathBuf,
    /// Created last; its modification time is that of the last use.
    done: PathBuf,
    lock: PathBuf,
}

impl Entry {
    fn new(root: &Path, what: &str, lists: &[&[u8]]) -> Self {
        let mut hasher = DefaultHasher::new();
        lists.hash(&mut hasher);
        let name = format!("{what}-{:016x}", hasher.finish());
        let beside = |extension: &str| root.join(format!("{name}.{extension}"));
        Self { done: beside("done"), lock: beside("lock"), dir: root.join(&name) }
    }

    /// True if the entry is complete. In that case this counts as a use.
    fn touch_if_complete(&self) -> bool {
        self.done.exists() && File::create(&self.done).is_ok()
    }

    fn installed(&self, what: &str, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let lock = File::create(&self.lock).with_context(|| format!("could not make {}", self.lock.display()))?;
        lock.lock().context("could not lock the cache")?;
        let dir = self.dir.clone();
        if self.touch_if_complete() {
            println!("setup: {what}: there");
            return Ok(dir);
        }
        remove_unused(dir.parent().unwrap_or(&dir), what)?;
        println!("setup: {what}: installing into {}", dir.display());
        if dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("could not remove {}", dir.display()))?;
        }
        fs::create_dir_all(&dir).with_context(|| format!("could not make {}", dir.display()))?;
        install(&dir)?;
        File::create(&self.done).with_context(|| format!("could not write {}", self.done.display()))?;
        Ok(dir)
    }
}

/// Removes the entries of this kind that were not used for [`MAX_AGE`].
fn remove_unused(root: &Path, what: &str) -> Result<()> {
    for entry in fs::read_dir(root)?.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".done")) else { continue };
        if name.rsplit_once('-').is_some_and(|(kind, _)| kind == what) && is_unused(&path) {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir_all(root.join(name));
            let _ = fs::remove_file(root.join(format!("{name}.lock")));
        }
    }
    Ok(())
}

fn is_unused(path: &Path) -> bool {
    let changed = path.metadata().and_then(|meta| meta.modified());
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > MAX_AGE))
}

/// Cargo's fingerprints of the built crates, in the directory of a profile.
const FINGERPRINTS: &str = ".fingerprint";
/// Directories of built crates, in the directory of a profile. Fingerprints are copied first. If a build runs
/// concurrently, an outdated fingerprint only causes a rebuild, but a newer one would make an old crate appear fresh.
const CRATE_DIRS: [&str; 3] = [FINGERPRINTS, "build", "deps"];
/// Part of the key of cached builds. Change the number when other crates are cached.
const KEPT: &[u8] = b"2";

/// The builds of the third-party crates of one lock file.
pub struct Builds {
    what: String,
    entry: Entry,
    target: PathBuf,
    /// The directories of the profiles in the build directory.
    profiles: Vec<String>,
}

/// Marks a build directory whose third-party crates came from the cache or were saved there.
const MARK: &str = ".lent";

impl Builds {
    /// Copies the cached builds of these profiles into a new build directory. A used one is left unchanged.
    pub fn restore(kind: &str, lock: &Path, target: &Path, profiles: &[&str]) -> Result<Self> {
        let list = fs::read(lock).with_context(|| format!("could not read {}", lock.display()))?;
        let compiler = read(Command::new("rustc").arg("-vV"))?;
        let what = format!("builds-{kind}");
        let entry = Entry::new(&root()?, &what, &[&list, compiler.as_bytes(), KEPT]);
        let profiles = profiles.iter().map(|&name| name.to_owned()).collect();
        let builds = Self { what, entry, target: target.to_owned(), profiles };
        if !target.join(MARK).exists() && builds.entry.touch_if_complete() {
            for profile in &builds.profiles {
                copy_crates(&builds.entry.dir.join(profile), &target.join(profile), &|_, _| true)?;
            }
            builds.mark()?;
        }
        Ok(builds)
    }

    /// Saves the builds for other checkouts unless they are cached already.
    pub fn save(&self) -> Result<()> {
        if self.entry.touch_if_complete() {
            return Ok(());
        }
        let ours = our_packages()?;
        self.entry.installed(&self.what, |dir| {
            self.profiles.iter().try_for_each(|profile| {
                let from = self.target.join(profile);
                let theirs = hashes(&from, &|package| !ours.contains(package))?;
                copy_crates(&from, &dir.join(profile), &|_, entry| theirs.contains(split(entry).1))
            })
        })?;
        self.mark()
    }

    fn mark(&self) -> Result<()> {
        File::create(self.target.join(MARK)).map(drop).context("could not mark the build directory")
    }
}

/// Builds a crate outside this workspace in a separate build directory, so that ordinary builds do not compile it.
/// Returns the directory of its programs.
pub fn build_standalone(kind: &str, sources: &Path, target: &Path, profile: Profile) -> Result<PathBuf> {
    let (flag, folder) = match profile {
        Profile::Dev => ("--quiet", "debug"),
        Profile::Release => ("--release", "release"),
    };
    let builds = Builds::restore(kind, &sources.join("Cargo.lock"), target, &[folder])?;
    run(cargo()
        .args(["build", flag, "--locked", "--manifest-path"])
        .arg(sources.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target))?;
    builds.save()?;
    Ok(target.join(folder))
}

/// Copies test builds of the checkout into the build directory of a copy of the checkout. Cargo accepts them while the
/// sources have the same modification times. Programs, which are large, are omitted, except those of the integration
/// tests: cargo builds all of these to run one with the features of the whole workspace.
pub fn lend_to_copy(target: &Path, of_copy: &Path) -> Result<()> {
    let wanted = |folder: &str, entry: &str| folder != "deps" || entry.contains('.') || split(entry).0 == "it";
    copy_crates(&target.join("debug"), &of_copy.join("debug"), &wanted)
}

/// Names of this workspace's packages, the fuzz targets, the made-up part, and the clients and peers outside the workspace.
fn our_packages() -> Result<BTreeSet<String>> {
    let meta = metadata()?;
    let names = meta["packages"].as_array().into_iter().flatten().filter_map(|package| package["name"].as_str());
    Ok(names.chain(["fuzz", "garden", "peer-rmcp", "rmcp-client"]).map(str::to_owned).collect())
}

/// Collects the hashes that identify the wanted packages in the directory of a profile.
fn hashes(profile: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<BTreeSet<String>> {
    let dir = profile.join(FINGERPRINTS);
    let entries = fs::read_dir(&dir).with_context(|| format!("could not list {}", dir.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| wanted(split(name).0)).map(|name| split(&name).1.to_owned()).collect())
}

/// Splits an entry such as `serde_json-0123456789abcdef.d` into package or crate and hash. The crate's name does not
/// identify the package: one of our examples has the name of another crate.
fn split(entry: &str) -> (&str, &str) {
    let stem = entry.split('.').next().unwrap_or(entry);
    stem.rsplit_once('-').unwrap_or((stem, ""))
}

/// Copies the wanted builds, by folder and name, between directories of a profile.
fn copy_crates(from: &Path, to: &Path, wanted: &dyn Fn(&str, &str) -> bool) -> Result<()> {
    CRATE_DIRS
        .iter()
        .try_for_each(|folder| copy_entries(&from.join(folder), &to.join(folder), &|entry| wanted(folder, entry)))
}

/// Copies the wanted entries over those that exist.
fn copy_entries(from: &Path, to: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to).with_context(|| format!("could not make {}", to.display()))?;
    for entry in entries.flatten().filter(|entry| wanted(&entry.file_name().to_string_lossy())) {
        let from = entry.path();
        copy_tree(&from, &to.join(entry.file_name())).with_context(|| format!("could not copy {}", from.display()))?;
    }
    Ok(())
}

/// Copies a file or a directory with its modification times, from which cargo decides about rebuilds.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let meta = from.symlink_metadata()?;
    if meta.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if meta.is_file() {
        fs::copy(from, to)?;
        File::options().append(true).open(to)?.set_modified(meta.modified()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn an_installation_is_made_once_for_its_lists() {
        let root = tempfile::tempdir().unwrap();
        let mut runs = 0;
        for list in ["a", "a", "b", "a"] {
            let dir = Entry::new(root.path(), "things", &[list.as_bytes()]).installed("things", |dir| {
                runs += 1;
                Ok(fs::write(dir.join("list"), list)?)
            });
            assert_eq!(fs::read_to_string(dir.unwrap().join("list")).unwrap(), list);
        }
        assert_eq!(runs, 2);
    }

    #[test]
    fn an_installation_that_failed_is_made_again_from_nothing() {
        let root = tempfile::tempdir().unwrap();
        let half = |dir: &Path| {
            fs::write(dir.join("half"), "")?;
            bail!("no network")
        };
        Entry::new(root.path(), "things", &[b"a"]).installed("things", half).unwrap_err();
        let dir = Entry::new(root.path(), "things", &[b"a"]).installed("things", |_| Ok(())).unwrap();
        assert!(!dir.join("half").exists());
    }

    #[test]
    fn an_entry_of_a_build_directory_tells_its_crate_and_its_hash() {
        for (entry, name) in [
            ("libserde_json-0123456789abcdef.rlib", "libserde_json"),
            ("serde-json-0123456789abcdef", "serde-json"),
            ("it-0123456789abcdef.it.1b2c-cgu.0.rcgu.o", "it"),
        ] {
            assert_eq!(split(entry), (name, "0123456789abcdef"), "{entry}");
        }
    }

    /// Also if one of our crates has the name of another: the example `http`, and a popular package.
    #[test]
    fn what_is_kept_keeps_its_times_and_leaves_out_our_own() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for folder in [".fingerprint/http-11", ".fingerprint/mcp-22", "deps"] {
            fs::create_dir_all(from.join(folder)).unwrap();
        }
        for name in
            [".fingerprint/http-11/invoked", ".fingerprint/mcp-22/invoked", "deps/libhttp-11.rlib", "deps/http-22"]
        {
            fs::write(from.join(name), "new").unwrap();
        }
        let before = SystemTime::now() - Duration::from_secs(100);
        File::options().append(true).open(from.join("deps/libhttp-11.rlib")).unwrap().set_modified(before).unwrap();
        let theirs = hashes(&from, &|package| package != "mcp").unwrap();
        copy_crates(&from, &to, &|_, entry| theirs.contains(split(entry).1)).unwrap();
        assert_eq!(fs::metadata(to.join("deps/libhttp-11.rlib")).unwrap().modified().unwrap(), before);
        assert!(to.join(".fingerprint/http-11/invoked").exists());
        assert!(!to.join(".fingerprint/mcp-22").exists() && !to.join("deps/http-22").exists());
    }
}
