//! What names mean where they stand, one by one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::answer::Texts;
use crate::blocking::blocking;
use crate::judgement::{Code, Judged};
use crate::verdict::{Call, Meaning, Meanings, Name, targets};

/// What each name means by the `.hie` files, with the reason in what is said of the answer where they are not there.
pub(crate) async fn meanings(call: &Call<'_>, names: &[Name], texts: &Texts, judged: &mut Judged) -> Meanings {
    let index = match super::index(call, judged).await {
        Ok(index) => index,
        Err(code) => {
            if let Some(reason) = judged.reasons.last_mut() {
                reason.sites = names.len();
            }
            return Meanings { of: vec![Meaning::Undecided(code); names.len()], texts: Texts::new() };
        }
    };
    blocking(|| {
        let mut current: BTreeMap<Arc<Path>, bool> = BTreeMap::new();
        let place = |name: &Name| -> Result<(Arc<Path>, usize), Code> {
            let file = index.file(&name.path).ok_or(Code::Unparsable)?;
            let is_current = || texts.get(&name.path).is_some_and(|text| file.has_text(text));
            if !*current.entry(name.path.clone()).or_insert_with(is_current) {
                return Err(Code::Unparsable);
            }
            let all = file.at(name.at);
            let of_modules = || all.iter().find(|one| !index.is_local(one.id));
            let one = of_modules().or(all.first()).ok_or(Code::Inactive)?;
            index.declaration(one.id).ok_or(Code::OutsideTheRoot)
        };
        let places: Vec<Result<(Arc<Path>, usize), Code>> = names.iter().map(place).collect();
        targets(&call.scope.root, names, texts, &places, call.until)
    })
}
