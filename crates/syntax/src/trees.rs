//! A cache of recently parsed trees, keyed by the full text. One question reads a file several times, and the next one
//! often reads the same file. A changed file has a different text, so entries are never outdated. The cache is cleared when
//! it is full, and after some idle seconds.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tree_sitter::Tree;

use super::Language;

/// Maximum total size of the texts in bytes. Trees take about thirty times as much.
const MOST_BYTES: usize = 1 << 20;
/// Maximum number of trees.
const MOST: usize = 64;
/// Idle time after which the cache is cleared.
const REST: Duration = Duration::from_secs(5);

thread_local! {
    static IS_UNKEPT: Cell<bool> = const { Cell::new(false) };
}

static LAST: LazyLock<Mutex<Trees>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Trees {
    kept: Vec<CachedTree>,
    bytes: usize,
    /// Time of the last parse, while a thread waits to clear the cache.
    used: Option<Instant>,
}

struct CachedTree {
    language: Language,
    text: Box<[u8]>,
    tree: Tree,
}

/// Returns the cached tree of this text. Every parse asks here first, so this also counts as use.
pub(super) fn cached(language: Language, text: &[u8]) -> Option<Tree> {
    let (found, was_at_rest) = {
        let mut last = LAST.lock();
        (last.find(language, text), last.used.replace(Instant::now()).is_none())
    };
    if was_at_rest && std::thread::Builder::new().name("code-trees".to_owned()).spawn(rest).is_err() {
        // If the thread cannot be started, the next parse tries again.
        LAST.lock().used = None;
    }
    found
}

pub(super) fn keep(language: Language, text: &[u8], tree: &Tree) {
    if text.len() <= MOST_BYTES / 2 && !IS_UNKEPT.get() {
        let kept = CachedTree { language, text: text.into(), tree: tree.clone() };
        // Freeing a tree takes time, so it happens without the lock.
        let over = LAST.lock().add(kept);
        drop(over);
    }
}

/// Waits until the cache is idle, then clears it and returns free memory to the system.
fn rest() {
    let over = loop {
        let left = LAST.lock().empty_if_idle(Instant::now());
        match left {
            Ok(over) => break over,
            Err(left) => std::thread::sleep(left),
        }
    };
    drop(over);
    process::allocator::trim();
}

/// Runs a closure whose parses on this thread are not cached. It is cheaper for a search that reads each of many files
/// once.
pub fn without_cache<T>(parse: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_UNKEPT.set(self.0);
        }
    }
    let _before = Before(IS_UNKEPT.replace(true));
    parse()
}

impl Trees {
    fn find(&self, language: Language, text: &[u8]) -> Option<Tree> {
        let one = self.kept.iter().find(|one| one.language == language && *one.text == *text)?;
        Some(one.tree.clone())
    }

    /// Empties the cache if it was idle long enough; otherwise returns the remaining time.
    fn empty_if_idle(&mut self, now: Instant) -> Result<Trees, Duration> {
        let passed = self.used.map_or(REST, |used| now.saturating_duration_since(used));
        match REST.checked_sub(passed).filter(|left| !left.is_zero()) {
            Some(left) => Err(left),
            None => Ok(std::mem::take(self)),
        }
    }

    /// Adds a tree. Returns the trees that were evicted.
    fn add(&mut self, one: CachedTree) -> Vec<CachedTree> {
        // Two threads may parse the same text at the same time.
        if self.find(one.language, &one.text).is_some() {
            return vec![one];
        }
        let is_full = self.bytes + one.text.len() > MOST_BYTES || self.kept.len() == MOST;
        let over = if is_full { std::mem::take(&mut self.kept) } else { Vec::new() };
        self.bytes = one.text.len() + if is_full { 0 } else { self.bytes };
        self.kept.push(one);
        over
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::parse;

    fn cached_tree(text: &str) -> CachedTree {
        let tree = parse(Language::Rust, text.as_bytes(), Instant::now() + Duration::from_secs(60)).unwrap();
        CachedTree { language: Language::Rust, text: text.as_bytes().into(), tree }
    }

    #[test]
    fn the_very_text_is_found_and_no_other() {
        let mut trees = Trees::default();
        trees.add(cached_tree("fn a() {}"));
        let found = trees.find(Language::Rust, b"fn a() {}").unwrap();
        assert_eq!(found.root_node().to_sexp(), cached_tree("fn a() {}").tree.root_node().to_sexp());
        assert!(trees.find(Language::Rust, b"fn b() {}").is_none());
        assert!(trees.find(Language::Cpp, b"fn a() {}").is_none());
    }

    #[test]
    fn what_is_parsed_unkept_is_not_kept() {
        let soon = || Instant::now() + Duration::from_secs(60);
        let (one, other) = (b"fn kept_of_many() {}", b"fn kept_of_few() {}");
        without_cache(|| parse(Language::Rust, one, soon())).unwrap();
        parse(Language::Rust, other, soon()).unwrap();
        assert!(cached(Language::Rust, one).is_none() && cached(Language::Rust, other).is_some());
    }

    #[test]
    fn whoever_parses_has_a_thread_wait_for_the_rest() {
        parse(Language::Rust, b"fn any() {}", Instant::now() + Duration::from_secs(60)).unwrap();
        assert!(LAST.lock().used.is_some());
    }

    #[test]
    fn one_text_is_kept_once() {
        let mut trees = Trees::default();
        assert!(trees.add(cached_tree("fn a() {}")).is_empty());
        assert_eq!((trees.add(cached_tree("fn a() {}")).len(), trees.kept.len(), trees.bytes), (1, 1, 9));
    }

    #[test]
    fn what_nobody_uses_goes() {
        let began = Instant::now();
        let mut trees = Trees { used: Some(began), ..Trees::default() };
        trees.add(cached_tree("fn a() {}"));
        assert_eq!(trees.empty_if_idle(began + Duration::from_secs(2)).err(), Some(REST - Duration::from_secs(2)));
        assert_eq!(trees.empty_if_idle(began + REST).map(|over| over.kept.len()).ok(), Some(1));
        // The next parse starts another waiting thread.
        assert!(trees.kept.is_empty() && trees.bytes == 0 && trees.used.is_none());
    }

    #[test]
    fn a_full_cache_is_cleared() {
        let mut trees = Trees::default();
        let text = |number: usize| format!("// {number} {}", "x".repeat(MOST_BYTES / 4));
        for number in 0..3 {
            assert!(trees.add(cached_tree(&text(number))).is_empty());
        }
        assert_eq!((trees.add(cached_tree(&text(3))).len(), trees.kept.len()), (3, 1));
        for number in 1..MOST {
            assert!(trees.add(cached_tree(&format!("// {number}"))).is_empty());
        }
        assert_eq!(trees.add(cached_tree("// last")).len(), MOST);
    }
}
