//! Resources of each kind, and a tool that changes them.

use std::sync::Arc;
use std::time::Duration;

use mcp::resource::{Contents, ReadError, Resource, Resources, Template};
use mcp::resource::{resource, template_with_values};
use mcp::tool::{Annotations, Context, Effect, Role, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PLANETS: [&str; 3] = ["Mars", "Mercury", "Venus"];

/// Returns all these resources.
pub(crate) fn all() -> Arc<Resources> {
    let resources = Resources::default();
    let hello = Resource {
        title: Some("A greeting".to_owned()),
        description: Some("What a program says first.".to_owned()),
        mime_type: Some("text/plain".to_owned()),
        size: Some(5),
        annotations: Some(Annotations { audience: vec![Role::Assistant], ..Annotations::default() }),
        fresh_for: Duration::from_secs(5),
        ..Resource::new("note://hello", "hello")
    };
    resources.add(resource(hello, |_| async { Ok(vec![Contents::text("note://hello", "text/plain", "hello")]) }));
    resources.add(resource(Resource::new("note://bytes", "bytes"), |_| async {
        Ok(vec![Contents::blob("note://bytes", "application/octet-stream", [0, 255])])
    }));
    resources.add(resource(Resource::new("note://burnt", "burnt"), |_| async {
        Err(ToolError::internal("the secret disk is on fire").into())
    }));
    let planets = Template::new("planet://{name}/mass{?unit}", "planet").expect("a template");
    resources.add_template(template_with_values(
        planets,
        |_, matched| async move {
            if !PLANETS.contains(&matched.get("name")) {
                return Err(ReadError::NotFound);
            }
            let text = format!("the mass of {} in {:?}", matched.get("name"), matched.get("unit"));
            Ok(vec![Contents::text(matched.uri, "text/plain", text)])
        },
        |_, asked| async move {
            Ok(match asked.argument.as_str() {
                "name" => asked.choose(PLANETS),
                _ => asked.choose(["kg", "t"]),
            })
        },
    ));
    Arc::new(resources)
}

/// Says that a resource changed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Its address.
    uri: String,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Touched {
    /// Whether anybody hears of it.
    watched: bool,
}

pub(crate) struct Touch(pub(crate) Arc<Resources>);

impl Tool for Touch {
    const NAME: &'static str = "touch";
    const EFFECT: Effect = Effect::WRITE;
    type Args = Args;
    type Output = Touched;

    async fn call(&self, _: Context, args: Args) -> Result<Touched, ToolError> {
        self.0.updated(&args.uri);
        Ok(Touched { watched: self.0.is_watched(&args.uri) })
    }

    fn text(output: &Touched) -> String {
        format!("watched: {}", output.watched)
    }
}
