//! Definitions of one name of which each configuration compiles another one: `#[cfg(unix)]` beside `#[cfg(windows)]`, two files of
//! C of which a build takes one. A judge knows one configuration; what it says means another one proves nothing there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::decide::Said;
use super::texts::{Sheets, Spot};
use crate::answer::{Found, Site};
use crate::definition::Definition;
use crate::judgement::Code;
use crate::search::read;
use crate::syntax::{Class, Kind, Language, conditional, occurrences_at};

/// Whether clangd has an index of the project.
pub(super) fn has_compile_commands(root: &Path) -> bool {
    ["", "build"].iter().any(|folder| root.join(folder).join("compile_commands.json").exists())
}

/// The conditions of a question's files.
pub(super) struct Conditions {
    root: PathBuf,
    /// By file: its conditional parts, and whether all of it is under a condition.
    files: BTreeMap<PathBuf, (Vec<Range<usize>>, bool)>,
    /// Whether one of our definitions is compiled under a condition.
    is_ours: bool,
    /// Whether the name, or all names of a module, are brought somewhere under a condition.
    is_brought: bool,
    /// Whether clangd knows all files of C and C++.
    has_index: bool,
    /// Where the functions stand that our prototypes announce.
    bodies: BTreeMap<(PathBuf, usize), usize>,
    /// What is declared at the spots that were looked at.
    declared: BTreeMap<Spot, Option<(Kind, Option<String>)>>,
}

/// How far up the modules around a file are followed.
const DEEP: usize = 4;
/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

impl Conditions {
    /// Blocks for small reads.
    pub(super) fn of(root: &Path, found: &Found) -> Conditions {
        let mut conditions = Conditions {
            root: root.to_owned(),
            files: BTreeMap::new(),
            is_ours: false,
            is_brought: false,
            has_index: has_compile_commands(root),
            bodies: BTreeMap::new(),
            declared: BTreeMap::new(),
        };
        let is_known = |language| matches!(language, Language::Rust | Language::C | Language::Cpp);
        for one in found.definitions.iter().filter(|one| is_known(one.language) && !one.is_outside()) {
            conditions.is_ours |= conditions.is_under(&root.join(&one.path), one.at, one.language);
        }
        // What belongs to a type is brought by no name of its own.
        let is_named = found.definitions.iter().any(|one| !is_member(one.kind));
        for site in found.sites.iter().filter(|site| site.language == Language::Rust && is_named) {
            if conditions.is_brought {
                break;
            }
            let path = root.join(&site.path);
            conditions.is_brought = match site.class {
                Class::Import | Class::Export => conditions.is_under(&path, site.at, site.language),
                Class::Call | Class::Value if !site.is_member => {
                    let text = found.texts.get(&*site.path);
                    text.is_some_and(|text| conditions.brings_all(&path, text))
                }
                _ => false,
            };
        }
        conditions
    }

    /// Whether what is declared at a spot is an alternative to ours: in another configuration the site may mean ours.
    pub(super) fn is_alternative(&mut self, found: &Found, site: &Site, spot: &Spot, sheets: &Sheets) -> bool {
        if site.language != Language::Rust || !self.is_ours && !self.is_brought || sheets.below(&spot.path).is_none() {
            return false;
        }
        let declared = self.declared.entry(spot.clone()).or_insert_with(|| declared_at(spot, sheets)).clone();
        let Some((kind, owner)) = declared else { return false };
        let are_both =
            self.is_ours && self.is_under(&spot.path, spot.start, Language::Rust) && !self.is_compiled_with(site, spot);
        if is_member(kind) {
            // What has an owner is an alternative where the owners are: by one name in two modules.
            let is_of_one = |one: &Definition| one.inside.last().and_then(|names| names.first()) == owner.as_ref();
            return are_both && found.definitions.iter().any(|one| is_member(one.kind) && is_of_one(one));
        }
        let is_like_it = found.definitions.iter().any(|one| !is_member(one.kind));
        is_like_it && (are_both || !site.is_member && self.is_brought)
    }

    /// Whether one condition decides about a site and a spot together: where the one is compiled, the other is.
    fn is_compiled_with(&self, site: &Site, spot: &Spot) -> bool {
        let Some((parts, is_whole)) = self.files.get(&spot.path).filter(|_| self.root.join(&site.path) == spot.path)
        else {
            return false;
        };
        *is_whole || parts.iter().any(|part| part.contains(&site.at) && part.contains(&spot.start))
    }

    /// Takes where the function stands that a prototype of ours announces.
    pub(super) fn take_body(&mut self, body: &Spot, number: usize) {
        self.bodies.insert((body.path.clone(), body.start), number);
    }

    /// Whether a prototype of C or C++ may announce one of ours, which clangd does not know without an index: it stands inside of what
    /// ours is inside of.
    pub(super) fn may_announce(&self, found: &Found, prototype: &Site) -> bool {
        let around = prototype.enclosing.rsplit("::").next().filter(|around| !around.is_empty());
        let is_of_its_file =
            |one: &Definition| found.texts.get(&*one.path).is_some_and(|text| is_of_its_file(text, one.at));
        let mut ours = found.definitions.iter().filter(|one| !is_of_its_file(one));
        !self.has_index
            && ours.any(|one| match (around, one.inside.last()) {
                (Some(around), Some(names)) => names.iter().any(|name| name == around),
                (around, names) => around.is_none() && names.is_none(),
            })
    }

    /// Which of our prototypes announces what stands at a spot.
    pub(super) fn announced(&self, spot: &Spot) -> Option<usize> {
        self.bodies.get(&(spot.path.clone(), spot.start)).copied()
    }

    /// What it says of a site that another one is defined at, if that defines what one of ours does, by the same name in the
    /// same place, for another configuration.
    pub(super) fn same(&mut self, found: &Found, asked: &Site, site: &Site) -> Option<Said> {
        if site.class != Class::Binding || site.tokens.is_some() {
            return None;
        }
        let number =
            (0..found.definitions.len()).find(|number| self.is_same(found, &found.definitions[*number], site))?;
        if *found.definitions[number].path == *site.path {
            return Some(Said::Ours(number));
        }
        // Two files of C. A file that defines it calls its own; two programs have theirs, unless a header declares one for both.
        let is_header = |path: &Path| path.extension().is_some_and(|extension| extension == "h");
        let is_declared = found.sites.iter().any(|one| one.class == Class::Signature && is_header(&one.path));
        match (asked.path == site.path, is_declared) {
            (true, _) => found.definitions[number].is_signature.then_some(Said::Ours(number)),
            (false, true) => Some(Said::Ours(number)),
            (false, false) => Some(Said::Failed(Code::Inactive)),
        }
    }

    fn is_same(&mut self, found: &Found, ours: &Definition, site: &Site) -> bool {
        let is_function = matches!(ours.kind, Kind::Function | Kind::Method);
        let around = ours.label.strip_suffix(found.question.name.as_str());
        let is_there = around.is_some_and(|around| around.trim_end_matches([':', '.']) == site.enclosing);
        if !is_function || !is_there || ours.language != site.language || ours.of_trait.is_some() {
            return false;
        }
        let (Some(text), Some(there)) = (found.texts.get(&*ours.path), found.texts.get(&*site.path)) else {
            return false;
        };
        let name = found.question.name.len();
        let (Some(parameters), Some(of_there)) = (parameters(text, ours.at + name), parameters(there, site.at + name))
        else {
            return false;
        };
        let (path, of_site) = (self.root.join(&ours.path), self.root.join(&site.path));
        let are_conditional = path == of_site
            && self.is_under(&path, ours.at, ours.language)
            && self.is_under(&of_site, site.at, site.language);
        match ours.language {
            Language::Rust => are_conditional,
            // What is overloaded differs in what it takes.
            Language::Cpp => are_conditional && parameters == of_there,
            Language::C if path == of_site => are_conditional,
            Language::C => !is_of_its_file(text, ours.at) && !is_of_its_file(there, site.at),
            _ => false,
        }
    }

    fn is_under(&mut self, path: &Path, at: usize, language: Language) -> bool {
        self.read(path, language, DEEP);
        self.files.get(path).is_some_and(|(parts, is_whole)| *is_whole || parts.iter().any(|part| part.contains(&at)))
    }

    fn read(&mut self, path: &Path, language: Language, deep: usize) {
        if self.files.contains_key(path) {
            return;
        }
        self.files.insert(path.to_owned(), (Vec::new(), false));
        let Ok(text) = read(path) else { return };
        let parts = conditional(language, &text, Instant::now() + WITHIN);
        let is_whole = language == Language::Rust && deep > 0 && self.is_module_under(path, deep - 1);
        self.files.insert(path.to_owned(), (parts, is_whole));
    }

    /// Whether the module that a file is, is declared under a condition.
    fn is_module_under(&mut self, path: &Path, deep: usize) -> bool {
        let (Some(stem), Some(folder)) = (path.file_stem().and_then(|stem| stem.to_str()), path.parent()) else {
            return false;
        };
        if matches!(stem, "lib" | "main") || !folder.starts_with(&self.root) {
            return false;
        }
        let (name, folder) = match (stem, folder.file_name().and_then(|name| name.to_str()), folder.parent()) {
            ("mod", Some(name), Some(above)) => (name.to_owned(), above.to_owned()),
            _ => (stem.to_owned(), folder.to_owned()),
        };
        let beside = ["mod.rs", "lib.rs", "main.rs"].map(|file| folder.join(file));
        let parents = beside.into_iter().chain([folder.with_extension("rs")]);
        let head = format!("mod {name};");
        for parent in parents.filter(|parent| parent != path) {
            let Ok(text) = read(&parent) else { continue };
            let Some(at) = memchr::memmem::find(&text, head.as_bytes()) else { continue };
            self.read(&parent, Language::Rust, deep);
            return self
                .files
                .get(&parent)
                .is_some_and(|(parts, is_whole)| *is_whole || parts.iter().any(|part| part.contains(&at)));
        }
        false
    }

    /// Whether a file brings all names of a module under a condition, or gives one another name.
    fn brings_all(&mut self, path: &Path, text: &[u8]) -> bool {
        self.read(path, Language::Rust, DEEP);
        let parts = self.files.get(path).map(|(parts, _)| parts.clone()).unwrap_or_default();
        parts.into_iter().filter_map(|part| text.get(part)).any(|part| {
            let is_use = part.starts_with(b"use ") || part.starts_with(b"pub") && has(part, b" use ");
            is_use && (has(part, b"::*") || has(part, b" as ")) || part.starts_with(b"type ")
        })
    }
}

fn is_member(kind: Kind) -> bool {
    matches!(kind, Kind::Field | Kind::Method | Kind::Constructor)
}

/// What is declared at a spot, and in what; `None` for a local.
fn declared_at(spot: &Spot, sheets: &Sheets) -> Option<(Kind, Option<String>)> {
    let sheet = sheets.get(&spot.path)?;
    let start = spot.start.checked_sub(sheet.skip)?;
    let place = start..start + sheets.word(spot).len();
    let all = occurrences_at(Language::Rust, sheet.text.as_bytes(), &[place], Instant::now() + WITHIN)?;
    let one = all.into_iter().next()?;
    let owner = one.enclosing.last().and_then(|place| place.names.first().cloned());
    one.declares.map(|declares| (declares.kind, owner))
}

fn has(text: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(text, what).is_some()
}

/// What a function takes, without spaces; `None` for what is none.
fn parameters(text: &[u8], from: usize) -> Option<Vec<u8>> {
    let rest = text.get(from..)?.trim_ascii_start();
    let rest =
        rest.strip_prefix(b"<").map_or(rest, |_| &rest[rest.iter().position(|byte| *byte == b'(').unwrap_or(0)..]);
    let end = rest.starts_with(b"(").then(|| rest.iter().position(|byte| *byte == b')')).flatten()?;
    Some(rest[..end].iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect())
}

/// Whether a function of C is `static`: another file's is another one.
fn is_of_its_file(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let start = before.iter().rposition(|byte| b";}#".contains(byte)).map_or(0, |at| at + 1);
    has(&before[start..], b"static")
}
