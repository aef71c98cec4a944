//! Assembles a streamed answer (server-sent events) to the body of an unstreamed answer, so that later code handles one form.
//! Received tokens are only counted. A partial value is never shown.

use serde_json::{Map, Value, json};

use super::Failed;
use crate::outcome::Class;

/// The received parts.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The incomplete last line.
    line: Vec<u8>,
    content: String,
    refusal: String,
    finish: Option<String>,
    usage: Option<Value>,
    error: Option<Value>,
    /// The number of parts with text: about one token each.
    parts: u64,
}

impl Stream {
    /// Adds the next bytes, and returns the number of tokens so far.
    pub(super) fn push(&mut self, bytes: &[u8]) -> u64 {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(&String::from_utf8_lossy(&line));
            }
        }
        let counted = self.usage.as_ref().and_then(|usage| usage["completion_tokens"].as_u64());
        counted.unwrap_or_default().max(self.parts)
    }

    fn line(&mut self, line: &str) {
        // Comments keep a connection open; event names and ids are not needed. llama.cpp puts an error into a separate field
        // name.
        let Some(data) = line.strip_prefix("data:").or_else(|| line.strip_prefix("error:")) else { return };
        let Ok(chunk) = serde_json::from_str::<Value>(data.trim()) else { return };
        let error = chunk.get("error").or((line.starts_with("error:")).then_some(&chunk));
        if let Some(error) = error.filter(|error| !error.is_null()) {
            self.error.get_or_insert_with(|| error.clone());
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let choice = &chunk["choices"][0];
        for (part, whole) in [("content", &mut self.content), ("refusal", &mut self.refusal)] {
            if let Some(text) = choice["delta"][part].as_str().filter(|text| !text.is_empty()) {
                whole.push_str(text);
                self.parts += 1;
            }
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            self.finish = Some(finish.to_owned());
        }
    }

    /// Returns the status and body of the whole answer. A stream without a finish reason was cut off.
    pub(super) fn end(mut self) -> Result<(u16, Value), Failed> {
        let line = std::mem::take(&mut self.line);
        self.line(&String::from_utf8_lossy(&line));
        if let Some(error) = self.error {
            let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            return Ok((status.filter(|status| (400..600).contains(status)).unwrap_or(500), json!({ "error": error })));
        }
        let Some(finish) = self.finish else {
            let why = format!("the answer ended early, after {} parts, without a finish_reason", self.parts);
            return Err(Failed::new(Class::Transport, why));
        };
        let mut message =
            Map::from_iter([("role".to_owned(), "assistant".into()), ("content".to_owned(), self.content.into())]);
        if !self.refusal.is_empty() {
            message.insert("refusal".to_owned(), self.refusal.into());
        }
        let mut body = json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]});
        if let Some(usage) = self.usage {
            body["usage"] = usage;
        }
        Ok((200, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = ": hello\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null},\"finish_reason\":null}]}\r\n\r\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"ä\\\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\":1}\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";

    #[test]
    fn a_stream_is_the_same_wherever_it_is_split() {
        let wanted = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"{\"ä\":1}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":5}}"#;
        for at in 0..WHOLE.len() {
            let mut stream = Stream::default();
            let bytes = WHOLE.as_bytes();
            stream.push(&bytes[..at]);
            assert_eq!(stream.push(&bytes[at..]), 5);
            let (status, body) = stream.end().expect("whole");
            assert_eq!((status, body.to_string().as_str()), (200, wanted), "split at {at}");
        }
    }

    #[test]
    fn a_torn_stream_is_no_answer_and_an_error_in_it_is_one() {
        let mut torn = Stream::default();
        torn.push(&WHOLE.as_bytes()[..WHOLE.find("data: {\"choices\":[{\"delta\":{},").expect("there")]);
        assert_eq!(torn.end().unwrap_err().class, Class::Transport);
        let mut failed = Stream::default();
        failed.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"code\":503,\"message\":\"full\"}}\n\n");
        let (status, body) = failed.end().expect("an error");
        assert_eq!((status, body["error"]["message"].as_str()), (503, Some("full")));
    }
}
