//! The lines of a file that the grammar of its language cannot read.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Instant;

use crate::place::Lines;
use crate::search::read;
use crate::syntax::{Language, parse};

/// How many parts are named.
const MOST: usize = 3;

/// Names them: `line 7`, `lines 87–96 and 120`. `None` if the file cannot be read or parsed in time.
pub(crate) fn unread_lines(file: &Path, until: Instant) -> Option<String> {
    let text = read(file).ok()?;
    let tree = parse(Language::of(file, &text)?, &text, until)?;
    let lines = Lines::of(&text);
    let mut parts: Vec<RangeInclusive<usize>> = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        if node.is_error() || node.is_missing() {
            let last = text.len().min(node.end_byte().saturating_sub(1).max(node.start_byte()));
            parts.push(lines.line(node.start_byte())..=lines.line(last));
        } else if node.has_error() {
            open.extend((0..node.child_count()).filter_map(|number| node.child(number)));
        }
    }
    parts.sort_by_key(|part| *part.start());
    let mut joined: Vec<RangeInclusive<usize>> = Vec::new();
    for part in parts {
        match joined.last_mut().filter(|last| *part.start() <= last.end() + 1) {
            Some(last) => *last = *last.start()..=*last.end().max(part.end()),
            None => joined.push(part),
        }
    }
    let one = |part: &RangeInclusive<usize>| match part.start() == part.end() {
        true => part.start().to_string(),
        false => format!("{}–{}", part.start(), part.end()),
    };
    let named: Vec<String> = joined.iter().take(MOST).map(one).collect();
    let more = if joined.len() > MOST { format!(" and {} more places", joined.len() - MOST) } else { String::new() };
    let is_one = matches!(&joined[..], [part] if part.start() == part.end());
    (!joined.is_empty()).then(|| format!("line{} {}{more}", if is_one { "" } else { "s" }, named.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn lines_that_do_not_parse_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            let file = folder.path().join("a.py");
            std::fs::write(&file, text).unwrap();
            unread_lines(&file, Instant::now() + Duration::from_secs(10))
        };
        assert_eq!(said("def area():\n    return 1\n"), None);
        assert_eq!(said("x = 1\ny = ) 2\nz = 3\n").as_deref(), Some("line 2"));
    }
}
