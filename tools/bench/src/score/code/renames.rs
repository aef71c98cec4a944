//! Truth by renaming: a definition is renamed, and each location where GHC misses the old name is a use, until the project compiles.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::truth::{Definition, Location, is_word, word_from};
use crate::dependencies::files;

/// Other modules that only a build generates.
const PATHS: (&str, &str) =
    ("Paths_fgl.hs", "module Paths_fgl where\nimport Data.Version\nversion :: Version\nversion = makeVersion []\n");

/// Functions with a signature and types at the start of a line, whose names are long enough to be renamed.
pub(super) fn definitions(copy: &Path) -> Result<Vec<Definition>> {
    let mut all = Vec::new();
    for path in files(copy, &["hs"])? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {path:?}"))?;
        let file = path.strip_prefix(copy).unwrap_or(&path).to_string_lossy().into_owned();
        let mut depth = 0;
        for (number, line) in text.lines().enumerate() {
            let is_comment = depth > 0;
            depth += line.matches("{-").count() as isize - line.matches("-}").count() as isize;
            if is_comment {
                continue;
            }
            let mut words = line.split_whitespace();
            let (kind, name) = match (words.next(), words.next()) {
                (Some(kind @ ("data" | "newtype" | "type")), Some(name)) if line.starts_with(kind) => (kind, name),
                (Some(name), Some("::")) if line.starts_with(name) => ("function", name),
                _ => continue,
            };
            if name.chars().count() > 3 && name.chars().all(is_word) {
                let (file, line) = (file.clone(), number + 1);
                all.push(Definition { file, line, end: line, name: name.to_owned(), kind: kind.to_owned() });
            }
        }
    }
    Ok(all)
}

/// Renames definitions in the copy, and restores it. Empty for definitions that cannot be renamed alone.
pub(super) fn rename_and_compile(copy: &Path, some: &[Definition]) -> Result<Vec<Option<Vec<Location>>>> {
    let mut before = BTreeMap::new();
    for path in files(copy, &["hs"])? {
        let file = path.strip_prefix(copy).unwrap_or(&path).to_string_lossy().into_owned();
        before.insert(file, std::fs::read_to_string(&path)?);
    }
    let is_first = |(number, one): (usize, &Definition)| !some[..number].iter().any(|other| other.name == one.name);
    let mut is_renamed: Vec<bool> = some.iter().enumerate().map(is_first).collect();
    loop {
        let renamed = rename(copy, some, &is_renamed, before.clone());
        before.iter().try_for_each(|(file, text)| std::fs::write(copy.join(file), text))?;
        match renamed? {
            Ok(places) => return Ok(places.into_iter().zip(&is_renamed).map(|(all, is)| is.then_some(all)).collect()),
            Err(number) => {
                println!("score: {}:{}: {} cannot be renamed", some[number].file, some[number].line, some[number].name);
                is_renamed[number] = false;
            }
        }
    }
}

/// The locations of each, or the number of one that cannot be renamed.
type Renamed = std::result::Result<Vec<Vec<Location>>, usize>;

fn rename(
    copy: &Path,
    some: &[Definition],
    is_renamed: &[bool],
    mut texts: BTreeMap<String, String>,
) -> Result<Renamed> {
    let names: Vec<String> = some.iter().enumerate().map(|(number, one)| new_name(&one.name, number)).collect();
    let wanted = || (0..some.len()).filter(|number| is_renamed[*number]);
    for number in wanted() {
        let Definition { file, line, name, .. } = &some[number];
        let text = texts.get_mut(file).context("a definition lies in a source")?;
        let is_equation = |at: usize, text: &str| at + 1 == *line || word_from(text, name, 1) == Some(1);
        let lines = text.lines().enumerate().map(|(at, text)| match word_from(text, name, 1) {
            Some(column) if is_equation(at, text) => replaced(text, column, &names[number]),
            _ => text.to_owned(),
        });
        *text = lines.collect::<Vec<_>>().join("\n") + "\n";
    }
    let mut places: Vec<Vec<Location>> = vec![Vec::new(); some.len()];
    // Each round reaches the modules that import those of the previous round.
    for _ in 0..40 {
        texts.iter().try_for_each(|(file, text)| std::fs::write(copy.join(file), text))?;
        let errors = compile(copy, texts.keys())?;
        if errors.is_empty() {
            return Ok(Ok(places));
        }
        let mut is_changed = false;
        for (file, line, column, message) in &errors {
            let says = |name: &str| message.split(|c: char| !is_word(c)).any(|word| word == name);
            let is_missed = message.contains("ot in scope") || message.contains("does not export");
            let Some(number) = wanted().find(|number| is_missed && says(&some[*number].name)) else { continue };
            let text = texts.get_mut(file).with_context(|| format!("{file} is no source"))?;
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let here = lines.get_mut(line - 1).context("an error lies in a line")?;
            let Some(at) = word_from(here, &some[number].name, *column) else { continue };
            *here = replaced(here, at, &names[number]);
            places[number].push(Location::at(file, *line, at));
            *text = lines.join("\n") + "\n";
            is_changed = true;
        }
        if !is_changed {
            let is_named = |number: &usize| errors.iter().any(|(.., message)| message.contains(&names[*number]));
            let Some(number) = wanted().find(is_named) else { bail!("the renamed copy does not compile: {errors:?}") };
            return Ok(Err(number));
        }
    }
    bail!("the renamed copy does not compile after many rounds")
}

/// Returns another name of the same length, so that columns stay.
fn new_name(name: &str, number: usize) -> String {
    let start = if name.starts_with(char::is_uppercase) { "Z" } else { "z" };
    format!("{start}{number:02}{}", "q".repeat(name.chars().count() - 3))
}

fn replaced(line: &str, column: usize, name: &str) -> String {
    let length = name.chars().count();
    line.chars().take(column - 1).chain(name.chars()).chain(line.chars().skip(column - 1 + length)).collect()
}

/// Files, lines, columns and messages.
type Errors = Vec<(String, usize, usize, String)>;

fn compile<'a>(copy: &Path, sources: impl Iterator<Item = &'a String>) -> Result<Errors> {
    std::fs::write(copy.join(PATHS.0), PATHS.1)?;
    let mut ghc = Command::new("ghc");
    ghc.args(["-fno-code", "-fkeep-going", "-v1", "-w", "-fdiagnostics-color=never", "-dppr-cols=1000"]);
    ghc.env("LC_ALL", "C.UTF-8");
    let output = ghc.args(sources).current_dir(copy).stdin(Stdio::null()).output().context("could not run ghc")?;
    std::fs::remove_file(copy.join(PATHS.0))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let errors = read_errors(&said);
    if errors.is_empty() && !output.status.success() {
        bail!("ghc failed: {said}");
    }
    Ok(errors)
}

/// `A.hs:3:5: error:` and the indented lines after it.
fn read_errors(said: &str) -> Errors {
    let mut errors = Errors::new();
    for line in said.lines() {
        let begins = || {
            let (place, rest) = line.split_once(": error:")?;
            let mut parts = place.splitn(3, ':');
            let file = parts.next()?.to_owned();
            let number = |text: &str| text.split('-').next()?.parse().ok();
            Some((file, number(parts.next()?)?, number(parts.next()?)?, rest.to_owned()))
        };
        match (begins(), errors.last_mut()) {
            (Some(error), _) => errors.push(error),
            (None, Some((.., message))) if line.starts_with("    ") => message.push_str(line),
            _ => {}
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_keeps_the_columns() {
        assert_eq!(new_name("Graph", 7), "Z07qq");
        assert_eq!(replaced("f x = area x", 7, &new_name("area", 12)), "f x = z12q x");
    }

    #[test]
    fn errors_have_places_and_all_their_lines() {
        let said = "[1 of 2] Compiling A\n\nA.hs:3:5: error: Variable not in scope: area\n  |\n3 | f\n\n\
                    B.hs:1:11-14: error:\n    Module ‘A’ does not export ‘area’\n";
        let wanted =
            [("A.hs", 3, 5, " Variable not in scope: area"), ("B.hs", 1, 11, "    Module ‘A’ does not export ‘area’")];
        let wanted = wanted.map(|(file, line, column, message)| (file.to_owned(), line, column, message.to_owned()));
        assert_eq!(read_errors(said), wanted);
    }
}
