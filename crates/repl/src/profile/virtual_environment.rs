//! Finds the Python of a project: the one in its virtual environment (`.venv`), or of the one that uv or poetry manages for it.
//!
//! A `.venv` holds programs, and a checkout can contain one. So hob runs only one that was made here: git does not
//! track it, and its activation script names its current location. For any other `.venv`, a note explains how to run
//! it. uv and poetry are programs that the user has installed; they run like `cabal` and `stack`, and build the
//! project's dependencies. This module also finds the project's modules if they are in `src` and not installed.

use std::path::{Component, Path, PathBuf};

use project::{regular, visible};

use super::program_path;

/// The names of virtual environments, in search order.
const NAMES: [&str; 2] = [".venv", "venv"];
/// The files that mark a directory as an installable Python project.
const PROJECT_FILES: [&str; 3] = ["pyproject.toml", "setup.py", "setup.cfg"];
/// The size limit of the small files read here.
const MAX_BYTES: u64 = 256 * 1024;

/// Lets uv update the environment and print the path of its Python, which then replaces this script. uv as a parent
/// would forward each interrupt, which has already reached Python.
const UV: &str = "python=$(uv run --quiet python -c 'import sys; print(sys.executable)' </dev/null) || exit\n\
                  VIRTUAL_ENV=${python%/bin/*} PATH=${python%/*}:$PATH exec \"$python\" \"$@\"";

/// The parameters of the search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    /// The session's directory.
    pub(crate) cwd: &'a Path,
    /// The topmost directory of the search.
    pub(crate) root: &'a Path,
    /// The session's `PATH`.
    pub(crate) path: &'a str,
    /// An environment that the caller has activated (`VIRTUAL_ENV`).
    pub(crate) active: Option<&'a str>,
}

/// The interpreter to start instead of a profile's command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// The command; `None` for the profile's own.
    pub(crate) command: Option<Vec<String>>,
    /// The environment to activate: it becomes `VIRTUAL_ENV`, and its programs come first.
    pub(crate) activate: Option<PathBuf>,
    /// A note for the caller.
    pub(crate) note: Option<String>,
}

/// Describes the Python that sessions in a project's directory get, in a sentence; `None` for the one on `PATH`.
/// `active` is the caller's `VIRTUAL_ENV`.
pub fn of_directory(root: &Path, path: &str, active: Option<&str>) -> Option<String> {
    Search { cwd: root, root, path, active }.interpreter().note
}

impl Search<'_> {
    /// Returns the Python of the project around the session's directory.
    pub(crate) fn interpreter(&self) -> Interpreter {
        // The caller chose this environment, and the caller's PATH leads to it.
        if self.active.is_some_and(|active| self.is_in_path(&Path::new(active).join("bin"))) {
            return Interpreter::default();
        }
        let found = self.directories_upwards().find_map(|dir| {
            let name = NAMES.iter().find(|name| dir.join(name).join("pyvenv.cfg").symlink_metadata().is_ok())?;
            Some((dir.join(name), judge(dir, name)))
        });
        let broken = match found {
            None => None,
            Some((venv, EnvironmentState::Usable(python))) => {
                let note = format!("Python comes from {}.", self.relative(&venv));
                let command = Some(vec![python.to_string_lossy().into_owned()]);
                return Interpreter { command, activate: Some(venv), note: Some(note) };
            }
            // uv and poetry would run it.
            Some((venv, EnvironmentState::Withheld(why))) => {
                let shown = self.relative(&venv);
                let command = format!("[{:?}]", format!("{shown}/bin/python"));
                let note = format!(
                    "{shown} is not used automatically: {why}. If you trust it, run it with repl_start and `command` \
                     {command}, or with a profile in hob.toml that `hob trust` has granted."
                );
                return Interpreter { note: Some(note), ..Interpreter::default() };
            }
            Some((venv, EnvironmentState::Broken(why))) => {
                Some(format!("{} has no Python: {why}.", self.relative(&venv)))
            }
        };
        let mut found = self.tool();
        found.note = match (broken, found.note) {
            (Some(broken), Some(note)) => Some(format!("{broken} {note}")),
            (broken, note) => broken.or(note),
        };
        if found.command.is_none() && found.note.is_none() {
            found.note = self.of_main_worktree();
        }
        found
    }

    /// Offers the environment of the main worktree to a linked one. It is not used automatically, because a package that was installed
    /// there in editable mode would be the main worktree's.
    fn of_main_worktree(&self) -> Option<String> {
        let main = project::main_worktree(&self.cwd.canonicalize().ok()?)?;
        if self.directories_upwards().any(|dir| dir == main) {
            return None;
        }
        let python = NAMES.iter().find_map(|name| match judge(&main, name) {
            EnvironmentState::Usable(python) => Some(python),
            _ => None,
        })?;
        let command = format!("[{:?}]", python.display().to_string());
        Some(format!(
            "This worktree has no virtual environment, but the main one has: repl_start with `command` {command} runs \
             its Python. Modules installed there in editable mode come from the main worktree."
        ))
    }

    /// Returns the directory of the project's modules, if that is `src`. Nothing in it runs before code imports it.
    pub(crate) fn sources(&self) -> Option<PathBuf> {
        let is_project = |dir: &&Path| PROJECT_FILES.iter().any(|name| dir.join(name).is_file());
        let src = self.directories_upwards().find(is_project)?.join("src");
        let is_own = src.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        (is_own && holds_modules(&src)).then_some(src)
    }

    /// Returns the interpreter of uv or poetry, if the project's files name one of them.
    fn tool(&self) -> Interpreter {
        let Some((sign, tool)) = self.directories_upwards().find_map(tool_of) else { return Interpreter::default() };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (program, command) = match tool {
            Tool::Uv => ("uv", words(&["sh", "-c", UV, "uv"])),
            Tool::Poetry => ("poetry", words(&["poetry", "run", "python"])),
        };
        match program_path(program, self.path, self.cwd) {
            Some(_) => Interpreter {
                command: Some(command),
                activate: None,
                note: Some(format!("Python comes from `{program} run`, as {sign} specifies.")),
            },
            None => Interpreter {
                note: Some(format!(
                    "{sign} specifies {program} for the project's environment, but {program} is not in the PATH: \
                     Python runs without it."
                )),
                ..Interpreter::default()
            },
        }
    }

    fn directories_upwards(&self) -> impl Iterator<Item = &Path> {
        let above = self.cwd.ancestors().skip(1).take_while(|dir| dir.starts_with(self.root));
        std::iter::once(self.cwd).chain(above)
    }

    fn is_in_path(&self, bin: &Path) -> bool {
        std::env::split_paths(self.path).any(|dir| dir == bin)
    }

    /// Formats a path relative to the session's directory.
    fn relative(&self, path: &Path) -> String {
        visible::path(path.strip_prefix(self.cwd).unwrap_or(path))
    }
}

/// Returns true if a directory holds a module or a package.
fn holds_modules(dir: &Path) -> bool {
    let is_python = |name: &String| name.ends_with(".py");
    super::detect::names(dir).iter().any(|name| {
        is_python(name) || !name.starts_with('.') && super::detect::names(&dir.join(name)).iter().any(is_python)
    })
}

/// The state of a virtual environment.
enum EnvironmentState {
    /// It was made here and has this Python.
    Usable(PathBuf),
    /// It may have come with the checkout. Holds the reason, as a clause.
    Withheld(String),
    /// It was made here, but its Python cannot be started. Holds the reason, as a clause.
    Broken(String),
}

fn judge(dir: &Path, name: &str) -> EnvironmentState {
    let withheld = |why: &str| EnvironmentState::Withheld(why.to_owned());
    let Ok(dir) = dir.canonicalize() else { return withheld("its directory cannot be read") };
    let venv = dir.join(name);
    if !venv.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return withheld("it is a link");
    }
    match project::is_tracked(&venv) {
        Some(false) => {}
        Some(true) => return withheld("git tracks it, so it came with the repository"),
        None => return withheld("git's list of files cannot be read, and it may have come with the repository"),
    }
    let Some(made) = made_at(&venv) else { return withheld("it does not record where it was created") };
    if made.canonicalize().ok().as_deref() != Some(&*venv) {
        return EnvironmentState::Withheld(format!("it was created for {}", visible::path(&made)));
    }
    let bin = venv.join("bin");
    let python = ["python", "python3"].map(|name| bin.join(name));
    match python.iter().find(|python| program_path(&python.to_string_lossy(), "", &bin).is_some()) {
        Some(python) => EnvironmentState::Usable(python.clone()),
        None => EnvironmentState::Broken(super::unusable(&python[0])),
    }
}

/// Returns the location where a virtual environment was made, from its activation script. A checkout cannot predict it.
fn made_at(venv: &Path) -> Option<PathBuf> {
    let text = regular::read(&venv.join("bin/activate"), MAX_BYTES).ok()?;
    let values = text.lines().filter_map(|line| {
        let line = line.trim();
        line.strip_prefix("export ").unwrap_or(line).strip_prefix("VIRTUAL_ENV=")
    });
    values.map(|value| PathBuf::from(value.trim_matches(['"', '\'']))).find(|path| is_place(path))
}

/// Returns true if a path leads to the same location for every process: `/proc` and `/dev` do not.
fn is_place(path: &Path) -> bool {
    let mut parts = path.components();
    let first = (parts.next(), parts.next());
    let is_made_up = |part: &std::ffi::OsStr| part == "proc" || part == "dev";
    matches!(first, (Some(Component::RootDir), Some(Component::Normal(part))) if !is_made_up(part))
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The tool that manages a project's environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Uv,
    Poetry,
}

/// Returns the tool that the files of a directory name, and the file that does.
fn tool_of(dir: &Path) -> Option<(&'static str, Tool)> {
    for (file, tool) in [("uv.lock", Tool::Uv), ("poetry.lock", Tool::Poetry)] {
        if dir.join(file).is_file() {
            return Some((file, tool));
        }
    }
    let text = regular::read(&dir.join("pyproject.toml"), MAX_BYTES).ok()?;
    let project: toml::Table = toml::from_str(&text).ok()?;
    let has = |tool: &str| project.get("tool").and_then(|tools| tools.get(tool)).is_some();
    let backend =
        project.get("build-system").and_then(|system| system.get("build-backend")?.as_str()).unwrap_or_default();
    let tool = match () {
        () if has("uv") || backend.starts_with("uv_build") => Tool::Uv,
        () if has("poetry") || backend.starts_with("poetry.") => Tool::Poetry,
        () => return None,
    };
    Some(("pyproject.toml", tool))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Creates a project with a `.venv` that was made there.
    fn project() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        let bin = root.join(".venv/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        fs::write(bin.join("activate"), format!("VIRTUAL_ENV='{}'\n", root.join(".venv").display())).unwrap();
        symlink("/bin/sh", bin.join("python")).unwrap();
        (temp, root)
    }

    fn search(root: &Path, cwd: &str, path: &str) -> Interpreter {
        Search { cwd: &root.join(cwd), root, path, active: None }.interpreter()
    }

    /// Returns the program, or the reason for using the profile's own.
    fn describe(root: &Path) -> String {
        let found = search(root, "", "/nowhere");
        let why = found.note.unwrap_or_default().split_inclusive(". ").next().unwrap_or_default().to_owned();
        let why = why.replace(&root.display().to_string(), "ROOT");
        found.command.map_or(why, |command| command.join(" ").replace(&root.display().to_string(), "ROOT"))
    }

    #[test]
    fn the_nearest_environment_that_was_made_here() {
        let (_temp, root) = project();
        let python = root.join(".venv/bin/python").display().to_string();
        for cwd in ["", "src"] {
            let found = search(&root, cwd, "/usr/bin");
            assert_eq!(found.command, Some(vec![python.clone()]), "{cwd}");
            assert_eq!(found.activate, Some(root.join(".venv")));
        }
        // An environment that the caller has activated is the caller's choice; the variable alone is not.
        let active = |path| Search { cwd: &root, root: &root, path, active: Some("/mine") }.interpreter();
        assert_eq!(active("/mine/bin:/usr/bin"), Interpreter::default());
        assert_eq!(active("/usr/bin").command, Some(vec![python]));
        // These are the forms that activation scripts use.
        for line in ["VIRTUAL_ENV=\"P\"", "VIRTUAL_ENV=$(cygpath P)\n  export VIRTUAL_ENV=P", "    VIRTUAL_ENV=P"] {
            let place = root.join(".venv").display().to_string();
            fs::write(root.join(".venv/bin/activate"), line.replace('P', &place)).unwrap();
            assert!(search(&root, "", "").command.is_some(), "{line}");
        }
    }

    #[test]
    fn what_may_have_come_with_the_checkout_is_not_run() {
        let (temp, root) = project();
        let activate = root.join(".venv/bin/activate");
        for (text, why) in [
            ("", ".venv is not used automatically: it does not record where it was created. "),
            (
                "VIRTUAL_ENV=//proc/self/cwd/.venv",
                ".venv is not used automatically: it does not record where it was created. ",
            ),
            ("VIRTUAL_ENV=.venv", ".venv is not used automatically: it does not record where it was created. "),
            ("VIRTUAL_ENV=/work/p/.venv", ".venv is not used automatically: it was created for /work/p/.venv. "),
        ] {
            fs::write(&activate, text).unwrap();
            assert_eq!(describe(&root), why, "{text}");
        }
        // uv and poetry would run it.
        fs::write(root.join("uv.lock"), "").unwrap();
        assert!(search(&root, "", "/usr/bin:/bin").command.is_none());
        fs::rename(root.join(".venv"), temp.path().join("elsewhere")).unwrap();
        symlink(temp.path().join("elsewhere"), root.join(".venv")).unwrap();
        assert_eq!(describe(&root), ".venv is not used automatically: it is a link. ");
    }

    #[test]
    fn an_environment_whose_python_is_gone_gives_way() {
        let (_temp, root) = project();
        fs::remove_file(root.join(".venv/bin/python")).unwrap();
        symlink("/usr/bin/python2.2", root.join(".venv/bin/python")).unwrap();
        let gone = ".venv has no Python: ROOT/.venv/bin/python is a link to /usr/bin/python2.2, which does not exist.";
        assert_eq!(describe(&root), gone);
        let bin = root.join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("uv"), "").unwrap();
        fs::set_permissions(bin.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join("uv.lock"), "").unwrap();
        let found = search(&root, "", &bin.display().to_string());
        assert!(found.command.is_some() && found.note.unwrap().starts_with(".venv has no Python"), "uv makes it anew");
    }

    #[test]
    fn the_projects_files_name_uv_or_poetry() {
        let check = |file: &str, text: &str| {
            let temp = tempfile::tempdir().unwrap();
            fs::write(temp.path().join(file), text).unwrap();
            fs::create_dir(temp.path().join("member")).unwrap();
            fs::write(temp.path().join("member/pyproject.toml"), "[project]\nname = 'x'\n").unwrap();
            Search { cwd: &temp.path().join("member"), root: temp.path(), path: "", active: None }.interpreter().note
        };
        for (file, text, tool) in [
            ("uv.lock", "", "uv"),
            ("poetry.lock", "", "poetry"),
            ("pyproject.toml", "[tool.uv]\n", "uv"),
            ("pyproject.toml", "[tool.poetry]\nname = 'x'\n", "poetry"),
            ("pyproject.toml", "[build-system]\nbuild-backend = 'uv_build'\n", "uv"),
            ("pyproject.toml", "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n", "poetry"),
        ] {
            let expected = format!(
                "{file} specifies {tool} for the project's environment, but {tool} is not in the PATH: Python runs without it."
            );
            assert_eq!(check(file, text), Some(expected), "{text}");
        }
        for text in ["[tool.other]\n", "[build-system]\nbuild-backend = 'hatchling.build'\n", "no toml", "tool = 1\n"] {
            assert_eq!(check("pyproject.toml", text), None, "{text}");
        }
    }
}
