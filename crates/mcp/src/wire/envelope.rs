//! One line → its JSON-RPC message, borrowed from the line, and the classification of odd input.

use std::borrow::Cow;

use super::Id;
use super::json::{Json, Members};

/// The members of one JSON-RPC object, read only as deep as routing needs.
#[derive(Debug, Default)]
pub struct Envelope<'a> {
    version: bool,
    id: Member<Json<'a>>,
    method: Member<Option<Cow<'a, str>>>,
    params: Member<Json<'a>>,
    result: Member<Json<'a>>,
    error: Member<Json<'a>>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Member<T> {
    #[default]
    Absent,
    Once(T),
    Twice,
}

impl<T> Member<T> {
    fn set(&mut self, value: T) {
        *self = match self {
            Member::Absent => Member::Once(value),
            _ => Member::Twice,
        }
    }
    fn get(&self) -> Option<&T> {
        match self {
            Member::Once(value) => Some(value),
            _ => None,
        }
    }
    fn is_present(&self) -> bool {
        !matches!(self, Member::Absent)
    }
}

/// The message in a line.
#[derive(Debug)]
pub enum Message<'a> {
    /// Expects an answer.
    Request {
        /// The id, which the answer echoes.
        id: Id,
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, an object, if present.
        params: Option<Json<'a>>,
    },
    /// Expects no answer.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, an object, if present.
        params: Option<Json<'a>>,
    },
    /// Answers a request of this side.
    Response {
        /// The id of the request; `None` if unreadable.
        id: Option<Id>,
        /// The result, or the error.
        outcome: Result<Json<'a>, Json<'a>>,
    },
    /// JSON that is not a valid message, to be answered with −32600, this id (or null) and this reason.
    Invalid {
        /// The id, if it can be read.
        id: Option<Id>,
        /// The reason, as a clause.
        reason: &'static str,
    },
    /// A JSON array: a batch if the revision has batches, else invalid.
    Batch(Vec<Json<'a>>),
}

/// A line that is not JSON text, to be ignored with a line in the log; a body of HTTP is refused with −32700.
///
/// JSON-RPC prescribes an answer with −32700 and a null id. On a stream of lines such an answer has no reader: no
/// request waits for an answer without an id. Up to revision 2025-06-18 the schema has no such message (later an error
/// may be without an id, but not with a null one), so a validating client reports a fault of the server. Such a line is
/// usually output of a program that got into the pipe, and an answer to each line of it is an error storm. The official
/// servers in TypeScript, Python and Rust do not answer either. JSON that is not a message is answered: its sender
/// writes JSON-RPC, and its id can often be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable(
    /// The reason, as a clause.
    pub &'static str,
);

impl<'a> Envelope<'a> {
    /// Reads the members of one JSON object; `None` if the line is anything else. Odd members are accepted here;
    /// [`Envelope::classify`] judges them.
    pub fn peek(line: &'a [u8]) -> Option<Envelope<'a>> {
        Envelope::read(std::str::from_utf8(line).ok()?)
    }

    fn read(text: &'a str) -> Option<Envelope<'a>> {
        let mut envelope = Envelope::default();
        let mut versions = 0;
        for (key, value) in Members::read(text)? {
            match key.as_ref() {
                "jsonrpc" => {
                    versions += 1;
                    envelope.version = value.get() == "\"2.0\"" && versions == 1;
                }
                "id" => envelope.id.set(value),
                "method" => envelope.method.set(value.text()),
                "params" => envelope.params.set(value),
                "result" => envelope.result.set(value),
                "error" => envelope.error.set(value),
                _ => {}
            }
        }
        Some(envelope)
    }

    /// Returns the id, if there is exactly one and it is legal.
    pub fn id(&self) -> Option<Id> {
        Id::from_json(self.id.get()?.get())
    }

    /// Returns the id's JSON text, legal or not.
    pub fn raw_id(&self) -> Option<&'a str> {
        self.id.get().map(|id| id.get())
    }

    /// Returns the method, if there is exactly one and it is a string.
    pub fn method(&self) -> Option<&str> {
        self.method.get()?.as_deref()
    }

    /// Returns the parameters, as written.
    pub fn params(&self) -> Option<Json<'a>> {
        self.params.get().copied()
    }

    /// Returns the result of a response.
    pub fn result(&self) -> Option<Json<'a>> {
        self.result.get().copied()
    }

    /// Returns the error of a response.
    pub fn error(&self) -> Option<Json<'a>> {
        self.error.get().copied()
    }

    /// Returns true if this is a request: it has a method and a legal id.
    pub fn is_request(&self) -> bool {
        self.method().is_some() && self.id().is_some()
    }

    /// Returns true if this is a response: it has no method, but a result or an error.
    pub fn is_response(&self) -> bool {
        !self.method.is_present() && (self.result.is_present() || self.error.is_present())
    }

    /// Classifies a line. Every array is a [`Message::Batch`], whatever its elements.
    pub fn classify(line: &'a [u8]) -> Result<Message<'a>, Unreadable> {
        let text = std::str::from_utf8(line).map_err(|_| Unreadable("invalid UTF-8"))?;
        let is_object = text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{');
        let message = if is_object {
            Envelope::read(text).map(Envelope::into_message)
        } else {
            Json::check(text).map(|json| {
                if json.get().starts_with('[') {
                    Message::Batch(json.items().collect())
                } else {
                    Message::Invalid { id: None, reason: "a message must be a JSON object" }
                }
            })
        };
        message.ok_or(Unreadable("not JSON"))
    }

    fn into_message(self) -> Message<'a> {
        if self.is_response() {
            let id = self.id();
            let outcome = match (self.result, self.error) {
                (Member::Once(result), Member::Absent) => Ok(result),
                (Member::Absent, Member::Once(error)) => Err(error),
                // Both, or one twice: still a response, since answering a response could start an endless exchange.
                _ => Err(Json::NULL),
            };
            return Message::Response { id, outcome };
        }
        let id = self.id();
        let invalid = |reason| Message::Invalid { id: id.clone(), reason };
        if !self.version {
            return invalid("\"jsonrpc\" must be \"2.0\"");
        }
        let method = match self.method {
            Member::Once(Some(method)) => method,
            Member::Absent => return invalid("\"method\" is missing"),
            _ => return invalid("\"method\" must be one string"),
        };
        if self.result.is_present() || self.error.is_present() {
            return invalid("a message has either \"method\" or \"result\" or \"error\"");
        }
        let params = match self.params {
            Member::Absent => None,
            Member::Once(params) if params.get() == "null" => None,
            Member::Once(params) if params.get().starts_with('{') => Some(params),
            _ => return invalid("\"params\" must be one object"),
        };
        match (self.id, id) {
            (Member::Absent, _) => Message::Notification { method, params },
            (_, Some(id)) => Message::Request { id, method, params },
            (_, None) => {
                Message::Invalid { id: None, reason: "\"id\" must be one string or integer of at most 1024 bytes" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(lines: &[&str], expected: Expect) {
        let shown: Vec<String> = lines
            .iter()
            .map(|line| match Envelope::classify(line.as_bytes()) {
                Ok(Message::Request { id, method, params }) => format!("request {id} {method} {params:?}"),
                Ok(Message::Notification { method, params }) => format!("notification {method} {params:?}"),
                Ok(Message::Response { id, outcome }) => format!("response {id:?} {outcome:?}"),
                Ok(Message::Invalid { id, reason }) => format!("invalid {id:?} {reason}"),
                Ok(Message::Batch(items)) => format!("batch of {}", items.len()),
                Err(Unreadable(reason)) => format!("unreadable: {reason}"),
            })
            .collect();
        expected.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn messages() {
        check(
            &[
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                r#" { "id" : "\u0061" , "method":"a\/b","jsonrpc":"2.0","params":{"x":[1, 2]},"extra":[{}] } "#,
                r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping","params":null}"#,
                r#"{"jsonrpc":"2.0","\u0069d":3,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}"#,
                r#"{"id":null,"result":{},"error":{}}"#,
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},7]"#,
                r#"[]"#,
            ],
            expect![[r#"
                request 1 ping None
                request "\u0061" a/b Some({"x":[1, 2]})
                request 18446744073709551616 ping None
                request 3 ping None
                notification notifications/initialized None
                response Some(2) Ok({})
                response Some(2) Err({"code":1,"message":""})
                response None Err(null)
                batch of 2
                batch of 0"#]],
        );
    }

    #[test]
    fn odd_messages() {
        check(
            &[
                r#"{"id":1,"method":"ping"}"#,
                r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
                r#"{}"#,
                r#"7"#,
                r#""text""#,
            ],
            expect![[r#"
                invalid Some(1) "jsonrpc" must be "2.0"
                invalid Some(1) "jsonrpc" must be "2.0"
                invalid Some(1) "method" is missing
                invalid Some(1) "method" must be one string
                invalid Some(1) "params" must be one object
                invalid Some(1) a message has either "method" or "result" or "error"
                invalid None "id" must be one string or integer of at most 1024 bytes
                invalid None "id" must be one string or integer of at most 1024 bytes
                invalid None "id" must be one string or integer of at most 1024 bytes
                invalid Some(1) "method" must be one string
                invalid None "jsonrpc" must be "2.0"
                invalid None a message must be a JSON object
                invalid None a message must be a JSON object"#]],
        );
    }

    #[test]
    fn what_is_not_json() {
        check(
            &["hello", "{", r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, "[1,", "7 8", r#"{"a":"\x"}"#],
            expect![[r#"
                unreadable: not JSON
                unreadable: not JSON
                unreadable: not JSON
                unreadable: not JSON
                unreadable: not JSON
                unreadable: not JSON"#]],
        );
        assert_eq!(
            Envelope::classify(b"{\"jsonrpc\":\"2.0\",\"x\":\"\xff\"}").err(),
            Some(Unreadable("invalid UTF-8"))
        );
    }

    #[test]
    fn deep_nesting_is_read_without_a_stack() {
        let brackets = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(Envelope::classify(brackets.as_bytes()), Ok(Message::Batch(_))));
        assert!(Envelope::classify("[".repeat(100_000).as_bytes()).is_err());
        assert!(Envelope::classify("{\"a\":".repeat(100_000).as_bytes()).is_err());
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{brackets}}}}}"#);
        assert!(matches!(Envelope::classify(request.as_bytes()), Ok(Message::Request { .. })));
    }
}
