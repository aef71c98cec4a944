//! Resources, which a client may read: single ones with a URI, templates that stand for many, and the [`Resources`]
//! that serves them and announces changes. No type here is specific to a protocol revision.
//!
//! Start with [`resource`] and [`template`], and pass them to
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

/// The description of many resources whose URIs match one template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The template of their URIs.
    pub uri: UriTemplate,
    /// The rest of the description, the same for all of them; its `uri` and `size` are unused.
    pub about: Resource,
}

impl Template {
    /// Returns a description with this URI template (RFC 6570) and name. An error if the template cannot be matched.
    pub fn new(uri: &str, name: impl Into<String>) -> Result<Template, TemplateError> {
        Ok(Template { uri: UriTemplate::parse(uri)?, about: Resource::new("", name) })
    }
}

/// Why a resource cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The resource does not exist (any more).
    NotFound,
    /// Reading failed.
    Failed(ToolError),
}

impl From<ToolError> for ReadError {
    fn from(error: ToolError) -> ReadError {
        ReadError::Failed(error)
    }
}

/// The result of reading: mostly one content; a directory, for example, may have several.
pub type ReadResult = Result<Vec<Contents>, ReadError>;

/// A resource with a fixed URI. Made by [`resource`], or implemented by hand.
pub trait AnyResource: Send + Sync {
    /// Returns the description.
    fn declaration(&self) -> &Resource;
    /// Reads the resource.
    fn read(self: Arc<Self>, cx: Context) -> BoxFuture<ReadResult>;
}

/// Many resources whose URIs match a template. Made by [`template`], or implemented by hand.
pub trait AnyTemplate: Send + Sync {
    /// Returns the description.
    fn declaration(&self) -> &Template;
    /// Reads the resource with this URI.
    fn read(self: Arc<Self>, cx: Context, uri: Matched) -> BoxFuture<ReadResult>;
    /// Offers values for a variable that is being typed.
    fn complete(self: Arc<Self>, cx: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>> {
        let _ = (cx, asked);
        Box::pin(async { Ok(Completion::default()) })
    }
}

/// Returns a resource that this function reads.
pub fn resource<F, Fut>(declaration: Resource, read: F) -> Arc<dyn AnyResource>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ReadResult> + Send + 'static,
{
    Arc::new(OneResource { declaration, read })
}

/// Returns a template whose resources this function reads. The variables are decoded, so they may contain `..` or `/`:
/// the function, not the template, has to check them.
pub fn template<F, Fut>(declaration: Template, read: F) -> Arc<dyn AnyTemplate>
where
    F: Fn(Context, Matched) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ReadResult> + Send + 'static,
{
    template_with_values(declaration, read, |_, _| async { Ok(Completion::default()) })
}

/// Returns a [`template`] with a second function that offers values for the variables.
pub fn template_with_values<F, Fut, C, CFut>(declaration: Template, read: F, complete: C) -> Arc<dyn AnyTemplate>
where
    F: Fn(Context, Matched) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ReadResult> + Send + 'static,
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
    Fut: Future<Output = ReadResult> + Send + 'static,
{
    fn declaration(&self) -> &Resource {
        &self.declaration
    }

    fn read(self: Arc<Self>, cx: Context) -> BoxFuture<ReadResult> {
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
    Fut: Future<Output = ReadResult> + Send + 'static,
    C: Fn(Context, Completing) -> CFut + Send + Sync + 'static,
    CFut: Future<Output = Result<Completion, ToolError>> + Send + 'static,
{
    fn declaration(&self) -> &Template {
        &self.declaration
    }

    fn read(self: Arc<Self>, cx: Context, uri: Matched) -> BoxFuture<ReadResult> {
        Box::pin((self.read)(cx, uri))
    }

    fn complete(self: Arc<Self>, cx: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>> {
        Box::pin((self.complete)(cx, asked))
    }
}
