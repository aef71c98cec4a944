//! Writes questions as a revision's JSON, and reads the kinds of questions that a client supports.

use serde_json::{Map, Value, json};

use super::Era;
use crate::tool::Ask;

/// The kinds of questions that a client declares to support.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    form: bool,
    url: bool,
    sampling: bool,
    roots: bool,
}

impl ClientCapabilities {
    /// From the JSON text of the client's capabilities.
    pub(crate) fn read(text: &str) -> ClientCapabilities {
        if text == "{}" {
            return ClientCapabilities::default();
        }
        let declared: Value = serde_json::from_str(text).unwrap_or_default();
        let has = |value: &Value| value.is_object();
        let elicitation = &declared["elicitation"];
        let url = has(&elicitation["url"]);
        ClientCapabilities {
            // A client that names no mode means forms, which came first.
            form: has(elicitation) && (has(&elicitation["form"]) || !url),
            url,
            sampling: has(&declared["sampling"]),
            roots: has(&declared["roots"]),
        }
    }

    pub(crate) fn cover(self, era: Era, ask: &Ask) -> bool {
        match ask {
            Ask::Form { .. } => self.form && era.revision().structured,
            Ask::Url { .. } => self.url && era.revision().described,
            Ask::Sample(_) => self.sampling,
            Ask::Roots => self.roots,
        }
    }

    /// Returns the capabilities that these questions need, as a client would declare them.
    pub(crate) fn required<'a>(asks: impl Iterator<Item = &'a Ask>) -> Value {
        let mut required = Map::new();
        for ask in asks {
            let (name, value) = match ask {
                Ask::Form { .. } => ("elicitation", json!({"form": {}})),
                Ask::Url { .. } => ("elicitation", json!({"url": {}})),
                Ask::Sample(_) => ("sampling", json!({})),
                Ask::Roots => ("roots", json!({})),
            };
            match (required.get_mut(name), value) {
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                (_, value) => {
                    required.insert(name.to_owned(), value);
                }
            }
        }
        required.into()
    }
}

/// Returns the method and the parameters that ask this question. `id` names it if the revision wants a name.
pub(crate) fn request(era: Era, ask: &Ask, id: &str) -> (&'static str, Value) {
    match ask {
        Ask::Form { message, schema } if era.revision().described => {
            ("elicitation/create", json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        Ask::Form { message, schema } => ("elicitation/create", json!({"message": message, "requestedSchema": schema})),
        Ask::Url { message, url } if era.is_modern() => {
            ("elicitation/create", json!({"mode": "url", "message": message, "url": url}))
        }
        Ask::Url { message, url } => {
            ("elicitation/create", json!({"mode": "url", "message": message, "url": url, "elicitationId": id}))
        }
        Ask::Sample(params) => ("sampling/createMessage", params.clone()),
        Ask::Roots => ("roots/list", json!({})),
    }
}
