//! The definitions of a project and their true locations, determined before hob is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use taskkit::setup;
use taskkit::workspace::{read, root};

use super::project::{Method, Project};
use super::{marks, renames};
use crate::dependencies::files;

/// Number of definitions of each project.
pub(super) const SYMBOLS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Definition {
    /// Path relative to the project's folder.
    pub(super) file: String,
    /// First line, from 1.
    pub(super) line: usize,
    /// Last line.
    pub(super) end: usize,
    pub(super) name: String,
    pub(super) kind: String,
}

/// A location in compiler output: lines and columns from 1, in characters; the last column is exclusive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Location {
    pub(super) file: String,
    pub(super) first: (usize, usize),
    pub(super) last: (usize, usize),
}

impl Location {
    pub(super) fn holds(&self, file: &str, at: (usize, usize)) -> bool {
        self.file == file && self.first <= at && at < self.last
    }

    /// Returns the location of one character.
    pub(super) fn at(file: &str, line: usize, column: usize) -> Location {
        Location { file: file.to_owned(), first: (line, column), last: (line, column + 1) }
    }

    pub(super) fn display(&self) -> String {
        format!("{}:{}:{}", self.file, self.first.0, self.first.1)
    }
}

/// A definition and its true locations.
pub(super) type Truth = Vec<(Definition, Vec<Location>)>;

/// Chooses the definitions of a project, and finds their locations by compiling the copy.
pub(super) fn truth(project: &Project, copy: &Path, symbols: usize) -> Result<Truth> {
    let mut printed = BTreeMap::new();
    let all = match &project.method {
        Method::Marks(marks) => tags(copy, project.kept, marks)?,
        Method::Renames => renames::definitions(copy)?,
        Method::Go => {
            let script = root().join("tools/bench/checkers/places.go");
            read_printed(&read(Command::new("go").arg("run").arg(script).current_dir(copy))?, &mut printed)?
        }
        Method::TypeScript => {
            let script = setup::checkers()?.join("places.mjs");
            let mut node = Command::new("node");
            node.arg(script).arg("tsconfig.json").current_dir(copy);
            read_printed(&read(&mut node)?, &mut printed)?
        }
    };
    let mut left = chosen(copy, project, all)?.into_iter();
    let mut truth: Truth = Vec::new();
    while truth.len() < symbols {
        let wanted = symbols - truth.len();
        let some: Vec<Definition> = left.by_ref().take(wanted.min(project.at_once())).collect();
        if some.is_empty() {
            break;
        }
        let places = match &project.method {
            Method::Marks(marks) => marks::mark_and_compile(copy, marks, &some)?,
            Method::Renames => renames::rename_and_compile(copy, &some)?,
            Method::Go | Method::TypeScript => {
                some.iter().map(|one| Some(printed.remove(one).unwrap_or_default())).collect()
            }
        };
        truth.extend(some.into_iter().zip(places).filter_map(|(one, places)| Some((one, places?))));
    }
    ensure!(truth.len() == symbols, "{} has only {} definitions that can be judged", project.title(), truth.len());
    Ok(truth)
}

/// Returns the definitions outside tests whose name occurs at least three times, in pseudorandom order.
fn chosen(copy: &Path, project: &Project, all: Vec<Definition>) -> Result<Vec<Definition>> {
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(copy, project.endings)? {
        let text = std::fs::read_to_string(&file).with_context(|| format!("could not read {file:?}"))?;
        text.split(|c| !is_word(c)).for_each(|word| *words.entry(word.to_owned()).or_default() += 1);
    }
    let is_asked = |one: &Definition| {
        let is_test = one.file.contains("test") || one.file.contains("example") || one.name.starts_with("test");
        !is_test && !one.name.starts_with("__") && words.get(&one.name).is_some_and(|count| *count > 2)
    };
    let mut all: Vec<Definition> = all.into_iter().filter(is_asked).collect();
    // FNV-1a.
    let hash = |one: &Definition| {
        let key = format!("{} {}", one.name, one.file);
        key.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    all.sort_by_key(|one| (hash(one), one.line));
    all.dedup_by(|a, b| (&a.name, &a.file) == (&b.name, &b.file));
    Ok(all)
}

/// Returns definitions according to ctags, which reads lines without semantics. Duplicates are dropped.
fn tags(copy: &Path, folders: &[&str], marks: &marks::Marks) -> Result<Vec<Definition>> {
    setup::ctags()?;
    let mut ctags = Command::new("ctags");
    ctags.args(["--output-format=json", "--fields=+ne", "-R", "-f", "-"]);
    ctags.arg(format!("--languages={}", marks.language)).arg(format!("--kinds-{}={}", marks.language, marks.kinds));
    let said = read(ctags.args(folders).current_dir(copy))?;
    let mut by_name: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for line in said.lines() {
        let tag: Value = serde_json::from_str(line).with_context(|| format!("no tag: {line}"))?;
        let text = |field: &str| tag[field].as_str().unwrap_or_default().to_owned();
        let number = |field: &str| tag[field].as_u64().unwrap_or_default() as usize;
        let (name, scope) = (text("name"), text("scope"));
        // Constructors, and declarations in tests.
        if scope.rsplit([':', '.']).next() == Some(&name) || scope.contains("test") || !name.chars().all(is_word) {
            continue;
        }
        let line = number("line");
        let end = if marks.is_silent_inside { number("end").max(line) } else { line };
        // A definition with a prototype is marked at the prototype.
        let key = if marks.language == "Rust" {
            format!("{scope} {name} {} {line}", text("path"))
        } else {
            format!("{scope} {name}")
        };
        by_name.entry(key).or_default().push(Definition { file: text("path"), line, end, name, kind: text("kind") });
    }
    let one = |mut all: Vec<Definition>| {
        if all.iter().any(|one| one.kind == "prototype") {
            all.retain(|one| one.kind == "prototype");
        }
        all.pop().filter(|_| all.is_empty())
    };
    Ok(by_name.into_values().filter_map(one).collect())
}

/// Parses definitions and resolved identifiers from the programs' output.
fn read_printed(said: &str, places: &mut BTreeMap<Definition, Vec<Location>>) -> Result<Vec<Definition>> {
    let mut definitions = BTreeMap::new();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in said.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["D", at, kind, name] => drop(definitions.insert(at, (kind, name))),
            ["U", at, meant] => drop(uses.entry(meant).or_default().insert(at)),
            _ => anyhow::bail!("neither a definition nor a use: {line}"),
        }
    }
    let place = |at: &str| {
        let mut parts = at.rsplitn(3, ':');
        let mut number = || parts.next()?.parse::<usize>().ok();
        let (column, line) = (number()?, number()?);
        Some(Location::at(parts.next()?, line, column))
    };
    for (at, (kind, name)) in definitions {
        let Location { file, first: (line, _), .. } = place(at).with_context(|| format!("no place: {at}"))?;
        let definition = Definition { file, line, end: line, name: name.to_owned(), kind: kind.to_owned() };
        let all = uses.get(at).into_iter().flatten().filter_map(|at| place(at)).collect();
        places.insert(definition, all);
    }
    Ok(places.keys().cloned().collect())
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

/// Returns the positions of a word in a line: columns from 1, in characters.
fn positions<'a>(line: &str, word: &'a str) -> impl DoubleEndedIterator<Item = usize> + use<'a> {
    let text: Vec<char> = line.chars().collect();
    let wanted: Vec<char> = word.chars().collect();
    let count = text.len();
    let is_at = move |at: &usize| {
        let end = at + wanted.len();
        text.get(*at..end) == Some(&wanted[..])
            && !(*at > 0 && is_word(text[at - 1]))
            && !text.get(end).is_some_and(|c| is_word(*c))
    };
    (0..count).filter(is_at).map(|at| at + 1)
}

/// Returns the first column of a word at or after a column.
pub(super) fn word_from(line: &str, word: &str, column: usize) -> Option<usize> {
    positions(line, word).find(|at| *at >= column)
}

/// Returns the last column of a word before a column.
pub(super) fn word_before(line: &str, word: &str, column: usize) -> Option<usize> {
    positions(line, word).rfind(|at| *at < column)
}
