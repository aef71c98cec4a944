//! An index of the names in compiled files: from a place to its names, and from a name to its places.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use syntax::is_word;

use super::reader::{Names, hash, how};

/// The index of a name.
pub(super) type Id = u32;

/// A name at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub at: usize,
    pub id: Id,
    /// Bits of [`how`].
    pub how: u32,
}

#[derive(Debug, Default)]
pub(super) struct File {
    text: (usize, u64),
    /// Sorted by place.
    uses: Vec<Use>,
    /// Type class evidence by place.
    evidence: Vec<(usize, Id)>,
    /// Instance heads by place.
    instances: Vec<(usize, Id)>,
}

impl File {
    /// True if GHC compiled this text.
    pub(super) fn has_text(&self, text: &[u8]) -> bool {
        self.text == (text.len(), hash(text))
    }

    /// Returns the names at a place.
    pub(super) fn at(&self, at: usize) -> &[Use] {
        let start = self.uses.partition_point(|one| one.at < at);
        let end = self.uses.partition_point(|one| one.at <= at);
        &self.uses[start..end]
    }

    /// Returns the instance that contains a method at a place.
    pub(super) fn instance_before(&self, at: usize) -> Option<Id> {
        self.instances.iter().rev().find(|(head, _)| *head < at).map(|(_, id)| *id)
    }

    fn evidence_at(&self, at: usize) -> impl Iterator<Item = Id> {
        self.evidence.iter().filter(move |(place, _)| *place == at).map(|(_, id)| *id)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// By path, relative to the root.
    pub(super) files: BTreeMap<Arc<Path>, File>,
    /// Files that were not compiled, with the reason.
    pub(super) open: BTreeMap<PathBuf, String>,
    places: HashMap<Id, Vec<(Arc<Path>, Use)>>,
    /// The declarations of names in the project.
    declared: HashMap<Id, (Arc<Path>, usize)>,
    /// By their index.
    names: Vec<Name>,
    /// The components of each piece of evidence.
    made: HashMap<Id, Vec<Id>>,
}

#[derive(Debug)]
struct Name {
    /// As the source writes it.
    name: String,
    is_local: bool,
    /// True for a name of another package.
    is_external: bool,
}

impl Index {
    /// Builds the index. `files` are the absolute paths of the modules.
    pub(super) fn new<'a>(root: &Path, modules: &'a [(PathBuf, Arc<Names>)], open: BTreeMap<PathBuf, String>) -> Index {
        let mut index = Index { open, ..Index::default() };
        let homes: HashMap<(&str, &str), String> = modules
            .iter()
            .map(|(file, names)| ((names.unit.as_str(), names.module.as_str()), file.display().to_string()))
            .collect();
        let own: BTreeSet<&str> = homes.keys().map(|(unit, _)| *unit).collect();
        // By namespace, home and name. The home is the file of its module, or its package and module. For a local name it is
        // the file and the place.
        let mut numbers: HashMap<(&str, String, &str), Id> = HashMap::new();
        for (file, names) in modules {
            let Ok(below) = file.strip_prefix(root) else { continue };
            let Ok(text) = crate::search::read(file) else { continue };
            if !names.are_of(&text) {
                continue;
            }
            let path: Arc<Path> = below.into();
            let id_of = |(space, unit, from, name): &'a (String, String, String, String)| {
                let home = match homes.get(&(unit.as_str(), from.as_str())) {
                    // Evidence has no place: its name is unique in its unit.
                    _ if unit.is_empty() && name.starts_with('$') => {
                        format!("{}\n{from}\n{}", file.display(), names.unit)
                    }
                    _ if unit.is_empty() => format!("{}\n{from}\n", file.display()),
                    Some(home) => home.clone(),
                    None => format!("{unit}:{from}"),
                };
                *numbers.entry((space.as_str(), home, name.as_str())).or_insert_with(|| {
                    let is_local = unit.is_empty();
                    let is_external = !is_local && !own.contains(unit.as_str());
                    index.names.push(Name { name: bare(name).to_owned(), is_local, is_external });
                    index.names.len() as Id - 1
                })
            };
            let ids: Vec<Id> = names.names.iter().map(id_of).collect();
            index.add(&path, &text, names, &ids);
        }
        for (path, file) in &mut index.files {
            file.uses.sort();
            file.uses.dedup();
            file.instances.sort();
            for one in &file.uses {
                index.places.entry(one.id).or_default().push((path.clone(), *one));
                if one.how & how::DECLARATION != 0
                    && one.how & how::INSTANCE_METHOD == 0
                    && !index.names[one.id as usize].is_local
                {
                    index.declared.entry(one.id).or_insert_with(|| (path.clone(), one.at));
                }
            }
        }
        index
    }

    fn add(&mut self, path: &Arc<Path>, text: &[u8], names: &Names, ids: &[Id]) {
        let lines = Columns::new(text);
        let file = self.files.entry(path.clone()).or_default();
        file.text = (text.len(), hash(text));
        let bare: Vec<&str> = names.names.iter().map(|(_, _, _, name)| bare(name)).collect();
        // Variables and fields that a `..` binds.
        let mut wild: BTreeMap<(u32, u32), Vec<(usize, u32)>> = BTreeMap::new();
        let mut by_span: HashMap<[u32; 3], usize> = HashMap::new();
        for &[name, line, from, to, how] in &names.uses {
            let Some(start) = lines.offset(line as usize, from as usize) else { continue };
            let number = name as usize;
            if how & how::INSTANCE != 0 {
                file.instances.push((start, ids[number]));
                continue;
            }
            let Some(end) = lines.offset(line as usize, to as usize).filter(|end| *end > start) else { continue };
            let whole = &text[start..end];
            if whole == b".." {
                wild.entry((line, from)).or_default().push((number, how));
            } else if let Some(at) = place(whole, bare[number]) {
                file.uses.push(Use { at: start + at, id: ids[number], how });
                by_span.insert([line, from, to], start + at);
            }
        }
        let evidence = names.uses.iter().filter(|[.., how]| *how == how::EVIDENCE);
        file.evidence.extend(
            evidence
                .filter_map(|&[name, line, from, to, _]| Some((*by_span.get(&[line, from, to])?, ids[name as usize]))),
        );
        // In the scope of `R{..}` a variable means the field of the same name.
        let mut fields: HashMap<Id, Id> = HashMap::new();
        for all in wild.values() {
            for (field, _) in all.iter().filter(|(_, how)| how & how::FIELD != 0) {
                let is_bound =
                    |(variable, how): &&(usize, u32)| how & how::BINDING != 0 && bare[*variable] == bare[*field];
                fields.extend(all.iter().filter(is_bound).map(|(variable, _)| (ids[*variable], ids[*field])));
            }
        }
        let more: Vec<Use> =
            file.uses.iter().filter_map(|one| Some(Use { id: *fields.get(&one.id)?, how: 1, ..*one })).collect();
        file.uses.extend(more);
        for made in &names.evidence {
            let mut all = made.iter().map(|number| ids[*number as usize]);
            if let Some(name) = all.next() {
                self.made.entry(name).or_default().extend(all);
            }
        }
    }

    pub(super) fn file(&self, path: &Path) -> Option<&File> {
        self.files.get(path)
    }

    pub(super) fn is_local(&self, id: Id) -> bool {
        self.names[id as usize].is_local
    }

    /// True for a name of another package.
    pub(super) fn is_external(&self, id: Id) -> bool {
        self.names[id as usize].is_external
    }

    pub(super) fn name(&self, id: Id) -> &str {
        &self.names[id as usize].name
    }

    pub(super) fn places(&self, id: Id) -> &[(Arc<Path>, Use)] {
        self.places.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the declaration of a project name, or the binding of a local name.
    pub(super) fn declaration(&self, id: Id) -> Option<(Arc<Path>, usize)> {
        let bound = || self.places(id).iter().find(|(_, one)| one.how & how::BINDING != 0);
        self.declared.get(&id).cloned().or_else(|| bound().map(|(path, one)| (path.clone(), one.at)))
    }

    /// True if a use of a method may run that of an instance, according to its type evidence: that of the instance, of one
    /// that uses it, or of any that the caller supplies.
    pub(super) fn may_run(&self, file: &File, at: usize, wanted: Id) -> bool {
        let mut open: Vec<Id> = file.evidence_at(at).collect();
        let (mut seen, mut is_given) = (BTreeSet::new(), open.is_empty());
        while let Some(id) = open.pop() {
            if id == wanted {
                return true;
            }
            if seen.insert(id) {
                match self.made.get(&id) {
                    Some(of) => open.extend(of),
                    None => is_given |= self.is_local(id),
                }
            }
        }
        is_given
    }
}

/// Returns the source name: GHC names duplicate record fields `$sel:x:Point`.
fn bare(name: &str) -> &str {
    name.strip_prefix("$sel:").and_then(|rest| rest.split(':').next()).unwrap_or(name)
}

/// Returns the offset of a name in its qualified or quoted form: `M.area`, `(<+>)`, `` `plus` ``.
fn place(whole: &[u8], name: &str) -> Option<usize> {
    let end = whole.iter().rposition(|byte| !b") `\t".contains(byte))? + 1;
    let before = whole[..end].strip_suffix(name.as_bytes())?;
    let begins_word = is_word(*name.as_bytes().first()?);
    let is_whole = before.last().is_none_or(|byte| {
        if begins_word { !is_word(*byte) && *byte != b'\'' || before == b"'" } else { b" (`.".contains(byte) }
    });
    is_whole.then_some(before.len())
}

/// Converts positions of GHC to offsets: columns count characters from 1, and a tab advances to the next multiple of eight.
struct Columns<'a> {
    text: &'a [u8],
    lines: Vec<usize>,
}

impl<'a> Columns<'a> {
    fn new(text: &'a [u8]) -> Columns<'a> {
        let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|end| end + 1)).collect();
        Columns { text, lines }
    }

    fn offset(&self, line: usize, wanted: usize) -> Option<usize> {
        let start = *self.lines.get(line.checked_sub(1)?)?;
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        // GHC does not count the byte order mark.
        let mark = if start == 0 && self.text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut column = 1;
        let mut at = start + mark;
        while column < wanted {
            let byte = *self.text.get(at).filter(|_| at < end)?;
            column = if byte == b'\t' { (column - 1) / 8 * 8 + 9 } else { column + 1 };
            at += 1;
            while at < end && self.text[at] & 0xc0 == 0x80 {
                at += 1;
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_what_stands_for_them() {
        let found = |whole: &str, name: &str| place(whole.as_bytes(), name);
        assert_eq!(found("area", "area"), Some(0));
        assert_eq!(found("Data.Geo.area", "area"), Some(9));
        assert_eq!(found("`plus`", "plus"), Some(1));
        assert_eq!(found("( <+> )", "<+>"), Some(2));
        assert_eq!(found("M..", "."), Some(2));
        assert_eq!(found("'Just", "Just"), Some(1));
        assert_eq!(found("subarea", "area"), None);
        assert_eq!(found("<<+>", "<+>"), None);
        assert_eq!(found("<+>", "area"), None);
    }

    #[test]
    fn columns_count_tabs_and_characters() {
        let columns = Columns::new("aé x\n\ty\n".as_bytes());
        assert_eq!([columns.offset(1, 4), columns.offset(2, 9), columns.offset(2, 10)], [Some(4), Some(7), Some(8)]);
        assert_eq!(columns.offset(9, 1), None);
    }
}
