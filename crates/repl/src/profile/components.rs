//! The components of a cabal package: its library, executables, tests and benchmarks. GHCi loads the modules of one of
//! them, and a description lists the files of each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::packages::packages;

/// The files that describe a package or a project to cabal and stack.
const DESCRIPTIONS: [&str; 6] =
    ["*.cabal", "cabal.project", "cabal.project.local", "cabal.project.freeze", "stack.yaml", "package.yaml"];
/// The size limit of a description.
const MAX_BYTES: u64 = 1 << 20;
/// The maximum number of components reported.
const MANY: usize = 100;

/// A part of a package that GHCi loads separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Component {
    /// The name that cabal and stack use: `lib:two`, `exe:app`, `test:spec`.
    pub(crate) name: String,
    /// The directories of its sources.
    dirs: Vec<PathBuf>,
    main: Option<String>,
    modules: Vec<String>,
}

impl Component {
    /// Returns true if a module that GHCi loaded from this file belongs to the component.
    pub(crate) fn has(&self, module: &str, file: &Path) -> bool {
        let is_main = self.main.as_ref().is_some_and(|main| self.dirs.iter().any(|dir| dir.join(main) == file));
        is_main || self.modules.iter().any(|own| own == module) && self.is_below(file)
    }

    /// Returns true if one of these files, relative to a directory, belongs to the component.
    pub(crate) fn is_among(&self, sources: &BTreeSet<String>, cwd: &Path) -> bool {
        self.files().any(|file| sources.iter().any(|source| cwd.join(source) == file))
    }

    /// Returns true if its sources seem to declare a name: a module, a value at the start of a line, a type or a
    /// constructor. Reads a bounded number of files.
    pub(crate) fn declares(&self, name: &str) -> bool {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let begins = |line: &str| line.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_of_name));
        let is_type = name.starts_with(char::is_uppercase);
        let declares = |line: &str| {
            if is_type {
                !line.starts_with("import") && line.split(|c: char| !is_of_name(c)).any(|word| word == name)
            } else {
                begins(line)
            }
        };
        self.modules.iter().any(|module| module == name)
            || self
                .files()
                .take(MANY)
                .any(|file| project::regular::read(&file, MAX_BYTES).is_ok_and(|text| text.lines().any(declares)))
    }

    /// Returns the instruction to load it, as a clause.
    pub(crate) fn start(&self) -> String {
        let Component { name, .. } = self;
        let session = name.rsplit(':').next().unwrap_or(name);
        format!("repl_start {{\"session\": {session:?}, \"component\": {name:?}}} loads it")
    }

    /// Returns the paths where its files may be.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let modules = self.modules.iter().map(|module| module.replace('.', "/"));
        let modules = modules.flat_map(|module| [format!("{module}.hs"), format!("{module}.lhs")]);
        let files: Vec<String> = modules.chain(self.main.clone()).collect();
        self.dirs.iter().flat_map(move |dir| files.clone().into_iter().map(move |file| dir.join(file)))
    }

    fn is_below(&self, file: &Path) -> bool {
        self.depth(file).is_some()
    }

    /// Returns the number of path components in its source directory nearest above a file, if there is one.
    pub(crate) fn depth(&self, file: &Path) -> Option<usize> {
        self.dirs.iter().filter(|dir| file.starts_with(dir)).map(|dir| dir.components().count()).max()
    }
}

/// Returns the components of the package, or of the packages of the project, around a directory, from the nearest description.
pub(crate) fn components(cwd: &Path, root: &Path) -> Vec<Component> {
    let above = cwd.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
    for dir in std::iter::once(cwd).chain(above) {
        let mut found = of_package(dir);
        found.extend(
            packages(dir)
                .iter()
                .filter(|package| !package.as_os_str().is_empty())
                .flat_map(|package| of_package(&dir.join(package))),
        );
        if !found.is_empty() {
            found.truncate(MANY);
            return found;
        }
    }
    Vec::new()
}

/// Returns the files that describe the package or the project around a directory, and its packages. Each directory up
/// to `root` that has one counts.
pub(crate) fn descriptions(cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let above = cwd.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
    let mut found = Vec::new();
    for dir in std::iter::once(cwd).chain(above) {
        let of_packages = packages(dir).into_iter().filter(|package| !package.as_os_str().is_empty());
        let dirs = std::iter::once(dir.to_owned()).chain(of_packages.map(|package| dir.join(package)));
        for dir in dirs {
            let is_one = |name: &String| DESCRIPTIONS.iter().any(|pattern| super::pattern::matches(pattern, name));
            found.extend(super::detect::names(&dir).iter().filter(|name| is_one(name)).map(|name| dir.join(name)));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn of_package(dir: &Path) -> Vec<Component> {
    let names = super::detect::names(dir);
    let described = names.iter().filter(|name| super::pattern::matches("*.cabal", name));
    let texts = described.filter_map(|name| project::regular::read(&dir.join(name), MAX_BYTES).ok());
    texts.flat_map(|text| read(&text, dir)).collect()
}

/// A stanza of a description, with the fields that name files.
#[derive(Default)]
struct Stanza {
    kind: String,
    name: String,
    fields: Vec<(String, Vec<String>)>,
}

impl Stanza {
    fn field_values<'a>(&'a self, field: &'a str) -> impl Iterator<Item = &'a String> {
        self.fields.iter().filter(move |(name, _)| name == field).flat_map(|(_, words)| words)
    }
}

/// Parses a description line by line: text at the margin begins a stanza, `name: words` a field, and deeper indented
/// lines continue it. Fields in conditions count.
fn read(text: &str, dir: &Path) -> Vec<Component> {
    let mut package = String::new();
    let mut stanzas: Vec<Stanza> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--")) {
        let field =
            line.split_once(':').filter(|(name, _)| name.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        let words = |text: &str| -> Vec<String> {
            text.split([' ', '\t', ','])
                .filter(|word| !word.is_empty())
                .map(|word| word.trim_matches('"').to_owned())
                .collect()
        };
        let is_at_margin = !line.starts_with([' ', '\t']);
        match (field, stanzas.last_mut()) {
            (Some((name, value)), None) if name.eq_ignore_ascii_case("name") => value.trim().clone_into(&mut package),
            (Some(_), _) if is_at_margin => {}
            (Some((name, value)), Some(stanza)) => stanza.fields.push((name.trim().to_lowercase(), words(value))),
            (None, _) if is_at_margin => {
                let mut words = line.split_whitespace().map(|word| word.trim_end_matches('{').to_owned());
                let (kind, name) = (words.next().unwrap_or_default().to_lowercase(), words.next().unwrap_or_default());
                stanzas.push(Stanza { kind, name, fields: Vec::new() });
            }
            (None, Some(stanza)) => {
                if let Some((_, known)) = stanza.fields.last_mut() {
                    known.extend(words(line));
                }
            }
            (_, None) => {}
        }
    }
    let component = |stanza: &Stanza| {
        let kind = match &*stanza.kind {
            "library" => "lib",
            "executable" => "exe",
            "test-suite" => "test",
            "benchmark" => "bench",
            "foreign-library" => "flib",
            _ => return None,
        };
        let name = if stanza.name.is_empty() { &package } else { &stanza.name };
        let imported = stanza
            .field_values("import")
            .flat_map(|name| stanzas.iter().filter(move |common| common.kind == "common" && common.name == *name));
        let all: Vec<&Stanza> = std::iter::once(stanza).chain(imported).collect();
        let of = |field: &str| -> Vec<String> { all.iter().flat_map(|one| one.field_values(field)).cloned().collect() };
        let mut dirs: Vec<PathBuf> = of("hs-source-dirs").iter().map(|below| dir.join(below)).collect();
        if dirs.is_empty() {
            dirs.push(dir.to_owned());
        }
        let modules = [of("exposed-modules"), of("other-modules")].concat();
        Some(Component { name: format!("{kind}:{name}"), dirs, main: of("main-is").pop(), modules })
    };
    stanzas.iter().filter_map(component).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CABAL: &str = "cabal-version: 2.4
name:    two
-- library fake
common shared
  hs-source-dirs: app, more
library
  exposed-modules: Shape,
                   Area
  hs-source-dirs:
    src
  if flag(x)
    other-modules: Hidden
library inner
  exposed-modules: Inner
Executable app
  import: shared
  main-is: Main.hs
test-suite spec
  type: exitcode-stdio-1.0
  hs-source-dirs: test
  main-is: Spec.hs
  other-modules: Paths_two
";

    #[test]
    fn a_description_tells_what_each_has() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        std::fs::write(dir.join("two.cabal"), CABAL).unwrap();
        std::fs::create_dir(dir.join("src")).unwrap();
        let all = components(&dir.join("src"), dir);
        let names: Vec<&str> = all.iter().map(|component| &*component.name).collect();
        assert_eq!(names, ["lib:two", "lib:inner", "exe:app", "test:spec"]);
        let owner = |module: &str, file: &str| -> Vec<&str> {
            all.iter()
                .filter(|component| component.has(module, &dir.join(file)))
                .map(|component| &*component.name)
                .collect()
        };
        assert_eq!(owner("Area", "src/Area.hs"), ["lib:two"]);
        assert_eq!(owner("Hidden", "./src/Hidden.hs"), ["lib:two"]);
        assert_eq!(owner("Main", "app/Main.hs"), ["exe:app"]);
        assert_eq!(owner("Main", "more/Main.hs"), ["exe:app"]);
        assert_eq!(owner("Main", "test/Spec.hs"), ["test:spec"]);
        assert_eq!(owner("Inner", "Inner.hs"), ["lib:inner"]);
        assert_eq!(owner("Area", "elsewhere/Area.hs"), ["lib:inner"; 0]);
        for odd in ["", "\0", "library", ":", "  x: y\nlibrary {\n}\n"] {
            read(odd, dir);
        }
    }
}
