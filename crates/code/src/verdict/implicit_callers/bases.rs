//! Base classes and interfaces that the project does not define, as a judge knows them: of the class that a definition is a
//! member of, of its bases, and of the classes below it, whose other bases may call what they inherit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::requests::{asked_at, defined, left, places};
use super::super::texts::{Sheets, Spot};
use crate::answer::Found;
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::lsp::{Location, of_path};
use crate::server::Session;
use crate::syntax::{Kind, Language, Marks, family, occurrences_at};

/// How many bases and classes are followed, and how many definitions are asked about.
const MOST_BASES: usize = 50;
const MOST_ASKED: usize = 20;
/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// Who may, by a base that the project does not define.
pub(in crate::verdict) async fn by_bases(
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
            _ => Walk { language: one.language, session, sheets, until }.base(one).await,
        };
        if let Some(base) = base {
            let label = &one.label;
            return Some(format!("{label} stands below {base}: code outside may use {name} without naming it here"));
        }
    }
    None
}

struct Walk<'a> {
    language: Language,
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
            let Some(below) = self.below(&class).await else { return Some("what the judge does not name".to_owned()) };
            for (path, marks, skip) in below {
                if marks.has_nameless_base {
                    return Some("a base without a name".to_owned());
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
                if below.is_none() && is_inert(&target.path, &name) {
                    continue;
                }
                if below.is_none() || is_ambient(&target.path) {
                    return Some(format!("{word}, which the project does not define"));
                }
                // clangd leads from what it does not know to what is around it.
                let is_it = self.language != Language::Cpp || name == word;
                let marks = is_it.then(|| blocking(|| self.class_at(&target))).flatten();
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

    /// What stands around the class that is declared at a spot.
    fn class_at(&self, class: &Spot) -> Option<(Marks, usize)> {
        let sheet = self.sheets.get(&class.path)?;
        let start = class.start.checked_sub(sheet.skip)?;
        let place = start..start + self.sheets.word(class).len();
        let language = Language::of(&class.path, sheet.text.as_bytes())?;
        let all = occurrences_at(language, sheet.text.as_bytes(), &[place], Instant::now() + WITHIN)?;
        let declares = all.into_iter().next()?.declares?;
        let is_class = matches!(declares.kind, Kind::Class | Kind::Struct | Kind::Interface | Kind::Union);
        is_class.then_some((declares.marks, sheet.skip))
    }

    /// The classes that name one as a base.
    async fn below(&mut self, class: &Spot) -> Option<Vec<(PathBuf, Marks, usize)>> {
        let sheet = self.sheets.get(&class.path)?;
        let params = json!({
            "textDocument": {"uri": of_path(&class.path)},
            "position": sheet.position(class.start, self.session.encoding),
            "context": {"includeDeclaration": false},
        });
        let within = left(self.until, self.session);
        let places = places(&self.session.client, "textDocument/references", &params, within).await;
        let places = places.ok()?;
        if blocking(|| places.iter().any(|place| self.is_renamed(place))) {
            return None;
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
            Some(by_file.into_iter().flat_map(|(path, spots)| self.classes_of(&path, spots)).collect())
        })
    }

    /// Whether a use of a class gives it another name, by which others may have it as their base: `import C as D`, `D = a.C`.
    fn is_renamed(&mut self, place: &Location) -> bool {
        let Some(spot) = self.sheets.below(&place.path).and_then(|_| self.sheets.spot(place)) else { return false };
        let Some(sheet) = self.sheets.get(&spot.path) else { return false };
        let text: &str = &sheet.text;
        let (Some(before), Some(after)) =
            (text.get(..spot.start.saturating_sub(sheet.skip)), text.get(spot.end.saturating_sub(sheet.skip)..))
        else {
            return false;
        };
        let before = before.rsplit('\n').next().unwrap_or_default();
        let after = after.split('\n').next().unwrap_or_default().trim();
        let is_caught = ["except", "with", "case"].iter().any(|word| before.trim_start().starts_with(word));
        let owner = before.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')).trim_end();
        let is_assigned = owner.ends_with('=') && !owner.ends_with("==") && matches!(after, "" | ";");
        is_assigned || after.starts_with("as ") && !is_caught
    }

    /// Whether a class begins a little before a spot.
    fn may_be_base(&self, spot: &Spot) -> bool {
        let Some(sheet) = self.sheets.get(&spot.path) else { return false };
        let start = spot.start.saturating_sub(sheet.skip);
        let before = &sheet.text.as_bytes()[start.saturating_sub(500)..start];
        ["class", "struct", "extends", "implements"]
            .iter()
            .any(|word| memchr::memmem::find(before, word.as_bytes()).is_some())
    }

    /// The classes of a file in whose lists of bases these stand.
    fn classes_of(&self, path: &Path, mut spots: Vec<Spot>) -> Vec<(PathBuf, Marks, usize)> {
        let Some(sheet) = self.sheets.get(path) else { return Vec::new() };
        let text = sheet.text.as_bytes();
        spots.sort();
        spots.dedup();
        let places: Vec<_> = spots.iter().map(|spot| spot.start - sheet.skip..spot.end - sheet.skip).collect();
        let language = Language::of(path, text).unwrap_or(self.language);
        let all = occurrences_at(language, text, &places, Instant::now() + WITHIN).unwrap_or_default();
        let mut names: Vec<_> = all.iter().filter_map(|one| Some((one.enclosing.last()?, one.bytes.clone()))).collect();
        names.sort_by_key(|(place, _)| place.at);
        let classes = names.into_iter().filter_map(|(place, base)| {
            let class = Spot { path: path.to_owned(), start: place.at + sheet.skip, end: place.at + sheet.skip };
            let (marks, skip) = self.class_at(&class)?;
            marks.bases.contains(&base).then(|| (path.to_owned(), marks, skip))
        });
        classes.collect()
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

/// Where a name stands, `skip` bytes after what its text counts.
fn spot(path: &Path, name: &std::ops::Range<usize>, skip: usize) -> Spot {
    Spot { path: path.to_owned(), start: name.start + skip, end: name.end + skip }
}

/// Whether people of the project write a file, by its folders.
fn is_of_the_project(below: &Path) -> bool {
    !below.iter().any(|part| {
        let part = part.to_string_lossy();
        part.starts_with('.') || matches!(&*part, "node_modules" | "site-packages" | "vendor")
    })
}

/// Whether a file only tells what others define.
fn is_ambient(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".d.ts", ".d.mts", ".d.cts", ".pyi"].iter().any(|end| name.ends_with(end))
}

/// Whether a class outside of the project calls nothing but what the language itself calls.
fn is_inert(path: &Path, class: &str) -> bool {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let module = file.split('.').next().unwrap_or_default();
    let is_of_python = matches!(module, "_py_abc" | "abc" | "builtins" | "enum" | "typing" | "typing_extensions")
        && (folder == "stdlib" || folder.starts_with("python3"));
    // Those call methods that a class may have of its own.
    let calls = class.starts_with("Mutable")
        || class.ends_with("IO")
        || matches!(class, "type" | "AbstractSet" | "Mapping")
        || class.ends_with("Generator")
        || class.ends_with("Coroutine")
        || class.ends_with("ExceptionGroup");
    let is_of_script =
        file.starts_with("lib.") && file.ends_with(".d.ts") && (class.ends_with("Error") || class == "Object");
    is_of_python && !calls || is_of_script
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
