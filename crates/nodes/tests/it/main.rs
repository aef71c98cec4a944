//! Node files, and calls of them, through the public face.

mod calls;
mod delegated;
mod endpoint;
mod engine;
mod files;
mod hostile;
mod reloads;
mod typed;
