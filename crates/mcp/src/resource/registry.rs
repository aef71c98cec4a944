//! URI → resource, or the template that it matches; and which connections watch which resources.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

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

/// A connection that watches resources. Must not block.
pub(crate) trait Watcher: Send + Sync {
    fn updated(&self, uri: &str);
}

/// The resource or template that a URI resolves to.
pub(crate) enum Resolved {
    Resource(Arc<dyn AnyResource>),
    Template(Arc<dyn AnyTemplate>, Matched),
}

impl Resources {
    /// Adds a resource, or replaces the one with its URI, and announces the change of the list.
    pub fn add(&self, resource: Arc<dyn AnyResource>) {
        self.listed.insert(resource.declaration().uri.clone(), resource);
        self.changed();
    }

    /// Removes a resource and announces the change. Returns whether it existed.
    pub fn remove(&self, uri: &str) -> bool {
        let removed = self.listed.remove(uri);
        if removed {
            self.changed();
        }
        removed
    }

    /// Adds a template, or replaces the equal one, and announces the change.
    pub fn add_template(&self, template: Arc<dyn AnyTemplate>) {
        self.templates.insert(template.declaration().uri.as_str().to_owned(), template);
        self.changed();
    }

    /// Removes a template and announces the change. Returns whether it existed.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self.templates.remove(uri_template);
        if removed {
            self.changed();
        }
        removed
    }

    /// Announces to subscribers that the contents of this resource have changed. Never blocks. Changes that a client
    /// was not notified of yet are merged into one.
    pub fn updated(&self, uri: &str) {
        let watchers: Vec<_> = match self.watchers().get_mut(uri) {
            Some(watchers) => watchers.iter().filter_map(Weak::upgrade).collect(),
            None => return,
        };
        watchers.iter().for_each(|watcher| watcher.updated(uri));
    }

    /// Returns true if any client watches this resource. If not, its owner need not look for changes.
    pub fn is_watched(&self, uri: &str) -> bool {
        self.watchers().contains_key(uri)
    }

    /// Returns the number of watched resources; a receiver wakes on each change. While it is 0, no resource needs to be
    /// polled for changes.
    pub fn watched(&self) -> watch::Receiver<usize> {
        self.watched.subscribe()
    }

    /// Returns the number of changes of the lists.
    pub(crate) fn revision(&self) -> u64 {
        *self.revision.borrow()
    }

    /// Counts changes of the lists; a receiver wakes on each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Finds the resource with this URI, else the first template in the order of the list that matches.
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
        self.watchers.lock()
    }
}
