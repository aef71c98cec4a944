//! Base classes and interfaces that the project does not define, as a judge knows them: of the class that a definition is a
//! member of, of its bases, and of the classes below it, whose other bases may call what they inherit.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::classes::{class_at, is_ambient, is_inert, is_object_type, is_of_the_project, lacks, spot};
use super::super::requests::{asked_at, defined, left};
use super::super::texts::{Sheets, Spot};
use super::given;
use crate::answer::Found;
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::rule::Rule;
use crate::search::Scope;
use crate::server::Session;
use crate::syntax::{Kind, Language, Marks, family, occurrences_at};

/// How many bases and classes are followed, and how many definitions are asked about.
const MOST_BASES: usize = 50;
const MOST_ASKED: usize = 20;
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
    if !Rule::OutsideBases.is_on() {
        return None;
    }
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

/// The way from a member through the bases of its class and those of the classes below.
pub(super) struct Walk<'a> {
    /// Of the member.
    pub(super) name: &'a str,
    pub(super) language: Language,
    pub(super) scope: &'a Scope,
    pub(super) session: &'a Session,
    pub(super) sheets: &'a mut Sheets,
    pub(super) until: Instant,
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
                if below.is_none() && blocking(|| lacks(self.sheets, &target, self.name)) {
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
