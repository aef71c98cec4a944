//! Source locations: `:loc-at`, `:uses`, `:show modules`, and the name at a location.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use diagnostics::ghc::split_span;

/// A location in a file, or a module of a package that has no file here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Location {
    /// The file, in GHCi's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The first column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The last column, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
    /// The package, if the code was not compiled here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The module, if the code was not compiled here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

impl Location {
    /// Formats the location: `src/A.hs:7:1-4`, or the module and its package.
    pub fn text(&self) -> String {
        match (&self.file, self.line, self.column, self.end_line, self.end_column) {
            (Some(file), Some(line), Some(column), Some(end_line), Some(end_column)) if end_line == line => {
                if end_column == column {
                    format!("{file}:{line}:{column}")
                } else {
                    format!("{file}:{line}:{column}-{end_column}")
                }
            }
            (Some(file), Some(line), Some(column), Some(end_line), Some(end_column)) => {
                format!("{file}:({line},{column})-({end_line},{end_column})")
            }
            _ => {
                let module = self.module.as_deref().unwrap_or("?");
                self.package.as_ref().map_or(module.to_owned(), |package| format!("{module} ({package})"))
            }
        }
    }
}

/// Parses the answer of `:loc-at` and `:uses`; each location once, in the order given.
pub fn locations(stdout: &str) -> Vec<Location> {
    let mut list: Vec<Location> = Vec::new();
    for line in stdout.lines() {
        let location = match split_span(line) {
            Some((file, span)) => Location {
                file: Some(file.to_owned()),
                line: Some(span.line),
                column: Some(span.column),
                end_line: Some(span.end_line),
                end_column: Some(span.end_column),
                package: None,
                module: None,
            },
            // `base-4.15.1.0:base-4.15.1.0:GHC.Float`
            None => match line.split(':').collect::<Vec<_>>()[..] {
                [package, .., module] if !line.contains(' ') => Location {
                    file: None,
                    line: None,
                    column: None,
                    end_line: None,
                    end_column: None,
                    package: Some(package.to_owned()),
                    module: Some(module.to_owned()),
                },
                _ => continue,
            },
        };
        if !list.contains(&location) {
            list.push(location);
        }
    }
    list
}

/// A module of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    pub module: String,
    /// Its file, in GHCi's notation.
    pub file: String,
}

/// Parses the answer of `:show modules`.
pub fn loaded(stdout: &str) -> Vec<Loaded> {
    let one = |line: &str| {
        let (module, rest) = line.split_once("( ")?;
        let (inside, _) = rest.rsplit_once(" )")?;
        let file = inside.split_once(", ").map_or(inside, |(file, _)| file);
        Some(Loaded { module: module.trim().to_owned(), file: file.to_owned() })
    };
    stdout.lines().filter_map(one).collect()
}

impl Loaded {
    /// Returns true if `name` refers to this module: by its name, or by a path to its file from `cwd`.
    pub fn is(&self, name: &str, cwd: &Path) -> bool {
        let plain = |path: &str| cwd.join(path.strip_prefix("./").unwrap_or(path));
        name == self.module
            || plain(name) == plain(&self.file)
            || matches!((plain(name).canonicalize(), plain(&self.file).canonicalize()), (Ok(a), Ok(b)) if a == b)
    }
}

/// Returns the name at a column (from 1) of a line: its first column, the column after its last, and its text without
/// qualification. GHCi counts characters.
pub fn identifier_at(line: &str, column: u32) -> Option<(u32, u32, String)> {
    let characters: Vec<char> = line.chars().collect();
    let at = usize::try_from(column).ok()?.checked_sub(1)?;
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let symbol =
        |c: char| "!#$%&*+./<=>?@\\^|-~:".contains(c) || (!c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace());
    let character = *characters.get(at)?;
    let belongs: &dyn Fn(char) -> bool = match character {
        c if word(c) => &word,
        c if symbol(c) => &symbol,
        _ => return None,
    };
    let mut start = at;
    while start > 0 && belongs(characters[start - 1]) {
        start -= 1;
    }
    let mut end = at + 1;
    while end < characters.len() && belongs(characters[end]) {
        end += 1;
    }
    let name = characters[start..end].iter().collect();
    // A qualified name is one span: `Map.lookup`.
    while start >= 2 && characters[start - 1] == '.' && word(characters[start - 2]) && word(character) {
        let mut qualifier = start - 1;
        while qualifier > 0 && word(characters[qualifier - 1]) {
            qualifier -= 1;
        }
        if !characters[qualifier].is_uppercase() {
            break;
        }
        start = qualifier;
    }
    Some((u32::try_from(start).ok()? + 1, u32::try_from(end).ok()? + 1, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_sorts() {
        let stdout = "src/Area.hs:(7,1)-(7,4)\nsrc/Area.hs:(7,1)-(7,4)\nbase-4.15.1.0:base-4.15.1.0:GHC.Float\nCouldn't \
                      resolve to any modules.\n";
        let list = locations(stdout);
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].line, list[0].end_column), (Some(7), Some(4)));
        assert_eq!((list[1].package.as_deref(), list[1].module.as_deref()), (Some("base-4.15.1.0"), Some("GHC.Float")));
    }

    #[test]
    fn modules_are_known_by_name_and_path() {
        let list = loaded("Area             ( src/Area.hs, interpreted )\nData.B ( /x/B.hs, /x/B.o )\n");
        assert_eq!(list.len(), 2);
        let cwd = Path::new("/project");
        for name in ["Area", "src/Area.hs", "./src/Area.hs", "/project/src/Area.hs"] {
            assert!(list[0].is(name, cwd), "{name}");
        }
        assert!(!list[0].is("Area.hs", cwd));
        assert!(list[1].is("/x/B.hs", cwd));
    }

    #[test]
    fn the_name_under_a_column() {
        let line = "total = Data.List.sum' . map <$> λx";
        let name = |column| identifier_at(line, column).map(|(from, to, name)| format!("{from}-{to} {name}"));
        assert_eq!(name(1).as_deref(), Some("1-6 total"));
        assert_eq!(name(5).as_deref(), Some("1-6 total"));
        assert_eq!(name(6), None);
        assert_eq!(name(19).as_deref(), Some("9-23 sum'"));
        assert_eq!(name(31).as_deref(), Some("30-33 <$>"));
        assert_eq!(name(35).as_deref(), Some("34-36 λx"));
        assert_eq!(name(0), None);
        assert_eq!(name(99), None);
    }
}
