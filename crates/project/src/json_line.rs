//! Lines of JSON that are passed on as they stand.

use serde_json::value::RawValue;

/// The whole text, if it is one line with one object of JSON. It can be part of another line of JSON without being written anew,
/// byte for byte.
pub fn json_line(text: &str) -> Option<&RawValue> {
    let is_line = text.starts_with('{') && !text.contains('\n');
    let json: &RawValue = serde_json::from_str(is_line.then_some(text)?).ok()?;
    (json.get().len() == text.len()).then_some(json)
}
