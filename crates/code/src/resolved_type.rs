//! Types with their fields and constructors, for show_fields, show_constructors and find_matches.

use syntax::{described, family};

use crate::answer::{Candidates, define};
use crate::definition::Definition;
use crate::search::{NoAnswer, Scope, read};
use crate::shape::{Shape, shape};

/// A type with its source text.
pub(crate) struct ResolvedType {
    pub definition: Definition,
    pub shape: Shape,
    pub raw: String,
    /// The aliases that led to it, in order.
    pub aliases: Vec<Definition>,
}

/// The maximum length of a type's source, in bytes.
const MAX_RAW: usize = 20_000;

/// Finds the types of a name with their fields and constructors.
pub(crate) fn types(scope: &Scope, name: &str) -> Result<(Candidates, Vec<ResolvedType>), NoAnswer> {
    let found = define(scope, name)?;
    let is_type = |one: &&Definition| one.kind.is_type();
    let mut types = Vec::new();
    for definition in found.definitions.iter().filter(is_type) {
        let Ok(text) = read(&scope.root.join(&definition.path)) else { continue };
        let Some(declaration) = described(definition.language, &text, definition.at, scope.until) else { continue };
        let raw = String::from_utf8_lossy(text.get(definition.bytes.clone()).unwrap_or_default()).replace("\r\n", "\n");
        types.push(ResolvedType {
            aliases: Vec::new(),
            definition: definition.clone(),
            shape: shape(definition.language, &text, &declaration, scope.until),
            raw: project::visible::escaped(&syntax::shortened(&raw, MAX_RAW)),
        });
    }
    if types.is_empty() {
        let known: Vec<String> = found.definitions.iter().map(Definition::describe).collect();
        let is =
            if known.is_empty() { found.undefined() } else { format!("not a type: {}; name a type", known.join("; ")) };
        return Err(NoAnswer(format!("`{}` is {is}", found.question.name)));
    }
    Ok((found, types))
}

/// The maximum length of an alias chain.
const MOST_ALIASES: usize = 3;

/// Replaces each alias by the type that it names.
pub(crate) fn followed(scope: &Scope, found: &mut Candidates, all: Vec<ResolvedType>) -> Vec<ResolvedType> {
    let mut followed: Vec<ResolvedType> = Vec::new();
    for one in all {
        for end in ends(scope, found, one) {
            let is_same = |other: &ResolvedType| {
                (&other.definition.path, other.definition.at) == (&end.definition.path, end.definition.at)
            };
            if !followed.iter().any(is_same) {
                followed.push(end);
            }
        }
    }
    followed
}

fn ends(scope: &Scope, found: &mut Candidates, one: ResolvedType) -> Vec<ResolvedType> {
    let is_empty = one.shape.fields.is_empty() && one.shape.constructors.is_empty();
    let Some(name) = one.shape.alias.as_deref().filter(|_| is_empty && one.aliases.len() < MOST_ALIASES) else {
        return vec![one];
    };
    // The aliased type may be in any file, even if the question names one.
    let whole = Scope { below: scope.root.clone(), ..scope.clone() };
    let Ok((further, mut all)) = types(&whole, name) else { return vec![one] };
    let is_other = |other: &ResolvedType| {
        family(other.definition.language) == family(one.definition.language)
            && (&other.definition.path, other.definition.at) != (&one.definition.path, one.definition.at)
    };
    all.retain(is_other);
    if all.is_empty() {
        return vec![one];
    }
    // Files skipped here may hold further types.
    found.skipped.extend(further.skipped);
    found.skipped.sort();
    found.skipped.dedup();
    let aliases: Vec<Definition> = one.aliases.into_iter().chain([one.definition]).collect();
    let next = all.into_iter().map(|next| ResolvedType { aliases: aliases.clone(), ..next });
    next.collect::<Vec<_>>().into_iter().flat_map(|next| ends(scope, found, next)).collect()
}
