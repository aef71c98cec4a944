//! Reads a request and writes a response in the protocol of its path.

use serde_json::Value;

use super::conversation::{Protocol, Request};
use super::http::Response;
use super::script::Reply;
use super::{anthropic, chat, gemini, responses};

/// Returns the request posted to this path if it asks for generated text.
pub(super) fn request(path: &str, with_query: &str, body: &Value) -> Option<Request> {
    let last = path.rsplit('/').next().unwrap_or_default();
    match last {
        "messages" => Some(anthropic::request(body)),
        "responses" => Some(responses::request(body)),
        "completions" if path.ends_with("/chat/completions") => Some(chat::request(body)),
        _ => gemini::request(last, with_query, body),
    }
}

pub(super) fn response(request: &Request, reply: &Reply) -> Response {
    match request.protocol {
        Protocol::AnthropicMessages => anthropic::response(request, &reply.to_utterance()),
        Protocol::OpenAiResponses => responses::response(request, &reply.to_utterance()),
        Protocol::OpenAiChat => chat::response(request, &reply.to_utterance()),
        Protocol::Gemini => gemini::response(request, &reply.to_utterance()),
    }
}
