//! Lines of JSON that are passed on as they stand.

use serde_json::value::RawValue;

/// Returns the object of JSON that a text is, if it is one on one line, and whether the line's end stands after it. The
/// object can be part of another line of JSON without being written anew, byte for byte.
pub fn json_line(text: &str) -> Option<(&RawValue, bool)> {
    let bare = text.strip_suffix('\n');
    let (text, has_end) = (bare.unwrap_or(text), bare.is_some());
    let is_line = text.starts_with('{') && !text.contains('\n');
    let json: &RawValue = serde_json::from_str(is_line.then_some(text)?).ok()?;
    (json.get().len() == text.len()).then_some((json, has_end))
}
