//! Detects the profile for a directory: by the files in it, then by those in its parents up to the worktree's root.

use std::path::{Path, PathBuf};

use super::packages::packages;
use super::pattern::matches;
use super::{DriverKind, Profile, Profiles};

/// A profile that fits, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected<'a> {
    pub profile: &'a Profile,
    /// The directory to run the program in.
    pub dir: PathBuf,
    /// The file that decided, if any.
    pub because: Option<String>,
    /// The reason for this profile if no file decided, as a clause.
    pub fallback: Option<String>,
    /// If a project has several packages, one of which must be chosen: their directories, relative to `dir`.
    pub packages: Vec<PathBuf>,
}

/// The profiles for a directory without project or source files. The first installed one is used.
const DEFAULT: [&str; 3] = ["ghci", "python", "bash"];
/// The same for a project in a language without a profile.
const DEFAULT_OF_OTHERS: [&str; 3] = ["python", "bash", "ghci"];
/// Files of such projects.
const OTHERS: [&str; 7] = ["Cargo.toml", "deno.json", "go.mod", "Gemfile", "mix.exs", "pom.xml", "build.gradle"];

/// The maximum number of entries read from a directory.
const MAX_ENTRIES: usize = 10_000;

impl Profiles {
    /// Picks the profile for `cwd`: by project files in it and its parents up to `root`, else by the sources in `cwd`.
    /// Among the profiles that fit in the nearest directory, the lowest rank whose programs are on `path` wins. If none
    /// is installed, the lowest rank wins, whose check then reports how to install it. Shell scripts do not count in a
    /// project of a language without a profile. Without any evidence the result is a default, in `cwd`.
    pub fn detect(&self, cwd: &Path, root: &Path, path: &str) -> Detected<'_> {
        let upwards = cwd.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
        let dirs: Vec<&Path> = std::iter::once(cwd).chain(upwards).collect();
        let mut other = None;
        let projects = dirs.iter().map(|dir| (*dir, Sign::Project));
        for (dir, sign) in projects.chain([(cwd, Sign::Source)]) {
            let mut fits = self.fitting(dir, sign);
            if let Sign::Source = sign {
                other = dirs.iter().find_map(|dir| other_project(dir));
                fits.retain(|(profile, _)| other.is_none() || profile.driver != DriverKind::Bash);
            }
            fits.sort_by_key(|(profile, _)| (profile.rank, &profile.name));
            let found = fits.iter().find(|(profile, _)| profile.check(path, dir).is_ok()).or(fits.first());
            if let Some((profile, because)) = found {
                let mut packages = match because.as_str() {
                    "cabal.project" if !names(dir).iter().any(|name| name.ends_with(".cabal")) => packages(dir),
                    _ => Vec::new(),
                };
                // A single package is chosen automatically.
                let dir = if packages.len() == 1 { dir.join(packages.remove(0)) } else { dir.to_owned() };
                return Detected { profile, dir, because: Some(because.clone()), fallback: None, packages };
            }
        }
        let order = if other.is_some() { DEFAULT_OF_OTHERS } else { DEFAULT };
        let known: Vec<&Profile> = order.iter().filter_map(|name| self.by_name.get(*name)).collect();
        let installed = known.iter().find(|profile| profile.check(path, cwd).is_ok()).or(known.first());
        let profile = installed.copied().or_else(|| self.by_name.values().next());
        let profile = profile.expect("profiles are built in, and can only be replaced");
        let fallback = Some(match other {
            Some(file) => format!("because hob has no REPL for a project with {file}"),
            None => "because no file here suggests a language".to_owned(),
        });
        Detected { profile, dir: cwd.to_owned(), because: None, fallback, packages: Vec::new() }
    }

    fn fitting(&self, dir: &Path, sign: Sign) -> Vec<(&Profile, String)> {
        let names = names(dir);
        let file = |profile: &Profile| {
            // The order of the profile's patterns decides which file is named.
            let pattern = |pattern: &String| names.iter().find(|name| matches(pattern, name));
            let patterns = match sign {
                Sign::Project => &profile.detect,
                Sign::Source => &profile.sources,
            };
            patterns.iter().find_map(pattern).cloned()
        };
        self.iter().filter_map(|profile| Some((profile, file(profile)?))).collect()
    }
}

/// Returns the file of a project of a language without a profile.
fn other_project(dir: &Path) -> Option<&'static str> {
    OTHERS.into_iter().find(|file| dir.join(file).is_file())
}

/// The evidence that a file gives about a directory.
#[derive(Clone, Copy)]
enum Sign {
    Project,
    Source,
}

/// Returns the names in a directory, sorted.
pub(super) fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().take(MAX_ENTRIES).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the path of a program on a `PATH`, or from `cwd` if the name has a slash. Relative `PATH` entries are
/// skipped: their programs came with a checkout.
pub fn program_path(program: &str, path: &str, cwd: &Path) -> Option<PathBuf> {
    let usable = |file: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(cwd.join(program)).filter(usable);
    }
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program)).find(usable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn check(files: &[&str], programs: &[&str], cwd: &str) -> String {
        let root = tempfile::tempdir().expect("a directory");
        let bin = root.path().join("bin");
        let project = root.path().join("project");
        for dir in [&bin, &project.join("src/deep")] {
            std::fs::create_dir_all(dir).expect("made");
        }
        for program in programs {
            let file = bin.join(program);
            std::fs::write(&file, "").expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        }
        for file in files {
            let (file, text) = file.split_once('=').unwrap_or((file, ""));
            std::fs::write(project.join(file), text).expect("written");
        }
        let profiles = Profiles::builtin();
        let found = profiles.detect(&project.join(cwd), &project, &bin.display().to_string());
        let dir = found.dir.strip_prefix(&project).expect("inside").display().to_string();
        let because = found.because.as_deref().or(found.fallback.as_deref()).expect("a reason");
        let packages: Vec<String> = found.packages.iter().map(|package| package.display().to_string()).collect();
        let one_of = if packages.is_empty() { String::new() } else { format!(", one of {}", packages.join(" ")) };
        let because = because.trim_start_matches("because ");
        format!("{} in {dir:?} because {because}{one_of}", found.profile.name)
    }

    #[test]
    fn the_project_decides() {
        let all = ["ghci", "ghc", "cabal", "stack", "python3", "bash"];
        assert_eq!(check(&["x.cabal", "stack.yaml", "Setup.hs"], &all, ""), r#"cabal in "" because x.cabal"#);
        assert_eq!(check(&["cabal.project", "x.cabal"], &all, ""), r#"cabal in "" because cabal.project"#);
        assert_eq!(check(&["stack.yaml", "Setup.hs"], &all, ""), r#"stack in "" because stack.yaml"#);
        assert_eq!(check(&["A.hs", "run.py"], &all, ""), r#"ghci in "" because A.hs"#);
        assert_eq!(check(&["pyproject.toml"], &all, ""), r#"python in "" because pyproject.toml"#);
        assert_eq!(check(&["build.sh"], &all, ""), r#"bash in "" because build.sh"#);
        assert_eq!(check(&[".hs", "README"], &all, ""), r#"ghci in "" because no file here suggests a language"#);
    }

    #[test]
    fn a_project_of_another_language_gets_python_before_bash() {
        let all = ["ghci", "ghc", "cabal", "python3", "bash"];
        for file in ["Cargo.toml", "deno.json"] {
            let expected = format!(r#"python in "" because hob has no REPL for a project with {file}"#);
            assert_eq!(check(&[file], &all, ""), expected);
            assert_eq!(check(&[file, "build.sh"], &all, ""), expected);
            assert_eq!(check(&[file, "build.sh"], &["bash"], ""), expected.replace("python", "bash"));
            let below = check(&[file, "src/run.sh"], &all, "src");
            assert_eq!(below, expected.replace(r#""""#, r#""src""#));
        }
        // Files of a language with a profile still decide.
        assert_eq!(check(&["Cargo.toml", "pyproject.toml"], &all, ""), r#"python in "" because pyproject.toml"#);
        assert_eq!(check(&["go.mod", "A.hs", "run.sh"], &all, ""), r#"ghci in "" because A.hs"#);
        assert_eq!(check(&["Cargo.toml", "x.cabal"], &all, "src"), r#"cabal in "" because x.cabal"#);
    }

    #[test]
    fn a_package_of_node() {
        let all = ["ghci", "node", "python3", "bash"];
        assert_eq!(check(&["package.json", "A.hs", "run.py"], &all, ""), r#"node in "" because package.json"#);
        assert_eq!(check(&["package.json", "src/run.sh"], &all, "src"), r#"node in "" because package.json"#);
        assert_eq!(check(&["Cargo.toml", "package.json"], &all, ""), r#"node in "" because package.json"#);
        assert_eq!(check(&["package.json", "pyproject.toml"], &all, ""), r#"python in "" because pyproject.toml"#);
        assert_eq!(check(&["tool.mjs", "run.sh"], &all, ""), r#"node in "" because tool.mjs"#);
        assert_eq!(check(&["tool.mjs", "run.py"], &all, ""), r#"python in "" because run.py"#);
    }

    #[test]
    fn without_any_sign_it_is_what_is_installed() {
        let said = |programs: &[&str]| check(&["README"], programs, "");
        let why = r#"in "" because no file here suggests a language"#;
        assert_eq!(said(&["ghci", "python3", "bash"]), format!("ghci {why}"));
        assert_eq!(said(&["python3", "bash"]), format!("python {why}"));
        assert_eq!(said(&[]), format!("ghci {why}"), "its check says what to install");
    }

    #[test]
    fn what_is_not_installed_gives_way() {
        let files = ["x.cabal", "stack.yaml"];
        assert_eq!(check(&files, &["stack"], ""), r#"stack in "" because stack.yaml"#);
        assert_eq!(check(&files, &["cabal"], ""), r#"cabal in "" because x.cabal"#, "cabal needs ghc: none is usable");
    }

    #[test]
    fn parents_are_searched_up_to_the_root() {
        let all = ["ghci", "ghc", "cabal"];
        assert_eq!(check(&["x.cabal"], &all, "src/deep"), r#"cabal in "" because x.cabal"#);
        assert_eq!(check(&["src/A.hs", "x.cabal"], &all, "src"), r#"cabal in "" because x.cabal"#);
        assert_eq!(check(&["src/A.hs"], &all, "src"), r#"ghci in "src" because A.hs"#);
        assert_eq!(check(&["A.hs"], &all, "src"), r#"ghci in "src" because no file here suggests a language"#);
        assert_eq!(check(&["x.cabal", "src/setup.py"], &all, "src"), r#"python in "src" because setup.py"#);
    }

    #[test]
    fn a_project_of_packages() {
        let all = ["ghci", "ghc", "cabal"];
        // The project file here is empty, so its packages are unknown.
        assert_eq!(check(&["cabal.project", "src/a.cabal"], &all, ""), r#"cabal in "" because cabal.project"#);
        assert_eq!(check(&["cabal.project", "src/a.cabal"], &all, "src"), r#"cabal in "src" because a.cabal"#);
        let packages = "cabal.project=packages: src src/deep";
        assert_eq!(check(&[packages, "src/a.cabal"], &all, ""), r#"cabal in "src" because cabal.project"#);
        let both = [packages, "src/a.cabal", "src/deep/b.cabal"];
        assert_eq!(check(&both, &all, ""), r#"cabal in "" because cabal.project, one of src src/deep"#);
        assert_eq!(check(&both, &all, "src/deep"), r#"cabal in "src/deep" because b.cabal"#);
    }
}
