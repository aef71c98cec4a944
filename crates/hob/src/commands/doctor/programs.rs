//! The programs that sessions run: whether each is installed, whether the project needs it, and how to install it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::{Finding, Verdict};
use crate::agents::{find_program, version};

struct Program {
    name: &'static str,
    what_for: &'static str,
    /// Files at the root that show that this project needs the program; `*.x` matches any name with that ending.
    needed_by: &'static [&'static str],
    version_arg: &'static str,
    apt: &'static str,
    dnf: &'static str,
    brew: &'static str,
    /// How to install it if no package manager has it.
    other: Option<&'static str>,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "ghci",
        what_for: "Haskell sessions",
        needed_by: &["*.cabal", "cabal.project", "*.hs"],
        version_arg: "--version",
        apt: "ghc",
        dnf: "ghc",
        brew: "ghc",
        other: None,
    },
    Program {
        name: "cabal",
        what_for: "sessions of cabal packages",
        needed_by: &["*.cabal", "cabal.project"],
        version_arg: "--version",
        apt: "cabal-install",
        dnf: "cabal-install",
        brew: "cabal-install",
        other: None,
    },
    Program {
        name: "stack",
        what_for: "sessions of stack projects",
        needed_by: &["stack.yaml"],
        version_arg: "--version",
        apt: "haskell-stack",
        dnf: "stack",
        brew: "haskell-stack",
        other: None,
    },
    Program {
        name: "python3",
        what_for: "Python sessions",
        needed_by: &["pyproject.toml", "setup.py", "requirements.txt"],
        version_arg: "--version",
        apt: "python3",
        dnf: "python3",
        brew: "python",
        other: None,
    },
    Program {
        name: "uv",
        what_for: "Python sessions of uv projects",
        needed_by: &["uv.lock"],
        version_arg: "--version",
        apt: "uv",
        dnf: "uv",
        brew: "uv",
        other: Some("pipx install uv"),
    },
    Program {
        name: "node",
        what_for: "JavaScript and TypeScript sessions",
        needed_by: &["package.json", "tsconfig.json"],
        version_arg: "--version",
        apt: "nodejs",
        dnf: "nodejs",
        brew: "node",
        other: None,
    },
    Program {
        name: "bash",
        what_for: "shell sessions",
        needed_by: &[],
        version_arg: "--version",
        apt: "bash",
        dnf: "bash",
        brew: "bash",
        other: None,
    },
];

/// Returns one finding per program.
pub(super) fn findings(root: &Path) -> Vec<Finding> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let files: Vec<String> = fs::read_dir(root)
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    PROGRAMS.iter().map(|program| finding(program, &files, &search)).collect()
}

fn finding(program: &Program, files: &[String], search: &OsStr) -> Finding {
    let needed = files.iter().find(|file| program.needed_by.iter().any(|pattern| fits(pattern, file)));
    let (verdict, why) = match needed {
        Some(file) => (Verdict::Problem, format!("{file} needs it")),
        None => (Verdict::Note, "not needed by this project".to_owned()),
    };
    let install = install(program, search);
    let detail = match find_program(program.name, search) {
        Some(path) => match version(&path, program.version_arg) {
            Some(version) => return Finding::good(program.name, format!("{version} ({})", path.display())),
            None => format!("{} {} fails; reinstall it: {install} ({why})", path.display(), program.version_arg),
        },
        None => format!("missing, for {}; install it: {install} ({why})", program.what_for),
    };
    Finding { verdict, subject: program.name.to_owned(), detail }
}

fn fits(pattern: &str, file: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => file.len() > ending.len() && file.ends_with(ending),
        None => file == pattern,
    }
}

fn install(program: &Program, search: &OsStr) -> String {
    let has = |name: &str| find_program(name, search).is_some();
    if let Some(other) = program.other {
        return other.to_owned();
    }
    let sudo = if has("sudo") { "sudo " } else { "" };
    match () {
        () if has("apt-get") => format!("{sudo}apt-get install {}", program.apt),
        () if has("dnf") => format!("{sudo}dnf install {}", program.dnf),
        () if has("brew") => format!("brew install {}", program.brew),
        () => format!("the package is called {} or similar", program.apt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_project_needs_is_told_by_its_files() {
        let check = |file: &str| -> Vec<&str> {
            let needs = |program: &&Program| program.needed_by.iter().any(|pattern| fits(pattern, file));
            PROGRAMS.iter().filter(needs).map(|program| program.name).collect()
        };
        assert_eq!(check("app.cabal"), ["ghci", "cabal"]);
        assert_eq!(check("Main.hs"), ["ghci"]);
        assert_eq!(check("package.json"), ["node"]);
        assert_eq!(check(".hs"), [""; 0]);
        // hob has no sessions for this language.
        assert_eq!(check("Cargo.toml"), [""; 0]);
    }
}
