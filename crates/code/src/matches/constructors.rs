//! The constructors of a type, and how a match names each: by name, or by the literal texts that discriminate the members of a union.

use std::collections::BTreeSet;

use syntax::text_enum::is_among;
use syntax::{Kind, Language};

use crate::resolved_type::{ResolvedType, types};
use crate::search::{Scope, read};
use crate::shape::Field;
use crate::verdict::Name;

use super::Sum;

const MOST_CONSTRUCTORS: usize = 256;

/// Returns the constructors of a type, and how a match names each.
pub(crate) fn sum(scope: &Scope, one: &ResolvedType) -> Sum {
    let language = one.definition.language;
    let script = matches!(language, Language::TypeScript | Language::Tsx);
    let mut constructors = Vec::new();
    let file = &one.definition.path;
    let mut declared = vec![(file.clone(), one.definition.bytes.clone())];
    let (mut members, mut opaque, mut named) = (Vec::new(), None, BTreeSet::new());
    let text = read(&scope.root.join(file)).unwrap_or_default();
    let is_union = script && one.definition.kind != Kind::Enum
        || language == Language::Python && one.definition.kind != Kind::Class;
    for made in one.shape.constructors.iter().take(MOST_CONSTRUCTORS) {
        // A member of a union is discriminated by the literal types of its fields.
        let is_member = script && !made.name.starts_with(['"', '\'']);
        let marks = if is_member { tags(scope, &made.name, &mut named) } else { Vec::new() };
        if script && is_union && opaque.is_none() && is_opaque(scope, &made.name, !marks.is_empty()) {
            opaque = Some(made.name.clone());
        }
        // `geo.Circle` in a Python union is also matched as `Circle`.
        let bare = made.name.trim_matches(['"', '\'']);
        let bare = if language == Language::Python { bare.rsplit('.').next().unwrap_or(bare) } else { bare };
        let bare = bare.to_owned();
        // `geo.Circle` refers to its last name.
        let at = text.get(made.at..).and_then(|rest| memchr::memmem::find(rest, bare.as_bytes()));
        match at.filter(|_| is_union && is_name(&bare)) {
            Some(at) => members.push(Name { path: file.clone(), at: made.at + at, word: bare.clone() }),
            // Go declares constructors outside the type.
            None => declared.push((file.clone(), made.at..made.at + 1)),
        }
        let marks = if marks.is_empty() { vec![bare] } else { marks };
        constructors.push((made.name.clone(), marks));
    }
    let name = one.definition.label.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
    Sum {
        name,
        language,
        file: file.clone(),
        constructors,
        declared,
        members,
        is_union: script && is_union,
        tags: named,
        opaque,
        text: text.into(),
    }
}

/// Returns the texts and names that discriminate a member of a union: `kind: 'circle'`, `kind: Kind.Circle`, `kind:
/// typeof Kind.circle`. Names are added to the known ones, with their qualifiers.
fn tags(scope: &Scope, member: &str, named: &mut BTreeSet<(String, String)>) -> Vec<String> {
    let quoted = |of: &str| -> Option<String> {
        let quote = of.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        of[1..].split_once(quote).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| text.to_owned())
    };
    let fields = field_types(member).unwrap_or_else(|| {
        let fields = member_types(scope, member).into_iter().flatten().flat_map(|one| one.shape.fields);
        fields.flat_map(|field| [Some(field.of.clone()), constant(&field)]).flatten().collect()
    });
    let mut by_name = |of: &str| {
        let (holder, name) = held_by(of.strip_prefix("typeof ").unwrap_or(of))?;
        let is_held = of.starts_with("typeof ") || is_enum(scope, holder);
        is_held.then(|| {
            named.insert((holder.to_owned(), name.to_owned()));
            name.to_owned()
        })
    };
    fields.iter().filter_map(|of| quoted(of).or_else(|| by_name(of))).collect()
}

/// Splits off the last two names: `Kind` and `Circle` of `geo.Kind.Circle`.
fn held_by(of: &str) -> Option<(&str, &str)> {
    let (qualifier, name) = of.rsplit_once('.')?;
    let holder = qualifier.rsplit('.').next().unwrap_or(qualifier);
    (qualifier.split('.').all(is_name) && is_name(name)).then_some((holder, name))
}

fn is_enum(scope: &Scope, name: &str) -> bool {
    member_types(scope, name).is_some_and(|types| types.iter().any(|one| one.definition.kind == Kind::Enum))
}

/// Returns the field types of an inline member: `{ kind: 'circle'; radius: number }`.
fn field_types(member: &str) -> Option<Vec<String>> {
    let fields = member.strip_prefix('{')?.trim_end_matches('}').split([';', ',']);
    Some(fields.filter_map(|field| Some(field.split_once(':')?.1.trim().to_owned())).collect())
}

/// Returns the literal value of a field without a written type: `readonly kind = 'circle' as const`.
fn constant(field: &Field) -> Option<String> {
    Some(field.default.as_deref()?.trim_end_matches("as const").trim().to_owned())
}

/// Returns the project types in a member of a union: for `Ok<T>` those of `Ok`.
fn member_types(scope: &Scope, member: &str) -> Option<Vec<ResolvedType>> {
    let name = member.split('<').next().unwrap_or(member).trim();
    let found = if is_name(name) { types(scope, name).ok() } else { None };
    found.map(|(_, types)| types)
}

/// Types that no literal discriminates.
pub(super) const WITHOUT_TAGS: &str = "Array Buffer Date Error Function Map Promise ReadonlyArray RegExp Set URL any bigint \
                                       boolean false never null number object string symbol true undefined unknown void";

/// True if the values of a TypeScript union member may be discriminated by something other than known texts and enum
/// members: `ReturnType<typeof add>`, `Kind.Circle`, `{ code: typeof Code.a }`. Such matches are not detected.
fn is_opaque(scope: &Scope, member: &str, has_tags: bool) -> bool {
    if let Some(fields) = field_types(member) {
        return fields.iter().any(|of| is_one_value(scope, of, has_tags));
    }
    let name = member.split(['<', '[']).next().unwrap_or(member).trim();
    if member.starts_with(['"', '\'']) || member.starts_with('(') && member.contains("=>") {
        return false;
    }
    if is_among(WITHOUT_TAGS, name) {
        return matches!(name, "true" | "false");
    }
    let Some(types) = member_types(scope, member) else { return true };
    types.iter().any(|one| {
        // Inherited fields are not read.
        let inherits = !has_tags && one.raw.split('{').next().is_some_and(|head| head.contains(" extends "));
        let is_told = |field: &Field| {
            if field.of.is_empty() {
                constant(field).is_some_and(|value| value.contains('.') && is_one_value(scope, &value, has_tags))
            } else {
                is_one_value(scope, &field.of, has_tags)
            }
        };
        inherits || one.shape.fields.iter().any(is_told)
    })
}

/// True if a field type may have a single value that is neither a known text nor an enum member: a number, the type of
/// a constant. If a text already discriminates the member, names and booleans are not examined.
fn is_one_value(scope: &Scope, of: &str, has_tags: bool) -> bool {
    if of.starts_with("typeof ") || of.starts_with(['`', '-']) || of.starts_with(|c: char| c.is_ascii_digit()) {
        return true;
    }
    if let Some((holder, _)) = held_by(of) {
        return !has_tags && !is_enum(scope, holder);
    }
    if has_tags || !is_name(of) {
        return false;
    }
    if is_among(WITHOUT_TAGS, of) {
        return matches!(of, "true" | "false");
    }
    // `type CircleKind = 'circle'`.
    let is_other_name = |one: &ResolvedType| one.definition.kind == Kind::Type && one.shape.fields.is_empty();
    member_types(scope, of).is_none_or(|types| types.iter().any(is_other_name))
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}
