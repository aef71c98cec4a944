//! The scored projects, from registries, with pinned versions and checksums.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use taskkit::cache::installed;
use taskkit::workspace::{read, root, run};

use super::marks::{GCC, Marks, PYRIGHT, RUSTC};
use crate::dependencies::dependencies;

/// Source of a project.
#[derive(Debug, Clone, Copy)]
pub(super) enum Registry {
    /// A dependency of this workspace, pinned by `Cargo.lock`.
    CratesIo,
    PyPi,
    Npm,
    /// A source package, from the signed list of a suite.
    Debian,
}

/// Method to find the true locations.
pub(super) enum Method {
    /// The definition is marked deprecated; the compiler warns at each use.
    Marks(&'static Marks),
    /// A program prints the resolution of each identifier by the compiler's own checker.
    Go,
    TypeScript,
    /// The definition is renamed; GHC reports each use as not in scope.
    Renames,
}

pub(in crate::score) struct Project {
    pub(in crate::score) language: &'static str,
    pub(super) name: &'static str,
    /// For Debian, the version of the source package.
    version: &'static str,
    registry: Registry,
    /// Checksum of the archive; empty for a dependency of this workspace.
    sha256: &'static str,
    /// Files and folders to copy.
    pub(super) kept: &'static [&'static str],
    /// Files that the project's own build would generate.
    added: &'static [(&'static str, &'static str)],
    /// Extension of its sources.
    pub(in crate::score) endings: &'static [&'static str],
    pub(super) method: Method,
}

pub(super) const PROJECTS: &[Project] = &[
    Project {
        language: "Python",
        name: "jinja2",
        version: "3.1.4",
        registry: Registry::PyPi,
        sha256: "4a3aee7acbbe7303aede8e9648d13b8bf88a429282aa6122a993f0ac800cb369",
        kept: &["src", "tests", "pyproject.toml"],
        added: &[],
        endings: &["py"],
        method: Method::Marks(&PYRIGHT),
    },
    Project {
        language: "TypeScript",
        name: "rxjs",
        version: "7.8.1",
        registry: Registry::Npm,
        sha256: "c532167725ab7d085123209156c93cef22f2479cb9c8527060f1cd903aa9d149",
        kept: &["src", "tsconfig.json", "package.json"],
        added: &[],
        endings: &["ts"],
        method: Method::TypeScript,
    },
    Project {
        language: "Rust",
        name: "ignore",
        version: "0.4.34",
        registry: Registry::CratesIo,
        sha256: "",
        kept: &["src", "Cargo.toml"],
        added: &[],
        endings: &["rs"],
        method: Method::Marks(&RUSTC),
    },
    Project {
        language: "Go",
        name: "golang-github-yuin-goldmark",
        version: "1.5.4-1",
        registry: Registry::Debian,
        sha256: "edf3e0cd200745f67d2dd1cff3dc24fcbadd34d9fc4faef08f9ab0b4b514c103",
        kept: &["."],
        added: &[],
        endings: &["go"],
        method: Method::Go,
    },
    Project {
        language: "C++",
        name: "re2",
        version: "20220601+dfsg-1",
        registry: Registry::Debian,
        sha256: "3bc61251da3b0b97be40a8a127818c517c62516e4eda11fc901d29496663df54",
        kept: &["re2", "util"],
        added: &[("compile_flags.txt", "-std=c++17\n-I.\n")],
        endings: &["h", "cc"],
        method: Method::Marks(&GCC),
    },
    Project {
        language: "Haskell",
        name: "haskell-fgl",
        version: "5.7.0.3-2",
        registry: Registry::Debian,
        sha256: "2969b813b9067eb80708b056434da576fcd134a0ec757dd8e4018d566e7e6512",
        kept: &["Data", "fgl.cabal"],
        added: &[],
        endings: &["hs"],
        method: Method::Renames,
    },
];

/// A configuration that TypeScript 7 accepts. Its DOM library refuses one call of the web sockets.
const RXJS_CONFIG: &str = r#"{
  "compilerOptions": {
    "strict": true,
    "noEmit": true,
    "noImplicitReturns": true,
    "target": "esnext",
    "module": "esnext",
    "moduleResolution": "bundler",
    "lib": ["esnext", "dom"],
    "types": [],
    "paths": { "rxjs": ["./src/index"], "rxjs/*": ["./src/*"] }
  },
  "include": ["src"],
  "exclude": ["src/webSocket", "src/umd.ts", "src/internal/umd.ts", "src/internal/observable/dom"]
}
"#;

/// zod without its tests, which need a test runner.
const ZOD_CONFIG: &str = r#"{
  "compilerOptions": {
    "strict": true,
    "noEmit": true,
    "target": "esnext",
    "module": "esnext",
    "moduleResolution": "bundler",
    "lib": ["esnext", "dom"],
    "types": []
  },
  "include": ["src"],
  "exclude": ["src/**/tests", "src/**/benchmarks"]
}
"#;

/// The projects for walks.
const WALKED: &[Project] = &[
    Project {
        language: "Rust",
        name: "regex-syntax",
        version: "0.8.11",
        registry: Registry::CratesIo,
        sha256: "",
        kept: &["src", "Cargo.toml"],
        added: &[],
        endings: &["rs"],
        method: Method::Marks(&RUSTC),
    },
    Project {
        language: "TypeScript",
        name: "rxjs",
        version: "7.8.1",
        registry: Registry::Npm,
        sha256: "c532167725ab7d085123209156c93cef22f2479cb9c8527060f1cd903aa9d149",
        kept: &["src", "package.json"],
        added: &[("tsconfig.json", RXJS_CONFIG)],
        endings: &["ts"],
        method: Method::TypeScript,
    },
    Project {
        language: "TypeScript",
        name: "zod",
        version: "4.6.7",
        registry: Registry::Npm,
        sha256: "84efd155bed93270286e793fc951be270b536cbd5b0eeb111f0fa3967201d698",
        kept: &["src", "package.json"],
        added: &[("tsconfig.json", ZOD_CONFIG), (".ignore", "tests/\nbenchmarks/\n")],
        endings: &["ts"],
        method: Method::TypeScript,
    },
    Project {
        language: "Haskell",
        name: "haskell-tar",
        version: "0.5.1.1-3",
        registry: Registry::Debian,
        sha256: "b384449f62b2b0aa3e6d2cb1004b8060b01f21ec93e7b63e7af6d8fad8a9f1de",
        kept: &["Codec", "tar.cabal"],
        added: &[],
        endings: &["hs"],
        method: Method::Renames,
    },
];

/// Returns the projects for walks.
pub(in crate::score) fn for_walks() -> impl Iterator<Item = &'static Project> {
    WALKED.iter().chain(PROJECTS.iter().filter(|one| matches!(one.language, "Rust" | "Haskell")))
}

impl Project {
    pub(in crate::score) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Number of definitions compiled at a time.
    pub(super) fn at_once(&self) -> usize {
        match &self.method {
            Method::Marks(marks) if marks.is_silent_inside => 1,
            _ => usize::MAX,
        }
    }

    /// Copies the project into a new folder.
    pub(in crate::score) fn copy(&self, sources: &Path, to: &Path) -> Result<()> {
        std::fs::create_dir_all(to).with_context(|| format!("could not make {to:?}"))?;
        for name in self.kept {
            read(Command::new("cp").arg("-r").arg(sources.join(name)).arg(to))?;
        }
        if let Registry::CratesIo = self.registry {
            // A standalone package with the versions of this workspace.
            let path = to.join("Cargo.toml");
            let manifest = std::fs::read_to_string(&path).context("could not read Cargo.toml")?;
            std::fs::write(&path, strip_manifest(&manifest))?;
            std::fs::copy(root().join("Cargo.lock"), to.join("Cargo.lock")).context("could not copy Cargo.lock")?;
        }
        self.added.iter().try_for_each(|(name, text)| std::fs::write(to.join(name), text))?;
        Ok(std::fs::write(to.join("hob.toml"), "")?)
    }

    /// Returns the folder with the sources, from the cache or the registry.
    pub(in crate::score) fn fetch(&self) -> Result<PathBuf> {
        if let Registry::CratesIo = self.registry {
            let all = dependencies()?;
            let is_it = |name: &str, version: &str| name == self.name && version == self.version;
            let one = all.into_iter().find(|one| is_it(&one.name, &one.version));
            return Ok(one.with_context(|| format!("{} is no dependency", self.title()))?.dir);
        }
        let key = [self.title().into_bytes(), self.sha256.into()];
        let folder = installed("score", &[&key[0], &key[1]], |folder| {
            self.download(folder)?;
            let entries = std::fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
            let is_archive =
                |path: &PathBuf| path.to_string_lossy().contains(".tar.") || path.extension() == Some("tgz".as_ref());
            let mut archives = entries.filter(|path| is_archive(path) && !path.to_string_lossy().contains(".debian."));
            let archive = archives.next().context("no archive was downloaded")?;
            let sum = read(Command::new("sha256sum").arg(&archive))?;
            if !sum.starts_with(self.sha256) {
                bail!("{archive:?} has another checksum than is pinned: {sum}");
            }
            let sources = folder.join("sources");
            std::fs::create_dir(&sources)?;
            run(Command::new("tar").arg("-xf").arg(&archive).args(["--strip-components", "1", "-C"]).arg(&sources))
        })?;
        Ok(folder.join("sources"))
    }

    fn download(&self, folder: &Path) -> Result<()> {
        let pinned = |sign: &str| format!("{}{sign}{}", self.name, self.version);
        let mut commands = match self.registry {
            Registry::CratesIo => Vec::new(),
            Registry::PyPi => {
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", &pinned("==")]);
                vec![pip]
            }
            Registry::Npm => {
                let mut npm = Command::new("npm");
                npm.args(["pack", "--silent", &pinned("@")]);
                vec![npm]
            }
            Registry::Debian => {
                let lists = folder.join("lists");
                std::fs::create_dir_all(lists.join("partial"))?;
                let list = folder.join("sources.list");
                let key = "/usr/share/keyrings/debian-archive-keyring.gpg";
                let archive = archive()?;
                std::fs::write(&list, format!("deb-src [signed-by={key}] {archive} bookworm main\n"))?;
                let apt = |args: &[&str]| {
                    let mut apt = Command::new("apt-get");
                    let option = |name: &str, path: &Path| format!("{name}={}", path.display());
                    apt.args([
                        "-qq",
                        "-o",
                        &option("Dir::Etc::SourceList", &list),
                        "-o",
                        "Dir::Etc::SourceParts=/dev/null",
                    ]);
                    apt.args(["-o", &option("Dir::State::Lists", &lists), "-o", "APT::Sandbox::User=root"]).args(args);
                    apt
                };
                vec![apt(&["update"]), apt(&["source", "--download-only", &pinned("=")])]
            }
        };
        commands.iter_mut().try_for_each(|command| run(command.current_dir(folder)))
    }
}

/// Returns the address from which this system installs packages.
fn archive() -> Result<String> {
    let targets = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Codename: bookworm"];
    let all = read(Command::new("apt-get").args(targets))?;
    Ok(all.lines().next().context("apt-get has no package list of Debian 12; run `apt-get update`")?.to_owned())
}

/// Returns a manifest without other targets and test dependencies.
fn strip_manifest(manifest: &str) -> String {
    let mut kept = String::new();
    let mut is_kept = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            let table = line.trim_matches(['[', ']']);
            let is_left_out =
                ["bench", "test", "example", "bin"].contains(&table) || table.contains("dev-dependencies");
            is_kept = !is_left_out && !table.starts_with("lints");
        }
        if is_kept {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    format!("{kept}\n[workspace]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_alone_has_its_library_and_dependencies() {
        let manifest = "[package]\nname = \"a\"\n[[bench]]\nname = \"b\"\n[dependencies.c]\nversion = \"1\"\n[dev-dependencies.d]\n\
                        version = \"1\"\n[features]\nx = []\n[lints.rust]\ny = 1\n";
        let wanted = "[package]\nname = \"a\"\n[dependencies.c]\nversion = \"1\"\n[features]\nx = []\n\n[workspace]\n";
        assert_eq!(strip_manifest(manifest), wanted);
    }
}
