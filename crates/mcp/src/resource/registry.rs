//! Address → resource, or the template it matches; and who wants to know when one changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;

use super::{AnyResource, AnyTemplate, Matched};
use crate::catalog::Catalog;

/// The resources of a server. Shared and changed at run time.
#[derive(Default)]
pub struct Resources {
    pub(crate) listed: Catalog<dyn AnyResource>,
    pub(crate) templates: Catalog<dyn AnyTemplate>,
    revision: watch::Sender<u64>,
    watchers: Mutex<HashMap<String, Vec<Weak<dyn Watcher>>>>,
    watched: watch::Sender<usize>,
}

/// A connection that may want to know that a resource changed. Must not block.
pub(crate) trait Watcher: Send + Sync {
    fn updated(&self, uri: &str);
}

/// What an address leads to.
pub(crate) enum Resolved {
    Resource(Arc<dyn AnyResource>),
    Template(Arc<dyn AnyTemplate>, Matched),
}

impl Resources {
    /// Adds a resource or replaces the one of its address, and announces the change of the list.
    pub fn add(&self, resource: Arc<dyn AnyResource>) {
        self.listed.insert(resource.declaration().uri.clone(), resource);
        self.changed();
    }

    /// Removes a resource and announces the change. Returns whether there was one.
    pub fn remove(&self, uri: &str) -> bool {
        let removed = self.listed.remove(uri);
        if removed {
            self.changed();
        }
        removed
    }

    /// Adds a template or replaces the one of its form, and announces the change.
    pub fn add_template(&self, template: Arc<dyn AnyTemplate>) {
        self.templates.insert(template.declaration().uri.as_str().to_owned(), template);
        self.changed();
    }

    /// Removes the template of that form and announces the change. Returns whether there was one.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self.templates.remove(uri_template);
        if removed {
            self.changed();
        }
        removed
    }

    /// Tells those who subscribed to this address that reading it now gives something else. Never blocks; many
    /// changes that a client has not heard of yet are one to it.
    pub fn updated(&self, uri: &str) {
        let watchers: Vec<_> = match self.watchers().get_mut(uri) {
            Some(watchers) => watchers.iter().filter_map(Weak::upgrade).collect(),
            None => return,
        };
        watchers.iter().for_each(|watcher| watcher.updated(uri));
    }

    /// Whether anybody would hear of a change: what is costly to watch may be left alone until then.
    pub fn is_watched(&self, uri: &str) -> bool {
        self.watchers().contains_key(uri)
    }

    /// How many addresses are watched; a receiver wakes on each change. What has to be looked at to know that it changed
    /// need not be while this is 0.
    pub fn watched(&self) -> watch::Receiver<usize> {
        self.watched.subscribe()
    }

    /// Counts changes of the lists; a receiver wakes on each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// A resource of its own goes before templates, and these in the order they are listed.
    pub(crate) fn find(&self, uri: &str) -> Option<Resolved> {
        if let Some(resource) = self.listed.get(uri) {
            return Some(Resolved::Resource(resource));
        }
        self.templates.list().into_iter().find_map(|template| {
            let matched = template.declaration().uri.matches(uri)?;
            Some(Resolved::Template(template, matched))
        })
    }

    pub(crate) fn watch(&self, uri: &str, watcher: Weak<dyn Watcher>) {
        let mut watchers = self.watchers();
        let known = watchers.entry(uri.to_owned()).or_default();
        if !known.iter().any(|known| known.ptr_eq(&watcher)) {
            known.push(watcher);
        }
        self.watched.send_if_modified(|count| std::mem::replace(count, watchers.len()) != watchers.len());
    }

    pub(crate) fn unwatch(&self, uri: &str, watcher: &Weak<dyn Watcher>) {
        let mut watchers = self.watchers();
        if let Some(known) = watchers.get_mut(uri) {
            known.retain(|known| !known.ptr_eq(watcher));
            if known.is_empty() {
                watchers.remove(uri);
            }
        }
        self.watched.send_if_modified(|count| std::mem::replace(count, watchers.len()) != watchers.len());
    }

    fn changed(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn watchers(&self) -> MutexGuard<'_, HashMap<String, Vec<Weak<dyn Watcher>>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
