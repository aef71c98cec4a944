//! Members and values of JSON objects, appended to a buffer.

use serde::Serialize;

use crate::wire::build::{push_string, push_value};

/// A member with a leading comma, if there is a value.
pub(super) fn member<T: Serialize>(out: &mut Vec<u8>, name: &str, value: &Option<T>) {
    if let Some(value) = value {
        out.push(b',');
        push_string(out, name);
        out.push(b':');
        push(out, value);
    }
}

/// Writes a value that always serializes: strings, schemas, lists of them.
pub(super) fn push(out: &mut Vec<u8>, value: &impl Serialize) {
    if push_value(out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}
