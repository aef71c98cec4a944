//! Base classes and interfaces that the project does not define, as a judge knows them: of the class that a definition is a
//! member of, of its bases, and of the classes below it, whose other bases may call what they inherit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::classes::{class_at, is_ambient, is_inert, is_object_type, is_of_the_project, spot};
use super::super::requests::{asked_at, defined, left, places};
use super::super::texts::{Sheets, Spot};
use super::given;
use super::other_names::{HEAD, Other, may_be_base, other, required_bases, search_for_others};
use crate::answer::Found;
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::lsp::{Location, of_path};
use crate::place::Lines;
use crate::search::Scope;
use crate::server::Session;
use crate::syntax::{Kind, Language, Marks, family, occurrences_at};

/// How many bases and classes are followed, and how many definitions are asked about.
const MOST_BASES: usize = 50;
const MOST_ASKED: usize = 20;
/// How many exports are followed one after the other.
const MOST_EXPORTS: usize = 4;
/// How many classes are looked at that require their bases.
const MOST_REQUIRED: usize = 100;
/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// Who may, by a base that the project does not define.
pub(in crate::verdict) async fn by_bases(
    scope: &Scope,
    found: &Found,
    of: &str,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<String> {
    let name = &found.question.name;
    // Python takes no other names than these for a class's own.
    let is_private = |one: &Definition| one.language == Language::Python && name.starts_with("__");
    let is_asked = |one: &&Definition| {
        let is_member = match one.language {
            // A trait of another crate may have the name of one of ours.
            Language::Rust => one.of_trait.as_ref().is_some_and(|of| of.is_impl),
            Language::Go | Language::Cpp => one.kind == Kind::Method,
            Language::Python | Language::TypeScript | Language::Tsx | Language::JavaScript => {
                matches!(one.kind, Kind::Method | Kind::Field)
            }
            Language::C | Language::Haskell => false,
        };
        is_member && !one.is_outside() && family(one.language) == of && !is_private(one)
    };
    for one in found.definitions.iter().filter(is_asked).take(MOST_ASKED) {
        let base = match one.language {
            Language::Go => interface(found, one, session, sheets, until).await,
            _ => Walk { name, language: one.language, scope, session, sheets, until }.base(one).await,
        };
        if let Some(base) = base {
            let label = &one.label;
            return Some(format!("{label} stands below {base}: code outside may use {name} without naming it here"));
        }
    }
    None
}

struct Walk<'a> {
    /// Of the member.
    name: &'a str,
    language: Language,
    scope: &'a Scope,
    session: &'a Session,
    sheets: &'a mut Sheets,
    until: Instant,
}

impl Walk<'_> {
    /// A base that the project does not define, or that nobody can tell.
    async fn base(&mut self, one: &Definition) -> Option<String> {
        let path = self.sheets.path(&one.path);
        let mut all = vec![(path.clone(), one.marks.clone(), 0)];
        if self.language == Language::Cpp && one.marks.class.is_none() {
            match self.prototypes(&path, one.at).await {
                Some(prototypes) if !prototypes.is_empty() => all.extend(prototypes),
                _ => return Some("what the judge does not name".to_owned()),
            }
        }
        let mut bases: Vec<Spot> = Vec::new();
        let mut classes: Vec<Spot> = Vec::new();
        for (path, marks, skip) in &all {
            if marks.has_nameless_base {
                return Some("a base without a name".to_owned());
            }
            bases.extend(marks.bases.iter().map(|base| spot(path, base, *skip)));
            classes.extend(marks.class.iter().map(|class| spot(path, class, *skip)));
        }
        let mut at = 0;
        while let Some(class) = classes.get(at).cloned().filter(|_| self.language != Language::Rust) {
            at += 1;
            if at > MOST_BASES {
                return Some("more classes than are followed".to_owned());
            }
            let below = match self.below(&class).await {
                Ok(below) => below,
                Err(why) => return Some(self.foreign(bases).await.unwrap_or(why)),
            };
            let (below, aliases) = below;
            classes.extend(aliases.into_iter().filter(|alias| !classes.contains(alias)).collect::<Vec<_>>());
            for (path, marks, skip) in below {
                if marks.has_nameless_base {
                    return Some("a base without a name".to_owned());
                }
                if let Some(mark) = given(self.language, &marks.decorators, None) {
                    return Some(format!("a class that `{mark}` is given"));
                }
                let next = marks.bases.iter().map(|base| spot(&path, base, skip));
                bases.extend(next.collect::<Vec<_>>());
                let class = marks.class.iter().map(|class| spot(&path, class, skip)).find(|one| !classes.contains(one));
                classes.extend(class);
            }
        }
        self.foreign(bases).await
    }

    /// The first of these bases, or of theirs, that the project does not define.
    async fn foreign(&mut self, mut open: Vec<Spot>) -> Option<String> {
        let mut at = 0;
        while let Some(base) = open.get(at).cloned() {
            at += 1;
            if at > MOST_BASES {
                return Some("more bases than are followed".to_owned());
            }
            let word = self.sheets.text(&base).to_owned();
            let Some(sheet) = self.sheets.get(&base.path) else {
                return Some(format!("{word}, whose file cannot be read"));
            };
            let position = sheet.position(base.start, self.session.encoding);
            let answer = defined(&self.session.client, &base.path, position, left(self.until, self.session)).await;
            let places = answer.unwrap_or_default();
            let targets: Vec<Spot> = blocking(|| places.iter().filter_map(|place| self.sheets.spot(place)).collect());
            if targets.is_empty() {
                return Some(format!("{word}, of which nothing is known"));
            }
            for target in targets {
                let name = self.sheets.word(&target).to_owned();
                let below = self.sheets.below(&target.path).filter(|below| is_of_the_project(below));
                if below.is_none() && is_inert(&target.path, &name, self.name) {
                    continue;
                }
                if below.is_none() || is_ambient(&target.path) {
                    return Some(format!("{word}, which the project does not define"));
                }
                // clangd leads from what it does not know to what is around it.
                let is_it = self.language != Language::Cpp || name == word;
                let marks = is_it.then(|| blocking(|| class_at(self.sheets, &target))).flatten();
                if blocking(|| is_object_type(self.sheets, &target)) {
                    continue;
                }
                // An alias, a variable, what a function makes.
                let Some((marks, skip)) = marks else { return Some(format!("{word}, which is no class by itself")) };
                if marks.has_nameless_base {
                    return Some("a base without a name".to_owned());
                }
                for next in marks.bases.iter().map(|base| spot(&target.path, base, skip)) {
                    if !open.contains(&next) {
                        open.push(next);
                    }
                }
            }
        }
        None
    }

    /// The classes that name one as a base, and its other names whose uses the judge knows; why they are not known.
    async fn below(&mut self, class: &Spot) -> Result<(Vec<(PathBuf, Marks, usize)>, Vec<Spot>), String> {
        let unknown = || "what the judge does not name".to_owned();
        let sheet = self.sheets.get(&class.path).ok_or_else(unknown)?;
        let params = json!({
            "textDocument": {"uri": of_path(&class.path)},
            "position": sheet.position(class.start, self.session.encoding),
            "context": {"includeDeclaration": false},
        });
        let within = left(self.until, self.session);
        let places = places(&self.session.client, "textDocument/references", &params, within).await;
        let places = places.map_err(|_| unknown())?;
        let renamed: Vec<(Spot, Other)> = blocking(|| places.iter().filter_map(|place| self.renames(place)).collect());
        let mut aliases = Vec::new();
        let mut is_exported = false;
        for (spot, other) in renamed {
            match other {
                Other::Named(name) => aliases.push(Spot { path: spot.path, start: name.start, end: name.end }),
                Other::Exported => is_exported = true,
                Other::Unknown => return Err(self.renamed_at(&spot)),
            }
        }
        let required = if is_exported { self.required(class).await? } else { Vec::new() };
        if let Some(by) = self.renamed_elsewhere(class).await {
            return Err(by);
        }
        blocking(|| {
            let mut by_file: BTreeMap<PathBuf, Vec<Spot>> = BTreeMap::new();
            for place in &places {
                let is_ours = self.sheets.below(&place.path).is_some_and(is_of_the_project);
                let spot = if is_ours { self.sheets.spot(place) } else { None };
                if let Some(spot) = spot.filter(|spot| self.may_be_base(spot)) {
                    by_file.entry(spot.path.clone()).or_default().push(spot);
                }
            }
            for spot in required {
                by_file.entry(spot.path.clone()).or_default().push(spot);
            }
            let mut all = Vec::new();
            for (path, spots) in by_file {
                all.extend(self.classes_of(&path, spots)?);
            }
            Ok((all, aliases))
        })
    }

    /// The other name that a use of a class gives it, by which others may have it as their base.
    fn renames(&mut self, place: &Location) -> Option<(Spot, Other)> {
        // In Python the search tells.
        self.sheets.below(&place.path).filter(|_| self.language != Language::Python)?;
        let spot = self.sheets.spot(place)?;
        let sheet = self.sheets.get(&spot.path)?;
        let (start, end) = (spot.start.checked_sub(sheet.skip)?, spot.end.checked_sub(sheet.skip)?);
        let other = match other(self.language, sheet.text.as_bytes(), start..end)? {
            Other::Named(name) => Other::Named(name.start + sheet.skip..name.end + sheet.skip),
            other => other,
        };
        Some((spot, other))
    }

    /// The class that a name means, by what modules export.
    async fn class_of(&mut self, name: &Spot) -> Option<Spot> {
        let mut at = name.clone();
        for _ in 0..MOST_EXPORTS {
            let sheet = self.sheets.get(&at.path)?;
            let position = sheet.position(at.start, self.session.encoding);
            let answer = defined(&self.session.client, &at.path, position, left(self.until, self.session)).await;
            let places = answer.unwrap_or_default();
            let targets: Vec<Spot> = blocking(|| places.iter().filter_map(|place| self.sheets.spot(place)).collect());
            if let Some(class) = targets.iter().find(|target| class_at(self.sheets, target).is_some()) {
                return Some(class.clone());
            }
            at = targets.into_iter().find(|target| (&target.path, target.start) != (&at.path, at.start))?;
        }
        None
    }

    /// Where classes have it as their base that get it by `require`, which TypeScript does not list among the references.
    async fn required(&mut self, class: &Spot) -> Result<Vec<Spot>, String> {
        let bases = required_bases(self.scope, self.until).await.filter(|bases| bases.len() <= MOST_REQUIRED);
        let bases = bases.ok_or("classes of more files than are searched")?;
        let mut all = Vec::new();
        for (path, at) in bases {
            let path = self.sheets.path(&path);
            blocking(|| self.sheets.read(&path));
            let spot = Spot { path: path.clone(), start: at, end: at };
            let spot = Spot { end: at + self.sheets.word(&spot).len(), ..spot };
            let leads_to = self.class_of(&spot).await;
            let leads_to = leads_to
                .ok_or_else(|| format!("{}, of which the judge does not say what it is", self.sheets.word(&spot)))?;
            if (&leads_to.path, leads_to.start) == (&class.path, class.start) {
                all.push(spot);
            }
        }
        Ok(all)
    }

    fn renamed_at(&self, spot: &Spot) -> String {
        let path = self.sheets.below(&spot.path).unwrap_or(&spot.path).display();
        let line = self.sheets.get(&spot.path).map_or(0, |sheet| Lines::of(sheet.text.as_bytes()).line(spot.start));
        format!("{}, to which {path}:{line} gives another name", self.sheets.word(spot))
    }

    /// The same in Python, whose judge lists no imports by another name among the references.
    async fn renamed_elsewhere(&mut self, class: &Spot) -> Option<String> {
        if self.language != Language::Python {
            return None;
        }
        let name = self.sheets.word(class).to_owned();
        let Some(found) = search_for_others(self.scope, self.language, name, self.until).await else {
            return Some("classes of files that cannot be searched".to_owned());
        };
        for (path, at, other) in found {
            if let Some(other) = other
                && !may_be_base(self.scope, &other, self.until).await
            {
                continue;
            }
            let path = self.sheets.path(&path);
            if self.is_named_at(class, &path, at).await {
                return Some(self.renamed_at(&Spot { path, start: at, end: at }));
            }
        }
        None
    }

    /// Whether a name that stands there may mean a class: another one may have the name too.
    async fn is_named_at(&mut self, class: &Spot, path: &Path, at: usize) -> bool {
        blocking(|| self.sheets.read(path));
        let Some(sheet) = self.sheets.get(path) else { return true };
        let position = sheet.position(at, self.session.encoding);
        let answer = defined(&self.session.client, path, position, left(self.until, self.session)).await;
        let places = answer.unwrap_or_default();
        let targets: Vec<Spot> = blocking(|| places.iter().filter_map(|place| self.sheets.spot(place)).collect());
        let may_be_it = |spot: &Spot| {
            let place = (spot.path.as_path(), spot.start);
            place == (&class.path, class.start) || place == (path, at)
        };
        targets.is_empty() || targets.iter().any(may_be_it)
    }

    /// Whether a class begins a little before a spot.
    fn may_be_base(&self, spot: &Spot) -> bool {
        let Some(sheet) = self.sheets.get(&spot.path) else { return false };
        let start = spot.start.saturating_sub(sheet.skip);
        let before = &sheet.text.as_bytes()[start.saturating_sub(HEAD)..start];
        ["class", "struct", "extends", "implements"]
            .iter()
            .any(|word| memchr::memmem::find(before, word.as_bytes()).is_some())
    }

    /// The classes of a file in whose lists of bases these stand; why they are not known.
    fn classes_of(&self, path: &Path, mut spots: Vec<Spot>) -> Result<Vec<(PathBuf, Marks, usize)>, String> {
        let Some(sheet) = self.sheets.get(path) else { return Ok(Vec::new()) };
        let text = sheet.text.as_bytes();
        spots.sort();
        spots.dedup();
        let places: Vec<_> = spots.iter().map(|spot| spot.start - sheet.skip..spot.end - sheet.skip).collect();
        let language = Language::of(path, text).unwrap_or(self.language);
        let all = occurrences_at(language, text, &places, Instant::now() + WITHIN)
            .ok_or_else(|| format!("classes of {}, which takes too long to parse", path.display()))?;
        let mut found = Vec::new();
        for one in all {
            // `T extends Base` of a type parameter is no class.
            let before = text[..one.bytes.start].trim_ascii_end().strip_suffix(b"extends").unwrap_or_default();
            let is_nameless = before.trim_ascii_end().ends_with(b"class");
            let around = one.enclosing.last().and_then(|place| {
                let class = Spot { path: path.to_owned(), start: place.at + sheet.skip, end: place.at + sheet.skip };
                class_at(self.sheets, &class)
            });
            // A call in the list of bases makes another class of it.
            let around = around.filter(|(marks, _)| marks.bases.contains(&one.bytes) || marks.has_nameless_base);
            match around {
                Some((marks, skip)) => found.push((path.to_owned(), marks, skip)),
                None if is_nameless => return Err("a class without a name".to_owned()),
                None => {}
            }
        }
        Ok(found)
    }

    /// What stands around the prototypes of a method that is defined outside of its class.
    async fn prototypes(&mut self, path: &Path, at: usize) -> Option<Vec<(PathBuf, Marks, usize)>> {
        let places = asked_at(self.session, self.sheets, "textDocument/declaration", (path, at), self.until).await;
        let places = places.ok()?;
        blocking(|| {
            let marks = places.iter().filter_map(|place| {
                let spot = self.sheets.spot(place)?;
                let sheet = self.sheets.get(&spot.path)?;
                let start = spot.start.checked_sub(sheet.skip)?;
                let place = start..start + self.sheets.word(&spot).len();
                let all = occurrences_at(Language::Cpp, sheet.text.as_bytes(), &[place], Instant::now() + WITHIN)?;
                Some((spot.path, all.into_iter().next()?.declares?.marks, sheet.skip))
            });
            Some(marks.collect())
        })
    }
}

/// The interface outside of the project that a method of Go implements.
async fn interface(
    found: &Found,
    one: &Definition,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<String> {
    // Another package cannot ask for a name that is not exported.
    if !found.question.name.starts_with(char::is_uppercase) {
        return None;
    }
    let path = sheets.path(&one.path);
    let answer = asked_at(session, sheets, "textDocument/implementation", (&path, one.at), until).await;
    let Ok(all) = answer else { return Some("an interface that gopls does not tell".to_owned()) };
    let outside = all.iter().find(|place| !sheets.below(&place.path).is_some_and(is_of_the_project))?;
    let package = outside.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Some(format!("an interface of {}, which the project does not define", package.unwrap_or_default()))
}
