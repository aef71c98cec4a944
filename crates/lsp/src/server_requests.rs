//! Answers to requests of a server. Every request is answered, because some servers wait forever otherwise.

use serde_json::{Map, Value, json};

/// Data needed for answers.
#[derive(Debug, Clone, Default)]
pub struct Answering {
    /// Settings by section (`rust-analyzer`), for `workspace/configuration`.
    pub settings: Map<String, Value>,
    /// Folders for `workspace/workspaceFolders`.
    pub folders: Value,
}

/// JSON-RPC error code for an unknown method.
const UNKNOWN_METHOD: i64 = -32601;

impl Answering {
    /// Builds the complete answer to a request.
    pub fn answer(&self, id: &Value, method: &str, params: &Value) -> Value {
        let result = match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().map(Vec::as_slice).unwrap_or_default();
                items.iter().map(|item| self.section(item["section"].as_str().unwrap_or_default())).collect()
            }
            "workspace/workspaceFolders" => self.folders.clone(),
            "workspace/applyEdit" => json!({"applied": false, "failureReason": "this client only reads"}),
            "window/showDocument" => json!({"success": false}),
            // The server asks a user, but no user is present: no button is pressed.
            "window/showMessageRequest"
            | "window/workDoneProgress/create"
            | "client/registerCapability"
            | "client/unregisterCapability" => Value::Null,
            refresh if refresh.starts_with("workspace/") && refresh.ends_with("/refresh") => Value::Null,
            unknown => {
                let error = json!({"code": UNKNOWN_METHOD, "message": format!("this client has no {unknown}")});
                return json!({"jsonrpc": "2.0", "id": id, "error": error});
            }
        };
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    /// Returns the settings of a section such as `python.analysis`; null if there are none.
    fn section(&self, section: &str) -> Value {
        if section.is_empty() {
            return Value::Object(self.settings.clone());
        }
        let (first, rest) = section.split_once('.').unwrap_or((section, ""));
        let parts = rest.split('.').filter(|part| !part.is_empty());
        let found = parts.fold(self.settings.get(first), |value, part| value.and_then(|value| value.get(part)));
        found.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_an_answer() {
        let settings = json!({"a": {"b": {"c": 1}}}).as_object().unwrap().clone();
        let answering = Answering { settings, folders: json!([{"uri": "file:///x"}]) };
        let ask = |method: &str, params: Value| answering.answer(&json!(7), method, &params);
        let sections = json!({"items": [{"section": "a.b"}, {"section": "nothing"}, {}]});
        assert_eq!(ask("workspace/configuration", sections)["result"], json!([{"c": 1}, null, {"a": {"b": {"c": 1}}}]));
        assert_eq!(ask("workspace/inlayHint/refresh", Value::Null), json!({"jsonrpc": "2.0", "id": 7, "result": null}));
        assert_eq!(ask("workspace/workspaceFolders", Value::Null)["result"][0]["uri"], "file:///x");
        assert_eq!(ask("workspace/applyEdit", Value::Null)["result"]["applied"], false);
        assert_eq!(ask("made/up", Value::Null)["error"]["code"], UNKNOWN_METHOD);
    }
}
