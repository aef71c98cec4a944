//! Headings of help, and the section of examples.

use std::fmt::Write;

use clap::builder::{StyledStr, Styles};

/// Renders the section `Examples` of a command's help: shell commands with titles.
pub(super) fn examples(lines: impl Iterator<Item = (String, String)>) -> StyledStr {
    let mut text = StyledStr::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", heading("Examples"));
    for (line, shows) in lines {
        let _ = match &*shows {
            "" => write!(text, "\n  {line}"),
            shows => write!(text, "\n  {line}  # {shows}"),
        };
    }
    text
}

pub(super) fn heading(title: &str) -> String {
    let styles = Styles::styled();
    let header = styles.get_header();
    format!("{header}{title}:{header:#}")
}
