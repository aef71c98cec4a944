//! The classes below a class: those that name it as a base, also by another name, and those that get it by `require`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::classes::{class_at, is_of_the_project};
use super::super::requests::{defined, left, places};
use super::super::texts::Spot;
use super::bases::Walk;
use super::other_names::{HEAD, Other, may_be_base, other, required_bases, search_for_others};
use crate::blocking::blocking;
use crate::lsp::{Location, of_path};
use crate::place::Lines;
use crate::syntax::{Language, Marks, occurrences_at};

/// How many exports are followed one after the other.
const MOST_EXPORTS: usize = 4;
/// How many classes are looked at that require their bases.
const MOST_REQUIRED: usize = 100;
/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

impl Walk<'_> {
    /// The classes that name one as a base, and its other names whose uses the judge knows; why they are not known.
    pub(super) async fn below(&mut self, class: &Spot) -> Result<(Vec<(PathBuf, Marks, usize)>, Vec<Spot>), String> {
        let unknown = || "a base that the language server does not name".to_owned();
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
            let leads_to = leads_to.ok_or_else(|| {
                format!("{}, of which the language server does not say what it is", self.sheets.word(&spot))
            })?;
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
}
