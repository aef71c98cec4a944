//! Bases with a member of the same name that no server relates to it: classes and interfaces outside of the project, and
//! other bases of subclasses. Their code may use the member without naming it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;

use super::super::classes::{any_at, is_ambient, is_class_like, is_object_type, is_of_the_project, spot};
use super::super::heads::Heads;
use crate::definition::Definition;
use crate::inquiry::{Inquiry, Sheets, Spot};
use crate::rule::Rule;
use crate::search::word_starts;
use crate::syntax::{Class, Declares, Kind, Language, Marks, family, occurrences};

/// The maximum numbers of bases to follow and of definitions to check.
const MOST_BASES: usize = 50;
const MOST_ASKED: usize = 20;

/// Returns an explanation that names a base which may use one of the definitions.
pub(in crate::verdict) async fn by_bases(inquiry: &mut Inquiry<'_>, of: &str, heads: &Heads) -> Option<String> {
    if !Rule::OutsideBases.is_on() {
        return None;
    }
    let found = inquiry.found;
    let name = &found.question.name;
    // Python mangles names with two leading underscores.
    let is_private = |one: &Definition| one.language == Language::Python && name.starts_with("__");
    let is_asked =
        |one: &&Definition| is_member(one) && !one.is_outside() && family(one.language) == of && !is_private(one);
    let asked: Vec<&Definition> = found.definitions.iter().filter(is_asked).take(MOST_ASKED).collect();
    for one in asked {
        let base = match one.language {
            Language::Go => interface(inquiry, one).await,
            _ => Walk { inquiry: &mut *inquiry, heads, seen: BTreeSet::new() }.base(one).await,
        };
        if let Some(base) = base {
            return Some(format!("{} stands below {base}: it may use {name} without naming it here", one.label));
        }
    }
    None
}

/// True if a definition is a member that a base may use.
pub(in crate::verdict) fn is_member(one: &Definition) -> bool {
    match one.language {
        // A trait of another crate may have the name of a trait of the project.
        Language::Rust => one.of_trait.as_ref().is_some_and(|of| of.is_impl),
        Language::Go | Language::Cpp => one.kind == Kind::Method,
        Language::C | Language::Haskell => false,
        _ => matches!(one.kind, Kind::Method | Kind::Field),
    }
}

/// A walk from a member through the bases of its class, then through the other bases of its subclasses.
struct Walk<'a, 'b> {
    inquiry: &'a mut Inquiry<'b>,
    heads: &'a Heads,
    /// The spots of the classes that were visited.
    seen: BTreeSet<Spot>,
}

impl Walk<'_, '_> {
    async fn base(&mut self, one: &Definition) -> Option<String> {
        let path = self.inquiry.sheets.path(&one.path);
        let mut own = vec![(path.clone(), one.marks.clone(), 0)];
        if one.language == Language::Cpp && one.marks.class.is_none() {
            own.extend(self.prototypes(&path, one.at).await);
        }
        let mut bases = Vec::new();
        let mut names = BTreeSet::new();
        for (path, marks, skip) in &own {
            if marks.has_nameless_base {
                return Some("a base without a name".to_owned());
            }
            bases.extend(marks.bases.iter().map(|base| spot(path, base, *skip)));
            for class in marks.class.iter().map(|class| spot(path, class, *skip)) {
                names.extend(self.heads.heirs(self.inquiry.sheets.word(&class)));
                self.seen.insert(class);
            }
        }
        let above = self.with_member(bases, false).await;
        if above.is_some() || one.language == Language::Rust {
            return above;
        }
        match self.beside(&names) {
            Ok(beside) => self.with_member(beside, true).await,
            Err(why) => Some(why),
        }
    }

    /// Returns the bases of the subclasses that are not among these classes.
    fn beside(&mut self, names: &BTreeSet<String>) -> Result<Vec<Spot>, String> {
        let mut beside = Vec::new();
        for head in self.heads.with_names(names) {
            self.inquiry.sheets.read(&head.path);
            let class = Spot { path: head.path.clone(), start: head.name.start, end: head.name.end };
            let Some((declares, skip)) = any_at(self.inquiry.sheets, &class) else { continue };
            if declares.marks.has_nameless_base {
                return Err("a base without a name".to_owned());
            }
            let bases = declares.marks.bases.iter().map(|base| spot(&head.path, base, skip));
            beside.extend(bases.filter(|base| !names.contains(self.inquiry.sheets.word(base))));
        }
        Ok(beside)
    }

    /// Returns the first of these bases, direct or indirect, that has the member or may have it. Servers relate members to
    /// those of project classes above them; `counts_inside` tells whether these count.
    async fn with_member(&mut self, mut open: Vec<Spot>, counts_inside: bool) -> Option<String> {
        let mut at = 0;
        while let Some(base) = open.get(at).cloned() {
            at += 1;
            if at > MOST_BASES {
                return Some("more bases than are followed".to_owned());
            }
            let word = self.inquiry.sheets.word(&base).to_owned();
            let targets = self.inquiry.defined(&base.path, base.start).await.unwrap_or_default();
            match self.above(&base, &word, targets, counts_inside) {
                Ok(next) => open.extend(next.into_iter().filter(|one| !open.contains(one)).collect::<Vec<_>>()),
                Err(why) => return Some(why),
            }
        }
        None
    }

    /// Returns the bases of a base's targets; `Err` if a target has the member or is unknown.
    fn above(&mut self, base: &Spot, word: &str, targets: Vec<Spot>, counts_inside: bool) -> Result<Vec<Spot>, String> {
        let mut is_known = false;
        let mut next = Vec::new();
        for target in targets {
            // clangd returns the surrounding scope for an unknown name.
            if Language::by_name(&base.path) == Some(Language::Cpp) && self.inquiry.sheets.word(&target) != word {
                continue;
            }
            let Some((declares, skip)) = any_at(self.inquiry.sheets, &target) else { continue };
            let is_class = is_class_like(declares.kind);
            if is_class && !self.seen.insert(target.clone()) {
                is_known = true;
                continue;
            }
            let below = self.inquiry.sheets.below(&target.path).filter(|below| is_of_the_project(below));
            let is_inside = below.is_some() && !is_ambient(&target.path);
            let has_member = names_in(self.inquiry.sheets, &target, &declares, &self.inquiry.found.question.name);
            if has_member && (counts_inside || !is_inside) {
                let whose = if is_inside { "also" } else { "which the project does not define and" };
                return Err(format!("{word}, {whose} has {}", self.inquiry.found.question.name));
            }
            // `Generic: _SpecialForm`, `declare var HTMLElement`.
            let is_value = !is_inside && declares.kind == Kind::Variable;
            is_known |= is_class || is_value || is_object_type(self.inquiry.sheets, &target);
            if declares.marks.has_nameless_base {
                return Err("a base without a name".to_owned());
            }
            if is_class {
                next.extend(declares.marks.bases.iter().map(|base| spot(&target.path, base, skip)));
            }
        }
        if is_known { Ok(next) } else { Err(format!("{word} (whose members are unknown)")) }
    }

    /// Returns the marks of the prototypes of a method that is defined outside of its class.
    async fn prototypes(&mut self, path: &Path, at: usize) -> Vec<(PathBuf, Marks, usize)> {
        let places = self.inquiry.ask("textDocument/declaration", path, at).await.unwrap_or_default();
        let marks = self.inquiry.sheets.spots(&places).into_iter().filter_map(|spot| {
            let (declares, skip) = any_at(self.inquiry.sheets, &spot)?;
            Some((spot.path, declares.marks, skip))
        });
        marks.collect()
    }
}

/// True if the code of a declaration contains a name.
fn names_in(sheets: &Sheets, spot: &Spot, declares: &Declares, name: &str) -> bool {
    let Some(sheet) = sheets.get(&spot.path) else { return false };
    let text = sheet.text.as_bytes();
    let within = text.get(declares.bytes.clone()).unwrap_or_default();
    let starts: Vec<usize> =
        word_starts(&Finder::new(name), within, name).into_iter().map(|at| declares.bytes.start + at).collect();
    let language = Language::detect(&spot.path, text).filter(|_| !starts.is_empty());
    let all = language.and_then(|language| occurrences(language, text, name, &starts, sheets.until()));
    // A declaration that cannot be parsed in time may have it.
    !starts.is_empty() && all.is_none_or(|parsed| parsed.all.iter().any(|one| one.class != Class::Mention))
}

/// Returns the interface outside of the project that a Go method implements.
async fn interface(inquiry: &mut Inquiry<'_>, one: &Definition) -> Option<String> {
    // Another package cannot use a name that is not exported.
    if !inquiry.found.question.name.starts_with(char::is_uppercase) {
        return None;
    }
    let path = inquiry.sheets.path(&one.path);
    let Ok(all) = inquiry.ask("textDocument/implementation", &path, one.at).await else {
        return Some("an interface that gopls does not tell".to_owned());
    };
    let outside = all.iter().find(|place| !inquiry.sheets.below(&place.path).is_some_and(is_of_the_project))?;
    let package = outside.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Some(format!("an interface of {}, which the project does not define", package.unwrap_or_default()))
}
