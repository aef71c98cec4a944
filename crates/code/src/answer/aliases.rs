//! Aliases of a name from imports and re-exports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use syntax::{Class, DEFAULT, Language, SCRIPTS, family, is_word, last_word, names_module, occurrences};

use super::{
    Alias, Candidates, LineOptions, MAX_ALIASES, MAX_RENAMES, Reader, Site, broken, has, module_name, unparsed,
};
use crate::search::{Hit, Scope, SearchResult, Skipped, Why, search, search_by};

/// Searches for the aliases that imports and re-exports give.
pub(super) fn follow(scope: &Scope, found: &mut Candidates, mut aliases: VecDeque<Alias>, shown: LineOptions) {
    let mut seen: BTreeSet<(String, Arc<Path>)> = BTreeSet::new();
    let mut cache: BTreeMap<String, SearchResult> = BTreeMap::new();
    let families: BTreeSet<&str> = found.definitions.iter().map(|one| family(one.language)).collect();
    while let Some(alias) = aliases.pop_front() {
        // Other languages do not use names from this import.
        let of = Language::by_name(&alias.path).map(family);
        let is_other = of.is_some_and(|of| !families.is_empty() && !families.contains(of));
        if is_other || !seen.insert((alias.name.clone(), alias.path.clone())) || seen.len() > MAX_ALIASES {
            continue;
        }
        if alias.name != DEFAULT {
            found.names.insert(alias.name.clone());
        }
        let is_script = of == Some(SCRIPTS);
        // `lib.js` and `main.js` name their module, unlike `lib.rs` and `main.rs`.
        let module = module_name(&alias.path).or_else(|| is_script.then(|| module_stem(&alias.path).to_owned()));
        // An index file may also be imported by its own name.
        let is_index = module_stem(&alias.path) == "index";
        if alias.name == DEFAULT {
            aliases.extend(module.map(|module| add_importers(scope, found, &alias, &module)).unwrap_or_default());
            continue;
        }
        let searched = cache.entry(alias.name.clone()).or_insert_with(|| search(scope, &alias.name));
        let mut reader = Reader::new(&found.question, shown);
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
        // Another file has this name only if it can import it from here.
        let may_use = |one: &&Skipped| alias.is_open || *one.path == *alias.path;
        found.leave_out(searched.skipped.iter().filter(may_use), &families);
        let is_known = |site: &Site| found.sites.iter().any(|other| (&other.path, other.at) == (&site.path, site.at));
        // The import that gives this name is already a site of the original name.
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

/// A file, and the ranges of its import sources that name a module.
type Importer = (Hit, Vec<Range<usize>>);

fn importers(scope: &Scope, found: &mut Candidates, of: &Alias, module: &str) -> Vec<Importer> {
    let mut searched = search(scope, module);
    if matches!(module_stem(&of.path), "index" | "lib" | "main") {
        // `require("..")` does not contain the module's name.
        let folders = search_by(
            scope,
            |language, text| if family(language) == SCRIPTS { required_folders(text) } else { Vec::new() },
        );
        searched.hits.extend(folders.hits);
        searched.skipped.extend(folders.skipped);
    }
    found.leave_out(searched.skipped.iter(), &BTreeSet::from([SCRIPTS]));
    let is_other = |hit: &Hit| family(hit.language) == SCRIPTS && *hit.path != *of.path;
    let importer = |hit: Hit| {
        let names = |source: &Range<usize>| names_module(&hit.path, &text(&hit.text[source.clone()]), &of.path);
        let sources: Vec<Range<usize>> =
            hit.starts.iter().filter_map(|at| source_around(&hit.text, *at)).filter(names).collect();
        (!sources.is_empty()).then_some((hit, sources))
    };
    searched.hits.into_iter().filter(is_other).filter_map(importer).collect()
}

fn module_stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Returns the offsets of import sources that only name a parent folder: `require("..")`.
fn required_folders(text: &[u8]) -> Vec<usize> {
    let ends = memchr::memmem::find_iter(text, b"require(").map(|at| at + b"require(".len() + 1);
    let is_folder = |at: &usize| {
        let source = text.get(*at..).and_then(|rest| rest.split(|byte| b"'\"`".contains(byte)).next());
        source.is_some_and(|source| !source.is_empty() && source.iter().all(|byte| b"./".contains(byte)))
    };
    ends.filter(is_folder).collect()
}

/// Returns the same name in modules that re-export a whole module: `module.exports = require("./geo")`, `module.exports = {
/// ...require("./geo") }`.
fn passed_on(scope: &Scope, found: &mut Candidates, alias: &Alias, module: &str) -> Vec<Alias> {
    let passes = |(hit, sources): &Importer| {
        sources.iter().any(|of| match binding(&hit.text, of) {
            Binding::Name { name, .. } => name == DEFAULT,
            Binding::Nameless => has(&hit.text[of.start.saturating_sub(20)..of.start], "..."),
            Binding::None => false,
        })
    };
    let all = importers(scope, found, alias, module).into_iter().filter(passes);
    all.map(|(hit, _)| Alias { path: hit.path.into(), line: 0, depth: alias.depth + 1, ..alias.clone() }).collect()
}

/// Adds the files that import a module, and returns their names for its default export.
fn add_importers(scope: &Scope, found: &mut Candidates, alias: &Alias, module: &str) -> Vec<Alias> {
    let mut aliases = Vec::new();
    for (hit, sources) in importers(scope, found, alias, module) {
        let path: Arc<Path> = hit.path.as_path().into();
        // `geo.default(1)` of `import * as geo`.
        let takes_default = |of: &Range<usize>| match namespace(&hit.text, of) {
            Some(name) => has(&hit.text, &format!("{name}.default")),
            None => false,
        };
        let mut nameless = sources.iter().filter(|of| takes_default(of)).count();
        for of in &sources {
            match binding(&hit.text, of) {
                Binding::Name { name, is_open } if name != found.question.name && alias.depth < MAX_RENAMES => {
                    // The import statement does not contain the alias itself, so the alias has its own site.
                    aliases.push(Alias { name, path: path.clone(), line: 0, is_open, depth: alias.depth + 1 });
                }
                Binding::Nameless => nameless += 1,
                Binding::Name { .. } | Binding::None => {}
            }
        }
        if nameless > 0 {
            found.skipped.push(Skipped::new(hit.path.clone(), Why::Nameless, nameless));
        }
        found.texts.entry(path.clone()).or_insert_with(|| hit.text.into());
        found.importers.insert(path);
    }
    aliases
}

/// Returns the namespace that an import binds: `geo` of `import * as geo from "./geo"`.
fn namespace(text: &[u8], source: &Range<usize>) -> Option<String> {
    let before = text[..source.start - 1].trim_ascii_end().strip_suffix(b"from")?.trim_ascii_end();
    let name = last_word(before);
    let is_namespace = before[..before.len() - name.len()].trim_ascii_end().ends_with(b"* as");
    is_namespace.then(|| self::text(name))
}

/// The name that a file binds to a whole module.
enum Binding {
    None,
    /// The module is used without a name: `require("./geo")(1)`.
    Nameless,
    Name {
        /// [`DEFAULT`] if the file re-exports it as its default.
        name: String,
        /// True if the file exports the name.
        is_open: bool,
    },
}

/// Reads a binding from the text around an import source: `const area = require(`, `import area from`.
fn binding(all: &[u8], source: &Range<usize>) -> Binding {
    let before = all[..source.start - 1].trim_ascii_end();
    if let Some(clause) = before.strip_suffix(b"from") {
        let is_statement = |word: &&[u8]| clause.ends_with(word) || memchr::memmem::rfind(clause, word).is_some();
        let begin = [&b"import"[..], b"export"].into_iter().filter(is_statement);
        let begin = begin.filter_map(|word| Some((memchr::memmem::rfind(clause, word)?, word))).max();
        let Some((at, word)) = begin else { return Binding::None };
        let clause = clause[at + word.len()..].trim_ascii();
        let clause = clause.strip_prefix(b"type ").unwrap_or(clause);
        let renamed = memchr::memmem::find(clause, b"default as ").map(|at| &clause[at + b"default as ".len()..]);
        let is_open = word == b"export";
        return match first_word(renamed.unwrap_or(clause)) {
            b"" if is_open && has(clause, DEFAULT) => Binding::Name { name: DEFAULT.to_owned(), is_open },
            b"" => Binding::None,
            name => Binding::Name { name: text(name), is_open },
        };
    }
    let Some(before) = before.strip_suffix(b"(").map(<[u8]>::trim_ascii_end) else { return Binding::None };
    let called = [&b"require"[..], b"import"].iter().find_map(|word| before.strip_suffix(*word));
    let Some(before) = called.map(<[u8]>::trim_ascii_end) else { return Binding::None };
    let before = before.strip_suffix(b"await").unwrap_or(before).trim_ascii_end();
    let Some(target) = before.strip_suffix(b"=").or(before.strip_suffix(b":")).map(<[u8]>::trim_ascii_end) else {
        let after = all.get(source.end + 1..).unwrap_or_default().trim_ascii_start();
        let after = after.strip_prefix(b")").unwrap_or(after).trim_ascii_start();
        // Members are found by their own names. A bare statement only runs the module.
        let is_statement = before.last().is_none_or(|last| b";}".contains(last)) && !after.starts_with(b"(");
        return if after.starts_with(b".") || is_statement { Binding::None } else { Binding::Nameless };
    };
    let is_member = before.ends_with(b":") || target[..target.len() - last_word(target).len()].ends_with(b".");
    match last_word(target) {
        b"" => Binding::None,
        b"exports" => Binding::Name { name: DEFAULT.to_owned(), is_open: true },
        name => Binding::Name { name: text(name), is_open: is_member },
    }
}

fn first_word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !is_word(*byte) && *byte != b'$').unwrap_or(text.len());
    &text[..end]
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Returns the quoted text around an offset, if it ends on the same line.
fn source_around(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_quote = |byte: &u8| b"'\"`\n".contains(byte);
    let start = text[..at].iter().rposition(is_quote).filter(|start| text[*start] != b'\n')? + 1;
    Some(start..at + text[at..].iter().position(is_quote)?)
}
