//! Finds the files that mention a name. It reads the disk for every question, so results are never stale. It honours ignore
//! files, does not follow links and writes nothing.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use parking_lot::Mutex;

use crate::judgement::Revision;
use crate::path_dependencies;
use crate::syntax::{Language, family, is_word};
use crate::unsearched::{Embedding, Inclusion, beside, embedding, inclusions, languages_of, named_by};
use crate::walk::{Entry, Files, walk};

pub(crate) use crate::skipped::{Skipped, Why, unread_parts};

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

/// The result of a search.
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
    /// Unwatched Rust files that are compiled with the project, collected by the searches.
    pub beyond: Arc<Beyond>,
}

/// Files that are compiled and not watched.
#[derive(Debug, Default)]
pub(crate) struct Beyond {
    brought: Mutex<BTreeSet<PathBuf>>,
    /// Sources of crates outside of the root, which are the same for all searches of a question.
    crates: OnceLock<Vec<PathBuf>>,
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
            beyond: Arc::default(),
        }
    }

    /// Resolves a path of a question, if it is within the root.
    pub(crate) fn place(&self, path: &str) -> Option<PathBuf> {
        let mut there = self.from.iter().filter_map(|from| from.join(path).canonicalize().ok());
        there.find(|path| path.starts_with(&self.root))
    }

    /// Returns why a file was not parsed: its own size, or the expired deadline.
    pub(crate) fn why_not_parsed(&self) -> Why {
        if self.is_over() { Why::OutOfTime } else { Why::TooSlow }
    }

    /// Returns the files that are compiled but not watched.
    pub(crate) fn beyond(&self) -> BTreeSet<PathBuf> {
        let brought = self.beyond.brought.lock();
        brought.iter().chain(self.beyond.crates.get().into_iter().flatten()).cloned().collect()
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
    // All entries of the searched folders, those that were searched, and the files that Rust sources bring in.
    let (there, seen) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let bringing: Mutex<Vec<(PathBuf, Inclusion)>> = Mutex::default();
    let lock = || found.lock();
    let manifests: Mutex<Vec<PathBuf>> = Mutex::default();
    let enter = |folder: &Path| {
        there.lock().extend(beside(folder));
        manifests.lock().push(folder.join("Cargo.toml"));
    };
    each_file_of(scope, Files::All, enter, |path, language| {
        seen.lock().insert(path.clone());
        let read = match language {
            Ok(language) => read(&path).map(|text| (language, text)),
            Err(why) => Err(why),
        };
        let relative = path.strip_prefix(&scope.root).unwrap_or(&path).to_owned();
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
        if by_name == Language::Rust {
            let brought = inclusions(&path, &text);
            enqueue(&mut bringing.lock(), &path, brought);
        }
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
    let bringing = bringing.into_inner();
    let manifests = manifests.into_inner();
    if scope.below == scope.root {
        scope.beyond.crates.get_or_init(|| path_dependencies::sources(&scope.root, manifests, || scope.is_over()));
    }
    // A file of another kind can hold a use only if it can embed a language of the hits.
    let families: BTreeSet<&str> = searched.hits.iter().map(|hit| family(hit.language)).collect();
    let may_hold = |path: &PathBuf| {
        let is_of_them = || languages_of(path).into_iter().any(|language| families.contains(family(language)));
        Language::by_name(path).is_some() || families.is_empty() || is_of_them()
    };
    let there: BTreeSet<PathBuf> = there.into_iter().filter(may_hold).collect();
    searched.skipped.extend(unsearched(scope, &there, &seen, bringing, find));
    if scope.is_over() {
        searched.skipped.push(Skipped::new(PathBuf::new(), Why::OutOfTime, 0));
    }
    searched.hits.sort_by(|a, b| a.path.cmp(&b.path));
    searched.skipped.sort();
    searched
}

/// The maximum number of pending files that sources bring in.
const MOST_BROUGHT: usize = 100_000;

fn enqueue(bringing: &mut Vec<(PathBuf, Inclusion)>, by: &Path, brought: Vec<Inclusion>) {
    let room = MOST_BROUGHT.saturating_sub(bringing.len());
    bringing.extend(brought.into_iter().take(room).map(|one| (by.to_owned(), one)));
}

/// Returns the files that a compiler may read, the search does not, and that may mention the name.
fn unsearched(
    scope: &Scope,
    there: &BTreeSet<PathBuf>,
    seen: &BTreeSet<PathBuf>,
    mut bringing: Vec<(PathBuf, Inclusion)>,
    find: impl Fn(Language, &[u8]) -> Vec<usize>,
) -> Vec<Skipped> {
    let relative = |path: &Path| path.strip_prefix(&scope.root).unwrap_or(path).to_owned();
    let mut skipped: Vec<Skipped> = Vec::new();
    let (mut known, mut beyond) = (BTreeSet::new(), BTreeSet::new());
    for path in there.difference(seen).take_while(|_| !scope.is_over()) {
        // A broken link has no content.
        let Some((language, text)) = languages_of(path).first().copied().zip(read(path).ok()) else { continue };
        let mentions = match embedding(path) {
            Some(kind) => named_by(kind, &text, |text| find(language, text)),
            None => find(language, &text).len(),
        };
        let why = match Language::by_name(path) {
            None if embedding(path) == Some(Embedding::Assembly) => Why::Assembly,
            None => Why::Embedded,
            Some(_) if path.is_symlink() => Why::Linked,
            Some(_) => Why::Ignored,
        };
        if mentions > 0 {
            skipped.push(Skipped::new(relative(path), why, mentions));
        }
        if language == Language::Rust {
            known.extend(path.canonicalize());
            beyond.insert(path.clone());
            enqueue(&mut bringing, path, inclusions(path, &text));
        }
    }
    // A file that was brought in may bring in further files.
    while let Some((by, one)) = bringing.pop().filter(|_| !scope.is_over()) {
        let (file, why) = match one {
            Inclusion::Included(file) => (Some(file), Why::Includes),
            Inclusion::Module(files) if files.iter().any(|file| seen.contains(file)) => continue,
            Inclusion::Module(files) => (files.into_iter().find(|file| file.is_file()), Why::Module),
        };
        // A file that was searched under another path is skipped.
        let real = file.as_ref().and_then(|file| file.canonicalize().ok()).filter(|real| !seen.contains(real));
        let Some((file, real)) = file.zip(real) else { continue };
        let Some(text) = known.insert(real).then(|| read(&file).ok()).flatten() else { continue };
        let mentions = find(Language::Rust, &text).len();
        beyond.insert(file.clone());
        if mentions > 0 {
            let path = if why == Why::Module { &file } else { &by };
            skipped.push(Skipped::new(relative(path), why, mentions));
        }
        enqueue(&mut bringing, &file, inclusions(&file, &text));
    }
    scope.beyond.brought.lock().extend(beyond);
    skipped.sort();
    skipped.dedup();
    skipped
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

/// Reads a regular file. Never blocks on a FIFO.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Why> {
    let file = project::regular::open(path).map_err(|_| Why::Unreadable)?;
    let mut text = Vec::new();
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
    let root = root.canonicalize().map_err(|_| NoAnswer(format!("{shown} is gone; go to a directory that exists")))?;
    let from = folder.into_iter().chain([&*root]).map(Path::to_owned).collect();
    let scope = Scope { since, from, ..Scope::for_root(&root, BUDGET) };
    let Some(path) = path.map(str::trim).filter(|path| !path.is_empty()) else { return Ok(scope) };
    match scope.place(path) {
        Some(below) => Ok(Scope { below, ..scope }),
        None if scope.from.iter().any(|from| from.join(path).exists()) => {
            Err(NoAnswer(format!("{} is outside {shown}; name a file inside it", project::visible(path))))
        }
        None => Err(NoAnswer(format!("no such file or folder in {shown}: {}", project::visible(path)))),
    }
}
