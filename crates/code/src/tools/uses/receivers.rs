//! Receivers of unverified places, taken from the text before the name: `runner.invoke`, `make(…).invoke`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use syntax::{Class, is_word};

use crate::answer::{Candidates, Site};
use crate::completeness::grouped;
use crate::judgement::is_zero;
use crate::tools::display_path;

/// Unverified places with the same receiver.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(in crate::tools) struct Group {
    /// The receiver and the name.
    pub name: String,
    /// Absent for a call.
    #[serde(default = "call", skip_serializing_if = "is_call")]
    pub class: Class,
    /// The number of places, listed or not.
    pub count: usize,
    /// The number of places in tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_tests: usize,
    /// The lines of the first places, by file.
    pub places: BTreeMap<String, Vec<usize>>,
}

/// Returns the default class, which a result omits.
pub(in crate::tools) fn call() -> Class {
    Class::Call
}

/// True if a result omits the class.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(in crate::tools) fn is_call(class: &Class) -> bool {
    *class == Class::Call
}

/// The maximum number of groups, and of places in each, if not all places are listed.
const MOST_GROUPS: usize = 12;
const FIRST_PLACES: usize = 3;
/// The maximum length of a group's name, in characters.
const LONGEST: usize = 40;

impl Group {
    /// Formats the group: `runner.invoke ×376 (tests)`.
    pub(in crate::tools) fn describe(&self) -> String {
        let as_class = match self.class {
            Class::Call => "",
            Class::Value => " as a value",
            class => &format!(" ({})", class.word()),
        };
        let times = if self.count > 1 { format!(" ×{}", grouped(self.count)) } else { String::new() };
        let tests = if self.in_tests == self.count { " (tests)" } else { "" };
        format!("{}{as_class}{times}{tests}", self.name)
    }

    /// Formats the group with its places: `runner.invoke ×376 (tests): tests/test_commands.py:12, 40 …`.
    pub(in crate::tools) fn line(&self) -> String {
        let lines = |lines: &Vec<usize>| lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let files: Vec<String> = self.places.iter().map(|(file, all)| format!("{file}:{}", lines(all))).collect();
        let shown: usize = self.places.values().map(Vec::len).sum();
        let more = if shown < self.count { " …" } else { "" };
        format!("  {}: {}{more}", self.describe(), files.join("; "))
    }
}

/// Groups places by receiver: code before tests, then by frequency.
pub(in crate::tools) fn groups<'a>(found: &Candidates, sites: impl Iterator<Item = &'a Site>) -> Vec<Group> {
    let mut by_name: BTreeMap<(String, Class), Group> = BTreeMap::new();
    for site in sites {
        let name = name(found, site);
        let new = || Group { name: name.clone(), class: site.class, count: 0, in_tests: 0, places: BTreeMap::new() };
        let group = by_name.entry((name.clone(), site.class)).or_insert_with(new);
        group.count += 1;
        group.in_tests += usize::from(site.in_test);
        group.places.entry(display_path(&site.path)).or_default().push(site.line);
    }
    let mut groups: Vec<Group> = by_name.into_values().collect();
    groups.sort_by_key(|group| (group.in_tests == group.count, usize::MAX - group.count));
    groups
}

/// Returns the groups to list: all if they have at most `most` places, otherwise the first ones with their first places.
pub(in crate::tools) fn with_places(groups: &[Group], most: usize) -> Vec<Group> {
    if groups.iter().map(|group| group.count).sum::<usize>() <= most {
        return groups.to_vec();
    }
    let mut shown: Vec<Group> = groups.iter().take(MOST_GROUPS).cloned().collect();
    for group in &mut shown {
        let mut left = FIRST_PLACES;
        for lines in group.places.values_mut() {
            lines.truncate(left);
            left -= lines.len();
        }
        group.places.retain(|_, lines| !lines.is_empty());
    }
    shown
}

pub(in crate::tools) fn has_receiver(found: &Candidates, site: &Site) -> bool {
    !receiver(found.text_before(&site.path, site.at)).is_empty()
}

/// Returns the receiver and the name of a place.
fn name(found: &Candidates, site: &Site) -> String {
    let name = site.alias.as_ref().unwrap_or(&found.question.name);
    project::visible(&format!("{}{name}", receiver(found.text_before(&site.path, site.at))))
}

/// Returns the receiver at the end of a text, with its dot and without arguments.
fn receiver(before: &[u8]) -> String {
    static POINTS: [&[u8]; 5] = [b"?.", b"!.", b".", b"->", b"::"];
    let Some(point) = POINTS.iter().find(|point| before.ends_with(point)) else { return String::new() };
    let mut parts: Vec<String> = Vec::new();
    let mut rest = &before[..before.len() - point.len()];
    let mut next = point;
    loop {
        parts.push(String::from_utf8_lossy(next).into_owned());
        rest = rest.trim_ascii_end();
        while let Some(open) = opened(rest) {
            parts.push(if rest.ends_with(b")") { "(…)" } else { "[…]" }.to_owned());
            rest = &rest[..open];
        }
        let word = rest.iter().rev().take_while(|byte| is_word(**byte) || **byte == b'$').count();
        if word == 0 && parts.len() % 2 == 1 {
            parts.push("…".to_owned());
        }
        let start = rest.len() - word;
        parts.push(String::from_utf8_lossy(&rest[start..]).into_owned());
        // A call chain may span several lines.
        rest = rest[..start].trim_ascii_end();
        match POINTS.iter().find(|point| rest.ends_with(point)) {
            Some(point) if word > 0 => (rest, next) = (&rest[..rest.len() - point.len()], point),
            _ => break,
        }
    }
    parts.reverse();
    let whole = parts.concat();
    match whole.chars().count().checked_sub(LONGEST) {
        Some(more @ 1..) => format!("…{}", whole.chars().skip(more).collect::<String>()),
        _ => whole,
    }
}

/// Returns the position of the bracket that the end of a text closes.
fn opened(text: &[u8]) -> Option<usize> {
    let (open, close) = match text.last()? {
        b')' => (b'(', b')'),
        b']' => (b'[', b']'),
        _ => return None,
    };
    let mut depth = 0usize;
    text.iter().rposition(|byte| {
        depth += usize::from(*byte == close);
        depth -= usize::from(*byte == open);
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_is_the_expression_before_the_name() {
        for (before, wanted) in [
            ("x = runner.", "runner."),
            ("return self.app.", "self.app."),
            ("f(make(1, g(2)).", "make(…)."),
            ("x = all[0].", "all[…]."),
            ("  builder\n    .name(\"a\")\n    .", "builder.name(…)."),
            ("geo::Shape::", "geo::Shape::"),
            ("p->", "p->"),
            ("a?.b!.", "a?.b!."),
            ("x = ", ""),
            ("(\"a\".", "…."),
            (")).", "…."),
        ] {
            assert_eq!(receiver(before.as_bytes()), wanted, "{before}");
        }
    }
}
