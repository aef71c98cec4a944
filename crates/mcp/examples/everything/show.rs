//! A tool for each kind of content that a result may have.

use mcp::resource::{Contents, Resource};
use mcp::tool::{Annotations, Content, Context, Effect, Icon, Role, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shows a kind of content.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Which kind.
    kind: Kind,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Image,
    Audio,
    Resource,
    Blob,
    Link,
    Annotated,
}

/// What was shown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DisplayedKind {
    /// Which kind.
    kind: Kind,
}

pub(crate) struct Show;

impl Tool for Show {
    const NAME: &'static str = "show";
    const EFFECT: Effect = Effect::READ;
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = DisplayedKind;

    async fn call(&self, _: Context, args: Args) -> Result<DisplayedKind, ToolError> {
        Ok(DisplayedKind { kind: args.kind })
    }

    fn text(_: &DisplayedKind) -> String {
        "here it is".to_owned()
    }

    fn content(output: &DisplayedKind) -> Vec<Content> {
        let hints = Annotations {
            audience: vec![Role::User],
            priority: Some(0.5),
            last_modified: Some("2026-07-28T00:00:00Z".to_owned()),
        };
        let shown = match output.kind {
            Kind::Image => Content::image(*b"\x89PNG", "image/png"),
            Kind::Audio => Content::audio(*b"RIFF", "audio/wav"),
            Kind::Resource => Content::Resource(Contents::text("note://hello", "text/plain", "hello")),
            Kind::Blob => Content::Resource(Contents::blob("note://bytes", "application/octet-stream", [0, 255])),
            Kind::Link => Content::link(Resource {
                size: Some(5),
                annotations: Some(hints),
                icons: vec![Icon::new("https://example.com/note.png")],
                ..Resource::new("note://hello", "hello")
            }),
            Kind::Annotated => Content::text("for you").annotated(hints),
        };
        vec![Content::text(Self::text(output)), shown]
    }

    fn icons() -> Vec<Icon> {
        vec![Icon { sizes: vec!["any".to_owned()], ..Icon::new("https://example.com/show.svg") }]
    }
}
