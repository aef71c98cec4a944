//! A sorted map that is shared and changed at run time: the source of every list that a client pages through.

use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Sorted by key, so that a page can continue after a key that has since been removed.
pub(crate) struct Catalog<T: ?Sized>(RwLock<BTreeMap<String, Arc<T>>>);

/// A run of entries in order.
pub(crate) struct Page<T: ?Sized> {
    pub entries: Vec<Arc<T>>,
    /// The last entry's key, if more follow.
    pub last: Option<String>,
}

impl<T: ?Sized> Default for Catalog<T> {
    fn default() -> Self {
        Catalog(RwLock::default())
    }
}

impl<T: ?Sized> Catalog<T> {
    pub(crate) fn insert(&self, key: String, entry: Arc<T>) {
        self.0.write().insert(key, entry);
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        self.0.write().remove(key).is_some()
    }

    /// Removes and inserts atomically.
    pub(crate) fn replace(&self, removed: &[&str], inserted: Vec<(String, Arc<T>)>) {
        let mut entries = self.0.write();
        let mut former: Vec<_> = removed.iter().filter_map(|key| entries.remove(*key)).collect();
        former.extend(inserted.into_iter().filter_map(|(key, entry)| entries.insert(key, entry)));
        drop(entries);
        // Dropping entries may run foreign code, so it happens outside of the lock.
        drop(former);
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.0.read().get(key).cloned()
    }

    pub(crate) fn list(&self) -> Vec<Arc<T>> {
        self.0.read().values().cloned().collect()
    }

    /// At most `size` of the entries whose keys are wanted, beginning after this key.
    pub(crate) fn page(&self, after: Option<&str>, size: usize, is_wanted: impl Fn(&str) -> bool) -> Page<T> {
        let entries = self.0.read();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = entries.range::<str, _>((from, Bound::Unbounded)).filter(|(key, _)| is_wanted(key));
        let mut last = None;
        let page = rest.by_ref().take(size.max(1)).map(|(key, entry)| {
            last = Some(key.clone());
            entry.clone()
        });
        let page = page.collect();
        Page { entries: page, last: last.filter(|_| rest.next().is_some()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_on_where_the_last_one_ended_whatever_changed() {
        let catalog = Catalog::<str>::default();
        let keys = |page: &Page<str>| page.entries.iter().map(|entry| entry.to_string()).collect::<String>();
        for key in ["a", "c", "e", "g"] {
            catalog.insert(key.to_owned(), key.into());
        }
        let first = catalog.page(None, 2, |_| true);
        assert_eq!((keys(&first).as_str(), first.last.as_deref()), ("ac", Some("c")));
        catalog.remove("c");
        catalog.insert("b".to_owned(), "b".into());
        catalog.insert("d".to_owned(), "d".into());
        let second = catalog.page(first.last.as_deref(), 3, |_| true);
        assert_eq!((keys(&second).as_str(), second.last.as_deref()), ("deg", None));
        assert_eq!(keys(&catalog.page(Some("z"), 3, |_| true)), "");
        assert_eq!(keys(&catalog.page(None, 0, |_| true)), "a");
        let wanted = catalog.page(None, 2, |key| key != "b" && key != "g");
        assert_eq!((keys(&wanted).as_str(), wanted.last.as_deref()), ("ad", Some("d")));
    }
}
