//! What a client may read: resources with an address of their own, templates that stand for many, and the
//! [`Resources`] that serves them and says what changed. No type here is tied to a protocol revision.
//!
//! Start with [`resource`] and [`template`]; a server gets them by
//! [`Server::resources`](crate::server::Server::resources).

mod matching;
mod registry;

use std::sync::Arc;

pub(crate) use matching::MAX_URI;
pub use matching::{Matched, TemplateError, UriTemplate};
pub use registry::Resources;
pub(crate) use registry::{Resolved, Watcher};

pub use crate::content::{Body, Contents, Resource};
use crate::prompt::{Completing, Completion};
use crate::tool::{BoxFuture, Context, ToolError};

/// Many resources whose addresses have one form.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The form of their addresses.
    pub uri: UriTemplate,
    /// Everything else, the same for all of them; its `uri` and `size` say nothing.
    pub about: Resource,
}

impl Template {
    /// A template of that form (RFC 6570) and name.
    pub fn new(uri: &str, name: impl Into<String>) -> Result<Template, TemplateError> {
        Ok(Template { uri: UriTemplate::parse(uri)?, about: Resource::new("", name) })
    }
}

/// Why a resource was not read.
#[derive(Debug)]
pub enum ReadError {
    /// There is none of that address (any more).
    NotFound,
    /// Anything else.
    Failed(ToolError),
}

impl From<ToolError> for ReadError {
    fn from(error: ToolError) -> ReadError {
        ReadError::Failed(error)
    }
}

/// What reading comes to: mostly one content; a directory, say, has several.
pub type Read = Result<Vec<Contents>, ReadError>;

/// A resource with an address of its own. Made by [`resource`], or by hand.
pub trait AnyResource: Send + Sync {
    /// What it is.
    fn declaration(&self) -> &Resource;
    /// Reads it.
    fn read(self: Arc<Self>, cx: Context) -> BoxFuture<Read>;
}

/// Many resources of one form. Made by [`template`], or by hand.
pub trait AnyTemplate: Send + Sync {
    /// What they are.
    fn declaration(&self) -> &Template;
    /// Reads the one of this address.
    fn read(self: Arc<Self>, cx: Context, uri: Matched) -> BoxFuture<Read>;
    /// Offers values for a variable.
    fn complete(self: Arc<Self>, cx: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>> {
        let _ = (cx, asked);
        Box::pin(async { Ok(Completion::default()) })
    }
}

/// A resource that is read by this function.
pub fn resource<F, Fut>(declaration: Resource, read: F) -> Arc<dyn AnyResource>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Read> + Send + 'static,
{
    Arc::new(OneResource { declaration, read })
}

/// A template whose resources are read by this function. The variables are decoded: what is done with them, and not
/// the template, decides whether `..` or `/` in them is harmless.
pub fn template<F, Fut>(declaration: Template, read: F) -> Arc<dyn AnyTemplate>
where
    F: Fn(Context, Matched) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Read> + Send + 'static,
{
    template_with_values(declaration, read, |_, _| async { Ok(Completion::default()) })
}

/// The same, and another function offers values for the variables.
pub fn template_with_values<F, Fut, C, CFut>(declaration: Template, read: F, complete: C) -> Arc<dyn AnyTemplate>
where
    F: Fn(Context, Matched) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Read> + Send + 'static,
    C: Fn(Context, Completing) -> CFut + Send + Sync + 'static,
    CFut: Future<Output = Result<Completion, ToolError>> + Send + 'static,
{
    Arc::new(OneTemplate { declaration, read, complete })
}

struct OneResource<F> {
    declaration: Resource,
    read: F,
}

impl<F, Fut> AnyResource for OneResource<F>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Read> + Send + 'static,
{
    fn declaration(&self) -> &Resource {
        &self.declaration
    }

    fn read(self: Arc<Self>, cx: Context) -> BoxFuture<Read> {
        Box::pin((self.read)(cx))
    }
}

struct OneTemplate<F, C> {
    declaration: Template,
    read: F,
    complete: C,
}

impl<F, Fut, C, CFut> AnyTemplate for OneTemplate<F, C>
where
    F: Fn(Context, Matched) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Read> + Send + 'static,
    C: Fn(Context, Completing) -> CFut + Send + Sync + 'static,
    CFut: Future<Output = Result<Completion, ToolError>> + Send + 'static,
{
    fn declaration(&self) -> &Template {
        &self.declaration
    }

    fn read(self: Arc<Self>, cx: Context, uri: Matched) -> BoxFuture<Read> {
        Box::pin((self.read)(cx, uri))
    }

    fn complete(self: Arc<Self>, cx: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>> {
        Box::pin((self.complete)(cx, asked))
    }
}
