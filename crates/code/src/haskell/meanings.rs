//! Resolves individual names in Haskell.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::index::Index;
use crate::answer::Texts;
use crate::judgement::Code;

/// A file relative to the root, and an offset in it.
type FileOffset = (Arc<Path>, usize);

/// Returns where the names at these places are declared or bound; `Err` with the reason if unknown.
pub(crate) fn declarations(
    index: &Index,
    texts: &Texts,
    names: impl Iterator<Item = FileOffset>,
) -> Vec<Result<FileOffset, Code>> {
    let mut current: BTreeMap<Arc<Path>, bool> = BTreeMap::new();
    let declaration = |(path, at): FileOffset| {
        let file = index.file(&path).ok_or(Code::Unparsable)?;
        let is_current = || texts.get(&path).is_some_and(|text| file.has_text(text));
        if !*current.entry(path.clone()).or_insert_with(is_current) {
            return Err(Code::Unparsable);
        }
        let all = file.at(at);
        let of_modules = || all.iter().find(|one| !index.is_local(one.id));
        let one = of_modules().or(all.first()).ok_or(Code::Inactive)?;
        index.declaration(one.id).ok_or(Code::OutsideTheRoot)
    };
    names.map(declaration).collect()
}
