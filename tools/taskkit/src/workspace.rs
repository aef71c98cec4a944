//! Paths of this checkout, and execution of other programs: a task prints the command line and checks the exit status.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

/// The checkout's root. Cargo sets the variable when it runs a task; the compiled-in path is for a direct start.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let root = here.ancestors().find(|dir| dir.join("Cargo.lock").is_file());
    root.expect("a task lies inside the workspace").to_path_buf()
}

/// The `cargo` that runs the task, or the one on `PATH`.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Some build scripts run again if these variables change, and their dependents are rebuilt.
    let of_package = |name: &str| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_");
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)).for_each(|(name, _)| {
        command.env_remove(name);
    });
    command.current_dir(root());
    command
}

/// What `cargo metadata` says about the workspace's own packages.
pub fn metadata() -> Result<serde_json::Value> {
    let text = read(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).context("`cargo metadata` did not print JSON")
}

/// The build directory, as the environment and cargo's configuration set it.
pub fn target_dir() -> Result<PathBuf> {
    let meta = metadata()?;
    let dir = meta["target_directory"].as_str().context("`cargo metadata` names no target directory")?;
    Ok(PathBuf::from(dir))
}

/// Set by `cargo xtask test` for tasks that run concurrently with the tests: all programs are built already. Built
/// alone, a program has fewer features than with the whole workspace. Cargo would then rebuild it with many
/// dependencies, and replace the file that the tests are running.
pub const IS_BUILT: &str = "HOB_XTASK_IS_BUILT";

/// Builds the named programs and returns their directory.
pub fn build(profile: Profile, args: &[&str]) -> Result<PathBuf> {
    let mut command = cargo();
    command.arg("build").args(args);
    if let Profile::Release = profile {
        command.arg("--release");
    }
    let is_built = matches!(profile, Profile::Dev) && std::env::var_os(IS_BUILT).is_some();
    if !is_built {
        run(&mut command)?;
    }
    Ok(target_dir()?.join(match profile {
        Profile::Dev => "debug",
        Profile::Release => "release",
    }))
}

/// A temporary project: a directory with an empty `hob.toml`, which makes it a root. Creation fails inside a git
/// repository, where the daemon would serve the repository instead.
pub fn temporary_project() -> Result<tempfile::TempDir> {
    let project = tempfile::tempdir().context("could not make a project to work in")?;
    let mut git = Command::new("git");
    if let Ok(above) =
        git.args(["rev-parse", "--show-toplevel"]).current_dir(project.path()).stderr(Stdio::null()).output()
        && above.status.success()
    {
        let above = String::from_utf8_lossy(&above.stdout).trim_end().to_owned();
        bail!("the temporary directory is inside of the repository {above}: set TMPDIR to one that is not");
    }
    std::fs::write(project.path().join("hob.toml"), "").context("could not write hob.toml")?;
    Ok(project)
}

#[derive(Clone, Copy)]
pub enum Profile {
    /// For the demonstration and tests: quick to build.
    Dev,
    /// For measuring.
    Release,
}

/// Writes a generated page unless it is unchanged.
pub fn write_page(file: &str, page: &str) -> Result<()> {
    let path = root().join(file);
    if std::fs::read_to_string(&path).is_ok_and(|before| before == page) {
        return Ok(());
    }
    std::fs::write(&path, page).with_context(|| format!("could not write {path:?}"))
}

/// Prints the command line and runs it with our output.
pub fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    println!("$ {line}");
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("could not start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Prints the command line and runs it. Shows its output only if it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    println!("$ {}", command_line(command));
    read(command).map(drop)
}

/// Runs a command and returns its stdout. An error contains its stderr.
pub fn read(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("could not start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not print UTF-8"))
}

/// True if a command starts and succeeds. Its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Finds a program on `PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Returns the command line as a person would type it.
pub fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // Cargo's variable contains the full path; a person types the name.
    let program = program.file_name().filter(|name| *name == "cargo").unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=+:@,%".contains(c));
        if plain { word.into_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// A child that is killed when this is dropped, so that an error leaves nothing running. No effect after it has ended
/// and was waited for.
pub struct KillOnDrop(pub Child);

impl KillOnDrop {
    /// Starts the command with piped stdin and stdout; stderr is the caller's choice.
    pub fn piped(command: &mut Command) -> Result<(Self, ChildStdin, ChildStdout)> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {:?}", command.get_program()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.expect("both were piped");
        Ok((Self(child), stdin, stdout))
    }
}

impl Deref for KillOnDrop {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KillOnDrop {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes hob trust the project of this command, so that rust-analyzer is started in it.
pub fn trust(hob: &mut Command) -> Result<()> {
    let granted = hob.args(["trust", "--yes"]).stdin(Stdio::null()).output().context("could not run `hob trust`")?;
    if !granted.status.success() {
        bail!("`hob trust` failed: {}", String::from_utf8_lossy(&granted.stderr).trim_end());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_pasted() {
        let mut command = Command::new("cargo");
        command.args(["test", "--config", "a='b'", ""]);
        assert_eq!(command_line(&command), r"cargo test --config 'a='\''b'\''' ''");
    }

    #[test]
    fn a_failure_carries_what_the_program_said() {
        let error = read(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().contains("exit status: 3\nno such thing"), "{error}");
    }
}
