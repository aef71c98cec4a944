//! Runs GHC on units, and reports which of their files do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::Bounds;

use super::reader::Reader;
use super::sources::{Sources, imports};
use super::toolchain::{Order, Toolchain, companion, entries};
use super::units::{Unit, Units, display_path};

/// A worktree that is ready to be compiled.
pub(super) struct Workspace {
    pub toolchain: Toolchain,
    pub reader: Reader,
    pub units: Units,
    /// The folder for the output of GHC.
    pub own: PathBuf,
}

/// The time limit of GHC for a unit.
const WITHIN: Duration = Duration::from_secs(1800);
/// How many times GHC runs again without the files that failed.
const RUNS: usize = 6;
/// The size limit of its output and of its messages, in bytes.
const MOST: usize = 64 << 20;

/// Options of a run for an index: `.hie` files and no warnings.
pub(super) const INDEX: &[&str] = &["-fwrite-ide-info", "-w"];

fn hashed(of: impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

impl Workspace {
    /// Finds the toolchain and the units of a worktree. The output of GHC goes to the folder `name` of the worktree.
    pub(super) async fn new(order: &Order, sources: &Sources, name: &str) -> Result<Workspace, String> {
        let own = order.directory.join(hashed(&order.root)).join(name);
        let scratch = own.join("tmp");
        // Leftovers of a GHC that was killed.
        _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        let toolchain = Toolchain::new(order, scratch).await?;
        let own = own.join(hashed((&toolchain.ghc, &toolchain.version)));
        std::fs::create_dir_all(&own).map_err(|error| format!("{}: {error}", own.display()))?;
        let reader = Reader::new(&toolchain).await?;
        let packages: Vec<&Path> = sources.with_extension(&["cabal"]).collect();
        let components = reader.components(&toolchain, &packages).await?;
        let units = Units::new(sources, &components, &toolchain);
        let workspace = Workspace { toolchain, reader, units, own };
        workspace.register().await?;
        Ok(workspace)
    }

    /// Returns the folder for the output of a unit.
    pub(super) fn folder(&self, unit: &Unit) -> PathBuf {
        self.own.join("units").join(&unit.id)
    }

    fn packages(&self) -> PathBuf {
        self.own.join("packages")
    }

    /// Creates the package database for the units.
    async fn register(&self) -> Result<(), String> {
        let database = self.packages();
        let mut wanted = BTreeMap::new();
        for unit in &self.units.all {
            let Some((name, version)) = &unit.package else { continue };
            let modules: Vec<&str> = unit.files.values().chain(unit.made.keys()).map(String::as_str).collect();
            let text = format!(
                "name: {name}\nversion: {version}\nvisibility: public\nid: {id}\nkey: {id}\nabi: hob\nexposed: False\n\
                 exposed-modules: {}\nimport-dirs: {}\n",
                modules.join(" "),
                self.folder(unit).join("hi").display(),
                id = unit.id,
            );
            wanted.insert(database.join(format!("{}.conf", unit.id)), text);
        }
        let is_package = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "conf");
        let known = entries(&database).filter(is_package);
        let known: BTreeMap<PathBuf, String> =
            known.filter_map(|file| Some((file.clone(), std::fs::read_to_string(file).ok()?))).collect();
        if known == wanted && database.join("package.cache").is_file() {
            return Ok(());
        }
        _ = std::fs::remove_dir_all(&database);
        let mut written = std::fs::create_dir_all(&database);
        for (file, text) in wanted {
            written = written.and_then(|()| std::fs::write(file, text));
        }
        written.map_err(|error| format!("{}: {error}", database.display()))?;
        let of = format!("--package-db={}", database.display());
        self.toolchain.output(&companion(&self.toolchain.ghc, "ghc-pkg"), &self.own, &["recache", &of]).await?;
        Ok(())
    }

    /// Compiles a unit. Returns its files that do not compile, with the reason.
    pub(super) async fn compile(&self, unit: &Unit, options: &[&str]) -> BTreeMap<PathBuf, String> {
        let mut failed: BTreeMap<PathBuf, String> = BTreeMap::new();
        let importers = importers(unit);
        for _ in 0..RUNS {
            let files: Vec<&Path> = unit.files_without(&failed).collect();
            if files.is_empty() {
                break;
            }
            let said = match self.run(unit, &files, options).await {
                Ok(said) => said,
                Err(problem) => Compilation { problems: vec![problem], ..Compilation::default() },
            };
            if said.is_success {
                break;
            }
            let mut errors: BTreeMap<PathBuf, String> = BTreeMap::new();
            for error in said.messages.into_iter().filter(|one| one.is_error && !failed.contains_key(&one.file)) {
                errors.entry(error.file).or_insert_with(|| format!("line {}: {}", error.line, error.text));
            }
            if errors.is_empty() {
                let why = said.problems.into_iter().next();
                let why = why.unwrap_or_else(|| "GHC failed without an error message".to_owned());
                failed.extend(files.into_iter().map(|file| (file.to_owned(), why.clone())));
                break;
            }
            for (file, message) in errors {
                let needs = format!("needs {}", display_path(&self.toolchain.order.root, &file));
                for dependent in dependents(unit, &importers, &file) {
                    failed.entry(dependent.to_owned()).or_insert_with(|| needs.clone());
                }
                failed.insert(file, message);
            }
            // Removes the old interfaces, so that nothing is compiled against them.
            for module in failed.keys().filter_map(|file| unit.files.get(file)) {
                self.remove_interface(unit, module);
            }
            // The remaining files are compiled. Exception: GHC compiles nothing if it cannot read a header.
            if said.has_compiled {
                break;
            }
        }
        failed
    }

    /// Removes the output of GHC for a module, so that the next run compiles it again.
    pub(super) fn remove_interface(&self, unit: &Unit, module: &str) {
        let below: PathBuf = module.split('.').collect();
        for (folder, extension) in [("hi", "hi"), ("hi", "dyn_hi"), ("hie", "hie")] {
            _ = std::fs::remove_file(self.folder(unit).join(folder).join(&below).with_extension(extension));
        }
    }

    /// Compiles the modules of a unit in `files`, and what they import.
    pub(super) async fn run(&self, unit: &Unit, files: &[&Path], options: &[&str]) -> Result<Compilation, String> {
        let own = self.folder(unit);
        let made = own.join("made");
        std::fs::create_dir_all(&made).map_err(|error| error.to_string())?;
        for (module, text) in &unit.made {
            let file = made.join(module).with_extension("hs");
            if std::fs::read_to_string(&file).ok().as_ref() != Some(text) {
                std::fs::write(&file, text).map_err(|error| error.to_string())?;
            }
        }
        let mut args: Vec<OsString> = ["--make", "-i"].map(OsString::from).into();
        // A package description lists its own dependencies.
        args.extend(unit.options.iter().any(|one| one == "-hide-all-packages").then(|| "-package-env=-".into()));
        args.extend(unit.options.iter().map(OsString::from));
        args.push(format!("-i{}", made.display()).into());
        args.push(format!("-package-db={}", self.packages().display()).into());
        args.extend(unit.uses.iter().map(|id| format!("-package-id={id}").into()));
        args.extend(["-this-unit-id", &unit.id].map(OsString::from));
        let folders = [("-hidir", "hi"), ("-hiedir", "hie"), ("-odir", "o"), ("-stubdir", "o"), ("-dumpdir", "o")];
        args.extend(folders.iter().flat_map(|(option, folder)| [OsString::from(option), own.join(folder).into()]));
        let ours = ["-fno-code", "-fwrite-interface", "-fkeep-going", "-O0", "-v1"];
        args.extend(ours.iter().chain(options).map(OsString::from));
        args.extend(files.iter().map(|file| file.as_os_str().to_owned()));
        args.extend(["+RTS", &format!("-M{}m", self.toolchain.order.memory), "-RTS"].map(OsString::from));
        let bounds = Bounds { deadline: WITHIN, stdout: MOST, stderr: MOST };
        let answer = self.toolchain.spec(&self.toolchain.ghc, &unit.directory, &args).answer(bounds).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let has_compiled = memchr::memmem::find(&answer.stdout, b"] Compiling ").is_some();
        let mut said = Compilation { is_success: answer.exit.success(), has_compiled, ..Compilation::default() };
        said.read(&String::from_utf8_lossy(&answer.stderr), &unit.directory);
        Ok(said)
    }
}

/// The result of a run of GHC.
#[derive(Default)]
pub(super) struct Compilation {
    is_success: bool,
    /// True if it reached the compilation of modules.
    has_compiled: bool,
    pub messages: Vec<Message>,
    /// Errors that name no place.
    pub problems: Vec<String>,
}

/// An error or a warning of GHC at a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// The absolute path.
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    pub is_error: bool,
    /// The option that turns a warning on, such as `-Wincomplete-patterns`. Empty for errors.
    pub option: String,
    /// The first line of the text.
    pub text: String,
}

impl Compilation {
    /// Parses the errors in messages, with paths relative to a directory.
    fn read(&mut self, messages: &str, directory: &Path) {
        let messages: Vec<&str> = messages.lines().collect();
        for (number, line) in messages.iter().enumerate() {
            let Some((place, is_error, rest)) = split(line) else { continue };
            // `[GHC-62161] [-Wincomplete-patterns]`, by version.
            let (mut rest, mut option) = (rest.trim(), "");
            while let Some((label, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                rest = after.trim_start();
                option = if label.starts_with("-W") { label } else { option };
            }
            let next = messages[number + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
            let text = if rest.is_empty() { next.unwrap_or_default() } else { rest };
            let text = text.trim_start_matches(['*', '•', ' ']).to_owned();
            match position(place) {
                Some((file, line, column)) => {
                    let file: PathBuf = directory.join(file).components().collect();
                    self.messages.push(Message { file, line, column, is_error, option: option.to_owned(), text });
                }
                None if is_error => self.problems.push(text),
                None => {}
            }
        }
        if self.problems.is_empty() && self.messages.is_empty() {
            self.problems.extend(messages.iter().find(|line| !line.trim().is_empty()).map(|line| (*line).to_owned()));
        }
    }
}

/// Splits the first line of a message into its place, whether it is an error, and the rest.
fn split(line: &str) -> Option<(&str, bool, &str)> {
    let with = |mark: &str, is_error| line.split_once(mark).map(|(place, rest)| (place, is_error, rest));
    with(": error:", true).or_else(|| with(": fatal error:", true)).or_else(|| with(": warning:", false))
}

/// Parses `src/Geo.hs:3:12`, `src/Geo.hs:3:12-15`, `src/Geo.hs:(3,1)-(4,2)` or `src/Geo.hs:3`.
fn position(place: &str) -> Option<(&str, usize, usize)> {
    let end = [".hs:", ".lhs:", ".hs-boot:"].iter().find_map(|end| Some(place.find(end)? + end.len() - 1))?;
    let mut numbers = place[end + 1..].split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let line = numbers.next()?.parse().ok()?;
    Some((&place[..end], line, numbers.next().and_then(|digits| digits.parse().ok()).unwrap_or(1)))
}

/// Returns the files of a unit that import each module.
fn importers(unit: &Unit) -> BTreeMap<String, Vec<&Path>> {
    let mut importers: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for file in unit.files.keys() {
        let text = crate::search::read(file).unwrap_or_default();
        for module in imports(file, &String::from_utf8_lossy(&text)) {
            importers.entry(module).or_default().push(file);
        }
    }
    importers
}

/// Returns the files that import a file directly or indirectly.
fn dependents<'a>(unit: &Unit, importers: &BTreeMap<String, Vec<&'a Path>>, file: &Path) -> BTreeSet<&'a Path> {
    let mut all = BTreeSet::new();
    let mut open = vec![unit.files.get(file)];
    while let Some(module) = open.pop() {
        for importer in module.and_then(|module| importers.get(module)).into_iter().flatten() {
            if all.insert(*importer) {
                open.push(unit.files.get(*importer));
            }
        }
    }
    all.remove(file);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_from_messages() {
        let messages = [
            "",
            "src/Bad.hs:3:12: error:",
            "    * Couldn't match type",
            "src/Bad.hs:9:1: error: later",
            "src/New.hs:(4,1)-(5,2): error: [GHC-83865] Wrong",
            "src/New.hs:7:10: warning: [GHC-62161] [-Wincomplete-patterns]",
            "    Pattern match(es) are non-exhaustive",
            "<no location info>: error:",
            "    module 'X' is not loaded",
        ];
        let mut said = Compilation::default();
        said.read(&messages.join("\n"), Path::new("/p"));
        let messages: Vec<String> = said
            .messages
            .into_iter()
            .map(|one| format!("{}:{}:{} {}{}", one.file.display(), one.line, one.column, one.option, one.text))
            .collect();
        let expected = [
            "/p/src/Bad.hs:3:12 Couldn't match type",
            "/p/src/Bad.hs:9:1 later",
            "/p/src/New.hs:4:1 Wrong",
            "/p/src/New.hs:7:10 -Wincomplete-patternsPattern match(es) are non-exhaustive",
        ];
        assert_eq!(messages, expected);
        assert_eq!(said.problems, ["module 'X' is not loaded"]);
    }
}
