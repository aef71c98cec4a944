//! Suggestions of the compiler within its messages.

/// Removes up to `width` leading blanks of each line.
pub(super) fn dedent(lines: &[&str], width: usize) -> String {
    let cut = |line: &&str| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        line[indent.min(width)..].trim_end().to_owned()
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// Separates the compiler's suggestions from the message, as the JSON form does.
pub(super) fn split_hints(message: &str) -> (String, Vec<String>) {
    let mut kept: Vec<&str> = Vec::new();
    let mut hints = Vec::new();
    let lines: Vec<&str> = message.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(rest) = line.strip_prefix("Suggested fix:").or_else(|| line.strip_prefix("Suggested fixes:")) {
            let section = &lines[at + 1..];
            if rest.trim().is_empty() {
                hints.extend(split_bullets(&dedent(section, 2)));
            } else {
                hints.push(join_block(rest.trim(), section, 2));
            }
            break;
        }
        let end = (at + 1..lines.len()).find(|next| !lines[*next].starts_with("  ")).unwrap_or(lines.len());
        match line.strip_prefix("• Perhaps ") {
            Some(rest) => {
                hints.push(format!("Perhaps {}", join_block(rest, &lines[at + 1..end], 2)));
                at = end;
            }
            None => {
                let bare = line.strip_prefix("• ").unwrap_or(line).trim_start();
                if let Some(hint) = hint_inside(bare, &lines[at + 1..]) {
                    hints.push(hint);
                }
                kept.push(line);
                at += 1;
            }
        }
    }
    let mut message = kept.join("\n");
    // A list of one item is not a list.
    if message.matches("• ").count() == 1 && message.starts_with("• ") {
        message = dedent(&message["• ".len()..].lines().collect::<Vec<_>>(), 2);
    }
    (message, hints)
}

/// Returns a suggestion inside a message; it stays in the message too.
fn hint_inside(line: &str, following: &[&str]) -> Option<String> {
    if ["Perhaps ", "Or perhaps ", "To import instances alone, use: "].iter().any(|mark| line.starts_with(mark)) {
        return Some(line.to_owned());
    }
    let rest = line.strip_prefix("Probable fix:").or_else(|| line.strip_prefix("Possible fix:"))?;
    if !rest.is_empty() {
        return Some(rest.trim().to_owned());
    }
    // The suggestion is the block below, indented deeper than the line after it.
    let indent = |line: &str| line.len() - line.trim_start().len();
    let width = following.first().map_or(0, |first| indent(first));
    let block: Vec<&str> = following.iter().copied().take_while(|line| indent(line) >= width && width > 0).collect();
    Some(dedent(&block, width)).filter(|hint| !hint.is_empty())
}

fn split_bullets(text: &str) -> Vec<String> {
    if !text.starts_with("• ") {
        return vec![text.to_owned()];
    }
    let mut items: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("• "), items.last_mut()) {
            (Some(first), _) => items.push(first.to_owned()),
            (None, Some(item)) => {
                item.push('\n');
                item.push_str(line.strip_prefix("  ").unwrap_or(line));
            }
            (None, None) => items.push(line.to_owned()),
        }
    }
    items
}

fn join_block(first: &str, more: &[&str], width: usize) -> String {
    if more.is_empty() { first.to_owned() } else { format!("{first}\n{}", dedent(more, width)) }
}
