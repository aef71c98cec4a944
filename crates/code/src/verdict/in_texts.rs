//! Names in texts of Python, by which tests put something else in the place of what they name: `patch("geo.area")`,
//! `monkeypatch.setattr(geo, "area", …)`. No judge reads them; the module or the class that stands before the name tells.

use std::path::Path;
use std::time::Instant;

use super::classes::{declared_at, spot as place};
use super::decide::Said;
use super::requests::spots_of;
use super::texts::{Sheets, Spot};
use crate::answer::{Found, Site};
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::server::Session;
use crate::syntax::{Class, Language, is_word, last_word};

/// Says what names in texts mean of which nothing is said.
pub(super) async fn by_text(
    found: &Found,
    sites: &[usize],
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
    said: &mut [Said],
) {
    for &at in sites {
        let site = &found.sites[at];
        let is_said = matches!(site.class, Class::Value | Class::FieldRead | Class::FieldWrite);
        let is_open = site.language == Language::Python && is_said && said[at] == Said::Nothing;
        let text = found.texts.get(&site.path).and_then(|text| text.get(..site.at)).filter(|_| is_open);
        let Some(before) = text else { continue };
        let means = match (path_before(before), object_before(before)) {
            (Some(path), _) => of_path(found, &path),
            (None, Some(object)) => {
                let path = sheets.path(&site.path);
                match spots_of(&path, object, session, sheets, until).await.as_deref() {
                    Some([spot]) => of_object(found, spot, sheets),
                    _ => None,
                }
            }
            (None, None) => None,
        };
        said[at] = means.unwrap_or(Said::Nothing);
    }
}

/// The path before a name in a text: `geo.shapes` of `"geo.shapes.area"`.
fn path_before(before: &[u8]) -> Option<String> {
    let path = before.strip_suffix(b".")?;
    let start = path.iter().rposition(|byte| !is_word(*byte) && *byte != b'.')?;
    let is_whole = b"'\"".contains(&path[start]) && path.len() > start + 1;
    is_whole.then(|| String::from_utf8_lossy(&path[start + 1..]).into_owned())
}

/// Where the last name of the object stands that a text is given with: `geo` of `setattr(geo, "area"`.
fn object_before(before: &[u8]) -> Option<usize> {
    let object = before.strip_suffix(b"\"").or(before.strip_suffix(b"'"))?.trim_ascii_end().strip_suffix(b",")?;
    let object = object.trim_ascii_end();
    let name = last_word(object);
    (!name.is_empty()).then(|| object.len() - name.len())
}

/// What has the name in what a path leads to: one of ours, or an import of the module that it names.
fn of_path(found: &Found, path: &str) -> Option<Said> {
    let leads_to = |whole: &str| whole == path || whole.ends_with(&format!(".{path}"));
    let module_is = |site: &Site| {
        let is_bound = matches!(site.class, Class::Binding | Class::Import) && site.enclosing.is_empty();
        site.language == Language::Python && is_bound && leads_to(&module(&site.path))
    };
    let ours = found.definitions.iter().position(|one| leads_to(&inside(one)));
    let mut bound = (0..found.sites.len()).filter(|at| module_is(&found.sites[*at]));
    match (ours, bound.next(), bound.next()) {
        (Some(number), None, _) => Some(Said::Ours(number)),
        (None, Some(at), None) if found.sites[at].class == Class::Import => Some(Said::Through(at)),
        (None, None, None) => {
            let is_there = |site: &Site| {
                let of = format!("{}.{}", module(&site.path), site.enclosing);
                site.language == Language::Python && site.class == Class::Binding && leads_to(&of)
            };
            found.sites.iter().any(is_there).then_some(Said::Other { is_interface: false })
        }
        _ => None,
    }
}

/// What has the name in a module or a class.
fn of_object(found: &Found, object: &Spot, sheets: &Sheets) -> Option<Said> {
    let below = sheets.below(&object.path)?;
    let is_module = object.start == 0 && object.end <= 1;
    let is_ours = |one: &Definition| match &one.marks.class {
        Some(class) => place(&object.path, class, 0) == *object && *one.path == *below,
        None => is_module && *one.path == *below && one.inside.is_empty(),
    };
    if let Some(number) = found.definitions.iter().position(is_ours) {
        return Some(Said::Ours(number));
    }
    // A class that has its own.
    let declares = |site: &Site| {
        let of = site.enclosing.rsplit('.').next().unwrap_or_default();
        *site.path == *below && site.class == Class::Binding && !of.is_empty() && of == sheets.word(object)
    };
    if blocking(|| declared_at(sheets, object)).is_some() && found.sites.iter().any(declares) {
        return Some(Said::Other { is_interface: false });
    }
    let imports = |site: &Site| *site.path == *below && site.class == Class::Import && site.enclosing.is_empty();
    found.sites.iter().position(imports).filter(|_| is_module).map(Said::Through)
}

/// A module as Python names it, from the root of the project: `shop.orders` of `shop/orders.py`.
fn module(path: &Path) -> String {
    let parts = path.with_extension("");
    let parts = parts.iter().map(|part| part.to_string_lossy()).filter(|part| part != "__init__");
    parts.collect::<Vec<_>>().join(".")
}

/// What a definition stands in, as Python names it.
fn inside(one: &Definition) -> String {
    let classes = one.inside.iter().filter_map(|names| names.first().cloned());
    [module(&one.path)].into_iter().chain(classes).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_name_in_a_text() {
        let path = |before: &str| path_before(before.as_bytes());
        assert_eq!(path("patch(\"geo.shapes."), Some("geo.shapes".to_owned()));
        assert_eq!(path("patch('geo."), Some("geo".to_owned()));
        assert_eq!(path("patch(\"see geo."), None);
        assert_eq!(path("geo."), None);
        let object = |before: &str| object_before(before.as_bytes());
        assert_eq!(object("setattr(geo, \""), Some(8));
        assert_eq!(object("setattr(a.geo , '"), Some(10));
        assert_eq!(object("f(\""), None);
        assert_eq!(module(Path::new("shop/__init__.py")), "shop");
    }
}
