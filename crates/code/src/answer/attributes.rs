//! Attributes of Rust that name a module and stand for functions in it.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Alias, Found, MAX_RENAMES, Reader, Shown, module_name, unparsed};
use crate::definition::Definition;
use crate::search::{Scope, search};
use crate::syntax::{Class, Kind, Language, family, occurrences};

/// How far before a name the text begins that it stands in, at most: nobody writes a longer path.
const LONGEST_PATH: usize = 1_000;

/// Adds where an attribute names the module of a `serialize` or `deserialize`: serde's `with` stands for both.
pub(super) fn add_modules(scope: &Scope, found: &mut Found, shown: Shown) {
    if !matches!(found.question.name.as_str(), "serialize" | "deserialize") {
        return;
    }
    let free = found.definitions.iter().filter(|one| one.language == Language::Rust && one.kind == Kind::Function);
    let module = |one: &Definition| match one.inside.last() {
        Some(names) => names.first().cloned(),
        None => module_name(&one.path),
    };
    let modules: BTreeSet<String> = free.filter_map(module).collect();
    for name in modules {
        let alias =
            Alias { name: name.clone(), path: Path::new("").into(), line: 0, is_open: false, depth: MAX_RENAMES };
        let searched = search(scope, &name);
        found.leave_out(searched.skipped.iter(), &BTreeSet::from([family(Language::Rust)]));
        for hit in searched.hits.iter().filter(|hit| hit.language == Language::Rust) {
            // `with = "crate::hexed"`.
            let is_with = |at: usize| {
                let text = hit.text.get(at.saturating_sub(LONGEST_PATH)..at).unwrap_or_default();
                let literal = text.iter().rposition(|byte| *byte == b'"').map(|quote| text[..quote].trim_ascii_end());
                let key = literal.and_then(|before| before.strip_suffix(b"=")).map(<[u8]>::trim_ascii_end);
                key.is_some_and(|key| key.ends_with(b"with")) && hit.text.get(at + name.len()) == Some(&b'"')
            };
            let starts: Vec<usize> = hit.starts.iter().copied().filter(|at| is_with(*at)).collect();
            if starts.is_empty() {
                continue;
            }
            let Some(parsed) = occurrences(hit.language, &hit.text, &name, &starts, scope.until) else {
                found.skipped.push(unparsed(scope, hit));
                continue;
            };
            let mut reader = Reader::new(&found.question, shown);
            reader.read(hit, &parsed.all, &name, Some(&alias));
            let sites = reader.sites.into_iter().filter(|site| site.class == Class::Value);
            found.sites.extend(sites);
            found.texts.entry(hit.path.as_path().into()).or_insert_with(|| hit.text.as_slice().into());
        }
    }
}
