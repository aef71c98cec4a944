//! The lines of an answer about uses: verified places by file, then unverified ones.

use super::receivers::Group;
use super::{FileUses, Use, Uses};
use crate::judgement::Verdict;

/// Formats the uses as lines. A heading states the verdict of the places below it, unless the first line already does.
pub(in crate::tools) fn lines(uses: &Uses) -> Vec<String> {
    let mut lines = Vec::new();
    let headings: Vec<&str> = uses.files.iter().map(|file| heading(file.verdict)).collect();
    let is_mixed = headings.iter().any(|one| *one != headings[0]) || !uses.unverified.is_empty();
    let is_said = |verdict| matches!(verdict, Verdict::Confirmed | Verdict::Undecided(_) | Verdict::NotJudged);
    let (mut last, mut means) = ("", None);
    for file in &uses.files {
        let heading = heading(file.verdict);
        if heading != last && (is_mixed || !is_said(file.verdict)) {
            lines.push(format!("{heading}:"));
        }
        last = heading;
        if file.means.is_some() && file.means != means {
            means.clone_from(&file.means);
            lines.extend(means.iter().map(|meant| format!("means: {meant}")));
        }
        lines.push(file.file.clone());
        lines.extend(of_file(file));
    }
    if !uses.unverified.is_empty() {
        lines.push("unverified:".to_owned());
        lines.extend(uses.unverified.iter().map(Group::line));
        let more = &uses.groups[uses.unverified.len()..];
        let places: usize = more.iter().map(|group| group.count).sum();
        lines.extend((places > 0).then(|| format!("  {} more receivers ×{places}", more.len())));
    }
    lines
}

fn heading(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "verified",
        Verdict::Earlier => "verified earlier, unchanged since",
        Verdict::Undecided(_) => "unverified",
        Verdict::NotJudged => "in comments and strings",
        Verdict::Refuted => "other definitions",
    }
}

/// Formats the places of a file. Identical uses on one line are combined, with a count.
fn of_file(file: &FileUses) -> Vec<String> {
    let shown = |one: &Use| (one.line, one.class, one.via, one.alias.clone());
    let mut lines = Vec::new();
    for same in file.places.chunk_by(|one, next| shown(one) == shown(next)) {
        let one = &same[0];
        let enclosing = if one.enclosing.is_empty() { String::new() } else { format!("{}  ", one.enclosing) };
        let local = if one.may_be_local { " of a local?" } else { "" };
        let times = if same.len() > 1 { format!(" ×{}", same.len()) } else { String::new() };
        let (class, named) = (one.class.word(), named(one));
        lines.extend(one.before.iter().map(|line| format!("    | {line}")));
        lines.push(format!("  {}  {enclosing}{class}{named}{local}{times}  {}", one.line, one.text));
        lines.extend(one.after.iter().map(|line| format!("    | {line}")));
    }
    lines
}

/// Returns the alias at a place, for a reader who looks for the name.
fn named(one: &Use) -> String {
    match (one.via, &one.alias) {
        (Some("interface"), None) => " by an interface".to_owned(),
        (_, None) => String::new(),
        (Some("implicit"), Some(_)) => " implicit".to_owned(),
        (Some("macro"), Some(name)) => format!(" by the macro {name}"),
        (_, Some(name)) => format!(" as {name}"),
    }
}

/// Formats the number of omitted places, their files, and the call that lists them.
pub(in crate::tools) fn rest_line(tool: &str, name: &str, uses: &Uses) -> Option<String> {
    let Uses { rest, total, .. } = uses;
    let count: usize = rest.values().sum();
    let Some((file, _)) = rest.iter().max_by_key(|(_, count)| **count) else {
        let grouped: usize = uses.unverified.iter().flat_map(|group| group.places.values()).map(Vec::len).sum();
        let more = uses.groups.iter().map(|group| group.count).sum::<usize>().saturating_sub(grouped);
        let next = serde_json::json!({"name": name, "max_results": total});
        return uses.truncated.then(|| format!("{more} more: {tool} {next}"));
    };
    let files: Vec<String> = rest.iter().take(10).map(|(file, count)| format!("{file} {count}")).collect();
    let more = if rest.len() > 10 { format!(" and {} more files", rest.len() - 10) } else { String::new() };
    let next = serde_json::json!({"name": name, "path": file, "max_results": total});
    Some(format!("{count} more: {}{more}. For one file: {tool} {next}", files.join(", ")))
}
