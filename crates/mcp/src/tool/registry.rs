//! The registry of tools, by name, which announces changes.

use parking_lot::RwLock;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::watch;

use super::{Context, Declaration, DeclarationError, Outcome, ToolError};
use crate::catalog::Catalog;

/// A boxed future.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A tool with its types erased. Made by [`tool`](super::tool()), or implemented by hand for tools that are made at run time.
pub trait AnyTool: Send + Sync {
    /// Returns the description.
    fn declaration(&self) -> &Declaration;
    /// Checks that the tool can be served. All declarations are checked ([`Declaration::check`]). For a tool made of
    /// types, the arguments must also deny unknown fields, must not be a choice at the root and must have a
    /// description.
    fn check(&self) -> Result<(), DeclarationError> {
        self.declaration().check()
    }
    /// Checks the arguments and runs the tool. Wrong arguments are an `Ok` outcome with `is_error`.
    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>>;
}

/// The tools of a server or of one kind of connection, sorted by name. Shared and changed at run time.
#[derive(Default)]
pub struct Registry {
    pub(crate) tools: Catalog<dyn AnyTool>,
    /// The groups of the unlisted tools, by the tools' names.
    unlisted: RwLock<BTreeMap<String, String>>,
    revision: watch::Sender<u64>,
}

impl Registry {
    /// Returns a registry of a program's own tools. A later tool replaces an earlier one of the same name.
    ///
    /// # Panics
    ///
    /// If a tool cannot be served ([`AnyTool::check`]), which is a bug in the program. Use [`Registry::add`] for
    /// tools that are made of input.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Registry {
        let registry = Registry::default();
        for tool in tools {
            if let Err(error) = registry.add(tool) {
                panic!("{error}");
            }
        }
        registry
    }

    /// Adds a tool, or replaces the one of the same name, and announces the change. An error if it cannot be served.
    pub fn add(&self, tool: Arc<dyn AnyTool>) -> Result<(), DeclarationError> {
        tool.check()?;
        let name = tool.declaration().name.clone();
        self.tools.insert(name, tool);
        self.revision.send_modify(|revision| *revision += 1);
        Ok(())
    }

    /// Removes a tool and announces the change. Returns whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.tools.remove(name);
        if removed {
            self.revision.send_modify(|revision| *revision += 1);
        }
        removed
    }

    /// Removes the tools of these names and adds these tools, replacing those of the same names, as one change with one
    /// announcement. Nothing is announced if the list stays the same because each tool replaces one with an equal
    /// declaration. If a tool is invalid, nothing changes.
    pub fn replace<'a>(
        &self,
        removed: impl IntoIterator<Item = &'a str>,
        added: impl IntoIterator<Item = Arc<dyn AnyTool>>,
    ) -> Result<(), DeclarationError> {
        let added: Vec<Arc<dyn AnyTool>> = added.into_iter().collect();
        added.iter().try_for_each(|tool| tool.check())?;
        let is_added = |name: &&str| added.iter().any(|tool| tool.declaration().name == *name);
        let removed: Vec<&str> = removed.into_iter().filter(|name| !is_added(name)).collect();
        let is_news = |tool: &Arc<dyn AnyTool>| {
            self.get(&tool.declaration().name).is_none_or(|former| former.declaration() != tool.declaration())
        };
        let is_change = removed.iter().any(|name| self.get(name).is_some()) || added.iter().any(is_news);
        self.tools.replace(&removed, added.into_iter().map(|tool| (tool.declaration().name.clone(), tool)).collect());
        if is_change {
            self.revision.send_modify(|revision| *revision += 1);
        }
        Ok(())
    }

    /// Serves these tools without listing them, until a call on the connection asks for their group
    /// ([`Context::list_more`]): a client's model reads every listed tool at every turn, and rarely needs all.
    pub fn unlist(&self, group: &str, tools: impl IntoIterator<Item = String>) {
        let mut unlisted = self.unlisted.write();
        let mut is_change = false;
        for tool in tools {
            is_change |= unlisted.insert(tool, group.to_owned()).as_deref() != Some(group);
        }
        drop(unlisted);
        if is_change {
            self.revision.send_modify(|revision| *revision += 1);
        }
    }

    /// Lists these tools again, whatever group they were put into.
    pub fn relist<'a>(&self, tools: impl IntoIterator<Item = &'a str>) {
        let mut unlisted = self.unlisted.write();
        let before = unlisted.len();
        for tool in tools {
            unlisted.remove(tool);
        }
        let is_change = unlisted.len() != before;
        drop(unlisted);
        if is_change {
            self.revision.send_modify(|revision| *revision += 1);
        }
    }

    /// Returns a registry with the same tools, listed alike. From then on each changes without the other.
    #[must_use]
    pub fn fork(&self) -> Registry {
        let fork = Registry::default();
        fork.tools.replace(&[], self.list().into_iter().map(|tool| (tool.declaration().name.clone(), tool)).collect());
        fork.unlisted.write().clone_from(&self.unlisted.read());
        fork
    }

    /// Returns true if a client that was given these groups has the tool in its listing.
    pub(crate) fn is_listed(&self, tool: &str, given: &BTreeSet<String>) -> bool {
        self.unlisted.read().get(tool).is_none_or(|group| given.contains(group))
    }

    /// Returns true if a call can change the listing.
    pub(crate) fn has_unlisted(&self) -> bool {
        !self.unlisted.read().is_empty()
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        self.tools.get(name)
    }

    /// Returns all tools, sorted by name.
    pub fn list(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.list()
    }

    /// Returns the number of changes of the list.
    pub(crate) fn revision(&self) -> u64 {
        *self.revision.borrow()
    }

    /// Counts changes of the list; a receiver wakes on each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}
