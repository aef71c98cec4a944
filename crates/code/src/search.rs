//! Finds the files that mention a name. It reads the disk for every question, so results are never stale. It honours ignore
//! files, does not follow links and writes nothing.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use parking_lot::Mutex;
use syntax::{Language, family, is_word};

use crate::judgement::Revision;
use crate::unsearched_files::{embedded, is_assembly, languages_of, source_like_files};
use crate::walk::{Entry, Files, walk};

pub(crate) use crate::skipped_files::{Skipped, Why, unread_parts};

/// A file that mentions a name.
#[derive(Debug)]
pub(crate) struct Hit {
    /// Relative to the root.
    pub path: PathBuf,
    pub language: Language,
    pub text: Vec<u8>,
    /// The offsets at which the name stands as a word, in order.
    pub starts: Vec<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct SearchResult {
    /// The number of files in known languages.
    pub files: usize,
    /// Sorted by path.
    pub hits: Vec<Hit>,
    pub skipped: Vec<Skipped>,
}

/// The area and the deadline of a search.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub root: PathBuf,
    /// The file or folder to search; the root by default.
    pub below: PathBuf,
    /// The base directories for relative paths; the first that has the path counts.
    pub from: Vec<PathBuf>,
    /// The time of the question.
    pub since: Instant,
    pub until: Instant,
    /// The revision of the worktree, if known.
    pub revision: Revision,
    /// Set when the caller has cancelled the question.
    pub is_given_up: Arc<AtomicBool>,
}

impl Scope {
    /// Creates a scope for a whole worktree that expires after the budget.
    pub(crate) fn for_root(root: &Path, budget: Duration) -> Scope {
        let (since, revision) = (Instant::now(), Revision::default());
        let (root, below) = (root.to_owned(), root.to_owned());
        Scope {
            from: vec![root.clone()],
            root,
            below,
            since,
            until: since + budget,
            revision,
            is_given_up: Arc::default(),
        }
    }

    /// Returns this scope for the whole worktree.
    pub(crate) fn whole(&self) -> Scope {
        Scope { below: self.root.clone(), ..self.clone() }
    }

    /// Returns a path relative to the root.
    pub(crate) fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Resolves a path of a question, if it is within the root.
    pub(crate) fn resolve_path(&self, path: &str) -> Option<PathBuf> {
        let mut there = self.from.iter().filter_map(|from| from.join(path).canonicalize().ok());
        there.find(|path| path.starts_with(&self.root))
    }

    /// Returns why a file was not parsed: its own size, or the expired deadline.
    pub(crate) fn why_not_parsed(&self) -> Why {
        if self.is_over() { Why::OutOfTime } else { Why::TooSlow }
    }

    /// True if the deadline has passed or the question was cancelled.
    pub(crate) fn is_over(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// The size limit of a parsed file.
pub(crate) const MAX_PARSED: u64 = 2 << 20;
/// The size limit of a searched file.
const MAX_READ: u64 = 64 << 20;
/// A file with a longer line counts as generated.
const MAX_LINE: usize = 20_000;
/// The memory limit for file contents.
const MAX_HELD: usize = 256 << 20;

/// Finds the files that mention a name as a word.
pub(crate) fn search(scope: &Scope, name: &str) -> SearchResult {
    let finder = Finder::new(name.as_bytes());
    search_by(scope, |_, text| word_starts(&finder, text, name))
}

/// Finds the files in which `find` returns offsets.
pub(crate) fn search_by(scope: &Scope, find: impl Fn(Language, &[u8]) -> Vec<usize> + Sync) -> SearchResult {
    let found = Mutex::new((SearchResult::default(), 0));
    // All entries of the searched folders, and those that were searched.
    let (there, seen) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let lock = || found.lock();
    let enter = |folder: &Path| there.lock().extend(source_like_files(folder));
    each_file_of(scope, Files::All, enter, |path, language| {
        seen.lock().insert(path.clone());
        let read = language.and_then(|language| Ok((language, read(&path)?)));
        let relative = scope.relative(&path).to_owned();
        let skip = |why, mentions| Skipped::new(relative.clone(), why, mentions);
        let (by_name, text) = match read {
            Ok(read) => read,
            Err(why) => {
                let mut found = lock();
                found.0.files += usize::from(language.is_ok());
                found.0.skipped.push(skip(why, 0));
                return;
            }
        };
        let starts = find(by_name, &text);
        let mut found = lock();
        found.0.files += 1;
        if starts.is_empty() {
            return;
        }
        let why = if text.len() as u64 > MAX_PARSED {
            Some(Why::TooLarge)
        } else if text.split(|byte| *byte == b'\n').any(|line| line.len() > MAX_LINE) {
            Some(Why::Minified)
        } else if found.1 + text.len() > MAX_HELD {
            Some(Why::OverMemory)
        } else {
            None
        };
        match (why, Language::detect(&path, &text)) {
            (None, Some(language)) => {
                found.1 += text.len();
                found.0.hits.push(Hit { path: relative, language, text, starts });
            }
            (Some(why), _) => found.0.skipped.push(skip(why, starts.len())),
            (None, None) => {}
        }
    });
    let (mut searched, _) = found.into_inner();
    let [there, seen] = [there, seen].map(Mutex::into_inner);
    // A file of another kind can hold a use only if it can embed a language of the hits.
    let families: BTreeSet<&str> = searched.hits.iter().map(|hit| family(hit.language)).collect();
    let may_hold = |path: &PathBuf| {
        let is_of_them = || languages_of(path).into_iter().any(|language| families.contains(family(language)));
        Language::by_name(path).is_some() || families.is_empty() || is_of_them()
    };
    let there: BTreeSet<PathBuf> = there.into_iter().filter(may_hold).collect();
    searched.skipped.extend(unsearched(scope, there.difference(&seen), find));
    if scope.is_over() {
        searched.skipped.push(Skipped::new(PathBuf::new(), Why::OutOfTime, 0));
    }
    searched.hits.sort_by(|a, b| a.path.cmp(&b.path));
    searched.skipped.sort();
    searched
}

/// Returns the files that a compiler may read, the search does not, and that may mention the name.
fn unsearched<'a>(
    scope: &Scope,
    there: impl Iterator<Item = &'a PathBuf>,
    find: impl Fn(Language, &[u8]) -> Vec<usize>,
) -> Vec<Skipped> {
    let skipped = |path: &PathBuf| {
        // A broken link has no content.
        let (language, text) = languages_of(path).first().copied().zip(read(path).ok())?;
        let mentions = find(language, &embedded(path, &text)).len();
        let why = match Language::by_name(path) {
            None if is_assembly(path) => Why::Assembly,
            None => Why::Embedded,
            Some(_) if path.is_symlink() => Why::Linked,
            Some(_) => Why::Ignored,
        };
        let relative = scope.relative(path).to_owned();
        (mentions > 0).then(|| Skipped::new(relative, why, mentions))
    };
    there.take_while(|_| !scope.is_over()).filter_map(skipped).collect()
}

/// Lists hand-written files of known languages, sorted, at most `most`. Also returns whether there are more, and the unreadable ones.
pub(crate) fn list(scope: &Scope, most: usize) -> (Vec<PathBuf>, bool, Vec<Skipped>) {
    let found = Mutex::new((Vec::new(), Vec::new()));
    each_file_of(
        scope,
        Files::Written,
        |_| {},
        |path, language| {
            let mut found = found.lock();
            match language {
                Ok(_) => found.0.push(path),
                Err(why) => found.1.push(Skipped::new(path, why, 0)),
            }
        },
    );
    let (mut files, skipped) = found.into_inner();
    files.sort();
    let more = files.len() > most;
    files.truncate(most);
    (files, more, skipped)
}

/// True if there is a file of a known language, or if the time ran out before one was found.
pub(crate) fn has_sources(scope: &Scope) -> bool {
    let has = AtomicBool::new(false);
    each_file(scope, |_, language| {
        if language.is_ok() {
            has.store(true, Ordering::Relaxed);
        }
    });
    has.into_inner() || scope.is_over()
}

/// Visits each file of a known language and each unreadable file, on several threads.
pub(crate) fn each_file(scope: &Scope, visit: impl Fn(PathBuf, Result<Language, Why>) + Sync) {
    each_file_of(scope, Files::All, |_| {}, visit);
}

/// Also calls `enter` for each folder.
fn each_file_of(
    scope: &Scope,
    files: Files,
    enter: impl Fn(&Path) + Sync,
    visit: impl Fn(PathBuf, Result<Language, Why>) + Sync,
) {
    let is_over = || scope.is_over();
    walk(&scope.root, &scope.below, files, is_over, |met| match met {
        Entry::File(path) => {
            if let Some(language) = Language::by_name(&path) {
                visit(path, Ok(language));
            }
        }
        Entry::Folder(path) => enter(&path),
        Entry::Unreadable(path) => visit(path, Err(Why::Unreadable)),
    });
}

/// Returns a hash of the paths, sizes and times of all searched files; `None` if the time was too short.
pub(crate) fn stamp(scope: &Scope) -> Option<u64> {
    let sum = AtomicU64::new(0);
    let add = |path: PathBuf, _| {
        let mut hasher = DefaultHasher::new();
        let facts = path
            .symlink_metadata()
            .map(|one| (one.len(), one.mtime(), one.mtime_nsec(), one.ctime(), one.ctime_nsec()));
        (path, facts.ok()).hash(&mut hasher);
        // The files come in any order.
        sum.fetch_add(hasher.finish(), Ordering::Relaxed);
    };
    each_file_of(scope, Files::All, |_| {}, add);
    (!scope.is_over()).then(|| sum.into_inner())
}

/// Reads a regular file. Never blocks on a FIFO.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Why> {
    let file = project::regular::open(path).map_err(|_| Why::Unreadable)?;
    // One read is enough for a file that does not grow.
    let size = file.metadata().map_or(0, |metadata| metadata.len().min(MAX_READ));
    let mut text = Vec::with_capacity(size as usize + 1);
    file.take(MAX_READ + 1).read_to_end(&mut text).map_err(|_| Why::Unreadable)?;
    if text.len() as u64 > MAX_READ { Err(Why::TooLarge) } else { Ok(text) }
}

/// Returns the offsets at which a name stands as a word.
pub(crate) fn word_starts(finder: &Finder<'_>, text: &[u8], name: &str) -> Vec<usize> {
    let bytes = name.as_bytes();
    let is_operator = bytes.iter().all(|byte| !is_word(*byte));
    // A name that ends in a non-ASCII character has no boundary at the byte level: the parser decides.
    let is_inside = |byte: Option<&u8>| {
        if is_operator {
            byte.is_some_and(|byte| b"!#$%&*+./<=>?@\\^|-~:".contains(byte))
        } else {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
    };
    let is_word = |start: &usize| {
        let before = start.checked_sub(1).and_then(|before| text.get(before));
        !is_inside(before) && !is_inside(text.get(start + bytes.len()))
    };
    finder.find_iter(text).filter(is_word).collect()
}

/// The reason why there is no answer, with the next step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer(pub String);

/// The time limit of a question.
pub(crate) const BUDGET: Duration = Duration::from_secs(10);

/// Creates the scope of a question from a folder and an optional path; `Err` explains why the path is invalid.
pub(crate) fn scope(root: &Path, folder: Option<&Path>, path: Option<&str>, since: Instant) -> Result<Scope, NoAnswer> {
    let shown = project::visible::path(root);
    let root = root
        .canonicalize()
        .map_err(|_| NoAnswer(format!("{shown} no longer exists; change to an existing directory")))?;
    let from = folder.into_iter().chain([&*root]).map(Path::to_owned).collect();
    let scope = Scope { since, from, ..Scope::for_root(&root, BUDGET) };
    let Some(path) = path.map(str::trim).filter(|path| !path.is_empty()) else { return Ok(scope) };
    match scope.resolve_path(path) {
        Some(below) => Ok(Scope { below, ..scope }),
        None if scope.from.iter().any(|from| from.join(path).exists()) => {
            Err(NoAnswer(format!("{} is outside {shown}; name a file inside it", project::visible(path))))
        }
        None => Err(NoAnswer(format!(
            "no such file or folder in {shown}: {}; name one that exists",
            project::visible(path)
        ))),
    }
}
