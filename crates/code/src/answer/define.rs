//! The definitions of a name.

use std::path::Path;

use syntax::{C_AND_CPP, Language, family};

use super::{Candidates, LineOptions, Reader, choose, mentions, read_all};
use crate::definition::{Definition, chosen};
use crate::question::Question;
use crate::search::{NoAnswer, Scope, SearchResult};

/// Finds the definitions of a name.
pub(crate) fn define(scope: &Scope, asked: &str) -> Result<Candidates, NoAnswer> {
    let question = crate::name_at_position::parse_question(scope, asked)?;
    // The definitions of a file need no other file, except in C++, where declarations elsewhere tell functions from methods.
    let is_cpp = |place: &Path| Language::by_name(place).is_some_and(|language| family(language) == C_AND_CPP);
    if let Some(place) = question.place.as_ref().filter(|place| !is_cpp(place)) {
        let file = Scope { below: scope.root.join(place), ..scope.clone() };
        if let Ok(found) = define_in(&file, scope, question.clone())
            && !found.definitions.is_empty()
        {
            return Ok(found);
        }
    }
    define_in(&scope.whole(), scope, question)
}

/// Finds the definitions in the scope that are meant, and searches another scope for them.
fn define_in(searched: &Scope, scope: &Scope, question: Question) -> Result<Candidates, NoAnswer> {
    let shown = LineOptions { context_lines: 0, most: 0 };
    let (reader, SearchResult { files, hits, skipped }) =
        read_all(searched, &question, shown, scope.below == scope.root)?;
    let Reader { mut definitions, sites, .. } = reader;
    if scope.below != scope.root {
        let below = scope.relative(&scope.below);
        let is_below = |definition: &Definition| definition.path.starts_with(below);
        if !definitions.iter().any(is_below) && !definitions.is_empty() {
            let others = chosen(&question, definitions, scope, mentions(&hits, &sites), false, &skipped)?;
            let places: Vec<String> = others.iter().map(Definition::describe).collect();
            return Err(NoAnswer(format!(
                "`{}` is not defined in {}, but there is {}: leave out `path`",
                question.name,
                project::visible::path(below),
                places.join("; ")
            )));
        }
        definitions.retain(is_below);
    }
    let (definitions, skipped) = choose(&question, definitions, scope, (&hits, &sites), false, skipped)?;
    Ok(Candidates { definitions, sites, files, skipped, question, ..Candidates::default() })
}
