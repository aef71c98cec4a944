//! Resources and a template.

use std::sync::Arc;

use mcp::resource::{Contents, Resource, Resources, Template, resource, template};

use crate::content::PIXEL;

/// Returns all these resources.
pub(crate) fn all() -> Arc<Resources> {
    let resources = Resources::default();
    let about = |uri: &str, name: &str, mime_type: &str| Resource {
        description: Some(format!("{name}, for tests.")),
        mime_type: Some(mime_type.to_owned()),
        ..Resource::new(uri, name)
    };
    for (uri, name, text) in [
        ("test://static-text", "A text", "This is the content of the static text resource."),
        ("test://watched-resource", "A resource to watch", "Nothing changed yet."),
        ("test://example-resource", "A resource to embed", "Embedded resource content for testing."),
    ] {
        resources.add(resource(about(uri, name, "text/plain"), move |_| async move {
            Ok(vec![Contents::text(uri, "text/plain", text)])
        }));
    }
    resources.add(resource(about("test://static-binary", "A picture", "image/png"), |_| async {
        Ok(vec![Contents::blob("test://static-binary", "image/png", PIXEL)])
    }));
    let data = Template::new("test://template/{id}/data", "Data by number").expect("a template");
    resources.add_template(template(data, |_, matched| async move {
        let text = serde_json::json!({
            "id": matched.get("id"),
            "templateTest": true,
            "data": format!("Data for ID: {}", matched.get("id")),
        });
        Ok(vec![Contents::text(matched.uri, "application/json", text.to_string())])
    }));
    Arc::new(resources)
}
