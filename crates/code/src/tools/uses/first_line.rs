//! The first line of an answer about uses: the result first, then why it is not complete.

use std::collections::BTreeMap;

use syntax::{Class, SCRIPTS, family};

use super::Uses;
use super::receivers::Group;
use crate::completeness::{Head, counted, grouped};
use crate::definition::Definition;
use crate::judgement::{Code, Verdict};
use crate::tools::JudgedAnswer;

/// The maximum number of groups in the first line.
const MOST_GROUPS: usize = 3;

/// Formats the result. `one` is the noun for a place: `caller`, `use`.
pub(in crate::tools) fn sentence(answered: &JudgedAnswer, uses: &Uses, one: &str) -> String {
    let Uses { head, elsewhere, below, .. } = uses;
    let within = below.as_ref().map(|below| format!(" in {below}")).unwrap_or_default();
    let said = match (head.is_complete, head.confirmed + head.earlier, head.undecided) {
        (true, ..) => complete(answered, uses, one, &within),
        (false, 0, 0) if uses.verified.is_empty() => {
            format!("No {one}s{within} found; not proven complete: {}", head.reasons_with_advice())
        }
        (false, 0, open) if open > 0 && !is_checked(head) => unchecked(uses, "", &within),
        (false, 0, open) if open > 0 => match answered.explain_undeclared() {
            Some(gone) => gone,
            None => format!("No verified {one}s{within}. {}", unverified(answered, uses, "")),
        },
        _ => incomplete(answered, uses, one, &within),
    };
    let others = match elsewhere {
        0 => String::new(),
        count => format!(" · {} of this name in other languages", counted(*count, "place")),
    };
    format!("{said}{others}{}", head.at())
}

/// Formats a complete answer: `8 callers, complete: 7 calls, 1 passed as a value · checked by ty`.
fn complete(answered: &JudgedAnswer, uses: &Uses, one: &str, within: &str) -> String {
    let count: usize = uses.verified.values().sum();
    let by = uses.head.checked_by().map(|names| format!(" · checked by {names}")).unwrap_or_default();
    // Parts that the server read although hob cannot parse them.
    let unread = uses.head.reasons.iter().map(|reason| format!(" · {}", reason.text)).collect::<String>();
    let by = format!("{by}{unread}");
    if count > 0 {
        return format!("{}{within}, complete{}{by}", counted(count, one), by_class(&uses.verified, one));
    }
    let within = if within.is_empty() { " in this project" } else { within };
    let may = if one == "caller" { "call" } else { "use" };
    let exported = exported(answered).map(|file| format!(". Exported in {file}: other projects may {may} it"));
    format!("No {one}s{within}, complete{}{by}", exported.unwrap_or_default())
}

/// Formats a verified answer that may be incomplete.
fn incomplete(answered: &JudgedAnswer, uses: &Uses, one: &str, within: &str) -> String {
    let head = &uses.head;
    let count: usize = uses.verified.values().sum();
    let found = counted(count, one);
    if head.earlier > 0 {
        let found = if head.earlier == count {
            format!("{found}{within}, verified earlier and unchanged since")
        } else {
            format!("{found}{within}, {} of them verified earlier and unchanged since", grouped(head.earlier))
        };
        return match head.undecided {
            0 => format!("{found}; not checked again: {}", head.reasons_with_advice()),
            _ if is_checked(head) => format!("{found}. {}", unverified(answered, uses, " more")),
            _ => format!("{found}. {}", unchecked(uses, " more", "")),
        };
    }
    if head.undecided > 0 {
        let classes = by_class(&uses.verified, one);
        return format!("{found}{within}{classes}. {}", unverified(answered, uses, " more"));
    }
    let named = head.checked_by().map_or_else(String::new, |names| format!(" found by {names}; not proven complete"));
    format!("{found}{within}{named} · {}", head.reasons_with_advice())
}

/// True if a server answered about the unverified places.
fn is_checked(head: &Head) -> bool {
    head.open.keys().any(|code| code.is_judged() || *code == Code::OverALimit) || head.confirmed > 0
}

/// Formats an unverified answer: `10 calls by name, unchecked: rust-analyzer is not installed (rustup component add rust-analyzer)`.
fn unchecked(uses: &Uses, more: &str, within: &str) -> String {
    let head = &uses.head;
    let count = of_classes(&uses.open, more);
    if head.ask_again {
        format!("{count} by name{within}, not checked yet: {}, or use these", head.reasons_with_advice())
    } else {
        format!("{count} by name{within}, unchecked: {}", head.reasons_with_advice())
    }
}

/// Formats the unverified places: `381 more calls on receivers without a type are unverified: ctx.invoke ×5, runner.invoke ×376 (tests)`.
fn unverified(answered: &JudgedAnswer, uses: &Uses, more: &str) -> String {
    let head = &uses.head;
    let name = &answered.found.question.name;
    let server = head.checked_by().unwrap_or_else(|| "the language server".to_owned());
    let words = |code: Code| match code {
        Code::Dynamic if uses.have_receivers => "on receivers without a type".to_owned(),
        code => code.describe().replace("the language server", &server),
    };
    let codes: Vec<(&Code, &usize)> = head.open.iter().collect();
    let are = if head.undecided == 1 { "is" } else { "are" };
    let count = of_classes(&uses.open, more);
    let groups = of_groups(&uses.groups);
    let said = match codes[..] {
        [(Code::OverALimit, count)] => {
            let they = if *count == 1 { "it was" } else { "they were" };
            let places = counted(*count, if more.is_empty() { "place" } else { "other place" });
            let mention = if *count == 1 { "mentions" } else { "mention" };
            format!("{places} {mention} {name} ({groups}); {they} not checked one by one")
        }
        [(code, _)] => format!("{count} {} {are} unverified: {groups}", words(*code)),
        [] => format!("{count} {are} unverified: {groups}"),
        _ => {
            let each: Vec<String> =
                codes.iter().map(|(code, count)| format!("{} {}", grouped(**count), words(**code))).collect();
            format!("{count} {are} unverified ({}): {groups}", each.join(", "))
        }
    };
    match reasons(head) {
        Some(reasons) => format!("{said} · {reasons}"),
        None => said,
    }
}

/// Names the file that exports an apparently unused name, which other projects may use.
fn exported(answered: &JudgedAnswer) -> Option<String> {
    let found = &answered.found;
    let passes_on = |site: &&crate::answer::Site| {
        let is_init = site.path.file_name().is_some_and(|name| name == "__init__.py");
        let is_export = site.class == Class::Export || site.class == Class::Import && is_init;
        is_export && site.verdict != Verdict::Refuted
    };
    let by_site = found.sites.iter().find(passes_on).map(|site| &site.path);
    let is_exported = |one: &&Definition| {
        let text = found.text_before(&one.path, one.at);
        let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        family(one.language) == SCRIPTS && line.starts_with(b"export ")
    };
    let by_definition = || found.definitions.iter().find(is_exported).map(|one| &one.path);
    by_site.or_else(by_definition).map(|path| crate::tools::display_path(path))
}

/// Returns the reasons of the answer as a whole.
fn reasons(head: &Head) -> Option<String> {
    let texts: Vec<&str> = head.reasons.iter().map(|reason| reason.text.as_str()).collect();
    let again = if head.ask_again { ". Ask again" } else { "" };
    (!texts.is_empty()).then(|| format!("{}{again}", texts.join("; ")))
}

/// Formats the classes: `: 7 calls, 1 passed as a value`; empty if all callers are calls.
fn by_class(counts: &BTreeMap<Class, usize>, one: &str) -> String {
    if counts.is_empty() || one == "caller" && counts.keys().all(|class| *class == Class::Call) {
        return String::new();
    }
    let one = |(class, count): (&Class, &usize)| match class {
        Class::Value => format!("{} passed as a value", grouped(*count)),
        Class::Type => format!("{} as a type", grouped(*count)),
        Class::Signature => counted(*count, "declaration"),
        Class::Construct => counted(*count, "construction"),
        Class::FieldRead => counted(*count, "read"),
        Class::FieldWrite => counted(*count, "write"),
        class => counted(*count, class.word()),
    };
    format!(": {}", counts.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Formats `381 more calls`, or "places" for several classes.
fn of_classes(counts: &BTreeMap<Class, usize>, more: &str) -> String {
    let count: usize = counts.values().sum();
    let what = match counts.keys().collect::<Vec<_>>()[..] {
        [Class::Call] => "call",
        [Class::Construct] => "construction",
        _ => "place",
    };
    counted(count, format!("{more} {what}").trim_start())
}

/// Formats groups: `ctx.invoke ×5, runner.invoke ×376 (tests), …`.
fn of_groups(groups: &[Group]) -> String {
    let mut named: Vec<String> = groups.iter().take(MOST_GROUPS).map(Group::describe).collect();
    if groups.len() > MOST_GROUPS {
        named.push("…".to_owned());
    }
    named.join(", ")
}
