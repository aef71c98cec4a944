//! Lines of JSON that are passed on unchanged.

use serde_json::value::RawValue;

/// Returns the JSON object in a text, if the text is one on one line, and true if a line end follows it. The object can
/// be part of another line of JSON without being serialized again, byte for byte.
pub fn json_line(text: &str) -> Option<(&RawValue, bool)> {
    let bare = text.strip_suffix('\n');
    let (text, has_end) = (bare.unwrap_or(text), bare.is_some());
    let is_line = text.starts_with('{') && !text.contains('\n');
    let json: &RawValue = serde_json::from_str(is_line.then_some(text)?).ok()?;
    (json.get().len() == text.len()).then_some((json, has_end))
}
