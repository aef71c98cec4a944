//! Formats values of a configuration file for the user who decides on a grant.

use crate::visible;

/// Formats a value on one line, with its texts as basic strings of TOML.
pub fn format(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Array(values) => format!("[{}]", values.iter().map(format).collect::<Vec<_>>().join(", ")),
        toml::Value::Table(table) if table.is_empty() => "{}".to_owned(),
        toml::Value::Table(table) => {
            let pairs = table.iter().map(|(name, value)| format!("{} = {}", key(name), format(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        value => visible(value.to_string().trim_end()),
    }
}

/// Returns a key, quoted where TOML requires it.
pub fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// Returns a text as a basic string that contains nothing else, with invisible characters written out.
pub fn quoted(text: &str) -> String {
    // A backslash in the text must not be read as ours.
    format!("\"{}\"", visible(&text.replace('\\', "\\\\").replace('"', "\\\"")))
}
