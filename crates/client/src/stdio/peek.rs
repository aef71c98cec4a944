//! Reads cheaply the few fields of a message that the front-end needs: every message passes through here.

use mcp::wire::{DEFAULT_BATCH_LIMIT, Envelope, Id, Json};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Requests that matter to the front-end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// A tool call: the only request that must not run twice, unless the tool only reads.
    Call,
    Initialize,
    SetLevel,
    Subscribe,
    Unsubscribe,
    /// Stays open until one side ends it.
    Listen,
    Plain,
}

impl Method {
    pub(super) fn from_name(method: &str) -> Method {
        match method {
            "tools/call" => Method::Call,
            "initialize" => Method::Initialize,
            "logging/setLevel" => Method::SetLevel,
            "resources/subscribe" => Method::Subscribe,
            "resources/unsubscribe" => Method::Unsubscribe,
            "subscriptions/listen" => Method::Listen,
            _ => Method::Plain,
        }
    }
}

/// The kind of a line from the daemon.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Glance {
    Answer {
        id: Id,
        failed: bool,
    },
    Batch(Vec<Id>),
    /// Progress under this token.
    Progress(Box<str>),
    /// The listen with this id is established.
    Acknowledged(Id),
    /// A request of the server.
    Question,
    /// The server cancels one of its requests.
    Withdrawn,
    /// The list of tools has changed.
    ToolsChanged,
    Other,
}

pub(super) fn classify_message(line: &[u8]) -> Glance {
    if let Some((id, failed)) = plain_answer(line) {
        return Glance::Answer { id, failed };
    }
    if line.first() == Some(&b'[') {
        return batch_of(line, |envelope| envelope.is_response()).map_or(Glance::Other, Glance::Batch);
    }
    let Some(envelope) = Envelope::peek(line) else { return Glance::Other };
    if envelope.is_response() {
        return match envelope.id() {
            Some(id) => Glance::Answer { id, failed: envelope.error().is_some() },
            None => Glance::Other,
        };
    }
    let params = envelope.params();
    let glance = match (envelope.raw_id(), envelope.method()) {
        (Some(_), Some(_)) => Some(Glance::Question),
        (None, Some("notifications/cancelled")) => Some(Glance::Withdrawn),
        (None, Some("notifications/tools/list_changed")) => Some(Glance::ToolsChanged),
        (None, Some("notifications/progress")) => params.and_then(reported_token).map(Glance::Progress),
        (None, Some("notifications/subscriptions/acknowledged")) => {
            params.and_then(subscription_id).map(Glance::Acknowledged)
        }
        _ => None,
    };
    glance.unwrap_or(Glance::Other)
}

/// Recognises an answer of our own daemon by its beginning, so that long results are not parsed.
fn plain_answer(line: &[u8]) -> Option<(Id, bool)> {
    let rest = line.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":")?;
    let end = match rest.first()? {
        b'"' => {
            let end = 1 + memchr::memchr2(b'"', b'\\', &rest[1..])?;
            (rest[end] == b'"').then_some(end + 1)?
        }
        _ => memchr::memchr(b',', rest)?,
    };
    let failed = match &rest[end..] {
        after if after.starts_with(b",\"result\":") => false,
        after if after.starts_with(b",\"error\":") => true,
        _ => return None,
    };
    Some((Id::from_json(std::str::from_utf8(&rest[..end]).ok()?)?, failed))
}

/// Returns true if an answer rejects its request as invalid, such as a duplicate of an id in flight.
pub(super) fn is_refusal(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    let error = Envelope::peek(line).and_then(|envelope| envelope.error());
    error.and_then(|error| serde_json::from_str::<Code>(error.get()).ok()).is_some_and(|error| error.code == -32600)
}

/// Returns the ids of the requests in a batch of the agent; `None` if the line is not a batch, contains no request or
/// exceeds the daemon's limits.
pub(super) fn batch(line: &[u8]) -> Option<Vec<Id>> {
    batch_of(line, |envelope| envelope.is_request())
}

/// Returns the tool calls in a batch, as individual requests.
pub(super) fn batch_calls(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let items = serde_json::from_slice::<Vec<&RawValue>>(line).unwrap_or_default();
    let lines = items.into_iter().map(|item| item.get().as_bytes());
    lines.filter(|line| Envelope::peek(line).is_some_and(|item| item.method() == Some("tools/call")))
}

fn batch_of(line: &[u8], wanted: impl Fn(&Envelope) -> bool) -> Option<Vec<Id>> {
    if line.first() != Some(&b'[') {
        return None;
    }
    let items =
        serde_json::from_slice::<Vec<&RawValue>>(line).ok().filter(|items| items.len() <= DEFAULT_BATCH_LIMIT)?;
    let envelopes = items.iter().filter_map(|item| Envelope::peek(item.get().as_bytes()));
    let ids: Vec<Id> = envelopes.filter(|envelope| wanted(envelope)).filter_map(|envelope| envelope.id()).collect();
    (!ids.is_empty()).then_some(ids)
}

pub(super) fn is_initialized(line: &[u8]) -> bool {
    Envelope::peek(line).is_some_and(|envelope| envelope.method() == Some("notifications/initialized"))
}

/// Returns `params.requestId`.
pub(super) fn request_id(params: Json<'_>) -> Option<Id> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: &'a RawValue,
    }
    Id::from_json(serde_json::from_str::<Cancelled>(params.get()).ok()?.request_id.get())
}

#[derive(Deserialize)]
struct WithMeta<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
}

fn meta(params: Json<'_>) -> Option<Meta<'_>> {
    // Most parameters have none, and searching is much cheaper than parsing.
    memchr::memmem::find(params.get().as_bytes(), b"\"_meta\"")?;
    serde_json::from_str::<WithMeta>(params.get()).ok()?.meta
}

/// Returns the token under which a request wants progress, as JSON.
pub(super) fn progress_token(params: Json<'_>) -> Option<Box<str>> {
    Some(meta(params)?.progress_token?.get().into())
}

/// Returns true if a request is of an era that states its version in every request (since 2026-07-28).
pub(super) fn is_modern(params: Json<'_>) -> bool {
    meta(params).is_some_and(|meta| meta.version.is_some())
}

fn subscription_id(params: Json<'_>) -> Option<Id> {
    Id::from_json(meta(params)?.subscription_id?.get())
}

fn reported_token(params: Json<'_>) -> Option<Box<str>> {
    #[derive(Deserialize)]
    struct ProgressParams<'a> {
        #[serde(borrow, rename = "progressToken")]
        token: &'a RawValue,
    }
    Some(serde_json::from_str::<ProgressParams>(params.get()).ok()?.token.get().into())
}

/// Returns the tool that a call names, and the session among its arguments.
pub(super) fn call(line: &[u8]) -> (Option<String>, Option<String>) {
    #[derive(Default, Deserialize)]
    struct Arguments<'a> {
        #[serde(borrow, default)]
        session: Option<Cow<'a, str>>,
    }
    let Some(call) = read_call(line) else { return (None, None) };
    let arguments = call.arguments.and_then(|raw| serde_json::from_str::<Arguments>(raw.get()).ok());
    let session = arguments.unwrap_or_default().session;
    (call.name.map(Cow::into_owned), session.map(Cow::into_owned))
}

/// Returns true if two calls have the same tool and the same arguments.
pub(super) fn is_same_call(one: &[u8], other: &[u8]) -> bool {
    let said = |line| read_call(line).map(|call| (call.name, call.arguments.map(RawValue::get)));
    said(one) == said(other)
}

/// Returns true if an argument of a call is a text.
pub(super) fn has_text(line: &[u8], argument: &str) -> bool {
    let arguments = read_call(line).and_then(|call| call.arguments);
    let arguments = arguments.and_then(|raw| serde_json::from_str::<HashMap<Cow<str>, &RawValue>>(raw.get()).ok());
    arguments.is_some_and(|arguments| arguments.get(argument).is_some_and(|value| value.get().starts_with('"')))
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

fn read_call(line: &[u8]) -> Option<Call<'_>> {
    let params = Envelope::peek(line)?.params()?;
    serde_json::from_str(params.get()).ok()
}

/// Returns the first value of this field in an answer, at any depth. It must be a string without escapes.
pub(super) fn text_of(line: &[u8], field: &str) -> Option<String> {
    let field = format!("\"{field}\":\"");
    let start = memchr::memmem::find(line, field.as_bytes())? + field.len();
    let end = start + memchr::memchr(b'"', &line[start..])?;
    String::from_utf8(line[start..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(line: &str, expected: Expect) {
        expected.assert_eq(&format!("{:?}", classify_message(line.as_bytes())));
    }

    #[test]
    fn lines_of_a_daemon() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, expect!["Answer { id: 1, failed: false }"]);
        check(r#"{"jsonrpc":"2.0","id":"a,b","error":{}}"#, expect![[r#"Answer { id: "a,b", failed: true }"#]]);
        check(r#"{"jsonrpc":"2.0","id":"a\"","result":1}"#, expect![[r#"Answer { id: "a\"", failed: false }"#]]);
        check(r#"{"result":{},"id":7,"jsonrpc":"2.0"}"#, expect!["Answer { id: 7, failed: false }"]);
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}"#, expect!["Other"]);
        check(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, expect!["Question"]);
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
            expect![[r#"Progress("\"t\"")"#]],
        );
        check(
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#,
            expect!["Batch([1, 2])"],
        );
        check("rubbish", expect!["Other"]);
    }

    #[test]
    fn calls() {
        let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repl_eval","arguments":{"session":"s","code":"1"},"_meta":{"progressToken":5,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(call(line), (Some("repl_eval".into()), Some("s".into())));
        let params = Envelope::peek(line).unwrap().params().unwrap();
        assert_eq!(progress_token(params).as_deref(), Some("5"));
        assert!(is_modern(params));
    }
}
