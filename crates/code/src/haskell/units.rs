//! Groups of files that GHC compiles together: package components, and files that belong to none.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::sources::{PLAN, Sources, module};
use super::toolchain::{Toolchain, entries};

/// A component of a package, as the reader prints it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Component {
    file: PathBuf,
    problem: Option<String>,
    package: String,
    version: String,
    kind: String,
    name: String,
    modules: Vec<String>,
    main: Option<String>,
    directories: Vec<PathBuf>,
    options: Vec<String>,
    dependencies: Vec<Dependency>,
    /// The packages among the dependencies that are installed.
    installed: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Dependency {
    package: String,
    library: String,
}

/// A group of files that GHC compiles together.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    /// The id, which is also the name of its folder.
    pub id: String,
    /// The working directory of GHC.
    pub directory: PathBuf,
    /// The options of the component for GHC, without those that hob adds.
    pub options: Vec<String>,
    /// The files to compile, by absolute path, with their modules.
    pub files: BTreeMap<PathBuf, String>,
    /// The package name and version, if other units may use it.
    pub package: Option<(String, String)>,
    /// The ids of units that it depends on.
    pub uses: BTreeSet<String>,
    /// Modules that hob generates, with their text.
    pub made: BTreeMap<String, String>,
}

/// The units of a worktree, dependencies first.
#[derive(Debug, Default)]
pub(super) struct Units {
    pub all: Vec<Unit>,
    /// Files that are not compiled, with the reason.
    pub open: BTreeMap<PathBuf, String>,
}

impl Unit {
    /// Returns the files to compile without those that failed.
    pub(super) fn files_without(&self, failed: &BTreeMap<PathBuf, String>) -> impl Iterator<Item = &Path> {
        self.files.keys().filter(|file| !failed.contains_key(*file)).map(PathBuf::as_path)
    }
}

impl Units {
    pub(super) fn new(sources: &Sources, components: &[Component], toolchain: &Toolchain) -> Units {
        let mut units = Units::default();
        let (root, plan) = (&toolchain.order.root, plan(&toolchain.order.root));
        let own: BTreeMap<Dependency, String> = components
            .iter()
            .filter(|one| one.kind == "library")
            .map(|one| (Dependency { package: one.package.clone(), library: one.name.clone() }, one.id()))
            .collect();
        // Files of invalid package descriptions are compiled as plain files.
        for component in components.iter().filter(|one| one.problem.is_none()) {
            units.all.push(component.unit(toolchain, &own, &plan));
        }
        let known: BTreeSet<PathBuf> = units.all.iter().flat_map(|unit| unit.files.keys().cloned()).collect();
        units.add_plain(root, sources, &known, own.values().cloned().collect());
        for file in sources.with_extension(&["hsc"]) {
            units.open.insert(file.to_owned(), "needs hsc2hs, which hob does not run".to_owned());
        }
        units.sort();
        units
    }

    /// Adds the files that no component lists: all modules in one unit, and each program in its own.
    fn add_plain(&mut self, root: &Path, sources: &Sources, known: &BTreeSet<PathBuf>, uses: BTreeSet<String>) {
        let mut library = Unit {
            id: "hob-plain".to_owned(),
            directory: root.to_owned(),
            package: Some(("hob-plain".to_owned(), "0".to_owned())),
            uses: uses.clone(),
            ..Unit::default()
        };
        let mut programs = Vec::new();
        let mut folders = BTreeSet::new();
        for file in sources.with_extension(HASKELL).filter(|file| !known.contains(*file)) {
            let text = String::from_utf8_lossy(&crate::search::read(file).unwrap_or_default()).into_owned();
            let name = module(file, &text);
            if name == "Main" {
                programs.push(file.to_owned());
                continue;
            }
            if library.files.values().any(|other| *other == name) {
                self.open.insert(file.to_owned(), format!("is one of several files that are module {name}"));
                continue;
            }
            folders.extend(folder_of(file, &name));
            library.files.insert(file.to_owned(), name);
        }
        library.options.extend(folders.iter().map(|folder| format!("-i{}", folder.display())));
        let is_empty = library.files.is_empty();
        for file in programs {
            let mut of = DefaultHasher::new();
            file.hash(&mut of);
            let own = file.parent().map(|folder| format!("-i{}", folder.display()));
            let mut program = Unit {
                id: format!("hob-program-{:016x}", of.finish()),
                directory: root.to_owned(),
                options: own.into_iter().collect(),
                files: BTreeMap::from([(file, "Main".to_owned())]),
                uses: uses.clone(),
                ..Unit::default()
            };
            program.uses.extend((!is_empty).then(|| library.id.clone()));
            self.all.push(program);
        }
        if !is_empty {
            self.all.push(library);
        }
    }

    /// Sorts dependencies first.
    fn sort(&mut self) {
        let mut left = std::mem::take(&mut self.all);
        while !left.is_empty() {
            let ids: BTreeSet<String> = left.iter().map(|unit| unit.id.clone()).collect();
            let waits = |unit: &Unit| unit.uses.iter().any(|used| *used != unit.id && ids.contains(used));
            let (waiting, next): (Vec<Unit>, Vec<Unit>) = left.into_iter().partition(waits);
            // Units that depend on each other, which cabal rejects, come last.
            let (next, waiting) = if next.is_empty() { (waiting, next) } else { (next, waiting) };
            self.all.extend(next);
            left = waiting;
        }
    }
}

/// Extensions of files that GHC compiles.
const HASKELL: &[&str] = &["hs", "lhs"];

/// Returns the source folder of a module: `src` for `Data.Map` in `src/Data/Map.hs`.
fn folder_of(file: &Path, module: &str) -> Option<PathBuf> {
    let depth = module.split('.').count();
    let below: PathBuf = module.split('.').collect();
    let folder = file.ancestors().nth(depth)?;
    (folder.join(below) == file.with_extension("")).then(|| folder.to_owned())
}

pub(super) fn display_path(root: &Path, file: &Path) -> String {
    project::visible::path(file.strip_prefix(root).unwrap_or(file))
}

/// Returns the package ids that cabal chose, by name.
fn plan(root: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read(root.join(PLAN)).unwrap_or_default();
    let plan: Value = serde_json::from_slice(&text).unwrap_or_default();
    let all = plan["install-plan"].as_array().cloned().unwrap_or_default();
    let is_local = |one: &Value| one["style"] == "local" || one["style"] == "inplace";
    let named = |one: &Value| Some((one["pkg-name"].as_str()?.to_owned(), one["id"].as_str()?.to_owned()));
    all.iter().filter(|one| !is_local(one)).filter_map(named).collect()
}

impl Component {
    fn id(&self) -> String {
        let Component { package, version, kind, name, .. } = self;
        match (kind.as_str(), name.as_str()) {
            ("library", "") => format!("{package}-{version}-hob"),
            _ => format!("{package}-{version}-hob-{kind}-{name}"),
        }
    }

    fn unit(&self, toolchain: &Toolchain, own: &BTreeMap<Dependency, String>, plan: &BTreeMap<String, String>) -> Unit {
        let root = &toolchain.order.root;
        let directory = self.file.parent().unwrap_or(root).to_owned();
        let here = [PathBuf::new()];
        let folders = if self.directories.is_empty() { &here[..] } else { &self.directories[..] };
        let folders: Vec<PathBuf> = folders.iter().map(|folder| joined(&directory, folder)).collect();
        let found = |name: &Path| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        let mut files = BTreeMap::new();
        for module in &self.modules {
            let below: PathBuf = module.split('.').collect();
            let file = HASKELL.iter().find_map(|extension| found(&below.with_extension(extension)));
            files.extend(file.map(|file| (file, module.clone())));
        }
        let main = self.main.as_deref().and_then(|main| found(Path::new(main)));
        files.extend(main.map(|file| (file, "Main".to_owned())));
        let mut options = vec!["-hide-all-packages".to_owned()];
        options.extend(toolchain.databases.iter().skip(1).map(|one| format!("-package-db={}", one.display())));
        let mut uses = BTreeSet::new();
        for dependency in &self.dependencies {
            if let Some(id) = own.get(dependency).filter(|id| **id != self.id()) {
                uses.insert(id.clone());
            } else if let Some(id) = plan.get(&dependency.package) {
                options.push(format!("-package-id={id}"));
            } else if self.installed.contains(&dependency.package) {
                options.push(format!("-package={}", dependency.package));
            }
        }
        options.extend(folders.iter().map(|folder| format!("-i{}", folder.display())));
        options.extend(self.built(root, &toolchain.version).map(|folder| format!("-i{}", folder.display())));
        options.extend(self.options.iter().filter(|option| is_kept(option)).cloned());
        let made = format!("Paths_{}", self.package.replace('-', "_"));
        Unit {
            id: self.id(),
            directory,
            options,
            files,
            package: (self.kind == "library").then(|| (self.package.clone(), self.version.clone())),
            uses,
            made: BTreeMap::from([(made.clone(), paths_module(&made, &self.version))]),
        }
    }

    /// Returns the folder of modules that cabal generated, if the project was built.
    fn built(&self, root: &Path, version: &str) -> Option<PathBuf> {
        let below = format!("ghc-{version}/{}-{}", self.package, self.version);
        let letter = if self.kind == "executable" { "x" } else { self.kind.get(..1).unwrap_or_default() };
        let part = match self.kind.as_str() {
            "library" => "build".to_owned(),
            _ => format!("{letter}/{0}/build/{0}/{0}-tmp", self.name),
        };
        let platforms = entries(&root.join("dist-newstyle/build"));
        platforms.map(|platform| platform.join(&below).join(&part)).find(|folder| folder.is_dir())
    }
}

/// True if a package option affects the meaning of names. Others only cost time or write files.
fn is_kept(option: &str) -> bool {
    let drops =
        ["-prof", "-O", "-j", "-ddump", "-Werror", "-hiedir", "-hidir", "-odir", "-fwrite", "-fobject", "-fhpc"];
    !drops.iter().any(|start| option.starts_with(start))
}

/// Joins two folders and drops `.` components.
fn joined(directory: &Path, folder: &Path) -> PathBuf {
    directory.join(folder).components().collect()
}

/// Returns the module in which Cabal tells a program its paths.
fn paths_module(name: &str, version: &str) -> String {
    let branch = version.replace('.', ",");
    let mut text = format!(
        "module {name} where\nimport Data.Version (Version (..))\nversion :: Version\nversion = Version [{branch}] []\n\
         getDataFileName :: FilePath -> IO FilePath\ngetDataFileName = return\n"
    );
    for directory in ["Bin", "Lib", "DynLib", "Data", "Libexec", "Sysconf"] {
        text.push_str(&format!("get{directory}Dir :: IO FilePath\nget{directory}Dir = return \"\"\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_modules() {
        let folder = |file: &str, module: &str| folder_of(Path::new(file), module);
        assert_eq!(folder("/p/src/Data/Map.hs", "Data.Map"), Some("/p/src".into()));
        assert_eq!(folder("/p/src/Other.hs", "Data.Map"), None);
        assert_eq!(folder("/p/Geo.lhs", "Geo"), Some("/p".into()));
    }
}
