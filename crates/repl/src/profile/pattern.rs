//! Patterns for the names of files.

/// Matches a name against a pattern with at most one `*`, which matches any text, even none, but not a leading dot.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            !name.starts_with('.')
                && name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
    }
}
