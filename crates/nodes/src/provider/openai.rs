//! The codec of OpenAI-compatible chat completions (llama.cpp, vLLM, Ollama's `/v1`, OpenAI and many more). No I/O.

use serde_json::{Map, Value, json};

use super::http::Response;
use super::{Answer, Failed, Finish, Request};
use crate::outcome::{Class, Tokens};

/// Builds the body of `POST /chat/completions`.
pub(super) fn request(model: &str, request: &Request, is_streamed: bool) -> Value {
    let messages: Vec<Value> =
        request.messages.iter().map(|message| json!({"role": message.role, "content": message.text})).collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.into());
    body.insert("max_tokens".to_owned(), request.max_tokens.into());
    body.extend(request.temperature.map(|value| ("temperature".to_owned(), value.into())));
    body.extend(request.top_p.map(|value| ("top_p".to_owned(), value.into())));
    if let Some((schema, is_strict)) = request.form.sent() {
        let mut named = Map::from_iter([("name".to_owned(), schema_name(&request.name).into())]);
        named.extend(is_strict.map(|is_strict| ("strict".to_owned(), is_strict.into())));
        named.insert("schema".to_owned(), schema.clone());
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": named}));
    }
    if is_streamed {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    Value::Object(body)
}

/// Converts a name to at most 64 letters, digits, `_` and `-`.
fn schema_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(legal).take(64).collect()
}

/// Parses a response.
pub(super) fn answer(response: &Response) -> Result<Answer, Failed> {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    if response.status != 200 {
        return Err(failed(response, &body));
    }
    let choice = &body["choices"][0];
    let Some(finish_word) = choice.get("finish_reason").map(|word| word.as_str().unwrap_or("stop").to_owned()) else {
        return Err(Failed::new(
            Class::Rejected,
            "the server's answer is not that of an OpenAI-compatible API; check the url",
        ));
    };
    let finish = match finish_word.as_str() {
        "length" => Finish::Length,
        "content_filter" => Finish::Refused,
        _ => Finish::Stop,
    };
    let message = &choice["message"];
    let refusal = message["refusal"].as_str().filter(|refusal| !refusal.is_empty()).map(shortened);
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    let usage = &body["usage"];
    let tokens = usage["prompt_tokens"].as_u64().zip(usage["completion_tokens"].as_u64()).map(|(input, output)| {
        Tokens { input, output, cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64() }
    });
    Ok(Answer { text, refusal, finish, finish_word, tokens })
}

fn failed(response: &Response, body: &Value) -> Failed {
    let error = &body["error"];
    let said = error["message"].as_str().or(error.as_str()).map(shortened).unwrap_or_default();
    let kind = [&error["type"], &error["code"]].into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    let status = response.status;
    let is_too_long = kind.contains("exceed_context_size") || kind.contains("context_length_exceeded");
    let class = match status {
        _ if is_too_long => Class::TooLong,
        408 | 409 | 429 | 529 => Class::Busy,
        500..=599 => Class::Busy,
        _ => Class::Rejected,
    };
    let numbers = error["n_prompt_tokens"].as_u64().zip(error["n_ctx"].as_u64());
    let numbers = numbers.map_or(String::new(), |(has, most)| format!(" ({has} tokens of {most})"));
    let hint = match status {
        401 | 403 => "; check the model's key (key_file or key_env)",
        404 => "; check the model's url and model",
        _ => "",
    };
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Failed {
        class,
        why: format!("the model's server answered {status}{said}{numbers}{hint}"),
        retry_after: response.retry_after,
    }
}

fn shortened(text: &str) -> String {
    let text = project::visible(text);
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
