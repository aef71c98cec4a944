//! Splits a file into its front matter and its body.

use super::Problem;

/// Returns the front matter, the body, and the number of lines before the body.
pub(super) fn split(text: &str) -> Result<(&str, &str, usize), Problem> {
    let begin = || Problem::at(1, "a node file must begin with a line `---`, followed by its front matter");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(begin());
    }
    let (mut at, mut lines) = (first.len(), 1);
    for line in text[first.len()..].split_inclusive('\n') {
        lines += 1;
        if line.trim_end() == "---" {
            let body = &text[at + line.len()..];
            return if body.trim().is_empty() {
                Err(Problem::at(lines, "the body is empty: write the prompt below the front matter"))
            } else {
                Ok((&text[first.len()..at], body, lines))
            };
        }
        at += line.len();
    }
    Err(Problem::at(1, "the front matter does not end: put a line `---` below it"))
}
