//! `textDocument/publishDiagnostics`: the compiler's diagnostics for an open document.

use serde_json::{Value, json};

use super::documents::Document;
use super::positions::Encoding;
use crate::compile::compile;
use crate::diagnostic::{Diagnostic, code};
use crate::workspace::Index;

/// The parameters of the notification about a document.
pub(super) fn diagnostics(document: &Document, index: &Index, encoding: Encoding) -> Value {
    let found = match &document.path {
        Some(path) => index.check(path).files.into_iter().flat_map(|file| file.diagnostics).collect(),
        None => compile(&document.text, index).diagnostics,
    };
    let all: Vec<Value> = found.iter().map(|one| diagnostic(one, document, encoding)).collect();
    json!({ "uri": document.uri, "version": document.version, "diagnostics": all })
}

/// The parameters of the notification that a document is closed.
pub(super) fn closed_params(uri: &str) -> Value {
    json!({ "uri": uri, "diagnostics": [] })
}

fn diagnostic(found: &Diagnostic, document: &Document, encoding: Encoding) -> Value {
    let mut message = found.message.clone();
    found.hints.iter().for_each(|hint| message.push_str(&format!("\n{hint}")));
    let mut value = json!({
        "range": document.range(found.span, encoding),
        "severity": if found.is_error() { 1 } else { 2 },
        "code": found.code.to_string(),
        "source": "cure",
        "message": message,
    });
    if !found.related.is_empty() {
        let related = found.related.iter().map(|(span, label)| {
            json!({ "location": { "uri": document.uri, "range": document.range(*span, encoding) }, "message": label })
        });
        value["relatedInformation"] = related.collect();
    }
    if found.code == code::UNREACHABLE {
        // Unnecessary code, which editors draw faded.
        value["tags"] = json!([1]);
    }
    value
}
