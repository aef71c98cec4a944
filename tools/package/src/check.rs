//! Installs each package from the built files, without a network, and evaluates with it. Then uninstalls it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use taskkit::workspace::{on_path, read, temporary_project};
use tempfile::TempDir;

use crate::binary::Binary;
use crate::product::{NAME, Product};
use crate::{files, npm, wheel};

/// A home and a project, with nothing of the user's.
struct Site {
    outside: TempDir,
    project: TempDir,
}

/// Installs and tries both kinds of packages.
pub(crate) fn run(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    let out = out.canonicalize().context("cannot find the packages")?;
    pip(product, &out.join(wheel::file_name(product, binary))).context("the wheel does not work")?;
    let names = npm::file_names(product, binary).map(|name| out.join(name));
    npm(product, &names).context("the packages for npm do not work")?;
    println!("2 passed, 0 failed");
    Ok(())
}

fn pip(product: &Product, wheel: &Path) -> Result<()> {
    let site = Site::new()?;
    let venv = site.outside.path().join("venv");
    let pip = venv.join("bin/pip");
    read(site.command("python3")?.args(["-m", "venv"]).arg(&venv))?;
    let install = ["install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-index"];
    site.install("pip", site.command(&pip)?.args(install).arg(wheel))?;
    site.evaluate(product, &venv.join("bin/hob"))?;
    // uvx starts the command with the name of the package.
    let version = read(site.command(venv.join("bin").join(NAME))?.arg("--version"))?;
    if version.trim() != format!("hob {}", product.version) {
        bail!("the command {NAME} said {version:?}");
    }
    read(site.command(&pip)?.args(["uninstall", "--quiet", "--yes", NAME]))?;
    site.check_removed(&venv.join("bin"))
}

fn npm(product: &Product, packages: &[PathBuf]) -> Result<()> {
    let site = Site::new()?;
    let prefix = site.outside.path().join("prefix");
    std::fs::create_dir(&prefix).context("cannot create a folder")?;
    let npm = |args: &[&str]| -> Result<Command> {
        let mut command = site.command("npm")?;
        command.args(args).arg("--prefix").arg(&prefix).arg("--cache").arg(site.outside.path().join("cache"));
        command.args(["--global", "--silent", "--offline", "--no-audit", "--no-fund", "--no-update-notifier"]);
        Ok(command)
    };
    site.install("npm", npm(&["install"])?.args(packages))?;
    site.evaluate(product, &prefix.join("bin/hob"))?;
    let names: Vec<String> = files::list(&prefix.join("lib/node_modules"))?;
    let tops: std::collections::BTreeSet<&str> = names.iter().filter_map(|name| name.split('/').next()).collect();
    read(npm(&["uninstall"])?.args(tops.into_iter().filter(|top| top.starts_with(NAME))))?;
    site.check_removed(&prefix.join("bin"))
}

impl Site {
    fn new() -> Result<Self> {
        let site = Self { outside: tempfile::tempdir()?, project: temporary_project()? };
        for dir in ["home", "tmp", "run"] {
            std::fs::create_dir(site.outside.path().join(dir)).with_context(|| format!("cannot create {dir}"))?;
        }
        files::put(&site.project.path().join("main.py"), b"", false)?;
        Ok(site)
    }

    /// Returns a command with this home, in the project.
    fn command(&self, program: impl AsRef<Path>) -> Result<Command> {
        let program = program.as_ref();
        let outside = self.outside.path();
        let path = std::env::var_os("PATH").context("PATH is not set")?;
        let program = if program.is_absolute() {
            program.to_path_buf()
        } else {
            on_path(program.to_str().unwrap_or_default())
                .with_context(|| format!("{} is missing", program.display()))?
        };
        let mut command = Command::new(program);
        command.env_clear().env("PATH", path).env("HOME", outside.join("home")).env("TMPDIR", outside.join("tmp"));
        command.env("XDG_RUNTIME_DIR", outside.join("run")).env("LANG", "C.UTF-8").current_dir(self.project.path());
        Ok(command)
    }

    fn install(&self, what: &str, command: &mut Command) -> Result<()> {
        let from = Instant::now();
        read(command)?;
        println!("package: {what} installed in {:.1} s", from.elapsed().as_secs_f64());
        Ok(())
    }

    /// Asks for the version, evaluates in a Python session, and stops the daemon.
    fn evaluate(&self, product: &Product, hob: &Path) -> Result<()> {
        let from = Instant::now();
        let tried = self.try_commands(product, hob);
        let stopped = read(self.command(hob)?.arg("stop"));
        tried?;
        stopped?;
        println!("package: {} evaluated in {:.1} s", hob.display(), from.elapsed().as_secs_f64());
        Ok(())
    }

    fn try_commands(&self, product: &Product, hob: &Path) -> Result<()> {
        let version = format!("hob {}", product.version);
        for (args, expected) in [(&["--version"][..], version.as_str()), (&["eval", "1+1"], "2")] {
            let output = read(self.command(hob)?.args(args))?;
            if output.trim() != expected {
                bail!("`hob {}` printed {output:?} instead of {expected:?}", args.join(" "));
            }
        }
        Ok(())
    }

    /// Checks that a removed package left no command, and nothing of hob in the home except its state. Other programs, such as
    /// rustup's proxies, leave files there too.
    fn check_removed(&self, bin: &Path) -> Result<()> {
        for name in ["hob", NAME] {
            if bin.join(name).symlink_metadata().is_ok() {
                bail!("{name} is still in {}", bin.display());
            }
        }
        let home = files::list(&self.outside.path().join("home"))?;
        match home.iter().find(|file| file.contains("hob") && !file.starts_with(".local/state/hob/")) {
            Some(file) => bail!("the home still has {file}"),
            None => Ok(()),
        }
    }
}
