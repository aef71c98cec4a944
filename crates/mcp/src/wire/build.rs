//! Messages → bytes. Each builder appends one whole line to a buffer, so that many lines leave in one write.
//!
//! Raw JSON that is given to a builder may span lines; its output never does.

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use super::Id;

/// A JSON-RPC error.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// The code; see [`code`](super::code).
    pub code: i64,
    /// The message, one sentence.
    pub message: String,
    /// Further data, for programs.
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Returns an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    /// Adds data, unless it cannot be written as JSON.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> RpcError {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// Appends the answer to a request; `result` is JSON text.
pub fn result(out: &mut Vec<u8>, id: &Id, result: &str) {
    result_with(out, id, |out| push_json(out, result));
}

/// Appends the answer to a request, its result written in place. `write` must append exactly one JSON value on one
/// line; [`push_json`] and [`push_string`] do.
pub fn result_with(out: &mut Vec<u8>, id: &Id, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    // An id has no line breaks.
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(b",\"result\":");
    write(out);
    out.extend_from_slice(b"}\n");
}

/// Appends an error response; without an id it is null.
pub fn error(out: &mut Vec<u8>, id: Option<&Id>, error: &RpcError) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_json(out, id.map_or("null", Id::as_json));
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(error.code.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    push_string(out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        push_json(out, data.get());
    }
    out.extend_from_slice(b"}}\n");
}

/// Appends a notification; `params` is the JSON text of an object.
pub fn notification(out: &mut Vec<u8>, method: &str, params: Option<&str>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    method_and_params(out, method, params);
}

/// Appends a request; `params` is the JSON text of an object.
pub fn request(out: &mut Vec<u8>, id: &Id, method: &str, params: Option<&str>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_json(out, id.as_json());
    method_and_params(out, method, params);
}

fn method_and_params(out: &mut Vec<u8>, method: &str, params: Option<&str>) {
    out.extend_from_slice(b",\"method\":");
    push_string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        push_json(out, params);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends JSON text as one line. Line breaks can only occur between tokens, so each becomes a blank.
pub fn push_json(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        out[start..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }
}

/// Appends a string as JSON.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    // Writing a str into a Vec cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends a value as JSON on one line. `Err` if it cannot be written as JSON; nothing is appended then.
pub fn push_value(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
    let start = out.len();
    serde_json::to_writer(&mut *out, value).inspect_err(|_| out.truncate(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn lines() {
        let mut out = Vec::new();
        let id = Id::from_json("\"a b\"").expect("legal");
        result(&mut out, &id, "{\r\n  \"x\": \"line\\nbreak\"\n}");
        error(&mut out, Some(&id), &RpcError::new(-32600, "it said \"no\"").with_data(&["why"]));
        error(&mut out, None, &RpcError::new(-32600, "line\nbreak"));
        notification(&mut out, "notifications/x", Some("{}"));
        notification(&mut out, "notifications/y", None);
        request(&mut out, &Id::number(3), "ping", None);
        expect![[r#"
            {"jsonrpc":"2.0","id":"a b","result":{    "x": "line\nbreak" }}
            {"jsonrpc":"2.0","id":"a b","error":{"code":-32600,"message":"it said \"no\"","data":["why"]}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line\nbreak"}}
            {"jsonrpc":"2.0","method":"notifications/x","params":{}}
            {"jsonrpc":"2.0","method":"notifications/y"}
            {"jsonrpc":"2.0","id":3,"method":"ping"}
        "#]]
        .assert_eq(std::str::from_utf8(&out).expect("JSON is UTF-8"));
    }
}
