//! The other names that imports and re-exports give.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use super::{Alias, Found, MAX_ALIASES, MAX_RENAMES, Reader, Shown, Site, broken, has, module_name, unparsed};
use crate::search::{Hit, Scope, Searched, Skipped, Why, search, search_by};
use crate::syntax::{Class, DEFAULT, DefaultImport, Language, SCRIPTS, default_imports, family, occurrences};

/// Searches for the names that imports and re-exports give.
pub(super) fn follow(scope: &Scope, found: &mut Found, mut aliases: VecDeque<Alias>, shown: Shown) {
    let mut seen: BTreeSet<(String, Arc<Path>)> = BTreeSet::new();
    let mut cache: BTreeMap<String, Searched> = BTreeMap::new();
    let families: BTreeSet<&str> = found.definitions.iter().map(|one| family(one.language)).collect();
    while let Some(alias) = aliases.pop_front() {
        let is_other = |language| !families.is_empty() && !families.contains(family(language));
        if Language::by_name(&alias.path).is_some_and(is_other) {
            continue;
        }
        if !seen.insert((alias.name.clone(), alias.path.clone())) || seen.len() > MAX_ALIASES {
            continue;
        }
        if alias.name != DEFAULT {
            found.names.insert(alias.name.clone());
        }
        let is_script = Language::by_name(&alias.path).is_some_and(|language| family(language) == SCRIPTS);
        // `lib.js` and `main.js` are modules like others.
        let module = module_name(&alias.path).or_else(|| is_script.then(|| stem(&alias.path).to_owned()));
        // What stands for a folder may be named by its own name all the same.
        let is_index = alias.path.file_stem().is_some_and(|stem| stem == "index");
        if alias.name == DEFAULT {
            aliases.extend(module.map(|module| imported_as(scope, found, &alias, &module)).unwrap_or_default());
            continue;
        }
        let searched = cache.entry(alias.name.clone()).or_insert_with(|| search(scope, &alias.name));
        let mut reader = Reader::new(&found.question, shown);
        // No other language uses the names that an import gives.
        let of = Language::by_name(&alias.path).map(family);
        for hit in searched.hits.iter().filter(|hit| of.is_none_or(|of| of == family(hit.language))) {
            let is_its_own = *hit.path == *alias.path;
            let names_module =
                || module.as_deref().is_none_or(|module| has(&hit.text, module)) || is_index && has(&hit.text, "index");
            if is_its_own || alias.is_open && names_module() {
                match occurrences(hit.language, &hit.text, &alias.name, &hit.starts, scope.until) {
                    Some(parsed) => {
                        reader.read(hit, &parsed.all, &alias.name, Some(&alias));
                        found.skipped.extend(broken(hit, &parsed));
                    }
                    None => found.skipped.push(unparsed(scope, hit)),
                }
            }
        }
        let Reader { sites, aliases: mut given, .. } = reader;
        aliases.append(&mut given);
        if let Some(module) = module.as_deref().filter(|_| is_script && alias.is_open && alias.depth < MAX_RENAMES) {
            aliases.extend(passed_on(scope, found, &alias, module));
        }
        // What another file has by that name, it has by an import that others may use.
        let may_use = |one: &&Skipped| alias.is_open || *one.path == *alias.path;
        found.leave_out(searched.skipped.iter().filter(may_use), &families);
        let is_known = |site: &Site| {
            found
                .sites
                .iter()
                .any(|other| other.path == site.path && other.line == site.line && other.column == site.column)
        };
        // The import that gives the name is there already, under the name itself.
        let gives = |site: &Site| {
            *site.path == *alias.path
                && site.line == alias.line
                && matches!(site.class, Class::Import | Class::Export | Class::Binding)
        };
        let new: Vec<Site> = sites.into_iter().filter(|site| !gives(site) && !is_known(site)).collect();
        for hit in searched.hits.iter().filter(|hit| new.iter().any(|site| *site.path == *hit.path)) {
            found.texts.entry(hit.path.as_path().into()).or_insert_with(|| hit.text.as_slice().into());
        }
        found.sites.extend(new);
    }
}

/// The same name of the modules that pass on all that one has: `module.exports = require("./geo")`,
/// `module.exports = { ...require("./geo") }`.
fn passed_on(scope: &Scope, found: &mut Found, alias: &Alias, module: &str) -> Vec<Alias> {
    let searched = search(scope, module);
    found.leave_out(searched.skipped.iter(), &BTreeSet::from([SCRIPTS]));
    let mut passing = Vec::new();
    for hit in searched.hits.iter().filter(|hit| has(&hit.text, "require") && *hit.path != *alias.path) {
        match default_imports(hit.language, &hit.text, &hit.path, &alias.path, scope.until) {
            Some(all) if all.iter().any(|one| one.name.is_empty() || one.name == DEFAULT && one.is_export) => {
                passing.push(Alias {
                    path: hit.path.as_path().into(),
                    line: 0,
                    depth: alias.depth + 1,
                    ..alias.clone()
                });
            }
            Some(_) => {}
            None => found.skipped.push(unparsed(scope, hit)),
        }
    }
    passing
}

/// The files that a folder may stand for: `require("..")`.
const MAY_BE_A_FOLDER: &[&str] = &["index", "lib", "main"];

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Where a text requires a folder above, which gives a module no name.
fn required_folders(text: &[u8]) -> Vec<usize> {
    let is_folder = |at: &usize| {
        let source = text[at + REQUIRE.len()..].trim_ascii_start();
        let folder = source.get(1..).and_then(|source| source.split(|byte| b"'\"`".contains(byte)).next());
        folder.is_some_and(|folder| !folder.is_empty() && folder.iter().all(|byte| b"./".contains(byte)))
    };
    memchr::memmem::find_iter(text, REQUIRE).filter(is_folder).collect()
}

const REQUIRE: &[u8] = b"require(";

/// The names that files give to a default export.
fn imported_as(scope: &Scope, found: &mut Found, alias: &Alias, module: &str) -> Vec<Alias> {
    let mut given = Vec::new();
    let mut searched = search(scope, module);
    if MAY_BE_A_FOLDER.contains(&stem(&alias.path)) {
        let more = search_by(scope, |language, text| match family(language) == SCRIPTS {
            true => required_folders(text),
            false => Vec::new(),
        });
        let is_new = |hit: &Hit| !searched.hits.iter().any(|known| known.path == hit.path);
        let new: Vec<Hit> = more.hits.into_iter().filter(is_new).collect();
        searched.hits.extend(new);
        searched.skipped.extend(more.skipped);
    }
    found.leave_out(searched.skipped.iter(), &BTreeSet::from([family(Language::JavaScript)]));
    for hit in searched.hits {
        let Some(all) = default_imports(hit.language, &hit.text, &hit.path, &alias.path, scope.until) else {
            found.skipped.push(unparsed(scope, &hit));
            continue;
        };
        let path: Arc<Path> = hit.path.as_path().into();
        let nameless = all.iter().filter(|one| one.name.is_empty()).count();
        if nameless > 0 {
            found.skipped.push(Skipped::new(hit.path.clone(), Why::Nameless, nameless));
        }
        let passes_on = |one: &DefaultImport| one.name != DEFAULT || one.is_export && path != alias.path;
        let is_other = |one: &DefaultImport| !one.name.is_empty() && one.name != found.question.name && passes_on(one);
        given.extend(all.into_iter().filter(is_other).filter(|_| alias.depth < MAX_RENAMES).map(|one| Alias {
            name: one.name,
            path: path.clone(),
            // The import does not have the name itself, so it is a site of its own.
            line: 0,
            is_open: one.is_export,
            depth: alias.depth + 1,
        }));
    }
    given
}
