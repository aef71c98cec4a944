//! Checks the header fields of a request against its body (2026-07-28, "Request Metadata"): intermediaries act on the
//! fields, the server on the body, so they must agree.

use axum::http::HeaderMap;
use serde_json::Value;

use crate::era::base64;
use crate::era::params::{self, Params};
use crate::tool::AnyTool;
use crate::wire::build::RpcError;
use crate::wire::{Json, code};

pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION: &str = "mcp-session-id";

/// Returns the value of a field that may occur once.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| mismatch(format!("{name} contains invalid characters")))?;
            Ok(Some(text))
        }
        (Some(_), Some(_)) => Err(mismatch(format!("duplicate header {name}"))),
    }
}

/// Checks the fields that mirror the method and its target.
pub(super) fn check(headers: &HeaderMap, method: &str, params: &Params<'_>) -> Result<(), RpcError> {
    match single(headers, "mcp-method")? {
        Some(said) if said == method => {}
        Some(said) => return Err(mismatch(format!("Mcp-Method says {said:?}, the body {method:?}"))),
        None => return Err(mismatch("Mcp-Method is missing")),
    }
    let named = match method {
        "tools/call" | "prompts/get" => params.name,
        "resources/read" => params.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id,
        _ => return Ok(()),
    };
    let Some(said) = single(headers, "mcp-name")? else { return Err(mismatch("Mcp-Name is missing")) };
    let said = decoded(said).ok_or_else(|| mismatch("Mcp-Name does not match its encoding"))?;
    match params::string(named, "name") {
        Ok(name) if name != said => Err(mismatch(format!("Mcp-Name says {said:?}, the body {name:?}"))),
        // An invalid body is refused later, by the method.
        _ => Ok(()),
    }
}

/// Checks the fields that mirror a tool's arguments, as `x-mcp-header` in its schema says.
pub(super) fn check_arguments(
    headers: &HeaderMap,
    tool: &dyn AnyTool,
    arguments: Option<Json<'_>>,
) -> Result<(), RpcError> {
    let mut mirrored = Vec::new();
    collect(&tool.declaration().input_schema, &mut Vec::new(), &mut mirrored);
    if mirrored.is_empty() {
        return Ok(());
    }
    let arguments: Value = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    for (header, path) in mirrored {
        let value = path.iter().try_fold(&arguments, |value, key| value.get(key)).filter(|value| !value.is_null());
        let field = format!("mcp-param-{}", header.to_ascii_lowercase());
        let said = single(headers, &field)?;
        let path = path.join(".");
        match (said, value) {
            (None, None) => {}
            (None, Some(_)) => return Err(mismatch(format!("Mcp-Param-{header} is missing: it mirrors `{path}`"))),
            (Some(_), None) => return Err(mismatch(format!("Mcp-Param-{header} is present, but `{path}` is missing"))),
            (Some(said), Some(value)) => {
                if !decoded(said).is_some_and(|said| is_same(&said, value)) {
                    return Err(mismatch(format!("Mcp-Param-{header} says {said:?}, `{path}` is {value}")));
                }
            }
        }
    }
    Ok(())
}

/// Collects the mirrored properties of a schema: the name of the header and the path to the value.
fn collect<'a>(schema: &'a Value, at: &mut Vec<&'a str>, found: &mut Vec<(&'a str, Vec<&'a str>)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        at.push(name);
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            found.push((header, at.clone()));
        }
        collect(property, at, found);
        at.pop();
    }
}

fn is_same(said: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => said == text,
        Value::Bool(truth) => said == if *truth { "true" } else { "false" },
        Value::Number(number) => said == number.to_string() || said.parse::<f64>().ok() == number.as_f64(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Decodes a field's value, which may be Base64 between `=?base64?` and `?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(base64::decode(encoded)?).ok(),
        None => Some(value.to_owned()),
    }
}

pub(super) fn mismatch(what: impl std::fmt::Display) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, format!("Header mismatch: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_what_they_are() {
        use serde_json::json;
        let is_same = |said: &str, value: Value| decoded(said).is_some_and(|said| is_same(&said, &value));
        assert!(is_same("us-west1", json!("us-west1")));
        assert!(is_same("=?base64?SGVsbG8sIOS4lueVjA==?=", json!("Hello, 世界")));
        assert!(is_same("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", json!("=?base64?literal?=")));
        assert!(is_same("42", json!(42)) && is_same("42.0", json!(42)) && is_same("-7", json!(-7)));
        assert!(is_same("true", json!(true)));
        for (said, value) in [("True", json!(true)), ("43", json!(42)), ("a", json!("A")), ("=?base64?x?=", json!("x"))]
        {
            assert!(!is_same(said, value.clone()), "{said} {value}");
        }
    }
}
