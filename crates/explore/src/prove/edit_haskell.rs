//! The changes of Haskell definitions: in a declaration of a type, or in the signature and all equations of a function.

use code::Kind;
use code::facts::Symbol;
use tree_sitter::Node;

use super::edit::Insertion;
use crate::rubric::Change;

/// Makes a change to a definition. Returns `None` if its form is not supported.
pub(super) fn insertions(text: &str, name: Node<'_>, symbol: &Symbol, change: Change) -> Option<Vec<Insertion>> {
    let definition = name.parent()?;
    match change {
        Change::AddVariant => {
            let constructors = definition.child_by_field_name("constructors")?;
            let is_plain = definition.kind() == "data_type" && constructors.kind() == "data_constructors";
            is_plain.then(|| vec![(constructors.start_byte(), "HobAdded | ".to_owned())])
        }
        Change::ChangeSignature => {
            let names = all_names(text, name)?;
            let is_equation =
                |name: &Node<'_>| name.parent().is_some_and(|one| matches!(one.kind(), "function" | "bind"));
            // A method of a class may have only a signature; another function has infix equations.
            let has_equations = names.iter().any(is_equation);
            let parameter = |name: Node<'_>| {
                if is_equation(&name) {
                    return Some((name.end_byte(), " _".to_owned()));
                }
                let mut result = name.parent()?.child_by_field_name("type")?;
                while matches!(result.kind(), "forall" | "context") {
                    result = result.child_by_field_name("type")?;
                }
                // No argument of a call has this type by chance.
                Some((result.start_byte(), "() -> ".to_owned()))
            };
            let insertions: Option<Vec<Insertion>> = names.into_iter().map(parameter).collect();
            insertions.filter(|_| has_equations || symbol.kind == Kind::Method)
        }
        Change::Remove | Change::Rename => {
            let prefix = if symbol.name.starts_with(char::is_uppercase) { "HobRenamed_" } else { "hob_renamed_" };
            let names = all_names(text, name)?.into_iter();
            Some(names.map(|name| (name.start_byte(), prefix.to_owned())).collect())
        }
        Change::ChangeType => None,
    }
}

/// Returns a name where it is defined: in the signature and in all equations.
fn all_names<'t>(text: &str, name: Node<'t>) -> Option<Vec<Node<'t>>> {
    let scope = name.parent()?.parent()?;
    let mut cursor = scope.walk();
    let names = scope.children(&mut cursor).filter_map(|one| one.child_by_field_name("name"));
    let mut names: Vec<Node<'_>> = names.filter(|one| text[one.byte_range()] == text[name.byte_range()]).collect();
    if !names.contains(&name) {
        names.push(name);
    }
    Some(names)
}
