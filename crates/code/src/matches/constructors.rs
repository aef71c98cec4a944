//! The constructors of a type, and what a match writes for each: a name, or the texts that tell the values of a member of a union.

use crate::search::{Scope, read};
use crate::shape::Field;
use crate::syntax::{Kind, Language};
use crate::typed::{Typed, types};

use super::Sum;

/// How many of them are looked at.
const MOST_CONSTRUCTORS: usize = 256;

/// The constructors of a type, with what a match writes for each.
pub(crate) fn sum(scope: &Scope, one: &Typed) -> Sum {
    let language = one.definition.language;
    let script = matches!(language, Language::TypeScript | Language::Tsx);
    let mut constructors = Vec::new();
    let mut declared = vec![one.definition.bytes.clone()];
    let (mut members, mut made_at) = (Vec::new(), Vec::new());
    let mut opaque = None;
    let text = read(&scope.root.join(&one.definition.path)).unwrap_or_default();
    let is_union = script && one.definition.kind != Kind::Enum
        || language == Language::Python && one.definition.kind != Kind::Class;
    for made in one.shape.constructors.iter().take(MOST_CONSTRUCTORS) {
        if script && is_union && opaque.is_none() && is_opaque(scope, &made.name) {
            opaque = Some(made.name.clone());
        }
        let marks = match script && !made.name.starts_with(['"', '\'']) {
            // A member of a union is told by the texts that its fields have as type.
            true => tags(scope, &made.name),
            false => Vec::new(),
        };
        // `geo.Circle` in a union of Python is matched as `Circle`, too.
        let bare = made.name.trim_matches(['"', '\'']);
        let bare = if language == Language::Python { bare.rsplit('.').next().unwrap_or(bare) } else { bare };
        let bare = bare.to_owned();
        // `geo.Circle` stands for what its last name means.
        let at = text.get(made.at..).and_then(|rest| memchr::memmem::find(rest, bare.as_bytes()));
        match at.filter(|_| is_union && is_name(&bare)) {
            Some(at) => members.push((made.at + at, bare.clone())),
            // Go declares them beside the type.
            None => {
                declared.push(made.at..made.at + 1);
                made_at.push(made.at);
            }
        }
        let marks = if marks.is_empty() { vec![bare] } else { marks };
        constructors.push((made.name.clone(), marks));
    }
    let name = one.definition.label.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
    Sum {
        name,
        language,
        file: one.definition.path.clone(),
        constructors,
        declared,
        made_at,
        members,
        opaque,
        text: text.into(),
    }
}

/// The texts that mark the values of a member of a union: `kind: 'circle'`.
fn tags(scope: &Scope, member: &str) -> Vec<String> {
    let quoted = |of: &str| -> Option<String> {
        let quote = of.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        of[1..].split_once(quote).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| text.to_owned())
    };
    if member.starts_with('{') {
        let fields = member.trim_matches(['{', '}']).split([';', ',']);
        return fields.filter_map(|field| quoted(field.split_once(':')?.1.trim())).collect();
    }
    let fields = held(scope, member).into_iter().flatten().flat_map(|one| one.shape.fields);
    // `readonly kind = 'circle' as const`.
    let by_value = |field: &Field| quoted(field.default.as_deref()?.trim_end_matches("as const").trim());
    fields.filter_map(|field| quoted(&field.of).or_else(|| by_value(&field))).collect()
}

/// The types of a member of a union that the project declares: of `Ok<T>` those of `Ok`.
fn held(scope: &Scope, member: &str) -> Option<Vec<Typed>> {
    let name = member.split('<').next().unwrap_or(member).trim();
    let found = if is_name(name) { types(scope, name).ok() } else { None };
    found.map(|(_, types)| types)
}

/// Types that no text tells apart from others.
const WITHOUT_TAGS: &[&str] = &[
    "Array",
    "Buffer",
    "Date",
    "Error",
    "Function",
    "Map",
    "Promise",
    "ReadonlyArray",
    "RegExp",
    "Set",
    "URL",
    "any",
    "bigint",
    "boolean",
    "false",
    "never",
    "null",
    "number",
    "object",
    "string",
    "symbol",
    "true",
    "undefined",
    "unknown",
    "void",
];

/// Whether it is not known which texts tell the values of a member of a union of TypeScript: `ReturnType<typeof add>`.
fn is_opaque(scope: &Scope, member: &str) -> bool {
    let name = member.split(['<', '[']).next().unwrap_or(member).trim();
    let is_written =
        member.starts_with(['"', '\'', '`', '{', '(', '-']) || member.starts_with(|c: char| c.is_ascii_digit());
    !is_written && !WITHOUT_TAGS.contains(&name) && held(scope, member).is_none()
}

fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}
