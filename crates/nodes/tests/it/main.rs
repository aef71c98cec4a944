//! Node files, and calls of them, through the public face.

mod calls;
mod endpoint;
mod files;
