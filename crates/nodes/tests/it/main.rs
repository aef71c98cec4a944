//! Tests of node files and their calls through the public API.

#![expect(clippy::unwrap_used, reason = "the lints' exception for tests leaves out their helpers")]

mod calls;
mod delegated;
mod endpoint;
mod engine;
mod files;
mod forms;
mod hostile;
mod includes;
mod limits;
mod outside_links;
mod references;
mod reloads;
mod tools;
mod typed_node;
